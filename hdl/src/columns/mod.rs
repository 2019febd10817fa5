//! The column path: several short rows a cycle.

pub mod compact;
pub mod packer;
pub mod record;
pub mod row_queue;
pub mod scanner;
pub mod source;
pub mod stride;

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;
