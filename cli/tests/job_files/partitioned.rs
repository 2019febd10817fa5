//! Fields of partitioned posts.

use super::*;

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
