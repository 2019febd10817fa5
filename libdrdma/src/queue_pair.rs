//! Queue pairs.

use std::sync::Arc;

use drdma_abi::{
    receive::{AttributesEntry, QUEUE_PAIR_ATTRIBUTES},
    register::{QUEUE_PAIRS, QueuePairEntry},
    roce::{DEFAULT_PKEY, TTL, Transport},
};

use crate::{
    Destination, ModifyError, PostError, QueuePairAttributes, QueuePairState, ReceiveRequest,
    VlanTag, WorkRequest,
    async_event::WatchedPair,
    body::Inline,
    borrow::Borrow,
    queue_pair_state::{Attribute, check, transition},
    receive_queue::ReceiveQueue,
    send_queue::SendQueue,
    shared_receive_queue::Shared,
};

mod builder;
mod guard;
mod slot;

pub use builder::QueuePairBuilder;
pub use guard::PostGuard;
use slot::Slot;

/// States of an [`AttributesEntry`]: start to receive from `rq_psn`; continue with changed
/// attributes.
const ANEW: u32 = 1;
const ON: u32 = 2;

/// A queue pair and its own send queue.
///
/// Dropping it with work in progress takes the work back: what is posted gets no completion, packets
/// that have no headers yet are not sent, and shared requests that still had some for it end with
/// `wr_flush_error`. The peer may have got a part of a message. Packets on their way to the wire
/// still leave; a queue pair that gets its place in the card later is not touched by any of this.
///
/// `'m` is the memory that posted work may read: it stays borrowed as long as the queue pair lives,
/// or until [`release`](Self::release).
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
    // The queue must be dropped before the slot, so that nothing is posted when the index is given
    // back.
    queue: SendQueue,
    receives: Option<ReceiveQueue>,
    shared: Option<Shared>,
    slot: Slot,
    qpn: u32,
    transport: Transport,
    attributes: QueuePairAttributes,
    _borrow: Borrow<'m>,
}

impl<'m> QueuePair<'m> {
    /// The queue pair's number on the wire.
    pub fn qpn(&self) -> u32 {
        self.qpn
    }

    /// Index in the card's table, by which work requests name the queue pair. A transition to Reset
    /// may change it.
    pub fn index(&self) -> u32 {
        self.slot.index
    }

    /// Number of the send queue, by which completions name it.
    pub fn queue(&self) -> u16 {
        self.queue.number()
    }

    /// The transport.
    pub fn transport(&self) -> Transport {
        self.transport
    }

    /// State of the queue pair, as known from the completions that were polled.
    pub fn state(&self) -> QueuePairState {
        self.slot.context.inner.state(self.slot.index)
    }

    pub(crate) fn protection_domain(&self) -> u32 {
        self.queue.protection_domain()
    }

    /// Changes the state (IBTA 1.4 section 10.3.1). In Reset, posted requests complete with
    /// `wr_flush_error`, and the queue is ready to be used again. Reset and Error take work in
    /// progress back as dropping the queue pair does: a request that only waits for
    /// acknowledgements waits no longer, and a shared one that had some for this queue pair ends
    /// with `wr_flush_error`, which halts its queue.
    ///
    /// # Errors
    /// `ModifyError::Transition` if there is no such transition, `Missing` or `Unexpected` for an
    /// attribute that it needs or does not take, `Value` for a value outside its limits, or `Card`
    /// if the card failed; see [`ModifyError`] for the others.
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
        self.check_receiving(to, attributes)?;
        match to {
            QueuePairState::Reset => {
                self.slot.unwatch();
                self.slot.forget()?;
                // Requests that name a queue pair without a peer must not reach a later peer.
                if from == QueuePairState::Reset {
                    self.queue.disable()?;
                } else {
                    self.slot.renew(|| self.queue.disable())?;
                    self.queue.set_queue_pair(self.slot.index);
                }
                self.attributes = QueuePairAttributes::default();
                if let Some(receives) = &mut self.receives {
                    receives.disable()?;
                    receives.enable(self.slot.index)?;
                }
            }
            QueuePairState::Error => {
                self.slot.context.inner.events.explain(self.slot.index);
                self.slot.forget()?;
                self.queue.halt()?;
                self.receives.iter_mut().try_for_each(ReceiveQueue::halt)?;
            }
            QueuePairState::Init => {
                self.attributes = attributes.over(self.attributes);
            }
            QueuePairState::ReadyToReceive => {
                self.attributes = attributes.over(self.attributes);
                if self.responds() {
                    self.write_attributes(ANEW)?;
                    self.write_entry(&QueuePairEntry { state: 2, ..self.entry() })?;
                    self.watch();
                }
            }
            QueuePairState::ReadyToSend => {
                self.attributes = attributes.over(self.attributes);
                if self.responds() || self.attributes.needs().next().is_some() {
                    self.write_attributes(ON)?;
                }
                self.write_entry(&self.entry())?;
                self.queue.enable()?;
            }
        }
        self.slot.context.inner.set_state(self.slot.index, to);
        Ok(())
    }

    /// Goes through Reset, Init, RTR and RTS, with all attributes that these need (`state` is
    /// ignored; a missing partition key is the default one, a missing queue key 0).
    ///
    /// # Errors
    /// The errors of [`modify`](Self::modify).
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

    /// True if the queue pair answers requests of its peer.
    fn responds(&self) -> bool {
        self.has_receives() || self.attributes.rq_psn.is_some()
    }

    /// Starts reporting events of the queue pair.
    fn watch(&mut self) {
        let receives = self.receives.as_ref().map(|receives| {
            (Arc::downgrade(receives.state()), Arc::downgrade(receives.completion_queue()))
        });
        self.slot.watch = Some(self.slot.context.inner.events.watch(WatchedPair {
            index: self.slot.index,
            qpn: self.qpn,
            shared: self.shared.is_some(),
            receives,
        }));
    }

    fn has_receives(&self) -> bool {
        self.receives.is_some() || self.shared.is_some()
    }

    /// Refuses attributes and queues that need a card that receives, and the lack of attributes
    /// that a receiving queue pair needs.
    fn check_receiving(
        &self,
        to: QueuePairState,
        attributes: &QueuePairAttributes,
    ) -> Result<(), ModifyError> {
        for (attribute, needed) in attributes.needs() {
            if let Some(reason) = self.slot.context.inner.misses(needed) {
                return Err(ModifyError::Unsupported { attribute, reason });
            }
        }
        let needs_psn = self.has_receives() && self.transport != Transport::Ud;
        if to == QueuePairState::ReadyToReceive && needs_psn && attributes.rq_psn.is_none() {
            let (from, attribute) = (self.state(), Attribute::RqPsn);
            return Err(ModifyError::Missing { from, to, attribute });
        }
        Ok(())
    }

    /// Writes the attributes that concern receiving and retries to the card, with the given state.
    fn write_attributes(&mut self, state: u32) -> Result<(), ModifyError> {
        let attributes = &self.attributes;
        let (own, shared) = (self.receive_queue(), self.shared.as_ref().map(Shared::number));
        let entry = AttributesEntry {
            rq_psn: attributes.rq_psn.unwrap_or(0),
            receive_queue: own.or(shared).unwrap_or(0),
            receives: self.has_receives().into(),
            rights: attributes.access.unwrap_or_default().bits() as u8,
            min_rnr_timer: attributes.min_rnr_timer.unwrap_or(0),
            max_dest_rd_atomic: attributes.max_dest_rd_atomic.unwrap_or(0),
            max_rd_atomic: attributes.max_rd_atomic.unwrap_or(0),
            timeout: attributes.timeout.unwrap_or(0),
            retry_cnt: attributes.retry_cnt.unwrap_or(0),
            rnr_retry: attributes.rnr_retry.unwrap_or(0),
            state,
            ..AttributesEntry::default()
        };
        self.slot.responds = true;
        let mut hardware = self.slot.context.inner.lock();
        Ok(hardware.device.write_entry(QUEUE_PAIR_ATTRIBUTES, self.slot.index, &entry)?)
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
            vlan,
            ..
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
            vlan: vlan.map_or(0, VlanTag::control),
            tagged: u8::from(vlan.is_some()),
            start_psn: start_psn.unwrap_or(0),
            pd: self.queue.protection_domain(),
            state: 1,
            ..Default::default()
        }
    }

    /// Number of the queue pair's own receive queue, by which completions name it.
    pub fn receive_queue(&self) -> Option<u16> {
        self.receives.as_ref().map(ReceiveQueue::number)
    }

    /// Posts one receive and rings the doorbell. In state Error the receive is accepted and
    /// flushed.
    ///
    /// # Errors
    /// Conditions are those of [`PostError`]; nothing is posted then.
    pub fn post_recv(&mut self, request: &ReceiveRequest<'_, 'm>) -> Result<(), PostError> {
        let state = self.state();
        let receives = self.receives.as_mut().ok_or(PostError::NoReceiveQueue)?;
        if state == QueuePairState::Reset {
            return Err(PostError::ReceiveState { state });
        }
        receives.post(request)
    }

    /// Posts one request and rings the doorbell. In state Error the request is accepted and
    /// flushed.
    ///
    /// # Errors
    /// Conditions are those of [`PostError`]; nothing is posted then.
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
        let (remote_addr, rkey) = request.remote;
        let (qp, pd) = (self.slot.index, self.queue.protection_domain());
        let (layout, regions) = (request.layout, request.regions);
        let destination = Destination { qp, pd, remote_addr, rkey, layout, regions };
        match request.inline {
            None => self.queue.stage(&request.head, &[destination][..]),
            Some(payload) => self.queue.stage(&request.head, &Inline { destination, payload }),
        }
    }

    /// Starts posting several requests with one doorbell.
    pub fn batch(&mut self) -> PostGuard<'_, 'm> {
        PostGuard { qp: self }
    }

    /// Ends the borrow of memory: flushes posted requests, and returns the queue pair in state
    /// Reset.
    ///
    /// # Errors
    /// The card failed.
    pub fn release<'n>(mut self) -> Result<QueuePair<'n>, ModifyError> {
        self.modify(&QueuePairAttributes::new().state(QueuePairState::Reset))?;
        let Self { queue, receives, shared, slot, qpn, transport, attributes, .. } = self;
        let _borrow = Borrow::default();
        Ok(QueuePair { queue, receives, shared, slot, qpn, transport, attributes, _borrow })
    }
}
