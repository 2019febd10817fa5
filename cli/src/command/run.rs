//! `drdma run`: a job on a device.

use std::{
    io::{self, Stdout, Write},
    path::PathBuf,
    time::Duration,
};

use clap::Args;
use drdma_cli::{
    cable::Cable,
    device::{self, Kind},
    job::Job,
    record::{Recorder, Recording},
    run::{self, Observer, RunError},
    stats::Stats,
};
use drdma_serve::WireSpec;
use drdma_sim::wire::Network;
use libdrdma::{Context, WorkCompletion};
use serde_json::json;

use super::{Failure, capture, create, tuning::Tuning};

/// Run a job file on a device; one JSON object per completion comes out.
#[derive(Debug, Args)]
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
    /// `dgram:LOCAL,REMOTE`, a pair of unix datagram sockets (QEMU's `-netdev dgram`), or `tap:NAME`,
    /// an interface (`soft:` and `rtl:` only).
    #[arg(long, value_name = "WIRE")]
    wire: Option<WireSpec>,
    /// Give up after so many seconds without a packet or a completion.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    timeout: u64,
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
    let network = Network::new();
    let mut card = device::open(&arguments.device, &network)?;
    let cable = arguments.wire.as_ref().map(|wire| plug(&network, wire)).transpose()?;
    if cable.is_none() {
        device::add_peers(&job, &network);
    }
    if let Some(path) = &arguments.pcap {
        capture(&network, path)?;
    }
    // What cannot be written is told before the run, not after it.
    let mut stats_file = arguments.stats.as_deref().map(create).transpose()?;
    let recording = match &arguments.record {
        Some(path) => Some(Recording::create(path).map_err(|error| Failure::file(path, &error))?),
        None => None,
    };
    if let Some(recording) = &recording {
        card = Box::new(Recorder::new(card, recording.clone()));
    }

    let context = device::set_up_with(card, job.local, optimizer).map_err(Failure::failed)?;
    let mut observer = Printer { network: network.clone(), recording, cable, stdout: io::stdout() };
    let patience = Duration::from_secs(arguments.timeout);
    let result = run::run(&job, &context, patience, &mut observer);
    let counters = context.counters();
    match (&result, kind) {
        // Closing a card that does not answer takes the kernel a minute or two, which it has when this
        // process ends; what happened is told before.
        (Err(RunError::Card(_)), Kind::Board) => std::mem::forget(context),
        _ => drop(context),
    }
    // What is on its way after a failure may stay there.
    let cable = observer.cable.as_mut().filter(|_| result.is_ok());
    let traffic = cable.map(Cable::finish).transpose();

    // The files tell most when something went wrong, so they are written in any case.
    if let (Some(recording), Some(path)) = (&observer.recording, &arguments.record) {
        recording.flush().map_err(|error| Failure::file(path, &error))?;
    }
    if let Some(path) = &arguments.pcap {
        network.flush_capture().map_err(|error| Failure::file(path, &error))?;
    }
    result.map_err(Failure::failed)?;
    if let (Some(file), Some(path)) = (&mut stats_file, &arguments.stats) {
        let stats = json!(Stats::of(&counters.map_err(Failure::failed)?, network.clock().span()));
        writeln!(file, "{stats:#}").map_err(|error| Failure::file(path, &error))?;
    }
    let lost = traffic.map_err(Failure::failed)?.map_or(0, |traffic| traffic.lost);
    if lost > 0 {
        let text = "frames of the card were lost: nobody is at the other end of the wire";
        return Err(Failure::Failed(format!("{lost} {text}")));
    }
    match device::complaints(&network.errors()) {
        Some(complaints) => {
            Err(Failure::Failed(format!("the card sent wrong packets: {complaints}")))
        }
        None => Ok(()),
    }
}

/// Plugs a wire into the card's port.
fn plug(network: &Network, spec: &WireSpec) -> Result<Cable, Failure> {
    let wire = spec
        .open()
        .map_err(|error| Failure::Failed(format!("the wire cannot be plugged in: {error}")))?;
    // What is captured goes to the simulated peers as well.
    let none = "--wire takes dgram:LOCAL,REMOTE or tap:NAME here; --pcap captures";
    wire.map(|wire| Cable::plug(network, wire)).ok_or_else(|| Failure::Usage(none.to_owned()))
}

/// Prints completions, and notes in the recording where they were seen.
struct Printer {
    network: Network,
    recording: Option<Recording>,
    cable: Option<Cable>,
    stdout: Stdout,
}

impl Observer for Printer {
    fn seen(&mut self, completion: &WorkCompletion) -> Result<(), RunError> {
        if let Some(recording) = &self.recording {
            recording.completion(completion)?;
        }
        Ok(())
    }

    fn completed(&mut self, completion: &WorkCompletion) -> Result<(), RunError> {
        let (wr_id, status) = (completion.wr_id, completion.status.name());
        let line = json!({"wr_id": wr_id, "status": status, "bytes": completion.bytes});
        writeln!(self.stdout, "{line}")?;
        Ok(())
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
