//! The output of `drdma explain`.

mod support;

use drdma_abi::register::COLUMN_MIN_ROWS;
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
    // The post's fetch plan comes before options for the registers.
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
}

/// A column of `t`.
fn column(offset: u64, width: u64) -> Value {
    json!({"buffer": "t", "offset": offset, "width": width})
}

/// A region of rows that a bitmap selects: every one that `bits` repeats.
fn bitmapped(rows: u64, columns: &[Value]) -> Value {
    json!({"type": "bitmapped", "bitmap": {"buffer": "bits", "offset": 0}, "rows": rows, "columns": columns})
}

/// The placement that is printed for a post that sends those regions to each of the destinations.
fn placement(row_mask: &str, bits: &str, destinations: &[Value]) -> Value {
    let mut job = job();
    job["buffers"] = json!([{"name": "t", "size": 400_000}, {"name": "bits", "hex": bits}]);
    let mut blue = job["qps"][0].clone();
    (blue["name"], blue["qpn"]) = (json!("blue"), json!(18));
    job["qps"].as_array_mut().unwrap().push(blue);
    let destination = |(qp, regions)| json!({"qp": qp, "regions": regions});
    let destinations: Vec<_> =
        ["red", "blue"].into_iter().zip(destinations).map(destination).collect();
    job["posts"] = json!([{"verb": "post_ssq_send", "wr_id": 1, "op": "send", "row_mask": row_mask,
                           "rows_per_message": 100, "destinations": destinations}]);
    let output = folder(&job).drdma(&["explain", "job.json", "--json"]);
    let explained: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(explained[0]["status"], "success", "{explained}");
    explained[0]["placement"].clone()
}

#[test]
fn explain_shows_where_packed_columns_lie() {
    let columns = [column(0, 4), column(8000, 4), column(16_003, 2)];
    let all = "ff".repeat(250);
    // A shuffle: a column a region, and two destinations that differ in their rows alone.
    let regions: Vec<_> =
        columns.iter().map(|column| bitmapped(2000, std::slice::from_ref(column))).collect();
    let found = placement("element", &all, &[json!(regions), json!(regions)]);
    assert_eq!(found["window_rows"], 2944);
    let lane = |offset: u64, len: u64, group: u64, place: u64, bank: u64| {
        json!({"buffer": "t", "offset": offset, "len": len, "step": len, "group": group,
               "place": place, "bank": bank})
    };
    // 2000 rows of 4 B end 64 B into the banks, so the next column starts 5 banks from a multiple of 128.
    let second = 8000_u64.next_multiple_of(128) + 20;
    let third = (second + 8000).next_multiple_of(128) + 40;
    let lanes = json!([
        lane(0, 4, 0, 0, 0),
        lane(8000, 4, 1, second, 5),
        lane(16_003, 2, 2, third + 3, 10)
    ]);
    assert_eq!(found["lanes"], lanes);
    let words = found["words_per_cycle"].as_f64().unwrap();
    assert!((12.0..=14.0).contains(&words), "{words}");
    // The same as one region with three columns, for one destination that gets all rows.
    let found = placement("period", &all, &[json!([bitmapped(2000, &columns)])]);
    assert_eq!(found["lanes"], lanes);

    // Extents of a period are one group.
    let pattern = json!([{"offset": 8, "len": 4}, {"offset": 0, "len": 4}]);
    let strided = |count: u64| {
        json!([{"type": "strided", "buffer": "t", "offset": 100, "period": 16, "count": count,
                "pattern": pattern}])
    };
    let found = placement("period", "00", &[strided(2000)]);
    let lane = |offset: u64, place: u64, bank: u64| {
        json!({"buffer": "t", "offset": offset, "len": 4, "step": 16, "group": 0, "place": place,
               "bank": bank})
    };
    assert_eq!(found["lanes"], json!([lane(108, 8, 2), lane(100, 0, 0)]));
    // As elements they are sent one by one, and so are few rows, and destinations with other columns.
    let columns = |first: u64| json!([bitmapped(2000, &[column(first, 4)])]);
    for found in [
        placement("element", "00", &[strided(2000)]),
        placement("period", "00", &[strided(u64::from(COLUMN_MIN_ROWS.reset) / 4 - 1)]),
        placement("period", &all, &[columns(0), columns(4)]),
        placement("period", &all, &[json!([bitmapped(2000, &[column(0, 128)])])]),
    ] {
        assert_eq!((found.get("window_rows"), found.get("lanes")), (None, None), "{found}");
        assert!(found["words_per_cycle"].as_f64().unwrap() > 0.9, "{found}");
    }
}

#[test]
fn explain_leaves_out_the_rows_that_the_card_leaves_out() {
    // A row in 1,000 of 80,000: all of them fit a window if what is between is left out.
    let bits = format!("01{}", "00".repeat(124)).repeat(80);
    let regions = json!([bitmapped(80_000, &[column(0, 4)])]);
    let found = placement("period", &bits, &[regions]);
    assert_eq!(found["window_rows"], 4096);
    // 80 values in one message are five beats, of which each wants 16 words.
    let words = found["words_per_cycle"].as_f64().unwrap();
    assert!((4.0..=16.0).contains(&words), "{words}");
    // Without rows there is no placement.
    let found =
        placement("period", &"00".repeat(10_000), &[json!([bitmapped(80_000, &[column(0, 4)])])]);
    assert_eq!(found, json!({"words_per_cycle": 0.0}));
}

#[test]
fn explain_looks_at_the_fetch_rows_of_regions_that_are_one() {
    // Two columns of one bitmap are one region for the card, with the fetch rows of the last.
    let mut regions = [bitmapped(2000, &[column(40_000, 4)]), bitmapped(2000, &[column(0, 4)])];
    for (region, offset) in regions.iter_mut().zip([1, 0]) {
        region["fetch_rows"] = json!({"buffer": "bits", "offset": offset});
    }
    let found = placement("element", &"81".repeat(260), &[json!(regions)]);
    assert_eq!(found["window_rows"], 3712);
    assert_eq!(found["lanes"].as_array().unwrap().len(), 2);
}

#[test]
fn explain_takes_regions_without_rows_wherever_they_are() {
    let region = json!({"type": "strided", "buffer": "t", "offset": 0, "period": 4, "count": 0,
                        "pattern": [{"offset": u64::MAX, "len": 4}]});
    assert_eq!(placement("period", "00", &[json!([region])]), json!({"words_per_cycle": 0.0}));
}

#[test]
fn explain_counts_the_words_that_are_gathered_row_by_row() {
    let words = |row_mask: &str, regions: &[Value]| {
        let found = placement(row_mask, "00", &[json!(regions)]);
        assert_eq!(found.get("window_rows"), None);
        found["words_per_cycle"].as_f64().unwrap()
    };
    let contiguous = |offset: u64, len: u64| json!({"type": "contiguous", "buffer": "t", "offset": offset, "len": len});
    let pointers: Vec<_> = (0..100).map(|i| json!(["t", 1000 * i])).collect();
    let records = json!({"type": "pointer_mapped", "pointers": pointers,
                         "pattern": [{"offset": 0, "len": 4}, {"offset": 300, "len": 8}]});
    // 64 B a cycle.
    assert_eq!(words("period", &[contiguous(0, 6400)]), 16.0);
    // Three words a row, a row a cycle.
    assert_eq!(words("period", std::slice::from_ref(&records)), 3.0);
    // A list of one value each is a row of them all; with a record beside it each is one of its own.
    let list: Vec<_> = (0..16).map(|i| contiguous(500 * i, 4)).collect();
    assert_eq!(words("element", &list), 16.0);
    let first = json!({"type": "pointer_mapped", "pointers": [["t", 0]],
                       "pattern": [{"offset": 0, "len": 4}]});
    assert_eq!(words("element", &[contiguous(0, 4), contiguous(500, 4), first]), 1.0);
}

#[test]
fn explain_tells_people_how_rows_are_gathered() {
    let mut job = job();
    job["posts"][0]["rows_per_message"] = json!(1);
    let text = |job: &Value| {
        String::from_utf8(folder(job).drdma(&["explain", "job.json"]).stdout).unwrap()
    };
    let found = text(&job);
    assert!(found.ends_with("gathered row by row: 2.0 words of 4 B a cycle, of 16\n"), "{found}");
    job["buffers"][0] = json!({"name": "t", "size": 100_000});
    job["posts"][0]["rows_per_message"] = json!(300);
    (job["posts"][0]["regions"][0]["count"], job["posts"][0]["regions"][0]["period"]) =
        (json!(300), json!(16));
    let found = text(&job);
    let line = "gathered from windows of 1792 rows, columns from banks 0: 1";
    assert!(found.contains(line), "{found}");
}
