//! A wire of UDP datagrams, a frame a datagram: this end, and one or several others, in other processes or on other
//! hosts.
//!
//! It is a switch as well. The destination of a frame is learnt from received frames: one to an
//! Ethernet address that was seen goes to the end that it was seen at, any other to all ends.
//! Nothing is encrypted, and anybody who can send with the address of an end can send frames: it is
//! for networks whose hosts trust each other.
//!
//! Datagrams may be lost, doubled and overtaken, as frames may. They are not cut into pieces: a frame that is longer
//! than the network between the hosts takes is an error.
//!
//! Frames of one length that go to the same end, one behind the other, are one call to the operating system, which
//! makes datagrams of them (UDP segmentation offload), and one call receives as many as have arrived. A frame of 4 KiB
//! in bursts of 6 costs a quarter of the time that it costs alone.

use std::{
    collections::HashMap,
    io::{self, IoSliceMut},
    iter,
    net::{SocketAddr, UdpSocket},
    os::fd::{AsFd, BorrowedFd},
};

use quinn_udp::{RecvMeta, Transmit, UdpSocketState};
use rustix::{io::Errno, net::sockopt};

use super::{Sent, Wire};

/// Size in bytes of the receive buffer that is asked for. The system gives at most
/// `net.core.rmem_max` to processes without privileges.
const RECEIVE_BUFFER: usize = 16 << 20;
/// Largest number of Ethernet addresses that are remembered; frames to others go to all ends.
const ADDRESSES: usize = 4096;
/// Number of times that one call receives if only datagrams of strangers arrive.
const STRANGERS: usize = 64;
/// Largest number of bytes of datagrams that are passed to the operating system as one, to be cut
/// into segments; the system may also combine as many on receipt.
const MAX_SEGMENTED: usize = 65_000;
/// Number of buffers that one call receives into. Each takes a datagram, or several that the
/// operating system has combined.
const BUFFERS: usize = 8;
/// Size of such a buffer in bytes: that of the longest datagram.
const BUFFER: usize = 65_536;

/// An Ethernet address.
type Mac = [u8; 6];

/// This end of the wire.
#[derive(Debug)]
pub struct Udp {
    socket: UdpSocket,
    remotes: Vec<SocketAddr>,
    /// Index in `remotes` of the end at which each Ethernet address was seen.
    seen_at: HashMap<Mac, usize>,
    /// The address that was seen last, and its end: nearly always, the next frame has the same.
    seen_last: Option<(Mac, usize)>,
    /// Sends and receives several datagrams in one call.
    offload: UdpSocketState,
    /// Frames that are sent in one call, one behind the other.
    outgoing: Vec<u8>,
    /// [`BUFFERS`] buffers for arriving datagrams.
    arriving: Vec<u8>,
}

impl Udp {
    /// Receives at `local` from now on frames of the ends at `remotes`. These may come and go.
    ///
    /// # Errors
    /// No remote end, or one whose address is of another kind (IPv4, IPv6) than the local one;
    /// another process receives at `local`, or another error of the operating system.
    pub fn open(local: SocketAddr, remotes: &[SocketAddr]) -> io::Result<Self> {
        Self::over(UdpSocket::bind(local)?, remotes)
    }

    /// Like [`open`](Self::open), with a socket that is bound already.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn over(socket: UdpSocket, remotes: &[SocketAddr]) -> io::Result<Self> {
        let local = socket.local_addr()?;
        let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidInput, what);
        if let Some(other) = remotes.iter().find(|remote| remote.is_ipv4() != local.is_ipv4()) {
            return Err(invalid(format!("{local} cannot send to {other}: one is IPv4, one IPv6")));
        }
        if let Some(nowhere) = remotes.iter().find(|remote| remote.port() == 0) {
            return Err(invalid(format!("{nowhere} is no address to send to: its port is 0")));
        }
        let offload = UdpSocketState::new((&socket).into())?;
        if sockopt::set_socket_recv_buffer_size_force(&socket, RECEIVE_BUFFER).is_err() {
            sockopt::set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER)?;
        }
        if local.is_ipv4() {
            // If a path turns out to have a smaller MTU, sending fails instead of losing frames
            // silently.
            sockopt::set_ip_mtu_discover(&socket, sockopt::Ipv4PathMtuDiscovery::DO)?;
        }
        Ok(Self {
            socket,
            remotes: remotes.to_vec(),
            seen_at: HashMap::new(),
            seen_last: None,
            offload,
            outgoing: Vec::new(),
            arriving: vec![0; BUFFERS * BUFFER],
        })
    }

    /// Address at which this end receives.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn local(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Sets the end of an Ethernet address, so that no frame for it goes to all ends.
    ///
    /// # Panics
    /// If there is no such end.
    pub fn learn(&mut self, mac: Mac, remote: usize) {
        assert!(remote < self.remotes.len(), "end {remote} of {}", self.remotes.len());
        if self.seen_last == Some((mac, remote)) {
            return;
        }
        let is_unicast = mac[0] & 1 == 0;
        if is_unicast && (self.seen_at.len() < ADDRESSES || self.seen_at.contains_key(&mac)) {
            self.seen_at.insert(mac, remote);
            self.seen_last = Some((mac, remote));
        }
    }

    /// Returns the end at which the frame's destination is, if that is known.
    fn way(&self, frame: &[u8]) -> Option<SocketAddr> {
        let seen = frame.first_chunk::<6>().and_then(|mac| self.seen_at.get(mac))?;
        Some(self.remotes[*seen])
    }

    /// Returns how many of the first frames can be the segments of one datagram, and its
    /// destination: they have the same destination and the same length, except for the last one,
    /// which may be shorter.
    fn segments(&self, frames: &[&[u8]]) -> Option<(usize, SocketAddr)> {
        let first = frames.first()?;
        let way = self.way(first)?;
        let mut room = MAX_SEGMENTED;
        let mut count = 0;
        for frame in frames.iter().take(self.offload.max_gso_segments()) {
            let same = frame.get(..6) == first.get(..6) || self.way(frame) == Some(way);
            if frame.len() > first.len().min(room) || !same {
                break;
            }
            count += 1;
            room -= frame.len();
            if frame.len() < first.len() {
                break;
            }
        }
        (count > 1).then_some((count, way))
    }

    /// Sends frames as segments of one datagram.
    fn send_segments(&mut self, frames: &[&[u8]], way: SocketAddr) -> io::Result<()> {
        self.outgoing.clear();
        frames.iter().for_each(|frame| self.outgoing.extend_from_slice(frame));
        self.send_cut(&self.outgoing, frames[0].len(), way)
    }

    /// Sends bytes as one datagram that is cut into segments of `len` bytes.
    fn send_cut(&self, contents: &[u8], len: usize, destination: SocketAddr) -> io::Result<()> {
        let transmit =
            Transmit { destination, ecn: None, contents, segment_size: Some(len), src_ip: None };
        self.offload.try_send((&self.socket).into(), &transmit)
    }

    fn send_to(&self, frame: &[u8], remote: SocketAddr) -> io::Result<Sent> {
        let Err(error) = self.socket.send_to(frame, remote) else { return Ok(Sent::Out) };
        match Errno::from_io_error(&error) {
            Some(Errno::AGAIN | Errno::NOBUFS) => Ok(Sent::Full),
            // No process receives there, or there is no route now.
            Some(Errno::CONNREFUSED | Errno::HOSTUNREACH | Errno::NETUNREACH) => Ok(Sent::Lost),
            Some(Errno::MSGSIZE) => {
                let what = format!(
                    "a frame of {} B to {remote} is longer than the way there takes: choose a smaller path MTU of the queue pairs",
                    frame.len()
                );
                Err(io::Error::new(io::ErrorKind::InvalidInput, what))
            }
            _ => Err(error),
        }
    }
}

impl Wire for Udp {
    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<Sent> {
        if let Some(way) = self.way(frame) {
            return self.send_to(frame, way);
        }
        // A frame to all ends counts as sent if any end gets it: an end without room loses a frame.
        let mut sent = Sent::Lost;
        for remote in &self.remotes {
            match self.send_to(frame, *remote)? {
                Sent::Out => sent = Sent::Out,
                Sent::Full if sent == Sent::Lost => sent = Sent::Full,
                _ => {}
            }
        }
        Ok(sent)
    }

    fn send_burst(&mut self, frames: &[&[u8]], sent: &mut Vec<Sent>) -> io::Result<()> {
        let mut rest = frames;
        while !rest.is_empty() {
            let (count, way) = self.segments(rest).unzip();
            let (now, later) = rest.split_at(count.unwrap_or(1));
            rest = later;
            if let Some(way) = way {
                match self.send_segments(now, way) {
                    Ok(()) => {
                        sent.extend(iter::repeat_n(Sent::Out, now.len()));
                        continue;
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    // The frame at fault, or missing support for segments, shows when the frames
                    // are sent singly.
                    Err(_) => {}
                }
            }
            for frame in now {
                match self.send(frame)? {
                    Sent::Full => return Ok(()),
                    became => sent.push(became),
                }
            }
        }
        Ok(())
    }

    fn send_run(&mut self, run: &[u8], len: usize, sent: &mut Vec<Sent>) -> io::Result<()> {
        let frames: Vec<_> = run.chunks(len.max(1)).collect();
        if let Some((count, way)) = self.segments(&frames)
            && count == frames.len()
            && self.send_cut(run, len, way).is_ok()
        {
            sent.extend(iter::repeat_n(Sent::Out, count));
            return Ok(());
        }
        // The run is too long for one datagram, or there was an error, which shows there.
        self.send_burst(&frames, sent)
    }

    fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> io::Result<bool> {
        let mut arriving = std::mem::take(&mut self.arriving);
        let received = self.receive_into(&mut arriving, take);
        self.arriving = arriving;
        received
    }
}

impl Udp {
    fn receive_into(
        &mut self,
        buffers: &mut [u8],
        take: &mut dyn FnMut(&[u8]),
    ) -> io::Result<bool> {
        let mut meta = [RecvMeta::default(); BUFFERS];
        for _ in 0..STRANGERS {
            let mut slices: Vec<_> = buffers.chunks_mut(BUFFER).map(IoSliceMut::new).collect();
            let received = self.offload.recv((&self.socket).into(), &mut slices, &mut meta);
            let count = match received {
                Ok(count) => count,
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return Ok(false),
                    // An end that was sent to did not exist.
                    io::ErrorKind::ConnectionRefused => continue,
                    _ => return Err(error),
                },
            };
            let mut any = false;
            for (buffer, meta) in buffers.chunks(BUFFER).zip(&meta[..count]) {
                let Some(remote) = self.remotes.iter().position(|remote| *remote == meta.addr)
                else {
                    continue;
                };
                for frame in buffer[..meta.len].chunks(meta.stride.max(1)) {
                    if let Some(source) = frame.get(6..).and_then(<[u8]>::first_chunk::<6>) {
                        self.learn(*source, remote);
                    }
                    take(frame);
                    any = true;
                }
            }
            if any {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::MAX_FRAME;

    const HERE: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

    /// Opens ends that know each other.
    fn ends<const N: usize>() -> [Udp; N] {
        let sockets = [(); N].map(|()| UdpSocket::bind(HERE).unwrap());
        let addresses = sockets.each_ref().map(|socket| socket.local_addr().unwrap());
        sockets.map(|socket| {
            let own = socket.local_addr().unwrap();
            let others: Vec<_> = addresses.iter().copied().filter(|at| *at != own).collect();
            Udp::over(socket, &others).unwrap()
        })
    }

    /// Makes a frame from one card to another, given the last bytes of their addresses.
    fn frame(from: u8, to: u8, len: usize) -> Vec<u8> {
        let mut frame = vec![from; len];
        frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from]);
        frame
    }

    /// Returns the frames that have arrived. Datagrams on this host arrive as soon as they are
    /// sent.
    fn arrived(end: &mut Udp) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        while end.receive(&mut |frame| frames.push(frame.to_vec())).unwrap() {}
        frames
    }

    #[test]
    fn frames_go_to_all_ends_until_it_is_known_where_their_card_is() {
        let [mut a, mut b, mut c] = ends();
        assert_eq!(a.send(&frame(1, 2, 60)).unwrap(), Sent::Out);
        assert_eq!(arrived(&mut b), [frame(1, 2, 60)]);
        assert_eq!(arrived(&mut c), [frame(1, 2, 60)]);
        assert_eq!(b.send(&frame(2, 1, 61)).unwrap(), Sent::Out);
        assert_eq!(arrived(&mut a), [frame(2, 1, 61)]);
        assert!(arrived(&mut c).is_empty(), "b has seen where 1 is");
        a.send(&frame(1, 2, MAX_FRAME)).unwrap();
        assert_eq!(arrived(&mut b), [frame(1, 2, MAX_FRAME)]);
        assert!(arrived(&mut c).is_empty(), "a has seen where 2 is");
        // A broadcast goes to all ends, even after its address was seen as a source.
        let mut broadcast = frame(1, 2, 60);
        broadcast[..6].fill(0xff);
        let mut from_all = frame(2, 1, 60);
        from_all[6..12].fill(0xff);
        b.send(&from_all).unwrap();
        assert_eq!(arrived(&mut a).len(), 1);
        a.send(&broadcast).unwrap();
        assert_eq!((arrived(&mut b).len(), arrived(&mut c).len()), (1, 1));
    }

    #[test]
    fn a_burst_arrives_in_order_whatever_its_lengths_and_ways() {
        let [mut a, mut b, mut c] = ends();
        let to = |end: &Udp| a.remotes.iter().position(|at| *at == end.local().unwrap()).unwrap();
        let (to_b, to_c) = (to(&b), to(&c));
        a.learn([2, 0, 0, 0, 0, 2], to_b);
        a.learn([2, 0, 0, 0, 0, 3], to_c);
        // More than one datagram of segments takes, then shorter and longer ones, another
        // destination, and an unknown one.
        let mut frames = vec![frame(1, 2, 4_158); 40];
        frames.extend([60, 60, 61, 1_000, 999, 999].map(|len| frame(1, 2, len)));
        frames.extend([frame(1, 3, 999), frame(1, 3, 999), frame(1, 2, 999), frame(1, 4, 60)]);
        for (place, frame) in frames.iter_mut().enumerate() {
            frame[12] = place as u8;
        }
        let burst: Vec<_> = frames.iter().map(Vec::as_slice).collect();
        let mut sent = Vec::new();
        a.send_burst(&burst, &mut sent).unwrap();
        assert_eq!(sent, vec![Sent::Out; frames.len()]);
        let of = |card: u8| -> Vec<_> {
            frames.iter().filter(|frame| [card, 4].contains(&frame[5])).cloned().collect()
        };
        assert_eq!((arrived(&mut b), arrived(&mut c)), (of(2), of(3)));
    }

    #[test]
    fn a_run_arrives_as_the_frames_that_it_is_made_of() {
        let [mut a, mut b] = ends();
        a.learn([2, 0, 0, 0, 0, 2], 0);
        // As many as one datagram takes, more than that, and an unknown destination.
        for (count, to) in [(15, 2), (40, 2), (3, 3)] {
            let mut frames: Vec<_> = (0..count).map(|_| frame(1, to, 4_158)).collect();
            frames.push(frame(1, to, 60));
            for (place, frame) in frames.iter_mut().enumerate() {
                frame[12] = place as u8;
            }
            let mut sent = Vec::new();
            a.send_run(&frames.concat(), 4_158, &mut sent).unwrap();
            assert_eq!(sent, vec![Sent::Out; frames.len()]);
            assert_eq!(arrived(&mut b), frames);
        }
    }

    #[test]
    fn of_a_burst_the_frame_that_is_too_long_is_named_and_those_before_it_are_out() {
        let [mut a, mut b] = ends();
        let at = a.remotes.iter().position(|remote| *remote == b.local().unwrap()).unwrap();
        a.learn([2, 0, 0, 0, 0, 2], at);
        let (short, long) = (frame(1, 2, 60), frame(1, 2, 70_000));
        let mut sent = Vec::new();
        let error = a.send_burst(&[&short, &long, &long, &short], &mut sent).unwrap_err();
        assert!(error.to_string().starts_with("a frame of 70000 B to "), "{error}");
        assert_eq!(sent, [Sent::Out]);
        assert_eq!(arrived(&mut b), [short]);
    }

    #[test]
    fn what_was_told_need_not_be_learnt() {
        let [mut a, mut b, mut c] = ends();
        let at = a.remotes.iter().position(|remote| *remote == c.local().unwrap()).unwrap();
        a.learn([2, 0, 0, 0, 0, 3], at);
        a.send(&frame(1, 3, 60)).unwrap();
        assert_eq!((arrived(&mut b).len(), arrived(&mut c).len()), (0, 1));
    }

    #[test]
    fn a_card_that_moves_is_found_where_it_was_seen_last() {
        let [mut a, mut b, mut c] = ends();
        a.send(&frame(1, 9, 60)).unwrap();
        let mut heard = [arrived(&mut b).len(), arrived(&mut c).len()];
        assert_eq!(heard, [1, 1]);
        // The card at 2 is at b, then at c, then at b again.
        for at_c in [false, true, false] {
            let end = if at_c { &mut c } else { &mut b };
            end.send(&frame(2, 1, 60)).unwrap();
            assert_eq!(arrived(&mut a).len(), 1);
            a.send(&frame(1, 2, 60)).unwrap();
            heard = [arrived(&mut b).len(), arrived(&mut c).len()];
            assert_eq!(heard, [usize::from(!at_c), usize::from(at_c)]);
        }
    }

    #[test]
    fn strangers_are_not_heard_and_ends_that_are_not_there_lose_frames() {
        let [mut a, b] = ends();
        let stranger = UdpSocket::bind(HERE).unwrap();
        for _ in 0..STRANGERS + 1 {
            stranger.send_to(&frame(9, 1, 60), a.local().unwrap()).unwrap();
        }
        assert!(arrived(&mut a).is_empty());
        assert!(a.seen_at.is_empty());
        drop(b);
        for _ in 0..3 {
            assert_ne!(a.send(&frame(1, 2, 60)).unwrap(), Sent::Full);
        }
    }

    #[test]
    fn addresses_that_cannot_be_are_named() {
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        let fails = |local, remote| Udp::open(at(local), &[at(remote)]).unwrap_err().to_string();
        let error = fails("127.0.0.1:0", "[::1]:7");
        assert!(error.ends_with(" cannot send to [::1]:7: one is IPv4, one IPv6"), "{error}");
        assert_eq!(
            fails("127.0.0.1:0", "127.0.0.1:0"),
            "127.0.0.1:0 is no address to send to: its port is 0"
        );
        let taken = UdpSocket::bind(HERE).unwrap();
        let error = Udp::open(taken.local_addr().unwrap(), &[at("127.0.0.1:7")]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn a_frame_that_is_longer_than_a_datagram_is_an_error_that_names_it() {
        let [mut a, _b] = ends();
        let error = a.send(&frame(1, 2, 70_000)).unwrap_err().to_string();
        assert!(error.starts_with("a frame of 70000 B to 127.0.0.1:"), "{error}");
    }
}
