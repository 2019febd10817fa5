//! The `drdma` command.

mod command;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Declarative RDMA: run, explain and try non-contiguous transfers.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(command::run::Arguments),
    Calibrate(command::calibrate::Arguments),
    Explain(command::explain::Arguments),
    Demo(command::demo::Arguments),
    Top(command::top::Arguments),
    Serve(command::serve::Arguments),
    Devices(command::devices::Arguments),
    Bind(command::bind::BindArguments),
    Unbind(command::bind::UnbindArguments),
    Flash(command::flash::Arguments),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Run(arguments) => command::run::run(&arguments),
        Command::Calibrate(arguments) => command::calibrate::run(&arguments),
        Command::Explain(arguments) => command::explain::run(&arguments),
        Command::Demo(arguments) => command::demo::run(&arguments),
        Command::Top(arguments) => command::top::run(&arguments),
        Command::Serve(arguments) => command::serve::run(&arguments),
        Command::Devices(arguments) => command::devices::run(&arguments),
        Command::Bind(arguments) => command::bind::bind(&arguments),
        Command::Unbind(arguments) => command::bind::unbind(&arguments),
        Command::Flash(arguments) => command::flash::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            command::note(format_args!("error: {failure}"));
            ExitCode::from(failure.code())
        }
    }
}
