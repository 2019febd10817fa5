//! Many cards send to one, with congestion control.

use drdma_fabric::{Fabric, NetworkConfig};
use libdrdma::{Contiguous, Features, Operation, Status, WorkRequest};

use super::rig::{self, End, Kind, Link};
use crate::rig::RunError;

/// Senders.
const SENDERS: usize = 8;
/// Bytes of a WRITE, and how many each sender posts, with a doorbell each.
const BYTES: usize = 64 << 10;
const EACH: usize = 512;
/// A frame that finds more than this in its queue is marked.
const MARK: u64 = 24 << 10;
/// How far a sender may be from its share when the first one has sent all.
const UNFAIR: f64 = 0.15;
/// Simulated time after which it has failed.
const PATIENCE_NS: u128 = 50_000_000;

/// What all senders together bring to the receiver, as a share of the link's 100 Gb/s. There is no such figure if a frame was
/// dropped, or a sender was further from its share than [`UNFAIR`].
pub fn share() -> Result<f64, RunError> {
    let network = NetworkConfig { ecn: MARK, ..NetworkConfig::default() };
    let kinds = [Kind::that_sends(Features::CONGESTION); SENDERS + 1];
    let mut fabric = rig::fabric(network.clone(), &kinds)?;
    let to = End::new(&fabric, 0, 1)?;
    let link = Link { ecn: 2, ..Link::default() };
    let mut senders = Vec::new();
    for node in 1..=SENDERS {
        let end = End::new(&fabric, node, EACH as u32)?;
        let (local, remote) = (end.memory(&[node as u8; BYTES])?, to.memory(&[0; BYTES])?);
        senders.push((end, local, remote));
    }
    let mut pairs = Vec::new();
    for (end, ..) in &senders {
        pairs.push(rig::pair(&fabric, end, &to, &link)?);
    }
    rig::settle(&mut fabric, 0)?;
    let start = fabric.now();
    for ((qp, _), (_, local, remote)) in pairs.iter_mut().zip(&senders) {
        let regions = [Contiguous::new(local).build()?];
        let operation = Operation::Write { remote_addr: remote.addr(), rkey: remote.rkey() };
        for request in 0..EACH {
            let post = WorkRequest::new(request as u64).operation(operation);
            qp.post_send(&post.regions(&regions))?;
        }
    }
    let ends: Vec<&End> = senders.iter().map(|(end, ..)| end).collect();
    let first = completed(&mut fabric, &ends)?;
    let mean = first.iter().sum::<usize>() as f64 / SENDERS as f64;
    let off = |done: &usize| (*done as f64 - mean).abs() / mean;
    let unfair = first.iter().map(off).fold(0.0, f64::max);
    let ns = (fabric.now() - start).as_nanos() as f64 - rig::first_latency_ns(&network);
    let counters = fabric.counters(0);
    eprintln!(
        "incast: {first:?} requests when the first sender had done, {:.1} % off; queue of {} B at most, {} frames marked",
        100.0 * unfair,
        counters.longest_queue,
        counters.marked
    );
    if counters.dropped > 0 || unfair > UNFAIR {
        let text = format!("{} frames dropped, {unfair:.3} off the share", counters.dropped);
        return Err(RunError::Wire(text));
    }
    for (destination, (_, local, remote)) in senders.iter().enumerate() {
        let content = |memory: &libdrdma::MemoryRegion| {
            let mut bytes = vec![0; BYTES];
            memory.read_at(0, &mut bytes);
            bytes
        };
        if content(local) != content(remote) {
            let what = "other bytes arrived than were sent".to_owned();
            return Err(RunError::Payload { destination, message: 0, what });
        }
    }
    let gbps = (SENDERS * EACH * BYTES) as f64 * 8.0 / ns;
    Ok(gbps / network.gbps as f64)
}

/// Waits until everything has completed; how much of each sender had when the first one had completed all.
fn completed(fabric: &mut Fabric, ends: &[&End]) -> Result<Vec<usize>, RunError> {
    let mut done = vec![0; ends.len()];
    let mut first = None;
    let start = fabric.now();
    while done.iter().any(|done| *done < EACH) {
        for (end, done) in ends.iter().zip(&mut done) {
            for completion in end.sent.poll() {
                let (wr_id, status) = (completion.wr_id, completion.status);
                if status != Status::Success {
                    return Err(RunError::Status { wr_id, status });
                }
                *done += 1;
            }
        }
        if first.is_none() && done.contains(&EACH) {
            first = Some(done.clone());
        }
        if (fabric.now() - start).as_nanos() > PATIENCE_NS {
            return Err(RunError::Stuck);
        }
        if !fabric.step()? {
            fabric.advance(std::time::Duration::from_micros(10))?;
        }
    }
    Ok(first.unwrap_or(done))
}
