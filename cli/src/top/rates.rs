//! Rates from counters.

use std::time::Duration;

use drdma_abi::{register::Counter, roce::WIRE_OVERHEAD};
use libdrdma::counter;
use serde::Serialize;

use super::Options;

/// Clock that rates are measured by.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// The card's cycles, each of this many nanoseconds.
    Card(
        /// Nanoseconds of a cycle.
        f64,
    ),
    /// The clock on the wall: the card's own means nothing.
    Wall,
}

/// A card's counters at some time.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Time since the start.
    pub at: Duration,
    /// Names and values.
    pub counters: Vec<(&'static str, u64)>,
}

impl Sample {
    /// A counter's value, 0 if there is none of that name.
    pub fn get(&self, name: &str) -> u64 {
        self.counters.iter().find(|counter| counter.0 == name).map_or(0, |counter| counter.1)
    }
}

/// Activity of the assembler, in percent of all cycles. It moves bytes of up to 32 beats while a next
/// one waits, so a cycle may count as assembling and as waiting or stopped: together these may be
/// more than 100.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Lost {
    /// Cycles in which it read at least a byte of payload.
    pub assembling: f64,
    /// Assembling cycles in which another byte waited for its bank.
    pub bank_conflict: f64,
    /// Cycles in which the next beat waited for data from the host.
    pub waiting_for_host: f64,
    /// Cycles in which the next beat found no room, and the packetizer took none.
    pub stopped_by_packetizer: f64,
    /// All other cycles, at least: a cycle that counts twice above is subtracted once too often.
    pub idle: f64,
}

/// Activity of a card in an interval. Rates are per second of the named clock; values that are not known are
/// left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rates {
    /// Seconds from the start to the end of the interval, on the wall.
    pub time_s: f64,
    /// "card" or "wall": the clock of the rates.
    pub clock: &'static str,
    /// Seconds of that clock in the interval.
    pub seconds: f64,
    /// The card's cycles in the interval.
    pub cycles: u64,
    /// Payload bytes sent in the interval.
    pub payload_bytes: u64,
    /// Packets sent in the interval.
    pub packets: u64,
    /// Payload in Gb/s.
    pub payload_gbps: f64,
    /// Rate on the wire, with headers, preamble, gap and FCS, in Gb/s.
    pub wire_gbps: f64,
    /// Packets per second.
    pub packets_per_s: f64,
    /// Rows per second, if all rows have the same length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_per_s: Option<f64>,
    /// Completed work requests per second.
    pub work_requests_per_s: f64,
    /// Received acknowledgements per second.
    pub acks_per_s: f64,
    /// Planned windows per second.
    pub windows_per_s: f64,
    /// DMA reads of payload per second.
    pub data_reads_per_s: f64,
    /// Mean bytes of a read of payload, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_read_bytes: Option<f64>,
    /// DMA reads of work requests, bitmaps and pointers per second.
    pub control_reads_per_s: f64,
    /// Mean bytes of such a read, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_read_bytes: Option<f64>,
    /// Activity of the assembler, if the card's clock is meaningful.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles_percent: Option<Lost>,
    /// Received packets that were dropped in the interval.
    pub receive_dropped: u64,
}

impl Rates {
    /// Rates of the interval between two samples.
    pub fn between(before: &Sample, after: &Sample, options: &Options) -> Self {
        // Another user of the card may have cleared its counters.
        let cleared = after.get(counter::CYCLES.name) < before.get(counter::CYCLES.name);
        let more = |counter: Counter| {
            let start = if cleared { 0 } else { before.get(counter.name) };
            after.get(counter.name).wrapping_sub(start)
        };
        let cycles = more(counter::CYCLES);
        let (clock, seconds) = match options.clock {
            Clock::Card(ns) => ("card", cycles as f64 * ns * 1e-9),
            Clock::Wall => ("wall", (after.at - before.at).as_secs_f64()),
        };
        let rate = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
        let per_second = |counter| rate(more(counter) as f64);
        let mean = |bytes, reads| match more(reads) {
            0 => None,
            reads => Some(more(bytes) as f64 / reads as f64),
        };
        let (payload_bytes, packets) = (more(counter::PAYLOAD_BYTES), more(counter::PACKETS));
        let wire_bytes = more(counter::FRAME_BYTES) + packets * WIRE_OVERHEAD as u64;
        let rows = options.row_bytes.map(|bytes| rate(payload_bytes as f64 / bytes as f64));
        let lost = (clock == "card" && cycles > 0).then(|| {
            let percent = |counter| 100.0 * more(counter) as f64 / cycles as f64;
            let (assembling, waiting_for_host, stopped_by_packetizer) = (
                percent(counter::ASSEMBLE_BUSY),
                percent(counter::ASSEMBLE_EMPTY),
                percent(counter::ASSEMBLE_BLOCKED),
            );
            Lost {
                assembling,
                bank_conflict: percent(counter::ASSEMBLE_CONFLICT),
                waiting_for_host,
                stopped_by_packetizer,
                // Cycles may count twice, and the counters are read one after another.
                idle: (100.0 - assembling - waiting_for_host - stopped_by_packetizer).max(0.0),
            }
        });
        Self {
            time_s: after.at.as_secs_f64(),
            clock,
            seconds,
            cycles,
            payload_bytes,
            packets,
            payload_gbps: rate(payload_bytes as f64 * 8e-9),
            wire_gbps: rate(wire_bytes as f64 * 8e-9),
            packets_per_s: rate(packets as f64),
            rows_per_s: rows,
            work_requests_per_s: per_second(counter::WORK_REQUESTS),
            acks_per_s: per_second(counter::ACKS),
            windows_per_s: per_second(counter::WINDOWS),
            data_reads_per_s: per_second(counter::DATA_READS),
            data_read_bytes: mean(counter::DATA_READ_BYTES, counter::DATA_READS),
            control_reads_per_s: per_second(counter::CONTROL_READS),
            control_read_bytes: mean(counter::CONTROL_READ_BYTES, counter::CONTROL_READS),
            cycles_percent: lost,
            receive_dropped: more(counter::RECEIVE_DROPPED),
        }
    }
}
