//! The transport of a session's exchanges: the workers' cards, or the engine's own.

use std::{fmt, str::FromStr};

use datafusion::{
    common::{config_field, extensions_options},
    config::{self, ConfigExtension, ConfigOptions},
};

/// What carries the rows of shuffles and broadcasts from worker to worker.
///
/// ```
/// # use drdma_datafusion::Transport;
/// assert_eq!("flight".parse(), Ok(Transport::Flight));
/// let error = "tcp".parse::<Transport>().unwrap_err();
/// assert_eq!(error.to_string(), "`tcp` is no exchange: drdma or flight is expected");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// The workers' cards.
    #[default]
    Drdma,
    /// The engine's own exchange: Arrow Flight over gRPC.
    Flight,
}

/// A text that names no [`Transport`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no exchange: drdma or flight is expected")]
pub struct UnknownTransport(String);

impl FromStr for Transport {
    type Err = UnknownTransport;

    fn from_str(text: &str) -> Result<Self, UnknownTransport> {
        match text {
            "drdma" => Ok(Self::Drdma),
            "flight" => Ok(Self::Flight),
            other => Err(UnknownTransport(other.to_owned())),
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Drdma => "drdma",
            Self::Flight => "flight",
        })
    }
}

config_field!(Transport, value => config::default_config_transform(value)?);

extensions_options! {
    /// This crate's options of a session, which `SET drdma.exchange = ...` changes.
    pub struct SessionOptions {
        /// What carries rows from worker to worker: drdma, the workers' cards, or flight, the engine's own exchange.
        pub exchange: Transport, default = Transport::Drdma
    }
}

impl ConfigExtension for SessionOptions {
    const PREFIX: &'static str = "drdma";
}

/// The transport of a session with these options.
pub(crate) fn transport(options: &ConfigOptions) -> Transport {
    options.extensions.get::<SessionOptions>().map_or_else(Transport::default, |own| own.exchange)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_is_written() {
        for transport in [Transport::Drdma, Transport::Flight] {
            assert_eq!(transport.to_string().parse(), Ok(transport));
        }
    }

    #[test]
    fn a_session_says_its_transport_and_refuses_others() {
        let mut options = ConfigOptions::default();
        assert_eq!(transport(&options), Transport::Drdma);
        options.extensions.insert(SessionOptions::default());
        options.set("drdma.exchange", "flight").unwrap();
        assert_eq!(transport(&options), Transport::Flight);
        let error = options.set("drdma.exchange", "udp").unwrap_err().to_string();
        assert!(error.contains("`udp` is no exchange: drdma or flight is expected"), "{error}");
    }
}
