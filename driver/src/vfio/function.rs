//! Any PCI function that is bound to `vfio-pci`: configuration, BARs, DMA, interrupts, reset.

use std::fmt;

use super::{
    EventFd, Interrupt, Iommu, MapError, Vfio, VfioError, kernel::KernelVfio, mapping::Mappings,
};
use crate::{
    DmaMemory,
    pci::{Bar, PciAddress, Sysfs},
};

/// Offset of the command register in configuration space.
const COMMAND: u64 = 4;
/// Offset of the revision and the class in configuration space.
const CLASS: u64 = 8;

bitflags::bitflags! {
    /// The command register in configuration space.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Command: u16 {
        /// The function answers at its BARs in memory.
        const MEMORY = 1 << 1;
        /// The function may access memory.
        const BUS_MASTER = 1 << 2;
        /// The function does not use its interrupt line.
        const LINE_OFF = 1 << 10;
        const _ = !0;
    }
}

/// An open PCI function. When it is dropped, it is stopped and reset, and all of its memory
/// unmapped.
///
/// ```no_run
/// use drdma_driver::{DmaMemory, pci::Sysfs, vfio::{Interrupt, PciFunction}};
///
/// let mut function = PciFunction::open(&Sysfs::default(), "0000:00:04.0".parse()?)?;
/// let registers = function.bar(0, 4096)?;
/// let events = function.enable_interrupts(Interrupt::Msi, 1)?;
/// let memory = DmaMemory::new(4096)?;
/// function.map(0x10_0000, &memory)?;
/// function.set_bus_master(true)?;
/// registers.write(0x80, 0x10_0000)?;
/// let count = events[0].read()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PciFunction {
    vfio: Box<dyn Vfio>,
    mappings: Mappings,
    iommu: Iommu,
    enabled: Option<Interrupt>,
    /// Counts the kernel's requests for the function.
    requests: EventFd,
}

impl fmt::Debug for PciFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PciFunction").field("mappings", &self.mappings).finish_non_exhaustive()
    }
}

impl PciFunction {
    /// Opens a function that is bound to `vfio-pci`. It is in the state in which the kernel leaves
    /// it: reset if possible, answering at its BARs, and no bus master.
    ///
    /// # Errors
    /// The function does not exist or is not bound, its group is not viable or in use, or this
    /// process has no permission to open it.
    pub fn open(sysfs: &Sysfs, address: PciAddress) -> Result<Self, VfioError> {
        Self::with(Box::new(KernelVfio::open(sysfs, address)?))
    }

    /// Opens a function through other system calls.
    ///
    /// # Errors
    /// The IOMMU cannot be queried, or the kernel cannot report requests for the function.
    pub fn with(vfio: Box<dyn Vfio>) -> Result<Self, VfioError> {
        let iommu = vfio.iommu().map_err(VfioError::io("ask what the IOMMU can map"))?;
        let flags = libc::EFD_CLOEXEC | libc::EFD_NONBLOCK;
        let requests = EventFd::new(flags).map_err(VfioError::io("make an event"))?;
        let watched = vfio.watch_requests(&requests);
        watched.map_err(VfioError::io("watch for the device being wanted back"))?;
        Ok(Self { vfio, mappings: Mappings::new(iommu.clone()), iommu, enabled: None, requests })
    }

    /// Properties of the IOMMU.
    pub fn iommu(&self) -> &Iommu {
        &self.iommu
    }

    /// From now on, refuses mappings beyond what a function with `bits` address bits reaches.
    pub fn limit_addresses(&mut self, bits: u32) {
        self.mappings.limit(bits);
    }

    /// Number of bits of the addresses that can be mapped.
    pub fn address_bits(&self) -> u32 {
        self.mappings.bits()
    }

    /// True if the function answers; one that was pulled or lost its link reads as ones.
    pub fn is_present(&self) -> bool {
        // The ids do not show it: `vfio-pci` answers them itself.
        let mut class = [0; 4];
        self.vfio.read_config(CLASS, &mut class).is_ok() && class != [0xff; 4]
    }

    /// True if the kernel has requested the function since the last call: it is to be unplugged or
    /// unbound, and the kernel waits until it is closed.
    pub fn is_requested(&self) -> bool {
        // Without a request, reading fails.
        self.requests.read().is_ok()
    }

    /// Reads the command register.
    ///
    /// # Errors
    /// [`VfioError::Io`] with the error of the kernel.
    pub fn command(&self) -> Result<Command, VfioError> {
        let mut bytes = [0; 2];
        let read = self.vfio.read_config(COMMAND, &mut bytes);
        read.map_err(VfioError::io("read the command register"))?;
        Ok(Command::from_bits_retain(u16::from_le_bytes(bytes)))
    }

    /// Allows or forbids the function to access memory.
    ///
    /// # Errors
    /// [`VfioError::Io`] with the error of the kernel.
    pub fn set_bus_master(&mut self, on: bool) -> Result<(), VfioError> {
        let mut command = self.command()?;
        command.set(Command::BUS_MASTER, on);
        let written = self.vfio.write_config(COMMAND, &command.bits().to_le_bytes());
        written.map_err(VfioError::io("write the command register"))
    }

    /// Maps the first `len` bytes of a BAR.
    ///
    /// # Errors
    /// The BAR is smaller, or this process cannot map it.
    pub fn bar(&self, index: u32, len: usize) -> Result<Bar, VfioError> {
        let (found, needed) = (self.vfio.bar_size(index), len as u64);
        if found < needed || needed == 0 {
            return Err(VfioError::Bar { index, found, needed });
        }
        self.vfio.map_bar(index, len).map(Bar::new).map_err(VfioError::io("map a BAR"))
    }

    /// Maps memory for the function at `iova`, and keeps it alive until it is unmapped.
    ///
    /// # Errors
    /// The address does not fit, another mapping overlaps, or the kernel refuses.
    pub fn map(&mut self, iova: u64, memory: &DmaMemory) -> Result<(), MapError> {
        self.mappings.map(&*self.vfio, iova, memory)
    }

    /// Unmaps memory that was mapped by [`map`](Self::map); when this returns, the function does
    /// not reach it.
    ///
    /// # Errors
    /// No memory is mapped there, or the kernel refuses.
    pub fn unmap(&mut self, iova: u64) -> Result<(), MapError> {
        self.mappings.unmap(&*self.vfio, iova)
    }

    /// Number of bytes that are mapped.
    pub fn mapped_bytes(&self) -> u64 {
        self.mappings.bytes()
    }

    /// Resets the function: registers, bus mastering, interrupts. Memory stays mapped. False if the
    /// function has no reset of its own.
    ///
    /// # Errors
    /// [`VfioError::Io`] with the error of the kernel.
    pub fn reset(&mut self) -> Result<bool, VfioError> {
        self.disable_interrupts()?;
        self.vfio.reset().map_err(VfioError::io("reset the device"))
    }

    /// Number of vectors of the function.
    pub fn vectors(&self, kind: Interrupt) -> u32 {
        self.vfio.vectors(kind)
    }

    /// Turns the first `count` vectors on, and the others off. Each event counts the interrupts of
    /// its vector; reading it takes the count, and blocks while it is 0.
    ///
    /// # Errors
    /// The function has fewer vectors, or the kernel refuses.
    pub fn enable_interrupts(
        &mut self,
        kind: Interrupt,
        count: u32,
    ) -> Result<Vec<EventFd>, VfioError> {
        let found = self.vectors(kind);
        if count == 0 || count > found {
            return Err(VfioError::Vectors { kind, found, needed: count });
        }
        self.disable_interrupts()?;
        let events =
            (0..count).map(|_| EventFd::new(libc::EFD_CLOEXEC)).collect::<Result<Vec<_>, _>>();
        let events = events.map_err(VfioError::io("make an event"))?;
        let enabled = self.vfio.enable_interrupts(kind, &events);
        enabled.map_err(VfioError::io("turn interrupts on"))?;
        self.enabled = Some(kind);
        Ok(events)
    }

    /// Turns all vectors off.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn disable_interrupts(&mut self) -> Result<(), VfioError> {
        let Some(kind) = self.enabled.take() else { return Ok(()) };
        self.vfio.disable_interrupts(kind).map_err(VfioError::io("turn interrupts off"))
    }
}

impl Drop for PciFunction {
    fn drop(&mut self) {
        // The function must be stopped before its memory is freed. Errors are ignored: the kernel
        // does the same when the file is closed.
        let _ = self.set_bus_master(false);
        // For a function that is gone, the kernel would wait a minute for an answer.
        if self.is_present() {
            let _ = self.reset();
        }
        self.mappings.unmap_all(&*self.vfio);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vfio::fake::FakeVfio;

    fn open(fake: &FakeVfio) -> PciFunction {
        PciFunction::with(Box::new(fake.clone())).unwrap()
    }

    #[test]
    fn a_bar_is_mapped_as_far_as_it_goes() {
        let fake = FakeVfio::new();
        let function = open(&fake);
        let bar = function.bar(2, 8192).unwrap();
        bar.write(0x1ffc, 7).unwrap();
        assert_eq!(fake.register(0x1ffc), 7);
        let fails = |index, len| function.bar(index, len).unwrap_err().to_string();
        assert_eq!(fails(2, 1 << 25), "BAR2 has 16777216 B, and 33554432 B are needed");
        assert_eq!(fails(4, 4096), "BAR4 has 0 B, and 4096 B are needed");
        assert_eq!(fails(2, 0), "BAR2 has 16777216 B, and 0 B are needed");
        fake.fail_bar(libc::EPERM);
        assert_eq!(fails(2, 4096), "cannot map a BAR: Operation not permitted (os error 1)");
    }

    #[test]
    fn bus_mastering_is_a_bit_among_others() {
        let fake = FakeVfio::new();
        let mut function = open(&fake);
        assert_eq!(function.command().unwrap(), Command::MEMORY);
        fake.set_command(0x0142);
        function.set_bus_master(true).unwrap();
        assert_eq!(fake.command(), 0x0146);
        function.set_bus_master(false).unwrap();
        assert_eq!(fake.command(), 0x0142);
        assert!(function.is_present());
        fake.pull();
        assert!(!function.is_present());
        fake.fail_config(libc::EIO);
        assert!(!function.is_present());
        let error = function.set_bus_master(true).unwrap_err().to_string();
        assert!(error.starts_with("cannot read the command register: "), "{error}");
    }

    #[test]
    fn interrupts_count_and_there_are_not_more_than_there_are() {
        let fake = FakeVfio::new();
        let mut function = open(&fake);
        let events = function.enable_interrupts(Interrupt::MsiX, 3).unwrap();
        fake.interrupt(1);
        fake.interrupt(1);
        assert_eq!(events[1].read().unwrap(), 2);
        let error = function.enable_interrupts(Interrupt::MsiX, 9).unwrap_err().to_string();
        assert_eq!(error, "the device has 8 MSI-X vectors, and 9 are needed");
        let error = function.enable_interrupts(Interrupt::Msi, 1).unwrap_err().to_string();
        assert_eq!(error, "the device has 0 MSI vectors, and 1 are needed");
        assert!(function.enable_interrupts(Interrupt::MsiX, 0).is_err());
        assert_eq!(fake.interrupts(), Some(3));
        function.enable_interrupts(Interrupt::MsiX, 1).unwrap();
        assert_eq!(fake.interrupts(), Some(1));
        function.disable_interrupts().unwrap();
        assert_eq!(fake.interrupts(), None);
        fake.fail_interrupts(libc::ENOSPC);
        let error = function.enable_interrupts(Interrupt::MsiX, 1).unwrap_err().to_string();
        assert!(error.starts_with("cannot turn interrupts on: No space left"), "{error}");
    }

    #[test]
    fn a_function_may_have_no_reset() {
        let fake = FakeVfio::new();
        let mut function = open(&fake);
        assert!(function.reset().unwrap());
        fake.no_reset();
        assert!(!function.reset().unwrap());
        fake.fail_reset(libc::EIO);
        let error = function.reset().unwrap_err().to_string();
        assert!(error.starts_with("cannot reset the device: "), "{error}");
    }

    #[test]
    fn a_dropped_function_is_stopped_reset_and_then_unmapped() {
        let fake = FakeVfio::new();
        let mut function = open(&fake);
        function.set_bus_master(true).unwrap();
        let _events = function.enable_interrupts(Interrupt::MsiX, 1).unwrap();
        function.map(0x1000, &DmaMemory::new(4096).unwrap()).unwrap();
        function.map(0x8000, &DmaMemory::new(8192).unwrap()).unwrap();
        assert_eq!(function.mapped_bytes(), 12288);
        fake.forget_calls();
        drop(function);
        assert_eq!(
            fake.calls(),
            ["command 0x2", "interrupts off", "reset", "unmap 0x1000", "unmap 0x8000"]
        );
        assert!(fake.mapped().is_empty());
    }

    #[test]
    fn a_function_that_is_gone_is_still_unmapped() {
        let fake = FakeVfio::new();
        let mut function = open(&fake);
        function.map(0x1000, &DmaMemory::new(4096).unwrap()).unwrap();
        fake.fail_config(libc::EIO);
        fake.fail_reset(libc::EIO);
        drop(function);
        assert!(fake.mapped().is_empty());
    }

    #[test]
    fn a_function_that_was_pulled_is_not_waited_for() {
        let fake = FakeVfio::new();
        let mut function = open(&fake);
        function.map(0x1000, &DmaMemory::new(4096).unwrap()).unwrap();
        fake.pull();
        fake.forget_calls();
        drop(function);
        assert_eq!(fake.calls(), ["command 0xfffb", "unmap 0x1000"]);
    }

    #[test]
    fn a_function_that_the_kernel_wants_back_is_noticed_once() {
        let fake = FakeVfio::new();
        let function = open(&fake);
        assert!(!function.is_requested());
        fake.request();
        assert!(function.is_requested());
        assert!(!function.is_requested());
        fake.fail_requests(libc::ENOTTY);
        let error = PciFunction::with(Box::new(fake)).unwrap_err().to_string();
        assert!(error.starts_with("cannot watch for the device being wanted back: "), "{error}");
    }

    #[test]
    fn the_width_of_addresses_is_the_iommus_or_the_functions() {
        let fake = FakeVfio::new();
        let mut function = open(&fake);
        assert_eq!((function.iommu().bits(), function.address_bits()), (39, 39));
        let memory = DmaMemory::new(4096).unwrap();
        let error = function.map(1 << 39, &memory).unwrap_err().to_string();
        assert_eq!(error, "addresses here have 39 bits");
        function.limit_addresses(28);
        assert_eq!(function.address_bits(), 28);
        let error = function.map(1 << 28, &memory).unwrap_err().to_string();
        assert_eq!(error, "addresses here have 28 bits");
        fake.fail_iommu(libc::ENODEV);
        let error = PciFunction::with(Box::new(fake)).unwrap_err().to_string();
        assert!(error.starts_with("cannot ask what the IOMMU can map: No such device"), "{error}");
    }
}
