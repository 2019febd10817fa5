//! Measures the simulated card and writes docs/results.md; run by `cargo xtask report`.

mod bound;
mod catalogue;
mod experiment;
mod goodput;
mod layout;
mod rig;

fn main() {
    let only = std::env::args().nth(1).unwrap_or_default();
    for e in catalogue::all() {
        if !e.id.contains(&only) { continue; }
        let t = std::time::Instant::now();
        match e.run() {
            Ok(f) => println!("{}: {f} whole {:.1} reads {:?} best {:?} ({:.1}s)", e.id, f.whole, f.reads, f.best, t.elapsed().as_secs_f64()),
            Err(err) => println!("{}: FAILED {err}", e.id),
        }
    }
}
