//! The bytes that a region's rows are gathered from.

use drdma_abi::work_request::{Element, RegionHeader, RegionShape, RegionType};

use super::{
    Part, PartitionId, PartitionedRegion, Region, RegionError, bitmapped, partitioned,
    pointer_mapped,
};
use crate::{
    MemoryRegion,
    encode::field,
    optimizer::{Fragment, Lane},
};

/// Bytes of a pointer.
const POINTER: usize = 8;
/// Words of a granule.
const GRANULE_WORDS: usize = 2;

impl Region<'_> {
    /// The fragments that the card fetches for the region, row by row, in the order in which they
    /// are sent: what an [`Optimizer`](crate::optimizer::Optimizer) plans.
    ///
    /// `memory` must hold the memory region of the bitmap or of the pointers. They are copied, a bit
    /// a row or 8 B a row, so that the processor spends about as much time on each row as one that
    /// lists its values. For a large region that is the same everywhere, a few thousand of its
    /// fragments tell as much as all of them.
    ///
    /// # Errors
    /// Bitmap or pointers are in none of the memory regions of `memory`, or columns have kinds.
    pub fn fragments(&self, memory: &[&MemoryRegion]) -> Result<Fragments, RegionError> {
        if self.has_kinds() {
            return Err(RegionError::NoPlaces { region: "region with kinds of columns" });
        }
        let Header { addr, count, lkey } = Header::of(self.words());
        if self.region_type() == RegionType::Contiguous {
            let pattern = vec![(0, count)];
            return Ok(Fragments::new(Rows::Spaced { addr, period: 0 }, 1, pattern));
        }
        let (period, pattern) = shape(self.words());
        let copied = |region, what, bytes| {
            copy(memory, addr, lkey, bytes).ok_or(RegionError::NotGiven { region, what, addr })
        };
        let rows = match self.region_type() {
            RegionType::Contiguous | RegionType::Strided => Rows::Spaced { addr, period },
            RegionType::Bitmapped => {
                Rows::Selected(copied(bitmapped::NAME, Part::Bitmap, count.div_ceil(8) as usize)?)
            }
            RegionType::PointerMapped => {
                let bytes = count as usize * POINTER;
                Rows::Pointers(copied(pointer_mapped::NAME, Part::Pointers, bytes)?)
            }
        };
        Ok(Fragments::new(rows, count, pattern))
    }

    /// Rows, periods or pointers; bytes of a contiguous region.
    pub(crate) fn count(&self) -> u32 {
        Header::of(self.words()).count
    }

    /// Where it is, or its bitmap or its pointers are.
    pub(crate) fn addr(&self) -> u64 {
        Header::of(self.words()).addr
    }

    /// Extents of its pattern, or columns; a contiguous region is one.
    pub(crate) fn elements(&self) -> usize {
        match self.region_type() {
            RegionType::Contiguous => 1,
            _ => shape(self.words()).1.len(),
        }
    }

    /// The bytes of a row, which all rows have equally far apart: what a
    /// [`ColumnPlacement`](crate::optimizer::ColumnPlacement) is made of. `None` for contiguous and
    /// pointer-mapped regions.
    pub fn lanes(&self) -> Option<Vec<Lane>> {
        if self.has_kinds() {
            return None;
        }
        match self.region_type() {
            RegionType::Strided => {
                let addr = Header::of(self.words()).addr;
                let (step, pattern) = shape(self.words());
                let lane = |(offset, len): (u64, u32)| Lane {
                    addr: addr.wrapping_add(offset),
                    len: len.into(),
                    step,
                };
                Some(pattern.into_iter().map(lane).collect())
            }
            RegionType::Bitmapped => Some(columns(self.words())),
            RegionType::Contiguous | RegionType::PointerMapped => None,
        }
    }
}

impl<I: PartitionId> PartitionedRegion<'_, I> {
    /// Rows, that is, ids.
    pub(crate) fn rows(&self) -> u32 {
        Header::of(self.words()).count
    }

    /// The columns: what a [`ColumnPlacement`](crate::optimizer::ColumnPlacement) is made of.
    /// Empty if they have kinds.
    pub fn lanes(&self) -> Vec<Lane> {
        if self.has_kinds() { Vec::new() } else { columns(self.words()) }
    }

    /// The fragments that the card fetches for destinations of those partitions together, row by row:
    /// what an [`Optimizer`](crate::optimizer::Optimizer) plans. Rows with another id are not fetched.
    ///
    /// `memory` must hold the memory region of the ids, which are copied. For a region that is large
    /// and the same everywhere, a few thousand of its fragments say as much as all of them.
    ///
    /// ```
    /// # use libdrdma::network::Network;
    /// # use libdrdma::{Context, Options};
    /// # let (mac, ip) = ("02:00:00:00:00:01".parse()?, [10, 0, 0, 1].into());
    /// # let card = libdrdma::open("soft:")?;
    /// # let pd = Context::open(card, Options::new(mac, ip))?.protection_domain();
    /// use libdrdma::{Partitioned, optimizer::{CostTable, FetchPlan, Limits}};
    ///
    /// let (ids, values) = (pd.allocate(1000)?, pd.allocate(8000)?);
    /// let region = Partitioned::<u8>::new(&ids).rows(1000).column(&values, 0, 8).build()?;
    /// let fragments: Vec<_> = region.fragments(&[0, 1], &[&ids])?.collect();
    /// let costs = CostTable::affine(20.0, 0.07)?;
    /// let plan = FetchPlan::cheapest(&fragments, &costs, &Limits::default())?;
    /// # let _ = plan;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The ids are in none of the memory regions of `memory`, or are made from keys, or columns have kinds.
    pub fn fragments(
        &self,
        partitions: &[I],
        memory: &[&MemoryRegion],
    ) -> Result<Fragments, RegionError> {
        if self.has_kinds() {
            return Err(RegionError::NoPlaces { region: partitioned::NAME });
        }
        let Header { addr, count, lkey } = Header::of(self.words());
        let width = size_of::<I>();
        let (region, what) = (partitioned::NAME, Part::Ids);
        let ids = copy(memory, addr, lkey, count as usize * width)
            .ok_or(RegionError::NotGiven { region, what, addr })?;
        let mut is_sent = vec![false; 1 << 16];
        partitions.iter().for_each(|id| is_sent[usize::from((*id).into())] = true);
        let mut bits = vec![0; (count as usize).div_ceil(8)];
        for (row, id) in ids.chunks_exact(width).enumerate() {
            let id = id.iter().rev().fold(0, |id, byte| id << 8 | usize::from(*byte));
            bits[row / 8] |= u8::from(is_sent[id]) << (row % 8);
        }
        let (_, pattern) = shape(self.words());
        Ok(Fragments::new(Rows::Selected(bits), count, pattern))
    }
}

/// The fields of a region's header.
struct Header {
    addr: u64,
    count: u32,
    lkey: u32,
}

impl Header {
    fn of(words: &[u64]) -> Self {
        let load = |word: usize| words[word];
        Self {
            addr: field!(RegionHeader.addr in load),
            count: field!(RegionHeader.count in load) as u32,
            lkey: field!(RegionHeader.lkey in load) as u32,
        }
    }
}

/// The period, and offset and bytes of each element, of a region that has a shape.
fn shape(words: &[u64]) -> (u64, Vec<(u64, u32)>) {
    let load = |at: usize| move |word: usize| words[at + word];
    let elements = field!(RegionShape.elements in load(GRANULE_WORDS)) as usize;
    let element = |index: usize| {
        let at = (2 + index) * GRANULE_WORDS;
        (field!(Element.offset in load(at)), field!(Element.len in load(at)) as u32)
    };
    (field!(RegionShape.period in load(GRANULE_WORDS)), (0..elements).map(element).collect())
}

/// The elements of a region that are columns.
fn columns(words: &[u64]) -> Vec<Lane> {
    let (_, pattern) = shape(words);
    pattern.into_iter().map(|(addr, len)| Lane::dense(addr, len.into())).collect()
}

/// Bytes at an address under a key; `None` if no memory region given holds them.
fn copy(memory: &[&MemoryRegion], addr: u64, lkey: u32, bytes: usize) -> Option<Vec<u8>> {
    if bytes == 0 {
        return Some(Vec::new());
    }
    let offset_in = |region: &MemoryRegion| {
        let offset = usize::try_from(addr.checked_sub(region.addr())?).ok()?;
        let holds = region.lkey() == lkey && region.len().checked_sub(offset)? >= bytes;
        holds.then_some(offset)
    };
    let (region, offset) = memory.iter().find_map(|region| Some((region, offset_in(region)?)))?;
    let mut copy = vec![0; bytes];
    region.read_at(offset, &mut copy);
    Some(copy)
}

/// Where rows are.
#[derive(Clone, Debug)]
enum Rows {
    /// One behind the other.
    Spaced { addr: u64, period: u64 },
    /// Where a bitmap has a one.
    Selected(Vec<u8>),
    /// Where a pointer points to.
    Pointers(Vec<u8>),
}

/// The fragments of a region, made by [`Region::fragments`] and [`PartitionedRegion::fragments`].
#[derive(Clone, Debug)]
pub struct Fragments {
    rows: Rows,
    count: u64,
    /// Offset and bytes of each fragment of a row.
    pattern: Vec<(u64, u32)>,
    /// The next one: row and index in the pattern.
    next: (u64, usize),
}

impl Fragments {
    fn new(rows: Rows, count: u32, pattern: Vec<(u64, u32)>) -> Self {
        Self { rows, count: count.into(), pattern, next: (0, 0) }
    }

    /// Goes on to the next row that is sent, at `row` or behind.
    fn seek(&self, row: u64) -> u64 {
        match &self.rows {
            Rows::Spaced { .. } | Rows::Pointers(_) => row,
            Rows::Selected(bits) => (row..self.count)
                .find(|row| bits[*row as usize / 8] >> (row % 8) & 1 == 1)
                .unwrap_or(self.count),
        }
    }
}

impl Iterator for Fragments {
    type Item = Fragment;

    fn next(&mut self) -> Option<Fragment> {
        let (mut row, mut index) = self.next;
        if index == self.pattern.len() {
            (row, index) = (row + 1, 0);
        }
        if index == 0 {
            row = self.seek(row);
        }
        if row >= self.count {
            self.next = (self.count, 0);
            return None;
        }
        self.next = (row, index + 1);
        let (offset, len) = *self.pattern.get(index)?;
        let base = match &self.rows {
            Rows::Spaced { addr, period } => addr.wrapping_add(period.wrapping_mul(row)),
            Rows::Selected(_) => row.wrapping_mul(len.into()),
            Rows::Pointers(bytes) => {
                let at = row as usize * POINTER;
                u64::from_le_bytes(bytes[at..at + POINTER].try_into().expect("eight bytes"))
            }
        };
        Some(Fragment { addr: base.wrapping_add(offset), len: len.into() })
    }
}
