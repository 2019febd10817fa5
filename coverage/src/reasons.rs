//! Why some statements do not run in the tests of the blocks.

/// A reason, and what it explains.
#[derive(Clone, Copy, Debug)]
pub struct Reason {
    /// The file, or a folder with all of its files.
    pub block: &'static str,
    /// A part of the statement's line. If it is empty and `block` is a file, the whole file may be in no model.
    pub statement: &'static str,
    /// Why no test of the block reaches it.
    pub why: &'static str,
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
