//! A node in a process of its own: one card `soft:`, a wire that leads out of the process, and the machine's time.
//!
//! Nodes of a [`Fabric`](crate::Fabric) are in one process and share a simulated time. A [`WiredNode`] shares nothing with
//! others but the wire. Its card's time goes with the machine's clock, but not faster than the card gets its work
//! done: time in which the process did not run, or in which the card was behind, does not count. So a card's
//! time-outs are never shorter than they are told, and are longer on a busy machine.
//!
//! The owner calls [`turn`](WiredNode::turn) and [`wait`](WiredNode::wait) in a loop, on a thread of its own; other threads
//! post and poll on the node's context, and [kick](Wake::kick) when they have posted.

use std::{
    io,
    os::fd::OwnedFd,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use drdma_soft::{port::PortEnd, simulated::SimulatedCard};
use drdma_wire::{Traffic, Wire};
use libdrdma::{Context, Options};
use rustix::{
    event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll},
    io::Errno,
};

use crate::{
    FabricError, Node,
    nodes::{self, MAX_NODES},
};

/// How much of the card's time passes at most before frames are moved again, while it is at work: that of some frames.
const SLICE_NS: u64 = 20_000;
/// How much of the machine's time counts at most from one turn to the next.
const LONGEST_TURN: Duration = Duration::from_millis(100);
/// What passes before a full wire is tried again.
const RETRY: Duration = Duration::from_millis(1);

/// Wakes the thread that lets a node's time pass. Clones wake the same one.
#[derive(Clone, Debug)]
pub struct Wake(Arc<Waking>);

#[derive(Debug)]
struct Waking {
    asleep: AtomicBool,
    event: OwnedFd,
}

impl Wake {
    fn new() -> io::Result<Self> {
        let event = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self(Arc::new(Waking { asleep: AtomicBool::new(false), event })))
    }

    /// Says that something was posted: [`WiredNode::wait`] returns, or does not begin to wait.
    pub fn kick(&self) {
        if self.0.asleep.swap(false, Ordering::SeqCst) {
            // It is full only if the thread was woken often enough.
            let _ = rustix::io::write(&self.0.event, &1_u64.to_ne_bytes());
        }
    }

    fn drain(&self) {
        let _ = rustix::io::read(&self.0.event, &mut [0; 8]);
    }
}

/// A card `soft:`, open, and the wire that it is plugged into.
#[derive(Debug)]
pub struct WiredNode {
    card: SimulatedCard,
    port: PortEnd,
    node: Node,
    wake: Wake,
    /// When the last turn was.
    last: Instant,
}

impl WiredNode {
    /// A card with the addresses of that node, plugged into `wire`.
    ///
    /// # Errors
    /// A number above 253, a card that was not opened, or what the operating system says.
    pub fn open(wire: Box<dyn Wire>, node: usize) -> Result<Self, FabricError> {
        if node >= MAX_NODES {
            return Err(FabricError::Nodes { nodes: node.saturating_add(1) });
        }
        let wake = Wake::new().map_err(|source| FabricError::Wire { node, source })?;
        let card = SimulatedCard::endpoint();
        let (mac, ip) = nodes::addresses(node);
        let context = Context::open(card.card(), Options::new(mac, ip));
        let context = context.map_err(|source| FabricError::Open { node, source })?;
        let port = card.port(wire);
        let node = Node::new(context, mac, ip);
        Ok(Self { card, port, node, wake, last: Instant::now() })
    }

    /// The open card and its addresses.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// What wakes [`wait`](Self::wait).
    pub fn wake(&self) -> Wake {
        self.wake.clone()
    }

    /// What went over the wire so far.
    pub fn traffic(&self) -> Traffic {
        self.port.traffic()
    }

    /// Moves frames both ways and lets time pass for the card: as much as has passed since the last turn, but while the
    /// card is at work only 20 us, so that it hears what comes. False if nothing happened.
    ///
    /// # Errors
    /// The wire failed.
    pub fn turn(&mut self) -> io::Result<bool> {
        let now = Instant::now();
        let passed = now.duration_since(self.last).min(LONGEST_TURN).as_nanos() as u64;
        self.last = now;
        let start = self.card.now_ns();
        let received = self.port.receive(start)?;
        if self.port.is_congested() {
            self.port.send()?;
            return Ok(received);
        }
        let works = self.card.next_event_ns().filter(|next| received || *next <= start + passed);
        // A slice from the next thing that happens on; what is due behind that is for the next turn.
        let end = match works {
            Some(next) => {
                next.max(start).saturating_add(SLICE_NS).min(start + passed.max(SLICE_NS))
            }
            None => start + passed,
        };
        self.card.advance_to(end);
        self.card.take_host_frames();
        self.port.send()?;
        Ok(works.is_some())
    }

    /// Waits until a frame arrives, somebody [kicks](Wake::kick), or the card has something to do by itself, for so
    /// long at most.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn wait(&self, longest: Duration) -> io::Result<()> {
        self.wake.0.asleep.store(true, Ordering::SeqCst);
        // Whoever posts from here on kicks.
        let due = self.card.next_event_ns();
        let due = due.map(|due| Duration::from_nanos(due.saturating_sub(self.card.now_ns())));
        let longest = due.map_or(longest, |due| due.min(longest));
        let longest = if self.port.is_waiting() { RETRY.min(longest) } else { longest };
        let timeout = Timespec::try_from(longest).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
        let mut fds = vec![PollFd::new(&self.wake.0.event, PollFlags::IN)];
        fds.extend(self.port.fd().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        let polled = if longest.is_zero() { Ok(0) } else { poll(&mut fds, Some(&timeout)) };
        self.wake.0.asleep.store(false, Ordering::SeqCst);
        self.wake.drain();
        match polled {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests;
