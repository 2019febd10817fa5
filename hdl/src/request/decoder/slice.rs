//! Places of the fields of a layout, as constants of a kernel.

use drdma_abi::Layout;
use drdma_emit::prelude::*;

/// Bits of a granule's bit index.
pub(super) const GRANULE_INDEX: usize = 7;
/// A bit index in a granule.
pub(super) type At = Constant<Bits<GRANULE_INDEX>>;

/// The first bit of `field` in its granule.
///
/// # Panics
/// The field does not have `width` bits, or crosses granules.
pub(super) fn in_granule<L: Layout>(field: &str, width: usize) -> At {
    let field = L::field(field);
    assert_eq!(field.width, width, "{}.{}", L::NAME, field.name);
    assert!(field.start % 128 + width <= 128, "{}.{} crosses granules", L::NAME, field.name);
    Constant::new((field.start % 128).to_bits())
}

/// First bit in its granule of the fields of `L` from `first` to `last`, which together have `width` bits.
///
/// # Panics
/// If they have another width, or do not lie in one granule.
pub(super) fn span_in_granule<L: Layout>(first: &str, last: &str, width: usize) -> At {
    let (first, last) = (L::field(first), L::field(last));
    assert_eq!(last.start + last.width - first.start, width, "{}.{}", L::NAME, first.name);
    assert!(first.start % 128 + width <= 128, "{}.{} crosses granules", L::NAME, first.name);
    Constant::new((first.start % 128).to_bits())
}

/// Number of the word of 32 bits of its granule with which `field`, of `width` bits, begins.
///
/// # Panics
/// As [`in_granule`], and if the field is not whole words.
pub(super) fn word_in_granule<L: Layout>(field: &str, width: usize) -> Constant<Bits<2>> {
    let start = L::field(field).start % 128;
    assert!(start % 32 == 0 && width.is_multiple_of(32), "{}.{field} is not whole words", L::NAME);
    in_granule::<L>(field, width);
    Constant::new((start / 32).to_bits())
}

/// The first bit of `field` in its table word.
///
/// # Panics
/// The field does not have `width` bits.
pub(super) fn in_word<L: Layout>(field: &str, width: usize) -> Constant<Bits<5>> {
    let field = L::field(field);
    assert_eq!(field.width, width, "{}.{}", L::NAME, field.name);
    Constant::new((field.start % 32).to_bits())
}
