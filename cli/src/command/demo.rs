//! `drdma demo`: a shuffle of TPC-H data on one card, and among the nodes of a fabric.

use std::{
    io::{IsTerminal, stderr},
    path::PathBuf,
    time::Duration,
};

use clap::{Args, Subcommand};
use drdma_abi::{register::SEND_QUEUES, roce::MTUS, work_request::MAX_DESTINATIONS};
use drdma_cli::{
    demo::{
        self, DemoError, Options, Watcher,
        lineitem::{ROW, ROWS_PER_SCALE_FACTOR},
        shuffle::{self, ShuffleError},
        whole,
    },
    device::{self, Kind},
    output::OutputFile,
};
use drdma_sim::wire::Network;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use super::{Failure, capture, create, finish_capture, note, say};

/// Destinations: each one's queue pair has a send queue, and all share one more.
const MOST_DESTINATIONS: i64 = {
    let queues = SEND_QUEUES.entries as i64 - 1;
    if queues < MAX_DESTINATIONS as i64 { queues } else { MAX_DESTINATIONS as i64 }
};

/// Shuffle TPC-H's LINEITEM to simulated peers and check every row; compare with plain
/// scatter-gather lists; then send it whole, with its strings, into columns at other cards, and check every value.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:
  drdma demo
  drdma demo --device soft: --scale-factor 0.01 --destinations 64
  drdma demo --device soft: --scale-factor 0.01 --json
  drdma demo shuffle --nodes 8",
    args_conflicts_with_subcommands = true
)]
pub struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
    /// The device: `rtl:` is the simulated hardware, `soft:` the reference model.
    #[arg(long, value_name = "URI", default_value = "rtl:")]
    device: String,
    /// TPC-H scale factor: 1 is six million rows.
    #[arg(long, value_name = "X", default_value_t = 0.3, value_parser = scale_factor)]
    scale_factor: f64,
    /// Destinations that the rows are hashed to.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=MOST_DESTINATIONS))]
    destinations: u16,
    /// Rows of a batch: one work request sends them to all destinations.
    #[arg(long, value_name = "N", default_value_t = 65536, value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    batch_rows: u32,
    /// Rows of a message (default: as many as fit the MTU).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rows_per_message: Option<u32>,
    /// Rows that are also sent as plain scatter-gather lists.
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=16384))]
    sample_rows: u32,
    /// Rows that are also sent whole, with their strings, into columns at other cards.
    #[arg(long, value_name = "N", default_value_t = 2048, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    whole_rows: u32,
    /// Cards that those go to.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=16))]
    receivers: u16,
    /// Path MTU in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 4096, value_parser = mtu)]
    mtu: u32,
    /// Where the shuffle's packets are written.
    #[arg(long, value_name = "FILE", default_value = "drdma-demo.pcap")]
    pcap: PathBuf,
    /// Print JSON instead of the table: what the shuffle and each comparison cost.
    #[arg(long)]
    json: bool,
    /// Give up after so many seconds without a packet or a completion of the shuffle.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    timeout: u64,
}

/// Other demonstrations.
#[derive(Debug, Subcommand)]
enum What {
    Shuffle(ShuffleArguments),
}

/// Exchange rows of LINEITEM among the nodes of a simulated fabric, by every design of a shuffling operator: SENDs,
/// datagrams, READs and WRITEs, with an endpoint a thread (ME) or a node (SE), rows copied into buffers or sent from
/// where they lie. Every row is checked.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  drdma demo shuffle --nodes 8
  drdma demo shuffle --nodes 4 --rows 20000 --json")]
struct ShuffleArguments {
    /// The cards: `soft:` is the reference model, `rtl:` the simulated hardware.
    #[arg(long, value_name = "URI", default_value = "soft:")]
    device: String,
    /// Nodes, each with a card.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(2..=64))]
    nodes: u16,
    /// Threads of a node.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=16))]
    threads: u16,
    /// Rows of a node.
    #[arg(long, value_name = "N", default_value_t = 4000, value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    rows: u32,
    /// Bytes of a message, at most.
    #[arg(long, value_name = "BYTES", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(64..=4096))]
    message: u32,
    /// Print JSON instead of the table.
    #[arg(long)]
    json: bool,
}

fn shuffle(arguments: &ShuffleArguments) -> Result<(), Failure> {
    let options = shuffle::Options {
        device: arguments.device.clone(),
        nodes: arguments.nodes.into(),
        threads: arguments.threads.into(),
        rows: arguments.rows as usize,
        message: arguments.message,
    };
    if Kind::of(&options.device) == Kind::Board {
        let text = "the demonstration's nodes are simulated: it needs the device soft: or rtl:";
        return Err(Failure::Usage(text.to_owned()));
    }
    let bar = ProgressBar::new_spinner();
    let mut told = |design, way: &str, pattern| {
        bar.set_message(format!("{design}, {way}, {pattern}"));
        bar.tick();
    };
    let lines = shuffle::run(&options, &mut told).map_err(|error| match error {
        ShuffleError::Device(error) => error.into(),
        error @ ShuffleError::Trace { .. } => Failure::Usage(error.to_string()),
        error => Failure::failed(error),
    })?;
    bar.finish_and_clear();
    match arguments.json {
        true => say(format_args!("{:#}\n", shuffle::object(&lines, &options))),
        false => say(shuffle::render(&lines, &options)),
    }
}

fn scale_factor(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(factor) if (0.0001..=1000.0).contains(&factor) => Ok(factor),
        _ => Err("must be a number from 0.0001 to 1000".to_owned()),
    }
}

/// A path MTU.
pub fn mtu(text: &str) -> Result<u32, String> {
    let found = text.parse().ok().filter(|mtu| MTUS.contains(mtu));
    found.ok_or_else(|| "must be 256, 512, 1024, 2048 or 4096".to_owned())
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(What::Shuffle(arguments)) = &arguments.what {
        return shuffle(arguments);
    }
    let fitting = (arguments.mtu as usize / ROW).max(1) as u32;
    let options = Options {
        scale_factor: arguments.scale_factor,
        destinations: arguments.destinations.into(),
        batch_rows: arguments.batch_rows as usize,
        rows_per_message: arguments.rows_per_message.unwrap_or(fitting),
        sample_rows: arguments.sample_rows as usize,
        whole_rows: arguments.whole_rows as usize,
        receivers: arguments.receivers.into(),
        mtu: arguments.mtu,
        patience: Duration::from_secs(arguments.timeout),
    };
    let network = Network::new();
    let kind = Kind::of(&arguments.device);
    if kind == Kind::Board {
        let text = "the demonstration's peers are simulated: it needs the device rtl: or soft:";
        return Err(Failure::Usage(text.to_owned()));
    }
    // Before the minutes that building may take; the capture begins with the shuffle.
    let pcap = create(&arguments.pcap)?;
    let card = device::open(&arguments.device, &network)?;
    let mut progress = Progress::new(arguments, &pcap);
    let outcome = demo::run(card, &network, &options, &mut progress).map_err(failure)?;
    progress.bar.finish_and_clear();
    let path = &arguments.pcap;
    finish_capture(&network, pcap, path)?;
    note(format_args!(
        "Sending the first {} rows with all columns, strings and all, to {} cards ...",
        arguments.whole_rows, arguments.receivers
    ));
    // A waveform is one card's.
    let cards = device::without_option(&arguments.device, "trace");
    let whole = whole::run(&options, &cards).map_err(failure)?;
    if arguments.json {
        let found = json!({
            "device": arguments.device, "destinations": arguments.destinations, "row_bytes": ROW,
            "rows_per_message": options.rows_per_message, "mtu": options.mtu, "pcap": path,
            "shuffle": outcome.shuffle, "lists": outcome.lists,
            "described": outcome.described, "packed": outcome.packed, "whole": whole,
        });
        return say(format_args!("{found:#}\n"));
    }
    say(format_args!("{}", demo::render(&outcome, &options)))?;
    say(format_args!("The shuffle's packets are in {}.\n\n", path.display()))?;
    say(whole::render(&whole, &options, &arguments.device))
}

fn failure(error: DemoError) -> Failure {
    match error {
        DemoError::Device(error) => error.into(),
        error => Failure::failed(error),
    }
}

/// A progress bar, or lines if nobody looks at a terminal.
struct Progress<'a> {
    arguments: &'a Arguments,
    pcap: &'a OutputFile,
    bar: ProgressBar,
    total: u64,
    terminal: bool,
    next_line: u64,
}

impl<'a> Progress<'a> {
    fn new(arguments: &'a Arguments, pcap: &'a OutputFile) -> Self {
        let total = (arguments.scale_factor * ROWS_PER_SCALE_FACTOR) as u64;
        let bar = ProgressBar::new(total);
        let style = ProgressStyle::with_template("{bar:40} {human_pos} rows arrived, {elapsed}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { arguments, pcap, bar, total, terminal: stderr().is_terminal(), next_line: 0 }
    }
}

impl Watcher for Progress<'_> {
    fn comparing(&mut self, rows: usize) {
        note(format_args!(
            "Sending {rows} rows of LINEITEM as plain lists and as described regions ..."
        ));
    }

    fn shuffling(&mut self, network: &Network) -> Result<(), String> {
        let (factor, destinations) = (self.arguments.scale_factor, self.arguments.destinations);
        note(format_args!(
            "Shuffling LINEITEM at scale factor {factor} (about {} rows) to {destinations} \
             destinations ...",
            self.total
        ));
        capture(network, self.pcap, &self.arguments.pcap).map_err(|failure| failure.to_string())
    }

    fn arrived(&mut self, rows: u64) {
        self.bar.set_position(rows);
        if !self.terminal && rows >= self.next_line {
            note(format_args!("  {rows} rows have arrived, all of them right"));
            self.next_line = rows + self.total / 10;
        }
    }
}
