use super::*;
use crate::{
    memory::Segments,
    region::{Extent, Region, RowMask},
    testing,
};
use proptest::prelude::*;

fn settings(merge_threshold: u32) -> Settings {
    Settings { merge_threshold, ..Settings::default() }
}

fn plan(settings: Settings, destinations: &[&[Region]], row_mask: RowMask) -> Vec<Window> {
    let memory = Segments::new().with(testing::BASE, testing::memory());
    let units = destinations.iter().map(|regions| Units::new(regions, row_mask)).collect();
    let mut planner = Planner::new(settings, units);
    let mut windows = Vec::new();
    while let Some(window) = planner.next_window(&memory).unwrap() {
        windows.push(window);
    }
    windows
}

fn strided(base: u64, period: u64, count: u32, extents: &[(u64, u32)]) -> Region {
    let pattern = extents.iter().map(|(offset, len)| Extent { offset: *offset, len: *len });
    Region::Strided { base, period, count, lkey: 1, pattern: pattern.collect() }
}

/// Two rows of four 4-byte attributes, without the third one.
fn figure_5() -> [Region; 1] {
    [strided(0, 16, 2, &[(0, 8), (12, 4)])]
}

fn one_window(settings: Settings, destinations: &[&[Region]]) -> Vec<(u64, u32)> {
    let windows = plan(settings, destinations, RowMask::Period);
    assert_eq!(windows.len(), 1);
    windows[0].boxes.iter().map(|read| (read.addr, read.len)).collect()
}

#[test]
fn figure_9_b_merges_what_is_adjacent() {
    assert_eq!(one_window(settings(0), &[&figure_5()]), [(0, 8), (12, 12), (28, 4)]);
}

#[test]
fn figure_9_d_reads_through_both_gaps() {
    assert_eq!(one_window(settings(4), &[&figure_5()]), [(0, 32)]);
    // All needed bytes lie in one cache line.
    assert_eq!(one_window(settings(3), &[&figure_5()]), [(0, 32)]);
}

#[test]
fn a_gap_within_a_line_is_read_through_unless_the_threshold_is_0() {
    let region = [strided(60, 64, 2, &[(0, 4), (8, 4), (60, 4)])];
    // A gap of 4 B to the next line is left out, one of 48 B within the line is read through.
    let merged = [(60, 4), (68, 60), (132, 56)];
    assert_eq!(one_window(settings(1), &[&region]), merged);
    assert_eq!(one_window(settings(0), &[&region]).len(), 5);
}

#[test]
fn reads_are_cut_at_the_longest_read_and_at_4_kib() {
    let region = [Region::Contiguous { addr: 4000, len: 700, lkey: 1 }];
    assert_eq!(one_window(settings(0), &[&region]), [(4000, 96), (4096, 512), (4608, 92)]);
    let long = Settings { max_read: 4096, ..settings(0) };
    assert_eq!(one_window(long, &[&region]), [(4000, 96), (4096, 604)]);
}

#[test]
fn a_byte_that_two_destinations_cover_is_read_once() {
    // A shuffle: red takes the even values of a column, blue the odd ones, and a third destination
    // all.
    let red = [strided(0, 8, 128, &[(0, 4)])];
    let blue = [strided(0, 8, 128, &[(4, 4)])];
    let all = [Region::Contiguous { addr: 0, len: 1024, lkey: 1 }];
    assert_eq!(one_window(settings(0), &[&red]).len(), 128);
    assert_eq!(one_window(settings(0), &[&red, &blue]), [(0, 512), (512, 512)]);
    assert_eq!(one_window(settings(0), &[&red, &blue, &all]), [(0, 512), (512, 512)]);
}

#[test]
fn destinations_advance_through_shared_memory_together() {
    // 90 % of the rows go to one destination; no window reads what another one has read.
    let rows = 100_000;
    let most = [strided(0, 40, rows / 10, &[(0, 36)])];
    let few = [strided(0, 40, rows / 10, &[(36, 4)])];
    let windows = plan(settings(256), &[&most, &few], RowMask::Period);
    let read: u64 = windows.iter().map(Window::read_bytes).sum();
    assert_eq!(read, 4 * u64::from(rows));
    assert!(windows.len() <= 14, "{} windows", windows.len());
    let units = windows.iter().fold([0, 0], |[a, b], w| [a + w.units[0], b + w.units[1]]);
    assert_eq!(units, [u64::from(rows / 10); 2]);
}

#[test]
fn destinations_keep_together_when_windows_end_inside_a_unit() {
    // Two columns 1 MiB apart, a shuffle of their values to two destinations.
    let columns = |first: u64| {
        [
            strided(first * 4, 8, 20_000, &[(0, 4)]),
            strided((1 << 20) + first * 4, 8, 20_000, &[(0, 4)]),
        ]
    };
    let settings = Settings { window: 1001, ..settings(256) };
    let windows = plan(settings, &[&columns(0), &columns(1)], RowMask::Element);
    assert_eq!(windows.iter().map(Window::read_bytes).sum::<u64>(), 2 * 2 * 4 * 20_000);
}

#[test]
fn a_window_is_measured_with_the_gaps_that_it_reads() {
    for (period, threshold) in [(300, 256), (300, 300), (16, 256), (4, 0), (1000, 256)] {
        let region = [strided(0, period, 50_000, &[(0, 4)])];
        for window in plan(settings(threshold), &[&region], RowMask::Period) {
            assert!(window.read_bytes() <= WINDOW, "{} B at {period}", window.read_bytes());
        }
    }
}

#[test]
fn a_fragment_longer_than_a_window_spans_several() {
    let region = [Region::Contiguous { addr: 10, len: 100_000, lkey: 1 }];
    let windows = plan(settings(0), &[&region], RowMask::Period);
    assert_eq!(
        windows.iter().map(Window::read_bytes).collect::<Vec<_>>(),
        [32768, 32768, 32768, 1696]
    );
    assert_eq!(windows.iter().map(|w| w.units[0]).collect::<Vec<_>>(), [0, 0, 0, 1]);
}

#[test]
fn nothing_to_send_is_nothing_to_read() {
    assert!(plan(settings(0), &[], RowMask::Period).is_empty());
    assert!(plan(settings(0), &[&[], &[strided(0, 1, 0, &[(0, 4)])]], RowMask::Period).is_empty());
}

#[test]
fn any_setting_is_survived() {
    for max_read in [0, 1, 63, u32::MAX] {
        for window in [0, 1, u64::MAX] {
            let settings = Settings { max_read, merge_threshold: u32::MAX, window };
            let windows = plan(settings, &[&figure_5()], RowMask::Period);
            assert_eq!(windows.iter().map(|w| w.payload_bytes).sum::<u64>(), 24);
        }
    }
    let end = [Region::Contiguous { addr: u64::MAX - 9, len: u32::MAX, lkey: 1 }];
    assert!(!plan(Settings::default(), &[&end], RowMask::Period).is_empty());
}

proptest! {
    #[test]
    fn boxes_cover_every_fragment_and_no_wide_gap(
        destinations in proptest::collection::vec(
            proptest::collection::vec(testing::region(), 0..4), 1..4),
        merge_threshold in prop_oneof![Just(0u32), 0..300u32],
        log_max_read in 6u32..=12,
        window in prop_oneof![Just(WINDOW), 1..2000u64],
    ) {
        let settings = Settings { max_read: 1 << log_max_read, merge_threshold, window };
        let bytes = testing::memory();
        let memory = Segments::new().with(testing::BASE, bytes.clone());
        let lists: Vec<&[Region]> = destinations.iter().map(Vec::as_slice).collect();
        let windows = plan(settings, &lists, RowMask::Period);
        let mut wanted = vec![false; testing::SIZE as usize];
        let mut fetched = vec![false; testing::SIZE as usize];
        for regions in &destinations {
            let mut units = Units::new(regions, RowMask::Period);
            let mut unit = Vec::new();
            while units.next(&memory, &mut unit).unwrap() {
                for fragment in &unit {
                    let start = (fragment.addr - testing::BASE) as usize;
                    wanted[start..start + fragment.len as usize].fill(true);
                }
            }
        }
        for window in &windows {
            let ranges = testing::ranges(&window.boxes);
            for pair in ranges.windows(2) {
                prop_assert!(pair[0].end <= pair[1].start, "{pair:?} overlap");
            }
            for read in &ranges {
                prop_assert!(read.end - read.start <= 1 << log_max_read);
                prop_assert_eq!(read.start / 4096, (read.end - 1) / 4096);
                let (start, end) = (read.start - testing::BASE, read.end - testing::BASE);
                fetched[start as usize..end as usize].fill(true);
            }
        }
        let payload: u64 = windows.iter().map(|window| window.payload_bytes).sum();
        let expected: usize = destinations
            .iter()
            .flat_map(|regions| testing::units(regions, RowMask::Period, &bytes))
            .map(|unit| unit.len())
            .sum();
        prop_assert_eq!(payload, expected as u64);
        let mut gap = 0;
        for (byte, (wanted, fetched)) in wanted.iter().zip(&fetched).enumerate() {
            prop_assert!(!wanted || *fetched, "byte {byte} is not read");
            let one_line = merge_threshold > 0
                && *wanted
                && (byte as u64 + testing::BASE) % 64 > u64::from(gap);
            prop_assert!(gap <= merge_threshold || !wanted || one_line, "a gap up to byte {byte}");
            prop_assert!(*fetched || gap == 0, "a read ends with a gap, before byte {byte}");
            gap = if *fetched && !wanted { gap + 1 } else { 0 };
        }
        prop_assert!(gap == 0, "the last read ends with a gap");
    }
}
