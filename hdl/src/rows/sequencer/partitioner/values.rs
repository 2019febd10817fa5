//! Takes the values of keys from beats, eight rows at a time.

use crate::request::KEY_BITS;
use crate::rows::sequencer::record::Read;
use drdma_abi::work_request::KeyType;
use drdma_emit::prelude::*;

/// Type of a key: a signed integer.
const INTEGER: u64 = KeyType::Integer as u64;
/// Type of a key: a float.
const FLOAT: u64 = KeyType::Float as u64;
/// Type of a key: a boolean.
const BOOLEAN: u64 = KeyType::Boolean as u64;
/// Binary logarithm of the bytes of a value: 1 B.
const BYTES_1: u64 = 0;
/// Binary logarithm of the bytes of a value: 2 B.
const BYTES_2: u64 = 1;
/// Binary logarithm of the bytes of a value: 4 B.
const BYTES_4: u64 = 2;
/// Binary logarithm of the bytes of a value: 8 B.
const BYTES_8: u64 = 3;
/// Binary logarithm of the bytes of a value: 16 B.
const BYTES_16: u64 = 4;
/// Float of 4 B: the bits of the magnitude.
const MAGNITUDE_4: u64 = 0x7fff_ffff;
/// Float of 4 B: infinity; a greater magnitude is a NaN.
const INFINITE_4: u64 = 0x7f80_0000;
/// Float of 4 B: the NaN that stands for all.
const NAN_4: u64 = 0x7fc0_0000;
/// Float of 8 B: the bits of the magnitude.
const MAGNITUDE_8: u64 = 0x7fff_ffff_ffff_ffff;
/// Float of 8 B: infinity; a greater magnitude is a NaN.
const INFINITE_8: u64 = 0x7ff0_0000_0000_0000;
/// Float of 8 B: the NaN that stands for all.
const NAN_8: u64 = 0x7ff8_0000_0000_0000;

/// A beat of 64 bytes that were read for keys.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct KeyBeat {
    /// Bytes that were read.
    pub data: Bits<512>,
    /// The read failed.
    pub error: Bit,
    /// The read that the beat belongs to.
    pub read: Read,
}

/// Values of eight rows of a block, in the form in which they are hashed.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Group {
    /// Values: integers sign-extended to 64 bits; floats with a single NaN and a single 0, of 4 B in the low bits; the
    /// bit of a boolean; the low half of 16 B.
    pub values: [Bits<64>; 8],
    /// Bit `k` is set if row `k` has no value.
    pub nulls: Bits<8>,
    /// A read that the values come from failed.
    pub error: Bit,
    /// Number of the group in its block, 0 to 31.
    pub place: Bits<5>,
    /// The group is the last one of its block.
    pub last: Bit,
    /// The read that the values come from.
    pub read: Read,
}

/// Cuts what was read of a key into groups of eight rows, for the partitioner. In the last group, rows beyond the
/// block's are undefined.
///
/// One group a cycle, or one in two for values of 16 B; 2 cycles after its beat. Validity bits are kept, and make no
/// group. May stall at any time; `input.ready` depends on `output.ready`.
///
/// # Inputs
/// `input` stream: the beats of each read, as many as its rows need; ready of the `output` stream.
///
/// # Outputs
/// `output` stream; `busy` (a beat or a group is here).
#[derive(LogicBlock, BlockDefault)]
pub struct Values {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Beats that were read.
    pub input: Stream<In, KeyBeat>,
    /// Groups of eight rows.
    pub output: Stream<Out, Group>,
    /// A beat or a group has not left.
    pub busy: Signal<Out, Bit>,

    // The current beat, and how far it is cut.
    full: DFF<Bit>,
    beat: DFF<KeyBeat>,
    place: DFF<Bits<5>>,
    /// Number of the last group of the beat's read.
    last_place: DFF<Bits<5>>,
    /// The last group has rows in its upper half.
    last_upper: DFF<Bit>,
    /// Values of 16 B: the beat has the upper four of a group.
    upper: DFF<Bit>,
    /// Validity bits of the block; the first one lies at bit `bitmap_first`.
    bitmap: DFF<Bits<264>>,
    bitmap_first: DFF<Bits<3>>,
    bitmap_error: DFF<Bit>,
    log_width: Signal<Local, Bits<3>>,
    last: Signal<Local, Bit>,
    /// The group is the last one of its beat.
    ends: Signal<Local, Bit>,
    lower_alone: Signal<Local, Bit>,
    gives: Signal<Local, Bit>,
    steps: Signal<Local, Bit>,
    consumes: Signal<Local, Bit>,
    eight_bytes: Signal<Local, Bits<64>>,
    eight_halves: Signal<Local, Bits<128>>,
    eight_words: Signal<Local, Bits<256>>,
    eight_bits: Signal<Local, Bits<8>>,
    valid_bits: Signal<Local, Bits<8>>,
    /// The type has a sign.
    is_signed: Signal<Local, Bit>,
    // The group as it lies in memory, sign-extended.
    cut: DFF<Bit>,
    raw: [DFF<Bits<64>>; 8],
    nulls: DFF<Bits<8>>,
    error: DFF<Bit>,
    group_place: DFF<Bits<5>>,
    group_last: DFF<Bit>,
    read: DFF<Read>,
    value: [Signal<Local, Bits<64>>; 8],
    moves: Signal<Local, Bit>,
}

impl Logic for Values {
    #[hdl_gen]
    fn update(&mut self) {
        // The part of the current beat.
        self.log_width.next = self.beat.q.val().read.log_width;
        self.last.next = self.place.q.val() == self.last_place.q.val();
        self.ends.next = self.last.val() || (self.log_width.val() == BYTES_8);
        if self.log_width.val() == BYTES_1 {
            self.ends.next = self.last.val() || self.place.q.val().get_bits::<3>(0).all();
        }
        if self.log_width.val() == BYTES_2 {
            self.ends.next = self.last.val() || self.place.q.val().get_bits::<2>(0).all();
        }
        if self.log_width.val() == BYTES_4 {
            self.ends.next = self.last.val() || self.place.q.val().get_bit(0);
        }
        self.lower_alone.next = self.last.val() && !self.last_upper.q.val();
        self.gives.next = !self.beat.q.val().read.validity;
        if self.log_width.val() == BYTES_16 {
            self.ends.next = true;
            self.gives.next =
                !self.beat.q.val().read.validity && (self.upper.q.val() || self.lower_alone.val());
        }
        self.moves.next = !self.cut.q.val() || self.output.ready.val();
        self.steps.next =
            self.full.q.val() && (self.moves.val() || self.beat.q.val().read.validity);
        self.consumes.next =
            self.steps.val() && (self.ends.val() || self.beat.q.val().read.validity);
        self.input.ready.next = !self.full.q.val() || self.consumes.val();
        if self.input.ready.val() {
            self.full.d.next = self.input.valid.val();
            self.beat.d.next = self.input.val();
            self.last_place.d.next = (self.input.read.val().rows - 1).get_bits::<5>(3);
            self.last_upper.d.next = (self.input.read.val().rows - 1).get_bit(2);
        }
        if self.steps.val() && self.beat.q.val().read.validity {
            self.bitmap.d.next = self.beat.q.val().data.get_bits::<264>(0);
            self.bitmap_first.d.next = self.beat.q.val().read.first;
            self.bitmap_error.d.next = self.beat.q.val().error;
        }

        // The group.
        self.eight_bytes.next =
            self.beat.q.val().data.get_bits::<64>(self.place.q.val().get_bits::<3>(0).index() * 64);
        self.eight_halves.next = self
            .beat
            .q
            .val()
            .data
            .get_bits::<128>(self.place.q.val().get_bits::<2>(0).index() * 128);
        self.eight_words.next = self
            .beat
            .q
            .val()
            .data
            .get_bits::<256>(self.place.q.val().get_bits::<1>(0).index() * 256);
        self.eight_bits.next =
            (self.beat.q.val().data.get_bits::<16>(self.place.q.val().index() * 8)
                >> self.beat.q.val().read.first)
                .get_bits::<8>(0);
        self.valid_bits.next = (self.bitmap.q.val().get_bits::<16>(self.place.q.val().index() * 8)
            >> self.bitmap_first.q.val())
        .get_bits::<8>(0);
        self.is_signed.next = self.beat.q.val().read.key_type == INTEGER;
        if self.moves.val() {
            self.cut.d.next = self.full.q.val() && self.gives.val();
        }
        // Half a group keeps its error until the other half is there.
        if self.moves.val() && self.full.q.val() {
            self.nulls.d.next = 0.into();
            self.error.d.next = self.beat.q.val().error;
            if self.upper.q.val() {
                self.error.d.next = self.beat.q.val().error || self.error.q.val();
            }
            if self.beat.q.val().read.nullable {
                self.nulls.d.next = !self.valid_bits.val();
                self.error.d.next = self.error.d.val() || self.bitmap_error.q.val();
            }
            self.group_place.d.next = self.place.q.val();
            self.group_last.d.next = self.last.val();
            self.read.d.next = self.beat.q.val().read;
            for k in 0..8 {
                if self.log_width.val() == BYTES_1 {
                    self.raw[k].d.next =
                        bit_cast::<64, 8>(self.eight_bytes.val().get_bits::<8>(k * 8));
                    if self.is_signed.val() && self.eight_bytes.val().get_bit(k * 8 + 7) {
                        self.raw[k].d.next =
                            bit_cast::<64, 8>(self.eight_bytes.val().get_bits::<8>(k * 8))
                                | 0xffff_ffff_ffff_ff00;
                    }
                } else if self.log_width.val() == BYTES_2 {
                    self.raw[k].d.next =
                        bit_cast::<64, 16>(self.eight_halves.val().get_bits::<16>(k * 16));
                    if self.is_signed.val() && self.eight_halves.val().get_bit(k * 16 + 15) {
                        self.raw[k].d.next =
                            bit_cast::<64, 16>(self.eight_halves.val().get_bits::<16>(k * 16))
                                | 0xffff_ffff_ffff_0000;
                    }
                } else if self.log_width.val() == BYTES_4 {
                    self.raw[k].d.next =
                        bit_cast::<64, 32>(self.eight_words.val().get_bits::<32>(k * 32));
                    if self.is_signed.val() && self.eight_words.val().get_bit(k * 32 + 31) {
                        self.raw[k].d.next =
                            bit_cast::<64, 32>(self.eight_words.val().get_bits::<32>(k * 32))
                                | 0xffff_ffff_0000_0000;
                    }
                } else if self.log_width.val() == BYTES_8 {
                    self.raw[k].d.next = self.beat.q.val().data.get_bits::<64>(k * 64);
                } else if self.log_width.val() == KEY_BITS {
                    self.raw[k].d.next = bit_cast::<64, 1>(self.eight_bits.val().get_bits::<1>(k));
                } else if k < 4 {
                    // The lower four values come first.
                    if !self.upper.q.val() {
                        self.raw[k].d.next = self.beat.q.val().data.get_bits::<64>(k * 128);
                    }
                } else {
                    self.raw[k].d.next = self.beat.q.val().data.get_bits::<64>(k * 128 - 512);
                }
            }
            if self.full.q.val() && !self.beat.q.val().read.validity {
                self.upper.d.next = (self.log_width.val() == BYTES_16) && !self.gives.val();
                if self.gives.val() {
                    self.place.d.next = self.place.q.val() + 1;
                    if self.last.val() {
                        self.place.d.next = 0.into();
                    }
                }
            }
        }

        // The values in the form in which they are hashed.
        for k in 0..8 {
            self.value[k].next = self.raw[k].q.val();
            if self.read.q.val().key_type == BOOLEAN {
                self.value[k].next = bit_cast::<64, 1>(self.raw[k].q.val().any().into());
            }
            if (self.read.q.val().key_type == FLOAT) && (self.read.q.val().log_width == BYTES_4) {
                if (self.raw[k].q.val() & MAGNITUDE_4) > INFINITE_4 {
                    self.value[k].next = NAN_4.into();
                } else if (self.raw[k].q.val() & MAGNITUDE_4) == 0 {
                    self.value[k].next = 0.into();
                }
            }
            if (self.read.q.val().key_type == FLOAT) && (self.read.q.val().log_width == BYTES_8) {
                if (self.raw[k].q.val() & MAGNITUDE_8) > INFINITE_8 {
                    self.value[k].next = NAN_8.into();
                } else if (self.raw[k].q.val() & MAGNITUDE_8) == 0 {
                    self.value[k].next = 0.into();
                }
            }
            self.output.values[k].next = self.value[k].val();
        }
        self.output.valid.next = self.cut.q.val();
        self.output.nulls.next = self.nulls.q.val();
        self.output.error.next = self.error.q.val();
        self.output.place.next = self.group_place.q.val();
        self.output.last.next = self.group_last.q.val();
        self.output.read.next = self.read.q.val();
        self.busy.next = self.full.q.val() || self.cut.q.val();

        if self.rst.val() {
            self.full.d.next = false;
            self.cut.d.next = false;
            self.place.d.next = 0.into();
            self.upper.d.next = false;
        }
    }
}
