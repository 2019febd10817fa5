//! What a row costs the receiver of batches: `cargo bench --package drdma-arrow --bench receiver`.
//!
//! Sixteen connections bring batches of 11 columns of fixed width, 104 B a row, as LINEITEM's are. The card, `soft:`,
//! works before the time is taken: what is counted is taking completions, putting batches together, and posting the
//! slabs again.

use std::{error::Error, sync::Arc, time::Duration};

use arrow_array::{ArrayRef, FixedSizeBinaryArray, Int32Array, Int64Array, RecordBatch};
use drdma_arrow::{Arena, Foreign, Format, Receiver, Selection, Sender};
use drdma_fabric::{Fabric, NetworkConfig, Node};
use libdrdma::{Access, QueuePair, QueuePairAttributes, Status};
use rustix::time::{ClockId, clock_gettime};

/// The memory that the sender's batches lie in.
static MEMORY: libdrdma::Arena = libdrdma::Arena::new(256 << 20);

/// Destinations.
const PARTITIONS: usize = 16;
/// Rows of a batch at the sender, and batches of a round.
const ROWS: usize = 8192;
const BATCHES: usize = 12;
/// Rounds, of which the one with the least time counts.
const ROUNDS: usize = 9;
/// Bytes of a message.
const MESSAGE: usize = 16 << 10;
/// Messages that the receiver has room for: all of a round.
const SLABS: usize = 8192;
/// Blocks of the send queue: all requests of a round fit.
const SEND_BLOCKS: u32 = 32768;

fn main() -> Result<(), Box<dyn Error>> {
    let mut fabric = Fabric::new(NetworkConfig::default(), 2)?;
    let [from, to] = [0, 1].map(|node| fabric.node(node).clone());
    let [pd, pd_to] = [&from, &to].map(|node| node.context().protection_domain());
    let cq = from.context().completion_queue().entries(SEND_BLOCKS).build()?;
    let cq_to = to.context().completion_queue().build()?;
    let batch = batch()?;
    let format = Format::new(batch.schema(), MESSAGE)?;
    let arena = Arena::over(&pd, &MEMORY)?;
    let mut receiver = Receiver::new(format.clone(), &pd_to, SLABS)?;
    let mut pairs: Vec<QueuePair<'static>> = Vec::new();
    let mut ends = Vec::new();
    for _ in 0..PARTITIONS {
        let mut pair = pd.queue_pair(&cq).send_blocks(1).build()?;
        let end = pd_to.queue_pair(&cq_to).send_blocks(1).shared_receive_queue(receiver.queue());
        let mut end = end.build()?;
        pair.connect(&attributes(&to, end.qpn()))?;
        end.connect(&attributes(&from, pair.qpn()))?;
        pairs.push(pair);
        ends.push(end);
    }
    let mut queue = pd.shared_send_queue(&cq).send_blocks(SEND_BLOCKS).build()?;
    let mut sender = Sender::new(format, &pd, &arena, Foreign::Register);
    let to: Vec<_> = (0..).zip(&pairs).collect();
    let ids: Vec<u8> = (0..ROWS).map(|row| (row * 7 % PARTITIONS) as u8).collect();
    let ids = Selection::from(ids);

    let (mut least, mut batches) = (f64::INFINITY, 0);
    for _ in 0..ROUNDS {
        let mut left = 0;
        for _ in 0..BATCHES {
            left += sender.send(&mut queue, 1, &batch, &ids, &to)?.completions;
        }
        let sent = fabric.run_until(Duration::from_secs(1), |_| {
            for completion in cq.poll() {
                assert_eq!(completion.status, Status::Success);
                left -= 1;
            }
            Ok::<_, Box<dyn Error>>(left == 0)
        })?;
        assert!(sent, "{left} requests did not complete");
        let start = processor_ns();
        let mut rows = ROWS * BATCHES;
        batches = 0;
        while let Some(received) = receiver.poll()? {
            rows -= received.batch.num_rows();
            batches += 1;
        }
        least = least.min(processor_ns() - start);
        assert_eq!(rows, 0, "all rows have arrived when all requests are complete");
    }
    let messages = batches * (batch.num_columns() + 1);
    let a_row = least / (ROWS * BATCHES) as f64;
    let a_message = least / messages as f64;
    println!(
        "{a_row:.1} ns a row, {a_message:.0} ns a message, {messages} messages, {batches} batches"
    );
    Ok(())
}

/// The processor's time of this thread.
fn processor_ns() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}

/// Eleven columns of fixed width, 104 B a row.
fn batch() -> Result<RecordBatch, Box<dyn Error>> {
    let mut columns: Vec<(String, ArrayRef)> = Vec::new();
    for i in 0..4 {
        let values = (0..ROWS as i64).map(|row| row * 31 + i);
        columns.push((format!("key{i}"), Arc::new(Int64Array::from_iter_values(values))));
    }
    for i in 0..4 {
        let values = (0..ROWS).map(|row| [(row + i) as u8; 15]);
        let values = FixedSizeBinaryArray::try_from_iter(values)?;
        columns.push((format!("decimal{i}"), Arc::new(values)));
    }
    for i in 0..3 {
        let values = (0..ROWS as i32).map(|row| row * 17 + i);
        columns.push((format!("date{i}"), Arc::new(Int32Array::from_iter_values(values))));
    }
    Ok(RecordBatch::try_from_iter(columns)?)
}

fn attributes(peer: &Node, qpn: u32) -> QueuePairAttributes {
    QueuePairAttributes::new()
        .path_mtu(4096)
        .dest_qpn(qpn)
        .dest_mac(peer.mac())
        .dest_ip(peer.ip())
        .start_psn(0)
        .rq_psn(0)
        .access(Access::empty())
        .min_rnr_timer(1)
        .timeout(14)
        .retry_cnt(7)
        .rnr_retry(7)
}
