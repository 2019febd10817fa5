//! The first start on the simulated hardware: the progress of the build, and how Ctrl-C ends it. The
//! tools are scripts here.

mod support;

use std::{
    fs::{self, Permissions},
    io::{BufRead as _, BufReader, Read as _},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Child, Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use support::{Folder, jobs::folder};

/// A tool that prints its version, and otherwise does what `script` says.
fn tool(folder: &Folder, name: &str, script: &str) {
    let text = format!("#!/bin/sh\n[ \"$1\" = --version ] && echo {name} 1 && exit\n{script}\n");
    fs::write(folder.file(name), text).unwrap();
    fs::set_permissions(folder.file(name), Permissions::from_mode(0o755)).unwrap();
}

fn start(folder: &Folder, args: &[&str]) -> Child {
    let path = format!("{}:/usr/bin:/bin", folder.file("").display());
    Command::new(env!("CARGO_BIN_EXE_drdma"))
        .args(args)
        .current_dir(folder.file(""))
        .env("PATH", path)
        .env("DRDMA_VERILATED_CACHE", folder.file("cache"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

const COMMANDS: [&[&str]; 5] = [
    &["run", "job.json", "--device", "rtl:"],
    &["demo", "--device", "rtl:"],
    &["top", "--json", "--device", "rtl:"],
    &["calibrate", "--device", "rtl:"],
    &["serve", "--device", "rtl:", "--socket", "s"],
];

fn is_alive(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z"))
}

/// What is left of a build: all but what the tools said of themselves before it.
fn left(cache: &Path) -> Vec<String> {
    let entries = fs::read_dir(cache).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| !name.starts_with("tools-")).collect()
}

#[test]
fn every_command_shows_the_build_and_ctrl_c_leaves_nothing() {
    let folder = folder(&support::jobs::job());
    // Its child says which process it is; the build waits for it.
    tool(&folder, "verilator", "sleep 600 & echo $! > pid.new; mv pid.new pid; wait");
    tool(&folder, "g++", "exit 1");
    for args in COMMANDS {
        let mut child = start(&folder, args);
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let shown: Vec<_> = lines.by_ref().take(2).collect();
        assert!(shown[0].starts_with("Building the simulated hardware"), "{args:?}: {shown:?}");
        assert_eq!(shown[1], "  Verilator: Verilog to C++", "{args:?}");
        let pid = loop {
            if let Ok(pid) = fs::read_to_string(folder.file("pid")) {
                break pid.trim().to_owned();
            }
            std::thread::yield_now();
        };
        assert!(is_alive(&pid));
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let rest: Vec<_> = lines.collect();
        assert_eq!(rest, ["error: interrupted; nothing was kept of the build"], "{args:?}");
        assert_eq!(child.wait().unwrap().code(), Some(130), "{args:?}");
        assert!(!is_alive(&pid), "{args:?}");
        assert_eq!(left(&folder.file("cache")), Vec::<String>::new(), "{args:?}");
        fs::remove_file(folder.file("pid")).unwrap();
    }
}

#[test]
fn a_build_that_fails_says_why_and_leaves_nothing() {
    let folder = folder(&support::jobs::job());
    tool(&folder, "verilator", "echo no such module >&2; exit 1");
    tool(&folder, "g++", "exit 1");
    let mut child = start(&folder, COMMANDS[0]);
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(text.contains("error: rtl: cannot be opened: verilator failed on"), "{text}");
    assert!(text.contains("no such module"), "{text}");
    assert_eq!(left(&folder.file("cache")), Vec::<String>::new());
}

#[test]
fn a_library_that_cannot_be_loaded_says_so() {
    let folder = folder(&support::jobs::job());
    let each = "while [ $# -gt 0 ]; do case $1 in";
    let verilator = format!("{each} --Mdir) mkdir -p $2;; --getenv) echo /;; esac; shift; done");
    tool(&folder, "verilator", &verilator);
    for compiler in ["clang++-19", "g++"] {
        tool(&folder, compiler, &format!("{each} -o) echo nonsense > $2;; esac; shift; done"));
    }
    let mut child = start(&folder, COMMANDS[0]);
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let last = text.lines().last().unwrap();
    assert!(last.contains("model.so could not be loaded: "), "{text}");
    assert!(last.contains("file too short") || last.contains("invalid ELF header"), "{text}");
}

/// Another user's folder, in which a model could lie that is not the card.
#[test]
fn a_cache_that_others_can_write_is_refused() {
    let folder = folder(&support::jobs::job());
    tool(&folder, "verilator", "exit 1");
    tool(&folder, "g++", "exit 1");
    fs::create_dir(folder.file("cache")).unwrap();
    fs::set_permissions(folder.file("cache"), Permissions::from_mode(0o777)).unwrap();
    let mut child = start(&folder, COMMANDS[0]);
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(text.contains("cache can be written by others (mode 777)"), "{text}");
    assert!(text.contains("DRDMA_VERILATED_CACHE"), "{text}");
}
