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
//!
//! # Why not `pci-driver`
//!
//! That crate (0.1.4, of August 2023) opens functions through VFIO as well, and its reader of configuration
//! space checks the one that `drdma serve` makes. It does not drive the card:
//!
//! - its traits are sealed, so that there is neither a fake to test errors with nor a function without a
//!   kernel behind it;
//! - the fields of the capabilities that a driver wants (link, request sizes, vectors of MSI-X) are not
//!   there yet, and the kernel's request to give a function back (`VFIO_PCI_REQ_IRQ_INDEX`) is not seen;
//! - it has the bytes of the class code in the wrong order, and takes the command register's interrupt bit for
//!   one that is cleared by writing it;
//! - it is not built for musl (its numbers of ioctls are 64 bits wide).
//!
//! ```compile_fail,E0277
//! #[derive(Debug)]
//! struct Fake;
//!
//! impl pci_driver::regions::PciRegion for Fake {}
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
