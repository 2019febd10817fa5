//! The demonstration: a shuffle of TPC-H data, checked row by row, and the costs of sending the same rows as
//! plain scatter-gather lists.

mod check;
mod cost;
pub mod lineitem;
mod report;
pub mod shuffle;
mod table;
pub mod whole;

use std::{
    fmt,
    time::{Duration, Instant},
};

use drdma_driver::{Card, CardError};
use drdma_fabric::{FabricError, SimulationError};
use drdma_sim::wire::{Network, PeerConfig, PeerId};
use libdrdma::{
    CompletionQueue, Context, Destination, KeptRegionError, MacAddress, MemoryRegionError,
    ModifyError, Operation, PostError, QueuePair, QueuePairAttributes, RegionError, RowMask,
    SharedSendQueue, SharedWorkRequest, Status, Transport, WorkRequest,
};
use serde::Serialize;

use crate::{
    device::{self, DeviceError},
    job::Local,
};
pub use check::CheckError;
pub use cost::Cost;
use lineitem::{ROW, Row};
pub use report::render;
use table::Table;
pub use whole::ColumnsError;

/// The card's own addresses.
const LOCAL: Local = Local { mac: 0x0200_0000_0001, ip: 0x0a00_0001 };
/// The first peer's addresses; the others follow.
const PEER: Local = Local { mac: 0x0200_0000_0101, ip: 0x0a00_0101 };
/// Blocks of a scatter-gather request of one row: its head, its destination, an entry a column.
const LIST_BLOCKS: usize = 3;

/// Options of the demonstration.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// TPC-H scale factor.
    pub scale_factor: f64,
    /// Number of destinations, 1 to 256.
    pub destinations: usize,
    /// Rows of a batch: one work request.
    pub batch_rows: usize,
    /// Rows of a message.
    pub rows_per_message: u32,
    /// Rows that are also sent as plain lists.
    pub sample_rows: usize,
    /// Rows that are sent whole, with their strings.
    pub whole_rows: usize,
    /// Cards that whole rows go to, at least 1.
    pub receivers: usize,
    /// Path MTU in bytes.
    pub mtu: u32,
    /// Time without a packet and a completion after which the demonstration fails; not for rows that are sent whole.
    pub patience: Duration,
}

/// Why the demonstration failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DemoError {
    /// A resource of the card is used up, or it failed while it was set up.
    #[error(transparent)]
    Setup(#[from] libdrdma::Error),
    /// Memory was not registered.
    #[error(transparent)]
    Memory(#[from] MemoryRegionError),
    /// A queue pair was not connected.
    #[error(transparent)]
    Connect(#[from] ModifyError),
    /// A region is not possible.
    #[error(transparent)]
    Region(#[from] RegionError),
    /// A request was not posted.
    #[error(transparent)]
    Post(#[from] PostError),
    /// The card failed.
    #[error(transparent)]
    Card(#[from] CardError),
    /// A request completed with an error.
    #[error("request {wr_id} completed with {status}")]
    Status {
        /// Name of the request.
        wr_id: u64,
        /// Status of its completion.
        status: Status,
    },
    /// There was no packet and no completion for too long.
    #[error("no packet and no completion for {} s", waited.as_secs())]
    TimedOut {
        /// Time that was waited.
        waited: Duration,
    },
    /// There was no packet and no completion for too long of simulated time, while rows were sent whole.
    #[error("no packet and no completion for {waited:?} of simulated time")]
    Silent {
        /// Simulated time that was waited.
        waited: Duration,
    },
    /// The rows that arrived are not those that were sent.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// A card for the fabric was not opened.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The fabric was not made.
    #[error(transparent)]
    Fabric(#[from] FabricError),
    /// A card of the fabric failed.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// The columns to receive into were not made.
    #[error(transparent)]
    Kept(#[from] KeptRegionError),
    /// The columns of a receiver have other values than were sent.
    #[error(transparent)]
    Columns(#[from] ColumnsError),
    /// A peer received wrong packets.
    #[error("the card sent wrong packets: {0}")]
    Wire(String),
    /// The watcher failed.
    #[error("{0}")]
    Watcher(String),
}

/// Observer of the demonstration's progress.
pub trait Watcher {
    /// The comparison starts.
    fn comparing(&mut self, rows: usize);
    /// The shuffle starts.
    ///
    /// # Errors
    /// A text; the demonstration ends.
    fn shuffling(&mut self, network: &Network) -> Result<(), String>;
    /// This many rows have arrived.
    fn arrived(&mut self, rows: u64);
}

/// Results of the demonstration.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Costs of the whole table, shuffled.
    pub shuffle: Cost,
    /// Costs of the sample, one list a row.
    pub lists: Cost,
    /// Costs of the sample, described, one row a message: the same packets as the lists.
    pub described: Cost,
    /// Costs of the sample, described and packed.
    pub packed: Cost,
}

/// Runs the demonstration on a card that is plugged into `network`.
///
/// # Errors
/// See [`DemoError`].
pub fn run(
    card: Box<dyn Card>,
    network: &Network,
    options: &Options,
    watcher: &mut dyn Watcher,
) -> Result<Outcome, DemoError> {
    let context = device::set_up(card, LOCAL)?;
    let pd = context.protection_domain();
    let table = Table::new(&pd, options.batch_rows, options.destinations)?;
    let cq = context.completion_queue().entries(options.sample_rows.max(16) as u32).build()?;
    let (mut qps, mut peers) = (Vec::new(), Vec::new());
    for i in 0..options.destinations as u32 {
        let (mac, ip) = (PEER.mac + u64::from(i), PEER.ip + i);
        let blocks = (LIST_BLOCKS * options.sample_rows).clamp(1, 1 << 16) as u32;
        let mut qp = pd.queue_pair(&cq).transport(Transport::Rc).send_blocks(blocks).build()?;
        let dest_qpn = 0x100 + i;
        let [_, _, bytes @ ..] = mac.to_be_bytes();
        qp.connect(
            &QueuePairAttributes::new()
                .path_mtu(options.mtu)
                .dest_mac(MacAddress(bytes))
                .dest_ip(ip.into())
                .dest_qpn(dest_qpn)
                .start_psn(0),
        )?;
        peers.push(network.add_peer(PeerConfig {
            card_mac: Some(LOCAL.mac),
            card_ip: Some(LOCAL.ip),
            mtu: options.mtu,
            start_psn: Some(0),
            ..PeerConfig::new(Transport::Rc, mac, ip, dest_qpn, qp.qpn())
        }));
        qps.push(qp);
    }
    let ssq = pd.shared_send_queue(&cq).build()?;
    let mut shuffler =
        Shuffler { context: &context, network, options, table: &table, cq: &cq, qps, ssq, peers };

    let mut comparison = None;
    let mut shuffle = Cost::default();
    lineitem::batches(options.scale_factor, options.batch_rows, |rows| {
        if comparison.is_none() {
            let sample = &rows[..rows.len().min(options.sample_rows)];
            watcher.comparing(sample.len());
            shuffler.table.load(sample);
            let packed = options.rows_per_message;
            comparison = Some((
                shuffler.send_lists(sample)?,
                shuffler.send_described(sample, 1)?,
                shuffler.send_described(sample, packed)?,
            ));
            watcher.shuffling(network).map_err(DemoError::Watcher)?;
        }
        shuffler.table.load(rows);
        shuffle += shuffler.send_described(rows, options.rows_per_message)?;
        watcher.arrived(shuffle.rows);
        Ok::<(), DemoError>(())
    })?;
    let (lists, described, packed) = comparison.unwrap_or_default();
    Ok(Outcome { shuffle, lists, described, packed })
}

/// Card, memory and queues that rows are sent with.
struct Shuffler<'a> {
    context: &'a Context,
    network: &'a Network,
    options: &'a Options,
    table: &'a Table,
    cq: &'a CompletionQueue,
    qps: Vec<QueuePair<'a>>,
    ssq: SharedSendQueue<'a>,
    peers: Vec<PeerId>,
}

impl Shuffler<'_> {
    /// Sends the loaded rows with one request to all destinations, and checks what arrived.
    fn send_described(&mut self, rows: &[Row], rows_per_message: u32) -> Result<Cost, DemoError> {
        let destinations = self.options.destinations;
        self.table.partition(rows, destinations);
        let meter = cost::Meter::start(self.context)?;

        let started = Instant::now();
        let mut regions = Vec::with_capacity(destinations);
        for destination in 0..destinations {
            regions.push([self.table.selected(destination, rows.len())?]);
        }
        let list: Vec<_> = self
            .qps
            .iter()
            .zip(&regions)
            .map(|(qp, regions)| Destination::new(qp).regions(regions))
            .collect();
        let request =
            SharedWorkRequest::new(1).rows_per_message(rows_per_message).destinations(&list);
        let mut batch = self.ssq.batch();
        batch.post_ssq_send(&request)?;
        let posting = started.elapsed();
        batch.submit()?;

        self.wait(1)?;
        let cost = meter.stop(self.context, self.network.clock().span(), rows.len(), posting)?;
        self.check(rows, rows_per_message)?;
        Ok(cost)
    }

    /// Sends the loaded rows with one request each, a list of its values, and checks what arrived.
    fn send_lists(&mut self, rows: &[Row]) -> Result<Cost, DemoError> {
        let destinations = self.options.destinations;
        let meter = cost::Meter::start(self.context)?;

        let started = Instant::now();
        let mut batches: Vec<_> = self.qps.iter_mut().map(QueuePair::batch).collect();
        for (index, row) in rows.iter().enumerate() {
            let regions = self.table.values(index)?;
            // Every list has one element, so that the elements of all of them are one message.
            let request = WorkRequest::new(index as u64)
                .operation(Operation::Send)
                .row_mask(RowMask::Element)
                .regions(&regions);
            batches[row.destination(destinations)].post_send(&request)?;
        }
        let posting = started.elapsed();
        for batch in batches {
            batch.submit()?;
        }

        self.wait(rows.len())?;
        let cost = meter.stop(self.context, self.network.clock().span(), rows.len(), posting)?;
        self.check(rows, 1)?;
        Ok(cost)
    }

    /// Waits for `count` completions, all of which must be successes.
    fn wait(&self, count: usize) -> Result<(), DemoError> {
        let (mut seen, mut last) = (0, (Instant::now(), 0));
        while seen < count {
            let mut any = false;
            for completion in self.cq.poll() {
                let (wr_id, status) = (completion.wr_id, completion.status);
                if status != Status::Success {
                    return Err(DemoError::Status { wr_id, status });
                }
                seen += 1;
                any = true;
            }
            let frames = self.network.traffic().frames;
            if any || frames != last.1 {
                last = (Instant::now(), frames);
            } else if last.0.elapsed() >= self.options.patience {
                return Err(DemoError::TimedOut { waited: self.options.patience });
            }
            if !any {
                self.context.progress()?;
            }
        }
        Ok(())
    }

    /// Takes what arrived at the peers and compares it with the rows that belong there.
    fn check(&self, rows: &[Row], rows_per_message: u32) -> Result<(), DemoError> {
        if let Some(complaints) = device::complaints(&self.network.errors()) {
            return Err(DemoError::Wire(complaints));
        }
        for (destination, peer) in self.peers.iter().enumerate() {
            let messages = self.network.with_peer(*peer, |peer| peer.take_messages());
            let theirs: Vec<Row> = rows
                .iter()
                .filter(|row| row.destination(self.options.destinations) == destination)
                .copied()
                .collect();
            check::arrived(destination, &theirs, rows_per_message as usize, &messages)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Shuffler<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shuffler").field("options", self.options).finish_non_exhaustive()
    }
}

const _: () = assert!(ROW <= 256, "a row fits the smallest packet");
