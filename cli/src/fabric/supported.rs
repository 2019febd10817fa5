//! What a job may say that the cards of today do not do.

use super::{FabricJob, Post, ReceiveQueue, Step};
use crate::job::{JobError, Problem, Transport};

/// The first thing that no card does yet.
///
/// # Errors
/// There is one; the message names the field.
pub fn check(job: &FabricJob) -> Result<(), JobError> {
    let refuse = |path: String, what: &str| {
        let problem = Problem::Unsupported { what: format!("card that does this yet: {what}") };
        Err(JobError::Field { path, problem })
    };
    for (i, node) in job.nodes.iter().enumerate() {
        if !node.srqs.is_empty() {
            return refuse(format!("nodes[{i}].srqs"), "a shared receive queue");
        }
        if let Some(j) = node.qps.iter().position(|qp| qp.transport == Transport::Ud) {
            return refuse(format!("nodes[{i}].qps[{j}].transport"), "datagrams");
        }
    }
    for (i, step) in job.steps.iter().enumerate() {
        match step {
            Step::Post { post: Post::Send(send), .. } => {
                if send.op.is_answered() {
                    return refuse(format!("steps[{i}].op"), send.op.name());
                }
                if send.fence {
                    return refuse(format!("steps[{i}].fence"), "a fence");
                }
            }
            Step::Post { post: Post::Receive(receive), .. } => {
                if matches!(receive.queue, ReceiveQueue::Shared(_)) {
                    return refuse(format!("steps[{i}].srq"), "a shared receive queue");
                }
            }
            Step::Wait => {}
        }
    }
    Ok(())
}
