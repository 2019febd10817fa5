//! Rows by the card: ids and posts at the sender, completions and batches at the receiver.

use std::{sync::Arc, time::Duration};

use datafusion::{
    arrow::record_batch::RecordBatch,
    physical_expr::{PhysicalExpr, expressions::Column},
};
use drdma_arrow::{Arena, Foreign, Format, Receiver, Selection, Sender};
use drdma_datafusion::exchange::{gather::Gather, partition_ids};
use drdma_fabric::{Fabric, NetworkConfig};
use libdrdma::{Access, QueuePair, QueuePairAttributes, Status};

use crate::{PARTITIONS, Result, least, now};

/// Bytes of a message.
const MESSAGE: usize = 16 << 10;
/// Blocks of the send queue: all requests of a round fit, so that a round is posted without the card's work in between.
const SEND_BLOCKS: u32 = 32768;
/// Messages that the receiver has room for: all of a round.
const SLABS: usize = 16384;

/// What a row costs the sender: gathering small batches, ids, posts; and the receiver: completions, batches, and giving the
/// memory back.
///
/// The card works between the sender's part of a round and the receiver's: what it does by itself is `soft:`'s here, and a
/// processor whose caches are full of its work would be slower at both ends.
pub fn by_card(batches: &[RecordBatch]) -> Result<([f64; 3], f64)> {
    let mut fabric = Fabric::new(NetworkConfig::default(), 2)?;
    let [from, to] = [0, 1].map(|node| fabric.node(node).clone());
    let [pd, pd_to] = [&from, &to].map(|node| node.context().protection_domain());
    let cq = from.context().completion_queue().entries(SEND_BLOCKS).build()?;
    let cq_to = to.context().completion_queue().build()?;
    let format = Format::new(batches[0].schema(), MESSAGE)?;
    let arena = Arena::over(&pd, &crate::MEMORY)?;
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
    let mut sender = Sender::new(format, &pd, &arena, Foreign::Copy);
    let exprs: Vec<Arc<dyn PhysicalExpr>> = vec![key(batches)];
    let to: Vec<_> = (0..).zip(&pairs).collect();
    let [gather, ids, posts, receive] = least(batches, || {
        let mut times = [0.0; 4];
        let mut gather = Gather::new(batches[0].schema(), 1);
        let start = now();
        let mut gathered = Vec::new();
        for batch in batches {
            gathered.extend(gather.push(0, batch.clone())?);
        }
        gathered.extend(gather.flush()?.into_iter().map(|(_, batch)| batch));
        times[0] += now() - start;
        let mut left = 0;
        for batch in &gathered {
            let start = now();
            let ids = Selection::from(partition_ids(&exprs, batch, PARTITIONS)?);
            let middle = now();
            let sent = sender.send(&mut queue, 1, batch, &ids, &to)?;
            times[1] += middle - start;
            times[2] += now() - middle;
            left += sent.completions;
        }
        let sent = fabric.run_until(Duration::from_secs(1), |_| {
            for completion in cq.poll() {
                assert_eq!(completion.status, Status::Success);
                left -= 1;
            }
            Ok::<_, Box<dyn std::error::Error>>(left == 0)
        })?;
        assert!(sent, "{left} requests did not complete");
        let start = now();
        let mut rows: usize = gathered.iter().map(RecordBatch::num_rows).sum();
        while let Some(received) = receiver.poll()? {
            rows -= received.batch.num_rows();
        }
        times[3] += now() - start;
        assert_eq!(rows, 0, "all rows have arrived when all requests are complete");
        Ok(times)
    })?;
    Ok(([gather, ids, posts], receive))
}

fn attributes(peer: &drdma_fabric::Node, qpn: u32) -> QueuePairAttributes {
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
        .max_rd_atomic(1)
        .max_dest_rd_atomic(1)
}

fn key(batches: &[RecordBatch]) -> Arc<dyn PhysicalExpr> {
    Arc::new(Column::new(batches[0].schema().field(0).name(), 0))
}
