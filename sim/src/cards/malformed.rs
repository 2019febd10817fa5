//! Requests that must not be sent: nothing of them reaches the wire, and everything else goes on.

use drdma_abi::{
    Layout as _,
    completion::{Completion, Status},
    register::DOORBELLS,
    roce::Transport,
    work_request::{BLOCK, Opcode, WqeHeader},
};
use drdma_driver::Card;
use drdma_verilated::testbench::Random;

use super::{
    matrix,
    rig::{BLOCKS, Rig, Simulated, bytes, contiguous, send, to},
};
use crate::rtl::{self, RtlCard};
use drdma_semantics::{
    region::{Column, Extent, Region, RowMask},
    request::{Destination, Request, encode},
    testing::{BASE, CONTROL, LKEY, SIZE},
};
use drdma_soft::{
    card::SoftCard,
    wire::{Message, Network},
};

/// Queue pairs 1 (RC), 2 (UC), 3 (UD) with the queue of their number; shared queue 4.
fn add_queues<C: Card>(rig: &mut Rig<C>) {
    for (index, transport) in [(1, Transport::Rc), (2, Transport::Uc), (3, Transport::Ud)] {
        rig.add_queue_pair(index, transport, 0);
        rig.add_queue(index, Some(index));
    }
    rig.add_queue(4, None);
}

fn strided(base: u64, period: u64, count: u32, pattern: &[(u64, u32)]) -> Region {
    let pattern = pattern.iter().map(|(offset, len)| Extent { offset: *offset, len: *len });
    Region::Strided { base, period, count, lkey: LKEY, pattern: pattern.collect() }
}

fn bitmapped(bitmap: u64, rows: u32, columns: &[(u64, u32)]) -> Region {
    let column = |(base, width): &(u64, u32)| Column { base: *base, width: *width, lkey: LKEY };
    let columns = columns.iter().map(column).collect();
    Region::Bitmapped { bitmap, rows, lkey: LKEY, columns, fetch_rows: None }
}

fn pointer_mapped(pointers: u64, count: u32, pattern: &[(u64, u32)]) -> Region {
    let pattern = pattern.iter().map(|(offset, len)| Extent { offset: *offset, len: *len });
    let pattern = pattern.collect();
    Region::PointerMapped { pointers, count, lkey: LKEY, target_lkey: LKEY, pattern }
}

/// Regions that lie outside their memory region, by one byte or by far.
fn outside() -> Vec<Region> {
    let end = BASE + SIZE;
    let huge = u64::MAX - 100;
    vec![
        Region::Contiguous { addr: BASE, len: 1, lkey: LKEY + 4096 },
        Region::Contiguous { addr: BASE, len: 1, lkey: LKEY + 1 },
        contiguous(SIZE - 9, 10),
        Region::Contiguous { addr: BASE - 1, len: 10, lkey: LKEY },
        Region::Contiguous { addr: u64::MAX, len: u32::MAX, lkey: LKEY },
        strided(end - 100, 10, 10, &[(0, 4), (8, 3)]),
        strided(BASE, 1 << 62, 5, &[(0, 1)]),
        strided(BASE, u64::MAX, u32::MAX, &[(0, 1)]),
        strided(BASE, u64::MAX, 2, &[(2, 1)]),
        strided(BASE, 1, 1, &[(u64::MAX, 1)]),
        strided(huge, 200, 1, &[(BASE.wrapping_sub(huge), 1)]),
        bitmapped(end - 1, 9, &[(BASE, 1)]),
        bitmapped(BASE, 8, &[(BASE, 1), (end - 15, 2)]),
        bitmapped(BASE, u32::MAX, &[(BASE, u32::MAX)]),
        bitmapped(u64::MAX, 8, &[(BASE, 1)]),
        bitmapped(BASE, 8, &[(u64::MAX - 3, 1)]),
        pointer_mapped(end - 15, 2, &[(0, 1)]),
        pointer_mapped(u64::MAX - 7, 2, &[(0, 1)]),
        // Pointers that lead outside: those of test memory are to records of up to 256 bytes.
        pointer_mapped(CONTROL, 5, &[(SIZE, 1)]),
        pointer_mapped(CONTROL, 5, &[(u64::MAX - BASE / 2, 1)]),
        pointer_mapped(BASE, 5, &[(0, 1)]),
        pointer_mapped(CONTROL + 1024, 1, &[(0, 200)]),
    ]
}

/// Regions of a shape that there is not.
fn shapeless() -> Vec<Region> {
    vec![
        Region::Contiguous { addr: BASE, len: 0, lkey: LKEY },
        strided(BASE, 0, 1, &[(0, 1)]),
        strided(BASE, 1, 1, &[]),
        strided(BASE, 1, 1, &[(0, 1), (0, 0)]),
        strided(BASE, 1, 1, &[(0, 1); 17]),
        bitmapped(BASE, 1, &[(BASE, 0)]),
        bitmapped(BASE, 1, &[]),
        pointer_mapped(CONTROL, 1, &[(0, 0)]),
        pointer_mapped(CONTROL, 0, &[]),
    ]
}

/// Queue, request and status of requests that fail.
fn failing() -> Vec<(u32, Request, Status)> {
    let one = |region| send(7, vec![to(1, vec![contiguous(5, 300), region])]);
    let mut list = Vec::new();
    list.extend(outside().into_iter().map(|r| (1, one(r), Status::LocalProtectionError)));
    list.extend(shapeless().into_iter().map(|r| (1, one(r), Status::LocalQpOperationError)));
    let good = || to(1, vec![contiguous(0, 10)]);
    let malformed = Status::LocalQpOperationError;
    let element = |regions| Request { row_mask: RowMask::Element, ..send(7, vec![to(1, regions)]) };
    list.extend([
        (1, send(7, vec![to(1, vec![contiguous(0, 1); 17])]), malformed),
        (4, send(7, (0..65).map(|qp| to(qp, vec![])).collect()), malformed),
        (4, send(7, vec![]), malformed),
        (1, send(7, vec![good(), to(2, vec![])]), malformed),
        (1, send(7, vec![to(2, vec![contiguous(0, 1)])]), malformed),
        (4, send(7, vec![good(), good()]), malformed),
        (4, send(7, vec![good(), to(9, vec![])]), malformed),
        (4, send(7, vec![good(), to(256, vec![])]), malformed),
        (1, Request { rows_per_message: 0, ..send(7, vec![good()]) }, malformed),
        (1, element(vec![strided(BASE, 9, 3, &[(0, 1)]), contiguous(0, 1)]), malformed),
        (
            3,
            Request { opcode: Opcode::Write, ..send(7, vec![to(3, vec![contiguous(0, 1)])]) },
            malformed,
        ),
        (
            3,
            send(7, vec![to(3, vec![contiguous(0, 1), contiguous(0, 257)])]),
            Status::LocalLengthError,
        ),
        (
            3,
            Request {
                rows_per_message: 3,
                ..send(7, vec![to(3, vec![bitmapped(CONTROL + 0x408, 64, &[(BASE, 100)])])])
            },
            Status::LocalLengthError,
        ),
    ]);
    list
}

fn what_fails_its_checks_sends_nothing_and_its_queue_can_be_used_again<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    add_queues(&mut rig);
    // A pointer to a record that ends one byte outside.
    rig.data.write((CONTROL + 1024 - BASE) as usize, &(BASE + SIZE - 199).to_le_bytes());
    for (queue, request, status) in failing() {
        let before = rig.network.traffic().frames;
        rig.post(queue, &request);
        let completion = rig.run_until_completed(1)[0];
        assert_eq!(
            (completion.wr_id, completion.status, completion.queue, completion.bytes),
            (7, status as u8, queue, 0),
            "{request:?}"
        );
        rig.settle();
        assert!(rig.queue_halted(queue), "{request:?}");
        // A failing head is not a queue pair's fault.
        if status != Status::LocalQpOperationError {
            assert!(rig.queue_pair_error(queue), "{request:?}");
        }
        assert_eq!(rig.network.traffic().frames, before, "{request:?}");
        // Another queue pair goes on, and this one after its entries are written anew.
        let other = if queue == 2 { 1 } else { 2 };
        let healthy = send(8, vec![to(other, vec![contiguous(0, 700)])]);
        rig.post(other, &healthy);
        assert_eq!(rig.run_until_completed(1)[0].status, Status::Success as u8);
        assert_eq!(rig.network.traffic().frames, before + 3);
        rig.add_queue(queue, (queue != 4).then_some(queue));
        let transport = if queue == 3 { Transport::Ud } else { Transport::Rc };
        let owner = if queue == 4 { 1 } else { queue };
        let peer = rig.add_queue_pair(owner, transport, 77);
        rig.post(queue, &send(9, vec![to(owner, vec![contiguous(0, 20)])]));
        assert_eq!(rig.run_until_completed(1)[0].status, Status::Success as u8);
        assert_eq!(rig.sent(peer), [bytes(0, 20)]);
    }
    assert_eq!(rig.network.errors(), []);
}

/// A request with every region type to one destination, or to two.
fn valid(random: &mut Random) -> Vec<u8> {
    let opcode = Opcode::ALL[random.below(4) as usize];
    let list = |random: &mut Random| -> Vec<Region> {
        let all = matrix::regions();
        (0..1 + random.below(3)).map(|_| all[random.below(4) as usize].clone()).collect()
    };
    let mut destinations: Vec<Destination> = vec![to(1, list(random))];
    if random.chance(0.5) {
        destinations.push(to(2, list(random)));
    }
    let request = Request { opcode, rows_per_message: 50, ..send(random.u64(), destinations) };
    encode(&request, 0)
}

/// Contents of a ring that are wrong somewhere, and the number of blocks to announce.
fn damaged(random: &mut Random) -> (Vec<u8>, u32) {
    let mut entry = valid(random);
    match random.below(8) {
        0 => {
            let len = entry.len();
            let keep = [0, 1, 8, 32, 64][random.below(5) as usize].min(len);
            entry[keep..].copy_from_slice(&random.bytes(len - keep));
        }
        1 => {
            let at = random.below(entry.len() as u64 / 8) as usize * 8;
            let value = [0, 1, u64::MAX, 1 << 63, random.u64()][random.below(5) as usize];
            entry[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        2 => {
            let mut head = WqeHeader::decode(&entry);
            match random.below(4) {
                0 => head.granules = head.granules.wrapping_sub(1 + random.below(3) as u32),
                1 => head.granules += 1 + random.below(4) as u32,
                2 => head.position = [1, 64, u32::MAX][random.below(3) as usize],
                _ => head.destinations = random.below(4) as u16,
            }
            head.encode(&mut entry);
        }
        3 => entry.truncate((entry.len() / BLOCK - 1).max(1) * BLOCK),
        _ => {
            for _ in 0..1 + random.below(3) {
                let at = random.below(entry.len() as u64) as usize;
                entry[at] ^= 1 << random.below(8);
            }
        }
    }
    let blocks = (entry.len() / BLOCK) as u32;
    (entry, blocks)
}

/// Completions; queue pairs 1 and 2 in error, queue 4 halted; messages at both peers.
type Outcome = (Vec<Completion>, [bool; 3], [Vec<Message>; 2]);

/// The outcome of a ring's contents.
fn outcome<C: Card>(rig: &mut Rig<C>, entry: &[u8], blocks: u32) -> Outcome {
    let peers =
        [rig.add_queue_pair(1, Transport::Rc, 5), rig.add_queue_pair(2, Transport::Uc, 0xff_ffff)];
    rig.add_queue(4, None);
    rig.rings.write(4 * 0x1000, &vec![0; BLOCKS as usize * BLOCK]);
    rig.write_blocks(4, entry);
    rig.card.write(DOORBELLS.entry(4), blocks).unwrap();
    let mut completions = rig.settle();
    completions.iter_mut().for_each(|completion| completion.phase = 0);
    let errors = [rig.queue_pair_error(1), rig.queue_pair_error(2), rig.queue_halted(4)];
    (completions, errors, peers.map(|peer| rig.network.messages(peer)))
}

/// The reference model determines the meaning of a damaged entry.
#[test]
fn damaged_rings_have_the_same_outcome_on_the_hardware_as_on_the_model() {
    let network = Network::new();
    let config = rtl::Config { cycles_per_progress: 128, ..rtl::Config::default() };
    let card = RtlCard::new(config, network.clone()).unwrap();
    let mut hardware = Rig::around(card, network);
    let mut model = Rig::<SoftCard>::new();
    let mut random = Random::new(0xd7);
    let mut failures = 0;
    for round in 0..300 {
        let (entry, blocks) = damaged(&mut random);
        let expected = outcome(&mut model, &entry, blocks);
        let found = outcome(&mut hardware, &entry, blocks);
        assert!(found == expected, "{round}: {found:#?}\nshould be {expected:#?}");
        failures += u32::from(model.queue_halted(4));
    }
    assert!((100..300).contains(&failures), "{failures} of the entries were bad");
    assert_eq!(hardware.network.errors(), []);
}

on_every_card! { what_fails_its_checks_sends_nothing_and_its_queue_can_be_used_again }
