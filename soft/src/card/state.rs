//! State of a card.

use std::collections::{BTreeSet, HashMap, VecDeque};

use drdma_abi::{
    described::AppendCompletion,
    receive::ReceiveCompletion,
    register::{ASSEMBLER_WORDS, COLUMN_MIN_ROWS},
};

use super::{
    buffers::Buffers,
    job::Job,
    registers::{Counters, Registers},
    row_copies::LastDealt,
    tables::{RequestId, Tables},
};
use drdma_semantics::scatter::Scatter;

use crate::{host::Host, wire::Network};

/// Nanoseconds of a clock cycle: 250 MHz.
pub const NS_PER_CYCLE: u64 = 4;
/// Number of cycles that pass in one call of `progress`.
pub const CYCLES_PER_PROGRESS: u64 = 1024;
/// Bit of the register `CONTROL`: take doorbells and send.
pub(super) const ENABLE: u32 = 1 << 0;
/// Bit of the register `CONTROL`: reset.
pub(super) const RESET: u32 = 1 << 1;

/// Completion of a receive that has no place in its completion queue yet.
#[derive(Clone, Copy, Debug)]
pub(super) enum LateReceive {
    /// Of a receive that has filled regions or nothing.
    Receive(ReceiveCompletion),
    /// Of a receive that has appended.
    Append(AppendCompletion),
}

/// The reference model behind the card's registers.
#[derive(Debug)]
pub struct SoftCard {
    pub(super) network: Network,
    pub(super) host: Host,
    pub(super) registers: Registers,
    pub(super) counters: Counters,
    pub(super) tables: Tables,
    /// Doorbells that are not used up: send queue and producer's position, in the order in which
    /// they were rung.
    pub(super) doorbells: VecDeque<(u32, u32)>,
    /// Requests that are being sent, in the order in which they were started. All but the last
    /// wait.
    pub(super) jobs: Vec<Job>,
    /// Queue pairs that have answers or retransmissions to send.
    pub(super) replying: VecDeque<usize>,
    pub(super) resending: VecDeque<usize>,
    /// Queue pairs that have a congestion notification packet to send.
    pub(super) notices: VecDeque<usize>,
    /// Time in cycles at which each queue pair with a limited rate may send again.
    pub(super) paced: BTreeSet<(u64, usize)>,
    /// Time in cycles at which each queue pair's timer expires.
    pub(super) timers: BTreeSet<(u64, usize)>,
    /// Send queues whose oldest request may be complete.
    pub(super) completing: BTreeSet<u32>,
    /// Completions of receives that wait for room, each with its completion queue.
    pub(super) late_receives: VecDeque<(u16, LateReceive)>,
    /// Destination of the answer of each READ or atomic.
    pub(super) fetching: HashMap<RequestId, Scatter>,
    /// The card is an endpoint
    /// ([`SimulatedCard::endpoint`](crate::simulated::SimulatedCard::endpoint)): rows are found
    /// once, at the start of a request, and no DMA reads are planned.
    pub(super) is_endpoint: bool,
    /// The last sorting of rows by ids of an endpoint.
    pub(super) last_dealt: LastDealt,
    /// Memory for the frames of messages.
    pub(super) buffers: Buffers,
    /// Frames for none of the card's queue pairs, if they are kept for the host.
    pub(super) host_frames: Option<Vec<Vec<u8>>>,
    /// Cycles since the card was made.
    pub(super) cycles: u64,
    /// Time in cycles until which the last packet is being sent.
    pub(super) busy_until: u64,
    /// There was nothing to do at the last look, and no input since.
    pub(super) idle: bool,
    pub(super) cycles_per_progress: u64,
}

impl SoftCard {
    /// A card after reset, whose wire is `network`.
    pub fn new(network: Network) -> Self {
        Self {
            network,
            host: Host::default(),
            registers: Registers::default(),
            counters: Counters::default(),
            tables: Tables::default(),
            doorbells: VecDeque::new(),
            jobs: Vec::new(),
            replying: VecDeque::new(),
            resending: VecDeque::new(),
            notices: VecDeque::new(),
            paced: BTreeSet::new(),
            timers: BTreeSet::new(),
            completing: BTreeSet::new(),
            late_receives: VecDeque::new(),
            fetching: HashMap::new(),
            is_endpoint: false,
            last_dealt: LastDealt::default(),
            buffers: Buffers::default(),
            host_frames: None,
            cycles: 0,
            busy_until: 0,
            idle: true,
            cycles_per_progress: CYCLES_PER_PROGRESS,
        }
    }

    /// Sets the number of cycles that pass in one call of `progress`.
    #[must_use]
    pub fn with_cycles_per_progress(mut self, cycles: u64) -> Self {
        self.cycles_per_progress = cycles.max(1);
        self
    }

    /// Makes the card an endpoint, whose counters `WINDOWS`, `DATA_READS` and `DATA_READ_BYTES`
    /// stay 0.
    pub(crate) fn endpoint(mut self) -> Self {
        self.is_endpoint = true;
        self
    }

    /// True if the card is an endpoint.
    pub(crate) fn is_endpoint(&self) -> bool {
        self.is_endpoint
    }

    /// Keeps frames for none of the card's queue pairs for
    /// [`take_passed_on`](Self::take_passed_on).
    pub(crate) fn passing_frames_on(mut self) -> Self {
        self.host_frames = Some(Vec::new());
        self
    }

    /// Takes the frames for none of the card's queue pairs since the last call.
    pub(crate) fn take_passed_on(&mut self) -> Vec<Vec<u8>> {
        self.host_frames.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Cycles since the card was made.
    pub(crate) fn now(&self) -> u64 {
        self.cycles
    }

    pub(super) fn is_busy(&self) -> bool {
        !self.jobs.is_empty()
            || !self.replying.is_empty()
            || !self.notices.is_empty()
            || !self.doorbells.is_empty()
            || self.tables.send_queues[..self.tables.known_send_queues]
                .iter()
                .any(|queue| !queue.in_flight.is_empty())
    }

    pub(super) fn reset(&mut self) {
        let kept = [COLUMN_MIN_ROWS, ASSEMBLER_WORDS];
        let values = kept.map(|register| self.registers.get(&register));
        self.registers = Registers::default();
        for (register, value) in kept.iter().zip(values) {
            self.registers.set(register, value);
        }
        self.counters = Counters::default();
        self.tables = Tables::default();
        self.doorbells.clear();
        self.jobs.clear();
        self.replying.clear();
        self.resending.clear();
        self.notices.clear();
        self.paced.clear();
        self.timers.clear();
        self.completing.clear();
        self.late_receives.clear();
        self.fetching.clear();
        self.busy_until = self.cycles;
    }
}
