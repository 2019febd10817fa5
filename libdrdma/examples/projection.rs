//! A projection: of a table that is stored row by row, two columns of the rows that a filter has left
//! go to one peer, which gets them by RDMA WRITE, one behind the other.
//!
//! ```text
//! cargo run --example projection [DEVICE]
//! ```

use std::{error::Error, time::Duration};

use bytemuck::{Pod, Zeroable};
use libdrdma::{
    Context, MacAddress, Operation, Options, QueuePairAttributes, Status, Strided, WorkRequest,
};

/// A row as it lies in memory.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Row {
    key: u64,
    discount: f64,
    comment: [u8; 40],
    price: u32,
    flags: u32,
}

const ROWS: usize = 50_000;

/// Sends the key and the price of every row; returns the bytes that were sent.
pub fn run(device: &str) -> Result<u64, Box<dyn Error>> {
    let options = Options::new("02:00:00:00:00:01".parse()?, [10, 0, 0, 1].into());
    let context = Context::open(libdrdma::open(device)?, options)?;
    let pd = context.protection_domain();
    let rows: Vec<Row> =
        (0..ROWS as u64).map(|key| Row { key, price: key as u32 % 777, ..Row::zeroed() }).collect();
    let table = pd.register(rows)?;

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

    // Every period of 64 B: the key, and the price.
    let projection = Strided::new(&table)
        .period(size_of::<Row>() as u64)
        .count(ROWS as u64)
        .extent(std::mem::offset_of!(Row, key) as u64, 8)
        .extent(std::mem::offset_of!(Row, price) as u64, 4)
        .build()?;
    // Where the peer wants them: it has said so over some other connection.
    let (remote_addr, rkey) = (0x7f00_0000_0000, 0x1234);
    let regions = [projection];
    let request = WorkRequest::new(1)
        .operation(Operation::Write { remote_addr, rkey })
        .rows_per_message(300)
        .regions(&regions);
    qp.post_send(&request)?;

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
    println!("{} B of {} B sent", run(&device)?, ROWS * size_of::<Row>());
    Ok(())
}
