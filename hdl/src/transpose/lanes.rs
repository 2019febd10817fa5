//! Lets pieces that would meet in a bank take turns.

use super::{BYTES, LANES, PIECES, PLACE};
use crate::primitive::{Pack, PieceClashes, PromptFifo};
use drdma_emit::prelude::*;

/// Bits of a piece that waits: bytes 32, which of them count 4, place, whether it is of a job's last beat.
const PIECE: usize = 32 + 4 + PLACE + 1;
/// Bits of a count of jobs whose last piece has left a lane.
const COUNT: usize = 4;

/// Keeps up to 8 pieces in each of 16 lanes, and lets the oldest one of a lane go if it clashes with that of no lane
/// before it. In every other cycle the lanes behind it count instead: with one order alone, the same lanes would always
/// wait.
///
/// `flows`, from registers: every lane has room, and a beat is accepted at the end of this cycle, if there is one. A
/// beat has a piece for every lane; one of which no byte counts takes its place nevertheless, so that every lane knows
/// where a job ends. What goes is at the outputs a cycle later. `ended` comes with the last piece of a job.
#[derive(LogicBlock, BlockDefault)]
pub struct Lanes {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A beat of pieces is offered.
    pub valid: Signal<In, Bit>,
    /// The beat is the last one of a job.
    pub over: Signal<In, Bit>,
    /// Bytes of the beat: 16 x 4, each by the number of its bank modulo 4.
    pub bytes: Signal<In, Bits<512>>,
    /// Bytes of the beat that are written, a bit each.
    pub masks: Signal<In, Bits<64>>,
    /// Places in the memory at which the pieces begin, 14 bits each.
    pub places: Signal<In, Bits<224>>,
    /// A beat is accepted in this cycle.
    pub flows: Signal<Out, Bit>,

    /// Bytes that are written in this cycle, a bit each.
    pub go: Signal<Out, Bits<64>>,
    /// Values of the bytes that are written.
    pub go_bytes: Signal<Out, Bits<512>>,
    /// Banks of the bytes, among those of their lane, 5 bits each.
    pub go_words: Signal<Out, Bits<320>>,
    /// Rows of the bytes, 7 bits each.
    pub go_rows: Signal<Out, Bits<448>>,
    /// A job ends with these bytes.
    pub ended: Signal<Out, Bit>,

    waiting: [PromptFifo<PIECE, 3, 4>; PIECES],
    room: Signal<Local, Bits<16>>,
    rooms: Pack<PIECES, 1, 16>,
    heads: Pack<PIECES, 1, 16>,
    head_places: Pack<PIECES, PLACE, 224>,
    clashes: PieceClashes,
    /// Lanes behind a lane count in this cycle, not those before it.
    reverse: DFF<Bit>,
    clash: [Signal<Local, Bits<16>>; PIECES],
    goes: [Signal<Local, Bit>; PIECES],
    place: [Signal<Local, Bits<PLACE>>; PIECES],
    inverse: [Signal<Local, Bits<PLACE>>; BYTES],
    address: [Signal<Local, Bits<PLACE>>; BYTES],
    unused_address: [Signal<Local, Bits<PLACE>>; BYTES],
    go_in: Pack<BYTES, 1, 64>,
    bytes_in: Pack<PIECES, 32, 512>,
    words_in: Pack<BYTES, 5, 320>,
    rows_in: Pack<BYTES, 7, 448>,
    go_held: DFF<Bits<64>>,
    bytes_held: DFF<Bits<512>>,
    words_held: DFF<Bits<320>>,
    rows_held: DFF<Bits<448>>,
    ends: [DFF<Bits<COUNT>>; PIECES],
    all_ended: [Signal<Local, Bit>; PIECES],
    ended_in: Pack<PIECES, 1, 16>,
}

impl Logic for Lanes {
    #[hdl_gen]
    fn update(&mut self) {
        // A beat comes.
        for s in 0..PIECES {
            self.rooms.parts[s].next = self.waiting[s].in_ready.val().into();
        }
        self.room.next = self.rooms.whole.val();
        self.flows.next = self.room.val().all();
        for s in 0..PIECES {
            self.waiting[s].in_valid.next = self.valid.val() && self.room.val().all();
            self.waiting[s].in_data.next =
                bit_cast::<PIECE, 32>(self.bytes.val().get_bits::<32>(s * 32))
                    | (bit_cast::<PIECE, 4>(self.masks.val().get_bits::<4>(s * 4)) << 32)
                    | (bit_cast::<PIECE, PLACE>(self.places.val().get_bits::<PLACE>(s * PLACE))
                        << 36)
                    | (bit_cast::<PIECE, 1>(self.over.val().into()) << 50);
        }

        // The oldest pieces that do not clash go.
        for s in 0..PIECES {
            self.heads.parts[s].next = (self.waiting[s].out_valid.val()
                && self.waiting[s].out_data.val().get_bits::<4>(32).any())
            .into();
            self.head_places.parts[s].next = self.waiting[s].out_data.val().get_bits::<PLACE>(36);
        }
        self.clashes.used.next = self.heads.whole.val();
        self.clashes.places.next = self.head_places.whole.val();
        self.clashes.reverse.next = self.reverse.q.val();
        self.reverse.d.next = !self.reverse.q.val();
        for s in 0..PIECES {
            self.clash[s].next = self.clashes.clash.val().get_bits::<16>(s * 16);
            self.goes[s].next = self.waiting[s].out_valid.val() && !self.clash[s].val().any();
            self.waiting[s].out_ready.next = self.goes[s].val();
        }

        // Each byte goes to its bank. Lanes below the piece's first byte belong to the next word.
        for s in 0..PIECES {
            self.place[s].next = self.waiting[s].out_data.val().get_bits::<PLACE>(36);
            self.bytes_in.parts[s].next = self.waiting[s].out_data.val().get_bits::<32>(0);
            for l in 0..LANES {
                self.inverse[s * LANES + l].next = 3.into();
                self.inverse[s * LANES + l].next =
                    self.inverse[s * LANES + l].val() - bit_cast::<PLACE, 2>(l.to_bits());
                self.address[s * LANES + l].next =
                    self.place[s].val() + self.inverse[s * LANES + l].val();
                self.unused_address[s * LANES + l].next = self.address[s * LANES + l].val();
                self.words_in.parts[s * LANES + l].next =
                    self.address[s * LANES + l].val().get_bits::<5>(2);
                self.rows_in.parts[s * LANES + l].next =
                    self.address[s * LANES + l].val().get_bits::<7>(7);
                self.go_in.parts[s * LANES + l].next =
                    (self.goes[s].val() && self.waiting[s].out_data.val().get_bit(32 + l)).into();
            }
        }
        self.go_held.d.next = self.go_in.whole.val();
        self.bytes_held.d.next = self.bytes_in.whole.val();
        self.words_held.d.next = self.words_in.whole.val();
        self.rows_held.d.next = self.rows_in.whole.val();
        self.go.next = self.go_held.q.val();
        self.go_bytes.next = self.bytes_held.q.val();
        self.go_words.next = self.words_held.q.val();
        self.go_rows.next = self.rows_held.q.val();

        // A job is over when it is over in every lane.
        for s in 0..PIECES {
            self.all_ended[s].next = self.ends[s].q.val().any();
            self.ended_in.parts[s].next = self.all_ended[s].val().into();
        }
        self.ended.next = self.ended_in.whole.val().all();
        for s in 0..PIECES {
            if self.goes[s].val() && self.waiting[s].out_data.val().get_bit(50) {
                if !self.ended_in.whole.val().all() {
                    self.ends[s].d.next = self.ends[s].q.val() + 1;
                }
            } else if self.ended_in.whole.val().all() {
                self.ends[s].d.next = self.ends[s].q.val() - 1;
            }
        }

        if self.rst.val() {
            for s in 0..PIECES {
                self.ends[s].d.next = 0.into();
            }
            self.go_held.d.next = 0.into();
            self.reverse.d.next = false;
        }
    }
}
