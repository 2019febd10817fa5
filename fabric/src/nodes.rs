//! A fabric for programs: several open cards in one process, a switch between them, and one simulated time that
//! goes on when the program lets it.
//!
//! A program has a libdrdma [`Context`] a node, and posts and polls on each as it would on different machines.
//! Nothing moves meanwhile. [`Fabric::step`], [`Fabric::advance`] and [`Fabric::run_until`] let time pass.
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

/// Nodes of a fabric, at most: their addresses end with 1 to 254.
pub const MAX_NODES: usize = 254;
/// How much time passes at first where nothing happens by itself.
const SHORT_WAIT: Duration = Duration::from_micros(1);
/// How much passes later, at most.
const LONG_WAIT: Duration = Duration::from_millis(1);

/// A simulated card whose time has not begun.
pub trait FabricCard {
    /// The card for libdrdma. Its [`progress`](Card::progress) lets no time pass.
    fn card(&self) -> Box<dyn Card>;

    /// The card for the simulation, whose time begins now.
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

/// Why there is no fabric.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FabricError {
    /// No node, or more than there are addresses for.
    #[error("a fabric of {nodes} nodes: 1 to {MAX_NODES} are possible")]
    Nodes {
        /// How many were asked for.
        nodes: usize,
    },
    /// A card was not opened.
    #[error("node {node}: {source}")]
    Open {
        /// Its place in the list.
        node: usize,
        /// Why.
        source: libdrdma::Error,
    },
    /// The wire of a node, or what waits for it, failed.
    #[error("the wire of node {node}: {source}")]
    Wire {
        /// The node's number.
        node: usize,
        /// Why.
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

/// A card of a fabric, open, and its addresses.
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

    /// The open card. It lasts as long as somebody has it; without its fabric it does nothing any more.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Its Ethernet address: that of node `i` ends with `i + 1`.
    pub fn mac(&self) -> MacAddress {
        self.mac
    }

    /// Its IPv4 address: that of node `i` is `10.0.0.(i + 1)`.
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
    /// So many reference cards (`soft:`) behind a switch.
    ///
    /// # Errors
    /// See [`FabricError`].
    pub fn new(network: NetworkConfig, nodes: usize) -> Result<Self, FabricError> {
        check_nodes(nodes)?;
        let card = |_| Box::new(SimulatedCard::new()) as Box<dyn FabricCard>;
        Self::with_cards(network, (0..nodes).map(card).collect())
    }

    /// These cards behind a switch, as nodes 0, 1 and so on. Their keys are drawn from the network's seed, so that
    /// a program that does the same has the same run.
    ///
    /// # Errors
    /// See [`FabricError`].
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

    /// The node of that number.
    ///
    /// # Panics
    /// If there is none.
    pub fn node(&self, node: usize) -> &Node {
        &self.nodes[node]
    }

    /// The simulated time since the start.
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.simulation.now_ns())
    }

    /// What the links of a node carried so far.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn counters(&self, node: usize) -> PortCounters {
        self.simulation.network().counters(Port(node))
    }

    /// The network, to look at its frames or to tell it of faults.
    pub fn network_mut(&mut self) -> &mut Network {
        self.simulation.network_mut()
    }

    /// Goes to the next moment at which anything happens, and through a slice of time from there on, which is as
    /// long as the shortest frame takes from one card to another. False if nothing will ever happen by itself.
    ///
    /// # Errors
    /// The first card that failed.
    pub fn step(&mut self) -> Result<bool, SimulationError> {
        self.simulation.step()
    }

    /// Lets that much time pass, whether anything happens in it or not.
    ///
    /// # Errors
    /// The first card that failed.
    pub fn advance(&mut self, time: Duration) -> Result<(), SimulationError> {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.simulation.advance_to(self.simulation.now_ns().saturating_add(ns))
    }

    /// Lets the program's own code and the cards work in turns: `work`, which is told the time, posts and polls
    /// on any node; then a slice of time passes. It ends when `work` returns true. Where nothing happens by itself,
    /// up to 1 ms passes from one call of `work` to the next, for the sake of those who wait for time to pass. False
    /// if `work` has not returned true when `limit` has passed.
    ///
    /// # Errors
    /// What `work` returns, or the first card that failed.
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

/// The number that a network knows an address by.
fn mac_number(mac: MacAddress) -> u64 {
    mac.0.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests;
