//! Fabric jobs: what they must do, random ones, and the least part of one that still goes wrong.

pub mod appended;
pub mod check;
pub mod expect;
pub mod generate;
mod kept;
pub mod places;
pub mod shrink;
