//! A card, or any other PCI function, through the kernel's VFIO.
//!
//! | module | |
//! |---|---|
//! | [`card`] | a D-RDMA card: the back end of `vfio:0000:65:00.0` |
//! | [`function`] | any PCI function: BARs, DMA, interrupts, reset |
//! | [`mapping`] | what is mapped for DMA, and what can be |
//! | [`kernel`] | the system calls |
//! | [`error`] | what can be wrong, and what to do about it |
//!
//! The function must be bound to `vfio-pci` ([`crate::pci::Binder`]); everything else is done here.
//! Whatever a process leaves behind when it ends, the kernel takes back: mappings, interrupts, bus
//! mastering.
//!
//! ```no_run
//! use drdma_driver::{Device, vfio};
//!
//! let device = Device::open(Box::new(vfio::open("vfio:0000:65:00.0")?))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod card;
pub mod error;
#[cfg(test)]
pub(crate) mod fake;
pub mod function;
pub mod kernel;
pub mod mapping;

pub use card::{VfioCard, firmware, open};
pub use error::VfioError;
pub use function::{Command, PciFunction};
pub use kernel::{DmaAccess, Interrupt, Vfio};
pub use mapping::{Iommu, MapError};
pub use vmm_sys_util::eventfd::EventFd;
