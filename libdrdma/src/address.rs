//! Ethernet addresses.

use std::{fmt, str::FromStr};

/// A 48-bit Ethernet address.
///
/// ```
/// use libdrdma::MacAddress;
///
/// let mac: MacAddress = "02:00:00:00:00:2a".parse()?;
/// assert_eq!(mac, MacAddress([2, 0, 0, 0, 0, 42]));
/// assert_eq!(mac.to_string(), "02:00:00:00:00:2a");
/// # Ok::<(), libdrdma::ParseMacError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MacAddress(
    /// The six bytes in the order of transmission.
    pub [u8; 6],
);

impl MacAddress {
    /// The address as a number: the first byte on the wire is the most significant.
    pub fn to_u64(self) -> u64 {
        self.0.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// A text that is not six two-digit hexadecimal bytes between colons.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an Ethernet address like 02:00:00:00:00:01")]
pub struct ParseMacError(String);

impl FromStr for MacAddress {
    type Err = ParseMacError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseMacError(text.to_owned());
        let mut bytes = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            let part = parts.next().filter(|part| part.len() == 2).ok_or_else(wrong)?;
            if !part.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(wrong());
            }
            *byte = u8::from_str_radix(part, 16).map_err(|_| wrong())?;
        }
        if parts.next().is_some() { Err(wrong()) } else { Ok(Self(bytes)) }
    }
}
