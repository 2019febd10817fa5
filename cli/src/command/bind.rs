//! `drdma bind` and `drdma unbind`: the driver that a card is bound to.

use clap::Args;
use drdma_driver::pci::{Binder, PciAddress};
use serde_json::json;

use super::{Failure, SysfsArguments, say};

/// Take a card from the host's driver and give it to vfio-pci, for `--device vfio:ADDRESS`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  drdma bind 0000:65:00.0
  drdma bind 0000:65:00.0 --json")]
pub struct BindArguments {
    /// The card's address, as `drdma devices` lists it.
    address: String,
    /// Take the device even if it is no card.
    #[arg(long)]
    force: bool,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    sysfs: SysfsArguments,
}

/// Give a card back to the host's driver.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  drdma unbind 0000:65:00.0
  drdma unbind 0000:65:00.0 --json")]
pub struct UnbindArguments {
    /// The card's address, as `drdma devices` lists it.
    address: String,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    sysfs: SysfsArguments,
}

/// Runs `drdma bind`.
pub fn bind(arguments: &BindArguments) -> Result<(), Failure> {
    let address: PciAddress = arguments.address.parse()?;
    let sysfs = arguments.sysfs.tree();
    let bound = Binder::new(sysfs.clone()).bind(address, arguments.force)?;
    let group = bound.group;
    if arguments.json {
        // Bound in any case; whether it can be used is one of the answers.
        let viable = sysfs.viable_group(address);
        let line = json!({
            "address": address.to_string(), "before": bound.before, "driver": "vfio-pci",
            "iommu_group": group, "ready": viable.is_ok(),
        });
        say(format_args!("{line:#}\n"))?;
        return Ok(viable.map(|_| ())?);
    }
    match bound.before.as_deref() {
        Some("vfio-pci") => {
            say(format_args!("{address} was bound to vfio-pci before (group {group})\n"))?
        }
        Some(driver) => say(format_args!("{address}: {driver} -> vfio-pci (group {group})\n"))?,
        None => say(format_args!("{address}: no driver -> vfio-pci (group {group})\n"))?,
    }
    // The device is bound, but not usable if another one of its group has a driver.
    sysfs.viable_group(address)?;
    say(format_args!("vfio:{address} is ready for whoever may open /dev/vfio/{group}\n"))?;
    Ok(())
}

/// Runs `drdma unbind`.
pub fn unbind(arguments: &UnbindArguments) -> Result<(), Failure> {
    let address: PciAddress = arguments.address.parse()?;
    let unbound = Binder::new(arguments.sysfs.tree()).unbind(address)?;
    if arguments.json {
        let line = json!({
            "address": address.to_string(), "before": "vfio-pci", "driver": unbound.driver,
        });
        return say(format_args!("{line:#}\n"));
    }
    say(format_args!(
        "{address}: vfio-pci -> {}\n",
        unbound.driver.as_deref().unwrap_or("no driver")
    ))?;
    Ok(())
}
