//! Columns and extents of every kind, messages by columns, and WRITEs by columns.

use serde_json::{Value, json};

use super::Generator;
use crate::{
    expect::{self, QueuePairs, hex},
    random::Random,
};

/// Rows of a region for which entries are made, at most; a spoiled region may have far more.
const MOST_ROWS: u64 = 10_000;
/// Bytes of an element of a region with kinds, at most.
const MOST_BYTES: u64 = (1 << 24) - 1;

/// Gives some posts columns of other kinds than fixed width, and other layouts of messages; without these, keys for
/// ids. What is drawn for it leaves the rest of the seed's job as it was.
pub(super) fn insert(seed: u64, qps: &[Value], generator: &mut Generator, posts: &mut [Value]) {
    let mut random = Random::new(seed ^ 0x6b69_6e64_7321);
    let by_name = json!({ "qps": qps });
    let queue_pairs = expect::queue_pairs(&by_name);
    for post in posts {
        if post["inline"] == true || random.one_in(3) {
            continue;
        }
        let before = generator.buffers.len();
        let mut other = post.clone();
        if generator.limits.kinds {
            generator.other_kinds(&mut random, &mut other);
            if generator.limits.by_columns {
                layout(&mut random, generator.limits.all_columns, &mut other);
            }
        } else if !generator.keys_for_ids(&mut random, &mut other) {
            continue;
        }
        if keeps(&mut random, &other, generator, &queue_pairs) {
            *post = other;
        } else {
            generator.buffers.truncate(before);
        }
    }
}

/// True for a post that succeeds and is not too long, and for some that fail.
fn keeps(random: &mut Random, post: &Value, generator: &Generator, qps: &QueuePairs) -> bool {
    if has_wide(post) {
        return false;
    }
    match expect::messages(post, &generator.memory, qps, &|_| false) {
        Ok(all) => {
            let bytes = all.iter().flatten().map(Vec::len).sum::<usize>() as u64;
            bytes <= generator.limits.payload
        }
        Err(_) => random.one_in(6),
    }
}

/// True if some element is longer than elements beside columns of other kinds may be.
fn has_wide(of: &Value) -> bool {
    match of {
        Value::Array(all) => all.iter().any(has_wide),
        Value::Object(fields) => fields.iter().any(|(name, value)| match name.as_str() {
            "width" | "len" => value.as_u64() > Some(MOST_BYTES),
            _ => has_wide(value),
        }),
        _ => false,
    }
}

/// Makes a post send by columns; with `all`, perhaps each to an address of its own.
fn layout(random: &mut Random, all: bool, post: &mut Value) {
    if random.one_in(2) {
        if random.one_in(4) {
            post["message_layout"] = json!("rows");
        }
        return;
    }
    post["message_layout"] = json!("columns");
    if !all || !post["op"].as_str().is_some_and(|op| op.starts_with("write")) || random.one_in(2) {
        return;
    }
    let element = post["row_mask"] == "element";
    let partitioned = post.get("partitioned").cloned();
    let mut one = |fields: &mut Value| {
        let count = match &partitioned {
            Some(region) => values(region, "columns"),
            None => {
                let regions = fields["regions"].as_array().map_or(&[][..], Vec::as_slice);
                let of = |region: &Value| match region["type"].as_str() {
                    Some("contiguous") => 1,
                    Some("bitmapped") => values(region, "columns"),
                    Some("strided") if element => 1 + u64::from(is_long(&region["pattern"][0])),
                    _ => values(region, "pattern"),
                };
                if element { regions.iter().map(of).sum() } else { regions.first().map_or(1, of) }
            }
        };
        // There is sometimes one column too many.
        let count = count + u64::from(random.one_in(20));
        if !(1..=64).contains(&count) {
            return;
        }
        let object = fields.as_object_mut().expect("an object");
        object.remove("remote_addr");
        object.remove("rkey");
        let columns: Vec<Value> = (0..count)
            .map(|_| json!({"remote_addr": random.any(), "rkey": random.any() as u32}))
            .collect();
        fields["remote_columns"] = json!(columns);
    };
    destinations(post).into_iter().for_each(&mut one);
}

/// The JSON objects with the fields of destinations: each one of several, or the post itself.
pub(super) fn destinations(post: &mut Value) -> Vec<&mut Value> {
    if post["verb"] != "post_ssq_send" {
        return vec![post];
    }
    let list = post.get_mut("destinations").and_then(Value::as_array_mut);
    list.into_iter().flatten().collect()
}

/// True for an element with two values: a length, and bytes.
fn is_long(element: &Value) -> bool {
    element["type"] == "varlen" || element["type"] == "views"
}

/// Number of values of a row.
fn values(region: &Value, field: &str) -> u64 {
    let list = region[field].as_array().map_or(&[][..], Vec::as_slice);
    list.iter().map(|element| 1 + u64::from(is_long(element))).sum()
}

impl Generator {
    /// Replaces the ids of a partitioned post by keys, and names ids that are made of them; false if it is none, or too
    /// long.
    fn keys_for_ids(&mut self, random: &mut Random, post: &mut Value) -> bool {
        let destinations_of = post["destinations"].as_array().map_or(0, Vec::len) as u64;
        let Some(region) = post.get_mut("partitioned") else { return false };
        if region["rows"].as_u64().unwrap_or(0) > MOST_ROWS {
            return false;
        }
        let ids = self.keys(random, region, destinations_of);
        let first = random.any() % ids;
        for (index, fields) in (0..).zip(destinations(post)) {
            fields["partition"] = json!((first + index) % ids);
        }
        true
    }

    /// Replaces some columns and regions of a post.
    fn other_kinds(&mut self, random: &mut Random, post: &mut Value) {
        let period = post["row_mask"] != "element";
        if let Some(region) = post.get_mut("partitioned") {
            self.other_columns(random, region);
            if self.limits.keys && random.one_in(2) {
                self.keys_for_ids(random, post);
            }
        }
        for fields in destinations(post) {
            let regions = fields.get_mut("regions").and_then(Value::as_array_mut);
            for region in regions.into_iter().flatten() {
                match region["type"].as_str() {
                    _ if random.one_in(2) => {}
                    Some("bitmapped") => {
                        region.as_object_mut().expect("an object").remove("fetch_rows");
                        self.other_columns(random, region);
                        if period && random.one_in(2) {
                            region["bitmap"]["bit"] = json!(random.range(0..=7));
                        }
                    }
                    Some("strided") => {
                        let count = region["count"].as_u64().unwrap_or(0);
                        let extents = region["pattern"].as_array().map_or(0, Vec::len) as u64;
                        let rows = if period { count } else { count.saturating_mul(extents) };
                        if rows <= MOST_ROWS {
                            *region = self.records(random, rows, !period, false);
                        }
                    }
                    Some("pointer_mapped") => {
                        let count = region["pointers"].as_array().map_or(0, Vec::len) as u64;
                        *region = match random.one_in(2) {
                            true => self.chains(random, count),
                            false => self.records(random, count, false, true),
                        };
                    }
                    _ => {}
                }
            }
        }
    }

    /// Replaces some columns of a region that has `rows`.
    fn other_columns(&mut self, random: &mut Random, region: &mut Value) {
        let rows = region["rows"].as_u64().unwrap_or(0);
        if rows > MOST_ROWS {
            return;
        }
        let count = region["columns"].as_array().map_or(0, Vec::len);
        for column in 0..count {
            if random.one_in(2) {
                let other = self.column(random, rows);
                region["columns"][column] = other;
            }
        }
    }

    /// A column of `rows` rows of any kind but fixed width.
    pub(super) fn column(&mut self, random: &mut Random, rows: u64) -> Value {
        if random.one_in(4) {
            let bit = random.range(0..=7);
            let bytes = random.bytes((bit + rows).div_ceil(8) as usize + 1);
            let buffer = self.buffer(&bytes);
            return json!({"type": "bits", "buffer": buffer, "offset": 0, "bit": bit});
        }
        let mut entries = Entries::new(random, self);
        let start = random.skewed(0..=9);
        let mut bytes = random.bytes(start as usize);
        if entries.kind["type"] == "varlen" {
            let mut at = entries.offset(random, 0);
            for _ in 0..rows + 1 {
                bytes.extend(entries.number(at));
                at = entries.offset(random, at);
            }
        } else {
            for _ in 0..rows {
                bytes.extend(entries.entry(random));
            }
        }
        let mut column = entries.kind;
        column["buffer"] = json!(self.buffer(&bytes));
        column["offset"] = json!(start);
        column
    }

    /// A strided or pointer-mapped region of `rows` records with an entry in each.
    fn records(&mut self, random: &mut Random, rows: u64, lone: bool, pointers: bool) -> Value {
        let mut entries = Entries::new(random, self);
        let before = random.skewed(0..=11);
        let mut records = Vec::new();
        let mut size = 0;
        for _ in 0..rows.max(1) {
            let mut record = random.bytes(before as usize);
            record.extend(entries.entry(random));
            record.extend(random.bytes(5));
            size = record.len() as u64;
            records.extend(record);
        }
        let buffer = self.buffer(&records);
        let mut entry = entries.kind;
        entry["offset"] = json!(before);
        let mut pattern = vec![entry];
        if !lone && random.one_in(2) {
            let len = random.range(1..=5);
            pattern.insert(random.range(0..=1) as usize, json!({"offset": size - len, "len": len}));
        }
        if !pointers {
            return json!({"type": "strided", "buffer": buffer, "offset": 0, "period": size,
                          "count": rows, "pattern": pattern});
        }
        let pointer = |_| json!([buffer, size * random.range(0..=rows.max(1) - 1)]);
        let pointers: Vec<Value> = (0..rows).map(pointer).collect();
        json!({"type": "pointer_mapped", "pointers": pointers, "pattern": pattern})
    }

    /// The name of a new buffer.
    pub(super) fn buffer(&mut self, bytes: &[u8]) -> String {
        let name = self.name();
        self.add(json!({"name": name, "hex": hex(bytes)}));
        name
    }

    pub(super) fn name(&self) -> String {
        format!("k{}", self.buffers.len())
    }
}

/// Makes entries of a kind: `kind` has its fields, without a place.
pub(super) struct Entries {
    pub(super) kind: Value,
    width: u64,
    /// Sizes of what entries lead to: bytes of data, lengths of buffers, values of a dictionary.
    sizes: Vec<u64>,
}

impl Entries {
    pub(super) fn new(random: &mut Random, generator: &Generator) -> Self {
        let part = |random: &mut Random| {
            let (name, size) = random.pick(&generator.tables).clone();
            let offset = random.range(0..=size - 1);
            (name, offset, size - offset)
        };
        let (name, offset, room) = part(random);
        match random.range(0..=2) {
            0 => {
                let width = *random.pick(&[4, 8]);
                let data = json!({"buffer": name, "offset": offset});
                let kind = json!({"type": "varlen", "width": width, "data": data});
                Self { kind, width, sizes: vec![room] }
            }
            1 => {
                let mut buffers = Vec::new();
                let mut sizes = Vec::new();
                for _ in 0..random.range(0..=3) {
                    let (name, offset, room) = part(random);
                    let len = random.range(0..=room) + u64::from(random.one_in(300)) * room;
                    sizes.push(len);
                    buffers.push(json!({"buffer": name, "offset": offset, "len": len}));
                }
                Self { kind: json!({"type": "views", "buffers": buffers}), width: 16, sizes }
            }
            _ => {
                let index = *random.pick(&[1, 2, 4, 8]);
                let width = random.skewed(1..=room.min(40));
                let count = random.skewed(0..=(room / width).min(256));
                let values = json!({"buffer": name, "offset": offset, "width": width});
                let kind = json!({"type": "dictionary", "width": index, "values": values,
                                  "count": count});
                Self { kind, width: index, sizes: vec![count] }
            }
        }
    }

    /// An offset from `from` on, hardly ever before it or outside of the data.
    fn offset(&self, random: &mut Random, from: u64) -> u64 {
        if random.one_in(2000) {
            return random.any() % (2 * self.sizes[0]);
        }
        (from + random.skewed(0..=40) * random.range(0..=1)).min(self.sizes[0])
    }

    fn number(&self, value: u64) -> Vec<u8> {
        value.to_le_bytes()[..self.width as usize].to_vec()
    }

    /// The bytes of a single entry.
    pub(super) fn entry(&mut self, random: &mut Random) -> Vec<u8> {
        match self.kind["type"].as_str() {
            Some("varlen") => {
                let from = random.range(0..=self.sizes[0]);
                let to = self.offset(random, from);
                [self.number(from), self.number(to)].concat()
            }
            Some("views") => {
                let outside = random.one_in(2000);
                let fits: Vec<usize> =
                    (0..self.sizes.len()).filter(|i| self.sizes[*i] > 12).collect();
                if fits.is_empty() || random.one_in(2) {
                    let len = random.range(0..=if outside { 14 } else { 12 });
                    return [(len as u32).to_le_bytes().to_vec(), random.bytes(12)].concat();
                }
                let index = *random.pick(&fits);
                let len = random.range(13..=self.sizes[index].min(60));
                let offset = random.range(0..=self.sizes[index] - len) + u64::from(outside);
                let words = [len, random.any(), index as u64, offset];
                words.iter().flat_map(|word| (*word as u32).to_le_bytes()).collect()
            }
            _ => {
                let outside = random.one_in(2000);
                let last = self.sizes[0].saturating_sub(1) + u64::from(outside);
                self.number(random.range(0..=last))
            }
        }
    }
}
