//! The counts of many models and processes, added up by origin.

use super::points::{self, Kind, Point};
use super::{COUNTS, ORIGINS, POINTS};
use crate::{Error, Origin, Result};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Verilator's name of the statements that a process runs whatever the conditions. It counts how often the process
/// runs only if it has a clock.
const ALWAYS: &str = "block";

/// Counts of one block, which is one file: those of all models, instances and processes together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// How often each statement ran, of those that stand behind a condition. One that stands in several processes or
    /// instances, because a loop was unrolled or the block stands in several designs, counts once.
    pub statements: BTreeMap<String, u64>,
    /// How often each bit, such as `level[3]`, of a signal of at most [`MAX_WIDTH`](super::MAX_WIDTH) bits changed
    /// after its first change in an instance.
    pub toggles: BTreeMap<String, u64>,
}

/// Counts by block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The blocks by [`Origin::block`]; without origins, by the file of the Verilog, and its statements by
    /// their lines.
    pub blocks: BTreeMap<String, Block>,
}

impl Coverage {
    /// Adds up the counts of the models in `folder`.
    ///
    /// # Errors
    /// A file cannot be read, or is not what a model wrote.
    pub fn read(folder: &Path) -> Result<Self> {
        let mut counts: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
        for file in fs::read_dir(folder).map_err(Error::io(folder))? {
            let path = file.map_err(Error::io(folder))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if let (Some((model, _)), true) = (name.split_once('.'), name.ends_with(COUNTS)) {
                counts.entry(model.to_owned()).or_default().push(path);
            }
        }
        let mut coverage = Self::default();
        for (model, files) in counts {
            let text = |extension: &str| {
                let path = folder.join(format!("{model}.{extension}"));
                fs::read_to_string(&path).map_err(Error::io(&path))
            };
            let points = points::read(&text(POINTS)?).ok_or_else(|| broken(folder, &model))?;
            let origins = read(&text(ORIGINS)?).ok_or_else(|| broken(folder, &model))?;
            let of = points.iter().map(|point| point.number + 1).max().unwrap_or(0);
            let mut sums = vec![0_u64; of];
            for path in files {
                let bytes = fs::read(&path).map_err(Error::io(&path))?;
                // The file is empty if no instance was dropped.
                if !bytes.is_empty() && bytes.len() != 4 * of {
                    return Err(broken(folder, &model));
                }
                for (sum, count) in sums.iter_mut().zip(bytes.as_chunks::<4>().0) {
                    *sum += u64::from(u32::from_le_bytes(*count));
                }
            }
            coverage.add(&points, &origins, &sums);
        }
        Ok(coverage)
    }

    fn add(&mut self, points: &[Point], origins: &[Origin], sums: &[u64]) {
        let origin = |point: &Point, line: usize| match origins.get(line.wrapping_sub(1)) {
            Some(origin) => origin.clone(),
            None => Origin { block: point.file.clone(), statement: line.to_string() },
        };
        // A block that only has wires has no points.
        for origin in origins.iter().filter(|origin| !origin.block.is_empty()) {
            if !self.blocks.contains_key(&origin.block) {
                self.blocks.insert(origin.block.clone(), Block::default());
            }
        }
        for point in points {
            let count = sums[point.number];
            match point.kind {
                Kind::Toggle => {
                    let block = self.blocks.entry(origin(point, point.line).block).or_default();
                    *block.toggles.entry(point.what.clone()).or_default() += count;
                }
                // The statements run whenever the process does.
                Kind::Lines if point.what == ALWAYS => {}
                Kind::Lines => {
                    for line in &point.lines {
                        let Origin { block, statement } = origin(point, *line);
                        if !statement.is_empty() {
                            let block = self.blocks.entry(block).or_default();
                            *block.statements.entry(statement).or_default() += count;
                        }
                    }
                }
            }
        }
    }
}

fn broken(folder: &Path, model: &str) -> Error {
    let source = io::Error::new(ErrorKind::InvalidData, "not what a counting model writes");
    Error::Io { path: folder.join(model), source }
}

/// Origins as text, a line each.
pub(super) fn write(origins: &[Origin]) -> String {
    let mut text = String::new();
    for Origin { block, statement } in origins {
        let _ = writeln!(text, "{block}\t{statement}");
    }
    text
}

/// Reads the text of [`write`](fn@write); `None` if it is not such a text.
fn read(text: &str) -> Option<Vec<Origin>> {
    let origin = |line: &str| {
        let (block, statement) = line.split_once('\t')?;
        Some(Origin { block: block.to_owned(), statement: statement.to_owned() })
    };
    text.lines().map(origin).collect()
}
