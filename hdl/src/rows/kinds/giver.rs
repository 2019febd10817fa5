//! Counts the bytes of values, and emits them as tokens.

use super::Made;
use super::follower::LENGTH_BYTES;
use super::record::{
    CHUNK, CHUNK_BYTES, COLUMN, DESTINATION, GOES_ON, HEAD, LOG_CHUNK_PART, MESSAGE, TURNS, VALUE,
    VERDICT, Value,
};
use crate::primitive::{Flatten, Ram, RamStyle, Restore};
use crate::request::DEST_INDEX;
use crate::rows::sequencer::record::Token;
use drdma_abi::work_request::MAX_MESSAGE;
use drdma_emit::prelude::*;

/// Largest number of bytes of a message.
const LONGEST: u64 = MAX_MESSAGE;
/// Bits of an entry: the length of a message, and whether the destination ends instead.
const LENGTH: usize = 33;
/// Entry for the end of a destination.
const END: u64 = 1 << 32;
const END_BIT: usize = 32;
/// Largest number of bytes of a token.
const BEAT: u64 = 64;
/// Largest number of bytes of a value that fit a token behind its length.
const BEHIND_LENGTH: u64 = BEAT - LENGTH_BYTES;

/// Bytes of a block of the placer, as a shift amount.
const BLOCK_SHIFT: u64 = 8;
/// Blocks of a chunk beside those that its bytes fill: columns begin and end within blocks.
const MORE_BLOCKS: u64 = 8;
const _: () = assert!(
    CHUNK_BYTES == 3 << LOG_CHUNK_PART && (CHUNK_BYTES >> BLOCK_SHIFT) + MORE_BLOCKS <= 112
);
/// Bits of a number of bytes of all messages of a request.
pub const TOTAL: usize = 48;

/// State of a destination that is kept while other destinations have their turns. No row is divided between turns, so
/// that no bits wait for others to fill their byte.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Standing {
    /// Bytes of the message so far.
    sum: Bits<33>,
    /// The message is too long.
    over: Bit,
    /// The message has tokens.
    started: Bit,
}

/// Bits of a [`Standing`].
const STANDING_BITS: usize = <Standing as Synth>::BITS;

/// Counts and emits the values that the follower found; see the [module above](super).
///
/// A value that is counted takes a cycle. A value that is sent takes one for each token of 64 bytes, the first of which
/// begins with its length; a group of fixed width takes one, and so do bits side by side. Bits that do not fill a byte
/// cost a cycle where an element's next region has another value. The head of a destination or turn takes 2. Once a
/// value or a message has failed, all further values are dropped until `clear`.
///
/// The lengths of a WRITE's messages are kept as they are judged: fewer than 2^`LENGTHS` of them and of ends of
/// destinations. Exactly these messages must then be sent, or the request fails. If there are more, each message is
/// measured again before it is sent. The lengths of each destination's messages are kept one behind the other if WRITEs
/// are judged destination by destination; otherwise they are of no use. The place of a destination's next length is
/// kept while others have their turns.
///
/// Values that are replayed are not judged again, and the lengths of their messages come with them.
///
/// # Inputs
/// `clk`, `rst`; `clear`; `slot`; stream `value`; `replays` with `replayed_length`, `judged_total`.
///
/// # Outputs
/// Streams `token`, `made`; `failed` with `dest`, `too_long`; `kept`, `total`; `idle`; `length`, `begun`.
#[derive(LogicBlock, BlockDefault)]
pub struct Giver<const LENGTHS: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A request begins.
    pub clear: Signal<In, Bit>,
    /// Slot of the request.
    pub slot: Signal<In, Bits<8>>,
    /// Values, in the order of the walk.
    pub value: Stream<In, Value>,
    /// The values are replayed: they are sent as they were judged, with `replayed_length` and `judged_total`.
    pub replays: Signal<In, Bit>,
    /// With `replays`: bytes of the message whose first token leaves next.
    pub replayed_length: Signal<In, Bits<32>>,
    /// With `replays` and `clear`: bytes of all messages.
    pub judged_total: Signal<In, Bits<TOTAL>>,
    /// Bytes of the message that ends, where it is judged.
    pub length: Signal<Out, Bits<32>>,
    /// The first token of a message leaves for the output register.
    pub begun: Signal<Out, Bit>,
    /// An entry leads nowhere, or a message is too long or differs from when it was judged; held until `clear`.
    pub failed: Signal<Out, Bit>,
    /// With `failed`: a message is too long.
    pub too_long: Signal<Out, Bit>,
    /// Place of the current destination, or of the one that failed, in the ring of destinations.
    pub dest: Signal<Out, Bits<10>>,
    /// The lengths of all messages were kept.
    pub kept: Signal<Out, Bit>,
    /// Bytes of all messages that were judged.
    pub total: Signal<Out, Bits<TOTAL>>,
    /// No token waits.
    pub idle: Signal<Out, Bit>,
    /// A token is offered.
    pub token_valid: Signal<Out, Bit>,
    /// The token is taken in this cycle.
    pub token_ready: Signal<In, Bit>,
    /// The token.
    pub token: Signal<Out, Token>,
    /// Made bytes of a token, before the token.
    pub made: Stream<Out, Made>,

    broken: DFF<Bit>,
    broken_long: DFF<Bit>,
    works: Signal<Local, Bit>,
    done: Signal<Local, Bit>,
    fails: Signal<Local, Bit>,

    // The value, and the rest of a value that is being sent.
    more: DFF<Bit>,
    rest: DFF<Bits<32>>,
    rest_at: DFF<Bits<64>>,
    bytes: Signal<Local, Bits<32>>,
    at: Signal<Local, Bits<64>>,
    final_piece: Signal<Local, Bit>,
    /// The value fits a token behind its length.
    fits: Signal<Local, Bit>,
    // Bits that do not fill a byte yet.
    pack: DFF<Bits<8>>,
    packed: DFF<Bits<3>>,
    packed_new: Signal<Local, Bits<24>>,
    /// Number of the bits that wait and of the value's bits.
    bits_now: Signal<Local, Bits<5>>,
    /// Number of bytes that these bits fill.
    bit_bytes: Signal<Local, Bits<2>>,
    flushes: Signal<Local, Bit>,

    // The destination.
    place: DFF<Bits<10>>,
    is_write: DFF<Bit>,
    limit: DFF<Bits<32>>,
    // Destinations that wait for their turns, by the lower bits of their places.
    standings: Ram<STANDING_BITS, 1, DEST_INDEX>,
    standing_in: Flatten<Standing, STANDING_BITS>,
    standing_new: Signal<Local, Standing>,
    standing: Restore<Standing, STANDING_BITS>,
    /// For each destination: place of the length of its next message.
    numbers: Ram<LENGTHS, 1, DEST_INDEX>,
    turning: DFF<Bit>,
    /// The state of the destination that the head names was read.
    found: DFF<Bit>,
    chunk_start: DFF<Bit>,
    sum_of_all: DFF<Bits<TOTAL>>,
    chunk_blocks: DFF<Bits<8>>,

    // Lengths of the destination's messages, as they were judged.
    #[init(Ram::new(RamStyle::Ultra))]
    lengths: Ram<LENGTH, 1, LENGTHS>,
    number: DFF<Bits<LENGTHS>>,
    lost: DFF<Bit>,
    counts: Signal<Local, Bit>,
    told_now: Signal<Local, Bits<32>>,
    ends_now: Signal<Local, Bit>,

    // The message.
    sum: DFF<Bits<33>>,
    sum_new: Signal<Local, Bits<33>>,
    added: Signal<Local, Bits<33>>,
    adds: Signal<Local, Bit>,
    most: Signal<Local, Bits<33>>,
    weighed: Signal<Local, Bits<34>>,
    exceeds: Signal<Local, Bit>,
    /// The first piece of a value is sent, unless the message would become too long.
    begins: Signal<Local, Bit>,
    over: DFF<Bit>,
    long: DFF<Bit>,
    told: DFF<Bits<32>>,
    started: DFF<Bit>,

    // The token that leaves.
    free: Signal<Local, Bit>,
    makes: Signal<Local, Bit>,
    emits: Signal<Local, Bit>,
    out_valid: DFF<Bit>,
    out_new: Signal<Local, Token>,
    out: DFF<Token>,
}

impl<const LENGTHS: usize> Logic for Giver<LENGTHS> {
    #[hdl_gen]
    fn update(&mut self) {
        self.works.next = self.value.valid.val() && !self.broken.q.val();
        self.free.next = !self.out_valid.q.val() || self.token_ready.val();

        // Bits that wait make a byte before any other value. With a value's bits they fill up to two bytes, or up to
        // three if they are not continued.
        self.packed_new.next = bit_cast::<24, 8>(self.pack.q.val());
        self.bits_now.next =
            bit_cast::<5, 3>(self.packed.q.val()) + self.value.bytes.val().get_bits::<5>(0);
        self.bit_bytes.next = 1.into();
        self.flushes.next = self.packed.q.val().any() && !self.more.q.val();
        if self.value.is_bits.val() {
            self.packed_new.next = bit_cast::<24, 8>(self.pack.q.val())
                | (bit_cast::<24, 16>(self.value.bits.val())
                    << bit_cast::<5, 3>(self.packed.q.val()));
            self.bit_bytes.next = (self.bits_now.val() >> 3).get_bits::<2>(0);
            if self.value.unit_end.val() {
                self.bit_bytes.next = ((self.bits_now.val() + 7) >> 3).get_bits::<2>(0);
            }
            self.flushes.next = self.bit_bytes.val().any();
        }

        // Bytes of the message: a message that is sent must be as long as it was when it was measured.
        self.added.next = self.value.weight.val();
        if self.flushes.val() {
            self.added.next = bit_cast::<33, 2>(self.bit_bytes.val());
        }
        self.sum_new.next = self.sum.q.val() + self.added.val();
        self.told_now.next = self.told.q.val();
        self.ends_now.next = false;
        if !self.lost.q.val() {
            self.told_now.next = self.lengths.read_data.val().get_bits::<32>(0);
            self.ends_now.next = self.lengths.read_data.val().get_bit(END_BIT);
        }
        if self.replays.val() {
            self.told_now.next = self.replayed_length.val();
        }
        self.most.next = bit_cast::<33, 32>(self.limit.q.val());
        if self.value.give.val() && self.is_write.q.val() {
            // The length is 0 in the entry for the end of a destination.
            self.most.next = bit_cast::<33, 32>(self.told_now.val());
        }
        // Computed beside the sum, so that the summand need not be selected before.
        self.weighed.next =
            bit_cast::<34, 33>(self.sum.q.val()) + bit_cast::<34, 33>(self.value.weight.val());
        self.exceeds.next = self.weighed.val() > bit_cast::<34, 33>(self.most.val());
        if self.flushes.val() {
            self.exceeds.next = (bit_cast::<34, 33>(self.sum.q.val())
                + bit_cast::<34, 2>(self.bit_bytes.val()))
                > bit_cast::<34, 33>(self.most.val());
        }
        if self.replays.val() {
            self.exceeds.next = false;
        }
        self.length.next = self.sum_new.val().get_bits::<32>(0);

        // The next piece of the value.
        self.bytes.next = self.value.bytes.val();
        self.at.next = self.value.pointer.val();
        if self.more.q.val() {
            self.bytes.next = self.rest.q.val();
            self.at.next = self.rest_at.q.val();
        }
        self.final_piece.next = self.bytes.val() <= BEAT;
        self.fits.next = (self.value.bytes.val() <= BEHIND_LENGTH) || self.value.alone.val();
        self.out_new.next.set = self.value.set.val();
        self.out_new.next.first = self.value.first.val();
        self.out_new.next.last = self.value.lane.val();
        self.out_new.next.piece = self.value.first.val() == self.value.lane.val();
        self.out_new.next.offset = 0.into();
        self.out_new.next.lead = false;
        self.out_new.next.bytes = BEAT.into();
        if self.final_piece.val() {
            self.out_new.next.bytes = self.bytes.val().get_bits::<7>(0);
        }
        self.out_new.next.row = 0.into();
        if self.value.is_fixed.val() {
            self.out_new.next.row = self.value.row.val();
        }
        self.out_new.next.pointer = self.at.val();
        self.out_new.next.dest = self.place.q.val();
        self.out_new.next.slot = self.slot.val();
        self.out_new.next.unit_end = false;
        self.out_new.next.message_end = false;
        self.out_new.next.message_start = !self.started.q.val();
        self.out_new.next.message_bytes = 0.into();
        if !self.started.q.val() && self.is_write.q.val() {
            self.out_new.next.message_bytes = self.told_now.val();
        }
        self.out_new.next.chunk_start = self.chunk_start.q.val();
        self.out_new.next.chunk_blocks = 0.into();
        if self.chunk_start.q.val() {
            self.out_new.next.chunk_blocks = self.chunk_blocks.q.val();
        }
        self.out_new.next.request_end = false;
        self.out_new.next.dest_end = false;
        self.out_new.next.status = 0.into();
        self.out_new.next.bad_dest = 0.into();
        self.out_new.next.column = false;
        self.out_new.next.rows = 0.into();
        self.made.slot.next = self.slot.val();
        self.made.data.next = self.value.bytes.val();
        if self.flushes.val() {
            self.made.data.next = bit_cast::<32, 24>(self.packed_new.val());
        }

        self.done.next = false;
        self.adds.next = false;
        self.makes.next = false;
        self.emits.next = false;
        self.fails.next = false;
        self.begins.next = false;
        self.counts.next = false;
        self.lengths.write_lanes.next = 0.into();
        self.lengths.write_address.next = self.number.q.val();
        self.lengths.write_data.next = bit_cast::<LENGTH, 33>(self.sum_new.val());
        // State of the destination before, and of the one that the head names.
        self.standing_new.next.sum = self.sum.q.val();
        self.standing_new.next.over = self.over.q.val();
        self.standing_new.next.started = self.started.q.val();
        self.standing_in.record.next = self.standing_new.val();
        self.standings.write_lanes.next = 0.into();
        self.standings.write_address.next = self.place.q.val().get_bits::<DEST_INDEX>(0);
        self.standings.write_data.next = self.standing_in.bits.val();
        self.standings.read_enable.next = true;
        self.standings.read_address.next = self.value.set.val().get_bits::<DEST_INDEX>(0);
        self.standing.bits.next = self.standings.read_data.val();
        self.numbers.write_lanes.next = 0.into();
        self.numbers.write_address.next = self.place.q.val().get_bits::<DEST_INDEX>(0);
        self.numbers.write_data.next = self.number.q.val();
        self.numbers.read_enable.next = true;
        self.numbers.read_address.next = self.value.set.val().get_bits::<DEST_INDEX>(0);
        // The last bits of a column make a byte before the column ends.
        if self.works.val()
            && ((self.value.task.val() == VALUE)
                || ((self.value.task.val() == MESSAGE) && self.flushes.val()))
        {
            if self.value.fails.val() {
                self.fails.next = true;
            } else if self.value.is_bits.val() && !self.flushes.val() {
                self.done.next = true;
                self.pack.d.next = self.packed_new.val().get_bits::<8>(0);
                self.packed.d.next = self.bits_now.val().get_bits::<3>(0);
            } else if !self.more.q.val() && !self.value.give.val() {
                self.adds.next = true;
                self.done.next = self.value.is_bits.val() || !self.flushes.val();
            } else if !self.more.q.val() && (self.flushes.val() || self.value.has_length.val()) {
                self.begins.next = true;
                self.makes.next = self.free.val();
                self.emits.next = self.free.val() && self.made.ready.val();
                self.adds.next = self.emits.val();
                self.done.next = self.emits.val() && self.fits.val();
                if self.flushes.val() {
                    self.out_new.next.first = 1.into();
                    self.out_new.next.last = 0.into();
                    self.out_new.next.bytes = bit_cast::<7, 2>(self.bit_bytes.val());
                    self.done.next = self.emits.val() && self.value.is_bits.val();
                } else if !self.value.bytes.val().any() || self.value.alone.val() {
                    self.out_new.next.first = 1.into();
                    self.out_new.next.last = 0.into();
                    self.out_new.next.bytes = LENGTH_BYTES.into();
                } else {
                    self.out_new.next.lead = true;
                    self.out_new.next.bytes = BEAT.into();
                    if self.fits.val() {
                        self.out_new.next.bytes =
                            self.value.bytes.val().get_bits::<7>(0) + LENGTH_BYTES;
                    }
                    if self.emits.val() {
                        self.more.d.next = !self.fits.val();
                        self.rest.d.next = self.value.bytes.val() - BEHIND_LENGTH;
                        self.rest_at.d.next = self.value.pointer.val() + BEHIND_LENGTH;
                    }
                }
            } else if !self.bytes.val().any() {
                // Bytes of a value of no length, which was sent before.
                self.done.next = true;
            } else {
                self.begins.next = !self.more.q.val();
                self.emits.next = self.free.val();
                self.adds.next = self.free.val() && !self.more.q.val();
                self.done.next = self.free.val() && self.final_piece.val();
                if self.free.val() {
                    self.more.d.next = !self.final_piece.val();
                    self.rest.d.next = self.bytes.val() - BEAT;
                    self.rest_at.d.next = self.at.val() + BEAT;
                }
            }
            // A message that is too long goes no further, in this cycle or, like everything behind it, in the next.
            if self.begins.val() && self.exceeds.val() {
                self.fails.next = true;
                self.makes.next = false;
                self.emits.next = false;
                self.adds.next = false;
            }
            if self.flushes.val() && (self.adds.val() || self.fails.val()) {
                self.pack.d.next = 0.into();
                self.packed.d.next = 0.into();
                if self.value.is_bits.val() && !self.value.unit_end.val() {
                    self.pack.d.next = self.packed_new.val().get_bits::<8>(8);
                    if self.bit_bytes.val() == 2 {
                        self.pack.d.next = self.packed_new.val().get_bits::<8>(16);
                    }
                    self.packed.d.next = self.bits_now.val().get_bits::<3>(0);
                }
            }
        } else if self.works.val()
            && (self.value.task.val() == MESSAGE)
            && self.value.first.val().get_bit(COLUMN)
        {
            self.done.next = true;
        } else if self.works.val() && (self.value.task.val() == MESSAGE) {
            self.out_new.next.piece = false;
            self.out_new.next.first = 0.into();
            self.out_new.next.last = 0.into();
            self.out_new.next.bytes = 0.into();
            self.out_new.next.row = 0.into();
            self.out_new.next.message_end = true;
            if !self.value.give.val() {
                self.done.next = true;
                self.sum_of_all.d.next =
                    self.sum_of_all.q.val() + bit_cast::<TOTAL, 33>(self.sum_new.val());
                self.told.d.next = self.sum_new.val().get_bits::<32>(0);
                if self.over.q.val() || self.exceeds.val() {
                    self.long.d.next = true;
                }
                self.counts.next = self.is_write.q.val() && self.value.unit_end.val();
                self.lengths.write_lanes.next = bit_cast::<1, 1>(self.counts.val().into());
            } else if self.is_write.q.val()
                && !self.replays.val()
                && (self.sum.q.val() != bit_cast::<33, 32>(self.told_now.val()))
            {
                self.fails.next = true;
            } else {
                self.emits.next = self.free.val();
                self.done.next = self.free.val();
                self.counts.next = self.free.val();
            }
            if self.done.val() {
                self.sum.d.next = 0.into();
                self.over.d.next = false;
            }
        } else if self.works.val() && (self.value.task.val() == DESTINATION) {
            self.out_new.next.piece = false;
            self.out_new.next.first = 0.into();
            self.out_new.next.last = 0.into();
            self.out_new.next.bytes = 0.into();
            self.out_new.next.row = 0.into();
            self.out_new.next.message_start = false;
            self.out_new.next.message_bytes = 0.into();
            self.out_new.next.dest_end = true;
            if self.is_write.q.val()
                && !self.replays.val()
                && !self.lost.q.val()
                && !self.ends_now.val()
            {
                // The destination had more messages when it was judged.
                self.fails.next = true;
            } else {
                self.emits.next = self.free.val() && self.value.unit_end.val();
                self.done.next = self.free.val();
                self.counts.next = self.free.val();
            }
        } else if self.works.val() && (self.value.task.val() == VERDICT) {
            self.done.next = true;
            if self.value.unit_end.val() {
                self.counts.next = self.is_write.q.val();
                self.lengths.write_lanes.next = bit_cast::<1, 1>(self.counts.val().into());
                self.lengths.write_data.next = END.into();
                self.fails.next = self.long.q.val();
                self.broken_long.d.next = self.long.q.val();
            }
            // Values that were checked without messages leave no bytes to a message.
            self.sum.d.next = 0.into();
            self.over.d.next = false;
        } else if self.works.val() && (self.value.task.val() == HEAD) {
            self.found.d.next = !self.found.q.val();
            self.done.next = self.found.q.val();
            if !self.found.q.val() {
                self.standings.write_lanes.next = bit_cast::<1, 1>(self.turning.q.val().into());
                self.numbers.write_lanes.next = bit_cast::<1, 1>(self.turning.q.val().into());
            } else {
                self.place.d.next = self.value.set.val().get_bits::<10>(0);
                self.is_write.d.next = self.value.first.val().get_bit(0);
                self.turning.d.next = self.value.first.val().get_bit(TURNS);
                if self.value.first.val().get_bit(CHUNK) && self.value.give.val() {
                    self.chunk_start.d.next = true;
                }
                self.limit.d.next = LONGEST.into();
                if self.value.unit_end.val() {
                    self.limit.d.next = bits::<32>(1) << self.value.lane.val();
                }
                self.sum.d.next = 0.into();
                self.over.d.next = false;
                self.started.d.next = false;
                if self.value.first.val().get_bit(GOES_ON) {
                    self.sum.d.next = self.standing.record.val().sum;
                    self.over.d.next = self.standing.record.val().over;
                    self.started.d.next = self.standing.record.val().started;
                }
                if self.value.give.val() || self.value.first.val().get_bit(GOES_ON) {
                    self.number.d.next = self.numbers.read_data.val();
                } else {
                    self.numbers.write_lanes.next = 1.into();
                    self.numbers.write_address.next =
                        self.value.set.val().get_bits::<DEST_INDEX>(0);
                }
            }
        } else if self.works.val() {
            self.done.next = true;
            self.fails.next = self.value.fails.val();
        }
        // The next length is read in the next cycle.
        if self.counts.val() {
            self.number.d.next = self.number.q.val() + 1;
            if self.number.d.val() == 0 {
                self.lost.d.next = true;
            }
        }
        self.lengths.read_enable.next = true;
        self.lengths.read_address.next = self.number.d.val();
        self.made.valid.next = self.makes.val();
        self.value.ready.next = self.done.val() || self.broken.q.val();

        if self.adds.val() {
            self.sum.d.next = self.sum_new.val();
            if self.exceeds.val() {
                // The message remains too long, whatever follows.
                self.over.d.next = true;
                self.sum.d.next = self.most.val();
            }
        }
        if self.token_ready.val() {
            self.out_valid.d.next = false;
        }
        if self.free.val() {
            self.out.d.next = self.out_new.val();
        }
        if self.emits.val() {
            self.out_valid.d.next = true;
            self.started.d.next = !self.out_new.val().message_end && !self.out_new.val().dest_end;
            self.chunk_start.d.next = false;
        }
        if self.fails.val() {
            self.broken.d.next = true;
            self.more.d.next = false;
        }
        if self.clear.val() {
            self.broken.d.next = false;
            self.sum.d.next = 0.into();
            self.over.d.next = false;
            self.long.d.next = false;
            self.broken_long.d.next = false;
            self.number.d.next = 0.into();
            self.lost.d.next = false;
            self.turning.d.next = false;
            self.found.d.next = false;
            self.chunk_start.d.next = false;
            self.sum_of_all.d.next = 0.into();
            if self.replays.val() {
                self.sum_of_all.d.next = self.judged_total.val();
            }
            self.started.d.next = false;
            self.packed.d.next = 0.into();
            self.pack.d.next = 0.into();
        }
        self.chunk_blocks.d.next = ((CHUNK_BYTES >> BLOCK_SHIFT) + MORE_BLOCKS).into();
        if self.sum_of_all.q.val() < CHUNK_BYTES {
            self.chunk_blocks.d.next =
                (self.sum_of_all.q.val() >> BLOCK_SHIFT).get_bits::<8>(0) + MORE_BLOCKS;
        }
        self.begun.next = self.emits.val() && self.out_new.val().message_start;
        self.total.next = self.sum_of_all.q.val();
        self.failed.next = self.broken.q.val();
        self.too_long.next = self.broken_long.q.val();
        self.dest.next = self.place.q.val();
        self.kept.next = !self.lost.q.val();
        self.idle.next = !self.out_valid.q.val();
        self.token_valid.next = self.out_valid.q.val();
        self.token.next = self.out.q.val();

        if self.rst.val() {
            self.out_valid.d.next = false;
            self.broken.d.next = false;
            self.more.d.next = false;
            self.found.d.next = false;
        }
    }
}
