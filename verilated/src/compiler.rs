//! The C++ compiler that builds models.

use crate::{Error, Result};
use std::env;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Names the compiler that is used, in place of those that are looked for.
pub(crate) const VARIABLE: &str = "DRDMA_CXX";

/// Compilers, the best first. Models of the card that Clang builds at `-O2` run in 6/10 of the time of those that GCC
/// builds at `-O1`, and are built in half of the time.
const KNOWN: [&str; 3] = ["clang++-19", "clang++", GCC];
const GCC: &str = "g++";

/// A compiler that works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Compiler {
    /// The command.
    pub name: String,
    /// It is Clang, with flags of its own.
    is_clang: bool,
    /// The first line of what it says of itself.
    pub version: String,
}

impl Compiler {
    /// The compiler that is named, or the first one that works, or GCC.
    ///
    /// # Errors
    /// The one that is named does not work, or there is none.
    pub fn find() -> Result<&'static Self> {
        static FOUND: OnceLock<Compiler> = OnceLock::new();
        if let Some(found) = FOUND.get() {
            return Ok(found);
        }
        let name = choose(named().as_deref(), works)?;
        let output =
            Command::new(&name).arg("--version").output().map_err(Error::not_started(&name))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text.lines().next().unwrap_or_default().to_owned();
        let is_clang = version.contains("clang");
        Ok(FOUND.get_or_init(|| Compiler { name, is_clang, version }))
    }

    /// The compilers of which [`find`](Self::find) takes one.
    pub fn candidates() -> Vec<String> {
        named().map_or_else(|| KNOWN.map(str::to_owned).to_vec(), |name| vec![name])
    }

    /// A command line of the compiler.
    pub fn command(&self) -> Command {
        Command::new(&self.name)
    }

    /// Flags that the compiler needs for a shared library whose variables are its own.
    pub fn own_flags(&self) -> &'static [&'static str] {
        // Clang has no such variables.
        if self.is_clang { &[] } else { &["-fno-gnu-unique"] }
    }

    /// Whether it takes a precompiled header by `-include-pch`.
    pub fn precompiles(&self) -> bool {
        self.is_clang
    }

    /// The flags of a level of optimisation. The first is that of large models, whose time at GCC's second level grows
    /// to minutes: of what it leaves out, these passes make wide values faster and cost nothing to speak of. Clang's
    /// second level takes half of that time.
    pub fn level(&self, optimise: u8) -> &'static [&'static str] {
        match (optimise, self.is_clang) {
            (0, _) => &["-O0"],
            (1, false) => &[
                "-O1",
                "-finline-functions",
                "-finline-small-functions",
                "-ftree-slp-vectorize",
                "-ftree-loop-vectorize",
            ],
            (1 | 2, _) => &["-O2"],
            _ => &["-O3"],
        }
    }
}

/// The compiler that the environment names.
fn named() -> Option<String> {
    env::var(VARIABLE).ok().filter(|name| !name.is_empty())
}

/// The name of the compiler that is used.
fn choose(named: Option<&str>, works: impl Fn(&str) -> bool) -> Result<String> {
    match named {
        Some(name) if works(name) => Ok(name.to_owned()),
        Some(name) => Err(Error::ToolMissing { command: format!("{VARIABLE}={name}") }),
        None => Ok(KNOWN.into_iter().find(|name| works(name)).unwrap_or(GCC).to_owned()),
    }
}

/// Whether a compiler is there, and has the headers of C++'s library: Clang may find those of no GCC.
fn works(name: &str) -> bool {
    let mut command = Command::new(name);
    command.args(["-x", "c++", "-std=c++17", "-fsyntax-only", "-include", "vector", "/dev/null"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiler(is_clang: bool) -> Compiler {
        Compiler { name: "c++".to_owned(), is_clang, version: String::new() }
    }

    #[test]
    fn the_first_compiler_that_works_is_used_unless_one_is_named() {
        let chosen = |named, there: &'static [&str]| choose(named, |name| there.contains(&name));
        assert_eq!(chosen(None, &["g++", "clang++-19", "clang++"]).unwrap(), "clang++-19");
        assert_eq!(chosen(None, &["g++", "clang++"]).unwrap(), "clang++");
        assert_eq!(chosen(None, &["g++"]).unwrap(), "g++");
        // Where there is none, the one that is missed is GCC.
        assert_eq!(chosen(None, &[]).unwrap(), "g++");
        assert_eq!(chosen(Some("c++"), &["g++", "c++"]).unwrap(), "c++");
        let error = chosen(Some("c++"), &["g++"]).unwrap_err().to_string();
        assert!(error.starts_with("DRDMA_CXX=c++ was not found: "), "{error}");
    }

    #[test]
    fn a_compiler_works_that_finds_the_library_of_cpp() {
        assert!(works(GCC));
        assert!(!works("no-such-compiler"));
        assert!(!works("true-but-no-compiler"));
        assert!(!works("false"));
    }

    #[test]
    fn large_models_have_a_level_of_their_own_with_gcc() {
        assert_eq!(compiler(true).level(1), compiler(true).level(2));
        assert_ne!(compiler(false).level(1), compiler(false).level(2));
        assert_eq!(compiler(false).level(0), ["-O0"]);
        assert!(compiler(true).own_flags().is_empty());
    }
}
