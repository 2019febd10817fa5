//! Workers in processes of their own: what starts them here, and what they run.
//!
//! A worker's process and the one that starts it say three things to each other, a line of JSON each: the worker says
//! on its standard output where it listens ([`Place`]), is told on its standard input who all of them are ([`Told`]),
//! and says that it is ready. When its standard input ends, because the cluster is dropped or its process is gone in
//! whatever way, the worker ends.

use std::{
    io::{BufRead, BufReader, Read as _, Write as _, stdin, stdout},
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use libdrdma::Arena;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::signal::{
    ctrl_c,
    unix::{SignalKind, signal},
};

use super::Workers;
use crate::{
    Directory, Error, Options,
    cluster::runtime,
    directory::{Place, WireAt, any_port, bind_wire},
    exchange::{
        site::{Link, Member, Site},
        spill::{self, Scratch},
    },
    network::Wired,
    worker::{self, HERE, Sockets},
};

/// Path MTU between processes of one machine, whose datagrams may have 64 KiB.
const MTU: u32 = 4096;
/// Time that a worker has to end by itself.
const END: Duration = Duration::from_secs(1);
/// Time that a worker that was killed has to end, before its exit status is asked for.
const GONE: Duration = Duration::from_millis(200);
/// Interval at which a worker's exit is looked for.
const PAUSE: Duration = Duration::from_millis(5);

/// Message to a worker: all workers of the cluster, and its own number.
#[derive(Debug, Serialize, Deserialize)]
struct Told {
    number: usize,
    directory: Directory,
}

/// Last message of a worker: it is ready.
#[derive(Debug, Serialize, Deserialize)]
struct Ready {
    ready: bool,
}

/// Processes of this machine.
pub(super) struct Processes {
    members: Vec<Member>,
    children: Vec<Process>,
}

/// A process, which is killed at the latest when this is dropped.
struct Process {
    child: Child,
    /// Standard input of the process. `None`: the process is to end.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// Directory of the worker's files, once it is known.
    scratch: Option<PathBuf>,
}

impl Process {
    fn start(program: &Path) -> Result<Self, String> {
        let mut child = Command::new(program)
            .arg("--worker")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("it is a pipe"));
        Ok(Self { child, input, output, scratch: None })
    }

    /// Reads the next message of the worker.
    fn hear<M: DeserializeOwned>(&mut self) -> Result<M, String> {
        let mut line = String::new();
        match self.output.read_line(&mut line) {
            Err(error) => Err(error.to_string()),
            Ok(0) => {
                let fate = self.fate().unwrap_or_else(|| "it said nothing".into());
                Err(format!("{fate}; its last words are on standard error"))
            }
            Ok(_) => serde_json::from_str(&line)
                .map_err(|error| format!("it says `{}`: {error}", line.trim_end())),
        }
    }

    fn tell(&mut self, told: &Told) -> Result<(), String> {
        let line = serde_json::to_string(told).map_err(|error| error.to_string())?;
        let input = self.input.as_mut().expect("it is to run");
        writeln!(input, "{line}").and_then(|()| input.flush()).map_err(|error| error.to_string())
    }

    /// Waits until the process has ended, for at most `longest`.
    fn wait(&mut self, longest: Duration) -> Option<ExitStatus> {
        let started = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if started.elapsed() < longest => thread::sleep(PAUSE),
                _ => return None,
            }
        }
    }

    /// Removes the files of a worker that was killed.
    fn clean(&self) {
        if let Some(scratch) = &self.scratch {
            spill::remove(scratch);
        }
    }

    /// How the process ended, if it has.
    fn fate(&mut self) -> Option<String> {
        let (id, status) = (self.child.id(), self.wait(GONE)?);
        self.clean();
        Some(match (status.signal(), status.code()) {
            (Some(signal), _) => format!("its process {id} was ended by signal {signal}"),
            (None, code) => {
                format!("its process {id} ended with exit code {}", code.unwrap_or_default())
            }
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A process without input ends by itself, unless it hangs.
        self.input = None;
        if self.wait(END).is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        self.clean();
    }
}

impl Processes {
    pub fn start(options: &Options, program: &Path) -> Result<Self, Error> {
        let failed = |worker| move |reason| Error::Start { worker, reason };
        let start = |worker| Process::start(program).map_err(failed(worker));
        let mut children = (0..options.workers).map(start).collect::<Result<Vec<_>, _>>()?;
        let mut workers = Vec::<Place>::new();
        for (worker, child) in children.iter_mut().enumerate() {
            workers.push(child.hear().map_err(failed(worker))?);
        }
        let directory = Directory { mtu: MTU, workers, exchange: options.exchange.clone() };
        let members = directory.members();
        for (child, member) in children.iter_mut().zip(&members) {
            let directory = options.exchange.directory.as_deref();
            child.scratch = Some(Scratch::path(member.engine, directory));
        }
        for (number, child) in children.iter_mut().enumerate() {
            let told = Told { number, directory: directory.clone() };
            child.tell(&told).map_err(failed(number))?;
        }
        for (worker, child) in children.iter_mut().enumerate() {
            let Ready { .. } = child.hear().map_err(failed(worker))?;
        }
        Ok(Self { members, children })
    }
}

impl Workers for Processes {
    fn members(&self) -> &[Member] {
        &self.members
    }

    fn stop(&mut self, worker: usize) {
        // The process may have ended before.
        let _ = self.children[worker].child.kill();
    }

    fn fate(&mut self, worker: usize) -> Option<String> {
        self.children[worker].fate()
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        // All processes end at the same time.
        self.children.iter_mut().for_each(|child| child.input = None);
    }
}

/// Runs a worker in a process that a cluster has started. Returns when its standard input ends.
///
/// # Errors
/// What the system or the card refuses, or the process that started it says.
pub fn serve_child(memory: &'static Arena) -> Result<(), Error> {
    let runtime = runtime("drdma-worker")?;
    let sockets = runtime.block_on(Sockets::bind_here())?;
    let (engine, exchange) = sockets.addresses()?;
    let wire = bind_wire(any_port(HERE.ip()))?;
    let at = wire.local_addr();
    let at = at.map_err(|source| Error::System { what: "the wire of a worker".into(), source })?;
    say(&Place { engine, exchange, wire: WireAt::Udp(at) })?;
    let mut input = BufReader::new(stdin());
    let Told { number, directory } = hear(&mut input)?;
    let wired = Wired::new(directory.wire_over(number, wire)?, number)?;
    let site = Arc::new(site(number, &directory, &wired, memory)?);
    runtime.spawn(worker::serve(site.clone(), sockets));
    say(&Ready { ready: true })?;
    // No further message follows, only the end of the input.
    let _ = input.read_to_end(&mut Vec::new());
    runtime.shutdown_background();
    // Tasks that still run may hold files, which end with the process.
    site.scratch.remove();
    Ok(())
}

/// Runs worker `number` of a directory, on its own host. Returns when the process is interrupted or told to
/// terminate (SIGINT, SIGTERM), or if it fails.
///
/// # Errors
/// A number that the directory does not have, or what the system or the card refuses.
pub fn serve(directory: &Directory, number: usize, memory: &'static Arena) -> Result<(), Error> {
    let Some(place) = directory.workers.get(number) else {
        let count = directory.workers.len();
        let reason = format!("there are {count} workers, from 0 to {}", count - 1);
        return Err(Error::Start { worker: number, reason });
    };
    let runtime = runtime("drdma-worker")?;
    let sockets = runtime.block_on(Sockets::bind(place.engine, place.exchange))?;
    let wired = Wired::new(directory.wire(number)?, number)?;
    let site = Arc::new(site(number, directory, &wired, memory)?);
    let served = runtime.block_on(async {
        let failed = |source| Error::System { what: "signals of the process".into(), source };
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        tokio::select! {
            served = worker::serve(site.clone(), sockets) => served,
            interrupted = ctrl_c() => interrupted.map_err(failed),
            _ = terminate.recv() => Ok(()),
        }
    });
    runtime.shutdown_background();
    site.scratch.remove();
    served
}

fn site(
    number: usize,
    directory: &Directory,
    wired: &Wired,
    memory: &'static Arena,
) -> Result<Site, Error> {
    let (port, link) = (wired.port(), Link::wired(directory.mtu));
    let (config, members) = (directory.exchange.clone(), directory.members());
    Site::new(number, config, port, memory, members, link, Some(directory.clone()))
}

fn say<M: Serialize>(message: &M) -> Result<(), Error> {
    let line = serde_json::to_string(message).expect("it has a form in JSON");
    let mut out = stdout();
    let said = writeln!(out, "{line}").and_then(|()| out.flush());
    said.map_err(|source| Error::System { what: "the process that started it".into(), source })
}

fn hear<M: DeserializeOwned>(input: &mut impl BufRead) -> Result<M, Error> {
    let mut line = String::new();
    let read = input.read_line(&mut line);
    let what = || "what the worker is told on its standard input".to_owned();
    read.map_err(|source| Error::System { what: what(), source })?;
    serde_json::from_str(&line)
        .map_err(|error| Error::Directory { what: what(), reason: error.to_string() })
}
