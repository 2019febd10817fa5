//! The cards of a fabric.

use std::collections::HashMap;

use drdma_abi::{
    Layout as _,
    roce::{Bth, Ethernet, Ipv4, Udp, cnp, operation},
};
use drdma_driver::{Card, CardError};
use drdma_fabric::{SlotCard, TimedCard};
use drdma_semantics::packets::{psn_distance, source_port};
use drdma_sim::wire::{CapturedFrame, Network as Wire};
use drdma_soft::{host::WriteLog, simulated::SimulatedCard, uri::DeviceUri};

use crate::{
    device::{self, DeviceError, Kind},
    record::{Recorder, Recording},
};

/// A card before its time begins.
pub(super) enum FabricCard {
    /// The reference card.
    Soft(SimulatedCard),
    /// The Verilated RTL.
    Rtl(SlotCard),
    /// The Verilated RTL, recorded.
    Recorded { card: SlotCard, writes: WriteLog, recording: Recording },
}

impl FabricCard {
    /// Opens the card that a URI names. If there is a recording and the card is the RTL, it is recorded.
    pub fn open(uri: &str, recording: Option<Recording>) -> Result<Self, DeviceError> {
        if Kind::of(uri) == Kind::Rtl {
            let wire = Wire::new();
            // The simulation advances cycle by cycle.
            let mut slot = device::open_slot(&device::with_option(uri, "cycles", 1), &wire)?;
            let writes = recording.as_ref().map(|_| slot.host().log_writes());
            let card = SlotCard::new(slot, wire);
            return Ok(match recording.zip(writes) {
                Some((recording, writes)) => Self::Recorded { card, writes, recording },
                None => Self::Rtl(card),
            });
        }
        let parsed: DeviceUri = uri.parse().map_err(DeviceError::Uri)?;
        // `soft:` makes the error for other schemes and options.
        drdma_soft::open(&parsed.to_string(), Wire::new()).map_err(DeviceError::Uri)?;
        Ok(Self::Soft(SimulatedCard::new()))
    }

    /// The card for libdrdma.
    pub fn card(&self) -> Box<dyn Card> {
        match self {
            Self::Soft(card) => card.card(),
            Self::Rtl(card) => card.card(),
            Self::Recorded { card, writes, recording } => {
                let recorder = Recorder::new(card.card(), recording.clone());
                Box::new(recorder.with_writes(writes.clone()))
            }
        }
    }

    /// The card for the simulation; its time begins now.
    pub fn timed(self) -> Box<dyn TimedCard> {
        match self {
            Self::Soft(card) => Box::new(card),
            Self::Rtl(card) => Box::new(card.starting_now()),
            Self::Recorded { card, recording, .. } => {
                let (failed, sent) = Default::default();
                Box::new(Recorded { card: card.starting_now(), recording, sent, failed })
            }
        }
    }
}

/// A card whose received frames are recorded.
struct Recorded {
    card: SlotCard,
    recording: Recording,
    /// Counts of what the card has sent, by source port, which determines the queue pair.
    sent: HashMap<u16, Sent>,
    /// Error of a frame that could not be recorded.
    failed: Option<CardError>,
}

/// Counts of what a card has sent on a queue pair.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    /// Frames, without acknowledgements and congestion notifications, whose number depends on time.
    frames: u64,
    /// The last sequence number of the peer that it has acknowledged or answered.
    acknowledged: Option<u32>,
}

/// Offsets of headers in frames without tags.
const UDP: usize = Ethernet::SIZE + Ipv4::SIZE;
const BTH: usize = UDP + Udp::SIZE;

impl TimedCard for Recorded {
    fn next_event_ns(&mut self) -> Result<Option<u64>, CardError> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.card.next_event_ns(),
        }
    }

    fn deliver(&mut self, frame: Vec<u8>, at_ns: u64) {
        let bth = frame.get(BTH..BTH + Bth::SIZE).map(Bth::decode);
        let qpn = bth.map_or(0, |bth| bth.dest_qp);
        let sent = self.sent.get(&source_port(qpn)).copied().unwrap_or_default();
        let recorded = self.recording.frame(qpn, sent.frames, sent.acknowledged, &frame);
        self.failed = self.failed.take().or(recorded.err());
        self.card.deliver(frame, at_ns);
    }

    fn advance_to(&mut self, ns: u64) -> Result<(), CardError> {
        self.card.advance_to(ns)
    }

    fn take_sent(&mut self) -> Vec<CapturedFrame> {
        let sent = self.card.take_sent();
        for CapturedFrame { bytes, .. } in &sent {
            let headers = bytes.get(UDP..BTH).zip(bytes.get(BTH..BTH + Bth::SIZE));
            let Some((udp, bth)) = headers.map(|(udp, bth)| (Udp::decode(udp), Bth::decode(bth)))
            else {
                continue;
            };
            let sent = self.sent.entry(udp.source_port).or_default();
            let timed = [operation::ACKNOWLEDGE, cnp::OPCODE].contains(&bth.opcode);
            sent.frames += u64::from(!timed);
            let answers = operation::READ_RESPONSE_FIRST..=operation::ATOMIC_ACKNOWLEDGE;
            if answers.contains(&bth.opcode)
                && sent.acknowledged.is_none_or(|psn| psn_distance(bth.psn, psn) > 0)
            {
                sent.acknowledged = Some(bth.psn);
            }
        }
        sent
    }
}
