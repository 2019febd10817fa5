//! Cost tables: what they say, and which are refused.

use libdrdma::optimizer::{CostError, CostTable, ReadCost};

fn table(reads: &[(u32, f64)], same_line: f64) -> Result<CostTable, CostError> {
    CostTable::new(reads.iter().map(|&(bytes, ns)| ReadCost { bytes, ns }).collect(), same_line)
}

#[test]
fn costs_are_interpolated_between_what_was_measured() {
    let costs = table(&[(4, 20.0), (64, 20.0), (256, 40.0), (512, 80.0)], 0.0).unwrap();
    for (bytes, ns) in
        [(1, 20.0), (4, 20.0), (30, 20.0), (64, 20.0), (160, 30.0), (256, 40.0), (1024, 160.0)]
    {
        assert_eq!(costs.read(bytes), ns, "{bytes} B");
    }
    // A cost that fell between the last two lengths does not fall below 0 behind them.
    let falling = table(&[(4, 20.0), (8, 2.0)], 0.0).unwrap();
    assert_eq!((falling.read(6), falling.read(64)), (11.0, 2.0));
    let constant = table(&[(64, 7.0)], 0.0).unwrap();
    assert_eq!((constant.read(1), constant.read(4096)), (7.0, 7.0));
}

#[test]
fn reads_of_one_line_wait_for_each_other() {
    let costs = table(&[(1, 10.0)], 3.0).unwrap();
    assert_eq!(costs.sum([(0, 8), (16, 8), (64, 8)]), 33.0);
    // The second read begins in the cache line where the first ended.
    assert_eq!(costs.sum([(60, 8), (100, 8)]), 23.0);
    assert_eq!(costs.sum([(60, 4), (64, 8)]), 20.0);
}

#[test]
fn the_threshold_is_the_gap_that_costs_as_much_as_a_request() {
    assert_eq!(CostTable::affine(20.0, 0.0625).unwrap().merge_threshold(), 320);
    assert_eq!(CostTable::affine(21.0, 0.07).unwrap().merge_threshold(), 300);
    // Flat up to 256 B, then by the byte: 20 ns buy 1,024 B of the 3,840 that cost 60.
    let flat = table(&[(4, 20.0), (256, 20.0), (4096, 80.0)], 0.0).unwrap();
    assert_eq!(flat.merge_threshold(), 1360);
    // Requests are free; then bytes are free.
    assert_eq!(table(&[(1, 1.0), (2, 2.0)], 0.0).unwrap().merge_threshold(), 0);
    assert_eq!(table(&[(1, 5.0), (4096, 5.0)], 0.0).unwrap().merge_threshold(), 4096);
    assert_eq!(table(&[(64, 5.0)], 0.0).unwrap().merge_threshold(), 4096);
    assert_eq!(CostTable::affine(1000.0, 0.001).unwrap().merge_threshold(), 4096);
}

#[test]
fn tables_that_mean_nothing_are_refused() {
    let text = |result: Result<CostTable, CostError>| result.unwrap_err().to_string();
    assert_eq!(text(table(&[], 0.0)), "a cost table needs the cost of at least one read");
    assert_eq!(
        text(table(&[(8, 1.0), (8, 2.0)], 0.0)),
        "reads of 8 B after those of 8 B: lengths must ascend, from 1 to 4096 bytes"
    );
    for reads in [&[(0, 1.0)][..], &[(4097, 1.0)], &[(9, 1.0), (8, 2.0)]] {
        assert!(matches!(table(reads, 0.0), Err(CostError::Length { .. })), "{reads:?}");
    }
    for ns in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(text(table(&[(8, ns)], 0.0)).starts_with("a read of "), "{ns}");
    }
    for ns in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(text(table(&[(8, 1.0)], ns)).starts_with("a shared line of "), "{ns}");
    }
    assert!(CostTable::affine(-1.0, 0.0).is_err());
    assert!(CostTable::affine(1.0, f64::NAN).is_err());
}

#[test]
fn a_table_survives_a_file_and_a_wrong_file_is_no_table() {
    let costs = table(&[(4, 20.5), (512, 44.25)], 90.125).unwrap();
    let text = serde_json::to_string(&costs).unwrap();
    assert_eq!(
        text,
        r#"{"reads":[{"bytes":4,"ns":20.5},{"bytes":512,"ns":44.25}],"same_line_ns":90.125}"#
    );
    assert_eq!(serde_json::from_str::<CostTable>(&text).unwrap(), costs);
    for (wrong, said) in [
        (r#"{"reads":[]}"#, "at least one read"),
        (r#"{"reads":[{"bytes":4,"ns":0}]}"#, "above 0"),
        (r#"{"reads":[{"bytes":4}]}"#, "ns"),
        (r#"{"reads":[{"bytes":4,"ns":1}],"unit":"us"}"#, "unit"),
    ] {
        let error = serde_json::from_str::<CostTable>(wrong).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}
