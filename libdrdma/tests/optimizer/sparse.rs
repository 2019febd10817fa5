//! Windows of bitmaps: which rows are left out.

use libdrdma::optimizer::{ColumnPlacement, Lane, PlacementError, SparseWindow};
use proptest::{collection::vec, prelude::*};

fn bits(rows: &[u64], count: u64) -> Vec<u8> {
    let mut bits = vec![0; count.div_ceil(8) as usize];
    rows.iter().for_each(|row| bits[*row as usize / 8] |= 1 << (row % 8));
    bits
}

/// Returns the window of each row and its row there, from the contract, block by block.
fn places(lanes: &[Lane], count: u64, rows: &[u64], threshold: u64) -> Vec<(usize, u64)> {
    let most = match u64::from(ColumnPlacement::window_rows(lanes).unwrap()) {
        most @ ..64 => most,
        most => most / 64 * 64,
    };
    let most = most.min(count).div_ceil(64);
    let overlaps = lanes.iter().any(|lane| lane.len > lane.step);
    let (mut window, mut first, mut last) = (0, rows[0] / 64, (rows[0], 0));
    let mut places = Vec::new();
    for &row in rows {
        let (block, before) = (row / 64, last.0 / 64);
        if block != before {
            let between = block - before - 1;
            let wide = lanes.iter().all(|lane| between * 64 * lane.step > threshold.min(4095));
            let tail = last.0 % 64 >= 61;
            let kept = if wide && !overlaps { u64::from(tail).min(between) } else { between };
            let place = last.1 + 1 + kept;
            let fits = place < most && block - first < 4096;
            (window, first) = if fits { (window, first) } else { (window + 1, block) };
            last.1 = if fits { place } else { 0 };
        }
        last.0 = row;
        places.push((window, 64 * last.1 + row % 64));
    }
    places
}

/// Generates runs of rows with gaps of all widths between them.
fn rows() -> impl Strategy<Value = Vec<u64>> {
    let gap = prop_oneof![1..10u64, 1..200u64, 50..3000u64, 1..400_000u64];
    vec((gap, 1..90u64), 1..40).prop_map(|runs| {
        let mut at = 0;
        let each = runs.into_iter().flat_map(|(gap, len)| {
            at += gap + len;
            at - len..at
        });
        each.collect()
    })
}

proptest! {
    #[test]
    fn wide_gaps_are_left_out(
        rows in rows(),
        shapes in vec((1..9u64, 0..12u64), 1..4),
        overlap in any::<bool>(),
        threshold in prop_oneof![0..300u32, 0..5000u32],
    ) {
        let lane = |(index, &(len, more)): (usize, &(u64, u64))| {
            let step = if overlap && len > 1 { len - 1 } else { len + more };
            Lane { addr: 0x10_0000 * index as u64, len, step }
        };
        let lanes: Vec<_> = shapes.iter().enumerate().map(lane).collect();
        let count = rows.last().unwrap() + 1;
        let windows = SparseWindow::all(&lanes, count, &bits(&rows, count), threshold).unwrap();
        let expected = places(&lanes, count, &rows, threshold.into());
        prop_assert_eq!(windows.len(), expected.last().unwrap().0 + 1);
        for (row, (window, place)) in rows.into_iter().zip(expected) {
            let found: Vec<_> = windows.iter().filter_map(|window| window.row(row)).collect();
            prop_assert_eq!(&found, &[place as u32], "row {}", row);
            prop_assert_eq!(windows[window].row(row), Some(place as u32));
            prop_assert!(place < u64::from(windows[window].rows()));
        }
    }
}

#[test]
fn a_window_spans_4096_blocks() {
    let lanes = [Lane::dense(0, 4)];
    for (row, windows) in [(64 * 4096 - 1, 1), (64 * 4096, 2)] {
        let count = row + 1;
        let found = SparseWindow::all(&lanes, count, &bits(&[0, row], count), 256).unwrap();
        assert_eq!(found.len(), windows, "row {row}");
    }
}

#[test]
fn a_bitmap_has_a_bit_for_each_row() {
    let lanes = [Lane::dense(0, 4)];
    let error = SparseWindow::all(&lanes, 17, &[1, 1], 256).unwrap_err();
    assert_eq!(error, PlacementError::Bitmap { bytes: 2, rows: 17 });
    assert_eq!(error.to_string(), "a bitmap of 2 B for 17 rows");
    assert_eq!(SparseWindow::all(&lanes, 16, &[0, 0], 256), Ok(vec![]));
    let error = SparseWindow::all(&[], 16, &[0, 0], 256).unwrap_err();
    assert_eq!(error, PlacementError::Lanes(0));
}
