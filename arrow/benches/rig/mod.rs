//! What the benches share: batches, and the two ends that they go between.

use std::{error::Error, sync::Arc};

use arrow_array::{
    ArrayRef, Decimal128Array, Int32Array, Int64Array, RecordBatch, StringViewArray, UInt32Array,
    builder::StringViewBuilder,
};
use arrow_select::take::take;
use drdma_arrow::{AppendReceiver, Arena, Foreign, Form, Format, Receiver, Selection, Sender};
use drdma_fabric::Node;
use libdrdma::{
    Access, CompletionQueue, ProtectionDomain, QueuePair, QueuePairAttributes, SharedReceiveQueue,
    SharedSendQueue, Status,
};
use rustix::time::{ClockId, clock_gettime};

/// The memory that the sender's batches lie in.
static MEMORY: libdrdma::Arena = libdrdma::Arena::new(256 << 20);

/// Destinations of a batch, a partition each.
pub const PARTITIONS: usize = 16;
/// Rows of a batch at the sender, and batches of a round.
pub const ROWS: usize = 8192;
pub const BATCHES: usize = 12;
/// Rounds, of which the one with the least time counts.
pub const ROUNDS: usize = 25;
/// Messages that the receiver has room for: all of a round.
const SLABS: usize = 8192;
/// For one partition's rows: segments of its append receiver, and bytes of each.
const SEGMENTS: usize = 4;
const SEGMENT: usize = 512 << 10;
/// Blocks of the send queue: all requests of a round fit.
const SEND_BLOCKS: u32 = 32768;

/// The receivers of a node, one of batches or one of rows for each partition.
pub enum Receivers {
    Batches(Receiver),
    Rows(Vec<AppendReceiver>),
}

impl Receivers {
    fn new(format: &Format, pd: &ProtectionDomain) -> Result<Self, Box<dyn Error>> {
        if format.form() != Form::Appended {
            return Ok(Self::Batches(Receiver::new(format.clone(), pd, SLABS)?));
        }
        let messages = SEGMENT / format.message_bytes();
        let receiver = |_| AppendReceiver::new(format.clone(), pd, SEGMENTS, messages, ROWS);
        Ok(Self::Rows((0..PARTITIONS).map(receiver).collect::<Result<_, _>>()?))
    }

    fn queue(&self, partition: usize) -> &SharedReceiveQueue<'static> {
        match self {
            Self::Batches(receiver) => receiver.queue(),
            Self::Rows(receivers) => receivers[partition].queue(),
        }
    }

    /// Takes and drops all batches that are there: their rows, and how many they are.
    pub fn take_all(&mut self) -> Result<(usize, usize), Box<dyn Error>> {
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

/// A sender at one node, and receivers at another.
pub struct Rig {
    cq: CompletionQueue,
    // The queue goes before the queue pairs.
    queue: SharedSendQueue<'static>,
    sender: Sender,
    pairs: Vec<QueuePair<'static>>,
    _ends: Vec<QueuePair<'static>>,
    pub receivers: Receivers,
    batch: RecordBatch,
    ids: Selection,
}

impl Rig {
    pub fn new(
        from: &Node,
        to: &Node,
        format: &Format,
        batch: &RecordBatch,
    ) -> Result<Self, Box<dyn Error>> {
        let [pd, pd_to] = [from, to].map(|node| node.context().protection_domain());
        let cq = from.context().completion_queue().entries(SEND_BLOCKS).build()?;
        let cq_to = to.context().completion_queue().build()?;
        let arena = Arena::over(&pd, &MEMORY)?;
        let columns = batch.columns().iter().map(|column| arena.place(column));
        let batch = RecordBatch::try_new(batch.schema(), columns.collect::<Result<_, _>>()?)?;
        let receivers = Receivers::new(format, &pd_to)?;
        let (mut pairs, mut ends) = (Vec::new(), Vec::new());
        for partition in 0..PARTITIONS {
            let mut pair = pd.queue_pair(&cq).send_blocks(1).build()?;
            let end = pd_to.queue_pair(&cq_to).send_blocks(1);
            let mut end = end.shared_receive_queue(receivers.queue(partition)).build()?;
            pair.connect(&attributes(to, end.qpn()))?;
            end.connect(&attributes(from, pair.qpn()))?;
            pairs.push(pair);
            ends.push(end);
        }
        let queue = pd.shared_send_queue(&cq).send_blocks(SEND_BLOCKS).build()?;
        let sender = Sender::new(format.clone(), &pd, &arena, Foreign::Refuse);
        let ids: Vec<u8> = (0..ROWS).map(|row| id(row) as u8).collect();
        let ids = Selection::Ids(arena.copy(&ids)?.into());
        Ok(Self { cq, queue, sender, pairs, _ends: ends, receivers, batch, ids })
    }

    /// Posts all batches of a round, and returns how many completions follow, and how many bytes were copied.
    pub fn post(&mut self) -> Result<(u32, u64), Box<dyn Error>> {
        let to: Vec<_> = (0..).zip(&self.pairs).collect();
        let (mut completions, mut copied) = (0, 0);
        for _ in 0..BATCHES {
            let sent = self.sender.send(&mut self.queue, 1, &self.batch, &self.ids, &to)?;
            completions += sent.completions;
            copied += sent.copied_bytes();
        }
        Ok((completions, copied))
    }

    /// Takes the completions that are there, and returns their number.
    pub fn completed(&self) -> u32 {
        let good = |completion: &libdrdma::WorkCompletion| completion.status == Status::Success;
        self.cq.poll().inspect(|completion| assert!(good(completion), "{completion:?}")).count()
            as u32
    }
}

/// The destination of a row.
pub fn id(row: usize) -> usize {
    row * 7 % PARTITIONS
}

/// The processor's time of this thread.
pub fn processor_ns() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}

/// Eleven columns of fixed width, 104 B a row.
pub fn batch() -> Result<RecordBatch, Box<dyn Error>> {
    let mut columns: Vec<(String, ArrayRef)> = Vec::new();
    for i in 0..3 {
        let values = (0..ROWS as i64).map(|row| row * 31 + i);
        columns.push((format!("key{i}"), Arc::new(Int64Array::from_iter_values(values))));
    }
    for i in 0..4 {
        let values = (0..ROWS as i128).map(|row| row * 41 + i);
        let values = Decimal128Array::from_iter_values(values).with_precision_and_scale(15, 2)?;
        columns.push((format!("decimal{i}"), Arc::new(values)));
    }
    for i in 0..4 {
        let values = (0..ROWS as i32).map(|row| row * 17 + i);
        columns.push((format!("date{i}"), Arc::new(Int32Array::from_iter_values(values))));
    }
    Ok(RecordBatch::try_from_iter(columns)?)
}

/// A key and two columns of strings, 60 B a row: a name of 18 B, of which there are 1,000 in a few buffers, as a join
/// gives them; and a text of 10 to 43 B.
#[allow(dead_code, reason = "one of the benches has no strings")]
pub fn strings() -> Result<RecordBatch, Box<dyn Error>> {
    let names = (0..1000).map(|number| format!("Supplier#{number:09}"));
    let mut builder = StringViewBuilder::new().with_fixed_block_size(8 << 10);
    names.for_each(|name| builder.append_value(name));
    let of_a_row = UInt32Array::from_iter_values((0..ROWS as u32).map(|row| row * 7919 % 1000));
    let names = take(&builder.finish(), &of_a_row, None)?;
    let text = |row: usize| {
        "carefully final deposits detect slyly against the furiously"[row % 9..]
            .chars()
            .take(10 + row * 31 % 34)
            .collect::<String>()
    };
    let columns: [(&str, ArrayRef); 3] = [
        ("key", Arc::new(Int64Array::from_iter_values((0..ROWS as i64).map(|row| row * 31)))),
        ("name", names),
        ("text", Arc::new(StringViewArray::from_iter_values((0..ROWS).map(text)))),
    ];
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
        .timeout(16)
        .retry_cnt(7)
        .rnr_retry(7)
}
