//! What plans show.

use drdma_datafusion::tpch;

use crate::lab::Lab;

#[test]
fn plans_name_the_operators_and_say_what_is_copied() {
    let lab = Lab::new();
    let text = lab.cluster.explain(tpch::QUERIES[4]).unwrap();
    let head = text.lines().find(|line| line.contains("DrdmaShuffleExec")).unwrap();
    assert!(head.contains("hash=[n_name@0], partitions=6"), "{head}");
    assert!(head.contains("copied=[n_name: values over 12 B]"), "{head}");
    let head = text.lines().find(|line| line.contains("DrdmaBroadcastExec")).unwrap();
    assert!(head.contains("consumers=3"), "{head}");
}

#[test]
fn an_analysed_plan_has_the_metrics_of_each_exchange() {
    let lab = Lab::new().shuffling_joins();
    let text = lab.cluster.analyze(tpch::QUERIES[12]).unwrap();
    let head = text.lines().find(|line| line.contains("DrdmaShuffleExec")).unwrap();
    for metric in ["sent_rows=", "sent_bytes=", "posts=", "local_rows=", "waits_for_credit="] {
        assert!(head.contains(metric), "{metric} in {head}");
    }
    let boundary = text.lines().find(|line| line.contains("NetworkShuffleExec")).unwrap();
    for metric in ["received_rows=", "received_batches=", "wait_time"] {
        assert!(boundary.contains(metric), "{metric} in {boundary}");
    }
}
