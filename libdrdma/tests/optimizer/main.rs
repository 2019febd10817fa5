//! The software optimizer: exact where it says so, and never outside its limits.

mod costs;
mod fetch_plan;
mod placement;
mod sparse;
mod workloads;

use libdrdma::optimizer::{
    BoundingBox, Cheapest, CostTable, Fragment, Limits, Optimizer, Plan, PlanError, ReadCost,
    Threshold,
};
use proptest::prelude::*;

const PAGE: u64 = 4096;

/// Fragments behind one another: each `(gap, len)`.
fn spaced(start: u64, steps: &[(u64, u64)]) -> Vec<Fragment> {
    let mut at = start;
    let mut fragments = Vec::new();
    for &(gap, len) in steps {
        fragments.push(Fragment { addr: at + gap, len });
        at += gap + len;
    }
    fragments
}

/// Returns the needed bytes of fragments, by address.
fn needed(fragments: &[Fragment]) -> Vec<u64> {
    let mut bytes: Vec<u64> =
        fragments.iter().flat_map(|f| (0..f.len).map(move |i| f.addr + i)).collect();
    bytes.sort_unstable();
    bytes.dedup();
    bytes
}

/// The reads that result if a read ends before every byte in `breaks`, and otherwise goes on as
/// long as the limits allow: byte by byte, from the definition.
fn cut(needed: &[u64], breaks: &[u64], longest: u64) -> Vec<(u64, u32)> {
    let mut reads: Vec<(u64, u32)> = Vec::new();
    for &byte in needed {
        match reads.last_mut() {
            Some((start, len))
                if !breaks.contains(&byte)
                    && byte - *start < longest
                    && byte / PAGE == *start / PAGE =>
            {
                *len = (byte - *start) as u32 + 1;
            }
            _ => reads.push((byte, 1)),
        }
    }
    reads
}

/// Returns the least cost over all groupings of the fragments: a read may end behind any of them.
fn brute_force(fragments: &[Fragment], costs: &CostTable, longest: u64) -> f64 {
    let needed = needed(fragments);
    let starts: Vec<u64> =
        needed.windows(2).filter(|pair| pair[1] > pair[0] + 1).map(|pair| pair[1]).collect();
    (0u32..1 << starts.len())
        .map(|set| {
            let chosen = starts.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1);
            let breaks: Vec<u64> = chosen.map(|(_, start)| *start).collect();
            costs.sum(cut(&needed, &breaks, longest))
        })
        .fold(f64::INFINITY, f64::min)
}

fn reads(plan: &Plan) -> Vec<(u64, u32)> {
    plan.boxes().iter().map(|read| (read.addr, read.len)).collect()
}

/// Checks that every needed byte is in exactly one read, and that reads and windows keep to their
/// limits.
fn check(plan: &Plan, fragments: &[Fragment], limits: &Limits) -> Result<(), TestCaseError> {
    let needed = needed(fragments);
    let mut covered = 0;
    let mut before = 0;
    for &BoundingBox { addr, len } in plan.boxes() {
        let last = addr + u64::from(len) - 1;
        prop_assert!(addr >= before, "reads ascend and do not overlap");
        prop_assert_eq!(addr / PAGE, last / PAGE, "no read crosses a page's end");
        prop_assert!(len <= limits.max_read && u64::from(len) <= limits.window);
        prop_assert!(needed.binary_search(&addr).is_ok(), "a read begins with a needed byte");
        prop_assert!(needed.binary_search(&last).is_ok(), "a read ends with a needed byte");
        covered += needed.partition_point(|b| *b <= last) - needed.partition_point(|b| *b < addr);
        before = last + 1;
    }
    prop_assert_eq!(covered, needed.len());
    let mut windows = Vec::new();
    for window in plan.windows() {
        prop_assert!(!window.is_empty());
        prop_assert!(window.iter().map(|b| u64::from(b.len)).sum::<u64>() <= limits.window);
        windows.extend_from_slice(window);
    }
    prop_assert_eq!(windows, plan.boxes());
    Ok(())
}

fn any_costs() -> impl Strategy<Value = CostTable> {
    let reads = prop::collection::btree_map(1u32..=4096, 1.0..200.0f64, 1..8);
    (reads, prop_oneof![Just(0.0), 0.0..150.0]).prop_map(|(reads, same_line)| {
        let reads = reads.into_iter().map(|(bytes, ns)| ReadCost { bytes, ns }).collect();
        CostTable::new(reads, same_line).unwrap()
    })
}

fn any_fragments() -> impl Strategy<Value = Vec<Fragment>> {
    let gap = prop_oneof![0u64..4, 1u64..80, 1u64..700];
    let len = prop_oneof![1u64..9, 1u64..100, 1u64..1500];
    (0u64..2 * PAGE, prop::collection::vec((gap, len), 1..10))
        .prop_map(|(start, steps)| spaced(start, &steps))
}

fn any_limits() -> impl Strategy<Value = Limits> {
    (1u32..=4096, 300u64..6000).prop_map(|(max_read, window)| Limits { max_read, window })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_dynamic_program_is_as_cheap_as_the_best_of_all_groupings(
        costs in any_costs(), fragments in any_fragments(), limits in any_limits(),
    ) {
        let plan = Cheapest(&costs).plan(&fragments, &limits).unwrap();
        check(&plan, &fragments, &limits)?;
        let longest = u64::from(limits.max_read).min(limits.window);
        let best = brute_force(&fragments, &costs, longest);
        let found = costs.plan(&plan);
        prop_assert!((found - best).abs() <= 1e-6 * best, "{found} ns, the best is {best} ns");
    }

    #[test]
    fn the_threshold_form_reads_through_exactly_the_gaps_up_to_it_and_those_within_a_line(
        threshold in prop_oneof![Just(0u32), Just(1u32), 0u32..100, 0u32..5000],
        fragments in any_fragments(), limits in any_limits(),
    ) {
        let plan = Threshold(threshold).plan(&fragments, &limits).unwrap();
        check(&plan, &fragments, &limits)?;
        let needed = needed(&fragments);
        let wide = needed.windows(2).filter(|pair| {
            let one_line = threshold > 0 && pair[0] / 64 == pair[1] / 64;
            pair[1] - pair[0] - 1 > u64::from(threshold) && !one_line
        });
        let breaks: Vec<u64> = wide.map(|pair| pair[1]).collect();
        let longest = u64::from(limits.max_read).min(limits.window);
        prop_assert_eq!(reads(&plan), cut(&needed, &breaks, longest));
    }

    #[test]
    fn order_and_overlaps_of_fragments_do_not_matter(
        costs in any_costs(), mut fragments in any_fragments(), cuts in 0usize..9, seed in 0u64..99,
    ) {
        let limits = Limits::default();
        let plans = |fragments: &[Fragment]| {
            (Cheapest(&costs).plan(fragments, &limits), Threshold(64).plan(fragments, &limits))
        };
        let expected = plans(&fragments);
        for i in 0..cuts {
            // Repeats a part of a fragment.
            let Fragment { addr, len } = fragments[i % fragments.len()];
            let skip = seed % len;
            fragments.push(Fragment { addr: addr + skip, len: len - skip });
        }
        fragments.reverse();
        prop_assert_eq!(plans(&fragments), expected);
    }
}

#[test]
fn fragments_that_touch_are_one_read() {
    let fragments = spaced(0, &[(0, 4), (0, 4), (0, 4)]);
    let plan = Threshold(0).plan(&fragments, &Limits::default()).unwrap();
    assert_eq!(reads(&plan), [(0, 12)]);
}

#[test]
fn a_gap_within_a_line_is_read_through_unless_the_threshold_is_0() {
    let fragments = spaced(0, &[(0, 4), (56, 4), (4, 4), (52, 4)]);
    let of = |threshold| reads(&Threshold(threshold).plan(&fragments, &Limits::default()).unwrap());
    assert_eq!(of(1), [(0, 64), (68, 60)]);
    assert_eq!(of(0), [(0, 4), (60, 4), (68, 4), (124, 4)]);
}

#[test]
fn a_plan_of_nothing_is_empty() {
    let costs = CostTable::affine(20.0, 0.07).unwrap();
    for plan in [
        Cheapest(&costs).plan(&[], &Limits::default()).unwrap(),
        Threshold(9).plan(&[], &Limits::default()).unwrap(),
    ] {
        assert_eq!((plan.reads(), plan.bytes(), plan.windows().count()), (0, 0, 0));
    }
}

#[test]
fn the_last_byte_of_the_address_space_can_be_read() {
    let fragment = Fragment { addr: u64::MAX - 3, len: 4 };
    let plan = Threshold(0).plan(&[fragment], &Limits::default()).unwrap();
    assert_eq!(reads(&plan), [(u64::MAX - 3, 4)]);
}

#[test]
fn a_shared_line_makes_a_gap_worth_reading() {
    let read = ReadCost { bytes: 4, ns: 10.0 };
    let steep = ReadCost { bytes: 64, ns: 70.0 };
    let fragments = spaced(0, &[(0, 4), (24, 4)]);
    let plan = |same_line| {
        let costs = CostTable::new(vec![read, steep], same_line).unwrap();
        Cheapest(&costs).plan(&fragments, &Limits::default()).unwrap().reads()
    };
    // 10 and 10 ns are less than 38 ns for 32 B, unless the second waits 20 ns for the line.
    assert_eq!(plan(0.0), 2);
    assert_eq!(plan(20.0), 1);
}

#[test]
fn impossible_limits_are_refused() {
    let costs = CostTable::affine(20.0, 0.07).unwrap();
    for (max_read, window) in [(0, 100), (4097, 100_000), (64, 0)] {
        let limits = Limits { max_read, window };
        let error = Cheapest(&costs).plan(&[], &limits).unwrap_err();
        assert_eq!(error, PlanError::Limits { max_read, window });
        assert_eq!(Threshold(0).plan(&[], &limits).unwrap_err(), error);
    }
    let error = PlanError::Limits { max_read: 0, window: 100 };
    assert_eq!(
        error.to_string(),
        "reads of at most 0 B in windows of 100 B: a read has 1 to 4096 B and a window at least 1 B"
    );
}

#[test]
fn impossible_fragments_are_refused() {
    let costs = CostTable::affine(20.0, 0.07).unwrap();
    for (addr, len) in [(16, 0), (u64::MAX, 2), (2, u64::MAX)] {
        let fragments = [Fragment { addr: 0, len: 1 }, Fragment { addr, len }];
        let error = Cheapest(&costs).plan(&fragments, &Limits::default()).unwrap_err();
        assert_eq!(error, PlanError::Fragment { addr, len });
        assert_eq!(Threshold(0).plan(&fragments, &Limits::default()).unwrap_err(), error);
    }
    assert_eq!(
        PlanError::Fragment { addr: 16, len: 0 }.to_string(),
        "a fragment of 0 B at 0x10 is empty or goes beyond the last address"
    );
}
