//! What only some cards do is refused of others.

use super::*;

/// The result of checking a job if cards of the kind `rtl:` have these features.
fn unsupported(job: &Value, features: Features) -> String {
    let of = |kind| match kind {
        Kind::Rtl => features,
        _ => Features::all(),
    };
    match supported::check(&parse(job).unwrap(), of) {
        Ok(()) => "good".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// The good job with node `node` on `device`, and only these of its steps.
fn only(node: usize, device: &str, steps: &[usize]) -> Value {
    let mut job = good();
    job["nodes"][node]["device"] = json!(device);
    job["steps"] = steps.iter().map(|step| good()["steps"][*step].clone()).collect();
    job
}

#[test]
fn a_card_that_does_not_receive_is_refused_where_it_would_have_to() {
    let expected = |step, node| {
        format!("steps[{step}]: there is no way for node \"{node}\" to receive on rtl: yet")
    };
    let (none, all) = (Features::empty(), (0..9).collect::<Vec<_>>());
    assert_eq!(unsupported(&only(1, "rtl:", &all), none), expected(0, "b"));
    let without_srq = |mut job: Value| {
        job["nodes"][0].as_object_mut().unwrap().remove("srqs");
        job["nodes"][0].as_object_mut().unwrap().remove("appends");
        job["nodes"][0]["keys"].as_array_mut().unwrap().truncate(1);
        job["nodes"][0]["qps"][0].as_object_mut().unwrap().remove("srq");
        job
    };
    let srq = unsupported(&only(0, "rtl:?stall=0.1", &all), none);
    assert_eq!(srq, "nodes[0].srqs: there is no shared receive queue on rtl: yet");
    // A node that only sends needs no card that receives.
    assert_eq!(unsupported(&without_srq(only(0, "rtl:", &[0, 3])), none), "good");
    for step in [5, 6] {
        let job = without_srq(only(0, "rtl:", &[step]));
        assert_eq!(unsupported(&job, none), expected(0, "a"));
    }
}

#[test]
fn what_only_some_cards_do_is_refused_of_others() {
    let (none, receives) = (Features::empty(), Features::RECEIVES);
    assert_eq!(unsupported(&good(), none), "good", "nobody is rtl:");
    let mut job = good();
    job["steps"][10] = json!({"node": "a", "verb": "post_ssq_send", "wr_id": 10, "op": "send",
        "destinations": [ {"qp": "d", "destination": "b/d", "regions": []} ]});
    let expected = "steps[10].destinations[0].destination: there is no card yet that sends a post_ssq_send as datagrams";
    assert_eq!(unsupported(&job, none), expected);
    let without_kept = |mut job: Value| {
        job["nodes"][0].as_object_mut().unwrap().remove("appends");
        job["nodes"][0]["keys"].as_array_mut().unwrap().truncate(1);
        job
    };
    // A card that receives, and has no other feature.
    let refused = |step: Value| {
        let mut job = only(0, "rtl:", &[]);
        job["steps"] = json!([step]);
        unsupported(&without_kept(job), receives)
    };
    let steps = &good()["steps"];
    let mut fence = steps[2].clone();
    fence.as_object_mut().unwrap().remove("signaled");
    assert_eq!(refused(fence), "steps[0].fence: there is no fence on rtl: yet");
    let mut solicited = steps[3].clone();
    solicited["solicited"] = json!(true);
    let told = "steps[0].solicited: there is no solicited request on rtl: yet";
    assert_eq!(refused(solicited), told);
    let address = "steps[0].destination: there is no address with a request on rtl: yet";
    assert_eq!(refused(steps[8].clone()), address);
    let answer = "steps[0].op: there is no answer to it on rtl: yet";
    assert_eq!(refused(steps[5].clone()), answer);
    let answers = |step: usize, features| {
        let mut job = only(0, "rtl:", &[]);
        job["steps"] = json!([steps[step]]);
        unsupported(&without_kept(job), receives | features)
    };
    assert_eq!(answers(5, Features::READ_ANSWERS), "good");
    assert_eq!(answers(5, Features::ATOMIC_ANSWERS), answer);
    assert_eq!(refused(steps[6].clone()), "steps[0].op: there is no atomic operation on rtl: yet");
    let mut job = without_kept(only(1, "rtl:", &[5]));
    assert_eq!(unsupported(&job, receives), "steps[0].op: there is no READ on rtl: yet");
    assert_eq!(unsupported(&job, receives | Features::READS), "good");
    let strided = json!({"type": "strided", "buffer": "t", "offset": 0, "period": 8, "count": 2,
                         "pattern": [{"offset": 0, "len": 4}]});
    job["steps"][0]["regions"] = json!([strided]);
    let expected =
        "steps[0].regions[0]: there is no answer into a region that is not contiguous on rtl: yet";
    assert_eq!(unsupported(&job, receives | Features::READS), expected);
    let both = Features::READS | Features::SCATTERS;
    assert_eq!(unsupported(&job, receives | both), "good");
    job["steps"] =
        json!([{"node": "b", "verb": "post_recv", "qp": "y", "wr_id": 1, "regions": [strided]}]);
    let expected = "steps[0].regions[0]: there is no receive into a strided region on rtl: yet";
    assert_eq!(unsupported(&job, receives), expected);
    assert_eq!(unsupported(&job, receives | Features::SCATTERS), "good");
    let strided_receives = receives | Features::STRIDED_RECEIVES;
    assert_eq!(unsupported(&job, strided_receives), "good");
    // 16 regions of 2 places.
    let mut regions = vec![strided; 16];
    job["steps"][0]["regions"] = json!(regions);
    assert_eq!(unsupported(&job, strided_receives), "good");
    regions[0]["pattern"].as_array_mut().unwrap().push(json!({"offset": 4, "len": 4}));
    job["steps"][0]["regions"] = json!(regions);
    let expected = "steps[0].regions: there is no receive of 33 places, but of 32 on rtl: yet";
    assert_eq!(unsupported(&job, strided_receives), expected);
    assert_eq!(unsupported(&job, receives | Features::SCATTERS), "good");
    job["steps"][0]["regions"] = json!([
        {"type": "pointer_mapped", "pointers": [ ["t", 0] ], "pattern": [ {"offset": 0, "len": 4} ]}]);
    let expected = "steps[0].regions[0]: there is no receive into a bitmapped or pointer-mapped region on rtl: yet";
    assert_eq!(unsupported(&job, strided_receives), expected);
    let mapped_receives = strided_receives | Features::MAPPED_RECEIVES;
    assert_eq!(unsupported(&job, mapped_receives), "good");
    // Two regions of 18 granules.
    let extents: Vec<_> = (0..16).map(|k| json!({"offset": k, "len": 1})).collect();
    let long = json!({"type": "pointer_mapped", "pointers": [ ["t", 0] ], "pattern": extents});
    job["steps"][0]["regions"] = json!([long, long]);
    let expected = "steps[0].regions: there is no receive of 36 places, but of 32 on rtl: yet";
    assert_eq!(unsupported(&job, mapped_receives), expected);
    // What a node's card keeps: keys and append regions.
    let mut job = only(0, "rtl:", &[]);
    let keys = "nodes[0].keys[1].region: there is no key to a region with gaps on rtl: yet";
    assert_eq!(unsupported(&job, receives), keys);
    let appends = "nodes[0].appends: there is no append region on rtl: yet";
    let reads = receives | Features::DESCRIBED_READS;
    let written =
        "nodes[0].keys[1].access: there is no WRITE to a key to a region with gaps on rtl: yet";
    assert_eq!(unsupported(&job, reads), written);
    assert_eq!(unsupported(&job, reads | Features::DESCRIBED_KEYS), appends);
    let both = Features::DESCRIBED_READS | Features::DESCRIBED_KEYS | Features::APPENDS;
    assert_eq!(unsupported(&job, receives | both), "good");
    job["nodes"][0].as_object_mut().unwrap().remove("appends");
    assert_eq!(unsupported(&job, reads | Features::DESCRIBED_KEYS), "good");
    job["nodes"][0]["keys"][1]["access"] = json!(["remote_read"]);
    assert_eq!(unsupported(&job, reads), "good");
    // No card has keys to bytes without fixed places.
    job["nodes"][0]["keys"][1]["region"] = json!({
        "type": "bitmapped", "bitmap": {"buffer": "t", "offset": 0}, "rows": 8,
        "columns": [ {"type": "bits", "buffer": "t", "offset": 8} ]});
    let fixed = "nodes[0].keys[1].region: there is no key to a region that is not of fixed columns";
    assert_eq!(unsupported(&job, Features::all()), fixed);
}

/// Each of these posts needs one thing that not every card does, beside what sending needs.
#[test]
fn what_only_some_cards_send_is_refused_of_others() {
    let region = |region: Value| json!({"regions": [region]});
    let column = |column: Value| {
        region(
            json!({"type": "bitmapped", "bitmap": {"buffer": "t", "offset": 0}, "rows": 8, "columns": [column]}),
        )
    };
    let data = json!({"buffer": "t", "offset": 64});
    let extent = |chase: Value, extent: Value| {
        let mut records = json!({"type": "pointer_mapped", "pointers": [], "pattern": [extent]});
        records.as_object_mut().unwrap().extend(chase.as_object().unwrap().clone());
        region(records)
    };
    let chase = json!({"chase": {"next": 8, "limit": 3}});
    let first_bit = json!({"type": "bitmapped", "bitmap": {"buffer": "t", "offset": 0, "bit": 1}, "rows": 8,
                           "columns": [ {"buffer": "t", "offset": 8, "width": 1} ]});
    let contiguous = json!({"type": "contiguous", "buffer": "t", "offset": 0, "len": 4});
    let by_columns = json!({"message_layout": "columns", "regions": [contiguous]});
    let fixed = json!({"offset": 0, "len": 4});
    let varlen = json!({"type": "varlen", "offset": 0, "width": 4, "data": data});
    let cases = [
        (
            Features::CHASE,
            extent(chase, fixed),
            ".regions[0].chase: there is no way to follow chains of records",
        ),
        (
            Features::VARLEN,
            extent(json!({}), varlen),
            ".regions[0]: there is no column of type varlen",
        ),
        (
            Features::VARLEN,
            column(json!({"type": "views", "buffer": "t", "offset": 8, "buffers": []})),
            ".regions[0]: there is no column of type views",
        ),
        (
            Features::VARLEN,
            column(
                json!({"type": "dictionary", "buffer": "t", "offset": 8, "width": 1, "count": 1,
                          "values": {"buffer": "t", "offset": 64, "width": 4}}),
            ),
            ".regions[0]: there is no column of type dictionary",
        ),
        (
            Features::BITS,
            column(json!({"type": "bits", "buffer": "t", "offset": 8})),
            ".regions[0]: there is no column of bits",
        ),
        (
            Features::BITS,
            region(first_bit),
            ".regions[0].bitmap: there is no bitmap that begins within a byte",
        ),
        (Features::COLUMN_MESSAGES, by_columns, ".message_layout: there is no message by columns"),
    ];
    let refused = |step: Value, without: Features| {
        let mut job = only(0, "rtl:", &[]);
        job["steps"] = json!([step]);
        unsupported(&job, Features::all() - without)
    };
    for (needed, fields, said) in cases {
        let mut step =
            json!({"node": "a", "verb": "post_send", "qp": "x", "wr_id": 1, "op": "send"});
        step.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        assert_eq!(refused(step.clone(), needed), format!("steps[0]{said} on rtl: yet"));
        assert_eq!(refused(step, Features::empty()), "good");
    }
    let key = json!({"key_type": "integer", "column": {"buffer": "t", "offset": 0, "width": 8}});
    let by = json!({"function": "murmur3", "partitions": 4, "keys": [key]});
    let step = json!({"node": "a", "verb": "post_ssq_send", "wr_id": 1, "op": "send",
        "partitioned": {"partition_by": by, "rows": 2, "columns": [ {"buffer": "t", "offset": 0, "width": 4} ]},
        "destinations": [ {"qp": "x", "partition": 0} ]});
    let said = "steps[0].partitioned.partition_by: there is no way to make partitions from keys on rtl: yet";
    assert_eq!(refused(step.clone(), Features::FIXED_KEYS), said);
    assert_eq!(refused(step.clone(), Features::PARTITIONS), "good");
    let mut beside = step.clone();
    beside["partitioned"]["columns"] = json!([{"type": "bits", "buffer": "t", "offset": 8}]);
    assert_eq!(refused(beside, Features::PARTITIONS), "good");
    let mut bytes = step;
    bytes["partitioned"]["partition_by"]["keys"][0]["key_type"] = json!("bytes");
    let said = "steps[0].partitioned.partition_by.keys[0]: there is no way to make partitions from such a key on rtl: yet";
    assert_eq!(refused(bytes.clone(), Features::PARTITIONS), said);
    assert_eq!(refused(bytes, Features::empty()), "good");
    // No card does this.
    let receive = json!({"node": "a", "verb": "post_srq_recv", "srq": "s", "wr_id": 1,
        "regions": [ {"type": "bitmapped", "bitmap": {"buffer": "t", "offset": 0}, "rows": 8,
                      "columns": [ {"type": "bits", "buffer": "t", "offset": 8} ]} ]});
    let said = "steps[0].regions[0]: there is no way to fill a region that is not of fixed columns";
    assert_eq!(refused(receive, Features::empty()), said);
}
