//! Goodput of short messages by the words that the assembler reads in a cycle.

use drdma_sim::clock::NS_PER_CYCLE;

use super::{
    Drawing, Figure, Measured,
    picture::{Axis, Legend, Look, Panel, Picture, Scale, Series, number},
};
use crate::{
    bound,
    catalogue::{self, BEAT_WORDS},
    page::{finished, markdown},
};

/// Figure 15.
pub const FIGURE: Figure = Figure { id: "figure-15", experiments: catalogue::words, draw };

/// Number of words from which on the paper reaches line rate, at 322 MHz.
const PAPER: u32 = 8;
/// Payload bytes of a message.
const MESSAGE: u64 = 128;

/// Gb/s that this many words a cycle could carry, however they are packed.
fn at_most(words: u32) -> f64 {
    f64::from(words) * 32.0 / NS_PER_CYCLE
}

/// Gb/s of payload that the wire carries.
fn wire() -> f64 {
    let bytes = bound::wire_bytes(MESSAGE, 4096, drdma_abi::roce::Transport::Rc, true);
    MESSAGE as f64 * 8.0 / bound::wire_ns(bytes)
}

fn draw(measured: &Measured) -> Result<Drawing, String> {
    let mut found = Vec::new();
    for words in 1..=BEAT_WORDS {
        found.push((words, measured.gbps(&catalogue::words_id(words))?));
    }
    let (wire, top) = (wire(), 80.0);
    let last = (1..=BEAT_WORDS).filter(|words| at_most(*words) <= top).max().unwrap_or(1);
    let picture = Picture {
        panels: vec![Panel {
            title: "Messages of 128 B, 32 values of 4 B",
            x: Axis {
                label: "words of 4 B that the assembler may read in a cycle of 4 ns",
                scale: Scale::Linear,
                from: 0.0,
                to: 17.0,
            },
            y: Axis { label: "goodput, Gb/s", scale: Scale::Linear, from: 0.0, to: top },
            series: vec![
                Series::new(
                    "here, at 250 MHz",
                    Look::Measured,
                    found.iter().map(|(words, gbps)| (f64::from(*words), *gbps)).collect(),
                ),
                Series::new(
                    "all that so many words carry",
                    Look::Limit,
                    vec![(0.0, 0.0), (f64::from(last), at_most(last))],
                ),
                Series::new("the wire", Look::Limit, vec![(0.0, wire), (17.0, wire)]),
                Series::new(
                    "paper: line rate from 8 words on, at 322 MHz",
                    Look::PaperLine,
                    vec![(f64::from(PAPER), 0.0), (f64::from(PAPER), top)],
                ),
            ],
            legend: Legend::LowerRight,
        }],
    };
    let steps: Vec<String> = [1, 2, 4, 6, 8, 16]
        .map(|words| format!("{} at {words}", number(found[words as usize - 1].1)))
        .into();
    let alt = format!(
        "Goodput grows in steps with the words a cycle, in Gb/s: {}. The wire carries {} Gb/s. A dashed line at 8 \
         words is where the paper reaches line rate.",
        steps.join(", "),
        number(wire)
    );
    Ok(Drawing {
        title: "Figure 15: words that the assembler reads in a cycle",
        alt,
        text: TEXT.to_owned(),
        picture,
        table: table(&found, wire),
    })
}

const TEXT: &str = "\
RC WRITEs of 128 B, each of 32 values of 4 B with a byte between one and the next, on the card with its register
`ASSEMBLER_WORDS` at 1 to 16 (`rtl:?words=N`). The assembler takes beats of 64 B of payload, 16 words, so that N words a
cycle mean ceil(16 / N) cycles a beat, at 250 MHz: 5 words are no faster than 4, and 7 no faster than 6.
The paper's card has no such beats, runs at 322 MHz, and reaches line rate with packets of 198 B from 8 words on;
here they are 202 B with the ICRC, and 226 B on the wire with FCS, preamble and gap.";

fn table(found: &[(u32, f64)], wire: f64) -> String {
    let header =
        ["words a cycle", "Gb/s", "all that they carry", "in whole cycles a beat", "of the wire"];
    let mut table = markdown(&header);
    for (words, gbps) in found {
        table.add_row([
            words.to_string(),
            number(*gbps),
            number(at_most(*words)),
            number(catalogue::beats_gbps(*words)),
            format!("{:.1} %", 100.0 * gbps / wire),
        ]);
    }
    finished(table, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_carry_32_bits_a_cycle() {
        assert_eq!([1, 8, 16].map(at_most), [8.0, 64.0, 128.0]);
        assert_eq!(
            [1, 3, 4, 7, 8, 15, 16].map(catalogue::beats_gbps).map(f64::round),
            [8.0, 21.0, 32.0, 43.0, 64.0, 64.0, 128.0]
        );
    }

    #[test]
    fn there_is_an_experiment_for_every_number_of_words() {
        let all = catalogue::words();
        let words: Vec<_> = all.iter().filter_map(|experiment| experiment.words).collect();
        assert_eq!(words, (1..=BEAT_WORDS).collect::<Vec<_>>());
        for experiment in all {
            let messages = experiment.messages().into_iter().flat_map(|to| to.messages);
            let len = |message: Vec<_>| {
                message.iter().map(|piece: &crate::layout::Piece| piece.len).sum::<u64>()
            };
            assert!(messages.map(len).all(|len| len == MESSAGE));
            assert_eq!(experiment.id, catalogue::words_id(experiment.words.unwrap()));
        }
    }
}
