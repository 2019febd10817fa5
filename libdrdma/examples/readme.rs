//! The shuffle of README.md: a table's rows go to the node that their byte names.
//!
//! ```text
//! cargo run --example readme [DEVICE]
//! ```

use std::{error::Error, time::Duration};

use libdrdma::{
    Context, MacAddress, Options, PartitionDestination, Partitioned, PartitionedWorkRequest,
    QueuePairAttributes, Status,
};

/// A node's address, from its number.
fn node(number: u8) -> QueuePairAttributes {
    let to = QueuePairAttributes::new().path_mtu(4096).dest_qpn(7).start_psn(0);
    to.dest_mac(MacAddress([2, 0, 0, 0, 1, number])).dest_ip([10, 0, 1, number].into())
}

/// Sends 1,000 rows; returns the bytes that were sent.
pub fn run(device: &str) -> Result<u64, Box<dyn Error>> {
    let options = Options::new("02:00:00:00:00:01".parse()?, [10, 0, 0, 1].into());
    let context = Context::open(libdrdma::open(device)?, options)?;
    let pd = context.protection_domain();
    let keys: Vec<u32> = (0..1000).collect();
    let prices: Vec<u64> = (0..1000).map(|row| row * row % 777).collect();
    let nodes: Vec<u8> = keys.iter().map(|key| (key % 2) as u8).collect();

    // README
    let (keys, prices, nodes) = (pd.register(keys)?, pd.register(prices)?, pd.register(nodes)?);
    let rows = Partitioned::<u8>::new(&nodes).rows(1000).column(&keys, 0, 4).column(&prices, 0, 8);
    let rows = rows.build()?;
    let cq = context.completion_queue().build()?;
    let (mut even, mut odd) = (pd.queue_pair(&cq).build()?, pd.queue_pair(&cq).build()?);
    even.connect(&node(0))?;
    odd.connect(&node(1))?;
    let to = [PartitionDestination::new(&even, 0), PartitionDestination::new(&odd, 1)];
    let mut queue = pd.shared_send_queue(&cq).build()?;
    queue.post_ssq_send(
        &PartitionedWorkRequest::new(1, &rows).rows_per_message(64).destinations(&to),
    )?;
    let done = cq.poll_timeout(Duration::from_secs(1))?.expect("a completion");
    // README

    assert_eq!(done.status, Status::Success);
    Ok(done.bytes)
}

#[allow(dead_code, reason = "tests run it without")]
fn main() -> Result<(), Box<dyn Error>> {
    let device = std::env::args().nth(1).unwrap_or_else(|| "soft:".to_owned());
    println!("{} B sent", run(&device)?);
    Ok(())
}
