//! Running yosys on one block after another.

use std::{
    env, fs,
    io::BufReader,
    path::PathBuf,
    process::{self, Command},
};

use super::netlist::{self, Netlist};

/// The module of the card's blocks.
const CARD: &str = "drdma_card";
/// What is called a block beside them: everything in the card that is in no block.
const REST: &str = "card";

/// A folder with the card's Verilog, deleted in the end.
pub struct Folder {
    path: PathBuf,
    blocks: Vec<String>,
}

/// The names of the blocks: the modules that stand in the card's, and the rest of it.
///
/// # Errors
/// The file has no such module.
pub fn blocks(verilog: &str) -> Result<Vec<String>, String> {
    let body = verilog
        .split_once(&format!("module {CARD}("))
        .and_then(|(_, rest)| rest.split_once("endmodule"))
        .map(|(body, _)| body)
        .ok_or_else(|| format!("the card's Verilog has no module {CARD}"))?;
    let prefix = format!("{CARD}_");
    let mut blocks: Vec<String> = body
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix(&prefix)?.split_whitespace().next())
        .map(|name| name.trim_end_matches('(').to_owned())
        .collect();
    blocks.sort();
    blocks.dedup();
    blocks.push(REST.to_owned());
    Ok(blocks)
}

impl Folder {
    /// Writes the Verilog to a folder of its own.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn new(verilog: &str) -> Result<Self, String> {
        let path = env::temp_dir().join(format!("drdma-resources-{}", process::id()));
        let file = path.join("card.v");
        fs::create_dir_all(&path)
            .and_then(|()| fs::write(&file, verilog))
            .map_err(|error| format!("{}: {error}", file.display()))?;
        let mut blocks = blocks(verilog)?;
        blocks.pop();
        Ok(Self { path, blocks })
    }

    /// Synthesises a block and gives its flat netlist.
    ///
    /// # Errors
    /// yosys is missing or fails.
    pub fn synthesise(&self, block: &str) -> Result<Netlist, String> {
        let (module, others) = match block {
            // The rest of the card: without the blocks in it.
            REST => {
                let leave_out = |block: &String| format!("blackbox {CARD}_{block}; ");
                (CARD.to_owned(), self.blocks.iter().map(leave_out).collect())
            }
            _ => (format!("{CARD}_{block}"), String::new()),
        };
        let script = format!(
            "read_verilog card.v; {others}hierarchy -top {module}; \
             synth_xilinx -family xcup -noiopad -noclkbuf; flatten; clean; write_json {block}.json"
        );
        let output = Command::new("yosys")
            .args(["-q", "-p", &script])
            .current_dir(&self.path)
            .output()
            .map_err(|error| format!("cannot start yosys: {error}"))?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(format!("yosys failed on {block}: {}", text.trim()));
        }
        let file = self.path.join(format!("{block}.json"));
        let opened = fs::File::open(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let netlist = netlist::read(BufReader::new(opened), &module);
        // Tens of megabytes.
        let _ = fs::remove_file(&file);
        netlist
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_the_modules_in_the_card() {
        let verilog = "module drdma_card_queue(input clk);\nendmodule\nmodule drdma_card(a);\n\
                       wire x;\n    drdma_card_queue queue(\n.clk(x));\n  drdma_card_mac mac(a);\n\
                       endmodule\n";
        assert_eq!(blocks(verilog).unwrap(), ["mac", "queue", "card"]);
        assert!(blocks("module other(); endmodule").is_err());
    }
}
