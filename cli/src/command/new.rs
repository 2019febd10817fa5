//! `drdma new` and `drdma schema`: job files to start from, and what editors know of them.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};
use drdma_cli::fabric;
use drdma_cli::job::{ExampleKind, example, schema};

use super::{Failure, create, finish, note, say};

/// The name of the schema beside a job file.
const SCHEMA: &str = "drdma-job.schema.json";

/// Write a job file to start from, with comments, and beside it the schema that editors use.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  drdma new                          one post of each kind, in job.json
  drdma new bitmapped shuffle.json   the rows that a bitmap selects
  drdma new partitioned -            to standard output")]
pub struct NewArguments {
    /// What it shows.
    #[arg(value_enum, default_value = "all")]
    kind: ExampleKind,
    /// Where to; `-` is standard output.
    #[arg(default_value = "job.json")]
    file: PathBuf,
    /// Replace a file that is there.
    #[arg(long)]
    force: bool,
}

/// Print the JSON schema of job files.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  drdma schema > drdma-job.schema.json
  drdma schema fabric > drdma-fabric.schema.json")]
pub struct SchemaArguments {
    /// What the jobs are for.
    #[arg(value_enum, default_value = "run")]
    kind: JobKind,
}

/// Kinds of job files.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum JobKind {
    /// `drdma run`: one card.
    Run,
    /// `drdma fabric`: several cards.
    Fabric,
}

/// Runs `drdma new`.
pub fn new(arguments: &NewArguments) -> Result<(), Failure> {
    let text = example(arguments.kind, &format!("./{SCHEMA}"));
    if arguments.file == Path::new("-") {
        return say(text);
    }
    let path = &arguments.file;
    if !arguments.force && fs::symlink_metadata(path).is_ok() {
        let text = format!("{} is there already; --force replaces it", path.display());
        return Err(Failure::Usage(text));
    }
    write(path, &text)?;
    let schema_path = path.with_file_name(SCHEMA);
    write(&schema_path, &format!("{:#}\n", schema()))?;
    note(format_args!(
        "{0} and its schema are written; next: drdma explain {0}, drdma run {0} --device soft:",
        path.display()
    ));
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let mut file = create(path)?;
    file.write_all(text.as_bytes()).map_err(|error| Failure::file(path, &error))?;
    finish(file, path)
}

/// Runs `drdma schema`.
pub fn print_schema(arguments: &SchemaArguments) -> Result<(), Failure> {
    let schema = match arguments.kind {
        JobKind::Run => schema(),
        JobKind::Fabric => fabric::schema(),
    };
    say(format_args!("{schema:#}\n"))
}
