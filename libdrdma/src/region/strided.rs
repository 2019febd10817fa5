//! Strided regions.

use drdma_abi::work_request::RegionType;

use super::{List, Part, Pattern, Region, RegionError, outside, positive, word};
use crate::{Memory, memory::Hold};

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
}

impl<'m> Strided<'m> {
    /// A region of `memory`; period, count and at least one extent must follow.
    #[inline]
    pub fn new(memory: impl Into<Memory<'m>>) -> Self {
        Self { memory: memory.into(), offset: 0, period: 0, count: 0, pattern: List::new() }
    }

    /// Start of the first period, counted in the memory region (default 0).
    #[inline]
    pub fn offset(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }

    /// Bytes from one period to the next, at least 1.
    #[inline]
    pub fn period(mut self, period: u64) -> Self {
        self.period = period;
        self
    }

    /// Periods, 0 to 2^32 - 1 (default 0, a region without rows).
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

    /// Checks and makes the region.
    ///
    /// # Errors
    /// A zero period, no or too many extents, an extent of 0 bytes, or a byte of any period
    /// outside the memory region.
    #[inline]
    pub fn build(self) -> Result<Region<'m>, RegionError> {
        let Self { memory, offset, period, count, pattern } = self;
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
        // The first period that reaches outside, and the first byte that it covers there.
        let mut first_outside: Option<(u64, u128)> = None;
        let size = memory.len() as u128;
        for (i, &(at, len)) in pattern.iter().enumerate() {
            let len = positive(NAME, Part::ExtentLength(i), len)?;
            region.element(at, len, 0);
            let start = u128::from(offset) + u128::from(at);
            let inside = match size.checked_sub(start + u128::from(len)) {
                Some(room) => room / u128::from(period) + 1,
                None => 0,
            };
            if inside < u128::from(count) {
                let index = inside as u64;
                let byte = (start + inside * u128::from(period)).max(size);
                first_outside =
                    Some(first_outside.map_or((index, byte), |found| found.min((index, byte))));
            }
        }
        match first_outside {
            Some((index, byte)) => {
                Err(outside(NAME, byte, &memory, Part::PeriodOf { index, count }))
            }
            None => Ok(region),
        }
    }
}
