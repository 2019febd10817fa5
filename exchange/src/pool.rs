//! Buffers to send from.

use std::{collections::HashSet, sync::Arc};

use libdrdma::{Access, Contiguous, MemoryRegion, ProtectionDomain, Region};

use crate::{BufferPool, Error, write::TRAILER};

/// A buffer to send from. It is filled row by row, and then put ([`Endpoint::put`](crate::Endpoint::put)). One that is
/// dropped instead stays taken as long as its endpoint lives.
#[derive(Debug)]
#[must_use = "a buffer that is not put stays taken"]
pub struct Buffer {
    pub(crate) index: u32,
    memory: Arc<MemoryRegion>,
    first: usize,
    len: usize,
    capacity: usize,
}

impl Buffer {
    /// Bytes of rows in the buffer.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if the buffer has no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes that still fit into the buffer.
    pub fn room(&self) -> usize {
        self.capacity - self.len
    }

    /// Appends a row and returns true, or appends nothing and returns false if it does not fit.
    pub fn append(&mut self, row: &[u8]) -> bool {
        let fits = row.len() <= self.room();
        if fits {
            self.memory.store_at(self.first + self.len, row);
            self.len += row.len();
        }
        fits
    }
}

/// The buffers of an endpoint.
#[derive(Debug)]
pub(crate) struct Pool {
    memory: Arc<MemoryRegion>,
    message: usize,
    /// Bytes from a buffer to the next one.
    stride: usize,
    /// Pool that more buffers are borrowed from, and the number of borrowed ones.
    shared: Option<BufferPool>,
    borrowed: u32,
    /// Buffers that the endpoint has at least, and at most.
    own: u32,
    most: u32,
    free: Vec<u32>,
    /// Destinations that a buffer is still needed for.
    needed: Vec<u32>,
    /// Buffers whose rows the engine reads, as they are for its own node.
    read: HashSet<u32>,
}

impl Pool {
    /// Makes `buffers` buffers, which peers may READ if `access` lets them.
    pub fn new(
        pd: &ProtectionDomain,
        buffers: u32,
        message: u32,
        access: Access,
    ) -> Result<Self, Error> {
        let message = message as usize;
        let len = buffers as usize * (message + TRAILER);
        // The application writes to them while the card reads others.
        let memory = match access.is_empty() {
            true => pd.allocate_shared(len)?,
            false => pd.allocate_with(len, access | Access::LOCAL_WRITE)?,
        };
        let (memory, needed) = (Arc::new(memory), vec![0; buffers as usize]);
        Ok(Self {
            memory,
            message,
            stride: Self::place(message as u32, 1),
            shared: None,
            borrowed: 0,
            own: buffers,
            most: buffers,
            free: (0..buffers).rev().collect(),
            needed,
            read: HashSet::new(),
        })
    }

    /// Reserves `buffers` buffers of a pool, and may borrow more, up to `most` in all.
    pub fn of(pool: &BufferPool, buffers: u32, most: u32) -> Result<Self, Error> {
        Ok(Self {
            memory: pool.memory().clone(),
            message: pool.message() as usize,
            stride: pool.stride(),
            shared: Some(pool.clone()),
            borrowed: 0,
            own: buffers,
            most,
            free: pool.reserve(buffers)?,
            needed: vec![0; pool.buffers() as usize],
            read: HashSet::new(),
        })
    }

    /// Buffers that the endpoint has at present.
    pub fn held(&self) -> u32 {
        self.own + self.borrowed
    }

    /// Bytes of memory that are pinned for this endpoint alone.
    pub fn pinned(&self) -> u64 {
        if self.shared.is_some() { 0 } else { self.memory.len() as u64 }
    }

    pub fn memory(&self) -> &Arc<MemoryRegion> {
        &self.memory
    }

    /// Offset of a buffer in the memory of an endpoint whose messages have `message` bytes.
    pub fn place(message: u32, index: u32) -> usize {
        index as usize * (message as usize + TRAILER)
    }

    /// Offset of a buffer in the memory.
    pub fn offset(&self, index: u32) -> usize {
        index as usize * self.stride
    }

    /// True if one of the endpoint's buffers is free.
    pub fn has_free(&self) -> bool {
        !self.free.is_empty()
    }

    /// Borrows a buffer, if the endpoint may have more and the pool lends one.
    pub fn borrow(&mut self) {
        let pool = self.shared.as_ref().filter(|_| self.held() < self.most);
        if let Some(buffer) = pool.and_then(|pool| pool.borrow(self.borrowed)) {
            self.borrowed += 1;
            self.free.push(buffer);
        }
    }

    pub fn take(&mut self) -> Option<Buffer> {
        let index = self.free.pop()?;
        let (memory, first) = (self.memory.clone(), self.offset(index));
        Some(Buffer { index, memory, first, len: 0, capacity: self.message })
    }

    /// Records that a buffer is needed for `destinations` destinations.
    pub fn need(&mut self, index: u32, destinations: u32) {
        self.needed[index as usize] = destinations;
        if destinations == 0 {
            self.put_back(index);
        }
    }

    /// A buffer is free. One is kept for the next time; further ones that were borrowed go back.
    fn put_back(&mut self, index: u32) {
        match &self.shared {
            Some(pool) if self.borrowed > 0 && !self.free.is_empty() => {
                pool.give_back(index);
                self.borrowed -= 1;
            }
            _ => self.free.push(index),
        }
    }

    /// Records that the engine reads a buffer's rows, or does not any longer.
    pub fn is_read(&mut self, index: u32, read: bool) {
        if read {
            self.read.insert(index)
        } else {
            self.read.remove(&index)
        };
    }

    /// Records that one destination less needs the buffer; false if none needed it.
    pub fn done(&mut self, index: u32) -> bool {
        let Some(needed) = self.needed.get_mut(index as usize).filter(|needed| **needed > 0) else {
            return false;
        };
        *needed -= 1;
        if *needed == 0 {
            self.put_back(index);
        }
        true
    }

    /// The region of the first `len` bytes of a buffer.
    pub fn region(&self, index: u32, len: usize) -> Result<Region<'static>, Error> {
        let first = self.offset(index) as u64;
        Ok(Contiguous::new(&self.memory).offset(first).len(len as u64).build()?)
    }

    /// Writes behind the data of a buffer.
    pub fn store(&self, index: u32, at: usize, bytes: &[u8]) {
        self.memory.store_at(self.offset(index) + at, bytes);
    }

    /// True if no buffer is needed for a destination.
    pub fn is_idle(&self) -> bool {
        self.needed.iter().all(|needed| *needed == 0)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // The queue pairs are gone. Buffers that the engine fills or reads stay taken.
        if let Some(pool) = &self.shared {
            let is_sent =
                |index: &u32| self.needed[*index as usize] > 0 && !self.read.contains(index);
            let sent = (0..self.needed.len() as u32).filter(is_sent);
            pool.leave(self.own, sent.chain(self.free.iter().copied()));
        }
    }
}
