//! The properties, by what they are of.

mod arbiters;
mod fifos;
mod places;
mod ranges;
mod rules;

use drdma_hdl::emit::emit;
use rust_hdl_core::prelude::Block;

use crate::{design::Design, property::Property};

/// All properties.
pub fn all() -> Vec<Property> {
    let parts = [fifos::all(), arbiters::all(), places::all(), ranges::all(), rules::all()];
    parts.into_iter().flatten().collect()
}

/// The block that `make` builds.
///
/// # Panics
/// It cannot be emitted, which its own tests would show.
fn design<B: Block>(name: &str, make: impl FnOnce() -> B + Send) -> Design {
    let emitted = emit(name, make).unwrap_or_else(|error| panic!("{error}"));
    Design::new(name, &emitted.verilog).unwrap_or_else(|error| panic!("{error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_property_has_a_name_of_its_own_and_a_mutant_that_fits() {
        let mut titles = BTreeSet::new();
        for property in all() {
            let title = property.title();
            assert!(titles.insert(title.clone()), "two properties are called {title}");
            assert!(!property.mutants.is_empty(), "{title} has no mutant");
            for mutant in &property.mutants {
                let text = property.verilog(Some(mutant));
                assert!(text.is_ok(), "{title}, {}: {}", mutant.name, text.unwrap_err());
            }
        }
    }
}
