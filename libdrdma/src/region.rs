//! Regions: descriptions of the bytes to send, instead of lists of them (D-RDMA sections 3.1 and
//! 3.3).

use std::{fmt, marker::PhantomData};

use drdma_abi::work_request::{
    Element, GRANULE, MAX_ELEMENTS, RegionHeader, RegionShape, RegionType, shape_flags,
};

use crate::{
    Features, MemoryRegion,
    column_writes::Plain,
    encode::{field, words},
    memory::Hold,
};

mod bitmapped;
mod columns;
mod contiguous;
mod error;
mod fragments;
mod keys;
mod kinds;
mod partitioned;
mod pointer_mapped;
mod strided;
mod values;

pub use bitmapped::Bitmapped;
pub use contiguous::Contiguous;
pub use error::{Part, RegionError};
pub use fragments::Fragments;
pub use keys::{KeyColumn, PartitionKeys, PartitionMaker};
pub use kinds::{ColumnKind, KindColumn, KindRows};
pub use partitioned::{PartitionId, Partitioned, PartitionedRegion};
pub use pointer_mapped::PointerMapped;
pub use strided::Strided;
pub use values::{Values, ViewTable};

/// Words of the longest region: header, shape, 16 elements.
const MAX_WORDS: usize = (2 + MAX_ELEMENTS) * GRANULE / 8;

/// A region's description: the words that are copied into the ring.
#[derive(Clone, Copy)]
struct Words {
    words: [u64; MAX_WORDS],
    used: u8,
}

impl Words {
    #[inline]
    fn start(addr: u64, count: u32, lkey: u32) -> Self {
        let mut words = Self { words: [0; MAX_WORDS], used: 0 };
        words.push(words!(RegionHeader { addr: addr, count: count, lkey: lkey }));
        words
    }

    #[inline]
    fn push(&mut self, words: [u64; 2]) {
        let at = usize::from(self.used);
        self.words[at..at + 2].copy_from_slice(&words);
        self.used += 2;
    }

    #[inline]
    fn shape(&mut self, period: u64, target_lkey: u32, elements: usize) {
        self.flagged_shape(period, target_lkey, elements, 0);
    }

    #[inline]
    fn flagged_shape(&mut self, period: u64, target_lkey: u32, elements: usize, flags: u16) {
        let elements = elements as u16;
        self.push(words!(RegionShape {
            period: period,
            target_lkey: target_lkey,
            elements: elements,
            flags: flags
        }));
    }

    #[inline]
    fn element(&mut self, offset: u64, len: u32, lkey: u32) {
        self.push(words!(Element { offset: offset, len: len, lkey: lkey }));
    }

    #[inline]
    fn as_slice(&self) -> &[u64] {
        &self.words[..usize::from(self.used)]
    }
}

/// A region, ready to be posted any number of times: the words that are copied into the ring. It
/// borrows its memory regions, or keeps them: [`Memory`](crate::Memory).
///
/// It is made by [`Contiguous`], [`Strided`], [`Bitmapped`] and [`PointerMapped`], which check it,
/// or by the `unchecked` functions.
#[derive(Clone)]
pub struct Region<'m> {
    words: Words,
    kind: RegionType,
    /// All granules of the region, if its elements have kinds; `words` has no element then.
    kinds: Option<kinds::Granules>,
    /// Number of the protection domain, or [`UNCHECKED`].
    pd: u32,
    /// Shared memory of the region.
    pub(crate) hold: Hold,
    memory: PhantomData<&'m MemoryRegion>,
}

/// Number that stands for the protection domain of regions that are not checked.
const UNCHECKED: u32 = 0;

impl fmt::Debug for Region<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Region")
            .field("type", &self.kind)
            .field("words", &self.words())
            .finish_non_exhaustive()
    }
}

impl Region<'_> {
    /// Type of the region.
    #[inline]
    pub fn region_type(&self) -> RegionType {
        self.kind
    }

    /// Length in bytes of a contiguous region; `None` of others.
    #[inline]
    pub(crate) fn contiguous_bytes(&self) -> Option<u32> {
        let words = self.words();
        (self.kind == RegionType::Contiguous)
            .then(|| field!(RegionHeader.count in |at: usize| words[at]) as u32)
    }

    /// Size in bytes of the region's description in a work request.
    #[inline]
    pub fn descriptor_len(&self) -> usize {
        8 * self.words().len()
    }

    #[inline]
    pub(crate) fn words(&self) -> &[u64] {
        match &self.kinds {
            None => self.words.as_slice(),
            Some(kinds) => &kinds.words,
        }
    }

    /// Rows and elements of a strided or bitmapped region whose elements have no kinds; `None` of
    /// others.
    pub(crate) fn plain(&self) -> Option<Plain> {
        let plain = matches!(self.kind, RegionType::Strided | RegionType::Bitmapped);
        (plain && !self.has_kinds()).then(|| Plain::of(self.words()))
    }

    /// True if elements of the region have kinds.
    #[inline]
    pub(crate) fn has_kinds(&self) -> bool {
        self.kinds.is_some()
    }

    /// Features that the card needs to send the region.
    #[inline]
    pub(crate) fn needs(&self) -> Features {
        self.kinds.as_ref().map_or(Features::empty(), |kinds| kinds.needs)
    }

    /// Bytes of all rows of the region; of a bitmapped one, with every row selected.
    pub(crate) fn most_bytes(&self) -> u64 {
        let words = self.words();
        let count = field!(RegionHeader.count in |at: usize| words[at]);
        let elements = match self.kind {
            RegionType::Contiguous => return count,
            _ => &words[(RegionHeader::SIZE + RegionShape::SIZE) / 8..],
        };
        let len = |element: &[u64]| field!(Element.len in |at: usize| element[at]);
        let row: u64 = elements.chunks_exact(Element::SIZE / 8).map(len).sum();
        row.saturating_mul(count)
    }

    /// True if a queue of protection domain `pd` may send the region.
    #[inline]
    pub(crate) fn belongs_to(&self, pd: u32) -> bool {
        self.pd == pd || self.pd == UNCHECKED
    }

    #[inline]
    fn start(kind: RegionType, pd: u32, addr: u64, count: u32, lkey: u32) -> Self {
        let (words, hold) = (Words::start(addr, count, lkey), Hold::Nothing);
        Self { words, kind, kinds: None, pd, hold, memory: PhantomData }
    }

    #[inline]
    fn shape(&mut self, period: u64, target_lkey: u32, elements: usize) {
        self.words.shape(period, target_lkey, elements);
    }

    /// Writes the shape of a bitmapped region, with the address and the key of its fetch rows.
    #[inline]
    fn selecting_shape(&mut self, fetch_rows: Option<(u64, u32)>, columns: usize) {
        match fetch_rows {
            None => self.words.shape(0, 0, columns),
            Some((addr, lkey)) => {
                self.words.flagged_shape(addr, lkey, columns, shape_flags::FETCH_ROWS);
            }
        }
    }

    #[inline]
    fn element(&mut self, offset: u64, len: u32, lkey: u32) {
        self.words.element(offset, len, lkey);
    }
}

/// A run of bytes relative to the start of a period or record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Bytes from the start of the period or record.
    pub offset: u64,
    /// Length in bytes.
    pub len: u32,
}

/// A column as the card addresses it, for [`Region::unchecked_bitmapped`] and
/// [`PartitionedRegion::unchecked`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The address of row 0's value.
    pub addr: u64,
    /// Bytes of one value.
    pub width: u32,
    /// The local key of the column's memory.
    pub lkey: u32,
}

/// Regions that libdrdma does not check: any address under any key, without a borrow. The card
/// checks them against the memory regions that it knows, and refuses the request with a status
/// (`local_protection_error`, say). They read whatever the memory holds at that time.
///
/// ```
/// # use libdrdma::network::{Network, PeerConfig};
/// # use libdrdma::{Context, Options, QueuePairAttributes, Transport, WorkRequest};
/// # let (mac, ip) = ("02:00:00:00:00:01".parse()?, [10, 0, 0, 1].into());
/// # let network = Network::new();
/// # let red = PeerConfig::new(Transport::Rc, 0x0200_0000_0002, 0x0a00_0002, 33, 17);
/// # let peer = network.add_peer(red);
/// # let card = libdrdma::open_on("soft:", &network)?;
/// # let context = Context::open(card, Options::new(mac, ip))?;
/// # let pd = context.protection_domain();
/// # let cq = context.completion_queue().build()?;
/// use libdrdma::{Region, Status};
///
/// # let mut qp = pd.queue_pair(&cq).qpn(17).build()?;
/// # let attributes = QueuePairAttributes::new().path_mtu(1024).dest_qpn(33).start_psn(0);
/// # let attributes = attributes.dest_mac("02:00:00:00:00:02".parse()?);
/// # qp.connect(&attributes.dest_ip([10, 0, 0, 2].into()))?;
/// // Nobody knows this key.
/// let regions = [Region::unchecked_contiguous(0xdead_0000, 64, 0x12345)];
/// qp.post_send(&WorkRequest::new(1).regions(&regions))?;
/// let completions = cq.wait(1, std::time::Duration::from_secs(1))?;
/// assert_eq!(completions[0].status, Status::LocalProtectionError);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Region<'static> {
    /// A contiguous region: `len` bytes at `addr`.
    #[inline]
    pub fn unchecked_contiguous(addr: u64, len: u32, lkey: u32) -> Self {
        Self::start(RegionType::Contiguous, UNCHECKED, addr, len, lkey)
    }

    /// A strided region: `count` periods of `period` bytes from `addr`.
    ///
    /// # Errors
    /// `RegionError::Elements` for more than 16 extents.
    pub fn unchecked_strided(
        addr: u64,
        lkey: u32,
        period: u64,
        count: u32,
        pattern: &[Extent],
    ) -> Result<Self, RegionError> {
        at_most(MAX_ELEMENTS, pattern.len(), strided::NAME, "extents")?;
        let mut region = Self::start(RegionType::Strided, UNCHECKED, addr, count, lkey);
        region.shape(period, 0, pattern.len());
        pattern.iter().for_each(|extent| region.element(extent.offset, extent.len, 0));
        Ok(region)
    }

    /// A bitmapped region: the rows that the `rows` bits at `bitmap` select.
    ///
    /// # Errors
    /// `RegionError::Elements` for more than 16 columns.
    pub fn unchecked_bitmapped(
        bitmap: u64,
        lkey: u32,
        rows: u32,
        columns: &[Column],
    ) -> Result<Self, RegionError> {
        Self::unchecked_bitmapped_with(bitmap, lkey, rows, columns, None)
    }

    /// Like [`unchecked_bitmapped`](Self::unchecked_bitmapped), with fetch rows
    /// ([`Bitmapped::fetch_rows`]): the address of their bitmap, and its local key.
    ///
    /// # Errors
    /// `RegionError::Elements` for more than 16 columns.
    pub fn unchecked_bitmapped_with(
        bitmap: u64,
        lkey: u32,
        rows: u32,
        columns: &[Column],
        fetch_rows: Option<(u64, u32)>,
    ) -> Result<Self, RegionError> {
        at_most(MAX_ELEMENTS, columns.len(), bitmapped::NAME, "columns")?;
        let mut region = Self::start(RegionType::Bitmapped, UNCHECKED, bitmap, rows, lkey);
        region.selecting_shape(fetch_rows, columns.len());
        columns.iter().for_each(|column| region.element(column.addr, column.width, column.lkey));
        Ok(region)
    }

    /// A pointer-mapped region: the pattern at each of `count` pointers at `pointers`.
    ///
    /// # Errors
    /// `RegionError::Elements` for more than 16 extents.
    pub fn unchecked_pointer_mapped(
        pointers: u64,
        lkey: u32,
        count: u32,
        target_lkey: u32,
        pattern: &[Extent],
    ) -> Result<Self, RegionError> {
        at_most(MAX_ELEMENTS, pattern.len(), pointer_mapped::NAME, "extents")?;
        let mut region = Self::start(RegionType::PointerMapped, UNCHECKED, pointers, count, lkey);
        region.shape(0, target_lkey, pattern.len());
        pattern.iter().for_each(|extent| region.element(extent.offset, extent.len, 0));
        Ok(region)
    }
}

fn at_most(
    limit: usize,
    given: usize,
    region: &'static str,
    what: &'static str,
) -> Result<(), RegionError> {
    if given > limit { Err(RegionError::Elements { region, what, given }) } else { Ok(()) }
}

/// Checks that a value fits 32 bits.
#[inline]
fn word(region: &'static str, what: Part, value: u64) -> Result<u32, RegionError> {
    u32::try_from(value).map_err(|_| RegionError::TooLarge { region, what, value })
}

/// Checks that a value fits 32 bits and is not 0.
#[inline]
fn positive(region: &'static str, what: Part, value: u64) -> Result<u32, RegionError> {
    if value == 0 { Err(RegionError::Zero { region, what }) } else { word(region, what, value) }
}

/// Checks that `len` bytes from `start` on are in a memory region of protection domain `pd`.
fn inside(
    region: &'static str,
    what: Part,
    memory: &MemoryRegion,
    pd: u32,
    start: u128,
    len: u128,
) -> Result<(), RegionError> {
    if start + len > memory.len() as u128 {
        return Err(outside(region, start, memory, what));
    }
    match memory.pd() == pd {
        true => Ok(()),
        false => Err(RegionError::ProtectionDomain { region, what }),
    }
}

/// Makes the error for bytes `start..` that reach beyond a memory region.
#[cold]
fn outside(region: &'static str, start: u128, memory: &MemoryRegion, part: Part) -> RegionError {
    let len = memory.len() as u64;
    RegionError::OutOfBounds { region, byte: start.max(len.into()), len, part }
}

/// Up to 16 items, kept in place; further ones are only counted.
#[derive(Clone, Debug)]
struct List<T> {
    items: [Option<T>; MAX_ELEMENTS],
    given: usize,
}

impl<T> List<T> {
    fn new() -> Self {
        Self { items: [const { None }; MAX_ELEMENTS], given: 0 }
    }

    #[inline]
    fn push(&mut self, item: T) {
        if let Some(place) = self.items.get_mut(self.given) {
            *place = Some(item);
        }
        self.given += 1;
    }

    fn iter(&self) -> impl Iterator<Item = &T> + '_ {
        self.items.iter().map_while(Option::as_ref)
    }

    /// Refuses an empty list and one that was too long.
    fn check(&self, region: &'static str, what: &'static str) -> Result<(), RegionError> {
        if self.given == 0 {
            return Err(RegionError::Elements { region, what, given: 0 });
        }
        at_most(MAX_ELEMENTS, self.given, region, what)
    }
}

/// A pattern's extents as given: offset and length.
type Pattern = List<(u64, u64)>;
