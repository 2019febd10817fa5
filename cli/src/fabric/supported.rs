//! What a job may ask of a card that does not do it.

use libdrdma::Features;

use super::{FabricJob, Op, Post, Receive, Send, Step};
use crate::{
    device::Kind,
    job::{JobError, Problem, Region},
};

/// The first thing that a node's card does not do, where `features` says what the cards of a kind do.
///
/// # Errors
/// There is one; the message names the field.
pub fn check(job: &FabricJob, features: impl Fn(Kind) -> Features) -> Result<(), JobError> {
    let of_node = job.nodes.iter().map(|node| features(Kind::of(&node.device))).collect();
    let job = Supported { job, of_node };
    for (i, node) in job.job.nodes.iter().enumerate() {
        if !node.srqs.is_empty() {
            job.needs(i, Features::RECEIVES, format!("nodes[{i}].srqs"), "shared receive queue")?;
        }
    }
    for (i, step) in job.job.steps.iter().enumerate() {
        let at = format!("steps[{i}]");
        match step {
            Step::Post { node, post: Post::Send(send) } => job.send(*node, send, &at)?,
            Step::Post { node, post: Post::Receive(receive) } => {
                job.receive(*node, receive, &at)?
            }
            Step::Wait => {}
        }
    }
    Ok(())
}

struct Supported<'a> {
    job: &'a FabricJob,
    of_node: Vec<Features>,
}

impl Supported<'_> {
    /// Refuses what needs features that a node's card does not have.
    fn needs(
        &self,
        node: usize,
        needed: Features,
        path: String,
        what: &str,
    ) -> Result<(), JobError> {
        if self.of_node[node].contains(needed) {
            return Ok(());
        }
        // The device without its options.
        let device = self.job.nodes[node].device.split('?').next().unwrap_or_default();
        let problem = Problem::Unsupported { what: format!("{what} on {device} yet") };
        Err(JobError::Field { path, problem })
    }

    /// Refuses that a node receives whose card does not.
    fn receives(&self, node: usize, at: &str) -> Result<(), JobError> {
        let what = format!("way for node \"{}\" to receive", self.job.nodes[node].name);
        self.needs(node, Features::RECEIVES, at.to_owned(), &what)
    }

    fn receive(&self, node: usize, receive: &Receive, at: &str) -> Result<(), JobError> {
        self.receives(node, at)?;
        let scattered = |region: &Region| !matches!(region, Region::Contiguous { .. });
        let what = "receive into a region that is not contiguous";
        match receive.regions.iter().position(scattered) {
            Some(j) => self.needs(node, Features::SCATTERS, format!("{at}.regions[{j}]"), what),
            None => Ok(()),
        }
    }

    fn send(&self, node: usize, send: &Send, at: &str) -> Result<(), JobError> {
        for (j, destination) in send.destinations.iter().enumerate() {
            if destination.to.is_none() {
                continue;
            }
            if send.shared {
                let path = format!("{at}.destinations[{j}].destination");
                let what = "card yet that sends a post_ssq_send as datagrams".to_owned();
                return Err(JobError::Field { path, problem: Problem::Unsupported { what } });
            }
            let what = "address with a request";
            self.needs(node, Features::REQUESTS, format!("{at}.destination"), what)?;
        }
        if send.fence {
            self.needs(node, Features::REQUESTS, format!("{at}.fence"), "fence")?;
        }
        if send.op.is_answered() {
            self.receives(node, at)?;
            let what = match send.op {
                Op::Read => "READ",
                _ => "atomic operation",
            };
            self.needs(node, Features::READS, format!("{at}.op"), what)?;
        }
        for destination in &send.destinations {
            let qp = &self.job.nodes[node].qps[destination.qp];
            let Some(to) = qp.peer.or(destination.to).map(|peer| peer.node) else { continue };
            self.receives(to, at)?;
            let answer = match send.op {
                Op::Read => Features::READ_ANSWERS,
                _ => Features::ATOMIC_ANSWERS,
            };
            if send.op.is_answered() {
                self.needs(to, answer, format!("{at}.op"), "answer to it")?;
            }
        }
        Ok(())
    }
}
