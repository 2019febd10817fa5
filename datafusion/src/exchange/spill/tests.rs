//! Rows that go to disk come back as they were, and leave nothing there.

use std::{collections::VecDeque, fs, net::Ipv4Addr};

use datafusion::{
    arrow::{
        array::{ArrayRef, BooleanArray, DictionaryArray, Int64Array, ListArray, StringViewArray},
        compute::concat_batches,
        datatypes::{Int32Type, Int64Type},
    },
    execution::config::SessionConfig,
};
use tokio::runtime::{Builder, Runtime};

use super::*;

/// Rows with columns of all kinds that messages have: views, nulls, bits, dictionaries, lists.
fn rows(first: i64, count: i64) -> RecordBatch {
    let numbers = || first..first + count;
    let some = |n: i64| (n % 3 != 0).then_some(n);
    let text = |n: i64| some(n).map(|n| "long or short ".repeat(n as usize % 4));
    let words = numbers().map(|n| ["a", "b", "c"][n as usize % 3]);
    let list = |n: i64| some(n).map(|n| (0..n % 5).map(Some));
    let columns: [(&str, ArrayRef); 5] = [
        ("number", Arc::new(Int64Array::from_iter(numbers().map(some)))),
        ("text", Arc::new(StringViewArray::from_iter(numbers().map(text)))),
        ("flag", Arc::new(BooleanArray::from_iter(numbers().map(|n| some(n).map(|n| n % 2 == 0))))),
        ("word", Arc::new(DictionaryArray::<Int32Type>::from_iter(words))),
        ("list", Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(numbers().map(list)))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))
        .unwrap()
}

/// A worker's directory, and what a task of it spills there.
struct Lab {
    path: PathBuf,
    scratch: Option<Scratch>,
    runtime: Runtime,
}

impl Lab {
    fn new(test: &str) -> Self {
        let above = std::env::temp_dir().join(format!("drdma-test-{test}-{}", std::process::id()));
        let path = Scratch::path((Ipv4Addr::LOCALHOST, 4000).into(), Some(&above));
        let scratch = Some(Scratch::new(path.clone()).unwrap());
        Self { path, scratch, runtime: Builder::new_current_thread().build().unwrap() }
    }

    fn spill(&self, disk: u64, file_bytes: usize) -> (Spill, ExecutionPlanMetricsSet) {
        let mut config = SessionConfig::new();
        let bytes = file_bytes.to_string();
        let options = config.options_mut();
        options.set("datafusion.execution.max_spill_file_size_bytes", &bytes).unwrap();
        let runtime = self.scratch.as_ref().unwrap().runtime(disk).unwrap();
        let context = TaskContext::default().with_session_config(config).with_runtime(runtime);
        let metrics = ExecutionPlanMetricsSet::new();
        (Spill::new(&context, &metrics, rows(0, 1).schema(), (3, 1)), metrics)
    }

    /// Number of files in the worker's directory.
    fn files(&self) -> usize {
        let folders = fs::read_dir(&self.path).unwrap().map(|folder| folder.unwrap().path());
        folders.map(|folder| fs::read_dir(folder).unwrap().count()).sum()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.scratch = None;
        assert!(!self.path.exists(), "a worker's directory goes with it");
        fs::remove_dir_all(self.path.parent().unwrap()).unwrap();
    }
}

#[test]
fn rows_of_each_partition_come_back_in_order_as_they_were() {
    let lab = Lab::new("order");
    let (mut spill, metrics) = lab.spill(1 << 30, 10_000);
    let mut written: [VecDeque<RecordBatch>; 2] = Default::default();
    let mut all = 0;
    // Batches are written and read in turns, those of the second partition from the middle on.
    for turn in 0..40_i64 {
        for (partition, batches) in (0..).zip(&mut written) {
            // Slices are written without the rest of their arrays.
            let count = 1 + (turn * 37) % 200;
            let batch = rows(turn * 1000, count + 7).slice(7, count as usize);
            spill.push(partition, &batch).unwrap();
            batches.push_back(batch);
            all += count;
        }
        let wanted: &[u16] = if turn < 20 { &[0] } else { &[1, 0] };
        let (partition, batch) = lab.runtime.block_on(spill.next(wanted)).unwrap();
        assert_eq!(batch, written[usize::from(partition)].pop_front().unwrap());
    }
    for (partition, batches) in (0..).zip(&mut written) {
        for written in batches.drain(..) {
            let (from, batch) = lab.runtime.block_on(spill.next(&[partition])).unwrap();
            assert_eq!((from, batch), (partition, written));
        }
    }
    let metrics = metrics.clone_inner();
    assert_eq!(metrics.spilled_rows(), Some(all as usize));
    assert!(metrics.spill_count().unwrap() > 4, "files are not for ever");
    // Each partition has at most the file that is being written.
    assert!(lab.files() <= 2, "{} files are left", lab.files());
    spill.forget(0);
    spill.forget(1);
    assert_eq!(lab.files(), 0);
}

#[test]
fn what_is_not_read_is_removed_with_the_task() {
    let lab = Lab::new("removed");
    let (mut spill, _) = lab.spill(1 << 30, 1 << 20);
    (0..3).for_each(|partition| spill.push(partition, &rows(0, 100)).unwrap());
    assert_eq!(lab.files(), 3);
    lab.runtime.block_on(spill.next(&[0])).unwrap();
    drop(spill);
    assert_eq!(lab.files(), 0);
}

#[test]
fn a_disk_that_is_full_is_an_error_with_its_limit() {
    let lab = Lab::new("full");
    let (mut spill, _) = lab.spill(20_000, 1 << 20);
    let batch = concat_batches(&rows(0, 1).schema(), &[rows(0, 100)]).unwrap();
    let error = (0..100).find_map(|_| spill.push(0, &batch).err()).expect("it does not fit");
    let text = error.to_string();
    assert!(text.starts_with("rows of stage 3, task 1 cannot wait on disk, where "), "{text}");
    assert!(text.contains(" B of 20000 B (`disk`) are used: "), "{text}");
    let (mut none, _) = lab.spill(0, 1 << 20);
    let text = none.push(0, &batch).unwrap_err().to_string();
    assert!(text.contains("where 0 B of 0 B (`disk`) are used"), "{text}");
}

#[test]
fn what_a_killed_worker_left_is_removed_by_the_next_one_of_its_address() {
    let lab = Lab::new("killed");
    let left = lab.path.join("datafusion-left");
    fs::create_dir(&left).unwrap();
    fs::write(left.join("rows"), "rows").unwrap();
    let next = Scratch::new(lab.path.clone()).unwrap();
    assert!(lab.path.exists() && !left.exists());
    std::mem::forget(next);
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let path = Scratch::path((Ipv4Addr::LOCALHOST, 1).into(), Some("/dev/null".as_ref()));
    let text = Scratch::new(path).unwrap_err().to_string();
    let expected = "a directory for spilled rows at /dev/null/drdma-spill-127.0.0.1-1: ";
    assert!(text.starts_with(expected), "{text}");
}
