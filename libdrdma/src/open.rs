//! Opening cards by their names.

use drdma_driver::{
    Card,
    vfio::{self, VfioError},
};

#[cfg(feature = "soft")]
use crate::network::Network;

/// Error of opening a card by its name.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The name begins with no known scheme.
    #[error("`{0}` names no card: it must begin with `vfio:`, `soft:` or `rtl:`")]
    Scheme(String),
    /// This program was built without support for that kind of card.
    #[error("`{uri}` is not possible: libdrdma was built without its feature `{feature}`")]
    Feature {
        /// Name of the card that was to be opened.
        uri: String,
        /// The feature that is missing.
        feature: &'static str,
    },
    /// The options of a simulated card are wrong, or it cannot be built.
    #[cfg(feature = "soft")]
    #[error(transparent)]
    Simulated(#[from] drdma_soft::OpenError),
    /// The board cannot be used.
    #[error(transparent)]
    Vfio(#[from] VfioError),
}

/// Opens a card by its name.
///
/// | name | card | feature |
/// |---|---|---|
/// | `vfio:0000:65:00.0` | a board, at that PCI address, which is bound to `vfio-pci` | |
/// | `soft:` | the reference model, in this process | `soft` (default) |
/// | `rtl:` | the simulated hardware, in this process; needs Verilator and a C++ compiler when it is opened first | `rtl` |
///
/// Simulated cards take options, as in `soft:?cycles=4096`. They are plugged into a network that has a
/// peer at every address, which acknowledges whatever comes; `open_on` has one that you know.
///
/// ```
/// use libdrdma::{Context, Options};
///
/// let card = libdrdma::open("soft:")?;
/// let context = Context::open(card, Options::new("02:00:00:00:00:01".parse()?, [10, 0, 0, 1].into()))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// `DeviceError::Scheme` for an unknown name, `Feature` for a card that this program was built
/// without, or `Simulated` or `Vfio` if the card itself cannot be opened.
pub fn open(uri: &str) -> Result<Box<dyn Card>, DeviceError> {
    if uri.starts_with("vfio:") {
        return Ok(Box::new(vfio::open(uri)?));
    }
    #[cfg(feature = "soft")]
    {
        let network = Network::new();
        network.answer_everywhere();
        open_on(uri, &network)
    }
    #[cfg(not(feature = "soft"))]
    Err(without(uri))
}

/// Opens a simulated card by its name, plugged into `network`: it reaches the peers of that
/// network, and no others. A board has a network of its own, and ignores this one.
///
/// # Errors
/// As [`open`].
#[cfg(feature = "soft")]
pub fn open_on(uri: &str, network: &Network) -> Result<Box<dyn Card>, DeviceError> {
    match uri.split_once(':').map(|(scheme, _)| scheme) {
        Some("vfio") => open(uri),
        Some("soft") => Ok(Box::new(drdma_soft::open(uri, network.clone())?)),
        #[cfg(feature = "rtl")]
        Some("rtl") => Ok(drdma_sim::open(uri, network.clone())?),
        _ => Err(without(uri)),
    }
}

/// Makes the error for a card that this program was built without.
fn without(uri: &str) -> DeviceError {
    let features = [("soft:", "soft"), ("rtl:", "rtl")];
    match features.into_iter().find(|(scheme, _)| uri.starts_with(scheme)) {
        Some((_, feature)) => DeviceError::Feature { uri: uri.into(), feature },
        None => DeviceError::Scheme(uri.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_card_is_named() {
        let fails = |uri| open(uri).err().expect("refused").to_string();
        let text = "`hard:` names no card: it must begin with `vfio:`, `soft:` or `rtl:`";
        assert_eq!(fails("hard:"), text);
        assert_eq!(fails("soft"), text.replace("hard:", "soft"));
        assert!(fails("vfio:x").starts_with("`vfio:x` names no card"));
        #[cfg(feature = "soft")]
        assert_eq!(fails("soft:?tags=4"), "`soft:` has no option `tags`; it has cycles, endpoint");
        #[cfg(not(feature = "rtl"))]
        assert_eq!(
            fails("rtl:?mrrs=128"),
            "`rtl:?mrrs=128` is not possible: libdrdma was built without its feature `rtl`"
        );
    }
}
