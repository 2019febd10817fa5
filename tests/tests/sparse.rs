//! Bitmaps of many rows with few ones: blocks that the card may leave out, and blocks that it must not.

use drdma_tests::{device, expect, random::Random};
use serde_json::{Value, json};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Runs of ones with gaps that lie before, at and behind the places where blocks of 64 rows meet.
fn bitmap(random: &mut Random, rows: u64) -> Vec<u8> {
    let mut bits = vec![0_u8; rows.div_ceil(8) as usize];
    let (longest, widest) =
        *random.pick(&[(1, 700), (1, 6000), (130, 900), (300, 9000), (60, 40), (2, 300_000)]);
    let mut row = random.range(0..=widest);
    while row < rows {
        let end = row + random.range(1..=longest);
        (row..end.min(rows)).for_each(|row| bits[row as usize / 8] |= 1 << (row % 8));
        row = end + random.range(1..=widest);
        if random.one_in(2) {
            row = (row.next_multiple_of(64) + 3).saturating_sub(random.range(0..=6)).max(end + 1);
        }
    }
    bits
}

/// A request with a bitmap for one destination, and another request, in turns.
fn job(random: &mut Random) -> Value {
    let mut buffers = Vec::new();
    let mut posts = Vec::new();
    for k in 0..3 {
        let rows = *random.pick(&[5000, 20_000, 65_536, 100_003]);
        let columns: Vec<_> = (0..random.range(1..=5))
            .map(|c| {
                let width = *random.pick(&[1, 2, 3, 4, 7, 8]);
                let offset = random.range(0..=70);
                let name = format!("t{k}c{c}");
                let bytes = random.bytes((offset + rows * width) as usize);
                buffers.push(json!({"name": name, "hex": hex(&bytes)}));
                json!({"buffer": name, "offset": offset, "width": width})
            })
            .collect();
        let bits = bitmap(random, rows);
        buffers.push(json!({"name": format!("b{k}"), "hex": hex(&bits)}));
        let mut post = json!({
            "verb": "post_send", "qp": "red", "wr_id": 2 * k, "op": "send",
            "rows_per_message": random.range(1..=150),
            "regions": [{"type": "bitmapped", "bitmap": {"buffer": format!("b{k}"), "offset": 0},
                         "rows": rows, "columns": columns}]
        });
        if random.one_in(2) {
            let gap = *random.pick(&[0, 60, 300, 1000, 4095]);
            post["fetch"] = json!({"max_read": 64 << random.range(0..=6), "merge_threshold": gap});
        }
        posts.push(post);
        posts.push(json!({
            "verb": "post_send", "qp": "red", "wr_id": 2 * k + 1, "op": "send",
            "regions": [{"type": "contiguous", "buffer": format!("b{k}"), "offset": 5, "len": 600}]
        }));
    }
    json!({
        "buffers": buffers,
        "local": {"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"},
        "qps": [{"name": "red", "transport": "uc", "qpn": 17, "dest_qpn": 33, "start_psn": 100,
                 "mtu": 4096, "dest_mac": "02:00:00:00:00:02", "dest_ip": "10.0.0.2"}],
        "posts": posts
    })
}

#[test]
fn rows_of_sparse_bitmaps_arrive_whatever_is_left_out() {
    for seed in 1..=10 {
        println!("seed {seed}");
        let job = job(&mut Random::new(seed));
        let expected = expect::run(&job);
        for uri in ["soft:", "rtl:"] {
            let found = device::run(uri, &job).unwrap_or_else(|error| panic!("{uri}: {error}"));
            let difference = device::difference(&expected, &found);
            assert_eq!(difference, None, "{uri}, seed {seed}");
        }
    }
}
