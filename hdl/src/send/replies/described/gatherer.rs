//! Makes the rows of packets in dense columns from what was read of each column.
//!
//! ```text
//! strip, beat --> strides --> banks (4 packets) --> rotation back --> 16 beats --> out
//! ```
//!
//! Contract: packets leave in the order of their strips, when all of their bytes have come, one beat of 64 B a cycle;
//! the first beat leaves 8 cycles after the last one has come. A packet's last beat has an error if any of its bytes
//! could not be read. See [`strides`](super::strides) for the rate. May stall at any time.

use super::ReplyBeat;
use super::strides::{SLOT, Shape, Spread, Strides, Strip};
use crate::primitive::StreamFifo;
use crate::shell::host_read::HostReadBeat;
use crate::transpose::WordBanks;
use drdma_emit::prelude::*;

/// Packets that the memory holds, and bits of their count.
const SLOTS: u64 = 1 << SLOT;
const COUNT: usize = SLOT + 1;
/// Bits of the number of a beat in its packet.
const BEAT: usize = 6;
/// Beats that are on their way from the memory, at most.
const COMING: u64 = 2;
/// Bits that the beats which begin in 32 bytes of a row lie in, by 8 B each.
const WIDE: usize = 704;

/// Gathers packets in dense columns. See the [module](self).
///
/// # Inputs
/// `clk`, `rst`; streams `shape`, `strip`, `beat`.
///
/// # Outputs
/// Stream `out`; `holds`: a packet is in this block, until its last beat has left.
#[derive(LogicBlock, BlockDefault)]
pub struct Gatherer {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// The shape of each packet's rows.
    pub shape: Stream<In, Shape>,
    /// The columns of each packet.
    pub strip: Stream<In, Strip>,
    /// Bytes that were read of the columns, in their order.
    pub beat: Stream<In, HostReadBeat>,
    /// Bytes of packets.
    pub out: Stream<Out, ReplyBeat>,
    /// A packet is in this block, until its last beat has left.
    pub holds: Signal<Out, Bit>,

    strides: Strides,
    banks: WordBanks,

    // Room in the memory.
    slot: DFF<Bits<SLOT>>,
    used: DFF<Bits<COUNT>>,
    packets: StreamFifo<Spread, SLOT, COUNT>,
    /// Packets that are whole in the memory.
    done: DFF<Bits<COUNT>>,
    /// Packets that were begun and have not left.
    open: DFF<Bits<5>>,
    leaves: Signal<Local, Bit>,

    // Reading.
    read_slot: DFF<Bits<SLOT>>,
    at: DFF<Bits<BEAT>>,
    last_byte: Signal<Local, Bits<13>>,
    unused_byte: Signal<Local, Bits<13>>,
    reads: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    finishes: Signal<Local, Bit>,
    line: Signal<Local, Bits<7>>,
    /// By how many units of 8 B the beat is rotated back in its row.
    turn: Signal<Local, Bits<4>>,
    valid: DFF<Bit>,
    last: DFF<Bit>,
    error: DFF<Bit>,
    outside: DFF<Bit>,
    turns: DFF<Bits<4>>,
    twofold: Signal<Local, Bits<2048>>,
    wide: Signal<Local, Bits<WIDE>>,
    leaving: StreamFifo<ReplyBeat, 4, 5>,
    unused: Signal<Local, Bits<5>>,
}

impl Logic for Gatherer {
    #[hdl_gen]
    fn update(&mut self) {
        self.shape.join(&mut self.strides.shape);
        self.strip.join(&mut self.strides.strip);
        self.beat.join(&mut self.strides.beat);
        self.strides.room.next = self.used.q.val() != SLOTS;
        self.strides.slot.next = self.slot.q.val();
        self.banks.valid.next = self.strides.valid.val();
        self.banks.over.next = self.strides.over.val();
        self.banks.bytes.next = self.strides.bytes.val();
        self.banks.masks.next = self.strides.masks.val();
        self.banks.places.next = self.strides.places.val();
        self.strides.flows.next = self.banks.flows.val();

        // Reads the oldest packet, two beats from each row.
        self.last_byte.next = self.packets.output.data.val().bytes - 1;
        self.unused_byte.next = self.last_byte.val();
        self.ends.next = self.at.q.val() == self.last_byte.val().get_bits::<BEAT>(6);
        self.reads.next = self.packets.output.valid.val()
            && self.done.q.val().any()
            && (self.leaving.free.val() > COMING);
        self.finishes.next = self.reads.val() && self.ends.val();
        self.packets.output.ready.next = self.finishes.val();
        // Packets in the memory: no more are begun than there is room for.
        self.packets.input.valid.next = self.strides.packet.valid.val();
        self.packets.input.data.next = self.strides.packet.val();
        if self.strides.packet.valid.val() {
            self.slot.d.next = self.slot.q.val() + 1;
        }
        if self.strides.begun.val() && !self.finishes.val() {
            self.used.d.next = self.used.q.val() + 1;
        }
        if self.finishes.val() && !self.strides.begun.val() {
            self.used.d.next = self.used.q.val() - 1;
        }
        if self.banks.done.val() && !self.finishes.val() {
            self.done.d.next = self.done.q.val() + 1;
        }
        if self.finishes.val() && !self.banks.done.val() {
            self.done.d.next = self.done.q.val() - 1;
        }

        if self.reads.val() {
            self.at.d.next = self.at.q.val() + 1;
            if self.ends.val() {
                self.at.d.next = 0.into();
                self.read_slot.d.next = self.read_slot.q.val() + 1;
            }
        }
        self.line.next = bit_cast::<7, 5>(self.at.q.val().get_bits::<5>(1))
            | (bit_cast::<7, SLOT>(self.read_slot.q.val()) << 5);
        self.banks.read_enable.next = self.reads.val();
        self.banks.read_row.next = self.line.val();
        self.turn.next = 0.into();
        if self.at.q.val().get_bit(0) {
            self.turn.next = 8.into();
        }
        self.turns.d.next = self.turn.val();
        if self.packets.output.data.val().turned {
            self.turns.d.next = self.turn.val() + self.at.q.val().get_bits::<4>(1);
        }
        self.valid.d.next = self.reads.val();
        self.last.d.next = self.ends.val();
        self.error.d.next = self.ends.val() && self.packets.output.data.val().error;
        self.outside.d.next = self.packets.output.data.val().outside;

        // Rotates the row back.
        self.twofold.next = bit_cast::<2048, 1024>(self.banks.read_data.val())
            | (bit_cast::<2048, 1024>(self.banks.read_data.val()) << 1024);
        self.wide.next =
            self.twofold.val().get_bits::<WIDE>(self.turns.q.val().get_bits::<2>(2).index() * 256);
        self.leaving.input.valid.next = self.valid.q.val();
        self.leaving.input.data.next.data =
            self.wide.val().get_bits::<512>(self.turns.q.val().get_bits::<2>(0).index() * 64);
        self.leaving.input.data.next.last = self.last.q.val();
        self.leaving.input.data.next.error = self.error.q.val();
        self.leaving.input.data.next.outside = self.outside.q.val();
        self.leaving.output.join(&mut self.out);

        self.leaves.next = self.leaving.output.valid.val()
            && self.out.ready.val()
            && self.leaving.output.data.val().last;
        if self.strides.begun.val() && !self.leaves.val() {
            self.open.d.next = self.open.q.val() + 1;
        }
        if self.leaves.val() && !self.strides.begun.val() {
            self.open.d.next = self.open.q.val() - 1;
        }
        self.holds.next = self.open.q.val().any();
        self.unused.next = self.leaving.count.val()
            | bit_cast::<5, COUNT>(self.packets.count.val())
            | bit_cast::<5, COUNT>(self.packets.free.val())
            | bit_cast::<5, 1>(self.packets.input.ready.val().into())
            | bit_cast::<5, 1>(self.leaving.input.ready.val().into());

        if self.rst.val() {
            self.slot.d.next = 0.into();
            self.used.d.next = 0.into();
            self.done.d.next = 0.into();
            self.open.d.next = 0.into();
            self.read_slot.d.next = 0.into();
            self.at.d.next = 0.into();
            self.valid.d.next = false;
        }
    }
}
