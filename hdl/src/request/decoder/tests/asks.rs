//! READs, atomics, and what else a queue pair's own queue takes.

use super::generate::card;
use super::world::{World, library};
use super::{batch, recover};
use crate::context::ATTRIBUTES_TABLE;
use drdma_abi::Layout;
use drdma_abi::receive::{AtomicOperands, AttributesEntry, ReliableOpcode, request_flags, rights};
use drdma_abi::work_request::{
    BLOCK, Destination, GRANULE, MAX_MESSAGE, RegionHeader, RegionType, WQE_MAGIC, WqeHeader, flags,
};
use drdma_verilated::Model;
use drdma_verilated::testbench::Random;
use std::cell::RefCell;
use std::rc::Rc;

/// An RC queue pair with an MTU of 2,048 B, and its queue; another one on UC.
const RC: u8 = 3;
const UC: u8 = 4;

/// Outputs of the write ports for the last request.
#[derive(Clone, Debug, Default, PartialEq)]
struct Told {
    /// Each piece as {index, address, bytes}.
    pieces: Vec<(u64, u64, u64)>,
    /// The READ or atomic as {bytes, packets, logarithm of the MTU}.
    ask: Option<(u64, u64, u64)>,
    /// The destination as {operation, fenced, solicited, invalidates, opcode, sets}.
    dest: Option<[u64; 6]>,
    payload: Vec<u8>,
}

fn record(told: &mut Told, model: &Model) {
    let get = |port: &str| model.get(port);
    if get("piece_write_valid") == 1 {
        let piece = ["index", "addr", "len"].map(|f| get(&format!("piece_write_{f}")));
        told.pieces.push((piece[0], piece[1], piece[2]));
    }
    if get("ask_write_valid") == 1 {
        told.ask = Some((get("ask_write_len"), get("ask_write_packets"), get("ask_write_log_mtu")));
    }
    if get("dest_write_valid") == 1 {
        let fields = ["ask", "fenced", "solicited", "invalidates", "opcode", "sets"];
        told.dest = Some(fields.map(|f| get(&format!("dest_write_{f}"))));
    }
    if get("inline_write_valid") == 1 {
        let data = model.get_word("inline_write_data");
        told.payload = (0..16).map(|i| data.bits(8 * i, 8).to_u64() as u8).collect();
    }
}

/// An entry of a queue pair's own queue.
fn entry(opcode: u8, bits: u8, qp: u8, operands: bool, regions: &[RegionHeader]) -> Vec<u8> {
    let types = 0;
    let granules = 4 + u32::from(operands) + regions.len() as u32;
    let head = WqeHeader {
        magic: WQE_MAGIC,
        opcode,
        flags: bits,
        destinations: 1,
        granules,
        rows_per_message: 1,
        imm: 0x1234,
        ..Default::default()
    };
    let destination =
        Destination { qp: qp.into(), regions: regions.len() as u16, types, ..Default::default() };
    let mut bytes = head.to_bytes().to_vec();
    if operands {
        let (swap_or_add, compare) = (0x0102_0304_0506_0708, 0x1112_1314_1516_1718);
        bytes.extend(AtomicOperands { swap_or_add, compare }.to_bytes());
    }
    bytes.extend(destination.to_bytes());
    regions.iter().for_each(|region| bytes.extend(region.to_bytes()));
    bytes.resize(bytes.len().next_multiple_of(4 * GRANULE), 0xee);
    bytes
}

const READ: u8 = ReliableOpcode::Read as u8;
const SWAP: u8 = ReliableOpcode::CompareAndSwap as u8;
const ADD: u8 = ReliableOpcode::FetchAndAdd as u8;
const INVALIDATE: u8 = ReliableOpcode::SendInvalidate as u8;
const FENCE: u8 = request_flags::FENCE;

#[test]
fn reads_and_atomics_are_told_with_their_regions_and_checked_in_order() {
    let mut random = Random::new(10);
    let mut card = card(&mut random);
    // Two memory regions of 2^40 bytes, of which one may be written.
    card.regions[1].rights = rights::LOCAL_WRITE;
    let memory = card.regions.clone();
    let region = |index: usize, len: u32| {
        let entry = &memory[index];
        RegionHeader { addr: entry.addr + 5, count: len, lkey: entry.lkey }
    };
    let (good, still) = (|len| region(1, len), |len| region(6, len));
    let unknown = RegionHeader { lkey: card.regions[1].lkey ^ 1 << 31, ..good(8) };
    let at = good(1).addr;
    let (sums, long) = (MAX_MESSAGE as u32, (MAX_MESSAGE + 1) as u32);
    // Opcode, flags, queue pair, regions, status, whether the queue pair goes to error.
    type Case = (&'static str, u8, u8, u8, Vec<RegionHeader>, u8, bool);
    let cases: Vec<Case> = vec![
        ("a READ", READ, 0, RC, vec![good(5000)], 0, false),
        ("of 16 regions", READ, FENCE, RC, vec![good(7); 16], 0, false),
        ("of no bytes", READ, 0, RC, vec![], 0, false),
        ("of 2 GiB", READ, 0, RC, vec![good(sums)], 0, false),
        ("of more", READ, 0, RC, vec![good(long)], 1, true),
        ("of more in two", READ, 0, RC, vec![good(sums), good(1)], 1, true),
        ("a swap", SWAP, flags::UNSIGNALED, RC, vec![good(8)], 0, false),
        ("an addition", ADD, 0, RC, vec![good(3), good(5)], 0, false),
        ("of 7 bytes", ADD, 0, RC, vec![good(7)], 1, true),
        ("of 9 bytes", SWAP, 0, RC, vec![good(9)], 1, true),
        ("into what is not to be written", READ, 0, RC, vec![good(1), still(1)], 4, true),
        ("too long as well", READ, 0, RC, vec![still(long)], 4, true),
        ("an unknown key", READ, 0, RC, vec![unknown], 4, true),
        ("on UC", READ, 0, UC, vec![good(8)], 2, true),
        ("on UC, not to be written", READ, 0, UC, vec![still(8)], 2, true),
        ("on UC, an unknown key", ADD, 0, UC, vec![unknown], 4, true),
        ("a region of no bytes", READ, 0, RC, vec![good(0)], 2, true),
        ("inline", READ, flags::INLINE, RC, vec![good(8)], 2, false),
        ("an address", READ, request_flags::ADDRESS, RC, vec![good(8)], 2, false),
        ("an address of an atomic", ADD, request_flags::ADDRESS, RC, vec![good(8)], 2, false),
        ("an invalidation", INVALIDATE, request_flags::SOLICITED, RC, vec![still(9)], 0, false),
        ("an invalidation on UC", INVALIDATE, 0, UC, vec![still(9)], 2, true),
        ("a fence on UC", 0, FENCE, UC, vec![still(9)], 2, true),
        ("a SEND behind a fence", 0, FENCE, RC, vec![still(9)], 0, false),
        ("on a shared queue", READ, 0, 200, vec![good(8)], 2, false),
        ("a fence on a shared queue", 0, FENCE, 200, vec![good(8)], 2, false),
    ];
    let mut world = World::new(&library(), 10, &card);
    let word = AttributesEntry::field("max_rd_atomic").start as u64;
    for qp in [RC, UC] {
        world.configure(ATTRIBUTES_TABLE, qp.into(), word / 32, 1 << (word % 32));
    }
    let told = Rc::new(RefCell::new(Told::default()));
    let seen = Rc::clone(&told);
    world.bench.observe(move |model, _| record(&mut seen.borrow_mut(), model));
    let run = |world: &mut World, bytes: Vec<u8>, queue: u8| {
        told.take();
        world.post(&batch(queue, bytes));
        world.bench.run_until_received(world.request, 1);
        world.bench.run(8);
        let request = world.bench.take(world.request).remove(0);
        world.bench.take(world.open);
        // The request's places in the rings are given back.
        world.bench.set("release_valid", 1_u64);
        world.bench.step();
        world.bench.set("release_valid", 0_u64);
        let status = request.u64("status");
        (status as u8, status != 0 && request.u64("dests") == 1)
    };
    for (name, opcode, bits, queue, regions, status, breaks) in cases {
        let qp = if queue == 200 { RC } else { queue };
        let atomic = [SWAP, ADD].contains(&opcode);
        let result = run(&mut world, entry(opcode, bits, qp, atomic, &regions), queue);
        assert_eq!(result, (status, breaks), "{name}");
        card.stopped.extend((status != 0).then_some(queue));
        recover(&mut world, &mut card);
        if status != 0 {
            continue;
        }
        let told = told.borrow();
        let flag = |flag: u8| u64::from(bits & flag != 0);
        let asks = (READ..=ADD).contains(&opcode);
        let sets = if asks { 1 } else { regions.len() as u64 };
        let dest = [
            if asks { u64::from(opcode & 3) } else { 0 },
            flag(FENCE),
            flag(request_flags::SOLICITED),
            u64::from(opcode == INVALIDATE),
            0,
            sets,
        ];
        assert_eq!(told.dest, Some(dest), "{name}");
        let pieces = regions.iter().filter(|_| asks).enumerate();
        let pieces = pieces.map(|(i, region)| (i as u64, at, region.count.into()));
        assert_eq!(told.pieces, pieces.collect::<Vec<_>>(), "{name}");
        let len: u64 = regions.iter().map(|region| u64::from(region.count)).sum();
        let packets = if atomic { 1 } else { len.div_ceil(2048).max(1) };
        assert_eq!(told.ask, asks.then_some((len, packets, 11)), "{name}");
        if atomic {
            let operands = [[1, 2, 3, 4, 5, 6, 7, 8], [17, 18, 19, 20, 21, 22, 23, 24]].concat();
            assert_eq!(told.payload, operands, "{name}: in network order");
        }
    }
    // The entry is longer than the blocks that were posted: it takes none of the next batch.
    let mut bytes = entry(ADD, 0, RC, true, &[good(8)]);
    bytes.truncate(BLOCK);
    world.post(&batch(RC, bytes));
    world.post(&batch(UC, entry(0, 0, UC, false, &[still(9)])));
    world.bench.run_until_received(world.request, 2);
    let requests = world.bench.take(world.request);
    let results: Vec<_> = requests.iter().map(|r| (r.u64("queue"), r.u64("status"))).collect();
    assert_eq!(results, [(RC.into(), 2), (UC.into(), 0)]);
    world.bench.take(world.open);
    world.bench.set("release_valid", 1_u64);
    world.bench.run(2);
    world.bench.set("release_valid", 0_u64);
    card.stopped.insert(RC);
    recover(&mut world, &mut card);
    // Regions with gaps, an operand that is missing, and a queue pair that may not have any outstanding.
    let mut bytes = entry(READ, 0, RC, false, &[good(8), good(8)]);
    bytes[3 * GRANULE + 4] = (RegionType::Strided as u8) << 2;
    assert_eq!(run(&mut world, bytes, RC), (2, true));
    card.stopped.insert(RC);
    recover(&mut world, &mut card);
    let mut bytes = entry(ADD, 0, RC, true, &[good(8)]);
    bytes[8] = 2;
    assert_eq!(run(&mut world, bytes, RC), (2, false));
    card.stopped.insert(RC);
    recover(&mut world, &mut card);
    // An atomic of two blocks of which only the first one was posted: the next block is of another queue.
    let mut bytes = entry(ADD, 0, RC, true, &[good(8)]);
    bytes.truncate(BLOCK);
    assert_eq!(run(&mut world, bytes, RC), (2, false));
    assert_eq!(run(&mut world, entry(0, 0, UC, false, &[good(8)]), UC), (0, false));
    card.stopped.insert(RC);
    recover(&mut world, &mut card);
    world.configure(ATTRIBUTES_TABLE, RC.into(), word / 32, 0);
    assert_eq!(run(&mut world, entry(READ, 0, RC, false, &[good(8)]), RC), (2, true));
}
