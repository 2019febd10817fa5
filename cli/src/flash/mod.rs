//! Bitstreams for boards: whether a file is one for this board, and where it is written to.

pub mod device;
pub mod image;

pub use device::{DeviceError, FlashDevice};
pub use image::{Image, ImageError};
