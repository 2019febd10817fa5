//! Requests become items of work: what must be read first, then the rows, destination by
//! destination in turns.

// The accessors that `LogicStruct` derives have no documentation.
#![allow(missing_docs)]

use super::measure::Measure;
use super::record::{Context, Item};
use super::tables::{Bounds, DestInfo, SetInfo};
use crate::primitive::{Flatten, Lutram, Multiplier, Ram, Restore};
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

/// What the plan does next. A table is read in the state before its contents are used.
#[derive(Clone, Copy, Debug, PartialEq, LogicState)]
pub enum PlanState {
    /// No request.
    Idle,
    /// Inspection: a destination is read.
    InspectRead,
    /// Its head.
    InspectHead,
    /// A set is read.
    InspectSetRead,
    /// Largest row, types.
    InspectSet,
    /// Can a message be too long, or longer than a packet?
    Weigh,
    /// A set is read.
    ScanRead,
    /// Its scan is asked for.
    Scan,
    /// The next destination.
    InspectNext,
    /// Until all scans have ended.
    Await,
    /// Judgement, destination by destination.
    JudgeRead,
    /// Its head.
    JudgeHead,
    /// A set is read.
    JudgeSetRead,
    /// Its elements are multiplied.
    JudgeTimes,
    /// Its pointers, and its number of elements.
    JudgeSet,
    /// The verdict on pointers and numbers.
    JudgeEnd,
    /// A set is read.
    MeasureRead,
    /// Its elements are multiplied.
    MeasureTimes,
    /// Its messages are measured.
    MeasureSet,
    /// Until the measurement is over.
    MeasureEnd,
    /// The verdict on lengths.
    JudgeLength,
    /// The next destination.
    JudgeNext,
    /// The size of chunks.
    Begin,
    /// A destination is read.
    TurnRead,
    /// Its head, and where it stands.
    TurnHead,
    /// A set is read.
    TurnSetRead,
    /// A stretch of its rows.
    TurnSet,
    /// The next destination, or the next turn.
    TurnNext,
    /// Shuffle: a set is read.
    LoadRead,
    /// Its elements are multiplied.
    LoadTimes,
    /// The walker learns it.
    Load,
    /// The walker starts.
    LoadUnits,
    /// Until it is done.
    LoadWait,
    /// The end of the request.
    Finish,
    /// Waits until a failed request has left the segmenter.
    Settle,
    /// Reads a destination of a request that failed in the decoder.
    RecallRead,
    /// Looks whether its queue pair has failed before.
    Recall,
}

/// What inspection found out about a destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Findings {
    /// Its messages must be measured.
    pub measure: Bit,
    /// Their lengths go with the tokens.
    pub announce: Bit,
    /// Bitmaps were counted.
    pub counted: Bit,
    /// Its units differ in length.
    pub uneven: Bit,
    /// A message could be too long.
    pub limited: Bit,
    /// Its units are for the walker.
    pub walked: Bit,
}

/// What a scan found.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Scanned {
    /// Set bits.
    pub count: Bits<32>,
    /// A pointer is wrong, or a read failed.
    pub bad: Bit,
}

/// The messages that begin in a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Measured {
    /// How many end in it.
    pub full_count: Bits<32>,
    /// Their bytes.
    pub full_bytes: Bits<32>,
    /// The bytes of the last one.
    pub tail_bytes: Bits<32>,
}

/// How far a destination's turns have come.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Turn {
    /// Regions that are done.
    pub region: Bits<5>,
    /// Rows of the next one that are done.
    pub row: Bits<32>,
}

const STAGES: usize = 4;

/// Reads a request's destinations and sets, asks for scans where something must be known before
/// the first token, judges their results in the order of destinations, and then gives the
/// stretches of rows to walk.
///
/// A request of one destination and one region takes about 16 cycles, 5 of them for its
/// stretch; scans take the time of their reads. A request of several destinations gives a
/// stretch every 6 cycles.
///
/// # Inputs
/// `request` stream, what [`Tables`](super::tables::Tables) reads, `result_*` (scans),
/// `item_ready`, `stretch_ready`.
///
/// # Outputs
/// `request_ready`, `dest_read`, `set_read`, `item` stream {`item`, `context`}, `stretch` stream
/// (what must be read for an item).
#[derive(LogicBlock)]
pub struct Plan {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A request is offered.
    pub request_valid: Signal<In, Bit>,
    /// It is taken.
    pub request_ready: Signal<Out, Bit>,
    /// Its slot.
    pub request_slot: Signal<In, Bits<8>>,
    /// Destinations.
    pub request_dests: Signal<In, Bits<7>>,
    /// The first one's place.
    pub request_first_dest: Signal<In, Bits<10>>,
    /// Its status, if it is not to be executed.
    pub request_status: Signal<In, Bits<8>>,
    /// The destination that failed.
    pub request_bad_dest: Signal<In, Bits<7>>,
    /// A request has left the segmenter.
    pub release_valid: Signal<In, Bit>,
    /// Queue pairs in error.
    pub qp_error: Signal<In, Bits<256>>,
    /// The destination to read.
    pub dest_read: Signal<Out, Bits<10>>,
    /// It, a cycle later.
    pub dest_info: Signal<In, DestInfo>,
    /// The set to read.
    pub set_read: Signal<Out, Bits<11>>,
    /// It, a cycle later.
    pub set_info: Signal<In, SetInfo>,
    /// Where its pointers may point.
    pub bounds: Signal<In, Bounds>,
    /// Bytes that its row spans in host memory.
    pub span: Signal<In, Bits<13>>,
    /// A scan has ended.
    pub result_valid: Signal<In, Bit>,
    /// The set.
    pub result_set: Signal<In, Bits<11>>,
    /// Set bits.
    pub result_count: Signal<In, Bits<32>>,
    /// A pointer is wrong, or a read failed.
    pub result_bad: Signal<In, Bit>,
    /// The walker is done.
    pub walked_valid: Signal<In, Bit>,
    /// It found a message that is too long.
    pub walked_too_long: Signal<In, Bit>,
    /// An item is offered.
    pub item_valid: Signal<Out, Bit>,
    /// It is taken.
    pub item_ready: Signal<In, Bit>,
    /// The item.
    pub item: Signal<Out, Item>,
    /// What its rows have in common.
    pub item_context: Signal<Out, Context>,
    /// Something must be read.
    pub stretch_valid: Signal<Out, Bit>,
    /// It is taken.
    pub stretch_ready: Signal<In, Bit>,
    /// The bitmap or the pointer array.
    pub stretch_addr: Signal<Out, Bits<64>>,
    /// First bit or pointer.
    pub stretch_first: Signal<Out, Bits<32>>,
    /// Bits or pointers.
    pub stretch_rows: Signal<Out, Bits<32>>,
    /// Bits, not pointers.
    pub stretch_bitmap: Signal<Out, Bit>,
    state: DFF<PlanState>,
    // The request.
    slot: DFF<Bits<8>>,
    dests: DFF<Bits<7>>,
    first_dest: DFF<Bits<10>>,
    status: DFF<Bits<8>>,
    bad_dest: DFF<Bits<7>>,
    // The failure is the queue pair's too.
    breaks: DFF<Bit>,
    // The walker knows the bounds of the pointers that it is to load.
    bounds_given: DFF<Bit>,
    // Requests that have not left the segmenter.
    under_way: DFF<Bits<9>>,
    finished: Signal<Local, Bit>,
    head_qp: Signal<Local, Bits<8>>,
    flush: Constant<Bits<8>>,
    single: DFF<Bit>,
    // The destination and the set at hand.
    index: DFF<Bits<7>>,
    head: DFF<DestInfo>,
    set: DFF<Bits<11>>,
    sets_left: DFF<Bits<5>>,
    last_set: Signal<Local, Bit>,
    last_dest: Signal<Local, Bit>,
    is_contiguous: Signal<Local, Bit>,
    is_bitmap: Signal<Local, Bit>,
    is_pointers: Signal<Local, Bit>,
    rows: Signal<Local, Bits<32>>,
    elements: Signal<Local, Bits<36>>,
    times: DFF<Bits<36>>,
    terms: [Signal<Local, Bits<36>>; 5],
    shuffle: Signal<Local, Bit>,
    larger: Signal<Local, Bits<37>>,
    saturated: Constant<Bits<37>>,
    uneven_set: Signal<Local, Bit>,
    uneven: DFF<Bit>,
    loading_check: DFF<Bit>,
    loaded: DFF<Bits<4>>,
    row_span: Signal<Local, Bits<14>>,
    // Inspection.
    largest: DFF<Bits<36>>,
    bitmaps: DFF<Bit>,
    pointers: DFF<Bit>,
    counts: DFF<Bit>,
    judge: DFF<Bit>,
    widest: DFF<Bits<14>>,
    most_lanes: DFF<Bits<5>>,
    multiplier: Multiplier<32, 36, 68>,
    latency: Constant<Bits<3>>,
    wait: DFF<Bits<3>>,
    mtu: Signal<Local, Bits<13>>,
    beyond_mtu: Signal<Local, Bit>,
    beyond_any: Signal<Local, Bit>,
    max_message: Constant<Bits<32>>,
    finding: Signal<Local, Findings>,
    findings: Lutram<6, 6, 1>,
    findings_in: Flatten<Findings, 6>,
    findings_out: Restore<Findings, 6>,
    asks: Signal<Local, Bit>,
    outstanding: DFF<Bits<11>>,
    // Judgement.
    scanned: Ram<33, 1, 11>,
    scanned_new: Signal<Local, Scanned>,
    scanned_in: Flatten<Scanned, 33>,
    scanned_out: Restore<Scanned, 33>,
    scan_bad: Signal<Local, Bit>,
    bad: DFF<Bit>,
    unequal: DFF<Bit>,
    first_of_dest: DFF<Bit>,
    elements_before: DFF<Bits<36>>,
    measure: Measure,
    measured: Ram<96, 1, 11>,
    measured_new: Signal<Local, Measured>,
    measured_in: Flatten<Measured, 96>,
    measured_out: Restore<Measured, 96>,
    protection: Constant<Bits<8>>,
    operation: Constant<Bits<8>>,
    length: Constant<Bits<8>>,
    // Turns.
    chunk: DFF<Bits<12>>,
    chunk_span: DFF<Bits<16>>,
    chunk_blocks: DFF<Bits<8>>,
    first_turn: DFF<Bit>,
    turn_begins: DFF<Bit>,
    unfinished: DFF<Bit>,
    done: DFF<Bits<64>>,
    turns: Lutram<37, 6, 1>,
    turn_in: Flatten<Turn, 37>,
    turn_out: Restore<Turn, 37>,
    turn: DFF<Turn>,
    turn_new: Signal<Local, Turn>,
    rows_left: Signal<Local, Bits<32>>,
    whole: Signal<Local, Bit>,
    stretch: Signal<Local, Bits<32>>,
    last_region: Signal<Local, Bit>,
    // What goes out.
    next_item: Signal<Local, Item>,
    shared: Signal<Local, Context>,
    push: Signal<Local, Bit>,
    free: Signal<Local, Bit>,
    has_item: DFF<Bit>,
    item_out: DFF<Item>,
    context_out: DFF<Context>,
    has_stretch: DFF<Bit>,
    stretch_from: DFF<Bits<64>>,
}

impl Default for Plan {
    fn default() -> Self {
        use drdma_abi::completion::Status;
        Self {
            clk: Default::default(),
            rst: Default::default(),
            request_valid: Default::default(),
            request_ready: Default::default(),
            request_slot: Default::default(),
            request_dests: Default::default(),
            request_first_dest: Default::default(),
            request_status: Default::default(),
            request_bad_dest: Default::default(),
            release_valid: Default::default(),
            qp_error: Default::default(),
            dest_read: Default::default(),
            dest_info: Default::default(),
            set_read: Default::default(),
            set_info: Default::default(),
            bounds: Default::default(),
            span: Default::default(),
            result_valid: Default::default(),
            result_set: Default::default(),
            result_count: Default::default(),
            result_bad: Default::default(),
            walked_valid: Default::default(),
            walked_too_long: Default::default(),
            item_valid: Default::default(),
            item_ready: Default::default(),
            item: Default::default(),
            item_context: Default::default(),
            stretch_valid: Default::default(),
            stretch_ready: Default::default(),
            stretch_addr: Default::default(),
            stretch_first: Default::default(),
            stretch_rows: Default::default(),
            stretch_bitmap: Default::default(),
            state: Default::default(),
            slot: Default::default(),
            dests: Default::default(),
            first_dest: Default::default(),
            status: Default::default(),
            bad_dest: Default::default(),
            breaks: Default::default(),
            bounds_given: Default::default(),
            under_way: Default::default(),
            finished: Default::default(),
            head_qp: Default::default(),
            flush: Constant::new((Status::WrFlushError as u8).to_bits()),
            single: Default::default(),
            index: Default::default(),
            head: Default::default(),
            set: Default::default(),
            sets_left: Default::default(),
            last_set: Default::default(),
            last_dest: Default::default(),
            is_contiguous: Default::default(),
            is_bitmap: Default::default(),
            is_pointers: Default::default(),
            rows: Default::default(),
            elements: Default::default(),
            times: Default::default(),
            terms: Default::default(),
            shuffle: Default::default(),
            larger: Default::default(),
            saturated: Constant::new(((1_u64 << 36) - 1).to_bits()),
            uneven_set: Default::default(),
            uneven: Default::default(),
            loading_check: Default::default(),
            loaded: Default::default(),
            row_span: Default::default(),
            largest: Default::default(),
            bitmaps: Default::default(),
            pointers: Default::default(),
            counts: Default::default(),
            judge: Default::default(),
            widest: Default::default(),
            most_lanes: Default::default(),
            multiplier: Multiplier::new(STAGES),
            latency: Constant::new(STAGES.to_bits()),
            wait: Default::default(),
            mtu: Default::default(),
            beyond_mtu: Default::default(),
            beyond_any: Default::default(),
            max_message: Constant::new(drdma_abi::work_request::MAX_MESSAGE.to_bits()),
            finding: Default::default(),
            findings: Default::default(),
            findings_in: Default::default(),
            findings_out: Default::default(),
            asks: Default::default(),
            outstanding: Default::default(),
            scanned: Default::default(),
            scanned_new: Default::default(),
            scanned_in: Default::default(),
            scanned_out: Default::default(),
            scan_bad: Default::default(),
            bad: Default::default(),
            unequal: Default::default(),
            first_of_dest: Default::default(),
            elements_before: Default::default(),
            measure: Default::default(),
            measured: Default::default(),
            measured_new: Default::default(),
            measured_in: Default::default(),
            measured_out: Default::default(),
            protection: Constant::new((Status::LocalProtectionError as u64).to_bits()),
            operation: Constant::new((Status::LocalQpOperationError as u64).to_bits()),
            length: Constant::new((Status::LocalLengthError as u64).to_bits()),
            chunk: Default::default(),
            chunk_span: Default::default(),
            chunk_blocks: Default::default(),
            first_turn: Default::default(),
            turn_begins: Default::default(),
            unfinished: Default::default(),
            done: Default::default(),
            turns: Default::default(),
            turn_in: Default::default(),
            turn_out: Default::default(),
            turn: Default::default(),
            turn_new: Default::default(),
            rows_left: Default::default(),
            whole: Default::default(),
            stretch: Default::default(),
            last_region: Default::default(),
            next_item: Default::default(),
            shared: Default::default(),
            push: Default::default(),
            free: Default::default(),
            has_item: Default::default(),
            item_out: Default::default(),
            context_out: Default::default(),
            has_stretch: Default::default(),
            stretch_from: Default::default(),
        }
    }
}

impl Logic for Plan {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clk,
            state,
            slot,
            dests,
            first_dest,
            status,
            bad_dest,
            breaks,
            bounds_given,
            under_way,
            single,
            index,
            head,
            set,
            sets_left,
            times,
            uneven,
            loading_check,
            loaded,
            largest,
            bitmaps,
            pointers,
            counts,
            judge,
            widest,
            most_lanes,
            wait,
            outstanding,
            bad,
            unequal,
            first_of_dest,
            elements_before,
            chunk,
            chunk_span,
            chunk_blocks,
            first_turn,
            turn_begins,
            unfinished,
            done,
            turn,
            has_item,
            item_out,
            context_out,
            has_stretch,
            stretch_from
        );

        // What the tables say.
        self.mtu.next = bit_cast::<13, 1>(1.into()) << self.head.q.val().log_mtu;
        self.dest_read.next = self.first_dest.q.val() + bit_cast::<10, 7>(self.index.q.val());
        self.set_read.next = self.set.q.val();
        self.is_contiguous.next = self.set_info.val().kind == 0;
        self.is_bitmap.next = self.set_info.val().kind == 2;
        self.is_pointers.next = self.set_info.val().kind == 3;
        self.rows.next = self.set_info.val().count;
        if self.is_contiguous.val() {
            self.rows.next = 1.into();
        }
        self.row_span.next = bit_cast::<14, 13>(self.span.val());
        if self.is_pointers.val() {
            // Records lie anywhere.
            self.row_span.next = bit_cast::<14, 13>(self.span.val()) + 256;
        }
        // A strided region's extents.
        for k in 0..5 {
            self.terms[k].next = 0.into();
            if self.set_info.val().lanes.get_bit(k) {
                self.terms[k].next = bit_cast::<36, 32>(self.rows.val()) << k.to_bits::<3>();
            }
        }
        self.times.d.next = ((self.terms[0].val() + self.terms[1].val())
            + (self.terms[2].val() + self.terms[3].val()))
            + self.terms[4].val();
        self.uneven_set.next = self.head.q.val().element_mask
            && (self.set_info.val().kind == 1)
            && (self.set_info.val().lanes != 1);
        // The largest row, or the largest element of all regions.
        self.shuffle.next = self.head.q.val().element_mask && (self.head.q.val().sets > 1);
        self.larger.next = bit_cast::<37, 36>(self.largest.q.val());
        if self.shuffle.val() {
            self.larger.next = bit_cast::<37, 36>(self.largest.q.val())
                + bit_cast::<37, 36>(self.set_info.val().row_bytes);
            if self.larger.val().get_bit(36) {
                self.larger.next = self.saturated.val();
            }
        } else if self.set_info.val().row_bytes > self.largest.q.val() {
            self.larger.next = bit_cast::<37, 36>(self.set_info.val().row_bytes);
        }
        self.last_set.next = self.sets_left.q.val() == 1;
        self.last_dest.next = self.index.q.val() + 1 == self.dests.q.val();

        // What is known about destinations and sets.
        self.findings.clk.next = self.clk.val();
        self.findings.read_address[0].next = bit_cast::<6, 7>(self.index.q.val());
        self.findings.write_address.next = bit_cast::<6, 7>(self.index.q.val());
        self.findings.write_data.next = self.findings_in.bits.val();
        self.findings.write_enable.next = false;
        self.findings_out.bits.next = self.findings.read_data[0].val();
        self.scanned.clk.next = self.clk.val();
        self.scanned.write_lanes.next = bit_cast::<1, 1>(self.result_valid.val().into());
        self.scanned.write_address.next = self.result_set.val();
        self.scanned_new.next.count = self.result_count.val();
        self.scanned_new.next.bad = self.result_bad.val();
        self.scanned_in.record.next = self.scanned_new.val();
        self.scanned.write_data.next = self.scanned_in.bits.val();
        self.scanned.read_enable.next = true;
        self.scanned.read_address.next = self.set.q.val();
        self.scanned_out.bits.next = self.scanned.read_data.val();
        self.elements.next = bit_cast::<36, 32>(self.rows.val());
        if self.is_bitmap.val() {
            self.elements.next = bit_cast::<36, 32>(self.scanned_out.record.val().count);
            if self.rows.val() == 0 {
                self.elements.next = 0.into();
            }
        }
        if (self.set_info.val().kind == 1) && self.head.q.val().element_mask {
            self.elements.next = self.times.q.val();
        }
        self.scan_bad.next = self.scanned_out.record.val().bad
            && (self.rows.val() != 0)
            && (self.is_pointers.val()
                || (self.is_bitmap.val() && self.findings_out.record.val().counted));

        // Measurement.
        self.measure.clk.next = self.clk.val();
        self.measure.rst.next = self.rst.val();
        self.measure.start.next = false;
        self.measure.units.next = self.head.q.val().units;
        self.measure.limit.next = self.max_message.val();
        if self.head.q.val().is_ud {
            self.measure.limit.next = bit_cast::<32, 13>(self.mtu.val());
        }
        self.measure.region_valid.next = false;
        self.measure.region_set.next = self.set.q.val();
        self.measure.region_rows.next = self.elements.val().get_bits::<32>(0);
        self.measure.region_bytes.next = self.set_info.val().row_bytes;
        if self.shuffle.val() {
            // As one region.
            self.measure.region_rows.next = self.elements_before.q.val().get_bits::<32>(0);
            self.measure.region_bytes.next = self.largest.q.val();
        }
        self.measure.finish.next = false;
        self.measured.clk.next = self.clk.val();
        self.measured_new.next.full_count = self.measure.write_full_count.val();
        self.measured_new.next.full_bytes = self.measure.write_full_bytes.val();
        self.measured_new.next.tail_bytes = self.measure.write_tail_bytes.val();
        self.measured_in.record.next = self.measured_new.val();
        self.measured.write_lanes.next = bit_cast::<1, 1>(self.measure.write_valid.val().into());
        self.measured.write_address.next = self.measure.write_set.val();
        self.measured.write_data.next = self.measured_in.bits.val();
        self.measured.read_enable.next = true;
        self.measured.read_address.next = self.set.q.val();
        self.measured_out.bits.next = self.measured.read_data.val();

        // The longest that a message could be.
        self.multiplier.clk.next = self.clk.val();
        self.multiplier.enable.next = true;
        self.multiplier.a.next = self.head.q.val().units;
        self.multiplier.b.next = self.largest.q.val();
        self.beyond_mtu.next = self.multiplier.product.val() > bit_cast::<68, 13>(self.mtu.val());
        self.beyond_any.next =
            self.multiplier.product.val() > bit_cast::<68, 32>(self.max_message.val());
        self.finding.next.measure = self.beyond_any.val()
            || (self.beyond_mtu.val() && (self.head.q.val().is_ud || self.head.q.val().is_write));
        self.finding.next.announce = self.beyond_mtu.val() && self.head.q.val().is_write;
        self.finding.next.limited =
            self.beyond_any.val() || (self.beyond_mtu.val() && self.head.q.val().is_ud);
        self.finding.next.uneven = self.uneven.q.val();
        self.finding.next.walked =
            self.shuffle.val() || (self.uneven.q.val() && self.finding.val().measure);
        self.finding.next.counted = self.bitmaps.q.val()
            && (self.finding.val().measure
                || (self.head.q.val().element_mask && (self.head.q.val().sets > 1)));
        self.findings_in.record.next = self.finding.val();

        // Items and what they must read.
        self.item_valid.next = self.has_item.q.val();
        self.item.next = self.item_out.q.val();
        self.item_context.next = self.context_out.q.val();
        self.stretch_valid.next = self.has_stretch.q.val();
        self.stretch_addr.next = self.stretch_from.q.val();
        self.stretch_first.next = self.item_out.q.val().first;
        self.stretch_rows.next = self.item_out.q.val().rows;
        self.stretch_bitmap.next = self.item_out.q.val().kind == 2;
        if self.item_ready.val() {
            self.has_item.d.next = false;
        }
        if self.stretch_ready.val() {
            self.has_stretch.d.next = false;
        }
        self.free.next = !self.has_item.q.val() && !self.has_stretch.q.val();
        self.push.next = false;

        // A destination's next stretch.
        self.turns.clk.next = self.clk.val();
        self.turns.read_address[0].next = bit_cast::<6, 7>(self.index.q.val());
        self.turns.write_address.next = bit_cast::<6, 7>(self.index.q.val());
        self.turns.write_enable.next = false;
        self.turn_out.bits.next = self.turns.read_data[0].val();
        self.rows_left.next = self.rows.val() - self.turn.q.val().row;
        self.whole.next =
            self.single.q.val() || (self.rows_left.val() <= bit_cast::<32, 12>(self.chunk.q.val()));
        self.stretch.next = self.rows_left.val();
        if !self.whole.val() {
            self.stretch.next = bit_cast::<32, 12>(self.chunk.q.val());
        }
        self.turn_new.next.region = self.turn.q.val().region;
        self.turn_new.next.row = self.turn.q.val().row + bit_cast::<32, 12>(self.chunk.q.val());
        if self.whole.val() {
            self.turn_new.next.region = self.turn.q.val().region + 1;
            self.turn_new.next.row = 0.into();
        }
        self.turn_in.record.next = self.turn_new.val();
        self.turns.write_data.next = self.turn_in.bits.val();
        self.last_region.next = self.turn.q.val().region + 1 == self.head.q.val().sets;

        self.next_item.next.task = 0.into();
        self.next_item.next.kind = self.set_info.val().kind;
        self.next_item.next.first = self.turn.q.val().row;
        self.next_item.next.rows = self.stretch.val();
        self.next_item.next.last = self.whole.val() && self.last_region.val();
        self.next_item.next.chunk_start = self.turn_begins.q.val();
        self.next_item.next.low = self.bounds.val().low;
        self.next_item.next.high = self.bounds.val().high;
        self.next_item.next.never = self.bounds.val().never;
        self.next_item.next.chunk_end = false;
        self.shared.next.set = self.set.q.val();
        self.shared.next.lanes = self.set_info.val().lanes;
        self.shared.next.starts = self.set_info.val().starts;
        self.shared.next.fits = self.set_info.val().row_bytes <= 64;
        self.shared.next.bytes = bit_cast::<7, 36>(self.set_info.val().row_bytes);
        self.shared.next.by_lane = self.head.q.val().element_mask
            && (self.set_info.val().kind == 1)
            && (self.set_info.val().lanes != 1);
        self.shared.next.dest = self.dest_read.val();
        self.shared.next.index = bit_cast::<6, 7>(self.index.q.val());
        self.shared.next.slot = self.slot.q.val();
        self.shared.next.units = self.head.q.val().units;
        self.shared.next.chunk_blocks = self.chunk_blocks.q.val();
        self.shared.next.measured =
            self.findings_out.record.val().announce && !self.findings_out.record.val().uneven;
        self.shared.next.full_count = self.measured_out.record.val().full_count;
        self.shared.next.full_bytes = self.measured_out.record.val().full_bytes;
        self.shared.next.tail_bytes = self.measured_out.record.val().tail_bytes;

        // Scans that have not ended.
        self.asks.next = false;

        self.finished.next = false;
        self.head_qp.next = self.dest_info.val().qp;
        self.request_ready.next = self.state.q.val() == PlanState::Idle;
        match self.state.q.val() {
            PlanState::Idle => {
                self.slot.d.next = self.request_slot.val();
                self.dests.d.next = self.request_dests.val();
                self.first_dest.d.next = self.request_first_dest.val();
                self.status.d.next = self.request_status.val();
                self.bad_dest.d.next = self.request_bad_dest.val();
                self.breaks.d.next =
                    !self.request_status.val().any() || self.request_dests.val().any();
                self.index.d.next = 0.into();
                self.single.d.next = self.request_dests.val() == 1;
                self.judge.d.next = false;
                self.widest.d.next = 1.into();
                self.most_lanes.d.next = 0.into();
                self.first_turn.d.next = true;
                self.done.d.next = 0.into();
                if self.request_valid.val() {
                    self.state.d.next = PlanState::InspectRead;
                    if self.request_status.val().any() && self.request_dests.val().any() {
                        self.state.d.next = PlanState::RecallRead;
                    } else if self.request_status.val().any() || (self.request_dests.val() == 0) {
                        self.state.d.next = PlanState::Finish;
                    }
                }
            }

            PlanState::RecallRead => {
                self.state.d.next = PlanState::Recall;
            }
            PlanState::Recall => {
                // A queue pair that has failed meanwhile comes before what the decoder found.
                self.index.d.next = self.index.q.val() + 1;
                self.state.d.next = PlanState::RecallRead;
                if self.index.q.val() == self.bad_dest.q.val() {
                    self.state.d.next = PlanState::Finish;
                }
                if self.qp_error.val().get_bit(self.head_qp.val().index()) {
                    self.status.d.next = self.flush.val();
                    self.bad_dest.d.next = self.index.q.val();
                    self.breaks.d.next = false;
                    self.state.d.next = PlanState::Finish;
                }
            }
            PlanState::InspectRead => {
                self.state.d.next = PlanState::InspectHead;
            }
            PlanState::InspectHead => {
                self.head.d.next = self.dest_info.val();
                self.set.d.next = self.dest_info.val().first_set;
                self.sets_left.d.next = self.dest_info.val().sets;
                self.largest.d.next = 0.into();
                self.bitmaps.d.next = false;
                self.pointers.d.next = false;
                self.uneven.d.next = false;
                self.wait.d.next = 0.into();
                self.state.d.next = PlanState::InspectSetRead;
                if self.dest_info.val().sets == 0 {
                    self.state.d.next = PlanState::Weigh;
                }
                // Its queue pair may have failed after it was decoded.
                if self.qp_error.val().get_bit(self.head_qp.val().index()) {
                    self.status.d.next = self.flush.val();
                    self.bad_dest.d.next = self.index.q.val();
                    self.breaks.d.next = false;
                    self.state.d.next = PlanState::Finish;
                }
            }
            PlanState::InspectSetRead => {
                self.state.d.next = PlanState::InspectSet;
            }
            PlanState::InspectSet => {
                self.largest.d.next = self.larger.val().get_bits::<36>(0);
                if self.uneven_set.val() {
                    self.uneven.d.next = true;
                }
                if self.row_span.val() > self.widest.q.val() {
                    self.widest.d.next = self.row_span.val();
                }
                if self.set_info.val().lanes > self.most_lanes.q.val() {
                    self.most_lanes.d.next = self.set_info.val().lanes;
                }
                if self.is_bitmap.val() {
                    self.bitmaps.d.next = true;
                }
                if self.is_pointers.val() {
                    self.pointers.d.next = true;
                }
                self.set.d.next = self.set.q.val() + 1;
                self.sets_left.d.next = self.sets_left.q.val() - 1;
                self.state.d.next = PlanState::InspectSetRead;
                if self.last_set.val() {
                    self.state.d.next = PlanState::Weigh;
                }
            }
            PlanState::Weigh => {
                self.wait.d.next = self.wait.q.val() + 1;
                self.set.d.next = self.head.q.val().first_set;
                self.sets_left.d.next = self.head.q.val().sets;
                if self.wait.q.val() == self.latency.val() {
                    self.findings.write_enable.next = true;
                    if self.finding.val().measure
                        || self.pointers.q.val()
                        || self.finding.val().counted
                        || (self.head.q.val().element_mask && (self.head.q.val().sets > 1))
                    {
                        self.judge.d.next = true;
                    }
                    self.counts.d.next = self.finding.val().counted;
                    self.state.d.next = PlanState::InspectNext;
                    if self.pointers.q.val() || self.finding.val().counted {
                        self.state.d.next = PlanState::ScanRead;
                    }
                }
            }
            PlanState::ScanRead => {
                self.state.d.next = PlanState::Scan;
            }
            PlanState::Scan => {
                self.next_item.next.task = 1.into();
                self.next_item.next.rows = self.rows.val();
                self.next_item.next.first = 0.into();
                self.next_item.next.last = false;
                self.next_item.next.chunk_start = false;
                self.asks.next = (self.rows.val() != 0)
                    && (self.is_pointers.val() || (self.is_bitmap.val() && self.counts.q.val()))
                    && self.free.val();
                self.push.next = self.asks.val();
                if self.free.val() {
                    self.set.d.next = self.set.q.val() + 1;
                    self.sets_left.d.next = self.sets_left.q.val() - 1;
                    self.state.d.next = PlanState::ScanRead;
                    if self.last_set.val() {
                        self.state.d.next = PlanState::InspectNext;
                    }
                }
            }
            PlanState::InspectNext => {
                self.index.d.next = self.index.q.val() + 1;
                self.state.d.next = PlanState::InspectRead;
                if self.last_dest.val() {
                    self.index.d.next = 0.into();
                    self.state.d.next = PlanState::Begin;
                    if self.judge.q.val() {
                        self.state.d.next = PlanState::Await;
                    }
                }
            }

            PlanState::Await => {
                if self.outstanding.q.val() == 0 {
                    self.state.d.next = PlanState::JudgeRead;
                }
            }
            PlanState::JudgeRead => {
                self.state.d.next = PlanState::JudgeHead;
            }
            PlanState::JudgeHead => {
                self.head.d.next = self.dest_info.val();
                self.set.d.next = self.dest_info.val().first_set;
                self.sets_left.d.next = self.dest_info.val().sets;
                self.bad.d.next = false;
                self.unequal.d.next = false;
                self.largest.d.next = 0.into();
                self.first_of_dest.d.next = true;
                self.measure.start.next = true;
                self.state.d.next = PlanState::JudgeSetRead;
                if self.dest_info.val().sets == 0 {
                    self.state.d.next = PlanState::JudgeNext;
                }
            }
            PlanState::JudgeSetRead => {
                self.state.d.next = PlanState::JudgeTimes;
            }
            PlanState::JudgeTimes => {
                self.state.d.next = PlanState::JudgeSet;
            }
            PlanState::JudgeSet => {
                if self.scan_bad.val() {
                    self.bad.d.next = true;
                }
                self.first_of_dest.d.next = false;
                self.largest.d.next = self.larger.val().get_bits::<36>(0);
                self.elements_before.d.next = self.elements.val();
                if !self.first_of_dest.q.val()
                    && (self.elements_before.q.val() != self.elements.val())
                {
                    self.unequal.d.next = true;
                }
                self.set.d.next = self.set.q.val() + 1;
                self.sets_left.d.next = self.sets_left.q.val() - 1;
                self.state.d.next = PlanState::JudgeSetRead;
                if self.last_set.val() {
                    self.state.d.next = PlanState::JudgeEnd;
                }
            }
            PlanState::JudgeEnd => {
                self.set.d.next = self.head.q.val().first_set;
                self.sets_left.d.next = self.head.q.val().sets;
                self.bad_dest.d.next = self.index.q.val();
                if self.bad.q.val() {
                    self.status.d.next = self.protection.val();
                    self.state.d.next = PlanState::Finish;
                } else if self.unequal.q.val() && self.head.q.val().element_mask {
                    self.status.d.next = self.operation.val();
                    self.state.d.next = PlanState::Finish;
                } else if self.findings_out.record.val().uneven
                    && self.findings_out.record.val().limited
                {
                    self.loading_check.d.next = true;
                    self.loaded.d.next = 0.into();
                    self.state.d.next = PlanState::LoadRead;
                } else if self.findings_out.record.val().measure
                    && !self.findings_out.record.val().uneven
                {
                    self.state.d.next = PlanState::MeasureRead;
                    if self.shuffle.val() {
                        self.sets_left.d.next = 1.into();
                    }
                } else {
                    self.bad_dest.d.next = 0.into();
                    self.state.d.next = PlanState::JudgeNext;
                }
            }
            PlanState::MeasureRead => {
                self.state.d.next = PlanState::MeasureTimes;
            }
            PlanState::MeasureTimes => {
                self.state.d.next = PlanState::MeasureSet;
            }
            PlanState::MeasureSet => {
                self.measure.region_valid.next = true;
                if self.measure.region_ready.val() {
                    self.set.d.next = self.set.q.val() + 1;
                    self.sets_left.d.next = self.sets_left.q.val() - 1;
                    self.state.d.next = PlanState::MeasureRead;
                    if self.last_set.val() {
                        self.state.d.next = PlanState::MeasureEnd;
                    }
                }
            }
            PlanState::MeasureEnd => {
                if self.measure.region_ready.val() {
                    self.measure.finish.next = true;
                    self.state.d.next = PlanState::JudgeLength;
                }
            }
            PlanState::JudgeLength => {
                self.bad_dest.d.next = 0.into();
                self.state.d.next = PlanState::JudgeNext;
                if self.measure.too_long.val() {
                    self.bad_dest.d.next = self.index.q.val();
                    self.status.d.next = self.length.val();
                    self.state.d.next = PlanState::Finish;
                }
            }
            PlanState::JudgeNext => {
                self.index.d.next = self.index.q.val() + 1;
                self.state.d.next = PlanState::JudgeRead;
                if self.last_dest.val() {
                    self.index.d.next = 0.into();
                    self.state.d.next = PlanState::Begin;
                }
            }

            PlanState::Begin => {
                // As many rows as span about 12 KiB of host memory.
                self.turn_begins.d.next = !self.single.q.val();
                self.chunk.d.next = 1.into();
                self.chunk_span.d.next = bit_cast::<16, 14>(self.widest.q.val());
                if self.widest.q.val() <= 6144 {
                    self.chunk.d.next = 2.into();
                    self.chunk_span.d.next = bit_cast::<16, 14>(self.widest.q.val()) << 1;
                }
                if self.widest.q.val() <= 3072 {
                    self.chunk.d.next = 4.into();
                    self.chunk_span.d.next = bit_cast::<16, 14>(self.widest.q.val()) << 2;
                }
                if self.widest.q.val() <= 1536 {
                    self.chunk.d.next = 8.into();
                    self.chunk_span.d.next = bit_cast::<16, 14>(self.widest.q.val()) << 3;
                }
                if self.widest.q.val() <= 768 {
                    self.chunk.d.next = 16.into();
                    self.chunk_span.d.next = bit_cast::<16, 14>(self.widest.q.val()) << 4;
                }
                if self.widest.q.val() <= 384 {
                    self.chunk.d.next = 32.into();
                    self.chunk_span.d.next = bit_cast::<16, 14>(self.widest.q.val()) << 5;
                }
                if self.widest.q.val() <= 192 {
                    self.chunk.d.next = 64.into();
                    self.chunk_span.d.next = bit_cast::<16, 14>(self.widest.q.val()) << 6;
                }
                if self.widest.q.val() <= 96 {
                    self.chunk.d.next = 128.into();
                    self.chunk_span.d.next = bit_cast::<16, 14>(self.widest.q.val()) << 7;
                }
                if self.widest.q.val() <= 48 {
                    self.chunk.d.next = 256.into();
                    self.chunk_span.d.next = bit_cast::<16, 14>(self.widest.q.val()) << 8;
                }
                if self.widest.q.val() <= 24 {
                    self.chunk.d.next = 512.into();
                    self.chunk_span.d.next = bit_cast::<16, 14>(self.widest.q.val()) << 9;
                }
                if self.widest.q.val() <= 12 {
                    self.chunk.d.next = 1024.into();
                    self.chunk_span.d.next = bit_cast::<16, 14>(self.widest.q.val()) << 10;
                }
                if self.widest.q.val() <= 6 {
                    self.chunk.d.next = 2048.into();
                    self.chunk_span.d.next = bit_cast::<16, 14>(self.widest.q.val()) << 11;
                }
                self.state.d.next = PlanState::TurnRead;
            }
            PlanState::TurnRead => {
                self.chunk_blocks.d.next = self.chunk_span.q.val().get_bits::<8>(8)
                    + bit_cast::<8, 5>(self.most_lanes.q.val());
                self.state.d.next = PlanState::TurnHead;
                if self.done.q.val().get_bit(self.index.q.val().get_bits::<6>(0).index()) {
                    self.state.d.next = PlanState::TurnNext;
                }
            }
            PlanState::TurnHead => {
                self.head.d.next = self.dest_info.val();
                self.turn.d.next = self.turn_out.record.val();
                self.set.d.next = self.dest_info.val().first_set
                    + bit_cast::<11, 5>(self.turn_out.record.val().region);
                if self.first_turn.q.val() {
                    self.turn.d.next.region = 0.into();
                    self.turn.d.next.row = 0.into();
                    self.set.d.next = self.dest_info.val().first_set;
                }
                self.sets_left.d.next = self.dest_info.val().sets;
                self.loading_check.d.next = false;
                self.loaded.d.next = 0.into();
                self.state.d.next = PlanState::TurnSetRead;
                if self.findings_out.record.val().walked {
                    self.state.d.next = PlanState::LoadRead;
                }
                if self.dest_info.val().sets == 0 {
                    self.done.d.next = self
                        .done
                        .q
                        .val()
                        .replace_bit(self.index.q.val().get_bits::<6>(0).index(), true);
                    self.state.d.next = PlanState::TurnNext;
                }
            }
            PlanState::TurnSetRead => {
                self.state.d.next = PlanState::TurnSet;
            }
            PlanState::TurnSet => {
                if self.free.val() {
                    self.push.next = true;
                    self.turns.write_enable.next = true;
                    self.turn.d.next = self.turn_new.val();
                    self.turn_begins.d.next = false;
                    self.state.d.next = PlanState::TurnNext;
                    if self.whole.val() && self.last_region.val() {
                        self.done.d.next = self
                            .done
                            .q
                            .val()
                            .replace_bit(self.index.q.val().get_bits::<6>(0).index(), true);
                    } else if self.single.q.val() {
                        self.set.d.next = self.set.q.val() + 1;
                        self.state.d.next = PlanState::TurnSetRead;
                    } else {
                        self.unfinished.d.next = true;
                    }
                }
            }
            PlanState::TurnNext => {
                self.index.d.next = self.index.q.val() + 1;
                self.state.d.next = PlanState::TurnRead;
                if self.last_dest.val() {
                    self.index.d.next = 0.into();
                    self.first_turn.d.next = false;
                    self.turn_begins.d.next = !self.single.q.val();
                    self.unfinished.d.next = false;
                    if !self.unfinished.q.val() {
                        self.state.d.next = PlanState::Finish;
                    }
                }
            }
            PlanState::LoadRead => {
                self.state.d.next = PlanState::LoadTimes;
            }
            PlanState::LoadTimes => {
                self.state.d.next = PlanState::Load;
            }
            PlanState::Load => {
                self.next_item.next.task = 6.into();
                self.next_item.next.first = bit_cast::<32, 4>(self.loaded.q.val());
                self.next_item.next.rows = 0.into();
                self.next_item.next.last = false;
                self.next_item.next.chunk_start = false;
                if self.is_pointers.val() && !self.bounds_given.q.val() {
                    if self.free.val() {
                        self.push.next = true;
                        self.bounds_given.d.next = true;
                    }
                } else if self.free.val() {
                    self.next_item.next.task = 3.into();
                    self.next_item.next.rows = self.rows.val();
                    self.next_item.next.low = self.set_info.val().addr;
                    self.next_item.next.high = bit_cast::<64, 36>(self.set_info.val().row_bytes);
                    self.elements_before.d.next = self.elements.val();
                    self.bounds_given.d.next = false;
                    self.push.next = true;
                    self.set.d.next = self.set.q.val() + 1;
                    self.loaded.d.next = self.loaded.q.val() + 1;
                    self.sets_left.d.next = self.sets_left.q.val() - 1;
                    self.state.d.next = PlanState::LoadRead;
                    if self.last_set.val() {
                        self.state.d.next = PlanState::LoadUnits;
                    }
                }
            }
            PlanState::LoadUnits => {
                self.next_item.next.task = 5.into();
                self.next_item.next.last = true;
                if self.loading_check.q.val() {
                    self.next_item.next.task = 4.into();
                    self.next_item.next.chunk_start = false;
                }
                self.next_item.next.low = bit_cast::<64, 36>(self.elements_before.q.val());
                self.next_item.next.high = bit_cast::<64, 32>(self.measure.limit.val());
                self.next_item.next.never = self.findings_out.record.val().announce
                    && self.findings_out.record.val().uneven;
                if self.free.val() {
                    self.push.next = true;
                    self.state.d.next = PlanState::LoadWait;
                }
            }
            PlanState::LoadWait => {
                if self.walked_valid.val() {
                    if self.loading_check.q.val() {
                        self.bad_dest.d.next = 0.into();
                        self.state.d.next = PlanState::JudgeNext;
                        if self.walked_too_long.val() {
                            self.bad_dest.d.next = self.index.q.val();
                            self.status.d.next = self.length.val();
                            self.state.d.next = PlanState::Finish;
                        }
                    } else {
                        self.turn_begins.d.next = false;
                        self.done.d.next = self
                            .done
                            .q
                            .val()
                            .replace_bit(self.index.q.val().get_bits::<6>(0).index(), true);
                        self.state.d.next = PlanState::TurnNext;
                    }
                }
            }
            PlanState::Finish => {
                self.next_item.next.task = 2.into();
                self.next_item.next.low = bit_cast::<64, 8>(self.status.q.val())
                    | (bit_cast::<64, 7>(self.bad_dest.q.val()) << 8);
                if self.status.q.val().any() && self.breaks.q.val() {
                    self.next_item.next.low = bit_cast::<64, 8>(self.status.q.val())
                        | (bit_cast::<64, 7>(self.bad_dest.q.val()) << 8)
                        | 0x8000;
                }
                self.next_item.next.rows = 0.into();
                self.next_item.next.last = false;
                self.next_item.next.chunk_start = false;
                self.shared.next.dest = self.first_dest.q.val();
                if self.free.val() {
                    self.push.next = true;
                    self.finished.next = true;
                    self.state.d.next = PlanState::Idle;
                    if self.status.q.val().any() && self.breaks.q.val() {
                        self.state.d.next = PlanState::Settle;
                    }
                }
            }
            PlanState::Settle => {
                // What was decoded behind it must see that its queue pair failed.
                if !self.under_way.q.val().any() {
                    self.state.d.next = PlanState::Idle;
                }
            }
        }

        if self.finished.val() && !self.release_valid.val() {
            self.under_way.d.next = self.under_way.q.val() + 1;
        }
        if !self.finished.val() && self.release_valid.val() {
            self.under_way.d.next = self.under_way.q.val() - 1;
        }
        if self.push.val() {
            self.has_item.d.next = true;
            self.item_out.d.next = self.next_item.val();
            self.context_out.d.next = self.shared.val();
            self.stretch_from.d.next = self.set_info.val().addr;
            self.has_stretch.d.next = (self.next_item.val().rows != 0)
                && (self.is_bitmap.val() || self.is_pointers.val())
                && ((self.next_item.val().task == 0) || (self.next_item.val().task == 1));
        }
        if self.asks.val() && !self.result_valid.val() {
            self.outstanding.d.next = self.outstanding.q.val() + 1;
        } else if !self.asks.val() && self.result_valid.val() {
            self.outstanding.d.next = self.outstanding.q.val() - 1;
        }

        if self.rst.val() {
            self.state.d.next = PlanState::Idle;
            self.has_item.d.next = false;
            self.has_stretch.d.next = false;
            self.outstanding.d.next = 0.into();
            self.unfinished.d.next = false;
            self.under_way.d.next = 0.into();
            self.bounds_given.d.next = false;
        }
    }
}
