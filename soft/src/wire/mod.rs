//! The wire: a switch, the peers behind it, and a capture of what the card sends.
//!
//! A card holds a [`Network`] handle, passes every frame that it sends to [`Network::transmit`] and
//! takes arriving frames from [`Network::receive`]. Tests and tools hold another handle of the same
//! network, through which they add peers and inspect the messages that arrived there.

mod answer;
pub mod capture;
pub mod config;
pub mod peer;
pub mod sparse;

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    io::{self, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::{Buf as _, Bytes};
use drdma_abi::roce::{Ethernet, VlanTag, WIRE_OVERHEAD};

use crate::clock::SimClock;
pub use answer::{Answer, Answered};
pub use capture::{Capture, CapturedFrame};
pub use config::{Behaviour, PeerConfig, RemoteMemory};
use drdma_semantics::frame::{Frame, FrameError};
pub use peer::{Message, MessageKind, Peer, PeerError};
pub use sparse::{content, content_at};

/// A peer of a [`Network`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PeerId(usize);

/// Error in the frames that the card sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// A frame is not a valid RoCEv2 frame.
    #[error("frame {frame}: {error}")]
    Frame {
        /// The frame's number, from 0.
        frame: u64,
        /// Error of the frame.
        error: FrameError,
    },
    /// A frame has bytes behind the IP packet.
    #[error("frame {frame}: {bytes} B behind the IPv4 packet")]
    Trailing {
        /// The frame's number, from 0.
        frame: u64,
        /// Number of these bytes.
        bytes: usize,
    },
    /// A frame is for an address or queue pair without a peer.
    #[error("frame {frame}: nobody at MAC {mac:012x}, IPv4 {ip:#010x}, queue pair {qpn}")]
    NoPeer {
        /// The frame's number, from 0.
        frame: u64,
        /// Destination MAC address.
        mac: u64,
        /// Destination IPv4 address.
        ip: u32,
        /// Destination queue pair.
        qpn: u32,
    },
    /// A peer found an error.
    #[error("peer with queue pair {qpn}: {error}")]
    Peer {
        /// The peer's queue pair number.
        qpn: u32,
        /// Error that the peer found.
        error: PeerError,
    },
    /// The capture could not be written.
    #[error("the capture: {0}")]
    Capture(String),
}

/// Counts of the frames that the card sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of frames.
    pub frames: u64,
    /// Number of bytes of the frames, without FCS.
    pub frame_bytes: u64,
    /// Number of bytes on the wire: with preamble, gap and FCS.
    pub wire_bytes: u64,
    /// Time of the first frame in nanoseconds.
    pub first_ns: u64,
    /// Time of the last frame in nanoseconds.
    pub last_ns: u64,
}

#[derive(Debug, Default)]
struct State {
    peers: Vec<Peer>,
    by_address: HashMap<(u64, u32, u32), Vec<usize>>,
    /// Frames to the card, by time of arrival and then by order.
    to_card: BTreeMap<(u64, u64), Vec<u8>>,
    sequence: u64,
    capture: Option<Capture>,
    kept: Option<Vec<CapturedFrame>>,
    /// Numbers of the frames that the switch loses.
    lost: Vec<u64>,
    traffic: Traffic,
    errors: Vec<WireError>,
    port: Port,
    cable: Option<Cable>,
    /// Every address has a peer.
    everywhere: bool,
    /// Time at which the last answer to a READ or an atomic has arrived at the card, in
    /// picoseconds.
    answered_ps: u64,
}

/// Directions in which the port of the card is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// Frames are sent; with a closed port they wait in its FIFO of [`PORT_FIFO`] bytes.
    pub transmit: bool,
    /// Frames arrive; with a closed port they are lost.
    pub receive: bool,
}

impl Default for Port {
    fn default() -> Self {
        Self { transmit: true, receive: true }
    }
}

/// Number of picoseconds in a nanosecond.
const PS_PER_NS: u64 = 1000;
/// Time of a byte on the link to the card in picoseconds, at 100 Gb/s.
const PS_PER_BYTE: u64 = 80;

/// Size of the transmit FIFO in bytes.
pub const PORT_FIFO: usize = 32 * 1024;

/// A cable that leads out of the simulation; its other end is outside of this crate.
#[derive(Debug, Default)]
struct Cable {
    /// Frames of the card that wait to be taken.
    sent: VecDeque<Frames>,
    /// Frames that wait for the port to be opened.
    held: VecDeque<CapturedFrame>,
    lost: u64,
}

/// Frames of one length, one behind the other; the last one may be shorter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frames {
    /// Time at which the first frame was sent, in nanoseconds.
    pub time_ns: u64,
    /// Bytes of the frames, without FCS.
    pub bytes: Bytes,
    /// Length of each frame in bytes.
    pub len: usize,
    /// Index of the queue pair whose messages the frames belong to; `None`: they must stay in their
    /// place among all frames.
    pub queue_pair: Option<usize>,
}

impl Frames {
    /// Number of frames.
    pub fn count(&self) -> usize {
        self.bytes.len().div_ceil(self.len)
    }

    /// Iterates over the frames.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks(self.len)
    }

    /// Drops the first `count` frames.
    pub fn advance(&mut self, count: usize) {
        self.bytes.advance((count * self.len).min(self.bytes.len()));
    }
}

/// A handle of a simulated network. Clones are handles of the same one.
#[derive(Clone, Debug, Default)]
pub struct Network {
    state: Arc<Mutex<State>>,
    clock: SimClock,
}

impl Network {
    /// A network without peers.
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A test that panicked in `with_peer` leaves the network usable.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a peer. Several peers may have the same address: each takes the packets of its queue
    /// pair of the card, which the UDP source port identifies. A peer with the address and queue
    /// pair of an earlier one replaces it.
    pub fn add_peer(&self, config: PeerConfig) -> PeerId {
        PeerId(self.state().add_peer(config))
    }

    /// From now on there is a peer at every address that the card sends to and that has none, which
    /// behaves as [`Behaviour::Anything`]. It answers queue pairs of the card whose numbers are
    /// below 16,384: the UDP source port does not distinguish more of them.
    pub fn answer_everywhere(&self) {
        self.state().everywhere = true;
    }

    /// Returns all peers, in the order in which they were added.
    pub fn peers(&self) -> Vec<PeerId> {
        (0..self.state().peers.len()).map(PeerId).collect()
    }

    /// Adds peers, in order.
    pub fn add_peers(&self, configs: impl IntoIterator<Item = PeerConfig>) -> Vec<PeerId> {
        configs.into_iter().map(|config| self.add_peer(config)).collect()
    }

    /// Gives access to a peer, to inspect or change it.
    ///
    /// # Panics
    /// If the peer belongs to another network.
    pub fn with_peer<R>(&self, id: PeerId, look: impl FnOnce(&mut Peer) -> R) -> R {
        look(&mut self.state().peers[id.0])
    }

    /// The messages that arrived at a peer so far.
    pub fn messages(&self, id: PeerId) -> Vec<Message> {
        self.with_peer(id, |peer| peer.messages().to_vec())
    }

    /// Returns all errors in the card's frames: first those of frames, then peer by peer.
    pub fn errors(&self) -> Vec<WireError> {
        let state = self.state();
        let mut errors = state.errors.clone();
        for peer in &state.peers {
            let qpn = peer.config().qpn;
            errors.extend(
                peer.errors().iter().map(|error| WireError::Peer { qpn, error: error.clone() }),
            );
        }
        errors
    }

    /// Writes every frame that leaves the card from now on to `out`, as pcap.
    ///
    /// # Errors
    /// The error of `out` on writing the file's header. Later errors are in [`Network::errors`].
    pub fn capture_to(&self, out: impl Write + Send + 'static) -> io::Result<()> {
        self.state().capture = Some(Capture::new(out)?);
        Ok(())
    }

    /// Flushes the buffered frames of the capture.
    ///
    /// # Errors
    /// The error of the capture's output.
    pub fn flush_capture(&self) -> io::Result<()> {
        self.state().capture.as_mut().map_or(Ok(()), Capture::flush)
    }

    /// Keeps every frame that leaves the card from now on, for [`Network::frames`].
    pub fn keep_frames(&self) {
        self.state().kept.get_or_insert_default();
    }

    /// The frames kept so far.
    pub fn frames(&self) -> Vec<CapturedFrame> {
        self.state().kept.clone().unwrap_or_default()
    }

    /// Makes the switch lose the frame of that number, counted from 0 since the network was made.
    pub fn lose_frame(&self, number: u64) {
        self.state().lost.push(number);
    }

    /// Counts of the frames that the card sent so far.
    pub fn traffic(&self) -> Traffic {
        self.state().traffic
    }

    /// Returns the clock of the card that is plugged in here.
    pub fn clock(&self) -> &SimClock {
        &self.clock
    }

    /// Takes a frame, without FCS, that leaves the card at `time_ns`.
    pub fn transmit(&self, frame: &[u8], time_ns: u64) {
        self.state().transmit(frame, time_ns);
    }

    /// Like [`transmit`](Self::transmit), for frames of one length, one behind the other; the last
    /// one may be shorter.
    pub(crate) fn transmit_run(&self, bytes: Bytes, len: usize, queue_pair: usize, time_ns: u64) {
        self.state().transmit_run(Frames { time_ns, bytes, len, queue_pair: Some(queue_pair) });
    }

    /// Takes the next frame, without FCS, that has arrived at the card by `time_ns`.
    pub fn receive(&self, time_ns: u64) -> Option<Vec<u8>> {
        let mut state = self.state();
        let entry = state.to_card.first_entry()?;
        (entry.key().0 <= time_ns).then(|| entry.remove())
    }

    /// Time in nanoseconds at which the next frame arrives at the card.
    pub fn next_arrival(&self) -> Option<u64> {
        self.state().to_card.first_key_value().map(|((time_ns, _), _)| *time_ns)
    }

    /// True if a frame is on its way to the card.
    pub fn is_receiving(&self) -> bool {
        !self.state().to_card.is_empty()
    }

    /// True if frames arrive through the port.
    pub(crate) fn is_port_open(&self) -> bool {
        self.state().port.receive
    }

    /// Sends a frame, valid or not, to the card; it arrives at `time_ns`.
    pub fn inject(&self, frame: Vec<u8>, time_ns: u64) {
        let mut state = self.state();
        if state.port.receive {
            state.deliver(frame, time_ns);
        } else if let Some(cable) = &mut state.cable {
            cable.lost += 1;
        }
    }

    /// Plugs in a cable that leads out of the simulation: from now on, frames of the card go to
    /// [`Network::take_sent`] instead of peers, and are not checked.
    pub fn plug_cable(&self) {
        self.state().cable.get_or_insert_default();
    }

    /// Takes the next frame of the card that is sent through the cable.
    pub fn take_sent(&self) -> Option<CapturedFrame> {
        let mut state = self.state();
        let sent = &mut state.cable.as_mut()?.sent;
        let first = sent.front_mut()?;
        let frame = first.iter().next()?.to_vec();
        let time_ns = first.time_ns;
        first.advance(1);
        if first.bytes.is_empty() {
            sent.pop_front();
        }
        Some(CapturedFrame { time_ns, bytes: frame })
    }

    /// Appends all frames of the card that are sent through the cable to `out`.
    pub(crate) fn take_all_sent(&self, out: &mut VecDeque<Frames>) {
        if let Some(cable) = &mut self.state().cable {
            out.append(&mut cable.sent);
        }
    }

    /// Opens or closes the card's port. Only a port with a cable closes its transmitting side.
    pub fn set_port(&self, port: Port) {
        let mut state = self.state();
        state.port = port;
        if port.transmit
            && let Some(held) = state.cable.as_mut().map(|cable| std::mem::take(&mut cable.held))
        {
            held.iter().for_each(|frame| state.transmit(&frame.bytes, frame.time_ns));
        }
    }

    /// True if frames are sent through the port.
    pub fn is_transmitting(&self) -> bool {
        let state = self.state();
        state.port.transmit || state.cable.is_none()
    }

    /// Drops the frames that wait at the port, in both directions, as a reset does.
    pub fn forget_frames(&self) {
        let mut state = self.state();
        state.to_card.clear();
        if let Some(cable) = &mut state.cable {
            cable.held.clear();
        }
    }

    /// Number of frames that were lost because the port was closed.
    pub fn lost_at_port(&self) -> u64 {
        self.state().cable.as_ref().map_or(0, |cable| cable.lost)
    }
}

impl State {
    fn add_peer(&mut self, config: PeerConfig) -> usize {
        let Self { peers, by_address, .. } = self;
        let same_address = by_address.entry((config.mac, config.ip, config.qpn)).or_default();
        same_address.retain(|id| peers[*id].config().card_qpn != config.card_qpn);
        same_address.push(peers.len());
        peers.push(Peer::new(config));
        peers.len() - 1
    }

    fn deliver(&mut self, frame: Vec<u8>, time_ns: u64) {
        self.sequence += 1;
        self.to_card.insert((time_ns, self.sequence), frame);
    }

    fn transmit_run(&mut self, frames: Frames) {
        let watched = self.capture.is_some() || self.kept.is_some() || !self.lost.is_empty();
        let Some(cable) = self.cable.as_mut().filter(|_| self.port.transmit && !watched) else {
            frames.iter().for_each(|frame| self.transmit(frame, frames.time_ns));
            return;
        };
        let (count, bytes, time_ns) = (frames.count(), frames.bytes.len(), frames.time_ns);
        cable.sent.push_back(frames);
        if self.traffic.frames == 0 {
            self.traffic.first_ns = time_ns;
        }
        self.traffic.frames += count as u64;
        self.traffic.frame_bytes += bytes as u64;
        self.traffic.wire_bytes += (bytes + count * WIRE_OVERHEAD) as u64;
        self.traffic.last_ns = time_ns;
    }

    fn transmit(&mut self, bytes: &[u8], time_ns: u64) {
        if let Some(cable) = &mut self.cable
            && !self.port.transmit
        {
            let held: usize = cable.held.iter().map(|frame| frame.bytes.len()).sum();
            match held + bytes.len() <= PORT_FIFO {
                true => cable.held.push_back(CapturedFrame { time_ns, bytes: bytes.to_vec() }),
                false => cable.lost += 1,
            }
            return;
        }
        let number = self.traffic.frames;
        if number == 0 {
            self.traffic.first_ns = time_ns;
        }
        self.traffic.frames += 1;
        self.traffic.frame_bytes += bytes.len() as u64;
        self.traffic.wire_bytes += (bytes.len() + WIRE_OVERHEAD) as u64;
        self.traffic.last_ns = time_ns;
        if let Some(capture) = &mut self.capture
            && let Err(error) = capture.write(bytes, time_ns)
        {
            self.errors.push(WireError::Capture(error.to_string()));
            self.capture = None;
        }
        if let Some(kept) = &mut self.kept {
            kept.push(CapturedFrame { time_ns, bytes: bytes.to_vec() });
        }
        if self.lost.contains(&number) {
            return;
        }
        if let Some(cable) = &mut self.cable {
            let len = bytes.len();
            let bytes = bytes.to_vec().into();
            cable.sent.push_back(Frames { time_ns, bytes, len, queue_pair: None });
            return;
        }
        let frame = match Frame::parse(bytes) {
            Ok(frame) => frame,
            Err(error) => {
                self.errors.push(WireError::Frame { frame: number, error });
                return;
            }
        };
        let link = Ethernet::SIZE + frame.tag.map_or(0, |_| VlanTag::SIZE);
        let trailing = bytes.len() - link - usize::from(frame.ip.total_length);
        if trailing > 0 {
            self.errors.push(WireError::Trailing { frame: number, bytes: trailing });
        }
        let address = (frame.ethernet.destination, frame.ip.destination, frame.bth.dest_qp);
        let ids = self.by_address.get(&address).map_or(&[][..], |ids| &ids[..]);
        let port = frame.udp.source_port;
        let own = |id: &&usize| {
            let card_qpn = self.peers[**id].config().card_qpn;
            drdma_semantics::packets::source_port(card_qpn) == port
        };
        let own = ids.iter().find(own).or(ids.first()).copied();
        let (mac, ip, qpn) = address;
        let id = match own {
            Some(id) => id,
            None if self.everywhere => {
                let card_qpn = u32::from(port & 0x3fff);
                // The transport of a congestion notification packet is not known from the packet.
                let transport = frame.transport().unwrap_or(drdma_abi::roce::Transport::Rc);
                let mut config = PeerConfig::new(transport, mac, ip, qpn, card_qpn);
                config.behaviour = Behaviour::Anything;
                self.add_peer(config)
            }
            None => {
                self.errors.push(WireError::NoPeer { frame: number, mac, ip, qpn });
                return;
            }
        };
        let peer = &mut self.peers[id];
        let due = time_ns.saturating_add(peer.config().answer_delay_ns);
        match peer.receive(&frame) {
            Answer::Nothing => {}
            // An acknowledgement does not overtake data, and takes no time on the link.
            Answer::Acknowledgement(frame) => {
                let at = due.max(self.answered_ps.div_ceil(PS_PER_NS));
                self.deliver(frame, at);
            }
            Answer::Data(frames) => {
                self.answered_ps = self.answered_ps.max(due.saturating_mul(PS_PER_NS));
                for frame in frames {
                    let wire_bytes = (frame.len() + WIRE_OVERHEAD) as u64;
                    self.answered_ps = self.answered_ps.saturating_add(wire_bytes * PS_PER_BYTE);
                    self.deliver(frame, self.answered_ps.div_ceil(PS_PER_NS));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
