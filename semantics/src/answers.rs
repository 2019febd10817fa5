//! Frames that belong to no message: acknowledgements, READs and atomics, and their answers;
//! congestion notifications.

use std::convert::Infallible;

use drdma_abi::roce::{Aeth, AtomicAckEth, AtomicEth, Bth, Reth, cnp, operation, syndrome};

use crate::{
    frame::read_operation,
    packets::{self, Flow, MASK_24},
};

fn bth(flow: &Flow, operation: u8, psn: u32, ack_req: u8) -> Bth {
    Bth {
        opcode: flow.transport.opcode_bits() | operation,
        migration: 1,
        pkey: flow.pkey,
        dest_qp: flow.dest_qpn & MASK_24,
        ack_req,
        psn: psn & MASK_24,
        ..Bth::default()
    }
}

fn without_payload(flow: &Flow, bth: Bth, headers: &[u8]) -> Vec<u8> {
    let Ok(frame) = packets::assemble(flow, bth, headers, 0, |_| Ok::<(), Infallible>(()));
    frame
}

/// Makes an ACK or a NAK: [`syndrome`], packet sequence number, number of messages completed.
pub fn acknowledgement(flow: &Flow, syndrome: u8, psn: u32, msn: u32) -> Vec<u8> {
    let aeth = Aeth { syndrome, msn: msn & MASK_24 };
    without_payload(flow, bth(flow, operation::ACKNOWLEDGE, psn, 0), &aeth.to_bytes())
}

/// Makes a congestion notification packet: its sender has received a packet that met congestion.
pub fn notification(flow: &Flow) -> Vec<u8> {
    let bth = Bth { opcode: cnp::OPCODE, resv8a: cnp::BECN, ..bth(flow, 0, 0, 0) };
    without_payload(flow, bth, &[0; cnp::PAYLOAD])
}

/// Makes the answer to an atomic.
pub fn atomic_answer(flow: &Flow, psn: u32, msn: u32, original: u64) -> Vec<u8> {
    let mut headers = Aeth { syndrome: syndrome::ACK | 31, msn: msn & MASK_24 }.to_bytes().to_vec();
    headers.extend(AtomicAckEth { original }.to_bytes());
    without_payload(flow, bth(flow, operation::ATOMIC_ACKNOWLEDGE, psn, 0), &headers)
}

/// Makes a READ request.
pub fn read_request(flow: &Flow, psn: u32, request: &Reth) -> Vec<u8> {
    without_payload(flow, bth(flow, read_operation::REQUEST, psn, 1), &request.to_bytes())
}

/// Makes an atomic request: compare and swap, or fetch and add.
pub fn atomic_request(flow: &Flow, psn: u32, swap: bool, request: &AtomicEth) -> Vec<u8> {
    let operation = if swap { operation::COMPARE_AND_SWAP } else { operation::FETCH_AND_ADD };
    without_payload(flow, bth(flow, operation, psn, 1), &request.to_bytes())
}

/// Makes a packet of a READ's answer.
///
/// # Errors
/// The error of `fill`; there is no frame then.
pub fn read_answer<E>(
    flow: &Flow,
    segment: &packets::Segment,
    psn: u32,
    msn: u32,
    fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
) -> Result<Vec<u8>, E> {
    let operation = match (segment.first, segment.last) {
        (true, true) => read_operation::RESPONSE_ONLY,
        (true, false) => read_operation::RESPONSE_FIRST,
        (false, false) => read_operation::RESPONSE_MIDDLE,
        (false, true) => read_operation::RESPONSE_LAST,
    };
    let aeth = Aeth { syndrome: syndrome::ACK | 31, msn: msn & MASK_24 }.to_bytes();
    let headers = if segment.first || segment.last { &aeth[..] } else { &[] };
    packets::assemble(flow, bth(flow, operation, psn, 0), headers, segment.len as usize, fill)
}
