//! Turns row tokens into address beats: it finds where the bytes of a row lie.
//!
//! The expander stands between the sequencer and the placer. The decoder writes it the lanes {base, step, len} of each
//! lane set. Lane `j` of row `i` lies at `base + i * step + pointer`, and a piece of a cut lane `offset` further.
//!
//! A header token (`column`) has no bytes. It becomes a beat with the address of each of its lanes in the token's row,
//! the lane's length, and its step.
//!
//! The bytes of an `inline` lane stand in the request itself: its token becomes a beat with bytes and without a
//! fragment. 4 bytes of a token with `lead` are made elsewhere: no fragment has their positions, before the piece of
//! the last lane. That piece lies at `base + pointer + offset`, whatever the row is.
//!
//! Throughput: one token a cycle. Latency: 9 cycles, or 4 for a token of row 0 with one lane, or without bytes, if no
//! token is in the pipeline before it. The pipeline never stops: a token is taken when the FIFO at its end, 32 beats
//! deep, has room for everything that is under way, so that `token_ready` comes from a register. A lane write is seen
//! by tokens from the next cycle on.

mod lane;
#[cfg(test)]
mod tests;

use crate::primitive::{Fifo, Pack, StreamFifo};
use crate::request::DEST_COUNT;
use drdma_emit::prelude::*;
use lane::Lane;

/// Made bytes of a beat with `lead`.
const LEAD: u64 = 4;

/// Side band of a beat: everything but its fragments.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct Side {
    /// Bytes of the beat, 0 to 64.
    pub bytes: Bits<7>,
    /// Place of the destination in the ring of destinations.
    pub dest: Bits<10>,
    /// Slot of the request.
    pub slot: Bits<8>,
    /// The beat is the last one of a unit.
    pub unit_end: Bit,
    /// The beat is the last one of a message.
    pub message_end: Bit,
    /// The beat is the first one of a message.
    pub message_start: Bit,
    /// With `message_start`: bytes of the message, where they are needed; else 0.
    pub message_bytes: Bits<32>,
    /// The beat is the first one of a chunk.
    pub chunk_start: Bit,
    /// With `chunk_start`: estimated number of 256 B blocks that the chunk needs.
    pub chunk_blocks: Bits<8>,
    /// The request ends; the beat has no bytes.
    pub request_end: Bit,
    /// The beat is the last one of its destination.
    pub dest_end: Bit,
    /// With `request_end`: status of the request.
    pub status: Bits<8>,
    /// With `request_end`: the destination that failed.
    pub bad_dest: Bits<DEST_COUNT>,
    /// The beat is a header of a chunk of columns.
    pub column: Bit,
    /// With `column`: rows of the chunk.
    pub rows: Bits<13>,
}

/// A lane of a set, as the decoder writes it.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct LaneWrite {
    /// Set that the lane belongs to.
    pub set: Bits<11>,
    /// Number of the lane, 0 to 15.
    pub lane: Bits<4>,
    /// Host address of the lane in row 0.
    pub base: Bits<64>,
    /// Bytes from one row to the next.
    pub step: Bits<64>,
    /// Bytes of the lane in a row.
    pub len: Bits<32>,
    /// The bytes stand in the request, not in host memory: the lane has no fragment.
    pub inline: Bit,
}

/// A piece of a row, or the header of a chunk of columns.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Token {
    /// Lane set of the token.
    pub set: Bits<11>,
    /// First lane, 0 to 15.
    pub first: Bits<4>,
    /// Last lane, 0 to 15.
    pub last: Bits<4>,
    /// The token is a piece of one lane, given by `offset` and, without `lead`, `bytes`.
    pub piece: Bit,
    /// With `piece`: offset of the piece in its lane, in bytes.
    pub offset: Bits<32>,
    /// Bytes of the beat, 0 to 64.
    pub bytes: Bits<7>,
    /// The card makes 4 bytes of the beat, which stand before those of the last lane, of which the token has a piece of
    /// `behind` bytes at `pointer`. The lanes before it, if any, are whole and have no pointer. `bytes` counts all of
    /// them.
    pub lead: Bit,
    /// With `lead`: bytes of the last lane, 1 to 60.
    pub behind: Bits<6>,
    /// Number of the row in its region.
    pub row: Bits<32>,
    /// Pointer of the row, for a pointer-mapped region.
    pub pointer: Bits<64>,
    /// Place of the destination in the ring of destinations.
    pub dest: Bits<10>,
    /// Slot of the request.
    pub slot: Bits<8>,
    /// The token is the last one of a unit.
    pub unit_end: Bit,
    /// The token is the last one of a message.
    pub message_end: Bit,
    /// The token is the first one of a message.
    pub message_start: Bit,
    /// With `message_start`: bytes of the message, where they are needed; else 0.
    pub message_bytes: Bits<32>,
    /// The token is the first one of a chunk.
    pub chunk_start: Bit,
    /// With `chunk_start`: estimated number of 256 B blocks that the chunk needs.
    pub chunk_blocks: Bits<8>,
    /// The request ends; the token has no bytes.
    pub request_end: Bit,
    /// The token is the last one of its destination.
    pub dest_end: Bit,
    /// With `request_end`: status of the request.
    pub status: Bits<8>,
    /// With `request_end`: the destination that failed.
    pub bad_dest: Bits<DEST_COUNT>,
    /// The token is a header: it has no bytes, but all of its lanes are given.
    pub column: Bit,
    /// With `column`: rows of the chunk.
    pub rows: Bits<13>,
}

/// At most 64 bytes of a row, as fragments in host memory; or the header of a chunk of columns.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct RowBeat {
    /// Bytes of the beat, 0 to 64.
    pub bytes: Bits<7>,
    /// Place of the destination in the ring of destinations.
    pub dest: Bits<10>,
    /// Slot of the request.
    pub slot: Bits<8>,
    /// The beat is the last one of a unit.
    pub unit_end: Bit,
    /// The beat is the last one of a message.
    pub message_end: Bit,
    /// The beat is the first one of a message.
    pub message_start: Bit,
    /// With `message_start`: bytes of the message, where they are needed; else 0.
    pub message_bytes: Bits<32>,
    /// The beat is the first one of a chunk.
    pub chunk_start: Bit,
    /// With `chunk_start`: estimated number of 256 B blocks that the chunk needs.
    pub chunk_blocks: Bits<8>,
    /// The request ends; the beat has no bytes.
    pub request_end: Bit,
    /// The beat is the last one of its destination.
    pub dest_end: Bit,
    /// With `request_end`: status of the request.
    pub status: Bits<8>,
    /// With `request_end`: the destination that failed.
    pub bad_dest: Bits<DEST_COUNT>,
    /// Host address of each fragment (16 x 64 bits).
    pub addr: Bits<1024>,
    /// Bytes of each fragment (16 x 7 bits); 0 if the lane is not used.
    pub len: Bits<112>,
    /// Position of each fragment in the beat's payload (16 x 6 bits).
    pub pos: Bits<96>,
}

/// Expander of row tokens; see the module's documentation.
///
/// # Inputs
/// `token` stream, `lane_write`, `beat_ready`.
///
/// # Outputs
/// `token_ready`; `beat` stream: the token's side band, and `addr`, `len`, `pos` and `step` of 16 lanes.
#[derive(LogicBlock, BlockDefault)]
pub struct Expander {
    // Clock and reset.
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    // The decoder's lanes.
    /// Lanes that the decoder writes.
    pub lane_write: Flow<In, LaneWrite>,
    // Tokens.
    /// Tokens from the sequencer.
    pub token: Stream<In, Token>,
    // Beats.
    /// Beats for the placer, or headers for the column path.
    pub beat: Stream<Out, RowBeat>,
    /// The beat is a header of a chunk of columns.
    pub beat_column: Signal<Out, Bit>,
    /// With `beat_column`: rows of the chunk.
    pub beat_rows: Signal<Out, Bits<13>>,
    /// With `beat_column`: step of each lane in bytes, below 256 (16 x 8 bits).
    pub beat_step: Signal<Out, Bits<128>>,
    on_way: DFF<Bits<6>>,
    has_room: DFF<Bit>,
    take: Signal<Local, Bit>,
    give: Signal<Local, Bit>,
    // The token, 1 and 2 cycles later.
    first: DFF<Bits<4>>,
    last: DFF<Bits<4>>,
    piece: DFF<Bit>,
    bytes: DFF<Bits<7>>,
    lead: DFF<Bit>,
    behind_lead: DFF<Bits<6>>,
    row: DFF<Bits<32>>,
    pointer: DFF<Bits<64>>,
    offset: DFF<Bits<32>>,
    first_2: DFF<Bits<4>>,
    last_2: DFF<Bits<4>>,
    piece_2: DFF<Bit>,
    /// Bytes of the token, or of the piece of its last lane.
    bytes_2: DFF<Bits<7>>,
    /// The lane whose piece stands behind made bytes, a bit each, 1 to 5 cycles later.
    led: Signal<Local, Bits<16>>,
    leds: [DFF<Bits<16>>; 4],
    /// Lanes that have a pointer, a bit each.
    shifted: DFF<Bits<16>>,
    column: DFF<Bit>,
    column_2: DFF<Bit>,
    row_2: DFF<Bits<32>>,
    // Sum of pointer and offset.
    shift: DFF<Bits<64>>,
    /// Takes the upper bits of a lane's length: the sequencer cuts lanes that are longer than a beat.
    unused: Signal<Local, Bits<25>>,
    // The side band, and whether a token was taken 1 to 7 cycles ago.
    side: Signal<Local, Side>,
    valid: [DFF<Bit>; 7],
    // A token of one lane of row 0, or without bytes, needs no product and no position, and is done after 2 cycles.
    plain: [DFF<Bit>; 2],
    behind: Signal<Local, Bit>,
    early: Signal<Local, Bit>,
    start_pack: Pack<16, 64, 1024>,
    len_now: Pack<16, 7, 112>,
    // Lanes: lengths after 3 cycles, addresses after 7.
    lanes: [Lane; 16],
    used: Signal<Local, Bits<16>>,
    #[init(Constant::new(0xffff.into()))]
    ones: Constant<Bits<16>>,
    len: [DFF<Bits<7>>; 16],
    // Sums of the lengths of 2 and 4 lanes, and of all lanes up to each one.
    pairs: [Signal<Local, Bits<6>>; 15],
    fours: [DFF<Bits<6>>; 15],
    eights: [Signal<Local, Bits<6>>; 15],
    sums: [Signal<Local, Bits<6>>; 15],
    len_pack: Pack<16, 7, 112>,
    pos_pack: Pack<16, 6, 96>,
    early_pos: Pack<16, 6, 96>,
    /// Positions with the made bytes.
    led_pos: Pack<16, 6, 96>,
    step_pack: Pack<16, 8, 128>,
    addr_pack: Pack<16, 64, 1024>,
    poss: DFF<Bits<96>>,
    // Beats that wait for the placer.
    side_fifo: StreamFifo<Side, 5, 6>,
    addr_fifo: Fifo<1024, 5, 6>,
    len_fifo: Fifo<112, 5, 6>,
    pos_fifo: Fifo<96, 5, 6>,
    step_fifo: Fifo<128, 5, 6>,
}

impl Expander {
    /// A token is taken when there is room for its beat at the end.
    #[hdl_gen]
    fn take_token(&mut self) {
        self.token.ready.next = self.has_room.q.val();
        self.take.next = self.token.valid.val() && self.has_room.q.val();
        self.give.next = self.addr_fifo.out_valid.val() && self.beat.ready.val();
        if self.take.val() && !self.give.val() {
            self.on_way.d.next = self.on_way.q.val() + 1;
        } else if !self.take.val() && self.give.val() {
            self.on_way.d.next = self.on_way.q.val() - 1;
        }
        self.has_room.d.next = self.on_way.d.val() < 32;
    }

    /// Moves the side band on. A token that needs only its lane leaves at once, if it is the next one to leave.
    #[hdl_gen]
    fn leave_early(&mut self) {
        self.token.share(&mut self.side);
        self.valid[0].d.next = self.take.val();
        for k in 1..7 {
            self.valid[k].d.next = self.valid[k - 1].q.val();
        }

        // A token that needs only its lane leaves at once, if it is the next one to leave.
        self.plain[0].d.next = !self.token.column.val()
            && ((self.token.bytes.val() == 0)
                || ((self.token.first.val() == self.token.last.val())
                    && (self.token.row.val() == 0)));
        self.plain[1].d.next = self.plain[0].q.val();
        self.behind.next = false;
        for k in 2..7 {
            self.behind.next = self.behind.val() || self.valid[k].q.val();
        }
        self.early.next = self.valid[1].q.val() && self.plain[1].q.val() && !self.behind.val();
        if self.early.val() {
            self.valid[2].d.next = false;
        }
    }

    /// The token's fields are delayed while the lanes are read.
    #[hdl_gen]
    fn delay_fields(&mut self) {
        self.first.d.next = self.token.first.val();
        self.last.d.next = self.token.last.val();
        self.piece.d.next = self.token.piece.val();
        self.bytes.d.next = self.token.bytes.val();
        self.lead.d.next = self.token.lead.val();
        self.behind_lead.d.next = self.token.behind.val();
        self.column.d.next = self.token.column.val();
        self.row.d.next = self.token.row.val();
        self.pointer.d.next = self.token.pointer.val();
        self.offset.d.next = 0.into();
        if self.token.piece.val() {
            self.offset.d.next = self.token.offset.val();
        }
        self.first_2.d.next = self.first.q.val();
        self.last_2.d.next = self.last.q.val();
        self.piece_2.d.next = self.piece.q.val();
        self.bytes_2.d.next = self.bytes.q.val();
        self.led.next = 0.into();
        self.shifted.d.next = self.ones.val();
        if self.lead.q.val() {
            self.bytes_2.d.next = bit_cast::<7, 6>(self.behind_lead.q.val());
            self.led.next = bits::<16>(1) << self.last.q.val();
            self.shifted.d.next = self.led.val();
        }
        self.leds[0].d.next = self.led.val();
        for k in 1..4 {
            self.leds[k].d.next = self.leds[k - 1].q.val();
        }
        self.column_2.d.next = self.column.q.val();
        self.row_2.d.next = self.row.q.val();
        self.shift.d.next = self.pointer.q.val() + bit_cast::<64, 32>(self.offset.q.val());
    }

    /// Reads the lanes, and finds how many bytes each of them has.
    #[hdl_gen]
    fn read_lanes(&mut self) {
        self.used.next = self.ones.val() << self.first_2.q.val();
        self.used.next = self.used.val() & (self.ones.val() >> (self.last_2.q.val() ^ 15));
        if (self.bytes_2.q.val() == 0) && !self.column_2.q.val() {
            self.used.next = 0.into();
        }
        self.unused.next = self.lane_write.len.val().get_bits::<25>(7);
        for k in 0..16 {
            self.lanes[k].write.next =
                self.lane_write.valid.val() && (self.lane_write.lane.val() == k.to_bits());
            self.lanes[k].write_set.next = self.lane_write.set.val();
            self.lanes[k].write_base.next = self.lane_write.base.val();
            self.lanes[k].write_step.next = self.lane_write.step.val();
            self.lanes[k].write_len.next = self.lane_write.len.val().get_bits::<7>(0);
            if self.lane_write.inline.val() {
                self.lanes[k].write_len.next = 0.into();
            }
            self.lanes[k].set_read.next = self.token.set.val();
            self.lanes[k].row.next = self.row_2.q.val();
            self.lanes[k].in_row_0.next = self.led.val().get_bit(k);
            self.lanes[k].shift.next = 0.into();
            if self.shifted.q.val().get_bit(k) {
                self.lanes[k].shift.next = self.shift.q.val();
            }
            self.len[k].d.next = 0.into();
            if self.used.val().get_bit(k) {
                self.len[k].d.next = self.lanes[k].len.val();
                if self.piece_2.q.val() || self.leds[0].q.val().get_bit(k) {
                    self.len[k].d.next = self.bytes_2.q.val();
                }
            }
        }
    }

    /// Finds the positions of fragments: the sums of the lengths of the lanes before.
    #[hdl_gen]
    fn find_positions(&mut self) {
        self.pairs[0].next = self.len[0].q.val().get_bits::<6>(0);
        for k in 1..15 {
            self.pairs[k].next =
                self.len[k].q.val().get_bits::<6>(0) + self.len[k - 1].q.val().get_bits::<6>(0);
        }
        for k in 0..2 {
            self.fours[k].d.next = self.pairs[k].val();
        }
        for k in 2..15 {
            self.fours[k].d.next = self.pairs[k].val() + self.pairs[k - 2].val();
        }
        for k in 0..4 {
            self.eights[k].next = self.fours[k].q.val();
        }
        for k in 4..15 {
            self.eights[k].next = self.fours[k].q.val() + self.fours[k - 4].q.val();
        }
        for k in 0..8 {
            self.sums[k].next = self.eights[k].val();
        }
        for k in 8..15 {
            self.sums[k].next = self.eights[k].val() + self.eights[k - 8].val();
        }
        self.pos_pack.parts[0].next = 0.into();
        for k in 1..16 {
            self.pos_pack.parts[k].next = self.sums[k - 1].val();
        }
        for k in 0..16 {
            self.early_pos.parts[k].next = 0.into();
            if self.leds[0].q.val().get_bit(k) {
                self.early_pos.parts[k].next = LEAD.into();
            }
            self.led_pos.parts[k].next = self.poss.q.val().get_bits::<6>(k * 6);
            if self.leds[3].q.val().get_bit(k) {
                self.led_pos.parts[k].next = self.poss.q.val().get_bits::<6>(k * 6) + LEAD;
            }
        }
        for k in 0..16 {
            self.len_pack.parts[k].next = self.len[k].q.val();
            self.len_now.parts[k].next = self.len[k].d.val();
            self.addr_pack.parts[k].next = self.lanes[k].addr.val();
            self.start_pack.parts[k].next = self.lanes[k].start.val();
            self.step_pack.parts[k].next = self.lanes[k].step.val();
        }
        self.poss.d.next = self.pos_pack.whole.val();
    }

    /// The end: five FIFOs that are read together. Each takes its part of a beat as soon as it is known; the
    /// addresses come last.
    #[hdl_gen]
    fn give_beat(&mut self) {
        self.side_fifo.input.valid.next = self.take.val();
        self.side_fifo.output.ready.next = self.give.val();
        self.addr_fifo.in_valid.next = self.valid[6].q.val() || self.early.val();
        self.addr_fifo.out_ready.next = self.give.val();
        self.len_fifo.in_valid.next = self.valid[2].q.val() || self.early.val();
        self.len_fifo.out_ready.next = self.give.val();
        self.pos_fifo.in_valid.next = self.valid[4].q.val() || self.early.val();
        self.pos_fifo.out_ready.next = self.give.val();
        self.step_fifo.in_valid.next = self.valid[1].q.val();
        self.step_fifo.out_ready.next = self.give.val();
        self.side_fifo.input.data.next = self.side.val();
        self.addr_fifo.in_data.next = self.addr_pack.whole.val();
        self.len_fifo.in_data.next = self.len_pack.whole.val();
        self.pos_fifo.in_data.next = self.led_pos.whole.val();
        self.step_fifo.in_data.next = self.step_pack.whole.val();
        if self.early.val() {
            self.addr_fifo.in_data.next = self.start_pack.whole.val();
            self.len_fifo.in_data.next = self.len_now.whole.val();
            self.pos_fifo.in_data.next = self.early_pos.whole.val();
        }
        self.beat.valid.next = self.addr_fifo.out_valid.val();
        self.side_fifo.output.share(&mut self.beat);
        self.beat_column.next = self.side_fifo.output.data.val().column;
        self.beat_rows.next = self.side_fifo.output.data.val().rows;
        self.beat.addr.next = self.addr_fifo.out_data.val();
        self.beat.len.next = self.len_fifo.out_data.val();
        self.beat.pos.next = self.pos_fifo.out_data.val();
        self.beat_step.next = self.step_fifo.out_data.val();
    }
}

impl Logic for Expander {
    #[hdl_gen]
    fn update(&mut self) {
        self.take_token();
        self.leave_early();
        self.delay_fields();
        self.read_lanes();
        self.find_positions();
        self.give_beat();

        if self.rst.val() {
            self.on_way.d.next = 0.into();
            self.has_room.d.next = false;
            for k in 0..7 {
                self.valid[k].d.next = false;
            }
        }
    }
}
