//! Random jobs do on every device what `docs/semantics.md` says, packet by packet.
//!
//! A failure prints the seed. `DRDMA_TEST_SEED=n` runs only that job, `DRDMA_TEST_JOBS=n` that many jobs
//! on the reference model, `DRDMA_TEST_RTL_JOBS=n` that many on the simulated hardware;
//! `DRDMA_TEST_FIRST=n` begins with another seed; `DRDMA_TEST_WITH=word` passes over jobs without
//! that word, `chase` for instance.

use std::{
    env,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use drdma_tests::{
    device, expect,
    random_job::{Limits, generate},
};

/// Number of failures after which a device is known to be broken.
const ENOUGH: usize = 10;

/// Number of jobs on the simulated hardware by default: some minutes' worth.
const RTL_JOBS: u64 = 300;

/// Number of other jobs for each large one.
const LARGE: u64 = 10;

/// A number from the environment.
fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is `{text}`, not a number")))
}

/// The fault of a device with the job of a seed, if there is one.
fn problem(uri: &str, limits: Limits, seed: u64) -> Option<String> {
    let job = generate(seed, limits);
    if env::var("DRDMA_TEST_WITH").is_ok_and(|word| !job.to_string().contains(&word)) {
        return None;
    }
    println!("{uri}: seed {seed}");
    let expected = expect::run(&job);
    let problem = match device::run(uri, &job) {
        Ok(found) => device::difference(&expected, &found),
        Err(error) => Some(error),
    }?;
    let job = serde_json::to_string(&job).expect("JSON");
    Some(format!("{uri}, DRDMA_TEST_SEED={seed}: {problem}\nThe job:\n{job}"))
}

/// Runs `count` jobs from seed `first` (or that of `DRDMA_TEST_FIRST`) on, or the one of
/// `DRDMA_TEST_SEED`, on a device; on a card for each of `threads`.
fn run(uri: &str, limits: Limits, first: u64, count: u64, threads: usize) {
    let first = number("DRDMA_TEST_FIRST").unwrap_or(first);
    let seeds = match number("DRDMA_TEST_SEED") {
        Some(seed) => seed..seed + 1,
        None => first..first + count,
    };
    println!("{uri}: jobs of seeds {} to {}", seeds.start, seeds.end - 1);
    let (next, failures) = (AtomicU64::new(seeds.start), Mutex::new(Vec::new()));
    let work = || {
        while let seed = next.fetch_add(1, Ordering::Relaxed)
            && seed < seeds.end
            && failures.lock().expect("no panic").len() < ENOUGH
        {
            if let Some(problem) = problem(uri, limits, seed) {
                println!("{uri}: seed {seed} fails");
                failures.lock().expect("no panic").push((seed, problem));
            }
        }
    };
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let mut failures = failures.into_inner().expect("no panic");
    failures.sort();
    if let Some((_, first)) = failures.first() {
        let seeds: Vec<_> = failures.iter().map(|(seed, _)| seed).collect();
        panic!("{uri}: these seeds fail: {seeds:?}; the first one:\n{first}");
    }
}

fn soft_jobs() -> u64 {
    number("DRDMA_TEST_JOBS").unwrap_or(2000)
}

#[test]
fn random_jobs_send_what_the_semantics_say_on_soft() {
    run("soft:", Limits::SOFT, 0, soft_jobs(), 1);
}

#[test]
fn small_random_jobs_send_what_the_semantics_say_on_soft() {
    run("soft:", Limits::RTL, 1 << 32, soft_jobs(), 1);
}

#[test]
fn a_slow_reference_model_sends_the_same() {
    let limits = Limits { partitioned: true, ..Limits::RTL };
    run("soft:?cycles=1", limits, 2 << 32, soft_jobs() / 20, 1);
}

/// The card as an endpoint finds rows once, and sends the packets of a message together.
const ENDPOINT: &str = "soft:?endpoint=1";

#[test]
fn random_jobs_send_what_the_semantics_say_on_an_endpoint() {
    run(ENDPOINT, Limits::SOFT, 0, soft_jobs() / 4, 1);
}

#[test]
fn small_random_jobs_send_what_the_semantics_say_on_an_endpoint() {
    run(ENDPOINT, Limits::RTL, 1 << 32, soft_jobs() / 4, 1);
}

#[test]
fn large_random_jobs_send_what_the_semantics_say_on_an_endpoint() {
    run(ENDPOINT, Limits::LARGE, 4 << 32, soft_jobs() / 50, 1);
}

#[test]
fn random_jobs_send_what_the_semantics_say_on_rtl() {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let jobs = number("DRDMA_TEST_RTL_JOBS").unwrap_or(RTL_JOBS);
    run("rtl:", Limits::RTL, 1 << 32, jobs / 2, threads);
}

#[test]
fn random_jobs_of_few_rows_take_the_column_path_on_rtl() {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let jobs = number("DRDMA_TEST_RTL_JOBS").unwrap_or(RTL_JOBS);
    run("rtl:?column_rows=1", Limits::RTL, 3 << 32, jobs / 2, threads);
}

#[test]
fn large_random_jobs_send_what_the_semantics_say_on_soft() {
    run("soft:", Limits::LARGE, 4 << 32, soft_jobs() / 25, 1);
}

#[test]
fn large_random_jobs_send_what_the_semantics_say_on_rtl() {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let jobs = number("DRDMA_TEST_RTL_JOBS").unwrap_or(RTL_JOBS) / LARGE;
    run("rtl:", Limits::LARGE, 4 << 32, jobs - jobs / 4, threads);
    // All requests go row by row.
    run("rtl:?column_rows=0", Limits::LARGE, 5 << 32, jobs / 4, threads);
}
