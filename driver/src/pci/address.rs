//! Addresses of PCI functions.

use std::{fmt, str::FromStr};

use serde::{Serialize, Serializer};

use super::PciError;

/// A PCI function's address: domain, bus, device, function; `0000:65:00.0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PciAddress {
    domain: u32,
    bus: u8,
    device: u8,
    function: u8,
}

impl FromStr for PciAddress {
    type Err = PciError;

    /// Parses `0000:65:00.0`, or `65:00.0` in domain 0; all numbers are hexadecimal.
    fn from_str(text: &str) -> Result<Self, PciError> {
        parse(text).ok_or_else(|| PciError::Address(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<PciAddress> {
    let (rest, function) = text.rsplit_once('.')?;
    let (rest, device) = rest.rsplit_once(':')?;
    let (domain, bus) = rest.rsplit_once(':').unwrap_or(("0000", rest));
    let field = |text: &str, digits: std::ops::RangeInclusive<usize>, limit: u32| {
        let valid = digits.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit());
        let value = u32::from_str_radix(text, 16).ok()?;
        (valid && value <= limit).then_some(value)
    };
    Some(PciAddress {
        // Bridges inside of some processors have domains of five or more digits.
        domain: field(domain, 4..=8, u32::MAX)?,
        bus: field(bus, 1..=2, 0xff)? as u8,
        device: field(device, 1..=2, 0x1f)? as u8,
        function: field(function, 1..=1, 7)? as u8,
    })
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { domain, bus, device, function } = self;
        write!(f, "{domain:04x}:{bus:02x}:{device:02x}.{function}")
    }
}

impl Serialize for PciAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_with_and_without_its_domain() {
        for (text, shown) in [
            ("0000:65:00.0", "0000:65:00.0"),
            ("65:1f.7", "0000:65:1f.7"),
            ("10000:E1:0.0", "10000:e1:00.0"),
        ] {
            assert_eq!(text.parse::<PciAddress>().unwrap().to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_address_is_named() {
        for text in [
            "",
            "65",
            "65:00",
            "0000:65:20.0",
            "65:00.8",
            "65:00.00",
            "0:65:00.0",
            "65:+1.0",
            "eth0",
        ] {
            let error = text.parse::<PciAddress>().unwrap_err().to_string();
            assert_eq!(
                error,
                format!("`{text}` is no PCI address: it must look like 0000:65:00.0")
            );
        }
    }
}
