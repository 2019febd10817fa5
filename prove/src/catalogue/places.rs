//! TODO

use crate::property::Property;

/// The properties.
pub(super) fn all() -> Vec<Property> {
    Vec::new()
}
