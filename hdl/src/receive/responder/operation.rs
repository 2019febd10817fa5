//! Decodes a packet's opcode.

use drdma_abi::roce::operation;
use drdma_emit::prelude::*;

// The codes, as the kernel's numbers.
const SEND_LAST_IMM: u64 = operation::SEND_LAST_IMM as u64;
const SEND_ONLY_IMM: u64 = operation::SEND_ONLY_IMM as u64;
const SEND_FIRST: u64 = operation::SEND_FIRST as u64;
const SEND_LAST: u64 = operation::SEND_LAST as u64;
const SEND_ONLY: u64 = operation::SEND_ONLY as u64;
const SEND_LAST_INVALIDATE: u64 = operation::SEND_LAST_INVALIDATE as u64;
const SEND_ONLY_INVALIDATE: u64 = operation::SEND_ONLY_INVALIDATE as u64;
const WRITE_FIRST: u64 = operation::WRITE_FIRST as u64;
const WRITE_LAST: u64 = operation::WRITE_LAST as u64;
const WRITE_LAST_IMM: u64 = operation::WRITE_LAST_IMM as u64;
const WRITE_ONLY: u64 = operation::WRITE_ONLY as u64;
const WRITE_ONLY_IMM: u64 = operation::WRITE_ONLY_IMM as u64;
const READ_REQUEST: u64 = operation::READ_REQUEST as u64;
const COMPARE_AND_SWAP: u64 = operation::COMPARE_AND_SWAP as u64;
const FETCH_AND_ADD: u64 = operation::FETCH_AND_ADD as u64;
const ATOMIC_ACKNOWLEDGE: u64 = operation::ATOMIC_ACKNOWLEDGE as u64;
/// The lowest code of an answer: the first packet of a READ's answer.
const RESPONSE_FIRST: u64 = 0x0d;

/// Decodes the low five bits of an opcode.
///
/// Combinational.
///
/// # Inputs
/// `code`.
///
/// # Outputs
/// All others. None is set for an unknown code.
#[derive(LogicBlock, BlockDefault)]
pub struct Operation {
    /// The low five bits of the opcode.
    pub code: Signal<In, Bits<5>>,
    /// The packet is of a SEND.
    pub send: Signal<Out, Bit>,
    /// The packet is of a WRITE.
    pub write: Signal<Out, Bit>,
    /// The packet is a READ.
    pub read: Signal<Out, Bit>,
    /// The packet is an atomic.
    pub atomic: Signal<Out, Bit>,
    /// The packet is a compare and swap.
    pub swaps: Signal<Out, Bit>,
    /// The packet is the first one of a SEND or a WRITE.
    pub first: Signal<Out, Bit>,
    /// The packet is the last one of a SEND or a WRITE.
    pub last: Signal<Out, Bit>,
    /// The packet has immediate data.
    pub with_imm: Signal<Out, Bit>,
    /// The packet names a key to invalidate.
    pub invalidates: Signal<Out, Bit>,
    /// The packet is an answer to a request.
    pub responds: Signal<Out, Bit>,
}

impl Logic for Operation {
    #[hdl_gen]
    fn update(&mut self) {
        self.invalidates.next =
            (self.code.val() == SEND_LAST_INVALIDATE) || (self.code.val() == SEND_ONLY_INVALIDATE);
        self.send.next = (self.code.val() <= SEND_ONLY_IMM) || self.invalidates.val();
        self.write.next = (self.code.val() >= WRITE_FIRST) && (self.code.val() <= WRITE_ONLY_IMM);
        self.read.next = self.code.val() == READ_REQUEST;
        self.swaps.next = self.code.val() == COMPARE_AND_SWAP;
        self.atomic.next = self.swaps.val() || (self.code.val() == FETCH_AND_ADD);
        self.first.next = (self.code.val() == SEND_FIRST)
            || (self.code.val() == SEND_ONLY)
            || (self.code.val() == SEND_ONLY_IMM)
            || (self.code.val() == SEND_ONLY_INVALIDATE)
            || (self.code.val() == WRITE_FIRST)
            || (self.code.val() == WRITE_ONLY)
            || (self.code.val() == WRITE_ONLY_IMM);
        self.with_imm.next = (self.code.val() == SEND_LAST_IMM)
            || (self.code.val() == SEND_ONLY_IMM)
            || (self.code.val() == WRITE_LAST_IMM)
            || (self.code.val() == WRITE_ONLY_IMM);
        self.last.next = self.with_imm.val()
            || self.invalidates.val()
            || (self.code.val() == SEND_LAST)
            || (self.code.val() == SEND_ONLY)
            || (self.code.val() == WRITE_LAST)
            || (self.code.val() == WRITE_ONLY);
        self.responds.next =
            (self.code.val() >= RESPONSE_FIRST) && (self.code.val() <= ATOMIC_ACKNOWLEDGE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_semantics::responder::packet::{Kind, Place};

    #[test]
    fn every_code_says_what_it_says_in_the_semantics() {
        let mut model = testing::library("responder_operation", Operation::default).instance(1);
        for code in 0..32_u8 {
            model.set("code", u64::from(code));
            model.eval();
            let none = Place { first: false, last: false };
            let (send, write, place) = match Kind::of(code) {
                Kind::Send(place) => (true, false, place),
                Kind::Write(place) => (false, true, place),
                _ => (false, false, none),
            };
            let invalidates = [0x16, 0x17].contains(&code);
            let flags = [
                ("send", send),
                ("write", write),
                ("read", Kind::of(code) == Kind::Read),
                ("atomic", [Kind::CompareAndSwap, Kind::FetchAndAdd].contains(&Kind::of(code))),
                ("swaps", Kind::of(code) == Kind::CompareAndSwap),
                ("first", place.first),
                ("last", place.last),
                ("with_imm", [3, 5, 9, 11].contains(&code)),
                ("invalidates", invalidates),
                ("responds", Kind::of(code) == Kind::Response),
            ];
            for (port, flag) in flags {
                assert_eq!(model.get(port), u64::from(flag), "{port} of {code:#x}");
            }
        }
    }
}
