//! Partitioned regions.

use std::{fmt, marker::PhantomData};

use drdma_abi::work_request::MAX_ELEMENTS;

use super::{
    Column, Columns, KindColumn, List, Part, RegionError, UNCHECKED, Words, at_most, kinds,
    outside, word,
};
use crate::{Features, Memory, MemoryRegion, memory::Hold};

pub(super) const NAME: &str = "partitioned region";

/// A partition id as it stands in memory: one byte (`u8`) or two, little-endian (`u16`).
pub trait PartitionId: Copy + fmt::Debug + Eq + Into<u16> + sealed::Sealed {}

impl PartitionId for u8 {}
impl PartitionId for u16 {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u8 {}
    impl Sealed for u16 {}
}

/// Bytes of an id.
const fn width<I>() -> u64 {
    size_of::<I>() as u64
}

/// Starts a partitioned region: an array with one partition id a row, and up to 16 columns. The
/// destinations of a [`PartitionedWorkRequest`](crate::PartitionedWorkRequest) share it; each row
/// goes to the one whose id it carries, and nowhere if there is none.
///
/// ```
/// # use libdrdma::network::{Network, PeerConfig};
/// # use libdrdma::{Context, Options, QueuePairAttributes, Transport};
/// # let (mac, ip) = ("02:00:00:00:00:01".parse()?, [10, 0, 0, 1].into());
/// # let network = Network::new();
/// # let peers = [33, 34].map(|qpn| {
/// #     let config = PeerConfig::new(Transport::Rc, 0x0200_0000_0002, 0x0a00_0002, qpn, qpn - 16);
/// #     network.add_peer(config)
/// # });
/// # let card = libdrdma::open_on("soft:", &network)?;
/// # let context = Context::open(card, Options::new(mac, ip))?;
/// # let pd = context.protection_domain();
/// # let cq = context.completion_queue().build()?;
/// use libdrdma::{PartitionDestination, Partitioned, PartitionedWorkRequest};
///
/// // Two columns of eight rows, and where each row goes: to partition 0, 1 or 2.
/// let keys = pd.register(b"abcdefgh".to_vec())?;
/// let values = pd.register(b"AABBCCDDEEFFGGHH".to_vec())?;
/// let ids = pd.register(vec![1_u8, 0, 2, 0, 0, 1, 2, 2])?;
/// let rows = Partitioned::<u8>::new(&ids).rows(8).column(&keys, 0, 1).column(&values, 0, 2);
/// let region = rows.build()?;
/// # let mut connected = Vec::new();
/// # for qpn in [17, 18] {
/// #     let mut qp = pd.queue_pair(&cq).qpn(qpn).build()?;
/// #     let attributes = QueuePairAttributes::new().path_mtu(1024).dest_qpn(qpn + 16).start_psn(0);
/// #     let attributes = attributes.dest_mac("02:00:00:00:00:02".parse()?);
/// #     qp.connect(&attributes.dest_ip([10, 0, 0, 2].into()))?;
/// #     connected.push(qp);
/// # }
/// # let (blue, red) = (connected.pop().unwrap(), connected.pop().unwrap());
///
/// // Partition 0 to `red`, 1 to `blue`; 2 stays here.
/// let destinations = [PartitionDestination::new(&red, 0), PartitionDestination::new(&blue, 1)];
/// let mut ssq = pd.shared_send_queue(&cq).build()?;
/// let request = PartitionedWorkRequest::new(1, &region).rows_per_message(8);
/// ssq.post_ssq_send(&request.destinations(&destinations))?;
/// assert_eq!(cq.wait(1, std::time::Duration::from_secs(1))?[0].bytes, 15);
/// assert_eq!(network.messages(peers[0])[0].bytes, b"bBBdDDeEE");
/// assert_eq!(network.messages(peers[1])[0].bytes, b"aAAfFF");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Partitioned<'m, I> {
    ids: Memory<'m>,
    offset: u64,
    rows: u64,
    columns: Columns<'m>,
    id: PhantomData<I>,
}

impl<'m, I: PartitionId> Partitioned<'m, I> {
    /// A region whose ids are in `ids`; rows and at least one column must follow.
    #[inline]
    pub fn new(ids: impl Into<Memory<'m>>) -> Self {
        Self { ids: ids.into(), offset: 0, rows: 0, columns: List::new(), id: PhantomData }
    }

    /// The first id's first byte, counted in its memory region (default 0); it need not be aligned.
    #[inline]
    pub fn offset(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }

    /// Rows, that is, ids: 0 to 2^32 - 1 (default 0).
    #[inline]
    pub fn rows(mut self, rows: u64) -> Self {
        self.rows = rows;
        self
    }

    /// Adds a column: values of `width` bytes one behind the other, from `offset` in `memory`.
    #[inline]
    pub fn column(mut self, memory: impl Into<Memory<'m>>, offset: u64, width: u64) -> Self {
        self.columns.push((memory.into(), offset, width));
        self
    }

    /// Checks and makes the region.
    ///
    /// # Errors
    /// No or too many columns, a width of 0, an array of ids or a column (its values of all rows,
    /// sent or not) that ends outside its memory region, or memory of several protection domains.
    #[inline]
    pub fn build(self) -> Result<PartitionedRegion<'m, I>, RegionError> {
        let Self { ids, offset, rows, columns, .. } = self;
        columns.check(NAME, "columns")?;
        let count = word(NAME, Part::Rows, rows)?;
        let end = u128::from(offset) + u128::from(rows) * u128::from(width::<I>());
        if rows > 0 && end > ids.len() as u128 {
            return Err(outside(NAME, offset.into(), &ids, Part::Ids));
        }
        let pd = ids.pd();
        let addr = ids.addr().wrapping_add(offset);
        let mut words = Words::start(addr, count, ids.lkey());
        words.shape(width::<I>(), 0, columns.given);
        columns.describe(NAME, pd, rows, &mut words)?;
        let hold = Hold::of(columns.memory().chain([&ids]));
        Ok(PartitionedRegion { words, kinds: None, pd, hold, memory: PhantomData })
    }
}

/// A partitioned region, ready to be posted any number of times. It borrows its memory regions, or
/// keeps them: [`Memory`].
/// Made by [`Partitioned`], which checks it, or by [`PartitionedRegion::unchecked`].
///
/// It is no [`Region`](crate::Region): one request has one, which all its destinations share.
///
/// ```compile_fail,E0308
/// # use libdrdma::{Destination, PartitionedRegion, QueuePair};
/// # fn example(red: QueuePair, region: PartitionedRegion<u8>) {
/// Destination::new(&red).regions(&[region]);
/// # }
/// ```
///
/// Ids have one or two bytes:
///
/// ```compile_fail,E0277
/// # use libdrdma::{MemoryRegion, Partitioned};
/// # fn example(ids: &MemoryRegion) {
/// Partitioned::<u32>::new(ids);
/// # }
/// ```
#[derive(Clone)]
pub struct PartitionedRegion<'m, I> {
    words: Words,
    /// All of its granules, if its columns have kinds.
    kinds: Option<kinds::Granules>,
    /// The protection domain, or [`UNCHECKED`].
    pd: u32,
    /// Shared memory.
    pub(crate) hold: Hold,
    memory: PhantomData<(&'m MemoryRegion, I)>,
}

impl<I> fmt::Debug for PartitionedRegion<'_, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartitionedRegion")
            .field("width", &width::<I>())
            .field("words", &self.words())
            .finish_non_exhaustive()
    }
}

impl<I> PartitionedRegion<'_, I> {
    /// Bytes of its description in a work request.
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

    /// True if its columns say how their bytes are found.
    #[inline]
    pub(crate) fn has_kinds(&self) -> bool {
        self.kinds.is_some()
    }

    /// What a card must do to send it, beside what every card does.
    #[inline]
    pub(crate) fn needs(&self) -> Features {
        self.kinds.as_ref().map_or(Features::empty(), |kinds| kinds.needs)
    }

    /// True if a queue of that protection domain may send it.
    #[inline]
    pub(crate) fn belongs_to(&self, pd: u32) -> bool {
        self.pd == pd || self.pd == UNCHECKED
    }
}

impl<I: PartitionId> PartitionedRegion<'static, I> {
    /// `rows` ids at `ids`, and columns at any address under any key: not checked here, but by the
    /// card, as the `unchecked` functions of [`Region`](crate::Region) have it.
    ///
    /// # Errors
    /// More than 16 columns.
    pub fn unchecked(
        ids: u64,
        lkey: u32,
        rows: u32,
        columns: &[Column],
    ) -> Result<Self, RegionError> {
        at_most(MAX_ELEMENTS, columns.len(), NAME, "columns")?;
        let mut words = Words::start(ids, rows, lkey);
        words.shape(width::<I>(), 0, columns.len());
        columns.iter().for_each(|column| words.element(column.addr, column.width, column.lkey));
        let hold = Hold::Nothing;
        Ok(Self { words, kinds: None, pd: UNCHECKED, hold, memory: PhantomData })
    }

    /// Likewise, with columns that say how their bytes are found.
    ///
    /// # Errors
    /// More than 16 columns, or a width that there is not.
    pub fn unchecked_kinds(
        ids: u64,
        lkey: u32,
        rows: u32,
        columns: &[KindColumn],
    ) -> Result<Self, RegionError> {
        let words = Words::start(ids, rows, lkey);
        let header = [words.as_slice()[0], words.as_slice()[1]];
        let granules = kinds::Granules::new(header, width::<I>(), 0, 0, columns)?;
        let (kinds, hold) = (Some(granules), Hold::Nothing);
        Ok(Self { words, kinds, pd: UNCHECKED, hold, memory: PhantomData })
    }
}
