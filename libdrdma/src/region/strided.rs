//! Strided regions.

use drdma_abi::work_request::RegionType;

use super::{
    KindRows, List, Part, Pattern, Region, RegionError, Values, outside, positive, values::Typed,
    word,
};
use crate::{Memory, MemoryRegion, memory::Hold};

pub(super) const NAME: &str = "strided region";

/// Starts a strided region: a pattern of extents, repeated every period (D-RDMA section 3.1).
/// Extents may overlap, come in any order, and reach beyond the period.
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
/// use libdrdma::Strided;
///
/// // Rows of 8 bytes, of which the first two and the sixth are sent.
/// let table = pd.register(b"ab...c..de...f..gh...i..".to_vec())?;
/// let projection = Strided::new(&table).period(8).count(3).extent(0, 2).extent(5, 1);
/// let regions = [projection.build()?];
/// # let mut qp = pd.queue_pair(&cq).qpn(17).build()?;
/// # let attributes = QueuePairAttributes::new().path_mtu(1024).dest_qpn(33).start_psn(0);
/// # let attributes = attributes.dest_mac("02:00:00:00:00:02".parse()?);
/// # qp.connect(&attributes.dest_ip([10, 0, 0, 2].into()))?;
/// // Three rows, two in a message.
/// qp.post_send(&WorkRequest::new(1).rows_per_message(2).regions(&regions))?;
/// assert_eq!(cq.wait(1, std::time::Duration::from_secs(1))?[0].bytes, 9);
/// let messages = network.messages(peer);
/// assert_eq!(messages[0].bytes, b"abcdef");
/// assert_eq!(messages[1].bytes, b"ghi");
///
/// // One row too many is noticed when the region is built.
/// let error = Strided::new(&table).period(8).count(4).extent(5, 1).build().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "strided region: byte 29 is outside the memory region of 24 B (period 3 of 4)"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Strided<'m> {
    memory: Memory<'m>,
    offset: u64,
    period: u64,
    count: u64,
    pattern: Pattern,
    typed: Typed<'m>,
}

impl<'m> Strided<'m> {
    /// A region of `memory`; period, count and at least one extent must follow.
    #[inline]
    pub fn new(memory: impl Into<Memory<'m>>) -> Self {
        let (pattern, typed) = (List::new(), Typed::default());
        Self { memory: memory.into(), offset: 0, period: 0, count: 0, pattern, typed }
    }

    /// Sets the offset of the first period in the memory region (default 0).
    #[inline]
    pub fn offset(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }

    /// Sets the distance in bytes from one period to the next, at least 1.
    #[inline]
    pub fn period(mut self, period: u64) -> Self {
        self.period = period;
        self
    }

    /// Sets the number of periods, 0 to 2^32 - 1 (default 0, a region without rows).
    #[inline]
    pub fn count(mut self, count: u64) -> Self {
        self.count = count;
        self
    }

    /// Adds an extent to the pattern: `len` bytes, `offset` bytes into the period. Up to 16.
    #[inline]
    pub fn extent(mut self, offset: u64, len: u64) -> Self {
        self.pattern.push((offset, len));
        self
    }

    /// Adds an extent whose entry, `offset` bytes into the period, leads to its value as `values` say. It needs a card
    /// with [`Features::VARLEN`](crate::Features::VARLEN).
    pub fn typed_extent(mut self, offset: u64, values: Values<'m>) -> Self {
        self.typed.push(&self.pattern, values);
        self.pattern.push((offset, 0));
        self
    }

    /// Checks and makes the region.
    ///
    /// # Errors
    /// `RegionError::Zero` for a period or extent of 0 bytes, `Elements` for no or too many
    /// extents, `BitExtent` for an extent of bits, or `OutOfBounds` for a byte of any period
    /// outside the memory region, or of what entries may lead to outside of its own.
    #[inline]
    pub fn build(self) -> Result<Region<'m>, RegionError> {
        if !self.typed.is_empty() {
            return self.build_typed();
        }
        let Self { memory, offset, period, count, pattern, .. } = self;
        pattern.check(NAME, "extents")?;
        if period == 0 {
            return Err(RegionError::Zero { region: NAME, what: Part::Period });
        }
        let periods = word(NAME, Part::Count, count)?;
        let mut region = Region::start(
            RegionType::Strided,
            memory.pd(),
            memory.addr().wrapping_add(offset),
            periods,
            memory.lkey(),
        );
        region.hold = Hold::of([&memory]);
        region.shape(period, 0, pattern.given);
        let mut reach = Reach::new(&memory, offset, period, count);
        for (i, &(at, len)) in pattern.iter().enumerate() {
            let len = positive(NAME, Part::ExtentLength(i), len)?;
            region.element(at, len, 0);
            reach.add(at, len.into());
        }
        reach.check()?;
        Ok(region)
    }

    /// Like [`build`](Self::build), for extents with kinds.
    fn build_typed(self) -> Result<Region<'m>, RegionError> {
        let Self { memory, offset, period, count, pattern, typed } = self;
        pattern.check(NAME, "extents")?;
        if period == 0 {
            return Err(RegionError::Zero { region: NAME, what: Part::Period });
        }
        let periods = word(NAME, Part::Count, count)?;
        let pd = memory.pd();
        let mut reach = Reach::new(&memory, offset, period, count);
        let mut extents = Vec::with_capacity(pattern.given);
        for (index, &(at, len)) in pattern.iter().enumerate() {
            let (extent, len) = typed.of(index, len).check_extent(NAME, index, at, pd)?;
            extents.push(extent);
            reach.add(at, len);
        }
        reach.check()?;
        let (addr, lkey) = (memory.addr().wrapping_add(offset), memory.lkey());
        let rows = KindRows::Strided { addr, lkey, period, count: periods };
        Region::checked_kinds(rows, &extents, pd, typed.hold(Hold::of([&memory])))
    }
}

/// Bytes of the memory region that the periods of a region cover.
struct Reach<'a> {
    memory: &'a MemoryRegion,
    offset: u64,
    period: u64,
    count: u64,
    /// Index of the first period that reaches outside, and the first byte that it covers there.
    outside: Option<(u64, u128)>,
}

impl<'a> Reach<'a> {
    #[inline]
    fn new(memory: &'a MemoryRegion, offset: u64, period: u64, count: u64) -> Self {
        Self { memory, offset, period, count, outside: None }
    }

    /// Adds an extent or entry of `len` bytes at offset `at`.
    #[inline]
    fn add(&mut self, at: u64, len: u64) {
        let size = self.memory.len() as u128;
        let start = u128::from(self.offset) + u128::from(at);
        let inside = match size.checked_sub(start + u128::from(len)) {
            Some(room) => room / u128::from(self.period) + 1,
            None => 0,
        };
        if inside < u128::from(self.count) {
            let index = inside as u64;
            let byte = (start + inside * u128::from(self.period)).max(size);
            let found = self.outside.map_or((index, byte), |found| found.min((index, byte)));
            self.outside = Some(found);
        }
    }

    #[inline]
    fn check(self) -> Result<(), RegionError> {
        match self.outside {
            Some((index, byte)) => {
                let part = Part::PeriodOf { index, count: self.count };
                Err(outside(NAME, byte, self.memory, part))
            }
            None => Ok(()),
        }
    }
}
