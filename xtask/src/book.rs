//! The book: docs/ as HTML.

use std::path::PathBuf;

use crate::{Error, cargo, command::Command, root, target};

/// mdBook's version. It is a program that is run (MPL-2.0), not a part of anything that is built here.
const MDBOOK: &str = "0.5.4";

/// Folder of the installed program: it has the version in its name, so that another version is installed anew.
fn folder() -> PathBuf {
    target().join(format!("tools/mdbook-{MDBOOK}"))
}

/// `book`: writes target/book, from docs/ and its index, docs/SUMMARY.md.
pub fn build() -> Result<(), Error> {
    let program = folder().join("bin/mdbook");
    if !program.is_file() {
        println!("Installing mdbook {MDBOOK} in {} ...", folder().display());
        install().run()?;
    }
    let docs = root().join("docs").display().to_string();
    Command::new(program.display().to_string()).args(["build", &docs]).folder(root()).run()?;
    println!("The book is in {}.", target().join("book/index.html").display());
    Ok(())
}

fn install() -> Command {
    let (version, folder) = (format!("={MDBOOK}"), folder().display().to_string());
    cargo()
        .args(["install", "--quiet", "--locked", "--no-default-features", "--features", "search"])
        .args(["--version", &version, "--root", &folder, "mdbook"])
}
