//! The messages of vfio-user, version 0.1, as a server reads and answers them.
//!
//! Every message is a header of 16 bytes {id: u16, command: u16, bytes of the whole message: u32,
//! flags: u32, error: u32} and a body, little-endian. Bodies are the kernel's VFIO structures.

use serde_json::{Value, json};

/// Size of the header in bytes.
pub const HEADER: usize = 16;
/// Largest number of bytes of data in one access of a region.
pub const MAX_TRANSFER: usize = 1 << 16;
/// Largest size of a message in bytes: a write of the largest access.
pub const MAX_MESSAGE: usize = HEADER + 16 + MAX_TRANSFER;
/// Largest number of file descriptors of a message.
pub const MAX_FDS: usize = 16;

/// Bits of the flags that distinguish commands from replies.
const TYPE_MASK: u32 = 0xf;
const REPLY: u32 = 1;
const NO_REPLY: u32 = 1 << 4;
const ERROR: u32 = 1 << 5;

/// Error of a message that no client may send: those behind it cannot be trusted either.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// No message has this size.
    #[error("a message of {0} B, and there are {HEADER} to {MAX_MESSAGE}")]
    Size(u32),
    /// The message is not a command.
    #[error("a message of type {0} where a command should be")]
    Type(u32),
    /// The command does not exist.
    #[error("command {0}, which there is not")]
    Command(u16),
    /// The body does not fit its command.
    #[error("command {command} with a body of {len} B")]
    Body {
        /// Number of the command.
        command: u16,
        /// Length of the body in bytes.
        len: usize,
    },
    /// An access has more data than was agreed on.
    #[error("an access of {0} B, and there are at most {MAX_TRANSFER}")]
    Transfer(u32),
    /// The first command is not the version, or the version was sent twice.
    #[error("command {0} where {expected} the version", expected = if *.0 == 1 { "there was already" } else { "there should be" })]
    Order(u16),
    /// The client has another major version of the protocol.
    #[error("version {0} of the protocol, and this is 0")]
    Version(u16),
    /// The capabilities are no JSON.
    #[error("capabilities that are no JSON: {0}")]
    Capabilities(String),
    /// The message has more file descriptors than were agreed on.
    #[error("more than {MAX_FDS} file descriptors")]
    Descriptors,
}

/// Header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The sender's number of the message, which its reply repeats.
    pub id: u16,
    /// Number of the command.
    pub command: u16,
    /// Length of the body in bytes.
    pub body: usize,
    /// The client wants no reply.
    pub no_reply: bool,
}

impl Header {
    /// Parses the header of a command.
    ///
    /// # Errors
    /// [`Malformed`] if the bytes are no header of a command.
    pub fn parse(bytes: &[u8; HEADER]) -> Result<Self, Malformed> {
        let (id, command) = (u16_at(bytes, 0), u16_at(bytes, 2));
        let (size, flags) = (u32_at(bytes, 4), u32_at(bytes, 8));
        if !(HEADER..=MAX_MESSAGE).contains(&(size as usize)) {
            return Err(Malformed::Size(size));
        }
        if flags & TYPE_MASK != 0 {
            return Err(Malformed::Type(flags & TYPE_MASK));
        }
        let (body, no_reply) = (size as usize - HEADER, flags & NO_REPLY != 0);
        Ok(Self { id, command, body, no_reply })
    }

    /// Makes a reply with that body.
    pub fn reply(&self, body: &[u8]) -> Vec<u8> {
        self.message(REPLY, 0, body)
    }

    /// Makes a reply that reports an error, by its number.
    pub fn error(&self, errno: i32) -> Vec<u8> {
        self.message(REPLY | ERROR, errno as u32, &[])
    }

    fn message(&self, flags: u32, error: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER + body.len());
        bytes.extend(self.id.to_le_bytes());
        bytes.extend(self.command.to_le_bytes());
        for word in [(HEADER + body.len()) as u32, flags, error] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(body);
        bytes
    }
}

/// Request of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Agree on a version; the first message.
    Version {
        /// Minor version of the client; the major one is 0.
        minor: u16,
    },
    /// Map memory for the card.
    DmaMap {
        /// Rights of the card. Bit 0: read; bit 1: write.
        flags: u32,
        /// Offset of the memory in the file that is sent with the message.
        offset: u64,
        /// I/O virtual address.
        address: u64,
        /// Length in bytes.
        size: u64,
    },
    /// Unmap memory.
    DmaUnmap {
        /// Bit 0: report dirty pages; bit 1: unmap everything.
        flags: u32,
        /// I/O virtual address.
        address: u64,
        /// Length in bytes.
        size: u64,
    },
    /// Query the kind of device.
    DeviceInfo,
    /// Query the properties of a region.
    RegionInfo {
        /// Index of the region.
        index: u32,
    },
    /// Query the properties of a kind of interrupts.
    IrqInfo {
        /// Index of the kind.
        index: u32,
    },
    /// Set up or trigger interrupts.
    SetIrqs {
        /// Type of data, and action.
        flags: u32,
        /// Index of the kind.
        index: u32,
        /// Index of the first vector.
        start: u32,
        /// Number of vectors.
        count: u32,
        /// One byte for each vector, for some types of data.
        data: Vec<u8>,
    },
    /// Read from a region.
    RegionRead {
        /// Offset in the region.
        offset: u64,
        /// Index of the region.
        region: u32,
        /// Number of bytes.
        count: u32,
    },
    /// Write to a region.
    RegionWrite {
        /// Offset in the region.
        offset: u64,
        /// Index of the region.
        region: u32,
        /// Bytes to write.
        data: Vec<u8>,
    },
    /// Reset the device.
    DeviceReset,
    /// A command of the protocol that this server does not support.
    Unsupported,
}

impl Request {
    /// Parses a command.
    ///
    /// # Errors
    /// [`Malformed`] if there is no such command, or the body does not fit it.
    pub fn parse(header: &Header, body: &[u8]) -> Result<Self, Malformed> {
        let command = header.command;
        let at_least = |len: usize| match body.len() >= len {
            true => Ok(()),
            false => Err(Malformed::Body { command, len: body.len() }),
        };
        Ok(match command {
            1 => {
                at_least(4)?;
                check_version(body)?;
                Self::Version { minor: u16_at(body, 2) }
            }
            2 => {
                at_least(32)?;
                let [offset, address, size] = [8, 16, 24].map(|at| u64_at(body, at));
                Self::DmaMap { flags: u32_at(body, 4), offset, address, size }
            }
            3 => {
                at_least(24)?;
                let [address, size] = [8, 16].map(|at| u64_at(body, at));
                Self::DmaUnmap { flags: u32_at(body, 4), address, size }
            }
            4 => at_least(16).map(|()| Self::DeviceInfo)?,
            5 => at_least(32).map(|()| Self::RegionInfo { index: u32_at(body, 8) })?,
            7 => at_least(16).map(|()| Self::IrqInfo { index: u32_at(body, 8) })?,
            8 => {
                at_least(20)?;
                let [flags, index, start, count] = [4, 8, 12, 16].map(|at| u32_at(body, at));
                Self::SetIrqs { flags, index, start, count, data: body[20..].to_vec() }
            }
            9 | 10 => {
                at_least(16)?;
                let (offset, region) = (u64_at(body, 0), u32_at(body, 8));
                let (count, data) = (u32_at(body, 12), &body[16..]);
                if count as usize > MAX_TRANSFER {
                    return Err(Malformed::Transfer(count));
                }
                match command {
                    9 => Self::RegionRead { offset, region, count },
                    _ if data.len() == count as usize => {
                        Self::RegionWrite { offset, region, data: data.to_vec() }
                    }
                    _ => return Err(Malformed::Body { command, len: body.len() }),
                }
            }
            13 => Self::DeviceReset,
            6 | 11 | 12 | 14 => Self::Unsupported,
            _ => return Err(Malformed::Command(command)),
        })
    }
}

/// Checks a version message: the major version, and that the capabilities, if any, are JSON that
/// ends with a zero byte. None of them changes what this server does.
fn check_version(body: &[u8]) -> Result<(), Malformed> {
    let major = u16_at(body, 0);
    if major != 0 {
        return Err(Malformed::Version(major));
    }
    let text = body[4..].strip_suffix(&[0]).unwrap_or(&body[4..]);
    if text.is_empty() {
        return Ok(());
    }
    let parsed: Result<Value, _> = serde_json::from_slice(text);
    parsed.map(|_| ()).map_err(|error| Malformed::Capabilities(error.to_string()))
}

/// Makes the body of the reply to a version.
pub fn version_reply(minor: u16) -> Vec<u8> {
    let capabilities = json!({"capabilities": {
        "max_msg_fds": MAX_FDS,
        "max_data_xfer_size": MAX_TRANSFER,
    }});
    let mut body = Vec::new();
    body.extend(0_u16.to_le_bytes());
    body.extend(minor.min(1).to_le_bytes());
    body.extend(capabilities.to_string().bytes());
    body.push(0);
    body
}

/// Makes a body of 32-bit words.
pub fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(command: u16, size: u32, flags: u32) -> Result<Header, Malformed> {
        let mut bytes = [0; HEADER];
        bytes[..2].copy_from_slice(&0x1234_u16.to_le_bytes());
        bytes[2..4].copy_from_slice(&command.to_le_bytes());
        bytes[4..8].copy_from_slice(&size.to_le_bytes());
        bytes[8..12].copy_from_slice(&flags.to_le_bytes());
        Header::parse(&bytes)
    }

    fn parse(command: u16, body: &[u8]) -> Result<Request, Malformed> {
        let header = header(command, (HEADER + body.len()) as u32, 0).unwrap();
        Request::parse(&header, body)
    }

    #[test]
    fn a_header_is_read_and_its_reply_has_its_number() {
        let header = header(9, 32, NO_REPLY).unwrap();
        assert_eq!(header, Header { id: 0x1234, command: 9, body: 16, no_reply: true });
        let reply = [0x34, 0x12, 9, 0, 18, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 8];
        assert_eq!(header.reply(&[7, 8]), reply);
        let error = [0x34, 0x12, 9, 0, 16, 0, 0, 0, 0x21, 0, 0, 0, 17, 0, 0, 0];
        assert_eq!(header.error(17), error);
    }

    #[test]
    fn what_is_no_command_is_refused() {
        for size in [0, 15, MAX_MESSAGE as u32 + 1, u32::MAX] {
            assert_eq!(header(1, size, 0), Err(Malformed::Size(size)));
        }
        assert_eq!(header(1, 16, REPLY), Err(Malformed::Type(1)));
        for command in [0, 15, u16::MAX] {
            assert_eq!(parse(command, &[]), Err(Malformed::Command(command)));
        }
        let lengths =
            [(1, 4), (2, 32), (3, 24), (4, 16), (5, 32), (7, 16), (8, 20), (9, 16), (10, 16)];
        for (command, len) in lengths {
            assert!(parse(command, &vec![0; len]).is_ok(), "{command}");
            let body = vec![0; len - 1];
            assert_eq!(parse(command, &body), Err(Malformed::Body { command, len: len - 1 }));
        }
        let mut access = [0; 20];
        access[12] = 5;
        assert_eq!(parse(10, &access), Err(Malformed::Body { command: 10, len: 20 }));
        access[12] = 4;
        assert!(parse(10, &access).is_ok());
        access[15] = 1;
        assert_eq!(parse(9, &access), Err(Malformed::Transfer(0x0100_0004)));
    }

    #[test]
    fn bodies_have_the_kernels_layouts() {
        let body: Vec<u8> = (0..32).collect();
        let map = Request::DmaMap {
            flags: 0x0706_0504,
            offset: 0x0f0e_0d0c_0b0a_0908,
            address: 0x1716_1514_1312_1110,
            size: 0x1f1e_1d1c_1b1a_1918,
        };
        assert_eq!(parse(2, &body), Ok(map));
        let irqs = Request::SetIrqs {
            flags: 0x0706_0504,
            index: 0x0b0a_0908,
            start: 0x0f0e_0d0c,
            count: 0x1312_1110,
            data: (20..32).collect(),
        };
        assert_eq!(parse(8, &body), Ok(irqs));
        assert_eq!(parse(6, &body), Ok(Request::Unsupported));
    }

    #[test]
    fn versions_are_negotiated() {
        assert_eq!(parse(1, &[0, 0, 1, 0]), Ok(Request::Version { minor: 1 }));
        assert_eq!(
            parse(1, b"\0\0\x05\0{\"capabilities\":{}}\0"),
            Ok(Request::Version { minor: 5 })
        );
        assert_eq!(parse(1, &[2, 0, 1, 0]), Err(Malformed::Version(2)));
        assert!(matches!(parse(1, b"\0\0\0\0{\0"), Err(Malformed::Capabilities(_))));
        let reply = version_reply(7);
        assert_eq!(reply[..4], [0, 0, 1, 0]);
        let (zero, text) = reply[4..].split_last().unwrap();
        assert_eq!(*zero, 0);
        let value: Value = serde_json::from_slice(text).unwrap();
        assert_eq!(value["capabilities"]["max_data_xfer_size"], 65536);
    }
}
