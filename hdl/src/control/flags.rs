//! 256 error bits.

use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

/// One bit a queue pair or a queue, set by the blocks and cleared by the host, which wins.
#[derive(LogicBlock)]
pub struct Flags {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Clears all.
    pub rst: Signal<In, Bit>,
    /// Set a bit.
    pub set_valid: [Signal<In, Bit>; 2],
    /// Which.
    pub set_index: [Signal<In, Bits<8>>; 2],
    /// Clear a bit.
    pub clear_valid: Signal<In, Bit>,
    /// Which.
    pub clear_index: Signal<In, Bits<8>>,
    /// All bits.
    pub flags: Signal<Out, Bits<256>>,
    held: DFF<Bits<256>>,
    masks: [Signal<Local, Bits<256>>; 2],
    keep: Signal<Local, Bits<256>>,
    one: Constant<Bits<256>>,
}

impl Default for Flags {
    fn default() -> Self {
        Self {
            clk: Signal::default(),
            rst: Signal::default(),
            set_valid: Default::default(),
            set_index: Default::default(),
            clear_valid: Signal::default(),
            clear_index: Signal::default(),
            flags: Signal::default(),
            held: DFF::default(),
            masks: Default::default(),
            keep: Signal::default(),
            one: Constant::new(1.into()),
        }
    }
}

impl Logic for Flags {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, held);
        self.flags.next = self.held.q.val();
        for k in 0..2 {
            self.masks[k].next = 0.into();
            if self.set_valid[k].val() {
                self.masks[k].next = self.one.val() << self.set_index[k].val();
            }
        }
        self.keep.next = !bits::<256>(0);
        if self.clear_valid.val() {
            self.keep.next = !(self.one.val() << self.clear_index.val());
        }
        self.held.d.next =
            (self.held.q.val() | self.masks[0].val() | self.masks[1].val()) & self.keep.val();
        if self.rst.val() {
            self.held.d.next = bits::<256>(0);
        }
    }
}
