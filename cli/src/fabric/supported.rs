//! What a job may say that the cards of today do not do.

use super::{FabricJob, Post, Step};
use crate::{
    device::Kind,
    job::{JobError, Problem},
};

/// The first thing that no card does yet, or not the one that it is asked of.
///
/// # Errors
/// There is one; the message names the field.
pub fn check(job: &FabricJob) -> Result<(), JobError> {
    let refuse = |path: String, what: &str| {
        let problem = Problem::Unsupported { what: what.to_owned() };
        Err(JobError::Field { path, problem })
    };
    let is_rtl = |node: usize| Kind::of(&job.nodes[node].device) == Kind::Rtl;
    for i in (0..job.nodes.len()).filter(|node| is_rtl(*node)) {
        if !job.nodes[i].srqs.is_empty() {
            return refuse(format!("nodes[{i}].srqs"), "shared receive queue on rtl: yet");
        }
    }
    for (i, step) in job.steps.iter().enumerate() {
        let Step::Post { node, post: Post::Send(send) } = step else { continue };
        if send.fence && is_rtl(*node) {
            return refuse(format!("steps[{i}].fence"), "fence on rtl: yet");
        }
        let datagram = send.destinations.iter().position(|destination| destination.to.is_some());
        match datagram {
            Some(j) if send.shared => {
                let path = format!("steps[{i}].destinations[{j}].destination");
                return refuse(path, "card yet that sends a post_ssq_send as datagrams");
            }
            Some(_) if is_rtl(*node) => {
                let what = "card of the kind rtl: yet that takes an address with a request";
                return refuse(format!("steps[{i}].destination"), what);
            }
            _ => {}
        }
    }
    Ok(())
}
