//! Joint duration of reads of different lengths.

use std::ops::{Add, AddAssign, Sub};

use super::{CostTable, Plan, READ_BOUNDARY};

/// Relative difference up to which bytes of a read count as equally cheap as those of the cheapest
/// in a table: the error of a measurement.
const NOISE: f64 = 0.02;
/// Loads that differ by less, relative to each other, are equal: sums of floating-point numbers.
const ROUNDING: f64 = 1e-9;

/// Use that reads make of the two resources of a host: requests in flight and bytes. Each is the
/// time in nanoseconds for which these reads alone would keep the resource busy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Time in nanoseconds that the requests take.
    pub requests_ns: f64,
    /// Time in nanoseconds that their bytes take.
    pub bytes_ns: f64,
    /// Time in nanoseconds if reads of different kinds never overlap: the sum over the reads of the
    /// larger of the two.
    pub apart_ns: f64,
}

impl Load {
    /// Position of the reads' time between full overlap (0) and none (1).
    pub(super) const APART: f64 = 1.0 / 3.0;

    /// Nanoseconds that the reads take: a third of the way from the time in which both resources
    /// are used up together all the time to the time in which reads of different lengths never
    /// overlap. Reads are issued in order, so sometimes the one resource is used up and sometimes
    /// the other; the third is measured with bitmaps on the simulated card.
    pub fn ns(&self) -> f64 {
        let together = self.requests_ns.max(self.bytes_ns);
        together + (self.apart_ns - together) * Self::APART
    }

    /// Load of a request that waits for `ns` nanoseconds.
    pub(super) fn waiting(ns: f64) -> Self {
        Self { requests_ns: ns, bytes_ns: 0.0, apart_ns: ns }
    }

    /// True if these reads take less time, or the same and less of the resource that is not used
    /// up.
    pub(super) fn is_less_than(&self, other: &Self) -> bool {
        let less = |a: f64, b: f64| a < b * (1.0 - ROUNDING);
        let least = |load: &Self| load.requests_ns.min(load.bytes_ns);
        less(self.ns(), other.ns())
            || !less(other.ns(), self.ns()) && less(least(self), least(other))
    }
}

impl Add for Load {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            requests_ns: self.requests_ns + other.requests_ns,
            bytes_ns: self.bytes_ns + other.bytes_ns,
            apart_ns: self.apart_ns + other.apart_ns,
        }
    }
}

impl AddAssign for Load {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Load {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            requests_ns: self.requests_ns - other.requests_ns,
            bytes_ns: self.bytes_ns - other.bytes_ns,
            apart_ns: self.apart_ns - other.apart_ns,
        }
    }
}

impl CostTable {
    /// The length at which bytes are cheapest: the shortest measured one whose bytes cost hardly
    /// more than the cheapest of the table.
    fn cheapest_length(&self) -> u32 {
        let last = READ_BOUNDARY as u32;
        let lengths = || self.reads().iter().map(|read| read.bytes).chain([last]);
        let byte = |len: u32| self.read(len) / f64::from(len);
        let least = lengths().map(byte).fold(f64::INFINITY, f64::min);
        lengths().find(|len| byte(*len) <= least * (1.0 + NOISE)).unwrap_or(last)
    }

    /// Load of a read of `bytes`.
    ///
    /// A table says what reads of one length cost, which is the larger of the two. It is what the
    /// request takes up to the length at which bytes are cheapest, and what its bytes take from
    /// there on; shorter reads pay for their bytes what they cost there, longer ones for the request
    /// what it costs there.
    pub(super) fn read_load(&self, bytes: u32) -> Load {
        let knee = self.cheapest_length();
        let bytes_ns = match bytes > knee {
            true => self.read(bytes),
            false => self.read(knee) * f64::from(bytes) / f64::from(knee),
        };
        let requests_ns = self.read(bytes.min(knee));
        Load { requests_ns, bytes_ns, apart_ns: requests_ns.max(bytes_ns) }
    }

    /// Load of a plan. The sum over its reads ([`CostTable::plan`]) is the time that it takes if
    /// each read uses up one resource alone; short and long reads together take less, as each
    /// leaves some of the resource that the other needs. For a cost that is affine in a read's
    /// length both are equal.
    pub fn load(&self, plan: &Plan) -> Load {
        let (mut load, mut last_line) = (Load::default(), None);
        for read in plan.boxes() {
            load += self.read_load(read.len);
            load += Load::waiting(self.wait(&mut last_line, read.addr, read.len));
        }
        load
    }
}
