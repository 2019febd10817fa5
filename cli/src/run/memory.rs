//! A job's buffers in memory that the card can read.

use std::ops::Range;

use libdrdma::{
    ColumnKind, KeyColumn, KindColumn, KindRows, MemoryRegion, MemoryRegionError, PartitionId,
    PartitionMaker, PartitionedRegion, ProtectionDomain, Region, RegionError,
};

use crate::{
    job::{
        Buffer, Chase, Column, Contents, Extent, Function, Job, Key, Kind, PartitionBy,
        Partitioned, Place, Region as JobRegion, have_kinds,
    },
    placement::{Placement, RecordKey, record_key},
};

/// A key that no memory region has.
const NO_KEY: u32 = u32::MAX;

/// All buffers, each at its place in one arena, with a key of its own; the
/// arena's key spans them all.
#[derive(Debug)]
pub struct Memory<'a> {
    contents: &'a [Buffer],
    placement: Placement,
    arena: MemoryRegion,
    /// `None` for an empty buffer: there is no memory region of 0 bytes.
    buffers: Vec<Option<MemoryRegion>>,
    pointers: MemoryRegion,
    pointers_used: usize,
}

impl<'a> Memory<'a> {
    /// Places and fills all buffers of a job.
    ///
    /// # Errors
    /// No memory or no keys, or the card failed.
    pub fn new(job: &'a Job, pd: &ProtectionDomain) -> Result<Self, MemoryRegionError> {
        let placement = Placement::of(job);
        let arena = pd.allocate(placement.size())?;
        Self::in_arena(&job.buffers, placement, arena, pd, |arena, _, range| arena.alias(range))
    }

    /// Fills buffers in an arena in which they have places; `key` gives each its key, by its index and
    /// its bytes in the arena.
    ///
    /// # Errors
    /// No memory or no keys, or the card failed.
    pub fn in_arena(
        contents: &'a [Buffer],
        placement: Placement,
        mut arena: MemoryRegion,
        pd: &ProtectionDomain,
        key: impl Fn(&MemoryRegion, usize, Range<usize>) -> Result<MemoryRegion, MemoryRegionError>,
    ) -> Result<Self, MemoryRegionError> {
        for (i, buffer) in contents.iter().enumerate() {
            if let Contents::Bytes(bytes) = &buffer.contents {
                arena.write_at(placement.start(i), bytes);
            }
            for (offset, to) in &buffer.pointers {
                let addr = placement.addr(arena.addr(), *to);
                arena.write_at(placement.start(i) + *offset as usize, &addr.to_le_bytes());
            }
        }
        let mut buffers = Vec::with_capacity(contents.len());
        for (i, buffer) in contents.iter().enumerate() {
            let start = placement.start(i);
            buffers.push(match buffer.len() {
                0 => None,
                len => Some(key(&arena, i, start..start + len)?),
            });
        }
        let pointers = pd.allocate((8 * placement.pointers()).max(8))?;
        Ok(Self { contents, placement, arena, buffers, pointers, pointers_used: 0 })
    }

    /// Address and key of a place, as the card and its peers use them.
    pub fn told(&self, place: Place) -> (u64, u32) {
        (self.addr(place), self.lkey(place.buffer))
    }

    /// The present contents of a buffer.
    pub fn contents(&self, buffer: usize) -> Vec<u8> {
        let mut bytes = vec![0; self.contents[buffer].len()];
        self.arena.read_at(self.placement.start(buffer), &mut bytes);
        bytes
    }

    /// The present bytes of a part of a buffer.
    pub fn bytes(&self, base: Place, len: u32) -> Vec<u8> {
        let mut bytes = vec![0; len as usize];
        self.arena.read_at(self.placement.start(base.buffer) + base.offset as usize, &mut bytes);
        bytes
    }

    /// A further key to a part of a buffer, made by `key` from its bytes in the arena.
    ///
    /// # Errors
    /// The error of `key`.
    pub fn part(
        &self,
        base: Place,
        len: u32,
        key: impl Fn(&MemoryRegion, Range<usize>) -> Result<MemoryRegion, MemoryRegionError>,
    ) -> Result<MemoryRegion, MemoryRegionError> {
        let start = self.placement.start(base.buffer) + base.offset as usize;
        key(&self.arena, start..start + len as usize)
    }

    fn addr(&self, place: Place) -> u64 {
        self.placement.addr(self.arena.addr(), place)
    }

    fn lkey(&self, buffer: usize) -> u32 {
        self.buffers[buffer].as_ref().map_or(NO_KEY, MemoryRegion::lkey)
    }

    /// Columns as libdrdma has them.
    pub fn columns(&self, columns: &[Column]) -> Vec<libdrdma::Column> {
        let column = |column: &Column| libdrdma::Column {
            addr: self.addr(column.base),
            width: column.width,
            lkey: self.lkey(column.base.buffer),
        };
        columns.iter().map(column).collect()
    }

    /// The partitioned region as libdrdma has it, whether inside its buffers or not; its ids
    /// have the width of `I`.
    ///
    /// # Errors
    /// The shape is not possible; job files exclude that.
    pub fn partitioned<I: PartitionId>(
        &mut self,
        region: &Partitioned,
    ) -> Result<PartitionedRegion<'static, I>, RegionError> {
        let (ids, lkey) = (self.addr(region.ids), self.lkey(region.ids.buffer));
        if have_kinds(&region.columns) {
            let columns = self.kind_columns(&region.columns);
            return PartitionedRegion::unchecked_kinds(ids, lkey, region.rows, &columns);
        }
        PartitionedRegion::unchecked(ids, lkey, region.rows, &self.columns(&region.columns))
    }

    /// Like [`partitioned`](Self::partitioned), for a region whose partitions are made from keys.
    ///
    /// # Errors
    /// The shape is not possible; job files exclude that.
    pub fn partitioned_by(
        &mut self,
        region: &Partitioned,
        by: &PartitionBy,
    ) -> Result<PartitionedRegion<'static, u16>, RegionError> {
        let (partitions, seed) = (by.partitions, by.seed);
        let maker = match by.function {
            Function::Murmur3 => PartitionMaker::Murmur3 { partitions, seed },
            // Without splitters there is only one partition.
            Function::Range if partitions == 1 => {
                PartitionMaker::Range { splitters: 0, lkey: 0, count: 0 }
            }
            Function::Range => {
                let (splitters, lkey) = self.told(region.ids);
                PartitionMaker::Range { splitters, lkey, count: partitions - 1 }
            }
        };
        let columns: Vec<Column> = by.keys.iter().map(|key| key.column.clone()).collect();
        let of_keys = self.kind_columns(&columns).into_iter().zip(&by.keys);
        let key = |(column, key): (KindColumn, &Key)| {
            let validity = key.validity.map(|(place, first)| {
                let (addr, lkey) = self.told(place);
                (addr, lkey, first)
            });
            KeyColumn { column, key_type: key.key_type, validity }
        };
        let keys: Vec<KeyColumn> = of_keys.map(key).collect();
        let columns = self.kind_columns(&region.columns);
        PartitionedRegion::unchecked_by(&maker, by.group, &keys, region.rows, &columns)
    }

    /// The region as libdrdma has it, whether inside its buffers or not.
    ///
    /// # Errors
    /// The shape is not possible; job files exclude that.
    pub fn region(&mut self, region: &JobRegion) -> Result<Region<'static>, RegionError> {
        if region.has_kinds() {
            return self.kind_region(region);
        }
        match region {
            &JobRegion::Contiguous { base, len } => {
                let lkey = self.lkey(base.buffer);
                Ok(Region::unchecked_contiguous(self.addr(base), len, lkey))
            }
            JobRegion::Strided { base, period, count, pattern } => Region::unchecked_strided(
                self.addr(*base),
                self.lkey(base.buffer),
                *period,
                *count,
                &extents(pattern),
            ),
            JobRegion::Bitmapped { bitmap, rows, columns, fetch_rows, .. } => {
                let columns = self.columns(columns);
                let place = |place: Place| (self.addr(place), self.lkey(place.buffer));
                let ((addr, lkey), fetch_rows) = (place(*bitmap), fetch_rows.map(place));
                Region::unchecked_bitmapped_with(addr, lkey, *rows, &columns, fetch_rows)
            }
            JobRegion::PointerMapped { pointers, pattern, .. } => {
                let (at, target) = self.pointers(pointers, pattern);
                let (lkey, count) = (self.pointers.lkey(), pointers.len() as u32);
                Region::unchecked_pointer_mapped(at, lkey, count, target, &extents(pattern))
            }
        }
    }

    /// Writes an array of pointers; returns its address, and the key of the records.
    fn pointers(&mut self, pointers: &[Place], pattern: &[Extent]) -> (u64, u32) {
        let at = self.pointers.addr() + self.pointers_used as u64;
        for &place in pointers {
            self.write_word(self.addr(place));
        }
        let target = match record_key(self.contents, pointers, pattern) {
            RecordKey::Buffer(buffer) => self.lkey(buffer),
            RecordKey::All => self.arena.lkey(),
        };
        (at, target)
    }

    fn write_word(&mut self, word: u64) {
        self.pointers.write_at(self.pointers_used, &word.to_le_bytes());
        self.pointers_used += 8;
    }

    /// A region whose elements or bitmap have kinds.
    fn kind_region(&mut self, region: &JobRegion) -> Result<Region<'static>, RegionError> {
        let (rows, columns) = match region {
            &JobRegion::Contiguous { base, len } => {
                return Ok(Region::unchecked_contiguous(
                    self.addr(base),
                    len,
                    self.lkey(base.buffer),
                ));
            }
            JobRegion::Strided { base, period, count, pattern } => {
                let (addr, lkey) = self.told(*base);
                let rows = KindRows::Strided { addr, lkey, period: *period, count: *count };
                (rows, self.kind_extents(pattern))
            }
            JobRegion::Bitmapped { bitmap, first, rows, columns, .. } => {
                let (bitmap, lkey) = self.told(*bitmap);
                let rows = KindRows::Bitmapped { bitmap, lkey, first: *first, rows: *rows };
                (rows, self.kind_columns(columns))
            }
            JobRegion::PointerMapped { pointers, pattern, chase } => {
                let (at, target_lkey) = self.pointers(pointers, pattern);
                let (lkey, count) = (self.pointers.lkey(), pointers.len() as u32);
                let rows = match *chase {
                    None => KindRows::PointerMapped { pointers: at, lkey, count, target_lkey },
                    Some(Chase { next, end, limit }) => {
                        let pointers = at;
                        KindRows::Chains { pointers, lkey, count, target_lkey, next, end, limit }
                    }
                };
                (rows, self.kind_extents(pattern))
            }
        };
        Region::unchecked_kinds(rows, &columns)
    }

    fn kind_columns(&mut self, columns: &[Column]) -> Vec<KindColumn> {
        let column = |column: &Column| {
            let (addr, lkey) = self.told(column.base);
            KindColumn { addr, lkey, kind: self.kind(&column.kind, column.width) }
        };
        columns.iter().map(column).collect()
    }

    fn kind_extents(&mut self, pattern: &[Extent]) -> Vec<KindColumn> {
        let extent = |extent: &Extent| {
            let kind = self.kind(&extent.kind, extent.len);
            KindColumn { addr: extent.offset, lkey: 0, kind }
        };
        pattern.iter().map(extent).collect()
    }

    /// A kind with entries of that width; writes the table of the buffers of views.
    fn kind(&mut self, kind: &Kind, width: u32) -> ColumnKind {
        match kind {
            Kind::Fixed => ColumnKind::Fixed { width },
            Kind::Bits { first } => ColumnKind::Bits { first: *first },
            Kind::Varlen { data } => {
                let (data, lkey) = self.told(*data);
                ColumnKind::Offsets { width: width as u8, data, lkey }
            }
            Kind::Views { buffers } => {
                let table = self.pointers.addr() + self.pointers_used as u64;
                for buffer in buffers {
                    let (addr, lkey) = self.told(buffer.base);
                    self.write_word(addr);
                    self.write_word(u64::from(lkey) << 32 | u64::from(buffer.len));
                }
                let (lkey, count) = (self.pointers.lkey(), buffers.len() as u32);
                ColumnKind::Views { table, count, lkey }
            }
            Kind::Dictionary { values, width: value, count } => {
                let (values, lkey) = self.told(*values);
                let (index, count) = (width as u8, *count);
                ColumnKind::Dictionary { index, values, width: *value, count, lkey }
            }
        }
    }
}

fn extents(pattern: &[Extent]) -> Vec<libdrdma::Extent> {
    pattern.iter().map(|e| libdrdma::Extent { offset: e.offset, len: e.len }).collect()
}
