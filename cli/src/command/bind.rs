//! `drdma bind` and `drdma unbind`: whose a card is.

use clap::Args;
use drdma_driver::pci::{Binder, PciAddress};

use super::{Failure, SysfsArguments};

/// Take a card from the host's driver and give it to vfio-pci, for `--device vfio:ADDRESS`.
#[derive(Debug, Args)]
pub struct BindArguments {
    /// The card's address, as `drdma devices` lists it.
    address: String,
    /// Take the device even if it is no card.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    sysfs: SysfsArguments,
}

/// Give a card back to the host's driver.
#[derive(Debug, Args)]
pub struct UnbindArguments {
    /// The card's address, as `drdma devices` lists it.
    address: String,
    #[command(flatten)]
    sysfs: SysfsArguments,
}

/// Runs `drdma bind`.
pub fn bind(arguments: &BindArguments) -> Result<(), Failure> {
    let address: PciAddress = arguments.address.parse()?;
    let sysfs = arguments.sysfs.tree();
    let bound = Binder::new(sysfs.clone()).bind(address, arguments.force)?;
    let group = bound.group;
    match bound.before.as_deref() {
        Some("vfio-pci") => println!("{address} was bound to vfio-pci before (group {group})"),
        Some(driver) => println!("{address}: {driver} -> vfio-pci (group {group})"),
        None => println!("{address}: no driver -> vfio-pci (group {group})"),
    }
    // It is bound, but cannot be used yet.
    sysfs.viable_group(address)?;
    println!("vfio:{address} is ready for whoever may open /dev/vfio/{group}");
    Ok(())
}

/// Runs `drdma unbind`.
pub fn unbind(arguments: &UnbindArguments) -> Result<(), Failure> {
    let address: PciAddress = arguments.address.parse()?;
    let unbound = Binder::new(arguments.sysfs.tree()).unbind(address)?;
    println!("{address}: vfio-pci -> {}", unbound.driver.as_deref().unwrap_or("no driver"));
    Ok(())
}
