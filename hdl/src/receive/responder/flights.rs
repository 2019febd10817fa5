//! The jobs that are under way, in their order, and what makes them void.

use crate::context::{QP, QueuePairIndex};
use drdma_emit::prelude::*;

/// As many jobs may be under way.
const JOBS: usize = 8;

/// A job that is under way.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Flight {
    /// The queue pair.
    pub qp: Bits<QP>,
    /// How far the queue pair has come is known as if the job had been executed: further ones may follow at once.
    pub ahead: Bit,
    /// It takes a receive.
    pub takes: Bit,
}

/// A job was not executed as it was foreseen.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Failure {
    /// Its queue pair.
    pub qp: Bits<QP>,
    /// That breaks; else its peer sends the packet again.
    pub breaks: Bit,
}

/// What is known of the oldest job besides itself.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Fate {
    /// Its queue pair begins anew: nothing of its packet is done any more.
    pub stale: Bit,
    /// One before it in its queue pair has failed: nothing of its packet is done.
    pub void: Bit,
    /// That has broken the queue pair.
    pub broken: Bit,
}

/// Remembers which queue pairs have jobs under way, from admission to the end of their execution.
///
/// Contract: what is asked for is told in the same cycle, as of all earlier cycles. Up to 8 jobs; while there are so many, none may
/// begin.
///
/// # Inputs
/// `clk`, `rst`; `begun`: a job leaves admission; `ended`: the oldest one is done; `begins`; `fails`; `qp`: the queue pair that
/// is asked for.
///
/// # Outputs
/// `shares`: it has jobs under way; `blocks`: one of them must be done before another follows; `takes`: one takes a receive;
/// `full`; `fate` of the oldest job.
#[derive(LogicBlock, BlockDefault)]
pub struct Flights {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A job leaves admission.
    pub begun: Flow<In, Flight>,
    /// The oldest one is done.
    pub ended: Signal<In, Bit>,
    /// A queue pair begins anew.
    pub begins: Flow<In, QueuePairIndex>,
    /// A job has failed: those behind it are void.
    pub fails: Flow<In, Failure>,
    /// The queue pair that is asked for.
    pub qp: Signal<In, Bits<QP>>,
    /// It has jobs under way.
    pub shares: Signal<Out, Bit>,
    /// One of them must be done before another follows.
    pub blocks: Signal<Out, Bit>,
    /// One of them takes a receive.
    pub takes: Signal<Out, Bit>,
    /// No further job may begin.
    pub full: Signal<Out, Bit>,
    /// Of the oldest job.
    pub fate: Signals<Out, Fate>,

    // The oldest one first.
    present: [DFF<Bit>; JOBS],
    flights: [DFF<Flight>; JOBS],
    fates: [DFF<Fate>; JOBS],
    // As they are at the end of the cycle, but in their old places; behind the last one there is none.
    there: [Signal<Local, Bit>; 9],
    marked: [Signal<Local, Flight>; 9],
    bound: [Signal<Local, Fate>; 9],
    // In their new places.
    stays: [Signal<Local, Bit>; JOBS],
}

impl Logic for Flights {
    #[hdl_gen]
    fn update(&mut self) {
        self.shares.next = false;
        self.blocks.next = false;
        self.takes.next = false;
        for k in 0..8 {
            if self.present[k].q.val() && (self.flights[k].q.val().qp == self.qp.val()) {
                self.shares.next = true;
                if !self.flights[k].q.val().ahead {
                    self.blocks.next = true;
                }
                if self.flights[k].q.val().takes {
                    self.takes.next = true;
                }
            }
        }
        self.full.next = self.present[7].q.val();
        self.fate.next = self.fates[0].q.val();

        // What has become of them.
        self.there[8].next = false;
        self.marked[8].next = self.begun.val();
        self.bound[8].next.stale = false;
        self.bound[8].next.void = false;
        self.bound[8].next.broken = false;
        for k in 0..8 {
            self.there[k].next = self.present[k].q.val();
            self.marked[k].next = self.flights[k].q.val();
            self.bound[k].next = self.fates[k].q.val();
            if self.begins.valid.val() && (self.flights[k].q.val().qp == self.begins.qp.val()) {
                self.bound[k].next.stale = true;
                self.marked[k].next.ahead = false;
            }
            if self.fails.valid.val() && (self.flights[k].q.val().qp == self.fails.qp.val()) {
                self.bound[k].next.void = true;
                self.bound[k].next.broken = self.fails.breaks.val();
                self.marked[k].next.ahead = false;
            }
        }

        // The oldest one leaves, and a new one comes behind the last.
        for k in 0..8 {
            self.stays[k].next = self.there[k].val();
            self.flights[k].d.next = self.marked[k].val();
            self.fates[k].d.next = self.bound[k].val();
            if self.ended.val() {
                self.stays[k].next = self.there[k + 1].val();
                self.flights[k].d.next = self.marked[k + 1].val();
                self.fates[k].d.next = self.bound[k + 1].val();
            }
            self.present[k].d.next = self.stays[k].val();
            if !self.stays[k].val() {
                self.flights[k].d.next = self.begun.val();
                self.fates[k].d.next = self.bound[8].val();
            }
        }
        if self.begun.valid.val() && !self.stays[0].val() {
            self.present[0].d.next = true;
        }
        for k in 0..7 {
            if self.begun.valid.val() && self.stays[k].val() {
                self.present[k + 1].d.next = true;
            }
        }
        if self.rst.val() {
            for k in 0..8 {
                self.present[k].d.next = false;
            }
        }
    }
}
