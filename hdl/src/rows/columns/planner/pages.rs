//! Finds where the next 4 KiB of host addresses begin.

use super::paces::Pace;
use drdma_emit::prelude::*;

/// Finds for *runs* the next 4 KiB boundary of host addresses behind a run's first row, which a box must not cross.
///
/// The search continues from the boundary behind the run before if that run was of the same part, and starts from the
/// part's start if not. It advances by 16 KiB at a time while that does not go too far, then by 4 KiB; each step takes
/// a cycle.
///
/// # Inputs
/// `valid`, and then `any` (there are rows), `last` (the chunk's), `index` (of the part), `row` and `pace` of the run
/// that is current; `enable`: the run moves on, or a step is made. `load`: the run of `next_index` and `next_pace`
/// is current from the next cycle on.
///
/// # Outputs
/// `behind`: `page_row` and `page_phase` are not valid yet. It does not depend on `enable` and `load`.
#[derive(LogicBlock, Default)]
pub struct Pages {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Another run comes in the next cycle.
    pub load: Signal<In, Bit>,
    /// Part of the next run.
    pub next_index: Signal<In, Bits<5>>,
    /// Pace of the next run's part.
    pub next_pace: Signal<In, Pace>,
    /// A run, or the end of a chunk, is current.
    pub valid: Signal<In, Bit>,
    /// A run is current, not only an end.
    pub any: Signal<In, Bit>,
    /// The chunk ends with the run.
    pub last: Signal<In, Bit>,
    /// Part of the run.
    pub index: Signal<In, Bits<5>>,
    /// First row of the run.
    pub row: Signal<In, Bits<20>>,
    /// Pace of the run's part.
    pub pace: Signal<In, Pace>,
    /// The run moves on if not `behind`; otherwise a step is made.
    pub enable: Signal<In, Bit>,
    /// The boundary found so far lies before the row.
    pub behind: Signal<Out, Bit>,
    /// Next 4 KiB boundary: its row.
    pub page_row: Signal<Out, Bits<20>>,
    /// Next 4 KiB boundary: its phase.
    pub page_phase: Signal<Out, Bits<8>>,

    /// The search continues from the boundary behind the last run, which was of the same part.
    follows: DFF<Bit>,
    // The boundary that was found last, and its part.
    known: DFF<Bit>,
    last_index: DFF<Bits<5>>,
    last_row: DFF<Bits<20>>,
    last_phase: DFF<Bits<8>>,
    leaps: Signal<Local, Bit>,
    /// 4 KiB further the phase is that of the next row if it exceeds `near_room`, and then less by `near_less`.
    near_room: DFF<Bits<8>>,
    near_less: DFF<Bits<8>>,
    /// As `near_room` and `near_less`, for 16 KiB.
    far_room: DFF<Bits<8>>,
    far_less: DFF<Bits<8>>,
    near_row: Signal<Local, Bits<20>>,
    near_phase: Signal<Local, Bits<8>>,
    far_row: Signal<Local, Bits<20>>,
    far_phase: Signal<Local, Bits<8>>,
    unused_0: Signal<Local, Pace>,
    unused_1: Signal<Local, Pace>,
}

impl Logic for Pages {
    #[hdl_gen]
    fn update(&mut self) {
        // Some fields of a pace are not used here.
        self.unused_0.next = self.next_pace.val();
        self.unused_1.next = self.pace.val();

        self.page_row.next = self.last_row.q.val();
        self.page_phase.next = self.last_phase.q.val();
        if !self.follows.q.val() {
            self.page_row.next = bit_cast::<20, 13>(self.pace.val().page_row);
            self.page_phase.next = self.pace.val().page_phase;
        }
        // Selected after the comparisons: `behind` stops all stages before, and must be early.
        self.behind.next = self.any.val() && (self.last_row.q.val() < self.row.val());
        if !self.follows.q.val() {
            self.behind.next =
                self.any.val() && (bit_cast::<20, 13>(self.pace.val().page_row) < self.row.val());
        }
        // 4 KiB further, or 16 KiB where that does not go too far; selected after the comparisons, as above.
        self.leaps.next =
            (self.last_row.q.val() + bit_cast::<20, 15>(self.pace.val().leap_rows) + 1)
                < self.row.val();
        if !self.follows.q.val() {
            self.leaps.next = (bit_cast::<20, 13>(self.pace.val().page_row)
                + bit_cast::<20, 15>(self.pace.val().leap_rows)
                + 1)
                < self.row.val();
        }
        self.near_row.next = self.page_row.val() + bit_cast::<20, 13>(self.pace.val().page_rows);
        self.near_phase.next = self.page_phase.val() + self.pace.val().page_rest;
        if self.near_room.q.val() < self.page_phase.val() {
            self.near_row.next =
                self.page_row.val() + bit_cast::<20, 13>(self.pace.val().page_rows) + 1;
            self.near_phase.next = self.page_phase.val() - self.near_less.q.val();
        }
        self.far_row.next = self.page_row.val() + bit_cast::<20, 15>(self.pace.val().leap_rows);
        self.far_phase.next = self.page_phase.val() + self.pace.val().leap_rest;
        if self.far_room.q.val() < self.page_phase.val() {
            self.far_row.next =
                self.page_row.val() + bit_cast::<20, 15>(self.pace.val().leap_rows) + 1;
            self.far_phase.next = self.page_phase.val() - self.far_less.q.val();
        }

        if self.load.val() {
            self.near_less.d.next = self.next_pace.val().step - self.next_pace.val().page_rest;
            self.near_room.d.next = self.near_less.d.val();
            if self.next_pace.val().step < self.next_pace.val().page_rest {
                self.near_room.d.next = 0.into();
            }
            self.far_less.d.next = self.next_pace.val().step - self.next_pace.val().leap_rest;
            self.far_room.d.next = self.far_less.d.val();
            if self.next_pace.val().step < self.next_pace.val().leap_rest {
                self.far_room.d.next = 0.into();
            }
            self.follows.d.next =
                self.known.q.val() && (self.last_index.q.val() == self.next_index.val());
            if self.valid.val() {
                self.follows.d.next =
                    !self.last.val() && (self.index.val() == self.next_index.val());
            }
        }
        if self.valid.val() && self.enable.val() {
            self.last_index.d.next = self.index.val();
            self.known.d.next = true;
            self.last_row.d.next = self.page_row.val();
            self.last_phase.d.next = self.page_phase.val();
            if self.behind.val() {
                self.follows.d.next = true;
                self.last_row.d.next = self.near_row.val();
                self.last_phase.d.next = self.near_phase.val();
                if self.leaps.val() {
                    self.last_row.d.next = self.far_row.val();
                    self.last_phase.d.next = self.far_phase.val();
                }
            } else if self.last.val() {
                self.known.d.next = false;
            }
        }

        if self.rst.val() {
            self.known.d.next = false;
        }
    }
}
