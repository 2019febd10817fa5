//! Queues in an endpoint's memory that its peers WRITE entries into.
//!
//! Each peer has two: of buffers with rows (ValidArr) and of buffers that are free again (FreeArr). An entry is 16 B: a
//! number, then a seal with the entry's lap, its kind and a buffer's index. So a queue needs no pointers: an entry is
//! there when its seal says the lap that is expected. The writer never has more entries under way than the queue has
//! places.

use std::{collections::VecDeque, sync::Arc};

use libdrdma::{Access, MemoryRegion, Operation, WorkRequest};

use crate::{
    Error,
    common::{Core, RemoteMemory, Sent, Work},
    connections::Connections,
};

/// Bytes of an entry.
const ENTRY: usize = 16;

/// What the entries of a queue report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queue {
    /// Buffers with rows.
    Valid = 0,
    /// Buffers that are free again.
    Free = 1,
}

/// An entry's kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A buffer, and the bytes in it.
    Buffer,
    /// The end of a stream, and its messages.
    End,
}

/// An entry of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub kind: Kind,
    pub index: u32,
    pub number: u64,
}

/// The queues of an endpoint, and its places in those of its peers.
#[derive(Debug)]
pub(crate) struct Rings {
    memory: Arc<MemoryRegion>,
    depth: u64,
    /// Entries read and written so far, by peer and queue.
    heads: Vec<[u64; 2]>,
    tails: Vec<[u64; 2]>,
    remote: Vec<RemoteMemory>,
    /// Entries for each peer that wait for a place in its queues.
    waiting: Vec<VecDeque<(Queue, Entry)>>,
}

impl Rings {
    /// Makes queues of `depth` entries.
    pub fn new(core: &Core, depth: u32) -> Result<Self, Error> {
        let nodes = core.member.nodes;
        let memory =
            core.pd.allocate_with(nodes * 2 * depth as usize * ENTRY, Access::REMOTE_WRITE)?;
        Ok(Self {
            memory: Arc::new(memory),
            depth: depth.into(),
            heads: vec![[0; 2]; nodes],
            tails: vec![[0; 2]; nodes],
            remote: vec![RemoteMemory::default(); nodes],
            waiting: vec![VecDeque::new(); nodes],
        })
    }

    pub fn memory(&self) -> &Arc<MemoryRegion> {
        &self.memory
    }

    pub fn pinned(&self) -> u64 {
        self.memory.len() as u64
    }

    pub fn connect(&mut self, peer: usize, remote: RemoteMemory) {
        self.remote[peer] = remote;
    }

    /// Where the entry of that number lies in the memory of an endpoint, written by node `writer`.
    fn offset(&self, writer: usize, queue: Queue, number: u64) -> usize {
        let place = (writer * 2 + queue as usize) as u64 * self.depth + number % self.depth;
        place as usize * ENTRY
    }

    /// The lap of an entry, from 1 on.
    fn lap(&self, number: u64) -> u64 {
        (number / self.depth + 1) & 0xffff_ffff
    }

    /// Takes the next entry that a peer wrote, if there is one.
    pub fn poll(&mut self, peer: usize, queue: Queue) -> Result<Option<Entry>, Error> {
        let number = self.heads[peer][queue as usize];
        let offset = self.offset(peer, queue, number);
        let word = |at: usize| {
            let mut bytes = [0; 8];
            self.memory.read_at(offset + at, &mut bytes);
            u64::from_le_bytes(bytes)
        };
        // The seal is written last, and read first.
        let seal = word(8);
        if seal >> 32 != self.lap(number) {
            return Ok(None);
        }
        let kind = match seal >> 24 & 0xff {
            0 => Kind::Buffer,
            1 => Kind::End,
            _ => {
                let what = "an entry of a queue";
                return Err(Error::Garbled { node: peer, what, value: seal });
            }
        };
        self.heads[peer][queue as usize] += 1;
        Ok(Some(Entry { kind, index: seal as u32 & 0xff_ffff, number: word(0) }))
    }

    /// The next entry to a peer: where it goes, and its bytes. [`wrote`](Self::wrote) records that it went.
    pub fn next(
        &self,
        me: usize,
        peer: usize,
        queue: Queue,
        entry: Entry,
    ) -> (Operation, [u8; ENTRY]) {
        let number = self.tails[peer][queue as usize];
        let RemoteMemory { addr, rkey } = self.remote[peer];
        let remote_addr = addr + self.offset(me, queue, number) as u64;
        let seal = self.lap(number) << 32 | (entry.kind as u64) << 24 | u64::from(entry.index);
        let mut bytes = [0; ENTRY];
        bytes[..8].copy_from_slice(&entry.number.to_le_bytes());
        bytes[8..].copy_from_slice(&seal.to_le_bytes());
        (Operation::Write { remote_addr, rkey }, bytes)
    }

    pub fn wrote(&mut self, peer: usize, queue: Queue) {
        self.tails[peer][queue as usize] += 1;
    }

    /// Queues an entry to a peer, which is written now or with [`flush`](Self::flush).
    pub fn tell(&mut self, peer: usize, queue: Queue, entry: Entry) {
        self.waiting[peer].push_back((queue, entry));
    }

    /// Writes the entries that wait, as far as there is room.
    pub fn flush(&mut self, core: &mut Core, connections: &mut Connections) -> Result<(), Error> {
        for peer in core.peers() {
            while let Some((queue, entry)) = self.waiting[peer].front().copied() {
                let (write, bytes) = self.next(core.member.node, peer, queue, entry);
                let name = Work::Control.name(peer, 0);
                let request = WorkRequest::new(name).operation(write).inline(&bytes);
                if connections.post(core, peer, &request)? == Sent::NotNow {
                    break;
                }
                core.statistics.control_messages += 1;
                self.wrote(peer, queue);
                self.waiting[peer].pop_front();
            }
        }
        Ok(())
    }

    /// True if no entry waits.
    pub fn is_idle(&self) -> bool {
        self.waiting.iter().all(VecDeque::is_empty)
    }
}
