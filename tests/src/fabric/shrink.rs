//! Makes a job that fails smaller.

use serde_json::{Value, json};

/// Faults of a network.
const FAULTS: [&str; 4] = ["loss", "duplicate", "reorder", "corrupt"];

/// The smallest job found for which `fails` is still true: without faults and steps that are not needed for that.
pub fn shrink(job: &Value, fails: &dyn Fn(&Value) -> bool) -> Value {
    let mut job = job.clone();
    for fault in FAULTS {
        let mut without = job.clone();
        without["network"][fault] = json!(0);
        if fails(&without) {
            job = without;
        }
    }
    let steps = |job: &Value| job["steps"].as_array().map_or(0, Vec::len);
    // Half of the steps are left out first, then smaller parts.
    let mut part = steps(&job) / 2;
    while part > 0 {
        let mut at = 0;
        while at < steps(&job) {
            let mut without = job.clone();
            let list = without["steps"].as_array_mut().expect("a list of steps");
            list.drain(at..(at + part).min(list.len()));
            match fails(&without) {
                true => job = without,
                false => at += part,
            }
        }
        part /= 2;
    }
    job
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_needed_goes() {
        let steps: Vec<u64> = (0..100).collect();
        let job = json!({"network": {"loss": 0.5, "reorder": 0.5}, "steps": steps});
        let fails = |job: &Value| {
            let steps = job["steps"].as_array().unwrap();
            job["network"]["loss"] != 0 && [17, 71].iter().all(|step| steps.contains(&json!(step)))
        };
        let shrunk = shrink(&job, &fails);
        assert_eq!(shrunk["steps"], json!([17, 71]));
        assert_eq!(
            (&shrunk["network"]["loss"], &shrunk["network"]["reorder"]),
            (&json!(0.5), &json!(0))
        );
    }
}
