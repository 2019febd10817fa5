//! Origins of the lines of the Verilog.

use drdma_emit::emit;
use drdma_emit::prelude::*;

/// The line of the first assignment of the kernel below.
const FIRST: u32 = line!() + 38;

/// A memory of one word, in text.
#[derive(LogicBlock, Default)]
struct Leaf {
    clk: Signal<In, Clock>,
    d: Signal<In, Bits<8>>,
    q: Signal<Out, Bits<8>>,
}

impl Logic for Leaf {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.q.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom("    always @(posedge clk) q[7:0] <= d;".to_owned())
    }
}

/// Two registers that change on a condition, and one output that always follows.
#[derive(LogicBlock, Default)]
struct Conditional {
    clk: Signal<In, Clock>,
    flag: Signal<In, Bit>,
    x: Signal<In, Bits<8>>,
    y: Signal<Out, Bits<8>>,
    held: [DFF<Bits<8>>; 2],
    leaf: Leaf,
}

impl Logic for Conditional {
    #[hdl_gen]
    fn update(&mut self) {
        if self.flag.val() {
            for k in 0..2 {
                self.held[k].d.next = self.x.val();
            }
        } else {
            self.held[0].d.next = self.held[1].q.val();
        }
        self.leaf.d.next = self.held[0].q.val();
        self.y.next = self.leaf.q.val();
    }
}

#[test]
fn every_line_of_a_process_tells_the_statement_that_it_was_printed_from() {
    let emitted = emit("conditional", Conditional::default).unwrap();
    assert_eq!(emitted.verilog.lines().count(), emitted.origins.len());
    let told = |text: &str| {
        let lines = emitted.verilog.lines().zip(&emitted.origins);
        let found: Vec<_> = lines.filter(|(line, _)| line.trim() == text).collect();
        let [(_, origin)] = found[..] else { panic!("{found:?} in {}", emitted.verilog) };
        (origin.block.clone(), origin.statement.clone())
    };
    let kernel = |line: u32| ("emit/tests/origins.rs".to_owned(), line.to_string());
    // The loop is unrolled: two lines of one statement.
    assert_eq!(told("held$0$d = x;"), kernel(FIRST));
    assert_eq!(told("held$1$d = x;"), kernel(FIRST));
    assert_eq!(told("held$0$d = held$1$q;"), kernel(FIRST + 3));
    // A statement that always runs, or holds a register, has no origin.
    let none = ("emit/tests/origins.rs".to_owned(), String::new());
    assert_eq!(told("assign y = leaf$q;"), none);
    assert_eq!(told("held$1$d = held$1$q;"), none);
    let text = "(clk d q) always @(posedge clk) q[#:#] <= d;".to_owned();
    assert_eq!(told("always @(posedge clk) q[7:0] <= d;"), ("hdl/src/primitive".to_owned(), text));
}
