//! What an experiment sends, and which bytes that is.
//!
//! This is written for the report alone: it shares nothing with the library, the card or the
//! reference model, whose packets are checked against it.

/// A byte of one of an experiment's buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Index of the buffer.
    pub buffer: usize,
    /// Bytes from its start.
    pub offset: u64,
}

/// Bytes of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The first one.
    pub at: Place,
    /// How many.
    pub len: u64,
}

/// A region of a work request.
#[derive(Clone, Debug)]
pub enum Region {
    /// One run of bytes.
    Contiguous(Piece),
    /// A pattern of extents {offset, bytes}, repeated every period.
    Strided {
        /// Start of the first period.
        base: Place,
        /// Bytes from one period to the next.
        period: u64,
        /// Periods.
        count: u64,
        /// The pattern.
        pattern: Vec<(u64, u64)>,
    },
    /// The rows that a bitmap selects.
    Bitmapped {
        /// The bitmap's first byte.
        bitmap: Place,
        /// Bits.
        rows: u64,
        /// Columns {row 0, bytes of a value}.
        columns: Vec<(Place, u64)>,
    },
    /// Records at pointers.
    PointerMapped {
        /// The buffer that the pointers are written to, when the records' addresses are known.
        pointers: usize,
        /// The buffer of the records.
        target: usize,
        /// Where in it each record lies.
        offsets: Vec<u64>,
        /// Bytes of a record.
        len: u64,
    },
}

impl Region {
    /// The pieces of every row, in order.
    pub fn rows(&self, buffers: &[Vec<u8>]) -> Vec<Vec<Piece>> {
        let piece = |at: Place, further: u64, len: u64| {
            let at = Place { offset: at.offset + further, ..at };
            Piece { at, len }
        };
        match self {
            Self::Contiguous(whole) => vec![vec![*whole]],
            Self::Strided { base, period, count, pattern } => (0..*count)
                .map(|row| {
                    let extent =
                        |(offset, len): &(u64, u64)| piece(*base, row * period + offset, *len);
                    pattern.iter().map(extent).collect()
                })
                .collect(),
            Self::Bitmapped { bitmap, rows, columns } => {
                let bits = &buffers[bitmap.buffer][bitmap.offset as usize..];
                (0..*rows)
                    .filter(|row| bits[*row as usize / 8] >> (row % 8) & 1 == 1)
                    .map(|row| {
                        let value =
                            |(base, width): &(Place, u64)| piece(*base, row * width, *width);
                        columns.iter().map(value).collect()
                    })
                    .collect()
            }
            Self::PointerMapped { target, offsets, len, .. } => offsets
                .iter()
                .map(|offset| vec![piece(Place { buffer: *target, offset: 0 }, *offset, *len)])
                .collect(),
        }
    }

    /// What the card reads to know where the data are.
    pub fn index(&self) -> Option<Piece> {
        match self {
            Self::Bitmapped { bitmap, rows, .. } => {
                Some(Piece { at: *bitmap, len: rows.div_ceil(8) })
            }
            Self::PointerMapped { pointers, offsets, .. } => {
                let at = Place { buffer: *pointers, offset: 0 };
                Some(Piece { at, len: 8 * offsets.len() as u64 })
            }
            Self::Contiguous(_) | Self::Strided { .. } => None,
        }
    }
}

/// The work requests of an experiment; each destination is a queue pair of its own.
#[derive(Clone, Debug)]
pub enum Requests {
    /// One `post_ssq_send`: the regions of every destination.
    Shared(Vec<Vec<Region>>),
    /// One `post_send` to destination 0 with these regions.
    Own(Vec<Region>),
    /// `post_send`s with scatter-gather lists: destination and pieces; each is one message.
    Lists(Vec<(usize, Vec<Piece>)>),
}

impl Requests {
    /// Destinations.
    pub fn destinations(&self) -> usize {
        match self {
            Self::Shared(destinations) => destinations.len(),
            Self::Own(_) => 1,
            Self::Lists(lists) => lists.iter().map(|(to, _)| to + 1).max().unwrap_or(0),
        }
    }

    /// Every region that is not a list.
    pub fn regions(&self) -> Vec<&Region> {
        match self {
            Self::Shared(destinations) => destinations.iter().flatten().collect(),
            Self::Own(regions) => regions.iter().collect(),
            Self::Lists(_) => Vec::new(),
        }
    }

    /// The messages of each destination, as pieces.
    pub fn messages(&self, buffers: &[Vec<u8>], rows_per_message: usize) -> Vec<Vec<Vec<Piece>>> {
        let cut = |regions: &[Region]| -> Vec<Vec<Piece>> {
            let rows: Vec<_> = regions.iter().flat_map(|region| region.rows(buffers)).collect();
            rows.chunks(rows_per_message).map(<[_]>::concat).collect()
        };
        match self {
            Self::Shared(destinations) => destinations.iter().map(|list| cut(list)).collect(),
            Self::Own(regions) => vec![cut(regions)],
            Self::Lists(lists) => {
                let mut messages = vec![Vec::new(); self.destinations()];
                for (to, list) in lists {
                    messages[*to].push(list.clone());
                }
                messages
            }
        }
    }
}

/// The bytes of a message.
pub fn bytes(message: &[Piece], buffers: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(message.iter().map(|piece| piece.len as usize).sum());
    for Piece { at, len } in message {
        let start = at.offset as usize;
        bytes.extend_from_slice(&buffers[at.buffer][start..start + *len as usize]);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(buffer: usize, offset: u64) -> Place {
        Place { buffer, offset }
    }

    fn sent(requests: &Requests, rows_per_message: usize) -> Vec<Vec<Vec<u8>>> {
        let buffers = [(0..32).collect(), (100..132).collect(), vec![0b1011_0001]];
        let messages = requests.messages(&buffers, rows_per_message);
        let text = |message: &Vec<Piece>| bytes(message, &buffers);
        messages.iter().map(|list| list.iter().map(text).collect()).collect()
    }

    #[test]
    fn rows_are_packed_into_messages_across_regions() {
        let strided =
            Region::Strided { base: at(0, 1), period: 4, count: 3, pattern: vec![(2, 1), (0, 1)] };
        let pointers =
            Region::PointerMapped { pointers: 2, target: 1, offsets: vec![8, 0], len: 2 };
        let found = sent(&Requests::Own(vec![strided, pointers]), 2);
        let expected: [&[u8]; 3] = [&[3, 1, 7, 5], &[11, 9, 108, 109], &[100, 101]];
        assert_eq!(found, [expected.map(<[u8]>::to_vec)]);
    }

    #[test]
    fn a_bitmap_selects_the_rows_of_all_columns() {
        let region = Region::Bitmapped {
            bitmap: at(2, 0),
            rows: 7,
            columns: vec![(at(0, 0), 2), (at(1, 1), 1)],
        };
        let found = sent(&Requests::Shared(vec![vec![region]]), 9);
        assert_eq!(found, [[[0, 1, 101, 8, 9, 105, 10, 11, 106]]]);
    }

    #[test]
    fn a_list_is_a_message() {
        let piece = |buffer, offset, len| Piece { at: at(buffer, offset), len };
        let lists = vec![(1, vec![piece(0, 4, 1), piece(1, 4, 2)]), (0, vec![piece(0, 0, 1)])];
        let found = sent(&Requests::Lists(lists), 1);
        assert_eq!(found, [vec![vec![0]], vec![vec![4, 104, 105]]]);
    }
}
