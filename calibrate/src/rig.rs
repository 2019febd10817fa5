//! Regions whose rows are one DMA read each, and the time that they take.

use std::time::{Duration, Instant};

use drdma_abi::register::Counter;
use drdma_driver::memory::PAGE;
use drdma_sim::wire::PeerConfig;
use libdrdma::{
    CompletionQueue, Context, MacAddress, MemoryRegion, Options, ProtectionDomain, QueuePair,
    QueuePairAttributes, Region, Status, Transport, WorkRequest, counter,
};

use super::{
    CalibrateError,
    steady::{Run, Sample, steady},
};

/// An Ethernet and an IPv4 address.
struct Addresses {
    mac: MacAddress,
    ip: u32,
}

impl Addresses {
    /// The MAC address as a number, its first byte in bits 47 to 40.
    fn mac_number(&self) -> u64 {
        let [a, b, c, d, e, f] = self.mac.0;
        u64::from_be_bytes([0, 0, a, b, c, d, e, f])
    }
}

/// The card's own addresses.
const LOCAL: Addresses = Addresses { mac: MacAddress([2, 0, 0, 0, 0, 1]), ip: 0x0a00_0001 };
/// Addresses that payload is sent to: no peer has to answer it, so none need exist.
const SINK: Addresses = Addresses { mac: MacAddress([2, 0, 0, 0, 0, 2]), ip: 0x0a00_0002 };
const SINK_QPN: u32 = 2;
const QPN: u32 = 17;
const MTU: u32 = 4096;
/// Bytes of the memory that is read; larger than what a measurement reads, so that the next one finds other
/// lines.
const AREA: usize = 32 << 20;
/// Rows of the longest run.
const MOST_ROWS: u32 = 1 << 18;
/// Extents of a pattern, at most.
const EXTENTS: u32 = 16;
/// Bytes of each extent of a row that is longer than all extents together.
const WORD: u32 = 4;

/// The card's own addresses, for [`Context::open`].
pub fn options() -> Options {
    Options::new(LOCAL.mac, LOCAL.ip.into())
}

/// The peer that swallows the payload, for a simulated network.
pub fn peer() -> PeerConfig {
    PeerConfig {
        mtu: MTU,
        keep_messages: false,
        ..PeerConfig::new(Transport::Uc, SINK.mac_number(), SINK.ip, SINK_QPN, QPN)
    }
}

/// Layout of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of an extent.
    extent: u32,
    /// Number of extents, the first at the row's start, the last at its end.
    extents: u32,
    /// Bytes of the widest gap between extents.
    pub gap: u32,
    size: u32,
}

impl Shape {
    /// The layout of a row of `size` bytes: one extent, or words with gaps if it is long.
    pub fn of(size: u32) -> Self {
        if size <= EXTENTS * WORD {
            return Self { extent: size, extents: 1, gap: 0, size };
        }
        let mut shape = Self { extent: WORD, extents: EXTENTS, gap: 0, size };
        let offsets: Vec<u32> = shape.offsets().collect();
        let gaps = offsets.windows(2).map(|pair| pair[1] - pair[0] - WORD);
        shape.gap = gaps.max().unwrap_or(0);
        shape
    }

    /// Offsets of the extents in the row.
    pub fn offsets(self) -> impl Iterator<Item = u32> {
        let Self { extent, extents, size, .. } = self;
        let step = size / extents;
        (0..extents).map(move |i| if i + 1 == extents { size - extent } else { i * step })
    }

    fn pattern(self) -> Vec<libdrdma::Extent> {
        let extent = |offset: u32| libdrdma::Extent { offset: offset.into(), len: self.extent };
        self.offsets().map(extent).collect()
    }

    /// Number of rows that fill a packet.
    fn rows_per_message(self) -> u32 {
        MTU / (self.extent * self.extents)
    }
}

/// A queue pair without a peer, and memory to read.
pub struct Rig {
    context: Context,
    // Dropped before the completion queue that it completes to.
    qp: QueuePair<'static>,
    cq: CompletionQueue,
    area: MemoryRegion,
    next: usize,
    patience: Duration,
}

impl Rig {
    /// Sets up a card that is otherwise idle.
    pub fn new(context: &Context, patience: Duration) -> Result<Self, CalibrateError> {
        let pd: ProtectionDomain = context.protection_domain();
        let area = pd.allocate(AREA)?;
        let cq = context.completion_queue().entries(16).build()?;
        let mut qp =
            pd.queue_pair(&cq).transport(Transport::Uc).qpn(QPN).send_blocks(16).build()?;
        qp.connect(
            &QueuePairAttributes::new()
                .path_mtu(MTU)
                .dest_mac(SINK.mac)
                .dest_ip(SINK.ip.into())
                .dest_qpn(SINK_QPN)
                .start_psn(0),
        )?;
        Ok(Self { context: context.clone(), qp, cq, area, next: 0, patience })
    }

    /// Makes a run of reads of `size` bytes, `stride` from one to the next, in steady state.
    pub fn measure(&mut self, size: u32, stride: u32) -> Result<Run, CalibrateError> {
        let one = self.run(size, stride, 1)?;
        let limit = MOST_ROWS.min(AREA as u32 / stride);
        steady(one.end.cycles, limit, |rows| self.run(size, stride, rows))
    }

    /// Sends `rows` rows from memory that the last run did not read.
    pub fn run(&mut self, size: u32, stride: u32, rows: u32) -> Result<Run, CalibrateError> {
        let shape = Shape::of(size);
        // Rows that touch are kept apart by the longest read, others by the threshold.
        self.context.set_max_read(if stride == size { size } else { 4096 })?;
        self.context.set_merge_threshold(shape.gap)?;
        let len = stride as usize * rows as usize;
        if self.next + len > AREA {
            self.next = 0;
        }
        let addr = self.area.addr() + self.next as u64;
        // Rows that are aligned to their size cross no page.
        self.next += len.next_multiple_of(PAGE);
        self.run_at(addr, self.area.lkey(), size, stride, rows)
    }

    /// Sends `rows` rows from memory at `addr`.
    pub fn run_at(
        &mut self,
        addr: u64,
        lkey: u32,
        size: u32,
        stride: u32,
        rows: u32,
    ) -> Result<Run, CalibrateError> {
        let shape = Shape::of(size);
        let region = Region::unchecked_strided(addr, lkey, stride.into(), rows, &shape.pattern())?;
        let request = WorkRequest::new(1).rows_per_message(shape.rows_per_message());
        self.context.clear_counters().map_err(libdrdma::Error::from)?;
        self.qp.post_send(&request.regions(&[region]))?;
        let mut samples = Vec::new();
        let started = Instant::now();
        let status = loop {
            if let Some(completion) = self.cq.poll().next() {
                break completion.status;
            }
            let waited = self.patience;
            if started.elapsed() >= waited {
                return Err(CalibrateError::TimedOut { size, stride, waited });
            }
            self.context.progress().map_err(libdrdma::Error::from)?;
            samples.push(self.sample()?);
        };
        if status != Status::Success {
            return Err(CalibrateError::Status { size, stride, status });
        }
        let end = self.sample()?;
        let read_bytes = self.counter(counter::DATA_READ_BYTES)?;
        Ok(Run { samples, end, read_bytes })
    }

    fn counter(&self, counter: Counter) -> Result<u64, CalibrateError> {
        Ok(self.context.counter(counter).map_err(libdrdma::Error::from)?)
    }

    /// Reads the counters at about the same time: the time between the two reads is the same in all
    /// samples.
    fn sample(&self) -> Result<Sample, CalibrateError> {
        let cycles = self.counter(counter::CYCLES)?;
        Ok(Sample { cycles, reads: self.counter(counter::DATA_READS)? })
    }
}
