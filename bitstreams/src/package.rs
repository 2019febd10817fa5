//! The files that make a board's build in Corundum's tree one of the card: the card's Verilog, and
//! the board's own `Makefile` and `config.tcl` with other values.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    Board, Corundum, CorundumError, FileHash, Manifest, corundum::MODULE, manifest::FORMAT,
};

/// The card's Verilog in Corundum's tree, and as the boards' makefiles reach it.
const RTL: &str = "fpga/app/drdma/rtl/mqnic_app_block.v";
const RTL_OF_BOARD: &str = "app/drdma/rtl/mqnic_app_block.v";
/// Name of the manifest in the folder of a build.
pub const MANIFEST: &str = "drdma-manifest.json";

/// Why the files could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    /// The tree does not fit.
    #[error(transparent)]
    Corundum(#[from] CorundumError),
    /// A line that must be changed is not there.
    #[error("{file} of {folder} sets no {what}, which {board} needs as `{value}`")]
    NoLine {
        /// The file.
        file: &'static str,
        /// The board's folder.
        folder: String,
        /// What should be set there.
        what: String,
        /// The board.
        board: String,
        /// The value that it should get.
        value: String,
    },
    /// A file cannot be written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The files, by their paths in Corundum's tree.
#[derive(Clone, Debug)]
pub struct Package {
    /// Path and contents.
    pub files: BTreeMap<String, String>,
    /// What they are.
    pub manifest: Manifest,
}

impl Package {
    /// Makes the files for a board, from the card's Verilog and the register map as text.
    ///
    /// # Errors
    /// The tree does not fit.
    pub fn new(
        corundum: &Corundum,
        board: &Board,
        card: &str,
        register_map: &str,
    ) -> Result<Self, PackageError> {
        let makefile = corundum.board_file(board, "Makefile")?;
        let config = corundum.board_file(board, "config.tcl")?;
        corundum.check(card)?;
        let folder = Corundum::build_folder(board);
        let mut files = BTreeMap::from([
            (RTL.to_owned(), card.to_owned()),
            (format!("{folder}/Makefile"), edit_makefile(&makefile, board)?),
            (format!("{folder}/config.tcl"), edit_config(&config, board)?),
        ]);
        let manifest = Manifest {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            board: board.name.clone(),
            part: board.part.clone(),
            corundum_commit: corundum.commit.clone(),
            corundum_version: corundum.version.clone(),
            abi_hash: format!("{:#018x}", drdma_abi::ABI_HASH),
            register_map_sha256: crate::sha256(register_map.as_bytes()),
            parameters: board.parameters.clone(),
            files: files.iter().map(|(path, text)| FileHash::of(path, text.as_bytes())).collect(),
            image: None,
        };
        files.insert(format!("{folder}/{MANIFEST}"), manifest.to_json());
        Ok(Self { files, manifest })
    }

    /// Writes the files below `out`, which has then the shape of Corundum's tree.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, out: &Path) -> Result<(), PackageError> {
        for (path, text) in &self.files {
            let path = out.join(path);
            let folder = path.parent().unwrap_or(out);
            let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, text));
            written.map_err(|source| PackageError::File { path, source })?;
        }
        Ok(())
    }
}

/// Replaces the whole lines that `start` begins, of which there must be one.
fn set(
    text: &mut String,
    (file, board): (&'static str, &Board),
    (what, value): (&str, &str),
    start: &str,
    line: &str,
) -> Result<(), PackageError> {
    let mut found = false;
    let lines = text.lines().map(|old| match old.starts_with(start) {
        true => {
            found = true;
            line
        }
        false => old,
    });
    let edited = lines.collect::<Vec<_>>().join("\n") + "\n";
    if !found {
        return Err(PackageError::NoLine {
            file,
            folder: board.corundum.clone(),
            what: what.to_owned(),
            board: board.title.clone(),
            value: value.to_owned(),
        });
    }
    *text = edited;
    Ok(())
}

/// The board's makefile with the card among its sources.
fn edit_makefile(makefile: &str, board: &Board) -> Result<String, PackageError> {
    let mut text = makefile.to_owned();
    for (name, value) in &board.makefile {
        let line = format!("{name} = {value}");
        set(&mut text, ("Makefile", board), (name, value), &format!("{name} ="), &line)?;
    }
    // The sources that an application of the tree's own may have are those of the same module.
    let kept = |line: &&str| !(line.contains("SYN_FILES") && line.contains(MODULE));
    let mut lines: Vec<&str> = text.lines().filter(kept).collect();
    let card = format!("SYN_FILES += {RTL_OF_BOARD}");
    let Some(last) = lines.iter().rposition(|line| line.starts_with("SYN_FILES +=")) else {
        return Err(PackageError::NoLine {
            file: "Makefile",
            folder: board.corundum.clone(),
            what: "list SYN_FILES".into(),
            board: board.title.clone(),
            value: RTL_OF_BOARD.into(),
        });
    };
    lines.insert(last + 1, &card);
    Ok(lines.join("\n") + "\n")
}

/// The board's configuration with the card's parameters.
fn edit_config(config: &str, board: &Board) -> Result<String, PackageError> {
    let mut text = config.to_owned();
    let file = ("config.tcl", board);
    for (name, value) in &board.settings {
        let line = format!("set {name} {value}");
        set(&mut text, file, (name, value), &format!("set {name} "), &line)?;
    }
    for (name, value) in &board.parameters {
        let line = format!("dict set params {name} \"{value}\"");
        set(&mut text, file, (name, value), &format!("dict set params {name} "), &line)?;
    }
    Ok(text)
}
