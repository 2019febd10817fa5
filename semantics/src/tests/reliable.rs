use drdma_abi::{
    receive::rights,
    register::MemoryRegionEntry,
    work_request::{BLOCK, blocks},
};

use super::*;
use crate::{
    checks::QueuePair,
    memory::Segments,
    region::{Region, RowMask},
    request::{self, Destination},
};

/// A directory with one key, of 64 B at 0x1000; queue pair 0 is RC, 1 UC, 2 UD.
struct Card;

impl Directory for Card {
    fn memory_region(&self, lkey: u32) -> Option<MemoryRegionEntry> {
        let rights = rights::LOCAL_WRITE;
        let entry = MemoryRegionEntry { addr: 0x1000, len: 64, lkey: 1, rights, pd: 3, valid: 1 };
        (lkey == 1).then_some(entry)
    }

    fn queue_pair(&self, qp: u32) -> Option<QueuePair> {
        let transport = Transport::from_code(qp as u8)?;
        Some(QueuePair { ready: true, error: false, transport, mtu: 256, pd: 3 })
    }
}

/// Makes an entry of queue pair `qp` for a region of `len` bytes, with an opcode, flags, and the
/// granules behind the head.
fn entry(qp: u32, opcode: u8, flags: u8, len: u32, behind: &[u8]) -> Vec<u8> {
    let regions = vec![Region::Contiguous { addr: 0x1000, len, lkey: 1 }];
    let regions = if len == 0 { vec![] } else { regions };
    let request = Request {
        wr_id: 9,
        opcode: Opcode::Send,
        imm: 77,
        row_mask: RowMask::Period,
        rows_per_message: 1,
        signaled: true,
        fetch: None,
        inline: None,
        partitioned: None,
        destinations: vec![Destination {
            qp,
            remote_addr: 5,
            rkey: 6,
            partition: 0,
            layout: MessageLayout::Rows,
            remote_columns: vec![],
            regions,
        }],
    };
    let mut bytes = request::encode(&request, 0);
    let head = WqeHeader::decode(&bytes);
    bytes.truncate(head.granules as usize * GRANULE);
    bytes.splice(WqeHeader::SIZE..WqeHeader::SIZE, behind.iter().copied());
    let granules = (bytes.len() / GRANULE) as u32;
    WqeHeader { opcode, flags: head.flags | flags, granules, ..head }.encode(&mut bytes);
    bytes
}

fn check_with(bytes: &[u8], qp: Option<u32>, max_rd_atomic: u8) -> Result<Extended, Failure> {
    let posted =
        Posted { position: 0, blocks: blocks(bytes.len() / GRANULE) as u32, owner: qp, pd: 3 };
    check_entry(bytes, &posted, max_rd_atomic, &Card, &Segments::new())
}

fn check(qp: u32, bytes: &[u8]) -> Result<Extended, Failure> {
    check_with(bytes, Some(qp), 1)
}

fn refused(qp: u32, bytes: &[u8]) -> String {
    check(qp, bytes).unwrap_err().to_string()
}

const ATOMIC: AtomicOperands = AtomicOperands { swap_or_add: 1, compare: 2 };
const READ: u8 = ReliableOpcode::Read as u8;
const SWAP: u8 = ReliableOpcode::CompareAndSwap as u8;
const ADD: u8 = ReliableOpcode::FetchAndAdd as u8;
const INVALIDATE: u8 = ReliableOpcode::SendInvalidate as u8;

#[test]
fn what_an_entry_says_is_read() {
    let read = check(0, &entry(0, READ, request_flags::FENCE, 64, &[])).unwrap();
    assert!(read.extras.fence && !read.extras.solicited);
    assert_eq!(read.fetch.unwrap().0, Fetch::Read { len: 64 });
    assert_eq!((read.request.wr_id, read.request.destinations[0].rkey), (9, 6));
    let swap = check(0, &entry(0, SWAP, 0, 8, &ATOMIC.to_bytes())).unwrap();
    assert_eq!(swap.fetch.unwrap().0, Fetch::CompareAndSwap(ATOMIC));
    let add = check(0, &entry(0, ADD, 0, 8, &ATOMIC.to_bytes())).unwrap();
    assert_eq!(add.fetch.unwrap().0, Fetch::FetchAndAdd(ATOMIC));
    let send = check(0, &entry(0, INVALIDATE, request_flags::SOLICITED, 64, &[])).unwrap();
    assert_eq!((send.extras.invalidate, send.extras.solicited), (Some(77), true));
    let address = AddressHandle { dest_qpn: 3, qkey: 4, ..AddressHandle::default() };
    let to = entry(2, 0, request_flags::ADDRESS, 64, &address.to_bytes());
    assert_eq!(check(2, &to).unwrap().extras.address, Some(address));
    assert_eq!(
        check(0, &entry(0, READ, 0, 0, &[])).unwrap().fetch.unwrap().0,
        Fetch::Read { len: 0 }
    );
}

#[test]
fn what_fills_regions_has_no_payload_of_its_own() {
    let inline = |opcode, behind: &[u8]| {
        let mut bytes = entry(0, opcode, flags::INLINE, 0, behind);
        let at = WqeHeader::SIZE + behind.len();
        let mut destination = drdma_abi::work_request::Destination::decode(&bytes[at..]);
        destination.inline_bytes = 3;
        destination.encode(&mut bytes[at..]);
        bytes.extend([7; GRANULE]);
        let head = WqeHeader::decode(&bytes);
        WqeHeader { granules: head.granules + 1, ..head }.encode(&mut bytes);
        bytes
    };
    let send = check(0, &inline(INVALIDATE, &[])).unwrap();
    assert_eq!((send.request.inline, send.extras.invalidate), (Some(vec![7; 3]), Some(77)));
    for opcode in [READ, SWAP, ADD] {
        let operands = if opcode == READ { vec![] } else { ATOMIC.to_bytes().to_vec() };
        let refusal = refused(0, &inline(opcode, &operands));
        assert!(refusal.ends_with("the head's flags is 0x10"), "{refusal}");
    }
}

#[test]
fn only_the_transports_that_can_may() {
    for opcode in [READ, INVALIDATE] {
        for qp in [1, 2] {
            let refusal = refused(qp, &entry(qp, opcode, 0, 8, &[]));
            assert!(refusal.ends_with(&format!("queue pair {qp} is not reliable")), "{refusal}");
        }
    }
    assert!(refused(1, &entry(1, 0, request_flags::FENCE, 8, &[])).ends_with("is not reliable"));
    let address = AddressHandle::default().to_bytes();
    for qp in [0, 1] {
        let refusal = refused(qp, &entry(qp, 0, request_flags::ADDRESS, 8, &address));
        assert!(refusal.contains("is connected"), "{refusal}");
    }
}

#[test]
fn lengths_and_limits_are_checked() {
    let long = "a message of 9 B is longer than 8 B";
    assert!(refused(0, &entry(0, ADD, 0, 9, &ATOMIC.to_bytes())).ends_with(long));
    let failure = check(0, &entry(0, ADD, 0, 7, &ATOMIC.to_bytes())).unwrap_err();
    assert_eq!((failure.status, failure.queue_pair), (Status::LocalLengthError, Some(0)));
    let failure = check(0, &entry(0, READ, 0, 65, &[])).unwrap_err();
    assert_eq!(failure.status, Status::LocalProtectionError);
    let failure = check_with(&entry(0, READ, 0, 64, &[]), Some(0), 0).unwrap_err();
    assert_eq!(failure.status, Status::LocalQpOperationError);
}

#[test]
fn entries_that_end_too_early_or_have_what_they_may_not_are_refused() {
    for (opcode, flags) in [(ADD, 0), (0, request_flags::ADDRESS)] {
        let whole = entry(0, opcode, flags, 0, &[]);
        for granules in 2..whole.len() / GRANULE {
            let mut short = whole[..granules * GRANULE].to_vec();
            let head = WqeHeader { granules: granules as u32, ..WqeHeader::decode(&short) };
            head.encode(&mut short);
            assert!(check(0, &short).is_err(), "{granules} granules");
        }
    }
    for (address, text) in [
        (AddressHandle { dest_qpn: 1 << 24, ..Default::default() }, "dest_qpn is 0x1000000"),
        (AddressHandle { reserved: 1, ..Default::default() }, "reserved is 0x1"),
        (AddressHandle { reserved2: 2, ..Default::default() }, "reserved2 is 0x2"),
    ] {
        let refusal = refused(2, &entry(2, 0, request_flags::ADDRESS, 8, &address.to_bytes()));
        assert!(refusal.ends_with(&format!("the address handle's {text}")), "{refusal}");
    }
    assert!(refused(0, &entry(0, 4, 0, 8, &[])).ends_with("the head's opcode is 0x4"));
}

#[test]
fn a_shared_queue_has_none_of_this() {
    for (opcode, flags, field) in [(READ, 0, "opcode"), (0, request_flags::FENCE, "flags")] {
        let bytes = entry(0, opcode, flags, 8, &[]);
        let refusal = check_with(&bytes, None, 1).unwrap_err().to_string();
        assert!(refusal.contains(field), "{refusal}");
        // A card that only sends does not have them, either.
        let posted =
            Posted { position: 0, blocks: (BLOCK / GRANULE) as u32, owner: Some(0), pd: 3 };
        assert!(checks::check_head(bytes.first_chunk().unwrap(), &posted).is_err());
    }
}
