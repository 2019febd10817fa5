//! Checks the keys of the receives that are taken, and keeps what is in use of them.
//!
//! Contract: a piece is checked in 4 cycles and one more for each region behind its first, the last extent of a strided
//! region in 14; the answer for its entry is at the output a cycle later. Of an entry with a bitmapped or a
//! pointer-mapped region no key is checked, and its granules go on to the block that walks its regions. Only the first
//! piece of an entry waits for the entry before. Answers wait in a FIFO of 8
//! places. `span` and `named` are written before the answer leaves.

use super::record::*;
use super::strided::Strided;
use crate::context::{ConfigWrite, QP, REGION, Table, TableSelect};
use crate::primitive::StreamFifo;
use crate::receive::record::Taken;
use crate::request::decoder::regions::MemoryRegions;
use drdma_abi::Layout;
use drdma_abi::completion::Status;
use drdma_abi::receive::rights;
use drdma_abi::register::MemoryRegionEntry;
use drdma_emit::prelude::*;

/// Status of a receive whose entry is malformed.
const MALFORMED: u64 = Status::LocalQpOperationError as u64;
/// Status of a receive whose memory must not be written.
const FORBIDDEN: u64 = Status::LocalProtectionError as u64;

const _: () = assert!(rights::LOCAL_WRITE == 1, "the right to write is not the lowest bit");

/// Checks keys. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Checker {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset; all tables are cleared after it.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Pieces of entries, in order.
    pub piece: Stream<In, Piece>,
    /// Answers to takes, in order.
    pub taken: Stream<Out, Taken>,
    /// There is room for the answers of all entries under way, and for some more.
    pub room: Signal<Out, Bit>,
    /// No entry is under way.
    pub settled: Signal<Out, Bit>,
    /// The queue pair of the entry in the next cycle.
    pub next_qp: Signal<Out, Bits<QP>>,
    /// Number of the place that is written.
    pub span_at: Signal<Out, Bits<5>>,
    /// The entry whose place is written has few regions.
    pub span_narrow: Signal<Out, Bit>,
    /// The place that is written.
    pub span: Flow<Out, Span>,
    /// The slot that the entry gets if it has many regions.
    pub slot: Signal<In, Bits<SLOT>>,
    /// A granule of an entry whose regions are walked when bytes come.
    pub granule: Flow<Out, ReceiveGranule>,
    /// The entry is in use from now on, under this name.
    pub named: Flow<Out, Name>,

    // Keys.
    select: TableSelect,
    regions: MemoryRegions,
    #[init(Constant::new((MemoryRegionEntry::field("rights").start as u64 / 32).into()))]
    rights_word: Constant<Bits<4>>,
    writable: Table<1, REGION>,

    // The piece whose regions are looked up, a region a cycle.
    working: DFF<Bit>,
    /// The piece has come in the cycle before.
    fresh: DFF<Bit>,
    /// The reach of a strided region is not known yet.
    waits: Signal<Local, Bit>,
    piece_held: DFF<Piece>,
    rest: DFF<Bits<3>>,
    /// Number of places of the entry that are written.
    index: DFF<Bits<PLACES>>,
    looks: Signal<Local, Bit>,
    /// The granule goes on without a check here.
    passes: Signal<Local, Bit>,
    contiguous: Signal<Local, Bit>,
    header: Signal<Local, Bit>,
    shape: Signal<Local, Bit>,
    extent: Signal<Local, Bit>,
    strided: Strided,
    last: Signal<Local, Bit>,
    addr: Signal<Local, Bits<64>>,
    len: Signal<Local, Bits<32>>,
    key: Signal<Local, Bits<32>>,

    // One cycle later: the region's key has been read.
    keyed: DFF<Bit>,
    keyed_region: DFF<Bit>,
    keyed_last: DFF<Bit>,
    keyed_addr: DFF<Bits<64>>,
    keyed_len: DFF<Bits<32>>,
    keyed_header: DFF<Bit>,
    // Two cycles later: both ends of the range are known.
    ended: DFF<Bit>,
    ended_region: DFF<Bit>,
    ended_last: DFF<Bit>,
    ended_len: DFF<Bits<32>>,
    ended_header: DFF<Bit>,
    /// First address of the key of the strided region.
    start_of_header: DFF<Bits<64>>,
    /// Address behind the last byte of the key of the strided region.
    end_of_header: DFF<Bits<65>>,
    known: DFF<Bit>,
    end_of_region: DFF<Bits<65>>,
    end_of_key: DFF<Bits<65>>,

    // Name of the entry, and its queue pair.
    name: DFF<Name>,
    qp: DFF<Bits<QP>>,
    pd: DFF<Bits<32>>,
    flush: DFF<Bit>,
    found: DFF<Bit>,
    malformed: DFF<Bit>,
    forbidden: DFF<Bit>,
    capacity: DFF<Bits<37>>,
    appends: DFF<Bit>,
    /// All pieces of the entry are checked.
    done: DFF<Bit>,
    answer: Signals<Local, Taken>,
    answers: StreamFifo<Taken, 3, 4>,
}

impl Logic for Checker {
    #[hdl_gen]
    fn update(&mut self) {
        // Keys, and whether they may be written to.
        self.select.valid.next = self.cfg.valid.val();
        self.select.number.next = self.cfg.table.val();
        self.select.word.next = self.cfg.word.val();
        self.regions.cfg_valid.next = self.select.region.val();
        self.regions.cfg_last.next = self.select.region_valid.val();
        self.regions.cfg_index.next = self.cfg.index.val();
        self.regions.cfg_word.next = self.cfg.word.val();
        self.regions.cfg_data.next = self.cfg.data.val();
        self.writable.write_enable.next =
            self.select.region.val() && (self.cfg.word.val() == self.rights_word.val());
        self.writable.write_address.next = self.cfg.index.val().get_bits::<REGION>(0);
        self.writable.write_data.next = self.cfg.data.val().get_bits::<1>(0);

        // A piece comes. The first one of an entry waits for the entry before.
        self.settled.next = !self.working.q.val()
            && !self.keyed.q.val()
            && !self.ended.q.val()
            && !self.done.q.val();
        self.piece.ready.next =
            self.settled.val() || (!self.working.q.val() && !self.piece_held.q.val().ends);
        self.passes.next = self.fresh.q.val() && self.name.q.val().pieces;
        self.looks.next = (self.piece_held.q.val().here != 0) && !self.name.q.val().pieces;
        self.contiguous.next =
            self.looks.val() && (self.piece_held.q.val().kind == GranuleKind::Contiguous);
        self.header.next = self.looks.val()
            && self.fresh.q.val()
            && (self.piece_held.q.val().kind == GranuleKind::Header);
        self.shape.next = self.looks.val()
            && self.fresh.q.val()
            && (self.piece_held.q.val().kind == GranuleKind::Shape);
        self.extent.next = self.looks.val()
            && self.fresh.q.val()
            && (self.piece_held.q.val().kind == GranuleKind::Extent);
        self.waits.next =
            self.looks.val() && self.piece_held.q.val().closes && !self.strided.done.val();
        self.last.next = (self.rest.q.val() <= 1) && !self.waits.val();
        self.addr.next = self.piece_held.q.val().data.get_bits::<64>(0);
        self.len.next = self.piece_held.q.val().data.get_bits::<32>(64);
        self.key.next = self.piece_held.q.val().data.get_bits::<32>(96);
        if self.working.q.val() {
            self.piece_held.d.next.data = self.piece_held.q.val().data >> 128;
            if !self.waits.val() {
                self.rest.d.next = self.rest.q.val() - 1;
            }
            if self.contiguous.val() || self.shape.val() || self.extent.val() || self.passes.val() {
                self.index.d.next = self.index.q.val() + 1;
            }
            if self.last.val() {
                self.working.d.next = false;
            }
        }
        self.fresh.d.next = false;
        if self.piece.ready.val() && self.piece.valid.val() {
            self.working.d.next = true;
            self.fresh.d.next = self.piece.here.val() != 0;
            self.piece_held.d.next = self.piece.val();
            self.rest.d.next = self.piece.here.val();
            if self.piece.starts.val() {
                self.index.d.next = 0.into();
                self.name.d.next = self.piece.name.val();
                self.qp.d.next = self.piece.qp.val();
                self.pd.d.next = self.piece.pd.val();
                self.flush.d.next = self.piece.flush.val();
                self.malformed.d.next = false;
                self.forbidden.d.next = false;
                self.capacity.d.next = 0.into();
                self.appends.d.next = self.piece.appends.val();
                if self.piece.appends.val() {
                    self.capacity.d.next =
                        bit_cast::<37, 32>(self.piece.data.val().get_bits::<32>(0));
                }
            }
            self.found.d.next = self.piece.found.val();
            if self.piece.malformed.val() {
                self.malformed.d.next = true;
            }
            if self.piece.nameless.val() {
                self.name.d.next.wr_id = 0.into();
            }
        }
        self.regions.key.next = self.key.val();
        self.regions.pd.next = self.pd.q.val();
        self.writable.ahead.next = self.key.val().get_bits::<REGION>(0);
        self.keyed.d.next = self.working.q.val();
        self.keyed_region.d.next =
            self.contiguous.val() || (self.header.val() && self.len.val().any());
        self.keyed_header.d.next = self.header.val();
        self.keyed_last.d.next = self.last.val() && self.piece_held.q.val().ends;
        self.keyed_addr.d.next = self.addr.val();
        self.keyed_len.d.next = self.len.val();
        if self.header.val() {
            // The range that a strided region covers is known with its last extent.
            self.keyed_len.d.next = 0.into();
        }
        self.strided.header.next = self.header.val();
        self.strided.shape.next = self.shape.val();
        self.strided.extent.next = self.extent.val();
        self.strided.closes.next = self.piece_held.q.val().closes;
        self.strided.low.next = self.addr.val();
        self.strided.high.next = self.len.val();
        self.span.valid.next = self.working.q.val()
            && (self.contiguous.val() || self.shape.val() || self.extent.val());
        self.span_at.next = self.index.q.val().get_bits::<5>(0);
        self.span_narrow.next = !self.name.q.val().wide;
        self.span.addr.next = self.addr.val();
        self.span.len.next = self.len.val();
        self.span.strided.next = self.shape.val();
        self.span.extents.next = self.key.val().get_bits::<5>(0);
        if self.shape.val() {
            self.span.len.next = self.strided.rows.val();
        }
        if self.extent.val() {
            self.span.addr.next = self.strided.addr.val();
        }

        self.granule.valid.next = self.working.q.val() && self.passes.val();
        self.granule.qp.next = self.qp.q.val();
        self.granule.slot.next = self.slot.val();
        self.granule.index.next = self.index.q.val().get_bits::<5>(0);
        self.granule.data.next = self.piece_held.q.val().data.get_bits::<128>(0);
        self.granule.kind.next = self.piece_held.q.val().region_kind;
        self.granule.of_last.next = self.piece_held.q.val().of_last;

        // The key is there. No sum wraps.
        self.ended.d.next = self.keyed.q.val();
        self.ended_region.d.next = self.keyed_region.q.val();
        self.ended_last.d.next = self.keyed_last.q.val();
        self.ended_len.d.next = self.keyed_len.q.val();
        self.ended_header.d.next = self.keyed_header.q.val();
        if self.ended.q.val() && self.ended_header.q.val() {
            self.end_of_header.d.next = self.end_of_key.q.val();
        }
        self.known.d.next = self.regions.known.val()
            && (self.writable.read_data.val() == 1)
            && (self.keyed_header.q.val() || (self.keyed_addr.q.val() >= self.regions.addr.val()));
        if self.keyed.q.val() && self.keyed_header.q.val() {
            self.start_of_header.d.next = self.regions.addr.val();
        }
        self.end_of_region.d.next = bit_cast::<65, 64>(self.keyed_addr.q.val())
            + bit_cast::<65, 32>(self.keyed_len.q.val());
        self.end_of_key.d.next = bit_cast::<65, 64>(self.regions.addr.val())
            + bit_cast::<65, 64>(self.regions.len.val());

        // The verdict on the entry.
        self.done.d.next = self.ended.q.val() && self.ended_last.q.val();
        if self.ended.q.val() && self.ended_region.q.val() {
            if !self.known.q.val()
                || (!self.ended_header.q.val()
                    && (self.end_of_region.q.val() > self.end_of_key.q.val()))
            {
                self.forbidden.d.next = true;
            }
            self.capacity.d.next =
                self.capacity.q.val() + bit_cast::<37, 32>(self.ended_len.q.val());
        }
        if self.strided.done.val() && self.strided.some.val() {
            if (self.strided.limit.val() > self.end_of_header.q.val())
                || (self.strided.start.val() < bit_cast::<65, 64>(self.start_of_header.q.val()))
            {
                self.forbidden.d.next = true;
            }
            self.capacity.d.next =
                self.capacity.q.val() + bit_cast::<37, 32>(self.strided.bytes.val());
        }

        // The entry is in use, and its answer leaves.
        // A piece that could be accepted is looked up whether it comes or not; if it does not, nothing is written next.
        self.next_qp.next = self.qp.q.val();
        if self.piece.ready.val() {
            self.next_qp.next = self.piece.qp.val();
        }
        self.named.valid.next = self.done.q.val() && self.found.q.val();
        self.named.next = self.name.q.val();
        self.named.places.next = self.index.q.val();
        if self.name.q.val().pieces {
            self.named.places.next = 0.into();
        }
        self.answer.found.next = self.found.q.val();
        self.answer.appends.next = self.appends.q.val() && self.found.q.val();
        self.answer.status.next = 0.into();
        self.answer.capacity.next = self.capacity.q.val().get_bits::<32>(0);
        self.answer.pieces.next =
            self.name.q.val().pieces && self.found.q.val() && !self.malformed.q.val();
        if self.capacity.q.val().get_bits::<5>(32).any() || self.answer.pieces.val() {
            self.answer.capacity.next = 0xffff_ffff.into();
        }
        if self.malformed.q.val() {
            self.answer.status.next = MALFORMED.into();
        } else if self.forbidden.q.val() {
            self.answer.status.next = FORBIDDEN.into();
        }
        if !self.found.q.val() {
            self.answer.status.next = 0.into();
        }
        self.answers.input.valid.next = self.done.q.val() && !self.flush.q.val();
        self.answers.input.data.next = self.answer.val();
        self.answers.output.join(&mut self.taken);
        self.room.next = self.answers.free.val() >= 4;

        if self.rst.val() {
            self.working.d.next = false;
            self.fresh.d.next = false;
            self.keyed.d.next = false;
            self.ended.d.next = false;
            self.done.d.next = false;
        }
    }
}
