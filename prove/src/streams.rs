//! The rule of streams, for every stream that a block gives.
//!
//! Once valid is high it stays, and the payload with it, until the beat is taken; a reset may end that.
//! Which streams a block has is read off its ports: `s_valid` and `s_ready` (or `s_tvalid` and
//! `s_tready`), and as payload all other ports `s_*` that go the way of valid. A bundle of ports, `s`,
//! is printed as `s$valid`, `s$ready` and `s$*` in a block that stands in another one. The block's
//! input streams are assumed to keep the rule as well; what else comes in may be anything.

use std::fmt::Write as _;

use crate::{
    design::{Design, Port},
    property::Property,
};

/// A stream of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Prefix of its ports' names.
    pub name: String,
    /// Name of the port that offers a beat.
    pub valid: String,
    /// Name of the port that takes a beat.
    pub ready: String,
    /// True for an input stream of the block.
    pub input: bool,
    /// Ports of the payload.
    pub payload: Vec<Port>,
}

/// The streams of a design.
pub fn of(design: &Design) -> Vec<Stream> {
    let ports = &design.ports;
    let mut streams: Vec<_> = ports.iter().filter_map(|port| stream(ports, port)).collect();
    let names: Vec<_> = streams.iter().map(|s| s.name.clone()).collect();
    for stream in &mut streams {
        let payload = ports.iter().filter(|port| {
            let owner = names
                .iter()
                .filter(|name| {
                    let rest = port.name.strip_prefix(name.as_str());
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', '$']))
                })
                .max_by_key(|name| name.len());
            let handshake = port.name == stream.valid || port.name == stream.ready;
            owner == Some(&stream.name) && !handshake && port.input == stream.input
        });
        stream.payload = payload.cloned().collect();
    }
    streams
}

/// The stream whose valid is `port`.
fn stream(ports: &[Port], port: &Port) -> Option<Stream> {
    let (name, ready) = [
        ("_tvalid", "_tready"),
        ("_valid", "_ready"),
        ("$tvalid", "$tready"),
        ("$valid", "$ready"),
    ]
    .into_iter()
    .find_map(|(v, r)| port.name.strip_suffix(v).map(|name| (name, format!("{name}{r}"))))?;
    ports.iter().any(|p| p.name == ready && p.input != port.input).then(|| Stream {
        name: name.to_owned(),
        valid: port.name.clone(),
        ready,
        input: port.input,
        payload: Vec::new(),
    })
}

impl Stream {
    /// The payload as one value, and its width.
    fn value(&self) -> (String, usize) {
        match self.payload.is_empty() {
            true => ("1'b0".to_owned(), 1),
            false => {
                let names: Vec<_> = self.payload.iter().map(|p| p.name.as_str()).collect();
                let width = self.payload.iter().map(|p| p.width).sum();
                (format!("{{{}}}", names.join(", ")), width)
            }
        }
    }

    /// Verilog that assumes or asserts (`verb`) the rule.
    pub fn rule(&self, verb: &str) -> String {
        let (value, width) = self.value();
        let Self { name, valid, ready, .. } = self;
        format!(
            "    // Stream {name}.
    reg {name}_waits = 1'b0;
    reg [{}:0] {name}_held;
    always @(posedge clk) begin
        {name}_waits <= {valid} && !{ready} && !rst;
        {name}_held <= {value};
    end
    always @* if ({name}_waits) {verb} ({valid} && {name}_held == {value});
",
            width - 1
        )
    }
}

/// Question about a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Whether the block keeps the rule.
    Rule,
    /// Whether a mutant that withdraws valid every other cycle keeps the rule; it must not.
    Withdrawn,
    /// Whether a mutant that flips a bit of the payload every other cycle keeps the rule; it must not.
    Turned,
}

impl Question {
    /// All questions, in the order of a model's outputs.
    pub const ALL: [Self; 3] = [Self::Rule, Self::Withdrawn, Self::Turned];
}

/// The rule for all output streams of a block: one model, in which each stream has an output of `bad`
/// for each [`Question`].
#[derive(Clone, Debug)]
pub struct Rules {
    /// Name of the block.
    pub block: String,
    /// Output streams of the block.
    pub streams: Vec<Stream>,
    /// Model of the rules, as a [`Property`] without assertions.
    pub model: Property,
    /// True if the rules are only proved with `--all`.
    pub long: bool,
}

impl Rules {
    /// The rules of a block whose input streams keep the rule; `assumed` is Verilog with further assumptions.
    pub fn new(block: &str, design: &Design, assumed: &str) -> Self {
        let streams = of(design);
        let inputs = streams.iter().filter(|s| s.input).map(|s| s.rule("assume"));
        let mut harness = inputs.collect::<String>() + assumed;
        harness += "    reg turn = 1'b0;\n    always @(posedge clk) turn <= !turn;\n";
        let streams: Vec<_> = streams.into_iter().filter(|s| !s.input).collect();
        for (k, stream) in streams.iter().enumerate() {
            harness += &stream.questions(3 * k);
        }
        let model = Property::new(block, "streams", "", design.clone())
            .harness(harness)
            .outputs(3 * streams.len())
            .free_memories();
        Self { block: block.to_owned(), streams, model, long: false }
    }

    /// Marks the rules as proved only with `--all`.
    pub fn long(mut self) -> Self {
        self.long = true;
        self
    }

    /// A stream and a question about it, as text.
    pub fn title(&self, stream: usize, question: Question) -> String {
        let title = format!("{}: stream {}", self.block, self.streams[stream].name);
        match question {
            Question::Rule => title,
            Question::Withdrawn => format!("{title}, mutant `valid is withdrawn`"),
            Question::Turned => format!("{title}, mutant `a payload bit turns`"),
        }
    }

    /// The questions about a stream: one without payload has no bit to flip.
    pub fn questions(&self, stream: usize) -> impl Iterator<Item = Question> {
        let payload = !self.streams[stream].payload.is_empty();
        Question::ALL.into_iter().filter(move |q| payload || *q != Question::Turned)
    }

    /// The rule of one stream as a property of its own, for a trace of how it is broken.
    pub fn alone(&self, stream: usize) -> Property {
        let mut property = self.model.clone();
        let stream = &self.streams[stream];
        property.name = format!("stream {}", stream.name);
        property.outputs = 0;
        property.harness += &format!(
            "    always @* if ({0}_waits) assert ({1} && {0}_held == {2});\n",
            stream.name,
            stream.valid,
            stream.value().0
        );
        property.harness = property.harness.lines().filter(|line| !line.contains(" bad[")).fold(
            String::new(),
            |mut text, line| {
                let _ = writeln!(text, "{line}");
                text
            },
        );
        property
    }
}

impl Stream {
    /// Verilog for bits `first` to `first + 2` of `bad`.
    fn questions(&self, first: usize) -> String {
        let (value, width) = self.value();
        let Self { name, valid, ready, .. } = self;
        let (second, third) = (first + 1, first + 2);
        format!(
            "    // Stream {name}.
    reg {name}_waits = 1'b0;
    reg {name}_withdrawn_waits = 1'b0;
    reg [{high}:0] {name}_held;
    reg [{high}:0] {name}_turned_held;
    wire [{high}:0] {name}_turned = {value} ^ turn;
    always @(posedge clk) begin
        {name}_waits <= {valid} && !{ready} && !rst;
        {name}_withdrawn_waits <= {valid} && turn && !{ready} && !rst;
        {name}_held <= {value};
        {name}_turned_held <= {name}_turned;
    end
    assign bad[{first}] = {name}_waits && !({valid} && {name}_held == {value});
    assign bad[{second}] = {name}_withdrawn_waits && !({valid} && turn);
    assign bad[{third}] = {name}_waits && {valid} && {name}_turned_held != {name}_turned;
",
            high = width - 1
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "module t(\n    input wire clk,\n    input wire rst,\n    input wire s_valid,
    output wire s_ready,\n    input wire [3:0] s_data,\n    output reg m_valid,\n    input wire m_ready,
    output reg [3:0] m_data,\n    output wire m_more_valid,\n    input wire m_more_ready,
    output wire m_more_data,\n    input wire m_credit,\n    output wire r$valid,
    input wire r$ready,\n    output wire [3:0] r$data\n);\n    always @(*) m_valid = s_valid;
    always @(*) m_data = s_data;\nendmodule\n";

    #[test]
    fn streams_are_read_off_the_ports() {
        let streams = of(&Design::new("t", TEXT).expect("a design"));
        let found: Vec<_> = streams
            .iter()
            .map(|s| {
                let payload: Vec<_> = s.payload.iter().map(|p| p.name.as_str()).collect();
                (s.name.as_str(), s.input, payload)
            })
            .collect();
        let expected = [
            ("s", true, vec!["s_data"]),
            ("m", false, vec!["m_data"]),
            ("m_more", false, vec!["m_more_data"]),
            ("r", false, vec!["r$data"]),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn every_stream_has_its_questions() {
        let design = Design::new("t", TEXT).expect("a design");
        let rules = Rules::new("t", &design, "");
        let names: Vec<_> = rules.streams.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["m", "m_more", "r"]);
        assert_eq!(rules.questions(0).collect::<Vec<_>>(), Question::ALL);
        assert_eq!(rules.model.outputs, 9);
        let title = rules.title(1, Question::Withdrawn);
        assert_eq!(title, "t: stream m_more, mutant `valid is withdrawn`");
        let alone = rules.alone(0).harness;
        assert!(
            alone.contains("assert (m_valid && m_held == {m_data})") && !alone.contains("bad[")
        );
    }
}
