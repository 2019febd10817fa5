//! The published module in a simulator with unknown values, Icarus Verilog, does what a recording
//! says: Verilator knows no `x`, and so cannot tell that one spreads.

mod support;

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Output},
};

use drdma_abi::{
    completion::Status,
    register::{COLUMN_MIN_ROWS, CONTROL, counter},
};
use drdma_cli::job::Job;
use drdma_tests::{capture, expect::unhex, random::Random};
use serde_json::{Value, json};
use support::{
    Folder,
    recorded::{network, record},
};

const TESTBENCH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/icarus/testbench.v");
/// Output of a test that was skipped.
const SKIPPED: &str = "\nSKIPPED: the card in Icarus: there is no iverilog (cargo xtask setup)\n";
/// Bytes of a beat.
const BEAT: usize = 64;
/// Size of the testbench's memory: addresses count modulo this.
const MEMORY: u64 = 1 << 20;
/// Requests of up to two columns take the column path with a quarter of so many rows; the job has one with more
/// and one with less.
const MIN_ROWS: u32 = 200;
/// Rows of the request on the row path, and of the one on the column path.
const ROWS: [u64; 2] = [39, 100];

/// A job of three requests: the row path, the column path, and a WRITE that is acknowledged.
fn job() -> Value {
    let mut random = Random::new(1);
    let mut hex = |len| drdma_tests::expect::hex(&random.bytes(len));
    let qp = |name, transport, qpn: u32| {
        json!({"name": name, "transport": transport, "qpn": qpn, "dest_qpn": qpn + 16,
               "start_psn": 100, "mtu": 256, "dest_mac": "02:00:00:00:00:02",
               "dest_ip": "10.0.0.2"})
    };
    let [few, many] = ROWS;
    json!({
        "buffers": [{"name": "t", "hex": hex(4000)}, {"name": "rows", "hex": hex(13)}],
        "local": {"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"},
        "qps": [qp("red", "uc", 17), qp("blue", "rc", 18)],
        "posts": [
            {"verb": "post_send", "qp": "red", "wr_id": 5, "op": "send", "rows_per_message": 10,
             "regions": [{"type": "strided", "buffer": "t", "offset": 3, "period": 64, "count": few,
                          "pattern": [{"offset": 0, "len": 20}, {"offset": 40, "len": 7}]}]},
            {"verb": "post_send", "qp": "red", "wr_id": 6, "op": "send", "rows_per_message": 50,
             "regions": [{"type": "bitmapped", "bitmap": {"buffer": "rows", "offset": 0},
                          "rows": many, "columns": [{"buffer": "t", "offset": 1, "width": 8},
                                                    {"buffer": "t", "offset": 1000, "width": 4}]}]},
            {"verb": "post_send", "qp": "blue", "wr_id": 7, "op": "write_imm", "imm": 99,
             "remote_addr": 4096, "rkey": 7, "rows_per_message": 50,
             "regions": [{"type": "pointer_mapped", "pattern": [{"offset": 0, "len": 100}],
                          "pointers": [["t", 5], ["t", 999], ["t", 77]]}]},
        ],
    })
}

/// A recording as the testbench reads it, and the answers of the network to all of its frames.
fn script(lines: &[Value], answers: &[Vec<u8>], frames: usize) -> String {
    let mut text = String::new();
    for answer in answers {
        // Behind all frames: they need not come in the same order from both queue pairs.
        for (number, beat) in answer.chunks(BEAT).enumerate() {
            let last = u8::from((number + 1) * BEAT >= answer.len());
            let keep = u64::MAX >> (BEAT - beat.len());
            let data: String = beat.iter().rev().map(|byte| format!("{byte:02x}")).collect();
            let _ = writeln!(text, "a {frames:x} {last} {keep:x} {data}");
        }
    }
    for line in lines {
        let (kind, what) = line.as_object().unwrap().iter().next().unwrap();
        let number = |field: &str| what[field].as_u64().unwrap();
        let _ = match kind.as_str() {
            "map" => {
                let (addr, size) = (number("addr"), number("size"));
                assert!(addr >> 32 == 1 && addr % (1 << 32) + size <= MEMORY, "{line}");
                writeln!(text, "z {addr:x} {size:x}")
            }
            "mem" => {
                let bytes = unhex(what["hex"].as_str().unwrap());
                let list: String = bytes.iter().map(|byte| format!(" {byte:02x}")).collect();
                writeln!(text, "m {:x} {:x}{list}", number("addr"), bytes.len())
            }
            "write" => writeln!(text, "w {:x} {:x}", number("offset"), number("value")),
            // The reset may still be under way at the first read.
            "read" if number("offset") == u64::from(CONTROL.offset) => {
                writeln!(text, "p {:x} {:x}", CONTROL.offset, number("value")).unwrap();
                // The device set this before the recording began.
                writeln!(text, "w {:x} {MIN_ROWS:x}", COLUMN_MIN_ROWS.offset)
            }
            "read" => writeln!(text, "r {:x}", number("offset")),
            "completion" => {
                let status = what["status"].as_str().unwrap();
                let status = Status::ALL.iter().find(|s| s.name() == status).unwrap();
                writeln!(text, "c {:x} {:x}", number("wr_id"), *status as u8)
            }
            // The testbench compares names and statuses.
            "entries" => continue,
            other => panic!("{other} is no line of a recording"),
        };
    }
    let _ = writeln!(text, "r {:x}\nq", counter::ASSEMBLE_BUSY.offset);
    text
}

/// Output of the testbench.
#[derive(Debug, Default)]
struct Log {
    frames: Vec<Vec<u8>>,
    reads: Vec<(u32, u32)>,
    ended: bool,
}

impl Log {
    /// # Panics
    /// A digit is `x`, or a frame has a hole.
    fn parse(text: &str) -> Self {
        let mut log = Self::default();
        let mut frame = Vec::new();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |word: &str| {
                u64::from_str_radix(word, 16).unwrap_or_else(|_| panic!("unknown: {line}"))
            };
            match words[..] {
                ["r", offset, value] => {
                    log.reads.push((number(offset) as u32, number(value) as u32));
                }
                ["f", last, keep, data] => {
                    let (last, len) = (last == "1", number(keep).trailing_ones() as usize);
                    assert!(number(keep).count_ones() as usize == len && (last || len == BEAT));
                    // Bytes behind the end of the frame may be unknown.
                    let known = &data[data.len() - 2 * len..];
                    assert!(!known.contains('x'), "unknown: {line}");
                    frame.extend(unhex(known).into_iter().rev());
                    if last {
                        log.frames.push(std::mem::take(&mut frame));
                    }
                }
                ["end", _] => log.ended = true,
                _ => panic!("{line}"),
            }
        }
        log
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

/// Compiles the module and the testbench, and runs the script with these options.
fn simulate(folder: &Folder, script: &str, options: &[&str]) -> Log {
    fs::write(folder.file("card.v"), drdma_hdl::top::file().unwrap()).unwrap();
    fs::write(folder.file("script"), script).unwrap();
    let run = |program: &str, args: &[&str]| {
        let mut command = Command::new(program);
        let output = command.args(args).current_dir(folder.file("")).output();
        output.unwrap_or_else(|error| panic!("{program} cannot be started: {error}"))
    };
    let compiled =
        run("iverilog", &["-g2005", "-s", "testbench", "-o", "card.vvp", "card.v", TESTBENCH]);
    assert!(compiled.status.success(), "{}", text(&compiled));
    let ran =
        run("vvp", &[&["-n", "card.vvp", "+script=script", "+log=log"][..], options].concat());
    let log = Log::parse(&fs::read_to_string(folder.file("log")).unwrap_or_default());
    assert!(ran.status.success() && log.ended, "{}", text(&ran));
    log
}

/// Register values by offset, the last one each; without those that only depend on time.
fn timeless(reads: impl IntoIterator<Item = (u32, u32)>) -> BTreeMap<u32, u32> {
    let of_time = [
        counter::CYCLES,
        counter::ASSEMBLE_BUSY,
        counter::ASSEMBLE_CONFLICT,
        counter::ASSEMBLE_EMPTY,
        counter::ASSEMBLE_BLOCKED,
    ];
    let of_time = of_time.map(|counter| counter.offset);
    let is_of_time = |offset: u32| of_time.contains(&(offset & !7)) || offset == CONTROL.offset;
    reads.into_iter().filter(|&(offset, _)| !is_of_time(offset)).collect()
}

/// Records the job on the Verilated card, and compares with what Icarus makes of it.
fn check(options: &[&str]) {
    let folder = Folder::new();
    let job = Job::parse(&job().to_string(), Path::new(".")).unwrap();
    let uri = format!("rtl:?column_rows={MIN_ROWS}");
    let (frames, lines) = record(&uri, &job, &folder.file("r.jsonl"));
    let network = network(&job);
    frames.iter().for_each(|frame| network.transmit(frame, 0));
    let answers: Vec<_> = std::iter::from_fn(|| network.receive(u64::MAX)).collect();
    assert!(!answers.is_empty(), "nothing is acknowledged");

    let log = simulate(&folder, &script(&lines, &answers, frames.len()), options);
    let recorded = lines.iter().filter_map(|line| {
        let read = line.get("read")?;
        Some((read["offset"].as_u64()? as u32, read["value"].as_u64()? as u32))
    });
    assert_eq!(timeless(log.reads.iter().copied()), timeless(recorded));
    // The column path packs rows; the row path takes a cycle for each.
    let busy = log.reads.last().expect("the script reads the counter last").1;
    let busy = u64::from(busy);
    assert!((ROWS[0]..ROWS.iter().sum()).contains(&busy), "{busy} cycles");
    let by_queue_pair = capture::by_queue_pair;
    assert_eq!(by_queue_pair(log.frames), by_queue_pair(frames));
}

#[test]
fn a_recording_gives_the_same_frames_where_registers_start_unknown() {
    if Command::new("iverilog").arg("-V").output().is_err() {
        // Not by a macro, whose text the test runner keeps.
        let _ = std::io::stderr().write_all(SKIPPED.as_bytes());
        return;
    }
    check(&["+hurry"]);
}

#[test]
#[ignore = "needs iverilog and two minutes"]
fn a_recording_gives_the_same_frames_with_whole_resets_too() {
    check(&[]);
}
