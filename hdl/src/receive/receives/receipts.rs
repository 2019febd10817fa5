//! Makes the completions of receives.

use super::record::Name;
use crate::context::QP;
use crate::primitive::Flatten;
use crate::receive::record::{Placing, Receipt};
use drdma_abi::receive::ReceiveOpcode;
use drdma_emit::prelude::*;

/// Opcode of a receive without immediate data.
const RECEIVE: u64 = ReceiveOpcode::Receive as u64;
/// Opcode of a receive with immediate data.
const WITH_IMM: u64 = ReceiveOpcode::ReceiveWithImm as u64;
/// Bits of a [`Line`].
const LINE: usize = 256;

/// The bits of a `ReceiveCompletion`.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Line {
    /// The application's name for the receive.
    pub wr_id: Bits<64>,
    /// Bytes of the message.
    pub byte_len: Bits<32>,
    /// Immediate data, or the key that was made invalid.
    pub imm: Bits<32>,
    /// Number of the receive queue.
    pub receive_queue: Bits<16>,
    /// The queue pair.
    pub qp: Bits<15>,
    /// Always 1: the completion is of a receive.
    pub receive: Bit,
    /// Opcode of the completion.
    pub opcode: Bits<8>,
    /// Flags of the completion.
    pub flags: Bits<8>,
    /// Status of the completion.
    pub status: Bits<8>,
    /// Always 0: the phase is set where the completion is written to its ring.
    pub phase: Bits<8>,
    /// Ring position of the receive, in blocks.
    pub position: Bits<32>,
    /// The sender's queue pair number, or the first row that was appended.
    pub source: Bits<32>,
}

/// Makes the completion of a receive that a placing completes; combinational.
#[derive(LogicBlock, BlockDefault)]
pub struct Receipts {
    /// The placing that completes the receive.
    pub placing: Signals<In, Placing>,
    /// Name of the receive.
    pub name: Signals<In, Name>,
    /// The completion.
    pub receipt: Signals<Out, Receipt>,

    unused_placing: Signal<Local, Placing>,
    unused_name: Signal<Local, Name>,
    good: Signal<Local, Bit>,
    line: Signal<Local, Line>,
    line_in: Flatten<Line, LINE>,
}

impl Logic for Receipts {
    #[hdl_gen]
    fn update(&mut self) {
        self.unused_placing.next = self.placing.val();
        self.unused_name.next = self.name.val();
        self.good.next = !self.placing.status.val().any();
        self.line.next.wr_id = self.name.wr_id.val();
        self.line.next.byte_len = 0.into();
        self.line.next.imm = 0.into();
        self.line.next.receive_queue = bit_cast::<16, 12>(self.name.queue.val());
        self.line.next.qp = bit_cast::<15, QP>(self.placing.qp.val());
        self.line.next.receive = true;
        self.line.next.opcode = RECEIVE.into();
        if self.placing.with_imm.val() {
            self.line.next.opcode = WITH_IMM.into();
        }
        self.line.next.flags = 0.into();
        self.line.next.status = self.placing.status.val();
        self.line.next.phase = 0.into();
        self.line.next.position = self.name.position.val();
        self.line.next.source = 0.into();
        if self.good.val() {
            self.line.next.byte_len = self.placing.byte_len.val();
            self.line.next.imm = self.placing.imm.val();
            self.line.next.flags = self.placing.flags.val();
            self.line.next.source = self.placing.source.val();
        }
        self.line_in.record.next = self.line.val();
        self.receipt.next.cq = self.name.cq.val();
        self.receipt.next.qp = self.placing.qp.val();
        self.receipt.next.line = self.line_in.bits.val();
    }
}
