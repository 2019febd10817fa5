//! `drdma fabric`: several cards in one simulated time.

use std::{
    fs,
    io::{self, BufWriter, ErrorKind, Write as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use clap::Args;
use drdma_cli::{
    device::Kind,
    fabric::{
        FabricJob,
        run::{FabricError, Options, Outcome, Recorded, run_recorded},
        supported,
    },
    record::Recording,
};
use drdma_fabric::{Tap, Time};
use drdma_sim::wire::Capture;
use serde_json::{Value, json};

use super::{Failure, create, finish};

/// Run a job of several cards behind a switch, in simulated time; prints one JSON object per completion.
///
/// The job says what each node posts, and what the network does to frames; its seed decides which ones. A
/// run is the same, byte for byte, whenever and wherever it is made. Completions come in the order in which
/// the nodes see them.
///
/// The exit code is 1 if a request failed, unless --allow-failures is given, or if nothing completes any
/// more; 2 if the job cannot be told to cards, and nothing was run.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  drdma fabric job.json --dump after --pcap switch.pcap
  drdma fabric job.json --stats stats.json --timeout 0.5")]
pub struct Arguments {
    /// The job file.
    job: PathBuf,
    /// Write what every buffer holds after the last step to DIR/NODE/BUFFER.
    #[arg(long, value_name = "DIR")]
    dump: Option<PathBuf>,
    /// Write every frame that passed the switch to this file.
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Write what the links and the cards did to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,
    /// Write what the host and the network do to the card of a node to a file, one JSON object a line (`rtl:` only).
    #[arg(long, value_name = "NODE=FILE", value_parser = node_and_file)]
    record: Option<(String, PathBuf)>,
    /// Give up after so many seconds of simulated time without a completion.
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    timeout: f64,
    /// Threads on which the cards work (default: one for each `rtl:` node, as far as there are cores).
    #[arg(long, value_name = "COUNT")]
    threads: Option<usize>,
    /// End with exit code 0 even if requests failed.
    #[arg(long)]
    allow_failures: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let job = FabricJob::read(&arguments.job)?;
    supported::check(&job, Kind::features)?;
    let patience = Duration::try_from_secs_f64(arguments.timeout)
        .ok()
        .filter(|patience| !patience.is_zero())
        .ok_or_else(|| {
            let found = arguments.timeout;
            Failure::Usage(format!("--timeout is {found}: it must be more than 0 seconds"))
        })?;
    let pcap = arguments
        .pcap
        .as_deref()
        .map(|path| Ok::<_, Failure>((create(path)?, path)))
        .transpose()?;
    let stats = arguments
        .stats
        .as_deref()
        .map(|path| Ok::<_, Failure>((create(path)?, path)))
        .transpose()?;
    let record = match &arguments.record {
        Some((name, path)) => {
            let node = node_to_record(&job, name)?;
            let file = create(path)?;
            let writer = file.writer().map_err(|error| Failure::file(path, &error))?;
            Some((file, path, Recorded { node, recording: Recording::new(writer, path) }))
        }
        None => None,
    };
    let mut capture = None;
    if let Some((file, path)) = &pcap {
        let writer = file.writer().map_err(|error| Failure::file(path, &error))?;
        let writer = Capture::new(BufWriter::new(writer));
        let writer = writer.map_err(|error| Failure::file(path, &error))?;
        capture = Some(Passing::new(writer));
    }
    let options = Options { patience, threads: threads(arguments, &job) };
    let tap = capture.clone().map(|capture| Box::new(capture) as Box<dyn Tap>);
    let recorded = record.as_ref().map(|(_, _, recorded)| recorded.clone());
    let outcome =
        run_recorded(&job, options, tap, recorded, &mut print).map_err(|error| match &error {
            FabricError::Device { source, .. } if source.is_usage() => {
                Failure::Usage(error.to_string())
            }
            _ => Failure::failed(error),
        })?;
    if let Some((file, path, Recorded { recording, .. })) = record {
        recording.flush().map_err(|error| Failure::file(path, &error))?;
        finish(file, path)?;
    }
    if let (Some((file, path)), Some(capture)) = (pcap, capture) {
        capture.finish().map_err(|error| Failure::file(path, &error))?;
        finish(file, path)?;
    }
    if let Some((mut file, path)) = stats {
        let text = format!("{:#}\n", statistics(&job, &outcome));
        file.write_all(text.as_bytes()).map_err(|error| Failure::file(path, &error))?;
        finish(file, path)?;
    }
    if let Some(folder) = &arguments.dump {
        dump(&job, &outcome, folder)?;
    }
    match outcome.failures {
        failures if failures > 0 && !arguments.allow_failures => {
            Err(Failure::Failed(format!("{failures} requests failed")))
        }
        _ => Ok(()),
    }
}

/// `NODE=FILE`.
fn node_and_file(text: &str) -> Result<(String, PathBuf), String> {
    let (node, file) = text.split_once('=').ok_or("it is no NODE=FILE")?;
    Ok((node.to_owned(), PathBuf::from(file)))
}

/// The index of a node of that name, whose card can be recorded.
fn node_to_record(job: &FabricJob, name: &str) -> Result<usize, Failure> {
    let node = job.nodes.iter().position(|node| node.name == name);
    let node =
        node.ok_or_else(|| Failure::Usage(format!("--record: there is no node {name:?}")))?;
    let device = &job.nodes[node].device;
    match Kind::of(device) {
        Kind::Rtl => Ok(node),
        _ => Err(Failure::Usage(format!("--record needs a node with rtl:, not {device}"))),
    }
}

/// Number of threads for a job.
fn threads(arguments: &Arguments, job: &FabricJob) -> usize {
    let rtl = job.nodes.iter().filter(|node| Kind::of(&node.device) == Kind::Rtl).count();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    arguments.threads.unwrap_or(rtl.min(cores)).max(1)
}

fn print(completion: Value) -> io::Result<()> {
    match writeln!(io::stdout().lock(), "{completion}") {
        // The reader has closed the pipe: it needs no more.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes every buffer of every node.
fn dump(job: &FabricJob, outcome: &Outcome, folder: &Path) -> Result<(), Failure> {
    for (node, buffers) in job.nodes.iter().zip(&outcome.memory) {
        let folder = folder.join(&node.name);
        fs::create_dir_all(&folder).map_err(|error| Failure::file(&folder, &error))?;
        for (buffer, bytes) in node.buffers.iter().zip(buffers) {
            let path = folder.join(&buffer.name);
            let mut file = create(&path)?;
            file.write_all(bytes).map_err(|error| Failure::file(&path, &error))?;
            finish(file, &path)?;
        }
    }
    Ok(())
}

/// Counters of the links and the cards.
fn statistics(job: &FabricJob, outcome: &Outcome) -> Value {
    let mut nodes = serde_json::Map::new();
    for (i, node) in job.nodes.iter().enumerate() {
        let port = &outcome.ports[i];
        let counters = outcome.cards[i].iter().map(|(name, value)| (name.to_owned(), json!(value)));
        let of_node = json!({
            "from_card": {"frames": port.sent_frames, "bytes": port.sent_bytes, "lost": port.lost,
                          "duplicated": port.duplicated, "reordered": port.reordered,
                          "corrupted": port.corrupted, "unknown": port.unknown},
            "to_card": {"frames": port.frames, "bytes": port.bytes, "dropped": port.dropped,
                        "marked": port.marked, "longest_queue": port.longest_queue},
            "card": counters.collect::<serde_json::Map<_, _>>(),
        });
        nodes.insert(node.name.clone(), of_node);
    }
    json!({"ns": outcome.ns, "nodes": nodes})
}

/// A capture of the frames that pass the switch. Clones write to the same one.
#[derive(Clone)]
struct Passing(Arc<Mutex<(Capture, io::Result<()>)>>);

impl Passing {
    fn new(capture: Capture) -> Self {
        Self(Arc::new(Mutex::new((capture, Ok(())))))
    }

    /// Writes buffered frames to the file.
    fn finish(self) -> io::Result<()> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (capture, written) = &mut *state;
        std::mem::replace(written, Ok(())).and_then(|()| capture.flush())
    }
}

impl Tap for Passing {
    fn frame(&mut self, at: Time, frame: &[u8]) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (capture, written) = &mut *state;
        if written.is_ok() {
            *written = capture.write(frame, at.ns());
        }
    }
}
