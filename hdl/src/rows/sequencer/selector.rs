//! Makes bitmaps from ids: which rows have the wanted id.

use super::record::Purpose;
use crate::primitive::{Pack, Skid};
use drdma_emit::prelude::*;

/// Turns the ids of a partitioned region into the bitmap of the rows that have the wanted id, as if a bitmap had been
/// read. All other answers pass.
///
/// The ids of a stretch begin at a full beat, with a row whose number is a multiple of 64, and so does the bitmap. A
/// beat of the bitmap is made from 8 beats of one-byte ids, or from 16 of two-byte ids; the last one of a stretch may
/// be made from fewer. It has an error if one of these has. Its bits beyond the stretch are undefined.
///
/// Takes a beat a cycle. What passes follows after 3 cycles, a beat of a bitmap 3 cycles after its last ids. May stall
/// at any time; both sides are registered.
///
/// # Inputs
/// `in` stream {`data`, `error`, `purpose` (`ids`, `partition`; `last` with the last beat of a
/// stretch)}, `out_ready`.
///
/// # Outputs
/// `in_ready`, `out` stream {`data`, `error`}.
#[derive(LogicBlock, Default)]
pub struct Selector {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A beat of 64 bytes that were read is offered.
    pub in_valid: Signal<In, Bit>,
    /// The beat is taken in this cycle.
    pub in_ready: Signal<Out, Bit>,
    /// Bytes that were read.
    pub in_data: Signal<In, Bits<512>>,
    /// The read failed.
    pub in_error: Signal<In, Bit>,
    /// Purpose of the bytes.
    pub in_purpose: Signal<In, Purpose>,
    /// A beat is offered.
    pub out_valid: Signal<Out, Bit>,
    /// The beat is taken in this cycle.
    pub out_ready: Signal<In, Bit>,
    /// 512 bits of a bitmap, or the bytes that were read.
    pub out_data: Signal<Out, Bits<512>>,
    /// A read of the beat failed.
    pub out_error: Signal<Out, Bit>,

    // Stage 1: which bytes equal those of the id.
    taken: DFF<Bit>,
    data: DFF<Bits<512>>,
    error: DFF<Bit>,
    ids: DFF<Bits<2>>,
    ends: DFF<Bit>,
    equal: DFF<Bits<64>>,
    odd: Signal<Local, Bits<8>>,
    // Stage 2: the beat that is being made, in parts of 32 rows, and how many parts it has.
    parts: [DFF<Bits<32>>; 16],
    place: DFF<Bits<4>>,
    failed: DFF<Bit>,
    begun: DFF<Bit>,
    complete: DFF<Bit>,
    both: Signal<Local, Bits<32>>,
    full: Signal<Local, Bit>,
    moves: Signal<Local, Bit>,
    joined: Pack<16, 32, 512>,
    made: Skid<513>,
    /// Takes the fields of the purpose that this block does not use.
    unused: Signal<Local, Bits<3>>,
}

impl Logic for Selector {
    #[hdl_gen]
    fn update(&mut self) {
        self.unused.next = bit_cast::<3, 1>(self.in_purpose.val().column.into())
            | (bit_cast::<3, 1>(self.in_purpose.val().fetch.into()) << 1)
            | (bit_cast::<3, 1>(self.in_purpose.val().kept.into()) << 2);

        // A byte belongs to a one-byte id, or is the lower or the upper one of a two-byte id.
        self.moves.next = !self.complete.q.val() || self.made.in_ready.val();
        self.in_ready.next = !self.taken.q.val() || self.moves.val();
        self.odd.next = self.in_purpose.val().partition.get_bits::<8>(0);
        if self.in_purpose.val().ids.get_bit(1) {
            self.odd.next = self.in_purpose.val().partition.get_bits::<8>(8);
        }
        if self.in_ready.val() {
            self.taken.d.next = self.in_valid.val();
            self.data.d.next = self.in_data.val();
            self.error.d.next = self.in_error.val();
            self.ids.d.next = self.in_purpose.val().ids;
            self.ends.d.next = self.in_purpose.val().last;
            for k in 0..32 {
                self.equal.d.next = self.equal.d.val().replace_bit(
                    k * 2,
                    self.in_data.val().get_bits::<8>(k * 16)
                        == self.in_purpose.val().partition.get_bits::<8>(0),
                );
                self.equal.d.next = self.equal.d.val().replace_bit(
                    k * 2 + 1,
                    self.in_data.val().get_bits::<8>(k * 16 + 8) == self.odd.val(),
                );
            }
        }

        // Rows of a beat: 64 with one-byte ids, 32 with two-byte ids.
        self.both.next = 0.into();
        for k in 0..32 {
            self.both.next = self.both.val().replace_bit(
                k,
                self.equal.q.val().get_bit(k * 2) && self.equal.q.val().get_bit(k * 2 + 1),
            );
        }
        self.full.next = self.ends.q.val()
            || (self.place.q.val() == 15)
            || (self.ids.q.val().get_bit(0) && (self.place.q.val() == 14));
        if self.moves.val() {
            self.complete.d.next = false;
            if self.taken.q.val() {
                self.failed.d.next =
                    self.error.q.val() || (self.begun.q.val() && self.failed.q.val());
                self.begun.d.next = true;
                self.place.d.next = self.place.q.val() + 1;
                if self.ids.q.val().get_bit(0) {
                    self.place.d.next = self.place.q.val() + 2;
                }
                if (self.ids.q.val() == 0) || self.full.val() {
                    self.complete.d.next = true;
                    self.begun.d.next = false;
                    self.place.d.next = 0.into();
                }
                for k in 0..8 {
                    if self.ids.q.val() == 0 {
                        self.parts[k * 2].d.next = self.data.q.val().get_bits::<32>(k * 64);
                        self.parts[k * 2 + 1].d.next =
                            self.data.q.val().get_bits::<32>(k * 64 + 32);
                    } else if self.place.q.val().get_bits::<3>(1) == k.to_bits() {
                        if self.ids.q.val().get_bit(0) {
                            self.parts[k * 2].d.next = self.equal.q.val().get_bits::<32>(0);
                            self.parts[k * 2 + 1].d.next = self.equal.q.val().get_bits::<32>(32);
                        } else if self.place.q.val().get_bit(0) {
                            self.parts[k * 2 + 1].d.next = self.both.val();
                        } else {
                            self.parts[k * 2].d.next = self.both.val();
                        }
                    }
                }
            }
        }
        for k in 0..16 {
            self.joined.parts[k].next = self.parts[k].q.val();
        }
        self.made.in_valid.next = self.complete.q.val();
        self.made.in_data.next = (bit_cast::<513, 1>(self.failed.q.val().into()) << 512)
            | bit_cast::<513, 512>(self.joined.whole.val());
        self.made.out_ready.next = self.out_ready.val();
        self.out_valid.next = self.made.out_valid.val();
        self.out_data.next = self.made.out_data.val().get_bits::<512>(0);
        self.out_error.next = self.made.out_data.val().get_bit(512);
        if self.rst.val() {
            self.taken.d.next = false;
            self.complete.d.next = false;
            self.begun.d.next = false;
            self.place.d.next = 0.into();
        }
    }
}
