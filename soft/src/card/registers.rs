//! The register space of BAR2: which register, counter or table word an offset is.

use drdma_abi::{
    described::REGION_TABLES,
    receive::{FEATURES, RECEIVE_TABLES},
    register::{
        self, BAR2_SIZE, COUNTERS, COUNTERS_OFFSET, Counter, REGISTERS, Register, TABLES, Table,
    },
};
use drdma_driver::CardError;

/// Item of the register space at an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A global register.
    Register(&'static Register),
    /// Half of a counter: its index, and true for the high word.
    Counter(usize, bool),
    /// A word of a table entry: the table, the entry's index, the byte offset in the entry.
    Table(&'static Table, u32, u32),
    /// No item: reads as 0, writes are ignored.
    Nothing,
}

/// Returns the item at `offset`.
pub fn find(offset: u32) -> Result<Target, CardError> {
    if offset >= BAR2_SIZE || !offset.is_multiple_of(4) {
        return Err(CardError::Register { offset });
    }
    if let Some(register) = REGISTERS.iter().find(|register| register.offset == offset) {
        return Ok(Target::Register(register));
    }
    if offset == FEATURES.offset {
        return Ok(Target::Register(&FEATURES));
    }
    let counters = COUNTERS_OFFSET..COUNTERS_OFFSET + 8 * COUNTERS.len() as u32;
    if counters.contains(&offset) {
        let word = (offset - COUNTERS_OFFSET) / 4;
        return Ok(Target::Counter((word / 2) as usize, word % 2 == 1));
    }
    for table in TABLES.iter().chain(RECEIVE_TABLES).chain(REGION_TABLES) {
        if (table.offset..table.entry(table.entries)).contains(&offset) {
            let inside = offset - table.offset;
            return Ok(Target::Table(table, inside / table.entry_size, inside % table.entry_size));
        }
    }
    Ok(Target::Nothing)
}

/// The global registers' values, by name.
#[derive(Clone, Debug)]
pub struct Registers {
    values: Vec<u32>,
}

impl Default for Registers {
    fn default() -> Self {
        let mut registers = Self { values: REGISTERS.iter().map(|r| r.reset).collect() };
        registers.set(&register::ABI_HASH_LOW, drdma_abi::ABI_HASH as u32);
        registers.set(&register::ABI_HASH_HIGH, (drdma_abi::ABI_HASH >> 32) as u32);
        registers
    }
}

/// Index of the register at each offset, counted in words.
const PLACES: [u8; WORDS] = {
    let mut places = [u8::MAX; WORDS];
    let mut place = 0;
    while place < REGISTERS.len() {
        places[REGISTERS[place].offset as usize / 4] = place as u8;
        place += 1;
    }
    places
};
/// Number of words that the global registers occupy.
const WORDS: usize = 256;

impl Registers {
    fn index(register: &Register) -> usize {
        usize::from(PLACES[register.offset as usize / 4])
    }

    /// Value of a register.
    pub fn get(&self, register: &Register) -> u32 {
        self.values[Self::index(register)]
    }

    /// Sets a register's value, even if the host may not write it.
    pub fn set(&mut self, register: &Register, value: u32) {
        self.values[Self::index(register)] = value;
    }
}

/// The counters' values.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    values: [u64; COUNTERS.len()],
}

impl Counters {
    fn index(counter: &Counter) -> usize {
        ((counter.offset - COUNTERS_OFFSET) / 8) as usize
    }

    /// Low or high word of a counter.
    pub fn word(&self, index: usize, high: bool) -> u32 {
        (self.values[index] >> if high { 32 } else { 0 }) as u32
    }

    /// Adds `by` to a counter.
    pub fn add(&mut self, counter: &Counter, by: u64) {
        let value = &mut self.values[Self::index(counter)];
        *value = value.wrapping_add(by);
    }
}
