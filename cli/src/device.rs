//! Opening a device by its URI.

use std::env;

use drdma_abi::receive::features;
use drdma_driver::{
    Card,
    vfio::{self, VfioError},
};
use drdma_sim::{
    OpenError, PrepareError, Slot, VerilatedError, Watch as _,
    rtl::BuildError,
    wire::{Network, PeerConfig, WireError},
};
use libdrdma::{Context, Features, MacAddress, Options};

use crate::{
    building::Progress,
    interrupt,
    job::{Job, Local},
};

/// Kind of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The reference model, without a meaningful clock.
    Soft,
    /// The Verilated RTL.
    Rtl,
    /// A board behind VFIO, on a real network.
    Board,
}

/// Why a device was not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The URI names no device, or has an option that does not exist.
    #[error(transparent)]
    Uri(OpenError),
    /// A program that the build of the simulated hardware needs is not installed.
    #[error(
        "the simulated hardware cannot be built: there is no {} on this machine. Install with \
         `cargo xtask setup` (or `apt-get install {}` on Debian and Ubuntu), or use \
         `--device soft:`, the reference model, which needs neither Verilator nor a C++ compiler",
        packages.join(" and no "),
        packages.join(" ")
    )]
    Missing {
        /// Names of the missing packages, as Debian has them.
        packages: Vec<&'static str>,
    },
    /// The device cannot be opened.
    #[error("{uri} cannot be opened: {source}; `--device soft:` is the reference model")]
    Open {
        /// URI of the device.
        uri: String,
        /// Error of the device.
        source: OpenError,
    },
    /// The simulated hardware was not built.
    #[error("{uri} cannot be opened: {source}; `--device soft:` is the reference model")]
    Build {
        /// URI of the device.
        uri: String,
        /// Error of the build.
        source: BuildError,
    },
    /// Ctrl-C was pressed before the device was open.
    #[error("interrupted; nothing was kept of the build")]
    Interrupted,
    /// The board cannot be opened.
    #[error(transparent)]
    Vfio(#[from] VfioError),
}

impl DeviceError {
    /// True if the command line is wrong and not the machine.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Uri(_) => true,
            Self::Vfio(error) => error.is_usage(),
            _ => false,
        }
    }
}

impl Kind {
    /// The kind of device that a URI names; `Soft` for every scheme but `rtl:` and `vfio:`.
    pub fn of(uri: &str) -> Self {
        match uri.split(':').next() {
            Some("rtl") => Self::Rtl,
            Some("vfio") => Self::Board,
            _ => Self::Soft,
        }
    }

    /// Features of a simulated card of that kind, beside sending.
    pub fn features(self) -> Features {
        match self {
            Self::Soft => Features::from_bits_truncate(features::ALL),
            Self::Rtl | Self::Board => Features::from_bits_truncate(features::RTL),
        }
    }
}

/// True if the URI has the option.
pub fn has_option(uri: &str, option: &str) -> bool {
    let options = uri.split_once('?').map_or("", |(_, options)| options);
    options.split('&').any(|o| o.split('=').next() == Some(option))
}

/// The URI with an option, unless it has it already.
pub fn with_option(uri: &str, option: &str, value: u64) -> String {
    let (_, options) = uri.split_once('?').unwrap_or((uri, ""));
    match (has_option(uri, option), options) {
        (true, _) => uri.to_owned(),
        (false, "") => format!("{}?{option}={value}", uri.trim_end_matches('?')),
        (false, _) => format!("{uri}&{option}={value}"),
    }
}

/// The URI without an option.
pub fn without_option(uri: &str, option: &str) -> String {
    let Some((scheme, options)) = uri.split_once('?') else { return uri.to_owned() };
    let is_other = |other: &&str| other.split('=').next() != Some(option);
    let others: Vec<_> = options.split('&').filter(is_other).collect();
    match others.is_empty() {
        true => scheme.to_owned(),
        false => format!("{scheme}?{}", others.join("&")),
    }
}

/// Opens the card that a URI names. A simulated one is plugged into `network`.
///
/// # Errors
/// See [`DeviceError`].
pub fn open(uri: &str, network: &Network) -> Result<Box<dyn Card>, DeviceError> {
    if Kind::of(uri) == Kind::Board {
        return Ok(Box::new(vfio::open(uri)?));
    }
    Ok(open_slot(uri, network)?)
}

/// Opens the simulated card that a URI names, plugged into `network`, with its slot.
/// The simulated hardware is built first, with its progress on standard error.
///
/// # Errors
/// See [`DeviceError`].
pub fn open_slot(uri: &str, network: &Network) -> Result<Box<dyn Slot>, DeviceError> {
    // Without a handler Ctrl-C ends this process and those of the build at once.
    let mut progress = Progress::new(interrupt::hold().ok());
    drdma_sim::prepare(uri, &mut progress).map_err(|error| not_built(uri, error))?;
    if progress.interrupted() {
        return Err(DeviceError::Interrupted);
    }
    drop(progress);
    drdma_sim::open_slot(uri, network.clone()).map_err(|source| match source {
        OpenError::Failed(_) => DeviceError::Open { uri: uri.to_owned(), source },
        usage => DeviceError::Uri(usage),
    })
}

fn not_built(uri: &str, error: PrepareError) -> DeviceError {
    let source = match error {
        PrepareError::Uri(error) => return DeviceError::Uri(error),
        PrepareError::Build(BuildError::Verilated(VerilatedError::Interrupted)) => {
            return DeviceError::Interrupted;
        }
        PrepareError::Build(source) => source,
        other => {
            let source = OpenError::Failed(other.to_string());
            return DeviceError::Open { uri: uri.to_owned(), source };
        }
    };
    let packages = match &source {
        BuildError::Verilated(
            VerilatedError::ToolMissing { .. } | VerilatedError::Compile { .. },
        ) => missing_packages(&source.to_string()),
        _ => Vec::new(),
    };
    match packages.is_empty() {
        true => DeviceError::Build { uri: uri.to_owned(), source },
        false => DeviceError::Missing { packages },
    }
}

/// Packages for building the simulated hardware that are missing, going by the path and by what a
/// build said: tools are called like their packages; waveforms need the headers of zlib.
fn missing_packages(error: &str) -> Vec<&'static str> {
    let folders = env::var_os("PATH").unwrap_or_default();
    let present = |tool: &str| env::split_paths(&folders).any(|f| f.join(tool).is_file());
    let mut missing: Vec<_> =
        ["verilator", "g++"].into_iter().filter(|tool| !present(tool)).collect();
    if error.contains("zlib.h") || error.contains("-lz") {
        missing.push("zlib1g-dev");
    }
    missing
}

/// Settings of a card's optimizer; `None` is the card's own value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Optimizer {
    /// Longest DMA read in bytes.
    pub max_read: Option<u32>,
    /// The widest gap in bytes that is read through.
    pub merge_threshold: Option<u32>,
}

/// Sets up a card with these addresses.
///
/// # Errors
/// The card is of another type or version, or failed.
pub fn set_up(card: Box<dyn Card>, local: Local) -> Result<Context, libdrdma::Error> {
    set_up_with(card, local, Optimizer::default())
}

/// Sets up a card with these addresses and settings of its optimizer.
///
/// # Errors
/// The card is of another type or version, or failed; a value outside its limits.
pub fn set_up_with(
    card: Box<dyn Card>,
    local: Local,
    optimizer: Optimizer,
) -> Result<Context, libdrdma::Error> {
    let mut options = options(local);
    options.max_read = optimizer.max_read;
    options.merge_threshold = optimizer.merge_threshold;
    Context::open(card, options)
}

/// Sets up a card with keys that are drawn from a seed, so that a simulation is the same each time.
///
/// # Errors
/// The card is of another type or version, or failed.
pub fn set_up_from_seed(
    card: Box<dyn Card>,
    local: Local,
    key_seed: u64,
) -> Result<Context, libdrdma::Error> {
    let mut options = options(local);
    options.key_seed = Some(key_seed);
    Context::open(card, options)
}

fn options(local: Local) -> Options {
    let [_, _, mac @ ..] = local.mac.to_be_bytes();
    let mut options = Options::new(MacAddress(mac), local.ip.into());
    // `--timeout` says how long a peer is waited for, and names the posts that are not complete.
    options.ack_timeout = 0;
    options
}

/// Adds a peer to the network for every queue pair of a job.
pub fn add_peers(job: &Job, network: &Network) {
    network.add_peers(job.qps.iter().map(|qp| PeerConfig {
        card_mac: Some(job.local.mac),
        card_ip: Some(job.local.ip),
        mtu: qp.mtu,
        start_psn: Some(qp.start_psn),
        qkey: qp.qkey,
        tos: qp.dscp << 2 | qp.ecn,
        ttl: qp.ttl,
        vlan: qp.vlan.map(|tag| u16::from(tag.priority) << 13 | tag.id),
        keep_messages: false,
        ..PeerConfig::new(qp.transport, qp.dest_mac, qp.dest_ip, qp.dest_qpn, qp.qpn)
    }));
}

/// The errors that the network found, as one text; `None` if there are none.
pub fn complaints(errors: &[WireError]) -> Option<String> {
    let first: Vec<_> = errors.iter().take(3).map(WireError::to_string).collect();
    let more = match errors.len() {
        0 => return None,
        1..=3 => String::new(),
        n => format!("; and {} more", n - 3),
    };
    Some(first.join("; ") + &more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_names_a_kind_of_device() {
        for (uri, kind) in [
            ("soft:", Kind::Soft),
            ("rtl:?stall=0.1", Kind::Rtl),
            ("vfio:0000:65:00.0", Kind::Board),
            ("vfio", Kind::Board),
            ("hard:", Kind::Soft),
        ] {
            assert_eq!(Kind::of(uri), kind, "{uri}");
        }
    }

    #[test]
    fn an_option_is_added_once() {
        for (uri, expected) in [
            ("rtl:", "rtl:?cycles=32"),
            ("rtl:?", "rtl:?cycles=32"),
            ("rtl:?stall=0.1", "rtl:?stall=0.1&cycles=32"),
            ("rtl:?cycles=8&stall=0", "rtl:?cycles=8&stall=0"),
        ] {
            assert_eq!(with_option(uri, "cycles", 32), expected);
        }
    }

    #[test]
    fn an_option_is_taken_away() {
        for (uri, expected) in [
            ("rtl:", "rtl:"),
            ("rtl:?trace=t.fst", "rtl:"),
            ("rtl:?stall=0.1&trace=t.fst&seed=2", "rtl:?stall=0.1&seed=2"),
            ("rtl:?tracer=1", "rtl:?tracer=1"),
        ] {
            assert_eq!(without_option(uri, "trace"), expected);
        }
    }
}
