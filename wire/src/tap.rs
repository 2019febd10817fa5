//! A wire to a network interface of this machine.

use std::{
    ffi::c_char,
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd},
        unix::fs::OpenOptionsExt as _,
    },
};

use super::{Sent, Wire, receive_singly};

const DEVICE: &str = "/dev/net/tun";

/// The other side of a network interface.
#[derive(Debug)]
pub struct Tap {
    file: File,
}

impl Tap {
    /// Plugs into the interface of that name, which is created if it does not exist.
    ///
    /// # Errors
    /// A name that is too long, or an error of the operating system: this needs `CAP_NET_ADMIN`.
    pub fn open(name: &str) -> io::Result<Self> {
        // SAFETY: all zeros is a valid `ifreq`.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        let most = request.ifr_name.len() - 1;
        if name.len() > most {
            let text = format!("the name has {} bytes, an interface's at most {most}", name.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(libc::O_NONBLOCK);
        let file = options.open(DEVICE)?;
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *to = from as c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as _;
        // SAFETY: this request reads and writes an `ifreq`, which outlives the call.
        match unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) } {
            0 => Ok(Self { file }),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Wire for Tap {
    fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<Sent> {
        match self.file.write(frame) {
            Ok(_) => Ok(Sent::Out),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Sent::Full),
            // The interface is not up.
            Err(error) if error.raw_os_error() == Some(libc::EIO) => Ok(Sent::Lost),
            Err(error) => Err(error),
        }
    }

    fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> io::Result<bool> {
        let next = |buffer: &mut [u8]| match self.file.read(buffer) {
            Ok(len) => Ok(Some(len)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            // The interface was taken down.
            Err(error) if error.raw_os_error() == Some(libc::EIO) => Ok(None),
            Err(error) => Err(error),
        };
        receive_singly(next, take)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_that_is_down_loses_frames_and_a_bad_name_is_refused() {
        let error = Tap::open("a-name-of-16-byt").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert_eq!(error.to_string(), "the name has 16 bytes, an interface's at most 15");
        if OpenOptions::new().read(true).write(true).open(DEVICE).is_err() {
            // Without `/dev/net/tun`, or without the permission, only the refusal can be tested.
            assert!(Tap::open("drdma-test").is_err());
            return;
        }
        match Tap::open("drdma-test") {
            Ok(mut tap) => {
                assert_eq!(tap.send(&[0; 60]).unwrap(), Sent::Lost);
                assert!(!tap.receive(&mut |_| ()).unwrap());
                assert_eq!(Tap::open("drdma-test").unwrap_err().raw_os_error(), Some(libc::EBUSY));
            }
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied),
        }
    }
}
