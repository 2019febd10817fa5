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
    /// The same rows of columns whose entries are not what is sent.
    BitmappedKinds {
        /// The bitmap's first byte.
        bitmap: Place,
        /// Bits.
        rows: u64,
        /// The columns.
        columns: Vec<KindColumn>,
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
    /// Records of lists: each begins with a pointer of 8 B to the next one, the last one with 0.
    Chased {
        /// The buffer that the pointers to the first records are written to, when their addresses are known.
        pointers: usize,
        /// The buffer of the records, in which the links are written then.
        target: usize,
        /// Where in it the records of each list lie, all lists being equally long.
        lists: Vec<Vec<u64>>,
        /// Bytes that are sent of a record, which lie behind its pointer.
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

    /// What the card reads to know where the data are.
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

    /// Round trips to the host of which each needs the answer of the one before, until the first byte of payload is
    /// read, and until the last one is; the request itself is the first.
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

/// A column, or some, whose entries are not what is sent.
#[derive(Clone, Debug)]
pub enum KindColumn {
    /// Text: between two of the offsets of 4 B lies a value, which is sent as its length, of 4 B, and its bytes.
    Text {
        /// The buffer of the offsets, one more than rows.
        offsets: usize,
        /// The buffer of the values.
        data: usize,
        /// A buffer that the card does not read: the lengths.
        lengths: usize,
    },
    /// Columns of a bit a row, whose bits of a row follow each other when it is sent.
    Bits {
        /// The buffer of each: row 0 is the lowest bit of byte 0.
        columns: Vec<usize>,
        /// A buffer that the card does not read: the bits of each row, in whole bytes.
        packed: usize,
    },
}

impl KindColumn {
    /// The pieces of a row.
    fn row(&self, row: u64, buffers: &[Vec<u8>]) -> Vec<Piece> {
        let piece = |buffer: usize, offset, len| Piece { at: Place { buffer, offset }, len };
        match self {
            Self::Text { offsets, data, lengths } => {
                let offset = |row: u64| {
                    let bytes = &buffers[*offsets][4 * row as usize..][..4];
                    u64::from(u32::from_le_bytes(bytes.try_into().expect("4 B")))
                };
                let (start, end) = (offset(row), offset(row + 1));
                vec![piece(*lengths, 4 * row, 4), piece(*data, start, end - start)]
            }
            Self::Bits { columns, packed } => {
                let len = columns.len().div_ceil(8) as u64;
                vec![piece(*packed, len * row, len)]
            }
        }
    }

    /// What the card reads of it beside what is sent as it lies.
    fn indexes(&self, rows: u64) -> Vec<Piece> {
        let whole = |buffer: usize, len| Piece { at: Place { buffer, offset: 0 }, len };
        match self {
            Self::Text { offsets, .. } => vec![whole(*offsets, 4 * (rows + 1))],
            Self::Bits { columns, .. } => {
                columns.iter().map(|column| whole(*column, rows.div_ceil(8))).collect()
            }
        }
    }

    /// The buffer that the card does not read: it makes the bytes.
    fn made(&self) -> usize {
        match self {
            Self::Text { lengths: made, .. } | Self::Bits { packed: made, .. } => *made,
        }
    }

    fn moved(&self, by: usize) -> Self {
        match self {
            Self::Text { offsets, data, lengths } => {
                Self::Text { offsets: offsets + by, data: data + by, lengths: lengths + by }
            }
            Self::Bits { columns, packed } => Self::Bits {
                columns: columns.iter().map(|column| column + by).collect(),
                packed: packed + by,
            },
        }
    }
}

/// Rows that go to the destination whose index is their id.
#[derive(Clone, Debug)]
pub struct Partitioned {
    /// The ids, one byte a row.
    pub ids: Piece,
    /// Integers of 4 or 8 B whose partitions are the ids: the card gets these instead.
    pub keys: Option<Keys>,
    /// Destinations; rows with further ids are not sent.
    pub destinations: usize,
    /// Columns {row 0, bytes of a value}.
    pub columns: Vec<(Place, u64)>,
    /// Columns behind them; every row is sent if there are any.
    pub kinds: Vec<KindColumn>,
}

/// Keys that the card makes ids of, by Murmur3.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    /// All of them.
    pub at: Piece,
    /// Bytes of each.
    pub width: u64,
    /// Partitions.
    pub partitions: u64,
}

impl Partitioned {
    /// The pieces of every row of a destination, in order.
    fn rows(&self, destination: usize, buffers: &[Vec<u8>]) -> Vec<Vec<Piece>> {
        let Piece { at, len } = self.ids;
        (0..len)
            .filter(|row| {
                usize::from(buffers[at.buffer][(at.offset + row) as usize]) == destination
            })
            .map(|row| {
                let value = |(base, width): &(Place, u64)| Piece {
                    at: Place { offset: base.offset + row * width, ..*base },
                    len: *width,
                };
                let kinds = self.kinds.iter().flat_map(|column| column.row(row, buffers));
                self.columns.iter().map(value).chain(kinds).collect()
            })
            .collect()
    }
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
        /// The destination.
        to: usize,
        /// What is sent there.
        regions: Vec<Region>,
    },
}

impl Post {
    /// Destinations, up to the last one that this request names.
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

    /// What the card reads to know where the data are.
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

    /// Buffers that the card does not read: their bytes are made of others'.
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

    /// The messages of each destination of this request, of so many rows, as pieces; perhaps each column by itself.
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

impl Place {
    /// The same place so many buffers further on.
    fn moved(self, buffers: usize) -> Self {
        Self { buffer: self.buffer + buffers, ..self }
    }
}

impl Piece {
    fn moved(self, buffers: usize) -> Self {
        Self { at: self.at.moved(buffers), ..self }
    }
}

fn moved_columns(columns: &[(Place, u64)], buffers: usize) -> Vec<(Place, u64)> {
    columns.iter().map(|(base, width)| (base.moved(buffers), *width)).collect()
}

impl Region {
    fn moved(&self, buffers: usize) -> Self {
        let mut region = self.clone();
        match &mut region {
            Self::Contiguous(piece) => *piece = piece.moved(buffers),
            Self::Strided { base, .. } => *base = base.moved(buffers),
            Self::Bitmapped { bitmap, columns, .. } => {
                *bitmap = bitmap.moved(buffers);
                *columns = moved_columns(columns, buffers);
            }
            Self::BitmappedKinds { bitmap, columns, .. } => {
                *bitmap = bitmap.moved(buffers);
                *columns = columns.iter().map(|column| column.moved(buffers)).collect();
            }
            Self::PointerMapped { pointers, target, .. }
            | Self::Chased { pointers, target, .. } => {
                *pointers += buffers;
                *target += buffers;
            }
        }
        region
    }
}

impl Post {
    /// The same request of the data so many buffers further on.
    pub fn moved(&self, buffers: usize) -> Self {
        let moved = |list: &[Region]| list.iter().map(|region| region.moved(buffers)).collect();
        match self {
            Self::Shared(destinations) => {
                Self::Shared(destinations.iter().map(|list| moved(list)).collect())
            }
            Self::Partitioned(list) => Self::Partitioned(Partitioned {
                ids: list.ids.moved(buffers),
                keys: list.keys.map(|keys| Keys { at: keys.at.moved(buffers), ..keys }),
                columns: moved_columns(&list.columns, buffers),
                kinds: list.kinds.iter().map(|column| column.moved(buffers)).collect(),
                ..*list
            }),
            Self::Own { to, regions } => Self::Own { to: *to, regions: moved(regions) },
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

/// The messages of each destination, of so many rows, perhaps each column by itself, in the order of the requests; of each
/// request the index of its first message there.
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

/// What arrives at a destination.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Destination {
    /// Its messages, as pieces.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(buffer: usize, offset: u64) -> Place {
        Place { buffer, offset }
    }

    fn sent(post: Post, mask: RowMask, rows_per_message: usize) -> Vec<Vec<Vec<u8>>> {
        let buffers = [(0..32).collect(), (100..132).collect(), vec![0b1011_0001]];
        let destinations = messages(&[post], &buffers, mask, (rows_per_message, false));
        let text = |message: &Vec<Piece>| bytes(message, &buffers);
        destinations.iter().map(|to| to.messages.iter().map(text).collect()).collect()
    }

    fn two_regions() -> Post {
        let strided =
            Region::Strided { base: at(0, 1), period: 4, count: 2, pattern: vec![(2, 1), (0, 1)] };
        let pointers =
            Region::PointerMapped { pointers: 2, target: 1, offsets: vec![8, 0], len: 2 };
        Post::Own { to: 0, regions: vec![strided, pointers] }
    }

    #[test]
    fn rows_are_packed_into_messages_across_regions() {
        let found = sent(two_regions(), RowMask::Period, 3);
        let expected: [&[u8]; 2] = [&[3, 1, 7, 5, 108, 109], &[100, 101]];
        assert_eq!(found, [expected.map(<[u8]>::to_vec)]);
    }

    #[test]
    fn an_element_is_a_row_of_every_region() {
        let found = sent(two_regions(), RowMask::Element, 1);
        let expected: [&[u8]; 2] = [&[3, 1, 108, 109], &[7, 5, 100, 101]];
        assert_eq!(found, [expected.map(<[u8]>::to_vec)]);
    }

    #[test]
    fn a_bitmap_selects_the_rows_of_all_columns() {
        let region = Region::Bitmapped {
            bitmap: at(2, 0),
            rows: 7,
            columns: vec![(at(0, 0), 2), (at(1, 1), 1)],
        };
        let found = sent(Post::Shared(vec![vec![region]]), RowMask::Period, 9);
        assert_eq!(found, [[[0, 1, 101, 8, 9, 105, 10, 11, 106]]]);
    }

    #[test]
    fn rows_go_where_their_ids_say_and_nowhere_with_another() {
        // Row 2 has an id that no destination has.
        let buffers = [(0..32).collect(), (100..132).collect(), vec![], vec![1, 0, 2, 1, 1]];
        let list = Partitioned {
            ids: Piece { at: at(3, 0), len: 5 },
            keys: None,
            destinations: 2,
            columns: vec![(at(1, 3), 2), (at(0, 1), 1)],
            kinds: Vec::new(),
        };
        let post = Post::Partitioned(list);
        assert_eq!(post.indexes(), [Piece { at: at(3, 0), len: 5 }]);
        let destinations = messages(&[post], &buffers, RowMask::Period, (2, false));
        let text = |message: &Vec<Piece>| bytes(message, &buffers);
        let found: Vec<Vec<_>> =
            destinations.iter().map(|to| to.messages.iter().map(text).collect()).collect();
        let first = vec![vec![105, 106, 2]];
        assert_eq!(found, [first, vec![vec![103, 104, 1, 109, 110, 4], vec![111, 112, 5]]]);
    }

    #[test]
    fn text_goes_behind_its_length_and_bits_share_bytes() {
        // Ids, a column, offsets, text, its lengths; three columns of bits, and the bits of a row.
        let offsets = [0u32, 2, 2, 5].iter().flat_map(|at| at.to_le_bytes()).collect();
        let lengths = [2u32, 0, 3].iter().flat_map(|len| len.to_le_bytes()).collect();
        let buffers: Vec<Vec<u8>> = vec![
            vec![1, 0, 1],
            vec![7, 8, 9],
            offsets,
            b"abcde".to_vec(),
            lengths,
            vec![0b101],
            vec![0b011],
            vec![0b110],
            vec![0b011, 0b110, 0b101],
        ];
        let list = Partitioned {
            ids: Piece { at: at(0, 0), len: 3 },
            keys: None,
            destinations: 2,
            columns: vec![(at(1, 0), 1)],
            kinds: vec![
                KindColumn::Text { offsets: 2, data: 3, lengths: 4 },
                KindColumn::Bits { columns: vec![5, 6, 7], packed: 8 },
            ],
        };
        let post = Post::Partitioned(list);
        let read: Vec<_> =
            post.indexes().iter().map(|piece| (piece.at.buffer, piece.len)).collect();
        assert_eq!(read, [(0, 3), (2, 16), (5, 1), (6, 1), (7, 1)]);
        assert_eq!(post.made(), [4, 8]);
        assert_eq!(post.moved(9).made(), [13, 17]);
        let destinations =
            messages(std::slice::from_ref(&post), &buffers, RowMask::Period, (9, false));
        let text = |message: &Vec<Piece>| bytes(message, &buffers);
        let found: Vec<Vec<_>> =
            destinations.iter().map(|to| to.messages.iter().map(text).collect()).collect();
        // The same columns of the rows that a bitmap selects: the first one of bits has ones in row 0 and 2.
        let Post::Partitioned(list) = &post else { unreachable!() };
        let columns = list.kinds.clone();
        let region = Region::BitmappedKinds { bitmap: at(5, 0), rows: 3, columns };
        let selected: Vec<_> =
            region.rows(&buffers).iter().map(|row| bytes(row, &buffers)).collect();
        let expected: [&[u8]; 2] =
            [&[2, 0, 0, 0, b'a', b'b', 0b011], &[3, 0, 0, 0, 99, 100, 101, 0b101]];
        assert_eq!(selected, expected);
        assert_eq!(Post::Own { to: 0, regions: vec![region] }.made(), [4, 8]);
        let first = vec![8, 0, 0, 0, 0, 0b110];
        let second = [&[7, 2, 0, 0, 0, b'a', b'b', 0b011][..], &[9, 3, 0, 0, 0], b"cde", &[0b101]];
        assert_eq!(found, [[first], [second.concat()]]);
    }

    #[test]
    fn the_records_of_a_list_follow_each_other() {
        let lists = vec![vec![16, 0], vec![8, 20]];
        let region = Region::Chased { pointers: 2, target: 0, lists, len: 2 };
        assert_eq!(region.trips(), (3, 4));
        let links: Vec<_> =
            region.indexes().iter().map(|p| (p.at.buffer, p.at.offset, p.len)).collect();
        assert_eq!(links, [(2, 0, 16), (0, 16, 8), (0, 0, 8), (0, 8, 8), (0, 20, 8)]);
        let found = sent(Post::Own { to: 0, regions: vec![region] }, RowMask::Period, 9);
        assert_eq!(found, [[[24, 25, 8, 9, 16, 17, 28, 29]]]);
    }

    #[test]
    fn a_moved_request_is_of_other_buffers_and_of_nothing_else() {
        let Post::Own { regions, .. } = two_regions() else { unreachable!() };
        let ids = Piece { at: at(2, 0), len: 1 };
        let bitmapped =
            Region::Bitmapped { bitmap: at(2, 0), rows: 7, columns: vec![(at(1, 0), 2)] };
        let mut buffers = [(0..32).collect(), (100..132).collect(), vec![0b1011_0001]].to_vec();
        buffers.extend(buffers.clone());
        for post in [
            two_regions(),
            Post::Shared(vec![regions, vec![bitmapped]]),
            Post::Partitioned(Partitioned {
                ids,
                keys: None,
                destinations: 2,
                columns: vec![(at(0, 1), 4)],
                kinds: Vec::new(),
            }),
        ] {
            let found = |post: Post| {
                let destinations = messages(&[post], &buffers, RowMask::Period, (2, false));
                let mut pieces: Vec<Piece> =
                    destinations.iter().flat_map(|to| to.messages.concat()).collect();
                let all = pieces.iter().map(|piece| bytes(&[*piece], &buffers)).collect::<Vec<_>>();
                pieces.retain(|piece| piece.at.buffer >= 3);
                (all, pieces.len())
            };
            let ((before, none), (after, moved)) = (found(post.clone()), found(post.moved(3)));
            assert_eq!((&before, none, moved), (&after, 0, before.len()));
            let index = |post: &Post| post.indexes().iter().map(|p| p.at.buffer).sum::<usize>();
            assert_eq!(index(&post.moved(3)), index(&post) + 3 * post.indexes().len());
        }
    }

    #[test]
    fn requests_follow_one_another_at_their_destinations() {
        let piece = |offset| Piece { at: at(0, offset), len: 1 };
        let own = |to, offset| Post::Own { to, regions: vec![Region::Contiguous(piece(offset))] };
        let found = messages(&[own(1, 4), own(0, 8), own(1, 2)], &[], RowMask::Element, (1, false));
        let expected = |messages: &[u64], starts: &[usize]| Destination {
            messages: messages.iter().map(|offset| vec![piece(*offset)]).collect(),
            starts: starts.to_vec(),
        };
        assert_eq!(found, [expected(&[8], &[0]), expected(&[4, 2], &[0, 1])]);
    }
}
