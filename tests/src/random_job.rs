//! Random jobs: everything that a job file can say, small enough to run by the thousand.

use serde_json::{Value, json};

use crate::{
    expect::{self, Memory, hex},
    random::Random,
};

/// How large jobs get.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Posts.
    pub posts: u64,
    /// Bytes of a buffer.
    pub buffer: u64,
    /// Rows of a region.
    pub rows: u64,
    /// Payload bytes of one post.
    pub payload: u64,
    /// Whether there are partitioned posts.
    pub partitioned: bool,
}

/// Whether the hardware takes partitioned requests; where it does not, no job for it has one.
pub const HARDWARE_TAKES_PARTITIONED: bool = true;

impl Limits {
    /// For the reference model.
    pub const SOFT: Self =
        Self { posts: 8, buffer: 20_000, rows: 200, payload: 100_000, partitioned: true };
    /// For simulated hardware, where every cycle costs.
    pub const RTL: Self = Self {
        posts: 5,
        buffer: 9_000,
        rows: 120,
        payload: 20_000,
        partitioned: HARDWARE_TAKES_PARTITIONED,
    };
}

/// One post in so many is spoiled: its regions need not be inside their buffers.
const SPOILED: u64 = 12;
/// Posts that do not come out as wanted are drawn again, at most so many times.
const ATTEMPTS: usize = 200;

/// The job of that seed: the same on every machine.
pub fn generate(seed: u64, limits: Limits) -> Value {
    let mut random = Random::new(seed);
    let (buffers, memory, tables) = (Vec::new(), Memory::default(), Vec::new());
    let mut generator = Generator { limits, buffers, memory, tables };
    for i in 0..random.range(1..=4) {
        let len = random.skewed(1..=limits.buffer);
        let name = format!("t{i}");
        let buffer = match random.one_in(8) {
            true => json!({"name": name, "size": len}),
            false => json!({"name": name, "hex": hex(&random.bytes(len as usize))}),
        };
        generator.add(buffer);
        generator.tables.push((name, len));
    }
    let many = if random.one_in(12) { random.range(5..=64) } else { random.range(1..=4) };
    let qps: Vec<Value> = (0..many).map(|i| queue_pair(&mut random, i)).collect();
    let posts: Vec<Value> =
        (0..random.range(1..=limits.posts)).map(|i| generator.post(&mut random, &qps, i)).collect();
    json!({
        "buffers": generator.buffers,
        "local": {"mac": mac(&mut random), "ip": ip(&mut random)},
        "qps": qps,
        "posts": posts,
    })
}

fn mac(random: &mut Random) -> String {
    let mut bytes = random.bytes(6);
    bytes[0] = bytes[0] & 0xfe | 2;
    bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(":")
}

fn ip(random: &mut Random) -> String {
    format!("10.{}.{}.{}", random.any() as u8, random.any() as u8, random.range(1..=254))
}

/// Queue pair `i`; numbers are random, but no two queue pairs have the same.
fn queue_pair(random: &mut Random, i: u64) -> Value {
    let transport = *random.pick(&["rc", "rc", "uc", "ud"]);
    let start_psn = match random.one_in(3) {
        true => (1 << 24) - random.range(1..=20),
        false => random.range(0..=(1 << 24) - 1),
    };
    // 0 is no queue pair's number.
    let number = |random: &mut Random| (random.range(0..=(1 << 18) - 1) << 6 | i).max(1);
    let mut queue_pair = json!({
        "name": format!("q{i}"), "transport": transport,
        "qpn": number(random), "dest_qpn": number(random),
        "start_psn": start_psn, "mtu": random.pick(&[256, 512, 1024, 2048, 4096]),
        "dest_mac": mac(random), "dest_ip": ip(random),
    });
    let qkey = random.any() as u32;
    if transport == "ud" {
        queue_pair["qkey"] = json!(qkey);
    }
    queue_pair
}

/// What a region has to be like.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    /// Exactly so many elements.
    elements: Option<u64>,
    /// About so many bytes a row, at most.
    row: u64,
    /// So many rows, at most.
    rows: u64,
    /// Nearly always a strided region of one extent.
    columns: bool,
}

#[derive(Debug)]
struct Generator {
    limits: Limits,
    buffers: Vec<Value>,
    memory: Memory,
    /// Name and length of the buffers that data lie in.
    tables: Vec<(String, u64)>,
}

impl Generator {
    fn add(&mut self, buffer: Value) {
        self.memory.add(&buffer);
        self.buffers.push(buffer);
    }

    fn post(&mut self, random: &mut Random, qps: &[Value], wr_id: u64) -> Value {
        let by_name = json!({ "qps": qps });
        let queue_pairs = expect::queue_pairs(&by_name);
        let spoiled = random.one_in(SPOILED);
        let before = self.buffers.len();
        for _ in 0..ATTEMPTS {
            let mut post = self.draw(random, qps);
            post["wr_id"] = json!(if random.one_in(10) { random.any() } else { wr_id });
            if spoiled {
                spoil(random, &mut post);
            }
            let keep = match expect::messages(&post, &self.memory, &queue_pairs, &|_| false) {
                Ok(all) => {
                    let payload: usize = all.iter().flatten().map(Vec::len).sum();
                    payload as u64 <= self.limits.payload
                }
                Err(_) => spoiled,
            };
            if keep {
                return post;
            }
            self.buffers.truncate(before);
        }
        json!({"verb": "post_send", "qp": "q0", "wr_id": wr_id, "op": "send", "regions": []})
    }

    /// A post of any kind, which may fail.
    fn draw(&mut self, random: &mut Random, qps: &[Value]) -> Value {
        let shared = random.one_in(2);
        let count = if shared { random.range(1..=qps.len() as u64) } else { 1 };
        let mut order: Vec<&Value> = qps.iter().collect();
        for i in 0..count as usize {
            let other = random.range(i as u64..=order.len() as u64 - 1);
            order.swap(i, other as usize);
        }
        order.truncate(count as usize);

        let datagrams = order.iter().filter(|qp| qp["transport"] == "ud");
        let longest = datagrams.filter_map(|qp| qp["mtu"].as_u64()).min();
        let ops = ["send", "send_imm", "write", "write_imm"];
        let op = *random.pick(if longest.is_some() { &ops[..2] } else { &ops });
        let element = random.one_in(2);
        let rows_per_message = match longest {
            Some(_) => random.skewed(1..=16),
            None => random.skewed(1..=300),
        };
        let message = longest.unwrap_or(10_000);
        let mut post = json!({"op": op, "rows_per_message": rows_per_message});
        if element || random.one_in(2) {
            post["row_mask"] = json!(if element { "element" } else { "period" });
        }
        if random.one_in(4) {
            let threshold = random.skewed(0..=4095);
            post["fetch"] =
                json!({"max_read": 64 << random.range(0..=6), "merge_threshold": threshold});
        }
        if op.ends_with("_imm") {
            post["imm"] = json!(random.any() as u32);
        }
        let verb = if shared { "post_ssq_send" } else { "post_send" };
        post["verb"] = json!(verb);
        if shared && self.limits.partitioned && random.one_in(4) {
            let names: Vec<&Value> = order.iter().map(|qp| &qp["name"]).collect();
            self.partition(random, &mut post, &names, message / rows_per_message);
            return post;
        }
        if random.one_in(4) {
            self.shuffle(random, &mut post, &order, message / rows_per_message);
            return post;
        }
        let share = (self.limits.payload / count).max(64);
        let mut destination = |random: &mut Random, qp: &Value| {
            let regions = random.skewed(0..=16);
            let units = if element { rows_per_message * regions.max(1) } else { rows_per_message };
            let row = (message / units).clamp(1, share / 4);
            let rows = self.limits.rows.min(share / row).max(1);
            let elements = element.then(|| random.skewed(0..=rows));
            let columns = element && random.one_in(3);
            let wanted = Wanted { elements, row: random.skewed(1..=row), rows, columns };
            let mut entry = json!({
                "qp": qp["name"],
                "regions": (0..regions).map(|_| self.region(random, wanted)).collect::<Vec<_>>(),
            });
            if op.starts_with("write") {
                entry["remote_addr"] = json!(random.any());
                entry["rkey"] = json!(random.any() as u32);
            }
            entry
        };
        let mut entries: Vec<Value> = order.iter().map(|qp| destination(random, qp)).collect();
        if shared {
            post["destinations"] = json!(entries);
        } else if let (Value::Object(post), Value::Object(entry)) = (&mut post, &mut entries[0]) {
            post.append(entry);
        }
        post
    }

    /// A region that lies inside its buffers.
    fn region(&mut self, random: &mut Random, wanted: Wanted) -> Value {
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
    fn fetch_rows(&mut self, random: &mut Random, rows: u64) -> Value {
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

    /// Makes a post partitioned: a region whose rows have about `row` bytes, and a partition for
    /// each queue pair. Some ids are nobody's, and some partitions have no row.
    fn partition(&mut self, random: &mut Random, post: &mut Value, qps: &[&Value], row: u64) {
        let op = post["op"].as_str().expect("every post has one").to_owned();
        let width = random.range(1..=2);
        let top = if width == 1 { 255 } else { 65535 };
        let mut ids: Vec<u64> = Vec::new();
        while ids.len() < qps.len() {
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

        // Runs of one partition or a new one for every row; one in eight is anybody's or nobody's.
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
        post["partitioned"] = json!({
            "ids": {"buffer": name, "offset": offset, "width": width},
            "rows": rows, "columns": columns,
        });
        let destination = |(qp, id): (&&Value, &u64)| {
            let mut entry = json!({"qp": qp, "partition": id});
            if op.starts_with("write") {
                entry["remote_addr"] = json!(random.any());
                entry["rkey"] = json!(random.any() as u32);
            }
            entry
        };
        let destinations: Vec<Value> = qps.iter().zip(&ids).map(destination).collect();
        post["destinations"] = json!(destinations);
    }

    /// Gives every queue pair the same columns of rows of at most 64 bytes: the rows of a bitmap of its
    /// own, now and then all. With row mask Element the columns may be regions of their own.
    fn shuffle(&mut self, random: &mut Random, post: &mut Value, qps: &[&Value], row: u64) {
        let op = post["op"].as_str().expect("every post has one").to_owned();
        let apart = post["row_mask"] == "element" && random.one_in(2);
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
        for qp in qps {
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
            let mut entry = json!({"qp": qp["name"], "regions": regions});
            if op.starts_with("write") {
                entry["remote_addr"] = json!(random.any());
                entry["rkey"] = json!(random.any() as u32);
            }
            destinations.push(entry);
        }
        if post["verb"] == "post_ssq_send" {
            post["destinations"] = json!(destinations);
        } else if let (Value::Object(post), Value::Object(entry)) = (post, &mut destinations[0]) {
            post.append(entry);
        }
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

/// Members of a record of so many bytes, short ones, often its first and its last.
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

/// Changes something such that the post probably fails.
fn spoil(random: &mut Random, post: &mut Value) {
    match random.range(0..=5) {
        0 => {
            post["row_mask"] = json!("element");
            return;
        }
        1 => {
            post["rows_per_message"] = json!(random.range(100..=u32::MAX.into()));
            return;
        }
        _ => {}
    }
    let numbers = ["offset", "len", "width", "period", "count", "rows"];
    let mut places = Vec::new();
    find(post, String::new(), &numbers, &mut places);
    // A card cannot even be told of ids of another size.
    places.retain(|place| place != "/partitioned/ids/width");
    if places.is_empty() {
        return;
    }
    let place = random.pick(&places).clone();
    let small = ["/len", "/width", "/count", "/rows"].iter().any(|end| place.ends_with(end));
    let value = match (small, random.range(0..=3)) {
        (true, 0) => u32::MAX.into(),
        (true, _) => random.skewed(1..=u32::MAX.into()),
        (false, 0) => u64::MAX - random.range(0..=20),
        (false, 1) => (1 << 32) + random.range(0..=100),
        (false, _) => random.skewed(1..=u64::MAX),
    };
    *post.pointer_mut(&place).expect("it was found there") = json!(value);
}

/// The ways to every number of those names.
fn find(value: &Value, path: String, names: &[&str], found: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            for (name, value) in entries {
                if value.is_u64() && names.contains(&name.as_str()) {
                    found.push(format!("{path}/{name}"));
                }
                find(value, format!("{path}/{name}"), names, found);
            }
        }
        Value::Array(list) => {
            for (i, value) in list.iter().enumerate() {
                find(value, format!("{path}/{i}"), names, found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, path::Path};

    use super::*;

    #[test]
    fn a_seed_always_gives_the_same_job() {
        assert_eq!(generate(7, Limits::SOFT), generate(7, Limits::SOFT));
    }

    #[test]
    fn partitioned_posts_come_only_where_they_are_wanted() {
        let any = |partitioned| {
            let limits = Limits { partitioned, ..Limits::RTL };
            (0..50).any(|seed| generate(seed, limits).to_string().contains("partitioned"))
        };
        assert!(any(true));
        assert!(!any(false));
    }

    #[test]
    fn random_jobs_are_jobs_and_cover_what_a_job_can_say() {
        let (mut seen, mut posts, mut successes) = (HashSet::new(), 0, 0);
        for seed in 0..1200 {
            let job = generate(seed, Limits::SOFT);
            let text = job.to_string();
            let parsed = drdma_cli::job::Job::parse(&text, Path::new("."));
            assert!(parsed.is_ok(), "seed {seed}: {}", parsed.unwrap_err());
            for word in [
                "contiguous",
                "strided",
                "bitmapped",
                "pointer_mapped",
                "post_send",
                "post_ssq_send",
                "\"rc\"",
                "\"uc\"",
                "\"ud\"",
                "\"send\"",
                "send_imm",
                "\"write\"",
                "write_imm",
                "\"element\"",
                "\"period\"",
                "partitioned",
                "merge_threshold",
                "fetch_rows",
            ] {
                if text.contains(word) {
                    seen.insert(word.to_owned());
                }
            }
            for mtu in [256, 512, 1024, 2048, 4096] {
                if text.contains(&format!("\"mtu\":{mtu},")) {
                    seen.insert(mtu.to_string());
                }
            }
            for completion in expect::run(&job).completions {
                posts += 1;
                successes += u32::from(completion.status == "success");
                seen.insert(completion.status);
            }
        }
        let count = seen.len();
        let statuses = [
            "success",
            "local_protection_error",
            "local_length_error",
            "local_qp_operation_error",
            "wr_flush_error",
        ];
        assert!(statuses.iter().all(|status| seen.contains(*status)), "{seen:?}");
        assert_eq!(count, 18 + 5 + statuses.len(), "{seen:?}");
        assert!(successes * 10 > posts * 7, "{successes} of {posts} posts succeed");
    }
}
