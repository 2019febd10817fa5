//! Requests that only a card that receives executes: READs, atomics, SENDs that invalidate a key,
//! fences, datagrams with an address of their own (docs/semantics.md, "Requests of a card that
//! receives").
//!
//! The entry of such a request is one of a card that only sends, with further opcodes and flags,
//! and granules between its head and its destination. Without these it is checked as any other.

use drdma_abi::{
    Layout as _,
    completion::Status,
    receive::{AddressHandle, AtomicOperands, ReliableOpcode, request_flags},
    roce::Transport,
    work_request::{GRANULE, MAX_MESSAGE, MessageLayout, Opcode, WqeHeader, flags},
};

use crate::{
    checks::{self, Directory, Posted},
    failure::{Failure, Reason, refuse},
    memory::HostMemory,
    packets::MASK_24,
    request::Request,
    scatter::Target,
};

/// Options of a request beside those of [`Request`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// The request waits for the READs and atomics before it.
    pub fence: bool,
    /// The receiver's completion is a solicited one.
    pub solicited: bool,
    /// The remote key that a SEND invalidates.
    pub invalidate: Option<u32>,
    /// Destination of a datagram.
    pub address: Option<AddressHandle>,
}

/// Data that a request asks a peer for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetch {
    /// Bytes of the peer's memory.
    Read {
        /// Number of bytes.
        len: u32,
    },
    /// A compare and swap.
    CompareAndSwap(AtomicOperands),
    /// A fetch and add.
    FetchAndAdd(AtomicOperands),
}

/// A request that passed checks 1 and 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extended {
    /// The request as a card that only sends knows it; for a READ or an atomic, a SEND of its
    /// regions.
    pub request: Request,
    /// Further options of the request.
    pub extras: Extras,
    /// The data that it asks for, and the regions that the answer fills.
    pub fetch: Option<(Fetch, Target)>,
}

/// Returns the head as a card that only sends knows it. A shared queue has nothing else.
fn plain(head: &WqeHeader, posted: &Posted) -> WqeHeader {
    if posted.owner.is_none() {
        return *head;
    }
    let opcode = match ReliableOpcode::from_code(head.opcode) {
        Some(_) => Opcode::Send as u8,
        None => head.opcode,
    };
    WqeHeader { opcode, flags: head.flags & !request_flags::ALL, ..*head }
}

/// Check 1: the head of an entry.
///
/// # Errors
/// The errors of [`checks::check_head`].
pub fn check_head(bytes: &[u8; WqeHeader::SIZE], posted: &Posted) -> Result<WqeHeader, Failure> {
    let head = WqeHeader::decode(bytes);
    checks::check_head(&plain(&head, posted).to_bytes(), posted)?;
    let answered = matches!(
        ReliableOpcode::from_code(head.opcode),
        Some(opcode) if opcode != ReliableOpcode::SendInvalidate
    );
    if answered && head.flags & flags::INLINE != 0 {
        // The answer needs a region to be written to.
        return refuse(Reason::Head { field: "flags", value: head.flags.into() });
    }
    Ok(head)
}

/// Checks 1 and 2: a whole entry, as many granules as its head says.
///
/// # Errors
/// The first check that fails; those of [`checks::check_entry`] are made first.
pub fn check_entry<M: HostMemory + ?Sized>(
    entry: &[u8],
    posted: &Posted,
    max_rd_atomic: u8,
    directory: &dyn Directory,
    memory: &M,
) -> Result<Extended, Failure> {
    let long = || Reason::Length { granules: (entry.len() / GRANULE) as u32 };
    let Some(bytes) = entry.first_chunk() else { return refuse(long()) };
    let head = check_head(bytes, posted)?;
    let opcode = ReliableOpcode::from_code(head.opcode).filter(|_| posted.owner.is_some());
    let flag = |flag| posted.owner.is_some() && head.flags & flag != 0;
    let mut rest = &entry[WqeHeader::SIZE..];
    let mut take = |size: usize| {
        let (taken, after) = rest.split_at_checked(size)?;
        rest = after;
        Some(taken)
    };
    let mut extras = Extras {
        fence: flag(request_flags::FENCE),
        solicited: flag(request_flags::SOLICITED),
        invalidate: (opcode == Some(ReliableOpcode::SendInvalidate)).then_some(head.imm),
        address: None,
    };
    if flag(request_flags::ADDRESS) {
        let Some(bytes) = take(AddressHandle::SIZE) else { return refuse(long()) };
        let address = AddressHandle::decode(bytes);
        check_address(&address)?;
        extras.address = Some(address);
    }
    let mut operands = AtomicOperands::default();
    if opcode.is_some_and(ReliableOpcode::is_atomic) {
        let Some(bytes) = take(AtomicOperands::SIZE) else { return refuse(long()) };
        operands = AtomicOperands::decode(bytes);
    }
    let taken = entry.len() - WqeHeader::SIZE - rest.len();
    let mut plain = plain(&head, posted);
    plain.granules = head.granules.saturating_sub((taken / GRANULE) as u32);
    let request = checks::check_entry(&[&plain.to_bytes(), rest].concat(), posted, directory)?;

    let qp = request.destinations[0].qp;
    let fails = |status, reason| Failure { status, destination: 0, queue_pair: Some(qp), reason };
    let transport = directory.queue_pair(qp).map(|queue_pair| queue_pair.transport);
    let problem = |problem| fails(Status::LocalQpOperationError, Reason::QueuePair { qp, problem });
    if (opcode.is_some() || extras.fence) && transport != Some(Transport::Rc) {
        return Err(problem("is not reliable"));
    }
    if extras.address.is_some() && transport != Some(Transport::Ud) {
        return Err(problem("is connected: its requests have no address of their own"));
    }
    let Some(opcode) = opcode.filter(|opcode| *opcode != ReliableOpcode::SendInvalidate) else {
        return Ok(Extended { request, extras, fetch: None });
    };
    if max_rd_atomic == 0 {
        return Err(problem("may have no READ and no atomic outstanding"));
    }
    let layout = request.destinations[0].layout;
    if layout != MessageLayout::Rows {
        // The answer fills the regions from the first byte on.
        let (field, value) = ("message_layout", layout as u64);
        return refuse(Reason::Destination { field, value });
    }
    let regions = request.destinations[0].regions.clone();
    let target = Target::check(regions, request.row_mask, posted.pd, directory, memory)
        .map_err(|status| fails(status, Reason::Target))?;
    let len = target.capacity;
    let limit = if opcode.is_atomic() { 8 } else { MAX_MESSAGE };
    if len > u128::from(limit) || (opcode.is_atomic() && len != 8) {
        return Err(fails(Status::LocalLengthError, Reason::MessageLength { len, limit }));
    }
    let fetch = match opcode {
        ReliableOpcode::CompareAndSwap => Fetch::CompareAndSwap(operands),
        ReliableOpcode::FetchAndAdd => Fetch::FetchAndAdd(operands),
        _ => Fetch::Read { len: len as u32 },
    };
    Ok(Extended { request, extras, fetch: Some((fetch, target)) })
}

fn check_address(address: &AddressHandle) -> Result<(), Failure> {
    let tests = [
        ("dest_qpn", u64::from(address.dest_qpn), address.dest_qpn <= MASK_24),
        ("reserved", address.reserved.into(), address.reserved == 0),
        ("reserved2", address.reserved2, address.reserved2 == 0),
    ];
    match tests.iter().find(|(_, _, good)| !good) {
        Some((field, value, _)) => refuse(Reason::Address { field, value: *value }),
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "tests/reliable.rs"]
mod tests;
