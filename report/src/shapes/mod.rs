//! Random shapes, drawn from a seed, and the share of the bound that the card reaches with each.
//!
//! | module | |
//! |---|---|
//! | [`shape`] | a shape, and its form on the command line |
//! | [`draw`] | random ones |
//! | [`build`] | a shape's requests |
//! | [`summary`] | table, mean, worst ones, plot |

pub mod build;
pub mod draw;
pub mod shape;
pub mod summary;

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

use drdma_sim::clock::NS_PER_CYCLE;

use crate::{experiment::Measurement, spent};
use shape::Shape;

/// Share of the bound that every shape should reach.
pub const LEAST: f64 = 0.85;
/// Geometric mean of the shares that all shapes together should reach.
pub const MEAN: f64 = 0.95;

/// A shape and its measurement; a text if it failed.
pub type Ran = (Shape, Result<Measurement, String>);

/// Measures shapes, `threads` at a time; the results are in the same order.
pub fn run(shapes: Vec<Shape>, threads: usize) -> Vec<Ran> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Ran>>> = shapes.iter().map(|_| Mutex::default()).collect();
    let work = || {
        while let index = next.fetch_add(1, Ordering::Relaxed)
            && let Some(shape) = shapes.get(index)
        {
            let started = Instant::now();
            let result = one(shape);
            let text = match &result.1 {
                Ok(found) => spent::rate(found),
                Err(error) => format!("FAILED, {error}"),
            };
            let seconds = started.elapsed().as_secs_f64();
            eprintln!("{}/{} {}: {text} ({seconds:.1} s)", index + 1, shapes.len(), result.0);
            *results[index].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        }
    };
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let taken = results.into_iter().map(|result| {
        let result = result.into_inner().unwrap_or_else(PoisonError::into_inner);
        result.expect("every shape was run")
    });
    taken.collect()
}

/// A line for each shape that failed.
pub fn failures(ran: &[Ran]) -> Vec<String> {
    let wrong = |(shape, result): &Ran| {
        Some(format!("the card did wrong in {shape}: {}", result.as_ref().err()?))
    };
    ran.iter().filter_map(wrong).collect()
}

/// Measures a random shape, shortened if it would take too long.
fn one(shape: &Shape) -> Ran {
    let shape = match shape.posts {
        Some(_) => shape.clone(),
        None => build::shortened(shape.clone()),
    };
    let result = build::experiment(&shape).measure().map_err(|error| error.to_string());
    (shape, result)
}

/// Measures one shape exactly as it is given, and describes where its cycles went.
///
/// # Errors
/// The card sent wrong packets, or did not complete.
pub fn explain(shape: &Shape) -> Result<String, String> {
    let experiment = build::experiment(shape);
    let found = experiment.measure().map_err(|error| error.to_string())?;
    let rows = found.payload / shape.row();
    let cycles = found.ns() / NS_PER_CYCLE / rows as f64;
    let rows = format!("  {:28} {rows}, {cycles:.2} cycles each", "rows sent");
    Ok(format!("{shape}\n{rows}\n{}", spent::text(&found)))
}

#[cfg(test)]
mod tests {
    use super::{summary::Summary, *};

    #[test]
    fn a_shape_is_measured_beside_its_bound_and_explained() {
        let shape: Shape = "columns=3x4 rows=1024 dests=2 posts=4 select=50".parse().unwrap();
        let (_, found) = &run(vec![shape.clone()], 1)[0];
        let found = found.as_ref().unwrap();
        assert_eq!((found.posts, found.payload % 12), (4, 0));
        assert!((0.1..=1.0).contains(&found.share()), "{}", spent::rate(found));
        // The card cannot read less than the bound's least.
        let ((reads, bytes), least) = (found.reads(), found.bound);
        assert!(reads >= least.reads && bytes >= least.read_bytes, "{reads}, {bytes}: {least:?}");
        let text = explain(&shape).unwrap();
        for part in ["4 of", "first latency, taken out     650 cycles", "ASSEMBLE_EMPTY"] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn what_fails_is_listed() {
        let ran = [(Shape::default(), Err("3 B for 4 B".to_owned()))];
        assert!(failures(&ran)[0].ends_with("seed=1: 3 B for 4 B"));
        assert_eq!(Summary::of(&ran).mean(), 1.0);
    }
}
