//! Opening a device by its URI.

use drdma_driver::{Card, CardError};
use drdma_sim::wire::{Network, PeerConfig};

use crate::job::Job;

/// What kind of device it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The reference model: it has no clock.
    Soft,
    /// The Verilated RTL.
    Rtl,
}

/// A device and the network that it sends to.
pub struct Device {
    /// The card.
    pub card: Box<dyn Card>,
    /// The network; peers are added to it.
    pub network: Network,
    /// What kind of card it is.
    pub kind: Kind,
}

/// Why a device was not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The URI names no kind of device that can be used here.
    #[error(
        "\"{uri}\" is no device that can be used here: `soft:` is the reference model, `rtl:` the \
         simulated hardware"
    )]
    Unknown {
        /// The URI.
        uri: String,
    },
    /// Something is missing on this machine.
    #[error(
        "the simulated hardware needs {missing}, which {} not installed: run `cargo xtask setup` \
         (on Debian and Ubuntu: `apt-get install {missing}`), or use `--device soft:`, the \
         reference model, which needs nothing",
        if missing.contains(' ') { "are" } else { "is" }
    )]
    Missing {
        /// Packages, separated by spaces.
        missing: String,
    },
    /// The device cannot be opened.
    #[error("{uri} cannot be opened: {source}")]
    Open {
        /// The URI.
        uri: String,
        /// Why.
        source: CardError,
    },
}

impl Kind {
    /// The kind of device that a URI names.
    ///
    /// # Errors
    /// It names none.
    pub fn of(uri: &str) -> Result<Self, DeviceError> {
        match uri.split_once(':') {
            Some(("soft", _)) => Ok(Self::Soft),
            Some(("rtl", _)) => Ok(Self::Rtl),
            _ => Err(DeviceError::Unknown { uri: uri.to_owned() }),
        }
    }
}
