//! Bitstreams for boards: checks of a file, and the flash that it is written to.

pub mod device;
pub mod image;

pub use device::{DeviceError, FlashDevice};
pub use image::{Image, ImageError};
