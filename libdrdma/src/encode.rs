//! Layouts as 64-bit words, without a detour over bytes: where each field lies is looked up in the
//! layouts' own tables at compile time, so that writing one costs a shift and an or.

use drdma_abi::Layout;

/// Position of a field: word, and bit in the word.
#[derive(Clone, Copy)]
pub(crate) struct Position {
    pub word: usize,
    pub bit: usize,
    pub width: usize,
}

/// The position of the field `name`; an unknown field does not compile.
pub(crate) const fn position<L: Layout>(name: &str) -> Position {
    let mut i = 0;
    while i < L::FIELDS.len() {
        let field = L::FIELDS[i];
        if equal(field.name, name) {
            let (word, bit) = (field.start / 64, field.start % 64);
            assert!(bit + field.width <= 64, "the field lies in two words");
            return Position { word, bit, width: field.width };
        }
        i += 1;
    }
    panic!("the layout has no such field")
}

const fn equal(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// `words!(Layout { field: value, .. })`: the layout as words, the other fields 0. A value that
/// does not fit its field is cut to its width.
macro_rules! words {
    ($layout:ident { $($field:ident: $value:expr),* $(,)? }) => {{
        let mut words = [0u64; $layout::SIZE / 8];
        $({
            const AT: $crate::encode::Position =
                $crate::encode::position::<$layout>(stringify!($field));
            words[AT.word] |= ((u64::from($value)) & (u64::MAX >> (64 - AT.width))) << AT.bit;
        })*
        words
    }};
}

/// `field!(Layout.field in |word| expression)`: one field, where the closure gives word `word` of
/// the layout.
macro_rules! field {
    ($layout:ident.$field:ident in $load:expr) => {{
        const AT: $crate::encode::Position =
            $crate::encode::position::<$layout>(stringify!($field));
        #[allow(clippy::redundant_closure_call)]
        let word: u64 = $load(AT.word);
        word >> AT.bit & (u64::MAX >> (64 - AT.width))
    }};
}

pub(crate) use {field, words};

#[cfg(test)]
mod tests {
    use drdma_abi::{Layout, work_request::WqeHeader};

    #[test]
    fn words_are_what_the_layout_decodes() {
        let words = words!(WqeHeader {
            magic: 0xd7u8,
            destinations: 0x1234u16,
            granules: 0x89ab_cdefu32,
            position: u32::MAX,
            wr_id: u64::MAX - 1,
            imm: 5u32,
        });
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let expected = WqeHeader {
            magic: 0xd7,
            destinations: 0x1234,
            granules: 0x89ab_cdef,
            position: u32::MAX,
            wr_id: u64::MAX - 1,
            imm: 5,
            ..Default::default()
        };
        assert_eq!(WqeHeader::decode(&bytes), expected);
        assert_eq!(field!(WqeHeader.granules in |at: usize| words[at]), 0x89ab_cdef);
        assert_eq!(field!(WqeHeader.imm in |at: usize| words[at]), 5);
    }
}
