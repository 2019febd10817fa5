//! The page docs/proofs.md.

use std::fmt::Write as _;

use crate::{
    catalogue::Catalogue,
    property::{Memories, Method, Property},
};

/// How questions are decided: a part of the digest of every answer, to be changed with the scripts.
pub const TOOLS: &str = "2";

const HEAD: &str = include_str!("page/head.md");
const TAIL: &str = include_str!("page/tail.md");

fn method(property: &Property) -> String {
    let how = match property.method {
        Method::Unbounded => "PDR, any time".to_owned(),
        Method::Induction(cycles) => format!("induction over {cycles} cycles, any time"),
        Method::Bounded(cycles) => format!("bounded: the first {cycles} cycles"),
    };
    match property.memories {
        Memories::Exact => how,
        Memories::Free => format!("{how}, any memory content"),
    }
}

/// The page's text: every property that is proved.
pub fn page(catalogue: &Catalogue) -> String {
    let mut text = HEAD.to_owned();
    let mut row = |cells: [&str; 4]| {
        let cells = cells.map(|cell| cell.replace('|', "\\|"));
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    };
    row(["block", "property", "shown by", "fails on"]);
    row(["---", "---", "---", "---"]);
    let names = |mutants: &[crate::Mutant]| {
        mutants.iter().map(|m| m.name.as_str()).collect::<Vec<_>>().join("; ")
    };
    for property in &catalogue.properties {
        let claim = format!("**{}**: {}", property.name, property.claim);
        let method = method(property) + if property.long { " (`--all`)" } else { "" };
        row([&property.block, &claim, &method, &names(&property.mutants)]);
    }
    for linear in &catalogue.linear {
        let claim = format!("**{}**: {}", linear.name, linear.claim);
        row([&linear.block, &claim, "equal matrices, any time", &names(&linear.mutants)]);
    }
    for rules in &catalogue.rules {
        let streams: Vec<_> = rules.streams.iter().map(|s| format!("`{}`", s.name)).collect();
        let claim = format!("**streams**: {}", streams.join(", "));
        let method = method(&rules.model) + if rules.long { " (`--all`)" } else { "" };
        row([&rules.block, &claim, &method, "valid is withdrawn; a payload bit turns"]);
    }
    text + TAIL
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, path::Path};

    #[test]
    fn the_page_is_that_of_the_catalogue() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/proofs.md");
        let written = fs::read_to_string(path).expect("docs/proofs.md is there");
        assert!(written == page(&Catalogue::new()), "run `cargo xtask prove --docs`");
    }
}
