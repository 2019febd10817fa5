//! The responder of RC.

use drdma_abi::{
    completion::Status,
    receive::rights,
    roce::{AtomicEth, Reth, syndrome},
    work_request::MAX_MESSAGE,
};

use super::{
    Answer, Message, Outcome, Received, Refusal, Resource, ResourceKind, Responder, Settings,
    World,
    packet::{Kind, packets},
};
use crate::{
    frame::Frame,
    packets::{MASK_24, psn_add, psn_distance},
    scatter::allows,
};

impl Responder {
    /// Takes a packet of an RC queue pair.
    pub(super) fn take_reliable<W: World + ?Sized>(
        &mut self,
        frame: &Frame<'_>,
        settings: &Settings,
        world: &mut W,
    ) -> Outcome {
        let psn = frame.bth.psn;
        let distance = psn_distance(psn, self.expected);
        if distance > 0 {
            if std::mem::replace(&mut self.asked, true) {
                return Outcome::Dropped;
            }
            world.answer(self.acknowledgement(syndrome::NAK_PSN, self.expected));
            return Outcome::Answered;
        }
        if distance < 0 {
            return self.duplicate(frame, settings, world);
        }
        self.asked = false;
        match self.next(frame, settings, world) {
            Ok(()) => Outcome::Executed,
            Err(refusal) => self.refuse(refusal, psn, settings, world),
        }
    }

    fn acknowledgement(&self, syndrome: u8, psn: u32) -> Answer {
        Answer::Acknowledge { syndrome, psn, msn: self.msn }
    }

    /// Executes the packet that is expected.
    fn next<W: World + ?Sized>(
        &mut self,
        frame: &Frame<'_>,
        settings: &Settings,
        world: &mut W,
    ) -> Result<(), Refusal> {
        let psn = frame.bth.psn;
        let kind = Kind::of(frame.operation());
        let in_sequence = match (kind, &self.message) {
            (Kind::Send(place), Some(Message::Send { .. }))
            | (Kind::Write(place), Some(Message::Write { .. })) => !place.first,
            (Kind::Send(place) | Kind::Write(place), None) => place.first,
            (Kind::Read | Kind::CompareAndSwap | Kind::FetchAndAdd, None) => true,
            _ => false,
        };
        if !in_sequence {
            return Err(Refusal::Invalid);
        }
        let (packets, completes) = match kind {
            Kind::Send(place) => {
                self.send(frame, place, settings, world)?;
                (1, place.last)
            }
            Kind::Write(place) => {
                // A packet that finds no receive is sent again, so that all its effects must be
                // undone.
                let before = self.message.clone();
                let written = self.write(frame, place, settings, world);
                if written == Err(Refusal::NotReady) {
                    self.message = before;
                }
                written?;
                (1, place.last)
            }
            Kind::Read => {
                let request = frame.reth.filter(|_| frame.payload.is_empty());
                (self.read(psn, request, settings, world)?, false)
            }
            _ => {
                let request = frame.atomic.filter(|_| frame.payload.is_empty());
                self.atomic(frame, request, settings, world)?;
                (1, false)
            }
        };
        self.expected = psn_add(psn, packets);
        if completes {
            self.msn = psn_add(self.msn, 1);
        }
        let answered = matches!(kind, Kind::Send(_) | Kind::Write(_)) && frame.bth.ack_req == 1;
        if answered {
            world.answer(self.acknowledgement(syndrome::ACK | 31, psn));
        }
        Ok(())
    }

    /// Makes room for the answer of a READ or an atomic, which is kept for its repetition.
    fn make_room(&mut self, settings: &Settings) -> Result<(), Refusal> {
        let limit = usize::from(settings.max_dest_rd_atomic);
        if self.resources.len() < limit {
            return Ok(());
        }
        // The oldest one is dropped, if its answer was sent.
        match self.resources.front().map(|resource| resource.kind) {
            Some(ResourceKind::Read { unsent: 0, .. } | ResourceKind::Atomic { .. }) => {
                self.resources.pop_front();
                Ok(())
            }
            _ => Err(Refusal::Invalid),
        }
    }

    /// Executes a READ; returns the number of sequence numbers that it takes.
    fn read<W: World + ?Sized>(
        &mut self,
        psn: u32,
        request: Option<Reth>,
        settings: &Settings,
        world: &mut W,
    ) -> Result<u32, Refusal> {
        if settings.rights & rights::REMOTE_READ == 0 {
            return Err(Refusal::Invalid);
        }
        self.make_room(settings)?;
        let request = request
            .filter(|request| u64::from(request.dma_length) <= MAX_MESSAGE)
            .ok_or(Refusal::Invalid)?;
        if !may_read(&request, settings, world) {
            return Err(Refusal::Access);
        }
        let packets = packets(request.dma_length, settings.mtu);
        let kind = ResourceKind::Read { request, unsent: 1 };
        self.resources.push_back(Resource { psn, packets, kind });
        self.msn = psn_add(self.msn, 1);
        world.answer(self.read_answer(psn, &request));
        Ok(packets)
    }

    fn read_answer(&self, psn: u32, request: &Reth) -> Answer {
        let Reth { virtual_address: addr, rkey, dma_length: len } = *request;
        Answer::Read { psn, msn: self.msn, addr, len, rkey }
    }

    /// Executes an atomic.
    fn atomic<W: World + ?Sized>(
        &mut self,
        frame: &Frame<'_>,
        request: Option<AtomicEth>,
        settings: &Settings,
        world: &mut W,
    ) -> Result<(), Refusal> {
        let aligned = |request: &AtomicEth| request.virtual_address.is_multiple_of(8);
        if settings.rights & rights::REMOTE_ATOMIC == 0 {
            return Err(Refusal::Invalid);
        }
        let request = request.filter(aligned).ok_or(Refusal::Invalid)?;
        self.make_room(settings)?;
        let (psn, operation) = (frame.bth.psn, frame.operation());
        let swap = Kind::of(operation) == Kind::CompareAndSwap;
        let original = Self::execute(swap, &request, settings, world)?;
        let kind = ResourceKind::Atomic { operation, original };
        self.resources.push_back(Resource { psn, packets: 1, kind });
        self.msn = psn_add(self.msn, 1);
        world.answer(Answer::Atomic { psn, msn: self.msn, original });
        Ok(())
    }

    /// Notes that all packets of the answer to the READ at `psn` were sent.
    pub fn answered(&mut self, psn: u32) {
        for resource in &mut self.resources {
            let within = psn_distance(psn, resource.psn);
            if let ResourceKind::Read { unsent, .. } = &mut resource.kind
                && (0..resource.packets as i32).contains(&within)
            {
                *unsent = unsent.saturating_sub(1);
            }
        }
    }

    /// Handles a packet from before the expected one.
    fn duplicate<W: World + ?Sized>(
        &mut self,
        frame: &Frame<'_>,
        settings: &Settings,
        world: &mut W,
    ) -> Outcome {
        let psn = frame.bth.psn;
        match Kind::of(frame.operation()) {
            Kind::Send(_) | Kind::Write(_) if frame.bth.ack_req == 1 => {
                let last = psn_add(self.expected, MASK_24);
                world.answer(self.acknowledgement(syndrome::ACK | 31, last));
                Outcome::Answered
            }
            Kind::Read => {
                let answer =
                    frame.reth.and_then(|again| self.read_again(psn, again, settings, world));
                answer.map_or(Outcome::Dropped, |answer| {
                    world.answer(answer);
                    Outcome::Answered
                })
            }
            Kind::CompareAndSwap | Kind::FetchAndAdd => {
                let original = self.resources.iter().find_map(|resource| match resource.kind {
                    ResourceKind::Atomic { operation, original }
                        if resource.psn == psn && operation == frame.operation() =>
                    {
                        Some(original)
                    }
                    _ => None,
                });
                original.map_or(Outcome::Dropped, |original| {
                    world.answer(Answer::Atomic { psn, msn: self.msn, original });
                    Outcome::Answered
                })
            }
            _ => Outcome::Dropped,
        }
    }

    /// Repeats the answer to a READ that was answered before, or a part of it.
    fn read_again<W: World + ?Sized>(
        &mut self,
        psn: u32,
        again: Reth,
        settings: &Settings,
        world: &W,
    ) -> Option<Answer> {
        let mtu = settings.mtu;
        let resource = self.resources.iter_mut().find(|resource| {
            let within = psn_distance(psn, resource.psn);
            (0..resource.packets as i32).contains(&within)
        })?;
        let ResourceKind::Read { request, unsent } = &mut resource.kind else { return None };
        let skipped = u64::from(psn_distance(psn, resource.psn).unsigned_abs()) * u64::from(mtu);
        let rest = u64::from(request.dma_length).saturating_sub(skipped);
        let same = again.virtual_address == request.virtual_address.wrapping_add(skipped)
            && again.rkey == request.rkey
            && u64::from(again.dma_length) <= rest;
        if !same || !may_read(&again, settings, world) {
            return None;
        }
        *unsent += 1;
        Some(self.read_answer(psn, &again))
    }

    /// Answers a packet that is not executed.
    fn refuse<W: World + ?Sized>(
        &mut self,
        refusal: Refusal,
        psn: u32,
        settings: &Settings,
        world: &mut W,
    ) -> Outcome {
        let (nak, status) = match refusal {
            Refusal::NotReady => {
                // Packets behind the missing one are dropped silently.
                self.asked = true;
                let nak = syndrome::RNR_NAK | settings.min_rnr_timer & 0x1f;
                world.answer(self.acknowledgement(nak, psn));
                return Outcome::Answered;
            }
            Refusal::Receive(name, status) => {
                world.complete(Received::failed(name, status));
                (Some(syndrome::NAK_REMOTE_OPERATION), None)
            }
            Refusal::Invalid => (Some(syndrome::NAK_INVALID_REQUEST), None),
            Refusal::Length => {
                (Some(syndrome::NAK_INVALID_REQUEST), Some(Status::LocalLengthError))
            }
            Refusal::Access => (Some(syndrome::NAK_REMOTE_ACCESS), Some(Status::RemoteAccessError)),
            Refusal::Memory => {
                (Some(syndrome::NAK_REMOTE_OPERATION), Some(Status::LocalProtectionError))
            }
            Refusal::Invalidate => (None, Some(Status::RemoteInvalidRequestError)),
            Refusal::Overrun => (None, None),
        };
        if let Some(nak) = nak {
            world.answer(self.acknowledgement(nak, psn));
        }
        if let Some(status) = status
            && let Some(name) = self.take_receive()
        {
            world.complete(Received::failed(name, status));
        }
        Outcome::Error
    }
}

/// True if the bytes of a READ may be read. A READ of no bytes needs no key.
fn may_read<W: World + ?Sized>(request: &Reth, settings: &Settings, world: &W) -> bool {
    let Reth { virtual_address: addr, rkey, dma_length: len } = *request;
    let allowed = world
        .key(rkey)
        .is_some_and(|key| allows(&key, rights::REMOTE_READ, settings.pd, addr, len.into()));
    len == 0 || allowed
}
