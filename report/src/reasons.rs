//! Why a figure is missed: what is known about it, by the experiment's name. Shown in the report only
//! while the figure is missed.

/// Name of the experiment, reason.
const REASONS: &[(&str, &str)] = &[
    ("contiguous-registers", LONG_READS),
    ("bitmap-random-1", GAPS),
    ("bitmap-random-1-registers", GAPS),
    ("bitmap-random-10", GAPS),
    ("bitmap-random-10-registers", GAPS),
    ("bitmap-runs-1", EMPTY_WINDOWS),
    ("bitmap-runs-1-registers", EMPTY_WINDOWS),
    ("bitmap-runs-10", EMPTY_WINDOWS),
    ("bitmap-runs-10-registers", EMPTY_WINDOWS),
    ("bitmap-runs-50", GAPS),
    ("bitmap-runs-50-registers", GAPS),
    ("bitmap-runs-90", GAPS),
    ("bitmap-runs-90-registers", GAPS),
    ("lists-2", REQUEST_A_ROW),
    ("latency", BLOCKS),
];

const LONG_READS: &str = "Reads of 512 B are in flight for 1.3 % longer than reads of 256 B, and with \
     16 KiB in flight the wire leaves no room for that. With MAX_READ at 256 it reaches 96.9 Gb/s, but \
     requests of 64 destinations, short projections and unaligned records lose more, whose reads need \
     the tags. The plan that the library finds for a request says it for that one alone.";
const GAPS: &str = "A chunk of rows fills a window of the segmented memory as it lies in host memory, \
     selected or not: reads end with every chunk and at every gap above the threshold, and the windows, \
     of which four are in flight, hold few selected rows.";
const EMPTY_WINDOWS: &str = "Most windows are nearly empty, because a chunk of rows fills one whether \
     they are selected or not, and four are in flight. Stretches without a selected row would have to be \
     left out before windows are cut, which is not built.";
const REQUEST_A_ROW: &str = "Every row is a request of its own, and its reads touch the cache lines of \
     its neighbours' reads, which the host serves one after another. The paper's figure is of another \
     card, whose lists are its strength.";
const BLOCKS: &str = "Two round trips take 650 cycles; the rest are the latencies of the 15 blocks that \
     a request passes, of which the placer has 28 (2 of them a wait for a further beat), the sequencer \
     27 and the packetizer 25.";

/// The reason recorded for an experiment.
pub fn of(id: &str) -> &'static str {
    let found = REASONS.iter().find(|(name, _)| *name == id);
    found.map_or("No reason is recorded.", |(_, reason)| reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    #[test]
    fn reasons_are_of_experiments_that_exist() {
        let ids: Vec<String> =
            catalogue::all().into_iter().map(|experiment| experiment.id).collect();
        for (id, _) in REASONS {
            assert!(ids.iter().any(|known| known == id), "there is no experiment {id}");
        }
    }
}
