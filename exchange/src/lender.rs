//! The lender: receive buffers are lent to the peers that need them.
//!
//! Every peer has `receive_buffers` at all times, so that its credit never depends on others. With a pool, more are
//! lent: when the consumer has found nothing, to each peer that ran out of credit, those that have the fewest first.
//! They go back to the pool when the engine leaves several messages lying ready, when the peer's stream is over, or
//! when others are short of them and this endpoint has more than its share.
//!
//! A peer with more credit than the network carries fills queues of the network instead, and slows all others that
//! share them. So the time from a credit to the message that it allowed is compared with the least one that was seen
//! (as TCP Vegas does, Brakmo and Peterson 1995): what is longer is queueing. A peer that keeps the network's queues
//! filled gets no more.

use std::time::Duration;

use crate::{BufferPool, Config, Error, Primitive, common::Core, slots::Slots};

/// `get`s after which the least number of messages that lay ready counts.
const GETS: u32 = 16;
/// A peer gets more buffers as long as its messages that queue in the network are no more than this, and loses one
/// where they are more than that.
const FEW_QUEUED: f64 = 4.0;
const MANY_QUEUED: f64 = 8.0;

/// How fast an engine takes the messages that are received.
#[derive(Debug)]
pub(crate) struct Demand {
    /// The engine asked for a message when none lay ready.
    starved: bool,
    /// Buffers that are not needed: they are given back when they are released.
    surplus: usize,
    gets: u32,
    /// The least number of messages that lay ready behind one that was got.
    least: usize,
}

impl Default for Demand {
    fn default() -> Self {
        Self { starved: false, surplus: 0, gets: 0, least: usize::MAX }
    }
}

impl Demand {
    /// Records that a message was got, and that `left` more lie ready.
    pub fn got(&mut self, left: usize) {
        self.least = self.least.min(left);
        self.gets += 1;
        if self.gets == GETS {
            // One message may lie ready.
            *self = Self { surplus: self.least.saturating_sub(1), ..Self::default() };
        }
    }

    /// Records that the engine asked for a message when none lay ready.
    pub fn found_nothing(&mut self) {
        *self = Self { starved: true, ..Self::default() };
    }
}

/// Receive buffers of a peer, and the state of its credit.
#[derive(Clone, Debug, Default)]
struct Lent {
    /// Buffers that the peer has: posted for it, or with rows of it.
    held: u32,
    /// The peer ran out of credit.
    wants: bool,
    /// Messages of the peer that were received.
    came: u64,
    /// A credit that is timed: the number of the first message that it allows, and when it was sent.
    timed: Option<(u64, Duration)>,
    /// The shortest time from a credit to its message.
    shortest: Option<Duration>,
    /// Messages of the peer that queue in the network, by the last timed credit.
    queued: f64,
    /// The peer has had many messages queued: its buffers grow by one from then on, and no longer twofold.
    is_full: bool,
    /// One of the peer's buffers is too many.
    excess: bool,
}

impl Lent {
    fn message_came(&mut self, now: Duration) {
        self.came += 1;
        let Some((_, told)) = self.timed.filter(|(first, _)| self.came > *first) else { return };
        self.timed = None;
        let took = now.saturating_sub(told);
        let shortest = self.shortest.map_or(took, |shortest| shortest.min(took));
        self.shortest = Some(shortest);
        let queueing = took - shortest;
        self.queued = f64::from(self.held) * queueing.as_secs_f64() / took.as_secs_f64().max(1e-9);
        self.is_full |= self.queued > FEW_QUEUED;
        self.excess = self.queued > MANY_QUEUED;
    }

    /// Buffers that should be lent to the peer now.
    fn more(&self, most: u32) -> u32 {
        let step = if self.is_full { 1 } else { self.held };
        let is_short = self.wants && self.queued <= FEW_QUEUED;
        if is_short { step.min(most.saturating_sub(self.held)) } else { 0 }
    }
}

#[derive(Debug)]
pub(crate) struct Lender {
    slots: Slots,
    pool: Option<BufferPool>,
    /// Slots that the endpoint began with.
    first: Vec<u32>,
    reserved: u32,
    /// Receive buffers that a peer has at least, and at most.
    own: u32,
    most: u32,
    peers: Vec<Lent>,
    borrowed: u32,
    /// For each slot: whether it is the endpoint's, and its rows are not being read by the engine.
    kept: Vec<bool>,
}

impl Lender {
    /// Makes slots of `bytes` bytes, for each peer `receive_buffers` and `beside` for what it sends without a credit.
    pub fn new(core: &Core, bytes: usize, beside: u32) -> Result<Self, Error> {
        let own = core.config.receive_buffers;
        let reserved = (core.member.nodes as u32 - 1) * (own + beside);
        let pool = core.shared.clone();
        let (first, slots) = match &pool {
            Some(pool) => (pool.reserve(reserved)?, Slots::of_pool(pool, bytes)),
            None => {
                let access = libdrdma::Access::empty();
                let slots = Slots::new(core, reserved as usize, bytes, access)?;
                ((0..reserved).rev().collect(), slots)
            }
        };
        let count = pool.as_ref().map_or(reserved, BufferPool::buffers) as usize;
        let peers = vec![Lent { held: own, ..Lent::default() }; core.member.nodes];
        let (borrowed, kept, most) = (0, vec![false; count], core.most_receives());
        Ok(Self { slots, pool, first, reserved, own, most, peers, borrowed, kept })
    }

    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    /// One of the first slots that is not posted yet, for any peer.
    pub fn next_first(&mut self) -> Option<u32> {
        self.first.pop()
    }

    /// Records that a slot is posted.
    pub fn is_posted(&mut self, slot: u32) {
        self.kept[slot as usize] = true;
    }

    /// Records that the engine reads a slot's rows.
    pub fn is_read(&mut self, slot: u32) {
        self.kept[slot as usize] = false;
    }

    /// Records that a message of a peer was received; `waited` says whether it had to wait for credit.
    pub fn came(&mut self, core: &Core, peer: usize, waited: bool) {
        self.peers[peer].wants |= waited;
        self.peers[peer].message_came(core.now);
    }

    /// Records that a peer is sent a credit for new receives; it knew of `before` until then.
    pub fn told(&mut self, core: &Core, peer: usize, before: u64) {
        self.peers[peer].timed.get_or_insert((before, core.now));
    }

    /// The least number of new receives for which a peer is sent a credit.
    pub fn credit_every(&self, core: &Core, peer: usize) -> u64 {
        let Config { credit_every, receive_buffers, primitive, .. } = core.config;
        // A peer that waits for credit must have confirmed the last one that it got, though it may wait for several at
        // a time.
        let least = if primitive == Primitive::Datagram { receive_buffers / 2 } else { 0 };
        // A credit is for a half of the buffers, while the other half is filled.
        let of_pool = self.pool.as_ref().map_or(0, |_| self.peers[peer].held / 2);
        credit_every.max(least).max(of_pool).into()
    }

    /// Receive buffers that all peers have.
    pub fn held(&self, core: &Core) -> u32 {
        core.peers().map(|peer| self.peers[peer].held).sum()
    }

    /// The peer that a slot, which `source` used, is to be posted for next. `None`: it went back to the pool.
    pub fn next_owner(&mut self, core: &mut Core, source: usize, slot: u32) -> Option<usize> {
        let held = self.peers[source].held;
        let Some(pool) = self.pool.as_ref().filter(|_| held > self.own) else {
            return Some(source);
        };
        let is_surplus = core.demand.surplus > 0;
        let is_excess = std::mem::take(&mut self.peers[source].excess);
        if is_surplus
            || is_excess
            || core.streams[source].is_over()
            || pool.wants_back(self.borrowed)
        {
            core.demand.surplus -= usize::from(is_surplus);
            pool.give_back(slot);
            self.kept[slot as usize] = false;
            self.peers[source].held -= 1;
            self.borrowed -= 1;
            return None;
        }
        let needs = |peer: &usize| self.peers[*peer].wants && self.peers[*peer].held + 1 < held;
        let neediest = core.peers().filter(needs).min_by_key(|peer| self.peers[*peer].held);
        if let Some(neediest) = neediest {
            self.peers[source].held -= 1;
            self.peers[neediest].held += 1;
            self.peers[neediest].wants = false;
        }
        neediest.or(Some(source))
    }

    /// Borrows slots for the peers that need more, and returns each with its peer.
    pub fn lend(&mut self, core: &mut Core) -> Vec<(usize, u32)> {
        let Some(pool) = self.pool.as_ref() else { return Vec::new() };
        if !std::mem::take(&mut core.demand.starved) {
            return Vec::new();
        }
        let is_needy = |peer: &usize| self.peers[*peer].more(self.most) > 0;
        let mut needy: Vec<usize> = core.peers().filter(is_needy).collect();
        needy.sort_by_key(|peer| self.peers[*peer].held);
        let mut lent = Vec::new();
        for peer in needy {
            for _ in 0..self.peers[peer].more(self.most) {
                let Some(slot) = pool.borrow(self.borrowed) else { return lent };
                let Lent { held, wants, .. } = &mut self.peers[peer];
                (*held, *wants) = (*held + 1, false);
                self.borrowed += 1;
                lent.push((peer, slot));
            }
        }
        lent
    }

    /// Bytes of memory that are pinned for the lender alone.
    pub fn pinned(&self) -> u64 {
        if self.pool.is_some() { 0 } else { self.slots.pinned() }
    }
}

impl Drop for Lender {
    fn drop(&mut self) {
        // The queue pairs are gone. What the engine has not released stays taken: it may still read that.
        if let Some(pool) = &self.pool {
            let kept = (0..).zip(&self.kept).filter(|(_, kept)| **kept);
            let slots = kept.map(|(slot, _)| slot).chain(self.first.drain(..));
            pool.leave(self.reserved, slots);
        }
    }
}
