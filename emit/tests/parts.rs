//! Kernels that are written in parts.

use drdma_emit::emit;
use drdma_emit::prelude::*;

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    Take,
    Give,
}

/// A kernel in one piece.
#[derive(LogicBlock, Default)]
struct Whole {
    clk: Signal<In, Clock>,
    x: Signal<In, Bits<8>>,
    y: Signal<Out, Bits<8>>,
    step: DFF<Step>,
    held: [DFF<Bits<8>>; 2],
    sum: Signal<Local, Bits<8>>,
}

impl Logic for Whole {
    #[hdl_gen]
    fn update(&mut self) {
        self.sum.next = self.held[0].q.val() + self.held[1].q.val();
        match self.step.q.val() {
            Step::Take => {
                self.held[0].d.next = self.x.val();
                self.held[1].d.next = self.held[0].q.val();
                self.step.d.next = Step::Give;
            }
            Step::Give => {
                if self.sum.val().any() {
                    self.step.d.next = Step::Take;
                }
            }
        }
        self.y.next = self.sum.val();
    }
}

/// The same kernel in parts: one among the kernel's statements, two in arms; one has a number, one another part.
#[derive(LogicBlock, Default)]
struct Parts {
    clk: Signal<In, Clock>,
    x: Signal<In, Bits<8>>,
    y: Signal<Out, Bits<8>>,
    step: DFF<Step>,
    held: [DFF<Bits<8>>; 2],
    sum: Signal<Local, Bits<8>>,
}

impl Logic for Parts {
    #[hdl_gen]
    fn update(&mut self) {
        self.add();
        match self.step.q.val() {
            Step::Take => {
                self.held[0].d.next = self.x.val();
                self.shift(1);
                self.step.d.next = Step::Give;
            }
            Step::Give => self.give(),
        }
        self.y.next = self.sum.val();
    }
}

/// The line of the statement of `add` below.
const ADD: u32 = line!() + 5;

impl Parts {
    #[hdl_gen]
    fn add(&mut self) {
        self.sum.next = self.held[0].q.val() + self.held[1].q.val();
    }

    #[hdl_gen]
    fn shift(&mut self, k: usize) {
        self.held[k].d.next = self.held[k - 1].q.val();
    }

    #[hdl_gen]
    fn give(&mut self) {
        if self.sum.val().any() {
            self.again();
        }
    }

    #[hdl_gen]
    fn again(&mut self) {
        self.step.d.next = Step::Take;
    }
}

/// A kernel whose enum stands in a part alone, and in no port.
#[derive(LogicBlock, Default)]
struct Named {
    x: Signal<In, Bits<1>>,
    y: Signal<Out, Bits<1>>,
}

impl Logic for Named {
    #[hdl_gen]
    fn update(&mut self) {
        self.y.next = 0.into();
        if self.x.val().any() {
            self.name();
        }
    }
}

impl Named {
    #[hdl_gen]
    fn name(&mut self) {
        self.y.next = Step::Give.into();
    }
}

#[test]
fn a_kernel_in_parts_is_the_same_as_in_one_piece() {
    let whole = emit("block", Whole::default).unwrap();
    let parts = emit("block", Parts::default).unwrap();
    assert_eq!(parts.verilog, whole.verilog);
}

#[test]
fn a_statement_of_a_part_has_the_parts_line_and_one_behind_it_that_of_the_kernel() {
    let parts = emit("block", Parts::default).unwrap();
    let line = |text: &str| {
        let lines = parts.verilog.lines().zip(&parts.origins);
        let found: Vec<_> = lines.filter(|(line, _)| line.trim() == text).collect();
        let [(_, origin)] = found[..] else { panic!("{found:?} in {}", parts.verilog) };
        assert_eq!(origin.block, "emit/tests/parts.rs");
        origin.statement.parse::<u32>().unwrap()
    };
    assert_eq!(line("held$1$d = held$0$q;"), ADD + 5);
    let (take, give) = (line("held$0$d = x;"), line("step$d = Step$Give;"));
    assert_eq!(give, take + 2);
}

#[test]
fn an_enum_that_a_part_alone_names_is_known() {
    let named = emit("named", Named::default).unwrap();
    assert!(named.verilog.contains("Step$Give = 1'd1"), "{}", named.verilog);
}
