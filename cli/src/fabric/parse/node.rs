//! Nodes: names, memory, and queue pairs with their peers.

use std::{collections::HashMap, path::Path};

use drdma_abi::{
    described::APPEND_REGIONS,
    register::{MEMORY_REGIONS, QUEUE_PAIRS},
};

use crate::{
    device::Kind,
    fabric::{Access, Append, Key, Node, Peer, Qp, Retries},
    job::{
        Buffer, JobError, MAX_BUFFERS, Place, Problem, Region, Transport,
        json::{At, Fields},
        parse::{
            memory::{Regions, buffer, pointers},
            queue_pairs::{IpFields, MAX_24, ip_fields, mtu, qkey, transport},
            values::{local, named, new_name},
        },
    },
};

/// Memory regions beside those of buffers and keys: all buffers together, and the pointer arrays.
const EXTRA_REGIONS: usize = 2;
/// Shared receive queues of a node, at most.
const MAX_SRQS: usize = 64;
/// READs and atomics under way on a queue pair, at most.
const MAX_RD_ATOMIC: u64 = 16;

/// Indices of the nodes so far and of their objects, by name.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub nodes: HashMap<String, usize>,
    pub of_node: Vec<OfNode>,
}

/// Indices of one node's objects, by name.
#[derive(Debug, Default)]
pub(super) struct OfNode {
    pub buffers: HashMap<String, usize>,
    pub keys: HashMap<String, usize>,
    pub appends: HashMap<String, usize>,
    pub srqs: HashMap<String, usize>,
    pub qps: HashMap<String, usize>,
}

impl Names {
    /// Reads a further node; its queue pairs are not connected yet.
    pub fn node(&mut self, at: &At, folder: &Path) -> Result<Node, JobError> {
        let mut fields = at.object()?;
        let list = |name: &str| format!("{}.{name}", at.path);
        let name_at = fields.required("name")?;
        let name = new_name(&name_at, "nodes", &mut self.nodes)?;
        is_file_name(&name_at, &name)?;
        let device = device(&fields.required("device")?)?;
        let local_at = fields.required("local")?;
        let local = local(&local_at)?;
        let mut names = OfNode::default();

        let (mut buffers, mut access) = (Vec::new(), Vec::new());
        let mut left = MAX_BUFFERS;
        let limit = MEMORY_REGIONS.entries as usize - EXTRA_REGIONS;
        let buffers_at = fields.required("buffers")?.list_up_to(limit, "buffers")?;
        for at in &buffers_at {
            let mut fields = at.object()?;
            let read = buffer(&mut fields, folder, &mut names.buffers, &list("buffers"), left)?;
            is_file_name(&fields.required("name")?, &read.name)?;
            access.push(access_of(&mut fields)?);
            fields.finish()?;
            left -= read.len() as u64;
            buffers.push(read);
        }
        pointers(&buffers_at, &names.buffers, &mut buffers)?;

        let mut keys = Vec::new();
        if let Some(keys_at) = fields.optional("keys") {
            for at in keys_at.list_up_to(limit - buffers.len(), "keys")? {
                let mut fields = at.object()?;
                let name_at = fields.required("name")?;
                let name = new_name(&name_at, &list("keys"), &mut names.keys)?;
                if let Some(other) = names.buffers.get(&name) {
                    let (value, other) = (format!("\"{name}\""), format!("buffers[{other}]"));
                    let other = list(&other);
                    return Err(name_at.error(Problem::Duplicate { value, other }));
                }
                let regions = Regions { buffers: &names.buffers };
                let region_at = fields.required("region")?;
                let region = regions.region(&region_at)?;
                let access = access_of(&mut fields)?;
                fields.finish()?;
                match region {
                    Region::Contiguous { base, len } => {
                        inside(&region_at, &buffers, base, len.into())?
                    }
                    _ if access.remote_atomic => {
                        let what = "key to a region with gaps that allows remote_atomic".to_owned();
                        return Err(region_at.error(Problem::Unsupported { what }));
                    }
                    _ => {}
                }
                keys.push(Key { name, region, access });
            }
        }

        let mut appends = Vec::new();
        if let Some(appends_at) = fields.optional("appends") {
            for at in appends_at.list_up_to(APPEND_REGIONS.entries as usize, "append regions")? {
                let mut fields = at.object()?;
                let name_at = fields.required("name")?;
                let name = new_name(&name_at, &list("appends"), &mut names.appends)?;
                let columns_at = fields.required("columns")?;
                let columns = Regions { buffers: &names.buffers }.columns(&columns_at, false)?;
                let capacity = fields.required("capacity")?.u32(1)?;
                fields.finish()?;
                for (column, at) in columns.iter().zip(columns_at.list()?) {
                    inside(
                        &at,
                        &buffers,
                        column.base,
                        u64::from(capacity) * u64::from(column.width),
                    )?;
                }
                appends.push(Append { name, columns, capacity });
            }
        }

        let mut srqs = Vec::new();
        if let Some(srqs_at) = fields.optional("srqs") {
            for at in srqs_at.list_up_to(MAX_SRQS, "shared receive queues")? {
                let mut fields = at.object()?;
                let name = new_name(&fields.required("name")?, &list("srqs"), &mut names.srqs)?;
                fields.finish()?;
                srqs.push(name);
            }
        }

        let mut qps = Vec::new();
        let limit = QUEUE_PAIRS.entries as usize;
        for at in fields.required("qps")?.list_up_to(limit, "queue pairs")? {
            qps.push(qp(&at, &list("qps"), &mut names)?);
        }
        fields.finish()?;
        self.of_node.push(names);
        Ok(Node { name, device, local, buffers, access, keys, appends, srqs, qps })
    }

    /// Finds every queue pair's peer, and checks that each names the other. No two nodes have the same addresses.
    pub fn connect(&self, list: &[At], nodes: &mut [Node]) -> Result<(), JobError> {
        for (i, at) in list.iter().enumerate() {
            let local_at = at.object()?.required("local")?;
            for (other, node) in nodes[..i].iter().enumerate() {
                let (mine, theirs) = (nodes[i].local, node.local);
                for (field, same) in [("mac", mine.mac == theirs.mac), ("ip", mine.ip == theirs.ip)]
                {
                    if same {
                        let at = local_at.object()?.required(field)?;
                        let value = at.text()?.to_owned();
                        let other = format!("nodes[{other}].local.{field}");
                        return Err(at.error(Problem::Duplicate { value, other }));
                    }
                }
            }
            for (j, at) in at.object()?.required("qps")?.list()?.iter().enumerate() {
                let mut fields = at.object()?;
                let is_ud = nodes[i].qps[j].transport == Transport::Ud;
                match fields.optional("peer") {
                    Some(at) if is_ud => {
                        let what = "ud: each post names its destination".to_owned();
                        return Err(at.error(Problem::Meaningless { what }));
                    }
                    Some(at) => nodes[i].qps[j].peer = Some(self.peer(&at)?),
                    None if is_ud => {}
                    None => return Err(fields.child_error("peer", Problem::Missing)),
                }
            }
        }
        for (i, at) in list.iter().enumerate() {
            for (j, at) in at.object()?.required("qps")?.list()?.iter().enumerate() {
                let qp = &nodes[i].qps[j];
                let Some(peer) = qp.peer else { continue };
                let other = &nodes[peer.node].qps[peer.qp];
                let at = at.object()?.required("peer")?;
                let wrong = |what: String| {
                    let found = format!("{}/{}", nodes[peer.node].name, other.name);
                    Err(at.error(Problem::Peer { found, what }))
                };
                if other.peer != Some(Peer { node: i, qp: j }) {
                    let name = other.peer.map(|peer| {
                        format!("{}/{}", nodes[peer.node].name, nodes[peer.node].qps[peer.qp].name)
                    });
                    return wrong(match name {
                        Some(name) => format!("whose own peer is \"{name}\""),
                        None => "which has no peer".to_owned(),
                    });
                }
                if other.transport != qp.transport {
                    return wrong("which has another transport".to_owned());
                }
                if other.mtu != qp.mtu {
                    let (mine, theirs) = (qp.mtu, other.mtu);
                    return wrong(format!("whose mtu is {theirs}, not {mine}"));
                }
            }
        }
        Ok(())
    }

    /// The queue pair that a text like `b/y` names.
    pub fn peer(&self, at: &At) -> Result<Peer, JobError> {
        let (node, name) = self.of(at, "queue pair")?;
        match self.of_node[node].qps.get(name) {
            Some(&qp) => Ok(Peer { node, qp }),
            None => Err(no_such(at, "queue pair")),
        }
    }

    /// The node that a text like `b/y` begins with, and the text behind the slash.
    pub fn of<'a>(&self, at: &At<'a>, kind: &'static str) -> Result<(usize, &'a str), JobError> {
        let text = at.text()?;
        let (node, name) = text.split_once('/').ok_or_else(|| {
            let found = format!("\"{text}\"");
            at.error(Problem::Type { expected: "a name like node/name", found })
        })?;
        let node = self.nodes.get(node).ok_or_else(|| no_such(at, kind))?;
        Ok((*node, name))
    }
}

/// The error for a name that does not exist.
pub(super) fn no_such(at: &At, kind: &'static str) -> JobError {
    let name = at.text().unwrap_or_default().to_owned();
    at.error(Problem::NoSuch { kind, name })
}

/// Refuses names that no file in a folder can have, and those with a slash, which separates names.
fn is_file_name(at: &At, name: &str) -> Result<(), JobError> {
    if ["", ".", ".."].contains(&name) || name.contains(['/', '\0']) {
        return Err(at.error(Problem::FileName(name.to_owned())));
    }
    Ok(())
}

/// Refuses bytes that are not inside their buffer.
fn inside(at: &At, buffers: &[Buffer], base: Place, len: u64) -> Result<(), JobError> {
    let (end, buffer) = (u128::from(base.offset) + u128::from(len), &buffers[base.buffer]);
    if end > buffer.len() as u128 {
        let (name, len) = (buffer.name.clone(), buffer.len());
        return Err(at.error(Problem::Outside { end, buffer: name, len }));
    }
    Ok(())
}

fn device(at: &At) -> Result<String, JobError> {
    let uri = at.text()?;
    if Kind::of(uri) == Kind::Board {
        let what = "board in a fabric: a node is a simulated card, soft: or rtl:".to_owned();
        return Err(at.error(Problem::Unsupported { what }));
    }
    Ok(uri.to_owned())
}

fn access_of(fields: &mut Fields) -> Result<Access, JobError> {
    let mut access = Access::default();
    let Some(list) = fields.optional("access") else { return Ok(access) };
    for at in list.list()? {
        let choices = [("remote_read", 0), ("remote_write", 1), ("remote_atomic", 2)];
        match at.choice(&choices)? {
            0 => access.remote_read = true,
            1 => access.remote_write = true,
            _ => access.remote_atomic = true,
        }
    }
    Ok(access)
}

fn qp(at: &At, list: &str, names: &mut OfNode) -> Result<Qp, JobError> {
    let mut fields = at.object()?;
    let name_at = fields.required("name")?;
    let name = new_name(&name_at, list, &mut names.qps)?;
    if name.contains('/') || name.is_empty() {
        return Err(name_at.error(Problem::FileName(name)));
    }
    let transport = transport(&mut fields)?;
    let mtu = mtu(&mut fields)?;
    // Peers are read when all nodes are known.
    fields.optional("peer");
    let start_psn = match fields.optional("start_psn") {
        Some(at) => at.integer(0, MAX_24)? as u32,
        None => 0,
    };
    let qkey = qkey(&mut fields, transport)?;
    let srq = match fields.optional("srq") {
        Some(at) => Some(named(&at, "shared receive queue", &names.srqs)?),
        None => None,
    };
    let default = Retries::default();
    let mut of_rc = |name, most, default: u8| match fields.optional(name) {
        Some(at) if transport != Transport::Rc => {
            let what = "this transport (only rc has it)".to_owned();
            Err(at.error(Problem::Meaningless { what }))
        }
        Some(at) => Ok(at.integer(0, most)? as u8),
        None => Ok(default),
    };
    let retries = Retries {
        timeout: of_rc("timeout", 31, default.timeout)?,
        retry_cnt: of_rc("retry_cnt", 7, default.retry_cnt)?,
        rnr_retry: of_rc("rnr_retry", 7, default.rnr_retry)?,
        min_rnr_timer: of_rc("min_rnr_timer", 31, default.min_rnr_timer)?,
    };
    let max_rd_atomic = of_rc("max_rd_atomic", MAX_RD_ATOMIC, MAX_RD_ATOMIC as u8)?;
    let IpFields { dscp, ecn, ttl } = ip_fields(&mut fields)?;
    fields.finish()?;
    Ok(Qp {
        name,
        transport,
        mtu,
        peer: None,
        start_psn,
        qkey,
        srq,
        retries,
        max_rd_atomic,
        dscp,
        ecn,
        ttl,
    })
}
