//! Which lines of a design are reached, and which bits toggle.
//!
//! With `DRDMA_VERILATED_COVERAGE=DIR` in the environment models count, and every instance adds its
//! counts to `DIR/TOP-HASH.dat` when it is dropped, whichever process it is in: one file a design, in
//! Verilator's own format, which `verilator_coverage` reads. Beside it lies `TOP-HASH.v`, the design's
//! Verilog.

use crate::{Error, Result, Source};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Where counts are kept, if they are.
pub fn folder() -> Option<PathBuf> {
    std::env::var_os("DRDMA_VERILATED_COVERAGE").map(PathBuf::from)
}

/// Where the counts of one design go.
#[derive(Clone, Debug)]
pub(crate) struct Counts {
    folder: PathBuf,
    name: String,
}

impl Counts {
    /// Those of `source`, whose Verilog is written beside them.
    pub(crate) fn new(source: &Source, folder: PathBuf) -> Result<Self> {
        let text: String = source.texts.iter().map(|(_, text)| text.as_str()).collect();
        let hash = Sha256::digest(&text);
        let hash = hash[..6].iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        let name = format!("{}-{hash}", source.top);
        fs::create_dir_all(&folder).map_err(Error::io(&folder))?;
        let path = folder.join(format!("{name}.v"));
        fs::write(&path, text).map_err(Error::io(&path))?;
        Ok(Self { folder, name })
    }

    /// Adds what `write` writes to the path that it is given.
    pub(crate) fn add(&self, write: impl FnOnce(&Path)) -> Result<()> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let fresh = self.folder.join(format!("{}.{}-{count}", self.name, std::process::id()));
        write(&fresh);
        let more = fs::read_to_string(&fresh).map_err(Error::io(&fresh))?;
        fs::remove_file(&fresh).map_err(Error::io(&fresh))?;
        let lock_path = self.folder.join(format!("{}.lock", self.name));
        let lock = File::create(&lock_path).map_err(Error::io(&lock_path))?;
        lock.lock().map_err(Error::io(&lock_path))?;
        let path = self.folder.join(format!("{}.dat", self.name));
        let before = match path.is_file() {
            true => fs::read_to_string(&path).map_err(Error::io(&path))?,
            false => String::new(),
        };
        fs::write(&path, sum(&before, &more)).map_err(Error::io(&path))
    }
}

/// The sum of two files of counts.
fn sum(a: &str, b: &str) -> String {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for line in a.lines().chain(b.lines()) {
        if let Some((point, count)) = line.rsplit_once(' ')
            && line.starts_with("C ")
            && let Ok(count) = count.parse::<u64>()
        {
            *counts.entry(point).or_default() += count;
        }
    }
    counts.iter().fold("# SystemC::Coverage-3\n".to_owned(), |mut text, (point, count)| {
        let _ = writeln!(text, "{point} {count}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_summed_point_by_point() {
        let a = "# SystemC::Coverage-3\nC 'x y' 3\nC 'z' 0\n";
        let b = "# SystemC::Coverage-3\nC 'x y' 4\nC 'w' 1\n";
        assert_eq!(sum(a, b), "# SystemC::Coverage-3\nC 'w' 1\nC 'x y' 7\nC 'z' 0\n");
        assert_eq!(sum("", a), a);
    }
}
