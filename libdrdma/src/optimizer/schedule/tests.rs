use super::*;
use crate::optimizer::{LINE, ReadCost};
use proptest::{collection::vec, prelude::*};

/// Everything that a schedule is made of.
#[derive(Clone, Debug)]
struct Case {
    columns: Vec<Fragment>,
    rows: u64,
    selected: Vec<u8>,
    costs: CostTable,
    limits: Limits,
}

/// Tables whose costs rise, and fall a little now and then.
fn costs() -> impl Strategy<Value = CostTable> {
    (vec(5.0..100.0f64, 4), 0.0..60.0f64).prop_map(|(ns, same_line)| {
        let lengths = [64, 256, 1024, 4096];
        let reads = lengths
            .into_iter()
            .zip(ns)
            .map(|(bytes, ns)| ReadCost { bytes, ns: ns + f64::from(bytes) / 40.0 });
        CostTable::new(reads.collect(), same_line).expect("lengths ascend")
    })
}

/// Columns whose values have some of `widths`, of few runs that span up to several pages.
fn cases(widths: std::ops::Range<u64>, most: u64) -> impl Strategy<Value = Case> {
    let column = (0u64..0x3000, widths).prop_map(|(addr, len)| Fragment { addr, len });
    // Selected rows and those that are not, in turns.
    let runs = vec((1..6u64, 1..most), 1..9);
    (vec(column, 1..4), runs, 0..4u64, costs(), 0..7u32).prop_map(
        |(columns, runs, lead, costs, log)| {
            let bits: Vec<bool> = std::iter::repeat_n(false, lead as usize)
                .chain(runs.iter().flat_map(|&(ones, zeros)| {
                    let ones = std::iter::repeat_n(true, ones as usize);
                    ones.chain(std::iter::repeat_n(false, zeros as usize))
                }))
                .collect();
            let byte =
                |bits: &[bool]| bits.iter().rev().fold(0, |byte, &b| byte << 1 | u8::from(b));
            let limits = Limits { max_read: 64 << log, ..Limits::default() };
            let selected = bits.chunks(8).map(byte).collect();
            Case { columns, rows: bits.len() as u64, selected, costs, limits }
        },
    )
}

/// The cost of the reads of groups of rows, written without the program: byte by byte.
fn cost(case: &Case, groups: &[(u64, u64)], prices: &Prices) -> f64 {
    let (mut cost, longest) = (0.0, case.limits.max_read as usize);
    for column in &case.columns {
        let mut last_line = None;
        for &(first, end) in groups {
            let start = (column.addr + first * column.len) / 4 * 4;
            let end = (column.addr + end * column.len).div_ceil(4) * 4;
            let mut bytes: Vec<u64> = (start..end).collect();
            while let Some(&start) = bytes.first() {
                let page = bytes.iter().take_while(|byte| *byte / 4096 == start / 4096).count();
                let mut len = page;
                if page > longest {
                    let far = start + longest as u64;
                    len = longest - (far % LINE as u64) as usize;
                }
                let last = bytes[len - 1];
                cost += prices.by_length[len];
                if last_line == Some(start / LINE as u64) {
                    cost += prices.same_line;
                }
                last_line = Some(last / LINE as u64);
                bytes.drain(..len);
            }
        }
    }
    cost
}

/// Runs in groups, parted at the gaps that are not read through.
fn grouped(runs: &[(u64, u64)], through: impl Fn(usize) -> bool) -> Vec<(u64, u64)> {
    let mut groups: Vec<(u64, u64)> = Vec::new();
    for (index, &run) in runs.iter().enumerate() {
        match groups.last_mut() {
            Some(group) if through(index - 1) => group.1 = run.1,
            _ => groups.push(run),
        }
    }
    groups
}

proptest! {
    #[test]
    fn the_program_costs_as_little_as_the_best_of_all_groupings(case in cases(4..700, 20)) {
        let lanes = lanes(&case.columns, case.rows).unwrap();
        let runs = runs(case.rows, &case.selected, &lanes);
        let longest = case.limits.max_read.into();
        let program = Program { lanes: &lanes, runs: &runs, longest };
        let loads: Vec<_> = (0..=4096).map(|len| case.costs.read_load(len)).collect();
        for prices in prices(&loads, &case.costs) {
            let through = program.solve(&prices);
            let found = cost(&case, &grouped(&runs, |gap| through[gap]), &prices);
            let best = (0..1u32 << (runs.len() - 1))
                .map(|choice| cost(&case, &grouped(&runs, |gap| choice >> gap & 1 == 1), &prices))
                .fold(f64::INFINITY, f64::min);
            prop_assert!((found - best).abs() <= 1e-9 * best, "{found} instead of {best}");
        }
    }

    /// Byte for byte, and by the table alone: the price of the first solution.
    #[test]
    fn reads_bytes_and_time_are_those_of_the_fetch_rows(mut case in cases(4..200, 60)) {
        let Case { columns, rows, selected, costs, limits } = &case.clone();
        let schedule = Schedule::cheapest(columns, *rows, selected, costs, limits).unwrap();
        prop_assert!(schedule.plan().max_read() <= limits.max_read);
        case.limits.max_read = schedule.plan().max_read();
        let union: Vec<_> =
            selected.iter().zip(schedule.fetch_rows()).map(|(a, b)| a | b).collect();
        let overlap = selected.iter().zip(schedule.fetch_rows()).any(|(a, b)| a & b != 0);
        prop_assert!(!overlap, "what is selected is read anyway");
        let lanes = lanes(columns, *rows).unwrap();
        let groups = runs(*rows, &union, &lanes);
        let counted = |by_length: Vec<f64>| {
            cost(&case, &groups, &Prices { by_length, same_line: 0.0 }) as u64
        };
        prop_assert_eq!(schedule.reads(), counted(vec![1.0; 4097]));
        prop_assert_eq!(schedule.bytes(), counted((0..=4096).map(f64::from).collect()));
        let apart = Prices {
            by_length: (0..=4096).map(|len| costs.read_load(len).apart_ns).collect(),
            same_line: costs.same_line_ns(),
        };
        let expected = cost(&case, &groups, &apart);
        prop_assert!((schedule.load().apart_ns - expected).abs() <= 1e-9 * expected);
    }

    /// Narrow gaps are read through in some columns and not in others.
    #[test]
    fn a_schedule_is_no_slower_than_any_threshold(case in cases(1..16, 200)) {
        let Case { columns, rows, selected, costs, limits } = &case;
        let schedule = Schedule::cheapest(columns, *rows, selected, costs, limits).unwrap();
        let lanes = lanes(columns, *rows).unwrap();
        let runs = runs(*rows, selected, &lanes);
        let program = Program { lanes: &lanes, runs: &runs, longest: limits.max_read.into() };
        let loads: Vec<_> = (0..=4096).map(|len| costs.read_load(len)).collect();
        for widest in 0..200 {
            let through: Vec<_> =
                runs.windows(2).map(|pair| pair[1].0 - pair[0].1 <= widest).collect();
            let other = program.found(&through, &loads, costs).load.ns();
            prop_assert!(schedule.load().ns() <= (1.0 + 1e-8) * other, "{:?} {other}", schedule.load());
        }
    }
}

#[test]
fn long_regions_take_a_moment() {
    let rows = 400_000;
    // One row in ten.
    let mut state = 1_u64;
    let mut selected = vec![0; rows / 8];
    for row in 0..rows {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        selected[row / 8] |= u8::from((state >> 33).is_multiple_of(10)) << (row % 8);
    }
    let columns: Vec<_> = (0..5).map(|c| Fragment { addr: c << 24, len: 4 }).collect();
    let costs = CostTable::affine(20.0, 0.1).unwrap();
    let started = std::time::Instant::now();
    let limits = Limits { max_read: 4096, ..Limits::default() };
    let schedule = Schedule::cheapest(&columns, rows as u64, &selected, &costs, &limits).unwrap();
    println!("{} reads in {:?}", schedule.reads(), started.elapsed());
    assert!(schedule.bytes() > 5 * 4 * rows as u64 / 10);
    assert!(started.elapsed().as_secs() < 60);
}

#[test]
fn what_cannot_be_scheduled_is_refused() {
    let costs = CostTable::affine(1.0, 1.0).unwrap();
    let limits = Limits::default();
    let column = Fragment { addr: 0, len: 4 };
    let error = |columns: &[Fragment], rows, limits| {
        Schedule::cheapest(columns, rows, &[0], &costs, &limits).unwrap_err().to_string()
    };
    assert_eq!(error(&[], 8, limits), "a schedule needs at least one column");
    assert_eq!(error(&[column], 9, limits), "a bitmap of 1 B for 9 rows");
    let empty = Fragment { addr: 16, len: 0 };
    let place = "is empty or goes beyond the last address";
    assert_eq!(
        error(&[column, empty], 8, limits),
        format!("column 1 of 8 values of 0 B at 0x10 {place}")
    );
    let beyond = Fragment { addr: u64::MAX - 31, len: 4 };
    assert!(error(&[beyond], 8, limits).ends_with(place));
    let none = Limits { max_read: 0, ..limits };
    assert!(error(&[column], 8, none).starts_with("reads of at most 0 B"));
    let nothing = Schedule::cheapest(&[column], 8, &[0], &costs, &limits).unwrap();
    assert_eq!((nothing.reads(), nothing.bytes(), nothing.fetch_rows()), (0, 0, &[0][..]));
}
