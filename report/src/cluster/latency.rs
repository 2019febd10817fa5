//! One WRITE, from memory to remote memory.

use drdma_fabric::{NetworkConfig, Time};
use libdrdma::{Contiguous, Operation, WorkRequest};

use super::{
    cycles,
    rig::{self, End, Kind, Link},
};
use crate::rig::RunError;

const BYTES: usize = 64;
/// Slices of time in which the bytes must have arrived.
const PATIENCE: usize = 100_000;

/// Cycles from just before the doorbell of a WRITE of 64 B until its bytes are seen in the memory of a card back to
/// back with the sender's: nothing is between them but the time of the frame's bits.
pub fn write() -> Result<f64, RunError> {
    let network = NetworkConfig { delay: Time::ZERO, ..NetworkConfig::default() };
    let mut fabric = rig::fabric(network, &[Kind::Rtl, Kind::Rtl])?;
    let ends = [End::new(&fabric, 0, 1)?, End::new(&fabric, 1, 1)?];
    let local = ends[0].memory(&[0x5a; BYTES])?;
    let remote = ends[1].memory(&[0; BYTES])?;
    let (mut qp, _peer) = rig::pair(&fabric, &ends[0], &ends[1], &Link::default())?;
    rig::settle(&mut fabric, 0)?;
    let start = fabric.now();
    let operation = Operation::Write { remote_addr: remote.addr(), rkey: remote.rkey() };
    let regions = [Contiguous::new(&local).build()?];
    qp.post_send(&WorkRequest::new(0).operation(operation).regions(&regions))?;
    let mut seen = [0; BYTES];
    for _ in 0..PATIENCE {
        fabric.step()?;
        remote.read_at(0, &mut seen);
        if seen == [0x5a; BYTES] {
            let ns = (fabric.now() - start).as_nanos() as f64;
            rig::wait(&mut fabric, &[(&ends[0].sent, 1)])?;
            return Ok(cycles(ns));
        }
    }
    Err(RunError::Stuck)
}
