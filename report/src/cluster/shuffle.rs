//! Every node sends its rows to every other, all at once.

use drdma_abi::roce::Transport;
use drdma_fabric::NetworkConfig;
use drdma_verilated::testbench::Random;
use libdrdma::{
    AppendRegion, MemoryRegion, PartitionDestination, Partitioned, PartitionedRegion,
    PartitionedWorkRequest, QueuePair, ReceiveRequest, SharedOperation, WorkCompletion,
};

use super::rig::{self, End, Kind, Link};
use crate::{
    bound::{self, Bound, Need, Run},
    rig::{self as host, RunError},
};

const NODES: usize = 4;
const COLUMNS: usize = 5;
const WIDTH: usize = 8;
/// Rows of a request, and requests of a node.
const ROWS: usize = 8192;
const POSTS: usize = 8;
/// Rows of a message: as many as fit a packet.
const PACKED: usize = 4096 / (COLUMNS * WIDTH);
const SEED: u64 = 4;
/// Rows of an append region: all that come from three nodes, on average three quarters of a table.
const CAPACITY: usize = ROWS * POSTS;
/// Blocks of the shared queue's ring.
const BLOCKS: u32 = 1024;
/// Entries of a node's completion queues: some 500 messages arrive at each node.
const ENTRIES: u32 = 1024;

/// Way in which rows arrive, and alignment of the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// By WRITE, all memory at pages.
    Pages,
    /// By WRITE, all memory at odd addresses.
    Odd,
    /// By SEND to an append region of each node, all memory at pages.
    Appended,
}

/// A node's table, and the memory that rows arrive in.
struct Table {
    skew: Skew,
    columns: Vec<MemoryRegion>,
    ids: MemoryRegion,
    owners: Vec<u8>,
    /// Memory for rows from the other nodes, one for each node.
    arrived: Vec<MemoryRegion>,
    /// Columns that the rows of all nodes are appended to.
    appended: Vec<MemoryRegion>,
}

/// Bytes behind the beginnings of pages at which columns, ids, and received rows begin.
#[derive(Clone, Copy, Debug, Default)]
struct Skew {
    columns: [usize; COLUMNS],
    ids: usize,
    arrived: [usize; NODES],
}

impl Skew {
    /// Random odd numbers.
    fn odd(random: &mut Random) -> Self {
        let mut any = || random.below(2048) as usize * 2 + 1;
        let columns = std::array::from_fn(|_| any());
        Self { columns, ids: any(), arrived: std::array::from_fn(|_| any()) }
    }
}

impl Table {
    fn new(end: &End, arrival: Arrival) -> Result<Self, RunError> {
        let mut random = Random::new(SEED + end.node as u64);
        let owners: Vec<u8> = (0..ROWS * POSTS).map(|_| random.below(NODES as u64) as u8).collect();
        let mut places = Random::new(SEED + (NODES + end.node) as u64);
        let skew = match arrival {
            Arrival::Odd => Skew::odd(&mut places),
            Arrival::Pages | Arrival::Appended => Skew::default(),
        };
        let columns = skew.columns.iter();
        let columns = columns
            .map(|skew| end.memory_behind(*skew, &random.bytes(ROWS * POSTS * WIDTH)))
            .collect::<Result<_, _>>()?;
        let arrived = skew.arrived.iter();
        let arrived = arrived
            .map(|skew| end.memory_behind(*skew, &vec![0; ROWS * POSTS * WIDTH * COLUMNS]))
            .collect::<Result<_, _>>()?;
        let appended = (0..COLUMNS).map(|_| end.memory(&vec![0; CAPACITY * WIDTH]));
        let appended = match arrival {
            Arrival::Appended => appended.collect::<Result<_, _>>()?,
            Arrival::Pages | Arrival::Odd => Vec::new(),
        };
        let ids = end.memory_behind(skew.ids, &owners)?;
        Ok(Self { skew, columns, ids, owners, arrived, appended })
    }

    /// The append region of the columns, if the node has one.
    fn append_region(&self, end: &End) -> Result<Option<AppendRegion<'_>>, RunError> {
        if self.appended.is_empty() {
            return Ok(None);
        }
        let mut region = end.pd.append_region().capacity(CAPACITY as u32);
        for column in &self.appended {
            region = region.column(column, 0, WIDTH as u32);
        }
        let region = region.build().map_err(|error| RunError::Refused(error.to_string()))?;
        Ok(Some(region))
    }

    /// Number of messages that go to a node.
    fn messages(&self, node: usize) -> usize {
        (0..POSTS).map(|post| self.rows(post, node).count().div_ceil(PACKED)).sum()
    }

    /// The rows of a request that go to a node.
    fn rows(&self, post: usize, node: usize) -> impl Iterator<Item = usize> + '_ {
        let rows = post * ROWS..(post + 1) * ROWS;
        rows.filter(move |row| usize::from(self.owners[*row]) == node)
    }

    /// A request's region.
    fn region(&self, post: usize) -> Result<PartitionedRegion<'_, u8>, RunError> {
        let first = (post * ROWS) as u64;
        let ids = self.skew.ids as u64 + first;
        let mut region = Partitioned::<u8>::new(&self.ids).offset(ids).rows(ROWS as u64);
        for (column, skew) in self.columns.iter().zip(self.skew.columns) {
            region = region.column(column, skew as u64 + first * WIDTH as u64, WIDTH as u64);
        }
        Ok(region.build()?)
    }

    /// The bytes of all rows that go to a node.
    fn packed(&self, node: usize) -> Vec<u8> {
        let mut bytes = vec![0; ROWS * POSTS * WIDTH];
        let columns: Vec<Vec<u8>> = self
            .columns
            .iter()
            .zip(self.skew.columns)
            .map(|(column, skew)| {
                column.read_at(skew, &mut bytes);
                bytes.clone()
            })
            .collect();
        let rows = (0..POSTS).flat_map(|post| self.rows(post, node));
        rows.flat_map(|row| columns.iter().flat_map(move |c| &c[row * WIDTH..(row + 1) * WIDTH]))
            .copied()
            .collect()
    }
}

/// The share of the bound that the slowest node reaches. Rows that stay at home are not sent, but count as fetched:
/// they lie one by one between the others.
pub fn share(arrival: Arrival) -> Result<f64, RunError> {
    let network = NetworkConfig::default();
    let mut fabric = rig::fabric(network.clone(), &[Kind::Rtl; NODES])?;
    let ends =
        (0..NODES).map(|node| End::new(&fabric, node, ENTRIES)).collect::<Result<Vec<_>, _>>()?;
    let tables = ends.iter().map(|end| Table::new(end, arrival)).collect::<Result<Vec<_>, _>>()?;
    let regions = tables.iter().zip(&ends).map(|(table, end)| table.append_region(end));
    let regions = regions.collect::<Result<Vec<_>, _>>()?;
    let mut queues = Vec::new();
    let mut pairs: Vec<Vec<_>> = (0..NODES).map(|_| Vec::new()).collect();
    for a in 0..NODES {
        let queue = ends[a].pd.shared_send_queue(&ends[a].sent).send_blocks(BLOCKS).build()?;
        queues.push(queue);
        for b in a + 1..NODES {
            let (from, to) = rig::pair(&fabric, &ends[a], &ends[b], &Link::default())?;
            pairs[a].push((b, from));
            pairs[b].push((a, to));
        }
    }
    let mut receives = [0; NODES];
    for (node, region) in regions.iter().enumerate() {
        if let Some(region) = region {
            receives[node] = post_receives(&tables, node, &mut pairs[node], region)?;
        }
    }
    rig::settle(&mut fabric, receives.iter().sum())?;
    let before: Vec<u64> =
        (0..NODES).map(|node| fabric.node(node).context().statistics().ring_bytes).collect();
    let start = fabric.now();
    for (node, queue) in queues.iter_mut().enumerate() {
        let mut batch = queue.batch();
        let mut sent = [0; NODES];
        for post in 0..POSTS {
            let region = tables[node].region(post)?;
            let mut destinations = Vec::new();
            for (to, qp) in &pairs[node] {
                let arrived = &tables[*to].arrived[node];
                let first = tables[*to].skew.arrived[node] + sent[*to] * WIDTH * COLUMNS;
                let at = arrived.addr() + first as u64;
                let destination = PartitionDestination::new(qp, *to as u8);
                destinations.push(match arrival {
                    Arrival::Appended => destination,
                    Arrival::Pages | Arrival::Odd => destination.remote(at, arrived.rkey()),
                });
                sent[*to] += tables[node].rows(post, *to).count();
            }
            let operation = match arrival {
                Arrival::Appended => SharedOperation::Send,
                Arrival::Pages | Arrival::Odd => SharedOperation::Write,
            };
            let request = PartitionedWorkRequest::new(post as u64, &region)
                .operation(operation)
                .rows_per_message(PACKED as u32)
                .destinations(&destinations);
            batch.post_ssq_send(&request)?;
        }
        batch.submit()?;
    }
    let sent = ends.iter().map(|end| (&end.sent, POSTS));
    let received = ends.iter().zip(receives).map(|(end, count)| (&end.received, count));
    let waits: Vec<_> = sent.chain(received).collect();
    let (end, completions) = rig::completions(&mut fabric, &waits)?;
    for (node, region) in regions.iter().enumerate() {
        if let Some(region) = region {
            check_appended(&tables, node, region, &completions[NODES + node])?;
        }
    }
    if arrival != Arrival::Appended {
        check(&tables)?;
    }
    let ns = (end - start).as_nanos() as f64 - rig::first_latency_ns(&network);
    // All nodes have the same work but for chance; the last one's end counts for the one that has most.
    let bounds = tables.iter().enumerate().map(|(node, table)| {
        let ring = fabric.node(node).context().statistics().ring_bytes - before[node];
        let bound = bound(table, node, ring, arrival != Arrival::Appended);
        bound.whole_ns - bound.latency_ns
    });
    Ok(bounds.fold(0.0, f64::max) / ns)
}

/// Posts a receive for each message that the other nodes send to a node; returns their number.
fn post_receives<'m>(
    tables: &[Table],
    node: usize,
    pairs: &mut [(usize, QueuePair<'m>)],
    region: &AppendRegion<'m>,
) -> Result<usize, RunError> {
    let mut count = 0;
    for (from, qp) in pairs {
        for _ in 0..tables[*from].messages(node) {
            qp.post_recv(&ReceiveRequest::new(*from as u64).append(region))?;
            count += 1;
        }
    }
    Ok(count)
}

fn bound(table: &Table, node: usize, ring_bytes: u64, writes: bool) -> Bound {
    let len = (ROWS * POSTS * WIDTH) as u64;
    let data = table.columns.iter().zip(table.skew.columns);
    let data = data.map(|(column, skew)| Run { addr: column.addr() + skew as u64, len }).collect();
    let mut wire_bytes = 0;
    for post in 0..POSTS {
        for to in (0..NODES).filter(|to| *to != node) {
            let rows: Vec<usize> = table.rows(post, to).collect();
            let message = |rows: &[usize]| {
                let len = rows.len() * WIDTH * COLUMNS;
                bound::wire_bytes(len as u64, 4096, Transport::Rc, writes)
            };
            wire_bytes += rows.chunks(PACKED).map(message).sum::<u64>();
        }
    }
    let need = Need {
        requests: vec![Run { addr: 1 << 60, len: ring_bytes }],
        indexes: vec![Run {
            addr: table.ids.addr() + table.skew.ids as u64,
            len: (ROWS * POSTS) as u64,
        }],
        data,
        trips: 2,
        depth: 2,
        wire_bytes,
    };
    Bound::of(need, &host::host())
}

/// Compares the rows that arrived at all nodes with those that were sent.
fn check(tables: &[Table]) -> Result<(), RunError> {
    for (from, table) in tables.iter().enumerate() {
        for to in (0..NODES).filter(|to| *to != from) {
            let expected = table.packed(to);
            let mut found = vec![0; expected.len()];
            tables[to].arrived[from].read_at(tables[to].skew.arrived[from], &mut found);
            if found != expected {
                let what = format!("other rows arrived at node {to} than node {from} sent");
                return Err(RunError::Payload { destination: to, message: 0, what });
            }
        }
    }
    Ok(())
}

/// Compares the rows that were appended at a node, message by message, with those that the others have sent to it.
fn check_appended(
    tables: &[Table],
    node: usize,
    region: &AppendRegion<'_>,
    completions: &[WorkCompletion],
) -> Result<(), RunError> {
    let wrong = |from: usize, what: &str| {
        let what = format!("{what} at node {node}, of node {from}");
        RunError::Payload { destination: node, message: 0, what }
    };
    let mut expected: Vec<Vec<u8>> = tables.iter().map(|table| table.packed(node)).collect();
    expected.iter_mut().for_each(|bytes| bytes.reverse());
    for completion in completions {
        let from = completion.wr_id as usize;
        let rows = completion.rows.ok_or_else(|| wrong(from, "rows were not appended"))?;
        for row in region.ranges(rows).into_iter().flatten() {
            for column in &tables[node].appended {
                let mut value = [0; WIDTH];
                column.read_at(row as usize * WIDTH, &mut value);
                let rest = expected[from].len().checked_sub(WIDTH);
                let rest = rest.ok_or_else(|| wrong(from, "more rows than were sent"))?;
                let mut sent = expected[from].split_off(rest);
                sent.reverse();
                if value[..] != sent[..] {
                    return Err(wrong(from, &format!("row {row} has another value")));
                }
            }
        }
    }
    match (0..NODES).find(|from| *from != node && !expected[*from].is_empty()) {
        Some(from) => Err(wrong(from, "rows are missing")),
        None => Ok(()),
    }
}
