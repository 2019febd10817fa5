//! The function: its regions as the kernel's VFIO numbers them, and the card behind them.

use drdma_driver::CardError;
use drdma_sim::{Slot, wire::Network};
use drdma_soft::host::Host;
use rustix::io::Errno;

use super::{
    config::{self, BAR_SIZE, ConfigSpace, Link},
    corundum::Corundum,
    interrupts::Interrupts,
};

/// Number of regions: six BARs, the ROM, configuration space, VGA.
pub const REGIONS: u32 = 9;
const BAR0: u32 = 0;
const BAR2: u32 = 2;
const CONFIG: u32 = 7;

/// Error of an access.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AccessError {
    /// There is no register at that place, or not of that width.
    #[error("there is no register of {len} B at {offset:#x} in region {region}")]
    Place {
        /// Index of the region.
        region: u32,
        /// Offset in the region.
        offset: u64,
        /// Length of the access in bytes.
        len: usize,
    },
    /// The card failed.
    #[error(transparent)]
    Card(#[from] CardError),
}

impl AccessError {
    /// Error number for the client.
    pub fn errno(&self) -> Errno {
        match self {
            Self::Place { .. } => Errno::INVAL,
            Self::Card(_) => Errno::IO,
        }
    }
}

/// A simulated card in a slot.
pub struct Function {
    link: Link,
    /// A wire is plugged in.
    has_wire: bool,
    config: ConfigSpace,
    corundum: Corundum,
    /// Events for interrupts.
    pub interrupts: Interrupts,
    card: Box<dyn Slot>,
    network: Network,
}

impl Function {
    /// Puts a card, whose wire is `network`, into a slot; the function is in its state after reset.
    pub fn new(card: Box<dyn Slot>, network: Network, link: Link, has_wire: bool) -> Self {
        network.plug_cable();
        let mut function = Self {
            link,
            has_wire,
            config: ConfigSpace::new(link),
            corundum: Corundum::new(has_wire),
            interrupts: Interrupts::default(),
            card,
            network,
        };
        function.apply();
        function
    }

    /// The card.
    pub fn card(&mut self) -> &mut dyn Slot {
        &mut *self.card
    }

    /// Memory that the card can access.
    pub fn host(&mut self) -> &mut Host {
        self.card.host()
    }

    /// Applies the state of the registers to card, host and network.
    fn apply(&mut self) {
        self.card.host().set_bus_master(self.config.is_bus_master());
        self.network.set_port(self.corundum.port());
    }

    /// Resets the function: the whole card, configuration space, the port. Mapped memory and the
    /// events for interrupts stay.
    ///
    /// # Errors
    /// The card does not answer afterwards.
    pub fn reset(&mut self) -> Result<(), CardError> {
        self.config = ConfigSpace::new(self.link);
        self.corundum = Corundum::new(self.has_wire);
        self.apply();
        self.card.reset_function()
    }

    /// Returns whether a region can be accessed, and its size in bytes; `None` if there is no such
    /// region.
    pub fn region(index: u32) -> Option<(bool, u64)> {
        match index {
            BAR0 | BAR2 => Some((true, BAR_SIZE)),
            CONFIG => Some((true, config::SIZE as u64)),
            _ => (index < REGIONS).then_some((false, 0)),
        }
    }

    /// Reads from a region. While the function does not answer at its BARs, these read as ones.
    ///
    /// # Errors
    /// The place does not exist, or the card failed.
    pub fn read(&mut self, region: u32, offset: u64, into: &mut [u8]) -> Result<(), AccessError> {
        if region == CONFIG {
            let len = into.len();
            let read = self.config.read(offset, into);
            return if read { Ok(()) } else { Err(AccessError::Place { region, offset, len }) };
        }
        let mut at = check_bar(region, offset, into.len())?;
        if !self.config.answers() {
            into.fill(0xff);
            return Ok(());
        }
        let mut rest = into;
        while !rest.is_empty() {
            // A read of a part of a word reads the whole word.
            let skip = at as usize % 4;
            let (part, after) = rest.split_at_mut(rest.len().min(4 - skip));
            let word = self.read_word(region, at & !3)?.to_le_bytes();
            part.copy_from_slice(&word[skip..skip + part.len()]);
            at += part.len() as u32;
            rest = after;
        }
        Ok(())
    }

    fn read_word(&mut self, region: u32, offset: u32) -> Result<u32, CardError> {
        match region {
            BAR0 => Ok(self.corundum.read(offset)),
            _ => self.card.read(offset),
        }
    }

    /// Writes to a region: to BARs whole words, in order. While the function does not answer at its
    /// BARs, writes to these are ignored.
    ///
    /// # Errors
    /// The place does not exist, or the card failed.
    pub fn write(&mut self, region: u32, offset: u64, bytes: &[u8]) -> Result<(), AccessError> {
        let wrong = || AccessError::Place { region, offset, len: bytes.len() };
        if region == CONFIG {
            let reset = self.config.write(offset, bytes).ok_or_else(wrong)?;
            if reset {
                self.reset()?;
            }
            self.apply();
            return Ok(());
        }
        let start = check_bar(region, offset, bytes.len())?;
        let (words, rest) = bytes.as_chunks::<4>();
        if !start.is_multiple_of(4) || !rest.is_empty() {
            return Err(wrong());
        }
        if !self.config.answers() {
            return Ok(());
        }
        for (word, at) in words.iter().zip((start..).step_by(4)) {
            let value = u32::from_le_bytes(*word);
            match region {
                BAR0 => {
                    self.corundum.write(at, value);
                    self.apply();
                }
                _ => self.card.write(at, value)?,
            }
        }
        Ok(())
    }
}

/// Checks that an access is inside a BAR, and returns its offset there.
fn check_bar(region: u32, offset: u64, len: usize) -> Result<u32, AccessError> {
    let fits = offset.checked_add(len as u64).is_some_and(|end| end <= BAR_SIZE);
    match (region, fits) {
        (BAR0 | BAR2, true) => Ok(offset as u32),
        _ => Err(AccessError::Place { region, offset, len }),
    }
}

#[cfg(test)]
mod tests {
    use drdma_abi::register::{IP, TYPE, TYPE_ID};
    use drdma_driver::{Card, DmaMemory};

    use super::*;

    fn function() -> Function {
        let network = Network::new();
        let card = drdma_sim::open_slot("soft:", network.clone()).unwrap();
        Function::new(card, network, Link::default(), true)
    }

    fn read(function: &mut Function, region: u32, offset: u64) -> u32 {
        let mut bytes = [0; 4];
        function.read(region, offset, &mut bytes).unwrap();
        u32::from_le_bytes(bytes)
    }

    #[test]
    fn bars_answer_when_they_are_switched_on() {
        let mut function = function();
        let ip = u64::from(IP.offset);
        function.write(2, ip, &[1, 2, 3, 4]).unwrap();
        assert_eq!(read(&mut function, 2, TYPE.offset.into()), u32::MAX);
        function.write(7, 4, &[2, 0]).unwrap();
        assert_eq!(read(&mut function, 2, TYPE.offset.into()), TYPE_ID);
        assert_eq!(read(&mut function, 2, ip), 0, "what was written before was lost");
        let mut part = [0; 5];
        function.write(2, ip, &[1, 2, 3, 4]).unwrap();
        function.read(2, ip + 1, &mut part).unwrap();
        assert_eq!(part[..3], [2, 3, 4]);
    }

    #[test]
    fn accesses_beside_registers_are_refused() {
        let mut function = function();
        for command in [0, 2] {
            function.write(7, 4, &[command, 0]).unwrap();
            for (region, offset, len) in
                [(2, BAR_SIZE, 4), (2, BAR_SIZE - 2, 4), (0, u64::MAX, 4), (1, 0, 4), (7, 4095, 2)]
            {
                assert!(function.read(region, offset, &mut vec![0; len]).is_err());
                assert!(function.write(region, offset, &vec![0; len]).is_err());
            }
            assert!(function.write(2, 2, &[0; 4]).is_err());
            assert!(function.write(2, 0, &[0; 2]).is_err());
        }
        let error = function.write(2, 6, &[0; 4]).unwrap_err().to_string();
        assert_eq!(error, "there is no register of 4 B at 0x6 in region 2");
        assert_eq!((0..12).filter(|index| Function::region(*index).is_some()).count(), 9);
    }

    /// A card that no longer answers.
    #[derive(Default)]
    struct Dead(Host);

    fn dead<T>() -> Result<T, CardError> {
        Err(CardError::Failed("it is dead".to_owned()))
    }

    impl Card for Dead {
        fn read(&mut self, _offset: u32) -> Result<u32, CardError> {
            dead()
        }

        fn write(&mut self, _offset: u32, _value: u32) -> Result<(), CardError> {
            dead()
        }

        fn map(&mut self, _iova: u64, _memory: &DmaMemory) -> Result<(), CardError> {
            dead()
        }

        fn unmap(&mut self, _iova: u64) -> Result<(), CardError> {
            dead()
        }

        fn progress(&mut self) -> Result<(), CardError> {
            dead()
        }
    }

    impl Slot for Dead {
        fn host(&mut self) -> &mut Host {
            &mut self.0
        }

        fn reset_function(&mut self) -> Result<(), CardError> {
            dead()
        }

        fn is_quiet(&mut self) -> Result<bool, CardError> {
            dead()
        }

        fn activity(&self) -> u64 {
            0
        }

        fn now_ns(&self) -> u64 {
            0
        }

        fn take_host_frames(&mut self) -> u64 {
            0
        }
    }

    #[test]
    fn a_card_that_fails_is_an_error_and_its_shell_still_answers() {
        let card = Box::new(Dead::default());
        let mut function = Function::new(card, Network::new(), Link::default(), true);
        function.write(7, 4, &[2, 0]).unwrap();
        let error = function.read(2, 0, &mut [0; 4]).unwrap_err();
        assert_eq!(
            (error.errno(), error.to_string()),
            (Errno::IO, "the card failed: it is dead".into())
        );
        assert!(matches!(function.write(2, 0, &[0; 4]), Err(AccessError::Card(_))));
        assert_eq!(read(&mut function, 0, 0), u32::MAX);
        assert!(function.write(7, 0x79, &[0x80]).is_err(), "it cannot be reset");
    }

    #[test]
    fn a_reset_leaves_memory_mapped_and_nothing_else() {
        let mut function = function();
        function.host().map(0x1000, &DmaMemory::new(4096).unwrap()).unwrap();
        function.write(7, 4, &[6, 0]).unwrap();
        assert!(function.host().write(0x1000, &[1]).is_ok());
        function.write(2, IP.offset.into(), &[9; 4]).unwrap();
        function.write(0, 0x81010, &[1, 0, 0, 0]).unwrap();
        assert!(function.network.is_transmitting());
        // Writes the bit of a function-level reset, as software finds it.
        function.write(7, 0x79, &[0x80]).unwrap();
        assert_eq!(read(&mut function, 7, 4) & 6, 0);
        assert!(function.host().write(0x1000, &[1]).is_err(), "no bus master");
        assert!(!function.network.is_transmitting());
        function.write(7, 4, &[6, 0]).unwrap();
        assert_eq!(read(&mut function, 2, IP.offset.into()), 0);
        assert!(function.host().write(0x1000, &[1]).is_ok());
    }
}
