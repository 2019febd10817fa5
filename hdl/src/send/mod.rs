//! Payload to packets: cut at the MTU and at the ends of messages, numbered, with headers and ICRC. What the
//! responder answers goes among them.

pub mod answers;
pub mod keeper;
pub mod pacer;
pub mod packetizer;
pub mod replies;
pub mod segmenter;

/// Bits of a payload page's number: there are 512 pages of 4 KiB, the payload of a packet each. All widths
/// and depths of pages follow from this one, but those of [`PAGE_ROW`] and [`PAGE_PAIR`].
///
/// 64 destinations whose messages are open hold a page each; the others keep the wire busy from one burst of
/// full pages to the next.
pub const PAGE: usize = 9;
/// Payload pages.
pub const PAGES: u64 = 1 << PAGE;
/// Bits of a row's address: page, and row of 64 B.
pub const PAGE_ROW: usize = PAGE + 6;
/// Bits of the number of a page of what peers READ: 64 of 4 KiB, beside those of payload.
pub const REPLY_PAGE: usize = 6;
/// Bits of a row's address there.
pub const REPLY_ROW: usize = REPLY_PAGE + 6;
/// Bits of the address of a pair of rows.
pub const PAGE_PAIR: usize = PAGE + 5;
