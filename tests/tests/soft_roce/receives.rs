//! The other direction: the guest's soft-RoCE is the requester, and the card answers it.

use drdma_tests::{
    lab::{
        self, Lab,
        endpoint::{Endpoint, bytes},
        peer::{PeerMemory, PeerQueuePair, Post, Posted},
        relay::{Side, Trouble},
    },
    random::Random,
};
use libdrdma::{
    Access, CompletionOpcode, Contiguous, MemoryRegion, QueuePair, ReceiveRequest, Status,
    Transport, WorkCompletion,
};

use crate::UNTOUCHED;

/// The guest sends again after 4.096 us x 2^17: 0.5 s. The simulated card may take a tenth of it.
pub const TIMEOUT: u8 = 17;
/// Lengths beside the borders of words, packets and messages.
const LENGTHS: [usize; 9] = [1, 3, 64, 65, 1023, 1024, 1025, 3000, 8192];

/// The bytes that the guest's memory gets by [`fill`].
fn fill(lab: &mut Lab, memory: &PeerMemory, byte: u8) -> Vec<u8> {
    lab.peer.fill(memory, byte);
    vec![byte; memory.size]
}

/// A request for all bytes of a memory.
pub fn all<'a>(op: &'a str, memory: &'a PeerMemory) -> Post<'a> {
    Post {
        op,
        memory,
        offset: 0,
        bytes: memory.size,
        remote_addr: 0,
        rkey: 0,
        imm: 0,
        operands: [0; 2],
    }
}

/// Serves the card until `requests` requests of the guest and `receives` receives of the card have completed.
pub fn finish(lab: &mut Lab, card: &mut Endpoint, requests: usize, receives: usize) -> Vec<Posted> {
    let mut over = Vec::new();
    card.serve_until("the guest's requests", |card| {
        over.extend(lab.peer.posted());
        over.len() >= requests && card.completions.len() >= receives
    });
    assert_eq!((over.len(), card.completions.len()), (requests, receives));
    over
}

pub fn assert_success(posted: &[Posted]) {
    assert!(posted.iter().all(|posted| posted.status == "success"), "{posted:?}");
    let numbers: Vec<_> = posted.iter().map(|posted| posted.post).collect();
    assert!(numbers.is_sorted(), "requests complete in their order: {numbers:?}");
}

fn receive<'m>(
    qp: &mut QueuePair<'m>,
    wr_id: u64,
    target: &'m MemoryRegion,
    at: usize,
    len: usize,
) {
    let regions = [Contiguous::new(target).offset(at as u64).len(len as u64).build().unwrap()];
    qp.post_recv(&ReceiveRequest::new(wr_id).regions(&regions)).expect("a receive");
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn sends_of_every_length_fill_receives() {
    let mut lab = lab::lab();
    let mut card = lab.endpoint();
    let target = card.memory(1 << 18, UNTOUCHED);
    let (mut qp, peer) = card.connect(&mut lab, Transport::Rc, Access::empty(), TIMEOUT);
    let mut expected = bytes(&target);
    let mut at = 1;
    for (i, len) in LENGTHS.into_iter().enumerate() {
        let source = lab.peer.memory(len);
        let sent = fill(&mut lab, &source, i as u8 + 1);
        for (op, j) in [("send", 0), ("send_imm", 1)] {
            receive(&mut qp, 2 * i as u64 + j, &target, at, len + 2);
            lab.peer.post(&peer, &Post { imm: 0xfeed_0000 + i as u32, ..all(op, &source) });
            expected[at..at + len].copy_from_slice(&sent);
            at += len + 5;
        }
    }
    let over = finish(&mut lab, &mut card, 2 * LENGTHS.len(), 2 * LENGTHS.len());
    assert_success(&over);
    for (k, completion) in card.completions.iter().enumerate() {
        let i = k / 2;
        let found = (completion.wr_id, completion.status, completion.bytes, completion.imm);
        let imm = (k % 2 == 1).then_some(0xfeed_0000 + i as u32);
        assert_eq!(found, (k as u64, Status::Success, LENGTHS[i] as u64, imm));
        assert_eq!(completion.opcode, CompletionOpcode::Receive);
    }
    assert!(
        bytes(&target) == expected,
        "the receives hold what was sent, and nothing beside it changed"
    );
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn writes_of_every_length_land_where_they_say() {
    let mut lab = lab::lab();
    let mut card = lab.endpoint();
    let target = card.memory(1 << 18, UNTOUCHED);
    let (mut qp, peer) = card.connect(&mut lab, Transport::Rc, Access::REMOTE_WRITE, TIMEOUT);
    let mut expected = bytes(&target);
    let mut at = 3;
    for (i, len) in LENGTHS.into_iter().enumerate() {
        let source = lab.peer.memory(len);
        let sent = fill(&mut lab, &source, i as u8 + 1);
        for op in ["write", "write_imm"] {
            if op == "write_imm" {
                qp.post_recv(&ReceiveRequest::new(i as u64)).expect("a receive");
            }
            let remote_addr = target.addr() + at as u64;
            let post = Post { remote_addr, rkey: target.rkey(), imm: i as u32, ..all(op, &source) };
            lab.peer.post(&peer, &post);
            expected[at..at + len].copy_from_slice(&sent);
            at += len + 3;
        }
    }
    let over = finish(&mut lab, &mut card, 2 * LENGTHS.len(), LENGTHS.len());
    assert_success(&over);
    for (i, completion) in card.completions.iter().enumerate() {
        let found = (completion.wr_id, completion.status, completion.bytes, completion.imm);
        assert_eq!(found, (i as u64, Status::Success, LENGTHS[i] as u64, Some(i as u32)));
        assert_eq!(completion.opcode, CompletionOpcode::ReceiveWithImm);
    }
    assert!(bytes(&target) == expected, "every WRITE, and nothing beside it");
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn datagrams_arrive_behind_their_route() {
    let mut lab = lab::lab();
    let mut card = lab.endpoint();
    let target = card.memory(4096, UNTOUCHED);
    let (mut qp, peer) = card.connect(&mut lab, Transport::Ud, Access::empty(), TIMEOUT);
    let source = lab.peer.memory(700);
    let sent = fill(&mut lab, &source, 0x5c);
    receive(&mut qp, 7, &target, 8, 1024);
    lab.peer.post_datagram(&peer, &source, 700, qp.qpn());
    assert_success(&finish(&mut lab, &mut card, 1, 1));
    let completion = card.completions[0];
    assert_eq!((completion.wr_id, completion.status, completion.bytes), (7, Status::Success, 740));
    assert_eq!((completion.source_qp, completion.global_route), (Some(peer.qpn), true));
    let found = bytes(&target);
    assert_eq!(found[48..748], sent, "the payload is behind 40 B");
    assert_eq!(found[28], 0x45, "an IPv4 header without options");
    assert_eq!((&found[40..44], &found[44..48]), (&[10, 0, 0, 2][..], &[10, 0, 0, 1][..]));
    assert!(found[748..].iter().all(|byte| *byte == UNTOUCHED));
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn a_send_waits_for_its_receive() {
    let mut lab = lab::lab();
    let mut card = lab.endpoint();
    let target = card.memory(4096, UNTOUCHED);
    let (mut qp, peer) = card.connect(&mut lab, Transport::Rc, Access::empty(), TIMEOUT);
    let source = lab.peer.memory(3000);
    let sent = fill(&mut lab, &source, 0x31);
    lab.peer.post(&peer, &all("send", &source));
    // The card's first frame is the RNR NAK.
    let relay = lab.relay.clone();
    card.serve_until("the RNR NAK", |_| !relay.sent_by(Side::Card).is_empty());
    receive(&mut qp, 1, &target, 0, 3000);
    assert_success(&finish(&mut lab, &mut card, 1, 1));
    assert_eq!(bytes(&target)[..3000], sent);
    let syndromes: Vec<_> =
        relay.acknowledgements_of(Side::Card).iter().map(|a| a.syndrome).collect();
    assert_eq!(syndromes[0], 0x20 | 12, "the RNR NAK has the queue pair's time");
    assert!(syndromes.last().is_some_and(|last| last & crate::KIND == crate::ACK), "{syndromes:?}");
}

/// Sends `count` messages of three packets over a cable that is a bad one already.
fn every_message_arrives_once(lab: &mut Lab, count: usize) {
    const LEN: usize = 2500;
    let mut card = lab.endpoint();
    let target = card.memory(count * LEN, UNTOUCHED);
    let (mut qp, peer) = card.connect(lab, Transport::Rc, Access::REMOTE_WRITE, TIMEOUT);
    let mut expected = Vec::new();
    for i in 0..count {
        let source = lab.peer.memory(LEN);
        expected.extend(fill(lab, &source, i as u8 + 1));
        if i % 2 == 0 {
            receive(&mut qp, i as u64, &target, i * LEN, LEN);
            lab.peer.post(&peer, &all("send", &source));
        } else {
            let remote_addr = target.addr() + (i * LEN) as u64;
            let post = Post { remote_addr, rkey: target.rkey(), ..all("write", &source) };
            lab.peer.post(&peer, &post);
        }
    }
    assert_success(&finish(lab, &mut card, count, count.div_ceil(2)));
    let receives = card.completions.iter().enumerate();
    for (i, completion) in receives {
        let found = (completion.wr_id, completion.status, completion.bytes);
        assert_eq!(found, (2 * i as u64, Status::Success, LEN as u64));
    }
    assert!(bytes(&target) == expected, "every message, once");
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn what_the_cable_loses_or_damages_comes_again() {
    let mut lab = lab::lab();
    for number in [0, 4, 7] {
        lab.relay.lose_from(Side::Guest, number);
    }
    lab.relay.damage_from(Side::Guest, 11);
    // Frames of the card are acknowledgements; a NAK may be among them.
    lab.relay.lose(1);
    lab.relay.lose(3);
    every_message_arrives_once(&mut lab, 12);
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn a_cable_that_loses_and_reorders_frames_delays_messages_and_nothing_else() {
    let mut lab = lab::lab();
    lab.relay.trouble(Trouble { lost: 100, overtaken: 50, random: Random::new(5) });
    every_message_arrives_once(&mut lab, 60);
}

/// Result of a request of the guest that the card refuses.
struct Refusal {
    /// The statuses of the guest's requests, in the words of the verbs.
    statuses: Vec<String>,
    /// Syndrome of the last NAK.
    syndrome: u8,
    completions: Vec<WorkCompletion>,
    target: Vec<u8>,
}

/// Posts one request of 3,000 bytes to a target of as many bytes, with another behind it.
fn refused(
    op: &str,
    access: Access,
    change: impl FnOnce(&mut Lab, &mut Endpoint, &mut Post),
    room: Option<usize>,
) -> Refusal {
    let mut lab = lab::lab();
    let mut card = lab.endpoint();
    let target = card.memory(3000, UNTOUCHED);
    let (mut qp, peer): (_, PeerQueuePair) = card.connect(&mut lab, Transport::Rc, access, TIMEOUT);
    let source = lab.peer.memory(3000);
    fill(&mut lab, &source, 1);
    if let Some(room) = room {
        receive(&mut qp, 1, &target, 0, room);
    }
    let mut post = Post { remote_addr: target.addr(), rkey: target.rkey(), ..all(op, &source) };
    change(&mut lab, &mut card, &mut post);
    lab.peer.post(&peer, &post);
    lab.peer.post(&peer, &all("send", &source));
    let over = finish(&mut lab, &mut card, 2, usize::from(room.is_some()));
    let syndrome = lab.relay.acknowledgements_of(Side::Card).last().expect("a NAK").syndrome;
    Refusal {
        statuses: over.into_iter().map(|posted| posted.status).collect(),
        syndrome,
        completions: card.completions.clone(),
        target: bytes(&target),
    }
}

const FLUSHED: &str = "Work Request Flushed Error";

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn a_write_by_a_wrong_key_or_beyond_its_memory_ends_in_a_remote_access_error() {
    let wrong = refused("write", Access::REMOTE_WRITE, |_, _, post| post.rkey ^= 0x100, None);
    let beyond = refused("write", Access::REMOTE_WRITE, |_, _, post| post.remote_addr += 1, None);
    for refusal in [wrong, beyond] {
        assert_eq!(refusal.statuses, ["remote access error", FLUSHED]);
        assert_eq!(refusal.syndrome, 0x62);
    }
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn a_write_to_memory_that_takes_none_ends_in_a_remote_access_error() {
    let mut keep = None;
    let refusal = refused(
        "write",
        Access::REMOTE_WRITE,
        |_, card, post| {
            let memory = card.memory_with(3000, UNTOUCHED, Access::REMOTE_READ);
            (post.remote_addr, post.rkey) = (memory.addr(), memory.rkey());
            keep = Some(memory);
        },
        None,
    );
    assert_eq!((refusal.statuses[0].as_str(), refusal.syndrome), ("remote access error", 0x62));
    assert!(bytes(&keep.unwrap()).iter().all(|byte| *byte == UNTOUCHED));
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn a_write_to_a_queue_pair_that_takes_none_ends_in_an_invalid_request() {
    let refusal = refused("write", Access::REMOTE_READ, |_, _, _| (), None);
    assert_eq!(refusal.statuses, ["remote invalid request error", FLUSHED]);
    assert_eq!(refusal.syndrome, 0x61);
    assert!(refusal.target.iter().all(|byte| *byte == UNTOUCHED), "nothing was written");
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn a_send_that_is_longer_than_its_receive_fails_at_both_ends() {
    let refusal = refused("send", Access::empty(), |_, _, _| (), Some(2999));
    assert_eq!(refusal.statuses, ["remote invalid request error", FLUSHED]);
    assert_eq!(refusal.syndrome, 0x61);
    assert_eq!(refusal.completions[0].status, Status::LocalLengthError);
    assert_eq!(refusal.target[2999], UNTOUCHED, "no byte behind the receive");
}
