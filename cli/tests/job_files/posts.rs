//! Fields of posts.

use super::*;

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
    for (regions, inline) in [
        (json!([run(0, 1), run(0, 1)]), true),
        (json!([run(0, 1), run(0, 1)]), false),
        (json!([]), true),
    ] {
        job["posts"][0]["regions"] = regions;
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
        "posts[0].regions: are 65 B of inline data: at most 64 B are possible"
    );
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
