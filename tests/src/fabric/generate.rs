//! Random fabric jobs, of which no two things race: their results follow from the job alone.
//!
//! Each node sends what a [random job](crate::random_job) for one card sends, from buffers that nothing
//! writes to, over queue pairs of its own, to which nothing else is sent. What arrives has bytes of its
//! own at the receiver, in its buffer `in`.

use std::collections::{BTreeMap, HashSet};

use libdrdma::Features;
use serde_json::{Value, json};

use super::kept::Kept;
use crate::{
    expect::{self, Memory, list, text},
    random::Random,
    random_job::{self, Limits},
};

/// Bytes in front of a datagram in its receive.
const GLOBAL_ROUTE: u64 = 40;
/// What is said of receives that are posted behind their messages.
const LATER: &str = "later";

/// What jobs may have.
#[derive(Clone, Copy, Debug)]
pub struct Abilities {
    /// Frames may be lost, doubled, reordered and damaged. Only RC copes with that.
    pub faults: bool,
    /// There are queue pairs on UD.
    pub datagrams: bool,
    /// There are READs, atomic operations, fences and shared receive queues.
    pub answers: bool,
    /// Some messages are refused by their receiver.
    pub refusals: bool,
    /// At least one node has an `rtl:` card, which does this and no more.
    pub hardware: Option<Features>,
}

impl Abilities {
    /// True if a node's card does something, `rtl` or not.
    fn does(&self, rtl: bool, what: Features) -> bool {
        self.hardware.filter(|_| rtl).is_none_or(|features| features.contains(what))
    }

    /// True if every card there may be sends columns of all kinds, and by columns.
    fn knows_kinds(&self) -> bool {
        self.does(true, KINDS)
    }

    /// True if every card there may be sends again what was lost, or came too early.
    fn retransmits(&self) -> bool {
        self.does(true, Features::RETRANSMITS)
    }
}

/// What a card does that sends what random jobs with kinds of columns have.
const KINDS: Features = Features::VARLEN
    .union(Features::BITS)
    .union(Features::COLUMNS)
    .union(Features::CHASE)
    .union(Features::PARTITIONS);

/// What a node sends.
const LIMITS: Limits = Limits {
    posts: 5,
    buffer: 5_000,
    rows: 60,
    payload: 12_000,
    partitioned: true,
    kinds: false,
    inline: true,
    large: 0,
};

/// A node while the job is made.
struct Node {
    name: String,
    /// Its card is `rtl:`.
    rtl: bool,
    sends: Value,
    qps: Vec<Value>,
    /// Each for one queue pair, of the same name: whose message takes which receive would be open else.
    srqs: Vec<Value>,
    /// Bytes of `in` that are given away.
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
            let limits = Limits { kinds: abilities.knows_kinds(), ..LIMITS };
            let sends = random_job::generate(random.any(), limits);
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

    /// So many bytes of `in` that nothing else has.
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

/// Gives every queue pair of every node a peer on another node. Tells the node that each one sends to.
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
                // A request for several has no addresses of datagrams.
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
                    // Longer than the queues of the slowest network; the RTL takes a second for a few milliseconds, and
                    // so has shorter ones, of which all tries together are long enough.
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

/// What a node posts, and its peers for it.
fn of_node(
    random: &mut Random,
    nodes: &mut [Node],
    from: usize,
    peers: &BTreeMap<(usize, String), usize>,
    abilities: Abilities,
) -> Vec<Value> {
    let sends = nodes[from].sends.clone();
    let (memory, qps) = (Memory::of(&sends), expect::queue_pairs(&sends));
    let (node, mut steps) = (nodes[from].name.clone(), Vec::new());
    // Receives of one queue pair hold its longest message, so that it does not matter which of its
    // posts come to be sent.
    let mut longest: BTreeMap<String, u64> = BTreeMap::new();
    // What is sent to it, to be appended.
    let mut sent: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let posts: Vec<_> = list(&sends["posts"])
        .iter()
        .map(|post| {
            let all = expect::messages(post, &memory, &qps, &|_| false).unwrap_or_default();
            for (destination, messages) in destinations(post).iter().zip(&all) {
                let len = messages.iter().map(Vec::len).max().unwrap_or(0) as u64;
                if text(&post["op"]).starts_with("send") {
                    let sent = sent.entry(text(&destination["qp"]).to_owned()).or_default();
                    sent.extend(messages.iter().map(Vec::len));
                }
                let most = longest.entry(text(&destination["qp"]).to_owned()).or_default();
                *most = len.max(*most);
            }
            (post.clone(), all)
        })
        .collect();
    let mut appends = BTreeMap::new();
    for (name, lengths) in sent {
        let to = &mut nodes[peers[&(from, name.clone())]];
        let transport = text(&qps[name.as_str()]["transport"]);
        if abilities.does(to.rtl, Features::APPENDS) && transport != "ud" && random.one_in(4) {
            let refuse = abilities.refusals && !is_shared(&sends, &json!(name));
            let (alone, refuse) = (transport != "rc", refuse && transport == "rc");
            let used = &mut to.used;
            if let Some(region) = to.kept.append(random, &lengths, (alone, refuse), used) {
                appends.insert(name, region);
            }
        }
    }
    for (mut post, all) in posts {
        let op = text(&post["op"]).to_owned();
        let shared = post.get("destinations").is_some();
        let mut receives = Vec::new();
        for (i, name) in destinations(&post)
            .iter()
            .map(|d| text(&d["qp"]).to_owned())
            .enumerate()
            .collect::<Vec<_>>()
        {
            let messages = all.get(i).map_or(&[][..], |messages| &messages[..]);
            let to = peers[&(from, name.clone())];
            let theirs = format!("{node}-{name}");
            let transport = text(&qps[name.as_str()]["transport"]);
            // Who else gets what of a request for several is open once one of them is refused.
            let alone = !is_shared(&sends, &json!(name));
            let refused =
                abilities.refusals && alone && ["send", "send_imm", "write"].contains(&&*op);
            let srq = nodes[to].srqs.iter().any(|srq| srq["name"] == *theirs);
            let append = appends.get(&name);
            let refuse =
                refused && !srq && append.is_none() && transport == "rc" && random.one_in(6);
            let fields = match shared {
                true => &mut post["destinations"][i],
                false => &mut post,
            };
            let object = fields.as_object_mut().expect("an object");
            object.remove("rkey");
            object.remove("remote_addr");
            if transport == "ud" {
                fields["destination"] = json!(format!("{}/{theirs}", nodes[to].name));
            }
            if op.starts_with("write") {
                let described = abilities.does(nodes[to].rtl, Features::DESCRIBED_KEYS);
                write_to(random, &mut nodes[to], fields, messages, (described, refuse));
            }
            if op == "write" {
                continue;
            }
            // A WRITE by columns has immediate data with the last one of each group alone.
            let streams = fields.get("remote_columns").map_or(1, |columns| list(columns).len());
            let told = messages.iter().skip(streams - 1).step_by(streams);
            let short = random.range(0..=told.len() as u64) as usize;
            for (m, message) in told.enumerate() {
                let mut room = longest[&name] + random.skewed(0..=64);
                if refuse && m == short {
                    room = random.range(0..=message.len() as u64 - 1);
                }
                if transport == "ud" {
                    room += GLOBAL_ROUTE;
                }
                let wr_id = random.any() >> 12;
                let (verb, queue) =
                    if srq { ("post_srq_recv", "srq") } else { ("post_recv", "qp") };
                let mut receive =
                    json!({"node": nodes[to].name, "verb": verb, queue: theirs, "wr_id": wr_id});
                match append {
                    Some(append) => receive["append"] = json!(append),
                    None => {
                        let strided = abilities.does(nodes[to].rtl, Features::STRIDED_RECEIVES);
                        receive["regions"] = match strided && room > 0 && random.one_in(3) {
                            true => json!(columns(random, &mut nodes[to], room)),
                            false => {
                                let start = nodes[to].take(room);
                                json!(pieces(random, start, room))
                            }
                        };
                    }
                }
                receives.push(receive);
            }
        }
        post["node"] = json!(node);
        // RC waits for receives that come later; other messages would be lost.
        let reliable = destinations(&post)
            .iter()
            .all(|destination| text(&qps[text(&destination["qp"])]["transport"]) == "rc");
        let later = reliable && random.one_in(3);
        match later {
            true => receives.iter_mut().for_each(|receive| receive["$comment"] = json!(LATER)),
            false => steps.append(&mut receives),
        }
        steps.push(post);
        steps.append(&mut receives);
        if abilities.answers {
            steps.extend(answered(random, nodes, from, peers, abilities));
        }
    }
    steps
}

/// Gives a WRITE of these messages bytes of the peer's that nothing else writes to: perhaps those of keys to regions with
/// gaps, or, of one that is to be refused, none.
fn write_to(
    random: &mut Random,
    to: &mut Node,
    fields: &mut Value,
    messages: &[Vec<u8>],
    (described, refuse): (bool, bool),
) {
    let mut place = |random: &mut Random, total: u64, refuse: bool| {
        if described && total > 0 && !refuse && random.one_in(3) {
            let (key, offset) = to.kept.key_to_write(random, total, &mut to.used);
            return json!({"remote": format!("{}/{key}", to.name), "remote_offset": offset});
        }
        let offset = to.take(total);
        match refuse {
            true => json!({"raw": {"remote_addr": offset, "rkey": u32::MAX}}),
            false => json!({"remote": format!("{}/in", to.name), "remote_offset": offset}),
        }
    };
    let total =
        |messages: &mut dyn Iterator<Item = &Vec<u8>>| messages.map(Vec::len).sum::<usize>();
    let Some(columns) = fields.get("remote_columns").map(|columns| list(columns).len()) else {
        let place = place(random, total(&mut messages.iter()) as u64, refuse);
        let object = fields.as_object_mut().expect("an object");
        object.extend(place.as_object().expect("an object").clone());
        return;
    };
    let refused = random.range(0..=columns as u64 - 1) as usize;
    let column = |c: usize| {
        let total = total(&mut messages.iter().skip(c).step_by(columns));
        place(random, total as u64, refuse && c == refused)
    };
    fields["remote_columns"] = (0..columns).map(column).collect();
}

/// A READ or an atomic operation, perhaps.
fn answered(
    random: &mut Random,
    nodes: &mut [Node],
    from: usize,
    peers: &BTreeMap<(usize, String), usize>,
    abilities: Abilities,
) -> Option<Value> {
    let does = |node: usize, features| abilities.does(nodes[node].rtl, features);
    let answers = |to: usize, read: bool| match read {
        true => does(to, Features::READ_ANSWERS),
        false => does(to, Features::ATOMIC_ANSWERS),
    };
    let reliable = |qp: &&Value| {
        let peer = peers.get(&(from, text(&qp["name"]).to_owned()));
        let answered = |to: &usize| answers(*to, true) || answers(*to, false);
        qp["transport"] == "rc" && does(from, Features::READS) && peer.is_some_and(answered)
    };
    let candidates: Vec<Value> = nodes[from].qps.iter().filter(reliable).cloned().collect();
    if candidates.is_empty() || random.one_in(2) {
        return None;
    }
    let qp = random.pick(&candidates);
    let to = peers[&(from, text(&qp["name"]).to_owned())];
    let wr_id = random.any() >> 12;
    let mut post =
        json!({"node": nodes[from].name, "verb": "post_send", "qp": qp["name"], "wr_id": wr_id});
    let read = match (answers(to, true), answers(to, false)) {
        (true, true) => random.one_in(2),
        (read, _) => read,
    };
    if read {
        // Of bytes that nothing writes to.
        let described = abilities.does(nodes[to].rtl, Features::DESCRIBED_KEYS);
        let key = match described && random.one_in(2) {
            true => {
                let Node { sends, kept, .. } = &mut nodes[to];
                kept.key_to_read(random, sends)
            }
            false => None,
        };
        if let Some((key, size)) = key {
            let len = random.skewed(1..=size);
            post["op"] = json!("read");
            post["remote"] = json!(format!("{}/{key}", nodes[to].name));
            post["remote_offset"] = json!(random.range(0..=size - len));
            let start = nodes[from].take(len);
            post["regions"] = json!(pieces(random, start, len));
            return Some(post);
        }
        // What an address is, nobody knows. Some buffers are of no rows.
        let known = |buffer: &&Value| buffer.get("pointers").is_none() && buffer["hex"] != "";
        let tables: Vec<_> = list(&nodes[to].sends["buffers"]).iter().filter(known).collect();
        let table = (*random.pick(&tables)).clone();
        let size =
            Memory::of(&json!({"buffers": [table]})).bytes(text(&table["name"])).len() as u64;
        let len = random.skewed(1..=size);
        post["op"] = json!("read");
        post["remote"] = json!(format!("{}/{}", nodes[to].name, text(&table["name"])));
        post["remote_offset"] = json!(random.range(0..=size - len));
        let start = nodes[from].take(len);
        post["regions"] = json!(pieces(random, start, len));
        for buffer in nodes[to].sends["buffers"].as_array_mut().expect("a list") {
            if buffer["name"] == table["name"] {
                buffer["access"] = json!(["remote_read"]);
            }
        }
    } else {
        // A word of its own, or that of this node's before, which it then finds changed: those of one
        // queue pair come in order.
        let word = nodes[to].words;
        nodes[to].words += 1;
        post["op"] = json!(random.pick(&["fetch_and_add", "compare_and_swap"]));
        match text(&post["op"]) {
            "fetch_and_add" => post["add"] = json!(random.any()),
            _ => {
                post["compare"] = json!(random.range(0..=1));
                post["swap"] = json!(random.any());
            }
        }
        post["remote"] = json!(format!("{}/words", nodes[to].name));
        post["remote_offset"] = json!(8 * word);
        let start = nodes[from].take(8);
        post["regions"] =
            json!([{"type": "contiguous", "buffer": "in", "offset": start, "len": 8}]);
    }
    if abilities.does(nodes[from].rtl, Features::READS) && random.one_in(4) {
        post["fence"] = json!(true);
    }
    Some(post)
}

/// True if a node posts something for several queue pairs, and this one is among them.
fn is_shared(sends: &Value, qp: &Value) -> bool {
    list(&sends["posts"]).iter().any(|post| {
        post.get("destinations").is_some()
            && destinations(post).iter().any(|destination| destination["qp"] == *qp)
    })
}

/// So many bytes of `in` as some regions, in any order.
fn pieces(random: &mut Random, start: u64, len: u64) -> Vec<Value> {
    let mut cuts: Vec<u64> = (0..random.skewed(0..=4)).map(|_| random.range(0..=len)).collect();
    cuts.extend([0, len]);
    cuts.sort_unstable();
    cuts.dedup();
    let mut pieces: Vec<Value> = cuts
        .windows(2)
        .map(|cut| {
            let (offset, len) = (start + cut[0], cut[1] - cut[0]);
            json!({"type": "contiguous", "buffer": "in", "offset": offset, "len": len})
        })
        .collect();
    for i in 1..pieces.len() {
        pieces.swap(i, random.range(0..=i as u64) as usize);
    }
    pieces
}

/// Rows of a strided region, as many as there is room for, and other regions for what is left of so many bytes; at most 22
/// places.
fn columns(random: &mut Random, node: &mut Node, len: u64) -> Vec<Value> {
    let (mut pattern, mut row, mut period) = (Vec::new(), 0, random.skewed(0..=9));
    for _ in 0..random.range(1..=16) {
        let extent = random.skewed(1..=40).min(len - row);
        if extent > 0 {
            pattern.push(json!({"offset": period, "len": extent}));
        }
        row += extent;
        period += extent + random.skewed(0..=9);
    }
    // No two places are one, and what fills them comes in any order.
    for i in 1..pattern.len() {
        pattern.swap(i, random.range(0..=i as u64) as usize);
    }
    let count = random.range(0..=len / row);
    let offset = node.take(count * period);
    let left = len - count * row;
    let start = node.take(left);
    let mut regions = pieces(random, start, left);
    let at = random.range(0..=regions.len() as u64) as usize;
    let strided = json!({"type": "strided", "buffer": "in", "offset": offset, "period": period,
                         "count": count, "pattern": pattern});
    regions.insert(at, strided);
    regions
}

/// The steps of all nodes in one order that keeps that of each list.
fn interleave(random: &mut Random, lists: Vec<Vec<Value>>) -> Vec<Value> {
    let mut lists: Vec<_> = lists.into_iter().map(|list| list.into_iter().peekable()).collect();
    let mut steps = Vec::new();
    loop {
        lists.retain_mut(|list| list.peek().is_some());
        if lists.is_empty() {
            return steps;
        }
        let from = random.range(0..=lists.len() as u64 - 1) as usize;
        steps.extend(lists[from].next());
    }
}

/// Puts some waits between the steps. Receives that come behind their messages all come before the first
/// one, which would wait for them.
fn wait(random: &mut Random, steps: &mut Vec<Value>) {
    let count = random.skewed(0..=3);
    if count == 0 {
        return;
    }
    let first = random.range(0..=steps.len() as u64) as usize;
    let behind = steps.split_off(first);
    let (receives, mut behind): (Vec<_>, Vec<_>) =
        behind.into_iter().partition(|step| step["$comment"] == LATER);
    for _ in 1..count {
        let at = random.range(0..=behind.len() as u64) as usize;
        behind.insert(at, json!({"wait": "all"}));
    }
    steps.extend(receives);
    steps.push(json!({"wait": "all"}));
    steps.append(&mut behind);
}

/// The same with all receives in front, and a wait behind them: no message comes before its receive.
fn receives_first(steps: Vec<Value>) -> Vec<Value> {
    let is_receive =
        |step: &Value| step.get("verb").is_some_and(|verb| text(verb).ends_with("recv"));
    let (mut all, others): (Vec<_>, Vec<_>) = steps.into_iter().partition(is_receive);
    all.push(json!({"wait": "all"}));
    all.extend(others);
    all
}

/// Where nobody would know that a queue's last post before a wait is complete, it is signaled.
fn signal(steps: &mut [Value]) {
    let mut last = HashSet::new();
    for step in steps.iter_mut().rev() {
        if step.get("wait").is_some() {
            last.clear();
        } else if !text(&step["verb"]).ends_with("recv") {
            let mut queue: Vec<String> =
                destinations(step).iter().map(|d| d["qp"].to_string()).collect();
            queue.sort_unstable();
            let shared = step.get("destinations").is_some();
            if last.insert((step["node"].to_string(), shared, queue)) {
                step.as_object_mut().expect("an object").remove("signaled");
            }
        }
    }
}

/// The destinations of a post; `post_send` has its only one's fields in itself.
fn destinations(post: &Value) -> Vec<&Value> {
    match post.get("destinations") {
        Some(all) => list(all).iter().collect(),
        None => vec![post],
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use drdma_cli::{
        device::Kind,
        fabric::{FabricJob, supported},
    };

    use super::*;
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
        let strided = answers | Features::STRIDED_RECEIVES;
        for features in
            [Features::RECEIVES, answers, answers | Features::READS, strided, Features::all()]
        {
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

    /// True for a receive with a strided region.
    fn receives_rows(step: &Value) -> bool {
        let strided = |regions: &Vec<Value>| regions.iter().any(|r| r["type"] == "strided");
        let receive = step["verb"].as_str().is_some_and(|verb| verb.ends_with("recv"));
        receive && step["regions"].as_array().is_some_and(strided)
    }

    #[test]
    fn random_jobs_have_a_meaning_and_cover_what_a_job_can_say() {
        let (mut seen, mut completions, mut good) = (HashSet::new(), 0, 0);
        for seed in 0..400 {
            let job = generate(seed, Abilities { faults: seed % 2 == 1, ..ALL });
            let text = job.to_string();
            if list(&job["steps"]).iter().any(receives_rows) {
                seen.insert("strided receive".to_owned());
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
            "chase",
            "compare_and_swap",
            "fence",
            "fetch_and_add",
            "inline",
            "later",
            "local_length_error",
            "local_protection_error",
            "local_qp_operation_error",
            "loss",
            "partition_by",
            "partitioned",
            "post_srq_recv",
            "raw",
            "read",
            "recv",
            "recv_write_imm",
            "remote_access_error",
            "remote_columns",
            "remote_invalid_request_error",
            "send",
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
