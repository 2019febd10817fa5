//! Requests from one card to another, in one direction or in both.

use drdma_fabric::{Fabric, NetworkConfig};
use drdma_verilated::testbench::Random;
use libdrdma::{
    Contiguous, Features, MemoryRegion, Operation, QueuePair, ReceiveRequest, WorkRequest,
};

use super::{
    Took,
    rig::{self, End, Kind, Link},
};
use crate::rig::RunError;

/// Seed of the payload's random bytes.
const SEED: u64 = 77;
/// Blocks of a ring for each request: it takes two at most, and half a ring may be unsignaled.
const REQUEST_BLOCKS: usize = 4;
/// Bytes of the value that an atomic changes.
const ATOMIC: usize = 8;

/// Operation of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// WRITE.
    Write,
    /// SEND into a receive of its own.
    Send,
    /// READ.
    Read,
    /// Fetch and add of 1, to values 64 B apart.
    AddApart,
    /// Fetch and add of 1, to one value.
    AddTogether,
}

impl Verb {
    fn is_add(self) -> bool {
        matches!(self, Self::AddApart | Self::AddTogether)
    }

    /// Features that a card needs to send these requests.
    fn needed(self) -> Features {
        match self {
            Self::Write | Self::Send => Features::RECEIVES,
            Self::Read | Self::AddApart | Self::AddTogether => Features::READS,
        }
    }
}

/// A trial with requests from one card to another.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// Operation of the requests.
    pub verb: Verb,
    /// Payload bytes of each request.
    pub len: usize,
    /// Number of requests in each direction.
    pub count: usize,
    /// Number of queue pairs, which the requests use in turns.
    pub queues: usize,
    /// Whether the other card sends as many requests at the same time.
    pub both: bool,
    /// Bytes behind the beginning of a page at which the memory begins: the asking card's, and the other one's.
    pub skew: [usize; 2],
    /// Configuration of queue pairs.
    pub link: Link,
    /// Network between the cards.
    pub network: NetworkConfig,
}

impl Default for Transfer {
    fn default() -> Self {
        Self {
            verb: Verb::Write,
            len: 4 << 20,
            count: 3,
            queues: 1,
            both: false,
            skew: [0; 2],
            link: Link::default(),
            network: NetworkConfig::default(),
        }
    }
}

/// One direction: the card that posts, and the memory on both sides.
struct Direction {
    from: usize,
    local: MemoryRegion,
    remote: MemoryRegion,
}

/// The bytes of a memory from `skew` on.
fn content(memory: &MemoryRegion, skew: usize) -> Vec<u8> {
    let mut bytes = vec![0; memory.len() - skew];
    memory.read_at(skew, &mut bytes);
    bytes
}

impl Transfer {
    /// Offset of a request's part of the memory: parts of a queue lie side by side, in the queue's order.
    fn offset(&self, request: usize) -> usize {
        let each = self.count.div_ceil(self.queues);
        (request % self.queues * each + request / self.queues) * self.stride()
    }

    /// Bytes of memory that a request has for itself.
    fn stride(&self) -> usize {
        if self.verb.is_add() { 64 } else { self.len }
    }

    /// Runs the trial: everything is posted before the doorbells are rung, one for each queue.
    pub fn run(&self) -> Result<Took, RunError> {
        let asking = Kind::that_sends(self.verb.needed());
        let answering = if self.both { asking } else { Kind::Rtl };
        let mut fabric = rig::fabric(self.network.clone(), &[asking, answering])?;
        let entries = self.count as u32;
        let ends = [End::new(&fabric, 0, entries)?, End::new(&fabric, 1, entries)?];
        let mut directions = vec![self.direction(&ends, 0)?];
        if self.both {
            directions.push(self.direction(&ends, 1)?);
        }
        let mut lines = Vec::new();
        for direction in &directions {
            lines.push(self.connect(&fabric, &ends, direction)?);
        }
        let receives = if self.verb == Verb::Send { self.count } else { 0 };
        rig::settle(&mut fabric, receives)?;

        let start = fabric.now();
        for (direction, line) in directions.iter().zip(&mut lines) {
            self.post(direction, line)?;
        }
        let finished = |direction: &Direction| match self.verb {
            Verb::Send => (&ends[1 - direction.from].received, self.count),
            _ => (&ends[direction.from].sent, self.queues.min(self.count)),
        };
        let queues: Vec<_> = directions.iter().map(finished).collect();
        let end = rig::wait(&mut fabric, &queues)?;
        self.check(&directions)?;
        let ns = (end - start).as_nanos() as f64 - rig::first_latency_ns(&self.network);
        let requests = (self.count * directions.len()) as u64;
        Ok(Took { ns, bytes: requests * self.len as u64, requests })
    }

    fn direction(&self, ends: &[End; 2], from: usize) -> Result<Direction, RunError> {
        let bytes = Random::new(SEED + from as u64).bytes(self.count * self.stride());
        let empty = vec![0; bytes.len()];
        let (local, remote) = match self.verb {
            Verb::Write | Verb::Send => (bytes, empty),
            Verb::Read => (empty, bytes),
            Verb::AddApart | Verb::AddTogether => (empty.clone(), empty),
        };
        let [here, there] = self.skew;
        let local = ends[from].memory_behind(here, &local)?;
        let remote = ends[1 - from].memory_behind(there, &remote)?;
        Ok(Direction { from, local, remote })
    }

    /// Makes the queue pairs of a direction; receives are posted to those of the other end.
    #[allow(clippy::type_complexity)]
    fn connect<'m>(
        &self,
        fabric: &Fabric,
        ends: &[End; 2],
        direction: &'m Direction,
    ) -> Result<Vec<(QueuePair<'m>, QueuePair<'m>)>, RunError> {
        let (a, b) = (&ends[direction.from], &ends[1 - direction.from]);
        let each = self.count.div_ceil(self.queues);
        let link = Link {
            send_blocks: (each * REQUEST_BLOCKS) as u32,
            receive_blocks: (each * REQUEST_BLOCKS) as u32,
            ..self.link
        };
        let mut line = Vec::new();
        for queue in 0..self.queues {
            let (from, mut to) = rig::pair(fabric, a, b, &link)?;
            if self.verb == Verb::Send {
                for request in (queue..self.count).step_by(self.queues) {
                    let region = self.part(&direction.remote, self.skew[1], request)?;
                    to.post_recv(&ReceiveRequest::new(request as u64).regions(&[region]))?;
                }
            }
            line.push((from, to));
        }
        Ok(line)
    }

    /// A request's part of a memory.
    fn part<'m>(
        &self,
        memory: &'m MemoryRegion,
        skew: usize,
        request: usize,
    ) -> Result<libdrdma::Region<'m>, RunError> {
        let len = if self.verb.is_add() { ATOMIC } else { self.len };
        let offset = (skew + self.offset(request)) as u64;
        Ok(Contiguous::new(memory).offset(offset).len(len as u64).build()?)
    }

    fn post<'m>(
        &self,
        direction: &'m Direction,
        line: &mut [(QueuePair<'m>, QueuePair<'m>)],
    ) -> Result<(), RunError> {
        let Direction { local, remote, .. } = direction;
        for (queue, (qp, _)) in line.iter_mut().enumerate() {
            let mut batch = qp.batch();
            for request in (queue..self.count).step_by(self.queues) {
                let regions = [self.part(local, self.skew[0], request)?];
                let to = remote.addr() + (self.skew[1] + self.offset(request)) as u64;
                let post = WorkRequest::new(request as u64);
                let post = match self.verb {
                    Verb::Send => post,
                    Verb::Write => {
                        post.operation(Operation::Write { remote_addr: to, rkey: remote.rkey() })
                    }
                    Verb::Read => post.read(to, remote.rkey()),
                    Verb::AddApart => post.fetch_and_add(to, remote.rkey(), 1),
                    Verb::AddTogether => post.fetch_and_add(remote.addr(), remote.rkey(), 1),
                };
                // The last request of a queue completes when all have.
                let post = match request + self.queues < self.count {
                    true => post.unsignaled(),
                    false => post,
                };
                batch.post_send(&post.regions(&regions))?;
            }
            batch.submit()?;
        }
        Ok(())
    }

    /// Compares the memories on both sides.
    fn check(&self, directions: &[Direction]) -> Result<(), RunError> {
        for Direction { from, local, remote } in directions {
            let (local, remote) = (content(local, self.skew[0]), content(remote, self.skew[1]));
            let wrong = match self.verb {
                Verb::AddApart => remote.chunks(self.stride()).position(|value| value[0] != 1),
                Verb::AddTogether => {
                    let counted = u64::from_le_bytes(remote[..ATOMIC].try_into().expect("8 B"));
                    (counted != self.count as u64).then_some(0)
                }
                _ => local.chunks(self.len).zip(remote.chunks(self.len)).position(|(a, b)| a != b),
            };
            if let Some(message) = wrong {
                let what = "other bytes arrived than were sent".to_owned();
                return Err(RunError::Payload { destination: 1 - from, message, what });
            }
        }
        Ok(())
    }
}
