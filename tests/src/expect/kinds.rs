//! Values of rows: the bytes that entries of columns and extents lead to, and how values make a message.

use serde_json::Value as Json;

use super::{Bytes, Memory, list, number, optional};

/// A value that a row has in one place of its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// Bytes; there may be none.
    Bytes(Bytes),
    /// A bit.
    Bit(bool),
}

/// An element: its values.
pub(super) type Element = Vec<Value>;

/// The messages of some units, or `None` if they do not match the remote columns.
pub(super) fn messages(post: &Json, destination: &Json, units: &[Element]) -> Option<Vec<Bytes>> {
    let k = post["rows_per_message"].as_u64().unwrap_or(1) as usize;
    let groups = units.chunks(k);
    let Some(remote) = destination.get("remote_columns") else {
        let message = |units: &[Element]| match post["message_layout"].as_str() {
            Some("columns") => transposed(units).iter().flat_map(|column| pack(column)).collect(),
            _ => units.iter().flat_map(|unit| pack(unit)).collect(),
        };
        return Some(groups.map(message).collect());
    };
    // Every column of a group is a message of its own.
    let columns = list(remote).len();
    if units.iter().any(|unit| unit.len() != columns) {
        return None;
    }
    Some(groups.flat_map(transposed).map(|column| pack(&column)).collect())
}

/// The first values of some units, then their second ones, and so on.
fn transposed(units: &[Element]) -> Vec<Element> {
    let columns = units.iter().map(Vec::len).max().unwrap_or(0);
    let column = |c: usize| units.iter().filter_map(|unit| unit.get(c).cloned()).collect();
    (0..columns).map(column).collect()
}

/// Values one behind the other; bits that follow each other share bytes.
pub(super) fn pack(values: &[Value]) -> Bytes {
    let mut bytes = Vec::new();
    let mut bits = 0;
    for value in values {
        match value {
            Value::Bytes(more) => {
                bytes.extend(more);
                bits = 0;
            }
            Value::Bit(bit) => {
                if bits % 8 == 0 {
                    bytes.push(0);
                }
                *bytes.last_mut().expect("just made") |= u8::from(*bit) << (bits % 8);
                bits += 1;
            }
        }
    }
    bytes
}

/// A little-endian number.
pub(super) fn little(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |number, byte| number * 256 + u128::from(*byte))
}

fn kind(element: &Json) -> &str {
    element["type"].as_str().unwrap_or("fixed")
}

/// Bytes of the entry of a column or an extent.
pub(super) fn entry_len(element: &Json) -> u128 {
    match kind(element) {
        // Extents have `len`, columns `width`.
        "fixed" if element["len"].is_null() => number(&element["width"]),
        "fixed" => number(&element["len"]),
        "varlen" => 2 * number(&element["width"]),
        "views" => 16,
        "dictionary" => number(&element["width"]),
        other => panic!("a {other} has no bytes"),
    }
}

/// Bytes from one row's entry of a column to the next one's.
fn entry_step(column: &Json) -> u128 {
    if kind(column) == "views" { 16 } else { number(&column["width"]) }
}

/// True if the entries of all rows of a column are inside their buffer, and what they lead to is there.
pub(super) fn column_covered(column: &Json, rows: u128, memory: &Memory) -> bool {
    let start = number(&column["offset"]);
    let len = match kind(column) {
        "bits" => (optional(&column["bit"], 0) + rows).div_ceil(8),
        _ => (rows - 1) * entry_step(column) + entry_len(column),
    };
    memory.get(&column["buffer"], start, len).is_some() && led_to(column, memory)
}

/// True if the dictionary of a column or an extent is inside its buffer.
pub(super) fn led_to(element: &Json, memory: &Memory) -> bool {
    match kind(element) {
        "dictionary" => {
            let values = &element["values"];
            let len = number(&element["count"]) * number(&values["width"]);
            len == 0 || memory.get(&values["buffer"], number(&values["offset"]), len).is_some()
        }
        _ => true,
    }
}

/// True if all buffers that views of these columns or extents point into are inside theirs.
pub(super) fn views_covered(elements: &[Json], memory: &Memory) -> bool {
    elements.iter().filter(|element| kind(element) == "views").all(|element| {
        list(&element["buffers"]).iter().all(|buffer| {
            let (start, len) = (number(&buffer["offset"]), number(&buffer["len"]));
            memory.get(&buffer["buffer"], start, len).is_some()
        })
    })
}

/// Bit `row` of a bitmap.
pub(super) fn bit(place: &Json, row: u128, memory: &Memory) -> Option<bool> {
    let at = optional(&place["bit"], 0) + row;
    let byte = memory.get(&place["buffer"], number(&place["offset"]) + at / 8, 1)?[0];
    Some(byte >> (at % 8) & 1 == 1)
}

/// The values of a column in a row; `None` if its entry leads to no bytes.
pub(super) fn column_values(column: &Json, row: u128, memory: &Memory) -> Option<Element> {
    if kind(column) == "bits" {
        return Some(vec![Value::Bit(bit(column, row, memory)?)]);
    }
    let start = number(&column["offset"]) + row * entry_step(column);
    values(column, memory.get(&column["buffer"], start, entry_len(column))?, memory)
}

/// The values that an entry leads to; `None` if it leads nowhere.
pub(super) fn values(element: &Json, entry: &[u8], memory: &Memory) -> Option<Element> {
    let variable = |bytes: &[u8]| {
        let len = (bytes.len() as u32).to_le_bytes().to_vec();
        Some(vec![Value::Bytes(len), Value::Bytes(bytes.to_vec())])
    };
    match kind(element) {
        "fixed" => Some(vec![Value::Bytes(entry.to_vec())]),
        "varlen" => {
            let (from, to) = entry.split_at(entry.len() / 2);
            let (from, to) = (little(from), little(to));
            if from == to {
                // A string of no bytes needs no buffer.
                return variable(&[]);
            }
            let data = &element["data"];
            let len = to.checked_sub(from)?;
            variable(memory.get(&data["buffer"], number(&data["offset"]) + from, len)?)
        }
        "views" => {
            let word = |at: usize| little(&entry[at..at + 4]);
            let len = word(0);
            if len <= 12 {
                return variable(&entry[4..4 + len as usize]);
            }
            let buffer = list(&element["buffers"]).get(word(8) as usize)?;
            if word(12) + len > number(&buffer["len"]) {
                return None;
            }
            variable(memory.get(&buffer["buffer"], number(&buffer["offset"]) + word(12), len)?)
        }
        "dictionary" => {
            let (index, values) = (little(entry), &element["values"]);
            if index >= number(&element["count"]) {
                return None;
            }
            let width = number(&values["width"]);
            let start = number(&values["offset"]) + index * width;
            Some(vec![Value::Bytes(memory.get(&values["buffer"], start, width)?.to_vec())])
        }
        other => panic!("there is no kind {other}"),
    }
}
