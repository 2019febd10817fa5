//! The Ethernet side: the shell's `if` streams, a MAC that sends at 100 Gb/s, and the host's own
//! traffic, which passes the card in both directions.

use std::collections::VecDeque;

use drdma_abi::roce::WIRE_OVERHEAD;
use drdma_verilated::{Library, Model, PortHandle, testbench::Random};

use drdma_soft::{clock::NS_PER_CYCLE, wire::Network};

/// Bytes of a beat.
const BEAT: usize = 64;
/// Rate of the wire.
const WIRE_GBPS: f64 = 100.0;
/// Bytes of the transmit FIFO behind the `if` stream.
const FIFO_BYTES: f64 = 32.0 * 1024.0;
/// Bit of a transmitted frame's `tuser`: its FCS is to be spoiled.
const BAD: u64 = 1;
/// The bit of a transmit tag that Corundum's own frames carry.
const HOST_TAG: u64 = 1 << 15;

/// A frame of the host's own traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFrame {
    /// The frame, without FCS.
    pub bytes: Vec<u8>,
    /// Transmit tag, of frames to the wire.
    pub tag: u64,
}

/// Handles of one direction of a stream.
#[derive(Clone, Copy, Debug)]
struct Stream {
    data: PortHandle,
    keep: PortHandle,
    valid: PortHandle,
    ready: PortHandle,
    last: PortHandle,
    user: PortHandle,
}

impl Stream {
    fn new(library: &Library, name: &str) -> drdma_verilated::Result<Self> {
        let port = |field: &str| library.port(&format!("{name}_t{field}"));
        Ok(Self {
            data: port("data")?,
            keep: port("keep")?,
            valid: port("valid")?,
            ready: port("ready")?,
            last: port("last")?,
            user: port("user")?,
        })
    }
}

/// Sends frames into the design, beat by beat.
#[derive(Debug)]
struct Source {
    stream: Stream,
    frames: VecDeque<(Vec<u8>, u64)>,
    at: usize,
    offered: bool,
}

impl Source {
    fn drive(&mut self, model: &mut Model, stall: bool) {
        self.offered = !self.frames.is_empty() && (self.offered || !stall);
        model.set(self.stream.valid, self.offered.into());
        if !self.offered {
            return;
        }
        let (bytes, user) = self.frames.front().expect("an offered frame");
        let beat = &bytes[self.at..bytes.len().min(self.at + BEAT)];
        let mut words = [0_u32; BEAT / 4];
        for (k, byte) in beat.iter().enumerate() {
            words[k / 4] |= u32::from(*byte) << (8 * (k % 4));
        }
        model.set_wide(self.stream.data, &words);
        model.set(self.stream.keep, u64::MAX >> (BEAT - beat.len()));
        model.set(self.stream.last, (self.at + BEAT >= bytes.len()).into());
        model.set(self.stream.user, *user);
    }

    fn sample(&mut self, model: &Model) {
        if self.offered && model.get(self.stream.ready) == 1 {
            self.offered = false;
            self.at += BEAT;
            if self.at >= self.frames.front().expect("an offered frame").0.len() {
                self.frames.pop_front();
                self.at = 0;
            }
        }
    }
}

/// Collects frames from the design.
#[derive(Debug)]
struct Sink {
    stream: Stream,
    ready: bool,
    bytes: Vec<u8>,
}

impl Sink {
    fn drive(&mut self, model: &mut Model, ready: bool) {
        self.ready = ready;
        model.set(self.stream.ready, ready.into());
    }

    /// Number of bytes that moved this cycle, and the frame with its user bits if it ended.
    fn sample(&mut self, model: &Model) -> (usize, Option<(Vec<u8>, u64)>) {
        if !self.ready || model.get(self.stream.valid) == 0 {
            return (0, None);
        }
        let keep = model.get(self.stream.keep);
        let len = keep.count_ones() as usize;
        let last = model.get(self.stream.last) == 1;
        assert!(
            len > 0 && keep == u64::MAX >> (BEAT - len) && (last || len == BEAT),
            "a beat with keep {keep:#x}, last {last}"
        );
        let mut words = [0_u32; BEAT / 4];
        model.get_wide(self.stream.data, &mut words);
        let bytes = words.iter().flat_map(|word| word.to_le_bytes()).take(len);
        self.bytes.extend(bytes);
        let frame = last.then(|| (std::mem::take(&mut self.bytes), model.get(self.stream.user)));
        (len, frame)
    }
}

/// The shell's network side.
#[derive(Debug)]
pub struct Mac {
    network: Network,
    random: Random,
    stall: f64,
    to_wire: Sink,
    from_wire: Source,
    host_out: Source,
    host_in: Sink,
    completion_in: [PortHandle; 3],
    completion_out: [PortHandle; 3],
    completions: VecDeque<u64>,
    completion_offered: bool,
    /// Bytes that leave in a cycle.
    rate: f64,
    /// Bytes in the transmit FIFO, with the bytes that each frame takes on the wire in addition.
    backlog: f64,
    received: Vec<HostFrame>,
    sent: Vec<HostFrame>,
    completed: Vec<u64>,
    last_byte_ns: f64,
}

impl Mac {
    /// Makes a MAC whose wire is `network`; streams stall with probability `stall`.
    ///
    /// # Errors
    /// If the design lacks a signal.
    pub fn new(
        library: &Library,
        network: Network,
        stall: f64,
        seed: u64,
    ) -> drdma_verilated::Result<Self> {
        let source = |name| {
            let stream = Stream::new(library, name)?;
            Ok::<_, drdma_verilated::Error>(Source {
                stream,
                frames: VecDeque::new(),
                at: 0,
                offered: false,
            })
        };
        let sink = |name| {
            let stream = Stream::new(library, name)?;
            Ok::<_, drdma_verilated::Error>(Sink { stream, ready: false, bytes: Vec::new() })
        };
        let completion = |side: &str| {
            let port = |field: &str| library.port(&format!("{side}_axis_if_tx_cpl_{field}"));
            Ok::<_, drdma_verilated::Error>([port("tag")?, port("valid")?, port("ready")?])
        };
        let mut mac = Self {
            network,
            random: Random::new(seed ^ 0x6d61_6300),
            stall,
            to_wire: sink("m_axis_if_tx")?,
            from_wire: source("s_axis_if_rx")?,
            host_out: source("s_axis_if_tx")?,
            host_in: sink("m_axis_if_rx")?,
            completion_in: completion("s")?,
            completion_out: completion("m")?,
            completions: VecDeque::new(),
            completion_offered: false,
            rate: 0.0,
            backlog: 0.0,
            received: Vec::new(),
            sent: Vec::new(),
            completed: Vec::new(),
            last_byte_ns: 0.0,
        };
        mac.set_rate(WIRE_GBPS);
        Ok(mac)
    }

    /// Gives the wire another rate than 100 Gb/s.
    pub fn set_rate(&mut self, gbps: f64) {
        self.rate = gbps / 8.0 * NS_PER_CYCLE;
    }

    /// Sends a frame of the host; Corundum's bit is set in `tag`.
    pub fn send_as_host(&mut self, bytes: Vec<u8>, tag: u64) {
        self.host_out.frames.push_back((bytes, (tag | HOST_TAG) << 1));
    }

    /// Takes the frames that reached the host, and were not the card's.
    pub fn received_by_host(&mut self) -> Vec<HostFrame> {
        std::mem::take(&mut self.received)
    }

    /// Takes the host's frames that reached the wire.
    pub fn sent_by_host(&mut self) -> Vec<HostFrame> {
        std::mem::take(&mut self.sent)
    }

    /// Takes the tags of transmit completions that reached the host.
    pub fn completed_to_host(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.completed)
    }

    /// Forgets every frame that is under way, as the shell's reset does.
    pub fn reset(&mut self) {
        self.network.forget_frames();
        for source in [&mut self.from_wire, &mut self.host_out] {
            source.frames.clear();
            (source.at, source.offered) = (0, false);
        }
        for sink in [&mut self.to_wire, &mut self.host_in] {
            sink.bytes.clear();
        }
        self.completions.clear();
        self.backlog = 0.0;
    }

    /// True if no frame is under way at the card.
    pub fn is_idle(&self) -> bool {
        let sources = [&self.from_wire, &self.host_out];
        let sinks = [&self.to_wire, &self.host_in];
        sources.iter().all(|source| source.frames.is_empty())
            && sinks.iter().all(|sink| sink.bytes.is_empty())
            && self.completions.is_empty()
            && !self.network.is_receiving()
    }

    /// Time at which the last byte left on the wire, in nanoseconds since reset.
    pub fn last_byte_ns(&self) -> f64 {
        self.last_byte_ns
    }

    /// Sets the design's inputs for this cycle.
    pub fn drive(&mut self, model: &mut Model, cycle: u64) {
        while let Some(frame) = self.network.receive((cycle as f64 * NS_PER_CYCLE) as u64) {
            self.from_wire.frames.push_back((frame, 0));
        }
        let stall = self.stall;
        let room = self.backlog < FIFO_BYTES - BEAT as f64 - WIRE_OVERHEAD as f64;
        self.to_wire.drive(model, room && !self.random.chance(stall));
        self.host_in.drive(model, !self.random.chance(stall));
        self.from_wire.drive(model, self.random.chance(stall));
        self.host_out.drive(model, self.random.chance(stall));
        let [tag, valid, _] = self.completion_in;
        self.completion_offered = !self.completions.is_empty();
        model.set(valid, self.completion_offered.into());
        model.set(tag, self.completions.front().copied().unwrap_or(0));
        model.set(self.completion_out[2], 1);
    }

    /// Reads the design's outputs, before the clock rises.
    pub fn sample(&mut self, model: &Model, cycle: u64) {
        // A port that is not transmitting drains nothing, so that the card stalls when its FIFO is full.
        if self.network.is_transmitting() {
            self.backlog = (self.backlog - self.rate).max(0.0);
        }
        let (moved, frame) = self.to_wire.sample(model);
        self.backlog += moved as f64;
        if let Some((bytes, user)) = frame {
            self.backlog += WIRE_OVERHEAD as f64;
            let drained = self.backlog / self.rate;
            self.last_byte_ns = (cycle as f64 + 1.0 + drained) * NS_PER_CYCLE;
            let tag = user >> 1;
            self.completions.push_back(tag);
            match tag & HOST_TAG {
                // The MAC spoils the FCS, so that no peer takes the frame.
                _ if user & BAD != 0 => {}
                0 => {
                    self.network.clock().sent(self.last_byte_ns);
                    self.network.transmit(&bytes, self.last_byte_ns as u64);
                }
                _ => self.sent.push(HostFrame { bytes, tag: tag & !HOST_TAG }),
            }
        }
        if let (_, Some((bytes, _))) = self.host_in.sample(model) {
            self.received.push(HostFrame { bytes, tag: 0 });
        }
        self.from_wire.sample(model);
        self.host_out.sample(model);
        if self.completion_offered && model.get(self.completion_in[2]) == 1 {
            self.completions.pop_front();
        }
        if model.get(self.completion_out[1]) == 1 {
            self.completed.push(model.get(self.completion_out[0]) & !HOST_TAG);
        }
    }
}
