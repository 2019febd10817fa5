//! Recordings of jobs, without the command.
#![allow(dead_code, reason = "every test program uses a part of it")]

use std::{fs, path::Path, time::Duration};

use drdma_cli::{
    device,
    job::Job,
    record::{Recorder, Recording},
    run::{self, Observer, RunError},
};
use drdma_sim::wire::Network;
use libdrdma::WorkCompletion;
use serde_json::Value;

/// A network with a job's peers, that keeps the frames of the card.
pub fn network(job: &Job) -> Network {
    let network = Network::new();
    network.keep_frames();
    device::add_peers(job, &network);
    network
}

/// The frames that the network kept.
pub fn frames(network: &Network) -> Vec<Vec<u8>> {
    network.frames().into_iter().map(|frame| frame.bytes).collect()
}

/// Records completions where the host sees them.
struct Noting(Recording);

impl Observer for Noting {
    fn seen(&mut self, completion: &WorkCompletion) -> Result<(), RunError> {
        Ok(self.0.completion(completion)?)
    }

    fn completed(&mut self, _: &WorkCompletion) -> Result<(), RunError> {
        Ok(())
    }
}

/// Runs a job on a device; returns the frames and the recording's lines. Leaves no file at `path`.
pub fn record(uri: &str, job: &Job, path: &Path) -> (Vec<Vec<u8>>, Vec<Value>) {
    let network = network(job);
    let recording = Recording::new(std::fs::File::create(path).unwrap(), path);
    let card = device::open(uri, &network).unwrap();
    let card = Box::new(Recorder::new(card, recording.clone()));
    let context = device::set_up(card, job.local).unwrap();
    let mut observer = Noting(recording.clone());
    run::run(job, &context, Duration::from_secs(30), &mut observer).unwrap();
    drop(context);
    recording.flush().unwrap();
    let lines = fs::read_to_string(path).unwrap();
    let _ = fs::remove_file(path);
    (frames(&network), lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}
