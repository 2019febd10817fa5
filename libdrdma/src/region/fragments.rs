//! Fragments: the bytes that a region's rows are gathered from.

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

/// Size of a pointer in bytes.
const POINTER: usize = 8;
/// Number of words of a granule.
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
    /// [`RegionError::NotGiven`] if bitmap or pointers are in none of the memory regions of
    /// `memory`, [`RegionError::NoPlaces`] if columns have kinds.
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

    /// Number of rows, periods or pointers; length in bytes of a contiguous region.
    pub(crate) fn count(&self) -> u32 {
        Header::of(self.words()).count
    }

    /// Address of the region's bytes, its bitmap or its pointers.
    pub(crate) fn addr(&self) -> u64 {
        Header::of(self.words()).addr
    }

    /// Number of extents of its pattern, or of columns; 1 for a contiguous region.
    pub(crate) fn elements(&self) -> usize {
        match self.region_type() {
            RegionType::Contiguous => 1,
            _ => shape(self.words()).1.len(),
        }
    }

    /// Lanes of a row, if they lie equally far apart in all rows: the input of a
    /// [`ColumnPlacement`](crate::optimizer::ColumnPlacement). `None` for contiguous and
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
    /// Number of rows, that is, of ids.
    pub(crate) fn rows(&self) -> u32 {
        Header::of(self.words()).count
    }

    /// Lanes of the columns: the input of a [`ColumnPlacement`](crate::optimizer::ColumnPlacement).
    /// Empty if columns have kinds.
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
    /// [`RegionError::NotGiven`] if the ids are in none of the memory regions of `memory`,
    /// [`RegionError::NoPlaces`] if they are made from keys, or columns have kinds.
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

/// Returns the period, and offset and length of each element, of a region that has a shape.
fn shape(words: &[u64]) -> (u64, Vec<(u64, u32)>) {
    let load = |at: usize| move |word: usize| words[at + word];
    let elements = field!(RegionShape.elements in load(GRANULE_WORDS)) as usize;
    let element = |index: usize| {
        let at = (2 + index) * GRANULE_WORDS;
        (field!(Element.offset in load(at)), field!(Element.len in load(at)) as u32)
    };
    (field!(RegionShape.period in load(GRANULE_WORDS)), (0..elements).map(element).collect())
}

/// Returns the elements of a region that are columns.
fn columns(words: &[u64]) -> Vec<Lane> {
    let (_, pattern) = shape(words);
    pattern.into_iter().map(|(addr, len)| Lane::dense(addr, len.into())).collect()
}

/// Copies bytes at an address under a key; `None` if none of the given memory regions holds them.
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

/// Places of the rows.
#[derive(Clone, Debug)]
enum Rows {
    /// Rows lie one behind the other.
    Spaced { addr: u64, period: u64 },
    /// Rows are selected by the ones of a bitmap.
    Selected(Vec<u8>),
    /// Rows lie where pointers point to.
    Pointers(Vec<u8>),
}

/// The fragments of a region, made by [`Region::fragments`] and [`PartitionedRegion::fragments`].
#[derive(Clone, Debug)]
pub struct Fragments {
    rows: Rows,
    count: u64,
    /// Offset and length in bytes of each fragment of a row.
    pattern: Vec<(u64, u32)>,
    /// The next fragment: row, and index in the pattern.
    next: (u64, usize),
}

impl Fragments {
    fn new(rows: Rows, count: u32, pattern: Vec<(u64, u32)>) -> Self {
        Self { rows, count: count.into(), pattern, next: (0, 0) }
    }

    /// Returns the next row that is sent, at `row` or behind.
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
