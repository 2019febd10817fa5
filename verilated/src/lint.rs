//! Verilator's warnings, and the few that are allowed.

use crate::cache::{self, Key};
use crate::{Error, Result, Source, tools};
use std::fmt;
use std::fs;
use std::path::Path;

/// A warning of Verilator's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The warning's code, such as `LATCH`.
    pub code: String,
    /// `file:line:column`.
    pub place: String,
    /// The text, with the source line that Verilator quotes.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}: {}", self.code, self.place, self.message)
    }
}

/// A warning that is accepted: its code, a part of its message, and the reason.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// The warning's code.
    pub code: &'static str,
    /// A part of the message; empty for any.
    pub contains: &'static str,
    /// Why the warning is harmless.
    pub reason: &'static str,
}

/// All warnings that are accepted; any other warning is an error.
pub const ALLOWANCES: &[Allowance] = &[
    Allowance {
        code: "DECLFILENAME",
        contains: "",
        reason: "a block is emitted with all of its sub-modules into one file",
    },
    Allowance {
        code: "UNUSEDPARAM",
        contains: "",
        reason: "Corundum gives every application all of its parameters; none needs them all",
    },
    Allowance {
        code: "PINCONNECTEMPTY",
        contains: "",
        reason: "a block that does not need an output of a sub-module leaves it open",
    },
];

/// Codes that stop no build: a block under construction may have signals that nothing reads yet. [`Source::lint`] and
/// [`Library::warnings`](crate::Library::warnings) report them.
const NOT_IN_BUILDS: &[&str] = &["UNUSEDSIGNAL"];

impl Source {
    /// Every Verilator `-Wall` warning that [`ALLOWANCES`] does not cover. What Verilator says of a design is kept in
    /// the cache.
    ///
    /// # Errors
    /// A tool is missing, Verilator refuses the design, or the cache cannot be written or trusted.
    pub fn lint(&self) -> Result<Vec<Warning>> {
        let messages = kept(self, |folder| {
            let mut command = tools::verilator(self, folder);
            command.arg("--lint-only");
            tools::run_verilator(self, command, folder, &mut ())
        })?;
        Ok(not_allowed(&messages))
    }
}

/// The file of an entry with Verilator's messages.
pub(crate) const MESSAGES: &str = "messages";

/// The messages of a lint of this design, from the cache or from `run`, which finds the design's texts in a folder.
fn kept(source: &Source, run: impl FnOnce(&Path) -> Result<String>) -> Result<String> {
    let mut key = Key::default();
    key.add(tools::versions()?);
    // So that another command line does not find the messages of this one.
    key.add(include_str!("tools.rs"));
    key.add(&format!("{} {:?}", source.top, source.parameters));
    for (name, text) in &source.texts {
        key.add(name);
        key.add(text);
    }
    let key = format!("lint-{}", key.finish());
    let entry = cache::entry(&key, &mut (), |folder, _| {
        let texts = folder.join("texts");
        fs::create_dir(&texts).map_err(Error::io(&texts))?;
        tools::write_sources(source, &texts)?;
        let messages = run(&texts)?;
        fs::remove_dir_all(&texts).map_err(Error::io(&texts))?;
        let path = folder.join(MESSAGES);
        fs::write(&path, messages).map_err(Error::io(&path))
    })?;
    entry.text(MESSAGES)
}

/// The warnings in Verilator's output that no allowance covers.
pub(crate) fn not_allowed(output: &str) -> Vec<Warning> {
    let allowed =
        |w: &Warning| ALLOWANCES.iter().any(|a| a.code == w.code && w.message.contains(a.contains));
    parse(output).into_iter().filter(|w| !allowed(w)).collect()
}

pub(crate) fn check_build(source: &Source, output: &str) -> Result<()> {
    let mut warnings = not_allowed(output);
    warnings.retain(|w| !NOT_IN_BUILDS.contains(&w.code.as_str()));
    if warnings.is_empty() {
        return Ok(());
    }
    Err(Error::Warnings { top: source.top.clone(), warnings })
}

fn parse(output: &str) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = Vec::new();
    for line in output.lines() {
        if let Some((code, rest)) =
            line.strip_prefix("%Warning-").and_then(|rest| rest.split_once(": "))
        {
            // `/dir/file.v:12:7: text`
            let (place, message) = rest.split_once(": ").unwrap_or(("", rest));
            let place = place.rsplit('/').next().unwrap_or(place);
            warnings.push(Warning {
                code: code.to_owned(),
                place: place.to_owned(),
                message: message.to_owned(),
            });
        } else if let Some(warning) = warnings.last_mut()
            && line.starts_with(' ')
            && !line.contains("... ")
        {
            warning.message.push('\n');
            warning.message.push_str(line);
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Port;

    fn module(body: &str) -> Source {
        let text =
            format!("module m(input wire [3:0] a, output reg [3:0] b);\n{body}\nendmodule\n");
        Source::new("m").verilog("m.v", text).ports([Port::input("a", 4), Port::output("b", 4)])
    }

    #[test]
    fn a_clean_module_has_no_warnings() {
        assert_eq!(module("always @(*) b = a;").lint().unwrap(), []);
    }

    #[test]
    fn a_latch_is_found_with_its_place() {
        let warnings = module("always @(*) if (a[0]) b = a;").lint().unwrap();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert_eq!(warnings[0].code, "LATCH");
        assert!(warnings[0].place.starts_with("m.v:2:"), "{warnings:?}");
    }

    #[test]
    fn messages_are_kept_until_the_design_changes() {
        let unique = format!("// {:?}", std::time::SystemTime::now());
        let design = module(&unique);
        let say = |text: &'static str| move |_: &Path| Ok(text.to_owned());
        let never = |_: &Path| -> Result<String> { panic!("the design was linted twice") };
        let refused = kept(&design, |_| Err(Error::NoCache));
        assert!(matches!(refused, Err(Error::NoCache)), "{refused:?}");
        assert_eq!(kept(&design, say("first")).unwrap(), "first");
        assert_eq!(kept(&design, never).unwrap(), "first");
        assert_eq!(kept(&module(&format!("{unique} ")), say("text")).unwrap(), "text");
        let wider = design.clone().parameter("W", 3);
        assert_eq!(kept(&wider, say("parameter")).unwrap(), "parameter");
        assert_eq!(kept(&wider, never).unwrap(), "parameter");
    }

    #[test]
    fn a_width_mismatch_stops_the_build() {
        let built = module("always @(*) b = {a, 1'b0};").build(&Default::default());
        let message = built.err().expect("a warning").to_string();
        assert!(message.contains("WIDTH"), "{message}");
    }

    #[test]
    fn a_signal_that_nothing_reads_stops_no_build_and_is_reported() {
        let unused = module("wire c = a[0]; always @(*) b = a;");
        let warnings = unused.build(&Default::default()).unwrap().warnings().to_vec();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert_eq!(warnings[0].code, "UNUSEDSIGNAL");
        assert_eq!(warnings, unused.lint().unwrap());
        let clean = module("always @(*) b = a;").build(&Default::default()).unwrap();
        assert_eq!(clean.warnings(), []);
    }

    #[test]
    fn a_syntax_error_shows_verilators_text() {
        let message = module("always @(*) b = ;").lint().unwrap_err().to_string();
        assert!(message.contains("syntax error"), "{message}");
    }
}
