//! What the designs of the shuffling operator cost among the nodes of a simulated fabric:
//! `cargo run --release -p drdma-exchange --features experiment --example designs -- NODES ROWS`

use std::{env, time::Duration};

use drdma_exchange::{
    Config, Design, Notice, Primitive,
    experiment::{self, Pattern, Share, Trial},
};
use drdma_fabric::{Fabric, NetworkConfig};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = env::args().skip(1).map(|argument| argument.parse::<usize>());
    let nodes = arguments.next().transpose()?.unwrap_or(8);
    let rows = arguments.next().transpose()?.unwrap_or(20_000);
    let shares: Vec<_> = (0..nodes).map(|node| share(node, rows)).collect();
    println!(
        "design           rows  pattern      Gb/s  wire  messages   others    posts  pinned KiB  QPs  ns a row"
    );
    for pattern in Pattern::ALL {
        for design in Design::ALL {
            for regions in [false, true] {
                if regions && design.primitive == Primitive::Read {
                    continue;
                }
                let found = one(&shares, design, regions, pattern, 4096)?;
                println!(
                    "{:16} {} {:11} {:5.1} {:5.1} {:9} {:8} {:8} {:11} {:4} {:9.1}",
                    design.to_string(),
                    if regions { "there" } else { "copy " },
                    pattern.to_string(),
                    found.goodput(),
                    found.wire(),
                    found.data_messages,
                    found.control_messages,
                    found.posts,
                    found.pinned / 1024,
                    found.queue_pairs,
                    found.core_ns(),
                );
            }
        }
    }
    for notice in [Notice::PollBuffer, Notice::PollQueue, Notice::PollCompletion] {
        let design = Design { multiple_endpoints: true, primitive: Primitive::Write(notice) };
        let found = one(&shares, design, false, Pattern::Repartition, 4096)?;
        println!("{design}: {:.1} Gb/s, {:.1} ns a row", found.goodput(), found.core_ns());
    }
    buffers(&shares)?;
    pools(&(0..nodes).map(|node| share(node, 10 * rows)).collect::<Vec<_>>())?;
    slow(&shares)
}

/// Prints the throughput by buffers a peer: how many are needed for a full link.
fn buffers(shares: &[Share]) -> Result<(), Box<dyn std::error::Error>> {
    let design = Design { multiple_endpoints: false, primitive: Primitive::SendReceive };
    for (receive_buffers, credit_every) in [(1, 1), (2, 1), (4, 2), (8, 2), (16, 2), (16, 16)] {
        let mut fabric = Fabric::new(NetworkConfig::default(), 2)?;
        let config = Config::new(design.primitive);
        let config = Config { message: 4096, receive_buffers, credit_every, ..config };
        let pattern = Pattern::Broadcast;
        let trial =
            Trial { design, regions: false, pattern, threads: 4, config, pool: None, slow: (0, 0) };
        let limit = Duration::from_secs(10);
        let found = experiment::run(&mut fabric, &shares[..2], &trial, limit)?;
        println!(
            "{receive_buffers} buffers, a credit for {credit_every}: {:.1} Gb/s",
            found.goodput()
        );
    }
    Ok(())
}

/// What a node pins for a repartition, with fixed buffers and with a pool. Ten times the rows, as buffers are lent one
/// round trip after the other.
fn pools(shares: &[Share]) -> Result<(), Box<dyn std::error::Error>> {
    for design in Design::ALL {
        if !matches!(design.primitive, Primitive::SendReceive | Primitive::Datagram) {
            continue;
        }
        let best = Config::new(design.primitive);
        let fixed = Config { message: 4096, ..best };
        let few = Config { receive_buffers: 2, most_buffers: 32, ..fixed };
        let pool = if design.multiple_endpoints { 1 << 20 } else { 512 << 10 };
        for (name, config, pool) in [
            ("16 a peer, the primitive's best message", best, None),
            ("16 a peer", fixed, None),
            ("2 a peer", few, None),
            ("2 a peer and a pool", few, Some(pool)),
        ] {
            let mut fabric = Fabric::new(NetworkConfig::default(), shares.len())?;
            let (pattern, slow) = (Pattern::Repartition, (0, 0));
            let trial = Trial { design, regions: false, pattern, threads: 4, config, pool, slow };
            let found = experiment::run(&mut fabric, shares, &trial, Duration::from_secs(10))?;
            println!(
                "{design}, messages of {} B, {name}: {:.1} Gb/s, {} KiB pinned",
                config.message,
                found.goodput(),
                found.pinned / 1024
            );
        }
    }
    Ok(())
}

/// Prints how one slow receiver of a broadcast slows the others.
fn slow(shares: &[Share]) -> Result<(), Box<dyn std::error::Error>> {
    for primitive in [Primitive::SendReceive, Primitive::Read] {
        let design = Design { multiple_endpoints: false, primitive };
        for turns in [0, 10] {
            let mut fabric = Fabric::new(NetworkConfig::default(), shares.len())?;
            let config = Config { message: 4096, ..Config::new(primitive) };
            let (pattern, slow) = (Pattern::Broadcast, (0, turns));
            let trial =
                Trial { design, regions: false, pattern, threads: 4, config, pool: None, slow };
            let found = experiment::run(&mut fabric, shares, &trial, Duration::from_secs(10))?;
            println!(
                "{design}, node 0 takes a message in {turns} turns: the first other is done after {:?}",
                found.first_done
            );
        }
    }
    Ok(())
}

fn one(
    shares: &[Share],
    design: Design,
    regions: bool,
    pattern: Pattern,
    message: u32,
) -> Result<experiment::Found, Box<dyn std::error::Error>> {
    let mut fabric = Fabric::new(NetworkConfig::default(), shares.len())?;
    let config = Config { message, ..Config::new(design.primitive) };
    let trial = Trial { design, regions, pattern, threads: 4, config, pool: None, slow: (0, 0) };
    Ok(experiment::run(&mut fabric, shares, &trial, Duration::from_secs(10))?)
}

/// Rows of 16 B, as the paper has them.
fn share(node: usize, rows: usize) -> Share {
    let numbers = (0..rows as u64).map(|row| row << 8 | node as u64);
    let hash = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let keys = numbers.clone().flat_map(u64::to_le_bytes).collect();
    let values = numbers.clone().flat_map(|number| (!number).to_le_bytes()).collect();
    Share { columns: vec![(8, keys), (8, values)], hashes: numbers.map(hash).collect() }
}
