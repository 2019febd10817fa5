//! Answers equal to those of one process.

use drdma_datafusion::{Cluster, Deployment, Options, cluster, exchange::Config, tpch};
use drdma_fabric::{FaultConfig, NetworkConfig};
use libdrdma::Arena;

use crate::lab::Lab;

#[test]
fn queries_with_broadcasts_and_shuffles_have_the_rows_of_one_process() {
    let lab = Lab::new();
    for number in [1, 3, 13, 16, 18] {
        lab.check(tpch::QUERIES[number - 1]);
    }
    lab.comes_to_rest();
}

#[test]
fn joins_that_shuffle_both_sides_have_the_rows_of_one_process() {
    let lab = Lab::new().shuffling_joins();
    for number in [5, 9, 18, 21] {
        lab.check(tpch::QUERIES[number - 1]);
    }
    lab.comes_to_rest();
}

#[test]
fn every_kind_of_column_comes_as_it_was() {
    let lab = Lab::new().shuffling_joins();
    // Nulls, booleans, strings of all lengths, lists and structs, each through a shuffle.
    lab.check(
        "select a.l_orderkey, a.l_linenumber, a.flag, a.half, a.word, a.l_comment, a.day, a.price
         from (select l_orderkey, l_linenumber, l_quantity > 25 as flag,
                      case when l_quantity > 25 then l_extendedprice end as half,
                      case when l_linenumber % 3 = 0 then null else arrow_cast(l_shipmode, 'Utf8') end as word,
                      l_comment, l_shipdate as day, cast(l_extendedprice as double) as price
               from lineitem) a
         join orders on a.l_orderkey = o_orderkey
         where o_orderpriority = '1-URGENT'",
    );
    lab.check(
        "select o_orderkey, o_orderdate, all_lines from
           (select l_orderkey, array_agg(l_linenumber order by l_linenumber) as all_lines
            from lineitem group by l_orderkey) as lines
         join orders on l_orderkey = o_orderkey",
    );
}

#[test]
fn exchanges_that_follow_others_in_their_queues_and_memory_have_the_rows_of_one_process() {
    let lab = Lab::new().shuffling_joins();
    for _ in 0..3 {
        for number in [18, 5, 21] {
            lab.check(tpch::QUERIES[number - 1]);
        }
        // Consumers that do not want all rows, and a task that fails.
        lab.check(
            "select count(*) from (select o_custkey, count(*) from orders group by 1 limit 3)",
        );
        lab.fails(
            "select sum(1 / (l_linenumber - l_linenumber)) from lineitem group by l_orderkey",
        );
    }
    lab.comes_to_rest();
}

#[test]
fn strings_that_are_longer_than_a_message_come_as_they_were() {
    let lab = Lab::new();
    lab.check(
        "select l_orderkey, max(repeat(l_comment, case when l_orderkey % 100 = 1 then 2000 else 1 end)) as text
         from lineitem where l_orderkey < 2000 group by l_orderkey",
    );
    lab.comes_to_rest();
}

#[test]
fn budgets_of_a_byte_and_two_messages_stop_nothing() {
    let mut options = Options::new(3, &crate::MEMORY);
    options.exchange = Config { budget: 1, backlog: 1, slabs: 2, ..Config::default() };
    let lab = Lab::with(options).shuffling_joins();
    for number in [3, 18] {
        lab.check(tpch::QUERIES[number - 1]);
    }
    lab.comes_to_rest();
}

#[test]
fn frames_that_are_lost_are_sent_again() {
    let mut options = Options::new(3, &crate::MEMORY);
    let faults = FaultConfig { loss: 0.01, ..FaultConfig::default() };
    let network = NetworkConfig { faults, seed: 7, ..NetworkConfig::default() };
    options.deployment = Deployment::Threads(network);
    let lab = Lab::with(options).shuffling_joins();
    lab.check(tpch::QUERIES[4]);
    lab.comes_to_rest();
}

#[test]
fn batches_that_lie_in_no_arena_are_copied_and_counted() {
    static ELSEWHERE: Arena = Arena::new(1 << 30);
    let lab = Lab::with(Options::new(3, &ELSEWHERE));
    lab.check(tpch::QUERIES[2]);
    let text = lab.cluster.analyze(tpch::QUERIES[2]).unwrap();
    assert!(text.contains("copied_bytes_not_registered"), "{text}");
}

#[test]
fn one_worker_and_five_workers_have_the_rows_of_one_process() {
    for workers in [1, 5] {
        let lab = Lab::with(Options::new(workers, &crate::MEMORY)).shuffling_joins();
        lab.check(tpch::QUERIES[2]);
        lab.comes_to_rest();
    }
}

#[test]
fn no_rows_are_a_result_as_well() {
    let lab = Lab::new().shuffling_joins();
    let sql = "select o_orderkey from orders join lineitem on o_orderkey = l_orderkey where o_totalprice < 0";
    assert_eq!(lab.cluster.query(sql).unwrap().iter().map(|b| b.num_rows()).sum::<usize>(), 0);
    lab.comes_to_rest();
}

#[test]
fn options_that_are_not_possible_are_named() {
    let fails = |change: fn(&mut Options)| {
        let mut options = Options::new(3, &crate::MEMORY);
        change(&mut options);
        Cluster::start(options).expect_err("refused").to_string()
    };
    assert_eq!(fails(|o| o.workers = 0), "workers is 0: it must be 1 to 254");
    assert_eq!(fails(|o| o.partitions = 0), "partitions is 0: it must be at least 1");
    let error = tpch::write_tables("/nowhere".as_ref(), f64::NAN, 1).unwrap_err().to_string();
    assert_eq!(error, "scale is NaN: it must be above 0 and at most 1000");
}

#[test]
fn a_csv_file_is_a_table() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("cities.csv");
    let rows: Vec<String> = (0..5000).map(|i| format!("city {},{i}", i % 97)).collect();
    std::fs::write(&path, format!("name,people\n{}\n", rows.join("\n"))).unwrap();
    let lab = Lab::new();
    let path = path.display().to_string();
    lab.cluster.register("cities", &path).unwrap();
    lab.cluster.coordinator().block_on(cluster::register(&lab.one, "cities", &path)).unwrap();
    lab.check("select name, sum(people), count(*) from cities group by name");
}
