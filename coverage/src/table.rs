//! Table of the counts, by block, with reasons for statements that did not run.

use std::collections::BTreeMap;
use std::fmt::Write;

use drdma_verilated::coverage::Coverage;

use crate::{reasons::Reason, sources::Sources};

/// Percent of a block's statements that should run, at least.
pub const WANTED: f64 = 95.0;

/// Folder of the blocks.
const BLOCKS: &str = "hdl/src/";

/// A statement that did not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missed {
    /// Path of the file.
    pub file: String,
    /// The line of the file, or the text of a leaf.
    pub place: String,
    /// Text of the statement.
    pub text: String,
    /// Reason why no test runs it, if there is one.
    pub why: Option<&'static str>,
}

/// Counts of a block: a folder of a room, or a file in a room.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Number of statements that stand behind a condition.
    pub statements: usize,
    /// Number of these statements that ran.
    pub ran: usize,
    /// Number of bits of signals.
    pub bits: usize,
    /// Number of these bits that changed to and fro.
    pub changed: usize,
    /// Statements that did not run.
    pub missed: Vec<Missed>,
}

impl Row {
    /// Share of the statements that ran, in percent.
    pub fn share(&self) -> f64 {
        percent(self.ran, self.statements)
    }
}

/// `part` of `all`, in percent; 100 if `all` is 0.
pub fn percent(part: usize, all: usize) -> f64 {
    if all == 0 { 100.0 } else { 100.0 * part as f64 / all as f64 }
}

/// Table of the blocks, by name, such as `receive/parser`.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Counts of each block.
    pub rows: BTreeMap<String, Row>,
    /// Files with a kernel of which no test builds a model, without a reason.
    pub unseen: Vec<String>,
    /// Files with a kernel of which no test builds a model, with the reason.
    pub excused: Vec<(String, &'static str)>,
    /// Reasons that explain no statement.
    pub idle: Vec<Reason>,
}

/// The block that a file belongs to.
pub fn block_of(file: &str) -> String {
    let path = file.strip_prefix(BLOCKS).unwrap_or(file);
    let mut parts: Vec<_> = path.trim_end_matches(".rs").split('/').take(2).collect();
    if parts.last() == Some(&"mod") {
        parts.pop();
    }
    parts.join("/")
}

impl Table {
    /// Sorts counts by block, and finds reasons for statements that did not run. Files outside `hdl/src` are ignored.
    pub fn new(sources: &Sources, coverage: &Coverage, reasons: &[Reason]) -> Self {
        let mut table = Self::default();
        let mut used = vec![false; reasons.len()];
        let mut seen = Vec::new();
        for (file, counted) in &coverage.blocks {
            let leaves = format!("{file}/") == format!("{BLOCKS}primitive/");
            if !leaves && !sources.files.contains_key(file) {
                continue;
            }
            seen.push(file.as_str());
            let name = if leaves { "primitive (Verilog)".to_owned() } else { block_of(file) };
            let row = table.rows.entry(name).or_default();
            row.bits += counted.toggles.len();
            row.changed += counted.toggles.values().filter(|count| **count > 0).count();
            row.statements += counted.statements.len();
            for (place, count) in &counted.statements {
                if *count > 0 {
                    row.ran += 1;
                    continue;
                }
                let text = sources.text(file, place).to_owned();
                let explains =
                    |reason: &Reason| reason.holds(file) && text.contains(reason.statement);
                let reason = reasons.iter().position(explains);
                reason.into_iter().for_each(|at| used[at] = true);
                let why = reason.map(|at| reasons[at].why);
                row.missed.push(Missed { file: file.clone(), place: place.clone(), text, why });
            }
        }
        for row in table.rows.values_mut() {
            let line = |missed: &Missed| missed.place.parse().unwrap_or(0_usize);
            row.missed.sort_by_key(|missed| (missed.file.clone(), line(missed)));
        }
        for file in sources.kernels().filter(|file| !seen.contains(file)) {
            // A reason for all of a file's statements, or of a folder's, is one for the file.
            let whole = |reason: &Reason| reason.holds(file) && reason.statement.is_empty();
            match reasons.iter().position(whole) {
                Some(at) => {
                    used[at] = true;
                    table.excused.push((file.to_owned(), reasons[at].why));
                }
                None => table.unseen.push(file.to_owned()),
            }
        }
        let idle = reasons.iter().zip(used).filter(|(_, used)| !used);
        table.idle = idle.map(|(reason, _)| *reason).collect();
        table
    }

    /// Keeps one block, or those below one folder.
    ///
    /// # Errors
    /// There is no block of that name.
    pub fn retain(&mut self, only: &str) -> Result<(), String> {
        let names: Vec<_> = self.rows.keys().cloned().collect();
        let inside = |name: &str| name == only || name.starts_with(&format!("{only}/"));
        self.rows.retain(|name, _| inside(name));
        self.unseen.retain(|file| inside(&block_of(file)));
        self.excused.retain(|(file, _)| inside(&block_of(file)));
        // Only the block's own tests ran, so that reasons for other blocks are not checked.
        self.idle.clear();
        match self.rows.is_empty() && self.unseen.is_empty() {
            true => Err(format!("there is no block {only}; there are {}", names.join(", "))),
            false => Ok(()),
        }
    }

    /// The sum of all rows, without what they missed.
    pub fn total(&self) -> Row {
        self.rows.values().fold(Row::default(), |sum, row| Row {
            statements: sum.statements + row.statements,
            ran: sum.ran + row.ran,
            bits: sum.bits + row.bits,
            changed: sum.changed + row.changed,
            missed: Vec::new(),
        })
    }

    /// A line for each fault that a check finds.
    pub fn wrong(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for missed in self.rows.values().flat_map(|row| &row.missed) {
            if missed.why.is_none() {
                let Missed { file, place, text, .. } = missed;
                wrong.push(match place == text {
                    true => format!("{file}: no test runs: {text}"),
                    false => format!("{file}:{place}: no test runs: {text}"),
                });
            }
        }
        let unseen = self.unseen.iter();
        wrong.extend(unseen.map(|file| format!("{file}: no test of hdl builds this block")));
        let idle = self.idle.iter();
        wrong.extend(idle.map(|Reason { block, statement, .. }| {
            format!("{block}: the reason for `{statement}` explains nothing")
        }));
        let total = self.total();
        if total.share() < WANTED {
            wrong.push(format!("{:.1} % of the statements run, not {WANTED} %", total.share()));
        }
        wrong
    }

    /// The table for a terminal, a line a block.
    pub fn told(&self) -> String {
        let width = self.rows.keys().map(String::len).max().unwrap_or(0).max("together".len());
        let mut text = String::new();
        let total = ("together".to_owned(), self.total());
        for (name, row) in self.rows.iter().chain([(&total.0, &total.1)]) {
            let Row { statements, ran, bits, changed, .. } = row;
            let _ = writeln!(
                text,
                "{name:width$} {ran:6} of {statements:6} statements {:5.1} %, {changed:7} of {bits:7} bits {:5.1} %",
                row.share(),
                percent(*changed, *bits),
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drdma_verilated::coverage::Block;

    const FILE: &str = "hdl/src/rows/walker/kernel.rs";

    fn sources() -> Sources {
        let text =
            "#[hdl_gen]\nimpl Logic for Walker {\n    self.a.next = 1;\n    self.b.next = 2;\n}";
        let lines: Vec<_> = text.lines().map(str::to_owned).collect();
        let files = [FILE, "hdl/src/rows/idle.rs"].map(|file| (file.to_owned(), lines.clone()));
        Sources { files: files.into() }
    }

    fn coverage(second: u64) -> Coverage {
        let counts = |names: &[(&str, u64)]| {
            names.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
        };
        let block = Block {
            statements: counts(&[("3", 7), ("4", second)]),
            toggles: counts(&[("a[0]", 1), ("a[1]", 0)]),
        };
        let other = Block { statements: counts(&[("5", 0)]), ..Block::default() };
        let blocks = [(FILE, block), ("hdl/src/rows/walker/tests.rs", other)];
        Coverage { blocks: blocks.map(|(file, block)| (file.to_owned(), block)).into() }
    }

    const WHY: Reason =
        Reason { block: "hdl/src/rows/walker", statement: "self.b.next", why: "because" };

    #[test]
    fn a_statement_that_does_not_run_is_named_unless_a_reason_explains_it() {
        let table = Table::new(&sources(), &coverage(0), &[]);
        let row = &table.rows["rows/walker"];
        assert_eq!((row.statements, row.ran, row.bits, row.changed), (2, 1, 2, 1));
        let unseen = "hdl/src/rows/idle.rs: no test of hdl builds this block";
        let few = "50.0 % of the statements run, not 95 %";
        let missed = "hdl/src/rows/walker/kernel.rs:4: no test runs: self.b.next = 2;";
        assert_eq!(table.wrong(), [missed, unseen, few]);
        let table = Table::new(&sources(), &coverage(0), &[WHY]);
        assert_eq!(table.rows["rows/walker"].missed[0].why, Some("because"));
        assert_eq!(table.wrong(), [unseen, few]);
    }

    #[test]
    fn a_reason_that_explains_nothing_is_named() {
        let elsewhere = Reason { block: "hdl/src/rows/walk", ..WHY };
        let mut table = Table::new(&sources(), &coverage(1), &[elsewhere]);
        let idle = "hdl/src/rows/walk: the reason for `self.b.next` explains nothing";
        assert_eq!(table.wrong()[1..], [idle]);
        table.retain("rows").unwrap();
        assert_eq!(table.wrong(), ["hdl/src/rows/idle.rs: no test of hdl builds this block"]);
        table.retain("rows/walker").unwrap();
        assert_eq!(table.wrong(), [""; 0]);
        let message = table.retain("rows/walk").unwrap_err();
        assert_eq!(message, "there is no block rows/walk; there are rows/walker");
    }

    #[test]
    fn a_file_in_no_model_may_have_a_reason() {
        let idle = Reason { block: "hdl/src/rows/idle.rs", statement: "", why: "wires" };
        let table = Table::new(&sources(), &coverage(1), &[idle]);
        assert_eq!(table.wrong(), [""; 0]);
        assert_eq!(table.excused, [("hdl/src/rows/idle.rs".to_owned(), "wires")]);
        // The reason may be for its folder.
        let folder = Reason { block: "hdl/src/rows", ..idle };
        assert_eq!(Table::new(&sources(), &coverage(1), &[folder]).excused, table.excused);
    }

    #[test]
    fn files_belong_to_a_folder_of_a_room_or_to_themselves() {
        let blocks =
            ["top/mod.rs", "rows/columns/planner/mod.rs", "rows/mod.rs", "receive/acks.rs"];
        let names = blocks.map(|file| block_of(&format!("hdl/src/{file}")));
        assert_eq!(names, ["top", "rows/columns", "rows", "receive/acks"]);
    }
}
