//! Knows who still needs each page.

use drdma_emit::prelude::*;

use crate::context::{Flags, Table};
use crate::primitive::StreamFifo;
use crate::send::PAGE;

/// Binary logarithm of the places of the FIFO of released pages.
const RELEASED: usize = 4;
/// Bits of a count of these places.
const RELEASED_COUNT: usize = RELEASED + 1;

/// The number of a payload page.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Page {
    /// Number of the page.
    pub page: Bits<PAGE>,
}

/// Gives a page back when neither a list of unacknowledged packets nor the packetizer needs it any more.
///
/// The keeper says which pages it *holds*, and which are *under way*: given to the packetizer, which has not given them
/// back. A page that is not held goes back a cycle after the packetizer gives it back. `release` ends
/// holding: the page goes back now, or when the packetizer has done with it.
///
/// Contract: `under_way` answers `ahead` in the next cycle. `release.page` must be the `ahead` of the cycle before;
/// `release` is allowed only with `roomy`. `hold` and `release` must not come in the same cycle. After a reset `wipe`
/// must be given for every page.
#[derive(LogicBlock, BlockDefault)]
pub struct PageUse {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A page that the packetizer gives back.
    pub done: Flow<In, Page>,
    /// A page that goes back to the segmenter.
    pub free: Flow<Out, Page>,
    /// A page that is held from now on.
    pub hold: Flow<In, Page>,
    /// A page that is given to the packetizer.
    pub send: Flow<In, Page>,
    /// The page whose `under_way` is asked for in the next cycle.
    pub ahead: Signal<In, Bits<PAGE>>,
    /// The page of `ahead`, one cycle before, is under way.
    pub under_way: Signal<Out, Bit>,
    /// A page that is not held any more.
    pub release: Flow<In, Page>,
    /// A page can be released in the next cycle.
    pub roomy: Signal<Out, Bit>,
    /// A page whose state is cleared: it is neither held nor under way.
    pub wipe: Flow<In, Page>,

    held: Table<1, PAGE>,
    flying: Flags<PAGE, 1>,
    done_valid: DFF<Bit>,
    done_page: DFF<Bits<PAGE>>,
    /// The packetizer gives back, in this cycle, the page that is released.
    together: Signal<Local, Bit>,
    released: StreamFifo<Page, RELEASED, RELEASED_COUNT>,
    has_room: DFF<Bit>,
}

impl Logic for PageUse {
    #[hdl_gen]
    fn update(&mut self) {
        // A page that the packetizer gives back.
        self.held.ahead.next = self.done.page.val();
        self.done_valid.d.next = self.done.valid.val();
        self.done_page.d.next = self.done.page.val();
        self.flying.clear_valid.next = self.done_valid.q.val() || self.wipe.valid.val();
        self.flying.clear_index.next = self.done_page.q.val();
        self.flying.set_valid.next = self.send.valid.val();
        self.flying.set_index.next = self.send.page.val();
        self.flying.wipe_valid.next = self.wipe.valid.val();
        if self.wipe.valid.val() {
            self.flying.clear_index.next = self.wipe.page.val();
        }
        self.flying.ahead[0].next = self.ahead.val();
        self.under_way.next = self.flying.flag[0].val();

        // A page that the keeper releases. If the packetizer gives it back in the same cycle, each of the two finds
        // that the other
        // one needs it.
        self.together.next =
            self.done_valid.q.val() && (self.done_page.q.val() == self.release.page.val());
        self.released.input.valid.next =
            self.release.valid.val() && (!self.flying.flag[0].val() || self.together.val());
        self.released.input.data.next.page = self.release.page.val();
        self.has_room.d.next = self.released.free.val() >= 6;
        self.roomy.next = self.has_room.q.val();
        self.held.write_enable.next =
            self.hold.valid.val() || self.release.valid.val() || self.wipe.valid.val();
        self.held.write_address.next = self.release.page.val();
        self.held.write_data.next = 0.into();
        if self.hold.valid.val() {
            self.held.write_address.next = self.hold.page.val();
            self.held.write_data.next = 1.into();
        }
        if self.wipe.valid.val() {
            self.held.write_address.next = self.wipe.page.val();
            self.held.write_data.next = 0.into();
        }

        // Pages that the packetizer gives back go first.
        self.free.valid.next = self.done_valid.q.val() && !self.held.read_data.val().any();
        self.free.page.next = self.done_page.q.val();
        self.released.output.ready.next = !self.free.valid.val();
        if !self.free.valid.val() && self.released.output.valid.val() {
            self.free.valid.next = true;
            self.free.page.next = self.released.output.data.val().page;
        }

        if self.rst.val() {
            self.done_valid.d.next = false;
            self.has_room.d.next = false;
        }
    }
}
