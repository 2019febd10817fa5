//! Looks at the granules of an entry with strided regions, one after the other.
//!
//! Contract: `starts` comes with what the entry's head says of its regions. From the next cycle on `bad`, `kind` and
//! `closes` tell of `granule` in the same cycle; `step` goes on to the next one. An entry is wrong if a field of a granule
//! is, if its regions end before its granules do or behind them, or if they need more than [`RECEIVE_PLACES`].

use super::record::*;
use drdma_abi::receive::RECEIVE_PLACES;
use drdma_abi::work_request::MAX_ELEMENTS;
use drdma_emit::prelude::*;

/// Places that there are.
const MOST_PLACES: u64 = RECEIVE_PLACES as u64;
/// Extents of a pattern, at most.
const MOST_EXTENTS: u64 = MAX_ELEMENTS as u64;

/// See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Shapes {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// An entry begins,
    pub starts: Signal<In, Bit>,
    /// with regions of these types, contiguous or strided,
    pub types: Signal<In, Bits<32>>,
    /// so many of them.
    pub regions: Signal<In, Bits<REGIONS>>,
    /// The granule that is looked at.
    pub granule: Signal<In, Bits<128>>,
    /// It is the entry's last one.
    pub last: Signal<In, Bit>,
    /// It was looked at.
    pub step: Signal<In, Bit>,
    /// It is wrong.
    pub bad: Signal<Out, Bit>,
    /// What it is.
    pub kind: Signal<Out, GranuleKind>,
    /// It is the last extent of its region.
    pub closes: Signal<Out, Bit>,

    /// Types of the regions that are to come, that of the granule first.
    types_left: DFF<Bits<32>>,
    /// Regions that are to come, that of the granule included.
    regions_left: DFF<Bits<REGIONS>>,
    /// The granule's kind, but that a region begins with a header.
    expected: DFF<GranuleKind>,
    /// Extents that are to come.
    extents: DFF<Bits<5>>,
    /// Places that are taken.
    places: DFF<Bits<PLACES>>,
    /// The granule says what it must,
    sound: Signal<Local, Bit>,
    /// and ends its region.
    over: Signal<Local, Bit>,
    /// It ends the last one.
    all_over: Signal<Local, Bit>,
    full: Signal<Local, Bit>,
    low: Signal<Local, Bits<64>>,
    high: Signal<Local, Bits<32>>,
    top: Signal<Local, Bits<32>>,
}

impl Logic for Shapes {
    #[hdl_gen]
    fn update(&mut self) {
        self.low.next = self.granule.val().get_bits::<64>(0);
        self.high.next = self.granule.val().get_bits::<32>(64);
        self.top.next = self.granule.val().get_bits::<32>(96);
        self.kind.next = self.expected.q.val();
        if (self.expected.q.val() == GranuleKind::Header) && !self.types_left.q.val().get_bit(0) {
            self.kind.next = GranuleKind::Contiguous;
        }
        self.closes.next =
            (self.expected.q.val() == GranuleKind::Extent) && (self.extents.q.val() == 1);
        self.full.next = self.places.q.val() == MOST_PLACES;
        self.over.next = self.closes.val();
        self.sound.next = true;
        match self.kind.val() {
            GranuleKind::Contiguous => {
                self.over.next = true;
                self.sound.next = self.high.val().any() && !self.full.val();
            }
            GranuleKind::Header => {}
            GranuleKind::Shape => {
                self.sound.next = self.low.val().any()
                    && !self.high.val().any()
                    && self.top.val().get_bits::<16>(0).any()
                    && (self.top.val().get_bits::<16>(0) <= MOST_EXTENTS)
                    && !self.top.val().get_bits::<16>(16).any()
                    && !self.full.val();
            }
            GranuleKind::Extent => {
                self.sound.next =
                    self.high.val().any() && !self.top.val().any() && !self.full.val();
            }
        }
        self.all_over.next = self.over.val() && (self.regions_left.q.val() == 1);
        self.bad.next = !self.sound.val() || (self.last.val() != self.all_over.val());

        if self.step.val() {
            if self.kind.val() != GranuleKind::Header {
                self.places.d.next = self.places.q.val() + 1;
            }
            match self.kind.val() {
                GranuleKind::Contiguous => {}
                GranuleKind::Header => {
                    self.expected.d.next = GranuleKind::Shape;
                }
                GranuleKind::Shape => {
                    self.extents.d.next = self.top.val().get_bits::<5>(0);
                    self.expected.d.next = GranuleKind::Extent;
                }
                GranuleKind::Extent => {
                    self.extents.d.next = self.extents.q.val() - 1;
                }
            }
            if self.over.val() {
                self.expected.d.next = GranuleKind::Header;
                self.types_left.d.next = self.types_left.q.val() >> 2;
                self.regions_left.d.next = self.regions_left.q.val() - 1;
            }
        }
        if self.starts.val() {
            self.expected.d.next = GranuleKind::Header;
            self.types_left.d.next = self.types.val();
            self.regions_left.d.next = self.regions.val();
            self.places.d.next = 0.into();
        }
    }
}
