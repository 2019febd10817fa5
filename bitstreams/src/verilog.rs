//! As much Verilog as it takes to compare modules: the head of a module with its ports in ANSI style,
//! and the names that an instance connects.

use std::collections::{BTreeMap, BTreeSet};

/// A port: `input`, `output` or `inout`, and its width as an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// `input`, `output` or `inout`.
    pub direction: String,
    /// `1` or an expression without blanks.
    pub width: String,
}

/// The head of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Default of each parameter, without blanks.
    pub parameters: BTreeMap<String, String>,
    /// Its ports.
    pub ports: BTreeMap<String, Port>,
}

/// The names that an instance connects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instance {
    /// Parameters.
    pub parameters: BTreeSet<String>,
    /// Ports.
    pub ports: BTreeSet<String>,
}

/// The head of `module` in a source text, if it is there.
pub fn head(text: &str, module: &str) -> Option<Head> {
    let text = without_comments(text);
    let (parameters, ports) = lists(&text, &format!("module {module}"))?;
    let mut head = Head::default();
    for item in parameters {
        let (name, value) = item.split_once('=')?;
        head.parameters.insert(last_word(name)?.to_owned(), squeezed(value));
    }
    let (mut direction, mut width) = (String::new(), String::new());
    for item in ports {
        let before = item.split(['[', ' ']).next()?.to_owned();
        if ["input", "output", "inout"].contains(&before.as_str()) {
            direction = before;
            width = item.split_once('[').map_or("1".to_owned(), |(_, rest)| bits(rest));
        }
        let port = Port { direction: direction.clone(), width: width.clone() };
        head.ports.insert(last_word(&item)?.to_owned(), port);
    }
    Some(head)
}

/// What the first instance of `module` in a source text connects, if there is one.
pub fn instance(text: &str, module: &str) -> Option<Instance> {
    let text = without_comments(text);
    let (parameters, ports) = lists(&text, module)?;
    let name = |item: &String| {
        let name = item.strip_prefix('.')?.split('(').next()?;
        Some(name.trim().to_owned())
    };
    Some(Instance {
        parameters: parameters.iter().filter_map(name).collect(),
        ports: ports.iter().filter_map(name).collect(),
    })
}

/// The items of the two lists in parentheses behind `start`, of which the first follows a `#`.
fn lists(text: &str, start: &str) -> Option<(Vec<String>, Vec<String>)> {
    let at = text
        .match_indices(start)
        .map(|(at, _)| at + start.len())
        .find(|at| text[*at..].trim_start().starts_with('#'))?;
    let (parameters, rest) = list(text[at..].split_once('(')?.1)?;
    let (ports, _) = list(rest.split_once('(')?.1)?;
    Some((parameters, ports))
}

/// The items up to the closing parenthesis, blanks made single, and what is behind it.
fn list(text: &str) -> Option<(Vec<String>, &str)> {
    let (mut depth, mut items, mut item) = (0, Vec::new(), String::new());
    for (at, character) in text.char_indices() {
        match character {
            ')' if depth == 0 => {
                items.push(item);
                let words = |item: &String| item.split_whitespace().collect::<Vec<_>>().join(" ");
                let items = items.iter().map(words).filter(|item| !item.is_empty()).collect();
                return Some((items, &text[at + 1..]));
            }
            ',' if depth == 0 => items.push(std::mem::take(&mut item)),
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if !(character == ',' && depth == 0) {
            item.push(character);
        }
    }
    None
}

fn last_word(text: &str) -> Option<&str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).rfind(|w| !w.is_empty())
}

fn squeezed(text: &str) -> String {
    text.chars().filter(|character| !character.is_whitespace()).collect()
}

/// The width of a range `W-1:0` or `7:0`, from behind its bracket.
fn bits(text: &str) -> String {
    let range = squeezed(text.split(']').next().unwrap_or(text));
    let high = range.strip_suffix(":0").unwrap_or(&range);
    match (high.strip_suffix("-1"), high.parse::<u32>()) {
        (Some(width), _) => width.to_owned(),
        (None, Ok(high)) => (high + 1).to_string(),
        (None, Err(_)) => format!("{high}+1"),
    }
}

fn without_comments(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("/") {
        clean.push_str(&rest[..at]);
        let (end, skip) = match &rest[at..] {
            line if line.starts_with("//") => ("\n", 0),
            block if block.starts_with("/*") => ("*/", 2),
            _ => {
                clean.push('/');
                rest = &rest[at + 1..];
                continue;
            }
        };
        rest = rest[at + 2..].find(end).map_or("", |length| &rest[at + 2 + length + skip..]);
        clean.push(' ');
    }
    clean + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
        // module block #( of another kind
        module block #
        (   /* structure, (sizes) */
            parameter COUNT = 1, parameter WIDTH = 8*COUNT, // bits
            parameter KEEP = (WIDTH/8)
        )
        (
            input  wire                clk,
            input  wire [WIDTH-1 : 0]  data, more,
            output wire [COUNT*KEEP-1:0] keep,
            output reg  [3:0] id, inout wire pin
        );
        endmodule
        other other_inst (.clk(x));
        block #( .COUNT(3), .WIDTH(f(1, 2)) ) block_inst (
            .clk(clk), .data({a, b}), .id() );";

    #[test]
    fn a_head_has_parameters_and_ports() {
        let head = head(TEXT, "block").unwrap();
        let parameters: Vec<_> =
            head.parameters.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        assert_eq!(parameters, [("COUNT", "1"), ("KEEP", "(WIDTH/8)"), ("WIDTH", "8*COUNT")]);
        let ports: Vec<_> = head
            .ports
            .iter()
            .map(|(n, p)| (n.as_str(), p.direction.as_str(), p.width.as_str()))
            .collect();
        assert_eq!(
            ports,
            [
                ("clk", "input", "1"),
                ("data", "input", "WIDTH"),
                ("id", "output", "4"),
                ("keep", "output", "COUNT*KEEP"),
                ("more", "input", "WIDTH"),
                ("pin", "inout", "1"),
            ]
        );
    }

    #[test]
    fn an_instance_has_names() {
        let text = TEXT.split_once("endmodule").unwrap().1;
        let instance = instance(text, "block").unwrap();
        assert_eq!(instance.parameters.into_iter().collect::<Vec<_>>(), ["COUNT", "WIDTH"]);
        assert_eq!(instance.ports.into_iter().collect::<Vec<_>>(), ["clk", "data", "id"]);
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        assert_eq!(head(TEXT, "nothing"), None);
        assert_eq!(head("module block #(parameter A = 1", "block"), None);
        assert_eq!(instance("", "block"), None);
    }
}
