//! Random jobs do on every device what `docs/semantics.md` says, packet by packet.
//!
//! A failure prints the seed. `DRDMA_TEST_SEED=n` runs only that job, `DRDMA_TEST_JOBS=n` so many
//! on the reference model, `DRDMA_TEST_RTL_JOBS=n` so many on the simulated hardware.

use std::env;

use drdma_tests::{
    device, expect,
    random_job::{Limits, generate},
};

/// A number from the environment.
fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is `{text}`, not a number")))
}

/// Runs `count` jobs from `first` on, or the one of `DRDMA_TEST_SEED`, on a device.
fn run(uri: &str, limits: Limits, first: u64, count: u64) {
    let seeds = match number("DRDMA_TEST_SEED") {
        Some(seed) => seed..seed + 1,
        None => first..first + count,
    };
    println!("{uri}: jobs of seeds {} to {}", seeds.start, seeds.end - 1);
    for seed in seeds {
        let job = generate(seed, limits);
        let expected = expect::run(&job);
        let problem = match device::run(uri, &job) {
            Ok(found) => device::difference(&expected, &found),
            Err(error) => Some(error),
        };
        if let Some(problem) = problem {
            panic!(
                "{uri}, DRDMA_TEST_SEED={seed}: {problem}\nThe job:\n{}",
                serde_json::to_string(&job).expect("JSON")
            );
        }
    }
}

fn soft_jobs() -> u64 {
    number("DRDMA_TEST_JOBS").unwrap_or(2000)
}

#[test]
fn random_jobs_send_what_the_semantics_say_on_soft() {
    run("soft:", Limits::SOFT, 0, soft_jobs());
}

#[test]
fn small_random_jobs_send_what_the_semantics_say_on_soft() {
    run("soft:", Limits::RTL, 1 << 32, soft_jobs());
}

#[test]
fn a_slow_reference_model_sends_the_same() {
    run("soft:?cycles=1", Limits::RTL, 2 << 32, soft_jobs() / 20);
}

#[test]
fn random_jobs_send_what_the_semantics_say_on_rtl() {
    // The simulated hardware is slow to build; it takes part when it is asked for.
    let jobs = number("DRDMA_TEST_RTL_JOBS").unwrap_or(0);
    if jobs > 0 {
        run("rtl:", Limits::RTL, 1 << 32, jobs);
    }
}
