//! Who the workers of a cluster are, where they are in processes: what each of these is told.

use std::{
    collections::HashSet,
    fs,
    net::{IpAddr, SocketAddr, UdpSocket},
    path::Path,
};

use drdma_abi::roce::MTUS;
use drdma_fabric::nodes::{self, MAX_NODES};
use drdma_wire::udp::Udp;
use serde::{Deserialize, Serialize};

use crate::{Error, exchange::Config, exchange::site::Member};

/// Path MTU unless told: its frames fit an Ethernet of 1,500 B, UDP's header included.
const MTU: u32 = 1024;

/// Where a worker is. All three are addresses of its host, at which it listens and others reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// TCP: the engine's plans.
    pub engine: SocketAddr,
    /// TCP: credits, ends and errors of exchanges.
    pub exchange: SocketAddr,
    /// UDP: the frames of its card.
    pub wire: SocketAddr,
}

/// The workers of a cluster, and what they must agree on. A file has it as JSON.
///
/// ```
/// # use drdma_datafusion::Directory;
/// let text = r#"{
///     "mtu": 1024,
///     "workers": [
///         {"engine": "10.1.0.1:7000", "exchange": "10.1.0.1:7001", "wire": "10.1.0.1:7002"},
///         {"engine": "10.1.0.2:7000", "exchange": "10.1.0.2:7001", "wire": "10.1.0.2:7002"}
///     ]
/// }"#;
/// assert_eq!(Directory::parse(text, "the text")?.workers.len(), 2);
/// # Ok::<(), drdma_datafusion::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Directory {
    /// Payload bytes of a packet: 256 to 4096, a power of two. A frame has 86 B more on its way, UDP's header and IPv4's
    /// included, and must fit the network between the hosts: 1024, the default, fits 1,500 B; 4096 needs jumbo frames.
    #[serde(default = "mtu")]
    pub mtu: u32,
    /// The workers, 1 to 254.
    pub workers: Vec<Place>,
    /// How much memory exchanges take.
    #[serde(default)]
    pub exchange: Config,
}

const fn mtu() -> u32 {
    MTU
}

impl Directory {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or see [`parse`](Self::parse).
    pub fn read(path: &Path) -> Result<Self, Error> {
        let what = path.display().to_string();
        let text = fs::read_to_string(path);
        let text = text
            .map_err(|error| Error::Directory { what: what.clone(), reason: error.to_string() })?;
        Self::parse(&text, &what)
    }

    /// Reads a text; `what` is its name in errors.
    ///
    /// # Errors
    /// It is no JSON of a directory, or names what is not possible: see [`check`](Self::check).
    pub fn parse(text: &str, what: &str) -> Result<Self, Error> {
        let wrong = |reason: String| Error::Directory { what: what.to_owned(), reason };
        let directory: Self =
            serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        directory.check().map_err(wrong)?;
        Ok(directory)
    }

    /// Says what is not possible: a path MTU that queue pairs do not have, no worker or more than 254, a port 0, an address
    /// that nobody can be reached at, or one that two workers have.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), String> {
        if !MTUS.contains(&self.mtu) {
            return Err(format!("mtu is {}: {MTUS:?} are possible", self.mtu));
        }
        let workers = self.workers.len();
        if !(1..=MAX_NODES).contains(&workers) {
            return Err(format!("{workers} workers: 1 to {MAX_NODES} are possible"));
        }
        let mut taken = HashSet::new();
        for (number, Place { engine, exchange, wire }) in self.workers.iter().enumerate() {
            for (name, at, is_udp) in
                [("engine", engine, false), ("exchange", exchange, false), ("wire", wire, true)]
            {
                if at.port() == 0 || at.ip().is_unspecified() {
                    let what = "others cannot reach it there";
                    return Err(format!("{name} of worker {number} is {at}: {what}"));
                }
                if !taken.insert((is_udp, *at)) {
                    return Err(format!("{name} of worker {number} is {at}, which is taken"));
                }
            }
        }
        Ok(())
    }

    /// The workers as the exchanges know them.
    pub(crate) fn members(&self) -> Vec<Member> {
        self.workers.iter().map(|place| Member::new(place.engine, place.exchange)).collect()
    }

    /// The wire of a worker's card, whose socket is bound already.
    pub(crate) fn wire(&self, number: usize, socket: UdpSocket) -> Result<Udp, Error> {
        let others = (0..self.workers.len()).filter(|other| *other != number).collect::<Vec<_>>();
        let remotes: Vec<_> = others.iter().map(|other| self.workers[*other].wire).collect();
        let failed =
            |source| Error::System { what: format!("the wire of worker {number}"), source };
        let mut wire = Udp::over(socket, &remotes).map_err(failed)?;
        for (remote, other) in others.into_iter().enumerate() {
            wire.learn(nodes::addresses(other).0.0, remote);
        }
        Ok(wire)
    }
}

/// A socket for the frames of a card.
pub(crate) fn bind_wire(at: SocketAddr) -> Result<UdpSocket, Error> {
    let what = || format!("a worker's card cannot receive at {at}");
    UdpSocket::bind(at).map_err(|source| Error::System { what: what(), source })
}

/// Any free port at that address.
pub(crate) const fn any_port(ip: IpAddr) -> SocketAddr {
    SocketAddr::new(ip, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Directory, String> {
        Directory::parse(text, "here").map_err(|error| error.to_string())
    }

    fn workers(places: &[&str]) -> String {
        format!(r#"{{"workers": [{}]}}"#, places.join(","))
    }

    const ONE: &str = r#"{"engine": "10.0.0.1:1", "exchange": "10.0.0.1:2", "wire": "10.0.0.1:1"}"#;

    #[test]
    fn what_is_not_told_has_defaults() {
        let directory = parse(&workers(&[ONE])).unwrap();
        assert_eq!((directory.mtu, &directory.exchange), (1024, &Config::default()));
        let text = serde_json::to_string(&directory).unwrap();
        assert_eq!(parse(&text).unwrap(), directory);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, reason) in [
            (workers(&[]), "0 workers: 1 to 254 are possible"),
            (workers(&[ONE, ONE]), "engine of worker 1 is 10.0.0.1:1, which is taken"),
            (
                workers(&[&ONE.replace("10.0.0.1:2", "10.0.0.1:0")]),
                "exchange of worker 0 is 10.0.0.1:0: others cannot reach it there",
            ),
            (
                workers(&[&ONE.replace("10.0.0.1:1\"}", "0.0.0.0:1\"}")]),
                "wire of worker 0 is 0.0.0.0:1: others cannot reach it there",
            ),
            (
                workers(&[ONE]).replace("{\"workers", "{\"mtu\": 1000, \"workers"),
                "mtu is 1000: [256, 512, 1024, 2048, 4096] are possible",
            ),
        ] {
            assert_eq!(parse(&text).unwrap_err(), format!("here: {reason}"));
        }
        let error = parse(&workers(&[ONE]).replace("workers", "worker")).unwrap_err();
        assert!(error.starts_with("here: unknown field `worker`"), "{error}");
        let error = Directory::read("/nowhere".as_ref()).unwrap_err().to_string();
        assert!(error.starts_with("/nowhere: "), "{error}");
    }
}
