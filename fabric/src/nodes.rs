//! A fabric for programs: several open cards in one process, a switch between them, and one
//! simulated time that the program advances.
//!
//! A program has a libdrdma [`Context`] for each node, and posts and polls on each as it would on
//! different machines. Time advances only in [`Fabric::step`], [`Fabric::advance`] and
//! [`Fabric::run_until`].
//!
//! ```
//! use drdma_fabric::{Fabric, NetworkConfig};
//! use libdrdma::{Access, Contiguous, QueuePairAttributes, ReceiveRequest, WorkRequest};
//!
//! let mut fabric = Fabric::new(NetworkConfig::default(), 2)?;
//! let ends = [0, 1].map(|i| fabric.node(i).context().protection_domain());
//! let cqs = [0, 1].map(|i| fabric.node(i).context().completion_queue().build().unwrap());
//! let from = ends[0].register(b"hello".to_vec())?;
//! let to = ends[1].allocate_with(5, Access::LOCAL_WRITE)?;
//!
//! let mut a = ends[0].queue_pair(&cqs[0]).receive(&cqs[0]).build()?;
//! let mut b = ends[1].queue_pair(&cqs[1]).receive(&cqs[1]).build()?;
//! let attributes = |peer: &drdma_fabric::Node, qpn| {
//!     let attributes = QueuePairAttributes::new().path_mtu(1024).dest_qpn(qpn).start_psn(0).rq_psn(0);
//!     attributes.dest_mac(peer.mac()).dest_ip(peer.ip())
//! };
//! let (qpn_a, qpn_b) = (a.qpn(), b.qpn());
//! a.connect(&attributes(fabric.node(1), qpn_b))?;
//! b.connect(&attributes(fabric.node(0), qpn_a))?;
//!
//! b.post_recv(&ReceiveRequest::new(1).regions(&[Contiguous::new(&to).build()?]))?;
//! a.post_send(&WorkRequest::new(2).regions(&[Contiguous::new(&from).build()?]))?;
//! while fabric.step()? {}
//! assert_eq!(cqs[1].poll().next().unwrap().bytes, 5);
//! let mut bytes = [0; 5];
//! to.read_at(0, &mut bytes);
//! assert_eq!(&bytes, b"hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::{net::Ipv4Addr, time::Duration};

use drdma_driver::Card;
use drdma_soft::simulated::SimulatedCard;
use libdrdma::{Context, MacAddress, Options};

use crate::{
    Network, NetworkConfig, Port, PortCounters, Simulation, SimulationError, SlotCard, TimedCard,
};

/// Largest number of nodes of a fabric: their addresses end with 1 to 254.
pub const MAX_NODES: usize = 254;
/// First time step while no event is due.
const SHORT_WAIT: Duration = Duration::from_micros(1);
/// Longest time step while no event is due.
const LONG_WAIT: Duration = Duration::from_millis(1);

/// A simulated card whose time was not started.
pub trait FabricCard {
    /// The card for libdrdma. Its [`progress`](Card::progress) does not advance time.
    fn card(&self) -> Box<dyn Card>;

    /// Starts the card's time, and returns the card for the simulation.
    fn start(self: Box<Self>) -> Box<dyn TimedCard>;
}

impl FabricCard for SimulatedCard {
    fn card(&self) -> Box<dyn Card> {
        SimulatedCard::card(self)
    }

    fn start(self: Box<Self>) -> Box<dyn TimedCard> {
        self
    }
}

impl FabricCard for SlotCard {
    fn card(&self) -> Box<dyn Card> {
        SlotCard::card(self)
    }

    fn start(self: Box<Self>) -> Box<dyn TimedCard> {
        Box::new(self.starting_now())
    }
}

/// Error of a fabric.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FabricError {
    /// There is no node, or there are more nodes than addresses.
    #[error("a fabric of {nodes} nodes: 1 to {MAX_NODES} are possible")]
    Nodes {
        /// Number of nodes that was asked for.
        nodes: usize,
    },
    /// A card could not be opened.
    #[error("node {node}: {source}")]
    Open {
        /// Number of the node.
        node: usize,
        /// Error of opening it.
        source: libdrdma::Error,
    },
    /// The wire of a node, or waiting for it, failed.
    #[error("the wire of node {node}: {source}")]
    Wire {
        /// Number of the node.
        node: usize,
        /// Error of the operating system.
        source: std::io::Error,
    },
}

/// The Ethernet and IPv4 address of a node: `02:00:00:00:00:(node + 1)` and `10.0.0.(node + 1)`.
///
/// # Panics
/// If the number is not below [`MAX_NODES`].
pub fn addresses(node: usize) -> (MacAddress, Ipv4Addr) {
    assert!(node < MAX_NODES, "node {node} of {MAX_NODES}");
    let last = node as u8 + 1;
    (MacAddress([2, 0, 0, 0, 0, last]), Ipv4Addr::new(10, 0, 0, last))
}

/// An open card of a fabric, and its addresses.
#[derive(Clone, Debug)]
pub struct Node {
    context: Context,
    mac: MacAddress,
    ip: Ipv4Addr,
}

impl Node {
    pub(crate) fn new(context: Context, mac: MacAddress, ip: Ipv4Addr) -> Self {
        Self { context, mac, ip }
    }

    /// The open card. It lives as long as there is a handle of it; without its fabric it is idle.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Ethernet address of the node: that of node `i` ends with `i + 1`.
    pub fn mac(&self) -> MacAddress {
        self.mac
    }

    /// IPv4 address of the node: that of node `i` is `10.0.0.(i + 1)`.
    pub fn ip(&self) -> Ipv4Addr {
        self.ip
    }
}

/// Open cards behind one switch.
pub struct Fabric {
    simulation: Simulation,
    nodes: Vec<Node>,
}

impl std::fmt::Debug for Fabric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fabric").field("nodes", &self.nodes).finish_non_exhaustive()
    }
}

impl Fabric {
    /// Makes a fabric of `nodes` reference cards (`soft:`) behind a switch.
    ///
    /// # Errors
    /// The [`FabricError`] that applies.
    pub fn new(network: NetworkConfig, nodes: usize) -> Result<Self, FabricError> {
        check_nodes(nodes)?;
        let card = |_| Box::new(SimulatedCard::new()) as Box<dyn FabricCard>;
        Self::with_cards(network, (0..nodes).map(card).collect())
    }

    /// Makes a fabric of these cards behind a switch, as nodes 0, 1 and so on. Their keys are drawn
    /// from the network's seed, so that the same program has the same run.
    ///
    /// # Errors
    /// The [`FabricError`] that applies.
    pub fn with_cards(
        network: NetworkConfig,
        cards: Vec<Box<dyn FabricCard>>,
    ) -> Result<Self, FabricError> {
        check_nodes(cards.len())?;
        let seed = network.seed;
        let open = |(node, card): (usize, &dyn FabricCard)| {
            let (mac, ip) = addresses(node);
            let mut options = Options::new(mac, ip);
            options.key_seed = Some(seed.wrapping_add(node as u64));
            let context = Context::open(card.card(), options);
            let context = context.map_err(|source| FabricError::Open { node, source })?;
            Ok(Node::new(context, mac, ip))
        };
        let nodes =
            cards.iter().map(Box::as_ref).enumerate().map(open).collect::<Result<Vec<_>, _>>()?;
        let macs: Vec<u64> = nodes.iter().map(|node| mac_number(node.mac)).collect();
        let cards = cards.into_iter().map(FabricCard::start).collect();
        let simulation = Simulation::new(Network::new(network, &macs), cards, 1);
        Ok(Self { simulation, nodes })
    }

    /// All nodes.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the node of that number.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn node(&self, node: usize) -> &Node {
        &self.nodes[node]
    }

    /// Simulated time since the start.
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.simulation.now_ns())
    }

    /// Counters of the links of a node so far.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn counters(&self, node: usize) -> PortCounters {
        self.simulation.network().counters(Port(node))
    }

    /// The network, to inspect its frames or to change its faults.
    pub fn network_mut(&mut self) -> &mut Network {
        self.simulation.network_mut()
    }

    /// Advances to the next event, and through a slice of time from there on, which is as long as
    /// the shortest frame takes from one card to another. False if no event is due.
    ///
    /// # Errors
    /// The first card that failed.
    pub fn step(&mut self) -> Result<bool, SimulationError> {
        self.simulation.step()
    }

    /// Advances the time by `time`, whether any event is due or not.
    ///
    /// # Errors
    /// The first card that failed.
    pub fn advance(&mut self, time: Duration) -> Result<(), SimulationError> {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.simulation.advance_to(self.simulation.now_ns().saturating_add(ns))
    }

    /// Runs the program's code and the cards in turns: `work`, which is given the time, posts and
    /// polls on any node; then a slice of time passes. It ends when `work` returns true. While no
    /// event is due, up to 1 ms passes from one call of `work` to the next, so that code that waits
    /// for a time makes progress. False if `work` has not returned true when `limit` has passed.
    ///
    /// # Errors
    /// The error of `work`, or that of the first card that failed.
    pub fn run_until<E: From<SimulationError>>(
        &mut self,
        limit: Duration,
        mut work: impl FnMut(Duration) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let end = self.now().saturating_add(limit);
        let mut wait = SHORT_WAIT;
        loop {
            if work(self.now())? {
                return Ok(true);
            }
            if self.now() >= end {
                return Ok(false);
            }
            if self.step()? {
                wait = SHORT_WAIT;
            } else {
                self.advance(wait.min(end - self.now()))?;
                wait = (wait * 2).min(LONG_WAIT);
            }
        }
    }
}

fn check_nodes(nodes: usize) -> Result<(), FabricError> {
    match (1..=MAX_NODES).contains(&nodes) {
        true => Ok(()),
        false => Err(FabricError::Nodes { nodes }),
    }
}

/// Converts an address to the number that a network uses.
fn mac_number(mac: MacAddress) -> u64 {
    mac.0.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests;
