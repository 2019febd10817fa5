//! One experiment: what is sent, what is expected of it, and what came out.

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
    /// So many million requests a second.
    MegaPosts(f64),
    /// So many million requests a second, up to the last completion that the host sees.
    MegaCompletions(f64),
    /// At most so many cycles beyond so many round trips of PCIe, each of which takes
    /// [`ROUND_TRIP_CYCLES`]; the card must make exactly so many.
    Latency { round_trips: u64, cycles: u64 },
    /// At most a fifth more cycles, up to the last byte, than so many round trips of PCIe, each of which takes
    /// [`ROUND_TRIP_CYCLES`].
    RoundTrips(u64),
    /// So much of the rate of another experiment, as a share of 1.
    Beside { id: &'static str, share: f64 },
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
    /// How regions are cut into units.
    pub row_mask: RowMask,
    /// A WRITE by columns: each column goes to an address of its own.
    pub by_columns: bool,
    /// What is posted, all of it at once.
    pub posts: Vec<Post>,
}

/// Who decides which reads the card makes for a request.
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

/// What a run gave, beside what no card undercuts.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// Bytes of payload.
    pub payload: u64,
    /// Requests.
    pub posts: u64,
    /// Packets on the wire.
    pub packets: u64,
    /// From the first doorbell to the last byte on the wire, in nanoseconds.
    pub whole_ns: f64,
    /// From the first doorbell to the last byte of the first frame, in nanoseconds.
    pub first_frame_ns: f64,
    /// From just before the first doorbell to when the last completion was seen, in nanoseconds: up to
    /// [`rig::CYCLES_PER_LOOK`] cycles after it was written.
    pub completed_ns: f64,
    /// What no card undercuts.
    pub bound: Bound,
    /// The card's counters.
    pub counters: Counters,
    /// What the card's reads used of the host's limits.
    pub usage: Usage,
    /// Bytes of all frames, without FCS.
    pub frame_bytes: u64,
    /// What the simulation did.
    pub simulated: Simulated,
}

impl Measurement {
    /// The time that counts: from the doorbell to the last byte, the first latency taken out once.
    pub fn ns(&self) -> f64 {
        self.whole_ns - self.bound.latency_ns
    }

    /// Gb/s of payload in the whole run.
    pub fn gbps(&self) -> f64 {
        self.bound.gbps(self.payload, self.whole_ns)
    }

    /// Gb/s that no card exceeds.
    pub fn limit(&self) -> f64 {
        self.bound.gbps(self.payload, self.bound.whole_ns)
    }

    /// Gb/s if fetching took no time.
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

    /// DMA reads and their bytes, all of them.
    pub fn reads(&self) -> (u64, u64) {
        let count = |counter| self.counters.get(counter);
        (
            count(counter::DATA_READS) + count(counter::CONTROL_READS),
            count(counter::DATA_READ_BYTES) + count(counter::CONTROL_READ_BYTES),
        )
    }

    /// What the assembler did, in percent of all cycles: it read payload, at least a byte; it did while
    /// another byte waited for its bank; its next beat waited for data from the host; its next beat found
    /// no room because the packetizer took none. A cycle may count several times.
    pub fn assembler(&self) -> [f64; 4] {
        [
            counter::ASSEMBLE_BUSY,
            counter::ASSEMBLE_CONFLICT,
            counter::ASSEMBLE_EMPTY,
            counter::ASSEMBLE_BLOCKED,
        ]
        .map(|what| 100.0 * self.counters.get(what) as f64 / self.cycles() as f64)
    }

    /// Millions of something a second.
    fn mega(&self, count: u64) -> f64 {
        count as f64 * 1e3 / self.ns()
    }

    /// Millions of requests a second, up to the last completion.
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

/// An experiment's measurement beside its target.
#[derive(Clone, Debug, Default)]
pub struct Figure {
    /// What was measured, with its unit.
    pub measured: String,
    /// The number in it: Gb/s, million packets or requests a second, or cycles.
    pub value: f64,
    /// What it was to reach, with its unit.
    pub target: String,
    /// True if it was reached.
    pub met: bool,
    /// The bound in Gb/s.
    pub bound: f64,
    /// What the wire alone could carry, in Gb/s.
    pub wire: f64,
    /// Goodput of the whole run, in Gb/s.
    pub gbps: f64,
    /// The time that counts, and the first latency that is not part of it, in nanoseconds.
    pub ns: (f64, f64),
    /// DMA reads and their bytes: the card's, all of them.
    pub reads: (u64, u64),
    /// Those that no card undercuts, each for itself.
    pub least: (u64, u64),
    /// What the assembler did: [`Measurement::assembler`].
    pub assembler: [f64; 4],
    /// What the simulation did.
    pub simulated: Simulated,
}

impl Experiment {
    /// Remote addresses of a destination: of a WRITE by columns as many as there are.
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

    /// What arrives at each destination, as pieces.
    pub fn messages(&self) -> Vec<Destination> {
        let rows = self.rows_per_message as usize;
        layout::messages(&self.posts, &self.buffers, self.row_mask, (rows, self.by_columns))
    }

    /// Destinations.
    pub fn destinations(&self) -> usize {
        self.posts.iter().map(Post::destinations).max().unwrap_or(0)
    }

    /// Runs it, and the one that it is compared with: its figure, and what was measured of it.
    ///
    /// # Errors
    /// The card did something wrong, or nothing.
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

    /// Runs it on the simulated card and checks every message.
    ///
    /// # Errors
    /// The card did something wrong, or nothing.
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

    /// Every byte of host memory that the card must see, and what it must send.
    fn need(&self, messages: &[Destination], addresses: &[u64], ring_bytes: u64) -> Need {
        let run = |Piece { at, len }: Piece| Run { addr: addresses[at.buffer] + at.offset, len };
        let indexes = self.posts.iter().flat_map(Post::indexes).map(run).collect();
        // The first payload may be that of any request. That a text's bytes are behind its offsets is left out.
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
