//! Steps: posts of nodes, and waits.

use super::node::{Names, no_such};
use crate::{
    fabric::{Destination, Node, Op, Post, Qp, Receive, ReceiveQueue, Remote, Send, Step},
    job::{
        JobError, MessageLayout, Partitioned, Problem, Transport,
        json::{At, Fields},
        parse::{
            memory::Regions,
            posts::{
                Distinct, Settings, content, destination_list, imm, inline, inline_rows,
                meaningless, remote_columns,
            },
            values::named,
        },
    },
};

/// Verbs of posts.
#[derive(Clone, Copy)]
enum Verb {
    Send,
    SharedSend,
    Receive,
    SharedReceive,
    GiveBack,
}

/// Kinds of operations.
#[derive(Clone, Copy)]
enum Kinds {
    Send,
    SendImm,
    Write,
    WriteImm,
    Read,
    CompareAndSwap,
    FetchAndAdd,
    SendInvalidate,
}

/// Operations by name: those that requests of several destinations can have come first.
const OPS: [(&str, Kinds); 8] = [
    ("send", Kinds::Send),
    ("send_imm", Kinds::SendImm),
    ("write", Kinds::Write),
    ("write_imm", Kinds::WriteImm),
    ("read", Kinds::Read),
    ("compare_and_swap", Kinds::CompareAndSwap),
    ("fetch_and_add", Kinds::FetchAndAdd),
    ("send_invalidate", Kinds::SendInvalidate),
];
const SHARED_OPS: usize = 4;

/// The nodes and names that steps refer to.
#[derive(Clone, Copy)]
pub(super) struct Steps<'a> {
    pub names: &'a Names,
    pub nodes: &'a [Node],
}

/// A node that posts.
#[derive(Clone, Copy)]
struct Poster<'a> {
    steps: Steps<'a>,
    node: usize,
}

impl Steps<'_> {
    pub fn step(&self, at: &At) -> Result<Step, JobError> {
        let mut fields = at.object()?;
        if fields.has_unknown("wait") {
            fields.required("wait")?.choice(&[("all", ())])?;
            fields.finish()?;
            return Ok(Step::Wait);
        }
        let node = named(&fields.required("node")?, "node", &self.names.nodes)?;
        let verb = fields.required("verb")?.choice(&[
            ("post_send", Verb::Send),
            ("post_ssq_send", Verb::SharedSend),
            ("post_recv", Verb::Receive),
            ("post_srq_recv", Verb::SharedReceive),
            ("give_back", Verb::GiveBack),
        ])?;
        let poster = Poster { steps: *self, node };
        let post = match verb {
            Verb::Send => Post::Send(poster.send(&mut fields, false)?),
            Verb::SharedSend => Post::Send(poster.send(&mut fields, true)?),
            Verb::Receive => Post::Receive(poster.receive(&mut fields, false)?),
            Verb::SharedReceive => Post::Receive(poster.receive(&mut fields, true)?),
            Verb::GiveBack => poster.give_back(&mut fields)?,
        };
        fields.finish()?;
        Ok(Step::Post { node, post })
    }
}

impl<'a> Poster<'a> {
    fn node(&self) -> &'a Node {
        &self.steps.nodes[self.node]
    }

    fn regions(&self) -> Regions<'a> {
        Regions { buffers: &self.steps.names.of_node[self.node].buffers }
    }

    fn receive(&self, fields: &mut Fields, shared: bool) -> Result<Receive, JobError> {
        let names = &self.steps.names.of_node[self.node];
        let queue = if shared {
            let srq = named(&fields.required("srq")?, "shared receive queue", &names.srqs)?;
            ReceiveQueue::Shared(srq)
        } else {
            let at = fields.required("qp")?;
            let qp = named(&at, "queue pair", &names.qps)?;
            if let Some(srq) = self.node().qps[qp].srq {
                let srq = self.node().srqs[srq].clone();
                return Err(at.error(Problem::TakesFromShared { srq }));
            }
            ReceiveQueue::Qp(qp)
        };
        let wr_id = fields.required("wr_id")?.u64(0)?;
        let Some(at) = fields.optional("append") else {
            let (_, regions) = content(fields, self.regions(), None)?;
            return Ok(Receive { queue, wr_id, regions, append: None });
        };
        let append = Some(named(&at, "append region", &names.appends)?);
        if let Some(regions) = fields.optional("regions") {
            return Err(meaningless(&regions, "a receive that appends"));
        }
        let takes = |(i, qp): (usize, &Qp)| match queue {
            ReceiveQueue::Qp(own) => own == i,
            ReceiveQueue::Shared(srq) => qp.srq == Some(srq),
        };
        let ud = self
            .node()
            .qps
            .iter()
            .enumerate()
            .find(|(i, qp)| qp.transport == Transport::Ud && takes((*i, *qp)));
        if let Some((_, qp)) = ud {
            let what = format!("the receives of queue pair \"{}\", whose transport is ud", qp.name);
            return Err(at.error(Problem::Meaningless { what }));
        }
        Ok(Receive { queue, wr_id, regions: Vec::new(), append })
    }

    fn give_back(&self, fields: &mut Fields) -> Result<Post, JobError> {
        let names = &self.steps.names.of_node[self.node];
        let append = named(&fields.required("append")?, "append region", &names.appends)?;
        let rows = fields.required("rows")?.u32(1)?;
        Ok(Post::GiveBack { append, rows })
    }

    fn send(&self, fields: &mut Fields, shared: bool) -> Result<Send, JobError> {
        let wr_id = fields.required("wr_id")?.u64(0)?;
        let op_at = fields.required("op")?;
        let kind = op_at.choice(if shared { &OPS[..SHARED_OPS] } else { &OPS })?;
        let op = operation(fields, kind, op_at.text()?, shared)?;
        // The answer is one message, and fills the regions from the first byte on.
        for name in ["row_mask", "rows_per_message", "message_layout", "fetch", "inline"] {
            if op.is_answered() && fields.has_unknown(name) {
                let what = op.name().to_owned();
                return Err(fields.child_error(name, Problem::Meaningless { what }));
            }
        }
        let Settings { row_mask, rows_per_message, layout, signaled, fetch } =
            Settings::of(fields)?;
        let fence = fields.optional("fence").map_or(Ok(false), |at| at.boolean())?;
        // A request for several destinations has no `solicited`.
        let solicited = (!shared).then(|| fields.optional("solicited")).flatten();
        let solicited = solicited.map_or(Ok(false), |at| at.boolean())?;
        let mut partitioned = None;
        let mut is_inline = false;
        let destinations = if shared {
            partitioned = fields
                .optional("partitioned")
                .map(|at| self.regions().partitioned(&at))
                .transpose()?;
            let list = fields.required("destinations")?;
            self.destinations(&list, op, layout, partitioned.as_ref())?
        } else {
            let destination = self.destination(fields, op, layout, None)?;
            is_inline = inline(fields, &destination.regions, &self.node().buffers)?;
            inline_rows(fields, is_inline, layout)?;
            vec![destination]
        };
        for destination in &destinations {
            let qp = &self.node().qps[destination.qp];
            let possible = match qp.transport {
                Transport::Rc => true,
                Transport::Uc => !op.is_answered() && !matches!(op, Op::SendInvalidate),
                Transport::Ud => !op.is_remote() && !matches!(op, Op::SendInvalidate),
            };
            if !possible {
                let transport = if qp.transport == Transport::Ud { "ud" } else { "uc" };
                let (op, qp) = (op.name(), qp.name.clone());
                return Err(op_at.error(Problem::Transport { op, qp, transport }));
            }
        }
        Ok(Send {
            shared,
            wr_id,
            op,
            row_mask,
            rows_per_message,
            layout,
            signaled,
            fence,
            solicited,
            fetch,
            inline: is_inline,
            partitioned,
            destinations,
        })
    }

    fn destinations(
        &self,
        at: &At,
        op: Op,
        layout: MessageLayout,
        partitioned: Option<&Partitioned>,
    ) -> Result<Vec<Destination>, JobError> {
        let mut distinct = Distinct::new(at.clone(), partitioned.is_some());
        let mut destinations = Vec::new();
        for entry in destination_list(at)? {
            let mut fields = entry.object()?;
            let destination = self.destination(&mut fields, op, layout, partitioned)?;
            let Destination { qp, partition, regions, .. } = &destination;
            let name = &self.node().qps[*qp].name;
            distinct.add(&fields, *qp, name, *partition, regions.len())?;
            fields.finish()?;
            destinations.push(destination);
        }
        distinct.finish()?;
        Ok(destinations)
    }

    fn destination(
        &self,
        fields: &mut Fields,
        op: Op,
        layout: MessageLayout,
        partitioned: Option<&Partitioned>,
    ) -> Result<Destination, JobError> {
        let names = &self.steps.names.of_node[self.node];
        let qp = named(&fields.required("qp")?, "queue pair", &names.qps)?;
        let is_ud = self.node().qps[qp].transport == Transport::Ud;
        let to = match fields.optional("destination") {
            Some(at) if is_ud => Some(self.datagram_to(&at)?),
            Some(at) => {
                let what = "this transport (only ud has one)".to_owned();
                return Err(at.error(Problem::Meaningless { what }));
            }
            None if is_ud => return Err(fields.child_error("destination", Problem::Missing)),
            None => None,
        };
        let remote_column = |at: &At| {
            let mut fields = at.object()?;
            let remote = self.remote(&mut fields, Op::Write)?;
            let missing = || fields.child_error("remote", Problem::Missing);
            let remote = remote.ok_or_else(missing)?;
            fields.finish()?;
            Ok(remote)
        };
        let is_write = op.is_remote() && !op.is_answered();
        let remote_columns = remote_columns(fields, is_write, op.name(), layout, remote_column)?;
        let remote = match remote_columns.is_empty() {
            true if matches!(op, Op::SendInvalidate) => Some(self.key(fields)?),
            true => self.remote(fields, op)?,
            false => self.no_remote(fields)?,
        };
        let (partition, regions) = content(fields, self.regions(), partitioned)?;
        Ok(Destination { qp, remote, remote_columns, to, partition, regions })
    }

    /// Refuses a remote address beside those of the columns.
    fn no_remote(&self, fields: &mut Fields) -> Result<Option<Remote>, JobError> {
        for name in ["remote", "remote_offset", "raw"] {
            if let Some(at) = fields.optional(name) {
                return Err(meaningless(&at, "a post with remote_columns"));
            }
        }
        Ok(None)
    }

    /// Destination of a datagram: another queue pair that takes datagrams.
    fn datagram_to(&self, at: &At) -> Result<crate::fabric::Peer, JobError> {
        let peer = self.steps.names.peer(at)?;
        let qp = &self.steps.nodes[peer.node].qps[peer.qp];
        if qp.transport != Transport::Ud {
            let (found, what) = (at.text()?.to_owned(), "which has another transport".to_owned());
            return Err(at.error(Problem::Peer { found, what }));
        }
        Ok(peer)
    }

    /// The peer's key that a SEND invalidates.
    fn key(&self, fields: &mut Fields) -> Result<Remote, JobError> {
        let at = fields.required("remote")?;
        for name in ["remote_offset", "raw"] {
            if let Some(other) = fields.optional(name) {
                return Err(meaningless(&other, Op::SendInvalidate.name()));
            }
        }
        let (node, name) = self.steps.names.of(&at, "key")?;
        let keys = &self.steps.names.of_node[node].keys;
        let key = *keys.get(name).ok_or_else(|| no_such(&at, "key"))?;
        Ok(Remote::Key { node, key, offset: 0 })
    }

    /// Remote memory that an operation names, if it names any.
    fn remote(&self, fields: &mut Fields, op: Op) -> Result<Option<Remote>, JobError> {
        let (remote_at, raw_at) = (fields.optional("remote"), fields.optional("raw"));
        let offset_at = fields.optional("remote_offset");
        if !op.is_remote() {
            return match remote_at.or(raw_at).or(offset_at) {
                Some(at) => Err(meaningless(&at, op.name())),
                None => Ok(None),
            };
        }
        if let Some(at) = raw_at {
            if let Some(other) = remote_at.or(offset_at) {
                let what = "a post that has \"raw\"".to_owned();
                return Err(other.error(Problem::Meaningless { what }));
            }
            let mut fields = at.object()?;
            let addr = fields.required("remote_addr")?.u64(0)?;
            let rkey = fields.required("rkey")?.u32(0)?;
            fields.finish()?;
            return Ok(Some(Remote::Raw { addr, rkey }));
        }
        let at = remote_at.ok_or_else(|| fields.child_error("remote", Problem::Missing))?;
        let offset = match offset_at {
            Some(at) => at.u64(0)?,
            None => return Err(fields.child_error("remote_offset", Problem::Missing)),
        };
        let (node, name) = self.steps.names.of(&at, "buffer or key")?;
        let of_node = &self.steps.names.of_node[node];
        match (of_node.buffers.get(name), of_node.keys.get(name)) {
            (Some(&buffer), _) => Ok(Some(Remote::Buffer { node, buffer, offset })),
            (None, Some(&key)) => Ok(Some(Remote::Key { node, key, offset })),
            (None, None) => Err(no_such(&at, "buffer or key")),
        }
    }
}

/// Reads an operation, with the values that only that operation has.
fn operation(fields: &mut Fields, kind: Kinds, name: &str, shared: bool) -> Result<Op, JobError> {
    let imm = imm(fields, matches!(kind, Kinds::SendImm | Kinds::WriteImm), name)?;
    // A request of several destinations cannot be an atomic operation.
    let mut operand = |field, has: bool| match (!shared).then(|| fields.optional(field)).flatten() {
        Some(at) if has => at.u64(0),
        Some(at) => Err(meaningless(&at, name)),
        None if has => Err(fields.child_error(field, Problem::Missing)),
        None => Ok(0),
    };
    let swaps = matches!(kind, Kinds::CompareAndSwap);
    let (compare, swap) = (operand("compare", swaps)?, operand("swap", swaps)?);
    let add = operand("add", matches!(kind, Kinds::FetchAndAdd))?;
    Ok(match kind {
        Kinds::Send => Op::Send,
        Kinds::SendImm => Op::SendImm(imm),
        Kinds::Write => Op::Write,
        Kinds::WriteImm => Op::WriteImm(imm),
        Kinds::Read => Op::Read,
        Kinds::CompareAndSwap => Op::CompareAndSwap { compare, swap },
        Kinds::FetchAndAdd => Op::FetchAndAdd { add },
        Kinds::SendInvalidate => Op::SendInvalidate,
    })
}
