//! Why some statements do not run in the tests of the blocks.

/// A reason, and what it explains.
#[derive(Clone, Copy, Debug)]
pub struct Reason {
    /// The file, or a folder with all of its files.
    pub block: &'static str,
    /// A part of the statement's line. If it is empty, the whole file, or files of the folder, may be in no model.
    pub statement: &'static str,
    /// Why no test of the block reaches it.
    pub why: &'static str,
}

impl Reason {
    /// True if that file is the block, or in its folder.
    pub fn holds(&self, file: &str) -> bool {
        let behind = file.strip_prefix(self.block);
        behind.is_some_and(|behind| behind.is_empty() || behind.starts_with('/'))
    }
}

/// Everything that may stay without a test. A reason that explains nothing is an error.
pub const REASONS: &[Reason] = &[
    Reason {
        block: "hdl/src/layout/segmented_memory/mod.rs",
        statement: "self.done.d.next = 0.into()",
        why: "Its test has no reset.",
    },
    Reason {
        block: "hdl/src/receive/atomics/mod.rs",
        statement: ".d.next = false;",
        why: "Its tests reset it for one cycle, in which nothing is counted yet.",
    },
];
