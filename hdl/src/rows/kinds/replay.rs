//! Keeps the values of a request as they are judged, and replays them when the request is sent.
//!
//! Stands between the follower and the two givers: the one that judges values, and the one that sends what is replayed.
//! There is room for two requests: while one is replayed, the next one is judged.
//!
//! ```text
//! judged, length --> values, lengths (one half) | values, lengths (other half) --value, told--> Giver
//! ```
//!
//! The lengths of a WRITE's messages are kept by the order in which the messages begin, which is the order in which
//! they begin when they are replayed: destinations may take turns. The number of a destination's open message is kept
//! while others have their turns.
//!
//! Contract: `clear`, then values in any cycles, then `send`, unless `full`: there was no room for all values or
//! lengths. `send` comes two cycles after the last value or later, and only while not `busy`. With `streams` it may
//! come before: values are replayed as they are judged, and those for which there is no room yet must wait for `ready`.
//! The lengths of messages are not told then. The next `clear` comes two cycles after the last value or later. A value
//! is replayed in each cycle in which it is taken. With `lead`, a group of fixed width that was not judged is replayed
//! before a value of each row. It is replayed with bits, or with a value that has a length, if it leaves room for a
//! length in a token.

use super::follower::LENGTH_BYTES;
use super::giver::BEAT;
use super::record::{
    CHUNK, DESTINATION, GOES_ON, HEAD, Lead, MESSAGE, TABLE, VALUE, VERDICT, Value,
};
use crate::primitive::{Flatten, Ram, RamStyle, Restore, StreamSkid};
use crate::request::DEST_INDEX;
use drdma_emit::prelude::*;

/// Bits of the number of bits of a value.
const BIT_COUNT: usize = 5;
/// Place of a value's bits in [`Kept::bytes`].
const BITS_SHIFT: u64 = 16;
/// Most bytes of a group that is sent with a value: a token has room for the value's length behind it.
const MOST_LED: u64 = BEAT - LENGTH_BYTES;
/// Values that may be on their way when there is no room for more.
const ON_WAY: u64 = 4;
/// Bits of a number of chunks.
const CHUNK_NUMBER: usize = 8;

/// A value as it is kept.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Kept {
    /// See [`Value::task`].
    task: Bits<3>,
    /// See [`Value::set`].
    set: Bits<11>,
    /// See [`Value::first`].
    first: Bits<4>,
    /// See [`Value::lane`].
    lane: Bits<4>,
    /// See [`Value::unit_end`].
    unit_end: Bit,
    /// See [`Value::has_length`].
    has_length: Bit,
    /// See [`Value::is_bits`].
    is_bits: Bit,
    /// See [`Value::is_fixed`].
    is_fixed: Bit,
    /// See [`Value::row`].
    row: Bits<32>,
    /// See [`Value::pointer`].
    pointer: Bits<64>,
    /// Bytes of the value; for bits, their number, and the bits from bit 16 on.
    bytes: Bits<32>,
}

/// Bits of a [`Kept`].
const KEPT_BITS: usize = <Kept as Synth>::BITS;

/// Memory of values; see the [module](self). Each of two requests has room for 2^(`VALUES` - 1) values and 2^(`LENGTHS`
/// - 1) lengths.
///
/// # Inputs
/// `clk`, `rst`; `clear`; `streams`; flow `judged` with `length`; `send` with `marks`, `merges`, `lead`; `begun`.
///
/// # Outputs
/// `ready`, `has_room`, `full`; stream `value` with `led_bytes`, `led_room`; `told`; `busy`.
#[derive(LogicBlock, BlockDefault)]
pub struct Replay<const LENGTHS: usize, const VALUES: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A request begins to be judged, perhaps anew: nothing is kept of it.
    pub clear: Signal<In, Bit>,
    /// The request may be sent before all of it is judged; messages whose length must be told are not among it.
    pub streams: Signal<In, Bit>,
    /// A value may be judged: without `streams` always.
    pub ready: Signal<Out, Bit>,
    /// A value was judged.
    pub judged: Flow<In, Value>,
    /// With `judged`, if a message ends: its bytes.
    pub length: Signal<In, Bits<32>>,
    /// There is room for more values.
    pub has_room: Signal<Out, Bit>,
    /// There is no room for the request.
    pub full: Signal<Out, Bit>,
    /// The request is to be replayed.
    pub send: Signal<In, Bit>,
    /// With `send`: beginnings of chunks are told.
    pub marks: Signal<In, Bit>,
    /// With `marks`: binary logarithm of the number of chunks that become one.
    pub merges: Signal<In, Bits<4>>,
    /// With `send`: a group of fixed width is sent before each value of the lane behind it.
    pub lead: Signal<In, Lead>,
    /// Bytes of the group that is sent with a value that says so; 0 to 60, held while values are replayed.
    pub led_bytes: Signal<Out, Bits<6>>,
    /// Bytes of such a value that fit a token behind the group and the value's length.
    pub led_room: Signal<Out, Bits<6>>,
    /// Values that are replayed.
    pub value: Stream<Out, Value>,
    /// The first token of a message leaves.
    pub begun: Signal<In, Bit>,
    /// Bytes of the message whose first token leaves next, if it is one of a WRITE.
    pub told: Signal<Out, Bits<32>>,
    /// Values are still to be replayed.
    pub busy: Signal<Out, Bit>,

    #[init(Ram::new(RamStyle::Ultra))]
    values: Ram<KEPT_BITS, 1, VALUES>,
    lengths: Ram<32, 1, LENGTHS>,
    #[init(Constant::new((1_u64 << (VALUES - 1)).into()))]
    half: Constant<Bits<VALUES>>,
    #[init(Constant::new((1_u64 << (LENGTHS - 1)).into()))]
    lengths_half: Constant<Bits<LENGTHS>>,
    /// Values are kept in the upper half.
    upper: DFF<Bit>,
    /// Values are replayed from the upper half.
    from_upper: DFF<Bit>,
    /// The request that is judged is replayed.
    is_sent: DFF<Bit>,

    // The value that is kept.
    taken: DFF<Bit>,
    held: DFF<Value>,
    held_length: DFF<Bits<32>>,
    kept_new: Signal<Local, Kept>,
    kept_in: Flatten<Kept, KEPT_BITS>,
    count: DFF<Bits<VALUES>>,
    /// Values of the request that is judged which have not been replayed.
    waiting: Signal<Local, Bits<VALUES>>,
    #[init(Constant::new(((1_u64 << (VALUES - 1)) - ON_WAY).into()))]
    most: Constant<Bits<VALUES>>,
    room: DFF<Bit>,
    fits: Signal<Local, Bit>,
    over: DFF<Bit>,

    // Messages.
    is_write: DFF<Bit>,
    dest: DFF<Bits<DEST_INDEX>>,
    /// The destination has an open message.
    open: DFF<Bit>,
    /// Number of that message.
    mine: DFF<Bits<LENGTHS>>,
    /// Number of the next message that begins.
    number: DFF<Bits<LENGTHS>>,
    opens: Ram<1, 1, DEST_INDEX>,
    numbers: Ram<LENGTHS, 1, DEST_INDEX>,

    // The value that is replayed.
    marking: DFF<Bit>,
    merging: DFF<Bits<4>>,
    leading: DFF<Lead>,
    /// The group leaves room for a length in its token.
    lead_is_short: DFF<Bit>,
    /// What is left of the token then; kept, because it is needed early in the giver's cycle.
    room_of_lead: DFF<Bits<6>>,
    /// The group before the value has been sent.
    led: DFF<Bit>,
    /// The group stands before the value.
    precedes: Signal<Local, Bit>,
    /// The group is sent with the value.
    leads_value: Signal<Local, Bit>,
    /// The group before the value is sent.
    stays: Signal<Local, Bit>,
    leaves: Signal<Local, Bit>,
    from: DFF<Bits<VALUES>>,
    /// Number of values that can be replayed.
    end: DFF<Bits<VALUES>>,
    /// Some of them are left.
    more: Signal<Local, Bit>,
    fetches: Signal<Local, Bit>,
    came: DFF<Bit>,
    kept_out: Restore<Kept, KEPT_BITS>,
    value_new: Signal<Local, Value>,
    values_out: StreamSkid<Value>,
    chunk: DFF<Bits<CHUNK_NUMBER>>,
    #[init(Constant::new(0xff.into()))]
    all: Constant<Bits<CHUNK_NUMBER>>,
    /// The chunk is not the first one of those that become one.
    is_within: Signal<Local, Bit>,
    /// Number of the message whose first token leaves next.
    next: DFF<Bits<LENGTHS>>,
    /// The lengths of messages are not told.
    untold: DFF<Bit>,
    unused: Signal<Local, Bit>,
}

impl<const LENGTHS: usize, const VALUES: usize> Replay<LENGTHS, VALUES> {
    /// A value is kept in the cycle after it was judged.
    #[hdl_gen]
    fn keep_value(&mut self) {
        self.taken.d.next = self.judged.valid.val()
            && (self.judged.task.val() != TABLE)
            && !self.judged.fails.val();
        self.held.d.next = self.judged.val();
        self.held_length.d.next = self.length.val();
        self.held.q.share(&mut self.kept_new);
        if self.held.q.val().is_bits {
            self.kept_new.next.bytes = (bit_cast::<32, 16>(self.held.q.val().bits) << BITS_SHIFT)
                | bit_cast::<32, BIT_COUNT>(self.held.q.val().bytes.get_bits::<BIT_COUNT>(0));
        }
        self.unused.next = self.held.q.val().weight.any()
            || self.held.q.val().give
            || self.held.q.val().fails
            || self.held.q.val().alone
            || self.held.q.val().some
            || self.held.q.val().short
            || self.held.q.val().fits
            || self.held.q.val().leads;
        self.kept_in.record.next = self.kept_new.val();
        self.waiting.next = self.count.q.val();
        if self.is_sent.q.val() {
            self.waiting.next = self.count.q.val() - self.from.q.val();
        }
        self.room.d.next = self.waiting.val() < self.most.val();
        self.has_room.next = self.room.q.val();
        self.ready.next = !self.streams.val() || self.room.q.val();
        self.fits.next = self.waiting.val() != self.half.val();
        self.values.write_lanes.next =
            bit_cast::<1, 1>((self.taken.q.val() && self.fits.val()).into());
        // A request that is replayed as it is judged goes round in its half.
        self.values.write_address.next = self.count.q.val() & !self.half.val();
        if self.upper.q.val() {
            self.values.write_address.next = self.count.q.val() | self.half.val();
        }
        self.values.write_data.next = self.kept_in.bits.val();
        if self.taken.q.val() && self.fits.val() {
            self.count.d.next = self.count.q.val() + 1;
        } else if self.taken.q.val() {
            self.over.d.next = true;
        }
    }

    /// Keeps the lengths of messages. The state of a destination is read with its head, and stored with the next
    /// one's.
    #[hdl_gen]
    fn keep_length(&mut self) {
        self.opens.write_lanes.next = 0.into();
        self.opens.write_address.next = self.dest.q.val();
        self.opens.write_data.next = bit_cast::<1, 1>(self.open.q.val().into());
        self.opens.read_enable.next = true;
        self.opens.read_address.next = self.judged.set.val().get_bits::<DEST_INDEX>(0);
        self.numbers.write_lanes.next = 0.into();
        self.numbers.write_address.next = self.dest.q.val();
        self.numbers.write_data.next = self.mine.q.val();
        self.numbers.read_enable.next = true;
        self.numbers.read_address.next = self.judged.set.val().get_bits::<DEST_INDEX>(0);
        self.lengths.write_lanes.next = 0.into();
        self.lengths.write_address.next = self.mine.q.val();
        if self.upper.q.val() {
            self.lengths.write_address.next = self.mine.q.val() | self.lengths_half.val();
        }
        self.lengths.write_data.next = self.held_length.q.val();
        if self.taken.q.val() && (self.held.q.val().task == HEAD) {
            self.opens.write_lanes.next = 1.into();
            self.numbers.write_lanes.next = 1.into();
            self.dest.d.next = self.held.q.val().set.get_bits::<DEST_INDEX>(0);
            self.is_write.d.next = self.held.q.val().first.get_bit(0);
            self.open.d.next =
                self.held.q.val().first.get_bit(GOES_ON) && self.opens.read_data.val().any();
            self.mine.d.next = self.numbers.read_data.val();
        } else if self.taken.q.val() && self.is_write.q.val() {
            if (self.held.q.val().task == VALUE) && !self.open.q.val() {
                if self.number.q.val() == self.lengths_half.val() {
                    self.over.d.next = !self.streams.val();
                } else {
                    self.open.d.next = true;
                    self.mine.d.next = self.number.q.val();
                    self.number.d.next = self.number.q.val() + 1;
                }
            } else if self.held.q.val().task == MESSAGE {
                self.open.d.next = false;
                self.lengths.write_lanes.next = 1.into();
            }
        }
        self.full.next = self.over.q.val();
    }

    /// A value is read, and waits to be taken.
    #[hdl_gen]
    fn read_value(&mut self) {
        self.kept_out.bits.next = self.values.read_data.val();
        self.precedes.next = self.leading.q.val().exists
            && (self.kept_out.record.val().task == VALUE)
            && (bit_cast::<5, 4>(self.kept_out.record.val().first)
                == bit_cast::<5, 4>(self.leading.q.val().lane) + 1);
        self.leads_value.next = self.precedes.val()
            && (self.kept_out.record.val().has_length
                || (self.kept_out.record.val().is_bits && self.kept_out.record.val().unit_end))
            && self.lead_is_short.q.val();
        self.stays.next = self.precedes.val() && !self.leads_value.val() && !self.led.q.val();
        self.leaves.next =
            self.came.q.val() && self.values_out.input.ready.val() && !self.stays.val();
        if self.came.q.val() && self.values_out.input.ready.val() {
            self.led.d.next = self.stays.val();
        }
        if self.is_sent.q.val() {
            self.end.d.next = self.count.q.val();
        }
        self.more.next = self.from.q.val() != self.end.q.val();
        self.fetches.next = self.more.val() && (!self.came.q.val() || self.leaves.val());
        self.values.read_enable.next = self.fetches.val();
        self.values.read_address.next = self.from.q.val() & !self.half.val();
        if self.from_upper.q.val() {
            self.values.read_address.next = self.from.q.val() | self.half.val();
        }
        if self.fetches.val() {
            self.from.d.next = self.from.q.val() + 1;
        }
        self.came.d.next = self.fetches.val() || (self.came.q.val() && !self.leaves.val());
    }

    /// Gives the value that was read, or the group of fixed width before it.
    #[hdl_gen]
    fn give_value(&mut self) {
        self.kept_out.record.share(&mut self.value_new);
        self.value_new.next.bits = 0.into();
        if self.kept_out.record.val().is_bits {
            self.value_new.next.bits = self.kept_out.record.val().bytes.get_bits::<16>(16);
            self.value_new.next.bytes = bit_cast::<32, BIT_COUNT>(
                self.kept_out.record.val().bytes.get_bits::<BIT_COUNT>(0),
            );
        }
        self.value_new.next.weight = 0.into();
        self.value_new.next.give = true;
        self.value_new.next.fails = false;
        self.value_new.next.alone = false;
        self.value_new.next.leads = self.leads_value.val();
        self.value_new.next.some = self.kept_out.record.val().bytes.any();
        self.value_new.next.short = self.kept_out.record.val().bytes <= BEAT;
        self.value_new.next.fits = self.kept_out.record.val().bytes <= MOST_LED;
        if self.leads_value.val() {
            self.value_new.next.fits =
                self.kept_out.record.val().bytes <= bit_cast::<32, 6>(self.room_of_lead.q.val());
        }
        self.is_within.next = (self.chunk.q.val() & !(self.all.val() << self.merging.q.val()))
            .any()
            || !self.marking.q.val();
        if (self.kept_out.record.val().task == HEAD)
            && self.kept_out.record.val().first.get_bit(CHUNK)
        {
            if self.is_within.val() {
                self.value_new.next.first =
                    self.kept_out.record.val().first.replace_bit(CHUNK, false);
            }
            if self.came.q.val() && self.values_out.input.ready.val() {
                self.chunk.d.next = self.chunk.q.val() + 1;
            }
        } else if self.kept_out.record.val().task == VERDICT {
            // Where rows were judged, a destination ends with its verdict.
            self.value_new.next.task = DESTINATION.into();
            self.value_new.next.unit_end = self.kept_out.record.val().first.get_bit(0);
        } else if self.stays.val() {
            self.value_new.next.first = 0.into();
            self.value_new.next.lane = self.leading.q.val().lane;
            self.value_new.next.unit_end = true;
            self.value_new.next.has_length = false;
            self.value_new.next.is_bits = false;
            self.value_new.next.is_fixed = true;
            self.value_new.next.pointer = 0.into();
            self.value_new.next.bytes = bit_cast::<32, 7>(self.leading.q.val().bytes);
            self.value_new.next.some = true;
            self.value_new.next.short = true;
        }
        self.values_out.input.valid.next = self.came.q.val();
        self.values_out.input.data.next = self.value_new.val();
        self.values_out.output.join(&mut self.value);
        self.led_room.next = self.room_of_lead.q.val();
        self.led_bytes.next = self.leading.q.val().bytes.get_bits::<6>(0);
        // Of a request that is replayed as it is judged, a value is left from when it is counted on.
        self.busy.next = self.more.val()
            || (self.is_sent.q.val() && (self.from.q.val() != self.count.q.val()))
            || self.came.q.val()
            || self.values_out.output.valid.val();
    }

    /// The next message's length is read in the next cycle.
    #[hdl_gen]
    fn read_length(&mut self) {
        if self.begun.val() {
            self.next.d.next = self.next.q.val() + 1;
        }
        self.lengths.read_enable.next = true;
        self.lengths.read_address.next = self.next.d.val();
        if self.from_upper.q.val() {
            self.lengths.read_address.next = self.next.d.val() | self.lengths_half.val();
        }
        self.told.next = self.lengths.read_data.val();
        if self.untold.q.val() {
            self.told.next = 0.into();
        }
    }
}

impl<const LENGTHS: usize, const VALUES: usize> Logic for Replay<LENGTHS, VALUES> {
    #[hdl_gen]
    fn update(&mut self) {
        self.keep_value();
        self.keep_length();
        self.read_value();
        self.give_value();
        self.read_length();

        if self.send.val() {
            self.from_upper.d.next = self.upper.q.val();
            self.is_sent.d.next = true;
            self.end.d.next = self.count.q.val();
            self.from.d.next = 0.into();
            self.untold.d.next = self.streams.val();
            self.chunk.d.next = 0.into();
            self.next.d.next = 0.into();
            self.marking.d.next = self.marks.val();
            self.merging.d.next = self.merges.val();
            self.leading.d.next = self.lead.val();
            self.lead_is_short.d.next = self.lead.val().bytes <= MOST_LED;
            self.room_of_lead.d.next = bits::<6>(MOST_LED) - self.lead.val().bytes.get_bits::<6>(0);
            self.led.d.next = false;
        }
        if self.clear.val() || self.rst.val() {
            if self.is_sent.q.val() {
                self.upper.d.next = !self.upper.q.val();
            }
            self.is_sent.d.next = false;
            self.taken.d.next = false;
            self.count.d.next = 0.into();
            self.number.d.next = 0.into();
            self.open.d.next = false;
            self.over.d.next = false;
        }
        if self.rst.val() {
            self.upper.d.next = false;
            self.from_upper.d.next = false;
            self.from.d.next = 0.into();
            self.end.d.next = 0.into();
            self.came.d.next = false;
        }
    }
}
