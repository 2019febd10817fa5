//! Bits that make bytes, and the bytes of a message.

use super::{END_BIT, Giver};
use drdma_emit::prelude::*;

impl<const LENGTHS: usize> Giver<LENGTHS> {
    /// Finds how many bytes the bits that wait make, with the value's own.
    #[hdl_gen]
    pub(super) fn pack_bits(&mut self) {
        // Bits that wait make a byte before any other value. With a value's bits they fill up to two bytes, or up to
        // three if they are not continued.
        self.packed_new.next = bit_cast::<24, 8>(self.pack.q.val());
        self.bits_now.next =
            bit_cast::<5, 3>(self.packed.q.val()) + self.value.bytes.val().get_bits::<5>(0);
        self.bit_bytes.next = 1.into();
        self.flushes.next = self.packed.q.val().any() && !self.more.q.val();
        if self.value.is_bits.val() {
            self.packed_new.next = bit_cast::<24, 8>(self.pack.q.val())
                | (bit_cast::<24, 16>(self.value.bits.val())
                    << bit_cast::<5, 3>(self.packed.q.val()));
            self.bit_bytes.next = (self.bits_now.val() >> 3).get_bits::<2>(0);
            self.flushes.next = self.bits_now.val().get_bits::<2>(3).any();
            if self.value.unit_end.val() {
                self.bit_bytes.next = ((self.bits_now.val() + 7) >> 3).get_bits::<2>(0);
                // The same as `bit_bytes`, without the sums, because the stream's ready depends on it.
                self.flushes.next =
                    self.packed.q.val().any() || self.value.bytes.val().get_bits::<5>(0).any();
            }
        }
    }

    /// Finds the bytes of the message with the value, and whether it becomes too long.
    #[hdl_gen]
    pub(super) fn weigh(&mut self) {
        // Bytes of the message: a message that is sent must be as long as it was when it was measured.
        self.added.next = self.value.weight.val();
        if self.flushes.val() {
            self.added.next = bit_cast::<33, 2>(self.bit_bytes.val());
        }
        self.sum_new.next = self.sum.q.val() + self.added.val();
        self.told_now.next = self.told.q.val();
        self.ends_now.next = false;
        if !self.lost.q.val() {
            self.told_now.next = self.lengths.read_data.val().get_bits::<32>(0);
            self.ends_now.next = self.lengths.read_data.val().get_bit(END_BIT);
        }
        self.most.next = bit_cast::<33, 32>(self.limit.q.val());
        if self.value.give.val() && self.is_write.q.val() {
            // The length is 0 in the entry for the end of a destination. What is replayed is not compared.
            self.most.next = bit_cast::<33, 32>(self.told_now.val());
        }
        // Computed beside the sum, so that the summand need not be selected before.
        self.weighed.next =
            bit_cast::<34, 33>(self.sum.q.val()) + bit_cast::<34, 33>(self.value.weight.val());
        self.exceeds.next = self.weighed.val() > bit_cast::<34, 33>(self.most.val());
        // Likewise for the bytes of bits, of which there are one to three.
        for k in 0..3 {
            self.exceeds_by[k].next = (bit_cast::<34, 33>(self.sum.q.val())
                + (k.to_bits::<34>() + 1))
                > bit_cast::<34, 33>(self.most.val());
        }
        if self.flushes.val() {
            self.exceeds.next = self.exceeds_by[0].val();
            if self.bit_bytes.val() == 2 {
                self.exceeds.next = self.exceeds_by[1].val();
            } else if self.bit_bytes.val() == 3 {
                self.exceeds.next = self.exceeds_by[2].val();
            }
        }
        if self.replays.val() {
            self.exceeds.next = false;
        }
        // That of a message that ends, when no bits wait any more.
        self.length.next = self.weighed.val().get_bits::<32>(0);
    }

    /// Adds the value's bytes to those of the message.
    #[hdl_gen]
    pub(super) fn add(&mut self) {
        if self.adds.val() {
            self.sum.d.next = self.sum_new.val();
            if self.exceeds.val() {
                // The message remains too long, whatever follows.
                self.over.d.next = true;
                self.sum.d.next = self.most.val();
            }
        }
    }
}
