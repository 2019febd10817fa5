//! Rows by the card: ids and posts at the sender, completions and batches at the receiver.

use std::{sync::Arc, time::Duration};

use datafusion::{
    arrow::record_batch::RecordBatch,
    physical_expr::{PhysicalExpr, expressions::Column},
};
use drdma_arrow::{AppendReceiver, Arena, Foreign, Form, Format, Receiver, Selection, Sender};
use drdma_datafusion::{
    exchange::{gather::Gather, partition_ids},
    passage,
};
use drdma_fabric::{Fabric, NetworkConfig, Node};
use libdrdma::{
    Access, CompletionQueue, ProtectionDomain, QueuePair, QueuePairAttributes, SharedReceiveQueue,
    SharedSendQueue, Status,
};

use crate::{PARTITIONS, Result, least, now};

/// Bytes of a message, as the engine has them.
const MESSAGE: usize = 16 << 10;
/// Blocks of the send queue: all requests of a round fit, so that a round is posted without the card's work in between.
const SEND_BLOCKS: u32 = 32768;
/// Messages that the receiver has room for: all of a round.
const SLABS: usize = 16384;
/// For one partition's rows: segments of its append receiver, and messages of a segment.
const SEGMENTS: usize = 4;
const MESSAGES: usize = 8;

/// Receivers of all partitions' batches together, or of each partition's appended rows.
enum Receivers {
    Batches(Receiver),
    Appended(Vec<AppendReceiver>),
}

impl Receivers {
    fn new(format: &Format, pd: &ProtectionDomain) -> Result<Self> {
        if format.form() != Form::Appended {
            return Ok(Self::Batches(Receiver::new(format.clone(), pd, SLABS)?));
        }
        let receiver = |_| AppendReceiver::new(format.clone(), pd, SEGMENTS, MESSAGES, crate::ROWS);
        Ok(Self::Appended((0..PARTITIONS).map(receiver).collect::<std::result::Result<_, _>>()?))
    }

    fn queue(&self, partition: usize) -> &SharedReceiveQueue<'static> {
        match self {
            Self::Batches(receiver) => receiver.queue(),
            Self::Appended(receivers) => receivers[partition].queue(),
        }
    }

    /// Takes and drops all batches that are there, and returns the number of their rows.
    fn rows(&mut self) -> Result<usize> {
        let mut rows = 0;
        match self {
            Self::Batches(receiver) => {
                while let Some(received) = receiver.poll()? {
                    rows += received.batch.num_rows();
                }
            }
            Self::Appended(receivers) => {
                for receiver in receivers {
                    while let Some(batch) = receiver.poll()? {
                        rows += batch.num_rows();
                    }
                }
            }
        }
        Ok(rows)
    }
}

/// A sender at one card and receivers at another one.
struct Rig {
    cq: CompletionQueue,
    // The queue goes before the queue pairs.
    queue: SharedSendQueue<'static>,
    sender: Sender,
    pairs: Vec<QueuePair<'static>>,
    _ends: Vec<QueuePair<'static>>,
    receivers: Receivers,
    exprs: Vec<Arc<dyn PhysicalExpr>>,
}

impl Rig {
    fn new(from: &Node, to: &Node, batches: &[RecordBatch], form: Form) -> Result<Self> {
        let [pd, pd_to] = [from, to].map(|node| node.context().protection_domain());
        let cq = from.context().completion_queue().entries(SEND_BLOCKS).build()?;
        let cq_to = to.context().completion_queue().build()?;
        let message = if form == Form::Appended { passage::APPENDED_BYTES } else { MESSAGE };
        let format = Format::with_form(batches[0].schema(), message, form)?;
        let arena = Arena::over(&pd, &crate::MEMORY)?;
        let receivers = Receivers::new(&format, &pd_to)?;
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
        let sender = Sender::new(format, &pd, &arena, Foreign::Copy);
        let exprs = vec![key(batches)];
        Ok(Self { cq, queue, sender, pairs, _ends: ends, receivers, exprs })
    }

    /// Posts all batches. Returns the completions that follow, and rows; adds the times of all steps to `times`.
    fn post(&mut self, batches: &[RecordBatch], times: &mut [f64; 3]) -> Result<(u32, usize)> {
        let mut gather = Gather::new(batches[0].schema(), 1);
        let start = now();
        let mut gathered = Vec::new();
        for batch in batches {
            gathered.extend(gather.push(0, batch.clone())?);
        }
        gathered.extend(gather.flush()?.into_iter().map(|(_, batch)| batch));
        times[0] += now() - start;
        let to: Vec<_> = (0..).zip(&self.pairs).collect();
        let mut completions = 0;
        for batch in &gathered {
            let start = now();
            let ids = Selection::from(partition_ids(&self.exprs, batch, PARTITIONS)?);
            let middle = now();
            let sent = self.sender.send(&mut self.queue, 1, batch, &ids, &to)?;
            times[1] += middle - start;
            times[2] += now() - middle;
            completions += sent.completions;
        }
        Ok((completions, gathered.iter().map(RecordBatch::num_rows).sum()))
    }
}

/// Takes the completions that are there, and returns their number.
fn completed(cq: &CompletionQueue) -> u32 {
    let success =
        |completion: libdrdma::WorkCompletion| assert_eq!(completion.status, Status::Success);
    cq.poll().map(success).count() as u32
}

/// What a row costs the sender: gathering small batches, ids, posts; and the receiver: completions, batches, and giving
/// the memory back.
///
/// The card works between the sender's part of a round and the receiver's: what it does by itself is `soft:`'s here,
/// and a processor whose caches are full of its work would be slower at both ends.
pub fn by_card(batches: &[RecordBatch], form: Form) -> Result<([f64; 3], f64)> {
    let mut fabric = Fabric::new(NetworkConfig::default(), 2)?;
    let [from, to] = [0, 1].map(|node| fabric.node(node).clone());
    let mut rig = Rig::new(&from, &to, batches, form)?;
    let [gather, ids, posts, receive] = least(batches, || {
        let mut times = [0.0; 3];
        let (mut left, rows) = rig.post(batches, &mut times)?;
        let sent = fabric.run_until(Duration::from_secs(1), |_| {
            left -= completed(&rig.cq);
            Ok::<_, Box<dyn std::error::Error>>(left == 0)
        })?;
        assert!(sent, "{left} requests did not complete");
        let start = now();
        let received = rig.receivers.rows()?;
        let receive = now() - start;
        assert_eq!(received, rows, "all rows have arrived when all requests are complete");
        let [gather, ids, posts] = times;
        Ok([gather, ids, posts, receive])
    })?;
    Ok(([gather, ids, posts], receive))
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
        .max_rd_atomic(1)
        .max_dest_rd_atomic(1)
}

fn key(batches: &[RecordBatch]) -> Arc<dyn PhysicalExpr> {
    Arc::new(Column::new(batches[0].schema().field(0).name(), 0))
}
