//! Members of records that touch the next record: where a record's bytes and its length meet a width
//! of the hardware. More rows than one window of the card holds.

use drdma_tests::{device, expect, random::Random};
use serde_json::{Value, json};

/// The first and the last bytes of `rows` records.
fn job(record: u64, member: u64, rows: u64) -> Value {
    let bytes = Random::new(record).bytes((record * rows) as usize);
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    json!({
        "buffers": [{"name": "records", "hex": hex}],
        "local": {"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"},
        "qps": [{"name": "red", "transport": "uc", "qpn": 17, "dest_qpn": 33, "start_psn": 100,
                 "mtu": 4096, "dest_mac": "02:00:00:00:00:02", "dest_ip": "10.0.0.2"}],
        "posts": [{"verb": "post_send", "qp": "red", "wr_id": 1, "op": "send", "rows_per_message": 64,
                   "regions": [{"type": "strided", "buffer": "records", "offset": 0,
                                "period": record, "count": rows,
                                "pattern": [{"offset": 0, "len": member},
                                            {"offset": record - member, "len": member}]}]}]
    })
}

#[test]
fn the_first_and_the_last_bytes_of_records_arrive() {
    for (record, member) in [(63, 1), (64, 4), (65, 4), (127, 4), (128, 4), (128, 31), (129, 4)] {
        let job = job(record, member, 300);
        let expected = expect::run(&job);
        for uri in ["soft:", "rtl:"] {
            let found = device::run(uri, &job).unwrap_or_else(|error| panic!("{uri}: {error}"));
            let difference = device::difference(&expected, &found);
            assert_eq!(difference, None, "{uri}: {member} B at both ends of {record} B");
        }
    }
}
