//! One experiment: what is sent, what is expected of it, and what came out.

use drdma_abi::roce::{Transport, WIRE_OVERHEAD};
use drdma_sim::clock::NS_PER_CYCLE;
use libdrdma::counter;

use crate::{
    bound::{self, Fetch, Run},
    goodput,
    layout::{Piece, Region, Requests},
    rig::{self, Outcome, RunError, Simulated},
};

/// Bytes that the card can keep between fetching and sending them: its segmented memory.
const CARD_MEMORY: u64 = 128 << 10;

/// What an experiment is to reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// So many Gb/s of payload.
    Gbps(f64),
    /// So much of the bound, as a share of 1.
    Bound(f64),
    /// So much of what the wire can carry, as a share of 1.
    Wire(f64),
    /// So many million packets a second.
    MegaPackets(f64),
    /// At most so many cycles beyond the round trips of PCIe, of which there must be so many.
    Latency { round_trips: u64, cycles: u64 },
    /// A baseline: this many Gb/s, within a factor.
    About { gbps: f64, factor: f64 },
}

/// What an experiment sends.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Its name on the command line and in the table of reasons.
    pub id: String,
    /// What it is, for the table.
    pub title: String,
    /// What it is to reach.
    pub target: Target,
    /// What D-RDMA (the paper) reports for it, if anything.
    pub paper: &'static str,
    /// Host memory.
    pub buffers: Vec<Vec<u8>>,
    /// The queue pairs' transport.
    pub transport: Transport,
    /// Their path MTU.
    pub mtu: u32,
    /// WRITE; otherwise SEND.
    pub write: bool,
    /// Rows packed into a message.
    pub rows_per_message: u32,
    /// What the request says of how it is fetched.
    pub fetched: Fetched,
    /// Words of 4 B that the card's assembler reads in a cycle, 1 to 16, if not as many as it can.
    pub words: Option<u32>,
    /// What is posted.
    pub requests: Requests,
}

/// Who decides which reads the card makes for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// The card's registers.
    Registers,
    /// The fetch plan that the library finds best for it.
    Plan,
    /// The schedule that the library finds best for its one bitmap, in the buffer of that index.
    Schedule(usize),
}

/// What an experiment gave.
#[derive(Clone, Debug, Default)]
pub struct Figure {
    /// What was measured, with its unit.
    pub measured: String,
    /// The number in it: Gb/s, million packets a second, or cycles.
    pub value: f64,
    /// What it was to reach, with its unit.
    pub target: String,
    /// True if it was reached.
    pub met: bool,
    /// The bound in Gb/s.
    pub bound: f64,
    /// What the wire alone could carry, in Gb/s.
    pub wire: f64,
    /// Goodput in steady state, in Gb/s.
    pub gbps: f64,
    /// Goodput from the first doorbell to the last byte, in Gb/s.
    pub whole: f64,
    /// DMA reads and their bytes: the card's, all of them.
    pub reads: (u64, u64),
    /// Those of the plan that the bound is computed from.
    pub best: Fetch,
    /// What the assembler did, in percent of all cycles: it read payload, at least a byte; it did
    /// while another byte waited for its bank; its next beat waited for data from the host; its next
    /// beat found no room because the packetizer took none. A cycle may count several times.
    pub assembler: [f64; 4],
    /// What the simulation did.
    pub simulated: Simulated,
}

impl Experiment {
    /// The messages of each destination, as pieces.
    pub fn messages(&self) -> Vec<Vec<Vec<Piece>>> {
        self.requests.messages(&self.buffers, self.rows_per_message as usize)
    }

    /// Runs it.
    ///
    /// # Errors
    /// The card did something wrong, or nothing.
    pub fn run(&self) -> Result<Figure, RunError> {
        let outcome = rig::run(self)?;
        let host = rig::host();
        let messages = self.messages();
        let payload: u64 = pieces(&messages).map(|piece| piece.len).sum();
        let wire_ns = bound::wire_ns(self.wire_bytes(&messages));
        let best = bound::fetch(self.needed(&messages, &outcome), &host);
        let gbps = |ns: f64| payload as f64 * 8.0 / ns;
        let (limit, wire) = (gbps(wire_ns.max(best.ns)), gbps(wire_ns));
        let steady = goodput::steady(&outcome.stamps);
        let (measured, target, met) = match self.target {
            Target::Gbps(least) => (
                format!("{:.1} Gb/s", steady.gbps),
                format!(">= {least:.1} Gb/s"),
                steady.gbps >= least,
            ),
            Target::Bound(share) => share_of("bound", steady.gbps, limit, share),
            Target::Wire(share) => share_of("wire", steady.gbps, wire, share),
            Target::MegaPackets(least) => (
                format!("{:.1} M packets/s", steady.mega_packets),
                format!(">= {least:.0} M packets/s"),
                steady.mega_packets >= least,
            ),
            Target::Latency { round_trips, cycles } => {
                let found = first_byte_cycles(&outcome);
                let reads = outcome.counters.get(counter::DATA_READS)
                    + outcome.counters.get(counter::CONTROL_READS);
                let waited = (outcome.round_trips_ns / NS_PER_CYCLE).ceil() as u64;
                let most = waited + cycles;
                (
                    format!("{found} cycles, {reads} round trips {waited} of them"),
                    format!("<= {most} cycles, {round_trips} round trips"),
                    found <= most && reads == round_trips,
                )
            }
            Target::About { gbps, factor } => {
                let met = steady.gbps >= gbps / factor && steady.gbps <= gbps * factor;
                (format!("{:.2} Gb/s", steady.gbps), format!("about {gbps:.1} Gb/s"), met)
            }
        };
        let value = match self.target {
            Target::MegaPackets(_) => steady.mega_packets,
            Target::Latency { .. } => first_byte_cycles(&outcome) as f64,
            _ => steady.gbps,
        };
        let count = |counter| outcome.counters.get(counter);
        Ok(Figure {
            measured,
            value,
            target,
            met,
            bound: limit,
            wire,
            gbps: steady.gbps,
            whole: outcome.span.gbps(payload),
            reads: (
                count(counter::DATA_READS) + count(counter::CONTROL_READS),
                count(counter::DATA_READ_BYTES) + count(counter::CONTROL_READ_BYTES),
            ),
            best,
            assembler: [
                counter::ASSEMBLE_BUSY,
                counter::ASSEMBLE_CONFLICT,
                counter::ASSEMBLE_EMPTY,
                counter::ASSEMBLE_BLOCKED,
            ]
            .map(|what| 100.0 * count(what) as f64 / outcome.span.cycles() as f64),
            simulated: outcome.simulated,
        })
    }

    fn wire_bytes(&self, messages: &[Vec<Vec<Piece>>]) -> u64 {
        let len = |message: &Vec<Piece>| message.iter().map(|piece| piece.len).sum();
        let one =
            |message| bound::wire_bytes(len(message), self.mtu.into(), self.transport, self.write);
        messages.iter().flatten().map(one).sum()
    }

    /// Every byte of host memory that the card must see: data, bitmaps, ids and pointers, requests; those
    /// that can be in the card at the same time in a group.
    fn needed(&self, messages: &[Vec<Vec<Piece>>], outcome: &Outcome) -> Vec<Vec<Run>> {
        let regions = self.requests.regions();
        let run =
            |Piece { at, len }: Piece| Run { addr: outcome.addresses[at.buffer] + at.offset, len };
        // The ring lies apart from everything else.
        let ring = Run { addr: 1 << 60, len: outcome.ring_bytes };
        let around: Vec<_> = self.requests.indexes().into_iter().map(run).chain([ring]).collect();
        let data: Vec<_> = pieces(messages).copied().map(run).collect();
        // Destinations take their rows in the order of addresses, records come in any order.
        let any_order = |region: &&Region| matches!(region, Region::PointerMapped { .. });
        let mut groups = match regions.iter().any(any_order) {
            true => bound::groups(&data, CARD_MEMORY),
            false => vec![data],
        };
        groups.push(around);
        groups
    }
}

fn pieces(messages: &[Vec<Vec<Piece>>]) -> impl Iterator<Item = &Piece> {
    messages.iter().flatten().flatten()
}

fn share_of(what: &str, gbps: f64, limit: f64, share: f64) -> (String, String, bool) {
    let measured = format!("{gbps:.1} Gb/s, {:.1} % of the {what}", 100.0 * gbps / limit);
    let target = format!(">= {:.0} % of the {what}", 100.0 * share);
    (measured, target, gbps >= share * limit)
}

/// Cycles from the doorbell to the first byte of a lone frame's preamble.
fn first_byte_cycles(outcome: &Outcome) -> u64 {
    let on_the_wire = outcome.frame_bytes + WIRE_OVERHEAD as u64;
    let ns =
        outcome.span.last_byte_ns - outcome.span.first_doorbell_ns - bound::wire_ns(on_the_wire);
    (ns / NS_PER_CYCLE).ceil() as u64
}
