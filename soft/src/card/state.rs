//! All that a card holds.

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
/// Cycles that pass in one call of `progress`.
pub const CYCLES_PER_PROGRESS: u64 = 1024;
/// Bit of the register `CONTROL`: take doorbells and send.
pub(super) const ENABLE: u32 = 1 << 0;
/// Bit of the register `CONTROL`: reset.
pub(super) const RESET: u32 = 1 << 1;

/// A receive's completion that has no place in its completion queue yet.
#[derive(Clone, Copy, Debug)]
pub(super) enum LateReceive {
    /// Of one that regions or nothing was filled of.
    Receive(ReceiveCompletion),
    /// Of one that appended.
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
    /// Doorbells that are not used up: the send queue and the producer's position, in the order in
    /// which they were rung.
    pub(super) doorbells: VecDeque<(u32, u32)>,
    /// Requests that are being sent, in the order in which they were started. All but the last wait for
    /// something.
    pub(super) jobs: Vec<Job>,
    /// Queue pairs that have something to send back, or to send again.
    pub(super) replying: VecDeque<usize>,
    pub(super) resending: VecDeque<usize>,
    /// Queue pairs that have a congestion notification packet to send.
    pub(super) notices: VecDeque<usize>,
    /// When queue pairs may send again whose rate is limited, in cycles.
    pub(super) paced: BTreeSet<(u64, usize)>,
    /// Queue pairs' timers: when they go off, in cycles.
    pub(super) timers: BTreeSet<(u64, usize)>,
    /// Send queues whose oldest request may be complete.
    pub(super) completing: BTreeSet<u32>,
    /// Completions of receives that wait for room: the completion queue, and which.
    pub(super) late_receives: VecDeque<(u16, LateReceive)>,
    /// Where the answers of READs and atomics go.
    pub(super) fetching: HashMap<RequestId, Scatter>,
    /// It is used for what it sends and receives ([`SimulatedCard::endpoint`](crate::simulated::SimulatedCard::endpoint)): rows are found
    /// once, at the start of a request, and no DMA reads are planned.
    pub(super) is_endpoint: bool,
    /// How an endpoint has dealt rows last.
    pub(super) last_dealt: LastDealt,
    /// Memory for the frames of messages.
    pub(super) buffers: Buffers,
    /// Frames of others, if somebody takes them.
    pub(super) host_frames: Option<Vec<Vec<u8>>>,
    /// Cycles since the card was made.
    pub(super) cycles: u64,
    /// Until when the packet before is being sent.
    pub(super) busy_until: u64,
    /// There was nothing to do when it was looked last, and nothing has come since.
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

    /// Lets this many cycles pass in one call of `progress`.
    #[must_use]
    pub fn with_cycles_per_progress(mut self, cycles: u64) -> Self {
        self.cycles_per_progress = cycles.max(1);
        self
    }

    /// Makes it an endpoint, whose counters `WINDOWS`, `DATA_READS` and `DATA_READ_BYTES` stay 0.
    pub(crate) fn endpoint(mut self) -> Self {
        self.is_endpoint = true;
        self
    }

    /// True if it is an endpoint.
    pub(crate) fn is_endpoint(&self) -> bool {
        self.is_endpoint
    }

    /// Keeps frames of others for [`take_passed_on`](Self::take_passed_on).
    pub(crate) fn passing_frames_on(mut self) -> Self {
        self.host_frames = Some(Vec::new());
        self
    }

    /// The frames of others since the last call.
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
