//! Jobs to start from, with comments.

use super::format::{
    Bitmap, Bitmapped, Buffer, Chase, Column, ColumnEntries, Contiguous, Destination, Dictionary,
    DictionaryValues, Extent, FixedColumn, FixedExtent, Function, HexBuffer, Ids, JobFile, Key,
    KeyType, KindColumn, Local, MessageLayout, Messages, Op, PartitionBy, Partitioned, Place,
    Pointer, PointerMapped, Post, PostSend, PostSsqSend, Qp, Region, SizeBuffer, Strided, Target,
    Transport, Varlen, ViewBuffer, Views,
};

/// What an example shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// One run of bytes.
    Contiguous,
    /// Fields of the rows of a row store.
    Strided,
    /// The rows of a column store that a bitmap selects.
    Bitmapped,
    /// Records that an index found.
    PointerMapped,
    /// A shuffle by an array of partition ids.
    Partitioned,
    /// Two destinations that are planned together.
    Shuffle,
    /// A WRITE to remote memory.
    Write,
    /// Columns of every kind, column by column.
    Columns,
    /// Records that lead to further ones.
    Chase,
    /// A shuffle by keys, of which the card makes partitions.
    PartitionBy,
    /// One of each.
    All,
}

impl Kind {
    const EACH: [Self; 10] = [
        Self::Contiguous,
        Self::Strided,
        Self::Bitmapped,
        Self::PointerMapped,
        Self::Partitioned,
        Self::Shuffle,
        Self::Write,
        Self::Columns,
        Self::Chase,
        Self::PartitionBy,
    ];
}

/// The text of a job that can be run as it is; `schema` is where its schema is.
pub fn example(kind: Kind, schema: &str) -> String {
    let kinds = match kind {
        Kind::All => Kind::EACH.to_vec(),
        kind => vec![kind],
    };
    let job = JobFile {
        schema: Some(schema.to_owned()),
        comment: some("`drdma explain` says what a card does with this, `drdma run` does it"),
        buffers: buffers(),
        local: Local {
            comment: some("the card's own addresses"),
            mac: "02:00:00:00:00:01".to_owned(),
            ip: "10.0.0.1".to_owned(),
        },
        qps: vec![qp("red", 17, 2), qp("blue", 18, 3)],
        posts: (1..).zip(kinds).map(|(wr_id, kind)| post(wr_id, kind)).collect(),
    };
    serde_json::to_string_pretty(&job).expect("a job is JSON") + "\n"
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn buffers() -> Vec<Buffer> {
    vec![
        Buffer::Size(SizeBuffer {
            comment: some("a table of 64 rows of 32 B; \"file\" takes the bytes of a file"),
            name: "table".to_owned(),
            size: 2048,
            pointers: None,
        }),
        Buffer::Size(SizeBuffer {
            comment: some("64 values of 8 B"),
            name: "keys".to_owned(),
            size: 512,
            pointers: None,
        }),
        Buffer::Size(SizeBuffer {
            comment: some("64 values of 4 B"),
            name: "prices".to_owned(),
            size: 256,
            pointers: None,
        }),
        Buffer::Hex(HexBuffer {
            comment: some("a bit a row: rows 0, 2, 4, ..."),
            name: "selected".to_owned(),
            hex: "55".repeat(8),
            pointers: None,
        }),
        Buffer::Hex(HexBuffer {
            comment: some("a byte a row: 0, 1, 0, 1, ..."),
            name: "ids".to_owned(),
            hex: "0001".repeat(32),
            pointers: None,
        }),
        Buffer::Hex(HexBuffer {
            comment: some("65 offsets of 4 B: names of 0, 1, 2, 3, 0, ... letters"),
            name: "name_offsets".to_owned(),
            hex: (0..65u32).map(|row| hex(&name_offset(row).to_le_bytes())).collect(),
            pointers: None,
        }),
        Buffer::Hex(HexBuffer {
            comment: some("the letters of all names"),
            name: "names".to_owned(),
            hex: "6e616d".repeat(32),
            pointers: None,
        }),
        Buffer::Hex(HexBuffer {
            comment: some("64 views of 16 B: a word of 4 letters, which stands in the view"),
            name: "words".to_owned(),
            hex: "04000000776f72640000000000000000".repeat(64),
            pointers: None,
        }),
        Buffer::Size(SizeBuffer {
            comment: some(
                "records of 16 B, which begin with the address of the next one, or with 0",
            ),
            name: "records".to_owned(),
            size: 64,
            pointers: Some(vec![pointer(0, 32), pointer(32, 16)]),
        }),
    ]
}

/// A pointer at `offset`, to the record at `next`.
fn pointer(offset: u64, next: u64) -> Pointer {
    Pointer { comment: None, offset, to: ("records".to_owned(), next) }
}

/// The offset of the name of a row.
fn name_offset(row: u32) -> u32 {
    (0..row).map(|row| row % 4).sum()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn qp(name: &str, qpn: u64, host: u8) -> Qp {
    Qp {
        comment: None,
        name: name.to_owned(),
        transport: Transport::Rc,
        qpn,
        dest_qpn: qpn + 16,
        start_psn: 100,
        mtu: 1024,
        dest_mac: Some(format!("02:00:00:00:00:{host:02x}")),
        dest_ip: format!("10.0.0.{host}"),
        qkey: None,
        dscp: None,
        ecn: None,
        ttl: None,
        vlan: None,
    }
}

fn columns() -> Vec<Column> {
    vec![fixed("keys", 8), fixed("prices", 4)]
}

fn fixed(buffer: &str, width: u32) -> Column {
    let (comment, kind, buffer, offset) = (None, None, buffer.to_owned(), 0);
    Column::Fixed(FixedColumn { comment, kind, buffer, offset, width })
}

fn extent(offset: u64, len: u32) -> Extent {
    Extent::Fixed(FixedExtent { comment: None, kind: None, offset, len })
}

fn contiguous() -> Region {
    Region::Contiguous(Contiguous {
        comment: None,
        buffer: "table".to_owned(),
        offset: 0,
        len: 2048,
    })
}

fn bitmapped() -> Region {
    Region::Bitmapped(Bitmapped {
        comment: None,
        bitmap: Bitmap { comment: None, buffer: "selected".to_owned(), offset: 0, bit: None },
        rows: 64,
        columns: columns(),
        fetch_rows: None,
    })
}

/// A column of every kind.
fn kinds() -> Region {
    let Region::Bitmapped(region) = bitmapped() else { return contiguous() };
    let (comment, offset, named) = (None, 0, str::to_owned);
    let entries = |buffer: &str| ColumnEntries { buffer: buffer.to_owned(), offset };
    let varlen = Varlen {
        comment: some("a length of 4 B and so many bytes"),
        entries: entries("name_offsets"),
        width: 4,
        data: Place { comment: comment.clone(), buffer: named("names"), offset },
    };
    let views = Views {
        comment: some("the same, by views as Arrow has them"),
        entries: entries("words"),
        buffers: vec![ViewBuffer {
            comment: comment.clone(),
            buffer: named("names"),
            offset,
            len: 96,
        }],
    };
    let dictionary = Dictionary {
        comment: some("value 0 or 1 of two keys, as the ids say"),
        entries: entries("ids"),
        width: 1,
        values: DictionaryValues { comment, buffer: named("keys"), offset, width: 8 },
        count: 2,
    };
    let bits = Bitmap {
        comment: some("a bit a row, packed again"),
        buffer: named("selected"),
        offset,
        bit: Some(1),
    };
    let mut columns = columns();
    columns.extend([
        Column::Kind(KindColumn::Varlen(varlen)),
        Column::Kind(KindColumn::Views(views)),
        Column::Kind(KindColumn::Dictionary(dictionary)),
        Column::Kind(KindColumn::Bits(bits)),
    ]);
    Region::Bitmapped(Bitmapped { rows: 63, columns, ..region })
}

fn post(wr_id: u64, kind: Kind) -> Post {
    let send = |comment: &str, rows_per_message, region| {
        Post::PostSend(PostSend {
            comment: some(comment),
            wr_id,
            op: Op::Send,
            messages: Messages { rows_per_message, ..Messages::default() },
            inline: None,
            qp: "red".to_owned(),
            target: Target::default(),
            regions: vec![region],
        })
    };
    let destination = |qp: &str| Destination {
        comment: None,
        qp: qp.to_owned(),
        target: Target::default(),
        regions: None,
        partition: None,
    };
    let together = |comment: &str, partitioned, destinations| {
        Post::PostSsqSend(PostSsqSend {
            comment: some(comment),
            wr_id,
            op: Op::Send,
            messages: Messages { rows_per_message: Some(64), ..Messages::default() },
            partitioned,
            destinations,
        })
    };
    match kind {
        Kind::Contiguous | Kind::All => {
            send("2048 B as they lie, in one message", None, contiguous())
        }
        Kind::Strided => send(
            "bytes 0 to 7 and 16 to 19 of every row of 32 B, 16 rows in a message",
            Some(16),
            Region::Strided(Strided {
                comment: None,
                buffer: "table".to_owned(),
                offset: 0,
                period: 32,
                count: 64,
                pattern: vec![extent(0, 8), extent(16, 4)],
            }),
        ),
        Kind::Bitmapped => {
            send("key and price of the selected rows, 16 in a message", Some(16), bitmapped())
        }
        Kind::PointerMapped => send(
            "8 B of each of three records, wherever they are, in one message",
            Some(3),
            Region::PointerMapped(PointerMapped {
                comment: some("pairs of a buffer and an offset"),
                pointers: [640, 32, 1984].map(|offset| ("table".to_owned(), offset)).to_vec(),
                pattern: vec![extent(0, 8)],
                chase: None,
            }),
        ),
        Kind::Chase => send(
            "8 B of each record of two chains, the first of three records, the second of one",
            Some(4),
            Region::PointerMapped(PointerMapped {
                comment: some("the first records"),
                pointers: [0, 48].map(|offset| ("records".to_owned(), offset)).to_vec(),
                pattern: vec![extent(8, 8)],
                chase: Some(Chase {
                    comment: some("a chain of more records fails, as one without an end does"),
                    next: 0,
                    end: None,
                    limit: 3,
                }),
            }),
        ),
        Kind::PartitionBy => together(
            "rows go where Spark sends them, with the offset of the name as a key: two of four partitions each",
            Some(Partitioned {
                comment: None,
                ids: None,
                partition_by: Some(PartitionBy {
                    comment: None,
                    function: Function::Murmur3,
                    partitions: Some(4),
                    seed: None,
                    splitters: None,
                    group: Some(2),
                    keys: vec![Key {
                        comment: None,
                        key_type: KeyType::Integer,
                        column: fixed("name_offsets", 4),
                        validity: None,
                    }],
                }),
                rows: 64,
                columns: columns(),
            }),
            vec![
                Destination { partition: Some(0), ..destination("red") },
                Destination { partition: Some(1), ..destination("blue") },
            ],
        ),
        Kind::Partitioned => together(
            "every row goes to the destination that names its id",
            Some(Partitioned {
                comment: None,
                ids: Some(Ids { comment: None, buffer: "ids".to_owned(), offset: 0, width: 1 }),
                partition_by: None,
                rows: 64,
                columns: columns(),
            }),
            vec![
                Destination { partition: Some(0), ..destination("red") },
                Destination { partition: Some(1), ..destination("blue") },
            ],
        ),
        Kind::Shuffle => together(
            "selected rows to red, the whole table to blue: what both need is read once",
            None,
            vec![
                Destination { regions: Some(vec![bitmapped()]), ..destination("red") },
                Destination { regions: Some(vec![contiguous()]), ..destination("blue") },
            ],
        ),
        Kind::Columns => match send(
            "of 16 selected rows first all keys, then all names, words, values of a dictionary and flags",
            Some(16),
            kinds(),
        ) {
            Post::PostSend(post) => {
                let message_layout = Some(MessageLayout::Columns);
                Post::PostSend(PostSend {
                    messages: Messages { message_layout, ..post.messages },
                    ..post
                })
            }
            post @ Post::PostSsqSend(_) => post,
        },
        Kind::Write => match send("a WRITE says where in the peer's memory", None, contiguous()) {
            Post::PostSend(post) => Post::PostSend(PostSend {
                op: Op::Write,
                target: Target { remote_addr: Some(0x10000), rkey: Some(7), ..post.target },
                ..post
            }),
            post @ Post::PostSsqSend(_) => post,
        },
    }
}
