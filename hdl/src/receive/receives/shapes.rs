//! Checks the granules of an entry with regions that are not contiguous, one after the other.
//!
//! Contract: `starts` comes with what the entry's head says of its regions. From the next cycle on `bad`, `kind` and
//! `closes` describe `granule` in the same cycle; `step` goes on to the next one. An entry is malformed if a field of a
//! granule is, if its regions end before its granules do or behind them, or if they need more than [`RECEIVE_PLACES`].
//! If one of its regions is bitmapped or pointer-mapped, every granule takes a place.

use super::record::*;
use drdma_abi::receive::RECEIVE_PLACES;
use drdma_abi::work_request::{MAX_ELEMENTS, RegionType, shape_flags};
use drdma_emit::prelude::*;

/// Places that a receive may have.
const MOST_PLACES: u64 = RECEIVE_PLACES as u64;
/// Extents of a pattern, at most.
const MOST_EXTENTS: u64 = MAX_ELEMENTS as u64;
/// Codes of the types of regions.
const CONTIGUOUS: u64 = RegionType::Contiguous as u64;
const STRIDED: u64 = RegionType::Strided as u64;
const BITMAPPED: u64 = RegionType::Bitmapped as u64;
const POINTER_MAPPED: u64 = RegionType::PointerMapped as u64;
/// The flag that a bitmapped region may have; it has no effect on regions that are filled.
const FETCH_ROWS: u64 = shape_flags::FETCH_ROWS as u64;

/// Checks granules. See the [module](self).
#[derive(LogicBlock, BlockDefault)]
pub struct Shapes {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// An entry begins.
    pub starts: Signal<In, Bit>,
    /// With `starts`: every granule of the entry takes a place.
    pub pieces: Signal<In, Bit>,
    /// With `starts`: types of the regions, 2 bits each.
    pub types: Signal<In, Bits<32>>,
    /// With `starts`: number of the regions.
    pub regions: Signal<In, Bits<REGIONS>>,
    /// The granule that is checked.
    pub granule: Signal<In, Bits<128>>,
    /// The granule is the entry's last one.
    pub last: Signal<In, Bit>,
    /// The granule was checked, and the next one comes.
    pub step: Signal<In, Bit>,
    /// The granule is malformed.
    pub bad: Signal<Out, Bit>,
    /// Kind of the granule.
    pub kind: Signal<Out, GranuleKind>,
    /// The granule is the last extent of its region.
    pub closes: Signal<Out, Bit>,
    /// Type of the granule's region.
    pub region_kind: Signal<Out, Bits<2>>,
    /// The granule's region is the entry's last one.
    pub of_last: Signal<Out, Bit>,

    /// Types of the regions from that of the granule on.
    types_left: DFF<Bits<32>>,
    /// Number of the regions from that of the granule on.
    regions_left: DFF<Bits<REGIONS>>,
    /// Kind of the granule, if it does not begin a region.
    expected: DFF<GranuleKind>,
    /// Extents of the region that are still to come.
    extents: DFF<Bits<5>>,
    counts_all: DFF<Bit>,
    right_period: Signal<Local, Bit>,
    right_flags: Signal<Local, Bit>,
    type_now: Signal<Local, Bits<2>>,
    /// Places that are taken.
    places: DFF<Bits<PLACES>>,
    /// The granule's fields are right.
    sound: Signal<Local, Bit>,
    /// The granule ends its region.
    over: Signal<Local, Bit>,
    /// The granule ends the last region.
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
        self.type_now.next = self.types_left.q.val().get_bits::<2>(0);
        self.region_kind.next = self.type_now.val();
        self.of_last.next = self.regions_left.q.val() == 1;
        // Flags. Strided: the period. Bitmapped, with fetch rows: where these are. Pointer-mapped: the key of the
        // records.
        self.right_flags.next = !self.top.val().get_bits::<16>(16).any();
        self.right_period.next = !self.low.val().any() && !self.high.val().any();
        if self.type_now.val() == STRIDED {
            self.right_period.next = self.low.val().any() && !self.high.val().any();
        } else if self.type_now.val() == POINTER_MAPPED {
            self.right_period.next = !self.low.val().any();
        } else if self.top.val().get_bits::<16>(16) == FETCH_ROWS {
            self.right_flags.next = true;
            self.right_period.next = true;
        }
        if (self.expected.q.val() == GranuleKind::Header) && (self.type_now.val() == CONTIGUOUS) {
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
            GranuleKind::Header => {
                self.sound.next = !self.counts_all.q.val() || !self.full.val();
            }
            GranuleKind::Shape => {
                self.sound.next = self.right_period.val()
                    && self.right_flags.val()
                    && self.top.val().get_bits::<16>(0).any()
                    && (self.top.val().get_bits::<16>(0) <= MOST_EXTENTS)
                    && !self.full.val();
            }
            GranuleKind::Extent => {
                // A column must have a key.
                self.sound.next = self.high.val().any()
                    && (!self.top.val().any() || (self.type_now.val() == BITMAPPED))
                    && !self.full.val();
            }
        }
        self.all_over.next = self.over.val() && (self.regions_left.q.val() == 1);
        self.bad.next = !self.sound.val() || (self.last.val() != self.all_over.val());

        if self.step.val() {
            if (self.kind.val() != GranuleKind::Header) || self.counts_all.q.val() {
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
            self.counts_all.d.next = self.pieces.val();
            self.types_left.d.next = self.types.val();
            self.regions_left.d.next = self.regions.val();
            self.places.d.next = 0.into();
        }
    }
}
