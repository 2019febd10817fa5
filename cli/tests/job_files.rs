//! What a job file may say, and the message for everything that it may not.

use std::path::Path;

use drdma_cli::job::{IdWidth, Job, JobError, Place, Region, RowMask};
use libdrdma::VlanTag;
use serde_json::{Value, json};

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
fn the_last_post_of_a_queue_is_signaled() {
    let never = "is false, and no post behind it goes to the same queue: it would never be known to be \
                 complete";
    // Each of the three goes to a queue of its own.
    for post in 0..3 {
        let pointer = format!("/posts/{post}/signaled");
        assert_eq!(set(&pointer, json!(false)), format!("posts[{post}].signaled: {never}"));
        assert_eq!(
            set(&pointer, json!(0)),
            format!("posts[{post}].signaled: must be true or false, is 0")
        );
    }
    let mut job = good();
    let mut first = job["posts"][0].clone();
    first["signaled"] = json!(false);
    job["posts"].as_array_mut().unwrap().insert(0, first);
    let signaled: Vec<_> = parse(&job).unwrap().posts.iter().map(|post| post.signaled).collect();
    assert_eq!(signaled, [false, true, true, true]);
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
fn the_limits_are_those_of_a_work_request() {
    let region = json!({"type": "contiguous", "buffer": "t", "offset": 0, "len": 1});
    assert_eq!(
        set("/posts/0/regions", json!(vec![region.clone(); 17])),
        "posts[0].regions: has 17 regions, the limit is 16"
    );
    let extent = json!({"offset": 0, "len": 1});
    assert_eq!(
        set("/posts/0/regions/0/pattern", json!(vec![extent; 17])),
        "posts[0].regions[0].pattern: has 17 extents, the limit is 16"
    );
    assert_eq!(
        set("/posts/0/regions/0/pattern", json!([])),
        "posts[0].regions[0].pattern: must have at least one extent"
    );
    let column = json!({"buffer": "t", "offset": 0, "width": 1});
    assert_eq!(
        set("/posts/1/destinations/0/regions/0/columns", json!(vec![column; 17])),
        "posts[1].destinations[0].regions[0].columns: has 17 columns, the limit is 16"
    );
    let destination = json!({"qp": "red", "remote_addr": 0, "rkey": 0, "regions": []});
    assert_eq!(
        set("/posts/1/destinations", json!(vec![destination; 257])),
        "posts[1].destinations: has 257 destinations, the limit is 256"
    );
    assert_eq!(
        set("/posts/1/destinations", json!([])),
        "posts[1].destinations: must have at least one destination"
    );
    assert_eq!(
        set("/posts/0/regions/0/count", json!(1u64 << 32)),
        "posts[0].regions[0].count: must be at most 4294967295, is 4294967296"
    );
}

#[test]
fn a_post_has_at_most_1024_regions() {
    let mut job = good();
    let red = job["qps"][0].clone();
    let qp = |i: u32| {
        let mut qp = red.clone();
        (qp["name"], qp["qpn"]) = (json!(format!("q{i}")), json!(17 + i));
        qp
    };
    job["qps"] = (0..66).map(qp).collect();
    let region = json!({"type": "contiguous", "buffer": "t", "offset": 0, "len": 1});
    let to = |(i, regions): (usize, &usize)| json!({"qp": format!("q{i}"), "regions": vec![region.clone(); *regions]});
    let mut post = |regions: &[usize]| {
        let destinations: Vec<_> = regions.iter().enumerate().map(to).collect();
        job["posts"] = json!([{"verb": "post_ssq_send", "wr_id": 1, "op": "send",
                               "destinations": destinations}]);
        parse(&job).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(post(&[16; 64]), Ok(()));
    assert_eq!(
        post(&[[16; 64].as_slice(), &[0, 1]].concat()).unwrap_err(),
        "posts[0].destinations: has 1025 regions of all destinations together, the limit is 1024"
    );
}

#[test]
fn inline_data_are_contiguous_inside_their_buffers_and_short() {
    let run = |offset: u64, len: u64| json!({"type": "contiguous", "buffer": "b", "offset": offset, "len": len});
    let mut job = good();
    job["posts"][0]["regions"] = json!([run(0, 1), run(0, 1)]);
    for inline in [true, false] {
        job["posts"][0]["inline"] = json!(inline);
        let posts = parse(&job).unwrap().posts;
        let found: Vec<_> = posts.iter().map(|post| post.inline).collect();
        assert_eq!(found, [inline, false, false]);
    }
    job["posts"][0]["inline"] = json!(true);
    let with = |regions| change(job.clone(), "/posts/0/regions", Some(regions));
    let long = json!({"type": "contiguous", "buffer": "t", "offset": 0, "len": 64});
    assert_eq!(
        with(json!([long, run(0, 1)])),
        "posts[0].regions: are 65 B of inline data: 1 to 64 B are possible"
    );
    assert_eq!(with(json!([])), "posts[0].regions: are 0 B of inline data: 1 to 64 B are possible");
    assert_eq!(
        with(json!([run(0, 1), run(1, 1)])),
        "posts[0].regions[1]: ends at byte 2 of buffer \"b\", which has 1 B"
    );
    let strided = good()["posts"][0]["regions"][0].clone();
    assert_eq!(
        with(json!([strided])),
        "posts[0].regions[0]: is not contiguous: inline data come from contiguous regions"
    );
    assert_eq!(
        change(job.clone(), "/posts/0/inline", Some(json!(1))),
        "posts[0].inline: must be true or false, is 1"
    );
    let shared = change(good(), "/posts/1/inline", Some(json!(true)));
    assert!(shared.starts_with("posts[1].inline: unknown field"), "{shared}");
}

#[test]
fn fetch_rows_are_read_and_checked_field_by_field() {
    let region = "/posts/1/destinations/0/regions/0";
    let mut job = good();
    job.pointer_mut(region).unwrap()["fetch_rows"] = json!({"buffer": "t", "offset": 4096});
    let posts = parse(&job).unwrap().posts;
    let Region::Bitmapped { fetch_rows, .. } = &posts[1].destinations[0].regions[0] else {
        panic!("a bitmapped region")
    };
    assert_eq!(*fetch_rows, Some(Place { buffer: 0, offset: 4096 }));
    let at = "posts[1].destinations[0].regions[0].fetch_rows";
    let refused = |value| set(&format!("{region}/fetch_rows"), value);
    assert_eq!(refused(json!({"offset": 0})), format!("{at}.buffer: is missing"));
    assert_eq!(refused(json!({"buffer": "b"})), format!("{at}.offset: is missing"));
    assert_eq!(
        refused(json!({"buffer": "u", "offset": 0})),
        format!("{at}.buffer: there is no buffer \"u\"")
    );
    assert_eq!(
        refused(json!({"buffer": "b", "offset": 0, "rows": 8})),
        format!("{at}.rows: unknown field; the fields here are buffer and offset")
    );
    assert!(
        set("/posts/0/regions/0/fetch_rows", json!({"buffer": "b", "offset": 0}))
            .starts_with("posts[0].regions[0].fetch_rows: unknown field"),
        "only a bitmap has fetch rows"
    );
}

/// The good job with a fourth post, a partitioned one.
fn partitioned() -> Value {
    let mut job = good();
    job["posts"].as_array_mut().unwrap().push(json!(
        {"verb": "post_ssq_send", "wr_id": 4, "op": "write", "rows_per_message": 64,
         "partitioned": {"ids": {"buffer": "b", "offset": 0, "width": 1}, "rows": 1,
                         "columns": [{"buffer": "t", "offset": 0, "width": 4}]},
         "destinations": [ {"qp": "red", "partition": 255, "remote_addr": 0, "rkey": 7} ]}));
    job
}

/// The message for that job with the value at `pointer` of the fourth post replaced.
fn refused(pointer: &str, value: Value) -> String {
    change(partitioned(), &format!("/posts/3{pointer}"), Some(value))
}

#[test]
fn a_partitioned_post_is_read() {
    let job = parse(&partitioned()).unwrap();
    let post = &job.posts[3];
    let region = post.partitioned.as_ref().unwrap();
    assert_eq!((region.ids, region.width), (Place { buffer: 1, offset: 0 }, IdWidth::One));
    assert_eq!((region.rows, region.columns.len(), region.columns[0].width), (1, 1, 4));
    assert_eq!((post.destinations[0].partition, post.destinations[0].regions.len()), (255, 0));
    let mut job = partitioned();
    job["posts"][3]["partitioned"]["ids"]["width"] = json!(2);
    job["posts"][3]["partitioned"]["ids"]["offset"] = json!(u64::MAX);
    job["posts"][3]["partitioned"]["rows"] = json!(0);
    job["posts"][3]["destinations"][0]["partition"] = json!(65535);
    assert_eq!(parse(&job).unwrap().posts[3].destinations[0].partition, 65535);
}

#[test]
fn a_partitioned_region_is_checked_field_by_field() {
    let ids = "posts[3].partitioned.ids";
    for width in [0, 3, 4, 256] {
        assert_eq!(
            refused("/partitioned/ids/width", json!(width)),
            format!("{ids}.width: {width} is none of 1 and 2")
        );
    }
    assert_eq!(
        refused("/partitioned/ids/buffer", json!("u")),
        format!("{ids}.buffer: there is no buffer \"u\"")
    );
    assert_eq!(
        refused("/partitioned/ids", json!({"buffer": "b", "offset": 0})),
        format!("{ids}.width: is missing")
    );
    assert_eq!(
        refused("/partitioned/ids/rows", json!(1)),
        format!("{ids}.rows: unknown field; the fields here are buffer, offset and width")
    );
    assert_eq!(
        refused("/partitioned/rows", json!(1u64 << 32)),
        "posts[3].partitioned.rows: must be at most 4294967295, is 4294967296"
    );
    assert_eq!(
        refused("/partitioned/columns", json!([])),
        "posts[3].partitioned.columns: must have at least one column"
    );
    let column = json!({"buffer": "t", "offset": 0, "width": 1});
    assert_eq!(
        refused("/partitioned/columns", json!(vec![column; 17])),
        "posts[3].partitioned.columns: has 17 columns, the limit is 16"
    );
    assert_eq!(
        refused("/partitioned/columns/0/width", json!(0)),
        "posts[3].partitioned.columns[0].width: must be at least 1, is 0"
    );
    assert_eq!(
        refused("/partitioned/bitmap", json!(1)),
        "posts[3].partitioned.bitmap: unknown field; the fields here are partition_by, ids, rows and columns"
    );
    assert_eq!(
        refused("/partitioned", json!([])),
        "posts[3].partitioned: must be an object, is a list"
    );
}

#[test]
fn partitions_are_those_of_a_partitioned_post_and_each_is_named_once() {
    let partition = "posts[3].destinations[0].partition";
    assert_eq!(
        refused("/destinations/0/partition", json!(256)),
        format!("{partition}: must be at most 255, is 256")
    );
    let mut wide = partitioned();
    wide["posts"][3]["partitioned"]["ids"]["width"] = json!(2);
    assert_eq!(
        change(wide, "/posts/3/destinations/0/partition", Some(json!(65536))),
        format!("{partition}: must be at most 65535, is 65536")
    );
    assert_eq!(
        change(partitioned(), "/posts/3/destinations/0/partition", None),
        format!("{partition}: is missing")
    );
    assert_eq!(
        refused("/destinations/0/regions", json!([])),
        "posts[3].destinations[0].regions: unknown field; the fields here are qp, \
         remote_columns, remote_addr, rkey and partition"
    );
    let text = set("/posts/1/destinations/0/partition", json!(0));
    assert!(text.starts_with("posts[1].destinations[0].partition: unknown field"), "{text}");
    let text = set("/posts/0/partitioned", json!({}));
    assert!(text.starts_with("posts[0].partitioned: unknown field"), "{text}");
    let mut job = partitioned();
    let mut blue = job["qps"][0].clone();
    (blue["name"], blue["qpn"]) = (json!("blue"), json!(20));
    job["qps"].as_array_mut().unwrap().push(blue);
    let list = job["posts"][3]["destinations"].as_array_mut().unwrap();
    list.push(json!({"qp": "blue", "partition": 255, "remote_addr": 0, "rkey": 0}));
    assert_eq!(
        parse(&job).unwrap_err().to_string(),
        "posts[3].destinations[1].partition: 255 is already used by posts[3].destinations[0]"
    );
    job["posts"][3]["destinations"][1]["partition"] = json!(0);
    assert!(parse(&job).is_ok());
}

#[test]
fn queue_pairs_are_checked() {
    assert_eq!(
        set("/qps/0/qpn", json!(1 << 24)),
        "qps[0].qpn: must be at most 16777215, is 16777216"
    );
    assert_eq!(
        set("/qps/0/start_psn", json!(1 << 24)),
        "qps[0].start_psn: must be at most 16777215, is 16777216"
    );
    assert_eq!(
        set("/qps/0/mtu", json!(1500)),
        "qps[0].mtu: 1500 is none of 256, 512, 1024, 2048 and 4096"
    );
    assert_eq!(
        set("/qps/0/dest_mac", json!("02:00")),
        "qps[0].dest_mac: \"02:00\" is not a MAC address like 02:00:00:00:00:01"
    );
    assert_eq!(
        set("/qps/0/dest_ip", json!("10.0.0.256")),
        "qps[0].dest_ip: \"10.0.0.256\" is not an IPv4 address like 10.0.0.1"
    );
    assert_eq!(
        set("/qps/0/transport", json!("xrc")),
        "qps[0].transport: \"xrc\" is none of rc, uc and ud"
    );
    assert_eq!(set("/qps/1/name", json!("red")), "qps[1].name: \"red\" is already used by qps[0]");
    assert_eq!(set("/qps/1/qpn", json!(17)), "qps[1].qpn: 17 is already used by qps[0]");
}

#[test]
fn operations_are_checked() {
    assert_eq!(
        set("/posts/0/op", json!("read")),
        "posts[0].op: \"read\" is none of send, send_imm, write and write_imm"
    );
    let mut job = good();
    job["posts"][2]["op"] = json!("write_imm");
    job["posts"][2]["remote_addr"] = json!(0);
    job["posts"][2]["rkey"] = json!(0);
    assert_eq!(
        parse(&job).unwrap_err().to_string(),
        "posts[2].op: write_imm is not possible on queue pair \"mail\", whose transport is ud"
    );
    let destination = good()["posts"][1]["destinations"][0].clone();
    assert_eq!(
        set("/posts/1/destinations", json!([destination, destination])),
        "posts[1].destinations[1].qp: queue pair \"red\" is already used by \
         posts[1].destinations[0]"
    );
}

#[test]
fn a_job_needs_no_more_queues_than_a_card_has() {
    let mut job = good();
    let red = job["qps"][0].clone();
    let qps = job["qps"].as_array_mut().unwrap();
    let others = 4096 - qps.len();
    for i in 0..others {
        let mut other = red.clone();
        (other["name"], other["qpn"]) = (json!(format!("other{i}")), json!(1000 + i));
        qps.push(other);
    }
    let text = parse(&job).unwrap_err().to_string();
    assert_eq!(text, "posts: the job needs 4097 send queues, a card has 4096");
    job["qps"].as_array_mut().unwrap().pop();
    assert!(parse(&job).is_ok(), "4,095 queue pairs and a shared send queue");
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
fn a_post_may_say_how_it_is_fetched() {
    let with = |fetch: Value| {
        let mut job = good();
        job["posts"][1]["fetch"] = fetch;
        job
    };
    let job = parse(&with(json!({"max_read": 4096, "merge_threshold": 4095}))).unwrap();
    let plan = job.posts[1].fetch.expect("a plan");
    assert_eq!((plan.max_read(), plan.merge_threshold()), (4096, 4095));
    assert_eq!(job.posts[0].fetch, None);

    let message = |fetch| parse(&with(fetch)).unwrap_err().to_string();
    for max_read in [0, 32, 100, 8192, (1u64 << 32) + 64] {
        assert_eq!(
            message(json!({"max_read": max_read, "merge_threshold": 0})),
            format!(
                "posts[1].fetch.max_read: {max_read} is none of 64, 128, 256, 512, 1024, 2048 and \
                 4096"
            )
        );
    }
    assert_eq!(
        message(json!({"max_read": 64, "merge_threshold": 4096})),
        "posts[1].fetch.merge_threshold: must be at most 4095, is 4096"
    );
    assert_eq!(message(json!({"merge_threshold": 0})), "posts[1].fetch.max_read: is missing");
    assert_eq!(message(json!({"max_read": 64})), "posts[1].fetch.merge_threshold: is missing");
    assert_eq!(message(json!(64)), "posts[1].fetch: must be an object, is 64");
    let text = message(json!({"max_read": 64, "merge_threshold": 0, "max_gap": 1}));
    assert!(text.starts_with("posts[1].fetch.max_gap: unknown field"), "{text}");
}

#[test]
fn addresses_that_no_interface_has_are_refused() {
    let must = "it must be the address of one interface";
    for (mac, what) in [
        ("00:00:00:00:00:00", "no address"),
        ("ff:ff:ff:ff:ff:ff", "the broadcast address"),
        ("01:00:5e:00:00:01", "a multicast address"),
    ] {
        let expected = format!("local.mac: {mac} is {what}: {must}");
        assert_eq!(message("/local/mac", Some(json!(mac))), expected);
        let expected = format!("qps[1].dest_mac: {mac} is {what}: {must}");
        assert_eq!(message("/qps/1/dest_mac", Some(json!(mac))), expected);
    }
    for (ip, what) in [
        ("0.0.0.0", "no address"),
        ("255.255.255.255", "the broadcast address"),
        ("224.0.0.1", "a multicast address"),
    ] {
        let expected = format!("local.ip: {ip} is {what}: {must}");
        assert_eq!(message("/local/ip", Some(json!(ip))), expected);
        let expected = format!("qps[0].dest_ip: {ip} is {what}: {must}");
        assert_eq!(message("/qps/0/dest_ip", Some(json!(ip))), expected);
    }
    for number in ["qpn", "dest_qpn"] {
        let expected = format!("qps[0].{number}: must be at least 1, is 0");
        assert_eq!(message(&format!("/qps/0/{number}"), Some(json!(0))), expected);
    }
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

/// Knows the peers' addresses in 10.0.0.0/24.
struct Rack;

impl libdrdma::Resolver for Rack {
    fn resolve(
        &self,
        ip: std::net::Ipv4Addr,
    ) -> Result<libdrdma::MacAddress, libdrdma::ResolveError> {
        match ip.octets() {
            [10, 0, 0, host] => Ok(libdrdma::MacAddress([2, 0, 0, 0, 1, host])),
            _ => Err(libdrdma::ResolveError::NoRoute { ip }),
        }
    }
}

#[test]
fn a_mac_address_that_is_left_out_is_resolved() {
    let parse = |job: &Value| Job::parse_with(&job.to_string(), Path::new("."), &Rack);
    let mut job = good();
    job["qps"][0].as_object_mut().unwrap().remove("dest_mac");
    let found = parse(&job).unwrap();
    assert_eq!(found.qps[0].dest_mac, 0x0200_0000_0102);
    assert_eq!(found.qps[1].dest_mac, 0x0200_0000_0003, "one that is given wins");
    job["qps"][0]["dest_ip"] = json!("10.1.0.2");
    let error = parse(&job).unwrap_err().to_string();
    let text = "is missing, and not known: 10.1.0.2: the host has no route to it";
    assert_eq!(error, format!("qps[0].dest_mac: {text}"));
    // The host's own tables have no network for documentation (RFC 5737), or nobody there.
    job["qps"][0]["dest_ip"] = json!("192.0.2.7");
    let error = Job::parse(&job.to_string(), Path::new(".")).unwrap_err().to_string();
    assert!(error.starts_with("qps[0].dest_mac: is missing, and not known: "), "{error}");
}

#[test]
fn what_is_in_the_headers_has_limits() {
    let mut job = good();
    let found = Job::parse(&job.to_string(), Path::new(".")).unwrap();
    assert_eq!((found.qps[0].dscp, found.qps[0].ecn, found.qps[0].ttl), (0, 0, 64));
    for (field, value) in [("dscp", 63), ("ecn", 3), ("ttl", 255)] {
        job["qps"][0][field] = json!(value);
    }
    let found = Job::parse(&job.to_string(), Path::new(".")).unwrap();
    assert_eq!((found.qps[0].dscp, found.qps[0].ecn, found.qps[0].ttl), (63, 3, 255));
    for (field, value, text) in [
        ("dscp", json!(64), "must be at most 63, is 64"),
        ("ecn", json!(4), "must be at most 3, is 4"),
        ("ttl", json!(0), "must be at least 1, is 0"),
    ] {
        let mut job = job.clone();
        job["qps"][0][field] = value;
        let error = Job::parse(&job.to_string(), Path::new(".")).unwrap_err().to_string();
        assert_eq!(error, format!("qps[0].{field}: {text}"));
    }
}

#[test]
fn a_vlan_has_a_number_and_a_priority() {
    let with = |vlan: Value| {
        let mut job = good();
        job["qps"][0]["vlan"] = vlan;
        Job::parse(&job.to_string(), Path::new("."))
    };
    assert_eq!(Job::parse(&good().to_string(), Path::new(".")).unwrap().qps[0].vlan, None);
    for (vlan, id, priority) in
        [(json!({"id": 4094}), 4094, 0), (json!({"id": 1, "priority": 7}), 1, 7)]
    {
        assert_eq!(with(vlan).unwrap().qps[0].vlan, Some(VlanTag { id, priority }));
    }
    for (vlan, error) in [
        (json!({"id": 0}), "qps[0].vlan.id: must be at least 1, is 0"),
        (json!({"id": 4095}), "qps[0].vlan.id: must be at most 4094, is 4095"),
        (json!({"id": 1, "priority": 8}), "qps[0].vlan.priority: must be at most 7, is 8"),
        (json!({"priority": 1}), "qps[0].vlan.id: is missing"),
        (
            json!({"id": 1, "dei": 1}),
            "qps[0].vlan.dei: unknown field; the fields here are id and priority",
        ),
    ] {
        assert_eq!(with(vlan).unwrap_err().to_string(), error);
    }
}
