//! An experiment: its requests, its target and its result.

use std::collections::HashSet;

use drdma_abi::roce::{Transport, WIRE_OVERHEAD};
use drdma_sim::{clock::NS_PER_CYCLE, pcie::usage::Usage};
use libdrdma::{Counters, counter};

use crate::{
    bound::{self, Bound, Need, Run},
    catalogue,
    layout::{self, Destination, Piece, Post, Region, RowMask},
    rig::{self, RunError, Simulated},
};

/// Cycles of a round trip to the host, at most: 1,300 ns, and up to 40 ns by which answers are out of order.
pub const ROUND_TRIP_CYCLES: u64 = 335;

/// Target of an experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// This many Gb/s of payload.
    Gbps(f64),
    /// This share, from 0 to 1, of the bound.
    Bound(f64),
    /// This share, from 0 to 1, of the rate that the wire can carry.
    Wire(f64),
    /// This many million packets per second.
    MegaPackets(f64),
    /// This many million requests per second.
    MegaPosts(f64),
    /// This many million requests per second, up to the last completion that the host sees.
    MegaCompletions(f64),
    /// At most `cycles` cycles beyond `round_trips` round trips of PCIe, each of which takes
    /// [`ROUND_TRIP_CYCLES`]; the card must make exactly this many.
    Latency { round_trips: u64, cycles: u64 },
    /// At most a fifth more cycles, up to the last byte, than this many round trips of PCIe, each of which takes
    /// [`ROUND_TRIP_CYCLES`].
    RoundTrips(u64),
    /// This share, from 0 to 1, of the rate of another experiment.
    Beside { id: &'static str, share: f64 },
    /// A baseline: this many Gb/s, within a factor.
    About { gbps: f64, factor: f64 },
}

/// An experiment.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Name on the command line and in the table of reasons.
    pub id: String,
    /// Description, for the table.
    pub title: String,
    /// Target of the experiment.
    pub target: Target,
    /// Value that the D-RDMA paper reports, if it has one.
    pub paper: &'static str,
    /// Contents of buffers in host memory.
    pub buffers: Vec<Vec<u8>>,
    /// Transport of the queue pairs.
    pub transport: Transport,
    /// Path MTU of the queue pairs in bytes.
    pub mtu: u32,
    /// True for WRITEs, false for SENDs.
    pub write: bool,
    /// Rows of a message.
    pub rows_per_message: u32,
    /// What determines the DMA reads of a request.
    pub fetched: Fetched,
    /// Words of 4 B that the card's assembler reads in a cycle, 1 to 16; `None` for as many as it can.
    pub words: Option<u32>,
    /// Row mask: how regions are cut into units.
    pub row_mask: RowMask,
    /// A WRITE by columns: each column goes to an address of its own.
    pub by_columns: bool,
    /// Requests, which are all posted at once.
    pub posts: Vec<Post>,
}

/// What determines the DMA reads that the card makes for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// The card's registers.
    Registers,
    /// The fetch plan that the library finds best for it.
    Plan,
    /// The schedule that the library finds best for each request's one bitmap, in the buffer of that
    /// index.
    Schedule(Vec<usize>),
}

/// Results of a run, and its bound.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// Number of payload bytes.
    pub payload: u64,
    /// Number of requests.
    pub posts: u64,
    /// Number of packets on the wire.
    pub packets: u64,
    /// Time from the first doorbell to the last byte on the wire, in nanoseconds.
    pub whole_ns: f64,
    /// Time from the first doorbell to the last byte of the first frame, in nanoseconds.
    pub first_frame_ns: f64,
    /// Time from just before the first doorbell to when the last completion was seen, in nanoseconds: up to
    /// [`rig::CYCLES_PER_LOOK`] cycles after it was written.
    pub completed_ns: f64,
    /// Bound for any card.
    pub bound: Bound,
    /// Counters of the card.
    pub counters: Counters,
    /// Use of the host's limits by the card's reads.
    pub usage: Usage,
    /// Bytes of all frames, without FCS.
    pub frame_bytes: u64,
    /// Cycles and time of the simulation.
    pub simulated: Simulated,
}

impl Measurement {
    /// The time that counts, in nanoseconds: from the doorbell to the last byte, without the first latency.
    pub fn ns(&self) -> f64 {
        self.whole_ns - self.bound.latency_ns
    }

    /// Gb/s of payload in the whole run.
    pub fn gbps(&self) -> f64 {
        self.bound.gbps(self.payload, self.whole_ns)
    }

    /// Gb/s of payload that no card exceeds.
    pub fn limit(&self) -> f64 {
        self.bound.gbps(self.payload, self.bound.whole_ns)
    }

    /// Gb/s of payload if fetching took no time.
    pub fn wire(&self) -> f64 {
        self.bound.gbps(self.payload, self.bound.wire_ns)
    }

    /// The share of the bound that was reached, at most 1.
    pub fn share(&self) -> f64 {
        self.gbps() / self.limit()
    }

    /// Cycles from the doorbell to the last byte, the first latency included.
    pub fn cycles(&self) -> u64 {
        (self.whole_ns / NS_PER_CYCLE).ceil() as u64
    }

    /// Number of all DMA reads, and their bytes.
    pub fn reads(&self) -> (u64, u64) {
        let count = |counter| self.counters.get(counter);
        (
            count(counter::DATA_READS) + count(counter::CONTROL_READS),
            count(counter::DATA_READ_BYTES) + count(counter::CONTROL_READ_BYTES),
        )
    }

    /// Activity of the assembler, in percent of all cycles: cycles in which it read at least a byte of payload; those
    /// of them in which another byte waited for its bank; those in which its next beat waited for data from the host;
    /// those in which its next beat found no room because the packetizer took none. A cycle may count several times.
    pub fn assembler(&self) -> [f64; 4] {
        [
            counter::ASSEMBLE_BUSY,
            counter::ASSEMBLE_CONFLICT,
            counter::ASSEMBLE_EMPTY,
            counter::ASSEMBLE_BLOCKED,
        ]
        .map(|what| 100.0 * self.counters.get(what) as f64 / self.cycles() as f64)
    }

    /// Millions of `count` per second.
    fn mega(&self, count: u64) -> f64 {
        count as f64 * 1e3 / self.ns()
    }

    /// Millions of requests per second, up to the last completion.
    fn mega_completions(&self) -> f64 {
        let ns = self.completed_ns.max(self.whole_ns) - self.bound.latency_ns;
        self.posts as f64 * 1e3 / ns
    }

    /// Cycles from the doorbell to the first byte of a lone frame's preamble.
    fn first_byte_cycles(&self) -> u64 {
        let on_the_wire = self.frame_bytes + WIRE_OVERHEAD as u64;
        ((self.whole_ns - bound::wire_ns(on_the_wire)) / NS_PER_CYCLE).ceil() as u64
    }
}

/// Result of an experiment, compared with its target.
#[derive(Clone, Debug, Default)]
pub struct Figure {
    /// Measured value, with its unit.
    pub measured: String,
    /// Measured number: Gb/s, million packets or requests a second, or cycles.
    pub value: f64,
    /// Target, with its unit.
    pub target: String,
    /// True if the target was reached.
    pub met: bool,
    /// Bound in Gb/s of payload.
    pub bound: f64,
    /// Gb/s of payload that the wire alone could carry.
    pub wire: f64,
    /// Gb/s of payload in the whole run.
    pub gbps: f64,
    /// The time that counts, and the first latency, which is not part of it, in nanoseconds.
    pub ns: (f64, f64),
    /// Number of all DMA reads of the card, and their bytes.
    pub reads: (u64, u64),
    /// Least number of reads, and least number of bytes, for any card.
    pub least: (u64, u64),
    /// Activity of the assembler: [`Measurement::assembler`].
    pub assembler: [f64; 4],
    /// Cycles and time of the simulation.
    pub simulated: Simulated,
}

impl Experiment {
    /// Number of remote addresses of a destination: of a WRITE by columns as many as it has columns, else 1.
    pub fn columns(&self) -> usize {
        let first = self.posts.iter().map(|post| match post {
            Post::Partitioned(list) => list.columns.len(),
            _ => match post.regions()[..] {
                [Region::Bitmapped { columns, .. }, ..] => columns.len(),
                [Region::Strided { pattern, .. }, ..] => pattern.len(),
                _ => 1,
            },
        });
        if self.by_columns { { first }.next().unwrap_or(1) } else { 1 }
    }

    /// The messages that should arrive at each destination, as pieces.
    pub fn messages(&self) -> Vec<Destination> {
        let rows = self.rows_per_message as usize;
        layout::messages(&self.posts, &self.buffers, self.row_mask, (rows, self.by_columns))
    }

    /// Number of destinations.
    pub fn destinations(&self) -> usize {
        self.posts.iter().map(Post::destinations).max().unwrap_or(0)
    }

    /// Runs the experiment, and the one that it is compared with. Returns its figure, and what was measured of it.
    ///
    /// # Errors
    /// The card sent wrong packets, or did not complete.
    pub fn run(&self) -> Result<(Figure, Measurement), RunError> {
        let beside = match self.target {
            Target::Beside { id, .. } => {
                let all = catalogue::all();
                let other = all.iter().find(|other| other.id == id);
                let missing = || RunError::Refused(format!("there is no experiment `{id}`"));
                Some(other.ok_or_else(missing)?.measure()?.gbps())
            }
            _ => None,
        };
        let found = self.measure()?;
        Ok((self.judge(&found, beside), found))
    }

    /// Runs the experiment on the simulated card and checks every message.
    ///
    /// # Errors
    /// The card sent wrong packets, or did not complete.
    pub fn measure(&self) -> Result<Measurement, RunError> {
        let messages = self.messages();
        let outcome = rig::run(self, &messages)?;
        let need = self.need(&messages, &outcome.addresses, outcome.ring_bytes);
        let bound = Bound::of(need, &rig::host());
        let span = outcome.span;
        Ok(Measurement {
            payload: pieces(&messages).map(|piece| piece.len).sum(),
            posts: self.posts.len() as u64,
            packets: outcome.counters.get(counter::PACKETS),
            whole_ns: span.last_byte_ns - span.first_doorbell_ns,
            first_frame_ns: outcome.first_frame_ns as f64 - span.first_doorbell_ns,
            completed_ns: outcome.counters.get(counter::CYCLES) as f64 * NS_PER_CYCLE,
            bound,
            counters: outcome.counters,
            usage: outcome.usage,
            frame_bytes: outcome.frame_bytes,
            simulated: outcome.simulated,
        })
    }

    /// The time that a run takes by its bound, the first latency taken out, in nanoseconds: before it is
    /// known where buffers lie and how long requests are.
    pub fn expected_ns(&self) -> f64 {
        let addresses: Vec<u64> =
            (1..=self.buffers.len() as u64).map(|index| index << 32).collect();
        let bound = Bound::of(self.need(&self.messages(), &addresses, 1), &rig::host());
        bound.whole_ns - bound.latency_ns
    }

    /// Compares a measurement with the target, and with the Gb/s of another experiment.
    fn judge(&self, found: &Measurement, beside: Option<f64>) -> Figure {
        let gbps = found.gbps();
        let (packets, posts) = (found.mega(found.packets), found.mega(found.posts));
        let (measured, target, met) = match self.target {
            Target::Gbps(least) => {
                (format!("{gbps:.1} Gb/s"), format!(">= {least:.1} Gb/s"), gbps >= least)
            }
            Target::Bound(share) => share_of("bound", gbps, found.limit(), share),
            Target::Wire(share) => share_of("wire", gbps, found.wire(), share),
            Target::MegaPackets(least) => (
                format!("{packets:.1} M packets/s"),
                format!(">= {least:.0} M packets/s"),
                packets >= least,
            ),
            Target::MegaPosts(least) => (
                format!("{posts:.1} M requests/s"),
                format!(">= {least:.0} M requests/s"),
                posts >= least,
            ),
            Target::MegaCompletions(least) => {
                let found = found.mega_completions();
                let text = format!("{found:.1} M completions/s");
                (text, format!(">= {least:.0} M completions/s"), found >= least)
            }
            Target::Latency { round_trips, cycles } => {
                let first = found.first_byte_cycles();
                let reads = found.reads().0;
                let waited =
                    (found.usage.round_trips_ps as f64 / 1000.0 / NS_PER_CYCLE).ceil() as u64;
                let most = round_trips * ROUND_TRIP_CYCLES + cycles;
                (
                    format!("{first} cycles, {reads} round trips {waited} of them"),
                    format!("<= {most} cycles, {round_trips} round trips"),
                    first <= most && reads == round_trips,
                )
            }
            Target::RoundTrips(trips) => {
                let most = trips * ROUND_TRIP_CYCLES * 6 / 5;
                let cycles = found.cycles();
                (
                    format!(
                        "{cycles} cycles, {:.1} round trips",
                        cycles as f64 / ROUND_TRIP_CYCLES as f64
                    ),
                    format!("<= {most} cycles, {trips} round trips and a fifth"),
                    cycles <= most,
                )
            }
            Target::Beside { id, share } => {
                share_of(&format!("rate of `{id}`"), gbps, beside.unwrap_or(f64::INFINITY), share)
            }
            Target::About { gbps: about, factor } => {
                let met = gbps >= about / factor && gbps <= about * factor;
                let (low, high) = (about / factor, about * factor);
                (format!("{gbps:.2} Gb/s"), format!("{low:.2} to {high:.2} Gb/s"), met)
            }
        };
        let value = match self.target {
            Target::MegaPackets(_) => packets,
            Target::MegaPosts(_) => posts,
            Target::MegaCompletions(_) => found.mega_completions(),
            Target::Latency { .. } => found.first_byte_cycles() as f64,
            Target::RoundTrips(_) => found.cycles() as f64,
            _ => gbps,
        };
        Figure {
            measured,
            value,
            target,
            met,
            bound: found.limit(),
            wire: found.wire(),
            gbps,
            ns: (found.ns(), found.bound.latency_ns),
            reads: found.reads(),
            least: (found.bound.reads, found.bound.read_bytes),
            assembler: found.assembler(),
            simulated: found.simulated,
        }
    }

    fn wire_bytes(&self, messages: &[Destination]) -> u64 {
        let len = |message: &Vec<Piece>| message.iter().map(|piece| piece.len).sum();
        let one =
            |message| bound::wire_bytes(len(message), self.mtu.into(), self.transport, self.write);
        messages.iter().flat_map(|to| &to.messages).map(one).sum()
    }

    /// The bytes of host memory that any card must read, and those that it must send.
    fn need(&self, messages: &[Destination], addresses: &[u64], ring_bytes: u64) -> Need {
        let run = |Piece { at, len }: Piece| Run { addr: addresses[at.buffer] + at.offset, len };
        let indexes = self.posts.iter().flat_map(Post::indexes).map(run).collect();
        // The first payload may be that of any request. Texts count as one round trip less than they take.
        let trips = self.posts.iter().flat_map(|post| match post {
            Post::Partitioned(_) => vec![(2, 2)],
            _ => post.regions().into_iter().map(Region::trips).collect(),
        });
        let (first, last): (Vec<_>, Vec<_>) = trips.unzip();
        let made: HashSet<_> = self.posts.iter().flat_map(Post::made).collect();
        let read = |piece: &&Piece| !made.contains(&piece.at.buffer);
        Need {
            // The rings lie apart from everything else; together they could be read no slower.
            requests: vec![Run { addr: 1 << 60, len: ring_bytes }],
            indexes,
            data: pieces(messages).filter(read).copied().map(run).collect(),
            trips: first.into_iter().min().unwrap_or(2),
            depth: last.into_iter().max().unwrap_or(2),
            wire_bytes: self.wire_bytes(messages),
        }
    }
}

fn pieces(messages: &[Destination]) -> impl Iterator<Item = &Piece> {
    messages.iter().flat_map(|to| to.messages.iter().flatten())
}

fn share_of(what: &str, gbps: f64, limit: f64, share: f64) -> (String, String, bool) {
    let measured = format!("{gbps:.1} Gb/s, {:.1} % of the {what}", 100.0 * gbps / limit);
    let target = format!(">= {:.0} % of the {what}", 100.0 * share);
    (measured, target, gbps >= share * limit)
}
