//! The queues that a job's posts go to.

use std::collections::{HashMap, hash_map::Entry};

use drdma_abi::work_request::{GRANULE, MAX_INLINE, MAX_WQE_GRANULES, Opcode, blocks};
use libdrdma::{
    AddressHandle, CompletionQueue, Destination, MacAddress, Operation, PartitionDestination,
    PartitionId, PartitionedRegion, PartitionedWorkRequest, PostError, ProtectionDomain, QueuePair,
    QueuePairAttributes, Region, RemoteColumn, RowMask, SharedOperation, SharedSendQueue,
    SharedWorkRequest, WorkCompletion, WorkRequest,
};

use super::{
    RunError,
    ledger::{Completed, Ledger},
    payload::Payload,
};
use crate::job::{self, Job, Post};

/// Blocks of a queue's ring, at most.
pub const MAX_BLOCKS: usize = 1 << 16;
/// Entries of a completion queue, at most.
pub const MAX_COMPLETIONS: usize = 1 << 16;

/// A job's queue pairs and shared send queues, and the posts that are in them.
#[derive(Debug)]
pub struct Queues {
    // Dropped before the completion queue that they use.
    pub qps: Vec<QueuePair<'static>>,
    shared: HashMap<Vec<usize>, SharedSendQueue<'static>>,
    cq: CompletionQueue,
    ledger: Ledger,
}

/// Parts of a request beside its post, which only a card executes that receives.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extras {
    /// Operation with an answer, instead of the post's operation.
    pub answered: Option<Answered>,
    /// Key of the peer that the request invalidates.
    pub invalidates: Option<u32>,
    /// Whether the peer's completions are solicited ones.
    pub solicited: bool,
    /// Whether the request waits for the READs and atomics before it.
    pub fence: bool,
    /// Destination of a datagram.
    pub to: Option<AddressHandle>,
}

/// An operation whose answer fills the regions.
#[derive(Clone, Copy, Debug)]
pub enum Answered {
    /// READ.
    Read,
    /// Compare and swap.
    CompareAndSwap {
        /// Value that the peer's bytes are compared with.
        compare: u64,
        /// Value that is swapped in.
        swap: u64,
    },
    /// Fetch and add.
    FetchAndAdd {
        /// Value that is added.
        add: u64,
    },
}

impl Queues {
    /// Makes and connects every queue that the job needs, with room for `passes` passes over its posts.
    pub fn new(job: &Job, pd: &ProtectionDomain, passes: usize) -> Result<Self, RunError> {
        let entries = (passes * job.posts.len()).clamp(1, MAX_COMPLETIONS) as u32;
        let cq = pd.context().completion_queue().entries(entries).build()?;
        let rings = Rings::of(&job.posts, passes);
        let mut qps = Vec::with_capacity(job.qps.len());
        for (index, qp) in job.qps.iter().enumerate() {
            let mut made = pd
                .queue_pair(&cq)
                .transport(qp.transport)
                .qpn(qp.qpn)
                .send_blocks(rings.blocks(false, vec![index]))
                .build()?;
            let mut attributes = QueuePairAttributes::new()
                .path_mtu(qp.mtu)
                .dest_mac(mac(qp.dest_mac))
                .dest_ip(qp.dest_ip.into())
                .dest_qpn(qp.dest_qpn)
                .dscp(qp.dscp)
                .ecn(qp.ecn)
                .ttl(qp.ttl)
                .start_psn(qp.start_psn);
            if let Some(tag) = qp.vlan {
                attributes = attributes.vlan(tag);
            }
            if qp.transport == job::Transport::Ud {
                attributes = attributes.qkey(qp.qkey);
            }
            made.connect(&attributes)
                .map_err(|source| RunError::Connect { qp: qp.name.clone(), source })?;
            qps.push(made);
        }
        Self::over(qps, &job.posts, &rings, cq, pd)
    }

    /// Takes queue pairs that are made, and makes the shared send queues that posts need beside theirs.
    pub fn over(
        qps: Vec<QueuePair<'static>>,
        posts: &[Post],
        rings: &Rings,
        cq: CompletionQueue,
        pd: &ProtectionDomain,
    ) -> Result<Self, RunError> {
        let mut shared = HashMap::new();
        for post in posts.iter().filter(|post| post.shared) {
            if let Entry::Vacant(vacant) = shared.entry(post.queue().1) {
                let blocks = rings.blocks(true, vacant.key().clone());
                vacant.insert(pd.shared_send_queue(&cq).send_blocks(blocks).build()?);
            }
        }
        Ok(Self { qps, shared, cq, ledger: Ledger::default() })
    }

    /// Posts the request of post `number`; false if there is no room for it until
    /// something completes.
    pub fn post(&mut self, number: u64, post: &Post, payload: &Payload) -> Result<bool, PostError> {
        self.post_with(number, post, payload, &Extras::default())
    }

    /// Like [`post`](Self::post), with the extras of a request to a queue pair's own queue.
    pub fn post_with(
        &mut self,
        number: u64,
        post: &Post,
        payload: &Payload,
        extras: &Extras,
    ) -> Result<bool, PostError> {
        let (result, queue) = match payload {
            Payload::Bytes(region) => self.post_partitioned(post, region, |id| id as u8),
            Payload::Words(region) => self.post_partitioned(post, region, |id| id),
            Payload::Regions(regions) if post.shared => self.post_shared(post, regions),
            Payload::Regions(regions) => self.post_own(post, &regions[0], None, extras),
            Payload::Inline(bytes) => self.post_own(post, &[], Some(bytes), extras),
        };
        match result {
            Ok(()) => {
                self.ledger.post(queue, number, post.wr_id, post.signaled);
                Ok(true)
            }
            Err(PostError::QueueFull { .. } | PostError::CompletionQueueFull { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Posts to a queue pair's own queue; returns the queue's number, too.
    fn post_own(
        &mut self,
        post: &Post,
        regions: &[Region<'static>],
        inline: Option<&[u8]>,
        extras: &Extras,
    ) -> (Result<(), PostError>, u16) {
        let destination = &post.destinations[0];
        let (remote_addr, rkey, imm) = (destination.remote_addr, destination.rkey, post.imm);
        let mut request = WorkRequest::new(post.wr_id)
            .operation(match post.op {
                Opcode::Send => Operation::Send,
                Opcode::SendImm => Operation::SendImm(imm),
                Opcode::Write => Operation::Write { remote_addr, rkey },
                Opcode::WriteImm => Operation::WriteImm { remote_addr, rkey, imm },
            })
            .row_mask(row_mask(post))
            .rows_per_message(post.rows_per_message)
            .message_layout(post.layout)
            .regions(regions);
        let columns = remote_columns(destination);
        if !columns.is_empty() {
            request = request.remote_columns(&columns);
        }
        if let Some(plan) = post.fetch {
            request = request.fetch_plan(plan);
        }
        if !post.signaled {
            request = request.unsignaled();
        }
        if let Some(bytes) = inline {
            request = request.inline(bytes);
        }
        if let Some(answered) = extras.answered {
            request = match answered {
                Answered::Read => request.read(remote_addr, rkey),
                Answered::CompareAndSwap { compare, swap } => {
                    request.compare_and_swap(remote_addr, rkey, compare, swap)
                }
                Answered::FetchAndAdd { add } => request.fetch_and_add(remote_addr, rkey, add),
            };
        }
        if let Some(rkey) = extras.invalidates {
            request = request.send_invalidate(rkey);
        }
        if extras.solicited {
            request = request.solicited();
        }
        if extras.fence {
            request = request.fence();
        }
        if let Some(address) = &extras.to {
            request = request.to(address);
        }
        let qp = &mut self.qps[destination.qp];
        (qp.post_send(&request), qp.queue())
    }

    /// Posts regions of several destinations; returns the queue's number, too.
    fn post_shared(
        &mut self,
        post: &Post,
        regions: &[Vec<Region<'static>>],
    ) -> (Result<(), PostError>, u16) {
        let remote: Vec<_> = post.destinations.iter().map(remote_columns).collect();
        let destinations: Vec<_> = post
            .destinations
            .iter()
            .zip(regions)
            .zip(&remote)
            .map(|((destination, regions), columns)| {
                let told = Destination::new(&self.qps[destination.qp])
                    .remote(destination.remote_addr, destination.rkey)
                    .message_layout(post.layout)
                    .regions(regions);
                if columns.is_empty() { told } else { told.remote_columns(columns) }
            })
            .collect();
        let mut request = SharedWorkRequest::new(post.wr_id)
            .operation(shared_operation(post))
            .row_mask(row_mask(post))
            .rows_per_message(post.rows_per_message)
            .destinations(&destinations);
        if let Some(plan) = post.fetch {
            request = request.fetch_plan(plan);
        }
        if !post.signaled {
            request = request.unsignaled();
        }
        let queue = self.shared.get_mut(&post.queue().1).expect("made for every set");
        (queue.post_ssq_send(&request), queue.queue())
    }

    /// Posts one region that the destinations share; returns the queue's number, too. `id` converts a
    /// partition's id one of the region's ids.
    fn post_partitioned<I: PartitionId>(
        &mut self,
        post: &Post,
        region: &PartitionedRegion<'static, I>,
        id: impl Fn(u16) -> I,
    ) -> (Result<(), PostError>, u16) {
        let remote: Vec<_> = post.destinations.iter().map(remote_columns).collect();
        let destinations: Vec<_> = post
            .destinations
            .iter()
            .zip(&remote)
            .map(|(destination, columns)| {
                let partition = id(destination.partition);
                let told = PartitionDestination::new(&self.qps[destination.qp], partition)
                    .remote(destination.remote_addr, destination.rkey)
                    .message_layout(post.layout);
                if columns.is_empty() { told } else { told.remote_columns(columns) }
            })
            .collect();
        let mut request = PartitionedWorkRequest::new(post.wr_id, region)
            .operation(shared_operation(post))
            .rows_per_message(post.rows_per_message)
            .destinations(&destinations);
        if let Some(plan) = post.fetch {
            request = request.fetch_plan(plan);
        }
        if !post.signaled {
            request = request.unsignaled();
        }
        let queue = self.shared.get_mut(&post.queue().1).expect("made for every set");
        (queue.post_ssq_send(&request), queue.queue())
    }

    /// Takes the next completion, if there is one, and finds its posts.
    pub fn poll(&mut self) -> Result<Option<Completed>, RunError> {
        self.next().map(|completion| self.completed(completion)).transpose()
    }

    /// Takes the next completion, if there is one, of a send or of a receive.
    pub fn next(&mut self) -> Option<WorkCompletion> {
        self.cq.poll().next()
    }

    /// Finds the posts that the completion of a send reports.
    ///
    /// # Errors
    /// [`RunError::Unexpected`] if the completion belongs to no post.
    pub fn completed(&mut self, completion: WorkCompletion) -> Result<Completed, RunError> {
        self.ledger.complete(completion)
    }
}

/// Blocks that the rings of queues need.
#[derive(Debug)]
pub struct Rings {
    needed: HashMap<(bool, Vec<usize>), usize>,
    passes: usize,
}

impl Rings {
    /// Computes the room for `passes` passes over these posts.
    pub fn of(posts: &[Post], passes: usize) -> Self {
        // Unsignaled requests may take half of a ring.
        let share = if posts.iter().all(|post| post.signaled) { 1 } else { 2 };
        let mut needed: HashMap<(bool, Vec<usize>), usize> = HashMap::new();
        for post in posts {
            *needed.entry(post.queue()).or_default() += share * blocks(granules(post));
        }
        Self { needed, passes }
    }

    /// Blocks of one queue's ring.
    pub fn blocks(&self, shared: bool, set: Vec<usize>) -> u32 {
        let blocks = self.needed.get(&(shared, set)).copied().unwrap_or(1);
        (self.passes * blocks).clamp(1, MAX_BLOCKS) as u32
    }
}

fn remote_columns(destination: &job::Destination) -> Vec<RemoteColumn> {
    let columns = destination.remote_columns.iter();
    columns.map(|&(addr, rkey)| RemoteColumn { addr, rkey }).collect()
}

fn row_mask(post: &Post) -> RowMask {
    match post.row_mask {
        job::RowMask::Period => RowMask::Period,
        job::RowMask::Element => RowMask::Element,
    }
}

fn shared_operation(post: &Post) -> SharedOperation {
    match post.op {
        Opcode::Send => SharedOperation::Send,
        Opcode::SendImm => SharedOperation::SendImm(post.imm),
        Opcode::Write => SharedOperation::Write,
        Opcode::WriteImm => SharedOperation::WriteImm(post.imm),
    }
}

/// Granules of a post's work request, at most (see [`drdma_abi::work_request`]).
fn granules(post: &Post) -> usize {
    let destination = |d: &job::Destination| {
        let remote = d.remote_columns.len();
        2 + remote + if post.inline { MAX_INLINE / GRANULE } else { region_granules(&d.regions) }
    };
    let columns = |region: &job::Partitioned| match &region.by {
        Some(by) => 3 + 3 * by.keys.len() + 2 * region.columns.len(),
        None if job::have_kinds(&region.columns) => 2 + 2 * region.columns.len(),
        None => 2 + region.columns.len(),
    };
    let partitioned = post.partitioned.as_ref().map_or(0, columns);
    let granules = 2 + partitioned + post.destinations.iter().map(destination).sum::<usize>();
    granules.min(MAX_WQE_GRANULES)
}

/// Granules of regions in a work request.
pub fn region_granules(regions: &[job::Region]) -> usize {
    let region = |region: &job::Region| match region {
        region if region.has_kinds() => 3 + 2 * region.kinds().count(),
        job::Region::Contiguous { .. } => 1,
        job::Region::Strided { pattern, .. } | job::Region::PointerMapped { pattern, .. } => {
            2 + pattern.len()
        }
        job::Region::Bitmapped { columns, .. } => 2 + columns.len(),
    };
    regions.iter().map(region).sum()
}

/// The MAC address as libdrdma has it.
pub fn mac(mac: u64) -> MacAddress {
    let [_, _, bytes @ ..] = mac.to_be_bytes();
    MacAddress(bytes)
}
