//! Errors of using a PCI function, with advice.

use std::{io, path::PathBuf};

use super::{Ids, PciAddress};

/// Error of inspecting, binding or unbinding a PCI function.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PciError {
    /// The text is not an address.
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
    /// The driver `vfio-pci` is not loaded.
    #[error("the kernel module vfio-pci is not loaded; load it with `modprobe vfio-pci`")]
    NoModule,
    /// A device other than a card would be taken from the host.
    #[error(
        "{address} is {ids}, not a Corundum card ({}); to take it from the host all the same, use \
         `--force`",
        Ids::CORUNDUM
    )]
    NotACard {
        /// Address of the function.
        address: PciAddress,
        /// Ids of the function.
        ids: Ids,
    },
    /// The function is not bound to `vfio-pci`.
    #[error(
        "{address} is bound to {}, not to vfio-pci",
        driver.as_deref().unwrap_or("no driver")
    )]
    NotBound {
        /// Address of the function.
        address: PciAddress,
        /// Driver that the function is bound to.
        driver: Option<String>,
    },
    /// Other functions of the IOMMU group belong to the host.
    #[error("group {group} is not viable: {}", members(others))]
    NotViable {
        /// Number of the IOMMU group.
        group: u32,
        /// Addresses and drivers of these functions.
        others: Vec<(PciAddress, String)>,
    },
    /// The kernel accepted the request, but did not bind the function.
    #[error(
        "the kernel did not bind {address} to vfio-pci (it is bound to {}); `dmesg` may tell why",
        driver.as_deref().unwrap_or("no driver")
    )]
    Refused {
        /// Address of the function.
        address: PciAddress,
        /// Driver that the function is bound to now.
        driver: Option<String>,
    },
    /// Only root may write to the file.
    #[error("no permission to write {}; run this as root (`sudo`)", .0.display())]
    Permission(PathBuf),
    /// A file of sysfs has other contents than expected.
    #[error("{} has `{text}`, which is no {what}", path.display())]
    Malformed {
        /// Path of the file.
        path: PathBuf,
        /// Text that was found.
        text: String,
        /// Description of the text that was expected.
        what: &'static str,
    },
    /// A file of sysfs cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
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
    /// Makes the error for a file that cannot be written.
    pub(crate) fn write(path: PathBuf, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::Permission(path)
            }
            _ => Self::Io { path, source },
        }
    }
}
