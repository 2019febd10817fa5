//! Destination of a SEND's bytes: the regions of its receive, or rows of an append region.

use drdma_abi::completion::Status;

use super::{Refusal, Responder, World};
use crate::{
    append::NoRows,
    frame::Frame,
    receive::Receive,
    scatter::{Scatter, Target},
};

/// The memory that is filled, and the progress there.
#[derive(Clone, Debug)]
pub(super) enum Filling {
    /// Regions.
    Regions(Scatter),
    /// The append region of that number, and the row that the message's first row became.
    Rows { append: u32, first: u32 },
}

impl Responder {
    /// Takes the receive for a SEND with its first packet, and the memory that the SEND fills.
    pub(super) fn begin_filling<W: World + ?Sized>(
        &mut self,
        frame: &Frame<'_>,
        pd: u32,
        world: &mut W,
    ) -> Result<(Receive, Filling), Refusal> {
        let was_armed = self.armed.is_some();
        let receive = self.next_receive(world)?;
        let Some(append) = receive.target.append else {
            let scatter = receive.target.scatter();
            return Ok((receive, Filling::Regions(scatter)));
        };
        match take_rows(append, frame.payload.len() as u64, pd, world) {
            Ok(first) => Ok((receive, Filling::Rows { append, first })),
            Err(Taking::Later) => {
                match was_armed {
                    true => self.armed = Some(receive),
                    false => world.put_back(receive.name),
                }
                Err(Refusal::NotReady)
            }
            Err(Taking::TooLong) => {
                self.armed = Some(receive);
                Err(Refusal::Length)
            }
            Err(Taking::Wrong(status)) => Err(Refusal::Receive(receive.name, status)),
        }
    }
}

/// Reason why no rows are taken.
enum Taking {
    Later,
    TooLong,
    /// The region itself is invalid.
    Wrong(Status),
}

/// Takes rows for a message of which `len` bytes have arrived; returns the first row.
fn take_rows<W: World + ?Sized>(
    append: u32,
    len: u64,
    pd: u32,
    world: &mut W,
) -> Result<u32, Taking> {
    let queue_pair = world.queue_pair();
    let Some(region) = world.append(append) else {
        return Err(Taking::Wrong(Status::LocalQpOperationError));
    };
    if region.pd != pd || !world.is_append_allowed(append) {
        return Err(Taking::Wrong(Status::LocalProtectionError));
    }
    let region = world.append(append).expect("it was there");
    region.take(queue_pair, len).map_err(|error| match error {
        NoRows::Yet => Taking::Later,
        NoRows::Ever => Taking::TooLong,
    })
}

impl Filling {
    /// Checks that a message of `len` bytes up to this packet, which may be its last, fits.
    pub fn check<W: World + ?Sized>(
        &self,
        target: &Target,
        len: u32,
        (last, pd): (bool, u32),
        world: &mut W,
    ) -> Result<(), Refusal> {
        let Self::Rows { append, first } = self else {
            let fits = u128::from(len) <= target.capacity;
            return if fits { Ok(()) } else { Err(Refusal::Length) };
        };
        let queue_pair = world.queue_pair();
        let region = world.append(*append).filter(|region| region.is_taken_by(queue_pair));
        let row_len = region.ok_or(Refusal::Memory)?.row_len();
        match take_rows(*append, len.into(), pd, world) {
            // The host has written the region's entry again: it is a different region now.
            Ok(now) if now != *first => Err(Refusal::Memory),
            Ok(_) if last && !u64::from(len).is_multiple_of(row_len) => Err(Refusal::Length),
            Ok(_) => Ok(()),
            Err(Taking::Later) => Err(Refusal::NotReady),
            Err(Taking::TooLong) => Err(Refusal::Length),
            Err(Taking::Wrong(_)) => Err(Refusal::Memory),
        }
    }

    /// Writes the bytes of a packet behind the `before` bytes of earlier packets.
    pub fn write<W: World + ?Sized>(
        &mut self,
        world: &mut W,
        before: u32,
        bytes: &[u8],
    ) -> Result<(), Refusal> {
        match self {
            Self::Regions(scatter) => scatter.write(world, bytes).map_err(|_| Refusal::Memory),
            Self::Rows { append, first } => {
                let region = world.append(*append).ok_or(Refusal::Memory)?;
                let runs = region.runs(*first, before.into(), bytes.len() as u32);
                world.write_runs(&runs, bytes).map_err(|_| Refusal::Memory)
            }
        }
    }

    /// Ends the message of `len` bytes; returns its first row, if it was appended.
    pub fn finish<W: World + ?Sized>(&self, world: &mut W, len: u32) -> Option<u32> {
        let Self::Rows { append, first } = self else { return None };
        let queue_pair = world.queue_pair();
        if let Some(region) = world.append(*append) {
            region.commit(queue_pair, len.into());
        }
        Some(*first)
    }

    /// Gives up a message that will not arrive.
    pub fn abandon<W: World + ?Sized>(&self, world: &mut W) {
        if let Self::Rows { append, .. } = self {
            let queue_pair = world.queue_pair();
            if let Some(region) = world.append(*append) {
                region.abandon(queue_pair);
            }
        }
    }
}
