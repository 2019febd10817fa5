//! The page docs/coverage.md.

use std::fmt::Write;

use crate::table::{Missed, Row, Table, percent};

const HEAD: &str = "\
# Coverage

Written by `cargo xtask coverage`: which statements of the RTL the tests of its blocks run, and which bits
change. The tests of `drdma-hdl` are run with models that count (Verilator's `--coverage-line` and
`--coverage-toggle`). Blocks are printed as Verilog and a statement of a kernel may be printed many times (a
loop is unrolled, a block stands in several designs with other parameters), so counts are added up by the
line of the kernel that was printed.

- A *statement* is an assignment or a `join` in a kernel that stands behind a condition: in an `if`, an `else` or an arm
  of a `match`. What stands behind none always runs, and is not counted. Leaves that are Verilog themselves are the row *primitive
  (Verilog)*; their lines are told by their ports and their text without numbers.
- A *bit* is a bit of a signal of at most 64 bits. It counts as changed if it changed twice in one instance,
  to and fro.
- A dash stands for no statements, or for bits that were not counted.
- Until the first clock edge, which is one of the reset, nothing is counted, because registers begin with random
  bits.

`cargo xtask coverage --check` fails if a statement does not run and no reason below says why, if a reason has
nothing left to explain, if a block's kernel is in no model of the tests, or if less than 95 % of all statements
run. The reasons are kept in `coverage/src/reasons.rs`.

";

/// The page's text.
pub fn page(table: &Table) -> String {
    let mut text = HEAD.to_owned();
    text += "| block | statements | run | | explained | bits | change | |\n";
    text += "|---|--:|--:|--:|--:|--:|--:|--:|\n";
    table.rows.iter().for_each(|(name, row)| line(&mut text, name, row, &row.missed));
    let missed: Vec<_> = table.rows.values().flat_map(|row| row.missed.clone()).collect();
    line(&mut text, "**together**", &table.total(), &missed);
    if !table.unseen.is_empty() {
        text += "\nIn no model of the tests: ";
        text += &table.unseen.iter().map(|file| format!("`{file}`")).collect::<Vec<_>>().join(", ");
        text += ".\n";
    }
    // Files with the same reason are listed together.
    for excused in table.excused.chunk_by(|a, b| a.1 == b.1) {
        let files: Vec<_> = excused.iter().map(|(file, _)| format!("`{file}`")).collect();
        let _ =
            write!(text, "\nIn no model of the tests: {}. {}\n", files.join(", "), excused[0].1);
    }
    text += "\n## What does not run, and why\n\n";
    if missed.is_empty() {
        text += "Everything runs.\n";
        return text;
    }
    text += "| file | statement | why |\n|---|---|---|\n";
    for Missed { file, text: statement, why, .. } in &missed {
        let file = file.trim_start_matches("hdl/src/");
        let statement = statement.replace('|', "\\|");
        let why = why.unwrap_or("**not explained**");
        let _ = writeln!(text, "| {file} | `{statement}` | {why} |");
    }
    text
}

fn line(text: &mut String, name: &str, row: &Row, missed: &[Missed]) {
    let Row { statements, ran, bits, changed, .. } = row;
    let explained = missed.iter().filter(|missed| missed.why.is_some()).count();
    let shares = [(*ran, *statements), (*changed, *bits)];
    let [run, change] = shares.map(|(part, all)| match all {
        0 => "-".to_owned(),
        all => format!("{:.1} %", percent(part, all)),
    });
    let _ = writeln!(
        text,
        "| {name} | {statements} | {ran} | {run} | {explained} | {bits} | {changed} | {change} |"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_shows_shares_and_what_is_not_explained() {
        let missed = |why| Missed {
            file: "hdl/src/rows/a.rs".to_owned(),
            place: "3".to_owned(),
            text: "self.a.next = x | y;".to_owned(),
            why,
        };
        let missed = vec![missed(None), missed(Some("because"))];
        let row = Row { statements: 40, ran: 38, bits: 4, changed: 1, missed };
        let rows = [("rows/a".to_owned(), row), ("top".to_owned(), Row::default())];
        let excused = [("a.rs", "wires"), ("b.rs", "wires"), ("c.rs", "rare")];
        let excused = excused.map(|(file, why)| (file.to_owned(), why)).into();
        let table = Table { rows: rows.into(), excused, ..Table::default() };
        let page = page(&table);
        for line in [
            "In no model of the tests: `a.rs`, `b.rs`. wires\n",
            "In no model of the tests: `c.rs`. rare\n",
            "| rows/a | 40 | 38 | 95.0 % | 1 | 4 | 1 | 25.0 % |",
            "| top | 0 | 0 | - | 0 | 0 | 0 | - |",
            "| **together** | 40 | 38 | 95.0 % | 1 | 4 | 1 | 25.0 % |",
            "| rows/a.rs | `self.a.next = x \\| y;` | **not explained** |",
            "| rows/a.rs | `self.a.next = x \\| y;` | because |",
        ] {
            assert!(page.contains(line), "{page}");
        }
    }
}
