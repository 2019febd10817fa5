//! Plain WRITEs and READs of a described key: the columns of a table, or the rows of them that a bitmap selects.

use drdma_fabric::NetworkConfig;
use drdma_verilated::testbench::Random;
use libdrdma::{
    Access, Bitmapped, Contiguous, DescribedKey, MemoryRegion, Operation, Region, Strided,
    WorkRequest,
};

use super::{
    Took,
    rig::{self, End, Kind, Link},
};
use crate::rig::RunError;

/// Seed of the payload's random bytes.
const SEED: u64 = 79;
/// Requests, each of the whole key.
const REQUESTS: usize = 3;
/// Alignment of columns.
const PAGE: usize = 4096;

/// Operation of the peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// WRITE.
    Write,
    /// READ.
    Read,
}

/// A trial with a described key.
#[derive(Clone, Debug)]
pub struct Keys {
    /// Operation of the requests.
    pub verb: Verb,
    /// Bytes of a value, of all columns.
    pub width: usize,
    /// Number of columns.
    pub columns: usize,
    /// Bytes of a request, approximately.
    pub bytes: usize,
    /// Rows of a run, of which a bitmap selects every second one; `None` without a bitmap.
    pub runs: Option<usize>,
}

impl Keys {
    fn row(&self) -> usize {
        self.width * self.columns
    }

    /// The numbers of the key's rows, and the number of rows of the table.
    fn rows(&self) -> (Vec<usize>, usize) {
        let count = self.bytes / self.row();
        match self.runs {
            None => ((0..count).collect(), count),
            Some(run) => {
                let of_run = |row: &usize| (row / run).is_multiple_of(2);
                let rows: Vec<_> = (0..).filter(of_run).take(count).collect();
                let table = rows.last().map_or(0, |last| last + 1);
                (rows, table)
            }
        }
    }

    /// Bytes from the beginning of a column to that of the next.
    fn pitch(&self) -> usize {
        (self.rows().1 * self.width).next_multiple_of(PAGE)
    }

    /// Runs the trial: everything is posted before the doorbell is rung.
    pub fn run(&self) -> Result<Took, RunError> {
        let network = NetworkConfig::default();
        let mut fabric = rig::fabric(network.clone(), &[Kind::Rtl, Kind::Rtl])?;
        let entries = REQUESTS as u32;
        let ends = [End::new(&fabric, 0, entries)?, End::new(&fabric, 1, entries)?];
        let (rows, table) = self.rows();
        let len = rows.len() * self.row();
        let mut random = Random::new(SEED);
        let (values, packed) = match self.verb {
            Verb::Read => (random.bytes(self.columns * self.pitch()), vec![0; REQUESTS * len]),
            Verb::Write => (vec![0; self.columns * self.pitch()], random.bytes(len)),
        };
        let remote = ends[1].memory(&values)?;
        let bitmap = ends[1].memory(&self.bitmap(&rows, table))?;
        let local = ends[0].memory(&packed)?;
        let key = self.key(&ends[1], self.region(&remote, &bitmap, table)?)?;
        let (mut from, _to) = rig::pair(&fabric, &ends[0], &ends[1], &Link::default())?;
        rig::settle(&mut fabric, 0)?;

        let start = fabric.now();
        let mut batch = from.batch();
        for request in 0..REQUESTS {
            let post = WorkRequest::new(request as u64);
            let (post, offset) = match self.verb {
                Verb::Read => (post.read(0, key.rkey()), request * len),
                Verb::Write => {
                    (post.operation(Operation::Write { remote_addr: 0, rkey: key.rkey() }), 0)
                }
            };
            let region = Contiguous::new(&local).offset(offset as u64).len(len as u64).build()?;
            batch.post_send(&post.regions(&[region]))?;
        }
        batch.submit()?;
        let end = rig::wait(&mut fabric, &[(&ends[0].sent, REQUESTS)])?;
        self.check(&rows, &local, &remote)?;
        let ns = (end - start).as_nanos() as f64 - rig::first_latency_ns(&network);
        let (bytes, requests) = ((REQUESTS * len) as u64, REQUESTS as u64);
        Ok(Took { ns, bytes, requests })
    }

    fn bitmap(&self, rows: &[usize], table: usize) -> Vec<u8> {
        let mut bits = vec![0; table.div_ceil(8)];
        for row in rows {
            bits[row / 8] |= 1 << (row % 8);
        }
        bits
    }

    fn region<'m>(
        &self,
        memory: &'m MemoryRegion,
        bitmap: &'m MemoryRegion,
        table: usize,
    ) -> Result<Region<'m>, RunError> {
        let places = (0..self.columns).map(|k| (k * self.pitch()) as u64);
        let width = self.width as u64;
        Ok(match self.runs {
            None => {
                let region = Strided::new(memory).period(width).count(table as u64);
                places.fold(region, |region, place| region.extent(place, width)).build()?
            }
            Some(_) => {
                let region = Bitmapped::new(bitmap).rows(table as u64);
                places.fold(region, |region, place| region.column(memory, place, width)).build()?
            }
        })
    }

    fn key<'m>(&self, end: &End, region: Region<'m>) -> Result<DescribedKey<'m>, RunError> {
        let access = match self.verb {
            Verb::Read => Access::REMOTE_READ,
            Verb::Write => Access::REMOTE_WRITE,
        };
        let key = end.pd.described_key(region, access);
        key.map_err(|error| RunError::Refused(error.to_string()))
    }

    /// Compares every value on both sides.
    fn check(
        &self,
        rows: &[usize],
        local: &MemoryRegion,
        remote: &MemoryRegion,
    ) -> Result<(), RunError> {
        let (mut packed, mut table) = (vec![0; local.len()], vec![0; remote.len()]);
        local.read_at(0, &mut packed);
        remote.read_at(0, &mut table);
        for (nth, row) in packed.chunks(self.row()).enumerate() {
            for (k, value) in row.chunks(self.width).enumerate() {
                let place = k * self.pitch() + rows[nth % rows.len()] * self.width;
                if value != &table[place..place + self.width] {
                    let what = format!("value {k} of row {nth} has other bytes than it should");
                    let destination = usize::from(self.verb == Verb::Write);
                    let message = nth / rows.len();
                    return Err(RunError::Payload { destination, message, what });
                }
            }
        }
        Ok(())
    }
}
