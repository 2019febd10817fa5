//! One peer of many that never answers.

use drdma_fabric::NetworkConfig;
use libdrdma::{Contiguous, Operation, WorkRequest};

use super::rig::{self, End, Kind, Link};
use crate::rig::RunError;

/// Peers, of which the last one is silent.
const PEERS: usize = 16;
/// Bytes of a WRITE, and how many go to each peer.
const BYTES: usize = 64 << 10;
const EACH: usize = 12;
/// Bytes of a long WRITE, and how many of them go to the silent peer.
const LONG: usize = 4 << 20;
const LONG_EACH: usize = 4;
/// Queue pair number that no peer has.
const NOBODY: u32 = 0x00ff_fff0;

/// Rate of requests to fifteen peers while a sixteenth is silent, as a share of the rate without it.
/// All are posted at once; the silent peer's, too, none of which is acknowledged in the time.
pub fn share() -> Result<f64, RunError> {
    Ok(run(None)? / run(Some((BYTES, EACH)))?)
}

/// Like [`share`], but the silent peer's requests have more packets than the card can keep.
pub fn share_of_long() -> Result<f64, RunError> {
    Ok(run(None)? / run(Some((LONG, LONG_EACH)))?)
}

/// Nanoseconds until all requests to peers that answer have completed. `silent`: bytes and number of the WRITEs to
/// the silent peer, if there are any.
fn run(silent: Option<(usize, usize)>) -> Result<f64, RunError> {
    let network = NetworkConfig::default();
    let mut kinds = vec![Kind::Soft; PEERS + 1];
    kinds[0] = Kind::Rtl;
    let mut fabric = rig::fabric(network.clone(), &kinds)?;
    let from = End::new(&fabric, 0, (PEERS * EACH) as u32)?;
    let local = from.memory(&[1; BYTES])?;
    let long = from.memory(&[1; LONG])?;
    // Completions of the silent peer's requests, which never come, have a queue of their own.
    let apart = from.apart(EACH as u32)?;
    let link = Link { timeout: 20, ..Link::default() };
    let mut remotes = Vec::new();
    let mut ends = Vec::new();
    for peer in 1..=PEERS {
        let end = End::new(&fabric, peer, 1)?;
        remotes.push(end.memory(&vec![0; BYTES * EACH])?);
        ends.push(end);
    }
    let mut queues = Vec::new();
    for end in &ends {
        if end.node == PEERS {
            let mut qp = apart.queue_pair(&link)?;
            apart.connect(&fabric, &mut qp, end.node, NOBODY, &link)?;
            queues.push((qp, None));
        } else {
            let (qp, peer) = rig::pair(&fabric, &from, end, &link)?;
            queues.push((qp, Some(peer)));
        }
    }
    rig::settle(&mut fabric, 0)?;
    let start = fabric.now();
    let regions = [Contiguous::new(&local).build()?];
    let (silent_bytes, silent_each) = silent.unwrap_or_default();
    let to_silent = [Contiguous::new(&long).len(silent_bytes.max(1) as u64).build()?];
    // The silent peer's requests are posted first, so that they find room in the card.
    for ((qp, peer), remote) in queues.iter_mut().zip(&remotes).rev() {
        let (bytes, each, regions) = match peer {
            Some(_) => (BYTES, EACH, &regions),
            None => (silent_bytes, silent_each, &to_silent),
        };
        if each == 0 {
            continue;
        }
        let mut batch = qp.batch();
        for request in 0..each {
            let remote_addr = remote.addr() + (request * bytes) as u64;
            let operation = Operation::Write { remote_addr, rkey: remote.rkey() };
            let post = WorkRequest::new(request as u64).operation(operation);
            batch.post_send(&post.regions(regions))?;
        }
        batch.submit()?;
    }
    let end = rig::wait(&mut fabric, &[(&from.sent, (PEERS - 1) * EACH)])?;
    for (peer, remote) in remotes.iter().enumerate().take(PEERS - 1) {
        let mut bytes = vec![0; BYTES * EACH];
        remote.read_at(0, &mut bytes);
        if bytes.iter().any(|byte| *byte != 1) {
            let what = "other bytes arrived than were sent".to_owned();
            return Err(RunError::Payload { destination: peer, message: 0, what });
        }
    }
    Ok((end - start).as_nanos() as f64 - rig::first_latency_ns(&network))
}
