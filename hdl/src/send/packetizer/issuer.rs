//! The beats of a frame, one after the other.

use drdma_emit::prelude::*;

use super::headers::FRAME;

/// Bits of what passes beside a beat. From bit 0: `low` 7 (bytes that do not come from this row),
/// `end` 7 (bytes of header and payload), `first`, `second` (of a long header), `pop` (last beat with
/// header), `marker`, `last`, `crc_last`, `crc_valid`, `tail` (only the rest of the ICRC), `count` 7
/// (bytes of the frame), `crc_count` 7, `payload` 13.
pub const SIDE: usize = 49;

/// Walks the beats of a frame: says what of each comes from where, reads its row, and gives the page back
/// behind the last.
///
/// A beat a cycle, without a bubble inside a frame; a frame begins when there is room for the longest
/// (`roomy`). What is dropped has one step, which gives its page back and makes no beat. A beat is
/// issued in the cycle in which its row is read, and told a cycle later.
///
/// # Inputs
/// `frame` stream: see [`FRAME`]; taken with its last beat. `roomy`.
///
/// # Outputs
/// `issued`: a beat is; `beat_*`: it was. `page_read_*`, `page_free_*`: as of the packetizer.
#[derive(LogicBlock, BlockDefault)]
pub struct Issuer {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A frame is offered.
    pub frame_valid: Signal<In, Bit>,
    /// It is taken.
    pub frame_ready: Signal<Out, Bit>,
    /// See [`FRAME`].
    pub frame: Signal<In, Bits<FRAME>>,
    /// There is room for all beats of a frame.
    pub roomy: Signal<In, Bit>,
    /// A beat is issued, and will need room.
    pub issued: Signal<Out, Bit>,
    /// A row is read.
    pub page_read_enable: Signal<Out, Bit>,
    /// Which: page 7, row 6.
    pub page_read_address: Signal<Out, Bits<13>>,
    /// A page is given back.
    pub page_free_valid: Signal<Out, Bit>,
    /// Which.
    pub page_free_page: Signal<Out, Bits<7>>,
    /// A beat was issued in the cycle before.
    pub beat_valid: Signal<Out, Bit>,
    /// See [`SIDE`].
    pub beat_side: Signal<Out, Bits<SIDE>>,
    /// How far its row is to be moved, in words of 4 B and two bytes beside.
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
    flags: Signal<Local, Bits<8>>,
    free: DFF<Bit>,
    free_page: DFF<Bits<7>>,
    valid: DFF<Bit>,
    side: DFF<Bits<SIDE>>,
    rotation: DFF<Bits<4>>,
    #[init(Constant::new(4.into()))]
    icrc: Constant<Bits<13>>,
}

impl Logic for Issuer {
    #[hdl_gen]
    #[rustfmt::skip]
    fn update(&mut self) {

        // The next beat of the frame, or the first one of the next.
        self.marker.next = self.frame.val().get_bit(34);
        self.dropped.next = self.frame.val().get_bit(61);
        self.slots.next = self.frame.val().get_bits::<7>(7);
        self.beyond.next = bit_cast::<7, 1>(self.frame.val().get_bits::<1>(14));
        self.first.next = !self.slot.q.val().any();
        self.next_slot.next = self.slot.q.val() + 1;
        self.last.next = self.next_slot.val() == self.slots.val();
        self.issue.next = self.frame_valid.val() && (!self.first.val() || self.roomy.val());
        self.sends.next = self.issue.val() && !self.dropped.val();
        self.issued.next = self.sends.val();
        self.frame_ready.next = self.issue.val() && self.last.val();
        self.payload_now.next = self.payload_left.q.val();
        self.frame_now.next = self.frame_left.q.val();
        if self.first.val() {
            self.payload_now.next = self.frame.val().get_bits::<13>(21);
            self.frame_now.next = self.frame.val().get_bits::<13>(48);
        }
        self.filled.next = 64.into();
        self.count.next = 64.into();
        if self.issue.val() {
            self.slot.d.next = self.next_slot.val();
            if self.last.val() {
                self.slot.d.next = 0.into();
            }
            self.payload_left.d.next = 0.into();
            if self.payload_now.val() > 64 {
                self.payload_left.d.next = self.payload_now.val() - 64;
            }
            self.frame_left.d.next = self.frame_now.val() - 64;
        }
        if self.payload_now.val() < 64 {
            self.filled.next = self.payload_now.val().get_bits::<7>(0);
        }
        if self.last.val() {
            self.count.next = self.frame_now.val().get_bits::<7>(0);
        }

        // Its row: the payload starts in the header's last beat.
        self.row.next = self.slot.q.val().get_bits::<6>(0) - self.beyond.val().get_bits::<6>(0);
        self.page_read_enable.next =
            self.sends.val() && !self.marker.val() && (self.slot.q.val() >= self.beyond.val());
        self.page_read_address.next = (bit_cast::<13, 7>(self.frame.val().get_bits::<7>(0)) << 6)
            | bit_cast::<13, 6>(self.row.val());
        self.free.d.next = self.issue.val() && self.last.val() && !self.marker.val();
        self.free_page.d.next = self.frame.val().get_bits::<7>(0);
        self.page_free_valid.next = self.free.q.val();
        self.page_free_page.next = self.free_page.q.val();

        // What comes from where in this beat.
        self.low.next = bit_cast::<7, 6>(self.frame.val().get_bits::<6>(15));
        if self.marker.val() || (self.first.val() && self.beyond.val().any()) {
            self.low.next = 64.into();
        }
        // The CRC ends 4 bytes before the frame, which may be in the beat before the last.
        self.crc_count.next = 64.into();
        self.flags.next = 0.into();
        if self.first.val() {
            self.flags.next = self.flags.val() | 1;
        }
        if (self.slot.q.val() == 1) && self.beyond.val().any() {
            self.flags.next = self.flags.val() | 2;
        }
        if self.slot.q.val() == self.beyond.val() {
            self.flags.next = self.flags.val() | 4;
        }
        if self.marker.val() {
            self.flags.next = self.flags.val() | 8;
        }
        if self.last.val() {
            self.flags.next = self.flags.val() | 16;
        }
        if !self.marker.val() {
            if self.frame_now.val() > self.icrc.val() {
                self.flags.next = self.flags.val() | 64;
                if self.frame_now.val() < 68 {
                    self.flags.next = self.flags.val() | 32;
                    self.crc_count.next = self.frame_now.val().get_bits::<7>(0) - 4;
                }
            } else {
                self.flags.next = self.flags.val() | 128;
            }
        }
        self.valid.d.next = self.sends.val();
        self.side.d.next = bit_cast::<SIDE, 7>(self.low.val())
            | (bit_cast::<SIDE, 7>(self.filled.val()) << 7)
            | (bit_cast::<SIDE, 8>(self.flags.val()) << 14)
            | (bit_cast::<SIDE, 7>(self.count.val()) << 22)
            | (bit_cast::<SIDE, 7>(self.crc_count.val()) << 29)
            | (bit_cast::<SIDE, 13>(self.frame.val().get_bits::<13>(35)) << 36);
        self.rotation.d.next = self.frame.val().get_bits::<4>(17);
        self.beat_valid.next = self.valid.q.val();
        self.beat_side.next = self.side.q.val();
        self.beat_rotation.next = self.rotation.q.val();

        if self.rst.val() {
            self.slot.d.next = 0.into();
            self.free.d.next = false;
            self.valid.d.next = false;
        }
    }
}
