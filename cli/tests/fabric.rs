//! The command `drdma fabric`.

mod support;

use std::fs;

use drdma_abi::{Layout as _, receive::ReceiveCompletion};
use drdma_semantics::frame::Frame;
use drdma_tests::expect::unhex;
use serde_json::{Value, json};
use support::Folder;

const BOOK: &str = include_str!("../../docs/fabric-jobs.md");

/// The code block whose text begins with `begins`.
fn block(begins: &str) -> &'static str {
    blocks(begins).next().expect("such a block")
}

/// All code blocks whose text begins with `begins`, without that.
fn blocks(begins: &str) -> impl Iterator<Item = &'static str> {
    let blocks = BOOK.split("```").skip(1).step_by(2);
    blocks.filter_map(move |block| block.strip_prefix(begins))
}

fn job() -> Value {
    serde_json::from_str(block("json\n")).unwrap()
}

/// Exit code, standard output and standard error of a run.
fn run(folder: &Folder, job: &Value, options: &[&str]) -> (i32, String, String) {
    fs::write(folder.file("job.json"), job.to_string()).unwrap();
    let output = folder.drdma(&[&["fabric", "job.json"], options].concat());
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_job_of_the_book_does_what_the_book_says() {
    let folder = Folder::new();
    let (code, stdout, stderr) = run(&folder, &job(), &["--dump", "after"]);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(stdout, block("\n$ drdma fabric job.json --dump after\n"));
    let expected = [&[0, 1, 2, 3, 8, 9, 10, 11][..], &[0; 12], &[12, 13, 14, 15]].concat();
    assert_eq!(fs::read(folder.file("after/b/t")).unwrap(), expected);
    assert_eq!(fs::read(folder.file("after/a/t")).unwrap(), (0..16).collect::<Vec<u8>>());
}

#[test]
fn the_books_keys_and_append_regions_do_what_the_book_says() {
    let folder = Folder::new();
    let job: Value = serde_json::from_str(blocks("json\n").nth(1).unwrap()).unwrap();
    let (code, stdout, stderr) = run(&folder, &job, &["--dump", "after"]);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(stdout, block("\n$ drdma fabric rows.json --dump after\n"));
    let read = |name: &str| fs::read(folder.file(&format!("after/b/{name}"))).unwrap();
    assert_eq!(read("keys"), [5, 6, 7, 8, 5, 6, 7, 8, 0, 1, 2, 3]);
    assert_eq!(read("flags"), [9, 9, 4]);
    assert_eq!(read("table"), [0, 0, 0, 10, 11, 0, 0, 0, 0, 0, 12, 13, 0, 0, 0, 0]);
}

#[test]
fn captures_and_figures_are_the_same_every_time_and_tell_what_passed() {
    let folder = Folder::new();
    let mut job = job();
    job["network"] = json!({"duplicate": 1, "seed": 3});
    let files = ["switch.pcap", "stats.json"];
    let options = ["--pcap", files[0], "--stats", files[1], "--threads"];
    let mut seen = Vec::new();
    for threads in ["1", "2"] {
        let (code, stdout, stderr) = run(&folder, &job, &[&options[..], &[threads]].concat());
        assert_eq!(code, 0, "{stderr}");
        seen.push((stdout, files.map(|file| fs::read(folder.file(file)).unwrap())));
    }
    assert!(seen[0] == seen[1]);
    let [capture, stats] = &seen[0].1;
    let stats: Value = serde_json::from_slice(stats).unwrap();
    let frames = drdma_sim::wire::capture::read(capture).unwrap();
    let count = |pointer: &str| stats.pointer(pointer).and_then(Value::as_u64).expect(pointer);
    assert_eq!(count("/nodes/a/from_card/frames"), count("/nodes/a/from_card/duplicated"));
    assert_eq!(count("/nodes/b/to_card/frames"), 2 * count("/nodes/a/from_card/frames"));
    let passed = count("/nodes/a/to_card/frames") + count("/nodes/b/to_card/frames");
    assert_eq!(frames.len() as u64, passed);
    assert!(frames.windows(2).all(|pair| pair[0].time_ns <= pair[1].time_ns));
    assert!(count("/ns") > 4 * 500 && count("/nodes/a/card/PACKETS") == 2);
}

#[test]
fn a_request_that_fails_is_told_and_ends_with_1() {
    let folder = Folder::new();
    let mut job = job();
    job["nodes"][1]["buffers"][0]["access"] = json!([]);
    let (code, stdout, stderr) = run(&folder, &job, &["--dump", "after"]);
    assert_eq!((code, &*stderr), (1, "error: 1 requests failed\n"));
    let last: Value = serde_json::from_str(stdout.lines().last().unwrap()).unwrap();
    assert_eq!((&last["wr_id"], &last["status"]), (&json!(3), &json!("remote_access_error")));
    assert_eq!(fs::read(folder.file("after/b/t")).unwrap()[8..], [0; 16]);
    assert_eq!(run(&folder, &job, &["--allow-failures"]).0, 0);
}

#[test]
fn what_never_completes_ends_with_1_and_names_the_step() {
    let folder = Folder::new();
    // No receive: the sender tries again for ever.
    let mut job = job();
    job["network"] = json!({});
    job["steps"].as_array_mut().unwrap().remove(0);
    let (code, stdout, stderr) = run(&folder, &job, &["--timeout", "0.001"]);
    assert_eq!((code, &*stdout), (1, ""));
    let expected = "error: steps[0] is not complete, nor are 0 posts behind it, and nothing completed for 0.001";
    assert!(stderr.starts_with(expected), "{stderr}");
    // Every packet is lost, and no sender tries again.
    job["network"] = json!({"loss": 1});
    job["nodes"][0]["qps"][0]["timeout"] = json!(0);
    let (code, _, stderr) = run(&folder, &job, &[]);
    let expected = "error: steps[0] is not complete, nor are 0 posts behind it, and nothing is under way \
                    that could complete them\n";
    assert_eq!((code, &*stderr), (1, expected));
}

#[test]
fn a_wrong_job_is_refused_with_2_and_nothing_is_run() {
    let folder = Folder::new();
    let change = |pointer: &str, value: Value| {
        let mut job = job();
        *job.pointer_mut(pointer).expect(pointer) = value;
        let (code, stdout, stderr) =
            run(&folder, &job, &["--dump", "after", "--pcap", "p", "--stats", "s"]);
        assert_eq!((code, &*stdout), (2, ""), "{stderr}");
        assert!(!["after", "p", "s"].iter().any(|name| folder.file(name).exists()));
        stderr
    };
    let found = change("/network/loss", json!(2));
    assert_eq!(found, "error: network.loss: must be from 0 to 1, is 2\n");
    let found = change("/steps/0/node", json!("c"));
    assert_eq!(found, "error: steps[0].node: there is no node \"c\"\n");
    let found = change("/nodes/0/device", json!("soft:?speed=9"));
    assert_eq!(
        found,
        "error: nodes[0].device: `soft:` has no option `speed`; it has cycles, endpoint\n"
    );
    let found = change("/nodes/0/device", json!("hard:"));
    assert!(found.starts_with("error: nodes[0].device: `hard:` is no simulated card"), "{found}");
    let (code, _, stderr) = run(&folder, &job(), &["--timeout", "0"]);
    assert_eq!((code, &*stderr), (2, "error: --timeout is 0: it must be more than 0 seconds\n"));
}

#[test]
fn the_simulated_hardware_sends_to_cards_that_receive() {
    let folder = Folder::new();
    let mut job = job();
    job["network"] = json!({"gbps": 100, "delay_ns": 500});
    job["nodes"][0]["device"] = json!("rtl:");
    let (code, stdout, stderr) = run(&folder, &job, &["--dump", "after"]);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(stdout, block("\n$ drdma fabric job.json --dump after\n"));
    let expected = [&[0, 1, 2, 3, 8, 9, 10, 11][..], &[0; 12], &[12, 13, 14, 15]].concat();
    assert_eq!(fs::read(folder.file("after/b/t")).unwrap(), expected);
}

/// The memory in a recording: addresses and bytes, of lines of that kind.
fn told(lines: &[Value], kind: &str) -> Vec<(u64, Vec<u8>)> {
    let of = |line: &Value| {
        let what = &line[kind];
        Some((what["addr"].as_u64()?, unhex(what["hex"].as_str()?)))
    };
    lines.iter().filter_map(of).collect()
}

#[test]
fn a_recording_tells_the_frames_that_reach_a_card_and_what_it_writes() {
    let folder = Folder::new();
    let mut job: Value = serde_json::from_str(blocks("json\n").nth(1).unwrap()).unwrap();
    job["nodes"][1]["device"] = json!("rtl:");
    let (code, stdout, stderr) = run(&folder, &job, &["--dump", "after", "--record", "b=b.rec"]);
    assert_eq!((code, &*stderr), (0, ""));
    let text = fs::read_to_string(folder.file("b.rec")).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();

    // Three SENDs and WRITEs of one packet each, of which each is acknowledged before those that wait for it.
    let frames: Vec<&Value> = lines.iter().map(|line| &line["frame"]).collect();
    let frames: Vec<_> = frames.into_iter().filter(|frame| !frame.is_null()).collect();
    assert_eq!(frames.len(), 3);
    for (psn, frame) in (0..).zip(&frames) {
        assert_eq!((&frame["qpn"], &frame["after"]), (&json!(16), &json!(0)));
        let bytes = unhex(frame["hex"].as_str().unwrap());
        let parsed = Frame::parse(&bytes).expect("a right frame");
        assert_eq!(parsed.bth.psn, psn, "{parsed:?}");
    }
    assert_eq!(frames[2]["acknowledged"], json!(1));

    // Entries of completions as they stood in the ring: two receives.
    let entries: String = lines.iter().filter_map(|line| line["entries"]["hex"].as_str()).collect();
    let entries = unhex(&entries);
    let entries: Vec<_> =
        entries.chunks_exact(ReceiveCompletion::SIZE).map(ReceiveCompletion::decode).collect();
    let names: Vec<_> = entries.iter().map(|entry| (entry.wr_id, entry.byte_len)).collect();
    assert_eq!(names, [(1, 10), (2, 10)]);
    assert!(entries.iter().all(|entry| entry.receive == 1 && entry.phase == 1));
    let seen: Vec<_> = lines.iter().map(|line| &line["completion"]).collect();
    let seen: Vec<_> = seen.into_iter().filter(|completion| !completion.is_null()).collect();
    assert!(seen.len() == 2 && seen.iter().all(|completion| completion["receive"] == json!(true)));
    assert_eq!(stdout.lines().filter(|line| line.contains(r#""node":"b""#)).count(), 2);

    // The card's writes are recorded once, at the end, and do not count as the host's.
    let (card, host) = (told(&lines, "card"), told(&lines, "mem"));
    let bytes: usize = card.iter().map(|(_, bytes)| bytes.len()).sum();
    // The columns of three rows, and four bytes by the key.
    assert_eq!(bytes, 3 * 5 + 4, "{card:02x?}");
    let read = |name: &str| fs::read(folder.file(&format!("after/b/{name}"))).unwrap();
    for (name, len) in [("keys", 12), ("flags", 3)] {
        assert_eq!(read(name).len(), len);
        assert!(card.iter().any(|(_, bytes)| *bytes == read(name)), "{name}: {card:02x?}");
    }
    for (addr, bytes) in &card {
        let end = addr + bytes.len() as u64;
        assert!(host.iter().all(|(at, by)| *at >= end || at + by.len() as u64 <= *addr));
    }
}

#[test]
fn a_node_that_cannot_be_recorded_is_told() {
    let folder = Folder::new();
    for (record, message) in [
        ("b=b.rec", "error: --record needs a node with rtl:, not soft:\n"),
        ("c=b.rec", "error: --record: there is no node \"c\"\n"),
    ] {
        let (code, stdout, stderr) = run(&folder, &job(), &["--record", record]);
        assert_eq!((code, &*stdout, &*stderr), (2, "", message));
        assert!(!folder.file("b.rec").exists());
    }
    let (code, _, stderr) = run(&folder, &job(), &["--record", "b"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("it is no NODE=FILE"), "{stderr}");
}
