//! Kinds of columns, messages by columns, chains and keys in job files, and the message for everything
//! that is not possible.

use std::path::Path;

use drdma_cli::job::Job;
use serde_json::{Value, json};

/// A job with one post of each: columns of every kind, a chain, partitions from keys by a hash and by a range.
fn good() -> Value {
    let columns = json!([
        {"type": "varlen", "buffer": "t", "offset": 0, "width": 4, "data": {"buffer": "t", "offset": 9}},
        {"type": "views", "buffer": "t", "offset": 0,
         "buffers": [ {"buffer": "t", "offset": 1, "len": 5} ]},
        {"type": "dictionary", "buffer": "t", "offset": 0, "width": 2, "count": 3,
         "values": {"buffer": "t", "offset": 7, "width": 8}},
        {"type": "bits", "buffer": "t", "offset": 0, "bit": 7},
        {"type": "fixed", "buffer": "t", "offset": 0, "width": 1} ]);
    let by = json!({"function": "murmur3", "partitions": 200, "seed": 1, "group": 2,
        "keys": [ {"key_type": "integer", "column": {"buffer": "t", "offset": 0, "width": 8},
                   "validity": {"buffer": "t", "offset": 0, "bit": 3}} ]});
    let range = json!({"function": "range", "splitters": {"buffer": "t", "offset": 0, "count": 255},
        "keys": [ {"key_type": "unsigned", "column": {"buffer": "t", "offset": 0, "width": 16}} ]});
    let to = |partition: u16| json!([ {"qp": "red", "partition": partition} ]);
    let region = |by: &Value| {
        json!({"partition_by": by, "rows": 8,
               "columns": [ {"buffer": "t", "offset": 0, "width": 4} ]})
    };
    json!({
        "buffers": [ {"name": "t", "size": 4096,
                      "pointers": [ {"offset": 16, "to": ["u", 0]}, {"offset": 4088, "to": ["t", 9999]} ]},
                     {"name": "u", "hex": "b1b1b1b1b1b1b1b1", "pointers": []} ],
        "local": {"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"},
        "qps": [
            {"name": "red", "transport": "rc", "qpn": 17, "dest_qpn": 33, "start_psn": 100,
             "mtu": 1024, "dest_mac": "02:00:00:00:00:02", "dest_ip": "10.0.0.2"} ],
        "posts": [
            {"verb": "post_send", "qp": "red", "wr_id": 1, "op": "write", "message_layout": "columns",
             "remote_columns": [ {"remote_addr": 4096, "rkey": 7} ],
             "regions": [ {"type": "bitmapped", "bitmap": {"buffer": "t", "offset": 0, "bit": 5},
                           "rows": 8, "columns": columns} ]},
            {"verb": "post_send", "qp": "red", "wr_id": 2, "op": "send",
             "regions": [ {"type": "pointer_mapped", "pointers": [ ["t", 0] ],
                           "chase": {"next": 16, "end": 5, "limit": 3},
                           "pattern": [ {"type": "varlen", "offset": 8, "width": 8,
                                         "data": {"buffer": "t", "offset": 0}} ]} ]},
            {"verb": "post_ssq_send", "wr_id": 3, "op": "send", "partitioned": region(&by),
             "destinations": to(99)},
            {"verb": "post_ssq_send", "wr_id": 4, "op": "send", "partitioned": region(&range),
             "destinations": to(255)} ]
    })
}

/// The message for the good job with the value at `pointer` replaced, or removed.
fn message(pointer: &str, value: impl Into<Option<Value>>) -> String {
    let mut job = good();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match (job.pointer_mut(parent).expect(pointer), value.into()) {
        (Value::Object(object), Some(value)) => drop(object.insert(name.to_owned(), value)),
        (Value::Object(object), None) => drop(object.shift_remove(name).expect(pointer)),
        (Value::Array(list), Some(value)) => list[name.parse::<usize>().unwrap()] = value,
        _ => panic!("{pointer}"),
    }
    Job::parse(&job.to_string(), Path::new("/nowhere")).unwrap_err().to_string()
}

const COLUMNS: &str = "/posts/0/regions/0/columns";
const CHAIN: &str = "/posts/1/regions/0";
const BY: &str = "/posts/2/partitioned/partition_by";
const RANGE: &str = "/posts/3/partitioned/partition_by";

/// Checks one message: of a change, with its path and text.
fn claim(pointer: &str, value: impl Into<Option<Value>>, path: &str, said: &str) {
    assert_eq!(message(pointer, value), format!("{path}: {said}"));
}

#[test]
fn the_good_job_is_good() {
    let job = Job::parse(&good().to_string(), Path::new("/nowhere")).unwrap();
    assert_eq!(job.buffers[0].pointers.len(), 2);
    let by = |post: usize| job.posts[post].partitioned.as_ref().unwrap();
    assert_eq!([by(2).max_id(), by(3).max_id()], [99, 255]);
    assert_eq!(by(2).by.as_ref().unwrap().seed, 1);
    let mut default = good();
    default.pointer_mut(BY).unwrap().as_object_mut().unwrap().shift_remove("seed");
    let job = Job::parse(&default.to_string(), Path::new("/nowhere")).unwrap();
    assert_eq!(job.posts[2].partitioned.as_ref().unwrap().by.as_ref().unwrap().seed, 42);
}

#[test]
fn every_field_of_a_kind_of_column_is_checked() {
    let path = |index: usize, field: &str| format!("posts[0].regions[0].columns[{index}]{field}");
    let at = |index: usize, field: &str| format!("{COLUMNS}/{index}/{field}");
    let (missing, text) = ("is missing", "must be an object, is \"t\"");
    let kinds = "\"x\" is none of fixed, varlen, views, dictionary and bits";
    claim(&at(0, "type"), json!("x"), &path(0, ".type"), kinds);
    claim(&at(0, "width"), json!(2), &path(0, ".width"), "2 is none of 4 and 8");
    claim(&at(0, "width"), None, &path(0, ".width"), missing);
    claim(&at(0, "data"), None, &path(0, ".data"), missing);
    claim(&at(0, "data"), json!("t"), &path(0, ".data"), text);
    claim(&at(0, "data/buffer"), json!("x"), &path(0, ".data.buffer"), "there is no buffer \"x\"");
    claim(&at(0, "data/offset"), None, &path(0, ".data.offset"), missing);
    let known = "unknown field; the fields here are buffer and offset";
    claim(&at(0, "data/x"), json!(1), &path(0, ".data.x"), known);
    let known = "unknown field; the fields here are type, buffer, offset, width and data";
    claim(&at(0, "count"), json!(1), &path(0, ".count"), known);
    claim(&at(1, "buffers"), None, &path(1, ".buffers"), missing);
    claim(&at(1, "buffers"), json!(1), &path(1, ".buffers"), "must be a list, is 1");
    let many = vec![json!({"buffer": "t", "offset": 1, "len": 5}); 4097];
    let limit = "has 4097 buffers of views, the limit is 4096";
    claim(&at(1, "buffers"), json!(many), &path(1, ".buffers"), limit);
    let none = "there is no buffer \"x\"";
    claim(&at(1, "buffers/0/buffer"), json!("x"), &path(1, ".buffers[0].buffer"), none);
    claim(&at(1, "buffers/0/len"), None, &path(1, ".buffers[0].len"), missing);
    let known = "unknown field; the fields here are buffer, offset and len";
    claim(&at(1, "buffers/0/x"), json!(0), &path(1, ".buffers[0].x"), known);
    let known = "unknown field; the fields here are type, buffer, offset and buffers";
    claim(&at(1, "width"), json!(16), &path(1, ".width"), known);
    claim(&at(2, "width"), json!(3), &path(2, ".width"), "3 is none of 1, 2, 4 and 8");
    claim(&at(2, "count"), None, &path(2, ".count"), missing);
    claim(&at(2, "count"), json!(-1), &path(2, ".count"), "must be at least 0, is -1");
    claim(&at(2, "values"), None, &path(2, ".values"), missing);
    claim(&at(2, "values/buffer"), json!("x"), &path(2, ".values.buffer"), none);
    let zero = "must be at least 1, is 0";
    claim(&at(2, "values/width"), json!(0), &path(2, ".values.width"), zero);
    let known = "unknown field; the fields here are buffer, offset and width";
    claim(&at(2, "values/x"), json!(0), &path(2, ".values.x"), known);
    claim(&at(3, "bit"), json!(8), &path(3, ".bit"), "must be at most 7, is 8");
    let known = "unknown field; the fields here are type, buffer, offset and bit";
    claim(&at(3, "width"), json!(1), &path(3, ".width"), known);
    claim(&at(4, "width"), json!(0), &path(4, ".width"), zero);
    let bit = "/posts/0/regions/0/bitmap/bit";
    claim(bit, json!(8), "posts[0].regions[0].bitmap.bit", "must be at most 7, is 8");
    let rows = json!({"buffer": "t", "offset": 0});
    let what = "columns that are not of fixed width, or a bitmap from a bit on";
    let said = format!("has no meaning for {what}: leave it out");
    claim("/posts/0/regions/0/fetch_rows", rows, "posts[0].regions[0].fetch_rows", &said);
}

#[test]
fn where_columns_have_kinds_no_value_is_longer_than_24_bits_can_say() {
    let (most, said) = ((1 << 24) - 1, "must be at most 16777215, is 16777216");
    let columns = "posts[0].regions[0].columns";
    for (pointer, path) in [
        ("/posts/0/regions/0/columns/4/width", format!("{columns}[4].width")),
        ("/posts/0/regions/0/columns/2/values/width", format!("{columns}[2].values.width")),
        (
            "/posts/2/partitioned/columns/0/width",
            "posts[2].partitioned.columns[0].width".to_owned(),
        ),
    ] {
        claim(pointer, json!(most + 1), &path, said);
    }
    // A chain, and a bitmap from a bit on, make a region one with kinds.
    let extent = |len: u64| json!([ {"offset": 0, "len": len} ]);
    let pattern = "/posts/1/regions/0/pattern";
    claim(pattern, extent(most + 1), "posts[1].regions[0].pattern[0].len", said);
    let column = |width: u64| json!([ {"buffer": "t", "offset": 0, "width": width} ]);
    let columns = "/posts/0/regions/0/columns";
    claim(columns, column(most + 1), "posts[0].regions[0].columns[0].width", said);
    // A key of bytes may have any width but those.
    let key = |width: u64| json!([ {"key_type": "bytes", "column": {"buffer": "t", "offset": 0, "width": width}} ]);
    let path = "posts[2].partitioned.partition_by.keys[0].column.width";
    claim("/posts/2/partitioned/partition_by/keys", key(most + 1), path, said);
}

#[test]
fn every_field_of_messages_by_columns_is_checked() {
    let layouts = "\"x\" is none of rows and columns";
    claim("/posts/0/message_layout", json!("x"), "posts[0].message_layout", layouts);
    let meaningless = |what: &str| format!("has no meaning for {what}: leave it out");
    let path = "posts[0].remote_columns";
    claim("/posts/0/message_layout", None, path, &meaningless("messages by rows"));
    claim("/posts/0/op", json!("send"), path, &meaningless("send"));
    let columns = "/posts/0/remote_columns";
    claim(columns, json!([]), path, "must have at least one remote column");
    let many = vec![json!({"remote_addr": 0, "rkey": 0}); 65];
    claim(columns, json!(many), path, "has 65 remote columns, the limit is 64");
    let one = |field: &str| format!("{columns}/0/{field}");
    claim(&one("rkey"), None, "posts[0].remote_columns[0].rkey", "is missing");
    claim(&one("remote_addr"), None, "posts[0].remote_columns[0].remote_addr", "is missing");
    let known = "unknown field; the fields here are remote_addr and rkey";
    claim(&one("x"), json!(0), "posts[0].remote_columns[0].x", known);
    let both = meaningless("a post with remote_columns");
    claim("/posts/0/rkey", json!(0), "posts[0].rkey", &both);
    claim("/posts/0/remote_addr", json!(0), "posts[0].remote_addr", &both);
}

#[test]
fn every_field_of_chains_and_of_the_addresses_that_buffers_hold_is_checked() {
    let path = |field: &str| format!("posts[1].regions[0].{field}");
    let at = |field: &str| format!("{CHAIN}/{field}");
    claim(&at("chase/next"), None, &path("chase.next"), "is missing");
    let far = "must be at most 4294967295, is 4294967296";
    claim(&at("chase/next"), json!(1u64 << 32), &path("chase.next"), far);
    claim(&at("chase/limit"), None, &path("chase.limit"), "is missing");
    claim(&at("chase/limit"), json!(0), &path("chase.limit"), "must be at least 1, is 0");
    let long = "must be at most 16777216, is 16777217";
    claim(&at("chase/limit"), json!((1 << 24) + 1), &path("chase.limit"), long);
    claim(&at("chase/end"), json!(-1), &path("chase.end"), "must be at least 0, is -1");
    let known = "unknown field; the fields here are next, end and limit";
    claim(&at("chase/x"), json!(0), &path("chase.x"), known);
    // Records have no bits.
    let kinds = "\"bits\" is none of fixed, varlen, views and dictionary";
    claim(&at("pattern/0/type"), json!("bits"), &path("pattern[0].type"), kinds);
    claim(&at("pattern/0/width"), json!(5), &path("pattern[0].width"), "5 is none of 4 and 8");

    let pointer = "/buffers/0/pointers/1";
    let path = |field: &str| format!("buffers[0].pointers[1]{field}");
    let at = |field: &str| format!("{pointer}/{field}");
    let end = "ends at byte 4097 of buffer \"t\", which has 4096 B";
    claim(&at("offset"), json!(4089), &path(".offset"), end);
    claim(&at("offset"), None, &path(".offset"), "is missing");
    claim(&at("to"), None, &path(".to"), "is missing");
    let pair = "must be a pair [buffer, offset], is 1 values";
    claim(&at("to"), json!(["t"]), &path(".to"), pair);
    claim(&at("to/0"), json!("x"), &path(".to[0]"), "there is no buffer \"x\"");
    let known = "unknown field; the fields here are offset and to";
    claim(&at("x"), json!(0), &path(".x"), known);
    claim("/buffers/1/pointers", json!(1), "buffers[1].pointers", "must be a list, is 1");
}

#[test]
fn every_field_of_partitions_from_keys_is_checked() {
    let path = |field: &str| format!("posts[2].partitioned.partition_by{field}");
    let at = |field: &str| format!("{BY}/{field}");
    let functions = "\"x\" is none of murmur3 and range";
    claim(&at("function"), json!("x"), &path(".function"), functions);
    claim(&at("function"), None, &path(".function"), "is missing");
    claim(&at("partitions"), None, &path(".partitions"), "is missing");
    claim(&at("partitions"), json!(0), &path(".partitions"), "must be at least 1, is 0");
    let many = "must be at most 65536, is 65537";
    claim(&at("partitions"), json!(65_537), &path(".partitions"), many);
    claim(&at("group"), json!(0), &path(".group"), "must be at least 1, is 0");
    claim(&at("group"), json!(65_536), &path(".group"), "must be at most 65535, is 65536");
    claim(
        &at("seed"),
        json!(1u64 << 32),
        &path(".seed"),
        "must be at most 4294967295, is 4294967296",
    );
    let meaningless = |what: &str| format!("has no meaning for {what}: leave it out");
    claim(&at("splitters"), json!(0), &path(".splitters"), &meaningless("murmur3"));
    claim(&at("keys"), json!([]), &path(".keys"), "must have at least one key");
    let key = good().pointer(&at("keys/0")).unwrap().clone();
    let keys = json!(vec![key; 17]);
    claim(&at("keys"), keys, &path(".keys"), "has 17 keys, the limit is 16");
    let key_path = |field: &str| path(&format!(".keys[0]{field}"));
    let types = "\"x\" is none of integer, unsigned, float, boolean, bytes and decimal";
    claim(&at("keys/0/key_type"), json!("x"), &key_path(".key_type"), types);
    claim(&at("keys/0/key_type"), None, &key_path(".key_type"), "is missing");
    claim(&at("keys/0/column"), None, &key_path(".column"), "is missing");
    let unsigned = "unsigned cannot be values of 8 B for murmur3";
    claim(&at("keys/0/key_type"), json!("unsigned"), &key_path(".key_type"), unsigned);
    let bits = json!({"type": "bits", "buffer": "t", "offset": 0});
    claim(&at("keys/0/column"), bits, &key_path(".key_type"), "integer cannot be bits for murmur3");
    let text = json!({"type": "varlen", "buffer": "t", "offset": 0, "width": 4,
                      "data": {"buffer": "t", "offset": 9}});
    let long = "integer cannot be values of variable length for murmur3";
    claim(&at("keys/0/column"), text, &key_path(".key_type"), long);
    let bit = &key_path(".validity.bit");
    claim(&at("keys/0/validity/bit"), json!(8), bit, "must be at most 7, is 8");
    let none = "there is no buffer \"x\"";
    claim(&at("keys/0/validity/buffer"), json!("x"), &key_path(".validity.buffer"), none);
    let known = "unknown field; the fields here are key_type, column and validity";
    claim(&at("keys/0/x"), json!(0), &key_path(".x"), known);
    let ids = json!({"buffer": "t", "offset": 0, "width": 1});
    let said = "has no meaning for a region with partition_by: leave it out";
    claim("/posts/2/partitioned/ids", ids, "posts[2].partitioned.ids", said);
    claim(BY, None, "posts[2].partitioned.ids", "is missing");
    let partition = "posts[2].destinations[0].partition";
    let last = "must be at most 99, is 100";
    claim("/posts/2/destinations/0/partition", json!(100), partition, last);

    let path = |field: &str| format!("posts[3].partitioned.partition_by{field}");
    let at = |field: &str| format!("{RANGE}/{field}");
    claim(&at("splitters"), None, &path(".splitters"), "is missing");
    let many = "must be at most 255, is 256";
    claim(&at("splitters/count"), json!(256), &path(".splitters.count"), many);
    claim(&at("splitters/buffer"), json!("x"), &path(".splitters.buffer"), none);
    let known = "unknown field; the fields here are buffer, offset and count";
    claim(&at("splitters/x"), json!(0), &path(".splitters.x"), known);
    claim(&at("seed"), json!(42), &path(".seed"), &meaningless("range"));
    claim(&at("partitions"), json!(256), &path(".partitions"), &meaningless("range"));
    let key = good().pointer(&at("keys/0")).unwrap().clone();
    claim(&at("keys"), json!([key, key]), &path(".keys"), "has 2 keys, the limit is 1");
    let bytes = "bytes cannot be values of 16 B for range";
    claim(&at("keys/0/key_type"), json!("bytes"), &path(".keys[0].key_type"), bytes);
    let last = "must be at most 255, is 256";
    let partition = "posts[3].destinations[0].partition";
    claim("/posts/3/destinations/0/partition", json!(256), partition, last);
}
