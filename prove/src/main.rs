//! The `drdma-prove` command.

use std::{
    fs,
    path::PathBuf,
    process::ExitCode,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use clap::Parser;
use drdma_prove::{
    catalogue::Catalogue,
    jobs::{Job, Model},
    page,
    streams::Question,
};

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
    /// Write the table of all properties to DIR/proofs.md, and prove nothing.
    #[arg(long, value_name = "DIR")]
    docs: Option<PathBuf>,
    /// Where models, traces and what was decided are kept.
    #[arg(long, value_name = "DIR", default_value = "target/prove")]
    work: PathBuf,
}

/// The questions of the catalogue that the arguments select.
fn jobs<'a>(
    arguments: &Arguments,
    catalogue: &'a Catalogue,
    models: &'a [Model<'a>],
) -> Vec<Job<'a>> {
    let mut jobs = Vec::new();
    for property in catalogue.properties.iter().filter(|p| arguments.all || !p.long) {
        jobs.push(Job::Property(property, None));
        jobs.extend(property.mutants.iter().map(|mutant| Job::Property(property, Some(mutant))));
    }
    for linear in &catalogue.linear {
        jobs.push(Job::Linear(linear, None));
        jobs.extend(linear.mutants.iter().map(|mutant| Job::Linear(linear, Some(mutant))));
    }
    for (rules, model) in catalogue.rules.iter().zip(models) {
        if arguments.all || !rules.long {
            for stream in 0..rules.streams.len() {
                jobs.extend(rules.questions(stream).map(|q| Job::Rule(model, stream, q)));
            }
        }
    }
    let mutant = |job: &Job| {
        let real = matches!(
            job,
            Job::Property(_, None) | Job::Linear(_, None) | Job::Rule(_, _, Question::Rule)
        );
        !real
    };
    jobs.retain(|job| {
        arguments.only.as_ref().is_none_or(|text| job.title().contains(text))
            && !(arguments.no_mutants && mutant(job))
    });
    jobs
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let catalogue = Catalogue::new();
    if let Some(folder) = &arguments.docs {
        let path = folder.join("proofs.md");
        return match fs::write(&path, page::page(&catalogue)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: {}: {error}", path.display());
                ExitCode::FAILURE
            }
        };
    }
    let models: Vec<_> = catalogue.rules.iter().map(Model::new).collect();
    let jobs = jobs(&arguments, &catalogue, &models);
    if arguments.list {
        jobs.iter().for_each(|job| println!("{}", job.title()));
        return ExitCode::SUCCESS;
    }
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
    println!("{} questions, {} wrong", jobs.len(), wrong.len());
    wrong.iter().for_each(|title| println!("  {title}"));
    match wrong.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
