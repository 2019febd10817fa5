//! Finds out whose a frame is, by its number, transport and sender, before it is claimed for the card.

use drdma_abi::Layout;
use drdma_abi::register::QueuePairEntry;
use drdma_abi::roce::Transport;
use drdma_emit::prelude::*;

use super::finder::Finder;
use crate::context::{ByteTable, ConfigWrite, QP, TableSelect};

/// Codes of the transports, and their bits in the opcode.
const RC: u64 = Transport::Rc as u64;
const UC: u64 = Transport::Uc as u64;
const UD: u64 = Transport::Ud as u64;
const RC_BITS: u64 = (Transport::Rc.opcode_bits() >> 5) as u64;
const UC_BITS: u64 = (Transport::Uc.opcode_bits() >> 5) as u64;
const UD_BITS: u64 = (Transport::Ud.opcode_bits() >> 5) as u64;
/// Bits of a partition key and a transport in a queue pair's entry.
const SHAPE: usize = 24;
/// Bits of a VLAN's number.
const VLAN: usize = 12;
/// Bytes of what is kept of a queue pair, and first bits of the peer's address, shape and VLAN in it.
const BYTES: usize = 9;
const KEPT: usize = 8 * BYTES;
const PEER_AT: usize = 0;
const SHAPE_AT: usize = 32;
const VLAN_AT: usize = SHAPE_AT + SHAPE;
/// The bit of the VLAN's word that says that there is a tag.
const TAGGED: usize = 16;

fn word_of(field: &str) -> Constant<Bits<4>> {
    Constant::new((QueuePairEntry::field(field).start as u64 / 32).into())
}

fn stands(field: &str, at: usize) -> bool {
    QueuePairEntry::field(field).start % 32 == at
}

/// Fields of a frame's headers that say which queue pair the frame is for.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Address {
    /// BTH: the high three bits of the opcode, which are the transport.
    pub transport: Bits<3>,
    /// BTH: the opcode is that of a congestion notification packet, which has no transport of its own.
    pub notifies: Bit,
    /// BTH: partition key.
    pub pkey: Bits<16>,
    /// IPv4: source address.
    pub source_ip: Bits<32>,
    /// 802.1Q: number of the VLAN; 0: none.
    pub vlan: Bits<12>,
}

/// Finds the queue pair of a frame: a live one with its number and transport and, on RC and UC, of the peer that the
/// frame comes from. A congestion notification packet is for a queue pair of RC or UC. Queue keys are not compared
/// here.
///
/// Contract: as that of [`Finder`]. `address` belongs to the search that began two steps before.
///
/// # Inputs
/// `clk`, `rst`; `cfg`; `step`; `search`, `qpn`; `address`.
///
/// # Outputs
/// `settled`; `owned`: there is such a queue pair; `qp`: its index; `member`: the frame is of its partition and of its
/// VLAN.
#[derive(LogicBlock, BlockDefault)]
#[check(stands("dest_ip", 0) && stands("pkey", 0) && stands("transport", 16))]
#[check(stands("vlan", 0) && stands("tagged", 16))]
pub struct Owner {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Both searches move on by a step.
    pub step: Signal<In, Bit>,
    /// With `step`: a search begins.
    pub search: Signal<In, Bit>,
    /// With `search`: the queue pair number that is searched for.
    pub qpn: Signal<In, Bits<24>>,
    /// Fields of the headers of the older search's frame.
    pub address: Signals<In, Address>,
    /// The result of the older search is there, or there is no such search.
    pub settled: Signal<Out, Bit>,
    /// The frame of the older search is for a queue pair; valid with `settled`.
    pub owned: Signal<Out, Bit>,
    /// Index of that queue pair; valid with `owned`.
    pub qp: Signal<Out, Bits<QP>>,
    /// The frame is of that queue pair's partition and of its VLAN; valid with `owned`.
    pub member: Signal<Out, Bit>,

    finder: Finder,
    select: TableSelect,
    #[init(word_of("dest_ip"))]
    peer_word: Constant<Bits<4>>,
    #[init(word_of("pkey"))]
    shape_word: Constant<Bits<4>>,
    #[init(word_of("vlan"))]
    vlan_word: Constant<Bits<4>>,
    /// Of each queue pair: address of its peer, transport and partition key, VLAN.
    kept: ByteTable<KEPT, BYTES, QP>,
    vlan: Signal<Local, Bits<VLAN>>,
    /// The fields without the bits that no field has.
    unused: Signal<Local, Bits<KEPT>>,
    transport: Signal<Local, Bits<8>>,
    pkey: Signal<Local, Bits<16>>,
    connected: Signal<Local, Bit>,
    datagram: Signal<Local, Bit>,
}

impl Logic for Owner {
    #[hdl_gen]
    fn update(&mut self) {
        self.cfg.join(&mut self.finder.cfg);
        self.finder.step.next = self.step.val();
        self.finder.search.next = self.search.val();
        self.finder.qpn.next = self.qpn.val();
        self.settled.next = self.finder.settled.val();
        self.qp.next = self.finder.qp.val();

        // Words that the host writes into queue pairs' entries.
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();
        self.kept.write_bytes.next = 0.into();
        if self.select.queue_pair.val() {
            if self.cfg.word.val() == self.peer_word.val() {
                self.kept.write_bytes.next = bits::<BYTES>(0b1111);
            }
            if self.cfg.word.val() == self.shape_word.val() {
                self.kept.write_bytes.next = bits::<BYTES>(0b111) << 4;
            }
            if self.cfg.word.val() == self.vlan_word.val() {
                self.kept.write_bytes.next = bits::<BYTES>(0b11) << 7;
            }
        }
        self.vlan.next = 0.into();
        if self.cfg.data.val().get_bit(TAGGED) {
            self.vlan.next = self.cfg.data.val().get_bits::<VLAN>(0);
        }
        self.kept.write_address.next = self.cfg.index.val().get_bits::<QP>(0);
        self.kept.write_data.next = (bit_cast::<KEPT, 32>(self.cfg.data.val()) << PEER_AT as u64)
            | (bit_cast::<KEPT, SHAPE>(self.cfg.data.val().get_bits::<SHAPE>(0))
                << SHAPE_AT as u64)
            | (bit_cast::<KEPT, VLAN>(self.vlan.val()) << VLAN_AT as u64);
        self.kept.ahead.next = self.finder.next_qp.val();
        self.unused.next = self.kept.read_data.val();

        // The frame's transport and sender are compared.
        self.transport.next = self.kept.read_data.val().get_bits::<8>(SHAPE_AT + 16);
        self.pkey.next = self.kept.read_data.val().get_bits::<16>(SHAPE_AT);
        self.connected.next = ((self.transport.val() == RC)
            && ((self.address.transport.val() == RC_BITS) || self.address.notifies.val()))
            || ((self.transport.val() == UC)
                && ((self.address.transport.val() == UC_BITS) || self.address.notifies.val()));
        self.datagram.next =
            (self.transport.val() == UD) && (self.address.transport.val() == UD_BITS);
        self.owned.next = self.finder.hit.val()
            && (self.datagram.val()
                || (self.connected.val()
                    && (self.kept.read_data.val().get_bits::<32>(PEER_AT)
                        == self.address.source_ip.val())));
        // One of two members of a partition must be a full one.
        self.member.next = (self.pkey.val().get_bits::<15>(0)
            == self.address.pkey.val().get_bits::<15>(0))
            && (self.pkey.val().get_bit(15) || self.address.pkey.val().get_bit(15))
            && (self.kept.read_data.val().get_bits::<VLAN>(VLAN_AT) == self.address.vlan.val());
    }
}
