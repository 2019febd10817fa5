//! Runs yosys on one block after another.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    fs::{self, File},
    io::BufReader,
    path::PathBuf,
    process::{self, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use sha2::{Digest, Sha256};

use super::netlist::{self, Netlist};

/// The module in which the card's blocks stand; the one around it, `drdma_card`, only names its ports anew.
const CARD: &str = "drdma_card_core";
/// Prefix of the names of the blocks' modules.
const PREFIX: &str = "drdma_card_";
/// Name of the rest of the card, as a block: everything that is in no other block.
const REST: &str = "card";
/// Yosys' commands for a block's Verilog.
const SYNTHESIS: &str = "synth_xilinx -family xcup -noiopad -noclkbuf; flatten; clean";

/// The card's Verilog, module by module.
pub struct Design {
    modules: BTreeMap<String, String>,
    blocks: Vec<String>,
}

impl Design {
    /// Takes the card's Verilog apart into modules.
    ///
    /// # Errors
    /// The Verilog has no module of the card.
    pub fn new(verilog: &str) -> Result<Self, String> {
        let modules: BTreeMap<_, _> = verilog
            .split("\nmodule ")
            .skip(usize::from(!verilog.starts_with("module ")))
            .filter_map(|text| {
                let text = text.trim_start_matches("module ");
                let end = text.find("\nendmodule")?;
                let name = text.split(|c: char| c == '(' || c.is_whitespace()).next()?;
                Some((name.to_owned(), format!("module {}\nendmodule\n", &text[..end])))
            })
            .collect();
        let body =
            modules.get(CARD).ok_or_else(|| format!("the card's Verilog has no module {CARD}"))?;
        let blocks: BTreeSet<_> = instances(body)
            .filter(|name| modules.contains_key(*name))
            .filter_map(|name| name.strip_prefix(PREFIX).map(str::to_owned))
            .collect();
        let blocks = blocks.into_iter().chain([REST.to_owned()]).collect();
        Ok(Self { modules, blocks })
    }

    /// The names of the blocks: the modules that stand in the card's, and the rest of it.
    pub fn blocks(&self) -> &[String] {
        &self.blocks
    }

    /// True if the card has a module of this name, a block or a part of one.
    pub fn has(&self, name: &str) -> bool {
        self.modules.contains_key(&format!("{PREFIX}{name}"))
    }

    /// Number of a block's copies in the card.
    pub fn copies(&self, block: &str) -> u64 {
        let name = format!("{PREFIX}{block}");
        match block {
            REST => 1,
            _ => instances(&self.modules[CARD]).filter(|word| *word == name).count() as u64,
        }
    }

    /// A block's module, and the Verilog of every module in it; for the rest of the card, with only the ports of
    /// the blocks.
    fn verilog(&self, block: &str) -> (String, String) {
        let top = match block {
            REST => CARD.to_owned(),
            _ => format!("{PREFIX}{block}"),
        };
        let others: BTreeSet<_> = match block {
            REST => self.blocks.iter().map(|name| format!("{PREFIX}{name}")).collect(),
            _ => BTreeSet::new(),
        };
        let (mut found, mut open) = (BTreeMap::new(), vec![top.as_str()]);
        while let Some(name) = open.pop() {
            let Some(text) = self.modules.get(name).filter(|_| !found.contains_key(name)) else {
                continue;
            };
            if others.contains(name) {
                let ports = text.split_once(");").map_or(text.as_str(), |(ports, _)| ports);
                found.insert(name, format!("(* blackbox *)\n{ports});\nendmodule\n"));
            } else {
                found.insert(name, text.clone());
                open.extend(instances(text));
            }
        }
        let text = found.into_values().collect();
        (top, text)
    }

    /// Digest of what a block's figures depend on: its Verilog, and the commands of its synthesis.
    pub fn digest(&self, block: &str) -> String {
        let digest = Sha256::new().chain_update(SYNTHESIS).chain_update(self.verilog(block).1);
        digest.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Candidates for modules that stand in this one: the first words of its lines.
fn instances(module: &str) -> impl Iterator<Item = &str> {
    module.lines().skip(1).filter_map(|line| line.split_whitespace().next())
}

/// A folder for yosys, which is deleted when this is dropped.
pub struct Folder {
    path: PathBuf,
    limit: Duration,
}

impl Folder {
    /// Makes the folder. A block that takes longer than `limit` is an error.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn new(limit: Duration) -> Result<Self, String> {
        let path = env::temp_dir().join(format!("drdma-resources-{}", process::id()));
        fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self { path, limit })
    }

    /// Synthesises a block, and returns its flat netlist.
    ///
    /// # Errors
    /// yosys is missing, fails, or takes too long.
    pub fn synthesise(&self, design: &Design, block: &str) -> Result<Netlist, String> {
        let (module, verilog) = design.verilog(block);
        let script = format!(
            "read_verilog block.v; hierarchy -top {module}; {SYNTHESIS}; write_json block.json"
        );
        let (log, json) = (self.path.join("block.log"), self.path.join("block.json"));
        fs::write(self.path.join("block.v"), verilog).map_err(|error| error.to_string())?;
        let errors = File::create(&log).map_err(|e| format!("{}: {e}", log.display()))?;
        let mut child = Command::new("yosys")
            .args(["-q", "-p", &script])
            .current_dir(&self.path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(errors)
            .spawn()
            .map_err(|error| format!("cannot start yosys: {error}"))?;
        let started = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
                break status;
            }
            if started.elapsed() > self.limit {
                // The process may have ended since.
                let _ = child.kill();
                let _ = child.wait();
                let limit = self.limit.as_secs();
                return Err(format!("yosys has not done {block} in {limit} s: see --limit"));
            }
            thread::sleep(Duration::from_millis(50));
        };
        if !status.success() {
            let text = fs::read_to_string(&log).unwrap_or_default();
            return Err(format!("yosys failed on {block}: {}", text.trim()));
        }
        let opened = File::open(&json).map_err(|e| format!("{}: {e}", json.display()))?;
        let netlist = netlist::read(BufReader::new(opened), &module);
        // The file has tens of megabytes.
        let _ = fs::remove_file(&json);
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

    fn design(queue: &str) -> Design {
        let verilog = format!(
            "// The card.\nmodule drdma_card_queue_fifo(input clk);\n  reg {queue};\nendmodule\n\
             module drdma_card_queue(input clk);\n    drdma_card_queue_fifo fifo(clk);\nendmodule\n\
             module drdma_card_mac(\n    input wire a\n);\n  reg body;\nendmodule\n\
             module drdma_card_core(a);\nwire x;\n    drdma_card_queue queue(\n.clk(x));\n  \
             drdma_card_mac mac(a);\n  drdma_card_mac other(a);\nendmodule\n"
        );
        Design::new(&verilog).unwrap()
    }

    #[test]
    fn blocks_are_the_modules_in_the_card() {
        assert_eq!(design("a").blocks(), ["mac", "queue", "card"]);
        assert_eq!(["mac", "queue", "card"].map(|name| design("a").copies(name)), [2, 1, 1]);
        assert_eq!(["queue_fifo", "fifo"].map(|name| design("a").has(name)), [true, false]);
        assert!(Design::new("module other(); endmodule").is_err());
    }

    #[test]
    fn a_block_is_the_modules_in_it_and_the_rest_of_the_card_knows_the_blocks_ports() {
        let (top, text) = design("a").verilog("queue");
        assert_eq!(top, "drdma_card_queue");
        assert_eq!(text.matches("endmodule").count(), 2);
        assert!(text.contains("module drdma_card_queue_fifo(") && !text.contains("_mac"));
        let (top, text) = design("a").verilog("card");
        assert_eq!(top, "drdma_card_core");
        assert!(text.contains("module drdma_card_mac(\n    input wire a\n);\nendmodule"));
        assert!(!text.contains("body") && !text.contains("fifo fifo"));
    }

    #[test]
    fn a_digest_is_of_the_block_alone() {
        let (one, other) = (design("a"), design("b"));
        assert_ne!(one.digest("queue"), other.digest("queue"));
        assert_eq!(one.digest("mac"), other.digest("mac"));
        assert_eq!(one.digest("card"), other.digest("card"));
    }
}
