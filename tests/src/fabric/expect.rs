//! The results that a fabric job must have, computed the slow and obvious way, over the JSON itself.
//!
//! Messages are those of [`crate::expect`], which follows `docs/semantics.md`. They are delivered at
//! once, post by post in the order of the file, and meet the receives of the whole phase, in order.
//! That is the result of any timing, on any network, if nothing races: no byte is written that
//! anything else of the same phase reads or writes, no receive can be taken by either of two queue
//! pairs, and nothing goes against the stream of messages in which an error occurs. Jobs that are not
//! so are [refused](Undetermined) where that is noticed.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use serde_json::{Value, json};

use super::{
    appended::Appended,
    places::{Place, of_region},
};
use crate::expect::{Memory, QueuePairs, list, messages, number, text};

/// Bytes in front of a datagram.
const GLOBAL_ROUTE: u64 = 40;
/// Bytes of an atomic operation.
const ATOMIC: usize = 8;
/// Bytes of an address in memory.
const POINTER: usize = 8;

/// Results that a job must have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expected {
    /// The completions of every queue, in order: objects as `drdma fabric` prints them.
    pub completions: BTreeMap<String, Vec<Value>>,
    /// Every byte of every buffer, by `node/buffer`; `None` where it may have any value, also for bytes of append
    /// regions.
    pub memory: BTreeMap<String, Vec<Option<u8>>>,
    /// State of append regions, by node and name.
    pub appended: BTreeMap<(String, String), Appended>,
}

/// Why the results of a job are not determined.
pub type Undetermined = String;

/// The queue of a completion, as the keys of [`Expected::completions`] have it.
pub fn queue(completion: &Value) -> String {
    let opcode = text(&completion["opcode"]);
    let kind = if opcode.starts_with("recv") { "receives" } else { "sends" };
    let names = ["srq", "qp", "qps"].iter().find_map(|field| completion.get(field));
    format!("{} {kind} {}", text(&completion["node"]), names.unwrap_or(&Value::Null))
}

/// Names that identify an object: of its node, and its own.
type Name = (String, String);

/// A receive that waits for a message.
#[derive(Clone, Debug)]
struct Receive {
    wr_id: u64,
    regions: Vec<Value>,
    /// Name of the append region, if the receive is for one.
    append: Option<String>,
}

/// State of a run.
struct Run<'a> {
    nodes: HashMap<&'a str, Node<'a>>,
    /// Receives by node and queue; the name of a queue pair's own queue is the queue pair's, with a `/` in front.
    receives: HashMap<Name, VecDeque<Receive>>,
    /// Queue pairs in the error state.
    broken: BTreeSet<Name>,
    /// Keys that messages have invalidated.
    gone: BTreeSet<Name>,
    /// Send queues that are halted: node, shared or not, queue pairs.
    halted: BTreeSet<(String, bool, Vec<String>)>,
    expected: Expected,
}

/// A node's part of a job, and the known contents of its memory.
struct Node<'a> {
    job: &'a Value,
    qps: QueuePairs<'a>,
    memory: Memory,
    /// Bytes that may have any value: buffer and offset.
    unknown: BTreeSet<(String, usize)>,
}

/// A message to a peer.
struct Message<'a> {
    bytes: &'a [u8],
    /// The JSON that names the target of a WRITE.
    remote: &'a Value,
    /// Number of bytes that were written there before it.
    offset: u128,
    with_imm: bool,
}

/// Result of a message for its sender.
enum End {
    /// The message arrived.
    Good,
    /// The peer refused the message, with this status of the sender's.
    Refused(&'static str),
}

/// Runs a whole job.
///
/// # Errors
/// The results of the job are not determined.
pub fn run(job: &Value) -> Result<Expected, Undetermined> {
    let mut run = Run {
        nodes: list(&job["nodes"]).iter().map(|of| (text(&of["name"]), Node::of(of))).collect(),
        receives: HashMap::new(),
        broken: BTreeSet::new(),
        gone: BTreeSet::new(),
        halted: BTreeSet::new(),
        expected: Expected::default(),
    };
    for node in list(&job["nodes"]) {
        for append in node.get("appends").map_or(&[][..], list) {
            let name = (text(&node["name"]).to_owned(), text(&append["name"]).to_owned());
            run.expected.appended.insert(name, Appended::of(append));
        }
    }
    for phase in list(&job["steps"]).split(|step| step.get("wait").is_some()) {
        run.expected.appended.values_mut().for_each(Appended::next_phase);
        let gives_back = |step: &&Value| step["verb"] == "give_back";
        for step in phase.iter().filter(gives_back) {
            run.append(text(&step["node"]), text(&step["append"]))
                .give_back(number(&step["rows"]) as usize)
                .then_some(())
                .ok_or("rows are given back that may not have come")?;
        }
        let is_receive = |step: &&Value| text(&step["verb"]).ends_with("recv");
        phase.iter().filter(is_receive).for_each(|step| run.receive(step));
        for step in phase.iter().filter(|step| !is_receive(step) && !gives_back(step)) {
            run.send(step)?;
        }
    }
    for (name, node) in &run.nodes {
        for buffer in list(&node.job["buffers"]) {
            let buffer = text(&buffer["name"]);
            let bytes = node.memory.bytes(buffer).iter().enumerate();
            let known = |(at, byte): (usize, &u8)| {
                (!node.unknown.contains(&(buffer.to_owned(), at))).then_some(*byte)
            };
            run.expected.memory.insert(format!("{name}/{buffer}"), bytes.map(known).collect());
        }
    }
    Ok(run.expected)
}

impl<'a> Node<'a> {
    fn of(job: &'a Value) -> Self {
        let qps = list(&job["qps"]).iter().map(|qp| (text(&qp["name"]), qp)).collect();
        let mut unknown = BTreeSet::new();
        for buffer in list(&job["buffers"]) {
            for pointer in buffer.get("pointers").map_or(&[][..], list) {
                let start = number(&pointer["offset"]) as usize;
                let name = text(&buffer["name"]);
                unknown.extend((start..start + POINTER).map(|at| (name.to_owned(), at)));
            }
        }
        Self { job, qps, memory: Memory::of(job), unknown }
    }

    /// Every byte of the regions, in the order in which a message fills them; `None` if one is outside.
    fn places(&self, regions: &[Value]) -> Option<Vec<Place>> {
        let all = regions.iter().map(|region| of_region(&self.memory, region));
        Some(all.collect::<Option<Vec<_>>>()?.concat())
    }

    fn fill(&mut self, places: &[Place], bytes: &[u8]) {
        for ((buffer, at), byte) in places.iter().zip(bytes) {
            self.memory.bytes_mut(buffer)[*at] = *byte;
            self.unknown.remove(&(buffer.clone(), *at));
        }
    }
}

impl<'a> Run<'a> {
    fn node(&mut self, name: &str) -> &mut Node<'a> {
        self.nodes.get_mut(name).expect("a node of the job")
    }

    fn append(&mut self, node: &str, name: &str) -> &mut Appended {
        let name = (node.to_owned(), name.to_owned());
        self.expected.appended.get_mut(&name).expect("an append region of the node")
    }

    fn told(&mut self, completion: Value) {
        self.expected.completions.entry(queue(&completion)).or_default().push(completion);
    }

    fn receive(&mut self, step: &Value) {
        let (node, wr_id) = (text(&step["node"]), number(&step["wr_id"]) as u64);
        let queue = match step["qp"].as_str() {
            Some(qp) if self.broken.contains(&(node.to_owned(), qp.to_owned())) => {
                self.told(failed_receive(node, qp, wr_id, "wr_flush_error"));
                return;
            }
            Some(qp) => format!("/{qp}"),
            None => text(&step["srq"]).to_owned(),
        };
        let append = step.get("append").map(|name| text(name).to_owned());
        let regions = if append.is_some() { Vec::new() } else { list(&step["regions"]).to_vec() };
        let receives = self.receives.entry((node.to_owned(), queue)).or_default();
        receives.push_back(Receive { wr_id, regions, append });
    }

    fn send(&mut self, step: &Value) -> Result<(), Undetermined> {
        let node = text(&step["node"]);
        let shared = text(&step["verb"]) == "post_ssq_send";
        let destinations: Vec<&Value> =
            if shared { list(&step["destinations"]).iter().collect() } else { vec![step] };
        let names: Vec<String> = destinations.iter().map(|d| text(&d["qp"]).to_owned()).collect();
        let mut set = names.clone();
        set.sort_unstable();
        let queue = (node.to_owned(), shared, set);
        let op = text(&step["op"]);
        let mut completion =
            json!({"node": node, "wr_id": step["wr_id"], "opcode": op.trim_end_matches("_imm")});
        match shared {
            true => completion["qps"] = json!(names),
            false => completion["qp"] = json!(names[0]),
        }
        let complete = |run: &mut Self, status: &str, bytes: u64| {
            if status != "success" || step["signaled"] != false {
                completion["status"] = json!(status);
                completion["bytes"] = json!(bytes);
                run.told(completion);
            }
        };
        if self.halted.contains(&queue) {
            complete(self, "wr_flush_error", 0);
            return Ok(());
        }
        let broken = self.broken.clone();
        let is_broken = |qp: &str| broken.contains(&(node.to_owned(), qp.to_owned()));
        if ["read", "compare_and_swap", "fetch_and_add"].contains(&op) {
            if is_broken(&names[0]) {
                complete(self, "wr_flush_error", 0);
                self.halted.insert(queue);
                return Ok(());
            }
            let bytes = self.fetch(step)?;
            complete(self, "success", bytes);
            return Ok(());
        }
        let of = &self.nodes[node];
        let all = match messages(step, &of.memory, &of.qps, &is_broken) {
            Ok(all) => all,
            Err((destination, status)) => {
                complete(self, status, 0);
                self.halted.insert(queue);
                if let Some(destination) = destination {
                    self.break_pair(node, &names[destination]);
                }
                return Ok(());
            }
        };
        for (destination, messages) in destinations.iter().zip(&all) {
            let remotes = remotes(destination);
            let mut offsets = vec![0; remotes.len()];
            for (m, message) in messages.iter().enumerate() {
                let column = m % remotes.len();
                let arriving = Message {
                    bytes: message,
                    remote: remotes[column],
                    offset: offsets[column],
                    with_imm: op.ends_with("_imm") && column + 1 == remotes.len(),
                };
                match self.deliver(step, destination, arriving)? {
                    End::Good => offsets[column] += message.len() as u128,
                    End::Refused(_) if shared => {
                        return Err("a shared request is refused: who got what is open".into());
                    }
                    End::Refused(status) => {
                        complete(self, status, 0);
                        self.halted.insert(queue);
                        self.break_pair(node, &names[0]);
                        return Ok(());
                    }
                }
            }
        }
        complete(self, "success", all.iter().flatten().map(|m| m.len() as u64).sum());
        Ok(())
    }

    /// Puts a queue pair into the error state: its receives are flushed.
    fn break_pair(&mut self, node: &str, qp: &str) {
        if !self.broken.insert((node.to_owned(), qp.to_owned())) {
            return;
        }
        let receives = self.receives.remove(&(node.to_owned(), format!("/{qp}")));
        for Receive { wr_id, .. } in receives.into_iter().flatten() {
            self.told(failed_receive(node, qp, wr_id, "wr_flush_error"));
        }
    }

    /// Delivers a message to its peer.
    fn deliver(
        &mut self,
        step: &Value,
        destination: &Value,
        Message { bytes: message, remote, offset, with_imm }: Message,
    ) -> Result<End, Undetermined> {
        let from = text(&step["node"]);
        let qp = self.nodes[from].qps[text(&destination["qp"])];
        let transport = text(&qp["transport"]);
        let datagram = transport == "ud";
        let to = text(if datagram { &destination["destination"] } else { &qp["peer"] });
        let (node, to_qp) = to.split_once('/').ok_or("a peer without a node")?;
        if self.broken.contains(&(node.to_owned(), to_qp.to_owned())) {
            return Err(format!("{from} sends to {to}, which is in the error state"));
        }
        let op = text(&step["op"]);
        let write = op.starts_with("write");
        if write && !message.is_empty() {
            let places = match self.remote(remote, offset, message.len(), "remote_write") {
                Some((owner, places)) if owner == node => places,
                // With immediate data the lack of a receive may be noticed first.
                _ if transport == "rc" && !with_imm => {
                    self.break_pair(node, to_qp);
                    return Ok(End::Refused("remote_access_error"));
                }
                _ => return Err("a WRITE whose refusal is open".into()),
            };
            self.node(node).fill(&places, message);
        }
        if write && !with_imm {
            return Ok(End::Good);
        }

        let receiver = self.nodes[node].qps[to_qp];
        let srq = receiver.get("srq").map(text);
        let key = (node.to_owned(), srq.map_or(format!("/{to_qp}"), str::to_owned));
        let receive = self.receives.get_mut(&key).and_then(VecDeque::pop_front);
        let receive = receive.ok_or_else(|| format!("{to} has no receive for a message"))?;
        let mut completion = json!({"node": node, "qp": to_qp, "wr_id": receive.wr_id,
            "opcode": if write { "recv_write_imm" } else { "recv" }, "status": "success",
            "bytes": message.len() as u64 + if datagram { GLOBAL_ROUTE } else { 0 }});
        if let Some(srq) = srq {
            completion["srq"] = json!(srq);
        }
        if with_imm {
            completion["imm"] = step["imm"].clone();
        }
        if op == "send_invalidate" {
            let (owner, key) =
                text(&step["remote"]).split_once('/').ok_or("a key without a node")?;
            if owner != node || !self.gone.insert((owner.to_owned(), key.to_owned())) {
                return Err("a key that cannot be made invalid: the sender has no answer".into());
            }
            completion["invalidated"] = json!(key);
        }
        if let Some(name) = receive.append.filter(|_| !write) {
            let row = self.append(node, &name).row();
            if datagram || transport == "uc" && !message.len().is_multiple_of(row) {
                return Err("what becomes of a message that cannot be appended is open".into());
            }
            if !message.len().is_multiple_of(row) {
                self.append(node, &name).spoil();
                let mut failed = failed_receive(node, to_qp, receive.wr_id, "local_length_error");
                if let Some(srq) = srq {
                    failed["srq"] = json!(srq);
                }
                self.told(failed);
                self.break_pair(node, to_qp);
                return Ok(End::Refused("remote_invalid_request_error"));
            }
            completion["rows"] = json!([null, message.len() / row]);
            let queue = queue(&completion);
            let before = self.expected.completions.get(&queue).map_or(0, Vec::len);
            if !self.append(node, &name).take((queue, before), to_qp, message) {
                return Err(format!("the append region {name} may be full"));
            }
        } else if !write {
            let places = self.nodes[node].places(&receive.regions).ok_or("a bad receive")?;
            let head = if datagram { GLOBAL_ROUTE as usize } else { 0 };
            if places.len() < message.len() + head {
                if transport != "rc" || srq.is_some() {
                    return Err("a message longer than its receive".into());
                }
                // It is not determined how many bytes were written.
                self.node(node).unknown.extend(places);
                self.told(failed_receive(node, to_qp, receive.wr_id, "local_length_error"));
                self.break_pair(node, to_qp);
                return Ok(End::Refused("remote_invalid_request_error"));
            }
            let node = self.node(node);
            // Of the headers' place, 20 B are not written, and 20 B are an IPv4 header.
            node.unknown.extend(places[..head].iter().cloned());
            node.fill(&places[head..], message);
        }
        self.told(completion);
        Ok(End::Good)
    }

    /// Carries out a READ or an atomic operation; returns the number of bytes that came back.
    fn fetch(&mut self, step: &Value) -> Result<u64, Undetermined> {
        let op = text(&step["op"]);
        let node = text(&step["node"]);
        let places = self.nodes[node].places(list(&step["regions"])).ok_or("a bad region")?;
        if op == "read" && places.is_empty() {
            // A READ of no bytes: its key is not checked.
            return Ok(0);
        }
        let right = if op == "read" { "remote_read" } else { "remote_atomic" };
        let (owner, remote) =
            self.remote(step, 0, places.len(), right).ok_or("the peer refuses a READ")?;
        let of = self.node(&owner);
        if remote.iter().any(|place| of.unknown.contains(place)) {
            return Err("a READ of what is not known".into());
        }
        let bytes: Vec<u8> =
            remote.iter().map(|(buffer, at)| of.memory.bytes(buffer)[*at]).collect();
        if op != "read" {
            let old: [u8; ATOMIC] = bytes.as_slice().try_into().map_err(|_| "not 8 B")?;
            let old = u64::from_le_bytes(old);
            let operand = |name: &str| step[name].as_u64().expect("a number");
            let new = match op {
                "fetch_and_add" => old.wrapping_add(operand("add")),
                _ if old == operand("compare") => operand("swap"),
                _ => old,
            };
            of.fill(&remote, &new.to_le_bytes());
        }
        self.node(node).fill(&places, &bytes);
        Ok(bytes.len() as u64)
    }

    /// Places of `len` bytes of a peer's memory, and its node; `None` if the operation may not touch them.
    fn remote(
        &self,
        post: &Value,
        before: u128,
        len: usize,
        right: &str,
    ) -> Option<(String, Vec<Place>)> {
        // An address and a key that do not exist.
        let (node, name) = text(post.get("remote")?).split_once('/')?;
        let job = self.nodes[node].job;
        let named = |of: &str| {
            let list = job.get(of)?.as_array()?;
            list.iter().find(|entry| text(&entry["name"]) == name)
        };
        let start = usize::try_from(number(&post["remote_offset"]) + before).ok()?;
        let end = start.checked_add(len)?;
        let memory = &self.nodes[node].memory;
        let (found, access) = match (named("buffers"), named("keys")) {
            (Some(buffer), _) => {
                let inside = end <= memory.bytes(name).len();
                let places = || (start..end).map(|at| (name.to_owned(), at)).collect();
                (inside.then(places)?, buffer.get("access"))
            }
            (None, Some(_)) if self.gone.contains(&(node.to_owned(), name.to_owned())) => {
                return None;
            }
            (None, Some(key)) => {
                let places = of_region(memory, &key["region"])?;
                (places.get(start..end)?.to_vec(), key.get("access"))
            }
            (None, None) => return None,
        };
        let allowed = access.is_some_and(|rights| list(rights).iter().any(|r| text(r) == right));
        allowed.then(|| (node.to_owned(), found))
    }
}

/// The targets of a destination's messages in turn: the columns of a group of rows, if each has a target of its own.
fn remotes(destination: &Value) -> Vec<&Value> {
    match destination.get("remote_columns") {
        Some(columns) => list(columns).iter().collect(),
        None => vec![destination],
    }
}

fn failed_receive(node: &str, qp: &str, wr_id: u64, status: &str) -> Value {
    json!({"node": node, "qp": qp, "wr_id": wr_id, "opcode": "recv", "status": status, "bytes": 0})
}
