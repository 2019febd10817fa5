//! A job's memory and queue pairs as a card would see them, without a card.

use std::collections::HashMap;

use drdma_abi::{
    register::{MEMORY_REGIONS, MemoryRegionEntry, QUEUE_PAIRS},
    work_request::{Chain, Opcode},
};
use drdma_semantics::{
    checks::{Directory, QueuePair},
    keys::{self, PartitionBy, Validity},
    kinds::{self, Entry, Kinds, Selection},
    memory::{Fault, HostMemory},
    partitioned::Partitioned,
    region,
    request::{self, Request},
};

use libdrdma::optimizer::FetchPlan;

use crate::{
    job::{self, Chase, Column, Contents, Extent, Job, Kind, Place, Post, RowMask, have_kinds},
    placement::{Placement, RecordKey, record_key},
};

/// Address that the arena is assumed to have: like real ones, the start of a page.
const ARENA: u64 = 1 << 32;
/// Address that the pointer arrays are assumed to have.
const POINTERS: u64 = 1 << 50;
/// The key of the whole arena.
const ARENA_KEY: u32 = MEMORY_REGIONS.entries;
/// The key of the pointer arrays.
const POINTERS_KEY: u32 = MEMORY_REGIONS.entries + 1;

/// A job's memory as a card would see it.
#[derive(Debug)]
pub struct Image<'a> {
    job: &'a Job,
    placement: Placement,
    pointers: Vec<u8>,
    /// The bytes of buffers that hold addresses, by index.
    patched: HashMap<usize, Vec<u8>>,
}

/// A job's fetch plan as a request has it.
pub fn fetch_plan(plan: FetchPlan) -> request::FetchPlan {
    request::FetchPlan {
        log_max_read: plan.max_read().ilog2() as u8,
        merge_threshold: plan.merge_threshold() as u16,
    }
}

impl<'a> Image<'a> {
    /// The memory of a job.
    pub fn of(job: &'a Job) -> Self {
        let placement = Placement::of(job);
        let mut patched = HashMap::new();
        for (index, buffer) in job.buffers.iter().enumerate() {
            if buffer.pointers.is_empty() {
                continue;
            }
            let mut bytes = match &buffer.contents {
                Contents::Bytes(bytes) => bytes.clone(),
                Contents::Zeros(size) => vec![0; *size],
            };
            for (offset, to) in &buffer.pointers {
                let at = *offset as usize;
                bytes[at..at + 8].copy_from_slice(&placement.addr(ARENA, *to).to_le_bytes());
            }
            patched.insert(index, bytes);
        }
        Self { job, placement, pointers: Vec::new(), patched }
    }

    fn addr(&self, place: Place) -> u64 {
        self.placement.addr(ARENA, place)
    }

    /// The buffer that has an address, and the offset in it; `None` if there is no buffer.
    pub fn place(&self, addr: u64) -> Option<Place> {
        self.placement.place(addr.checked_sub(ARENA)?)
    }

    /// The work request that a post becomes.
    pub fn request(&mut self, post: &Post) -> Request {
        let mut destinations = Vec::with_capacity(post.destinations.len());
        for destination in &post.destinations {
            destinations.push(request::Destination {
                qp: destination.qp as u32,
                remote_addr: destination.remote_addr,
                rkey: destination.rkey,
                partition: destination.partition,
                layout: post.layout,
                remote_columns: destination.remote_columns.clone(),
                regions: match post.inline {
                    true => Vec::new(),
                    false => destination.regions.iter().map(|region| self.region(region)).collect(),
                },
            });
        }
        Request {
            wr_id: post.wr_id,
            opcode: post.op,
            imm: if Opcode::has_imm(post.op) { post.imm } else { 0 },
            row_mask: match post.row_mask {
                RowMask::Period => region::RowMask::Period,
                RowMask::Element => region::RowMask::Element,
            },
            rows_per_message: post.rows_per_message,
            signaled: post.signaled,
            fetch: post.fetch.map(fetch_plan),
            inline: post.inline.then(|| self.inline(post)),
            partitioned: post.partitioned.as_ref().map(|region| self.partitioned(region)),
            destinations,
        }
    }

    fn partitioned(&mut self, region: &job::Partitioned) -> Partitioned {
        let by = region.by.as_ref().map(|by| self.partition_by(by));
        let kinds = by.is_some() || have_kinds(&region.columns);
        let has_place = region
            .by
            .as_ref()
            .is_none_or(|by| by.function == job::Function::Range && by.partitions > 1);
        let (ids, lkey) = match has_place {
            true => (self.addr(region.ids), region.ids.buffer as u32),
            false => (0, 0),
        };
        Partitioned {
            ids,
            width: if by.is_some() { 0 } else { region.width as u64 },
            rows: region.rows,
            lkey,
            by,
            columns: if kinds { Vec::new() } else { self.columns(&region.columns) },
            entries: if kinds { self.column_entries(&region.columns) } else { Vec::new() },
        }
    }

    fn partition_by(&mut self, by: &job::PartitionBy) -> PartitionBy {
        let columns: Vec<Column> = by.keys.iter().map(|key| key.column.clone()).collect();
        let of_keys = self.column_entries(&columns).into_iter().zip(&by.keys);
        let key = |(entry, key): (Entry, &job::Key)| {
            let validity = key.validity.map(|(place, first)| Validity {
                bitmap: self.addr(place),
                lkey: place.buffer as u32,
                first,
            });
            keys::Key { entry, key_type: key.key_type, validity }
        };
        PartitionBy {
            keys: of_keys.map(key).collect(),
            function: match by.function {
                job::Function::Murmur3 => keys::Function::Murmur3 { seed: by.seed },
                job::Function::Range => keys::Function::Range,
            },
            partitions: by.partitions,
            group: by.group,
        }
    }

    /// The bytes of a post's regions, which are contiguous and inside their buffers.
    fn inline(&self, post: &Post) -> Vec<u8> {
        let mut payload = Vec::new();
        for region in post.destinations.iter().flat_map(|destination| &destination.regions) {
            if let &job::Region::Contiguous { base, len } = region {
                let (start, len) = (base.offset as usize, len as usize);
                match &self.job.buffers[base.buffer].contents {
                    Contents::Bytes(bytes) => payload.extend(&bytes[start..start + len]),
                    Contents::Zeros(_) => payload.resize(payload.len() + len, 0),
                }
            }
        }
        payload
    }

    fn columns(&self, columns: &[Column]) -> Vec<region::Column> {
        let column = |column: &Column| region::Column {
            base: self.addr(column.base),
            width: column.width,
            lkey: column.base.buffer as u32,
        };
        columns.iter().map(column).collect()
    }

    fn region(&mut self, region: &job::Region) -> region::Region {
        if region.has_kinds() {
            return region::Region::Kinds(self.kind_region(region));
        }
        match region {
            &job::Region::Contiguous { base, len } => {
                region::Region::Contiguous { addr: self.addr(base), len, lkey: base.buffer as u32 }
            }
            job::Region::Strided { base, period, count, pattern } => region::Region::Strided {
                base: self.addr(*base),
                period: *period,
                count: *count,
                lkey: base.buffer as u32,
                pattern: extents(pattern),
            },
            job::Region::Bitmapped { bitmap, rows, columns, fetch_rows, .. } => {
                region::Region::Bitmapped {
                    bitmap: self.addr(*bitmap),
                    rows: *rows,
                    lkey: bitmap.buffer as u32,
                    columns: self.columns(columns),
                    fetch_rows: fetch_rows.map(|place| region::FetchRows {
                        bitmap: self.addr(place),
                        lkey: place.buffer as u32,
                    }),
                }
            }
            job::Region::PointerMapped { pointers, pattern, .. } => {
                let (at, target_lkey) = self.pointers(pointers, pattern);
                region::Region::PointerMapped {
                    pointers: at,
                    count: pointers.len() as u32,
                    lkey: POINTERS_KEY,
                    target_lkey,
                    pattern: extents(pattern),
                }
            }
        }
    }

    /// Adds an array of pointers; returns its address, and the key of the records.
    fn pointers(&mut self, pointers: &[Place], pattern: &[Extent]) -> (u64, u32) {
        let at = POINTERS + self.pointers.len() as u64;
        for &pointer in pointers {
            let addr = self.addr(pointer);
            self.pointers.extend(addr.to_le_bytes());
        }
        let target_lkey = match record_key(&self.job.buffers, pointers, pattern) {
            RecordKey::Buffer(buffer) => buffer as u32,
            RecordKey::All => ARENA_KEY,
        };
        (at, target_lkey)
    }

    /// A region with an element, or a bitmap, of a kind that not every card knows.
    fn kind_region(&mut self, region: &job::Region) -> Kinds {
        match region {
            job::Region::Contiguous { .. } => unreachable!("it has no elements"),
            job::Region::Strided { base, period, count, pattern } => Kinds {
                rows: Selection::Periods {
                    base: self.addr(*base),
                    period: *period,
                    count: *count,
                    lkey: base.buffer as u32,
                },
                entries: self.extent_entries(pattern),
            },
            job::Region::Bitmapped { bitmap, first, rows, columns, .. } => Kinds {
                rows: Selection::Bitmap {
                    bitmap: self.addr(*bitmap),
                    first: *first,
                    rows: *rows,
                    lkey: bitmap.buffer as u32,
                },
                entries: self.column_entries(columns),
            },
            job::Region::PointerMapped { pointers, pattern, chase } => {
                let (at, target_lkey) = self.pointers(pointers, pattern);
                let (count, lkey) = (pointers.len() as u32, POINTERS_KEY);
                let rows = match *chase {
                    None => Selection::Pointers { pointers: at, count, lkey, target_lkey },
                    Some(Chase { next, end, limit }) => {
                        let chain = Chain { end, next, limit };
                        Selection::Chains { pointers: at, count, lkey, target_lkey, chain }
                    }
                };
                Kinds { rows, entries: self.extent_entries(pattern) }
            }
        }
    }

    fn column_entries(&mut self, columns: &[Column]) -> Vec<Entry> {
        let entry = |column: &Column| Entry {
            offset: self.addr(column.base),
            lkey: column.base.buffer as u32,
            kind: self.kind(&column.kind, column.width),
        };
        columns.iter().map(entry).collect()
    }

    fn extent_entries(&mut self, pattern: &[Extent]) -> Vec<Entry> {
        let entry = |extent: &Extent| Entry {
            offset: extent.offset,
            lkey: 0,
            kind: self.kind(&extent.kind, extent.len),
        };
        pattern.iter().map(entry).collect()
    }

    fn kind(&mut self, kind: &Kind, width: u32) -> kinds::Kind {
        let log_entry = width.ilog2() as u8;
        match kind {
            Kind::Fixed => kinds::Kind::Fixed { width },
            Kind::Bits { first } => kinds::Kind::Bits { first: *first },
            Kind::Varlen { data } => {
                let lkey = data.buffer as u32;
                kinds::Kind::Offsets { log_entry, data: self.addr(*data), lkey }
            }
            Kind::Views { buffers } => {
                let table = POINTERS + self.pointers.len() as u64;
                for buffer in buffers {
                    let addr = self.addr(buffer.base);
                    self.pointers.extend(addr.to_le_bytes());
                    self.pointers.extend(buffer.len.to_le_bytes());
                    self.pointers.extend((buffer.base.buffer as u32).to_le_bytes());
                }
                kinds::Kind::Views { table, count: buffers.len() as u32, lkey: POINTERS_KEY }
            }
            Kind::Dictionary { values, width, count } => kinds::Kind::Dictionary {
                log_entry,
                values: self.addr(*values),
                width: *width,
                count: *count,
                lkey: values.buffer as u32,
            },
        }
    }

    /// Names of buffers, by index.
    pub fn names(&self) -> HashMap<usize, &'a str> {
        self.job.buffers.iter().map(|buffer| buffer.name.as_str()).enumerate().collect()
    }
}

fn extents(pattern: &[Extent]) -> Vec<region::Extent> {
    pattern.iter().map(|e| region::Extent { offset: e.offset, len: e.len }).collect()
}

impl Directory for Image<'_> {
    fn memory_region(&self, lkey: u32) -> Option<MemoryRegionEntry> {
        let (addr, len) = match lkey {
            ARENA_KEY => (ARENA, self.placement.size()),
            POINTERS_KEY => (POINTERS, self.pointers.len()),
            buffer => {
                let (buffer, place) =
                    (buffer as usize, Place { buffer: buffer as usize, offset: 0 });
                (self.addr(place), self.job.buffers.get(buffer)?.len())
            }
        };
        Some(MemoryRegionEntry {
            addr,
            len: len as u64,
            lkey,
            valid: 1,
            ..MemoryRegionEntry::default()
        })
    }

    fn queue_pair(&self, qp: u32) -> Option<QueuePair> {
        debug_assert!(qp < QUEUE_PAIRS.entries);
        let qp = self.job.qps.get(qp as usize)?;
        Some(QueuePair { ready: true, error: false, transport: qp.transport, mtu: qp.mtu, pd: 0 })
    }
}

impl HostMemory for Image<'_> {
    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), Fault> {
        let fault = Fault { addr, len: out.len() };
        let copy = |bytes: &[u8], start: u64, out: &mut [u8]| {
            let start = usize::try_from(start).map_err(|_| fault)?;
            let end = start.checked_add(out.len()).ok_or(fault)?;
            out.copy_from_slice(bytes.get(start..end).ok_or(fault)?);
            Ok(())
        };
        if let Some(offset) = addr.checked_sub(POINTERS) {
            return copy(&self.pointers, offset, out);
        }
        let place = self.place(addr).ok_or(fault)?;
        if let Some(bytes) = self.patched.get(&place.buffer) {
            return copy(bytes, place.offset, out);
        }
        match &self.job.buffers[place.buffer].contents {
            Contents::Bytes(bytes) => copy(bytes, place.offset, out),
            Contents::Zeros(size) if place.offset + out.len() as u64 <= *size as u64 => {
                out.fill(0);
                Ok(())
            }
            Contents::Zeros(_) => Err(fault),
        }
    }
}
