//! Makes frames of packets: headers in front, padding and the ICRC behind.
//!
//! Takes packets (a payload page and the fields of the headers) and `sent` items from the
//! segmenter, acknowledgements and packets of what peers READ from [`replies`](super::replies), congestion notifications from
//! [`notifier`](crate::receive::notifier), reads the pages, and gives out frames without FCS. A `sent`
//! item is passed on when the last byte of every frame before it has been taken. Acknowledgements leave whether
//! their queue pair is in error or not: a NAK puts it there.
//!
//! Contract: one beat of 64 B a cycle and no bubble inside a frame, also between frames (a `sent`
//! item takes a cycle); a frame starts when 72 beats are free in the output buffer, so that nothing
//! stops once it has started; its first beat follows the packet after 12 cycles. May stall at any
//! time. A page is given back a cycle after its last read.
//!
//! Stages: [`order`], which puts acknowledgements and notifications between packets; [`headers`], which knows a frame's dimensions after 2 cycles and its header after 6, and two
//! FIFOs; [`issuer`] walks the beats of a frame and reads rows; 2 cycles of memory; 2 cycles of rotation by
//! the header's length; `merge` joins header, the row and what is left of the row before; 3 cycles of CRC
//! beside a delay line; `tail` puts the ICRC in; the [`buffer`]; [`tagger`] puts in the 802.1Q tag of frames that
//! have one, at a cycle more where that needs another beat. A frame's header comes with its first
//! row: both leave their FIFOs in order, and the header has been there 4 cycles after the dimensions.
//!
//! The ICRC covers 8 bytes of ones and the frame without its first 14 bytes. So that the CRC can
//! take the frame's own beats, it is given in place of those 14 bytes others, chosen such that they
//! lead to the same state as the 8 bytes of ones.

use super::answers::Acknowledgement;
use super::replies::Response;
use super::{PAGE, PAGE_ROW, REPLY_ROW};
use crate::context::{ConfigWrite, QP};
use crate::receive::notifier::Notice;
use crate::request::{AddressWrite, DEST_COUNT};
use crate::shell::corundum::FrameBeat;
use drdma_emit::prelude::*;
use num_bigint::BigUint;

use drdma_abi::roce::Ethernet;

use crate::primitive::icrc::covered;
use crate::primitive::rotate::Turn;
use crate::primitive::{FrameCrc32, Pack, PromptFifo, StreamFifo};

pub mod buffer;
pub mod headers;
pub mod issuer;
pub mod order;
pub mod tagger;
#[cfg(test)]
mod tests;

use buffer::OutputBuffer;
use headers::{Frame, HEADER, Headers};
use issuer::{Issuer, Side};
use order::Order;
use tagger::{TAG, Tagger};

/// What the tail needs of a beat.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Tail {
    marker: Bit,
    last: Bit,
    tail: Bit,
    count: Bits<7>,
    /// Where the ICRC goes, in words.
    place: Bits<4>,
    payload: Bits<13>,
    tag: Bits<TAG>,
}

/// Kinds of `sent` items: a destination's last packet must be acknowledged; the request has ended;
pub const DESTINATION_ENDS: u64 = 0;
/// see [`DESTINATION_ENDS`];
pub const REQUEST_ENDS: u64 = 1;
/// the request has ended, with success, and the message goes on in another part.
pub const PART_ENDS: u64 = 2;

/// What is sent: a packet, or the end of a request.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Packet {
    /// A `sent` item {slot, qp, kind, psn, status, bad_dest, total}, not a packet.
    pub marker: Bit,
    /// The page that holds the payload.
    pub page: Bits<PAGE>,
    /// Payload bytes.
    pub bytes: Bits<13>,
    /// Queue pair.
    pub qp: Bits<QP>,
    /// Operation of the BTH.
    pub operation: Bits<5>,
    /// Asks for an acknowledgement.
    pub ack_req: Bit,
    /// Sequence number.
    pub psn: Bits<24>,
    /// Address of the RETH.
    pub remote_addr: Bits<64>,
    /// Key of the RETH.
    pub rkey: Bits<32>,
    /// Length of the RETH; that of an atomic has none.
    pub message_bytes: Bits<32>,
    /// Immediate data, or the key that a SEND makes invalid. Of a READ: the last sequence number that it takes; of one
    /// that is sent again, how many packets of its answer have come.
    pub imm: Bits<32>,
    /// There are immediate data, or a key.
    pub has_imm: Bit,
    /// There is a RETH.
    pub has_reth: Bit,
    /// It asks for a solicited event.
    pub solicited: Bit,
    /// It waits until the READs and atomics before it have their answers.
    pub fenced: Bit,
    /// It was sent before.
    pub again: Bit,
    /// It was sent before, or had to wait for its turn: its request may be over, and another one at hand.
    pub late: Bit,
    /// Request of a `sent` item, and of a packet that was not sent before.
    pub slot: Bits<8>,
    /// Its kind: [`DESTINATION_ENDS`], [`REQUEST_ENDS`] or [`PART_ENDS`].
    pub kind: Bits<2>,
    /// The request's status; of a READ, the binary logarithm of the MTU.
    pub status: Bits<8>,
    /// The destination that failed; of a packet, its own.
    pub bad_dest: Bits<DEST_COUNT>,
    /// Payload bytes of the request; of a packet and an item of kind 0, the stamp of its queue pair's
    /// context.
    pub total: Bits<40>,
}

/// What has left.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Sent {
    /// Payload bytes of the request.
    pub total: Bits<40>,
    /// Request.
    pub slot: Bits<8>,
    /// [`DESTINATION_ENDS`], [`REQUEST_ENDS`] or [`PART_ENDS`].
    pub kind: Bits<2>,
    /// The destination that failed.
    pub bad_dest: Bits<DEST_COUNT>,
    /// The request's status.
    pub status: Bits<8>,
    /// Queue pair.
    pub qp: Bits<QP>,
    /// Its sequence number.
    pub psn: Bits<24>,
}

/// A packet on its way.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Sending {
    /// of this queue pair,
    pub qp: Bits<QP>,
    /// with this PSN.
    pub psn: Bits<24>,
}

/// The packetizer. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Packetizer {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    // Packets, and `sent` items in order with them (`marker`).
    /// Packets to send.
    pub packet: Stream<In, Packet>,
    /// Acknowledgements to send between them.
    pub acknowledgement: Stream<In, Acknowledgement>,
    /// Congestion notifications, which go between them like acknowledgements.
    pub notice: Stream<In, Notice>,
    /// Packets of what peers READ, which take turns with them.
    pub response: Stream<In, Response>,

    // Pages of responses.
    /// A row is read.
    pub reply_read_enable: Signal<Out, Bit>,
    /// Which: page, row 6.
    pub reply_read_address: Signal<Out, Bits<REPLY_ROW>>,
    /// That row, two cycles later.
    pub reply_read_data: Signal<In, Bits<512>>,
    /// The page of the oldest response that has one is given back.
    pub reply_free: Signal<Out, Bit>,

    // Payload pages.
    /// A row is read.
    pub page_read_enable: Signal<Out, Bit>,
    /// Which: page, row 6.
    pub page_read_address: Signal<Out, Bits<PAGE_ROW>>,
    /// That row, two cycles later.
    pub page_read_data: Signal<In, Bits<512>>,
    /// A page is given back.
    pub page_free_valid: Signal<Out, Bit>,
    /// Which.
    pub page_free_page: Signal<Out, Bits<PAGE>>,

    // Configuration.
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// The card's MAC address.
    pub mac: Signal<In, Bits<48>>,
    /// The card's IPv4 address.
    pub ip: Signal<In, Bits<32>>,
    /// Where the datagrams of a request go; before its packets.
    pub address_write: Flow<In, AddressWrite>,

    // Frames.
    /// Frames.
    pub tx: Stream<Out, FrameBeat>,

    // `sent` items, to the completion unit.
    /// What has left, in order.
    pub sent: Stream<Out, Sent>,
    /// The host has written to the entry of the item's queue pair since its stamp: not a field of
    /// the stream, but true from the cycle after the write on, also while the item waits. Without
    /// meaning for items of kind 1.
    pub gone: Signal<Out, Bit>,

    // Packets that are sent for the first time, told a cycle after they were taken.
    /// A packet is sent.
    pub sending: Flow<Out, Sending>,

    // Counters: what left in a cycle.
    /// Frames.
    pub count_packets: Signal<Out, Bits<16>>,
    /// Payload bytes, counted at the frame's end.
    pub count_payload_bytes: Signal<Out, Bits<16>>,
    /// Frame bytes.
    pub count_frame_bytes: Signal<Out, Bits<16>>,
    /// A congestion notification will leave: its queue pair is still the one that it is for.
    pub count_notices: Signal<Out, Bit>,

    // Headers.
    order: Order,
    headers: Headers,
    header_fifo: PromptFifo<HEADER, 5, 6>,
    #[init(StreamFifo::prompt())]
    frame_fifo: StreamFifo<Frame, 5, 6>,

    issuer: Issuer,

    // What passes beside the rows: 2 cycles of memory, 2 of rotation.
    valids: [DFF<Bit>; 3],
    sides: [DFF<Side>; 3],
    /// The row is one of a response.
    responds: [DFF<Bit>; 2],
    row: Signal<Local, Bits<512>>,
    rotation: DFF<Bits<4>>,
    fine_rotation: DFF<Bits<2>>,
    #[init(Turn::new(16))]
    by_sixteens: Turn<512>,
    #[init(Turn::new(4))]
    by_fours: Turn<512>,
    coarse: DFF<Bits<512>>,
    moved: DFF<Bits<512>>,

    // Merge.
    previous: DFF<Bits<512>>,
    #[init(Constant::new(((BigUint::from(1_u8) << 512_usize) - 1_u8).into()))]
    ones: Constant<Bits<512>>,
    low_shift: Signal<Local, Bits<10>>,
    end_shift: Signal<Local, Bits<10>>,
    low_mask: Signal<Local, Bits<512>>,
    end_mask: Signal<Local, Bits<512>>,
    lower: Signal<Local, Bits<512>>,
    merged: DFF<Bits<512>>,
    merged_valid: DFF<Bit>,
    merged_tail: DFF<Tail>,
    crc_first: DFF<Bit>,
    crc_valid: DFF<Bit>,
    crc_last: DFF<Bit>,
    crc_bytes: DFF<Bits<7>>,

    // CRC, and the beats beside it.
    crc: FrameCrc32,
    #[init(Constant::new(covered(ETHERNET).0.into()))]
    kept: Constant<Bits<512>>,
    #[init(Constant::new(covered(ETHERNET).1.into()))]
    set: Constant<Bits<512>>,
    delay_valid: [DFF<Bit>; 3],
    delay_data: [DFF<Bits<512>>; 3],
    delay_tail: [DFF<Tail>; 3],

    // Tail: the ICRC goes to one of 16 places, 4 bytes apart.
    tail: Signal<Local, Tail>,
    places: Pack<16, 32, 512>,
    rest: DFF<Bits<16>>,
    closing: Signal<Local, Bits<512>>,

    buffer: OutputBuffer,
    tagger: Tagger,
}

/// Bytes of the Ethernet header.
const ETHERNET: usize = Ethernet::SIZE;

impl Logic for Packetizer {
    #[hdl_gen]
    #[rustfmt::skip]
    fn update(&mut self) {

        // Headers are made ahead: of less than the 32 items that the FIFOs hold.
        self.packet.join(&mut self.order.packet);
        self.acknowledgement.join(&mut self.order.acknowledgement);
        self.notice.join(&mut self.order.notice);
        self.response.join(&mut self.order.response);
        self.order.begun.next = self.issuer.begun.val();
        self.order.item.join(&mut self.headers.packet);
        self.headers.bare.next = self.order.bare.val();
        self.headers.notifies.next = self.order.notifies.val();
        self.count_notices.next = self.headers.count_notices.val();
        self.headers.responds.next = self.order.responds.val();
        self.headers.weight.next = self.order.weight.val();
        self.cfg.join(&mut self.headers.cfg);
        self.headers.mac.next = self.mac.val();
        self.headers.ip.next = self.ip.val();
        self.address_write.join(&mut self.headers.address_write);
        self.headers.next_sent_qp.next = self.buffer.next_qp.val();
        self.headers.sent_stamp.next = self.buffer.sent.total.val().get_bits::<32>(0);
        self.gone.next = self.headers.gone.val();
        self.headers.sending.join(&mut self.sending);
        // What is dropped has no header.
        self.header_fifo.in_valid.next = self.headers.header_valid.val();
        self.header_fifo.in_data.next = self.headers.out_header.val();
        self.frame_fifo.input.valid.next = self.headers.frame.valid.val();
        self.frame_fifo.input.data.next = self.headers.frame.val();

        // The beats of frames, one a cycle.
        self.frame_fifo.output.join(&mut self.issuer.frame);
        self.issuer.roomy.next = self.buffer.roomy.val();
        self.buffer.issued.next = self.issuer.issued.val();
        self.page_read_enable.next = self.issuer.page_read_enable.val();
        self.page_read_address.next = self.issuer.page_read_address.val();
        self.reply_read_enable.next = self.issuer.reply_read_enable.val();
        self.reply_read_address.next = self.issuer.reply_read_address.val();
        self.reply_free.next = self.issuer.reply_free.val();
        self.page_free_valid.next = self.issuer.page_free_valid.val();
        self.page_free_page.next = self.issuer.page_free_page.val();

        // Rows come from memory and are moved behind the header, whose length is 2 more than a multiple
        // of 4.
        self.valids[0].d.next = self.issuer.beat_valid.val();
        self.sides[0].d.next = self.issuer.beat_side.val();
        for k in 1..3 {
            self.valids[k].d.next = self.valids[k - 1].q.val();
            self.sides[k].d.next = self.sides[k - 1].q.val();
        }
        self.rotation.d.next = self.issuer.beat_rotation.val();
        self.responds[0].d.next = self.issuer.reply_read_enable.val();
        self.responds[1].d.next = self.responds[0].q.val();
        self.row.next = self.page_read_data.val();
        if self.responds[1].q.val() {
            self.row.next = self.reply_read_data.val();
        }
        self.by_sixteens.data.next = (self.row.val() << 16) | (self.row.val() >> 496);
        self.by_sixteens.count.next = self.rotation.q.val().get_bits::<2>(2);
        self.coarse.d.next = self.by_sixteens.result.val();
        self.by_fours.data.next = self.coarse.q.val();
        self.fine_rotation.d.next = self.rotation.q.val().get_bits::<2>(0);
        self.by_fours.count.next = self.fine_rotation.q.val();
        self.moved.d.next = self.by_fours.result.val();

        // Merge: the bytes below come from the header or the row before.
        self.header_fifo.out_ready.next = self.valids[2].q.val() && self.sides[2].q.val().pop;
        if self.valids[2].q.val() {
            self.previous.d.next = self.moved.q.val();
        }
        self.lower.next = self.previous.q.val();
        if self.sides[2].q.val().first {
            self.lower.next = self.header_fifo.out_data.val().get_bits::<512>(0);
        }
        if self.sides[2].q.val().second {
            self.lower.next = bit_cast::<512, 80>(self.header_fifo.out_data.val().get_bits::<80>(512));
        }
        self.low_shift.next = bit_cast::<10, 7>(self.sides[2].q.val().low) << 3;
        self.end_shift.next = bit_cast::<10, 7>(self.sides[2].q.val().filled) << 3;
        self.low_mask.next = !(self.ones.val() << self.low_shift.val());
        self.end_mask.next = !(self.ones.val() << self.end_shift.val());
        self.merged.d.next = ((self.lower.val() & self.low_mask.val())
            | (self.moved.q.val() & !self.low_mask.val()))
            & self.end_mask.val();
        self.merged_valid.d.next = self.valids[2].q.val();
        self.crc_first.d.next = self.sides[2].q.val().first;
        self.crc_last.d.next = self.sides[2].q.val().crc_last;
        self.crc_valid.d.next = self.valids[2].q.val() && self.sides[2].q.val().crc_valid;
        self.crc_bytes.d.next = self.sides[2].q.val().crc_count;
        self.sides[2].q.share(&mut self.merged_tail.d);
        self.merged_tail.d.next.place = self.sides[2].q.val().crc_count.get_bits::<4>(2);

        // CRC: some bits of the first beat are not what is sent.
        self.crc.in_valid.next = self.crc_valid.q.val();
        self.crc.in_last.next = self.crc_last.q.val();
        self.crc.in_count.next = self.crc_bytes.q.val();
        self.crc.in_data.next = self.merged.q.val();
        if self.crc_first.q.val() {
            self.crc.in_data.next = (self.merged.q.val() & self.kept.val()) | self.set.val();
        }
        self.delay_valid[0].d.next = self.merged_valid.q.val();
        self.delay_data[0].d.next = self.merged.q.val();
        self.delay_tail[0].d.next = self.merged_tail.q.val();
        for k in 1..3 {
            self.delay_valid[k].d.next = self.delay_valid[k - 1].q.val();
            self.delay_data[k].d.next = self.delay_data[k - 1].q.val();
            self.delay_tail[k].d.next = self.delay_tail[k - 1].q.val();
        }

        // Tail: the CRC is there with the last beat that it covers; two bytes may be left over.
        self.tail.next = self.delay_tail[2].q.val();
        for k in 0..16 {
            self.places.parts[k].next = 0.into();
            if self.crc.out_valid.val() && (self.tail.val().place == k.to_bits()) {
                self.places.parts[k].next = self.crc.out_crc.val();
            }
        }
        if self.crc.out_valid.val() {
            self.rest.d.next = self.crc.out_crc.val().get_bits::<16>(16);
        }
        self.closing.next = self.delay_data[2].q.val() | (self.places.whole.val() << 16);
        if self.tail.val().tail {
            self.closing.next = bit_cast::<512, 16>(self.rest.q.val());
        }
        self.buffer.input.valid.next = self.delay_valid[2].q.val();
        self.tail.share(&mut self.buffer.input);
        self.buffer.input.data.next = self.closing.val();

        // What leaves.
        self.buffer.tx.join(&mut self.tagger.input);
        self.tagger.tag.next = self.buffer.tag.val();
        self.buffer.rests.next = self.tagger.rests.val();
        self.tagger.output.join(&mut self.tx);
        self.buffer.sent.join(&mut self.sent);
        self.count_packets.next = self.buffer.count_packets.val();
        self.count_payload_bytes.next = self.buffer.count_payload_bytes.val();
        self.count_frame_bytes.next = self.buffer.count_frame_bytes.val();

        if self.rst.val() {
            for k in 0..3 {
                self.valids[k].d.next = false;
                self.delay_valid[k].d.next = false;
            }
            self.merged_valid.d.next = false;
            self.crc_valid.d.next = false;
        }
    }
}
