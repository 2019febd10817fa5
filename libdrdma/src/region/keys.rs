//! Partitions that the card makes from keys.

use drdma_abi::work_request::{
    KeyType, MAX_ELEMENTS, MAX_PARTITIONS, MAX_SPLITTERS, PartitionBy, PartitionFunction,
    PartitionKey, SPARK_SEED,
};

use super::{
    ColumnKind, KindColumn, Part, RegionError, Values, inside, kinds::describe, partitioned::NAME,
};
use crate::{Features, Memory, encode::words, memory::Hold};

/// Rule by which the card makes the partition of each row from the row's keys, instead of reading
/// an id: for [`Partitioned::by`](super::Partitioned::by).
///
/// *Murmur3* is the hash of Apache Spark, with its seed of 42: a row goes where Spark's hash partitioning sends it,
/// with as many partitions. *Range* compares one key with splitters.
///
/// ```
/// # let (mac, ip) = ("02:00:00:00:00:01".parse()?, [10, 0, 0, 1].into());
/// # let context = libdrdma::Context::open(libdrdma::open("soft:")?, libdrdma::Options::new(mac, ip))?;
/// # let pd = context.protection_domain();
/// use libdrdma::{KeyType, PartitionKeys, Partitioned, Values};
///
/// let keys = pd.register(vec![1_i64, 0, -1, i64::MAX, i64::MIN])?;
/// let by = PartitionKeys::murmur3(200).key(&keys, 0, Values::fixed(8), KeyType::Integer);
/// let region = Partitioned::by(by).rows(5).column(&keys, 0, 8).build()?;
/// # let _ = region;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct PartitionKeys<'m> {
    function: Function<'m>,
    group: u64,
    keys: Vec<Key<'m>>,
}

#[derive(Clone, Debug)]
enum Function<'m> {
    Murmur3 { partitions: u64, seed: u32 },
    Range { splitters: Memory<'m>, offset: u64, count: u64 },
}

#[derive(Clone, Debug)]
struct Key<'m> {
    memory: Memory<'m>,
    offset: u64,
    values: Values<'m>,
    key_type: KeyType,
    validity: Option<(Memory<'m>, u64, u8)>,
}

impl<'m> PartitionKeys<'m> {
    fn new(function: Function<'m>) -> Self {
        Self { function, group: 1, keys: Vec::new() }
    }

    /// Partitions by Spark's hash modulo `partitions`, 1 to 65,536; the result is never negative.
    pub fn murmur3(partitions: u64) -> Self {
        Self::new(Function::Murmur3 { partitions, seed: SPARK_SEED })
    }

    /// Partitions by the number of splitters that are less than the only key: 0 to `count`, which
    /// is at most 255. The splitters are numbers of the type of the key's values, in `splitters`
    /// from byte `offset` on. A null is in partition 0; NaN is greater than all other numbers.
    pub fn range(splitters: impl Into<Memory<'m>>, offset: u64, count: u64) -> Self {
        Self::new(Function::Range { splitters: splitters.into(), offset, count })
    }

    /// Sets the seed of the hash, if it is not Spark's. It has no effect on a range.
    pub fn seed(mut self, seed: u32) -> Self {
        if let Function::Murmur3 { seed: of, .. } = &mut self.function {
            *of = seed;
        }
        self
    }

    /// Sets the number of neighbouring partitions that go to one destination, 1 to 65,535 (default
    /// 1): partition `p` has the id `p / partitions`.
    pub fn group(mut self, partitions: u64) -> Self {
        self.group = partitions;
        self
    }

    /// Adds a key: row 0's entry is at byte `offset` of `memory`. Up to 16; a hash continues from
    /// key to key.
    pub fn key(
        mut self,
        memory: impl Into<Memory<'m>>,
        offset: u64,
        values: Values<'m>,
        key_type: KeyType,
    ) -> Self {
        let memory = memory.into();
        self.keys.push(Key { memory, offset, values, key_type, validity: None });
        self
    }

    /// Adds a validity to the last key: it is null in rows whose bit is 0. Row 0's bit is bit
    /// `first`, 0 to 7, of the byte at `offset` of `memory`. A null leaves a hash as it is.
    pub fn validity(mut self, memory: impl Into<Memory<'m>>, offset: u64, first: u8) -> Self {
        if let Some(key) = self.keys.last_mut() {
            key.validity = Some((memory.into(), offset, first));
        }
        self
    }

    fn code(&self) -> PartitionBy {
        match self.function {
            Function::Murmur3 { .. } => PartitionBy::Murmur3,
            Function::Range { .. } => PartitionBy::Range,
        }
    }

    fn name(&self) -> &'static str {
        match self.code() {
            PartitionBy::Murmur3 => "Murmur3",
            PartitionBy::Range => "a range",
        }
    }

    /// Returns the protection domain, which is that of the first key.
    pub(super) fn pd(&self) -> Result<u32, RegionError> {
        let given = self.keys.len();
        let most = match self.function {
            Function::Murmur3 { .. } => MAX_ELEMENTS,
            Function::Range { .. } => 1,
        };
        match self.keys.first() {
            Some(key) if given <= most => Ok(key.memory.pd()),
            _ => Err(RegionError::Elements { region: NAME, what: "keys", given }),
        }
    }

    /// Returns the shared memory of the keys and splitters.
    pub(super) fn hold(&self) -> Hold {
        let mut holds: Vec<Hold> = Vec::new();
        if let Function::Range { splitters, .. } = &self.function {
            holds.push(Hold::of([splitters]));
        }
        for key in &self.keys {
            holds.push(Hold::of([&key.memory]));
            holds.push(key.values.hold());
            holds.extend(key.validity.iter().map(|(memory, ..)| Hold::of([memory])));
        }
        Hold::all(holds)
    }

    /// Checks all keys and the function, for a region of `rows` rows.
    pub(super) fn check(
        &self,
        rows: u64,
        pd: u32,
    ) -> Result<(PartitionMaker, u16, Vec<KeyColumn>), RegionError> {
        let region = NAME;
        let in_range = |what, value: u64, most: u64, least: u64| match value {
            value if value >= least && value <= most => Ok(value as u32),
            _ => Err(RegionError::Range { region, what, value, least, most }),
        };
        let group = in_range(Part::Group, self.group, u16::MAX.into(), 1)? as u16;
        let maker = match &self.function {
            Function::Murmur3 { partitions, seed } => {
                let most = MAX_PARTITIONS.into();
                let partitions = in_range(Part::Partitions, *partitions, most, 1)?;
                PartitionMaker::Murmur3 { partitions, seed: *seed }
            }
            Function::Range { splitters, offset, count } => {
                let count = in_range(Part::SplitterCount, *count, MAX_SPLITTERS.into(), 0)?;
                let width = self.keys.first().and_then(|key| key.values.width()).unwrap_or(0);
                let len = u128::from(count) * u128::from(width);
                inside(region, Part::Splitters, splitters, pd, (*offset).into(), len)?;
                let (addr, lkey) = match count {
                    0 => (0, 0),
                    _ => (splitters.addr().wrapping_add(*offset), splitters.lkey()),
                };
                PartitionMaker::Range { splitters: addr, lkey, count }
            }
        };
        let keys = self.keys.iter().enumerate();
        let keys = keys.map(|(index, key)| self.check_key(index, key, rows, pd));
        Ok((maker, group, keys.collect::<Result<_, _>>()?))
    }

    fn check_key(
        &self,
        index: usize,
        key: &Key<'_>,
        rows: u64,
        pd: u32,
    ) -> Result<KeyColumn, RegionError> {
        let Key { memory, offset, values, key_type, validity } = key;
        let fits = self.code().takes(*key_type, values.of_keys());
        if !fits {
            let (key_type, values, function) = (*key_type, values.describe(), self.name());
            return Err(RegionError::KeyType { region: NAME, index, key_type, values, function });
        }
        let what = (Part::Key(index), index);
        let column = values.check_column(NAME, what, (memory, *offset), rows, pd)?;
        let mut bits = None;
        if let Some((memory, offset, first)) = validity {
            if *first > 7 {
                let what = Part::ValidityBit(index);
                return Err(RegionError::Bit { region: NAME, what, value: *first });
            }
            let len = match rows {
                0 => 0,
                rows => (u128::from(*first) + u128::from(rows)).div_ceil(8),
            };
            inside(NAME, Part::Validity(index), memory, pd, (*offset).into(), len)?;
            bits = Some((memory.addr().wrapping_add(*offset), memory.lkey(), *first));
        }
        Ok(KeyColumn { column, key_type: *key_type, validity: bits })
    }
}

/// Rule by which partitions are made, as the card addresses it: for
/// [`PartitionedRegion::unchecked_by`](super::PartitionedRegion::unchecked_by).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionMaker {
    /// Spark's Murmur3.
    Murmur3 {
        /// Number of partitions, 1 to 65,536.
        partitions: u32,
        /// Initial value of the hash; Spark's is 42.
        seed: u32,
    },
    /// The number of splitters that are less than the key is the partition.
    Range {
        /// Address of the first splitter; 0 if there is none.
        splitters: u64,
        /// Local key of the splitters' memory; 0 if there is none.
        lkey: u32,
        /// Number of splitters, 0 to 255.
        count: u32,
    },
}

/// A key as the card addresses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyColumn {
    /// Entries of the key.
    pub column: KindColumn,
    /// Type of the key's values.
    pub key_type: KeyType,
    /// Validity bits of the key: address, local key, and the place of row 0's bit in its byte.
    pub validity: Option<(u64, u32, u8)>,
}

impl PartitionMaker {
    /// Address and local key that stand in place of a region's ids.
    pub(super) fn place(&self) -> (u64, u32) {
        match *self {
            Self::Murmur3 { .. } => (0, 0),
            Self::Range { splitters, lkey, .. } => (splitters, lkey),
        }
    }

    /// Number of partitions.
    pub(super) fn partitions(&self) -> u32 {
        match *self {
            Self::Murmur3 { partitions, .. } => partitions,
            Self::Range { count, .. } => count.saturating_add(1),
        }
    }

    /// Appends the words that follow the shape; returns the features that the card needs for them.
    pub(super) fn words(
        &self,
        group: u16,
        keys: &[KeyColumn],
    ) -> Result<(Vec<u64>, Features), RegionError> {
        let (function, partitions, seed) = match *self {
            Self::Murmur3 { partitions, seed } => (PartitionBy::Murmur3, partitions, seed),
            Self::Range { count, .. } => (PartitionBy::Range, count.wrapping_add(1), 0),
        };
        super::at_most(MAX_ELEMENTS, keys.len(), NAME, "keys")?;
        let mut words = words!(PartitionFunction {
            function: function as u8,
            keys: keys.len() as u8,
            group: group,
            partitions: partitions,
            seed: seed
        })
        .to_vec();
        let mut needs = Features::FIXED_KEYS;
        for (index, key) in keys.iter().enumerate() {
            describe(index, &key.column, &mut words)?;
            if !self.is_fixed(key) {
                needs |= Features::PARTITIONS;
            }
            let (validity, lkey, first) = key.validity.unwrap_or_default();
            words.extend(words!(PartitionKey {
                validity: validity,
                lkey: lkey,
                key_type: key.key_type as u8,
                has_validity: u8::from(key.validity.is_some()),
                first: first
            }));
        }
        Ok((words, needs))
    }

    /// True if a card with [`Features::FIXED_KEYS`] alone takes such a key.
    fn is_fixed(&self, key: &KeyColumn) -> bool {
        let is_range = matches!(self, Self::Range { .. });
        match key.column.kind {
            ColumnKind::Bits { .. } => true,
            ColumnKind::Fixed { width } => {
                key.key_type != KeyType::Bytes && !(is_range && width > 8)
            }
            _ => false,
        }
    }
}
