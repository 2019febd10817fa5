//! One table per layout: the struct that software uses and the field list that hardware is made of.
//!
//! A layout is a sequence of bit fields without holes. In a *little* layout (everything in host
//! memory) the first field holds the least significant bits and bytes go out least significant
//! first. In a *network* layout (everything on the wire) the first field holds the most significant
//! bits and bytes go out most significant first.

/// The order of bits and bytes of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// First field in the least significant bits; little-endian bytes.
    Little,
    /// First field in the most significant bits; network byte order.
    Network,
}

/// One field of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name of the field.
    pub name: &'static str,
    /// Bits before this field, counted in the layout's order.
    pub start: usize,
    /// Width in bits.
    pub width: usize,
    /// Documentation of the field.
    pub doc: &'static str,
}

impl Field {
    /// The index of the field's least significant bit when the layout's bytes are seen as one
    /// little-endian number of `size` bytes, or `None` when the field is not contiguous there.
    /// (A network field of one or more whole bytes is contiguous but byte-reversed.)
    pub const fn little_bit(&self, order: Order) -> Option<usize> {
        match order {
            Order::Little => Some(self.start),
            Order::Network => {
                if self.start.is_multiple_of(8) && self.width.is_multiple_of(8) {
                    Some(self.start)
                } else if self.start / 8 == (self.start + self.width - 1) / 8 {
                    let byte = self.start / 8;
                    Some(byte * 8 + (8 - self.start % 8 - self.width))
                } else {
                    None
                }
            }
        }
    }
}

/// Properties and functions of every layout, beside its own named fields.
pub trait Layout: Sized {
    /// Name of the layout.
    const NAME: &'static str;
    /// Size in bytes.
    const SIZE: usize;
    /// Order of bits and bytes.
    const ORDER: Order;
    /// Every field, in order; their widths add up to `SIZE * 8`.
    const FIELDS: &'static [Field];

    /// Writes the layout to the first `SIZE` bytes of `out`.
    ///
    /// # Panics
    /// If `out` is shorter than `SIZE`.
    fn encode(&self, out: &mut [u8]);

    /// Reads the layout from the first `SIZE` bytes of `bytes`.
    ///
    /// # Panics
    /// If `bytes` is shorter than `SIZE`.
    fn decode(bytes: &[u8]) -> Self;

    /// The field of that name.
    ///
    /// # Panics
    /// If the layout has no such field.
    fn field(name: &str) -> Field {
        match Self::FIELDS.iter().find(|field| field.name == name) {
            Some(field) => *field,
            None => panic!("{} has no field {name}", Self::NAME),
        }
    }
}

/// Reads `width` (at most 64) bits that start `start` bits into `bytes`, in the layout's order.
#[inline]
pub fn get_bits(bytes: &[u8], order: Order, start: usize, width: usize) -> u64 {
    if start.is_multiple_of(8) && width.is_multiple_of(8) {
        // Nearly all fields consist of whole bytes.
        let whole = bytes[start / 8..(start + width) / 8].iter();
        let push = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        return match order {
            Order::Little => whole.rev().fold(0, push),
            Order::Network => whole.fold(0, push),
        };
    }
    let mut value = 0u64;
    for i in 0..width {
        let at = start + i;
        match order {
            Order::Little => value |= u64::from(bytes[at / 8] >> (at % 8) & 1) << i,
            Order::Network => value = value << 1 | u64::from(bytes[at / 8] >> (7 - at % 8) & 1),
        }
    }
    value
}

/// Writes the low `width` (at most 64) bits of `value`, `start` bits into `bytes`.
#[inline]
pub fn set_bits(bytes: &mut [u8], order: Order, start: usize, width: usize, value: u64) {
    if start.is_multiple_of(8) && width.is_multiple_of(8) {
        // Nearly all fields consist of whole bytes.
        let whole = &mut bytes[start / 8..(start + width) / 8];
        match order {
            Order::Little => whole.copy_from_slice(&value.to_le_bytes()[..width / 8]),
            Order::Network => whole.copy_from_slice(&value.to_be_bytes()[8 - width / 8..]),
        }
        return;
    }
    let touched = &mut bytes[start / 8..(start + width).div_ceil(8)];
    if let [byte] = touched {
        // Nearly all other fields are a part of one byte.
        let low = match order {
            Order::Little => start % 8,
            Order::Network => 8 - start % 8 - width,
        };
        let mask = ((1u16 << width) - 1) as u8;
        *byte = *byte & !(mask << low) | (value as u8 & mask) << low;
        return;
    }
    set_each_bit(bytes, order, start, width, value);
}

/// Like [`set_bits`], bit by bit.
fn set_each_bit(bytes: &mut [u8], order: Order, start: usize, width: usize, value: u64) {
    for i in 0..width {
        let at = start + i;
        let (mask, bit) = match order {
            Order::Little => (1u8 << (at % 8), value >> i & 1),
            Order::Network => (1u8 << (7 - at % 8), value >> (width - 1 - i) & 1),
        };
        if bit == 1 {
            bytes[at / 8] |= mask;
        } else {
            bytes[at / 8] &= !mask;
        }
    }
}

/// Declares a layout: `layout! { /// doc  little struct Name: SIZE { /// doc  field: type = bits, } }`.
///
/// The size is checked at compile time. A value that does not fit its field is cut to its width.
#[macro_export]
macro_rules! layout {
    ($(#[doc = $doc:literal])* $order:ident struct $name:ident : $size:literal {
        $($(#[doc = $fdoc:literal])* $field:ident : $type:ty = $bits:literal,)*
    }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $name {
            $($(#[doc = $fdoc])* pub $field: $type,)*
        }

        impl $name {
            /// Size in bytes.
            pub const SIZE: usize = $size;

            /// The layout as bytes.
            #[inline]
            pub fn to_bytes(&self) -> [u8; $size] {
                let mut bytes = [0; $size];
                $crate::Layout::encode(self, &mut bytes);
                bytes
            }
        }

        const _: () = assert!(0 $(+ $bits)* == $size * 8, "the fields do not fill the layout");

        impl $crate::Layout for $name {
            const NAME: &'static str = stringify!($name);
            const SIZE: usize = $size;
            const ORDER: $crate::Order = $crate::layout!(@order $order);
            const FIELDS: &'static [$crate::Field] = {
                const WIDTHS: &[usize] = &[$($bits),*];
                const N: usize = WIDTHS.len();
                const NAMES: [&str; N] = [$(stringify!($field)),*];
                const DOCS: [&str; N] = [$(concat!($($fdoc),*)),*];
                const TABLE: [$crate::Field; N] = {
                    let mut table = [$crate::Field { name: "", start: 0, width: 0, doc: "" }; N];
                    let (mut i, mut start) = (0, 0);
                    while i < N {
                        table[i] = $crate::Field {
                            name: NAMES[i],
                            start,
                            width: WIDTHS[i],
                            doc: DOCS[i],
                        };
                        start += WIDTHS[i];
                        i += 1;
                    }
                    table
                };
                &TABLE
            };

            #[inline]
            fn encode(&self, out: &mut [u8]) {
                let out = &mut out[..$size];
                let mut start = 0;
                $(
                    $crate::layout::set_bits(out, Self::ORDER, start, $bits, self.$field as u64);
                    start += $bits;
                )*
                debug_assert_eq!(start, $size * 8);
            }

            #[inline]
            fn decode(bytes: &[u8]) -> Self {
                let bytes = &bytes[..$size];
                let mut start = 0;
                $(
                    let $field = $crate::layout::get_bits(bytes, Self::ORDER, start, $bits) as $type;
                    start += $bits;
                )*
                debug_assert_eq!(start, $size * 8);
                Self { $($field),* }
            }
        }
    };
    (@order little) => { $crate::Order::Little };
    (@order network) => { $crate::Order::Network };
}
