//! A client from its first message to its last: the effects of each on the function.

use std::{fs::File, os::unix::net::UnixStream};

use drdma_soft::host::Rights;
use rustix::io::Errno;

use crate::{
    connection::{Connection, ConnectionError, Message},
    memory::{ClientMemory, Range},
    pci::{
        Function,
        function::{AccessError, REGIONS},
        interrupts::{Interrupts, KINDS, Setting},
    },
    protocol::{Malformed, Request, version_reply, words},
};

/// Flags of the device: it is a PCI device, and can be reset.
const DEVICE_FLAGS: u32 = 1 << 0 | 1 << 1;
/// Flags of a region: it can be read and written.
const REGION_FLAGS: u32 = 1 << 0 | 1 << 1;
/// Bits of a request to map.
const MAP_READ: u32 = 1 << 0;
const MAP_WRITE: u32 = 1 << 1;
/// Bits of a request to unmap.
const UNMAP_DIRTY: u32 = 1 << 0;
const UNMAP_ALL: u32 = 1 << 1;

/// Outcome of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The card may have work now.
    pub touched: bool,
    /// Reason why the request was refused, if it was.
    pub refused: Option<String>,
}

/// A client that is connected.
#[derive(Debug)]
pub struct Session {
    /// Socket of the client.
    pub connection: Connection,
    memory: ClientMemory,
    /// The first message, the version, was received.
    has_version: bool,
}

impl Session {
    /// A client that has just connected.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn new(stream: UnixStream) -> std::io::Result<Self> {
        let connection = Connection::new(stream)?;
        Ok(Self { connection, memory: ClientMemory::default(), has_version: false })
    }

    /// Handles the next message, if there is one.
    ///
    /// # Errors
    /// The client can no longer be served.
    pub fn serve(&mut self, function: &mut Function) -> Result<Option<Outcome>, ConnectionError> {
        let Some(Message { header, body, fds }) = self.connection.receive()? else {
            return Ok(None);
        };
        let request = Request::parse(&header, &body)?;
        let is_version = matches!(request, Request::Version { .. });
        if is_version == self.has_version {
            return Err(Malformed::Order(header.command).into());
        }
        self.has_version = true;
        let touched = matches!(
            request,
            Request::RegionRead { .. } | Request::RegionWrite { .. } | Request::DeviceReset
        );
        let files = fds.into_iter().map(File::from).collect();
        let done = self.execute(function, request, files);
        let refused = done
            .as_ref()
            .err()
            .map(|error| format!("command {} was refused: {}", header.command, error.text()));
        if !header.no_reply {
            let reply = match done {
                Ok(body) => header.reply(&body),
                Err(error) => header.error(error.errno().raw_os_error()),
            };
            self.connection.send(&reply)?;
        }
        Ok(Some(Outcome { touched, refused }))
    }

    /// Unmaps all memory of the client, and removes its events.
    pub fn release(mut self, function: &mut Function) {
        self.memory.unmap_all(function.host());
        function.interrupts = Interrupts::default();
    }

    /// Carries out a request; returns the body of the reply.
    fn execute(
        &mut self,
        function: &mut Function,
        request: Request,
        mut files: Vec<File>,
    ) -> Result<Vec<u8>, Refusal> {
        Ok(match request {
            Request::Version { minor } => version_reply(minor),
            Request::DmaMap { flags, offset, address, size } => {
                let rights = Rights { read: flags & MAP_READ != 0, write: flags & MAP_WRITE != 0 };
                let range = Range { address, size, offset, rights };
                let file = files.pop();
                if !files.is_empty() {
                    return Err(Errno::INVAL.into());
                }
                self.memory.map(function.host(), range, file)?;
                Vec::new()
            }
            Request::DmaUnmap { flags, address, size } => {
                // Reads of the card in progress find no memory when they get there.
                match flags {
                    _ if flags & UNMAP_DIRTY != 0 => return Err(Errno::NOTSUP.into()),
                    _ if flags & UNMAP_ALL != 0 => self.memory.unmap_all(function.host()),
                    _ => self.memory.unmap(function.host(), address, size)?,
                }
                let mut body = words(&[24, flags]);
                body.extend([address, size].iter().flat_map(|value| value.to_le_bytes()));
                body
            }
            Request::DeviceInfo => words(&[16, DEVICE_FLAGS, REGIONS, KINDS]),
            Request::RegionInfo { index } => {
                let (accessible, size) = Function::region(index).ok_or(Errno::INVAL)?;
                let flags = if accessible { REGION_FLAGS } else { 0 };
                let mut body = words(&[32, flags, index, 0]);
                body.extend([size, 0].iter().flat_map(|value: &u64| value.to_le_bytes()));
                body
            }
            Request::IrqInfo { index } => {
                let (flags, count) = Interrupts::info(index).ok_or(Errno::INVAL)?;
                words(&[16, flags, index, count])
            }
            Request::SetIrqs { flags, index, start, count, data } => {
                let setting = Setting { flags, index, start, count, data: &data, events: files };
                function.interrupts.set(setting)?;
                Vec::new()
            }
            Request::RegionRead { offset, region, count } => {
                let mut body = access_reply(offset, region, count);
                let start = body.len();
                body.resize(start + count as usize, 0);
                function.read(region, offset, &mut body[start..])?;
                body
            }
            Request::RegionWrite { offset, region, data } => {
                function.write(region, offset, &data)?;
                access_reply(offset, region, data.len() as u32)
            }
            Request::DeviceReset => {
                function.reset().map_err(AccessError::from)?;
                Vec::new()
            }
            Request::Unsupported => return Err(Errno::NOTSUP.into()),
        })
    }
}

fn access_reply(offset: u64, region: u32, count: u32) -> Vec<u8> {
    let mut body = offset.to_le_bytes().to_vec();
    body.extend(words(&[region, count]));
    body
}

/// Reason why a valid request was not carried out.
#[derive(Debug)]
enum Refusal {
    System(Errno),
    Access(AccessError),
}

impl Refusal {
    fn errno(&self) -> Errno {
        match self {
            Self::System(errno) => *errno,
            Self::Access(error) => error.errno(),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::System(errno) => errno.to_string(),
            Self::Access(error) => error.to_string(),
        }
    }
}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Self {
        Self::System(errno)
    }
}

impl From<AccessError> for Refusal {
    fn from(error: AccessError) -> Self {
        Self::Access(error)
    }
}
