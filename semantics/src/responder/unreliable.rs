//! The responders of UC and UD.

use drdma_abi::{
    completion::Status,
    receive::{GLOBAL_ROUTE, receive_flags},
    roce::{Ipv4, operation},
};

use super::{
    Message, Outcome, Received, Refusal, Responder, Settings, World,
    packet::{Kind, Place},
};
use crate::{frame::Frame, packets::psn_add};

impl Responder {
    /// Takes a packet of a UC queue pair.
    pub(super) fn take_connected<W: World + ?Sized>(
        &mut self,
        frame: &Frame<'_>,
        settings: &Settings,
        world: &mut W,
    ) -> Outcome {
        let psn = frame.bth.psn;
        // UC has no SENDs that invalidate a key.
        if frame.operation() > operation::WRITE_ONLY_IMM {
            return Outcome::Dropped;
        }
        let (place, write) = match Kind::of(frame.operation()) {
            Kind::Send(place) => (place, false),
            Kind::Write(place) => (place, true),
            _ => return Outcome::Dropped,
        };
        if psn != self.expected || place.first {
            // A packet was lost, or the message before has no end.
            self.abandon(Status::RemoteInvalidRequestError, settings, world);
        }
        let in_sequence = match &self.message {
            None => place.first,
            Some(Message::Send { .. }) => !write,
            Some(Message::Write { .. }) => write,
        };
        if !in_sequence {
            self.abandon(Status::RemoteInvalidRequestError, settings, world);
            return Outcome::Dropped;
        }
        self.expected = psn_add(psn, 1);
        let done = match write {
            true => self.write(frame, place, settings, world),
            false => self.send(frame, place, settings, world),
        };
        match done {
            Ok(()) => {
                if place.last {
                    self.msn = psn_add(self.msn, 1);
                }
                Outcome::Executed
            }
            Err(refusal) => self.drop_message(refusal, settings, world),
        }
    }

    /// Takes a datagram.
    pub(super) fn take_datagram<W: World + ?Sized>(
        &mut self,
        frame: &Frame<'_>,
        settings: &Settings,
        world: &mut W,
    ) -> Outcome {
        let only = Place { first: true, last: true };
        let known = [operation::SEND_ONLY, operation::SEND_ONLY_IMM].contains(&frame.operation());
        let (true, Some(deth)) = (known, frame.deth) else {
            return Outcome::Dropped;
        };
        let received = self.next_receive(world).and_then(|receive| {
            if receive.target.append.is_some() {
                return Err(Refusal::Receive(receive.name, Status::LocalQpOperationError));
            }
            let (mut scatter, capacity) = (receive.target.scatter(), receive.target.capacity);
            let name = receive.name;
            // The receive is in use from here on.
            self.armed = Some(receive);
            super::check_length(frame, only, settings.mtu)?;
            let byte_len = GLOBAL_ROUTE + frame.payload.len();
            if byte_len as u128 > capacity {
                return Err(Refusal::Length);
            }
            if !world.has_room() {
                return Err(Refusal::Overrun);
            }
            let unused = GLOBAL_ROUTE - Ipv4::SIZE;
            scatter
                .skip(world, unused)
                .and_then(|()| scatter.write(world, &frame.ip.to_bytes()))
                .and_then(|()| scatter.write(world, frame.payload))
                .map_err(|_| Refusal::Memory)?;
            self.armed = None;
            world.complete(Received {
                byte_len: byte_len as u32,
                imm: frame.imm.unwrap_or(0),
                flags: super::flags(frame) | receive_flags::GLOBAL_ROUTE,
                source_qp: deth.source_qp,
                solicited: frame.bth.solicited == 1,
                ..Received::failed(name, Status::Success)
            });
            Ok(())
        });
        match received {
            Ok(()) => Outcome::Executed,
            Err(refusal) => self.drop_message(refusal, settings, world),
        }
    }

    /// Drops a packet that cannot be executed; only errors of this side fail the queue pair.
    fn drop_message<W: World + ?Sized>(
        &mut self,
        refusal: Refusal,
        settings: &Settings,
        world: &mut W,
    ) -> Outcome {
        let status = match refusal {
            Refusal::NotReady | Refusal::Invalid | Refusal::Invalidate => {
                Status::RemoteInvalidRequestError
            }
            Refusal::Length => Status::LocalLengthError,
            Refusal::Access => Status::RemoteAccessError,
            Refusal::Receive(name, status) => {
                world.complete(Received::failed(name, status));
                return Outcome::Error;
            }
            Refusal::Memory => {
                if let Some(name) = self.take_receive() {
                    world.complete(Received::failed(name, Status::LocalProtectionError));
                }
                return Outcome::Error;
            }
            Refusal::Overrun => return Outcome::Error,
        };
        self.abandon(status, settings, world);
        Outcome::Dropped
    }

    /// Gives up the message in progress. Its receive is used for the next one; that of a shared
    /// queue, which other queue pairs may wait for, completes with `status`.
    fn abandon<W: World + ?Sized>(&mut self, status: Status, settings: &Settings, world: &mut W) {
        if let Some(Message::Send { receive, filling, .. }) = self.message.take() {
            filling.abandon(world);
            self.armed = Some(receive);
        }
        if settings.shared
            && let Some(receive) = self.armed.take()
        {
            world.complete(Received::failed(receive.name, status));
        }
    }
}
