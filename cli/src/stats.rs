//! Costs of a run.

use drdma_abi::roce::WIRE_OVERHEAD;
use drdma_sim::clock::Span;
use libdrdma::{Counters, counter};
use serde::Serialize;

/// Costs of a run. The fields that need a clock are there only if the device has a meaningful one;
/// they are about the time from the first doorbell to the last byte on the wire.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stats {
    /// Number of clock cycles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles: Option<u64>,
    /// Number of payload bytes that were sent.
    pub payload_bytes: u64,
    /// Bytes on the wire, with preamble, gap and FCS.
    pub wire_bytes: u64,
    /// Number of packets that were sent.
    pub packets: u64,
    /// Number of DMA reads: of payload, work requests, bitmaps and pointers.
    pub dma_reads: u64,
    /// Bytes of all DMA reads.
    pub dma_read_bytes: u64,
    /// Number of DMA reads of payload.
    pub data_reads: u64,
    /// Bytes of the reads of payload.
    pub data_read_bytes: u64,
    /// Payload bits per nanosecond.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goodput_gbps: Option<f64>,
    /// Bits on the wire per nanosecond.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire_gbps: Option<f64>,
}

impl Stats {
    /// From a card's counters, which were cleared before the first doorbell, and the time that its
    /// clock gives for them.
    pub fn of(counters: &Counters, span: Option<Span>) -> Self {
        let get = |which| counters.get(which);
        let payload_bytes = get(counter::PAYLOAD_BYTES);
        let packets = get(counter::PACKETS);
        let wire_bytes = get(counter::FRAME_BYTES) + packets * WIRE_OVERHEAD as u64;
        let rate = |bytes: u64| span.map(|span| span.gbps(bytes));
        Self {
            cycles: span.map(|span| span.cycles()),
            payload_bytes,
            wire_bytes,
            packets,
            dma_reads: get(counter::DATA_READS) + get(counter::CONTROL_READS),
            dma_read_bytes: get(counter::DATA_READ_BYTES) + get(counter::CONTROL_READ_BYTES),
            data_reads: get(counter::DATA_READS),
            data_read_bytes: get(counter::DATA_READ_BYTES),
            goodput_gbps: rate(payload_bytes),
            wire_gbps: rate(wire_bytes),
        }
    }
}
