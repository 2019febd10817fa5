//! The directory of a cluster whose workers are processes: their addresses, and what all of them must agree on.

use std::{
    collections::HashSet,
    fmt, fs,
    net::{IpAddr, SocketAddr, UdpSocket},
    path::Path,
    str::FromStr,
};

use drdma_abi::roce::MTUS;
use drdma_fabric::nodes::{self, MAX_NODES};
use drdma_wire::{Wire, tap::Tap, udp::Udp};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{Error, exchange::Config, exchange::site::Member};

/// Default path MTU: its frames fit an Ethernet of 1,500 B, UDP's header included.
const MTU: u32 = 1024;

/// Where a worker is. Its addresses are those of its host, at which it listens and others reach it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// TCP: the engine's plans.
    #[serde(deserialize_with = "address")]
    pub engine: SocketAddr,
    /// TCP: credits, ends and errors of exchanges.
    #[serde(deserialize_with = "address")]
    pub exchange: SocketAddr,
    /// The frames of its card.
    pub wire: WireAt,
}

/// The wire that a worker's card is plugged into.
///
/// ```
/// # use drdma_datafusion::directory::WireAt;
/// assert_eq!("10.1.0.1:7002".parse(), Ok(WireAt::Udp("10.1.0.1:7002".parse().unwrap())));
/// assert_eq!("tap:drdma0".parse(), Ok(WireAt::Tap("drdma0".into())));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WireAt {
    /// `udp:IP:PORT`, or the address alone: UDP, a frame a datagram.
    Udp(SocketAddr),
    /// `tap:NAME`: a network interface of its host, which is made if it is not there. All workers' interfaces are in
    /// one Ethernet, where the card of worker `i` has the addresses of
    /// [`nodes::addresses(i)`](drdma_fabric::nodes::addresses).
    Tap(String),
}

impl FromStr for WireAt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no wire: udp:IP:PORT, IP:PORT or tap:NAME is expected");
        match text.strip_prefix("tap:") {
            Some("") => Err(wrong()),
            Some(name) => Ok(Self::Tap(name.to_owned())),
            None => {
                let address = text.strip_prefix("udp:").unwrap_or(text).parse();
                address.map(Self::Udp).map_err(|_| wrong())
            }
        }
    }
}

impl fmt::Display for WireAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Udp(address) => write!(f, "udp:{address}"),
            Self::Tap(name) => write!(f, "tap:{name}"),
        }
    }
}

impl Serialize for WireAt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for WireAt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// Deserializes an address. The error names what was found instead.
fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(deserializer)?;
    let wrong = |_| de::Error::custom(format!("`{text}` is no address: IP:PORT is expected"));
    text.parse().map_err(wrong)
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
    /// Payload bytes of a packet: 256 to 4096, a power of two. A frame has 86 B more on its way, UDP's header and
    /// IPv4's included, and must fit the network between the hosts: 1024, the default, fits 1,500 B; 4096 needs jumbo
    /// frames.
    #[serde(default = "mtu")]
    pub mtu: u32,
    /// The workers, 1 to 254.
    pub workers: Vec<Place>,
    /// Memory and disk of exchanges.
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
    /// The file cannot be read, or its text is not possible: see [`parse`](Self::parse).
    pub fn read(path: &Path) -> Result<Self, Error> {
        let what = path.display().to_string();
        let text = fs::read_to_string(path);
        let text = text
            .map_err(|error| Error::Directory { what: what.clone(), reason: error.to_string() })?;
        Self::parse(&text, &what)
    }

    /// Reads a directory from JSON; `what` is the text's name in errors.
    ///
    /// # Errors
    /// The text is no JSON of a directory, or has values that are not possible: see [`check`](Self::check).
    pub fn parse(text: &str, what: &str) -> Result<Self, Error> {
        let wrong = |reason: String| Error::Directory { what: what.to_owned(), reason };
        let directory: Self =
            serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        directory.check().map_err(wrong)?;
        Ok(directory)
    }

    /// Says what is not possible: a path MTU that queue pairs do not have, no worker or more than 254, a port 0, an
    /// address that nobody can be reached at or other hosts cannot, one that two workers have, wires of several kinds,
    /// or an exchange that is not possible.
    ///
    /// # Errors
    /// Description of the first value that is not possible.
    pub fn check(&self) -> Result<(), String> {
        if !MTUS.contains(&self.mtu) {
            return Err(format!("mtu is {}: {MTUS:?} are possible", self.mtu));
        }
        let workers = self.workers.len();
        if !(1..=MAX_NODES).contains(&workers) {
            return Err(format!("{workers} workers: 1 to {MAX_NODES} are possible"));
        }
        let mut taken = HashSet::new();
        let is_local = self.workers[0].engine.ip().is_loopback();
        for (number, Place { engine, exchange, wire }) in self.workers.iter().enumerate() {
            let wire = match wire {
                WireAt::Udp(wire) => Some(wire),
                WireAt::Tap(_) => None,
            };
            let addresses =
                [("engine", Some(engine)), ("exchange", Some(exchange)), ("wire", wire)];
            for (name, at) in addresses {
                let Some(at) = at else { continue };
                if at.port() == 0 || at.ip().is_unspecified() {
                    let what = "others cannot reach it there";
                    return Err(format!("{name} of worker {number} is {at}: {what}"));
                }
                if at.ip().is_loopback() != is_local {
                    let what = "some addresses are of this host alone (loopback) and some are not";
                    return Err(format!("{name} of worker {number} is {at}: {what}"));
                }
                if !taken.insert((name == "wire", *at)) {
                    return Err(format!("{name} of worker {number} is {at}, which is taken"));
                }
            }
        }
        self.check_wires()?;
        self.exchange.check().map_err(|error| error.to_string())
    }

    /// Checks that all cards are plugged into wires of one kind.
    fn check_wires(&self) -> Result<(), String> {
        let kind = |wire: &WireAt| match wire {
            WireAt::Udp(at) if at.is_ipv4() => "UDP over IPv4",
            WireAt::Udp(_) => "UDP over IPv6",
            WireAt::Tap(_) => "an interface",
        };
        let Some(first) = self.workers.first().map(|worker| &worker.wire) else { return Ok(()) };
        let other = |(_, worker): &(usize, &Place)| kind(&worker.wire) != kind(first);
        let Some((number, Place { wire, .. })) = self.workers.iter().enumerate().find(other) else {
            return Ok(());
        };
        Err(format!(
            "wire of worker {number} is {wire} ({}), that of worker 0 {first} ({}): all must be of one kind",
            kind(wire),
            kind(first)
        ))
    }

    /// The first difference from another description of the cluster: its name, the value there, and the value here.
    pub(crate) fn difference(&self, there: &Self) -> Option<(String, String, String)> {
        if self.mtu != there.mtu {
            return Some(("mtu".into(), there.mtu.to_string(), self.mtu.to_string()));
        }
        let (count, others) = (self.workers.len(), there.workers.len());
        if count != others {
            let name = "the number of workers";
            return Some((name.into(), others.to_string(), count.to_string()));
        }
        for (number, (here, there)) in self.workers.iter().zip(&there.workers).enumerate() {
            if here != there {
                return Some((format!("worker {number}"), json(there), json(here)));
            }
        }
        (self.exchange != there.exchange)
            .then(|| ("exchange".into(), json(&there.exchange), json(&self.exchange)))
    }

    /// The workers as the exchanges know them.
    pub(crate) fn members(&self) -> Vec<Member> {
        self.workers.iter().map(|place| Member::new(place.engine, place.exchange)).collect()
    }

    /// The wire of a worker's card.
    pub(crate) fn wire(&self, number: usize) -> Result<Box<dyn Wire>, Error> {
        match &self.workers[number].wire {
            WireAt::Udp(at) => self.wire_over(number, bind_wire(*at)?),
            WireAt::Tap(name) => {
                let what = || format!("the wire of worker {number}, interface {name}");
                let tap = Tap::open(name);
                Ok(Box::new(tap.map_err(|source| Error::System { what: what(), source })?))
            }
        }
    }

    /// Like [`wire`](Self::wire), over UDP, with a socket that is bound already.
    pub(crate) fn wire_over(
        &self,
        number: usize,
        socket: UdpSocket,
    ) -> Result<Box<dyn Wire>, Error> {
        let end = |(other, place): (usize, &Place)| match place.wire {
            WireAt::Udp(at) if other != number => Some((other, at)),
            _ => None,
        };
        let others: Vec<_> = self.workers.iter().enumerate().filter_map(end).collect();
        let remotes: Vec<_> = others.iter().map(|(_, at)| *at).collect();
        let failed =
            |source| Error::System { what: format!("the wire of worker {number}"), source };
        let mut wire = Udp::over(socket, &remotes).map_err(failed)?;
        for (remote, (other, _)) in others.into_iter().enumerate() {
            wire.learn(nodes::addresses(other).0.0, remote);
        }
        Ok(Box::new(wire))
    }
}

/// A part of a description as JSON.
fn json(part: &impl Serialize) -> String {
    serde_json::to_string(part).expect("it has a form in JSON")
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
    fn wires_are_written_as_they_are_read() {
        for (text, written) in [
            ("10.0.0.1:7", "udp:10.0.0.1:7"),
            ("udp:[::1]:7", "udp:[::1]:7"),
            ("tap:drdma0", "tap:drdma0"),
        ] {
            let wire: WireAt = text.parse().unwrap();
            assert_eq!(wire.to_string(), written);
            assert_eq!(written.parse(), Ok(wire));
        }
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
        let two = ONE.replace("10.0.0.1", "10.0.0.2");
        let second =
            |wire: &str| workers(&[ONE, &two.replace("10.0.0.2:1\"}", &format!("{wire}\"}}"))]);
        for (text, reason) in [
            (
                second("tap:drdma0"),
                "wire of worker 1 is tap:drdma0 (an interface), that of worker 0 udp:10.0.0.1:1 (UDP over IPv4): all must be of one kind",
            ),
            (
                second("udp:[fd00::2]:1"),
                "wire of worker 1 is udp:[fd00::2]:1 (UDP over IPv6), that of worker 0 udp:10.0.0.1:1 (UDP over IPv4): all must be of one kind",
            ),
            (
                second("127.0.0.1:1"),
                "wire of worker 1 is 127.0.0.1:1: some addresses are of this host alone (loopback) and some are not",
            ),
            (
                workers(&[ONE]).replace("{\"workers", "{\"exchange\": {\"slabs\": 1}, \"workers"),
                "slabs is 1: it must be 2 to 32768",
            ),
            (
                workers(&[ONE]).replace("{\"workers", "{\"exchange\": {\"budget\": 0}, \"workers"),
                "budget is 0: it must be at least 1",
            ),
        ] {
            assert_eq!(parse(&text).unwrap_err(), format!("here: {reason}"));
        }
        for (wrong, reason) in [
            ("tap:", "`tap:` is no wire: udp:IP:PORT, IP:PORT or tap:NAME is expected at line 1 "),
            (
                "udp:here:1",
                "`udp:here:1` is no wire: udp:IP:PORT, IP:PORT or tap:NAME is expected ",
            ),
        ] {
            let error = parse(&second(wrong)).unwrap_err();
            assert!(error.starts_with(&format!("here: {reason}")), "{error}");
        }
        let error = parse(&workers(&[&ONE.replace("10.0.0.1:2", "host:2")])).unwrap_err();
        assert!(error.starts_with("here: `host:2` is no address: IP:PORT is expected "), "{error}");
        let error = parse(&workers(&[ONE]).replace("workers", "worker")).unwrap_err();
        assert!(error.starts_with("here: unknown field `worker`"), "{error}");
        let error = Directory::read("/nowhere".as_ref()).unwrap_err().to_string();
        assert!(error.starts_with("/nowhere: "), "{error}");
    }
}
