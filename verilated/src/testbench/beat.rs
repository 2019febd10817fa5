//! The payload of one transfer.

use crate::Word;
use std::collections::BTreeMap;

/// Field values of one transfer; fields are port names without the stream's base name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Beat(BTreeMap<String, Word>);

impl Beat {
    /// A beat without fields: all are zero when it is sent.
    pub fn new() -> Self {
        Self::default()
    }

    /// This beat with `field` set.
    pub fn with(mut self, field: impl Into<String>, value: impl Into<Word>) -> Self {
        self.set(field, value);
        self
    }

    /// Sets `field`.
    pub fn set(&mut self, field: impl Into<String>, value: impl Into<Word>) {
        self.0.insert(field.into(), value.into());
    }

    /// The value of `field`.
    ///
    /// # Panics
    /// The beat has no such field.
    pub fn get(&self, field: &str) -> &Word {
        let names = || self.0.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        self.0.get(field).unwrap_or_else(|| panic!("no field `{field}`; there are {}", names()))
    }

    /// The low 64 bits of `field`.
    ///
    /// # Panics
    /// The beat has no such field.
    pub fn u64(&self, field: &str) -> u64 {
        self.get(field).to_u64()
    }

    /// The fields and their values, by name.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Word)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl<S: Into<String>, W: Into<Word>, const N: usize> From<[(S, W); N]> for Beat {
    fn from(fields: [(S, W); N]) -> Self {
        Self(fields.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}
