//! The command `drdma-cluster`, which `drdma cluster` starts: a query over several workers, or one of these.

use std::{
    env,
    io::{IsTerminal as _, Write as _, stderr},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use clap::Parser;
use datafusion::{
    arrow::{record_batch::RecordBatch, util::pretty::pretty_format_batches},
    common::exec_datafusion_err,
    prelude::SessionContext,
};
use drdma_datafusion::{
    Cluster, Deployment, Directory, Error, Options, Transport, cluster, deployment, tpch,
    whole::{self, Comparison},
};
use libdrdma::Arena;

/// What the engine computes lies where the cards read it.
#[global_allocator]
static MEMORY: Arena = Arena::new(16 << 30).threshold(4096);

/// Bytes of a MiB.
const MIB: usize = 1 << 20;
/// Interval at which progress is printed.
const PROGRESS: Duration = Duration::from_millis(200);

/// Runs SQL over several workers: processes of this machine, or on hosts. Rows go from worker to worker by cards
/// `soft:`, whose frames go by UDP.
#[derive(Debug, Parser)]
#[command(
    name = "drdma cluster",
    version,
    after_help = "Examples:
  drdma cluster --workers 3 -c 'select key, count(*) from t group by key' t.parquet
  drdma cluster --tpch 0.01 --check all
  drdma cluster --config hosts.json --serve 0          on the first host of the file, and so on
  drdma cluster --config hosts.json -c 'select count(*) from t' /data/t.parquet"
)]
struct Arguments {
    /// Tables: Parquet files, CSV files with a header, or directories of Parquet files, as PATH or NAME=PATH
    /// (without a name: that of the file).
    #[arg(value_name = "TABLE")]
    tables: Vec<String>,
    /// The query, or several. EXPLAIN shows the plan, EXPLAIN ANALYZE with what each exchange did.
    #[arg(short = 'c', long = "command", value_name = "SQL")]
    commands: Vec<String>,
    /// Workers: processes of this machine, which end with the command.
    #[arg(long, value_name = "N", default_value_t = 3)]
    workers: usize,
    /// Workers are threads of one process, and their cards are behind a simulated switch.
    #[arg(long, conflicts_with = "config")]
    threads: bool,
    /// The workers are those of this file, started before on their hosts. Tables must have the same path on all of
    /// them.
    #[arg(long, value_name = "FILE", conflicts_with = "workers")]
    config: Option<PathBuf>,
    /// Be that worker of the file, counted from 0, until interrupted.
    #[arg(long, value_name = "NUMBER", requires = "config")]
    serve: Option<usize>,
    /// What carries rows from worker to worker: drdma, the cards, or flight, the engine's own exchange (Arrow Flight
    /// over gRPC). `-c "SET drdma.exchange = 'flight'"` changes it for the queries behind it.
    #[arg(long, value_name = "EXCHANGE", default_value_t)]
    exchange: Transport,
    /// A query fails when a worker does not answer for so many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    patience: u64,
    /// Batches that wait to be sent have so much of a worker's memory; what else must wait is on disk.
    #[arg(long, value_name = "MIB", default_value_t = 256, conflicts_with = "config")]
    backlog: usize,
    /// A worker's files on disk have so much at most, those of sorts and joins included.
    #[arg(long, value_name = "MIB", default_value_t = 100 << 10, conflicts_with = "config")]
    disk: u64,
    /// Directory of these files (default: the system's directory for temporary files).
    #[arg(long, value_name = "DIR", conflicts_with = "config")]
    spill_directory: Option<PathBuf>,
    /// Be a worker of the process that started this one.
    #[arg(long, hide = true)]
    worker: bool,
    /// Partitions of each worker's share.
    #[arg(long, value_name = "N", default_value_t = 2)]
    partitions: usize,
    /// Makes the tables of TPC-H at that scale (1 is 6 million rows of LINEITEM) in a temporary directory.
    #[arg(long, value_name = "SCALE")]
    tpch: Option<f64>,
    /// Runs these queries of TPC-H (`all`, or numbers such as 1,3,18) and compares each with one process of DataFusion.
    #[arg(long, value_name = "QUERIES", requires = "tpch", conflicts_with = "commands")]
    check: Option<String>,
    /// Measures the workers' CPU time of these queries of TPC-H (`all`, or numbers such as 1,3,18), in turns with the
    /// engine's own exchange and with the cards, and compares the rows of each run with one process of DataFusion.
    #[arg(
        long, value_name = "QUERIES", requires = "tpch",
        conflicts_with_all = ["commands", "check", "threads", "exchange"]
    )]
    cpu: Option<String>,
    /// Runs of each query in each way that `--cpu` takes the median of, after one that is not counted.
    #[arg(
        long, value_name = "N", default_value_t = 5, requires = "cpu",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    times: u32,
    /// Says nothing but the rows.
    #[arg(short, long)]
    quiet: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(1)
        }
    }
}

fn run(arguments: &Arguments) -> Result<bool, Error> {
    let say = |text: String| {
        if !arguments.quiet {
            eprintln!("{text}");
        }
    };
    if arguments.worker {
        return deployment::serve_child(&MEMORY).map(|()| true);
    }
    let directory = arguments.config.as_deref().map(Directory::read).transpose()?;
    if let (Some(directory), Some(number)) = (&directory, arguments.serve) {
        return deployment::serve(directory, number, &MEMORY).map(|()| true);
    }
    let queries = queries(arguments)?;
    let options = options(arguments, directory)?;
    let (workers, place) = (options.workers, place(&options.deployment));
    let cluster = Cluster::start(options)?;
    say(format!("{workers} workers, {place}, each with a card soft:"));

    let directory = match arguments.tpch {
        Some(scale) => Some(tables_of_tpch(arguments, scale)?),
        None => None,
    };
    let mut tables = Vec::new();
    if let Some(directory) = &directory {
        let path = |table: &str| directory.path().join(table).display().to_string() + "/";
        tables.extend(tpch::TABLES.iter().map(|table| ((*table).to_owned(), path(table))));
        say(format!("TPC-H at scale {}", arguments.tpch.unwrap_or_default()));
    }
    tables.extend(arguments.tables.iter().map(|table| name_and_path(table)));
    for (table, path) in &tables {
        cluster.register(table, path)?;
    }
    if arguments.cpu.is_some() {
        return cpu(&cluster, arguments, &tables, &queries);
    }
    if !queries.is_empty() {
        return check(&cluster, arguments, &tables, &queries);
    }
    for sql in &arguments.commands {
        if let Some((query, analyze)) = explained(sql) {
            let plan = if analyze { cluster.analyze(query)? } else { cluster.explain(query)? };
            println!("{plan}");
            continue;
        }
        let before = cluster.totals();
        let started = Instant::now();
        let rows = with_progress(&cluster, arguments.quiet, || cluster.query(sql))?;
        println!("{}", pretty_format_batches(&rows)?);
        let count: usize = rows.iter().map(RecordBatch::num_rows).sum();
        let totals = cluster.totals().since(before);
        say(format!("{count} rows in {:.2} s; {totals}", started.elapsed().as_secs_f64()));
    }
    Ok(true)
}

/// The cluster's options, from arguments or a file.
fn options(arguments: &Arguments, directory: Option<Directory>) -> Result<Options, Error> {
    let mut options = Options::new(arguments.workers, &MEMORY);
    options.partitions = arguments.partitions;
    options.patience = Duration::from_secs(arguments.patience);
    options.transport = arguments.exchange;
    options.exchange.backlog = arguments.backlog.saturating_mul(MIB);
    options.exchange.disk = arguments.disk.saturating_mul(MIB as u64);
    options.exchange.directory = arguments.spill_directory.clone();
    if let Some(directory) = directory {
        options.workers = directory.workers.len();
        options.deployment = Deployment::Hosts(directory);
    } else if !arguments.threads {
        let program = env::current_exe();
        let program = program
            .map_err(|source| Error::System { what: "where this program is".into(), source })?;
        options.deployment = Deployment::Processes { program };
    }
    Ok(options)
}

/// The place where workers run, in words.
fn place(deployment: &Deployment) -> &'static str {
    match deployment {
        Deployment::Threads(_) => "threads of this process",
        Deployment::Processes { .. } => "processes of this machine",
        Deployment::Hosts(_) => "on their hosts",
    }
}

/// The query that EXPLAIN explains, and whether ANALYZE runs it.
fn explained(sql: &str) -> Option<(&str, bool)> {
    let rest = without(sql, "explain")?;
    Some(without(rest, "analyze").map_or((rest, false), |query| (query, true)))
}

/// The text behind `word`, if `text` begins with it.
fn without<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let (first, rest) = text.trim_start().split_once(char::is_whitespace)?;
    first.eq_ignore_ascii_case(word).then_some(rest)
}

/// The queries of TPC-H that are to be checked or measured, by their numbers.
fn queries(arguments: &Arguments) -> Result<Vec<usize>, Error> {
    let Some(listed) = arguments.check.as_ref().or(arguments.cpu.as_ref()) else {
        return Ok(Vec::new());
    };
    if listed == "all" {
        return Ok((1..=tpch::QUERIES.len()).collect());
    }
    let number = |text: &str| match text.trim().parse() {
        Ok(number @ 1..=22) => Ok(number),
        _ => Err(exec_datafusion_err!("`{text}` is no query of TPC-H: 1 to 22, or all").into()),
    };
    listed.split(',').map(number).collect()
}

/// Table and path of an argument.
fn name_and_path(argument: &str) -> (String, String) {
    if let Some((name, path)) = argument.split_once('=') {
        return (name.to_owned(), with_slash(path));
    }
    let stem = Path::new(argument).file_stem();
    let name = stem.map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    (name, with_slash(argument))
}

/// The path, with a slash behind it if it is a directory, as DataFusion requires.
fn with_slash(path: &str) -> String {
    match Path::new(path).is_dir() && !path.ends_with('/') {
        true => format!("{path}/"),
        false => path.to_owned(),
    }
}

/// A directory that is removed at the end.
struct Temporary(PathBuf);

impl Temporary {
    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn tables_of_tpch(arguments: &Arguments, scale: f64) -> Result<Temporary, Error> {
    let name = format!("drdma-tpch-{}", std::process::id());
    let directory = Temporary(std::env::temp_dir().join(name));
    tpch::write_tables(directory.path(), scale, arguments.workers * arguments.partitions)?;
    Ok(directory)
}

/// Does `work`; reports its progress now and then if standard error is a terminal.
fn with_progress<R>(cluster: &Cluster, quiet: bool, work: impl FnOnce() -> R) -> R {
    if quiet || !stderr().is_terminal() {
        return work();
    }
    let (done, wait) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let (before, started) = (cluster.totals(), Instant::now());
            while wait.recv_timeout(PROGRESS) == Err(RecvTimeoutError::Timeout) {
                let totals = cluster.totals().since(before);
                eprint!("\r\x1b[K{:.1} s; {totals}", started.elapsed().as_secs_f64());
                let _ = stderr().flush();
            }
            eprint!("\r\x1b[K");
        });
        let result = work();
        drop(done);
        result
    })
}

/// A session of one process with the tables.
fn one_process(
    cluster: &Cluster,
    arguments: &Arguments,
    tables: &[(String, String)],
) -> Result<SessionContext, Error> {
    let one = cluster::one_process(arguments.partitions);
    for (table, path) in tables {
        cluster.coordinator().block_on(cluster::register(&one, table, path))?;
    }
    Ok(one)
}

/// Measures the workers' CPU time of queries, and prints a line for each and their sum.
fn cpu(
    cluster: &Cluster,
    arguments: &Arguments,
    tables: &[(String, String)],
    queries: &[usize],
) -> Result<bool, Error> {
    let one = one_process(cluster, arguments, tables)?;
    println!("{}\n{}", Comparison::LEGEND, Comparison::TITLE);
    let mut sum = Comparison::default();
    for number in queries {
        let sql = tpch::QUERIES[number - 1];
        let expected =
            cluster.coordinator().block_on(async { one.sql(sql).await?.collect().await })?;
        let expected = tpch::rows_as_text(&expected)?;
        let compared = whole::compare(cluster, sql, arguments.times as usize, &expected)?;
        println!("q{number:<3}{compared}");
        sum += compared;
    }
    println!("all {sum}");
    Ok(true)
}

/// Compares queries with one process. False if any differs.
fn check(
    cluster: &Cluster,
    arguments: &Arguments,
    tables: &[(String, String)],
    queries: &[usize],
) -> Result<bool, Error> {
    let one = one_process(cluster, arguments, tables)?;
    let mut differ = 0;
    for number in queries {
        let sql = tpch::QUERIES[number - 1];
        let (before, started) = (cluster.totals(), Instant::now());
        let rows = with_progress(cluster, arguments.quiet, || cluster.query(sql));
        let (time, totals) = (started.elapsed(), cluster.totals().since(before));
        let expected =
            cluster.coordinator().block_on(async { one.sql(sql).await?.collect().await })?;
        let expected = tpch::rows_as_text(&expected)?;
        let verdict = match rows {
            Ok(rows) if tpch::rows_as_text(&rows)? == expected => "equal".to_owned(),
            Ok(rows) => {
                differ += 1;
                let rows = tpch::rows_as_text(&rows)?;
                format!("DIFFERS: {} rows, {} in one process", rows.len(), expected.len())
            }
            Err(error) => {
                differ += 1;
                format!("FAILED: {error}")
            }
        };
        let rows = expected.len();
        println!("q{number:<2} {rows:>6} rows {:>6.2} s  {verdict}; {totals}", time.as_secs_f64());
    }
    println!("{} of {} queries equal to one process", queries.len() - differ, queries.len());
    Ok(differ == 0)
}
