//! Arrow record batches over D-RDMA.
#![deny(unsafe_code)]

mod arena;
mod arrays;
mod copy;
mod decode;
mod error;
mod format;
mod header;
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

pub use arena::{ALIGNMENT, Arena, Block};
pub use error::{ArenaError, DecodeError, FormatError, ReceiveError, SendError};
pub use format::{Form, Format};
pub use layout::Part;
pub use plan::{Foreign, Passage, Plan, PlannedPart, Why};
pub use receive::{Received, Receiver};
pub use selection::Selection;
pub use send::{Sender, Sent};
