//! The second half of [`Queue`](super::Queue): it remembers the reads that were requested, in order,
//! and makes blocks of what they bring.

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
    pub read_queue: Signal<In, Bits<8>>,
    /// The queue's life when the doorbell was rung.
    pub read_life: Signal<In, Bits<8>>,
    /// Position of its first block.
    pub read_position: Signal<In, Bits<32>>,
    /// Blocks of the batch from that one on.
    pub read_remaining: Signal<In, Bits<17>>,
    /// The first read of its batch.
    pub read_first: Signal<In, Bit>,

    // ------------------------------------------------------------------ the queues' states
    /// One bit a queue: halted by an error.
    pub queue_halted: Signal<In, Bits<256>>,
    /// The queue whose life is wanted.
    pub life_queue: Signal<Out, Bits<8>>,
    /// Its life, in the same cycle.
    pub life_now: Signal<In, Bits<8>>,

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
    pub wqe_queue: Signal<Out, Bits<8>>,
    /// Its position in the queue.
    pub wqe_position: Signal<Out, Bits<32>>,
    /// Blocks of its batch from this one on, itself included.
    pub wqe_remaining: Signal<Out, Bits<17>>,
    /// The block could not be read.
    pub wqe_error: Signal<Out, Bit>,

    /// Blocks are on their way.
    pub at_work: Signal<Out, Bit>,

    reads: Fifo<66, 5, 6>,
    load: Signal<Local, Bit>,

    // The read whose beats are next.
    busy: DFF<Bit>,
    queue: DFF<Bits<8>>,
    life: DFF<Bits<8>>,
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

    side: Signal<Local, Bits<58>>,
    merged: Join<512, 58, 570>,
    slice: ReadySlice<570>,
}

impl Logic for Batches {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, busy, queue, life, position, remaining, starting, judged, dropping);
        self.reads.clk.next = self.clk.val();
        self.reads.rst.next = self.rst.val();
        self.reads.in_valid.next = self.read_valid.val();
        self.reads.in_data.next = bit_cast::<66, 8>(self.read_queue.val())
            | (bit_cast::<66, 8>(self.read_life.val()) << 8)
            | (bit_cast::<66, 32>(self.read_position.val()) << 16)
            | (bit_cast::<66, 17>(self.read_remaining.val()) << 48)
            | (bit_cast::<66, 1>(self.read_first.val().into()) << 65);
        self.read_ready.next = self.reads.in_ready.val();

        self.open.next = self.busy.q.val() && (!self.starting.q.val() || self.judged.q.val());
        self.resp_ready.next =
            self.open.val() && (self.dropping.q.val() || self.slice.in_ready.val());
        self.take.next = self.resp_valid.val()
            && (self.open.val() && (self.dropping.q.val() || self.slice.in_ready.val()));
        self.done.next = self.take.val() && self.resp_last.val();
        self.load.next = self.reads.out_valid.val() && (!self.busy.q.val() || self.done.val());
        self.reads.out_ready.next = !self.busy.q.val() || self.done.val();

        self.life_queue.next = self.queue.q.val();
        if self.starting.q.val() {
            self.judged.d.next = true;
            self.dropping.d.next = (self.life_now.val() != self.life.q.val())
                || self.queue_halted.val().get_bit(self.queue.q.val().index());
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
            self.queue.d.next = self.reads.out_data.val().get_bits::<8>(0);
            self.life.d.next = self.reads.out_data.val().get_bits::<8>(8);
            self.position.d.next = self.reads.out_data.val().get_bits::<32>(16);
            self.remaining.d.next = self.reads.out_data.val().get_bits::<17>(48);
            self.starting.d.next = self.reads.out_data.val().get_bit(65);
            self.judged.d.next = false;
        }

        self.side.next = bit_cast::<58, 8>(self.queue.q.val())
            | (bit_cast::<58, 32>(self.position.q.val()) << 8)
            | (bit_cast::<58, 17>(self.remaining.q.val()) << 40)
            | (bit_cast::<58, 1>(self.resp_error.val().into()) << 57);
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
        self.wqe_queue.next = self.slice.out_data.val().get_bits::<8>(512);
        self.wqe_position.next = self.slice.out_data.val().get_bits::<32>(520);
        self.wqe_remaining.next = self.slice.out_data.val().get_bits::<17>(552);
        self.wqe_error.next = self.slice.out_data.val().get_bit(569);

        self.at_work.next =
            self.reads.out_valid.val() || self.busy.q.val() || self.slice.out_valid.val();

        if self.rst.val() {
            self.busy.d.next = false;
        }
    }
}
