//! Walks the beats of frames.

use drdma_emit::prelude::*;

use super::headers::Frame;
use super::order::WEIGHT;
use super::tagger::TAG;
use crate::send::{PAGE, PAGE_ROW, REPLY_PAGE, REPLY_ROW};

/// Fields that accompany a beat through the stages behind the issuer.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Side {
    /// Low bytes of the beat that do not come from this row, but from the header or the row before; 64: all.
    pub low: Bits<7>,
    /// Bytes of header and payload in the beat, 0 to 64.
    pub filled: Bits<7>,
    /// The beat is the frame's first one.
    pub first: Bit,
    /// The beat is the second one of a header that is longer than a beat.
    pub second: Bit,
    /// The beat is the last one with bytes of the header.
    pub pop: Bit,
    /// The beat is a `sent` item.
    pub marker: Bit,
    /// The beat is the frame's last one.
    pub last: Bit,
    /// The beat is the last one that the CRC covers.
    pub crc_last: Bit,
    /// The CRC covers some of the beat.
    pub crc_valid: Bit,
    /// The beat has only the rest of the ICRC.
    pub tail: Bit,
    /// Bytes of the frame in the beat, 1 to 64.
    pub count: Bits<7>,
    /// Bytes of the beat that the CRC covers; valid with `crc_valid`.
    pub crc_count: Bits<7>,
    /// Bytes of payload in the whole frame.
    pub payload: Bits<13>,
    /// The frame's 802.1Q tag.
    pub tag: Bits<TAG>,
}

/// Bytes of a beat.
const BEAT: u64 = 64;
/// Bytes of the ICRC.
const ICRC: u64 = 4;

/// Walks the beats of a frame: determines what of each beat comes from where, reads its row, and gives the page back
/// behind the last.
///
/// Contract: a beat a cycle, without a bubble inside a frame. A frame begins when there is room for the longest one
/// (`roomy`). A dropped packet takes one step, which gives its page back and makes no beat. A `bare` frame has no page.
/// A beat is issued in the cycle in which its row is read, and offered a cycle later.
///
/// `page_read_*`, `reply_*` and `page_free_*` are those of the packetizer.
#[derive(LogicBlock, BlockDefault)]
pub struct Issuer {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Dimensions of frames; each is accepted with the frame's last beat.
    pub frame: Stream<In, Frame>,
    /// There is room for all beats of the longest frame.
    pub roomy: Signal<In, Bit>,
    /// A beat is issued, and will need a place in the output buffer.
    pub issued: Signal<Out, Bit>,
    /// Weight of the frame that is begun or dropped in this cycle; otherwise 0.
    pub begun: Signal<Out, Bits<WEIGHT>>,
    /// A row of a payload page is read.
    pub page_read_enable: Signal<Out, Bit>,
    /// Page and row that are read; the row is the low 6 bits.
    pub page_read_address: Signal<Out, Bits<PAGE_ROW>>,
    /// A row of a reply page is read.
    pub reply_read_enable: Signal<Out, Bit>,
    /// Page and row that are read; the row is the low 6 bits.
    pub reply_read_address: Signal<Out, Bits<REPLY_ROW>>,
    /// The oldest reply page is given back.
    pub reply_free: Signal<Out, Bit>,
    /// A payload page is given back.
    pub page_free_valid: Signal<Out, Bit>,
    /// The page that is given back.
    pub page_free_page: Signal<Out, Bits<PAGE>>,
    /// A beat was issued in the cycle before.
    pub beat_valid: Signal<Out, Bit>,
    /// Fields that accompany that beat.
    pub beat_side: Signal<Out, Side>,
    /// How far the beat's row is to be moved up, in words of 4 B, beside the 2 bytes that every row is moved.
    pub beat_rotation: Signal<Out, Bits<4>>,

    slot: DFF<Bits<7>>,
    payload_left: DFF<Bits<13>>,
    frame_left: DFF<Bits<13>>,
    next_slot: Signal<Local, Bits<7>>,
    slots: Signal<Local, Bits<7>>,
    row: Signal<Local, Bits<6>>,
    beyond: Signal<Local, Bits<7>>,
    marker: Signal<Local, Bit>,
    dropped: Signal<Local, Bit>,
    paged: Signal<Local, Bit>,
    sends: Signal<Local, Bit>,
    first: Signal<Local, Bit>,
    last: Signal<Local, Bit>,
    issue: Signal<Local, Bit>,
    payload_now: Signal<Local, Bits<13>>,
    frame_now: Signal<Local, Bits<13>>,
    low: Signal<Local, Bits<7>>,
    filled: Signal<Local, Bits<7>>,
    count: Signal<Local, Bits<7>>,
    crc_count: Signal<Local, Bits<7>>,
    reads: Signal<Local, Bit>,
    gives_back: Signal<Local, Bit>,
    reply_frees: DFF<Bit>,
    free: DFF<Bit>,
    free_page: DFF<Bits<PAGE>>,
    valid: DFF<Bit>,
    side: DFF<Side>,
    rotation: DFF<Bits<4>>,
}

impl Logic for Issuer {
    #[hdl_gen]
    fn update(&mut self) {
        // The next beat of the frame, or the first beat of the next one.
        self.marker.next = self.frame.marker.val();
        self.dropped.next = self.frame.dropped.val();
        self.slots.next = self.frame.slots.val();
        self.beyond.next = bit_cast::<7, 1>(self.frame.long.val().into());
        self.first.next = !self.slot.q.val().any();
        self.next_slot.next = self.slot.q.val() + 1;
        self.last.next = self.next_slot.val() == self.slots.val();
        self.issue.next = self.frame.valid.val() && (!self.first.val() || self.roomy.val());
        self.sends.next = self.issue.val() && !self.dropped.val();
        self.issued.next = self.sends.val();
        self.begun.next = 0.into();
        if self.issue.val() && self.first.val() {
            self.begun.next = self.frame.weight.val();
        }
        self.frame.ready.next = self.issue.val() && self.last.val();
        self.payload_now.next = self.payload_left.q.val();
        self.frame_now.next = self.frame_left.q.val();
        if self.first.val() {
            self.payload_now.next = self.frame.end.val();
            self.frame_now.next = self.frame.bytes.val();
        }
        self.filled.next = BEAT.into();
        self.count.next = BEAT.into();
        if self.issue.val() {
            self.slot.d.next = self.next_slot.val();
            if self.last.val() {
                self.slot.d.next = 0.into();
            }
            self.payload_left.d.next = 0.into();
            if self.payload_now.val() > BEAT {
                self.payload_left.d.next = self.payload_now.val() - BEAT;
            }
            self.frame_left.d.next = self.frame_now.val() - BEAT;
        }
        if self.payload_now.val() < BEAT {
            self.filled.next = self.payload_now.val().get_bits::<7>(0);
        }
        if self.last.val() {
            self.count.next = self.frame_now.val().get_bits::<7>(0);
        }

        // The beat's row: the payload starts in the header's last beat.
        self.row.next = self.slot.q.val().get_bits::<6>(0) - self.beyond.val().get_bits::<6>(0);
        self.paged.next = !self.marker.val() && !self.frame.bare.val();
        self.reads.next =
            self.sends.val() && self.paged.val() && (self.slot.q.val() >= self.beyond.val());
        self.page_read_enable.next = self.reads.val() && !self.frame.responds.val();
        self.reply_read_enable.next = self.reads.val() && self.frame.responds.val();
        self.reply_read_address.next =
            (bit_cast::<REPLY_ROW, REPLY_PAGE>(self.frame.page.val().get_bits::<REPLY_PAGE>(0))
                << 6)
                | bit_cast::<REPLY_ROW, 6>(self.row.val());
        self.page_read_address.next = (bit_cast::<PAGE_ROW, PAGE>(self.frame.page.val()) << 6)
            | bit_cast::<PAGE_ROW, 6>(self.row.val());
        self.gives_back.next = self.issue.val() && self.last.val() && self.paged.val();
        self.free.d.next = self.gives_back.val() && !self.frame.responds.val();
        self.reply_frees.d.next = self.gives_back.val() && self.frame.responds.val();
        self.reply_free.next = self.reply_frees.q.val();
        self.free_page.d.next = self.frame.page.val();
        self.page_free_valid.next = self.free.q.val();
        self.page_free_page.next = self.free_page.q.val();

        // Bytes of this beat that come from the header, and from rows.
        self.low.next = bit_cast::<7, 6>(self.frame.rotate.val());
        if self.marker.val() || (self.first.val() && self.beyond.val().any()) {
            self.low.next = BEAT.into();
        }
        // The CRC ends 4 bytes before the frame does, maybe in the beat before the last.
        self.crc_count.next = BEAT.into();
        self.side.d.next.crc_last = false;
        self.side.d.next.crc_valid = false;
        self.side.d.next.tail = false;
        if !self.marker.val() {
            if self.frame_now.val() > ICRC {
                self.side.d.next.crc_valid = true;
                if self.frame_now.val() < BEAT + ICRC {
                    self.side.d.next.crc_last = true;
                    self.crc_count.next = self.frame_now.val().get_bits::<7>(0) - ICRC;
                }
            } else {
                self.side.d.next.tail = true;
            }
        }
        self.valid.d.next = self.sends.val();
        self.side.d.next.low = self.low.val();
        self.side.d.next.filled = self.filled.val();
        self.side.d.next.first = self.first.val();
        self.side.d.next.second = (self.slot.q.val() == 1) && self.beyond.val().any();
        self.side.d.next.pop = self.slot.q.val() == self.beyond.val();
        self.side.d.next.marker = self.marker.val();
        self.side.d.next.last = self.last.val();
        self.side.d.next.count = self.count.val();
        self.side.d.next.crc_count = self.crc_count.val();
        self.side.d.next.payload = self.frame.payload.val();
        self.side.d.next.tag = self.frame.tag.val();
        self.rotation.d.next = self.frame.rotate.val().get_bits::<4>(2);
        self.beat_valid.next = self.valid.q.val();
        self.beat_side.next = self.side.q.val();
        self.beat_rotation.next = self.rotation.q.val();

        if self.rst.val() {
            self.slot.d.next = 0.into();
            self.free.d.next = false;
            self.reply_frees.d.next = false;
            self.valid.d.next = false;
        }
    }
}
