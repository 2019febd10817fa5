//! Shapes that nobody chose: random ones, drawn from a seed, and the share of the bound that the card
//! reaches with each.
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
    fmt::Write as _,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

use drdma_sim::{clock::NS_PER_CYCLE, pcie::usage::Usage};

use crate::experiment::Measurement;
use shape::Shape;

/// The share of the bound that every shape is to reach.
pub const LEAST: f64 = 0.85;
/// What the geometric mean of all is to reach.
pub const MEAN: f64 = 0.95;

/// A shape and what it gave; text if it failed.
pub type Ran = (Shape, Result<Measurement, String>);

/// Measures shapes, so many at a time; the answers are in the same order.
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
                Ok(found) => summary::line(found),
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

/// What went wrong, a line each.
pub fn failures(ran: &[Ran]) -> Vec<String> {
    let wrong = |(shape, result): &Ran| {
        Some(format!("the card did wrong in {shape}: {}", result.as_ref().err()?))
    };
    ran.iter().filter_map(wrong).collect()
}

/// A random shape, made shorter if it would take too long.
fn one(shape: &Shape) -> Ran {
    let shape = match shape.posts {
        Some(_) => shape.clone(),
        None => build::shortened(shape.clone()),
    };
    let result = build::experiment(&shape).measure().map_err(|error| error.to_string());
    (shape, result)
}

/// One shape exactly as it is told, and where its cycles went.
///
/// # Errors
/// The card did something wrong, or nothing.
pub fn explain(shape: &Shape) -> Result<String, String> {
    let experiment = build::experiment(shape);
    let found = experiment.measure().map_err(|error| error.to_string())?;
    let mut text = format!("{shape}\n");
    let mut row = |name: &str, value: String| {
        writeln!(text, "  {name:28} {value}").expect("a string");
    };
    let cycles = |ns: f64| format!("{:.0} cycles", ns / NS_PER_CYCLE);
    row("rate", summary::line(&found));
    row("doorbell to last byte", format!("{} cycles", found.cycles()));
    row("doorbell to first frame", cycles(found.first_frame_ns));
    row("first latency, taken out", cycles(found.bound.latency_ns));
    row("bound, without it", cycles(found.bound.whole_ns - found.bound.latency_ns));
    row("  of the wire alone", cycles(found.bound.wire_ns - found.bound.latency_ns));
    let per = |count: u64| format!("{:.2} cycles each", found.ns() / NS_PER_CYCLE / count as f64);
    let payload = found.payload / found.posts;
    row("requests", format!("{} of {payload} B, {}", found.posts, per(found.posts)));
    row("packets", format!("{}, {}", found.packets, per(found.packets)));
    let rows: u64 = found.payload / shape.row();
    row("rows sent", format!("{rows}, {}", per(rows)));
    let (reads, bytes) = found.reads();
    row("DMA reads", format!("{reads}, at least {}", found.bound.reads));
    row("bytes read", format!("{bytes}, at least {}", found.bound.read_bytes));
    let in_flight = found.usage.round_trips_ps as f64 / 1000.0 / found.whole_ns;
    row("reads in flight, on average", format!("{in_flight:.1} of {}", crate::rig::host().tags));
    let Usage { used, start, between, .. } = found.usage;
    let end = found.cycles() as f64 - used - start - between;
    row("cycles that reads use", format!("{used:.0}, if their limit were always reached"));
    row("  lost before data reads", format!("{start:.0}"));
    row("  lost between", format!("{between:.0}"));
    row("  lost after them", format!("{end:.0}"));
    let names = [
        "assembler read payload",
        "  a byte waited for its bank",
        "  waited for data",
        "  stopped by the packetizer",
    ];
    for (name, percent) in names.iter().zip(found.assembler()) {
        row(name, format!("{percent:.1} % of the cycles"));
    }
    for (name, value) in found.counters.iter() {
        row(name, value.to_string());
    }
    Ok(text)
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
        assert!((0.1..=1.0).contains(&found.share()), "{}", summary::line(found));
        // No card reads less than must be read.
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
