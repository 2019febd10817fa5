//! The results that a job must have, computed the slow and obvious way.
//!
//! This follows `docs/semantics.md` line by line, over the JSON itself. It shares no code with the
//! devices or with `libdrdma`: not even the layouts.

mod keys;
mod kinds;

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Value, json};

use crate::frame::{self, Endpoint};
use kinds::{
    Element, column_covered, column_values, entry_len, led_to, little, pack, views_covered,
};

/// Completion of a post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The request's name.
    pub wr_id: u64,
    /// The status's name.
    pub status: String,
    /// Number of payload bytes.
    pub bytes: u64,
}

/// Frames by the queue pair number that they are for, in order.
pub type Frames = BTreeMap<u32, Vec<Vec<u8>>>;

/// Results that a job must have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// One per post, in order.
    pub completions: Vec<Completion>,
    /// Every frame of every queue pair that sends one.
    pub frames: Frames,
}

/// Why a post fails: the index of the destination whose queue pair fails with it, if one does, and
/// the status.
pub type Failure = (Option<usize>, &'static str);

type Bytes = Vec<u8>;

/// A job's buffers.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    buffers: HashMap<String, Bytes>,
    /// Pointers in buffers: their places and targets.
    pointers: HashMap<(String, u128), (Value, u128)>,
}

impl Memory {
    /// The buffers of a job; those of files are not possible here.
    pub fn of(job: &Value) -> Self {
        let mut memory = Self::default();
        list(&job["buffers"]).iter().for_each(|buffer| memory.add(buffer));
        memory
    }

    /// Adds one buffer.
    pub fn add(&mut self, buffer: &Value) {
        let bytes = match (buffer["hex"].as_str(), buffer["size"].as_u64()) {
            (Some(hex), None) => unhex(hex),
            (None, Some(size)) => vec![0; size as usize],
            _ => panic!("a buffer of this kind is not expected: {buffer}"),
        };
        let name = text(&buffer["name"]).to_owned();
        for pointer in buffer["pointers"].as_array().into_iter().flatten() {
            let to = (pointer["to"][0].clone(), number(&pointer["to"][1]));
            self.pointers.insert((name.clone(), number(&pointer["offset"])), to);
        }
        self.buffers.insert(name, bytes);
    }

    /// All bytes of a buffer.
    pub fn bytes(&self, buffer: &str) -> &[u8] {
        &self.buffers[buffer]
    }

    /// All bytes of a buffer, to change them.
    pub fn bytes_mut(&mut self, buffer: &str) -> &mut [u8] {
        self.buffers.get_mut(buffer).expect("a buffer of the job")
    }

    fn get(&self, buffer: &Value, start: u128, len: u128) -> Option<&[u8]> {
        let bytes = &self.buffers[text(buffer)];
        match start + len <= bytes.len() as u128 {
            true => Some(&bytes[start as usize..(start + len) as usize]),
            false => None,
        }
    }
}

/// The rows of one region, each a list of elements: the extents of a strided region; in all other
/// regions a row is one element.
type Rows = Vec<Vec<Element>>;

/// Queue pairs by name.
pub type QueuePairs<'a> = HashMap<&'a str, &'a Value>;

/// The queue pairs of a job.
pub fn queue_pairs(job: &Value) -> QueuePairs<'_> {
    list(&job["qps"]).iter().map(|qp| (text(&qp["name"]), qp)).collect()
}

/// Runs a whole job.
pub fn run(job: &Value) -> Expected {
    let memory = Memory::of(job);
    let qps = queue_pairs(job);
    let mut psn: HashMap<&str, u64> =
        qps.iter().map(|(name, qp)| (*name, number(&qp["start_psn"]) as u64)).collect();
    let mut broken: HashSet<&str> = HashSet::new();
    let mut halted: HashSet<(bool, Vec<&str>)> = HashSet::new();
    let mut expected = Expected::default();

    for post in list(&job["posts"]) {
        let destinations = destinations(post);
        let names: Vec<&str> = destinations.iter().map(|d| text(&d["qp"])).collect();
        let mut set = names.clone();
        set.sort_unstable();
        let queue = (is_shared(post), set);
        let wr_id = post["wr_id"].as_u64().unwrap();
        let mut complete = |status: &str, bytes| {
            // An unsignaled post has a completion only if it fails.
            if status == "success" && post["signaled"] == false {
                return;
            }
            let status = status.to_owned();
            expected.completions.push(Completion { wr_id, status, bytes });
        };
        if halted.contains(&queue) {
            complete("wr_flush_error", 0);
            continue;
        }
        match messages(post, &memory, &qps, &|name| broken.contains(name)) {
            Err((destination, status)) => {
                complete(status, 0);
                broken.extend(destination.map(|destination| names[destination]));
                halted.insert(queue);
            }
            Ok(all) => {
                complete("success", all.iter().flatten().map(|m| m.len() as u64).sum());
                for ((messages, name), destination) in all.iter().zip(&names).zip(&destinations) {
                    let next = psn.get_mut(name).unwrap();
                    let frames = packets(job, qps[name], post, destination, messages, next);
                    if !frames.is_empty() {
                        let key = number(&qps[name]["dest_qpn"]) as u32;
                        expected.frames.entry(key).or_default().extend(frames);
                    }
                }
            }
        }
    }
    expected
}

/// The messages of every destination of a post, or why it fails. `broken` are the queue pairs
/// that are in the error state.
pub fn messages(
    post: &Value,
    memory: &Memory,
    qps: &QueuePairs,
    broken: &dyn Fn(&str) -> bool,
) -> Result<Vec<Vec<Bytes>>, Failure> {
    let destinations = destinations(post);
    let partitioned = post.get("partitioned");
    // The region that all destinations share is checked before them.
    if partitioned.is_some_and(|region| !partitioned_covered(region, memory)) {
        return Err((None, "local_protection_error"));
    }
    for (i, destination) in destinations.iter().enumerate() {
        if broken(text(&destination["qp"])) {
            return Err((Some(i), "wr_flush_error"));
        }
        if partitioned.is_some() {
            continue;
        }
        for region in list(&destination["regions"]) {
            if !covered(region, memory) {
                return Err((Some(i), "local_protection_error"));
            }
        }
    }
    let mut all = Vec::new();
    for (i, destination) in destinations.iter().enumerate() {
        if post["inline"] == true {
            // Inline data are one message, shorter than any packet, whatever else the post says.
            let bytes = list(&destination["regions"]).iter().flat_map(|region| {
                pack(&rows(region, memory).expect("inside its buffer").concat().concat())
            });
            all.push(vec![bytes.collect()]);
            continue;
        }
        let mut regions = Vec::new();
        if let Some(region) = partitioned {
            // Keys that lead nowhere are the fault of the first destination, which is the first one here.
            let rows = partition(region, number(&destination["partition"]), memory);
            regions.push(rows.ok_or((Some(i), "local_protection_error"))?);
        } else {
            for region in list(&destination["regions"]) {
                regions.push(rows(region, memory).ok_or((Some(i), "local_protection_error"))?);
            }
        }
        let cut = cut(post, destination, &regions);
        let messages = cut.ok_or((Some(i), "local_qp_operation_error"))?;
        let qp = qps[text(&destination["qp"])];
        let limit = match text(&qp["transport"]) {
            "ud" => number(&qp["mtu"]),
            _ => 1 << 31,
        };
        if messages.iter().any(|message| message.len() as u128 > limit) {
            return Err((Some(i), "local_length_error"));
        }
        all.push(messages);
    }
    Ok(all)
}

fn is_shared(post: &Value) -> bool {
    text(&post["verb"]) == "post_ssq_send"
}

/// The destinations of a post; `post_send` has its only one's fields in itself.
fn destinations(post: &Value) -> Vec<&Value> {
    if is_shared(post) { list(&post["destinations"]).iter().collect() } else { vec![post] }
}

/// True if every byte that a region's description covers is inside its buffers.
fn covered(region: &Value, memory: &Memory) -> bool {
    let (buffer, offset) = (&region["buffer"], || number(&region["offset"]));
    match text(&region["type"]) {
        "contiguous" => memory.get(buffer, offset(), number(&region["len"])).is_some(),
        "strided" => {
            let (period, count) = (number(&region["period"]), number(&region["count"]));
            // The first and the last period's extents; the others lie between them.
            [0, count.saturating_sub(1)].iter().take(count.min(2) as usize).all(|i| {
                list(&region["pattern"]).iter().all(|extent| {
                    let start = offset() + i * period + number(&extent["offset"]);
                    memory.get(buffer, start, entry_len(extent)).is_some() && led_to(extent, memory)
                })
            })
        }
        "bitmapped" => {
            let (rows, bitmap) = (number(&region["rows"]), &region["bitmap"]);
            let bytes = (optional(&bitmap["bit"], 0) + rows).div_ceil(8);
            let bits = memory.get(&bitmap["buffer"], number(&bitmap["offset"]), bytes);
            // Fetch rows do not change the result, but must be inside their buffer.
            let inside = |place: &Value| {
                memory.get(&place["buffer"], number(&place["offset"]), rows.div_ceil(8)).is_some()
            };
            rows == 0
                || bits.is_some()
                    && region.get("fetch_rows").is_none_or(inside)
                    && list(&region["columns"])
                        .iter()
                        .all(|column| column_covered(column, rows, memory))
        }
        // The device makes the pointer array; the records are checked as they are read.
        "pointer_mapped" => {
            list(&region["pointers"]).is_empty()
                || list(&region["pattern"]).iter().all(|extent| led_to(extent, memory))
        }
        other => panic!("there is no region type {other}"),
    }
}

/// The rows of a region, or `None` if a record is outside.
fn rows(region: &Value, memory: &Memory) -> Option<Rows> {
    let pattern = |buffer: &Value, base: u128| -> Option<Vec<Element>> {
        let element = |extent: &Value| {
            let start = base + number(&extent["offset"]);
            kinds::values(extent, memory.get(buffer, start, entry_len(extent))?, memory)
        };
        list(&region["pattern"]).iter().map(element).collect()
    };
    match text(&region["type"]) {
        "contiguous" => {
            let (start, len) = (number(&region["offset"]), number(&region["len"]));
            let bytes = memory.get(&region["buffer"], start, len)?.to_vec();
            Some(vec![vec![vec![kinds::Value::Bytes(bytes)]]])
        }
        "strided" => {
            let (period, offset) = (number(&region["period"]), number(&region["offset"]));
            let count = number(&region["count"]);
            if count > 0 && !views_covered(list(&region["pattern"]), memory) {
                return None;
            }
            (0..count).map(|i| pattern(&region["buffer"], offset + i * period)).collect()
        }
        "bitmapped" => {
            let (rows, bitmap) = (number(&region["rows"]), &region["bitmap"]);
            if rows > 0 && !views_covered(list(&region["columns"]), memory) {
                return None;
            }
            let set = (0..rows).filter(|row| kinds::bit(bitmap, *row, memory) == Some(true));
            set.map(|row| {
                let value = |column: &Value| column_values(column, row, memory);
                let values: Option<Vec<Element>> =
                    list(&region["columns"]).iter().map(value).collect();
                Some(vec![values?.concat()])
            })
            .collect()
        }
        "pointer_mapped"
            if !list(&region["pointers"]).is_empty()
                && !views_covered(list(&region["pattern"]), memory) =>
        {
            None
        }
        "pointer_mapped" if region.get("chase").is_some() => {
            let mut rows = Vec::new();
            for first in list(&region["pointers"]) {
                for (buffer, offset) in chain(region, first, memory)? {
                    rows.push(vec![pattern(&buffer, offset)?.concat()]);
                }
            }
            Some(rows)
        }
        "pointer_mapped" => list(&region["pointers"])
            .iter()
            .map(|pointer| Some(vec![pattern(&pointer[0], number(&pointer[1]))?.concat()]))
            .collect(),
        other => panic!("there is no region type {other}"),
    }
}

/// The records of the chain that begins with `first`, or `None` if it has too many, or leads outside.
fn chain(region: &Value, first: &Value, memory: &Memory) -> Option<Vec<(Value, u128)>> {
    let chase = &region["chase"];
    let mut records = Vec::new();
    let mut at = (first[0].clone(), number(&first[1]));
    loop {
        if records.len() as u128 == number(&chase["limit"]) || at.0 != first[0] {
            return None;
        }
        let next = at.1 + number(&chase["next"]);
        let bytes = memory.get(&at.0, next, 8)?;
        records.push(at.clone());
        match memory.pointers.get(&(text(&at.0).to_owned(), next)) {
            Some(to) => at = to.clone(),
            None if little(bytes) == optional(&chase["end"], 0) => return Some(records),
            // The pointer is another number, which is no address of a buffer.
            None => return None,
        }
    }
}

/// True if the ids and the values of all rows of a partitioned region are inside their buffers.
fn partitioned_covered(region: &Value, memory: &Memory) -> bool {
    let rows = number(&region["rows"]);
    let inside = |place: &Value| {
        let len = rows * number(&place["width"]);
        memory.get(&place["buffer"], number(&place["offset"]), len).is_some()
    };
    let columns = |column: &Value| column_covered(column, rows, memory);
    let ids = || match region.get("partition_by") {
        Some(by) => keys::covered(by, rows, memory),
        None => inside(&region["ids"]),
    };
    rows == 0 || ids() && list(&region["columns"]).iter().all(columns)
}

/// The rows of a partitioned region that carry the id `wanted`, or `None` if one leads to no bytes.
fn partition(region: &Value, wanted: u128, memory: &Memory) -> Option<Rows> {
    if number(&region["rows"]) > 0 && !views_covered(list(&region["columns"]), memory) {
        return None;
    }
    let ids = &region["ids"];
    let made = match region.get("partition_by") {
        Some(by) => keys::ids(by, number(&region["rows"]), memory)?,
        None => Vec::new(),
    };
    let id = |row: u128| {
        if let Some(id) = made.get(row as usize) {
            return *id;
        }
        let width = number(&ids["width"]);
        let start = number(&ids["offset"]) + row * width;
        little(memory.get(&ids["buffer"], start, width).expect("checked"))
    };
    (0..number(&region["rows"]))
        .filter(|row| id(*row) == wanted)
        .map(|row| {
            let value = |column: &Value| column_values(column, row, memory);
            let values: Option<Vec<Element>> = list(&region["columns"]).iter().map(value).collect();
            Some(vec![values?.concat()])
        })
        .collect()
}

/// Regions' rows as messages, or `None` if the element counts differ, or rows do not match the remote columns.
fn cut(post: &Value, destination: &Value, regions: &[Rows]) -> Option<Vec<Bytes>> {
    let units: Vec<Element> = match post["row_mask"].as_str().unwrap_or("period") {
        "period" => regions.iter().flatten().map(|row| row.concat()).collect(),
        "element" => {
            let columns: Vec<Vec<Element>> = regions.iter().map(|rows| rows.concat()).collect();
            let count = columns.first().map_or(0, Vec::len);
            if columns.iter().any(|elements| elements.len() != count) {
                return None;
            }
            (0..count).map(|i| columns.iter().flat_map(|e| e[i].clone()).collect()).collect()
        }
        other => panic!("there is no row mask {other}"),
    };
    kinds::messages(post, destination, &units)
}

/// The frames of one destination's messages.
fn packets(
    job: &Value,
    qp: &Value,
    post: &Value,
    destination: &Value,
    messages: &[Bytes],
    psn: &mut u64,
) -> Vec<Bytes> {
    let op = text(&post["op"]);
    let (write, with_imm) = (op.starts_with("write"), op.ends_with("_imm"));
    let transport = text(&qp["transport"]);
    let family: u8 = match transport {
        "rc" => 0x00,
        "uc" => 0x20,
        "ud" => 0x60,
        other => panic!("there is no transport {other}"),
    };
    let mut frames = Vec::new();
    let whole = [json!({"remote_addr": destination["remote_addr"], "rkey": destination["rkey"]})];
    let columns = destination.get("remote_columns").map_or(&whole[..], list);
    let mut remote: Vec<u64> = columns
        .iter()
        .map(|column| if write { number(&column["remote_addr"]) as u64 } else { 0 })
        .collect();
    for (m, message) in messages.iter().enumerate() {
        let column = m % columns.len();
        // Of the columns of some rows only the last one has immediate data, and is sent even without bytes. Other
        // columns without bytes are not.
        let with_imm = with_imm && column + 1 == columns.len();
        if message.is_empty() && !with_imm && destination.get("remote_columns").is_some() {
            continue;
        }
        let mut parts: Vec<&[u8]> = message.chunks(number(&qp["mtu"]) as usize).collect();
        if message.is_empty() {
            parts.push(message);
        }
        for (i, part) in parts.iter().enumerate() {
            let (first, last) = (i == 0, i + 1 == parts.len());
            // IBTA table 38: first, middle, last, last with immediate, only, only with immediate;
            // the same for WRITE, six further on.
            let place = match (first, last, with_imm) {
                (true, false, _) => 0,
                (false, false, _) => 1,
                (false, true, false) => 2,
                (false, true, true) => 3,
                (true, true, false) => 4,
                (true, true, true) => 5,
            };
            let operation = place + if write { 6 } else { 0 };
            let mut headers = Vec::new();
            if transport == "ud" {
                headers.extend((number(&qp["qkey"]) as u32).to_be_bytes());
                headers.extend((number(&qp["qpn"]) as u32).to_be_bytes());
            }
            if write && first {
                headers.extend(remote[column].to_be_bytes());
                headers.extend((number(&columns[column]["rkey"]) as u32).to_be_bytes());
                headers.extend((message.len() as u32).to_be_bytes());
            }
            if with_imm && last {
                headers.extend((number(&post["imm"]) as u32).to_be_bytes());
            }
            frames.push(frame::build(
                &Endpoint::of(&job["local"]["mac"], &job["local"]["ip"]),
                &Endpoint::of(&qp["dest_mac"], &qp["dest_ip"]),
                &frame::Transport {
                    qpn: number(&qp["qpn"]) as u32,
                    dest_qpn: number(&qp["dest_qpn"]) as u32,
                    opcode: family | operation,
                    ack: transport == "rc" && last,
                    psn: *psn as u32,
                    service: (
                        (optional(&qp["dscp"], 0) << 2 | optional(&qp["ecn"], 0)) as u8,
                        optional(&qp["ttl"], 64) as u8,
                    ),
                    vlan: qp.get("vlan").map(|tag| {
                        (optional(&tag["priority"], 0) << 13 | number(&tag["id"])) as u16
                    }),
                },
                &headers,
                part,
            ));
            *psn = (*psn + 1) % (1 << 24);
        }
        remote[column] = remote[column].wrapping_add(message.len() as u64);
    }
    frames
}

fn optional(value: &Value, otherwise: u128) -> u128 {
    if value.is_null() { otherwise } else { number(value) }
}

pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("not a list: {value}"))
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("not a string: {value}"))
}

pub(crate) fn number(value: &Value) -> u128 {
    value.as_u64().unwrap_or_else(|| panic!("not a number: {value}")).into()
}

/// Bytes from hexadecimal.
pub fn unhex(text: &str) -> Vec<u8> {
    let byte = |i| u8::from_str_radix(&text[i..i + 2], 16).expect("hexadecimal");
    (0..text.len()).step_by(2).map(byte).collect()
}

/// Bytes as hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
