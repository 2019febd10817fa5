//! Fetches the blocks of send queues' rings, doorbell by doorbell.
//!
//! Stands between the registers and the decoder. Doorbells of all queues wait in one FIFO, so that
//! requests are decoded in the order in which they were posted. What a doorbell adds to its ring, a
//! *batch*, is read in pieces of up to 16 blocks, several ahead of the decoder.
//!
//! Contract: 1,024 doorbells wait; one that adds nothing, more than its ring holds, or is for a
//! halted queue is dropped. One block leaves per cycle while its data are there (one cycle is lost
//! a batch); a doorbell's first read is requested 4 cycles after the doorbell, and one doorbell is
//! served in 5. A batch leaves whole:
//! a queue that halts loses those of its batches that have not begun. Writing a queue's `enable`
//! word also drops everything that was rung before.

use crate::primitive::{Lutram, PromptFifo, Ram};
use drdma_abi::Layout;
use drdma_abi::register::SendQueueEntry;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

mod batches;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod with_host_read;

pub use batches::Batches;

/// Where the fields of a queue's entry are among its words.
fn word_of(field: &str) -> u64 {
    (SendQueueEntry::field(field).start / 32) as u64
}

/// What the unit that fetches is doing.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum QueueState {
    /// Waiting for a doorbell; its queue's entry is read with it.
    Idle,
    /// Comparing the doorbell with the queue's position.
    Compare,
    /// Dropping the doorbell, or beginning its batch and cutting its first read.
    Judge,
    /// Finding where in the ring it goes on.
    Measure,
    /// Cutting the next read.
    Cut,
    /// Requesting it.
    Request,
    /// Storing the position.
    Finish,
}

/// See the [module](self).
#[derive(LogicBlock)]
pub struct Queue {
    // ------------------------------------------------------------------ clock and reset
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    // ------------------------------------------------------------------ doorbells
    /// A doorbell is offered.
    pub doorbell_valid: Signal<In, Bit>,
    /// It is taken.
    pub doorbell_ready: Signal<Out, Bit>,
    /// Queue number.
    pub doorbell_queue: Signal<In, Bits<8>>,
    /// The producer's position, in blocks.
    pub doorbell_position: Signal<In, Bits<32>>,

    // ------------------------------------------------------------------ tables
    /// The host writes a word of a table.
    pub cfg_valid: Signal<In, Bit>,
    /// Which table; 2: send queues.
    pub cfg_table: Signal<In, Bits<3>>,
    /// Which entry.
    pub cfg_index: Signal<In, Bits<10>>,
    /// Which word of it.
    pub cfg_word: Signal<In, Bits<4>>,
    /// The word.
    pub cfg_data: Signal<In, Bits<32>>,
    /// One bit a queue: halted by an error.
    pub queue_halted: Signal<In, Bits<256>>,

    // ------------------------------------------------------------------ host_read
    /// A read is requested.
    pub read_req_valid: Signal<Out, Bit>,
    /// It is taken.
    pub read_req_ready: Signal<In, Bit>,
    /// First byte in host memory.
    pub read_req_addr: Signal<Out, Bits<64>>,
    /// Bytes.
    pub read_req_bytes: Signal<Out, Bits<13>>,
    /// A beat of a read's response is offered.
    pub read_resp_valid: Signal<In, Bit>,
    /// It is taken.
    pub read_resp_ready: Signal<Out, Bit>,
    /// 64 bytes.
    pub read_resp_data: Signal<In, Bits<512>>,
    /// The last beat of its read.
    pub read_resp_last: Signal<In, Bit>,
    /// The read has failed.
    pub read_resp_error: Signal<In, Bit>,

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
    /// A doorbell is not used up, or its blocks are on their way.
    pub busy: Signal<Out, Bit>,

    // Copies of the queues' entries.
    send_queues: Constant<Bits<3>>,
    word_low: Constant<Bits<4>>,
    word_high: Constant<Bits<4>>,
    word_log: Constant<Bits<4>>,
    word_enable: Constant<Bits<4>>,
    log_at: Constant<Bits<5>>,
    cfg_here: Signal<Local, Bit>,
    cfg_enable: Signal<Local, Bit>,
    entry_low: Ram<32, 1, 8>,
    entry_high: Ram<32, 1, 8>,
    entry_log: Ram<5, 1, 8>,
    positions: Ram<32, 1, 8>,
    /// Counts the writes of a queue's `enable` word: a batch of an earlier life is known by it.
    /// Read for the next count, for doorbells, for the fetching unit, and for the batches.
    lives: Lutram<8, 8, 4>,

    // Doorbells.
    doorbells: PromptFifo<48, 10, 11>,

    // The batch that is being fetched.
    state: DFF<QueueState>,
    queue: DFF<Bits<8>>,
    life: DFF<Bits<8>>,
    target: DFF<Bits<32>>,
    base: DFF<Bits<64>>,
    position: DFF<Bits<32>>,
    difference: DFF<Bits<32>>,
    blocks: DFF<Bits<17>>,
    remaining: DFF<Bits<17>>,
    gone: DFF<Bit>,
    first: DFF<Bit>,
    one: Constant<Bits<17>>,
    entry_blocks: Signal<Local, Bits<17>>,
    entry: Signal<Local, Bits<8>>,
    // Its next read.
    offset: DFF<Bits<17>>,
    /// Blocks from it to the ring's end, less one.
    behind: DFF<Bits<17>>,
    wanted: Signal<Local, Bits<17>>,
    to_end: Signal<Local, Bits<5>>,
    most: Signal<Local, Bits<5>>,
    cut: DFF<Bits<5>>,
    cut_addr: DFF<Bits<64>>,

    // The blocks that come.
    batches: Batches,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            clk: Signal::default(),
            rst: Signal::default(),
            doorbell_valid: Signal::default(),
            doorbell_ready: Signal::default(),
            doorbell_queue: Signal::default(),
            doorbell_position: Signal::default(),
            cfg_valid: Signal::default(),
            cfg_table: Signal::default(),
            cfg_index: Signal::default(),
            cfg_word: Signal::default(),
            cfg_data: Signal::default(),
            queue_halted: Signal::default(),
            read_req_valid: Signal::default(),
            read_req_ready: Signal::default(),
            read_req_addr: Signal::default(),
            read_req_bytes: Signal::default(),
            read_resp_valid: Signal::default(),
            read_resp_ready: Signal::default(),
            read_resp_data: Signal::default(),
            read_resp_last: Signal::default(),
            read_resp_error: Signal::default(),
            wqe_valid: Signal::default(),
            wqe_ready: Signal::default(),
            wqe_data: Signal::default(),
            wqe_queue: Signal::default(),
            wqe_position: Signal::default(),
            wqe_remaining: Signal::default(),
            wqe_error: Signal::default(),
            busy: Signal::default(),
            send_queues: Constant::new(2.into()),
            word_low: Constant::new(word_of("addr").into()),
            word_high: Constant::new((word_of("addr") + 1).into()),
            word_log: Constant::new(word_of("log_blocks").into()),
            log_at: Constant::new((SendQueueEntry::field("log_blocks").start as u64 % 32).into()),
            word_enable: Constant::new(word_of("enable").into()),
            cfg_here: Signal::default(),
            cfg_enable: Signal::default(),
            entry_low: Ram::default(),
            entry_high: Ram::default(),
            entry_log: Ram::default(),
            positions: Ram::default(),
            lives: Lutram::default(),
            doorbells: PromptFifo::default(),
            state: DFF::default(),
            queue: DFF::default(),
            life: DFF::default(),
            target: DFF::default(),
            base: DFF::default(),
            position: DFF::default(),
            difference: DFF::default(),
            blocks: DFF::default(),
            remaining: DFF::default(),
            gone: DFF::default(),
            first: DFF::default(),
            one: Constant::new(1.into()),
            entry_blocks: Signal::default(),
            entry: Signal::default(),
            offset: DFF::default(),
            behind: DFF::default(),
            wanted: Signal::default(),
            to_end: Signal::default(),
            most: Signal::default(),
            cut: DFF::default(),
            cut_addr: DFF::default(),
            batches: Batches::default(),
        }
    }
}

impl Logic for Queue {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self, clk, state, queue, life, target, base, position, difference, blocks, remaining,
            gone, first, offset, behind, cut, cut_addr
        );

        // The host writes a send queue's entry.
        self.cfg_here.next = self.cfg_valid.val()
            && (self.cfg_table.val() == self.send_queues.val())
            && !self.cfg_index.val().get_bits::<2>(8).any();
        self.cfg_enable.next =
            self.cfg_here.val() && (self.cfg_word.val() == self.word_enable.val());
        self.entry_low.clk.next = self.clk.val();
        self.entry_low.write_lanes.next = bit_cast::<1, 1>(
            (self.cfg_here.val() && (self.cfg_word.val() == self.word_low.val())).into(),
        );
        self.entry_low.write_address.next = self.cfg_index.val().get_bits::<8>(0);
        self.entry_low.write_data.next = self.cfg_data.val();
        self.entry_high.clk.next = self.clk.val();
        self.entry_high.write_lanes.next = bit_cast::<1, 1>(
            (self.cfg_here.val() && (self.cfg_word.val() == self.word_high.val())).into(),
        );
        self.entry_high.write_address.next = self.cfg_index.val().get_bits::<8>(0);
        self.entry_high.write_data.next = self.cfg_data.val();
        self.entry_log.clk.next = self.clk.val();
        self.entry_log.write_lanes.next = bit_cast::<1, 1>(
            (self.cfg_here.val() && (self.cfg_word.val() == self.word_log.val())).into(),
        );
        self.entry_log.write_address.next = self.cfg_index.val().get_bits::<8>(0);
        self.entry_log.write_data.next =
            self.cfg_data.val().get_bits::<5>(self.log_at.val().index());
        self.lives.clk.next = self.clk.val();
        self.lives.read_address[0].next = self.cfg_index.val().get_bits::<8>(0);
        self.lives.write_enable.next = self.cfg_enable.val();
        self.lives.write_address.next = self.cfg_index.val().get_bits::<8>(0);
        self.lives.write_data.next = self.lives.read_data[0].val() + 1;

        // Doorbells wait, each with its queue's life.
        self.lives.read_address[1].next = self.doorbell_queue.val();
        self.doorbells.clk.next = self.clk.val();
        self.doorbells.rst.next = self.rst.val();
        self.doorbells.in_valid.next = self.doorbell_valid.val();
        self.doorbells.in_data.next = bit_cast::<48, 32>(self.doorbell_position.val())
            | (bit_cast::<48, 8>(self.doorbell_queue.val()) << 32)
            | (bit_cast::<48, 8>(self.lives.read_data[1].val()) << 40);
        self.doorbell_ready.next = self.doorbells.in_ready.val();

        // The entry of the queue that is at work, or will be.
        self.entry.next = self.queue.q.val();
        if self.state.q.val() == QueueState::Idle {
            self.entry.next = self.doorbells.out_data.val().get_bits::<8>(32);
        }
        self.entry_low.read_enable.next = true;
        self.entry_low.read_address.next = self.entry.val();
        self.entry_high.read_enable.next = true;
        self.entry_high.read_address.next = self.entry.val();
        self.entry_log.read_enable.next = true;
        self.entry_log.read_address.next = self.entry.val();
        self.positions.clk.next = self.clk.val();
        self.positions.read_enable.next = true;
        self.positions.read_address.next = self.entry.val();
        self.lives.read_address[2].next = self.queue.q.val();
        self.gone.d.next = (self.lives.read_data[2].val() != self.life.q.val())
            || self.queue_halted.val().get_bit(self.queue.q.val().index());

        self.positions.write_lanes.next = bit_cast::<1, 1>(self.cfg_enable.val().into());
        self.positions.write_address.next = self.cfg_index.val().get_bits::<8>(0);
        self.positions.write_data.next = bits::<32>(0);
        self.entry_blocks.next = self.one.val() << self.entry_log.read_data.val();
        // The next read has 16 blocks, or what is left of the ring or of the batch.
        self.wanted.next = self.remaining.q.val();
        if self.state.q.val() == QueueState::Judge {
            self.wanted.next = self.difference.q.val().get_bits::<17>(0);
        }
        self.to_end.next = 16.into();
        if !self.behind.q.val().get_bits::<13>(4).any() {
            self.to_end.next = self.behind.q.val().get_bits::<5>(0) + 1;
        }
        self.most.next = self.to_end.val();
        if !self.wanted.val().get_bits::<13>(4).any()
            && (self.wanted.val().get_bits::<5>(0) < self.to_end.val())
        {
            self.most.next = self.wanted.val().get_bits::<5>(0);
        }
        self.doorbells.out_ready.next = false;
        self.read_req_valid.next = false;
        self.batches.read_valid.next = false;
        match self.state.q.val() {
            QueueState::Idle => {
                self.doorbells.out_ready.next = true;
                self.target.d.next = self.doorbells.out_data.val().get_bits::<32>(0);
                self.queue.d.next = self.doorbells.out_data.val().get_bits::<8>(32);
                self.life.d.next = self.doorbells.out_data.val().get_bits::<8>(40);
                if self.doorbells.out_valid.val() {
                    self.state.d.next = QueueState::Compare;
                }
            }
            QueueState::Compare => {
                self.base.d.next = bit_cast::<64, 32>(self.entry_low.read_data.val())
                    | (bit_cast::<64, 32>(self.entry_high.read_data.val()) << 32);
                self.blocks.d.next = self.entry_blocks.val();
                self.offset.d.next = self.positions.read_data.val().get_bits::<17>(0)
                    & (self.entry_blocks.val() - 1);
                self.behind.d.next = !self.positions.read_data.val().get_bits::<17>(0)
                    & (self.entry_blocks.val() - 1);
                self.position.d.next = self.positions.read_data.val();
                self.difference.d.next = self.target.q.val() - self.positions.read_data.val();
                self.state.d.next = QueueState::Judge;
            }
            QueueState::Judge => {
                self.remaining.d.next = self.difference.q.val().get_bits::<17>(0);
                self.first.d.next = true;
                self.cut.d.next = self.most.val();
                self.cut_addr.d.next =
                    self.base.q.val() + (bit_cast::<64, 17>(self.offset.q.val()) << 6);
                if self.gone.q.val()
                    || !self.difference.q.val().any()
                    || (self.difference.q.val() > bit_cast::<32, 17>(self.blocks.q.val()))
                {
                    self.state.d.next = QueueState::Idle;
                } else {
                    self.state.d.next = QueueState::Request;
                }
            }
            QueueState::Measure => {
                self.offset.d.next =
                    self.position.q.val().get_bits::<17>(0) & (self.blocks.q.val() - 1);
                self.behind.d.next =
                    !self.position.q.val().get_bits::<17>(0) & (self.blocks.q.val() - 1);
                self.state.d.next = QueueState::Cut;
            }
            QueueState::Cut => {
                self.cut.d.next = self.most.val();
                self.cut_addr.d.next =
                    self.base.q.val() + (bit_cast::<64, 17>(self.offset.q.val()) << 6);
                self.state.d.next = QueueState::Request;
            }
            QueueState::Request => {
                self.read_req_valid.next = self.batches.read_ready.val();
                if self.batches.read_ready.val() && self.read_req_ready.val() {
                    self.batches.read_valid.next = true;
                    self.first.d.next = false;
                    self.position.d.next =
                        self.position.q.val() + bit_cast::<32, 5>(self.cut.q.val());
                    self.remaining.d.next =
                        self.remaining.q.val() - bit_cast::<17, 5>(self.cut.q.val());
                    if self.remaining.q.val() == bit_cast::<17, 5>(self.cut.q.val()) {
                        self.state.d.next = QueueState::Finish;
                    } else {
                        self.state.d.next = QueueState::Measure;
                    }
                }
            }
            QueueState::Finish => {
                // A queue that was enabled anew keeps its new position.
                if !self.cfg_enable.val() {
                    self.state.d.next = QueueState::Idle;
                    self.positions.write_lanes.next = bit_cast::<1, 1>(
                        (self.lives.read_data[2].val() == self.life.q.val()).into(),
                    );
                    self.positions.write_address.next = self.queue.q.val();
                    self.positions.write_data.next = self.position.q.val();
                }
            }
        }
        self.read_req_addr.next = self.cut_addr.q.val();
        self.read_req_bytes.next = bit_cast::<13, 5>(self.cut.q.val()) << 6;

        // Its reads come back as blocks.
        self.batches.clk.next = self.clk.val();
        self.batches.rst.next = self.rst.val();
        self.batches.read_queue.next = self.queue.q.val();
        self.batches.read_life.next = self.life.q.val();
        self.batches.read_position.next = self.position.q.val();
        self.batches.read_remaining.next = self.remaining.q.val();
        self.batches.read_first.next = self.first.q.val();
        self.batches.queue_halted.next = self.queue_halted.val();
        self.lives.read_address[3].next = self.batches.life_queue.val();
        self.batches.life_now.next = self.lives.read_data[3].val();
        self.batches.resp_valid.next = self.read_resp_valid.val();
        self.batches.resp_data.next = self.read_resp_data.val();
        self.batches.resp_last.next = self.read_resp_last.val();
        self.batches.resp_error.next = self.read_resp_error.val();
        self.read_resp_ready.next = self.batches.resp_ready.val();
        self.wqe_valid.next = self.batches.wqe_valid.val();
        self.batches.wqe_ready.next = self.wqe_ready.val();
        self.wqe_data.next = self.batches.wqe_data.val();
        self.wqe_queue.next = self.batches.wqe_queue.val();
        self.wqe_position.next = self.batches.wqe_position.val();
        self.wqe_remaining.next = self.batches.wqe_remaining.val();
        self.wqe_error.next = self.batches.wqe_error.val();

        self.busy.next = self.doorbells.out_valid.val()
            || (self.state.q.val() != QueueState::Idle)
            || self.batches.at_work.val();

        if self.rst.val() {
            self.state.d.next = QueueState::Idle;
        }
    }
}
