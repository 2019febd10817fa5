//! Which statements of a design run, and which bits change.
//!
//! With `DRDMA_VERILATED_COVERAGE=DIR` in the environment every model counts ([`Options::coverage`]), and
//! leaves in `DIR`
//!
//! - `MODEL.points`: what is counted, by number, a line each;
//! - `MODEL.origins`: where the lines of its Verilog come from ([`Origin`]);
//! - `MODEL.PROCESS.counts`: what its instances in that process counted, 4 bytes a point. It is replaced as
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

/// The variable that names the folder of the counts.
pub const COVERAGE_VARIABLE: &str = "DRDMA_VERILATED_COVERAGE";

/// Signals of more bits are not looked at: each bit costs code that runs every cycle.
pub const MAX_WIDTH: usize = 64;

/// What the files in that folder end with.
const POINTS: &str = "points";
const ORIGINS: &str = "origins";
const COUNTS: &str = "counts";

/// The variable that says what is counted: `statements`, or, if it is not set, bits too.
pub const COUNTED_VARIABLE: &str = "DRDMA_VERILATED_COUNTED";

/// What a model counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counting {
    /// Nothing.
    #[default]
    Nothing,
    /// How often statements run.
    Statements,
    /// Also how often bits change, which makes ten times as much code.
    StatementsAndBits,
}

impl Counting {
    /// What the environment says.
    pub(crate) fn wanted() -> Self {
        match std::env::var_os(COUNTED_VARIABLE) {
            _ if folder().is_none() => Self::Nothing,
            Some(counted) if counted == "statements" => Self::Statements,
            _ => Self::StatementsAndBits,
        }
    }
}

/// The folder, if there is one.
pub(crate) fn folder() -> Option<PathBuf> {
    std::env::var_os(COVERAGE_VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from)
}

/// The file of an entry of the cache that says what the model counts.
pub(crate) const ENTRY: &str = "points";

/// The file that is included in front of a counting model's units.
pub(crate) const HEADER: &str = "coverage.h";

/// Its text but for the number of points: Verilator's own list of them, made anew for every instance, is left
/// out.
pub(crate) const HEADER_TEXT: &str = "#pragma once
#include \"verilated.h\"
#include \"verilated_cov.h\"
#undef VL_COVER_INSERT
#define VL_COVER_INSERT(...)
";

/// Notes in the entry's folder `dir` what the C++ in `obj` counts, and writes the header.
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

/// What the instances of a model in this process have counted.
#[derive(Debug)]
pub(crate) struct Counts {
    /// The file of this process.
    path: PathBuf,
    /// Whether the point of that number counts changes of a bit.
    toggles: Vec<bool>,
    sums: Vec<u32>,
}

impl Counts {
    /// None yet. `key` names the model; `points` is the file of its entry.
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
                // A process of an earlier time had the same number.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io(path)(error)),
            }
        }
        unreachable!("some number is free")
    }

    /// Adds those of an instance. A bit's first change is not counted: it may be that from the random
    /// value with which it began.
    pub(crate) fn add(&mut self, counts: &[u32]) -> Result<()> {
        for ((sum, count), toggle) in self.sums.iter_mut().zip(counts).zip(&self.toggles) {
            *sum = sum.saturating_add(count.saturating_sub(u32::from(*toggle)));
        }
        let bytes: Vec<u8> = self.sums.iter().flat_map(|sum| sum.to_le_bytes()).collect();
        replace(&self.path, &bytes)
    }
}

/// Writes a file as a whole: who reads it sees the old or the new one.
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
