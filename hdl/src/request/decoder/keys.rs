//! Decodes the part of an entry that describes how a partitioned request's ids are made.

use super::slice::{At, in_granule};
use crate::request::{FunctionWrite, KEY_BITS, KeyWrite};
use drdma_abi::work_request::{
    ElementKind, KeyType, KindElement, MAX_ELEMENTS, MAX_PARTITIONS, MAX_SPLITTERS, PartitionBy,
    PartitionFunction, PartitionKey,
};
use drdma_emit::prelude::*;

/// Codes of functions.
const MURMUR3: u64 = PartitionBy::Murmur3 as u64;
/// Code of the function that assigns ranges.
const RANGE: u64 = PartitionBy::Range as u64;
/// Codes of kinds.
const FIXED: u64 = ElementKind::Fixed as u64;
/// Code of the kind whose entries are bits.
const BITS: u64 = ElementKind::Bits as u64;
/// Codes of types.
const INTEGER: u64 = KeyType::Integer as u64;
/// Code of unsigned integers.
const UNSIGNED: u64 = KeyType::Unsigned as u64;
/// Code of floating point numbers.
const FLOAT: u64 = KeyType::Float as u64;
/// Code of truth values.
const BOOLEAN: u64 = KeyType::Boolean as u64;
/// Code of decimal numbers.
const DECIMAL: u64 = KeyType::Decimal as u64;
/// Keys of a function, at most.
const MOST_KEYS: u64 = MAX_ELEMENTS as u64;
/// Partitions of a hash, at most.
const MOST_PARTITIONS: u64 = MAX_PARTITIONS as u64;
/// Partitions of a range, at most.
const MOST_OF_RANGE: u64 = MAX_SPLITTERS as u64 + 1;
/// Widths of values.
const WIDTHS: [u64; 5] = [1, 2, 4, 8, 16];
/// Partitions, at most, whose ids fit into a byte.
const OF_A_BYTE: u64 = 256;

/// Tells whether bits that begin within a byte take a byte more than the same number of bits that begin with one.
#[derive(LogicBlock, BlockDefault)]
pub struct Spans {
    /// Number of bits, modulo 8.
    pub count: Signal<In, Bits<3>>,
    /// Place of the first bit in its byte.
    pub first: Signal<In, Bits<3>>,
    /// The bits reach into one byte more than their number needs.
    pub more: Signal<Out, Bit>,
    place: Signal<Local, Bits<6>>,
    /// For each place of the first bit and each number of bits modulo 8: the bits need a byte more.
    #[init(Constant::new(spans().to_bits()))]
    spanned: Constant<Bits<64>>,
}

/// [`Spans::spanned`], from count 0 and place 0 on, the place being the low bits.
fn spans() -> u64 {
    let more = |count: u64, first: u64| (count + first).div_ceil(8) > count.div_ceil(8);
    (0..64).filter(|at| more(at / 8, at % 8)).map(|at| 1 << at).sum()
}

impl Logic for Spans {
    #[hdl_gen]
    fn update(&mut self) {
        self.place.next =
            (bit_cast::<6, 3>(self.count.val()) << 3) | bit_cast::<6, 3>(self.first.val());
        self.more.next = self.spanned.val().get_bit(self.place.val().index());
    }
}

/// A range of memory that a key needs.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct KeyCheck {
    /// The range has as many bytes as the region's rows times `step`; otherwise `span`.
    pub is_long: Bit,
    /// Address of the range's first byte.
    pub base: Bits<64>,
    /// Without `is_long`: number of bytes of the range.
    pub span: Bits<35>,
    /// With `is_long`: bytes from a row to the next.
    pub step: Bits<64>,
    /// Local key of the range.
    pub key: Bits<32>,
}

/// Checks the granules of a function and its keys, and gives out what they say.
///
/// The current granule is named by one of `is_function`, `is_entry`, `is_source`, `is_end` and is checked in the same
/// cycle; it counts with `take`. What is written follows a cycle later. Besides what has no meaning, granules are
/// refused that ask for what the card does not have: keys of variable length or of a dictionary, bytes, and ranges of
/// numbers of 16 B.
///
/// # Inputs
/// `clk`, `rst`, `granule`, `is_function`, `is_entry`, `is_source`, `is_end`, `given`; `addr`, `lkey`, `rows`,
/// `bitmap`, `bitmap_more` of the region.
///
/// # Outputs
/// `is_bad`; `last`: the current key is the last one; `check`, valid if the granule needs one; `ids`, bytes of an id,
/// with the function; `partitions` and `group` from then on; `function_write` and `key_write`, all but the slot.
#[derive(LogicBlock, BlockDefault)]
pub struct Keys {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Synchronous reset.
    pub rst: Signal<In, Bit>,
    /// The granule that is checked.
    pub granule: Signal<In, Bits<128>>,
    /// The granule is a [`PartitionFunction`].
    pub is_function: Signal<In, Bit>,
    /// The granule is the [`KindElement`] of a key.
    pub is_entry: Signal<In, Bit>,
    /// The granule is the [`ElementSource`](drdma_abi::work_request::ElementSource) of a key, and is all 0.
    pub is_source: Signal<In, Bit>,
    /// The granule is a [`PartitionKey`].
    pub is_end: Signal<In, Bit>,
    /// The granule is there. If it is bad, nothing of it is given out, and what is checked with it means nothing; the
    /// next one begins another function.
    pub given: Signal<In, Bit>,
    /// Address of the region.
    pub addr: Signal<In, Bits<64>>,
    /// Local key of the region.
    pub lkey: Signal<In, Bits<32>>,
    /// Rows of the region.
    pub rows: Signal<In, Bits<32>>,
    /// Bytes of a bitmap with a bit for each row, beginning with a byte's first bit.
    pub bitmap: Signal<In, Bits<30>>,
    /// The number of bytes `bitmap` plus 1.
    pub bitmap_more: Signal<In, Bits<30>>,
    /// The granule is malformed, or not allowed at this place.
    pub is_bad: Signal<Out, Bit>,
    /// The current key is the last one.
    pub last: Signal<Out, Bit>,
    /// A range that is to be checked with the granule.
    pub check: Flow<Out, KeyCheck>,
    /// Bytes of an id: 1 or 2.
    pub ids: Signal<Out, Bits<2>>,
    /// Number of partitions.
    pub partitions: Signal<Out, Bits<17>>,
    /// Neighbouring partitions that share an id.
    pub group: Signal<Out, Bits<16>>,
    /// The function that makes ids of keys.
    pub function_write: Flow<Out, FunctionWrite>,
    /// A key of that function.
    pub key_write: Flow<Out, KeyWrite>,

    function_code: Signal<Local, Bits<8>>,
    function_keys: Signal<Local, Bits<8>>,
    function_group: Signal<Local, Bits<16>>,
    function_partitions: Signal<Local, Bits<32>>,
    function_seed: Signal<Local, Bits<32>>,
    function_reserved: Signal<Local, Bits<32>>,
    entry_offset: Signal<Local, Bits<64>>,
    entry_width: Signal<Local, Bits<24>>,
    entry_kind: Signal<Local, Bits<4>>,
    entry_log: Signal<Local, Bits<4>>,
    entry_lkey: Signal<Local, Bits<32>>,
    key_validity: Signal<Local, Bits<64>>,
    key_lkey: Signal<Local, Bits<32>>,
    key_type: Signal<Local, Bits<8>>,
    key_has_validity: Signal<Local, Bit>,
    key_first: Signal<Local, Bits<3>>,
    key_reserved: Signal<Local, Bits<20>>,
    #[init(in_granule::<PartitionFunction>("function", 8))]
    function_code_at: At,
    #[init(in_granule::<PartitionFunction>("keys", 8))]
    function_keys_at: At,
    #[init(in_granule::<PartitionFunction>("group", 16))]
    function_group_at: At,
    #[init(in_granule::<PartitionFunction>("partitions", 32))]
    function_partitions_at: At,
    #[init(in_granule::<PartitionFunction>("seed", 32))]
    function_seed_at: At,
    #[init(in_granule::<PartitionFunction>("reserved", 32))]
    function_reserved_at: At,
    #[init(in_granule::<KindElement>("offset", 64))]
    entry_offset_at: At,
    #[init(in_granule::<KindElement>("width", 24))]
    entry_width_at: At,
    #[init(in_granule::<KindElement>("kind", 4))]
    entry_kind_at: At,
    #[init(in_granule::<KindElement>("log_entry", 4))]
    entry_log_at: At,
    #[init(in_granule::<KindElement>("lkey", 32))]
    entry_lkey_at: At,
    #[init(in_granule::<PartitionKey>("validity", 64))]
    key_validity_at: At,
    #[init(in_granule::<PartitionKey>("lkey", 32))]
    key_lkey_at: At,
    #[init(in_granule::<PartitionKey>("key_type", 8))]
    key_type_at: At,
    #[init(in_granule::<PartitionKey>("has_validity", 1))]
    key_has_validity_at: At,
    #[init(in_granule::<PartitionKey>("first", 3))]
    key_first_at: At,
    #[init(in_granule::<PartitionKey>("reserved", 20))]
    key_reserved_at: At,

    told: DFF<FunctionWrite>,
    tells: DFF<Bit>,
    key: DFF<KeyWrite>,
    key_tells: DFF<Bit>,
    index: DFF<Bits<4>>,
    lkey_of_entry: DFF<Bits<32>>,
    /// Binary logarithm of a width.
    log_width: Signal<Local, Bits<3>>,
    width_is_bad: Signal<Local, Bit>,
    /// The granule is taken, and is not bad.
    take: Signal<Local, Bit>,
    /// The key's values are numbers of 1 to 8 B.
    is_short: Signal<Local, Bit>,
    type_is_bad: Signal<Local, Bit>,
    no_splitters: Signal<Local, Bit>,
    splitters: Signal<Local, Bits<35>>,
    /// Bytes in which the bits of the rows lie, of the entries or of the validity.
    bits: Spans,
    bit_bytes: Signal<Local, Bits<30>>,
}

impl Logic for Keys {
    #[hdl_gen]
    fn update(&mut self) {
        self.function_code.next =
            self.granule.val().get_bits::<8>(self.function_code_at.val().index());
        self.function_keys.next =
            self.granule.val().get_bits::<8>(self.function_keys_at.val().index());
        self.function_group.next =
            self.granule.val().get_bits::<16>(self.function_group_at.val().index());
        self.function_partitions.next =
            self.granule.val().get_bits::<32>(self.function_partitions_at.val().index());
        self.function_seed.next =
            self.granule.val().get_bits::<32>(self.function_seed_at.val().index());
        self.function_reserved.next =
            self.granule.val().get_bits::<32>(self.function_reserved_at.val().index());
        self.entry_offset.next =
            self.granule.val().get_bits::<64>(self.entry_offset_at.val().index());
        self.entry_width.next =
            self.granule.val().get_bits::<24>(self.entry_width_at.val().index());
        self.entry_kind.next = self.granule.val().get_bits::<4>(self.entry_kind_at.val().index());
        self.entry_log.next = self.granule.val().get_bits::<4>(self.entry_log_at.val().index());
        self.entry_lkey.next = self.granule.val().get_bits::<32>(self.entry_lkey_at.val().index());
        self.key_validity.next =
            self.granule.val().get_bits::<64>(self.key_validity_at.val().index());
        self.key_lkey.next = self.granule.val().get_bits::<32>(self.key_lkey_at.val().index());
        self.key_type.next = self.granule.val().get_bits::<8>(self.key_type_at.val().index());
        self.key_has_validity.next =
            self.granule.val().get_bit(self.key_has_validity_at.val().index());
        self.key_first.next = self.granule.val().get_bits::<3>(self.key_first_at.val().index());
        self.key_reserved.next =
            self.granule.val().get_bits::<20>(self.key_reserved_at.val().index());

        // Widths: powers of two up to 16.
        self.log_width.next = 0.into();
        self.width_is_bad.next = true;
        for k in 0..5 {
            if self.entry_width.val() == WIDTHS[k] {
                self.log_width.next = k.to_bits();
                self.width_is_bad.next = false;
            }
        }
        if self.entry_kind.val() == BITS {
            self.log_width.next = KEY_BITS.into();
            self.width_is_bad.next = self.entry_width.val().get_bits::<21>(3).any();
        }

        // Requirements of the key's type.
        self.is_short.next = self.key.q.val().log_width < 4;
        self.type_is_bad.next = true;
        if self.key_type.val() == INTEGER {
            self.type_is_bad.next = !self.is_short.val();
        }
        if self.key_type.val() == UNSIGNED {
            self.type_is_bad.next = !self.is_short.val() || !self.told.q.val().range;
        }
        if self.key_type.val() == FLOAT {
            self.type_is_bad.next = self.key.q.val().log_width.get_bits::<2>(1) != 1;
        }
        if self.key_type.val() == BOOLEAN {
            self.type_is_bad.next = self.told.q.val().range
                || ((self.key.q.val().log_width != 0) && (self.key.q.val().log_width != KEY_BITS));
        }
        if self.key_type.val() == DECIMAL {
            self.type_is_bad.next = self.told.q.val().range || (self.key.q.val().log_width != 4);
        }

        // The current granule.
        self.no_splitters.next =
            (self.function_code.val() == MURMUR3) || (self.function_partitions.val() == 1);
        self.is_bad.next = false;
        if self.is_function.val() {
            self.is_bad.next = (self.function_code.val() > RANGE)
                || (self.function_keys.val() == 0)
                || (self.function_group.val() == 0)
                || (self.function_partitions.val() == 0)
                || self.function_reserved.val().any()
                || (self.no_splitters.val() && (self.addr.val().any() || self.lkey.val().any()));
            if self.function_code.val() == MURMUR3 {
                self.is_bad.next = self.is_bad.val()
                    || (self.function_keys.val() > MOST_KEYS)
                    || (self.function_partitions.val() > MOST_PARTITIONS);
            } else {
                self.is_bad.next = self.is_bad.val()
                    || (self.function_keys.val() != 1)
                    || (self.function_partitions.val() > MOST_OF_RANGE)
                    || self.function_seed.val().any();
            }
        }
        if self.is_entry.val() {
            self.is_bad.next = ((self.entry_kind.val() != FIXED)
                && (self.entry_kind.val() != BITS))
                || self.entry_log.val().any()
                || self.width_is_bad.val();
        }
        if self.is_source.val() {
            self.is_bad.next = self.granule.val().any();
        }
        if self.is_end.val() {
            self.is_bad.next = self.type_is_bad.val()
                || self.key_reserved.val().any()
                || (!self.key_has_validity.val()
                    && (self.key_validity.val().any()
                        || self.key_lkey.val().any()
                        || self.key_first.val().any()));
        }
        self.last.next = bit_cast::<5, 4>(self.index.q.val()) + 1 == self.told.q.val().keys;

        // Memory: with an entry the splitters, with a source the entries, with the end the validity.
        // A width is a power of two, or malformed, and then the region fails whatever its bounds are: so its bits
        // choose the product, without a wait for its logarithm.
        self.splitters.next = 0.into();
        for k in 0..5 {
            if self.entry_width.val().get_bit(k) {
                self.splitters.next = self.splitters.val()
                    | (bit_cast::<35, 17>(self.told.q.val().partitions - 1) << k as u64);
            }
        }
        self.bits.count.next = self.rows.val().get_bits::<3>(0);
        self.bits.first.next = self.key.q.val().first;
        if self.is_end.val() {
            self.bits.first.next = self.key_first.val();
        }
        self.bit_bytes.next = self.bitmap.val();
        if self.bits.more.val() {
            self.bit_bytes.next = self.bitmap_more.val();
        }
        self.check.valid.next = false;
        self.check.is_long.next = false;
        self.check.base.next = self.key.q.val().addr;
        self.check.span.next = bit_cast::<35, 30>(self.bit_bytes.val());
        self.check.step.next = bits::<64>(1) << self.key.q.val().log_width;
        self.check.key.next = self.lkey_of_entry.q.val();
        if self.is_entry.val() {
            self.check.valid.next = self.given.val()
                && self.rows.val().any()
                && self.told.q.val().range
                && (self.told.q.val().partitions != 1);
            self.check.base.next = self.addr.val();
            self.check.span.next = self.splitters.val();
            self.check.key.next = self.lkey.val();
        }
        if self.is_source.val() {
            self.check.valid.next = self.given.val() && self.rows.val().any();
            self.check.is_long.next = self.key.q.val().log_width != KEY_BITS;
        }
        if self.is_end.val() {
            self.check.valid.next =
                self.given.val() && self.rows.val().any() && self.key_has_validity.val();
            self.check.base.next = self.key_validity.val();
            self.check.key.next = self.key_lkey.val();
        }

        // Outputs: functions, keys and checks.
        self.take.next = self.given.val() && !self.is_bad.val();
        self.tells.d.next = false;
        self.key_tells.d.next = false;
        if self.given.val() && self.is_function.val() {
            self.tells.d.next = self.take.val();
            self.told.d.next.keys = self.function_keys.val().get_bits::<5>(0);
            self.told.d.next.partitions = self.function_partitions.val().get_bits::<17>(0);
            self.told.d.next.group = self.function_group.val();
            self.told.d.next.seed = self.function_seed.val();
            self.told.d.next.range = self.function_code.val() == RANGE;
            self.index.d.next = 0.into();
        }
        if self.given.val() && self.is_entry.val() {
            self.key.d.next.addr = self.entry_offset.val();
            self.key.d.next.log_width = self.log_width.val();
            self.key.d.next.first = 0.into();
            if self.entry_kind.val() == BITS {
                self.key.d.next.first = self.entry_width.val().get_bits::<3>(0);
            }
            self.lkey_of_entry.d.next = self.entry_lkey.val();
        }
        if self.given.val() && self.is_end.val() {
            self.key_tells.d.next = self.take.val();
            self.key.d.next.key = self.index.q.val();
            self.key.d.next.key_type = self.key_type.val().get_bits::<3>(0);
            self.key.d.next.nullable = self.key_has_validity.val();
            self.key.d.next.validity = self.key_validity.val();
            self.key.d.next.validity_first = self.key_first.val();
            self.index.d.next = self.index.q.val() + 1;
        }
        self.told.d.next.slot = 0.into();
        self.key.d.next.slot = 0.into();
        self.ids.next = 1.into();
        if self.function_partitions.val() > OF_A_BYTE {
            self.ids.next = 2.into();
        }
        self.partitions.next = self.told.q.val().partitions;
        self.group.next = self.told.q.val().group;
        self.function_write.valid.next = self.tells.q.val();
        self.function_write.next = self.told.q.val();
        self.key_write.valid.next = self.key_tells.q.val();
        self.key_write.next = self.key.q.val();
        if self.rst.val() {
            self.tells.d.next = false;
            self.key_tells.d.next = false;
        }
    }
}
