//! The host as the card sees it through Corundum: PCIe reads and writes of mapped memory.
//!
//! | module | |
//! |---|---|
//! | [`timing`] | when a read's data come back: tags, bytes in flight, latency, cache lines, link |
//! | [`reads`] | reads in flight: cut into requests, back out of order |
//! | [`writes`] | writes in flight: cut into packets, out in order |
//! | [`engine`] | descriptors in, data into the card's RAM segments out of order and from its memories, status back |
//! | [`port`] | the signals of one of the shell's two DMA ports |
//! | [`usage`] | how much of the host's limits reads use |
//! | [`sweep`] | reads of one size and stride, without a card: throughput and latency |

pub mod engine;
pub mod port;
pub mod reads;
pub mod sweep;
pub mod timing;
pub mod usage;
pub mod writes;

/// The shell's two DMA ports, in the order of their priority.
const PORTS: usize = 2;
/// The index of the `data` port.
const DATA: usize = 1;

/// Picoseconds of a clock cycle at 250 MHz.
pub const PS_PER_CYCLE: u64 = 4_000;

/// Status code of a read that the host does not answer for: unsupported request.
pub const UNSUPPORTED_REQUEST: u64 = 10;

/// Configuration of a simulated host and its PCIe link.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Number of reads in flight, at most.
    pub tags: usize,
    /// Bytes of reads in flight (the DMA engine's limit: 16 KiB).
    pub bytes_in_flight: usize,
    /// Maximum read request size in bytes.
    pub max_read_request: usize,
    /// Maximum payload size of a write in bytes.
    pub max_payload: usize,
    /// Round trip of a read without contention, in nanoseconds.
    pub latency_ns: u64,
    /// Rate of the link's completion data, in Gb/s.
    pub link_gbps: f64,
    /// Probability that a handshake stalls, every cycle.
    pub stall: f64,
    /// Seed of all random decisions.
    pub seed: u64,
}

impl Default for Config {
    /// The figures of a U50 with 64 tags (D-RDMA section 5).
    fn default() -> Self {
        Self {
            tags: 64,
            bytes_in_flight: 16 * 1024,
            max_read_request: 512,
            max_payload: 256,
            latency_ns: 1_300,
            link_gbps: 115.0,
            stall: 0.0,
            seed: 1,
        }
    }
}
