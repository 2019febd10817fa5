//! The simulated card: reference model, Verilated RTL, host memory and PCIe, wire and peers.
//!
//! | module | |
//! |---|---|
//! | [`model`] | what a work request means, in plain Rust, from docs/semantics.md |
//! | [`soft`] | the model behind the card's registers: a [`Card`] without RTL |
//! | [`wire`] | the network that a simulated card is plugged into: switch, peers, capture |
//! | [`uri`] | device URIs |
//!
//! A program opens a card by its URI and drives it through the same trait as a board:
//!
//! ```
//! use drdma_sim::{open, wire::Network};
//! use drdma_abi::register;
//!
//! let mut card = open("soft:", Network::new())?;
//! assert_eq!(card.read(register::TYPE.offset)?, register::TYPE_ID);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(unsafe_code)]

pub mod model;
pub mod pcie;
pub mod soft;
#[cfg(test)]
pub(crate) mod testing;
pub mod uri;
pub mod wire;

use drdma_driver::Card;

pub use uri::OpenError;
use uri::{DeviceUri, Options};
use wire::Network;

/// The schemes that [`open`] knows.
const SCHEMES: &str = "soft:";

/// Opens the simulated card that `uri` names, plugged into `network`.
///
/// | URI | options |
/// |---|---|
/// | `soft:` | `cycles`: clock cycles in a call of `progress`, 1,024 unless told |
///
/// # Errors
/// If the scheme or an option is unknown, or an option's value does not fit.
pub fn open(uri: &str, network: Network) -> Result<Box<dyn Card>, OpenError> {
    let uri: DeviceUri = uri.parse()?;
    match uri.scheme() {
        "soft" => open_soft(uri.into_options(), network),
        scheme => Err(OpenError::UnknownScheme { scheme: scheme.into(), known: SCHEMES }),
    }
}

fn open_soft(mut options: Options, network: Network) -> Result<Box<dyn Card>, OpenError> {
    let cycles = options.take("cycles")?.unwrap_or(soft::CYCLES_PER_PROGRESS);
    options.finish()?;
    Ok(Box::new(soft::SoftCard::new(network).with_cycles_per_progress(cycles)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_device_or_option_is_named() {
        let fails = |uri| open(uri, Network::new()).err().expect("refused").to_string();
        assert_eq!(fails("hard:"), "`hard:` is no simulated card; there are soft:");
        assert_eq!(fails("soft:?tags=4"), "`soft:` has no option `tags`; it has cycles");
    }
}
