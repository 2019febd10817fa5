//! Buffers beats until they leave.

use crate::request::DEST_COUNT;
use crate::shell::corundum::FrameBeat;
use drdma_emit::prelude::*;
use num_bigint::BigUint;

use super::Sent;
use super::tagger::{TAG, TAG_FLAG};
use crate::context::QP;
use crate::primitive::{Flatten, PromptFifo, Restore, StreamFifo};

/// Bits of a [`Sent`].
pub const SENT: usize = 82 + QP + DEST_COUNT;

/// A beat of a frame that is ready to leave, or a `sent` item.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Output {
    /// Bytes of the beat, the first one lowest; or a `sent` item.
    pub data: Bits<512>,
    /// Bytes of the beat, 1 to 64.
    pub count: Bits<7>,
    /// The beat is the frame's last one.
    pub last: Bit,
    /// The beat is a `sent` item.
    pub marker: Bit,
    /// Bytes of payload in the whole frame.
    pub payload: Bits<13>,
    /// The frame's 802.1Q tag, which the bytes do not contain yet.
    pub tag: Bits<TAG>,
}

/// Bits of an [`Output`].
const OUTPUT: usize = 534 + TAG;
/// Bytes of a tag.
const TAG_BYTES: u64 = 4;
/// Beats that the buffer holds.
const ROOM: u64 = 256;
/// Beats of the longest frame, and a few more.
const FRAME_ROOM: u64 = 72;

/// Holds beats until they are taken, separates `sent` items from the beats of frames, and counts what
/// leaves.
///
/// Contract: a beat a cycle goes in and out, and follows after 1 cycle; there are 256 places. Whoever issues a beat
/// announces it (`issued`) when the beat starts on its way, and starts no frame without `roomy`: that is why beats
/// come without a `ready`. 16 `sent` items wait without stopping the frames behind them.
#[derive(LogicBlock, BlockDefault)]
pub struct OutputBuffer {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A beat starts on its way to this buffer.
    pub issued: Signal<In, Bit>,
    /// There is room for the longest frame beside all beats that were issued.
    pub roomy: Signal<Out, Bit>,
    /// Beats of frames and `sent` items, in order.
    pub input: Flow<In, Output>,

    /// Frames, not tagged yet.
    pub tx: Stream<Out, FrameBeat>,
    /// The 802.1Q tag of the frame whose beat is offered.
    pub tag: Signal<Out, Bits<TAG>>,
    /// Bytes of the frame before, moved behind its end by the tag, have not left: no `sent` item is passed on.
    pub rests: Signal<In, Bit>,

    /// `sent` items, when all frames before them have left.
    pub sent: Stream<Out, Sent>,
    /// The queue pair of the `sent` item that is offered in the next cycle.
    pub next_qp: Signal<Out, Bits<QP>>,

    /// Frames that left in the cycle before.
    pub count_packets: Signal<Out, Bits<16>>,
    /// Bytes of payload that left in the cycle before, counted at the frame's end.
    pub count_payload_bytes: Signal<Out, Bits<16>>,
    /// Bytes of frames that left in the cycle before, with tags.
    pub count_frame_bytes: Signal<Out, Bits<16>>,

    room: DFF<Bits<9>>,
    has_room: DFF<Bit>,
    beats: PromptFifo<OUTPUT, 8, 9>,
    coming: Flatten<Output, OUTPUT>,
    going: Restore<Output, OUTPUT>,
    item: Restore<Sent, SENT>,
    pop: Signal<Local, Bit>,
    #[init(Constant::new(((BigUint::from(1_u8) << 64_usize) - 1_u8).into()))]
    keep_all: Constant<Bits<64>>,
    items: StreamFifo<Sent, 4, 5>,
    offered: DFF<Sent>,
    offers: DFF<Bit>,
    moves: Signal<Local, Bit>,
    packets: DFF<Bits<16>>,
    payload_bytes: DFF<Bits<16>>,
    frame_bytes: DFF<Bits<16>>,
}

impl Logic for OutputBuffer {
    #[hdl_gen]
    fn update(&mut self) {
        // Room for the beat was counted when it was issued.
        self.beats.in_valid.next = self.input.valid.val();
        self.coming.record.next = self.input.val();
        self.beats.in_data.next = self.coming.bits.val();
        self.going.bits.next = self.beats.out_data.val();
        self.tx.valid.next = self.beats.out_valid.val() && !self.going.record.val().marker;
        self.tx.data.next = self.going.record.val().data;
        self.tx.keep.next = !(self.keep_all.val() << self.going.record.val().count);
        self.tx.last.next = self.going.record.val().last;
        self.tag.next = self.going.record.val().tag;
        self.items.input.valid.next =
            self.beats.out_valid.val() && self.going.record.val().marker && !self.rests.val();
        self.item.bits.next = self.going.record.val().data.get_bits::<SENT>(0);
        self.items.input.data.next = self.item.record.val();
        self.beats.out_ready.next = self.tx.ready.val();
        if self.going.record.val().marker {
            self.beats.out_ready.next = self.items.input.ready.val() && !self.rests.val();
        }
        self.pop.next = self.beats.out_valid.val() && self.beats.out_ready.val();
        if self.issued.val() && !self.pop.val() {
            self.room.d.next = self.room.q.val() - 1;
        }
        if !self.issued.val() && self.pop.val() {
            self.room.d.next = self.room.q.val() + 1;
        }
        self.has_room.d.next = self.room.q.val() >= FRAME_ROOM;
        self.roomy.next = self.has_room.q.val();

        // An item waits in a register before it is offered, while its queue pair is looked up.
        self.moves.next = !self.offers.q.val() || self.sent.ready.val();
        self.items.output.ready.next = self.moves.val();
        if self.moves.val() {
            self.offers.d.next = self.items.output.valid.val();
            self.offered.d.next = self.items.output.data.val();
        }
        self.next_qp.next = self.offered.d.val().qp;
        self.sent.valid.next = self.offers.q.val();
        self.sent.next = self.offered.q.val();

        // Counters.
        self.packets.d.next = 0.into();
        self.payload_bytes.d.next = 0.into();
        self.frame_bytes.d.next = 0.into();
        if self.pop.val() && !self.going.record.val().marker {
            self.frame_bytes.d.next = bit_cast::<16, 7>(self.going.record.val().count);
            if self.going.record.val().last {
                self.packets.d.next = 1.into();
                self.payload_bytes.d.next = bit_cast::<16, 13>(self.going.record.val().payload);
                if self.going.record.val().tag.get_bit(TAG_FLAG) {
                    self.frame_bytes.d.next =
                        bit_cast::<16, 7>(self.going.record.val().count) + TAG_BYTES;
                }
            }
        }
        self.count_packets.next = self.packets.q.val();
        self.count_payload_bytes.next = self.payload_bytes.q.val();
        self.count_frame_bytes.next = self.frame_bytes.q.val();

        if self.rst.val() {
            self.room.d.next = ROOM.into();
            self.has_room.d.next = false;
            self.offers.d.next = false;
            self.packets.d.next = 0.into();
            self.payload_bytes.d.next = 0.into();
            self.frame_bytes.d.next = 0.into();
        }
    }
}
