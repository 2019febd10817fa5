//! A card with its register map: typed access to registers, counters and tables, and the
//! bookkeeping of mapped memory.

use std::{collections::BTreeMap, fmt, sync::Arc};

use drdma_abi::{
    ABI_HASH, Layout,
    register::{
        ABI_HASH_HIGH, ABI_HASH_LOW, CONTROL, Counter, DOORBELLS, Register, STATUS, TYPE, TYPE_ID,
        Table, VERSION, VERSION_ID,
    },
};

use crate::{Card, CardError, DmaMemory, IovaAllocator, RegisterWindow};

bitflags::bitflags! {
    /// Bits of [`CONTROL`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Control: u32 {
        /// The card takes doorbells and sends.
        const ENABLE = 1 << 0;
        /// Reset everything; clears itself.
        const RESET = 1 << 1;
    }
}

bitflags::bitflags! {
    /// Bits of [`STATUS`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Status: u32 {
        /// Work is in progress somewhere in the card.
        const BUSY = 1 << 0;
    }
}

/// Number of times that a card is polled for the end of its reset before it counts as failed.
const RESET_POLLS: u32 = 100_000;

/// Error of opening a card.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The register block is not a D-RDMA card's.
    #[error("not a D-RDMA card: its type is {found:#010x}, not {TYPE_ID:#010x}")]
    Type {
        /// Value of the type register that was found.
        found: u32,
    },
    /// The card has another major version.
    #[error(
        "the card has version {}, this software is for version {}",
        version(*found),
        version(VERSION_ID)
    )]
    Version {
        /// Value of the version register that was found.
        found: u32,
    },
    /// The card was built from other layouts, or from another register map.
    #[error("the card has ABI {found:#018x}, this software has ABI {ABI_HASH:#018x}")]
    Abi {
        /// ABI hash that was found.
        found: u64,
    },
    /// The card failed.
    #[error(transparent)]
    Card(#[from] CardError),
}

fn version(id: u32) -> String {
    let [major, minor, patch, _] = id.to_be_bytes();
    format!("{major}.{minor}.{patch}")
}

/// Checks the type, major version and ABI of a card.
///
/// # Errors
/// The card does not fit this software; the message names both sides.
pub fn identify(card: &mut dyn Card) -> Result<(), OpenError> {
    let found = card.read(TYPE.offset)?;
    if found != TYPE_ID {
        return Err(OpenError::Type { found });
    }
    let found = card.read(VERSION.offset)?;
    if found >> 24 != VERSION_ID >> 24 {
        return Err(OpenError::Version { found });
    }
    let [low, high] = [ABI_HASH_LOW, ABI_HASH_HIGH].map(|register| card.read(register.offset));
    let found = u64::from(low?) | u64::from(high?) << 32;
    if found != ABI_HASH {
        return Err(OpenError::Abi { found });
    }
    Ok(())
}

/// A card that has been identified, reset, and not yet enabled.
///
/// ```no_run
/// use drdma_abi::register::{self, counter};
/// use drdma_driver::{Card, Device, DmaMemory};
///
/// # fn example(card: Box<dyn Card>) -> Result<(), Box<dyn std::error::Error>> {
/// let mut device = Device::open(card)?;
/// device.write(register::MERGE_THRESHOLD, 128)?;
/// let memory = DmaMemory::new(65536)?;
/// let iova = device.map(&memory)?;
/// device.enable()?;
/// println!("{} packets", device.counter(counter::PACKETS)?);
/// device.unmap(iova)?;
/// # Ok(())
/// # }
/// ```
pub struct Device {
    card: Box<dyn Card>,
    iovas: IovaAllocator,
    mapped: BTreeMap<u64, usize>,
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device").field("mapped", &self.mapped).finish_non_exhaustive()
    }
}

impl Device {
    /// Checks the card's type, major version and ABI, and resets it.
    ///
    /// # Errors
    /// A card that does not fit is refused and left as it is; the message names both sides.
    pub fn open(card: Box<dyn Card>) -> Result<Self, OpenError> {
        let mut device = Self::attach(card)?;
        device.reset()?;
        Ok(device)
    }

    /// Checks the card's type, major version and ABI, and changes nothing: for inspecting a card
    /// that another program uses.
    ///
    /// # Errors
    /// A card that does not fit is refused; the message names both sides.
    pub fn attach(card: Box<dyn Card>) -> Result<Self, OpenError> {
        let mut device = Self { card, iovas: IovaAllocator::new(), mapped: BTreeMap::new() };
        identify(device.card.as_mut())?;
        Ok(device)
    }

    /// Resets everything in the card, and waits until that is done. The card is disabled
    /// afterwards. Mapped memory stays mapped.
    ///
    /// # Errors
    /// The card failed, or its reset does not end.
    pub fn reset(&mut self) -> Result<(), CardError> {
        self.write(CONTROL, Control::RESET.bits())?;
        for _ in 0..RESET_POLLS {
            if !Control::from_bits_truncate(self.read(CONTROL)?).contains(Control::RESET) {
                return self.write(CONTROL, 0);
            }
            self.progress()?;
        }
        Err(CardError::Failed("its reset does not end".into()))
    }

    /// Enables the card, so that it takes doorbells and sends.
    ///
    /// # Errors
    /// The card failed.
    pub fn enable(&mut self) -> Result<(), CardError> {
        self.write(CONTROL, Control::ENABLE.bits())
    }

    /// Disables the card, so that it takes no doorbells and does not send.
    ///
    /// # Errors
    /// The card failed.
    pub fn disable(&mut self) -> Result<(), CardError> {
        self.write(CONTROL, 0)
    }

    /// True while any request is in progress in the card, even if only its acknowledgement is
    /// missing. When it is false, the card has finished all its reads and writes up to the next
    /// doorbell.
    ///
    /// # Errors
    /// The card failed.
    pub fn is_busy(&mut self) -> Result<bool, CardError> {
        Ok(Status::from_bits_truncate(self.read(STATUS)?).contains(Status::BUSY))
    }

    /// Reads a register.
    ///
    /// # Errors
    /// The card failed.
    pub fn read(&mut self, register: Register) -> Result<u32, CardError> {
        self.card.read(register.offset)
    }

    /// Writes a register.
    ///
    /// # Errors
    /// The card failed.
    pub fn write(&mut self, register: Register, value: u32) -> Result<(), CardError> {
        self.card.write(register.offset, value)
    }

    /// Writes the register at an offset in BAR2, for instance of a table.
    ///
    /// # Errors
    /// There is no such register, or the card failed.
    pub fn write_at(&mut self, offset: u32, value: u32) -> Result<(), CardError> {
        self.card.write(offset, value)
    }

    /// Reads a counter: both words, and again if the high one changed in between.
    ///
    /// # Errors
    /// The card failed.
    pub fn counter(&mut self, counter: Counter) -> Result<u64, CardError> {
        loop {
            let low = self.card.read(counter.offset)?;
            let high = self.card.read(counter.offset + 4)?;
            // A carry between the two reads shows as a decreased low word.
            if self.card.read(counter.offset)? >= low {
                return Ok(u64::from(low) | u64::from(high) << 32);
            }
        }
    }

    /// Writes an entry of a table word by word, the last word last, which makes it effective.
    ///
    /// # Errors
    /// The card failed.
    ///
    /// # Panics
    /// If the table has no such entry, or its entries are not of that layout's size.
    pub fn write_entry<L: Layout>(
        &mut self,
        table: Table,
        index: u32,
        entry: &L,
    ) -> Result<(), CardError> {
        assert_eq!(L::SIZE, table.entry_size as usize, "{} in table {}", L::NAME, table.name);
        let mut bytes = [0; 64];
        let bytes = &mut bytes[..L::SIZE];
        entry.encode(bytes);
        let offset = Self::entry_offset(table, index);
        for (word, at) in bytes.as_chunks::<4>().0.iter().zip((offset..).step_by(4)) {
            self.card.write(at, u32::from_le_bytes(*word))?;
        }
        Ok(())
    }

    /// Writes an entry that is no single layout: `words` from its start on, and `end` in its last
    /// 16 B, the last word last, which makes it effective. The words between them stay.
    ///
    /// # Errors
    /// The card failed.
    ///
    /// # Panics
    /// If the table has no such entry, or the words do not fit its entries.
    pub fn write_region(
        &mut self,
        table: Table,
        index: u32,
        words: &[u64],
        end: [u64; 2],
    ) -> Result<(), CardError> {
        let room = table.entry_size as usize / 8 - end.len();
        assert!(words.len() <= room, "{} words for an entry of {}", words.len(), table.name);
        let start = Self::entry_offset(table, index);
        let last = start + 8 * room as u32;
        let words = words.iter().zip((start..).step_by(8));
        for (word, at) in words.chain(end.iter().zip((last..).step_by(8))) {
            self.card.write(at, *word as u32)?;
            self.card.write(at + 4, (*word >> 32) as u32)?;
        }
        Ok(())
    }

    /// Writes one 32-bit field of an entry, by its name.
    ///
    /// # Errors
    /// The card failed.
    ///
    /// # Panics
    /// If the table has no such entry, or the layout no such field of a whole aligned word.
    pub fn write_field<L: Layout>(
        &mut self,
        table: Table,
        index: u32,
        name: &str,
        value: u32,
    ) -> Result<(), CardError> {
        let field = L::field(name);
        assert!(field.start.is_multiple_of(32) && field.width == 32, "{name} is not one word");
        self.card.write(Self::entry_offset(table, index) + field.start as u32 / 8, value)
    }

    /// Reads the first word of a table's entry.
    ///
    /// # Errors
    /// The card failed.
    ///
    /// # Panics
    /// If the table has no such entry.
    pub fn read_entry(&mut self, table: Table, index: u32) -> Result<u32, CardError> {
        self.card.read(Self::entry_offset(table, index))
    }

    fn entry_offset(table: Table, index: u32) -> u32 {
        assert!(index < table.entries, "table {} has no entry {index}", table.name);
        table.entry(index)
    }

    /// Rings the doorbell of a send queue: it is filled up to `position`, in blocks modulo 2^32.
    ///
    /// # Errors
    /// The card failed.
    pub fn ring_doorbell(&mut self, queue: u32, position: u32) -> Result<(), CardError> {
        self.card.write(Self::entry_offset(DOORBELLS, queue), position)
    }

    /// Registers for threads that do not wait for each other, if the card has them.
    pub fn window(&self) -> Option<Arc<dyn RegisterWindow>> {
        self.card.window()
    }

    /// Maps memory for the card and returns the I/O virtual address of its first page.
    ///
    /// # Errors
    /// There is no free address, or the card refused.
    pub fn map(&mut self, memory: &DmaMemory) -> Result<u64, CardError> {
        let size = memory.mapped_len();
        // The same calls give the same addresses, wherever this process's own memory lies.
        let like = if memory.is_foreign() { memory.as_ptr().addr() as u64 } else { 0 };
        let iova = self.iovas.allocate_at(size as u64, like).ok_or_else(|| CardError::Map {
            iova: 0,
            size: size as u64,
            reason: "no free I/O virtual addresses".into(),
        })?;
        if let Err(error) = self.card.map(iova, &memory.for_card()) {
            self.iovas.free(iova);
            return Err(error);
        }
        self.mapped.insert(iova, size);
        Ok(iova)
    }

    /// Unmaps memory that was mapped by [`map`](Self::map).
    ///
    /// # Errors
    /// No memory is mapped there, or the card failed; the address is not used again then.
    pub fn unmap(&mut self, iova: u64) -> Result<(), CardError> {
        if self.mapped.remove(&iova).is_none() {
            let reason = "nothing is mapped there".into();
            return Err(CardError::Unmap { iova, reason });
        }
        self.card.unmap(iova)?;
        self.iovas.free(iova);
        Ok(())
    }

    /// Ranges that are mapped: I/O virtual address and length in bytes.
    pub fn mapped(&self) -> impl Iterator<Item = (u64, usize)> + '_ {
        self.mapped.iter().map(|(iova, size)| (*iova, *size))
    }

    /// Advances a simulated card's time, and notices a board that was removed; see
    /// [`Card::progress`].
    ///
    /// # Errors
    /// The card failed.
    pub fn progress(&mut self) -> Result<(), CardError> {
        self.card.progress()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::HashMap,
        sync::{Arc, Mutex},
    };

    use drdma_abi::register::{MEMORY_REGIONS, MERGE_THRESHOLD, MemoryRegionEntry, counter};

    use super::*;

    /// Registers that hold the values written to them, and a log of the writes.
    #[derive(Clone, Default)]
    struct Registers(Arc<Mutex<State>>);

    #[derive(Default)]
    struct State {
        words: HashMap<u32, u32>,
        writes: Vec<(u32, u32)>,
        mapped: Vec<u64>,
        /// Values of a counter's low word, one a read, and its high word.
        low: Vec<u32>,
        refuse_map: bool,
        stuck: bool,
    }

    impl Registers {
        fn new() -> Self {
            let registers = Self::default();
            for (register, value) in [
                (TYPE, TYPE_ID),
                (VERSION, VERSION_ID),
                (ABI_HASH_LOW, ABI_HASH as u32),
                (ABI_HASH_HIGH, (ABI_HASH >> 32) as u32),
            ] {
                registers.set(register, value);
            }
            registers
        }

        fn set(&self, register: Register, value: u32) {
            self.0.lock().unwrap().words.insert(register.offset, value);
        }
    }

    impl Card for Registers {
        fn read(&mut self, offset: u32) -> Result<u32, CardError> {
            let mut state = self.0.lock().unwrap();
            if offset == counter::PACKETS.offset && !state.low.is_empty() {
                return Ok(state.low.remove(0));
            }
            Ok(state.words.get(&offset).copied().unwrap_or(0))
        }

        fn write(&mut self, offset: u32, value: u32) -> Result<(), CardError> {
            let mut state = self.0.lock().unwrap();
            let kept = if offset == CONTROL.offset && !state.stuck { value & !2 } else { value };
            state.words.insert(offset, kept);
            state.writes.push((offset, value));
            Ok(())
        }

        fn map(&mut self, iova: u64, memory: &DmaMemory) -> Result<(), CardError> {
            let mut state = self.0.lock().unwrap();
            if state.refuse_map {
                let size = memory.mapped_len() as u64;
                return Err(CardError::Map { iova, size, reason: "no".into() });
            }
            state.mapped.push(iova);
            Ok(())
        }

        fn unmap(&mut self, iova: u64) -> Result<(), CardError> {
            self.0.lock().unwrap().mapped.retain(|mapped| *mapped != iova);
            Ok(())
        }

        fn progress(&mut self) -> Result<(), CardError> {
            Ok(())
        }
    }

    #[test]
    fn a_card_is_attached_to_without_a_write() {
        let card = Registers::new();
        card.set(MERGE_THRESHOLD, 77);
        let mut device = Device::attach(Box::new(card.clone())).unwrap();
        assert_eq!(device.read(MERGE_THRESHOLD).unwrap(), 77);
        assert!(card.0.lock().unwrap().writes.is_empty());
        card.set(TYPE, 0);
        assert!(matches!(Device::attach(Box::new(card)), Err(OpenError::Type { found: 0 })));
    }

    fn refusal(register: Register, value: u32) -> String {
        let card = Registers::new();
        card.set(register, value);
        let error = Device::open(Box::new(card.clone())).unwrap_err().to_string();
        assert!(card.0.lock().unwrap().writes.is_empty(), "the card is left as it is");
        error
    }

    #[test]
    fn a_card_that_does_not_fit_is_refused_and_both_sides_are_named() {
        assert_eq!(
            refusal(TYPE, 0x1234),
            "not a D-RDMA card: its type is 0x00001234, not 0x4452444d"
        );
        let ours = version(VERSION_ID);
        assert_eq!(
            refusal(VERSION, 0x0902_0300),
            format!("the card has version 9.2.3, this software is for version {ours}")
        );
        let low = (ABI_HASH as u32) ^ 1;
        assert_eq!(
            refusal(ABI_HASH_LOW, low),
            format!(
                "the card has ABI {:#018x}, this software has ABI {ABI_HASH:#018x}",
                ABI_HASH ^ 1
            )
        );
        let high = (ABI_HASH >> 32) as u32 ^ 1;
        assert!(refusal(ABI_HASH_HIGH, high).contains("ABI"));
    }

    #[test]
    fn opening_resets_and_a_reset_that_does_not_end_is_an_error() {
        let card = Registers::new();
        Device::open(Box::new(card.clone())).unwrap();
        assert_eq!(card.0.lock().unwrap().writes, [(CONTROL.offset, 2), (CONTROL.offset, 0)]);
        let card = Registers::new();
        card.0.lock().unwrap().stuck = true;
        let error = Device::open(Box::new(card)).unwrap_err();
        assert_eq!(error.to_string(), "the card failed: its reset does not end");
    }

    #[test]
    fn a_card_says_whether_it_is_busy() {
        let card = Registers::new();
        let mut device = Device::open(Box::new(card.clone())).unwrap();
        for (value, busy) in [(0, false), (1, true), (2, false), (3, true)] {
            card.0.lock().unwrap().words.insert(STATUS.offset, value);
            assert_eq!(device.is_busy().unwrap(), busy, "{value}");
        }
    }

    #[test]
    fn an_entry_is_written_in_order_with_its_last_word_last() {
        let card = Registers::new();
        let mut device = Device::open(Box::new(card.clone())).unwrap();
        card.0.lock().unwrap().writes.clear();
        let entry = MemoryRegionEntry {
            addr: 0x1_2345_6789,
            len: 77,
            lkey: 0x1003,
            valid: 1,
            ..Default::default()
        };
        device.write_entry(MEMORY_REGIONS, 3, &entry).unwrap();
        let at = 0x20_0000 + 3 * 32;
        let words = [0x2345_6789, 1, 77, 0, 0x1003, 0, 0, 1];
        let expected: Vec<_> = (at..).step_by(4).zip(words).collect();
        assert_eq!(card.0.lock().unwrap().writes, expected);
    }

    #[test]
    #[should_panic(expected = "table MEMORY_REGIONS has no entry 4096")]
    fn an_entry_that_does_not_exist_is_not_written() {
        let mut device = Device::open(Box::new(Registers::new())).unwrap();
        let _ = device.write_entry(MEMORY_REGIONS, 4096, &MemoryRegionEntry::default());
    }

    #[test]
    fn a_counter_that_carries_between_its_words_is_read_again() {
        let card = Registers::new();
        let mut device = Device::open(Box::new(card.clone())).unwrap();
        card.0.lock().unwrap().low = vec![u32::MAX, 0, 1, 2];
        card.0.lock().unwrap().words.insert(counter::PACKETS.offset + 4, 7);
        assert_eq!(device.counter(counter::PACKETS).unwrap(), 7 << 32 | 1);
    }

    #[test]
    fn what_is_mapped_is_known_and_unmapped_once() {
        let card = Registers::new();
        let mut device = Device::open(Box::new(card.clone())).unwrap();
        let memory = DmaMemory::new(5000).unwrap();
        let iova = device.map(&memory).unwrap();
        assert_eq!(device.mapped().collect::<Vec<_>>(), [(iova, 8192)]);
        device.unmap(iova).unwrap();
        assert!(card.0.lock().unwrap().mapped.is_empty());
        let error = device.unmap(iova).unwrap_err().to_string();
        assert_eq!(error, "cannot unmap what is at 0x100000000: nothing is mapped there");
        card.0.lock().unwrap().refuse_map = true;
        assert!(device.map(&memory).is_err());
        card.0.lock().unwrap().refuse_map = false;
        assert_eq!(device.map(&memory).unwrap(), iova, "a refused address is free again");
    }
}
