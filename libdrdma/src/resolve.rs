//! Ethernet addresses of IPv4 addresses: from the host's tables, or from a resolver of the
//! application.

use std::{fs, io, net::Ipv4Addr, path::PathBuf};

use crate::MacAddress;

/// Flags of routes (`linux/route.h`): the route is up, goes through a gateway, refuses packets.
const RTF_UP: u32 = 1;
const RTF_GATEWAY: u32 = 2;
const RTF_REJECT: u32 = 0x200;
/// Flag of an ARP entry (`linux/if_arp.h`) that has its Ethernet address.
const ATF_COM: u32 = 2;
/// Hardware type of Ethernet in ARP entries.
const ARPHRD_ETHER: u32 = 1;

/// Knows the Ethernet address that packets for an IPv4 address are sent to: the peer's, or that of the
/// gateway to it.
///
/// A context asks [`HostTables`] when a queue pair is connected without
/// [`dest_mac`](crate::QueuePairAttributes::dest_mac), unless it is given another one
/// ([`Context::set_resolver`](crate::Context::set_resolver)):
///
/// ```
/// use std::net::Ipv4Addr;
/// use libdrdma::{Context, MacAddress, Options, ResolveError, Resolver};
///
/// /// All nodes of this cluster have addresses by their number.
/// struct Cluster;
///
/// impl Resolver for Cluster {
///     fn resolve(&self, ip: Ipv4Addr) -> Result<MacAddress, ResolveError> {
///         match ip.octets() {
///             [10, 0, 0, node] => Ok(MacAddress([2, 0, 0, 0, 0, node])),
///             _ => Err(ResolveError::NoRoute { ip }),
///         }
///     }
/// }
///
/// # let options = Options::new("02:00:00:00:00:01".parse()?, [10, 0, 0, 1].into());
/// let context = Context::open(libdrdma::open("soft:")?, options)?;
/// context.set_resolver(Cluster);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Resolver: Send + Sync {
    /// Returns the Ethernet address for an IPv4 address.
    ///
    /// # Errors
    /// The address is not known, for one of the reasons of [`ResolveError`].
    fn resolve(&self, ip: Ipv4Addr) -> Result<MacAddress, ResolveError>;
}

/// Reason why an Ethernet address is not known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// The host's tables cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Table {
        /// Path of the file.
        path: PathBuf,
        /// Error of reading it.
        source: io::Error,
    },
    /// The host has no route to the address.
    #[error("{ip}: the host has no route to it")]
    NoRoute {
        /// IPv4 address that was asked for.
        ip: Ipv4Addr,
    },
    /// The host has not communicated with that address lately.
    #[error(
        "{ip}: the host knows no Ethernet address of {hop} on {interface}; `ping {hop}` asks for it"
    )]
    Unknown {
        /// IPv4 address that was asked for.
        ip: Ipv4Addr,
        /// Address whose Ethernet address is needed: `ip` itself, or that of the gateway.
        hop: Ipv4Addr,
        /// Name of the interface that leads there.
        interface: String,
    },
}

/// The host's routes and the Ethernet addresses that it knows (`route` and `arp` of `/proc/net`).
///
/// A board has no interface of its own in the host while VFIO has it: the tables are those of the other
/// interfaces, so that one of them has to be in the board's network. The host learns an address when it
/// talks to it; nothing is sent from here.
#[derive(Clone, Debug)]
pub struct HostTables {
    folder: PathBuf,
}

impl Default for HostTables {
    fn default() -> Self {
        Self::at("/proc/net")
    }
}

impl HostTables {
    /// Tables in another folder than `/proc/net`, such as another process's `/proc/1/net`.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    fn table(&self, name: &str) -> Result<String, ResolveError> {
        let path = self.folder.join(name);
        fs::read_to_string(&path).map_err(|source| ResolveError::Table { path, source })
    }
}

impl Resolver for HostTables {
    fn resolve(&self, ip: Ipv4Addr) -> Result<MacAddress, ResolveError> {
        let (routes, neighbours) = (self.table("route")?, self.table("arp")?);
        let route = route_to(ip, &routes).ok_or(ResolveError::NoRoute { ip })?;
        let hop = route.gateway.unwrap_or(ip);
        mac_of(hop, route.interface, &neighbours).ok_or_else(|| ResolveError::Unknown {
            ip,
            hop,
            interface: route.interface.to_owned(),
        })
    }
}

/// A route to a network.
struct Route<'a> {
    interface: &'a str,
    gateway: Option<Ipv4Addr>,
}

/// Returns the route that the host takes: that of the longest prefix, of several that of the least
/// metric.
fn route_to(ip: Ipv4Addr, table: &str) -> Option<Route<'_>> {
    // Addresses in the table are words in the host's byte order whose bytes are in network order.
    let address = |text: &str| {
        let word = u32::from_str_radix(text, 16).ok()?;
        Some(Ipv4Addr::from(word.to_ne_bytes()))
    };
    let route = |line| {
        let mut fields = str::split_whitespace(line);
        let interface = fields.next()?;
        let (network, gateway) = (address(fields.next()?)?, address(fields.next()?)?);
        let flags = u32::from_str_radix(fields.next()?, 16).ok()?;
        // The fields `RefCnt` and `Use` are skipped.
        let metric: u32 = fields.nth(2)?.parse().ok()?;
        let mask = address(fields.next()?)?;
        let here = u32::from(ip) & u32::from(mask) == u32::from(network);
        (here && flags & RTF_UP != 0).then_some((
            u32::from(mask),
            metric,
            flags,
            interface,
            gateway,
        ))
    };
    let best = table.lines().skip(1).filter_map(route);
    let (_, _, flags, interface, gateway) =
        best.min_by_key(|(mask, metric, ..)| (std::cmp::Reverse(*mask), *metric))?;
    let gateway = (flags & RTF_GATEWAY != 0).then_some(gateway);
    (flags & RTF_REJECT == 0).then_some(Route { interface, gateway })
}

/// The Ethernet address of a neighbour, if the host knows it.
fn mac_of(ip: Ipv4Addr, interface: &str, table: &str) -> Option<MacAddress> {
    let number = |text: &str| u32::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let [address, kind, flags, mac, _, device] = fields[..] else { return None };
        let right = address.parse() == Ok(ip) && device == interface;
        let known = number(kind)? == ARPHRD_ETHER && number(flags)? & ATF_COM != 0;
        if right && known { mac.parse().ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host in 10.0.0.0/24 and 10.0.0.128/25 with a default gateway, as `/proc/net` shows it.
    const ROUTES: &str = "\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0
eth0\t0000000A\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0
eth1\t8000000A\t00000000\t0001\t0\t0\t200\t80FFFFFF\t0\t0\t0
eth2\t8000000A\t00000000\t0001\t0\t0\t50\t80FFFFFF\t0\t0\t0
eth3\t0000000A\t00000000\t0000\t0\t0\t0\tF0FFFFFF\t0\t0\t0
*\t0000140A\t00000000\t0201\t0\t0\t0\t00FFFFFF\t0\t0\t0
";
    const NEIGHBOURS: &str = "\
IP address       HW type     Flags       HW address            Mask     Device
10.0.0.1         0x1         0x2         02:00:00:00:00:01     *        eth0
10.0.0.2         0x1         0x2         02:00:00:00:00:02     *        eth0
10.0.0.3         0x1         0x0         00:00:00:00:00:00     *        eth0
10.0.0.200       0x1         0x2         02:00:00:00:01:c8     *        eth1
10.0.0.200       0x1         0x6         02:00:00:00:02:c8     *        eth2
10.0.0.4         0x20        0x2         02:00:00:00:00:04     *        eth0
";

    fn resolve(ip: [u8; 4]) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("route"), ROUTES).unwrap();
        fs::write(folder.path().join("arp"), NEIGHBOURS).unwrap();
        let found = HostTables::at(folder.path()).resolve(ip.into());
        found.map(|mac| mac.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_neighbour_is_found_and_a_gateway_for_who_is_none() {
        assert_eq!(resolve([10, 0, 0, 2]).unwrap(), "02:00:00:00:00:02");
        assert_eq!(resolve([192, 168, 7, 7]).unwrap(), "02:00:00:00:00:01");
    }

    #[test]
    fn the_longest_prefix_and_the_least_metric_count() {
        assert_eq!(resolve([10, 0, 0, 200]).unwrap(), "02:00:00:00:02:c8");
    }

    #[test]
    fn what_is_not_known_is_told() {
        let unknown = |ip: &str| {
            format!(
                "{ip}: the host knows no Ethernet address of {ip} on eth0; `ping {ip}` asks for it"
            )
        };
        assert_eq!(resolve([10, 0, 0, 3]).unwrap_err(), unknown("10.0.0.3"), "it does not answer");
        assert_eq!(resolve([10, 0, 0, 4]).unwrap_err(), unknown("10.0.0.4"), "no Ethernet");
        assert_eq!(resolve([10, 0, 0, 5]).unwrap_err(), unknown("10.0.0.5"));
        assert_eq!(resolve([10, 20, 0, 1]).unwrap_err(), "10.20.0.1: the host has no route to it");
        let error = HostTables::at("/nowhere").resolve([10, 0, 0, 2].into()).unwrap_err();
        assert!(
            error.to_string().starts_with("cannot read /nowhere/route: No such file"),
            "{error}"
        );
        let none = route_to([10, 0, 0, 2].into(), "Iface\n\nsome text\n");
        assert!(none.is_none());
    }
}
