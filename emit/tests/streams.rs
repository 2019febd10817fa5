//! Records, streams, and what the printer adds by itself, in Verilog.

// Kernels are written for the printer: loops index.
#![allow(clippy::needless_range_loop)]

use drdma_emit::prelude::*;
use drdma_emit::{emit, testing};
use drdma_verilated::testbench::{Beat, Bench, Random, STALLS};

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Kind {
    Empty,
    Short,
    Long,
}

#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Place {
    row: Bits<6>,
    bank: Bits<3>,
}

/// A record with fields of all kinds.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Piece<const N: usize> {
    kind: Kind,
    place: Place,
    lengths: [Bits<8>; N],
    last: Bit,
}

/// A record with some of the fields of a piece.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Tag {
    last: Bit,
    kind: Kind,
}

/// A record in one register.
#[derive(LogicBlock, Default)]
struct Hold {
    clk: Signal<In, Clock>,
    rst: Signal<In, Bit>,
    input: Channel<In, Piece<3>>,
    output: Channel<Out, Piece<3>>,
    full: DFF<Bit>,
    piece: DFF<Piece<3>>,
}

impl Logic for Hold {
    #[hdl_gen]
    fn update(&mut self) {
        self.input.ready.next = !self.full.q.val() || self.output.ready.val();
        self.output.valid.next = self.full.q.val();
        self.output.data.next = self.piece.q.val();
        if self.input.ready.val() {
            self.full.d.next = self.input.valid.val();
            self.piece.d.next = self.input.data.val();
        }
        if self.rst.val() {
            self.full.d.next = false;
        }
    }
}

/// A sum of lengths from a table.
const EXTRA: [u64; 3] = [1, 2, 4];

/// Streams in arrays, through registers that hold a record, with changed fields.
#[derive(LogicBlock, BlockDefault)]
#[check(N == 2, "Lanes: {N} lanes")]
struct Lanes<const N: usize> {
    clk: Signal<In, Clock>,
    rst: Signal<In, Bit>,
    s: [Stream<In, Piece<3>>; N],
    m: [Stream<Out, Piece<3>>; N],
    kinds: [Signal<Out, Bits<2>>; N],
    tag: [Signal<Local, Tag>; N],
    changed: [Signals<Local, Piece<3>>; N],
    /// Number of pieces that were short or long.
    some: DFF<Bits<16>>,
    some_now: Signal<Out, Bits<16>>,
    #[init(Constant::new(5.into()))]
    step: Constant<Bits<6>>,
    holds: [Hold; N],
}

impl<const N: usize> Logic for Lanes<N> {
    #[hdl_gen]
    fn update(&mut self) {
        for k in 0..N {
            self.s[k].join(&mut self.holds[k].input);
            self.changed[k].next = self.holds[k].output.data.val();
            self.changed[k].next.place = self.holds[k].output.data.val().place;
            for j in 0..3 {
                self.changed[k].lengths[j].next =
                    self.holds[k].output.data.val().lengths[j] + EXTRA[j];
            }
            self.kinds[k].next = Kind::Long.into();
            match self.holds[k].output.data.val().kind {
                Kind::Empty => self.kinds[k].next = Kind::Empty.into(),
                Kind::Short | Kind::Long => {
                    if k == N - 1 {
                        self.kinds[k].next = 1.into();
                    }
                }
            }
            self.m[k].next = self.changed[k].val();
            self.holds[k].output.share(&mut self.tag[k]);
            self.tag[k].share(&mut self.m[k]);
            // A field of a field.
            if self.holds[k].output.data.val().place.bank == 7 {
                self.m[k].place.next.row = self.step.val();
            }
            self.m[k].valid.next = self.holds[k].output.valid.val();
            self.holds[k].output.ready.next = self.m[k].ready.val();
        }
        if self.m[0].valid.val() && self.m[0].ready.val() && self.m[0].kind.val() != Kind::Empty {
            self.some.d.next = self.some.q.val() + 1;
        }
        self.some_now.next = self.some.q.val();
        if self.rst.val() {
            self.some.d.next = 0.into();
        }
    }
}

/// The change that `Lanes` makes to a piece.
fn changed(beat: &Beat) -> Beat {
    let place = beat.u64("place");
    let place = if place >> 6 == 7 { (place & !63) | 5 } else { place };
    let length = |j: usize| (beat.u64(&format!("lengths_{j}")) + EXTRA[j]) & 255;
    Beat::from([
        ("kind", beat.u64("kind")),
        ("place", place),
        ("lengths_0", length(0)),
        ("lengths_1", length(1)),
        ("lengths_2", length(2)),
        ("last", beat.u64("last")),
    ])
}

#[test]
fn records_pass_streams_registers_and_bundles() {
    let library = testing::library("lanes", Lanes::<2>::default);
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut bench = Bench::new(library.instance(seed), seed);
        let ends: Vec<_> = (0..2)
            .map(|k| (bench.driver(&format!("s_{k}")), bench.monitor(&format!("m_{k}"))))
            .collect();
        bench.stall(stalls);
        let mut expected = [Vec::new(), Vec::new()];
        for (k, (s, _)) in ends.iter().enumerate() {
            for _ in 0..200 {
                let mut draw = |below: u64| random.below(below);
                let beat = Beat::from([
                    ("kind", draw(3)),
                    ("place", draw(512)),
                    ("lengths_0", draw(256)),
                    ("lengths_1", draw(256)),
                    ("lengths_2", draw(256)),
                    ("last", draw(2)),
                ]);
                expected[k].push(changed(&beat));
                bench.send(*s, beat);
            }
        }
        for (k, (_, m)) in ends.iter().enumerate() {
            bench.run_until_received(*m, 200);
            assert_eq!(bench.take(*m), expected[k], "lane {k}");
        }
        bench.step();
        let some = expected[0].iter().filter(|beat| beat.u64("kind") != 0).count();
        assert_eq!(bench.get("some_now"), some as u64);
    }
}

#[test]
fn an_enum_is_a_number_where_bits_are_wanted() {
    let mut model = testing::library("lanes", Lanes::<2>::default).instance(1);
    model.set("rst", 1);
    model.cycle();
    model.set("rst", 0);
    for (kind, kinds) in [(0, [0, 0]), (1, [2, 1]), (2, [2, 1])] {
        for k in 0..2 {
            model.set(format!("s_{k}_kind"), kind);
            model.set(format!("s_{k}_valid"), 1);
            model.set(format!("m_{k}_ready"), 1);
        }
        model.cycle();
        model.settle();
        assert_eq!([0, 1].map(|k| model.get(format!("kinds_{k}"))), kinds, "{kind}");
    }
}

#[test]
#[should_panic(expected = "Lanes: 3 lanes")]
fn a_check_says_what_is_wrong() {
    let _ = Lanes::<3>::default();
}

#[test]
fn a_record_s_first_field_is_lowest() {
    let piece = Piece::<2> {
        kind: Kind::Short,
        place: Place { row: 5.into(), bank: 1.into() },
        lengths: [3.into(), 4.into()],
        last: true,
    };
    assert_eq!(Piece::<2>::BITS, 2 + 9 + 16 + 1);
    let value = 1 | (5 | 1 << 6) << 2 | (3 | 4 << 8) << 11 | 1_u64 << 27;
    assert!(format!("{:x}", piece.verilog()).ends_with(&format!("'h{value:x}")));
}

/// Registers alone: one that holds, one that does not, one whose next value is read.
#[derive(LogicBlock, Default)]
struct Registers {
    clk: Signal<In, Clock>,
    enable: Signal<In, Bit>,
    data: Signal<In, Bits<8>>,
    held: Signal<Out, Bits<8>>,
    late: Signal<Out, Bits<8>>,
    coming: Signal<Out, Bits<8>>,
    holds: DFF<Bits<8>>,
    follows: DFF<Bits<8>>,
    peeked: DFF<Bits<8>>,
}

impl Logic for Registers {
    #[hdl_gen]
    fn update(&mut self) {
        if self.enable.val() {
            self.holds.d.next = self.data.val();
            self.peeked.d.next = self.data.val();
        }
        self.coming.next = self.peeked.d.val();
        self.follows.d.next = self.data.val();
        self.held.next = self.holds.q.val();
        self.late.next = self.follows.q.val() ^ self.peeked.q.val();
    }
}

#[test]
fn a_register_holds_unless_a_kernel_says_otherwise() {
    let text = emit("registers", Registers::default).unwrap().verilog;
    assert!(text.contains("holds$d = holds$q;"), "{text}");
    let mut model = testing::library("registers", Registers::default).instance(1);
    let (mut held, mut random) = (None, Random::new(1));
    for _ in 0..100 {
        let (enable, data) = (random.chance(0.5), random.below(256));
        model.set("enable", enable.into());
        model.set("data", data);
        model.cycle();
        if enable {
            held = Some(data);
        }
        model.settle();
        if let Some(held) = held {
            assert_eq!(model.get("held"), held);
            assert_eq!(model.get("late"), data ^ held);
            assert_eq!(model.get("coming"), if enable { data } else { held });
        }
    }
}
