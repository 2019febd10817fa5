//! A wire of UDP datagrams, a frame a datagram: this end, and one or several others, in other processes or on other hosts.
//!
//! It is a switch as well. Where a frame goes is learnt from the frames that came: one to an Ethernet address that was
//! seen goes to the end that it was seen at, any other to all ends. Nothing is encrypted, and whoever can send with the
//! address of an end can send frames: it is for networks whose hosts trust each other.
//!
//! Datagrams may be lost, doubled and overtaken, as frames may. They are not cut into pieces: a frame that is longer than
//! the network between the hosts takes is an error.

use std::{
    collections::HashMap,
    io,
    net::{SocketAddr, UdpSocket},
    os::fd::{AsFd, BorrowedFd},
};

use rustix::{io::Errno, net::sockopt};

use super::{Sent, Wire};

/// Bytes that are asked for to hold datagrams that have arrived. The system gives at most `net.core.rmem_max` to whoever
/// is not privileged.
const RECEIVE_BUFFER: usize = 16 << 20;
/// Ethernet addresses that are remembered; those of more are sent to all ends.
const ADDRESSES: usize = 4096;
/// Datagrams from strangers that are passed over in one call.
const STRANGERS: usize = 64;

/// An Ethernet address.
type Mac = [u8; 6];

/// This end.
#[derive(Debug)]
pub struct Udp {
    socket: UdpSocket,
    remotes: Vec<SocketAddr>,
    /// The end that an Ethernet address is at, by its place in `remotes`.
    seen_at: HashMap<Mac, usize>,
}

impl Udp {
    /// Receives at `local` from now on what the ends at `remotes` send. These may come and go.
    ///
    /// # Errors
    /// No remote end, or one whose address is of another kind (IPv4, IPv6) than the local one; somebody receives at
    /// `local`, or what else the operating system says.
    pub fn open(local: SocketAddr, remotes: &[SocketAddr]) -> io::Result<Self> {
        Self::over(UdpSocket::bind(local)?, remotes)
    }

    /// The same with a socket that is bound already.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn over(socket: UdpSocket, remotes: &[SocketAddr]) -> io::Result<Self> {
        let local = socket.local_addr()?;
        let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidInput, what);
        if let Some(other) = remotes.iter().find(|remote| remote.is_ipv4() != local.is_ipv4()) {
            return Err(invalid(format!("{local} cannot send to {other}: one is IPv4, one IPv6")));
        }
        if let Some(nowhere) = remotes.iter().find(|remote| remote.port() == 0) {
            return Err(invalid(format!("{nowhere} is no address to send to: its port is 0")));
        }
        socket.set_nonblocking(true)?;
        if sockopt::set_socket_recv_buffer_size_force(&socket, RECEIVE_BUFFER).is_err() {
            sockopt::set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER)?;
        }
        if local.is_ipv4() {
            sockopt::set_ip_mtu_discover(&socket, sockopt::Ipv4PathMtuDiscovery::DO)?;
        }
        Ok(Self { socket, remotes: remotes.to_vec(), seen_at: HashMap::new() })
    }

    /// Where this end receives.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn local(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Says where an Ethernet address is, so that nothing for it goes to all ends.
    ///
    /// # Panics
    /// If there is no such end.
    pub fn learn(&mut self, mac: Mac, remote: usize) {
        assert!(remote < self.remotes.len(), "end {remote} of {}", self.remotes.len());
        let is_unicast = mac[0] & 1 == 0;
        if is_unicast && (self.seen_at.len() < ADDRESSES || self.seen_at.contains_key(&mac)) {
            self.seen_at.insert(mac, remote);
        }
    }

    fn send_to(&self, frame: &[u8], remote: SocketAddr) -> io::Result<Sent> {
        let Err(error) = self.socket.send_to(frame, remote) else { return Ok(Sent::Out) };
        match Errno::from_io_error(&error) {
            Some(Errno::AGAIN | Errno::NOBUFS) => Ok(Sent::Full),
            // Nobody is there, or there is no way now.
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
        let known = frame.first_chunk::<6>().and_then(|mac| self.seen_at.get(mac));
        if let Some(remote) = known {
            return self.send_to(frame, self.remotes[*remote]);
        }
        // It is out if anybody gets it: that an end with no room misses it is a frame lost.
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

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        for _ in 0..STRANGERS {
            let (len, from) = match self.socket.recv_from(buffer) {
                Ok(received) => received,
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return Ok(None),
                    // An end that was sent to was not there.
                    io::ErrorKind::ConnectionRefused => continue,
                    _ => return Err(error),
                },
            };
            let Some(remote) = self.remotes.iter().position(|remote| *remote == from) else {
                continue;
            };
            if let Some(source) = buffer[..len].get(6..).and_then(<[u8]>::first_chunk::<6>) {
                self.learn(*source, remote);
            }
            return Ok(Some(len));
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::MAX_FRAME;

    const HERE: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

    /// Ends that know each other.
    fn ends<const N: usize>() -> [Udp; N] {
        let sockets = [(); N].map(|()| UdpSocket::bind(HERE).unwrap());
        let addresses = sockets.each_ref().map(|socket| socket.local_addr().unwrap());
        sockets.map(|socket| {
            let own = socket.local_addr().unwrap();
            let others: Vec<_> = addresses.iter().copied().filter(|at| *at != own).collect();
            Udp::over(socket, &others).unwrap()
        })
    }

    /// A frame from one card to another, by the last bytes of their addresses.
    fn frame(from: u8, to: u8, len: usize) -> Vec<u8> {
        let mut frame = vec![from; len];
        frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from]);
        frame
    }

    /// What has arrived. Datagrams of this host are there when they have been sent.
    fn arrived(end: &mut Udp) -> Vec<Vec<u8>> {
        let mut buffer = [0; MAX_FRAME + 1];
        std::iter::from_fn(|| end.receive(&mut buffer).unwrap().map(|len| buffer[..len].to_vec()))
            .collect()
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
        // A broadcast goes everywhere, and so it does after it was seen as a source.
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
    fn what_was_told_need_not_be_learnt() {
        let [mut a, mut b, mut c] = ends();
        let at = a.remotes.iter().position(|remote| *remote == c.local().unwrap()).unwrap();
        a.learn([2, 0, 0, 0, 0, 3], at);
        a.send(&frame(1, 3, 60)).unwrap();
        assert_eq!((arrived(&mut b).len(), arrived(&mut c).len()), (0, 1));
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
