//! The printer against Rust, idiom by idiom.

// Kernels are written for the printer: conditions are spelled out.
#![allow(clippy::collapsible_if)]

use drdma_emit::emit;
use drdma_emit::prelude::*;
use drdma_verilated::Direction;
use drdma_verilated::testbench::Random;
use drdma_verilated::{Options, Word};

/// Every operator, cast and slice, each in its own output.
#[derive(LogicBlock)]
struct Idioms<const N: usize> {
    clk: Signal<In, Clock>,
    a: Signal<In, Bits<8>>,
    b: Signal<In, Bits<8>>,
    wide: Signal<In, Bits<512>>,
    sel: Signal<In, Bits<4>>,
    flag: Signal<In, Bit>,
    lanes: [Signal<In, Bits<16>>; 4],
    precedence: Signal<Out, Bit>,
    wraps: Signal<Out, Bit>,
    difference: Signal<Out, Bits<8>>,
    widened: Signal<Out, Bits<16>>,
    narrowed: Signal<Out, Bits<4>>,
    sum_carry: Signal<Out, Bits<9>>,
    slice_of_sum: Signal<Out, Bits<3>>,
    lane: Signal<Out, Bits<32>>,
    lane_of_xor: Signal<Out, Bits<32>>,
    one_bit: Signal<Out, Bit>,
    replaced: Signal<Out, Bits<8>>,
    masked: Signal<Out, Bit>,
    sums: [Signal<Out, Bits<16>>; 4],
    wide_sums: [Signal<Out, Bits<20>>; 4],
    constant: Signal<Out, Bits<12>>,
    shifted: Signal<Out, Bits<8>>,
    ordered: Signal<Out, Bits<8>>,
    less: Signal<Out, Bit>,
    last_index: Signal<Out, Bits<4>>,
    mask: Constant<Bits<512>>,
    limit: Constant<Bits<12>>,
    temporary: Signal<Local, Bits<8>>,
}

impl<const N: usize> Default for Idioms<N> {
    fn default() -> Self {
        let mask: num_bigint::BigUint = (num_bigint::BigUint::from(5_u32) << 400) + 9_u32;
        Self {
            clk: Signal::default(),
            a: Signal::default(),
            b: Signal::default(),
            wide: Signal::default(),
            sel: Signal::default(),
            flag: Signal::default(),
            lanes: Default::default(),
            precedence: Signal::default(),
            wraps: Signal::default(),
            difference: Signal::default(),
            widened: Signal::default(),
            narrowed: Signal::default(),
            sum_carry: Signal::default(),
            slice_of_sum: Signal::default(),
            lane: Signal::default(),
            lane_of_xor: Signal::default(),
            one_bit: Signal::default(),
            replaced: Signal::default(),
            masked: Signal::default(),
            sums: Default::default(),
            wide_sums: Default::default(),
            constant: Signal::default(),
            shifted: Signal::default(),
            ordered: Signal::default(),
            less: Signal::default(),
            last_index: Signal::default(),
            mask: Constant::new(mask.into()),
            limit: Constant::new(N.to_bits()),
            temporary: Signal::default(),
        }
    }
}

impl<const N: usize> Logic for Idioms<N> {
    #[hdl_gen]
    fn update(&mut self) {
        self.precedence.next = self.a.val() & self.b.val() == self.a.val();
        self.wraps.next = self.a.val() + 1 == self.b.val();
        self.difference.next = self.a.val() - self.b.val() - 1;
        self.widened.next = bit_cast::<16, 8>(self.a.val()) << 3;
        self.narrowed.next = bit_cast::<4, 8>(self.a.val() + self.b.val());
        self.sum_carry.next =
            bit_cast::<9, 8>(self.a.val()) + bit_cast::<9, 8>(self.b.val()) + self.flag.val();
        self.slice_of_sum.next = (self.a.val() + self.b.val()).get_bits::<3>(4);
        self.lane.next = self.wide.val().get_bits::<32>(self.sel.val().index() * 32);
        self.lane_of_xor.next =
            (self.wide.val() ^ self.mask.val()).get_bits::<32>(self.sel.val().index() * 32);
        self.one_bit.next = self.wide.val().get_bit(self.a.val().index() + 1);
        self.replaced.next = self.a.val().replace_bit(self.sel.val().index(), self.flag.val());
        self.masked.next = (self.wide.val() & self.mask.val()).xor() ^ self.flag.val();
        for k in 0..4 {
            self.sums[k].next = self.lanes[k].val() + self.lanes[(k + 1) % 4].val();
            self.wide_sums[k].next = self.lanes[k].val().get_bits::<20>(0)
                + self.wide.val().get_bits::<16>(k * 16).get_bits::<20>(0);
        }
        self.constant.next = self.limit.val();
        self.shifted.next = (self.a.val() >> 2) | (self.b.val() << self.sel.val());
        // The local is read between two writes.
        self.temporary.next = self.a.val();
        self.ordered.next = self.temporary.val();
        self.temporary.next = self.b.val();
        self.less.next = (self.a.val() < self.temporary.val()) || !self.flag.val();
        self.last_index.next = 0.into();
        for k in 0..N {
            if self.a.val().get_bit(k) {
                self.last_index.next = k.to_bits();
            }
        }
    }
}

fn expect(name: &str, i: &Inputs) -> Word {
    let (a, b) = (i.a as u8, i.b as u8);
    match name {
        "precedence" => Word::from((a & b) == a),
        "wraps" => (a.wrapping_add(1) == b).into(),
        "difference" => a.wrapping_sub(b).wrapping_sub(1).into(),
        "widened" => (u16::from(a) << 3).into(),
        "narrowed" => (a.wrapping_add(b) & 15).into(),
        "sum_carry" => (u16::from(a) + u16::from(b) + u16::from(i.flag)).into(),
        "slice_of_sum" => ((a.wrapping_add(b) >> 4) & 7).into(),
        "lane" => i.wide.bits(32 * i.sel as usize, 32),
        "lane_of_xor" => {
            let lane = i.wide.bits(32 * i.sel as usize, 32).to_u64();
            let mask = match i.sel {
                0 => 9,
                12 => 5 << 16,
                _ => 0,
            };
            (lane ^ mask).into()
        }
        "one_bit" => i.wide.bit((a as usize + 1) % 512).into(),
        "replaced" if i.sel < 8 => {
            let bit = 1 << i.sel;
            (if i.flag { a | bit } else { a & !bit }).into()
        }
        "replaced" => {
            let bit = 1 << (i.sel - 8);
            (if i.flag { a | bit } else { a & !bit }).into()
        }
        "masked" => {
            let ones = [0, 3, 400, 402].iter().filter(|&&k| i.wide.bit(k)).count();
            ((ones % 2 == 1) ^ i.flag).into()
        }
        "sums_0" | "sums_1" | "sums_2" | "sums_3" => {
            let k = name[5..].parse::<usize>().unwrap();
            ((i.lanes[k] + i.lanes[(k + 1) % 4]) & 0xffff).into()
        }
        "wide_sums_0" | "wide_sums_1" | "wide_sums_2" | "wide_sums_3" => {
            let k = name[10..].parse::<usize>().unwrap();
            (i.lanes[k] + i.wide.bits(16 * k, 16).to_u64()).into()
        }
        "constant" => Word::from(8_u8),
        "shifted" => ((a >> 2) | (u32::from(b) << i.sel) as u8).into(),
        "ordered" => a.into(),
        "less" => (a < b || !i.flag).into(),
        "last_index" => Word::from((0..8_u32).filter(|k| a >> k & 1 == 1).max().unwrap_or(0)),
        _ => panic!("{name}"),
    }
}

struct Inputs {
    a: u64,
    b: u64,
    wide: Word,
    sel: u64,
    flag: bool,
    lanes: Vec<u64>,
}

#[test]
fn every_idiom_means_in_verilog_what_it_means_in_rust() {
    let emitted = emit("idioms", Idioms::<8>::default).unwrap();
    let mut model = emitted.source().build(&Options::default()).unwrap().instance(1);
    let mut random = Random::new(1);
    for _ in 0..3000 {
        let a = random.below(256);
        let i = Inputs {
            a,
            b: if random.chance(0.3) { (a + 1) & 255 } else { random.below(256) },
            wide: random.word(512),
            sel: random.below(16),
            flag: random.chance(0.5),
            lanes: (0..4).map(|_| random.below(1 << 16)).collect(),
        };
        model.set("a", i.a);
        model.set("b", i.b);
        model.set_word("wide", &i.wide);
        model.set("sel", i.sel);
        model.set("flag", i.flag.into());
        for k in 0..4 {
            model.set(format!("lanes_{k}"), i.lanes[k]);
        }
        model.settle();
        for port in emitted.ports.iter().filter(|p| p.direction == Direction::Output) {
            let name = &port.name;
            assert_eq!(model.get_word(name), expect(name, &i), "{name} a={} b={}", i.a, i.b);
        }
    }
}

/// Whether an earlier lane is set, and which lanes are last: branches that the loop decides.
#[derive(LogicBlock, Default)]
struct Decided {
    lanes: Signal<In, Bits<4>>,
    earlier: [Signal<Out, Bit>; 4],
    shape: [Signal<Out, Bits<3>>; 4],
}

impl Logic for Decided {
    #[hdl_gen]
    fn update(&mut self) {
        for k in 0..4 {
            self.earlier[k].next = false;
            for m in 0..4 {
                if m < k {
                    if self.lanes.val().get_bit(m) {
                        self.earlier[k].next = true;
                    }
                }
            }
            self.shape[k].next = 0.into();
            if k == 0 {
                self.shape[k].next = 1.into();
            } else if self.lanes.val().get_bit(k) {
                self.shape[k].next = 2.into();
            } else if k >= 3 {
                self.shape[k].next = 3.into();
            } else {
                self.shape[k].next = 4.into();
            }
        }
    }
}

#[test]
fn branches_that_a_loop_decides_are_not_printed() {
    let emitted = emit("decided", Decided::default).unwrap();
    let conditions: Vec<_> = emitted.verilog.lines().filter(|line| line.contains("if (")).collect();
    assert!(conditions.iter().all(|line| line.contains("lanes")), "{conditions:?}");
    // A block that reads nothing is never run by a simulator that waits for changes.
    assert!(emitted.verilog.contains("assign earlier$0 = 1'h0;"), "{}", emitted.verilog);
    let mut model = emitted.source().build(&Options::default()).unwrap().instance(1);
    for lanes in 0..16_u64 {
        model.set("lanes", lanes);
        model.settle();
        for k in 0..4 {
            let below = lanes & ((1 << k) - 1);
            assert_eq!(model.get(format!("earlier_{k}")), u64::from(below != 0), "{lanes:#b} {k}");
            let shape = match (k, lanes >> k & 1) {
                (0, _) => 1,
                (_, 1) => 2,
                (3, _) => 3,
                _ => 4,
            };
            assert_eq!(model.get(format!("shape_{k}")), shape, "{lanes:#b} {k}");
        }
    }
}
