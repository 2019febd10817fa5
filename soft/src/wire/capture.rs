//! Packet captures: pcap with nanosecond time stamps, which tcpdump and Wireshark read.

use std::{
    error::Error,
    fmt,
    io::{self, Write},
    time::Duration,
};

use pcap_file::{
    DataLink, Endianness,
    pcap::{PcapHeader, PcapPacket, PcapParser, PcapTsResolution, PcapWriter},
};

/// Writes frames to a pcap file.
pub struct Capture {
    writer: PcapWriter<Box<dyn Write + Send>>,
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture").finish_non_exhaustive()
    }
}

impl Capture {
    /// Starts a capture: the file's header is written at once.
    ///
    /// # Errors
    /// The error of `out`.
    pub fn new(out: impl Write + Send + 'static) -> io::Result<Self> {
        let header = PcapHeader {
            datalink: DataLink::ETHERNET,
            ts_resolution: PcapTsResolution::NanoSecond,
            endianness: Endianness::Little,
            ..PcapHeader::default()
        };
        let out: Box<dyn Write + Send> = Box::new(out);
        Ok(Self { writer: PcapWriter::with_header(out, header).map_err(|error| cause(&error))? })
    }

    /// Appends a frame (without FCS) that was sent at `time_ns`.
    ///
    /// # Errors
    /// The error of the output, or a frame of more than 65,535 bytes.
    pub fn write(&mut self, frame: &[u8], time_ns: u64) -> io::Result<()> {
        let packet = PcapPacket::new(Duration::from_nanos(time_ns), frame.len() as u32, frame)
            .map_err(|error| cause(&error))?;
        self.writer.write_packet(&packet).map_err(|error| cause(&error))?;
        Ok(())
    }

    /// Flushes buffered frames.
    ///
    /// # Errors
    /// The error of the output.
    pub fn flush(&mut self) -> io::Result<()> {
        self.writer.flush().map_err(|error| cause(&error))
    }
}

/// The error of the output that caused `error`, or else `error` itself.
fn cause(error: &(dyn Error + 'static)) -> io::Error {
    let mut at = Some(error);
    while let Some(error) = at {
        if let Some(code) = error.downcast_ref().and_then(io::Error::raw_os_error) {
            return io::Error::from_raw_os_error(code);
        }
        at = error.source();
    }
    io::Error::other(error.to_string())
}

/// A captured frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedFrame {
    /// Time in nanoseconds since the capture's time zero.
    pub time_ns: u64,
    /// The frame, without FCS.
    pub bytes: Vec<u8>,
}

/// Reads all frames of a pcap file.
///
/// # Errors
/// If `bytes` are not a pcap file of whole frames.
pub fn read(bytes: &[u8]) -> io::Result<Vec<CapturedFrame>> {
    let invalid = |error: String| io::Error::new(io::ErrorKind::InvalidData, error);
    let (mut rest, parser) = PcapParser::new(bytes).map_err(|e| invalid(e.to_string()))?;
    let mut frames = Vec::new();
    while !rest.is_empty() {
        let (after, packet) = parser.next_packet(rest).map_err(|e| invalid(e.to_string()))?;
        rest = after;
        frames.push(CapturedFrame {
            time_ns: u64::try_from(packet.timestamp().as_nanos()).unwrap_or(u64::MAX),
            bytes: packet.into_data().into_owned(),
        });
    }
    Ok(frames)
}
