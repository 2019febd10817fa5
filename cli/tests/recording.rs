//! A recording holds everything that another card needs to do the same.

mod support;

use std::{collections::BTreeMap, fs, path::Path};

use drdma_abi::{
    completion::{Completion, Status},
    register::{COMPLETION_QUEUES, QUEUE_PAIR_ERRORS},
};
use drdma_cli::{device, job::Job};
use drdma_driver::{Card, DmaMemory};
use drdma_sim::wire::Network;
use drdma_tests::{
    expect::unhex,
    random_job::{Limits, generate},
};
use serde_json::{Value, json};
use support::{
    Folder,
    recorded::{frames, network, record},
};

/// Lets a card work until no frame has left it for longer than it ever takes to begin.
fn until_quiet(card: &mut dyn Card, network: &Network) {
    let mut quiet = 0;
    while quiet < 16 {
        let frames = network.traffic().frames;
        card.progress().unwrap();
        quiet = if network.traffic().frames == frames { quiet + 1 } else { 0 };
    }
}

/// Names of the requests whose success stands in the ring of completion queue 0.
fn completed(tables: &BTreeMap<u32, u32>, memory: &BTreeMap<u64, DmaMemory>) -> Vec<u64> {
    let word = |i: u32| tables[&(COMPLETION_QUEUES.entry(0) + 4 * i)];
    let addr = u64::from(word(0)) | u64::from(word(1)) << 32;
    let (start, mapped) = memory.range(..=addr).next_back().unwrap();
    let entries = (0..1_usize << (word(2) & 0xff)).map(|i| {
        let mut entry = [0; Completion::SIZE];
        mapped.read((addr - start) as usize + i * Completion::SIZE, &mut entry);
        entry
    });
    let done = entries.filter(|entry| entry[22] == Status::Success as u8);
    done.map(|entry| u64::from_le_bytes(entry[..8].try_into().unwrap())).collect()
}

/// Does what the lines say to a fresh card.
fn replay(uri: &str, job: &Job, lines: &[Value]) -> Vec<Vec<u8>> {
    let network = network(job);
    let mut card: Box<dyn Card> = device::open(uri, &network).unwrap();
    let mut memory: BTreeMap<u64, DmaMemory> = BTreeMap::new();
    let mut tables: BTreeMap<u32, u32> = BTreeMap::new();
    for line in lines {
        let (kind, what) = line.as_object().unwrap().iter().next().unwrap();
        let number = |field: &str| what[field].as_u64().unwrap();
        match kind.as_str() {
            "map" => {
                let mapped = DmaMemory::new(number("size") as usize).unwrap();
                card.map(number("addr"), &mapped).unwrap();
                memory.insert(number("addr"), mapped);
            }
            "mem" => {
                let (start, mapped) = memory.range(..=number("addr")).next_back().unwrap();
                let offset = (number("addr") - start) as usize;
                mapped.write(offset, &unhex(what["hex"].as_str().unwrap()));
            }
            "write" => {
                assert_eq!((number("bar"), number("size")), (2, 4));
                let (offset, value) = (number("offset") as u32, number("value") as u32);
                card.write(offset, value).unwrap();
                tables.insert(offset, value);
            }
            "read" => {
                card.read(number("offset") as u32).unwrap();
            }
            "completion" => {
                assert!(what["wr_id"].is_u64() && what["status"].is_string());
                until_quiet(card.as_mut(), &network);
                if what["status"] == "success" {
                    assert!(completed(&tables, &memory).contains(&number("wr_id")), "{line}");
                }
            }
            // What stood in the rings; their order between queues depends on time.
            "entries" => assert!(!what["hex"].as_str().unwrap().is_empty()),
            other => panic!("{other} is no line of a recording"),
        }
    }
    until_quiet(card.as_mut(), &network);
    frames(&network)
}

/// A card that were told of room that it has not used yet would have no room.
fn completions_stand_before_their_room_is_given_back(lines: &[Value]) {
    let consumer = u64::from(COMPLETION_QUEUES.entry(0)) + 20;
    let (mut seen, mut given) = (0, 0);
    for line in lines {
        seen += u64::from(line.get("completion").is_some());
        // 0 is what a ring starts with.
        if line["write"]["offset"] == consumer && line["write"]["value"] != 0 {
            given = line["write"]["value"].as_u64().unwrap();
            assert!(given <= seen, "{given} of {seen}");
        }
    }
    assert!(given > 0);
}

#[test]
fn a_replayed_recording_sends_the_same_packets() {
    for seed in 0..40 {
        let json = generate(seed, Limits::RTL);
        let job = Job::parse(&json.to_string(), Path::new(".")).unwrap();
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("record-{seed}.jsonl"));
        let (sent, lines) = record("soft:", &job, &path);
        let kinds = |kind: &str| lines.iter().filter(|line| line.get(kind).is_some()).count();
        // An unsignaled post has a completion only if it fails.
        let signaled = job.posts.iter().filter(|post| post.signaled).count();
        let succeeded = |line: &&Value| line["completion"]["status"] == "success";
        let good = lines.iter().filter(succeeded).count();
        assert!((signaled..=job.posts.len()).contains(&kinds("completion")), "seed {seed}");
        assert!(good <= signaled, "seed {seed}: {good} of {signaled} succeeded");
        assert!(kinds("map") > 0 && kinds("write") > 0, "seed {seed}");
        completions_stand_before_their_room_is_given_back(&lines);
        let mut sorted = [sent, replay("soft:", &job, &lines)];
        // Between queue pairs there is no order.
        sorted.iter_mut().for_each(|frames| frames.sort());
        assert!(sorted[0] == sorted[1], "seed {seed}: the replay sends other packets");
    }
}

#[test]
fn a_recording_of_the_simulated_hardware_does_the_same_on_a_fresh_card() {
    let folder = Folder::new();
    for seed in 0..3 {
        let json = generate(seed, Limits::RTL);
        fs::write(folder.file("job.json"), json.to_string()).unwrap();
        let files = ["--record", "r.jsonl", "--pcap", "out.pcap"];
        let output = folder.drdma(&[&["run", "job.json", "--device", "rtl:"][..], &files].concat());
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "seed {seed}: {text}");
        let text = fs::read_to_string(folder.file("r.jsonl")).unwrap();
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let job = Job::parse(&json.to_string(), Path::new(".")).unwrap();
        let sent = drdma_tests::capture::frames(&fs::read(folder.file("out.pcap")).unwrap());
        let mut sorted = [sent, replay("rtl:", &job, &lines)];
        sorted.iter_mut().for_each(|frames| frames.sort());
        assert!(sorted[0] == sorted[1], "seed {seed}: the replay sends other packets");
    }
}

#[test]
fn what_is_mapped_stands_first() {
    let job = Job::parse(&generate(3, Limits::RTL).to_string(), Path::new(".")).unwrap();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("record-maps.jsonl");
    let (_, lines) = record("soft:", &job, &path);
    let is_map = |line: &Value| line.get("map").is_some();
    let maps = lines.iter().take_while(|line| is_map(line)).count();
    assert!(maps > 0 && !lines[maps..].iter().any(is_map));
}

#[test]
fn memory_is_recorded_before_the_doorbell_and_only_what_changed() {
    let job = r#"{
        "buffers": [{"name": "t", "hex": "00112233445566778899aabbccddeeff"}],
        "local": {"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"},
        "qps": [{"name": "red", "transport": "uc", "qpn": 17, "dest_qpn": 33, "start_psn": 100,
                 "mtu": 1024, "dest_mac": "02:00:00:00:00:02", "dest_ip": "10.0.0.2"}],
        "posts": [{"verb": "post_send", "qp": "red", "wr_id": 5, "op": "send", "regions":
                   [{"type": "contiguous", "buffer": "t", "offset": 1, "len": 15}]}]}"#;
    let job = Job::parse(job, Path::new(".")).unwrap();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("record-one.jsonl");
    let (_, lines) = record("soft:", &job, &path);
    let is_doorbell = |line: &Value| {
        let offset = line["write"]["offset"].as_u64().unwrap_or(0);
        (0x50_0000..0x60_0000).contains(&offset)
    };
    let doorbell = lines.iter().position(is_doorbell).unwrap();
    let texts: Vec<(usize, &str)> = lines
        .iter()
        .enumerate()
        .filter_map(|(i, line)| Some((i, line["mem"]["hex"].as_str()?)))
        .collect();
    // The buffer without its leading zero byte, once; and the work request.
    let data = texts.iter().filter(|(_, hex)| hex.contains("112233445566778899aabbccddeeff"));
    assert_eq!(data.count(), 1);
    assert!(texts.iter().any(|(_, hex)| hex.starts_with("d7")), "{texts:?}");
    assert!(texts.iter().all(|(i, _)| *i < doorbell), "{texts:?}");
    assert!(lines[doorbell + 1..].iter().all(|line| line.get("mem").is_none()));
    let last = lines.iter().rev().find(|line| line.get("completion").is_some()).unwrap();
    let entry =
        r#"{"completion":{"wr_id":5,"status":"success","bytes":15,"queue":0,"destination":0}}"#;
    assert_eq!(last.to_string(), entry);
}

/// A host that asks earlier which queue pairs have failed gets no failures.
#[test]
fn what_is_read_because_of_a_completion_stands_behind_it() {
    let qp = |name: &str, qpn: u32| {
        json!({"name": name, "transport": "rc", "qpn": qpn, "dest_qpn": qpn + 100, "start_psn": 1,
               "mtu": 1024, "dest_mac": "02:00:00:00:00:02", "dest_ip": "10.0.0.2"})
    };
    let post = |wr_id: u32, offsets: [u32; 2]| {
        let regions =
            |at: u32| json!([{"type": "contiguous", "buffer": "t", "offset": at, "len": 8}]);
        json!({"verb": "post_ssq_send", "wr_id": wr_id, "op": "send", "destinations": [
            {"qp": "red", "regions": regions(offsets[0])},
            {"qp": "blue", "regions": regions(offsets[1])}]})
    };
    let job = json!({
        "buffers": [{"name": "t", "hex": "00112233445566778899aabbccddeeff"}],
        "local": {"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"},
        "qps": [qp("red", 17), qp("blue", 18)],
        "posts": [post(5, [0, 8]), post(6, [8, 9])],
    });
    let job = Job::parse(&job.to_string(), Path::new(".")).unwrap();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("record-failed.jsonl");
    let (_, lines) = record("soft:", &job, &path);
    let at = |what: Value| lines.iter().position(|line| *line == what).unwrap();
    let seen = lines.iter().position(|line| line["completion"]["wr_id"] == 6).unwrap();
    let failed = &lines[seen]["completion"];
    assert_eq!((&failed["bytes"], &failed["destination"]), (&json!(0), &json!(1)), "{failed}");
    assert_eq!(failed["status"], "local_protection_error");
    for (entry, is_failed) in [(0, 0), (1, 1)] {
        let offset = QUEUE_PAIR_ERRORS.entry(entry);
        let read = json!({"bar": 2, "offset": offset, "size": 4, "value": is_failed});
        assert!(at(json!({"read": read})) > seen, "{lines:#?}");
    }
}
