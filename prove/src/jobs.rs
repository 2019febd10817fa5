//! Questions, their answers, and the answers that are kept.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use sha2::{Digest, Sha256};

use crate::{
    linear::Linear,
    page,
    property::{Mutant, Property},
    streams::{Question, Rules},
    tools::{self, Outcome, decide, decide_output},
};

/// The rules of a block's streams, and their model once it is made.
pub struct Model<'a> {
    rules: &'a Rules,
    made: OnceLock<Result<PathBuf, String>>,
}

impl<'a> Model<'a> {
    /// A model that is not made yet.
    pub fn new(rules: &'a Rules) -> Self {
        Self { rules, made: OnceLock::new() }
    }

    fn folder(&self, work: &Path) -> Result<PathBuf, String> {
        let make = || {
            let folder = work.join(digest(&self.rules.model, None)?);
            tools::model(&self.rules.model, None, &folder).map_err(|error| error.to_string())?;
            Ok(folder)
        };
        self.made.get_or_init(make).clone()
    }
}

/// A question that is to be answered.
pub enum Job<'a> {
    /// A property of the block, or of a mutant of it.
    Property(&'a Property, Option<&'a Mutant>),
    /// A claim about a CRC, or of a mutant of it.
    Linear(&'a Linear, Option<&'a Mutant>),
    /// The rule of a stream of a block, or of a changed block.
    Rule(&'a Model<'a>, usize, Question),
}

/// Digest of a claim about a CRC and a mutant; the check is part of this program.
fn linear_digest(linear: &Linear, mutant: Option<&Mutant>) -> String {
    let digest = Sha256::new()
        .chain_update(page::TOOLS)
        .chain_update(include_str!("linear/crcs.rs"))
        .chain_update(&linear.design.verilog)
        .chain_update(mutant.map_or(String::new(), |m| format!("{}\n{}", m.from, m.to)));
    digest.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Digest of a property and a mutant.
fn digest(property: &Property, mutant: Option<&Mutant>) -> Result<String, String> {
    let text = property.verilog(mutant).map_err(|error| error.to_string())?;
    let how = format!("{:?} {:?} {:?}", property.method, property.memories, property.cuts);
    let digest = Sha256::new().chain_update(page::TOOLS).chain_update(how).chain_update(text);
    Ok(digest.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect())
}

impl Job<'_> {
    /// The question as text.
    pub fn title(&self) -> String {
        match self {
            Self::Property(property, None) => property.title(),
            Self::Property(property, Some(mutant)) => {
                format!("{}, mutant `{}`", property.title(), mutant.name)
            }
            Self::Linear(linear, None) => linear.title(),
            Self::Linear(linear, Some(mutant)) => {
                format!("{}, mutant `{}`", linear.title(), mutant.name)
            }
            Self::Rule(model, stream, question) => model.rules.title(*stream, *question),
        }
    }

    /// Path of the file that exists if the answer was as it should be.
    fn known(&self, work: &Path) -> Result<PathBuf, String> {
        let name = match self {
            Self::Property(property, mutant) => digest(property, *mutant)?,
            Self::Linear(linear, mutant) => linear_digest(linear, *mutant),
            Self::Rule(model, stream, question) => {
                format!("{}-{stream}-{question:?}", digest(&model.rules.model, None)?)
            }
        };
        Ok(work.join(format!("{name}.ok")))
    }

    /// Answers the question, unless that was done before and `fresh` is not set.
    ///
    /// # Errors
    /// The answer is not as it should be: a property fails or a mutant does not, or no answer was found. The text
    /// says which.
    pub fn answer(&self, work: &Path, fresh: bool) -> Result<String, String> {
        let known = self.known(work)?;
        if !fresh && let Ok(text) = fs::read_to_string(&known) {
            return Ok(format!("{text}, known"));
        }
        let said = match self {
            Self::Property(property, mutant) => property_answer(property, *mutant, work)?,
            Self::Linear(linear, mutant) => linear_answer(linear, *mutant, work)?,
            Self::Rule(model, stream, question) => rule_answer(model, *stream, *question, work)?,
        };
        fs::create_dir_all(work)
            .and_then(|()| fs::write(&known, &said))
            .map_err(|error| format!("{}: {error}", known.display()))?;
        Ok(said)
    }
}

fn property_answer(
    property: &Property,
    mutant: Option<&Mutant>,
    work: &Path,
) -> Result<String, String> {
    let folder = work.join(digest(property, mutant)?);
    let outcome = decide(property, mutant, &folder).map_err(|error| error.to_string())?;
    let said = match (outcome, mutant) {
        (Outcome::Holds, None) => "holds".to_owned(),
        (Outcome::Fails { cycle, .. }, Some(_)) => format!("fails in cycle {cycle}"),
        (Outcome::Holds, Some(_)) => return Err("holds, so the property says nothing".to_owned()),
        (Outcome::Fails { cycle, trace, vcd }, None) => {
            return Err(format!("fails in cycle {cycle}:\n{trace}  {}", vcd.display()));
        }
        (Outcome::Unknown(said), _) => return Err(format!("undecided:\n{said}")),
    };
    // The folder has large models, which are not needed any more.
    fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(said)
}

fn linear_answer(linear: &Linear, mutant: Option<&Mutant>, work: &Path) -> Result<String, String> {
    let folder = work.join(linear_digest(linear, mutant));
    let found = linear.decide(mutant, &folder).map_err(|error| error.to_string())?;
    fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    match (found, mutant) {
        (Ok(()), None) => Ok("holds".to_owned()),
        (Err(wrong), Some(_)) => Ok(format!("fails: {wrong}")),
        (Ok(()), Some(_)) => Err("holds, so the property says nothing".to_owned()),
        (Err(wrong), None) => Err(wrong),
    }
}

fn rule_answer(
    model: &Model,
    stream: usize,
    question: Question,
    work: &Path,
) -> Result<String, String> {
    let folder = model.folder(work)?;
    let output = Question::ALL.len() * stream
        + Question::ALL.iter().position(|q| *q == question).unwrap_or(0);
    let holds = decide_output(output, &folder).map_err(|error| error.to_string())?;
    match (question, holds) {
        (Question::Rule, Some(true)) => Ok("holds".to_owned()),
        // The rule is proved as a property of its own, which has a trace.
        (Question::Rule, Some(false)) => property_answer(&model.rules.alone(stream), None, work),
        (_, Some(false)) => Ok("fails".to_owned()),
        (_, Some(true)) => Err("holds, so the property says nothing".to_owned()),
        (_, None) => Err("undecided".to_owned()),
    }
}
