//! Entries of which a part is sent.

use super::generate::card;
use super::reference::{Batch, Part};
use super::world::{World, library};
use super::{batch, recover};
use crate::request::LOG_PART_UNIT;
use drdma_abi::work_request::{
    Destination, GRANULE, Opcode, RegionHeader, WQE_MAGIC, WqeHeader, flags,
};
use drdma_verilated::testbench::{Random, STALLS};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Own queues, of an RC and a UC queue pair.
const QUEUES: [u8; 2] = [3, 4];
const UNIT: u64 = 1 << LOG_PART_UNIT;

fn entry(queue: u8, count: u32, addr: u64, lkey: u32) -> Vec<u8> {
    let head = WqeHeader {
        magic: WQE_MAGIC,
        opcode: Opcode::Write as u8,
        flags: flags::UNSIGNALED,
        destinations: 1,
        granules: 5,
        rows_per_message: 1,
        wr_id: count.into(),
        ..Default::default()
    };
    let destination = Destination { qp: queue.into(), regions: 1, ..Default::default() };
    let mut bytes = head.to_bytes().to_vec();
    bytes.extend(destination.to_bytes());
    bytes.extend(RegionHeader { addr, count, lkey }.to_bytes());
    bytes.resize(bytes.len().next_multiple_of(4 * GRANULE), 0xee);
    bytes
}

/// A part as {slot, bytes of the message, it resumes, it pauses}.
type Told = (u64, u64, bool, bool);

#[test]
fn a_part_is_a_piece_of_its_region_whose_whole_is_checked() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut card = card(&mut random);
        let mut world = World::new(&library, seed, &card);
        world.bench.stall(stalls);
        let told = Rc::new(RefCell::new(Vec::<Told>::new()));
        let seen = Rc::clone(&told);
        world.bench.observe(move |model, _| {
            if model.get("part_write_valid") == 1 {
                let of = |name: &str| model.get(format!("part_write_{name}"));
                let flag = |name| of(name) == 1;
                let told = (of("slot"), of("whole"), flag("resumes"), flag("pauses"));
                seen.borrow_mut().push(told);
            }
        });
        let memory = card.regions[1];
        let mut expected_told = Vec::new();
        let mut failed = 0;
        for _ in 0..60 {
            let queue = QUEUES[random.below(2) as usize];
            let log_units = random.below(3);
            let units = 1 << log_units;
            let first = units * random.below(4);
            let pauses = random.chance(0.5);
            let rest = match pauses {
                true => units * UNIT + 1 + random.below(1 << 20),
                false => 1 + random.below(units * UNIT),
            };
            let count = first * UNIT + rest;
            let parted = first > 0 || pauses;
            // The whole region must be in its memory, although a part of it is sent.
            let beyond = random.chance(0.1);
            let addr = memory.addr + if beyond { memory.len - count + 1 } else { 77 };
            let part = Part { first, log_units, pauses };
            let bytes = entry(queue, count as u32, addr, memory.lkey);
            let batch = Batch { part, ..batch(queue, bytes) };
            let mut requests = VecDeque::from(card.decode(&batch));
            world.post(&batch);
            assert_eq!(requests[0].status, if beyond { 4 } else { 0 });
            if let (Some(dest), true) = (requests[0].dests.first_mut(), parted) {
                let set = &mut dest.sets[0];
                let len = if pauses { units * UNIT } else { rest };
                (set.row_bytes, set.lanes[0].len) = (len, len as u32);
                set.lanes[0].base += first * UNIT;
            }
            world.run(&mut requests);
            expected_told.push((0, false, false));
            if parted {
                expected_told.push((count, first > 0, pauses));
            }
            failed += u64::from(beyond);
            if beyond {
                recover(&mut world, &mut card);
            }
        }
        assert!(failed > 1);
        let told: Vec<_> = told.take().iter().map(|told| (told.1, told.2, told.3)).collect();
        assert_eq!(told, expected_told);
    }
}

/// Parts are counted from where they come to where they leave.
#[test]
fn three_parts_are_enough() {
    let mut random = Random::new(4);
    let card = card(&mut random);
    let mut world = World::new(&library(), 4, &card);
    let memory = card.regions[1];
    world.release = 0.0;
    let part = Part { first: 4, log_units: 2, pauses: true };
    let bytes = entry(3, 1_000_000, memory.addr, memory.lkey);
    let of_part = Batch { part, ..batch(3, bytes.clone()) };
    let whole = batch(3, bytes);
    let mut seen = Vec::new();
    for batch in [&of_part, &whole, &of_part, &whole, &of_part, &of_part] {
        world.post(batch);
        world.bench.run(60);
        seen.push(world.bench.get("parts_full"));
    }
    assert_eq!(seen, [0, 0, 0, 0, 1, 1]);
    let release = |world: &mut World| {
        world.bench.set("release_valid", 1);
        world.bench.step();
        world.bench.set("release_valid", 0);
        world.bench.run(3);
        world.bench.get("parts_full")
    };
    // A part, a whole one, two parts, a whole one.
    let after: Vec<_> = (0..6).map(|_| release(&mut world)).collect();
    assert_eq!(after, [1, 1, 0, 0, 0, 0]);
}
