//! Takes blocks of a work queue apart into granules.

use crate::context::QUEUE;
use crate::request::Part;
use drdma_abi::work_request::{BLOCK, GRANULE};
use drdma_emit::prelude::*;

/// Turns a stream of 64 B blocks into a stream of 16 B granules.
///
/// Latency 2 cycles; one granule a cycle. [`take`](Self::take) asks for the next granule,
/// [`skip`](Self::skip) for the first one of the next block; both count only while a granule is
/// offered. `wqe_ready` depends on both of them, which must not depend on anybody's ready.
///
/// # Inputs
/// `clk`, `rst`, the stream `wqe`, `take`, `skip`.
///
/// # Outputs
/// `wqe_ready`, `granule_*`.
#[derive(LogicBlock, Default)]
pub struct Unpacker {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    /// A block is offered.
    pub wqe_valid: Signal<In, Bit>,
    /// The block is taken in this cycle.
    pub wqe_ready: Signal<Out, Bit>,
    /// The block.
    pub wqe_data: Signal<In, Bits<512>>,
    /// Number of the queue that the block comes from.
    pub wqe_queue: Signal<In, Bits<QUEUE>>,
    /// Position of the block in the queue.
    pub wqe_position: Signal<In, Bits<32>>,
    /// Blocks of the batch from this one on.
    pub wqe_remaining: Signal<In, Bits<17>>,
    /// The block could not be read.
    pub wqe_error: Signal<In, Bit>,
    /// The block is the first one of a turn.
    pub wqe_begins: Signal<In, Bit>,
    /// Part of its message that the block's entry stands for.
    pub wqe_part: Signal<In, Part>,

    /// A granule is offered.
    pub granule_valid: Signal<Out, Bit>,
    /// The granule.
    pub granule_data: Signal<Out, Bits<128>>,
    /// Words of 32 bits of the granule that are not 0, a bit each.
    pub granule_words: Signal<Out, Bits<4>>,
    /// The granule is its block's first one.
    pub granule_first: Signal<Out, Bit>,
    /// The granule is its block's last one.
    pub granule_last: Signal<Out, Bit>,
    /// Queue of the granule's block.
    pub granule_queue: Signal<Out, Bits<QUEUE>>,
    /// Position of the granule's block in its queue.
    pub granule_position: Signal<Out, Bits<32>>,
    /// Blocks of the batch from the granule's block on.
    pub granule_remaining: Signal<Out, Bits<17>>,
    /// The granule's block could not be read.
    pub granule_error: Signal<Out, Bit>,
    /// The granule's block is the first one of a turn.
    pub granule_begins: Signal<Out, Bit>,
    /// Part of its message that the granule's block stands for.
    pub granule_part: Signal<Out, Part>,
    /// The granule's entry is sent in parts, as far as its block says.
    pub granule_parted: Signal<Out, Bit>,
    /// A block that is held belongs to an entry that is sent in parts.
    pub parted: Signal<Out, Bit>,
    /// The rest of the granule's block; valid with the block's first granule.
    pub granule_rest: Signal<Out, Bits<384>>,
    /// The granule is taken.
    pub take: Signal<In, Bit>,
    /// The granule and the rest of its block are dropped.
    pub skip: Signal<In, Bit>,

    block_valid: DFF<Bit>,
    block: DFF<Bits<512>>,
    block_index: DFF<Bits<2>>,
    block_queue: DFF<Bits<QUEUE>>,
    block_position: DFF<Bits<32>>,
    block_remaining: DFF<Bits<17>>,
    block_error: DFF<Bit>,
    block_begins: DFF<Bit>,
    block_part: DFF<Part>,
    block_parted: DFF<Bit>,
    /// The block that is offered is of an entry that is sent in parts.
    wqe_parted: Signal<Local, Bit>,

    valid: DFF<Bit>,
    data: DFF<Bits<128>>,
    words: DFF<Bits<4>>,
    index: DFF<Bits<2>>,
    first: DFF<Bit>,
    queue: DFF<Bits<QUEUE>>,
    position: DFF<Bits<32>>,
    remaining: DFF<Bits<17>>,
    error: DFF<Bit>,
    begins: DFF<Bit>,
    part: DFF<Part>,
    is_parted: DFF<Bit>,

    /// The granule register is free at the end of this cycle.
    free: Signal<Local, Bit>,
    /// The rest of the block register is dropped in this cycle.
    drop_block: Signal<Local, Bit>,
    /// A granule moves from the block register to the granule register.
    advance: Signal<Local, Bit>,
    direct: Signal<Local, Bit>,
    /// The block register's next granule, and which of its words are not 0.
    next_data: Signal<Local, Bits<128>>,
    next_words: Signal<Local, Bits<4>>,
    /// Words of the first granule of the block that is offered that are not 0.
    first_words: Signal<Local, Bits<4>>,
    /// The block register is free at the end of this cycle.
    block_free: Signal<Local, Bit>,
}

const _: () = assert!(BLOCK == 64 && GRANULE == 16, "a block is four granules of 128 bits");

impl Logic for Unpacker {
    #[hdl_gen]
    fn update(&mut self) {
        self.wqe_parted.next = self.wqe_part.val().pauses || self.wqe_part.val().first.any();
        self.free.next = !self.valid.q.val() || self.take.val() || self.skip.val();
        // Behind the granule that is skipped, the block register holds the rest of its block,
        // unless that granule was the last one.
        self.drop_block.next = self.valid.q.val() && self.skip.val() && (self.index.q.val() != 3);
        self.advance.next = self.block_valid.q.val() && self.free.val() && !self.drop_block.val();
        // The first granule of a block passes the block's register if it finds no other before it, or dropped ones.
        self.direct.next = self.wqe_valid.val()
            && (!self.block_valid.q.val() || self.drop_block.val())
            && self.free.val();
        self.block_free.next = !self.block_valid.q.val()
            || self.drop_block.val()
            || (self.advance.val() && (self.block_index.q.val() == 3));
        self.wqe_ready.next = self.block_free.val();

        if self.block_free.val() {
            self.block_valid.d.next = self.wqe_valid.val();
            self.block_index.d.next = 0.into();
            if self.direct.val() {
                self.block_index.d.next = 1.into();
            }
            self.block.d.next = self.wqe_data.val();
            self.block_queue.d.next = self.wqe_queue.val();
            self.block_position.d.next = self.wqe_position.val();
            self.block_remaining.d.next = self.wqe_remaining.val();
            self.block_error.d.next = self.wqe_error.val();
            self.block_begins.d.next = self.wqe_begins.val();
            self.block_part.d.next = self.wqe_part.val();
            self.block_parted.d.next = self.wqe_parted.val();
        } else if self.advance.val() {
            self.block_index.d.next = self.block_index.q.val() + 1;
        }
        if self.free.val() {
            self.valid.d.next = self.advance.val() || self.direct.val();
        }
        self.next_data.next =
            self.block.q.val().get_bits::<128>(self.block_index.q.val().index() * 128);
        self.next_words.next = 0.into();
        self.first_words.next = 0.into();
        for k in 0..4 {
            if self.next_data.val().get_bits::<32>(32 * k).any() {
                self.next_words.next = self.next_words.val().replace_bit(k, true);
            }
            if self.wqe_data.val().get_bits::<32>(32 * k).any() {
                self.first_words.next = self.first_words.val().replace_bit(k, true);
            }
        }
        if self.advance.val() {
            self.data.d.next = self.next_data.val();
            self.words.d.next = self.next_words.val();
            self.index.d.next = self.block_index.q.val();
            self.first.d.next = self.block_index.q.val() == 0;
            self.queue.d.next = self.block_queue.q.val();
            self.position.d.next = self.block_position.q.val();
            self.remaining.d.next = self.block_remaining.q.val();
            self.error.d.next = self.block_error.q.val();
            self.begins.d.next = self.block_begins.q.val();
            self.part.d.next = self.block_part.q.val();
            self.is_parted.d.next = self.block_parted.q.val();
        }
        if self.direct.val() {
            self.data.d.next = self.wqe_data.val().get_bits::<128>(0);
            self.words.d.next = self.first_words.val();
            self.index.d.next = 0.into();
            self.first.d.next = true;
            self.queue.d.next = self.wqe_queue.val();
            self.position.d.next = self.wqe_position.val();
            self.remaining.d.next = self.wqe_remaining.val();
            self.error.d.next = self.wqe_error.val();
            self.begins.d.next = self.wqe_begins.val();
            self.part.d.next = self.wqe_part.val();
            self.is_parted.d.next = self.wqe_parted.val();
        }
        if self.rst.val() {
            self.block_valid.d.next = false;
            self.valid.d.next = false;
        }

        self.granule_valid.next = self.valid.q.val();
        self.granule_data.next = self.data.q.val();
        self.granule_words.next = self.words.q.val();
        self.granule_first.next = self.first.q.val();
        self.granule_last.next = self.index.q.val() == 3;
        self.granule_queue.next = self.queue.q.val();
        self.granule_position.next = self.position.q.val();
        self.granule_remaining.next = self.remaining.q.val();
        self.granule_error.next = self.error.q.val();
        self.granule_begins.next = self.begins.q.val();
        self.granule_part.next = self.part.q.val();
        self.granule_parted.next = self.is_parted.q.val();
        self.parted.next = (self.wqe_valid.val() && self.wqe_parted.val())
            || (self.block_valid.q.val() && self.block_parted.q.val())
            || (self.valid.q.val() && self.is_parted.q.val());
        self.granule_rest.next = self.block.q.val().get_bits::<384>(128);
    }
}
