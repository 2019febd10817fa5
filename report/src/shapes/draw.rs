//! Random shapes.

use drdma_verilated::testbench::Random;

use super::shape::{At, By, MOST_COLUMNS, MOST_ROW, Shape};
use crate::layout::RowMask;

/// Destinations of a drawn shape, at most; shapes of the command line may have more.
const DRAWN_DESTINATIONS: u64 = 64;
/// Least and greatest number of a request's rows.
const ROWS: (u64, u64) = (1 << 10, 64 << 10);
/// Percent of the rows that are sent, at least.
const LEAST_SELECTED: u64 = 5;

/// Shapes of a seed. A longer list begins with the shapes of a shorter one.
pub fn shapes(seed: u64, count: usize) -> Vec<Shape> {
    let mut random = Random::new(seed);
    (0..count).map(|_| shape(&mut random)).collect()
}

/// A random number from `least` to `most`; each octave is equally likely.
fn log(random: &mut Random, least: u64, most: u64) -> u64 {
    let share = random.below(1 << 32) as f64 / (1_u64 << 32) as f64;
    let value = least as f64 * ((most + 1) as f64 / least as f64).powf(share);
    (value as u64).clamp(least, most)
}

fn even(random: &mut Random, values: u64) -> bool {
    random.below(values) == 0
}

fn shape(random: &mut Random) -> Shape {
    let by = match random.below(4) {
        0 => By::Ids,
        1 => By::Extents,
        _ => By::Bitmaps,
    };
    let columns = columns(random);
    let row: u64 = columns.iter().sum();
    let mtu = if even(random, 2) { 1024 } else { 4096 };
    let rows = log(random, ROWS.0, ROWS.1);
    let fit = (u64::from(mtu) / row).max(1);
    Shape {
        columns,
        // Half of the numbers are powers of two, as batches often have.
        rows: if even(random, 2) { rows.next_power_of_two() } else { rows },
        destinations: log(random, 1, DRAWN_DESTINATIONS) as usize,
        by,
        select: if even(random, 2) {
            100
        } else {
            LEAST_SELECTED + random.below(101 - LEAST_SELECTED)
        },
        mtu,
        mask: match even(random, 4) && by != By::Ids {
            true => RowMask::Element,
            false => RowMask::Period,
        },
        pack: even(random, 4).then(|| log(random, 1, 2 * fit) as u32),
        at: match random.below(3) {
            0 => At::Page,
            1 => At::Line,
            _ => At::Odd,
        },
        write: even(random, 2),
        by_columns: false,
        posts: None,
        seed: random.below(1 << 16),
    }
}

/// Widths of columns, together 1 B to 1 KiB: half of the shapes by the bytes of a row, half by those of a
/// column.
fn columns(random: &mut Random) -> Vec<u64> {
    let (count, row) = if even(random, 2) {
        let row = log(random, 1, MOST_ROW);
        (1 + random.below(row.min(MOST_COLUMNS as u64)), row)
    } else {
        let count = 1 + random.below(MOST_COLUMNS as u64);
        (count, count * log(random, 1, MOST_ROW / MOST_COLUMNS as u64))
    };
    match random.below(4) {
        // All widths are equal.
        0 => vec![row / count; count as usize],
        // All widths are the same power of two.
        1 => vec![1 << (row / count).ilog2(); count as usize],
        // Widths are different powers of two.
        2 => (0..count).map(|_| 1 << random.below(u64::from((row / count).ilog2()) + 1)).collect(),
        // Widths are random: a byte each, and the other bytes at random.
        _ => {
            let shares: Vec<u64> = (0..count).map(|_| random.below(1 << 16)).collect();
            let all: u64 = shares.iter().sum::<u64>().max(1);
            shares.iter().map(|share| 1 + (row - count) * share / all).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_within_their_limits_and_of_every_kind() {
        let all = shapes(1, 400);
        for shape in &all {
            assert!((1..=MOST_COLUMNS).contains(&shape.columns.len()), "{shape}");
            assert!(
                (1..=MOST_ROW).contains(&shape.row()) && !shape.columns.contains(&0),
                "{shape}"
            );
            assert!((ROWS.0..=ROWS.1).contains(&shape.rows), "{shape}");
            assert!((1..=DRAWN_DESTINATIONS as usize).contains(&shape.destinations), "{shape}");
            assert!((LEAST_SELECTED..=100).contains(&shape.select), "{shape}");
            // The printed form is what `--shape` takes.
            assert_eq!(shape.to_string().parse::<Shape>().as_ref(), Ok(shape));
        }
        let any =
            |wanted: fn(&Shape) -> bool| assert!(all.iter().filter(|s| wanted(s)).count() > 20);
        any(|shape| shape.by == By::Ids);
        any(|shape| shape.by == By::Extents);
        any(|shape| shape.by == By::Bitmaps && shape.mask == RowMask::Element);
        any(|shape| shape.row() > 512);
        any(|shape| shape.row() < 4);
        any(|shape| shape.destinations > 32);
        any(|shape| shape.columns.len() > 9);
        any(|shape| shape.pack.is_some());
        any(|shape| shape.at == At::Odd && shape.mtu == 1024);
    }

    #[test]
    fn a_seed_gives_the_same_shapes_and_longer_lists_begin_alike() {
        assert_eq!(shapes(7, 20)[..10], shapes(7, 10));
        assert_ne!(shapes(7, 10), shapes(8, 10));
    }
}
