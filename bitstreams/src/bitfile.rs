//! The head of a `.bit` file, which Vivado writes in front of a configuration stream: a magic field,
//! then fields of a letter, a length and a value: design, part, date, time, and `e`, the stream.

/// How every `.bit` file starts.
const MAGIC: [u8; 13] = [0, 9, 0x0f, 0xf0, 0x0f, 0xf0, 0x0f, 0xf0, 0x0f, 0xf0, 0, 0, 1];

/// A `.bit` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitFile<'a> {
    /// The design and how it was written.
    pub design: String,
    /// The FPGA that it is for.
    pub part: String,
    /// When it was written.
    pub date: String,
    /// The stream.
    pub stream: &'a [u8],
}

/// Why a file that starts as a `.bit` file is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BitFileError {
    /// It ends in the middle.
    #[error("the file is cut off: field `{field}` has {needed} B, and {found} B are left")]
    Short {
        /// The field's letter.
        field: char,
        /// Bytes that it should have.
        needed: usize,
        /// Bytes that there are.
        found: usize,
    },
    /// A field that these files do not have.
    #[error("the file has a field {0:#04x}, which no .bit file has")]
    Field(u8),
    /// There is no part or no stream.
    #[error("the file has no field `{0}`")]
    Missing(char),
}

impl<'a> BitFile<'a> {
    /// True if the file starts as a `.bit` file.
    pub fn is(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC)
    }

    /// Reads the head.
    ///
    /// # Errors
    /// See [`BitFileError`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, BitFileError> {
        let mut rest = bytes.strip_prefix(&MAGIC).ok_or(BitFileError::Missing('a'))?;
        let mut texts = [const { None }; 4];
        while let Some((key, tail)) = rest.split_first() {
            let field = *key as char;
            match field {
                'a'..='d' => {
                    let (value, after) = take(field, tail, 2)?;
                    let text = value.split(|byte| *byte == 0).next().unwrap_or_default();
                    texts[usize::from(key - b'a')] = Some(String::from_utf8_lossy(text).into());
                    rest = after;
                }
                'e' => {
                    let (stream, _) = take(field, tail, 4)?;
                    let [design, part, date, time] = texts;
                    let part = part.ok_or(BitFileError::Missing('b'))?;
                    let date = format!("{} {}", date.unwrap_or_default(), time.unwrap_or_default());
                    return Ok(Self { design: design.unwrap_or_default(), part, date, stream });
                }
                _ => return Err(BitFileError::Field(*key)),
            }
        }
        Err(BitFileError::Missing('e'))
    }
}

/// A value with its length, big-endian, in front; and what is behind it.
fn take(field: char, bytes: &[u8], width: usize) -> Result<(&[u8], &[u8]), BitFileError> {
    let short = |needed, found| BitFileError::Short { field, needed, found };
    let (length, rest) = bytes.split_at_checked(width).ok_or(short(width, bytes.len()))?;
    let length = length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
    rest.split_at_checked(length).ok_or(short(length, rest.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Field<'a> = (u8, &'a [u8]);

    fn file(fields: &[Field]) -> Vec<u8> {
        let mut file = MAGIC.to_vec();
        for (key, value) in fields {
            file.push(*key);
            let length = (value.len() as u32).to_be_bytes();
            file.extend(&length[if *key == b'e' { 0 } else { 2 }..]);
            file.extend(*value);
        }
        file
    }

    #[test]
    fn a_head_names_design_part_and_date_before_the_stream() {
        let file = file(&[
            (b'a', b"fpga;Version=2023.2\0"),
            (b'b', b"xcu50-fsvh2104-2-e\0"),
            (b'c', b"2026/01/31\0"),
            (b'd', b"12:00:00\0"),
            (b'e', b"stream"),
        ]);
        assert!(BitFile::is(&file));
        let bit = BitFile::parse(&file).unwrap();
        assert_eq!(
            (bit.design.as_str(), bit.part.as_str()),
            ("fpga;Version=2023.2", "xcu50-fsvh2104-2-e")
        );
        assert_eq!((bit.date.as_str(), bit.stream), ("2026/01/31 12:00:00", &b"stream"[..]));
        let error = BitFile::parse(&file[..file.len() - 2]).unwrap_err().to_string();
        assert_eq!(error, "the file is cut off: field `e` has 6 B, and 4 B are left");
    }

    #[test]
    fn a_head_that_ends_early_or_has_other_fields_is_refused() {
        let part: Field = (b'b', b"xcu50\0");
        let cases: [(&[Field], &str); 4] = [
            (&[], "the file has no field `e`"),
            (&[part], "the file has no field `e`"),
            (&[(b'e', b"stream")], "the file has no field `b`"),
            (&[part, (b'x', b"")], "the file has a field 0x78, which no .bit file has"),
        ];
        for (fields, text) in cases {
            assert_eq!(BitFile::parse(&file(fields)).unwrap_err().to_string(), text);
        }
        let whole = file(&[part, (b'e', b"stream")]);
        for length in 0..whole.len() {
            assert!(BitFile::parse(&whole[..length]).is_err(), "{length}");
        }
        assert!(!BitFile::is(b"\xff\xff"));
    }
}
