//! The head of a work queue entry: all fields of a request beside its destinations.

use drdma_abi::work_request::Opcode;

use super::{Operation, RowMask, SharedOperation};
use crate::{extension::Extension, optimizer::FetchPlan};

/// The part that all requests have in common. See [`WorkRequest`](super::WorkRequest) for its fields.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub wr_id: u64,
    pub opcode: Opcode,
    /// Immediate data; 0 if the opcode has none.
    pub imm: u32,
    pub row_mask: RowMask,
    pub rows_per_message: u32,
    pub signaled: bool,
    pub fetch: Option<FetchPlan>,
    pub extension: Extension,
}

impl Head {
    /// A signaled SEND named `wr_id`, one row a message.
    #[inline]
    pub fn new(wr_id: u64) -> Self {
        Self {
            wr_id,
            opcode: Opcode::Send,
            imm: 0,
            row_mask: RowMask::Period,
            rows_per_message: 1,
            signaled: true,
            fetch: None,
            extension: Extension::default(),
        }
    }

    /// Sets the operation.
    #[inline]
    pub fn set_operation(&mut self, operation: SharedOperation) {
        (self.opcode, self.imm) = match operation {
            SharedOperation::Send => (Opcode::Send, 0),
            SharedOperation::SendImm(imm) => (Opcode::SendImm, imm),
            SharedOperation::Write => (Opcode::Write, 0),
            SharedOperation::WriteImm(imm) => (Opcode::WriteImm, imm),
        };
    }
}

impl Operation {
    /// Splits the operation into its kind, and the remote address and key: 0 for a SEND.
    #[inline]
    pub(super) fn split(self) -> (SharedOperation, (u64, u32)) {
        match self {
            Self::Send => (SharedOperation::Send, (0, 0)),
            Self::SendImm(imm) => (SharedOperation::SendImm(imm), (0, 0)),
            Self::Write { remote_addr, rkey } => (SharedOperation::Write, (remote_addr, rkey)),
            Self::WriteImm { remote_addr, rkey, imm } => {
                (SharedOperation::WriteImm(imm), (remote_addr, rkey))
            }
        }
    }
}
