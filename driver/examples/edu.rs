//! Drives QEMU's `edu` device through VFIO: binding, a BAR, interrupts, DMA and its limits. `cargo
//! xtask vm` runs it in a guest, where only the device is emulated: kernel, IOMMU and `vfio-pci`
//! are the real ones.

use std::{
    error::Error,
    fs, thread,
    time::{Duration, Instant},
};

use drdma_driver::{
    DmaMemory,
    memory::LARGE_PAGE,
    pci::{Bar, Binder, PciAddress, PciError, Sysfs},
    vfio::{self, Command, Interrupt, PciFunction, VfioError},
};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The device's registers, from QEMU's `docs/specs/edu.rst`.
mod register {
    pub const ID: u32 = 0x00;
    pub const LIVENESS: u32 = 0x04;
    pub const INTERRUPT_STATUS: u32 = 0x24;
    pub const INTERRUPT_RAISE: u32 = 0x60;
    pub const INTERRUPT_CLEAR: u32 = 0x64;
    pub const DMA_SOURCE: u32 = 0x80;
    pub const DMA_DESTINATION: u32 = 0x88;
    pub const DMA_BYTES: u32 = 0x90;
    pub const DMA_COMMAND: u32 = 0x98;
}

/// Address of the device's buffer of 4 KiB.
const BUFFER: u32 = 0x4_0000;
/// I/O virtual address of memory for the device: below the 28 bits that it can address.
const IOVA: u32 = 0x10_0000;
const START: u32 = 1;
const TO_MEMORY: u32 = 2;

fn check(what: &str, holds: bool) -> Result<()> {
    println!("{}: {what}", if holds { "ok" } else { "FAILED" });
    if holds { Ok(()) } else { Err(what.into()) }
}

fn main() -> Result<()> {
    let sysfs = Sysfs::default();
    let devices = sysfs.devices()?;
    let mut edus = devices.iter().filter(|device| device.ids.to_string() == "1234:11e8");
    let mut next = || edus.next().ok_or("this machine has not two edu devices");
    let (edu, behind_bridge) = (next()?, next()?);
    let address = edu.address;
    check("the device is in an IOMMU group and has no driver", {
        edu.iommu_group.is_some() && edu.driver.is_none()
    })?;
    check("an unbound device is refused", {
        matches!(PciFunction::open(&sysfs, address), Err(VfioError::NotBound { .. }))
    })?;

    let binder = Binder::new(sysfs.clone());
    check("only cards are taken without force", {
        matches!(binder.bind(address, false), Err(PciError::NotACard { .. }))
    })?;
    let bound = binder.bind(address, true)?;
    let driver = sysfs.device(address)?.driver;
    check("the device is bound to vfio-pci", driver.as_deref() == Some("vfio-pci"))?;
    check("its group is viable", sysfs.viable_group(address)? == bound.group)?;

    refuse(&sysfs, address)?;
    drive(PciFunction::open(&sysfs, address)?)?;
    check("a closed device is opened again", PciFunction::open(&sysfs, address).is_ok())?;

    check("it is given back", binder.unbind(address)?.driver.is_none())?;
    check("and not given back twice", binder.unbind(address).is_err())?;
    shared_group(&sysfs, &binder, behind_bridge.address)
}

/// Checks a device that shares its group with one that the host drives.
fn shared_group(sysfs: &Sysfs, binder: &Binder, address: PciAddress) -> Result<()> {
    binder.bind(address, true)?;
    let Err(VfioError::Pci(error @ PciError::NotViable { .. })) = PciFunction::open(sysfs, address)
    else {
        return Err("a group that is not viable was opened".into());
    };
    println!("ok: {error}");
    let PciError::NotViable { others, .. } = error else { return Ok(()) };
    check("one other device is in the way", others.len() == 1)?;
    let (other, driver) = &others[0];
    binder.bind(*other, true)?;
    check("with both bound, the group is opened", PciFunction::open(sysfs, address).is_ok())?;
    let unbound = binder.unbind(*other)?;
    check("the other one has its driver again", unbound.driver.as_ref() == Some(driver))
}

/// Checks that a device which is no card, or is open already, is refused.
fn refuse(sysfs: &Sysfs, address: PciAddress) -> Result<()> {
    let error = vfio::open(&format!("vfio:{address}")).err();
    check("it is no card of ours", matches!(error, Some(VfioError::Bar { index: 2, .. })))?;
    let _open = PciFunction::open(sysfs, address)?;
    let error = PciFunction::open(sysfs, address).err();
    check("a group has one owner", matches!(error, Some(VfioError::GroupBusy(_))))
}

fn drive(mut function: PciFunction) -> Result<()> {
    let registers = function.bar(0, 1 << 20)?;
    println!("IOMMU: {} bits, pages of {} B", function.address_bits(), function.iommu().page);
    check("BAR0 is the device's", registers.read(register::ID)? == 0x0100_00ed)?;
    registers.write(register::LIVENESS, 0x1234_5678)?;
    check("registers are written", registers.read(register::LIVENESS)? == !0x1234_5678)?;
    check("it answers", function.is_present())?;
    interrupts(&mut function, &registers)?;
    dma(&mut function, &registers)
}

fn interrupts(function: &mut PciFunction, registers: &Bar) -> Result<()> {
    check("it has one MSI and no MSI-X", {
        (function.vectors(Interrupt::Msi), function.vectors(Interrupt::MsiX)) == (1, 0)
    })?;
    check("more vectors than it has are refused", {
        matches!(
            function.enable_interrupts(Interrupt::Msi, 2),
            Err(VfioError::Vectors { found: 1, needed: 2, .. })
        )
    })?;
    // A message is a write to memory: without bus mastering it does not leave the device.
    function.set_bus_master(true)?;
    check("it is a bus master", function.command()?.contains(Command::BUS_MASTER))?;
    let events = function.enable_interrupts(Interrupt::Msi, 1)?;
    registers.write(register::INTERRUPT_RAISE, 0x42)?;
    check("an interrupt arrives", events[0].read()? == 1)?;
    check("with its status", registers.read(register::INTERRUPT_STATUS)? == 0x42)?;
    registers.write(register::INTERRUPT_CLEAR, 0x42)?;
    Ok(())
}

/// Makes the device copy, and waits until it is done.
fn copy(registers: &Bar, source: u32, destination: u32, bytes: u32, command: u32) -> Result<()> {
    registers.write(register::DMA_SOURCE, source)?;
    registers.write(register::DMA_DESTINATION, destination)?;
    registers.write(register::DMA_BYTES, bytes)?;
    registers.write(register::DMA_COMMAND, START | command)?;
    let start = Instant::now();
    while registers.read(register::DMA_COMMAND)? & START != 0 {
        if start.elapsed() > Duration::from_secs(60) {
            return Err("its DMA does not end".into());
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn dma(function: &mut PciFunction, registers: &Bar) -> Result<()> {
    let memory = DmaMemory::new(8192)?;
    let bytes: Vec<u8> = (0..4096_u32).map(|i| (i * 7 + 1) as u8).collect();
    memory.write(0, &bytes);
    function.map(IOVA.into(), &memory)?;
    let mut back = vec![0; 4096];
    copy(registers, IOVA, BUFFER, 4096, 0)?;
    copy(registers, BUFFER, IOVA + 4096, 4096, TO_MEMORY)?;
    memory.read(4096, &mut back);
    check("DMA goes both ways", back == bytes)?;

    check("what is mapped is not mapped again", function.map(IOVA.into(), &memory).is_err())?;
    function.unmap(IOVA.into())?;
    memory.write(4096, &[0; 4096]);
    copy(registers, BUFFER, IOVA + 4096, 4096, TO_MEMORY)?;
    memory.read(4096, &mut back);
    check("what is unmapped is out of its reach", back == [0; 4096])?;

    function.map(IOVA.into(), &memory)?;
    function.set_bus_master(false)?;
    copy(registers, BUFFER, IOVA + 4096, 4096, TO_MEMORY)?;
    memory.read(4096, &mut back);
    check("what is no bus master reaches nothing", back == [0; 4096])?;

    let bits = function.address_bits();
    check("addresses beyond the IOMMU's are refused", function.map(1 << bits, &memory).is_err())?;
    function.limit_addresses(28);
    check("addresses beyond the device's are refused", function.map(1 << 28, &memory).is_err())?;
    check("8192 B are mapped", function.mapped_bytes() == 8192)?;
    function.set_bus_master(true)?;
    large_pages(function, registers)
}

/// Number of free pages in the kernel's pool of large pages.
fn free_large_pages() -> Result<usize> {
    let text = fs::read_to_string("/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix("HugePages_Free:"));
    Ok(line.ok_or("this kernel has no large pages")?.trim().parse()?)
}

/// Checks memory from the pool of large pages, while it has some, and while it has too few.
fn large_pages(function: &mut PciFunction, registers: &Bar) -> Result<()> {
    let before = free_large_pages()?;
    check("there are large pages", before >= 2)?;
    let memory = DmaMemory::new(2 * LARGE_PAGE - 4096)?;
    let end = memory.mapped_len() - 4096;
    memory.write(end, &[7; 4096]);
    function.map(LARGE_PAGE as u64, &memory)?;
    check("large memory is made of them", free_large_pages()? == before - 2)?;
    copy(registers, (LARGE_PAGE + end) as u32, BUFFER, 4096, 0)?;
    copy(registers, BUFFER, LARGE_PAGE as u32, 4096, TO_MEMORY)?;
    let mut back = vec![0; 4096];
    memory.read(0, &mut back);
    check("DMA reaches both of its ends", back == [7; 4096])?;

    let more = DmaMemory::new((before - 1) * LARGE_PAGE)?;
    more.write(more.len() - 1, &[1]);
    check("without them, memory has other pages", free_large_pages()? == before - 2)?;
    function.unmap(LARGE_PAGE as u64)?;
    drop(memory);
    check("they are given back", free_large_pages()? == before)
}
