//! A Corundum tree: which one it is, and whether its shell and the card fit together.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    Board,
    verilog::{self, Head},
};

/// The module that an application is.
pub const MODULE: &str = "mqnic_app_block";
/// The commit that the card was simulated in (docs/corundum.md).
pub const CHECKED: &str = "1ca0151b97af85aa5dd306d74b6bcec65904d2ce";

/// The folder of the boards.
const BOARDS: &str = "fpga/mqnic/Alveo/fpga_100g";
/// An application that does nothing, whose ports are those that the shell has for it.
const TEMPLATE: &str = "fpga/app/template/rtl/mqnic_app_block.v";
/// Where the shell has its application.
const SHELL: &str = "fpga/common/rtl/mqnic_core.v";

/// Why a tree cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CorundumError {
    /// A file is missing or cannot be read.
    #[error(
        "{}: {source}; is {} a tree of Corundum (https://github.com/corundum/corundum)?",
        path.display(), root.display()
    )]
    File {
        /// The tree.
        root: PathBuf,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is no folder for the board.
    #[error("there is no {}, which {board} is built in; there are {}", path.display(), others.join(", "))]
    NoBoard {
        /// The board.
        board: String,
        /// Its folder.
        path: PathBuf,
        /// The boards' folders that there are.
        others: Vec<String>,
    },
    /// The module is not in a file.
    #[error("{} has no {what} that can be read", path.display())]
    NoModule {
        /// The file.
        path: PathBuf,
        /// What it should have.
        what: String,
    },
    /// Card and tree do not fit together.
    #[error(
        "the card does not fit into this Corundum (commit {}; checked with {}):\n  {}",
        commit.as_deref().unwrap_or("unknown"), &CHECKED[..12], differences.join("\n  ")
    )]
    Differs {
        /// The tree's commit.
        commit: Option<String>,
        /// What differs.
        differences: Vec<String>,
    },
}

/// A tree.
#[derive(Clone, Debug)]
pub struct Corundum {
    root: PathBuf,
    /// Its commit, if it is a git repository.
    pub commit: Option<String>,
    /// What `git describe` calls the commit.
    pub version: Option<String>,
}

impl Corundum {
    /// The tree at `root`.
    pub fn open(root: &Path) -> Self {
        let commit = git(root, &["rev-parse", "HEAD"]);
        let version = git(root, &["describe", "--tags", "--always", "--dirty"]);
        Self { root: root.to_owned(), commit, version }
    }

    /// True if it is the tree that the card was simulated in.
    pub fn is_checked(&self) -> bool {
        self.commit.as_deref() == Some(CHECKED)
    }

    fn read(&self, path: &str) -> Result<String, CorundumError> {
        let path = self.root.join(path);
        fs::read_to_string(&path).map_err(|source| CorundumError::File {
            root: self.root.clone(),
            path,
            source,
        })
    }

    /// The file of a board's own folder, as text.
    ///
    /// # Errors
    /// There is no such folder or file.
    pub fn board_file(&self, board: &Board, name: &str) -> Result<String, CorundumError> {
        let boards = self.root.join(BOARDS);
        let path = boards.join(&board.corundum);
        if !path.is_dir() {
            let entries = fs::read_dir(&boards).into_iter().flatten().flatten();
            let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
            let mut others: Vec<_> = names.filter(|name| name.starts_with("fpga_AU")).collect();
            others.sort();
            if others.is_empty() {
                others.push("none at all".into());
            }
            return Err(CorundumError::NoBoard { board: board.title.clone(), path, others });
        }
        self.read(&format!("{BOARDS}/{}/{name}", board.corundum))
    }

    /// The folder, in a tree, in which the card is built for a board.
    pub fn build_folder(board: &Board) -> String {
        format!("{BOARDS}/{}_app_drdma", board.corundum)
    }

    /// Checks that the card's Verilog has the ports and parameters that the shell connects and the
    /// template has, in the same directions and widths.
    ///
    /// Defaults may differ, as the shell sets every parameter, unless both are expressions of others:
    /// then they say how parameters depend on each other.
    ///
    /// # Errors
    /// All that differs.
    pub fn check(&self, card: &str) -> Result<(), CorundumError> {
        let no_module = |path: &str, what: &str| CorundumError::NoModule {
            path: self.root.join(path),
            what: what.to_owned(),
        };
        let ours = verilog::head(card, MODULE)
            .ok_or_else(|| no_module("the card's Verilog", "module mqnic_app_block"))?;
        let template = verilog::head(&self.read(TEMPLATE)?, MODULE)
            .ok_or_else(|| no_module(TEMPLATE, "module mqnic_app_block"))?;
        let instance = verilog::instance(&self.read(SHELL)?, MODULE)
            .ok_or_else(|| no_module(SHELL, "instance of mqnic_app_block"))?;
        let mut differences = compare(&template, &ours);
        for (kind, connected, has) in [
            ("parameter", instance.parameters, ours.parameters.keys().collect::<Vec<_>>()),
            ("port", instance.ports, ours.ports.keys().collect()),
        ] {
            for name in connected.iter().filter(|name| !has.contains(name)) {
                differences.push(format!("{SHELL} connects {kind} `{name}`, which the card lacks"));
            }
        }
        if differences.is_empty() {
            return Ok(());
        }
        Err(CorundumError::Differs { commit: self.commit.clone(), differences })
    }
}

fn git(root: &Path, args: &[&str]) -> Option<String> {
    // A tree inside of another repository has no commit of its own.
    if !root.join(".git").exists() {
        return None;
    }
    let output = Command::new("git").arg("-C").arg(root).args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

/// What differs between the template's module and the card's.
fn compare(template: &Head, card: &Head) -> Vec<String> {
    let mut differences = Vec::new();
    for (name, expected) in &template.ports {
        match card.ports.get(name) {
            None => differences.push(format!("Corundum has a port `{name}`, and the card has not")),
            Some(port) if port.direction != expected.direction => differences.push(format!(
                "port `{name}` is an {} in Corundum and an {} of the card",
                expected.direction, port.direction
            )),
            Some(port) if port.width != expected.width => differences.push(format!(
                "port `{name}` has width {} in Corundum and {} on the card",
                expected.width, port.width
            )),
            Some(_) => {}
        }
    }
    for (name, expected) in &template.parameters {
        match card.parameters.get(name) {
            None => {
                differences.push(format!("Corundum has a parameter `{name}`, and the card has not"))
            }
            Some(value) if value != expected && has_name(value) && has_name(expected) => {
                differences.push(format!(
                    "parameter `{name}` is {expected} in Corundum and {value} on the card"
                ))
            }
            Some(_) => {}
        }
    }
    let ports = card.ports.keys().filter(|name| !template.ports.contains_key(*name));
    differences
        .extend(ports.map(|name| format!("the card has a port `{name}`, and Corundum has not")));
    let more = card.parameters.keys().filter(|name| !template.parameters.contains_key(*name));
    differences.extend(
        more.map(|name| format!("the card has a parameter `{name}`, and Corundum has not")),
    );
    differences
}

/// True if an expression names a parameter: `8*COUNT`, and not `32'hABCD`.
fn has_name(value: &str) -> bool {
    let words = value.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '\''));
    words.into_iter().any(|word| word.starts_with(|c: char| c.is_alphabetic()))
}
