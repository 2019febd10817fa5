//! Checks whether a range lies in the memory region that its local key names.

use super::regions::MemoryRegions;
use crate::context::INDEX;
use crate::primitive::Multiplier;
use crate::request::DEST_INDEX;
use drdma_emit::prelude::*;

/// Register stages of the multiplier.
const MULTIPLIER_STAGES: usize = 5;

/// Computes the length of a range, `factor` times a step and a rest, exactly.
///
/// Contract: the length comes 6 cycles after its inputs; one a cycle while `enable` is high, which must be so for 6
/// cycles.
#[derive(LogicBlock, BlockDefault)]
pub struct Length {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Advances the pipeline.
    pub enable: Signal<In, Bit>,
    /// Number of steps.
    pub factor: Signal<In, Bits<32>>,
    /// Bytes of a step.
    pub step: Signal<In, Bits<64>>,
    /// Bytes of the rest.
    pub rest: Signal<In, Bits<32>>,
    /// `factor * step + rest`.
    pub length: Signal<Out, Bits<97>>,
    #[init(Multiplier::new(MULTIPLIER_STAGES))]
    multiplier: Multiplier<32, 64, 96>,
    rests: [DFF<Bits<32>>; MULTIPLIER_STAGES],
    sum: DFF<Bits<97>>,
}

impl Logic for Length {
    #[hdl_gen]
    fn update(&mut self) {
        self.multiplier.enable.next = self.enable.val();
        self.multiplier.a.next = self.factor.val();
        self.multiplier.b.next = self.step.val();
        self.rests[0].d.next = self.rest.val();
        for k in 1..5 {
            self.rests[k].d.next = self.rests[k - 1].q.val();
        }
        if self.enable.val() {
            self.sum.d.next = bit_cast::<97, 96>(self.multiplier.product.val())
                + bit_cast::<97, 32>(self.rests[4].q.val());
        }
        self.length.next = self.sum.q.val();
    }
}

/// Checks ranges against the memory regions.
///
/// Contract: one check a cycle, without back-pressure. `fail_*` describe the failed check with the lowest region
/// number until `clear`; a check of a given length is in them 2 cycles after it was given, one
/// whose length is a product 8 cycles after. All sums are exact: no range wraps around the end of
/// the address space.
///
/// # Inputs
/// `clk`, `rst`, `cfg_*` (the words of the memory regions' table), `check_*`, `clear`.
///
/// # Outputs
/// `busy` (a check is on its way), `fail_*`, `lacking`, `target_*`.
#[derive(LogicBlock, Default)]
pub struct Bounds {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,

    /// A word of the memory regions' table is written.
    pub cfg_valid: Signal<In, Bit>,
    /// The word is the last one of its entry.
    pub cfg_last: Signal<In, Bit>,
    /// Number of the memory region.
    pub cfg_index: Signal<In, Bits<INDEX>>,
    /// The word of its entry.
    pub cfg_word: Signal<In, Bits<4>>,
    /// The word's value.
    pub cfg_data: Signal<In, Bits<32>>,

    /// A check is given.
    pub check_valid: Signal<In, Bit>,
    /// The length is `check_factor * check_step + check_len`, else `check_span`.
    pub check_long: Signal<In, Bit>,
    /// The key is only looked up, and nothing is checked.
    pub check_target: Signal<In, Bit>,
    /// The local key.
    pub check_key: Signal<In, Bits<32>>,
    /// The protection domain of the queue.
    pub check_pd: Signal<In, Bits<32>>,
    /// First summand of the range's start: `check_base + check_offset`.
    pub check_base: Signal<In, Bits<64>>,
    /// Second summand of the range's start: see `check_base`.
    pub check_offset: Signal<In, Bits<64>>,
    /// Bytes of the range without `check_long`.
    pub check_span: Signal<In, Bits<35>>,
    /// With `check_long`: number of steps.
    pub check_factor: Signal<In, Bits<32>>,
    /// With `check_long`: bytes of a step.
    pub check_step: Signal<In, Bits<64>>,
    /// With `check_long`: bytes of the rest.
    pub check_len: Signal<In, Bits<32>>,
    /// The range will be written.
    pub check_writes: Signal<In, Bit>,
    /// The number of the region that is checked.
    pub check_region: Signal<In, Bits<11>>,
    /// Index of the region's destination.
    pub check_dest: Signal<In, Bits<DEST_INDEX>>,

    /// Checks are on their way.
    pub busy: Signal<Out, Bit>,
    /// A check has failed.
    pub fail_valid: Signal<Out, Bit>,
    /// With `fail_valid`: number of the first region of which a check has failed.
    pub fail_region: Signal<Out, Bits<11>>,
    /// With `fail_valid`: index of that region's destination.
    pub fail_dest: Signal<Out, Bits<DEST_INDEX>>,
    /// With `fail_valid`: the reason is that a memory region that is to be written does not allow it.
    pub lacking: Signal<Out, Bit>,
    /// The failure is forgotten.
    pub clear: Signal<In, Bit>,

    /// A look-up with `check_target` has ended.
    pub target_done: Signal<Out, Bit>,
    /// With `target_done`: address of the memory region's first byte; 0 if the key names none.
    pub target_addr: Signal<Out, Bits<64>>,
    /// With `target_done`: bytes of the memory region; 0 if the key names none.
    pub target_len: Signal<Out, Bits<64>>,

    regions: MemoryRegions,
    long_length: Length,

    // Stage 0 holds the check as it was given; stages 1 and up only have those of a product.
    valid: [DFF<Bit>; 8],
    long: DFF<Bit>,
    writes0: DFF<Bit>,
    lacks1: DFF<Bit>,
    lacks: DFF<Bit>,
    region: [DFF<Bits<11>>; 8],
    dest: [DFF<Bits<DEST_INDEX>>; 8],
    target: [DFF<Bit>; 3],
    base0: DFF<Bits<64>>,
    offset0: DFF<Bits<64>>,
    factor0: DFF<Bits<32>>,
    step0: DFF<Bits<64>>,
    rest0: DFF<Bits<32>>,
    known1: DFF<Bit>,
    addr1: DFF<Bits<64>>,
    len1: DFF<Bits<64>>,
    start1: DFF<Bits<65>>,
    // A given length has no offset: the length, and its verdict.
    span0: DFF<Bits<35>>,
    base: Signal<Local, Bits<67>>,
    span: Signal<Local, Bits<67>>,
    sums: Signal<Local, Bits<67>>,
    carries: Signal<Local, Bits<67>>,
    all_sums: Signal<Local, Bits<67>>,
    all_carries: Signal<Local, Bits<67>>,
    not_addr: Signal<Local, Bits<67>>,
    not_len: Signal<Local, Bits<67>>,
    // Stage 2: the memory region of the key, if there is one.
    target_addr2: DFF<Bits<64>>,
    target_len2: DFF<Bits<64>>,
    known2: DFF<Bit>,
    skip2: DFF<Bits<66>>,
    len2: DFF<Bits<64>>,
    // Stages 3 to 6: the start is inside, and how far the range may reach.
    inside: [DFF<Bit>; 4],
    room: [DFF<Bits<64>>; 4],
    fail1: DFF<Bit>,
    fail7: DFF<Bit>,

    failed: DFF<Bit>,
    failed_region: DFF<Bits<11>>,
    failed_dest: DFF<Bits<DEST_INDEX>>,

    /// Bytes from stage 2's start to the memory region's end, if not negative.
    rest2: Signal<Local, Bits<66>>,
    /// Stage 4 or 7 reports the earlier failure.
    take1: Signal<Local, Bit>,
    take7: Signal<Local, Bit>,
    long_busy: Signal<Local, Bit>,
}

impl Logic for Bounds {
    #[hdl_gen]
    fn update(&mut self) {
        self.regions.cfg_valid.next = self.cfg_valid.val();
        self.regions.cfg_last.next = self.cfg_last.val();
        self.regions.cfg_index.next = self.cfg_index.val();
        self.regions.cfg_word.next = self.cfg_word.val();
        self.regions.cfg_data.next = self.cfg_data.val();

        // Stage 0: the check, and the lookup of its key.
        self.regions.key.next = self.check_key.val();
        self.regions.pd.next = self.check_pd.val();
        self.valid[0].d.next = self.check_valid.val() && !self.check_target.val();
        self.target[0].d.next = self.check_valid.val() && self.check_target.val();
        self.long.d.next = self.check_long.val();
        self.writes0.d.next = self.check_writes.val();
        self.lacks1.d.next =
            self.valid[0].q.val() && self.writes0.q.val() && !self.regions.writable.val();
        self.region[0].d.next = self.check_region.val();
        self.dest[0].d.next = self.check_dest.val();
        if self.check_valid.val() {
            self.base0.d.next = self.check_base.val();
            self.offset0.d.next = self.check_offset.val();
            self.factor0.d.next = self.check_factor.val();
            self.step0.d.next = self.check_step.val();
            self.rest0.d.next = self.check_len.val();
            self.span0.d.next = self.check_span.val();
        }
        for k in 1..8 {
            self.region[k].d.next = self.region[k - 1].q.val();
            self.dest[k].d.next = self.dest[k - 1].q.val();
        }
        for k in 1..5 {
            self.valid[k].d.next = self.valid[k - 1].q.val();
        }
        // A given length is judged in stage 1.
        self.valid[1].d.next = self.valid[0].q.val() && self.long.q.val();
        self.valid[5].d.next = self.valid[4].q.val();
        self.valid[6].d.next = self.valid[5].q.val();
        self.valid[7].d.next = self.valid[6].q.val();

        // Stage 1: the start, while what was found is kept.
        self.known1.d.next = self.regions.known.val();
        self.addr1.d.next = self.regions.addr.val();
        self.len1.d.next = self.regions.len.val();
        if self.valid[0].q.val() {
            self.start1.d.next =
                bit_cast::<65, 64>(self.base0.q.val()) + bit_cast::<65, 64>(self.offset0.q.val());
        }
        self.target[1].d.next = self.target[0].q.val();

        // Stage 2: bytes from the memory region's first one to the range, and a target.
        self.target[2].d.next = self.target[1].q.val();
        if self.target[1].q.val() {
            self.target_addr2.d.next = 0.into();
            self.target_len2.d.next = 0.into();
            if self.known1.q.val() {
                self.target_addr2.d.next = self.addr1.q.val();
                self.target_len2.d.next = self.len1.q.val();
            }
        }
        if self.valid[1].q.val() {
            self.known2.d.next = self.known1.q.val();
            self.skip2.d.next =
                bit_cast::<66, 65>(self.start1.q.val()) - bit_cast::<66, 64>(self.addr1.q.val());
            self.len2.d.next = self.len1.q.val();
        }

        // Stage 3: bytes from the range's start to the memory region's end.
        self.rest2.next = bit_cast::<66, 64>(self.len2.q.val()) - self.skip2.q.val();
        self.inside[0].d.next = self.known2.q.val()
            && !self.skip2.q.val().get_bit(65)
            && !self.rest2.val().get_bits::<2>(64).any();
        self.room[0].d.next = self.rest2.val().get_bits::<64>(0);
        for k in 1..4 {
            self.inside[k].d.next = self.inside[k - 1].q.val();
            self.room[k].d.next = self.room[k - 1].q.val();
        }

        // Stage 1 as well: the verdict on a given length. Its end is beyond the memory region's if
        // base + span - addr - len - 1, four numbers in one sum, is not negative.
        self.base.next = bit_cast::<67, 64>(self.base0.q.val());
        self.span.next = bit_cast::<67, 35>(self.span0.q.val());
        self.not_addr.next = !bit_cast::<67, 64>(self.regions.addr.val());
        self.not_len.next = !bit_cast::<67, 64>(self.regions.len.val());
        self.sums.next = self.base.val() ^ self.not_addr.val() ^ self.not_len.val();
        self.carries.next = (((self.base.val() & self.not_addr.val())
            | (self.base.val() & self.not_len.val())
            | (self.not_addr.val() & self.not_len.val()))
            << 1)
            | 1;
        self.all_sums.next = self.sums.val() ^ self.carries.val() ^ self.span.val();
        self.all_carries.next = (self.sums.val() & self.carries.val())
            | (self.sums.val() & self.span.val())
            | (self.carries.val() & self.span.val());
        self.fail1.d.next = self.valid[0].q.val()
            && !self.long.q.val()
            && (!self.regions.known.val()
                || (self.base0.q.val() < self.regions.addr.val())
                || !(self.all_sums.val() + (self.all_carries.val() << 1)).get_bit(66));

        // Stage 6: the product's length; stage 7: the verdict on it.
        self.long_busy.next = (self.valid[0].q.val() && self.long.q.val())
            || self.valid[1].q.val()
            || self.valid[2].q.val()
            || self.valid[3].q.val()
            || self.valid[4].q.val()
            || self.valid[5].q.val();
        self.long_length.enable.next = self.long_busy.val();
        self.long_length.factor.next = self.factor0.q.val();
        self.long_length.step.next = self.step0.q.val();
        self.long_length.rest.next = self.rest0.q.val();
        self.fail7.d.next = self.valid[6].q.val()
            && (!self.inside[3].q.val()
                || (bit_cast::<97, 64>(self.room[3].q.val()) < self.long_length.length.val()));

        // The first region that failed.
        self.take1.next = self.fail1.q.val()
            && (!self.failed.q.val() || (self.region[1].q.val() < self.failed_region.q.val()));
        self.take7.next = self.fail7.q.val()
            && (!self.failed.q.val() || (self.region[7].q.val() < self.failed_region.q.val()));
        if self.take7.val()
            && (!self.take1.val() || (self.region[7].q.val() < self.region[1].q.val()))
        {
            self.failed.d.next = true;
            self.failed_region.d.next = self.region[7].q.val();
            self.failed_dest.d.next = self.dest[7].q.val();
        } else if self.take1.val() {
            self.failed.d.next = true;
            self.failed_region.d.next = self.region[1].q.val();
            self.failed_dest.d.next = self.dest[1].q.val();
        }
        if self.lacks1.q.val() {
            self.lacks.d.next = true;
        }
        self.lacking.next = self.lacks.q.val() || self.lacks1.q.val();
        if self.clear.val() {
            self.failed.d.next = false;
            self.lacks.d.next = false;
        }
        if self.rst.val() {
            for k in 0..8 {
                self.valid[k].d.next = false;
            }
            for k in 0..3 {
                self.target[k].d.next = false;
            }
            self.lacks1.d.next = false;
            self.lacks.d.next = false;
            self.fail1.d.next = false;
            self.fail7.d.next = false;
            self.failed.d.next = false;
        }

        self.busy.next = self.valid[0].q.val()
            || self.valid[1].q.val()
            || self.valid[2].q.val()
            || self.valid[3].q.val()
            || self.valid[4].q.val()
            || self.valid[5].q.val()
            || self.valid[6].q.val()
            || self.valid[7].q.val();
        // With the one that is judged last: of a given length, before it is stored.
        self.fail_valid.next = self.failed.q.val() || self.fail1.q.val();
        self.fail_region.next = self.failed_region.q.val();
        self.fail_dest.next = self.failed_dest.q.val();
        if self.take1.val() {
            self.fail_region.next = self.region[1].q.val();
            self.fail_dest.next = self.dest[1].q.val();
        }
        self.target_done.next = self.target[2].q.val();
        self.target_addr.next = self.target_addr2.q.val();
        self.target_len.next = self.target_len2.q.val();
    }
}
