//! Random fabric jobs without races: their results follow from the job alone.
//!
//! Each node sends what a [random job](crate::random_job) for one card sends, from buffers that nothing
//! writes to, over queue pairs of its own, to which nothing else is sent. What arrives has bytes of its
//! own at the receiver, in its buffer `in`.

use std::collections::BTreeMap;

use libdrdma::Features;
use serde_json::{Value, json};

use super::kept::Kept;
use crate::{
    expect::{list, text},
    random::Random,
    random_job::{self, Limits},
};

mod order;
mod posts;

use order::{interleave, receives_first, signal, wait};
use posts::{is_shared, of_node};

/// Contents that jobs may have.
#[derive(Clone, Copy, Debug)]
pub struct Abilities {
    /// True if frames may be lost, doubled, reordered and damaged. Only RC copes with that.
    pub faults: bool,
    /// True if there are queue pairs on UD.
    pub datagrams: bool,
    /// True if there are READs, atomic operations, fences and shared receive queues.
    pub answers: bool,
    /// True if some messages are refused by their receiver.
    pub refusals: bool,
    /// Features of `rtl:` cards, if at least one node has one.
    pub hardware: Option<Features>,
}

impl Abilities {
    /// True if the card of a node has features; `rtl` says whether it is an `rtl:` card.
    fn does(&self, rtl: bool, what: Features) -> bool {
        self.hardware.filter(|_| rtl).is_none_or(|features| features.contains(what))
    }

    /// Limits of what nodes send, which every card of the job can do.
    fn limits(&self) -> Limits {
        Limits {
            kinds: self.does(true, KINDS),
            by_columns: self.does(true, Features::COLUMN_MESSAGES),
            all_columns: self.does(true, Features::COLUMNS),
            keys: self.does(true, Features::FIXED_KEYS),
            all_keys: self.does(true, Features::PARTITIONS),
            ..LIMITS
        }
    }

    /// True if every card of the job sends again packets that were lost, or came too early.
    fn retransmits(&self) -> bool {
        self.does(true, Features::RETRANSMITS)
    }
}

/// Features of a card that sends columns of all kinds.
const KINDS: Features = Features::VARLEN.union(Features::BITS).union(Features::CHASE);

/// Limits of what a node sends.
const LIMITS: Limits = Limits {
    posts: 5,
    buffer: 5_000,
    rows: 60,
    payload: 12_000,
    partitioned: true,
    kinds: false,
    by_columns: false,
    all_columns: false,
    column_writes: false,
    keys: false,
    all_keys: false,
    inline: true,
    large: 0,
};

/// A node of a job that is being made.
struct Node {
    name: String,
    /// True if its card is `rtl:`.
    rtl: bool,
    sends: Value,
    qps: Vec<Value>,
    /// Shared receive queues, each for one queue pair of the same name: else it would not be determined whose message
    /// takes which receive.
    srqs: Vec<Value>,
    /// Bytes of `in` that are in use.
    used: u64,
    words: u64,
    kept: Kept,
}

/// The job of that seed.
pub fn generate(seed: u64, abilities: Abilities) -> Value {
    let mut random = Random::new(seed ^ 0x6661_6272_6963);
    let count = random.range(2..=4);
    let mut nodes: Vec<Node> = (0..count)
        .map(|i| {
            let sends = random_job::generate(random.any(), abilities.limits());
            Node {
                name: format!("n{i}"),
                rtl: false,
                sends,
                qps: Vec::new(),
                srqs: Vec::new(),
                used: 0,
                words: 0,
                kept: Kept::default(),
            }
        })
        .collect();
    if abilities.hardware.is_some() {
        let one = random.range(0..=count - 1);
        for (i, node) in (0..).zip(&mut nodes) {
            node.rtl = i == one || random.one_in(2);
        }
    }
    let peers = connect(&mut random, &mut nodes, abilities);
    let mut steps = Vec::new();
    for from in 0..nodes.len() {
        steps.push(of_node(&mut random, &mut nodes, from, &peers, abilities));
    }
    let mut steps = interleave(&mut random, steps);
    wait(&mut random, &mut steps);
    if !abilities.retransmits() {
        steps = receives_first(steps);
    }
    signal(&mut steps);
    let nodes: Vec<Value> = nodes.iter().enumerate().map(|(i, node)| node.value(i)).collect();
    json!({"network": network(&mut random, abilities), "nodes": nodes, "steps": steps})
}

impl Node {
    fn value(&self, index: usize) -> Value {
        let mut buffers = list(&self.sends["buffers"]).to_vec();
        let access = ["remote_read", "remote_write"];
        buffers.push(json!({"name": "in", "size": self.used, "access": access}));
        buffers.extend(self.kept.buffer());
        buffers.push(json!({"name": "words", "size": 8 * self.words, "access": ["remote_atomic"]}));
        let device = if self.rtl { "rtl:" } else { "soft:" };
        json!({"name": self.name, "device": device,
               "local": {"mac": format!("02:00:00:00:00:{:02x}", index + 1),
                         "ip": format!("10.0.0.{}", index + 1)},
               "buffers": buffers, "keys": self.kept.keys, "appends": self.kept.appends(),
               "srqs": self.srqs, "qps": self.qps})
    }

    /// Takes `len` bytes of `in` that nothing else uses.
    fn take(&mut self, len: u64) -> u64 {
        let start = self.used;
        self.used += len;
        start
    }
}

fn network(random: &mut Random, abilities: Abilities) -> Value {
    let mut network = json!({"gbps": random.pick(&[10, 40, 100, 400]), "seed": random.any(),
                             "delay_ns": random.skewed(0..=5000), "queue_kib": 1 << 16});
    if abilities.faults {
        for (fault, most) in [("loss", 40), ("duplicate", 200), ("reorder", 300), ("corrupt", 20)] {
            if random.one_in(2) {
                network[fault] = json!(random.range(1..=most) as f64 / 1000.0);
            }
        }
        if random.one_in(4) {
            network["queue_kib"] = json!(random.range(16..=64));
        }
        if random.one_in(4) {
            network["ecn_kib"] = json!(random.range(1..=16));
        }
    }
    network
}

/// Gives every queue pair of every node a peer on another node. Returns the node that each node sends to.
fn connect(
    random: &mut Random,
    nodes: &mut [Node],
    abilities: Abilities,
) -> BTreeMap<(usize, String), usize> {
    let mut peers = BTreeMap::new();
    for from in 0..nodes.len() {
        let qps = list(&nodes[from].sends["qps"]).to_vec();
        for (i, qp) in qps.iter().enumerate() {
            let other = random.range(1..=nodes.len() as u64 - 1) as usize;
            let to = (from + other) % nodes.len();
            let shared = is_shared(&nodes[from].sends, &qp["name"]);
            let addresses = abilities.does(nodes[from].rtl, Features::REQUESTS);
            let datagrams = abilities.datagrams && !abilities.faults && addresses;
            let transport = match text(&qp["transport"]) {
                // A request for several destinations has no addresses of datagrams.
                "ud" if datagrams && !shared => "ud",
                "uc" if !abilities.faults => "uc",
                _ => "rc",
            };
            nodes[from].sends["qps"][i]["transport"] = json!(transport);
            let name = text(&qp["name"]).to_owned();
            let theirs = format!("{}-{name}", nodes[from].name);
            peers.insert((from, name.clone()), to);
            let end = |random: &mut Random, name: &str, peer: String| {
                let mut end = json!({"name": name, "transport": transport, "mtu": qp["mtu"],
                                     "start_psn": random.range(0..=(1 << 24) - 1)});
                match transport {
                    "ud" => end["qkey"] = qp["qkey"].clone(),
                    _ => end["peer"] = json!(peer),
                }
                if transport == "rc" {
                    // The time-out is longer than the queues of the slowest network. The RTL, which takes a second for
                    // a few milliseconds, has shorter ones; all tries together are long enough.
                    let shorter = if abilities.hardware.is_some() { 3 } else { 0 };
                    end["timeout"] = json!(random.range(7..=10) - shorter);
                }
                end
            };
            let mut ours = end(random, &name, format!("{}/{theirs}", nodes[to].name));
            ours["start_psn"] = qp["start_psn"].clone();
            for field in ["ecn", "dscp"] {
                if let Some(value) = qp.get(field) {
                    ours[field] = value.clone();
                }
            }
            let mut theirs = end(random, &theirs, format!("{}/{name}", nodes[from].name));
            if abilities.answers && random.one_in(4) {
                theirs["srq"] = theirs["name"].clone();
                let srq = json!({"name": theirs["name"]});
                nodes[to].srqs.push(srq);
            }
            nodes[from].qps.push(ours);
            nodes[to].qps.push(theirs);
        }
    }
    peers
}

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, path::Path};

    use drdma_cli::{
        device::Kind,
        fabric::{FabricJob, supported},
    };

    use super::{order::LATER, *};
    use crate::fabric::expect::run;

    const ALL: Abilities =
        Abilities { faults: false, datagrams: true, answers: true, refusals: true, hardware: None };

    #[test]
    fn a_seed_always_gives_the_same_job() {
        assert_eq!(generate(7, ALL), generate(7, ALL));
    }

    #[test]
    fn jobs_for_hardware_ask_for_nothing_that_it_does_not_do() {
        let answers = Features::RECEIVES | Features::READ_ANSWERS;
        let strided = answers | Features::STRIDED_RECEIVES | Features::DESCRIBED_READS;
        let mapped = strided | Features::MAPPED_RECEIVES | Features::DESCRIBED_KEYS;
        for features in [
            Features::RECEIVES,
            answers,
            answers | Features::READS,
            strided,
            mapped,
            Features::all(),
        ] {
            let mut rtl = 0;
            for seed in 0..200 {
                let job = generate(seed, Abilities { hardware: Some(features), ..ALL });
                run(&job).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
                let parsed = FabricJob::parse(&job.to_string(), Path::new(".")).unwrap();
                let of = |kind| match kind {
                    Kind::Rtl => features,
                    _ => Features::all(),
                };
                supported::check(&parsed, of)
                    .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
                rtl += parsed.nodes.iter().filter(|node| node.device == "rtl:").count();
            }
            assert!(rtl > 200);
        }
    }

    #[test]
    fn hardware_is_given_requests_with_what_only_a_queue_pairs_own_queue_takes() {
        let mut seen = [0; 3];
        for seed in 0..60 {
            let hardware = Some(Kind::Rtl.features());
            let job = generate(seed, Abilities { hardware, ..ALL });
            let nodes = list(&job["nodes"]).iter();
            let rtl: HashSet<_> =
                nodes.filter(|node| node["device"] == "rtl:").map(|node| &node["name"]).collect();
            for step in list(&job["steps"]).iter().filter(|step| rtl.contains(&step["node"])) {
                let own = step["verb"] == "post_send";
                seen[0] += u32::from(own && step.get("destination").is_some());
                seen[1] += u32::from(step["solicited"] == true);
                seen[2] += u32::from(step["op"] == "send_invalidate");
            }
        }
        assert!(seen.iter().all(|count| *count > 10), "{seen:?}");
    }

    #[test]
    fn hardware_has_keys_to_strided_regions_that_are_read() {
        let mut keys = 0;
        for seed in 0..200 {
            let hardware = Some(Kind::Rtl.features());
            let job = generate(seed, Abilities { hardware, ..ALL });
            let rtl = list(&job["nodes"]).iter().filter(|node| node["device"] == "rtl:");
            let of_nodes = rtl.filter_map(|node| node.get("keys")).flat_map(list);
            keys += of_nodes.filter(|key| is_strided(&key["region"])).count();
        }
        assert!(keys > 10, "{keys}");
    }

    /// True for a receive with a region that `is` accepts.
    fn receives(step: &Value, is: impl Fn(&Value) -> bool) -> bool {
        let receive = step["verb"].as_str().is_some_and(|verb| verb.ends_with("recv"));
        receive && step["regions"].as_array().is_some_and(|regions| regions.iter().any(is))
    }

    fn is_strided(region: &Value) -> bool {
        region["type"] == "strided"
    }

    /// Rows of several columns, in each of which a value follows that of the row before.
    fn is_dense(region: &Value) -> bool {
        let long = |extent: &Value| extent["len"] == region["period"];
        let dense = |pattern: &[Value]| pattern.len() > 1 && pattern.iter().all(long);
        is_strided(region) && region["count"] != 0 && dense(list(&region["pattern"]))
    }

    #[test]
    fn random_jobs_have_a_meaning_and_cover_what_a_job_can_say() {
        let (mut seen, mut completions, mut good) = (HashSet::new(), 0, 0);
        for seed in 0..400 {
            let job = generate(seed, Abilities { faults: seed % 2 == 1, ..ALL });
            let text = job.to_string();
            for step in list(&job["steps"]) {
                if receives(step, is_strided) {
                    seen.insert("strided receive".to_owned());
                }
                if step["inline"] == true && step["regions"] == json!([]) {
                    seen.insert("message of no bytes".to_owned());
                }
                if step["op"] == "read" && step["regions"] == json!([]) {
                    seen.insert("READ of no bytes".to_owned());
                }
                if receives(step, |region| region["type"] == "bitmapped") {
                    seen.insert("bitmapped receive".to_owned());
                }
                if receives(step, |region| region["type"] == "pointer_mapped") {
                    seen.insert("pointer-mapped receive".to_owned());
                }
                if receives(step, is_dense) {
                    seen.insert("dense columns".to_owned());
                }
            }
            let parsed = FabricJob::parse(&text, Path::new("."));
            assert!(parsed.is_ok(), "seed {seed}: {}", parsed.unwrap_err());
            let expected = run(&job).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            for completion in expected.completions.values().flatten() {
                completions += 1;
                good += u32::from(completion["status"] == "success");
                for field in ["status", "opcode"] {
                    seen.insert(completion[field].as_str().unwrap().to_owned());
                }
            }
            for word in [
                "wait",
                "loss",
                "\"uc\"",
                "\"ud\"",
                "raw",
                "partitioned",
                LATER,
                "fence",
                "inline",
                "solicited",
                "post_srq_recv",
                "\"append\"",
                "\"keys\":[{",
                "\"type\":\"bits\"",
                "\"type\":\"dictionary\"",
                "\"type\":\"varlen\"",
                "\"type\":\"views\"",
                "chase",
                "partition_by",
                "remote_columns",
                "\"message_layout\":\"columns\"",
            ] {
                if text.contains(word) {
                    seen.insert(word.to_owned());
                }
            }
        }
        let mut seen: Vec<_> = seen.into_iter().collect();
        seen.sort();
        let all = [
            "\"append\"",
            "\"keys\":[{",
            "\"message_layout\":\"columns\"",
            "\"type\":\"bits\"",
            "\"type\":\"dictionary\"",
            "\"type\":\"varlen\"",
            "\"type\":\"views\"",
            "\"uc\"",
            "\"ud\"",
            "READ of no bytes",
            "bitmapped receive",
            "chase",
            "compare_and_swap",
            "dense columns",
            "fence",
            "fetch_and_add",
            "inline",
            "later",
            "local_length_error",
            "local_protection_error",
            "local_qp_operation_error",
            "loss",
            "message of no bytes",
            "partition_by",
            "partitioned",
            "pointer-mapped receive",
            "post_srq_recv",
            "raw",
            "read",
            "recv",
            "recv_write_imm",
            "remote_access_error",
            "remote_columns",
            "remote_invalid_request_error",
            "send",
            "send_invalidate",
            "solicited",
            "strided receive",
            "success",
            "wait",
            "wr_flush_error",
            "write",
        ];
        assert_eq!(seen, all);
        assert!(good * 10 > completions * 8, "{good} of {completions} succeed");
    }
}
