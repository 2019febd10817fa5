//! The catalogue of properties, by subject.

mod arbiters;
mod fifos;
mod places;
mod ranges;
mod rules;

use std::sync::OnceLock;

use drdma_hdl::{emit::emit, top::Card};
use rust_hdl_core::prelude::Block;

use crate::{
    design::Design,
    linear::{self, Linear},
    property::Property,
    streams::Rules,
};

/// All claims that are proved.
pub struct Catalogue {
    /// Properties of single blocks.
    pub properties: Vec<Property>,
    /// Rules of streams, block by block.
    pub rules: Vec<Rules>,
    /// Claims about CRCs.
    pub linear: Vec<Linear>,
}

impl Default for Catalogue {
    fn default() -> Self {
        Self::new()
    }
}

impl Catalogue {
    /// Makes the whole catalogue.
    pub fn new() -> Self {
        let parts = [fifos::all(), arbiters::all(), places::all(), ranges::all()];
        Self {
            properties: parts.into_iter().flatten().collect(),
            rules: rules::all(),
            linear: linear::all(),
        }
    }
}

/// The block that `make` builds.
///
/// # Panics
/// It cannot be emitted, which its own tests would show.
pub(crate) fn design<B: Block>(name: &str, make: impl FnOnce() -> B + Send) -> Design {
    let emitted = emit(name, make).unwrap_or_else(|error| panic!("{error}"));
    Design::new(name, &emitted.verilog).unwrap_or_else(|error| panic!("{error}"))
}

/// Block `name` as it is in the card.
///
/// # Panics
/// There is no such block.
fn of_card(name: &str) -> Design {
    static CARD: OnceLock<String> = OnceLock::new();
    let card = CARD.get_or_init(|| {
        emit("card", Card::default).unwrap_or_else(|error| panic!("{error}")).verilog
    });
    Design::new(&format!("card_{name}"), card).unwrap_or_else(|error| panic!("{error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_property_has_a_name_of_its_own_and_a_mutant_that_fits() {
        let mut titles = BTreeSet::new();
        let mut wrong = Vec::new();
        for property in Catalogue::new().properties {
            let title = property.title();
            assert!(titles.insert(title.clone()), "two properties are called {title}");
            assert!(!property.mutants.is_empty(), "{title} has no mutant");
            for mutant in &property.mutants {
                if let Err(error) = property.verilog(Some(mutant)) {
                    wrong.push(format!("{title}, {}: {error}", mutant.name));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
