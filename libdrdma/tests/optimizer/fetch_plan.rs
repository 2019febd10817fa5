//! The plan of a request is the best one that the card's rule allows.

use libdrdma::optimizer::{FetchPlan, FetchPlanError, Load};

use super::*;

/// Load of the reads of fragments, window by window, as the chooser cuts them.
fn load_of(plan: FetchPlan, fragments: &[Fragment], costs: &CostTable, window: u64) -> Load {
    let mut load = Load::default();
    let mut rest = fragments;
    while !rest.is_empty() {
        let mut count = 1;
        let bytes = |count: usize| rest[..count].iter().map(|f| f.len).sum::<u64>();
        while count < rest.len() && bytes(count + 1) <= window {
            count += 1;
        }
        // Only the chooser has the window's limit: no read is cut by it here.
        let all = Limits { max_read: 4096, window: u64::MAX };
        load += costs.load(&plan.plan(&rest[..count], &all).unwrap());
        rest = &rest[count..];
    }
    load
}

fn plan(max_read: u32, threshold: u32) -> FetchPlan {
    FetchPlan::new(max_read, threshold).unwrap()
}

const WHOLE: Limits = Limits { max_read: 4096, window: 32 * 1024 };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_chosen_plan_is_the_best_of_all(
        costs in any_costs(), fragments in any_fragments(),
        max_read in 1u32..=4096, window in 300u64..20_000,
    ) {
        let limits = Limits { max_read, window };
        let chosen = FetchPlan::cheapest(&fragments, &costs, &limits).unwrap();
        let ns = |plan| load_of(plan, &fragments, &costs, window).ns();
        let longest = u64::from(max_read).min(window).max(64);
        prop_assert!(u64::from(chosen.max_read()) <= longest, "{chosen}");
        let found = ns(chosen);
        for log in (6..=12).take_while(|log| 1 << log <= longest) {
            for threshold in 0..=4095 {
                let other = plan(1 << log, threshold);
                prop_assert!(found <= ns(other) * (1.0 + 1e-6), "{chosen} {found}, {other}");
            }
        }
    }

    #[test]
    fn it_is_never_worse_than_the_registers(costs in any_costs(), fragments in any_fragments()) {
        let chosen = FetchPlan::cheapest(&fragments, &costs, &WHOLE).unwrap();
        let ns = |plan| load_of(plan, &fragments, &costs, WHOLE.window).ns();
        prop_assert!(ns(chosen) <= ns(plan(512, 256)) * (1.0 + 1e-9));
    }

    #[test]
    fn reads_of_one_length_take_what_the_table_says(
        costs in any_costs(), len in 1u32..=4096, count in 1u64..20,
    ) {
        // If a longer read costs less than a shorter one, the table describes no real host.
        let times: Vec<f64> = costs.reads().iter().map(|read| read.ns).collect();
        prop_assume!(times.is_sorted());
        let fragments: Vec<_> =
            (0..count).map(|i| Fragment { addr: i * PAGE, len: len.into() }).collect();
        let reads = Threshold(0).plan(&fragments, &WHOLE).unwrap();
        let (sum, load) = (costs.plan(&reads), costs.load(&reads).ns());
        prop_assert!((load - sum).abs() <= 1e-9 * sum, "{load} ns, the table says {sum} ns");
    }

    #[test]
    fn for_affine_costs_the_time_is_the_sum(
        request in 0.1..100.0f64, byte in 0.0..1.0f64, fragments in any_fragments(),
    ) {
        let costs = CostTable::affine(request, byte).unwrap();
        let reads = Threshold(64).plan(&fragments, &WHOLE).unwrap();
        let (sum, load) = (costs.plan(&reads), costs.load(&reads).ns());
        prop_assert!((load - sum).abs() <= 1e-6 * sum, "{load} ns, the sum is {sum} ns");
    }
}

/// Costs on a host like D-RDMA's: 64 reads and 16 KiB in flight, each for 1,300 ns and its time on
/// a link of 115 Gb/s; no request is longer than 512 B.
fn host() -> CostTable {
    let ns = |bytes: u32| {
        let held = 1300.0 + f64::from(bytes.min(512)) * 8.0 / 115.0;
        (held / 64.0).max(held * f64::from(bytes) / 16384.0)
    };
    let read = |bytes| ReadCost { bytes, ns: ns(bytes) };
    CostTable::new([4, 16, 64, 128, 256, 512, 1024, 2048, 4096].map(read).to_vec(), 0.0).unwrap()
}

#[test]
fn a_long_run_is_read_by_the_length_whose_bytes_are_cheapest() {
    let run = [Fragment { addr: 0, len: 1 << 20 }];
    assert_eq!(FetchPlan::cheapest(&run, &host(), &WHOLE).unwrap(), plan(256, 0));
}

#[test]
fn short_reads_leave_bytes_for_long_ones() {
    // Reads of 512 B take the bytes in flight of two of 256 B, and one request: as many short reads
    // fit beside them, most of the time.
    let costs = host();
    let long = Fragment { addr: 0, len: 64 << 10 };
    let short = (0..128).map(|i| Fragment { addr: (256 + 4 * i) * PAGE, len: 4 });
    let fragments: Vec<_> = [long].into_iter().chain(short).collect();
    let load = |fragments: &[Fragment]| costs.load(&plan(512, 0).plan(fragments, &WHOLE).unwrap());
    let (mixed, alone) = (load(&fragments), load(&[long]));
    assert!(mixed.ns() < 1.18 * alone.ns(), "{mixed:?}, {alone:?}");
    assert!(mixed.requests_ns < 1.02 * mixed.bytes_ns, "{mixed:?}");
    assert!(mixed.requests_ns > 1.9 * alone.requests_ns, "{mixed:?}, {alone:?}");
    // One after another, they would take half as long again.
    let reads = plan(512, 0).plan(&fragments, &WHOLE).unwrap();
    assert!(costs.plan(&reads) > 1.25 * mixed.ns(), "{}", costs.plan(&reads));
}

#[test]
fn only_what_a_window_holds_is_planned_together() {
    // Neighbours that are sent far apart: reading through the gap joins nothing.
    let costs = CostTable::affine(20.0, 0.07).unwrap();
    let order = (0..64).chain((0..64).map(|i| i + 64));
    let fragments: Vec<_> =
        order.map(|i| Fragment { addr: i % 64 * 128 + i / 64 * 72, len: 56 }).collect();
    let chosen = |window| {
        FetchPlan::cheapest(&fragments, &costs, &Limits { max_read: 4096, window }).unwrap()
    };
    assert!(chosen(32 * 1024).merge_threshold() >= 16);
    assert_eq!(chosen(32 * 1024).max_read(), 4096);
    let apart = chosen(64 * 56);
    assert_eq!(apart.merge_threshold(), 72, "{apart}");
}

#[test]
fn a_request_without_fragments_has_a_plan() {
    assert!(FetchPlan::cheapest(&[], &host(), &WHOLE).is_ok());
}

#[test]
fn impossible_plans_are_refused() {
    for max_read in [0, 1, 32, 63, 96, 4097, 8192, u32::MAX] {
        let error = FetchPlan::new(max_read, 0).unwrap_err();
        assert_eq!(error, FetchPlanError::MaxRead(max_read));
        let message = format!("reads of at most {max_read} B: must be a power of two, 64 to 4096");
        assert_eq!(error.to_string(), message);
    }
    for threshold in [4096, 65_536 + 5, u32::MAX] {
        let error = FetchPlan::new(64, threshold).unwrap_err();
        assert_eq!(error, FetchPlanError::MergeThreshold(threshold));
        assert_eq!(error.to_string(), format!("gaps of at most {threshold} B: must be 0 to 4095"));
    }
    for (max_read, threshold) in [(64, 0), (4096, 4095), (256, 7)] {
        let plan = plan(max_read, threshold);
        assert_eq!((plan.max_read(), plan.merge_threshold()), (max_read, threshold));
    }
    assert_eq!(plan(256, 7).to_string(), "reads of at most 256 B, through gaps of at most 7 B");
}

#[test]
fn impossible_fragments_and_limits_are_refused_by_the_chooser() {
    let fragments = [Fragment { addr: 0, len: 1 }, Fragment { addr: u64::MAX, len: 2 }];
    let error = FetchPlan::cheapest(&fragments, &host(), &WHOLE).unwrap_err();
    assert_eq!(error, PlanError::Fragment { addr: u64::MAX, len: 2 });
    let limits = Limits { max_read: 0, ..WHOLE };
    let error = FetchPlan::cheapest(&[], &host(), &limits).unwrap_err();
    assert_eq!(error, PlanError::Limits { max_read: 0, window: WHOLE.window });
}
