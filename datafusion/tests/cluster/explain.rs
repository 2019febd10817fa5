//! The operators and metrics that plans show.

use drdma_datafusion::tpch;

use crate::lab::Lab;

#[test]
fn plans_name_the_operators_and_say_what_is_copied() {
    let lab = Lab::new();
    let text = lab.cluster.explain(tpch::QUERIES[4]).unwrap();
    let head = text.lines().find(|line| line.contains("DrdmaShuffleExec")).unwrap();
    assert!(head.contains("hash=[n_name@0], partitions=6"), "{head}");
    assert!(head.contains("as_they_lie=[n_name") && head.contains("copied=[]"), "{head}");
    let head = text.lines().find(|line| line.contains("DrdmaBroadcastExec")).unwrap();
    assert!(head.contains("consumers=3"), "{head}");
}

#[test]
fn an_analysed_plan_has_the_metrics_of_each_exchange() {
    let lab = Lab::new().shuffling_joins();
    let text = lab.cluster.analyze(tpch::QUERIES[12]).unwrap();
    let head = text.lines().find(|line| line.contains("DrdmaShuffleExec")).unwrap();
    for metric in [
        "sent_rows=",
        "sent_bytes=",
        "posts=",
        "local_rows=",
        "local_batches=",
        "waits_for_credit=",
    ] {
        assert!(head.contains(metric), "{metric} in {head}");
    }
    let boundary = text.lines().find(|line| line.contains("NetworkShuffleExec")).unwrap();
    for metric in ["received_rows=", "received_batches=", "wait_time"] {
        assert!(boundary.contains(metric), "{metric} in {boundary}");
    }
}

/// The value of a metric in a line of a plan.
fn metric<'a>(line: &'a str, name: &str) -> &'a str {
    let (_, behind) =
        line.split_once(&format!("{name}=")).unwrap_or_else(|| panic!("{name} in {line}"));
    behind.split([',', ']']).next().unwrap()
}

#[test]
fn queues_and_receivers_are_used_again_by_the_next_query() {
    let lab = Lab::new().shuffling_joins();
    // Rows that are appended to columns, and rows that are not.
    let join = "select count(*) from lineitem join orders on l_orderkey = o_orderkey";
    let groups = "select o_clerk, count(*) from orders group by o_clerk";
    for (sql, key) in [(join, "l_orderkey"), (groups, "o_clerk")] {
        let kept = || {
            let text = lab.cluster.analyze(sql).unwrap();
            let value = |operator: &str, name: &str| {
                let line = text.lines().find(|line| line.contains(operator)).unwrap();
                metric(line, name).parse::<u32>().unwrap()
            };
            let head = format!("DrdmaShuffleExec: hash=[{key}");
            (value(&head, "kept_send_queues"), value("NetworkShuffleExec", "kept_receivers"))
        };
        kept();
        let (queues, receivers) = kept();
        assert!(queues > 0 && receivers > 0, "{sql}: {queues} send queues, {receivers} receivers");
    }
}

#[test]
fn rows_of_fixed_width_are_appended_by_the_consumers_cards_and_others_are_not() {
    let lab = Lab::new().shuffling_joins();
    let heads = |sql: &str, key: &str| {
        lab.check(sql);
        let text = lab.cluster.analyze(sql).unwrap();
        let head = format!("DrdmaShuffleExec: hash=[{key}");
        let heads = text.lines().filter(|line| line.contains(&head)).map(str::to_owned);
        let heads: Vec<String> = heads.collect();
        assert!(!heads.is_empty(), "{head} in {text}");
        heads
    };
    let join =
        "select sum(l_quantity), count(*) from lineitem join orders on l_orderkey = o_orderkey
                where o_custkey > 10 and l_quantity > 5";
    for head in heads(join, "l_orderkey").iter().chain(&heads(join, "o_orderkey")) {
        assert_ne!(metric(head, "sent_rows"), "0", "{head}");
        assert_eq!(metric(head, "appended_rows"), metric(head, "sent_rows"), "{head}");
    }
    let groups = "select o_clerk, count(*) from orders group by o_clerk";
    for head in heads(groups, "o_clerk") {
        assert_ne!(metric(&head, "sent_rows"), "0", "{head}");
        assert_eq!(metric(&head, "appended_rows"), "0", "{head}");
    }
}
