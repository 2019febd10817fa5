//! Takes the fields out of a right frame's headers, and queues the packets for the responder.
//!
//! Contract: one packet a cycle, without back-pressure: the giver looks at `roomy` [`SLACK`] packets ahead. A packet is
//! at the output 1 cycle later if none waits.

use drdma_abi::roce::{Aeth, AtomicAckEth, AtomicEth, Bth, Deth, Ethernet, ImmDt, Ipv4};
use drdma_abi::roce::{Reth, Udp, VlanTag};
use drdma_emit::prelude::*;

use super::gate::VLAN;
use super::shape::WORDS;
use crate::context::QP;
use crate::primitive::StreamFifo;
use crate::primitive::header::{
    AethFields, AtomicAckEthFields, AtomicEthFields, DethFields, IethFields, ImmDtFields,
    RethFields,
};
use crate::receive::record::{FRAME_WORDS, Packet, STORE_WORD};

/// Bits of the longest extended headers.
pub const EXTENDED: usize = 8 * AtomicEth::SIZE;
/// Packets that may come after `roomy` has ended.
const SLACK: u64 = 16;
/// Words of extended headers that are immediate data, or a key to invalidate, alone.
const ALONE: u64 = (ImmDt::SIZE / 4) as u64;
/// Words of a datagram's extended header with immediate data, or of an atomic's acknowledgement.
const TWO_HEADERS: u64 = ((Deth::SIZE + ImmDt::SIZE) / 4) as u64;
/// Place of the payload in a frame with neither a tag nor an extended header, in bytes.
pub(super) const BASE: u64 = (Ethernet::SIZE + Ipv4::SIZE + Udp::SIZE + Bth::SIZE) as u64;
/// Bytes of an 802.1Q tag.
pub(super) const TAG: u64 = VlanTag::SIZE as u64;
/// Bits of a word, and of headers.
const WORD: usize = 32;
const AETH: usize = 8 * Aeth::SIZE;
const RETH: usize = 8 * Reth::SIZE;
const DETH: usize = 8 * Deth::SIZE;
const ORIGINAL: usize = 8 * AtomicAckEth::SIZE;
/// Binary logarithm of the packets that can wait, and bits of their count.
const DEPTH: usize = 9;
const COUNT: usize = DEPTH + 1;

/// Fields of a frame that are known with its last beat.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Headers {
    /// BTH: opcode, which is transport and operation.
    pub opcode: Bits<8>,
    /// BTH: the packet asks for a solicited event.
    pub solicited: Bit,
    /// BTH: the packet asks for an acknowledgement.
    pub ack_req: Bit,
    /// BTH: there are pad bytes behind the payload.
    pub padded: Bit,
    /// BTH: partition key.
    pub pkey: Bits<16>,
    /// BTH: destination queue pair number.
    pub qpn: Bits<24>,
    /// BTH: sequence number.
    pub psn: Bits<24>,
    /// IPv4: source address.
    pub source_ip: Bits<32>,
    /// IPv4: the packet has met congestion (ECN 3).
    pub congested: Bit,
    /// 802.1Q: number of the VLAN; 0: none.
    pub vlan: Bits<VLAN>,
    /// 802.1Q: the frame has a tag.
    pub tagged: Bit,
    /// Index of the queue pair that the packet is for.
    pub qp: Bits<QP>,
    /// Number of the frame's first word in the store.
    pub start: Bits<STORE_WORD>,
    /// Words of 64 B of the frame in the store.
    pub words: Bits<FRAME_WORDS>,
    /// Words of 4 B of the extended headers.
    pub extended_words: Bits<WORDS>,
    /// The extended headers as they came, and the bytes that follow them.
    pub extended: Bits<EXTENDED>,
}

/// Makes and queues packets. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Packets {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset: no packet waits.
    pub rst: Signal<In, Bit>,
    /// The headers of a right frame.
    pub headers: Flow<In, Headers>,
    /// Bytes of payload of that frame.
    pub bytes: Signal<In, Bits<13>>,
    /// There is room for [`SLACK`] more packets.
    pub roomy: Signal<Out, Bit>,
    /// Packets for the responder.
    pub packet: Stream<Out, Packet>,

    aeth: AethFields,
    reth: RethFields,
    deth: DethFields,
    ieth: IethFields,
    atomic: AtomicEthFields,
    atomic_ack: AtomicAckEthFields,
    imm: ImmDtFields,
    made: Signals<Local, Packet>,
    #[init(StreamFifo::prompt())]
    waiting: StreamFifo<Packet, DEPTH, COUNT>,
    room: DFF<Bit>,
}

impl Logic for Packets {
    #[hdl_gen]
    fn update(&mut self) {
        // Immediate data are the last one of the headers: word 0, 2 or 4.
        self.imm.received.next = self.headers.extended.val().get_bits::<WORD>(RETH);
        if self.headers.extended_words.val() == ALONE {
            self.imm.received.next = self.headers.extended.val().get_bits::<WORD>(0);
        }
        if self.headers.extended_words.val() == TWO_HEADERS {
            self.imm.received.next = self.headers.extended.val().get_bits::<WORD>(DETH);
        }
        self.aeth.received.next = self.headers.extended.val().get_bits::<AETH>(0);
        self.reth.received.next = self.headers.extended.val().get_bits::<RETH>(0);
        self.deth.received.next = self.headers.extended.val().get_bits::<DETH>(0);
        self.ieth.received.next = self.headers.extended.val().get_bits::<WORD>(0);
        self.atomic.received.next = self.headers.extended.val();
        self.atomic_ack.received.next = self.headers.extended.val().get_bits::<ORIGINAL>(AETH);

        self.headers.share(&mut self.made);
        self.made.addr.next = self.reth.virtual_address.val();
        self.made.rkey.next = self.reth.rkey.val();
        if self.headers.extended_words.val() == ALONE {
            self.made.rkey.next = self.ieth.rkey.val();
        }
        self.made.len.next = self.reth.dma_length.val();
        self.made.swap_or_add.next = self.atomic.swap_or_add.val();
        self.made.compare.next = self.atomic.compare.val();
        if self.headers.extended_words.val() == TWO_HEADERS {
            self.made.compare.next = self.atomic_ack.original.val();
        }
        self.made.qkey.next = self.deth.qkey.val();
        self.made.source_qp.next = self.deth.source_qp.val();
        self.made.imm.next = self.imm.value.val();
        self.made.syndrome.next = self.aeth.syndrome.val();
        self.made.msn.next = self.aeth.msn.val();
        self.made.offset.next =
            (bit_cast::<7, WORDS>(self.headers.extended_words.val()) << 2) + BASE;
        if self.headers.tagged.val() {
            self.made.offset.next =
                (bit_cast::<7, WORDS>(self.headers.extended_words.val()) << 2) + (BASE + TAG);
        }
        self.made.bytes.next = self.bytes.val();

        self.waiting.input.valid.next = self.headers.valid.val();
        self.waiting.input.data.next = self.made.val();
        self.waiting.output.join(&mut self.packet);
        self.room.d.next = self.waiting.free.val() >= SLACK;
        self.roomy.next = self.room.q.val();
        if self.rst.val() {
            self.room.d.next = false;
        }
    }
}
