//! A wire that leaves the process: a Unix datagram socket with one frame, without FCS, in a
//! datagram. QEMU's `-netdev dgram` is the same, so a guest's network card can be at its other end.

use std::{
    fs,
    io::{self, ErrorKind},
    os::unix::net::UnixDatagram,
    path::{Path, PathBuf},
    str::FromStr,
    thread,
    time::{Duration, Instant},
};

/// The longest frame that is taken: a jumbo frame and then some.
const MAX_FRAME: usize = 16 << 10;
/// How long a frame waits for room at the other end.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long it waits before it tries again.
const PAUSE: Duration = Duration::from_micros(50);

/// Where a link's two ends are: `dgram:LOCAL,REMOTE`, two paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkAddress {
    /// This end's socket, which is made.
    pub local: PathBuf,
    /// The other end's, which need not be there yet.
    pub remote: PathBuf,
}

/// Text that names no link.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no wire: it must look like `dgram:LOCAL,REMOTE`, two paths of sockets")]
pub struct LinkAddressError(String);

impl FromStr for LinkAddress {
    type Err = LinkAddressError;

    fn from_str(text: &str) -> Result<Self, LinkAddressError> {
        let paths = text.strip_prefix("dgram:").and_then(|paths| paths.split_once(','));
        match paths {
            Some((local, remote)) if !local.is_empty() && !remote.is_empty() => {
                Ok(Self { local: local.into(), remote: remote.into() })
            }
            _ => Err(LinkAddressError(text.to_owned())),
        }
    }
}

/// One end of a link.
#[derive(Debug)]
pub struct Link {
    socket: UnixDatagram,
    address: LinkAddress,
}

impl Link {
    /// Makes this end's socket; one that a process left behind is replaced.
    ///
    /// # Errors
    /// The path is taken or cannot be used.
    pub fn open(address: LinkAddress) -> io::Result<Self> {
        if is_left_behind(&address.local) {
            fs::remove_file(&address.local)?;
        }
        let socket = UnixDatagram::bind(&address.local)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, address })
    }

    /// Where its ends are.
    pub fn address(&self) -> &LinkAddress {
        &self.address
    }

    /// Sends a frame. It waits while the other end's queue is full, as behind an Ethernet pause.
    ///
    /// # Errors
    /// Nobody is at the other end, or nobody takes frames there for 5 s: the frame is lost.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        let started = Instant::now();
        loop {
            match self.socket.send_to(frame, &self.address.remote) {
                Ok(_) => return Ok(()),
                Err(error)
                    if error.kind() == ErrorKind::WouldBlock && started.elapsed() < PATIENCE =>
                {
                    thread::sleep(PAUSE);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The next frame that has arrived; `None` if none has.
    ///
    /// # Errors
    /// What the socket says.
    pub fn receive(&self) -> io::Result<Option<Vec<u8>>> {
        let mut frame = vec![0; MAX_FRAME];
        match self.socket.recv(&mut frame) {
            Ok(bytes) => {
                frame.truncate(bytes);
                Ok(Some(frame))
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // Gone already, or left for the next one to replace.
        let _ = fs::remove_file(&self.address.local);
    }
}

/// True if there is a socket that no process holds.
fn is_left_behind(path: &Path) -> bool {
    let refused = |error: io::Error| error.kind() == ErrorKind::ConnectionRefused;
    UnixDatagram::unbound().and_then(|socket| socket.connect(path)).is_err_and(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(folder: &Path) -> (LinkAddress, LinkAddress) {
        let (a, b) = (folder.join("a"), folder.join("b"));
        (LinkAddress { local: a.clone(), remote: b.clone() }, LinkAddress { local: b, remote: a })
    }

    #[test]
    fn an_address_is_two_paths() {
        let address: LinkAddress = "dgram:/tmp/card,/tmp/guest".parse().unwrap();
        assert_eq!(
            (&*address.local, &*address.remote),
            ("/tmp/card".as_ref(), "/tmp/guest".as_ref())
        );
        for text in ["", "dgram:", "dgram:a", "dgram:,b", "dgram:a,", "tap:a,b"] {
            let error = text.parse::<LinkAddress>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{text}` names no wire")), "{error}");
        }
    }

    #[test]
    fn frames_arrive_whole_in_order_and_all_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = ends(folder.path());
        let (a, b) = (Link::open(a).unwrap(), Link::open(b).unwrap());
        assert_eq!(b.receive().unwrap(), None);
        // More than a socket's queue holds: the sender waits.
        let count = 500_u32;
        let frame = |i: u32| i.to_le_bytes().repeat(1 + i as usize % 1_000);
        let sender = thread::spawn(move || (0..count).for_each(|i| a.send(&frame(i)).unwrap()));
        for i in 0..count {
            let started = Instant::now();
            let received = loop {
                match b.receive().unwrap() {
                    Some(received) => break received,
                    None => assert!(started.elapsed() < PATIENCE, "frame {i} is missing"),
                }
            };
            assert_eq!(received, frame(i), "frame {i}");
        }
        sender.join().unwrap();
        assert_eq!(b.receive().unwrap(), None);
    }

    #[test]
    fn nobody_at_the_other_end_is_an_error_and_a_path_in_use_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = ends(folder.path());
        let link = Link::open(a.clone()).unwrap();
        assert_eq!(link.send(b"frame").unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(Link::open(a.clone()).unwrap_err().kind(), ErrorKind::AddrInUse);
        drop(link);
        assert!(!a.local.exists(), "it tidies up");

        // A socket whose process died is in nobody's way.
        drop(UnixDatagram::bind(&a.local).unwrap());
        assert!(a.local.exists());
        let link = Link::open(a).unwrap();
        drop(UnixDatagram::bind(&b.local).unwrap());
        assert_eq!(link.send(b"frame").unwrap_err().kind(), ErrorKind::ConnectionRefused);
    }
}
