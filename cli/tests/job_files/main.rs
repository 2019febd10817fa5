//! Contents of job files, and the message for everything that is not possible.

use std::path::Path;

use drdma_cli::job::{IdWidth, Job, JobError, Place, Region, RowMask};
use libdrdma::VlanTag;
use serde_json::{Value, json};

mod partitioned;
mod posts;
mod queue_pairs;

fn good() -> Value {
    json!({
        "buffers": [ {"name": "t", "size": 4096}, {"name": "b", "hex": "b1"} ],
        "local": {"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"},
        "qps": [
            {"name": "red", "transport": "rc", "qpn": 17, "dest_qpn": 33, "start_psn": 100,
             "mtu": 1024, "dest_mac": "02:00:00:00:00:02", "dest_ip": "10.0.0.2"},
            {"name": "mail", "transport": "ud", "qpn": 18, "dest_qpn": 34, "start_psn": 0,
             "mtu": 256, "dest_mac": "02:00:00:00:00:03", "dest_ip": "10.0.0.3", "qkey": 9} ],
        "posts": [
            {"verb": "post_send", "qp": "red", "wr_id": 1, "op": "send",
             "regions": [ {"type": "strided", "buffer": "t", "offset": 0, "period": 16, "count": 2,
                           "pattern": [ {"offset": 0, "len": 8}, {"offset": 12, "len": 4} ]} ]},
            {"verb": "post_ssq_send", "wr_id": 2, "op": "write", "row_mask": "element",
             "rows_per_message": 64,
             "destinations": [ {"qp": "red", "remote_addr": 4096, "rkey": 7, "regions": [
                {"type": "bitmapped", "bitmap": {"buffer": "b", "offset": 0}, "rows": 8,
                 "columns": [ {"buffer": "t", "offset": 0, "width": 4} ]} ]} ]},
            {"verb": "post_send", "qp": "mail", "wr_id": 3, "op": "send_imm", "imm": 5,
             "regions": [ {"type": "pointer_mapped", "pointers": [ ["t", 64], ["t", 0] ],
                           "pattern": [ {"offset": 0, "len": 4} ]},
                          {"type": "contiguous", "buffer": "t", "offset": 8, "len": 100} ]}
        ]
    })
}

fn parse(job: &Value) -> Result<Job, JobError> {
    Job::parse(&job.to_string(), Path::new("/nowhere"))
}

/// The message for the good job with the value at `pointer` replaced, or removed.
fn message(pointer: &str, value: Option<Value>) -> String {
    change(good(), pointer, value)
}

/// The message for `job` with the value at `pointer` replaced, or removed.
fn change(mut job: Value, pointer: &str, value: Option<Value>) -> String {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match (job.pointer_mut(parent).expect(pointer), value) {
        (Value::Object(object), Some(value)) => {
            object.insert(name.to_owned(), value);
        }
        (Value::Object(object), None) => {
            object.shift_remove(name).expect(pointer);
        }
        (Value::Array(list), Some(value)) => list[name.parse::<usize>().unwrap()] = value,
        (Value::Array(list), None) => {
            list.remove(name.parse().unwrap());
        }
        _ => panic!("{parent} is neither a list nor an object"),
    }
    match parse(&job) {
        Ok(_) => panic!("{pointer} is accepted"),
        Err(error) => error.to_string(),
    }
}

fn set(pointer: &str, value: Value) -> String {
    message(pointer, Some(value))
}

#[test]
fn a_good_job_is_read_with_its_defaults() {
    let job = parse(&good()).unwrap();
    assert_eq!(job.local.mac, 0x0200_0000_0001);
    assert_eq!(job.local.ip, 0x0a00_0001);
    assert_eq!(job.qps[0].dest_mac, 0x0200_0000_0002);
    assert_eq!(job.posts[0].row_mask, RowMask::Period);
    assert_eq!(job.posts[0].rows_per_message, 1);
    assert_eq!(job.posts[1].row_mask, RowMask::Element);
    assert_eq!(job.posts[2].imm, 5);
    assert!(matches!(job.posts[2].destinations[0].regions[1], Region::Contiguous { len: 100, .. }));
}

#[test]
fn out_of_bounds_is_the_cards_business() {
    let mut job = good();
    job["posts"][0]["regions"][0]["offset"] = json!(u64::MAX);
    job["posts"][0]["regions"][0]["period"] = json!(u64::MAX);
    assert!(parse(&job).is_ok());
}

#[test]
fn empty_regions_are_legal() {
    let mut job = good();
    job["posts"][0]["regions"][0]["count"] = json!(0);
    job["posts"][1]["destinations"][0]["regions"][0]["rows"] = json!(0);
    job["posts"][2]["regions"][0]["pointers"] = json!([]);
    assert!(parse(&job).is_ok());
    job["posts"][2]["regions"] = json!([]);
    assert!(parse(&job).is_ok());
}

#[test]
fn zero_lengths_are_refused_with_the_way_to_the_field() {
    assert_eq!(
        set("/posts/0/regions/0/pattern/1/len", json!(0)),
        "posts[0].regions[0].pattern[1].len: must be at least 1, is 0"
    );
    assert_eq!(
        set("/posts/1/destinations/0/regions/0/columns/0/width", json!(0)),
        "posts[1].destinations[0].regions[0].columns[0].width: must be at least 1, is 0"
    );
    assert_eq!(
        set("/posts/0/regions/0/period", json!(0)),
        "posts[0].regions[0].period: must be at least 1, is 0"
    );
    assert_eq!(
        set("/posts/2/regions/1/len", json!(0)),
        "posts[2].regions[1].len: must be at least 1, is 0"
    );
    assert_eq!(
        set("/posts/1/rows_per_message", json!(0)),
        "posts[1].rows_per_message: must be at least 1, is 0"
    );
}

#[test]
fn missing_fields_are_named() {
    assert_eq!(message("/qps", None), "qps: is missing");
    assert_eq!(message("/posts/2/imm", None), "posts[2].imm: is missing");
    assert_eq!(message("/posts/0/wr_id", None), "posts[0].wr_id: is missing");
    assert_eq!(message("/qps/1/qkey", None), "qps[1].qkey: is missing");
    assert_eq!(
        message("/posts/1/destinations/0/rkey", None),
        "posts[1].destinations[0].rkey: is missing"
    );
    assert_eq!(
        message("/posts/1/destinations/0/remote_addr", None),
        "posts[1].destinations[0].remote_addr: is missing"
    );
    assert_eq!(message("/local/ip", None), "local.ip: is missing");
}

#[test]
fn unknown_fields_are_refused_where_they_have_no_meaning() {
    assert_eq!(
        set("/frobs", json!(1)),
        "frobs: unknown field; the fields here are buffers, local, qps and posts"
    );
    let text = set("/posts/2/regions/1/period", json!(4));
    assert!(text.starts_with("posts[2].regions[1].period: unknown field"), "{text}");
    let text = set("/posts/1/qp", json!("red"));
    assert!(text.starts_with("posts[1].qp: unknown field"), "{text}");
    let text = set("/posts/0/destinations", json!([]));
    assert!(text.starts_with("posts[0].destinations: unknown field"), "{text}");
}

#[test]
fn a_field_that_appears_twice_is_refused() {
    let text = good().to_string().replacen("\"wr_id\":1", "\"wr_id\":1,\"wr_id\":2", 1);
    let error = Job::parse(&text, Path::new(".")).unwrap_err();
    assert_eq!(error.to_string(), "posts[0].wr_id: appears twice");
}

#[test]
fn integers_beyond_64_bits_are_refused_as_such() {
    // Their digits are gone by then: they are not echoed.
    for text in ["18446744073709551616", "-9223372036854775809", "100000000000000000000000000000"] {
        let job = good().to_string().replacen("\"wr_id\":1", &format!("\"wr_id\":{text}"), 1);
        let error = Job::parse(&job, Path::new(".")).unwrap_err().to_string();
        assert_eq!(error, "posts[0].wr_id: must be an integer of at most 64 bits, is longer");
    }
}

#[test]
fn wrong_types_are_refused() {
    assert_eq!(set("/posts/0/wr_id", json!("1")), "posts[0].wr_id: must be an integer, is \"1\"");
    assert_eq!(set("/posts/0/wr_id", json!(1.0)), "posts[0].wr_id: must be an integer, is 1.0");
    assert_eq!(set("/posts/0/wr_id", json!(-1)), "posts[0].wr_id: must be at least 0, is -1");
    assert_eq!(set("/posts", json!({})), "posts: must be a list, is an object");
    assert_eq!(set("/qps/0", json!(null)), "qps[0]: must be an object, is null");
    assert_eq!(
        set("/posts/2/regions/0/pointers/1", json!(["t"])),
        "posts[2].regions[0].pointers[1]: must be a pair [buffer, offset], is 1 values"
    );
    assert_eq!(
        Job::parse("[]", Path::new(".")).unwrap_err().to_string(),
        "job: must be an object, is a list"
    );
    let error = Job::parse("{", Path::new(".")).unwrap_err().to_string();
    assert!(error.starts_with("the job is not valid JSON: "), "{error}");
}

#[test]
fn unknown_buffers_and_queue_pairs_are_named() {
    assert_eq!(
        set("/posts/0/regions/0/buffer", json!("u")),
        "posts[0].regions[0].buffer: there is no buffer \"u\""
    );
    assert_eq!(
        set("/posts/2/regions/0/pointers/1/0", json!("u")),
        "posts[2].regions[0].pointers[1][0]: there is no buffer \"u\""
    );
    assert_eq!(set("/posts/0/qp", json!("x")), "posts[0].qp: there is no queue pair \"x\"");
}

#[test]
fn a_buffer_has_exactly_one_source() {
    assert_eq!(
        set("/buffers/0/hex", json!("00")),
        "buffers[0]: must have exactly one of file, hex and size, has 2"
    );
    assert_eq!(
        message("/buffers/0/size", None),
        "buffers[0]: must have exactly one of file, hex and size, has 0"
    );
    assert_eq!(
        set("/buffers/1/hex", json!("b")),
        "buffers[1].hex: is not bytes in hexadecimal: it has an odd number of digits, 1"
    );
    assert_eq!(
        set("/buffers/1/hex", json!("bx")),
        "buffers[1].hex: is not bytes in hexadecimal: the character at 1 is no digit"
    );
    let text = set("/buffers/1", json!({"name": "f", "file": "no.bin"}));
    assert!(text.starts_with("buffers[1].file: cannot read /nowhere/no.bin: "), "{text}");
    assert_eq!(
        set("/buffers/1/name", json!("t")),
        "buffers[1].name: \"t\" is already used by buffers[0]"
    );
}

#[test]
fn fields_that_mean_nothing_here_are_refused() {
    for (pointer, path, what) in [
        ("/posts/0/imm", "posts[0].imm", "send"),
        ("/posts/0/rkey", "posts[0].rkey", "send"),
        ("/posts/0/remote_addr", "posts[0].remote_addr", "send"),
        ("/posts/1/imm", "posts[1].imm", "write"),
        ("/posts/2/rkey", "posts[2].rkey", "send_imm"),
        ("/qps/0/qkey", "qps[0].qkey", "this transport (only ud has one)"),
    ] {
        let expected = format!("{path}: has no meaning for {what}: leave it out");
        assert_eq!(message(pointer, Some(json!(5))), expected);
    }
}

#[test]
fn memory_that_no_machine_has_is_refused_by_field() {
    assert_eq!(
        message("/buffers/0/size", Some(json!(1u64 << 40))),
        "buffers[0].size: has 1099511627776 B; all buffers of a job together may have 68719476736 \
         B, 68719476736 B are left"
    );
    let mut job = good();
    job["buffers"][0]["size"] = json!((64u64 << 30) - 1);
    job["buffers"].as_array_mut().unwrap().push(json!({"name": "more", "size": 1}));
    assert_eq!(
        parse(&job).unwrap_err().to_string(),
        "buffers[2].size: has 1 B; all buffers of a job together may have 68719476736 B, 0 B are \
         left"
    );
    // A file that does not end is read no further than there is room.
    job["buffers"][2] = json!({"name": "more", "file": "/dev/zero"});
    assert!(parse(&job).unwrap_err().to_string().starts_with("buffers[2].file: has 1 B; "));
}

#[test]
fn a_byte_order_mark_is_named() {
    let error = Job::parse(&format!("\u{feff}{}", good()), Path::new(".")).unwrap_err();
    let expected = "the job begins with a byte order mark: save it as UTF-8 without one";
    assert_eq!(error.to_string(), expected);
}
