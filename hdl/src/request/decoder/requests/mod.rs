//! Accounts for the requests between the decoder and the rest: slots, rings, the two streams, errors.

mod kernel;

use crate::context::QUEUE;
use crate::primitive::Lutram;
use crate::request::{DEST_COUNT, DEST_INDEX, MAX_REMOTE, PARTS_AHEAD};
use drdma_abi::completion::Status;
use drdma_emit::prelude::*;

const _: () = assert!(
    Status::LocalLengthError as u8 == 1
        && Status::LocalQpOperationError as u8 == 2
        && Status::LocalProtectionError as u8 == 4
        && Status::WrFlushError as u8 == 5,
    "the codes of `Requests`"
);

/// Bits of a request's share of the ring of destinations.
const DEST_SHARE: usize = MAX_REMOTE.ilog2() as usize + 1;
/// Places in use, at most, with which there is room for a WRITE by columns.
const COLUMN_ROOM: u64 = 1_016 - MAX_REMOTE;

/// Parts on their way with which one that is coming is the last.
const ALMOST: u64 = PARTS_AHEAD - 1;

/// Opens requests, settles them when their last check is through, and accounts for the rings.
///
/// One request is being parsed and one is being settled; a request is settled in the cycle in which
/// its last check is, if the streams are taken. After one that failed, no request is begun for 2
/// cycles, until its queue is known to be stopped.
///
/// # Inputs
/// `clk`, `rst`; `slot_free`; `release_valid`; the parser's `open`, `dest_accept`, `column_accept`, `finish` with what
/// belongs to them; `set_done` pulse, `set_told_again` (such a set may be written once more in the next 4 cycles); the
/// bounds check's `busy` and `fail_*`.
///
/// # Outputs
/// `parts_full`; `settled`, `may_open`, `set_space`, `dest_space`, `column_space` for the parser; `clear` for the
/// bounds check; streams `open`, `request`; the pulse `stop`; `dest`, `slot`, for `dest_write`.
#[derive(LogicBlock, Default)]
pub struct Requests {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    /// A free slot is offered.
    pub slot_free_valid: Signal<In, Bit>,
    /// The slot is taken in this cycle.
    pub slot_free_ready: Signal<Out, Bit>,
    /// Number of the slot.
    pub slot_free_slot: Signal<In, Bits<8>>,
    /// The oldest request's share of the rings is given back.
    pub release_valid: Signal<In, Bit>,

    /// A request is opened in this cycle.
    pub start: Signal<In, Bit>,
    /// Send queue of the request, until it finishes.
    pub queue: Signal<In, Bits<QUEUE>>,
    /// The application's name for the request, until it finishes.
    pub wr_id: Signal<In, Bits<64>>,
    /// Ring position of the request's first block.
    pub position: Signal<In, Bits<32>>,
    /// No completion is written if the request succeeds.
    pub unsignaled: Signal<In, Bit>,
    /// A destination is accepted.
    pub dest_accept: Signal<In, Bit>,
    /// The destination is one of a WRITE by columns.
    pub by_columns: Signal<In, Bit>,
    /// With `by_columns`: the destination is not the request's first one.
    pub later: Signal<In, Bit>,
    /// A remote address of a destination of a WRITE by columns is accepted.
    pub column_accept: Signal<In, Bit>,
    /// Number of destinations that the request's head names.
    pub column_dests: Signal<In, Bits<DEST_COUNT>>,
    /// A set is complete.
    pub set_done: Signal<In, Bit>,
    /// The set, or its destination, may be written once more.
    pub set_told_again: Signal<In, Bit>,
    /// The parsing of the request ends.
    pub finish: Signal<In, Bit>,
    /// With `finish`: the request has failed a check of the parser.
    pub failed: Signal<In, Bit>,
    /// With `failed`: the reason is a queue pair in the error state.
    pub failed_flush: Signal<In, Bit>,
    /// With `failed`: the destination's queue pair fails with the request.
    pub failed_qp: Signal<In, Bit>,
    /// With `failed`: index of the destination that failed.
    pub dest_index: Signal<In, Bits<DEST_INDEX>>,
    /// The request's one region belongs to no destination.
    pub partitioned: Signal<In, Bit>,
    /// Number of the region that failed.
    pub region: Signal<In, Bits<11>>,
    /// Number of the request's sets.
    pub sets: Signal<In, Bits<11>>,
    /// The queue pair cannot have such a request. This counts if no bounds check fails.
    pub unfit: Signal<In, Bit>,
    /// Memory that is to be written must not be: valid until `clear`. This counts if the checks before do not fail.
    pub lacking: Signal<In, Bit>,
    /// The message is too long. This counts if the checks before do not fail.
    pub overlong: Signal<In, Bit>,
    /// Number of the request's destinations.
    pub dests: Signal<In, Bits<DEST_COUNT>>,
    /// Columns of a WRITE by columns; else 0.
    pub columns: Signal<In, Bits<5>>,

    /// With `finish`: the request sends a part of a message.
    pub parted: Signal<In, Bit>,
    /// Another part of a message was offered to the decoder.
    pub part_comes: Signal<In, Bit>,
    /// Enough parts of messages are on their way: no further one may be fetched.
    pub parts_full: Signal<Out, Bit>,

    /// The request's destinations are apart; valid when its last check is done.
    pub apart: Signal<In, Bit>,
    /// With `finish`: some region of the request has kinds of columns.
    pub kinds: Signal<In, Bit>,

    /// Bounds checks are under way.
    pub busy: Signal<In, Bit>,
    /// A bounds check has failed.
    pub fail_valid: Signal<In, Bit>,
    /// With `fail_valid`: number of the region.
    pub fail_region: Signal<In, Bits<11>>,
    /// With `fail_valid`: index of the destination.
    pub fail_dest: Signal<In, Bits<DEST_INDEX>>,
    /// The failure was noted, and the bounds checks may forget it.
    pub clear: Signal<Out, Bit>,

    /// The request before is settled, and if it has failed, its queue is stopped.
    pub settled: Signal<Out, Bit>,
    /// A request may be opened.
    pub may_open: Signal<Out, Bit>,
    /// There is room for a set.
    pub set_space: Signal<Out, Bit>,
    /// There is room for a destination.
    pub dest_space: Signal<Out, Bit>,
    /// There is room for the destinations of a WRITE by columns.
    pub column_space: Signal<Out, Bit>,
    /// The number of the destination that is accepted.
    pub dest: Signal<Out, Bits<10>>,
    /// The slot of the request that is opened or open.
    pub slot: Signal<Out, Bits<8>>,

    /// A request was opened.
    pub open_valid: Signal<Out, Bit>,
    /// The opened request is taken in this cycle.
    pub open_ready: Signal<In, Bit>,
    /// Slot of the opened request.
    pub open_slot: Signal<Out, Bits<8>>,
    /// Send queue of the opened request.
    pub open_queue: Signal<Out, Bits<QUEUE>>,
    /// The application's name for the request.
    pub open_wr_id: Signal<Out, Bits<64>>,
    /// Ring position of the request's first block.
    pub open_position: Signal<Out, Bits<32>>,
    /// No completion is written if the request succeeds.
    pub open_unsignaled: Signal<Out, Bit>,

    /// A request is complete.
    pub request_valid: Signal<Out, Bit>,
    /// The request is taken in this cycle.
    pub request_ready: Signal<In, Bit>,
    /// Slot of the request.
    pub request_slot: Signal<Out, Bits<8>>,
    /// Send queue of the request.
    pub request_queue: Signal<Out, Bits<QUEUE>>,
    /// The application's name for the request.
    pub request_wr_id: Signal<Out, Bits<64>>,
    /// Number of the request's destinations.
    pub request_dests: Signal<Out, Bits<DEST_COUNT>>,
    /// Number of the first destination in the ring; the others follow it.
    pub request_first_dest: Signal<Out, Bits<10>>,
    /// Status of the request; 0: it is to be executed.
    pub request_status: Signal<Out, Bits<8>>,
    /// Index of the destination that failed; valid with a status other than 0.
    pub request_bad_dest: Signal<Out, Bits<DEST_COUNT>>,
    /// The request's destinations are apart.
    pub request_apart: Signal<Out, Bit>,
    /// Some region of the request has kinds of columns.
    pub request_kinds: Signal<Out, Bit>,
    /// Columns of a WRITE by columns; else 0.
    pub request_columns: Signal<Out, Bits<5>>,

    /// A queue starts no further request.
    pub stop_valid: Signal<Out, Bit>,
    /// With `stop_valid`: the queue.
    pub stop_queue: Signal<Out, Bits<QUEUE>>,

    /// The slot of the next request is held.
    has_slot: DFF<Bit>,
    next_slot: DFF<Bits<8>>,
    current_slot: DFF<Bits<8>>,

    dest_tail: DFF<Bits<10>>,
    first_dest: DFF<Bits<10>>,
    sets_used: DFF<Bits<12>>,
    dests_used: DFF<Bits<11>>,
    set_room: DFF<Bit>,
    dest_room: DFF<Bit>,
    column_room: DFF<Bit>,
    /// Places that each request has in the rings, from its settling to its release.
    set_shares: Lutram<11, 8, 1>,
    dest_shares: Lutram<DEST_SHARE, 8, 1>,
    /// Requests that send parts of messages.
    part_shares: Lutram<1, 8, 1>,
    /// Number of these requests.
    parts: DFF<Bits<9>>,
    part_settles: Signal<Local, Bit>,
    part_leaves: Signal<Local, Bit>,
    full: DFF<Bit>,
    /// Places that the request which is parsed has so far.
    dest_share: DFF<Bits<DEST_SHARE>>,
    /// Places that were taken in the cycle before; the next one is taken two cycles later at the earliest.
    dests_added: DFF<Bits<DEST_SHARE>>,
    share_now: Signal<Local, Bits<DEST_SHARE>>,
    share_write: DFF<Bits<8>>,
    share_read: DFF<Bits<8>>,
    sets_back: DFF<Bits<11>>,
    dests_back: DFF<Bits<DEST_SHARE>>,

    opened: DFF<Bit>,
    opened_slot: DFF<Bits<8>>,
    opened_queue: DFF<Bits<QUEUE>>,
    opened_wr_id: DFF<Bits<64>>,
    opened_position: DFF<Bits<32>>,
    opened_unsignaled: DFF<Bit>,

    // The request that is being settled.
    waiting: DFF<Bit>,
    waiting_slot: DFF<Bits<8>>,
    waiting_queue: DFF<Bits<QUEUE>>,
    waiting_wr_id: DFF<Bits<64>>,
    waiting_first_dest: DFF<Bits<10>>,
    waiting_dests: DFF<Bits<DEST_COUNT>>,
    waiting_columns: DFF<Bits<5>>,
    waiting_share: DFF<Bits<DEST_SHARE>>,
    waiting_region: DFF<Bits<11>>,
    waiting_sets: DFF<Bits<11>>,
    waiting_unfit: DFF<Bit>,
    waiting_overlong: DFF<Bit>,
    waiting_kinds: DFF<Bit>,
    waiting_parted: DFF<Bit>,
    /// The request fails after its bounds checks, with this status.
    late: Signal<Local, Bit>,
    late_status: Signal<Local, Bits<8>>,
    waiting_failed: DFF<Bit>,
    waiting_flush: DFF<Bit>,
    waiting_qp_fails: DFF<Bit>,
    waiting_partitioned: DFF<Bit>,
    waiting_dest: DFF<Bits<DEST_INDEX>>,

    ready: DFF<Bit>,
    ready_slot: DFF<Bits<8>>,
    ready_queue: DFF<Bits<QUEUE>>,
    ready_wr_id: DFF<Bits<64>>,
    ready_dests: DFF<Bits<DEST_COUNT>>,
    ready_first_dest: DFF<Bits<10>>,
    ready_status: DFF<Bits<8>>,
    ready_bad_dest: DFF<Bits<DEST_COUNT>>,
    ready_apart: DFF<Bit>,
    ready_kinds: DFF<Bit>,
    ready_columns: DFF<Bits<5>>,
    queue_fails: DFF<Bit>,
    /// Cycles until it is known that the queue is stopped.
    wait: DFF<Bits<2>>,
    /// Destinations and sets that may be written once more were written one to three cycles ago.
    told: [DFF<Bit>; 3],
    writing: Signal<Local, Bit>,

    settling: Signal<Local, Bit>,
    /// The failure is of a bounds check.
    protection: Signal<Local, Bit>,
    sets_freed: Signal<Local, Bits<12>>,
    dests_freed: Signal<Local, Bits<11>>,
}
