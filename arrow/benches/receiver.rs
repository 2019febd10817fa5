//! What a row costs both ends of batches, the receiver above all: `cargo bench --package drdma-arrow --bench receiver`.
//!
//! Sixteen connections bring batches of 11 columns of fixed width, 104 B a row, as LINEITEM's are: in messages of a column,
//! and as rows that the card appends. The card, `soft:`, works in between: what is counted is posting requests at
//! one end; taking completions, putting batches together, and posting receives again at the other.

use std::{error::Error, sync::Arc, time::Duration};

use arrow_array::{ArrayRef, FixedSizeBinaryArray, Int32Array, Int64Array, RecordBatch};
use drdma_arrow::{AppendReceiver, Arena, Foreign, Form, Format, Receiver, Selection, Sender};
use drdma_fabric::{Fabric, NetworkConfig, Node};
use libdrdma::{
    Access, ProtectionDomain, QueuePair, QueuePairAttributes, SharedReceiveQueue, Status,
};
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
/// Messages that the receiver has room for: all of a round.
const SLABS: usize = 8192;
/// The same for one partition's rows.
const SEGMENTS: usize = 4;
const MESSAGES: usize = 32;
/// Blocks of the send queue: all requests of a round fit.
const SEND_BLOCKS: u32 = 32768;

fn main() -> Result<(), Box<dyn Error>> {
    for (form, message) in
        [(Form::Columns, 16 << 10), (Form::Appended, 16 << 10), (Form::Appended, 64 << 10)]
    {
        let batch = batch()?;
        let format = Format::with_form(batch.schema(), message, form)?;
        let Cost { send, receive, messages, batches } = measure(&format, &batch)?;
        let rows = (ROWS * BATCHES) as f64;
        println!(
            "{form:?}, messages of {message} B: {:.2} ns a row to send, {:.2} to receive: {:.0} a message, {messages} messages, {batches} batches",
            send / rows,
            receive / rows,
            receive / messages as f64,
        );
    }
    Ok(())
}

/// What a round took, in ns, and what it was.
struct Cost {
    send: f64,
    receive: f64,
    messages: usize,
    batches: usize,
}

/// The receivers of a node, one of batches or one of rows for each partition.
enum Receivers {
    Batches(Receiver),
    Rows(Vec<AppendReceiver>),
}

impl Receivers {
    fn new(format: &Format, pd: &ProtectionDomain) -> Result<Self, Box<dyn Error>> {
        if format.form() != Form::Appended {
            return Ok(Self::Batches(Receiver::new(format.clone(), pd, SLABS)?));
        }
        let receiver = |_| AppendReceiver::new(format.clone(), pd, SEGMENTS, MESSAGES, ROWS);
        Ok(Self::Rows((0..PARTITIONS).map(receiver).collect::<Result<_, _>>()?))
    }

    fn queue(&self, partition: usize) -> &SharedReceiveQueue<'static> {
        match self {
            Self::Batches(receiver) => receiver.queue(),
            Self::Rows(receivers) => receivers[partition].queue(),
        }
    }

    /// Takes and drops all batches that are there: their rows, and how many they are.
    fn take_all(&mut self) -> Result<(usize, usize), Box<dyn Error>> {
        let (mut rows, mut batches) = (0, 0);
        let mut count = |batch: RecordBatch| {
            rows += batch.num_rows();
            batches += 1;
        };
        match self {
            Self::Batches(receiver) => {
                while let Some(received) = receiver.poll()? {
                    count(received.batch);
                }
            }
            Self::Rows(receivers) => {
                for receiver in receivers {
                    while let Some(batch) = receiver.poll()? {
                        count(batch);
                    }
                }
            }
        }
        Ok((rows, batches))
    }
}

fn measure(format: &Format, batch: &RecordBatch) -> Result<Cost, Box<dyn Error>> {
    let mut fabric = Fabric::new(NetworkConfig::default(), 2)?;
    let [from, to] = [0, 1].map(|node| fabric.node(node).clone());
    let [pd, pd_to] = [&from, &to].map(|node| node.context().protection_domain());
    let cq = from.context().completion_queue().entries(SEND_BLOCKS).build()?;
    let cq_to = to.context().completion_queue().build()?;
    let arena = Arena::over(&pd, &MEMORY)?;
    let columns = batch.columns().iter().map(|column| arena.place(column));
    let batch = &RecordBatch::try_new(batch.schema(), columns.collect::<Result<_, _>>()?)?;
    let mut receivers = Receivers::new(format, &pd_to)?;
    let mut pairs: Vec<QueuePair<'static>> = Vec::new();
    let mut ends = Vec::new();
    for partition in 0..PARTITIONS {
        let mut pair = pd.queue_pair(&cq).send_blocks(1).build()?;
        let end = pd_to.queue_pair(&cq_to).send_blocks(1);
        let mut end = end.shared_receive_queue(receivers.queue(partition)).build()?;
        pair.connect(&attributes(&to, end.qpn()))?;
        end.connect(&attributes(&from, pair.qpn()))?;
        pairs.push(pair);
        ends.push(end);
    }
    let mut queue = pd.shared_send_queue(&cq).send_blocks(SEND_BLOCKS).build()?;
    let mut sender = Sender::new(format.clone(), &pd, &arena, Foreign::Refuse);
    let to: Vec<_> = (0..).zip(&pairs).collect();
    let ids: Vec<u8> = (0..ROWS).map(|row| (row * 7 % PARTITIONS) as u8).collect();
    let ids = Selection::Ids(arena.copy(&ids)?.into());

    let mut cost = Cost { send: f64::INFINITY, receive: f64::INFINITY, messages: 0, batches: 0 };
    for _ in 0..ROUNDS {
        let mut left = 0;
        let start = processor_ns();
        for _ in 0..BATCHES {
            left += sender.send(&mut queue, 1, batch, &ids, &to)?.completions;
        }
        cost.send = cost.send.min(processor_ns() - start);
        let sent = fabric.run_until(Duration::from_secs(1), |_| {
            for completion in cq.poll() {
                assert_eq!(completion.status, Status::Success);
                left -= 1;
            }
            Ok::<_, Box<dyn Error>>(left == 0)
        })?;
        assert!(sent, "{left} requests did not complete");
        let start = processor_ns();
        let (rows, batches) = receivers.take_all()?;
        cost.receive = cost.receive.min(processor_ns() - start);
        assert_eq!(rows, ROWS * BATCHES, "all rows are there when all requests are complete");
        cost.batches = batches;
    }
    let row_bytes = batch.columns().iter().map(|column| column.get_buffer_memory_size() / ROWS);
    let of_rows = (ROWS / PARTITIONS).div_ceil(format.message_bytes() / row_bytes.sum::<usize>());
    let a_batch = if format.form() == Form::Appended { of_rows } else { batch.num_columns() + 1 };
    cost.messages = BATCHES * PARTITIONS * a_batch;
    Ok(cost)
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
