mod ahead;
mod around;
mod host;
mod limits;
mod oracle;
mod posting;
mod rates;
mod traffic;
mod world;

use drdma_abi::completion::Status;
use drdma_abi::described::DESCRIBED;
use drdma_abi::receive::receive_flags::APPENDED;
use drdma_abi::receive::{AttributesEntry, ReceiveQueueEntry, rights};
use drdma_abi::register::{MemoryRegionEntry, QueuePairEntry};
use drdma_abi::roce::{TTL, Transport, operation};
use drdma_abi::work_request::MAX_MESSAGE;
use drdma_semantics::packets::{Flow, psn_distance};
use drdma_semantics::region::{Extent, Region};
use drdma_semantics::responder::packet::packets;
use drdma_semantics::responder::{Outcome, Received, Responder as Semantics, Settings, is_for};
use drdma_semantics::scatter::allows;
use drdma_verilated::Library;
use drdma_verilated::testbench::{Beat, Bench, DriverId, MonitorId, Random, STALLS};
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use super::Responder;
use crate::context::testing::{Flagged, answer_flag, clear_tables};
use crate::context::{ATTRIBUTES_TABLE, QUEUE_PAIR_TABLE, RECEIVE_QUEUE_TABLE, REGION_TABLE};
use crate::testing;
use around::Around;
use oracle::{Oracle, Pair};
use posting::{REGIONS, give_back, make_appends, make_keys, post};
use traffic::{Packet, Peer, is_response, stretch};
use world::{Answered, Card, Lab, Posted, SIZE, STORE_BYTES, What};

fn library() -> Library {
    testing::library("responder", Responder::default)
}

/// Everything that a block gave, as the semantics give it.
fn compare(around: &mut Around<'_>, oracle: &mut Oracle, what: &str) {
    let answered = around.answered();
    assert_eq!(answered, std::mem::take(&mut oracle.lab.answered), "answers {what}");
    let regions: Vec<_> =
        around.bench.take(around.invalidate).iter().map(|beat| beat.u64("region")).collect();
    assert_eq!(regions, std::mem::take(&mut oracle.lab.invalidated), "keys {what}");
    assert_eq!(around.broken, oracle.broken, "queue pairs that break {what}");
    around.broken.clear();
    oracle.broken.clear();
    let mut completed = [&mut around.card.completed, &mut oracle.lab.completed].map(std::mem::take);
    // Completions are compared in the order of each queue pair.
    completed.iter_mut().for_each(|list| list.sort_by_key(|entry| entry.0));
    assert_eq!(completed[0], completed[1], "completions {what}");
    assert!(around.card.memory == *oracle.lab.memory.borrow(), "memory {what}");
    assert_eq!(
        *around.counted.borrow(),
        [oracle.dropped, oracle.ignored],
        "dropped and ignored {what}"
    );
}

#[test]
fn packets_good_and_bad_mean_what_they_mean_in_the_semantics() {
    let library = library();
    let (mut outcomes, mut statuses, mut syndromes) = ([0; 4], [0; 256], [0; 256]);
    let (mut reads, mut atomics) = (0, 0);
    let mut returned = 0;
    let (mut stayed, mut rows) = (0, 0);
    let mut sought = [0; 4];
    for (seed, stalls) in (1..).zip(STALLS.into_iter().chain(STALLS)) {
        let mut random = Random::new(seed);
        let mut around = Around::new(&library, seed, stalls);
        let mut oracle = Oracle::new(&mut random);
        around.card.memory = oracle.lab.memory.borrow().clone();
        let errors = [0.02, 0.08, 0.2][seed as usize % 3];
        make_appends(&mut around, &mut oracle.lab, &mut random);
        let mut given = [0; REGIONS as usize];
        for k in 0..16 {
            let index = [k, 64 + k * 3, 4032 + k][random.below(3) as usize];
            if oracle.pairs.iter().any(|pair| pair.index == index) {
                continue;
            }
            let mut pair = Pair::random(index, &mut random, errors);
            around.write_pair(&pair);
            make_keys(&mut around, &mut oracle.lab, &mut pair, &mut random, errors);
            oracle.pairs.push(pair);
        }
        for round in 0..48 {
            let what = format!("in round {round} of seed {seed}");
            for k in 0..oracle.pairs.len() {
                let mut pair = oracle.pairs[k].clone();
                if pair.broken || random.chance(0.03) {
                    // The receives that the queue pair had in use were given back with the reset.
                    around.card.used.remove(&pair.index);
                    oracle.lab.appends.iter_mut().flatten().for_each(|region| {
                        region.abandon(pair.index as u32);
                    });
                    pair = Pair::random(pair.index, &mut random, errors);
                    around.write_pair(&pair);
                    make_keys(&mut around, &mut oracle.lab, &mut pair, &mut random, errors);
                } else if random.chance(0.1) {
                    // The queue pair goes on with other attributes.
                    pair.attributes.state = 2;
                    pair.attributes.min_rnr_timer = random.below(32) as u8;
                    pair.attributes.rq_psn = random.below(1 << 24) as u32;
                    let bytes = pair.attributes.to_bytes();
                    around.write_entry(ATTRIBUTES_TABLE, pair.index, &bytes);
                }
                let count = random.below(14);
                post(&mut around, &mut oracle.lab, pair.queue(), count, &mut random, errors);
                oracle.pairs[k] = pair;
            }
            let mut words = 0;
            for _ in 0..250 {
                let k = random.below(oracle.pairs.len() as u64) as usize;
                // Sometimes several of one queue pair.
                let most = if random.chance(0.1) { 12 } else { 3 };
                for _ in 0..=random.below(most) {
                    let pair = &mut oracle.pairs[k];
                    let packet = pair.peer.next(pair.responder.expected(), &mut random);
                    let index = pair.index;
                    oracle.take(&packet);
                    words += around.send(&packet, index, &mut random);
                    if words > 1700 {
                        break;
                    }
                }
                if words > 1700 {
                    break;
                }
            }
            oracle.lab.answered.iter().for_each(|answer| syndromes[usize::from(answer.1)] += 1);
            for (.., what) in &oracle.lab.answered {
                reads += usize::from(matches!(what, What::Read(..)));
                atomics += usize::from(matches!(what, What::Atomic(_)));
            }
            oracle.lab.completed.iter().for_each(|entry| statuses[usize::from(entry.2)] += 1);
            let appended = oracle.lab.completed.iter().filter(|done| done.6 & APPENDED != 0);
            rows += appended.count();
            around.drain();
            compare(&mut around, &mut oracle, &what);
            assert_eq!(around.card.appends, oracle.lab.appends, "append regions {what}");
            if random.chance(0.2) {
                give_back(&mut around, &mut oracle.lab, &mut given);
            }
        }
        stayed += oracle.lab.returned;
        (0..4).for_each(|k| outcomes[k] += oracle.outcomes[k]);
        returned += around.card.returned;
        (0..4).for_each(|k| sought[k] += around.card.sought[k]);
        statuses[5] += oracle.flushed;
    }
    assert!(rows > 200 && stayed > 10, "{rows} messages appended, {stayed} receives stayed");
    assert!(sought.iter().all(|count| *count > 20), "{sought:?} packets placed piece by piece");
    assert!(returned > 10, "{returned} receives were taken ahead in vain");
    // Everything has happened.
    assert!(reads > 150 && atomics > 150, "{reads} READs, {atomics} atomics");
    assert!(outcomes.iter().all(|count| *count > 200), "{outcomes:?}");
    let seen = |codes: &[usize], counts: &[u64; 256]| {
        codes.iter().map(|code| (*code, counts[*code])).collect::<Vec<_>>()
    };
    for (status, count) in seen(&[0, 1, 2, 4, 5, 9, 10], &statuses) {
        assert!(count > 10, "{count} receives with status {status}");
    }
    for (syndrome, count) in seen(&[0x1f, 0x60, 0x61, 0x62, 0x63], &syndromes) {
        assert!(count > 15, "{count} answers with {syndrome:#x}");
    }
    assert!(syndromes[0x20..0x40].iter().sum::<u64>() > 100);
}

/// A SEND that fills regions piece by piece fails as they say, whole, and so does a datagram whose payload they have no
/// room for.
#[test]
fn a_receive_that_is_placed_piece_by_piece_fails_as_its_regions_say() {
    let library = library();
    let cases = [
        (Transport::Rc, [0, 0], Status::Success, Some(0x1f)),
        (Transport::Rc, [1, 0], Status::LocalLengthError, Some(0x61)),
        (Transport::Rc, [2, 0], Status::LocalProtectionError, Some(0x63)),
        (Transport::Uc, [2, 0], Status::LocalProtectionError, None),
        // First the header's verdict, then the payload's.
        (Transport::Ud, [0, 0], Status::Success, None),
        (Transport::Ud, [2, 0], Status::LocalProtectionError, None),
        (Transport::Ud, [0, 2], Status::LocalProtectionError, None),
    ];
    for (transport, verdicts, status, syndrome) in cases {
        let mut random = Random::new(5);
        let mut around = Around::new(&library, 1, (0.0, 0.0));
        around.card.memory = vec![0; SIZE as usize];
        let mut pair = loop {
            let pair = Pair::random(9, &mut random, 0.0);
            let flow = &pair.peer.flow;
            if flow.transport == transport && !pair.shared && pair.attributes.receives == 1 {
                break pair;
            }
        };
        around.write_pair(&pair);
        pair.peer.keys.push((1, world::BASE, 100));
        let posted = Posted {
            name: 77,
            addr: world::BASE,
            len: 4096,
            malformed: None,
            append: None,
            pieces: true,
        };
        around.card.queues.entry(pair.queue()).or_default().push_back(posted);
        around.verdicts = Some(verdicts.into());
        let mut packet = pair.peer.clone().next(pair.attributes.rq_psn, &mut random);
        (packet.opcode, packet.psn) =
            (transport.opcode_bits() | operation::SEND_ONLY, pair.attributes.rq_psn);
        (packet.payload, packet.pad, packet.ack_req) = (vec![5; 100], 0, true);
        around.send(&packet, pair.index, &mut random);
        around.drain();
        let what = format!("{transport:?}, {verdicts:?}");
        let completed = &around.card.completed;
        assert_eq!(completed.len(), 1, "{what}");
        assert_eq!((completed[0].1, completed[0].2), (77, status as u8), "{what}");
        let answers: Vec<_> = around.answers.iter().map(|answer| answer.u64("syndrome")).collect();
        assert_eq!(answers, syndrome.into_iter().collect::<Vec<_>>(), "{what}");
        assert_eq!(around.broken.len(), usize::from(status != Status::Success), "{what}");
        let skipped = if transport == Transport::Ud { 40 } else { 0 };
        let written = around.card.memory[skipped..skipped + 100] == [5; 100];
        assert_eq!(written, status == Status::Success, "{what}");
    }
}
