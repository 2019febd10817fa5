//! Completions of work requests and receives.

use drdma_abi::{
    completion::Status,
    described::AppendCompletion,
    receive::{ReceiveCompletion, ReceiveOpcode, receive_flags},
};

use crate::{AppendedRows, encode::field};

/// Result of a work request or receive: of each that is signaled, and of each that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkCompletion {
    /// Name of the request.
    pub wr_id: u64,
    /// Status with which the request ended.
    pub status: Status,
    /// Number of payload bytes of all its messages; 0 unless the status is success.
    pub bytes: u64,
    /// Number of the send queue that the request was posted to
    /// ([`QueuePair::queue`](crate::QueuePair::queue),
    /// [`SharedSendQueue::queue`](crate::SharedSendQueue::queue)).
    pub queue: u16,
    /// Index in the request of the destination that failed; 0 on success.
    pub destination: u16,
    /// Operation that completed. If the request failed or was flushed, it tells only whether it is
    /// a receive.
    pub opcode: CompletionOpcode,
    /// Immediate data of a receive, as the sender wrote it.
    pub imm: Option<u32>,
    /// Remote key that the message invalidated.
    pub invalidated: Option<u32>,
    /// [`QueuePair::index`](crate::QueuePair::index) of the queue pair that received.
    pub qp: Option<u32>,
    /// Queue pair number of the sender of a datagram.
    pub source_qp: Option<u32>,
    /// The first 40 B are a datagram's route: 20 B that are not written, then the IPv4 header.
    pub global_route: bool,
    /// Rows of an append region that the message became.
    pub rows: Option<AppendedRows>,
}

/// Operation that completed (`ibv_wc_opcode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompletionOpcode {
    /// A SEND of any kind.
    Send,
    /// A WRITE of any kind.
    Write,
    /// A READ.
    Read,
    /// A compare and swap.
    CompareAndSwap,
    /// A fetch and add.
    FetchAndAdd,
    /// A receive that a SEND filled.
    Receive,
    /// A receive that a WRITE with immediate data used up; it was not written to.
    ReceiveWithImm,
}

impl CompletionOpcode {
    /// True for receives: [`WorkCompletion::queue`] is the number of a receive queue.
    pub fn is_receive(self) -> bool {
        matches!(self, Self::Receive | Self::ReceiveWithImm)
    }

    /// Decodes the opcode of an entry.
    pub(crate) fn of(code: u8) -> Self {
        use drdma_abi::{receive::ReliableOpcode as Reliable, work_request::Opcode};
        match (Opcode::from_code(code), Reliable::from_code(code)) {
            (Some(opcode), _) if opcode.is_write() => Self::Write,
            (_, Some(Reliable::Read)) => Self::Read,
            (_, Some(Reliable::CompareAndSwap)) => Self::CompareAndSwap,
            (_, Some(Reliable::FetchAndAdd)) => Self::FetchAndAdd,
            _ => Self::Send,
        }
    }
}

impl WorkCompletion {
    /// Makes the completion of a request that ended with `status`.
    pub(crate) fn of_request(
        wr_id: u64,
        status: Status,
        queue: u16,
        opcode: CompletionOpcode,
    ) -> Self {
        Self {
            wr_id,
            status,
            bytes: 0,
            queue,
            destination: 0,
            opcode,
            imm: None,
            invalidated: None,
            qp: None,
            source_qp: None,
            global_route: false,
            rows: None,
        }
    }

    /// Returns the row that the message's first row became, if it was appended; `load` gives the
    /// words of the entry.
    pub(crate) fn first_row(load: impl Fn(usize) -> u64) -> Option<u32> {
        let flags = field!(AppendCompletion.flags in load) as u8;
        let first_row = field!(AppendCompletion.first_row in load) as u32;
        (flags & receive_flags::APPENDED != 0).then_some(first_row)
    }

    /// Makes the completion of a receive, of whose entry `load` gives the words.
    pub(crate) fn of_receive(load: impl Fn(usize) -> u64, wr_id: u64, status: Status) -> Self {
        let flags = field!(ReceiveCompletion.flags in load) as u8;
        let imm = field!(ReceiveCompletion.imm in load) as u32;
        let has = |flag: u8| flags & flag != 0;
        let source_qp = field!(ReceiveCompletion.source_qp in load) as u32;
        let with_imm = ReceiveOpcode::ReceiveWithImm as u64;
        let opcode = match field!(ReceiveCompletion.opcode in load) == with_imm {
            true => CompletionOpcode::ReceiveWithImm,
            false => CompletionOpcode::Receive,
        };
        let queue = field!(ReceiveCompletion.receive_queue in load) as u16;
        Self {
            bytes: field!(ReceiveCompletion.byte_len in load),
            imm: has(receive_flags::IMM).then_some(imm),
            invalidated: has(receive_flags::INVALIDATED).then_some(imm),
            qp: Some(field!(ReceiveCompletion.qp in load) as u32),
            source_qp: has(receive_flags::GLOBAL_ROUTE).then_some(source_qp),
            global_route: has(receive_flags::GLOBAL_ROUTE),
            ..Self::of_request(wr_id, status, queue, opcode)
        }
    }
}
