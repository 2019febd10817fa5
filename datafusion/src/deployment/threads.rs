//! Workers on threads of this process.

use std::{path::PathBuf, sync::Arc};

use drdma_fabric::NetworkConfig;
use tokio::runtime::Runtime;

use super::Workers;
use crate::{
    Error, Options,
    cluster::runtime,
    exchange::{
        site::{Link, Member, Site},
        spill::{self, Scratch},
    },
    network::Network,
    worker::{self, Sockets},
};

/// Workers, each on threads of its own, and their cards.
pub(super) struct Threads {
    members: Vec<Member>,
    /// The runtime of each worker. `None`: the worker was stopped.
    workers: Vec<Option<Runtime>>,
    /// The directory of each worker's files.
    scratch: Vec<PathBuf>,
    // The cards go last.
    _network: Network,
}

impl Threads {
    pub fn start(options: &Options, network: &NetworkConfig) -> Result<Self, Error> {
        let network = Network::new(network.clone(), options.workers)?;
        let (mut started, mut members) = (Vec::new(), Vec::new());
        for number in 0..options.workers {
            let runtime = runtime(&format!("drdma-worker-{number}"))?;
            let sockets = runtime.block_on(Sockets::bind_here())?;
            let (engine, exchange) = sockets.addresses()?;
            members.push(Member::new(engine, exchange));
            started.push((runtime, sockets));
        }
        let directory = options.exchange.directory.as_deref();
        let scratch =
            members.iter().map(|member| Scratch::path(member.engine, directory)).collect();
        let mut workers = Vec::new();
        for (number, (runtime, sockets)) in started.into_iter().enumerate() {
            let port = &network.ports()[number];
            let (config, memory) = (options.exchange.clone(), options.memory);
            let site =
                Site::new(number, config, port, memory, members.clone(), Link::SIMULATED, None)?;
            runtime.spawn(worker::serve(Arc::new(site), sockets));
            workers.push(Some(runtime));
        }
        Ok(Self { members, workers, scratch, _network: network })
    }
}

impl Workers for Threads {
    fn members(&self) -> &[Member] {
        &self.members
    }

    fn stop(&mut self, worker: usize) {
        if let Some(runtime) = self.workers[worker].take() {
            runtime.shutdown_background();
            // The worker's tasks may not have ended, and the process may end before they do.
            spill::remove(&self.scratch[worker]);
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        (0..self.workers.len()).for_each(|worker| self.stop(worker));
    }
}
