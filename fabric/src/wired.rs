//! A node in a process of its own: one card `soft:`, a wire that leads out of the process, and the machine's time.
//!
//! Nodes of a [`Fabric`](crate::Fabric) are in one process and share a simulated time. A
//! [`WiredNode`] shares only the wire with others. Its card's time follows the machine's clock, but
//! not faster than the card gets its work done: time in which the process did not run, or in which
//! the card was behind, does not count. So a card's time-outs are never shorter than they are set,
//! and are longer on a busy machine.
//!
//! The owner calls [`turn`](WiredNode::turn) and [`wait`](WiredNode::wait) in a loop, on a thread of its own; other
//! threads post and poll on the node's context, and [kick](Wake::kick) when they have posted.

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

/// Longest step of the card's time in nanoseconds before frames are moved again, while the card is
/// working: the time of some frames.
const SLICE_NS: u64 = 20_000;
/// Longest interval of the machine's time that counts from one turn to the next.
const LONGEST_TURN: Duration = Duration::from_millis(100);
/// Interval before sending over a full wire is tried again.
const RETRY: Duration = Duration::from_millis(1);

/// Wakes the thread that advances a node's time. Clones wake the same thread.
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

    /// Notes that work was posted: [`WiredNode::wait`] returns, or does not begin to wait.
    pub fn kick(&self) {
        if self.0.asleep.swap(false, Ordering::SeqCst) {
            // The counter can only be full if the thread was woken often enough.
            let _ = rustix::io::write(&self.0.event, &1_u64.to_ne_bytes());
        }
    }

    fn drain(&self) {
        let _ = rustix::io::read(&self.0.event, &mut [0; 8]);
    }
}

/// An open card `soft:`, and the wire that it is plugged into.
#[derive(Debug)]
pub struct WiredNode {
    card: SimulatedCard,
    port: PortEnd,
    node: Node,
    wake: Wake,
    /// Time of the last turn.
    last: Instant,
}

impl WiredNode {
    /// Opens a card with the addresses of that node, plugged into `wire`.
    ///
    /// # Errors
    /// A number above 253, a card that could not be opened, or an error of the operating system.
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

    /// Returns a handle that wakes [`wait`](Self::wait).
    pub fn wake(&self) -> Wake {
        self.wake.clone()
    }

    /// Counts of the frames that went over the wire so far.
    pub fn traffic(&self) -> Traffic {
        self.port.traffic()
    }

    /// Moves frames in both directions and advances the card's time by the time since the last
    /// turn, but while the card is working by only 20 us, so that it receives frames in time. False
    /// if nothing happened.
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
        // The slice begins with the next event; events behind its end are left to the next turn.
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

    /// Waits until a frame arrives, a thread [kicks](Wake::kick), or an event of the card is due,
    /// for at most `longest`.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn wait(&self, longest: Duration) -> io::Result<()> {
        self.wake.0.asleep.store(true, Ordering::SeqCst);
        // Posts from here on are followed by a kick.
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
