//! The places where the workers of a cluster run: threads of this process, processes of this machine, or hosts.

mod processes;
mod threads;

use std::path::PathBuf;

use drdma_fabric::NetworkConfig;

use crate::{Directory, Error, Options, exchange::site::Member};
pub use processes::{serve, serve_child};

/// The place where the workers of a cluster run.
#[derive(Clone, Debug)]
pub enum Deployment {
    /// On threads of this process. Their cards are behind one simulated switch, in one simulated time.
    Threads(NetworkConfig),
    /// In processes of this machine, which are started and end with the cluster. Frames go by UDP.
    Processes {
        /// The program that is started with the argument `--worker`; it calls [`serve_child`].
        program: PathBuf,
    },
    /// On hosts, where they were started before; each calls [`serve`]. Frames go by UDP. They say how many workers
    /// there are, and how much memory exchanges take.
    Hosts(Directory),
}

/// Workers that run. They end when this is dropped, but for those on hosts.
pub(crate) trait Workers: Send {
    /// The workers' addresses.
    fn members(&self) -> &[Member];

    /// Stops a worker, as if its machine were lost. A worker on another host is not stopped.
    fn stop(&mut self, worker: usize);

    /// How a worker that does not answer has ended, if that is known.
    fn fate(&mut self, _worker: usize) -> Option<String> {
        None
    }
}

/// Starts the workers.
pub(crate) fn start(options: &Options) -> Result<Box<dyn Workers>, Error> {
    Ok(match &options.deployment {
        Deployment::Threads(network) => Box::new(threads::Threads::start(options, network)?),
        Deployment::Processes { program } => {
            Box::new(processes::Processes::start(options, program)?)
        }
        Deployment::Hosts(directory) => Box::new(Hosts(directory.members())),
    })
}

/// Workers that were started on their hosts before.
struct Hosts(Vec<Member>);

impl Workers for Hosts {
    fn members(&self) -> &[Member] {
        &self.0
    }

    fn stop(&mut self, _worker: usize) {}
}
