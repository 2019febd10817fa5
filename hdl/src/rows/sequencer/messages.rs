//! Packs the units of each destination into messages.

use super::record::{Context, Cut, Row};
use crate::primitive::{Flatten, Lutram, Restore};
use crate::request::{DEST_COUNT, DEST_INDEX};
use crate::rows::expander::Token;
use drdma_abi::work_request::MAX_DESTINATIONS;
use drdma_emit::prelude::*;

/// Progress of the messages of a destination.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Standing {
    /// A message has begun and is not complete.
    pub open: Bit,
    /// Units that the open message still needs.
    pub left: Bits<32>,
    /// Lane set of the region that `fulls` belongs to.
    pub set: Bits<11>,
    /// Messages of full length that are still to begin in the region.
    pub fulls: Bits<32>,
}

/// Bits of a [`Standing`].
const STANDING_BITS: usize = 76;

/// Turns rows into tokens with the boundaries of messages, for the beat cutter. The standing of each of a request's
/// destinations is kept while others have their turn.
///
/// A chunk's header becomes a token without boundaries of messages, and changes no standing. The end of a column of a
/// WRITE by columns, a row that is `empty` and nothing else, makes no token; messages of the next column begin anew.
///
/// One row a cycle, latency 1 cycle; may stall at any time. The end of a destination without units makes no token.
///
/// # Inputs
/// `row` stream {`context`, `row`}, `token_ready`.
///
/// # Outputs
/// `row_ready`; `token` stream {`token`, `cut`}: one token a unit, not yet cut into beats.
#[derive(LogicBlock, Default)]
pub struct Messages {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A row is offered.
    pub row_valid: Signal<In, Bit>,
    /// The row is taken in this cycle.
    pub row_ready: Signal<Out, Bit>,
    /// Context of the row's item.
    pub row_context: Signal<In, Context>,
    /// The row.
    pub row: Signal<In, Row>,
    /// A token is offered.
    pub token_valid: Signal<Out, Bit>,
    /// The token is taken in this cycle.
    pub token_ready: Signal<In, Bit>,
    /// The token.
    pub token: Signal<Out, Token>,
    /// Cuts of the token into beats.
    pub token_cut: Signal<Out, Cut>,

    standings: Lutram<STANDING_BITS, DEST_INDEX, 1>,
    /// Takes the fields of the context that this block does not use.
    unused: Signal<Local, Context>,
    now: Restore<Standing, STANDING_BITS>,
    then: Flatten<Standing, STANDING_BITS>,
    standing: Signal<Local, Standing>,
    // Destinations that have had units.
    seen: DFF<Bits<MAX_DESTINATIONS>>,
    had: Signal<Local, Bit>,
    open: Signal<Local, Bit>,
    left: Signal<Local, Bits<32>>,
    left_after: Signal<Local, Bits<32>>,
    /// `fulls` of the standing and `full_count` of the context, each less the message that begins.
    fulls_less: Signal<Local, Bits<32>>,
    count_less: Signal<Local, Bits<32>>,
    /// The standing's `fulls` belongs to the current region.
    same: Signal<Local, Bit>,
    /// The message that begins has full length.
    is_full: Signal<Local, Bit>,
    begins: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    // A chunk has begun, and no token has carried its start yet.
    chunk: DFF<Bit>,
    chunk_now: Signal<Local, Bit>,
    emit: Signal<Local, Bit>,
    /// A column of a WRITE by columns ends, perhaps with its request.
    column_ends: Signal<Local, Bit>,
    take: Signal<Local, Bit>,
    valid: DFF<Bit>,
    out: DFF<Token>,
    cut: DFF<Cut>,
}

impl Logic for Messages {
    #[hdl_gen]
    fn update(&mut self) {
        self.unused.next = self.row_context.val();

        self.row_ready.next = !self.valid.q.val() || self.token_ready.val();
        self.take.next = self.row_valid.val() && (!self.valid.q.val() || self.token_ready.val());

        // The standing before this row.
        self.standings.read_address[0].next = self.row_context.val().index;
        self.now.bits.next = self.standings.read_data[0].val();
        self.had.next = self.seen.q.val().get_bit(self.row_context.val().index.index());
        self.open.next = self.had.val() && self.now.record.val().open;
        self.left.next = self.row_context.val().units;
        if self.open.val() {
            self.left.next = self.now.record.val().left;
        }
        self.left_after.next = self.left.val() - 1;
        self.same.next =
            self.had.val() && (self.now.record.val().set == self.row_context.val().set);
        // Both counts are decremented before it is known which one applies.
        self.fulls_less.next = self.now.record.val().fulls - 1;
        if !self.now.record.val().fulls.any() {
            self.fulls_less.next = 0.into();
        }
        self.count_less.next = self.row_context.val().full_count - 1;
        if !self.row_context.val().full_count.any() {
            self.count_less.next = 0.into();
        }
        self.is_full.next = self.row_context.val().full_count.any();
        if self.same.val() {
            self.is_full.next = self.now.record.val().fulls.any();
        }

        // Message and unit that the row begins or ends.
        self.begins.next = !self.row.val().empty && self.row.val().unit_first && !self.open.val();
        self.ends.next = (!self.row.val().empty
            && self.row.val().unit_last
            && ((self.left.val() == 1) || self.row.val().last))
            || (self.row.val().empty && self.row.val().last && self.open.val());
        self.column_ends.next =
            self.row.val().empty && !self.row.val().last && !self.row.val().column;
        self.emit.next = !self.row.val().empty
            || self.row.val().request_end
            || self.row.val().column
            || (self.row.val().last && self.had.val());

        // The standing after this row.
        self.standing.next.open = self.open.val();
        self.standing.next.left = self.left.val();
        if self.row.val().unit_last {
            self.standing.next.open = !self.ends.val();
            self.standing.next.left = self.left_after.val();
        }
        self.standing.next.set = self.row_context.val().set;
        self.standing.next.fulls = self.row_context.val().full_count;
        if self.begins.val() {
            self.standing.next.fulls = self.count_less.val();
        }
        if self.same.val() || !self.row.val().unit_first {
            self.standing.next.fulls = self.now.record.val().fulls;
            if self.begins.val() {
                self.standing.next.fulls = self.fulls_less.val();
            }
        }
        if !self.row.val().unit_first {
            self.standing.next.set = self.now.record.val().set;
        }
        self.then.record.next = self.standing.val();
        self.standings.write_address.next = self.row_context.val().index;
        self.standings.write_data.next = self.then.bits.val();
        self.standings.write_enable.next = self.take.val() && !self.row.val().empty;
        self.chunk_now.next = self.chunk.q.val() || self.row.val().chunk_start;
        if self.take.val() {
            if self.row.val().request_end || self.column_ends.val() {
                self.seen.d.next = 0.into();
            } else if !self.row.val().empty {
                self.seen.d.next =
                    self.seen.q.val().replace_bit(self.row_context.val().index.index(), true);
            }
        }

        if self.take.val() {
            self.valid.d.next = self.emit.val();
            self.out.d.next.set = self.row_context.val().set;
            self.out.d.next.first = self.row.val().lane;
            self.out.d.next.last = bit_cast::<4, 5>(self.row_context.val().lanes - 1);
            self.out.d.next.piece = false;
            self.out.d.next.offset = 0.into();
            self.out.d.next.lead = false;
            self.out.d.next.behind = 0.into();
            self.out.d.next.bytes = self.row_context.val().bytes.get_bits::<7>(0);
            self.out.d.next.row = self.row.val().row;
            self.out.d.next.pointer = self.row.val().pointer;
            self.out.d.next.dest = self.row_context.val().dest;
            self.out.d.next.slot = self.row_context.val().slot;
            self.out.d.next.unit_end = !self.row.val().empty && self.row.val().unit_last;
            self.out.d.next.message_end = self.ends.val() && !self.row.val().request_end;
            self.out.d.next.message_start = self.begins.val();
            self.out.d.next.message_bytes = 0.into();
            self.out.d.next.request_end = self.row.val().request_end;
            self.out.d.next.dest_end = self.row.val().last;
            self.out.d.next.status = 0.into();
            self.out.d.next.bad_dest = 0.into();
            self.out.d.next.column = self.row.val().column;
            self.out.d.next.rows = 0.into();
            self.out.d.next.chunk_start =
                self.chunk_now.val() && !self.row.val().request_end && !self.row.val().column;
            self.out.d.next.chunk_blocks = 0.into();
            if self.chunk_now.val() && !self.row.val().request_end && !self.row.val().column {
                self.out.d.next.chunk_blocks = self.row_context.val().chunk_blocks;
            }
            self.chunk.d.next = self.chunk_now.val() && !self.emit.val();
            if self.row.val().empty {
                self.out.d.next.bytes = 0.into();
                self.out.d.next.first = 0.into();
                self.out.d.next.last = 0.into();
            }
            if self.row.val().column {
                self.out.d.next.last = bit_cast::<4, 5>(self.row_context.val().lanes - 1);
                self.out.d.next.rows = self.row.val().rows;
            }
            if self.row_context.val().by_lane && !self.row.val().empty {
                self.out.d.next.last = self.row.val().lane;
            }
            if self.row_context.val().measured && self.begins.val() {
                self.out.d.next.message_bytes = self.row_context.val().tail_bytes;
                if self.is_full.val() {
                    self.out.d.next.message_bytes = self.row_context.val().full_bytes;
                }
            }
            if self.row.val().counted && self.begins.val() {
                self.out.d.next.message_bytes = self.row.val().message_bytes;
            }
            if self.row.val().request_end {
                self.out.d.next.status = self.row.val().status;
                self.out.d.next.bad_dest = self.row.val().bad_dest;
                // Place of the failing destination, counted from the first one.
                self.out.d.next.dest = self.row_context.val().dest
                    + bit_cast::<10, DEST_COUNT>(self.row.val().bad_dest);
            }
            self.cut.d.next.starts = self.row_context.val().starts;
            self.cut.d.next.whole = self.row.val().empty
                || (self.row_context.val().fits && !self.row_context.val().by_lane);
            self.cut.d.next.one_lane = self.row_context.val().by_lane && !self.row.val().empty;
        } else if self.token_ready.val() {
            self.valid.d.next = false;
        }
        self.token_valid.next = self.valid.q.val();
        self.token.next = self.out.q.val();
        self.token_cut.next = self.cut.q.val();
        if self.rst.val() {
            self.valid.d.next = false;
            self.chunk.d.next = false;
            self.seen.d.next = 0.into();
        }
    }
}
