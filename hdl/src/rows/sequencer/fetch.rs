//! Reads bitmaps, ids and pointer arrays ahead of the row source.

use super::record::Purpose;
use drdma_emit::prelude::*;

/// Turns stretches of a bitmap, of ids or of a pointer array into reads of up to 4 KiB, or of up to 512 bytes where
/// there are fetch rows.
///
/// A stretch of a bitmap is read from the 64-bit word that holds its first bit to the byte that holds its last one. A
/// stretch of ids is likewise read from the row with which such a word would begin. For the column path a stretch
/// begins with its own first row. All reads of a stretch but the last are as long as possible, so that the stretch
/// arrives in full beats, the last one excepted. With `fetch`, each read is preceded by one of the same part of the
/// fetch rows. One read a cycle, 3 cycles after its stretch; 2 cycles more for each stretch.
///
/// # Inputs
/// `stretch` stream {`addr` of bit or pointer 0, `first`, `rows` (at least 1), `bitmap`, `ids` (bytes of an id; 0:
/// none), `partition`, `column`, `fetch`, `fetch_addr` (of bit 0)}, `req_ready`.
///
/// # Outputs
/// `stretch_ready`, `req` stream {`addr`, `bytes`, `purpose`}, `busy`.
#[derive(LogicBlock, Default)]
pub struct Fetch {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// A stretch is offered.
    pub stretch_valid: Signal<In, Bit>,
    /// The stretch is taken in this cycle.
    pub stretch_ready: Signal<Out, Bit>,
    /// Host address of the bitmap, ids or pointer array.
    pub stretch_addr: Signal<In, Bits<64>>,
    /// First bit, id or pointer of the stretch.
    pub stretch_first: Signal<In, Bits<32>>,
    /// Bits, ids or pointers of the stretch.
    pub stretch_rows: Signal<In, Bits<32>>,
    /// The stretch is of bits or ids, not of pointers.
    pub stretch_bitmap: Signal<In, Bit>,
    /// Bytes of an id, 1 or 2; 0 if the stretch is of bits or pointers.
    pub stretch_ids: Signal<In, Bits<2>>,
    /// Id whose rows are selected.
    pub stretch_partition: Signal<In, Bits<16>>,
    /// The answer goes to the column path.
    pub stretch_column: Signal<In, Bit>,
    /// Fetch rows are read as well.
    pub stretch_fetch: Signal<In, Bit>,
    /// The stretch is of a bitmap that is kept for several chunks.
    pub stretch_kept: Signal<In, Bit>,
    /// Host address of the fetch rows' first bit.
    pub stretch_fetch_addr: Signal<In, Bits<64>>,
    /// A read is offered.
    pub req_valid: Signal<Out, Bit>,
    /// The read is taken in this cycle.
    pub req_ready: Signal<In, Bit>,
    /// Host address of the read.
    pub req_addr: Signal<Out, Bits<64>>,
    /// Bytes of the read, 1 to 4,096.
    pub req_bytes: Signal<Out, Bits<13>>,
    /// Purpose of the read.
    pub req_purpose: Signal<Out, Purpose>,
    /// A stretch has reads left.
    pub busy: Signal<Out, Bit>,

    // First and end byte of the stretch, relative to the array.
    taken: DFF<Bit>,
    taken_purpose: DFF<Purpose>,
    base: DFF<Bits<64>>,
    fetch_base: DFF<Bits<64>>,
    start: DFF<Bits<36>>,
    stop: DFF<Bits<36>>,
    begin_row: Signal<Local, Bits<32>>,
    end_row: Signal<Local, Bits<33>>,
    // The rest of the stretch that is still to be read.
    reading: DFF<Bit>,
    purpose: DFF<Purpose>,
    addr: DFF<Bits<64>>,
    // With fetch rows: the other one of the two addresses, and whether `addr` is the one in the fetch rows.
    other: DFF<Bits<64>>,
    first: DFF<Bit>,
    left: DFF<Bits<36>>,
    /// Bytes of the longest read.
    most: Signal<Local, Bits<13>>,
    more: Signal<Local, Bit>,
    load: Signal<Local, Bit>,
}

impl Logic for Fetch {
    #[hdl_gen]
    fn update(&mut self) {
        // Fetch rows and bitmap are read alternately, eight beats of each.
        self.most.next = 4096.into();
        if self.purpose.q.val().fetch {
            self.most.next = 512.into();
        }
        self.more.next = self.left.q.val() > bit_cast::<36, 13>(self.most.val());
        self.load.next = !self.reading.q.val()
            || (self.req_ready.val() && !self.more.val() && !self.first.q.val());
        self.stretch_ready.next = !self.taken.q.val() || self.load.val();
        // The column path takes a turn's first row as bit 0; that row is the first bit of a byte.
        self.begin_row.next = (self.stretch_first.val() >> 6) << 6;
        if self.stretch_column.val() {
            self.begin_row.next = self.stretch_first.val();
        }
        self.end_row.next = bit_cast::<33, 32>(self.stretch_first.val())
            + bit_cast::<33, 32>(self.stretch_rows.val());
        if !self.taken.q.val() || self.load.val() {
            self.taken.d.next = self.stretch_valid.val();
            self.taken_purpose.d.next.column = self.stretch_column.val();
            self.taken_purpose.d.next.ids = self.stretch_ids.val();
            self.taken_purpose.d.next.partition = self.stretch_partition.val();
            self.taken_purpose.d.next.last = false;
            self.taken_purpose.d.next.fetch = self.stretch_fetch.val();
            self.taken_purpose.d.next.kept = self.stretch_kept.val();
            self.fetch_base.d.next = self.stretch_fetch_addr.val();
            self.base.d.next = self.stretch_addr.val();
            if self.stretch_ids.val() == 1 {
                self.start.d.next = bit_cast::<36, 32>(self.begin_row.val());
                self.stop.d.next = bit_cast::<36, 33>(self.end_row.val());
            } else if self.stretch_ids.val() == 2 {
                self.start.d.next = bit_cast::<36, 32>(self.begin_row.val()) << 1;
                self.stop.d.next = bit_cast::<36, 33>(self.end_row.val()) << 1;
            } else if self.stretch_bitmap.val() {
                self.start.d.next = bit_cast::<36, 32>(self.begin_row.val()) >> 3;
                self.stop.d.next = (bit_cast::<36, 33>(self.end_row.val()) + 7) >> 3;
            } else {
                self.start.d.next = bit_cast::<36, 32>(self.stretch_first.val()) << 3;
                self.stop.d.next = bit_cast::<36, 33>(self.end_row.val()) << 3;
            }
        }

        self.busy.next = self.taken.q.val() || self.reading.q.val();
        self.req_valid.next = self.reading.q.val();
        self.req_addr.next = self.addr.q.val();
        self.req_purpose.next = self.purpose.q.val();
        self.req_purpose.next.last = !self.more.val();
        self.req_purpose.next.fetch = self.first.q.val();
        self.req_bytes.next = bit_cast::<13, 36>(self.left.q.val());
        if self.more.val() {
            self.req_bytes.next = self.most.val();
        }
        if self.load.val() {
            self.reading.d.next = self.taken.q.val();
            self.purpose.d.next = self.taken_purpose.q.val();
            self.first.d.next = self.taken_purpose.q.val().fetch;
            self.addr.d.next = self.base.q.val() + bit_cast::<64, 36>(self.start.q.val());
            self.other.d.next = self.addr.d.val();
            if self.taken_purpose.q.val().fetch {
                self.addr.d.next = self.fetch_base.q.val() + bit_cast::<64, 36>(self.start.q.val());
            }
            self.left.d.next = self.stop.q.val() - self.start.q.val();
        } else if self.req_ready.val() {
            self.addr.d.next = self.addr.q.val() + bit_cast::<64, 13>(self.most.val());
            if self.purpose.q.val().fetch {
                self.addr.d.next = self.other.q.val();
                self.other.d.next = self.addr.q.val() + 512;
                self.first.d.next = !self.first.q.val();
            }
            if !self.first.q.val() {
                self.left.d.next = self.left.q.val() - bit_cast::<36, 13>(self.most.val());
            }
        }
        if self.rst.val() {
            self.taken.d.next = false;
            self.reading.d.next = false;
        }
    }
}
