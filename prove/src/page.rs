//! The page of proofs.
/// What decides: a part of the digest of every question.
pub const TOOLS: &str = "1";
