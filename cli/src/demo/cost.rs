//! Costs of sending.

use std::{ops::AddAssign, time::Duration};

use drdma_driver::CardError;
use drdma_sim::clock::Span;
use libdrdma::{Context, Statistics, counter};
use serde::{Serialize, Serializer};

/// Costs of sending some rows.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Cost {
    /// Number of rows.
    pub rows: u64,
    /// Number of work requests that were posted.
    pub work_requests: u64,
    /// Bytes of those requests.
    pub request_bytes: u64,
    /// Time that the CPU took to describe the rows and to write the requests to their rings.
    #[serde(rename = "posting_ns", serialize_with = "nanoseconds")]
    pub posting: Duration,
    /// Number of packets.
    pub packets: u64,
    /// Number of payload bytes.
    pub payload_bytes: u64,
    /// Number of DMA reads of payload.
    pub data_reads: u64,
    /// Bytes of the reads of payload.
    pub data_read_bytes: u64,
    /// Number of DMA reads of work requests and bitmaps.
    pub control_reads: u64,
    /// Bytes of the reads of work requests and bitmaps.
    pub control_read_bytes: u64,
    /// Clock cycles from the first doorbell to the last byte on the wire, if the device has a clock.
    pub cycles: Option<u64>,
}

fn nanoseconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        // The first cost that is added determines whether there is a clock.
        let cycles = if self.rows == 0 { Some(0) } else { self.cycles };
        *self = Self {
            rows: self.rows + other.rows,
            work_requests: self.work_requests + other.work_requests,
            request_bytes: self.request_bytes + other.request_bytes,
            posting: self.posting + other.posting,
            packets: self.packets + other.packets,
            payload_bytes: self.payload_bytes + other.payload_bytes,
            data_reads: self.data_reads + other.data_reads,
            data_read_bytes: self.data_read_bytes + other.data_read_bytes,
            control_reads: self.control_reads + other.control_reads,
            control_read_bytes: self.control_read_bytes + other.control_read_bytes,
            cycles: cycles.zip(other.cycles).map(|(a, b)| a + b),
        };
    }
}

/// Measures costs between its start and its stop.
#[derive(Debug)]
pub struct Meter {
    before: Statistics,
}

impl Meter {
    /// Starts measuring; the card must be idle.
    pub fn start(context: &Context) -> Result<Self, CardError> {
        let before = context.statistics();
        context.clear_counters()?;
        Ok(Self { before })
    }

    /// Stops measuring, and returns the costs.
    pub fn stop(
        self,
        context: &Context,
        span: Option<Span>,
        rows: usize,
        posting: Duration,
    ) -> Result<Cost, CardError> {
        let counters = context.counters()?;
        let after = context.statistics();
        Ok(Cost {
            rows: rows as u64,
            work_requests: after.work_requests - self.before.work_requests,
            request_bytes: after.request_bytes - self.before.request_bytes,
            posting,
            packets: counters.get(counter::PACKETS),
            payload_bytes: counters.get(counter::PAYLOAD_BYTES),
            data_reads: counters.get(counter::DATA_READS),
            data_read_bytes: counters.get(counter::DATA_READ_BYTES),
            control_reads: counters.get(counter::CONTROL_READS),
            control_read_bytes: counters.get(counter::CONTROL_READ_BYTES),
            cycles: span.map(|span| span.cycles()),
        })
    }
}
