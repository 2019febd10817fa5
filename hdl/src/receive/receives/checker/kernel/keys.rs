//! Keys of regions, and the bytes that they cover.

use super::super::Checker;
use crate::context::REGION;
use drdma_emit::prelude::*;

impl Checker {
    /// Keys, and whether they may be written to.
    #[hdl_gen]
    pub(super) fn write_keys(&mut self) {
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();
        self.regions.cfg_valid.next = self.select.region.val();
        self.regions.cfg_last.next = self.select.region_valid.val();
        self.regions.cfg_index.next = self.cfg.index.val();
        self.regions.cfg_word.next = self.cfg.word.val();
        self.regions.cfg_data.next = self.cfg.data.val();
        self.writable.write_enable.next =
            self.select.region.val() && (self.cfg.word.val() == self.rights_word.val());
        self.writable.write_address.next = self.cfg.index.val().get_bits::<REGION>(0);
        self.writable.write_data.next = self.cfg.data.val().get_bits::<1>(0);
    }

    /// Looks the key of the granule up.
    #[hdl_gen]
    pub(super) fn look_up_key(&mut self) {
        self.regions.key.next = self.key.val();
        self.regions.pd.next = self.pd.q.val();
        self.writable.ahead.next = self.key.val().get_bits::<REGION>(0);
        self.keyed.d.next = self.working.q.val();
        self.keyed_region.d.next =
            self.contiguous.val() || (self.header.val() && self.len.val().any());
        self.keyed_header.d.next = self.header.val();
        self.keyed_last.d.next = self.last.val() && self.piece_held.q.val().ends;
        self.keyed_addr.d.next = self.addr.val();
        self.keyed_len.d.next = self.len.val();
        if self.header.val() {
            // The range that a strided region covers is known with its last extent.
            self.keyed_len.d.next = 0.into();
        }
    }

    /// Finds the ends of region and key once the key is there. No sum wraps.
    #[hdl_gen]
    pub(super) fn find_ends(&mut self) {
        self.ended.d.next = self.keyed.q.val();
        self.ended_region.d.next = self.keyed_region.q.val();
        self.ended_last.d.next = self.keyed_last.q.val();
        self.ended_len.d.next = self.keyed_len.q.val();
        self.ended_header.d.next = self.keyed_header.q.val();
        if self.ended.q.val() && self.ended_header.q.val() {
            self.end_of_header.d.next = self.end_of_key.q.val();
        }
        self.known.d.next = self.regions.known.val()
            && (self.writable.read_data.val() == 1)
            && (self.keyed_header.q.val() || (self.keyed_addr.q.val() >= self.regions.addr.val()));
        if self.keyed.q.val() && self.keyed_header.q.val() {
            self.start_of_header.d.next = self.regions.addr.val();
        }
        self.end_of_region.d.next = bit_cast::<65, 64>(self.keyed_addr.q.val())
            + bit_cast::<65, 32>(self.keyed_len.q.val());
        self.end_of_key.d.next = bit_cast::<65, 64>(self.regions.addr.val())
            + bit_cast::<65, 64>(self.regions.len.val());
    }
}
