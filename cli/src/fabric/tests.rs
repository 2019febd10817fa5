use std::{fs, path::Path};

use libdrdma::Features;
use serde_json::{Value, json};

use super::*;
use crate::device::Kind;
use crate::job::schema_check::{errors, same_fields};

mod features;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/fabric.schema.json");

/// Two nodes that use every field.
fn good() -> Value {
    let contiguous = json!({"type": "contiguous", "buffer": "t", "offset": 0, "len": 64});
    json!({
        "network": {"gbps": 100, "delay_ns": 500, "queue_kib": 1024, "loss": 0.001, "duplicate": 0,
                    "reorder": 0.5, "corrupt": 1, "ecn_kib": 64, "seed": 1},
        "nodes": [
            {"name": "a", "device": "soft:", "local": {"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"},
             "buffers": [ {"name": "t", "size": 4096, "access": ["remote_read", "remote_write"]},
                          {"name": "u", "hex": "0102"} ],
             "keys": [ {"name": "part", "region": contiguous, "access": ["remote_atomic"]},
                       {"name": "gaps", "access": ["remote_write"],
                        "region": {"type": "strided", "buffer": "t", "offset": 0, "period": 8, "count": 2,
                                   "pattern": [ {"offset": 0, "len": 4} ]}} ],
             "appends": [ {"name": "rows", "columns": [ {"buffer": "t", "offset": 96, "width": 4} ],
                           "capacity": 1000} ],
             "srqs": [ {"name": "s"} ],
             "qps": [ {"name": "x", "transport": "rc", "mtu": 1024, "peer": "b/y", "start_psn": 7,
                       "srq": "s", "timeout": 12, "retry_cnt": 3, "rnr_retry": 2,
                       "min_rnr_timer": 5, "max_rd_atomic": 4, "dscp": 1, "ecn": 2, "ttl": 9},
                      {"name": "d", "transport": "ud", "mtu": 256, "qkey": 9} ]},
            {"name": "b", "device": "soft:", "local": {"mac": "02:00:00:00:00:02", "ip": "10.0.0.2"},
             "buffers": [ {"name": "t", "size": 100, "access": []} ],
             "qps": [ {"name": "y", "transport": "rc", "mtu": 1024, "peer": "a/x"},
                      {"name": "d", "transport": "ud", "mtu": 256, "qkey": 9} ]}
        ],
        "steps": [
            {"node": "b", "verb": "post_recv", "qp": "y", "wr_id": 1, "regions": [contiguous]},
            {"node": "a", "verb": "post_srq_recv", "srq": "s", "wr_id": 2, "append": "rows"},
            {"node": "a", "verb": "post_send", "qp": "x", "wr_id": 3, "op": "send_imm", "imm": 5,
             "row_mask": "period", "rows_per_message": 2, "signaled": false, "fence": true,
             "inline": false, "fetch": {"max_read": 64, "merge_threshold": 0},
             "regions": [contiguous]},
            {"node": "a", "verb": "post_send", "qp": "x", "wr_id": 4, "op": "write",
             "remote": "b/t", "remote_offset": 16, "regions": [contiguous]},
            {"wait": "all"},
            {"node": "b", "verb": "post_send", "qp": "y", "wr_id": 5, "op": "read",
             "remote": "a/part", "remote_offset": 0, "regions": [contiguous]},
            {"node": "a", "verb": "post_send", "qp": "x", "wr_id": 6, "op": "compare_and_swap",
             "remote": "b/t", "remote_offset": 8, "compare": 1, "swap": 2, "regions": []},
            {"node": "a", "verb": "post_send", "qp": "x", "wr_id": 7, "op": "fetch_and_add",
             "raw": {"remote_addr": 8, "rkey": 7}, "add": 3, "regions": []},
            {"node": "a", "verb": "post_send", "qp": "d", "wr_id": 8, "op": "send",
             "destination": "b/d", "regions": [contiguous]},
            {"node": "a", "verb": "post_ssq_send", "wr_id": 9, "op": "send",
             "partitioned": {"ids": {"buffer": "t", "offset": 0, "width": 1}, "rows": 8,
                             "columns": [ {"buffer": "t", "offset": 8, "width": 4} ]},
             "destinations": [ {"qp": "x", "partition": 1} ]},
            {"node": "a", "verb": "post_ssq_send", "wr_id": 10, "op": "write_imm", "imm": 1,
             "destinations": [ {"qp": "x", "remote": "b/t", "remote_offset": 0, "regions": []} ]},
            {"node": "a", "verb": "give_back", "append": "rows", "rows": 3},
            {"node": "b", "verb": "post_send", "qp": "y", "wr_id": 11, "op": "write",
             "remote": "a/gaps", "remote_offset": 0, "regions": []},
            {"node": "b", "verb": "post_send", "qp": "y", "wr_id": 12, "op": "send_invalidate",
             "remote": "a/part", "solicited": true, "regions": [contiguous]}
        ]
    })
}

fn parse(job: &Value) -> Result<FabricJob, JobError> {
    FabricJob::parse(&job.to_string(), Path::new("/nowhere"))
}

/// The message for the good job with the value at `pointer` replaced, or removed.
fn message(pointer: &str, value: Option<Value>) -> String {
    let mut job = good();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match (job.pointer_mut(parent).expect(pointer), value) {
        (Value::Object(object), Some(value)) => {
            object.insert(name.to_owned(), value);
        }
        (Value::Object(object), None) => {
            object.shift_remove(name).expect(pointer);
        }
        (Value::Array(list), Some(value)) => list[name.parse::<usize>().unwrap()] = value,
        _ => panic!("{parent} is neither a list nor an object"),
    }
    match parse(&job) {
        Ok(_) => panic!("{pointer} is accepted"),
        Err(error) => error.to_string(),
    }
}

fn set(pointer: &str, value: Value) -> String {
    message(pointer, Some(value))
}

fn without(pointer: &str) -> String {
    message(pointer, None)
}

#[test]
fn a_good_job_is_read_with_its_defaults() {
    let job = parse(&good()).unwrap();
    assert_eq!(job.network.ecn, 64 << 10);
    assert_eq!((job.network.faults.corrupt, job.network.faults.reorder), (1.0, 0.5));
    let [a, b] = &job.nodes[..] else { panic!("two nodes") };
    assert_eq!(a.qps[0].peer, Some(Peer { node: 1, qp: 0 }));
    assert_eq!((a.qps[0].srq, a.qps[0].start_psn, a.qps[0].max_rd_atomic), (Some(0), 7, 4));
    assert_eq!((b.qps[0].start_psn, b.qps[0].retries), (0, Retries::default()));
    let reads = Access { remote_read: true, remote_write: true, remote_atomic: false };
    assert_eq!((a.access[0], a.access[1]), (reads, Access::default()));
    assert_eq!(job.phases().map(<[Step]>::len).collect::<Vec<_>>(), [4, 9]);
    let mut bare = good();
    bare["network"] = json!({});
    assert_eq!(parse(&bare).unwrap().network, NetworkConfig::default());
}

#[test]
fn names_that_nothing_has_are_told() {
    for (pointer, value, expected) in [
        ("/steps/0/node", "c", "steps[0].node: there is no node \"c\""),
        ("/steps/0/qp", "x", "steps[0].qp: there is no queue pair \"x\""),
        ("/steps/1/srq", "t", "steps[1].srq: there is no shared receive queue \"t\""),
        ("/steps/3/remote", "b/x", "steps[3].remote: there is no buffer or key \"b/x\""),
        ("/steps/3/remote", "c/t", "steps[3].remote: there is no buffer or key \"c/t\""),
        ("/steps/3/remote", "t", "steps[3].remote: must be a name like node/name, is \"t\""),
        ("/steps/8/destination", "b/x", "steps[8].destination: there is no queue pair \"b/x\""),
        ("/nodes/0/qps/0/peer", "b/z", "nodes[0].qps[0].peer: there is no queue pair \"b/z\""),
        ("/nodes/0/qps/0/srq", "q", "nodes[0].qps[0].srq: there is no shared receive queue \"q\""),
        (
            "/nodes/0/name",
            "..",
            "nodes[0].name: \"..\" is no name that a file could have, without slashes",
        ),
        (
            "/nodes/0/buffers/1/name",
            "a/b",
            "nodes[0].buffers[1].name: \"a/b\" is no name that a file could have, without slashes",
        ),
        ("/nodes/1/name", "a", "nodes[1].name: \"a\" is already used by nodes[0]"),
        (
            "/nodes/0/buffers/1/name",
            "t",
            "nodes[0].buffers[1].name: \"t\" is already used by nodes[0].buffers[0]",
        ),
        (
            "/nodes/0/keys/0/name",
            "t",
            "nodes[0].keys[0].name: \"t\" is already used by nodes[0].buffers[0]",
        ),
        (
            "/nodes/1/local/mac",
            "02:00:00:00:00:01",
            "nodes[1].local.mac: 02:00:00:00:00:01 is already used by nodes[0].local.mac",
        ),
        (
            "/nodes/1/local/ip",
            "10.0.0.1",
            "nodes[1].local.ip: 10.0.0.1 is already used by nodes[0].local.ip",
        ),
    ] {
        assert_eq!(set(pointer, json!(value)), expected);
    }
}

#[test]
fn peers_name_each_other_and_are_alike() {
    assert_eq!(
        set("/nodes/0/qps/0/peer", json!("b/d")),
        "nodes[0].qps[0].peer: names \"b/d\", which has no peer"
    );
    assert_eq!(
        set("/nodes/0/qps/0/peer", json!("a/x")),
        "nodes[1].qps[0].peer: names \"a/x\", whose own peer is \"a/x\""
    );
    assert_eq!(
        set("/nodes/1/qps/0/mtu", json!(2048)),
        "nodes[0].qps[0].peer: names \"b/y\", whose mtu is 2048, not 1024"
    );
    assert_eq!(
        set("/nodes/1/qps/0/transport", json!("uc")),
        "nodes[0].qps[0].peer: names \"b/y\", which has another transport"
    );
    assert_eq!(without("/nodes/1/qps/0/peer"), "nodes[1].qps[0].peer: is missing");
    assert_eq!(
        set("/nodes/1/qps/1/peer", json!("a/d")),
        "nodes[1].qps[1].peer: has no meaning for ud: each post names its destination: leave it out"
    );
    assert_eq!(
        set("/steps/8/destination", json!("b/y")),
        "steps[8].destination: names \"b/y\", which has another transport"
    );
    assert_eq!(without("/steps/8/destination"), "steps[8].destination: is missing");
}

#[test]
fn numbers_have_limits() {
    for (pointer, value, expected) in [
        ("/network/loss", json!(1.5), "network.loss: must be from 0 to 1, is 1.5"),
        ("/network/loss", json!(-1), "network.loss: must be from 0 to 1, is -1"),
        ("/network/loss", json!("x"), "network.loss: must be a number, is \"x\""),
        ("/network/gbps", json!(0), "network.gbps: must be at least 1, is 0"),
        ("/network/gbps", json!(10.5), "network.gbps: must be an integer, is 10.5"),
        ("/network/queue_kib", json!(0), "network.queue_kib: must be at least 1, is 0"),
        ("/nodes/0/qps/0/timeout", json!(32), "nodes[0].qps[0].timeout: must be at most 31, is 32"),
        (
            "/nodes/0/qps/0/retry_cnt",
            json!(8),
            "nodes[0].qps[0].retry_cnt: must be at most 7, is 8",
        ),
        (
            "/nodes/0/qps/0/max_rd_atomic",
            json!(17),
            "nodes[0].qps[0].max_rd_atomic: must be at most 16, is 17",
        ),
        (
            "/nodes/0/qps/0/mtu",
            json!(1500),
            "nodes[0].qps[0].mtu: 1500 is none of 256, 512, 1024, 2048 and 4096",
        ),
        ("/nodes", json!([]), "nodes: must have at least one node"),
    ] {
        assert_eq!(set(pointer, value), expected);
    }
    let expected = "nodes[0].keys[0].region: ends at byte 5000 of buffer \"t\", which has 4096 B";
    assert_eq!(set("/nodes/0/keys/0/region/len", json!(5000)), expected);
}

#[test]
fn fields_belong_to_operations_and_transports() {
    for (pointer, value, expected) in [
        (
            "/steps/2/remote",
            json!("b/t"),
            "steps[2].remote: has no meaning for send_imm: leave it out",
        ),
        ("/steps/2/add", json!(1), "steps[2].add: has no meaning for send_imm: leave it out"),
        ("/steps/3/imm", json!(1), "steps[3].imm: has no meaning for write: leave it out"),
        (
            "/steps/5/rows_per_message",
            json!(1),
            "steps[5].rows_per_message: has no meaning for read: leave it out",
        ),
        (
            "/steps/7/remote",
            json!("b/t"),
            "steps[7].remote: has no meaning for a post that has \"raw\": leave it out",
        ),
        (
            "/steps/3/destination",
            json!("b/d"),
            "steps[3].destination: has no meaning for this transport (only ud has one): leave it out",
        ),
        ("/steps/13/remote", json!("a/t"), "steps[13].remote: there is no key \"a/t\""),
        (
            "/steps/13/remote_offset",
            json!(0),
            "steps[13].remote_offset: has no meaning for send_invalidate: leave it out",
        ),
        (
            "/steps/9/op",
            json!("read"),
            "steps[9].op: \"read\" is none of send, send_imm, write and write_imm",
        ),
        ("/steps/4/wait", json!("some"), "steps[4].wait: \"some\" is none of all"),
        ("/steps/4/node", json!("a"), "steps[4].node: unknown field; the fields here are wait"),
        (
            "/nodes/0/qps/1/timeout",
            json!(1),
            "nodes[0].qps[1].timeout: has no meaning for this transport (only rc has it): leave it out",
        ),
        (
            "/nodes/0/buffers/0/access/0",
            json!("write"),
            "nodes[0].buffers[0].access[0]: \"write\" is none of remote_read, remote_write and remote_atomic",
        ),
    ] {
        assert_eq!(set(pointer, value), expected);
    }
    assert_eq!(without("/steps/3/remote"), "steps[3].remote: is missing");
    assert_eq!(without("/steps/3/remote_offset"), "steps[3].remote_offset: is missing");
    assert_eq!(without("/steps/6/swap"), "steps[6].swap: is missing");
    assert_eq!(without("/steps/8/op"), "steps[8].op: is missing");
    let expected = "steps[8].op: read is not possible on queue pair \"d\", whose transport is ud";
    let read = json!({"node": "a", "verb": "post_send", "qp": "d", "wr_id": 8, "op": "read",
                      "remote": "b/t", "remote_offset": 0, "destination": "b/d", "regions": []});
    assert_eq!(set("/steps/8", read), expected);
    let receive = json!({"node": "a", "verb": "post_recv", "qp": "x", "wr_id": 8, "regions": []});
    let expected =
        "steps[8].qp: takes its receives from the shared receive queue \"s\": post them there";
    assert_eq!(set("/steps/8", receive), expected);
}

#[test]
fn what_no_card_does_is_refused() {
    assert_eq!(
        set("/nodes/0/device", json!("vfio:0000:65:00.0")),
        "nodes[0].device: there is no board in a fabric: a node is a simulated card, soft: or rtl:"
    );
    assert_eq!(
        set("/nodes/0/keys/1/access/0", json!("remote_atomic")),
        "nodes[0].keys[1].region: there is no key to a region with gaps that allows remote_atomic"
    );
}

#[test]
fn append_regions_lie_in_their_buffers_and_take_whole_receives() {
    for (pointer, value, expected) in [
        (
            "/nodes/0/appends/0/capacity",
            json!(1001),
            "nodes[0].appends[0].columns[0]: ends at byte 4100 of buffer \"t\", which has 4096 B",
        ),
        (
            "/nodes/0/appends/0/capacity",
            json!(0),
            "nodes[0].appends[0].capacity: must be at least 1, is 0",
        ),
        (
            "/nodes/0/appends/0/columns",
            json!([]),
            "nodes[0].appends[0].columns: must have at least one column",
        ),
        ("/steps/1/append", json!("t"), "steps[1].append: there is no append region \"t\""),
        (
            "/steps/1/regions",
            json!([]),
            "steps[1].regions: has no meaning for a receive that appends: leave it out",
        ),
        ("/steps/11/append", json!("t"), "steps[11].append: there is no append region \"t\""),
        ("/steps/11/rows", json!(0), "steps[11].rows: must be at least 1, is 0"),
    ] {
        assert_eq!(set(pointer, value), expected);
    }
    let datagrams =
        json!({"node": "a", "verb": "post_recv", "qp": "d", "wr_id": 8, "append": "rows"});
    assert_eq!(
        set("/steps/8", datagrams),
        "steps[8].append: has no meaning for the receives of queue pair \"d\", whose transport is ud: leave it out"
    );
    assert_eq!(without("/steps/1/append"), "steps[1].regions: is missing");
}

#[test]
fn the_last_post_of_a_queue_before_a_wait_is_signaled() {
    let expected = "is false, and no post behind it goes to the same queue: it would never be known to be complete";
    assert_eq!(set("/steps/3/signaled", json!(false)), format!("steps[3].signaled: {expected}"));
    assert_eq!(set("/steps/7/signaled", json!(false)), format!("steps[7].signaled: {expected}"));
}

#[test]
fn the_published_schema_is_that_of_the_types() {
    let text = format!("{:#}\n", schema());
    let published = fs::read_to_string(FILE).unwrap_or_default();
    assert!(
        published == text,
        "docs/fabric.schema.json is old: `drdma schema fabric > docs/fabric.schema.json`"
    );
}

#[test]
fn the_reader_and_the_schema_know_the_same_fields() {
    let (root, job) = (schema(), good());
    assert_eq!(errors(&root, &root, &job), Vec::<String>::new());
    let parse = |text: &str| FabricJob::parse(text, Path::new(".")).map(drop);
    let compared = same_fields(&root, &job, &parse);
    assert!(compared >= 39, "{compared}");
}
