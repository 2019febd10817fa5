//! Runs of bytes: those that changed, and those that were written.

use std::{collections::BTreeMap, fmt::Write as _, ops::Range};

/// Unchanged bytes between two changed ones that are recorded with them.
const GAP: usize = 8;

/// Bytes as digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(2 * bytes.len());
    bytes.iter().for_each(|byte| {
        let _ = write!(hex, "{byte:02x}");
    });
    hex
}

/// Adds a run to others, of which no two touch.
pub(super) fn insert(runs: &mut BTreeMap<u64, u64>, Range { mut start, mut end }: Range<u64>) {
    while let Some((&from, &to)) = runs.range(..=end).next_back().filter(|(_, to)| **to >= start) {
        runs.remove(&from);
        (start, end) = (start.min(from), end.max(to));
    }
    runs.insert(start, end);
}

/// The runs, without the bytes of `hole`.
pub(super) fn without(runs: &[Range<u64>], hole: &Range<u64>) -> Vec<Range<u64>> {
    let parts = runs
        .iter()
        .flat_map(|run| [run.start..run.end.min(hole.start), run.start.max(hole.end)..run.end]);
    parts.filter(|part| part.start < part.end).collect()
}

/// Runs of bytes that differ; runs with few equal bytes between them are one.
pub(super) fn changes(old: &[u8], new: &[u8]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (i, _) in old.iter().zip(new).enumerate().filter(|(_, (old, new))| old != new) {
        match runs.last_mut() {
            Some(run) if i <= run.end + GAP => run.end = i + 1,
            _ => runs.push(i..i + 1),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_changes_are_one_run() {
        let (mut old, mut new) = (vec![0u8; 64], vec![0u8; 64]);
        new[3] = 1;
        new[10] = 1;
        new[40] = 1;
        assert_eq!(changes(&old, &new), [3..11, 40..41]);
        old.copy_from_slice(&new);
        assert!(changes(&old, &new).is_empty());
    }

    #[test]
    fn runs_that_touch_are_one_and_holes_are_cut_out() {
        let mut runs = BTreeMap::new();
        for run in [10..20, 30..40, 20..25, 26..30, 0..1, 35..36] {
            insert(&mut runs, run);
        }
        assert_eq!(runs.into_iter().collect::<Vec<_>>(), [(0, 1), (10, 25), (26, 40)]);
        assert_eq!(without(&[0..10, 20..30], &(5..25)), [0..5, 25..30]);
        assert_eq!(without(&[5..6, 7..10], &(0..10)), []);
        assert_eq!(without(&[5..6, 7..10], &(20..30)), [5..6, 7..10]);
    }
}
