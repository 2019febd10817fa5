//! Reasons why figures are missed, by the experiment's name. A reason is shown in the report only
//! while the figure is missed.

/// Name of the experiment, reason.
const REASONS: &[(&str, &str)] = &[
    ("contiguous-registers", LONG_READS),
    ("bitmap-random-1-registers", ONE_RULE),
    ("bitmap-random-10-registers", ONE_RULE),
    ("bitmap-runs-50-registers", ONE_RULE),
    ("bitmap-runs-90-registers", ONE_RULE),
    ("bitmap-runs-90-schedule", SCHEDULE_IS_READ),
    ("shuffle-2", WHOLE_RUN),
    ("shuffle-64", WHOLE_RUN),
    ("shuffle-64-partitioned", WHOLE_RUN),
    ("oltp", GAP_IN_A_ROW),
    ("bitmap-random-10", WHOLE_RUN),
    ("bitmap-random-10-schedule", WHOLE_RUN),
    ("bitmap-random-50", WHOLE_RUN),
    ("bitmap-runs-10", WHOLE_RUN),
    ("bitmap-runs-10-registers", WHOLE_RUN),
    ("bitmap-runs-50", WHOLE_RUN),
    ("columns-5-ids", COLUMN_COMPLETE),
    ("columns-5-bitmaps", COLUMN_COMPLETE),
    ("lists-2", REQUEST_A_ROW),
    ("latency", BLOCKS),
    ("strings", ROW_BY_ROW),
    ("validity-16", TRIP_BY_TRIP),
    ("values-16", SHORT_REQUESTS),
    ("validity-5", ROWS_AND_TURNS),
    ("validity-batch", ROWS_AND_TURNS),
    ("values-5", SHORT_REQUESTS_BY_IDS),
    ("chase", RECORDS_APART),
    ("received-write", SENDER),
    ("received-send", SENDER),
    ("small-read", REQUESTER),
    ("odd-read", SHARED_LINE),
    ("odd-shuffle", SHARED_LINE),
    ("append-mixed", TURNS),
    ("columns-3", TURNS),
    ("columns-1024", PLANNED_IN_TURN),
    ("key-read-bitmap", RUN_BY_RUN),
];

const RUN_BY_RUN: &str = "Where a bitmap selects the rows, each run of rows that follow each other is a DMA read for each column: of 256 B at most here, of 195 B on \
     average. The block alone, without a limit on reads under way, has 118 Gb/s.";
const ROW_BY_ROW: &str = "Rows with strings are judged, one cycle each, and then sent, with a cycle for each 64 B of a row and 2 or 3 for each turn of \
     a destination: 2,048 rows take some 3,700 cycles to be sent, where the wire needs 2,900. Their values are kept, so that the next request \
     is judged meanwhile, but the first of three requests is judged before anything is sent: its first frame comes 5,482 cycles behind the \
     doorbell. The host is no limit: 35.3 of 64 reads are under way on average.";
const TRIP_BY_TRIP: &str = "A request with bits is walked when the one before has left the sequencer. Its lists and lines of bits are \
     read while that one is sent, but those of the first request take a round trip, and the values that are \
     sent take another one: of the 3,870 cycles of three requests of 128 rows 1,120 pass before the first \
     value is read, and 530 after the last one. A row takes 4 cycles: one where it is judged, and one for each \
     64 B of values and each 16 bits. Plans, messages and what is asked for ahead take some 400 cycles a \
     request. 34.7 reads are under way on average.";
const SHORT_REQUESTS: &str = "The requests are as short as those that they are compared with, 48 KiB in all, and what passes until the first window is \
     gathered counts: with 2 Ki rows and 8 destinations it is 88.9 % of the bound.";
const ROWS_AND_TURNS: &str = "Rows with bits are walked one by one, and placed one by one, too: a cycle each, and one for each block of 256 B, of \
     which 256 rows have 40. The three requests of 8,192 rows to 16 destinations take 11,100 cycles each, where the wire needs 6,900: of 1,000 \
     cycles 820 place a row, 100 ask for a block, and 70 wait for words of blocks to be stored. Of the three requests of 2,048 rows, what passes \
     before the first packet and between requests counts in addition: 3,260 cycles each, where the wire needs 1,730.";
const SHORT_REQUESTS_BY_IDS: &str = "Three requests have 240 KiB in all, and what passes until the first window is gathered, and after the last \
     read, counts: with 64 Ki rows (`partition-ids`) it is 93.7 % of the bound.";
const RECORDS_APART: &str = "Each record is read once, together with its pointer, and 64 chains share 8 round trips. Behind them, the records \
     of all chains but the first, which wait for that one's end, are counted one a cycle, of which 350 cycles pass after the last answer. The \
     first packet leaves 320 cycles later, because its rows fill two windows of the placer, and the other seven take 500.";
const SENDER: &str = "The sender is the limit: three messages of 4 MiB are 12 MiB, and what passes until its first packet is gathered and \
     after its last read has ended counts. Both directions at once take hardly longer than one.";
const REQUESTER: &str = "Queues take turns of 16 READs, and sixteen queue pairs may have 16 outstanding each, which are all 256 open requests of the card. The \
     first queue is alone until the second one is rung, and what was fetched for it is fetched again.";
const SHARED_LINE: &str = "What begins at an odd address begins in the cache line in which the bytes before it end, and the host serves two reads of one \
     line one after the other. A packet of 4,096 B is read as two requests that meet at a multiple of 512 B, but shares a line with the packets \
     before and behind it. How much of what is missing that is was not measured.";
const TURNS: &str = "Values of different widths meet in the banks of the memory of columns and take turns, and pieces of less than 4 B leave banks idle: \
     the transposer alone takes 94 cycles (87 Gb/s) for a packet of rows of 8, 8, 4, 16 and 4 B, and 89 (92 Gb/s) for one of rows of 7 x 3 B.";
const PLANNED_IN_TURN: &str = "A packet of 1,024 B is on the wire for 22 cycles. Where a packet begins in its row is known when the one before it is planned, so \
     that packets are planned one after the other: a cycle for each column, 10 for a division and what goes before and behind it.";

const WHOLE_RUN: &str = "The whole run counts, of some 43,000 cycles. Beside the first latency about 1,300 pass until the \
     first window of 32 KiB is planned, fetched and gathered, and the last one is gathered when all reads have ended; \
     packets of many destinations complete together, at the end of a request.";
const GAP_IN_A_ROW: &str = "The gap of 4 B lies within each row of 16 B, and reads begin and end with rows: all bytes are read, 16 for 12 that \
     are sent, and 16 KiB in flight are the limit. Beside the first latency 900 of 17,739 cycles pass until the first window of 32 KiB is \
     planned, fetched and gathered, and 710 after the last read.";
const LONG_READS: &str = "Reads of 512 B are in flight for 1.3 % longer than reads of 256 B, and with \
     16 KiB in flight the wire leaves no room for that. With MAX_READ at 256 it reaches 96.9 Gb/s, but \
     requests of 64 destinations, short projections and unaligned records lose more, whose reads need \
     the tags. The plan that the library finds for a request says it for that one alone.";
const ONE_RULE: &str = "The registers have one rule for all requests, reads of up to 512 B through gaps of up \
     to 256 B, and for these gaps it reads too many bytes, or in too many pieces. A request may bring a \
     rule of its own, as above.";
const SCHEDULE_IS_READ: &str = "What the schedule saves over the plan that the library finds is little where all gaps \
     are equal, and less than what it costs to read the schedule itself: a bit a row, as much again as the \
     bitmap.";
const COLUMN_COMPLETE: &str = "The whole run counts, of some 24,500 cycles. Packets of 16 destinations are complete when \
     their column nearly is, so that the wire waits for the first column of 64 KiB, about 1,400 cycles, and sends the \
     last one when all has been read. Beside the first latency 550 pass while rows are counted and the first window is \
     planned. Between the first and the last read of data 30 are lost.";
const REQUEST_A_ROW: &str = "Every row is a request of its own, and its reads touch the cache lines of \
     its neighbours' reads, which the host serves one after another. The paper's figure is of another \
     card, whose lists are its strength.";
const BLOCKS: &str = "What is beyond the round trips are the latencies of the blocks that a request passes: \
     placer 19 cycles, packetizer 12, gather 10, decoder 9, sequencer 8, segmenter 5, and less in others.";
/// Why the card has more lookup tables than intended.
pub const LUTS: &str = "Two paths make an address for each of 64 bytes a cycle. Of the columns' LUTs 17,900 find the \
     selected rows of a line of bits and move them together, 13,500 read ids, bitmaps and masks, 12,700 make the \
     addresses of bytes, 8,700 plan reads, and 8,200 keep and pack rows. Of the receive's 35,300 turn packed rows into \
     columns, and 13,800 are the receive queues. Of the sequencer's 28,900 walk strings, bits, dictionaries and chains, \
     and 16,900 make partitions of keys. Of the replies' 31,700 gather described keys. Of the placer's 4,400 compare \
     the blocks of 16 lanes with one another, 6,400 with 112 that are placed, and 13,400 translate lanes. Comparisons by \
     carry chains would take 8,000 fewer, and twice the time to simulate; `synth_xilinx -abc9` finds 6 to 8 % fewer \
     where it was tried. Of the UltraRAMs 64 keep 2 MiB of packets until they are acknowledged, 20 the values of \
     atomics, and 24 the lanes of columns with kinds.";

/// The reason recorded for an experiment.
pub fn of(id: &str) -> &'static str {
    let found = REASONS.iter().find(|(name, _)| *name == id);
    found.map_or("No reason is recorded.", |(_, reason)| reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{catalogue, cluster};

    #[test]
    fn reasons_are_of_experiments_that_exist() {
        let experiments = catalogue::all().into_iter().map(|experiment| experiment.id);
        let trials = cluster::trials().into_iter().map(|trial| trial.id.to_owned());
        let ids: Vec<String> = experiments.chain(trials).collect();
        for (id, _) in REASONS {
            assert!(ids.iter().any(|known| known == id), "there is no experiment {id}");
        }
    }
}
