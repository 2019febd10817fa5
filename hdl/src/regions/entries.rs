//! Keeps the entries of `KEY_REGIONS`, as the host writes them.

use crate::context::{ConfigWrite, EVERY_TABLE, Table};
use crate::primitive::{Pack, Ram, RamStyle};
pub use crate::receive::responder::keys::KEY_REGION;
use drdma_abi::Layout;
use drdma_abi::described::{ENTRY_GRANULES, KEY_REGIONS, KeyRegionEnd};
use drdma_abi::work_request::GRANULE;
use drdma_emit::prelude::*;

/// Bits of the number of a granule in an entry.
pub const GRANULE_INDEX: usize = ENTRY_GRANULES.ilog2() as usize;
/// Bits of the number of a word in an entry.
pub const KEY_WORD: usize = GRANULE_INDEX + 2;
/// Bits of a granule, and its words.
pub const GRANULE_BITS: usize = 8 * GRANULE;
const LANES: usize = 4;
/// Bits of the number of a granule among those of all entries.
const PLACE: usize = KEY_REGION + GRANULE_INDEX;
/// Number of the word that makes an entry valid, and the value that it must have.
const LAST_WORD: u64 = KEY_REGIONS.entry_size as u64 / 4 - 1;
const VALID: u64 = 1;

const _: () = assert!(ENTRY_GRANULES.is_power_of_two());

/// A word that the host writes to `KEY_REGIONS`.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct KeyWord {
    /// Number of the region.
    pub region: Bits<KEY_REGION>,
    /// Number of the word in the region's entry.
    pub word: Bits<KEY_WORD>,
    /// Value of the word.
    pub data: Bits<32>,
}

/// Keeps the regions of 512 described keys.
///
/// Contract: a granule comes in the cycle after it was asked for. `valid` is that of its region: the last word of the
/// entry is 1. After a reset no region is valid once all tables are cleared.
///
/// # Inputs
/// `clk`; `cfg`; `word`; `region`, `granule`.
///
/// # Outputs
/// `data`, `valid`.
#[derive(LogicBlock, BlockDefault)]
#[check(KeyRegionEnd::field("valid").start == 96 && KeyRegionEnd::SIZE == GRANULE)]
pub struct Entries {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// Words that the host writes to `KEY_REGIONS`.
    pub word: Flow<In, KeyWord>,
    /// Number of the region that is asked for in the next cycle.
    pub region: Signal<In, Bits<KEY_REGION>>,
    /// Number of the granule in that region's entry.
    pub granule: Signal<In, Bits<GRANULE_INDEX>>,
    /// The granule that was asked for in the cycle before.
    pub data: Signal<Out, Bits<GRANULE_BITS>>,
    /// The region of that granule is valid.
    pub valid: Signal<Out, Bit>,

    lane: Signal<Local, Bits<LANES>>,
    written: Pack<LANES, 32, GRANULE_BITS>,
    #[init(Ram::new(RamStyle::Ultra))]
    granules: Ram<GRANULE_BITS, LANES, PLACE>,
    live: Table<1, KEY_REGION>,
    clears: Signal<Local, Bit>,
    unused: Signal<Local, Bits<32>>,
}

impl Logic for Entries {
    #[hdl_gen]
    fn update(&mut self) {
        self.unused.next = self.cfg.data.val()
            | bit_cast::<32, 4>(self.cfg.word.val())
            | bit_cast::<32, 12>(self.cfg.index.val());
        self.lane.next = bit_cast::<LANES, 1>(1.into()) << self.word.word.val().get_bits::<2>(0);
        for k in 0..LANES {
            self.written.parts[k].next = self.word.data.val();
        }
        self.granules.write_lanes.next = 0.into();
        if self.word.valid.val() {
            self.granules.write_lanes.next = self.lane.val();
        }
        self.granules.write_address.next = (bit_cast::<PLACE, KEY_REGION>(self.word.region.val())
            << GRANULE_INDEX as u64)
            | bit_cast::<PLACE, GRANULE_INDEX>(self.word.word.val().get_bits::<GRANULE_INDEX>(2));
        self.granules.write_data.next = self.written.whole.val();
        self.granules.read_enable.next = true;
        self.granules.read_address.next = (bit_cast::<PLACE, KEY_REGION>(self.region.val())
            << GRANULE_INDEX as u64)
            | bit_cast::<PLACE, GRANULE_INDEX>(self.granule.val());
        self.data.next = self.granules.read_data.val();

        self.clears.next = self.cfg.valid.val() && (self.cfg.table.val() == EVERY_TABLE);
        self.live.write_enable.next =
            self.clears.val() || (self.word.valid.val() && (self.word.word.val() == LAST_WORD));
        self.live.write_address.next = self.word.region.val();
        self.live.write_data.next = 0.into();
        if self.clears.val() {
            self.live.write_address.next = self.cfg.index.val().get_bits::<KEY_REGION>(0);
        } else if self.word.data.val() == VALID {
            self.live.write_data.next = 1.into();
        }
        self.live.ahead.next = self.region.val();
        self.valid.next = self.live.read_data.val() == 1;
    }
}
