//! The column path: several short rows of dense columns a cycle.

pub mod addresser;
pub mod compact;
pub mod packer;
pub mod planner;
pub mod record;
pub mod row_queue;
pub mod scanner;
pub mod source;
pub mod stride;

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;
