//! Decodes a packet's opcode: its transport, and the length of the headers behind the BTH.

use drdma_abi::roce::{
    Aeth, AtomicAckEth, AtomicEth, Deth, Ieth, ImmDt, Reth, Transport, cnp, operation as op,
};
use drdma_emit::prelude::*;

/// Bits of a count of 4 B words of extended headers.
pub const WORDS: usize = 3;

/// Words of 4 B of the extended headers of each operation of a connected transport.
const CONNECTED: [u64; 32] = words_of_all();
/// Words of 4 B of the extended header of every datagram.
const DATAGRAM: u64 = words(Deth::SIZE);
/// Words of 4 B of immediate data.
const IMMEDIATE: u64 = words(ImmDt::SIZE);
/// The last operation that an unreliable connection knows.
const LAST_UNRELIABLE: u64 = op::WRITE_ONLY_IMM as u64;
/// The operation of a datagram with immediate data.
const DATAGRAM_IMM: u64 = op::SEND_ONLY_IMM as u64;
/// The high three bits of the opcodes of each transport.
const RC: u64 = (Transport::Rc.opcode_bits() >> 5) as u64;
const UC: u64 = (Transport::Uc.opcode_bits() >> 5) as u64;
const UD: u64 = (Transport::Ud.opcode_bits() >> 5) as u64;
/// The opcode of a congestion notification packet, which has no transport of its own, and 16 B of payload.
const NOTIFICATION: u64 = cnp::OPCODE as u64;

const fn words(bytes: usize) -> u64 {
    (bytes / 4) as u64
}

const fn words_of_all() -> [u64; 32] {
    let mut of = [0; 32];
    of[op::SEND_LAST_IMM as usize] = words(ImmDt::SIZE);
    of[op::SEND_ONLY_IMM as usize] = words(ImmDt::SIZE);
    of[op::WRITE_FIRST as usize] = words(Reth::SIZE);
    of[op::WRITE_LAST_IMM as usize] = words(ImmDt::SIZE);
    of[op::WRITE_ONLY as usize] = words(Reth::SIZE);
    of[op::WRITE_ONLY_IMM as usize] = words(Reth::SIZE + ImmDt::SIZE);
    of[op::READ_REQUEST as usize] = words(Reth::SIZE);
    of[op::READ_RESPONSE_FIRST as usize] = words(Aeth::SIZE);
    of[op::READ_RESPONSE_LAST as usize] = words(Aeth::SIZE);
    of[op::READ_RESPONSE_ONLY as usize] = words(Aeth::SIZE);
    of[op::ACKNOWLEDGE as usize] = words(Aeth::SIZE);
    of[op::ATOMIC_ACKNOWLEDGE as usize] = words(Aeth::SIZE + AtomicAckEth::SIZE);
    of[op::COMPARE_AND_SWAP as usize] = words(AtomicEth::SIZE);
    of[op::FETCH_AND_ADD as usize] = words(AtomicEth::SIZE);
    of[op::SEND_LAST_INVALIDATE as usize] = words(Ieth::SIZE);
    of[op::SEND_ONLY_INVALIDATE as usize] = words(Ieth::SIZE);
    of
}

/// Decodes an opcode; combinational. An unknown operation has no headers behind the BTH, except the DETH of a datagram.
#[derive(LogicBlock, BlockDefault)]
pub struct Shape {
    /// Opcode of the BTH.
    pub opcode: Signal<In, Bits<8>>,
    /// The transport is RC, UC or UD, or the packet is a congestion notification.
    pub known: Signal<Out, Bit>,
    /// Words of 4 B of the headers between BTH and payload.
    pub words: Signal<Out, Bits<WORDS>>,

    transport: Signal<Local, Bits<3>>,
    operation: Signal<Local, Bits<5>>,
}

impl Logic for Shape {
    #[hdl_gen]
    fn update(&mut self) {
        self.transport.next = self.opcode.val().get_bits::<3>(5);
        self.operation.next = self.opcode.val().get_bits::<5>(0);
        self.known.next = (self.transport.val() == RC)
            || (self.transport.val() == UC)
            || (self.transport.val() == UD)
            || (self.opcode.val() == NOTIFICATION);
        self.words.next = 0.into();
        for k in 0..32 {
            if self.operation.val() == k.to_bits() {
                self.words.next = CONNECTED[k].into();
            }
        }
        if (self.transport.val() == UC) && (self.operation.val() > LAST_UNRELIABLE) {
            self.words.next = 0.into();
        }
        if self.transport.val() == UD {
            self.words.next = DATAGRAM.into();
            if self.operation.val() == DATAGRAM_IMM {
                self.words.next = (DATAGRAM + IMMEDIATE).into();
            }
        }
    }
}
