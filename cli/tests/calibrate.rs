//! `drdma calibrate`, and what its file does.

mod support;

use std::fs;

use drdma_cli::calibrate::Calibration;
use serde_json::{Value, json};
use support::Folder;

/// Rows of 8 B with gaps of 300 B between them.
fn job() -> Value {
    json!({
        "buffers": [{"name": "t", "size": 3080}],
        "local": {"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"},
        "qps": [{"name": "red", "transport": "rc", "qpn": 17, "dest_qpn": 33, "start_psn": 100,
                 "mtu": 1024, "dest_mac": "02:00:00:00:00:02", "dest_ip": "10.0.0.2"}],
        "posts": [{"verb": "post_send", "qp": "red", "wr_id": 1, "op": "send",
                   "rows_per_message": 10, "regions": [
            {"type": "strided", "buffer": "t", "offset": 0, "period": 308, "count": 10,
             "pattern": [{"offset": 0, "len": 8}]}]}],
    })
}

fn costs(threshold: Value) -> Value {
    json!({
        "device": "rtl:", "ns_per_cycle": 4.0, "merge_threshold": threshold, "points": [],
        "costs": {"reads": [{"bytes": 4, "ns": 100.0}, {"bytes": 4096, "ns": 100.0}],
                  "same_line_ns": 0.0},
    })
}

fn folder() -> Folder {
    let folder = Folder::new();
    fs::write(folder.file("job.json"), job().to_string()).unwrap();
    fs::write(folder.file("costs.json"), costs(json!(300)).to_string()).unwrap();
    folder
}

/// Exit code and standard error.
fn refused(folder: &Folder, args: &[&str]) -> (i32, String) {
    let output = folder.drdma(args);
    let text = String::from_utf8(output.stderr).unwrap();
    // The first start of `rtl:` shows how it is built.
    let error = text.find("error: ").unwrap_or(0);
    (output.status.code().unwrap(), text[error..].to_owned())
}

#[test]
fn a_link_with_fewer_tags_is_measured_as_one() {
    let folder = folder();
    let device = "rtl:?pcie_tags=32&latency_ns=1300";
    let output = folder.drdma(&["calibrate", "--device", device, "--out", "measured.json"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let measured = Calibration::read(&folder.file("measured.json")).unwrap();
    assert_eq!(measured.device, device);
    // 32 reads in a round trip of 1,300 ns (and up to 60 ns more), whatever their size up to 512 B.
    for bytes in [4, 64, 256, 512] {
        let ns = measured.costs.read(bytes);
        assert!((1300.0 / 32.0..1380.0 / 32.0).contains(&ns), "{bytes} B: {ns} ns");
    }
    // Longer reads are cut into requests of 512 B, each of which takes a tag.
    let ratio = measured.costs.read(4096) / measured.costs.read(512);
    assert!((7.5..8.2).contains(&ratio), "{ratio}");
    // So a request buys an eighth of a page but for rounding.
    assert!((500..620).contains(&measured.merge_threshold), "{}", measured.merge_threshold);
    let text = String::from_utf8(output.stdout).unwrap();
    let line = format!("A gap of {} B costs as much as a request", measured.merge_threshold);
    assert!(text.contains(&line), "{text}");
    assert!(text.contains("drdma run --costs measured.json"), "{text}");

    // The same file sets the card, in a run on the hardware that was measured.
    let reads = |args: &[&str]| {
        let run = ["run", "job.json", "--device", device, "--stats", "s.json"];
        let output = folder.drdma(&[&run, args].concat());
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let text = fs::read(folder.file("s.json")).unwrap();
        serde_json::from_slice::<Value>(&text).unwrap()["data_reads"].as_u64().unwrap()
    };
    assert_eq!(reads(&[]), 10);
    assert!(reads(&["--costs", "measured.json"]) < 10);
}

#[test]
fn the_reference_model_cannot_be_measured() {
    let (code, text) = refused(&folder(), &["calibrate", "--device", "soft:"]);
    assert_eq!(code, 2);
    assert!(text.contains("has no clock that means anything"), "{text}");
    let (code, text) = refused(&folder(), &["calibrate", "--device", "soft:?speed=9"]);
    assert_eq!(code, 2);
    assert!(text.contains("has no option `speed`"), "{text}");
}

#[test]
fn a_measurement_that_cannot_be_is_told_of() {
    let folder = folder();
    let args = ["calibrate", "--device", "rtl:", "--out", "nowhere/costs.json"];
    let (code, text) = refused(&folder, &args);
    assert_eq!(code, 1);
    assert!(text.starts_with("error: cannot write nowhere/costs.json: "), "{text}");
    let (code, text) = refused(&folder, &["calibrate", "--device", "rtl:", "--timeout", "0"]);
    assert_eq!(code, 1);
    assert_eq!(text, "error: reads of 1 B every 8 B did not end within 0 s\n");
}

#[test]
fn what_is_said_comes_before_what_was_measured() {
    let folder = folder();
    let reads = |args: &[&str]| {
        let run = ["run", "job.json", "--device", "soft:", "--stats", "s.json"];
        assert_eq!(folder.drdma(&[&run, args].concat()).status.code(), Some(0), "{args:?}");
        let text = fs::read(folder.file("s.json")).unwrap();
        serde_json::from_slice::<Value>(&text).unwrap()["data_reads"].as_u64().unwrap()
    };
    assert_eq!(reads(&[]), 10);
    // Reads of 2,780 B, by requests of 512 B or of a page.
    assert_eq!(reads(&["--costs", "costs.json"]), 6);
    assert_eq!(reads(&["--costs", "costs.json", "--max-read", "4096"]), 1);
    assert_eq!(reads(&["--costs", "costs.json", "--threshold", "299"]), 10);
    assert_eq!(reads(&["--threshold", "300"]), 6);

    let explain = |args: &[&str]| -> Value {
        let output = folder.drdma(&[&["explain", "job.json", "--json"], args].concat());
        assert_eq!(output.status.code(), Some(0));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let explained = &explain(&["--costs", "costs.json", "--max-read", "4096"])[0];
    assert_eq!(explained["together"]["reads"], 1);
    assert_eq!(explained["cost_ns"], 100.0);
    assert_eq!(explained["cheapest"], json!({"reads": 1, "read_bytes": 2780, "cost_ns": 100.0}));
}

#[test]
fn files_and_values_that_mean_nothing_are_refused() {
    let folder = folder();
    fs::write(folder.file("wide.json"), costs(json!(5000)).to_string()).unwrap();
    fs::write(folder.file("wrong.json"), costs(json!("many")).to_string()).unwrap();
    for (args, said) in [
        (["--costs", "none.json"], "--costs none.json: "),
        (["--costs", "wrong.json"], "--costs wrong.json: invalid type"),
        (["--costs", "job.json"], "--costs job.json: "),
        (["--costs", "wide.json"], "merge_threshold is 5000: it must be 0 to 4096"),
        (["--threshold", "4097"], "4097 is not in 0..=4096"),
        (["--max-read", "100"], "must be a power of two from 64 to 4096"),
        (["--max-read", "32"], "must be a power of two from 64 to 4096"),
    ] {
        for command in [&["run", "job.json", "--device", "soft:"][..], &["explain", "job.json"]] {
            let (code, text) = refused(&folder, &[command, &args].concat());
            assert_eq!(code, 2, "{args:?}: {text}");
            assert!(text.contains(said), "{args:?}: {text}");
        }
    }
}
