//! `engine`: the crate `drdma-datafusion`, a workspace of its own.

use crate::{
    Error, cargo,
    command::{Command, step},
    root,
};

/// Builds and tests it; with arguments, some of that or something else.
pub fn run(args: &[String]) -> Result<(), Error> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words[..] {
        [] => {
            build()?;
            step("Testing: queries over workers of this machine; about two minutes", || {
                in_folder("test").arg("--workspace").run()
            })
        }
        ["--build"] => build(),
        ["--check"] => step("Formatting and lints", || {
            in_folder("fmt").args(["--all", "--check"]).run()?;
            in_folder("clippy").args(["--workspace", "--all-targets", "--", "-D", "warnings"]).run()
        }),
        ["--tpch"] => tpch("0.01", "3"),
        ["--tpch", scale] => tpch(scale, "3"),
        ["--tpch", scale, workers] => tpch(scale, workers),
        ["--measure"] => {
            step("What a row costs, by the card and as the engine has it; about a minute", || {
                in_folder("run").args(["--quiet", "--package", "drdma-engine-cost"]).run()
            })
        }
        _ => {
            let text =
                "`engine` takes nothing, --build, --check, --tpch [SCALE [WORKERS]] or --measure";
            Err(Error::Usage(text.to_owned()))
        }
    }
}

fn build() -> Result<(), Error> {
    let what = "Building the engine: DataFusion and 300 crates, 20 minutes on two processors the first time";
    step(what, || in_folder("build").args(["--workspace", "--all-targets"]).run())
}

/// All queries, each compared with one process.
fn tpch(scale: &str, workers: &str) -> Result<(), Error> {
    build()?;
    let queries = ["--tpch", scale, "--workers", workers, "--check", "all"];
    let what = format!(
        "The 22 queries of TPC-H at scale {scale} over {workers} worker processes, each compared with one process"
    );
    let run =
        || in_folder("run").args(["--quiet", "--bin", "drdma-cluster", "--"]).args(queries).run();
    step(&what, run)
}

/// Cargo in the workspace of the engine.
fn in_folder(verb: &str) -> Command {
    let manifest = root().join("datafusion").join("Cargo.toml");
    cargo().args([verb, "--manifest-path", &manifest.display().to_string()])
}
