//! Small SENDs: the latency of one, and how many go in a second.

use drdma_verilated::testbench::Random;

use super::{SEED, at, one};
use crate::{
    experiment::{Experiment, Target},
    layout::{Piece, Post, Region},
};

/// Requests of the experiments on message rates, and their payload in bytes.
const SMALL_POSTS: usize = 4096;
const SMALL: u64 = 64;

/// One SEND on an idle card.
pub fn latency() -> Experiment {
    let title = "one SEND of 64 B on an idle card: doorbell to first byte on the wire";
    let target = Target::Latency { round_trips: 2, cycles: 60 };
    let region = Region::Contiguous(Piece { at: at(0, 0), len: SMALL });
    let experiment = one("latency", title, target, vec![Random::new(SEED).bytes(64)], region);
    Experiment { write: false, ..experiment }
}

/// Thousands of small SENDs, rung together: one queue or sixteen, payloads side by side or each elsewhere.
pub fn rates() -> Vec<Experiment> {
    let mut all = Vec::new();
    for queues in [1, 16] {
        let named = if queues == 1 { "one queue" } else { "16 queues" };
        let mut add = |id: &str, what: &str, apart: u64, target| {
            let id = format!("rate-{queues}-{id}");
            let title = format!("{SMALL_POSTS} SENDs of {SMALL} B, {named}, {what}");
            all.push(rate(&id, &title, target, queues, apart));
        };
        add("together", "payloads side by side", SMALL, Target::MegaPosts(50.0));
        add("apart", "each payload elsewhere", 1024, Target::MegaPosts(35.0));
        let what = "payloads side by side, up to the last completion";
        add("completed", what, SMALL, Target::MegaCompletions(25.0));
    }
    all
}

/// Small SENDs of payloads that lie `apart` bytes from each other, in order if they touch, at random if not.
fn rate(id: &str, title: &str, target: Target, queues: usize, apart: u64) -> Experiment {
    let mut random = Random::new(SEED);
    let mut slots: Vec<u64> = (0..SMALL_POSTS as u64).collect();
    if apart > SMALL {
        for k in (1..slots.len()).rev() {
            slots.swap(k, random.below(k as u64 + 1) as usize);
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
        let offsets = |id: &str| -> Vec<u64> {
            let experiment = rates().into_iter().find(|experiment| experiment.id == id).unwrap();
            let to = &experiment.messages()[0];
            to.messages.iter().map(|message| message[0].at.offset).collect()
        };
        let together = offsets("rate-1-together");
        assert!(together.windows(2).all(|pair| pair[1] == pair[0] + SMALL));
        let apart = offsets("rate-16-apart");
        assert_eq!((together.len(), apart.len()), (SMALL_POSTS, SMALL_POSTS / 16));
        assert!(apart.windows(2).all(|pair| pair[0].abs_diff(pair[1]) >= 1024));
    }
}
