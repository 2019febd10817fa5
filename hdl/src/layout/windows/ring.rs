//! Decides where windows lie in the segmented memory.

use super::WINDOW_INDEX;
use crate::primitive::Lutram;
use drdma_emit::prelude::*;

/// Number of units of 128 B (a word of every bank) in the memory. Sizes and starts of windows are counted in them; a
/// window has up to 256.
const UNITS: u64 = 1024;
/// Largest size, in units, of a window that shares; a larger one keeps all of its 32 KiB.
const MOST_SHARED: u64 = 128;
/// Last start, in units, behind which a window of any size fits.
const LAST_START: u64 = UNITS - 256;

/// Hands out windows of the segmented memory to the two paths, one behind the other, cyclically.
///
/// A window is opened without a size, at the end of the one before, where 32 KiB are free and fewer than 16 windows are
/// in use. The path that opened it reports, once, how much of that it takes. The next window is opened behind this, or
/// at the start of the memory if less than 32 KiB are left up to the memory's end. (No window wraps from the memory's
/// end to its start, nor does a read.) A window that takes more than 16 KiB keeps 32 KiB: four such windows then fit at
/// any time, and at least as many smaller ones. Windows are freed in the order in which they were opened, each after
/// its size was reported.
///
/// **Latency.** A size and a freed window count from the next cycle on.
///
/// # Inputs
/// `opens`: the granted window is opened. `sized`, `size`: size of the last window, 0 to 256 units. `free`: the oldest
/// window is free.
///
/// # Outputs
/// `granted`: a window may be opened, with `number` and `start`. `another`: so may the next one, as soon as the size of
/// the last one is reported, whatever that is (unless it leaves too little at the memory's end).
#[derive(LogicBlock, Default)]
pub struct Ring {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// The granted window is opened.
    pub opens: Signal<In, Bit>,
    /// `size` is valid: the size of the last window is known.
    pub sized: Signal<In, Bit>,
    /// With `sized`: size of the last window, 0 to 256 units of 128 B.
    pub size: Signal<In, Bits<9>>,
    /// The oldest window is free.
    pub free: Signal<In, Bit>,
    /// A window may be opened.
    pub granted: Signal<Out, Bit>,
    /// A window may be opened once the last one has its size.
    pub another: Signal<Out, Bit>,
    /// Number of the next window.
    pub number: Signal<Out, Bits<WINDOW_INDEX>>,
    /// Start of the next window, in units of 128 B.
    pub start: Signal<Out, Bits<10>>,

    next: DFF<Bits<WINDOW_INDEX>>,
    oldest: DFF<Bits<WINDOW_INDEX>>,
    /// Number of windows in use.
    used: DFF<Bits<5>>,
    /// The last window has no size yet.
    open: DFF<Bit>,
    /// Start of the last window or, once it has its size, of the next one, in units of 128 B.
    at: DFF<Bits<10>>,
    /// Units that are not in use; they lie behind `at`.
    room: DFF<Bits<11>>,
    /// Units that each window occupies: its size, and the units behind it that are left over at the memory's end.
    kept: Lutram<9, WINDOW_INDEX, 1>,
    /// Units that the last window has for itself.
    own: Signal<Local, Bits<9>>,
    behind: Signal<Local, Bits<11>>,
    wraps: Signal<Local, Bit>,
    keeps: Signal<Local, Bits<9>>,
    taken: Signal<Local, Bits<11>>,
    given: Signal<Local, Bits<11>>,
    last: Signal<Local, Bits<WINDOW_INDEX>>,
}

impl Logic for Ring {
    #[hdl_gen]
    fn update(&mut self) {
        self.granted.next = !self.open.q.val()
            && !self.used.q.val().get_bit(4)
            && self.room.q.val().get_bits::<3>(8).any();
        self.another.next =
            !self.used.q.val().get_bit(4) && self.room.q.val().get_bits::<2>(9).any();
        self.number.next = self.next.q.val();
        self.start.next = self.at.q.val();
        self.last.next = self.next.q.val() - 1;

        // The size of the last window determines where the next one starts.
        self.own.next = self.size.val();
        if self.size.val() > MOST_SHARED {
            self.own.next = 256.into();
        }
        self.behind.next = bit_cast::<11, 10>(self.at.q.val()) + bit_cast::<11, 9>(self.own.val());
        self.wraps.next = self.behind.val() > LAST_START;
        self.keeps.next = self.own.val();
        if self.wraps.val() {
            self.keeps.next = (bits::<10>(0) - self.at.q.val()).get_bits::<9>(0);
        }
        self.taken.next = 0.into();
        if self.sized.val() {
            self.open.d.next = false;
            self.at.d.next = self.behind.val().get_bits::<10>(0);
            if self.wraps.val() {
                self.at.d.next = 0.into();
            }
            self.taken.next = bit_cast::<11, 9>(self.keeps.val());
        }
        self.kept.write_enable.next = self.sized.val();
        self.kept.write_address.next = self.last.val();
        self.kept.write_data.next = self.keeps.val();

        if self.opens.val() {
            self.next.d.next = self.next.q.val() + 1;
            self.open.d.next = true;
        }
        self.kept.read_address[0].next = self.oldest.q.val();
        self.given.next = 0.into();
        if self.free.val() {
            self.oldest.d.next = self.oldest.q.val() + 1;
            self.given.next = bit_cast::<11, 9>(self.kept.read_data[0].val());
        }
        self.room.d.next = (self.room.q.val() - self.taken.val()) + self.given.val();
        if self.opens.val() && !self.free.val() {
            self.used.d.next = self.used.q.val() + 1;
        }
        if self.free.val() && !self.opens.val() {
            self.used.d.next = self.used.q.val() - 1;
        }

        if self.rst.val() {
            self.next.d.next = 0.into();
            self.oldest.d.next = 0.into();
            self.used.d.next = 0.into();
            self.open.d.next = false;
            self.at.d.next = 0.into();
            self.room.d.next = UNITS.into();
        }
    }
}
