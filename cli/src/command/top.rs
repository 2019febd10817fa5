//! `drdma top`: what a card does, live.

use std::{
    io::{self, IsTerminal, stdout},
    path::PathBuf,
    time::Duration,
};

use clap::Args;
use drdma_cli::{
    device::{self, Kind},
    job::Job,
    run::{self, RunError},
    top::{self, Clock, Json, Options, Screen, Show, Watch},
};
use drdma_driver::Device;
use drdma_sim::{clock::NS_PER_CYCLE, wire::Network};

use super::{Failure, tuning::Tuning};

/// Show what a card does: rates, DMA reads, and where its cycles go.
///
/// The simulated devices live in this process: they do a job, again and again, while they are
/// watched; without --job, that of the demonstration. A board is only read. VFIO gives it to one
/// process at a time and resets it on the way: one that is in use is refused, not watched. Rates are
/// by the card's own clock (a simulated second is many on the wall); those of soft:, whose clock
/// means nothing, are by the wall. q quits.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  drdma top --device rtl: --job job.json
  drdma top --device soft: --json --count 3")]
pub struct Arguments {
    /// The device: `rtl:` is the simulated hardware, `soft:` the reference model,
    /// `vfio:0000:65:00.0` a board.
    #[arg(long, value_name = "URI")]
    device: String,
    /// Print one JSON object an interval instead of the view.
    #[arg(long)]
    json: bool,
    /// Seconds of an interval, on the wall.
    #[arg(long, value_name = "S", default_value_t = 1.0, value_parser = interval)]
    interval: f64,
    /// Stop after so many intervals.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// The job file that a simulated device runs.
    #[arg(long, value_name = "FILE")]
    job: Option<PathBuf>,
    /// Give up after so many seconds without a packet or a completion.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    timeout: u64,
    #[command(flatten)]
    tuning: Tuning,
}

fn interval(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.01..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("must be a number from 0.01 to 3600".to_owned()),
    }
}

impl Arguments {
    /// An option that would change what a card does.
    fn changes(&self) -> Option<&'static str> {
        let Tuning { threshold, max_read, costs } = &self.tuning;
        let given = [
            ("--job", self.job.is_some()),
            ("--threshold", threshold.is_some()),
            ("--max-read", max_read.is_some()),
            ("--costs", costs.is_some()),
        ];
        given.into_iter().find_map(|(option, given)| given.then_some(option))
    }

    fn options(&self, clock: Clock, row_bytes: Option<u64>) -> Options {
        let interval = Duration::from_secs_f64(self.interval);
        Options { interval, count: self.count, clock, row_bytes }
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let kind = Kind::of(&arguments.device);
    let uri = &arguments.device;
    if kind == Kind::Board
        && let Some(option) = arguments.changes()
    {
        let text = format!("{option} is for simulated devices: {uri} is only read");
        return Err(Failure::Usage(text));
    }
    if !arguments.json && !stdout().is_terminal() {
        let reason = "standard output is no terminal that a view could fill: use --json";
        return Err(Failure::Usage(reason.to_owned()));
    }
    if kind == Kind::Board {
        return watch_board(arguments);
    }
    let job = match &arguments.job {
        Some(path) => Job::read(path)?,
        None => top::demo(),
    };
    if job.posts.is_empty() {
        return Err(Failure::Usage("posts: there is none to run".to_owned()));
    }
    let optimizer = arguments.tuning.optimizer()?;
    let clock = if kind == Kind::Soft { Clock::Wall } else { Clock::Card(NS_PER_CYCLE) };
    let options = arguments.options(clock, top::row_bytes(&job));
    let network = Network::new();
    let card = device::open(uri, &network)?;
    device::add_peers(&job, &network);
    let context = device::set_up_with(card, job.local, optimizer).map_err(Failure::failed)?;
    let patience = Duration::from_secs(arguments.timeout);
    with_show(arguments, |show| {
        run::run_on(&job, &context, patience, &mut Watch::new(options, show).on(&network))
    })
}

/// Watches a board, of whose rows nothing is known.
fn watch_board(arguments: &Arguments) -> Result<(), Failure> {
    let card = device::open(&arguments.device, &Network::new())?;
    let mut device = Device::attach(card).map_err(Failure::failed)?;
    let options = arguments.options(Clock::Card(NS_PER_CYCLE), None);
    with_show(arguments, |show| top::watch(&mut device, options, show))
}

/// Watches on the terminal or line by line.
fn with_show(
    arguments: &Arguments,
    watch: impl FnOnce(&mut dyn Show) -> Result<(), RunError>,
) -> Result<(), Failure> {
    let result = match arguments.json {
        true => watch(&mut Json(io::stdout())),
        false => {
            let load = arguments.job.as_ref().map_or_else(String::new, |p| p.display().to_string());
            let title = format!("{} {load}", arguments.device);
            let mut screen = Screen::new(title.trim_end()).map_err(Failure::failed)?;
            watch(&mut screen)
        }
    };
    result.map_err(Failure::failed)
}
