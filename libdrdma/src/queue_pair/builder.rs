//! How a queue pair is made.

use std::collections::HashSet;

use drdma_abi::roce::Transport;

use super::{QueuePair, slot::Slot};
use crate::{
    CompletionQueue, Error, ProtectionDomain, QueuePairAttributes, QueuePairState,
    SharedReceiveQueue, borrow::Borrow, receive_queue::ReceiveQueue, send_queue::SendQueue,
    shared_receive_queue::Shared,
};

/// First queue pair number that is chosen automatically: 0 and 1 are special (IBTA 1.4 section
/// 3.5.10).
const FIRST_QPN: u32 = 2;

/// Starts a [`QueuePair`].
#[derive(Clone, Debug)]
#[must_use]
pub struct QueuePairBuilder<'a> {
    pd: &'a ProtectionDomain,
    cq: &'a CompletionQueue,
    transport: Transport,
    qpn: Option<u32>,
    send_blocks: u32,
    receives: Option<&'a CompletionQueue>,
    receive_blocks: u32,
    shared: Option<Shared>,
}

impl<'a> QueuePairBuilder<'a> {
    pub(crate) fn new(pd: &'a ProtectionDomain, cq: &'a CompletionQueue) -> Self {
        Self {
            pd,
            cq,
            transport: Transport::Rc,
            qpn: None,
            send_blocks: 256,
            receives: None,
            receive_blocks: 256,
            shared: None,
        }
    }

    /// Sets the transport (default RC).
    pub fn transport(mut self, transport: Transport) -> Self {
        self.transport = transport;
        self
    }

    /// Sets the queue pair's number on the wire, 24 bits (default: chosen, unique in the context).
    pub fn qpn(mut self, qpn: u32) -> Self {
        self.qpn = Some(qpn);
        self
    }

    /// Sets the size of the send queue in blocks of 64 bytes, rounded up to a power of two: 1 to
    /// 65,536 (default 256). A scatter-gather list of up to 12 entries takes 1 to 4 blocks.
    pub fn send_blocks(mut self, blocks: u32) -> Self {
        self.send_blocks = blocks;
        self
    }

    /// Adds a receive queue, whose receives complete to `cq`, which may be that of the send queue.
    /// Without one the queue pair receives no SENDs, and no WRITEs with immediate data.
    pub fn receive(mut self, cq: &'a CompletionQueue) -> Self {
        self.receives = Some(cq);
        self.shared = None;
        self
    }

    /// Makes the queue pair use the receives of a shared queue, which complete to that queue's
    /// completion queue.
    pub fn shared_receive_queue(mut self, queue: &SharedReceiveQueue<'_>) -> Self {
        self.shared = Some(queue.shared.clone());
        self.receives = None;
        self
    }

    /// Sets the size of the receive queue in blocks of 64 bytes, rounded up to a power of two: 1 to
    /// 65,536 (default 256). A receive of up to 2 contiguous regions takes one, of up to 6 two.
    pub fn receive_blocks(mut self, blocks: u32) -> Self {
        self.receive_blocks = blocks;
        self
    }

    /// Makes the queue pair, in state Reset.
    ///
    /// # Errors
    /// `Error::Limits` for a number or size outside its limits, `QueuePairNumber` for a number in
    /// use, `Exhausted` without a free queue pair, `Ring` without memory, `Unsupported` for a
    /// receive queue on a card that only sends, `ProtectionDomain` for a shared receive queue of
    /// another domain, or `Card` if the card failed.
    pub fn build<'m>(self) -> Result<QueuePair<'m>, Error> {
        let context = &self.pd.context.inner;
        if let Some(shared) = &self.shared
            && shared.protection_domain() != self.pd.id
        {
            return Err(Error::ProtectionDomain);
        }
        let receives = match self.receives {
            Some(cq) => Some(ReceiveQueue::new(self.pd, cq, false, self.receive_blocks)?),
            None => None,
        };
        let (index, qpn) = {
            let mut hardware = context.lock();
            let used: HashSet<u32> = hardware.qpns.iter().flatten().copied().collect();
            let qpn = match self.qpn {
                Some(qpn) if qpn >> 24 != 0 => {
                    let limits = "a number of 24 bits";
                    return Err(Error::Limits { what: "qpn", value: qpn.into(), limits });
                }
                Some(qpn) if used.contains(&qpn) => {
                    return Err(Error::QueuePairNumber { qpn });
                }
                Some(qpn) => qpn,
                None => (FIRST_QPN..)
                    .find(|qpn| !used.contains(qpn))
                    .expect("more numbers than queue pairs"),
            };
            let limit = hardware.queue_pairs.limit();
            let index =
                hardware.take_queue_pair().ok_or(Error::Exhausted { what: "queue pair", limit })?;
            hardware.qpns[index as usize] = Some(qpn);
            (index, qpn)
        };
        context.set_state(index, QueuePairState::Reset);
        let context = self.pd.context.clone();
        let slot = Slot { context, index, responds: false, watch: None };
        let queue = SendQueue::new(self.pd, self.cq, Some(index), self.send_blocks)?;
        let attributes = QueuePairAttributes::default();
        let transport = self.transport;
        let _borrow = Borrow::default();
        let mut queue_pair = QueuePair {
            queue,
            receives,
            shared: self.shared,
            slot,
            qpn,
            transport,
            attributes,
            _borrow,
        };
        if let Some(receives) = &mut queue_pair.receives {
            receives.enable(index)?;
        }
        Ok(queue_pair)
    }
}
