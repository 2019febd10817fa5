//! Asynchronous tasks, here of tokio: each sends its results over a connection of its own, and sleeps
//! until they have left.
//!
//! ```text
//! cargo run --example tasks [DEVICE]
//! ```

use std::{error::Error, sync::Arc};

use libdrdma::{
    CompletionQueue, Context, Contiguous, MacAddress, Options, ProtectionDomain, QueuePair,
    QueuePairAttributes, Status, WaitPolicy, WorkRequest,
};

const TASKS: u8 = 8;

type Failure = Box<dyn Error + Send + Sync>;

async fn send_results(
    pd: ProtectionDomain,
    cq: CompletionQueue,
    mut qp: QueuePair<'static>,
) -> Result<u64, Failure> {
    let mut bytes = 0;
    for wr_id in 0..20 {
        let memory = Arc::new(pd.register(vec![wr_id; 1000])?);
        let regions = [Contiguous::new(memory).build()?];
        qp.post_send(&WorkRequest::new(wr_id).regions(&regions))?;
        let completion = cq.next().await?;
        if completion.status != Status::Success {
            return Err(format!("{}: {:?}", completion.wr_id, completion.status).into());
        }
        bytes += completion.bytes;
    }
    Ok(bytes)
}

/// Sends from all tasks; returns the bytes that were sent.
pub fn run(device: &str) -> Result<u64, Failure> {
    let options = Options::new("02:00:00:00:00:01".parse()?, [10, 0, 0, 1].into());
    let context = Context::open(libdrdma::open(device)?, options)?;
    let pd = context.protection_domain();
    // One thread of the channel wakes the tasks of all queues.
    let channel = context.completion_channel().wait_policy(WaitPolicy::default()).build()?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(async {
        let mut tasks = Vec::new();
        for number in 0..TASKS {
            let cq = context.completion_queue().channel(&channel).build()?;
            let mut qp = pd.queue_pair(&cq).build()?;
            qp.connect(
                &QueuePairAttributes::new()
                    .path_mtu(4096)
                    .dest_qpn(100)
                    .dest_mac(MacAddress([2, 0, 0, 0, 1, number]))
                    .dest_ip([10, 0, 1, number].into())
                    .start_psn(0),
            )?;
            tasks.push(tokio::spawn(send_results(pd.clone(), cq, qp)));
        }
        let mut bytes = 0;
        for task in tasks {
            bytes += task.await??;
        }
        Ok(bytes)
    })
}

#[allow(dead_code, reason = "tests call `run`")]
fn main() -> Result<(), Failure> {
    let device = std::env::args().nth(1).unwrap_or_else(|| "soft:".into());
    println!("{} B sent by {TASKS} tasks", run(&device)?);
    Ok(())
}
