//! Cards behind a switch, and queue pairs between them.

use std::time::Duration;

use drdma_abi::receive::features;
use drdma_fabric::{Fabric, FabricCard, FabricError, NetworkConfig, SimulationError, SlotCard};
use drdma_sim::{
    rtl::{self, RtlCard},
    wire::Network as Wire,
};
use drdma_soft::simulated::SimulatedCard;
use libdrdma::{
    Access, CompletionQueue, Features, MemoryRegion, ProtectionDomain, QueuePair,
    QueuePairAttributes, Status, WorkCompletion,
};

use crate::rig::{self, RunError};

/// Time that passes before a run. A write of a register takes a card's own time, 20 ns, which the others' goes along
/// with only when time passes: the tables of 16 queue pairs and their memory are 30 us.
const SETTLING: Duration = Duration::from_micros(100);
/// Simulated time without a completion after which a run has failed.
const PATIENCE: Duration = Duration::from_millis(20);
/// Time that passes for a post of a receive, in which its doorbell has been taken.
const RECEIVE_POST: Duration = Duration::from_nanos(100);

impl From<SimulationError> for RunError {
    fn from(error: SimulationError) -> Self {
        Self::Refused(error.to_string())
    }
}

impl From<FabricError> for RunError {
    fn from(error: FabricError) -> Self {
        Self::Refused(error.to_string())
    }
}

/// Kind of a card at a port of the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The simulated hardware.
    Rtl,
    /// The reference card, which takes no time.
    Soft,
}

impl Kind {
    /// The simulated hardware, or the reference card if the hardware lacks these features.
    pub fn that_sends(needed: Features) -> Self {
        match Features::from_bits_retain(features::RTL).contains(needed) {
            true => Self::Rtl,
            false => Self::Soft,
        }
    }
}

/// Makes cards of these kinds behind a switch.
pub fn fabric(network: NetworkConfig, kinds: &[Kind]) -> Result<Fabric, RunError> {
    let cards = kinds.iter().map(|kind| card(*kind)).collect::<Result<_, _>>()?;
    Ok(Fabric::with_cards(network, cards)?)
}

fn card(kind: Kind) -> Result<Box<dyn FabricCard>, RunError> {
    if kind == Kind::Soft {
        return Ok(Box::new(SimulatedCard::new()));
    }
    let wire = Wire::new();
    let config = rtl::Config { cycles_per_progress: 1, ..rig::card() };
    let card = RtlCard::new(config, wire.clone())?;
    Ok(Box::new(SlotCard::new(Box::new(card), wire)))
}

/// Configuration of queue pairs.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Payload bytes of a packet.
    pub mtu: u32,
    /// Code of the time-out: 4.096 us * 2^timeout.
    pub timeout: u8,
    /// Blocks of the send queue's ring.
    pub send_blocks: u32,
    /// Blocks of the receive queue's ring.
    pub receive_blocks: u32,
    /// ECN field of the packets.
    pub ecn: u8,
}

impl Default for Link {
    fn default() -> Self {
        Self { mtu: 4096, timeout: 14, send_blocks: 4096, receive_blocks: 1024, ecn: 0 }
    }
}

/// The libdrdma objects of a node.
#[derive(Debug)]
pub struct End {
    /// Number of the node in the fabric.
    pub node: usize,
    /// Protection domain of the node.
    pub pd: ProtectionDomain,
    /// Completion queue of sends.
    pub sent: CompletionQueue,
    /// Completion queue of receives.
    pub received: CompletionQueue,
}

impl End {
    /// Makes a node's objects, with room for `entries` completions in each queue.
    pub fn new(fabric: &Fabric, node: usize, entries: u32) -> Result<Self, RunError> {
        let context = fabric.node(node).context();
        let queue = || context.completion_queue().entries(entries).build();
        let (sent, received) = (queue()?, queue()?);
        Ok(Self { node, pd: context.protection_domain(), sent, received })
    }

    /// Makes further completion queues in the same protection domain.
    pub fn apart(&self, entries: u32) -> Result<Self, RunError> {
        let queue = || self.pd.context().completion_queue().entries(entries).build();
        let (sent, received) = (queue()?, queue()?);
        Ok(Self { node: self.node, pd: self.pd.clone(), sent, received })
    }

    /// A queue pair, not yet connected.
    pub fn queue_pair<'m>(&self, link: &Link) -> Result<QueuePair<'m>, RunError> {
        let builder = self.pd.queue_pair(&self.sent).receive(&self.received);
        Ok(builder.send_blocks(link.send_blocks).receive_blocks(link.receive_blocks).build()?)
    }

    /// Memory with these bytes, from the beginning of a page on: a figure does not depend on where an allocator puts
    /// it. Peers may use it as the card allows.
    pub fn memory(&self, bytes: &[u8]) -> Result<MemoryRegion, RunError> {
        self.memory_behind(0, bytes)
    }

    /// Like [`memory`](Self::memory), but `skew` bytes behind the beginning of a page.
    pub fn memory_behind(&self, skew: usize, bytes: &[u8]) -> Result<MemoryRegion, RunError> {
        let mut memory = self.pd.allocate_with(skew + bytes.len(), self.access())?;
        memory.write_at(skew, bytes);
        Ok(memory)
    }

    /// Rights of peers to memory, as far as the card allows them.
    fn access(&self) -> Access {
        let features = self.pd.context().features();
        let mut access = Access::LOCAL_WRITE | Access::REMOTE_WRITE;
        access.set(Access::REMOTE_READ, features.contains(Features::READ_ANSWERS));
        access.set(Access::REMOTE_ATOMIC, features.contains(Features::ATOMIC_ANSWERS));
        access
    }

    /// The attributes of a queue pair to a peer's queue pair of that number.
    fn attributes(&self, fabric: &Fabric, to: usize, qpn: u32, link: &Link) -> QueuePairAttributes {
        let features = self.pd.context().features();
        let peer = fabric.node(to);
        let mut attributes = QueuePairAttributes::new()
            .path_mtu(link.mtu)
            .dest_qpn(qpn)
            .dest_mac(peer.mac())
            .dest_ip(peer.ip())
            .start_psn(0)
            .rq_psn(0)
            .access(self.access() - Access::LOCAL_WRITE)
            .min_rnr_timer(1)
            .ecn(link.ecn)
            .timeout(link.timeout)
            .retry_cnt(7)
            .rnr_retry(7);
        if features.contains(Features::READ_ANSWERS) {
            attributes = attributes.max_dest_rd_atomic(16);
        }
        if features.contains(Features::READS) {
            attributes = attributes.max_rd_atomic(16);
        }
        attributes
    }

    /// Connects a queue pair to a peer's queue pair of that number.
    pub fn connect(
        &self,
        fabric: &Fabric,
        qp: &mut QueuePair<'_>,
        to: usize,
        qpn: u32,
        link: &Link,
    ) -> Result<(), RunError> {
        Ok(qp.connect(&self.attributes(fabric, to, qpn, link))?)
    }
}

/// Queue pairs of two nodes, connected to each other.
pub fn pair<'m>(
    fabric: &Fabric,
    a: &End,
    b: &End,
    link: &Link,
) -> Result<(QueuePair<'m>, QueuePair<'m>), RunError> {
    let (mut from, mut to) = (a.queue_pair(link)?, b.queue_pair(link)?);
    let (from_qpn, to_qpn) = (from.qpn(), to.qpn());
    a.connect(fabric, &mut from, b.node, to_qpn, link)?;
    b.connect(fabric, &mut to, a.node, from_qpn, link)?;
    Ok((from, to))
}

/// Lets the card take the doorbells of `receives` receives, and everything come to rest.
pub fn settle(fabric: &mut Fabric, receives: usize) -> Result<(), RunError> {
    fabric.advance(SETTLING + RECEIVE_POST * receives as u32)?;
    Ok(())
}

/// Waits for a number of completions of each queue, all of which must be successes. Returns the time when the last
/// one was seen.
pub fn wait(
    fabric: &mut Fabric,
    queues: &[(&CompletionQueue, usize)],
) -> Result<Duration, RunError> {
    Ok(completions(fabric, queues)?.0)
}

/// Like [`wait`], but returns the completions of each queue, too.
pub fn completions(
    fabric: &mut Fabric,
    queues: &[(&CompletionQueue, usize)],
) -> Result<(Duration, Vec<Vec<WorkCompletion>>), RunError> {
    let mut found = vec![Vec::new(); queues.len()];
    let mut left: Vec<usize> = queues.iter().map(|(_, count)| *count).collect();
    let mut last = (0, fabric.now());
    let mut seen = 0;
    loop {
        for (((queue, _), left), found) in queues.iter().zip(&mut left).zip(&mut found) {
            for completion in queue.poll() {
                let (wr_id, status) = (completion.wr_id, completion.status);
                if status != Status::Success {
                    return Err(RunError::Status { wr_id, status });
                }
                *left = left.saturating_sub(1);
                seen += 1;
                found.push(completion);
            }
        }
        if left.iter().all(|left| *left == 0) {
            return Ok((fabric.now(), found));
        }
        if seen != last.0 {
            last = (seen, fabric.now());
        } else if fabric.now() - last.1 > PATIENCE {
            return Err(RunError::Stuck);
        }
        if !fabric.step()? {
            fabric.advance(Duration::from_micros(10))?;
        }
    }
}

/// Nanoseconds of the first latency: two round trips of PCIe, and one of the network.
pub fn first_latency_ns(network: &NetworkConfig) -> f64 {
    let trip = rig::host().latency_ns as f64;
    2.0 * trip + 4.0 * network.delay.ns() as f64
}
