//! Checks that a frame's lengths fit together, and its IPv4 checksum.
//!
//! Contract: one frame a cycle, without back-pressure; the result comes 5 cycles later.

use drdma_abi::roce::{Bth, ICRC_SIZE, Ipv4, Udp};
use drdma_emit::prelude::*;

use super::shape::{Shape, WORDS};
use crate::primitive::header::{BthFields, Ipv4Fields, UdpFields};
use crate::receive::record::LONGEST;

/// Bits of the headers of every RoCEv2 packet: IPv4, UDP and base transport header.
pub const COMMON: usize = NETWORK + UDP + BTH;
/// Bits of an IPv4 header.
const NETWORK: usize = 8 * Ipv4::SIZE;
/// Bits of a UDP header.
const UDP: usize = 8 * Udp::SIZE;
/// Bits of a base transport header.
const BTH: usize = 8 * Bth::SIZE;
/// Words of 4 B of those headers and of the invariant CRC.
const FIXED: u64 = ((Ipv4::SIZE + Udp::SIZE + Bth::SIZE + ICRC_SIZE) / 4) as u64;
/// Bytes of an IPv4 header.
const NETWORK_BYTES: u64 = Ipv4::SIZE as u64;
/// Bytes that are reported of a payload that is longer than allowed.
const TOO_LONG: u64 = LONGEST + 1;

/// Values that the first cycle gives to the second one.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Sums {
    /// Sums of the IPv4 header's halfwords 0 to 2, 3 to 5 and 6 to 8, and the last halfword.
    low: Bits<18>,
    middle: Bits<18>,
    high: Bits<18>,
    end: Bits<16>,
    /// Bytes of the IPv4 packet, from its header.
    total: Bits<16>,
    /// Bytes of the IPv4 packet, as the UDP header says.
    claimed: Bits<17>,
    /// Words of 4 B of the IPv4 packet that are not payload.
    words: Bits<5>,
    /// Bytes of padding behind the payload.
    pad: Bits<2>,
    /// All other fields are right.
    good: Bit,
}

/// Values that the second cycle gives to the third one.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Halves {
    low: Bits<19>,
    high: Bits<19>,
    total: Bits<16>,
    /// Bytes of the IPv4 packet that are not payload.
    less: Bits<7>,
    good: Bit,
}

/// Values that the third cycle gives to the fourth one.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Whole {
    sum: Bits<20>,
    /// Bytes of payload; negative if there are too few bytes.
    left: Bits<17>,
    good: Bit,
}

/// Values that the fourth cycle gives to the fifth one.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Folded {
    sum: Bits<17>,
    bytes: Bits<13>,
    good: Bit,
}

/// Checks frames. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Judge {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// IPv4, UDP and base transport header, as they came.
    pub headers: Signal<In, Bits<COMMON>>,
    /// The frame has all bytes that its IPv4 header announces, and the MAC found no error.
    pub whole: Signal<In, Bit>,
    /// Words of 4 B of the packet's extended headers, in the same cycle.
    pub extended: Signal<Out, Bits<WORDS>>,
    /// Lengths, checksum and version are right, 5 cycles later.
    pub right: Signal<Out, Bit>,
    /// Bytes of payload, 0 to 4,097; valid with `right`.
    pub bytes: Signal<Out, Bits<13>>,

    network: Ipv4Fields,
    udp: UdpFields,
    bth: BthFields,
    shape: Shape,
    halfwords: [Signal<Local, Bits<18>>; 9],
    sums: DFF<Sums>,
    halves: DFF<Halves>,
    all: DFF<Whole>,
    folded: DFF<Folded>,
    answer: DFF<Bit>,
    answer_bytes: DFF<Bits<13>>,
}

impl Logic for Judge {
    #[hdl_gen]
    fn update(&mut self) {
        self.network.received.next = self.headers.val().get_bits::<NETWORK>(0);
        self.udp.received.next = self.headers.val().get_bits::<UDP>(NETWORK);
        self.bth.received.next = self.headers.val().get_bits::<BTH>(NETWORK + UDP);
        self.shape.opcode.next = self.bth.opcode.val();
        self.extended.next = self.shape.words.val();

        // The sum of ones' complements is 0xffff in either order of the bytes.
        for k in 0..9 {
            self.halfwords[k].next = bit_cast::<18, 16>(self.headers.val().get_bits::<16>(k * 16));
        }
        self.sums.d.next.low =
            self.halfwords[0].val() + self.halfwords[1].val() + self.halfwords[2].val();
        self.sums.d.next.middle =
            self.halfwords[3].val() + self.halfwords[4].val() + self.halfwords[5].val();
        self.sums.d.next.high =
            self.halfwords[6].val() + self.halfwords[7].val() + self.halfwords[8].val();
        self.sums.d.next.end = self.headers.val().get_bits::<16>(NETWORK - 16);
        self.sums.d.next.total = self.network.total_length.val();
        self.sums.d.next.claimed = bit_cast::<17, 16>(self.udp.length.val()) + NETWORK_BYTES;
        self.sums.d.next.words = bit_cast::<5, WORDS>(self.shape.words.val()) + FIXED;
        self.sums.d.next.pad = self.bth.pad.val();
        // Payload and padding together have whole words.
        self.sums.d.next.good = self.whole.val()
            && self.shape.known.val()
            && (self.bth.version.val() == 0)
            && (self.network.total_length.val().get_bits::<2>(0) == 0);

        self.halves.d.next.low = bit_cast::<19, 18>(self.sums.q.val().low)
            + bit_cast::<19, 18>(self.sums.q.val().middle);
        self.halves.d.next.high =
            bit_cast::<19, 18>(self.sums.q.val().high) + bit_cast::<19, 16>(self.sums.q.val().end);
        self.halves.d.next.total = self.sums.q.val().total;
        self.halves.d.next.less = (bit_cast::<7, 5>(self.sums.q.val().words) << 2)
            | bit_cast::<7, 2>(self.sums.q.val().pad);
        self.halves.d.next.good = self.sums.q.val().good
            && (self.sums.q.val().claimed == bit_cast::<17, 16>(self.sums.q.val().total));

        self.all.d.next.sum = bit_cast::<20, 19>(self.halves.q.val().low)
            + bit_cast::<20, 19>(self.halves.q.val().high);
        self.all.d.next.left = bit_cast::<17, 16>(self.halves.q.val().total)
            - bit_cast::<17, 7>(self.halves.q.val().less);
        self.all.d.next.good = self.halves.q.val().good;

        // The header is not all zeros; so a carry out of 16 bits leaves less than 0xffff.
        self.folded.d.next.sum = bit_cast::<17, 16>(self.all.q.val().sum.get_bits::<16>(0))
            + bit_cast::<17, 4>(self.all.q.val().sum.get_bits::<4>(16));
        self.folded.d.next.bytes = self.all.q.val().left.get_bits::<13>(0);
        if self.all.q.val().left.get_bits::<16>(0) > LONGEST {
            self.folded.d.next.bytes = TOO_LONG.into();
        }
        self.folded.d.next.good = self.all.q.val().good && !self.all.q.val().left.get_bit(16);

        self.answer.d.next = self.folded.q.val().good && (self.folded.q.val().sum == 0xffff);
        self.answer_bytes.d.next = self.folded.q.val().bytes;
        self.right.next = self.answer.q.val();
        self.bytes.next = self.answer_bytes.q.val();
    }
}
