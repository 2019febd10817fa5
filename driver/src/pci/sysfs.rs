//! PCI functions in sysfs.

use std::{
    fmt,
    fs::{self, File},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use memmap2::MmapOptions;
use serde::Serialize;

use super::{Bar, Firmware, PciAddress, PciError};

/// Drivers of the host that leave a group viable: they do no DMA on behalf of the kernel.
const HARMLESS: [&str; 3] = ["pcieport", "pci-stub", "shpchp"];
/// Number of bytes of a BAR that are mapped for reading ids: less than the offset of Corundum's
/// MSI-X table.
const LOOK: usize = 0x1_0000;
/// Offset of the command register in configuration space.
const COMMAND: u64 = 4;
/// Bit of the command register: the function answers at its BARs.
const MEMORY: u16 = 1 << 1;

/// Ids of a function: vendor and device, and those of the board that it sits on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Ids {
    /// Vendor of the function.
    pub vendor: u16,
    /// Device id of the function.
    pub device: u16,
    /// Vendor of the board.
    pub subsystem_vendor: u16,
    /// Id of the board.
    pub subsystem_device: u16,
}

impl Ids {
    /// Ids of all cards that Corundum runs on: vendor and device.
    pub const CORUNDUM: &str = "1234:1001";

    /// True if the function is a card that Corundum runs on.
    pub fn is_corundum(&self) -> bool {
        self.to_string() == Self::CORUNDUM
    }
}

impl fmt::Display for Ids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:04x}", self.vendor, self.device)
    }
}

/// Width and speed of a PCIe link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Link {
    /// Number of lanes.
    pub width: u32,
    /// Transfers per nanosecond and lane: 8 is Gen3, 16 is Gen4.
    pub gigatransfers: f64,
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "x{} {} GT/s", self.width, self.gigatransfers)
    }
}

/// A PCI function.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PciDevice {
    /// Address of the function.
    pub address: PciAddress,
    /// Ids of the function.
    #[serde(flatten)]
    pub ids: Ids,
    /// Driver that the function is bound to.
    pub driver: Option<String>,
    /// Number of the function's IOMMU group; `None` if it is behind no IOMMU.
    pub iommu_group: Option<u32>,
    /// Current state of the link.
    pub link: Option<Link>,
    /// Best state of the link that the function supports.
    pub best_link: Option<Link>,
}

/// A tree of sysfs.
#[derive(Clone, Debug)]
pub struct Sysfs {
    root: PathBuf,
}

impl Default for Sysfs {
    fn default() -> Self {
        Self::at("/sys")
    }
}

impl Sysfs {
    /// The tree that is mounted at `root`, normally `/sys`.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder of the PCI bus.
    pub fn bus(&self) -> PathBuf {
        self.root.join("bus/pci")
    }

    /// The folder of a function, whether it exists or not.
    pub fn folder(&self, address: PciAddress) -> PathBuf {
        self.bus().join("devices").join(address.to_string())
    }

    /// Returns all functions, in order of their addresses.
    ///
    /// # Errors
    /// Sysfs cannot be read.
    pub fn devices(&self) -> Result<Vec<PciDevice>, PciError> {
        let addresses = self.addresses(&self.bus().join("devices"))?;
        addresses.into_iter().map(|address| self.device(address)).collect()
    }

    fn addresses(&self, folder: &Path) -> Result<Vec<PciAddress>, PciError> {
        let failed = |source| PciError::Io { path: folder.to_owned(), source };
        let mut addresses = Vec::new();
        for entry in fs::read_dir(folder).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            // An IOMMU group may hold other devices than PCI functions; these have other names.
            addresses.extend(name.to_str().and_then(|name| name.parse::<PciAddress>().ok()));
        }
        addresses.sort();
        Ok(addresses)
    }

    /// Returns one function.
    ///
    /// # Errors
    /// The function does not exist, or sysfs cannot be read.
    pub fn device(&self, address: PciAddress) -> Result<PciDevice, PciError> {
        let folder = self.folder(address);
        if !folder.exists() {
            return Err(PciError::NoDevice(address));
        }
        let id = |name| hexadecimal(&folder.join(name));
        let group = link_name(&folder.join("iommu_group"))?;
        let group = match group {
            None => None,
            Some(text) => match text.parse() {
                Ok(number) => Some(number),
                Err(_) => {
                    let path = folder.join("iommu_group");
                    return Err(PciError::Malformed { path, text, what: "group's number" });
                }
            },
        };
        Ok(PciDevice {
            address,
            ids: Ids {
                vendor: id("vendor")?,
                device: id("device")?,
                subsystem_vendor: id("subsystem_vendor")?,
                subsystem_device: id("subsystem_device")?,
            },
            driver: link_name(&folder.join("driver"))?,
            iommu_group: group,
            link: link(&folder, "current_link")?,
            best_link: link(&folder, "max_link")?,
        })
    }

    /// Returns the function's IOMMU group, if this process may use everything in it.
    ///
    /// # Errors
    /// There is no such function, no IOMMU, or another function of the group is bound to a driver
    /// of the host.
    pub fn viable_group(&self, address: PciAddress) -> Result<u32, PciError> {
        let group = self.device(address)?.iommu_group.ok_or(PciError::NoIommu(address))?;
        let others = self.host_drivers(address)?;
        if others.is_empty() {
            return Ok(group);
        }
        Err(PciError::NotViable { group, others })
    }

    /// Returns the other functions of a function's IOMMU group that are bound to drivers of the
    /// host.
    fn host_drivers(&self, address: PciAddress) -> Result<Vec<(PciAddress, String)>, PciError> {
        let mut others = Vec::new();
        for other in self.addresses(&self.folder(address).join("iommu_group/devices"))? {
            let driver = link_name(&self.folder(other).join("driver"))?;
            let Some(driver) = driver.filter(|_| other != address) else { continue };
            if !HARMLESS.contains(&driver.as_str()) && !driver.starts_with("vfio") {
                others.push((other, driver));
            }
        }
        Ok(others)
    }

    /// Reads the identification of a Corundum card, if possible: by root, of a function that is
    /// enabled and not bound to `vfio-pci`.
    pub fn firmware(&self, address: PciAddress) -> Option<Firmware> {
        Firmware::read(&self.bar(address, 0)?)
    }

    /// Maps the start of a function's BAR for reading, if possible.
    pub fn bar(&self, address: PciAddress, index: u32) -> Option<Bar> {
        let folder = self.folder(address);
        // A function that is not enabled does not answer.
        let on = fs::read_to_string(folder.join("enable")).ok()?;
        let mut command = [0; 2];
        let config = File::open(folder.join("config")).ok()?;
        config.read_exact_at(&mut command, COMMAND).ok()?;
        if on.trim() == "0" || u16::from_le_bytes(command) & MEMORY == 0 {
            return None;
        }
        let file = File::open(folder.join(format!("resource{index}"))).ok()?;
        let size = usize::try_from(file.metadata().ok()?.len()).ok()?;
        let mapping = MmapOptions::new().len(size.min(LOOK)).map_raw_read_only(&file).ok()?;
        Some(Bar::read_only(mapping))
    }
}

/// Returns the name that a link points to; `None` if there is no link.
fn link_name(path: &Path) -> Result<Option<String>, PciError> {
    match fs::read_link(path) {
        Ok(target) => Ok(target.file_name().map(|name| name.to_string_lossy().into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(PciError::Io { path: path.to_owned(), source }),
    }
}

/// Returns the text of a file; `None` if there is no file.
fn text(path: &Path) -> Result<Option<String>, PciError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(PciError::Io { path: path.to_owned(), source }),
    }
}

fn hexadecimal(path: &Path) -> Result<u16, PciError> {
    let text = text(path)?.unwrap_or_default();
    let digits = text.strip_prefix("0x").unwrap_or_default();
    u16::from_str_radix(digits, 16).map_err(|_| PciError::Malformed {
        path: path.to_owned(),
        text,
        what: "id",
    })
}

/// Reads a PCIe link; `None` if the function has none, or it is down.
fn link(folder: &Path, name: &str) -> Result<Option<Link>, PciError> {
    let width = text(&folder.join(format!("{name}_width")))?;
    let speed = text(&folder.join(format!("{name}_speed")))?;
    // A link that is down has width 0 or 63 (255 in older kernels), and speed "Unknown".
    let width = width.and_then(|text| text.parse().ok()).filter(|width| (1..=32).contains(width));
    let speed = speed.and_then(|text| text.split(' ').next()?.parse().ok());
    Ok(width.zip(speed).map(|(width, gigatransfers)| Link { width, gigatransfers }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pci::fake::{FakeSysfs, address};

    #[test]
    fn functions_are_listed_by_address_with_what_there_is_to_know() {
        let fake = FakeSysfs::new();
        fake.card("0000:65:00.0", Some(14), Some("mqnic"));
        fake.device("0000:00:1f.0", 0x8086, 0xa30e, None, None);
        let devices = fake.sysfs().devices().unwrap();
        assert_eq!(devices.len(), 2);
        let expected = PciDevice {
            address: address("0000:00:1f.0"),
            ids: Ids { vendor: 0x8086, device: 0xa30e, subsystem_vendor: 0, subsystem_device: 0 },
            driver: None,
            iommu_group: None,
            link: None,
            best_link: None,
        };
        assert_eq!(devices[0], expected);
        assert!(!devices[0].ids.is_corundum());
        let card = &devices[1];
        assert!(card.ids.is_corundum());
        assert_eq!(card.ids.subsystem_device, 0x9032);
        assert_eq!((card.driver.as_deref(), card.iommu_group), (Some("mqnic"), Some(14)));
        assert_eq!(card.link.unwrap().to_string(), "x8 8 GT/s");
        assert_eq!(card.best_link, Some(Link { width: 16, gigatransfers: 8.0 }));
    }

    #[test]
    fn a_link_that_is_down_is_none() {
        let fake = FakeSysfs::new();
        fake.card("0000:65:00.0", Some(14), None);
        let card = address("0000:65:00.0");
        fake.set(card, "current_link_speed", "Unknown\n");
        assert_eq!(fake.sysfs().device(card).unwrap().link, None);
        fake.set(card, "current_link_speed", "2.5 GT/s PCIe\n");
        for (width, link) in [("0", None), ("255", None), ("4", Some(4))] {
            fake.set(card, "current_link_width", width);
            assert_eq!(fake.sysfs().device(card).unwrap().link.map(|link| link.width), link);
        }
    }

    #[test]
    fn a_function_that_is_not_there_and_files_that_make_no_sense_are_named() {
        let fake = FakeSysfs::new();
        fake.card("0000:65:00.0", Some(14), None);
        let card = address("0000:65:00.0");
        let error = fake.sysfs().device(address("0000:66:00.0")).unwrap_err().to_string();
        assert!(error.starts_with("there is no PCI device 0000:66:00.0"), "{error}");
        fake.set(card, "vendor", "1234\n");
        let error = fake.sysfs().devices().unwrap_err().to_string();
        assert!(error.ends_with("/0000:65:00.0/vendor has `1234`, which is no id"), "{error}");
        let error = Sysfs::at("/nowhere").devices().unwrap_err().to_string();
        assert!(error.starts_with("/nowhere/bus/pci/devices: "), "{error}");
    }

    #[test]
    fn a_group_without_a_number_is_named() {
        let fake = FakeSysfs::new();
        fake.card("0000:65:00.0", None, None);
        let card = address("0000:65:00.0");
        fake.link(card, "iommu_group", "../../kernel/iommu_groups/odd");
        let error = fake.sysfs().device(card).unwrap_err().to_string();
        assert!(error.ends_with("iommu_group has `odd`, which is no group's number"), "{error}");
    }

    #[test]
    fn a_group_is_viable_if_the_host_drives_nothing_else_in_it() {
        let fake = FakeSysfs::new();
        fake.card("0000:65:00.0", Some(14), Some("vfio-pci"));
        for (other, driver) in
            [("0000:64:00.0", "pcieport"), ("0000:65:00.3", "vfio-pci"), ("0000:65:00.4", "")]
        {
            let driver = Some(driver).filter(|driver| !driver.is_empty());
            fake.device(other, 0x8086, 1, Some(14), driver);
        }
        let card = address("0000:65:00.0");
        assert_eq!(fake.sysfs().viable_group(card).unwrap(), 14);
        fake.device("0000:65:00.1", 0x8086, 0x1572, Some(14), Some("i40e"));
        assert_eq!(
            fake.sysfs().viable_group(card).unwrap_err().to_string(),
            "group 14 is not viable: 0000:65:00.1 is still bound to i40e; bind it to vfio-pci"
        );
        fake.device("0000:65:00.2", 0x8086, 0x1572, Some(14), Some("i40e"));
        assert_eq!(
            fake.sysfs().viable_group(card).unwrap_err().to_string(),
            "group 14 is not viable: 0000:65:00.1 is still bound to i40e, 0000:65:00.2 is still \
             bound to i40e; bind them to vfio-pci"
        );
        fake.card("0000:66:00.0", None, None);
        let error = fake.sysfs().viable_group(address("0000:66:00.0")).unwrap_err().to_string();
        assert!(error.starts_with("0000:66:00.0 is behind no IOMMU: "), "{error}");
    }

    #[test]
    fn ids_are_read_from_a_function_that_is_on() {
        let fake = FakeSysfs::new();
        fake.card("0000:65:00.0", Some(14), Some("mqnic"));
        let card = address("0000:65:00.0");
        assert_eq!(fake.sysfs().firmware(card).unwrap().board_id, 0x10ee_9032);
        fake.set(card, "enable", "0\n");
        assert_eq!(fake.sysfs().firmware(card), None, "off");
        fake.set(card, "enable", "1\n");
        fake.set(card, "config", "\x34\x12\x01\x10\0\0\0\0");
        assert_eq!(fake.sysfs().firmware(card), None, "decodes nothing");
        fake.set(card, "config", "\x34\x12\x01\x10\x02\0\0\0");
        assert!(fake.sysfs().firmware(card).is_some());
        assert!(fake.sysfs().bar(card, 3).is_none(), "no such BAR");
    }
}
