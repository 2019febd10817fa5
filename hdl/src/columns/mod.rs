//! The column path: several short rows of dense columns a cycle.

pub mod addresser;
pub mod planner;
