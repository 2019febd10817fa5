//! What a network is.

use crate::Time;

/// Bytes of a frame on the wire beside those that are simulated: preamble, gap, FCS.
const OVERHEAD: u64 = drdma_abi::roce::WIRE_OVERHEAD as u64;
/// Bytes of the shortest frame, without FCS: shorter ones are padded by whoever sends them.
const SHORTEST: u64 = 60;

/// A switch and the links to it, which all have the same properties.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkConfig {
    /// Rate of a link in each direction, in Gb/s, at least 1.
    pub gbps: u64,
    /// Time that a bit takes through a link.
    pub delay: Time,
    /// Bytes that an output of the switch holds; a frame for which there is no room is dropped.
    pub queue: u64,
    /// A frame that finds more bytes than this in its queue is marked as having met congestion, if its
    /// sender allows it; 0 marks none.
    pub ecn: u64,
    /// What happens to frames.
    pub faults: FaultConfig,
    /// What the faults are drawn from.
    pub seed: u64,
}

/// With which probability a frame meets a fault, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FaultConfig {
    /// It is lost.
    pub loss: f64,
    /// It comes twice.
    pub duplicate: f64,
    /// Up to [`MAX_OVERTAKING`](crate::MAX_OVERTAKING) others of the same output overtake it.
    pub reorder: f64,
    /// One of its bits is flipped.
    pub corrupt: f64,
}

impl Default for NetworkConfig {
    /// 100 Gb/s, 500 ns, 1 MiB an output, no marks and no faults.
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
    /// How long a frame of so many bytes, without FCS, occupies a link.
    pub fn duration(&self, bytes: usize) -> Time {
        let bits = (bytes as u64).max(SHORTEST).saturating_add(OVERHEAD) * 8;
        Time::from_ps((bits * 1000).div_ceil(self.gbps))
    }

    /// The least time between a frame's leaving a card and its arrival at another.
    pub fn lookahead(&self) -> Time {
        let link = self.duration(0) + self.delay;
        link + link
    }
}
