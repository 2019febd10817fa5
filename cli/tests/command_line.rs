//! How the `drdma` command answers: exit codes, messages, files.

mod support;

use std::fs;

use serde_json::{Value, json};
use support::{
    Folder,
    jobs::{folder, job, partitioned},
};

#[test]
fn a_bad_job_is_refused_before_anything_happens() {
    let mut job = job();
    job["posts"][0]["regions"][0]["pattern"][0]["len"] = json!(0);
    let run = folder(&job).run(&job);
    assert_eq!(run.code, 2);
    assert_eq!(run.stdout, "");
    assert_eq!(run.stderr, "error: posts[0].regions[0].pattern[0].len: must be at least 1, is 0\n");
    assert!(run.frames.is_none());
}

#[test]
fn a_job_that_is_not_there_or_no_json_is_refused() {
    let folder = folder(&job());
    let output = folder.drdma(&["run", "no.json", "--device", "soft:"]);
    assert_eq!(output.status.code(), Some(2));
    fs::write(folder.file("job.json"), "{]").unwrap();
    let output = folder.drdma(&["run", "job.json", "--device", "soft:"]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("not valid JSON"), "{text}");
}

#[test]
fn files_of_buffers_are_relative_to_the_job_file() {
    let folder = folder(&job());
    fs::create_dir(folder.file("elsewhere")).unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_drdma"))
        .args(["run", "../job.json", "--device", "soft:"])
        .current_dir(folder.file("elsewhere"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text, "{\"wr_id\":1,\"status\":\"success\",\"bytes\":80}\n");
}

#[test]
fn an_unknown_device_is_named() {
    let folder = folder(&job());
    for device in ["hard:", "soft", "soft:?speed=9"] {
        let output = folder.drdma(&["run", "job.json", "--device", device]);
        assert_eq!(output.status.code(), Some(2), "{device}");
        assert!(output.stdout.is_empty());
        assert!(String::from_utf8(output.stderr).unwrap().starts_with("error: "));
    }
}

#[test]
fn without_tools_the_simulated_hardware_says_what_is_missing_and_the_model_works() {
    let folder = folder(&job());
    for command in [&["demo", "--device"][..], &["run", "job.json", "--device"]] {
        let output = folder.drdma_without_tools(&[command, &["rtl:"]].concat());
        assert_eq!(output.status.code(), Some(1));
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains("there is no verilator and no g++"), "{text}");
        assert!(text.contains("`cargo xtask setup`"), "{text}");
        assert!(text.contains("`apt-get install verilator g++`"), "{text}");
        assert!(text.contains("`--device soft:`"), "{text}");
    }
    let small = ["demo", "--device", "soft:", "--scale-factor", "0.0001", "--pcap", "s.pcap"];
    for args in [&["run", "job.json", "--device", "soft:"][..], &small] {
        let output = folder.drdma_without_tools(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}");
    }
}

#[test]
fn recording_needs_the_simulated_hardware() {
    let folder = folder(&job());
    let output = folder.drdma(&["run", "job.json", "--device", "soft:", "--record", "r.jsonl"]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(text, "error: --record needs the device rtl:, not soft:\n");
    assert!(!folder.file("r.jsonl").exists());
}

#[test]
fn a_file_that_cannot_be_written_is_told_before_anything_happens() {
    let folder = folder(&job());
    let run = ["run", "job.json", "--device"];
    let demo = ["demo", "--device", "soft:", "--scale-factor", "0.0001"];
    for args in [
        [&run[..], &["soft:", "--stats", "no/f"]].concat(),
        [&run[..], &["soft:", "--pcap", "no/f"]].concat(),
        [&demo[..], &["--pcap", "no/f"]].concat(),
    ] {
        let output = folder.drdma(&args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(text, "error: cannot write no/f: No such file or directory (os error 2)\n");
        assert!(output.stdout.is_empty(), "{args:?}");
    }
    // An option of a device, and no tools that could build it.
    for (path, why) in [
        ("no/f.fst", "No such file or directory (os error 2)"),
        ("", "No such file or directory (os error 2)"),
        (".", "Is a directory (os error 21)"),
    ] {
        let device = format!("rtl:?trace={path}");
        let output = folder.drdma_without_tools(&[&run[..], &[&device]].concat());
        assert_eq!(output.status.code(), Some(2), "{device}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(text, format!("error: option `trace` is `{path}`: {why}\n"));
    }
}

#[test]
fn the_statistics_of_a_run_add_up() {
    let folder = folder(&job());
    let output = folder.drdma(&["run", "job.json", "--device", "soft:", "--stats", "s.json"]);
    assert_eq!(output.status.code(), Some(0));
    let stats: Value = serde_json::from_slice(&fs::read(folder.file("s.json")).unwrap()).unwrap();
    assert_eq!(stats["payload_bytes"], 80);
    assert_eq!(stats["packets"], 1);
    // Ethernet 14, IPv4 20, UDP 8, BTH 12, payload 80, ICRC 4, and 24 around the frame.
    assert_eq!(stats["wire_bytes"], 14 + 20 + 8 + 12 + 80 + 4 + 24);
    assert!(stats["dma_reads"].as_u64() >= stats["data_reads"].as_u64());
    // The reference model has no clock.
    assert!(stats.get("cycles").is_none());
    assert!(stats.get("goodput_gbps").is_none());
}

#[test]
fn the_clock_of_the_simulated_hardware_runs_from_the_doorbell_to_the_last_byte() {
    let mut job = job();
    job["posts"][0]["regions"] =
        json!([{"type": "contiguous", "buffer": "t", "offset": 0, "len": 200_000}]);
    let folder = folder(&job);
    fs::write(folder.file("t.bin"), vec![7; 200_000]).unwrap();
    let output = folder.drdma(&["run", "job.json", "--device", "rtl:", "--stats", "s.json"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let stats: Value = serde_json::from_slice(&fs::read(folder.file("s.json")).unwrap()).unwrap();
    let number = |name: &str| stats[name].as_f64().unwrap();
    let packets = 200_000_f64.div_euclid(1024.0) + 1.0;
    assert_eq!(number("packets"), packets);
    // Around the payload of a packet: headers and ICRC 58, preamble, FCS and gap 24.
    assert_eq!(number("wire_bytes"), 200_000.0 + packets * (58.0 + 24.0));
    // At 100 Gb/s 50 B a cycle leave; before the first one there is at least a read of host memory.
    let sending = number("wire_bytes") / 50.0;
    let cycles = number("cycles");
    assert!((sending + 300.0..1.5 * sending + 3000.0).contains(&cycles), "{cycles}");
    for (rate, bytes) in [("goodput_gbps", "payload_bytes"), ("wire_gbps", "wire_bytes")] {
        let of_cycles = number(bytes) * 8.0 / (cycles * 4.0);
        assert!((number(rate) / of_cycles - 1.0).abs() < 0.001, "{rate}");
    }
}

#[test]
fn a_wrong_partition_is_named_before_anything_is_sent() {
    let mut job = partitioned();
    job["posts"][0]["destinations"][0]["partition"] = json!(256);
    let folder = folder(&job);
    for command in [&["run", "job.json", "--device", "soft:"][..], &["explain", "job.json"]] {
        let output = folder.drdma(command);
        assert_eq!(output.status.code(), Some(2), "{command:?}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        let partition = "posts[0].destinations[0].partition: must be at most 255, is 256";
        assert!(stderr.contains(partition), "{stderr}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn the_demo_shuffles_checks_and_compares() {
    let folder = Folder::new();
    let args = ["demo", "--device", "soft:", "--scale-factor", "0.001", "--batch-rows", "1000"];
    let whole = ["--whole-rows", "1500", "--receivers", "2"];
    let output = folder
        .drdma(&[&args[..], &["--destinations", "3", "--pcap", "s.pcap"], &whole[..]].concat());
    let (stdout, stderr) = (output.stdout, String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let stdout = String::from_utf8(stdout).unwrap();
    assert!(stdout.contains("Each of the 6,005 rows of 22 B arrived"), "{stdout}");
    assert!(stderr.contains("rows have arrived"), "{stderr}");
    let whole = "1,500 rows of 16 columns, is in columns at 2 receivers (soft:)";
    assert!(stdout.contains(whole), "{stdout}");
    assert!(stdout.contains("Each of the 24,000 values is the one that was sent, 7,500 strings"));
    let frames = drdma_tests::capture::frames(&fs::read(folder.file("s.pcap")).unwrap());
    let payload: usize =
        frames.iter().map(|frame| drdma_tests::frame::payload(frame, 0).len()).sum();
    assert_eq!(payload, 6005 * 22);
}

#[test]
fn the_demo_as_json_says_what_each_way_cost() {
    let folder = Folder::new();
    let args =
        ["demo", "--device", "soft:", "--scale-factor", "0.001", "--sample-rows", "100", "--json"];
    let output = folder.drdma(&args);
    assert_eq!(output.status.code(), Some(0));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let count = |part: &str, name: &str| found[part][name].as_u64().unwrap();
    let row = found["row_bytes"].as_u64().unwrap();
    for part in ["shuffle", "lists", "described", "packed"] {
        assert_eq!(count(part, "payload_bytes"), row * count(part, "rows"), "{part}");
        assert_eq!(found[part]["cycles"], serde_json::Value::Null, "{part}: soft: has no clock");
        assert!(count(part, "posting_ns") > 0, "{part}");
    }
    assert_eq!((count("lists", "work_requests"), count("described", "work_requests")), (100, 1));
    assert!(count("shuffle", "rows") > 5000, "{found}");
    assert_eq!((&found["destinations"], &found["pcap"]), (&4.into(), &"drdma-demo.pcap".into()));
    let whole = &found["whole"];
    assert_eq!(
        (&whole["verified"]["values"], &whole["receivers"][4]),
        (&32_768.into(), &json!(null))
    );
    assert_eq!(whole["rows"]["cycles"], json!(null));
}

#[test]
fn the_demo_brings_strings_into_columns_on_the_simulated_hardware() {
    let folder = Folder::new();
    let small = ["--scale-factor", "0.0001", "--sample-rows", "1"];
    let whole = ["--whole-rows", "120", "--batch-rows", "64", "--receivers", "2"];
    let output =
        folder.drdma(&[&["demo", "--device", "rtl:", "--json"], &small[..], &whole].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let whole = &found["whole"];
    assert_eq!(
        (&whole["verified"]["values"], &whole["verified"]["strings"]),
        (&1920.into(), &600.into())
    );
    for (strings, column) in
        whole["strings"].as_array().unwrap().iter().zip(["l_shipinstruct", "l_comment"])
    {
        assert_eq!(strings["column"], column);
        assert!(strings["cycles"].as_u64().unwrap() > 500, "{found}");
    }
    assert!(whole["rows"]["cycles"].as_u64().unwrap() > 500, "{found}");
}

#[test]
fn the_demo_of_a_shuffle_among_nodes_tells_what_every_design_cost() {
    let folder = Folder::new();
    let args = ["demo", "shuffle", "--nodes", "3", "--rows", "200", "--message", "512", "--json"];
    let output = folder.drdma(&args);
    assert_eq!(output.status.code(), Some(0));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&found["nodes"], &found["row_bytes"]), (&3.into(), &22.into()));
    let designs = found["designs"].as_array().unwrap();
    assert_eq!(designs.len(), 42);
    assert!(designs.iter().all(|design| design["messages"].as_u64().unwrap() > 10), "{found}");
    let trace = ("--device", "rtl:?trace=x.fst");
    for (option, value) in [("--nodes", "1"), ("--message", "5000"), ("--device", "hard:"), trace] {
        let output = folder.drdma(&["demo", "shuffle", option, value]);
        assert_eq!(output.status.code(), Some(2), "{option} {value}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn the_demo_says_what_is_wrong_with_its_arguments() {
    let folder = Folder::new();
    for args in [
        ["--destinations", "257"],
        ["--scale-factor", "0"],
        ["--mtu", "1500"],
        ["--whole-rows", "0"],
        ["--receivers", "17"],
    ] {
        let output = folder.drdma(&[&["demo", "--device", "soft:"], &args[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
    }
}
