//! Fabric jobs: what they must do, random ones, and the least part of one that still goes wrong.

pub mod check;
pub mod expect;
pub mod generate;
pub mod shrink;
