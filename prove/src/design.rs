//! A block's Verilog and its ports.

use std::fmt;

/// A port of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Name of the port.
    pub name: String,
    /// True if it is driven from outside.
    pub input: bool,
    /// Width in bits.
    pub width: usize,
}

/// A module, with all modules in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Design {
    /// Name of the module.
    pub top: String,
    /// Verilog of the module and of those in it.
    pub verilog: String,
    /// Ports of the module.
    pub ports: Vec<Port>,
}

/// Why a design cannot be made or changed.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum DesignError {
    /// The module does not exist.
    #[error("there is no module `{0}`")]
    Module(String),
    /// A port's declaration is of another form than the printer's.
    #[error("module `{module}`: cannot read the port `{line}`")]
    Port {
        /// Name of the module.
        module: String,
        /// Line with the declaration.
        line: String,
    },
    /// The text that a mutant replaces is not in its module exactly once.
    #[error("module `{module}` has `{text}` {times} times, not once")]
    Replace {
        /// Name of the module.
        module: String,
        /// Text that was looked for.
        text: String,
        /// Number of times that it was found.
        times: usize,
    },
}

impl Design {
    /// Takes module `top` out of a text.
    ///
    /// # Errors
    /// There is no such module, or its ports cannot be read.
    pub fn new(top: &str, verilog: &str) -> Result<Self, DesignError> {
        let (_, text) = modules(verilog)
            .find(|(name, _)| *name == top)
            .ok_or_else(|| DesignError::Module(top.to_owned()))?;
        let ports = ports(top, text)?;
        Ok(Self { top: top.to_owned(), verilog: reachable(top, verilog), ports })
    }

    /// The design with `from`, which is in module `module` once, replaced by `to`.
    ///
    /// # Errors
    /// There is no such module, or `from` is not in it exactly once.
    pub fn with(&self, module: &str, from: &str, to: &str) -> Result<Self, DesignError> {
        let (_, text) = modules(&self.verilog)
            .find(|(name, _)| *name == module)
            .ok_or_else(|| DesignError::Module(module.to_owned()))?;
        let times = text.matches(from).count();
        if times != 1 {
            let (module, text) = (module.to_owned(), from.to_owned());
            return Err(DesignError::Replace { module, text, times });
        }
        let changed = text.replacen(from, to, 1);
        Self::new(&self.top, &self.verilog.replacen(text, &changed, 1))
    }

    /// The design with a further output `name` of `width` bits, which shows `signal`.
    ///
    /// # Errors
    /// The module's text is of another form than the printer's.
    pub fn with_tap(&self, name: &str, width: usize, signal: &str) -> Result<Self, DesignError> {
        let end = "\n);\n";
        let (_, text) = modules(&self.verilog)
            .find(|(module, _)| *module == self.top)
            .ok_or_else(|| DesignError::Module(self.top.clone()))?;
        let range = format!("[{}:0]", width - 1);
        let changed = text.replacen(end, &format!(",\n    output wire {range} {name}{end}"), 1);
        let changed = changed.replacen(
            "\nendmodule",
            &format!("\n    assign {name} = {signal};\nendmodule"),
            1,
        );
        Self::new(&self.top, &self.verilog.replacen(text, &changed, 1))
    }

    /// The modules that are memories and nothing else.
    pub fn memories(&self) -> Vec<String> {
        let memory = |text: &str| {
            ["write_address", "write_data"].iter().all(|port| text.contains(&format!(" {port}")))
                && text.contains("read_data")
                && !text.contains(".clk(")
        };
        modules(&self.verilog)
            .filter(|(name, text)| *name != self.top && memory(text))
            .map(|(name, _)| name.to_owned())
            .collect()
    }

    /// The text of module `name`.
    pub fn module(&self, name: &str) -> Option<&str> {
        modules(&self.verilog).find(|(module, _)| *module == name).map(|(_, text)| text)
    }

    /// A port's width.
    pub fn width(&self, port: &str) -> Option<usize> {
        self.ports.iter().find(|p| p.name == port).map(|p| p.width)
    }
}

/// The modules of a text: name and text.
fn modules(verilog: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = verilog;
    std::iter::from_fn(move || {
        let start = match rest.starts_with("module ") {
            true => 0,
            false => rest.find("\nmodule ")? + 1,
        };
        let end = "\nendmodule\n";
        let length = rest[start..].find(end)? + end.len();
        let text = &rest[start..start + length];
        rest = &rest[start + length..];
        let name = text["module ".len()..].split(['(', ' ', '\n']).next()?;
        Some((name, text))
    })
}

/// The text of `top` and of all modules that stand in it, in their order.
fn reachable(top: &str, verilog: &str) -> String {
    let all: Vec<_> = modules(verilog).collect();
    let mut wanted = vec![top];
    let mut next = 0;
    while next < wanted.len() {
        if let Some((_, text)) = all.iter().find(|(name, _)| *name == wanted[next]) {
            let words = text.lines().skip(1).filter_map(|line| line.split_whitespace().next());
            for word in words {
                if all.iter().any(|(name, _)| *name == word) && !wanted.contains(&word) {
                    wanted.push(word);
                }
            }
        }
        next += 1;
    }
    all.iter().filter(|(name, _)| wanted.contains(name)).map(|(_, text)| *text).collect()
}

fn ports(module: &str, text: &str) -> Result<Vec<Port>, DesignError> {
    let header = text.split_once("(\n").and_then(|(_, rest)| rest.split_once("\n);"));
    let Some((header, _)) = header else {
        return Err(DesignError::Module(module.to_owned()));
    };
    let port = |line: &str| {
        let words: Vec<_> = line.trim().trim_end_matches(',').split_whitespace().collect();
        let (direction, kind) = (*words.first()?, *words.get(1)?);
        let width = match words.len() {
            3 => 1,
            4 => words[2].strip_prefix('[')?.strip_suffix(":0]")?.parse::<usize>().ok()? + 1,
            _ => return None,
        };
        let input = match (direction, kind) {
            ("input", "wire") => true,
            ("output", "wire" | "reg") => false,
            _ => return None,
        };
        Some(Port { name: (*words.last()?).to_owned(), input, width })
    };
    let lines = header.lines();
    lines
        .map(|line| {
            port(line).ok_or_else(|| DesignError::Port {
                module: module.to_owned(),
                line: line.trim().to_owned(),
            })
        })
        .collect()
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}:0] {}", self.width - 1, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "module t_a(\n    input wire clk,\n    output reg [3:0] q\n);\n    assign q = 1;\nendmodule
module t_b(\n    input wire clk\n);\nendmodule
module t(\n    input wire clk,\n    output wire [3:0] q\n);\n    t_a a (.clk(clk), .q(q));\nendmodule\n";

    #[test]
    fn a_design_has_its_ports_and_only_the_modules_that_stand_in_it() {
        let design = Design::new("t", TEXT).expect("a design");
        assert_eq!(design.width("q"), Some(4));
        assert!(design.verilog.contains("module t_a(") && !design.verilog.contains("t_b"));
    }

    #[test]
    fn a_replacement_that_is_not_there_once_is_named() {
        let design = Design::new("t", TEXT).expect("a design");
        let changed = design.with("t_a", "q = 1", "q = 2").expect("it is there");
        assert!(changed.verilog.contains("q = 2"));
        let error = design.with("t_a", "q = 3", "").expect_err("not there");
        assert_eq!(error.to_string(), "module `t_a` has `q = 3` 0 times, not once");
        let error = design.with("x", "q", "").expect_err("no module");
        assert_eq!(error.to_string(), "there is no module `x`");
    }

    #[test]
    fn a_tap_is_a_further_output() {
        let design = Design::new("t", TEXT).expect("a design");
        let design = design.with_tap("tap", 2, "q[1:0]").expect("a tap");
        assert_eq!(design.width("tap"), Some(2));
        assert!(design.verilog.contains("assign tap = q[1:0];"));
    }

    #[test]
    fn a_port_of_another_form_is_refused() {
        let error = Design::new("t", "module t(\n    inout wire a\n);\nendmodule\n");
        let error = error.expect_err("an inout");
        assert_eq!(error.to_string(), "module `t`: cannot read the port `inout wire a`");
    }
}
