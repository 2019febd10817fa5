//! The reference card `soft:`, and the environment of any simulated card: host memory on one side,
//! a network of peers on the other. Nothing here needs RTL, Verilator or a C++ compiler.
//!
//! | module | |
//! |---|---|
//! | [`host`] | the memory that was mapped for a card |
//! | [`clock`] | how long a card worked |
//! | [`wire`] | the network: switch, peers, capture |
//! | [`port`] | the card's port with a wire that leads out of the process |
//! | [`slot`] | what holds a simulated card: mapped memory, reset, whether it is at work |
//! | [`simulated`] | a card whose time its owner advances |
//! | [`card`] | the semantics behind the card's registers: a [`Card`](drdma_driver::Card) without RTL |
//! | [`uri`] | device URIs and their options |
//!
//! A program opens the card by its URI and drives it through the same trait as a board:
//!
//! ```
//! use drdma_abi::register;
//! use drdma_driver::Card as _;
//! use drdma_soft::{open, wire::Network};
//!
//! let mut card = open("soft:", Network::new())?;
//! assert_eq!(card.read(register::TYPE.offset)?, register::TYPE_ID);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(unsafe_code)]

pub mod card;
pub mod clock;
pub mod host;
pub mod port;
pub mod simulated;
pub mod slot;
pub mod uri;
pub mod wire;

pub use card::SoftCard;
pub use clock::SimClock;
pub use slot::Slot;
pub use uri::OpenError;
use uri::{DeviceUri, Options};
use wire::Network;

/// Opens the reference card, plugged into `network`.
///
/// | URI | options |
/// |---|---|
/// | `soft:` | `cycles`: clock cycles in a call of `progress` (default: 1,024); `endpoint` (default: 0): with 1 it does less work for the same packets ([`SimulatedCard::endpoint`](simulated::SimulatedCard::endpoint)) |
///
/// # Errors
/// [`OpenError`] if the scheme is another one, or an option is unknown or has an invalid value.
pub fn open(uri: &str, network: Network) -> Result<SoftCard, OpenError> {
    let uri: DeviceUri = uri.parse()?;
    match uri.scheme() {
        "soft" => open_with(uri.into_options(), network),
        scheme => {
            Err(OpenError::UnknownScheme { scheme: scheme.into(), known: "there is only soft:" })
        }
    }
}

/// Like [`open`], with the options of a URI whose scheme is known to be `soft`.
///
/// # Errors
/// [`OpenError`] if an option is unknown or has an invalid value.
pub fn open_with(mut options: Options, network: Network) -> Result<SoftCard, OpenError> {
    let cycles = options.take("cycles")?.unwrap_or(card::CYCLES_PER_PROGRESS);
    let is_endpoint = options.take("endpoint")?.unwrap_or(false);
    options.finish()?;
    let card = SoftCard::new(network).with_cycles_per_progress(cycles);
    Ok(if is_endpoint { card.endpoint() } else { card })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_scheme_or_option_is_named() {
        let fails = |uri| open(uri, Network::new()).expect_err("refused").to_string();
        assert_eq!(fails("rtl:"), "`rtl:` is no simulated card; there is only soft:");
        assert_eq!(fails("soft:?tags=4"), "`soft:` has no option `tags`; it has cycles, endpoint");
        assert_eq!(fails("soft:?endpoint=2"), "option `endpoint` is `2`: must be 0 or 1");
    }
}
