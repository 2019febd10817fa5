//! Turns all MSI-X vectors of a card on and off again, while the card is in use: `vectors ADDRESS`.
//! `cargo xtask vm` runs it in a guest.

use std::{env, error::Error};

use drdma_driver::{
    Device,
    pci::Sysfs,
    vfio::{Interrupt, PciFunction, VfioCard},
};

fn main() -> Result<(), Box<dyn Error>> {
    let address = env::args().nth(1).ok_or("usage: vectors ADDRESS")?.parse()?;
    let mut card = VfioCard::new(PciFunction::open(&Sysfs::default(), address)?)?;
    let function = card.function();
    let count = function.vectors(Interrupt::MsiX);
    let events = function.enable_interrupts(Interrupt::MsiX, count)?;
    println!("{} vectors are on", events.len());
    if let Ok(more) = function.enable_interrupts(Interrupt::MsiX, count + 1) {
        return Err(format!("{} vectors are on, and there are {count}", more.len()).into());
    }
    // The table of vectors is in BAR0, which is mapped as well: both work at once.
    println!("firmware: {}", card.firmware().is_some());
    card.function().disable_interrupts()?;
    let mut device = Device::open(Box::new(card))?;
    device.enable()?;
    println!("the card is enabled");
    Ok(())
}
