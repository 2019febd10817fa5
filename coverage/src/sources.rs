//! The kernels' files.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Where the blocks stand.
const BLOCKS: &str = "hdl/src";
/// What marks a kernel.
const KERNEL: &str = "#[hdl_gen]";

/// The text of every file of `hdl/src`, by its path in the workspace; without the tests.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// Lines by file.
    pub files: BTreeMap<String, Vec<String>>,
}

impl Sources {
    /// Reads them.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn read(root: &Path) -> Result<Self, String> {
        let (mut sources, mut folders) = (Self::default(), vec![PathBuf::from(BLOCKS)]);
        while let Some(folder) = folders.pop() {
            let named = |error| format!("{}: {error}", folder.display());
            for entry in fs::read_dir(root.join(&folder)).map_err(named)? {
                let entry = entry.map_err(named)?;
                let path = folder.join(entry.file_name());
                if entry.file_type().map_err(named)?.is_dir() {
                    folders.push(path);
                } else if is_block(&path) {
                    let text = fs::read_to_string(root.join(&path)).map_err(named)?;
                    let lines = text.lines().map(str::to_owned).collect();
                    sources.files.insert(path.display().to_string(), lines);
                }
            }
        }
        Ok(sources)
    }

    /// What stands on a line, counted from 1; the statement itself if that is no line.
    pub fn text<'a>(&'a self, file: &str, statement: &'a str) -> &'a str {
        let line = statement.parse::<usize>().ok().and_then(|line| line.checked_sub(1));
        let text = line.and_then(|line| self.files.get(file)?.get(line));
        text.map_or(statement, |text| text.trim())
    }

    /// The files with a kernel.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        let has_kernel = |lines: &[String]| lines.iter().any(|line| line.trim() == KERNEL);
        self.files.iter().filter(move |(_, lines)| has_kernel(lines)).map(|(file, _)| &**file)
    }
}

/// True for Rust files that are not tests.
fn is_block(path: &Path) -> bool {
    let tests = ["tests", "tests.rs", "testing.rs"];
    path.extension().is_some_and(|extension| extension == "rs")
        && !path.iter().any(|part| tests.iter().any(|test| part == *test))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_blocks_of_this_workspace_are_found_and_no_tests() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace");
        let sources = Sources::read(root).unwrap();
        let kernels: Vec<_> = sources.kernels().collect();
        assert!(kernels.contains(&"hdl/src/top/wiring/mod.rs"), "{kernels:?}");
        assert!(!kernels.iter().any(|file| file.contains("tests")), "{kernels:?}");
        let gone = sources.text("hdl/src/top/mod.rs", "0");
        assert_eq!(gone, "0");
        assert_eq!(sources.text("hdl/src/lib.rs", "1"), "//! The D-RDMA card in RustHDL.");
    }
}
