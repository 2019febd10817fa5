//! The second half of [`Queue`](super::Queue): it remembers the reads that were requested, in order,
//! and makes blocks of what they bring.

use super::LIFE;
use crate::context::QUEUE;
use crate::primitive::{Fifo, Join, ReadySlice};
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

/// Up to 32 reads; one block per cycle, and one cycle more before each batch.
///
/// Whether a batch leaves or is dropped is decided with its first block, by whether its queue is
/// halted or was enabled anew.
#[derive(LogicBlock, Default)]
pub struct Batches {
    // ------------------------------------------------------------------ clock and reset
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    // ------------------------------------------------------------------ reads, as requested
    /// A read is requested.
    pub read_valid: Signal<In, Bit>,
    /// There is room for it.
    pub read_ready: Signal<Out, Bit>,
    /// Its queue.
    pub read_queue: Signal<In, Bits<QUEUE>>,
    /// The queue's life when the doorbell was rung.
    pub read_life: Signal<In, Bits<LIFE>>,
    /// Position of its first block.
    pub read_position: Signal<In, Bits<32>>,
    /// Blocks of the batch from that one on.
    pub read_remaining: Signal<In, Bits<17>>,
    /// The first read of its batch.
    pub read_first: Signal<In, Bit>,

    // ------------------------------------------------------------------ the queues' states
    /// The queue whose state is asked for in the next cycle.
    pub next_queue: Signal<Out, Bits<QUEUE>>,
    /// That of the cycle before is halted by an error.
    pub queue_halted: Signal<In, Bit>,
    /// Its life.
    pub life_now: Signal<In, Bits<LIFE>>,

    // ------------------------------------------------------------------ what the reads bring
    /// A beat is offered.
    pub resp_valid: Signal<In, Bit>,
    /// It is taken.
    pub resp_ready: Signal<Out, Bit>,
    /// 64 bytes.
    pub resp_data: Signal<In, Bits<512>>,
    /// The last beat of its read.
    pub resp_last: Signal<In, Bit>,
    /// The read has failed.
    pub resp_error: Signal<In, Bit>,

    // ------------------------------------------------------------------ blocks
    /// A block is offered.
    pub wqe_valid: Signal<Out, Bit>,
    /// It is taken.
    pub wqe_ready: Signal<In, Bit>,
    /// 64 bytes.
    pub wqe_data: Signal<Out, Bits<512>>,
    /// Queue number.
    pub wqe_queue: Signal<Out, Bits<QUEUE>>,
    /// Its position in the queue.
    pub wqe_position: Signal<Out, Bits<32>>,
    /// Blocks of its batch from this one on, itself included.
    pub wqe_remaining: Signal<Out, Bits<17>>,
    /// The block could not be read.
    pub wqe_error: Signal<Out, Bit>,

    /// Blocks are on their way.
    pub at_work: Signal<Out, Bit>,

    reads: Fifo<READ, 5, 6>,
    load: Signal<Local, Bit>,

    // The read whose beats are next.
    busy: DFF<Bit>,
    queue: DFF<Bits<QUEUE>>,
    life: DFF<Bits<LIFE>>,
    position: DFF<Bits<32>>,
    remaining: DFF<Bits<17>>,
    /// No block of its batch has been taken.
    starting: DFF<Bit>,
    /// `dropping` tells the fate of its batch.
    judged: DFF<Bit>,
    dropping: DFF<Bit>,
    open: Signal<Local, Bit>,
    take: Signal<Local, Bit>,
    done: Signal<Local, Bit>,

    side: Signal<Local, Bits<SIDE>>,
    merged: Join<512, SIDE, BLOCK>,
    slice: ReadySlice<BLOCK>,
}

/// Bits of a read: `queue` 12, `life` 16, `position` 32, `remaining` 17, `first`.
const READ: usize = 78;
/// Bits beside a block: `queue` 12, `position` 32, `remaining` 17, `error`.
const SIDE: usize = 62;
/// Bits of a block, with those beside it.
const BLOCK: usize = 512 + SIDE;

const _: () = assert!(QUEUE == 12 && LIFE == 16, "the fields of reads and blocks stand elsewhere");

impl Logic for Batches {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, busy, queue, life, position, remaining, starting, judged, dropping);
        self.reads.clk.next = self.clk.val();
        self.reads.rst.next = self.rst.val();
        self.reads.in_valid.next = self.read_valid.val();
        self.reads.in_data.next = bit_cast::<READ, QUEUE>(self.read_queue.val())
            | (bit_cast::<READ, LIFE>(self.read_life.val()) << 12)
            | (bit_cast::<READ, 32>(self.read_position.val()) << 28)
            | (bit_cast::<READ, 17>(self.read_remaining.val()) << 60)
            | (bit_cast::<READ, 1>(self.read_first.val().into()) << 77);
        self.read_ready.next = self.reads.in_ready.val();

        self.open.next = self.busy.q.val() && (!self.starting.q.val() || self.judged.q.val());
        self.resp_ready.next =
            self.open.val() && (self.dropping.q.val() || self.slice.in_ready.val());
        self.take.next = self.resp_valid.val()
            && (self.open.val() && (self.dropping.q.val() || self.slice.in_ready.val()));
        self.done.next = self.take.val() && self.resp_last.val();
        self.load.next = self.reads.out_valid.val() && (!self.busy.q.val() || self.done.val());
        self.reads.out_ready.next = !self.busy.q.val() || self.done.val();

        if self.starting.q.val() {
            self.judged.d.next = true;
            self.dropping.d.next =
                (self.life_now.val() != self.life.q.val()) || self.queue_halted.val();
        }
        if self.take.val() {
            self.starting.d.next = false;
            self.dropping.d.next = self.dropping.q.val();
            self.position.d.next = self.position.q.val() + 1;
            self.remaining.d.next = self.remaining.q.val() - 1;
        }
        if self.done.val() {
            self.busy.d.next = false;
        }
        if self.load.val() {
            self.busy.d.next = true;
            self.queue.d.next = self.reads.out_data.val().get_bits::<QUEUE>(0);
            self.life.d.next = self.reads.out_data.val().get_bits::<LIFE>(12);
            self.position.d.next = self.reads.out_data.val().get_bits::<32>(28);
            self.remaining.d.next = self.reads.out_data.val().get_bits::<17>(60);
            self.starting.d.next = self.reads.out_data.val().get_bit(77);
            self.judged.d.next = false;
        }

        self.next_queue.next = self.queue.d.val();

        self.side.next = bit_cast::<SIDE, QUEUE>(self.queue.q.val())
            | (bit_cast::<SIDE, 32>(self.position.q.val()) << 12)
            | (bit_cast::<SIDE, 17>(self.remaining.q.val()) << 44)
            | (bit_cast::<SIDE, 1>(self.resp_error.val().into()) << 61);
        self.merged.low.next = self.resp_data.val();
        self.merged.high.next = self.side.val();
        self.slice.clk.next = self.clk.val();
        self.slice.rst.next = self.rst.val();
        self.slice.in_valid.next =
            self.resp_valid.val() && self.open.val() && !self.dropping.q.val();
        self.slice.in_data.next = self.merged.whole.val();
        self.slice.out_ready.next = self.wqe_ready.val();
        self.wqe_valid.next = self.slice.out_valid.val();
        self.wqe_data.next = self.slice.out_data.val().get_bits::<512>(0);
        self.wqe_queue.next = self.slice.out_data.val().get_bits::<QUEUE>(512);
        self.wqe_position.next = self.slice.out_data.val().get_bits::<32>(524);
        self.wqe_remaining.next = self.slice.out_data.val().get_bits::<17>(556);
        self.wqe_error.next = self.slice.out_data.val().get_bit(573);

        self.at_work.next =
            self.reads.out_valid.val() || self.busy.q.val() || self.slice.out_valid.val();

        if self.rst.val() {
            self.busy.d.next = false;
        }
    }
}
