//! Properties, and the methods by which they are proved.

use crate::design::{Design, DesignError};
use std::fmt::Write as _;

/// Method by which a property is proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// At any time after a reset, without a bound: property-directed reachability finds an inductive
    /// invariant.
    Unbounded,
    /// At any time after a reset, by induction over this many cycles: an SMT solver shows that the property
    /// holds in a cycle if it has held in those before, whatever state they began with.
    Induction(u32),
    /// In the first cycles after a reset.
    Bounded(u32),
}

/// Model of memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memories {
    /// Memories as they are.
    Exact,
    /// A read may give any value. A property that holds then, holds for all contents.
    Free,
}

/// A changed block for which its property must fail.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// Name of the fault.
    pub name: String,
    /// Name of the module that is changed.
    pub module: String,
    /// Text that is replaced.
    pub from: String,
    /// Text that replaces it.
    pub to: String,
}

/// A property of a block.
#[derive(Clone, Debug)]
pub struct Property {
    /// Name of the block, with its parameters if it has any.
    pub block: String,
    /// Name of the property, unique in its block.
    pub name: String,
    /// The claim as text.
    pub claim: String,
    /// Verilog of the block.
    pub design: Design,
    /// Inputs of the harness that the block does not have: name and width. They may have any value in
    /// every cycle.
    pub free: Vec<(String, usize)>,
    /// Number of bits of an output `bad` of the harness, each of which must never be 1.
    pub outputs: usize,
    /// Assumptions and assertions. Every port is a wire of its own name; `started` is 0 in the first
    /// cycle, a reset; `running` is 1 if there was no reset in the cycle before.
    pub harness: String,
    /// Method of the proof.
    pub method: Method,
    /// Model of memories.
    pub memories: Memories,
    /// Modules in the block that may do anything: their outputs are free.
    pub cuts: Vec<String>,
    /// Changes of the block for which the property fails.
    pub mutants: Vec<Mutant>,
    /// True if the proof takes so long that it is only made with `--all`.
    pub long: bool,
}

impl Property {
    /// A property of `design`, to be proved without a bound, with memories as they are.
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

    /// Sets the assumptions and assertions.
    pub fn harness(mut self, text: impl Into<String>) -> Self {
        self.harness = text.into();
        self
    }

    /// Adds an input of the harness.
    pub fn free(mut self, name: &str, width: usize) -> Self {
        self.free.push((name.to_owned(), width));
        self
    }

    /// Proves the property by induction over `cycles` cycles.
    pub fn induction(mut self, cycles: u32) -> Self {
        self.method = Method::Induction(cycles);
        self
    }

    /// Gives the harness an output `bad` of `bits` bits instead of assertions.
    pub fn outputs(mut self, bits: usize) -> Self {
        self.outputs = bits;
        self
    }

    /// Proves the property only for the first `cycles` cycles.
    pub fn bounded(mut self, cycles: u32) -> Self {
        self.method = Method::Bounded(cycles);
        self
    }

    /// Lets reads of memories give any value.
    pub fn free_memories(mut self) -> Self {
        self.memories = Memories::Free;
        self
    }

    /// Lets the modules `name` in the block do anything.
    pub fn cut(mut self, name: &str) -> Self {
        self.cuts.push(name.to_owned());
        self
    }

    /// Marks the property as proved only with `--all`.
    pub fn long(mut self) -> Self {
        self.long = true;
        self
    }

    /// Adds a mutant: a change of the block's own module.
    pub fn mutant(self, name: &str, from: &str, to: &str) -> Self {
        let module = self.design.top.clone();
        self.mutant_in(&module, name, from, to)
    }

    /// Adds a mutant: a change of a module in the block.
    pub fn mutant_in(mut self, module: &str, name: &str, from: &str, to: &str) -> Self {
        self.mutants.push(Mutant {
            name: name.to_owned(),
            module: module.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
        });
        self
    }

    /// Names of block and property.
    pub fn title(&self) -> String {
        format!("{}: {}", self.block, self.name)
    }

    /// The Verilog of the block, or of a mutant, below a module `prove`.
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
