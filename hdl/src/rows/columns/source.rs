//! Makes the masks of the column path: which rows of a turn are selected.

use super::bitmaps::Bitmaps;
use super::counter::Counter;
use super::ids::Ids;
use super::record::{CountTag, Counted, MASK_BITS, Mask};
use crate::primitive::{Fifo, Flatten, Pack, Restore, Skid};
use crate::request::{BITMAPPED, DEST_INDEX};
use crate::rows::sequencer::record::{CONTEXT_BITS, Context, Item, SCAN};
use drdma_emit::prelude::*;

/// Bits of a context, and whether the chunk is sparse.
const SHARED_BITS: usize = CONTEXT_BITS + 1;
/// Bits of the fields of an item that masks need.
const FIELDS_BITS: usize = 43;
/// Bits of an item that waits: the fields that masks need, and its context.
const WAITING_BITS: usize = FIELDS_BITS + CONTEXT_BITS;
/// Bits of a mask, and of the rows that are to be read for it.
const PAIR_BITS: usize = MASK_BITS + 512;

/// Emits the rows of each item as masks of 512 bits, for the condenser: the item's bitmap; ones if it is strided; or,
/// if its rows have ids, the rows with the item's id. Bits beyond the item's rows are 0. With each mask goes which rows
/// are to be read: the selected ones, and the item's fetch rows if it has such.
///
/// The fetch rows of a read of a bitmap, up to 8 beats, come before what was read of the bitmap, and are kept until
/// then. If they could not be read, there are none.
///
/// The bits of an item that is `kept` are taken from a stretch that was read with an earlier item of its destination,
/// or comes with this one ([`Bitmaps`]).
///
/// The rows of a [`SCAN`] are only counted ([`Counter`]): it makes no mask, and its failure is reported with its count.
/// Its item has any number of rows if they have bits, and 1 to 4,096 if they have ids. `loads` marks a destination's
/// first scan, `last` its last one. If it is `kept`, its masks are kept as a stretch that begins with row 0.
///
/// One mask a cycle, also from item to item, but 256 ids of two bytes a cycle. A mask follows its bits after 2 cycles,
/// or a strided item after 5. 4 items may wait. May stall at any time. Answers of reads come in the order of items, and
/// a stretch starts with a full beat. Ids are read once for each chunk, for the item that starts it. After a read that
/// failed, up to `clear`, every mask is 0 and none is `last`; turns and chunks still end.
///
/// # Inputs
/// `item` stream {`item`, `context`}: walks of column requests, strided or bitmapped, of 1 to 4,096 rows, or of any
/// number if they are `sparse` (bitmapped, without ids). `resp` stream {`data`, `error`, `ids` (not 0: the beat has
/// ids), `last` (the last ids of a chunk), `fetch` (fetch rows), `kept` (a stretch that is kept; `last` is its last
/// beat)}. `mask_ready`. `clear`: the request ends; only while `idle`.
///
/// # Outputs
/// `item_ready`, `resp_ready`; `mask` stream: the fields of [`Mask`] (the word is undefined for sparse chunks), `fetch`
/// (the rows to be read), `sparse` and `context`. `failed`, and `fail_index`, the number of the destination whose read
/// was the first to fail. `idle`: no item is at work, and no mask waits.
#[derive(LogicBlock)]
pub struct Source {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// An item is offered.
    pub item_valid: Signal<In, Bit>,
    /// The item is taken in this cycle.
    pub item_ready: Signal<Out, Bit>,
    /// The item.
    pub item: Signal<In, Item>,
    /// What the rows of the item have in common.
    pub item_context: Signal<In, Context>,
    /// A beat of 64 bytes that were read is offered.
    pub resp_valid: Signal<In, Bit>,
    /// The beat is taken in this cycle.
    pub resp_ready: Signal<Out, Bit>,
    /// Bytes that were read.
    pub resp_data: Signal<In, Bits<512>>,
    /// The read failed.
    pub resp_error: Signal<In, Bit>,
    /// Bytes of an id; 0 if the beat is of a bitmap.
    pub resp_ids: Signal<In, Bits<2>>,
    /// The beat has the last ids of a chunk, or is the last one of a kept stretch.
    pub resp_last: Signal<In, Bit>,
    /// The beat holds fetch rows.
    pub resp_fetch: Signal<In, Bit>,
    /// The beat is of a stretch that is kept.
    pub resp_kept: Signal<In, Bit>,
    /// A mask is offered.
    pub mask_valid: Signal<Out, Bit>,
    /// The mask is taken in this cycle.
    pub mask_ready: Signal<In, Bit>,
    /// Rows that are selected, one bit each.
    pub mask_bits: Signal<Out, Bits<512>>,
    /// Rows that are to be read, one bit each: the selected ones and the fetch rows.
    pub mask_fetch: Signal<Out, Bits<512>>,
    /// Number of the mask in its chunk: bit 0 is the row with offset 512 * `mask_word`.
    pub mask_word: Signal<Out, Bits<3>>,
    /// The mask is the first one of its chunk.
    pub mask_chunk_start: Signal<Out, Bit>,
    /// The mask is the last one of its turn.
    pub mask_turn_end: Signal<Out, Bit>,
    /// The mask is the last one of its chunk.
    pub mask_chunk_end: Signal<Out, Bit>,
    /// The mask is the last one of its destination.
    pub mask_last: Signal<Out, Bit>,
    /// The mask is of a sparse chunk.
    pub mask_sparse: Signal<Out, Bit>,
    /// What the rows have in common.
    pub mask_context: Signal<Out, Context>,
    /// The request ends; only while `idle`.
    pub clear: Signal<In, Bit>,
    /// A read has failed; held until `clear`.
    pub failed: Signal<Out, Bit>,
    /// With `failed`: number of the destination whose read was the first to fail.
    pub fail_index: Signal<Out, Bits<DEST_INDEX>>,
    /// No item is at work, and no mask waits.
    pub idle: Signal<Out, Bit>,
    /// The rows of a destination are counted.
    pub counted: Flow<Out, Counted>,

    // Items that wait; ids of those that have such are compared meanwhile.
    has_ids: Signal<Local, Bit>,
    item_fields: Signal<Local, Bits<FIELDS_BITS>>,
    item_in: Flatten<Context, CONTEXT_BITS>,
    items: Fifo<WAITING_BITS, 2, 3>,
    next: Signal<Local, Bits<FIELDS_BITS>>,
    next_context: Restore<Context, CONTEXT_BITS>,
    ids: Ids,
    scans: Signal<Local, Bit>,
    has_kept: Signal<Local, Bit>,
    bitmaps: Bitmaps,
    queued: Signal<Local, Bit>,
    // Fetch rows that wait for their bitmap, each beat with whether it could not be read.
    fetches: Fifo<513, 3, 4>,
    // The item at hand.
    busy: DFF<Bit>,
    by_ids: DFF<Bit>,
    by_kept: DFF<Bit>,
    bitmapped: DFF<Bit>,
    has_fetch: DFF<Bit>,
    left: DFF<Bits<32>>,
    sparse: DFF<Bit>,
    /// The item's rows are counted; whether it is its destination's first scan, and whether its masks are kept.
    counts: DFF<Bit>,
    opens: DFF<Bit>,
    stores: DFF<Bit>,
    first_word: DFF<Bit>,
    /// Number of the item's next mask, modulo 16.
    word: DFF<Bits<4>>,
    chunk_start: DFF<Bit>,
    chunk_end: DFF<Bit>,
    last: DFF<Bit>,
    context: DFF<Context>,
    final_word: Signal<Local, Bit>,
    /// 512 rows or more are left.
    many: Signal<Local, Bit>,
    step: Signal<Local, Bit>,
    advance: Signal<Local, Bit>,
    take_item: Signal<Local, Bit>,
    given: Signal<Local, Bit>,
    error: Signal<Local, Bit>,
    has_failed: DFF<Bit>,
    failed_index: DFF<Bits<DEST_INDEX>>,
    failing: Signal<Local, Bit>,
    unused: Signal<Local, Bits<162>>,
    // 512 bits, and which of them count: 64-bit words that count as a whole or in part, and the bits that count of a
    // part.
    raw_valid: DFF<Bit>,
    raw: DFF<Bits<512>>,
    raw_fetch: DFF<Bits<512>>,
    raw_has_fetch: DFF<Bit>,
    whole: DFF<Bits<8>>,
    part: DFF<Bits<8>>,
    part_bits: DFF<Bits<64>>,
    tag: DFF<Mask>,
    raw_sparse: DFF<Bit>,
    raw_counts: DFF<Bit>,
    count_tag: DFF<CountTag>,
    counter: Counter,
    raw_context: DFF<Context>,
    ones: Constant<Bits<512>>,
    short_ones: Constant<Bits<64>>,
    cut: Pack<8, 64, 512>,
    cut_fetch: Pack<8, 64, 512>,
    mask: Signal<Local, Mask>,
    mask_in: Flatten<Mask, MASK_BITS>,
    context_in: Flatten<Context, CONTEXT_BITS>,
    masks: Skid<PAIR_BITS>,
    contexts: Skid<SHARED_BITS>,
    mask_out: Restore<Mask, MASK_BITS>,
    context_out: Restore<Context, CONTEXT_BITS>,
}

impl Default for Source {
    fn default() -> Self {
        let ones = (num_bigint::BigUint::from(1_u8) << 512_u32) - 1_u8;
        Self {
            clk: Default::default(),
            rst: Default::default(),
            item_valid: Default::default(),
            item_ready: Default::default(),
            item: Default::default(),
            item_context: Default::default(),
            resp_valid: Default::default(),
            resp_ready: Default::default(),
            resp_data: Default::default(),
            resp_error: Default::default(),
            mask_valid: Default::default(),
            mask_ready: Default::default(),
            mask_bits: Default::default(),
            mask_word: Default::default(),
            mask_chunk_start: Default::default(),
            mask_turn_end: Default::default(),
            mask_chunk_end: Default::default(),
            mask_last: Default::default(),
            mask_sparse: Default::default(),
            mask_context: Default::default(),
            clear: Default::default(),
            failed: Default::default(),
            fail_index: Default::default(),
            idle: Default::default(),
            has_ids: Default::default(),
            item_fields: Default::default(),
            item_in: Default::default(),
            items: Default::default(),
            next: Default::default(),
            next_context: Default::default(),
            ids: Default::default(),
            scans: Default::default(),
            has_kept: Default::default(),
            bitmaps: Default::default(),
            queued: Default::default(),
            by_kept: Default::default(),
            by_ids: Default::default(),
            given: Default::default(),
            error: Default::default(),
            resp_ids: Default::default(),
            resp_last: Default::default(),
            resp_fetch: Default::default(),
            resp_kept: Default::default(),
            mask_fetch: Default::default(),
            fetches: Default::default(),
            raw_has_fetch: Default::default(),
            has_fetch: Default::default(),
            raw_fetch: Default::default(),
            cut_fetch: Default::default(),
            busy: Default::default(),
            bitmapped: Default::default(),
            left: Default::default(),
            sparse: Default::default(),
            many: Default::default(),
            raw_sparse: Default::default(),
            counted: Default::default(),
            counts: Default::default(),
            opens: Default::default(),
            stores: Default::default(),
            first_word: Default::default(),
            raw_counts: Default::default(),
            count_tag: Default::default(),
            counter: Default::default(),
            word: Default::default(),
            chunk_start: Default::default(),
            chunk_end: Default::default(),
            last: Default::default(),
            context: Default::default(),
            final_word: Default::default(),
            step: Default::default(),
            advance: Default::default(),
            take_item: Default::default(),
            has_failed: Default::default(),
            failed_index: Default::default(),
            failing: Default::default(),
            unused: Default::default(),
            raw_valid: Default::default(),
            raw: Default::default(),
            whole: Default::default(),
            part: Default::default(),
            part_bits: Default::default(),
            tag: Default::default(),
            raw_context: Default::default(),
            cut: Default::default(),
            mask: Default::default(),
            mask_in: Default::default(),
            context_in: Default::default(),
            masks: Default::default(),
            contexts: Default::default(),
            mask_out: Default::default(),
            context_out: Default::default(),
            ones: Constant::new(ones.into()),
            short_ones: Constant::new(u64::MAX.to_bits()),
        }
    }
}

impl Logic for Source {
    #[hdl_gen]
    fn update(&mut self) {
        // A step takes 512 rows of the item.
        self.advance.next =
            !self.raw_valid.q.val() || self.raw_counts.q.val() || self.masks.in_ready.val();
        self.final_word.next = self.left.q.val() <= 512;
        self.many.next = self.left.q.val().get_bits::<23>(9).any();
        self.resp_ready.next = self.busy.q.val()
            && self.bitmapped.q.val()
            && !self.by_ids.q.val()
            && !self.by_kept.q.val()
            && (!self.has_fetch.q.val() || self.fetches.out_valid.val())
            && self.advance.val();
        self.given.next = self.resp_valid.val()
            && !self.resp_fetch.val()
            && !self.resp_ids.val().any()
            && !self.resp_kept.val()
            && (!self.has_fetch.q.val() || self.fetches.out_valid.val());
        self.error.next = self.bitmapped.q.val() && self.resp_error.val();
        if self.by_ids.q.val() {
            self.given.next = self.ids.out_valid.val();
            self.error.next = self.ids.out_error.val();
        }
        if self.by_kept.q.val() {
            self.given.next = self.bitmaps.out_valid.val();
            self.error.next = self.bitmaps.out_error.val();
        }
        self.step.next = self.busy.q.val()
            && self.advance.val()
            && (!self.bitmapped.q.val() || self.given.val());
        self.failing.next = self.has_failed.q.val() || self.error.val();
        self.ids.out_ready.next = self.busy.q.val() && self.by_ids.q.val() && self.advance.val();
        self.ids.resp_valid.next = self.resp_valid.val() && self.resp_ids.val().any();
        self.ids.resp_data.next = self.resp_data.val();
        self.ids.resp_error.next = self.resp_error.val();
        self.ids.resp_last.next = self.resp_last.val();
        if self.resp_ids.val().any() {
            self.resp_ready.next = self.ids.resp_ready.val();
        }
        // Answers come in the order of items: a kept stretch waits at the input until its item is at work.
        self.bitmaps.out_ready.next =
            self.busy.q.val() && self.by_kept.q.val() && self.advance.val();
        self.bitmaps.resp_valid.next = self.resp_valid.val()
            && !self.resp_ids.val().any()
            && !self.resp_fetch.val()
            && self.resp_kept.val();
        self.bitmaps.resp_data.next = self.resp_data.val();
        self.bitmaps.resp_error.next = self.resp_error.val();
        self.bitmaps.resp_last.next = self.resp_last.val();
        if self.resp_kept.val() {
            self.resp_ready.next = self.bitmaps.resp_ready.val();
        }
        self.fetches.in_valid.next = self.resp_valid.val() && self.resp_fetch.val();
        self.fetches.in_data.next = bit_cast::<513, 512>(self.resp_data.val())
            | (bit_cast::<513, 1>(self.resp_error.val().into()) << 512);
        if self.resp_fetch.val() {
            self.resp_ready.next = self.fetches.in_ready.val();
        }
        self.fetches.out_ready.next = self.step.val() && self.has_fetch.q.val();
        if self.step.val() {
            self.left.d.next = self.left.q.val() - 512;
            self.word.d.next = self.word.q.val() + 1;
            self.chunk_start.d.next = false;
            if self.final_word.val() {
                self.busy.d.next = false;
            }
            self.first_word.d.next = false;
            if self.failing.val() && !self.has_failed.q.val() && !self.counts.q.val() {
                self.has_failed.d.next = true;
                self.failed_index.d.next = self.context.q.val().index;
            }
        }
        self.take_item.next = !self.busy.q.val() || (self.step.val() && self.final_word.val());
        self.has_ids.next = self.item.val().ids.any();
        self.scans.next = self.item.val().task == SCAN;
        self.has_kept.next = self.item.val().kept && !self.scans.val();
        self.item_fields.next = 0.into();
        self.item_fields.next = self.item_fields.val().replace_bit(0, self.item.val().chunk_start);
        self.item_fields.next = self.item_fields.val().replace_bit(1, self.item.val().chunk_end);
        self.item_fields.next = self.item_fields.val().replace_bit(2, self.item.val().last);
        self.item_fields.next =
            self.item_fields.val().replace_bit(3, self.item.val().kind == BITMAPPED);
        self.item_fields.next = self.item_fields.val().replace_bit(4, self.has_ids.val());
        self.item_fields.next =
            self.item_fields.val() | (bit_cast::<FIELDS_BITS, 32>(self.item.val().rows) << 5);
        self.item_fields.next = self.item_fields.val().replace_bit(37, self.item.val().sparse);
        self.item_fields.next = self.item_fields.val().replace_bit(38, self.item.val().fetch);
        self.item_fields.next = self.item_fields.val().replace_bit(39, self.has_kept.val());
        self.item_fields.next = self.item_fields.val().replace_bit(40, self.scans.val());
        self.item_fields.next = self.item_fields.val().replace_bit(41, self.item.val().loads);
        self.item_fields.next =
            self.item_fields.val().replace_bit(42, self.scans.val() && self.item.val().kept);
        self.item_in.record.next = self.item_context.val();
        self.queued.next = (!self.has_ids.val() || self.ids.turn_ready.val())
            && (!self.has_kept.val() || self.bitmaps.turn_ready.val());
        self.items.in_valid.next = self.item_valid.val() && self.queued.val();
        self.items.in_data.next = bit_cast::<WAITING_BITS, FIELDS_BITS>(self.item_fields.val())
            | (bit_cast::<WAITING_BITS, CONTEXT_BITS>(self.item_in.bits.val()) << 43);
        self.ids.turn_valid.next =
            self.item_valid.val() && self.has_ids.val() && self.items.in_ready.val();
        self.ids.turn_partition.next = self.item.val().partition;
        self.ids.turn_wide.next = self.item.val().ids.get_bit(1);
        self.ids.turn_rows.next = self.item.val().rows.get_bits::<13>(0);
        self.ids.turn_chunk_end.next = self.item.val().chunk_end;
        self.bitmaps.turn_valid.next =
            self.item_valid.val() && self.has_kept.val() && self.items.in_ready.val();
        self.bitmaps.turn_index.next = self.item_context.val().index;
        self.bitmaps.turn_phase.next = self.item.val().phase;
        self.bitmaps.turn_rows.next = self.item.val().rows.get_bits::<13>(0);
        self.bitmaps.turn_loads.next = self.item.val().loads;
        self.item_ready.next = self.items.in_ready.val() && self.queued.val();
        self.next.next = self.items.out_data.val().get_bits::<FIELDS_BITS>(0);
        self.next_context.bits.next = self.items.out_data.val().get_bits::<CONTEXT_BITS>(43);
        self.items.out_ready.next = self.take_item.val();
        if self.take_item.val() {
            self.busy.d.next = self.items.out_valid.val();
            self.chunk_start.d.next = self.next.val().get_bit(0);
            self.chunk_end.d.next = self.next.val().get_bit(1);
            self.last.d.next = self.next.val().get_bit(2);
            self.bitmapped.d.next = self.next.val().get_bit(3);
            self.by_ids.d.next = self.next.val().get_bit(4);
            self.left.d.next = self.next.val().get_bits::<32>(5);
            self.sparse.d.next = self.next.val().get_bit(37);
            self.has_fetch.d.next = self.next.val().get_bit(38);
            self.by_kept.d.next = self.next.val().get_bit(39);
            self.counts.d.next = self.next.val().get_bit(40);
            self.opens.d.next = self.next.val().get_bit(41);
            self.stores.d.next = self.next.val().get_bit(42);
            self.first_word.d.next = true;
            // A destination's second scan has its rows from 4,096 on.
            self.word.d.next = 0.into();
            if self.next.val().get_bit(40) && !self.next.val().get_bit(41) {
                self.word.d.next = 8.into();
            }
            self.context.d.next = self.next_context.record.val();
        }
        // Masks do not need the other fields of the item.
        self.unused.next = bit_cast::<162, 32>(self.item.val().first)
            | (bit_cast::<162, 64>(self.item.val().low) << 32)
            | (bit_cast::<162, 64>(self.item.val().high) << 96);
        self.unused.next = self.unused.val().replace_bit(160, self.item.val().never);
        self.unused.next = self.unused.val().replace_bit(161, self.item.val().column);

        if self.advance.val() {
            self.raw_valid.d.next = self.step.val();
            self.raw_fetch.d.next = self.fetches.out_data.val().get_bits::<512>(0);
            self.raw_has_fetch.d.next =
                self.has_fetch.q.val() && !self.fetches.out_data.val().get_bit(512);
            self.raw.d.next = self.ones.val();
            if self.by_ids.q.val() {
                self.raw.d.next = self.ids.out_data.val();
            } else if self.by_kept.q.val() {
                self.raw.d.next = self.bitmaps.out_data.val();
            } else if self.bitmapped.q.val() {
                self.raw.d.next = self.resp_data.val();
            }
            for k in 0..8 {
                self.whole.d.next = self.whole.d.val().replace_bit(
                    k,
                    !self.failing.val()
                        && (self.many.val() || (self.left.q.val().get_bits::<4>(6) > k.to_bits())),
                );
                self.part.d.next = self.part.d.val().replace_bit(
                    k,
                    !self.failing.val()
                        && !self.many.val()
                        && (self.left.q.val().get_bits::<4>(6) == k.to_bits()),
                );
            }
            self.part_bits.d.next = self.short_ones.val()
                ^ (self.short_ones.val() << self.left.q.val().get_bits::<6>(0));
            self.tag.d.next.bits = 0.into();
            self.tag.d.next.word = self.word.q.val().get_bits::<3>(0);
            self.tag.d.next.chunk_start = self.chunk_start.q.val();
            self.tag.d.next.turn_end = self.final_word.val();
            self.tag.d.next.chunk_end = self.final_word.val() && self.chunk_end.q.val();
            self.tag.d.next.last =
                self.final_word.val() && self.last.q.val() && !self.failing.val();
            self.raw_context.d.next = self.context.q.val();
            self.raw_sparse.d.next = self.sparse.q.val();
            self.raw_counts.d.next = self.counts.q.val();
            self.count_tag.d.next.first = self.first_word.q.val();
            self.count_tag.d.next.end = self.final_word.val();
            self.count_tag.d.next.bad = self.failing.val();
            self.count_tag.d.next.opens = self.opens.q.val();
            self.count_tag.d.next.closes = self.last.q.val();
            self.count_tag.d.next.kept = self.stores.q.val();
            self.count_tag.d.next.beat = self.word.q.val();
            self.count_tag.d.next.set = self.context.q.val().set;
            self.count_tag.d.next.index = self.context.q.val().index;
        }

        // Rows beyond the item's do not count.
        for k in 0..8 {
            self.cut.parts[k].next = 0.into();
            self.cut_fetch.parts[k].next = 0.into();
            if self.whole.q.val().get_bit(k) {
                self.cut.parts[k].next = self.raw.q.val().get_bits::<64>(k * 64);
                self.cut_fetch.parts[k].next = self.raw.q.val().get_bits::<64>(k * 64);
                if self.raw_has_fetch.q.val() {
                    self.cut_fetch.parts[k].next = self.raw.q.val().get_bits::<64>(k * 64)
                        | self.raw_fetch.q.val().get_bits::<64>(k * 64);
                }
            } else if self.part.q.val().get_bit(k) {
                self.cut.parts[k].next =
                    self.raw.q.val().get_bits::<64>(k * 64) & self.part_bits.q.val();
                self.cut_fetch.parts[k].next =
                    self.raw.q.val().get_bits::<64>(k * 64) & self.part_bits.q.val();
                if self.raw_has_fetch.q.val() {
                    self.cut_fetch.parts[k].next = (self.raw.q.val().get_bits::<64>(k * 64)
                        | self.raw_fetch.q.val().get_bits::<64>(k * 64))
                        & self.part_bits.q.val();
                }
            }
        }
        self.mask.next = self.tag.q.val();
        self.mask.next.bits = self.cut.whole.val();
        self.mask_in.record.next = self.mask.val();
        self.context_in.record.next = self.raw_context.q.val();
        self.masks.in_valid.next = self.raw_valid.q.val() && !self.raw_counts.q.val();
        self.masks.in_data.next = bit_cast::<PAIR_BITS, MASK_BITS>(self.mask_in.bits.val())
            | (bit_cast::<PAIR_BITS, 512>(self.cut_fetch.whole.val()) << 519);
        self.contexts.in_valid.next = self.raw_valid.q.val() && !self.raw_counts.q.val();
        self.counter.mask_valid.next = self.raw_valid.q.val() && self.raw_counts.q.val();
        self.counter.mask_bits.next = self.cut.whole.val();
        self.counter.mask_tag.next = self.count_tag.q.val();
        self.counter.counted.join(&mut self.counted);
        self.bitmaps.store_valid.next = self.counter.kept_valid.val();
        self.bitmaps.store_index.next = self.counter.kept_index.val();
        self.bitmaps.store_beat.next = self.counter.kept_beat.val();
        self.bitmaps.store_data.next = self.counter.kept_data.val();
        self.bitmaps.store_error.next = self.counter.kept_error.val();
        self.contexts.in_data.next =
            bit_cast::<SHARED_BITS, CONTEXT_BITS>(self.context_in.bits.val()) << 1
                | bit_cast::<SHARED_BITS, 1>(self.raw_sparse.q.val().into());
        self.masks.out_ready.next = self.mask_ready.val();
        self.contexts.out_ready.next = self.mask_ready.val();
        self.mask_out.bits.next = self.masks.out_data.val().get_bits::<MASK_BITS>(0);
        self.mask_fetch.next = self.masks.out_data.val().get_bits::<512>(519);
        self.context_out.bits.next = self.contexts.out_data.val().get_bits::<CONTEXT_BITS>(1);
        self.mask_sparse.next = self.contexts.out_data.val().get_bit(0);
        self.mask_valid.next = self.masks.out_valid.val();
        self.mask_bits.next = self.mask_out.record.val().bits;
        self.mask_word.next = self.mask_out.record.val().word;
        self.mask_chunk_start.next = self.mask_out.record.val().chunk_start;
        self.mask_turn_end.next = self.mask_out.record.val().turn_end;
        self.mask_chunk_end.next = self.mask_out.record.val().chunk_end;
        self.mask_last.next = self.mask_out.record.val().last;
        self.mask_context.next = self.context_out.record.val();

        self.failed.next = self.has_failed.q.val();
        self.fail_index.next = self.failed_index.q.val();
        self.idle.next = !self.busy.q.val()
            && !self.raw_valid.q.val()
            && !self.masks.out_valid.val()
            && !self.items.count.val().any();
        if self.clear.val() {
            self.has_failed.d.next = false;
        }
        if self.rst.val() {
            self.busy.d.next = false;
            self.raw_valid.d.next = false;
            self.has_failed.d.next = false;
        }
    }
}
