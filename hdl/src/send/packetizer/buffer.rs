//! Beats that are done.

use crate::shell::corundum::FrameBeat;
use drdma_emit::prelude::*;
use num_bigint::BigUint;

use crate::primitive::{Fifo, PromptFifo};

/// Bits of a `sent` item. From bit 0: `total` 40, `slot` 8, `kind` 2, `bad_dest` 7, `status` 8, `qp` 8,
/// `psn` 24.
pub const SENT: usize = 97;
/// Bits of a beat: data, `count` 7, `last`, `marker`, `payload` 13.
pub const OUTPUT: usize = 534;

/// Holds beats until they are taken, tells `sent` items from the beats of frames, and counts what
/// leaves.
///
/// A beat a cycle goes in and out, and follows after 1 cycle; there are 256 places. Whoever issues a beat
/// says so (`issued`) when it starts on its way, and starts no frame without `roomy`: that is why beats
/// come without a `ready`. 16 `sent` items wait without stopping the frames behind them.
///
/// # Inputs
/// `issued`; `in_valid`, `in_data`: see [`OUTPUT`]. `tx_ready`, `sent_ready`.
///
/// # Outputs
/// `roomy`. `tx` stream: the beats of frames. `sent` stream: see [`SENT`]. `count_*`: as of the packetizer.
#[derive(LogicBlock, BlockDefault)]
pub struct OutputBuffer {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A beat starts on its way.
    pub issued: Signal<In, Bit>,
    /// There is room for the longest frame beside all beats that were issued.
    pub roomy: Signal<Out, Bit>,
    /// A beat comes.
    pub in_valid: Signal<In, Bit>,
    /// See [`OUTPUT`].
    pub in_data: Signal<In, Bits<OUTPUT>>,

    /// Frames.
    pub tx: Stream<Out, FrameBeat>,

    /// A `sent` item is offered.
    pub sent_valid: Signal<Out, Bit>,
    /// It is taken.
    pub sent_ready: Signal<In, Bit>,
    /// See [`SENT`].
    pub sent_item: Signal<Out, Bits<SENT>>,

    /// Frames that left.
    pub count_packets: Signal<Out, Bits<16>>,
    /// Payload bytes, counted at the frame's end.
    pub count_payload_bytes: Signal<Out, Bits<16>>,
    /// Frame bytes.
    pub count_frame_bytes: Signal<Out, Bits<16>>,

    room: DFF<Bits<9>>,
    has_room: DFF<Bit>,
    #[init(Constant::new(256.into()))]
    all_room: Constant<Bits<9>>,
    #[init(Constant::new(72.into()))]
    frame_room: Constant<Bits<9>>,
    beats: PromptFifo<OUTPUT, 8, 9>,
    pop: Signal<Local, Bit>,
    is_marker: Signal<Local, Bit>,
    is_last: Signal<Local, Bit>,
    #[init(Constant::new(((BigUint::from(1_u8) << 64_usize) - 1_u8).into()))]
    keep_all: Constant<Bits<64>>,
    sent: Fifo<SENT, 4, 5>,
    packets: DFF<Bits<16>>,
    payload_bytes: DFF<Bits<16>>,
    frame_bytes: DFF<Bits<16>>,
}

impl Logic for OutputBuffer {
    #[hdl_gen]
    fn update(&mut self) {
        // Room was counted when the beat was issued.
        self.beats.in_valid.next = self.in_valid.val();
        self.beats.in_data.next = self.in_data.val();
        self.is_last.next = self.beats.out_data.val().get_bit(519);
        self.is_marker.next = self.beats.out_data.val().get_bit(520);
        self.tx.valid.next = self.beats.out_valid.val() && !self.is_marker.val();
        self.tx.data.next = self.beats.out_data.val().get_bits::<512>(0);
        self.tx.keep.next = !(self.keep_all.val() << self.beats.out_data.val().get_bits::<7>(512));
        self.tx.last.next = self.is_last.val();
        self.sent.in_valid.next = self.beats.out_valid.val() && self.is_marker.val();
        self.sent.in_data.next = self.beats.out_data.val().get_bits::<SENT>(0);
        self.beats.out_ready.next = self.tx.ready.val();
        if self.is_marker.val() {
            self.beats.out_ready.next = self.sent.in_ready.val();
        }
        self.pop.next = self.beats.out_valid.val() && self.beats.out_ready.val();
        if self.issued.val() && !self.pop.val() {
            self.room.d.next = self.room.q.val() - 1;
        }
        if !self.issued.val() && self.pop.val() {
            self.room.d.next = self.room.q.val() + 1;
        }
        self.has_room.d.next = self.room.q.val() >= self.frame_room.val();
        self.roomy.next = self.has_room.q.val();

        self.sent_valid.next = self.sent.out_valid.val();
        self.sent.out_ready.next = self.sent_ready.val();
        self.sent_item.next = self.sent.out_data.val();

        // Counters.
        self.packets.d.next = 0.into();
        self.payload_bytes.d.next = 0.into();
        self.frame_bytes.d.next = 0.into();
        if self.pop.val() && !self.is_marker.val() {
            self.frame_bytes.d.next =
                bit_cast::<16, 7>(self.beats.out_data.val().get_bits::<7>(512));
            if self.is_last.val() {
                self.packets.d.next = 1.into();
                self.payload_bytes.d.next =
                    bit_cast::<16, 13>(self.beats.out_data.val().get_bits::<13>(521));
            }
        }
        self.count_packets.next = self.packets.q.val();
        self.count_payload_bytes.next = self.payload_bytes.q.val();
        self.count_frame_bytes.next = self.frame_bytes.q.val();

        if self.rst.val() {
            self.room.d.next = self.all_room.val();
            self.has_room.d.next = false;
            self.packets.d.next = 0.into();
            self.payload_bytes.d.next = 0.into();
            self.frame_bytes.d.next = 0.into();
        }
    }
}
