//! Rows that are sent from where they lie, instead of being copied into buffers.
//!
//! A batch of rows has a group's number for each. It is sent by one partitioned request, or a few where a peer has
//! no credit or the batch is long: the card finds the rows of each destination and packs them into its messages.
//! How many messages that makes is counted beforehand, so that a destination without the credit for them is left out of
//! the request, and gets one of its own later.

use std::{
    collections::{HashMap, VecDeque},
    ops::Range,
    sync::Arc,
};

use libdrdma::{
    Destination, MemoryRegion, PartitionDestination, Partitioned, PartitionedWorkRequest,
    QueuePair, Region, RowMask, SharedOperation, SharedRequest, SharedSendQueue, SharedWorkRequest,
    Strided,
};

use crate::{
    Error, Groups,
    common::{Core, Protocol, Sent, Work, or_later, ring_bytes},
};

/// Blocks of the shared send queue: a few requests to as many nodes as there can be.
const BLOCKS: u32 = 1024;
/// Destinations of a request that shares regions, at most: each has a description of all columns in it.
const SHARING: usize = 32;
/// Columns of a row, at most.
const MAX_COLUMNS: usize = 16;

/// A batch of rows where they lie: columns, and for each row the number of its group, one byte.
#[derive(Clone, Debug)]
#[must_use]
pub struct Rows {
    ids: Option<Arc<MemoryRegion>>,
    rows: usize,
    columns: Vec<(Arc<MemoryRegion>, usize, usize)>,
}

impl Rows {
    /// Rows by the ids in `ids`, one a byte. The memory is one that the card only reads.
    pub fn by_group(ids: Arc<MemoryRegion>) -> Self {
        Self { rows: ids.len(), ids: Some(ids), columns: Vec::new() }
    }

    /// Makes `rows` rows, all of group 0.
    pub fn for_all(rows: usize) -> Self {
        Self { ids: None, rows, columns: Vec::new() }
    }

    /// Adds a column: values of `width` bytes one behind the other, from `offset` in `memory`. A row is sent as its
    /// columns' values, in the order in which they were added.
    pub fn column(mut self, memory: Arc<MemoryRegion>, offset: usize, width: usize) -> Self {
        self.columns.push((memory, offset, width));
        self
    }

    /// Number of rows.
    pub fn count(&self) -> usize {
        self.rows
    }

    /// Bytes of a row.
    pub fn row_bytes(&self) -> usize {
        self.columns.iter().map(|(_, _, width)| width).sum()
    }

    /// The group numbers of some rows. `None`: all are of group 0.
    fn ids(&self, rows: Range<usize>) -> Result<Option<&[u8]>, Error> {
        match &self.ids {
            Some(ids) => Ok(Some(&ids.as_slice()?[rows])),
            None => Ok(None),
        }
    }

    fn check(&self, message: usize, groups: usize) -> Result<(), Error> {
        let row = self.row_bytes();
        if row == 0 || row > message {
            return Err(Error::Row { row, message });
        }
        if self.columns.len() > MAX_COLUMNS {
            return Err(Error::Columns { columns: self.columns.len(), limit: MAX_COLUMNS });
        }
        let ids = self.ids(0..self.rows)?;
        let highest = ids.map_or(0, |ids| ids.iter().copied().max().unwrap_or(0).into());
        if self.rows > 0 && highest >= groups {
            return Err(Error::Group { group: highest, groups });
        }
        // That the columns are inside of their memory is checked before anything is sent.
        self.regions(0..self.rows).map(|_| ())
    }

    /// The regions of some rows, one a column.
    fn regions(&self, rows: Range<usize>) -> Result<Vec<Region<'static>>, Error> {
        let region = |(memory, offset, width): &(Arc<MemoryRegion>, usize, usize)| {
            let (first, width) = (offset + rows.start * width, *width as u64);
            let strided = Strided::new(memory).offset(first as u64).period(width);
            Ok(strided.count(rows.len() as u64).extent(0, width).build()?)
        };
        self.columns.iter().map(region).collect()
    }
}

/// Rows of a piece that one node gets.
#[derive(Clone, Copy, Debug)]
struct Part {
    group: usize,
    node: usize,
    messages: u64,
}

/// Rows that are sent by one request, but for those whose destinations have no credit.
#[derive(Debug)]
struct Piece {
    rows: Range<usize>,
    parts: Vec<Part>,
}

/// A batch that is being sent.
#[derive(Debug)]
struct Batch {
    rows: Rows,
    per_message: usize,
    pieces: VecDeque<Piece>,
}

/// Sends the regions of an endpoint.
#[derive(Debug)]
pub(crate) struct Sender {
    queue: SharedSendQueue<'static>,
    batch: Option<Batch>,
    /// For each request that is under way: the messages to each node.
    posted: HashMap<u32, Vec<Part>>,
    next: u32,
}

impl Sender {
    pub fn new(core: &Core) -> Result<Self, Error> {
        let queue = core.pd.shared_send_queue(&core.cq).send_blocks(BLOCKS).build()?;
        Ok(Self { queue, batch: None, posted: HashMap::new(), next: 0 })
    }

    pub fn pinned(&self) -> u64 {
        ring_bytes(BLOCKS)
    }

    /// True if no rows of the last batch wait to be posted.
    pub fn has_room(&self) -> bool {
        self.batch.is_none()
    }

    pub fn is_idle(&self) -> bool {
        self.batch.is_none() && self.posted.is_empty()
    }

    /// Takes a batch, and returns the number of messages of it to each node.
    pub fn add(
        &mut self,
        core: &Core,
        rows: &Rows,
        groups: &Groups,
        most: u64,
    ) -> Result<Vec<u64>, Error> {
        let message = core.config.message as usize;
        rows.check(message, groups.count())?;
        let per_message = message / rows.row_bytes();
        let pieces = cut(rows, per_message, groups, core.member.node, most)?;
        let mut messages = vec![0; core.member.nodes];
        for part in pieces.iter().flat_map(|piece| &piece.parts) {
            messages[part.node] += part.messages;
        }
        if !pieces.is_empty() {
            self.batch = Some(Batch { rows: rows.clone(), per_message, pieces });
        }
        Ok(messages)
    }

    /// Posts requests for the rows that there is credit for.
    pub fn post(&mut self, core: &mut Core, protocol: &mut dyn Protocol) -> Result<(), Error> {
        let Self { queue, batch: waiting, posted, next } = self;
        let Some(batch) = waiting else { return Ok(()) };
        loop {
            let pieces = batch.pieces.len();
            let Some(piece) = batch.pieces.front_mut() else { break };
            let now = choose(core, protocol, &piece.parts, batch.rows.ids.is_some());
            if now.is_empty() {
                return Ok(());
            }
            let name = Work::Regions.name(core.member.node, *next);
            let rows = (&batch.rows, piece.rows.clone(), batch.per_message);
            let more = pieces > 1 || now.len() < piece.parts.len();
            let operation = protocol.region_operation(more);
            if post(queue, core, protocol, (name, operation), rows, &now)? == Sent::NotNow {
                return Ok(());
            }
            core.statistics.posts += 1;
            now.iter().for_each(|part| protocol.used(core, part.node, part.messages));
            let is_posted =
                |part: &Part| now.iter().any(|p| (p.group, p.node) == (part.group, part.node));
            piece.parts.retain(|part| !is_posted(part));
            posted.insert(*next, now);
            *next = next.wrapping_add(1);
            if piece.parts.is_empty() {
                batch.pieces.pop_front();
            }
        }
        *waiting = None;
        Ok(())
    }

    /// Records that the request of that number has completed.
    pub fn completed(&mut self, core: &mut Core, number: u32) {
        for part in self.posted.remove(&number).unwrap_or_default() {
            core.signs[part.node] += 1;
            core.owed[part.node] -= part.messages;
        }
    }

    /// The node of a destination of a request.
    pub fn node(&self, number: u32, destination: usize) -> Option<usize> {
        Some(self.posted.get(&number)?.get(destination)?.node)
    }
}

/// Cuts rows into pieces of which no node gets more than `most` messages of a group.
fn cut(
    rows: &Rows,
    per_message: usize,
    groups: &Groups,
    own: usize,
    most: u64,
) -> Result<VecDeque<Piece>, Error> {
    let (mut pieces, mut start) = (VecDeque::new(), 0);
    let limit = per_message.saturating_mul(most as usize);
    let mut counts = vec![0; groups.count()];
    let mut end = |rows: Range<usize>, counts: &mut Vec<usize>| {
        let part = |(group, count): (usize, &usize)| {
            let messages = count.div_ceil(per_message) as u64;
            let nodes = groups.nodes(group).iter().copied();
            let nodes = nodes.filter(move |node| messages > 0 && *node != own);
            nodes.map(move |node| Part { group, node, messages }).collect::<Vec<_>>()
        };
        let parts: Vec<_> = counts.iter().enumerate().flat_map(part).collect();
        if !parts.is_empty() {
            pieces.push_back(Piece { rows, parts });
        }
        counts.fill(0);
    };
    match rows.ids(0..rows.rows)? {
        Some(ids) => {
            for (row, group) in ids.iter().enumerate() {
                if counts[usize::from(*group)] == limit {
                    end(start..row, &mut counts);
                    start = row;
                }
                counts[usize::from(*group)] += 1;
            }
        }
        None => {
            while rows.rows - start > limit {
                counts[0] = limit;
                end(start..start + limit, &mut counts);
                start += limit;
            }
            if let Some(count) = counts.first_mut() {
                *count = rows.rows - start;
            }
        }
    }
    end(start..rows.rows, &mut counts);
    Ok(pieces)
}

/// The parts that can be sent now: a request names no node twice, and no group.
fn choose(core: &Core, protocol: &dyn Protocol, parts: &[Part], partitioned: bool) -> Vec<Part> {
    let mut now: Vec<Part> = Vec::new();
    for part in parts {
        let is_named =
            |other: &Part| other.node == part.node || partitioned && other.group == part.group;
        if !partitioned && now.len() == SHARING {
            break;
        }
        if !now.iter().any(is_named) && protocol.room(core, part.node) >= part.messages {
            now.push(*part);
        }
    }
    now
}

fn post(
    queue: &mut SharedSendQueue<'static>,
    core: &Core,
    protocol: &dyn Protocol,
    (name, operation): (u64, SharedOperation),
    (rows, range, per_message): (&Rows, Range<usize>, usize),
    parts: &[Part],
) -> Result<Sent, Error> {
    let qp = |node| -> &QueuePair<'static> { protocol.sender(node) };
    let per_message = per_message as u32;
    let Some(ids) = &rows.ids else {
        let regions = rows.regions(range)?;
        let destination = |part: &Part| {
            let (addr, rkey) = protocol.remote(core, part.node);
            Destination::new(qp(part.node)).remote(addr, rkey).regions(&regions)
        };
        let destinations: Vec<_> = parts.iter().map(destination).collect();
        let request = SharedWorkRequest::new(name)
            .operation(operation)
            .row_mask(RowMask::Element)
            .rows_per_message(per_message)
            .destinations(&destinations);
        return submit(queue, &request);
    };
    let mut region =
        Partitioned::<u8>::new(ids).offset(range.start as u64).rows(range.len() as u64);
    for (memory, offset, width) in &rows.columns {
        region = region.column(memory, (offset + range.start * width) as u64, *width as u64);
    }
    let region = region.build()?;
    let destination = |part: &Part| {
        let (addr, rkey) = protocol.remote(core, part.node);
        PartitionDestination::new(qp(part.node), part.group as u8).remote(addr, rkey)
    };
    let destinations: Vec<_> = parts.iter().map(destination).collect();
    let request = PartitionedWorkRequest::new(name, &region)
        .operation(operation)
        .rows_per_message(per_message)
        .destinations(&destinations);
    submit(queue, &request)
}

fn submit(
    queue: &mut SharedSendQueue<'static>,
    request: &impl SharedRequest<'static>,
) -> Result<Sent, Error> {
    or_later(queue.post_ssq_send(request))
}
