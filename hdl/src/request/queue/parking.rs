//! Whose doorbells wait: those of queues whose queue pair is held, and those whose peer is silent while others have something to
//! send.

use crate::context::{ConfigWrite, QP, QUEUE, Table, TableSelect};
use drdma_abi::Layout;
use drdma_abi::register::SendQueueEntry;
use drdma_emit::prelude::*;

/// Bits of a number of queue pairs.
const HELD: usize = QP + 1;
/// Bits of a term's number, and of the cycles of a term (4.2 ms).
const TERM: usize = 2;
const TERM_CYCLES: usize = 20;
/// Bits of a trial: `term` 2, whether there was one.
const TRIAL: usize = TERM + 1;
/// The bit that says so.
const TRIED: u64 = 1 << TERM;
/// Bits of the time.
const TIME: usize = TERM_CYCLES + TERM;

/// The keeper holds a queue pair from now on, or does not any more.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Hold {
    /// Queue pair.
    pub qp: Bits<QP>,
    /// It is held, and was not; or the other way round.
    pub held: Bit,
}

/// The peer of a queue pair is silent from now on, or is not any more.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Silence {
    /// Queue pair.
    pub qp: Bits<QP>,
    /// Of what it sends nothing was acknowledged since its entry was written, although acknowledgements are waited for.
    pub silent: Bit,
}

fn word(name: &str) -> Constant<Bits<4>> {
    Constant::new((SendQueueEntry::field(name).start / 32).to_bits())
}

/// Fails unless the fields stand where the kernel takes them from.
fn fields_stand() -> bool {
    assert_eq!(SendQueueEntry::field("qp").start % 32, 0, "qp stands elsewhere");
    assert_eq!(SendQueueEntry::field("shared").start % 32, 8, "shared stands elsewhere");
    true
}

/// Tells whether a queue's own queue pair is held, and whether its peer is silent. That of a shared queue, which has many, never is.
///
/// A silent queue pair is *tried* when a turn of its queue begins, for one to two terms of 4.2 ms, or until its entry is written: so one that
/// got no answer because what was tried was never sent is tried again. Terms have numbers of 2 bits, so a trial counts once more four terms later,
/// again for one to two of them, if there was none meanwhile.
///
/// # Inputs
/// `clk`, `rst`; `cfg`; `hold`, `silence`; `next_queue`: the queue that is asked for; `tries`: a turn of the `next_queue` of two cycles before begins.
///
/// # Outputs
/// `held`, `silent`, `tried`: the queue pair of the `next_queue` of two cycles before is; `is_shared`: that queue is shared.
#[derive(LogicBlock, BlockDefault)]
#[check(fields_stand())]
pub struct Parking {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Queue pairs that are held.
    pub hold: Flow<In, Hold>,
    /// Queue pairs whose peers are silent.
    pub silence: Flow<In, Silence>,
    /// The queue that is asked for.
    pub next_queue: Signal<In, Bits<QUEUE>>,
    /// The queue pair of that of two cycles before is held.
    pub held: Signal<Out, Bit>,
    /// Its peer is silent.
    pub silent: Signal<Out, Bit>,
    /// It is tried.
    pub tried: Signal<Out, Bit>,
    /// It is from now on.
    pub tries: Signal<In, Bit>,
    /// That of two cycles before is shared.
    pub is_shared: Signal<Out, Bit>,

    select: TableSelect,
    unused: Signal<Local, Bits<32>>,
    #[init(word("qp"))]
    owner_word: Constant<Bits<4>>,
    #[init(word("shared"))]
    shared_word: Constant<Bits<4>>,
    owners: Table<QP, QUEUE>,
    shared: Table<1, QUEUE>,
    is_own: DFF<Bit>,
    owner: DFF<Bits<QP>>,
    silences: Table<1, QP>,
    /// The terms in which queue pairs were tried.
    trials: Table<TRIAL, QP>,
    clock: DFF<Bits<TIME>>,
    term: Signal<Local, Bits<TERM>>,
    terms_since: Signal<Local, Bits<TERM>>,
    holds: Table<1, QP>,
    /// How many there are.
    count: DFF<Bits<HELD>>,
}

impl Logic for Parking {
    #[hdl_gen]
    fn update(&mut self) {
        // What the host writes.
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

        // What the keeper says.
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

        // What was tried. What the host writes goes before; then it is tried once more.
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
