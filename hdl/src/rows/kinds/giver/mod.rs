//! Counts the bytes of values, and emits them as tokens.

mod bytes;
mod messages;
mod values;

pub(super) use values::BEAT;

use super::Made;
use super::record::{
    CHUNK_BYTES, COLUMN, DESTINATION, HEAD, LOG_CHUNK_PART, MESSAGE, VALUE, VERDICT, Value,
};
use crate::primitive::{Flatten, Ram, RamStyle, Restore};
use crate::request::DEST_INDEX;
use crate::rows::expander::Token;
use drdma_emit::prelude::*;

/// Bits of an entry: the length of a message, and whether the destination ends instead.
const LENGTH: usize = 33;
/// Entry for the end of a destination.
const END: u64 = 1 << 32;
const END_BIT: usize = 32;

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
/// begins with its length, or with the lanes that it leads and its length; a group of fixed width takes one, and so do
/// bits side by side, with the lanes that they lead. Bits that do not fill a byte cost a cycle where an element's next
/// region has another value. The head of a destination or turn takes 2. Once a value or a message has failed, all
/// further values are dropped until `clear`.
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
/// `clk`, `rst`; `clear`; `slot`; stream `value`; `replays` with `replayed_length`, `led_bytes`, `led_room`,
/// `judged_total`.
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
    /// With `replays`: bytes of the lanes before a value that leads them, or before bits; at most 60.
    pub led_bytes: Signal<In, Bits<6>>,
    /// With `replays`: bytes of such a value that fit the token of these lanes and its length.
    pub led_room: Signal<In, Bits<6>>,
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
    /// The rest fits a token.
    rest_short: DFF<Bit>,
    rest_at: DFF<Bits<64>>,
    bytes: Signal<Local, Bits<32>>,
    at: Signal<Local, Bits<64>>,
    final_piece: Signal<Local, Bit>,
    /// Bytes of the lanes that are sent with the value.
    led: Signal<Local, Bits<6>>,
    /// Bytes of a value that fit its first token behind its length and those lanes.
    room: Signal<Local, Bits<6>>,
    /// The value fits that token.
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
    /// One, two or three bytes more make the message too long.
    exceeds_by: [Signal<Local, Bit>; 3],
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
        self.pack_bits();
        self.weigh();
        self.make_token();
        self.done.next = false;
        self.adds.next = false;
        self.makes.next = false;
        self.emits.next = false;
        self.fails.next = false;
        self.begins.next = false;
        self.counts.next = false;
        self.lengths.write_lanes.next = 0.into();
        self.lengths.write_address.next = self.number.q.val();
        self.lengths.write_data.next = bit_cast::<LENGTH, 33>(self.weighed.val().get_bits::<33>(0));
        self.look_at_standing();
        // The last bits of a column make a byte before the column ends.
        if self.works.val()
            && ((self.value.task.val() == VALUE)
                || ((self.value.task.val() == MESSAGE) && self.flushes.val()))
        {
            self.give_value();
            self.stop_long_message();
            self.keep_bits();
        } else if self.works.val()
            && (self.value.task.val() == MESSAGE)
            && self.value.first.val().get_bit(COLUMN)
        {
            self.done.next = true;
        } else if self.works.val() && (self.value.task.val() == MESSAGE) {
            self.end_message();
        } else if self.works.val() && (self.value.task.val() == DESTINATION) {
            self.end_destination();
        } else if self.works.val() && (self.value.task.val() == VERDICT) {
            self.end_verdict();
        } else if self.works.val() && (self.value.task.val() == HEAD) {
            self.take_head();
        } else if self.works.val() {
            self.done.next = true;
            self.fails.next = self.value.fails.val();
        }
        self.read_length();
        self.made.valid.next = self.makes.val();
        self.value.ready.next = self.done.val() || self.broken.q.val();

        self.add();
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
            self.begin();
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
