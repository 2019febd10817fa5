//! The source files of the kernels.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Folder of the blocks.
const BLOCKS: &str = "hdl/src";
/// Text that marks a kernel.
const KERNEL: &str = "#[hdl_gen]";

/// The text of every file of `hdl/src`, by its path in the workspace; without the tests.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// Lines by file.
    pub files: BTreeMap<String, Vec<String>>,
}

impl Sources {
    /// Reads the files.
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

    /// The text of a line, counted from 1; `statement` itself if that is no line.
    pub fn text<'a>(&'a self, file: &str, statement: &'a str) -> &'a str {
        let line = statement.parse::<usize>().ok().and_then(|line| line.checked_sub(1));
        let text = line.and_then(|line| self.files.get(file)?.get(line));
        text.map_or(statement, |text| text.trim())
    }

    /// The files with a kernel, or with parts of one in which something is counted. Parts of wires alone leave no
    /// trace in a model: the kernel's file stands for them.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        let files = self.files.iter().filter(|(_, lines)| {
            let has = |what: fn(&str) -> bool| lines.iter().any(|line| what(line.trim()));
            has(|line| line == KERNEL) && (has(begins_block) || has(is_condition))
        });
        files.map(|(file, _)| &**file)
    }
}

/// True for `impl Logic for Block` and for the end of a longer one, `> Logic for Block<N>`.
fn begins_block(line: &str) -> bool {
    !line.starts_with("//") && line.contains(" Logic for ")
}

/// True for a line that begins a branch.
fn is_condition(line: &str) -> bool {
    ["if ", "match ", "} else"].iter().any(|begin| line.starts_with(begin))
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
    fn parts_of_wires_alone_stand_in_no_list() {
        let files = [
            (
                "kernel.rs",
                "impl<const N: usize> Logic for Block<N> {\n#[hdl_gen]\nself.a.next = 1;",
            ),
            ("part.rs", "impl Block {\n    #[hdl_gen]\n    if self.b.val() {\n    }"),
            ("choice.rs", "impl Block {\n    #[hdl_gen]\n    match self.b.val() {\n    }"),
            ("wires.rs", "impl Block {\n    #[hdl_gen]\n    self.a.next = self.b.val();"),
            ("record.rs", "if true {}"),
        ];
        let lines = |text: &str| text.lines().map(str::to_owned).collect();
        let files = files.map(|(name, text)| (name.to_owned(), lines(text))).into();
        let sources = Sources { files };
        let kernels: Vec<_> = sources.kernels().collect();
        assert_eq!(kernels, ["choice.rs", "kernel.rs", "part.rs"]);
    }

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
