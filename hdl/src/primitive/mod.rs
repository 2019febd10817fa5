//! What several blocks share, and what the kernel language cannot say.
pub mod skid;
