//! Takes entries of receive queues for messages, one after the other, and gives up those of broken queue pairs.
//!
//! An entry comes from the pool block by block. The taker looks at its head and shapes, and hands what they
//! describe to the checker, which looks at keys. One whose regions are not all contiguous goes there granule by granule.
//!
//! Contract: a take of a receive that is there occupies the taker for 5 cycles a block, and for 2 more each granule of an
//! entry with strided regions. One whose blocks are not
//! there yet waits for them, and tells the planner so; nothing overtakes it. A take of a shared queue by a queue pair whose last
//! receive is still in use waits for its completion, which must be on its way; what is taken of a queue of its own waits until there is room among those in
//! use, and a slot for its regions. An entry of many regions for which there is no slot is as if it were not posted. A receive that appends stays in its queue until `append_taken` says that it is used up; nothing is taken before. What is given up has its turn
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

/// The head's magic.
const MAGIC: u64 = RECEIVE_MAGIC as u64;
/// Magic and flags of a receive that appends, and its granules.
const APPEND_MAGIC: u64 = MAGIC | (receive_entry_flags::APPEND as u64) << 8;
const APPEND_GRANULES: u64 = ((ReceiveHeader::SIZE + AppendTarget::SIZE) / GRANULE) as u64;
/// Regions of an entry, at most.
const MOST_REGIONS: u64 = MAX_REGIONS as u64;
/// The upper one of the two bits of each type: neither a contiguous region nor a strided one has it, and all others have.
const ODD_BITS: u64 = 0xaaaa_aaaa;
/// Bits of a number of granules behind a head: a header for each strided region, and one for each place.
const GRANULES: usize = 6;
/// So many at most.
const MOST_GRANULES: u64 = (RECEIVE_PLACES + MAX_REGIONS) as u64;
/// A receive of so many regions has few.
const FEW: u64 = super::in_use::FEW;
/// Bits of where a queue's receives complete, and whether it is shared.
const PLACE: usize = CQ + 1;
/// Bits of a queue pair's receive queue, and whether it has one.
const OWN: usize = QUEUE + 1;

fn word_of<L: Layout>(field: &str) -> Constant<Bits<4>> {
    Constant::new((L::field(field).start as u64 / 32).into())
}

fn bit_of<L: Layout>(field: &str) -> Constant<Bits<5>> {
    Constant::new((L::field(field).start as u64 % 32).into())
}

/// What the taker is doing.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum TakerState {
    /// Waiting for a take, or for what is given up.
    Ready,
    /// Asking for a block, once the queue pair has no receive in use,
    Ask,
    /// and waiting for it.
    Answer,
    /// It will come: waiting some cycles.
    Pause,
    /// Handing it on.
    Judge,
    /// Handing its granules on.
    Walk,
    /// Until it is known what becomes of a receive that appends,
    Append,
    /// which is taken out of its queue,
    Discard,
    /// and is not there any more.
    Discarded,
    /// A queue's flags change.
    Mark,
    /// Finding the queue of what is given up,
    Find,
    /// and whether it is shared.
    Place,
    /// The receive in use is given up,
    GiveUp,
    /// and whether there was one is told.
    Told,
    /// There was none: waiting for the one that was taken instead.
    Settle,
}

/// See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Taker {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset; all tables are cleared after it.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// What is asked for.
    pub take: Stream<In, Take>,
    /// There is room for its answer.
    pub room: Signal<In, Bit>,
    /// Queue pairs that have entered the error state.
    pub broken: Flow<In, QueuePairIndex>,
    /// Those of queues that something was posted to.
    pub posted: Stream<In, QueuePairIndex>,
    /// A block may be asked for in this cycle: nothing that has its turn after `pop` has it now.
    pub may_pop: Signal<Out, Bit>,
    /// It is.
    pub pop: Stream<Out, Pop>,
    /// Here it is.
    pub popped: Flow<In, Popped>,
    /// A queue's flags change.
    pub mark: Stream<Out, Mark>,
    /// A message waits for a block,
    pub waits: Signal<Out, Bit>,
    /// of this queue.
    pub waits_for: Signal<Out, Bits<QUEUE>>,
    /// What the checker looks at.
    pub piece: Stream<Out, Piece>,
    /// What becomes of a receive that appends.
    pub append_taken: Flow<In, AppendTaken>,
    /// The checker is done with all of it.
    pub settled: Signal<In, Bit>,
    /// A queue pair's receive is given up,
    pub give_up: Stream<Out, GiveUp>,
    /// which is told some cycles later.
    pub given_up: Flow<In, GivenUp>,
    /// The queue pair of which it is asked whether it has a receive in use in the next cycle.
    pub next_qp: Signal<Out, Bits<QP>>,
    /// That of the cycle before has.
    pub in_use: Signal<In, Bit>,
    /// As many as that of the cycle before had in use then, of those that were named until then: any,
    pub had_any: Signal<In, Bit>,
    /// or as many as it may, or one of many regions.
    pub had_all: Signal<In, Bit>,
    /// There is a slot for a receive of few regions. For one of many there is, if the pool gives its entry.
    pub few_room: Signal<In, Bit>,
    /// Something is at work.
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
    /// The last take of a queue pair has found nothing.
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
    /// It goes on: a block of it was taken.
    goes_on: DFF<Bit>,
    waiting: DFF<Bit>,
    /// In the cycle before no block could be asked for.
    denied: DFF<Bit>,
    pause: DFF<Bits<3>>,
    block: DFF<Popped>,
    name: DFF<Name>,
    /// Regions of it in further blocks.
    left: DFF<Bits<REGIONS>>,
    // An entry with strided regions.
    shapes: Shapes,
    /// It is one.
    walks: DFF<Bit>,
    /// Its head is wrong.
    wrong: DFF<Bit>,
    /// No granule of it was handed on.
    starts: DFF<Bit>,
    /// Granules that were not,
    granules_left: DFF<Bits<GRANULES>>,
    /// and those of this block.
    granules_here: DFF<Bits<3>>,
    /// What `mark` is.
    kind: DFF<MarkKind>,
    /// The queue pair of what is given up has a receive queue,
    has: DFF<Bit>,
    /// of its own.
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
    /// Its queue pair has nothing in use.
    alone: Signal<Local, Bit>,
    /// It is one that appends.
    appends: Signal<Local, Bit>,
    described: Signal<Local, Bit>,
    types: Signal<Local, Bits<32>>,
    /// Types of regions that there are not.
    extra: Signal<Local, Bits<32>>,
    described_head: Signal<Local, Bit>,
    described_blocks: Signal<Local, Bits<32>>,
    /// The granule is wrong.
    walk_bad: DFF<Bit>,
    /// It was looked at.
    looked: DFF<Bit>,
    walk_ends: Signal<Local, Bit>,
    asks: Signal<Local, Bit>,
    /// It is one of a shared queue, which waits until its queue pair has none in use.
    only_alone: Signal<Local, Bit>,
    /// Nothing else is in its way.
    could_ask: Signal<Local, Bit>,
    /// There is room for it among those in use.
    fits: Signal<Local, Bit>,
    /// Nothing is found, whatever is posted.
    refuses: Signal<Local, Bit>,
    unused: Signal<Local, Bits<6>>,
}

impl Logic for Taker {
    #[hdl_gen]
    fn update(&mut self) {
        // Known at the end of a cycle, so used in the next one.
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
        // Nobody has one after a reset: `data` is 0 then.
        self.owns.write_enable.next = self.select.attributes.val()
            && (self.select.every.val() || (self.cfg.word.val() == self.own_word.val()));
        self.owns.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
        self.owns.write_data.next = bit_cast::<OWN, QUEUE>(
            self.cfg.data.val().get_bits::<QUEUE>(self.own_at.val().index()),
        );
        if self.cfg.data.val().get_bits::<8>(self.receives_at.val().index()) == 1 {
            self.owns.write_data.next = self.owns.write_data.val().replace_bit(QUEUE, true);
        }

        // What is given up waits, and so do takes.
        self.cfg.join(&mut self.events.cfg);
        self.broken.join(&mut self.events.broken);
        self.posted.join(&mut self.events.posted);
        self.events.event.ready.next = false;
        self.take.join(&mut self.takes.input);
        self.takes.output.ready.next = false;

        // The block that came last: its head, if it is an entry's first one.
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
            // Two regions, then four a block.
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
        // Of the first block, behind the head.
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

        // Regions that are not all contiguous. A head is wrong if there are types of regions that there are not.
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

        // What is taken of a shared queue may fail and halt it first. A queue of its own is not asked behind that.
        self.only_alone.next =
            !self.goes_on.q.val() && self.places.read_data.val().get_bit(CQ) && !self.flush.q.val();
        self.asks.next = !self.only_alone.val() || !self.in_use.val();
        self.fits.next = !self.found.val()
            || self.goes_on.q.val()
            || self.flush.q.val()
            || !self.had_any.val()
            || (!self.had_all.val() && !self.now.val().wide);
        // What the checker has gets its slot first.
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
                // Whether it is asked for is known late, and so the pool is told early that it may be. What cannot be
                // asked for leaves the turn to others until it can.
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
                    // The host has reset its queue pair meanwhile.
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
                // It waits until there is room among those in use. One that is looked at granule by granule waits as
                // well until all before it are named.
                self.piece.valid.next = !self.described.val() && self.fits.val();
                self.dry.write_enable.next = !self.goes_on.q.val() && !self.flush.q.val();
                if self.described.val() && !self.walks.q.val() && !self.alone.val() {
                    self.state.d.next = TakerState::Judge;
                } else if self.described.val() {
                    // The head goes by itself.
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
                        // What follows it finds nothing either.
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
                    // What follows the mark of a queue that is flushed.
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
                // A shared queue has no flags of its queue pairs.
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
