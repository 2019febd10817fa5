//! Accounts for the requests between the decoder and the rest: slots, rings, the two streams, errors.

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

impl Logic for Requests {
    #[hdl_gen]
    fn update(&mut self) {
        // A slot is taken ahead.
        self.slot_free_ready.next = !self.has_slot.q.val();
        if !self.has_slot.q.val() {
            self.has_slot.d.next = self.slot_free_valid.val();
            self.next_slot.d.next = self.slot_free_slot.val();
        } else if self.start.val() {
            self.has_slot.d.next = false;
        }

        // Opening.
        if self.open_ready.val() {
            self.opened.d.next = false;
        }
        self.slot.next = self.current_slot.q.val();
        if self.start.val() {
            self.slot.next = self.next_slot.q.val();
            self.current_slot.d.next = self.next_slot.q.val();
            self.first_dest.d.next = self.dest_tail.q.val();
            self.opened.d.next = true;
            self.opened_slot.d.next = self.next_slot.q.val();
            self.opened_queue.d.next = self.queue.val();
            self.opened_wr_id.d.next = self.wr_id.val();
            self.opened_position.d.next = self.position.val();
            self.opened_unsignaled.d.next = self.unsignaled.val();
        }
        // Of a WRITE by columns the places of all destinations follow each other for each column: the first
        // destination's columns make them, and the others have theirs behind it.
        self.dest.next = self.dest_tail.q.val();
        if self.by_columns.val() && self.later.val() {
            self.dest.next =
                self.first_dest.q.val() + bit_cast::<10, DEST_INDEX>(self.dest_index.val());
        }
        self.dests_added.d.next = 0.into();
        if self.dest_accept.val() && !self.by_columns.val() {
            self.dests_added.d.next = 1.into();
        }
        if self.column_accept.val() && !self.later.val() {
            self.dests_added.d.next = bit_cast::<DEST_SHARE, DEST_COUNT>(self.column_dests.val());
        }
        self.dest_tail.d.next = self.dest_tail.q.val() + self.dests_added.q.val();
        self.share_now.next = self.dest_share.q.val() + self.dests_added.q.val();
        self.dest_share.d.next = self.share_now.val();
        if self.start.val() {
            self.dest_share.d.next = 0.into();
        }

        // The end of parsing.
        if self.finish.val() {
            self.waiting.d.next = true;
            self.waiting_slot.d.next = self.current_slot.q.val();
            self.waiting_queue.d.next = self.queue.val();
            self.waiting_wr_id.d.next = self.wr_id.val();
            self.waiting_first_dest.d.next = self.first_dest.q.val();
            self.waiting_dests.d.next = self.dests.val();
            self.waiting_columns.d.next = self.columns.val();
            self.waiting_share.d.next = self.share_now.val();
            self.waiting_region.d.next = self.region.val();
            self.waiting_sets.d.next = self.sets.val();
            self.waiting_unfit.d.next = self.unfit.val();
            self.waiting_overlong.d.next = self.overlong.val();
            self.waiting_kinds.d.next = self.kinds.val();
            self.waiting_parted.d.next = self.parted.val();
            self.waiting_failed.d.next = self.failed.val();
            self.waiting_flush.d.next = self.failed_flush.val();
            self.waiting_qp_fails.d.next = self.failed_qp.val();
            self.waiting_partitioned.d.next = self.partitioned.val();
            self.waiting_dest.d.next = self.dest_index.val();
        }

        // Sets and destinations that are written once more are in the tables before the request is given out.
        self.told[0].d.next = self.set_told_again.val();
        self.told[1].d.next = self.told[0].q.val();
        self.told[2].d.next = self.told[1].q.val();
        self.writing.next = self.told[0].q.val() || self.told[1].q.val() || self.told[2].q.val();

        // Settling. The form of a region is known before its bounds are checked.
        self.settling.next = self.waiting.q.val()
            && !self.busy.val()
            && !self.writing.val()
            && !self.ready.q.val()
            && !self.opened.q.val();
        self.protection.next = self.fail_valid.val()
            && (!self.waiting_failed.q.val()
                || (self.fail_region.val() < self.waiting_region.q.val()));
        self.late.next =
            self.waiting_unfit.q.val() || self.lacking.val() || self.waiting_overlong.q.val();
        self.late_status.next = 1.into();
        if self.waiting_unfit.q.val() {
            self.late_status.next = 2.into();
        } else if self.lacking.val() {
            self.late_status.next = 4.into();
        }
        self.clear.next = self.settling.val();
        self.queue_fails.d.next = false;
        if self.request_ready.val() {
            self.ready.d.next = false;
        }
        if self.wait.q.val() != 0 {
            self.wait.d.next = self.wait.q.val() - 1;
        }
        if self.settling.val() {
            self.waiting.d.next = false;
            self.ready.d.next = true;
            self.ready_slot.d.next = self.waiting_slot.q.val();
            self.ready_queue.d.next = self.waiting_queue.q.val();
            self.ready_wr_id.d.next = self.waiting_wr_id.q.val();
            self.ready_first_dest.d.next = self.waiting_first_dest.q.val();
            self.ready_apart.d.next = self.apart.val();
            self.ready_kinds.d.next = self.waiting_kinds.q.val();
            self.ready_columns.d.next = self.waiting_columns.q.val();
            self.ready_dests.d.next = 0.into();
            if self.protection.val() {
                self.ready_status.d.next = 4.into();
                self.ready_bad_dest.d.next =
                    bit_cast::<DEST_COUNT, DEST_INDEX>(self.fail_dest.val());
                if !self.waiting_partitioned.q.val() {
                    self.ready_dests.d.next = 1.into();
                }
            } else if self.waiting_failed.q.val() {
                self.ready_status.d.next = 2.into();
                if self.waiting_flush.q.val() {
                    self.ready_status.d.next = 5.into();
                }
                self.ready_bad_dest.d.next =
                    bit_cast::<DEST_COUNT, DEST_INDEX>(self.waiting_dest.q.val());
                if self.waiting_qp_fails.q.val() {
                    self.ready_dests.d.next = 1.into();
                }
            } else if self.late.val() {
                self.ready_status.d.next = self.late_status.val();
                self.ready_bad_dest.d.next = 0.into();
                self.ready_dests.d.next = 1.into();
            } else {
                self.ready_status.d.next = 0.into();
                self.ready_bad_dest.d.next = 0.into();
                self.ready_dests.d.next = self.waiting_dests.q.val();
            }
            if self.protection.val() || self.waiting_failed.q.val() || self.late.val() {
                self.queue_fails.d.next = true;
                self.wait.d.next = 2.into();
            }
        }
        self.settled.next = !self.waiting.q.val() && (self.wait.q.val() == 0);
        self.may_open.next = self.has_slot.q.val() && !self.opened.q.val();

        // Shares of the rings. The limits leave room for sets and destinations that are counted a cycle later.
        self.set_shares.write_enable.next = self.settling.val();
        self.set_shares.write_address.next = self.share_write.q.val();
        self.set_shares.write_data.next = self.waiting_sets.q.val();
        self.set_shares.read_address[0].next = self.share_read.q.val();
        self.dest_shares.write_enable.next = self.settling.val();
        self.dest_shares.write_address.next = self.share_write.q.val();
        self.dest_shares.write_data.next = self.waiting_share.q.val();
        self.dest_shares.read_address[0].next = self.share_read.q.val();
        self.part_shares.write_enable.next = self.settling.val();
        self.part_shares.write_address.next = self.share_write.q.val();
        self.part_shares.write_data.next = bit_cast::<1, 1>(self.waiting_parted.q.val().into());
        self.part_shares.read_address[0].next = self.share_read.q.val();
        self.part_settles.next = self.settling.val() && self.waiting_parted.q.val();
        self.part_leaves.next =
            self.release_valid.val() && self.part_shares.read_data[0].val().any();
        if self.part_settles.val() && !self.part_leaves.val() {
            self.parts.d.next = self.parts.q.val() + 1;
        } else if self.part_leaves.val() && !self.part_settles.val() {
            self.parts.d.next = self.parts.q.val() - 1;
        }
        self.full.d.next = (self.parts.q.val() >= PARTS_AHEAD)
            || ((self.parts.q.val() == ALMOST)
                && (self.part_comes.val()
                    || (self.waiting.q.val() && self.waiting_parted.q.val())));
        self.parts_full.next = self.full.q.val();
        if self.settling.val() {
            self.share_write.d.next = self.share_write.q.val() + 1;
        }
        self.sets_back.d.next = 0.into();
        self.dests_back.d.next = 0.into();
        if self.release_valid.val() {
            self.share_read.d.next = self.share_read.q.val() + 1;
            self.sets_back.d.next = self.set_shares.read_data[0].val();
            self.dests_back.d.next = self.dest_shares.read_data[0].val();
        }
        self.sets_freed.next = self.sets_used.q.val() - bit_cast::<12, 11>(self.sets_back.q.val());
        self.sets_used.d.next = self.sets_freed.val();
        if self.set_done.val() {
            self.sets_used.d.next = self.sets_freed.val() + 1;
        }
        self.dests_freed.next =
            self.dests_used.q.val() - bit_cast::<11, DEST_SHARE>(self.dests_back.q.val());
        self.dests_used.d.next =
            self.dests_freed.val() + bit_cast::<11, DEST_SHARE>(self.dests_added.q.val());
        self.set_room.d.next = self.sets_used.q.val() < 2040;
        self.dest_room.d.next = self.dests_used.q.val() < 1016;
        self.column_room.d.next = self.dests_used.q.val() < bits::<11>(COLUMN_ROOM);
        self.set_space.next = self.set_room.q.val();
        self.dest_space.next = self.dest_room.q.val();
        self.column_space.next = self.column_room.q.val();

        if self.rst.val() {
            self.has_slot.d.next = false;
            self.dest_tail.d.next = 0.into();
            self.dests_added.d.next = 0.into();
            self.sets_used.d.next = 0.into();
            self.dests_used.d.next = 0.into();
            self.sets_back.d.next = 0.into();
            self.dests_back.d.next = 0.into();
            self.set_room.d.next = false;
            self.dest_room.d.next = false;
            self.column_room.d.next = false;
            self.share_write.d.next = 0.into();
            self.share_read.d.next = 0.into();
            self.parts.d.next = 0.into();
            self.opened.d.next = false;
            for k in 0..3 {
                self.told[k].d.next = false;
            }
            self.waiting.d.next = false;
            self.ready.d.next = false;
            self.queue_fails.d.next = false;
            self.wait.d.next = 0.into();
        }

        self.open_valid.next = self.opened.q.val();
        self.open_slot.next = self.opened_slot.q.val();
        self.open_queue.next = self.opened_queue.q.val();
        self.open_wr_id.next = self.opened_wr_id.q.val();
        self.open_position.next = self.opened_position.q.val();
        self.open_unsignaled.next = self.opened_unsignaled.q.val();
        self.request_valid.next = self.ready.q.val();
        self.request_slot.next = self.ready_slot.q.val();
        self.request_queue.next = self.ready_queue.q.val();
        self.request_wr_id.next = self.ready_wr_id.q.val();
        self.request_dests.next = self.ready_dests.q.val();
        self.request_first_dest.next = self.ready_first_dest.q.val();
        self.request_status.next = self.ready_status.q.val();
        self.request_bad_dest.next = self.ready_bad_dest.q.val();
        self.request_apart.next = self.ready_apart.q.val();
        self.request_kinds.next = self.ready_kinds.q.val();
        self.request_columns.next = self.ready_columns.q.val();
        self.stop_valid.next = self.queue_fails.q.val();
        self.stop_queue.next = self.ready_queue.q.val();
    }
}
