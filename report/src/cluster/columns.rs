//! SENDs of packed rows that the receiver takes apart into columns.

use drdma_fabric::NetworkConfig;
use drdma_verilated::testbench::Random;
use libdrdma::{
    AppendRegion, Contiguous, MemoryRegion, ProtectionDomain, ReceiveRequest, Region, Strided,
    WorkRequest,
};

use super::{
    Took,
    rig::{self, End, Kind, Link},
};
use crate::rig::RunError;

/// Seed of the payload's random bytes.
const SEED: u64 = 78;
/// Messages, and about how many bytes each has.
const MESSAGES: usize = 3;
const MESSAGE_BYTES: usize = 4 << 20;
/// Alignment of columns, unless they begin at odd addresses.
const PAGE: usize = 4096;

/// A trial with columns.
#[derive(Clone, Debug)]
pub struct Columns {
    /// Bytes of a value of each column.
    pub widths: Vec<usize>,
    /// Whether receives append; else they have strided regions, and all widths are equal.
    pub appends: bool,
    /// Whether columns begin behind a page's beginning, each at another byte of a word.
    pub odd: bool,
    /// Payload bytes of a packet.
    pub mtu: u32,
}

impl Columns {
    /// Columns that begin at pages, in packets of 4,096 B.
    pub fn new(widths: &[usize], appends: bool) -> Self {
        Self { widths: widths.to_vec(), appends, odd: false, mtu: 4096 }
    }

    fn row(&self) -> usize {
        self.widths.iter().sum()
    }

    /// Number of rows of a message.
    fn rows(&self) -> usize {
        MESSAGE_BYTES / self.row()
    }

    /// Offset of each column, and bytes of the memory of all.
    fn places(&self) -> (Vec<usize>, usize) {
        let (mut places, mut end) = (Vec::new(), 0);
        for (k, width) in self.widths.iter().enumerate() {
            let skew = if self.odd { 1 + 67 * k } else { 0 };
            places.push(end + skew);
            end = (end + skew + MESSAGES * self.rows() * width).next_multiple_of(PAGE);
        }
        (places, end)
    }

    /// Runs the trial: everything is posted before the doorbell is rung.
    pub fn run(&self) -> Result<Took, RunError> {
        let network = NetworkConfig::default();
        let mut fabric = rig::fabric(network.clone(), &[Kind::Rtl, Kind::Rtl])?;
        let entries = MESSAGES as u32;
        let ends = [End::new(&fabric, 0, entries)?, End::new(&fabric, 1, entries)?];
        let len = self.rows() * self.row();
        let packed = Random::new(SEED).bytes(MESSAGES * len);
        let local = ends[0].memory(&packed)?;
        let (places, size) = self.places();
        let remote = ends[1].memory(&vec![0; size])?;
        let append = self.append(&ends[1].pd, &remote, &places)?;
        let link = Link { mtu: self.mtu, ..Link::default() };
        let (mut from, mut to) = rig::pair(&fabric, &ends[0], &ends[1], &link)?;
        for message in 0..MESSAGES {
            let receive = ReceiveRequest::new(message as u64);
            match &append {
                Some(append) => to.post_recv(&receive.append(append))?,
                None => {
                    let region = self.region(&remote, &places, message)?;
                    to.post_recv(&receive.regions(&[region]))?;
                }
            }
        }
        rig::settle(&mut fabric, MESSAGES)?;

        let start = fabric.now();
        let mut batch = from.batch();
        for message in 0..MESSAGES {
            let offset = (message * len) as u64;
            let region = Contiguous::new(&local).offset(offset).len(len as u64).build()?;
            batch.post_send(&WorkRequest::new(message as u64).regions(&[region]))?;
        }
        batch.submit()?;
        let end = rig::wait(&mut fabric, &[(&ends[1].received, MESSAGES)])?;
        self.check(&packed, &remote, &places)?;
        let ns = (end - start).as_nanos() as f64 - rig::first_latency_ns(&network);
        Ok(Took { ns, bytes: (MESSAGES * len) as u64, requests: MESSAGES as u64 })
    }

    fn append<'m>(
        &self,
        pd: &ProtectionDomain,
        memory: &'m MemoryRegion,
        places: &[usize],
    ) -> Result<Option<AppendRegion<'m>>, RunError> {
        if !self.appends {
            return Ok(None);
        }
        let mut region = pd.append_region().capacity((MESSAGES * self.rows()) as u32);
        for (width, place) in self.widths.iter().zip(places) {
            region = region.column(memory, *place as u64, *width as u32);
        }
        let region = region.build().map_err(|error| RunError::Refused(error.to_string()))?;
        Ok(Some(region))
    }

    /// The rows of a message: a value of each column follows the one of the row before.
    fn region<'m>(
        &self,
        memory: &'m MemoryRegion,
        places: &[usize],
        message: usize,
    ) -> Result<Region<'m>, RunError> {
        let width = self.widths[0];
        assert!(self.widths.iter().all(|of| *of == width), "a strided region has one period");
        let mut region = Strided::new(memory).period(width as u64).count(self.rows() as u64);
        for place in places {
            let offset = place + message * self.rows() * width;
            region = region.extent(offset as u64, width as u64);
        }
        Ok(region.build()?)
    }

    fn check(
        &self,
        packed: &[u8],
        remote: &MemoryRegion,
        places: &[usize],
    ) -> Result<(), RunError> {
        let mut columns = vec![0; remote.len()];
        remote.read_at(0, &mut columns);
        for (nth, row) in packed.chunks(self.row()).enumerate() {
            let mut at = 0;
            for (width, place) in self.widths.iter().zip(places) {
                let value = &columns[place + nth * width..][..*width];
                if value != &row[at..at + width] {
                    let what = format!("row {nth} has other bytes than were sent");
                    return Err(RunError::Payload {
                        destination: 1,
                        message: nth / self.rows(),
                        what,
                    });
                }
                at += width;
            }
        }
        Ok(())
    }
}
