//! Runs a fabric job in this process, and compares its results.

use std::{collections::BTreeMap, path::Path, time::Duration};

use drdma_cli::{
    device::Kind,
    fabric::{
        FabricJob,
        run::{Options, run},
        supported,
    },
};
use serde_json::Value;

use super::expect::{Expected, queue};

/// Time without a completion that is too long: the longest time-out is 4.2 ms, and is tried seven times.
const PATIENCE: Duration = Duration::from_secs(2);

/// Results of a job on cards: completions as they were printed, and every buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Completions, in the order in which they were printed.
    pub completions: Vec<String>,
    /// Bytes of each buffer, by `node/buffer`.
    pub memory: BTreeMap<String, Vec<u8>>,
}

/// Runs a job on `threads` threads.
///
/// # Errors
/// A text, if the job did not run to its end. A post that completes with an error is none.
pub fn on_cards(job: &Value, threads: usize) -> Result<Found, String> {
    let text = job.to_string();
    let job = FabricJob::parse(&text, Path::new(".")).map_err(|error| error.to_string())?;
    supported::check(&job, Kind::features).map_err(|error| error.to_string())?;
    let mut completions = Vec::new();
    let mut told = |completion: Value| {
        completions.push(completion.to_string());
        Ok(())
    };
    let options = Options { patience: PATIENCE, threads };
    let outcome = run(&job, options, None, &mut told).map_err(|error| error.to_string())?;
    let mut memory = BTreeMap::new();
    for (node, buffers) in job.nodes.iter().zip(outcome.memory) {
        for (buffer, bytes) in node.buffers.iter().zip(buffers) {
            memory.insert(format!("{}/{}", node.name, buffer.name), bytes);
        }
    }
    Ok(Found { completions, memory })
}

/// The first difference between the results of cards and the expected ones.
pub fn difference(expected: &Expected, found: &Found) -> Option<String> {
    let mut queues: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for completion in &found.completions {
        let completion: Value = serde_json::from_str(completion).expect("an object");
        queues.entry(queue(&completion)).or_default().push(completion);
    }
    // The rows of appended messages are compared separately.
    let mut first = BTreeMap::new();
    for (name, completions) in &mut queues {
        for (i, completion) in completions.iter_mut().enumerate() {
            if let Some(row) = completion.get_mut("rows") {
                first.insert((name.clone(), i), row[0].take().as_u64().map(|row| row as usize));
            }
        }
    }
    for name in expected.completions.keys().chain(queues.keys()) {
        let none = Vec::new();
        let expected = expected.completions.get(name).unwrap_or(&none);
        let found = queues.get(name).unwrap_or(&none);
        if let Some(i) =
            (0..expected.len().max(found.len())).find(|i| expected.get(*i) != found.get(*i))
        {
            let show = |of: Option<&Value>| of.map_or("nothing".to_owned(), Value::to_string);
            let (expected, found) = (show(expected.get(i)), show(found.get(i)));
            return Some(format!(
                "{name}: completion {i}:\n  expected {expected}\n  found    {found}"
            ));
        }
    }
    let memory = match with_appended(expected, &first) {
        Ok(memory) => memory,
        Err(problem) => return Some(problem),
    };
    for (name, expected) in &memory {
        let found = &found.memory[name];
        let differs = |at: &usize| expected[*at].is_some_and(|byte| byte != found[*at]);
        if let Some(at) = (0..expected.len()).find(differs) {
            let count = (0..expected.len()).filter(differs).count();
            let byte = expected[at].expect("it differs");
            return Some(format!(
                "{name}: {count} of {} B differ, first byte {at}: expected {byte:#04x}, found {:#04x}",
                expected.len(),
                found[at]
            ));
        }
    }
    None
}

/// The bytes that memory must have, with appended messages in the rows that completions name.
fn with_appended(
    expected: &Expected,
    first: &BTreeMap<(String, usize), Option<usize>>,
) -> Result<BTreeMap<String, Vec<Option<u8>>>, String> {
    let mut memory = expected.memory.clone();
    for ((node, name), appended) in &expected.appended {
        let mut buffers = BTreeMap::new();
        for (of, bytes) in &mut memory {
            if let Some((_, buffer)) = of.split_once('/').filter(|(owner, _)| owner == node) {
                buffers.insert(buffer.to_owned(), std::mem::take(bytes));
            }
        }
        let told = |queue: &str, index| first.get(&(queue.to_owned(), index)).copied().flatten();
        appended
            .fill(&told, &mut buffers)
            .map_err(|problem| format!("{node}/{name}: {problem}"))?;
        for (buffer, bytes) in buffers {
            memory.insert(format!("{node}/{buffer}"), bytes);
        }
    }
    Ok(memory)
}
