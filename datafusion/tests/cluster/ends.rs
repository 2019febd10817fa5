//! Queries that do not end with their last row: an error or an early end, never a hang.

use std::{thread, time::Duration};

use datafusion::error::DataFusionError;
use futures::StreamExt;

use crate::lab::Lab;

/// Some seconds of work, and rows that go through several exchanges while it lasts.
pub const LONG: &str = "select a.l_suppkey, count(*), sum(b.l_extendedprice)
    from lineitem a join lineitem b on a.l_suppkey = b.l_suppkey
    where a.l_comment <> b.l_comment group by a.l_suppkey";

#[test]
fn a_worker_that_is_lost_before_a_query_fails_it() {
    let lab = Lab::new();
    lab.cluster.stop_worker(1);
    let error = lab.fails(LONG);
    assert!(error.starts_with("worker 1 (http://127.0.0.1:"), "{error}");
    assert!(error.contains(") is lost: "), "{error}");
}

#[test]
fn a_worker_that_is_lost_during_a_query_fails_it() {
    let lab = Lab::new().shuffling_joins();
    thread::scope(|scope| {
        let session = lab.cluster.session().clone();
        let handle = lab.cluster.coordinator().handle().clone();
        let query = scope.spawn(move || {
            handle.block_on(async { session.sql(LONG).await.unwrap().collect().await })
        });
        thread::sleep(Duration::from_millis(700));
        assert!(!query.is_finished(), "the query is to last longer than that");
        lab.cluster.stop_worker(2);
        let result: Result<_, DataFusionError> = query.join().unwrap();
        result.expect_err("a part of the rows is lost");
    });
    lab.comes_to_rest();
}

#[test]
fn a_query_that_is_cancelled_leaves_nothing_behind() {
    let lab = Lab::new().shuffling_joins();
    lab.cluster.coordinator().block_on(async {
        let query = lab.cluster.session().sql(LONG).await.unwrap();
        let mut rows = query.execute_stream().await.unwrap();
        // No row comes so soon; then the query is dropped.
        let first = tokio::time::timeout(Duration::from_millis(500), rows.next()).await;
        assert!(first.is_err(), "the query is to last longer than that");
    });
    lab.comes_to_rest();
    lab.check("select l_returnflag, count(*) from lineitem group by l_returnflag");
}

#[test]
fn a_limit_ends_what_feeds_it() {
    let lab = Lab::new().shuffling_joins();
    let sql = "select l_comment from lineitem join orders on l_orderkey = o_orderkey limit 5";
    let rows = lab.cluster.query(sql).unwrap();
    assert_eq!(rows.iter().map(|batch| batch.num_rows()).sum::<usize>(), 5);
    lab.comes_to_rest();
}

#[test]
fn an_error_of_a_task_is_the_query_s() {
    let lab = Lab::new();
    let sql =
        "select l_orderkey / (l_linenumber - l_linenumber), count(*) from lineitem group by 1";
    let error = lab.fails(sql);
    assert!(error.to_lowercase().contains("divide by zero"), "{error}");
    lab.comes_to_rest();
    lab.check("select l_returnflag, count(*) from lineitem group by l_returnflag");
}
