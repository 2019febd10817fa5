//! A D-RDMA card behind VFIO.

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use drdma_abi::register::{BAR2_SIZE, TYPE, TYPE_ID};

use super::{PciFunction, VfioError};
use crate::{
    Card, CardError, DmaMemory, RegisterWindow, identify,
    pci::{Bar, Firmware, PciAddress, Sysfs, corundum::open_ports},
};

/// BAR with Corundum's registers.
const CORUNDUM: u32 = 0;
/// Size of that BAR in bytes.
const CORUNDUM_SIZE: usize = 1 << 24;
/// Number of bytes of that BAR in front of the MSI-X table, which older kernels do not map.
const CORUNDUM_LEN: usize = 0x1_0000;
/// BAR with the card's registers.
const REGISTERS: u32 = 2;
/// Reason of failure: all registers read as ones.
const GONE: &str = "it does not answer any more: its PCIe link is down, or it was reprogrammed";
/// Reason of failure: this program has closed the card.
const CLOSED: &str = "it was closed";
/// Reason of failure: the kernel waits for the card to be closed.
const WANTED: &str = "it is to be unplugged or unbound, and the kernel waits for this program";
/// Interval at which polling checks that the card is still present, which polled memory does not
/// show.
const LOOK: Duration = Duration::from_millis(100);

/// Opens the card that a URI names: `vfio:0000:65:00.0`.
///
/// # Errors
/// The [`VfioError`] that applies.
pub fn open(uri: &str) -> Result<VfioCard, VfioError> {
    open_in(&Sysfs::default(), uri)
}

/// Reads the identification of a Corundum card that is bound to `vfio-pci`. For that the card is
/// opened, and thereby reset if possible; `None` if it is in use, this process has no permission,
/// or the card has no identification.
pub fn firmware(sysfs: &Sysfs, address: PciAddress) -> Option<Firmware> {
    let function = PciFunction::open(sysfs, address).ok()?;
    Firmware::read(&function.bar(CORUNDUM, CORUNDUM_LEN).ok()?)
}

fn open_in(sysfs: &Sysfs, uri: &str) -> Result<VfioCard, VfioError> {
    let address = uri.strip_prefix("vfio:").and_then(|text| text.parse::<PciAddress>().ok());
    let address = address.ok_or_else(|| VfioError::Uri(uri.to_owned()))?;
    VfioCard::new(PciFunction::open(sysfs, address)?)
}

/// A board: registers are mapped from BAR2, memory is mapped by the IOMMU.
#[derive(Debug)]
pub struct VfioCard {
    registers: Arc<Registers>,
    function: PciFunction,
    /// Time of the last check that found the card present.
    seen: Instant,
}

/// Registers for all threads that write them.
#[derive(Debug)]
struct Registers {
    bar: Bar,
    /// Reason why the card is no longer used.
    failure: OnceLock<&'static str>,
}

impl Registers {
    /// Stops using the card; the first reason is kept.
    fn fail(&self, reason: &'static str) {
        let _ = self.failure.set(reason);
    }

    /// Fails if the card is no longer used.
    #[inline]
    fn usable(&self) -> Result<(), CardError> {
        match self.failure.get() {
            None => Ok(()),
            Some(reason) => Err(CardError::Failed((*reason).into())),
        }
    }
}

impl RegisterWindow for Registers {
    #[inline]
    fn write(&self, offset: u32, value: u32) -> Result<(), CardError> {
        self.usable()?;
        self.bar.write(offset, value).map_err(|_| CardError::Register { offset })
    }
}

impl VfioCard {
    /// Checks that a function is a D-RDMA card that fits this software; then resets it, lets it
    /// access memory, and opens its Ethernet port.
    ///
    /// # Errors
    /// The card does not fit, and was left as it is; it failed; or it is in a Corundum shell whose
    /// port cannot be opened.
    pub fn new(function: PciFunction) -> Result<Self, VfioError> {
        let bar = function.bar(REGISTERS, BAR2_SIZE as usize)?;
        let registers = Arc::new(Registers { bar, failure: OnceLock::new() });
        let mut card = Self { registers, function, seen: Instant::now() };
        identify(&mut card)?;
        // A card without a reset of its own still has the one in its register `CONTROL`, which
        // `Device::open` uses in any case.
        card.function.reset()?;
        card.function.set_bus_master(true)?;
        card.open_ports()?;
        Ok(card)
    }

    /// Opens the port of a Corundum shell; other shells are taken to have no port that must be
    /// opened.
    fn open_ports(&self) -> Result<(), VfioError> {
        let whole = self.function.bar(CORUNDUM, CORUNDUM_SIZE);
        match (self.firmware(), &whole) {
            (None, _) => Ok(()),
            (Some(_), Ok(bar)) if open_ports(bar) => Ok(()),
            (Some(_), _) => Err(VfioError::Port { mapped: whole.is_ok() }),
        }
    }

    /// Identification of the card, if it is a Corundum card.
    pub fn firmware(&self) -> Option<Firmware> {
        Firmware::read(&self.function.bar(CORUNDUM, CORUNDUM_LEN).ok()?)
    }

    /// Fails if the card is gone, or requested by the kernel; then it is no longer used.
    fn check_present(&mut self) -> Result<(), CardError> {
        if self.function.is_requested() {
            // The card is stopped before its memory is freed. If that fails, it is gone already.
            let _ = self.function.set_bus_master(false);
            self.registers.fail(WANTED);
        } else if !matches!(self.registers.bar.read(TYPE.offset), Ok(TYPE_ID)) {
            self.registers.fail(GONE);
        }
        self.registers.usable()
    }

    /// The PCI function of the card, for operations that are not specific to the card.
    pub fn function(&mut self) -> &mut PciFunction {
        &mut self.function
    }
}

impl Card for VfioCard {
    #[inline]
    fn read(&mut self, offset: u32) -> Result<u32, CardError> {
        self.registers.usable()?;
        let value = self.registers.bar.read(offset).map_err(|_| CardError::Register { offset })?;
        // A card that is gone reads as ones; but a register may also have that value.
        match (value, offset == TYPE.offset) {
            (u32::MAX, false) => self.check_present()?,
            // A card of another kind may have all ones here.
            (u32::MAX, true) if !self.function.is_present() => self.registers.fail(GONE),
            _ => {}
        }
        self.registers.usable()?;
        Ok(value)
    }

    #[inline]
    fn write(&mut self, offset: u32, value: u32) -> Result<(), CardError> {
        self.registers.write(offset, value)
    }

    fn map(&mut self, iova: u64, memory: &DmaMemory) -> Result<(), CardError> {
        self.function.map(iova, memory).map_err(|error| CardError::Map {
            iova,
            size: memory.mapped_len() as u64,
            reason: error.to_string(),
        })
    }

    fn unmap(&mut self, iova: u64) -> Result<(), CardError> {
        let unmapped = self.function.unmap(iova);
        unmapped.map_err(|error| CardError::Unmap { iova, reason: error.to_string() })
    }

    #[inline]
    fn progress(&mut self) -> Result<(), CardError> {
        self.registers.usable()?;
        if self.seen.elapsed() >= LOOK {
            self.check_present()?;
            self.seen = Instant::now();
        }
        Ok(())
    }

    fn window(&self) -> Option<Arc<dyn RegisterWindow>> {
        Some(Arc::clone(&self.registers) as _)
    }
}

impl Drop for VfioCard {
    fn drop(&mut self) {
        self.registers.fail(CLOSED);
    }
}

#[cfg(test)]
mod tests {
    use drdma_abi::{
        ABI_HASH,
        register::{ABI_HASH_LOW, CONTROL, IP, TYPE, TYPE_ID, VERSION, counter::PACKETS},
    };

    use super::*;
    use crate::{Device, pci::fake::FakeSysfs, vfio::fake::FakeVfio};

    fn open(fake: &FakeVfio) -> Result<VfioCard, VfioError> {
        VfioCard::new(PciFunction::with(Box::new(fake.clone())).unwrap())
    }

    /// A card that ends its reset by itself, which plain memory does not.
    struct Resetting {
        card: VfioCard,
        fake: FakeVfio,
    }

    impl Card for Resetting {
        fn read(&mut self, offset: u32) -> Result<u32, CardError> {
            self.card.read(offset)
        }

        fn write(&mut self, offset: u32, value: u32) -> Result<(), CardError> {
            self.card.write(offset, value)?;
            if offset == CONTROL.offset {
                self.fake.set_register(offset, value & !2);
            }
            Ok(())
        }

        fn map(&mut self, iova: u64, memory: &DmaMemory) -> Result<(), CardError> {
            self.card.map(iova, memory)
        }

        fn unmap(&mut self, iova: u64) -> Result<(), CardError> {
            self.card.unmap(iova)
        }

        fn progress(&mut self) -> Result<(), CardError> {
            self.card.progress()
        }
    }

    #[test]
    fn a_card_is_identified_then_reset_then_a_bus_master() {
        let fake = FakeVfio::card();
        let mut card = open(&fake).unwrap();
        assert_eq!(fake.calls(), ["bar 2", "reset", "command 0x6"]);
        assert_eq!(card.read(TYPE.offset).unwrap(), TYPE_ID);
        card.write(IP.offset, 0x0a00_0001).unwrap();
        assert_eq!(fake.register(IP.offset), 0x0a00_0001);
        assert_eq!(card.firmware(), None, "this one is no Corundum");
        card.progress().unwrap();
    }

    #[test]
    fn a_card_that_does_not_fit_is_refused_with_both_sides_and_never_a_bus_master() {
        for (register, value, text) in [
            (TYPE, 7, "not a D-RDMA card: its type is 0x00000007, not 0x4452444d".to_owned()),
            (VERSION, 0x0901_0000, "the card has version 9.1.0, this software is for".to_owned()),
            (
                ABI_HASH_LOW,
                ABI_HASH as u32 ^ 1,
                format!(
                    "the card has ABI {:#018x}, this software has ABI {ABI_HASH:#018x}",
                    ABI_HASH ^ 1
                ),
            ),
        ] {
            let fake = FakeVfio::card();
            fake.set_register(register.offset, value);
            let error = open(&fake).unwrap_err().to_string();
            assert!(error.starts_with(&text), "{error}");
            assert_eq!(fake.command() & 4, 0);
            assert!(!fake.calls().contains(&"command 0x6".to_owned()));
        }
    }

    #[test]
    fn a_small_bar_and_a_reset_that_fails_are_errors() {
        let fake = FakeVfio::card();
        fake.set_bar_size(1 << 20);
        let error = open(&fake).unwrap_err().to_string();
        assert_eq!(error, "BAR2 has 1048576 B, and 16777216 B are needed");
        let fake = FakeVfio::card();
        fake.fail_reset(libc::EIO);
        assert!(open(&fake).unwrap_err().to_string().starts_with("cannot reset the device: "));
        let fake = FakeVfio::card();
        fake.no_reset();
        assert!(open(&fake).is_ok(), "there is another reset in its registers");
    }

    #[test]
    fn registers_that_do_not_exist_are_refused() {
        let mut card = open(&FakeVfio::card()).unwrap();
        for offset in [BAR2_SIZE, 2] {
            let text = format!("no register at offset {offset:#x}");
            assert_eq!(card.read(offset).unwrap_err().to_string(), text);
            assert_eq!(card.write(offset, 0).unwrap_err().to_string(), text);
        }
    }

    #[test]
    fn a_register_may_be_all_ones_and_a_card_that_is_gone_is_noticed() {
        let fake = FakeVfio::card();
        let mut card = open(&fake).unwrap();
        fake.set_register(IP.offset, u32::MAX);
        assert_eq!(card.read(IP.offset).unwrap(), u32::MAX);
        fake.pull();
        let error = card.read(IP.offset).unwrap_err().to_string();
        assert!(error.starts_with("the card failed: it does not answer any more"), "{error}");
        assert!(card.write(IP.offset, 1).is_err(), "it stays gone");
        assert!(card.progress().is_err());
        for first in [|card: &mut VfioCard| card.read(TYPE.offset).unwrap_err().to_string(), polled]
        {
            let fake = FakeVfio::card();
            let mut card = open(&fake).unwrap();
            fake.pull();
            let error = first(&mut card);
            assert!(error.starts_with("the card failed: it does not answer any more"), "{error}");
        }
    }

    /// Returns the error with which polling ends.
    fn polled(card: &mut VfioCard) -> String {
        let start = Instant::now();
        loop {
            if let Err(error) = card.progress() {
                return error.to_string();
            }
            assert!(start.elapsed() < 20 * LOOK, "polling goes on");
        }
    }

    #[test]
    fn a_card_that_is_wanted_back_ends_polling() {
        let fake = FakeVfio::card();
        let mut card = open(&fake).unwrap();
        fake.request();
        let error = polled(&mut card);
        assert!(error.starts_with("the card failed: it is to be unplugged or unbound"), "{error}");
        assert_eq!(fake.command() & 4, 0, "it is no bus master any more");
    }

    #[test]
    fn a_device_maps_through_the_iommu_and_all_goes_with_it() {
        let fake = FakeVfio::card();
        let card = Resetting { card: open(&fake).unwrap(), fake: fake.clone() };
        let mut device = Device::open(Box::new(card)).unwrap();
        let memory = DmaMemory::new(5000).unwrap();
        let iova = device.map(&memory).unwrap();
        assert_eq!(fake.mapped(), [(iova, (memory.as_ptr() as usize, 8192))]);
        device.unmap(iova).unwrap();
        assert!(fake.mapped().is_empty());
        fake.fail_map(Some(libc::ENOMEM));
        let error = device.map(&memory).unwrap_err().to_string();
        let text = "cannot map 8192 B at 0x100000000: no more memory may be locked, 0 B are mapped";
        assert!(error.starts_with(text), "{error}");
        fake.fail_map(None);
        device.map(&memory).unwrap();
        drop(device);
        assert!(fake.mapped().is_empty());
        assert_eq!(fake.command() & 4, 0, "and the card is no bus master any more");
    }

    #[test]
    fn the_port_of_a_corundum_shell_is_opened_or_that_is_an_error() {
        let shell = [
            (0, u32::MAX),
            (4, 0x100),
            (8, 0x40),
            (0x40, 0xc000),
            (0x50, 1),
            (0x58, 0x8_0000),
            (0x8_0000, 0xc002),
            (0x8_000c, 0x8_1000),
            (0x8_1000, 0xc003),
            (0x8_1004, 0x300),
        ];
        let fake = FakeVfio::card();
        fake.add_shell(CORUNDUM_SIZE, &shell);
        let card = open(&fake).unwrap();
        assert!(card.firmware().is_some());
        assert_eq!([0x8_1010, 0x8_1014].map(|at| fake.shell_register(at)), [1, 1]);
        let fake = FakeVfio::card();
        fake.add_shell(CORUNDUM_SIZE, &shell[..6]);
        let error = open(&fake).unwrap_err().to_string();
        assert!(error.ends_with("its registers are not found in BAR0"), "{error}");
        let fake = FakeVfio::card();
        fake.add_shell(CORUNDUM_LEN, &shell[..6]);
        let error = open(&fake).unwrap_err().to_string();
        assert!(error.contains("BAR0 cannot be mapped as a whole"), "{error}");
    }

    #[test]
    fn a_card_is_attached_to_as_it_is() {
        let fake = FakeVfio::card();
        let card = open(&fake).unwrap();
        fake.set_register(CONTROL.offset, 1);
        fake.set_register(PACKETS.offset, 77);
        let mut device = Device::attach(Box::new(card)).unwrap();
        assert_eq!(device.counter(PACKETS).unwrap(), 77);
        assert_eq!(fake.register(CONTROL.offset), 1);
    }

    #[test]
    fn registers_are_written_by_several_threads_until_the_card_is_closed() {
        let fake = FakeVfio::card();
        let card = open(&fake).unwrap();
        let window = card.window().expect("a window");
        std::thread::scope(|scope| {
            for word in 0..4 {
                let window = &window;
                scope.spawn(move || window.write(IP.offset + 0x1000 + 4 * word, word).unwrap());
            }
        });
        assert_eq!((0..4).map(|w| fake.register(IP.offset + 0x1000 + 4 * w)).sum::<u32>(), 6);
        let error = window.write(2, 0).unwrap_err().to_string();
        assert_eq!(error, "no register at offset 0x2");
        drop(card);
        let error = window.write(IP.offset, 1).unwrap_err().to_string();
        assert_eq!(error, "the card failed: it was closed");
        assert_eq!(fake.register(IP.offset), 0);
    }

    #[test]
    fn unmapping_what_is_not_mapped_is_refused() {
        let mut card = open(&FakeVfio::card()).unwrap();
        let error = card.unmap(0x1000).unwrap_err().to_string();
        assert_eq!(error, "cannot unmap what is at 0x1000: nothing is mapped there");
    }

    #[test]
    fn a_uri_names_an_address() {
        let fake = FakeSysfs::new();
        fake.card("0000:65:00.0", Some(14), Some("mqnic"));
        let fails = |uri| open_in(&fake.sysfs(), uri).unwrap_err();
        for uri in ["vfio:", "vfio:eth0", "vfio", "soft:", "vfio:0000:65:00.0?x=1"] {
            let error = fails(uri);
            assert!(error.is_usage());
            let text = format!("`{uri}` names no card: it must look like vfio:0000:65:00.0");
            assert_eq!(error.to_string(), text);
        }
        let error = fails("vfio:65:00.0");
        assert!(!error.is_usage());
        assert!(
            error.to_string().starts_with("0000:65:00.0 is bound to mqnic; bind it"),
            "{error}"
        );
    }
}
