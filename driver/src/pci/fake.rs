//! A tree like sysfs in a temporary folder, and a kernel that reacts to writes.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use super::{PciAddress, Sysfs, bind::Attributes};

pub(crate) fn address(text: &str) -> PciAddress {
    text.parse().unwrap()
}

pub(crate) struct FakeSysfs {
    root: TempDir,
    /// Names of the host's drivers, by function.
    native: RefCell<HashMap<String, String>>,
    stores: RefCell<Vec<String>>,
    failing: RefCell<Option<(String, io::ErrorKind)>>,
    refusing: Cell<bool>,
}

impl FakeSysfs {
    /// A tree without functions, with the driver `vfio-pci`.
    pub(crate) fn new() -> Self {
        let fake = Self {
            root: tempfile::tempdir().unwrap(),
            native: RefCell::default(),
            stores: RefCell::default(),
            failing: RefCell::default(),
            refusing: Cell::new(false),
        };
        fs::create_dir_all(fake.bus().join("devices")).unwrap();
        fs::write(fake.bus().join("drivers_probe"), "").unwrap();
        fake.add_driver("vfio-pci");
        fake
    }

    pub(crate) fn sysfs(&self) -> Sysfs {
        Sysfs::at(self.root.path())
    }

    fn bus(&self) -> PathBuf {
        self.root.path().join("bus/pci")
    }

    fn add_driver(&self, name: &str) {
        let folder = self.bus().join("drivers").join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("unbind"), "").unwrap();
    }

    pub(crate) fn remove_driver(&self, name: &str) {
        fs::remove_dir_all(self.bus().join("drivers").join(name)).unwrap();
    }

    /// From now on, `vfio-pci` refuses all functions.
    pub(crate) fn refuse_vfio(&self) {
        self.refusing.set(true);
    }

    /// From now on, writing to files whose path ends with `path` fails.
    pub(crate) fn fail(&self, path: &str, kind: io::ErrorKind) {
        *self.failing.borrow_mut() = Some((path.to_owned(), kind));
    }

    /// All writes so far.
    pub(crate) fn stores(&self) -> Vec<String> {
        self.stores.borrow().clone()
    }

    pub(crate) fn set(&self, address: PciAddress, file: &str, text: &str) {
        fs::write(self.sysfs().folder(address).join(file), text).unwrap();
    }

    pub(crate) fn link(&self, address: PciAddress, name: &str, target: &str) {
        symlink(target, self.sysfs().folder(address).join(name)).unwrap();
    }

    fn bind(&self, address: PciAddress, driver: &str) {
        self.link(address, "driver", &format!("../../bus/pci/drivers/{driver}"));
    }

    /// Adds a function.
    pub(crate) fn device(
        &self,
        name: &str,
        vendor: u16,
        device: u16,
        group: Option<u32>,
        driver: Option<&str>,
    ) {
        // As in the real tree, the bus contains links to folders elsewhere.
        let folder = self.root.path().join("devices").join(name);
        fs::create_dir_all(&folder).unwrap();
        symlink(Path::new("../../../devices").join(name), self.bus().join("devices").join(name))
            .unwrap();
        let address = address(name);
        for (file, text) in [
            ("vendor", format!("{vendor:#06x}\n")),
            ("device", format!("{device:#06x}\n")),
            ("subsystem_vendor", "0x0000\n".into()),
            ("subsystem_device", "0x0000\n".into()),
            ("driver_override", "(null)\n".into()),
        ] {
            self.set(address, file, &text);
        }
        if let Some(group) = group {
            let devices = self.root.path().join(format!("kernel/iommu_groups/{group}/devices"));
            fs::create_dir_all(&devices).unwrap();
            symlink(Path::new("../../../../devices").join(name), devices.join(name)).unwrap();
            self.link(address, "iommu_group", &format!("../../kernel/iommu_groups/{group}"));
        }
        if let Some(driver) = driver {
            self.add_driver(driver);
            self.bind(address, driver);
            if driver != "vfio-pci" {
                self.native.borrow_mut().insert(name.to_owned(), driver.to_owned());
            }
        }
    }

    /// Adds a U50 with Corundum, in a slot of eight lanes.
    pub(crate) fn card(&self, name: &str, group: Option<u32>, driver: Option<&str>) {
        self.device(name, 0x1234, 0x1001, group, driver);
        let address = address(name);
        for (file, text) in [
            ("subsystem_vendor", "0x10ee\n"),
            ("subsystem_device", "0x9032\n"),
            ("current_link_width", "8\n"),
            ("current_link_speed", "8.0 GT/s PCIe\n"),
            ("max_link_width", "16\n"),
            ("max_link_speed", "8.0 GT/s PCIe\n"),
            ("enable", "1\n"),
            ("config", "\x34\x12\x01\x10\x06\x04\x10\0"),
        ] {
            self.set(address, file, text);
        }
        let mut bar = vec![0; 0x2_0000];
        for (offset, word) in [(0, u32::MAX), (4, 0x100), (0x18, 0x10ee_9032)] {
            bar[offset..offset + 4].copy_from_slice(&word.to_le_bytes());
        }
        fs::write(self.sysfs().folder(address).join("resource0"), bar).unwrap();
    }

    fn probe(&self, address: PciAddress) -> io::Result<()> {
        let folder = self.sysfs().folder(address);
        if folder.join("driver").exists() {
            return Ok(());
        }
        let wanted = fs::read_to_string(folder.join("driver_override"))?;
        let wanted = match wanted.trim() {
            "" | "(null)" => self.native.borrow().get(&address.to_string()).cloned(),
            name => Some(name.to_owned()),
        };
        match wanted {
            Some(name) if name == "vfio-pci" && self.refusing.get() => {
                Err(io::ErrorKind::InvalidInput.into())
            }
            Some(name) => {
                self.bind(address, &name);
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Attributes for &FakeSysfs {
    fn store(&self, path: &Path, text: &str) -> io::Result<()> {
        if let Some((end, kind)) = &*self.failing.borrow()
            && path.ends_with(end)
        {
            return Err((*kind).into());
        }
        let name = path.strip_prefix(self.bus()).expect("in the bus").display().to_string();
        self.stores.borrow_mut().push(format!("{name}={}", text.trim()));
        match path.file_name().and_then(|name| name.to_str()) {
            Some("driver_override") => fs::write(path, text),
            Some("unbind") => fs::remove_file(self.sysfs().folder(address(text)).join("driver")),
            Some("drivers_probe") => self.probe(address(text)),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }
}
