//! Posts with inline data.

use serde_json::{Value, json};

use super::{Generator, Head};
use crate::random::Random;

/// Bytes of inline data, at most.
const MOST: u64 = 64;

/// Inserts some such posts between the others. They use random numbers of their own, so that without them the job of a
/// seed is the same.
pub(super) fn insert(seed: u64, qps: &[Value], generator: &Generator, posts: &mut Vec<Value>) {
    let mut random = Random::new(seed ^ 0x1a11_e000);
    if !random.one_in(3) {
        return;
    }
    for i in 0..random.skewed(1..=6) {
        let mut head = generator.head(&mut random, qps, false, 1);
        let regions = match random.one_in(4) {
            // A message of no bytes.
            true => Vec::new(),
            false => regions(&mut random, &generator.tables),
        };
        let entry = head.entry(&mut random, head.order[0], regions);
        head.finish(vec![entry]);
        let Head { mut post, .. } = head;
        post["inline"] = json!(true);
        post["wr_id"] = json!(1000 + i);
        let at = random.range(0..=posts.len() as u64);
        posts.insert(at as usize, post);
    }
}

/// One to four runs of bytes, together at most as many as a request takes.
fn regions(random: &mut Random, tables: &[(String, u64)]) -> Vec<Value> {
    let mut left = MOST;
    let mut regions = Vec::new();
    for _ in 0..random.skewed(1..=4) {
        let (name, size) = random.pick(tables);
        let most = left.min(*size);
        // The data are often as long as there is room for.
        let len = if random.one_in(3) { most } else { random.range(1.min(most)..=most) };
        if len == 0 {
            break;
        }
        let offset = random.range(0..=size - len);
        regions.push(json!({"type": "contiguous", "buffer": name, "offset": offset, "len": len}));
        left -= len;
    }
    regions
}
