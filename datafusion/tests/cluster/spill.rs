//! Consumers that wait for each other: their rows wait on disk, and no file is left there however a query ends.

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use datafusion::arrow::record_batch::RecordBatch;
use drdma_datafusion::{Options, exchange::Config, tpch};

use crate::{
    ends::LONG,
    lab::Lab,
    processes::{self, children, turn},
};

/// A directory of a test's own, for files of rows.
fn directory(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("spill-{test}"));
    let _ = fs::remove_dir_all(&path);
    path
}

/// A configuration with one batch under way to each partition, and one that waits in memory.
fn narrow(directory: &Path) -> Config {
    Config { budget: 1, backlog: 1, directory: Some(directory.into()), ..Config::default() }
}

/// Number of files below a directory; those that are removed while it is read do not count.
fn files(directory: &Path) -> usize {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    entries
        .flatten()
        .map(|entry| if entry.path().is_dir() { files(&entry.path()) } else { 1 })
        .sum()
}

#[track_caller]
fn comes_true(what: &str, is_true: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_true() {
        assert!(started.elapsed() < Duration::from_secs(20), "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// The sum of a metric of an analysed plan.
fn sum(plan: &str, metric: &str) -> f64 {
    let values = plan.split(metric).skip(1).map(|rest| {
        let number: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        number.parse::<f64>().unwrap()
    });
    values.sum()
}

#[test]
fn consumers_that_wait_for_each_other_get_their_rows_from_disk() {
    let directory = directory("waits");
    let mut options = Options::new(3, &crate::MEMORY);
    options.exchange = narrow(&directory);
    let lab = Lab::with(options).shuffling_joins();
    lab.check(tpch::QUERIES[17]);
    let plan = lab.cluster.analyze(tpch::QUERIES[17]).unwrap();
    for metric in ["spill_count=", "spilled_bytes=", "spilled_rows="] {
        assert!(sum(&plan, metric) > 0.0, "{metric} in {plan}");
    }
    // Every exchange has a batch that waits and one on its way to disk, of 8,192 rows of at most 64 B.
    let most = lab.cluster.most_waiting();
    assert!(most > 0 && most < 16 << 20, "{most} B waited in memory");
    lab.comes_to_rest();
    assert_eq!(files(&directory), 0);
    drop(lab);
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0, "directories are left");
}

#[test]
fn a_disk_that_is_full_fails_the_query_and_names_its_limit() {
    let directory = directory("full");
    let mut options = Options::new(3, &crate::MEMORY);
    options.exchange = Config { disk: 100, ..narrow(&directory) };
    let lab = Lab::with(options).shuffling_joins();
    let error = lab.fails(tpch::QUERIES[17]);
    assert!(error.contains(" cannot wait on disk, where "), "{error}");
    assert!(error.contains(" B of 100 B (`disk`) are used: "), "{error}");
    lab.comes_to_rest();
    assert_eq!(files(&directory), 0);
}

#[test]
fn a_query_that_is_cancelled_leaves_no_file() {
    let directory = directory("cancelled");
    let mut options = Options::new(3, &crate::MEMORY);
    options.exchange = narrow(&directory);
    let lab = Lab::with(options).shuffling_joins();
    lab.cluster.coordinator().block_on(async {
        let query = async { lab.cluster.session().sql(LONG).await?.collect().await };
        tokio::select! {
            done = query => panic!("it was to last longer: {}", done.is_ok()),
            () = async { while files(&directory) == 0 { tokio::time::sleep(Duration::from_millis(1)).await } } => {}
        }
    });
    lab.comes_to_rest();
    assert_eq!(files(&directory), 0);
    lab.check("select l_returnflag, count(*) from lineitem group by l_returnflag");
}

#[test]
fn a_worker_that_is_killed_leaves_no_file() {
    let _turn = turn();
    let directory = directory("killed");
    let mut options = processes::options(3);
    options.exchange = narrow(&directory);
    let lab = Lab::with(options).shuffling_joins();
    let result = thread::scope(|scope| {
        let query = scope.spawn(|| lab.cluster.query(LONG));
        comes_true("nothing is spilled", || query.is_finished() || files(&directory) > 0);
        lab.cluster.stop_worker(1);
        query.join().unwrap()
    });
    let error = result.map(|rows: Vec<RecordBatch>| rows.len()).expect_err("rows are lost");
    assert!(error.to_string().contains("was ended by signal 9"), "{error}");
    drop(lab);
    assert!(children().is_empty());
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
}
