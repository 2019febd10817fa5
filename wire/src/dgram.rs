//! A wire of two unix datagram sockets: each end receives at its own path and sends to the other's.

use std::{
    fs, io,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::{fs::FileTypeExt as _, net::UnixDatagram},
    },
    path::{Path, PathBuf},
};

use super::{Sent, Wire, receive_singly};

/// This end of the wire. Its path is removed when it is dropped.
#[derive(Debug)]
pub struct Datagrams {
    socket: UnixDatagram,
    local: PathBuf,
    remote: PathBuf,
}

impl Datagrams {
    /// Receives at `local` from now on; the other end, at `remote`, may come and go. A socket that
    /// an earlier process left behind at `local` is replaced.
    ///
    /// # Errors
    /// Another process receives at `local`, or an error of the operating system.
    pub fn open(local: &Path, remote: &Path) -> io::Result<Self> {
        if fs::symlink_metadata(local).is_ok_and(|found| found.file_type().is_socket()) {
            match UnixDatagram::unbound()?.connect(local) {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    fs::remove_file(local)?;
                }
                // The socket's owner is alive, or its state is unknown.
                _ => return Err(io::ErrorKind::AddrInUse.into()),
            }
        }
        let socket = UnixDatagram::bind(local)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, local: local.to_owned(), remote: remote.to_owned() })
    }
}

impl Wire for Datagrams {
    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<Sent> {
        use io::ErrorKind::{ConnectionRefused, ConnectionReset, NotFound, WouldBlock};
        match self.socket.send_to(frame, &self.remote) {
            Ok(_) => Ok(Sent::Out),
            Err(error) => match error.kind() {
                NotFound | ConnectionRefused | ConnectionReset => Ok(Sent::Lost),
                WouldBlock => Ok(Sent::Full),
                _ if error.raw_os_error() == Some(libc::ENOBUFS) => Ok(Sent::Full),
                _ => Err(error),
            },
        }
    }

    fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> io::Result<bool> {
        let next = |buffer: &mut [u8]| match self.socket.recv(buffer) {
            Ok(len) => Ok(Some(len)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        };
        receive_singly(next, take)
    }
}

impl Drop for Datagrams {
    fn drop(&mut self) {
        // Another process may have removed the path.
        let _ = fs::remove_file(&self.local);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_go_both_ways_and_nowhere_without_the_other_end() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
        let arrived = |end: &mut Datagrams| {
            let mut frames = Vec::new();
            let any = end.receive(&mut |frame| frames.push(frame.len())).unwrap();
            assert_eq!(any, !frames.is_empty());
            frames
        };
        let mut one = Datagrams::open(&a, &b).unwrap();
        assert_eq!(one.send(&[1; 60]).unwrap(), Sent::Lost);
        let mut other = Datagrams::open(&b, &a).unwrap();
        assert_eq!(one.send(&[2; 60]).unwrap(), Sent::Out);
        assert_eq!(other.send(&[3; 61]).unwrap(), Sent::Out);
        assert_eq!(arrived(&mut other), [60]);
        assert_eq!(arrived(&mut one), [61]);
        assert!(arrived(&mut one).is_empty());
        let fill = (0..100_000).find(|_| one.send(&[4; 60]).unwrap() == Sent::Full);
        assert!(fill.is_some(), "an end that does not receive is full some day");
        drop(other);
        assert!(!b.exists());
        assert_eq!(one.send(&[1; 60]).unwrap(), Sent::Lost);
        // A socket as a killed process leaves it behind.
        drop(UnixDatagram::bind(&b).unwrap());
        assert!(b.exists());
        let mut other = Datagrams::open(&b, &a).unwrap();
        let error = Datagrams::open(&b, &a).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse, "it is not taken from its owner");
        assert_eq!(one.send(&[5; 60]).unwrap(), Sent::Out);
        assert_eq!(arrived(&mut other), [60]);
        fs::write(folder.path().join("file"), "kept").unwrap();
        assert!(Datagrams::open(&folder.path().join("file"), &a).is_err());
    }
}
