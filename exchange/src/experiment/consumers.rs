//! Two nodes whose threads take time for each message: how many buffers that needs (figures 23 and 24 of the paper).

use std::{collections::HashMap, time::Duration};

use drdma_fabric::Fabric;

use super::ExperimentError;
use crate::{BufferPool, Config, Delivery, Endpoint, Error};

/// Simulated time from one turn of the threads to the next.
const TURN: Duration = Duration::from_nanos(200);

/// What is tried: each thread has an endpoint, by which it sends full messages to its counterpart at the other node,
/// and takes those that come. The threads of a node share out what it sends: each takes the next message when it has a
/// buffer. Sending takes no time of theirs.
#[derive(Clone, Copy, Debug)]
pub struct Consumers {
    /// Threads of a node.
    pub threads: usize,
    /// Messages that a node sends.
    pub messages: u64,
    /// How endpoints are made.
    pub config: Config,
    /// Bytes of a node's pool. `None`: its endpoints have buffers of their own only.
    pub pool: Option<u64>,
    /// How long a thread of each node works on a message.
    pub work: [Duration; 2],
}

/// Result of a trial for one node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Consumed {
    /// Bytes of rows that the node received.
    pub bytes: u64,
    /// Time until all of the rows had been worked on.
    pub time: Duration,
    /// Receive buffers that the node had at most times.
    pub usual: u32,
    /// The largest number of receive buffers that the node had at a time.
    pub most: u32,
    /// Buffers of its pool that were in use at a time, at most; 0 without one.
    pub pool_used: u32,
}

impl Consumed {
    /// Gb/s that the node received.
    pub fn goodput(&self) -> f64 {
        self.bytes as f64 * 8.0 / self.time.as_nanos().max(1) as f64
    }
}

/// State that the threads of a node share.
#[derive(Clone, Copy, Debug, Default)]
struct Node {
    /// Messages that were put.
    put: u64,
    /// Messages that were received, and the sum of their numbers.
    got: u64,
    sum: u64,
    bytes: u64,
    done: Option<Duration>,
    /// Messages that are being worked on.
    working_on: usize,
}

struct Thread {
    node: usize,
    endpoint: Endpoint,
    busy_until: Duration,
    working_on: Option<Delivery>,
}

impl Thread {
    fn turn(&mut self, now: Duration, trial: &Consumers, node: &mut Node) -> Result<(), Error> {
        self.endpoint.progress(now)?;
        self.send(trial, node)?;
        self.take(now, trial.work[self.node], node)?;
        if node.got == trial.messages && node.working_on == 0 {
            node.done.get_or_insert(now);
        }
        Ok(())
    }

    fn send(&mut self, trial: &Consumers, node: &mut Node) -> Result<(), Error> {
        while node.put < trial.messages {
            let Some(mut buffer) = self.endpoint.acquire() else { return Ok(()) };
            while buffer.append(&node.put.to_le_bytes()) {}
            self.endpoint.put(buffer, &[1 - self.node])?;
            node.put += 1;
        }
        self.endpoint.finish()
    }

    fn take(&mut self, now: Duration, work: Duration, node: &mut Node) -> Result<(), Error> {
        while now >= self.busy_until {
            // The thread goes on from the moment at which it finished the last message.
            let start = if self.working_on.is_some() { self.busy_until } else { now };
            if let Some(rows) = self.working_on.take() {
                self.endpoint.release(rows)?;
                node.working_on -= 1;
            }
            let Some(rows) = self.endpoint.get() else { break };
            let mut number = [0; 8];
            rows.read_at(rows.len() - 8, &mut number);
            node.sum += u64::from_le_bytes(number);
            node.got += 1;
            node.bytes += rows.len() as u64;
            node.working_on += 1;
            self.working_on = Some(rows);
            self.busy_until = start + work;
        }
        Ok(())
    }
}

/// Runs the trial. Every message must have been received.
///
/// # Errors
/// See [`ExperimentError`]; where it counts rows, these are messages here.
pub fn consume(
    fabric: &mut Fabric,
    trial: &Consumers,
    limit: Duration,
) -> Result<[Consumed; 2], ExperimentError> {
    let (mut threads, pools) = threads(fabric, trial)?;
    let start = fabric.now();
    // For each node: how often it had each number of receive buffers.
    let mut seen: [HashMap<u32, u64>; 2] = Default::default();
    let mut nodes = [Node::default(); 2];
    while !threads.iter().all(|thread| thread.endpoint.is_done()) {
        let now = fabric.now();
        if now - start >= limit {
            return Err(ExperimentError::Endless { limit });
        }
        for thread in &mut threads {
            let node = thread.node;
            let failed = |error| ExperimentError::Exchange { node, error };
            thread.turn(now, trial, &mut nodes[node]).map_err(failed)?;
        }
        for (node, seen) in seen.iter_mut().enumerate() {
            let of_node = threads.iter().filter(|thread| thread.node == node);
            let buffers = of_node.map(|thread| thread.endpoint.receive_buffers()).sum();
            if nodes[node].done.is_none() {
                *seen.entry(buffers).or_default() += 1;
            }
        }
        fabric.advance(TURN)?;
    }
    let expected = trial.messages * (trial.messages.saturating_sub(1)) / 2;
    for (node, Node { got, sum, .. }) in nodes.iter().enumerate() {
        if (*got, *sum) != (trial.messages, expected) {
            let (got, expected) = (*got as usize, trial.messages as usize);
            return Err(ExperimentError::Rows { node, got, expected });
        }
    }
    Ok([0, 1].map(|node| {
        let (Node { bytes, done, .. }, seen) = (nodes[node], &seen[node]);
        Consumed {
            bytes,
            time: done.unwrap_or(start) - start,
            usual: seen.iter().max_by_key(|(buffers, n)| (**n, **buffers)).map_or(0, |(b, _)| *b),
            most: seen.keys().copied().max().unwrap_or(0),
            pool_used: pools.get(node).map_or(0, BufferPool::most_used),
        }
    }))
}

fn threads(
    fabric: &Fabric,
    trial: &Consumers,
) -> Result<(Vec<Thread>, Vec<BufferPool>), ExperimentError> {
    let pools = super::pools(fabric, 2, trial.config.message, trial.pool)?;
    let mut threads = Vec::new();
    for _ in 0..trial.threads {
        let endpoints = super::connected(fabric, 2, trial.config, &pools)?;
        for (node, endpoint) in endpoints.into_iter().enumerate() {
            threads.push(Thread { node, endpoint, busy_until: Duration::ZERO, working_on: None });
        }
    }
    Ok((threads, pools))
}
