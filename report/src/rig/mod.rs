//! A simulated card with peers, on which an experiment is run, timed and checked.

mod post;

use std::{
    fs,
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use drdma_abi::{
    register::MAX_READ,
    roce::Transport,
    work_request::{BLOCK, GRANULE, MAX_ELEMENTS, MAX_REGIONS},
};
use drdma_driver::{Card, CardError, DmaMemory};
use drdma_sim::{
    clock::Span,
    pcie::{self, usage::Usage},
    rtl::{self, RtlCard},
    wire::{Message, MessageKind, Network, PeerConfig, PeerId},
};
use libdrdma::{
    CompletionQueue, Context, Counters, MacAddress, MemoryRegion, Options, ProtectionDomain,
    QueuePair, QueuePairAttributes, RegionError, Status, optimizer::CostTable,
};

use crate::{
    costs,
    experiment::{Experiment, Fetched},
    layout::{self, Destination, Post, Region},
};

const MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
const IP: u32 = 0x0a00_0001;
/// The first peer's addresses; the others' follow.
const PEER_MAC: u64 = 0x0200_0000_1000;
const PEER_IP: u32 = 0x0a00_1000;
const PEER_QPN: u32 = 0x1000;
const QKEY: u32 = 0x1122;
/// Remote address and key of WRITEs.
const REMOTE: u64 = 0x7000_0000_0000;
const RKEY: u32 = 0x4321;
/// Distance from the remote address of a column to that of the next, of WRITEs by columns.
const COLUMN_DISTANCE: u64 = 1 << 32;
/// Blocks of a queue pair's ring for a request, at most.
const REQUEST_BLOCKS: usize = (4 + MAX_REGIONS * (2 + MAX_ELEMENTS)).div_ceil(BLOCK / GRANULE);
/// Blocks of a ring, at most.
const MOST_BLOCKS: usize = 1 << 16;
/// The pointer that ends a chain.
const CHAIN_END: u64 = 0;
/// Cycles between two looks at completions.
pub const CYCLES_PER_LOOK: u64 = 64;
/// Simulated time without a frame after which a run has failed: 4 ms.
const PATIENCE_CYCLES: u64 = 1_000_000;

/// The host of every experiment: 64 tags, reads of 512 B, payloads of 256 B.
pub fn host() -> pcie::Config {
    pcie::Config { tags: 64, max_read_request: 512, max_payload: 256, ..pcie::Config::default() }
}

/// The card's Verilog, if not the one that this program emits.
static VERILOG: OnceLock<PathBuf> = OnceLock::new();

/// Measures another card from now on: Verilog that `cargo xtask verilog` wrote.
pub fn use_verilog(file: PathBuf) {
    // If several are named, the first one counts.
    let _ = VERILOG.set(file);
}

/// File of the cards' waveforms, if they are written.
static TRACE: OnceLock<PathBuf> = OnceLock::new();

/// Writes the waveforms of the next card to a file.
pub fn write_trace(file: PathBuf) {
    // If several are named, the first one counts.
    let _ = TRACE.set(file);
}

/// Configuration of the card of every experiment.
pub fn card() -> rtl::Config {
    rtl::Config {
        pcie: host(),
        verilog: VERILOG.get().cloned(),
        trace: TRACE.get().cloned(),
        cycles_per_progress: CYCLES_PER_LOOK,
        ..rtl::Config::default()
    }
}

/// Why an experiment has no figure.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The library or the card refused something.
    #[error("{0}")]
    Refused(String),
    /// A request completed with an error.
    #[error("request {wr_id} completed with {status}")]
    Status { wr_id: u64, status: Status },
    /// The card stopped.
    #[error("no frame and no completion for {PATIENCE_CYCLES} cycles")]
    Stuck,
    /// A peer received wrong packets.
    #[error("wrong packets: {0}")]
    Wire(String),
    /// A peer received other messages than it should.
    #[error("destination {destination}, message {message}: {what}")]
    Payload { destination: usize, message: usize, what: String },
}

macro_rules! refused {
    ($($error:ty),*) => { $(impl From<$error> for RunError {
        fn from(error: $error) -> Self { Self::Refused(error.to_string()) }
    })* };
}
refused!(
    libdrdma::Error,
    libdrdma::MemoryRegionError,
    libdrdma::ModifyError,
    libdrdma::PostError,
    RegionError,
    CardError
);

/// Work of the simulation while the host waited.
#[derive(Clone, Copy, Debug, Default)]
pub struct Simulated {
    /// Number of simulated cycles.
    pub cycles: u64,
    /// Time that the simulation took.
    pub time: Duration,
    /// Processor time that the simulation took.
    pub processor: Duration,
}

/// The time for which this thread has had a processor; 0 where the system does not report it.
fn processor_time() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = text.split(' ').next().and_then(|ns| ns.parse().ok());
    Duration::from_nanos(ns.unwrap_or(0))
}

/// A card that counts the cycles of its simulation.
struct Probe<C> {
    card: C,
    /// Cycles in a call of `progress`.
    cycles: u64,
    simulated: Arc<Mutex<Simulated>>,
}

impl<C: Card> Card for Probe<C> {
    fn read(&mut self, offset: u32) -> Result<u32, CardError> {
        self.card.read(offset)
    }

    fn write(&mut self, offset: u32, value: u32) -> Result<(), CardError> {
        self.card.write(offset, value)
    }

    fn map(&mut self, iova: u64, memory: &DmaMemory) -> Result<(), CardError> {
        self.card.map(iova, memory)
    }

    fn unmap(&mut self, iova: u64) -> Result<(), CardError> {
        self.card.unmap(iova)
    }

    fn progress(&mut self) -> Result<(), CardError> {
        self.simulated.lock().unwrap_or_else(PoisonError::into_inner).cycles += self.cycles;
        self.card.progress()
    }
}

/// Results of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Bytes of all frames, without FCS.
    pub frame_bytes: u64,
    /// Time from the first doorbell to the last byte on the wire.
    pub span: Span,
    /// Time when the last byte of the first frame was on the wire, in nanoseconds since reset.
    pub first_frame_ns: u64,
    /// Counters of the card.
    pub counters: Counters,
    /// Bytes of send queue ring that the requests took.
    pub ring_bytes: u64,
    /// Address of every buffer, as the card sees it.
    pub addresses: Vec<u64>,
    /// Messages that arrived at each destination.
    pub messages: Vec<Vec<Message>>,
    /// Cycles and time of the simulation.
    pub simulated: Simulated,
    /// Use of the host's limits by the card's reads.
    pub usage: Usage,
}

/// Runs an experiment on the simulated hardware and checks every message that arrives.
///
/// # Errors
/// An error of the card, or a message that differs from the expected one.
pub fn run(experiment: &Experiment, expected: &[Destination]) -> Result<Outcome, RunError> {
    let network = Network::new();
    let config = rtl::Config { words: experiment.words, ..card() };
    let cycles = config.cycles_per_progress;
    let card = RtlCard::new(config, network.clone())?;
    let costs = match experiment.fetched {
        Fetched::Registers => None,
        _ => Some(costs::measured().map_err(RunError::Refused)?),
    };
    let usage = card.usage();
    let mut outcome = run_on(experiment, card, cycles, &network, costs)?;
    outcome.usage = *usage.lock().unwrap_or_else(PoisonError::into_inner);
    check(experiment, expected, &outcome.messages)?;
    Ok(outcome)
}

/// Runs an experiment on a card that is plugged into `network`; `cycles` pass in a call of its
/// `progress`. With `costs` the request is posted with the best fetch plan, or the best schedule.
fn run_on(
    experiment: &Experiment,
    card: impl Card + 'static,
    cycles: u64,
    network: &Network,
    costs: Option<&CostTable>,
) -> Result<Outcome, RunError> {
    let simulated = Arc::new(Mutex::new(Simulated::default()));
    let card = Probe { card, cycles, simulated: Arc::clone(&simulated) };
    let mut options = Options::new(MAC, IP.into());
    // A request without a plan is read as the registers say, a long contiguous one, too.
    options.max_read = Some(MAX_READ.reset);
    let context = Context::open(Box::new(card), options)?;
    let pd = context.protection_domain();
    let memory = load(experiment, &pd)?;
    let addresses: Vec<u64> = memory.iter().map(MemoryRegion::addr).collect();

    let requests = experiment.posts.len();
    let cq = context.completion_queue().entries(requests as u32).build()?;
    let mut own = vec![0; experiment.destinations()];
    for post in &experiment.posts {
        if let Post::Own { to, .. } = post {
            own[*to] += 1;
        }
    }
    let mut qps = Vec::new();
    let mut peers = Vec::new();
    for (index, posts) in own.into_iter().enumerate() {
        let blocks = (posts * REQUEST_BLOCKS).clamp(1, MOST_BLOCKS) as u32;
        let qp = connect(experiment, &pd, &cq, index as u32, blocks)?;
        peers.push(add_peer(experiment, network, index as u32, qp.qpn()));
        qps.push(qp);
    }
    context.clear_counters()?;
    let before = context.statistics().ring_bytes;
    post::post(experiment, &pd, &cq, &mut qps, &memory, costs, || {
        let started = (Instant::now(), processor_time());
        simulated.lock().unwrap_or_else(PoisonError::into_inner).cycles = 0;
        wait(&context, network, &cq, &simulated, requests)?;
        let mut simulated = simulated.lock().unwrap_or_else(PoisonError::into_inner);
        simulated.time = started.0.elapsed();
        simulated.processor = processor_time() - started.1;
        Ok(())
    })?;

    if let Some(error) = network.errors().first() {
        return Err(RunError::Wire(error.to_string()));
    }
    let simulated = *simulated.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(Outcome {
        frame_bytes: network.traffic().frame_bytes,
        span: network.clock().span().unwrap_or_default(),
        first_frame_ns: network.traffic().first_ns,
        counters: context.counters()?,
        ring_bytes: context.statistics().ring_bytes - before,
        addresses,
        messages: peers.iter().map(|peer| network.messages(*peer)).collect(),
        simulated,
        usage: Usage::default(),
    })
}

/// Puts an experiment's buffers into memory that the card can read, and writes the pointers.
fn load(experiment: &Experiment, pd: &ProtectionDomain) -> Result<Vec<MemoryRegion>, RunError> {
    let mut memory = Vec::new();
    for bytes in &experiment.buffers {
        let region = pd.allocate_shared(bytes.len())?;
        region.store_at(0, bytes);
        memory.push(region);
    }
    for region in experiment.posts.iter().flat_map(Post::regions) {
        if let Region::PointerMapped { pointers, target, offsets, .. } = region {
            let base = memory[*target].addr();
            let words: Vec<u8> = offsets.iter().flat_map(|at| (base + at).to_le_bytes()).collect();
            memory[*pointers].store_at(0, &words);
        }
        if let Region::Chased { pointers, target, lists, .. } = region {
            let base = memory[*target].addr();
            for (list, records) in lists.iter().enumerate() {
                let first = records.first().map_or(0, |at| base + at);
                memory[*pointers].store_at(list * layout::POINTER as usize, &first.to_le_bytes());
                for (at, next) in records.iter().zip(1..) {
                    let next = records.get(next).map_or(CHAIN_END, |at| base + at);
                    memory[*target].store_at(*at as usize, &next.to_le_bytes());
                }
            }
        }
    }
    Ok(memory)
}

fn connect<'m>(
    experiment: &Experiment,
    pd: &ProtectionDomain,
    cq: &CompletionQueue,
    index: u32,
    blocks: u32,
) -> Result<QueuePair<'m>, RunError> {
    let transport = experiment.transport;
    let mut qp = pd.queue_pair(cq).transport(transport).send_blocks(blocks).build()?;
    let [_, _, mac @ ..] = (PEER_MAC + u64::from(index)).to_be_bytes();
    let mut attributes = QueuePairAttributes::new()
        .path_mtu(experiment.mtu)
        .dest_mac(MacAddress(mac))
        .dest_ip((PEER_IP + index).into())
        .dest_qpn(PEER_QPN + index)
        .start_psn(0);
    if transport == Transport::Ud {
        attributes = attributes.qkey(QKEY);
    }
    qp.connect(&attributes)?;
    Ok(qp)
}

fn add_peer(experiment: &Experiment, network: &Network, index: u32, qpn: u32) -> PeerId {
    let (mac, ip) = (PEER_MAC + u64::from(index), PEER_IP + index);
    network.add_peer(PeerConfig {
        card_ip: Some(IP),
        mtu: experiment.mtu,
        start_psn: Some(0),
        qkey: if experiment.transport == Transport::Ud { QKEY } else { 0 },
        ..PeerConfig::new(experiment.transport, mac, ip, PEER_QPN + index, qpn)
    })
}

/// Waits for `count` completions, all of which must be successes.
fn wait(
    context: &Context,
    network: &Network,
    cq: &CompletionQueue,
    simulated: &Mutex<Simulated>,
    count: usize,
) -> Result<(), RunError> {
    let cycles = || simulated.lock().unwrap_or_else(PoisonError::into_inner).cycles;
    let mut seen = 0;
    let mut last = (0, cycles());
    while seen < count {
        for completion in cq.poll() {
            let (wr_id, status) = (completion.wr_id, completion.status);
            if status != Status::Success {
                return Err(RunError::Status { wr_id, status });
            }
            seen += 1;
        }
        let done = seen as u64 + network.traffic().frames;
        if done != last.0 {
            last = (done, cycles());
        } else if cycles() - last.1 > PATIENCE_CYCLES {
            return Err(RunError::Stuck);
        }
        context.progress()?;
    }
    Ok(())
}

/// Remote address of a column.
fn column_addr(column: usize) -> u64 {
    REMOTE + column as u64 * COLUMN_DISTANCE
}

/// Compares the messages that arrived at each destination, byte by byte, with those that should
/// have.
fn check(
    experiment: &Experiment,
    expected: &[Destination],
    arrived: &[Vec<Message>],
) -> Result<(), RunError> {
    for (destination, (found, expected)) in arrived.iter().zip(expected).enumerate() {
        let wrong = |message, what| Err(RunError::Payload { destination, message, what });
        let mut remote = Vec::new();
        let (mut first, columns) = (0, experiment.columns());
        let mut starts = expected.starts.iter().copied().peekable();
        for (index, (found, pieces)) in found.iter().zip(&expected.messages).enumerate() {
            let expected = layout::bytes(pieces, &experiment.buffers);
            if found.bytes != expected {
                let at = found.bytes.iter().zip(&expected).position(|(a, b)| a != b);
                let at = at.unwrap_or(found.bytes.len().min(expected.len()));
                let lengths = format!("{} B for {} B", found.bytes.len(), expected.len());
                return wrong(index, format!("{lengths}, different from byte {at} on"));
            }
            while starts.next_if(|start| *start <= index).is_some() {
                first = index;
                remote = (0..columns).map(column_addr).collect();
            }
            let remote_addr = &mut remote[(index - first) % columns];
            let kind = match experiment.write {
                true => MessageKind::Write { remote_addr: *remote_addr, rkey: RKEY },
                false => MessageKind::Send,
            };
            if found.kind != kind {
                return wrong(index, format!("{:?} instead of {kind:?}", found.kind));
            }
            *remote_addr += found.bytes.len() as u64;
        }
        let expected = expected.messages.len();
        if found.len() != expected {
            return wrong(found.len(), format!("{} messages for {expected}", found.len()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use drdma_soft::card::{CYCLES_PER_PROGRESS, SoftCard};

    use super::*;
    use crate::{
        catalogue,
        shapes::{build, draw, shape::Shape},
    };

    /// Runs an experiment on the reference model, in no simulated time.
    fn model(experiment: &Experiment) -> Outcome {
        let network = Network::new();
        let card = SoftCard::new(network.clone());
        let costs = CostTable::affine(20.3, 0.07).expect("costs");
        let costs = Some(&costs).filter(|_| experiment.fetched != Fetched::Registers);
        run_on(experiment, card, CYCLES_PER_PROGRESS, &network, costs).expect("a run")
    }

    fn named(id: &str) -> Experiment {
        catalogue::all().into_iter().find(|experiment| experiment.id == id).expect("an experiment")
    }

    #[test]
    fn every_experiment_passes_on_the_reference_model() {
        for experiment in catalogue::all() {
            let outcome = model(&experiment);
            if let Err(error) = check(&experiment, &experiment.messages(), &outcome.messages) {
                panic!("{}: {error}", experiment.id);
            }
        }
    }

    #[test]
    fn random_shapes_pass_on_the_reference_model() {
        for shape in draw::shapes(11, 24) {
            let shape = Shape { rows: shape.rows.min(1500), posts: Some(3), ..shape };
            let experiment = build::experiment(&shape);
            let outcome = model(&experiment);
            if let Err(error) = check(&experiment, &experiment.messages(), &outcome.messages) {
                panic!("{shape}: {error}");
            }
        }
    }

    #[test]
    fn a_wrong_byte_a_wrong_address_and_a_lost_message_are_found() {
        let experiment = named("shuffle-2");
        let right = model(&experiment).messages;
        let expected = experiment.messages();
        check(&experiment, &expected, &right).expect("right messages");
        let refused = |change: fn(&mut Vec<Vec<Message>>)| {
            let mut messages = right.clone();
            change(&mut messages);
            check(&experiment, &expected, &messages).expect_err("a wrong message").to_string()
        };
        assert_eq!(
            refused(|messages| messages[1][3].bytes[77] ^= 1),
            "destination 1, message 3: 4080 B for 4080 B, different from byte 77 on"
        );
        assert_eq!(
            refused(|messages| messages[0][5].bytes.truncate(4079)),
            "destination 0, message 5: 4079 B for 4080 B, different from byte 4079 on"
        );
        let moved = refused(|messages| {
            messages[1][1].kind = MessageKind::Write { remote_addr: REMOTE, rkey: RKEY };
        });
        assert!(moved.starts_with("destination 1, message 1: Write"), "{moved}");
        let lost = refused(|messages| drop(messages[1].pop()));
        assert!(lost.contains("messages for"), "{lost}");
    }

    #[test]
    fn frames_are_counted() {
        let experiment = named("packets-ud");
        let rows: usize = experiment.messages()[0].messages.len();
        assert_eq!(model(&experiment).frame_bytes, (110 - 24) * rows as u64);
    }
}
