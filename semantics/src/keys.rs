//! Partitions that are made from keys: by a hash or by a range (docs/semantics.md, "Partitions made from
//! keys").

use std::cmp::Ordering;

use drdma_abi::{
    Layout as _,
    work_request::{
        ElementSource, KeyType, KeyValues, KindElement, MAX_ELEMENTS, MAX_PARTITIONS,
        MAX_SPLITTERS, PartitionBy as Code, PartitionFunction, PartitionKey,
    },
};

use crate::{
    granules::{ShapeError, take},
    kinds::{self, Entry, Kind, Source, Value, ValueError, decode_entry, encode_entries},
    memory::{CHUNK, Fault, Fragment, HostMemory},
    murmur3,
};

/// A bitmap of the rows in which a key is not null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Validity {
    /// Address of the byte that holds row 0's bit.
    pub bitmap: u64,
    /// Local key of the bitmap's memory.
    pub lkey: u32,
    /// Place of that bit in its byte, 0 to 7.
    pub first: u8,
}

impl Validity {
    /// Number of bytes that hold the bits of `rows` rows.
    pub(crate) fn len(&self, rows: u32) -> u128 {
        (u128::from(self.first) + u128::from(rows)).div_ceil(8)
    }
}

/// A column that partitions are made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Entries of the key.
    pub entry: Entry,
    /// Type of the key's values.
    pub key_type: KeyType,
    /// Validity of the key; `None` if no row is null.
    pub validity: Option<Validity>,
}

/// Function that makes a partition from the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// Spark's Murmur3.
    Murmur3 {
        /// Initial value of the hash.
        seed: u32,
    },
    /// The number of splitters that are less than the only key. The splitters are where a region's
    /// ids would be.
    Range,
}

/// Rule by which the partitions of rows are made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PartitionBy {
    /// The function.
    pub function: Function,
    /// Number of partitions.
    pub partitions: u32,
    /// Number of neighbouring partitions that have one id.
    pub group: u16,
    /// The keys.
    pub keys: Vec<Key>,
}

/// Error of a key of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongKey {
    /// Index of the row.
    pub row: u64,
    /// Index of the key; `None` for a splitter.
    pub key: Option<usize>,
    /// Error of the key or splitter.
    pub error: ValueError,
}

impl PartitionBy {
    /// Greatest id that is made.
    pub fn max_id(&self) -> u16 {
        (self.partitions.div_ceil(self.group.into()) - 1) as u16
    }

    /// Number of splitters, and the size in bytes of each.
    pub fn splitters(&self) -> (u32, u32) {
        match self.function {
            Function::Murmur3 { .. } => (0, 0),
            Function::Range => (self.partitions - 1, self.keys.first().map_or(0, Key::width)),
        }
    }

    /// Appends the granules of the rule, without those of columns.
    pub(crate) fn encode(&self, bytes: &mut Vec<u8>) {
        let (function, seed) = match self.function {
            Function::Murmur3 { seed } => (Code::Murmur3, seed),
            Function::Range => (Code::Range, 0),
        };
        let head = PartitionFunction {
            function: function as u8,
            keys: self.keys.len() as u8,
            group: self.group,
            partitions: self.partitions,
            seed,
            reserved: 0,
        };
        bytes.extend(head.to_bytes());
        for key in &self.keys {
            encode_entries(&[key.entry], bytes);
            let end = PartitionKey { key_type: key.key_type as u8, ..PartitionKey::default() };
            let end = key.validity.map_or(end, |validity| PartitionKey {
                validity: validity.bitmap,
                lkey: validity.lkey,
                has_validity: 1,
                first: validity.first,
                ..end
            });
            bytes.extend(end.to_bytes());
        }
    }

    /// Takes the granules behind the shape of a partitioned region from the front of `bytes`.
    ///
    /// # Errors
    /// [`ShapeError`] if they are not legal.
    pub(crate) fn decode(bytes: &mut &[u8]) -> Result<Self, ShapeError> {
        let head = PartitionFunction::decode(&take(bytes)?);
        let field = |what, value: u64| Err(ShapeError::Function { what, value });
        let Some(code) = Code::from_code(head.function) else {
            return field("function", head.function.into());
        };
        let (keys, partitions) = match code {
            Code::Murmur3 => (MAX_ELEMENTS as u8, MAX_PARTITIONS),
            Code::Range => (1, MAX_SPLITTERS + 1),
        };
        let PartitionFunction { group, seed, .. } = head;
        if !(1..=keys).contains(&head.keys) {
            return field("number of keys", head.keys.into());
        }
        if group == 0 {
            return field("group", 0);
        }
        if !(1..=partitions).contains(&head.partitions) {
            return field("number of partitions", head.partitions.into());
        }
        if code == Code::Range && seed != 0 {
            return field("seed", seed.into());
        }
        if head.reserved != 0 {
            return field("reserved", head.reserved.into());
        }
        let keys = (0..usize::from(head.keys)).map(|index| Key::decode(index, code, bytes));
        let function = match code {
            Code::Murmur3 => Function::Murmur3 { seed },
            Code::Range => Function::Range,
        };
        let keys = keys.collect::<Result<_, _>>()?;
        Ok(Self { function, partitions: head.partitions, group, keys })
    }

    /// Returns the ids of all rows. `sources` gives for each key the memory where its values may
    /// lie; `splitters` is the address of the splitters of a range.
    ///
    /// # Errors
    /// The first key that cannot be read.
    pub fn ids<M: HostMemory + ?Sized>(
        &self,
        rows: u32,
        splitters: u64,
        sources: &[Source],
        memory: &M,
    ) -> Result<Vec<u16>, WrongKey> {
        let none = |fault: Fault| WrongKey { row: 0, key: None, error: fault.into() };
        let splitters = self.read_splitters(splitters, memory).map_err(none)?;
        let mut ids = Vec::with_capacity(rows as usize);
        for row in 0..u64::from(rows) {
            let partition = match self.function {
                Function::Murmur3 { seed } => {
                    let mut hash = seed;
                    for (index, key) in self.keys.iter().enumerate() {
                        let source = sources.get(index).unwrap_or(&Source::Checked);
                        let of = |error| WrongKey { row, key: Some(index), error };
                        hash = key.hash(row, hash, source, memory).map_err(of)?;
                    }
                    murmur3::partition(hash, self.partitions)
                }
                Function::Range => {
                    let of = |error| WrongKey { row, key: Some(0), error };
                    match self.keys[0].number(row, memory).map_err(of)? {
                        None => 0,
                        Some(key) => splitters.iter().filter(|at| **at < key).count() as u32,
                    }
                }
            };
            ids.push((partition / u32::from(self.group)) as u16);
        }
        Ok(ids)
    }

    fn read_splitters<M: HostMemory + ?Sized>(
        &self,
        addr: u64,
        memory: &M,
    ) -> Result<Vec<Number>, Fault> {
        let (count, width) = self.splitters();
        let splitter = |index: u32| {
            let addr = addr.wrapping_add(u64::from(index) * u64::from(width));
            Number::read(self.keys[0].key_type, addr, width, memory)
        };
        (0..count).map(splitter).collect()
    }
}

/// A value of a range, with its order.
#[derive(Clone, Copy, Debug)]
enum Number {
    Signed(i128),
    Unsigned(u128),
    Float(f64),
}

impl Number {
    fn read<M: HostMemory + ?Sized>(
        key_type: KeyType,
        addr: u64,
        width: u32,
        memory: &M,
    ) -> Result<Self, Fault> {
        let mut bytes = [0; 16];
        memory.read(addr, &mut bytes[..width as usize])?;
        let raw = u128::from_le_bytes(bytes);
        let unused = 128 - 8 * width;
        Ok(match (key_type, width) {
            (KeyType::Float, 4) => Self::Float(f32::from_bits(raw as u32).into()),
            (KeyType::Float, _) => Self::Float(f64::from_bits(raw as u64)),
            (KeyType::Unsigned, _) => Self::Unsigned(raw),
            _ => Self::Signed((raw << unused) as i128 >> unused),
        })
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for Number {
    /// NaN is greater than all other numbers, and -0 equals 0, as in Spark's order.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Signed(a), Self::Signed(b)) => Some(a.cmp(b)),
            (Self::Unsigned(a), Self::Unsigned(b)) => Some(a.cmp(b)),
            (Self::Float(a), Self::Float(b)) => {
                Some(a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan())))
            }
            _ => None,
        }
    }
}

impl Key {
    /// Length of a value in bytes; 0 for a bit, or a value of variable length.
    fn width(&self) -> u32 {
        match self.entry.kind {
            Kind::Fixed { width } | Kind::Dictionary { width, .. } => width,
            _ => 0,
        }
    }

    fn decode(index: usize, function: Code, bytes: &mut &[u8]) -> Result<Self, ShapeError> {
        let element = KindElement::decode(&take(bytes)?);
        let source = ElementSource::decode(&take(bytes)?);
        let entry = decode_entry(index, &element, &source, true)?;
        let end = PartitionKey::decode(&take(bytes)?);
        let field = |what, value: u64| Err(ShapeError::KeyField { index, what, value });
        let Some(key_type) = KeyType::from_code(end.key_type) else {
            return field("type", end.key_type.into());
        };
        if end.reserved != 0 {
            return field("reserved", end.reserved.into());
        }
        let validity = match end.has_validity {
            1 => Some(Validity { bitmap: end.validity, lkey: end.lkey, first: end.first }),
            _ => {
                let unused = [
                    ("validity", end.validity),
                    ("validity's key", end.lkey.into()),
                    ("validity's first bit", end.first.into()),
                ];
                if let Some((what, value)) = unused.into_iter().find(|(_, value)| *value != 0) {
                    return field(what, value);
                }
                None
            }
        };
        let key = Self { entry, key_type, validity };
        if !possible(function, key_type) {
            return field("type", end.key_type.into());
        }
        let values = match entry.kind {
            Kind::Bits { .. } => KeyValues::Bits,
            Kind::Fixed { width } | Kind::Dictionary { width, .. } => {
                KeyValues::Fixed(width.into())
            }
            Kind::Offsets { .. } | Kind::Views { .. } => KeyValues::Variable,
        };
        let fits = function.takes(key_type, values);
        let width = key.width();
        if fits { Ok(key) } else { field("bytes of a value", width.into()) }
    }

    /// Returns the value of a row; `None` if it is null.
    fn value<M: HostMemory + ?Sized>(
        &self,
        row: u64,
        source: &Source,
        memory: &M,
    ) -> Result<Option<Value>, ValueError> {
        if let Some(Validity { bitmap, first, .. }) = self.validity
            && !kinds::bit(memory, bitmap, first, row)?
        {
            return Ok(None);
        }
        let mut values = Vec::new();
        kinds::column_values(&self.entry, row, source, memory, &mut values)?;
        // The last part of a value of variable length is its bytes.
        Ok(values.pop())
    }

    /// Returns the value of a row, as the key of a range.
    fn number<M: HostMemory + ?Sized>(
        &self,
        row: u64,
        memory: &M,
    ) -> Result<Option<Number>, ValueError> {
        match self.value(row, &Source::Checked, memory)? {
            Some(Value::Bytes(Fragment { addr, len })) => {
                Ok(Some(Number::read(self.key_type, addr, len, memory)?))
            }
            _ => Ok(None),
        }
    }

    /// Continues the hash of the keys before with a row's value; a null leaves it as it is.
    fn hash<M: HostMemory + ?Sized>(
        &self,
        row: u64,
        hash: u32,
        source: &Source,
        memory: &M,
    ) -> Result<u32, ValueError> {
        let Fragment { addr, len } = match self.value(row, source, memory)? {
            Some(Value::Bytes(fragment)) => fragment,
            Some(Value::Bit(bit)) => return Ok(murmur3::of_int(bit.into(), hash)),
            Some(Value::Length(_)) | None => return Ok(hash),
        };
        if self.key_type == KeyType::Bytes {
            return Ok(hash_bytes(addr, len, hash, memory)?);
        }
        let mut bytes = [0; 16];
        memory.read(addr, &mut bytes[..len as usize])?;
        let low = u64::from_le_bytes(bytes[..8].try_into().expect("8 B"));
        let signed = |bits: u32| (low << (64 - bits)) as i64 >> (64 - bits);
        Ok(match (self.key_type, len) {
            (KeyType::Boolean, _) => murmur3::of_int(u32::from(low != 0), hash),
            (KeyType::Float, 4) => {
                let value = f32::from_bits(low as u32);
                let value = if value.is_nan() { 0x7fc0_0000 } else { (value + 0.0).to_bits() };
                murmur3::of_int(value, hash)
            }
            (KeyType::Float, _) => {
                let value = f64::from_bits(low);
                let value = if value.is_nan() { 0x7ff8 << 48 } else { (value + 0.0).to_bits() };
                murmur3::of_long(value, hash)
            }
            (_, 8 | 16) => murmur3::of_long(low, hash),
            (_, len) => murmur3::of_int(signed(8 * len) as u32, hash),
        })
    }
}

/// True if the function makes partitions of keys of that type, whatever their width.
fn possible(function: Code, key_type: KeyType) -> bool {
    let some = [KeyValues::Fixed(1), KeyValues::Fixed(4), KeyValues::Fixed(16)];
    some.into_iter().any(|values| function.takes(key_type, values))
}

fn hash_bytes<M: HostMemory + ?Sized>(
    addr: u64,
    len: u32,
    seed: u32,
    memory: &M,
) -> Result<u32, Fault> {
    let mut hash = murmur3::Bytes::new(seed);
    let mut chunk = [0; CHUNK];
    let mut done = 0;
    while done < len {
        let piece = &mut chunk[..(len - done).min(CHUNK as u32) as usize];
        memory.read(addr.wrapping_add(done.into()), piece)?;
        hash.add(piece);
        done += piece.len() as u32;
    }
    Ok(hash.finish())
}

#[cfg(test)]
#[path = "tests/keys.rs"]
mod tests;
