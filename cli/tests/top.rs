//! `drdma top`: intervals of a job, line by line.

mod support;

use std::fs;

use serde_json::{Value, json};
use support::Folder;

/// 4,000 rows of 20 B, 200 in a message.
fn job() -> Value {
    json!({
        "buffers": [{"name": "t", "size": 4000 * 32}],
        "local": {"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"},
        "qps": [{"name": "red", "transport": "rc", "qpn": 17, "dest_qpn": 33, "start_psn": 100,
                 "mtu": 4096, "dest_mac": "02:00:00:00:00:02", "dest_ip": "10.0.0.2"}],
        "posts": [{"verb": "post_send", "qp": "red", "wr_id": 1, "op": "send",
                   "rows_per_message": 200, "regions": [
            {"type": "strided", "buffer": "t", "offset": 0, "period": 32, "count": 4000,
             "pattern": [{"offset": 0, "len": 16}, {"offset": 20, "len": 4}]}]}],
    })
}

fn folder(job: &Value) -> Folder {
    let folder = Folder::new();
    fs::write(folder.file("job.json"), job.to_string()).unwrap();
    folder
}

fn intervals(folder: &Folder, args: &[&str]) -> Vec<Value> {
    let output = folder.drdma(&[&["top", "--json"], args].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_job_on_the_simulated_hardware_keeps_the_wire_busy() {
    let folder = folder(&job());
    let args = ["--device", "rtl:", "--job", "job.json", "--interval", "0.5", "--count", "3"];
    let intervals = intervals(&folder, &args);
    assert_eq!(intervals.len(), 3);
    for interval in &intervals {
        let number = |name: &str| interval[name].as_f64().unwrap_or_else(|| panic!("{name}"));
        assert_eq!(interval["clock"], "card");
        assert!((number("seconds") / (number("cycles") * 4e-9) - 1.0).abs() < 1e-9);
        assert!(number("wire_gbps") <= 100.5, "{interval}");
        let rows = number("payload_gbps") / 8.0 * 1e9 / 20.0;
        assert!((number("rows_per_s") / rows - 1.0).abs() < 1e-9, "{interval}");
        let lost = &interval["cycles_percent"];
        let percent = |name: &str| lost[name].as_f64().unwrap();
        // A beat does not wait and find no room at once; others move meanwhile, or not. The
        // counters are read one after another, which is why there may be a little more.
        let stalled = percent("waiting_for_host") + percent("stopped_by_packetizer");
        let assembling = percent("assembling");
        assert!(stalled < 101.0 && assembling < 101.0, "{lost}");
        assert!(percent("bank_conflict") <= assembling + 1.0, "{lost}");
        // What is moved while a next beat waits is little: some cycles a window.
        let sum = assembling + stalled + percent("idle");
        assert!((99.9..110.0).contains(&sum), "{lost}");
    }
    // The first may hold the start.
    let last = &intervals[2];
    assert!(last["payload_gbps"].as_f64().unwrap() > 20.0, "{last}");
    assert!(last["data_read_bytes"].as_f64().unwrap() > 256.0, "{last}");
    let busy = last["cycles_percent"]["assembling"].as_f64().unwrap();
    assert!(busy > 30.0, "{last}");
}

/// 4,000 rows of 12 B in two columns, every second one to `red` and the others to `blue`.
fn partitioned() -> Value {
    let mut job = job();
    let mut blue = job["qps"][0].clone();
    for (field, value) in [("qpn", json!(18)), ("dest_qpn", json!(34)), ("name", json!("blue"))] {
        blue[field] = value;
    }
    job["qps"].as_array_mut().unwrap().push(blue);
    let ids = json!({"name": "ids", "hex": "0007".repeat(2000)});
    job["buffers"].as_array_mut().unwrap().push(ids);
    job["posts"] = json!([
        {"verb": "post_ssq_send", "wr_id": 1, "op": "send", "rows_per_message": 300,
         "partitioned": {"ids": {"buffer": "ids", "offset": 0, "width": 1}, "rows": 4000,
                         "columns": [{"buffer": "t", "offset": 0, "width": 8},
                                     {"buffer": "t", "offset": 64000, "width": 4}]},
         "destinations": [{"qp": "red", "partition": 0}, {"qp": "blue", "partition": 7}]}]);
    job
}

#[test]
fn a_partitioned_request_is_repeated_too() {
    let folder = folder(&partitioned());
    let args = ["--device", "soft:", "--job", "job.json", "--interval", "0.3", "--count", "2"];
    for interval in intervals(&folder, &args) {
        let number = |name: &str| interval[name].as_f64().unwrap_or_else(|| panic!("{name}"));
        let rows = number("payload_bytes") / 12.0 / number("seconds");
        assert!((number("rows_per_s") / rows - 1.0).abs() < 1e-9, "{interval}");
        // More than the 48,000 B of one pass.
        assert!(number("payload_bytes") > 48_000.0, "{interval}");
    }
}

#[test]
fn the_demonstrations_load_runs_where_no_job_is_named() {
    let folder = Folder::new();
    let intervals = intervals(&folder, &["--device", "soft:", "--interval", "0.1", "--count", "2"]);
    assert_eq!(intervals.len(), 2);
    for interval in &intervals {
        assert_eq!(interval["clock"], "wall");
        assert!(interval["packets"].as_u64().unwrap() > 0, "{interval}");
        assert!(interval.get("cycles_percent").is_none());
        assert!(interval["seconds"].as_f64().unwrap() >= 0.1);
    }
}

#[test]
fn the_threshold_reaches_the_card() {
    let folder = folder(&job());
    let reads = |threshold| {
        let args = ["--device", "soft:", "--job", "job.json", "--interval", "0.05", "--count", "1"];
        let intervals = intervals(&folder, &[&args[..], &["--threshold", threshold]].concat());
        intervals[0]["data_read_bytes"].as_f64().unwrap()
    };
    assert!(reads("0") < 20.0);
    assert!(reads("256") > 400.0);
}

#[test]
fn what_cannot_be_watched_is_refused() {
    let mut bad = job();
    bad["posts"] = json!([]);
    let folder = folder(&bad);
    fs::write(folder.file("good.json"), job().to_string()).unwrap();
    let mut outside = job();
    outside["posts"][0]["regions"][0]["count"] = json!(4001);
    fs::write(folder.file("outside.json"), outside.to_string()).unwrap();
    let json = |args: &[&'static str]| [&["--json"], args].concat();
    for (args, code, said) in [
        (vec!["--device", "soft:"], 2, "no terminal that a view could fill: use --json"),
        (json(&["--device", "soft:", "--job", "job.json"]), 2, "posts: there is none to run"),
        (json(&["--device", "soft:", "--job", "none.json"]), 2, "none.json"),
        (json(&["--device", "vfio:0", "--job", "good.json"]), 2, "vfio:0 is only read"),
        (json(&["--device", "vfio:0", "--threshold", "9"]), 2, "--threshold is for simulated"),
        (json(&["--device", "vfio:0", "--max-read", "64"]), 2, "--max-read is for simulated"),
        (json(&["--device", "vfio:0", "--costs", "none.json"]), 2, "--costs is for simulated"),
        (json(&["--device", "vfio:0"]), 2, "`vfio:0` names no card"),
        (json(&["--device", "vfio"]), 2, "`vfio` names no card"),
        (json(&["--device", "vfio:dead:65:00.0"]), 1, "there is no PCI device dead:65:00.0"),
        (json(&["--device", "hard:"]), 2, "`hard:` is no simulated card"),
        (json(&["--device", "soft:", "--interval", "0"]), 2, "from 0.01 to 3600"),
        (json(&["--device", "soft:", "--count", "0"]), 2, "--count"),
        (json(&["--device", "soft:", "--costs", "none.json"]), 2, "--costs none.json"),
        (
            json(&["--device", "soft:", "--job", "outside.json"]),
            1,
            "request 1 completed with local_protection_error",
        ),
        (
            json(&["--device", "rtl:", "--job", "good.json", "--timeout", "0"]),
            1,
            "no completion for 0 s: posts[0] (wr_id 1) is not complete",
        ),
    ] {
        let output = folder.drdma(&[&["top"], &args[..]].concat());
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {text}");
        assert!(text.contains(said), "{args:?}: {text}");
    }
}
