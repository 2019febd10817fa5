//! The simulated cards: the Verilated hardware, and `soft:` (`drdma-soft`) by the same URIs.
//!
//! | module | |
//! |---|---|
//! | [`rtl`] | the Verilated card at Corundum's ports |
//! | [`pcie`] | the host behind these ports: DMA engine, timing |
//! | [`flash`] | the flash that a board boots from |
//!
//! [`clock`], [`slot`], [`uri`] and [`wire`], the surroundings of any simulated card, are
//! `drdma-soft`'s.
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

#[cfg(test)]
mod cards;
pub mod flash;
pub mod pcie;
pub mod rtl;

use drdma_driver::Card;

pub use drdma_soft::{OpenError, SimClock, Slot, clock, slot, uri, wire};
pub use drdma_verilated::{Error as VerilatedError, Step, Watch};
use uri::{DeviceUri, Options};
use wire::Network;

/// The schemes that [`open`] knows.
const SCHEMES: &str = "there are soft: and rtl:";

/// Opens the simulated card that `uri` names, plugged into `network`.
///
/// | URI | options |
/// |---|---|
/// | `soft:` | `cycles`: clock cycles in a call of `progress` (default: 1,024); `endpoint` (0): 1: it is used for what it sends and receives, and does not plan DMA reads |
/// | `rtl:` | `pcie_tags` (64), `mrrs` (512 B), `mps` (256 B), `latency_ns` (1,300): the host; `stall` (0): probability that a handshake stalls; `seed` (1); `trace`: FST file to write; `cycles` (256): clock cycles in a call of `progress`; `column_rows` (96): the register `COLUMN_MIN_ROWS` from the start; `words` (16): the register `ASSEMBLER_WORDS` from the start, 1 to 16 |
///
/// # Errors
/// If the scheme or an option is unknown, or an option's value does not fit.
pub fn open(uri: &str, network: Network) -> Result<Box<dyn Card>, OpenError> {
    Ok(open_slot(uri, network)?)
}

/// Like [`open`], but returns the card with its slot.
///
/// # Errors
/// Those of [`open`].
pub fn open_slot(uri: &str, network: Network) -> Result<Box<dyn Slot>, OpenError> {
    let uri: DeviceUri = uri.parse()?;
    match uri.scheme() {
        "soft" => Ok(Box::new(drdma_soft::open_with(uri.into_options(), network)?)),
        "rtl" => open_rtl(uri.into_options(), network),
        scheme => Err(OpenError::UnknownScheme { scheme: scheme.into(), known: SCHEMES }),
    }
}

/// Prepares what takes minutes before the card of `uri` is opened for the first time: the simulated
/// hardware is built. `watch` is called at every step, and not at all if it is built already.
///
/// # Errors
/// If the URI is wrong (as [`open`] says), or the hardware was not built.
pub fn prepare(uri: &str, watch: &mut dyn Watch) -> Result<(), PrepareError> {
    let uri: DeviceUri = uri.parse()?;
    match uri.scheme() {
        "rtl" => {
            let config = rtl_config(uri.into_options())?;
            rtl::build(config.trace.is_some(), config.verilog.as_deref(), watch)?;
        }
        "soft" => {}
        scheme => {
            return Err(OpenError::UnknownScheme { scheme: scheme.into(), known: SCHEMES }.into());
        }
    }
    Ok(())
}

/// Why a card is not ready to be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrepareError {
    /// The URI is wrong.
    #[error(transparent)]
    Uri(#[from] OpenError),
    /// The simulated hardware was not built.
    #[error(transparent)]
    Build(#[from] rtl::BuildError),
}

fn open_rtl(options: Options, network: Network) -> Result<Box<dyn Slot>, OpenError> {
    rtl::RtlCard::new(rtl_config(options)?, network)
        .map(|card| Box::new(card) as Box<dyn Slot>)
        .map_err(|error| OpenError::Failed(error.to_string()))
}

fn rtl_config(mut options: Options) -> Result<rtl::Config, OpenError> {
    let mut config = rtl::Config::default();
    let pcie = &mut config.pcie;
    pcie.tags = options.take("pcie_tags")?.unwrap_or(pcie.tags);
    pcie.max_read_request = options.take("mrrs")?.unwrap_or(pcie.max_read_request);
    pcie.max_payload = options.take("mps")?.unwrap_or(pcie.max_payload);
    pcie.latency_ns = options.take("latency_ns")?.unwrap_or(pcie.latency_ns);
    pcie.stall = options.take("stall")?.unwrap_or(pcie.stall);
    pcie.seed = options.take("seed")?.unwrap_or(pcie.seed);
    config.trace = options.take("trace")?;
    config.cycles_per_progress = options.take("cycles")?.unwrap_or(config.cycles_per_progress);
    config.column_rows = options.take("column_rows")?;
    config.words = options.take("words")?;
    options.finish()?;
    config.check()?;
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_device_or_option_is_named() {
        let fails = |uri| open(uri, Network::new()).err().expect("refused").to_string();
        assert_eq!(fails("hard:"), "`hard:` is no simulated card; there are soft: and rtl:");
        assert_eq!(fails("soft:?tags=4"), "`soft:` has no option `tags`; it has cycles, endpoint");
    }
}
