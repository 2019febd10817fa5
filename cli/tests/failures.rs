//! Requests that fail: exit codes, and reasons in the words of the job file.

mod support;

use std::fs;

use serde_json::{Value, json};
use support::jobs::{folder, job, partitioned};

fn stderr(output: &std::process::Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The reason that `run` and `explain` print for the only request of a job that fails: they must agree.
fn reason(job: &Value) -> String {
    let folder = folder(job);
    let run = folder.drdma(&["run", "job.json", "--device", "soft:"]);
    assert_eq!(run.status.code(), Some(1), "{}", stderr(&run));
    let line: Value = serde_json::from_slice(&run.stdout).unwrap();
    let explain = folder.drdma(&["explain", "job.json", "--json"]);
    assert_eq!(explain.status.code(), Some(1), "{}", stderr(&explain));
    assert_eq!(stderr(&explain), "error: 1 of 1 requests would fail\n");
    let explained: Value = serde_json::from_slice(&explain.stdout).unwrap();
    assert_eq!(explained[0]["status"], line["status"]);
    assert_eq!(explained[0]["reason"], line["reason"]);
    let (reason, status) = (line["reason"].as_str().unwrap(), line["status"].as_str().unwrap());
    let expected = format!("error: 1 of 1 requests failed\n  {reason} ({status}, wr_id 1)\n");
    assert_eq!(stderr(&run), expected);
    for command in [&["run", "job.json", "--device", "soft:"][..], &["explain", "job.json"]] {
        let allowed = folder.drdma(&[command, &["--allow-failures"]].concat());
        assert_eq!(allowed.status.code(), Some(0));
        assert_eq!(stderr(&allowed), "");
    }
    reason.to_owned()
}

fn with_region(region: Value) -> Value {
    let mut job = job();
    let buffers = job["buffers"].as_array_mut().unwrap();
    buffers.push(json!({"name": "bits", "hex": "ff".repeat(16)}));
    job["posts"][0]["regions"] = json!([region]);
    job
}

#[test]
fn a_region_outside_its_buffer_is_told_by_field_buffer_and_size() {
    let has = "of buffer \"t\", which has 1000 B";
    let cases = [
        (
            json!({"type": "contiguous", "buffer": "t", "offset": 900, "len": 101}),
            format!("posts[0].regions[0]: 101 B from byte 900 on end at byte 1001 {has}"),
        ),
        (
            json!({"type": "strided", "buffer": "t", "offset": 10, "period": 100, "count": 10,
                   "pattern": [{"offset": 0, "len": 8}, {"offset": 80, "len": 16}]}),
            format!(
                "posts[0].regions[0].pattern[1]: 10 extents of 16 B, 100 B apart, from byte 90 on \
                 end at byte 1006 {has}"
            ),
        ),
        (
            json!({"type": "bitmapped", "bitmap": {"buffer": "bits", "offset": 1}, "rows": 128,
                   "columns": [{"buffer": "t", "offset": 0, "width": 1}]}),
            "posts[0].regions[0].bitmap: the bits of 128 rows from byte 1 on end at byte 17 of \
             buffer \"bits\", which has 16 B"
                .to_owned(),
        ),
        (
            json!({"type": "bitmapped", "bitmap": {"buffer": "bits", "offset": 0}, "rows": 128,
                   "columns": [{"buffer": "t", "offset": 0, "width": 4},
                               {"buffer": "t", "offset": 600, "width": 8}]}),
            format!(
                "posts[0].regions[0].columns[1]: 128 values of 8 B from byte 600 on end at byte \
                 1624 {has}"
            ),
        ),
        (
            json!({"type": "bitmapped", "bitmap": {"buffer": "bits", "offset": 0}, "rows": 100,
                   "fetch_rows": {"buffer": "bits", "offset": 9},
                   "columns": [{"buffer": "t", "offset": 0, "width": 4}]}),
            "posts[0].regions[0].fetch_rows: the bits of 100 rows from byte 9 on end at byte 22 of \
             buffer \"bits\", which has 16 B"
                .to_owned(),
        ),
        (
            json!({"type": "pointer_mapped", "pointers": [["t", 0], ["t", 990]],
                   "pattern": [{"offset": 0, "len": 4}, {"offset": 8, "len": 4}]}),
            format!(
                "posts[0].regions[0].pointers[1]: the 4 B of pattern[1] from byte 998 on end at \
                 byte 1002 {has}"
            ),
        ),
        // The card reads both under the key of one buffer, and refuses the first.
        (
            json!({"type": "pointer_mapped", "pointers": [["bits", 0], ["t", 990]],
                   "pattern": [{"offset": 0, "len": 4}, {"offset": 8, "len": 4}]}),
            format!(
                "posts[0].regions[0].pointers[1]: the 4 B of pattern[1] from byte 998 on end at \
                 byte 1002 {has}"
            ),
        ),
    ];
    for (region, expected) in cases {
        assert_eq!(reason(&with_region(region)), expected);
    }
}

#[test]
fn what_all_destinations_share_is_told_as_such() {
    let mut job = partitioned();
    job["posts"][0]["partitioned"]["ids"]["offset"] = json!(3);
    assert_eq!(
        reason(&job),
        "posts[0].partitioned.ids: the ids of 10 rows from byte 3 on end at byte 13 of buffer \
         \"ids\", which has 10 B"
    );
    let mut job = partitioned();
    job["posts"][0]["partitioned"]["columns"][1]["offset"] = json!(990);
    assert!(reason(&job).starts_with("posts[0].partitioned.columns[1]: 10 values of 2 B"));
}

#[test]
fn other_reasons_name_the_field_as_well() {
    let mut job = job();
    job["posts"][0]["row_mask"] = json!("element");
    let more = json!({"type": "strided", "buffer": "t", "offset": 0, "period": 8, "count": 3,
                      "pattern": [{"offset": 0, "len": 8}]});
    job["posts"][0]["regions"].as_array_mut().unwrap().push(more);
    assert_eq!(
        reason(&job),
        "posts[0].regions[1]: has 3 elements, regions[0] has 10; with row_mask element all must \
         have as many"
    );
    let mut job = support::jobs::job();
    job["qps"][0]["transport"] = json!("ud");
    job["qps"][0]["qkey"] = json!(1);
    job["qps"][0]["mtu"] = json!(256);
    job["posts"][0]["regions"] =
        json!([{"type": "contiguous", "buffer": "t", "offset": 0, "len": 257}]);
    assert_eq!(
        reason(&job),
        "posts[0]: a message of up to 10 rows has 257 B; 256 B are the MTU of queue pair \"red\", whose \
         transport is ud"
    );
}

#[test]
fn what_is_flushed_is_told_apart_and_the_rest_runs() {
    let mut job =
        with_region(json!({"type": "contiguous", "buffer": "t", "offset": 0, "len": 9999}));
    let mut next = support::jobs::job()["posts"][0].clone();
    next["wr_id"] = json!(2);
    job["posts"].as_array_mut().unwrap().push(next);
    let folder = folder(&job);
    let run = folder.drdma(&["run", "job.json", "--device", "soft:"]);
    assert_eq!(run.status.code(), Some(1));
    assert_eq!(
        stderr(&run),
        "error: 2 of 2 requests failed\n  posts[0].regions[0]: 9999 B from byte 0 on end at byte \
         9999 of buffer \"t\", which has 1000 B (local_protection_error, wr_id 1)\n  posts[1]: it \
         was not sent: an earlier request on its queue failed (queue pair \"red\") \
         (wr_flush_error, wr_id 2)\n"
    );
    assert_eq!(run.stdout.iter().filter(|byte| **byte == b'\n').count(), 2);
    fs::remove_file(folder.file("job.json")).unwrap();
}
