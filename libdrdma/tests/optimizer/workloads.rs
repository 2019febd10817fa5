//! On workloads of databases, the card's rule is nearly as good as the dynamic program: it is worse
//! only where long runs are cut, and equal where a read may be as long as a page.

use drdma_sim::pcie;
use libdrdma::optimizer::{
    Cheapest, CostTable, FetchPlan, Fragment, Limits, Optimizer, ReadCost, Threshold,
};
use proptest::prelude::*;

/// Affine form of the simulated PCIe link's cost: a tag is occupied for a round trip, a byte for
/// its time on the link.
fn link() -> CostTable {
    let pcie::Config { tags, latency_ns, link_gbps, .. } = pcie::Config::default();
    CostTable::affine(latency_ns as f64 / tags as f64, 8.0 / link_gbps).unwrap()
}

/// Chooses from `count` things pseudo-randomly (splitmix64), each with a probability of `percent`
/// %.
fn chosen(seed: u64, count: u64, percent: u64) -> impl Iterator<Item = u64> {
    (0..count).filter(move |i| {
        let mut z = seed.wrapping_add((i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % 100 < percent
    })
}

/// Relative additional cost of the rule over the dynamic program: 0.03 is 3 %.
fn loss(fragments: &[Fragment], max_read: u32) -> f64 {
    let costs = link();
    let limits = Limits { max_read, ..Limits::default() };
    let cost = |optimizer: &dyn Optimizer| costs.plan(&optimizer.plan(fragments, &limits).unwrap());
    cost(&Threshold(costs.merge_threshold())) / cost(&Cheapest(&costs)) - 1.0
}

fn claim(name: &str, fragments: &[Fragment]) -> Result<(), TestCaseError> {
    // 512 B is the card's value after reset.
    for (max_read, most) in [(256, 0.08), (512, 0.05), (4096, 1e-9)] {
        let loss = loss(fragments, max_read);
        prop_assert!((-1e-9..most).contains(&loss), "{name}: {loss} with reads of {max_read} B");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn shuffles_of_five_columns(seed: u64) {
        for percent in [1, 10, 50, 90] {
            let rows: Vec<u64> = chosen(seed, 65_536, percent).collect();
            let column = |c: u64| rows.iter().map(move |row| (c * 100_000 + row) * 4);
            let fragments: Vec<_> =
                (0..5).flat_map(column).map(|addr| Fragment { addr, len: 4 }).collect();
            claim(&format!("{percent} % of the rows"), &fragments)?;
        }
    }

    #[test]
    fn records_behind_pointers(seed: u64) {
        for len in [64, 256, 1024] {
            for percent in [2, 20, 60] {
                let fragments: Vec<_> = chosen(seed, 32_768, percent)
                    .map(|record| Fragment { addr: record * len, len })
                    .collect();
                claim(&format!("{percent} % of records of {len} B"), &fragments)?;
            }
        }
    }
}

#[test]
fn projections() {
    for (row, share) in [64, 1024].into_iter().flat_map(|row| [2, 4, 8, 16].map(|s| (row, s))) {
        for offset in 0..64 {
            let fragment = |i| Fragment { addr: i * row + offset, len: row / share };
            let fragments: Vec<_> = (0..1 << 11).map(fragment).collect();
            claim(&format!("1/{share} of {row} B at {offset}"), &fragments).unwrap();
        }
    }
}

/// Costs as `drdma calibrate` measures them on the simulated card, whose host takes 64 reads and 16
/// KiB at a time and cuts reads at 512 B.
fn measured() -> CostTable {
    let reads = [
        (4, 20.76),
        (16, 20.76),
        (64, 20.84),
        (128, 20.97),
        (256, 21.18),
        (512, 42.81),
        (1024, 85.71),
        (2048, 171.32),
        (4096, 342.44),
    ];
    CostTable::new(reads.map(|(bytes, ns)| ReadCost { bytes, ns }).to_vec(), 5.8).unwrap()
}

/// Time under a request's best plan, as a share of that under the registers after reset and of that
/// of the dynamic program's reads.
fn shares(fragments: &[Fragment]) -> (f64, f64) {
    let costs = measured();
    let limits = Limits::default();
    let plan = FetchPlan::cheapest(fragments, &costs, &limits).unwrap();
    let ns =
        |optimizer: &dyn Optimizer| costs.load(&optimizer.plan(fragments, &limits).unwrap()).ns();
    let (found, registers) = (ns(&plan), ns(&FetchPlan::new(512, 256).unwrap()));
    (found / registers, found / ns(&Cheapest(&costs)))
}

/// Returns the chosen rows of five columns of values, column by column.
fn columns(percent: u64) -> Vec<Fragment> {
    let rows: Vec<u64> = chosen(7, 65_536, percent).collect();
    let column = |c: u64| rows.iter().map(move |row| (c * 100_000 + row) * 4);
    (0..5).flat_map(column).map(|addr| Fragment { addr, len: 4 }).collect()
}

#[test]
fn a_request_with_its_own_plan_gains_on_the_registers() {
    let contiguous = vec![Fragment { addr: 0, len: 4 << 20 }];
    let every = |row: u64, len| (0..4096).map(move |i| Fragment { addr: i * row, len }).collect();
    for (name, fragments, most) in [
        ("contiguous", contiguous, 0.99),
        ("1 % of the rows", columns(1), 0.88),
        ("10 % of the rows", columns(10), 0.90),
        ("50 % of the rows", columns(50), 1.0),
        ("1/4 of 64 B", every(64, 16), 1.0),
        ("1/2 of 1024 B", every(1024, 512), 0.99),
        ("1/16 of 1024 B", every(1024, 64), 1.0),
    ] {
        let (of_registers, of_cheapest) = shares(&fragments);
        assert!(of_registers <= most + 1e-9, "{name}: {of_registers} of the registers' time");
        // The program's reads cost least one by one; mixed, the rule's may even take less time.
        assert!(of_cheapest < 1.08, "{name}: {of_cheapest} of the dynamic program's time");
    }
}

#[test]
fn a_wrong_threshold_costs_more_than_that() {
    let fragments: Vec<_> = (0..4096).map(|i| Fragment { addr: i * 64, len: 16 }).collect();
    let costs = link();
    let cost =
        |threshold| costs.plan(&Threshold(threshold).plan(&fragments, &Limits::default()).unwrap());
    assert!(cost(0) > 3.0 * cost(costs.merge_threshold()));
}
