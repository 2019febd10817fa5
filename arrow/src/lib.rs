//! Arrow record batches over D-RDMA: sent from where they lie, received as arrays.
//!
//! A [`Sender`] sends each row of a batch to the destination that its partition id or bit says. The card
//! reads the columns where they lie; no row is put together by the processor. A [`Receiver`] gives batches
//! back whose arrays lie in the memory that the messages arrived in.
//!
//! # A shuffle
//!
//! One card sends to two others, by a partition id a row; all three are simulated.
//!
//! ```
//! use std::sync::Arc;
//!
//! use arrow_array::{ArrayRef, RecordBatch, StringViewArray, types::Int64Type};
//! use arrow_schema::{DataType, Field, Schema};
//! use drdma_arrow::{Arena, Foreign, Format, Receiver, Selection, Sender};
//! # use libdrdma::{Access, Context, MacAddress, Options, QueuePairAttributes, simulated::SimulatedCard};
//! # let cards = [1, 2, 3].map(|_| SimulatedCard::new());
//! # let open = |i: u8| {
//! #     let options = Options::new(MacAddress([2, 0, 0, 0, 0, i]), [10, 0, 0, i].into());
//! #     Context::open(cards[usize::from(i)].card(), options).unwrap().protection_domain()
//! # };
//! # let [pd, first, second] = [open(0), open(1), open(2)];
//! # let to = |i: u8, qpn| QueuePairAttributes::new().path_mtu(4096).dest_qpn(qpn).start_psn(0).rq_psn(0)
//! #     .dest_mac(MacAddress([2, 0, 0, 0, 0, i])).dest_ip([10, 0, 0, i].into()).access(Access::empty())
//! #     .min_rnr_timer(1).max_dest_rd_atomic(1).timeout(14).retry_cnt(7).rnr_retry(7).max_rd_atomic(1);
//! # let cq = pd.context().completion_queue().build()?;
//!
//! // What all ends agree on: the schema, and messages of at most 64 KiB.
//! let schema = Arc::new(Schema::new(vec![
//!     Field::new("key", DataType::Int64, false),
//!     Field::new("name", DataType::Utf8View, true),
//! ]));
//! let format = Format::new(schema.clone(), 64 << 10)?;
//!
//! // Each receiver has 16 slabs of such a message, and a queue for its queue pairs.
//! let mut receivers = [
//!     Receiver::new(format.clone(), &first, 16)?,
//!     Receiver::new(format.clone(), &second, 16)?,
//! ];
//! // ... the queue pairs `red` and `blue` are connected to queue pairs of these receivers ...
//! # let mut pairs = Vec::new();
//! # let mut ends = Vec::new();
//! # for (i, (pd_of, receiver)) in (1..).zip([&first, &second].into_iter().zip(&receivers)) {
//! #     let mut pair = pd.queue_pair(&cq).build()?;
//! #     let cq = pd_of.context().completion_queue().build()?;
//! #     let mut end = pd_of.queue_pair(&cq).shared_receive_queue(receiver.queue()).build()?;
//! #     pair.connect(&to(i, end.qpn()))?;
//! #     end.connect(&to(0, pair.qpn()))?;
//! #     (pairs.push(pair), ends.push(end));
//! # }
//! # let (red, blue) = (&pairs[0], &pairs[1]);
//!
//! // Memory that the card reads. The engine makes its arrays there, and the sender its copies.
//! let arena = Arena::new(&pd, 1 << 30)?;
//! let key: ArrayRef = Arc::new(arena.primitive::<Int64Type>(4, |row| 10 * row as i64)?);
//! let name = StringViewArray::from(vec![Some("a"), None, Some("longer than 12 bytes"), Some("b")]);
//! let batch = RecordBatch::try_new(schema, vec![key, Arc::new(name)])?;
//!
//! // Row by row: to whom. Partition 2 has no destination, so that its row stays here.
//! let ids = Selection::from(vec![0_u8, 1, 0, 2]);
//! let mut sender = Sender::new(format, &pd, &arena, Foreign::Copy);
//! for part in sender.plan(&batch)?.parts {
//!     println!("{part}"); // `key` Values, 32 B: as it lies ...
//! }
//! let mut queue = pd.shared_send_queue(&cq).build()?;
//! let sent = sender.send(&mut queue, 1, &batch, &ids, &[(0, red), (1, blue)])?;
//! assert_eq!(sent.rows, [2, 1]);
//! # let mut now = 0;
//! # while let Some(next) = cards.iter().filter_map(SimulatedCard::next_event_ns).min() {
//! #     now = next.max(now);
//! #     for card in &cards {
//! #         card.advance_to(now);
//! #         for sent in card.take_sent() {
//! #             cards[usize::from(sent.bytes[5])].deliver(sent.bytes, sent.time_ns + 500);
//! #         }
//! #     }
//! # }
//! assert_eq!(cq.poll().count(), sent.completions as usize);
//!
//! let received = receivers[0].poll()?.expect("two rows");
//! assert_eq!(received.batch.column(0).as_ref(), &arrow_array::Int64Array::from(vec![0, 20]));
//! assert_eq!(receivers[1].poll()?.expect("one row").batch, batch.slice(1, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What goes as it lies
//!
//! | array | |
//! |---|---|
//! | integers, floats, decimals, dates, times, timestamps, durations, intervals, `FixedSizeBinary` | as it lies |
//! | keys of dictionaries | as they lie; the values go once to each destination that does not have them |
//! | `FixedSizeList` of these | as it lies, a list being a value |
//! | `Utf8View`, `BinaryView` | the views as they lie; values of more than 12 B are copied |
//! | `Utf8`, `Binary`, `LargeUtf8`, `LargeBinary` | lengths (4 B a row) are made of offsets; the bytes are copied |
//! | `Boolean` | a byte a row is made of the bits |
//! | validity | a byte a row is made of the bits, where anything is null; nothing otherwise |
//! | `Struct` | its fields, each by itself |
//! | `List`, `LargeList`, `Map`, `FixedSizeList` of others | lengths are made of offsets; the elements go as their own arrays do, and an id or a bit is made for each |
//! | `Union`, `RunEndEncoded`, `ListView`, `LargeListView`, types of size 0 | not possible: [`FormatError::Unsupported`] |
//!
//! With [`Form::Kinds`], for cards that do it ([`Form::of_card`]), the card follows offsets and views and packs bits:
//!
//! | array | |
//! |---|---|
//! | `Utf8View`, `BinaryView`, `Utf8`, `Binary`, `LargeUtf8`, `LargeBinary` | offsets or views, and what they lead to, as they lie |
//! | `Boolean`, validity | the bits as they lie; of a dictionary's values those that do not begin with a byte are copied |
//!
//! Nulls are followed like other rows, so that their views must lead to bytes, too, as Arrow's own checks demand. A
//! batch's column of strings one of which is longer than a message is copied, its lengths and its bytes; its other
//! columns are not.
//!
//! With [`Form::Appended`] all columns have a fixed width, and travel in the same messages, row by row. The card at the
//! other end puts them into columns (an append region), so that one request and one message a destination do for a
//! batch that is eleven of each with [`Form::Columns`]: see [`AppendReceiver`].
//!
//! Arrays may be slices. [`Sender::plan`] says what becomes of each part of a batch, and [`Sent::copied`]
//! what was copied, by the reason. All copies go to an [`Arena`].
//!
//! What goes as it lies must lie in memory that is registered: in an arena of the protection domain. That is
//! an [`Arena`] of this crate, or the process's allocator ([`libdrdma::Arena`], [`Arena::over`]), so that
//! whatever an engine computes lies there. For memory that does not, [`Foreign`] says what to do: copy it,
//! register it for the time of the request, or refuse the batch.
//!
//! # Messages
//!
//! A batch is a sequence of messages on each connection, which are SENDs of at most
//! [`Format::message_bytes`]. Connections keep their order (transport RC), so that messages need no names:
//!
//! 1. The header: how many rows there are of the batch, of each list's elements and each dictionary's values;
//!    how many bytes of each column of strings; which columns have validity; which dictionaries' values
//!    follow. Numbers are little-endian, and a fingerprint of the format is checked.
//! 2. For the batch's rows, then for each list's elements and each dictionary's values, in the schema's
//!    order and as far as there are any: the columns of fixed width, as many whole rows a message as fit;
//!    then the bytes of each column of strings, row behind row.
//!
//! Columns of fixed width are, in the schema's order: for each array a byte of validity (if any row is null),
//! then its values, keys, views or lengths. With [`Form::Columns`] each has messages of its own, and the
//! received array lies where its message arrived. With [`Form::Rows`] up to 16 share messages, row behind
//! row, and the receiver copies them to columns. A view's buffer and offset are the sender's, and mean
//! nothing: long values come in the order of the rows. Lengths are those of rows that are null as well.
//!
//! With [`Form::Kinds`] bits travel as bits, the first being the least significant of a byte; and the messages of a
//! column of strings have a number of rows that the header says: their lengths, then their bytes. Views are made anew
//! by the receiver. If a string is longer than a message, the header says so, and the column comes as all lengths, then
//! all bytes.
//!
//! Rows that are appended ([`Form::Appended`]) have no header: a message is whole rows of all columns of the schema, in
//! its order, with a byte of validity before each that can be null. Its immediate data are half of the format's
//! fingerprint.
//!
//! The schema and the header say all of that, and so the length of every message that follows. A message of
//! another length, lengths that do not add up, text that is not UTF-8 or a key that is in no dictionary is a
//! [`DecodeError`]; nothing more is taken from that connection then.
//!
//! Destinations without rows get no message, of whatever form. There is no end of a stream and there are no credits:
//! messages wait at the sender's card while the receiver has no slab posted.
#![deny(unsafe_code)]

mod append;
mod arena;
mod arrays;
mod copy;
mod decode;
mod error;
mod format;
mod header;
mod kinds;
mod layout;
mod memory;
mod parts;
mod plan;
mod posts;
mod receive;
mod selection;
mod send;
mod slabs;
mod transpose;

pub use append::AppendReceiver;
pub use arena::{ALIGNMENT, Arena, Block};
pub use error::{ArenaError, DecodeError, FormatError, ReceiveError, SendError};
pub use format::{Form, Format};
pub use layout::Part;
pub use plan::{Foreign, Passage, Plan, PlannedPart, Why};
pub use receive::{Received, Receiver};
pub use selection::Selection;
pub use send::{Sender, Sent};
