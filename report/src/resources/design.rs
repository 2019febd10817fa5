//! The card's Verilog, taken apart into modules.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use super::yosys;

/// The module in which the card's blocks stand; the one around it, `drdma_card`, only names its ports anew.
const CARD: &str = "drdma_card_core";
/// Prefix of the names of the blocks' modules.
const PREFIX: &str = "drdma_card_";
/// Name of the rest of the card, as a block: everything that is in no other block.
const REST: &str = "card";
/// Bytes of Verilog that yosys is given at a time, unless one module has more. Small modules are synthesised together,
/// because yosys takes five seconds to start.
const GROUP_BYTES: usize = 40_000;

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

    /// Name of a block's module.
    pub fn top(block: &str) -> String {
        match block {
            REST => CARD.to_owned(),
            _ => format!("{PREFIX}{block}"),
        }
    }

    /// The modules of a block, in groups that are synthesised together. The groups depend on the block's Verilog alone.
    pub fn groups(&self, block: &str) -> Vec<Group<'_>> {
        let mut groups: Vec<Group<'_>> = Vec::new();
        for (name, text) in self.within(block) {
            match groups.last_mut() {
                Some(group) if group.bytes() + text.len() <= GROUP_BYTES => {
                    group.modules.push((name, text));
                }
                _ => groups.push(Group { design: self, modules: vec![(name, text)] }),
            }
        }
        groups
    }

    /// Names and Verilog of a block's module and of every module in it; of the rest of the card, without the blocks.
    fn within(&self, block: &str) -> BTreeMap<&str, &str> {
        let others: BTreeSet<_> = match block {
            REST => self.blocks.iter().map(|name| format!("{PREFIX}{name}")).collect(),
            _ => BTreeSet::new(),
        };
        let top = Self::top(block);
        let (mut found, mut open) = (BTreeMap::new(), vec![top.as_str()]);
        while let Some(name) = open.pop() {
            if let Some((name, text)) = self.modules.get_key_value(name)
                && !others.contains(name)
                && found.insert(name.as_str(), text.as_str()).is_none()
            {
                open.extend(instances(text));
            }
        }
        found
    }

    /// The ports of the modules that stand in a block and are blocks themselves.
    pub fn ports_of_others(&self, block: &str) -> String {
        let within = self.within(block);
        let inner: BTreeSet<_> = within.values().flat_map(|text| instances(text)).collect();
        let outside = inner.into_iter().filter(|name| !within.contains_key(name));
        outside.filter_map(|name| self.modules.get(name)).map(|text| ports(text)).collect()
    }

    /// Digest of what a block's figures depend on: its Verilog, and the commands of its synthesis.
    pub fn digest(&self, block: &str) -> String {
        let groups = self.groups(block);
        let texts = groups.iter().fold(String::new(), |text, group| text + &group.verilog());
        digest([yosys::MODULE, yosys::BLOCK, &texts])
    }
}

/// Modules that are synthesised together.
pub struct Group<'a> {
    design: &'a Design,
    modules: Vec<(&'a str, &'a str)>,
}

impl Group<'_> {
    /// The names of the modules.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.modules.iter().map(|(name, _)| *name)
    }

    fn bytes(&self) -> usize {
        self.modules.iter().map(|(_, text)| text.len()).sum()
    }

    /// The modules, and of the others that stand in them the ports alone.
    pub fn verilog(&self) -> String {
        let known: BTreeSet<_> = self.names().collect();
        let inner: BTreeSet<_> =
            self.modules.iter().flat_map(|(_, text)| instances(text)).collect();
        let outside = |name: &&str| !known.contains(name);
        let others =
            inner.into_iter().filter(outside).filter_map(|name| self.design.modules.get(name));
        let ports = others.map(|text| ports(text));
        self.modules.iter().map(|(_, text)| (*text).to_owned()).chain(ports).collect()
    }
}

/// A module without its body.
fn ports(module: &str) -> String {
    let ports = module.split_once(");").map_or(module, |(ports, _)| ports);
    format!("(* blackbox *)\n{ports});\nendmodule\n")
}

/// Digest of texts, as a name of a file.
pub fn digest<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let digest = texts.into_iter().fold(Sha256::new(), |digest, text| digest.chain_update(text));
    digest.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Candidates for modules that stand in this one: the first words of its lines.
fn instances(module: &str) -> impl Iterator<Item = &str> {
    module.lines().skip(1).filter_map(|line| line.split_whitespace().next())
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

    fn verilog(design: &Design, block: &str) -> Vec<String> {
        design.groups(block).iter().map(Group::verilog).collect()
    }

    #[test]
    fn a_block_is_the_modules_in_it_and_the_rest_of_the_card_knows_the_blocks_ports() {
        let texts = verilog(&design("a"), "queue");
        assert_eq!(Design::top("queue"), "drdma_card_queue");
        assert_eq!(texts.len(), 1, "small modules are together");
        assert_eq!(texts[0].matches("endmodule").count(), 2);
        assert!(texts[0].contains("module drdma_card_queue_fifo(") && !texts[0].contains("_mac"));
        let texts = verilog(&design("a"), "card");
        assert_eq!(Design::top("card"), "drdma_card_core");
        assert!(
            texts[0].contains(
                "(* blackbox *)\nmodule drdma_card_mac(\n    input wire a\n);\nendmodule"
            )
        );
        assert!(!texts[0].contains("body") && !texts[0].contains("fifo fifo"));
        assert_eq!(design("a").ports_of_others("queue"), "");
        let ports = design("a").ports_of_others("card");
        assert_eq!(ports.matches("(* blackbox *)").count(), 2);
        assert!(ports.contains("module drdma_card_mac(\n    input wire a\n);\nendmodule"));
    }

    #[test]
    fn a_large_module_is_alone_and_others_know_its_ports() {
        let design = design(&format!("[{}:0] a", "0".repeat(GROUP_BYTES)));
        let groups = design.groups("queue");
        let names: Vec<Vec<_>> = groups.iter().map(|group| group.names().collect()).collect();
        assert_eq!(names, [["drdma_card_queue"], ["drdma_card_queue_fifo"]]);
        let text = groups[0].verilog();
        assert!(text.len() < 200 && text.contains("(* blackbox *)\nmodule drdma_card_queue_fifo("));
        assert!(!groups[1].verilog().contains("blackbox"));
    }

    #[test]
    fn a_digest_is_of_the_block_alone() {
        let (one, other) = (design("a"), design("b"));
        assert_ne!(one.digest("queue"), other.digest("queue"));
        assert_eq!(one.digest("mac"), other.digest("mac"));
        assert_eq!(one.digest("card"), other.digest("card"));
    }
}
