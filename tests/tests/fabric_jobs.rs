//! Random fabric jobs do what an interpreter says that shares no code with the cards: every completion,
//! every byte of memory, whatever the network does to frames.
//!
//! A failure prints the seed and the least part of the job that still fails. `DRDMA_TEST_SEED=n` runs only
//! that job, `DRDMA_TEST_FABRIC_JOBS=n` so many (`DRDMA_TEST_RTL_FABRIC_JOBS=n` of those with simulated hardware);
//! `DRDMA_TEST_FIRST=n` begins with another seed.

use std::{env, path::Path};

use drdma_cli::{device::Kind, fabric::FabricJob};
use drdma_tests::fabric::{
    check::{difference, on_cards},
    expect,
    generate::{Abilities, generate},
    shrink::shrink,
};
use serde_json::{Value, json};

/// What is drawn for a network that loses frames. The refusal of a message may be lost, and is
/// not sent twice: the sender then ends with a time-out.
const BAD: Abilities =
    Abilities { faults: true, datagrams: true, answers: true, refusals: false, hardware: None };
/// Number of failures after which a device is known to be broken.
const ENOUGH: usize = 5;

/// A number from the environment.
fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is `{text}`, not a number")))
}

/// The fault of cards with a job, if there is one. A part of a job whose results are not determined has
/// none.
fn problem(job: &Value) -> Option<String> {
    let expected = expect::run(job).ok()?;
    match on_cards(job, 1) {
        Ok(found) => difference(&expected, &found),
        Err(error) => Some(error),
    }
}

/// Runs jobs from seed `first` (or that of `DRDMA_TEST_FIRST`) on, or the one of `DRDMA_TEST_SEED`.
fn run(abilities: Abilities, first: u64, count: u64) {
    let first = number("DRDMA_TEST_FIRST").unwrap_or(first);
    let seeds = match number("DRDMA_TEST_SEED") {
        Some(seed) => seed..seed + 1,
        None => first..first + count,
    };
    let mut failures = Vec::new();
    for seed in seeds {
        let job = generate(seed, abilities);
        let meant = expect::run(&job);
        assert!(meant.is_ok(), "seed {seed} has no determined meaning: {meant:?}");
        if problem(&job).is_some() {
            println!("seed {seed} fails");
            failures.push((seed, job));
        }
        if failures.len() == ENOUGH {
            break;
        }
    }
    if let Some((seed, job)) = failures.first() {
        // A job without some of its steps may not be valid.
        let is_job = |job: &Value| FabricJob::parse(&job.to_string(), Path::new(".")).is_ok();
        let least = shrink(job, &|job| is_job(job) && problem(job).is_some());
        let seeds: Vec<_> = failures.iter().map(|(seed, _)| seed).collect();
        let problem = problem(&least).expect("it fails");
        panic!("these seeds fail: {seeds:?}; DRDMA_TEST_SEED={seed}: {problem}\nThe job:\n{least}");
    }
}

fn jobs() -> u64 {
    number("DRDMA_TEST_FABRIC_JOBS").unwrap_or(1000)
}

#[test]
fn random_jobs_over_a_bad_network_do_what_they_mean() {
    run(BAD, 0, jobs());
}

#[test]
fn random_jobs_over_a_good_network_do_what_they_mean() {
    run(Abilities { faults: false, refusals: true, ..BAD }, 1 << 32, jobs());
}

/// Nodes that are the RTL receive from each other and from the reference model, and send to both.
#[test]
fn random_jobs_among_simulated_hardware_and_reference_cards_do_what_they_mean() {
    let hardware = Some(Kind::Rtl.features());
    let abilities = Abilities { faults: false, refusals: true, hardware, ..BAD };
    run(abilities, 2 << 32, number("DRDMA_TEST_RTL_FABRIC_JOBS").unwrap_or(20));
}

/// The same over a network that loses, doubles, reorders and damages frames: a fifth as many, since the simulation
/// takes long over time-outs.
#[test]
fn random_jobs_among_simulated_hardware_over_a_bad_network_do_what_they_mean() {
    let abilities = Abilities { hardware: Some(Kind::Rtl.features()), ..BAD };
    run(abilities, 3 << 32, number("DRDMA_TEST_RTL_FABRIC_JOBS").unwrap_or(20).div_ceil(5));
}

/// One queue pair, SENDs into receives that are posted and WRITEs, of one packet and of several.
#[test]
fn simulated_hardware_sends_again_what_is_lost() {
    let (count, len) = (300_u64, 700_u64);
    let bytes: String =
        (0..count * len).map(|i| format!("{:02x}", (i * 7 + i / 256) % 256)).collect();
    let end = |name: &str, peer: &str, number: u64| {
        json!({"name": name, "device": "rtl:",
               "local": {"mac": format!("02:00:00:00:00:0{number}"), "ip": format!("10.0.0.{number}")},
               "qps": [ {"name": "q", "transport": "rc", "mtu": 256, "timeout": 4, "peer": format!("{peer}/q")} ],
               "buffers": [ {"name": "t", "hex": bytes},
                            {"name": "in", "size": count * len, "access": ["remote_write"]} ]})
    };
    let place = |buffer: &str, i: u64| {
        let len = if i.is_multiple_of(3) { 100 } else { len };
        json!([ {"type": "contiguous", "buffer": buffer, "offset": i * 700, "len": len} ])
    };
    let receives = (0..count).filter(|i| i.is_multiple_of(2)).map(|i| {
        json!({"node": "b", "verb": "post_recv", "qp": "q", "wr_id": i, "regions": place("in", i)})
    });
    let sends = (0..count).map(|i| {
        let mut step = json!({"node": "a", "verb": "post_send", "qp": "q", "wr_id": i,
                              "op": "send", "regions": place("t", i)});
        if i % 2 == 1 {
            step["op"] = json!("write");
            step["remote"] = json!("b/in");
            step["remote_offset"] = json!(i * len);
        }
        step
    });
    let steps: Vec<Value> = receives.chain(sends).collect();
    for network in
        [json!({"loss": 0.01, "seed": 1}), json!({"loss": 0.1, "reorder": 0.1, "seed": 2})]
    {
        let job = json!({"network": network, "nodes": [end("a", "b", 1), end("b", "a", 2)], "steps": steps});
        assert_eq!(expect::run(&job).err(), None);
        assert_eq!(problem(&job), None);
    }
}

/// Messages and READs of no bytes among others, on every transport: into plain receives, into those of a shared queue
/// and into rows that are appended. A WRITE and a READ of none need no key.
#[test]
fn messages_of_no_bytes_pass_between_simulated_hardware_and_reference_cards() {
    let region = |buffer: &str, offset: u64, len: u64| json!([ {"type": "contiguous", "buffer": buffer, "offset": offset, "len": len} ]);
    let end = |name: &str, device: &str, peer: &str, number: u64| {
        let pair = |name: &str, transport: &str| {
            let mut pair = json!({"name": name, "transport": transport, "mtu": 256, "peer": format!("{peer}/{name}")});
            if transport == "rc" {
                pair["timeout"] = json!(4);
            }
            pair
        };
        let mut datagrams = json!({"name": "d", "transport": "ud", "mtu": 256, "qkey": 9});
        let mut shared = pair("s", "rc");
        datagrams["srq"] = json!("all");
        shared["srq"] = json!("all");
        json!({"name": name, "device": device,
               "local": {"mac": format!("02:00:00:00:00:0{number}"), "ip": format!("10.0.0.{number}")},
               "srqs": [ {"name": "all"} ],
               "qps": [pair("q", "rc"), pair("u", "uc"), shared, datagrams],
               "buffers": [ {"name": "t", "hex": "5a".repeat(1000), "access": ["remote_read"]}, {"name": "rows", "size": 12_000},
                            {"name": "in", "size": 100_000, "access": ["remote_write"]} ],
               "appends": [ {"name": "rows", "capacity": 1000, "columns": [ {"buffer": "rows", "offset": 0, "width": 12} ]} ]})
    };
    let mut steps = Vec::new();
    for i in 0..48_u64 {
        let qp = ["q", "s", "d", "u"][(i / 12) as usize];
        let op = ["send", "write", "write_imm", "send_imm", "read", "send"][(i % 6) as usize];
        let possible = match qp {
            "d" => op.starts_with("send"),
            "u" => op != "read",
            _ => true,
        };
        if !possible {
            continue;
        }
        let appends = ["q", "u"].contains(&qp) && i % 5 == 0;
        let mut receive = json!({"node": "b", "wr_id": i});
        match appends {
            true => receive["append"] = json!("rows"),
            false => receive["regions"] = region("in", 800 * i, 700),
        }
        let (verb, queue, name) = match ["s", "d"].contains(&qp) {
            true => ("post_srq_recv", "srq", "all"),
            false => ("post_recv", "qp", qp),
        };
        receive["verb"] = json!(verb);
        receive[queue] = json!(name);
        if op.starts_with("send") || op == "write_imm" {
            steps.push(receive);
        }
        let mut send = json!({"node": "a", "verb": "post_send", "qp": qp, "wr_id": i, "op": op, "regions": []});
        // Some messages have bytes, so that there is something before and behind the empty ones; READs never have.
        let has_bytes = i % 4 == 1;
        if has_bytes {
            send["regions"] = region("t", i, if appends { 600 } else { 1 + i * 3 });
        } else if op != "read" {
            send["inline"] = json!(true);
        }
        if op.starts_with("write") && has_bytes {
            send["remote"] = json!("b/in");
            send["remote_offset"] = json!(800 * i);
        } else if op.starts_with("write") || op == "read" {
            send["raw"] = json!({"remote_addr": u64::MAX, "rkey": 77});
        }
        if op.ends_with("_imm") {
            send["imm"] = json!(i);
        }
        if qp == "d" {
            send["destination"] = json!("b/d");
        }
        steps.push(send);
        if i % 12 == 11 {
            // One queue pair at a time takes from the shared queue.
            steps.push(json!({"wait": "all"}));
        }
    }
    let reliable: Vec<_> = steps.iter().filter(|step| step["qp"] == "q").cloned().collect();
    let faults = json!({"loss": 0.1, "duplicate": 0.1, "reorder": 0.1, "seed": 2});
    for (from, to, network, steps) in [
        ("rtl:", "rtl:", json!({"seed": 1}), &steps),
        ("rtl:", "soft:", json!({"seed": 1}), &steps),
        ("soft:", "rtl:", json!({"seed": 1}), &steps),
        ("rtl:", "rtl:", faults, &reliable),
    ] {
        let nodes = [end("a", from, "b", 1), end("b", to, "a", 2)];
        let job = json!({"network": network, "nodes": nodes, "steps": steps});
        assert_eq!(expect::run(&job).err(), None);
        assert_eq!(problem(&job), None, "{from} to {to}, {network}");
    }
}

/// A card keeps 1,024 doorbells, and then holds its host back until it has sent.
#[test]
fn a_node_of_simulated_hardware_posts_more_than_its_card_keeps() {
    let (count, qps) = (1500, 4);
    let bytes: String =
        (0..8 * count).map(|i| format!("{:02x}", (i * 7 + i / 256) % 256)).collect();
    let end = |name: &str, device: &str, peer: &str, number: u64| {
        let queues: Vec<Value> = (0..qps)
            .map(|i| {
                let (name, peer) = (format!("q{i}"), format!("{peer}/q{i}"));
                json!({"name": name, "transport": "rc", "mtu": 256, "peer": peer})
            })
            .collect();
        json!({"name": name, "device": device, "qps": queues,
               "local": {"mac": format!("02:00:00:00:00:0{number}"), "ip": format!("10.0.0.{number}")},
               "buffers": [ {"name": "t", "hex": bytes},
                            {"name": "in", "size": 8 * count, "access": ["remote_write"]} ]})
    };
    let nodes = [end("a", "rtl:", "b", 1), end("b", "rtl:", "a", 2)];
    // Unsignaled ones have no completion that the host could wait for.
    let steps: Vec<Value> = (0..count)
        .map(|i| {
            let signaled = i + qps >= count;
            json!({"node": "a", "verb": "post_send", "qp": format!("q{}", i % qps), "wr_id": i,
                   "op": "write", "remote": "b/in", "remote_offset": 8 * i, "signaled": signaled,
                   "regions": [ {"type": "contiguous", "buffer": "t", "offset": 8 * i, "len": 8} ]})
        })
        .collect();
    let job = json!({"network": {"seed": 1}, "nodes": nodes, "steps": steps});
    assert!(expect::run(&job).is_ok());
    assert_eq!(problem(&job), None);
}

/// READs of all sizes of a reference card from simulated hardware, and WRITEs whose bytes they find.
#[test]
fn a_node_of_simulated_hardware_answers_reads() {
    const SIZE: usize = 70_000;
    let bytes: String = (0..SIZE).map(|i| format!("{:02x}", (i * 7 + i / 256) % 256)).collect();
    let qps = |peer: &str| {
        let qp = |i: usize| {
            let mtu = [1024, 4096, 256][i];
            json!({"name": format!("q{i}"), "transport": "rc", "mtu": mtu,
                   "peer": format!("{peer}/q{i}"), "start_psn": 0xff_fff0})
        };
        (0..3).map(qp).collect::<Vec<_>>()
    };
    let nodes = json!([
        {"name": "a", "device": "soft:", "qps": qps("b"),
         "local": {"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"},
         "buffers": [ {"name": "t", "hex": bytes}, {"name": "back", "size": 4 * SIZE} ]},
        {"name": "b", "device": "rtl:", "qps": qps("a"),
         "local": {"mac": "02:00:00:00:00:02", "ip": "10.0.0.2"},
         "buffers": [ {"name": "t", "hex": bytes, "access": ["remote_read"]},
                      {"name": "in", "size": SIZE, "access": ["remote_read", "remote_write"]} ]}
    ]);
    let mut steps = Vec::new();
    let mut at = 0;
    let mut read = |steps: &mut Vec<Value>, qp: usize, remote: &str, offset: usize, len: usize| {
        let regions = json!([{"type": "contiguous", "buffer": "back", "offset": at, "len": len}]);
        steps.push(json!({"node": "a", "verb": "post_send", "qp": format!("q{qp}"),
                          "wr_id": steps.len(), "op": "read", "remote": remote,
                          "remote_offset": offset, "regions": regions}));
        at += len;
    };
    for (i, len) in [1, 3, 255, 256, 257, 4096, 4097, 20_000, 64, 8].into_iter().enumerate() {
        for qp in 0..3 {
            read(&mut steps, qp, "b/t", 11 * i + qp, len);
        }
    }
    // The bytes of the earlier WRITEs are there.
    for qp in 0..3 {
        let (offset, len) = (20_000 * qp + 5, 9_001);
        steps.push(json!({"node": "a", "verb": "post_send", "qp": format!("q{qp}"),
            "wr_id": 1000 + qp, "op": "write", "remote": "b/in", "remote_offset": offset,
            "regions": [ {"type": "contiguous", "buffer": "t", "offset": 77, "len": len} ]}));
        read(&mut steps, qp, "b/in", offset, len);
    }
    let job = json!({"network": {"seed": 1}, "nodes": nodes, "steps": steps});
    let meant = expect::run(&job);
    assert!(meant.is_ok(), "{meant:?}");
    assert_eq!(problem(&job), None);
}

/// Reference cards on both ends of simulated hardware count in its memory, with WRITEs and READs beside, over networks
/// that lose what they carry.
#[test]
fn a_node_of_simulated_hardware_answers_atomics() {
    const COUNTERS: usize = 6;
    let node = |name: &str, device: &str, number: usize, qps: Vec<Value>, buffers: Value| {
        json!({"name": name, "device": device, "qps": qps, "buffers": buffers,
               "local": {"mac": format!("02:00:00:00:00:0{number}"), "ip": format!("10.0.0.{number}")}})
    };
    let pair = |name: &str, peer: &str| {
        json!({"name": name, "transport": "rc", "mtu": 256, "timeout": 4, "peer": peer,
               "start_psn": 0xff_fff0})
    };
    let rights = json!(["remote_atomic", "remote_read", "remote_write"]);
    let back = json!([ {"name": "back", "size": 8 * 300}, {"name": "in", "size": 64 * 300} ]);
    let nodes = json!([
        node("a", "soft:", 1, vec![pair("x", "b/x"), pair("y", "b/y")], back.clone()),
        node(
            "b",
            "rtl:",
            2,
            vec![pair("x", "a/x"), pair("y", "a/y"), pair("z", "c/z")],
            json!([ {"name": "t", "size": 8192, "access": rights} ])
        ),
        node("c", "soft:", 3, vec![pair("z", "b/z")], back)
    ]);
    let mut steps = Vec::new();
    for k in 0..300 {
        let (node, qp) = [("a", "x"), ("a", "y"), ("c", "z")][k % 3];
        let place = |buffer: &str, offset: usize, len: usize| json!([{"type": "contiguous", "buffer": buffer, "offset": offset, "len": len}]);
        // Each queue pair has counters of its own, all in one page: so every earlier value is known.
        let counter = 8 * (COUNTERS * (k % 3) + k / 3 % COUNTERS);
        let mut step = json!({"node": node, "verb": "post_send", "qp": qp, "wr_id": k,
                              "remote": "b/t", "remote_offset": counter});
        match k / 3 % 5 {
            0 | 1 => {
                step["op"] = json!("fetch_and_add");
                step["add"] = json!(k + 1);
                step["regions"] = place("back", 8 * k, 8);
            }
            2 => {
                step["op"] = json!("compare_and_swap");
                step["compare"] = json!(if k % 2 == 0 { 0 } else { k - 5 });
                step["swap"] = json!(k);
                step["regions"] = place("back", 8 * k, 8);
            }
            3 => {
                step["op"] = json!("write");
                step["regions"] = place("back", 8 * k, 8);
            }
            _ => {
                step["op"] = json!("read");
                step["remote_offset"] = json!(8 * COUNTERS * (k % 3));
                step["regions"] = place("in", 64 * k, 8 * COUNTERS);
            }
        }
        steps.push(step);
    }
    let bad = json!({"loss": 0.02, "duplicate": 0.02, "reorder": 0.02, "seed": 2});
    for network in [json!({"seed": 1}), bad] {
        if network["loss"] != Value::Null {
            // A READ that is answered again may see later changes.
            steps.retain(|step| step["op"] != "read");
        }
        let job = json!({"network": network, "nodes": nodes, "steps": steps});
        let meant = expect::run(&job);
        assert!(meant.is_ok(), "{meant:?}");
        assert_eq!(problem(&job), None);
    }
}

#[test]
fn a_run_is_the_same_every_time_on_any_number_of_threads() {
    for seed in 0..jobs() / 20 {
        let job = generate(seed, BAD);
        let expected = on_cards(&job, 1).unwrap();
        for threads in [1, 2, 5] {
            let found = on_cards(&job, threads).unwrap();
            assert!(found == expected, "seed {seed}, {threads} threads:\n{expected:?}\n{found:?}");
        }
    }
}

/// Two nodes of the RTL, and steps of the first one: READs of several packets into several regions, atomics, fences and
/// WRITEs between them; no more than three READs and atomics at a time.
fn answers_of_every_kind() -> (Value, Vec<Value>) {
    let bytes: String =
        (0..20_000_u64).map(|i| format!("{:02x}", (i * 7 + i / 256) % 256)).collect();
    let end = |name: &str, peer: &str, number: u64| {
        json!({"name": name, "device": "rtl:",
               "local": {"mac": format!("02:00:00:00:00:0{number}"), "ip": format!("10.0.0.{number}")},
               "qps": [ {"name": "q", "transport": "rc", "mtu": 256, "timeout": 4, "max_rd_atomic": 3,
                         "peer": format!("{peer}/q")} ],
               "buffers": [ {"name": "t", "hex": bytes, "access": ["remote_read"]},
                            {"name": "words", "size": 800, "access": ["remote_atomic"]},
                            {"name": "written", "size": 10_000, "access": ["remote_write"]},
                            {"name": "in", "size": 100_000} ]})
    };
    let region = |buffer: &str, offset: u64, len: u64| json!({"type": "contiguous", "buffer": buffer, "offset": offset, "len": len});
    let steps = (0..100_u64).map(|i| {
        let at = i * 1000;
        let mut step = json!({"node": "a", "verb": "post_send", "qp": "q", "wr_id": i});
        match i % 4 {
            0 | 1 => {
                step["op"] = json!("read");
                step["remote"] = json!("b/t");
                step["remote_offset"] = json!(i * 150);
                step["regions"] = json!([
                    region("in", at, 300),
                    region("in", at + 999, 1),
                    region("in", at + 400, 400 + i)
                ]);
            }
            2 => {
                step["op"] = json!("fetch_and_add");
                step["add"] = json!(i);
                step["remote"] = json!("b/words");
                step["remote_offset"] = json!(i / 8 * 8);
                step["regions"] = json!([region("in", at + 3, 8)]);
            }
            _ => {
                step["op"] = json!("write");
                step["remote"] = json!("b/written");
                step["remote_offset"] = json!(i * 100);
                step["regions"] = json!([region("t", i, 100)]);
            }
        }
        if i % 7 == 0 {
            step["fence"] = json!(true);
        }
        step
    });
    (json!([end("a", "b", 1), end("b", "a", 2)]), steps.collect())
}

#[test]
fn simulated_hardware_asks_again_for_answers_that_are_lost() {
    let (nodes, steps) = answers_of_every_kind();
    for network in [
        json!({"loss": 0.01, "seed": 1}),
        json!({"loss": 0.1, "reorder": 0.1, "duplicate": 0.1, "seed": 2}),
    ] {
        let job = json!({"network": network, "nodes": nodes, "steps": steps});
        assert_eq!(expect::run(&job).err(), None);
        assert_eq!(problem(&job), None);
    }
}

/// A request whose memory is wrong breaks its queue pair while earlier ones wait for what was lost: those are completed
/// whole.
#[test]
fn what_stands_before_a_failing_request_of_simulated_hardware_is_completed() {
    let (nodes, steps) = answers_of_every_kind();
    for (before, loss) in [(1, 0.0), (3, 0.0), (8, 0.05), (40, 0.1)] {
        let mut steps = steps[..before].to_vec();
        steps
            .push(json!({"node": "a", "verb": "post_send", "qp": "q", "wr_id": 1000, "op": "send",
            "regions": [{"type": "contiguous", "buffer": "t", "offset": 19_999, "len": 2}]}));
        let network = json!({"loss": loss, "seed": before});
        let job = json!({"network": network, "nodes": nodes, "steps": steps});
        let meant = expect::run(&job).expect("a meaning");
        let found = on_cards(&job, 1).expect("it ends");
        assert_eq!(difference(&meant, &found), None, "{before}, {loss}");
    }
}

/// Messages of packed rows, of one packet and of several, into columns: rows of three extents, of which two lie side by
/// side, and a contiguous region behind. A receive is left in the middle of a row, and of an extent.
#[test]
fn simulated_hardware_fills_the_columns_of_strided_regions() {
    let (count, rows, row) = (60_u64, 50_u64, 21_u64);
    let bytes: String =
        (0..rows * row + 90).map(|i| format!("{:02x}", (i * 7 + i / 256) % 256)).collect();
    let end = |name: &str, device: &str, peer: &str, number: u64| {
        json!({"name": name, "device": device,
               "local": {"mac": format!("02:00:00:00:00:0{number}"), "ip": format!("10.0.0.{number}")},
               "qps": [ {"name": "q", "transport": "rc", "mtu": 256, "timeout": 4, "peer": format!("{peer}/q")} ],
               "buffers": [ {"name": "t", "hex": bytes}, {"name": "in", "size": count * rows * 40} ]})
    };
    let receives = (0..count).map(|i| {
        let at = i * rows * 40;
        let pattern = json!([ {"offset": 24, "len": 8}, {"offset": 0, "len": 5}, {"offset": 5, "len": 8} ]);
        json!({"node": "b", "verb": "post_recv", "qp": "q", "wr_id": i, "regions": [
            {"type": "strided", "buffer": "in", "offset": at, "period": 32, "count": rows, "pattern": pattern},
            {"type": "contiguous", "buffer": "in", "offset": at + rows * 32, "len": 90} ]})
    });
    let sends = (0..count).map(|i| {
        let len = [rows * row, 1, 13 + i, rows * row + 90, 256 * (1 + i % 4)][i as usize % 5];
        json!({"node": "a", "verb": "post_send", "qp": "q", "wr_id": i, "op": "send",
               "regions": [ {"type": "contiguous", "buffer": "t", "offset": 0, "len": len} ]})
    });
    let steps: Vec<Value> = receives.chain(sends).collect();
    for (device, network) in [
        ("rtl:", json!({"seed": 1})),
        ("soft:", json!({"loss": 0.05, "reorder": 0.05, "duplicate": 0.05, "seed": 2})),
    ] {
        let nodes = [end("a", device, "b", 1), end("b", "rtl:", "a", 2)];
        let job = json!({"network": network, "nodes": nodes, "steps": steps});
        assert_eq!(expect::run(&job).err(), None);
        assert_eq!(problem(&job), None);
    }
}

/// Peers READ regions of every type by a key: any part of them, in one packet and in several, with and without losses;
/// what is behind their end, or is to be written, is refused. The RTL does what the reference model does.
#[test]
fn simulated_hardware_answers_reads_of_described_keys() {
    let (rows, row, selected) = (400_u64, 24_u64, 11_u64);
    let bytes: String =
        (0..rows * row).map(|i| format!("{:02x}", (i * 7 + i / 256) % 256)).collect();
    let parts: [(u64, u64); 9] = [
        (0, 64),
        (0, 1),
        (7, 300),
        (1_000, 1_024),
        (0, 4_400),
        (4_399, 1),
        (13, 4_000),
        (2_048, 256),
        (5, 700),
    ];
    let size: u64 = parts.iter().map(|(_, len)| len).sum();
    let extents = json!([ {"offset": 12, "len": 4}, {"offset": 0, "len": 7} ]);
    let regions = [
        json!({"type": "strided", "buffer": "t", "offset": 3, "period": row, "count": rows, "pattern": extents}),
        // Eleven dense columns of a byte.
        json!({"type": "strided", "buffer": "t", "offset": 3, "period": 1, "count": rows,
               "pattern": (0..selected).map(|k| json!({"offset": (k * 5 % selected) * (rows + 9), "len": 1})).collect::<Vec<_>>()}),
        // Two columns, of every row but the third of each four.
        json!({"type": "bitmapped", "bitmap": {"buffer": "m", "offset": 0}, "rows": 536,
               "columns": [ {"buffer": "t", "offset": 5, "width": 4}, {"buffer": "t", "offset": 3000, "width": 7} ]}),
        json!({"type": "pointer_mapped", "pattern": extents,
               "pointers": (0..rows).map(|i| json!(["t", i * 7919 % (rows * row - 16)])).collect::<Vec<_>>()}),
    ];
    let job = |device: &str, region: &Value, faults: bool| {
        let end = |name: &str, peer: &str, number: u64| {
            json!({"name": name, "device": device,
                   "local": {"mac": format!("02:00:00:00:00:0{number}"), "ip": format!("10.0.0.{number}")},
                   "qps": [ {"name": "q", "transport": "rc", "mtu": 256, "timeout": 4, "peer": format!("{peer}/q")} ],
                   "buffers": [ {"name": "t", "hex": bytes}, {"name": "m", "hex": "bb".repeat(67)}, {"name": "in", "size": size} ],
                   "keys": [ {"name": "k", "access": ["remote_read"],
                              "region": region} ]})
        };
        assert_eq!(selected, 4 + 7);
        let mut at = 0;
        let steps: Vec<Value> = (0..).zip(parts).map(|(i, (offset, len)): (u64, _)| {
            at += len;
            json!({"node": "a", "verb": "post_send", "qp": "q", "wr_id": i, "op": "read", "remote": "b/k",
                   "remote_offset": offset,
                   "regions": [ {"type": "contiguous", "buffer": "in", "offset": at - len, "len": len} ]})
        }).collect();
        let network = match faults {
            true => json!({"seed": 5, "loss": 0.1, "duplicate": 0.05, "reorder": 0.05}),
            false => json!({"seed": 5}),
        };
        json!({"network": network, "nodes": [end("a", "b", 1), end("b", "a", 2)], "steps": steps})
    };
    for (region, faults) in regions.iter().flat_map(|region| [(region, false), (region, true)]) {
        for device in ["soft:", "rtl:"] {
            let problem = problem(&job(device, region, faults));
            assert_eq!(problem, None, "{device}, {}, faults: {faults}", region["type"]);
        }
    }
    // Behind the end, and a WRITE: both break the queue pair.
    let ends = [rows, rows, 402, rows].map(|rows| rows * selected - 10);
    let wrong = regions.iter().zip(ends);
    for (region, op, offset) in
        wrong.flat_map(|(region, end)| [(region, "read", end), (region, "write", 0)])
    {
        let answers = ["soft:", "rtl:"].map(|device| {
            let mut job = job(device, region, false);
            let mut step = job["steps"][0].clone();
            step["op"] = json!(op);
            step["remote_offset"] = json!(offset);
            step["regions"][0]["len"] = json!(11);
            job["steps"] = json!([step]);
            on_cards(&job, 1).unwrap().completions
        });
        assert_eq!(answers[0], answers[1], "{op} at {offset} of {}", region["type"]);
        assert!(answers[0].iter().any(|text| text.contains("remote_access_error")), "{answers:?}");
    }
}
