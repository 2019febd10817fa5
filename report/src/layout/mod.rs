//! Requests of an experiment, and the bytes that they should send.
//!
//! This is written for the report alone: it shares nothing with the library, the card or the
//! reference model, whose packets are checked against it.

mod kinds;
mod moved;
#[cfg(test)]
mod tests;

pub use kinds::{Keys, KindColumn, Partitioned};

/// A place in one of an experiment's buffers.
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
    /// Place of the first byte.
    pub at: Place,
    /// Number of bytes.
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
        /// Number of periods.
        count: u64,
        /// Extents {offset, bytes} of a period.
        pattern: Vec<(u64, u64)>,
    },
    /// The rows that a bitmap selects.
    Bitmapped {
        /// Place of the bitmap's first byte.
        bitmap: Place,
        /// Number of bits.
        rows: u64,
        /// Columns {row 0, bytes of a value}.
        columns: Vec<(Place, u64)>,
    },
    /// The rows that a bitmap selects, of columns whose entries are not the bytes that are sent.
    BitmappedKinds {
        /// Place of the bitmap's first byte.
        bitmap: Place,
        /// Number of bits.
        rows: u64,
        /// Columns with kinds.
        columns: Vec<KindColumn>,
    },
    /// Records at pointers.
    PointerMapped {
        /// Index of the buffer that the pointers are written to, when the records' addresses are known.
        pointers: usize,
        /// Index of the buffer of the records.
        target: usize,
        /// Offset of each record in it.
        offsets: Vec<u64>,
        /// Bytes of a record.
        len: u64,
    },
    /// Records of lists: each begins with a pointer of 8 B to the next one, the last one with 0.
    Chased {
        /// Index of the buffer that the pointers to the first records are written to, when their addresses are known.
        pointers: usize,
        /// Index of the buffer of the records, in which the links are written then.
        target: usize,
        /// Offsets of the records of each list; all lists are equally long.
        lists: Vec<Vec<u64>>,
        /// Bytes that are sent of a record, behind its pointer.
        len: u64,
    },
}

/// Bytes of a pointer.
pub const POINTER: u64 = 8;

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
            Self::Bitmapped { bitmap, rows, columns } => selected(*bitmap, *rows, buffers)
                .map(|row| {
                    let value = |(base, width): &(Place, u64)| piece(*base, row * width, *width);
                    columns.iter().map(value).collect()
                })
                .collect(),
            Self::BitmappedKinds { bitmap, rows, columns } => selected(*bitmap, *rows, buffers)
                .map(|row| columns.iter().flat_map(|column| column.row(row, buffers)).collect())
                .collect(),
            Self::PointerMapped { target, offsets, len, .. } => offsets
                .iter()
                .map(|offset| vec![piece(Place { buffer: *target, offset: 0 }, *offset, *len)])
                .collect(),
            Self::Chased { target, lists, len, .. } => lists
                .iter()
                .flatten()
                .map(|offset| {
                    vec![piece(Place { buffer: *target, offset: 0 }, offset + POINTER, *len)]
                })
                .collect(),
        }
    }

    /// Bytes that the card reads to find the data.
    fn indexes(&self) -> Vec<Piece> {
        match self {
            Self::Bitmapped { bitmap, rows, .. } => {
                vec![Piece { at: *bitmap, len: rows.div_ceil(8) }]
            }
            Self::BitmappedKinds { bitmap, rows, columns } => {
                let bits = Piece { at: *bitmap, len: rows.div_ceil(8) };
                let columns = columns.iter().flat_map(|column| column.indexes(*rows));
                [bits].into_iter().chain(columns).collect()
            }
            Self::PointerMapped { pointers, offsets, .. } => {
                let at = Place { buffer: *pointers, offset: 0 };
                vec![Piece { at, len: POINTER * offsets.len() as u64 }]
            }
            Self::Chased { pointers, target, lists, .. } => {
                let at = Place { buffer: *pointers, offset: 0 };
                let first = Piece { at, len: POINTER * lists.len() as u64 };
                let link = |offset: &u64| Piece {
                    at: Place { buffer: *target, offset: *offset },
                    len: POINTER,
                };
                [first].into_iter().chain(lists.iter().flatten().map(link)).collect()
            }
            Self::Contiguous(_) | Self::Strided { .. } => Vec::new(),
        }
    }

    /// Number of round trips to the host, each of which needs the answer of the one before, until the first byte of
    /// payload is read, and until the last one is; the request itself is the first.
    pub fn trips(&self) -> (u32, u32) {
        match self {
            Self::PointerMapped { .. } => (3, 3),
            Self::Chased { lists, .. } => {
                (3, 2 + lists.iter().map(Vec::len).max().unwrap_or(0) as u32)
            }
            _ => (2, 2),
        }
    }
}

/// The rows whose bits are set.
fn selected(bitmap: Place, rows: u64, buffers: &[Vec<u8>]) -> impl Iterator<Item = u64> {
    let bits = &buffers[bitmap.buffer][bitmap.offset as usize..];
    (0..rows).filter(|row| bits[*row as usize / 8] >> (row % 8) & 1 == 1)
}

/// How regions are cut into units, which are packed into messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowMask {
    /// The rows of the regions, one region after another.
    #[default]
    Period,
    /// Unit `i` is row `i` of every region.
    Element,
}

/// A work request; each destination is a queue pair of its own.
#[derive(Clone, Debug)]
pub enum Post {
    /// A `post_ssq_send`: the regions of every destination.
    Shared(Vec<Vec<Region>>),
    /// A `post_ssq_send` of a partitioned region.
    Partitioned(Partitioned),
    /// A `post_send` of these regions to one destination.
    Own {
        /// Index of the destination.
        to: usize,
        /// Regions that are sent there.
        regions: Vec<Region>,
    },
}

impl Post {
    /// Number of destinations, up to the last one that this request names.
    pub fn destinations(&self) -> usize {
        match self {
            Self::Shared(destinations) => destinations.len(),
            Self::Partitioned(list) => list.destinations,
            Self::Own { to, .. } => to + 1,
        }
    }

    /// Every region that is not partitioned.
    pub fn regions(&self) -> Vec<&Region> {
        match self {
            Self::Shared(destinations) => destinations.iter().flatten().collect(),
            Self::Own { regions, .. } => regions.iter().collect(),
            Self::Partitioned(_) => Vec::new(),
        }
    }

    /// Bytes that the card reads to find the data.
    pub fn indexes(&self) -> Vec<Piece> {
        match self {
            Self::Partitioned(list) => {
                let ids = list.keys.map_or(list.ids, |keys| keys.at);
                let kinds = list.kinds.iter().flat_map(|column| column.indexes(list.ids.len));
                [ids].into_iter().chain(kinds).collect()
            }
            _ => self.regions().into_iter().flat_map(Region::indexes).collect(),
        }
    }

    /// Indices of buffers that the card does not read: it makes their bytes.
    pub fn made(&self) -> Vec<usize> {
        match self {
            Self::Partitioned(list) => list.kinds.iter().map(KindColumn::made).collect(),
            _ => {
                let kinds = self.regions().into_iter().flat_map(|region| match region {
                    Region::BitmappedKinds { columns, .. } => &columns[..],
                    _ => &[],
                });
                kinds.map(KindColumn::made).collect()
            }
        }
    }

    /// The messages of each destination of this request, of `rows` rows, as pieces; perhaps each column by itself.
    pub fn messages(
        &self,
        buffers: &[Vec<u8>],
        mask: RowMask,
        (rows_per_message, by_columns): (usize, bool),
    ) -> Vec<(usize, Vec<Vec<Piece>>)> {
        let column_of = |rows: &[Vec<Piece>], column: usize| -> Vec<Piece> {
            rows.iter().map(|row| row[column]).collect()
        };
        let packed = |rows: Vec<Vec<Piece>>| -> Vec<Vec<Piece>> {
            let messages = rows.chunks(rows_per_message);
            if !by_columns {
                return messages.map(<[_]>::concat).collect();
            }
            let columns = |rows: &[Vec<Piece>]| -> Vec<_> {
                (0..rows[0].len()).map(|column| column_of(rows, column)).collect()
            };
            messages.flat_map(columns).collect()
        };
        let cut = |regions: &[Region]| packed(units(regions, buffers, mask));
        match self {
            Self::Shared(destinations) => {
                destinations.iter().map(|list| cut(list)).enumerate().collect()
            }
            Self::Partitioned(list) => {
                (0..list.destinations).map(|to| (to, packed(list.rows(to, buffers)))).collect()
            }
            Self::Own { to, regions } => vec![(*to, cut(regions))],
        }
    }
}

/// The units of a list of regions, in order.
fn units(regions: &[Region], buffers: &[Vec<u8>], mask: RowMask) -> Vec<Vec<Piece>> {
    let mut rows = regions.iter().map(|region| region.rows(buffers));
    match mask {
        RowMask::Period => rows.flatten().collect(),
        RowMask::Element => {
            let first = rows.next().unwrap_or_default();
            rows.fold(first, |mut units, rows| {
                units.iter_mut().zip(rows).for_each(|(unit, row)| unit.extend(row));
                units
            })
        }
    }
}

/// The messages of each destination, of `rows` rows, perhaps each column by itself, in the order of the requests; and
/// the index of each request's first message.
pub fn messages(
    posts: &[Post],
    buffers: &[Vec<u8>],
    mask: RowMask,
    cut: (usize, bool),
) -> Vec<Destination> {
    let count = posts.iter().map(Post::destinations).max().unwrap_or(0);
    let mut destinations = vec![Destination::default(); count];
    for post in posts {
        for (to, messages) in post.messages(buffers, mask, cut) {
            let destination = &mut destinations[to];
            destination.starts.push(destination.messages.len());
            destination.messages.extend(messages);
        }
    }
    destinations
}

/// Messages that should arrive at a destination.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Destination {
    /// The messages, as pieces.
    pub messages: Vec<Vec<Piece>>,
    /// The indexes of those with which a request begins. A request without messages for it has the index
    /// of the next one's.
    pub starts: Vec<usize>,
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
