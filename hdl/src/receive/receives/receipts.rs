//! The completions of receives.

use super::record::Name;
use crate::context::QP;
use crate::primitive::Flatten;
use crate::receive::record::{Placing, Receipt};
use drdma_abi::receive::ReceiveOpcode;
use drdma_emit::prelude::*;

/// The opcodes.
const RECEIVE: u64 = ReceiveOpcode::Receive as u64;
/// See `RECEIVE`.
const WITH_IMM: u64 = ReceiveOpcode::ReceiveWithImm as u64;
/// Bits of a [`Line`].
const LINE: usize = 256;

/// A `ReceiveCompletion`.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Line {
    /// The receive's name.
    pub wr_id: Bits<64>,
    /// Bytes of the message.
    pub byte_len: Bits<32>,
    /// Immediate data, or a key.
    pub imm: Bits<32>,
    /// The receive queue.
    pub receive_queue: Bits<16>,
    /// The queue pair.
    pub qp: Bits<15>,
    /// 1.
    pub receive: Bit,
    /// What came.
    pub opcode: Bits<8>,
    /// What else is to be known of it.
    pub flags: Bits<8>,
    /// How it ended.
    pub status: Bits<8>,
    /// 0: the completion queue's ring gives it.
    pub phase: Bits<8>,
    /// The ring position of the receive.
    pub position: Bits<32>,
    /// The sender's queue pair number, or the first row of what was appended.
    pub source: Bits<32>,
}

/// The completion of the receive with a name that a placing completes. Combinational.
#[derive(LogicBlock, BlockDefault)]
pub struct Receipts {
    /// The placing.
    pub placing: Signals<In, Placing>,
    /// The receive.
    pub name: Signals<In, Name>,
    /// Its completion.
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
