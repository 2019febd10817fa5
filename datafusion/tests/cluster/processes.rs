//! Workers that are processes: the same rows, and no process is left behind however a query ends.

use std::{
    fs,
    io::Read as _,
    process::{Child, Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use datafusion::arrow::record_batch::RecordBatch;
use drdma_datafusion::{Cluster, Deployment, Error, Options, tpch};

use crate::{ends::LONG, lab::Lab};

/// One test of this file after the other: they look at the processes that there are.
static TURN: Mutex<()> = Mutex::new(());

pub fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The program whose processes are workers.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_drdma-cluster");

pub fn options(workers: usize) -> Options {
    let mut options = Options::new(workers, &crate::MEMORY);
    options.deployment = Deployment::Processes { program: PROGRAM.into() };
    options
}

/// Numbers of the living processes that this one has started.
pub fn children() -> Vec<i32> {
    let mut children = Vec::new();
    for task in fs::read_dir("/proc/self/task").unwrap() {
        // A thread may have ended since.
        let text = fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default();
        children.extend(text.split_whitespace().map(|id| id.parse::<i32>().unwrap()));
    }
    children.sort_unstable();
    children
}

/// Stops a process, as if it hung.
fn stop(id: i32) {
    assert!(Command::new("kill").args(["-STOP", &id.to_string()]).status().unwrap().success());
}

/// Runs a query that lasts some seconds, and `disturb` meanwhile. Returns the result, and the time from then on.
fn disturbed(lab: &Lab, disturb: impl FnOnce()) -> (Result<Vec<RecordBatch>, Error>, Duration) {
    thread::scope(|scope| {
        let query = scope.spawn(|| lab.cluster.query(LONG));
        thread::sleep(Duration::from_millis(700));
        assert!(!query.is_finished(), "the query is to last longer than that");
        disturb();
        let started = Instant::now();
        (query.join().unwrap(), started.elapsed())
    })
}

#[test]
fn queries_have_the_rows_of_one_process_and_no_process_is_left() {
    let _turn = turn();
    let lab = Lab::with(options(3)).shuffling_joins();
    assert_eq!(children().len(), 3);
    for number in [3, 9, 13, 18] {
        lab.check(tpch::QUERIES[number - 1]);
    }
    assert!(lab.cluster.totals().payload > 0, "rows go by the cards");
    lab.comes_to_rest();
    drop(lab);
    assert!(children().is_empty());
}

#[test]
fn a_worker_that_is_killed_is_named() {
    let _turn = turn();
    let lab = Lab::with(options(3)).shuffling_joins();
    let (result, time) = disturbed(&lab, || lab.cluster.stop_worker(1));
    let error = result.expect_err("a part of the rows is lost").to_string();
    assert!(error.starts_with("worker 1 (http://127.0.0.1:"), "{error}");
    assert!(error.contains("was ended by signal 9"), "{error}");
    assert!(time < Duration::from_secs(10), "{time:?}");
    lab.comes_to_rest();
    drop(lab);
    assert!(children().is_empty());
}

#[test]
fn a_worker_that_hangs_is_named_after_a_while() {
    let _turn = turn();
    let mut options = options(3);
    options.patience = Duration::from_secs(2);
    let lab = Lab::with(options).shuffling_joins();
    let hanging = children()[2];
    let (result, time) = disturbed(&lab, || stop(hanging));
    let error = result.expect_err("a part of the rows does not come").to_string();
    assert!(error.starts_with("worker 2 (http://127.0.0.1:"), "{error}");
    assert!(error.contains("is lost: it has not answered for 2 s"), "{error}");
    assert!(time < Duration::from_secs(10), "{time:?}");
    drop(lab);
    assert!(children().is_empty(), "one that hangs is killed");
}

#[test]
fn a_query_that_is_cancelled_or_limited_leaves_nothing_behind() {
    let _turn = turn();
    let lab = Lab::with(options(3)).shuffling_joins();
    lab.cluster.coordinator().block_on(async {
        let work = async { Ok(lab.cluster.session().sql(LONG).await?.collect().await?) };
        let work = lab.cluster.watched::<Vec<RecordBatch>>(work);
        let done = tokio::time::timeout(Duration::from_millis(700), work).await;
        assert!(done.is_err(), "the query is to last longer than that");
    });
    lab.comes_to_rest();
    let sql = "select l_comment from lineitem join orders on l_orderkey = o_orderkey limit 5";
    let rows = lab.cluster.query(sql).unwrap();
    assert_eq!(rows.iter().map(RecordBatch::num_rows).sum::<usize>(), 5);
    lab.comes_to_rest();
    lab.check("select l_returnflag, count(*) from lineitem group by l_returnflag");
}

#[test]
fn a_worker_ends_when_the_process_that_started_it_is_gone() {
    let _turn = turn();
    let mut child = Command::new(PROGRAM);
    let mut child =
        child.arg("--worker").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // The worker writes where it listens, then waits for the addresses of the others.
    let mut byte = [0];
    child.stdout.as_mut().unwrap().read_exact(&mut byte).unwrap();
    drop(child.stdin.take());
    assert!(ends(&mut child), "it waits for nobody");
}

/// True if a process ends by itself.
pub fn ends(child: &mut Child) -> bool {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(10) {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    false
}

#[test]
fn a_program_that_is_no_worker_is_an_error() {
    let _turn = turn();
    let start = |program: &str| {
        let mut options = options(2);
        options.deployment = Deployment::Processes { program: program.into() };
        Cluster::start(options).expect_err("refused").to_string()
    };
    let error = start("/nowhere/drdma-cluster");
    assert!(error.starts_with("worker 0 was not started: /nowhere/drdma-cluster: "), "{error}");
    let error = start("/bin/echo");
    assert!(error.starts_with("worker 0 was not started: it says `--worker`: "), "{error}");
    let error = start("/bin/false");
    assert!(error.contains("ended with exit code 1"), "{error}");
}
