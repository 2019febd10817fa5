//! Joins several regions into one lane set.

use crate::request::{BITMAPPED, POINTER_MAPPED};
use drdma_emit::prelude::*;

/// Finds destinations whose rows are what a shuffle of columns describes: row mask Element, every region strided with
/// one extent, all with the same count, or every region bitmapped with one column, all with the same bitmap; or a
/// scatter-gather list: every region contiguous. Element `i` of every region is then row `i` of one region whose lanes
/// are the regions', each with its own step. So the lanes are written again behind the first region's, and when all
/// fit, the first region's set and the destination are written anew: one set, row mask Period. It then takes a cycle a
/// row instead of a cycle an element.
///
/// An element of such a region comes at most every third cycle. `write` follows 3 cycles after it,
/// when the shaper still holds its lane; `joined` 1 cycle after the last region's element, before
/// the next destination is accepted.
///
/// # Inputs
/// `clk`, `rst`; `dest_accept`; `element_*` of the parser; `set`, the number of the element's set;
/// `element_mask`; `sets`, the destination's regions.
///
/// # Outputs
/// `write_*`, a lane, and with the last one the set; `joined`: all regions are one set.
#[derive(LogicBlock, Default)]
pub struct Joiner {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A destination begins.
    pub dest_accept: Signal<In, Bit>,
    /// The request's row mask is Element.
    pub element_mask: Signal<In, Bit>,
    /// Regions of the destination.
    pub sets: Signal<In, Bits<5>>,
    /// An element is given.
    pub element_valid: Signal<In, Bit>,
    /// Number of the element's lane in its set.
    pub element_lane: Signal<In, Bits<4>>,
    /// The element is the last one of its set.
    pub element_last: Signal<In, Bit>,
    /// Type of the element's region.
    pub element_kind: Signal<In, Bits<2>>,
    /// Rows of the element's region.
    pub element_count: Signal<In, Bits<32>>,
    /// Address of the element's region; of a bitmapped one, that of the bitmap.
    pub element_addr: Signal<In, Bits<64>>,
    /// Bytes of a value of the element's lane.
    pub element_len: Signal<In, Bits<32>>,
    /// Number of the element's set.
    pub set: Signal<In, Bits<11>>,

    /// The lane that the shaper holds is written into the joined set, too.
    pub write_valid: Signal<Out, Bit>,
    /// With `write_valid`: number of the joined set.
    pub write_set: Signal<Out, Bits<11>>,
    /// With `write_valid`: number of the lane in the joined set.
    pub write_lane: Signal<Out, Bits<4>>,
    /// With `write_valid`: the lane is the last one, and the set is written, too.
    pub write_last: Signal<Out, Bit>,
    /// Number of the joined set's lanes so far.
    pub write_lanes: Signal<Out, Bits<5>>,
    /// Bytes of a row in these lanes.
    pub write_row_bytes: Signal<Out, Bits<36>>,
    /// Lanes that start a beat, a bit each.
    pub write_beat_start: Signal<Out, Bits<16>>,
    /// The destination's regions are all joined in one set.
    pub joined: Signal<Out, Bit>,

    begins: DFF<Bit>,
    // Stage 1: the element.
    valid: DFF<Bit>,
    first: DFF<Bit>,
    fits: DFF<Bit>,
    count: DFF<Bits<32>>,
    kind: DFF<Bits<2>>,
    addr: DFF<Bits<64>>,
    len: DFF<Bits<32>>,
    number: DFF<Bits<11>>,
    // The joined set so far.
    going: DFF<Bit>,
    target: DFF<Bits<11>>,
    rows: DFF<Bits<32>>,
    kinds: DFF<Bits<2>>,
    bitmap: DFF<Bits<64>>,
    as_first: Signal<Local, Bit>,
    lanes: DFF<Bits<5>>,
    row_bytes: DFF<Bits<36>>,
    beat_start: DFF<Bits<16>>,
    fill: DFF<Bits<7>>,
    written: DFF<Bit>,
    writes: DFF<Bit>,
    completed: DFF<Bit>,
    completes: DFF<Bit>,
    is_long: Signal<Local, Bit>,
    cut_len: Signal<Local, Bits<7>>,
    filled: Signal<Local, Bits<8>>,
    more: Signal<Local, Bits<5>>,
}

impl Logic for Joiner {
    #[hdl_gen]
    fn update(&mut self) {
        self.valid.d.next = self.element_valid.val();
        if self.element_valid.val() {
            self.first.d.next = self.begins.q.val();
            self.fits.d.next = self.element_mask.val()
                && (self.element_kind.val() != POINTER_MAPPED)
                && self.element_last.val()
                && (self.element_lane.val() == 0);
            self.count.d.next = self.element_count.val();
            self.kind.d.next = self.element_kind.val();
            self.addr.d.next = self.element_addr.val();
            self.len.d.next = self.element_len.val();
            self.number.d.next = self.set.val();
            if self.element_last.val() {
                self.begins.d.next = false;
            }
        }
        if self.dest_accept.val() {
            self.begins.d.next = true;
        }

        // The joined set is cut into beats as any other; 65 stands for more than 64 bytes.
        self.is_long.next = self.len.q.val().get_bits::<25>(7).any()
            || (self.len.q.val().get_bit(6) && self.len.q.val().get_bits::<6>(0).any());
        self.cut_len.next = self.len.q.val().get_bits::<7>(0);
        if self.is_long.val() {
            self.cut_len.next = 65.into();
        }
        self.filled.next = bit_cast::<8, 7>(self.fill.q.val())
            + self.len.q.val().get_bits::<7>(0).get_bits::<8>(0);
        self.more.next = self.lanes.q.val() + 1;
        self.as_first.next = (self.count.q.val() == self.rows.q.val())
            && (self.kind.q.val() == self.kinds.q.val())
            && ((self.kind.q.val() != BITMAPPED) || (self.addr.q.val() == self.bitmap.q.val()));
        self.joined.next = false;
        self.written.d.next = false;
        self.writes.d.next = self.written.q.val();
        if self.valid.q.val() {
            if self.first.q.val() {
                self.going.d.next = self.fits.q.val();
                self.target.d.next = self.number.q.val();
                self.rows.d.next = self.count.q.val();
                self.kinds.d.next = self.kind.q.val();
                self.bitmap.d.next = self.addr.q.val();
                self.lanes.d.next = 1.into();
                self.row_bytes.d.next = bit_cast::<36, 32>(self.len.q.val());
                self.beat_start.d.next = 1.into();
                self.fill.d.next = self.cut_len.val();
            } else if self.going.q.val() && self.fits.q.val() && self.as_first.val() {
                self.lanes.d.next = self.more.val();
                self.row_bytes.d.next =
                    self.row_bytes.q.val() + bit_cast::<36, 32>(self.len.q.val());
                self.fill.d.next = self.cut_len.val();
                if self.is_long.val()
                    || self.filled.val().get_bit(7)
                    || (self.filled.val().get_bit(6) && self.filled.val().get_bits::<6>(0).any())
                {
                    self.beat_start.d.next = self
                        .beat_start
                        .q
                        .val()
                        .replace_bit(self.lanes.q.val().get_bits::<4>(0).index(), true);
                } else {
                    self.fill.d.next = self.filled.val().get_bits::<7>(0);
                }
                self.written.d.next = true;
                self.joined.next = self.more.val() == self.sets.val();
            } else {
                self.going.d.next = false;
            }
        }
        self.write_valid.next = self.writes.q.val();
        self.completed.d.next = self.joined.val();
        self.completes.d.next = self.completed.q.val();
        self.write_last.next = self.completes.q.val();
        self.write_set.next = self.target.q.val();
        self.write_lane.next = (self.lanes.q.val() - 1).get_bits::<4>(0);
        self.write_lanes.next = self.lanes.q.val();
        self.write_row_bytes.next = self.row_bytes.q.val();
        self.write_beat_start.next = self.beat_start.q.val();
        if self.rst.val() {
            self.begins.d.next = false;
            self.valid.d.next = false;
            self.going.d.next = false;
            self.written.d.next = false;
            self.writes.d.next = false;
            self.completed.d.next = false;
            self.completes.d.next = false;
        }
    }
}
