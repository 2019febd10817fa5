//! Makes ids from keys: replaces the keys that were read of a partitioned request's rows by the ids of these rows.

mod hash;
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

impl Logic for Partitioner {
    #[hdl_gen]
    fn update(&mut self) {
        // The next function, while the one before is at work.
        self.function.join(&mut self.functions.input);
        self.functions.output.ready.next = !self.has_next.q.val();
        self.division.start.next = self.functions.output.valid.val() && !self.has_next.q.val();
        self.division.told.next = self.coming.q.val();
        if self.division.start.val() {
            self.has_next.d.next = true;
            self.coming.d.next = self.functions.output.data.val();
        }

        // Answers: those of keys, and those that pass when no ids are under way.
        self.idle.next = !self.inside.q.val().any()
            && !self.has_group.q.val()
            && !self.cut.output.valid.val()
            && !self.values.busy.val();
        self.begins.next = self.input.read.val().begins && !self.begun.q.val();
        self.may_begin.next = !self.begins.val()
            || (self.idle.val() && self.has_next.q.val() && self.division.done.val());
        self.values.input.valid.next =
            self.input.valid.val() && self.input.read.val().made && self.may_begin.val();
        self.values.input.data.next = self.input.data.val();
        self.values.input.error.next = self.input.error.val();
        self.values.input.read.next = self.input.read.val();
        self.swaps.next =
            self.values.input.valid.val() && self.values.input.ready.val() && self.begins.val();
        if self.values.input.valid.val() && self.values.input.ready.val() {
            self.begun.d.next = self.input.read.val().begins && !self.input.last.val();
        }
        if self.swaps.val() {
            self.current.d.next = self.coming.q.val();
            self.reciprocals.d.next = self.division.found.val();
            self.has_next.d.next = false;
        }

        self.values.output.join(&mut self.cut.input);

        // A group is taken when the hashes of the keys before are ready.
        self.groups.next =
            bit_cast::<7, 5>((self.cut.output.data.val().read.rows - 1).get_bits::<5>(3)) + 1;
        self.settled.next = self.cut.output.data.val().read.opens
            || ((self.hashed.q.val() + bit_cast::<7, 1>(self.has_group.q.val().into()))
                < self.groups.val());
        self.moves.next = !self.complete.q.val() || self.made.input.ready.val();
        self.is_done.next = self.moves.val();
        if self.group.q.val().read.splitters {
            self.is_done.next = true;
        } else if self.current.q.val().range {
            self.is_done.next = self.moves.val() && self.started.q.val() && self.range.done.val();
        }
        self.leaves.next = self.has_group.q.val() && self.is_done.val();
        self.takes.next = self.cut.output.valid.val()
            && self.settled.val()
            && (!self.has_group.q.val() || self.leaves.val());
        self.cut.output.ready.next =
            self.settled.val() && (!self.has_group.q.val() || self.leaves.val());
        if self.leaves.val() {
            self.has_group.d.next = false;
            self.started.d.next = false;
        }
        if self.takes.val() {
            self.has_group.d.next = true;
            self.group.d.next = self.cut.output.data.val();
        }
        self.state.read_enable.next = self.takes.val();
        self.state.read_address.next = self.cut.output.data.val().place;

        // By range, the partition replaces the hash.
        self.range.place.next = self.group.q.val().place;
        self.range.key_type.next = self.group.q.val().read.key_type;
        self.range.log_width.next = self.group.q.val().read.log_width;
        self.range.splitters.next = (self.current.q.val().partitions - 1).get_bits::<8>(0);
        self.range.store.next = self.has_group.q.val() && self.group.q.val().read.splitters;
        self.range.start.next = self.has_group.q.val()
            && self.current.q.val().range
            && !self.group.q.val().read.splitters
            && !self.started.q.val();
        if self.range.start.val() {
            self.started.d.next = true;
        }
        for k in 0..8 {
            self.range.values[k].next = self.group.q.val().values[k];
            self.so_far[k].next = self.state.read_data.val().get_bits::<32>(k * 32);
            if self.group.q.val().read.opens {
                self.so_far[k].next = self.current.q.val().seed;
            }
            if self.current.q.val().range {
                self.so_far[k].next = bit_cast::<32, 8>(self.range.counts[k].val());
                if self.group.q.val().nulls.get_bit(k) {
                    self.so_far[k].next = 0.into();
                }
            }
        }

        // The pipeline, which stands still while it is empty.
        self.enters.next = self.leaves.val() && !self.group.q.val().read.splitters;
        self.tag.next.purpose = self.group.q.val().read.purpose;
        self.tag.next.purpose.last =
            self.group.q.val().read.purpose.last && self.group.q.val().last;
        self.tag.next.closes = self.group.q.val().read.closes;
        self.tag.next.last = self.group.q.val().last;
        self.tag.next.place = self.group.q.val().place;
        self.tag.next.error = self.group.q.val().error;
        if !self.group.q.val().read.opens {
            self.tag.next.error =
                self.group.q.val().error || self.state.read_data.val().get_bit(256);
        }
        self.tag.next.wide = self.group.q.val().read.purpose.ids.get_bit(1);
        self.tag_in.record.next = self.tag.val();
        self.running.next = self.moves.val() && (self.enters.val() || self.inside.q.val().any());
        self.tag_hashed.enable.next = self.running.val();
        self.tag_hashed.value.next = self.tag_in.bits.val();
        self.tag_made.enable.next = self.running.val();
        self.tag_made.value.next = self.tag_hashed.late.val();
        self.hashed_tag.bits.next = self.tag_hashed.late.val();
        self.made_tag.bits.next = self.tag_made.late.val();
        self.unused.next = self.hashed_tag.record.val();
        self.unused_too.next = self.made_tag.record.val();
        self.leaves_hash.next = self.running.val() && self.valid.q.val().get_bit(HASH_STAGES - 1);
        self.leaves_pipeline.next = self.running.val() && self.valid.q.val().get_bit(STAGES - 1);
        if self.running.val() {
            self.valid.d.next =
                (self.valid.q.val() << 1) | bit_cast::<STAGES, 1>(self.enters.val().into());
        }
        if self.enters.val() && !self.leaves_hash.val() {
            self.hashed.d.next = self.hashed.q.val() + 1;
        } else if !self.enters.val() && self.leaves_hash.val() {
            self.hashed.d.next = self.hashed.q.val() - 1;
        }
        if self.enters.val() && !self.leaves_pipeline.val() {
            self.inside.d.next = self.inside.q.val() + 1;
        } else if !self.enters.val() && self.leaves_pipeline.val() {
            self.inside.d.next = self.inside.q.val() - 1;
        }
        for k in 0..8 {
            self.hashes[k].enable.next = self.running.val();
            self.hashes[k].low.next = self.group.q.val().values[k].get_bits::<32>(0);
            self.hashes[k].high.next = self.group.q.val().values[k].get_bits::<32>(32);
            self.hashes[k].two.next = (self.group.q.val().read.log_width == TWO_WORDS)
                || (self.group.q.val().read.log_width == TWO_WORDS + 1);
            self.hashes[k].skip.next =
                self.current.q.val().range || self.group.q.val().nulls.get_bit(k);
            self.hashes[k].so_far.next = self.so_far[k].val();
            self.kept.parts[k].next = self.hashes[k].hash.val();
            self.remainders[k].enable.next = self.running.val();
            self.remainders[k].hash.next = self.hashes[k].hash.val();
            self.remainders[k].partitions.next = self.current.q.val().partitions;
            self.remainders[k].group.next = self.current.q.val().group;
            self.remainders[k].reciprocals.next = self.reciprocals.q.val();
            self.narrow.parts[k].next = self.remainders[k].id.val().get_bits::<8>(0);
            self.wide.parts[k].next = self.remainders[k].id.val();
        }
        self.state.write_lanes.next = bit_cast::<1, 1>(self.leaves_hash.val().into());
        self.state.write_address.next = self.hashed_tag.record.val().place;
        self.state.write_data.next =
            (bit_cast::<STATE_BITS, 1>(self.hashed_tag.record.val().error.into()) << 256)
                | bit_cast::<STATE_BITS, 256>(self.kept.whole.val());

        // Ids fill a beat.
        if self.made.input.ready.val() {
            self.complete.d.next = false;
        }
        if self.leaves_pipeline.val() && self.made_tag.record.val().closes {
            self.purpose.d.next = self.made_tag.record.val().purpose;
            self.failed.d.next = self.made_tag.record.val().error
                || (self.begun_beat.q.val() && self.failed.q.val());
            self.begun_beat.d.next = true;
            self.at.d.next = self.at.q.val() + 1;
            if self.made_tag.record.val().wide {
                self.at.d.next = self.at.q.val() + 2;
            }
            for k in 0..4 {
                if self.made_tag.record.val().wide {
                    if self.at.q.val().get_bits::<2>(1) == k.to_bits() {
                        self.parts[k * 2].d.next = self.wide.whole.val().get_bits::<64>(0);
                        self.parts[k * 2 + 1].d.next = self.wide.whole.val().get_bits::<64>(64);
                    }
                } else if self.at.q.val().get_bits::<2>(1) == k.to_bits() {
                    if self.at.q.val().get_bit(0) {
                        self.parts[k * 2 + 1].d.next = self.narrow.whole.val();
                    } else {
                        self.parts[k * 2].d.next = self.narrow.whole.val();
                    }
                }
            }
            if !self.at.d.val().any() || self.made_tag.record.val().purpose.last {
                self.complete.d.next = true;
                self.begun_beat.d.next = false;
                self.at.d.next = 0.into();
            }
        }
        for k in 0..8 {
            self.joined.parts[k].next = self.parts[k].q.val();
        }
        self.made.input.valid.next = self.complete.q.val();
        self.made.input.data.next.data = self.joined.whole.val();
        self.made.input.data.next.error = self.failed.q.val();
        self.made.input.data.next.purpose = self.purpose.q.val();

        // The output.
        self.made.output.ready.next = self.output.ready.val();
        self.passes.next = !self.input.read.val().made
            && self.idle.val()
            && !self.complete.q.val()
            && !self.made.output.valid.val();
        self.input.ready.next = self.passes.val() && self.output.ready.val();
        if self.input.read.val().made {
            self.input.ready.next = self.values.input.ready.val() && self.may_begin.val();
        }
        self.output.valid.next =
            self.made.output.valid.val() || (self.input.valid.val() && self.passes.val());
        self.output.next = self.made.output.data.val();
        if !self.made.output.valid.val() {
            self.output.data.next = self.input.data.val();
            self.output.error.next = self.input.error.val();
            self.output.purpose.next = self.input.read.val().purpose;
            self.output.purpose.next.last =
                self.input.read.val().purpose.last && self.input.last.val();
        }

        if self.rst.val() {
            self.has_next.d.next = false;
            self.begun.d.next = false;
            self.has_group.d.next = false;
            self.started.d.next = false;
            self.hashed.d.next = 0.into();
            self.inside.d.next = 0.into();
            self.valid.d.next = 0.into();
            self.at.d.next = 0.into();
            self.complete.d.next = false;
            self.begun_beat.d.next = false;
        }
    }
}
