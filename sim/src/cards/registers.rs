use drdma_abi::register::{
    self, Access, BAR2_SIZE, CONTROL, COUNTER_CLEAR, COUNTERS, QUEUE_PAIRS, REGISTERS, counter,
};
use drdma_driver::{Card, CardError, DmaMemory};

use super::rig::{Rig, Simulated, contiguous, send, to};
use drdma_soft::{card::SoftCard, wire::Network};

fn registers_read_as_the_map_says<C: Simulated>() {
    let mut card = SoftCard::new(Network::new());
    for register in REGISTERS {
        let expected = match register.name {
            "ABI_HASH_LOW" => drdma_abi::ABI_HASH as u32,
            "ABI_HASH_HIGH" => (drdma_abi::ABI_HASH >> 32) as u32,
            _ => register.reset,
        };
        assert_eq!(card.read(register.offset).unwrap(), expected, "{}", register.name);
        card.write(register.offset, 0x1234_5670).unwrap();
        let expected = match (register.access, register.name) {
            (_, "CONTROL") => 0,
            // A random value is no number of words.
            (_, "ASSEMBLER_WORDS") => register.reset,
            (Access::ReadWrite, _) => 0x1234_5670,
            _ => expected,
        };
        assert_eq!(card.read(register.offset).unwrap(), expected, "{}", register.name);
    }
}

#[test]
fn accesses_outside_or_across_words_are_errors_and_holes_read_as_0() {
    let mut card = SoftCard::new(Network::new());
    for offset in [BAR2_SIZE, u32::MAX - 3, 2, 0x101] {
        assert!(matches!(card.read(offset), Err(CardError::Register { offset: o }) if o == offset));
        assert!(card.write(offset, 1).is_err());
    }
    for offset in [0x68, 0x180, 0x8_0000, BAR2_SIZE - 4, QUEUE_PAIRS.offset] {
        card.write(offset, u32::MAX).unwrap();
        assert_eq!(card.read(offset).unwrap(), 0, "{offset:#x}");
    }
}

fn an_assembler_reads_1_to_16_words_and_any_other_value_sets_16<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    let written = [(1, 1), (15, 15), (0, 16), (7, 7), (17, 16), (3, 3), (1 << 31 | 5, 16)];
    for (value, held) in written {
        rig.set(&register::ASSEMBLER_WORDS, value);
        assert_eq!(rig.get(&register::ASSEMBLER_WORDS), held, "{value:#x} was written");
    }
}

fn reset_forgets_everything_but_the_mapped_memory<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    rig.add_queue_pair(1, drdma_abi::roce::Transport::Rc, 0);
    rig.add_queue(0, Some(1));
    rig.post(0, &send(1, vec![to(1, vec![contiguous(0, 100)])]));
    rig.set(&register::COLUMN_MIN_ROWS, 7);
    rig.set(&register::ASSEMBLER_WORDS, 3);
    rig.set(&CONTROL, 3);
    assert_eq!(rig.reset_ends(), 1, "the reset bit clears itself");
    assert_eq!(rig.get(&register::IP), 0);
    for (register, value) in [(register::COLUMN_MIN_ROWS, 7), (register::ASSEMBLER_WORDS, 3)] {
        assert_eq!(rig.get(&register), value, "{}: only a reset of the whole card", register.name);
    }
    assert_eq!(rig.finish(), []);
    assert_eq!(rig.network.traffic().frames, 0);
    assert!(rig.card.map(drdma_semantics::testing::BASE, &rig.data).is_err(), "still mapped");
}

fn a_card_that_is_not_enabled_takes_no_doorbells<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    rig.add_queue_pair(1, drdma_abi::roce::Transport::Uc, 0);
    rig.add_queue(0, Some(1));
    rig.set(&CONTROL, 0);
    rig.post(0, &send(1, vec![to(1, vec![contiguous(0, 100)])]));
    assert_eq!(rig.finish(), []);
    rig.set(&CONTROL, 1);
    assert_eq!(rig.finish(), []);
    rig.ring(0);
    assert_eq!(rig.finish().len(), 1);
}

fn counters_count_and_are_cleared<C: Simulated>() {
    let mut rig = Rig::<C>::new();
    rig.add_queue_pair(1, drdma_abi::roce::Transport::Rc, 0);
    rig.add_queue(0, Some(1));
    rig.post(0, &send(1, vec![to(1, vec![contiguous(0, 600)])]));
    assert_eq!(rig.finish().len(), 1);
    // Three packets of 54 B of headers and 4 B of CRC.
    let frame_bytes = 600 + 3 * 58;
    for (counter, value) in [
        (counter::PAYLOAD_BYTES, 600),
        (counter::FRAME_BYTES, frame_bytes),
        (counter::PACKETS, 3),
        (counter::DATA_READS, 2),
        (counter::DATA_READ_BYTES, 600),
        // The hardware reads all posted blocks at once, the model block by block.
        (counter::CONTROL_READS, if C::PIPELINED { 1 } else { 2 }),
        (counter::CONTROL_READ_BYTES, 128),
        (counter::WORK_REQUESTS, 1),
        (counter::ACKS, 1),
        (counter::WINDOWS, 1),
        (counter::RECEIVE_DROPPED, 0),
    ] {
        assert_eq!(rig.count(&counter), value, "{}", counter.name);
    }
    assert!(rig.count(&counter::CYCLES) > 0);
    rig.set(&COUNTER_CLEAR, 1);
    for counter in COUNTERS {
        let few = if *counter == counter::CYCLES && C::PIPELINED { 20 } else { 0 };
        assert!(rig.count(counter) <= few, "{}", counter.name);
    }
}

#[test]
fn memory_is_mapped_in_whole_pages_once() {
    let mut card = SoftCard::new(Network::new());
    let memory = DmaMemory::new(0x2000).unwrap();
    card.map(0x4000, &memory).unwrap();
    for iova in [0x4800, 0x3000, 0x4000, 0x5000, u64::MAX - 0xfff] {
        assert!(card.map(iova, &memory).is_err(), "{iova:#x}");
    }
    card.map(0x2000, &memory).unwrap();
    card.map(0x6000, &memory).unwrap();
    assert!(card.unmap(0x5000).is_err());
    card.unmap(0x4000).unwrap();
    card.map(0x4000, &memory).unwrap();
}

on_every_card! {
    an_assembler_reads_1_to_16_words_and_any_other_value_sets_16,
    registers_read_as_the_map_says,
    reset_forgets_everything_but_the_mapped_memory,
    a_card_that_is_not_enabled_takes_no_doorbells,
    counters_count_and_are_cleared,
}
