//! Remembers the jobs that are under way, in their order, and the events that make them void.

use crate::context::{QP, QueuePairIndex};
use drdma_emit::prelude::*;

/// Jobs that may be under way at once.
const JOBS: usize = 8;

/// A job that leaves admission.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Flight {
    /// The queue pair that the job is for.
    pub qp: Bits<QP>,
    /// The queue pair's progress is known as if the job had been executed: further ones may follow at once.
    pub ahead: Bit,
    /// The job takes a receive.
    pub takes: Bit,
}

/// Reports that a job was not executed as it was foreseen.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Failure {
    /// The queue pair of the job.
    pub qp: Bits<QP>,
    /// The queue pair breaks; otherwise its peer sends the packet again.
    pub breaks: Bit,
}

/// Events that concern a job since it left admission.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Fate {
    /// The queue pair begins anew: the packet has no further effect.
    pub stale: Bit,
    /// An earlier job of the queue pair has failed: the packet has no effect.
    pub void: Bit,
    /// With `void`: that job has broken the queue pair.
    pub broken: Bit,
}

/// Remembers which queue pairs have jobs under way, from admission to the end of their execution.
///
/// Contract: `qp` is answered in the same cycle, as of all earlier cycles. Up to 8 jobs; while there are so many, none
/// may begin.
///
/// # Inputs
/// `clk`, `rst`; `begun`: a job leaves admission; `ended`: the oldest one is done; `begins`; `fails`; `qp`: the queue
/// pair that is asked about.
///
/// # Outputs
/// `shares`: the queue pair has jobs under way; `blocks`: one of them must be done before another follows; `takes`: one
/// of them takes a receive; `full`; `fate` of the oldest job.
#[derive(LogicBlock, BlockDefault)]
pub struct Flights {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A job leaves admission.
    pub begun: Flow<In, Flight>,
    /// The oldest job is done.
    pub ended: Signal<In, Bit>,
    /// A queue pair begins anew.
    pub begins: Flow<In, QueuePairIndex>,
    /// A job has failed: those of its queue pair behind it are void.
    pub fails: Flow<In, Failure>,
    /// The queue pair that is asked about.
    pub qp: Signal<In, Bits<QP>>,
    /// The queue pair has jobs under way.
    pub shares: Signal<Out, Bit>,
    /// One of the queue pair's jobs must be done before another follows.
    pub blocks: Signal<Out, Bit>,
    /// One of the queue pair's jobs takes a receive.
    pub takes: Signal<Out, Bit>,
    /// The largest number of jobs is under way.
    pub full: Signal<Out, Bit>,
    /// Events that concern the oldest job since it left.
    pub fate: Signals<Out, Fate>,

    // The jobs, the oldest one first.
    present: [DFF<Bit>; JOBS],
    flights: [DFF<Flight>; JOBS],
    fates: [DFF<Fate>; JOBS],
    // The jobs at the end of the cycle, in their old places; behind the last one there is none but a new one.
    there: [Signal<Local, Bit>; 9],
    marked: [Signal<Local, Flight>; 9],
    bound: [Signal<Local, Fate>; 9],
    // Whether there is a job in each place, the new one included.
    filled: [Signal<Local, Bit>; 9],
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

        // Events that concern each job.
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

        // A new one comes behind the last.
        self.filled[0].next = self.there[0].val() || self.begun.valid.val();
        for k in 0..8 {
            self.filled[k + 1].next =
                self.there[k + 1].val() || (self.begun.valid.val() && self.there[k].val());
            if !self.there[k].val() {
                self.marked[k].next = self.begun.val();
                self.bound[k].next = self.bound[8].val();
            }
        }

        // The oldest job leaves, which is known late.
        for k in 0..8 {
            self.present[k].d.next = self.filled[k].val();
            self.flights[k].d.next = self.marked[k].val();
            self.fates[k].d.next = self.bound[k].val();
            if self.ended.val() {
                self.present[k].d.next = self.filled[k + 1].val();
                self.flights[k].d.next = self.marked[k + 1].val();
                self.fates[k].d.next = self.bound[k + 1].val();
            }
        }
        if self.rst.val() {
            for k in 0..8 {
                self.present[k].d.next = false;
            }
        }
    }
}
