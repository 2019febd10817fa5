//! A client's socket: receives complete messages with their file descriptors, sends replies, and
//! never blocks.

use std::{
    io::{self, IoSliceMut, Write},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
};

use rustix::{
    io::Errno,
    net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, recvmsg},
};

use crate::protocol::{HEADER, Header, MAX_FDS, Malformed};

/// Number of bytes of replies that may wait for a client to read them; above it, no messages are
/// received from the client.
const MAX_UNSENT: usize = 1 << 20;

/// Reason why a client is no longer served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// The client closed the connection.
    #[error("it closed the connection")]
    Closed,
    /// The client closed the connection within a message.
    #[error("it has gone in the middle of a message")]
    Cut,
    /// The client sent an invalid message.
    #[error("it sent {0}")]
    Malformed(#[from] Malformed),
    /// The socket failed.
    #[error("its socket failed: {0}")]
    Io(#[from] io::Error),
}

/// A message of a client.
#[derive(Debug)]
pub struct Message {
    /// Header of the message.
    pub header: Header,
    /// Body of the message.
    pub body: Vec<u8>,
    /// File descriptors that were sent with the message.
    pub fds: Vec<OwnedFd>,
}

/// The socket, and the messages in progress on it.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    /// The message that is being received: its header, if that is complete, the bytes received so
    /// far, and its descriptors.
    header: Option<Header>,
    bytes: Vec<u8>,
    fds: Vec<OwnedFd>,
    unsent: Vec<u8>,
}

impl Connection {
    /// Takes over a client's socket.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        let (bytes, fds, unsent) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { stream, header: None, bytes, fds, unsent })
    }

    /// True if replies wait for the client to read.
    pub fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// True if no messages are received from the client until it has read its replies.
    pub fn is_congested(&self) -> bool {
        self.unsent.len() >= MAX_UNSENT
    }

    /// Receives the next message, if it has arrived completely.
    ///
    /// # Errors
    /// The client can no longer be served.
    pub fn receive(&mut self) -> Result<Option<Message>, ConnectionError> {
        if self.is_congested() {
            return Ok(None);
        }
        loop {
            let wanted = self.header.map_or(HEADER, |header| header.body) - self.bytes.len();
            if wanted > 0 && !self.receive_some(wanted)? {
                return Ok(None);
            }
            match self.header {
                None if self.bytes.len() == HEADER => {
                    let bytes = self.bytes[..].try_into().expect("a header's bytes");
                    self.header = Some(Header::parse(&bytes)?);
                    self.bytes.clear();
                }
                Some(header) if self.bytes.len() == header.body => {
                    self.header = None;
                    let (body, fds) =
                        (std::mem::take(&mut self.bytes), std::mem::take(&mut self.fds));
                    return Ok(Some(Message { header, body, fds }));
                }
                _ => {}
            }
        }
    }

    /// Receives at most `wanted` bytes: those of the next message stay, as its descriptors must.
    /// False if no bytes are available now.
    fn receive_some(&mut self, wanted: usize) -> Result<bool, ConnectionError> {
        let mut buffer = [0; 4096];
        let wanted = wanted.min(buffer.len());
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(&mut buffer[..wanted])];
        let flags = RecvFlags::CMSG_CLOEXEC;
        let received = match recvmsg(&self.stream, &mut parts, &mut control, flags) {
            Ok(received) => received,
            Err(Errno::AGAIN) => return Ok(false),
            Err(Errno::INTR) => return Ok(true),
            Err(Errno::CONNRESET) => return Err(ConnectionError::Cut),
            Err(error) => return Err(ConnectionError::Io(error.into())),
        };
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = message {
                self.fds.extend(fds);
            }
        }
        if self.fds.len() > MAX_FDS || received.flags.contains(ReturnFlags::CTRUNC) {
            return Err(Malformed::Descriptors.into());
        }
        if received.bytes == 0 {
            let between = self.header.is_none() && self.bytes.is_empty();
            return Err(if between { ConnectionError::Closed } else { ConnectionError::Cut });
        }
        self.bytes.extend(&buffer[..received.bytes]);
        Ok(true)
    }

    /// Sends a reply, now or as soon as the client reads.
    ///
    /// # Errors
    /// The socket failed.
    pub fn send(&mut self, reply: &[u8]) -> Result<(), ConnectionError> {
        self.unsent.extend(reply);
        self.flush()
    }

    /// Sends waiting replies, as far as the client reads.
    ///
    /// # Errors
    /// The socket failed.
    pub fn flush(&mut self) -> Result<(), ConnectionError> {
        while !self.unsent.is_empty() {
            match self.stream.write(&self.unsent) {
                Ok(sent) => drop(self.unsent.drain(..sent)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    return Err(ConnectionError::Cut);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::File, io::Read};

    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

    use super::*;

    fn pair() -> (UnixStream, Connection) {
        let (client, server) = UnixStream::pair().unwrap();
        (client, Connection::new(server).unwrap())
    }

    fn message(command: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER];
        (bytes[2], bytes[4]) = (command, (HEADER + body.len()) as u8);
        bytes.extend(body);
        bytes
    }

    #[test]
    fn messages_come_whole_however_they_were_cut() {
        let (mut client, mut connection) = pair();
        let bytes = [message(9, &[1, 2, 3]), message(13, &[])].concat();
        let mut seen = Vec::new();
        for byte in bytes {
            client.write_all(&[byte]).unwrap();
            while let Some(message) = connection.receive().unwrap() {
                seen.push((message.header.command, message.body));
            }
        }
        assert_eq!(seen, [(9, vec![1, 2, 3]), (13, vec![])]);
        drop(client);
        assert!(matches!(connection.receive(), Err(ConnectionError::Closed)));
    }

    #[test]
    fn descriptors_stay_with_their_message() {
        let (client, mut connection) = pair();
        let file = File::open("/dev/null").unwrap();
        let send = |command: u8, count: usize| {
            let bytes = message(command, &[7; 8]);
            let fds = vec![file.as_fd(); count];
            let mut space = [MaybeUninit::uninit(); 256];
            let mut control = SendAncillaryBuffer::new(&mut space);
            assert!(count == 0 || control.push(SendAncillaryMessage::ScmRights(&fds)));
            let parts = [std::io::IoSlice::new(&bytes)];
            sendmsg(&client, &parts, &mut control, SendFlags::empty()).unwrap();
        };
        let messages = [(2, 0), (3, 2), (4, 0), (5, MAX_FDS)];
        messages.iter().for_each(|(command, count)| send(*command, *count));
        for (command, count) in messages {
            let command = u16::from(command);
            let message = connection.receive().unwrap().unwrap();
            assert_eq!((message.header.command, message.fds.len()), (command, count));
        }
        send(2, MAX_FDS + 1);
        let error = connection.receive().unwrap_err();
        assert!(matches!(error, ConnectionError::Malformed(Malformed::Descriptors)), "{error}");
    }

    #[test]
    fn a_client_that_goes_within_a_message_or_sends_none_is_told_apart() {
        let (mut client, mut connection) = pair();
        client.write_all(&message(9, &[1])[..HEADER]).unwrap();
        assert!(connection.receive().unwrap().is_none());
        drop(client);
        assert!(matches!(connection.receive(), Err(ConnectionError::Cut)));
        let (mut client, mut connection) = pair();
        client.write_all(&[0; HEADER]).unwrap();
        let error = connection.receive().unwrap_err().to_string();
        assert_eq!(error, "it sent a message of 0 B, and there are 16 to 65568");
    }

    #[test]
    fn a_client_that_does_not_read_is_not_waited_for_and_not_served_further() {
        let (mut client, mut connection) = pair();
        let reply = vec![5; 1 << 16];
        let mut sent = 0;
        while !connection.is_congested() {
            connection.send(&reply).unwrap();
            sent += reply.len();
        }
        client.write_all(&message(13, &[])).unwrap();
        assert!(connection.receive().unwrap().is_none());
        let mut buffer = vec![0; 1 << 16];
        while sent > 0 {
            sent -= client.read(&mut buffer).unwrap();
            connection.flush().unwrap();
        }
        assert!(!connection.has_unsent());
        assert!(connection.receive().unwrap().is_some());
        drop(client);
        assert!(connection.send(&reply).is_err());
    }
}
