//! What `drdma explain` tells of a job.

mod support;

use serde_json::{Value, json};
use support::jobs::{folder, job, partitioned};

#[test]
fn explain_counts_rows_packets_and_reads() {
    let folder = folder(&job());
    let explain = |args: &[&str]| -> Value {
        let output = folder.drdma(&[&["explain", "job.json", "--json"], args].concat());
        assert_eq!(output.status.code(), Some(0));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    // Gaps of 92 bytes are read through below that threshold, in reads of at most 512 bytes.
    let merged = &explain(&["--threshold", "92", "--max-read", "512"])[0];
    assert_eq!(merged["status"], "success");
    assert_eq!(merged["destinations"][0]["rows"], 10);
    assert_eq!(merged["destinations"][0]["fragments"], 10);
    assert_eq!(merged["destinations"][0]["messages"], 1);
    assert_eq!(merged["destinations"][0]["packets"], 1);
    assert_eq!(merged["sent_bytes"], 80);
    assert_eq!(merged["together"]["read_bytes"], 908);
    assert_eq!(merged["together"]["reads"], 2);
    assert_eq!(merged["boxes"][1], json!({"buffer": "t", "offset": 512, "len": 396}));

    let apart = &explain(&["--threshold", "91", "--boxes", "3"])[0];
    assert_eq!(apart["together"]["read_bytes"], 80);
    assert_eq!(apart["together"]["reads"], 10);
    assert_eq!(apart["boxes"].as_array().unwrap().len(), 3);
    // A request costs 20.3125 ns and a byte 0.069565: the card's ten reads are dear, two would do.
    let near = |found: &Value, ns: f64| (found.as_f64().unwrap() - ns).abs() < 1e-3;
    assert!(near(&apart["cost_ns"], 10.0 * 20.3125 + 80.0 * 8.0 / 115.0), "{apart}");
    assert_eq!(apart["cheapest"]["reads"], 2);
    assert_eq!(apart["cheapest"]["read_bytes"], 508 + 308);
    let cost = 2.0 * 20.3125 + 816.0 * 8.0 / 115.0;
    assert!(near(&apart["cheapest"]["cost_ns"], cost), "{apart}");
    let all = &explain(&["--threshold", "91", "--all"])[0];
    assert_eq!(all["boxes"].as_array().unwrap().len(), 10);

    let table = String::from_utf8(folder.drdma(&["explain", "job.json"]).stdout).unwrap();
    assert!(table.contains("wr_id 1: success"), "{table}");
    assert!(table.contains("red"), "{table}");
}

#[test]
fn explain_plans_a_post_as_it_says() {
    let mut job = job();
    job["posts"][0]["fetch"] = json!({"max_read": 512, "merge_threshold": 92});
    let folder = folder(&job);
    let explain = |args: &[&str]| {
        let output = folder.drdma(&[&["explain", "job.json"], args].concat());
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stdout).unwrap()
    };
    // Whatever the registers say.
    let text = explain(&["--json", "--threshold", "0", "--max-read", "4096"]);
    let explained: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(explained[0]["fetch"], json!({"max_read": 512, "merge_threshold": 92}));
    assert_eq!(explained[0]["together"]["reads"], 2);
    assert_eq!(explained[0]["together"]["read_bytes"], 908);
    assert_eq!(explained[0]["boxes"][1], json!({"buffer": "t", "offset": 512, "len": 396}));
    assert_eq!(explained[0]["cheapest"]["reads"], 2);
    let text = explain(&[]);
    let line = "fetched as it says: reads of at most 512 B, through gaps of at most 92 B\n";
    assert!(text.contains(line), "{text}");
}

#[test]
fn explain_reads_the_fetch_rows_as_well() {
    let mut job = job();
    // Rows 0, 2 and 5 of 8 of 100 B; rows 1 and 7 are read with them.
    for (name, bits) in [("bits", "25"), ("fetch", "82")] {
        job["buffers"].as_array_mut().unwrap().push(json!({"name": name, "hex": bits}));
    }
    job["posts"][0]["regions"] = json!([
        {"type": "bitmapped", "bitmap": {"buffer": "bits", "offset": 0}, "rows": 8,
         "columns": [{"buffer": "t", "offset": 0, "width": 100}]}]);
    job["posts"][0]["fetch"] = json!({"max_read": 512, "merge_threshold": 0});
    let explain = |job: &Value| -> Value {
        let output = folder(job).drdma(&["explain", "job.json", "--json"]);
        assert_eq!(output.status.code(), Some(0));
        let explained: Value = serde_json::from_slice(&output.stdout).unwrap();
        explained[0].clone()
    };
    let without = explain(&job);
    assert_eq!((&without["together"]["reads"], &without["sent_bytes"]), (&json!(3), &json!(300)));
    job["posts"][0]["regions"][0]["fetch_rows"] = json!({"buffer": "fetch", "offset": 0});
    let with = explain(&job);
    assert_eq!((&with["together"]["reads"], &with["sent_bytes"]), (&json!(3), &json!(300)));
    assert_eq!(with["together"]["read_bytes"], 500);
    assert_eq!(with["destinations"][0]["alone"]["read_bytes"], 500);
    assert_eq!(with["boxes"][0], json!({"buffer": "t", "offset": 0, "len": 300}));
    assert_eq!(with["boxes"][2], json!({"buffer": "t", "offset": 700, "len": 100}));
}

#[test]
fn explain_says_why_a_request_would_fail() {
    let mut job = job();
    job["posts"][0]["regions"][0]["count"] = json!(11);
    let folder = folder(&job);
    let output = folder.drdma(&["explain", "job.json", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let explained: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(explained[0]["status"], "local_protection_error");
    assert!(explained[0]["reason"].as_str().unwrap().starts_with("destination 0: "));
}

#[test]
fn explain_shows_partitioned_requests() {
    let folder = folder(&partitioned());
    let args = ["explain", "job.json", "--json", "--threshold", "0"];
    let explained: Value = serde_json::from_slice(&folder.drdma(&args).stdout).unwrap();
    let (post, red) = (&explained[0], &explained[0]["destinations"][0]);
    assert_eq!(post["status"], "success");
    // Head 2, region 4, destination 2: 8 granules.
    assert_eq!(post["request_bytes"], 128);
    let counts = ["rows", "units", "fragments", "messages", "packets", "sent_bytes"];
    assert_eq!(counts.map(|name| red[name].as_u64().unwrap()), [5, 5, 10, 2, 2, 50]);
    assert_eq!(post["together"]["read_bytes"], 50);
    assert_eq!(post["boxes"][0], json!({"buffer": "t", "offset": 0, "len": 8}));
    // Ten reads with gaps; to read through them costs less.
    assert_eq!(post["together"]["reads"], 10);
    assert_eq!(post["cheapest"]["reads"], 2);
    let cost = |of: &Value| of["cost_ns"].as_f64().unwrap();
    assert!(cost(&post["cheapest"]) < cost(post), "{post}");

    let mut job = partitioned();
    job["posts"][0]["partitioned"]["rows"] = json!(11);
    let folder = crate::folder(&job);
    let explained: Value = serde_json::from_slice(&folder.drdma(&args).stdout).unwrap();
    assert_eq!(explained[0]["status"], "local_protection_error");
    let reason = explained[0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("the partitioned region: bytes "), "{reason}");
}
