//! Turns boxes in rows into addresses.

use super::boxes::SPAN_BITS;
use crate::primitive::{Concat, Fifo, Lutram, Multiplier};
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

/// Boxes in rows and phases in, boxes out, a box a cycle. The pipeline never stops: a box is taken
/// when the FIFO at the end has room for all that are on the way.
#[derive(LogicBlock)]
pub struct Spans {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A group is placed; fields as from `Places`.
    pub group_write: Signal<In, Bit>,
    /// As from `Places`.
    pub group_index: Signal<In, Bits<5>>,
    /// As from `Places`.
    pub group_lo: Signal<In, Bits<64>>,
    /// As from `Places`.
    pub group_place: Signal<In, Bits<15>>,
    /// As from `Places`.
    pub group_step: Signal<In, Bits<8>>,
    /// As from `Places`.
    pub group_window: Signal<In, Bits<2>>,
    /// A box; as from `Boxes`.
    pub span_valid: Signal<In, Bit>,
    /// It is taken.
    pub span_ready: Signal<Out, Bit>,
    /// As from `Boxes`.
    pub span: Signal<In, Bits<SPAN_BITS>>,
    /// A chunk's last box was taken: its groups may be overwritten.
    pub done: Signal<Out, Bit>,
    /// A box.
    pub box_valid: Signal<Out, Bit>,
    /// It is taken.
    pub box_ready: Signal<In, Bit>,
    /// Host address.
    pub box_addr: Signal<Out, Bits<64>>,
    /// Address in the segmented memory.
    pub box_ram: Signal<Out, Bits<17>>,
    /// Bytes.
    pub box_len: Signal<Out, Bits<13>>,
    /// Window.
    pub box_window: Signal<Out, Bits<2>>,
    /// The window has no more boxes.
    pub box_window_end: Signal<Out, Bit>,

    groups: Lutram<89, 5, 1>,
    take: Signal<Local, Bit>,
    /// Boxes in the stages.
    stages: DFF<Bits<6>>,
    group_0: DFF<Bits<89>>,
    span_0: DFF<Bits<SPAN_BITS>>,
    ended: DFF<Bit>,
    from: Multiplier<13, 8, 21>,
    to: Multiplier<13, 8, 21>,
    // Beside the multipliers: phases, place in host and window, flags.
    side: Signal<Local, Bits<99>>,
    side_1: DFF<Bits<99>>,
    side_2: DFF<Bits<99>>,
    side_3: DFF<Bits<99>>,
    skew: Signal<Local, Bits<16>>,
    start: Signal<Local, Bits<16>>,
    stop: Signal<Local, Bits<16>>,
    start_word: DFF<Bits<14>>,
    end_word: DFF<Bits<11>>,
    side_4: DFF<Bits<81>>,
    words: Signal<Local, Bits<11>>,
    addr: Signal<Local, Bits<62>>,
    ram: Signal<Local, Bits<13>>,
    sent: DFF<Bits<97>>,
    fields: Concat<64, 17, 13, 3, 97>,
    queue: Fifo<97, 4, 5>,
    unused: Signal<Local, Bits<19>>,
}

impl Default for Spans {
    fn default() -> Self {
        Self {
            clk: Signal::default(),
            rst: Signal::default(),
            group_write: Signal::default(),
            group_index: Signal::default(),
            group_lo: Signal::default(),
            group_place: Signal::default(),
            group_step: Signal::default(),
            group_window: Signal::default(),
            span_valid: Signal::default(),
            span_ready: Signal::default(),
            span: Signal::default(),
            done: Signal::default(),
            box_valid: Signal::default(),
            box_ready: Signal::default(),
            box_addr: Signal::default(),
            box_ram: Signal::default(),
            box_len: Signal::default(),
            box_window: Signal::default(),
            box_window_end: Signal::default(),
            groups: Lutram::default(),
            take: Signal::default(),
            stages: DFF::default(),
            group_0: DFF::default(),
            span_0: DFF::default(),
            ended: DFF::default(),
            from: Multiplier::new(3),
            to: Multiplier::new(3),
            side: Signal::default(),
            side_1: DFF::default(),
            side_2: DFF::default(),
            side_3: DFF::default(),
            skew: Signal::default(),
            start: Signal::default(),
            stop: Signal::default(),
            start_word: DFF::default(),
            end_word: DFF::default(),
            side_4: DFF::default(),
            words: Signal::default(),
            addr: Signal::default(),
            ram: Signal::default(),
            sent: DFF::default(),
            fields: Concat::default(),
            queue: Fifo::default(),
            unused: Signal::default(),
        }
    }
}

impl Logic for Spans {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, stages, group_0, span_0, ended, side_1, side_2, side_3);
        dff_setup!(self, clk, start_word, end_word, side_4, sent);

        self.groups.clk.next = self.clk.val();
        self.groups.write_enable.next = self.group_write.val();
        self.groups.write_address.next = self.group_index.val();
        self.groups.write_data.next = bit_cast::<89, 64>(self.group_lo.val())
            | (bit_cast::<89, 15>(self.group_place.val()) << 64)
            | (bit_cast::<89, 2>(self.group_window.val()) << 79)
            | (bit_cast::<89, 8>(self.group_step.val()) << 81);
        self.groups.read_address[0].next = self.span.val().get_bits::<5>(42);

        // Room for this one, the six stages, and one that the FIFO has just taken.
        self.span_ready.next = self.queue.free.val() > 8;
        self.take.next = self.span_valid.val() && self.span_ready.val();
        self.stages.d.next = (self.stages.q.val() << 1) | bit_cast::<6, 1>(self.take.val().into());
        self.ended.d.next = self.take.val() && self.span.val().get_bit(48);
        self.done.next = self.ended.q.val();
        if self.take.val() {
            self.group_0.d.next = self.groups.read_data[0].val();
            self.span_0.d.next = self.span.val();
        }

        // Bytes from the group's start.
        self.from.clk.next = self.clk.val();
        self.from.enable.next = true;
        self.from.a.next = self.span_0.q.val().get_bits::<13>(0);
        self.from.b.next = self.group_0.q.val().get_bits::<8>(81);
        self.to.clk.next = self.clk.val();
        self.to.enable.next = true;
        self.to.a.next = self.span_0.q.val().get_bits::<13>(21);
        self.to.b.next = self.group_0.q.val().get_bits::<8>(81);
        self.side.next = bit_cast::<99, 81>(self.group_0.q.val().get_bits::<81>(0))
            | (bit_cast::<99, 8>(self.span_0.q.val().get_bits::<8>(13)) << 81)
            | (bit_cast::<99, 8>(self.span_0.q.val().get_bits::<8>(34)) << 89)
            | (bit_cast::<99, 2>(self.span_0.q.val().get_bits::<2>(47)) << 97);
        self.side_1.d.next = self.side.val();
        self.side_2.d.next = self.side_1.q.val();
        self.side_3.d.next = self.side_2.q.val();

        // Words: the start is rounded down, the end up.
        self.skew.next = bit_cast::<16, 2>(self.side_3.q.val().get_bits::<2>(0));
        self.start.next = self.from.product.val().get_bits::<16>(0)
            + bit_cast::<16, 8>(self.side_3.q.val().get_bits::<8>(81))
            + self.skew.val();
        self.stop.next = self.to.product.val().get_bits::<16>(0)
            + bit_cast::<16, 8>(self.side_3.q.val().get_bits::<8>(89))
            + self.skew.val()
            + 3;
        self.unused.next = bit_cast::<19, 5>(self.from.product.val().get_bits::<5>(16))
            | (bit_cast::<19, 5>(self.to.product.val().get_bits::<5>(16)) << 5)
            | (bit_cast::<19, 2>(self.start.val().get_bits::<2>(0)) << 10)
            | (bit_cast::<19, 2>(self.stop.val().get_bits::<2>(0)) << 12)
            | (bit_cast::<19, 2>(self.side_4.q.val().get_bits::<2>(62)) << 14)
            | (bit_cast::<19, 3>(self.stop.val().get_bits::<3>(13)) << 16);
        self.start_word.d.next = self.start.val().get_bits::<14>(2);
        self.end_word.d.next = self.stop.val().get_bits::<11>(2);
        self.side_4.d.next = bit_cast::<81, 62>(self.side_3.q.val().get_bits::<62>(2))
            | (bit_cast::<81, 17>(self.side_3.q.val().get_bits::<17>(64)) << 62)
            | (bit_cast::<81, 2>(self.side_3.q.val().get_bits::<2>(97)) << 79);

        self.words.next = self.end_word.q.val() - self.start_word.q.val().get_bits::<11>(0);
        self.addr.next =
            self.side_4.q.val().get_bits::<62>(0) + bit_cast::<62, 14>(self.start_word.q.val());
        self.ram.next =
            self.side_4.q.val().get_bits::<13>(64) + self.start_word.q.val().get_bits::<13>(0);
        self.fields.a.next = bit_cast::<64, 62>(self.addr.val()) << 2;
        self.fields.b.next = (bit_cast::<17, 13>(self.ram.val()) << 2)
            | (bit_cast::<17, 2>(self.side_4.q.val().get_bits::<2>(77)) << 15);
        self.fields.c.next = 0.into();
        if self.side_4.q.val().get_bit(79) {
            self.fields.c.next = bit_cast::<13, 11>(self.words.val()) << 2;
        }
        self.fields.d.next = bit_cast::<3, 2>(self.side_4.q.val().get_bits::<2>(77))
            | (bit_cast::<3, 1>(self.side_4.q.val().get_bits::<1>(80)) << 2);
        self.sent.d.next = self.fields.whole.val();

        self.queue.clk.next = self.clk.val();
        self.queue.rst.next = self.rst.val();
        self.queue.in_valid.next = self.stages.q.val().get_bit(5);
        self.queue.in_data.next = self.sent.q.val();
        self.queue.out_ready.next = self.box_ready.val();
        self.box_valid.next = self.queue.out_valid.val();
        self.box_addr.next = self.queue.out_data.val().get_bits::<64>(0);
        self.box_ram.next = self.queue.out_data.val().get_bits::<17>(64);
        self.box_len.next = self.queue.out_data.val().get_bits::<13>(81);
        self.box_window.next = self.queue.out_data.val().get_bits::<2>(94);
        self.box_window_end.next = self.queue.out_data.val().get_bit(96);

        if self.rst.val() {
            self.stages.d.next = 0.into();
            self.ended.d.next = false;
        }
    }
}
