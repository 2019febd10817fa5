//! A lookup: records that lie anywhere in a heap, found through an index, go to the peer that asked for
//! them. The index gives addresses; the card follows them.
//!
//! ```text
//! cargo run --example lookup [DEVICE]
//! ```

use std::{collections::HashMap, error::Error, time::Duration};

use libdrdma::{
    Context, MacAddress, MemoryRegion, Options, PointerMapped, QueuePairAttributes, Status,
    WorkRequest,
};

/// Length of a record in bytes.
const RECORD: usize = 24;

/// Records in registered memory, and the address of each key's record.
struct Heap {
    memory: MemoryRegion,
    index: HashMap<u32, u64>,
}

impl Heap {
    /// Returns the addresses of the records of those keys that exist, as the card sees them.
    fn find(&self, keys: impl IntoIterator<Item = u32>) -> Vec<u64> {
        keys.into_iter().filter_map(|key| self.index.get(&key)).copied().collect()
    }
}

/// Answers one lookup; returns the bytes that were sent.
pub fn run(device: &str) -> Result<u64, Box<dyn Error>> {
    let options = Options::new("02:00:00:00:00:01".parse()?, [10, 0, 0, 1].into());
    let context = Context::open(libdrdma::open(device)?, options)?;
    let pd = context.protection_domain();

    let records: Vec<[u8; RECORD]> = (0..10_000_u32).map(|key| [key as u8; RECORD]).collect();
    let memory = pd.register(records)?;
    let place =
        |key: u32| memory.addr() + u64::from(key.wrapping_mul(7919) % 10_000) * RECORD as u64;
    let index = (0..10_000).step_by(2).map(|key| (key, place(key))).collect();
    let heap = Heap { memory, index };

    // The lookup: those of 1,000 keys that are even.
    let found = heap.find(5000..6000);
    let count = found.len() as u64;
    let pointers = pd.register(found)?;

    let cq = context.completion_queue().build()?;
    let mut qp = pd.queue_pair(&cq).build()?;
    qp.connect(
        &QueuePairAttributes::new()
            .path_mtu(4096)
            .dest_qpn(100)
            .dest_mac(MacAddress([2, 0, 0, 0, 0, 2]))
            .dest_ip([10, 0, 0, 2].into())
            .start_psn(0),
    )?;
    // Of each record the key and the last 8 bytes, all of them in one message.
    let regions = [PointerMapped::new(&pointers, &heap.memory)
        .count(count)
        .extent(0, 4)
        .extent(16, 8)
        .build()?];
    qp.post_send(&WorkRequest::new(1).rows_per_message(1000).regions(&regions))?;

    let completions = cq.wait(1, Duration::from_secs(60))?;
    let completion = completions.first().ok_or("nothing has completed")?;
    match completion.status {
        Status::Success => Ok(completion.bytes),
        status => Err(format!("the request failed: {status:?}").into()),
    }
}

#[allow(dead_code, reason = "tests call `run`")]
fn main() -> Result<(), Box<dyn Error>> {
    let device = std::env::args().nth(1).unwrap_or_else(|| "soft:".into());
    println!("{} B of records sent", run(&device)?);
    Ok(())
}
