//! Queue pairs.

use std::collections::HashSet;

use drdma_abi::{
    register::{QUEUE_PAIRS, QueuePairEntry},
    roce::{DEFAULT_PKEY, TTL, Transport},
};

use drdma_driver::CardError;

use crate::{
    CompletionQueue, Context, Destination, Error, ModifyError, PostError, ProtectionDomain,
    QueuePairAttributes, QueuePairState, WorkRequest,
    borrow::Borrow,
    queue_pair_state::{check, transition},
    send_queue::SendQueue,
};

/// The first queue pair number that is chosen: 0 and 1 are special (IBTA 1.4 section 3.5.10).
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
}

impl<'a> QueuePairBuilder<'a> {
    pub(crate) fn new(pd: &'a ProtectionDomain, cq: &'a CompletionQueue) -> Self {
        Self { pd, cq, transport: Transport::Rc, qpn: None, send_blocks: 256 }
    }

    /// The transport (default RC).
    pub fn transport(mut self, transport: Transport) -> Self {
        self.transport = transport;
        self
    }

    /// The queue pair's number on the wire, 24 bits (default: chosen, unique in the context).
    pub fn qpn(mut self, qpn: u32) -> Self {
        self.qpn = Some(qpn);
        self
    }

    /// Room in the send queue, in blocks of 64 bytes, rounded up to a power of two: 1 to 65,536
    /// (default 256). A scatter-gather list of up to 12 entries takes 1 to 4 blocks.
    pub fn send_blocks(mut self, blocks: u32) -> Self {
        self.send_blocks = blocks;
        self
    }

    /// Makes the queue pair, in state Reset.
    ///
    /// # Errors
    /// A number or size outside its limits or in use, no free queue pair, no memory, or the card
    /// failed.
    pub fn build<'m>(self) -> Result<QueuePair<'m>, Error> {
        let context = &self.pd.context.inner;
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
        let slot = Slot { context: self.pd.context.clone(), index };
        let queue = SendQueue::new(self.pd, self.cq, Some(index), self.send_blocks)?;
        let attributes = QueuePairAttributes::default();
        let transport = self.transport;
        Ok(QueuePair { queue, slot, qpn, transport, attributes, _borrow: Borrow::default() })
    }
}

/// A queue pair's place in the card's table.
#[derive(Debug)]
struct Slot {
    context: Context,
    index: u32,
}

impl Slot {
    /// Does `work`, which takes the queue pair from the card, and goes to another place if requests
    /// that the card has not looked at may name this one: they were meant for the peer that the queue
    /// pair was connected to.
    fn renew(&mut self, work: impl FnOnce() -> Result<(), CardError>) -> Result<(), ModifyError> {
        let context = &self.context.inner;
        let pending = context.shared_requests();
        if pending.is_empty() {
            return Ok(work()?);
        }
        let index = {
            let mut hardware = context.lock();
            let limit = hardware.queue_pairs.limit();
            hardware.take_queue_pair().ok_or(ModifyError::Exhausted { limit })?
        };
        let done = work();
        let mut hardware = context.lock();
        match done {
            Ok(()) => {
                hardware.qpns[index as usize] = hardware.qpns[self.index as usize];
                hardware.put_queue_pair(self.index, pending);
                drop(hardware);
                context.set_state(self.index, QueuePairState::Reset);
                self.index = index;
                Ok(())
            }
            Err(error) => {
                hardware.queue_pairs.put(index);
                Err(error.into())
            }
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.context.inner.set_state(self.index, QueuePairState::Reset);
        let pending = self.context.inner.shared_requests();
        let mut hardware = self.context.inner.lock();
        let entry = QueuePairEntry::default();
        let result = hardware.device.write_entry(QUEUE_PAIRS, self.index, &entry);
        hardware.note(result);
        hardware.put_queue_pair(self.index, pending);
    }
}

/// A queue pair and its own send queue.
///
/// Dropping it with work in progress takes the work back: what is posted gets no completion, packets
/// that have no headers yet are not sent, and shared requests that still had some for it end with
/// `wr_flush_error`. The peer may have got a part of a message. Packets on their way to the wire
/// still leave; a queue pair that gets its place in the card later is not touched by any of this.
///
/// `'m` is the memory that posted work may read: it stays
/// borrowed as long as the queue pair lives, or until [`release`](Self::release).
///
/// Memory that work was posted from can be neither dropped
///
/// ```compile_fail,E0505
/// # use libdrdma::{Contiguous, MemoryRegion, QueuePair, WorkRequest};
/// # fn example<'m>(mut qp: QueuePair<'m>, memory: MemoryRegion)
/// # -> Result<(), Box<dyn std::error::Error>> {
/// let mut qp = qp.release()?;
/// qp.post_send(&WorkRequest::new(1).regions(&[Contiguous::new(&memory).build()?]))?;
/// drop(memory); // the card may still be reading it
/// drop(qp);
/// # Ok(()) }
/// ```
///
/// nor changed through a slice
///
/// ```compile_fail,E0502
/// # use libdrdma::{Contiguous, MemoryRegion, QueuePair, WorkRequest};
/// # fn example<'m>(mut qp: QueuePair<'m>, mut memory: MemoryRegion)
/// # -> Result<(), Box<dyn std::error::Error>> {
/// let mut qp = qp.release()?;
/// qp.post_send(&WorkRequest::new(1).regions(&[Contiguous::new(&memory).build()?]))?;
/// memory.as_slice_mut()?[0] = 1; // the card may still be reading it
/// drop(qp);
/// # Ok(()) }
/// ```
///
/// nor go out of scope first
///
/// ```compile_fail,E0597
/// # use libdrdma::{Contiguous, ProtectionDomain, QueuePair, WorkRequest};
/// # fn example<'m>(qp: QueuePair<'m>, pd: &ProtectionDomain)
/// # -> Result<(), Box<dyn std::error::Error>> {
/// let mut qp = qp.release()?;
/// let memory = pd.allocate(64)?; // dropped before `qp`
/// qp.post_send(&WorkRequest::new(1).regions(&[Contiguous::new(&memory).build()?]))?;
/// # Ok(()) }
/// ```
///
/// before the queue pair is dropped or released:
///
/// ```no_run
/// # use libdrdma::{Contiguous, MemoryRegion, QueuePair, WorkRequest};
/// # fn example<'m>(mut qp: QueuePair<'m>, mut memory: MemoryRegion)
/// # -> Result<(), Box<dyn std::error::Error>> {
/// let mut qp = qp.release()?;
/// qp.post_send(&WorkRequest::new(1).regions(&[Contiguous::new(&memory).build()?]))?;
/// let qp: QueuePair = qp.release()?;
/// memory.as_slice_mut()?[0] = 1;
/// drop(memory);
/// drop(qp);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct QueuePair<'m> {
    // The queue goes first: nothing is posted any longer when the queue pair's place is given back.
    queue: SendQueue,
    slot: Slot,
    qpn: u32,
    transport: Transport,
    attributes: QueuePairAttributes,
    _borrow: Borrow<'m>,
}

impl<'m> QueuePair<'m> {
    /// The number on the wire.
    pub fn qpn(&self) -> u32 {
        self.qpn
    }

    /// The index in the card's table, that work requests name it by. Going to Reset may change it.
    pub fn index(&self) -> u32 {
        self.slot.index
    }

    /// The number of its send queue, that completions name it by.
    pub fn queue(&self) -> u16 {
        self.queue.number()
    }

    /// The transport.
    pub fn transport(&self) -> Transport {
        self.transport
    }

    /// The state, as far as completions were polled.
    pub fn state(&self) -> QueuePairState {
        self.slot.context.inner.state(self.slot.index)
    }

    pub(crate) fn protection_domain(&self) -> u32 {
        self.queue.protection_domain()
    }

    /// Goes to another state (IBTA 1.4 section 10.3.1). In Reset, what is still posted completes
    /// with `wr_flush_error`, and the queue is ready to be used again. Reset and Error take work in
    /// progress back as dropping the queue pair does: a request that only waits for acknowledgements
    /// waits no longer, and a shared one that had some for this queue pair ends with
    /// `wr_flush_error`, which halts its queue.
    ///
    /// # Errors
    /// A transition that does not exist, an attribute that it needs or does not take, a value
    /// outside its limits, or the card failed.
    pub fn modify(&mut self, attributes: &QueuePairAttributes) -> Result<(), ModifyError> {
        let from = self.state();
        let to = attributes.state.ok_or(ModifyError::NoState)?;
        let resolved;
        let attributes = match (from, to) {
            (QueuePairState::Init, QueuePairState::ReadyToReceive) => {
                resolved = self.resolve(attributes)?;
                &resolved
            }
            _ => attributes,
        };
        check(self.transport, from, to, attributes)?;
        match to {
            QueuePairState::Reset => {
                // What names a queue pair that has no peer is not meant for another one.
                if from == QueuePairState::Reset {
                    self.queue.disable()?;
                } else {
                    self.slot.renew(|| self.queue.disable())?;
                    self.queue.set_queue_pair(self.slot.index);
                }
                self.attributes = QueuePairAttributes::default();
            }
            QueuePairState::Error => {
                self.queue.halt()?;
            }
            QueuePairState::Init | QueuePairState::ReadyToReceive => {
                self.attributes = attributes.over(self.attributes);
            }
            QueuePairState::ReadyToSend => {
                self.attributes = attributes.over(self.attributes);
                self.write_entry(&self.entry())?;
                self.queue.enable()?;
            }
        }
        self.slot.context.inner.set_state(self.slot.index, to);
        Ok(())
    }

    /// Reset, Init, RTR, RTS in one go, from all attributes that these need (`state` is ignored;
    /// a missing partition key is the default one, a missing queue key 0).
    ///
    /// # Errors
    /// As [`modify`](Self::modify).
    pub fn connect(&mut self, attributes: &QueuePairAttributes) -> Result<(), ModifyError> {
        use QueuePairState::{Init, ReadyToReceive, ReadyToSend, Reset};
        let mut attributes = self.resolve(attributes)?;
        attributes.pkey.get_or_insert(DEFAULT_PKEY);
        attributes.qkey.get_or_insert(0);
        let steps = [(Reset, Init), (Init, ReadyToReceive), (ReadyToReceive, ReadyToSend)].map(
            |(from, to)| {
                let transition = transition(self.transport, from, to).expect("a transition");
                (from, to, attributes.only(&transition).state(to))
            },
        );
        for (from, to, attributes) in &steps {
            check(self.transport, *from, *to, attributes)?;
        }
        self.modify(&QueuePairAttributes::new().state(Reset))?;
        steps.iter().try_for_each(|(_, _, attributes)| self.modify(attributes))
    }

    /// The attributes with the Ethernet address of `dest_ip`, unless one is given.
    fn resolve(
        &self,
        attributes: &QueuePairAttributes,
    ) -> Result<QueuePairAttributes, ModifyError> {
        match (attributes.dest_mac, attributes.dest_ip) {
            (None, Some(ip)) => {
                let resolver = self.slot.context.inner.resolver();
                Ok(attributes.dest_mac(resolver.resolve(ip)?))
            }
            _ => Ok(*attributes),
        }
    }

    fn write_entry(&self, entry: &QueuePairEntry) -> Result<(), ModifyError> {
        let mut hardware = self.slot.context.inner.lock();
        Ok(hardware.device.write_entry(QUEUE_PAIRS, self.slot.index, entry)?)
    }

    fn entry(&self) -> QueuePairEntry {
        let QueuePairAttributes {
            state: _,
            pkey,
            qkey,
            path_mtu,
            dest_qpn,
            dest_mac,
            dest_ip,
            start_psn,
            dscp,
            ecn,
            ttl,
            vlan: _,
        } = self.attributes;
        QueuePairEntry {
            dest_mac: dest_mac.unwrap_or_default().to_u64(),
            tos: dscp.unwrap_or(0) << 2 | ecn.unwrap_or(0),
            ttl: ttl.unwrap_or(TTL),
            dest_ip: dest_ip.map_or(0, u32::from),
            qpn: self.qpn,
            dest_qpn: dest_qpn.unwrap_or(0),
            qkey: qkey.unwrap_or(0),
            pkey: pkey.unwrap_or(DEFAULT_PKEY),
            transport: self.transport as u8,
            log_mtu: path_mtu.map_or(0, |mtu| mtu.ilog2() as u8),
            start_psn: start_psn.unwrap_or(0),
            state: 1,
            ..Default::default()
        }
    }

    /// Posts one request and rings the doorbell. In state Error it is accepted, and flushed.
    ///
    /// # Errors
    /// See [`PostError`]; nothing is posted then.
    #[inline]
    pub fn post_send(&mut self, request: &WorkRequest<'_, 'm>) -> Result<(), PostError> {
        self.stage(request)?;
        self.queue.submit()
    }

    #[inline]
    fn stage(&mut self, request: &WorkRequest<'_, 'm>) -> Result<(), PostError> {
        let state = self.state();
        if !matches!(state, QueuePairState::ReadyToSend | QueuePairState::Error) {
            return Err(PostError::State { state });
        }
        let (remote_addr, rkey) = request.remote();
        let (qp, pd) = (self.slot.index, self.queue.protection_domain());
        let destination = Destination { qp, pd, remote_addr, rkey, regions: request.regions };
        self.queue.stage(&request.head(), &[destination][..])
    }

    /// Starts posting several requests with one doorbell.
    pub fn batch(&mut self) -> PostGuard<'_, 'm> {
        PostGuard { qp: self }
    }

    /// Gives the memory back: flushes what is still posted, and returns the queue pair in state
    /// Reset, borrowing nothing.
    ///
    /// # Errors
    /// The card failed.
    pub fn release<'n>(mut self) -> Result<QueuePair<'n>, ModifyError> {
        self.modify(&QueuePairAttributes::new().state(QueuePairState::Reset))?;
        let Self { queue, slot, qpn, transport, attributes, .. } = self;
        Ok(QueuePair { queue, slot, qpn, transport, attributes, _borrow: Borrow::default() })
    }
}

/// Requests that are written to the ring and not yet handed to the card. Dropping it without
/// [`submit`](Self::submit) takes them back.
#[derive(Debug)]
#[must_use = "requests are posted by `submit`"]
pub struct PostGuard<'q, 'm> {
    qp: &'q mut QueuePair<'m>,
}

impl<'m> PostGuard<'_, 'm> {
    /// Adds a request.
    ///
    /// # Errors
    /// See [`PostError`]; the requests before it stay in the guard.
    #[inline]
    pub fn post_send(&mut self, request: &WorkRequest<'_, 'm>) -> Result<(), PostError> {
        self.qp.stage(request)
    }

    /// Rings the doorbell.
    ///
    /// # Errors
    /// The card failed.
    pub fn submit(self) -> Result<(), PostError> {
        self.qp.queue.submit()
    }
}

impl Drop for PostGuard<'_, '_> {
    fn drop(&mut self) {
        self.qp.queue.discard();
    }
}
