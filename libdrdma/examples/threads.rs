//! Several threads, each with a connection and a completion queue of its own, on one card. Results come
//! and go while the connections stay: queues hold what they send until it has left.
//!
//! ```text
//! cargo run --example threads [DEVICE]
//! ```

use std::{error::Error, sync::Arc, thread, time::Duration};

use libdrdma::{
    CompletionQueue, Context, Contiguous, MacAddress, Options, ProtectionDomain, QueuePair,
    QueuePairAttributes, Status, WorkRequest,
};

const THREADS: u8 = 4;
const RESULTS: u64 = 100;
/// Largest number of results that a thread has in progress.
const WINDOW: u32 = 8;

type Failure = Box<dyn Error + Send + Sync>;

/// A worker, connected once. It has no lifetime: what it sends is made later.
struct Worker {
    pd: ProtectionDomain,
    cq: CompletionQueue,
    qp: QueuePair<'static>,
}

impl Worker {
    fn new(context: &Context, pd: &ProtectionDomain, number: u8) -> Result<Self, Failure> {
        let cq = context.completion_queue().build()?;
        let mut qp = pd.queue_pair(&cq).build()?;
        qp.connect(
            &QueuePairAttributes::new()
                .path_mtu(4096)
                .dest_qpn(100)
                .dest_mac(MacAddress([2, 0, 0, 0, 1, number]))
                .dest_ip([10, 0, 1, number].into())
                .start_psn(0),
        )?;
        Ok(Self { pd: pd.clone(), cq, qp })
    }

    /// Sends a result, which is freed when it has left.
    fn send(&mut self, wr_id: u64, result: Vec<u64>) -> Result<(), Failure> {
        let memory = Arc::new(self.pd.register(result)?);
        let regions = [Contiguous::new(memory).build()?];
        Ok(self.qp.post_send(&WorkRequest::new(wr_id).regions(&regions))?)
    }

    /// Waits until at most `left` requests are in progress; returns the bytes of the others.
    fn drain(&self, left: u32) -> Result<u64, Failure> {
        let mut bytes = 0;
        while self.cq.outstanding() > left {
            let completion = self.cq.poll_timeout(Duration::from_secs(60))?;
            let completion = completion.ok_or("nothing has completed")?;
            if completion.status != Status::Success {
                return Err(format!("{}: {:?}", completion.wr_id, completion.status).into());
            }
            bytes += completion.bytes;
        }
        Ok(bytes)
    }

    fn work(mut self) -> Result<u64, Failure> {
        let mut bytes = 0;
        for wr_id in 0..RESULTS {
            bytes += self.drain(WINDOW - 1)?;
            self.send(wr_id, vec![wr_id; 100 + wr_id as usize])?;
        }
        Ok(bytes + self.drain(0)?)
    }
}

/// Sends from all threads; returns the bytes that were sent.
pub fn run(device: &str) -> Result<u64, Failure> {
    let options = Options::new("02:00:00:00:00:01".parse()?, [10, 0, 0, 1].into());
    let context = Context::open(libdrdma::open(device)?, options)?;
    let pd = context.protection_domain();
    let workers: Vec<_> =
        (0..THREADS).map(|number| Worker::new(&context, &pd, number)).collect::<Result<_, _>>()?;
    let threads: Vec<_> =
        workers.into_iter().map(|worker| thread::spawn(move || worker.work())).collect();
    let bytes = threads.into_iter().map(|thread| thread.join().expect("a thread"));
    bytes.sum()
}

#[allow(dead_code, reason = "tests call `run`")]
fn main() -> Result<(), Failure> {
    let device = std::env::args().nth(1).unwrap_or_else(|| "soft:".into());
    println!("{} B sent by {THREADS} threads", run(&device)?);
    Ok(())
}
