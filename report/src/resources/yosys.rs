//! Runs yosys: on the modules of a block, and on the netlists that they give.
//!
//! The netlist of every group of modules is kept under the digest of what it depends on, so that a change of the card
//! costs the synthesis of the groups that it changes.

use std::{
    fs::{self, File},
    io::BufReader,
    path::{Path, PathBuf},
    process::{self, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::{
    design::{self, Design, Group},
    netlist::{self, Netlist},
};
use crate::in_parallel;

/// What yosys does with each module by itself.
pub const MODULE: &str = "synth_xilinx -family xcup -noiopad -noclkbuf; ";
/// What it does with all modules of a block together.
pub const BLOCK: &str = "flatten; clean";
/// Yosys' models of the FPGA's cells, in the form that can be written as JSON.
const CELLS: &str = "read_verilog -lib -specify +/xilinx/cells_sim.v; \
                     read_verilog -lib +/xilinx/cells_xtra.v; proc;";
/// A module in which those of a group stand.
const AROUND: &str = "drdma_group";

/// Synthesises blocks of the card.
pub struct Synthesis {
    /// The program, and arguments that it always has.
    yosys: Vec<String>,
    kept: PathBuf,
    version: String,
    limit: Duration,
    threads: usize,
}

impl Synthesis {
    /// Keeps netlists in the folder `kept`, and runs yosys `threads` times at once. A run that takes longer than
    /// `limit` is an error.
    ///
    /// # Errors
    /// The folder cannot be made, or yosys is missing.
    pub fn new(kept: &Path, limit: Duration, threads: usize) -> Result<Self, String> {
        Self::with(vec!["yosys".to_owned()], kept, limit, threads)
    }

    fn with(
        yosys: Vec<String>,
        kept: &Path,
        limit: Duration,
        threads: usize,
    ) -> Result<Self, String> {
        fs::create_dir_all(kept).map_err(at(kept))?;
        let kept = fs::canonicalize(kept).map_err(at(kept))?;
        let said = command(&yosys).arg("-V").output().map_err(cannot_start)?;
        let version = String::from_utf8_lossy(&said.stdout).into_owned();
        Ok(Self { yosys, kept, version, limit, threads })
    }

    /// Synthesises a block, and returns its flat netlist.
    ///
    /// # Errors
    /// Yosys fails, or takes too long.
    pub fn netlist(&self, design: &Design, block: &str) -> Result<Netlist, String> {
        let groups: Vec<_> =
            design.groups(block).into_iter().map(|group| (self.folder(&group), group)).collect();
        let missing: Vec<_> = groups.iter().filter(|(folder, _)| !folder.exists()).collect();
        if !missing.is_empty() {
            eprintln!(
                "{block}: {} of {} groups of modules to synthesise",
                missing.len(),
                groups.len()
            );
        }
        let results = in_parallel(&missing, self.threads, |(folder, group)| {
            self.synthesise(folder, group).map_err(|error| format!("{block}: {error}"))
        });
        results.into_iter().collect::<Result<(), _>>()?;
        self.join(&groups, design, block)
    }

    /// Where the netlists of a group are kept.
    fn folder(&self, group: &Group<'_>) -> PathBuf {
        self.kept.join(design::digest([&self.version, MODULE, AROUND, &group.verilog()]))
    }

    /// Synthesises the modules of a group, and keeps their netlists in `folder`.
    fn synthesise(&self, folder: &Path, group: &Group<'_>) -> Result<(), String> {
        let work = Work::new(folder.with_extension(process::id().to_string()))?;
        // An instance that is kept does not depend on what uses it, nor on what it is connected to.
        let instances: String =
            group.names().map(|name| format!("    (* keep *) {name} {name}_();\n")).collect();
        let around = format!("module {AROUND}();\n{instances}endmodule\n");
        let file = work.path.join("group.v");
        fs::write(&file, group.verilog() + &around).map_err(at(&file))?;
        let written: String = group
            .names()
            .map(|name| format!(" select -module {name}; write_rtlil -selected {name}.il;"))
            .collect();
        let script = format!("read_verilog group.v; hierarchy -top {AROUND}; {MODULE}{written}");
        self.run(&work, &script)?;
        // Another process may have done the same.
        fs::rename(&work.path, folder).or_else(|error| match folder.exists() {
            true => Ok(()),
            false => Err(at(folder)(error)),
        })
    }

    /// Joins the modules of a block, and takes away what none of them uses.
    fn join(
        &self,
        groups: &[(PathBuf, Group<'_>)],
        design: &Design,
        block: &str,
    ) -> Result<Netlist, String> {
        let work = Work::new(self.kept.join(format!("{block}.{}", process::id())))?;
        let others = work.path.join("others.v");
        fs::write(&others, design.ports_of_others(block)).map_err(at(&others))?;
        let files = groups.iter().flat_map(|(folder, group)| {
            group
                .names()
                .map(|name| format!(" read_rtlil {};", folder.join(format!("{name}.il")).display()))
        });
        let (files, top) = (files.collect::<String>(), Design::top(block));
        let script = format!(
            "{CELLS} read_verilog others.v;{files} hierarchy -top {top}; {BLOCK}; write_json block.json"
        );
        self.run(&work, &script).map_err(|error| format!("{block}: {error}"))?;
        let json = work.path.join("block.json");
        let opened = File::open(&json).map_err(at(&json))?;
        netlist::read(BufReader::new(opened), &top)
    }

    fn run(&self, work: &Work, script: &str) -> Result<(), String> {
        let log = work.path.join("log");
        let errors = File::create(&log).map_err(at(&log))?;
        let mut child = command(&self.yosys)
            .args(["-q", "-p", script])
            .current_dir(&work.path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(errors)
            .spawn()
            .map_err(cannot_start)?;
        let started = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
                break status;
            }
            if started.elapsed() > self.limit {
                // The process may have ended since.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!(
                    "yosys has not ended in {} s: see --limit",
                    self.limit.as_secs()
                ));
            }
            thread::sleep(Duration::from_millis(50));
        };
        if !status.success() {
            let text = fs::read_to_string(&log).unwrap_or_default();
            return Err(format!("yosys failed: {}", text.trim()));
        }
        Ok(())
    }
}

fn at(path: &Path) -> impl Fn(std::io::Error) -> String {
    let path = path.display().to_string();
    move |error| format!("{path}: {error}")
}

fn cannot_start(error: std::io::Error) -> String {
    format!("cannot start yosys: {error}")
}

/// A command line that begins with these words.
fn command(words: &[String]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

/// A folder for one run of yosys, which is deleted when this is dropped.
struct Work {
    path: PathBuf,
}

impl Work {
    fn new(path: PathBuf) -> Result<Self, String> {
        fs::create_dir_all(&path).map_err(at(&path))?;
        Ok(Self { path })
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands in for yosys: notes that it ran, and writes the files that it is asked for, without cells.
    const WRITES: &str = r#"
[ "$1" = -V ] && { echo Yosys 1; exit; }
echo run >> "$(dirname "$0")/runs"
for word in $3; do case "$word" in *.il\;) : > "${word%;}";; esac; done
case "$3" in *write_json*)
    echo '{"modules": {"drdma_card_queue": {"cells": {}, "netnames": {}}}}' > block.json;;
esac
"#;

    struct Bench {
        folder: tempfile::TempDir,
    }

    impl Bench {
        fn new() -> Self {
            Self { folder: tempfile::tempdir().unwrap() }
        }

        /// Synthesises the block `queue`, of which a register is named `name`, with this script in place of yosys.
        fn netlist(&self, script: &str, name: &str) -> Result<Netlist, String> {
            let file = self.folder.path().join("yosys");
            fs::write(&file, script).unwrap();
            let yosys = vec!["sh".to_owned(), file.display().to_string()];
            let limit = Duration::from_millis(500);
            let design = Design::new(&format!(
                "module drdma_card_queue(input clk);\n  reg {name};\nendmodule\n\
                 module drdma_card_core(a);\n  drdma_card_queue queue(a);\nendmodule\n"
            ));
            Synthesis::with(yosys, &self.kept(), limit, 1)?.netlist(&design.unwrap(), "queue")
        }

        fn kept(&self) -> PathBuf {
            self.folder.path().join("kept")
        }

        /// Number of runs so far.
        fn runs(&self) -> usize {
            fs::read_to_string(self.folder.path().join("runs")).unwrap().lines().count()
        }
    }

    #[test]
    fn only_modules_that_have_changed_are_synthesised() {
        let bench = Bench::new();
        assert_eq!(bench.netlist(WRITES, "a").unwrap().longest_path().unwrap().0, 0);
        assert_eq!(bench.runs(), 2, "the module, and the block");
        bench.netlist(WRITES, "a").unwrap();
        assert_eq!(bench.runs(), 3, "the block alone");
        bench.netlist(WRITES, "b").unwrap();
        assert_eq!(bench.runs(), 5);
        bench.netlist(&WRITES.replace("Yosys 1", "Yosys 2"), "b").unwrap();
        assert_eq!(bench.runs(), 7, "another yosys");
        assert_eq!(fs::read_dir(bench.kept()).unwrap().count(), 3, "nothing else is left");
    }

    #[test]
    fn what_fails_or_takes_too_long_is_said_and_not_kept() {
        let bench = Bench::new();
        let said = |script| bench.netlist(script, "a").err().unwrap();
        let fails = "[ \"$1\" = -V ] || { echo no cells >&2; exit 1; }";
        assert_eq!(said(fails), "queue: yosys failed: no cells");
        let sleeps = "[ \"$1\" = -V ] || exec sleep 60";
        assert_eq!(said(sleeps), "queue: yosys has not ended in 0 s: see --limit");
        assert_eq!(fs::read_dir(bench.kept()).unwrap().count(), 0);
        let missing = vec!["/nowhere/yosys".to_owned()];
        let error = Synthesis::with(missing, &bench.kept(), Duration::ZERO, 1).err().unwrap();
        assert!(error.starts_with("cannot start yosys: "), "{error}");
    }
}
