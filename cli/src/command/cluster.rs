//! `drdma cluster`: SQL over several workers, by a program of its own.

use std::{
    env,
    ffi::OsString,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use clap::Args;

use super::Failure;

/// Name of the program.
const PROGRAM: &str = "drdma-cluster";
/// Environment variable with the program's path.
const VARIABLE: &str = "DRDMA_CLUSTER";

/// Run SQL over several workers, processes of this machine or on hosts, whose rows go by cards `soft:`.
#[derive(Debug, Args)]
#[command(
    disable_help_flag = true,
    after_help = "Examples:
  drdma cluster --workers 3 -c 'select key, count(*) from t group by key' t.parquet
  drdma cluster --tpch 0.01 --check all

It is a program of its own, drdma-cluster, as DataFusion is part of it: `drdma cluster --help` is its help."
)]
pub struct Arguments {
    /// What the program is told.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    arguments: Vec<OsString>,
}

/// Replaces this process by the program.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let program = find(env::var_os(VARIABLE), env::current_exe().ok().as_deref(), Path::is_file);
    let Some(program) = program else {
        let missing = format!(
            "`drdma cluster` is a program of its own, {PROGRAM}, and it is not built. In the folder of D-RDMA:\n\
             \n  cargo xtask engine --build                    builds it there, where this command finds it\
             \n  cargo install --locked --path datafusion      installs it beside `drdma`\n\
             \nOr say where it is in {VARIABLE}."
        );
        if !arguments.arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
            return Err(Failure::Failed(missing));
        }
        // Without the program, only the help can be printed.
        let mut command = Arguments::augment_args(clap::Command::new("drdma cluster"));
        println!("{}\n{missing}", command.render_help());
        return Ok(());
    };
    let error = Command::new(&program).args(&arguments.arguments).exec();
    Err(Failure::Failed(format!("cannot start {}: {error}", program.display())))
}

/// Path of the program: that of the variable; beside this one; in the engine's folder, if this one was built in
/// the checkout.
fn find(
    variable: Option<OsString>,
    own: Option<&Path>,
    is_there: impl Fn(&Path) -> bool,
) -> Option<PathBuf> {
    if let Some(path) = variable {
        return Some(path.into());
    }
    let folder = own?.parent()?;
    let beside = folder.join(PROGRAM);
    let engine = |root: &Path| {
        ["release", "debug"]
            .map(|profile| root.join("datafusion/target").join(profile).join(PROGRAM))
    };
    let built = folder.ancestors().skip(2).take(2).flat_map(engine);
    std::iter::once(beside).chain(built).find(|path| is_there(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variable: Option<&str>, there: &[&str]) -> Option<PathBuf> {
        let own = Path::new("/home/drdma/target/debug/drdma");
        find(variable.map(Into::into), Some(own), |path| there.iter().any(|t| path == Path::new(t)))
    }

    #[test]
    fn the_program_is_beside_this_one_or_in_the_folder_of_the_engine() {
        let (beside, built) = (
            "/home/drdma/target/debug/drdma-cluster",
            "/home/drdma/datafusion/target/debug/drdma-cluster",
        );
        assert_eq!(found(None, &[beside, built]), Some(beside.into()));
        assert_eq!(found(None, &[built]), Some(built.into()));
        assert_eq!(found(None, &[]), None);
    }

    #[test]
    fn the_variable_wins() {
        assert_eq!(found(Some("/x/y"), &[]), Some("/x/y".into()));
    }
}
