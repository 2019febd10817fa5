//! Small SENDs: the latency of one, and the rate of many.

use drdma_verilated::testbench::Random;

use super::{SEED, at, one};
use crate::{
    experiment::{Experiment, Target},
    layout::{Piece, Post, Region},
};

/// Requests of the experiments on message rates, and their payload in bytes.
const SMALL_POSTS: usize = 4096;
const SMALL: u64 = 64;

/// The latency of one SEND on an idle card.
pub fn latency() -> Experiment {
    let title = "one SEND of 64 B on an idle card: doorbell to first byte on the wire";
    let target = Target::Latency { round_trips: 2, cycles: 60 };
    let region = Region::Contiguous(Piece { at: at(0, 0), len: SMALL });
    let experiment = one("latency", title, target, vec![Random::new(SEED).bytes(64)], region);
    Experiment { write: false, ..experiment }
}

/// Thousands of small SENDs, rung together: one queue or sixteen, payloads side by side or each elsewhere. Queues are
/// worked through one after another, so that payloads lie side by side for the card where each queue's do; where
/// neighbours are of different queues, each is a read of its own.
pub fn rates() -> Vec<Experiment> {
    let mut all = Vec::new();
    for queues in [1, 16] {
        let named = if queues == 1 { "one queue" } else { "16 queues" };
        let mut add = |id: &str, what: &str, payloads, target| {
            let id = format!("rate-{queues}-{id}");
            let title = format!("{SMALL_POSTS} SENDs of {SMALL} B, {named}, {what}");
            all.push(rate(&id, &title, target, queues, payloads));
        };
        add("together", "payloads side by side", Payloads::Adjacent, Target::MegaPosts(50.0));
        add("apart", "each payload elsewhere", Payloads::Apart, Target::MegaPosts(35.0));
        if queues > 1 {
            let what = "payloads of different queues side by side";
            add("between", what, Payloads::Between, Target::MegaPosts(35.0));
        }
        let what = "payloads side by side, up to the last completion";
        add("completed", what, Payloads::Adjacent, Target::MegaCompletions(25.0));
    }
    all
}

/// Layout of the payloads in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Payloads {
    /// Payloads of a queue lie side by side, in the order of its requests.
    Adjacent,
    /// Payloads of different queues lie side by side, in the order of the posts.
    Between,
    /// Payloads lie 1,024 B from each other, in random order.
    Apart,
}

/// Small SENDs that take turns in `queues` queues.
fn rate(id: &str, title: &str, target: Target, queues: usize, payloads: Payloads) -> Experiment {
    let mut random = Random::new(SEED);
    let apart = if payloads == Payloads::Apart { 1024 } else { SMALL };
    let mut slots: Vec<u64> = (0..SMALL_POSTS as u64).collect();
    match payloads {
        Payloads::Adjacent => {
            let each = SMALL_POSTS / queues;
            slots = (0..SMALL_POSTS).map(|k| (k % queues * each + k / queues) as u64).collect();
        }
        Payloads::Between => {}
        Payloads::Apart => {
            for k in (1..slots.len()).rev() {
                slots.swap(k, random.below(k as u64 + 1) as usize);
            }
        }
    }
    let post = |(index, slot): (usize, u64)| {
        let region = Region::Contiguous(Piece { at: at(0, slot * apart), len: SMALL });
        Post::Own { to: index % queues, regions: vec![region] }
    };
    let buffers = vec![random.bytes(SMALL_POSTS * apart as usize)];
    let region = Region::Contiguous(Piece { at: at(0, 0), len: SMALL });
    Experiment {
        write: false,
        posts: slots.into_iter().enumerate().map(post).collect(),
        ..one(id, title, target, buffers, region)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_sends_lie_side_by_side_or_apart() {
        // The offsets of each queue's payloads.
        let offsets = |id: &str| -> Vec<Vec<u64>> {
            let experiment = rates().into_iter().find(|experiment| experiment.id == id).unwrap();
            let of_queue = |to: &crate::layout::Destination| {
                to.messages.iter().map(|m| m[0].at.offset).collect()
            };
            experiment.messages().iter().map(of_queue).collect()
        };
        for (id, queues) in [("rate-1-together", 1), ("rate-16-together", 16)] {
            let together = offsets(id);
            assert_eq!(together.len(), queues);
            assert!(together.iter().all(|queue| queue.len() == SMALL_POSTS / queues));
            assert!(together.iter().flatten().is_sorted());
            let adjacent = |pair: &[u64]| pair[1] == pair[0] + SMALL;
            assert!(together.iter().all(|queue| queue.windows(2).all(adjacent)));
        }
        let between = offsets("rate-16-between");
        assert!((1..16).all(|queue| between[queue][0] == between[queue - 1][0] + SMALL));
        for queue in between.iter().chain(&offsets("rate-16-apart")) {
            assert_eq!(queue.len(), SMALL_POSTS / 16);
            assert!(queue.windows(2).all(|pair| pair[0].abs_diff(pair[1]) >= 1024));
        }
    }
}
