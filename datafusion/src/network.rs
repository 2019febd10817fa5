//! The cards of a cluster, and the thread that lets their time pass: all of them in one process ([`Network`]), or one
//! of a process of its own ([`Wired`]).

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use drdma_abi::register::counter;
use drdma_fabric::{Fabric, FabricError, NetworkConfig, Node, SimulationError, Wake, WiredNode};
use drdma_wire::Wire;
use libdrdma::{CompletionQueue, Context, MacAddress};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::{
    Error,
    cpu::{CardClock, CardTime},
};

/// Slices of simulated time between two looks for completions while something is under way.
const SLICES: u32 = 64;
/// Turns of a wired card between two looks for completions while something is under way.
const TURNS: u32 = 16;
/// Time that the thread sleeps at most where nothing is under way.
const NAP: Duration = Duration::from_secs(1);

/// A card of the network, open, and its addresses.
#[derive(Clone, Debug)]
pub struct Port {
    context: Context,
    mac: MacAddress,
    ip: std::net::Ipv4Addr,
    time: Time,
    card_time: CardTime,
}

impl Port {
    fn new(node: &Node, time: Time, card_time: CardTime) -> Self {
        Self { context: node.context().clone(), mac: node.mac(), ip: node.ip(), time, card_time }
    }

    /// The open card.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Ethernet address of the card.
    pub fn mac(&self) -> MacAddress {
        self.mac
    }

    /// IPv4 address of the card.
    pub fn ip(&self) -> std::net::Ipv4Addr {
        self.ip
    }

    /// The time of its network.
    pub fn time(&self) -> &Time {
        &self.time
    }

    /// CPU time of the thread that does the card's work, and that of the other cards of its network.
    pub fn card_time(&self) -> Duration {
        self.card_time.get()
    }
}

/// A handle of the time that passes in a network.
#[derive(Clone)]
pub struct Time {
    waiters: Arc<Waiters>,
    wake: Arc<dyn Fn() + Send + Sync>,
    failure: Arc<OnceLock<String>>,
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Time").field("failure", &self.failure).finish_non_exhaustive()
    }
}

impl Time {
    /// Wakes the network after something was posted: time goes on, if it stood still.
    pub fn kick(&self) {
        (self.wake)();
    }

    /// One that waits for completions of these queues.
    pub(crate) fn waiter(&self, queues: Vec<CompletionQueue>) -> Waiter {
        let waiting = Arc::new(Waiting { queues, notify: Notify::new() });
        self.waiters.list().push(waiting.clone());
        Waiter { waiting, waiters: self.waiters.clone() }
    }

    /// The error for a task that waits for completions when none come any more.
    pub fn stopped(&self) -> Error {
        let reason = self.failure.get().cloned();
        Error::Stopped { reason: reason.unwrap_or_else(|| "the worker ends".into()) }
    }
}

/// A task that waits for completions.
#[derive(Debug)]
struct Waiting {
    queues: Vec<CompletionQueue>,
    notify: Notify,
}

/// The tasks that wait for completions of a network's cards. The network's thread looks at their queues: if it woke all
/// of them whenever a card has made progress, each would look, and most in vain.
#[derive(Debug, Default)]
struct Waiters {
    list: Mutex<Vec<Arc<Waiting>>>,
    /// No more completions come.
    closed: AtomicBool,
}

impl Waiters {
    fn list(&self) -> MutexGuard<'_, Vec<Arc<Waiting>>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes those for whom something has completed.
    fn look(&self) {
        for waiting in self.list().iter() {
            if waiting.queues.iter().any(CompletionQueue::may_have_completion) {
                waiting.notify.notify_one();
            }
        }
    }

    /// Wakes all, as no more completions come.
    fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.list().iter().for_each(|waiting| waiting.notify.notify_one());
    }
}

/// No more completions come: the network's thread has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closed;

/// Waits for completions of some queues, as long as it is there.
#[derive(Debug)]
pub(crate) struct Waiter {
    waiting: Arc<Waiting>,
    waiters: Arc<Waiters>,
}

impl Waiter {
    /// Waits until one of the queues may have something to poll. A wait that is given up loses nothing.
    pub async fn ready(&self) -> Result<(), Closed> {
        let is_closed = || self.waiters.closed.load(Ordering::SeqCst);
        if !is_closed() {
            self.waiting.notify.notified().await;
        }
        if is_closed() { Err(Closed) } else { Ok(()) }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.waiters.list().retain(|other| !Arc::ptr_eq(other, &self.waiting));
    }
}

/// Cards `soft:` behind one switch, and a thread that lets their simulated time pass while anything is under way.
///
/// The thread stops when this is dropped. What is under way then stays unfinished.
#[derive(Debug)]
pub struct Network {
    ports: Vec<Port>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Network {
    /// Makes `cards` cards on a network.
    ///
    /// # Errors
    /// A number of cards that is not possible, or a card that was not opened.
    pub fn new(config: NetworkConfig, cards: usize) -> Result<Self, FabricError> {
        let stop = Arc::new(AtomicBool::new(false));
        let waiters = Arc::new(Waiters::default());
        let (made, wait) = mpsc::channel();
        let stopped = stop.clone();
        let failure = Arc::new(OnceLock::new());
        let (failed, woken) = (failure.clone(), waiters.clone());
        let card_time = CardTime::default();
        let clock = CardClock::new(card_time.clone());
        let thread = thread::Builder::new().name("drdma-network".into()).spawn(move || {
            // The fabric is made on the thread that uses it.
            let fabric = Fabric::new(config, cards).map(|fabric| {
                let nodes = fabric.nodes().to_vec();
                (fabric, nodes)
            });
            match fabric {
                Ok((fabric, nodes)) => {
                    let _ = made.send(Ok(nodes));
                    if let Err(error) = pass(fabric, clock, &woken, &stopped) {
                        let _ = failed.set(error.to_string());
                    }
                    woken.close();
                }
                Err(error) => drop(made.send(Err(error))),
            }
        });
        let thread = thread.expect("the system starts a thread");
        let nodes = wait.recv().expect("the thread says what it made")?;
        let unpark = thread.thread().clone();
        let time = Time { waiters, wake: Arc::new(move || unpark.unpark()), failure };
        let port = |node| Port::new(node, time.clone(), card_time.clone());
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
            // If a card failed, the queries on it have failed, too.
            let _ = thread.join();
        }
    }
}

/// Advances the time of a fabric until `stop` is set.
fn pass(
    mut fabric: Fabric,
    mut clock: CardClock,
    waiters: &Waiters,
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
        clock.uncounted(|| waiters.look());
        if is_idle {
            // A post since the last slice has unparked this thread, so that it does not sleep.
            thread::park_timeout(NAP);
        }
    }
    Ok(())
}

/// The card `soft:` of a worker that is a process of its own, and a thread that lets its time pass.
///
/// The thread stops when this is dropped.
#[derive(Debug)]
pub struct Wired {
    port: Port,
    stop: Arc<AtomicBool>,
    wake: Wake,
    thread: Option<JoinHandle<()>>,
}

impl Wired {
    /// The card of worker `number`, whose port is plugged into `wire`.
    ///
    /// # Errors
    /// See [`WiredNode::open`].
    pub fn new(wire: Box<dyn Wire>, number: usize) -> Result<Self, FabricError> {
        let node = WiredNode::open(wire, number)?;
        let (stop, failure) = (Arc::new(AtomicBool::new(false)), Arc::new(OnceLock::new()));
        let waiters = Arc::new(Waiters::default());
        let (wake, kicked) = (node.wake(), node.wake());
        let time = Time {
            waiters: waiters.clone(),
            wake: Arc::new(move || kicked.kick()),
            failure: failure.clone(),
        };
        let card_time = CardTime::default();
        let clock = CardClock::new(card_time.clone());
        let port = Port::new(node.node(), time, card_time);
        let stopped = stop.clone();
        let thread = thread::Builder::new().name("drdma-card".into()).spawn(move || {
            if let Err(error) = pass_wired(node, clock, &waiters, &stopped) {
                let _ = failure.set(error.to_string());
            }
            waiters.close();
        });
        let thread = Some(thread.expect("the system starts a thread"));
        Ok(Self { port, stop, wake, thread })
    }

    /// The card, open.
    pub fn port(&self) -> &Port {
        &self.port
    }
}

impl Drop for Wired {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.wake.kick();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Advances the time of a card until `stop` is set.
fn pass_wired(
    mut node: WiredNode,
    mut clock: CardClock,
    waiters: &Waiters,
    stop: &AtomicBool,
) -> std::io::Result<()> {
    // Turns in which something happened since those that wait were looked for.
    let mut turns = 0;
    while !stop.load(Ordering::Relaxed) {
        let is_idle = !node.turn()?;
        turns += u32::from(!is_idle);
        if turns >= TURNS || is_idle && turns > 0 {
            clock.uncounted(|| waiters.look());
            turns = 0;
        }
        if is_idle {
            clock.note();
            node.wait(NAP)?;
        }
    }
    Ok(())
}

/// Counts of what cards have sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Number of payload bytes.
    pub payload: u64,
    /// Number of packets.
    pub packets: u64,
    /// Number of work requests.
    pub requests: u64,
}

impl Totals {
    /// Counts of a card; zeros if it failed.
    pub fn of(port: &Port) -> Self {
        let Ok(counters) = port.context.counters() else { return Self::default() };
        Self {
            payload: counters.get(counter::PAYLOAD_BYTES),
            packets: counters.get(counter::PACKETS),
            requests: counters.get(counter::WORK_REQUESTS),
        }
    }

    /// Counts of what was sent since `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            payload: self.payload.saturating_sub(before.payload),
            packets: self.packets.saturating_sub(before.packets),
            requests: self.requests.saturating_sub(before.requests),
        }
    }
}

impl std::iter::Sum for Totals {
    fn sum<I: Iterator<Item = Self>>(totals: I) -> Self {
        totals.fold(Self::default(), |sum, totals| Self {
            payload: sum.payload + totals.payload,
            packets: sum.packets + totals.packets,
            requests: sum.requests + totals.requests,
        })
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { payload, packets, requests } = self;
        write!(f, "the cards sent {payload} B in {packets} packets for {requests} requests")
    }
}
