//! Many cards send to one, and congestion control shares its link among them.

use std::{sync::Mutex, time::Duration};

use drdma_fabric::NetworkConfig;
use libdrdma::{Contiguous, Operation, Status, WorkRequest};

use super::rig::{self, End, Kind, Link};
use crate::rig::RunError;

/// Cards that send to the first one.
const SENDERS: usize = 8;
/// Bytes of a WRITE, and number of WRITEs of each card.
const BYTES: usize = 64 << 10;
const EACH: usize = 128;
/// A frame that finds more bytes than this in the switch's queue is marked.
const MARK: u64 = 24 << 10;
/// ECN bits that allow that mark.
const ALLOWS_MARK: u8 = 2;
/// Simulated time without a completion after which a run has failed.
const PATIENCE: Duration = Duration::from_millis(20);

/// Results of a run.
#[derive(Clone, Copy, Debug)]
pub struct Incast {
    /// Share of the receiver's link that payload took, until the last sender was done.
    pub link: f64,
    /// Fairness when the first sender was done: 1 less the largest deviation from the mean, as a share of the mean.
    pub fairness: f64,
}

/// The results of a run, which is made once.
///
/// # Errors
/// [`RunError`], also if the switch dropped a frame.
pub fn measured() -> Result<Incast, RunError> {
    static KNOWN: Mutex<Option<Incast>> = Mutex::new(None);
    let mut known = KNOWN.lock().expect("no run panics");
    if known.is_none() {
        *known = Some(run()?);
    }
    Ok(known.expect("it was run"))
}

fn run() -> Result<Incast, RunError> {
    let network = NetworkConfig { ecn: MARK, ..NetworkConfig::default() };
    let mut fabric = rig::fabric(network.clone(), &[Kind::Rtl; SENDERS + 1])?;
    let link = Link { ecn: ALLOWS_MARK, send_blocks: 4 * EACH as u32, ..Link::default() };
    let to = End::new(&fabric, 0, 1)?;
    let mut senders = Vec::new();
    for node in 1..=SENDERS {
        let from = End::new(&fabric, node, EACH as u32)?;
        let (local, remote) = (from.memory(&[node as u8; BYTES])?, to.memory(&[0; BYTES])?);
        senders.push((from, local, remote));
    }
    let mut lines = Vec::new();
    for (from, ..) in &senders {
        lines.push(rig::pair(&fabric, from, &to, &link)?);
    }
    rig::settle(&mut fabric, 0)?;
    let start = fabric.now();
    for ((qp, _), (_, local, remote)) in lines.iter_mut().zip(&senders) {
        let operation = Operation::Write { remote_addr: remote.addr(), rkey: remote.rkey() };
        let regions = [Contiguous::new(local).build()?];
        let mut batch = qp.batch();
        for request in 0..EACH {
            let post = WorkRequest::new(request as u64).operation(operation);
            batch.post_send(&post.regions(&regions))?;
        }
        batch.submit()?;
    }
    let mut done = [0; SENDERS];
    let mut first: Option<[usize; SENDERS]> = None;
    let mut last = fabric.now();
    while done.iter().any(|done| *done < EACH) {
        for ((from, ..), done) in senders.iter().zip(&mut done) {
            for completion in from.sent.poll() {
                let (wr_id, status) = (completion.wr_id, completion.status);
                if status != Status::Success {
                    return Err(RunError::Status { wr_id, status });
                }
                *done += 1;
                last = fabric.now();
            }
        }
        if first.is_none() && done.contains(&EACH) {
            first = Some(done);
        }
        if fabric.now() - last > PATIENCE {
            return Err(RunError::Stuck);
        }
        if !fabric.step()? {
            fabric.advance(Duration::from_micros(10))?;
        }
    }
    let ns = (last - start).as_nanos() as f64 - rig::first_latency_ns(&network);
    for (node, (_, _, remote)) in (1..).zip(&senders) {
        let mut bytes = vec![0; BYTES];
        remote.read_at(0, &mut bytes);
        if bytes.iter().any(|byte| *byte != node) {
            let what = "other bytes arrived than were sent".to_owned();
            return Err(RunError::Payload { destination: 0, message: usize::from(node), what });
        }
    }
    let port = fabric.counters(0);
    if port.dropped > 0 {
        return Err(RunError::Refused(format!("the switch dropped {} frames", port.dropped)));
    }
    let first = first.unwrap_or(done);
    let mean = first.iter().sum::<usize>() as f64 / SENDERS as f64;
    let deviation = first.iter().map(|done| (*done as f64 - mean).abs() / mean).fold(0.0, f64::max);
    let link = (SENDERS * EACH * BYTES) as f64 * 8.0 / ns / network.gbps as f64;
    Ok(Incast { link, fairness: 1.0 - deviation })
}
