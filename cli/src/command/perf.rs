//! `drdma bw` and `drdma lat`: how fast a card sends and fetches.

use std::{
    net::{Ipv4Addr, TcpListener},
    time::Duration,
};

use clap::Args;
use drdma_abi::{register::QUEUE_PAIRS, roce::Transport};
use drdma_cli::{
    cable::Cable,
    device::{self, Kind},
    job::Local,
    perf::{
        self, LOCAL, PEER, PerfError,
        figures::Outcome,
        op::{ATOMIC_BYTES, OUTSTANDING, Op, transport_name},
        plan::{Clock, Iterations, Measure, Plan},
        remote::{self, Far, Remote, RemoteError},
        render,
        shape::{Layout, Shape, Widths},
    },
};
use drdma_sim::wire::Network;
use drdma_wire::{Wire, WireSpec};
use libdrdma::{Features, MacAddress};
use serde_json::json;

use super::{Failure, demo::mtu, note, say, tuning::Tuning};

/// Payload bytes of a transfer, by default.
const SIZE: u64 = 4096;
/// The longest transfer.
const LONGEST: u64 = 1 << 30;
/// Where `--all` ends by default: on a simulated card, whose time goes on slowly; and elsewhere.
const ALL_SIMULATED: u64 = 64 << 10;
const ALL: u64 = 8 << 20;
/// Payload bytes of a measurement, by default.
const BYTES_SIMULATED: u64 = 2 << 20;
const BYTES: u64 = 1 << 30;
/// Clock cycles between two looks at the simulated hardware's completions.
const LOOK_CYCLES: u64 = 8;

/// Measure bandwidth: transfers that follow each other as fast as the card sends them.
///
/// A transfer is one message of --size bytes, whose place in memory --region says: where it is sent from, or where a
/// READ puts it. Atomics are of 8 B. Rates are from the first doorbell to the last completion: those of rtl: in
/// simulated time, by the card's counter of cycles; those of a board by the wall. The clock of soft: means nothing: it
/// is shown what was sent and fetched, without times. The peak is the average of the fastest tenth of the transfers.
/// Peers check every packet, and in the end that as many messages and bytes arrived as were sent; what READs and
/// atomics bring is compared with what lies there.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  drdma bw --device rtl: --size 65536
  drdma bw --device rtl: --region bitmapped --columns 5x8 --select 0.25 --qps 4
  drdma bw --device rtl: --op read --size 65536
  drdma bw --device rtl: --op fetch-and-add --qps 16
  drdma bw --device soft: --all --json

Between two processes:
  drdma bw --listen 127.0.0.1:4791 --wire dgram:/tmp/peer,/tmp/card
  drdma bw --connect 127.0.0.1:4791 --wire dgram:/tmp/card,/tmp/peer --device soft:")]
pub struct BwArguments {
    /// Transfers that each queue pair has under way at once.
    #[arg(long, visible_alias = "tx-depth", value_name = "N", default_value_t = 16,
          value_parser = clap::value_parser!(u32).range(1..=4096))]
    depth: u32,
    #[command(flatten)]
    common: Common,
}

/// Measure latency: every transfer waits for the one before.
///
/// A transfer's time is from just before its doorbell until its completion is seen: on RC the peer has
/// acknowledged it, and the data of a READ or an atomic lie in memory. On rtl: that is simulated time, by the card's
/// counter of cycles; it includes the reads of that counter, and looking for completions every 8 cycles. The simulated
/// peers acknowledge at once: a switch and a real peer take longer. The clock of soft: means nothing: it has no times
/// to show.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  drdma lat --device rtl: --size 64
  drdma lat --device rtl: --op compare-and-swap
  drdma lat --device rtl: --region pointers --columns 1x64 --size 1024 --histogram
  drdma lat --device rtl: --all --json")]
pub struct LatArguments {
    /// Show how many transfers took how long.
    #[arg(long)]
    histogram: bool,
    #[command(flatten)]
    common: Common,
}

/// Options of both.
#[derive(Debug, Args)]
struct Common {
    /// The device: `rtl:` is the simulated hardware, `soft:` the reference model,
    /// `vfio:0000:65:00.0` a board.
    #[arg(long, value_name = "URI", required_unless_present = "listen")]
    device: Option<String>,
    /// Payload bytes of a transfer, 4,096 unless given; of regions with rows, the whole rows that fit. Atomics are
    /// of 8.
    #[arg(long, short, value_name = "BYTES",
          value_parser = clap::value_parser!(u64).range(1..=LONGEST))]
    size: Option<u64>,
    /// Measure powers of two, from 2 bytes (or a row) to --size; without it to 8 MiB, on simulated
    /// cards to 64 KiB, and to the MTU on UD.
    #[arg(long, short)]
    all: bool,
    /// What transfers do.
    #[arg(long, value_enum, default_value_t = Op::Send)]
    op: Op,
    /// READs and atomics that a queue pair has outstanding; 16 unless given.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=i64::from(OUTSTANDING)))]
    outstanding: Option<u8>,
    /// The transport: rc, uc or ud; READs and atomics are on rc.
    #[arg(long, value_name = "TRANSPORT", default_value = "rc", value_parser = transport)]
    transport: Transport,
    /// Path MTU in bytes.
    #[arg(long, short, value_name = "BYTES", default_value_t = 4096, value_parser = mtu)]
    mtu: u32,
    /// Queue pairs, which take turns.
    #[arg(long, short, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(QUEUE_PAIRS.entries)))]
    qps: u32,
    /// Transfers of a measurement: as many as are 2 MiB on simulated cards and 1 GiB on a board, but 20
    /// to 1,000, unless given.
    #[arg(long, short = 'n', visible_alias = "posts", value_name = "N",
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    iters: Option<u64>,
    /// Transfers before each measurement that are not counted.
    #[arg(long, value_name = "N", default_value_t = 4,
          value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    warmup: u64,
    /// How a transfer's bytes lie in memory, and how the card is told.
    #[arg(long, value_enum, default_value_t = Layout::Contiguous)]
    region: Layout,
    /// The values of a row: 5x8 are five of 8 B; 4,8,2x16 are four of 4, 8, 16 and 16 B.
    #[arg(long, value_name = "WIDTHS", default_value = "5x8")]
    columns: Widths,
    /// Bytes from row to row (strided, list), or of a record's slot (pointers); twice the bytes of a row
    /// unless given.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    period: Option<u64>,
    /// The share of a table's rows that is sent (bitmapped).
    #[arg(long, value_name = "X", default_value_t = 0.5, value_parser = share)]
    select: f64,
    /// Rows of a message: all of a transfer, or as many as fit a datagram, unless given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rows_per_message: Option<u32>,
    /// Print JSON, one object a size, instead of a table.
    #[arg(long)]
    json: bool,
    /// Receive for one card of another process, and answer its READs and atomics, instead of sending: the peer's end of
    /// --connect.
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with_all = ["device", "connect"],
          requires = "wire")]
    listen: Option<String>,
    /// Send to a process that listens there: the two arrange queue pair numbers over TCP. On a simulated
    /// card only what is sent and arrives is shown: two processes have no simulated time in common.
    #[arg(long, value_name = "ADDRESS:PORT")]
    connect: Option<String>,
    /// What this end's packets go over: `dgram:LOCAL,REMOTE`, a pair of unix datagram sockets,
    /// `tap:NAME`, an interface, or `udp:LOCAL,REMOTE`, UDP between addresses IP:PORT. A board has its own.
    #[arg(long, value_name = "WIRE")]
    wire: Option<WireSpec>,
    /// The MAC address of this end.
    #[arg(long, value_name = "MAC")]
    mac: Option<MacAddress>,
    /// The IPv4 address of this end.
    #[arg(long, value_name = "IP")]
    ip: Option<Ipv4Addr>,
    /// Give up after so many seconds without a packet or a completion.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    timeout: u64,
    #[command(flatten)]
    tuning: Tuning,
}

fn transport(text: &str) -> Result<Transport, String> {
    let found = Transport::ALL.into_iter().find(|transport| transport_name(*transport) == text);
    found.ok_or_else(|| "must be rc, uc or ud".to_owned())
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0001..=1.0).contains(&share) => Ok(share),
        _ => Err("must be a number from 0.0001 to 1".to_owned()),
    }
}

impl From<PerfError> for Failure {
    fn from(error: PerfError) -> Self {
        match error.is_usage() {
            true => Self::Usage(error.to_string()),
            false => Self::Failed(error.to_string()),
        }
    }
}

impl From<RemoteError> for Failure {
    fn from(error: RemoteError) -> Self {
        Self::failed(error)
    }
}

impl Common {
    /// This end's addresses.
    fn local(&self, default: Local) -> Local {
        Local {
            mac: self.mac.map_or(default.mac, MacAddress::to_u64),
            ip: self.ip.map_or(default.ip, u32::from),
        }
    }

    fn shape(&self) -> Shape {
        Shape {
            layout: self.region,
            widths: self.columns.clone(),
            period: self.period,
            select: self.select,
            rows_per_message: self.rows_per_message,
            transport: self.transport,
            mtu: self.mtu,
        }
    }

    /// Bytes of the transfers.
    fn sizes(&self, shape: &Shape, kind: Kind) -> Vec<u64> {
        if !self.all {
            let size = if self.op.is_atomic() { ATOMIC_BYTES } else { SIZE };
            return vec![self.size.unwrap_or(size)];
        }
        let top = self.size.unwrap_or(if kind == Kind::Board { ALL } else { ALL_SIMULATED });
        let datagram = shape.transport == Transport::Ud && shape.layout == Layout::Contiguous;
        let top = if datagram { top.min(self.mtu.into()) } else { top };
        let smallest = shape.smallest().max(2);
        let powers = (1..).map(|power| 1 << power);
        powers.skip_while(|size| *size < smallest).take_while(|size| *size <= top).collect()
    }

    fn wire(&self) -> Result<Option<Box<dyn Wire>>, Failure> {
        let Some(spec) = &self.wire else { return Ok(None) };
        let wire = spec.open();
        let wire = wire
            .map_err(|error| Failure::Failed(format!("the wire cannot be plugged in: {error}")))?;
        let none = "--wire takes dgram:LOCAL,REMOTE, tap:NAME or udp:LOCAL,REMOTE here";
        wire.map(Some).ok_or_else(|| Failure::Usage(none.to_owned()))
    }

    /// Takes what a card in another process sends.
    fn listen(&self, address: &str) -> Result<(), Failure> {
        let cannot = |error| Failure::Failed(format!("cannot listen at {address}: {error}"));
        let listener = TcpListener::bind(address).map_err(cannot)?;
        let Some(wire) = self.wire()? else { return Ok(()) };
        note(format_args!("listening at {}", listener.local_addr().map_err(cannot)?));
        let patience = Duration::from_secs(self.timeout);
        let arrived = remote::serve_one(&listener, wire, self.local(PEER), patience)?;
        match self.json {
            true => say(format_args!("{}\n", json!(arrived)))?,
            false => say(format_args!(
                "{} messages arrived, of {} B\n",
                arrived.messages, arrived.bytes
            ))?,
        }
        match arrived.complaints {
            Some(complaints) => {
                Err(Failure::Failed(format!("the card sent wrong packets: {complaints}")))
            }
            None => Ok(()),
        }
    }

    fn run(&self, measure: Measure, depth: u32, histogram: bool) -> Result<(), Failure> {
        if let Some(address) = &self.listen {
            return self.listen(address);
        }
        let uri = self.device.as_deref().unwrap_or_default();
        let kind = Kind::of(uri);
        self.check_network(kind)?;
        let shape = self.shape();
        let simulated = kind != Kind::Board;
        let iterations = match self.iters {
            Some(count) => Iterations::Fixed(count),
            None => Iterations::Bytes(if simulated { BYTES_SIMULATED } else { BYTES }),
        };
        let plan = Plan {
            measure,
            op: self.op,
            outstanding: self.outstanding,
            sizes: self.sizes(&shape, kind),
            shape,
            qps: self.qps,
            depth,
            iterations,
            warmup: self.warmup,
            patience: Duration::from_secs(self.timeout),
        };
        // Before the minutes that building may take.
        plan.rows()?;
        self.check_gaps(kind)?;
        let clock = match kind {
            Kind::Board => Clock::Wall,
            Kind::Rtl if self.connect.is_none() => Clock::Card,
            _ => Clock::None,
        };
        let uri = match kind {
            Kind::Rtl => device::with_option(uri, "cycles", LOOK_CYCLES),
            _ => uri.to_owned(),
        };
        let optimizer = self.tuning.optimizer()?;
        let network = Network::new();
        let card = device::open(&uri, &network)?;
        let far = match &self.connect {
            Some(address) => {
                let cable = self.wire()?.map(|wire| Cable::plug(&network, wire));
                let remote = Remote::connect(address.as_str(), cable);
                Far::Remote(Box::new(remote.map_err(|error| {
                    Failure::Failed(format!("cannot connect to {address}: {error}"))
                })?))
            }
            None => Far::Simulated,
        };
        let local = self.local(LOCAL);
        let context = device::set_up_with(card, local, optimizer).map_err(Failure::failed)?;
        let mut outcomes = Vec::new();
        perf::run(&context, &network, &plan, clock, local, far, &mut |outcome| {
            if self.json {
                let line = self.json(measure, depth, clock, outcome);
                say(format_args!("{line}\n")).map_err(|failure| failure.to_string())?;
            }
            outcomes.push(outcome.clone());
            Ok(())
        })?;
        if self.json {
            return Ok(());
        }
        say(render::table(measure, &outcomes))?;
        if histogram {
            outcomes.iter().try_for_each(|outcome| say(render::histogram(outcome)))?;
        }
        say(match clock {
            Clock::Card => "Times are simulated, by the card's counter of cycles (250 MHz).\n",
            Clock::Wall => "Times are the host's.\n",
            Clock::None if kind == Kind::Soft => "The reference model's time means nothing.\n",
            Clock::None => "Two processes have no simulated time in common.\n",
        })?;
        say("Messages, packets, reads and bytes of requests are those of a transfer.\n")
    }

    /// Refuses READs into regions that the simulated hardware does not fill. A board says what it does when it is
    /// open.
    fn check_gaps(&self, kind: Kind) -> Result<(), Failure> {
        let fills = kind.features().contains(Features::SCATTERS);
        if kind != Kind::Rtl || fills || !self.op.is_answered() || !self.region.has_gaps() {
            return Ok(());
        }
        let region = self.region.name();
        let text = format!(
            "a READ fills contiguous memory or a list on rtl:, not --region {region}; soft: fills any"
        );
        Err(Failure::Usage(text))
    }

    /// Refuses what no network is common to.
    fn check_network(&self, kind: Kind) -> Result<(), Failure> {
        let text = match (kind, &self.connect, &self.wire) {
            (Kind::Board, None, _) => {
                "a board needs somebody who receives: --connect, to a `drdma bw --listen` with a \
                 wire on the same Ethernet"
            }
            (Kind::Board, _, Some(_)) => {
                "--wire needs a simulated device: a board has a wire of its own"
            }
            (Kind::Board, ..) if self.mac.is_none() || self.ip.is_none() => {
                "a board needs addresses: --mac and --ip"
            }
            (Kind::Soft | Kind::Rtl, Some(_), None) => {
                "--connect needs --wire: something that the packets of a simulated card go over"
            }
            (Kind::Soft | Kind::Rtl, None, Some(_)) => {
                "--wire needs --connect: somebody has to receive at its other end"
            }
            _ => return Ok(()),
        };
        Err(Failure::Usage(text.to_owned()))
    }

    fn json(&self, measure: Measure, depth: u32, clock: Clock, outcome: &Outcome) -> String {
        let mut line = json!({
            "test": match measure { Measure::Bandwidth => "bw", Measure::Latency => "lat" },
            "device": self.device,
            "clock": clock,
            "op": self.op,
            "transport": transport_name(self.transport),
            "mtu": self.mtu,
            "qps": self.qps,
            "depth": depth,
            "region": self.region,
        });
        if self.op.is_answered() {
            line["outstanding"] = json!(self.outstanding.unwrap_or(OUTSTANDING));
        }
        if self.region != Layout::Contiguous {
            line["columns"] = json!(self.columns);
        }
        if let (Some(line), Some(outcome)) = (line.as_object_mut(), json!(outcome).as_object()) {
            line.extend(outcome.clone());
        }
        line.to_string()
    }
}

/// Runs `drdma bw`.
pub fn bw(arguments: &BwArguments) -> Result<(), Failure> {
    arguments.common.run(Measure::Bandwidth, arguments.depth, false)
}

/// Runs `drdma lat`.
pub fn lat(arguments: &LatArguments) -> Result<(), Failure> {
    arguments.common.run(Measure::Latency, 1, arguments.histogram)
}
