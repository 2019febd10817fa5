//! Properties of FIFOs and slices: no beat is lost, doubled or overtaken, and none stays for ever.
//!
//! One beat is followed, whichever: when it goes in, the beats before it are counted, and it is the one
//! that leaves when so many have left. As it can be any beat, all leave in their order, once,
//! unchanged. Blocks are generic in width and depth, and look at no beat: what is shown at 4 bits and 4
//! beats is shown of the same text with other numbers.

use drdma_hdl::primitive::{Fifo, PromptFifo, RamStyle, ReadySlice, Skid, Stage};

use super::design;
use crate::{design::Design, property::Property};

/// Description of a block that holds beats, for a harness. Texts are Verilog.
pub(super) struct Holder {
    /// Number of beats that the block holds.
    pub beats: usize,
    /// Cycles after which the first beat must be at the output.
    pub latency: usize,
    /// Whether a beat may leave in the cycle in which it enters.
    pub passes: bool,
    /// Condition: a beat enters.
    pub push: &'static str,
    /// The beat that enters.
    pub input: &'static str,
    /// Condition: a beat is at the output.
    pub valid: &'static str,
    /// The beat at the output.
    pub output: &'static str,
    /// Condition: the beat at the output is taken.
    pub ready: &'static str,
    /// Number of a beat's bits that are followed.
    pub width: usize,
    /// Further assertions; `held` is the number of beats in the block.
    pub more: &'static str,
}

impl Holder {
    /// A block with the ports of the primitives.
    fn of(beats: usize, latency: usize, more: &'static str) -> Self {
        Self {
            beats,
            latency,
            passes: false,
            push: "in_valid && in_ready",
            input: "in_data",
            valid: "out_valid",
            output: "out_data",
            ready: "out_ready",
            width: 4,
            more,
        }
    }

    /// The harness; its input `follow` chooses the beat.
    pub fn harness(&self) -> String {
        let Self { beats, latency, push, input, valid, output, ready, more, .. } = self;
        // Assertion about the output of an empty block.
        let empty = match self.passes {
            false => "assert (!offered)",
            true => "assert (!offered || (push && given == taken))",
        };
        format!(
            "    wire push = {push};
    wire [{high}:0] given = {input};
    wire offered = {valid};
    wire [{high}:0] taken = {output};
    wire pop = offered && ({ready});
    reg [3:0] held = 4'd0;
    reg follows = 1'b0;
    reg [3:0] before = 4'd0;
    reg [{high}:0] value = 0;
    reg [3:0] hidden = 4'd0;
    always @(posedge clk) begin
        held <= held + push - pop;
        if (push && follow && !follows && !(pop && held == 0)) begin
            follows <= 1'b1;
            before <= held - pop;
            value <= given;
        end
        if (follows && pop) begin
            before <= before - 4'd1;
            if (before == 0) follows <= 1'b0;
        end
        hidden <= held != 0 && !offered ? hidden + 4'd1 : 4'd0;
        if (rst) begin
            held <= 4'd0;
            follows <= 1'b0;
            hidden <= 4'd0;
        end
    end
    always @* if (started) begin
        assert (held <= {beats});
        if (held == 0) {empty};
        if (offered && follows && before == 0) assert (taken == value);
        assert (hidden < {latency});
{more}    end
",
            high = self.width - 1
        )
    }
}

fn property(block: &str, design: Design, holder: &Holder) -> Property {
    let claim = format!(
        "every beat leaves once, in order and unchanged; at most {} held; a held one is offered within \
         {}; `in_ready` {}",
        match holder.beats {
            1 => "one is".to_owned(),
            beats => format!("{beats} are"),
        },
        match holder.latency {
            1 => "a cycle".to_owned(),
            latency => format!("{latency} cycles"),
        },
        match holder.beats {
            4 => "falls when it is full and only then; `count` and `free` are right",
            _ => "says whether there is room",
        }
    );
    Property::new(block, "order", &claim, design).free("follow", 1).harness(holder.harness())
}

const COUNTS: &str = "        assert (in_ready == (held != 4));
        assert (count == held && free == 4 - held);
";

fn fifo(prompt: bool, style: RamStyle) -> Property {
    let memory = if style == RamStyle::Distributed { "lookup tables" } else { "block RAM" };
    let (block, design) = match prompt {
        false => ("Fifo", design("fifo", || Fifo::<4, 2, 3>::new(style))),
        true => ("PromptFifo", design("prompt_fifo", || PromptFifo::<4, 2, 3>::new(style))),
    };
    let block = format!("primitive/{block}, 4 beats of 4 bits, {memory}");
    // A Fifo's first beat comes after 2 cycles, or 3. A prompt one's comes after 1; one that found another
    // before it comes from the memory.
    let latency = match (prompt, style) {
        (true, RamStyle::Distributed) => 1,
        (true, _) => 2,
        (false, RamStyle::Distributed) => 2,
        (false, _) => 3,
    };
    let holder = Holder::of(4, latency, COUNTS);
    property(&block, design, &holder)
        .mutant("a full one takes a beat", "in_ready <= free != 3'd1;", "in_ready <= 1'b1;")
        .mutant(
            "a beat is fetched twice",
            "if (fetch) read <= read + 2'd1;",
            "if (fetch && !store) read <= read + 2'd1;",
        )
        .mutant(
            "a beat at the output is overwritten",
            "wire out_free = !out_valid || out_ready;",
            "wire out_free = 1'b1;",
        )
        .mutant("a beat is forgotten", "empty <= stored == 3'd1;", "empty <= stored <= 3'd2;")
}

/// The properties of FIFOs and slices.
pub(super) fn all() -> Vec<Property> {
    let mut all = Vec::new();
    for style in [RamStyle::Distributed, RamStyle::Block] {
        all.extend([false, true].map(|prompt| fifo(prompt, style)));
    }
    let skid = Holder::of(2, 1, "        assert (in_ready == (held != 2));\n");
    let skid = property("primitive/Skid, 4 bits", design("skid", Skid::<4>::default), &skid)
        .mutant("the spare beat is overwritten", "if ((~spare_valid$q)) begin", "if (1'h1) begin")
        .mutant("the spare beat is doubled", "spare_valid$d = 1'h0;\n            if", "if")
        .mutant("a beat is taken before the output is", "(out_ready || (~valid$q))", "1'h1");
    all.push(skid);
    let slice =
        Holder { passes: true, ..Holder::of(1, 1, "        assert (in_ready == (held == 0));\n") };
    let block = "primitive/ReadySlice, 4 bits";
    let slice = property(block, design("ready_slice", ReadySlice::<4>::default), &slice)
        .mutant("a held beat is lost", "held$d = ((~out_ready) && ", "held$d = ((~held$q) && ")
        .mutant("a held beat is overwritten", "data$d = data$q;", "data$d = in_data;");
    all.push(slice);
    let more = "        assert (in_ready == (held == 0 || out_ready));\n";
    let stage = Holder::of(1, 1, more);
    let stage = property("primitive/Stage, 4 bits", design("stage", Stage::<4>::default), &stage)
        .mutant("a beat that waits is overwritten", "((~valid$q) || out_ready)", "1'h1");
    all.push(stage);
    all
}
