//! The packets of the card, received by an independent endpoint: the soft-RoCE (rxe) of a Linux
//! guest, which checks sequence numbers, keys, bounds and ICRC itself, and answers.
//!
//! `cargo xtask vm` runs these: it boots the guest and says where it is. In `receives`, the guest sends and
//! the card receives.

mod answers;
mod receives;
mod requests;

use std::time::Duration;

use drdma_tests::{
    expect::{self, Completion, Memory},
    frame,
    lab::{
        self, Lab, MTU, QKEY,
        peer::{PeerMemory, PeerQueuePair, Received},
        queue_pair,
    },
    random::Random,
};
use serde_json::{Value, json};

/// rxe's NAK for a gap in the sequence numbers.
const NAK_SEQUENCE: u8 = 0x60;
/// rxe's NAK for a request that it cannot carry out.
const NAK_INVALID_REQUEST: u8 = 0x61;
/// rxe's NAK for memory that it does not grant.
const NAK_ACCESS: u8 = 0x62;
/// rxe's NAK for a SEND that does not fit.
const NAK_OPERATION: u8 = 0x63;
/// The bits that distinguish ACK, RNR NAK and NAK; the others are credits or a time.
const KIND: u8 = 0x60;
const ACK: u8 = 0x00;
const RNR_NAK: u8 = 0x20;
/// Value of bytes that were not written to.
const UNTOUCHED: u8 = 0xa5;

fn hex(random: &mut Random, bytes: usize) -> String {
    expect::hex(&random.bytes(bytes))
}

fn job(buffers: &Value, qps: &[Value], posts: &[Value]) -> Value {
    json!({"buffers": buffers, "local": lab::local(), "qps": qps, "posts": posts})
}

/// The messages of every destination of a post, by the interpreter that shares no code with the
/// card.
fn messages(job: &Value, post: usize) -> Vec<Vec<Vec<u8>>> {
    let (memory, qps) = (Memory::of(job), expect::queue_pairs(job));
    expect::messages(&job["posts"][post], &memory, &qps, &|_| false).expect("the post is right")
}

fn statuses(completions: &[Completion]) -> Vec<&str> {
    completions.iter().map(|completion| &*completion.status).collect()
}

/// The successful receives of a queue pair of the peer.
fn received_by(qp: &PeerQueuePair, all: &[Received]) -> Vec<Received> {
    let own: Vec<_> = all.iter().filter(|received| received.qp == qp.index).cloned().collect();
    assert!(own.iter().all(|received| received.status == "success"), "{own:?}");
    own
}

/// The device's own counters before and after an operation.
struct Changes {
    before: Value,
    after: Value,
}

impl Changes {
    /// Difference of a counter.
    fn of(&self, name: &str) -> u64 {
        let value = |counters: &Value| {
            let value = counters[name].as_u64();
            value.unwrap_or_else(|| panic!("there is no counter {name}: {counters}"))
        };
        value(&self.after) - value(&self.before)
    }
}

/// Runs `during`, and returns its result and the changes of the device's own counters.
fn counting<T>(lab: &mut Lab, during: impl FnOnce(&mut Lab) -> T) -> (T, Changes) {
    let before = lab.peer.counters();
    let result = during(lab);
    (result, Changes { before, after: lab.peer.counters() })
}

/// Connects a queue pair of the card to a new one of the peer: the job's entry, and the peer's.
fn connect_rc(lab: &mut Lab, name: &str, psn: u32, writable: bool) -> (Value, PeerQueuePair) {
    let qpn = lab.new_qpn();
    let peer = lab.peer.rc(qpn, psn, MTU, writable);
    (queue_pair(name, "rc", qpn, peer.qpn, psn), peer)
}

/// Connects a queue pair for datagrams to a new one of the peer: the job's entry, and the peer's.
fn connect_ud(lab: &mut Lab, name: &str) -> (Value, PeerQueuePair) {
    let qpn = lab.new_qpn();
    let peer = lab.peer.ud(QKEY);
    (queue_pair(name, "ud", qpn, peer.qpn, 0xff_fffe), peer)
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn a_shuffle_by_datagrams_delivers_every_row_to_its_destination() {
    const ROWS: usize = 600;
    let mut lab = lab::lab();
    let mut random = Random::new(1);
    // Row i has the value i, so that all rows are different.
    let keys: Vec<u8> = (0..ROWS as u32).flat_map(u32::to_le_bytes).collect();
    let ids: Vec<u8> = (0..ROWS).map(|_| random.range(0..=4) as u8).collect();
    let buffers = json!([
        {"name": "keys", "hex": expect::hex(&keys)},
        {"name": "prices", "hex": hex(&mut random, 8 * ROWS)},
        {"name": "flags", "hex": hex(&mut random, ROWS)},
        {"name": "ids", "hex": expect::hex(&ids)},
    ]);
    let names = ["q0", "q1", "q2", "q3"];
    let (qps, peers): (Vec<_>, Vec<_>) =
        names.iter().map(|name| connect_ud(&mut lab, name)).unzip();
    let destinations: Vec<_> = (0..4).map(|i| json!({"qp": names[i], "partition": i})).collect();
    let post = json!({
        "verb": "post_ssq_send", "wr_id": 1, "op": "send", "rows_per_message": 10,
        "partitioned": {
            "ids": {"buffer": "ids", "offset": 0, "width": 1}, "rows": ROWS,
            "columns": [{"buffer": "keys", "offset": 0, "width": 4},
                        {"buffer": "prices", "offset": 0, "width": 8},
                        {"buffer": "flags", "offset": 0, "width": 1}],
        },
        "destinations": destinations,
    });
    let job = job(&buffers, &qps, &[post]);
    let expected = messages(&job, 0);
    let count: usize = expected.iter().map(Vec::len).sum();
    peers.iter().for_each(|peer| lab.peer.receive(peer, 80, MTU as usize));

    let ((completions, all), changed) = counting(&mut lab, |lab| {
        let completions = lab.run(&job);
        (completions, lab.peer.received(count))
    });
    assert_eq!(statuses(&completions), ["success"]);
    assert_eq!(all.len(), count, "datagrams");
    let mut rows = Vec::new();
    for ((peer, qp), expected) in peers.iter().zip(&qps).zip(&expected) {
        let own = received_by(peer, &all);
        assert!(own.iter().all(|r| r.source_qp.map(Value::from).as_ref() == Some(&qp["qpn"])));
        let data: Vec<_> = own.into_iter().map(|received| received.data).collect();
        assert_eq!(&data, expected, "what {} received", qp["name"]);
        rows.extend(data.concat().chunks(13).map(|row| row[..4].to_vec()));
    }
    rows.sort();
    rows.dedup();
    let sent = ids.iter().filter(|id| **id < 4).count();
    assert_eq!(rows.len(), sent, "every row of a destination, once");
    assert_eq!(changed.of("rcvd_pkts"), count as u64, "packets that rxe counted");
    println!("{count} datagrams, {sent} rows of {ROWS} received");
}

/// A region of every type over the buffers `t`, `b` and `p` of [`tables`].
fn regions() -> [(&'static str, Value); 4] {
    [
        ("contiguous", json!({"type": "contiguous", "buffer": "t", "offset": 3, "len": 5001})),
        (
            "strided",
            json!({"type": "strided", "buffer": "t", "offset": 1, "period": 48, "count": 90,
                   "pattern": [{"offset": 30, "len": 7}, {"offset": 0, "len": 16}]}),
        ),
        (
            "bitmapped",
            json!({"type": "bitmapped", "bitmap": {"buffer": "b", "offset": 1}, "rows": 300,
                   "columns": [{"buffer": "t", "offset": 5, "width": 8},
                               {"buffer": "t", "offset": 4000, "width": 3}]}),
        ),
        (
            "pointer_mapped",
            json!({"type": "pointer_mapped",
                   "pointers": (0..120).map(|i| json!(["t", i * 37 % 120 * 61])).collect::<Vec<_>>(),
                   "pattern": [{"offset": 2, "len": 24}, {"offset": 50, "len": 1}]}),
        ),
    ]
}

fn tables(random: &mut Random) -> Value {
    let ids: Vec<u8> = (0..300).map(|_| random.range(0..=3) as u8).collect();
    json!([{"name": "t", "hex": hex(random, 8192)}, {"name": "b", "hex": hex(random, 64)},
           {"name": "p", "hex": expect::hex(&ids)}])
}

/// The posts of one operation with every type of region: the fourth destination of the partitioned
/// one gets no memory, since no row has its id.
fn posts(op: &str, memory: &[PeerMemory], partitions: usize) -> Vec<Value> {
    let imm = |i: usize| 0xdead_0000 + i as u32;
    let own = regions().into_iter().enumerate().map(|(i, (_, region))| {
        json!({"verb": "post_send", "qp": "q0", "wr_id": i, "op": op, "imm": imm(i),
               "remote_addr": memory[i].addr, "rkey": memory[i].rkey,
               "rows_per_message": 64, "regions": [region]})
    });
    let destinations: Vec<_> = (0..partitions)
        .map(|i| {
            let memory = &memory[4 + i];
            json!({"qp": format!("q{i}"), "partition": i,
                   "remote_addr": memory.addr, "rkey": memory.rkey})
        })
        .collect();
    let partitioned = json!({
        "verb": "post_ssq_send", "wr_id": 4, "op": op, "imm": imm(4), "rows_per_message": 50,
        "partitioned": {"ids": {"buffer": "p", "offset": 0, "width": 1}, "rows": 300,
                        "columns": [{"buffer": "t", "offset": 9, "width": 8},
                                    {"buffer": "t", "offset": 3000, "width": 13}]},
        "destinations": destinations,
    });
    let mut posts: Vec<_> = own.chain([partitioned]).collect();
    for post in &mut posts {
        let fields = post.as_object_mut().expect("an object");
        if !op.ends_with("imm") {
            fields.remove("imm");
        }
        if !op.starts_with("write") {
            fields.remove("remote_addr");
            fields.remove("rkey");
            let destinations = fields.get_mut("destinations").and_then(Value::as_array_mut);
            for destination in destinations.into_iter().flatten() {
                let destination = destination.as_object_mut().expect("an object");
                destination.remove("remote_addr");
                destination.remove("rkey");
            }
        }
    }
    posts
}

/// Sends every region type with one operation, over RC, and checks that the peer's memory or receives have the bytes
/// of the interpreter, and no others.
fn every_region_type(op: &str) {
    const PARTITIONS: usize = 4;
    const SIZE: usize = 16 << 10;
    let mut lab = lab::lab();
    let mut random = Random::new(2);
    let (with_imm, is_write) = (op.ends_with("imm"), op.starts_with("write"));
    let (qps, peers): (Vec<_>, Vec<_>) = (0..PARTITIONS)
        .map(|i| connect_rc(&mut lab, &format!("q{i}"), 0xff_fff0 + i as u32, true))
        .unzip();
    let memory: Vec<_> = (0..4 + PARTITIONS).map(|_| lab.peer.memory(SIZE)).collect();
    memory.iter().for_each(|memory| lab.peer.fill(memory, UNTOUCHED));
    let posts = posts(op, &memory, PARTITIONS);
    let job = job(&tables(&mut random), &qps, &posts);
    // The messages to each memory and each queue pair, post by post.
    let all: Vec<_> = (0..posts.len()).map(|post| messages(&job, post)).collect();
    let to_memory: Vec<_> = all.iter().flatten().collect();
    let to_queue_pair = |i: usize| {
        let own = all[..4].iter().enumerate().filter(move |_| i == 0).map(|(k, m)| (k, &m[0]));
        own.chain([(4, &all[4][i])]).flat_map(|(k, messages)| messages.iter().map(move |m| (k, m)))
    };
    let count: usize = match is_write && !with_imm {
        true => 0,
        false => (0..PARTITIONS).map(|i| to_queue_pair(i).count()).sum(),
    };
    if count > 0 {
        peers.iter().for_each(|peer| lab.peer.receive(peer, 60, SIZE));
    }

    let (completions, changed) = counting(&mut lab, |lab| lab.run(&job));
    // RC requests complete when they are acknowledged: rxe did that.
    assert_eq!(statuses(&completions), ["success"; 5]);
    let bytes: usize = to_memory.iter().map(|messages| messages.concat().len()).sum();
    assert_eq!(completions.iter().map(|c| c.bytes).sum::<u64>(), bytes as u64);
    let acknowledgements = lab.relay.acknowledgements();
    assert!(!acknowledgements.is_empty());
    assert!(acknowledgements.iter().all(|ack| ack.syndrome & KIND == ACK), "{acknowledgements:?}");
    let frames = lab.relay.from_card(0).len();
    assert_eq!(changed.of("rcvd_pkts"), frames as u64, "packets that rxe counted");
    assert_eq!(changed.of("out_of_seq_request") + changed.of("duplicate_request"), 0);

    let received = lab.peer.received(count);
    assert_eq!(received.len(), count, "receives");
    for (i, peer) in peers.iter().enumerate().filter(|_| count > 0) {
        let own = received_by(peer, &received);
        let expected: Vec<_> = to_queue_pair(i).collect();
        assert_eq!(own.len(), expected.len(), "receives of queue pair {i}");
        for (received, (post, message)) in own.iter().zip(expected) {
            let imm = with_imm.then_some(0xdead_0000 + post as u32);
            assert_eq!((received.imm, received.bytes), (imm, message.len() as u64));
            assert_eq!(received.opcode, if is_write { "write" } else { "send" });
            assert!(is_write || received.data == *message, "post {post} to queue pair {i}");
        }
    }
    for (i, (memory, messages)) in memory.iter().zip(to_memory).enumerate() {
        let mut expected = if is_write { messages.concat() } else { Vec::new() };
        expected.resize(SIZE, UNTOUCHED);
        assert!(lab.peer.read(memory) == expected, "{op}: memory {i}");
    }
    println!("{op}: {bytes} B in {frames} packets, {} acknowledgements", acknowledgements.len());
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn writes_of_every_region_type_land_byte_for_byte() {
    every_region_type("write");
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn writes_with_immediate_data_land_and_are_told() {
    every_region_type("write_imm");
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn sends_of_every_region_type_are_received() {
    every_region_type("send");
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn sends_with_immediate_data_are_received() {
    every_region_type("send_imm");
}

/// One post of 3,000 bytes, three packets, and one behind it.
fn two_posts(op: &str, memory: &PeerMemory, rkey: u32) -> Vec<Value> {
    (0..2)
        .map(|i| {
            let region = json!({"type": "contiguous", "buffer": "t", "offset": 0, "len": 3000});
            let mut post = json!({"verb": "post_send", "qp": "q0", "wr_id": i, "op": op,
                                  "regions": [region]});
            if op == "write" {
                post["remote_addr"] = memory.addr.into();
                post["rkey"] = rkey.into();
            }
            post
        })
        .collect()
}

/// Result of two posts that rxe does not take.
struct Refused {
    statuses: Vec<String>,
    /// The syndrome of its NAK.
    syndrome: u8,
    /// The bytes that were written.
    written: usize,
}

/// Posts twice to a queue pair that takes WRITEs if it is `writable`. `prepare` makes the posts fail, and
/// returns the remote key.
fn refused(
    op: &str,
    writable: bool,
    prepare: impl FnOnce(&mut Lab, &PeerQueuePair, &PeerMemory) -> u32,
) -> Refused {
    let mut lab = lab::lab();
    let (qp, peer) = connect_rc(&mut lab, "q0", 100, writable);
    let memory = lab.peer.memory(4096);
    lab.peer.fill(&memory, UNTOUCHED);
    let rkey = prepare(&mut lab, &peer, &memory);
    let job = job(&tables(&mut Random::new(3)), &[qp], &two_posts(op, &memory, rkey));
    let completions = lab.run(&job);
    let bad = lab.relay.acknowledgements().into_iter().find(|a| a.syndrome & KIND != ACK);
    let syndrome = bad.expect("rxe sent a NAK").syndrome;
    let statuses = completions.into_iter().map(|completion| completion.status).collect();
    let untouched = lab.peer.read(&memory).iter().rev().take_while(|b| **b == UNTOUCHED).count();
    println!("{op}: NAK {syndrome:#04x}, {statuses:?}");
    Refused { statuses, syndrome, written: memory.size - untouched }
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn a_wrong_key_ends_in_a_remote_access_error() {
    let refused = refused("write", true, |_, _, memory| memory.rkey ^ 1);
    assert_eq!((refused.syndrome, refused.written), (NAK_ACCESS, 0));
    assert_eq!(refused.statuses, ["remote_access_error", "wr_flush_error"]);
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn a_lost_packet_ends_in_retry_exceeded() {
    let refused = refused("write", true, |lab, _, memory| {
        lab.relay.lose(1);
        memory.rkey
    });
    assert_eq!((refused.syndrome, refused.written), (NAK_SEQUENCE, MTU as usize));
    assert_eq!(refused.statuses, ["retry_exceeded", "wr_flush_error"]);
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn a_damaged_packet_is_dropped_for_its_icrc_and_ends_in_retry_exceeded() {
    let refused = refused("write", true, |lab, _, memory| {
        lab.relay.damage(1);
        memory.rkey
    });
    assert_eq!((refused.syndrome, refused.written), (NAK_SEQUENCE, MTU as usize));
    assert_eq!(refused.statuses, ["retry_exceeded", "wr_flush_error"]);
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn a_write_where_none_is_taken_ends_in_an_invalid_request() {
    let refused = refused("write", false, |_, _, memory| memory.rkey);
    assert_eq!((refused.syndrome, refused.written), (NAK_INVALID_REQUEST, 0));
    assert_eq!(refused.statuses, ["remote_invalid_request_error", "wr_flush_error"]);
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn a_send_without_a_receive_ends_in_rnr_retry_exceeded() {
    let refused = refused("send", true, |_, _, _| 0);
    assert_eq!(refused.syndrome & KIND, RNR_NAK);
    assert_eq!(refused.statuses, ["rnr_retry_exceeded", "wr_flush_error"]);
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn a_send_that_is_longer_than_its_receive_ends_in_a_remote_operation_error() {
    let refused = refused("send", true, |lab, peer, _| {
        lab.peer.receive(peer, 2, 2999);
        0
    });
    assert_eq!(refused.syndrome, NAK_OPERATION);
    assert_eq!(refused.statuses, ["remote_operation_error", "wr_flush_error"]);
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn datagrams_with_a_wrong_icrc_or_queue_key_are_dropped() {
    let mut lab = lab::lab();
    let (good, peer) = connect_ud(&mut lab, "q0");
    let (mut bad, other) = connect_ud(&mut lab, "q1");
    bad["qkey"] = (QKEY + 1).into();
    lab.peer.receive(&peer, 8, MTU as usize);
    lab.peer.receive(&other, 8, MTU as usize);
    let post = |qp: &str, i: u64| {
        let region = json!({"type": "contiguous", "buffer": "t", "offset": 100 * i, "len": 100});
        json!({"verb": "post_send", "qp": qp, "wr_id": i, "op": "send", "regions": [region]})
    };
    // Each post is one frame, in the order of the queue pair: the damaged one need not be of a certain
    // post, but of q0.
    let posts = [post("q0", 0), post("q0", 1), post("q0", 2)];
    let first = job(&tables(&mut Random::new(4)), std::slice::from_ref(&good), &posts);
    lab.relay.damage(1);
    assert_eq!(statuses(&lab.run(&first)), ["success"; 3], "UD is complete when it is sent");
    let psns: Vec<_> = lab.relay.from_card(3).iter().map(|f| frame::psn(f)).collect();
    assert_eq!(psns, [0xff_fffe, 0xff_ffff, 0]);
    lab.relay.repair();
    let second = job(&tables(&mut Random::new(4)), &[bad], &[post("q1", 3)]);
    assert_eq!(statuses(&lab.run(&second)), ["success"]);
    let received = lab.peer.received_within(3, Duration::from_secs(1));
    assert!(received_by(&other, &received).is_empty(), "a wrong queue key is dropped");
    let data: Vec<_> = received_by(&peer, &received).into_iter().map(|r| r.data).collect();
    assert_eq!(data, [messages(&first, 0)[0][0].clone(), messages(&first, 2)[0][0].clone()]);
}
