//! Nodes of an exchange in simulated time, and engines that put and get rows as fast as they can.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use drdma_exchange::{
    BufferPool, Config, Endpoint, Error, Groups, Member, Opening, Primitive, Rows, Shuffle,
};
use drdma_fabric::{Fabric, FaultConfig, NetworkConfig, SimulationError};
use libdrdma::ProtectionDomain;

/// Bytes of a row: where it is from, a number, and bytes that follow from them.
pub const ROW: usize = 24;

/// Why a run ended early.
#[derive(Debug)]
pub enum Failure {
    Exchange { node: usize, error: Error },
    Card(SimulationError),
}

impl From<SimulationError> for Failure {
    fn from(error: SimulationError) -> Self {
        Self::Card(error)
    }
}

impl Failure {
    /// The endpoint's error, and the number of its node.
    pub fn exchange(self) -> (usize, Error) {
        match self {
            Self::Exchange { node, error } => (node, error),
            Self::Card(error) => panic!("{error}"),
        }
    }
}

/// Small buffers, so that few rows fill many.
pub fn small(primitive: Primitive) -> Config {
    Config {
        message: 256,
        receive_buffers: 4,
        send_buffers: 16,
        credit_every: 2,
        mtu: 256,
        patience: Some(Duration::from_millis(20)),
        ..Config::new(primitive)
    }
}

pub fn row(source: usize, number: u64) -> [u8; ROW] {
    let mut row = [0; ROW];
    row[..8].copy_from_slice(&(source as u64).to_le_bytes());
    row[8..16].copy_from_slice(&number.to_le_bytes());
    let mixed = (number ^ (source as u64) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    row[16..].copy_from_slice(&mixed.to_le_bytes());
    row
}

/// Rows to put: the group of each.
pub type Input = Vec<usize>;

/// A node's engine.
pub struct Engine {
    pub endpoint: Endpoint,
    pub groups: Groups,
    shuffle: Option<Shuffle>,
    input: Input,
    put: usize,
    /// Rows that were received from each source, in the order in which they came.
    pub got: BTreeMap<usize, Vec<[u8; ROW]>>,
    /// The engine gets rows only in every `gets_every`th turn; never if that is 0.
    pub gets_every: u64,
    /// The engine puts a row only in every `puts_every`th turn.
    pub puts_every: u64,
    turns: u64,
    pd: ProtectionDomain,
}

impl Engine {
    fn new(endpoint: Endpoint, groups: Groups, input: Input, pd: ProtectionDomain) -> Self {
        let shuffle = Some(Shuffle::new(&endpoint, groups.clone(), 1).unwrap());
        let got = BTreeMap::new();
        Self {
            endpoint,
            groups,
            shuffle,
            input,
            put: 0,
            got,
            gets_every: 1,
            puts_every: 0,
            turns: 0,
            pd,
        }
    }

    /// Puts and gets what is possible at this time.
    pub fn work(&mut self, now: Duration) -> Result<(), Error> {
        self.turns += 1;
        self.endpoint.progress(now)?;
        self.put_rows()?;
        if self.gets_every == 0 || !self.turns.is_multiple_of(self.gets_every) {
            return Ok(());
        }
        while let Some(rows) = self.endpoint.get() {
            let got = self.got.entry(rows.source()).or_default();
            let mut bytes = Vec::new();
            rows.append_to(&mut bytes);
            assert_eq!(bytes.len() % ROW, 0, "whole rows");
            got.extend(bytes.chunks(ROW).map(|row| <[u8; ROW]>::try_from(row).unwrap()));
            self.endpoint.release(rows)?;
            if self.gets_every > 1 {
                break;
            }
        }
        Ok(())
    }

    fn put_rows(&mut self) -> Result<(), Error> {
        let Some(shuffle) = &mut self.shuffle else { return Ok(()) };
        if self.endpoint.config().regions {
            return self.put_regions();
        }
        if self.puts_every > 0 && !self.turns.is_multiple_of(self.puts_every) {
            return Ok(());
        }
        while let Some(group) = self.input.get(self.put).copied() {
            let row = row(self.endpoint.node(), self.put as u64);
            if !shuffle.push(&mut self.endpoint, group, &row)? {
                return Ok(());
            }
            self.put += 1;
            if self.puts_every > 0 {
                return Ok(());
            }
        }
        self.shuffle.take().unwrap().finish(&mut self.endpoint, true)
    }

    /// Puts batches of up to 200 rows from where they lie.
    fn put_regions(&mut self) -> Result<(), Error> {
        while self.put < self.input.len() {
            let end = self.input.len().min(self.put + 200);
            let (own, put) = (self.endpoint.node(), self.put);
            let rows = batch(&self.pd, &self.groups, own, put as u64, &self.input[put..end]);
            if !self.endpoint.put_rows(&rows, &self.groups)? {
                return Ok(());
            }
            self.put = end;
        }
        self.shuffle = None;
        self.endpoint.finish()
    }

    /// Begins the next streams.
    pub fn restart(&mut self, input: Input) {
        self.endpoint.restart().unwrap();
        self.shuffle = Some(Shuffle::new(&self.endpoint, self.groups.clone(), 1).unwrap());
        (self.input, self.put) = (input, 0);
        self.got.clear();
    }
}

/// Rows of a node in three columns, the first of which does not begin with its memory.
fn batch(
    pd: &ProtectionDomain,
    groups: &Groups,
    source: usize,
    first: u64,
    input: &[usize],
) -> Rows {
    let rows: Vec<_> = (first..).zip(input).map(|(number, _)| row(source, number)).collect();
    let column = |at: usize, before: usize| {
        let mut bytes = vec![0xee; before];
        rows.iter().for_each(|row| bytes.extend(&row[at..at + 8]));
        Arc::new(pd.register(bytes).unwrap())
    };
    let batch = match groups.count() {
        1 => Rows::for_all(rows.len()),
        _ => {
            let ids: Vec<u8> = input.iter().map(|group| *group as u8).collect();
            Rows::by_group(Arc::new(pd.register(ids).unwrap()))
        }
    };
    batch.column(column(0, 5), 5, 8).column(column(8, 0), 0, 8).column(column(16, 0), 0, 8)
}

/// Engines and the fabric between them.
pub struct Lab {
    pub fabric: Fabric,
    pub engines: Vec<Engine>,
    pub pools: Vec<BufferPool>,
    /// Called after every turn, with the engines and the pools.
    pub watch: fn(&[Engine], &[BufferPool]),
}

impl Lab {
    /// Makes a node for each list of rows.
    pub fn new(
        config: Config,
        faults: FaultConfig,
        groups: impl Fn(usize) -> Groups,
        inputs: &[Input],
    ) -> Self {
        Self::with_pools(config, None, faults, groups, inputs)
    }

    /// Like [`new`](Self::new), with a pool of this many buffers at each node, if any.
    pub fn with_pools(
        config: Config,
        pool: Option<u32>,
        faults: FaultConfig,
        groups: impl Fn(usize) -> Groups,
        inputs: &[Input],
    ) -> Self {
        let network = NetworkConfig { faults, seed: 7, ..NetworkConfig::default() };
        let nodes = inputs.len();
        let fabric = Fabric::new(network, nodes).unwrap();
        let pools = pool.map_or_else(Vec::new, |buffers| pools(&fabric, config.message, buffers));
        let endpoints = pooled_endpoints(&fabric, config, &pools);
        // Memory and endpoint are of one domain.
        let engines =
            endpoints.into_iter().zip(inputs).enumerate().map(|(node, (endpoint, input))| {
                let pd = endpoint.protection_domain().clone();
                Engine::new(endpoint, groups(node), input.clone(), pd)
            });
        Self { engines: engines.collect(), fabric, pools, watch: |_, _| {} }
    }

    /// Runs to the end, or for 10 s.
    pub fn run(&mut self) -> Result<bool, Failure> {
        self.run_for(Duration::from_secs(10))
    }

    pub fn run_for(&mut self, limit: Duration) -> Result<bool, Failure> {
        let Self { fabric, engines, pools, watch } = self;
        fabric.run_until(limit, |now| {
            for (node, engine) in engines.iter_mut().enumerate() {
                engine.work(now).map_err(|error| Failure::Exchange { node, error })?;
            }
            watch(engines, pools);
            Ok(engines.iter().all(|engine| engine.endpoint.is_done()))
        })
    }

    /// Checks that every row is where it belongs, once, and in its order if `ordered`.
    pub fn check(&self, ordered: bool) {
        for (to, engine) in self.engines.iter().enumerate() {
            for (from, source) in self.engines.iter().enumerate() {
                // Rows that are sent from where they lie stay there if they are for their own node.
                let stays = from == to && source.endpoint.config().regions;
                let belongs = |group: &usize| !stays && source.groups.nodes(*group).contains(&to);
                let numbers = (0_u64..).zip(&source.input).filter(|(_, group)| belongs(group));
                let mut expected: Vec<_> = numbers.map(|(number, _)| row(from, number)).collect();
                let mut got = engine.got.get(&from).cloned().unwrap_or_default();
                if ordered && source.groups.count() == 1 {
                    assert!(got == expected, "rows of node {from} at node {to}: another order");
                }
                got.sort_unstable();
                expected.sort_unstable();
                assert_eq!(got.len(), expected.len(), "rows of node {from} at node {to}");
                assert!(got == expected, "rows of node {from} at node {to}");
            }
        }
    }
}

/// Connected endpoints, one a node.
pub fn endpoints(fabric: &Fabric, config: Config) -> Vec<Endpoint> {
    pooled_endpoints(fabric, config, &[])
}

/// A pool of `buffers` buffers for each node.
pub fn pools(fabric: &Fabric, message: u32, buffers: u32) -> Vec<BufferPool> {
    let bytes = u64::from(buffers) * u64::from(message + 40);
    let nodes = fabric.nodes().iter();
    nodes.map(|card| BufferPool::new(card.context(), message, bytes).unwrap()).collect()
}

/// Like [`endpoints`], with these pools, or without any.
pub fn pooled_endpoints(fabric: &Fabric, config: Config, pools: &[BufferPool]) -> Vec<Endpoint> {
    let nodes = fabric.nodes().len();
    let open = |node| match pools.get(node) {
        Some(pool) => Opening::with_pool(pool, member(fabric, node), config).unwrap(),
        None => opening(fabric, node, config).unwrap(),
    };
    let openings: Vec<Opening> = (0..nodes).map(open).collect();
    let addresses: Vec<_> = openings.iter().map(Opening::address).collect();
    openings.into_iter().map(|opening| opening.connect(&addresses).unwrap()).collect()
}

pub fn opening(fabric: &Fabric, node: usize, config: Config) -> Result<Opening, Error> {
    Opening::new(fabric.node(node).context(), member(fabric, node), config)
}

pub fn member(fabric: &Fabric, node: usize) -> Member {
    let card = fabric.node(node);
    Member { node, nodes: fabric.nodes().len(), mac: card.mac(), ip: card.ip() }
}

/// Rows that go to all groups in turn.
pub fn even(rows: usize, groups: usize) -> Input {
    (0..rows).map(|row| row % groups).collect()
}
