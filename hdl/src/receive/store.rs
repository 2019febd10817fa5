//! The frame store: holds 128 KiB of frames as they came, from the wire to host memory.
//!
//! The parser writes a word of 64 B a cycle, and knows which words are in use. The writer reads rows for the DMA
//! engine, in two segments of 64 B: word `w` lies in segment `w mod 2`, row `w / 2`, so that byte `A` has Corundum's
//! address `A`. The engine needs no alignment, so payload is never moved within a word.
//!
//! Contract: a write is accepted in any cycle and takes effect at its end. Each segment reads a row in any cycle,
//! whatever the other one does, and has it at the output two cycles later. The transposer reads a word in a cycle in
//! which the writer does not read its segment. A word must not be written while a read of it is under way: the parser
//! gives a frame's words to no other frame before the writer has freed them.

use drdma_emit::prelude::*;

use super::record::{STORE_WORD, StoreWrite};
use crate::primitive::{Join, Ram};

/// Bits of the number of a row of a segment.
const ROW: usize = 10;

/// Holds received frames. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct FrameStore {
    /// Clock.
    pub clk: Signal<In, Clock>,

    /// A word that is written.
    pub write: Flow<In, StoreWrite>,

    // The writer's side.
    /// Segments that the writer reads, a bit each.
    pub store_enable: Signal<In, Bits<2>>,
    /// Rows that are read, 10 bits for each segment.
    pub store_row: Signal<In, Bits<20>>,
    /// The rows, 512 bits for each segment, two cycles after they were asked for.
    pub store_data: Signal<Out, Bits<1024>>,

    // The transposer's side.
    /// The transposer wants to read a word.
    pub word_read: Signal<In, Bit>,
    /// Number of that word.
    pub word: Signal<In, Bits<STORE_WORD>>,
    /// The word is read in this cycle.
    pub word_granted: Signal<Out, Bit>,
    /// The word, two cycles after it was read.
    pub word_data: Signal<Out, Bits<512>>,

    /// The segment of the transposer's word that was read one cycle before, and two.
    high: [DFF<Bit>; 2],
    segments: [Ram<512, 1, ROW>; 2],
    /// The memories' output registers.
    read: [DFF<Bits<512>>; 2],
    rows: Join<512, 512, 1024>,
}

impl Logic for FrameStore {
    #[hdl_gen]
    fn update(&mut self) {
        for k in 0..2 {
            self.segments[k].write_lanes.next = 0.into();
            if self.write.valid.val() && (self.write.word.val().get_bits::<1>(0) == k.to_bits()) {
                self.segments[k].write_lanes.next = 1.into();
            }
            self.segments[k].write_address.next = self.write.word.val().get_bits::<ROW>(1);
            self.segments[k].write_data.next = self.write.data.val();
            self.segments[k].read_enable.next = self.store_enable.val().get_bit(k)
                || (self.word_read.val() && (self.word.val().get_bits::<1>(0) == k.to_bits()));
            self.segments[k].read_address.next = self.word.val().get_bits::<ROW>(1);
            if self.store_enable.val().get_bit(k) {
                self.segments[k].read_address.next = self.store_row.val().get_bits::<ROW>(k * ROW);
            }
            self.read[k].d.next = self.segments[k].read_data.val();
        }
        self.rows.low.next = self.read[0].q.val();
        self.rows.high.next = self.read[1].q.val();
        self.store_data.next = self.rows.whole.val();

        self.word_granted.next = !self.store_enable.val().get_bit(0);
        if self.word.val().get_bit(0) {
            self.word_granted.next = !self.store_enable.val().get_bit(1);
        }
        self.high[0].d.next = self.word.val().get_bit(0);
        self.high[1].d.next = self.high[0].q.val();
        self.word_data.next = self.read[0].q.val();
        if self.high[1].q.val() {
            self.word_data.next = self.read[1].q.val();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::Random;

    /// Words of the store.
    const WORDS: u64 = 2048;

    #[test]
    fn the_transposer_reads_what_the_writer_leaves_free() {
        let library = testing::library("frame_store", FrameStore::default);
        let mut model = library.instance(2);
        let mut random = Random::new(2);
        model.set("store_enable", 0);
        model.set("word_read", 0);
        let memory: Vec<_> = (0..WORDS).map(|_| random.bytes(64)).collect();
        for (word, data) in (0..).zip(&memory) {
            model.set("write_valid", 1);
            model.set("write_word", word);
            model.set_word("write_data", &data.as_slice().into());
            model.cycle();
        }
        model.set("write_valid", 0);
        // The writer's rows of each segment, and the transposer's word, of the last two cycles.
        let mut asked: VecDeque<[Option<u64>; 3]> = VecDeque::from([[None; 3]; 2]);
        let mut granted = 0;
        for _ in 0..3000 {
            let (enable, rows) = (random.below(4), [random.below(1024), random.below(1024)]);
            let (reads, word) = (random.chance(0.8), random.below(WORDS));
            model.set("store_enable", enable);
            model.set("store_row", rows[0] | rows[1] << 10);
            model.set("word_read", reads.into());
            model.set("word", word);
            model.settle();
            let free = enable >> (word % 2) & 1 == 0;
            assert_eq!(model.get("word_granted"), u64::from(free));
            let due = asked.pop_front().expect("two cycles");
            let read = model.get_word("store_data");
            for (k, due) in due[..2].iter().enumerate() {
                if let Some(word) = due {
                    assert_eq!(read.bits(512 * k, 512).to_bytes(64), memory[*word as usize]);
                }
            }
            if let Some(word) = due[2] {
                assert_eq!(model.get_word("word_data").to_bytes(64), memory[word as usize]);
                granted += 1;
            }
            let of = |k: usize| (enable >> k & 1 == 1).then_some(2 * rows[k] + k as u64);
            asked.push_back([of(0), of(1), (reads && free).then_some(word)]);
            model.tick();
        }
        assert!(granted > 1_000, "{granted} words");
    }

    #[test]
    fn each_segment_reads_a_row_a_cycle_whatever_is_written_meanwhile() {
        let library = testing::library("frame_store", FrameStore::default);
        let mut model = library.instance(1);
        let mut random = Random::new(1);
        model.set("store_enable", 0);
        model.set("word_read", 0);
        let mut memory = Vec::new();
        for word in 0..WORDS {
            memory.push(random.bytes(64));
            model.set("write_valid", 1);
            model.set("write_word", word);
            model.set_word("write_data", &memory[word as usize].as_slice().into());
            model.cycle();
        }
        // Rows that were asked for of each segment in the last two cycles.
        let mut asked: VecDeque<[Option<Vec<u8>>; 2]> =
            VecDeque::from([[None, None], [None, None]]);
        let mut checked = 0;
        for cycle in 0..5000_u64 {
            let rows = [random.below(1024), random.below(1024)];
            let enable = random.below(4);
            model.set("store_enable", enable);
            model.set("store_row", rows[0] | rows[1] << 10);
            // Any word that is not read in this cycle.
            let word = random.below(WORDS);
            let write = random.chance(0.7) && rows[word as usize % 2] != word / 2;
            let data = random.bytes(64);
            model.set("write_valid", write.into());
            model.set("write_word", word);
            model.set_word("write_data", &data.as_slice().into());
            model.settle();
            let read = model.get_word("store_data");
            for (k, due) in asked.pop_front().unwrap().into_iter().enumerate() {
                let Some(due) = due else { continue };
                let bytes = read.bits(512 * k, 512).to_bytes(64);
                assert_eq!(bytes, due, "segment {k}, cycle {cycle}");
                checked += 1;
            }
            asked.push_back(std::array::from_fn(|k| {
                (enable >> k & 1 == 1).then(|| memory[2 * rows[k] as usize + k].clone())
            }));
            model.tick();
            if write {
                memory[word as usize] = data;
            }
        }
        assert!(checked > 4_000);
    }
}
