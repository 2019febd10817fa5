//! The served card in a guest, as a board is used, when something ends in the middle of its work: the
//! program that uses it, the guest, the card.
//!
//! `cargo xtask vm` runs these: it boots the guest and says where it is.

use std::{
    thread,
    time::{Duration, Instant},
};

use drdma_tests::{
    device, expect,
    lab::{
        self,
        board::{Board, Card, Outcome, address, board, sysfs},
        queue_pair,
    },
    random::Random,
};
use serde_json::{Value, json};

/// Time in which a program must notice that its card is gone.
const BOUND: Duration = Duration::from_secs(20);
/// Time that a card may go on sending when it was stopped.
const QUIET: Duration = Duration::from_millis(300);
/// Frames after which a transfer is under way.
const UNDER_WAY: usize = 200;

/// A job that takes far longer than any test: 512 MiB, without acknowledgements.
fn long_job() -> Value {
    const BYTES: u32 = 32 << 20;
    let region = json!({"type": "contiguous", "buffer": "z", "offset": 0, "len": BYTES});
    let post = |wr_id| json!({"verb": "post_send", "qp": "q0", "wr_id": wr_id, "op": "send", "regions": [region]});
    json!({
        "buffers": [{"name": "z", "size": BYTES}], "local": lab::local(),
        "qps": [queue_pair("q0", "uc", 0x21, 0x31, 5)],
        "posts": (0..16).map(post).collect::<Vec<_>>(),
    })
}

/// A job of every type of region on UC and UD, which need no peer.
fn short_job(seed: u64) -> Value {
    const ROWS: usize = 200;
    let mut random = Random::new(seed);
    let ids: Vec<u8> = (0..ROWS).map(|_| random.range(0..=1) as u8).collect();
    let table = json!({"name": "t", "hex": expect::hex(&random.bytes(8192))});
    let bitmap = json!({"name": "b", "hex": expect::hex(&random.bytes(32))});
    let columns = json!([{"buffer": "t", "offset": 5, "width": 8},
                         {"buffer": "t", "offset": 4000, "width": 3}]);
    let regions = [
        json!({"type": "contiguous", "buffer": "t", "offset": 3, "len": 5001}),
        json!({"type": "strided", "buffer": "t", "offset": 1, "period": 48, "count": 90,
               "pattern": [{"offset": 30, "len": 7}, {"offset": 0, "len": 16}]}),
        json!({"type": "bitmapped", "bitmap": {"buffer": "b", "offset": 1}, "rows": ROWS,
               "columns": columns}),
        json!({"type": "pointer_mapped",
               "pointers": (0..90).map(|i| json!(["t", i * 37 % 90 * 61])).collect::<Vec<_>>(),
               "pattern": [{"offset": 2, "len": 24}, {"offset": 50, "len": 1}]}),
    ];
    let own = regions.into_iter().enumerate().map(|(wr_id, region)| {
        json!({"verb": "post_send", "qp": "q0", "wr_id": wr_id, "op": "send",
               "rows_per_message": 64, "regions": [region]})
    });
    let shared = json!({
        "verb": "post_ssq_send", "wr_id": 4, "op": "send", "rows_per_message": 50,
        "partitioned": {"ids": {"buffer": "p", "offset": 0, "width": 1}, "rows": ROWS,
                        "columns": columns},
        "destinations": [{"qp": "q1", "partition": 0}, {"qp": "q2", "partition": 1}],
    });
    json!({
        "buffers": [table, bitmap, {"name": "p", "hex": expect::hex(&ids)}],
        "local": lab::local(),
        "qps": [queue_pair("q0", "uc", 0x22, 0x32, 0xff_fffe), queue_pair("q1", "ud", 0x23, 0x33, 7),
                queue_pair("q2", "ud", 0x24, 0x34, 8)],
        "posts": own.chain([shared]).collect::<Vec<_>>(),
    })
}

/// Checks that another program can use the card as if nothing had happened: the frames are, byte for byte, those of
/// an interpreter of job files that shares no code with the card.
fn check_next_program(board: &mut Board, slot: usize, seed: u64) {
    let job = short_job(seed);
    let expected = expect::run(&job);
    let frames = expected.frames.values().map(Vec::len).sum();
    let found = board.run(slot, &job, frames);
    if let Some(difference) = device::difference(&expected, &found) {
        panic!("seed {seed}: {difference}");
    }
    println!("seed {seed}: {frames} frames as they should be");
}

/// Waits until the card sends no more.
fn wait_until_quiet(card: &Card) {
    let start = Instant::now();
    let mut before = card.relay.from_card(0).len();
    loop {
        thread::sleep(QUIET);
        let frames = card.relay.from_card(0).len();
        if frames == before {
            return;
        }
        assert!(start.elapsed() < 5 * QUIET, "the card goes on: {before} frames, then {frames}");
        before = frames;
    }
}

/// Checks that only mapped memory was read or written.
fn check_no_fault(card: &Card) {
    let log = card.log();
    assert!(!log.contains("DMA fault"), "{log}");
}

/// Checks that the program that was started ends soon, and prints the reason.
fn check_end(board: &mut Board, end: impl FnOnce(&mut Board) -> Outcome, text: &str) {
    let start = Instant::now();
    let ended = end(board);
    println!("after {:.1} s: {}", start.elapsed().as_secs_f64(), ended.output.trim());
    assert!(start.elapsed() < BOUND, "it took {:?}", start.elapsed());
    assert_eq!(ended.code, 1);
    assert!(ended.output.starts_with(&format!("error: the card failed: {text}")), "{ended:?}");
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn a_card_is_listed_with_its_driver_group_link_and_firmware() {
    let mut board = board();
    let own = address(0);
    let path = board.shell(&format!("readlink {}/iommu_group", sysfs(0)));
    let group = path.trim().rsplit('/').next().unwrap();
    let list: Value = serde_json::from_str(&board.shell("drdma devices --json")).unwrap();
    let card = list.as_array().unwrap().iter().find(|card| card["address"] == own).unwrap();
    assert_eq!(card["driver"], "vfio-pci");
    assert_eq!((&card["ready"], &card["problem"]), (&json!(true), &Value::Null));
    assert_eq!(card["iommu_group"].to_string(), group);
    assert_eq!(card["link"], json!({"width": 16, "gigatransfers": 8.0}));
    assert_eq!(card["firmware"]["application"], 0x4452_444d);
    let table = board.shell("drdma devices");
    let row = table.lines().find(|line| line.contains(&own)).expect("a row");
    let cells: Vec<_> = row.split(['│', '┆']).map(str::trim).collect();
    let firmware = "Corundum 0.0.0.1, commit 00000000, app 4452444d";
    let ids = "1234:1001 (10ee:9032)";
    let expected = [&*own, ids, "vfio-pci", group, "x16 8 GT/s", firmware, "ready"];
    assert_eq!(cells[1..8], expected, "{table}");
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn a_program_that_is_killed_in_a_transfer_leaves_a_silent_card_for_the_next_one() {
    let mut board = board();
    for seed in 0..2 {
        board.start(0, &long_job(), UNDER_WAY);
        // The driver does not run any more: the kernel stops the card.
        let killed = board.shell("kill -9 $pid; wait $pid; echo $?");
        assert_eq!(killed.trim(), "137");
        wait_until_quiet(board.card(0));
        println!("{}", board.card(0).log().trim());
        // Its memory is unmapped now: any further read or write of the card is a fault.
        check_no_fault(board.card(0));
        check_next_program(&mut board, 0, seed);
    }
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn a_guest_that_is_reset_in_a_transfer_finds_its_card_again() {
    let mut board = board();
    board.start(0, &long_job(), UNDER_WAY);
    board.reset();
    assert!(board.card(0).is_served());
    wait_until_quiet(board.card(0));
    board.bind(0);
    check_next_program(&mut board, 0, 2);
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn a_card_that_is_removed_in_a_transfer_is_given_back_and_its_program_says_why() {
    let mut board = board();
    board.start(0, &long_job(), UNDER_WAY);
    // An ejector button or an unbind has this effect: the kernel asks, and waits.
    board.shell(&format!("echo 1 > {}/remove & removal=$!", sysfs(0)));
    check_end(&mut board, Board::ended, "it is to be unplugged or unbound");
    board.shell(&format!("wait $removal && test ! -e {}", sysfs(0)));
    wait_until_quiet(board.card(0));
    check_no_fault(board.card(0));
    board.shell("echo 1 > /sys/bus/pci/rescan");
    board.wait_for_card(0);
    board.bind(0);
    check_next_program(&mut board, 0, 3);
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn torn_out_in_a_transfer_a_card_ends_its_program_and_nothing_else() {
    let mut board = board();
    let slot = board.plug();
    board.start(slot, &long_job(), UNDER_WAY);
    board.tear_out(slot);
    check_end(&mut board, Board::failed, "it does not answer any more");
    // The kernel still waits for that card to answer. Another card works.
    check_next_program(&mut board, 0, 4);
}

#[test]
#[ignore = "needs a guest: cargo xtask vm"]
fn msi_x_vectors_can_be_turned_on_and_disturb_nothing() {
    let mut board = board();
    let output = board.shell(&format!("vectors {}", address(0)));
    assert_eq!(output, "32 vectors are on\nfirmware: true\nthe card is enabled\n");
    check_next_program(&mut board, 0, 5);
}
