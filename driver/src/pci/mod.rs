//! PCI functions as the kernel shows them in sysfs: listing them with their drivers, and binding
//! them to `vfio-pci`.
//!
//! | module | |
//! |---|---|
//! | [`address`] | `0000:65:00.0` |
//! | [`sysfs`] | what sysfs says about a function and its IOMMU group |
//! | [`mod@bind`] | giving a function to `vfio-pci`, and back |
//! | [`bar`] | a mapped BAR |
//! | [`corundum`] | what a Corundum card has in BAR0: its identification, its ports |

pub mod address;
pub mod bar;
pub mod bind;
pub mod corundum;
pub mod error;
#[cfg(test)]
pub(crate) mod fake;
pub mod sysfs;

pub use address::PciAddress;
pub use bar::Bar;
pub use bind::{Binder, Bound, Unbound};
pub use corundum::Firmware;
pub use error::PciError;
pub use sysfs::{Ids, Link, PciDevice, Sysfs};
