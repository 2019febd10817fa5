//! The file that `drdma-verilog` writes, used without anything else of the project.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use drdma_verilated::Source;

/// A folder for one test, empty.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("an old folder can be removed");
    }
    folder
}

fn write(out: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_drdma-verilog"));
    command.arg("--out").arg(out).output().expect("drdma-verilog can be started")
}

fn written(name: &str) -> PathBuf {
    let folder = folder(name);
    let output = write(&folder);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder
}

#[test]
fn one_file_is_written_that_says_what_it_is() {
    let folder = folder("head");
    let output = write(&folder);
    let [stdout, said] =
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert_eq!(stdout, format!("{}\n", folder.join("mqnic_app_block.v").display()));
    // A line before each step, and a line behind it with the time that the step took.
    let said: Vec<&str> = said.lines().collect();
    assert_eq!(said.len(), 4, "{said:?}");
    for step in said.chunks(2) {
        let took = step[1].strip_prefix("  (").and_then(|rest| rest.split_once(" s: ")).unwrap();
        assert!(took.0.parse::<f64>().is_ok() && took.1 == format!("{})", step[0]), "{said:?}");
    }
    let files: Vec<_> =
        fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(files, ["mqnic_app_block.v"]);
    let text = fs::read_to_string(folder.join("mqnic_app_block.v")).unwrap();
    let head: Vec<&str> = text.lines().take_while(|line| line.starts_with("//")).collect();
    let head = head.join("\n");
    assert!(head.contains(concat!("D-RDMA ", env!("CARGO_PKG_VERSION"))), "{head}");
    assert!(head.contains(&format!("ABI hash: {:#018x}", drdma_abi::ABI_HASH)), "{head}");
    assert!(head.contains("SPDX-License-Identifier: MIT OR Apache-2.0"), "{head}");
    assert!(!text.contains("`include"), "the file asks for another one");
}

#[test]
fn the_file_alone_elaborates_without_a_warning() {
    let folder = written("alone");
    let file = folder.join("mqnic_app_block.v");
    let warnings = Source::new("mqnic_app_block").verilog_file(file).unwrap().lint();
    let warnings = warnings.unwrap_or_else(|error| panic!("{error}"));
    let warnings: Vec<_> = warnings.iter().map(ToString::to_string).collect();
    assert!(warnings.is_empty(), "{}", warnings.join("\n"));
}

#[test]
#[ignore = "needs yosys"]
fn yosys_accepts_the_file() {
    let folder = written("yosys");
    let script =
        "read_verilog mqnic_app_block.v; hierarchy -check -top mqnic_app_block; proc; check";
    let output = Command::new("yosys")
        .args(["-q", "-p", script])
        .current_dir(&folder)
        .output()
        .expect("yosys can be started");
    let log = String::from_utf8([output.stdout, output.stderr].concat()).expect("a log is text");
    assert!(output.status.success(), "{log}");
    let latches = log.lines().find(|line| line.contains("Latch inferred"));
    assert_eq!(latches, None);
}

/// Icarus runs a process only when something that it reads changes, from unknown values on.
#[test]
#[ignore = "needs iverilog"]
fn iverilog_accepts_the_file_and_has_a_reason_to_run_every_process() {
    let folder = written("iverilog");
    let output = Command::new("iverilog")
        .args(["-g2005", "-o", "card.vvp", "-s", "mqnic_app_block", "mqnic_app_block.v"])
        .current_dir(&folder)
        .output()
        .expect("iverilog can be started");
    let log = String::from_utf8([output.stdout, output.stderr].concat()).expect("a log is text");
    assert!(output.status.success() && log.is_empty(), "{log}");
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = folder("blocked");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("file"), "").unwrap();
    let output = write(&folder.join("file").join("below"));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(message.contains("blocked/file/below"), "{message}");
}
