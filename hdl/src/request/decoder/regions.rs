//! The decoder's copy of the memory regions' table.

use super::slice::word_of;
use crate::primitive::{Lutram, Ram};
use drdma_abi::register::MemoryRegionEntry;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

/// Keeps 1,024 memory regions and looks local keys up.
///
/// One look-up a cycle; its result comes in the next cycle. A reset changes nothing: the last words have to be written. An entry is
/// valid once its last word says so, until any word of it is written again.
///
/// # Inputs
/// `clk`, `cfg_*`, `key`.
///
/// # Outputs
/// `known`, `addr`, `len`: of the key of the cycle before.
#[derive(LogicBlock)]
pub struct MemoryRegions {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// A word of this table is written.
    pub cfg_valid: Signal<In, Bit>,
    /// The memory region.
    pub cfg_index: Signal<In, Bits<10>>,
    /// The word of its entry.
    pub cfg_word: Signal<In, Bits<4>>,
    /// The word's value.
    pub cfg_data: Signal<In, Bits<32>>,
    /// A local key is given.
    pub key_valid: Signal<In, Bit>,
    /// The key.
    pub key: Signal<In, Bits<32>>,
    /// The key names a memory region.
    pub known: Signal<Out, Bit>,
    /// The memory region's first byte.
    pub addr: Signal<Out, Bits<64>>,
    /// The memory region's bytes.
    pub len: Signal<Out, Bits<64>>,

    /// The words that hold an entry's address and length, and its key.
    words: [Ram<32, 1, 10>; 5],
    /// The numbers of those words.
    word: [Constant<Bits<4>>; 5],
    valid_word: Constant<Bits<4>>,
    valid: Lutram<1, 10, 1>,
    /// Of the key that was given a cycle before.
    asked: DFF<Bits<32>>,
    index: Signal<Local, Bits<10>>,
}

impl Default for MemoryRegions {
    fn default() -> Self {
        type Entry = MemoryRegionEntry;
        let following = |field: &str| {
            let first = Constant::<Bits<4>>::val(&word_of::<Entry>(field));
            Constant::new(first + 1)
        };
        Self {
            clk: Signal::default(),
            cfg_valid: Signal::default(),
            cfg_index: Signal::default(),
            cfg_word: Signal::default(),
            cfg_data: Signal::default(),
            key_valid: Signal::default(),
            key: Signal::default(),
            known: Signal::default(),
            addr: Signal::default(),
            len: Signal::default(),
            words: Default::default(),
            word: [
                word_of::<Entry>("addr"),
                following("addr"),
                word_of::<Entry>("len"),
                following("len"),
                word_of::<Entry>("lkey"),
            ],
            valid_word: word_of::<Entry>("valid"),
            valid: Lutram::default(),
            asked: DFF::default(),
            index: Signal::default(),
        }
    }
}

impl Logic for MemoryRegions {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, asked);
        self.index.next = self.key.val().get_bits::<10>(0);
        for k in 0..5 {
            self.words[k].clk.next = self.clk.val();
            self.words[k].write_lanes.next = 0.into();
            if self.cfg_valid.val() && (self.cfg_word.val() == self.word[k].val()) {
                self.words[k].write_lanes.next = 1.into();
            }
            self.words[k].write_address.next = self.cfg_index.val();
            self.words[k].write_data.next = self.cfg_data.val();
            self.words[k].read_enable.next = self.key_valid.val();
            self.words[k].read_address.next = self.index.val();
        }
        self.valid.clk.next = self.clk.val();
        self.valid.write_enable.next = self.cfg_valid.val();
        self.valid.write_address.next = self.cfg_index.val();
        self.valid.write_data.next = 0.into();
        if (self.cfg_word.val() == self.valid_word.val()) && (self.cfg_data.val() == 1) {
            self.valid.write_data.next = 1.into();
        }
        self.valid.read_address[0].next = self.asked.q.val().get_bits::<10>(0);
        if self.key_valid.val() {
            self.asked.d.next = self.key.val();
        }
        self.known.next = (self.valid.read_data[0].val() == 1)
            && (self.words[4].read_data.val() == self.asked.q.val());
        self.addr.next = bit_cast::<64, 32>(self.words[0].read_data.val())
            | (bit_cast::<64, 32>(self.words[1].read_data.val()) << 32);
        self.len.next = bit_cast::<64, 32>(self.words[2].read_data.val())
            | (bit_cast::<64, 32>(self.words[3].read_data.val()) << 32);
    }
}
