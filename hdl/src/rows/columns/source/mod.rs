//! Makes the masks of the column path: which rows of a turn are selected.

mod kernel;
mod masks;
mod steps;

use super::bitmaps::Bitmaps;
use super::counter::Counter;
use super::ids::Ids;
use super::record::{CountTag, Counted, MASK_BITS, Mask};
use crate::primitive::{Fifo, Flatten, Pack, Restore, Skid};
use crate::request::DEST_INDEX;
use crate::rows::sequencer::record::{CONTEXT_BITS, Context, Item};
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
/// The rows of a `SCAN` are only counted ([`Counter`]): it makes no mask, and its failure is reported with its count.
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
#[derive(LogicBlock, BlockDefault)]
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
    /// Context that the rows of the item share.
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
    /// Context that the rows share.
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

    // Items that wait, while the ids of those that have ids are compared.
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
    // The current item.
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
    #[init(Constant::new(((num_bigint::BigUint::from(1_u8) << 512_u32) - 1_u8).into()))]
    ones: Constant<Bits<512>>,
    #[init(Constant::new(u64::MAX.to_bits()))]
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
