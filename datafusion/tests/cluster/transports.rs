//! The engine's own exchange in place of the cards, and the CPU time of either.

use std::{process::Command, time::Duration};

use drdma_datafusion::{Options, Transport, cpu::Usage, tpch, whole};

use crate::{
    lab::Lab,
    processes::{PROGRAM, options, turn},
};

#[test]
fn queries_by_the_engines_own_exchange_have_the_rows_of_one_process() {
    let mut options = Options::new(3, &crate::MEMORY);
    options.transport = Transport::Flight;
    let lab = Lab::with(options).shuffling_joins();
    for number in [3, 5] {
        lab.check(tpch::QUERIES[number - 1]);
    }
    assert_eq!(lab.cluster.totals().payload, 0, "no row goes by a card");
    assert_eq!(lab.cluster.usage().unwrap().rows, 0);
    let plan = lab.cluster.explain(tpch::QUERIES[2]).unwrap();
    assert!(plan.contains("RepartitionExec: partitioning=Hash"), "{plan}");
    assert!(!plan.contains("Drdma"), "{plan}");

    lab.cluster.query("set drdma.exchange = 'drdma'").unwrap();
    lab.check(tpch::QUERIES[2]);
    assert!(lab.cluster.totals().payload > 0, "rows go by the cards");
    let plan = lab.cluster.explain(tpch::QUERIES[2]).unwrap();
    assert!(plan.contains("DrdmaShuffleExec"), "{plan}");
    let error = lab.cluster.query("set drdma.exchange = 'udp'").unwrap_err().to_string();
    assert!(error.contains("`udp` is no exchange: drdma or flight is expected"), "{error}");
}

/// What workers have used in all.
fn usage(lab: &Lab) -> Usage {
    let usage = lab.cluster.usage().unwrap();
    assert!(usage.card <= usage.process, "{usage:?}");
    usage
}

#[test]
fn the_cpu_time_of_workers_grows_and_that_of_their_cards_only_if_rows_go_by_them() {
    let _turn = turn();
    let lab = Lab::with(options(2)).shuffling_joins();
    let sql = "select count(*), sum(l_tax) from lineitem join orders on l_orderkey = o_orderkey";
    let run = |exchange: &str| {
        lab.cluster.query(&format!("set drdma.exchange = '{exchange}'")).unwrap();
        let before = usage(&lab);
        lab.check(sql);
        lab.comes_to_rest();
        let after = usage(&lab);
        assert!(after.process > before.process && after.card >= before.card);
        after - before
    };
    run("drdma");
    let by_card = run("drdma");
    let by_flight = run("flight");
    assert!(by_card.card > Duration::ZERO && by_card.rows > 30_000, "{by_card:?}");
    assert!(by_card.bytes >= 16 * by_card.rows, "a key and a number are 16 B at least");
    assert_eq!((by_flight.rows, by_flight.bytes), (0, 0));
    assert!(by_flight.card < by_card.card, "{by_flight:?}, {by_card:?}");
}

#[test]
fn a_query_is_compared_in_every_way_and_a_wrong_answer_is_an_error() {
    let _turn = turn();
    let lab = Lab::with(options(2));
    let sql = "select l_suppkey, count(*) from lineitem group by l_suppkey";
    let expected = lab
        .cluster
        .coordinator()
        .block_on(async { lab.one.sql(sql).await.unwrap().collect().await.unwrap() });
    let mut expected = tpch::rows_as_text(&expected).unwrap();
    let compared = whole::compare(&lab.cluster, sql, 1, &expected).unwrap();
    assert!(compared.drdma > Duration::ZERO && compared.drdma < compared.with_card);
    assert!(compared.flight > Duration::ZERO && compared.plain > Duration::ZERO);
    assert!(compared.rows > 0 && compared.bytes >= 8 * compared.rows, "{compared:?}");
    expected.pop();
    let error = whole::compare(&lab.cluster, sql, 1, &expected).unwrap_err().to_string();
    assert!(error.contains("and they differ"), "{error}");
}

#[test]
fn options_of_the_command_that_are_not_possible_are_named() {
    let fails = |arguments: &[&str]| {
        let output = Command::new(PROGRAM).args(arguments).output().unwrap();
        assert!(!output.status.success(), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let error = fails(&["--exchange", "udp"]);
    assert!(error.contains("`udp` is no exchange: drdma or flight is expected"), "{error}");
    let error = fails(&["--tpch", "0.01", "--cpu", "1,23"]);
    assert!(error.contains("`23` is no query of TPC-H: 1 to 22, or all"), "{error}");
    let error = fails(&["--tpch", "0.01", "--cpu", "1", "--times", "0"]);
    assert!(error.contains("0 is not in 1.."), "{error}");
    let error = fails(&["--tpch", "0.01", "--cpu", "1", "--threads"]);
    assert!(error.contains("cannot be used with"), "{error}");
    let error = fails(&["--cpu", "1"]);
    assert!(error.contains("--tpch"), "{error}");
}
