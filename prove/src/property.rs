//! What is proved, and how.

use crate::design::{Design, DesignError};
use std::fmt::Write as _;

/// How a property is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// At any time after a reset, without a bound: property-directed reachability finds an inductive
    /// invariant.
    Unbounded,
    /// At any time after a reset, by induction over so many cycles: an SMT solver shows that the property
    /// holds in a cycle if it has held in those before, whatever state they began with.
    Induction(u32),
    /// In the first cycles after a reset.
    Bounded(u32),
}

/// What becomes of memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memories {
    /// They are what they are.
    Exact,
    /// A read may bring anything. What holds then, holds for every content.
    Free,
}

/// A change of the block that its property must not survive.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// What is wrong with it.
    pub name: String,
    /// The module that is changed.
    pub module: String,
    /// What is replaced,
    pub from: String,
    /// and by what.
    pub to: String,
}

/// A property of a block.
#[derive(Clone, Debug)]
pub struct Property {
    /// The block, and its parameters if it has some.
    pub block: String,
    /// A name, unique in its block.
    pub name: String,
    /// What is said.
    pub claim: String,
    /// The block.
    pub design: Design,
    /// Inputs of the harness that the block does not have: name and width. They may be anything in
    /// every cycle.
    pub free: Vec<(String, usize)>,
    /// Bits of an output `bad` of the harness, which say each of something that it must not be.
    pub outputs: usize,
    /// What is assumed and asserted. Every port is a wire of its own name; `started` is 0 in the first
    /// cycle, a reset; `running` is 1 if there was no reset in the cycle before.
    pub harness: String,
    /// How.
    pub method: Method,
    /// Of memories.
    pub memories: Memories,
    /// Modules in the block that may do anything: their outputs are free.
    pub cuts: Vec<String>,
    /// Changes that break it.
    pub mutants: Vec<Mutant>,
    /// Takes so long that it is only shown with `--all`.
    pub long: bool,
}

impl Property {
    /// A property of `design`, without a bound, with memories as they are.
    pub fn new(block: &str, name: &str, claim: &str, design: Design) -> Self {
        Self {
            block: block.to_owned(),
            name: name.to_owned(),
            claim: claim.to_owned(),
            design,
            free: Vec::new(),
            outputs: 0,
            harness: String::new(),
            method: Method::Unbounded,
            memories: Memories::Exact,
            cuts: Vec::new(),
            mutants: Vec::new(),
            long: false,
        }
    }

    /// What is assumed and asserted.
    pub fn harness(mut self, text: impl Into<String>) -> Self {
        self.harness = text.into();
        self
    }

    /// An input of the harness.
    pub fn free(mut self, name: &str, width: usize) -> Self {
        self.free.push((name.to_owned(), width));
        self
    }

    /// By induction over `cycles` cycles.
    pub fn induction(mut self, cycles: u32) -> Self {
        self.method = Method::Induction(cycles);
        self
    }

    /// An output `bad` of the harness instead of assertions.
    pub fn outputs(mut self, bits: usize) -> Self {
        self.outputs = bits;
        self
    }

    /// In the first `cycles` cycles only.
    pub fn bounded(mut self, cycles: u32) -> Self {
        self.method = Method::Bounded(cycles);
        self
    }

    /// Whatever memories bring.
    pub fn free_memories(mut self) -> Self {
        self.memories = Memories::Free;
        self
    }

    /// Whatever the modules `name` in the block do.
    pub fn cut(mut self, name: &str) -> Self {
        self.cuts.push(name.to_owned());
        self
    }

    /// Only with `--all`.
    pub fn long(mut self) -> Self {
        self.long = true;
        self
    }

    /// A change of the block's own module.
    pub fn mutant(self, name: &str, from: &str, to: &str) -> Self {
        let module = self.design.top.clone();
        self.mutant_in(&module, name, from, to)
    }

    /// A change of a module that stands in the block.
    pub fn mutant_in(mut self, module: &str, name: &str, from: &str, to: &str) -> Self {
        self.mutants.push(Mutant {
            name: name.to_owned(),
            module: module.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
        });
        self
    }

    /// Block and name.
    pub fn title(&self) -> String {
        format!("{}: {}", self.block, self.name)
    }

    /// The block's Verilog, or a mutant's, below a module `prove`.
    ///
    /// # Errors
    /// The mutant's change does not fit the block.
    pub fn verilog(&self, mutant: Option<&Mutant>) -> Result<String, DesignError> {
        let design = match mutant {
            Some(m) => &self.design.with(&m.module, &m.from, &m.to)?,
            None => &self.design,
        };
        let mut text = design.verilog.clone();
        let inputs = design.ports.iter().filter(|p| p.input).map(ToString::to_string);
        let free = self.free.iter().map(|(name, width)| format!("[{}:0] {name}", width - 1));
        let mut ports: Vec<_> = inputs.chain(free).map(|i| format!("    input wire {i}")).collect();
        for needed in ["clk", "rst"] {
            if design.width(needed).is_none() {
                ports.push(format!("    input wire [0:0] {needed}"));
            }
        }
        if self.outputs > 0 {
            ports.push(format!("    output wire [{}:0] bad", self.outputs - 1));
        }
        let _ = writeln!(text, "`default_nettype none\nmodule prove(\n{}\n);", ports.join(",\n"));
        for port in design.ports.iter().filter(|p| !p.input) {
            let _ = writeln!(text, "    wire {port};");
        }
        let named = design.ports.iter().map(|p| format!(".{0}({0})", p.name));
        let _ = writeln!(
            text,
            "    {} dut (\n        {}\n    );
    reg started = 1'b0;
    reg running = 1'b0;
    always @(posedge clk) begin
        started <= 1'b1;
        running <= !rst;
    end
    always @* if (!started) assume (rst);
{}
endmodule",
            design.top,
            named.collect::<Vec<_>>().join(",\n        "),
            self.harness
        );
        Ok(text)
    }
}
