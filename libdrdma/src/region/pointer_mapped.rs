//! Pointer-mapped regions.

use drdma_abi::work_request::{MAX_CHAIN, RegionType};

use super::{
    KindRows, List, Part, Pattern, Region, RegionError, Values, inside, outside, positive,
    values::Typed, word,
};
use crate::{Memory, memory::Hold};

pub(super) const NAME: &str = "pointer-mapped region";

/// Starts a pointer-mapped region: a pattern of extents at every pointer of an array (D-RDMA
/// section 3.3).
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
/// use libdrdma::PointerMapped;
///
/// // Records of 8 bytes somewhere in a heap, found through an index.
/// let mut heap = pd.allocate(64)?;
/// heap.write_at(40, b"first...");
/// heap.write_at(13, b"second..");
/// let index = pd.register(vec![heap.addr() + 40, heap.addr() + 13])?;
/// let regions = [PointerMapped::new(&index, &heap).count(2).extent(0, 3).build()?];
/// # let mut qp = pd.queue_pair(&cq).qpn(17).build()?;
/// # let attributes = QueuePairAttributes::new().path_mtu(1024).dest_qpn(33).start_psn(0);
/// # let attributes = attributes.dest_mac("02:00:00:00:00:02".parse()?);
/// # qp.connect(&attributes.dest_ip([10, 0, 0, 2].into()))?;
/// qp.post_send(&WorkRequest::new(1).rows_per_message(8).regions(&regions))?;
/// assert_eq!(cq.wait(1, std::time::Duration::from_secs(1))?[0].bytes, 6);
/// assert_eq!(network.messages(peer)[0].bytes, b"firsec");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct PointerMapped<'m> {
    pointers: Memory<'m>,
    target: Memory<'m>,
    offset: u64,
    count: u64,
    pattern: Pattern,
    typed: Typed<'m>,
    chain: Option<(u64, u64, u64)>,
}

impl<'m> PointerMapped<'m> {
    /// A region whose array of 64-bit little-endian pointers is in `pointers`, pointing to records
    /// in `target` ([`MemoryRegion::addr`](crate::MemoryRegion::addr) plus the record's offset); a count and at least
    /// one extent must follow.
    #[inline]
    pub fn new(pointers: impl Into<Memory<'m>>, target: impl Into<Memory<'m>>) -> Self {
        let (pointers, target) = (pointers.into(), target.into());
        let (pattern, typed) = (List::new(), Typed::default());
        Self { pointers, target, offset: 0, count: 0, pattern, typed, chain: None }
    }

    /// Sets the offset of the array's first byte in its memory region (default 0).
    #[inline]
    pub fn offset(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }

    /// Sets the number of pointers, 0 to 2^32 - 1 (default 0).
    #[inline]
    pub fn count(mut self, count: u64) -> Self {
        self.count = count;
        self
    }

    /// Adds an extent to the record pattern: `len` bytes, `offset` bytes behind the pointer.
    #[inline]
    pub fn extent(mut self, offset: u64, len: u64) -> Self {
        self.pattern.push((offset, len));
        self
    }

    /// Adds an extent whose entry, `offset` bytes behind the pointer, leads to its value as `values` say. It needs a
    /// card with [`Features::VARLEN`](crate::Features::VARLEN).
    pub fn typed_extent(mut self, offset: u64, values: Values<'m>) -> Self {
        self.typed.push(&self.pattern, values);
        self.pattern.push((offset, 0));
        self
    }

    /// Makes the records lead to further ones, which are rows as well: `next` bytes behind its
    /// start each has a pointer to the one that follows it. The pointer `end`, of a record or of
    /// the array, ends a chain. A chain has at most `limit` records, 1 to 2^24: one that has more,
    /// or no end, fails the request with `local_protection_error` before anything is sent, as a
    /// record outside of the target does. It needs a card with
    /// [`Features::CHASE`](crate::Features::CHASE).
    ///
    /// ```
    /// # let (mac, ip) = ("02:00:00:00:00:01".parse()?, [10, 0, 0, 1].into());
    /// # let context = libdrdma::Context::open(libdrdma::open("soft:")?, libdrdma::Options::new(mac, ip))?;
    /// # let pd = context.protection_domain();
    /// use libdrdma::PointerMapped;
    ///
    /// // Buckets of a hash table: each leads to a list of entries of 16 B, which begin with a pointer.
    /// let (buckets, entries) = (pd.allocate(8 * 1024)?, pd.allocate(16 * 4096)?);
    /// let lists = PointerMapped::new(&buckets, &entries).count(1024).extent(8, 8).chase(0, 0, 100);
    /// let region = lists.build()?;
    /// # let _ = region;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn chase(mut self, next: u64, end: u64, limit: u64) -> Self {
        self.chain = Some((next, end, limit));
        self
    }

    /// Checks and makes the region. Where the pointers point is checked by the card when it reads
    /// them: a record outside the target is a `local_protection_error`.
    ///
    /// # Errors
    /// `RegionError::Elements` for no or too many extents, `Zero` or `OutOfBounds` for an extent of
    /// 0 bytes or longer than the target, or an array outside its memory region, `ProtectionDomain`
    /// for memory of two protection domains, `SharedKey` for a target whose key gives access to
    /// more than the target, `BitExtent` for extents of bits, or `Range` for chains of no or too
    /// many records.
    #[inline]
    pub fn build(self) -> Result<Region<'m>, RegionError> {
        if self.chain.is_some() || !self.typed.is_empty() {
            return self.build_typed();
        }
        let Self { pointers, target, offset, count, pattern, .. } = self;
        pattern.check(NAME, "extents")?;
        let entries = word(NAME, Part::Count, count)?;
        let end = u128::from(offset) + 8 * u128::from(count);
        if count > 0 && end > pointers.len() as u128 {
            return Err(outside(NAME, offset.into(), &pointers, Part::Pointers));
        }
        let pd = domain(&pointers, &target)?;
        let addr = pointers.addr().wrapping_add(offset);
        let mut region =
            Region::start(RegionType::PointerMapped, pd, addr, entries, pointers.lkey());
        region.hold = Hold::of([&pointers, &target]);
        region.shape(0, target.lkey(), pattern.given);
        for (i, &(at, len)) in pattern.iter().enumerate() {
            let bytes = positive(NAME, Part::ExtentLength(i), len)?;
            if count > 0 && len > target.len() as u64 {
                return Err(outside(NAME, 0, &target, Part::Extent(i)));
            }
            region.element(at, bytes, 0);
        }
        Ok(region)
    }

    /// Like [`build`](Self::build), for extents with kinds, or records that form chains.
    fn build_typed(self) -> Result<Region<'m>, RegionError> {
        let Self { pointers, target, offset, count: given, pattern, typed, chain } = self;
        pattern.check(NAME, "extents")?;
        let count = word(NAME, Part::Count, given)?;
        let pd = domain(&pointers, &target)?;
        if given > 0 {
            let len = 8 * u128::from(given);
            inside(NAME, Part::Pointers, &pointers, pd, offset.into(), len)?;
        }
        let mut extents = Vec::with_capacity(pattern.given);
        for (index, &(at, len)) in pattern.iter().enumerate() {
            let (extent, len) = typed.of(index, len).check_extent(NAME, index, at, pd)?;
            if given > 0 && len > target.len() as u64 {
                return Err(outside(NAME, 0, &target, Part::Extent(index)));
            }
            extents.push(extent);
        }
        let (lkey, target_lkey) = (pointers.lkey(), target.lkey());
        let addr = pointers.addr().wrapping_add(offset);
        let rows = match chain {
            None => KindRows::PointerMapped { pointers: addr, lkey, count, target_lkey },
            Some((next, end, limit)) => {
                let next = word(NAME, Part::Next, next)?;
                if given > 0 {
                    inside(NAME, Part::Next, &target, pd, next.into(), 8)?;
                }
                let most = u64::from(MAX_CHAIN);
                if !(1..=most).contains(&limit) {
                    let (what, value, least) = (Part::ChainLimit, limit, 1);
                    return Err(RegionError::Range { region: NAME, what, value, least, most });
                }
                let limit = limit as u32;
                KindRows::Chains { pointers: addr, lkey, count, target_lkey, next, end, limit }
            }
        };
        Region::checked_kinds(rows, &extents, pd, typed.hold(Hold::of([&pointers, &target])))
    }
}

/// Returns the protection domain of pointers and records; refuses records whose key gives access to
/// anything else.
fn domain(pointers: &Memory<'_>, target: &Memory<'_>) -> Result<u32, RegionError> {
    let pd = pointers.pd();
    if target.pd() != pd {
        return Err(RegionError::ProtectionDomain { region: NAME, what: Part::Target });
    }
    if !target.has_own_key() {
        return Err(RegionError::SharedKey { region: NAME, what: Part::Target });
    }
    Ok(pd)
}
