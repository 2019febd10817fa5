//! Answers of a peer: acknowledgements, and the data that READs and atomics ask for.

use std::convert::Infallible;

use drdma_abi::roce::{AtomicEth, operation, syndrome};
use drdma_semantics::{
    answers,
    frame::{Frame, read_operation},
    packets::{Flow, segments},
};

use super::{peer::PeerError, sparse::SparseMemory};

/// Number of bytes that an atomic changes; its address is a multiple of it.
const ATOMIC_BYTES: u32 = 8;

/// Answer of a peer to a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// No answer.
    Nothing,
    /// An ACK or a NAK.
    Acknowledgement(Vec<u8>),
    /// The packets that answer a READ or an atomic.
    Data(Vec<Vec<u8>>),
}

/// Counts of the READs and atomics that a peer answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answered {
    /// Number of READs.
    pub reads: u64,
    /// Number of bytes of the READs.
    pub read_bytes: u64,
    /// Number of atomics.
    pub atomics: u64,
}

/// A READ or an atomic request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Question {
    Read { addr: u64, len: u32, rkey: u32 },
    CompareAndSwap(AtomicEth),
    FetchAndAdd(AtomicEth),
}

impl Question {
    /// Decodes the READ or atomic request of a packet; `None` if it is another packet.
    pub(super) fn of(frame: &Frame<'_>) -> Option<Self> {
        match frame.operation() {
            read_operation::REQUEST => frame.reth.map(|reth| Self::Read {
                addr: reth.virtual_address,
                len: reth.dma_length,
                rkey: reth.rkey,
            }),
            operation::COMPARE_AND_SWAP => frame.atomic.map(Self::CompareAndSwap),
            operation::FETCH_AND_ADD => frame.atomic.map(Self::FetchAndAdd),
            _ => None,
        }
    }

    /// Address, length in bytes and remote key of the request.
    pub(super) fn place(&self) -> (u64, u32, u32) {
        match self {
            Self::Read { addr, len, rkey } => (*addr, *len, *rkey),
            Self::CompareAndSwap(eth) | Self::FetchAndAdd(eth) => {
                (eth.virtual_address, ATOMIC_BYTES, eth.rkey)
            }
        }
    }

    pub(super) fn verb(&self) -> &'static str {
        match self {
            Self::Read { .. } => "READ",
            Self::CompareAndSwap(_) => "compare and swap",
            Self::FetchAndAdd(_) => "fetch and add",
        }
    }

    /// Number of sequence numbers of the request: one for each packet of the answer.
    pub(super) fn packets(&self, mtu: u32) -> u32 {
        match self {
            Self::Read { len, .. } => len.div_ceil(mtu).max(1),
            Self::CompareAndSwap(_) | Self::FetchAndAdd(_) => 1,
        }
    }

    /// NAK and error for an atomic whose address is not a multiple of its size.
    pub(super) fn refusal(&self) -> Option<(u8, PeerError)> {
        match *self {
            Self::Read { .. } => None,
            Self::CompareAndSwap(AtomicEth { virtual_address: addr, .. })
            | Self::FetchAndAdd(AtomicEth { virtual_address: addr, .. }) => {
                let aligned = addr.is_multiple_of(ATOMIC_BYTES.into());
                let error = PeerError::AtomicAddress { verb: self.verb(), addr };
                (!aligned).then_some((syndrome::NAK_INVALID_REQUEST, error))
            }
        }
    }

    /// Executes and counts the request, and returns the packets of the answer, from sequence number
    /// `psn` on.
    pub(super) fn execute(
        &self,
        memory: &mut SparseMemory,
        answered: &mut Answered,
        flow: &Flow,
        psn: u32,
        msn: u32,
    ) -> Vec<Vec<u8>> {
        let (eth, swaps) = match self {
            Self::Read { addr, len, .. } => {
                answered.reads += 1;
                answered.read_bytes += u64::from(*len);
                let packet = |(segment, psn): (drdma_semantics::packets::Segment, u32)| {
                    let from = addr.wrapping_add(segment.offset.into());
                    let Ok(frame) = answers::read_answer(flow, &segment, psn, msn, |bytes| {
                        memory.read_into(from, bytes);
                        Ok::<(), Infallible>(())
                    });
                    frame
                };
                return segments(*len, flow.mtu).zip(psn..).map(packet).collect();
            }
            Self::CompareAndSwap(eth) => (eth, true),
            Self::FetchAndAdd(eth) => (eth, false),
        };
        answered.atomics += 1;
        let mut bytes = [0; ATOMIC_BYTES as usize];
        memory.read_into(eth.virtual_address, &mut bytes);
        let original = u64::from_le_bytes(bytes);
        let value = match swaps {
            true if original == eth.compare => eth.swap_or_add,
            true => original,
            false => original.wrapping_add(eth.swap_or_add),
        };
        memory.write(eth.virtual_address, &value.to_le_bytes());
        vec![answers::atomic_answer(flow, psn, msn, original)]
    }
}

#[cfg(test)]
#[path = "tests/answer.rs"]
mod tests;
