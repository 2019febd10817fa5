//! Who still needs a page.

use drdma_emit::prelude::*;

use crate::context::{Flags, Table};
use crate::primitive::StreamFifo;
use crate::send::PAGE;

/// Bits that number a free page's FIFO: 16 of them.
const RELEASED: usize = 4;
/// Bits that count them.
const RELEASED_COUNT: usize = RELEASED + 1;

/// A page.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Page {
    /// Its number.
    pub page: Bits<PAGE>,
}

/// Gives a page back when neither a list of unacknowledged packets nor the packetizer needs it any more.
///
/// The keeper says which pages it *holds*, and which are *under way*: given to the packetizer, and not given
/// back by it. A page that is not held goes back as soon as the packetizer gives it back, a cycle later. `release` ends
/// holding: the page goes back now, or when the packetizer has done with it.
///
/// Contract: whoever asks (`ahead`) is told in the next cycle. `release_page` is the `ahead` of the cycle before;
/// `release` only with `roomy`. `hold` and `release` are not for the same cycle. After a reset `wipe` is given for
/// every page.
#[derive(LogicBlock, BlockDefault)]
pub struct PageUse {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// The packetizer gives a page back.
    pub done: Flow<In, Page>,
    /// A page goes back to the segmenter.
    pub free: Flow<Out, Page>,
    /// A page is held.
    pub hold: Flow<In, Page>,
    /// It is given to the packetizer.
    pub send: Flow<In, Page>,
    /// The page that is asked for in the next cycle.
    pub ahead: Signal<In, Bits<PAGE>>,
    /// That of the cycle before is under way.
    pub under_way: Signal<Out, Bit>,
    /// A page is not held any more.
    pub release: Flow<In, Page>,
    /// One can be released in the next cycle.
    pub roomy: Signal<Out, Bit>,
    /// Nothing is known of a page.
    pub wipe: Flow<In, Page>,

    held: Table<1, PAGE>,
    flying: Flags<PAGE, 1>,
    done_valid: DFF<Bit>,
    done_page: DFF<Bits<PAGE>>,
    /// The packetizer gives this one back in the same cycle.
    together: Signal<Local, Bit>,
    released: StreamFifo<Page, RELEASED, RELEASED_COUNT>,
    has_room: DFF<Bit>,
}

impl Logic for PageUse {
    #[hdl_gen]
    fn update(&mut self) {
        // What the packetizer gives back.
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

        // What the keeper gives up. If the packetizer gives it back now, each of the two believes that the other
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

        // The packetizer's go first.
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
