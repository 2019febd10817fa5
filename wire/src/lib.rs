//! Wires that connect a simulated card's port with the outside of the simulation.
//!
//! | module | |
//! |---|---|
//! | [`dgram`] | a pair of unix datagram sockets, a frame a datagram: another card, or QEMU's `-netdev dgram` |
//! | [`tap`] | a network interface of this machine |
//! | [`udp`] | UDP, a frame a datagram: cards of other processes and hosts |

pub mod dgram;
pub mod tap;
pub mod udp;

use std::{fmt, io, net::SocketAddr, os::fd::BorrowedFd, path::PathBuf, str::FromStr};

use dgram::Datagrams;
use tap::Tap;
use udp::Udp;

/// Length in bytes of the shortest frame, without FCS: shorter ones are padded.
pub const MIN_FRAME: usize = 60;
/// Length in bytes of the longest frame, without FCS.
pub const MAX_FRAME: usize = 9_214;
/// Length in bytes of an Ethernet header: fewer bytes are no frame.
const ETHERNET: usize = 14;
/// Number of frames that one call of [`Wire::receive`] takes if the operating system delivers them
/// one by one.
const RECEIVED_AT_ONCE: usize = 64;

/// Result of sending a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The frame was sent.
    Out,
    /// There is no receiver: the frame is lost, as on a link that is down.
    Lost,
    /// The other end has no room now. The frame must be sent again later.
    Full,
}

/// An end of a wire.
pub trait Wire: Send {
    /// File descriptor that becomes readable when a frame arrives.
    fn fd(&self) -> BorrowedFd<'_>;

    /// Sends a frame, without FCS.
    ///
    /// # Errors
    /// The error of the operating system.
    fn send(&mut self, frame: &[u8]) -> io::Result<Sent>;

    /// Sends frames in order, and appends the result of each to `sent`, up to the first that finds
    /// no room: that one and those behind it must be sent again later. A wire that can pass several
    /// frames to the operating system in one call does so here.
    ///
    /// # Errors
    /// The error of the operating system for the frame behind those in `sent`.
    fn send_burst(&mut self, frames: &[&[u8]], sent: &mut Vec<Sent>) -> io::Result<()> {
        for frame in frames {
            match self.send(frame)? {
                Sent::Full => break,
                became => sent.push(became),
            }
        }
        Ok(())
    }

    /// Like [`send_burst`](Self::send_burst), for frames of `len` bytes, one behind the other in
    /// `run`; the last one may be shorter.
    ///
    /// # Errors
    /// The errors of [`send_burst`](Self::send_burst).
    fn send_run(&mut self, run: &[u8], len: usize, sent: &mut Vec<Sent>) -> io::Result<()> {
        let frames: Vec<_> = run.chunks(len.max(1)).collect();
        self.send_burst(&frames, sent)
    }

    /// Passes frames that have arrived to `take`, as many as one call delivers or at most some
    /// dozens; false if there were none. Before waiting for [`fd`](Self::fd), this must be called
    /// until it returns false. A frame that is longer than [`MAX_FRAME`] may be truncated, but not
    /// to [`MAX_FRAME`] or less.
    ///
    /// # Errors
    /// The error of the operating system.
    fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> io::Result<bool>;
}

/// A wire as it is written on a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireSpec {
    /// `none`: nothing is plugged in.
    None,
    /// `dgram:LOCAL,REMOTE`: two paths.
    Datagrams {
        /// Path at which this end receives.
        local: PathBuf,
        /// Path at which the other end receives.
        remote: PathBuf,
    },
    /// `tap:NAME`: an interface.
    Tap(String),
    /// `udp:LOCAL,REMOTE[,REMOTE...]`: UDP between addresses `IP:PORT`.
    Udp {
        /// Address at which this end receives.
        local: SocketAddr,
        /// Addresses at which the other ends receive, one or several.
        remotes: Vec<SocketAddr>,
    },
    /// `pcap:FILE`: frames of the card are written there.
    Pcap(PathBuf),
}

/// Error of a text that is no wire.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no wire; there are dgram:LOCAL,REMOTE, tap:NAME, udp:LOCAL,REMOTE, pcap:FILE and none"
)]
pub struct WireSpecError(String);

impl FromStr for WireSpec {
    type Err = WireSpecError;

    fn from_str(text: &str) -> Result<Self, WireSpecError> {
        let wrong = || WireSpecError(text.to_owned());
        if text == "none" {
            return Ok(Self::None);
        }
        let (kind, rest) = text.split_once(':').ok_or_else(wrong)?;
        match (kind, rest.split_once(',')) {
            ("dgram", Some((local, remote))) if !local.is_empty() && !remote.is_empty() => {
                Ok(Self::Datagrams { local: local.into(), remote: remote.into() })
            }
            ("udp", Some((local, remotes))) => {
                let address = |text: &str| text.parse().map_err(|_| wrong());
                let remotes = remotes.split(',').map(address).collect::<Result<_, _>>()?;
                Ok(Self::Udp { local: address(local)?, remotes })
            }
            ("tap", _) if !rest.is_empty() => Ok(Self::Tap(rest.to_owned())),
            ("pcap", _) if !rest.is_empty() => Ok(Self::Pcap(rest.into())),
            _ => Err(wrong()),
        }
    }
}

impl WireSpec {
    /// Opens this end; `None` for a capture, or if nothing is plugged in.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn open(&self) -> io::Result<Option<Box<dyn Wire>>> {
        Ok(match self {
            Self::None | Self::Pcap(_) => None,
            Self::Datagrams { local, remote } => Some(Box::new(Datagrams::open(local, remote)?)),
            Self::Tap(name) => Some(Box::new(Tap::open(name)?)),
            Self::Udp { local, remotes } => Some(Box::new(Udp::open(*local, remotes)?)),
        })
    }
}

/// Counts of the frames that went over a wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of frames that were sent.
    pub sent: u64,
    /// Number of frames that were lost because there was no receiver.
    pub lost: u64,
    /// Number of frames that were received.
    pub received: u64,
    /// Number of datagrams that were received and are no frame: too short or too long.
    pub refused: u64,
}

impl fmt::Display for Traffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sent, lost, received, refused } = self;
        write!(f, "{sent} frames out, {lost} lost, {received} in, {refused} refused")
    }
}

/// Passes the frames that `next` returns to `take`: it receives one into a buffer and returns its
/// length, or [`None`] if there is none. An implementation of [`Wire::receive`] for wires that
/// receive one by one.
fn receive_singly(
    mut next: impl FnMut(&mut [u8]) -> io::Result<Option<usize>>,
    take: &mut dyn FnMut(&[u8]),
) -> io::Result<bool> {
    // The buffer has one byte more than any frame, so that a longer one is noticed.
    let mut buffer = [0; MAX_FRAME + 1];
    for received in 0..RECEIVED_AT_ONCE {
        let Some(len) = next(&mut buffer)? else { return Ok(received > 0) };
        take(&buffer[..len]);
    }
    Ok(true)
}

/// Returns a frame as it arrives at a MAC, padded; `None` if the bytes are no frame.
pub fn frame(bytes: &[u8]) -> Option<Vec<u8>> {
    (ETHERNET..=MAX_FRAME).contains(&bytes.len()).then(|| {
        let mut frame = bytes.to_vec();
        frame.resize(bytes.len().max(MIN_FRAME), 0);
        frame
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wires_are_named() {
        let datagrams = WireSpec::Datagrams { local: "/a".into(), remote: "/b".into() };
        let [one, two, three] =
            ["10.0.0.1:7", "10.0.0.2:7", "[::1]:9"].map(|text| text.parse().unwrap());
        for (text, spec) in [
            ("dgram:/a,/b", datagrams),
            ("udp:10.0.0.1:7,10.0.0.2:7", WireSpec::Udp { local: one, remotes: vec![two] }),
            (
                "udp:10.0.0.1:7,10.0.0.2:7,[::1]:9",
                WireSpec::Udp { local: one, remotes: vec![two, three] },
            ),
            ("tap:tap0", WireSpec::Tap("tap0".into())),
            ("pcap:x:y", WireSpec::Pcap("x:y".into())),
            ("none", WireSpec::None),
        ] {
            assert_eq!(text.parse(), Ok(spec));
        }
        for text in [
            "",
            "dgram:",
            "dgram:a",
            "dgram:,b",
            "dgram:a,",
            "tap:",
            "pcap:",
            "udp:1",
            "udp:10.0.0.1:7",
            "udp:10.0.0.1:7,",
            "udp:10.0.0.1,10.0.0.2:7",
        ] {
            let error = text.parse::<WireSpec>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{text}` is no wire; ")), "{error}");
        }
    }

    #[test]
    fn frames_are_padded_and_what_is_none_is_refused() {
        assert_eq!(frame(&[7; 13]), None);
        assert_eq!(frame(&vec![7; MAX_FRAME + 1]), None);
        assert_eq!(frame(&vec![7; MAX_FRAME]).unwrap().len(), MAX_FRAME);
        let padded = frame(&[7; 14]).unwrap();
        assert_eq!((padded.len(), padded[13], padded[14]), (60, 7, 0));
    }
}
