//! Checks the keys of the receives that are taken, and keeps what is in use of them.
//!
//! Contract: a piece is checked in 4 cycles and one more for each region behind its first, the last extent of a strided
//! region in 14; the answer for its entry is at the output a cycle later. Of an entry with a bitmapped or a
//! pointer-mapped region no key is checked, and its granules go on to the block that walks its regions. Only the first
//! piece of an entry waits for the entry before. Answers wait in a FIFO of 8 places. `span` and `named` are written
//! before the answer leaves.

mod kernel;

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
    /// Granules of the piece that are left, but for a piece that is `fresh`.
    rest: DFF<Bits<3>>,
    left: Signal<Local, Bits<3>>,
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
