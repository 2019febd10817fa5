//! The system calls of VFIO, behind a trait, so that code on top of them can be tested without a
//! device.

use std::{
    ffi::c_ulong,
    fmt,
    fs::File,
    io,
    mem::{offset_of, size_of},
    ops::RangeInclusive,
    os::{
        fd::{AsRawFd, BorrowedFd},
        unix::fs::FileExt,
    },
    sync::Arc,
};

use memmap2::{MmapOptions, MmapRaw};
use vfio_bindings::bindings::vfio::{
    VFIO_BASE, VFIO_DMA_MAP_FLAG_READ, VFIO_DMA_MAP_FLAG_WRITE, VFIO_IOMMU_INFO_PGSIZES,
    VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE, VFIO_IOMMU_TYPE1_INFO_DMA_AVAIL,
    VFIO_PCI_CONFIG_REGION_INDEX, VFIO_PCI_MSI_IRQ_INDEX, VFIO_PCI_MSIX_IRQ_INDEX,
    VFIO_PCI_REQ_IRQ_INDEX, VFIO_REGION_INFO_FLAG_MMAP, VFIO_TYPE, vfio_iommu_type1_dma_map,
    vfio_iommu_type1_info,
};
use vfio_ioctls::{VfioContainer, VfioDevice};
use vmm_sys_util::{
    eventfd::EventFd,
    ioctl::{ioctl, ioctl_with_mut_ptr, ioctl_with_ref},
};

use super::{Iommu, VfioError};
use crate::pci::{PciAddress, Sysfs};

/// A kind of interrupt that a function sends as messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupt {
    /// MSI: up to 32 vectors.
    Msi,
    /// MSI-X: up to 2,048 vectors, in a table in a BAR.
    MsiX,
}

impl Interrupt {
    fn index(self) -> u32 {
        match self {
            Self::Msi => VFIO_PCI_MSI_IRQ_INDEX,
            Self::MsiX => VFIO_PCI_MSIX_IRQ_INDEX,
        }
    }
}

impl fmt::Display for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Msi => "MSI",
            Self::MsiX => "MSI-X",
        })
    }
}

/// Rights of a function to memory that is mapped for it; the IOMMU refuses other accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DmaAccess {
    /// The function may read the memory.
    Read,
    /// The function may read and write the memory.
    ReadWrite,
}

impl DmaAccess {
    /// Flags of the kernel's mapping request.
    fn flags(self) -> u32 {
        match self {
            Self::Read => VFIO_DMA_MAP_FLAG_READ,
            Self::ReadWrite => VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
        }
    }
}

/// Operations of the kernel on an open function.
pub trait Vfio: Send {
    /// Queries the properties of the IOMMU.
    ///
    /// # Errors
    /// The error that the kernel returned.
    fn iommu(&self) -> io::Result<Iommu>;

    /// Maps `len` bytes at `pointer` for DMA.
    ///
    /// # Safety
    /// The pages stay allocated until they are unmapped. Until then, nobody relies on the contents
    /// of memory that the function may write.
    ///
    /// # Errors
    /// The error that the kernel returned.
    unsafe fn map(
        &self,
        iova: u64,
        pointer: *mut u8,
        len: usize,
        access: DmaAccess,
    ) -> io::Result<()>;

    /// Unmaps a mapping as a whole.
    ///
    /// # Errors
    /// The error that the kernel returned.
    fn unmap(&self, iova: u64, len: usize) -> io::Result<()>;

    /// Reads from configuration space.
    ///
    /// # Errors
    /// The error that the kernel returned.
    fn read_config(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()>;

    /// Writes to configuration space.
    ///
    /// # Errors
    /// The error that the kernel returned.
    fn write_config(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Number of bytes of a BAR that this process can map; 0 if there are none.
    fn bar_size(&self, index: u32) -> u64;

    /// Maps the first `len` bytes of a BAR.
    ///
    /// # Errors
    /// The error that the kernel returned.
    fn map_bar(&self, index: u32, len: usize) -> io::Result<MmapRaw>;

    /// Resets the function alone. False if it has no reset of its own.
    ///
    /// # Errors
    /// The error that the kernel returned.
    fn reset(&self) -> io::Result<bool>;

    /// Number of vectors of the function.
    fn vectors(&self, kind: Interrupt) -> u32;

    /// Turns the first vectors on, one for each event, which counts the vector's interrupts from
    /// now on.
    ///
    /// # Errors
    /// The error that the kernel returned.
    fn enable_interrupts(&self, kind: Interrupt, events: &[EventFd]) -> io::Result<()>;

    /// Turns all vectors off.
    ///
    /// # Errors
    /// The error that the kernel returned.
    fn disable_interrupts(&self, kind: Interrupt) -> io::Result<()>;

    /// Counts up `event` when the kernel requests the function: it is to be unplugged or unbound.
    ///
    /// # Errors
    /// The error that the kernel returned.
    fn watch_requests(&self, event: &EventFd) -> io::Result<()>;
}

/// Number of an ioctl: `_IO(VFIO_TYPE, VFIO_BASE + number)`.
const fn request(number: u32) -> c_ulong {
    (VFIO_TYPE as c_ulong) << 8 | (VFIO_BASE + number) as c_ulong
}

/// Resets a device and returns the result, which `VfioDevice::reset` does not.
const VFIO_DEVICE_RESET: c_ulong = request(11);
/// Queries the properties of the IOMMU, which `VfioContainer` does not offer.
const VFIO_IOMMU_GET_INFO: c_ulong = request(12);
/// Maps memory with chosen rights: `VfioContainer::vfio_dma_map` gives all of them.
const VFIO_IOMMU_MAP_DMA: c_ulong = request(13);

/// A function of the running kernel.
pub(crate) struct KernelVfio {
    // Fields are dropped in this order: the function is closed before it leaves its container.
    /// The function's file, for configuration space and mapping: `region_read` and `region_write`
    /// of `device` do not return errors.
    file: File,
    device: VfioDevice,
    container: Arc<VfioContainer>,
}

impl KernelVfio {
    /// Opens a function that is bound to `vfio-pci`, in a container of its own.
    pub(crate) fn open(sysfs: &Sysfs, address: PciAddress) -> Result<Self, VfioError> {
        let driver = sysfs.device(address)?.driver;
        if driver.as_deref() != Some("vfio-pci") {
            return Err(VfioError::NotBound { address, driver });
        }
        let group = sysfs.viable_group(address)?;
        let failed = |error| VfioError::opening(group, error);
        let container = Arc::new(VfioContainer::new(None).map_err(failed)?);
        let device =
            VfioDevice::new(&sysfs.folder(address), container.clone(), true).map_err(failed)?;
        // SAFETY: the file is open as long as `device`, which is there during this borrow.
        let file = unsafe { BorrowedFd::borrow_raw(device.as_raw_fd()) };
        let file = file.try_clone_to_owned().map_err(VfioError::io("duplicate a file"))?;
        Ok(Self { file: file.into(), device, container })
    }

    fn config(&self) -> u64 {
        self.device.get_region_offset(VFIO_PCI_CONFIG_REGION_INDEX)
    }
}

/// Converts an error of `vfio-ioctls` into that of the operating system, if it contains one.
fn os_error(error: vfio_ioctls::VfioError) -> io::Error {
    use vfio_ioctls::VfioError as Error;
    match error {
        Error::IommuDmaUnmap(source) => source.into(),
        other => io::Error::other(other),
    }
}

impl Vfio for KernelVfio {
    fn iommu(&self) -> io::Result<Iommu> {
        // The kernel returns the length of the answer; then it is asked again. Words keep it
        // aligned.
        let mut words = vec![0_u64; size_of::<vfio_iommu_type1_info>().div_ceil(8)];
        loop {
            let bytes = 8 * words.len();
            words[0] = bytes as u64;
            // SAFETY: the kernel writes at most as many bytes as the first four say, which are
            // those of `words`.
            let code = unsafe {
                ioctl_with_mut_ptr(&*self.container, VFIO_IOMMU_GET_INFO, words.as_mut_ptr())
            };
            if code < 0 {
                return Err(io::Error::last_os_error());
            }
            let needed = words[0] as u32 as usize;
            if needed <= bytes {
                break;
            }
            words = vec![0; needed.div_ceil(8)];
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        parse_iommu(&bytes).ok_or_else(|| io::Error::other("the kernel's answer makes no sense"))
    }

    // SAFETY: the caller keeps the memory as the trait asks, which is what the kernel needs.
    unsafe fn map(
        &self,
        iova: u64,
        pointer: *mut u8,
        len: usize,
        access: DmaAccess,
    ) -> io::Result<()> {
        let map = vfio_iommu_type1_dma_map {
            argsz: size_of::<vfio_iommu_type1_dma_map>() as u32,
            flags: access.flags(),
            vaddr: pointer.expose_provenance() as u64,
            iova,
            size: len as u64,
        };
        // SAFETY: the kernel reads `map`, as many bytes as it says; what it names is kept by the
        // caller.
        match unsafe { ioctl_with_ref(&*self.container, VFIO_IOMMU_MAP_DMA, &map) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn unmap(&self, iova: u64, len: usize) -> io::Result<()> {
        self.container.vfio_dma_unmap(iova, len).map_err(os_error)
    }

    fn read_config(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(bytes, self.config() + offset)
    }

    fn write_config(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, self.config() + offset)
    }

    fn bar_size(&self, index: u32) -> u64 {
        let mappable = self.device.get_region_flags(index) & VFIO_REGION_INFO_FLAG_MMAP != 0;
        if mappable { self.device.get_region_size(index) } else { 0 }
    }

    fn map_bar(&self, index: u32, len: usize) -> io::Result<MmapRaw> {
        let offset = self.device.get_region_offset(index);
        MmapOptions::new().offset(offset).len(len).map_raw(&self.file)
    }

    fn reset(&self) -> io::Result<bool> {
        // SAFETY: this request takes no argument.
        if unsafe { ioctl(&self.device, VFIO_DEVICE_RESET) } == 0 {
            return Ok(true);
        }
        let error = io::Error::last_os_error();
        // With these errors the kernel says that the function has no reset of its own.
        match error.raw_os_error() {
            Some(libc::EINVAL | libc::ENOTTY) => Ok(false),
            _ => Err(error),
        }
    }

    fn vectors(&self, kind: Interrupt) -> u32 {
        self.device.get_irq_info(kind.index()).map_or(0, |info| info.count)
    }

    fn enable_interrupts(&self, kind: Interrupt, events: &[EventFd]) -> io::Result<()> {
        self.device.enable_irq(kind.index(), events.iter().collect()).map_err(os_error)
    }

    fn disable_interrupts(&self, kind: Interrupt) -> io::Result<()> {
        self.device.disable_irq(kind.index()).map_err(os_error)
    }

    fn watch_requests(&self, event: &EventFd) -> io::Result<()> {
        self.device.enable_irq(VFIO_PCI_REQ_IRQ_INDEX, vec![event]).map_err(os_error)
    }
}

/// Parses the answer of `VFIO_IOMMU_GET_INFO`: a `vfio_iommu_type1_info` and a list of
/// capabilities, each {id: u16, version: u16, offset of the next: u32, ...}. `None` if it is
/// truncated, or has no page size. Without a list of ranges (before Linux 5.4), all addresses are
/// translated.
fn parse_iommu(bytes: &[u8]) -> Option<Iommu> {
    let word = |at: usize| {
        let bytes = bytes.get(at..at.checked_add(4)?)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    };
    let long = |at: usize| {
        let bytes = bytes.get(at..at.checked_add(8)?)?;
        Some(u64::from_ne_bytes(bytes.try_into().ok()?))
    };
    let pages = long(offset_of!(vfio_iommu_type1_info, iova_pgsizes))?;
    let flags = word(offset_of!(vfio_iommu_type1_info, flags))?;
    if flags & VFIO_IOMMU_INFO_PGSIZES == 0 || pages == 0 {
        return None;
    }
    let mut iommu =
        Iommu { page: 1 << pages.trailing_zeros(), ranges: vec![0..=u64::MAX], mappings: None };
    let mut at = word(offset_of!(vfio_iommu_type1_info, cap_offset))? as usize;
    while at != 0 {
        match word(at)? & 0xffff {
            VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE => {
                let count = word(at + 8)? as usize;
                let first = at + 16;
                let range = |i: usize| -> Option<RangeInclusive<u64>> {
                    Some(long(first + 16 * i)?..=long(first + 16 * i + 8)?)
                };
                iommu.ranges = (0..count).map(range).collect::<Option<_>>()?;
            }
            VFIO_IOMMU_TYPE1_INFO_DMA_AVAIL => iommu.mappings = Some(word(at + 8)?),
            _ => {}
        }
        let next = word(at + 4)? as usize;
        // The list may only go forward, so that it ends.
        if next != 0 && next <= at {
            return None;
        }
        at = next;
    }
    Some(iommu)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pci::fake::{FakeSysfs, address};

    /// Returns an answer as of a kernel with an Intel IOMMU.
    fn answer() -> Vec<u8> {
        let mut bytes = Vec::new();
        let info = size_of::<vfio_iommu_type1_info>() as u32;
        let ranges = info + 12;
        for word in [0, 3, 0x4020_1000, 0, info, 0] {
            bytes.extend(u32::to_ne_bytes(word));
        }
        assert_eq!(bytes.len(), info as usize);
        bytes.extend(u32::to_ne_bytes(VFIO_IOMMU_TYPE1_INFO_DMA_AVAIL | 1 << 16));
        bytes.extend(u32::to_ne_bytes(ranges));
        bytes.extend(u32::to_ne_bytes(65535));
        for word in [VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE | 1 << 16, 0, 2, 0] {
            bytes.extend(u32::to_ne_bytes(word));
        }
        for long in [0, 0xfedf_ffff, 0xfef0_0000, 0x7f_ffff_ffff] {
            bytes.extend(u64::to_ne_bytes(long));
        }
        bytes
    }

    #[test]
    fn the_iommus_pages_ranges_and_limit_are_read() {
        let expected = Iommu {
            page: 4096,
            ranges: vec![0..=0xfedf_ffff, 0xfef0_0000..=0x7f_ffff_ffff],
            mappings: Some(65535),
        };
        assert_eq!(parse_iommu(&answer()), Some(expected));
    }

    #[test]
    fn an_old_kernel_lists_nothing() {
        let mut bytes = answer();
        bytes[16..20].fill(0);
        let expected = Iommu { page: 4096, ranges: vec![0..=u64::MAX], mappings: None };
        assert_eq!(parse_iommu(&bytes[..24]), Some(expected));
    }

    #[test]
    fn an_answer_that_is_cut_off_turns_or_has_no_pages_is_refused() {
        let bytes = answer();
        for len in 0..bytes.len() {
            assert_eq!(parse_iommu(&bytes[..len]), None, "{len}");
        }
        let mut turns = bytes.clone();
        turns[28..32].copy_from_slice(&24_u32.to_ne_bytes());
        assert_eq!(parse_iommu(&turns), None);
        let mut no_pages = bytes.clone();
        no_pages[8..16].fill(0);
        assert_eq!(parse_iommu(&no_pages), None);
        let mut no_flag = bytes;
        no_flag[4..8].fill(0);
        assert_eq!(parse_iommu(&no_flag), None);
    }

    #[test]
    fn requests_have_the_kernels_numbers() {
        assert_eq!((VFIO_DEVICE_RESET, VFIO_IOMMU_GET_INFO), (0x3b6f, 0x3b70));
    }

    #[test]
    fn what_is_not_ready_is_refused_before_vfio_is_asked() {
        let fake = FakeSysfs::new();
        fake.card("0000:65:00.0", Some(14), Some("mqnic"));
        fake.card("0000:66:00.0", Some(15), Some("vfio-pci"));
        fake.device("0000:66:00.1", 0x8086, 0x1572, Some(15), Some("i40e"));
        fake.card("0000:67:00.0", Some(16), None);
        let fails = |at| match KernelVfio::open(&fake.sysfs(), address(at)) {
            Ok(_) => panic!("{at} is open"),
            Err(error) => error.to_string(),
        };
        assert_eq!(
            fails("0000:65:00.0"),
            "0000:65:00.0 is bound to mqnic; bind it to vfio-pci with `drdma bind 0000:65:00.0`"
        );
        assert!(fails("0000:67:00.0").starts_with("0000:67:00.0 is bound to no driver; bind it"));
        assert_eq!(
            fails("0000:66:00.0"),
            "group 15 is not viable: 0000:66:00.1 is still bound to i40e; bind it to vfio-pci"
        );
        assert!(fails("0000:68:00.0").starts_with("there is no PCI device"));
    }

    #[test]
    fn the_operating_systems_errors_are_kept() {
        use vfio_ioctls::VfioError as Error;
        let source = vmm_sys_util::errno::Error::new(libc::EINVAL);
        assert_eq!(os_error(Error::IommuDmaUnmap(source)).raw_os_error(), Some(libc::EINVAL));
        let text = os_error(Error::VfioDeviceEnableIrq).to_string();
        assert_eq!(text, "failed to enable vfio device irq");
    }

    #[test]
    fn rights_have_the_kernels_numbers() {
        assert_eq!((DmaAccess::Read.flags(), DmaAccess::ReadWrite.flags()), (1, 3));
    }

    #[test]
    fn kinds_of_interrupts_have_the_kernels_numbers() {
        assert_eq!((Interrupt::Msi.index(), Interrupt::MsiX.index()), (1, 2));
        assert_eq!(
            (Interrupt::Msi.to_string(), Interrupt::MsiX.to_string()),
            ("MSI".into(), "MSI-X".into())
        );
    }
}
