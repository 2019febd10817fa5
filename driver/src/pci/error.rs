//! Why a PCI function cannot be used, and what to do about it.

use std::{io, path::PathBuf};

use super::{Ids, PciAddress};

/// Why a PCI function cannot be looked at, bound or unbound.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PciError {
    /// Not of the form of an address.
    #[error("`{0}` is no PCI address: it must look like 0000:65:00.0")]
    Address(String),
    /// No function has this address.
    #[error("there is no PCI device {0}; `drdma devices --all` lists those that there are")]
    NoDevice(PciAddress),
    /// The function is in no IOMMU group.
    #[error(
        "{0} is behind no IOMMU: turn on VT-d or AMD-Vi in the firmware's setup, boot with \
         `intel_iommu=on` (Intel) or `iommu=pt` (AMD), and look for /sys/kernel/iommu_groups"
    )]
    NoIommu(PciAddress),
    /// The driver is not there.
    #[error("the kernel module vfio-pci is not loaded; load it with `modprobe vfio-pci`")]
    NoModule,
    /// Another device than a card is about to be taken from the host.
    #[error(
        "{address} is {ids}, not a Corundum card ({}); to take it from the host all the same, use \
         `--force`",
        Ids::CORUNDUM
    )]
    NotACard {
        /// The function.
        address: PciAddress,
        /// What it is.
        ids: Ids,
    },
    /// The function is not `vfio-pci`'s.
    #[error(
        "{address} is bound to {}, not to vfio-pci",
        driver.as_deref().unwrap_or("no driver")
    )]
    NotBound {
        /// The function.
        address: PciAddress,
        /// What it is bound to.
        driver: Option<String>,
    },
    /// Others in the function's IOMMU group belong to the host.
    #[error("group {group} is not viable: {}", members(others))]
    NotViable {
        /// The IOMMU group.
        group: u32,
        /// The others, and what they are bound to.
        others: Vec<(PciAddress, String)>,
    },
    /// The kernel took the request and did not bind.
    #[error(
        "the kernel did not bind {address} to vfio-pci (it is bound to {}); `dmesg` may tell why",
        driver.as_deref().unwrap_or("no driver")
    )]
    Refused {
        /// The function.
        address: PciAddress,
        /// What it is bound to now.
        driver: Option<String>,
    },
    /// A file that only root may write.
    #[error("no permission to write {}; run this as root (`sudo`)", .0.display())]
    Permission(PathBuf),
    /// A file of sysfs has other contents than expected.
    #[error("{} has `{text}`, which is no {what}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What it has.
        text: String,
        /// What it should have.
        what: &'static str,
    },
    /// A file of sysfs cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
}

fn members(others: &[(PciAddress, String)]) -> String {
    let still: Vec<_> = others
        .iter()
        .map(|(address, driver)| format!("{address} is still bound to {driver}"))
        .collect();
    let them = if others.len() == 1 { "it" } else { "them" };
    format!("{}; bind {them} to vfio-pci", still.join(", "))
}

impl PciError {
    /// From a file that cannot be written.
    pub(crate) fn write(path: PathBuf, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::Permission(path)
            }
            _ => Self::Io { path, source },
        }
    }
}
