//! Posts of tables of tens of thousands of rows, to up to 64 destinations: several chunks of rows, and windows
//! of the card's memory, of any of the ways that rows go through it.

use serde_json::{Value, json};

use super::{Generator, Head};
use crate::{expect::hex, random::Random};

/// Rows of a table, approximately.
const ROWS: [u64; 2] = [10_000, 50_000];

/// A column of a table: its offset and width.
type Column = (u64, u64);

impl Generator {
    /// A post of one large table, which may fail.
    pub(super) fn draw_large(&mut self, random: &mut Random, qps: &[Value]) -> Value {
        let shared = !random.one_in(4);
        let most = qps.len() as u64;
        let count = match shared {
            true if random.one_in(2) => most,
            true => random.range(1..=most),
            false => 1,
        };
        let mut head = self.head(random, qps, shared, count);
        let mut rows = random.range(ROWS[0]..=ROWS[1]);
        if random.one_in(3) {
            // The number of rows is near the end of a chunk, or of what is read of a bitmap at a time.
            rows = (rows & !0xfff) + random.range(0..=2) - 1;
        }
        let widths = self.widths(random, self.limits.large / rows);
        let row = widths.iter().sum::<u64>();
        let fit = head.datagram.unwrap_or(200_000) / row;
        head.post["rows_per_message"] = json!(random.skewed(1..=fit.max(1)));
        match random.range(0..=7) {
            0..=1 => self.one_destination_a_row(random, head, rows, &widths),
            2..=3 if shared && self.limits.partitioned => {
                self.large_partitioned(random, head, rows, &widths)
            }
            2..=4 => self.bitmap_each(random, head, rows, &widths),
            5..=6 => self.stretch_each(random, head, rows, &widths),
            _ => self.pointers_each(random, head, &widths),
        }
    }

    /// Widths of columns that are `row` bytes together, at most, and 64.
    fn widths(&self, random: &mut Random, row: u64) -> Vec<u64> {
        let mut left = row.clamp(1, 64);
        let mut widths = Vec::new();
        for _ in 0..random.skewed(1..=16) {
            let width = *random.pick(&[1, 2, 4, 4, 8, 8, 3, 13]);
            if width <= left {
                widths.push(width);
                left -= width;
            }
        }
        if widths.is_empty() { vec![1] } else { widths }
    }

    /// A buffer of these columns, one behind the other with gaps between.
    fn table(&mut self, random: &mut Random, rows: u64, widths: &[u64]) -> (String, Vec<Column>) {
        let gap = *random.pick(&[0, 3, 64, 5_000]);
        let mut len = random.skewed(0..=200);
        let mut columns = Vec::new();
        for width in widths {
            columns.push((len, *width));
            len += rows * width + random.range(0..=gap);
        }
        let name = format!("l{}", self.buffers.len());
        let buffer = json!({"name": name, "hex": hex(&random.bytes(len as usize))});
        self.add(buffer);
        (name, columns)
    }

    fn buffer_of(&mut self, random: &mut Random, bytes: &[u8]) -> Value {
        let name = format!("l{}", self.buffers.len());
        let offset = random.skewed(0..=100);
        let bytes = [&random.bytes(offset as usize), bytes].concat();
        self.add(json!({"name": name, "hex": hex(&bytes)}));
        json!({"buffer": name, "offset": offset})
    }

    /// For each row its destination, or none: random for each row, or the same in runs of rows.
    fn owners(&self, random: &mut Random, rows: u64, count: u64) -> Vec<Option<u64>> {
        let run = *random.pick(&[1, 1, 1, 4, 300, 5_000]);
        let nobody = *random.pick(&[2, 10, 1_000_000]);
        let mut owner = Some(0);
        let mut owners = Vec::new();
        for _ in 0..rows {
            if random.one_in(run) {
                owner = (!random.one_in(nobody)).then(|| random.range(0..=count - 1));
            }
            owners.push(owner);
        }
        owners
    }

    /// Each row goes to one destination, by a bitmap for each.
    fn one_destination_a_row(
        &mut self,
        random: &mut Random,
        head: Head<'_>,
        rows: u64,
        widths: &[u64],
    ) -> Value {
        let table = self.table(random, rows, widths);
        let count = head.order.len() as u64;
        let owners = self.owners(random, rows, count);
        let wanted = |dest: u64| owners.iter().map(|owner| *owner == Some(dest)).collect();
        let masks: Vec<Vec<bool>> = (0..count).map(wanted).collect();
        self.bitmapped_each(random, head, &table, &masks)
    }

    /// Every destination has random rows, many or few.
    fn bitmap_each(
        &mut self,
        random: &mut Random,
        head: Head<'_>,
        rows: u64,
        widths: &[u64],
    ) -> Value {
        let table = self.table(random, rows, widths);
        let count = head.order.len() as u64;
        let masks: Vec<Vec<bool>> = (0..count)
            .map(|_| {
                let often = count * *random.pick(&[1, 1, 2, 10, 500]);
                // Blocks of rows are selected together, or single rows.
                let run = *random.pick(&[1, 1, 64, 700]);
                let mut is_set = false;
                let mut mask = Vec::new();
                for row in 0..rows {
                    if row % run == 0 {
                        is_set = random.one_in(often);
                    }
                    mask.push(is_set);
                }
                mask
            })
            .collect();
        self.bitmapped_each(random, head, &table, &masks)
    }

    /// A bitmapped region for each destination, or one for each of its columns.
    fn bitmapped_each(
        &mut self,
        random: &mut Random,
        mut head: Head<'_>,
        (table, columns): &(String, Vec<Column>),
        masks: &[Vec<bool>],
    ) -> Value {
        let apart = head.post["row_mask"] == "element" && random.one_in(2);
        let fetch = random.one_in(3);
        let mut entries = Vec::new();
        for (qp, mask) in head.order.iter().zip(masks) {
            let mut bytes = vec![0_u8; mask.len().div_ceil(8)];
            for (row, bit) in mask.iter().enumerate() {
                bytes[row / 8] |= u8::from(*bit) << (row % 8);
            }
            let bitmap = self.buffer_of(random, &bytes);
            let fetch_rows = fetch.then(|| self.fetch_rows(random, mask.len() as u64));
            let region = |columns: &[Column]| {
                let columns: Vec<_> = columns.iter().map(|column| place(table, column)).collect();
                let mut region = json!({"type": "bitmapped", "bitmap": bitmap,
                                        "rows": mask.len(), "columns": columns});
                if let Some(place) = &fetch_rows {
                    region["fetch_rows"] = place.clone();
                }
                region
            };
            let regions: Vec<Value> = match apart {
                true => columns.chunks(1).map(region).collect(),
                false => vec![region(columns)],
            };
            entries.push(head.entry(random, qp, regions));
        }
        head.finish(entries);
        head.post
    }

    fn large_partitioned(
        &mut self,
        random: &mut Random,
        mut head: Head<'_>,
        rows: u64,
        widths: &[u64],
    ) -> Value {
        let (table, columns) = self.table(random, rows, widths);
        let width = random.range(1..=2);
        let top = if width == 1 { 255 } else { 65_535 };
        let first = random.range(0..=top - 63);
        let owners = self.owners(random, rows, head.order.len() as u64);
        // Rows without a destination have the id above all others, or below.
        let nobody = if first == 0 { top } else { first - 1 };
        let id = |owner: &Option<u64>| owner.map_or(nobody, |dest| first + dest);
        let bytes: Vec<u8> = owners
            .iter()
            .flat_map(|owner| id(owner).to_le_bytes().into_iter().take(width as usize))
            .collect();
        let mut ids = self.buffer_of(random, &bytes);
        ids["width"] = json!(width);
        let columns: Vec<_> = columns.iter().map(|column| place(&table, column)).collect();
        head.post["partitioned"] = json!({"ids": ids, "rows": rows, "columns": columns});
        let entries: Vec<Value> = (0..)
            .zip(&head.order)
            .map(|(dest, qp)| head.partition(random, qp, first + dest))
            .collect();
        head.finish(entries);
        head.post
    }

    /// Each destination has rows of a table of records, by their numbers: a stretch of its own, or the rows of all.
    fn stretch_each(
        &mut self,
        random: &mut Random,
        mut head: Head<'_>,
        rows: u64,
        widths: &[u64],
    ) -> Value {
        let period = widths.iter().sum::<u64>() + *random.pick(&[0, 0, 1, 40]);
        let (table, _) = self.table(random, rows, &[period]);
        let mut at = 0;
        let mut pattern = Vec::new();
        for width in widths {
            pattern.push(json!({"offset": at, "len": width}));
            at += width;
        }
        // Under row mask `Element` an element is an extent: all regions have the same number.
        let count = head.order.len() as u64;
        let same = random.one_in(2);
        let each = rows / count;
        let mut entries = Vec::new();
        for (dest, qp) in (0..).zip(&head.order) {
            let first = if same { 0 } else { dest * each };
            let strided = |first: u64, count: u64| {
                json!({"type": "strided", "buffer": table, "offset": first * period,
                       "period": period, "count": count, "pattern": pattern})
            };
            let regions = match each / 2 {
                half if !same && half > 0 && random.one_in(3) => {
                    vec![strided(first, half), strided(first + half, half)]
                }
                _ => vec![strided(first, each)],
            };
            entries.push(head.entry(random, qp, regions));
        }
        head.finish(entries);
        head.post
    }

    /// Records at random places, by pointers: fewer, since each is 8 bytes to be read as well.
    fn pointers_each(&mut self, random: &mut Random, mut head: Head<'_>, widths: &[u64]) -> Value {
        let period = widths.iter().sum::<u64>() + *random.pick(&[0, 5, 200]);
        let records = random.range(1_000..=4_000);
        let (table, _) = self.table(random, records, &[period]);
        let each = 15_000 / head.order.len() as u64;
        let mut at = 0;
        let mut pattern = Vec::new();
        for width in widths {
            pattern.push(json!({"offset": at, "len": width}));
            at += width;
        }
        let ascending = random.one_in(2);
        let mut entries = Vec::new();
        for qp in &head.order {
            let mut pointers: Vec<u64> = (0..random.range(each / 2..=each))
                .map(|_| random.range(0..=records - 1) * period)
                .collect();
            if ascending {
                pointers.sort_unstable();
            }
            let pointers: Vec<_> = pointers.iter().map(|at| json!([table, at])).collect();
            let region =
                json!({"type": "pointer_mapped", "pointers": pointers, "pattern": pattern});
            entries.push(head.entry(random, qp, vec![region]));
        }
        head.finish(entries);
        head.post
    }
}

fn place(table: &str, (offset, width): &Column) -> Value {
    json!({"buffer": table, "offset": offset, "width": width})
}
