//! The cards of a fabric.

use drdma_driver::Card;
use drdma_fabric::{SlotCard, TimedCard};
use drdma_sim::wire::Network as Wire;
use drdma_soft::{simulated::SimulatedCard, uri::DeviceUri};

use crate::device::{self, DeviceError, Kind};

/// A card before its time begins.
pub(super) enum FabricCard {
    /// The reference card.
    Soft(SimulatedCard),
    /// The Verilated RTL.
    Rtl(SlotCard),
}

impl FabricCard {
    /// The card that a URI names.
    pub fn open(uri: &str) -> Result<Self, DeviceError> {
        if Kind::of(uri) == Kind::Rtl {
            let wire = Wire::new();
            // The time of a simulation goes on cycle by cycle.
            let slot = device::open_slot(&device::with_option(uri, "cycles", 1), &wire)?;
            return Ok(Self::Rtl(SlotCard::new(slot, wire)));
        }
        let parsed: DeviceUri = uri.parse().map_err(DeviceError::Uri)?;
        // What `soft:` has to say of other schemes and of options.
        drdma_soft::open(&parsed.to_string(), Wire::new()).map_err(DeviceError::Uri)?;
        Ok(Self::Soft(SimulatedCard::new()))
    }

    /// The card for libdrdma.
    pub fn card(&self) -> Box<dyn Card> {
        match self {
            Self::Soft(card) => card.card(),
            Self::Rtl(card) => card.card(),
        }
    }

    /// The card for the simulation, whose time begins now.
    pub fn timed(self) -> Box<dyn TimedCard> {
        match self {
            Self::Soft(card) => Box::new(card),
            Self::Rtl(card) => Box::new(card.starting_now()),
        }
    }
}
