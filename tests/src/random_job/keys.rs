//! Partitions that are made from keys, and chains of records.

use serde_json::{Value, json};

use super::Generator;
use super::kinds::Entries;
use crate::random::Random;

/// Records of a chain, at most, unless it has no end.
const MOST_RECORDS: u64 = 40;

/// Types of keys of a hash, with the bytes of a value.
const TYPES: [(&str, u64); 9] = [
    ("integer", 1),
    ("integer", 2),
    ("integer", 4),
    ("integer", 8),
    ("float", 4),
    ("float", 8),
    ("boolean", 1),
    ("decimal", 16),
    ("bytes", 7),
];

impl Generator {
    /// Replaces the ids of a partitioned region with `count` destinations by keys; returns the number of ids.
    pub(super) fn keys(
        &mut self,
        random: &mut Random,
        region: &mut Value,
        destinations: u64,
    ) -> u64 {
        let rows = region["rows"].as_u64().unwrap_or(0);
        let group = if random.one_in(3) { random.range(1..=3) } else { 1 };
        let is_range = random.one_in(3);
        let least = destinations * group;
        let mut by = json!({});
        let partitions = if is_range && least <= 256 {
            let partitions = random.range(least..=256.min(least + 20));
            self.range(random, rows, partitions - 1, &mut by);
            partitions
        } else {
            let partitions = least + random.skewed(0..=65_536 - least);
            by["function"] = json!("murmur3");
            by["partitions"] = json!(partitions);
            if random.one_in(4) {
                by["seed"] = json!(random.any() as u32);
            }
            let keys: Vec<Value> =
                (0..random.range(1..=3)).map(|_| self.hashed_key(random, rows)).collect();
            by["keys"] = json!(keys);
            partitions
        };
        if group > 1 {
            by["group"] = json!(group);
        }
        region["partition_by"] = by;
        region.as_object_mut().expect("an object").remove("ids");
        partitions.div_ceil(group)
    }

    /// A key of a few values, and splitters among them.
    fn range(&mut self, random: &mut Random, rows: u64, count: u64, by: &mut Value) {
        let key_type = *random.pick(&["integer", "unsigned", "float"]);
        let widths: &[u64] = match key_type {
            "float" => &[4, 8],
            _ if !self.limits.all_keys => &[1, 2, 4, 8],
            _ => &[1, 2, 4, 8, 16],
        };
        let width = *random.pick(widths);
        let number = |random: &mut Random| {
            let small = random.range(0..=40) as i64 - 20;
            let bytes = match (key_type, width) {
                _ if random.one_in(20) => random.bytes(16),
                ("float", 4) => (small as f32 / 2.0).to_le_bytes().to_vec(),
                ("float", _) => (small as f64 / 2.0).to_le_bytes().to_vec(),
                _ => i128::from(small).to_le_bytes().to_vec(),
            };
            bytes[..width as usize].to_vec()
        };
        let mut bytes = Vec::new();
        (0..rows).for_each(|_| bytes.extend(number(random)));
        let mut splitters = Vec::new();
        (0..count).for_each(|_| splitters.extend(number(random)));
        let column = json!({"buffer": self.buffer(&bytes), "offset": 0, "width": width});
        let mut key = json!({"key_type": key_type, "column": column});
        self.validity(random, rows, &mut key);
        by["function"] = json!("range");
        by["splitters"] = json!({"buffer": self.buffer(&splitters), "offset": 0, "count": count});
        by["keys"] = json!([key]);
    }

    /// A key of any kind.
    fn hashed_key(&mut self, random: &mut Random, rows: u64) -> Value {
        let mut key = if !self.limits.all_keys {
            self.fixed_key(random, rows)
        } else if random.one_in(2) {
            let column = self.column(random, rows);
            let width = column["values"]["width"].as_u64();
            let types: &[&str] = match (column["type"].as_str(), width) {
                (Some("bits"), _) => &["boolean"],
                (Some("dictionary"), Some(1)) => &["bytes", "integer", "boolean"],
                (Some("dictionary"), Some(2)) => &["bytes", "integer"],
                (Some("dictionary"), Some(4 | 8)) => &["bytes", "integer", "float"],
                (Some("dictionary"), Some(16)) => &["bytes", "decimal"],
                _ => &["bytes"],
            };
            json!({"key_type": random.pick(types), "column": column})
        } else {
            self.fixed_key(random, rows)
        };
        self.validity(random, rows, &mut key);
        key
    }

    /// A key of fixed width: where there are no other kinds of columns, also of bits, but not of bytes.
    fn fixed_key(&mut self, random: &mut Random, rows: u64) -> Value {
        if !self.limits.all_keys && random.one_in(6) {
            let bit = random.range(0..=7);
            let bytes = random.bytes((bit + rows).div_ceil(8) as usize);
            let column =
                json!({"type": "bits", "buffer": self.buffer(&bytes), "offset": 0, "bit": bit});
            return json!({"key_type": "boolean", "column": column});
        }
        let types = if self.limits.all_keys { &TYPES[..] } else { &TYPES[..TYPES.len() - 1] };
        let (key_type, width) = *random.pick(types);
        let mut bytes = random.bytes((rows * width) as usize);
        if key_type == "float" && random.one_in(2) {
            // Zeros of both signs, and NaNs, are frequent.
            bytes.iter_mut().for_each(|byte| *byte = *random.pick(&[0, 0, 0, 0x80, 0xff, 0x7f]));
        }
        let column = json!({"buffer": self.buffer(&bytes), "offset": 0, "width": width});
        json!({"key_type": key_type, "column": column})
    }

    /// Makes some rows of a key null, or none.
    fn validity(&mut self, random: &mut Random, rows: u64, key: &mut Value) {
        if random.one_in(2) {
            let bit = random.range(0..=7);
            let short = u64::from(random.one_in(200));
            let bytes = random.bytes(((bit + rows).div_ceil(8) - short.min(rows)) as usize);
            key["validity"] = json!({"buffer": self.buffer(&bytes), "offset": 0, "bit": bit});
        }
    }

    /// A region of `count` chains.
    pub(super) fn chains(&mut self, random: &mut Random, count: u64) -> Value {
        let mut entries = Entries::new(random, self);
        let before = random.skewed(0..=11);
        let total = random.range(1..=30);
        let end = if random.one_in(2) { 0 } else { random.any() };
        let (mut bytes, mut entry_len) = (Vec::new(), 0);
        for _ in 0..total {
            bytes.extend(random.bytes(before as usize));
            let entry = entries.entry(random);
            entry_len = entry.len() as u64;
            bytes.extend(entry);
            let odd = u64::from(random.one_in(1000));
            bytes.extend(end.wrapping_add(odd).to_le_bytes());
            bytes.extend(random.bytes(5));
        }
        let (next, size) = (before + entry_len, before + entry_len + 13);
        let name = self.name();
        let mut pointers = Vec::new();
        for record in 0..total {
            // Most records lead to a later one, so that chains end.
            let to = match random.range(0..=99) {
                0 => size * random.range(0..=total - 1),
                1 if random.one_in(4) => size * total - random.range(0..=size - 1),
                2..=60 if record + 1 < total => size * random.range(record + 1..=total - 1),
                _ => continue,
            };
            pointers.push(json!({"offset": record * size + next, "to": [name, to]}));
        }
        self.add(json!({"name": name, "hex": crate::expect::hex(&bytes), "pointers": pointers}));
        let mut entry = entries.kind;
        entry["offset"] = json!(before);
        let mut pattern = vec![entry];
        if random.one_in(2) {
            pattern.push(json!({"offset": size - 5, "len": random.range(1..=5)}));
        }
        let head = |_| json!([name, size * random.range(0..=total - 1)]);
        let heads: Vec<Value> = (0..count).map(head).collect();
        let limit = if random.one_in(8) { random.range(1..=4) } else { MOST_RECORDS };
        let mut chase = json!({"next": next, "limit": limit});
        if end != 0 || random.one_in(4) {
            chase["end"] = json!(end);
        }
        json!({"type": "pointer_mapped", "pointers": heads, "pattern": pattern, "chase": chase})
    }
}
