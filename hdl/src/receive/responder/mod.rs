//! The responder: decides what becomes of each packet that a peer sends (docs/semantics.md, "Receiving").
//!
//! Stands between the parser, whose packets are whole and right and have a queue pair, and the receive queues. It
//! checks that each packet is still for its queue pair, its order, opcode, rights, receive, lengths and remote key, in
//! the order of the table there; keeps how far each queue pair has come; and says where the bytes go, what is answered,
//! and which queue pairs break. Its meaning is `drdma_semantics::responder`, except for what other blocks find out:
//! READs and atomics become answers, which `send/replies` carries out; room in the completion queue, and memory that is
//! not there, are noticed by those who write.
//!
//! An atomic that is accepted gets a slot of [`atomics`](super::atomics), or waits for one, and all packets behind it
//! wait, too. READs and atomics of a queue pair are numbered; `answered` says how many have been answered. One that
//! comes while `max_dest_rd_atomic` of them wait is an invalid request. Repetitions do not count.
//!
//! ```text
//!                cfg: queue pairs, attributes        cfg: memory regions
//!                          |                                |
//! packet -> Admission -----> Supply ---------> Execution -> placing, answer
//!           for it? next?    take, taken       lengths, key    invalidate, set_qp_error
//!                  ^                              |
//!                  +------- progress, fails ------+
//! ```
//!
//! Packets stay in order. Each gives one or two placings, of which the last has `frame_end`.
//!
//! The next SEND or WRITE of an RC queue pair follows those before it at once: `Admission` writes the queue pair's
//! progress as if they were executed, and [`Flights`](flights::Flights) remembers what is under way. If one of them
//! fails, `Execution` corrects the progress, and those behind it are void: dropped, if the queue pair is broken, or
//! ignored, if their peer sends them again. A receive that was taken for one of them completes with `wr_flush_error`;
//! it is of the queue pair's own queue, in which only the first receive that fails is reported. A [`Take`] with
//! `follows` must find nothing if the one before it of its queue pair did not.
//!
//! All other packets, and SENDs that take receives of a shared queue, wait in `Admission` until those before them of
//! the same queue pair are done and their placings were taken. So they see all that was changed, the error state
//! included, and a placing with which a receive of a shared queue completes is taken before the next take of its queue
//! pair is offered. A queue pair is put into the error state when the placing and the answer of the packet that broke
//! it were taken.
//!
//! When the host writes 1 to the `state` of a queue pair's attributes, it begins anew. What is under way for it then is
//! dropped; a receive that was taken for it completes with `wr_flush_error`. Other words that are written to the
//! entries of a queue pair count for the packets whose check has not begun.
//!
//! A key that a SEND makes invalid is invalid here, and `invalidate` was taken, before that SEND is placed; whoever
//! takes `invalidate` clears the other copies of the table.
//!
//! A SEND whose receive appends is checked by [`appends`](super::appends), which keeps the rows. No other receive is
//! taken meanwhile: a receive for which there are no rows now stays in its queue, and its message finds none. The
//! further packets of such a message follow each other when they are executed.
//!
//! For a WRITE to a described key, and a SEND whose receive has bitmapped or pointer-mapped regions,
//! [`pieces`](super::pieces) is asked packet by packet: it knows where the bytes go, or that they cannot. All packets
//! behind wait for the answer. How many bytes such a receive holds is not known; a message is too long for it when a
//! packet comes that the receive has no room for.
//!
//! Contract: if packets of many queue pairs take turns, a packet that is dropped and a packet of a SEND that has its
//! receive take 3 cycles each, a packet of a WRITE, a READ and an atomic 5, a datagram 5, a SEND that makes a key
//! invalid 8. A packet waits for the answer to its take, but up to 8 packets are under way meanwhile. Packets of one RC
//! queue pair take as long; between SENDs of a UC queue pair there are 8 cycles, and the wait for that answer. The
//! first output comes 6 (dropped) to 10 cycles after the packet. May stall at any time; no ready of an input depends on
//! that of an output within a cycle.

use crate::context::{ConfigWrite, QP, QueuePairIndex, RegionIndex};
use crate::primitive::StreamSkid;
use crate::receive::record::{
    Answer, Answered, AppendAsk, AppendSettle, AppendTaken, AppendTold, Operands, Packet, Placing,
    RegionAsk, RegionSettle, RegionTold, SLOT, Take, Taken,
};
use drdma_emit::prelude::*;

mod admission;
mod checks;
mod contexts;
mod execution;
mod flights;
pub mod keys;
mod operation;
mod record;
mod supply;
#[cfg(test)]
mod tests;

use admission::Admission;
use execution::Execution;
use record::Located;
use supply::Supply;

/// The responder. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Responder {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,

    /// Packets, whole and right; not ACKs and NAKs, which go to the sending side.
    pub packet: Stream<In, Packet>,
    /// Placings of the packets' payload.
    pub placing: Stream<Out, Placing>,
    /// Asks for receives for messages that begin.
    pub take: Stream<Out, Take>,
    /// Answers to the takes, in their order.
    pub taken: Stream<In, Taken>,
    /// ACKs and NAKs to send, READs and atomics to answer.
    pub answer: Stream<Out, Answer>,
    /// A READ or an atomic was answered or given up, unless it was a repetition.
    pub answered: Flow<In, Answered>,
    /// There is a free slot for an atomic.
    pub has_slot: Signal<In, Bit>,
    /// Number of the free slot; valid with `has_slot`.
    pub slot: Signal<In, Bits<SLOT>>,
    /// An atomic that is accepted takes the free slot.
    pub accepted: Flow<Out, Operands>,
    /// Memory regions whose keys become invalid.
    pub invalidate: Stream<Out, RegionIndex>,

    /// The queue pair whose `qp_error` is asked for in the next cycle.
    pub error_next: Signal<Out, Bits<QP>>,
    /// The queue pair of `error_next`, one cycle before, is in the error state.
    pub qp_error: Signal<In, Bit>,
    /// A queue pair that enters the error state.
    pub set_qp_error: Stream<Out, QueuePairIndex>,
    /// Asks the append regions for rows for a packet of a SEND, or says that a message will not come.
    pub append_ask: Stream<Out, AppendAsk>,
    /// Answer of the append regions.
    pub append_told: Flow<In, AppendTold>,
    /// Decision about the packet that was asked about.
    pub append_settle: Flow<Out, AppendSettle>,
    /// Decision about the receive that appends and was taken last.
    pub append_taken: Flow<Out, AppendTaken>,
    /// Asks whether the bytes of a packet can go to regions piece by piece.
    pub region_ask: Stream<Out, RegionAsk>,
    /// Answer of the regions.
    pub region_told: Flow<In, RegionTold>,
    /// Decision about the packet that was asked about.
    pub region_settle: Flow<Out, RegionSettle>,

    /// Packets that were dropped because no queue pair takes them.
    pub count_dropped: Signal<Out, Bits<2>>,
    /// Packets that were dropped because their queue pairs do not need them: duplicates, out of order, or of a message
    /// that was given up.
    pub count_ignored: Signal<Out, Bits<2>>,

    dropped: DFF<Bits<2>>,
    ignored: DFF<Bits<2>>,
    arriving: StreamSkid<Located>,
    come: Signal<Local, Located>,
    unused: Signal<Local, Packet>,
    admission: Admission,
    supply: Supply,
    execution: Execution,
}

impl Logic for Responder {
    #[hdl_gen]
    fn update(&mut self) {
        self.cfg.join(&mut self.admission.cfg);
        self.cfg.join(&mut self.execution.cfg);
        self.unused.next = self.packet.val();
        self.packet.share(&mut self.come);
        self.arriving.input.valid.next = self.packet.valid.val();
        self.arriving.input.data.next = self.come.val();
        self.packet.ready.next = self.arriving.input.ready.val();
        self.arriving.output.join(&mut self.admission.located);
        self.admission.job.join(&mut self.supply.job);
        self.supply.supplied.join(&mut self.execution.job);
        self.execution.begins.next = self.admission.begins.valid.val();
        self.execution.write.join(&mut self.admission.write);
        self.admission.ended.next = self.execution.ended.val();
        self.execution.fails.join(&mut self.admission.fails);
        self.execution.lingers.join(&mut self.admission.lingers);
        self.execution.fate.next = self.admission.fate.val();
        self.answered.join(&mut self.admission.answered);
        self.execution.has_slot.next = self.has_slot.val();
        self.execution.slot.next = self.slot.val();
        self.execution.accepted.join(&mut self.accepted);
        self.supply.idle.next = self.execution.idle.val();
        self.error_next.next = self.admission.error_next.val();
        self.admission.qp_error.next = self.qp_error.val();
        self.supply.take.join(&mut self.take);
        self.taken.join(&mut self.supply.taken);
        self.execution.placing.join(&mut self.placing);
        self.execution.answer.join(&mut self.answer);
        self.execution.invalidate.join(&mut self.invalidate);
        self.execution.append_ask.join(&mut self.append_ask);
        self.append_told.join(&mut self.execution.append_told);
        self.execution.append_settle.join(&mut self.append_settle);
        self.execution.append_taken.join(&mut self.append_taken);
        self.execution.region_ask.join(&mut self.region_ask);
        self.region_told.join(&mut self.execution.region_told);
        self.execution.region_settle.join(&mut self.region_settle);
        self.execution.set_qp_error.join(&mut self.set_qp_error);
        // Counts come a cycle later: whether a packet is dropped is known at the end of a cycle.
        self.count_dropped.next = self.dropped.q.val();
        self.count_ignored.next = self.ignored.q.val();
        self.dropped.d.next = bit_cast::<2, 1>(self.admission.count_dropped.val().into())
            + bit_cast::<2, 1>(self.execution.count_dropped.val().into());
        self.ignored.d.next = bit_cast::<2, 1>(self.admission.count_ignored.val().into())
            + bit_cast::<2, 1>(self.execution.count_ignored.val().into());
    }
}
