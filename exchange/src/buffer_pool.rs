//! A pool: buffers that the endpoints of a node share, lent to those that are short of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use libdrdma::{Access, Context, MemoryRegion, ProtectionDomain};

use crate::{
    Error,
    config::{ConfigError, MAX_MESSAGE},
    datagram::ROUTE,
};

/// Buffers of a pool, at most.
pub const MAX_POOL_BUFFERS: u32 = 16384;

/// Memory that the endpoints of a node share (Liu et al., TODS 2019, section 6.2).
///
/// An endpoint that is opened with a pool ([`Opening::with_pool`](crate::Opening::with_pool)) has
/// [`receive_buffers`](crate::Config::receive_buffers) for each peer and [`send_buffers`](crate::Config::send_buffers)
/// of its own, which are reserved in the pool when it is opened. What is left is lent: to send from where an endpoint
/// has no free buffer, and to receive into where a consumer finds nothing and a peer's credit is used up. It comes back
/// when several buffers are free.
///
/// All of the memory is registered when the pool is made, and none later. Clones are the same pool.
#[derive(Clone, Debug)]
pub struct BufferPool {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    pd: ProtectionDomain,
    memory: Arc<MemoryRegion>,
    message: u32,
    buffers: u32,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    free: Vec<u32>,
    /// Buffers that no endpoint has reserved.
    lendable: u32,
    /// Number of borrowers: two an endpoint, to send and to receive.
    borrowers: u32,
    /// Requests that found no buffer, of borrowers with less than their share, and that have not been made good yet.
    missed: u32,
    most_used: u32,
}

impl BufferPool {
    /// Makes a pool for messages of `message` bytes, of as many buffers as fit into `bytes`. A buffer takes 40 B beside
    /// its message.
    ///
    /// # Errors
    /// A message or a number of buffers outside its limits, or the memory was not registered.
    pub fn new(context: &Context, message: u32, bytes: u64) -> Result<Self, Error> {
        let check = |what, value: u64, least, most: u32| match value {
            value if value >= u64::from(least) && value <= u64::from(most) => Ok(value as u32),
            value => {
                let value = u32::try_from(value).unwrap_or(u32::MAX);
                Err(ConfigError { what, value, least, most })
            }
        };
        let message = check("message", message.into(), 16, MAX_MESSAGE)?;
        let fit = bytes / Self::stride_of(message) as u64;
        let buffers = check("buffers of the pool", fit, 1, MAX_POOL_BUFFERS)?;
        let pd = context.protection_domain();
        let len = buffers as usize * Self::stride_of(message);
        let memory = Arc::new(pd.allocate_with(len, Access::LOCAL_WRITE)?);
        let state = State {
            free: (0..buffers).rev().collect(),
            lendable: buffers,
            borrowers: 0,
            missed: 0,
            most_used: 0,
        };
        Ok(Self { shared: Arc::new(Shared { pd, memory, message, buffers, state: state.into() }) })
    }

    fn stride_of(message: u32) -> usize {
        message as usize + ROUTE
    }

    /// Bytes of a message.
    pub fn message(&self) -> u32 {
        self.shared.message
    }

    /// Number of buffers of the pool.
    pub fn buffers(&self) -> u32 {
        self.shared.buffers
    }

    /// Buffers that no endpoint has at present.
    pub fn free(&self) -> u32 {
        self.state().free.len() as u32
    }

    /// The largest number of buffers that endpoints have had at a time.
    pub fn most_used(&self) -> u32 {
        self.state().most_used
    }

    /// Bytes of memory that the pool has pinned.
    pub fn pinned_bytes(&self) -> u64 {
        self.shared.memory.len() as u64
    }

    /// The protection domain of the pool's memory, and so of its endpoints.
    pub(crate) fn protection_domain(&self) -> &ProtectionDomain {
        &self.shared.pd
    }

    pub(crate) fn memory(&self) -> &Arc<MemoryRegion> {
        &self.shared.memory
    }

    /// Bytes from a buffer to the next one.
    pub(crate) fn stride(&self) -> usize {
        Self::stride_of(self.shared.message)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves buffers for an endpoint's life, as one who may borrow more.
    pub(crate) fn reserve(&self, needed: u32) -> Result<Vec<u32>, Error> {
        let mut state = self.state();
        let free = state.free.len();
        let Some(first) = free.checked_sub(needed as usize) else {
            let buffers = self.buffers();
            return Err(Error::PoolReserve { needed, free: free as u32, buffers });
        };
        state.borrowers += 1;
        state.lendable -= needed;
        let reserved = state.free.split_off(first);
        state.note(self.buffers());
        Ok(reserved)
    }

    /// Lends a buffer to a borrower that has `borrowed` already.
    pub(crate) fn borrow(&self, borrowed: u32) -> Option<u32> {
        let mut state = self.state();
        let is_below = borrowed < state.share();
        if state.missed > 0 && !is_below {
            return None;
        }
        let buffer = state.free.pop();
        match buffer {
            Some(_) => state.note(self.buffers()),
            None if is_below => state.missed = (state.missed + 1).min(self.shared.buffers),
            None => {}
        }
        buffer
    }

    /// True if a borrower with `borrowed` buffers has more than its share while another one found none.
    pub(crate) fn wants_back(&self, borrowed: u32) -> bool {
        let state = self.state();
        state.missed > 0 && borrowed > state.share()
    }

    /// Takes back a buffer that was lent.
    pub(crate) fn give_back(&self, buffer: u32) {
        let mut state = self.state();
        state.free.push(buffer);
        state.missed = state.missed.saturating_sub(1);
    }

    /// Removes a borrower: takes back the buffers that it had reserved and borrowed.
    pub(crate) fn leave(&self, reserved: u32, buffers: impl IntoIterator<Item = u32>) {
        let mut state = self.state();
        state.borrowers -= 1;
        state.lendable += reserved;
        state.free.extend(buffers);
    }
}

impl State {
    /// Buffers that each borrower gets of the lent ones, if all want some.
    fn share(&self) -> u32 {
        self.lendable / self.borrowers.max(1)
    }

    fn note(&mut self, buffers: u32) {
        self.most_used = self.most_used.max(buffers - self.free.len() as u32);
    }
}
