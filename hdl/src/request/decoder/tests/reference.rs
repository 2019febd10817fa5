//! The decoder in plain Rust, written from `docs/semantics.md` and `docs/architecture.md`.

use crate::request::PART;
use drdma_abi::Layout;
use drdma_abi::completion::Status;
use drdma_abi::receive::{AddressHandle, ReliableOpcode, request_flags};
use drdma_abi::register::{MemoryRegionEntry, QUEUE_PAIRS, QueuePairEntry, SendQueueEntry};
use drdma_abi::roce::{TTL, Transport};
use drdma_abi::work_request::{
    BLOCK, Chain, Destination, Element, ElementKind, ElementSource, GRANULE, KeyType, KindElement,
    MAX_CHAIN, MAX_ELEMENTS, MAX_INLINE, MAX_PARTITIONS, MAX_SPLITTERS, MAX_VIEW_BUFFERS,
    MAX_WQE_GRANULES, Opcode, PartitionBy, PartitionFunction, PartitionKey, RegionHeader,
    RegionShape, RegionType, RemoteColumn, WQE_MAGIC, WqeHeader, blocks, flags, shape_flags,
};
use std::collections::HashSet;

/// A lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lane {
    pub base: u64,
    pub step: u64,
    pub len: u32,
    /// How its entries lead to bytes.
    pub source: Source,
}

/// What only a pointer-mapped set has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Records {
    pub target_addr: u64,
    pub target_len: u64,
    pub low: u64,
    pub high: u128,
}

/// How the entries of a lane lead to bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Source {
    pub kind: u8,
    pub log: u8,
    pub width: u32,
    pub addr: u64,
    /// Of offsets the key of the data; else values.
    pub number: u32,
}

/// What a set with kinds of columns has beside others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Special {
    pub pd: u32,
    pub first: u8,
    pub period: u64,
    pub chain: Option<Chain>,
}

/// How the ids of a partitioned request are made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    pub range: bool,
    pub partitions: u32,
    pub group: u16,
    pub seed: u32,
    pub keys: Vec<Key>,
}

/// A key of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key {
    pub addr: u64,
    /// Bytes of a value, or none of a bit.
    pub bytes: Option<u32>,
    /// Of a bit: its place in its byte.
    pub first: u8,
    pub key_type: u8,
    /// Where the bitmap of validity is, and the place of row 0's bit.
    pub validity: Option<(u64, u8)>,
}

/// A set with its lanes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set {
    pub kind: u8,
    /// Bytes of an id at `addr`, or of one that is made; 0: there are none.
    pub ids: u8,
    /// Ids are made, and the splitters are at `addr`.
    pub made: bool,
    pub addr: u64,
    pub count: u32,
    pub row_bytes: u64,
    pub beat_start: u16,
    pub records: Option<Records>,
    /// Where the fetch rows lie.
    pub fetch_rows: Option<u64>,
    /// What it has beside others, of such as have kinds of columns.
    pub special: Option<Special>,
    /// The payload, where it stands in the entry.
    pub inline: Option<Vec<u8>>,
    pub lanes: Vec<Lane>,
}

impl Set {
    /// Cuts the lanes into beats.
    fn cut(&mut self) {
        (self.row_bytes, self.beat_start) = (0, 0);
        let mut fill = u64::MAX;
        for (lane, Lane { len, .. }) in self.lanes.iter().enumerate() {
            self.row_bytes += u64::from(*len);
            fill = fill.saturating_add(u64::from(*len));
            if fill > 64 {
                self.beat_start |= 1 << lane;
                fill = u64::from(*len);
            }
        }
    }

    /// True if some lane leads elsewhere.
    pub fn has_kinds(&self) -> bool {
        self.lanes.iter().any(|lane| lane.source.kind != ElementKind::Fixed as u8)
    }

    /// What it has beside others, if it can be seen that it has any.
    pub fn special(&self, special: Special) -> Option<Special> {
        Some(special).filter(|s| self.has_kinds() || s.chain.is_some() || s.first > 0)
    }

    /// One of its lanes.
    fn alone(&self, lane: usize) -> Self {
        let mut set = Self { lanes: vec![self.lanes[lane]], ..self.clone() };
        set.cut();
        set
    }

    /// Several strided regions of one extent each and of equal counts, bitmapped ones of one column
    /// each with the same bitmap, or contiguous ones, as one.
    fn joined(sets: &[Self]) -> Option<Self> {
        let last = sets.last()?;
        let joins = |set: &Self| {
            let addr = set.kind != 2 || set.addr == last.addr;
            let kind = set.kind != 3 && set.kind == last.kind && !set.has_kinds();
            kind && addr && set.lanes.len() == 1 && set.count == last.count
        };
        (sets.len() > 1 && sets.iter().all(joins)).then(|| {
            let lanes = sets.iter().flat_map(|set| set.lanes.clone()).collect();
            let mut set = Self { lanes, kind: last.kind.max(1), ..last.clone() };
            set.cut();
            set
        })
    }
}

/// Whether a destination has one set, strided or bitmapped, with the lanes and the count of the
/// `first` destination's.
fn alike(sets: &[Set], first: &[Set]) -> bool {
    let ([own], [other]) = (sets, first) else { return false };
    // Contiguous regions, also those that became one set, have no step.
    let regular = |set: &Set| set.kind == 2 || set.kind == 1 && set.lanes[0].step > 0;
    regular(own) && regular(other) && own.lanes == other.lanes && own.count == other.count
}

/// Whether all destinations have one strided set with the steps and lengths of the first one's lanes, and each
/// lane begins behind the rows of the same lane of the destination before.
fn apart(dests: &[Dest]) -> bool {
    let one = |dest: &Dest| match &dest.sets[..] {
        [set] if set.kind == 1 && set.lanes[0].step > 0 => Some(set.clone()),
        _ => None,
    };
    let Some(sets) = dests.iter().map(one).collect::<Option<Vec<_>>>() else { return false };
    let form = |set: &Set| set.lanes.iter().map(|lane| (lane.step, lane.len)).collect::<Vec<_>>();
    let narrow = |set: &Set| set.lanes.iter().all(|lane| lane.step <= 255 && lane.len <= 127);
    let follows = |pair: &[Set]| {
        let lanes = pair[0].lanes.iter().zip(&pair[1].lanes);
        let behind = |(before, lane): (&Lane, &Lane)| {
            let distance = lane.base.wrapping_sub(before.base) as i64;
            i128::from(distance) >= i128::from(pair[0].count) * i128::from(before.step)
        };
        { lanes }.all(behind)
    };
    !sets.is_empty()
        && sets.iter().all(|set| narrow(set) && form(set) == form(&sets[0]))
        && sets.windows(2).all(follows)
}

/// A destination with its sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dest {
    pub qp: u8,
    pub opcode: u8,
    pub imm: u32,
    pub remote_addr: u64,
    pub rkey: u32,
    pub transport: u8,
    pub log_mtu: u8,
    pub element_mask: bool,
    pub rows_per_message: u32,
    pub alike: bool,
    pub partition: u16,
    pub fenced: bool,
    pub solicited: bool,
    pub invalidates: bool,
    /// Its payload has no bytes.
    pub empty: bool,
    pub sets: Vec<Set>,
    /// Of a WRITE by columns, whose own address is then none.
    pub columns: Vec<Column>,
}

/// What a destination of a WRITE by columns has for one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    pub remote_addr: u64,
    pub rkey: u32,
    pub opcode: u8,
    /// One lane.
    pub set: Set,
}

/// A request as the decoder must give it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub queue: u8,
    pub wr_id: u64,
    /// The ring position of its first block.
    pub position: u32,
    /// As its head says; of one whose head can be read.
    pub unsignaled: Option<bool>,
    pub status: u8,
    pub bad_dest: u8,
    /// The queue pair that is put in error.
    pub qp_error: Option<u8>,
    /// How it says that it is fetched: longest read, widest gap. Of one that runs.
    pub fetch: Option<(u64, u64)>,
    /// Its destinations have rows of one form, one behind the other. Of one that runs.
    pub apart: bool,
    /// Where its datagrams go, if it says so. Of one that runs.
    pub address: Option<AddressHandle>,
    /// How its ids are made, if they are. Of one that runs.
    pub function: Option<Function>,
    pub dests: Vec<Dest>,
}

/// Blocks of one doorbell.
#[derive(Clone, Debug)]
pub struct Batch {
    pub queue: u8,
    pub position: u32,
    pub bytes: Vec<u8>,
    /// Blocks that could not be read.
    pub unread: HashSet<usize>,
    /// The part of a message that its only entry stands for.
    pub part: Part,
}

/// What blocks tell of a part.
#[derive(Clone, Copy, Debug, Default)]
pub struct Part {
    /// Where it begins, in units.
    pub first: u64,
    pub log_units: u64,
    pub pauses: bool,
}

impl Part {
    /// As a block of the entry has it.
    pub fn block(self, last: bool) -> u64 {
        self.first | self.log_units << PART | u64::from(self.pauses && last) << (PART + 2)
    }
}

/// What the decoder knows.
#[derive(Clone, Debug)]
pub struct Card {
    pub regions: Vec<MemoryRegionEntry>,
    pub queue_pairs: Vec<QueuePairEntry>,
    pub queues: Vec<SendQueueEntry>,
    pub qp_errors: HashSet<u8>,
    pub stopped: HashSet<u8>,
}

struct Failure {
    status: Status,
    dest: usize,
    qp: Option<u32>,
}

const OPERATION: Status = Status::LocalQpOperationError;

impl Card {
    /// The requests of a batch.
    pub fn decode(&mut self, batch: &Batch) -> Vec<Request> {
        let (mut at, total) = (0, batch.bytes.len() / BLOCK);
        let mut requests = Vec::new();
        while at < total && !self.stopped.contains(&batch.queue) {
            let head = WqeHeader::decode(&batch.bytes[at * BLOCK..]);
            let mut request = Request {
                queue: batch.queue,
                wr_id: if batch.unread.contains(&at) { 0 } else { head.wr_id },
                position: batch.position.wrapping_add(at as u32),
                unsignaled: (!batch.unread.contains(&at))
                    .then_some(head.flags & flags::UNSIGNALED != 0),
                status: 0,
                bad_dest: 0,
                qp_error: None,
                fetch: None,
                apart: false,
                address: None,
                function: None,
                dests: Vec::new(),
            };
            match self.entry(batch, at, &head) {
                Ok(Decoded { dests, address, function }) => {
                    request.address = address;
                    request.function = function;
                    request.fetch = (head.flags & flags::FETCH_PLAN != 0)
                        .then(|| (1 << head.fetch_log_max_read, head.fetch_merge_threshold.into()));
                    request.apart = apart(&dests);
                    request.dests = dests;
                }
                Err(failure) => {
                    request.status = failure.status as u8;
                    request.bad_dest = failure.dest as u8;
                    request.qp_error = failure.qp.map(|qp| qp as u8);
                    self.stopped.insert(batch.queue);
                }
            }
            requests.push(request);
            at += blocks(head.granules as usize);
        }
        requests
    }

    fn entry(&self, batch: &Batch, at: usize, head: &WqeHeader) -> Result<Decoded, Failure> {
        let left = batch.bytes.len() / BLOCK - at;
        let queue = &self.queues[usize::from(batch.queue)];
        let most = if queue.shared == 1 { 256 } else { 1 };
        let own = |flag| queue.shared != 1 && head.flags & flag != 0;
        let invalidates = queue.shared != 1 && head.opcode == ReliableOpcode::SendInvalidate as u8;
        let code = if invalidates { Opcode::Send as u8 } else { head.opcode };
        let flags_of_queue =
            if queue.shared == 1 { flags::SHARED } else { flags::OWN | request_flags::ALL };
        let granules = head.granules as usize;
        let partitioned = head.flags & flags::PARTITIONED != 0;
        let good = !batch.unread.contains(&at)
            && head.magic == WQE_MAGIC
            && Opcode::from_code(code).is_some()
            && head.flags & !flags_of_queue == 0
            && match (head.fetch_log_max_read, head.fetch_merge_threshold) {
                (log, gap) if head.flags & flags::FETCH_PLAN != 0 => {
                    (6..=12).contains(&log) && gap < 4096
                }
                other => other == (0, 0),
            }
            && head.rows_per_message >= 1
            && (1..=most).contains(&head.destinations)
            && head.position == batch.position.wrapping_add(at as u32)
            && (2..=MAX_WQE_GRANULES).contains(&granules)
            && blocks(granules) <= left;
        if !good {
            return Err(Failure { status: OPERATION, dest: 0, qp: None });
        }
        let mut reader = Reader { batch, next: at * 4 + 2, end: at * 4 + granules };
        let address = own(request_flags::ADDRESS).then(|| reader.address()).transpose()?;
        let shared = partitioned.then(|| self.partitioned(&mut reader, queue.pd)).transpose()?;
        let (shared, function) = shared.map_or((None, None), |(set, by)| (Some(set), by));
        let (mut seen, mut partitions) = (HashSet::new(), HashSet::new());
        let mut dests: Vec<Dest> = Vec::new();
        let mut regions = 0;
        for dest in 0..usize::from(head.destinations) {
            let fail = |status| Failure { status, dest, qp: None };
            let mut bytes = [0; 32];
            for half in bytes.chunks_exact_mut(GRANULE) {
                half.copy_from_slice(&reader.take().map_err(|stop| stop.failure(dest, None))?);
            }
            let d = Destination::decode(&bytes);
            let inline = head.flags & flags::INLINE != 0;
            let unused = if d.regions < 16 { d.types >> (2 * d.regions) } else { 0 };
            let owner = (queue.shared != 1).then_some(queue.qp);
            let partition = match &shared {
                Some(set) => {
                    let fits = set.ids == 2 || d.partition < 256;
                    // The first of the partitions that have this id is one.
                    let made = function.as_ref().is_none_or(|by| {
                        u64::from(d.partition) * u64::from(by.group) < u64::from(by.partitions)
                    });
                    fits && made && partitions.insert(d.partition) && d.regions == 0
                }
                None => d.partition == 0,
            };
            regions += usize::from(d.regions);
            let good = partition
                && d.reserved2 == 0
                && match d.message_layout {
                    0 => d.remote_columns == 0,
                    1 => {
                        (1..=16).contains(&d.remote_columns)
                            && matches!(head.opcode, 2 | 3)
                            && !inline
                            && head.flags & flags::ELEMENT_MASK == 0
                            && match &shared {
                                Some(set) => {
                                    set.lanes.len() == usize::from(d.remote_columns)
                                        && set.count <= head.rows_per_message
                                }
                                None => d.regions == 1,
                            }
                    }
                    _ => false,
                }
                && dests
                    .first()
                    .is_none_or(|first| first.columns.len() == usize::from(d.remote_columns))
                && match inline {
                    true => usize::from(d.inline_bytes) <= MAX_INLINE && d.regions == 0,
                    false => d.inline_bytes == 0,
                }
                && d.regions <= 16
                && regions <= 1024
                && unused == 0
                && d.qp < QUEUE_PAIRS.entries
                && owner.is_none_or(|owner| owner == d.qp)
                && seen.insert(d.qp);
            if !good {
                return Err(fail(OPERATION));
            }
            let mut columns = Vec::new();
            for _ in 0..d.remote_columns {
                let column = reader.take().map_err(|stop| stop.failure(dest, None))?;
                let column = RemoteColumn::decode(&column);
                let all = (columns.len() + 1) * usize::from(head.destinations);
                if column.reserved != 0 || (dest == 0 && all > 512) {
                    return Err(fail(OPERATION));
                }
                columns.push(column);
            }
            if u8::try_from(d.qp).is_ok_and(|qp| self.qp_errors.contains(&qp)) {
                return Err(fail(Status::WrFlushError));
            }
            let qp = &self.queue_pairs[d.qp as usize];
            let opcode = Opcode::from_code(code).expect("checked");
            if qp.state != 1
                || qp.pd != queue.pd
                || (opcode.is_write() && qp.transport == Transport::Ud as u8)
            {
                return Err(fail(OPERATION));
            }
            let mut sets: Vec<_> = shared.iter().cloned().collect();
            for index in 0..usize::from(d.regions) {
                let kind = RegionType::of(d.types, index);
                let limits = (d.remote_columns > 0)
                    .then(|| (usize::from(d.remote_columns), head.rows_per_message));
                let (set, ranges) = self
                    .region(&mut reader, kind, queue.pd, limits)
                    .map_err(|stop| stop.failure(dest, Some(d.qp)))?;
                if !ranges.iter().all(|range| self.covers(range, queue.pd)) {
                    let status = Status::LocalProtectionError;
                    return Err(Failure { status, dest, qp: Some(d.qp) });
                }
                sets.push(set);
            }
            if inline {
                sets.push(
                    self.inline(&mut reader, d.inline_bytes)
                        .map_err(|stop| stop.failure(dest, Some(d.qp)))?,
                );
            }
            // Elements of several regions that are rows of one.
            let mut element_mask = head.flags & flags::ELEMENT_MASK != 0 && !inline;
            if let Some(joined) = Set::joined(&sets).filter(|_| element_mask) {
                (sets, element_mask) = (vec![joined], false);
            }
            let first = dests.first().map_or(&sets, |first| &first.sets);
            let alike = alike(&sets, first);
            let last = columns.len().saturating_sub(1);
            let column = |(j, remote): (usize, &RemoteColumn)| Column {
                remote_addr: remote.addr,
                rkey: remote.rkey,
                // Without immediate data, but for the last one.
                opcode: if j == last { code } else { Opcode::Write as u8 },
                set: sets[0].alone(j),
            };
            let columns: Vec<_> = columns.iter().enumerate().map(column).collect();
            let (remote_addr, rkey, code) = match columns.is_empty() {
                true => (d.remote_addr, d.rkey, code),
                false => (0, 0, 0),
            };
            dests.push(Dest {
                columns,
                alike,
                partition: d.partition,
                qp: d.qp as u8,
                opcode: code,
                fenced: own(request_flags::FENCE),
                solicited: own(request_flags::SOLICITED),
                invalidates,
                empty: inline && d.inline_bytes == 0,
                imm: head.imm,
                remote_addr,
                rkey,
                transport: qp.transport,
                log_mtu: qp.log_mtu,
                element_mask,
                rows_per_message: head.rows_per_message,
                sets,
            });
            if dest + 1 == usize::from(head.destinations) && reader.next != reader.end {
                return Err(Failure { status: OPERATION, dest, qp: Some(d.qp) });
            }
            let reliable = invalidates || own(request_flags::FENCE);
            if (reliable && qp.transport != Transport::Rc as u8)
                || (address.is_some() && qp.transport != Transport::Ud as u8)
            {
                return Err(Failure { status: OPERATION, dest, qp: Some(d.qp) });
            }
        }
        Ok(Decoded { dests, address, function })
    }

    /// The payload that stands in the entry, as a contiguous set; a byte stands for one of no bytes.
    fn inline(&self, reader: &mut Reader, bytes: u8) -> Result<Set, Stop> {
        let mut payload = Vec::new();
        while payload.len() < bytes.into() {
            payload.extend(reader.take()?);
        }
        payload.truncate(bytes.into());
        let lane = Lane { len: u32::from(bytes).max(1), ..Lane::default() };
        let mut set = Set { count: 1, lanes: vec![lane], inline: Some(payload), ..Set::default() };
        set.cut();
        Ok(set)
    }

    /// The region that the destinations of a partitioned request share.
    fn partitioned(
        &self,
        reader: &mut Reader,
        pd: u32,
    ) -> Result<(Set, Option<Function>), Failure> {
        let stop = |stop: Stop| stop.failure(0, None);
        let header = RegionHeader::decode(&reader.take().map_err(stop)?);
        let shape = RegionShape::decode(&reader.take().map_err(stop)?);
        let has_kinds = shape.flags == shape_flags::COLUMN_KINDS;
        let made = shape.flags == shape_flags::PARTITION_BY;
        let good = (1..=16).contains(&shape.elements)
            && if made { shape.period == 0 } else { (1..=2).contains(&shape.period) }
            && (shape.flags == 0 || has_kinds || made)
            && shape.target_lkey == 0;
        if !good {
            return Err(stop(Stop::Shape));
        }
        let rows = u128::from(header.count);
        let len = rows * u128::from(shape.period);
        let mut ranges = vec![Range { lkey: header.lkey, start: header.addr.into(), len }];
        let (mut ids, addr, count) = (shape.period as u8, header.addr, header.count);
        let mut function = None;
        if made {
            let (by, needed) = keys(reader, header).map_err(stop)?;
            ids = if by.partitions > 256 { 2 } else { 1 };
            (function, ranges) = (Some(by), needed);
        }
        let mut set = Set { kind: 2, ids, made, addr, count, ..Set::default() };
        if has_kinds {
            let header = RegionHeader { addr: 0, lkey: 0, ..header };
            let (own, more) =
                self.entries(reader, RegionType::Bitmapped, header, shape).map_err(stop)?;
            set.lanes = own;
            set.special = set.special(Special { pd, ..Special::default() });
            ranges.extend(more);
        }
        for _ in (0..shape.elements).filter(|_| !has_kinds) {
            let Element { offset, len, lkey } = Element::decode(&reader.take().map_err(stop)?);
            if len == 0 {
                return Err(stop(Stop::Shape));
            }
            set.lanes.push(Lane { base: offset, step: len.into(), len, ..Lane::default() });
            ranges.push(Range { lkey, start: offset.into(), len: rows * u128::from(len) });
        }
        set.cut();
        if rows > 0 && !ranges.iter().all(|range| self.covers(range, pd)) {
            return Err(Failure { status: Status::LocalProtectionError, dest: 0, qp: None });
        }
        Ok((set, function))
    }

    fn region(
        &self,
        reader: &mut Reader,
        kind: RegionType,
        pd: u32,
        by_columns: Option<(usize, u32)>,
    ) -> Result<(Set, Vec<Range>), Stop> {
        let header = RegionHeader::decode(&reader.take()?);
        let (addr, count, lkey) = (header.addr, header.count, header.lkey);
        if by_columns.is_some() && !matches!(kind, RegionType::Strided | RegionType::Bitmapped) {
            return Err(Stop::Shape);
        }
        let mut set = Set { kind: kind as u8, addr, count, ..Set::default() };
        let mut ranges = Vec::new();
        let mut add = |lkey, start: u128, len: u128| ranges.push(Range { lkey, start, len });
        if kind == RegionType::Contiguous {
            if count == 0 {
                return Err(Stop::Shape);
            }
            add(lkey, addr.into(), count.into());
            set.count = 1;
            set.lanes.push(Lane { base: addr, len: count, ..Lane::default() });
        } else {
            let shape = RegionShape::decode(&reader.take()?);
            if shape.flags & shape_flags::COLUMN_KINDS != 0 {
                if by_columns.is_some() {
                    return Err(Stop::Shape);
                }
                return self.kinds(reader, kind, header, shape, pd);
            }
            let strided = kind == RegionType::Strided;
            let good = (1..=16).contains(&shape.elements)
                && by_columns.is_none_or(|(columns, _)| columns == usize::from(shape.elements))
                && match shape.flags {
                    0 => {
                        (shape.period != 0) == strided
                            && (shape.target_lkey == 0 || kind == RegionType::PointerMapped)
                    }
                    shape_flags::FETCH_ROWS => kind == RegionType::Bitmapped,
                    _ => false,
                };
            if !good {
                return Err(Stop::Shape);
            }
            match kind {
                RegionType::Bitmapped => add(lkey, addr.into(), count.div_ceil(8).into()),
                RegionType::PointerMapped => add(lkey, addr.into(), u128::from(count) * 8),
                _ => {}
            }
            if shape.flags == shape_flags::FETCH_ROWS {
                add(shape.target_lkey, shape.period.into(), count.div_ceil(8).into());
                set.fetch_rows = Some(shape.period);
            }
            let (mut low, mut high) = (u64::MAX, 0);
            for _ in 0..shape.elements {
                let element = Element::decode(&reader.take()?);
                let (offset, len) = (element.offset, element.len);
                let over = by_columns.is_some_and(|(_, most)| count > most);
                if over || len == 0 || (element.lkey != 0 && kind != RegionType::Bitmapped) {
                    return Err(Stop::Shape);
                }
                low = low.min(offset);
                high = high.max(u128::from(offset) + u128::from(len));
                let (base, step) = match kind {
                    RegionType::Bitmapped => (offset, len.into()),
                    RegionType::PointerMapped => (offset, 0),
                    _ => (addr.wrapping_add(offset), shape.period),
                };
                set.lanes.push(Lane { base, step, len, ..Lane::default() });
                match kind {
                    RegionType::Bitmapped => {
                        let bytes = u128::from(count) * u128::from(len);
                        add(element.lkey, offset.into(), bytes);
                    }
                    RegionType::Strided => {
                        let periods = u128::from(count.saturating_sub(1));
                        let bytes = periods * u128::from(shape.period) + u128::from(len);
                        add(lkey, u128::from(addr) + u128::from(offset), bytes);
                    }
                    _ => {}
                }
            }
            if kind == RegionType::PointerMapped {
                let target = self.named(shape.target_lkey, pd);
                let (target_addr, target_len) = target.map_or((0, 0), |r| (r.addr, r.len));
                set.records = Some(Records { target_addr, target_len, low, high });
            }
            if count == 0 {
                ranges.clear();
            }
        }
        set.cut();
        Ok((set, ranges))
    }

    /// A region with kinds of columns, behind its header and shape.
    fn kinds(
        &self,
        reader: &mut Reader,
        kind: RegionType,
        header: RegionHeader,
        shape: RegionShape,
        pd: u32,
    ) -> Result<(Set, Vec<Range>), Stop> {
        let (addr, count, lkey) = (header.addr, header.count, header.lkey);
        let chase = shape.flags & shape_flags::CHASE != 0;
        let first = shape.flags >> shape_flags::FIRST_BIT_SHIFT;
        let known = shape_flags::COLUMN_KINDS | shape_flags::CHASE;
        let good = (1..=16).contains(&shape.elements)
            && shape.flags & !known & 15 == 0
            && first < if kind == RegionType::Bitmapped { 8 } else { 1 }
            && (!chase || kind == RegionType::PointerMapped)
            && (shape.period != 0) == (kind == RegionType::Strided)
            && (shape.target_lkey == 0 || kind == RegionType::PointerMapped);
        if !good {
            return Err(Stop::Shape);
        }
        let mut set = Set { kind: kind as u8, addr, count, ..Set::default() };
        let mut special = Special { pd, first: first as u8, period: shape.period, chain: None };
        let mut ranges = Vec::new();
        let listed = match kind {
            RegionType::Bitmapped => (u128::from(count) + u128::from(first)).div_ceil(8),
            RegionType::PointerMapped => u128::from(count) * 8,
            _ => 0,
        };
        if kind != RegionType::Strided {
            ranges.push(Range { lkey, start: addr.into(), len: listed });
        }
        if chase {
            let chain = Chain::decode(&reader.take()?);
            if !(1..=MAX_CHAIN).contains(&chain.limit) {
                return Err(Stop::Shape);
            }
            special.chain = Some(chain);
        }
        let (lanes, more) = self.entries(reader, kind, header, shape)?;
        ranges.extend(more);
        if kind == RegionType::PointerMapped {
            let target = self.named(shape.target_lkey, pd);
            let (target_addr, target_len) = target.map_or((0, 0), |r| (r.addr, r.len));
            let link = special.chain.map(|chain| u64::from(chain.next));
            let low = lanes.iter().map(|lane| lane.base).chain(link).min();
            let end = |lane: &Lane| u128::from(lane.base) + u128::from(lane.len);
            let ends = lanes.iter().map(end).chain(link.map(|link| u128::from(link) + 8));
            let (low, high) = (low.expect("a lane"), ends.max().expect("a lane"));
            set.records = Some(Records { target_addr, target_len, low, high });
        }
        if count == 0 {
            ranges.clear();
        }
        set.lanes = lanes;
        set.special = set.special(special);
        set.cut();
        Ok((set, ranges))
    }

    /// The elements of a region with kinds, and the memory that they cover.
    fn entries(
        &self,
        reader: &mut Reader,
        kind: RegionType,
        header: RegionHeader,
        shape: RegionShape,
    ) -> Result<(Vec<Lane>, Vec<Range>), Stop> {
        let count = u128::from(header.count);
        let (mut lanes, mut ranges) = (Vec::new(), Vec::new());
        for _ in 0..shape.elements {
            let element = KindElement::decode(&reader.take()?);
            let of = ElementSource::decode(&reader.take()?);
            let (width, log) = (element.width, element.log_entry);
            let none = (of.addr, of.count, of.lkey) == (0, 0, 0);
            // Its bytes, and those to the next row's of a column.
            let (good, len, step) = match ElementKind::from_code(element.kind) {
                Some(ElementKind::Fixed) => (log == 0 && none && width > 0, width, width),
                Some(ElementKind::Bits) => {
                    (log == 0 && none && width < 8 && kind == RegionType::Bitmapped, 1, 0)
                }
                Some(ElementKind::Offsets) => {
                    ((2..=3).contains(&log) && width == 0 && of.count == 0, 2 << log, 1 << log)
                }
                Some(ElementKind::Views) => {
                    (log == 0 && width == 0 && of.count <= MAX_VIEW_BUFFERS, 16, 16)
                }
                Some(ElementKind::Dictionary) => (log <= 3 && width > 0, 1 << log, 1 << log),
                None => (false, 0, 0),
            };
            if !good || (element.lkey != 0 && kind != RegionType::Bitmapped) {
                return Err(Stop::Shape);
            }
            let (offset, bytes) = (element.offset, u128::from(len));
            let before = count.saturating_sub(1);
            let (base, step) = match kind {
                RegionType::Bitmapped => (offset, step.into()),
                RegionType::PointerMapped => (offset, 0),
                _ => (header.addr.wrapping_add(offset), shape.period),
            };
            let start = match kind {
                RegionType::Bitmapped => u128::from(offset),
                _ => u128::from(header.addr) + u128::from(offset),
            };
            let bits = element.kind == ElementKind::Bits as u8;
            let len_of_all = match bits {
                true => (u128::from(width) + count).div_ceil(8),
                false => before * u128::from(step) + bytes,
            };
            let lkey = if kind == RegionType::Bitmapped { element.lkey } else { header.lkey };
            let mut add = |lkey, start, len| {
                if count > 0 {
                    ranges.push(Range { lkey, start, len });
                }
            };
            if kind != RegionType::PointerMapped {
                add(lkey, start, len_of_all);
            }
            let values = u128::from(of.count);
            match ElementKind::from_code(element.kind) {
                Some(ElementKind::Views) if of.count > 0 => {
                    add(of.lkey, of.addr.into(), values * 16);
                }
                Some(ElementKind::Dictionary) if of.count > 0 => {
                    add(of.lkey, of.addr.into(), values * u128::from(width));
                }
                _ => {}
            }
            let offsets = element.kind == ElementKind::Offsets as u8;
            let source = Source {
                kind: element.kind,
                log,
                width,
                addr: of.addr,
                number: if offsets { of.lkey } else { of.count },
            };
            lanes.push(Lane { base, step, len, source });
        }
        Ok((lanes, ranges))
    }

    /// The memory region of that key, if a queue of that protection domain may use it.
    fn named(&self, lkey: u32, pd: u32) -> Option<&MemoryRegionEntry> {
        let entry = &self.regions[lkey as usize % self.regions.len()];
        (entry.valid == 1 && entry.lkey == lkey && entry.pd == pd).then_some(entry)
    }

    fn covers(&self, range: &Range, pd: u32) -> bool {
        self.named(range.lkey, pd).is_some_and(|entry| {
            let first = u128::from(entry.addr);
            range.start >= first && range.start + range.len <= first + u128::from(entry.len)
        })
    }
}

/// The function of a partitioned region and its keys, and the memory that they need. Refused is also what the card
/// does not have: keys that are bytes or lead elsewhere, and ranges of numbers of 16 B.
fn keys(reader: &mut Reader, header: RegionHeader) -> Result<(Function, Vec<Range>), Stop> {
    let head = PartitionFunction::decode(&reader.take()?);
    let code = PartitionBy::from_code(head.function).ok_or(Stop::Shape)?;
    let range = code == PartitionBy::Range;
    let (most_keys, most) =
        if range { (1, MAX_SPLITTERS + 1) } else { (MAX_ELEMENTS as u8, MAX_PARTITIONS) };
    let splits = range && head.partitions > 1;
    let good = (1..=most_keys).contains(&head.keys)
        && (1..=most).contains(&head.partitions)
        && head.group > 0
        && head.reserved == 0
        && (!range || head.seed == 0)
        && (splits || (header.addr, header.lkey) == (0, 0));
    if !good {
        return Err(Stop::Shape);
    }
    let PartitionFunction { partitions, group, seed, .. } = head;
    let mut function = Function { range, partitions, group, seed, keys: Vec::new() };
    let mut ranges = Vec::new();
    let mut add = |lkey, start: u64, len| ranges.push(Range { lkey, start: start.into(), len });
    let rows = u128::from(header.count);
    for _ in 0..head.keys {
        let entry = KindElement::decode(&reader.take()?);
        let bytes = match ElementKind::from_code(entry.kind) {
            Some(ElementKind::Fixed) if matches!(entry.width, 1 | 2 | 4 | 8 | 16) => {
                Some(entry.width)
            }
            Some(ElementKind::Bits) if entry.width < 8 => None,
            _ => return Err(Stop::Shape),
        };
        if entry.log_entry != 0 {
            return Err(Stop::Shape);
        }
        if splits {
            let len = u128::from(partitions - 1) * u128::from(bytes.unwrap_or(0));
            add(header.lkey, header.addr, len);
        }
        let of = ElementSource::decode(&reader.take()?);
        if (of.addr, of.count, of.lkey) != (0, 0, 0) {
            return Err(Stop::Shape);
        }
        let bits = |first: u128| (first + rows).div_ceil(8);
        let len = bytes.map_or(bits(entry.width.into()), |bytes| rows * u128::from(bytes));
        add(entry.lkey, entry.offset, len);
        let key = PartitionKey::decode(&reader.take()?);
        let number = matches!(bytes, Some(1 | 2 | 4 | 8));
        let known = |known: KeyType| key.key_type == known as u8;
        let good = (known(KeyType::Integer) && number)
            || (known(KeyType::Unsigned) && number && range)
            || (known(KeyType::Float) && matches!(bytes, Some(4 | 8)))
            || (known(KeyType::Boolean) && matches!(bytes, None | Some(1)) && !range)
            || (known(KeyType::Decimal) && bytes == Some(16) && !range);
        let nullable = key.has_validity == 1;
        if !good
            || key.reserved != 0
            || (!nullable && (key.validity, key.lkey, key.first) != (0, 0, 0))
        {
            return Err(Stop::Shape);
        }
        if nullable {
            add(key.lkey, key.validity, bits(key.first.into()));
        }
        function.keys.push(Key {
            addr: entry.offset,
            bytes,
            first: if bytes.is_none() { entry.width as u8 } else { 0 },
            key_type: key.key_type,
            validity: nullable.then_some((key.validity, key.first)),
        });
    }
    Ok((function, ranges))
}

/// What a good entry says.
struct Decoded {
    dests: Vec<Dest>,
    address: Option<AddressHandle>,
    function: Option<Function>,
}

struct Range {
    lkey: u32,
    start: u128,
    len: u128,
}

/// Why a region or a destination cannot be read on.
enum Stop {
    Shape,
    Unread,
}

impl Stop {
    fn failure(self, dest: usize, qp: Option<u32>) -> Failure {
        match self {
            Self::Shape => Failure { status: OPERATION, dest, qp },
            Self::Unread => Failure { status: OPERATION, dest: 0, qp: None },
        }
    }
}

struct Reader<'a> {
    batch: &'a Batch,
    next: usize,
    end: usize,
}

impl Reader<'_> {
    /// Where the request's datagrams go; a time to live of 0 stands for the usual one.
    fn address(&mut self) -> Result<AddressHandle, Failure> {
        let mut bytes = Vec::new();
        for _ in 0..AddressHandle::SIZE / GRANULE {
            bytes.extend(self.take().map_err(|stop| stop.failure(0, None))?);
        }
        let handle = AddressHandle::decode(&bytes);
        let good = handle.dest_qpn < 1 << 24 && (handle.reserved, handle.reserved2) == (0, 0);
        if !good {
            return Err(Failure { status: OPERATION, dest: 0, qp: None });
        }
        Ok(AddressHandle { ttl: if handle.ttl == 0 { TTL } else { handle.ttl }, ..handle })
    }

    fn take(&mut self) -> Result<[u8; GRANULE], Stop> {
        if self.next == self.end {
            return Err(Stop::Shape);
        }
        if self.batch.unread.contains(&(self.next / 4)) {
            return Err(Stop::Unread);
        }
        self.next += 1;
        let bytes = &self.batch.bytes[(self.next - 1) * GRANULE..][..GRANULE];
        Ok(bytes.try_into().expect("a granule"))
    }
}
