//! Takes entries of receive queues for messages, one after the other, and gives up those of broken queue pairs.
//!
//! An entry comes from the pool block by block. The taker checks its head and shapes, and gives what they
//! describe to the checker, which checks keys. An entry whose regions are not all contiguous goes there granule by
//! granule.
//!
//! Contract: a take of a receive that is there occupies the taker for 5 cycles a block, and for 2 more for each granule
//! of an
//! entry with strided regions. A take whose blocks are not
//! there yet waits for them, and the planner is notified; nothing overtakes it. A take of a shared queue by a queue
//! pair whose last
//! receive is still in use waits for its completion, which must be on its way; a take of the queue pair's own queue
//! waits until there is room among those in
//! use, and a slot for its regions. An entry of many regions for which there is no slot counts as not posted. A receive
//! that appends stays in its queue until `append_taken` says that it is used up; nothing is taken before. A receive
//! that is given up has its turn
//! when all takes before it are answered, and before all behind it.

use super::events::Events;
use super::record::*;
use super::shapes::Shapes;
use crate::context::{CQ, ConfigWrite, QP, QUEUE, QueuePairIndex, Table, TableSelect};
use crate::primitive::StreamSkid;
use crate::receive::record::{AppendTaken, Take};
use drdma_abi::Layout;
use drdma_abi::described::{AppendTarget, receive_entry_flags};
use drdma_abi::receive::{
    AttributesEntry, RECEIVE_MAGIC, RECEIVE_PLACES, ReceiveHeader, ReceiveQueueEntry,
};
use drdma_abi::work_request::{GRANULE, MAX_REGIONS};
use drdma_emit::prelude::*;

/// The magic of an entry's head.
const MAGIC: u64 = RECEIVE_MAGIC as u64;
/// Magic and flags of a receive that appends, and number of its granules.
const APPEND_MAGIC: u64 = MAGIC | (receive_entry_flags::APPEND as u64) << 8;
const APPEND_GRANULES: u64 = ((ReceiveHeader::SIZE + AppendTarget::SIZE) / GRANULE) as u64;
/// Regions of an entry, at most.
const MOST_REGIONS: u64 = MAX_REGIONS as u64;
/// The upper bit of each of the 16 types: contiguous and strided regions do not have it, all others do.
const ODD_BITS: u64 = 0xaaaa_aaaa;
/// Bits of a count of granules behind a head: a header for each strided region, and one for each place.
const GRANULES: usize = 6;
/// Granules behind a head, at most.
const MOST_GRANULES: u64 = (RECEIVE_PLACES + MAX_REGIONS) as u64;
/// Regions of a receive that has few, at most.
const FEW: u64 = super::in_use::FEW;
/// Bits of a queue's completion queue, and of a flag that says whether the queue is shared.
const PLACE: usize = CQ + 1;
/// Bits of a queue pair's receive queue, and of a flag that says whether there is one.
const OWN: usize = QUEUE + 1;

fn word_of<L: Layout>(field: &str) -> Constant<Bits<4>> {
    Constant::new((L::field(field).start as u64 / 32).into())
}

fn bit_of<L: Layout>(field: &str) -> Constant<Bits<5>> {
    Constant::new((L::field(field).start as u64 % 32).into())
}

/// What the taker does.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum TakerState {
    /// Waits for a take, or for a receive that is given up.
    Ready,
    /// Asks for a block, once the queue pair has no receive in use.
    Ask,
    /// Waits for the block.
    Answer,
    /// Waits some cycles: the block has not come yet.
    Pause,
    /// Gives the block to the checker.
    Judge,
    /// Gives the block's granules to the checker.
    Walk,
    /// Waits until it is known what becomes of a receive that appends.
    Append,
    /// Takes the receive that appends out of its queue.
    Discard,
    /// Waits until that receive is out of its queue.
    Discarded,
    /// Changes a queue's flags.
    Mark,
    /// Finds the queue of the queue pair that gives up.
    Find,
    /// Finds out whether that queue is shared.
    Place,
    /// Gives up the receive in use.
    GiveUp,
    /// Learns whether there was one.
    Told,
    /// Waits until the receive that was taken instead is in use.
    Settle,
}

/// Takes entries. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Taker {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset; all tables are cleared after it.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Asks for receives for messages.
    pub take: Stream<In, Take>,
    /// There is room for the answer to a take.
    pub room: Signal<In, Bit>,
    /// Queue pairs that have entered the error state.
    pub broken: Flow<In, QueuePairIndex>,
    /// Broken queue pairs to whose queues something was posted.
    pub posted: Stream<In, QueuePairIndex>,
    /// A block may be asked for in this cycle: no operation that has its turn after `pop` has it in this cycle.
    pub may_pop: Signal<Out, Bit>,
    /// Asks for a block.
    pub pop: Stream<Out, Pop>,
    /// The block, two cycles later.
    pub popped: Flow<In, Popped>,
    /// Changes of a queue's flags.
    pub mark: Stream<Out, Mark>,
    /// A message waits for a block of `waits_for`.
    pub waits: Signal<Out, Bit>,
    /// With `waits`: the queue.
    pub waits_for: Signal<Out, Bits<QUEUE>>,
    /// Pieces of entries, for the checker.
    pub piece: Stream<Out, Piece>,
    /// Decides about the receive that appends and was taken last.
    pub append_taken: Flow<In, AppendTaken>,
    /// The checker has no entry.
    pub settled: Signal<In, Bit>,
    /// A queue pair whose receive is given up.
    pub give_up: Stream<Out, GiveUp>,
    /// Whether that queue pair had a receive in use, some cycles later.
    pub given_up: Flow<In, GivenUp>,
    /// The queue pair whose `in_use` is asked for in the next cycle.
    pub next_qp: Signal<Out, Bits<QP>>,
    /// The queue pair of `next_qp`, one cycle before, has a receive in use.
    pub in_use: Signal<In, Bit>,
    /// The queue pair of `next_qp`, one cycle before, had a receive in use then, of those that were named until then.
    pub had_any: Signal<In, Bit>,
    /// That queue pair had as many in use then as it may, or one of many regions.
    pub had_all: Signal<In, Bit>,
    /// There is a slot for a receive of few regions. For one of many regions there is a slot if the pool gives its
    /// entry.
    pub few_room: Signal<In, Bit>,
    /// A take or a receive that is given up is at work.
    pub busy: Signal<Out, Bit>,

    select: TableSelect,
    #[init(word_of::<ReceiveQueueEntry>("shared"))]
    place_word: Constant<Bits<4>>,
    #[init(bit_of::<ReceiveQueueEntry>("shared"))]
    shared_at: Constant<Bits<5>>,
    #[init(bit_of::<ReceiveQueueEntry>("completion_queue"))]
    cq_at: Constant<Bits<5>>,
    #[init(word_of::<AttributesEntry>("receives"))]
    own_word: Constant<Bits<4>>,
    #[init(bit_of::<AttributesEntry>("receive_queue"))]
    own_at: Constant<Bits<5>>,
    #[init(bit_of::<AttributesEntry>("receives"))]
    receives_at: Constant<Bits<5>>,
    places: Table<PLACE, QUEUE>,
    /// Of each queue pair: its last take has found nothing.
    dry: Table<1, QP>,
    owns: Table<OWN, QP>,

    takes: StreamSkid<Take>,
    events: Events,

    settles: DFF<Bit>,
    settles_returned: DFF<Bit>,
    settles_halted: DFF<Bit>,
    state: DFF<TakerState>,
    current: DFF<Take>,
    event: DFF<GiveUp>,
    /// The entry is taken to be flushed.
    flush: DFF<Bit>,
    /// A block of the entry was taken, and others follow.
    goes_on: DFF<Bit>,
    waiting: DFF<Bit>,
    /// No block could be asked for in the cycle before.
    denied: DFF<Bit>,
    pause: DFF<Bits<3>>,
    block: DFF<Popped>,
    name: DFF<Name>,
    /// Regions of the entry in further blocks.
    left: DFF<Bits<REGIONS>>,
    // An entry whose regions are not all contiguous.
    shapes: Shapes,
    /// The entry is one of these.
    walks: DFF<Bit>,
    /// The entry's head is malformed.
    wrong: DFF<Bit>,
    /// No granule of the entry was given to the checker.
    starts: DFF<Bit>,
    /// Granules of the entry that were not given to the checker.
    granules_left: DFF<Bits<GRANULES>>,
    /// Granules of this block that were not given to the checker.
    granules_here: DFF<Bits<3>>,
    /// The change that `mark` makes.
    kind: DFF<MarkKind>,
    /// The queue pair that gives up has a receive queue.
    has: DFF<Bit>,
    /// That queue is not a shared one.
    owned: DFF<Bit>,

    // The block that is judged.
    head: Signal<Local, Bit>,
    blocks: Signal<Local, Bits<32>>,
    here: Signal<Local, Bits<3>>,
    behind: Signal<Local, Bits<REGIONS>>,
    granules: Signal<Local, Bits<512>>,
    empty: Signal<Local, Bit>,
    zero: [Signal<Local, Bit>; 4],
    bad: Signal<Local, Bit>,
    found: Signal<Local, Bit>,
    now: Signal<Local, Name>,
    regions: Signal<Local, Bits<REGIONS>>,
    first_of_walk: Signal<Local, Bit>,
    /// The queue pair has no receive in use.
    alone: Signal<Local, Bit>,
    /// The entry is of a receive that appends.
    appends: Signal<Local, Bit>,
    described: Signal<Local, Bit>,
    types: Signal<Local, Bits<32>>,
    /// Types of regions beyond those that the entry has.
    extra: Signal<Local, Bits<32>>,
    described_head: Signal<Local, Bit>,
    described_blocks: Signal<Local, Bits<32>>,
    /// The granule is malformed.
    walk_bad: DFF<Bit>,
    /// The granule was checked.
    looked: DFF<Bit>,
    walk_ends: Signal<Local, Bit>,
    asks: Signal<Local, Bit>,
    /// The take is of a shared queue, and waits until its queue pair has no receive in use.
    only_alone: Signal<Local, Bit>,
    /// Nothing else prevents asking for a block.
    could_ask: Signal<Local, Bit>,
    /// There is room among those in use for the entry.
    fits: Signal<Local, Bit>,
    /// The take finds nothing, whatever is posted.
    refuses: Signal<Local, Bit>,
    unused: Signal<Local, Bits<6>>,
}

impl Logic for Taker {
    #[hdl_gen]
    fn update(&mut self) {
        // Known at the end of a cycle, and so used in the next one.
        self.settles.d.next = self.append_taken.valid.val();
        self.settles_returned.d.next = self.append_taken.returned.val();
        self.settles_halted.d.next = self.append_taken.halts.val();
        // The host writes entries of queues and attributes.
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();
        self.unused.next = self.cfg.data.val().get_bits::<6>(26);
        self.places.write_enable.next =
            self.select.receive_queue.val() && (self.cfg.word.val() == self.place_word.val());
        self.places.write_address.next = self.cfg.index.val().get_bits::<QUEUE>(0);
        self.places.write_data.next =
            bit_cast::<PLACE, CQ>(self.cfg.data.val().get_bits::<CQ>(self.cq_at.val().index()));
        if self.cfg.data.val().get_bits::<8>(self.shared_at.val().index()) == 1 {
            self.places.write_data.next = self.places.write_data.val().replace_bit(CQ, true);
        }
        // No queue pair has a queue after a reset: `data` is 0 then.
        self.owns.write_enable.next = self.select.attributes.val()
            && (self.select.every.val() || (self.cfg.word.val() == self.own_word.val()));
        self.owns.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
        self.owns.write_data.next = bit_cast::<OWN, QUEUE>(
            self.cfg.data.val().get_bits::<QUEUE>(self.own_at.val().index()),
        );
        if self.cfg.data.val().get_bits::<8>(self.receives_at.val().index()) == 1 {
            self.owns.write_data.next = self.owns.write_data.val().replace_bit(QUEUE, true);
        }

        // Receives that are given up wait, and so do takes.
        self.cfg.join(&mut self.events.cfg);
        self.broken.join(&mut self.events.broken);
        self.posted.join(&mut self.events.posted);
        self.events.event.ready.next = false;
        self.take.join(&mut self.takes.input);
        self.takes.output.ready.next = false;

        // The block that came last, with its head if it is an entry's first one.
        self.now.next = self.name.q.val();
        self.now.next.cq = self.places.read_data.val().get_bits::<CQ>(0);
        self.now.next.shared = self.places.read_data.val().get_bit(CQ);
        self.found.next = self.block.q.val().kind == PoppedKind::Block;
        self.regions.next = self.block.q.val().data.get_bits::<REGIONS>(16);
        self.types.next = self.block.q.val().data.get_bits::<32>(96);
        self.head.next = true;
        self.here.next = self.left.q.val().get_bits::<3>(0);
        self.behind.next = 0.into();
        if self.left.q.val() > 4 {
            self.here.next = 4.into();
            self.behind.next = self.left.q.val() - 4;
        }
        self.granules.next = self.block.q.val().data;
        self.blocks.next = 0.into();
        if !self.goes_on.q.val() {
            self.now.next.wr_id = self.block.q.val().data.get_bits::<64>(128);
            self.now.next.position = self.block.q.val().position;
            self.now.next.queue = self.current.q.val().queue;
            self.now.next.life = self.block.q.val().life;
            self.now.next.wide = (self.types.val().any() || (self.regions.val() > FEW))
                && !self.block.q.val().error
                && !self.flush.q.val();
            self.now.next.pieces = (self.types.val() & ODD_BITS).any();
            self.granules.next = bit_cast::<512, 256>(self.block.q.val().data.get_bits::<256>(256));
            // A head block has two regions, further ones four.
            self.blocks.next =
                (bit_cast::<32, REGIONS>(self.block.q.val().data.get_bits::<REGIONS>(16)) + 5) >> 2;
            self.head.next = (self.block.q.val().data.get_bits::<16>(0) == MAGIC)
                && (self.block.q.val().data.get_bits::<16>(16) <= MOST_REGIONS)
                && !self.block.q.val().data.get_bits::<26>(38).any()
                && (self.block.q.val().data.get_bits::<6>(32)
                    == bit_cast::<6, REGIONS>(self.block.q.val().data.get_bits::<REGIONS>(16)) + 2)
                && (self.block.q.val().data.get_bits::<32>(64) == self.block.q.val().position)
                && !self.block.q.val().data.get_bits::<32>(96).any()
                && !self.block.q.val().data.get_bits::<64>(192).any()
                && (self.blocks.val() <= self.block.q.val().posted);
            self.here.next = self.regions.val().get_bits::<3>(0);
            self.behind.next = 0.into();
            if self.regions.val() > 2 {
                self.here.next = 2.into();
                self.behind.next = self.regions.val() - 2;
            }
        }
        self.empty.next = false;
        for k in 0..4 {
            self.zero[k].next = !self.block.q.val().data.get_bits::<32>(128 * k + 64).any();
            if self.zero[k].val() && self.goes_on.q.val() && (self.left.q.val() > k.to_bits()) {
                self.empty.next = true;
            }
        }
        // The granules of the first block, behind the head.
        for k in 0..2 {
            if self.zero[k + 2].val()
                && !self.goes_on.q.val()
                && (self.block.q.val().data.get_bits::<REGIONS>(16) > k.to_bits())
            {
                self.empty.next = true;
            }
        }
        self.appends.next = self.found.val()
            && !self.goes_on.q.val()
            && !self.flush.q.val()
            && !self.block.q.val().error
            && (self.block.q.val().data.get_bits::<16>(0) == APPEND_MAGIC)
            && !self.block.q.val().data.get_bits::<16>(16).any()
            && (self.block.q.val().data.get_bits::<32>(32) == APPEND_GRANULES)
            && (self.block.q.val().data.get_bits::<32>(64) == self.block.q.val().position)
            && !self.types.val().any()
            && !self.block.q.val().data.get_bits::<64>(192).any()
            && !self.block.q.val().data.get_bits::<96>(288).any();
        self.bad.next = (self.block.q.val().error || !self.head.val() || self.empty.val())
            && !self.appends.val();

        // Regions that are not all contiguous. A head is malformed if it has types for regions that it does not have.
        self.described.next = self.found.val()
            && !self.block.q.val().error
            && !self.flush.q.val()
            && (self.walks.q.val() || (!self.goes_on.q.val() && self.types.val().any()));
        self.alone.next = self.settled.val() && !self.had_any.val();
        self.first_of_walk.next = (self.state.q.val() == TakerState::Judge)
            && self.described.val()
            && !self.walks.q.val()
            && self.alone.val();
        self.extra.next = self.types.val() >> (bit_cast::<32, REGIONS>(self.regions.val()) << 1);
        self.described_blocks.next = (self.block.q.val().data.get_bits::<32>(32) + 3) >> 2;
        self.described_head.next = (self.block.q.val().data.get_bits::<16>(0) == MAGIC)
            && (self.block.q.val().data.get_bits::<16>(16) <= MOST_REGIONS)
            && !self.extra.val().any()
            && (self.block.q.val().data.get_bits::<32>(32) > 2)
            && (self.block.q.val().data.get_bits::<32>(32) <= MOST_GRANULES + 2)
            && (self.block.q.val().data.get_bits::<32>(64) == self.block.q.val().position)
            && !self.block.q.val().data.get_bits::<64>(192).any()
            && (self.described_blocks.val() <= self.block.q.val().posted);
        self.walk_ends.next = self.granules_left.q.val() == 1;
        self.shapes.starts.next = self.first_of_walk.val();
        self.shapes.pieces.next = self.now.val().pieces;
        self.shapes.types.next = self.types.val();
        self.shapes.regions.next = self.regions.val();
        self.shapes.granule.next = self.block.q.val().data.get_bits::<128>(0);
        self.shapes.last.next = self.walk_ends.val();
        self.shapes.step.next = self.looked.q.val() && self.piece.ready.val();
        self.walk_bad.d.next = self.wrong.q.val() || self.shapes.bad.val();
        self.looked.d.next = (self.state.q.val() == TakerState::Walk)
            && !(self.looked.q.val() && self.piece.ready.val());

        // What is taken of a shared queue may fail and halt it first. A queue of its own is not asked about that.
        self.only_alone.next =
            !self.goes_on.q.val() && self.places.read_data.val().get_bit(CQ) && !self.flush.q.val();
        self.asks.next = !self.only_alone.val() || !self.in_use.val();
        self.fits.next = !self.found.val()
            || self.goes_on.q.val()
            || self.flush.q.val()
            || !self.had_any.val()
            || (!self.had_all.val() && !self.now.val().wide);
        // The entry that the checker has gets its slot first.
        if self.found.val()
            && !self.goes_on.q.val()
            && !self.now.val().wide
            && !(self.settled.val() && self.few_room.val())
        {
            self.fits.next = false;
        }
        if self.flush.q.val() {
            self.asks.next = self.events.is_broken.val();
        }
        self.refuses.next = self.current.q.val().follows
            && (self.dry.read_data.val() == 1)
            && !self.goes_on.q.val()
            && !self.flush.q.val();
        self.could_ask.next = !self.denied.q.val()
            && !self.refuses.val()
            && (!self.flush.q.val() || self.events.is_broken.val());
        self.dry.write_enable.next = false;
        self.dry.write_address.next = self.current.q.val().qp;
        self.dry.write_data.next = 0.into();
        if !self.found.val() {
            self.dry.write_data.next = 1.into();
        }
        self.may_pop.next = false;
        self.denied.d.next = false;
        self.pop.valid.next = false;
        self.pop.queue.next = self.current.q.val().queue;
        self.pop.flush.next = self.flush.q.val();
        self.pop.goes_on.next = self.goes_on.q.val();
        self.pop.life.next = self.name.q.val().life;
        self.pop.keeps.next = !self.goes_on.q.val() && !self.flush.q.val();
        self.piece.valid.next = false;
        self.piece.qp.next = self.current.q.val().qp;
        self.piece.pd.next = self.current.q.val().pd;
        self.piece.flush.next = self.flush.q.val();
        self.piece.found.next = self.found.val();
        self.piece.malformed.next = self.bad.val();
        self.piece.nameless.next = self.block.q.val().error;
        self.piece.starts.next = !self.goes_on.q.val();
        self.piece.ends.next =
            !self.found.val() || self.bad.val() || self.flush.q.val() || !self.behind.val().any();
        self.piece.here.next = self.here.val();
        if !self.found.val() || self.bad.val() || self.flush.q.val() {
            self.piece.here.next = 0.into();
        }
        self.piece.appends.next = self.appends.val();
        self.piece.kind.next = GranuleKind::Contiguous;
        self.piece.closes.next = false;
        self.piece.region_kind.next = self.shapes.region_kind.val();
        self.piece.of_last.next = self.shapes.of_last.val();
        self.piece.data.next = self.granules.val();
        self.piece.name.next = self.now.val();
        if self.state.q.val() == TakerState::Walk {
            self.piece.appends.next = false;
            self.piece.malformed.next = self.walk_bad.q.val();
            self.piece.starts.next = self.starts.q.val();
            self.piece.ends.next = self.walk_bad.q.val() || self.walk_ends.val();
            self.piece.here.next = 1.into();
            if self.walk_bad.q.val() {
                self.piece.here.next = 0.into();
            }
            self.piece.kind.next = self.shapes.kind.val();
            self.piece.closes.next = self.shapes.closes.val() && !self.walk_bad.q.val();
        }
        self.mark.valid.next = false;
        self.mark.queue.next = self.current.q.val().queue;
        self.mark.life.next = self.name.q.val().life;
        self.mark.kind.next = self.kind.q.val();
        self.give_up.valid.next = false;
        self.give_up.qp.next = self.event.q.val().qp;
        self.give_up.kind.next = self.event.q.val().kind;
        self.waits.next = self.waiting.q.val();
        self.waits_for.next = self.current.q.val().queue;

        match self.state.q.val() {
            TakerState::Ready => {
                self.goes_on.d.next = false;
                self.walks.d.next = false;
                self.flush.d.next = false;
                self.event.d.next = self.events.event.val();
                if self.events.event.valid.val() {
                    self.current.d.next.qp = self.events.event.qp.val();
                    if self.settled.val() {
                        self.events.event.ready.next = true;
                        self.state.d.next = TakerState::Find;
                    }
                } else {
                    self.current.d.next = self.takes.output.data.val();
                    self.takes.output.ready.next = self.room.val();
                    if self.takes.output.valid.val() && self.room.val() {
                        self.state.d.next = TakerState::Ask;
                    }
                }
            }
            TakerState::Ask => {
                // Whether a block is asked for is known late; so the pool is told early that one may be. A take that
                // cannot
                // ask leaves the turn to other operations until it can.
                self.denied.d.next = !self.asks.val() || self.refuses.val();
                self.may_pop.next = !self.denied.q.val();
                self.pop.valid.next =
                    self.could_ask.val() && !(self.only_alone.val() && self.in_use.val());
                if self.refuses.val() {
                    self.block.d.next.kind = PoppedKind::Nothing;
                    self.state.d.next = TakerState::Judge;
                } else if self.asks.val() && !self.denied.q.val() && self.pop.ready.val() {
                    self.state.d.next = TakerState::Answer;
                } else if self.flush.q.val() && !self.asks.val() {
                    // The host has reset the queue pair meanwhile.
                    self.waiting.d.next = false;
                    self.state.d.next = TakerState::Ready;
                }
            }
            TakerState::Answer => {
                self.block.d.next = self.popped.val();
                self.pause.d.next = 0.into();
                if self.popped.valid.val() {
                    self.waiting.d.next = false;
                    self.state.d.next = TakerState::Judge;
                    if self.popped.kind.val() == PoppedKind::Later {
                        self.waiting.d.next = true;
                        self.state.d.next = TakerState::Pause;
                    }
                }
            }
            TakerState::Pause => {
                self.pause.d.next = self.pause.q.val() + 1;
                if self.pause.q.val().all() {
                    self.state.d.next = TakerState::Ask;
                }
            }
            TakerState::Judge => {
                // The entry waits until there is room among those in use. One that is checked granule by granule waits
                // also
                // until all before it are named.
                self.piece.valid.next = !self.described.val() && self.fits.val();
                self.dry.write_enable.next = !self.goes_on.q.val() && !self.flush.q.val();
                if self.described.val() && !self.walks.q.val() && !self.alone.val() {
                    self.state.d.next = TakerState::Judge;
                } else if self.described.val() {
                    // The head is given to the checker alone.
                    self.granules_here.d.next = 4.into();
                    self.goes_on.d.next = true;
                    self.walks.d.next = true;
                    self.state.d.next = TakerState::Walk;
                    if self.first_of_walk.val() {
                        self.name.d.next = self.now.val();
                        self.block.d.next.data = self.granules.val();
                        self.wrong.d.next = !self.described_head.val();
                        self.starts.d.next = true;
                        self.granules_left.d.next =
                            self.block.q.val().data.get_bits::<GRANULES>(32) - 2;
                        self.granules_here.d.next = 2.into();
                    }
                } else if self.fits.val() && self.piece.ready.val() {
                    self.name.d.next = self.now.val();
                    self.left.d.next = self.behind.val();
                    self.goes_on.d.next = true;
                    self.kind.d.next = MarkKind::Halt;
                    self.state.d.next = TakerState::Ask;
                    if self.flush.q.val() {
                        self.state.d.next = TakerState::Settle;
                    } else if self.found.val() && self.bad.val() {
                        self.state.d.next = TakerState::Mark;
                    } else if self.appends.val() {
                        self.state.d.next = TakerState::Append;
                    } else if self.piece.ends.val() {
                        self.state.d.next = TakerState::Ready;
                    }
                }
            }
            TakerState::Append => {
                self.kind.d.next = MarkKind::Halt;
                if self.settles.q.val() {
                    self.state.d.next = TakerState::Discard;
                    if self.settles_halted.q.val() {
                        self.state.d.next = TakerState::Mark;
                    } else if self.settles_returned.q.val() {
                        // A take that follows finds nothing either.
                        self.dry.write_enable.next = true;
                        self.dry.write_data.next = 1.into();
                        self.state.d.next = TakerState::Ready;
                    }
                }
            }
            TakerState::Discard => {
                self.may_pop.next = true;
                self.pop.valid.next = true;
                if self.pop.ready.val() {
                    self.state.d.next = TakerState::Discarded;
                }
            }
            TakerState::Discarded => {
                if self.popped.valid.val() {
                    self.state.d.next = TakerState::Ready;
                }
            }
            TakerState::Walk => {
                self.piece.valid.next = self.looked.q.val();
                self.kind.d.next = MarkKind::Halt;
                if self.looked.q.val() && self.piece.ready.val() {
                    self.block.d.next.data = self.block.q.val().data >> 128;
                    self.starts.d.next = false;
                    self.granules_left.d.next = self.granules_left.q.val() - 1;
                    self.granules_here.d.next = self.granules_here.q.val() - 1;
                    if self.walk_bad.q.val() {
                        self.state.d.next = TakerState::Mark;
                    } else if self.walk_ends.val() {
                        self.state.d.next = TakerState::Ready;
                    } else if self.granules_here.q.val() == 1 {
                        self.state.d.next = TakerState::Ask;
                    }
                }
            }
            TakerState::Mark => {
                self.mark.valid.next = true;
                if self.mark.ready.val() {
                    self.state.d.next = TakerState::Ready;
                    // What comes after the mark of a queue that is flushed.
                    if self.kind.q.val() == MarkKind::Flush {
                        self.state.d.next = TakerState::GiveUp;
                    }
                }
            }
            TakerState::Find => {
                self.current.d.next.queue = self.owns.read_data.val().get_bits::<QUEUE>(0);
                self.has.d.next = self.owns.read_data.val().get_bit(QUEUE);
                self.state.d.next = TakerState::Place;
            }
            TakerState::Place => {
                // A shared queue has no flags for its queue pairs.
                self.owned.d.next = self.has.q.val() && !self.places.read_data.val().get_bit(CQ);
                self.state.d.next = TakerState::GiveUp;
                self.kind.d.next = MarkKind::Flush;
                match self.event.q.val().kind {
                    GiveUpKind::Broken => {
                        if !self.events.is_broken.val() {
                            self.state.d.next = TakerState::Ready;
                        } else if self.has.q.val() && !self.places.read_data.val().get_bit(CQ) {
                            self.state.d.next = TakerState::Mark;
                        }
                    }
                    GiveUpKind::Reset => {}
                    GiveUpKind::Ready => {
                        self.kind.d.next = MarkKind::Calm;
                        self.state.d.next = TakerState::Ready;
                        if self.has.q.val()
                            && !self.places.read_data.val().get_bit(CQ)
                            && !self.events.is_broken.val()
                        {
                            self.state.d.next = TakerState::Mark;
                        }
                    }
                    GiveUpKind::Posted => {
                        self.flush.d.next = true;
                        self.state.d.next = TakerState::Ask;
                    }
                }
            }
            TakerState::GiveUp => {
                self.give_up.valid.next = true;
                if self.give_up.ready.val() {
                    self.state.d.next = TakerState::Told;
                }
            }
            TakerState::Told => {
                self.kind.d.next = MarkKind::Calm;
                if self.given_up.valid.val() {
                    self.flush.d.next = true;
                    self.state.d.next = TakerState::Ready;
                    if self.owned.q.val() {
                        if self.event.q.val().kind == GiveUpKind::Reset {
                            if !self.events.is_broken.val() {
                                self.state.d.next = TakerState::Mark;
                            }
                        } else if !self.given_up.used.val() && !self.flush.q.val() {
                            self.state.d.next = TakerState::Ask;
                        }
                    }
                }
            }
            TakerState::Settle => {
                // The receive that was taken to be flushed is in use now.
                if self.settled.val() {
                    self.state.d.next = TakerState::Ready;
                    if self.found.val() {
                        self.state.d.next = TakerState::GiveUp;
                    }
                }
            }
        }

        self.busy.next = self.takes.output.valid.val()
            || self.events.busy.val()
            || (self.state.q.val() != TakerState::Ready);

        if self.rst.val() {
            self.state.d.next = TakerState::Ready;
            self.waiting.d.next = false;
            self.denied.d.next = false;
            self.looked.d.next = false;
        }
        self.places.ahead.next = self.current.d.val().queue;
        self.dry.ahead.next = self.current.d.val().qp;
        self.owns.ahead.next = self.current.d.val().qp;
        self.next_qp.next = self.current.d.val().qp;
        self.events.next_qp.next = self.current.d.val().qp;
    }
}
