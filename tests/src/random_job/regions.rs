//! Regions of every type.

use serde_json::{Value, json};

use super::Generator;
use crate::{expect::hex, random::Random};

/// Properties that a region must have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// Number of elements, exactly.
    pub(super) elements: Option<u64>,
    /// Bytes of a row, approximately and at most.
    pub(super) row: u64,
    /// Number of rows, at most.
    pub(super) rows: u64,
    /// True if it is nearly always to be a strided region of one extent.
    pub(super) columns: bool,
}

impl Generator {
    /// A region that lies inside its buffers.
    pub(super) fn region(&mut self, random: &mut Random, wanted: Wanted) -> Value {
        loop {
            let region = match random.range(0..=9) {
                _ if wanted.columns && !random.one_in(50) => self.strided(random, wanted),
                0 => self.contiguous(random, wanted),
                1..=3 => self.strided(random, wanted),
                4..=6 => self.bitmapped(random, wanted),
                _ => self.pointer_mapped(random, wanted),
            };
            if let Some(region) = region {
                return region;
            }
        }
    }

    fn contiguous(&self, random: &mut Random, wanted: Wanted) -> Option<Value> {
        if wanted.elements.is_some_and(|elements| elements != 1) {
            return None;
        }
        let (name, size) = random.pick(&self.tables);
        let len = random.skewed(1..=(*size).min(wanted.row.max(1) * 4));
        let offset = random.range(0..=size - len);
        Some(json!({"type": "contiguous", "buffer": name, "offset": offset, "len": len}))
    }

    /// Extents or columns of a row, and rows. Every extent of a strided region is an element; in
    /// the others a whole row is one.
    fn shape(&self, random: &mut Random, wanted: Wanted, strided: bool) -> (u64, u64) {
        match wanted.elements {
            Some(elements) if strided && wanted.columns => (1, elements),
            Some(elements) if strided => {
                let divisors: Vec<u64> = (1..=16).filter(|d| elements.is_multiple_of(*d)).collect();
                let extents = *random.pick(&divisors);
                (extents, elements / extents)
            }
            Some(elements) => (random.skewed(1..=16), elements),
            None => (random.skewed(1..=16), random.skewed(0..=wanted.rows)),
        }
    }

    fn strided(&self, random: &mut Random, wanted: Wanted) -> Option<Value> {
        let (extents, count) = self.shape(random, wanted, true);
        let (name, size) = random.pick(&self.tables);
        let record = random.pick(&[16, 32, 64, 127, 128, 129]);
        let is_table = count > 1 && random.one_in(3) && count.checked_mul(*record)? <= *size;
        let pattern = match is_table {
            true => members(random, extents, *record),
            false => pattern(random, extents, wanted.row, *size),
        };
        let room = size - span(&pattern);
        let period = match count {
            _ if is_table => *record,
            0 | 1 => random.skewed(1..=u64::MAX),
            _ if room / (count - 1) == 0 => return None,
            _ => random.skewed(1..=room / (count - 1)),
        };
        let last = if count > 1 { (count - 1) * period } else { 0 };
        Some(json!({"type": "strided", "buffer": name, "offset": random.range(0..=room - last),
                    "period": period, "count": count, "pattern": pattern}))
    }

    fn bitmapped(&mut self, random: &mut Random, wanted: Wanted) -> Option<Value> {
        let (columns, set) = self.shape(random, wanted, false);
        let rows = set + random.skewed(0..=2 * wanted.rows);
        if rows == 0 || self.tables.iter().all(|(_, size)| *size < rows) {
            return None;
        }
        let fits: Vec<_> = self.tables.iter().filter(|(_, size)| *size >= rows).collect();
        let width = |size: u64| (size / rows).min((2 * wanted.row / columns).max(1));
        let columns: Vec<Value> = (0..columns)
            .map(|_| {
                let (name, size) = *random.pick(&fits);
                let width = random.skewed(1..=width(*size));
                let offset = random.range(0..=size - rows * width);
                json!({"buffer": name, "offset": offset, "width": width})
            })
            .collect();

        let offset = random.skewed(0..=40) as usize;
        let mut bytes = random.bytes(offset + rows.div_ceil(8) as usize + 2);
        let mut bits: Vec<bool> = (0..rows).map(|row| row < set).collect();
        if !random.one_in(4) {
            for i in 0..bits.len() {
                bits.swap(i, random.range(0..=i as u64) as usize);
            }
        }
        for (row, bit) in bits.iter().enumerate() {
            let byte = &mut bytes[offset + row / 8];
            *byte = *byte & !(1 << (row % 8)) | u8::from(*bit) << (row % 8);
        }
        let name = format!("b{}", self.buffers.len());
        self.add(json!({"name": name, "hex": hex(&bytes)}));
        let mut region = json!({"type": "bitmapped", "bitmap": {"buffer": name, "offset": offset},
                                "rows": rows, "columns": columns});
        if random.one_in(4) {
            region["fetch_rows"] = self.fetch_rows(random, rows);
        }
        Some(region)
    }

    /// A bitmap of rows that are to be read: none, all, some, or whatever lies in a table. It may be
    /// a byte short, and then the card refuses it.
    pub(super) fn fetch_rows(&mut self, random: &mut Random, rows: u64) -> Value {
        let len = rows.div_ceil(8);
        let tables: Vec<_> = self.tables.iter().filter(|(_, size)| *size >= len).collect();
        if random.one_in(3) && !tables.is_empty() {
            let (name, size) = *random.pick(&tables);
            return json!({"buffer": name, "offset": random.range(0..=size - len)});
        }
        let offset = random.skewed(0..=20);
        let len = offset + len - u64::from(random.one_in(50));
        let density = *random.pick(&[0, 1, 2, 8, 100]);
        let mut bytes = vec![0_u8; len as usize];
        for bit in 0..8 * bytes.len() {
            bytes[bit / 8] |= u8::from(density > 0 && random.one_in(density)) << (bit % 8);
        }
        let name = format!("f{}", self.buffers.len());
        self.add(json!({"name": name, "hex": hex(&bytes)}));
        json!({"buffer": name, "offset": offset})
    }

    fn pointer_mapped(&self, random: &mut Random, wanted: Wanted) -> Option<Value> {
        let (extents, count) = self.shape(random, wanted, false);
        let (_, size) = random.pick(&self.tables);
        let pattern = pattern(random, extents, wanted.row, *size);
        let fits: Vec<_> = self.tables.iter().filter(|(_, size)| *size >= span(&pattern)).collect();
        let ascending = random.one_in(2);
        let mut pointers: Vec<(&str, u64)> = (0..count)
            .map(|_| {
                let (name, size) = *random.pick(&fits);
                (name.as_str(), random.range(0..=size - span(&pattern)))
            })
            .collect();
        if ascending {
            pointers.sort_unstable();
        }
        Some(json!({"type": "pointer_mapped", "pointers": pointers, "pattern": pattern}))
    }
}

/// Extents in any order, overlapping or not, inside `size` bytes.
fn pattern(random: &mut Random, extents: u64, row: u64, size: u64) -> Vec<Value> {
    let span = random.skewed(1..=size.min(2 * row + 600));
    let longest = (2 * row / extents).max(1);
    (0..extents)
        .map(|_| {
            let len = random.skewed(1..=longest.min(span));
            json!({"offset": random.range(0..=span - len), "len": len})
        })
        .collect()
}

/// Members of a record of `record` bytes: short ones, often its first and its last.
fn members(random: &mut Random, extents: u64, record: u64) -> Vec<Value> {
    (0..extents)
        .map(|_| {
            let len = random.skewed(1..=8);
            let last = record - len;
            let anywhere = random.range(0..=last);
            json!({"offset": random.pick(&[0, last, anywhere, anywhere]), "len": len})
        })
        .collect()
}

/// The byte behind a pattern's last.
fn span(pattern: &[Value]) -> u64 {
    let end = |extent: &Value| extent["offset"].as_u64().unwrap() + extent["len"].as_u64().unwrap();
    pattern.iter().map(end).max().unwrap_or(0)
}
