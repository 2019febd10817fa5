//! Why a figure is missed: what is known about it, by the experiment's name. Shown in the report only
//! while the figure is missed.

/// Name of the experiment, reason.
const REASONS: &[(&str, &str)] = &[
    ("contiguous", LONG_READS),
    ("shuffle-2", ROW_A_CYCLE),
    ("shuffle-16", TURNS),
    ("shuffle-64", TURNS),
    ("shuffle-64-partitioned", "The verb is not there yet."),
    ("shuffle-2-width-1", ROW_A_CYCLE),
    ("shuffle-2-width-2", ROW_A_CYCLE),
    ("shuffle-2-width-8", ROW_A_CYCLE),
    ("shuffle-2-odd", ROW_A_CYCLE),
    ("oltp", ROW_A_CYCLE),
    ("bitmap-random-1", SPARSE),
    ("bitmap-random-10", SPARSE),
    ("bitmap-random-50", ROW_A_CYCLE),
    ("bitmap-random-90", ROW_A_CYCLE),
    ("bitmap-runs-1", ROW_A_CYCLE),
    ("bitmap-runs-10", ROW_A_CYCLE),
    ("bitmap-runs-50", ROW_A_CYCLE),
    ("bitmap-runs-90", ROW_A_CYCLE),
    (
        "lists-2",
        "Every row is a request of its own, and the card was made for few large ones: it waits for a \
         request's data before it plans much further. The paper's figure is of another card, whose \
         lists are its strength.",
    ),
    (
        "latency",
        "Two round trips take 650 cycles; the rest is the latency of the dozen blocks that a request \
         passes, one of which waits 8 cycles for more to plan.",
    ),
];

const ROW_A_CYCLE: &str =
    "At most one row a cycle goes through the card: 40 Gb/s with rows of 20 B.";
const TURNS: &str = "The assembler waits for data in most of the cycles: the destinations take turns of a \
                     few rows each, and their bitmaps are read in small pieces.";
const SPARSE: &str = "The assembler waits for data in most of the cycles: the card makes more reads than \
                      the best plan, because it reads through gaps between 256 B blocks only where \
                      they are neighbours in its window, and those of several columns are not.";
const LONG_READS: &str = "Reads of 512 B hold the 16 KiB in flight for longer than the card's host needs: \
     with MAX_READ at 256 it reaches 96.9 Gb/s.";

/// The reason recorded for an experiment.
pub fn of(id: &str) -> &'static str {
    let found = REASONS.iter().find(|(name, _)| *name == id);
    found.map_or("No reason is recorded.", |(_, reason)| reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{catalogue, missing};

    #[test]
    fn reasons_are_of_experiments_that_exist() {
        let ids: Vec<String> = catalogue::all()
            .into_iter()
            .map(|experiment| experiment.id)
            .chain(missing::ALL.iter().map(|row| row.id.to_owned()))
            .collect();
        for (id, _) in REASONS {
            assert!(ids.iter().any(|known| known == id), "there is no experiment {id}");
        }
    }
}
