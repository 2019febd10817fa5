//! Objects that a node's card keeps in a random fabric job: described keys, and append regions.

use serde_json::{Value, json};

use super::places::of_region;
use crate::{
    expect::{Memory, hex, list},
    random::Random,
};

/// The name of the buffer with the bitmaps of keys.
const BITS: &str = "bits";
/// Keys of a node, at most.
const MAX_KEYS: usize = 200;
/// Records of a key to a pointer-mapped region, approximately.
const RECORDS: u64 = 100;

/// The described keys and append regions of a node.
#[derive(Default)]
pub(super) struct Kept {
    /// Described keys, as jobs have them.
    pub keys: Vec<Value>,
    bits: Vec<u8>,
    appends: Vec<Append>,
}

/// An append region of a job that is being made.
struct Append {
    columns: Vec<u64>,
    row: u64,
    /// Number of rows that are sent to it.
    rows: u64,
    /// True if only one queue pair may append to it.
    alone: bool,
    /// For each column: its offset in `in`, and its number of rows.
    places: Vec<(u64, u64)>,
}

impl Kept {
    /// The buffer of the bitmaps, if there are any.
    pub fn buffer(&self) -> Option<Value> {
        (!self.bits.is_empty()).then(|| json!({"name": BITS, "hex": hex(&self.bits)}))
    }

    /// The append regions as jobs have them.
    pub fn appends(&self) -> Vec<Value> {
        let append = |(i, append): (usize, &Append)| {
            let columns: Vec<Value> = (append.columns.iter().zip(&append.places))
                .map(|(width, (offset, _))| json!({"buffer": "in", "offset": offset, "width": width}))
                .collect();
            json!({"name": format!("rows{i}"), "columns": columns, "capacity": append.places[0].1})
        };
        self.appends.iter().enumerate().map(append).collect()
    }

    /// The append region that a queue pair's messages of these lengths go to. `alone`: no other queue pair may
    /// append to it; `refuse`: some messages may not be whole rows. `None` if there is none.
    pub fn append(
        &mut self,
        random: &mut Random,
        lengths: &[usize],
        (alone, refuse): (bool, bool),
        used: &mut u64,
    ) -> Option<String> {
        let common = lengths.iter().fold(0, |a, b| gcd(a, *b as u64));
        if common == 0 {
            return None;
        }
        let divisors: Vec<u64> =
            (1..=common.min(200)).filter(|d| common.is_multiple_of(*d)).collect();
        let mut row = *random.pick(&divisors);
        if refuse && random.one_in(4) {
            row = random.range(1..=40);
        }
        let rows = lengths.iter().map(|len| (*len as u64).div_ceil(row)).sum::<u64>();
        let fits = |append: &Append| {
            let free = append.places[0].1 - append.rows;
            !alone && !append.alone && append.row == row && free >= rows
        };
        let at = match self.appends.iter().position(fits) {
            Some(at) => at,
            None => {
                let columns = split(random, row);
                // There may be room for another queue pair's rows.
                let capacity = (rows * random.range(1..=3) + random.skewed(0..=20)).max(1);
                // A message that is too long for the region is refused, not appended.
                let longest = lengths.iter().max().map_or(0, |len| *len as u64).div_ceil(row);
                let capacity = capacity.max(longest);
                let places = columns
                    .iter()
                    .map(|width| {
                        let start = *used;
                        *used += width * capacity;
                        (start, capacity)
                    })
                    .collect();
                self.appends.push(Append { columns, row, rows: 0, alone, places });
                self.appends.len() - 1
            }
        };
        self.appends[at].rows += rows;
        Some(format!("rows{at}"))
    }

    /// A key to a region of `in` that nothing else writes to, and the offset from which on it has `len` bytes.
    pub fn key_to_write(&mut self, random: &mut Random, len: u64, used: &mut u64) -> (String, u64) {
        let offset = random.skewed(0..=40);
        let kind = random.range(0..=2);
        let region = self.region_to_fill(random, kind, offset + len, used);
        (self.add(region, "remote_write"), offset)
    }

    /// A bitmapped or pointer-mapped region of `in` that nothing else writes to, of `needed` bytes or more.
    pub fn mapped_region(&mut self, random: &mut Random, needed: u64, used: &mut u64) -> Value {
        let kind = random.range(1..=2);
        self.region_to_fill(random, kind, needed, used)
    }

    /// A region of `in`: strided (0), bitmapped (1) or pointer-mapped (2).
    fn region_to_fill(
        &mut self,
        random: &mut Random,
        kind: u64,
        needed: u64,
        used: &mut u64,
    ) -> Value {
        let mut take = |len: u64| {
            let start = *used;
            *used += len;
            start
        };
        match kind {
            0 => {
                let row = random.skewed(1..=64.min(needed));
                let pattern = extents(random, row);
                let span = span(&pattern);
                let count = needed.div_ceil(row) + random.skewed(0..=3);
                let period = span + random.skewed(0..=16);
                json!({"type": "strided", "buffer": "in", "offset": take(count * period),
                       "period": period, "count": count, "pattern": pattern})
            }
            1 => {
                let widths = split(random, needed.min(64));
                let row: u64 = widths.iter().sum();
                let mut selected: Vec<bool> = vec![true; needed.div_ceil(row) as usize];
                selected.extend((0..random.skewed(0..=100)).map(|_| random.one_in(4)));
                for i in 1..selected.len() {
                    selected.swap(i, random.range(0..=i as u64) as usize);
                }
                let rows = selected.len() as u64;
                let columns: Vec<Value> = widths
                    .iter()
                    .map(|width| json!({"buffer": "in", "offset": take(rows * width), "width": width}))
                    .collect();
                let start = self.bits.len();
                // Bits behind the last row have no meaning.
                let end = selected.len().next_multiple_of(8);
                selected.extend((selected.len()..end).map(|_| random.one_in(2)));
                let byte = |bits: &[bool]| {
                    bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit))
                };
                self.bits.extend(selected.chunks(8).map(byte));
                json!({"type": "bitmapped", "bitmap": {"buffer": BITS, "offset": start}, "rows": rows,
                       "columns": columns})
            }
            _ => {
                let row = random.range(needed.div_ceil(RECORDS)..=needed);
                let pattern = extents(random, row);
                let count = needed.div_ceil(row) + random.skewed(0..=3);
                let span = span(&pattern);
                let start = take(count * span);
                let mut pointers: Vec<Value> =
                    (0..count).map(|i| json!(["in", start + i * span])).collect();
                for i in 1..pointers.len() {
                    pointers.swap(i, random.range(0..=i as u64) as usize);
                }
                json!({"type": "pointer_mapped", "pointers": pointers, "pattern": pattern})
            }
        }
    }

    /// A key to a region that the node's own requests send from, and its bytes.
    pub fn key_to_read(&mut self, random: &mut Random, sends: &Value) -> Option<(String, u64)> {
        let memory = Memory::of(sends);
        let posts = list(&sends["posts"]).iter();
        let destinations = posts.flat_map(|post| match post.get("destinations") {
            Some(all) => list(all).iter().collect(),
            None => vec![post],
        });
        let regions = destinations.filter_map(|of| of.get("regions")).flat_map(list);
        let found: Vec<_> = regions
            .filter(|region| region["type"] != "contiguous" && is_plain(region))
            .filter_map(|region| Some((region, of_region(&memory, region)?.len() as u64)))
            .filter(|(_, len)| (1..=100_000).contains(len))
            .collect();
        if found.is_empty() || self.keys.len() >= MAX_KEYS {
            return None;
        }
        let (region, len) = random.pick(&found);
        Some((self.add((*region).clone(), "remote_read"), *len))
    }

    fn add(&mut self, region: Value, access: &str) -> String {
        let name = format!("key{}", self.keys.len());
        self.keys.push(json!({"name": name, "region": region, "access": [access]}));
        name
    }
}

/// True for a region that a key may have: of fixed columns or extents, a bitmap from a byte's first bit on, no chains.
fn is_plain(region: &Value) -> bool {
    let elements =
        ["columns", "pattern"].iter().filter_map(|field| region.get(field)).flat_map(list);
    elements.into_iter().all(|element| element.get("type").is_none())
        && region.get("chase").is_none()
        && region["bitmap"].get("bit").is_none()
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Splits a number into 1 to 16 random parts.
fn split(random: &mut Random, total: u64) -> Vec<u64> {
    let count = random.skewed(1..=16.min(total));
    let mut cuts: Vec<u64> = (1..count).map(|_| random.range(1..=total.max(2) - 1)).collect();
    cuts.extend([0, total]);
    cuts.sort_unstable();
    cuts.dedup();
    cuts.windows(2).map(|cut| cut[1] - cut[0]).collect()
}

/// Extents of `total` bytes together, in any order, that do not overlap.
fn extents(random: &mut Random, total: u64) -> Vec<Value> {
    let mut at = 0;
    let mut extents: Vec<Value> = split(random, total)
        .into_iter()
        .map(|len| {
            let offset = at + random.skewed(0..=8);
            at = offset + len;
            json!({"offset": offset, "len": len})
        })
        .collect();
    for i in 1..extents.len() {
        extents.swap(i, random.range(0..=i as u64) as usize);
    }
    extents
}

/// Bytes from the start of a period to the end of its pattern.
fn span(pattern: &[Value]) -> u64 {
    let end = |extent: &Value| extent["offset"].as_u64().zip(extent["len"].as_u64());
    pattern.iter().filter_map(end).map(|(offset, len)| offset + len).max().unwrap_or(0)
}
