//! A node's host: its memory and queues, its posts and completions.

use std::collections::{HashMap, VecDeque};

use drdma_abi::work_request::{Opcode, blocks};
use libdrdma::{
    Access, AddressHandle, AppendRegion, AppendedRows, CompletionOpcode, Context, Counters,
    DescribedKey, Features, MemoryRegion, PostError, QueuePair, QueuePairAttributes,
    ReceiveRequest, Region, RegionError, SharedReceiveQueue, Status, WorkCompletion,
};
use serde_json::{Value, json};

use super::card::FabricCard;
use crate::{
    device,
    fabric::{self, FabricJob, Node, Op, Peer, Post, Receive, ReceiveQueue, Remote, Send, Step},
    job::{self, Transport},
    placement::Placement,
    record::Recording,
    run::{
        RunError,
        ledger::Completed,
        memory::Memory,
        payload::Payload,
        queues::{
            Answered, Extras, MAX_BLOCKS, MAX_COMPLETIONS, Queues, Rings, mac, region_granules,
        },
    },
};

/// The number of a node's first queue pair; the others' follow.
const FIRST_QPN: u32 = 16;
/// Sends under way that a host allows: fewer than the doorbells that a card keeps. A card that keeps no more
/// holds its host back until it has sent, and with it, here, the time of all other cards.
const IN_FLIGHT: usize = 512;
/// Granules of a receive's head, at most.
const RECEIVE_HEAD: usize = 2;

/// A node's host.
pub(super) struct Host<'a> {
    job: &'a FabricJob,
    node: &'a Node,
    // Queues are dropped before the memory that their cards reach.
    queues: Queues,
    srqs: Vec<SharedReceiveQueue<'static>>,
    memory: Memory<'a>,
    keys: Vec<Opened>,
    appends: Vec<AppendRegion<'static>>,
    context: Context,
    /// Steps that are not posted yet.
    to_post: VecDeque<ToPost<'a>>,
    /// Sends that may not be complete yet, by the number of their step.
    sends: HashMap<u64, &'a Send>,
    /// How many of these were posted, but for those from before the card had nothing to do.
    in_flight: usize,
    /// Recording that completions are written to.
    recording: Option<Recording>,
}

/// A key of a node's memory.
enum Opened {
    /// Key to a part of a buffer.
    Part(MemoryRegion),
    /// Key to a region with gaps.
    Region(DescribedKey<'static>),
}

/// A step that is not posted yet.
struct ToPost<'a> {
    number: usize,
    what: Ready<'a>,
}

/// A post with its regions as libdrdma has them.
enum Ready<'a> {
    Send(Box<(job::Post, Payload, Extras)>),
    Receive { receive: &'a Receive, regions: Vec<Region<'static>> },
    GiveBack { append: usize, rows: u32 },
}

/// A completion that a host has taken.
pub(super) struct Completion {
    /// The completion as it is printed.
    pub object: Value,
    /// True if it reports success.
    pub good: bool,
}

impl<'a> Host<'a> {
    /// Sets a node up: its memory, keys and connected queue pairs.
    pub fn new(
        job: &'a FabricJob,
        index: usize,
        card: &FabricCard,
        recording: Option<Recording>,
    ) -> Result<Self, RunError> {
        let node = &job.nodes[index];
        let context = device::set_up_from_seed(card.card(), node.local, job.network.seed)?;
        let pd = context.protection_domain();
        let posts: Vec<&Post> = job
            .steps
            .iter()
            .filter_map(|step| match step {
                Step::Post { node, post } if *node == index => Some(post),
                _ => None,
            })
            .collect();
        let of_keys = node.keys.iter().map(|key| &key.region);
        let regions = posts.iter().flat_map(|post| regions(post)).chain(of_keys);
        let mut placement = Placement::new(&node.buffers, regions);
        for post in &posts {
            if let Post::Send(Send { partitioned: Some(region), .. }) = post {
                placement.add_tables(region.kinds());
            }
        }
        // A card that cannot receive needs no right to write to memory.
        let mine = if context.receives() { Access::LOCAL_WRITE } else { Access::empty() };
        let arena = pd.allocate_with(placement.size(), mine)?;
        let mut memory =
            Memory::in_arena(&node.buffers, placement, arena, &pd, |arena, i, range| {
                arena.alias_with(range, if mine.is_empty() { mine } else { rights(node.access[i]) })
            })?;
        let mut keys = Vec::with_capacity(node.keys.len());
        for (i, key) in node.keys.iter().enumerate() {
            let access = rights(key.access);
            keys.push(match &key.region {
                &job::Region::Contiguous { base, len } => {
                    let alias = |arena: &MemoryRegion, range| arena.alias_with(range, access);
                    Opened::Part(memory.part(base, len, alias)?)
                }
                region => {
                    let region = memory
                        .region(region)
                        .map_err(|source| RunError::Key { key: i, source: source.into() })?;
                    let key = pd.described_key(region, access - Access::LOCAL_WRITE);
                    Opened::Region(key.map_err(|source| RunError::Key { key: i, source })?)
                }
            });
        }
        let mut appends = Vec::with_capacity(node.appends.len());
        for (append, fabric::Append { columns, capacity, .. }) in node.appends.iter().enumerate() {
            let builder = pd.append_region().capacity(*capacity);
            let made = builder.unchecked_columns(&memory.columns(columns)).build();
            appends.push(made.map_err(|source| RunError::Append { append, source })?);
        }

        let entries = posts.len().clamp(1, MAX_COMPLETIONS) as u32;
        let cq = context.completion_queue().entries(entries).build()?;
        let sends: Vec<job::Post> = posts
            .iter()
            .filter_map(|post| match post {
                Post::Send(send) => Some(plain(send, &[])),
                Post::Receive(_) | Post::GiveBack { .. } => None,
            })
            .collect();
        // Operands and addresses may double the length of a request.
        let rings = Rings::of(&sends, 2);
        let mut srqs = Vec::with_capacity(node.srqs.len());
        for i in 0..node.srqs.len() {
            let blocks = receive_blocks(&posts, ReceiveQueue::Shared(i));
            srqs.push(pd.shared_receive_queue(&cq).blocks(blocks).build()?);
        }
        let mut qps = Vec::with_capacity(node.qps.len());
        for (i, qp) in node.qps.iter().enumerate() {
            let receives = receive_blocks(&posts, ReceiveQueue::Qp(i));
            let mut builder = pd
                .queue_pair(&cq)
                .transport(qp.transport)
                .qpn(FIRST_QPN + i as u32)
                .send_blocks(rings.blocks(false, vec![i]));
            if let Some(srq) = qp.srq {
                builder = builder.shared_receive_queue(&srqs[srq]);
            } else if context.receives() {
                builder = builder.receive(&cq).receive_blocks(receives);
            }
            let mut made = builder.build()?;
            connect(job, Peer { node: index, qp: i }, &mut made, context.features())?;
            qps.push(made);
        }
        let queues = Queues::over(qps, &sends, &rings, cq, &pd)?;
        context.clear_counters()?;
        let (to_post, sends, in_flight) = (VecDeque::new(), HashMap::new(), 0);
        Ok(Self {
            job,
            node,
            queues,
            srqs,
            memory,
            keys,
            appends,
            context,
            to_post,
            sends,
            in_flight,
            recording,
        })
    }

    /// Address and key of memory of this node, as a peer names it.
    pub fn remote(&self, remote: Remote) -> (u64, u32) {
        match remote {
            Remote::Buffer { buffer, offset, .. } => {
                self.memory.told(job::Place { buffer, offset })
            }
            Remote::Key { key, offset, .. } => match &self.keys[key] {
                Opened::Part(region) => (region.addr().saturating_add(offset), region.rkey()),
                Opened::Region(key) => (offset, key.rkey()),
            },
            // The address and the key are those of the job.
            Remote::Raw { addr, rkey } => (addr, rkey),
        }
    }

    /// Adds a step; `remotes` is the remote memory of each of its destinations.
    pub fn add(
        &mut self,
        number: usize,
        post: &'a Post,
        remotes: &[Remotes],
    ) -> Result<(), RunError> {
        let region = |source| RunError::Region { post: number, source };
        let what = match post {
            Post::Send(send) => {
                let post = plain(send, remotes);
                let payload = Payload::of(&post, &mut self.memory).map_err(region)?;
                self.sends.insert(number as u64, send);
                Ready::Send(Box::new((post, payload, self.extras(send, remotes))))
            }
            Post::Receive(receive) => {
                let regions = receive.regions.iter().map(|region| self.memory.region(region));
                let regions: Result<Vec<_>, RegionError> = regions.collect();
                Ready::Receive { receive, regions: regions.map_err(region)? }
            }
            Post::GiveBack { append, rows } => Ready::GiveBack { append: *append, rows: *rows },
        };
        self.to_post.push_back(ToPost { number, what });
        Ok(())
    }

    /// The parts of a request that only a card executes that receives.
    fn extras(&self, send: &Send, remotes: &[Remotes]) -> Extras {
        let answered = match send.op {
            Op::Read => Some(Answered::Read),
            Op::CompareAndSwap { compare, swap } => {
                Some(Answered::CompareAndSwap { compare, swap })
            }
            Op::FetchAndAdd { add } => Some(Answered::FetchAndAdd { add }),
            Op::Send | Op::SendImm(_) | Op::SendInvalidate | Op::Write | Op::WriteImm(_) => None,
        };
        let invalidates = matches!(send.op, Op::SendInvalidate).then(|| remotes[0].of_all.1);
        let destination = &send.destinations[0];
        let from = &self.node.qps[destination.qp];
        let to = destination.to.map(|Peer { node, qp }| {
            let (node, qpn) = (&self.job.nodes[node], FIRST_QPN + qp as u32);
            AddressHandle::new(mac(node.local.mac), node.local.ip.into(), qpn, node.qps[qp].qkey)
                .dscp(from.dscp)
                .ecn(from.ecn)
                .ttl(from.ttl)
        });
        Extras { answered, invalidates, fence: send.fence, solicited: send.solicited, to }
    }

    /// Records that the card has nothing to do: sends without a completion were unsignaled, or will never complete.
    pub fn rest(&mut self) {
        self.in_flight = 0;
    }

    /// Posts as much as there is room for; true if it posted anything.
    pub fn post(&mut self) -> Result<bool, RunError> {
        let mut any = false;
        while let Some(ToPost { number, what }) = self.to_post.front() {
            let posted = match what {
                Ready::Send(_) if self.in_flight == IN_FLIGHT => Ok(false),
                Ready::Send(send) => {
                    let (post, payload, extras) = &**send;
                    self.queues.post_with(*number as u64, post, payload, extras)
                }
                Ready::Receive { receive, regions } => {
                    let mut request = ReceiveRequest::new(receive.wr_id).regions(regions);
                    if let Some(append) = receive.append {
                        request = request.append(&self.appends[append]);
                    }
                    let posted = match receive.queue {
                        ReceiveQueue::Qp(qp) => self.queues.qps[qp].post_recv(&request),
                        ReceiveQueue::Shared(srq) => self.srqs[srq].post_recv(&request),
                    };
                    match posted {
                        Ok(()) => Ok(true),
                        Err(
                            PostError::QueueFull { .. } | PostError::CompletionQueueFull { .. },
                        ) => Ok(false),
                        Err(error) => Err(error),
                    }
                }
                Ready::GiveBack { append, rows } => {
                    self.appends[*append].give_back(*rows)?;
                    Ok(true)
                }
            };
            if !posted.map_err(|source| RunError::Post { post: *number, source })? {
                break;
            }
            self.in_flight += usize::from(matches!(what, Ready::Send(_)));
            self.to_post.pop_front();
            any = true;
        }
        Ok(any)
    }

    /// Takes the next completion, if there is one.
    pub fn poll(&mut self) -> Result<Option<Completion>, RunError> {
        let Some(completion) = self.queues.next() else { return Ok(None) };
        if let Some(recording) = &self.recording {
            recording.completion(&completion)?;
        }
        if completion.opcode.is_receive() {
            return Ok(Some(self.received(&completion)));
        }
        let Completed { unsignaled, post, completion } = self.queues.completed(completion)?;
        self.sends.retain(|number, _| !unsignaled.contains(number));
        self.in_flight = self.in_flight.saturating_sub(unsignaled.len() + 1);
        let send = self.sends.remove(&post).expect("every send is entered when it is added");
        Ok(Some(self.sent(send, &completion)))
    }

    fn sent(&self, send: &Send, completion: &WorkCompletion) -> Completion {
        let name = |destination: &fabric::Destination| &self.node.qps[destination.qp].name;
        let mut object = json!({"node": self.node.name});
        match send.shared {
            true => object["qps"] = send.destinations.iter().map(name).cloned().collect(),
            false => object["qp"] = json!(name(&send.destinations[0])),
        }
        object["wr_id"] = json!(completion.wr_id);
        object["opcode"] = json!(match send.op {
            Op::Send | Op::SendImm(_) => "send",
            Op::Write | Op::WriteImm(_) => "write",
            op => op.name(),
        });
        Completion::of(object, completion)
    }

    fn received(&self, completion: &WorkCompletion) -> Completion {
        let by_queue = |qp: &QueuePair| qp.receive_queue() == Some(completion.queue);
        let by_index = |qp: &QueuePair| completion.qp == Some(qp.index());
        let (srqs, qps) = (&self.srqs, &self.queues.qps);
        let srq = srqs.iter().position(|srq| srq.number() == completion.queue);
        let qp = qps.iter().position(by_queue).or_else(|| qps.iter().position(by_index));
        let is_write = completion.opcode == CompletionOpcode::ReceiveWithImm;
        let is_good = completion.status == Status::Success;
        let mut object = json!({"node": self.node.name});
        if let Some(qp) = qp {
            object["qp"] = json!(self.node.qps[qp].name);
        }
        if let Some(srq) = srq {
            object["srq"] = json!(self.node.srqs[srq]);
        }
        object["wr_id"] = json!(completion.wr_id);
        object["opcode"] = json!(if is_write && is_good { "recv_write_imm" } else { "recv" });
        if let Some(rkey) = completion.invalidated {
            let of = |key: &Opened| match key {
                Opened::Part(region) => region.rkey() == rkey,
                Opened::Region(key) => key.rkey() == rkey,
            };
            let key = self.keys.iter().position(of).map(|key| &self.node.keys[key].name);
            object["invalidated"] = json!(key);
        }
        Completion::of(object, completion)
    }

    /// Numbers of the sends that may not be complete, and of the posts that were not made.
    pub fn waiting(&self) -> impl Iterator<Item = usize> {
        let receives = self.to_post.iter().filter_map(|to_post| match to_post.what {
            Ready::Receive { .. } | Ready::GiveBack { .. } => Some(to_post.number),
            Ready::Send(_) => None,
        });
        self.sends.keys().map(|number| *number as usize).chain(receives)
    }

    /// The contents of every buffer.
    pub fn memory(&self) -> Vec<Vec<u8>> {
        (0..self.node.buffers.len()).map(|buffer| self.memory.contents(buffer)).collect()
    }

    /// The card's counters since it was set up.
    pub fn counters(&self) -> Result<Counters, RunError> {
        Ok(self.context.counters()?)
    }
}

impl Completion {
    fn of(mut object: Value, completion: &WorkCompletion) -> Self {
        object["status"] = json!(completion.status.name());
        object["bytes"] = json!(completion.bytes);
        if let Some(imm) = completion.imm {
            object["imm"] = json!(imm);
        }
        if let Some(AppendedRows { first, count }) = completion.rows {
            object["rows"] = json!([first, count]);
        }
        Self { object, good: completion.status == Status::Success }
    }
}

/// The rights as libdrdma has them.
fn rights(access: fabric::Access) -> Access {
    let fabric::Access { remote_read, remote_write, remote_atomic } = access;
    let mut rights = Access::LOCAL_WRITE;
    rights.set(Access::REMOTE_READ, remote_read);
    rights.set(Access::REMOTE_WRITE, remote_write);
    rights.set(Access::REMOTE_ATOMIC, remote_atomic);
    rights
}

/// All regions of a post.
fn regions(post: &Post) -> Box<dyn Iterator<Item = &job::Region> + '_> {
    match post {
        Post::Send(send) => Box::new(send.destinations.iter().flat_map(|d| &d.regions)),
        Post::Receive(receive) => Box::new(receive.regions.iter()),
        Post::GiveBack { .. } => Box::new(std::iter::empty()),
    }
}

/// Blocks of a receive queue's ring, which has room for all receives that are posted to it.
fn receive_blocks(posts: &[&Post], queue: ReceiveQueue) -> u32 {
    let needed = posts.iter().map(|post| match post {
        Post::Receive(receive) if receive.queue == queue => {
            let append = usize::from(receive.append.is_some());
            blocks(RECEIVE_HEAD + append + region_granules(&receive.regions))
        }
        _ => 0,
    });
    needed.sum::<usize>().clamp(1, MAX_BLOCKS) as u32
}

/// Connects a queue pair to its peer.
fn connect(
    job: &FabricJob,
    which: Peer,
    made: &mut QueuePair<'static>,
    features: Features,
) -> Result<(), RunError> {
    let qp = &job.nodes[which.node].qps[which.qp];
    let mut attributes = QueuePairAttributes::new()
        .path_mtu(qp.mtu)
        .dscp(qp.dscp)
        .ecn(qp.ecn)
        .ttl(qp.ttl)
        .start_psn(qp.start_psn);
    // A queue pair for datagrams is connected to itself; every post names its destination.
    let peer = qp.peer.unwrap_or(which);
    let (node, other) = (&job.nodes[peer.node], &job.nodes[peer.node].qps[peer.qp]);
    attributes = attributes
        .dest_mac(mac(node.local.mac))
        .dest_ip(node.local.ip.into())
        .dest_qpn(FIRST_QPN + peer.qp as u32);
    let receives = features.contains(Features::RECEIVES);
    let answers = features.contains(Features::READ_ANSWERS);
    if receives && qp.peer.is_some() {
        let mut access = Access::REMOTE_WRITE;
        if qp.transport == Transport::Rc {
            access.set(Access::REMOTE_READ, answers);
            access.set(Access::REMOTE_ATOMIC, features.contains(Features::ATOMIC_ANSWERS));
        }
        attributes = attributes.rq_psn(other.start_psn).access(access);
    }
    if qp.transport == Transport::Rc {
        if receives {
            attributes = attributes.min_rnr_timer(qp.retries.min_rnr_timer);
        }
        if features.contains(Features::READS) {
            attributes = attributes.max_rd_atomic(qp.max_rd_atomic);
        }
        if answers {
            attributes = attributes.max_dest_rd_atomic(qp.max_rd_atomic);
        }
        if features.contains(Features::RETRANSMITS) {
            attributes = attributes
                .timeout(qp.retries.timeout)
                .retry_cnt(qp.retries.retry_cnt)
                .rnr_retry(qp.retries.rnr_retry);
        }
    }
    if qp.transport == Transport::Ud {
        attributes = attributes.qkey(qp.qkey);
    }
    made.connect(&attributes).map_err(|source| RunError::Connect { qp: qp.name.clone(), source })
}

/// Remote memory that a destination names: addresses and keys.
#[derive(Clone, Debug)]
pub struct Remotes {
    /// Address and key for all of the destination's messages.
    pub of_all: (u64, u32),
    /// Addresses and keys for the columns of a WRITE by columns.
    pub columns: Vec<(u64, u32)>,
}

/// The request as a job for one card has it; `remotes` is each destination's remote memory.
fn plain(send: &Send, remotes: &[Remotes]) -> job::Post {
    let (op, imm) = match send.op {
        Op::Send | Op::SendInvalidate => (Opcode::Send, 0),
        Op::SendImm(imm) => (Opcode::SendImm, imm),
        Op::Write => (Opcode::Write, 0),
        Op::WriteImm(imm) => (Opcode::WriteImm, imm),
        // The request has the same size in a ring as a SEND.
        Op::Read | Op::CompareAndSwap { .. } | Op::FetchAndAdd { .. } => (Opcode::Send, 0),
    };
    let destination = |(i, destination): (usize, &fabric::Destination)| {
        let fabric::Destination { qp, partition, regions, remote_columns, .. } =
            destination.clone();
        // As long as addresses are unknown, zeros take their room.
        let unknown = || Remotes { of_all: (0, 0), columns: vec![(0, 0); remote_columns.len()] };
        let Remotes { of_all, columns } = remotes.get(i).cloned().unwrap_or_else(unknown);
        let ((remote_addr, rkey), remote_columns) = (of_all, columns);
        job::Destination { qp, remote_addr, rkey, remote_columns, partition, regions }
    };
    job::Post {
        shared: send.shared,
        wr_id: send.wr_id,
        op,
        imm,
        row_mask: send.row_mask,
        rows_per_message: send.rows_per_message,
        layout: send.layout,
        signaled: send.signaled,
        fetch: send.fetch,
        inline: send.inline,
        partitioned: send.partitioned.clone(),
        destinations: send.destinations.iter().enumerate().map(destination).collect(),
    }
}
