//! A lane against the lanes before it.

use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

/// How far a lane lies from a stretch of bytes, and what both span. Outputs follow the inputs a
/// cycle later.
#[derive(LogicBlock, Default)]
pub struct Apart {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Where the stretch starts.
    pub lo: Signal<In, Bits<64>>,
    /// Its bytes, at most 128; as the outputs are needed.
    pub len: Signal<In, Bits<9>>,
    /// Where the lane starts.
    pub lane_addr: Signal<In, Bits<64>>,
    /// Its bytes; as the outputs are needed.
    pub lane_len: Signal<In, Bits<7>>,
    /// They start less than 128 bytes apart; the other outputs mean nothing if not.
    pub near: Signal<Out, Bit>,
    /// The lane starts below the stretch.
    pub lower: Signal<Out, Bit>,
    /// Bytes of both together.
    pub span: Signal<Out, Bits<9>>,
    /// Bytes between them; negative where they overlap.
    pub gap: Signal<Out, Bits<9>>,

    up: DFF<Bits<64>>,
    down: DFF<Bits<64>>,
    near_up: Signal<Local, Bit>,
    near_down: Signal<Local, Bit>,
    reach: Signal<Local, Bits<9>>,
    other: Signal<Local, Bits<9>>,
}

impl Logic for Apart {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, up, down);
        self.up.d.next = self.lane_addr.val() - self.lo.val();
        self.down.d.next = self.lo.val() - self.lane_addr.val();

        self.near_up.next = !self.up.q.val().get_bits::<57>(7).any();
        self.near_down.next = !self.down.q.val().get_bits::<57>(7).any();
        self.near.next = self.near_up.val() || self.near_down.val();
        self.lower.next = !self.near_up.val();
        self.other.next = self.len.val();
        self.reach.next = bit_cast::<9, 7>(self.up.q.val().get_bits::<7>(0))
            + bit_cast::<9, 7>(self.lane_len.val());
        self.gap.next = bit_cast::<9, 7>(self.up.q.val().get_bits::<7>(0)) - self.len.val();
        if !self.near_up.val() {
            self.other.next = bit_cast::<9, 7>(self.lane_len.val());
            self.reach.next = bit_cast::<9, 7>(self.down.q.val().get_bits::<7>(0)) + self.len.val();
            self.gap.next = bit_cast::<9, 7>(self.down.q.val().get_bits::<7>(0))
                - bit_cast::<9, 7>(self.lane_len.val());
        }
        self.span.next = self.reach.val();
        if self.reach.val() < self.other.val() {
            self.span.next = self.other.val();
        }
    }
}
