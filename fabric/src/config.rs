//! Configuration of a network.

use crate::Time;

/// Number of bytes of a frame on the wire beside those that are simulated: preamble, gap, FCS.
const OVERHEAD: u64 = drdma_abi::roce::WIRE_OVERHEAD as u64;
/// Length in bytes of the shortest frame, without FCS: senders pad shorter ones.
const SHORTEST: u64 = 60;

/// A switch and the links to it, which all have the same properties.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkConfig {
    /// Rate of a link in each direction, in Gb/s, at least 1.
    pub gbps: u64,
    /// Propagation delay of a link.
    pub delay: Time,
    /// Capacity of an output queue of the switch in bytes; a frame for which there is no room is
    /// dropped.
    pub queue: u64,
    /// Queue length in bytes above which a frame is marked as having met congestion, if its sender
    /// allows it; 0 marks none.
    pub ecn: u64,
    /// Faults of the network.
    pub faults: FaultConfig,
    /// Seed of the faults.
    pub seed: u64,
}

/// Probabilities with which a frame meets a fault, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FaultConfig {
    /// Probability that the frame is lost.
    pub loss: f64,
    /// Probability that the frame is duplicated.
    pub duplicate: f64,
    /// Probability that up to [`MAX_OVERTAKING`](crate::MAX_OVERTAKING) others of the same output
    /// overtake the frame.
    pub reorder: f64,
    /// Probability that one bit of the frame is flipped.
    pub corrupt: f64,
}

impl Default for NetworkConfig {
    /// 100 Gb/s, 500 ns of delay, 1 MiB for each output, no marks and no faults.
    fn default() -> Self {
        Self {
            gbps: 100,
            delay: Time::from_ns(500),
            queue: 1 << 20,
            ecn: 0,
            faults: FaultConfig::default(),
            seed: 0,
        }
    }
}

impl NetworkConfig {
    /// Time that a frame of `bytes` bytes, without FCS, occupies a link.
    pub fn duration(&self, bytes: usize) -> Time {
        let bits = (bytes as u64).max(SHORTEST).saturating_add(OVERHEAD) * 8;
        Time::from_ps((bits * 1000).div_ceil(self.gbps))
    }

    /// Least time from a frame's leaving a card to its arrival at another.
    pub fn lookahead(&self) -> Time {
        let link = self.duration(0) + self.delay;
        link + link
    }
}
