//! The order of the steps of a random fabric job.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::{
    expect::{list, text},
    random::Random,
};

/// Field that marks receives that are posted behind their messages.
pub const LATER: &str = "later";

/// The steps of all nodes in one order that keeps that of each list.
pub fn interleave(random: &mut Random, lists: Vec<Vec<Value>>) -> Vec<Value> {
    let mut lists: Vec<_> = lists.into_iter().map(|list| list.into_iter().peekable()).collect();
    let mut steps = Vec::new();
    loop {
        lists.retain_mut(|list| list.peek().is_some());
        if lists.is_empty() {
            return steps;
        }
        let from = random.range(0..=lists.len() as u64 - 1) as usize;
        steps.extend(lists[from].next());
    }
}

/// Puts some waits between the steps. Receives that come behind their messages all come before the first
/// one, which would wait for them.
pub fn wait(random: &mut Random, steps: &mut Vec<Value>) {
    let count = random.skewed(0..=3);
    if count == 0 {
        return;
    }
    let first = random.range(0..=steps.len() as u64) as usize;
    let behind = steps.split_off(first);
    let (receives, mut behind): (Vec<_>, Vec<_>) =
        behind.into_iter().partition(|step| step["$comment"] == LATER);
    for _ in 1..count {
        let at = random.range(0..=behind.len() as u64) as usize;
        behind.insert(at, json!({"wait": "all"}));
    }
    steps.extend(receives);
    steps.push(json!({"wait": "all"}));
    steps.append(&mut behind);
}

/// Moves all receives to the front, with a wait behind them: no message comes before its receive.
pub fn receives_first(steps: Vec<Value>) -> Vec<Value> {
    let is_receive =
        |step: &Value| step.get("verb").is_some_and(|verb| text(verb).ends_with("recv"));
    let (mut all, others): (Vec<_>, Vec<_>) = steps.into_iter().partition(is_receive);
    all.push(json!({"wait": "all"}));
    all.extend(others);
    all
}

/// Signals the last post of each queue before a wait, so that its completion is known.
pub fn signal(steps: &mut [Value]) {
    let mut last = HashSet::new();
    for step in steps.iter_mut().rev() {
        if step.get("wait").is_some() {
            last.clear();
        } else if !text(&step["verb"]).ends_with("recv") {
            let mut queue: Vec<String> =
                destinations(step).iter().map(|d| d["qp"].to_string()).collect();
            queue.sort_unstable();
            let shared = step.get("destinations").is_some();
            if last.insert((step["node"].to_string(), shared, queue)) {
                step.as_object_mut().expect("an object").remove("signaled");
            }
        }
    }
}

/// The destinations of a post; `post_send` has its only one's fields in itself.
pub fn destinations(post: &Value) -> Vec<&Value> {
    match post.get("destinations") {
        Some(all) => list(all).iter().collect(),
        None => vec![post],
    }
}
