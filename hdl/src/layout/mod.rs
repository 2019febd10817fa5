//! Turns rows into payload: which DMA reads fetch them, where they lie in the segmented memory, and how they are
//! gathered from there.

pub mod balance;
pub mod fragments;
pub mod gather;
pub mod kept;
pub mod placer;
pub mod reader;
pub mod segmented_memory;
pub mod windows;
