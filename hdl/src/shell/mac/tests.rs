use drdma_verilated::testbench::{Beat, Bench, Random, STALLS};
use drdma_verilated::{Library, Word};

use super::Mac;
use crate::testing;

fn library() -> Library {
    testing::library("mac", Mac::default)
}

fn bench(library: &Library, seed: u64) -> Bench<'_> {
    let mut bench = Bench::new(library.instance(seed), seed);
    bench.set("card_reset", 0_u64);
    bench
}

/// Beats of frames of random lengths, with the names of the host's or the card's stream.
fn frames(random: &mut Random, count: usize, prefix: &str, host: bool) -> Vec<Vec<Beat>> {
    let mut frame = |_| {
        let beats = 1 + random.below(5);
        let (id, dest, user) = (random.word(16), random.word(16), random.word(32));
        let beat = |k: u64| {
            let last = k + 1 == beats;
            let keep = if last { u64::MAX >> random.below(64) } else { u64::MAX };
            let mut beat = Beat::new();
            beat.set(format!("{prefix}data"), random.word(512));
            beat.set(format!("{prefix}keep"), keep);
            beat.set(format!("{prefix}last"), last);
            if host {
                beat.set("tid", id.clone());
                beat.set("tdest", dest.clone());
                beat.set("tuser", user.clone());
            }
            beat
        };
        (0..beats).map(beat).collect()
    };
    (0..count).map(&mut frame).collect()
}

#[test]
fn frames_of_host_and_card_reach_the_wire_whole_and_in_order() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let (host, card) = (frames(&mut random, 60, "t", true), frames(&mut random, 60, "", false));
        let mut bench = bench(&library, seed);
        // The completion streams share the prefix; they are driven by another test.
        let own = bench.driver("tx");
        let beats: usize = host.iter().chain(&card).map(Vec::len).sum();
        bench.stall(stalls);
        bench.send_all(own, card.iter().flatten().cloned());
        let (mut out, mut host_beats) = (Vec::new(), host.iter().flatten().cloned().peekable());
        let (mut offered, mut cycles) = (false, 0_u64);
        let mut mid_frame_owner = None;
        let mut frames_out: Vec<(bool, Vec<Beat>)> = Vec::new();
        while out.len() < beats {
            cycles += 1;
            assert!(cycles < 20_000, "{} of {beats} beats in {cycles} cycles", out.len());
            offered = host_beats.peek().is_some() && (offered || !random.chance(stalls.0));
            bench.set("s_axis_if_tx_tvalid", offered);
            if let Some(beat) = host_beats.peek().filter(|_| offered) {
                for (field, value) in beat.fields() {
                    bench.set(format!("s_axis_if_tx_{field}").as_str(), value.clone());
                }
            }
            let ready = !random.chance(stalls.1);
            bench.set("m_axis_if_tx_tready", ready);
            bench.model().settle();
            let took = offered && bench.get("s_axis_if_tx_tready") == 1;
            if ready && bench.get("m_axis_if_tx_tvalid") == 1 {
                let mut beat = Beat::new();
                for field in ["tdata", "tkeep", "tlast", "tid", "tdest", "tuser"] {
                    beat.set(field, bench.get_word(format!("m_axis_if_tx_{field}").as_str()));
                }
                if mid_frame_owner.is_none() {
                    frames_out.push((true, vec![]));
                }
                mid_frame_owner = (beat.u64("tlast") == 0).then_some(());
                frames_out.last_mut().unwrap().1.push(beat.clone());
                out.push(beat);
            }
            bench.step();
            if took {
                host_beats.next();
                offered = false;
            }
        }
        let plain = |beat: &Beat| {
            let mut plain = Beat::new();
            for field in ["data", "keep", "last"] {
                plain.set(field, beat.get(&format!("t{field}")).clone());
            }
            plain
        };
        let is_card = |frame: &[Beat]| card.iter().any(|c| c[0] == plain(&frame[0]));
        let (mut hosts, mut cards) = (Vec::new(), Vec::new());
        for (_, frame) in frames_out {
            if is_card(&frame) {
                for beat in &frame {
                    assert_eq!((beat.u64("tid"), beat.u64("tdest"), beat.u64("tuser")), (0, 0, 0));
                }
                cards.push(frame.iter().map(plain).collect::<Vec<_>>());
            } else {
                hosts.push(frame);
            }
        }
        assert_eq!(hosts, host);
        assert_eq!(cards, card);
    }
}

#[test]
fn the_card_alone_sends_a_beat_a_cycle() {
    let library = library();
    let mut bench = bench(&library, 1);
    let own = bench.driver("tx");
    let card = frames(&mut Random::new(9), 100, "", false);
    bench.set("m_axis_if_tx_tready", 1_u64);
    bench.send_all(own, card.iter().flatten().cloned());
    bench.run_until(|bench| bench.pending(own) == 0);
    let sent = bench.sent_at(own);
    assert_eq!(sent.last().unwrap() - sent[0] + 1, sent.len() as u64);
}

#[test]
fn completions_of_the_cards_frames_are_swallowed() {
    let library = library();
    for (seed, stalls) in (1..).zip(STALLS) {
        let mut random = Random::new(seed);
        let mut bench = bench(&library, seed);
        let (input, output) = (bench.driver("s_axis_if_tx_cpl"), bench.monitor("m_axis_if_tx_cpl"));
        bench.stall(stalls);
        let all: Vec<_> = (0..200)
            .map(|_| Beat::new().with("ts", random.word(96)).with("tag", random.word(16)))
            .collect();
        bench.send_all(input, all.clone());
        bench.run_until(|bench| bench.pending(input) == 0);
        bench.run(100);
        let host: Vec<_> = all.into_iter().filter(|beat| beat.u64("tag") >> 15 == 1).collect();
        assert_eq!(bench.take(output), host);
        assert_eq!(bench.get_word("m_axis_if_tx_tvalid"), Word::zero());
    }
}

/// A soft reset leaves the host's frames alone, and the wire without half a frame.
#[test]
fn a_frame_that_a_reset_cuts_ends_as_an_error() {
    let library = library();
    for ready_after in 0..4 {
        let mut bench = bench(&library, 1);
        let begun = [Beat::new().with("keep", u64::MAX).with("data", 1_u64)];
        let own = bench.driver("tx");
        bench.set("m_axis_if_tx_tready", 1_u64);
        bench.send_all(own, begun.iter().cycle().take(3).cloned());
        bench.run_until(|bench| bench.pending(own) == 0);
        bench.set("m_axis_if_tx_tready", 0_u64);
        bench.set("s_axis_if_tx_tvalid", 1_u64);
        bench.set("s_axis_if_tx_tdata", 2_u64);
        bench.set("s_axis_if_tx_tlast", 1_u64);
        bench.set("s_axis_if_tx_tuser", 0_u64);
        bench.set("card_reset", 1_u64);
        let mut out = Vec::new();
        for cycle in 0..30 {
            bench.set("card_reset", u64::from(cycle < 16));
            bench.set("m_axis_if_tx_tready", u64::from(cycle >= ready_after));
            bench.model().settle();
            if cycle >= ready_after && bench.get("m_axis_if_tx_tvalid") == 1 {
                let field = |name: &str| bench.get(format!("m_axis_if_tx_{name}").as_str());
                out.push((field("tlast"), field("tuser")));
            }
            bench.step();
        }
        let end = out.iter().position(|beat| beat.0 == 1).expect("the frame ends");
        assert!(end <= 3, "{out:?}");
        assert_eq!(out[end], (1, 1), "as an error");
        assert!(out.len() > end + 5, "the host's frames follow: {out:?}");
        assert!(out[end + 1..].iter().all(|beat| *beat == (1, 0)), "{out:?}");
    }
}
