//! Tells whose doorbells wait: those of queues whose queue pair is held, and those whose peer is silent while others
//! have something to send.

use crate::context::{ConfigWrite, QP, QUEUE, Table, TableSelect};
use drdma_abi::Layout;
use drdma_abi::receive::AttributesEntry;
use drdma_abi::register::{QueuePairEntry, SendQueueEntry};
use drdma_abi::roce::Transport;
use drdma_emit::prelude::*;

use crate::request::{LOG_PART_UNIT, PART_PACKETS};

/// Bits of a count of queue pairs.
const HELD: usize = QP + 1;
/// Bits of the number of a term, and binary logarithm of its cycles (4.2 ms).
const TERM: usize = 2;
const TERM_CYCLES: usize = 20;
/// Bits of a trial: `term` 2, and a flag that says whether there was one.
const TRIAL: usize = TERM + 1;
/// Bit of a trial that says that there was one.
const TRIED: u64 = 1 << TERM;
/// Bits of the time.
const TIME: usize = TERM_CYCLES + TERM;

/// The keeper holds a queue pair from now on, or not any more.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Hold {
    /// The queue pair.
    pub qp: Bits<QP>,
    /// The queue pair has become held; otherwise it is held no longer.
    pub held: Bit,
}

/// The peer of a queue pair is silent from now on, or not any more.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Silence {
    /// The queue pair.
    pub qp: Bits<QP>,
    /// Nothing that the queue pair sends was acknowledged since its entry was written, although acknowledgements are
    /// awaited.
    pub silent: Bit,
}

fn word(name: &str) -> Constant<Bits<4>> {
    Constant::new((SendQueueEntry::field(name).start / 32).to_bits())
}

/// Number of the word that has MTU and transport of a queue pair.
fn shape_word() -> Constant<Bits<4>> {
    Constant::new((QueuePairEntry::field("log_mtu").start / 32).to_bits())
}

/// Number of the word that has the numbers of retries of a queue pair.
fn tries_word() -> Constant<Bits<4>> {
    Constant::new((AttributesEntry::field("retry_cnt").start / 32).to_bits())
}

/// Bits of the shape of a queue pair's messages: `log_units` 2, a flag for UC, and one for RC.
const SHAPE: usize = 4;
/// Bits of a shape that are the flags for UC and RC.
const UNRELIABLE: u64 = 1 << 2;
const RELIABLE: u64 = 1 << 3;
/// Codes of the transports.
const UC: u64 = Transport::Uc as u64;
const RC: u64 = Transport::Rc as u64;

/// Binary logarithms of MTUs with which a part of [`PART_PACKETS`] packets has one or two units.
const SHORT_MTU: u64 = 8;
const MEDIUM_MTU: u64 = 9;
const _: () = assert!(
    PART_PACKETS << SHORT_MTU == 1 << LOG_PART_UNIT,
    "a part of the shortest packets has a unit"
);

/// Fails at compile time unless the fields stand where the kernel takes them from.
fn fields_stand() -> bool {
    assert_eq!(SendQueueEntry::field("qp").start % 32, 0, "qp stands elsewhere");
    assert_eq!(SendQueueEntry::field("shared").start % 32, 8, "shared stands elsewhere");
    let (mtu, transport) = (QueuePairEntry::field("log_mtu"), QueuePairEntry::field("transport"));
    assert_eq!((mtu.start % 32, transport.start % 32), (24, 16), "they stand elsewhere");
    assert_eq!(mtu.start / 32, transport.start / 32, "they are in one word");
    let (retries, rnr) = (AttributesEntry::field("retry_cnt"), AttributesEntry::field("rnr_retry"));
    assert_eq!((retries.start % 32, rnr.start), (0, retries.start + 8), "tries stand elsewhere");
    true
}

/// Tells whether a queue's own queue pair is held, and whether its peer is silent. A shared queue, which has many queue
/// pairs, is neither.
///
/// A silent queue pair is *tried* when a turn of its queue begins, for one to two terms of 4.2 ms, or until its entry
/// is written: so one that got no answer because what was tried was never sent is tried again. Terms have numbers of 2
/// bits; so a trial counts once more four terms later, again for one to two of them, if there was none meanwhile.
///
/// # Inputs
/// `clk`, `rst`; `cfg`; `hold`, `silence`; `next_queue`: the queue that is asked for; `tries`: a turn of the
/// `next_queue` of two cycles before begins.
///
/// # Outputs
/// `held`, `silent`, `tried`: the queue pair of the `next_queue` of two cycles before is; `is_shared`: that queue is
/// shared; `splits`: long messages of its queue pair are sent in parts, those of RC only if it sends again what is
/// lost; `log_units`: the binary logarithm of the units that a part has.
#[derive(LogicBlock, BlockDefault)]
#[check(fields_stand())]
pub struct Parking {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Queue pairs that are held, or not any more.
    pub hold: Flow<In, Hold>,
    /// Queue pairs whose peers are silent, or not any more.
    pub silence: Flow<In, Silence>,
    /// The queue that is asked about.
    pub next_queue: Signal<In, Bits<QUEUE>>,
    /// The queue pair of `next_queue`, two cycles before, is held.
    pub held: Signal<Out, Bit>,
    /// The peer of the queue pair of `next_queue`, two cycles before, is silent.
    pub silent: Signal<Out, Bit>,
    /// The queue pair of `next_queue`, two cycles before, was tried in this term or the one before.
    pub tried: Signal<Out, Bit>,
    /// A turn of the queue of `next_queue`, two cycles before, begins: its queue pair is tried from now on.
    pub tries: Signal<In, Bit>,
    /// The queue of `next_queue`, two cycles before, is shared.
    pub is_shared: Signal<Out, Bit>,
    /// Long messages of that queue's queue pair are sent in parts.
    pub splits: Signal<Out, Bit>,
    /// Binary logarithm of the length of a part in units.
    pub log_units: Signal<Out, Bits<2>>,

    select: TableSelect,
    unused: Signal<Local, Bits<32>>,
    #[init(word("qp"))]
    owner_word: Constant<Bits<4>>,
    #[init(word("shared"))]
    shared_word: Constant<Bits<4>>,
    #[init(shape_word())]
    shape_word: Constant<Bits<4>>,
    #[init(tries_word())]
    tries_word: Constant<Bits<4>>,
    owners: Table<QP, QUEUE>,
    shapes: Table<SHAPE, QP>,
    /// Queue pairs that send again what is lost.
    repeats: Table<1, QP>,
    shared: Table<1, QUEUE>,
    units: Signal<Local, Bits<SHAPE>>,
    is_own: DFF<Bit>,
    owner: DFF<Bits<QP>>,
    silences: Table<1, QP>,
    /// The terms in which queue pairs were tried.
    trials: Table<TRIAL, QP>,
    clock: DFF<Bits<TIME>>,
    term: Signal<Local, Bits<TERM>>,
    terms_since: Signal<Local, Bits<TERM>>,
    holds: Table<1, QP>,
    /// Number of queue pairs that are held.
    count: DFF<Bits<HELD>>,
}

impl Logic for Parking {
    #[hdl_gen]
    fn update(&mut self) {
        // Words of tables that the host writes.
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();
        self.unused.next = self.cfg.data.val();
        self.owners.write_enable.next =
            self.select.send_queue.val() && (self.cfg.word.val() == self.owner_word.val());
        self.owners.write_address.next = self.cfg.index.val().get_bits::<QUEUE>(0);
        self.owners.write_data.next = self.cfg.data.val().get_bits::<QP>(0);
        self.shared.write_enable.next =
            self.select.send_queue.val() && (self.cfg.word.val() == self.shared_word.val());
        self.shared.write_address.next = self.cfg.index.val().get_bits::<QUEUE>(0);
        self.shared.write_data.next = self.cfg.data.val().get_bits::<1>(8);

        // Queue pairs that the keeper reports as held or silent.
        self.holds.write_enable.next = self.hold.valid.val() || self.select.every.val();
        self.holds.write_address.next = self.hold.qp.val();
        self.holds.write_data.next = bit_cast::<1, 1>(self.hold.held.val().into());
        if self.hold.valid.val() {
            self.count.d.next = self.count.q.val() - 1;
            if self.hold.held.val() {
                self.count.d.next = self.count.q.val() + 1;
            }
        }
        if self.select.every.val() {
            self.holds.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
            self.holds.write_data.next = 0.into();
        }

        self.silences.write_enable.next = self.silence.valid.val() || self.select.every.val();
        self.silences.write_address.next = self.silence.qp.val();
        self.silences.write_data.next = bit_cast::<1, 1>(self.silence.silent.val().into());
        if self.select.every.val() {
            self.silences.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
            self.silences.write_data.next = 0.into();
        }

        // Trials. A write of the host goes first; then the queue pair is tried once more.
        self.clock.d.next = self.clock.q.val() + 1;
        self.term.next = self.clock.q.val().get_bits::<TERM>(TERM_CYCLES);
        self.trials.write_enable.next = self.tries.val() || self.select.state.val();
        self.trials.write_address.next = self.owner.q.val();
        self.trials.write_data.next =
            bit_cast::<TRIAL, TERM>(self.term.val()) | bits::<TRIAL>(TRIED);
        if self.select.state.val() {
            self.trials.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
            self.trials.write_data.next = 0.into();
        }
        self.terms_since.next = self.term.val() - self.trials.read_data.val().get_bits::<TERM>(0);

        // Lengths of the parts of messages.
        self.shapes.write_enable.next =
            self.select.queue_pair.val() && (self.cfg.word.val() == self.shape_word.val());
        self.shapes.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
        self.units.next = 2.into();
        if self.cfg.data.val().get_bits::<8>(24) == SHORT_MTU {
            self.units.next = 0.into();
        } else if self.cfg.data.val().get_bits::<8>(24) == MEDIUM_MTU {
            self.units.next = 1.into();
        }
        self.shapes.write_data.next = self.units.val();
        if self.cfg.data.val().get_bits::<8>(16) == UC {
            self.shapes.write_data.next = self.units.val() | bits::<SHAPE>(UNRELIABLE);
        } else if self.cfg.data.val().get_bits::<8>(16) == RC {
            self.shapes.write_data.next = self.units.val() | bits::<SHAPE>(RELIABLE);
        }
        self.repeats.write_enable.next = self.select.every.val()
            || (self.select.receive_state.val() && !self.cfg.data.val().any())
            || (self.select.attributes.val() && (self.cfg.word.val() == self.tries_word.val()));
        self.repeats.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
        self.repeats.write_data.next = 0.into();
        if !self.select.every.val()
            && !self.select.receive_state.val()
            && (self.cfg.data.val().get_bits::<3>(0).any()
                || self.cfg.data.val().get_bits::<3>(8).any())
        {
            self.repeats.write_data.next = 1.into();
        }
        self.shapes.ahead.next = self.owners.read_data.val();
        self.repeats.ahead.next = self.owners.read_data.val();
        self.splits.next = self.shapes.read_data.val().get_bit(2)
            || (self.shapes.read_data.val().get_bit(3) && self.repeats.read_data.val().any());
        self.log_units.next = self.shapes.read_data.val().get_bits::<2>(0);

        // The queue, and its queue pair.
        self.owners.ahead.next = self.next_queue.val();
        self.shared.ahead.next = self.next_queue.val();
        self.is_own.d.next = !self.shared.read_data.val().any();
        self.is_shared.next = !self.is_own.q.val();
        self.owner.d.next = self.owners.read_data.val();
        self.silences.ahead.next = self.owners.read_data.val();
        self.trials.ahead.next = self.owners.read_data.val();
        self.silent.next = self.is_own.q.val() && self.silences.read_data.val().any();
        self.tried.next =
            self.trials.read_data.val().get_bit(TERM) && (self.terms_since.val() <= 1);
        self.holds.ahead.next = self.owners.read_data.val();
        self.held.next =
            self.count.q.val().any() && self.is_own.q.val() && self.holds.read_data.val().any();

        if self.rst.val() {
            self.count.d.next = 0.into();
            self.clock.d.next = 0.into();
        }
    }
}
