//! Buffers of a fixed number against a pool that lends them, between two nodes whose threads take time for each row
//! (figures 23 and 24 of Liu et al., TODS 2019):
//! `cargo run --release -p drdma-exchange --features experiment --example adaptive -- MESSAGES`

use std::{env, time::Duration};

use drdma_exchange::{
    Config, Primitive,
    experiment::{self, Consumed, Consumers},
};
use drdma_fabric::{Fabric, NetworkConfig};

/// Threads of a node, as many as in the paper.
const THREADS: usize = 14;
/// Bytes of a message and of a row.
const MESSAGE: u32 = 4096;
const ROW: u32 = 16;
/// The clock of the paper's cores, in GHz.
const CLOCK: f64 = 2.4;
/// Receive buffers of a thread.
const FIXED: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
/// A node's pool.
const POOL: u64 = 4 << 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let messages = env::args().nth(1).map(|messages| messages.parse()).transpose()?.unwrap_or(6000);
    for primitive in [Primitive::Datagram, Primitive::SendReceive] {
        println!("ME {primitive}, {THREADS} threads, {messages} messages of {MESSAGE} B a node");
        for cycles in [[21, 21], [45, 45], [70, 70], [95, 95], [21, 95]] {
            println!("cycles a row at node 0 and node 1: {} and {}", cycles[0], cycles[1]);
            for buffers in FIXED {
                let [often, seldom] = [2.min(buffers), (buffers / 2).max(1)].map(|credit_every| {
                    let config = Config::new(primitive);
                    let config = Config { receive_buffers: buffers, credit_every, ..config };
                    run(config, messages, cycles, None)
                });
                let (often, seldom) = (row(&often?), row(&seldom?));
                let buffers = buffers * THREADS as u32;
                println!("  fixed, {buffers:4} receive buffers  {often} | {seldom}");
            }
            let found = adaptive(primitive, messages, cycles)?;
            println!("  pool of {} KiB               {}", POOL >> 10, row(&found));
            let [a, b] = found.map(|node| (node.usual, node.most, node.pool_used));
            println!(
                "    receive buffers (usual, most), buffers of all kinds (most): {a:?}, {b:?}"
            );
        }
    }
    Ok(())
}

fn row(found: &[Consumed; 2]) -> String {
    format!("{:5.1} {:5.1} Gb/s", found[0].goodput(), found[1].goodput())
}

fn work(cycles: u32) -> Duration {
    Duration::from_nanos((f64::from(MESSAGE / ROW * cycles) / CLOCK) as u64)
}

fn adaptive(
    primitive: Primitive,
    messages: u64,
    cycles: [u32; 2],
) -> Result<[Consumed; 2], Box<dyn std::error::Error>> {
    let config = Config { receive_buffers: 2, send_buffers: 2, ..Config::new(primitive) };
    run(config, messages, cycles, Some(POOL))
}

fn run(
    config: Config,
    messages: u64,
    cycles: [u32; 2],
    pool: Option<u64>,
) -> Result<[Consumed; 2], Box<dyn std::error::Error>> {
    let config = Config { message: MESSAGE, ..config };
    let mut fabric = Fabric::new(NetworkConfig::default(), 2)?;
    let trial = Consumers { threads: THREADS, messages, config, pool, work: cycles.map(work) };
    Ok(experiment::consume(&mut fabric, &trial, Duration::from_secs(1))?)
}
