//! `engine`: the crate `drdma-datafusion`, a workspace of its own.

use crate::{
    Error, cargo,
    command::{Command, step},
    root,
};

/// Builds and tests the engine; with arguments, does a part of that or another task.
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
        ["--queries"] => queries(),
        ["--check"] => step("Formatting and lints", || {
            in_folder("fmt").args(["--all", "--check"]).run()?;
            in_folder("clippy").args(["--workspace", "--all-targets", "--", "-D", "warnings"]).run()
        }),
        ["--tpch"] => tpch("0.01", "3"),
        ["--tpch", scale] => tpch(scale, "3"),
        ["--tpch", scale, workers] => tpch(scale, workers),
        ["--cpu"] => cpu("0.1", "3"),
        ["--cpu", scale] => cpu(scale, "3"),
        ["--cpu", scale, workers] => cpu(scale, workers),
        ["--measure"] => {
            step("What a row costs, by the card and as the engine has it; about a minute", || {
                in_folder("run").args(["--quiet", "--package", "drdma-engine-cost"]).run()
            })
        }
        _ => {
            let text = "`engine` takes nothing, --build, --queries, --check, --tpch [SCALE [WORKERS]], --measure or \
                        --cpu [SCALE [WORKERS]]";
            Err(Error::Usage(text.to_owned()))
        }
    }
}

fn build() -> Result<(), Error> {
    let what =
        "Building the engine: DataFusion and 300 crates, 13 minutes of a processor the first time";
    step(what, || in_folder("build").args(["--workspace", "--all-targets"]).run())
}

/// Small queries over workers, each compared with one process: builds only the tests with `queries` in their names.
fn queries() -> Result<(), Error> {
    let what = "Queries over workers of this machine, each compared with one process; 13 minutes of a processor the \
                first time, then half a minute";
    let tests = ["--locked", "--package", "drdma-datafusion", "--test", "cluster", "queries"];
    step(what, || in_folder("test").args(tests).run())
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

/// Whole queries with the engine's own exchange and with the cards, in a build in which all of both is optimised.
fn cpu(scale: &str, workers: &str) -> Result<(), Error> {
    let [build, run] = measurement(scale, workers);
    step(
        "Building the engine, optimised; a quarter of an hour on two cores the first time",
        || in_folder("build").args(build).run(),
    )?;
    let what = format!(
        "CPU time of {workers} worker processes for queries of TPC-H at scale {scale}, with Arrow Flight and with the \
         cards in turns, 18 runs of each query; some minutes"
    );
    step(&what, || in_folder("run").args(run).run())
}

/// The queries of TPC-H that are measured: those that exchange most.
const HEAVY: &str = "3,4,5,9,10,13,18,21";

/// Arguments of `cargo build` and `cargo run` that measure whole queries.
fn measurement<'a>(scale: &'a str, workers: &'a str) -> [Vec<&'a str>; 2] {
    let profile = ["--profile", "measured", "--bin", "drdma-cluster"];
    let queries = ["--quiet", "--", "--tpch", scale, "--workers", workers, "--cpu", HEAVY];
    [profile.to_vec(), [&profile[..], &queries].concat()]
}

/// Cargo in the workspace of the engine.
fn in_folder(verb: &str) -> Command {
    let manifest = root().join("datafusion").join("Cargo.toml");
    cargo().args([verb, "--manifest-path", &manifest.display().to_string()])
}

#[cfg(test)]
mod tests {
    use std::{
        collections::{BTreeMap, BTreeSet},
        fs,
    };

    use super::*;

    #[test]
    fn whole_queries_are_measured_in_their_own_profile() {
        let [build, run] = measurement("0.5", "4");
        let profile =
            build.windows(2).find_map(|words| (words[0] == "--profile").then_some(words[1]));
        let manifest = fs::read_to_string(root().join("datafusion").join("Cargo.toml")).unwrap();
        assert!(manifest.contains(&format!("[profile.{}]", profile.unwrap())));
        assert!(run.starts_with(&build), "what is run is what was built");
        let queries = ["--tpch", "0.5", "--workers", "4", "--cpu", HEAVY];
        assert!(run.ends_with(&queries), "{run:?}");
    }

    #[test]
    fn what_is_no_task_is_refused_with_all_that_are() {
        let fails = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            run(&words).expect_err("refused").to_string()
        };
        for words in [&["--whole"][..], &["--cpu", "1", "3", "5"], &["--check", "1"]] {
            let error = fails(words);
            for task in ["--build", "--queries", "--check", "--tpch", "--measure", "--cpu"] {
                assert!(error.contains(task), "{task} in {error}");
            }
        }
    }

    /// Names of the packages that a crate needs when others use it, and how many of these are optional.
    fn needed(manifest: &str) -> (BTreeSet<&str>, BTreeSet<&str>) {
        let (mut all, mut optional) = (BTreeSet::new(), BTreeSet::new());
        let mut counts = false;
        for line in manifest.lines() {
            if let Some(section) = line.strip_prefix('[') {
                let section = section.trim_end_matches(']');
                counts =
                    section.ends_with("dependencies") && !section.ends_with("dev-dependencies");
            } else if counts && let Some((name, value)) = line.split_once('=') {
                let name = name.trim().trim_end_matches(".workspace");
                all.insert(name);
                if value.contains("optional = true") {
                    optional.insert(name);
                }
            }
        }
        (all, optional)
    }

    /// Names of the packages that come from no registry, and of the packages that each needs.
    fn locked(lock: &str) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut packages = BTreeMap::new();
        for package in
            lock.split("[[package]]").skip(1).filter(|text| !text.contains("\nsource = "))
        {
            let mut quoted = package.split('"').skip(1).step_by(2);
            let name = quoted.next().expect("a name");
            // Dependencies stand behind the version.
            let needs = quoted.skip(1).filter_map(|need| need.split(' ').next()).collect();
            packages.insert(name, needs);
        }
        packages
    }

    /// The workspace is not built with the other one, whose crates it uses: a crate that needs something new is noticed
    /// here.
    #[test]
    fn the_lock_file_has_what_the_crates_of_the_other_workspace_need() {
        let read = |path: &std::path::Path| fs::read_to_string(path).unwrap_or_default();
        let lock = read(&root().join("datafusion").join("Cargo.lock"));
        let locked = locked(&lock);
        let mut seen = 0;
        for folder in fs::read_dir(root()).unwrap() {
            let manifest = read(&folder.unwrap().path().join("Cargo.toml"));
            let name = manifest.lines().find_map(|line| line.strip_prefix("name = \""));
            let name = name.and_then(|name| name.strip_suffix('"')).unwrap_or_default();
            let Some(needs) = locked.get(name).filter(|_| name != "drdma-datafusion") else {
                continue;
            };
            let (all, optional) = needed(&manifest);
            let (missing, more): (Vec<_>, Vec<_>) = (
                all.difference(&optional).filter(|need| !needs.contains(*need)).collect(),
                needs.difference(&all).collect(),
            );
            let command = "run `cargo update --workspace` in datafusion/";
            assert!(
                missing.is_empty() && more.is_empty(),
                "{name}: {missing:?}, {more:?}: {command}"
            );
            seen += 1;
        }
        assert!(seen >= 8, "{seen} crates");
    }
}
