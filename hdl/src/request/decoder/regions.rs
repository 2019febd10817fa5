//! Keeps the decoder's copy of the memory regions' table.

use crate::context::{INDEX, REGION, Table, word_of};
use crate::primitive::{Pack, Ram, RamStyle};
use drdma_abi::receive::rights;
use drdma_abi::register::MemoryRegionEntry;
use drdma_emit::prelude::*;

/// Bits of the words that hold an entry's address, length, key and protection domain.
const WORDS: usize = 6 * 32;

const _: () = assert!(rights::LOCAL_WRITE == 1, "the right's bit");

/// Keeps 4,096 memory regions and looks local keys up.
///
/// One look-up a cycle; its result comes in the next cycle. A reset changes nothing: the last words have to be written.
/// An entry is valid once its last word says so, until any word of it is written again.
///
/// # Inputs
/// `clk`, `cfg_*`, `key`, `pd`.
///
/// # Outputs
/// `known`, `addr`, `len`, `writable`: of the key of the cycle before.
#[derive(LogicBlock, BlockDefault)]
pub struct MemoryRegions {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// A word of this table is written.
    pub cfg_valid: Signal<In, Bit>,
    /// The word is the last one of its entry.
    pub cfg_last: Signal<In, Bit>,
    /// Number of the memory region.
    pub cfg_index: Signal<In, Bits<INDEX>>,
    /// The word of its entry.
    pub cfg_word: Signal<In, Bits<4>>,
    /// The word's value.
    pub cfg_data: Signal<In, Bits<32>>,
    /// The local key that is looked up.
    pub key: Signal<In, Bits<32>>,
    /// Protection domain of the queue.
    pub pd: Signal<In, Bits<32>>,
    /// The key names a memory region of that protection domain.
    pub known: Signal<Out, Bit>,
    /// Address of the memory region's first byte.
    pub addr: Signal<Out, Bits<64>>,
    /// Bytes of the memory region.
    pub len: Signal<Out, Bits<64>>,
    /// The card may write to the memory region for requests of its own host.
    pub writable: Signal<Out, Bit>,

    /// The words that hold an entry's address and length, its key and its protection domain.
    #[init(Ram::new(RamStyle::Ultra))]
    words: Ram<WORDS, 6, REGION>,
    /// The numbers of those words.
    #[init([ word_of::<MemoryRegionEntry>("addr"), word_behind("addr"), word_of::<MemoryRegionEntry>("len"), word_behind("len"), word_of::<MemoryRegionEntry>("lkey"), word_of::<MemoryRegionEntry>("pd"), ])]
    word: [Constant<Bits<4>>; 6],
    written: Pack<6, 32, WORDS>,
    valid: Table<1, REGION>,
    rights: Table<1, REGION>,
    #[init(word_of::<MemoryRegionEntry>("rights"))]
    rights_word: Constant<Bits<4>>,
    /// The key and protection domain that were given in the cycle before.
    asked: DFF<Bits<32>>,
    asked_pd: DFF<Bits<32>>,
    index: Signal<Local, Bits<REGION>>,
}

impl Logic for MemoryRegions {
    #[hdl_gen]
    fn update(&mut self) {
        self.index.next = self.key.val().get_bits::<REGION>(0);
        self.words.write_lanes.next = 0.into();
        for k in 0..6 {
            self.written.parts[k].next = self.cfg_data.val();
            if self.cfg_valid.val() && (self.cfg_word.val() == self.word[k].val()) {
                self.words.write_lanes.next = self.words.write_lanes.val().replace_bit(k, true);
            }
        }
        self.words.write_address.next = self.cfg_index.val().get_bits::<REGION>(0);
        self.words.write_data.next = self.written.whole.val();
        self.words.read_enable.next = true;
        self.words.read_address.next = self.index.val();
        self.valid.write_enable.next = self.cfg_valid.val();
        self.valid.write_address.next = self.cfg_index.val().get_bits::<REGION>(0);
        self.valid.write_data.next = 0.into();
        if self.cfg_last.val() && (self.cfg_data.val() == 1) {
            self.valid.write_data.next = 1.into();
        }
        self.rights.write_enable.next =
            self.cfg_valid.val() && (self.cfg_word.val() == self.rights_word.val());
        self.rights.write_address.next = self.cfg_index.val().get_bits::<REGION>(0);
        self.rights.write_data.next = self.cfg_data.val().get_bits::<1>(0);
        self.rights.ahead.next = self.index.val();
        self.writable.next = self.rights.read_data.val().get_bit(0);
        self.asked.d.next = self.key.val();
        self.asked_pd.d.next = self.pd.val();
        self.valid.ahead.next = self.index.val();
        self.known.next = (self.valid.read_data.val() == 1)
            && (self.words.read_data.val().get_bits::<32>(128) == self.asked.q.val())
            && (self.words.read_data.val().get_bits::<32>(160) == self.asked_pd.q.val());
        self.addr.next = self.words.read_data.val().get_bits::<64>(0);
        self.len.next = self.words.read_data.val().get_bits::<64>(64);
    }
}

/// The word behind the first one of a field of 64 bits.
fn word_behind(field: &str) -> Constant<Bits<4>> {
    Constant::new(Constant::<Bits<4>>::val(&word_of::<MemoryRegionEntry>(field)) + 1)
}
