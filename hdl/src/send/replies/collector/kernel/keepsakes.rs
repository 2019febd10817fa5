//! Records of READs and atomics that were answered.

use super::super::{Collector, KEEPSAKE, LANES, LAST, PLACE, REST, REST_PLACE, ULTRA};
use crate::context::QP;
use drdma_emit::prelude::*;

impl Collector {
    /// Records of the last READs and atomics, in case they come again.
    #[hdl_gen]
    pub(super) fn address_keepsakes(&mut self) {
        self.keepsake.record.next.atomic = self.stored.val();
        self.keepsake.record.next.swaps = self.plan.swaps.val();
        self.keepsake.record.next.psn = self.plan.psn.val();
        self.keepsake.record.next.original = self.original.q.val();
        self.write_place.next = (bit_cast::<PLACE, QP>(self.plan.qp.val()) << LAST as u64)
            | bit_cast::<PLACE, LAST>(self.plan.resource.val().get_bits::<LAST>(0));
        self.read_place.next = (bit_cast::<PLACE, QP>(self.plan.qp.val()) << LAST as u64)
            | bit_cast::<PLACE, LAST>(self.number.q.val().get_bits::<LAST>(0));
        // That a record is kept is known late: it is written a cycle later, long before the next one is read.
        self.kept_place.d.next = self.write_place.val();
        self.kept_bits.d.next = self.keepsake.bits.val();
        self.keepsakes.write_address.next = self.kept_place.q.val();
        self.keepsakes.write_data.next = self.kept_bits.q.val().get_bits::<ULTRA>(0);
        self.keepsakes.read_enable.next = true;
        self.keepsakes.read_address.next = self.read_place.val();
        self.rests.write_address.next = self.kept_place.q.val().get_bits::<REST_PLACE>(2);
        self.rest.next = self.kept_bits.q.val().get_bits::<REST>(ULTRA);
        self.rests.write_data.next = bit_cast::<ULTRA, REST>(self.rest.val())
            | (bit_cast::<ULTRA, REST>(self.rest.val()) << REST as u64)
            | (bit_cast::<ULTRA, REST>(self.rest.val()) << (2 * REST) as u64)
            | (bit_cast::<ULTRA, REST>(self.rest.val()) << (3 * REST) as u64);
        self.rests.read_enable.next = true;
        self.rests.read_address.next = self.read_place.val().get_bits::<REST_PLACE>(2);
        self.read_rest.d.next = self.read_place.val().get_bits::<2>(0);
        self.unused_number.next = self.number.q.val();
        self.known.bits.next = bit_cast::<KEEPSAKE, ULTRA>(self.keepsakes.read_data.val());
        for k in 0..4 {
            if self.read_rest.q.val() == k.to_bits() {
                self.known.bits.next = bit_cast::<KEEPSAKE, ULTRA>(self.keepsakes.read_data.val())
                    | (bit_cast::<KEEPSAKE, REST>(
                        self.rests.read_data.val().get_bits::<REST>(k * REST),
                    ) << ULTRA as u64);
            }
        }
        self.is_it.next = self.known.record.val().atomic
            && (self.known.record.val().swaps == self.plan.swaps.val())
            && (self.known.record.val().psn == self.plan.psn.val());
    }

    /// Keeps the record of a READ or an atomic.
    #[hdl_gen]
    pub(super) fn write_keepsake(&mut self) {
        self.keeps.d.next = false;
        // A READ, or an atomic that was not executed, leaves its place empty.
        if self.stored.val()
            || (self.done.val()
                && (self.plan.reads.val() || self.plan.atomic.val())
                && !self.plan.again.val()
                && !self.written.q.val())
        {
            self.keeps.d.next = true;
        }
        self.keepsakes.write_lanes.next = 0.into();
        self.rests.write_lanes.next = 0.into();
        if self.keeps.q.val() {
            self.keepsakes.write_lanes.next = 1.into();
            self.rests.write_lanes.next = bits::<LANES>(3)
                << (bit_cast::<3, 2>(self.kept_place.q.val().get_bits::<2>(0)) << 1);
        }
    }
}
