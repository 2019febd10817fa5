//! The cards of a cluster in one process, and the thread that lets their time pass.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use drdma_abi::register::counter;
use drdma_fabric::{Fabric, FabricError, NetworkConfig, SimulationError};
use libdrdma::{Context, MacAddress};
use tokio::sync::watch;

/// Slices of simulated time between two ticks while something is under way.
const SLICES: u32 = 64;
/// How long the thread sleeps at most where nothing is under way.
const NAP: Duration = Duration::from_secs(1);

/// A card of the network, open, and its addresses.
#[derive(Clone, Debug)]
pub struct Port {
    context: Context,
    mac: MacAddress,
    ip: std::net::Ipv4Addr,
    time: Time,
}

impl Port {
    /// The open card.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Its Ethernet address.
    pub fn mac(&self) -> MacAddress {
        self.mac
    }

    /// Its IPv4 address.
    pub fn ip(&self) -> std::net::Ipv4Addr {
        self.ip
    }

    /// The time of its network.
    pub fn time(&self) -> &Time {
        &self.time
    }
}

/// A handle of the time that passes in a network.
#[derive(Clone, Debug)]
pub struct Time {
    ticks: watch::Receiver<u64>,
    thread: thread::Thread,
}

impl Time {
    /// Says that something was posted: time goes on, if it stood still.
    pub fn kick(&self) {
        self.thread.unpark();
    }

    /// A receiver that changes whenever cards may have done something.
    pub fn ticks(&self) -> watch::Receiver<u64> {
        self.ticks.clone()
    }
}

/// Cards `soft:` behind one switch, and a thread that lets their simulated time pass while anything is under way.
///
/// It stops when it is dropped. What is under way then stays so.
#[derive(Debug)]
pub struct Network {
    ports: Vec<Port>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), SimulationError>>>,
}

impl Network {
    /// So many cards on a network.
    ///
    /// # Errors
    /// A number of cards that is not possible, or a card that was not opened.
    pub fn new(config: NetworkConfig, cards: usize) -> Result<Self, FabricError> {
        let stop = Arc::new(AtomicBool::new(false));
        let (ticks, watcher) = watch::channel(0);
        let (made, wait) = mpsc::channel();
        let stopped = stop.clone();
        let thread = thread::Builder::new().name("drdma-network".into()).spawn(move || {
            // The fabric is made where it lives.
            let fabric = Fabric::new(config, cards).map(|fabric| {
                let nodes = fabric.nodes().to_vec();
                (fabric, nodes)
            });
            match fabric {
                Ok((fabric, nodes)) => {
                    let _ = made.send(Ok(nodes));
                    pass(fabric, &ticks, &stopped)
                }
                Err(error) => {
                    let _ = made.send(Err(error));
                    Ok(())
                }
            }
        });
        let thread = thread.expect("the system starts a thread");
        let nodes = wait.recv().expect("the thread says what it made")?;
        let time = Time { ticks: watcher, thread: thread.thread().clone() };
        let port = |node: &drdma_fabric::Node| Port {
            context: node.context().clone(),
            mac: node.mac(),
            ip: node.ip(),
            time: time.clone(),
        };
        let ports = nodes.iter().map(port).collect();
        Ok(Self { ports, stop, thread: Some(thread) })
    }

    /// The cards, in their order.
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A card that failed has failed the queries on it, too.
            let _ = thread.join();
        }
    }
}

/// Lets time pass until it is told to stop.
fn pass(
    mut fabric: Fabric,
    ticks: &watch::Sender<u64>,
    stop: &AtomicBool,
) -> Result<(), SimulationError> {
    while !stop.load(Ordering::Relaxed) {
        let mut is_idle = false;
        for _ in 0..SLICES {
            if !fabric.step()? {
                is_idle = true;
                break;
            }
        }
        ticks.send_modify(|tick| *tick += 1);
        if is_idle {
            // What was posted meanwhile has unparked this thread, so that it does not sleep.
            thread::park_timeout(NAP);
        }
    }
    Ok(())
}

/// What cards have sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Payload bytes.
    pub payload: u64,
    /// Packets.
    pub packets: u64,
    /// Work requests.
    pub requests: u64,
}

impl Totals {
    /// Those of some cards together. A card that fails counts nothing.
    pub fn of(ports: &[Port]) -> Self {
        let mut totals = Self::default();
        for counters in ports.iter().filter_map(|port| port.context.counters().ok()) {
            totals.payload += counters.get(counter::PAYLOAD_BYTES);
            totals.packets += counters.get(counter::PACKETS);
            totals.requests += counters.get(counter::WORK_REQUESTS);
        }
        totals
    }

    /// What was sent since `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            payload: self.payload - before.payload,
            packets: self.packets - before.packets,
            requests: self.requests - before.requests,
        }
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { payload, packets, requests } = self;
        write!(f, "the cards sent {payload} B in {packets} packets for {requests} requests")
    }
}
