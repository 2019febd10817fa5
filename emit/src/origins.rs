//! The origin of each line of the Verilog: the statement of a kernel that it was printed from.
//!
//! While a block is printed, marks stand in its text: one in front of every module, with the kernel's
//! file, and one behind every statement, with the file and line of its own. [`split`] takes them out again.

use drdma_verilated::Origin;
use std::fmt::Write;

/// Mark in front of a module, on a line of its own.
const MODULE: char = '\u{1}';
/// Mark behind a statement.
const STATEMENT: char = '\u{2}';

/// Folder of the blocks whose text is written by hand.
const LEAVES: &str = "hdl/src/primitive";

/// Character between the file of a statement and its line.
const LINE: char = ':';

/// The mark of a statement of a kernel or one of its parts.
pub(super) fn statement(origin: &Origin) -> String {
    match (&*origin.block, &*origin.statement) {
        (_, "") => String::new(),
        (file, line) => format!("{STATEMENT}{file}{LINE}{line}"),
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

/// A text without its marks, and the origin of each line.
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
        let (file, statement) = match (&leaf, mark.rsplit_once(LINE)) {
            (Some(ports), _) => (block.as_str(), format!("({ports}) {}", shape(code))),
            (None, Some((file, statement))) => (file, statement.to_owned()),
            (None, None) => (block.as_str(), String::new()),
        };
        let _ = writeln!(plain, "{code}");
        origins.push(Origin { block: file.to_owned(), statement });
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
        let statement =
            |file: &str| statement(&Origin { block: file.to_owned(), statement: "42".to_owned() });
        let text = format!(
            "{kernel}module a(\n  x = 1;{}\n  y = 2;{}\nendmodule\n{leaf}module b\n  y[31:0] = 12'd7;\n",
            statement("hdl/src/rows/a.rs"),
            statement("hdl/src/rows/part.rs"),
        );
        let (plain, origins) = split(&text);
        let text_alone = "module a(\n  x = 1;\n  y = 2;\nendmodule\nmodule b\n  y[31:0] = 12'd7;\n";
        assert_eq!(plain, text_alone);
        let told: Vec<_> =
            origins.iter().map(|o| (o.block.as_str(), o.statement.as_str())).collect();
        let part = ("hdl/src/rows/part.rs", "42");
        assert_eq!(told[..4], [told[0], ("hdl/src/rows/a.rs", "42"), part, told[0]]);
        assert_eq!(told[0], ("hdl/src/rows/a.rs", ""));
        assert_eq!(told[5], (LEAVES, "(clk part) y[#:#] = #'d#;"));
        assert_eq!(without(&text), plain);
    }
}
