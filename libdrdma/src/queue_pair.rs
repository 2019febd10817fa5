//! Queue pairs.

use std::{marker::PhantomData, net::Ipv4Addr};

use drdma_abi::roce::Transport;
use drdma_driver::CardError;

use crate::{
    CompletionQueue, Error, MacAddress, MemoryRegion, PostError, ProtectionDomain, WorkRequest,
};

/// The states of a queue pair (IBTA 1.4 section 10.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum QueuePairState {
    /// Newly made.
    Reset = 0,
    /// Set up.
    Init = 1,
    /// The peer is known (RTR).
    ReadyToReceive = 2,
    /// Work requests are executed (RTS).
    ReadyToSend = 3,
    /// A request failed: all further ones are flushed.
    Error = 4,
}

impl std::fmt::Display for QueuePairState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Reset => "Reset",
            Self::Init => "Init",
            Self::ReadyToReceive => "RTR",
            Self::ReadyToSend => "RTS",
            Self::Error => "Error",
        })
    }
}

/// What [`QueuePair::modify`] changes: the next state and the attributes that go with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueuePairAttributes {
    pub(crate) state: Option<QueuePairState>,
    pub(crate) pkey: Option<u16>,
    pub(crate) qkey: Option<u32>,
    pub(crate) path_mtu: Option<u32>,
    pub(crate) dest_qpn: Option<u32>,
    pub(crate) dest_mac: Option<MacAddress>,
    pub(crate) dest_ip: Option<Ipv4Addr>,
    pub(crate) start_psn: Option<u32>,
}

macro_rules! setters {
    ($($(#[doc = $doc:literal])* $name:ident: $type:ty;)*) => {$(
        $(#[doc = $doc])*
        #[must_use]
        pub fn $name(mut self, $name: $type) -> Self {
            self.$name = Some($name);
            self
        }
    )*};
}

impl QueuePairAttributes {
    /// No attribute.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// The state to go to.
        state: QueuePairState;
        /// Partition key; 0xffff is the default partition.
        pkey: u16;
        /// Queue key (UD).
        qkey: u32;
        /// Payload bytes of a packet: 256, 512, 1024, 2048 or 4096.
        path_mtu: u32;
        /// The peer's queue pair number, 24 bits.
        dest_qpn: u32;
        /// The peer's Ethernet address (or the next hop's).
        dest_mac: MacAddress;
        /// The peer's IPv4 address.
        dest_ip: Ipv4Addr;
        /// The first packet sequence number, 24 bits.
        start_psn: u32;
    }
}

/// Why a queue pair was not modified. It stays as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModifyError {
    /// The card failed.
    #[error(transparent)]
    Card(#[from] CardError),
}

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
        todo!()
    }
}

/// A queue pair and its own send queue. `'m` is the memory that posted work may read: it stays
/// borrowed as long as the queue pair lives, or until [`release`](Self::release).
#[derive(Debug)]
pub struct QueuePair<'m> {
    memory: PhantomData<&'m MemoryRegion>,
}

impl<'m> QueuePair<'m> {
    /// The number on the wire.
    pub fn qpn(&self) -> u32 {
        todo!()
    }

    /// The index in the card's table, that work requests name it by.
    pub fn index(&self) -> u32 {
        todo!()
    }

    /// The number of its send queue, that completions name it by.
    pub fn queue(&self) -> u16 {
        todo!()
    }

    /// The transport.
    pub fn transport(&self) -> Transport {
        todo!()
    }

    /// The state, as far as completions were polled.
    pub fn state(&self) -> QueuePairState {
        todo!()
    }

    /// Goes to another state (IBTA 1.4 table 91).
    ///
    /// # Errors
    /// A transition that does not exist, an attribute that it needs or does not take, a value
    /// outside its limits, or the card failed.
    pub fn modify(&mut self, attributes: &QueuePairAttributes) -> Result<(), ModifyError> {
        let _ = attributes;
        todo!()
    }

    /// Reset, Init, RTR, RTS in one go, from all attributes that these need (`state` is ignored;
    /// a missing partition key is the default one, a missing queue key 0).
    ///
    /// # Errors
    /// As [`modify`](Self::modify).
    pub fn connect(&mut self, attributes: &QueuePairAttributes) -> Result<(), ModifyError> {
        let _ = attributes;
        todo!()
    }

    /// Posts one request and rings the doorbell.
    ///
    /// # Errors
    /// See [`PostError`]; nothing is posted then.
    pub fn post_send(&mut self, request: &WorkRequest<'_, 'm>) -> Result<(), PostError> {
        let _ = request;
        todo!()
    }

    /// Starts posting several requests with one doorbell.
    pub fn batch(&mut self) -> PostGuard<'_, 'm> {
        todo!()
    }

    /// Gives the memory back: flushes what is still posted, and returns the queue pair in state
    /// Reset, borrowing nothing.
    ///
    /// # Errors
    /// The card failed.
    pub fn release<'n>(self) -> Result<QueuePair<'n>, ModifyError> {
        todo!()
    }
}

impl Drop for QueuePair<'_> {
    fn drop(&mut self) {}
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
    pub fn post_send(&mut self, request: &WorkRequest<'_, 'm>) -> Result<(), PostError> {
        let _ = (request, &self.qp);
        todo!()
    }

    /// Rings the doorbell.
    ///
    /// # Errors
    /// The card failed.
    pub fn submit(self) -> Result<(), PostError> {
        todo!()
    }
}
