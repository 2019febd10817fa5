//! Receive queues: rings of receives that messages fill.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use drdma_abi::{
    described::{AppendTarget, receive_entry_flags},
    receive::{
        RECEIVE_DOORBELLS, RECEIVE_MAGIC, RECEIVE_PLACES, RECEIVE_QUEUES, ReceiveHeader,
        ReceiveQueueEntry,
    },
    work_request::{BLOCK, GRANULE, MAX_REGIONS, RegionType, blocks},
};
use drdma_driver::{CardError, DmaMemory};

use crate::{
    AppendRegion, CompletionQueue, Context, Error, Features, PostError, ProtectionDomain, Region,
    append_region, body::Writer, completion_queue::CompletionQueueInner, encode::words,
    memory::Hold,
};

/// Largest number of blocks of a ring.
const MAX_BLOCKS: u32 = 1 << 16;

/// A receive: the regions that a message fills. Their memory must allow
/// [`Access::LOCAL_WRITE`](crate::Access::LOCAL_WRITE).
///
/// A datagram's bytes follow 40 B for its route: see [`WorkCompletion::global_route`].
///
/// [`WorkCompletion::global_route`]: crate::WorkCompletion::global_route
#[derive(Clone, Copy, Debug)]
pub struct ReceiveRequest<'a, 'm> {
    wr_id: u64,
    regions: &'a [Region<'m>],
    append: Option<&'a AppendRegion<'m>>,
}

impl<'a, 'm> ReceiveRequest<'a, 'm> {
    /// A receive named `wr_id`, for messages of no bytes.
    #[inline]
    pub fn new(wr_id: u64) -> Self {
        Self { wr_id, regions: &[], append: None }
    }

    /// Sets the regions that a message fills, one after the other, row by row: up to 16.
    #[must_use]
    #[inline]
    pub fn regions(mut self, regions: &'a [Region<'m>]) -> Self {
        self.regions = regions;
        self
    }

    /// Makes the receive append its message to a region; it has no other regions then. The message
    /// must consist of whole rows, and come on RC or UC.
    #[must_use]
    #[inline]
    pub fn append(mut self, region: &'a AppendRegion<'m>) -> Self {
        self.append = Some(region);
        self
    }
}

/// A receive that has not completed.
#[derive(Debug)]
struct Posted {
    position: u32,
    wr_id: u64,
    hold: Hold,
    /// The receive has completed, but not all those before it, in a shared queue.
    done: bool,
}

/// The part of a receive queue that its completion queue sees.
#[derive(Debug)]
pub(crate) struct ReceiveState {
    pub number: u32,
    shared: bool,
    ring: DmaMemory,
    blocks: u32,
    posted: Mutex<VecDeque<Posted>>,
    halted: AtomicBool,
}

impl ReceiveState {
    fn posted(&self) -> MutexGuard<'_, VecDeque<Posted>> {
        self.posted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of receives that have not completed.
    pub fn waiting(&self) -> u32 {
        self.posted().iter().filter(|entry| !entry.done).count() as u32
    }

    /// True if a posted receive has not completed.
    pub fn is_busy(&self) -> bool {
        self.posted().iter().any(|entry| !entry.done)
    }

    /// The append region of the receive at `position`, if it has one.
    pub fn append_of(&self, position: u32) -> Option<Arc<append_region::Shared>> {
        let posted = self.posted();
        let entry = posted.iter().find(|entry| entry.position == position && !entry.done)?;
        match &entry.hold {
            Hold::Append(region) => Some(region.clone()),
            _ => None,
        }
    }

    /// Notes that the receive at `position` has completed, and returns its name. Memory that it
    /// kept is appended to `dead`.
    pub fn complete(&self, position: u32, dead: &mut Vec<Hold>) -> Option<u64> {
        let mut posted = self.posted();
        let entry = posted.iter_mut().find(|entry| entry.position == position && !entry.done)?;
        entry.done = true;
        dead.push(std::mem::take(&mut entry.hold));
        let wr_id = entry.wr_id;
        while posted.pop_front_if(|entry| entry.done).is_some() {}
        Some(wr_id)
    }

    /// Completes the oldest receive that has not completed, and returns its name. Memory that it
    /// kept is appended to `dead`.
    pub fn complete_oldest(&self, dead: &mut Vec<Hold>) -> Option<u64> {
        let position = self.posted().iter().find(|entry| !entry.done)?.position;
        self.complete(position, dead)
    }

    pub fn is_shared(&self) -> bool {
        self.shared
    }

    pub fn halt(&self) {
        self.halted.store(true, Ordering::Release);
    }
}

/// A receive queue: ring, doorbell and bookkeeping.
#[derive(Debug)]
pub(crate) struct ReceiveQueue {
    context: Context,
    completion_queue: Arc<CompletionQueueInner>,
    state: Arc<ReceiveState>,
    iova: u64,
    pd: u32,
    /// Position behind the last entry in the ring.
    tail: u32,
}

impl ReceiveQueue {
    /// Makes a queue of at least that many blocks, not enabled yet.
    pub fn new(
        pd: &ProtectionDomain,
        cq: &CompletionQueue,
        shared: bool,
        blocks: u32,
    ) -> Result<Self, Error> {
        let context = pd.context.clone();
        if !context.inner.receives() {
            return Err(Error::Unsupported { what: "a receive queue" });
        }
        if blocks == 0 || blocks > MAX_BLOCKS {
            let (what, limits) = ("receive_blocks", "1 to 65536");
            return Err(Error::Limits { what, value: blocks.into(), limits });
        }
        let completion_queue = cq.inner.clone();
        if !Arc::ptr_eq(&completion_queue.context.inner, &context.inner) {
            return Err(Error::Context);
        }
        let blocks = blocks.next_power_of_two();
        let (ring, iova) = context.inner.allocate_ring(blocks as usize * BLOCK, false)?;
        let number = {
            let mut hardware = context.inner.lock();
            let limit = hardware.receive_queues.limit();
            match hardware.receive_queues.take() {
                Some(number) => number,
                None => {
                    hardware.device.unmap(iova)?;
                    return Err(Error::Exhausted { what: "receive queue", limit });
                }
            }
        };
        let state = Arc::new(ReceiveState {
            number,
            shared,
            ring,
            blocks,
            posted: Mutex::default(),
            halted: AtomicBool::new(false),
        });
        completion_queue.attach_receives(state.clone());
        Ok(Self { context, completion_queue, state, iova, pd: pd.id, tail: 0 })
    }

    pub fn number(&self) -> u16 {
        self.state.number as u16
    }

    pub fn protection_domain(&self) -> u32 {
        self.pd
    }

    pub fn state(&self) -> &Arc<ReceiveState> {
        &self.state
    }

    pub fn completion_queue(&self) -> &Arc<CompletionQueueInner> {
        &self.completion_queue
    }

    /// Makes the context report when fewer receives than `limit` are left; 0 disables this.
    pub fn arm_limit(&self, limit: u32) -> Result<(), Error> {
        let blocks = self.state.blocks;
        if limit > blocks {
            let limits = "0 to the blocks of the queue";
            return Err(Error::Limits { what: "limit", value: limit.into(), limits });
        }
        self.context.inner.events.limit(&self.state, &self.completion_queue, limit);
        Ok(())
    }

    /// Takes the ring from the card, and posted receives from the completion queue.
    pub fn close(&mut self) {
        let stopped = self.stop();
        self.context.inner.lock().note(stopped);
        self.completion_queue.detach_receives(&self.state);
        self.context.inner.events.forget(self.state.number);
    }

    /// Enables the ring in the card, empty and at position 0.
    pub fn enable(&mut self, queue_pair: u32) -> Result<(), CardError> {
        let entry = ReceiveQueueEntry {
            addr: self.iova,
            log_blocks: self.state.blocks.ilog2() as u8,
            shared: self.state.shared.into(),
            completion_queue: self.completion_queue.number as u16,
            qp: queue_pair,
            enable: 1,
            ..Default::default()
        };
        self.tail = 0;
        self.state.halted.store(false, Ordering::Release);
        self.context.inner.lock().device.write_entry(RECEIVE_QUEUES, self.state.number, &entry)
    }

    /// Takes the ring from the card; posted receives complete with `wr_flush_error`.
    pub fn disable(&mut self) -> Result<(), CardError> {
        self.stop()?;
        self.completion_queue.flush_receives(&self.state);
        Ok(())
    }

    /// Takes the ring from the card; receives posted before or after are flushed as they are
    /// polled.
    pub fn halt(&mut self) -> Result<(), CardError> {
        self.stop()?;
        self.completion_queue.halt_receives(&self.state);
        Ok(())
    }

    fn stop(&mut self) -> Result<(), CardError> {
        let entry = ReceiveQueueEntry::default();
        self.context.inner.lock().device.write_entry(RECEIVE_QUEUES, self.state.number, &entry)
    }

    /// Refuses a region that the card's receives do not fill.
    fn check_type(&self, region: RegionType) -> Result<(), PostError> {
        if self.context.inner.misses(Features::SCATTERS).is_none() {
            return Ok(());
        }
        let (what, needed) = match region {
            RegionType::Contiguous => return Ok(()),
            RegionType::Strided => ("a receive into a strided region", Features::STRIDED_RECEIVES),
            RegionType::Bitmapped => {
                ("a receive into a bitmapped region", Features::MAPPED_RECEIVES)
            }
            RegionType::PointerMapped => {
                ("a receive into a pointer-mapped region", Features::MAPPED_RECEIVES)
            }
        };
        match self.context.inner.misses(needed) {
            Some(reason) => Err(PostError::Unsupported { what, reason }),
            None => Ok(()),
        }
    }

    /// Refuses regions that need more places than the card has, unless it fills regions of every
    /// type.
    fn check_places(&self, regions: &[Region<'_>]) -> Result<(), PostError> {
        if self.context.inner.misses(Features::SCATTERS).is_none() {
            return Ok(());
        }
        let mapped = |region: &Region<'_>| {
            matches!(region.region_type(), RegionType::Bitmapped | RegionType::PointerMapped)
        };
        // One granule of a strided region is its header, which takes no place if all regions are
        // strided or contiguous.
        let headers = usize::from(!regions.iter().any(mapped));
        let places = regions.iter().map(|region| match region.region_type() {
            RegionType::Contiguous => 1,
            _ => region.descriptor_len() / GRANULE - headers,
        });
        let (places, limit) = (places.sum(), RECEIVE_PLACES);
        if places > limit {
            return Err(PostError::ReceivePlaces { places, limit });
        }
        Ok(())
    }

    /// Posts a receive and rings the doorbell.
    pub fn post(&mut self, request: &ReceiveRequest<'_, '_>) -> Result<(), PostError> {
        self.stage(request)?;
        self.ring()
    }

    /// Posts receives up to the first one that is refused, and rings the doorbell once; returns
    /// their number.
    pub fn post_list<'a, 'm: 'a>(
        &mut self,
        requests: impl IntoIterator<Item = ReceiveRequest<'a, 'm>>,
    ) -> (usize, Result<(), PostError>) {
        let (mut count, mut result) = (0, Ok(()));
        for request in requests {
            result = self.stage(&request);
            if result.is_err() {
                break;
            }
            count += 1;
        }
        let rung = if count > 0 { self.ring() } else { Ok(()) };
        (count, result.and(rung))
    }

    /// Hands staged receives to the card.
    fn ring(&mut self) -> Result<(), PostError> {
        let doorbell = RECEIVE_DOORBELLS.entry(self.state.number);
        let rung = self.context.inner.write_register(doorbell, self.tail);
        self.completion_queue.stir();
        Ok(rung?)
    }

    /// Writes a receive to the ring.
    fn stage(&mut self, request: &ReceiveRequest<'_, '_>) -> Result<(), PostError> {
        let regions = request.regions;
        if regions.len() > MAX_REGIONS {
            let (regions, limit) = (regions.len(), MAX_REGIONS);
            return Err(PostError::TooManyRegions { destination: 0, regions, limit });
        }
        let mut granules = ReceiveHeader::SIZE / GRANULE;
        for (region, description) in regions.iter().enumerate() {
            if !description.belongs_to(self.pd) {
                return Err(PostError::ProtectionDomain { destination: 0, region });
            }
            self.check_type(description.region_type())?;
            if description.has_kinds() {
                let (what, reason) = ("a receive", "kinds of columns");
                return Err(PostError::NotFilled { what, reason });
            }
            granules += description.descriptor_len() / GRANULE;
        }
        self.check_places(regions)?;
        if let Some(append) = request.append {
            if !regions.is_empty() {
                let (regions, limit) = (regions.len(), 0);
                return Err(PostError::TooManyRegions { destination: 0, regions, limit });
            }
            if append.shared.pd != self.pd {
                return Err(PostError::ProtectionDomain { destination: 0, region: 0 });
            }
            granules += AppendTarget::SIZE / GRANULE;
        }
        let needed = blocks(granules) as u32;
        let mut posted = self.state.posted();
        let head = posted.front().map_or(self.tail, |entry| entry.position);
        let free = self.state.blocks - self.tail.wrapping_sub(head);
        if needed > free {
            return Err(PostError::ReceiveQueueFull { needed, free });
        }
        self.completion_queue.reserve()?;
        self.write(request, granules);
        let position = self.tail;
        self.tail = self.tail.wrapping_add(needed);
        let hold = match (request.append, regions) {
            (Some(append), _) => Hold::Append(append.shared.clone()),
            (None, [region]) => region.hold.clone(),
            (None, regions) => {
                let holds = regions.iter().map(|region| region.hold.clone());
                Hold::all(holds.filter(|hold| !hold.is_nothing()).collect())
            }
        };
        let wr_id = request.wr_id;
        posted.push_back(Posted { position, wr_id, hold, done: false });
        Ok(())
    }

    fn write(&self, request: &ReceiveRequest<'_, '_>, granules: usize) {
        let blocks = self.state.blocks;
        let mut writer = Writer {
            ring: &self.state.ring,
            at: (self.tail & (blocks - 1)) as usize * BLOCK,
            size: blocks as usize * BLOCK,
        };
        let kinds = request.regions.iter().rev();
        let types = kinds.fold(0, |types: u32, region| types << 2 | region.region_type() as u32);
        let flags = if request.append.is_some() { receive_entry_flags::APPEND } else { 0 };
        writer.put(&words!(ReceiveHeader {
            magic: RECEIVE_MAGIC,
            flags: flags,
            regions: request.regions.len() as u16,
            granules: granules as u32,
            position: self.tail,
            types: types,
            wr_id: request.wr_id,
        }));
        for region in request.regions {
            writer.put(region.words());
        }
        if let Some(append) = request.append {
            writer.put(&words!(AppendTarget { append: append.shared.number }));
        }
    }
}

impl Drop for ReceiveQueue {
    fn drop(&mut self) {
        self.close();
        let mut hardware = self.context.inner.lock();
        hardware.retire(self.iova, self.state.ring.clone());
        hardware.receive_queues.put(self.state.number);
    }
}
