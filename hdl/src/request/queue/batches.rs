//! The second half of [`Queue`](super::Queue): it remembers the reads that were requested, in order,
//! and makes blocks of what they bring.

use super::turns::Turns;
use super::{BEHIND, LENGTH, LIFE, PACE};
use crate::context::{Flags, QUEUE};
use crate::primitive::{Fifo, Join, ReadySlice};
use drdma_abi::Layout;
use drdma_abi::work_request::WqeHeader;
use drdma_emit::prelude::*;

/// Up to 32 reads; one block per cycle, and one cycle more before each turn, and in a limited turn before each entry.
///
/// Whether a turn leaves or is dropped is decided with its first block: by whether its queue is
/// halted or was enabled anew, and whether a turn of it was cut before, unless this one is `fresh`, which is
/// fetched from where that one was cut. [`Turns`] says where a turn ends before it is used up; it is *cut* there,
/// and its other blocks are dropped.
#[derive(LogicBlock)]
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
    /// A quarter of the room is left, and more.
    pub few: Signal<Out, Bit>,
    /// Its queue.
    pub read_queue: Signal<In, Bits<QUEUE>>,
    /// The queue's life when the doorbell was rung.
    pub read_life: Signal<In, Bits<LIFE>>,
    /// Position of its first block.
    pub read_position: Signal<In, Bits<32>>,
    /// Blocks of the batch from that one on.
    pub read_remaining: Signal<In, Bits<17>>,
    /// The first read of its turn.
    pub read_first: Signal<In, Bit>,
    /// The turn begins where one of its queue was cut, or is its queue's first one.
    pub read_fresh: Signal<In, Bit>,
    /// Its turn may end within its batch,
    pub read_limited: Signal<In, Bit>,
    /// in so many blocks.
    pub read_left: Signal<In, Bits<LENGTH>>,
    /// Its turn is never cut.
    pub read_shared: Signal<In, Bit>,
    /// Its turn has one entry while others wait.
    pub read_tries: Signal<In, Bit>,
    /// Its queue pair's peer is silent.
    pub read_silent: Signal<In, Bit>,
    /// Another queue waits for the one that is being fetched from.
    pub blocked: Signal<In, Bit>,
    /// Blocks of a turn while others wait.
    pub limit: Signal<In, Bits<PACE>>,

    // ------------------------------------------------------------------ the queues' states
    /// The queue whose state is asked for in the next cycle.
    pub next_queue: Signal<Out, Bits<QUEUE>>,
    /// That of the cycle before is halted by an error.
    pub queue_halted: Signal<In, Bit>,
    /// Its life.
    pub life_now: Signal<In, Bits<LIFE>>,

    /// What is known of a queue is cleared, after power-up:
    pub wipe_valid: Signal<In, Bit>,
    /// which.
    pub wipe_index: Signal<In, Bits<QUEUE>>,

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
    /// It is the first one of a turn.
    pub wqe_begins: Signal<Out, Bit>,

    // ------------------------------------------------------------------ turns that are cut
    /// A turn is cut.
    pub cut_valid: Signal<Out, Bit>,
    /// Its queue.
    pub cut_queue: Signal<Out, Bits<QUEUE>>,
    /// Its life.
    pub cut_life: Signal<Out, Bits<LIFE>>,
    /// Position of the first block that has not left.
    pub cut_position: Signal<Out, Bits<32>>,
    /// See [`Turns`].
    pub cut_length: Signal<Out, Bits<LENGTH>>,
    /// The turn took too long.
    pub cut_slow: Signal<Out, Bit>,
    /// Its blocks.
    pub cut_had: Signal<Out, Bits<PACE>>,

    /// Blocks of queue pairs whose peers are not silent are on their way.
    pub heard_at_work: Signal<Out, Bit>,
    /// Turns that may be cut are under way.
    pub own_at_work: Signal<Out, Bit>,
    /// There are turns of other queues behind the one at hand,
    pub behind: Signal<Out, Bit>,
    /// and so many that are whole batches.
    pub wholes_behind: Signal<Out, Bits<BEHIND>>,
    /// Blocks are being read,
    pub reading: Signal<Out, Bit>,
    /// of this queue.
    pub queue_now: Signal<Out, Bits<QUEUE>>,
    /// Blocks are on their way.
    pub at_work: Signal<Out, Bit>,

    granules_at: Constant<Bits<9>>,
    reads: Fifo<READ, 5, 6>,
    last_queue: DFF<Bits<QUEUE>>,
    /// The read's queue is not that of the one before.
    other: Signal<Local, Bit>,
    others: DFF<Bits<BEHIND>>,
    /// Turns among them that are whole batches.
    wholes: DFF<Bits<BEHIND>>,
    whole_comes: Signal<Local, Bit>,
    whole_goes: Signal<Local, Bit>,
    comes: Signal<Local, Bit>,
    goes: Signal<Local, Bit>,
    turns: Turns,
    /// Queues of which a turn was cut, and no fresh one has come since.
    cut_queues: Flags<QUEUE, 1>,
    load: Signal<Local, Bit>,

    // The read whose beats are next.
    busy: DFF<Bit>,
    queue: DFF<Bits<QUEUE>>,
    life: DFF<Bits<LIFE>>,
    position: DFF<Bits<32>>,
    remaining: DFF<Bits<17>>,
    fresh: DFF<Bit>,
    limited: DFF<Bit>,
    shared: DFF<Bit>,
    tries: DFF<Bit>,
    silent: DFF<Bit>,
    /// Blocks that the turn may have while others wait.
    most: Signal<Local, Bits<PACE>>,
    /// Reads of queue pairs whose peers are not silent.
    heard_reads: DFF<Bits<BEHIND>>,
    heard_comes: Signal<Local, Bit>,
    heard_goes: Signal<Local, Bit>,
    /// Reads of turns that may be cut.
    own_reads: DFF<Bits<BEHIND>>,
    own_comes: Signal<Local, Bit>,
    own_goes: Signal<Local, Bit>,
    left: DFF<Bits<LENGTH>>,
    /// No block of its turn has been taken.
    starting: DFF<Bit>,
    /// `dropping` tells the fate of its turn.
    judged: DFF<Bit>,
    dropping: DFF<Bit>,
    open: Signal<Local, Bit>,
    /// The turn ends before the block that is offered.
    cut: Signal<Local, Bit>,
    leaves: Signal<Local, Bit>,
    take: Signal<Local, Bit>,
    done: Signal<Local, Bit>,

    side: Signal<Local, Bits<SIDE>>,
    merged: Join<512, SIDE, BLOCK>,
    slice: ReadySlice<BLOCK>,
}

/// Bits of a read: `queue` 12, `life` 16, `position` 32, `remaining` 17, `first`, `fresh`, `limited`, `other`, `left` 13, `shared`, `tries`,
/// `silent`.
const READ: usize = 97;
/// Bits beside a block: `queue` 12, `position` 32, `remaining` 17, `error`, `begins`.
const SIDE: usize = 63;
/// Bits of a block, with those beside it.
const BLOCK: usize = 512 + SIDE;

const _: () = assert!(
    QUEUE == 12 && LIFE == 16 && LENGTH == 13,
    "the fields of reads and blocks stand elsewhere"
);
const _: () = assert!(BEHIND == 6, "up to 32 turns are fetched");

impl Default for Batches {
    fn default() -> Self {
        Self {
            clk: Signal::default(),
            rst: Signal::default(),
            read_valid: Signal::default(),
            read_ready: Signal::default(),
            few: Signal::default(),
            read_queue: Signal::default(),
            read_life: Signal::default(),
            read_position: Signal::default(),
            read_remaining: Signal::default(),
            read_first: Signal::default(),
            read_fresh: Signal::default(),
            read_limited: Signal::default(),
            read_left: Signal::default(),
            read_shared: Signal::default(),
            read_tries: Signal::default(),
            read_silent: Signal::default(),
            blocked: Signal::default(),
            limit: Signal::default(),
            next_queue: Signal::default(),
            queue_halted: Signal::default(),
            life_now: Signal::default(),
            wipe_valid: Signal::default(),
            wipe_index: Signal::default(),
            resp_valid: Signal::default(),
            resp_ready: Signal::default(),
            resp_data: Signal::default(),
            resp_last: Signal::default(),
            resp_error: Signal::default(),
            wqe_valid: Signal::default(),
            wqe_ready: Signal::default(),
            wqe_data: Signal::default(),
            wqe_queue: Signal::default(),
            wqe_position: Signal::default(),
            wqe_remaining: Signal::default(),
            wqe_error: Signal::default(),
            wqe_begins: Signal::default(),
            cut_valid: Signal::default(),
            cut_queue: Signal::default(),
            cut_life: Signal::default(),
            cut_position: Signal::default(),
            cut_length: Signal::default(),
            cut_slow: Signal::default(),
            cut_had: Signal::default(),
            heard_at_work: Signal::default(),
            own_at_work: Signal::default(),
            behind: Signal::default(),
            wholes_behind: Signal::default(),
            reading: Signal::default(),
            queue_now: Signal::default(),
            at_work: Signal::default(),
            granules_at: Constant::new((WqeHeader::field("granules").start as u64).into()),
            reads: Fifo::default(),
            last_queue: DFF::default(),
            other: Signal::default(),
            others: DFF::default(),
            wholes: DFF::default(),
            whole_comes: Signal::default(),
            whole_goes: Signal::default(),
            comes: Signal::default(),
            goes: Signal::default(),
            turns: Turns::default(),
            cut_queues: Flags::default(),
            load: Signal::default(),
            busy: DFF::default(),
            queue: DFF::default(),
            life: DFF::default(),
            position: DFF::default(),
            remaining: DFF::default(),
            fresh: DFF::default(),
            limited: DFF::default(),
            shared: DFF::default(),
            tries: DFF::default(),
            silent: DFF::default(),
            most: Signal::default(),
            heard_reads: DFF::default(),
            heard_comes: Signal::default(),
            heard_goes: Signal::default(),
            own_reads: DFF::default(),
            own_comes: Signal::default(),
            own_goes: Signal::default(),
            left: DFF::default(),
            starting: DFF::default(),
            judged: DFF::default(),
            dropping: DFF::default(),
            open: Signal::default(),
            cut: Signal::default(),
            leaves: Signal::default(),
            take: Signal::default(),
            done: Signal::default(),
            side: Signal::default(),
            merged: Join::default(),
            slice: ReadySlice::default(),
        }
    }
}

impl Logic for Batches {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clk,
            busy,
            queue,
            life,
            position,
            remaining,
            starting,
            judged,
            dropping,
            fresh,
            limited,
            left,
            last_queue,
            shared,
            own_reads,
            others,
            wholes,
            tries,
            silent,
            heard_reads
        );
        self.reads.clk.next = self.clk.val();
        self.reads.rst.next = self.rst.val();
        self.other.next =
            self.read_first.val() && (self.read_queue.val() != self.last_queue.q.val());
        self.reads.in_valid.next = self.read_valid.val();
        self.reads.in_data.next = bit_cast::<READ, QUEUE>(self.read_queue.val())
            | (bit_cast::<READ, LIFE>(self.read_life.val()) << 12)
            | (bit_cast::<READ, 32>(self.read_position.val()) << 28)
            | (bit_cast::<READ, 17>(self.read_remaining.val()) << 60)
            | (bit_cast::<READ, 1>(self.read_first.val().into()) << 77)
            | (bit_cast::<READ, 1>(self.read_fresh.val().into()) << 78)
            | (bit_cast::<READ, 1>(self.read_limited.val().into()) << 79)
            | (bit_cast::<READ, 1>(self.other.val().into()) << 80)
            | (bit_cast::<READ, LENGTH>(self.read_left.val()) << 81)
            | (bit_cast::<READ, 1>(self.read_shared.val().into()) << 94)
            | (bit_cast::<READ, 1>(self.read_tries.val().into()) << 95)
            | (bit_cast::<READ, 1>(self.read_silent.val().into()) << 96);
        self.read_ready.next = self.reads.in_ready.val();
        self.few.next = !self.reads.count.val().get_bit(5)
            && !(self.reads.count.val().get_bit(4) && self.reads.count.val().get_bit(3));
        if self.read_valid.val() && self.reads.in_ready.val() {
            self.last_queue.d.next = self.read_queue.val();
        }

        // Where the turn ends.
        self.turns.clk.next = self.clk.val();
        self.turns.offered.next = self.busy.q.val() && self.resp_valid.val();
        self.turns.granules.next =
            self.resp_data.val().get_bits::<32>(self.granules_at.val().index());
        self.turns.unread.next = self.resp_error.val();
        self.turns.remaining.next = self.remaining.q.val();
        self.turns.left.next = self.left.q.val();
        self.turns.limited.next = self.limited.q.val();
        self.turns.others.next =
            !self.shared.q.val() && (self.others.q.val().any() || self.blocked.val());
        self.most.next = self.limit.val();
        if self.tries.q.val() {
            self.most.next = 1.into();
        }
        self.turns.limit.next = self.most.val();

        self.open.next = self.busy.q.val() && (!self.starting.q.val() || self.judged.q.val());
        self.leaves.next = self.open.val()
            && !self.dropping.q.val()
            && !self.turns.looking.val()
            && !self.turns.ends.val();
        self.cut.next = self.resp_valid.val()
            && self.open.val()
            && !self.dropping.q.val()
            && !self.turns.looking.val()
            && self.turns.ends.val();
        self.resp_ready.next = (self.open.val()
            && (self.dropping.q.val() || (!self.turns.looking.val() && self.turns.ends.val())))
            || (self.leaves.val() && self.slice.in_ready.val());
        self.take.next = self.resp_valid.val()
            && ((self.open.val()
                && (self.dropping.q.val()
                    || (!self.turns.looking.val() && self.turns.ends.val())))
                || (self.leaves.val() && self.slice.in_ready.val()));
        self.turns.taken.next =
            self.resp_valid.val() && self.leaves.val() && self.slice.in_ready.val();
        self.done.next = self.take.val() && self.resp_last.val();
        self.load.next = self.reads.out_valid.val() && (!self.busy.q.val() || self.done.val());
        self.reads.out_ready.next = !self.busy.q.val() || self.done.val();
        self.turns.begins.next = self.load.val() && self.reads.out_data.val().get_bit(77);
        self.turns.goes_on.next =
            !self.reads.out_data.val().get_bit(78) && !self.reads.out_data.val().get_bit(80);

        if self.starting.q.val() {
            self.judged.d.next = true;
            self.dropping.d.next = (self.life_now.val() != self.life.q.val())
                || self.queue_halted.val()
                || (self.cut_queues.flag[0].val() && !self.fresh.q.val());
        }
        if self.take.val() {
            self.starting.d.next = false;
            self.dropping.d.next = self.dropping.q.val() || self.cut.val();
            self.left.d.next = self.left.q.val() - 1;
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
            self.fresh.d.next = self.reads.out_data.val().get_bit(78);
            self.limited.d.next = self.reads.out_data.val().get_bit(79);
            self.shared.d.next = self.reads.out_data.val().get_bit(94);
            self.tries.d.next = self.reads.out_data.val().get_bit(95);
            self.silent.d.next = self.reads.out_data.val().get_bit(96);
            self.left.d.next = self.reads.out_data.val().get_bits::<LENGTH>(81);
            self.judged.d.next = false;
        }

        // Turns of other queues.
        self.comes.next = self.read_valid.val() && self.reads.in_ready.val() && self.other.val();
        self.goes.next = self.load.val() && self.reads.out_data.val().get_bit(80);
        if self.comes.val() && !self.goes.val() {
            self.others.d.next = self.others.q.val() + 1;
        } else if self.goes.val() && !self.comes.val() {
            self.others.d.next = self.others.q.val() - 1;
        }
        self.whole_comes.next = self.comes.val() && !self.read_limited.val();
        self.whole_goes.next = self.goes.val() && !self.reads.out_data.val().get_bit(79);
        if self.whole_comes.val() && !self.whole_goes.val() {
            self.wholes.d.next = self.wholes.q.val() + 1;
        } else if self.whole_goes.val() && !self.whole_comes.val() {
            self.wholes.d.next = self.wholes.q.val() - 1;
        }
        self.wholes_behind.next = self.wholes.q.val();
        self.own_comes.next =
            self.read_valid.val() && self.reads.in_ready.val() && !self.read_shared.val();
        self.own_goes.next = self.load.val() && !self.reads.out_data.val().get_bit(94);
        if self.own_comes.val() && !self.own_goes.val() {
            self.own_reads.d.next = self.own_reads.q.val() + 1;
        } else if self.own_goes.val() && !self.own_comes.val() {
            self.own_reads.d.next = self.own_reads.q.val() - 1;
        }
        self.own_at_work.next =
            self.own_reads.q.val().any() || (self.busy.q.val() && !self.shared.q.val());
        self.heard_comes.next =
            self.read_valid.val() && self.reads.in_ready.val() && !self.read_silent.val();
        self.heard_goes.next = self.load.val() && !self.reads.out_data.val().get_bit(96);
        if self.heard_comes.val() && !self.heard_goes.val() {
            self.heard_reads.d.next = self.heard_reads.q.val() + 1;
        } else if self.heard_goes.val() && !self.heard_comes.val() {
            self.heard_reads.d.next = self.heard_reads.q.val() - 1;
        }
        self.heard_at_work.next =
            self.heard_reads.q.val().any() || (self.busy.q.val() && !self.silent.q.val());
        self.behind.next = self.others.q.val().any();
        self.reading.next = self.busy.q.val();
        self.queue_now.next = self.queue.q.val();

        // What is cut, up to where it is fetched anew.
        self.cut_queues.clk.next = self.clk.val();
        self.cut_queues.set_valid.next = self.cut.val();
        self.cut_queues.set_index.next = self.queue.q.val();
        self.cut_queues.clear_valid.next = self.starting.q.val()
            && !self.judged.q.val()
            && self.fresh.q.val()
            && self.busy.q.val();
        self.cut_queues.clear_index.next = self.queue.q.val();
        self.cut_queues.wipe_valid.next = self.wipe_valid.val();
        self.cut_queues.wipe_index.next = self.wipe_index.val();
        self.cut_queues.ahead[0].next = self.queue.d.val();
        self.cut_valid.next = self.cut.val();
        self.cut_queue.next = self.queue.q.val();
        self.cut_life.next = self.life.q.val();
        self.cut_position.next = self.position.q.val();
        self.cut_length.next = self.turns.length.val();
        self.cut_slow.next = self.turns.slow.val();
        self.cut_had.next = self.turns.had.val();

        self.next_queue.next = self.queue.d.val();

        self.side.next = bit_cast::<SIDE, QUEUE>(self.queue.q.val())
            | (bit_cast::<SIDE, 32>(self.position.q.val()) << 12)
            | (bit_cast::<SIDE, 17>(self.remaining.q.val()) << 44)
            | (bit_cast::<SIDE, 1>(self.resp_error.val().into()) << 61)
            | (bit_cast::<SIDE, 1>(self.starting.q.val().into()) << 62);
        self.merged.low.next = self.resp_data.val();
        self.merged.high.next = self.side.val();
        self.slice.clk.next = self.clk.val();
        self.slice.rst.next = self.rst.val();
        self.slice.in_valid.next = self.resp_valid.val() && self.leaves.val();
        self.slice.in_data.next = self.merged.whole.val();
        self.slice.out_ready.next = self.wqe_ready.val();
        self.wqe_valid.next = self.slice.out_valid.val();
        self.wqe_data.next = self.slice.out_data.val().get_bits::<512>(0);
        self.wqe_queue.next = self.slice.out_data.val().get_bits::<QUEUE>(512);
        self.wqe_position.next = self.slice.out_data.val().get_bits::<32>(524);
        self.wqe_remaining.next = self.slice.out_data.val().get_bits::<17>(556);
        self.wqe_error.next = self.slice.out_data.val().get_bit(573);
        self.wqe_begins.next = self.slice.out_data.val().get_bit(574);

        self.at_work.next =
            self.reads.count.val().any() || self.busy.q.val() || self.slice.out_valid.val();

        if self.rst.val() {
            self.busy.d.next = false;
            self.others.d.next = 0.into();
            self.wholes.d.next = 0.into();
            self.own_reads.d.next = 0.into();
            self.heard_reads.d.next = 0.into();
        }
    }
}
