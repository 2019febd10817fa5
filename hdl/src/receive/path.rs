//! The receive path: from frames of the wire to what is written to host memory and what is sent back.
//!
//! ```text
//! frames --> parser --packet--> responder --placing--> receives --order--> reads --order--> atomics --order--> host_write
//!              |  \--words--> store                              \---> columns --/                      |
//!              |                 ^--------------------------------------/--------------------reads------/
//!              |\--ack--> acks --> reads --> keeper      responder --answer--> answers
//!              |\--congested--> notifier --notice--> packetizer
//!              |\--notified--> pacer
//!              v
//!         host's frames
//! ```
//!
//! This block only joins others; see these for their contracts.

use crate::context::{ConfigWrite, QP, QueuePairIndex, RegionIndex};
use crate::receive::acks::Acks;
use crate::receive::appends::Appends;
use crate::receive::atomics::Atomics;
use crate::receive::notifier::{Notice, Notifier};
use crate::receive::parser::Parser;
use crate::receive::pieces::Pieces;
use crate::receive::reads::{Asking, Reads};
use crate::receive::receives::Receives;

use crate::receive::record::{
    Ack, Answer, Answered, AppendWord, COLUMN_ROWS, SLOT, SlotIndex, WriteOrder,
};
use crate::receive::responder::Responder;
use crate::receive::store::FrameStore;
use crate::receive::transposer::writer::ColumnWriter;
use crate::regions::entries::KeyWord;
use crate::request::PieceWrite;
use crate::shell::control::Doorbell;
use crate::shell::corundum::RxBeat;
use crate::shell::host_read::shared::SharedReads;
use crate::shell::host_read::{HostReadBeat, HostReadRequest};
use drdma_emit::prelude::*;

/// Receives frames: joins the blocks of the receive path. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct ReceivePath {
    // ------------------------------------------------------------------ clock and resets
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset of the shell.
    pub rst: Signal<In, Bit>,
    /// Synchronous reset of the shell or of the host.
    pub card_reset: Signal<In, Bit>,

    // ------------------------------------------------------------------ what the host has set
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Words that the host writes to append regions and their doorbells.
    pub append_word: Flow<In, AppendWord>,
    /// Words that the host writes to the described regions of keys.
    pub key_word: Flow<In, KeyWord>,
    /// The card's MAC address.
    pub mac: Signal<In, Bits<48>>,
    /// The card's IPv4 address.
    pub ip: Signal<In, Bits<32>>,
    /// Least number of cycles between two congestion notifications of one queue pair.
    pub cnp_interval: Signal<In, Bits<16>>,

    // ------------------------------------------------------------------ frames
    /// Frames from the wire.
    pub s_axis_if_rx: AxiStream<In, RxBeat>,
    /// Frames that are not for the card, for the host.
    pub m_axis_if_rx: AxiStream<Out, RxBeat>,

    // ------------------------------------------------------------------ receive queues
    /// Doorbells of receive queues.
    pub doorbell: Stream<In, Doorbell>,
    /// Reads of host memory: rings of receive queues, bitmaps and pointers.
    pub read: Stream<Out, HostReadRequest>,
    /// Bytes that the reads bring, in their order.
    pub beat: Stream<In, HostReadBeat>,

    // ------------------------------------------------------------------ to host memory
    /// Runs of bytes to write to host memory, and receives that complete behind them.
    pub order: Stream<Out, WriteOrder>,
    /// The oldest frame in the frame store is not needed any more.
    pub freed_valid: Signal<In, Bit>,
    /// Segments of the frame store that are read, a bit each.
    pub store_enable: Signal<In, Bits<2>>,
    /// Rows of the frame store that are read, 10 bits for each segment.
    pub store_row: Signal<In, Bits<20>>,
    /// The rows, 512 bits for each segment, two cycles after they were asked for.
    pub store_data: Signal<Out, Bits<1024>>,
    /// Segments of the memory of columns that are read, a bit each.
    pub column_enable: Signal<In, Bits<2>>,
    /// Rows of the memory of columns that are read, 7 bits for each segment.
    pub column_row: Signal<In, Bits<14>>,
    /// The rows, 512 bits for each segment, two cycles after they were asked for.
    pub column_data: Signal<Out, Bits<1024>>,
    /// How many rows of the memory of columns are not needed any more.
    pub freed_rows: Signal<In, Bits<COLUMN_ROWS>>,

    // ------------------------------------------------------------------ to the sending side
    /// ACKs and NAKs to send, READs and atomics to answer.
    pub answer: Stream<Out, Answer>,
    /// A READ or an atomic was answered or given up, unless it was a repetition.
    pub answered: Flow<In, Answered>,
    /// Question of `replies`: address of the first byte that is about to be read.
    pub ask_addr: Signal<In, Bits<64>>,
    /// Question of `replies`: bytes that are about to be read.
    pub ask_bytes: Signal<In, Bits<13>>,
    /// Question of `replies`: the bytes may lie anywhere in host memory.
    pub ask_all: Signal<In, Bit>,
    /// Answer, two cycles later: an atomic that is under way has this address.
    pub same_word: Signal<Out, Bit>,
    /// Answer, two cycles later: an atomic that is under way lies in a page of 4 KiB that will be read.
    pub same_page: Signal<Out, Bit>,
    /// Answer, three cycles later: the atomic under way that was begun last with this address.
    pub before: Flow<Out, SlotIndex>,
    /// Slot of an atomic that is begun.
    pub begun: Flow<In, SlotIndex>,
    /// Slot of the atomic whose operands are looked up.
    pub operands_of: Signal<In, Bits<SLOT>>,
    /// Operand of that atomic: the value that is swapped in or added.
    pub swap_or_add: Signal<Out, Bits<64>>,
    /// Operand of that atomic: the value that is compared with.
    pub compare: Signal<Out, Bits<64>>,
    /// Slot of an atomic that writes nothing.
    pub given_up: Flow<In, SlotIndex>,
    /// Slot of an atomic whose word has been written.
    pub ended: Flow<In, SlotIndex>,
    /// ACKs and NAKs that have come, and acknowledgements that follow from answers to READs and atomics.
    pub ack: Stream<Out, Ack>,
    /// Congestion notifications to send.
    pub notice: Stream<Out, Notice>,
    /// A congestion notification has come for this queue pair.
    pub notified: Flow<Out, QueuePairIndex>,
    /// READs and atomics that are sent, for which answers will come.
    pub asked: Flow<In, Asking>,
    /// Regions of host memory for the bytes of a READ's answer.
    pub piece: Flow<In, PieceWrite>,
    /// Memory regions that peers make invalid.
    pub invalidate: Stream<Out, RegionIndex>,

    // ------------------------------------------------------------------ states of queue pairs
    /// The queue pair whose `qp_error` is asked for in the next cycle.
    pub error_next: Signal<Out, Bits<QP>>,
    /// The queue pair of `error_next`, one cycle before, is in the error state.
    pub qp_error: Signal<In, Bit>,
    /// The queue pair whose `holder_error` is asked for in the next cycle: one that holds an append region.
    pub holder_next: Signal<Out, Bits<QP>>,
    /// The queue pair of `holder_next`, one cycle before, is in the error state.
    pub holder_error: Signal<In, Bit>,
    /// The queue pair whose `closed` is asked for in the next cycle: see [`Keeper`](crate::send::keeper::Keeper).
    pub closed_next: Signal<Out, Bits<QP>>,
    /// The keeper has closed the queue pair of `closed_next`, one cycle before.
    pub closed: Signal<In, Bit>,
    /// A queue pair that enters the error state.
    pub set_qp_error: Stream<Out, QueuePairIndex>,
    /// A queue pair that has entered the error state.
    pub broken: Flow<In, QueuePairIndex>,

    // ------------------------------------------------------------------ what it is doing
    /// A packet for a queue pair, or a doorbell of a receive queue, is not used up. A frame whose queue pair is not
    /// known yet does not count, and neither does one that is between two blocks.
    pub busy: Signal<Out, Bit>,
    /// Frames to the card's addresses that were dropped in this cycle, or left to the host.
    pub count_dropped: Signal<Out, Bits<3>>,
    /// A frame for the card was dropped for lack of room.
    pub count_overrun: Signal<Out, Bit>,
    /// Packets that were dropped in this cycle because their queue pairs do not need them.
    pub count_ignored: Signal<Out, Bits<2>>,

    parser: Parser,
    acks: Acks,
    notifier: Notifier,
    store: FrameStore,
    responder: Responder,
    appends: Appends,
    receives: Receives,
    pieces: Pieces,
    shared_reads: SharedReads,
    columns: ColumnWriter,
    reads: Reads,
    atomics: Atomics,
}

impl Logic for ReceivePath {
    #[hdl_gen]
    fn update(&mut self) {
        // The parser owes the shell the rest of a frame, and has both resets.
        self.parser.card_reset.next = self.card_reset.val();
        self.parser.mac.next = self.mac.val();
        self.parser.ip.next = self.ip.val();
        self.s_axis_if_rx.join(&mut self.parser.s_axis_if_rx);
        self.parser.m_axis_if_rx.join(&mut self.m_axis_if_rx);
        self.parser.freed_valid.next = self.freed_valid.val();
        self.cfg.join(&mut self.parser.cfg);

        self.acks.rst.next = self.card_reset.val();
        self.cfg.join(&mut self.acks.cfg);
        self.parser.ack.join(&mut self.acks.come);
        self.parser.acks_roomy.next = self.acks.roomy.val();
        self.acks.ack.join(&mut self.reads.ack);

        self.notifier.rst.next = self.card_reset.val();
        self.cfg.join(&mut self.notifier.cfg);
        self.notifier.interval.next = self.cnp_interval.val();
        self.parser.congested.join(&mut self.notifier.congested);
        self.notifier.notice.join(&mut self.notice);
        self.parser.notified.join(&mut self.notified);

        // Answers to READs.
        self.reads.rst.next = self.card_reset.val();
        self.cfg.join(&mut self.reads.cfg);
        self.asked.join(&mut self.reads.asked);
        self.piece.join(&mut self.reads.piece);
        self.parser.settled.join(&mut self.reads.settled);
        self.columns.written.join(&mut self.reads.came);
        self.reads.order.join(&mut self.atomics.order);
        // An order that `atomics` accepts waits in a register.
        self.reads.passed.next = self.atomics.order.ready.val();
        self.reads.response.join(&mut self.ack);
        self.closed_next.next = self.reads.closed_next.val();
        self.reads.closed.next = self.closed.val();

        self.parser.write.join(&mut self.store.write);
        self.store.store_enable.next = self.store_enable.val();
        self.store.store_row.next = self.store_row.val();
        self.store_data.next = self.store.store_data.val();
        self.store.word_read.next = self.columns.store_read.val();
        self.store.word.next = self.columns.store_word.val();
        self.columns.store_granted.next = self.store.word_granted.val();
        self.columns.store_data.next = self.store.word_data.val();

        // Dense columns.
        self.columns.rst.next = self.card_reset.val();
        self.receives.target.join(&mut self.columns.target);
        self.columns.planned.join(&mut self.receives.planned);
        self.receives.order.join(&mut self.columns.order);
        self.columns.freed_rows.next = self.freed_rows.val();
        self.columns.column_enable.next = self.column_enable.val();
        self.columns.column_row.next = self.column_row.val();
        self.column_data.next = self.columns.column_data.val();

        self.responder.rst.next = self.card_reset.val();
        self.cfg.join(&mut self.responder.cfg);
        self.parser.packet.join(&mut self.responder.packet);
        self.error_next.next = self.responder.error_next.val();
        self.responder.qp_error.next = self.qp_error.val();
        self.responder.set_qp_error.join(&mut self.set_qp_error);
        self.responder.answer.join(&mut self.answer);
        self.responder.invalidate.join(&mut self.invalidate);

        self.appends.rst.next = self.card_reset.val();
        self.cfg.join(&mut self.appends.cfg);
        self.append_word.join(&mut self.appends.word);
        self.holder_next.next = self.appends.error_next.val();
        self.appends.qp_error.next = self.holder_error.val();
        self.responder.append_ask.join(&mut self.appends.ask);
        self.appends.told.join(&mut self.responder.append_told);
        self.responder.append_settle.join(&mut self.appends.settle);
        self.responder.append_taken.join(&mut self.receives.append_taken);
        self.append_word.join(&mut self.receives.append_word);

        self.receives.rst.next = self.card_reset.val();
        self.cfg.join(&mut self.receives.cfg);
        self.doorbell.join(&mut self.receives.doorbell);
        self.shared_reads.rst.next = self.card_reset.val();
        self.receives.read.join(&mut self.shared_reads.a_read);
        self.shared_reads.a_beat.join(&mut self.receives.beat);
        self.shared_reads.read.join(&mut self.read);
        self.beat.join(&mut self.shared_reads.beat);
        self.responder.take.join(&mut self.receives.take);
        self.receives.taken.join(&mut self.responder.taken);
        self.responder.placing.join(&mut self.receives.placing);
        self.broken.join(&mut self.receives.broken);

        // Regions that are filled piece by piece.
        self.pieces.rst.next = self.card_reset.val();
        self.cfg.join(&mut self.pieces.cfg);
        self.key_word.join(&mut self.pieces.word);
        self.receives.granule.join(&mut self.pieces.granule);
        self.responder.region_ask.join(&mut self.pieces.ask);
        self.pieces.told.join(&mut self.responder.region_told);
        self.responder.region_settle.join(&mut self.pieces.settle);
        self.pieces.piece.join(&mut self.receives.piece);
        self.pieces.read.join(&mut self.shared_reads.b_read);
        self.shared_reads.b_beat.join(&mut self.pieces.beat);

        self.atomics.rst.next = self.card_reset.val();
        self.responder.has_slot.next = self.atomics.has_slot.val();
        self.responder.slot.next = self.atomics.slot.val();
        self.responder.accepted.join(&mut self.atomics.accepted);
        self.answered.join(&mut self.responder.answered);
        self.atomics.passed.join(&mut self.order);
        self.atomics.ask_addr.next = self.ask_addr.val();
        self.atomics.ask_bytes.next = self.ask_bytes.val();
        self.atomics.ask_all.next = self.ask_all.val();
        self.same_word.next = self.atomics.same_word.val();
        self.same_page.next = self.atomics.same_page.val();
        self.atomics.before.join(&mut self.before);
        self.begun.join(&mut self.atomics.begun);
        self.atomics.operands_of.next = self.operands_of.val();
        self.swap_or_add.next = self.atomics.swap_or_add.val();
        self.compare.next = self.atomics.compare.val();
        self.given_up.join(&mut self.atomics.given_up);
        self.ended.join(&mut self.atomics.ended);

        self.busy.next = self.receives.busy.val()
            || self.responder.placing.valid.val()
            || self.responder.take.valid.val()
            || self.columns.busy.val()
            || self.atomics.order.valid.val()
            || self.order.valid.val()
            || self.reads.busy.val()
            || self.pieces.busy.val()
            || self.answer.valid.val();
        self.count_dropped.next = bit_cast::<3, 2>(self.parser.count_dropped.val())
            + bit_cast::<3, 2>(self.responder.count_dropped.val());
        self.count_ignored.next = self.responder.count_ignored.val();
        self.count_overrun.next = self.parser.count_overrun.val();
        if self.parser.count_left.val() {
            self.count_dropped.next = self.count_dropped.val() + 1;
        }
    }
}
