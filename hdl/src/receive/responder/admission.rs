//! Checks whether a packet is for its queue pair, and whether it is the next one.

use super::contexts::Contexts;
use super::flights::{Failure, Fate, Flights};
use super::operation::Operation;
use super::record::{
    Foreseen, Job, JobKind, Located, Message, PROGRESS, Progress, ProgressWrite, Settings,
};
use crate::context::{ConfigWrite, EVERY_TABLE, QP, QueuePairIndex, Stamps, Table, TableSelect};
use crate::primitive::{Flatten, Restore};
use crate::receive::record::{Answered, KEPT, RESOURCE, STORE};
use drdma_abi::receive::GLOBAL_ROUTE;
use drdma_abi::roce::{Transport, syndrome};
use drdma_emit::prelude::*;

/// Codes of the transports, and their bits in the opcode.
const RC: u64 = Transport::Rc as u64;
const UC: u64 = Transport::Uc as u64;
const UD: u64 = Transport::Ud as u64;
const RC_BITS: u64 = (Transport::Rc.opcode_bits() >> 5) as u64;
const UC_BITS: u64 = (Transport::Uc.opcode_bits() >> 5) as u64;
const UD_BITS: u64 = (Transport::Ud.opcode_bits() >> 5) as u64;
/// Syndromes: an ACK without credits, and a NAK that asks for the expected packet.
const ACK_SYNDROME: u64 = (syndrome::ACK | 31) as u64;
const NAK_PSN: u64 = syndrome::NAK_PSN as u64;
/// Bytes in front of a datagram in its receive.
const ROUTE: u64 = GLOBAL_ROUTE as u64;
/// Bytes that an atomic changes.
const ATOMIC_BYTES: u64 = 8;
/// First byte of the IPv4 header in a frame, without a tag and with one.
const HEADER: u64 = 14;
const TAGGED_HEADER: u64 = 18;

/// Steps of a packet's check.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum AdmissionState {
    /// Waits for a packet, and until those of its queue pair that it must wait for are done.
    Wait,
    /// What is known of the queue pair has been read.
    Read,
    /// It is known what is to be done about the packet.
    Decide,
}

/// Checks whose packets they are, and their order; see the [module](self).
///
/// Contract: a packet in 3 cycles. A packet of a SEND or a WRITE that is the next one of an RC queue pair leaves as if
/// those under way before it were executed;
/// the queue pair's progress with it is in the table a cycle later. If one of them is not executed (`fails`), `write`
/// has corrected
/// the table, and those behind it are void (`fate`). Any other packet, and the first one of a SEND from a shared queue,
/// waits until those before
/// it are done, and those behind it wait too; so do packets behind a READ, an atomic, the first of several packets that
/// take a receive, or a further one that is appended. When the host makes a queue
/// pair begin anew, or one of its packets fails, the check of its packet starts again.
///
/// # Inputs
/// `clk`, `rst`; `cfg`; stream `located`; `qp_error`, of the cycle after `error_next`; `ended`: the oldest job is done;
/// `fails`; `lingers`: the queue pair
/// of a placing that was not taken; `write`: a queue pair's progress, not in a cycle with `begins`, nor in two
/// successive cycles; `answered`.
///
/// # Outputs
/// Stream `job` (one for each packet); `fate` of the oldest one; `error_next`; `begins`; `count_dropped`,
/// `count_ignored`.
#[derive(LogicBlock, BlockDefault)]
pub struct Admission {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Packets, in order.
    pub located: Stream<In, Located>,
    /// The queue pair whose `qp_error` is asked for in the next cycle.
    pub error_next: Signal<Out, Bits<QP>>,
    /// The queue pair of `error_next`, one cycle before, is in the error state.
    pub qp_error: Signal<In, Bit>,
    /// The oldest job under way is done.
    pub ended: Signal<In, Bit>,
    /// A job has failed; `write` had the queue pair's progress in the cycle before.
    pub fails: Flow<In, Failure>,
    /// The queue pair of a placing that is on offer.
    pub lingers: Flow<In, QueuePairIndex>,
    /// What has happened to the oldest job since it left.
    pub fate: Signals<Out, Fate>,
    /// Progress of a queue pair, as execution leaves it.
    pub write: Flow<In, ProgressWrite>,
    /// A READ or an atomic was answered or given up, unless it was a repetition.
    pub answered: Flow<In, Answered>,
    /// What is to be done about each packet.
    pub job: Stream<Out, Job>,
    /// A queue pair begins anew: what is under way for it is stale.
    pub begins: Flow<Out, QueuePairIndex>,
    /// A packet was dropped because no queue pair takes it.
    pub count_dropped: Signal<Out, Bit>,
    /// A packet was dropped because its queue pair does not need it: a duplicate, one out of order, or one of a message
    /// that was given up.
    pub count_ignored: Signal<Out, Bit>,

    contexts: Contexts,
    select: TableSelect,
    stamps: Stamps<32, QP, 1>,
    unused: Signal<Local, Bits<32>>,
    progress: Table<PROGRESS, QP>,
    flatten: Flatten<Progress, PROGRESS>,
    restore: Restore<Progress, PROGRESS>,
    operation: Operation,
    /// Of each queue pair: the number of the last READ or atomic that was accepted, and of the last one that was
    /// answered.
    accepted: Table<RESOURCE, QP>,
    gone: Table<RESOURCE, QP>,
    clears: Signal<Local, Bit>,
    waiting: Signal<Local, Bits<RESOURCE>>,
    kept: Signal<Local, Bits<KEPT>>,

    state: DFF<AdmissionState>,
    flights: Flights,
    /// The packet waits until nothing of its queue pair is under way.
    alone: DFF<Bit>,
    lingering: Signal<Local, Bit>,
    // Something of the queue pair is under way; `follows`: something of it that takes a receive.
    shares: DFF<Bit>,
    follows: DFF<Bit>,
    /// `foreseen` holds the progress of a queue pair if the packet that left last is executed, until it is written.
    foresees: DFF<Bit>,
    foreseen: DFF<Foreseen>,
    then: Signal<Local, Progress>,
    writes: Signal<Local, Bit>,
    written_qp: Signal<Local, Bits<QP>>,
    /// `executed` holds the progress of a queue pair that execution has reported.
    executes: DFF<Bit>,
    executed: DFF<ProgressWrite>,
    /// One of the two is not in the table yet.
    waits: Signal<Local, Bit>,
    /// What was foreseen does not hold any more.
    revokes: Signal<Local, Bit>,
    /// The packet is of a SEND or WRITE, and the next one of an RC queue pair.
    regular: Signal<Local, Bit>,
    /// The packet need not wait for those before it.
    able: Signal<Local, Bit>,
    leaves: Signal<Local, Bit>,
    // What is known of the queue pair, valid in `Decide`.
    settings: DFF<Settings>,
    stamp: DFF<Bits<32>>,
    here: DFF<Progress>,
    /// How far the packet's sequence number is ahead of the expected one, modulo 2^24.
    ahead: DFF<Bits<24>>,
    reliable: DFF<Bit>,
    connected: DFF<Bit>,
    datagram: DFF<Bit>,
    of_pkey: DFF<Bit>,
    of_vlan: DFF<Bit>,
    of_peer: DFF<Bit>,
    of_qkey: DFF<Bit>,
    receiving: DFF<Bit>,
    /// The queue pair still has the number that the packet names.
    of_number: DFF<Bit>,
    /// As many READs and atomics wait for their answers as the queue pair may have.
    crowded: DFF<Bit>,
    resource: DFF<Bits<RESOURCE>>,

    now: Signal<Local, Progress>,
    high: Signal<Local, Bits<3>>,
    restarts: Signal<Local, Bit>,
    decides: Signal<Local, Bit>,
    known: Signal<Local, Bit>,
    counts: Signal<Local, Bit>,
    drops: Signal<Local, Bit>,
    // On UC: the message before is given up; the message that is left then; the packet continues that one.
    breaks_off: Signal<Local, Bit>,
    left: Signal<Local, Message>,
    goes_on: Signal<Local, Bit>,
    in_sequence: Signal<Local, Bit>,
    work: Signal<Local, Job>,
}

impl Logic for Admission {
    #[hdl_gen]
    fn update(&mut self) {
        self.cfg.join(&mut self.contexts.cfg);
        self.contexts.begins.join(&mut self.begins);
        // What was foreseen is written when nothing else is.
        self.then.next = self.foreseen.q.val().progress;
        self.then.next.expected = self.foreseen.q.val().psn + 1;
        self.then.next.message = Message::None;
        if self.foreseen.q.val().last {
            self.then.next.msn = self.foreseen.q.val().progress.msn + 1;
        } else if self.foreseen.q.val().write {
            self.then.next.message = Message::Write;
        } else {
            self.then.next.message = Message::Send;
        }
        if self.foreseen.q.val().completes {
            self.then.next.in_use = false;
        }
        if self.foreseen.q.val().write {
            self.then.next.addr = self.foreseen.q.val().progress.addr
                + bit_cast::<64, 13>(self.foreseen.q.val().bytes);
            self.then.next.remaining = self.foreseen.q.val().progress.remaining
                - bit_cast::<32, 13>(self.foreseen.q.val().bytes);
        } else {
            self.then.next.len = self.foreseen.q.val().progress.len
                + bit_cast::<32, 13>(self.foreseen.q.val().bytes);
        }
        self.revokes.next = (self.begins.valid.val()
            && (self.begins.qp.val() == self.foreseen.q.val().qp))
            || (self.fails.valid.val() && (self.fails.qp.val() == self.foreseen.q.val().qp));
        self.writes.next = !self.begins.valid.val()
            && (self.executes.q.val() || (self.foresees.q.val() && !self.revokes.val()));
        self.written_qp.next = self.foreseen.q.val().qp;
        self.flatten.record.next = self.then.val();
        if self.executes.q.val() {
            self.written_qp.next = self.executed.q.val().qp;
            self.flatten.record.next = self.executed.q.val().progress;
        }
        if (!self.executes.q.val() && !self.begins.valid.val()) || self.revokes.val() {
            self.foresees.d.next = false;
        }
        // Execution's progress is written a cycle later, or two if a queue pair begins anew in the first.
        if !self.begins.valid.val() || (self.begins.qp.val() == self.executed.q.val().qp) {
            self.executes.d.next = false;
        }
        if self.write.valid.val() {
            self.executes.d.next = true;
            self.executed.d.next = self.write.val();
        }
        self.waits.next = self.foresees.q.val()
            || (self.executes.q.val() && (self.executed.q.val().qp == self.located.qp.val()));
        self.contexts.used.valid.next = self.writes.val();
        self.contexts.used.qp.next = self.written_qp.val();
        self.contexts.next_qp.next = self.located.qp.val();
        self.error_next.next = self.located.qp.val();
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();
        self.stamps.written.next = self.select.queue_pair.val();
        self.stamps.index.next = self.cfg.index.val().get_bits::<QP>(0);
        self.stamps.ahead[0].next = self.located.qp.val();
        self.unused.next = self.cfg.data.val();
        self.progress.write_enable.next = self.writes.val();
        self.progress.write_address.next = self.written_qp.val();
        self.progress.write_data.next = self.flatten.bits.val();
        self.progress.ahead.next = self.located.qp.val();
        self.restore.bits.next = self.progress.read_data.val();
        self.clears.next = self.cfg.valid.val() && (self.cfg.table.val() == EVERY_TABLE);
        self.accepted.write_enable.next = self.clears.val() || self.executes.q.val();
        self.accepted.write_address.next = self.executed.q.val().qp;
        self.accepted.write_data.next = self.executed.q.val().resource;
        self.gone.write_enable.next = self.clears.val() || self.answered.valid.val();
        self.gone.write_address.next = self.answered.qp.val();
        self.gone.write_data.next = self.answered.resource.val();
        if self.clears.val() {
            self.accepted.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
            self.accepted.write_data.next = 0.into();
            self.gone.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
            self.gone.write_data.next = 0.into();
        }
        self.accepted.ahead.next = self.located.qp.val();
        self.gone.ahead.next = self.located.qp.val();
        self.operation.code.next = self.located.opcode.val().get_bits::<5>(0);
        self.high.next = self.located.opcode.val().get_bits::<3>(5);

        // Read.
        self.now.next = self.restore.record.val();
        if self.contexts.settings.fresh.val() {
            self.now.next.expected = self.contexts.settings.start_psn.val();
            self.now.next.msn = 0.into();
            self.now.next.asked = false;
            self.now.next.message = Message::None;
            self.now.next.in_use = false;
            self.now.next.appends = false;
            self.now.next.pieces = false;
            self.now.next.accepted = 0.into();
        }
        // Of the READs and atomics that wait, only those count that were accepted since the queue pair began.
        self.waiting.next = self.accepted.read_data.val() - self.gone.read_data.val();
        self.lingering.next =
            self.lingers.valid.val() && (self.lingers.qp.val() == self.located.qp.val());
        if self.state.q.val() == AdmissionState::Read {
            self.settings.d.next = self.contexts.settings.val();
            self.stamp.d.next = self.stamps.stamp[0].val();
            self.here.d.next = self.now.val();
            self.ahead.d.next = self.located.psn.val() - self.now.val().expected;
            self.reliable.d.next =
                (self.contexts.settings.transport.val() == RC) && (self.high.val() == RC_BITS);
            self.connected.d.next =
                (self.contexts.settings.transport.val() == UC) && (self.high.val() == UC_BITS);
            self.datagram.d.next =
                (self.contexts.settings.transport.val() == UD) && (self.high.val() == UD_BITS);
            // One of two members of a partition must be a full one.
            self.of_pkey.d.next = (self.contexts.settings.pkey.val().get_bits::<15>(0)
                == self.located.pkey.val().get_bits::<15>(0))
                && (self.contexts.settings.pkey.val().get_bit(15)
                    || self.located.pkey.val().get_bit(15));
            self.of_vlan.d.next = self.contexts.settings.vlan.val() == self.located.vlan.val();
            self.of_number.d.next = self.contexts.settings.qpn.val() == self.located.qpn.val();
            self.of_peer.d.next =
                self.contexts.settings.dest_ip.val() == self.located.source_ip.val();
            self.of_qkey.d.next = self.contexts.settings.qkey.val() == self.located.qkey.val();
            self.receiving.d.next = self.contexts.settings.receiving.val() && !self.qp_error.val();
            self.crowded.d.next = (self.waiting.val()
                >= bit_cast::<RESOURCE, KEPT>(self.contexts.settings.limit.val()))
                && (self.now.val().accepted >= self.contexts.settings.limit.val());
            self.resource.d.next = self.accepted.read_data.val();
            self.shares.d.next = self.flights.shares.val() || self.lingering.val();
            self.follows.d.next = self.flights.takes.val();
        }

        // Decide: whose packet it is.
        self.known.next = self.of_number.q.val()
            && self.settings.q.val().exists
            && self.of_pkey.q.val()
            && self.of_vlan.q.val()
            && (((self.reliable.q.val() || self.connected.q.val()) && self.of_peer.q.val())
                || (self.datagram.q.val() && self.of_qkey.q.val()));

        // The job, as if the packet were the next one and all in order.
        self.work.next.kind = JobKind::Nothing;
        self.work.next.qp = self.located.qp.val();
        self.work.next.stamp = self.stamp.q.val();
        self.work.next.progress = self.here.q.val();
        self.work.next.write = self.operation.write.val();
        self.work.next.read = self.operation.read.val();
        self.work.next.atomic = self.operation.atomic.val();
        self.work.next.swaps = self.operation.swaps.val();
        self.work.next.swap_or_add = self.located.swap_or_add.val();
        self.work.next.compare = self.located.compare.val();
        self.work.next.resource = self.resource.q.val();
        self.kept.next = self.here.q.val().accepted;
        if self.settings.q.val().limit < self.kept.val() {
            self.kept.next = self.settings.q.val().limit;
        }
        self.work.next.kept = self.kept.val();
        self.work.next.first = self.operation.first.val();
        self.work.next.last = self.operation.last.val();
        self.work.next.reliable = self.reliable.q.val();
        self.work.next.datagram = self.datagram.q.val();
        self.work.next.with_imm = self.operation.with_imm.val();
        self.work.next.invalidates = self.operation.invalidates.val();
        self.work.next.ack_req = self.located.ack_req.val();
        self.work.next.padded = self.located.padded.val();
        self.work.next.psn = self.located.psn.val();
        self.work.next.syndrome = ACK_SYNDROME.into();
        self.work.next.ram = (bit_cast::<STORE, 11>(self.located.start.val()) << 6)
            + bit_cast::<STORE, 7>(self.located.offset.val());
        self.work.next.header = (bit_cast::<STORE, 11>(self.located.start.val()) << 6) + HEADER;
        if self.located.tagged.val() {
            self.work.next.header =
                (bit_cast::<STORE, 11>(self.located.start.val()) << 6) + TAGGED_HEADER;
        }
        self.work.next.bytes = self.located.bytes.val();
        self.work.next.words = self.located.words.val();
        self.work.next.imm = self.located.imm.val();
        self.work.next.source_qp = self.located.source_qp.val();
        self.work.next.pd = self.settings.q.val().pd;
        self.work.next.log_mtu = self.settings.q.val().log_mtu;
        self.work.next.rnr_timer = self.settings.q.val().rnr_timer;
        self.work.next.queue = self.settings.q.val().queue;
        self.work.next.shared = self.contexts.shared.val();
        self.work.next.abandons = false;
        self.work.next.releases = false;
        self.work.next.takes = false;
        self.work.next.missing = false;
        self.work.next.taken = false;
        self.work.next.status = 0.into();
        self.work.next.follows = self.follows.q.val();
        if self.operation.first.val() {
            self.work.next.progress.len = 0.into();
            if self.operation.write.val() {
                self.work.next.progress.addr = self.located.addr.val();
                self.work.next.progress.rkey = self.located.rkey.val();
                self.work.next.progress.len = self.located.len.val();
                self.work.next.progress.remaining = self.located.len.val();
            }
        }
        if self.operation.invalidates.val() {
            self.work.next.progress.rkey = self.located.rkey.val();
        }

        // UC: a packet was lost, or the message before has no end.
        self.breaks_off.next = self.ahead.q.val().any() || self.operation.first.val();
        self.left.next = self.here.q.val().message;
        if self.connected.q.val() && self.breaks_off.val() {
            self.left.next = Message::None;
        }
        self.goes_on.next = (self.left.val() == Message::Send && self.operation.send.val())
            || (self.left.val() == Message::Write && self.operation.write.val());
        self.in_sequence.next = (self.operation.send.val() || self.operation.write.val())
            && ((self.left.val() == Message::None && self.operation.first.val())
                || (self.goes_on.val() && !self.operation.first.val()));

        self.drops.next = false;
        self.counts.next = false;
        if !self.known.val() || !self.receiving.q.val() {
            self.drops.next = true;
        } else if self.reliable.q.val() {
            self.work.next.progress.asked = false;
            if self.operation.responds.val() {
                self.counts.next = true;
            } else if self.ahead.q.val().get_bit(23) {
                // A duplicate: the last packet is acknowledged again.
                self.work.next.progress = self.here.q.val();
                self.work.next.psn = self.here.q.val().expected - 1;
                if self.located.ack_req.val()
                    && (self.operation.send.val() || self.operation.write.val())
                {
                    self.work.next.kind = JobKind::Answer;
                } else if self.operation.read.val() && self.settings.q.val().readable {
                    self.work.next.psn = self.located.psn.val();
                    self.work.next.kind = JobKind::Again;
                } else if self.operation.atomic.val() && self.kept.val().any() {
                    // Whether the atomic's answer is kept is found out where these are.
                    self.work.next.psn = self.located.psn.val();
                    self.work.next.kind = JobKind::Again;
                } else {
                    self.counts.next = true;
                }
            } else if self.ahead.q.val().any() {
                self.work.next.progress = self.here.q.val();
                self.work.next.progress.asked = true;
                self.work.next.psn = self.here.q.val().expected;
                self.work.next.syndrome = NAK_PSN.into();
                if self.here.q.val().asked {
                    self.counts.next = true;
                } else {
                    self.work.next.kind = JobKind::Answer;
                }
            } else if (self.in_sequence.val()
                && (!self.operation.write.val() || self.settings.q.val().writable))
                || (((self.operation.read.val() && self.settings.q.val().readable)
                    || (self.operation.atomic.val() && self.settings.q.val().changeable))
                    && (self.here.q.val().message == Message::None)
                    && !self.crowded.q.val())
            {
                self.work.next.kind = JobKind::Execute;
            } else {
                self.work.next.kind = JobKind::Refuse;
            }
        } else if self.connected.q.val() {
            self.work.next.progress.message = self.left.val();
            if self.operation.invalidates.val()
                || !(self.operation.send.val() || self.operation.write.val())
            {
                self.counts.next = true;
            } else if !self.in_sequence.val() {
                self.counts.next = true;
                self.work.next.kind = JobKind::Forget;
                self.work.next.progress.message = Message::None;
            } else {
                self.work.next.progress.expected = self.located.psn.val();
                self.work.next.kind = JobKind::Execute;
                if self.operation.write.val() && !self.settings.q.val().writable {
                    self.counts.next = true;
                    self.work.next.kind = JobKind::Forget;
                    self.work.next.progress.expected = self.located.psn.val() + 1;
                    self.work.next.progress.message = Message::None;
                }
            }
            if (self.work.val().kind != JobKind::Nothing)
                && self.contexts.shared.val()
                && self.here.q.val().in_use
                && (self.breaks_off.val() || !self.in_sequence.val())
            {
                self.work.next.abandons = true;
                self.work.next.progress.in_use = false;
            }
            self.work.next.releases = (self.work.val().kind != JobKind::Nothing)
                && (self.here.q.val().message == Message::Send)
                && self.here.q.val().appends
                && (self.breaks_off.val() || !self.in_sequence.val());
        } else {
            self.work.next.progress.len = ROUTE.into();
            if self.operation.send.val()
                && self.operation.first.val()
                && self.operation.last.val()
                && !self.operation.invalidates.val()
            {
                self.work.next.kind = JobKind::Execute;
            } else {
                self.counts.next = true;
            }
        }
        // The range that a READ or an atomic names.
        if (self.operation.read.val() || self.operation.atomic.val())
            && (self.work.val().kind != JobKind::Answer)
        {
            self.work.next.progress.addr = self.located.addr.val();
            self.work.next.progress.rkey = self.located.rkey.val();
            self.work.next.progress.len = self.located.len.val();
            self.work.next.progress.remaining = self.located.len.val();
        }
        if self.operation.atomic.val() && (self.work.val().kind != JobKind::Answer) {
            self.work.next.progress.len = ATOMIC_BYTES.into();
            self.work.next.progress.remaining = ATOMIC_BYTES.into();
        }
        if (self.work.val().kind == JobKind::Execute)
            && !self.work.val().progress.in_use
            && ((self.operation.send.val() && self.operation.first.val())
                || (self.operation.write.val() && self.operation.with_imm.val()))
        {
            self.work.next.takes = self.settings.q.val().has_queue;
            self.work.next.missing = !self.settings.q.val().has_queue;
        }

        // Packets that are the next ones of RC queue pairs follow each other without waiting.
        self.regular.next = self.known.val()
            && self.receiving.q.val()
            && self.reliable.q.val()
            && !self.ahead.q.val().any()
            && self.in_sequence.val()
            && (!self.operation.write.val() || self.settings.q.val().writable);
        self.able.next = self.regular.val()
            && !self.settings.q.val().fresh
            && !(self.contexts.shared.val()
                && ((self.operation.send.val() && self.operation.first.val())
                    || self.operation.with_imm.val()));
        // How much the receive holds that is taken now is not known, and without a queue there is no receive. An append
        // region may have no
        // rows in the middle of a message.
        self.work.next.foreseen = self.regular.val()
            && (self.settings.q.val().has_queue
                || !((self.operation.send.val() && self.operation.first.val())
                    || self.operation.with_imm.val()))
            && !(self.operation.send.val()
                && ((self.operation.first.val() && !self.operation.last.val())
                    || (!self.operation.first.val() && self.here.q.val().appends)));

        // The three steps of the check.
        self.restarts.next = (self.begins.valid.val()
            && (self.begins.qp.val() == self.located.qp.val()))
            || (self.fails.valid.val() && (self.fails.qp.val() == self.located.qp.val()));
        self.decides.next = (self.state.q.val() == AdmissionState::Decide)
            && !self.restarts.val()
            && !self.flights.full.val()
            && (self.able.val() || !self.shares.q.val());
        self.job.valid.next = self.decides.val();
        self.job.next = self.work.val();
        self.leaves.next = self.decides.val() && self.job.ready.val();
        self.located.ready.next = self.leaves.val();
        self.count_dropped.next = self.leaves.val() && self.drops.val();
        self.count_ignored.next = self.leaves.val() && self.counts.val();
        if self.leaves.val() {
            self.foresees.d.next = self.work.val().foreseen;
            self.foreseen.d.next.qp = self.work.val().qp;
            self.foreseen.d.next.progress = self.work.val().progress;
            self.foreseen.d.next.psn = self.work.val().psn;
            self.foreseen.d.next.bytes = self.work.val().bytes;
            self.foreseen.d.next.write = self.work.val().write;
            self.foreseen.d.next.last = self.work.val().last;
            self.foreseen.d.next.completes =
                self.work.val().last && (!self.work.val().write || self.work.val().with_imm);
        }
        match self.state.q.val() {
            AdmissionState::Wait => {
                if self.located.valid.val()
                    && !self.restarts.val()
                    && !self.flights.blocks.val()
                    && !(self.alone.q.val() && (self.flights.shares.val() || self.lingering.val()))
                {
                    self.state.d.next = AdmissionState::Read;
                }
            }
            AdmissionState::Read => {
                if !self.waits.val() {
                    self.state.d.next = AdmissionState::Decide;
                }
                if self.restarts.val() {
                    self.state.d.next = AdmissionState::Wait;
                }
            }
            AdmissionState::Decide => {
                if self.restarts.val() {
                    self.state.d.next = AdmissionState::Wait;
                } else if self.shares.q.val() && !self.able.val() {
                    self.alone.d.next = true;
                    self.state.d.next = AdmissionState::Wait;
                } else if self.leaves.val() {
                    self.alone.d.next = false;
                    self.state.d.next = AdmissionState::Wait;
                }
            }
        }

        // The jobs that are under way.
        self.flights.begun.valid.next = self.leaves.val();
        self.flights.begun.qp.next = self.located.qp.val();
        self.flights.begun.ahead.next = self.work.val().foreseen;
        self.flights.begun.takes.next = self.work.val().takes;
        self.flights.ended.next = self.ended.val();
        self.flights.begins.valid.next = self.begins.valid.val();
        self.flights.begins.qp.next = self.begins.qp.val();
        self.fails.join(&mut self.flights.fails);
        self.flights.qp.next = self.located.qp.val();
        self.fate.next = self.flights.fate.val();
        if self.rst.val() {
            self.state.d.next = AdmissionState::Wait;
            self.foresees.d.next = false;
            self.executes.d.next = false;
            self.alone.d.next = false;
        }
    }
}
