//! A region's packed bytes to the pieces of host memory in which they lie.

use super::regions::{GRANULE_BITS, GRANULE_INDEX, KEY_REGION, KeyWord, Regions};
use super::{Part, ReplyRead, Side};
use crate::context::ConfigWrite;
use crate::primitive::{CountOnes, Multiplier};
use crate::receive::responder::keys::Keys;
use crate::shell::host_read::HostReadRequest;
use drdma_abi::Layout;
use drdma_abi::described::{ENTRY_GRANULES, KeyRegionEnd};
use drdma_abi::work_request::{
    Element, MAX_ELEMENTS, RegionHeader, RegionShape, RegionType, shape_flags,
};
use drdma_emit::prelude::*;

const CONTIGUOUS: u64 = RegionType::Contiguous as u64;
const STRIDED: u64 = RegionType::Strided as u64;
const BITMAPPED: u64 = RegionType::Bitmapped as u64;
/// Where an entry's granules are: header, shape, elements, end.
const SHAPE: u64 = 1;
const FIRST_ELEMENT: u64 = 2;
const END: u64 = ENTRY_GRANULES as u64 - 1;
const MOST_ELEMENTS: u64 = MAX_ELEMENTS as u64;
/// The flags that a region here may have.
const FLAGS: u64 = shape_flags::FETCH_ROWS as u64;
/// Bits of a row's bytes.
const ROW: usize = 37;
/// Bits of the start of a READ, each of which takes a cycle of the division.
const START_BITS: u64 = 64;
/// Stages of the multiplier, and cycles from an element's granule being asked for to the product of it.
const STAGES: usize = 5;
const PRODUCT: u64 = STAGES as u64 + 2;
/// Cycles from a range to whether a key covers it.
const KEY: u64 = 3;
/// Cycles from a granule's number to the granule.
const GRANULE: u64 = 1;

/// What is done.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum WalkState {
    /// A packet is waited for.
    Idle,
    /// It is of memory, and passes.
    Plain,
    /// It goes on where the one before has ended, or its region is read anew:
    Begin,
    /// the header is asked for,
    Header,
    /// and there;
    Shape,
    /// the shape;
    End,
    /// the end;
    Sum,
    /// Elements are counted together.
    Divide,
    /// The first byte's row is known: its element is sought.
    Find,
    /// Is it this one?
    Found,
    /// The row at hand is looked up.
    Seek,
    /// The bitmap is gone through.
    Bits,
    /// A piece of the bitmap or of the pointers is looked up in its key,
    Ask,
    /// is read,
    Fetch,
    /// and comes.
    Come,
    /// Where the row has the element at hand.
    Multiply,
    /// That place is looked up in its key,
    Check,
    /// and read.
    Offer,
    /// What comes behind it.
    Advance,
    /// The packet's bytes cannot be reached.
    Fail,
}

/// Walks regions, and has their pieces read; see the [module above](super).
///
/// # Inputs
/// `clk`, `rst`; `cfg`; `word`; stream `read`; `side`, a pulse.
///
/// # Outputs
/// Streams `fetch`, and `part` for each of these in its order.
#[derive(LogicBlock, BlockDefault)]
#[check(RegionHeader::field("count").start == 64 && RegionHeader::field("lkey").start == 96)]
#[check(RegionShape::field("target_lkey").start == 64 && RegionShape::field("elements").start == 96)]
#[check(RegionShape::field("flags").start == 112 && KeyRegionEnd::field("kind").start == 0)]
#[check(Element::field("len").start == 64 && Element::field("lkey").start == 96)]
pub struct Walk {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// Words that the host writes into tables,
    pub cfg: Flow<In, ConfigWrite>,
    /// and of regions.
    pub word: Flow<In, KeyWord>,
    /// What packets hold.
    pub read: Stream<In, ReplyRead>,
    /// Reads of host memory,
    pub fetch: Stream<Out, HostReadRequest>,
    /// and what they are.
    pub part: Stream<Out, Part>,
    /// A piece of a bitmap, or pointers.
    pub side: Flow<In, Side>,

    regions: Regions,
    keys: Keys,
    state: DFF<WalkState>,
    wait: DFF<Bits<3>>,
    held: DFF<ReplyRead>,
    /// Bytes of the packet that were not asked for.
    left: DFF<Bits<13>>,
    /// The granule that is asked for.
    granule: DFF<Bits<GRANULE_INDEX>>,
    data: Signal<Local, Bits<GRANULE_BITS>>,
    unused_data: Signal<Local, Bits<GRANULE_BITS>>,

    // The region.
    kind: DFF<Bits<2>>,
    base: DFF<Bits<64>>,
    count: DFF<Bits<32>>,
    lkey: DFF<Bits<32>>,
    period: DFF<Bits<64>>,
    target_lkey: DFF<Bits<32>>,
    elements: DFF<Bits<16>>,
    flags: DFF<Bits<16>>,
    odd: Signal<Local, Bit>,
    row_bytes: DFF<Bits<ROW>>,

    // Division of the start by a row's bytes.
    dividend: DFF<Bits<64>>,
    rest: DFF<Bits<ROW>>,
    rest_in: Signal<Local, Bits<38>>,
    rest_out: Signal<Local, Bits<38>>,
    unused_rest: Signal<Local, Bits<38>>,
    quotient: DFF<Bits<64>>,
    round: DFF<Bits<7>>,
    fits: Signal<Local, Bit>,

    // Where the next byte is: row, element, byte in it.
    row: DFF<Bits<33>>,
    element: DFF<Bits<4>>,
    inside: DFF<Bits<ROW>>,
    /// The row is not looked up.
    fresh: DFF<Bit>,
    /// Selected rows before the one that is sought.
    skip: DFF<Bits<33>>,
    /// What is there of the bitmap or the pointers, from the row at hand on, and its bits.
    bits: DFF<Bits<512>>,
    have: DFF<Bits<10>>,
    ones: Signal<Local, Bits<7>>,
    ones_in_word: CountOnes<64, 7>,
    passes_word: Signal<Local, Bit>,
    /// The region has a bitmap or pointers.
    lists: Signal<Local, Bit>,
    beyond: Signal<Local, Bit>,
    rows_left: Signal<Local, Bits<33>>,
    side_bytes: Signal<Local, Bits<36>>,
    unused_side: Signal<Local, Bits<36>>,
    side_bits: DFF<Bits<10>>,

    // A piece.
    origin: Signal<Local, Bits<64>>,
    step: Signal<Local, Bits<64>>,
    #[init(Multiplier::new(STAGES))]
    multiplier: Multiplier<33, 64, 97>,
    unused_product: Signal<Local, Bits<97>>,
    length: Signal<Local, Bits<ROW>>,
    behind: Signal<Local, Bits<ROW>>,
    addr: DFF<Bits<64>>,
    bytes: DFF<Bits<13>>,
    key: DFF<Bits<32>>,
    covered: Signal<Local, Bit>,
    unused_rights: Signal<Local, Bit>,
    unused_region: Signal<Local, Bits<KEY_REGION>>,
    ends_row: Signal<Local, Bit>,
    outside: DFF<Bit>,
    /// The position is that behind the packet before.
    known: DFF<Bit>,
}

impl Logic for Walk {
    #[hdl_gen]
    fn update(&mut self) {
        self.cfg.join(&mut self.regions.cfg);
        self.word.join(&mut self.regions.word);
        self.regions.region.next = self.held.q.val().region;
        self.regions.granule.next = self.granule.q.val();
        self.data.next = self.regions.data.val();
        self.unused_data.next = self.data.val();

        // A range in its key.
        self.cfg.join(&mut self.keys.cfg);
        self.keys.key.next = self.key.q.val();
        self.keys.pd.next = self.held.q.val().pd;
        self.keys.addr.next = self.addr.q.val();
        self.keys.bytes.next = bit_cast::<32, 13>(self.bytes.q.val());
        self.keys.revoke_valid.next = false;
        self.keys.revoke_index.next = 0.into();
        self.covered.next = self.keys.covers.val();
        self.unused_rights.next = self.keys.readable.val()
            || self.keys.writable.val()
            || self.keys.changeable.val()
            || self.keys.revocable.val()
            || self.keys.revoke_ready.val()
            || self.keys.described.val();
        self.unused_region.next = self.keys.region.val();

        // The shape cannot be one of a described key.
        self.odd.next = (self.kind.q.val() != CONTIGUOUS)
            && (!self.elements.q.val().any()
                || (self.elements.q.val() > MOST_ELEMENTS)
                || (self.flags.q.val() & !bits::<16>(FLAGS)).any());

        // A step of the division.
        self.rest_in.next = (bit_cast::<38, ROW>(self.rest.q.val()) << 1)
            | bit_cast::<38, 1>(self.dividend.q.val().get_bits::<1>(63));
        self.fits.next = self.rest_in.val() >= bit_cast::<38, ROW>(self.row_bytes.q.val());
        self.rest_out.next = self.rest_in.val();
        if self.fits.val() {
            self.rest_out.next = self.rest_in.val() - bit_cast::<38, ROW>(self.row_bytes.q.val());
        }

        self.unused_rest.next = self.rest_out.val();

        // The bitmap.
        self.ones_in_word.bits.next = self.bits.q.val().get_bits::<64>(0);
        self.ones.next = self.ones_in_word.count.val();
        self.passes_word.next =
            (self.have.q.val() >= 64) && (bit_cast::<33, 7>(self.ones.val()) <= self.skip.q.val());
        self.lists.next = (self.kind.q.val() != CONTIGUOUS) && (self.kind.q.val() != STRIDED);
        self.beyond.next = self.row.q.val() >= bit_cast::<33, 32>(self.count.q.val());
        if self.kind.q.val() == CONTIGUOUS {
            self.beyond.next = self.row.q.val().any();
        }
        self.rows_left.next = bit_cast::<33, 32>(self.count.q.val()) - self.row.q.val();
        self.side_bytes.next = bit_cast::<36, 33>(self.rows_left.val()) << 3;
        if self.kind.q.val() == BITMAPPED {
            self.side_bytes.next = (bit_cast::<36, 33>(self.rows_left.val()) + 7) >> 3;
        }
        self.unused_side.next = self.side_bytes.val();

        // Where the row has the element at hand: origin + row * step.
        self.origin.next = self.data.val().get_bits::<64>(0);
        self.step.next = 0.into();
        if self.kind.q.val() == CONTIGUOUS {
            self.origin.next = self.base.q.val();
        } else if self.kind.q.val() == STRIDED {
            self.origin.next = self.base.q.val() + self.data.val().get_bits::<64>(0);
            self.step.next = self.period.q.val();
        } else if self.kind.q.val() == BITMAPPED {
            self.step.next = bit_cast::<64, 32>(self.data.val().get_bits::<32>(64));
        } else {
            self.origin.next =
                self.bits.q.val().get_bits::<64>(0) + self.data.val().get_bits::<64>(0);
        }
        self.multiplier.enable.next = true;
        self.multiplier.a.next = self.row.q.val();
        self.multiplier.b.next = self.step.val();
        self.unused_product.next = self.multiplier.product.val();
        self.length.next = bit_cast::<ROW, 32>(self.data.val().get_bits::<32>(64));
        if self.kind.q.val() == CONTIGUOUS {
            self.length.next = self.row_bytes.q.val();
        }
        self.behind.next = self.length.val() - self.inside.q.val();
        self.ends_row.next = (self.kind.q.val() == CONTIGUOUS)
            || (bit_cast::<16, 4>(self.element.q.val()) + 1 == self.elements.q.val());

        self.read.ready.next = self.state.q.val() == WalkState::Idle;
        self.fetch.valid.next = false;
        self.fetch.addr.next = self.addr.q.val();
        self.fetch.bytes.next = self.bytes.q.val();
        self.part.valid.next = false;
        self.part.bytes.next = self.bytes.q.val();
        self.part.plain.next = false;
        self.part.side.next = false;
        self.part.last.next = self.bytes.q.val() == self.left.q.val();
        self.part.failed.next = false;
        self.part.outside.next = self.outside.q.val();
        self.wait.d.next = self.wait.q.val() + 1;
        match self.state.q.val() {
            WalkState::Idle => {
                self.held.d.next = self.read.val();
                self.left.d.next = self.read.bytes.val();
                self.addr.d.next = self.read.addr.val();
                self.bytes.d.next = self.read.bytes.val();
                if self.read.valid.val() {
                    self.state.d.next = WalkState::Plain;
                    if self.read.described.val() {
                        self.state.d.next = WalkState::Begin;
                    }
                }
            }
            WalkState::Plain => {
                self.part.plain.next = true;
                self.fetch.valid.next = self.part.ready.val();
                self.part.valid.next = self.fetch.ready.val();
                if self.part.ready.val() && self.fetch.ready.val() {
                    self.state.d.next = WalkState::Idle;
                }
            }
            WalkState::Begin => {
                self.outside.d.next = false;
                self.known.d.next = false;
                self.state.d.next = WalkState::Seek;
                if self.held.q.val().first || !self.known.q.val() {
                    self.granule.d.next = 0.into();
                    self.state.d.next = WalkState::Header;
                }
            }
            WalkState::Header => {
                self.granule.d.next = SHAPE.into();
                self.state.d.next = WalkState::Shape;
            }
            WalkState::Shape => {
                self.base.d.next = self.data.val().get_bits::<64>(0);
                self.count.d.next = self.data.val().get_bits::<32>(64);
                self.lkey.d.next = self.data.val().get_bits::<32>(96);
                self.granule.d.next = END.into();
                self.state.d.next = WalkState::End;
            }
            WalkState::End => {
                self.period.d.next = self.data.val().get_bits::<64>(0);
                self.target_lkey.d.next = self.data.val().get_bits::<32>(64);
                self.elements.d.next = self.data.val().get_bits::<16>(96);
                self.flags.d.next = self.data.val().get_bits::<16>(112);
                self.granule.d.next = FIRST_ELEMENT.into();
                self.element.d.next = 0.into();
                self.row_bytes.d.next = 0.into();
                self.round.d.next = 0.into();
                self.state.d.next = WalkState::Sum;
            }
            WalkState::Sum => {
                // First the end, then an element a cycle.
                self.round.d.next = self.round.q.val() + 1;
                self.granule.d.next = self.granule.q.val() + 1;
                self.dividend.d.next = self.held.q.val().addr;
                self.rest.d.next = 0.into();
                self.quotient.d.next = 0.into();
                if !self.round.q.val().any() {
                    self.kind.d.next = self.data.val().get_bits::<2>(0);
                    if !self.regions.valid.val()
                        || self.data.val().get_bits::<62>(2).any()
                        || self.data.val().get_bits::<32>(64).any()
                    {
                        self.state.d.next = WalkState::Fail;
                    }
                } else if self.odd.val() {
                    self.state.d.next = WalkState::Fail;
                } else if self.kind.q.val() == CONTIGUOUS {
                    self.row_bytes.d.next = bit_cast::<ROW, 32>(self.count.q.val());
                    self.round.d.next = 0.into();
                    self.state.d.next = WalkState::Divide;
                } else {
                    self.row_bytes.d.next = self.row_bytes.q.val()
                        + bit_cast::<ROW, 32>(self.data.val().get_bits::<32>(64));
                    if bit_cast::<16, 7>(self.round.q.val()) == self.elements.q.val() {
                        self.round.d.next = 0.into();
                        self.state.d.next = WalkState::Divide;
                    }
                    if !self.data.val().get_bits::<32>(64).any() {
                        self.state.d.next = WalkState::Fail;
                    }
                }
            }
            WalkState::Divide => {
                self.round.d.next = self.round.q.val() + 1;
                self.dividend.d.next = self.dividend.q.val() << 1;
                self.rest.d.next = self.rest_out.val().get_bits::<ROW>(0);
                self.quotient.d.next =
                    (self.quotient.q.val() << 1) | bit_cast::<64, 1>(self.fits.val().into());
                self.granule.d.next = FIRST_ELEMENT.into();
                self.wait.d.next = 0.into();
                if !self.row_bytes.q.val().any() {
                    self.state.d.next = WalkState::Fail;
                } else if self.round.q.val() == START_BITS {
                    // The division ended in the cycle before; nothing of this one counts.
                    self.rest.d.next = self.rest.q.val();
                    self.inside.d.next = self.rest.q.val();
                    self.skip.d.next = self.quotient.q.val().get_bits::<33>(0);
                    self.row.d.next = self.quotient.q.val().get_bits::<33>(0);
                    self.have.d.next = 0.into();
                    self.fresh.d.next = true;
                    self.state.d.next = WalkState::Find;
                    if self.kind.q.val() == BITMAPPED {
                        self.row.d.next = 0.into();
                    }
                    if self.quotient.q.val().get_bits::<31>(33).any() {
                        self.outside.d.next = true;
                        self.state.d.next = WalkState::Fail;
                    } else if self.kind.q.val() == CONTIGUOUS {
                        self.state.d.next = WalkState::Seek;
                    }
                }
            }
            WalkState::Find => {
                if self.wait.q.val() == GRANULE {
                    self.state.d.next = WalkState::Found;
                }
            }
            WalkState::Found => {
                self.wait.d.next = 0.into();
                self.state.d.next = WalkState::Seek;
                if self.inside.q.val() >= self.length.val() {
                    self.inside.d.next = self.inside.q.val() - self.length.val();
                    self.element.d.next = self.element.q.val() + 1;
                    self.granule.d.next = self.granule.q.val() + 1;
                    self.state.d.next = WalkState::Find;
                }
            }
            WalkState::Seek => {
                self.wait.d.next = 0.into();
                self.state.d.next = WalkState::Multiply;
                if self.fresh.q.val() {
                    if self.lists.val() && self.have.q.val().any() {
                        self.fresh.d.next = false;
                        if self.kind.q.val() == BITMAPPED {
                            self.fresh.d.next = true;
                            self.state.d.next = WalkState::Bits;
                        }
                    } else if self.beyond.val() {
                        self.outside.d.next = true;
                        self.state.d.next = WalkState::Fail;
                    } else if self.lists.val() {
                        self.state.d.next = WalkState::Ask;
                    } else {
                        self.fresh.d.next = false;
                    }
                }
                // The place of the bitmap's or the pointers' next piece.
                self.addr.d.next = self.base.q.val() + (bit_cast::<64, 33>(self.row.q.val()) << 3);
                if self.kind.q.val() == BITMAPPED {
                    self.addr.d.next =
                        self.base.q.val() + bit_cast::<64, 33>(self.row.q.val() >> 3);
                }
                self.key.d.next = self.lkey.q.val();
                self.bytes.d.next = 64.into();
                if self.side_bytes.val() < 64 {
                    self.bytes.d.next = self.side_bytes.val().get_bits::<13>(0);
                }
                self.side_bits.d.next = 512.into();
                if self.kind.q.val() == BITMAPPED && (self.rows_left.val() < 512) {
                    self.side_bits.d.next = self.rows_left.val().get_bits::<10>(0);
                } else if self.kind.q.val() != BITMAPPED && (self.rows_left.val() < 8) {
                    self.side_bits.d.next = self.rows_left.val().get_bits::<10>(0) << 6;
                }
            }
            WalkState::Bits => {
                self.wait.d.next = 0.into();
                if !self.have.q.val().any() {
                    self.state.d.next = WalkState::Seek;
                } else if self.passes_word.val() {
                    self.skip.d.next = self.skip.q.val() - bit_cast::<33, 7>(self.ones.val());
                    self.bits.d.next = self.bits.q.val() >> 64;
                    self.have.d.next = self.have.q.val() - 64;
                    self.row.d.next = self.row.q.val() + 64;
                } else if self.bits.q.val().get_bit(0) && !self.skip.q.val().any() {
                    self.fresh.d.next = false;
                    self.state.d.next = WalkState::Multiply;
                } else {
                    if self.bits.q.val().get_bit(0) {
                        self.skip.d.next = self.skip.q.val() - 1;
                    }
                    self.bits.d.next = self.bits.q.val() >> 1;
                    self.have.d.next = self.have.q.val() - 1;
                    self.row.d.next = self.row.q.val() + 1;
                }
            }
            WalkState::Ask => {
                if self.wait.q.val() == KEY {
                    self.state.d.next = WalkState::Fail;
                    if self.covered.val() {
                        self.state.d.next = WalkState::Fetch;
                    }
                }
            }
            WalkState::Fetch => {
                self.part.side.next = true;
                self.part.last.next = false;
                self.fetch.valid.next = self.part.ready.val();
                self.part.valid.next = self.fetch.ready.val();
                if self.part.ready.val() && self.fetch.ready.val() {
                    self.state.d.next = WalkState::Come;
                }
            }
            WalkState::Come => {
                self.bits.d.next = self.side.data.val();
                self.have.d.next = self.side_bits.q.val();
                if self.side.valid.val() {
                    self.state.d.next = WalkState::Seek;
                    if self.side.error.val() {
                        self.state.d.next = WalkState::Fail;
                    }
                } else {
                    self.bits.d.next = self.bits.q.val();
                }
            }
            WalkState::Multiply => {
                if self.wait.q.val() == PRODUCT {
                    self.addr.d.next = self.origin.val()
                        + self.multiplier.product.val().get_bits::<64>(0)
                        + bit_cast::<64, ROW>(self.inside.q.val());
                    self.bytes.d.next = self.left.q.val();
                    if self.behind.val() < bit_cast::<ROW, 13>(self.left.q.val()) {
                        self.bytes.d.next = self.behind.val().get_bits::<13>(0);
                    }
                    self.key.d.next = self.lkey.q.val();
                    if self.kind.q.val() == BITMAPPED {
                        self.key.d.next = self.data.val().get_bits::<32>(96);
                    } else if self.lists.val() {
                        self.key.d.next = self.target_lkey.q.val();
                    }
                    self.wait.d.next = 0.into();
                    self.state.d.next = WalkState::Check;
                }
            }
            WalkState::Check => {
                if self.wait.q.val() == KEY {
                    self.state.d.next = WalkState::Fail;
                    if self.covered.val() {
                        self.state.d.next = WalkState::Offer;
                    }
                }
            }
            WalkState::Offer => {
                self.fetch.valid.next = self.part.ready.val();
                self.part.valid.next = self.fetch.ready.val();
                if self.part.ready.val() && self.fetch.ready.val() {
                    self.left.d.next = self.left.q.val() - self.bytes.q.val();
                    self.inside.d.next =
                        self.inside.q.val() + bit_cast::<ROW, 13>(self.bytes.q.val());
                    self.state.d.next = WalkState::Advance;
                }
            }
            WalkState::Advance => {
                if self.inside.q.val() == self.length.val() {
                    self.inside.d.next = 0.into();
                    self.element.d.next = self.element.q.val() + 1;
                    self.granule.d.next = self.granule.q.val() + 1;
                    if self.ends_row.val() {
                        self.element.d.next = 0.into();
                        self.granule.d.next = FIRST_ELEMENT.into();
                        self.row.d.next = self.row.q.val() + 1;
                        self.fresh.d.next = true;
                        if self.kind.q.val() == BITMAPPED {
                            self.bits.d.next = self.bits.q.val() >> 1;
                            self.have.d.next = self.have.q.val() - 1;
                        } else if self.have.q.val().any() {
                            self.bits.d.next = self.bits.q.val() >> 64;
                            self.have.d.next = self.have.q.val() - 64;
                        }
                    }
                }
                self.state.d.next = WalkState::Seek;
                if !self.left.q.val().any() {
                    self.known.d.next = true;
                    self.state.d.next = WalkState::Idle;
                }
            }
            WalkState::Fail => {
                self.part.valid.next = true;
                self.part.failed.next = true;
                self.part.last.next = true;
                if self.part.ready.val() {
                    self.state.d.next = WalkState::Idle;
                }
            }
        }
        if self.rst.val() {
            self.state.d.next = WalkState::Idle;
            self.known.d.next = false;
        }
    }
}
