//! Cuts payload into packets and makes frames of them: cut at the MTU and at the ends of messages, numbered, with
//! headers and ICRC. Answers of the responder are sent between these packets.

pub mod answers;
pub mod keeper;
pub mod pacer;
pub mod packetizer;
pub mod replies;
pub mod segmenter;

/// Bits of the number of a payload page: 512 pages of 4 KiB, each the payload of a packet. All widths and depths that
/// concern pages follow from this one, except those of [`PAGE_ROW`] and [`PAGE_PAIR`].
///
/// 64 destinations whose messages are open hold a page each; the others keep the wire busy from one burst of
/// full pages to the next.
pub const PAGE: usize = 9;
/// Number of payload pages.
pub const PAGES: u64 = 1 << PAGE;
/// Bits of a row's address: page, and row of 64 B.
pub const PAGE_ROW: usize = PAGE + 6;
/// Bits of the number of a reply page: 64 pages of 4 KiB, beside the payload pages, for bytes that peers READ.
pub const REPLY_PAGE: usize = 6;
/// Bits of the address of a row of 64 B in the reply pages: page, and row of the page.
pub const REPLY_ROW: usize = REPLY_PAGE + 6;
/// Bits of the address of a pair of rows of a payload page.
pub const PAGE_PAIR: usize = PAGE + 5;
