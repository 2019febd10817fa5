//! From a packet's queue pair number to the queue pair.

use super::record::Located;
use crate::context::ConfigWrite;
use crate::primitive::StreamSkid;
use crate::receive::finder::Finder;
use crate::receive::record::Packet;
use drdma_emit::prelude::*;

/// Looks up whose packets they are.
///
/// Contract: one in 3 cycles, and a cycle more for each queue pair that is found before its own (see
/// [`Finder`]); the first follows after 5. May stall at any time.
///
/// # Inputs
/// `clk`, `rst`; `cfg`; stream `packet`.
///
/// # Outputs
/// Stream `located`, in the same order.
#[derive(LogicBlock, BlockDefault)]
pub struct Lookup {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Packets.
    pub packet: Stream<In, Packet>,
    /// The same, and whose they are.
    pub located: Stream<Out, Located>,

    arriving: StreamSkid<Packet>,
    finder: Finder,
    found: StreamSkid<Located>,
    come: Signal<Local, Located>,
    unused: Signal<Local, Packet>,
}

impl Logic for Lookup {
    #[hdl_gen]
    fn update(&mut self) {
        self.packet.join(&mut self.arriving.input);
        self.cfg.join(&mut self.finder.cfg);
        self.finder.search.next = self.arriving.output.valid.val();
        self.finder.qpn.next = self.arriving.output.data.val().qpn;
        self.finder.ready.next = self.found.input.ready.val();
        self.arriving.output.ready.next = self.finder.done.val();

        self.unused.next = self.arriving.output.data.val();
        self.arriving.output.share(&mut self.come);
        self.come.next.known = self.finder.hit.val();
        self.come.next.qp = self.finder.qp.val();
        self.found.input.valid.next = self.finder.done.val();
        self.found.input.data.next = self.come.val();
        self.found.output.join(&mut self.located);
    }
}
