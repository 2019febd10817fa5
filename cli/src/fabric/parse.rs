//! From JSON to a [`FabricJob`], with an error for values that no request to a card can have.

mod node;
mod step;

use std::{collections::HashSet, path::Path};

use drdma_fabric::{FaultConfig, NetworkConfig, Time};

use super::{FabricJob, MAX_NODES, Post, Step};
use crate::job::{
    JobError, Problem,
    json::{At, Json},
};
use node::Names;
use step::Steps;

/// Bytes of a KiB.
const KIB: u64 = 1024;
/// The greatest rate of a link in Gb/s.
const MAX_GBPS: u64 = 1600;
/// The greatest delay of a link: one second.
const MAX_DELAY_NS: u64 = 1_000_000_000;
/// The greatest length of a queue: 4 GiB.
const MAX_QUEUE_KIB: u64 = 1 << 22;

pub(super) fn job(json: &Json, folder: &Path) -> Result<FabricJob, JobError> {
    let mut fields = At::root(json).object()?;
    let network = network(&fields.required("network")?)?;
    let nodes_at = fields.required("nodes")?;
    let steps_at = fields.required("steps")?;
    fields.finish()?;

    let list = nodes_at.list_up_to(MAX_NODES, "nodes")?;
    if list.is_empty() {
        return Err(nodes_at.error(Problem::Empty { what: "node" }));
    }
    let mut names = Names::default();
    let mut nodes = Vec::new();
    for at in &list {
        nodes.push(names.node(at, folder)?);
    }
    names.connect(&list, &mut nodes)?;

    let steps = Steps { names: &names, nodes: &nodes };
    let mut read = Vec::new();
    let list = steps_at.list()?;
    for at in &list {
        read.push(steps.step(at)?);
    }
    all_are_known_to_complete(&list, &read)?;
    Ok(FabricJob { network, nodes, steps: read })
}

fn network(at: &At) -> Result<NetworkConfig, JobError> {
    let mut fields = at.object()?;
    let default = NetworkConfig::default();
    let mut integer = |name, least, most, default| match fields.optional(name) {
        Some(at) => at.integer(least, most),
        None => Ok(default),
    };
    let gbps = integer("gbps", 1, MAX_GBPS, default.gbps)?;
    let delay = integer("delay_ns", 0, MAX_DELAY_NS, default.delay.ns())?;
    let queue = integer("queue_kib", 1, MAX_QUEUE_KIB, default.queue / KIB)?;
    let ecn = integer("ecn_kib", 0, MAX_QUEUE_KIB, default.ecn / KIB)?;
    let seed = integer("seed", 0, u64::MAX, default.seed)?;
    let mut probability = |name| match fields.optional(name) {
        Some(at) => at.probability(),
        None => Ok(0.0),
    };
    let faults = FaultConfig {
        loss: probability("loss")?,
        duplicate: probability("duplicate")?,
        reorder: probability("reorder")?,
        corrupt: probability("corrupt")?,
    };
    fields.finish()?;
    let delay = Time::from_ns(delay);
    Ok(NetworkConfig { gbps, delay, queue: queue * KIB, ecn: ecn * KIB, faults, seed })
}

/// Refuses an unsignaled post that is the last one of its queue before the nodes wait: no completion would
/// follow it.
fn all_are_known_to_complete(list: &[At], steps: &[Step]) -> Result<(), JobError> {
    let mut last = HashSet::new();
    for (at, step) in list.iter().zip(steps).rev() {
        match step {
            Step::Wait => last.clear(),
            Step::Post { node, post: Post::Send(send) } => {
                if last.insert((*node, send.queue())) && !send.signaled {
                    return Err(at.object()?.child_error("signaled", Problem::NeverSignaled));
                }
            }
            Step::Post { post: Post::Receive(_) | Post::GiveBack { .. }, .. } => {}
        }
    }
    Ok(())
}
