//! The rule of streams, for every stream that a block gives.
//!
//! Once valid is high it stays, and the payload with it, until the beat is taken; a reset may end that.
//! Which streams a block has is read off its ports: `s_valid` and `s_ready` (or `s_tvalid` and
//! `s_tready`), and as payload all other ports `s_*` that go the way of valid. The block's input
//! streams are assumed to keep the rule as well; what else comes in may be anything.

use std::fmt::Write as _;

use crate::{
    design::{Design, Port},
    property::Property,
};

/// A stream of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// What its ports' names begin with.
    pub name: String,
    /// The port that offers a beat.
    pub valid: String,
    /// The port that takes it.
    pub ready: String,
    /// It comes into the block.
    pub input: bool,
    /// The ports of its payload.
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
                .filter(|name| port.name.starts_with(&format!("{name}_")) || port.name == **name)
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
    let (name, ready) = [("_tvalid", "_tready"), ("_valid", "_ready")]
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

/// A change of the block's top module by which `stream` breaks the rule: valid is withdrawn, or a bit
/// of the payload turns, in every other cycle.
fn mutants(property: Property, stream: &Stream) -> Property {
    let design = property.design.clone();
    let toggle = "    reg mutant = 1'b0;\n    always @(posedge clk) mutant <= !mutant;\n";
    let spoil = |property: Property, name: &str, port: &Port, operator: &str| {
        // The port gets another name inside, and the changed one in its place.
        let text = design.module(&design.top).unwrap_or_default();
        let Some((header, body)) = text.split_once("\n);\n") else { return property };
        let inner = format!("{}$before", port.name);
        let range = match port.width {
            1 => String::new(),
            width => format!("[{}:0] ", width - 1),
        };
        let is_reg = header.contains(&format!("output reg {range}{}", port.name));
        let kind = if is_reg { "reg" } else { "wire" };
        let new_header = header.replace(
            &format!("output reg {range}{}", port.name),
            &format!("output wire {range}{}", port.name),
        );
        let body = renamed(body, &port.name, &inner);
        let changed = format!(
            "{new_header}\n);\n    {kind} {range}{inner};\n{toggle}    assign {} = {inner} {operator} mutant;\n{body}",
            port.name
        );
        property.mutant(name, text, &changed)
    };
    let valid = Port { name: stream.valid.clone(), input: false, width: 1 };
    let mut property = spoil(property, "valid is withdrawn", &valid, "&");
    if let Some(port) = stream.payload.first() {
        property = spoil(property, "a payload bit turns", port, "^");
    }
    property
}

/// `text` with every identifier `from` as `to`, but for the names of ports of instances.
fn renamed(text: &str, from: &str, to: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    let word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    while let Some(at) = rest.find(from) {
        let before = rest[..at].chars().next_back();
        let after = rest[at + from.len()..].chars().next();
        let whole = !before.is_some_and(|c| word(c) || c == '.') && !after.is_some_and(word);
        let _ = write!(result, "{}{}", &rest[..at], if whole { to } else { from });
        rest = &rest[at + from.len()..];
    }
    result + rest
}

/// The rule for output stream `name` of a block.
///
/// # Panics
/// The block has no such output stream.
pub fn property(block: &str, design: &Design, name: &str) -> Property {
    let streams = of(design);
    let stream = streams.iter().find(|s| s.name == name && !s.input);
    let stream = stream.unwrap_or_else(|| panic!("{block} gives no stream {name}"));
    let rules = streams.iter().filter(|s| s.input).map(|s| s.rule("assume"));
    let harness = rules.collect::<String>() + &stream.rule("assert");
    let claim = format!("`{name}` holds valid and payload until it is taken");
    let property = Property::new(block, &format!("stream {name}"), &claim, design.clone());
    mutants(property.harness(harness).free_memories(), stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "module t(\n    input wire clk,\n    input wire rst,\n    input wire s_valid,
    output wire s_ready,\n    input wire [3:0] s_data,\n    output reg m_valid,\n    input wire m_ready,
    output reg [3:0] m_data,\n    output wire m_more_valid,\n    input wire m_more_ready,
    output wire m_more_data,\n    input wire m_credit\n);\n    always @(*) m_valid = s_valid;
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
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_stream_has_a_mutant_for_valid_and_one_for_its_payload() {
        let design = Design::new("t", TEXT).expect("a design");
        let property = property("t", &design, "m");
        let names: Vec<_> = property.mutants.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["valid is withdrawn", "a payload bit turns"]);
        let text = property.verilog(Some(&property.mutants[0])).expect("it fits");
        assert!(text.contains("output wire m_valid"));
        assert!(text.contains("always @(*) m_valid$before = s_valid;"));
    }

    #[test]
    fn only_whole_names_are_renamed() {
        assert_eq!(renamed("a ba .a(a) a_b a$q (a)", "a", "x"), "x ba .a(x) a_b a$q (x)");
    }
}
