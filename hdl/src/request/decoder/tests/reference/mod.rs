//! The decoder in plain Rust, written from `docs/semantics.md` and `docs/architecture.md`.

mod entry;
mod function;
mod reader;
mod regions;
mod requests;

use crate::request::PART;
use drdma_abi::Layout;
use drdma_abi::completion::Status;
use drdma_abi::receive::AddressHandle;
use drdma_abi::register::{MemoryRegionEntry, QueuePairEntry, SendQueueEntry};
use drdma_abi::work_request::{BLOCK, WqeHeader, blocks, flags};
use requests::apart;
pub use requests::{Column, Dest, Function, Key, Lane, Records, Request, Set, Source, Special};
use std::collections::HashSet;

/// Blocks of one doorbell.
#[derive(Clone, Debug)]
pub struct Batch {
    pub queue: u8,
    pub position: u32,
    pub bytes: Vec<u8>,
    /// Blocks that could not be read.
    pub unread: HashSet<usize>,
    /// The part of a message that its only entry stands for.
    pub part: Part,
}

/// The part of a message that a block stands for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Part {
    /// Beginning of the part, in units.
    pub first: u64,
    pub log_units: u64,
    pub pauses: bool,
}

impl Part {
    /// The part's fields as a block of the entry carries them.
    pub fn block(self, last: bool) -> u64 {
        self.first | self.log_units << PART | u64::from(self.pauses && last) << (PART + 2)
    }
}

/// Tables of the card, as the decoder knows them.
#[derive(Clone, Debug)]
pub struct Card {
    pub regions: Vec<MemoryRegionEntry>,
    pub queue_pairs: Vec<QueuePairEntry>,
    pub queues: Vec<SendQueueEntry>,
    pub qp_errors: HashSet<u8>,
    pub stopped: HashSet<u8>,
}

struct Failure {
    status: Status,
    dest: usize,
    qp: Option<u32>,
}

const OPERATION: Status = Status::LocalQpOperationError;

impl Card {
    /// The requests of a batch.
    pub fn decode(&mut self, batch: &Batch) -> Vec<Request> {
        let (mut at, total) = (0, batch.bytes.len() / BLOCK);
        let mut requests = Vec::new();
        while at < total && !self.stopped.contains(&batch.queue) {
            let head = WqeHeader::decode(&batch.bytes[at * BLOCK..]);
            let mut request = Request {
                queue: batch.queue,
                wr_id: if batch.unread.contains(&at) { 0 } else { head.wr_id },
                position: batch.position.wrapping_add(at as u32),
                unsignaled: (!batch.unread.contains(&at))
                    .then_some(head.flags & flags::UNSIGNALED != 0),
                status: 0,
                bad_dest: 0,
                qp_error: None,
                fetch: None,
                apart: false,
                address: None,
                function: None,
                dests: Vec::new(),
            };
            match self.entry(batch, at, &head) {
                Ok(Decoded { dests, address, function }) => {
                    request.address = address;
                    request.function = function;
                    request.fetch = (head.flags & flags::FETCH_PLAN != 0)
                        .then(|| (1 << head.fetch_log_max_read, head.fetch_merge_threshold.into()));
                    request.apart = apart(&dests);
                    request.dests = dests;
                }
                Err(failure) => {
                    request.status = failure.status as u8;
                    request.bad_dest = failure.dest as u8;
                    request.qp_error = failure.qp.map(|qp| qp as u8);
                    self.stopped.insert(batch.queue);
                }
            }
            requests.push(request);
            at += blocks(head.granules as usize);
        }
        requests
    }
}

/// Contents of an entry without errors.
struct Decoded {
    dests: Vec<Dest>,
    address: Option<AddressHandle>,
    function: Option<Function>,
}
