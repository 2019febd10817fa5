//! The cards of this machine.

use comfy_table::{Table, presets::UTF8_FULL_CONDENSED};
use drdma_driver::{
    pci::{Firmware, Link, PciDevice, PciError, Sysfs},
    vfio,
};
use serde::Serialize;

/// A card, and what must be done before it can be used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Listed {
    /// Properties of the device in sysfs.
    #[serde(flatten)]
    pub device: PciDevice,
    /// True if `vfio:ADDRESS` can be opened by a user who may open its group's file.
    pub ready: bool,
    /// Step that is needed before the card is ready; `None` if it is.
    pub problem: Option<String>,
    /// What the card's registers say of its firmware: seen by root while the card is switched on and has no driver;
    /// or, if it is ready and not in use, by a user who may open it.
    pub firmware: Option<Firmware>,
}

/// The cards, or every PCI device if `all` is set.
///
/// # Errors
/// Sysfs cannot be read.
pub fn list(sysfs: &Sysfs, all: bool) -> Result<Vec<Listed>, PciError> {
    let devices = sysfs.devices()?.into_iter();
    devices
        .filter(|device| all || device.ids.is_corundum())
        .map(|device| {
            let problem = problem(sysfs, &device)?;
            // Registers of other devices are not read.
            let card = device.ids.is_corundum();
            let firmware = card.then(|| firmware_of(sysfs, &device)).flatten();
            Ok(Listed { device, ready: problem.is_none(), problem, firmware })
        })
        .collect()
}

fn firmware_of(sysfs: &Sysfs, device: &PciDevice) -> Option<Firmware> {
    match device.driver.as_deref() {
        // Only its owner may read the card's registers: the command is its owner for a moment.
        Some("vfio-pci") => vfio::firmware(sysfs, device.address),
        _ => sysfs.firmware(device.address),
    }
}

fn problem(sysfs: &Sysfs, device: &PciDevice) -> Result<Option<String>, PciError> {
    match sysfs.viable_group(device.address) {
        Ok(_) if device.driver.as_deref() == Some("vfio-pci") => Ok(None),
        Ok(_) => Ok(Some("not bound to vfio-pci".to_owned())),
        Err(error @ PciError::NotViable { .. }) => Ok(Some(error.to_string())),
        Err(PciError::NoIommu(_)) => Ok(Some("behind no IOMMU".to_owned())),
        Err(error) => Err(error),
    }
}

/// A list for people.
pub fn render(devices: &[Listed]) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header(["address", "device", "driver", "group", "link", "firmware", "state"]);
    for listed in devices {
        let device = &listed.device;
        let ids = device.ids;
        table.add_row([
            device.address.to_string(),
            format!("{ids} ({:04x}:{:04x})", ids.subsystem_vendor, ids.subsystem_device),
            device.driver.clone().unwrap_or_else(|| "-".to_owned()),
            device.iommu_group.map_or("-".to_owned(), |group| group.to_string()),
            link(device.link, device.best_link),
            firmware(listed.firmware),
            listed.problem.clone().unwrap_or_else(|| "ready".to_owned()),
        ]);
    }
    format!("{table}\n")
}

fn link(link: Option<Link>, best: Option<Link>) -> String {
    match (link, best) {
        (Some(link), Some(best)) if link != best => format!("{link} (of {best})"),
        (Some(link), _) => link.to_string(),
        (None, Some(best)) => format!("down (of {best})"),
        (None, None) => "-".to_owned(),
    }
}

fn firmware(firmware: Option<Firmware>) -> String {
    let Some(firmware) = firmware else { return "-".to_owned() };
    let [a, b, c, d] = firmware.firmware_version.to_be_bytes();
    let app = firmware.application.map_or("none".to_owned(), |id| format!("{id:08x}"));
    format!("Corundum {a}.{b}.{c}.{d}, commit {:08x}, app {app}", firmware.commit)
}
