//! Blocks that the printer refuses.

use drdma_emit::prelude::*;
use drdma_emit::{emit, testing};

fn reason<B: Block>(make: impl FnOnce() -> B + Send) -> String {
    emit("refused", make).expect_err("the block is wrong").to_string()
}

#[derive(LogicBlock, Default)]
struct Undriven {
    a: Signal<In, Bit>,
    b: Signal<Out, Bit>,
    c: DFF<Bit>,
}

impl Logic for Undriven {
    #[hdl_gen]
    fn update(&mut self) {
        self.b.next = self.a.val();
    }
}

#[test]
fn a_signal_that_nothing_drives_is_refused() {
    assert_eq!(reason(Undriven::default), "refused.c: never driven: d, clock");
}

/// A register's input is read before the statement that assigns it.
#[derive(LogicBlock, Default)]
struct Early {
    clk: Signal<In, Clock>,
    a: Signal<In, Bits<4>>,
    b: Signal<Out, Bits<4>>,
    c: DFF<Bits<4>>,
}

impl Logic for Early {
    #[hdl_gen]
    fn update(&mut self) {
        self.c.clock.next = self.clk.val();
        self.b.next = self.c.d.val();
        self.c.d.next = self.a.val();
    }
}

#[test]
fn a_registers_input_that_is_read_before_it_is_assigned_is_refused() {
    let why = "`c$d` is read before it is assigned: there it is what the register holds, not what it will be";
    assert_eq!(reason(Early::default), format!("refused: {why}"));
}

#[derive(LogicBlock, Default)]
struct TooLarge {
    a: Signal<In, Bits<4>>,
    b: Signal<Out, Bit>,
}

impl Logic for TooLarge {
    #[hdl_gen]
    fn update(&mut self) {
        self.b.next = self.a.val() < 16;
    }
}

#[test]
fn a_literal_that_does_not_fit_is_refused() {
    assert_eq!(reason(TooLarge::default), "refused: the literal 0x10 does not fit 4 bits");
}

#[derive(LogicBlock, Default)]
struct OutOfRange {
    a: Signal<In, Bits<100>>,
    b: Signal<Out, Bits<32>>,
}

impl Logic for OutOfRange {
    #[hdl_gen]
    fn update(&mut self) {
        self.b.next = 0.into();
        for k in 0..4 {
            self.b.next = self.b.val() ^ self.a.val().get_bits::<32>(k * 32);
        }
    }
}

#[test]
fn a_slice_out_of_range_is_refused() {
    assert_eq!(reason(OutOfRange::default), "refused: bits 96 to 127 of `a`, which has 100 bits");
}

#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct RefusalPair {
    low: Bits<4>,
    high: Bits<4>,
}

/// A block that only has constants.
#[derive(LogicBlock, Default)]
struct Constants {
    pair: Signal<Out, RefusalPair>,
    one: Signal<Out, Bits<3>>,
}

impl Logic for Constants {
    #[hdl_gen]
    fn update(&mut self) {
        self.pair.next.low = 5.into();
        self.pair.next.high = 10.into();
        self.one.next = 1.into();
    }
}

#[test]
fn constants_arrive_without_an_event() {
    let make = Constants::default;
    let mut model = testing::library("constants", make).instance(1);
    model.eval();
    assert_eq!((model.get("pair"), model.get("one")), (0xa5, 1));
}

#[derive(LogicBlock, Default)]
struct NoClock {
    a: Signal<In, Bit>,
    b: Signal<Out, Bit>,
    c: DFF<Bit>,
}

impl Logic for NoClock {
    #[hdl_gen]
    fn update(&mut self) {
        self.c.d.next = self.a.val();
        self.b.next = self.c.q.val();
    }
}

#[test]
fn a_clock_comes_from_a_port_called_clk_alone() {
    assert_eq!(reason(NoClock::default), "refused.c: never driven: clock");
}

#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Other {
    middle: Bits<4>,
}

#[derive(LogicBlock, Default)]
struct Strangers {
    a: Signals<In, RefusalPair>,
    b: Signal<Out, Other>,
}

impl Logic for Strangers {
    #[hdl_gen]
    fn update(&mut self) {
        self.a.share(&mut self.b);
    }
}

#[test]
fn records_without_a_common_field_do_not_share() {
    assert_eq!(reason(Strangers::default), "refused: `a` and `b` have no field in common");
}

#[derive(LogicBlock, Default)]
struct Silent {
    clk: Signal<In, Clock>,
    a: Stream<In, RefusalPair>,
    b: Stream<Out, RefusalPair>,
}

impl Logic for Silent {
    #[hdl_gen]
    fn update(&mut self) {
        self.b.valid.next = self.a.valid.val();
        self.b.low.next = self.a.low.val();
        self.a.ready.next = true;
    }
}

#[test]
fn a_field_of_a_stream_that_nothing_drives_is_refused() {
    assert_eq!(reason(Silent::default), "refused: never driven: b$high");
}
