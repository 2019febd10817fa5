//! Exchanges of a table among the nodes of a fabric, in simulated time: what a design costs.
//!
//! The table lies in columns. Every node has a share of its rows, which its threads send by a hash of theirs: copied
//! into buffers row by row, or from where they lie. Every row that came is compared with what was to come.
//! Simulated time is that of cards and network; the time of the engine's own code is measured on this machine
//! ([`Found::core`]), and does not count as simulated time.

use std::{fmt, sync::Arc, time::Duration};

use drdma_fabric::{Fabric, SimulationError};
use libdrdma::MemoryRegion;
use rustix::time::{ClockId, clock_gettime};

use crate::{BufferPool, Config, Design, Endpoint, Error, Groups, Member, Opening, Rows, Shuffle};

mod consumers;

pub use consumers::{Consumed, Consumers, consume};

/// Bytes of a frame on the wire beside those that are counted: preamble, gap, FCS.
const OVERHEAD: u64 = 24;
/// Columns of a table, at most: what a request takes.
const MAX_COLUMNS: usize = 16;

/// Which nodes get the rows of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// Each row goes to one node, by its hash.
    Repartition,
    /// Each row goes to two nodes: that of its hash, and the next one.
    Multicast,
    /// Each row goes to all other nodes.
    Broadcast,
}

impl Pattern {
    /// Every pattern.
    pub const ALL: [Self; 3] = [Self::Repartition, Self::Multicast, Self::Broadcast];

    /// The pattern's groups at node `own`.
    pub fn groups(self, nodes: usize, own: usize) -> Groups {
        match self {
            Self::Repartition => Groups::repartition(nodes),
            Self::Multicast => {
                let next = |node: usize| (node + 1) % nodes;
                let group = |node| if nodes == 1 { vec![0] } else { vec![node, next(node)] };
                Groups::new((0..nodes).map(group).collect(), nodes).expect("two different nodes")
            }
            Self::Broadcast => Groups::broadcast(nodes, own),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Repartition => "repartition",
            Self::Multicast => "multicast",
            Self::Broadcast => "broadcast",
        })
    }
}

/// A node's rows: their columns, and a hash for each.
#[derive(Clone, Debug, Default)]
pub struct Share {
    /// Bytes of a value of each column, and its values one behind the other; 1 to 16 columns.
    pub columns: Vec<(usize, Vec<u8>)>,
    /// Hash of each row.
    pub hashes: Vec<u64>,
}

impl Share {
    /// Bytes of a row.
    pub fn row_bytes(&self) -> usize {
        self.columns.iter().map(|(width, _)| width).sum()
    }

    /// The group of a row.
    fn group(&self, row: usize, groups: usize) -> usize {
        (self.hashes[row] % groups as u64) as usize
    }

    /// A row's values, one behind the other.
    fn copy(&self, row: usize, into: &mut Vec<u8>) {
        into.clear();
        for (width, values) in &self.columns {
            into.extend(&values[row * width..(row + 1) * width]);
        }
    }
}

/// A design, and what it is tried with.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// The design.
    pub design: Design,
    /// Whether rows are sent from where they lie, instead of being copied.
    pub regions: bool,
    /// Which nodes get the rows.
    pub pattern: Pattern,
    /// Threads of a node.
    pub threads: usize,
    /// How endpoints are made; of `primitive`, `regions` and `send_buffers` what the others need: two a group and
    /// thread, one with a pool.
    pub config: Config,
    /// Bytes of a pool that the endpoints of each node share. `None`: they have buffers of their own only.
    pub pool: Option<u64>,
    /// A node that takes at most one message in this many turns of 1 us or more; 0: there is no such node.
    pub slow: (usize, u64),
}

/// Result of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// Rows that came to nodes, each counted wherever it came to, but where it was from.
    pub rows: u64,
    /// Bytes of these rows.
    pub bytes: u64,
    /// Simulated time, from the first row to the end of all streams.
    pub time: Duration,
    /// Bytes that the nodes sent on the wire, with preamble, gap and FCS.
    pub wire_bytes: u64,
    /// Number of nodes.
    pub nodes: usize,
    /// Messages with rows that all nodes sent.
    pub data_messages: u64,
    /// See [`Statistics::control_messages`](crate::Statistics::control_messages).
    pub control_messages: u64,
    /// Requests that were posted.
    pub posts: u64,
    /// Bytes that a node has pinned: buffers, its pool, and rings.
    pub pinned: u64,
    /// Queue pairs of a node.
    pub queue_pairs: usize,
    /// Core time that the code of endpoints and engines took on this machine, the simulated cards' registers included.
    pub core: Duration,
    /// Simulated time at which the first endpoint had all rows that were for it.
    pub first_done: Duration,
}

impl Found {
    /// Gb/s of rows that a node sent to others.
    pub fn goodput(&self) -> f64 {
        self.bytes as f64 * 8.0 / self.time.as_nanos().max(1) as f64 / self.nodes as f64
    }

    /// Gb/s that a node's link carried.
    pub fn wire(&self) -> f64 {
        self.wire_bytes as f64 * 8.0 / self.time.as_nanos().max(1) as f64 / self.nodes as f64
    }

    /// Nanoseconds of a core for a row that was sent to another node and taken there.
    pub fn core_ns(&self) -> f64 {
        self.core.as_nanos() as f64 / self.rows.max(1) as f64
    }
}

/// Why an experiment has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// An endpoint failed.
    #[error("node {node}: {error}")]
    Exchange {
        /// The endpoint's node.
        node: usize,
        /// Error of the endpoint.
        error: Error,
    },
    /// A card failed.
    #[error(transparent)]
    Card(#[from] SimulationError),
    /// A node got other rows than it should.
    #[error("node {node} got {got} rows, {expected} were for it{}", if got == expected { ", and they are not the same" } else { "" })]
    Rows {
        /// The node.
        node: usize,
        /// Rows that it got.
        got: usize,
        /// Rows that were for it.
        expected: usize,
    },
    /// The table has no column, too many, or columns of different lengths.
    #[error(
        "a table of {columns} columns, of which number {wrong} has {found} B for {rows} rows: 1 to {MAX_COLUMNS} whole columns are possible"
    )]
    Table {
        /// Number of columns.
        columns: usize,
        /// Index of a column that is wrong.
        wrong: usize,
        /// Bytes of that column.
        found: usize,
        /// Number of rows.
        rows: usize,
    },
    /// The exchange did not come to an end in time.
    #[error("no end after {} s of simulated time", limit.as_secs_f64())]
    Endless {
        /// Simulated time that was waited.
        limit: Duration,
    },
}

/// A thread that sends.
struct Writer {
    /// The thread's output buffers, where rows are copied.
    shuffle: Option<Shuffle>,
    is_done: bool,
    next: usize,
    end: usize,
    /// The columns of its rows, where rows are sent from where they lie.
    columns: Vec<Arc<MemoryRegion>>,
}

/// An endpoint, and the threads that use it.
struct Engine<'a> {
    node: usize,
    endpoint: Endpoint,
    share: &'a Share,
    groups: Groups,
    writers: Vec<Writer>,
    got: Vec<u8>,
    row: Vec<u8>,
    slow: u64,
    turns: u64,
    done: Option<Duration>,
}

impl Engine<'_> {
    fn work(&mut self, now: Duration) -> Result<(), Error> {
        self.endpoint.progress(now)?;
        self.turns += 1;
        if self.slow == 0 || self.turns.is_multiple_of(self.slow) {
            while let Some(rows) = self.endpoint.get() {
                rows.append_to(&mut self.got);
                self.endpoint.release(rows)?;
                if self.slow > 0 {
                    break;
                }
            }
        }
        for i in 0..self.writers.len() {
            self.write(i)?;
        }
        if self.endpoint.is_received() {
            self.done.get_or_insert(now);
        }
        Ok(())
    }

    fn write(&mut self, writer: usize) -> Result<(), Error> {
        if self.writers[writer].is_done {
            return Ok(());
        }
        let is_sent = match self.writers[writer].shuffle.is_some() {
            true => self.copy(writer)?,
            false => self.describe(writer)?,
        };
        if !is_sent {
            return Ok(());
        }
        self.writers[writer].is_done = true;
        let is_last = self.writers.iter().all(|writer| writer.is_done);
        match self.writers[writer].shuffle.take() {
            Some(shuffle) => shuffle.finish(&mut self.endpoint, is_last),
            None if is_last => self.endpoint.finish(),
            None => Ok(()),
        }
    }

    /// Copies rows into buffers; true if all are.
    fn copy(&mut self, writer: usize) -> Result<bool, Error> {
        let count = self.groups.count();
        let Writer { shuffle, next, end, .. } = &mut self.writers[writer];
        let shuffle = shuffle.as_mut().expect("it is there");
        while *next < *end {
            self.share.copy(*next, &mut self.row);
            let group = self.share.group(*next, count);
            if !shuffle.push(&mut self.endpoint, group, &self.row)? {
                return Ok(false);
            }
            *next += 1;
        }
        Ok(true)
    }

    /// Puts rows from where they lie; true if all are.
    fn describe(&mut self, writer: usize) -> Result<bool, Error> {
        let Writer { next, end, columns, .. } = &mut self.writers[writer];
        if *next == *end {
            return Ok(true);
        }
        if !self.endpoint.takes_rows() {
            return Ok(false);
        }
        let (count, rows) = (self.groups.count(), *next..*end);
        let batch = match count {
            1 => Rows::for_all(rows.len()),
            _ => {
                let ids: Vec<u8> = rows.map(|row| self.share.group(row, count) as u8).collect();
                Rows::by_group(Arc::new(self.endpoint.protection_domain().register(ids)?))
            }
        };
        let columns = columns.iter().zip(&self.share.columns);
        let batch = columns.fold(batch, |batch, (memory, (width, _))| {
            batch.column(memory.clone(), *next * width, *width)
        });
        let is_put = self.endpoint.put_rows(&batch, &self.groups)?;
        if is_put {
            *next = *end;
        }
        Ok(is_put)
    }
}

/// Runs a trial of a design.
///
/// # Errors
/// See [`ExperimentError`].
pub fn run(
    fabric: &mut Fabric,
    shares: &[Share],
    trial: &Trial,
    limit: Duration,
) -> Result<Found, ExperimentError> {
    shares.iter().try_for_each(check_table)?;
    let before = wire_bytes(fabric);
    let pools = pools(fabric, shares.len(), trial.config.message, trial.pool)?;
    let mut engines = engines(fabric, shares, trial, &pools)?;
    let (start, mut core) = (fabric.now(), Duration::ZERO);
    let done = fabric.run_until(limit, |now| {
        let clock = core_time();
        for engine in &mut engines {
            let node = engine.node;
            engine.work(now).map_err(|error| ExperimentError::Exchange { node, error })?;
        }
        core += core_time().saturating_sub(clock);
        Ok::<_, ExperimentError>(engines.iter().all(|engine| engine.endpoint.is_done()))
    })?;
    if !done {
        return Err(ExperimentError::Endless { limit });
    }
    let time = fabric.now() - start;
    check_rows(&engines, shares, trial)?;
    let statistics = engines.iter().map(|engine| engine.endpoint.statistics());
    let sum = |of: fn(&crate::Statistics) -> u64| statistics.clone().map(|s| of(&s)).sum::<u64>();
    let of_node_0 = || engines.iter().filter(|engine| engine.node == 0);
    let bytes = sum(|s| s.bytes);
    Ok(Found {
        rows: bytes / shares[0].row_bytes() as u64,
        bytes,
        time,
        wire_bytes: wire_bytes(fabric) - before,
        nodes: shares.len(),
        data_messages: sum(|s| s.data_messages),
        control_messages: sum(|s| s.control_messages),
        posts: sum(|s| s.posts),
        pinned: of_node_0().map(|engine| engine.endpoint.pinned_bytes()).sum::<u64>()
            + pools.first().map_or(0, BufferPool::pinned_bytes),
        queue_pairs: of_node_0().map(|engine| engine.endpoint.queue_pairs()).sum(),
        core,
        first_done: engines.iter().filter_map(|engine| engine.done).min().unwrap_or(start) - start,
    })
}

/// Time that this thread has been running so far.
fn core_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn check_table(share: &Share) -> Result<(), ExperimentError> {
    let (columns, rows) = (share.columns.len(), share.hashes.len());
    let is_wrong = |(width, values): &(usize, Vec<u8>)| *width == 0 || values.len() != width * rows;
    let wrong = share.columns.iter().position(is_wrong);
    if wrong.is_none() && (1..=MAX_COLUMNS).contains(&columns) {
        return Ok(());
    }
    let wrong = wrong.unwrap_or(columns.saturating_sub(1));
    let found = share.columns.get(wrong).map_or(0, |(_, values)| values.len());
    Err(ExperimentError::Table { columns, wrong, found, rows })
}

fn wire_bytes(fabric: &Fabric) -> u64 {
    let counters = (0..fabric.nodes().len()).map(|node| fabric.counters(node));
    counters.map(|counters| counters.sent_bytes + OVERHEAD * counters.sent_frames).sum()
}

/// A pool for each node, if there are any.
fn pools(
    fabric: &Fabric,
    nodes: usize,
    message: u32,
    bytes: Option<u64>,
) -> Result<Vec<BufferPool>, ExperimentError> {
    let Some(bytes) = bytes else { return Ok(Vec::new()) };
    let pool = |node| {
        BufferPool::new(fabric.node(node).context(), message, bytes)
            .map_err(|error| ExperimentError::Exchange { node, error })
    };
    (0..nodes).map(pool).collect()
}

/// Connected endpoints, one a node.
fn connected(
    fabric: &Fabric,
    nodes: usize,
    config: Config,
    pools: &[BufferPool],
) -> Result<Vec<Endpoint>, ExperimentError> {
    let failed = |node| move |error| ExperimentError::Exchange { node, error };
    let open = |node| {
        let card = fabric.node(node);
        let member = Member { node, nodes, mac: card.mac(), ip: card.ip() };
        let opening = match pools.get(node) {
            Some(pool) => Opening::with_pool(pool, member, config),
            None => Opening::new(card.context(), member, config),
        };
        opening.map_err(failed(node))
    };
    let openings = (0..nodes).map(open).collect::<Result<Vec<_>, _>>()?;
    let addresses: Vec<_> = openings.iter().map(Opening::address).collect();
    let openings = openings.into_iter().enumerate();
    openings.map(|(node, opening)| opening.connect(&addresses).map_err(failed(node))).collect()
}

/// Connected endpoints with their threads: on ME one for each thread, on SE one for all.
fn engines<'a>(
    fabric: &Fabric,
    shares: &'a [Share],
    trial: &Trial,
    pools: &[BufferPool],
) -> Result<Vec<Engine<'a>>, ExperimentError> {
    let Trial { design, regions, pattern, threads, .. } = *trial;
    let nodes = shares.len();
    let writers = if design.multiple_endpoints { 1 } else { threads };
    let mut config = Config { primitive: design.primitive, regions, ..trial.config };
    config.send_buffers = match regions {
        true => 1,
        false => pattern.groups(nodes, 0).count() * writers * if pools.is_empty() { 2 } else { 1 },
    } as u32;
    let mut engines = Vec::new();
    for endpoint in 0..design.endpoints(threads) {
        for (node, connected) in connected(fabric, nodes, config, pools)?.into_iter().enumerate() {
            let failed = |error| ExperimentError::Exchange { node, error };
            let first = if design.multiple_endpoints { endpoint } else { 0 };
            let share = (&shares[node], first, writers, threads);
            let engine = engine(node, connected, share, trial, nodes).map_err(failed)?;
            engines.push(engine);
        }
    }
    Ok(engines)
}

fn engine<'a>(
    node: usize,
    endpoint: Endpoint,
    (share, first, writers, threads): (&'a Share, usize, usize, usize),
    trial: &Trial,
    nodes: usize,
) -> Result<Engine<'a>, Error> {
    let groups = trial.pattern.groups(nodes, node);
    let (rows, pd) = (share.hashes.len(), endpoint.protection_domain().clone());
    // What lies anywhere is described from there: the threads share the columns.
    let mut columns = Vec::new();
    if trial.regions {
        for (_, values) in share.columns.iter().filter(|_| rows > 0) {
            columns.push(Arc::new(pd.register(values.clone())?));
        }
    }
    let writer = |thread: usize| {
        let shuffle = match trial.regions {
            true => None,
            false => Some(Shuffle::new(&endpoint, groups.clone(), writers)?),
        };
        let (next, end) = (rows * thread / threads, rows * (thread + 1) / threads);
        Ok(Writer { shuffle, is_done: false, next, end, columns: columns.clone() })
    };
    let writers = (first..first + writers).map(writer).collect::<Result<_, Error>>()?;
    let slow = if trial.slow.0 == node { trial.slow.1 } else { 0 };
    let (got, row) = (Vec::new(), Vec::new());
    Ok(Engine { node, endpoint, share, groups, writers, got, row, slow, turns: 0, done: None })
}

/// Checks that every node has the rows that were for it, and no others.
fn check_rows(
    engines: &[Engine<'_>],
    shares: &[Share],
    trial: &Trial,
) -> Result<(), ExperimentError> {
    let nodes = shares.len();
    for node in 0..nodes {
        let bytes = shares[node].row_bytes();
        let of_node = engines.iter().filter(|engine| engine.node == node);
        let mut got: Vec<&[u8]> = of_node.flat_map(|engine| engine.got.chunks(bytes)).collect();
        let mut expected = Vec::new();
        for (source, share) in shares.iter().enumerate() {
            let groups = trial.pattern.groups(nodes, source);
            // Rows that are sent from where they lie stay there if they are for their own node.
            if trial.regions && source == node {
                continue;
            }
            for row in 0..share.hashes.len() {
                if groups.nodes(share.group(row, groups.count())).contains(&node) {
                    let mut bytes = Vec::new();
                    share.copy(row, &mut bytes);
                    expected.push(bytes);
                }
            }
        }
        got.sort_unstable();
        expected.sort_unstable();
        let same = got.len() == expected.len() && got.iter().zip(&expected).all(|(a, b)| a == b);
        if !same {
            let (got, expected) = (got.len(), expected.len());
            return Err(ExperimentError::Rows { node, got, expected });
        }
    }
    Ok(())
}
