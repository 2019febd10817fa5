//! The examples, on the reference card.

#[path = "../examples/lookup.rs"]
mod lookup;
#[path = "../examples/projection.rs"]
mod projection;
#[path = "../examples/readme.rs"]
mod readme;
#[path = "../examples/shuffle.rs"]
mod shuffle;
#[path = "../examples/tasks.rs"]
mod tasks;
#[path = "../examples/threads.rs"]
mod threads;

#[test]
fn a_shuffle_sends_every_row_once() {
    assert_eq!(shuffle::run("soft:").unwrap(), 100_000 * 12);
}

#[test]
fn the_shuffle_of_the_readme_sends_every_row() {
    assert_eq!(readme::run("soft:").unwrap(), 1000 * 12);
}

#[test]
fn a_projection_sends_two_columns() {
    assert_eq!(projection::run("soft:").unwrap(), 50_000 * 12);
}

#[test]
fn a_lookup_sends_the_records_that_were_found() {
    assert_eq!(lookup::run("soft:").unwrap(), 500 * 12);
}

#[test]
fn threads_send_all_their_results() {
    assert_eq!(threads::run("soft:").unwrap(), 4 * (0..100).map(|n| 8 * (100 + n)).sum::<u64>());
}

#[test]
fn tasks_send_all_their_results() {
    assert_eq!(tasks::run("soft:").unwrap(), 8 * 20 * 8000);
}

#[test]
fn a_device_that_is_none_is_an_error() {
    let error = shuffle::run("hard:").unwrap_err().to_string();
    assert!(error.starts_with("`hard:` names no card"), "{error}");
}
