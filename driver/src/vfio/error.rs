//! Errors of opening and using a card, with advice.

use std::io;

use crate::{
    CardError, OpenError,
    pci::{PciAddress, PciError},
    vfio::Interrupt,
};

/// Error of opening or using a PCI function.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VfioError {
    /// The URI is not `vfio:` and an address.
    #[error("`{0}` names no card: it must look like vfio:0000:65:00.0")]
    Uri(String),
    /// The function does not exist, or its group is not viable.
    #[error(transparent)]
    Pci(#[from] PciError),
    /// The function is not bound to `vfio-pci`.
    #[error(
        "{address} is bound to {}; bind it to vfio-pci with `drdma bind {address}`",
        driver.as_deref().unwrap_or("no driver")
    )]
    NotBound {
        /// Address of the function.
        address: PciAddress,
        /// Driver that the function is bound to.
        driver: Option<String>,
    },
    /// The kernel has no VFIO.
    #[error("there is no /dev/vfio/vfio; load VFIO with `modprobe vfio-pci`")]
    NoVfio,
    /// The file of the group does not exist.
    #[error(
        "there is no /dev/vfio/{0}; if this is a container, hand it in, and /dev/vfio/vfio as well"
    )]
    NoGroupFile(u32),
    /// This user may not open the file of the group.
    #[error(
        "no permission to open /dev/vfio/{0}; give it to this user (`sudo chown $USER \
         /dev/vfio/{0}`)"
    )]
    GroupPermission(u32),
    /// Another process has opened the group.
    #[error("group {0} is in use by another process, and a card has one owner at a time")]
    GroupBusy(u32),
    /// The IOMMU cannot isolate the interrupts of one function from those of another.
    #[error(
        "the IOMMU cannot isolate interrupts: turn on interrupt remapping in the firmware's setup, \
         or accept the risk (`modprobe vfio_iommu_type1 allow_unsafe_interrupts=1`)"
    )]
    UnsafeInterrupts,
    /// Another error of VFIO.
    #[error("VFIO: {0}")]
    Vfio(vfio_ioctls::VfioError),
    /// A system call failed.
    #[error("cannot {what}: {source}")]
    Io {
        /// Purpose of the system call.
        what: &'static str,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The function has no such BAR, or a smaller one.
    #[error("BAR{index} has {found} B, and {needed} B are needed")]
    Bar {
        /// Index of the BAR.
        index: u32,
        /// Size of the BAR in bytes.
        found: u64,
        /// Size in bytes that is needed.
        needed: u64,
    },
    /// The function has fewer interrupts than asked for.
    #[error("the device has {found} {kind} vectors, and {needed} are needed")]
    Vectors {
        /// Kind of interrupt.
        kind: Interrupt,
        /// Number of vectors that the function has.
        found: u32,
        /// Number of vectors that are needed.
        needed: u32,
    },
    /// The card is in a shell whose port stays closed: frames could neither leave nor arrive.
    #[error(
        "the card's Ethernet port cannot be opened: {}",
        match mapped {
            true => "its registers are not found in BAR0",
            false => "BAR0 cannot be mapped as a whole, for which Linux 4.16 or newer is needed",
        }
    )]
    Port {
        /// BAR0 could be mapped completely.
        mapped: bool,
    },
    /// The function answers, but is no card for this software.
    #[error(transparent)]
    Card(#[from] OpenError),
}

impl From<CardError> for VfioError {
    fn from(error: CardError) -> Self {
        Self::Card(error.into())
    }
}

impl VfioError {
    /// True if the request is wrong, not the machine.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Uri(_) | Self::Pci(PciError::Address(_)))
    }

    pub(crate) fn io(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what, source }
    }

    /// Converts an error on opening `group` into one with advice.
    pub(crate) fn opening(group: u32, error: vfio_ioctls::VfioError) -> Self {
        use vfio_ioctls::VfioError as Error;
        match &error {
            Error::OpenContainer(source) if source.kind() == io::ErrorKind::NotFound => {
                Self::NoVfio
            }
            Error::OpenGroup(source, _) => match source.kind() {
                io::ErrorKind::NotFound => Self::NoGroupFile(group),
                io::ErrorKind::PermissionDenied => Self::GroupPermission(group),
                io::ErrorKind::ResourceBusy => Self::GroupBusy(group),
                _ => Self::Vfio(error),
            },
            Error::ContainerSetIOMMU(source) if source.errno() == libc::EPERM => {
                Self::UnsafeInterrupts
            }
            _ => Self::Vfio(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use vfio_ioctls::VfioError as Error;
    use vmm_sys_util::errno;

    use super::*;

    #[test]
    fn errors_on_the_way_to_a_group_say_what_to_do() {
        let os = io::Error::from_raw_os_error;
        let text = |error| VfioError::opening(14, error).to_string();
        let group = |code| text(Error::OpenGroup(os(code), "14".into()));
        assert_eq!(
            text(Error::OpenContainer(os(libc::ENOENT))),
            "there is no /dev/vfio/vfio; load VFIO with `modprobe vfio-pci`"
        );
        assert_eq!(
            text(Error::OpenContainer(os(libc::EACCES))),
            "VFIO: failed to open /dev/vfio/vfio container: Permission denied (os error 13)"
        );
        assert!(
            group(libc::ENOENT).starts_with("there is no /dev/vfio/14; if this is a container")
        );
        assert_eq!(
            group(libc::EACCES),
            "no permission to open /dev/vfio/14; give it to this user (`sudo chown $USER \
             /dev/vfio/14`)"
        );
        assert!(group(libc::EBUSY).starts_with("group 14 is in use by another process"));
        assert!(group(libc::EIO).contains("failed to open /dev/vfio/14 group"));
        let iommu = |code| text(Error::ContainerSetIOMMU(errno::Error::new(code)));
        assert!(iommu(libc::EPERM).contains("allow_unsafe_interrupts=1"));
        assert!(iommu(libc::ENODEV).contains("No such device"));
    }

    #[test]
    fn usage_is_told_from_trouble() {
        assert!(VfioError::Uri("vfio".into()).is_usage());
        assert!(VfioError::from(PciError::Address("x".into())).is_usage());
        assert!(!VfioError::NoVfio.is_usage());
    }
}
