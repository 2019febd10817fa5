//! Values, piece by piece.

use super::super::follower::LENGTH_BYTES;
use super::Giver;
use drdma_emit::prelude::*;

/// Largest number of bytes of a token.
pub const BEAT: u64 = 64;
/// Largest number of bytes of a value that fit a token behind its length.
const BEHIND_LENGTH: u64 = BEAT - LENGTH_BYTES;

impl<const LENGTHS: usize> Giver<LENGTHS> {
    /// Finds the next piece of the value, and the fields of its token.
    #[hdl_gen]
    pub(super) fn make_token(&mut self) {
        self.bytes.next = self.value.bytes.val();
        self.at.next = self.value.pointer.val();
        if self.more.q.val() {
            self.bytes.next = self.rest.q.val();
            self.at.next = self.rest_at.q.val();
        }
        self.final_piece.next = self.value.short.val();
        if self.more.q.val() {
            self.final_piece.next = self.rest_short.q.val();
        }
        self.led.next = 0.into();
        self.room.next = BEHIND_LENGTH.into();
        if self.value.leads.val() {
            self.led.next = self.led_bytes.val();
            self.room.next = self.led_room.val();
        }
        self.fits.next = self.value.fits.val() || self.value.alone.val();
        self.out_new.next.set = self.value.set.val();
        self.out_new.next.first = self.value.first.val();
        self.out_new.next.last = self.value.lane.val();
        self.out_new.next.piece = self.value.first.val() == self.value.lane.val();
        self.out_new.next.offset = 0.into();
        self.out_new.next.lead = false;
        self.out_new.next.behind = self.room.val();
        if self.fits.val() {
            self.out_new.next.behind = self.value.bytes.val().get_bits::<6>(0);
        }
        self.out_new.next.bytes = BEAT.into();
        if self.final_piece.val() {
            self.out_new.next.bytes = self.bytes.val().get_bits::<7>(0);
        }
        self.out_new.next.row = 0.into();
        if self.value.is_fixed.val() {
            self.out_new.next.row = self.value.row.val();
        }
        self.out_new.next.pointer = self.at.val();
        self.out_new.next.dest = self.place.q.val();
        self.out_new.next.slot = self.slot.val();
        self.out_new.next.unit_end = false;
        self.out_new.next.message_end = false;
        self.out_new.next.message_start = !self.started.q.val();
        self.out_new.next.message_bytes = 0.into();
        if !self.started.q.val() && self.is_write.q.val() {
            self.out_new.next.message_bytes = self.told_now.val();
            if self.replays.val() {
                self.out_new.next.message_bytes = self.replayed_length.val();
            }
        }
        self.out_new.next.chunk_start = self.chunk_start.q.val();
        self.out_new.next.chunk_blocks = 0.into();
        if self.chunk_start.q.val() {
            self.out_new.next.chunk_blocks = self.chunk_blocks.q.val();
        }
        self.out_new.next.request_end = false;
        self.out_new.next.dest_end = false;
        self.out_new.next.status = 0.into();
        self.out_new.next.bad_dest = 0.into();
        self.out_new.next.column = false;
        self.out_new.next.rows = 0.into();
        self.made.slot.next = self.slot.val();
        self.made.data.next = self.value.bytes.val();
        if self.flushes.val() {
            self.made.data.next = bit_cast::<32, 24>(self.packed_new.val());
        }
    }

    /// Judges a value, or sends a piece of it.
    #[hdl_gen]
    pub(super) fn give_value(&mut self) {
        if self.value.fails.val() {
            self.fails.next = true;
        } else if self.value.is_bits.val() && !self.flushes.val() {
            self.done.next = true;
            self.pack.d.next = self.packed_new.val().get_bits::<8>(0);
            self.packed.d.next = self.bits_now.val().get_bits::<3>(0);
        } else if !self.more.q.val() && !self.value.give.val() {
            self.adds.next = true;
            self.done.next = self.value.is_bits.val() || !self.flushes.val();
        } else if !self.more.q.val() && (self.flushes.val() || self.value.has_length.val()) {
            self.give_made();
        } else if !self.more.q.val() && !self.value.some.val() {
            // Bytes of a value of no length, which was sent before.
            self.done.next = true;
        } else {
            self.give_piece();
        }
    }

    /// Sends bytes that are made: those of bits, or the length of a value, with the value's first bytes.
    #[hdl_gen]
    pub(super) fn give_made(&mut self) {
        self.begins.next = true;
        self.makes.next = self.free.val();
        self.emits.next = self.free.val() && self.made.ready.val();
        self.adds.next = self.emits.val();
        self.done.next = self.emits.val() && self.fits.val();
        if self.flushes.val() {
            self.out_new.next.first = 1.into();
            self.out_new.next.last = 0.into();
            self.out_new.next.bytes =
                bit_cast::<7, 2>(self.bit_bytes.val()) + bit_cast::<7, 6>(self.led.val());
            self.done.next = self.emits.val() && self.value.is_bits.val();
            if self.value.leads.val() {
                self.lead_alone();
            }
        } else if self.value.alone.val() {
            self.out_new.next.first = 1.into();
            self.out_new.next.last = 0.into();
            self.out_new.next.bytes = LENGTH_BYTES.into();
        } else {
            self.give_length();
        }
    }

    /// Sends the length of a value with its first bytes, perhaps behind the lanes that it leads.
    #[hdl_gen]
    pub(super) fn give_length(&mut self) {
        self.out_new.next.bytes = BEAT.into();
        if self.fits.val() {
            self.out_new.next.bytes = bit_cast::<7, 6>(self.value.bytes.val().get_bits::<6>(0))
                + bit_cast::<7, 6>(self.led.val())
                + LENGTH_BYTES;
        }
        self.out_new.next.lead = self.value.some.val() && self.room.val().any();
        if self.value.leads.val() {
            self.out_new.next.first = 0.into();
            self.out_new.next.piece = false;
            self.out_new.next.row = self.value.row.val();
        }
        if !self.out_new.val().lead && self.value.leads.val() {
            self.lead_alone();
        } else if !self.out_new.val().lead {
            self.out_new.next.first = 1.into();
            self.out_new.next.last = 0.into();
        }
        if self.emits.val() {
            self.more.d.next = !self.fits.val();
            self.rest.d.next = self.value.bytes.val() - bit_cast::<32, 6>(self.room.val());
            self.rest_short.d.next =
                self.value.bytes.val() <= bit_cast::<32, 6>(self.room.val()) + BEAT;
            self.rest_at.d.next = self.value.pointer.val() + bit_cast::<64, 6>(self.room.val());
        }
    }

    /// The token's lanes are those that the value leads, and made bytes follow them.
    #[hdl_gen]
    pub(super) fn lead_alone(&mut self) {
        self.out_new.next.first = 0.into();
        self.out_new.next.last = self.value.first.val() - 1;
        self.out_new.next.piece = false;
        self.out_new.next.row = self.value.row.val();
        self.out_new.next.pointer = 0.into();
    }

    /// Sends a piece of host memory.
    #[hdl_gen]
    pub(super) fn give_piece(&mut self) {
        self.begins.next = !self.more.q.val();
        self.emits.next = self.free.val();
        self.adds.next = self.free.val() && !self.more.q.val();
        self.done.next = self.free.val() && self.final_piece.val();
        if self.free.val() {
            self.more.d.next = !self.final_piece.val();
            self.rest.d.next = self.bytes.val() - BEAT;
            self.rest_short.d.next = self.bytes.val() <= 2 * BEAT;
            self.rest_at.d.next = self.at.val() + BEAT;
        }
    }

    /// A message that is too long goes no further, in this cycle or, like everything behind it, in the next.
    #[hdl_gen]
    pub(super) fn stop_long_message(&mut self) {
        if self.begins.val() && self.exceeds.val() {
            self.fails.next = true;
            self.makes.next = false;
            self.emits.next = false;
            self.adds.next = false;
        }
    }

    /// Keeps the bits that do not fill a byte.
    #[hdl_gen]
    pub(super) fn keep_bits(&mut self) {
        if self.flushes.val() && (self.adds.val() || self.fails.val()) {
            self.pack.d.next = 0.into();
            self.packed.d.next = 0.into();
            if self.value.is_bits.val() && !self.value.unit_end.val() {
                self.pack.d.next = self.packed_new.val().get_bits::<8>(8);
                if self.bit_bytes.val() == 2 {
                    self.pack.d.next = self.packed_new.val().get_bits::<8>(16);
                }
                self.packed.d.next = self.bits_now.val().get_bits::<3>(0);
            }
        }
    }
}
