//! Decides how the data of a request are fetched: by its own plan, or by the card's registers.

use crate::primitive::Lutram;
use drdma_emit::prelude::*;

/// Bits of a fetch plan: the request has one (1 bit), the binary logarithm of its longest read in bytes (4), the widest
/// gap in bytes that is read through (12).
pub const FETCH_BITS: usize = 17;

/// Keeps the fetch plans of requests, and changes the settings of the optimizer between two requests that differ: only
/// when nothing is being planned, so that the planners see one setting at a time.
///
/// The first beat of another request waits a cycle, unless nothing was being planned when its plan was written. Where
/// the settings change it waits longer, until what was planned is `drained`. A write takes effect in the next cycle.
///
/// # Inputs
/// `write` (the plan of the request of a slot, before its first beat), `beat_valid`, `beat_slot`, `max_read`,
/// `merge_threshold` (the registers), `drained` (nothing is being planned).
///
/// # Outputs
/// `settled` (the settings are those of the beat), `changes` (they will be once all is drained), `most`, `gap` (the
/// settings), `planned` (they are the request's own).
#[derive(LogicBlock, Default)]
pub struct Fetch {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// The fetch plan of a request is written.
    pub write_valid: Signal<In, Bit>,
    /// Slot of that request.
    pub write_slot: Signal<In, Bits<8>>,
    /// The fetch plan; see [`FETCH_BITS`].
    pub write_plan: Signal<In, Bits<FETCH_BITS>>,
    /// A beat is offered.
    pub beat_valid: Signal<In, Bit>,
    /// Slot of the beat's request.
    pub beat_slot: Signal<In, Bits<8>>,
    /// Register `MAX_READ`: longest read in bytes.
    pub max_read: Signal<In, Bits<13>>,
    /// Register `MERGE_THRESHOLD`: widest gap in bytes that is read through.
    pub merge_threshold: Signal<In, Bits<13>>,
    /// No beat is being planned with the current settings.
    pub drained: Signal<In, Bit>,
    /// The settings are those of the beat, which may pass.
    pub settled: Signal<Out, Bit>,
    /// The beat waits for other settings.
    pub changes: Signal<Out, Bit>,
    /// Longest read in bytes.
    pub most: Signal<Out, Bits<13>>,
    /// Widest gap in bytes that is read through.
    pub gap: Signal<Out, Bits<13>>,
    /// `most` and `gap` are the request's own.
    pub planned: Signal<Out, Bit>,

    plans: Lutram<FETCH_BITS, 8, 1>,
    /// `plan` is valid; `slot` is the slot whose plan it is.
    known: DFF<Bit>,
    slot: DFF<Bits<8>>,
    plan: DFF<Bits<FETCH_BITS>>,
    is_known: Signal<Local, Bit>,
    none: Signal<Local, Bits<13>>,
    wanted_most: Signal<Local, Bits<13>>,
    wanted_gap: Signal<Local, Bits<13>>,
    same: Signal<Local, Bit>,
    most_held: DFF<Bits<13>>,
    gap_held: DFF<Bits<13>>,
    planned_held: DFF<Bit>,
}

impl Logic for Fetch {
    #[hdl_gen]
    fn update(&mut self) {
        self.plans.write_enable.next = self.write_valid.val();
        self.plans.write_address.next = self.write_slot.val();
        self.plans.write_data.next = self.write_plan.val();
        self.plans.read_address[0].next = self.beat_slot.val();
        self.is_known.next = self.known.q.val() && (self.slot.q.val() == self.beat_slot.val());
        if self.beat_valid.val() && !self.is_known.val() {
            self.known.d.next = true;
            self.slot.d.next = self.beat_slot.val();
            self.plan.d.next = self.plans.read_data[0].val();
        }
        // The slot has another request.
        if self.write_valid.val() && (self.write_slot.val() == self.slot.q.val()) {
            self.known.d.next = false;
        }
        // No beat is being planned: the settings are prepared for the request that comes.
        if self.write_valid.val() && self.drained.val() && !self.beat_valid.val() {
            self.known.d.next = true;
            self.slot.d.next = self.write_slot.val();
            self.plan.d.next = self.write_plan.val();
        }

        self.none.next = 0.into();
        self.wanted_most.next = self.max_read.val();
        self.wanted_gap.next = self.merge_threshold.val();
        if self.plan.q.val().get_bit(0) {
            self.wanted_most.next =
                self.none.val().replace_bit(self.plan.q.val().get_bits::<4>(1).index(), true);
            self.wanted_gap.next = bit_cast::<13, 12>(self.plan.q.val().get_bits::<12>(5));
        }
        self.same.next = (self.wanted_most.val() == self.most_held.q.val())
            && (self.wanted_gap.val() == self.gap_held.q.val())
            && (self.plan.q.val().get_bit(0) == self.planned_held.q.val());
        self.settled.next = self.is_known.val() && self.same.val();
        self.changes.next = self.beat_valid.val() && self.is_known.val() && !self.same.val();
        if self.known.q.val()
            && !self.same.val()
            && self.drained.val()
            && (self.is_known.val() || !self.beat_valid.val())
        {
            self.most_held.d.next = self.wanted_most.val();
            self.gap_held.d.next = self.wanted_gap.val();
            self.planned_held.d.next = self.plan.q.val().get_bit(0);
        }
        self.most.next = self.most_held.q.val();
        self.gap.next = self.gap_held.q.val();
        self.planned.next = self.planned_held.q.val();

        if self.rst.val() {
            self.known.d.next = false;
            self.most_held.d.next = 0.into();
            self.gap_held.d.next = 0.into();
            self.planned_held.d.next = false;
        }
    }
}
