//! What a run cost.

use drdma_abi::roce::WIRE_OVERHEAD;
use libdrdma::{Counters, counter};
use serde::Serialize;

use crate::device::Kind;

/// Nanoseconds of a clock cycle: 250 MHz.
const NS_PER_CYCLE: f64 = 4.0;

/// What a run cost, from the first doorbell on. The fields that need a clock are there only if the
/// device has a meaningful one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stats {
    /// Clock cycles until the last completion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles: Option<u64>,
    /// Payload bytes sent.
    pub payload_bytes: u64,
    /// Bytes on the wire, with preamble, gap and FCS.
    pub wire_bytes: u64,
    /// Packets sent.
    pub packets: u64,
    /// DMA reads: of payload, work requests, bitmaps and pointers.
    pub dma_reads: u64,
    /// Bytes of those reads.
    pub dma_read_bytes: u64,
    /// Of those reads, the ones of payload.
    pub data_reads: u64,
    /// Bytes of those.
    pub data_read_bytes: u64,
    /// Payload bits per nanosecond.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goodput_gbps: Option<f64>,
    /// Bits on the wire per nanosecond.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire_gbps: Option<f64>,
}

impl Stats {
    /// From a card's counters, which were cleared at the first doorbell.
    pub fn of(counters: &Counters, kind: Kind) -> Self {
        let get = |which| counters.get(which);
        let cycles = (kind == Kind::Rtl).then(|| get(counter::CYCLES));
        let payload_bytes = get(counter::PAYLOAD_BYTES);
        let packets = get(counter::PACKETS);
        let wire_bytes = get(counter::FRAME_BYTES) + packets * WIRE_OVERHEAD as u64;
        let rate = |bytes: u64| {
            let ns = cycles.filter(|cycles| *cycles > 0)? as f64 * NS_PER_CYCLE;
            Some(bytes as f64 * 8.0 / ns)
        };
        Self {
            cycles,
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
