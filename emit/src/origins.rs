//! Which statement of a kernel each line of the Verilog was printed from.
//!
//! While a block is printed, marks stand in its text: one in front of every module, with the kernel's
//! file, and one behind every statement, with its line. [`split`] takes them out again.

use drdma_verilated::Origin;
use std::fmt::Write;

/// In front of a module, on a line of its own.
const MODULE: char = '\u{1}';
/// Behind a statement.
const STATEMENT: char = '\u{2}';

/// Where the text of leaves stands.
const LEAVES: &str = "hdl/src/primitive";

/// The mark of a statement on a line of the kernel's file.
pub(super) fn statement(line: &str) -> String {
    match line {
        "" => String::new(),
        line => format!("{STATEMENT}{line}"),
    }
}

/// The mark of a module with a kernel in `file`, or of a leaf with these ports.
pub(super) fn module(file: Option<&str>, ports: &[&str]) -> String {
    match file {
        Some(file) => format!("{MODULE}{file}\n"),
        None => {
            let mut names: Vec<_> =
                ports.iter().map(|name| name.split('$').next().unwrap_or(name)).collect();
            names.dedup();
            format!("{MODULE}{MODULE}{}\n", names.join(" "))
        }
    }
}

/// A text without its marks.
pub(super) fn without(text: &str) -> String {
    split(text).0
}

/// A text without its marks, and what they say of each line.
pub(super) fn split(text: &str) -> (String, Vec<Origin>) {
    let (mut plain, mut origins) = (String::with_capacity(text.len()), Vec::new());
    let (mut block, mut leaf) = (String::new(), None);
    for line in text.lines() {
        if let Some(mark) = line.strip_prefix(MODULE) {
            leaf = mark.strip_prefix(MODULE).map(str::to_owned);
            block = if leaf.is_some() { LEAVES.to_owned() } else { mark.to_owned() };
            continue;
        }
        let (code, mark) = line.split_once(STATEMENT).unwrap_or((line, ""));
        let statement = match &leaf {
            None => mark.to_owned(),
            Some(ports) => format!("({ports}) {}", shape(code)),
        };
        let _ = writeln!(plain, "{code}");
        origins.push(Origin { block: block.clone(), statement });
    }
    (plain, origins)
}

/// A line of a leaf, whatever its widths: its numbers are `#`.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    for character in line.trim().chars() {
        match character.is_ascii_digit() {
            true if shape.ends_with('#') => {}
            true => shape.push('#'),
            false => shape.push(character),
        }
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_taken_out_and_told() {
        let kernel = module(Some("hdl/src/rows/a.rs"), &[]);
        let leaf = module(None, &["clk", "part$0", "part$1"]);
        let text = format!(
            "{kernel}module a(\n  x = 1;{}\nendmodule\n{leaf}module b\n  y[31:0] = 12'd7;\n",
            statement("42")
        );
        let (plain, origins) = split(&text);
        assert_eq!(plain, "module a(\n  x = 1;\nendmodule\nmodule b\n  y[31:0] = 12'd7;\n");
        let told: Vec<_> =
            origins.iter().map(|o| (o.block.as_str(), o.statement.as_str())).collect();
        assert_eq!(told[..3], [("hdl/src/rows/a.rs", ""), ("hdl/src/rows/a.rs", "42"), told[0]]);
        assert_eq!(told[4], (LEAVES, "(clk part) y[#:#] = #'d#;"));
        assert_eq!(without(&text), plain);
    }
}
