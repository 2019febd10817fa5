//! Running a fabric job.
//!
//! Every node has a host, which posts its steps as fast as it can and looks at its completions after
//! every slice of simulated time. Where nodes wait, they do so until every send has completed and
//! nothing is under way any more.

mod card;
mod host;

use std::time::Duration;

use drdma_fabric::{Network, PortCounters, Simulation, SimulationError, Tap};
use serde_json::Value;

use super::{Destination, FabricJob, Post, Remote, Step};
use crate::{device::DeviceError, record::Recording, run::RunError};
use card::FabricCard;
use host::{Completion, Host, Remotes};

/// Why a fabric job was not run to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FabricError {
    /// A card was not opened.
    #[error("nodes[{node}].device: {source}")]
    Device {
        /// Index of the node.
        node: usize,
        /// Error of the device.
        source: DeviceError,
    },
    /// A node could not be set up, or its card or library failed.
    #[error("node \"{node}\": {source}")]
    Node {
        /// Name of the node.
        node: String,
        /// Error of the node.
        source: RunError,
    },
    /// No post completes any more.
    #[error(
        "steps[{step}] is not complete, nor are {others} posts behind it, and {}",
        match waited {
            Some(waited) => format!("nothing completed for {} s of simulated time", waited.as_secs_f64()),
            None => "nothing is under way that could complete them".to_owned(),
        }
    )]
    Stuck {
        /// Index of the first step that is not complete.
        step: usize,
        /// Number of further posts that are not complete.
        others: usize,
        /// Simulated time without a completion; `None` if no event is left.
        waited: Option<Duration>,
    },
    /// The caller's handling of completions failed.
    #[error("cannot write standard output: {0}")]
    Output(#[from] std::io::Error),
}

/// Options of a run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Simulated time without a completion after which the job is given up.
    pub patience: Duration,
    /// Threads that the cards work on.
    pub threads: usize,
}

/// Results of a job.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Contents of every buffer of every node.
    pub memory: Vec<Vec<Vec<u8>>>,
    /// Counters of the links of every node.
    pub ports: Vec<PortCounters>,
    /// Simulated time in nanoseconds.
    pub ns: u64,
    /// Number of posts that completed with an error.
    pub failures: u64,
    /// The counters of every node's card.
    pub cards: Vec<libdrdma::Counters>,
}

/// Runs a job. `told` is called with each completion as it is printed, in the order in which the hosts see them;
/// at one time, in the order of the nodes. `tap` sees the frames that pass the switch.
///
/// # Errors
/// See [`FabricError`]. That a post completes with a status other than success is none.
pub fn run(
    job: &FabricJob,
    options: Options,
    tap: Option<Box<dyn Tap>>,
    told: &mut dyn FnMut(Value) -> std::io::Result<()>,
) -> Result<Outcome, FabricError> {
    run_recorded(job, options, tap, None, told)
}

/// A node whose card is the RTL, and what is to be recorded of it.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Index of the node.
    pub node: usize,
    /// Recording that is written.
    pub recording: Recording,
}

/// Like [`run`], but records what a node's host and its network do to its card ([`crate::record`]).
///
/// # Errors
/// Those of [`run`], or the recording cannot be written.
pub fn run_recorded(
    job: &FabricJob,
    options: Options,
    tap: Option<Box<dyn Tap>>,
    recorded: Option<Recorded>,
    told: &mut dyn FnMut(Value) -> std::io::Result<()>,
) -> Result<Outcome, FabricError> {
    let mut hosts = Vec::with_capacity(job.nodes.len());
    let mut cards = Vec::with_capacity(job.nodes.len());
    for (index, node) in job.nodes.iter().enumerate() {
        let source = |source| FabricError::Device { node: index, source };
        let here = recorded.as_ref().filter(|recorded| recorded.node == index);
        let recording = here.map(|recorded| recorded.recording.clone());
        let card = FabricCard::open(&node.device, recording.clone()).map_err(source)?;
        let host = Host::new(job, index, &card, recording);
        hosts.push(host.map_err(|source| of_node(job, index, source))?);
        cards.push(card.timed());
    }
    let macs: Vec<u64> = job.nodes.iter().map(|node| node.local.mac).collect();
    let mut network = Network::new(job.network.clone(), &macs);
    if let Some(tap) = tap {
        network.set_tap(tap);
    }
    let mut run = Run {
        job,
        hosts,
        simulation: Simulation::new(network, cards, options.threads),
        patience_ns: options.patience.as_nanos() as u64,
        failures: 0,
    };
    let mut first = 0;
    for phase in job.phases() {
        run.phase(first, phase, told)?;
        first += phase.len() + 1;
    }
    run.outcome()
}

fn of_node(job: &FabricJob, node: usize, source: RunError) -> FabricError {
    FabricError::Node { node: job.nodes[node].name.clone(), source }
}

/// A job that is being run.
struct Run<'a> {
    job: &'a FabricJob,
    hosts: Vec<Host<'a>>,
    simulation: Simulation,
    patience_ns: u64,
    failures: u64,
}

impl<'a> Run<'a> {
    /// Runs the steps up to a wait; `first` is the number of the first one.
    fn phase(
        &mut self,
        first: usize,
        steps: &'a [Step],
        told: &mut dyn FnMut(Value) -> std::io::Result<()>,
    ) -> Result<(), FabricError> {
        for (number, step) in (first..).zip(steps) {
            if let Step::Post { node, post } = step {
                let remotes = self.remotes(post);
                let added = self.hosts[*node].add(number, post, &remotes);
                added.map_err(|source| of_node(self.job, *node, source))?;
            }
        }
        let mut last_ns = self.simulation.now_ns();
        loop {
            if self.hosts_work(told, false)? {
                last_ns = self.simulation.now_ns();
            }
            let goes_on = self.simulation.step().map_err(|error| self.failed(error))?;
            let waiting = self.waiting();
            if waiting.is_empty() {
                if !goes_on && !self.hosts_work(told, true)? {
                    return Ok(());
                }
                continue;
            }
            let waited_ns = self.simulation.now_ns().saturating_sub(last_ns);
            let waited = match goes_on {
                true if waited_ns < self.patience_ns => continue,
                true => Some(Duration::from_nanos(waited_ns)),
                // There may be room now for posts that found none.
                false if self.hosts_work(told, true)? => continue,
                false => None,
            };
            let (step, others) = (waiting[0], waiting.len() - 1);
            return Err(FabricError::Stuck { step, others, waited });
        }
    }

    /// The remote memory that each destination of a post names.
    fn remotes(&self, post: &Post) -> Vec<Remotes> {
        let Post::Send(send) = post else { return Vec::new() };
        let told = |remote: Remote| match remote {
            Remote::Buffer { node, .. } | Remote::Key { node, .. } => {
                self.hosts[node].remote(remote)
            }
            Remote::Raw { addr, rkey } => (addr, rkey),
        };
        let remotes = |destination: &Destination| Remotes {
            of_all: destination.remote.map_or((0, 0), told),
            columns: destination.remote_columns.iter().copied().map(told).collect(),
        };
        send.destinations.iter().map(remotes).collect()
    }

    /// Lets every host post and poll; true if anything completed or was posted. `idle` says that no card has an
    /// event left.
    fn hosts_work(
        &mut self,
        told: &mut dyn FnMut(Value) -> std::io::Result<()>,
        idle: bool,
    ) -> Result<bool, FabricError> {
        let mut any = false;
        for (index, host) in self.hosts.iter_mut().enumerate() {
            let failed = |source| of_node(self.job, index, source);
            while let Some(Completion { object, good }) = host.poll().map_err(failed)? {
                any = true;
                self.failures += u64::from(!good);
                told(object)?;
            }
            if idle {
                host.rest();
            }
            any |= host.post().map_err(failed)?;
        }
        Ok(any)
    }

    /// Numbers of the sends that may not be complete, and of posts that were not made.
    fn waiting(&self) -> Vec<usize> {
        let mut waiting: Vec<usize> = self.hosts.iter().flat_map(Host::waiting).collect();
        waiting.sort_unstable();
        waiting
    }

    fn failed(&self, error: SimulationError) -> FabricError {
        of_node(self.job, error.card, RunError::Card(error.source))
    }

    fn outcome(self) -> Result<Outcome, FabricError> {
        let ports = (0..self.hosts.len()).map(drdma_fabric::Port);
        let ports = ports.map(|port| self.simulation.network().counters(port)).collect();
        let mut cards = Vec::with_capacity(self.hosts.len());
        for (index, host) in self.hosts.iter().enumerate() {
            let counters = host.counters();
            cards.push(counters.map_err(|source| of_node(self.job, index, source))?);
        }
        Ok(Outcome {
            memory: self.hosts.iter().map(Host::memory).collect(),
            ports,
            ns: self.simulation.now_ns(),
            failures: self.failures,
            cards,
        })
    }
}
