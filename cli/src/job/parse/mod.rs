//! From JSON to a [`Job`], with an error for values that no request to a card can have.

mod keys;
pub(crate) mod memory;
pub(crate) mod posts;
pub(crate) mod queue_pairs;
pub(crate) mod values;

use std::{
    collections::{HashMap, HashSet},
    path::Path,
};

use drdma_abi::register::{MEMORY_REGIONS, QUEUE_PAIRS, SEND_QUEUES};
use libdrdma::Resolver;

use super::{
    Job, JobError, MAX_BUFFERS, Post, Problem,
    json::{At, Json},
};
use memory::{Regions, buffer, pointers};
use posts::Posts;
use queue_pairs::qp;
use values::local;

/// Memory regions beside the buffers' own: all buffers together, and the pointer arrays.
const EXTRA_REGIONS: usize = 2;

pub(super) fn job(json: &Json, folder: &Path, resolver: &dyn Resolver) -> Result<Job, JobError> {
    let mut fields = At::root(json).object()?;
    let buffers_at = fields.required("buffers")?;
    let local = local(&fields.required("local")?)?;
    let qps_at = fields.required("qps")?;
    let posts_at = fields.required("posts")?;
    fields.finish()?;

    let mut names = HashMap::new();
    let mut buffers = Vec::new();
    let mut left = MAX_BUFFERS;
    let limit = MEMORY_REGIONS.entries as usize - EXTRA_REGIONS;
    let list = buffers_at.list_up_to(limit, "buffers")?;
    for at in &list {
        let mut fields = at.object()?;
        let buffer = buffer(&mut fields, folder, &mut names, "buffers", left)?;
        fields.finish()?;
        left -= buffer.len() as u64;
        buffers.push(buffer);
    }
    pointers(&list, &names, &mut buffers)?;

    let (mut qp_names, mut numbers) = (HashMap::new(), HashMap::new());
    let mut qps = Vec::new();
    for at in qps_at.list_up_to(QUEUE_PAIRS.entries as usize, "queue pairs")? {
        qps.push(qp(&at, &mut qp_names, &mut numbers, resolver)?);
    }

    let regions = Regions { buffers: &names };
    let context = Posts { regions, buffers: &buffers, qp_names: &qp_names, qps: &qps };
    let mut posts = Vec::new();
    for at in posts_at.list()? {
        posts.push(context.post(&at)?);
    }

    let mut last = HashSet::new();
    for (at, post) in posts_at.list()?.iter().zip(&posts).rev() {
        if last.insert(post.queue()) && !post.signaled {
            return Err(at.object()?.child_error("signaled", Problem::NeverSignaled));
        }
    }

    let count = queues(qps.len(), &posts);
    let limit = SEND_QUEUES.entries as usize;
    if count > limit {
        return Err(posts_at.error(Problem::Card { count, what: "send queues", limit }));
    }
    Ok(Job { buffers, local, qps, posts })
}

/// Send queues that a job needs: every queue pair's own, used or not, and one for each set of
/// destinations.
fn queues(qps: usize, posts: &[Post]) -> usize {
    let sets: HashSet<_> = posts.iter().filter(|post| post.shared).map(Post::queue).collect();
    qps + sets.len()
}
