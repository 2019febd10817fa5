//! Partitions that are made from keys: Spark's Murmur3, and ranges.

use serde_json::Value as Json;

use super::{
    Memory,
    kinds::{self, Value, column_covered, little, views_covered},
    list, number, optional, text,
};

/// True if the splitters, keys and validities of a region of `rows` rows are inside their buffers.
pub(super) fn covered(by: &Json, rows: u128, memory: &Memory) -> bool {
    let splitters = by.get("splitters").is_none_or(|splitters| {
        let len = number(&splitters["count"]) * width(&list(&by["keys"])[0]["column"]);
        let start = number(&splitters["offset"]);
        len == 0 || memory.get(&splitters["buffer"], start, len).is_some()
    });
    splitters
        && list(&by["keys"]).iter().all(|key| {
            let bits = key.get("validity").is_none_or(|bits| {
                let len = (optional(&bits["bit"], 0) + rows).div_ceil(8);
                memory.get(&bits["buffer"], number(&bits["offset"]), len).is_some()
            });
            bits && column_covered(&key["column"], rows, memory)
        })
}

/// Bytes of the values of a key of fixed width.
fn width(column: &Json) -> u128 {
    match column["type"].as_str() {
        Some("dictionary") => number(&column["values"]["width"]),
        _ => number(&column["width"]),
    }
}

/// The id of every row; `None` if a key leads nowhere.
pub(super) fn ids(by: &Json, rows: u128, memory: &Memory) -> Option<Vec<u128>> {
    let keys = list(&by["keys"]);
    let columns: Vec<Json> = keys.iter().map(|key| key["column"].clone()).collect();
    if !views_covered(&columns, memory) {
        return None;
    }
    let group = optional(&by["group"], 1);
    let of_row = |row: u128| {
        let partition = match text(&by["function"]) {
            "murmur3" => {
                let mut hash = optional(&by["seed"], 42) as u32;
                for key in keys {
                    if let Some(value) = value(key, row, memory)? {
                        hash = hashed(text(&key["key_type"]), &value, hash);
                    }
                }
                // The remainder has the sign of the hash.
                let partitions = number(&by["partitions"]) as i128;
                let remainder = i128::from(hash as i32) % partitions;
                (if remainder < 0 { remainder + partitions } else { remainder }) as u128
            }
            "range" => match value(&keys[0], row, memory)? {
                None => 0,
                Some(value) => less(by, &value, memory),
            },
            other => panic!("there is no function {other}"),
        };
        Some(partition / group)
    };
    (0..rows).map(of_row).collect()
}

/// The value of a key: `Some(None)` if it is null, `None` if it leads nowhere.
fn value(key: &Json, row: u128, memory: &Memory) -> Option<Option<Value>> {
    if let Some(bits) = key.get("validity")
        && kinds::bit(bits, row, memory) == Some(false)
    {
        return Some(None);
    }
    // Of two values, the first one is the length of the second.
    kinds::column_values(&key["column"], row, memory).map(|mut values| values.pop())
}

/// Number of splitters that are less than a value.
fn less(by: &Json, value: &Value, memory: &Memory) -> u128 {
    let Value::Bytes(value) = value else { panic!("a range of bits") };
    let key_type = text(&list(&by["keys"])[0]["key_type"]);
    let (splitters, width) = (&by["splitters"], value.len() as u128);
    let splitter = |index: u128| {
        let start = number(&splitters["offset"]) + index * width;
        memory.get(&splitters["buffer"], start, width).expect("checked").to_vec()
    };
    let count = number(&splitters["count"]);
    (0..count).filter(|index| is_less(key_type, &splitter(*index), value)).count() as u128
}

fn is_less(key_type: &str, a: &[u8], b: &[u8]) -> bool {
    match key_type {
        "unsigned" => little(a) < little(b),
        "integer" => {
            // The last byte has the sign: with that bit flipped, unsigned order is signed order.
            let turned = |bytes: &[u8]| little(bytes) ^ 1 << (8 * bytes.len() - 1);
            turned(a) < turned(b)
        }
        "float" => {
            let float = |bytes: &[u8]| match bytes.len() {
                4 => f64::from(f32::from_bits(little(bytes) as u32)),
                _ => f64::from_bits(little(bytes) as u64),
            };
            let (a, b) = (float(a), float(b));
            a < b || !a.is_nan() && b.is_nan()
        }
        other => panic!("there is no range of {other}"),
    }
}

/// The hash of a value behind that of the keys before it.
fn hashed(key_type: &str, value: &Value, seed: u32) -> u32 {
    let bytes = match value {
        Value::Bit(bit) => return words(&[u32::from(*bit)], seed, 4),
        Value::Bytes(bytes) => bytes,
    };
    let raw = little(&bytes[..bytes.len().min(8)]) as u64;
    let long = |value: u64| words(&[value as u32, (value >> 32) as u32], seed, 8);
    match (key_type, bytes.len()) {
        ("boolean", _) => words(&[u32::from(raw != 0)], seed, 4),
        ("float", 4) => {
            let float = f32::from_bits(raw as u32);
            let bits = match float {
                _ if float.is_nan() => 0x7fc0_0000,
                0.0 => 0,
                _ => float.to_bits(),
            };
            words(&[bits], seed, 4)
        }
        ("float", _) => {
            let float = f64::from_bits(raw);
            long(match float {
                _ if float.is_nan() => 0x7ff8_0000_0000_0000,
                0.0 => 0,
                _ => float.to_bits(),
            })
        }
        ("integer", 8) | ("decimal", 16) => long(raw),
        ("integer", 1) => words(&[i32::from(raw as i8) as u32], seed, 4),
        ("integer", 2) => words(&[i32::from(raw as i16) as u32], seed, 4),
        ("integer", 4) => words(&[raw as u32], seed, 4),
        ("bytes", len) => {
            let whole = bytes.chunks_exact(4);
            // Each byte that is left is a word, with its sign extended.
            let rest = whole.remainder().iter().map(|byte| i32::from(*byte as i8) as u32);
            let all: Vec<u32> = whole.map(|word| little(word) as u32).chain(rest).collect();
            words(&all, seed, len as u32)
        }
        (other, len) => panic!("there is no hash of {other} of {len} B"),
    }
}

/// Murmur3 of some words that stand for `len` bytes.
fn words(words: &[u32], seed: u32, len: u32) -> u32 {
    let times = |a: u32, b: u32| (u64::from(a) * u64::from(b)) as u32;
    let mut hash = seed;
    for word in words {
        hash ^= times(times(*word, 0xcc9e2d51).rotate_left(15), 0x1b873593);
        hash = (u64::from(hash.rotate_left(13)) * 5 + 0xe6546b64) as u32;
    }
    hash ^= len;
    for (by, factor) in [(16, 0x85ebca6b), (13, 0xc2b2ae35)] {
        hash = times(hash ^ hash >> by, factor);
    }
    hash ^ hash >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `hash('Spark', array(123), 2)` in the SQL reference of Apache Spark.
    #[test]
    fn the_example_of_sparks_reference_comes_out() {
        let bytes = |bytes: &[u8]| Value::Bytes(bytes.to_vec());
        let text = hashed("bytes", &bytes(b"Spark"), 42);
        let array = hashed("integer", &bytes(&[123, 0, 0, 0]), text);
        assert_eq!(hashed("integer", &bytes(&[2, 0, 0, 0]), array) as i32, -1_321_691_492);
        assert_eq!(hashed("integer", &bytes(&[255; 8]), 42), 0xc800_8529);
        assert_eq!(hashed("bytes", &bytes("天地".as_bytes()), 42), 2_395_000_894);
    }
}
