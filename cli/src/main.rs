//! The `drdma` command.

mod command;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

/// Declarative RDMA: run, explain and try non-contiguous transfers.
#[derive(Debug, Parser)]
#[command(name = "drdma", version = version(), about = "Declarative RDMA: run, explain and try non-contiguous transfers")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    New(command::new::NewArguments),
    Schema(command::new::SchemaArguments),
    Run(command::run::Arguments),
    Fabric(command::fabric::Arguments),
    Cluster(command::cluster::Arguments),
    Calibrate(command::calibrate::Arguments),
    Explain(command::explain::Arguments),
    Demo(command::demo::Arguments),
    Top(command::top::Arguments),
    Bw(command::perf::BwArguments),
    Lat(command::perf::LatArguments),
    Serve(command::serve::Arguments),
    Info(command::info::Arguments),
    Devices(command::devices::Arguments),
    Bind(command::bind::BindArguments),
    Unbind(command::bind::UnbindArguments),
    Flash(command::flash::Arguments),
    Completions(command::pages::CompletionsArguments),
    Man(command::pages::ManArguments),
}

/// The tool's version, and the hash of the layouts that it shares with cards: both must be the same.
fn version() -> String {
    format!("{} (ABI {:#018x})", env!("CARGO_PKG_VERSION"), drdma_abi::ABI_HASH)
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::New(arguments) => command::new::new(&arguments),
        Command::Schema(arguments) => command::new::print_schema(&arguments),
        Command::Run(arguments) => command::run::run(&arguments),
        Command::Fabric(arguments) => command::fabric::run(&arguments),
        Command::Cluster(arguments) => command::cluster::run(&arguments),
        Command::Calibrate(arguments) => command::calibrate::run(&arguments),
        Command::Explain(arguments) => command::explain::run(&arguments),
        Command::Demo(arguments) => command::demo::run(&arguments),
        Command::Top(arguments) => command::top::run(&arguments),
        Command::Bw(arguments) => command::perf::bw(&arguments),
        Command::Lat(arguments) => command::perf::lat(&arguments),
        Command::Serve(arguments) => command::serve::run(&arguments),
        Command::Info(arguments) => command::info::run(&arguments),
        Command::Devices(arguments) => command::devices::run(&arguments),
        Command::Bind(arguments) => command::bind::bind(&arguments),
        Command::Unbind(arguments) => command::bind::unbind(&arguments),
        Command::Flash(arguments) => command::flash::run(&arguments),
        Command::Completions(arguments) => {
            command::pages::completions(&arguments, Arguments::command())
        }
        Command::Man(arguments) => command::pages::man(&arguments, Arguments::command()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            command::note(format_args!("error: {failure}"));
            ExitCode::from(failure.code())
        }
    }
}
