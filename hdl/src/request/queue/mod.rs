//! Fetches the blocks of send queues' rings, doorbell by doorbell.
//!
//! Stands between the registers and the decoder. Doorbells of all queues wait in one FIFO. What a doorbell adds to
//! its ring, a *batch*, is read in pieces of up to 16 blocks, several ahead of the decoder. A batch is served in
//! one or more *turns*, between which others have theirs.
//!
//! Contract: 1,024 doorbells wait; one that adds nothing, more than its ring holds, or is for a
//! halted queue is dropped. One block leaves per cycle while its data are there (one cycle is lost
//! a turn); a doorbell's first read is requested 4 cycles after the doorbell, and one doorbell is
//! served in 5. A turn leaves whole:
//! a queue that halts loses those of its turns that have not begun. Writing a queue's `enable`
//! word also drops everything that was rung before.
//!
//! *Turns*: A turn is the whole batch if no other queue waits or is being served, else it is *limited*, to 256
//! blocks, or fewer the more others there are, down to 32. The rest of its batch goes behind the others (`rests`), and
//! is fetched from where the turn ends, although an entry may reach beyond it. The second half,
//! [`Batches`], knows better: it *cuts* a turn before an entry that is not whole, and also before one with which the turn
//! would go beyond its share while others wait. It says where (`cuts`), and drops all that comes of the queue up to the turn
//! that is fetched from there, a *fresh* one, which is the next one and long enough for that entry. A turn that
//! took too long is cut as well; the queue's turns are then as short as that one until its batch is over.
//! So no entry is ever cut, a queue alone is served without a break, and of several queues what is fetched twice is little.
//! A doorbell for a queue that has a rest becomes part of it.
//!
//! *Shared queues* take no turns: their requests and those of queue pairs' own queues name the same queue pairs, and
//! are to be in the order of the posts. A batch of a shared queue begins when all that was rung before it is over, unless that
//! is held, and is not cut; what is rung behind it comes behind it.
//!
//! A doorbell of a queue whose queue pair the keeper *holds* ([`Hold`]) is *parked* when its turn comes, and those of others go on. Parked
//! ones are looked at again in turns, one behind every 8 others or when there are none. 1,024 are parked; where there is no room for
//! another, it is served all the same. Doorbells tell positions: one that is served behind a newer one of its queue adds
//! nothing. Shared queues are never parked, and neither is what was fetched.

use crate::context::{INDEX, QP, QUEUE, Stamps, TableSelect};
use crate::primitive::fifo::Fifo;
use crate::primitive::{PromptFifo, Ram, RamStyle};
use drdma_abi::Layout;
use drdma_abi::register::SendQueueEntry;
use drdma_emit::prelude::hdl_gen;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

mod batches;
mod parking;
mod share;
#[cfg(test)]
mod tests;
mod turns;
#[cfg(test)]
mod with_host_read;

pub use batches::Batches;
pub use parking::Hold;
use parking::Parking;
use share::Share;

/// Where the fields of a queue's entry are among its words.
fn word_of(field: &str) -> u64 {
    (SendQueueEntry::field(field).start / 32) as u64
}

/// Bits of a queue's life. A doorbell is taken for one of its queue's present life if the host has written
/// `enable` words 65,536 times, or a multiple of that, since it was rung.
const LIFE: usize = 16;
/// Bits of a doorbell: `position` 32, `queue` 12.
const DOORBELL: usize = 32 + QUEUE;
/// Bits of one that is parked: `position` 32, `queue` 12, `life` 16.
const PARKED: usize = DOORBELL + LIFE;
/// Bits of a rest: `queue` 12, `life` 16.
const REST: usize = QUEUE + LIFE;
/// Bits of the blocks of an entry, or of a limited turn.
const LENGTH: usize = 13;
/// Bits of a number of turns that were fetched.
const BEHIND: usize = 6;
/// Bits of where a turn was cut: `queue` 12, `life` 16, `position` 32, `length` 13, `slow`, `had` 9.
const CUT: usize = QUEUE + LIFE + 32 + LENGTH + 1 + PACE;
/// Bits of the blocks that a turn may have if no entry needs more.
const PACE: usize = 9;
/// Bits of how far a queue is: `position` 32 (the next block to be fetched), `target` 32 (its last doorbell),
/// `queued` (it has a rest), `fresh` (its next turn is to be one), `pace` 9 (see [`Share`]).
const STANDING: usize = 66 + PACE;
const _: () = assert!(DOORBELL == 44, "a parked doorbell's life stands elsewhere");

/// What the unit that fetches is doing.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum QueueState {
    /// Waiting for a doorbell; its queue's entry is read with it.
    Idle,
    /// Comparing the doorbell with the queue's position.
    Compare,
    /// Dropping the doorbell, or beginning its turn and, if that is not limited, cutting its first read.
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
    pub doorbell_queue: Signal<In, Bits<QUEUE>>,
    /// The producer's position, in blocks.
    pub doorbell_position: Signal<In, Bits<32>>,

    // ------------------------------------------------------------------ queue pairs that are held
    /// A queue pair is held from now on, or is not any more.
    pub hold_valid: Signal<In, Bit>,
    /// Which.
    pub hold_qp: Signal<In, Bits<QP>>,
    /// It is.
    pub hold_held: Signal<In, Bit>,

    // ------------------------------------------------------------------ tables
    /// The host writes a word of a table.
    pub cfg_valid: Signal<In, Bit>,
    /// Which table; 2: send queues.
    pub cfg_table: Signal<In, Bits<3>>,
    /// Which entry.
    pub cfg_index: Signal<In, Bits<INDEX>>,
    /// Which word of it.
    pub cfg_word: Signal<In, Bits<4>>,
    /// The word.
    pub cfg_data: Signal<In, Bits<32>>,
    /// The queue whose state is asked for in the next cycle, before it is fetched from,
    pub fetch_next: Signal<Out, Bits<QUEUE>>,
    /// and whether that of the cycle before is halted by an error.
    pub fetch_halted: Signal<In, Bit>,
    /// The same before its blocks leave.
    pub batch_next: Signal<Out, Bits<QUEUE>>,
    /// That of the cycle before is halted.
    pub batch_halted: Signal<In, Bit>,

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
    pub wqe_queue: Signal<Out, Bits<QUEUE>>,
    /// Its position in the queue.
    pub wqe_position: Signal<Out, Bits<32>>,
    /// Blocks of its batch from this one on, itself included.
    pub wqe_remaining: Signal<Out, Bits<17>>,
    /// The block could not be read.
    pub wqe_error: Signal<Out, Bit>,
    /// It is the first one of a turn, which is another one's or the same queue's next one: what is missing of an
    /// entry of the turn before does not come.
    pub wqe_begins: Signal<Out, Bit>,
    /// A doorbell is not used up, or its blocks are on their way.
    pub busy: Signal<Out, Bit>,

    // Copies of the queues' entries.
    word_low: Constant<Bits<4>>,
    word_high: Constant<Bits<4>>,
    word_log: Constant<Bits<4>>,
    log_at: Constant<Bits<5>>,
    select: TableSelect,
    cfg_enable: Signal<Local, Bit>,
    /// The ring's address: low word, high word.
    entry_addr: Ram<64, 2, QUEUE>,
    entry_log: Ram<5, 1, QUEUE>,
    standings: Ram<STANDING, 1, QUEUE>,
    /// Which write of an `enable` word a queue's last one was: a batch of an earlier life is known by it.
    /// Read for doorbells, for the fetching unit, and for the batches.
    lives: Stamps<LIFE, QUEUE, 3>,

    // Doorbells. What life their queues had follows a cycle later.
    doorbells: PromptFifo<DOORBELL, 10, 11>,
    rung: DFF<Bit>,
    doorbell_lives: PromptFifo<LIFE, 10, 11>,
    parking: Parking,
    /// Doorbells of queue pairs that are held.
    parked: Fifo<PARKED, 10, 11>,
    /// Doorbells since one of them was looked at.
    turn: DFF<Bits<3>>,
    takes_parked: Signal<Local, Bit>,
    /// Batches that are not over, and turns that were cut.
    rests: PromptFifo<REST, 10, 11>,
    cuts: PromptFifo<CUT, 6, 7>,
    takes_cut: Signal<Local, Bit>,
    takes_rest: Signal<Local, Bit>,
    /// A doorbell of a shared queue waits until what was rung before it is over.
    waits: DFF<Bit>,
    waiting: DFF<Bits<PARKED>>,
    takes_waiting: Signal<Local, Bit>,
    /// It has to wait.
    must_wait: Signal<Local, Bit>,
    shared: DFF<Bit>,
    /// The turn before was a rest's.
    rest_before: DFF<Bit>,
    /// What is at work is not a doorbell of just now: its life came with it; is a rest; is where a turn was cut.
    known: DFF<Bit>,
    is_rest: DFF<Bit>,
    is_cut: DFF<Bit>,
    cut_from: DFF<Bits<32>>,
    cut_length: DFF<Bits<LENGTH>>,
    cut_slow: DFF<Bit>,
    cut_had: DFF<Bits<PACE>>,
    // What is known of its queue.
    from: Signal<Local, Bits<32>>,
    goal: Signal<Local, Bits<32>>,
    was_queued: DFF<Bit>,
    fresh: DFF<Bit>,
    /// What its rest would add.
    rest_adds: DFF<Bits<32>>,
    share: Share,
    limited: DFF<Bit>,
    limits: Signal<Local, Bit>,
    may_read: Signal<Local, Bit>,
    /// Blocks of the turn.
    left: DFF<Bits<17>>,
    /// What is being fetched has been cut.
    aborted: DFF<Bit>,
    blocked: DFF<Bit>,
    /// The rest goes to the others.
    leaves_rest: Signal<Local, Bit>,
    /// The queue's standing is that of the life that it had.
    lives_on: Signal<Local, Bit>,

    // The batch that is being fetched.
    state: DFF<QueueState>,
    queue: DFF<Bits<QUEUE>>,
    life: DFF<Bits<LIFE>>,
    life_then: Signal<Local, Bits<LIFE>>,
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
    entry: Signal<Local, Bits<QUEUE>>,
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
            fetch_next: Signal::default(),
            fetch_halted: Signal::default(),
            batch_next: Signal::default(),
            batch_halted: Signal::default(),
            hold_valid: Signal::default(),
            hold_qp: Signal::default(),
            hold_held: Signal::default(),
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
            wqe_begins: Signal::default(),
            busy: Signal::default(),
            word_low: Constant::new(word_of("addr").into()),
            word_high: Constant::new((word_of("addr") + 1).into()),
            word_log: Constant::new(word_of("log_blocks").into()),
            log_at: Constant::new((SendQueueEntry::field("log_blocks").start as u64 % 32).into()),
            select: TableSelect::default(),
            cfg_enable: Signal::default(),
            entry_addr: Ram::new(RamStyle::Ultra),
            entry_log: Ram::default(),
            standings: Ram::new(RamStyle::Ultra),
            lives: Stamps::default(),
            doorbells: PromptFifo::default(),
            rung: DFF::default(),
            doorbell_lives: PromptFifo::default(),
            parking: Parking::default(),
            parked: Fifo::default(),
            turn: DFF::default(),
            takes_parked: Signal::default(),
            rests: Default::default(),
            cuts: Default::default(),
            takes_cut: Default::default(),
            takes_rest: Default::default(),
            waits: Default::default(),
            waiting: Default::default(),
            takes_waiting: Default::default(),
            must_wait: Default::default(),
            shared: Default::default(),
            rest_before: Default::default(),
            known: Default::default(),
            is_rest: Default::default(),
            is_cut: Default::default(),
            cut_from: Default::default(),
            cut_length: Default::default(),
            cut_slow: Default::default(),
            cut_had: Default::default(),
            from: Default::default(),
            goal: Default::default(),
            was_queued: Default::default(),
            fresh: Default::default(),
            rest_adds: Default::default(),
            share: Default::default(),
            limited: Default::default(),
            limits: Default::default(),
            may_read: Default::default(),
            left: Default::default(),
            aborted: Default::default(),
            blocked: Default::default(),
            leaves_rest: Default::default(),
            lives_on: Default::default(),
            state: DFF::default(),
            queue: DFF::default(),
            life: DFF::default(),
            life_then: Signal::default(),
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
            self,
            clk,
            state,
            queue,
            life,
            target,
            base,
            position,
            difference,
            blocks,
            remaining,
            gone,
            first,
            offset,
            behind,
            cut,
            cut_addr,
            rung,
            turn,
            rest_before,
            known,
            is_rest,
            is_cut,
            cut_from,
            cut_length,
            cut_slow,
            cut_had,
            waits,
            waiting,
            shared,
            was_queued,
            fresh,
            rest_adds,
            limited,
            left,
            aborted,
            blocked
        );

        // The host writes a send queue's entry.
        self.select.valid.next = self.cfg_valid.val();
        self.select.number.next = self.cfg_table.val();
        self.select.word.next = self.cfg_word.val();
        self.cfg_enable.next = self.select.enable.val();
        self.entry_addr.clk.next = self.clk.val();
        self.entry_addr.write_lanes.next = 0.into();
        if self.select.send_queue.val() && (self.cfg_word.val() == self.word_low.val()) {
            self.entry_addr.write_lanes.next = 1.into();
        }
        if self.select.send_queue.val() && (self.cfg_word.val() == self.word_high.val()) {
            self.entry_addr.write_lanes.next = 2.into();
        }
        self.entry_addr.write_address.next = self.cfg_index.val().get_bits::<QUEUE>(0);
        self.entry_addr.write_data.next = bit_cast::<64, 32>(self.cfg_data.val())
            | (bit_cast::<64, 32>(self.cfg_data.val()) << 32);
        self.entry_log.clk.next = self.clk.val();
        self.entry_log.write_lanes.next = bit_cast::<1, 1>(
            (self.select.send_queue.val() && (self.cfg_word.val() == self.word_log.val())).into(),
        );
        self.entry_log.write_address.next = self.cfg_index.val().get_bits::<QUEUE>(0);
        self.entry_log.write_data.next =
            self.cfg_data.val().get_bits::<5>(self.log_at.val().index());
        self.lives.clk.next = self.clk.val();
        self.lives.rst.next = self.rst.val();
        self.lives.written.next = self.cfg_enable.val();
        self.lives.index.next = self.cfg_index.val().get_bits::<QUEUE>(0);

        // Doorbells wait, and their queues' lives.
        self.doorbells.clk.next = self.clk.val();
        self.doorbells.rst.next = self.rst.val();
        self.doorbells.in_valid.next = self.doorbell_valid.val();
        self.doorbells.in_data.next = bit_cast::<DOORBELL, 32>(self.doorbell_position.val())
            | (bit_cast::<DOORBELL, QUEUE>(self.doorbell_queue.val()) << 32);
        self.doorbell_ready.next = self.doorbells.in_ready.val();
        self.lives.ahead[0].next = self.doorbell_queue.val();
        self.rung.d.next = self.doorbell_valid.val() && self.doorbells.in_ready.val();
        self.doorbell_lives.clk.next = self.clk.val();
        self.doorbell_lives.rst.next = self.rst.val();
        self.doorbell_lives.in_valid.next = self.rung.q.val();
        self.doorbell_lives.in_data.next = self.lives.stamp[0].val();

        // Those of queue pairs that are held.
        self.parking.clk.next = self.clk.val();
        self.parking.rst.next = self.rst.val();
        self.parking.cfg.valid.next = self.cfg_valid.val();
        self.parking.cfg.table.next = self.cfg_table.val();
        self.parking.cfg.index.next = self.cfg_index.val();
        self.parking.cfg.word.next = self.cfg_word.val();
        self.parking.cfg.data.next = self.cfg_data.val();
        self.parking.hold.valid.next = self.hold_valid.val();
        self.parking.hold.qp.next = self.hold_qp.val();
        self.parking.hold.held.next = self.hold_held.val();
        self.parked.clk.next = self.clk.val();
        self.parked.rst.next = self.rst.val();
        self.parked.in_valid.next = false;
        self.parked.in_data.next = bit_cast::<PARKED, 32>(self.target.q.val())
            | (bit_cast::<PARKED, QUEUE>(self.queue.q.val()) << 32)
            | (bit_cast::<PARKED, LIFE>(self.life.q.val()) << 44);
        self.parked.out_ready.next = false;
        self.takes_cut.next = self.cuts.out_valid.val();
        self.takes_rest.next = !self.cuts.out_valid.val()
            && self.rests.out_valid.val()
            && (!self.rest_before.q.val()
                || self.waits.q.val()
                || (!self.doorbells.out_valid.val() && !self.parked.out_valid.val()));
        self.must_wait.next = self.rests.out_valid.val()
            || self.cuts.out_valid.val()
            || self.batches.own_at_work.val();
        self.takes_waiting.next = self.waits.q.val() && !self.must_wait.val();
        self.takes_parked.next = !self.takes_cut.val()
            && !self.takes_rest.val()
            && !self.waits.q.val()
            && self.parked.out_valid.val()
            && (!self.doorbells.out_valid.val() || !self.turn.q.val().any());

        // Batches that are not over.
        self.rests.clk.next = self.clk.val();
        self.rests.rst.next = self.rst.val();
        self.rests.in_valid.next = false;
        self.rests.in_data.next = bit_cast::<REST, QUEUE>(self.queue.q.val())
            | (bit_cast::<REST, LIFE>(self.life.q.val()) << 12);
        self.rests.out_ready.next = false;
        self.cuts.clk.next = self.clk.val();
        self.cuts.rst.next = self.rst.val();
        self.cuts.in_valid.next = self.batches.cut_valid.val();
        self.cuts.in_data.next = bit_cast::<CUT, QUEUE>(self.batches.cut_queue.val())
            | (bit_cast::<CUT, LIFE>(self.batches.cut_life.val()) << 12)
            | (bit_cast::<CUT, 32>(self.batches.cut_position.val()) << 28)
            | (bit_cast::<CUT, LENGTH>(self.batches.cut_length.val()) << 60)
            | (bit_cast::<CUT, 1>(self.batches.cut_slow.val().into()) << 73)
            | (bit_cast::<CUT, PACE>(self.batches.cut_had.val()) << 74);
        self.cuts.out_ready.next = false;
        self.blocked.d.next = (self.doorbells.out_valid.val()
            && (self.doorbells.out_data.val().get_bits::<QUEUE>(32) != self.queue.q.val()))
            || (self.rests.out_valid.val()
                && (self.rests.out_data.val().get_bits::<QUEUE>(0) != self.queue.q.val()));
        if self.batches.cut_valid.val()
            && (self.batches.cut_queue.val() == self.queue.q.val())
            && (self.batches.cut_life.val() == self.life.q.val())
        {
            self.aborted.d.next = true;
        }

        // The entry of the queue that is at work, or will be.
        self.entry.next = self.queue.q.val();
        if self.state.q.val() == QueueState::Idle {
            self.entry.next = self.doorbells.out_data.val().get_bits::<QUEUE>(32);
            if self.takes_parked.val() {
                self.entry.next = self.parked.out_data.val().get_bits::<QUEUE>(32);
            }
            if self.takes_waiting.val() {
                self.entry.next = self.waiting.q.val().get_bits::<QUEUE>(32);
            }
            if self.takes_rest.val() {
                self.entry.next = self.rests.out_data.val().get_bits::<QUEUE>(0);
            }
            if self.takes_cut.val() {
                self.entry.next = self.cuts.out_data.val().get_bits::<QUEUE>(0);
            }
        }
        self.entry_addr.read_enable.next = true;
        self.entry_addr.read_address.next = self.entry.val();
        self.entry_log.read_enable.next = true;
        self.entry_log.read_address.next = self.entry.val();
        self.standings.clk.next = self.clk.val();
        self.standings.read_enable.next = true;
        self.standings.read_address.next = self.entry.val();
        self.life_then.next = self.life.q.val();
        self.doorbell_lives.out_ready.next = false;
        if (self.state.q.val() == QueueState::Compare) && !self.known.q.val() {
            self.life_then.next = self.doorbell_lives.out_data.val();
            self.doorbell_lives.out_ready.next = true;
        }
        self.life.d.next = self.life_then.val();
        if (self.state.q.val() == QueueState::Idle) && self.takes_parked.val() {
            self.life.d.next = self.parked.out_data.val().get_bits::<LIFE>(44);
        }
        if (self.state.q.val() == QueueState::Idle) && self.takes_waiting.val() {
            self.life.d.next = self.waiting.q.val().get_bits::<LIFE>(44);
        }
        if (self.state.q.val() == QueueState::Idle) && self.takes_rest.val() {
            self.life.d.next = self.rests.out_data.val().get_bits::<LIFE>(12);
        }
        if (self.state.q.val() == QueueState::Idle) && self.takes_cut.val() {
            self.life.d.next = self.cuts.out_data.val().get_bits::<LIFE>(12);
        }
        self.gone.d.next =
            (self.lives.stamp[1].val() != self.life_then.val()) || self.fetch_halted.val();

        // A queue that is enabled is at 0, and its first turn is fresh.
        self.standings.write_lanes.next = bit_cast::<1, 1>(self.cfg_enable.val().into());
        self.standings.write_address.next = self.cfg_index.val().get_bits::<QUEUE>(0);
        self.standings.write_data.next = bit_cast::<STANDING, 1>(1.into()) << 65;
        self.entry_blocks.next = self.one.val() << self.entry_log.read_data.val();
        // What is known of its queue, where it goes on, and how long its turn may be.
        self.from.next = self.standings.read_data.val().get_bits::<32>(0);
        self.goal.next = self.target.q.val();
        if self.is_rest.q.val() || self.is_cut.q.val() {
            self.goal.next = self.standings.read_data.val().get_bits::<32>(32);
        }
        if self.is_cut.q.val() {
            self.from.next = self.cut_from.q.val();
        }
        self.share.clk.next = self.clk.val();
        self.share.rests.next = self.rests.count.val();
        self.share.doorbells.next = 0.into();
        if self.doorbells.out_data.val().get_bits::<QUEUE>(32) != self.queue.q.val() {
            self.share.doorbells.next = self.doorbells.count.val();
        }
        self.share.behind.next = self.batches.wholes_behind.val();
        self.share.other.next = self.batches.behind.val()
            || (self.batches.reading.val() && (self.batches.queue_now.val() != self.queue.q.val()));
        self.share.judges.next = self.state.q.val() == QueueState::Compare;
        self.share.idle.next = self.standings.read_data.val().get_bits::<32>(0)
            == self.standings.read_data.val().get_bits::<32>(32);
        self.share.pace.next = self.standings.read_data.val().get_bits::<PACE>(66);
        self.share.is_cut.next = self.is_cut.q.val();
        self.share.cut_slow.next = self.cut_slow.q.val();
        self.share.cut_length.next = self.cut_length.q.val();
        self.share.cut_had.next = self.cut_had.q.val();
        self.leaves_rest.next = self.limited.q.val() && !self.aborted.q.val();
        self.lives_on.next = self.lives.stamp[1].val() == self.life.q.val();
        self.limits.next = self.share.crowded.val()
            && !self.parking.is_shared.val()
            && self.rests.in_ready.val()
            && (self.difference.q.val() > bit_cast::<32, LENGTH>(self.share.size.val()));

        // The next read has 16 blocks, or what is left of the ring or of the turn.
        self.wanted.next = self.left.q.val();
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
        self.may_read.next = false;
        self.batches.read_valid.next = false;
        match self.state.q.val() {
            QueueState::Idle => {
                self.doorbells.out_ready.next =
                    !self.takes_cut.val() && !self.takes_rest.val() && !self.takes_parked.val();
                self.parked.out_ready.next = self.takes_parked.val();
                if self.waits.q.val() {
                    self.doorbells.out_ready.next = false;
                }
                self.rests.out_ready.next = self.takes_rest.val();
                self.cuts.out_ready.next = self.takes_cut.val();
                self.is_rest.d.next = self.takes_rest.val();
                self.is_cut.d.next = self.takes_cut.val();
                self.known.d.next = self.takes_cut.val()
                    || self.takes_rest.val()
                    || self.takes_parked.val()
                    || self.waits.q.val();
                self.cut_from.d.next = self.cuts.out_data.val().get_bits::<32>(28);
                self.cut_length.d.next = self.cuts.out_data.val().get_bits::<LENGTH>(60);
                self.cut_slow.d.next = self.cuts.out_data.val().get_bit(73);
                self.cut_had.d.next = self.cuts.out_data.val().get_bits::<PACE>(74);
                self.aborted.d.next = false;
                self.target.d.next = self.doorbells.out_data.val().get_bits::<32>(0);
                self.queue.d.next = self.doorbells.out_data.val().get_bits::<QUEUE>(32);
                if self.takes_parked.val() {
                    self.target.d.next = self.parked.out_data.val().get_bits::<32>(0);
                    self.queue.d.next = self.parked.out_data.val().get_bits::<QUEUE>(32);
                }
                if self.takes_waiting.val() {
                    self.target.d.next = self.waiting.q.val().get_bits::<32>(0);
                    self.queue.d.next = self.waiting.q.val().get_bits::<QUEUE>(32);
                }
                if self.takes_rest.val() {
                    self.queue.d.next = self.rests.out_data.val().get_bits::<QUEUE>(0);
                }
                if self.takes_cut.val() {
                    self.queue.d.next = self.cuts.out_data.val().get_bits::<QUEUE>(0);
                }
                if self.takes_cut.val() || self.takes_rest.val() {
                    self.rest_before.d.next = self.takes_rest.val();
                    self.state.d.next = QueueState::Compare;
                } else if self.waits.q.val() {
                    if self.takes_waiting.val() {
                        self.waits.d.next = false;
                        self.state.d.next = QueueState::Compare;
                    }
                } else if self.doorbells.out_valid.val() || self.takes_parked.val() {
                    self.rest_before.d.next = false;
                    self.turn.d.next = self.turn.q.val() + 1;
                    self.state.d.next = QueueState::Compare;
                }
            }
            QueueState::Compare => {
                self.base.d.next = self.entry_addr.read_data.val();
                self.blocks.d.next = self.entry_blocks.val();
                self.offset.d.next =
                    self.from.val().get_bits::<17>(0) & (self.entry_blocks.val() - 1);
                self.behind.d.next =
                    !self.from.val().get_bits::<17>(0) & (self.entry_blocks.val() - 1);
                self.position.d.next = self.from.val();
                self.target.d.next = self.goal.val();
                self.difference.d.next = self.goal.val() - self.from.val();
                self.rest_adds.d.next = self.standings.read_data.val().get_bits::<32>(32)
                    - self.standings.read_data.val().get_bits::<32>(0);
                self.was_queued.d.next =
                    self.standings.read_data.val().get_bit(64) && !self.is_rest.q.val();
                self.fresh.d.next =
                    self.standings.read_data.val().get_bit(65) || self.is_cut.q.val();
                self.state.d.next = QueueState::Judge;
            }
            QueueState::Judge => {
                self.remaining.d.next = self.difference.q.val().get_bits::<17>(0);
                self.left.d.next = self.difference.q.val().get_bits::<17>(0);
                self.first.d.next = true;
                self.shared.d.next = self.parking.is_shared.val();
                self.limited.d.next = false;
                self.cut.d.next = self.most.val();
                self.cut_addr.d.next =
                    self.base.q.val() + (bit_cast::<64, 17>(self.offset.q.val()) << 6);
                if self.limits.val() {
                    self.left.d.next = bit_cast::<17, LENGTH>(self.share.size.val());
                }
                if self.gone.q.val() {
                    self.state.d.next = QueueState::Idle;
                } else if (self.is_rest.q.val() || self.is_cut.q.val())
                    && (self.difference.q.val() > bit_cast::<32, 17>(self.blocks.q.val()))
                {
                    // More was rung for than the ring holds, before what it held had been fetched for good.
                    self.difference.d.next = bit_cast::<32, 17>(self.blocks.q.val());
                    self.target.d.next =
                        self.position.q.val() + bit_cast::<32, 17>(self.blocks.q.val());
                } else if !self.difference.q.val().any()
                    || (self.difference.q.val() > bit_cast::<32, 17>(self.blocks.q.val()))
                {
                    self.state.d.next = QueueState::Idle;
                    if self.is_rest.q.val() {
                        self.state.d.next = QueueState::Finish;
                    }
                } else if !self.is_rest.q.val() && !self.is_cut.q.val() && self.was_queued.q.val() {
                    // The rest goes on up to here.
                    self.state.d.next = QueueState::Idle;
                    if self.difference.q.val() > self.rest_adds.q.val() {
                        self.state.d.next = QueueState::Finish;
                    }
                } else if self.parking.is_shared.val() && self.must_wait.val() {
                    self.waits.d.next = true;
                    self.waiting.d.next = bit_cast::<PARKED, 32>(self.target.q.val())
                        | (bit_cast::<PARKED, QUEUE>(self.queue.q.val()) << 32)
                        | (bit_cast::<PARKED, LIFE>(self.life.q.val()) << 44);
                    self.state.d.next = QueueState::Idle;
                } else if self.parking.held.val() && self.parked.in_ready.val() {
                    self.parked.in_valid.next = true;
                    self.state.d.next = QueueState::Idle;
                    if self.is_rest.q.val() || self.is_cut.q.val() {
                        self.state.d.next = QueueState::Finish;
                    }
                } else if self.limits.val() {
                    self.limited.d.next = true;
                    self.state.d.next = QueueState::Cut;
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
                if self.aborted.q.val() {
                    self.state.d.next = QueueState::Finish;
                }
            }
            QueueState::Cut => {
                self.cut.d.next = self.most.val();
                self.cut_addr.d.next =
                    self.base.q.val() + (bit_cast::<64, 17>(self.offset.q.val()) << 6);
                self.state.d.next = QueueState::Request;
            }
            QueueState::Request => {
                // A queue alone leaves a quarter of the places to those that come.
                self.may_read.next = self.batches.read_ready.val()
                    && (self.limited.q.val() || self.shared.q.val() || self.batches.few.val());
                self.read_req_valid.next = self.may_read.val();
                if self.may_read.val() && self.read_req_ready.val() {
                    self.batches.read_valid.next = true;
                    self.first.d.next = false;
                    self.position.d.next =
                        self.position.q.val() + bit_cast::<32, 5>(self.cut.q.val());
                    self.remaining.d.next =
                        self.remaining.q.val() - bit_cast::<17, 5>(self.cut.q.val());
                    self.left.d.next = self.left.q.val() - bit_cast::<17, 5>(self.cut.q.val());
                    self.fresh.d.next = false;
                    if self.left.q.val() == bit_cast::<17, 5>(self.cut.q.val()) {
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
                    self.standings.write_lanes.next = bit_cast::<1, 1>(self.lives_on.val().into());
                    self.standings.write_address.next = self.queue.q.val();
                    self.standings.write_data.next =
                        bit_cast::<STANDING, 32>(self.position.q.val())
                            | (bit_cast::<STANDING, 32>(self.target.q.val()) << 32)
                            | (bit_cast::<STANDING, 1>(
                                (self.was_queued.q.val() || self.leaves_rest.val()).into(),
                            ) << 64)
                            | (bit_cast::<STANDING, 1>(self.fresh.q.val().into()) << 65)
                            | (bit_cast::<STANDING, PACE>(self.share.pace_now.val()) << 66);
                    self.rests.in_valid.next =
                        self.lives_on.val() && self.leaves_rest.val() && !self.was_queued.q.val();
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
        self.batches.read_fresh.next = self.fresh.q.val();
        self.batches.read_shared.next = self.shared.q.val();
        self.batches.read_limited.next = self.limited.q.val();
        self.batches.read_left.next = self.left.q.val().get_bits::<LENGTH>(0);
        self.batches.blocked.next = self.blocked.q.val();
        self.batches.limit.next = self.share.limit.val();
        self.batches.wipe_valid.next = self.select.every.val();
        self.batches.wipe_index.next = self.cfg_index.val().get_bits::<QUEUE>(0);
        self.batches.queue_halted.next = self.batch_halted.val();
        self.batch_next.next = self.batches.next_queue.val();
        self.lives.ahead[2].next = self.batches.next_queue.val();
        self.batches.life_now.next = self.lives.stamp[2].val();
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
        self.wqe_begins.next = self.batches.wqe_begins.val();

        self.busy.next = self.doorbells.out_valid.val()
            || self.parked.count.val().any()
            || self.rests.out_valid.val()
            || self.cuts.out_valid.val()
            || self.waits.q.val()
            || (self.state.q.val() != QueueState::Idle)
            || self.batches.at_work.val();

        if self.rst.val() {
            self.state.d.next = QueueState::Idle;
            self.rung.d.next = false;
            self.turn.d.next = 0.into();
            self.waits.d.next = false;
        }
        self.parking.next_queue.next = self.queue.d.val();
        self.fetch_next.next = self.queue.d.val();
        self.lives.ahead[1].next = self.queue.d.val();
    }
}
