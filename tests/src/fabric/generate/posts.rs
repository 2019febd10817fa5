//! Posts of the nodes of a random fabric job, and the receives for them.

use std::collections::BTreeMap;

use libdrdma::Features;
use serde_json::{Value, json};

use super::{
    Abilities, Node,
    order::{LATER, destinations},
};
use crate::{
    expect::{self, Memory, list, text},
    random::Random,
};

/// Bytes in front of a datagram in its receive.
const GLOBAL_ROUTE: u64 = 40;

/// Posts of a node, and receives of its peers.
pub fn of_node(
    random: &mut Random,
    nodes: &mut [Node],
    from: usize,
    peers: &BTreeMap<(usize, String), usize>,
    abilities: Abilities,
) -> Vec<Value> {
    let sends = nodes[from].sends.clone();
    let (memory, qps) = (Memory::of(&sends), expect::queue_pairs(&sends));
    let (node, mut steps) = (nodes[from].name.clone(), Vec::new());
    // Receives of one queue pair have room for its longest message, so that it does not matter which of its
    // posts are sent.
    let mut longest: BTreeMap<String, u64> = BTreeMap::new();
    // Lengths of the messages to each queue pair that are to be appended.
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
            // The other destinations of a request are not determined once one of them is refused.
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
            let asks = abilities.does(nodes[from].rtl, Features::REQUESTS);
            if asks && !shared && random.one_in(4) {
                fields["solicited"] = json!(true);
            }
            if op.starts_with("write") {
                let described = abilities.does(nodes[to].rtl, Features::DESCRIBED_KEYS);
                write_to(random, &mut nodes[to], fields, messages, (described, refuse));
            }
            if op == "write" {
                continue;
            }
            // A WRITE by columns has immediate data only with the last message of each group.
            let streams = fields.get("remote_columns").map_or(1, |columns| list(columns).len());
            let told = messages.iter().skip(streams - 1).step_by(streams);
            let short = random.range(0..=told.len() as u64) as usize;
            for (m, message) in told.enumerate() {
                let mut room = longest[&name] + random.skewed(0..=64);
                if refuse && m == short && !message.is_empty() {
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
                        let mapped = abilities.does(nodes[to].rtl, Features::MAPPED_RECEIVES);
                        let strided = strided && room > 0 && random.one_in(3);
                        // A receive that is too short has exactly `room` bytes.
                        let mapped = mapped && room > 0 && !refuse && random.one_in(3);
                        receive["regions"] = match (mapped, strided) {
                            (true, _) => json!(mapped_pieces(random, &mut nodes[to], room)),
                            (false, true) => json!(columns(random, &mut nodes[to], room)),
                            (false, false) => {
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
        // RC waits for receives that come later; on other transports messages would be lost.
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
        let plain = |qp: &str| !appends.contains_key(qp);
        steps.extend(invalidating(random, nodes, from, peers, (abilities, &longest), plain));
    }
    steps
}

/// Gives a WRITE of these messages a target of the peer's that nothing else writes to: perhaps through a key to a
/// region with gaps; or, if it is to be refused, one that does not exist.
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

/// Bytes of a READ from a place of `size`; now and then none.
fn read_len(random: &mut Random, size: u64) -> u64 {
    match random.one_in(8) {
        true => 0,
        false => random.skewed(1..=size),
    }
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
        // READs are of bytes that nothing writes to.
        let described = abilities.does(nodes[to].rtl, Features::DESCRIBED_READS);
        let key = match described && random.one_in(2) {
            true => {
                let Node { sends, kept, .. } = &mut nodes[to];
                kept.key_to_read(random, sends)
            }
            false => None,
        };
        if let Some((key, size)) = key {
            let len = read_len(random, size);
            post["op"] = json!("read");
            post["remote"] = json!(format!("{}/{key}", nodes[to].name));
            post["remote_offset"] = json!(random.range(0..=size - len));
            let start = nodes[from].take(len);
            post["regions"] = json!(pieces(random, start, len));
            return Some(post);
        }
        // Buffers with pointers are left out, as addresses are not known, and those without bytes.
        let known = |buffer: &&Value| buffer.get("pointers").is_none() && buffer["hex"] != "";
        let tables: Vec<_> = list(&nodes[to].sends["buffers"]).iter().filter(known).collect();
        let table = (*random.pick(&tables)).clone();
        let size =
            Memory::of(&json!({"buffers": [table]})).bytes(text(&table["name"])).len() as u64;
        let len = read_len(random, size);
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
        // An atomic has a word of its own, or the last word of this node, which it then finds changed: atomics of one
        // queue pair are executed in order.
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

/// A receive, and the SEND of a byte to it that invalidates a key of the peer which nothing else uses; or neither.
fn invalidating(
    random: &mut Random,
    nodes: &mut [Node],
    from: usize,
    peers: &BTreeMap<(usize, String), usize>,
    (abilities, longest): (Abilities, &BTreeMap<String, u64>),
    plain: impl Fn(&str) -> bool,
) -> Vec<Value> {
    let own = |qp: &&Value| {
        let name = text(&qp["name"]);
        qp["transport"] == "rc" && plain(name) && peers.contains_key(&(from, name.to_owned()))
    };
    let names = nodes[from].qps.iter().filter(own).map(|qp| text(&qp["name"]).to_owned());
    let names: Vec<String> = names.collect();
    let does = abilities.does(nodes[from].rtl, Features::REQUESTS);
    if !does || names.is_empty() || !random.one_in(4) {
        return Vec::new();
    }
    let name = random.pick(&names).clone();
    let (node, start) = (nodes[from].name.clone(), nodes[from].take(1));
    let to = &mut nodes[peers[&(from, name.clone())]];
    let theirs = format!("{node}-{name}");
    // Receives of one queue pair hold its longest message.
    let room = longest.get(&name).copied().unwrap_or(0).max(1);
    let at = to.take(room);
    let regions = pieces(random, at, room);
    let (key, offset) = (format!("once{}", to.used), to.take(1));
    let byte =
        |offset: u64| json!({"type": "contiguous", "buffer": "in", "offset": offset, "len": 1});
    to.kept.keys.push(json!({"name": key, "access": ["remote_read"], "region": byte(offset)}));
    let srq = to.srqs.iter().any(|srq| srq["name"] == *theirs);
    let (verb, queue) = if srq { ("post_srq_recv", "srq") } else { ("post_recv", "qp") };
    let (to, wr_id) = (&to.name, random.any() >> 12);
    let receive =
        json!({"node": to, "verb": verb, queue: theirs, "wr_id": wr_id, "regions": regions});
    let send = json!({"node": node, "verb": "post_send", "qp": name, "wr_id": random.any() >> 12,
                      "op": "send_invalidate", "remote": format!("{to}/{key}"),
                      "solicited": random.one_in(2), "regions": [byte(start)]});
    vec![receive, send]
}

/// True if a node posts a request for several queue pairs, and this one is among them.
pub fn is_shared(sends: &Value, qp: &Value) -> bool {
    list(&sends["posts"]).iter().any(|post| {
        post.get("destinations").is_some()
            && destinations(post).iter().any(|destination| destination["qp"] == *qp)
    })
}

/// Splits `len` bytes of `in` into some regions, in any order.
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

/// A bitmapped or pointer-mapped region, and contiguous ones around it, of at least `len` bytes; at most 30 granules.
fn mapped_pieces(random: &mut Random, node: &mut Node, len: u64) -> Vec<Value> {
    let mapped = random.skewed(1..=len);
    let region = node.kept.mapped_region(random, mapped, &mut node.used);
    let start = node.take(len - mapped);
    let mut regions = pieces(random, start, len - mapped);
    let at = random.range(0..=regions.len() as u64) as usize;
    regions.insert(at, region);
    regions
}

/// Rows of a strided region, as many as there is room for, and other regions for the rest of `len` bytes; at most 22
/// places.
fn columns(random: &mut Random, node: &mut Node, len: u64) -> Vec<Value> {
    let (mut pattern, mut row, mut period) = (Vec::new(), 0, random.skewed(0..=9));
    let (count, size);
    if random.one_in(2) {
        // Values of a column follow each other, and columns follow each other.
        let width = random.skewed(1..=70).min(len);
        let columns = random.range(1..=16).min(len / width);
        (row, period) = (columns * width, width);
        count = random.range(0..=len / row);
        let mut end = 0;
        for _ in 0..columns {
            end += random.skewed(0..=9);
            pattern.push(json!({"offset": end, "len": width}));
            end += count * width;
        }
        size = end;
    } else {
        for _ in 0..random.range(1..=16) {
            let extent = random.skewed(1..=40).min(len - row);
            if extent > 0 {
                pattern.push(json!({"offset": period, "len": extent}));
            }
            row += extent;
            period += extent + random.skewed(0..=9);
        }
        count = random.range(0..=len / row);
        size = count * period;
    }
    // Extents do not overlap, and are filled in any order.
    for i in 1..pattern.len() {
        pattern.swap(i, random.range(0..=i as u64) as usize);
    }
    let offset = node.take(size);
    let left = len - count * row;
    let start = node.take(left);
    let mut regions = pieces(random, start, left);
    let at = random.range(0..=regions.len() as u64) as usize;
    let strided = json!({"type": "strided", "buffer": "in", "offset": offset, "period": period,
                         "count": count, "pattern": pattern});
    regions.insert(at, strided);
    regions
}
