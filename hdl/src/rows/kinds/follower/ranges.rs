//! The range that an entry leads to, and its key.

use super::super::giver::BEAT;
use super::super::record::{BYTES, LENGTH, VALUE};
use super::{Follower, KEY, LENGTH_BYTES};
use crate::request::{BITS, DICTIONARY, FIXED, OFFSETS, VIEWS};
use drdma_emit::prelude::*;

/// Length that stands for any value too long for a message.
const LONGEST: u64 = 0xffff_ffff;

impl Follower {
    /// Looks the range of a value or of a buffer up in its key.
    #[hdl_gen]
    pub(super) fn look_up_key(&mut self) {
        self.cfg.join(&mut self.keys.cfg);
        self.keys.key.next = self.key.q.val();
        self.keys.pd.next = self.pd.val();
        self.keys.addr.next = self.key_addr.q.val();
        self.keys.bytes.next = self.key_bytes.q.val();
        self.keys.revoke_valid.next = false;
        self.keys.revoke_index.next = 0.into();
        self.covered.next = self.keys.covers.val();
        self.unused_rights.next = self.keys.readable.val()
            || self.keys.writable.val()
            || self.keys.changeable.val()
            || self.keys.revocable.val()
            || self.keys.revoke_ready.val()
            || self.keys.fillable.val()
            || self.keys.described.val();
        self.unused_region.next = self.keys.region.val();
    }

    /// Finds the range of a value.
    #[hdl_gen]
    pub(super) fn find_range(&mut self) {
        self.span.next =
            bit_cast::<65, 64>(self.found.q.val().to) - bit_cast::<65, 64>(self.found.q.val().from);
        self.begins.next =
            bit_cast::<65, 64>(self.found.q.val().at) + bit_cast::<65, 64>(self.found.q.val().from);
        self.some.next = self.found.q.val().to != self.found.q.val().from;
        self.view_end.next = bit_cast::<33, 32>(self.found.q.val().from.get_bits::<32>(0))
            + bit_cast::<33, 32>(self.found.q.val().bytes);
        self.view_at.next = self.buffer.q.val().get_bits::<64>(0)
            + bit_cast::<64, 32>(self.found.q.val().from.get_bits::<32>(0));
        self.multiplier.enable.next = true;
        self.multiplier.a.next = self.found.q.val().from.get_bits::<32>(0);
        self.multiplier.b.next = self.found.q.val().bytes.get_bits::<24>(0);
        self.key.d.next = self.found.q.val().number;
        self.key_addr.d.next = self.begins.val().get_bits::<64>(0);
        self.key_bytes.d.next = self.span.val().get_bits::<64>(0);
        self.found.q.share(&mut self.ranged_new);
        self.ranged_new.next.pointer = self.found.q.val().at;
        self.ranged_new.next.is_fixed = self.found.q.val().kind == FIXED;
        self.ranged_new.next.has_length =
            (self.found.q.val().kind == OFFSETS) || (self.found.q.val().kind == VIEWS);
        self.ranged_new.next.is_bits = self.found.q.val().kind == BITS;
        self.ranged_new.next.is_indexed = self.found.q.val().kind == DICTIONARY;
        self.ranged_new.next.must_lie = self.found.q.val().in_buffer;
        self.ranged_new.next.fails = self.found_fails.q.val();
        if (self.found.q.val().task == VALUE) && (self.found.q.val().kind == OFFSETS) {
            self.ranged_new.next.pointer = self.begins.val().get_bits::<64>(0);
            self.ranged_new.next.must_lie = self.some.val();
            self.ranged_new.next.bytes = self.span.val().get_bits::<32>(0);
            if self.span.val().get_bits::<32>(32).any() {
                self.ranged_new.next.bytes = LONGEST.into();
            }
            // The offsets go backwards, or around the end of the address space.
            if self.some.val() && (self.span.val().get_bit(64) || self.begins.val().get_bit(64)) {
                self.ranged_new.next.fails = true;
            }
        }
        if self.found.q.val().in_buffer {
            self.key.d.next = self.buffer.q.val().get_bits::<32>(96);
            self.key_addr.d.next = self.view_at.val();
            self.ranged_new.next.pointer = self.view_at.val();
            self.key_bytes.d.next = bit_cast::<64, 32>(self.found.q.val().bytes);
            if self.view_end.val() > bit_cast::<33, 32>(self.buffer.q.val().get_bits::<32>(64)) {
                self.ranged_new.next.fails = true;
            }
        }
        self.ranged_valid.d.next = self.found_valid.q.val() && self.flows.val();
        self.ranged.d.next = self.ranged_new.val();
        self.base.d.next = self.found.q.val().base;
        // The lane's base is subtracted here, because the expander adds it.
        self.placed_new.next = self.ranged.q.val();
        self.placed_new.next.pointer = self.ranged.q.val().pointer - self.base.q.val();
        self.late_valid[0].d.next = self.ranged_valid.q.val();
        self.late[0].d.next = self.placed_new.val();
        for k in 1..KEY {
            self.late_valid[k].d.next = self.late_valid[k - 1].q.val();
            self.late[k].d.next = self.late[k - 1].q.val();
        }
    }

    /// Gives the value that lies in the range.
    #[hdl_gen]
    pub(super) fn give_value(&mut self) {
        self.late[KEY - 1].q.share(&mut self.value_new);
        if self.late[KEY - 1].q.val().is_indexed {
            self.value_new.next.pointer = self.late[KEY - 1].q.val().pointer
                + bit_cast::<64, 56>(self.multiplier.product.val());
        }
        self.value_new.next.weight = bit_cast::<33, 32>(self.late[KEY - 1].q.val().bytes);
        if self.late[KEY - 1].q.val().has_length {
            self.value_new.next.weight =
                bit_cast::<33, 32>(self.late[KEY - 1].q.val().bytes) + LENGTH_BYTES;
        }
        self.value_new.next.some = self.late[KEY - 1].q.val().bytes.any();
        self.value_new.next.short = self.late[KEY - 1].q.val().bytes <= BEAT;
        self.value_new.next.fits = self.late[KEY - 1].q.val().bytes <= BEAT - LENGTH_BYTES;
        // The length and the bytes of a value may be two values.
        self.value_new.next.alone = false;
        self.value_new.next.leads = false;
        if self.late[KEY - 1].q.val().has_length && (self.late[KEY - 1].q.val().part == LENGTH) {
            self.value_new.next.alone = true;
            self.value_new.next.weight = LENGTH_BYTES.into();
        } else if self.late[KEY - 1].q.val().has_length
            && (self.late[KEY - 1].q.val().part == BYTES)
        {
            self.value_new.next.has_length = false;
            self.value_new.next.weight = bit_cast::<33, 32>(self.late[KEY - 1].q.val().bytes);
        }
        self.value_new.next.fails = self.late[KEY - 1].q.val().fails
            || (self.late[KEY - 1].q.val().must_lie && !self.covered.val());
        self.value_valid.d.next = self.late_valid[KEY - 1].q.val();
        self.value_held.d.next = self.value_new.val();
        self.values.input.valid.next = self.value_valid.q.val();
        self.values.input.data.next = self.value_held.q.val();
        self.values.output.join(&mut self.value);
        self.unused_counts.next = self.values.count.val() | self.values.free.val();
        self.idle.next = !self.inside.q.val().any();
    }
}
