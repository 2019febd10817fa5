//! One client's half of [`HostRead`](super::HostRead): gives every read a place in the client's ring of beats,
//! remembers the reads in order, and fetches the beats of the oldest when all its data have come.

use super::{HostReadBeat, HostReadRequest};
use crate::primitive::{Flatten, Lutram, Restore, StreamFifo};
use drdma_emit::prelude::*;

/// Place of a read's beats in the ring.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
struct Place {
    /// First beat of the read.
    start: Bits<9>,
    /// Number of beats of the read.
    beats: Bits<7>,
    /// Number of beats of the read and of those that are skipped before them.
    size: Bits<10>,
}

/// Bits of a [`Place`].
const PLACE: usize = 26;
/// Number of beats of a ring.
const RING: u64 = 512;
/// Number of places for beats on their way to the output.
const CREDITS: u64 = 16;
/// Bits of an address below a multiple of 512 B, at which reads are cut.
const CUT: usize = 9;
/// Bits of the number of such a multiple.
const BLOCK: usize = 64 - CUT;

/// Keeps a ring of 512 beats, at most 64 of them a read, and up to 64 reads in flight. One request in two cycles, one
/// beat a cycle.
///
/// The beats of a read are consecutive in the ring. Where they would cross its end, the rest of the ring is left unused
/// until the read is done.
///
/// A request of more than 512 B that begins within a cache line is issued as two reads, which meet at a multiple of 512
/// B. The DMA engine cuts a read at its maximum size, counted from where it begins. The parts would begin and end
/// within lines, each in the line in which the one before ended, and the host would serve them one after the other.
#[derive(LogicBlock, BlockDefault)]
pub struct Client {
    // ------------------------------------------------------------------ clock and reset
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    // ------------------------------------------------------------------ requests of the client
    /// Reads of the client.
    pub req: Stream<In, HostReadRequest>,

    // ------------------------------------------------------------------ reads to be issued
    /// A read that has its place in the ring is offered.
    pub read_valid: Signal<Out, Bit>,
    /// The read is issued at the end of this cycle.
    pub read_take: Signal<In, Bit>,
    /// Host address of the read.
    pub read_addr: Signal<Out, Bits<64>>,
    /// Bytes of the read.
    pub read_bytes: Signal<Out, Bits<13>>,
    /// Place of the read's first byte in the ring.
    pub read_place: Signal<Out, Bits<15>>,
    /// Number of the read's request among those in flight.
    pub read_index: Signal<Out, Bits<6>>,
    /// The read is the second one of a request that was cut in two.
    pub read_second: Signal<Out, Bit>,

    // ------------------------------------------------------------------ reads that are done
    /// The data of a read have come, or it has failed.
    pub done_valid: Signal<In, Bit>,
    /// With `done_valid`: number of the read's request.
    pub done_index: Signal<In, Bits<6>>,
    /// With `done_valid`: the read has failed.
    pub done_error: Signal<In, Bit>,

    // ------------------------------------------------------------------ beats to be fetched
    /// A beat is wanted from the ring.
    pub fetch_valid: Signal<Out, Bit>,
    /// The beat is fetched: its data follow as `fetched_data` two cycles later.
    pub fetch_take: Signal<In, Bit>,
    /// Number of the beat in the ring.
    pub fetch_beat: Signal<Out, Bits<9>>,
    /// Data of the beat that was taken two cycles before.
    pub fetched_data: Signal<In, Bits<512>>,

    // ------------------------------------------------------------------ responses to the client
    /// Answers to the client, in the order of its reads.
    pub resp: Stream<Out, HostReadBeat>,

    filled: Signal<Local, Bits<13>>,
    unused_filled: Signal<Local, Bits<6>>,
    beats: Signal<Local, Bits<7>>,
    /// Bit 9 or a higher one is set if the request crosses a multiple of 512 B.
    reach: Signal<Local, Bits<14>>,
    is_long: Signal<Local, Bit>,
    unused_reach: Signal<Local, Bits<CUT>>,

    // A request with its place in the ring; `size` counts the beats that are skipped before it as well.
    placed: DFF<Bit>,
    placed_addr: DFF<Bits<64>>,
    placed_bytes: DFF<Bits<13>>,
    placed_beats: DFF<Bits<7>>,
    placed_start: DFF<Bits<9>>,
    placed_size: DFF<Bits<10>>,
    /// The request becomes two reads; the first has `placed_first` bytes, and was issued if `is_second`.
    placed_cut: DFF<Bit>,
    placed_first: DFF<Bits<10>>,
    is_second: DFF<Bit>,
    is_first: Signal<Local, Bit>,
    starts: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    position: DFF<Bits<9>>,
    behind: Signal<Local, Bits<10>>,
    passes: Signal<Local, Bit>,
    skipped: Signal<Local, Bits<10>>,

    // The reads in flight: their places, and whether each is done.
    places: Lutram<PLACE, 6, 1>,
    written: Flatten<Place, PLACE>,
    oldest: Restore<Place, PLACE>,
    place: Signal<Local, Place>,
    tail: DFF<Bits<7>>,
    head: DFF<Bits<7>>,
    done: DFF<Bits<64>>,
    failed: DFF<Bits<64>>,
    /// Bit `n`: the next read of request `n` to end is its last one.
    closing: DFF<Bits<64>>,
    closes: Signal<Local, Bit>,
    /// The first read of a request was issued in the cycle before; its number, and whether it becomes two.
    begun: DFF<Bit>,
    begun_index: DFF<Bits<6>>,
    begun_cut: DFF<Bit>,
    /// The flags of the oldest request are still those of the request that had its number before.
    is_stale: Signal<Local, Bit>,
    issued: Signal<Local, Bits<64>>,
    ended: Signal<Local, Bits<64>>,
    #[init(Constant::new(1.into()))]
    one: Constant<Bits<64>>,
    // Both are updated one cycle late, which is early enough: a request is placed two cycles after the one before it
    // was issued.
    full: DFF<Bit>,
    free: DFF<Bits<10>>,
    allocated: DFF<Bits<10>>,
    released: DFF<Bits<10>>,

    // The read whose beats are being fetched.
    current: DFF<Bit>,
    current_beat: DFF<Bits<9>>,
    current_left: DFF<Bits<7>>,
    current_size: DFF<Bits<10>>,
    current_error: DFF<Bit>,
    current_last: Signal<Local, Bit>,
    load: Signal<Local, Bit>,
    /// The oldest read is done in this cycle.
    done_now: Signal<Local, Bit>,

    // Beats on their way from the RAM to the output.
    credits: DFF<Bits<5>>,
    fetching: DFF<Bit>,
    fetching_last: DFF<Bit>,
    fetching_error: DFF<Bit>,
    answer: Signals<Local, HostReadBeat>,
    responses: StreamFifo<HostReadBeat, 4, 5>,
}

impl Client {
    /// Requests enter, and get their number of beats and their place: at the ring's start if they would cross its
    /// end.
    #[hdl_gen]
    fn place_request(&mut self) {
        self.req.ready.next = !self.placed.q.val();
        self.filled.next = self.req.bytes.val() + 63;
        self.beats.next = self.filled.val().get_bits::<7>(6);
        self.unused_filled.next = self.filled.val().get_bits::<6>(0);
        self.behind.next =
            bit_cast::<10, 9>(self.position.q.val()) + bit_cast::<10, 7>(self.beats.val());
        self.passes.next = self.behind.val() > RING;
        self.skipped.next = bits::<10>(RING) - bit_cast::<10, 9>(self.position.q.val());
        self.reach.next = bit_cast::<14, CUT>(self.req.addr.val().get_bits::<CUT>(0))
            + bit_cast::<14, 13>(self.req.bytes.val())
            - 1;
        self.is_long.next = self.req.bytes.val() > 512;
        self.unused_reach.next = self.reach.val().get_bits::<CUT>(0);
        if !self.placed.q.val() {
            self.placed.d.next = self.req.valid.val();
            self.placed_cut.d.next = self.req.addr.val().get_bits::<6>(0).any()
                && self.reach.val().get_bits::<5>(CUT).any()
                && self.is_long.val();
            self.placed_first.d.next =
                bits::<10>(512) - bit_cast::<10, CUT>(self.req.addr.val().get_bits::<CUT>(0));
            self.is_second.d.next = false;
            self.placed_addr.d.next = self.req.addr.val();
            self.placed_bytes.d.next = self.req.bytes.val();
            self.placed_beats.d.next = self.beats.val();
            self.placed_start.d.next = self.position.q.val();
            self.placed_size.d.next = bit_cast::<10, 7>(self.beats.val());
            if self.passes.val() {
                self.placed_start.d.next = bits::<9>(0);
                self.placed_size.d.next = bit_cast::<10, 7>(self.beats.val()) + self.skipped.val();
            }
            if self.req.valid.val() {
                self.position.d.next = self.behind.val().get_bits::<9>(0);
                if self.passes.val() {
                    self.position.d.next = bit_cast::<9, 7>(self.beats.val());
                }
            }
        }
    }

    /// Requests wait for space in the ring and a number, and are issued.
    #[hdl_gen]
    fn issue(&mut self) {
        self.full.d.next = (self.tail.q.val().get_bits::<6>(0)
            == self.head.q.val().get_bits::<6>(0))
            && (self.tail.q.val() != self.head.q.val());
        self.is_first.next = self.placed_cut.q.val() && !self.is_second.q.val();
        self.read_valid.next = self.is_second.q.val()
            || (self.placed.q.val()
                && !self.full.q.val()
                && (self.placed_size.q.val() <= self.free.q.val()));
        self.read_addr.next = self.placed_addr.q.val();
        self.read_bytes.next = self.placed_bytes.q.val();
        self.read_place.next = bit_cast::<15, 9>(self.placed_start.q.val()) << 6;
        if self.is_first.val() {
            self.read_bytes.next = bit_cast::<13, 10>(self.placed_first.q.val());
        }
        if self.is_second.q.val() {
            self.read_place.next = (bit_cast::<15, 9>(self.placed_start.q.val()) << 6)
                + bit_cast::<15, 10>(self.placed_first.q.val());
        }
        self.read_index.next = self.tail.q.val().get_bits::<6>(0);
        self.read_second.next = self.is_second.q.val();
        self.starts.next = self.read_take.val() && !self.is_second.q.val();
        self.ends.next = self.read_take.val() && !self.is_first.val();
        self.places.write_enable.next = self.starts.val();
        self.places.write_address.next = self.tail.q.val().get_bits::<6>(0);
        self.place.next.start = self.placed_start.q.val();
        self.place.next.beats = self.placed_beats.q.val();
        self.place.next.size = self.placed_size.q.val();
        self.written.record.next = self.place.val();
        self.places.write_data.next = self.written.bits.val();
        self.allocated.d.next = bits::<10>(0);
        self.begun.d.next = self.starts.val();
        self.begun_index.d.next = self.tail.q.val().get_bits::<6>(0);
        self.begun_cut.d.next = self.placed_cut.q.val();
        if self.starts.val() {
            self.allocated.d.next = self.placed_size.q.val();
            self.is_second.d.next = self.placed_cut.q.val();
            self.placed_addr.d.next =
                bit_cast::<64, BLOCK>(self.placed_addr.q.val().get_bits::<BLOCK>(CUT) + 1) << 9;
            self.placed_bytes.d.next =
                self.placed_bytes.q.val() - bit_cast::<13, 10>(self.placed_first.q.val());
        }
        if self.ends.val() {
            self.placed.d.next = false;
            self.is_second.d.next = false;
            self.tail.d.next = self.tail.q.val() + 1;
        }
    }

    /// Reads end in any order, long after they were issued.
    #[hdl_gen]
    fn end_reads(&mut self) {
        self.issued.next = bits::<64>(0);
        if self.begun.q.val() {
            self.issued.next = self.one.val() << self.begun_index.q.val();
        }
        self.ended.next = bits::<64>(0);
        if self.done_valid.val() {
            self.ended.next = self.one.val() << self.done_index.val();
        }
        self.closing.d.next = (self.closing.q.val() | self.ended.val()) & !self.issued.val();
        if !self.begun_cut.q.val() {
            self.closing.d.next = self.closing.q.val() | self.ended.val() | self.issued.val();
        }
        self.done.d.next =
            (self.done.q.val() & !self.issued.val()) | (self.ended.val() & self.closing.q.val());
        if self.done_error.val() {
            self.failed.d.next = (self.failed.q.val() & !self.issued.val()) | self.ended.val();
        } else {
            self.failed.d.next = self.failed.q.val() & !self.issued.val();
        }
    }

    /// The oldest read is fetched beat by beat.
    #[hdl_gen]
    fn fetch(&mut self) {
        self.places.read_address[0].next = self.head.q.val().get_bits::<6>(0);
        self.oldest.bits.next = self.places.read_data[0].val();
        self.current_last.next = self.current_left.q.val() == 1;
        self.closes.next = self.closing.q.val().get_bit(self.head.q.val().get_bits::<6>(0).index());
        self.done_now.next = self.done_valid.val()
            && self.closes.val()
            && (self.done_index.val() == self.head.q.val().get_bits::<6>(0));
        self.is_stale.next =
            self.begun.q.val() && (self.begun_index.q.val() == self.head.q.val().get_bits::<6>(0));
        self.load.next = (self.head.q.val() != self.tail.q.val())
            && !self.is_stale.val()
            && (self.done.q.val().get_bit(self.head.q.val().get_bits::<6>(0).index())
                || self.done_now.val())
            && (!self.current.q.val() || (self.fetch_take.val() && self.current_last.val()));
        self.fetch_valid.next = self.current.q.val() && self.credits.q.val().any();
        self.fetch_beat.next = self.current_beat.q.val();
        self.released.d.next = bits::<10>(0);
        if self.fetch_take.val() {
            self.current_beat.d.next = self.current_beat.q.val() + 1;
            self.current_left.d.next = self.current_left.q.val() - 1;
            if self.current_last.val() {
                self.current.d.next = false;
                self.released.d.next = self.current_size.q.val();
            }
        }
        if self.load.val() {
            self.head.d.next = self.head.q.val() + 1;
            self.current.d.next = true;
            self.current_beat.d.next = self.oldest.record.val().start;
            self.current_left.d.next = self.oldest.record.val().beats;
            self.current_size.d.next = self.oldest.record.val().size;
            self.current_error.d.next =
                self.failed.q.val().get_bit(self.head.q.val().get_bits::<6>(0).index());
            if self.done_now.val() && self.done_error.val() {
                self.current_error.d.next = true;
            }
        }
        self.free.d.next = (self.free.q.val() - self.allocated.q.val()) + self.released.q.val();
    }

    /// The flags accompany the beat, which comes a cycle later.
    #[hdl_gen]
    fn answer(&mut self) {
        self.fetching.d.next = self.fetch_take.val();
        self.fetching_last.d.next = self.current_last.val();
        self.fetching_error.d.next = self.current_error.q.val();
        self.answer.data.next = self.fetched_data.val();
        self.answer.last.next = self.fetching_last.q.val();
        self.answer.error.next = self.fetching_error.q.val();
        self.responses.input.valid.next = self.fetching.q.val();
        self.responses.input.data.next = self.answer.val();
        self.responses.output.join(&mut self.resp);
    }

    /// A credit is a place in the output FIFO.
    #[hdl_gen]
    fn count_credits(&mut self) {
        if self.fetch_take.val() && !(self.responses.output.valid.val() && self.resp.ready.val()) {
            self.credits.d.next = self.credits.q.val() - 1;
        } else if !self.fetch_take.val()
            && self.responses.output.valid.val()
            && self.resp.ready.val()
        {
            self.credits.d.next = self.credits.q.val() + 1;
        }
    }
}

impl Logic for Client {
    #[hdl_gen]
    fn update(&mut self) {
        self.place_request();
        self.issue();
        self.end_reads();
        self.fetch();
        self.answer();
        self.count_credits();
        if self.rst.val() {
            self.placed.d.next = false;
            self.is_second.d.next = false;
            self.position.d.next = bits::<9>(0);
            self.tail.d.next = bits::<7>(0);
            self.head.d.next = bits::<7>(0);
            self.full.d.next = false;
            self.begun.d.next = false;
            self.allocated.d.next = bits::<10>(0);
            self.released.d.next = bits::<10>(0);
            self.free.d.next = RING.into();
            self.current.d.next = false;
            self.credits.d.next = CREDITS.into();
            self.fetching.d.next = false;
        }
    }
}
