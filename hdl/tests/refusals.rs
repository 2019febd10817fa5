//! What the printer refuses, and what it does with whole designs.

use super::*;
use crate::primitive::{Lutram, Skid};
use crate::testing;
use array_init::array_init;
use drdma_verilated::testbench::{Beat, Bench, STALLS};
use rust_hdl_widgets::prelude::*;

fn reason<B: Block>(make: impl FnOnce() -> B + Send) -> String {
    emit("refused", make).expect_err("the block is wrong").to_string()
}

#[derive(LogicBlock, Default)]
struct ConstantAsValue<const N: usize> {
    a: Signal<In, Bits<8>>,
    b: Signal<Out, Bit>,
}

impl<const N: usize> Logic for ConstantAsValue<N> {
    #[hdl_gen]
    fn update(&mut self) {
        self.b.next = self.a.val() == N.to_bits();
    }
}

#[test]
fn a_const_generic_as_a_value_is_refused() {
    let reason = reason(ConstantAsValue::<3>::default);
    assert!(reason.starts_with("refused: `N` is not a signal here"), "{reason}");
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

#[derive(Copy, Clone, Debug, Default, PartialEq, LogicStruct)]
struct RefusalPair {
    low: Bits<4>,
    high: Bits<4>,
}

/// Only constants.
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

/// A pipeline of slices, and a row of memories.
#[derive(LogicBlock)]
struct Chain<const N: usize> {
    clk: Signal<In, Clock>,
    rst: Signal<In, Bit>,
    s_valid: Signal<In, Bit>,
    s_ready: Signal<Out, Bit>,
    s_data: Signal<In, Bits<32>>,
    m_valid: Signal<Out, Bit>,
    m_ready: Signal<In, Bit>,
    m_data: Signal<Out, Bits<32>>,
    old: Signal<Out, Bits<32>>,
    slices: Vec<Skid<32>>,
    memories: [Lutram<32, 2, 2>; 2],
    slots: [[DFF<Bits<32>>; 2]; 2],
}

impl<const N: usize> Default for Chain<N> {
    fn default() -> Self {
        Self {
            clk: Signal::default(),
            rst: Signal::default(),
            s_valid: Signal::default(),
            s_ready: Signal::default(),
            s_data: Signal::default(),
            m_valid: Signal::default(),
            m_ready: Signal::default(),
            m_data: Signal::default(),
            old: Signal::default(),
            slices: (0..N).map(|_| Skid::default()).collect(),
            memories: array_init(|_| Lutram::default()),
            slots: array_init(|_| array_init(|_| DFF::default())),
        }
    }
}

impl<const N: usize> Logic for Chain<N> {
    #[hdl_gen]
    fn update(&mut self) {
        for k in 0..N {
            self.slices[k].clk.next = self.clk.val();
            self.slices[k].rst.next = self.rst.val();
        }
        for k in 1..N {
            self.slices[k].in_valid.next = self.slices[k - 1].out_valid.val();
            self.slices[k].in_data.next = self.slices[k - 1].out_data.val() + 1;
            self.slices[k - 1].out_ready.next = self.slices[k].in_ready.val();
        }
        self.slices[0].in_valid.next = self.s_valid.val();
        self.slices[0].in_data.next = self.s_data.val();
        self.s_ready.next = self.slices[0].in_ready.val();
        // A bound is a Rust expression, an index is not.
        for last in (N - 1)..N {
            self.m_valid.next = self.slices[last].out_valid.val();
            self.m_data.next = self.slices[last].out_data.val();
            self.slices[last].out_ready.next = self.m_ready.val();
        }
        for m in 0..2 {
            self.memories[m].clk.next = self.clk.val();
            self.memories[m].write_enable.next = true;
            self.memories[m].write_address.next = self.s_data.val().get_bits::<2>(0);
            self.memories[m].write_data.next = self.s_data.val();
            for r in 0..2 {
                self.memories[m].read_address[r].next = m.to_bits();
                self.slots[m][r].clock.next = self.clk.val();
                self.slots[m][r].d.next = self.memories[m].read_data[r].val();
            }
        }
        self.old.next = self.slots[0][0].q.val()
            ^ self.slots[0][1].q.val()
            ^ self.slots[1][0].q.val()
            ^ self.slots[1][1].q.val();
    }
}

#[test]
fn arrays_of_modules_work_and_equal_modules_are_printed_once() {
    let emitted = emit("chain", Chain::<5>::default).unwrap();
    assert_eq!(emitted.verilog.matches("endmodule").count(), 3, "{}", emitted.verilog);
    let library = testing::library("chain", Chain::<5>::default);
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut bench = Bench::new(library.instance(seed), seed);
        let (s, m) = (bench.driver("s"), bench.monitor("m"));
        bench.stall(stalls);
        bench.send_all(s, (0..200_u64).map(|i| Beat::from([("data", i)])));
        bench.run_until(|bench| bench.received(m).len() == 200);
        let data: Vec<_> = bench.take(m).iter().map(|beat| beat.u64("data")).collect();
        assert_eq!(data, (4..204).collect::<Vec<_>>());
    }
}
