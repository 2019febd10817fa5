//! Partitioned regions.

use std::{fmt, marker::PhantomData};

use drdma_abi::work_request::{MAX_ELEMENTS, shape_flags};

use super::{
    Column, ColumnKind, KeyColumn, KindColumn, Part, PartitionKeys, PartitionMaker, RegionError,
    UNCHECKED, Values, Words, at_most,
    columns::{Columns, column_methods},
    inside,
    kinds::{self, Shape},
    outside, word,
};
use crate::{Features, Memory, MemoryRegion, memory::Hold};

pub(super) const NAME: &str = "partitioned region";

/// A partition id in memory: one byte (`u8`) or two, little-endian (`u16`).
pub trait PartitionId: Copy + fmt::Debug + Eq + Into<u16> + sealed::Sealed {}

impl PartitionId for u8 {}
impl PartitionId for u16 {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u8 {}
    impl Sealed for u16 {}
}

/// Size of an id in bytes.
const fn width<I>() -> u64 {
    size_of::<I>() as u64
}

/// Starts a partitioned region: an array with one partition id a row, and up to 16 columns. The
/// destinations of a [`PartitionedWorkRequest`](crate::PartitionedWorkRequest) share it; each row
/// goes to the destination that has its id, and is not sent if there is none.
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
    ids: Ids<'m>,
    offset: u64,
    rows: u64,
    columns: Columns<'m>,
    id: PhantomData<I>,
}

/// Source of the ids.
#[derive(Clone, Debug)]
enum Ids<'m> {
    Memory(Memory<'m>),
    Keys(Box<PartitionKeys<'m>>),
}

impl<'m> Partitioned<'m, u16> {
    /// A region whose ids the card makes from keys; rows and at least one column must follow. It
    /// needs a card with [`Features::FIXED_KEYS`], and with [`Features::PARTITIONS`] for keys of
    /// variable length, of a dictionary, and others that the latter lists.
    pub fn by(keys: PartitionKeys<'m>) -> Self {
        Self::from(Ids::Keys(Box::new(keys)))
    }
}

impl<'m, I: PartitionId> Partitioned<'m, I> {
    /// A region whose ids are in `ids`; rows and at least one column must follow.
    #[inline]
    pub fn new(ids: impl Into<Memory<'m>>) -> Self {
        Self::from(Ids::Memory(ids.into()))
    }

    #[inline]
    fn from(ids: Ids<'m>) -> Self {
        Self { ids, offset: 0, rows: 0, columns: Columns::new(), id: PhantomData }
    }

    /// Sets the offset of the first id in its memory region (default 0); it need not be aligned. It
    /// has no effect with keys.
    #[inline]
    pub fn offset(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }

    /// Sets the number of rows, that is, of ids: 0 to 2^32 - 1 (default 0).
    #[inline]
    pub fn rows(mut self, rows: u64) -> Self {
        self.rows = rows;
        self
    }

    column_methods!();

    /// Checks and makes the region.
    ///
    /// # Errors
    /// No or too many columns or keys, a width of 0, an array of ids, a column or a key (its entries of all rows,
    /// sent or not, or what they may lead to) that ends outside its memory region, memory of several protection
    /// domains, or a number of partitions or a key that there cannot be.
    #[inline]
    pub fn build(self) -> Result<PartitionedRegion<'m, I>, RegionError> {
        let ids = match self.ids {
            Ids::Memory(ids) if !self.columns.have_kinds() => ids,
            _ => return self.build_typed(),
        };
        let Self { offset, rows, columns, .. } = self;
        let given = columns.check(NAME)?;
        let count = word(NAME, Part::Rows, rows)?;
        let end = u128::from(offset) + u128::from(rows) * u128::from(width::<I>());
        if rows > 0 && end > ids.len() as u128 {
            return Err(outside(NAME, offset.into(), &ids, Part::Ids));
        }
        let pd = ids.pd();
        let addr = ids.addr().wrapping_add(offset);
        let mut words = Words::start(addr, count, ids.lkey());
        words.shape(width::<I>(), 0, given);
        columns.describe(NAME, pd, rows, &mut words)?;
        let hold = columns.hold([&ids]);
        Ok(PartitionedRegion { words, kinds: None, made: None, pd, hold, memory: PhantomData })
    }

    /// Like [`build`](Self::build), with keys, or columns that have kinds.
    fn build_typed(self) -> Result<PartitionedRegion<'m, I>, RegionError> {
        let Self { ids, offset, rows, columns, .. } = self;
        columns.check(NAME)?;
        let count = word(NAME, Part::Rows, rows)?;
        let pd = match &ids {
            Ids::Memory(ids) => ids.pd(),
            Ids::Keys(keys) => keys.pd()?,
        };
        let described = columns.kinds(NAME, pd, rows)?;
        let hold = columns.hold([]);
        match ids {
            Ids::Memory(ids) => {
                if rows > 0 {
                    let len = u128::from(rows) * u128::from(width::<I>());
                    inside(NAME, Part::Ids, &ids, pd, offset.into(), len)?;
                }
                let (addr, lkey) = (ids.addr().wrapping_add(offset), ids.lkey());
                let words = Words::start(addr, count, lkey);
                let header = [words.as_slice()[0], words.as_slice()[1]];
                let shape = Shape { period: width::<I>(), ..Shape::default() };
                let kinds = Some(kinds::Granules::new(header, shape, &described)?);
                let hold = Hold::all(vec![hold, Hold::of([&ids])]);
                Ok(PartitionedRegion { words, kinds, made: None, pd, hold, memory: PhantomData })
            }
            Ids::Keys(keys) => {
                let (maker, group, of_keys) = keys.check(rows, pd)?;
                let hold = Hold::all(vec![hold, keys.hold()]);
                PartitionedRegion::made(&maker, group, &of_keys, count, &described, (pd, hold))
            }
        }
    }
}

/// A partitioned region, ready to be posted any number of times. It borrows its memory regions, or
/// keeps them: [`Memory`]. Made by [`Partitioned`], which checks it, or by
/// [`PartitionedRegion::unchecked`].
///
/// It is not a [`Region`](crate::Region): one request has one, which all its destinations share.
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
    /// All granules of the region, if its columns have kinds.
    kinds: Option<kinds::Granules>,
    /// Number of ids that the card makes from keys.
    made: Option<u32>,
    /// Number of the protection domain, or [`UNCHECKED`].
    pd: u32,
    /// Shared memory of the region.
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
    /// Makes a region whose ids are made from keys, of memory of the given protection domain.
    fn made(
        maker: &PartitionMaker,
        group: u16,
        keys: &[KeyColumn],
        rows: u32,
        columns: &[KindColumn],
        (pd, hold): (u32, Hold),
    ) -> Result<Self, RegionError> {
        let (addr, lkey) = maker.place();
        let words = Words::start(addr, rows, lkey);
        let header = [words.as_slice()[0], words.as_slice()[1]];
        let (behind, needs) = maker.words(group, keys)?;
        let is_plain = |column: &KindColumn| matches!(column.kind, ColumnKind::Fixed { .. });
        let mut flags = shape_flags::PARTITION_BY;
        if !columns.iter().all(is_plain) {
            flags |= shape_flags::COLUMN_KINDS;
        }
        let granules = kinds::Granules::with(header, (0, 0, flags), &behind, needs, columns)?;
        let made = Some(maker.partitions().div_ceil(group.max(1).into()));
        Ok(Self { words, kinds: Some(granules), made, pd, hold, memory: PhantomData })
    }

    /// Number of ids, if the card makes them from keys.
    #[inline]
    pub(crate) fn made_ids(&self) -> Option<u32> {
        self.made
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

    /// True if columns of the region have kinds.
    #[inline]
    pub(crate) fn has_kinds(&self) -> bool {
        self.kinds.is_some()
    }

    /// Features that the card needs to send the region.
    #[inline]
    pub(crate) fn needs(&self) -> Features {
        self.kinds.as_ref().map_or(Features::empty(), |kinds| kinds.needs)
    }

    /// True if a queue of protection domain `pd` may send the region.
    #[inline]
    pub(crate) fn belongs_to(&self, pd: u32) -> bool {
        self.pd == pd || self.pd == UNCHECKED
    }
}

impl<I: PartitionId> PartitionedRegion<'static, I> {
    /// A region of `rows` ids at `ids`, and of columns at any address under any key. The card
    /// checks it, as for the `unchecked` functions of [`Region`](crate::Region).
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
        Ok(Self { words, kinds: None, made: None, pd: UNCHECKED, hold, memory: PhantomData })
    }

    /// Like [`unchecked`](Self::unchecked), with columns that have kinds.
    ///
    /// # Errors
    /// More than 16 columns, or a width that is not possible.
    pub fn unchecked_kinds(
        ids: u64,
        lkey: u32,
        rows: u32,
        columns: &[KindColumn],
    ) -> Result<Self, RegionError> {
        let words = Words::start(ids, rows, lkey);
        let header = [words.as_slice()[0], words.as_slice()[1]];
        let shape = Shape { period: width::<I>(), ..Shape::default() };
        let granules = kinds::Granules::new(header, shape, columns)?;
        let (kinds, hold) = (Some(granules), Hold::Nothing);
        Ok(Self { words, kinds, made: None, pd: UNCHECKED, hold, memory: PhantomData })
    }
}

impl PartitionedRegion<'static, u16> {
    /// Like [`unchecked_kinds`](Self::unchecked_kinds), with ids that the card makes from keys;
    /// `group` neighbouring partitions have one id.
    ///
    /// # Errors
    /// More than 16 keys or columns, or a width that is not possible.
    pub fn unchecked_by(
        maker: &PartitionMaker,
        group: u16,
        keys: &[KeyColumn],
        rows: u32,
        columns: &[KindColumn],
    ) -> Result<Self, RegionError> {
        Self::made(maker, group, keys, rows, columns, (UNCHECKED, Hold::Nothing))
    }
}
