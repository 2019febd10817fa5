//! Turns boxes of rows into addresses.
//!
//! Boxes come cut at cache lines, so that no two reads wait for the same line. What lies behind the cut may be so short
//! that a single read would have brought both. Such neighbours are joined again here, where their lengths are known.

use super::boxes::SPAN_BITS;
use crate::layout::windows::WINDOW_INDEX;
use crate::primitive::{Concat, Fifo, Lutram, Multiplier};
use drdma_emit::prelude::*;

/// Turns boxes of rows and phases into boxes of addresses, one a cycle, for the reader. The pipeline never stops: a box
/// is taken when the FIFO at the end has room for all boxes that are under way. A box that the next one continues waits
/// for it; both leave as one if that is not longer than the longest box of their part. Blocks of 64 rows that are not
/// in the window move what follows closer together there, by whole words.
#[derive(LogicBlock, BlockDefault)]
pub struct Spans {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Longest box in bytes, a multiple of 64.
    pub max_read: Signal<In, Bits<13>>,
    /// Longest box of a short part in bytes, a multiple of 64.
    pub short_read: Signal<In, Bits<13>>,
    /// A part of a group is placed; its fields are as from `Places`.
    pub group_write: Signal<In, Bit>,
    /// Number of the part, under the parity of its chunk.
    pub group_index: Signal<In, Bits<5>>,
    /// Host address at which the part starts.
    pub group_lo: Signal<In, Bits<64>>,
    /// Place at which the part starts in the window, in bytes.
    pub group_place: Signal<In, Bits<15>>,
    /// Step of the part in bytes.
    pub group_step: Signal<In, Bits<8>>,
    /// Window of the part.
    pub group_window: Signal<In, Bits<WINDOW_INDEX>>,
    /// The part is short.
    pub group_short: Signal<In, Bit>,
    /// A box is offered, as from `Boxes`.
    pub span_valid: Signal<In, Bit>,
    /// The box is taken in this cycle.
    pub span_ready: Signal<Out, Bit>,
    /// The box, in rows and phases; see `Boxes`.
    pub span: Signal<In, Bits<SPAN_BITS>>,
    /// The last box of a chunk was taken: its parts may be overwritten.
    pub done: Signal<Out, Bit>,
    /// A box is offered.
    pub box_valid: Signal<Out, Bit>,
    /// The box is taken in this cycle.
    pub box_ready: Signal<In, Bit>,
    /// Host address of the box.
    pub box_addr: Signal<Out, Bits<64>>,
    /// Address of the box in its window, in bytes.
    pub box_ram: Signal<Out, Bits<17>>,
    /// Bytes of the box; 0 if there is nothing to read.
    pub box_len: Signal<Out, Bits<13>>,
    /// Window of the box.
    pub box_window: Signal<Out, Bits<WINDOW_INDEX>>,
    /// The box is the last one of its window.
    pub box_window_end: Signal<Out, Bit>,

    groups: Lutram<92, 5, 1>,
    take: Signal<Local, Bit>,
    /// Bit `k` is set if stage `k` has a box.
    stages: DFF<Bits<6>>,
    group_0: DFF<Bits<92>>,
    span_0: DFF<Bits<SPAN_BITS>>,
    ended: DFF<Bit>,
    #[init(Multiplier::new(3))]
    from: Multiplier<19, 8, 27>,
    #[init(Multiplier::new(3))]
    to: Multiplier<19, 8, 27>,
    /// Product of the step and the blocks of 64 rows that are not in the window.
    #[init(Multiplier::new(3))]
    out: Multiplier<12, 8, 20>,
    // Beside the multipliers: phases, place in host memory and window, flags.
    side: Signal<Local, Bits<102>>,
    side_1: DFF<Bits<102>>,
    side_2: DFF<Bits<102>>,
    side_3: DFF<Bits<102>>,
    skew: Signal<Local, Bits<28>>,
    start: Signal<Local, Bits<28>>,
    stop: Signal<Local, Bits<28>>,
    start_word: DFF<Bits<26>>,
    end_word: DFF<Bits<26>>,
    /// Words before the box that are not in the window, in units of 16.
    out_words: DFF<Bits<9>>,
    side_4: DFF<Bits<84>>,
    /// Whether the part is short, 1 to 4 stages later, and its longest box in units of 64 B.
    shorts: DFF<Bits<4>>,
    longest: Signal<Local, Bits<7>>,
    addr: Signal<Local, Bits<62>>,
    ram: Signal<Local, Bits<13>>,
    // The box: host address, place and window, flags; first word and end, counted from the part's start, and up to
    // where it may be lengthened.
    sent_addr: DFF<Bits<62>>,
    sent_place: DFF<Bits<17>>,
    sent_tag: DFF<Bits<3>>,
    sent_from: DFF<Bits<26>>,
    sent_to: DFF<Bits<26>>,
    sent_reach: DFF<Bits<26>>,
    sent_valid: Signal<Local, Bit>,
    // The box before, until it is known whether the next one lengthens it.
    held_valid: DFF<Bit>,
    held_addr: DFF<Bits<62>>,
    held_place: DFF<Bits<17>>,
    held_tag: DFF<Bits<3>>,
    held_from: DFF<Bits<26>>,
    held_to: DFF<Bits<26>>,
    held_reach: DFF<Bits<26>>,
    lengthens: Signal<Local, Bit>,
    words: Signal<Local, Bits<26>>,
    fields: Concat<64, 17, 13, 5, 99>,
    queue: Fifo<99, 4, 5>,
    unused: Signal<Local, Bits<38>>,
}

impl Logic for Spans {
    #[hdl_gen]
    fn update(&mut self) {
        self.groups.write_enable.next = self.group_write.val();
        self.groups.write_address.next = self.group_index.val();
        self.groups.write_data.next = bit_cast::<92, 64>(self.group_lo.val())
            | (bit_cast::<92, 15>(self.group_place.val()) << 64)
            | (bit_cast::<92, WINDOW_INDEX>(self.group_window.val()) << 79)
            | (bit_cast::<92, 8>(self.group_step.val()) << 83)
            | (bit_cast::<92, 1>(self.group_short.val().into()) << 91);
        self.groups.read_address[0].next = self.span.val().get_bits::<5>(54);

        // Room for this box, for those of the seven stages, and for one that the FIFO has just taken.
        self.span_ready.next = self.queue.free.val() > 9;
        self.take.next = self.span_valid.val() && self.span_ready.val();
        self.stages.d.next = (self.stages.q.val() << 1) | bit_cast::<6, 1>(self.take.val().into());
        self.ended.d.next = self.take.val() && self.span.val().get_bit(60);
        self.done.next = self.ended.q.val();
        if self.take.val() {
            self.group_0.d.next = self.groups.read_data[0].val();
            self.span_0.d.next = self.span.val();
        }

        // Bytes from the start of the part.
        self.from.enable.next = true;
        self.from.a.next = self.span_0.q.val().get_bits::<19>(0);
        self.from.b.next = self.group_0.q.val().get_bits::<8>(83);
        self.to.enable.next = true;
        self.to.a.next = self.span_0.q.val().get_bits::<19>(27);
        self.to.b.next = self.group_0.q.val().get_bits::<8>(83);
        self.out.enable.next = true;
        self.out.a.next = self.span_0.q.val().get_bits::<12>(62);
        self.out.b.next = self.group_0.q.val().get_bits::<8>(83);
        self.side.next = bit_cast::<102, 83>(self.group_0.q.val().get_bits::<83>(0))
            | (bit_cast::<102, 8>(self.span_0.q.val().get_bits::<8>(19)) << 83)
            | (bit_cast::<102, 8>(self.span_0.q.val().get_bits::<8>(46)) << 91)
            | (bit_cast::<102, 3>(self.span_0.q.val().get_bits::<3>(59)) << 99);
        self.shorts.d.next =
            (self.shorts.q.val() << 1) | bit_cast::<4, 1>(self.group_0.q.val().get_bit(91).into());
        self.longest.next = self.max_read.val().get_bits::<7>(6);
        if self.shorts.q.val().get_bit(3) {
            self.longest.next = self.short_read.val().get_bits::<7>(6);
        }
        self.side_1.d.next = self.side.val();
        self.side_2.d.next = self.side_1.q.val();
        self.side_3.d.next = self.side_2.q.val();

        // Words: the start is rounded down, the end up.
        self.skew.next = bit_cast::<28, 2>(self.side_3.q.val().get_bits::<2>(0));
        self.start.next = bit_cast::<28, 27>(self.from.product.val())
            + bit_cast::<28, 8>(self.side_3.q.val().get_bits::<8>(83))
            + self.skew.val();
        self.stop.next = bit_cast::<28, 27>(self.to.product.val())
            + bit_cast::<28, 8>(self.side_3.q.val().get_bits::<8>(91))
            + self.skew.val()
            + 3;
        self.unused.next = bit_cast::<38, 11>(self.out.product.val().get_bits::<11>(9))
            | (bit_cast::<38, 2>(self.start.val().get_bits::<2>(0)) << 11)
            | (bit_cast::<38, 2>(self.stop.val().get_bits::<2>(0)) << 13)
            | (bit_cast::<38, 2>(self.side_4.q.val().get_bits::<2>(62)) << 15)
            | (bit_cast::<38, 15>(self.words.val().get_bits::<15>(11)) << 17)
            | (bit_cast::<38, 6>(
                self.max_read.val().get_bits::<6>(0) | self.short_read.val().get_bits::<6>(0),
            ) << 32);
        self.start_word.d.next = self.start.val().get_bits::<26>(2);
        self.end_word.d.next = self.stop.val().get_bits::<26>(2);
        self.out_words.d.next = self.out.product.val().get_bits::<9>(0);
        self.side_4.d.next = bit_cast::<84, 62>(self.side_3.q.val().get_bits::<62>(2))
            | (bit_cast::<84, 19>(self.side_3.q.val().get_bits::<19>(64)) << 62)
            | (bit_cast::<84, 3>(self.side_3.q.val().get_bits::<3>(99)) << 81);

        self.addr.next =
            self.side_4.q.val().get_bits::<62>(0) + bit_cast::<62, 26>(self.start_word.q.val());
        self.ram.next = self.side_4.q.val().get_bits::<13>(64)
            + self.start_word.q.val().get_bits::<13>(0)
            - (bit_cast::<13, 9>(self.out_words.q.val()) << 4);
        self.sent_addr.d.next = self.addr.val();
        self.sent_place.d.next = bit_cast::<17, 13>(self.ram.val())
            | (bit_cast::<17, WINDOW_INDEX>(self.side_4.q.val().get_bits::<WINDOW_INDEX>(77))
                << 13);
        self.sent_tag.d.next = self.side_4.q.val().get_bits::<3>(81);
        self.sent_from.d.next = self.start_word.q.val();
        self.sent_to.d.next = self.end_word.q.val();
        self.sent_reach.d.next =
            self.start_word.q.val() + (bit_cast::<26, 7>(self.longest.val()) << 4);
        self.sent_valid.next = self.stages.q.val().get_bit(5);

        // The box belongs to the same stretch and the same 4 KiB as the one before.
        self.lengthens.next = self.held_valid.q.val()
            && self.held_tag.q.val().get_bit(2)
            && !(self.held_reach.q.val() < self.sent_to.q.val());
        self.queue.in_valid.next = self.held_valid.q.val()
            && (!self.held_tag.q.val().get_bit(2)
                || (self.sent_valid.val() && !self.lengthens.val()));
        if self.queue.in_valid.val() {
            self.held_valid.d.next = false;
        }
        if self.sent_valid.val() {
            self.held_valid.d.next = true;
            self.held_tag.d.next = self.sent_tag.q.val();
            self.held_to.d.next = self.sent_to.q.val();
            if !self.lengthens.val() {
                self.held_addr.d.next = self.sent_addr.q.val();
                self.held_place.d.next = self.sent_place.q.val();
                self.held_from.d.next = self.sent_from.q.val();
                self.held_reach.d.next = self.sent_reach.q.val();
            }
        }
        self.words.next = self.held_to.q.val() - self.held_from.q.val();
        self.fields.a.next = bit_cast::<64, 62>(self.held_addr.q.val()) << 2;
        self.fields.b.next = bit_cast::<17, 13>(self.held_place.q.val().get_bits::<13>(0)) << 2;
        self.fields.c.next = 0.into();
        if self.held_tag.q.val().get_bit(0) {
            self.fields.c.next = bit_cast::<13, 11>(self.words.val().get_bits::<11>(0)) << 2;
        }
        self.fields.d.next =
            bit_cast::<5, WINDOW_INDEX>(self.held_place.q.val().get_bits::<WINDOW_INDEX>(13))
                | (bit_cast::<5, 1>(self.held_tag.q.val().get_bits::<1>(1)) << 4);

        self.queue.in_data.next = self.fields.whole.val();
        self.queue.out_ready.next = self.box_ready.val();
        self.box_valid.next = self.queue.out_valid.val();
        self.box_addr.next = self.queue.out_data.val().get_bits::<64>(0);
        self.box_ram.next = self.queue.out_data.val().get_bits::<17>(64);
        self.box_len.next = self.queue.out_data.val().get_bits::<13>(81);
        self.box_window.next = self.queue.out_data.val().get_bits::<WINDOW_INDEX>(94);
        self.box_window_end.next = self.queue.out_data.val().get_bit(98);

        if self.rst.val() {
            self.stages.d.next = 0.into();
            self.ended.d.next = false;
            self.held_valid.d.next = false;
        }
    }
}
