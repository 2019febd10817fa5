//! Binding a function to `vfio-pci`, so that this process may drive it, and giving it back to the
//! host.

use std::{
    fs::OpenOptions,
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::{PciAddress, PciError, Sysfs};

/// The driver that hands functions to processes.
const VFIO: &str = "vfio-pci";

/// Writing to files of sysfs, by which the kernel is controlled.
pub trait Attributes {
    /// Writes `text` in one piece.
    ///
    /// # Errors
    /// The error that the kernel returned.
    fn store(&self, path: &Path, text: &str) -> io::Result<()>;
}

/// The running kernel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kernel;

impl Attributes for Kernel {
    fn store(&self, path: &Path, text: &str) -> io::Result<()> {
        OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
    }
}

/// Result of [`Binder::bind`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Number of the function's IOMMU group.
    pub group: u32,
    /// Driver that the function was bound to before; `vfio-pci` if it already was.
    pub before: Option<String>,
}

/// Result of [`Binder::unbind`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unbound {
    /// Driver that the function is bound to now; `None` if the host has no driver for it.
    pub driver: Option<String>,
}

/// Binds functions to `vfio-pci`.
#[derive(Clone, Debug)]
pub struct Binder<A = Kernel> {
    sysfs: Sysfs,
    attributes: A,
}

impl Binder {
    /// A binder for the functions of the running kernel, whose sysfs is given.
    pub fn new(sysfs: Sysfs) -> Self {
        Self::with(sysfs, Kernel)
    }
}

impl<A: Attributes> Binder<A> {
    /// A binder that writes through `attributes`.
    pub fn with(sysfs: Sysfs, attributes: A) -> Self {
        Self { sysfs, attributes }
    }

    fn store(&self, path: PathBuf, text: &str) -> Result<(), PciError> {
        let result = self.attributes.store(&path, text);
        result.map_err(|source| PciError::write(path, source))
    }

    /// Takes a function from its driver and binds it to `vfio-pci`, until the next boot or until
    /// [`unbind`](Self::unbind). Only cards are taken, unless `force` is set. Nothing happens if
    /// `vfio-pci` has it already.
    ///
    /// # Errors
    /// There is no such function, no IOMMU or no `vfio-pci`; the function is no card; this process
    /// has no permission; or the kernel refuses, and the function is bound to its earlier driver
    /// again. It is no error that others in the group belong to the host: they may be bound next.
    pub fn bind(&self, address: PciAddress, force: bool) -> Result<Bound, PciError> {
        let device = self.sysfs.device(address)?;
        let group = device.iommu_group.ok_or(PciError::NoIommu(address))?;
        if !self.sysfs.bus().join("drivers").join(VFIO).exists() {
            return Err(PciError::NoModule);
        }
        let bound = Bound { group, before: device.driver };
        if bound.before.as_deref() == Some(VFIO) {
            return Ok(bound);
        }
        if !device.ids.is_corundum() && !force {
            return Err(PciError::NotACard { address, ids: device.ids });
        }
        let driver = self.hand_over(address, VFIO)?;
        if driver.as_deref() == Some(VFIO) {
            return Ok(bound);
        }
        // Returns the function to the host's driver that it was taken from.
        let driver = self.hand_over(address, "\n")?;
        Err(PciError::Refused { address, driver })
    }

    /// Gives a function back to the host's driver for it.
    ///
    /// # Errors
    /// There is no such function, it is not bound to `vfio-pci`, or this process has no permission.
    pub fn unbind(&self, address: PciAddress) -> Result<Unbound, PciError> {
        let driver = self.sysfs.device(address)?.driver;
        if driver.as_deref() != Some(VFIO) {
            return Err(PciError::NotBound { address, driver });
        }
        let driver = self.hand_over(address, "\n")?;
        Ok(Unbound { driver })
    }

    /// Unbinds a function and lets the kernel probe for a driver: `wanted`, or any if that is
    /// empty.
    fn hand_over(&self, address: PciAddress, wanted: &str) -> Result<Option<String>, PciError> {
        let folder = self.sysfs.folder(address);
        let text = address.to_string();
        self.store(folder.join("driver_override"), wanted)?;
        if self.sysfs.device(address)?.driver.is_some() {
            self.store(folder.join("driver/unbind"), &text)?;
        }
        // The kernel answers EINVAL or another error if the driver does not take the function; only
        // the resulting driver matters.
        let probed = self.store(self.sysfs.bus().join("drivers_probe"), &text);
        if let Err(error @ PciError::Permission(_)) = probed {
            return Err(error);
        }
        Ok(self.sysfs.device(address)?.driver)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pci::fake::{FakeSysfs, address};

    const CARD: &str = "0000:65:00.0";

    fn binder(fake: &FakeSysfs) -> Binder<&FakeSysfs> {
        Binder::with(fake.sysfs(), fake)
    }

    #[test]
    fn a_card_goes_to_vfio_and_back_to_the_hosts_driver() {
        let fake = FakeSysfs::new();
        fake.card(CARD, Some(14), Some("mqnic"));
        let bound = binder(&fake).bind(address(CARD), false).unwrap();
        assert_eq!(bound, Bound { group: 14, before: Some("mqnic".into()) });
        let driver = || fake.sysfs().device(address(CARD)).unwrap().driver;
        assert_eq!(driver().as_deref(), Some("vfio-pci"));
        assert_eq!(
            fake.stores(),
            [
                "devices/0000:65:00.0/driver_override=vfio-pci",
                "devices/0000:65:00.0/driver/unbind=0000:65:00.0",
                "drivers_probe=0000:65:00.0",
            ]
        );
        let unbound = binder(&fake).unbind(address(CARD)).unwrap();
        assert_eq!(unbound, Unbound { driver: Some("mqnic".into()) });
        assert_eq!(driver().as_deref(), Some("mqnic"));
    }

    #[test]
    fn a_card_without_a_driver_is_bound_and_then_has_none_again() {
        let fake = FakeSysfs::new();
        fake.card(CARD, Some(14), None);
        let bound = binder(&fake).bind(address(CARD), false).unwrap();
        assert_eq!(bound, Bound { group: 14, before: None });
        let unbound = binder(&fake).unbind(address(CARD)).unwrap();
        assert_eq!(unbound, Unbound { driver: None });
    }

    #[test]
    fn what_is_bound_is_left_alone() {
        let fake = FakeSysfs::new();
        fake.card(CARD, Some(14), Some("vfio-pci"));
        let bound = binder(&fake).bind(address(CARD), false).unwrap();
        assert_eq!(bound.before.as_deref(), Some("vfio-pci"));
        assert!(fake.stores().is_empty());
    }

    #[test]
    fn other_devices_are_taken_only_by_force() {
        let fake = FakeSysfs::new();
        fake.device("0000:01:00.0", 0x144d, 0xa808, Some(3), Some("nvme"));
        let disk = address("0000:01:00.0");
        assert_eq!(
            binder(&fake).bind(disk, false).unwrap_err().to_string(),
            "0000:01:00.0 is 144d:a808, not a Corundum card (1234:1001); to take it from the host \
             all the same, use `--force`"
        );
        assert!(fake.stores().is_empty());
        assert!(binder(&fake).bind(disk, true).is_ok());
    }

    #[test]
    fn nothing_is_touched_if_something_is_missing() {
        let fake = FakeSysfs::new();
        let fails = |at| binder(&fake).bind(address(at), false).unwrap_err().to_string();
        assert!(fails(CARD).starts_with("there is no PCI device 0000:65:00.0"));
        fake.card(CARD, None, Some("mqnic"));
        assert!(fails(CARD).starts_with("0000:65:00.0 is behind no IOMMU: turn on VT-d"));
        fake.card("0000:66:00.0", Some(15), Some("mqnic"));
        fake.remove_driver("vfio-pci");
        assert_eq!(
            fails("0000:66:00.0"),
            "the kernel module vfio-pci is not loaded; load it with `modprobe vfio-pci`"
        );
        assert!(fake.stores().is_empty());
    }

    #[test]
    fn a_refusal_gives_the_card_back() {
        let fake = FakeSysfs::new();
        fake.card(CARD, Some(14), Some("mqnic"));
        fake.refuse_vfio();
        assert_eq!(
            binder(&fake).bind(address(CARD), false).unwrap_err().to_string(),
            "the kernel did not bind 0000:65:00.0 to vfio-pci (it is bound to mqnic); `dmesg` may \
             tell why"
        );
        let driver = fake.sysfs().device(address(CARD)).unwrap().driver;
        assert_eq!(driver.as_deref(), Some("mqnic"));
    }

    #[test]
    fn only_what_vfio_has_is_given_back() {
        let fake = FakeSysfs::new();
        fake.card(CARD, Some(14), Some("mqnic"));
        fake.card("0000:66:00.0", Some(15), None);
        let fails = |at| binder(&fake).unbind(address(at)).unwrap_err().to_string();
        assert_eq!(fails(CARD), "0000:65:00.0 is bound to mqnic, not to vfio-pci");
        assert_eq!(fails("0000:66:00.0"), "0000:66:00.0 is bound to no driver, not to vfio-pci");
        assert!(fails("0000:67:00.0").starts_with("there is no PCI device"));
        assert!(fake.stores().is_empty());
    }

    #[test]
    fn who_may_not_is_told_so() {
        for (kind, what) in [
            (io::ErrorKind::PermissionDenied, "driver_override"),
            (io::ErrorKind::ReadOnlyFilesystem, "driver_override"),
            (io::ErrorKind::PermissionDenied, "driver/unbind"),
            (io::ErrorKind::PermissionDenied, "drivers_probe"),
        ] {
            let fake = FakeSysfs::new();
            fake.card(CARD, Some(14), Some("mqnic"));
            fake.fail(what, kind);
            let error = binder(&fake).bind(address(CARD), false).unwrap_err().to_string();
            assert!(error.starts_with("no permission to write /"), "{error}");
            assert!(error.ends_with(&format!("{what}; run this as root (`sudo`)")), "{error}");
        }
        let fake = FakeSysfs::new();
        fake.card(CARD, Some(14), Some("mqnic"));
        fake.fail("driver_override", io::ErrorKind::ResourceBusy);
        let error = binder(&fake).bind(address(CARD), false).unwrap_err();
        assert!(matches!(error, PciError::Io { .. }), "{error}");
    }

    #[test]
    fn the_kernels_files_are_written_and_never_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("driver_override");
        assert_eq!(Kernel.store(&path, "x").unwrap_err().kind(), io::ErrorKind::NotFound);
        std::fs::write(&path, "").unwrap();
        Kernel.store(&path, "vfio-pci").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "vfio-pci");
    }
}
