//! The command's information about itself and cards, and job files to start from.

mod support;

use std::fs;

use serde_json::Value;
use support::Folder;

fn stdout(folder: &Folder, args: &[&str]) -> String {
    let output = folder.drdma(args);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{args:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// Every command, as the help lists them.
fn commands(folder: &Folder) -> Vec<String> {
    let help = stdout(folder, &["--help"]);
    let (_, list) = help.split_once("Commands:\n").unwrap();
    let lines = list.lines().take_while(|line| line.starts_with("  "));
    let names = lines.filter(|line| !line.starts_with("   "));
    names.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
}

#[test]
fn the_version_names_the_tool_and_the_abi() {
    let version = stdout(&Folder::new(), &["--version"]);
    let hash = format!("{:#018x}", drdma_abi::ABI_HASH);
    assert_eq!(version, format!("drdma {} (ABI {hash})\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_help_of_every_command_has_an_example() {
    let folder = Folder::new();
    let commands = commands(&folder);
    assert!(commands.len() > 12, "{commands:?}");
    for command in commands.iter().filter(|name| *name != "help") {
        let help = stdout(&folder, &[command, "--help"]);
        let example = format!("\n  drdma {command}");
        assert!(help.contains("Example") && help.contains(&example), "{help}");
    }
}

#[test]
fn info_tells_what_a_card_is() {
    let folder = Folder::new();
    let info: Value =
        serde_json::from_str(&stdout(&folder, &["info", "--device", "soft:", "--json"])).unwrap();
    assert_eq!(info["abi_hash"], format!("{:#018x}", drdma_abi::ABI_HASH));
    assert_eq!(info["version"], "1.0");
    assert_eq!(info["limits"]["queue_pairs"], drdma_abi::register::QUEUE_PAIRS.entries);
    assert_eq!(info["settings"]["max_read"], drdma_abi::register::MAX_READ.reset);
    assert_eq!(info["port"]["ip"], "0.0.0.0");
    let counters = info["counters"].as_object().unwrap();
    assert_eq!(counters.len(), drdma_abi::register::COUNTERS.len());
    let text = stdout(&folder, &["info", "--device", "soft:"]);
    assert!(text.contains("    queue_pairs: 4096\n") && text.contains("    cycles: "), "{text}");
    let none = folder.drdma(&["info", "--device", "hard:"]);
    assert_eq!(none.status.code(), Some(2));
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish"] {
        let text = stdout(&folder, &["completions", shell]);
        for command in commands(&folder) {
            assert!(text.contains(&command), "{shell}: {command}");
        }
    }
    fs::create_dir(folder.file("man")).unwrap();
    stdout(&folder, &["man", "--out", "man"]);
    for command in commands(&folder).iter().filter(|name| *name != "help") {
        let page =
            fs::read_to_string(folder.file("man").join(format!("drdma-{command}.1"))).unwrap();
        assert!(page.contains("drdma"), "{command}");
    }
    let output = folder.drdma(&["man", "--out", "nowhere"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("cannot write nowhere: "));
}

#[test]
fn a_new_job_runs_as_it_is() {
    let folder = Folder::new();
    for kind in [
        "contiguous",
        "strided",
        "bitmapped",
        "pointer-mapped",
        "partitioned",
        "shuffle",
        "write",
        "columns",
        "all",
    ] {
        let job = format!("{kind}.json");
        stdout(&folder, &["new", kind, &job]);
        stdout(&folder, &["explain", &job]);
        let run = stdout(&folder, &["run", &job, "--device", "soft:"]);
        assert!(run.contains("\"status\":\"success\""), "{kind}: {run}");
        assert_eq!(
            stdout(&folder, &["new", kind, "-"]),
            fs::read_to_string(folder.file(&job)).unwrap()
        );
    }
    let schema = fs::read_to_string(folder.file("drdma-job.schema.json")).unwrap();
    assert_eq!(schema, stdout(&folder, &["schema"]));
    let again = folder.drdma(&["new", "all", "all.json"]);
    assert_eq!(again.status.code(), Some(2));
    let text = String::from_utf8(again.stderr).unwrap();
    assert_eq!(text, "error: all.json is there already; --force replaces it\n");
    stdout(&folder, &["new", "all", "all.json", "--force"]);
}

#[test]
fn explain_asks_the_card_how_it_is_set() {
    let folder = Folder::new();
    stdout(&folder, &["new", "bitmapped"]);
    let with =
        |args: &[&str]| stdout(&folder, &[&["explain", "job.json", "--json"], args].concat());
    assert_eq!(with(&["--device", "soft:"]), with(&[]));
    let refused = folder.drdma(&["explain", "job.json", "--device", "hard:"]);
    assert_eq!(refused.status.code(), Some(2));
}
