//! The frame store: 128 KiB of frames as they came, from the wire to host memory.
//!
//! The parser writes a word of 64 B a cycle; which words are in use is its business. The DMA engine reads the payload through
//! Corundum's RAM port, in two segments of 64 B: word `w` lies in segment `w mod 2`, row `w / 2`, so that byte `A`
//! has Corundum's address `A`. The engine needs no alignment, so that nobody moves payload within a word.
//!
//! Contract: a write is taken in any cycle and takes effect at its end. Each segment answers its
//! commands in order, one a cycle, the first one 3 cycles after it; its responses may be stalled at any time, the other
//! segment's go on. A word is not written while a read of it is under way: the parser gives a frame's words to no other frame before
//! the writer has freed them.
//!
//! A reset forgets the commands that were not answered, which makes the engine wait for ever: `rst` must be the
//! engine's own reset, not the host's soft reset. The contents stay.

use drdma_emit::prelude::*;

use super::record::StoreWrite;
use crate::primitive::{Join, Ram, Skid};

/// Bits of a row of a segment.
const ROW: usize = 10;

/// The memory. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct FrameStore {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset; the contents stay.
    pub rst: Signal<In, Bit>,

    /// Words to write.
    pub write: Flow<In, StoreWrite>,

    // The DMA engine's side, per segment.
    /// Rows to read.
    pub data_dma_ram_rd_cmd_addr: Signal<In, Bits<20>>,
    /// A read is asked for.
    pub data_dma_ram_rd_cmd_valid: Signal<In, Bits<2>>,
    /// It is taken.
    pub data_dma_ram_rd_cmd_ready: Signal<Out, Bits<2>>,
    /// What was read.
    pub data_dma_ram_rd_resp_data: Signal<Out, Bits<1024>>,
    /// It is there.
    pub data_dma_ram_rd_resp_valid: Signal<Out, Bits<2>>,
    /// It is taken.
    pub data_dma_ram_rd_resp_ready: Signal<In, Bits<2>>,

    segments: [Segment; 2],
    readys: Join<1, 1, 2>,
    valids: Join<1, 1, 2>,
    rows: Join<512, 512, 1024>,
}

impl Logic for FrameStore {
    #[hdl_gen]
    fn update(&mut self) {
        for k in 0..2 {
            self.segments[k].write.next =
                self.write.valid.val() && (self.write.word.val().get_bits::<1>(0) == k.to_bits());
            self.segments[k].row.next = self.write.word.val().get_bits::<ROW>(1);
            self.segments[k].data.next = self.write.data.val();
            self.segments[k].command_valid.next = self.data_dma_ram_rd_cmd_valid.val().get_bit(k);
            self.segments[k].command_row.next =
                self.data_dma_ram_rd_cmd_addr.val().get_bits::<ROW>(k * ROW);
            self.segments[k].response_ready.next = self.data_dma_ram_rd_resp_ready.val().get_bit(k);
        }
        self.readys.low.next = bit_cast::<1, 1>(self.segments[0].command_ready.val().into());
        self.readys.high.next = bit_cast::<1, 1>(self.segments[1].command_ready.val().into());
        self.data_dma_ram_rd_cmd_ready.next = self.readys.whole.val();
        self.valids.low.next = self.segments[0].response_valid.val().into();
        self.valids.high.next = self.segments[1].response_valid.val().into();
        self.data_dma_ram_rd_resp_valid.next = self.valids.whole.val();
        self.rows.low.next = self.segments[0].response.val();
        self.rows.high.next = self.segments[1].response.val();
        self.data_dma_ram_rd_resp_data.next = self.rows.whole.val();
    }
}

/// Every other word, and the reads of the DMA engine from them.
#[derive(LogicBlock, BlockDefault)]
struct Segment {
    clk: Signal<In, Clock>,
    rst: Signal<In, Bit>,
    write: Signal<In, Bit>,
    row: Signal<In, Bits<ROW>>,
    data: Signal<In, Bits<512>>,
    command_valid: Signal<In, Bit>,
    command_row: Signal<In, Bits<ROW>>,
    command_ready: Signal<Out, Bit>,
    response: Signal<Out, Bits<512>>,
    response_valid: Signal<Out, Bit>,
    response_ready: Signal<In, Bit>,

    commands: Skid<ROW>,
    words: Ram<512, 1, ROW>,
    /// The memory's output register holds a response, and the one behind it.
    fetched: DFF<Bit>,
    answered: DFF<Bit>,
    answer: DFF<Bits<512>>,
    fetch: Signal<Local, Bit>,
    hand_on: Signal<Local, Bit>,
}

impl Logic for Segment {
    #[hdl_gen]
    fn update(&mut self) {
        self.words.write_lanes.next = self.write.val().into();
        self.words.write_address.next = self.row.val();
        self.words.write_data.next = self.data.val();

        self.commands.in_valid.next = self.command_valid.val();
        self.commands.in_data.next = self.command_row.val();
        self.command_ready.next = self.commands.in_ready.val();
        self.hand_on.next = !self.answered.q.val() || self.response_ready.val();
        self.fetch.next = !self.fetched.q.val() || self.hand_on.val();
        self.commands.out_ready.next = self.fetch.val();
        self.words.read_enable.next = self.fetch.val();
        self.words.read_address.next = self.commands.out_data.val();
        if self.fetch.val() {
            self.fetched.d.next = self.commands.out_valid.val();
        }
        if self.hand_on.val() {
            self.answered.d.next = self.fetched.q.val();
            self.answer.d.next = self.words.read_data.val();
        }
        self.response_valid.next = self.answered.q.val();
        self.response.next = self.answer.q.val();

        if self.rst.val() {
            self.fetched.d.next = false;
            self.answered.d.next = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::testing;
    use drdma_verilated::Library;
    use drdma_verilated::testbench::{Random, STALLS};

    /// Words of the store.
    const WORDS: u64 = 2048;

    fn library() -> Library {
        testing::library("frame_store", FrameStore::default)
    }

    /// A segment's side of the DMA engine: it keeps a command that it offers until it is taken.
    #[derive(Default)]
    struct Side {
        offered: Option<u64>,
        /// What is due: bytes, row, cycle of the command.
        due: VecDeque<(Vec<u8>, u64, u64)>,
        /// A response that was not taken.
        waiting: Option<Vec<u8>>,
        answered: u64,
    }

    #[test]
    fn each_segment_answers_in_order_whatever_stalls_the_other() {
        let library = library();
        for (seed, stalls) in (1..).zip(STALLS) {
            let mut model = library.instance(seed);
            let mut random = Random::new(seed);
            model.set("data_dma_ram_rd_cmd_valid", 0);
            model.set("write_valid", 0);
            model.set("rst", 1);
            model.cycle();
            model.set("rst", 0);
            let mut memory = Vec::new();
            for word in 0..WORDS {
                memory.push(random.bytes(64));
                model.set("write_valid", 1);
                model.set("write_word", word);
                model.set_word("write_data", &memory[word as usize].as_slice().into());
                model.cycle();
            }
            let mut sides = [Side::default(), Side::default()];
            for cycle in 0..3000_u64 {
                let (mut rows, mut valid, mut ready) = (0, 0, 0);
                for (k, side) in sides.iter_mut().enumerate() {
                    if side.offered.is_none() && !random.chance(stalls.0) {
                        let rows = if random.chance(0.5) { 2 } else { 1024 };
                        side.offered = Some(random.below(rows));
                    }
                    rows |= side.offered.unwrap_or(random.below(1024)) << (10 * k);
                    valid |= u64::from(side.offered.is_some()) << k;
                    // The second segment may be stalled more than the first.
                    let stall = if k == 0 { stalls.1 } else { stalls.1 / 2.0 + 0.1 };
                    ready |= u64::from(!random.chance(stall)) << k;
                }
                model.set("data_dma_ram_rd_cmd_addr", rows);
                model.set("data_dma_ram_rd_cmd_valid", valid);
                model.set("data_dma_ram_rd_resp_ready", ready);
                // Often a word that will be read soon, but none that is asked for.
                let words = if random.chance(0.5) { 4 } else { WORDS };
                let word = random.below(words);
                let side = &sides[word as usize % 2];
                let mut asked = side.due.iter().map(|due| due.1).chain(side.offered);
                let write = random.chance(0.5) && asked.all(|row| row != word / 2);
                let data = random.bytes(64);
                model.set("write_valid", write.into());
                model.set("write_word", word);
                model.set_word("write_data", &data.as_slice().into());
                model.settle();
                let taken = model.get("data_dma_ram_rd_cmd_ready") & valid;
                let there = model.get("data_dma_ram_rd_resp_valid");
                let read = model.get_word("data_dma_ram_rd_resp_data");
                for (k, side) in sides.iter_mut().enumerate() {
                    if there >> k & 1 == 1 {
                        let bytes = read.bits(512 * k, 512).to_bytes(64);
                        let stays = side.waiting.take().is_none_or(|waiting| waiting == bytes);
                        assert!(stays, "segment {k} changed a response in cycle {cycle}");
                        if ready >> k & 1 == 0 {
                            side.waiting = Some(bytes);
                        } else {
                            let (expected, row, at) =
                                side.due.pop_front().expect("a response without a command");
                            assert_eq!(bytes, expected, "segment {k}, row {row}, cycle {cycle}");
                            assert!(cycle >= at + 3);
                            if k == 0 && stalls == (0.0, 0.0) {
                                assert_eq!(cycle, at + 3, "one a cycle, 3 cycles later");
                            }
                            side.answered += 1;
                        }
                    } else {
                        assert!(side.waiting.is_none(), "segment {k} withdrew a response");
                    }
                    if taken >> k & 1 == 1 {
                        let row = side.offered.take().expect("it is offered");
                        side.due.push_back((memory[2 * row as usize + k].clone(), row, cycle));
                    }
                }
                model.tick();
                if write {
                    memory[word as usize] = data;
                }
            }
            assert!(sides.iter().all(|side| side.answered > 100));
        }
    }
}
