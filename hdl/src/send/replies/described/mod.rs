//! Reads described keys for READs: a region's packed bytes, as if they lay one behind the other (docs/semantics.md,
//! "Described keys").
//!
//! Stands between the [fetcher](super::fetcher), the host's memory and the [collector](super::collector). Reads of
//! plain memory pass. A read of a described key becomes reads of the pieces of the region in which its bytes lie, and
//! of bitmaps and pointers; what they bring is packed, so that the collector gets the beats of one read. If the
//! region's columns are dense, a packet becomes one read for each column instead, and what these bring is spread over
//! the packet's rows.
//!
//! ```text
//! KEY_REGIONS -> Entries -> Walk -----------fetch--> host_read --beat--> Pack -----> out
//!                    read --^ |\ \-- Runs -- ColumnReads --^         \-> Gatherer --^
//!                             | \---------------- part ------------------/ |
//!                             ^------------ bitmaps, pointers (Pack) -------/
//! ```
//!
//! Contract: reads are answered in their order. A read of plain memory takes 3 cycles more than without this block.
//! Before the first packet of a READ of a described key, the walk takes about 80 cycles, 4 more for each column, and
//! with a bitmap 1 more for each 64 rows that come before and 1 for each row of the last 64; further packets of the
//! READ go on where the one before has ended. A packet in dense columns takes 30 cycles and 1 for each column to be
//! asked for, while others are read; to be spread it takes as many cycles as it has beats of 64 B, 1 more, and at most
//! 1 for each column (see [`strides`] for values of odd widths). A piece takes 16 cycles; 512 rows of a bitmap or 8
//! pointers take a round trip to the host's memory besides. Every piece lies inside the memory region of its local key,
//! and in the key's protection domain, whatever a bitmap or pointers say; otherwise the read ends with an error.

use crate::context::{ConfigWrite, QP};
use crate::primitive::{RamStyle, StreamFifo, StreamStage};
use crate::receive::record::COLUMN_ROWS;
use crate::receive::responder::keys::KEY_REGION;
use crate::receive::transposer::runs::{Planned, ROW, RowShape, Runs};
use crate::regions::Position;
use crate::regions::entries::{Entries, KeyWord};
use crate::regions::walk::Walk;
use crate::shell::host_read::{HostReadBeat, HostReadRequest};
use drdma_emit::prelude::*;

mod gatherer;
mod kernel;
mod pack;
mod reads;
mod selection;
pub mod strides;
#[cfg(test)]
mod tests;

use gatherer::Gatherer;
use pack::Pack;
use reads::ColumnReads;
use selection::Selection;
use strides::Shape;

/// Bits of the number of a read among those under way, and of their count.
const PARTS: usize = 7;
const PARTS_COUNT: usize = PARTS + 1;
/// Bits of a place in a packet, as a signed number of bytes: up to 63 B before it, and up to a row behind it.
const OFFSET: usize = 13;
/// Bits of a count of packets in columns that are not asked for yet: fewer than 4.
const JOBS: usize = 2;

/// A read of a packet's bytes, from plain memory or from a region.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct ReplyRead {
    /// The first byte: its address, or its place among a region's packed bytes.
    pub addr: Bits<64>,
    /// Bytes to read, 1 to 4,096.
    pub bytes: Bits<13>,
    /// The key is a described one: `addr` is a place in `region`.
    pub described: Bit,
    /// The region of the described key; valid with `described`.
    pub region: Bits<KEY_REGION>,
    /// Protection domain of the queue pair whose peer reads.
    pub pd: Bits<32>,
    /// The read is of the READ's first packet; other packets go on where the one before has ended.
    pub first: Bit,
}

/// A read of host memory for a packet, or an entry that takes its place in the order of reads.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Part {
    /// Bytes that are read.
    pub bytes: Bits<13>,
    /// The read is of a whole packet in plain memory: its beats pass as they are.
    pub plain: Bit,
    /// The read is of a bitmap or of pointers, in one beat; it brings no bytes of the packet.
    pub side: Bit,
    /// The read is the packet's last one.
    pub last: Bit,
    /// There is no read: the packet's bytes cannot be reached.
    pub failed: Bit,
    /// With `failed`: the region ends before these bytes.
    pub outside: Bit,
}

/// Purpose of a read of host memory: a [`Part`] of a packet, or one of its columns.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct Due {
    /// The read is of a column's values in a packet.
    pub column: Bit,
    /// Of a column: the distance from the packet's first byte to the first one that was read, as a signed number of
    /// bytes.
    pub offset: Bits<OFFSET>,
    /// Bytes that are read; 0 for a column that the packet has none of.
    pub bytes: Bits<13>,
    /// Of a part: the read is of a whole packet in plain memory, whose beats pass as they are.
    pub plain: Bit,
    /// Of a part: the read is of a bitmap or of pointers, in one beat.
    pub side: Bit,
    /// With `side`: it is for the selection, not for the walk.
    pub ahead: Bit,
    /// The read is the packet's last one.
    pub last: Bit,
    /// There is no read, because the packet's bytes cannot be reached.
    pub failed: Bit,
    /// With `failed`: the region ends before these bytes.
    pub outside: Bit,
}

/// A beat of a packet's bytes.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct ReplyBeat {
    /// Bytes of the packet, the first one lowest: 64, in the last beat maybe fewer.
    pub data: Bits<512>,
    /// The beat is the packet's last one.
    pub last: Bit,
    /// Valid with `last`: some of the packet's bytes could not be read.
    pub error: Bit,
    /// Valid with `error`: the region has no such bytes.
    pub outside: Bit,
}

/// Reads packets from plain memory and from regions. See the [module](self).
///
/// # Inputs
/// `clk`, `rst`; `cfg`; `word`: what the host writes to `KEY_REGIONS`; streams `read`, `beat`.
///
/// # Outputs
/// Streams `fetch`, `out`.
#[derive(LogicBlock, BlockDefault)]
pub struct Described {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Words that the host writes to `KEY_REGIONS`.
    pub word: Flow<In, KeyWord>,
    /// Reads of packets, from the fetcher.
    pub read: Stream<In, ReplyRead>,
    /// Reads of host memory.
    pub fetch: Stream<Out, HostReadRequest>,
    /// Bytes that the reads of host memory bring, in their order.
    pub beat: Stream<In, HostReadBeat>,
    /// Bytes of packets, in the order of `read`.
    pub out: Stream<Out, ReplyBeat>,

    entries: Entries,
    walk: Walk,
    /// The position in its region at which the packet before has ended.
    position: DFF<Position>,
    #[init(StreamFifo::new(RamStyle::Distributed))]
    parts: StreamFifo<Due, PARTS, PARTS_COUNT>,
    pack: Pack,

    // Packets in dense columns.
    /// Bytes of the packet whose region is walked.
    bytes: DFF<Bits<13>>,
    runs: Runs,
    plan: Signal<Local, Planned>,
    grain: Signal<Local, Bits<2>>,
    /// The rows of each packet, for its reads.
    shapes: StreamFifo<RowShape, 2, 3>,
    #[init(StreamFifo::new(RamStyle::Distributed))]
    spreads: StreamFifo<Shape, PARTS, PARTS_COUNT>,
    column_reads: ColumnReads,
    /// Packets in columns whose columns are known, and not all asked for; packets behind them wait.
    jobs: DFF<Bits<JOBS>>,
    told: Signal<Local, Bit>,
    asked: Signal<Local, Bit>,
    by_columns: Signal<Local, Bit>,
    /// The walk offers a step that is not a column; `reads`: a read is offered.
    steps: Signal<Local, Bit>,
    reads: Signal<Local, Bit>,
    gatherer: Gatherer,
    /// A run was the last one of its packet: the rows that its packet's runs take are free.
    frees: DFF<Bit>,
    freed_rows: DFF<Bits<COLUMN_ROWS>>,
    /// The beat that is offered. Whether a packet ends with it decides what the collector does in the same cycle.
    leaving: StreamStage<ReplyBeat>,

    // Packets of which a bitmap selects the rows.
    selection: Selection,
    selects: Signal<Local, Bit>,
    is_column: Signal<Local, Bit>,
    /// The oldest read is a part; nothing that was gathered before it waits to leave, or it is of a bitmap or of
    /// pointers.
    is_part: Signal<Local, Bit>,
    unused: Signal<Local, Bits<PARTS_COUNT>>,
    unused_receive: Signal<Local, Bit>,
    unused_qp: Signal<Local, Bits<QP>>,
}
