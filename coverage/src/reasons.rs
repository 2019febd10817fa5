//! Reasons why some statements do not run in the tests of the blocks.

/// A reason, and the statements that it explains.
#[derive(Clone, Copy, Debug)]
pub struct Reason {
    /// The file, or a folder with all of its files.
    pub block: &'static str,
    /// A part of the statement's line. If it is empty, the whole file, or files of the folder, may be in no model.
    pub statement: &'static str,
    /// Reason why no test of the block runs the statement.
    pub why: &'static str,
}

impl Reason {
    /// True if that file is the block, or in its folder.
    pub fn holds(&self, file: &str) -> bool {
        let behind = file.strip_prefix(self.block);
        behind.is_some_and(|behind| behind.is_empty() || behind.starts_with('/'))
    }
}

/// Reason for assemblies.
const WIRES: &str = "It wires blocks that have tests of their own; the tests of the whole card (the crates `sim` and \
    `tests`) build it.";
/// Reason for rings.
const POSTS: &str = "A doorbell must ask for more than the ring holds while a turn of its queue goes on; the hosts of \
    the tests ring none.";
/// Reason for requests that were checked before they are sent.
const CHANGES: &str = "Only a host that changes memory between the check and the sending leads here; the test that \
    changes it meets other checks first.";
/// Reason for chains.
const CHAINS: &str = "Chains are followed to their ends when they are judged; only a host that changes them afterwards \
    leads here.";
/// Reason for positions.
const PLACES: &str =
    "A list must prove wrong while a position waits to be stored; no test meets that.";
/// Reason for saturated numbers.
const LARGE: &str = "Rows and messages of 3 GiB and more are larger than the memory of its tests.";
/// Reason for the walker.
const WALKER: &str = "The walker reads again what was counted or scanned before; only a host that changes memory in \
    between leads here.";

/// All reasons. One that explains no statement is an error.
pub const REASONS: &[Reason] = &[
    Reason { block: "hdl/src/receive/path.rs", statement: "", why: WIRES },
    Reason { block: "hdl/src/rows/columns/mod.rs", statement: "", why: WIRES },
    Reason { block: "hdl/src/top/wiring", statement: "", why: WIRES },
    Reason {
        block: "hdl/src/receive/receives/scatter/pieces.rs",
        statement: "self.state.d.next = ScatterState::Cut;",
        why: "The transposer of its tests never lets its queue of columns fill.",
    },
    Reason {
        block: "hdl/src/receive/receives/scatter/placings.rs",
        statement: "self.state.d.next = ScatterState::Seek;",
        why: "Only of a datagram bytes of a receive are left out, and a datagram that takes one with `APPEND` \
              is refused.",
    },
    Reason {
        block: "hdl/src/request/queue/kernel/turn.rs",
        statement: "self.difference.d.next = bit_cast",
        why: POSTS,
    },
    Reason {
        block: "hdl/src/request/queue/kernel/turn.rs",
        statement: "self.target.d.next = self.position",
        why: POSTS,
    },
    Reason {
        block: "hdl/src/request/queue/kernel/turn.rs",
        statement: "self.state.d.next = QueueState::Finish;",
        why: "A rest must wait while its queue is in the middle of a message in parts; the random tests do \
              not come to that.",
    },
    Reason {
        block: "hdl/src/rows/kinds/finder/blocks.rs",
        statement: "self.state.d.next = FinderState::Unread;",
        why: CHAINS,
    },
    Reason {
        block: "hdl/src/rows/kinds/finder/rows.rs",
        statement: "self.row_bad.d.next = true;",
        why: CHAINS,
    },
    Reason {
        block: "hdl/src/rows/kinds/giver/messages.rs",
        statement: "self.fails.next = true;",
        why: CHANGES,
    },
    Reason {
        block: "hdl/src/rows/kinds/lister/positions.rs",
        statement: "self.failure.d.next = PROTECTION.into();",
        why: PLACES,
    },
    Reason {
        block: "hdl/src/rows/kinds/lister/positions.rs",
        statement: "self.state.d.next = ListerState::Finish;",
        why: PLACES,
    },
    Reason {
        block: "hdl/src/rows/kinds/lister/regions.rs",
        statement: "self.failure.d.next = PROTECTION.into();",
        why: CHANGES,
    },
    Reason {
        block: "hdl/src/rows/kinds/lister/regions.rs",
        statement: "self.state.d.next = ListerState::Finish;",
        why: CHANGES,
    },
    Reason {
        block: "hdl/src/rows/kinds/lister/regions.rs",
        statement: "self.unit_bytes.d.next = MOST_BYTES.into();",
        why: LARGE,
    },
    Reason {
        block: "hdl/src/rows/kinds/lister/rows.rs",
        statement: "self.failure.d.next = PROTECTION.into();",
        why: CHANGES,
    },
    Reason {
        block: "hdl/src/rows/kinds/lister/rows.rs",
        statement: "self.state.d.next = ListerState::Finish;",
        why: CHANGES,
    },
    Reason {
        block: "hdl/src/rows/kinds/lister/rows.rs",
        statement: "self.sum.d.next = self.sum.q.val();",
        why: LARGE,
    },
    Reason {
        block: "hdl/src/rows/kinds/lister/rows.rs",
        statement: "self.wanted.row.next = MOST_BYTES.into();",
        why: LARGE,
    },
    Reason {
        block: "hdl/src/rows/kinds/planner.rs",
        statement: "self.made.d.next.bytes = MOST_BYTES.into();",
        why: LARGE,
    },
    Reason {
        block: "hdl/src/rows/sequencer/plan/kernel/judge.rs",
        statement: "self.bad_dest.d.next = 0.into();",
        why: "The destinations of a partitioned request have the same lanes, and their quick judgement, which comes \
              first, finds wrong ids.",
    },
    Reason {
        block: "hdl/src/rows/sequencer/walker/rows.rs",
        statement: "self.fails.d.next = true;",
        why: WALKER,
    },
    Reason {
        block: "hdl/src/rows/sequencer/walker/rows.rs",
        statement: "self.state.d.next = WalkerState::Done;",
        why: WALKER,
    },
    Reason {
        block: "hdl/src/rows/sequencer/walker/units.rs",
        statement: "self.fails.d.next = true;",
        why: WALKER,
    },
    Reason {
        block: "hdl/src/rows/sequencer/walker/units.rs",
        statement: "self.state.d.next = WalkerState::Done;",
        why: WALKER,
    },
    Reason {
        block: "hdl/src/send/replies/fetcher/kernel/pages.rs",
        statement: "self.pages.d.next = self.pages.q.val() + 1;",
        why: "Two pages must come back in the cycle in which one is taken.",
    },
    Reason {
        block: "hdl/src/send/segmenter/issuer/tables.rs",
        statement: "self.asked.write_lanes.next = 1.into();",
        why: "Its own tests send no READ and no atomic; those of the card do.",
    },
];
