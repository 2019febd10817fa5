//! Computes the hash of a row's keys.

use crate::primitive::{Delay, SCALE_STAGES, Scale};
use drdma_emit::prelude::*;

/// Multipliers of a word before it is mixed into the hash.
const WORD_FACTORS: [u32; 2] = [0xcc9e_2d51, 0x1b87_3593];
/// Multipliers that finish the hash.
const END_FACTORS: [u32; 2] = [0x85eb_ca6b, 0xc2b2_ae35];
/// Constant that is added to the hash with each word.
const ADDED: u64 = 0xe654_6b64;
/// Bytes of a key of one word.
const ONE_WORD: u64 = 4;
/// Bytes of a key of two words.
const TWO_WORDS: u64 = 8;

/// Cycles from a word's arrival to its mixing.
const MIX: usize = 2 * SCALE_STAGES;
/// Enabled cycles from a key to its hash.
pub const HASH_STAGES: usize = MIX + 4 + 2 * SCALE_STAGES + 1;

/// Computes Spark's Murmur3 of a key of one or two words, continuing the hash of the keys before it.
///
/// A key a cycle; its hash follows after [`HASH_STAGES`] enabled cycles. While `enable` is low, the pipeline holds.
///
/// # Inputs
/// `clk`, `enable`; `low`, `high` (words, the first one first), `two` (the key has both words), `skip` (a null: the
/// hash does not change), `so_far` (the hash of the keys before).
///
/// # Outputs
/// `hash`.
#[derive(LogicBlock, BlockDefault)]
pub struct Hash {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// The pipeline advances in this cycle.
    pub enable: Signal<In, Bit>,
    /// First word of the key.
    pub low: Signal<In, Bits<32>>,
    /// Second word of the key, if `two`.
    pub high: Signal<In, Bits<32>>,
    /// The key has two words.
    pub two: Signal<In, Bit>,
    /// The key is null: the hash does not change.
    pub skip: Signal<In, Bit>,
    /// Hash of the keys before.
    pub so_far: Signal<In, Bits<32>>,
    /// Hash of all keys up to this one.
    pub hash: Signal<Out, Bits<32>>,

    #[init([Scale::by(WORD_FACTORS[0]), Scale::by(WORD_FACTORS[0])])]
    word_first: [Scale; 2],
    #[init([Scale::by(WORD_FACTORS[1]), Scale::by(WORD_FACTORS[1])])]
    word_second: [Scale; 2],
    /// Delays of the hash before, and of whether the key has two words.
    mixed_into: Delay<32, MIX>,
    two_at_mix: Delay<1, MIX>,
    kept: Delay<33, { HASH_STAGES - 1 }>,
    upper_word: Delay<32, 2>,
    two_late: Delay<1, 3>,
    two_end: Delay<1, 1>,
    xored: Signal<Local, Bits<32>>,
    turned: DFF<Bits<32>>,
    once: DFF<Bits<32>>,
    xored_again: Signal<Local, Bits<32>>,
    turned_again: DFF<Bits<32>>,
    once_late: DFF<Bits<32>>,
    mixed: DFF<Bits<32>>,
    ended: Signal<Local, Bits<32>>,
    #[init(Scale::by(END_FACTORS[0]))]
    end_first: Scale,
    #[init(Scale::by(END_FACTORS[1]))]
    end_second: Scale,
    found: DFF<Bits<32>>,
}

impl Logic for Hash {
    #[hdl_gen]
    fn update(&mut self) {
        // The words are multiplied.
        self.word_first[0].number.next = self.low.val();
        self.word_first[1].number.next = self.high.val();
        for k in 0..2 {
            self.word_first[k].enable.next = self.enable.val();
            self.word_second[k].enable.next = self.enable.val();
            self.word_second[k].number.next = (self.word_first[k].multiple.val() << 15)
                | (self.word_first[k].multiple.val() >> 17);
        }
        self.mixed_into.enable.next = self.enable.val();
        self.mixed_into.value.next = self.so_far.val();
        self.two_at_mix.enable.next = self.enable.val();
        self.two_at_mix.value.next = bit_cast::<1, 1>(self.two.val().into());
        self.kept.enable.next = self.enable.val();
        self.kept.value.next = (bit_cast::<33, 1>(self.skip.val().into()) << 32)
            | bit_cast::<33, 32>(self.so_far.val());

        // The first word is mixed into the hash, the second one two cycles later.
        self.xored.next = self.mixed_into.late.val() ^ self.word_second[0].multiple.val();
        self.upper_word.enable.next = self.enable.val();
        self.upper_word.value.next = self.word_second[1].multiple.val();
        self.two_late.enable.next = self.enable.val();
        self.two_late.value.next = self.two_at_mix.late.val();
        self.two_end.enable.next = self.enable.val();
        self.two_end.value.next = self.two_late.late.val();
        self.xored_again.next = self.once.q.val() ^ self.upper_word.late.val();
        self.ended.next = self.mixed.q.val() ^ ONE_WORD;
        if self.two_end.late.val().any() {
            self.ended.next = self.mixed.q.val() ^ TWO_WORDS;
        }

        // The hash is finished.
        self.end_first.enable.next = self.enable.val();
        self.end_first.number.next = self.ended.val() ^ (self.ended.val() >> 16);
        self.end_second.enable.next = self.enable.val();
        self.end_second.number.next =
            self.end_first.multiple.val() ^ (self.end_first.multiple.val() >> 13);
        if self.enable.val() {
            self.turned.d.next = (self.xored.val() << 13) | (self.xored.val() >> 19);
            self.once.d.next = (self.turned.q.val() << 2) + self.turned.q.val() + ADDED;
            self.turned_again.d.next =
                (self.xored_again.val() << 13) | (self.xored_again.val() >> 19);
            self.once_late.d.next = self.once.q.val();
            self.mixed.d.next = self.once_late.q.val();
            if self.two_late.late.val().any() {
                self.mixed.d.next =
                    (self.turned_again.q.val() << 2) + self.turned_again.q.val() + ADDED;
            }
            self.found.d.next =
                self.end_second.multiple.val() ^ (self.end_second.multiple.val() >> 16);
            if self.kept.late.val().get_bit(32) {
                self.found.d.next = self.kept.late.val().get_bits::<32>(0);
            }
        }
        self.hash.next = self.found.q.val();
    }
}
