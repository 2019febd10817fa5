//! Finds the entries that are sent in parts, and where a part ends.

use crate::request::decoder::fields::Fields;
use crate::request::{LOG_PART_UNIT, PART};
use drdma_abi::receive::{ReliableOpcode, request_flags};
use drdma_abi::work_request::{MAX_MESSAGE, Opcode, WQE_MAGIC, flags};
use drdma_emit::prelude::*;

/// Flags of entries that are not sent in parts.
const OTHERS: u64 = (flags::PARTITIONED | flags::INLINE | request_flags::ADDRESS) as u64;
/// Granules of an entry of one destination with one contiguous region.
const GRANULES: u64 = 5;

const _: () = assert!(
    WQE_MAGIC == 0xd7 && Opcode::WriteImm as u8 == 3 && ReliableOpcode::SendInvalidate as u8 == 16,
    "the opcodes and flags of the kernel"
);
const _: () = assert!(MAX_MESSAGE == 1 << 31, "the bit that a longer message has");

/// Finds entries that are sent in *parts*: a SEND or a WRITE of a queue pair's own queue, with one contiguous
/// region of more bytes than a part may have.
///
/// Such an entry has two blocks. The second one, which has the region's length, is held for a cycle before it leaves,
/// if the region has at least a unit of parts (`2^LOG_PART_UNIT` bytes).
///
/// # Inputs
/// `clk`; `begins`: the next block is the first one of a turn; `offered`, with `head`, `dest`, `unread`, `heads` (it
/// begins an entry), `read_head`, `splits` (its queue pair's messages have parts), `shared` (of a shared queue), `lone`
/// (there is no block behind it in its batch): a block; `taken`: it leaves; `part`: where the part of the current entry
/// begins, `log_units`: the binary logarithm of the units that it has, but for the last.
///
/// # Outputs
/// `looking`: the block is not to leave yet; `pauses`: with it a part leaves that is not the last; then `next_part`:
/// where the next one begins, and `next_is_last`.
#[derive(LogicBlock, BlockDefault)]
pub struct Parts {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// The next block is the first one of a turn.
    pub begins: Signal<In, Bit>,
    /// A block is offered.
    pub offered: Signal<In, Bit>,
    /// The block's first granule: that of a head, or a region.
    pub head: Signal<In, Bits<128>>,
    /// The first granule of a block that is not kept, as it is offered: like `head`, but known earlier.
    pub read_head: Signal<In, Bits<128>>,
    /// The block's last two granules: if it is a head, those of a destination.
    pub dest: Signal<In, Bits<256>>,
    /// The block could not be read.
    pub unread: Signal<In, Bit>,
    /// The block is the first one of an entry.
    pub heads: Signal<In, Bit>,
    /// Messages of the queue pair are sent in parts.
    pub splits: Signal<In, Bit>,
    /// The block's queue is shared.
    pub shared: Signal<In, Bit>,
    /// The block is the last one of its batch.
    pub lone: Signal<In, Bit>,
    /// Beginning of the part, in units.
    pub part: Signal<In, Bits<PART>>,
    /// Binary logarithm of the part's length in units, 0 to 2.
    pub log_units: Signal<In, Bits<2>>,
    /// The block leaves in this cycle.
    pub taken: Signal<In, Bit>,
    /// The block must not leave yet.
    pub looking: Signal<Out, Bit>,
    /// A part leaves with this block, and the message goes on in another one.
    pub pauses: Signal<Out, Bit>,
    /// With `pauses`: beginning of the next part, in units.
    pub next_part: Signal<Out, Bits<PART>>,
    /// With `pauses`: the next part is the message's last one.
    pub next_is_last: Signal<Out, Bit>,

    head_fields: Fields,
    read_fields: Fields,
    dest_fields: Fields,
    dest_rest: Fields,
    is_send_or_write: Signal<Local, Bit>,
    is_plain: Signal<Local, Bit>,
    divides: Signal<Local, Bit>,
    /// The next block is the second one of an entry that may have parts.
    second: DFF<Bit>,
    /// The second block was held back for the cycle in which it is examined.
    weighed: DFF<Bit>,
    weighs: Signal<Local, Bit>,
    units: Signal<Local, Bits<PART>>,
    next: DFF<Bits<PART>>,
    after_next: DFF<Bits<PART>>,
    count: Signal<Local, Bits<PART>>,
    /// The region of a block that is not kept has a unit at least.
    is_large: Signal<Local, Bit>,
    unused_count: Signal<Local, Bits<32>>,
    rest: Signal<Local, Bit>,
    is_long: Signal<Local, Bit>,
    is_legal: Signal<Local, Bit>,
    goes_on: DFF<Bit>,
}

impl Logic for Parts {
    #[hdl_gen]
    fn update(&mut self) {
        self.head_fields.data.next = self.head.val();
        self.read_fields.data.next = self.read_head.val();
        self.dest_fields.data.next = self.dest.val().get_bits::<128>(0);
        self.dest_rest.data.next = self.dest.val().get_bits::<128>(128);

        // The head, with its destination.
        self.is_send_or_write.next = !self.head_fields.head_opcode.val().get_bits::<6>(2).any()
            || (self.head_fields.head_opcode.val() == 16);
        self.is_plain.next = !(self.head_fields.head_flags.val() & bits::<8>(OTHERS)).any()
            && !(self.dest_rest.dest_types.val() & 3).any()
            && !self.dest_rest.dest_layout.val().any();
        self.divides.next = (self.head_fields.head_magic.val() == 0xd7)
            && self.is_send_or_write.val()
            && self.is_plain.val()
            && (self.head_fields.head_destinations.val() == 1)
            && (self.head_fields.head_granules.val() == GRANULES)
            && (self.dest_fields.dest_regions.val() == 1)
            && !self.unread.val()
            && (self.splits.val() || self.part.val().any())
            && !self.shared.val()
            && !self.lone.val();
        if self.taken.val() {
            self.second.d.next = self.heads.val() && self.divides.val();
        }

        // The region's length, in units and bytes beyond them.
        self.units.next = bits::<PART>(1) << self.log_units.val();
        self.next.d.next = self.part.val() + self.units.val();
        self.after_next.d.next = self.next.q.val() + self.units.val();
        self.count.next = self.head_fields.region_count.val().get_bits::<PART>(LOG_PART_UNIT);
        self.rest.next = self.head_fields.region_count.val().get_bits::<LOG_PART_UNIT>(0).any();
        // A block that is kept has a part.
        self.unused_count.next = self.read_fields.region_count.val();
        self.is_large.next = self.unused_count.val().get_bits::<PART>(LOG_PART_UNIT).any();
        self.weighs.next = self.offered.val()
            && self.second.q.val()
            && !self.unread.val()
            && !self.weighed.q.val()
            && (self.is_large.val() || self.part.val().any());
        self.is_long.next = (self.count.val() > self.next.q.val())
            || ((self.count.val() == self.next.q.val()) && self.rest.val());
        self.is_legal.next = !self.head_fields.region_count.val().get_bit(31)
            || !self.head_fields.region_count.val().get_bits::<31>(0).any();
        self.goes_on.d.next = self.is_long.val() && self.is_legal.val();
        self.weighed.d.next = (self.weighs.val() || self.weighed.q.val()) && !self.taken.val();
        if self.begins.val() {
            self.second.d.next = false;
            self.weighed.d.next = false;
        }

        self.looking.next = self.weighs.val();
        self.pauses.next = self.weighed.q.val() && self.goes_on.q.val();
        self.next_part.next = self.next.q.val();
        self.next_is_last.next = (self.count.val() < self.after_next.q.val())
            || ((self.count.val() == self.after_next.q.val()) && !self.rest.val());
    }
}
