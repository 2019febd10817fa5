//! Finds where a turn of a queue ends before it is used up.

use drdma_abi::Layout;
use drdma_abi::work_request::{MAX_WQE_GRANULES, WqeHeader};
use drdma_emit::prelude::*;

use super::{LENGTH, PACE};

/// Granules of an entry, at most.
const MOST_GRANULES: u64 = MAX_WQE_GRANULES as u64;

const _: () = assert!(
    MAX_WQE_GRANULES < 1 << 15 && MAX_WQE_GRANULES.div_ceil(4) < 1 << LENGTH,
    "lengths have more bits"
);

/// Fails at compile time unless the field stands where the kernel takes it from.
fn fields_stand() -> bool {
    assert_eq!(WqeHeader::field("granules").start % 32, 0, "granules stands elsewhere");
    true
}

/// Finds the heads of entries among the blocks of a turn, and ends the turn before one of them: before an entry
/// that is longer than what is left of a limited turn, and, if turns of other queues wait, when this one has had
/// its share of blocks or of time.
///
/// An entry's length is what its head says. A length that no entry can have, or that goes beyond its batch, counts
/// as one block: the decoder refuses such an entry, and drops what follows it.
///
/// Contract: a block passes in the cycle in which it comes; a head in a limited turn is held for a cycle before.
///
/// # Inputs
/// `clk`; `begins`: the next block is the first one of a turn, which counts with the one before if it `goes_on` with
/// that; `offered`, with `granules` (where a head has its length), `unread`, `remaining` (blocks of its batch), `left`
/// (of its turn, if that is `limited`): a block; `taken`: it leaves; `others`: other queues wait, and a turn may have
/// `limit` blocks.
///
/// # Outputs
/// `looking`: the block is not to leave yet; `ends`: the turn ends before the block that is offered, if it is not
/// `looking`; then `length`: blocks of the entry that was too long, if that is why, else 0; `slow`: the turn
/// took too long; `had`: its blocks; `heads`: the block begins an entry.
#[derive(LogicBlock, BlockDefault)]
#[check(fields_stand())]
pub struct Turns {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// The next block is the first one of a turn.
    pub begins: Signal<In, Bit>,
    /// With `begins`: the turn goes on with the one before: it has the same queue, and is not fresh.
    pub goes_on: Signal<In, Bit>,
    /// A block is offered.
    pub offered: Signal<In, Bit>,
    /// Length in granules that the block's head gives, if it is a head.
    pub granules: Signal<In, Bits<32>>,
    /// The block could not be read.
    pub unread: Signal<In, Bit>,
    /// Blocks of the batch from this one on.
    pub remaining: Signal<In, Bits<17>>,
    /// With `limited`: blocks of the turn from this one on.
    pub left: Signal<In, Bits<LENGTH>>,
    /// The turn may end within its batch.
    pub limited: Signal<In, Bit>,
    /// The block leaves in this cycle.
    pub taken: Signal<In, Bit>,
    /// Other queues wait.
    pub others: Signal<In, Bit>,
    /// With `others`: blocks that a turn may have: 1, 32, 64, 128 or 256.
    pub limit: Signal<In, Bits<PACE>>,
    /// The block must not leave yet.
    pub looking: Signal<Out, Bit>,
    /// The turn ends before the block that is offered.
    pub ends: Signal<Out, Bit>,
    /// With `ends`: blocks of the entry that was too long, if that is the reason; else 0.
    pub length: Signal<Out, Bits<LENGTH>>,
    /// With `ends`: the turn took too long.
    pub slow: Signal<Out, Bit>,
    /// With `ends`: blocks that the turn had; 511 stands for any more.
    pub had: Signal<Out, Bits<PACE>>,
    /// The block that is offered begins an entry.
    pub heads: Signal<Out, Bit>,

    /// The next block is a head.
    at_head: DFF<Bit>,
    /// The head was held back for the cycle in which it is examined.
    looked: DFF<Bit>,
    /// Blocks of the head's entry.
    entry: DFF<Bits<LENGTH>>,
    /// The entry has more blocks than are left.
    too_long: DFF<Bit>,
    /// Blocks up to the next head.
    rest: DFF<Bits<LENGTH>>,
    /// Blocks that have left; 511 stands for any more.
    count: DFF<Bits<PACE>>,
    /// Cycles since the first block; 1,024 stands for any more.
    time: DFF<Bits<11>>,
    /// The turn has had as many blocks as it may.
    served: DFF<Bit>,
    /// The turn has lasted as long as it may.
    late: DFF<Bit>,
    blocks: Signal<Local, Bits<LENGTH>>,
    less_one: Signal<Local, Bits<LENGTH>>,
    sane: Signal<Local, Bit>,
}

impl Logic for Turns {
    #[hdl_gen]
    fn update(&mut self) {
        // The entry, if the block is its head.
        self.blocks.next = self.granules.val().get_bits::<LENGTH>(2)
            + bit_cast::<LENGTH, 1>(self.granules.val().get_bits::<2>(0).any().into());
        self.less_one.next = self.granules.val().get_bits::<LENGTH>(2);
        if !self.granules.val().get_bits::<2>(0).any() {
            self.less_one.next = self.granules.val().get_bits::<LENGTH>(2) - 1;
        }
        self.sane.next = !self.unread.val()
            && !self.granules.val().get_bits::<17>(15).any()
            && self.granules.val().get_bits::<14>(1).any()
            && (self.granules.val().get_bits::<15>(0) <= bits::<15>(MOST_GRANULES))
            && (bit_cast::<19, 15>(self.granules.val().get_bits::<15>(0))
                <= (bit_cast::<19, 17>(self.remaining.val()) << 2));
        self.looked.d.next = self.offered.val() && self.at_head.q.val() && !self.taken.val();
        self.entry.d.next = self.blocks.val();
        self.too_long.d.next = self.sane.val()
            && (self.granules.val().get_bits::<15>(0)
                > (bit_cast::<15, LENGTH>(self.left.val()) << 2));

        // Blocks and cycles of the turn so far.
        self.served.d.next = self.others.val() && (self.count.q.val() >= self.limit.val());
        self.late.d.next = self.others.val() && self.time.q.val().get_bit(10);
        if self.count.q.val().any() && !self.time.q.val().get_bit(10) {
            self.time.d.next = self.time.q.val() + 1;
        }

        self.looking.next = self.limited.val() && self.at_head.q.val() && !self.looked.q.val();
        self.ends.next = self.at_head.q.val()
            && ((self.count.q.val().any() && (self.served.q.val() || self.late.q.val()))
                || (self.limited.val() && self.too_long.q.val()));
        self.had.next = self.count.q.val();
        self.heads.next = self.at_head.q.val();
        self.length.next = 0.into();
        self.slow.next = false;
        if self.limited.val() && self.too_long.q.val() {
            self.length.next = self.entry.q.val();
        } else {
            self.slow.next = self.late.q.val();
        }

        if self.taken.val() {
            if !self.count.q.val().all() {
                self.count.d.next = self.count.q.val() + 1;
            }
            self.rest.d.next = self.rest.q.val() - 1;
            self.at_head.d.next = self.rest.q.val() == 1;
            if self.at_head.q.val() {
                self.rest.d.next = self.less_one.val();
                self.at_head.d.next = !self.sane.val() || !self.less_one.val().any();
            }
        }
        if self.begins.val() {
            self.at_head.d.next = true;
            self.looked.d.next = false;
            if !self.goes_on.val() {
                self.count.d.next = 0.into();
                self.time.d.next = 0.into();
            }
        }
    }
}
