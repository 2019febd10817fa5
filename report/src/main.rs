//! Measures the simulated card and writes docs/results.md, docs/cluster.md and docs/resources.md; run by
//! `cargo xtask report`, `cargo xtask cluster` and `cargo xtask resources`.
//!
//! | module | |
//! |---|---|
//! | [`catalogue`] | every experiment |
//! | [`layout`] | what an experiment sends, and which bytes that is |
//! | [`cluster`] | several cards: what is received, answered, sent again |
//! | [`rig`] | a card with peers: runs an experiment and checks every message |
//! | [`bound`] | how fast any card could be |
//! | [`experiment`] | an experiment's figure beside its target |
//! | [`shapes`] | random shapes, and one of the command line |
//! | [`reasons`] | why figures are missed |
//! | [`figures`] | the paper's figures 11 to 15: docs/figures |
//! | [`posting`] | criterion's figures |
//! | [`resources`] | yosys' figures, block by block |
//! | [`page`] | docs/results.md |
//! | [`record`] | docs/results.json, and whether a figure has become worse |
#![deny(unsafe_code)]

mod bound;
mod catalogue;
mod cluster;
mod costs;
mod experiment;
mod figures;
mod layout;
mod page;
mod posting;
mod reasons;
mod record;
mod resources;
mod rig;
mod shapes;
mod spent;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use clap::{Parser, Subcommand};
use experiment::{Experiment, Figure};
use figures::{Drawing, Measured, picture::Picture};
use page::Results;
use posting::Posting;
use record::Record;
use resources::{Resources, Synthesis};
use shapes::{shape::Shape, summary::Summary};

/// Measures the simulated card.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs the experiments and writes results.md.
    Measure {
        /// The folder of results.md and resources.json.
        #[arg(long, default_value = "docs")]
        docs: PathBuf,
        /// The folder in which criterion leaves its figures.
        #[arg(long, default_value = "target/criterion")]
        criterion: PathBuf,
        /// Runs only experiments whose names contain this, and writes nothing; draws the figures whose
        /// names contain it, and writes their pictures.
        #[arg(long)]
        only: Option<String>,
        /// Tells where the cycles of each of these experiments went.
        #[arg(long, requires = "only")]
        explain: bool,
        /// Writes and draws nothing, and fails if a figure misses its target, or is worse than the recorded
        /// one by more than a tenth.
        #[arg(long)]
        check: bool,
        /// Draws COUNT random shapes from a seed, measures them and nothing else, and plots the shares of
        /// the bound.
        #[arg(long, num_args = 2, value_names = ["SEED", "COUNT"], conflicts_with_all = ["only", "check"])]
        shapes: Vec<u64>,
        /// Measures one shape, and says where its cycles went: for instance 'columns=5x8 rows=8192
        /// dests=4 by=bitmaps'. May be given several times.
        #[arg(long, conflicts_with_all = ["only", "check", "shapes"])]
        shape: Vec<Shape>,
        /// Where the shares of random shapes are plotted.
        #[arg(long, value_name = "FILE", default_value = "target/shapes.svg", requires = "shapes")]
        plot: PathBuf,
        /// Measures the card of this Verilog (`mqnic_app_block.v` of `cargo xtask verilog`) instead of the
        /// one that this program was built with; its registers and layouts must be the same.
        #[arg(long, value_name = "FILE")]
        verilog: Option<PathBuf>,
        /// Writes the waveforms of the one shape that is measured to this file (FST).
        #[arg(long, value_name = "FILE", requires = "shape")]
        trace: Option<PathBuf>,
        /// How many simulations run at a time, unless as many as there are processors.
        #[arg(long)]
        threads: Option<usize>,
    },
    /// Runs the trials with several cards and writes cluster.md.
    Cluster {
        /// The folder of cluster.md and cluster.json.
        #[arg(long, default_value = "docs")]
        docs: PathBuf,
        /// Runs only trials whose names contain this, and writes nothing.
        #[arg(long)]
        only: Option<String>,
        /// Writes nothing, and fails if a figure misses its target, or is worse than the recorded one by more
        /// than a tenth.
        #[arg(long)]
        check: bool,
        /// Uses the cards of this Verilog (`mqnic_app_block.v` of `cargo xtask verilog`) instead of those that
        /// this program was built with; their registers and layouts must be the same.
        #[arg(long, value_name = "FILE")]
        verilog: Option<PathBuf>,
        /// How many trials run at a time, unless as many as there are processors.
        #[arg(long)]
        threads: Option<usize>,
    },
    /// Synthesises every block and writes resources.md and resources.json.
    Resources {
        /// Their folder.
        #[arg(long)]
        docs: PathBuf,
        /// Writes nothing, and fails if the card has grown.
        #[arg(long)]
        check: bool,
        /// Synthesises this block only; what is recorded of the others stays.
        #[arg(long, value_name = "BLOCK")]
        only: Option<String>,
        /// Synthesises a part of a block, such as `sequencer_kinds_lister`, prints its figures and its longest path,
        /// and writes nothing.
        #[arg(long, value_name = "MODULE", conflicts_with_all = ["check", "only"])]
        part: Option<String>,
        /// Seconds that one run of yosys may take.
        #[arg(long, default_value_t = 1800)]
        limit: u64,
        /// The folder that keeps the netlists of modules: what has not changed is not synthesised again.
        #[arg(long, value_name = "FOLDER", default_value = "target/netlists")]
        netlists: PathBuf,
        /// How many runs of yosys there are at a time, unless as many as there are processors.
        #[arg(long)]
        threads: Option<usize>,
    },
}

fn main() -> ExitCode {
    let command = Arguments::parse().command;
    if let Command::Measure { verilog: Some(file), .. }
    | Command::Cluster { verilog: Some(file), .. } = &command
    {
        rig::use_verilog(file.clone());
    }
    if let Command::Measure { trace: Some(file), .. } = &command {
        rig::write_trace(file.clone());
    }
    let result = match command {
        Command::Measure { shape, trace: Some(_), .. } if shape.len() > 1 => {
            Err(format!("--trace takes one --shape, not {}", shape.len()))
        }
        Command::Measure { shape, .. } if !shape.is_empty() => explain(&shape),
        Command::Measure { shapes, plot, threads, .. } if !shapes.is_empty() => {
            let count = usize::try_from(shapes[1]).unwrap_or(usize::MAX);
            measure_shapes(shapes::draw::shapes(shapes[0], count), &plot, processors(threads))
        }
        Command::Measure { docs, criterion, only, explain, check, threads, .. } => {
            measure(&docs, &criterion, only.as_deref(), explain, check, processors(threads))
        }
        Command::Cluster { docs, only, check, threads, .. } => {
            cluster::measure(&docs, only.as_deref(), check, processors(threads))
        }
        Command::Resources { docs, check, only, part, limit, netlists, threads } => {
            let limit = Duration::from_secs(limit);
            Synthesis::new(&netlists, limit, processors(threads)).and_then(|yosys| match part {
                Some(part) => Resources::part(&yosys, &part).map(|text| print!("{text}")),
                None => synthesise(&yosys, &docs, check, only.as_deref()),
            })
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// An experiment and its figure; a text if it failed.
type Ran = (Experiment, Result<Figure, String>);

/// Experiments and figures that a report runs.
struct Selected {
    /// The experiments; those behind the first `listed` are run for figures only.
    experiments: Vec<Experiment>,
    listed: usize,
    figures: Vec<figures::Figure>,
}

/// Experiments and figures whose names contain `only`; figures bring the experiments that they need, or are left out.
fn select(only: Option<&str>, with_figures: bool) -> Result<Selected, String> {
    let wanted = |id: &str| only.is_none_or(|part| id.contains(part));
    let mut experiments = catalogue::all();
    experiments.retain(|experiment| wanted(&experiment.id));
    let mut figures = figures::ALL.to_vec();
    figures.retain(|figure| with_figures && wanted(figure.id));
    if experiments.is_empty() && figures.is_empty() {
        return Err(format!("there is no experiment `{}`", only.unwrap_or_default()));
    }
    let listed = experiments.len();
    for needed in figures.iter().flat_map(|figure| (figure.experiments)()) {
        if experiments.iter().all(|experiment| experiment.id != needed.id) {
            experiments.push(needed);
        }
    }
    Ok(Selected { experiments, listed, figures })
}

/// Seed and number of the random shapes of docs/results.md.
const SHAPES: (u64, usize) = (2022, 100);

/// Number of simulations, or of runs of yosys, at a time.
fn processors(threads: Option<usize>) -> usize {
    let all = || thread::available_parallelism().map_or(1, usize::from);
    threads.unwrap_or_else(all).max(1)
}

/// Measures shapes of the command line, one after another.
fn explain(list: &[Shape]) -> Result<(), String> {
    for shape in list {
        print!("{}", shapes::explain(shape)?);
    }
    Ok(())
}

/// Measures random shapes.
fn measure_shapes(list: Vec<Shape>, plot: &Path, threads: usize) -> Result<(), String> {
    let ran = shapes::run(list, threads);
    let summary = Summary::of(&ran);
    print!("{}\nThe worst:\n\n{}\n{}", summary.table(), summary.worst(), summary.text());
    write_picture(plot, &summary.picture())?;
    match shapes::failures(&ran) {
        failed if failed.is_empty() => Ok(()),
        failed => Err(failed.join("\n")),
    }
}

fn measure(
    docs: &Path,
    criterion: &Path,
    only: Option<&str>,
    explain: bool,
    check: bool,
    threads: usize,
) -> Result<(), String> {
    let Selected { mut experiments, listed, figures } = select(only, !check)?;
    // The first experiment, contiguous data, runs alone: the speed of its simulation is a figure, too.
    let rest = experiments.split_off(1.min(experiments.len()));
    let mut ran = run_all(experiments, 1, explain);
    let speed = match ran.first() {
        Some((_, Ok(figure))) => Some(figure.simulated),
        _ => None,
    };
    ran.extend(run_all(rest, threads, explain));
    let posting = Posting::read(criterion);
    let drawn = draw(&figures, Measured { ran: &ran, posting: &posting });
    let mut wrong = failures(&ran, &drawn);
    // Shapes have no names: only the whole report has them.
    let shapes = only.is_none().then(|| {
        let ran = shapes::run(shapes::draw::shapes(SHAPES.0, SHAPES.1), threads);
        wrong.extend(shapes::failures(&ran));
        Summary::of(&ran)
    });

    let listed = &ran[..listed];
    if check {
        wrong.extend(complaints(docs, listed, shapes.as_ref())?);
    } else if let Some(shapes) = &shapes {
        let measured = listed.iter().filter_map(|(e, result)| Some((e, result.as_ref().ok()?)));
        write(&docs.join("results.json"), &Record::of(measured).json())?;
        write_picture(&docs.join(page::SHAPES_FILE), &shapes.picture())?;
        let results = Results {
            figures: listed,
            drawn: &drawn,
            posting,
            shapes,
            speed,
            resources: Resources::read(&docs.join("resources.json")),
            processor: processor(),
        };
        let file = docs.join("results.md");
        write(&file, &results.page())?;
        eprintln!("{} is written", file.display());
    }
    for (figure, drawing) in &drawn {
        if only.is_some() {
            println!("{}", figure.section(drawing));
        }
        if let Ok(drawing) = drawing {
            write_picture(&docs.join(figure.file()), &drawing.picture)?;
        }
    }
    match wrong {
        wrong if wrong.is_empty() => Ok(()),
        wrong => Err(wrong.join("\n")),
    }
}

/// A line for each figure that misses its target, or is worse than recorded.
fn complaints(
    docs: &Path,
    listed: &[Ran],
    shapes: Option<&Summary>,
) -> Result<Vec<String>, String> {
    let recorded = Record::read(&docs.join("results.json"))?;
    let measured = listed.iter().filter_map(|(e, result)| Some((e, result.as_ref().ok()?)));
    let mut wrong: Vec<String> =
        measured.flat_map(|(e, figure)| recorded.complaints(e, figure)).collect();
    wrong.extend(
        shapes.filter(|shapes| !shapes.met()).map(|shapes| shapes.text().trim().to_owned()),
    );
    Ok(wrong)
}

type Drawn = (figures::Figure, Result<Drawing, String>);

fn draw(figures: &[figures::Figure], measured: Measured) -> Vec<Drawn> {
    figures.iter().map(|figure| (*figure, figure.draw(&measured))).collect()
}

/// A line for each experiment or drawing that failed.
fn failures(ran: &[Ran], drawn: &[Drawn]) -> Vec<String> {
    let wrong = |(experiment, result): &Ran| {
        let error = result.as_ref().err()?;
        Some(format!("the card did wrong in {}: {error}", experiment.id))
    };
    let missing = |(figure, drawing): &Drawn| {
        let error = drawing.as_ref().err()?;
        Some(format!("{} is not drawn: {error}", figure.id))
    };
    ran.iter().filter_map(wrong).chain(drawn.iter().filter_map(missing)).collect()
}

/// Runs experiments, `threads` at a time; the results are in the same order.
fn run_all(experiments: Vec<Experiment>, threads: usize, explain: bool) -> Vec<Ran> {
    let results = in_parallel(&experiments, threads, |experiment| run_one(experiment, explain));
    experiments.into_iter().zip(results).collect()
}

/// Calls a function for each entry of a list, `threads` at a time; the results are in the same order.
fn in_parallel<T: Sync, R: Send>(
    list: &[T],
    threads: usize,
    run: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<R>>> = list.iter().map(|_| Mutex::default()).collect();
    let work = || {
        while let index = next.fetch_add(1, Ordering::Relaxed)
            && let Some(item) = list.get(index)
        {
            let result = run(item);
            *results[index].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        }
    };
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let taken = results.into_iter().map(|result| {
        let result = result.into_inner().unwrap_or_else(PoisonError::into_inner);
        result.expect("every one was run")
    });
    taken.collect()
}

fn run_one(experiment: &Experiment, explain: bool) -> Result<Figure, String> {
    let started = Instant::now();
    let result = experiment.run().map_err(|error| error.to_string());
    let text = match &result {
        Ok((figure, _)) => {
            let verdict = if figure.met { "met" } else { "missed" };
            format!("{verdict}, {} ({})", figure.measured, figure.target)
        }
        Err(error) => format!("FAILED, {error}"),
    };
    eprintln!("{}: {text} ({:.1} s)", experiment.id, started.elapsed().as_secs_f64());
    result.map(|(figure, found)| {
        if explain {
            print!("{}\n{}", experiment.id, spent::text(&found));
        }
        figure
    })
}

/// Synthesises blocks. `check` compares them with the record; otherwise they are recorded block by block.
fn synthesise(
    yosys: &Synthesis,
    docs: &Path,
    check: bool,
    only: Option<&str>,
) -> Result<(), String> {
    let file = docs.join("resources.json");
    let recorded = Resources::read(&file);
    let mut found = recorded.clone().unwrap_or_default();
    let mut started = Instant::now();
    found.measure(yosys, only, |found, name| {
        eprintln!("{name}: {} ({:.0} s)", found.blocks[name], started.elapsed().as_secs_f64());
        started = Instant::now();
        if check {
            return Ok(());
        }
        found.write(&file)?;
        write(&docs.join("resources.md"), &found.page())
    })?;
    if !check {
        return Ok(());
    }
    let grown = found.grown(&recorded?);
    match grown.is_empty() {
        true => Ok(()),
        false => Err(format!("the card has grown:\n  {}", grown.join("\n  "))),
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(())
}

fn write_picture(path: &Path, picture: &Picture) -> Result<(), String> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    write(path, &picture.svg()?)?;
    eprintln!("{} is written", path.display());
    Ok(())
}

/// The name of this machine's processor.
fn processor() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or("an unknown processor".to_owned(), |(_, name)| name.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_is_listed_whether_it_is_an_experiment_or_a_figure() {
        let experiments = catalogue::words();
        let ran: Vec<Ran> = experiments
            .into_iter()
            .map(|experiment| match experiment.words {
                Some(3) => (experiment, Err("3 B for 4 B".to_owned())),
                _ => (experiment, Ok(Figure { gbps: 8.0, ..Figure::default() })),
            })
            .collect();
        let posting = Err("no file".to_owned());
        let mut figures = figures::ALL.to_vec();
        figures.retain(|figure| ["figure-11", "figure-15"].contains(&figure.id));
        let drawn = draw(&figures, Measured { ran: &ran, posting: &posting });
        assert_eq!(
            failures(&ran, &drawn),
            [
                "the card did wrong in packets-128-words-3: 3 B for 4 B",
                "figure-11 is not drawn: no file",
                "figure-15 is not drawn: packets-128-words-3: 3 B for 4 B",
            ]
        );
        let right: Vec<Ran> = ran.into_iter().filter(|(_, result)| result.is_ok()).collect();
        assert_eq!(failures(&right, &[]), [""; 0]);
    }

    #[test]
    fn figures_bring_the_experiments_that_they_need() {
        let Selected { experiments, listed, figures } = select(Some("figure-15"), true).unwrap();
        assert_eq!((experiments.len(), listed, figures.len()), (16, 0, 1));
        // No experiment is run twice.
        let all = select(None, true).unwrap();
        let ids: std::collections::BTreeSet<_> =
            all.experiments.iter().map(|experiment| &experiment.id).collect();
        assert_eq!((ids.len(), all.figures.len()), (all.experiments.len(), 5));
        assert_eq!(all.listed, catalogue::all().len());
        let checked = select(None, false).unwrap();
        assert_eq!((checked.experiments.len(), checked.figures.len()), (all.listed, 0));
    }

    #[test]
    fn a_name_that_nothing_has_is_an_error() {
        let nowhere = Path::new("/nowhere");
        let error = measure(nowhere, nowhere, Some("figure-16"), false, false, 1).unwrap_err();
        assert_eq!(error, "there is no experiment `figure-16`");
    }
}
