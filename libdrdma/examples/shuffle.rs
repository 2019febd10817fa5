//! A shuffle: the rows of a table go to four nodes by the hash of their key.
//!
//! ```text
//! cargo run --example shuffle [DEVICE]
//! ```
//!
//! The engine says which node each row belongs to, with one byte a row. The card does the rest: one
//! request, one completion, no row copied by the processor.

use std::{error::Error, time::Duration};

use libdrdma::{
    Context, MacAddress, Options, PartitionDestination, Partitioned, PartitionedWorkRequest,
    QueuePairAttributes, Status,
};

const NODES: u8 = 4;
const ROWS: usize = 100_000;

/// Shuffles once; returns the bytes that were sent.
pub fn run(device: &str) -> Result<u64, Box<dyn Error>> {
    let options = Options::new("02:00:00:00:00:01".parse()?, [10, 0, 0, 1].into());
    let context = Context::open(libdrdma::open(device)?, options)?;
    let pd = context.protection_domain();

    // The table is the engine's own. Registering it copies nothing.
    let keys: Vec<u64> = (0..ROWS as u64).map(|row| row * 31).collect();
    let prices: Vec<u32> = (0..ROWS as u32).map(|row| row % 1000).collect();
    let nodes: Vec<u8> = keys.iter().map(|key| node(*key)).collect();
    let (keys, prices, nodes) = (pd.register(keys)?, pd.register(prices)?, pd.register(nodes)?);

    // One connection to each node.
    let cq = context.completion_queue().build()?;
    let mut qps = Vec::new();
    for node in 0..NODES {
        let mut qp = pd.queue_pair(&cq).build()?;
        let peer = QueuePairAttributes::new()
            .path_mtu(4096)
            .dest_qpn(100)
            .dest_mac(MacAddress([2, 0, 0, 0, 1, node]))
            .dest_ip([10, 0, 1, node].into())
            .start_psn(0);
        qp.connect(&peer)?;
        qps.push(qp);
    }
    let mut queue = pd.shared_send_queue(&cq).build()?;

    // Each row is its key and its price; 300 rows are a message.
    let table = Partitioned::<u8>::new(&nodes).rows(ROWS as u64);
    let table = table.column(&keys, 0, 8).column(&prices, 0, 4).build()?;
    let destinations: Vec<_> =
        (0..NODES).zip(&qps).map(|(node, qp)| PartitionDestination::new(qp, node)).collect();
    let request = PartitionedWorkRequest::new(1, &table).rows_per_message(300);
    queue.post_ssq_send(&request.destinations(&destinations))?;

    let completions = cq.wait(1, Duration::from_secs(60))?;
    let completion = completions.first().ok_or("nothing has completed")?;
    if completion.status != Status::Success {
        return Err(format!("node {}: {:?}", completion.destination, completion.status).into());
    }
    Ok(completion.bytes)
}

/// Node of a row: the highest bits of a multiplication by the golden ratio.
fn node(key: u64) -> u8 {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62) as u8
}

#[allow(dead_code, reason = "tests call `run`")]
fn main() -> Result<(), Box<dyn Error>> {
    let device = std::env::args().nth(1).unwrap_or_else(|| "soft:".into());
    println!("{} B sent to {NODES} nodes", run(&device)?);
    Ok(())
}
