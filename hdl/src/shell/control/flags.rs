//! 256 error bits.

use drdma_emit::prelude::*;

/// One bit a queue pair or a queue, set by `N` blocks and cleared by the host, which wins.
#[derive(LogicBlock, BlockDefault)]
pub struct Flags<const N: usize> {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Clears all.
    pub rst: Signal<In, Bit>,
    /// Set a bit.
    pub set_valid: [Signal<In, Bit>; N],
    /// Which.
    pub set_index: [Signal<In, Bits<8>>; N],
    /// Clear a bit.
    pub clear_valid: Signal<In, Bit>,
    /// Which.
    pub clear_index: Signal<In, Bits<8>>,
    /// All bits.
    pub flags: Signal<Out, Bits<256>>,
    held: DFF<Bits<256>>,
    masks: [Signal<Local, Bits<256>>; N],
    set: Signal<Local, Bits<256>>,
    keep: Signal<Local, Bits<256>>,
    #[init(Constant::new(1.into()))]
    one: Constant<Bits<256>>,
}

impl<const N: usize> Logic for Flags<N> {
    #[hdl_gen]
    fn update(&mut self) {
        self.flags.next = self.held.q.val();
        self.set.next = self.held.q.val();
        for k in 0..N {
            self.masks[k].next = 0.into();
            if self.set_valid[k].val() {
                self.masks[k].next = self.one.val() << self.set_index[k].val();
            }
            self.set.next = self.set.val() | self.masks[k].val();
        }
        self.keep.next = !bits::<256>(0);
        if self.clear_valid.val() {
            self.keep.next = !(self.one.val() << self.clear_index.val());
        }
        self.held.d.next = self.set.val() & self.keep.val();
        if self.rst.val() {
            self.held.d.next = bits::<256>(0);
        }
    }
}
