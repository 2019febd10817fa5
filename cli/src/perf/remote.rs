//! A peer in another process. The two processes arrange addresses over TCP, one JSON object a line; the card's
//! packets go over a wire, and the peer is a model that checks and acknowledges them.

use std::{
    io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Write as _},
    net::{TcpListener, TcpStream, ToSocketAddrs},
    thread,
    time::{Duration, Instant},
};

use drdma_abi::{
    register,
    roce::{MTUS, Transport},
};
use drdma_sim::wire::{Network, PeerId};
use drdma_wire::{Sent, Wire};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::peers::{FIRST_PEER_QPN, PeerQp, REMOTE, arrived, peer_config};
use crate::{cable::Cable, device, job::Local};

/// Place of the peers.
pub enum Far {
    /// Peers are in the card's simulated network.
    Simulated,
    /// The peer is in another process.
    Remote(Box<Remote>),
}

/// Version of the protocol between the two processes.
const VERSION: u32 = 2;
/// Length of the longest line in bytes.
const LINE: u64 = 1 << 16;
/// Queue pairs, at most: all that a card has. Their numbers, of up to 8 digits, are in a line.
const QUEUE_PAIRS: usize = register::QUEUE_PAIRS.entries as usize;
const _: () = assert!(9 * QUEUE_PAIRS as u64 + 1024 <= LINE, "a line holds all numbers");
/// Time that an answer may take that needs no work.
const ANSWER: Duration = Duration::from_secs(10);
/// Time that a process sleeps when it has nothing to do.
const PAUSE: Duration = Duration::from_micros(50);
/// Time without a packet after which no more are on the wire.
const QUIET: Duration = Duration::from_millis(100);

/// Why the two processes did not finish a measurement.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The connection or the wire failed.
    #[error("the other process: {0}")]
    Io(#[from] io::Error),
    /// The other process sent another message than it should.
    #[error("the other process does not speak this protocol: {0}")]
    Protocol(String),
    /// The other process reported an error.
    #[error("the other process: {0}")]
    Refused(String),
    /// The other process was silent for too long.
    #[error("nothing from the other process for {} s", .0.as_secs())]
    TimedOut(Duration),
}

/// First message of the card's process.
#[derive(Debug, Serialize, Deserialize)]
struct Hello {
    drdma: u32,
    transport: u8,
    mtu: u32,
    mac: u64,
    ip: u32,
    qpns: Vec<u32>,
    longest: u64,
}

/// Answer of the peer's process to it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Reply {
    Welcome { mac: u64, ip: u32, qpns: Vec<u32>, remote_addr: u64, rkey: u32 },
    Refused(String),
}

/// Last message of the card's process.
#[derive(Debug, Serialize, Deserialize)]
struct Done {
    done: bool,
}

/// Counts of a peer: SENDs and WRITEs that arrived, and READs and atomics that it answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrived {
    /// Number of messages that arrived completely, and of READs and atomics.
    pub messages: u64,
    /// Bytes of these messages, and of the answers to READs and atomics.
    pub bytes: u64,
    /// Description of the packets that were wrong, if any were.
    pub complaints: Option<String>,
}

/// One end of the connection.
struct Line {
    reader: BufReader<TcpStream>,
}

impl Line {
    fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_read_timeout(Some(ANSWER))?;
        stream.set_nodelay(true)?;
        Ok(Self { reader: BufReader::new(stream) })
    }

    fn say(&mut self, what: &impl Serialize) -> Result<(), RemoteError> {
        let mut text = serde_json::to_string(what).map_err(io::Error::from)?;
        text.push('\n');
        Ok(self.reader.get_mut().write_all(text.as_bytes())?)
    }

    fn hear<T: DeserializeOwned>(&mut self) -> Result<T, RemoteError> {
        let mut text = String::new();
        let read = (&mut self.reader).take(LINE).read_line(&mut text);
        match read {
            Ok(0) => return Err(RemoteError::Refused("it went away".to_owned())),
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Err(RemoteError::TimedOut(ANSWER));
            }
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                return Err(RemoteError::Protocol("not text".to_owned()));
            }
            Err(error) => return Err(error.into()),
        }
        serde_json::from_str(&text).map_err(|error| RemoteError::Protocol(error.to_string()))
    }

    /// True if the other process has sent something, or has closed the connection.
    fn has_something(&mut self) -> io::Result<bool> {
        if !self.reader.buffer().is_empty() {
            return Ok(true);
        }
        let stream = self.reader.get_ref();
        stream.set_nonblocking(true)?;
        let peeked = stream.peek(&mut [0]);
        stream.set_nonblocking(false)?;
        match peeked {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// The peer, seen from the card's process.
pub struct Remote {
    line: Line,
    cable: Option<Cable>,
}

impl Remote {
    /// Connects to a process that listens. A simulated card's frames go through `cable`; a board has its
    /// own.
    ///
    /// # Errors
    /// No process listens there.
    pub fn connect(address: impl ToSocketAddrs, cable: Option<Cable>) -> Result<Self, RemoteError> {
        Ok(Self { line: Line::new(TcpStream::connect(address)?)?, cable })
    }

    /// Asks for a peer of each queue pair. Returns them, and the remote address and key of WRITEs, READs and atomics.
    pub(super) fn meet(
        &mut self,
        (transport, mtu): (Transport, u32),
        card: Local,
        qpns: &[u32],
        longest: u64,
    ) -> Result<(Vec<PeerQp>, (u64, u32)), RemoteError> {
        self.line.say(&Hello {
            drdma: VERSION,
            transport: transport as u8,
            mtu,
            mac: card.mac,
            ip: card.ip,
            qpns: qpns.to_vec(),
            longest,
        })?;
        match self.line.hear()? {
            Reply::Welcome { mac, ip, qpns: peers, remote_addr, rkey } => {
                if peers.len() != qpns.len() {
                    let text = format!("{} queue pairs for {}", peers.len(), qpns.len());
                    return Err(RemoteError::Protocol(text));
                }
                let at = Local { mac, ip };
                let peers = peers.into_iter().map(|qpn| PeerQp { at, qpn }).collect();
                Ok((peers, (remote_addr, rkey)))
            }
            Reply::Refused(reason) => Err(RemoteError::Refused(reason)),
        }
    }

    /// Passes frames both ways.
    pub(super) fn serve(&mut self) -> Result<(), RemoteError> {
        Ok(self.cable.as_mut().map_or(Ok(()), Cable::serve)?)
    }

    /// Informs the other process that all is sent; returns how many messages and bytes arrived there.
    pub(super) fn finish(mut self) -> Result<(u64, u64), RemoteError> {
        if let Some(cable) = &mut self.cable {
            cable.finish()?;
        }
        self.line.say(&Done { done: true })?;
        let arrived: Arrived = self.line.hear()?;
        match arrived.complaints {
            Some(complaints) => Err(RemoteError::Refused(complaints)),
            None => Ok((arrived.messages, arrived.bytes)),
        }
    }
}

/// Serves as the peer of one card: waits for its process, exchanges addresses, and takes the card's messages until
/// the process says that it is done.
///
/// # Errors
/// See [`RemoteError`]. That packets are wrong is none: [`Arrived::complaints`] says it.
pub fn serve_one(
    listener: &TcpListener,
    mut wire: Box<dyn Wire>,
    local: Local,
    patience: Duration,
) -> Result<Arrived, RemoteError> {
    let (stream, _) = listener.accept()?;
    let mut line = Line::new(stream)?;
    let hello: Hello = match line.hear() {
        Err(error @ RemoteError::Protocol(_)) => {
            line.say(&Reply::Refused(error.to_string()))?;
            return Err(error);
        }
        hello => hello?,
    };
    let network = Network::new();
    let (peers, qpns) = match peers_for(&hello, local, &network) {
        Ok(peers) => peers,
        Err(reason) => {
            line.say(&Reply::Refused(reason.clone()))?;
            return Err(RemoteError::Protocol(reason));
        }
    };
    let (remote_addr, rkey) = REMOTE;
    line.say(&Reply::Welcome { mac: local.mac, ip: local.ip, qpns, remote_addr, rkey })?;

    let mut last = Instant::now();
    loop {
        if receive(&mut *wire, &network)? {
            last = Instant::now();
        } else if line.has_something()? {
            break;
        } else if last.elapsed() >= patience {
            return Err(RemoteError::TimedOut(patience));
        } else {
            thread::sleep(PAUSE);
        }
    }
    let _: Done = line.hear()?;
    // An interface may still have some.
    let mut last = Instant::now();
    while last.elapsed() < QUIET {
        match receive(&mut *wire, &network)? {
            true => last = Instant::now(),
            false => thread::sleep(PAUSE),
        }
    }
    let (messages, bytes) = peers.iter().fold((0, 0), |(messages, bytes), peer| {
        let (more, more_bytes) = network.with_peer(*peer, |peer| arrived(peer));
        (messages + more, bytes + more_bytes)
    });
    let complaints = device::complaints(&network.errors());
    let arrived = Arrived { messages, bytes, complaints };
    line.say(&arrived)?;
    Ok(arrived)
}

/// A peer for each of the card's queue pairs, or why not.
fn peers_for(
    hello: &Hello,
    local: Local,
    network: &Network,
) -> Result<(Vec<PeerId>, Vec<u32>), String> {
    let Hello { drdma, transport, mtu, mac, ip, ref qpns, longest } = *hello;
    if drdma != VERSION {
        return Err(format!("it has version {drdma} of the protocol, this one version {VERSION}"));
    }
    let transport =
        Transport::from_code(transport).ok_or_else(|| format!("transport {transport}"))?;
    if !MTUS.contains(&mtu) {
        return Err(format!("a path MTU of {mtu} B"));
    }
    if !(1..=QUEUE_PAIRS).contains(&qpns.len()) {
        return Err(format!("{} queue pairs", qpns.len()));
    }
    let peers: Vec<_> = (FIRST_PEER_QPN..).take(qpns.len()).collect();
    let card = Local { mac, ip };
    let configs = qpns.iter().zip(&peers).map(|(card_qpn, qpn)| {
        let peer = PeerQp { at: local, qpn: *qpn };
        peer_config((transport, mtu), (card, *card_qpn), peer, longest)
    });
    Ok((network.add_peers(configs), peers))
}

/// Takes the frames that have arrived and answers them; true if there were any for these peers.
fn receive(wire: &mut dyn Wire, network: &Network) -> io::Result<bool> {
    let mut any = false;
    while wire.receive(&mut |frame| {
        if is_roce(frame) {
            any = true;
            network.transmit(frame, 0);
        }
    })? {
        while let Some(answer) = network.receive(u64::MAX) {
            while wire.send(&answer)? == Sent::Full {
                thread::sleep(PAUSE);
            }
        }
    }
    Ok(any)
}

/// True for UDP over IPv4 to RoCEv2's port: an interface has other frames as well.
fn is_roce(frame: &[u8]) -> bool {
    let at = |from: usize, bytes: &[u8]| frame.get(from..from + bytes.len()) == Some(bytes);
    at(12, &[0x08, 0x00]) && at(23, &[17]) && at(36, &drdma_abi::roce::UDP_PORT.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        let (mac, ip) = (2, 3);
        Hello { drdma: VERSION, transport: 0, mtu: 1024, mac, ip, qpns: vec![17], longest: 64 }
    }

    #[test]
    fn a_card_that_cannot_be_served_is_refused() {
        let refused = |change: fn(&mut Hello)| {
            let mut hello = hello();
            change(&mut hello);
            peers_for(&hello, Local { mac: 4, ip: 5 }, &Network::new()).unwrap_err()
        };
        let text = "it has version 1 of the protocol, this one version 2";
        assert_eq!(refused(|hello| hello.drdma = 1), text);
        assert_eq!(refused(|hello| hello.transport = 3), "transport 3");
        assert_eq!(refused(|hello| hello.mtu = 1500), "a path MTU of 1500 B");
        assert_eq!(refused(|hello| hello.qpns.clear()), "0 queue pairs");
        assert_eq!(refused(|hello| hello.qpns = vec![1; 4097]), "4097 queue pairs");
        assert!(peers_for(&hello(), Local { mac: 4, ip: 5 }, &Network::new()).is_ok());
    }

    #[test]
    fn one_who_speaks_otherwise_is_told() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (here, _there) = std::os::unix::net::UnixDatagram::pair().unwrap();
        struct Silent(std::os::unix::net::UnixDatagram);
        impl Wire for Silent {
            fn fd(&self) -> std::os::fd::BorrowedFd<'_> {
                std::os::fd::AsFd::as_fd(&self.0)
            }
            fn send(&mut self, _: &[u8]) -> io::Result<Sent> {
                Ok(Sent::Lost)
            }
            fn receive(&mut self, _: &mut dyn FnMut(&[u8])) -> io::Result<bool> {
                Ok(false)
            }
        }
        let server = thread::spawn(move || {
            let local = Local { mac: 4, ip: 5 };
            serve_one(&listener, Box::new(Silent(here)), local, Duration::from_secs(1))
        });
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\n").unwrap();
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).unwrap();
        assert!(answer.starts_with("{\"refused\":\"the other process does not speak"), "{answer}");
        let error = server.join().unwrap().unwrap_err();
        assert!(matches!(error, RemoteError::Protocol(_)), "{error}");
    }
}
