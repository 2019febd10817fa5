//! Posts whose destinations share a table: each gets rows of its own of the same columns.

use serde_json::{Value, json};

use super::{Generator, Head};
use crate::{expect::hex, random::Random};

impl Generator {
    /// Makes a post partitioned: a region whose rows have about `row` bytes, and a partition for
    /// each queue pair. Some ids have no destination, and some partitions have no row.
    pub(super) fn partition(&mut self, random: &mut Random, head: &mut Head<'_>, row: u64) {
        let width = random.range(1..=2);
        let top = if width == 1 { 255 } else { 65535 };
        let mut ids: Vec<u64> = Vec::new();
        while ids.len() < head.order.len() {
            let id = if random.one_in(2) { random.skewed(0..=top) } else { random.range(0..=top) };
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        let longest = self.tables.iter().map(|(_, size)| *size).max().expect("there is a table");
        let rows = random.skewed(0..=longest.min(4 * self.limits.rows));
        let fits: Vec<_> = self.tables.iter().filter(|(_, size)| *size >= rows.max(1)).collect();
        let count = random.skewed(1..=16);
        let columns: Vec<Value> = (0..count)
            .map(|_| {
                let (name, size) = *random.pick(&fits);
                let most = (size / rows.max(1)).min((2 * row / count).max(1));
                let width = random.skewed(1..=most);
                let offset = random.range(0..=size - rows * width);
                json!({"buffer": name, "offset": offset, "width": width})
            })
            .collect();

        // Runs of one partition or a new one for every row; one row in eight has any id, with a destination or without.
        let run = random.skewed(1..=20);
        let offset = random.skewed(0..=40);
        let mut bytes = random.bytes(offset as usize);
        let mut id = ids[0];
        for _ in 0..rows {
            if random.one_in(run) {
                id = *random.pick(&ids);
            }
            let id = if random.one_in(8) { random.range(0..=top) } else { id };
            bytes.extend(&id.to_le_bytes()[..width as usize]);
        }
        bytes.push(random.any() as u8);
        let name = format!("p{}", self.buffers.len());
        self.add(json!({"name": name, "hex": hex(&bytes)}));
        head.post["partitioned"] = json!({
            "ids": {"buffer": name, "offset": offset, "width": width},
            "rows": rows, "columns": columns,
        });
        let entries = head.order.iter().zip(&ids).map(|(qp, id)| head.partition(random, qp, *id));
        let entries = entries.collect();
        head.finish(entries);
    }

    /// Gives every queue pair the same columns of rows of at most 64 bytes: the rows of a bitmap of its
    /// own, now and then all. With row mask Element the columns may be regions of their own.
    pub(super) fn shuffle(&mut self, random: &mut Random, head: &mut Head<'_>, row: u64) {
        let apart = head.post["row_mask"] == "element" && random.one_in(2);
        let mut left = row.min(64);
        let mut columns: Vec<(String, u64, u64)> = Vec::new();
        let mut rows = random.skewed(1..=self.limits.buffer);
        for _ in 0..random.skewed(1..=16) {
            let (name, size) = random.pick(&self.tables);
            if left == 0 {
                break;
            }
            let width = random.skewed(1..=left.min(*size));
            rows = rows.min(size / width);
            left -= width;
            columns.push((name.clone(), *size, width));
        }
        let columns: Vec<Value> = columns
            .into_iter()
            .map(|(name, size, width)| {
                let offset = random.range(0..=size - rows * width);
                json!({"buffer": name, "offset": offset, "width": width})
            })
            .collect();

        let density = *random.pick(&[1, 2, 3, 8, 40, 300]);
        let mut destinations = Vec::new();
        for qp in &head.order {
            let mut bytes = vec![0_u8; rows.div_ceil(8) as usize];
            for row in 0..rows as usize {
                bytes[row / 8] |= u8::from(random.one_in(density)) << (row % 8);
            }
            let name = format!("b{}", self.buffers.len());
            let offset = random.skewed(0..=40) as usize;
            let bytes = [random.bytes(offset), bytes].concat();
            self.add(json!({"name": name, "hex": hex(&bytes)}));
            let fetch_rows = random.one_in(2).then(|| self.fetch_rows(random, rows));
            let bitmapped = |columns: &[Value]| {
                let mut region = json!({"type": "bitmapped", "bitmap": {"buffer": name, "offset": offset},
                           "rows": rows, "columns": columns});
                if let Some(place) = &fetch_rows {
                    region["fetch_rows"] = place.clone();
                }
                region
            };
            let strided = |column: &Value| {
                json!({"type": "strided", "buffer": column["buffer"], "offset": column["offset"],
                       "period": column["width"], "count": rows,
                       "pattern": [{"offset": 0, "len": column["width"]}]})
            };
            let regions: Vec<Value> = match apart {
                true if density == 1 => columns.iter().map(strided).collect(),
                true => {
                    columns.iter().map(|column| bitmapped(std::slice::from_ref(column))).collect()
                }
                false => vec![bitmapped(&columns)],
            };
            destinations.push(head.entry(random, qp, regions));
        }
        head.finish(destinations);
    }
}
