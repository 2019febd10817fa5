//! Meaning of a packet's opcode to a responder.

use drdma_abi::roce::operation;

use crate::frame::read_operation;

/// Position of a packet in its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The packet is the first one of its message.
    pub first: bool,
    /// The packet is the last one of its message.
    pub last: bool,
}

/// Operation that a packet asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A packet of a SEND.
    Send(Place),
    /// A packet of a WRITE.
    Write(Place),
    /// A READ.
    Read,
    /// A compare and swap.
    CompareAndSwap,
    /// A fetch and add.
    FetchAndAdd,
    /// A response, which asks for nothing.
    Response,
    /// A reserved opcode.
    Reserved,
}

impl Kind {
    /// Decodes the low five bits of an opcode.
    pub fn of(operation: u8) -> Self {
        let place = |first, last| Place { first, last };
        match operation {
            operation::SEND_FIRST => Self::Send(place(true, false)),
            operation::SEND_MIDDLE => Self::Send(place(false, false)),
            operation::SEND_LAST | operation::SEND_LAST_IMM | operation::SEND_LAST_INVALIDATE => {
                Self::Send(place(false, true))
            }
            operation::SEND_ONLY | operation::SEND_ONLY_IMM | operation::SEND_ONLY_INVALIDATE => {
                Self::Send(place(true, true))
            }
            operation::WRITE_FIRST => Self::Write(place(true, false)),
            operation::WRITE_MIDDLE => Self::Write(place(false, false)),
            operation::WRITE_LAST | operation::WRITE_LAST_IMM => Self::Write(place(false, true)),
            operation::WRITE_ONLY | operation::WRITE_ONLY_IMM => Self::Write(place(true, true)),
            read_operation::REQUEST => Self::Read,
            operation::COMPARE_AND_SWAP => Self::CompareAndSwap,
            operation::FETCH_AND_ADD => Self::FetchAndAdd,
            read_operation::RESPONSE_FIRST..=operation::ATOMIC_ACKNOWLEDGE => Self::Response,
            _ => Self::Reserved,
        }
    }
}

/// Number of sequence numbers that `len` bytes take: at least one.
pub fn packets(len: u32, mtu: u32) -> u32 {
    len.div_ceil(mtu).max(1)
}
