//! Makes frames of packets: headers in front, padding and the ICRC behind.
//!
//! Takes packets (a payload page and the fields of the headers) and `sent` items from the segmenter, acknowledgements
//! and packets of what peers READ from [`replies`](super::replies), and congestion notifications from
//! [`notifier`](crate::receive::notifier); reads the pages, and gives out frames without FCS. A `sent` item is passed
//! on when the last byte of every frame before it has been taken. Acknowledgements leave even if their queue pair is in
//! the error state: a NAK puts it there.
//!
//! Contract: one beat of 64 B a cycle without a bubble inside a frame or between frames (a `sent`
//! item takes a cycle). A frame starts when 72 beats are free in the output buffer, so that nothing
//! stops it once it has started; its first beat follows the packet after 12 cycles. May stall at any
//! time. A page is given back a cycle after its last read.
//!
//! Stages: [`order`] puts acknowledgements and notifications between packets; [`headers`] gives a frame's dimensions
//! after 2 cycles and its header after 6, to two FIFOs; [`issuer`] walks the beats of a frame and reads rows; 2 cycles
//! of memory; 2 cycles of rotation by the header's length; `merge` joins the header, the row and what is left of the
//! row before; 3 cycles of CRC beside a delay line; `tail` puts the ICRC in; the [`buffer`]; [`tagger`] puts the 802.1Q
//! tag into frames that have one, which takes a cycle more if the frame then needs another beat. A frame's header is
//! merged with its first row: both leave their FIFOs in order, and the header has been there 4 cycles after the
//! dimensions.
//!
//! The ICRC covers 8 bytes of ones and the frame without its first 14 bytes. So that the CRC can
//! take the frame's own beats, those 14 bytes are replaced by others, chosen such that they
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

/// Fields of a beat for the tail stage.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Tail {
    marker: Bit,
    last: Bit,
    tail: Bit,
    count: Bits<7>,
    /// Place of the ICRC in the beat, in words of 4 B, 2 bytes further on.
    place: Bits<4>,
    payload: Bits<13>,
    tag: Bits<TAG>,
}

/// Kind of `sent` item: a destination's last packet has left, and must be acknowledged.
pub const DESTINATION_ENDS: u64 = 0;
/// Kind of `sent` item: the request has ended.
pub const REQUEST_ENDS: u64 = 1;
/// Kind of `sent` item: the request has ended with success, and its message goes on in another part.
pub const PART_ENDS: u64 = 2;

/// An item that is sent in order: a packet, or a `sent` item (with `marker`).
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Packet {
    /// The item is a `sent` item {slot, qp, kind, psn, status, bad_dest, total}; otherwise a packet.
    pub marker: Bit,
    /// The payload page that holds the packet's payload.
    pub page: Bits<PAGE>,
    /// Bytes of the packet's payload, 0 to 4,096.
    pub bytes: Bits<13>,
    /// The queue pair that sends.
    pub qp: Bits<QP>,
    /// Operation of the BTH.
    pub operation: Bits<5>,
    /// The packet asks for an acknowledgement.
    pub ack_req: Bit,
    /// Sequence number; of a `sent` item, that of the destination's last packet.
    pub psn: Bits<24>,
    /// Remote address, for the RETH.
    pub remote_addr: Bits<64>,
    /// Remote key, for the RETH.
    pub rkey: Bits<32>,
    /// Bytes of the message, for the RETH; the extended header of an atomic has no length.
    pub message_bytes: Bits<32>,
    /// Immediate data, or the key that a SEND with invalidate names. Of a READ: the last sequence number that it takes;
    /// of a READ that is sent again, how many packets of its answer have come.
    pub imm: Bits<32>,
    /// The packet has immediate data, or a key to invalidate, in `imm`.
    pub has_imm: Bit,
    /// The packet has a RETH, or the extended header of an atomic.
    pub has_reth: Bit,
    /// The packet asks for a solicited event.
    pub solicited: Bit,
    /// The packet waits until the READs and atomics before it have their answers.
    pub fenced: Bit,
    /// The packet was sent before.
    pub again: Bit,
    /// The packet was sent before, or had to wait for its turn: its request may be over, and its slot used again.
    pub late: Bit,
    /// Slot of the request; valid for a `sent` item, and for a packet that was not sent before.
    pub slot: Bits<8>,
    /// Kind of a `sent` item: [`DESTINATION_ENDS`], [`REQUEST_ENDS`] or [`PART_ENDS`].
    pub kind: Bits<2>,
    /// The request's status; of a READ, the binary logarithm of the MTU in bytes.
    pub status: Bits<8>,
    /// Of a request's end: the index of the destination that failed. Of a packet, and of the end of a destination: the
    /// index of its destination.
    pub bad_dest: Bits<DEST_COUNT>,
    /// Of a request's end: payload bytes of the request. Of a packet, and of the end of a destination: the stamp of the
    /// queue pair's entry that the request was checked with.
    pub total: Bits<40>,
}

/// Tells the completion unit that a destination's last packet, or all of a request, has left.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Sent {
    /// Of a request's end: payload bytes of the request. Of a destination's end: the stamp of the queue pair's entry.
    pub total: Bits<40>,
    /// Slot of the request.
    pub slot: Bits<8>,
    /// Kind of the item: [`DESTINATION_ENDS`], [`REQUEST_ENDS`] or [`PART_ENDS`].
    pub kind: Bits<2>,
    /// Of a request's end: the index of the destination that failed. Of a destination's end: its own index.
    pub bad_dest: Bits<DEST_COUNT>,
    /// The request's status.
    pub status: Bits<8>,
    /// Queue pair of the destination that ends.
    pub qp: Bits<QP>,
    /// Sequence number of the destination's last packet.
    pub psn: Bits<24>,
}

/// Reports that a packet is on its way.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Sending {
    /// The queue pair that sends the packet.
    pub qp: Bits<QP>,
    /// Sequence number of the packet; of a READ, the last one that it takes.
    pub psn: Bits<24>,
}

/// Makes frames of packets. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Packetizer {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    // Packets, and `sent` items in order with them (`marker`).
    /// Packets and `sent` items, in order.
    pub packet: Stream<In, Packet>,
    /// Acknowledgements, which are sent between packets.
    pub acknowledgement: Stream<In, Acknowledgement>,
    /// Congestion notifications, which are sent between packets like acknowledgements.
    pub notice: Stream<In, Notice>,
    /// Packets of answers to READs, which take turns with the others.
    pub response: Stream<In, Response>,

    // Pages of responses.
    /// A row of a reply page is read.
    pub reply_read_enable: Signal<Out, Bit>,
    /// Page and row that are read; the row is the low 6 bits.
    pub reply_read_address: Signal<Out, Bits<REPLY_ROW>>,
    /// The row, two cycles after it was asked for.
    pub reply_read_data: Signal<In, Bits<512>>,
    /// The page of the oldest response that has one is given back.
    pub reply_free: Signal<Out, Bit>,

    // Payload pages.
    /// A row of a payload page is read.
    pub page_read_enable: Signal<Out, Bit>,
    /// Page and row that are read; the row is the low 6 bits.
    pub page_read_address: Signal<Out, Bits<PAGE_ROW>>,
    /// The row, two cycles after it was asked for.
    pub page_read_data: Signal<In, Bits<512>>,
    /// A payload page is given back.
    pub page_free_valid: Signal<Out, Bit>,
    /// The page that is given back.
    pub page_free_page: Signal<Out, Bits<PAGE>>,

    // Configuration.
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// The card's MAC address.
    pub mac: Signal<In, Bits<48>>,
    /// The card's IPv4 address.
    pub ip: Signal<In, Bits<32>>,
    /// Address of the datagrams of a request; written before its packets come.
    pub address_write: Flow<In, AddressWrite>,

    // Frames.
    /// Frames without FCS.
    pub tx: Stream<Out, FrameBeat>,

    // `sent` items, for the completion unit.
    /// `sent` items, when all frames before them have left.
    pub sent: Stream<Out, Sent>,
    /// The host has written to the entry of `sent`'s queue pair since its stamp. This is not a field of the stream: it
    /// is true from the cycle after the write on, also while the item waits. Valid only for items of kind
    /// [`DESTINATION_ENDS`].
    pub gone: Signal<Out, Bit>,

    // Packets that are sent for the first time, named a cycle after they were taken.
    /// A packet is sent for the first time.
    pub sending: Flow<Out, Sending>,

    // Counters: what left in the cycle before.
    /// Frames that have left.
    pub count_packets: Signal<Out, Bits<16>>,
    /// Bytes of payload that have left, counted at the frame's end.
    pub count_payload_bytes: Signal<Out, Bits<16>>,
    /// Bytes of frames that have left.
    pub count_frame_bytes: Signal<Out, Bits<16>>,
    /// A congestion notification will leave: its queue pair's entry was not written since it was asked for.
    pub count_notices: Signal<Out, Bit>,

    // Headers.
    order: Order,
    headers: Headers,
    header_fifo: PromptFifo<HEADER, 5, 6>,
    #[init(StreamFifo::prompt())]
    frame_fifo: StreamFifo<Frame, 5, 6>,

    issuer: Issuer,

    // Fields that accompany the rows: 2 cycles of memory, 2 of rotation.
    valids: [DFF<Bit>; 3],
    sides: [DFF<Side>; 3],
    /// The row is read from a reply page.
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

    // Merge of header and rows.
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

    // CRC, and the beats that wait for it.
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
    fn update(&mut self) {
        // Headers are made ahead, for fewer items than the 32 that the FIFOs hold.
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
        // A dropped packet has no header.
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

        // Rows come from memory and are moved behind the header, whose length is 2 bytes more than a
        // multiple of 4.
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

        // Merge: the low bytes come from the header or the row before.
        self.header_fifo.out_ready.next = self.valids[2].q.val() && self.sides[2].q.val().pop;
        if self.valids[2].q.val() {
            self.previous.d.next = self.moved.q.val();
        }
        self.lower.next = self.previous.q.val();
        if self.sides[2].q.val().first {
            self.lower.next = self.header_fifo.out_data.val().get_bits::<512>(0);
        }
        if self.sides[2].q.val().second {
            self.lower.next =
                bit_cast::<512, 80>(self.header_fifo.out_data.val().get_bits::<80>(512));
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

        // CRC: of the first beat, it takes other bytes than those that are sent.
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

        // Tail: the CRC comes with the last beat that it covers; two of its bytes may go into a beat behind it.
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

        // The streams and counters of what leaves.
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
