//! Device URIs: `scheme:?option=value&option=value`.

use std::{fmt, path::PathBuf, str::FromStr};

/// Error of opening a device by its URI.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The URI has no scheme in front of a colon.
    #[error("`{0}` names no device: it must look like `soft:` or `rtl:?option=value`")]
    NoScheme(String),
    /// The scheme is that of no simulated card.
    #[error("`{scheme}:` is no simulated card; {known}")]
    UnknownScheme {
        /// The scheme.
        scheme: String,
        /// Description of the schemes that are possible.
        known: &'static str,
    },
    /// The URI has text between the colon and the question mark.
    #[error("`{scheme}:` takes only options (`?option=value`), not `{rest}`")]
    Path {
        /// The scheme.
        scheme: String,
        /// Text that is not expected.
        rest: String,
    },
    /// The card does not have the option.
    #[error("`{scheme}:` has no option `{option}`; it has {known}")]
    UnknownOption {
        /// The scheme.
        scheme: String,
        /// Name of the option.
        option: String,
        /// Names of the options that the card has.
        known: String,
    },
    /// An option is given twice.
    #[error("option `{0}` is given twice")]
    Twice(String),
    /// An option has no value, or an invalid one.
    #[error("option `{option}` is `{value}`: {reason}")]
    Value {
        /// Name of the option.
        option: String,
        /// Value of the option.
        value: String,
        /// Description of the values that are possible.
        reason: String,
    },
    /// The card could not be made.
    #[error("{0}")]
    Failed(String),
}

/// A device URI in its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceUri {
    scheme: String,
    options: Vec<(String, String)>,
}

impl DeviceUri {
    /// Scheme of the URI, before the colon.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The options, for a card to take one by one.
    pub fn into_options(self) -> Options {
        Options { scheme: self.scheme, left: self.options, known: Vec::new() }
    }
}

impl FromStr for DeviceUri {
    type Err = OpenError;

    fn from_str(uri: &str) -> Result<Self, OpenError> {
        let (scheme, rest) = uri.split_once(':').ok_or_else(|| OpenError::NoScheme(uri.into()))?;
        if scheme.is_empty() {
            return Err(OpenError::NoScheme(uri.into()));
        }
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        if !path.is_empty() {
            return Err(OpenError::Path { scheme: scheme.into(), rest: path.into() });
        }
        let mut options: Vec<(String, String)> = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (option, value) = pair.split_once('=').unwrap_or((pair, ""));
            if options.iter().any(|(other, _)| other == option) {
                return Err(OpenError::Twice(option.into()));
            }
            options.push((option.into(), value.into()));
        }
        Ok(Self { scheme: scheme.into(), options })
    }
}

impl fmt::Display for DeviceUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.scheme)?;
        for (i, (option, value)) in self.options.iter().enumerate() {
            write!(f, "{}{option}={value}", if i == 0 { '?' } else { '&' })?;
        }
        Ok(())
    }
}

/// Type of an option's value.
pub trait OptionValue: Sized {
    /// Parses the value; `None` if the text is invalid.
    fn read(text: &str) -> Option<Self>;

    /// Description of valid texts, for errors.
    fn expected() -> String;
}

macro_rules! integers {
    ($($integer:ty),*) => {
        $(impl OptionValue for $integer {
            fn read(text: &str) -> Option<Self> {
                text.parse().ok()
            }

            fn expected() -> String {
                format!("must be a whole number from 0 to {}", Self::MAX)
            }
        })*
    };
}

integers!(u32, u64, usize);

impl OptionValue for f64 {
    fn read(text: &str) -> Option<Self> {
        text.parse().ok().filter(|number: &f64| number.is_finite())
    }

    fn expected() -> String {
        "must be a number, such as 0.1".to_owned()
    }
}

impl OptionValue for bool {
    fn read(text: &str) -> Option<Self> {
        match text {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        }
    }

    fn expected() -> String {
        "must be 0 or 1".to_owned()
    }
}

impl OptionValue for PathBuf {
    fn read(text: &str) -> Option<Self> {
        Some(text.into())
    }

    fn expected() -> String {
        "must be a path".to_owned()
    }
}

/// Options of a URI. A card takes each one that it knows, then calls [`Options::finish`].
#[derive(Clone, Debug)]
pub struct Options {
    scheme: String,
    left: Vec<(String, String)>,
    known: Vec<&'static str>,
}

impl Options {
    /// Takes the value of `option`, if it is given.
    ///
    /// # Errors
    /// [`OpenError::Value`] if it is not a `T`.
    pub fn take<T: OptionValue>(&mut self, option: &'static str) -> Result<Option<T>, OpenError> {
        self.known.push(option);
        let Some(at) = self.left.iter().position(|(name, _)| name == option) else {
            return Ok(None);
        };
        let (option, value) = self.left.remove(at);
        match T::read(&value) {
            Some(read) => Ok(Some(read)),
            None => Err(OpenError::Value { option, reason: T::expected(), value }),
        }
    }

    /// Refuses options that were not taken.
    ///
    /// # Errors
    /// [`OpenError::UnknownOption`], with the first of them.
    pub fn finish(self) -> Result<(), OpenError> {
        match self.left.into_iter().next() {
            None => Ok(()),
            Some((option, _)) => Err(OpenError::UnknownOption {
                scheme: self.scheme,
                option,
                known: match self.known.is_empty() {
                    true => "none".into(),
                    false => self.known.join(", "),
                },
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(uri: &str) -> Result<DeviceUri, OpenError> {
        uri.parse()
    }

    #[test]
    fn a_uri_is_a_scheme_and_options() {
        let uri = parse("rtl:?pcie_tags=64&trace=out.fst").unwrap();
        assert_eq!(uri.scheme(), "rtl");
        assert_eq!(uri.to_string(), "rtl:?pcie_tags=64&trace=out.fst");
        let mut options = uri.into_options();
        assert_eq!(options.take::<u32>("pcie_tags"), Ok(Some(64)));
        assert_eq!(options.take::<PathBuf>("trace"), Ok(Some("out.fst".into())));
        assert_eq!(options.take::<u32>("seed"), Ok(None));
        assert_eq!(options.finish(), Ok(()));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert_eq!(parse("soft"), Err(OpenError::NoScheme("soft".into())));
        assert_eq!(parse(":?a=1"), Err(OpenError::NoScheme(":?a=1".into())));
        assert_eq!(parse("soft:?a=1&a=2"), Err(OpenError::Twice("a".into())));
        assert!(matches!(parse("soft:eth0"), Err(OpenError::Path { rest, .. }) if rest == "eth0"));
        let mut options = parse("soft:?cycles=many").unwrap().into_options();
        let error = options.take::<u32>("cycles").unwrap_err().to_string();
        let expected = "must be a whole number from 0 to 4294967295";
        assert_eq!(error, format!("option `cycles` is `many`: {expected}"));
        for wrong in ["inf", "NaN", "0,1", ""] {
            let uri = format!("rtl:?stall={wrong}");
            let error = parse(&uri).unwrap().into_options().take::<f64>("stall").unwrap_err();
            let expected = format!("option `stall` is `{wrong}`: must be a number, such as 0.1");
            assert_eq!(error.to_string(), expected);
        }
        let mut options = parse("soft:?speed=9").unwrap().into_options();
        assert_eq!(options.take::<u32>("cycles"), Ok(None));
        let error = options.finish().unwrap_err().to_string();
        assert_eq!(error, "`soft:` has no option `speed`; it has cycles");
    }
}
