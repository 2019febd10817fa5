//! Fabric jobs: their expected results, random ones, and the smallest part of a job that still fails.

pub mod appended;
pub mod check;
pub mod expect;
pub mod generate;
mod kept;
pub mod places;
pub mod shrink;
