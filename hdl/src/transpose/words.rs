//! Writes words of 4 bytes into a memory of 32 banks of a word.

use super::{BYTES, LANES, PIECES};
use crate::primitive::{Pack, PromptFifo, Ram, WordClashes, WordCrossbar};
use drdma_emit::prelude::*;

/// Bits of the number of a bank, and number of banks.
const BANK: usize = 5;
const BANKS: usize = 1 << BANK;
/// Bits of the number of a row.
const ROW: usize = 7;
/// Bits of the place of a word: its bank, and its row above that.
pub const WORD_PLACE: usize = BANK + ROW;
/// Bits of a word that waits: bytes 32, which of them count 4, place, whether it is of a job's last beat.
const WORD: usize = 32 + LANES + WORD_PLACE + 1;
/// Bits of a count of jobs whose last word has left a lane.
const COUNT: usize = 4;
/// Cycles from when all lanes have passed a job's last words on until these are in the memory.
const WRITTEN: usize = 2;

/// Like [`PieceBanks`](super::PieceBanks), for pieces that never cross a word: 128 rows of 128 B, whose words are in 32
/// banks of block RAM.
///
/// Contract: a beat of 16 words a cycle while `flows`, which comes from registers. Words in different rows of a bank
/// take turns; those in one row have no byte in common. Up to 8 wait in each of 16 lanes. `done`, a pulse, comes when
/// the last beat of a job is in the memory, in the order of jobs. A row is read in a cycle, and is there in the next
/// one.
///
/// # Inputs
/// `clk`, `rst`; `valid`, `over`, `bytes`, `masks`, `places`; `read_enable`, `read_row`.
///
/// # Outputs
/// `flows`; `done`; `read_data`.
#[derive(LogicBlock, BlockDefault)]
pub struct WordBanks {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A beat of words is offered.
    pub valid: Signal<In, Bit>,
    /// The beat is the last one of a job.
    pub over: Signal<In, Bit>,
    /// Words of the beat: 16 x 4 bytes.
    pub bytes: Signal<In, Bits<512>>,
    /// Bytes of the beat that are written, a bit each.
    pub masks: Signal<In, Bits<64>>,
    /// Places of the words in the memory, 12 bits each.
    pub places: Signal<In, Bits<192>>,
    /// A beat is accepted in this cycle.
    pub flows: Signal<Out, Bit>,
    /// All words of the oldest job are in the memory; jobs end in order.
    pub done: Signal<Out, Bit>,
    /// A row is read.
    pub read_enable: Signal<In, Bit>,
    /// Number of the row that is read.
    pub read_row: Signal<In, Bits<7>>,
    /// The row, a cycle after it was asked for.
    pub read_data: Signal<Out, Bits<1024>>,

    waiting: [PromptFifo<WORD, 3, 4>; PIECES],
    room: Signal<Local, Bits<16>>,
    rooms: Pack<PIECES, 1, 16>,
    heads: Pack<PIECES, 1, 16>,
    head_banks: Pack<PIECES, BANK, 80>,
    head_rows: Pack<PIECES, ROW, 112>,
    clashes: WordClashes,
    /// Lanes behind a lane count in this cycle, not those before it.
    reverse: DFF<Bit>,
    clash: [Signal<Local, Bits<16>>; PIECES],
    goes: [Signal<Local, Bit>; PIECES],
    go_in: Pack<BYTES, 1, 64>,
    bytes_in: Pack<PIECES, 32, 512>,
    go_held: DFF<Bits<64>>,
    bytes_held: DFF<Bits<512>>,
    banks_held: DFF<Bits<80>>,
    rows_held: DFF<Bits<112>>,
    ends: [DFF<Bits<COUNT>>; PIECES],
    all_ended: [Signal<Local, Bit>; PIECES],
    ended_in: Pack<PIECES, 1, 16>,
    ended: Signal<Local, Bit>,
    crossbar: WordCrossbar,
    banks: [Ram<32, LANES, ROW>; BANKS],
    words_out: Pack<BANKS, 32, 1024>,
    /// The last words of a job are on their way to the memory, by stage.
    last: [DFF<Bit>; WRITTEN],
}

impl Logic for WordBanks {
    #[hdl_gen]
    fn update(&mut self) {
        // A beat comes.
        for s in 0..PIECES {
            self.rooms.parts[s].next = self.waiting[s].in_ready.val().into();
        }
        self.room.next = self.rooms.whole.val();
        self.flows.next = self.room.val().all();
        for s in 0..PIECES {
            self.waiting[s].in_valid.next = self.valid.val() && self.room.val().all();
            self.waiting[s].in_data.next =
                bit_cast::<WORD, 32>(self.bytes.val().get_bits::<32>(s * 32))
                    | (bit_cast::<WORD, 4>(self.masks.val().get_bits::<4>(s * 4)) << 32)
                    | (bit_cast::<WORD, WORD_PLACE>(
                        self.places.val().get_bits::<WORD_PLACE>(s * WORD_PLACE),
                    ) << 36)
                    | (bit_cast::<WORD, 1>(self.over.val().into()) << 48);
        }

        // The oldest words that do not clash go.
        for s in 0..PIECES {
            self.heads.parts[s].next = (self.waiting[s].out_valid.val()
                && self.waiting[s].out_data.val().get_bits::<4>(32).any())
            .into();
            self.head_banks.parts[s].next = self.waiting[s].out_data.val().get_bits::<BANK>(36);
            self.head_rows.parts[s].next = self.waiting[s].out_data.val().get_bits::<ROW>(41);
        }
        self.clashes.used.next = self.heads.whole.val();
        self.clashes.banks.next = self.head_banks.whole.val();
        self.clashes.rows.next = self.head_rows.whole.val();
        self.clashes.reverse.next = self.reverse.q.val();
        self.reverse.d.next = !self.reverse.q.val();
        for s in 0..PIECES {
            self.clash[s].next = self.clashes.clash.val().get_bits::<16>(s * 16);
            self.goes[s].next = self.waiting[s].out_valid.val() && !self.clash[s].val().any();
            self.waiting[s].out_ready.next = self.goes[s].val();
            self.bytes_in.parts[s].next = self.waiting[s].out_data.val().get_bits::<32>(0);
            for l in 0..LANES {
                self.go_in.parts[s * LANES + l].next =
                    (self.goes[s].val() && self.waiting[s].out_data.val().get_bit(32 + l)).into();
            }
        }
        self.go_held.d.next = self.go_in.whole.val();
        self.bytes_held.d.next = self.bytes_in.whole.val();
        self.banks_held.d.next = self.head_banks.whole.val();
        self.rows_held.d.next = self.head_rows.whole.val();
        self.crossbar.go.next = self.go_held.q.val();
        self.crossbar.bytes.next = self.bytes_held.q.val();
        self.crossbar.banks.next = self.banks_held.q.val();
        self.crossbar.rows.next = self.rows_held.q.val();

        // The memory.
        for k in 0..BANKS {
            self.banks[k].write_lanes.next =
                self.crossbar.enable.val().get_bits::<LANES>(k * LANES);
            self.banks[k].write_address.next = self.crossbar.row.val().get_bits::<ROW>(k * ROW);
            self.banks[k].write_data.next = self.crossbar.data.val().get_bits::<32>(k * 32);
            self.banks[k].read_enable.next = self.read_enable.val();
            self.banks[k].read_address.next = self.read_row.val();
            self.words_out.parts[k].next = self.banks[k].read_data.val();
        }
        self.read_data.next = self.words_out.whole.val();

        // A job is over when it is over in every lane.
        for s in 0..PIECES {
            self.all_ended[s].next = self.ends[s].q.val().any();
            self.ended_in.parts[s].next = self.all_ended[s].val().into();
        }
        self.ended.next = self.ended_in.whole.val().all();
        for s in 0..PIECES {
            if self.goes[s].val() && self.waiting[s].out_data.val().get_bit(48) {
                if !self.ended.val() {
                    self.ends[s].d.next = self.ends[s].q.val() + 1;
                }
            } else if self.ended.val() {
                self.ends[s].d.next = self.ends[s].q.val() - 1;
            }
        }
        self.last[0].d.next = self.ended.val();
        for k in 1..WRITTEN {
            self.last[k].d.next = self.last[k - 1].q.val();
        }
        self.done.next = self.last[WRITTEN - 1].q.val();

        if self.rst.val() {
            for s in 0..PIECES {
                self.ends[s].d.next = 0.into();
            }
            for k in 0..WRITTEN {
                self.last[k].d.next = false;
            }
            self.go_held.d.next = 0.into();
            self.reverse.d.next = false;
        }
    }
}
