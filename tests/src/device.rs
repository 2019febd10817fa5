//! Running a job on a device, in this process.

use std::{path::Path, time::Duration};

use drdma_cli::{device, job::Job, run};
use drdma_sim::wire::Network;
use libdrdma::WorkCompletion;
use serde_json::Value;

use crate::{
    capture,
    expect::{Completion, Expected},
};

/// Time without a completion that is too long in any test, even for a large job on a busy machine.
const PATIENCE: Duration = Duration::from_secs(600);

/// Runs a job on a device. Returns completions and frames.
///
/// # Errors
/// A text, if the job did not run to its end. A post that completes with an error is none.
pub fn run(uri: &str, job: &Value) -> Result<Expected, String> {
    let job = Job::parse(&job.to_string(), Path::new(".")).map_err(|e| e.to_string())?;
    let network = Network::new();
    network.keep_frames();
    let card = device::open(uri, &network).map_err(|e| e.to_string())?;
    device::add_peers(&job, &network);
    let context = device::set_up(card, job.local).map_err(|e| e.to_string())?;
    let mut completions: Vec<WorkCompletion> = Vec::new();
    run::run(&job, &context, PATIENCE, &mut completions).map_err(|e| e.to_string())?;
    if let Some(complaints) = device::complaints(&network.errors()) {
        return Err(format!("a peer complains: {complaints}"));
    }
    Ok(Expected {
        completions: completions
            .iter()
            .map(|c| Completion {
                wr_id: c.wr_id,
                status: c.status.name().to_owned(),
                bytes: c.bytes,
            })
            .collect(),
        frames: capture::by_queue_pair(network.frames().into_iter().map(|frame| frame.bytes)),
    })
}

/// The first difference between what a device did and what it should have done.
pub fn difference(expected: &Expected, found: &Expected) -> Option<String> {
    for (i, pair) in expected.completions.iter().zip(&found.completions).enumerate() {
        if pair.0 != pair.1 {
            return Some(format!("completion {i}: expected {:?}, found {:?}", pair.0, pair.1));
        }
    }
    let (count, expected_count) = (found.completions.len(), expected.completions.len());
    if count != expected_count {
        return Some(format!("{expected_count} completions expected, {count} found"));
    }
    for qpn in expected.frames.keys().chain(found.frames.keys()) {
        let none = Vec::new();
        let expected = expected.frames.get(qpn).unwrap_or(&none);
        let found = found.frames.get(qpn).unwrap_or(&none);
        let differs = expected.iter().zip(found).position(|(expected, found)| expected != found);
        if let Some(i) = differs {
            let (expected, found) = (hexdump(&expected[i]), hexdump(&found[i]));
            return Some(format!(
                "packet {i} to queue pair {qpn}:\n  expected {expected}\n  found    {found}"
            ));
        }
        if expected.len() != found.len() {
            return Some(format!(
                "queue pair {qpn}: {} packets expected, {} found",
                expected.len(),
                found.len()
            ));
        }
    }
    None
}

fn hexdump(frame: &[u8]) -> String {
    format!("{} ({} B)", crate::expect::hex(frame), frame.len())
}
