//! Which statements of a design run, and which bits change.
//!
//! With `DRDMA_VERILATED_COVERAGE=DIR` in the environment every model counts ([`Options::coverage`]), and
//! leaves in `DIR`
//!
//! - `MODEL.points`: the points that are counted, by number, a line each;
//! - `MODEL.origins`: the origins of the lines of its Verilog ([`Origin`]);
//! - `MODEL.PROCESS.counts`: the counts of its instances in that process, 4 bytes a point. The file is replaced as
//!   a whole whenever an instance is dropped, so that a process that is killed leaves what was counted up to
//!   its last instance but one.
//!
//! [`Coverage::read`] adds them up by origin.
//!
//! [`Options::coverage`]: crate::Options::coverage

mod points;
mod sum;

pub use points::{Kind, Point};
pub use sum::{Block, Coverage};

use crate::{Error, Origin, Result};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Environment variable that names the folder of the counts.
pub const COVERAGE_VARIABLE: &str = "DRDMA_VERILATED_COVERAGE";

/// Signals of more bits are not counted: each bit costs code that runs every cycle.
pub const MAX_WIDTH: usize = 64;

/// Extensions of the files in that folder.
const POINTS: &str = "points";
const ORIGINS: &str = "origins";
const COUNTS: &str = "counts";

/// Environment variable that names what is counted: `statements`, or, if it is not set, bits as well.
pub const COUNTED_VARIABLE: &str = "DRDMA_VERILATED_COUNTED";

/// Events that a model counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counting {
    /// The model counts nothing.
    #[default]
    Nothing,
    /// The model counts how often statements run.
    Statements,
    /// The model also counts how often bits change, which makes ten times as much code.
    StatementsAndBits,
}

impl Counting {
    /// The counting that the environment asks for.
    pub(crate) fn wanted() -> Self {
        match std::env::var_os(COUNTED_VARIABLE) {
            _ if folder().is_none() => Self::Nothing,
            Some(counted) if counted == "statements" => Self::Statements,
            _ => Self::StatementsAndBits,
        }
    }
}

/// The folder of the counts, if the environment names one.
pub(crate) fn folder() -> Option<PathBuf> {
    std::env::var_os(COVERAGE_VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from)
}

/// Name of the file, in an entry of the cache, with the points of the model.
pub(crate) const ENTRY: &str = "points";

/// The file that is included in front of a counting model's units.
pub(crate) const HEADER: &str = "coverage.h";

/// Text of the header, without the number of points. Verilator's own list of them, made anew for every instance, is
/// left out.
pub(crate) const HEADER_TEXT: &str = "#pragma once
#include \"verilated.h\"
#include \"verilated_cov.h\"
#undef VL_COVER_INSERT
#define VL_COVER_INSERT(...)
";

/// Writes the points of the C++ in `obj` to the entry's folder `dir`, and writes the header.
pub(crate) fn note_points(dir: &Path) -> Result<()> {
    let obj = dir.join("obj");
    let mut text = String::new();
    for file in fs::read_dir(&obj).map_err(Error::io(&obj))? {
        let path = file.map_err(Error::io(&obj))?.path();
        if path.extension().is_some_and(|extension| extension == "cpp") {
            text += &fs::read_to_string(&path).map_err(Error::io(&path))?;
        }
    }
    let points = points::of_cpp(&text);
    let path = dir.join(ENTRY);
    fs::write(&path, points::write(&points)).map_err(Error::io(&path))?;
    let path = dir.join(HEADER);
    let header = format!("{HEADER_TEXT}#define DRDMA_POINTS {}\n", points.len());
    fs::write(&path, header).map_err(Error::io(&path))
}

/// Sums of the counts of a model's instances in this process.
#[derive(Debug)]
pub(crate) struct Counts {
    /// Path of this process's file.
    path: PathBuf,
    /// For each point: whether it counts changes of a bit.
    toggles: Vec<bool>,
    sums: Vec<u32>,
}

impl Counts {
    /// Makes counts of 0. `key` names the model; `points` is the file of its entry.
    pub(crate) fn new(folder: &Path, key: &str, points: &str, origins: &[Origin]) -> Result<Self> {
        fs::create_dir_all(folder).map_err(Error::io(folder))?;
        replace(&folder.join(format!("{key}.{POINTS}")), points.as_bytes())?;
        replace(&folder.join(format!("{key}.{ORIGINS}")), sum::write(origins).as_bytes())?;
        let mut toggles = Vec::new();
        for point in points::read(points).unwrap_or_default() {
            toggles.resize(toggles.len().max(point.number + 1), false);
            toggles[point.number] = point.kind == Kind::Toggle;
        }
        let process = std::process::id();
        for life in 0.. {
            let path = folder.join(format!("{key}.{process}-{life}.{COUNTS}"));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(_) => return Ok(Self { path, sums: vec![0; toggles.len()], toggles }),
                // An earlier process had the same number.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io(path)(error)),
            }
        }
        unreachable!("some number is free")
    }

    /// Adds the counts of an instance. A bit's first change is not counted: it may be that from the random
    /// value with which it began.
    pub(crate) fn add(&mut self, counts: &[u32]) -> Result<()> {
        for ((sum, count), toggle) in self.sums.iter_mut().zip(counts).zip(&self.toggles) {
            *sum = sum.saturating_add(count.saturating_sub(u32::from(*toggle)));
        }
        let bytes: Vec<u8> = self.sums.iter().flat_map(|sum| sum.to_le_bytes()).collect();
        replace(&self.path, &bytes)
    }
}

/// Replaces a file as a whole: a reader sees the old or the new one.
fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let thread = format!("{:?}", std::thread::current().id());
    let thread: String = thread.chars().filter(char::is_ascii_digit).collect();
    let fresh = path.with_added_extension(format!("{}-{thread}.new", std::process::id()));
    File::create(&fresh)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&fresh, path))
        .map_err(Error::io(path))
}

#[cfg(test)]
#[path = "tests/coverage.rs"]
mod tests;
