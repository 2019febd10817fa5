//! Pages for the bytes of packets.

use super::super::Fetcher;
use drdma_emit::prelude::*;

impl Fetcher {
    /// Counts free pages.
    #[hdl_gen]
    pub(super) fn count_pages(&mut self) {
        self.has_page.d.next = self.pages.q.val().any();
        self.came_back.d.next = self.page_back.val();
        if self.page_free.val() && self.came_back.q.val() {
            self.pages.d.next = self.pages.q.val() + 2;
        } else if self.page_free.val() || self.came_back.q.val() {
            self.pages.d.next = self.pages.q.val() + 1;
        }
    }

    /// Takes a page for the packet.
    #[hdl_gen]
    pub(super) fn take_page(&mut self) {
        if self.takes_page.val() {
            if self.page_free.val() && self.came_back.q.val() {
                self.pages.d.next = self.pages.q.val() + 1;
            } else if !self.page_free.val() && !self.came_back.q.val() {
                self.pages.d.next = self.pages.q.val() - 1;
            } else {
                self.pages.d.next = self.pages.q.val();
            }
            // Whether there is another page is known a cycle later.
            self.has_page.d.next = false;
        }
    }
}
