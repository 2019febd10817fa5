//! Random jobs: every field that a job file can have, small enough to run by the thousand, and some with
//! tables of tens of thousands of rows.

mod columns;
mod inline;
mod keys;
mod kinds;
mod large;
mod regions;
mod spoil;
mod tables;

use std::collections::HashSet;

use serde_json::{Value, json};

use regions::Wanted;
use spoil::spoil;

use crate::{
    expect::{self, Memory, hex},
    random::Random,
};

/// Limits of random jobs.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Number of posts, at most.
    pub posts: u64,
    /// Bytes of a buffer, at most.
    pub buffer: u64,
    /// Rows of a region, at most.
    pub rows: u64,
    /// Payload bytes of a post, at most.
    pub payload: u64,
    /// Whether there are partitioned posts.
    pub partitioned: bool,
    /// Whether there are posts whose data stand in the request.
    pub inline: bool,
    /// Whether there are columns of other kinds than fixed width, and chains.
    pub kinds: bool,
    /// With `kinds`: whether messages may be laid out by columns.
    pub by_columns: bool,
    /// With `by_columns`: whether each column may have an address of its own, whatever the rows are, and whether rows
    /// may be partitioned by keys.
    pub all_columns: bool,
    /// Whether there are WRITEs by columns that every card sends.
    pub column_writes: bool,
    /// Whether partitions are made from keys.
    pub keys: bool,
    /// With `keys`: whether these are of all kinds, and beside columns of all kinds.
    pub all_keys: bool,
    /// Payload bytes of the one post of a job that has a table of tens of thousands of rows; 0: there is none.
    pub large: u64,
}

/// Whether the hardware takes partitioned requests; if not, no job for it has one.
pub const HARDWARE_TAKES_PARTITIONED: bool = true;
/// Whether the hardware takes requests with inline data; if not, no job for it has one.
pub const HARDWARE_TAKES_INLINE: bool = true;

/// Whether the hardware makes partitions from keys of fixed width.
pub const HARDWARE_TAKES_KEYS: bool = true;
/// Whether the hardware makes partitions from keys of every kind.
pub const HARDWARE_TAKES_ALL_KEYS: bool = false;
/// Whether the hardware takes columns of other kinds than fixed width.
pub const HARDWARE_TAKES_KINDS: bool = true;
/// Whether the hardware sends messages by columns of every kind to one address, or to none.
pub const HARDWARE_SENDS_BY_COLUMNS: bool = true;
/// Whether the hardware sends all else by columns.
pub const HARDWARE_SENDS_ALL_COLUMNS: bool = false;

impl Limits {
    /// Limits for the reference model.
    pub const SOFT: Self = Self {
        posts: 8,
        buffer: 20_000,
        rows: 200,
        payload: 100_000,
        partitioned: true,
        inline: true,
        kinds: true,
        by_columns: true,
        all_columns: true,
        column_writes: false,
        keys: true,
        all_keys: true,
        large: 0,
    };
    /// Limits for simulated hardware, where every cycle costs.
    pub const RTL: Self = Self {
        posts: 5,
        buffer: 9_000,
        rows: 120,
        payload: 20_000,
        partitioned: HARDWARE_TAKES_PARTITIONED,
        inline: HARDWARE_TAKES_INLINE,
        kinds: HARDWARE_TAKES_KINDS,
        by_columns: HARDWARE_SENDS_BY_COLUMNS,
        all_columns: HARDWARE_SENDS_ALL_COLUMNS,
        column_writes: true,
        keys: HARDWARE_TAKES_KEYS,
        all_keys: HARDWARE_TAKES_ALL_KEYS,
        large: 0,
    };
    /// Some small posts around a large one, for up to 64 destinations.
    pub const LARGE: Self = Self { posts: 3, large: 600_000, ..Self::RTL };
}

/// One post in this many is spoiled: its regions need not be inside their buffers.
const SPOILED: u64 = 12;
/// Number of times that a post is drawn again, at most, if it is not as wanted.
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
    let is_large = limits.large > 0;
    let many = match random.one_in(if is_large { 2 } else { 12 }) {
        true => random.range(5..=64),
        false => random.range(1..=4),
    };
    let qps: Vec<Value> = (0..many).map(|i| queue_pair(&mut random, i)).collect();
    let count = random.range(1..=limits.posts);
    let large = if is_large { random.range(0..=count - 1) } else { count };
    let mut posts: Vec<Value> = (0..count)
        .map(|i| match i == large {
            true => generator.post(&mut random, &qps, i, limits.large, Generator::draw_large),
            false => generator.post(&mut random, &qps, i, limits.payload, Generator::draw),
        })
        .collect();
    if limits.inline {
        inline::insert(seed, &qps, &generator, &mut posts);
    }
    if limits.kinds || limits.keys {
        kinds::insert(seed, &qps, &mut generator, &mut posts);
    }
    if limits.column_writes {
        columns::insert(seed, &mut posts);
    }
    unsignal(&mut random, &mut posts);
    json!({
        "buffers": generator.buffers,
        "local": {"mac": mac(&mut random), "ip": ip(&mut random)},
        "qps": qps,
        "posts": posts,
    })
}

/// Makes some posts unsignaled, but for the last one of each queue.
fn unsignal(random: &mut Random, posts: &mut [Value]) {
    let mut last = HashSet::new();
    for post in posts.iter_mut().rev() {
        let destinations = post["destinations"].as_array().into_iter().flatten();
        let mut queue: Vec<String> = destinations.map(|d| d["qp"].to_string()).collect();
        queue.sort_unstable();
        if last.insert((post["qp"].to_string(), queue)) {
            if random.one_in(6) {
                post["signaled"] = json!(true);
            }
        } else if random.one_in(2) {
            post["signaled"] = json!(false);
        }
    }
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
    // No queue pair has number 0.
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
    // `random` is not used, so that the rest of a seed's job does not change.
    let any = queue_pair["dest_qpn"].as_u64().unwrap_or(0) >> 6;
    if any.is_multiple_of(3) {
        queue_pair["dscp"] = json!(any / 3 % 64);
        queue_pair["ecn"] = json!(any % 4);
        queue_pair["ttl"] = json!(1 + any / 5 % 255);
    }
    if any % 5 < 2 {
        queue_pair["vlan"] = json!({"id": 1 + any / 7 % 4094});
        if any.is_multiple_of(2) {
            queue_pair["vlan"]["priority"] = json!(any / 2 % 8);
        }
    }
    queue_pair
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

    /// Draws a post until it succeeds and sends at most `payload` bytes, or fails and is meant to.
    fn post(
        &mut self,
        random: &mut Random,
        qps: &[Value],
        wr_id: u64,
        payload: u64,
        draw: fn(&mut Self, &mut Random, &[Value]) -> Value,
    ) -> Value {
        let by_name = json!({ "qps": qps });
        let queue_pairs = expect::queue_pairs(&by_name);
        let spoiled = random.one_in(SPOILED);
        let before = self.buffers.len();
        for _ in 0..ATTEMPTS {
            let mut post = draw(self, random, qps);
            post["wr_id"] = json!(if random.one_in(10) { random.any() } else { wr_id });
            if spoiled {
                spoil(random, &mut post);
            }
            let keep = match expect::messages(&post, &self.memory, &queue_pairs, &|_| false) {
                Ok(all) => all.iter().flatten().map(Vec::len).sum::<usize>() as u64 <= payload,
                Err(_) => spoiled,
            };
            if keep {
                return post;
            }
            self.buffers.truncate(before);
        }
        json!({"verb": "post_send", "qp": "q0", "wr_id": wr_id, "op": "send", "regions": []})
    }

    /// The head of a post for `count` of the queue pairs.
    fn head<'a>(
        &self,
        random: &mut Random,
        qps: &'a [Value],
        shared: bool,
        count: u64,
    ) -> Head<'a> {
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
        post["verb"] = json!(if shared { "post_ssq_send" } else { "post_send" });
        Head { post, order, datagram: longest }
    }

    /// A post of any kind, which may fail.
    fn draw(&mut self, random: &mut Random, qps: &[Value]) -> Value {
        let shared = random.one_in(2);
        let count = if shared { random.range(1..=qps.len() as u64) } else { 1 };
        let mut head = self.head(random, qps, shared, count);
        let element = head.post["row_mask"] == "element";
        let rows_per_message = head.post["rows_per_message"].as_u64().expect("every head has it");
        let message = head.datagram.unwrap_or(10_000);
        if shared && self.limits.partitioned && random.one_in(4) {
            self.partition(random, &mut head, message / rows_per_message);
            return head.post;
        }
        if random.one_in(4) {
            self.shuffle(random, &mut head, message / rows_per_message);
            return head.post;
        }
        let share = (self.limits.payload / count).max(64);
        let mut entries = Vec::new();
        for qp in &head.order {
            let regions = random.skewed(0..=16);
            let units = if element { rows_per_message * regions.max(1) } else { rows_per_message };
            let row = (message / units).clamp(1, share / 4);
            let rows = self.limits.rows.min(share / row).max(1);
            let elements = element.then(|| random.skewed(0..=rows));
            let columns = element && random.one_in(3);
            let wanted = Wanted { elements, row: random.skewed(1..=row), rows, columns };
            let regions = (0..regions).map(|_| self.region(random, wanted)).collect();
            entries.push(head.entry(random, qp, regions));
        }
        head.finish(entries);
        head.post
    }
}

/// A post without destinations, and the queue pairs that will be its destinations.
#[derive(Debug)]
struct Head<'a> {
    post: Value,
    order: Vec<&'a Value>,
    /// Bytes of a message, at most, if one of the queue pairs is on UD.
    datagram: Option<u64>,
}

impl Head<'_> {
    /// The JSON of a destination with regions.
    fn entry(&self, random: &mut Random, qp: &Value, regions: Vec<Value>) -> Value {
        let mut entry = json!({"qp": qp["name"], "regions": regions});
        if self.post["op"].as_str().is_some_and(|op| op.starts_with("write")) {
            entry["remote_addr"] = json!(random.any());
            entry["rkey"] = json!(random.any() as u32);
        }
        entry
    }

    /// The JSON of a destination with a partition.
    fn partition(&self, random: &mut Random, qp: &Value, id: u64) -> Value {
        let mut entry = self.entry(random, qp, Vec::new());
        let fields = entry.as_object_mut().expect("it was made as one");
        fields.remove("regions");
        fields.insert("partition".to_owned(), json!(id));
        entry
    }

    /// Gives the post its destinations; on a queue pair's own queue the only one's fields are the post's.
    fn finish(&mut self, mut entries: Vec<Value>) {
        if self.post["verb"] == "post_ssq_send" {
            self.post["destinations"] = json!(entries);
        } else if let (Value::Object(post), Value::Object(entry)) =
            (&mut self.post, &mut entries[0])
        {
            post.append(entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_seed_always_gives_the_same_job() {
        assert_eq!(generate(7, Limits::SOFT), generate(7, Limits::SOFT));
    }

    #[test]
    fn large_jobs_have_many_rows_and_destinations_and_succeed() {
        let (mut seen, mut successes, mut rows) = (HashSet::new(), 0, 0);
        for seed in 0..60 {
            let job = generate(seed, Limits::LARGE);
            let text = job.to_string();
            let parsed = drdma_cli::job::Job::parse(&text, Path::new("."));
            assert!(parsed.is_ok(), "seed {seed}: {}", parsed.unwrap_err());
            let large = |post: &&Value| post.to_string().contains("\"l");
            let post = job["posts"].as_array().unwrap().iter().find(large).expect("a large post");
            let destinations = post["destinations"].as_array().map_or(1, Vec::len);
            let kinds = ["bitmapped", "strided", "pointer_mapped", "partitioned", "fetch_rows"];
            let text = post.to_string();
            seen.extend(kinds.into_iter().filter(|kind| text.contains(kind)));
            seen.extend((destinations >= 30).then_some("tens of destinations"));
            seen.extend((destinations == 1).then_some("one destination"));
            let memory = Memory::of(&job);
            let by_name = expect::queue_pairs(&job);
            if let Ok(all) = expect::messages(post, &memory, &by_name, &|_| false) {
                let bytes: usize = all.iter().flatten().map(Vec::len).sum();
                successes += u32::from(bytes > 20_000);
            }
            rows = rows.max(post["partitioned"]["rows"].as_u64().unwrap_or(0));
        }
        assert_eq!(seen.len(), 7, "{seen:?}");
        assert!(rows > 20_000, "{rows} rows");
        assert!(successes > 60 / 2, "{successes} large posts send more than 20,000 bytes");
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
    fn hardware_makes_ids_from_keys_beside_kinds_and_for_messages_by_columns() {
        let (mut kinds, mut columns) = (0, 0);
        for seed in 0..300 {
            let job = generate(seed, Limits::RTL);
            for post in expect::list(&job["posts"]) {
                let region = &post["partitioned"];
                if region.get("partition_by").is_some() {
                    let has_kind = |column: &Value| column.get("type").is_some();
                    kinds += u32::from(expect::list(&region["columns"]).iter().any(has_kind));
                    columns += u32::from(post["message_layout"] == "columns");
                }
            }
        }
        assert!(kinds > 10, "{kinds} posts with kinds of columns");
        assert!(columns > 10, "{columns} posts by columns");
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
                "signaled\":true",
                "signaled\":false",
                "inline\":true",
            ] {
                if text.contains(word) {
                    seen.insert(word.to_owned());
                }
            }
            let empty = |post: &Value| post["inline"] == true && post["regions"] == json!([]);
            if expect::list(&job["posts"]).iter().any(empty) {
                seen.insert("message of no bytes".to_owned());
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
        assert_eq!(count, 22 + 5 + statuses.len(), "{seen:?}");
        assert!(successes * 10 > posts * 7, "{successes} of {posts} posts succeed");
    }
}
