//! The `drdma-prove` command.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use clap::Parser;
use drdma_prove::{
    Property, catalogue, page,
    tools::{Outcome, decide},
};
use sha2::{Digest, Sha256};

/// Prove properties of the card's blocks.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    /// Also those that take long.
    #[arg(long)]
    all: bool,
    /// Only those with TEXT in their block or name.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Without the changed blocks on which the properties must fail.
    #[arg(long)]
    no_mutants: bool,
    /// Again what was decided before.
    #[arg(long)]
    fresh: bool,
    /// List them, and do nothing.
    #[arg(long)]
    list: bool,
    /// Where models, traces and what was decided are kept.
    #[arg(long, value_name = "DIR", default_value = "target/prove")]
    work: PathBuf,
    /// Write the table of proofs to DIR/proofs.md; with all properties only.
    #[arg(long, value_name = "DIR")]
    docs: Option<PathBuf>,
}

/// One question: a property of the block, or of a mutant.
struct Job<'a> {
    property: &'a Property,
    mutant: Option<usize>,
}

impl Job<'_> {
    fn title(&self) -> String {
        let title = self.property.title();
        match self.mutant {
            None => title,
            Some(k) => format!("{title}, mutant `{}`", self.property.mutants[k].name),
        }
    }

    /// Answers it: nothing if all is as it should be, else what is wrong.
    fn answer(&self, work: &Path, fresh: bool) -> Result<String, String> {
        let mutant = self.mutant.map(|k| &self.property.mutants[k]);
        let text = self.property.verilog(mutant).map_err(|error| error.to_string())?;
        let how = format!(
            "{:?} {:?} {:?}",
            self.property.method, self.property.memories, self.property.cuts
        );
        let digest = Sha256::new().chain_update(page::TOOLS).chain_update(how).chain_update(text);
        let digest: String =
            digest.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        let folder = work.join(&digest);
        let known = folder.join("as-it-should-be");
        if !fresh && let Ok(text) = fs::read_to_string(&known) {
            return Ok(format!("{text}, known"));
        }
        let outcome = decide(self.property, mutant, &folder).map_err(|error| error.to_string())?;
        let said = match (outcome, mutant) {
            (Outcome::Holds, None) => "holds".to_owned(),
            (Outcome::Fails { cycle, .. }, Some(_)) => format!("fails in cycle {cycle}"),
            (Outcome::Holds, Some(_)) => return Err("holds, so it says nothing".to_owned()),
            (Outcome::Fails { cycle, trace, vcd }, None) => {
                return Err(format!("fails in cycle {cycle}:\n{trace}  {}", vcd.display()));
            }
            (Outcome::Unknown(said), _) => return Err(format!("undecided:\n{said}")),
        };
        // Models are large, and of no use any more.
        fs::remove_dir_all(&folder)
            .and_then(|()| fs::create_dir_all(&folder))
            .and_then(|()| fs::write(&known, &said))
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(said)
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let all = catalogue::all();
    let chosen: Vec<_> = all
        .iter()
        .filter(|p| arguments.all || !p.long)
        .filter(|p| arguments.only.as_ref().is_none_or(|text| p.title().contains(text)))
        .collect();
    if arguments.list {
        chosen.iter().for_each(|p| println!("{}", p.title()));
        return ExitCode::SUCCESS;
    }
    let jobs: Vec<_> = chosen
        .iter()
        .flat_map(|property| {
            let mutants = if arguments.no_mutants { 0 } else { property.mutants.len() };
            let mutants = (0..mutants).map(Some);
            [None].into_iter().chain(mutants).map(|mutant| Job { property, mutant })
        })
        .collect();
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, Into::into);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let started = Instant::now();
                    let answer = job.answer(&arguments.work, arguments.fresh);
                    let time = started.elapsed().as_secs_f64();
                    let (mark, said) = match &answer {
                        Ok(said) => ("ok   ", said),
                        Err(said) => ("WRONG", said),
                    };
                    println!("{mark} {}: {said} ({time:.1} s)", job.title());
                    if answer.is_err() {
                        wrong.lock().expect("no thread panics").push(job.title());
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no thread panics");
    println!("{} questions about {} properties, {} wrong", jobs.len(), chosen.len(), wrong.len());
    wrong.iter().for_each(|title| println!("  {title}"));
    match wrong.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
