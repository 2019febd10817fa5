//! Makes ids from keys: replaces the keys that were read of a partitioned request's rows by the ids of these rows.

mod hash;
mod kernel;
mod range;
mod remainder;
#[cfg(test)]
mod tests;
mod values;

use super::record::{Purpose, Read};
use crate::primitive::{Delay, Flatten, Pack, Ram, RamStyle, Restore, StreamFifo, StreamSkid};
use drdma_emit::prelude::*;
use hash::{HASH_STAGES, Hash};
use range::Range;
use remainder::{Division, ID_STAGES, Reciprocals, Remainder};
use values::{Group, Values};

/// Binary logarithm of the fewest bytes of a value that is hashed as two words.
const TWO_WORDS: u64 = 3;
/// Stages of the pipeline of groups.
const STAGES: usize = HASH_STAGES + ID_STAGES;
/// Bits of a [`Tag`].
const TAG_BITS: usize = 31;
/// Bits of eight hashes and an error flag.
const STATE_BITS: usize = 8 * 32 + 1;

/// Function that makes the ids of a request.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Function {
    /// Number of partitions, 1 to 2^16.
    pub partitions: Bits<17>,
    /// Number of neighbouring partitions that share an id.
    pub group: Bits<16>,
    /// Initial value of a row's hash.
    pub seed: Bits<32>,
    /// Partitions are made by splitters, not by the hash.
    pub range: Bit,
}

/// A beat of 64 bytes of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Answer {
    /// Bytes that were read.
    pub data: Bits<512>,
    /// The read failed.
    pub error: Bit,
    /// The beat is the last one of its read.
    pub last: Bit,
    /// The read that the beat belongs to.
    pub read: Read,
}

/// A beat of 64 bytes of ids, or of an answer that passes.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Made {
    /// The ids, or the bytes that were read.
    pub data: Bits<512>,
    /// A read of the beat failed.
    pub error: Bit,
    /// Purpose of the beat; its `last` is set with the last beat of a stretch.
    pub purpose: Purpose,
}

/// Fields that accompany a group of eight rows through the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Tag {
    /// Purpose of the group's read.
    pub purpose: Purpose,
    /// The group is of the last key of its rows.
    pub closes: Bit,
    /// The group is the last one of its block.
    pub last: Bit,
    /// Number of the group in its block, 0 to 31.
    pub place: Bits<5>,
    /// A read of the group failed.
    pub error: Bit,
    /// Ids have two bytes.
    pub wide: Bit,
}

/// Makes ids from keys, for the selector and the column path; all other answers pass.
///
/// The keys of a stretch come in blocks of up to 256 rows: of each key first the validity bits, if it has such, then
/// its values. The hashes of a block's rows are kept from one key to the next. Ids leave as beats of 64 bytes; the last
/// beat of a stretch may hold less.
///
/// Eight rows a cycle for each key (four where values have 16 B); by range, eight rows in 3 cycles and one more for
/// every four splitters. The first ids of a block follow the last of their values after 44 cycles, and a key's values
/// wait until the key before has left the hash. A request's first answer waits until the ids before have left and its
/// function has been known for 33 cycles. Other answers pass in the same cycle, but not while ids are made. May stall
/// at any time; `input.ready` depends on `output.ready` where an answer passes.
///
/// # Inputs
/// `input` stream, answers in order; `function` stream, one for each read that `begins`, in order; `output.ready`.
///
/// # Outputs
/// `input.ready`, `function.ready`; `output` stream.
#[derive(LogicBlock, BlockDefault)]
pub struct Partitioner {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Answers of reads, in order.
    pub input: Stream<In, Answer>,
    /// Functions of requests, in order.
    pub function: Stream<In, Function>,
    /// Ids, and answers that pass.
    pub output: Stream<Out, Made>,

    // The function at work, and the next one.
    functions: StreamFifo<Function, 2, 3>,
    has_next: DFF<Bit>,
    coming: DFF<Function>,
    division: Division,
    current: DFF<Function>,
    reciprocals: DFF<Reciprocals>,
    /// The current read begins a request, and is not complete.
    begun: DFF<Bit>,
    begins: Signal<Local, Bit>,
    may_begin: Signal<Local, Bit>,
    swaps: Signal<Local, Bit>,
    values: Values,
    /// Skid buffer for groups, so that reads do not depend on the hash in the same cycle.
    cut: StreamSkid<Group>,
    // The group that is hashed next.
    has_group: DFF<Bit>,
    group: DFF<Group>,
    takes: Signal<Local, Bit>,
    is_done: Signal<Local, Bit>,
    /// The key before has left the hash as far as this group needs.
    settled: Signal<Local, Bit>,
    groups: Signal<Local, Bits<7>>,
    #[init(Ram::new(RamStyle::Distributed))]
    state: Ram<STATE_BITS, 1, 5>,
    range: Range,
    started: DFF<Bit>,
    so_far: [Signal<Local, Bits<32>>; 8],
    enters: Signal<Local, Bit>,
    leaves: Signal<Local, Bit>,
    moves: Signal<Local, Bit>,
    running: Signal<Local, Bit>,
    /// Groups in the hash (`hashed`), and in the whole pipeline (`inside`).
    hashed: DFF<Bits<7>>,
    inside: DFF<Bits<7>>,
    valid: DFF<Bits<STAGES>>,
    tag: Signal<Local, Tag>,
    tag_in: Flatten<Tag, TAG_BITS>,
    tag_hashed: Delay<TAG_BITS, HASH_STAGES>,
    tag_made: Delay<TAG_BITS, ID_STAGES>,
    hashed_tag: Restore<Tag, TAG_BITS>,
    made_tag: Restore<Tag, TAG_BITS>,
    hashes: [Hash; 8],
    kept: Pack<8, 32, 256>,
    remainders: [Remainder; 8],
    leaves_hash: Signal<Local, Bit>,
    leaves_pipeline: Signal<Local, Bit>,
    // The beat of ids that is being filled.
    narrow: Pack<8, 8, 64>,
    wide: Pack<8, 16, 128>,
    parts: [DFF<Bits<64>>; 8],
    at: DFF<Bits<3>>,
    complete: DFF<Bit>,
    failed: DFF<Bit>,
    begun_beat: DFF<Bit>,
    purpose: DFF<Purpose>,
    joined: Pack<8, 64, 512>,
    made: StreamSkid<Made>,
    idle: Signal<Local, Bit>,
    passes: Signal<Local, Bit>,
    // Fields of the tag that its two readers do not use.
    unused: Signal<Local, Tag>,
    unused_too: Signal<Local, Tag>,
}
