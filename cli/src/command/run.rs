//! `drdma run`: a job on a device.

use std::{
    cell::OnceCell,
    io::{self, ErrorKind, Write},
    path::PathBuf,
    time::Duration,
};

use clap::Args;
use drdma_cli::{
    cable::Cable,
    device::{self, Kind},
    explain::Judge,
    job::Job,
    record::{Recorder, Recording},
    run::{self, Observer, RunError},
    stats::Stats,
};
use drdma_sim::wire::Network;
use drdma_wire::WireSpec;
use libdrdma::{Context, Status, WorkCompletion};
use serde_json::json;

use super::{Failure, capture, create, finish, finish_capture, tuning::Tuning};

/// Failed requests whose reasons are printed on standard error, at most.
const REASONS: usize = 8;

/// Run a job file on a device; prints one JSON object per completion.
///
/// The exit code is 1 if a request failed, unless --allow-failures is given; standard error says why,
/// by the names of the job file. Files are written when the run has ended; interrupted, it leaves none.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  drdma run job.json --device soft: --pcap out.pcap
  drdma run job.json --device 'rtl:?stall=0.1' --stats stats.json
  drdma run job.json --device vfio:0000:65:00.0 --timeout 5")]
pub struct Arguments {
    /// The job file.
    job: PathBuf,
    /// The device: `rtl:` is the simulated hardware, `soft:` the reference model,
    /// `vfio:0000:65:00.0` a board.
    #[arg(long, value_name = "URI")]
    device: String,
    /// Write every frame that leaves the card to this file.
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Write what the run cost to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,
    /// Write what the host did to the card to this file, one JSON object a line (`rtl:` only).
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Plug the card's port into something outside of this program instead of simulated peers:
    /// `dgram:LOCAL,REMOTE`, a pair of unix datagram sockets (QEMU's `-netdev dgram`), `tap:NAME`,
    /// an interface, or `udp:LOCAL,REMOTE`, UDP between addresses IP:PORT (`soft:` and `rtl:` only).
    #[arg(long, value_name = "WIRE")]
    wire: Option<WireSpec>,
    /// Give up after so many seconds without a packet or a completion.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    timeout: u64,
    /// End with exit code 0 even if requests failed.
    #[arg(long)]
    allow_failures: bool,
    #[command(flatten)]
    tuning: Tuning,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let job = Job::read(&arguments.job)?;
    let optimizer = arguments.tuning.optimizer()?;
    let kind = Kind::of(&arguments.device);
    if arguments.record.is_some() && kind != Kind::Rtl {
        let device = &arguments.device;
        return Err(Failure::Usage(format!("--record needs the device rtl:, not {device}")));
    }
    if arguments.pcap.is_some() && kind == Kind::Board {
        let text =
            "--pcap needs a simulated device: what a board sends, a switch or a peer captures";
        return Err(Failure::Usage(text.to_owned()));
    }
    if arguments.wire.is_some() && kind == Kind::Board {
        let text = "--wire needs a simulated device: a board has a wire of its own";
        return Err(Failure::Usage(text.to_owned()));
    }
    // Files that cannot be written are refused before the run, not after it.
    let new = |path: &Option<PathBuf>| {
        let file = |path: &PathBuf| Ok::<_, Failure>((create(path)?, path.clone()));
        path.as_ref().map(file).transpose()
    };
    let (pcap, stats_file) = (new(&arguments.pcap)?, new(&arguments.stats)?);
    let record = new(&arguments.record)?;
    let network = Network::new();
    let mut card = device::open(&arguments.device, &network)?;
    let cable = arguments.wire.as_ref().map(|wire| plug(&network, wire)).transpose()?;
    if cable.is_none() {
        device::add_peers(&job, &network);
    }
    if let Some((file, path)) = &pcap {
        capture(&network, file, path)?;
    }
    let recording = match &record {
        Some((file, path)) => {
            let writer = file.writer().map_err(|error| Failure::file(path, &error))?;
            Some(Recording::new(writer, path))
        }
        None => None,
    };
    if let Some(recording) = &recording {
        card = Box::new(Recorder::new(card, recording.clone()));
    }

    let context = device::set_up_with(card, job.local, optimizer).map_err(Failure::failed)?;
    let mut observer = Printer {
        network: network.clone(),
        recording,
        cable,
        done: 0,
        failed: Vec::new(),
        job: &job,
        judge: OnceCell::new(),
    };
    let patience = Duration::from_secs(arguments.timeout);
    let result = run::run(&job, &context, patience, &mut observer);
    let counters = context.counters();
    match (&result, kind) {
        // Closing a card that does not answer takes the kernel a minute or two, which it has when this
        // process ends; what happened is told before.
        (Err(RunError::Card(_)), Kind::Board) => std::mem::forget(context),
        _ => drop(context),
    }
    // After a failure, frames that are on their way are not waited for.
    let cable = observer.cable.as_mut().filter(|_| result.is_ok());
    let traffic = cable.map(Cable::finish).transpose();

    // The files tell most when something went wrong, so they are written in any case.
    if let (Some(recording), Some((file, path))) = (&observer.recording, record) {
        recording.flush().map_err(|error| Failure::file(&path, &error))?;
        finish(file, &path)?;
    }
    if let Some((file, path)) = pcap {
        finish_capture(&network, file, &path)?;
    }
    result.map_err(Failure::failed)?;
    if let Some((mut file, path)) = stats_file {
        let stats = json!(Stats::of(&counters.map_err(Failure::failed)?, network.clock().span()));
        writeln!(file, "{stats:#}").map_err(|error| Failure::file(&path, &error))?;
        finish(file, &path)?;
    }
    let lost = traffic.map_err(Failure::failed)?.map_or(0, |traffic| traffic.lost);
    if lost > 0 {
        let text = "frames of the card were lost: nobody is at the other end of the wire";
        return Err(Failure::Failed(format!("{lost} {text}")));
    }
    if let Some(complaints) = device::complaints(&network.errors()) {
        return Err(Failure::Failed(format!("the card sent wrong packets: {complaints}")));
    }
    match observer.failed.len() {
        failed if failed > 0 && !arguments.allow_failures => {
            let reasons = few(&observer.failed);
            let all = job.posts.len();
            Err(Failure::Failed(format!("{failed} of {all} requests failed\n{reasons}")))
        }
        _ => Ok(()),
    }
}

/// The first lines of a list, and how many are left out.
fn few(lines: &[String]) -> String {
    let first = lines.iter().take(REASONS).map(|line| format!("  {line}"));
    let more = lines.len().saturating_sub(REASONS);
    let rest = (more > 0).then(|| format!("  and {more} more"));
    first.chain(rest).collect::<Vec<_>>().join("\n")
}

/// Plugs a wire into the card's port.
fn plug(network: &Network, spec: &WireSpec) -> Result<Cable, Failure> {
    let wire = spec
        .open()
        .map_err(|error| Failure::Failed(format!("the wire cannot be plugged in: {error}")))?;
    // Captured frames go to the simulated peers as well.
    let none =
        "--wire takes dgram:LOCAL,REMOTE, tap:NAME or udp:LOCAL,REMOTE here; --pcap captures";
    wire.map(|wire| Cable::plug(network, wire)).ok_or_else(|| Failure::Usage(none.to_owned()))
}

/// Prints completions, and records where the host sees them.
struct Printer<'a> {
    network: Network,
    recording: Option<Recording>,
    cable: Option<Cable>,
    /// Number of posts that are complete.
    done: usize,
    /// Reasons of failed posts, in their order.
    failed: Vec<String>,
    job: &'a Job,
    /// Finds the reasons; made when the first post fails.
    judge: OnceCell<Judge<'a>>,
}

impl Observer for Printer<'_> {
    fn seen(&mut self, completion: &WorkCompletion) -> Result<(), RunError> {
        if let Some(recording) = &self.recording {
            recording.completion(completion)?;
        }
        Ok(())
    }

    fn completed(&mut self, completion: &WorkCompletion) -> Result<(), RunError> {
        let WorkCompletion { wr_id, status, bytes, destination, .. } = *completion;
        let mut line = json!({"wr_id": wr_id, "status": status.name(), "bytes": bytes});
        if status != Status::Success {
            let judge = self.judge.get_or_init(|| Judge::new(self.job));
            let reason = judge.why(self.done, status, destination);
            self.failed.push(format!("{reason} ({}, wr_id {wr_id})", status.name()));
            line["reason"] = json!(reason);
        }
        self.done += 1;
        let mut stdout = io::stdout().lock();
        match writeln!(stdout, "{line}") {
            // The reader has closed the pipe: it needs no more.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            result => Ok(result?),
        }
    }

    fn succeeded(&mut self) {
        self.done += 1;
    }

    fn turn(&mut self, _context: &Context) -> Result<bool, RunError> {
        if let Some(cable) = &mut self.cable {
            cable.serve().map_err(RunError::Cable)?;
        }
        Ok(true)
    }

    fn activity(&self) -> u64 {
        self.network.traffic().frames
    }
}
