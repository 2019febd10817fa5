//! FPGA resources of the card, block by block, as yosys finds them.
//!
//! Every module is synthesised for UltraScale+ by itself ([`yosys`]), so that one that stands in a block
//! sixteen times is synthesised once; what could be optimised across modules' borders stays. Then the
//! block is flattened, its cells are counted, and its longest path is found ([`netlist`]). Between the
//! blocks there are wires and a few gates, which are counted as the block `card`.

mod design;
mod netlist;
mod yosys;

use std::{
    collections::BTreeMap,
    fmt::{self, Write as _},
    fs,
    path::Path,
};

use serde::{Deserialize, Serialize};

use crate::{
    page::{finished, markdown},
    reasons,
};
use design::Design;
use netlist::{Cells, Netlist};
pub use yosys::Synthesis;

/// Factor by which a block may grow beyond the record.
const GROWTH: f64 = 1.10;
/// Cells by which a block may grow in addition, so that small blocks may change at all.
const SLACK: f64 = 200.0;
/// LUT levels that the longest path may have.
const MAX_LEVELS: u32 = 8;
/// A kind of cells of the FPGA.
struct Kind {
    name: &'static str,
    /// Returns how many of `Cells` are of this kind.
    of: fn(&Cells) -> f64,
    /// Number of these cells in a U50.
    has: f64,
    /// Share of them that the card may take, in percent.
    percent: f64,
}

/// The kinds that a U50 has.
///
/// A card that only sends was to have 15 % of the LUTs, a whole RNIC 25 %, and one with regions at both ends 32 %.
const KINDS: [Kind; 5] = [
    Kind { name: "LUTs", of: |cells| cells.luts as f64, has: 872e3, percent: 32.0 },
    Kind { name: "registers", of: |cells| cells.registers as f64, has: 1_743e3, percent: 10.0 },
    Kind { name: "BRAM36", of: |cells| cells.bram18 as f64 / 2.0, has: 1_344.0, percent: 25.0 },
    Kind { name: "URAM", of: |cells| cells.uram as f64, has: 640.0, percent: 30.0 },
    Kind { name: "DSP", of: |cells| cells.dsp as f64, has: 5_952.0, percent: 20.0 },
];

/// Figures of one block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// Digest of the block's Verilog and its synthesis, which the figures depend on.
    #[serde(default)]
    pub verilog: String,
    /// Number of copies in the card.
    #[serde(default = "once")]
    pub copies: u64,
    /// Cells of one copy.
    pub cells: Cells,
    /// LUT levels of its longest path.
    pub levels: u32,
    /// The cells' output nets on that path, first to last.
    pub path: Vec<String>,
}

fn once() -> u64 {
    1
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Kind { name, of, .. } in KINDS {
            write!(f, "{} {name}, ", of(&self.cells))?;
        }
        write!(f, "{} levels", self.levels)
    }
}

/// The blocks by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Resources {
    /// Figures of the blocks.
    pub blocks: BTreeMap<String, Block>,
    /// Blocks of the card that are not synthesised yet.
    #[serde(default)]
    pub missing: Vec<String>,
}

impl Resources {
    /// Synthesises the blocks of the card that is in this tree, all or one, into `self`, and calls
    /// `then` after each with its name. A block whose Verilog is that of its figures is left out.
    ///
    /// # Errors
    /// There is no such block, yosys fails or takes too long, or what `then` says.
    pub fn measure(
        &mut self,
        synthesis: &Synthesis,
        only: Option<&str>,
        mut then: impl FnMut(&Self, &str) -> Result<(), String>,
    ) -> Result<(), String> {
        let design = card()?;
        let all = design.blocks();
        self.blocks.retain(|name, _| all.contains(name));
        let chosen = |name: &&String| only.is_none_or(|only| only == name.as_str());
        if let (Some(only), 0) = (only, all.iter().filter(chosen).count()) {
            return Err(format!("there is no block {only}; there are {}", all.join(", ")));
        }
        for name in all.iter().filter(chosen) {
            let verilog = design.digest(name);
            if self.blocks.get(name).is_some_and(|block| block.verilog == verilog) {
                continue;
            }
            let netlist: Netlist = synthesis.netlist(&design, name)?;
            let (levels, path) = netlist.longest_path()?;
            let (copies, cells) = (design.copies(name), netlist.cells()?);
            let block = Block { verilog, copies, cells, levels, path };
            self.blocks.insert(name.clone(), block);
            self.missing = all.iter().filter(|n| !self.blocks.contains_key(*n)).cloned().collect();
            then(self, name)?;
        }
        Ok(())
    }

    /// Cells and longest path of a part of a block, given the name of its module without `drdma_card_`.
    ///
    /// # Errors
    /// There is no such module, yosys fails or takes too long.
    pub fn part(synthesis: &Synthesis, name: &str) -> Result<String, String> {
        let design = card()?;
        if !design.has(name) {
            return Err(format!(
                "the card has no module drdma_card_{name}: `cargo xtask verilog` writes them all"
            ));
        }
        let netlist = synthesis.netlist(&design, name)?;
        let (levels, path) = netlist.longest_path()?;
        let cells = netlist.cells()?;
        let block = Block { verilog: String::new(), copies: 1, cells, levels, path };
        Ok(format!("{name}: {block}\n  {}\n", block.path.join("\n  ")))
    }

    /// Reads the record.
    ///
    /// # Errors
    /// The file cannot be read, or is no record.
    pub fn read(path: &Path) -> Result<Self, String> {
        let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = fs::read_to_string(path).map_err(|error| named(&error))?;
        serde_json::from_str(&text).map_err(|error| named(&error))
    }

    /// Writes the record.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let text = serde_json::to_string_pretty(self).map_err(|error| error.to_string())?;
        fs::write(path, text + "\n").map_err(|error| format!("{}: {error}", path.display()))
    }

    fn total(&self) -> Cells {
        self.blocks.values().fold(Cells::default(), |sum, block| sum + block.cells * block.copies)
    }

    fn levels(&self) -> u32 {
        self.blocks.values().map(|block| block.levels).max().unwrap_or(0)
    }

    /// A line for each block that has grown beyond the record; and where the card takes more than its share of a U50,
    /// for any growth of the card.
    pub fn grown(&self, recorded: &Self) -> Vec<String> {
        let mut grown = Vec::new();
        for (name, block) in &self.blocks {
            let Some(before) = recorded.blocks.get(name) else {
                grown.push(format!("{name} is not recorded"));
                continue;
            };
            for Kind { name: what, of, .. } in KINDS {
                let (now, then) = (of(&block.cells), of(&before.cells));
                // A memory counts as many cells, so it has no slack.
                let slack = if matches!(what, "LUTs" | "registers") { SLACK } else { 1.0 };
                if now > then * GROWTH + slack {
                    grown.push(format!("{name}: {now} {what}, {then} are recorded"));
                }
            }
            if block.levels > before.levels.max(MAX_LEVELS) {
                let (now, then) = (block.levels, before.levels);
                grown.push(format!("{name}: {now} LUT levels, {then} are recorded"));
            }
        }
        // Above its share the card may not grow at all.
        let (total, before) = (self.total(), recorded.total());
        for Kind { name: what, of, has, percent } in KINDS {
            let (now, then) = (of(&total), of(&before));
            if now >= has * percent / 100.0 && now > then {
                let text =
                    format!("{now} {what}, {then} are recorded, {percent} % of a U50 wanted");
                grown.push(text);
            }
        }
        grown
    }

    /// The targets, and whether they are reached.
    pub fn summary(&self) -> String {
        let total = self.total();
        let mut table = markdown(&["", "card", "U50", "share", "target", ""]);
        // A part of the card can miss a target, but cannot meet it.
        let verdict = |met| match met {
            true if self.missing.is_empty() => "met",
            true => "not yet",
            false => "**missed**",
        };
        for Kind { name: what, of, has, percent } in KINDS {
            let share = 100.0 * of(&total) / has;
            table.add_row([
                what.to_owned(),
                of(&total).to_string(),
                has.to_string(),
                format!("{share:.2} %"),
                format!("< {percent} %"),
                verdict(share < percent).to_owned(),
            ]);
        }
        let levels = self.levels();
        table.add_row([
            "LUT levels between registers".to_owned(),
            levels.to_string(),
            "-".to_owned(),
            "-".to_owned(),
            format!("<= {MAX_LEVELS}"),
            verdict(levels <= MAX_LEVELS).to_owned(),
        ]);
        let deep: Vec<_> = self
            .blocks
            .iter()
            .filter(|(_, block)| block.levels > MAX_LEVELS)
            .map(|(name, block)| format!("{name} ({})", block.levels))
            .collect();
        let deep = match deep.is_empty() {
            true => String::new(),
            false => format!("Deeper than that: {}.\n", deep.join(", ")),
        } + &self.without();
        let many = total.luts as f64 >= KINDS[0].percent / 100.0 * KINDS[0].has;
        let reason = if many { format!("{}\n\n", reasons::LUTS) } else { String::new() };
        format!(
            "{}\n{reason}{deep}As last recorded by `cargo xtask resources` (yosys `synth_xilinx -family xcup`); block by \
             block in [resources.md](resources.md).\n",
            finished(table, 1)
        )
    }

    /// The page docs/resources.md.
    pub fn page(&self) -> String {
        let mut table = markdown(&["", "LUTs", "registers", "BRAM36", "URAM", "DSP", "levels"]);
        let row = |name: &str, cells: &Cells, levels| {
            let mut row = vec![name.to_owned()];
            row.extend(KINDS.map(|kind| (kind.of)(cells).to_string()));
            row.push(format!("{levels}"));
            row
        };
        for (name, block) in &self.blocks {
            let name = match block.copies {
                1 => name.clone(),
                copies => format!("{copies} x {name}"),
            };
            table.add_row(row(&name, &(block.cells * block.copies), block.levels));
        }
        table.add_row(row("together", &self.total(), self.levels()));
        let table = finished(table, 1);
        let mut page = format!("{HEAD}{table}\n{}{}", self.without(), self.summary_head());
        for (name, Block { levels, path, .. }) in &self.blocks {
            let (first, last) = (path.first(), path.last());
            if let (true, Some(first), Some(last)) = (*levels > MAX_LEVELS, first, last) {
                writeln!(page, "- {name}, {levels} levels: `{first}` to `{last}`")
                    .expect("a string");
            }
        }
        page
    }

    /// Text on blocks that the figures are without.
    fn without(&self) -> String {
        match self.missing.is_empty() {
            true => String::new(),
            false => format!(
                "**Not recorded yet, and not in these figures:** {}.\n\n",
                self.missing.join(", ")
            ),
        }
    }

    fn summary_head(&self) -> &'static str {
        match self.levels() > MAX_LEVELS {
            true => "The paths of more than eight levels:\n\n",
            false => "",
        }
    }
}

/// The Verilog of the card that is in this tree.
fn card() -> Result<Design, String> {
    Design::new(&drdma_hdl::top::file().map_err(|error| error.to_string())?)
}

const HEAD: &str = "\
# Resources

Written by `cargo xtask resources`: what yosys (`synth_xilinx -family xcup`) makes of each block, module by
module. Only modules whose Verilog has changed are synthesised, in groups of small ones; which module is
mapped beside which others changes a block's LUTs by some percent, and a path by a level.
`cargo xtask resources --check` fails if a block has grown by more than a tenth beyond docs/resources.json,
if a path has become deeper than eight levels or than it was, or if the card takes more than its share of a
U50 (results.md) and more than is recorded.

*LUTs* include those used as memory and shift registers; a BRAM18 is half a BRAM36. *Levels* are LUTs
on the longest path between registers, memories and the block's ports: a carry chain is one, inverters
and the multiplexers of a slice (MUXF7 to MUXF9) are none.

";

#[cfg(test)]
mod tests {
    use super::*;

    fn resources(luts: u64, levels: u32) -> Resources {
        let cells = Cells { luts, registers: 10, ..Cells::default() };
        let block = Block {
            verilog: String::new(),
            copies: 1,
            cells,
            levels,
            path: vec!["a".into(), "b".into()],
        };
        Resources { blocks: [("gather".to_owned(), block)].into(), missing: Vec::new() }
    }

    #[test]
    fn a_block_that_grows_is_named() {
        let recorded = resources(10_000, 7);
        assert_eq!(resources(11_200, 8).grown(&recorded), [""; 0]);
        let grown = resources(11_201, 9).grown(&recorded);
        assert_eq!(
            grown,
            ["gather: 11201 LUTs, 10000 are recorded", "gather: 9 LUT levels, 7 are recorded"]
        );
        assert_eq!(resources(1, 1).grown(&Resources::default()), ["gather is not recorded"]);
        let all = resources(280_000, 1);
        assert_eq!(all.grown(&all), [""; 0]);
        let told = ["280000 LUTs, 279999 are recorded, 32 % of a U50 wanted"];
        assert_eq!(all.grown(&resources(279_999, 1)), told);
        let mut twice = resources(140_000, 1);
        twice.blocks.get_mut("gather").unwrap().copies = 2;
        let told = ["280000 LUTs, 140000 are recorded, 32 % of a U50 wanted"];
        assert_eq!(twice.grown(&resources(140_000, 1)), told);
        assert!(twice.page().contains("| 2 x gather | 280000 |"), "{}", twice.page());
    }

    #[test]
    fn the_page_names_deep_paths() {
        assert!(!resources(1, 8).page().contains("`a` to `b`"));
        assert!(resources(1, 9).page().contains("- gather, 9 levels: `a` to `b`"));
        assert!(resources(1, 9).summary().contains("Deeper than that: gather (9)."));
        assert!(!resources(1, 9).summary().contains(reasons::LUTS));
        assert!(resources(280_000, 9).summary().contains(reasons::LUTS));
        let part = Resources { missing: vec!["mac".to_owned()], ..resources(1, 1) };
        assert!(part.page().contains("not in these figures:** mac."));
        assert!(part.summary().contains("not in these figures:** mac."));
        assert!(part.summary().contains("not yet") && !part.summary().contains(" met "));
        assert!(resources(1, 9).summary().contains(" met "));
    }
}
