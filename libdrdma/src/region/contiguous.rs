//! Contiguous regions.

use drdma_abi::work_request::RegionType;

use super::{Part, Region, RegionError, outside, positive};
use crate::{Memory, memory::Hold};

const NAME: &str = "contiguous region";

/// Starts a contiguous region: one row of one element, a scatter-gather entry.
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
/// use libdrdma::Contiguous;
///
/// let memory = pd.register(b"hello, world".to_vec())?;
/// let regions = [Contiguous::new(&memory).offset(7).len(5).build()?];
/// # let mut qp = pd.queue_pair(&cq).qpn(17).build()?;
/// # let attributes = QueuePairAttributes::new().path_mtu(1024).dest_qpn(33).start_psn(0);
/// # let attributes = attributes.dest_mac("02:00:00:00:00:02".parse()?);
/// # qp.connect(&attributes.dest_ip([10, 0, 0, 2].into()))?;
/// qp.post_send(&WorkRequest::new(1).regions(&regions))?;
/// assert_eq!(cq.wait(1, std::time::Duration::from_secs(1))?[0].bytes, 5);
/// assert_eq!(network.messages(peer)[0].bytes, b"world");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Contiguous<'m> {
    memory: Memory<'m>,
    offset: u64,
    len: Option<u64>,
}

impl<'m> Contiguous<'m> {
    /// A region of the whole of `memory`.
    #[inline]
    pub fn new(memory: impl Into<Memory<'m>>) -> Self {
        Self { memory: memory.into(), offset: 0, len: None }
    }

    /// Sets the offset of the first byte in the memory region (default 0).
    #[inline]
    pub fn offset(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }

    /// Sets the length in bytes, 1 to 2^32 - 1 (default: up to the end of the memory region).
    #[allow(clippy::len_without_is_empty)]
    #[inline]
    pub fn len(mut self, len: u64) -> Self {
        self.len = Some(len);
        self
    }

    /// Checks and makes the region.
    ///
    /// # Errors
    /// `RegionError::Zero` for no bytes, or `OutOfBounds` for bytes outside the memory region.
    #[inline]
    pub fn build(self) -> Result<Region<'m>, RegionError> {
        let Self { memory, offset, len } = self;
        let room = (memory.len() as u64).saturating_sub(offset);
        let len = len.unwrap_or(room);
        let bytes = positive(NAME, Part::Length, len)?;
        if len > room {
            return Err(outside(NAME, offset.into(), &memory, Part::Bytes { offset, len }));
        }
        let addr = memory.addr() + offset;
        let (pd, lkey) = (memory.pd(), memory.lkey());
        let mut region = Region::start(RegionType::Contiguous, pd, addr, bytes, lkey);
        region.hold = Hold::of([&memory]);
        Ok(region)
    }
}
