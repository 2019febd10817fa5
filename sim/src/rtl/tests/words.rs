//! An assembler that reads few words in a cycle, which does not change the frames.

use super::*;
use crate::cards::{matrix, rig::MAC};

/// The card's frames in a run of all requests, in order, with this many words a cycle.
fn frames(words: u32) -> Vec<Vec<u8>> {
    let network = Network::new();
    network.keep_frames();
    // All requests that can go by columns do.
    let config = Config { words: Some(words), column_rows: Some(1), ..Config::default() };
    let card = RtlCard::new(config, network.clone()).expect("the card's RTL");
    matrix::exercise(&mut Rig::around(card, network.clone()));
    let [_, _, mac @ ..] = MAC.to_be_bytes();
    let frames = network.frames().into_iter().map(|frame| frame.bytes);
    frames.filter(|bytes| bytes[6..12] == mac).collect()
}

#[test]
fn frames_are_the_same_however_few_words_are_read_in_a_cycle() {
    let all = frames(16);
    assert!(all.len() > 38, "{} frames", all.len());
    for words in [1, 5] {
        assert!(frames(words) == all, "{words} words a cycle");
    }
}
