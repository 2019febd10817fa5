//! A queue pair on RC for each peer.

use libdrdma::{Access, Features, QueuePair, WorkRequest};

use crate::{
    Error,
    common::{Core, EndpointAddress, Sent, ring_bytes},
};

/// RNR timer: waits of 10 us where a receive is missing. A peer that was connected earlier may have sent already.
const MIN_RNR_TIMER: u8 = 1;
const FOR_EVER: u8 = 7;
/// READs that a peer may have under way.
pub(crate) const READS: u8 = 16;

/// Connections to all peers.
#[derive(Debug)]
pub(crate) struct Connections {
    qps: Vec<Option<QueuePair<'static>>>,
    access: Access,
    pinned: u64,
}

impl Connections {
    /// Makes queue pairs that give peers these rights, each with room for `receives` receives.
    pub fn new(core: &Core, access: Access, receives: u32) -> Result<Self, Error> {
        let blocks = core.send_blocks();
        let mut qps: Vec<_> = (0..core.member.nodes).map(|_| None).collect();
        let mut pinned = 0;
        for peer in core.peers() {
            let mut builder = core.pd.queue_pair(&core.cq).send_blocks(blocks);
            pinned += ring_bytes(blocks);
            if receives > 0 {
                builder = builder.receive(&core.cq).receive_blocks(receives);
                pinned += ring_bytes(receives);
            }
            qps[peer] = Some(builder.build()?);
        }
        Ok(Self { qps, access, pinned })
    }

    pub fn qpns(&self) -> Vec<u32> {
        self.qps.iter().map(|qp| qp.as_ref().map_or(0, QueuePair::qpn)).collect()
    }

    pub fn count(&self) -> usize {
        self.qps.iter().flatten().count()
    }

    pub fn pinned(&self) -> u64 {
        self.pinned
    }

    /// Connects each to the queue pair that its peer has for this node.
    pub fn connect(&mut self, core: &Core, peers: &[EndpointAddress]) -> Result<(), Error> {
        let features = core.context().features();
        for (peer, qp) in self.qps.iter_mut().enumerate() {
            let Some(qp) = qp else { continue };
            let (found, expected) = (peers[peer].qpns.len(), core.member.nodes);
            if found != expected {
                return Err(Error::Address { node: peer, what: "queue pairs", found, expected });
            }
            let mut attributes = core
                .attributes(&peers[peer])
                .dest_qpn(peers[peer].qpns[core.member.node])
                .rq_psn(0)
                .access(self.access)
                .min_rnr_timer(MIN_RNR_TIMER);
            if features.contains(Features::RETRANSMITS) {
                attributes = attributes
                    .timeout(core.config.timeout)
                    .retry_cnt(core.config.retries)
                    .rnr_retry(FOR_EVER);
            }
            if features.contains(Features::READS) {
                attributes = attributes.max_rd_atomic(READS).max_dest_rd_atomic(READS);
            }
            qp.connect(&attributes)?;
        }
        Ok(())
    }

    /// The connection to a peer.
    pub fn qp(&mut self, peer: usize) -> &mut QueuePair<'static> {
        self.qps[peer].as_mut().expect("a peer")
    }

    /// Like [`qp`](Self::qp), but shared: to name the queue pair in a request of regions.
    pub fn sender(&self, peer: usize) -> &QueuePair<'static> {
        self.qps[peer].as_ref().expect("a peer")
    }

    /// Posts a request to a peer if there is room.
    pub fn post(
        &mut self,
        core: &mut Core,
        peer: usize,
        request: &WorkRequest<'_, 'static>,
    ) -> Result<Sent, Error> {
        core.post(self.qp(peer), request)
    }
}
