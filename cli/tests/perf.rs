//! `drdma bw` and `drdma lat`: their counts and measurements, on both simulated cards and between two
//! processes.

mod support;

use std::{
    convert::Infallible,
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    os::unix::net::UnixDatagram,
    process::{Child, Command, Stdio},
    thread::{self, JoinHandle},
};

use drdma_abi::roce::Transport;
use drdma_semantics::{
    answers::{atomic_answer, read_answer},
    frame::Frame,
    packets::{Flow, segments},
};
use serde_json::{Value, json};
use support::Folder;

fn lines(folder: &Folder, args: &[&str]) -> Vec<Value> {
    let output = folder.drdma(args);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn one(args: &[&str]) -> Value {
    let lines = lines(&Folder::new(), &[args, &["--json"]].concat());
    assert_eq!(lines.len(), 1);
    lines[0].clone()
}

/// The exit code and the error.
fn fails(args: &[&str]) -> (i32, String) {
    let output = Folder::new().drdma(args);
    let error = String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), error.trim_end().to_owned())
}

#[test]
fn every_kind_of_region_sends_what_it_should() {
    // (region, transport, bytes, messages, packets, requests) of a transfer of 2,000 B: 50 rows of 40 B.
    for (region, transport, bytes, messages, packets, requests) in [
        ("contiguous", "rc", 2000, 1, 2, 1),
        ("strided", "rc", 2000, 1, 2, 1),
        ("bitmapped", "uc", 2000, 1, 2, 1),
        ("pointers", "rc", 2000, 1, 2, 1),
        // 25 rows fit a datagram of 1,024 B.
        ("strided", "ud", 2000, 2, 2, 1),
        // 16 values are three rows.
        ("list", "rc", 2000, 17, 17, 17),
    ] {
        for op in ["send", "write"].into_iter().filter(|op| *op == "send" || transport != "ud") {
            let found = one(&[
                "bw",
                "--device",
                "soft:",
                "--size",
                "2000",
                "--region",
                region,
                "--transport",
                transport,
                "--op",
                op,
                "--mtu",
                "1024",
                "--iters",
                "30",
                "--qps",
                "3",
            ]);
            let case = format!("{region} {transport} {op}: {found}");
            assert_eq!(found["bytes"], bytes, "{case}");
            assert_eq!(found["messages"], messages, "{case}");
            assert_eq!(found["requests"], requests, "{case}");
            assert_eq!(found["iterations"], 30, "{case}");
            assert_eq!(found["cost"]["packets"], 30 * packets, "{case}");
            assert_eq!(found["cost"]["payload_bytes"], 30 * bytes, "{case}");
            assert_eq!(
                (&found["clock"], &found["rates"]),
                (&json!("none"), &json!(null)),
                "{case}"
            );
        }
    }
}

#[test]
fn reads_and_atomics_fill_every_kind_of_memory() {
    // (operation, region, bytes, requests) of a transfer; a READ asks with one packet.
    for (op, region, bytes, requests) in [
        ("read", "contiguous", 2000, 1),
        ("read", "strided", 2000, 1),
        ("read", "bitmapped", 2000, 1),
        ("read", "pointers", 2000, 1),
        ("read", "list", 2000, 17),
        ("compare-and-swap", "contiguous", 8, 1),
        ("fetch-and-add", "contiguous", 8, 1),
    ] {
        let size = bytes.to_string();
        let common = ["--op", op, "--region", region, "--size", &size, "--mtu", "1024"];
        let counts = ["--iters", "30", "--qps", "3", "--depth", "4", "--outstanding", "2"];
        let found = one(&[&["bw", "--device", "soft:"], &common[..], &counts].concat());
        let case = format!("{op} {region}: {found}");
        assert_eq!(found["op"], op, "{case}");
        assert_eq!((&found["bytes"], &found["outstanding"]), (&json!(bytes), &json!(2)), "{case}");
        assert_eq!(found["requests"], requests, "{case}");
        assert_eq!(found["cost"]["packets"], 30 * requests, "{case}");
        assert_eq!(found["cost"]["payload_bytes"], 0, "{case}");
        let found = one(&[&["lat", "--device", "soft:", "-n", "5"], &common[..]].concat());
        assert_eq!(found["cost"]["packets"], 5 * requests, "{case}");
    }
    // Without `--size`.
    let found = one(&["bw", "--device", "soft:", "--op", "fetch-and-add", "-n", "2"]);
    assert_eq!((&found["bytes"], &found["outstanding"]), (&json!(8), &json!(16)));
}

#[test]
fn all_queue_pairs_of_a_card_take_turns() {
    let found = one(&["bw", "--device", "soft:", "--size", "64", "--qps", "4096", "-n", "8192"]);
    assert_eq!(found["messages"], 1);
    assert_eq!(found["cost"]["packets"], 8192, "{found}");
}

#[test]
fn sizes_are_powers_of_two() {
    let sizes = |args: &[&str]| {
        let args = [&["bw", "--device", "soft:", "--all", "--json", "-n", "2"], args].concat();
        let lines = lines(&Folder::new(), &args);
        lines.iter().map(|line| line["bytes"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    let powers: Vec<u64> = (1..=16).map(|power| 1 << power).collect();
    assert_eq!(sizes(&[]), powers);
    assert_eq!(sizes(&["--size", "20"]), [2, 4, 8, 16]);
    assert_eq!(sizes(&["--transport", "ud", "--mtu", "256"]), powers[..8]);
    assert_eq!(sizes(&["--region", "strided", "--columns", "3x4", "--size", "64"]), [12, 24, 60]);
}

#[test]
fn plain_bytes_go_at_the_rate_of_the_wire_on_the_simulated_hardware() {
    let found = one(&["bw", "--device", "rtl:", "--size", "16384", "--iters", "60"]);
    assert_eq!(found["clock"], "card");
    let rate = |name: &str| found["rates"][name].as_f64().unwrap();
    let (ns, average, peak) = (rate("ns"), rate("average_gbps"), rate("peak_gbps"));
    assert!((average / (60.0 * 16384.0 * 8.0 / ns) - 1.0).abs() < 1e-9, "{found}");
    assert!((rate("messages_per_s") / (60.0 / ns * 1e9) - 1.0).abs() < 1e-9, "{found}");
    assert!((80.0..98.0).contains(&average), "{found}");
    // Completions are looked for every 8 cycles, and tell nothing of the wire's rate within those.
    assert!((average..110.0).contains(&peak), "{found}");
    // Transfers have memory of their own: small ones, which the card plans together, have no read in
    // common.
    let small = one(&["bw", "--device", "rtl:", "--size", "2048", "--iters", "64"]);
    assert_eq!(small["cost"]["data_read_bytes"], 64 * 2048, "{small}");
}

#[test]
fn the_simulated_hardware_reads_at_the_rate_of_the_wire() {
    let rate = |args: &[&str], name: &str| {
        let found = one(&[&["bw", "--device", "rtl:"], args].concat());
        found["rates"][name].as_f64().unwrap()
    };
    let read = rate(&["--op", "read", "--size", "65536", "--iters", "30"], "average_gbps");
    assert!((90.0..98.3).contains(&read), "{read} Gb/s; headers take 1.6 of the link");
    // One READ at a time waits a round trip for each; 16 of them share it.
    let small = ["--op", "read", "--size", "64", "--iters", "100", "--outstanding"];
    let alone = rate(&[&small[..], &["1"]].concat(), "messages_per_s");
    let many = rate(&[&small[..], &["16"]].concat(), "messages_per_s");
    assert!(many > 1.5 * alone, "{many} and {alone} a second");
    // Each atomic of a queue pair finds the value that the one before left.
    let atomics = ["--op", "compare-and-swap", "--qps", "4", "--iters", "60"];
    assert!(rate(&atomics, "messages_per_s") > 1e6);
}

#[test]
fn lists_are_slower_than_the_region_that_says_the_same() {
    let rate = |region| {
        let found = one(&["bw", "--device", "rtl:", "--region", region, "--iters", "30"]);
        found["rates"]["average_gbps"].as_f64().unwrap()
    };
    let (strided, list) = (rate("strided"), rate("list"));
    assert!(strided > 4.0 * list, "{strided} and {list} Gb/s");
}

#[test]
fn latency_is_some_round_trips_and_every_transfer_is_in_the_histogram() {
    let found = one(&["lat", "--device", "rtl:", "--size", "64", "--iters", "50"]);
    let ns = |name: &str| found["latency"][name].as_f64().unwrap();
    // The request and its data are one round trip each, of 1,300 ns.
    assert!((2600.0..4000.0).contains(&ns("min_ns")), "{found}");
    let order = ["min_ns", "median_ns", "p99_ns", "p999_ns", "max_ns"].map(ns);
    assert!(order.is_sorted(), "{found}");
    let bars = found["latency"]["histogram"].as_array().unwrap();
    assert_eq!(bars.iter().map(|bar| bar["count"].as_u64().unwrap()).sum::<u64>(), 50);
    assert_eq!((&found["depth"], &found["rates"]), (&json!(1), &json!(null)));
    // Twice as far from the host's memory.
    let far = one(&["lat", "--device", "rtl:?latency_ns=2600", "--size", "64", "--iters", "10"]);
    let more = far["latency"]["median_ns"].as_f64().unwrap() - ns("median_ns");
    assert!((2000.0..3600.0).contains(&more), "{more}");
    // A READ fetches nothing but its request: a round trip, and the data's way into memory.
    for op in ["read", "fetch-and-add"] {
        let found = one(&["lat", "--device", "rtl:", "--op", op, "--size", "8", "--iters", "10"]);
        let median = found["latency"]["median_ns"].as_f64().unwrap();
        assert!((1300.0..ns("median_ns")).contains(&median), "{found}");
    }
}

#[test]
fn tables_are_for_people() {
    let folder = Folder::new();
    let run = |args: &[&str]| String::from_utf8(folder.drdma(args).stdout).unwrap();
    let text = run(&["lat", "--device", "soft:", "--iters", "5", "--histogram"]);
    assert!(text.contains("99.9 %") && text.contains("4096"), "{text}");
    assert!(text.contains("The reference model's time means nothing.\n"), "{text}");
    let text = run(&["lat", "--device", "rtl:", "--iters", "5", "--histogram"]);
    assert!(text.contains("4096 B, us:\n") && text.contains("####"), "{text}");
    assert!(text.contains("simulated, by the card's counter of cycles"), "{text}");
}

#[test]
fn what_cannot_be_measured_is_told_before_anything_is_built() {
    for (args, text) in [
        (
            &["--size", "39", "--region", "strided"][..],
            "39 B: 39 B are less than a row, which has 40 B",
        ),
        (
            &["--size", "8192", "--transport", "ud"],
            "8192 B: a message of 8192 B is longer than a datagram carries: 4096 B",
        ),
        (
            &["--rows-per-message", "4"],
            "4096 B: rows per message can be told of strided, bitmapped and pointers, not of contiguous",
        ),
        (
            &["--wire", "dgram:a,b"],
            "--wire needs --connect: somebody has to receive at its other end",
        ),
        (
            &["--connect", "127.0.0.1:1"],
            "--connect needs --wire: something that the packets of a simulated card go over",
        ),
        (&["--op", "read", "--transport", "uc"], "--op read needs --transport rc, not uc"),
        (
            &["--op", "fetch-and-add", "--transport", "ud"],
            "--op fetch-and-add needs --transport rc, not ud",
        ),
        (
            &["--op", "compare-and-swap", "--size", "16"],
            "--op compare-and-swap is on 8 B, not on 16 B",
        ),
        (&["--op", "fetch-and-add", "--all"], "--op fetch-and-add is on 8 B, not on 2 B"),
        (
            &["--op", "fetch-and-add", "--region", "strided"],
            "--op fetch-and-add fills 8 B that lie together: --region strided has no meaning",
        ),
        (
            &["--op", "read", "--region", "strided", "--rows-per-message", "3"],
            "--rows-per-message 3 has no meaning with --op read: a READ is one message",
        ),
        (&["--outstanding", "4"], "--outstanding 4 is of READs and atomics, not of --op send"),
        (
            &["--op", "fetch-and-add", "--qps", "4096", "--depth", "17"],
            "69632 atomics under way are more than a completion queue has room for: 65536",
        ),
    ] {
        let args = [&["bw", "--device", "soft:"], args].concat();
        assert_eq!(fails(&args), (2, format!("error: {text}")));
    }
    let (code, error) = fails(&["bw", "--device", "rtl:", "--op", "read", "--region", "pointers"]);
    let text =
        "a READ fills contiguous memory or a list on rtl:, not --region pointers; soft: fills any";
    assert_eq!((code, error), (2, format!("error: {text}")));
    let board = ["bw", "--device", "vfio:0000:65:00.0"];
    let (code, error) = fails(&board);
    assert!(code == 2 && error.contains("a board needs somebody who receives"), "{error}");
    let (code, error) = fails(&[&board[..], &["--connect", "127.0.0.1:1"]].concat());
    assert!(code == 2 && error.contains("--mac and --ip"), "{error}");
    for args in [
        &["--columns", "17x1"][..],
        &["--select", "0"],
        &["--transport", "xrc"],
        &["--qps", "0"],
        &["--qps", "4097"],
        &["--op", "read", "--outstanding", "0"],
        &["--op", "read", "--outstanding", "17"],
    ] {
        assert_eq!(fails(&[&["bw", "--device", "soft:"], args].concat()).0, 2, "{args:?}");
    }
    // A queue has 65,536 blocks.
    let (code, error) =
        fails(&["bw", "--device", "soft:", "--region", "list", "--size", "2000000"]);
    assert!(code == 2 && error.contains("more than a send queue of 65536 blocks"), "{error}");
}

#[test]
fn a_card_that_sends_wrongly_is_no_result() {
    let (code, error) =
        fails(&["bw", "--device", "soft:", "--op", "write", "--transport", "ud", "--size", "64"]);
    assert_eq!(code, 1, "{error}");
    assert!(error.contains("completed with local_qp_operation_error"), "{error}");
}

/// A process that listens, and its address.
struct Listener(Child, String, BufReader<std::process::ChildStderr>);

impl Listener {
    fn new(folder: &Folder, args: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_drdma"));
        command.args(["bw", "--listen", "127.0.0.1:0", "--wire", "dgram:peer,card"]).args(args);
        command.current_dir(folder.file(".")).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let address = line.trim_end().strip_prefix("listening at ").expect(&line).to_owned();
        Self(child, address, stderr)
    }

    fn end(self) -> (i32, String, String) {
        let Self(child, _, mut stderr) = self;
        let output = child.wait_with_output().unwrap();
        let mut error = String::new();
        while stderr.read_line(&mut error).unwrap() > 0 {}
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap(), error)
    }
}

#[test]
fn two_processes_agree_on_what_arrived() {
    for (transport, device) in [("rc", "soft:"), ("ud", "soft:"), ("rc", "rtl:")] {
        let folder = Folder::new();
        let listener = Listener::new(&folder, &["--json"]);
        let found = lines(
            &folder,
            &[
                "bw",
                "--device",
                device,
                "--connect",
                &listener.1,
                "--wire",
                "dgram:card,peer",
                "--size",
                "3000",
                "--region",
                "bitmapped",
                "--qps",
                "2",
                "--iters",
                "25",
                "--warmup",
                "3",
                "--transport",
                transport,
                "--json",
            ],
        );
        let (code, arrived, error) = listener.end();
        assert_eq!(code, 0, "{error}");
        let arrived: Value = serde_json::from_str(&arrived).unwrap();
        let transfers = found[0]["iterations"].as_u64().unwrap() + 3;
        assert_eq!(arrived["messages"], transfers * found[0]["messages"].as_u64().unwrap());
        assert_eq!(arrived["bytes"], transfers * 3000);
        assert_eq!(arrived["complaints"], json!(null));
        // Neither process knows the time that the other one took.
        assert_eq!((&found[0]["clock"], &found[0]["rates"]), (&json!("none"), &json!(null)));
    }
}

#[test]
fn one_who_listens_answers_reads_and_atomics() {
    for (device, op, size) in [
        ("soft:", "read", 3000),
        ("soft:", "compare-and-swap", 8),
        ("rtl:", "read", 3000),
        ("rtl:", "fetch-and-add", 8),
    ] {
        let folder = Folder::new();
        let listener = Listener::new(&folder, &["--json"]);
        let size_text = size.to_string();
        let far = ["--device", device, "--connect", &listener.1, "--wire", "dgram:card,peer"];
        let what = ["--op", op, "--size", &size_text, "--mtu", "1024", "--qps", "2"];
        let counts = ["--iters", "20", "--warmup", "3", "--json"];
        let found = lines(&folder, &[&["bw"], &far[..], &what, &counts].concat());
        let (code, arrived, error) = listener.end();
        assert_eq!(code, 0, "{error}");
        let arrived: Value = serde_json::from_str(&arrived).unwrap();
        assert_eq!((&arrived["messages"], &arrived["bytes"]), (&json!(23), &json!(23 * size)));
        assert_eq!(found[0]["cost"]["packets"], 20, "{op} on {device}");
    }
}

/// A peer that answers the first READ or atomic of a card with zeros.
fn answer_with_zeros(folder: &Folder) -> (String, JoinHandle<()>) {
    let socket = UnixDatagram::bind(folder.file("peer")).unwrap();
    let card = folder.file("card");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let peer = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut hello = String::new();
        BufReader::new(&stream).read_line(&mut hello).unwrap();
        let at = json!({"mac": 5, "ip": 6, "qpns": [256], "remote_addr": 4096, "rkey": 7});
        writeln!(&stream, "{}", json!({"welcome": at})).unwrap();
        let mut bytes = [0; 4096];
        let len = socket.recv(&mut bytes).unwrap();
        let frame = Frame::parse(&bytes[..len]).unwrap();
        let flow = Flow {
            source_mac: frame.ethernet.destination,
            dest_mac: frame.ethernet.source,
            source_ip: frame.ip.destination,
            dest_ip: frame.ip.source,
            tos: 0,
            ttl: 64,
            vlan: None,
            qpn: 256,
            dest_qpn: 0x11,
            pkey: frame.bth.pkey,
            qkey: 0,
            transport: Transport::Rc,
            mtu: 4096,
        };
        let psn = frame.bth.psn;
        let answer = match frame.reth {
            Some(reth) => {
                let segment = segments(reth.dma_length, flow.mtu).next().unwrap();
                let Ok(answer) = read_answer(&flow, &segment, psn, 1, |_| Ok::<(), Infallible>(()));
                answer
            }
            None => atomic_answer(&flow, psn, 1, 0),
        };
        socket.send_to(&answer, card).unwrap();
        // Until the card's process ends.
        let _ = BufReader::new(&stream).read_line(&mut hello);
    });
    (address, peer)
}

#[test]
fn data_that_do_not_lie_there_are_no_result() {
    for (op, text) in [
        ("read", "error: a READ of 8 B brought 0x00 where 0x"),
        ("fetch-and-add", "error: an atomic brought 0x0 where 0x"),
    ] {
        let folder = Folder::new();
        let (address, peer) = answer_with_zeros(&folder);
        let far = ["--device", "soft:", "--connect", &address, "--wire", "dgram:card,peer"];
        let what = ["--op", op, "--size", "8", "--iters", "1", "--warmup", "0"];
        let output = folder.drdma(&[&["lat"], &far[..], &what].concat());
        peer.join().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && error.starts_with(text), "{error}");
    }
}

#[test]
fn one_who_listens_tells_what_is_wrong() {
    // No process sends packets.
    let folder = Folder::new();
    let listener = Listener::new(&folder, &["--timeout", "1"]);
    let stream = TcpStream::connect(&listener.1).unwrap();
    let hello = json!({
        "drdma": 2, "transport": 0, "mtu": 1024, "mac": 2, "ip": 3, "qpns": [17], "longest": 64,
    });
    writeln!(&stream, "{hello}").unwrap();
    let mut reply = String::new();
    BufReader::new(&stream).read_line(&mut reply).unwrap();
    assert!(reply.contains("\"welcome\""), "{reply}");
    let (code, _, error) = listener.end();
    assert_eq!((code, error.trim_end()), (1, "error: nothing from the other process for 1 s"));

    // The other process sends a wrong packet, and a frame that is no RoCE packet.
    let folder = Folder::new();
    let listener = Listener::new(&folder, &[]);
    let stream = TcpStream::connect(&listener.1).unwrap();
    writeln!(&stream, "{hello}").unwrap();
    let mut reader = BufReader::new(&stream);
    reader.read_line(&mut reply).unwrap();
    let socket = UnixDatagram::unbound().unwrap();
    let mut frame = vec![0; 80];
    socket.send_to(&frame, folder.file("peer")).unwrap();
    frame[12..15].copy_from_slice(&[0x08, 0x00, 0x45]);
    frame[23] = 17;
    frame[36..38].copy_from_slice(&4791u16.to_be_bytes());
    socket.send_to(&frame, folder.file("peer")).unwrap();
    writeln!(&stream, "{}", json!({"done": true})).unwrap();
    let mut arrived = String::new();
    reader.read_line(&mut arrived).unwrap();
    let arrived: Value = serde_json::from_str(&arrived).unwrap();
    assert_eq!(arrived["messages"], 0);
    assert!(arrived["complaints"].as_str().unwrap().starts_with("frame 0: "), "{arrived}");
    let (code, _, error) = listener.end();
    assert!(code == 1 && error.contains("the card sent wrong packets: frame 0: "), "{error}");
}

#[test]
fn nobody_who_listens_is_told() {
    let args = ["bw", "--device", "soft:", "--wire", "dgram:a,b", "--connect", "127.0.0.1:1"];
    let (code, error) = fails(&args);
    assert_eq!(code, 1);
    assert!(error.starts_with("error: cannot connect to 127.0.0.1:1: "), "{error}");
}
