//! Budgets, and what they stop and do not stop.

use std::sync::Arc;

use datafusion::arrow::{
    array::Int64Array,
    datatypes::{DataType, Field, Schema},
};

use super::*;

/// Rows of a test's batches.
const ROWS: usize = 100;
/// Bytes of one: 8 B a row.
const BYTES: usize = 800;

fn batch() -> RecordBatch {
    let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Int64, false)]));
    let values = Int64Array::from_iter_values(0..ROWS as i64);
    RecordBatch::try_new(schema, vec![Arc::new(values)]).unwrap()
}

/// An outbox of two partitions, open, with a budget of one byte, so that one batch is under way at a time.
fn outbox(backlog: usize) -> Outbox {
    let mut outbox = Outbox::new(2, 1, backlog);
    outbox.open(0);
    outbox.open(1);
    outbox
}

fn add(outbox: &mut Outbox, rows: [u32; 2]) {
    outbox.add(batch(), Selection::All, rows.to_vec());
}

/// Posts what can be posted, and completes it: the partitions of each post.
fn post(outbox: &mut Outbox) -> Vec<Vec<u16>> {
    let mut posts = Vec::new();
    while let Some((index, to)) = outbox.next() {
        outbox.posted(index, &to);
        to.iter().for_each(|partition| outbox.completed(*partition));
        posts.push(to);
    }
    posts
}

#[test]
fn a_partition_without_credit_is_left_out_and_gets_its_rows_later() {
    let mut outbox = outbox(10 * BYTES);
    add(&mut outbox, [50, 50]);
    add(&mut outbox, [50, 50]);
    assert_eq!(post(&mut outbox), [[0, 1]], "the second batch waits");
    assert!(outbox.credit(1, 1));
    assert_eq!(post(&mut outbox), [[1]], "partition 0 is left out");
    assert!(outbox.credit(0, 1));
    assert_eq!(post(&mut outbox), [[0]]);
    assert!(!outbox.has_waiting());
}

#[test]
fn rows_of_a_partition_keep_their_order() {
    let mut outbox = outbox(10 * BYTES);
    add(&mut outbox, [100, 0]);
    add(&mut outbox, [50, 50]);
    assert_eq!(outbox.next(), Some((0, vec![0])));
    outbox.posted(0, &[0]);
    // The batch before is gone; what is left has index 0.
    assert_eq!(outbox.next(), Some((0, vec![1])));
    assert_eq!(outbox.waiting(0).cost(1), BYTES / 2);
}

#[test]
fn input_is_read_up_to_the_backlog_and_beyond_it_only_for_a_partition_with_nothing_to_do() {
    let mut outbox = outbox(2 * BYTES);
    for _ in 0..3 {
        assert!(outbox.wants_more());
        add(&mut outbox, [100, 0]);
        post(&mut outbox);
    }
    // One batch is under way to partition 0, two wait: that is the backlog. Partition 1 has nothing.
    assert!(outbox.wants_more());
    add(&mut outbox, [0, 100]);
    assert_eq!(post(&mut outbox), [[1]]);
    assert!(!outbox.wants_more(), "both have something to do");
    assert!(outbox.credit(1, 1));
    assert!(outbox.wants_more(), "partition 1 has nothing to do again");
}

#[test]
fn nothing_is_read_for_nobody() {
    let mut outbox = Outbox::new(2, 1, BYTES);
    assert!(!outbox.wants_more());
    outbox.open(1);
    assert!(outbox.wants_more());
    outbox.close(1);
    assert!(!outbox.wants_more());
}

#[test]
fn rows_of_a_partition_that_was_closed_are_forgotten() {
    let mut outbox = outbox(10 * BYTES);
    add(&mut outbox, [50, 50]);
    post(&mut outbox);
    add(&mut outbox, [50, 50]);
    outbox.close(0);
    assert_eq!(outbox.over(), [Over::Closed { partition: 0 }]);
    add(&mut outbox, [100, 0]);
    assert!(outbox.credit(1, 1));
    assert_eq!(post(&mut outbox), [[1]]);
    assert!(!outbox.has_waiting());
}

#[test]
fn a_partition_is_over_when_its_last_request_has_completed() {
    let mut outbox = outbox(10 * BYTES);
    add(&mut outbox, [100, 0]);
    let (index, to) = outbox.next().unwrap();
    outbox.posted(index, &to);
    outbox.end();
    assert_eq!(outbox.over(), [Over::End { partition: 1, batches: 0 }]);
    outbox.completed(0);
    assert_eq!(outbox.over(), [Over::End { partition: 0, batches: 1 }]);
    assert!(outbox.over().is_empty(), "each is told once");
    assert!(outbox.is_done());
}

#[test]
fn a_consumer_that_comes_late_gets_the_rows_from_the_beginning() {
    let mut outbox = Outbox::new(2, 10 * BYTES, BYTES);
    outbox.open(0);
    add(&mut outbox, [100, 100]);
    assert_eq!(post(&mut outbox), [[0]]);
    outbox.end();
    assert_eq!(outbox.over(), [Over::End { partition: 0, batches: 1 }]);
    assert!(!outbox.is_done());
    outbox.open(1);
    assert_eq!(post(&mut outbox), [[1]]);
    assert_eq!(outbox.over(), [Over::End { partition: 1, batches: 1 }]);
}

#[test]
fn credit_for_what_was_not_sent_is_noticed() {
    let mut outbox = outbox(BYTES);
    assert!(!outbox.credit(0, 1));
}
