//! Reference of the column path: its contract in plain Rust.

use drdma_verilated::Word;
use drdma_verilated::testbench::Beat;
use std::collections::BTreeMap;

/// A destination's turn in a chunk.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    pub strided: bool,
    /// Rows that are selected.
    pub bits: Vec<bool>,
    /// The fetch rows, and the beats of them that cannot be read.
    pub fetch: Option<(Vec<bool>, Vec<usize>)>,
    /// Bytes of an id of a row; 0: rows have bits.
    pub ids: u8,
    /// The id whose rows are selected.
    pub partition: u16,
    /// Ids of the chunk's rows, if the turn starts the chunk.
    pub chunk_ids: Vec<u16>,
    /// Beats of the bitmap, or of the chunk's ids, whose reads fail.
    pub fails: Vec<usize>,
    /// The first turn of the destination in its request.
    pub first: bool,
    pub chunk_start: bool,
    pub chunk_end: bool,
    pub last: bool,
    pub row_bytes: usize,
    pub set: u64,
    pub dest: u64,
    pub index: u64,
    pub slot: u64,
    pub units: u64,
    pub measured: bool,
    /// The turn's bits come from a kept stretch of its bitmap: how far into it, in units of 16 rows.
    pub kept: Option<u64>,
    /// The stretch, if the turn brings it.
    pub stretch: Vec<bool>,
    /// The turn's chunk is sparse: it may have any number of rows.
    pub sparse: bool,
    /// Rows that the destination's bitmaps select in all chunks.
    pub total: u64,
}

impl Turn {
    /// The rows that are to be read: those that are selected, and the fetch rows that could be read.
    pub fn read(&self) -> Vec<bool> {
        let Some((fetch, fails)) = &self.fetch else { return self.bits.clone() };
        let readable = fetch.iter().enumerate().map(|(i, row)| *row && !fails.contains(&(i / 512)));
        self.bits.iter().zip(readable).map(|(&bit, row)| bit || row).collect()
    }

    pub fn rows(&self) -> Vec<u64> {
        (0..).zip(&self.bits).filter(|(_, bit)| **bit).map(|(row, _)| row).collect()
    }
}

/// What is left of a request's turns after a read has failed: no more rows, no destination's
/// end. And the place of the destination whose read failed.
pub fn survivors(turns: &[Turn]) -> (Vec<Turn>, Option<u64>) {
    let mut failed = None;
    let turns = turns.iter().map(|turn| {
        let mut turn = turn.clone();
        let first = turn.fails.iter().min().filter(|_| !turn.strided);
        let whole = turn.ids > 0 || turn.kept.is_some();
        let of_beat = |beat: &usize| if whole { 0 } else { beat * 512 };
        let from = if failed.is_some() { Some(0) } else { first.map(of_beat) };
        if let Some(from) = from {
            turn.bits[from..].fill(false);
            if let Some((rows, _)) = &mut turn.fetch {
                rows[from..].fill(false);
            }
            turn.last = false;
            failed = failed.or(Some(turn.index));
        }
        turn
    });
    (turns.collect(), failed)
}

/// Rows as the bits of a mask.
fn word_of(rows: &[bool]) -> Word {
    let byte = |c: &[bool]| c.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit));
    Word::from_bytes(&rows.chunks(8).map(byte).collect::<Vec<u8>>())
}

/// The masks of a turn.
pub fn masks(turn: &Turn) -> Vec<Beat> {
    let count = turn.bits.len().div_ceil(512);
    let mask = |(word, rows): (usize, &[bool])| {
        let end = word + 1 == count;
        Beat::from([("bits", word_of(rows))])
            .with("word", word % 8)
            .with("chunk_start", turn.chunk_start && word == 0)
            .with("turn_end", end)
            .with("chunk_end", turn.chunk_end && end)
            .with("last", turn.last && end)
    };
    turn.bits.chunks(512).enumerate().map(mask).collect()
}

/// The masks of a turn, with the rows that are to be read.
pub fn masks_to_read(turn: &Turn) -> Vec<Beat> {
    let read = turn.read();
    let masks = masks(turn).into_iter().zip(read.chunks(512));
    masks.map(|(mask, rows)| mask.with("fetch", word_of(rows))).collect()
}

/// Contents of beats, in the smallest pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A turn begins: its place.
    Turn(usize),
    /// A message begins: its bytes, if they are to be told.
    Start(u64),
    /// Row offset, byte of the row.
    Byte(u64, usize),
    /// A message ends; because it has all its rows.
    MessageEnd(bool),
    DestEnd,
    WindowEnd,
}

/// Contents that the beats of a request must have, in order.
pub fn story(turns: &[Turn]) -> Vec<Event> {
    // For each destination: rows so far, and rows in the open message.
    let mut standing: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    let mut events = Vec::new();
    for (place, turn) in turns.iter().enumerate() {
        events.push(Event::Turn(place));
        for row in turn.rows() {
            let (told, open) = standing.entry(turn.index).or_default();
            if *open == 0 {
                let rows = turn.units.min(turn.total - *told);
                let bytes = if turn.measured { rows * turn.row_bytes as u64 } else { 0 };
                events.push(Event::Start(bytes));
            }
            events.extend((0..turn.row_bytes).map(|byte| Event::Byte(row, byte)));
            (*told, *open) = (*told + 1, *open + 1);
            if *open == turn.units {
                events.push(Event::MessageEnd(true));
                *open = 0;
            }
        }
        if let Some((_, open)) = standing.get(&turn.index).filter(|_| turn.last) {
            if *open > 0 {
                events.push(Event::MessageEnd(false));
            }
            events.push(Event::DestEnd);
        }
        if turn.chunk_end {
            events.push(Event::WindowEnd);
        }
    }
    events
}

/// Checks that the beats have the contents of [`story`], and that each beat is as full as it can be.
pub fn check(turns: &[Turn], beats: &[Beat]) {
    let events = story(turns);
    let (mut next, mut turn) = (0, &turns[0]);
    for beat in beats {
        while let Some(Event::Turn(place)) = events.get(next) {
            (next, turn) = (next + 1, &turns[*place]);
        }
        let mut expect = |event: Event| {
            assert_eq!(events.get(next), Some(&event), "event {next}: {beat:?} of {turn:?}");
            next += 1;
        };
        let (bytes, start) = (beat.u64("bytes") as usize, beat.u64("start") as usize);
        let flag = |name: &str| beat.u64(name) == 1;
        assert_eq!(beat.u64("row_bytes"), turn.row_bytes as u64);
        assert_eq!((beat.u64("dest"), beat.u64("slot")), (turn.dest, turn.slot));
        assert!(bytes > 0 || flag("dest_end") || flag("window_end"), "a beat for nothing");
        if flag("message_start") {
            expect(Event::Start(beat.u64("message_bytes")));
        } else {
            assert_eq!(beat.u64("message_bytes"), 0);
        }
        for byte in start..start + bytes {
            let row = byte / turn.row_bytes;
            assert!(row < if turn.row_bytes < 4 { 64 } else { 16 }, "too many rows");
            let offset = beat.get("offset").bits(12 * row, 12).to_u64();
            expect(Event::Byte(offset, byte % turn.row_bytes));
        }
        assert!(turn.row_bytes >= 4 || start == 0, "a thin row is divided");
        let whole = bytes == if turn.row_bytes == 3 { 63 } else { 64 };
        let goes_on = matches!(events.get(next), Some(Event::Byte(..) | Event::Start(_)));
        assert!(whole || !goes_on, "a short beat: {beat:?}");
        if flag("message_end") {
            let counted = events.get(next) == Some(&Event::MessageEnd(true)) && bytes > 0;
            assert_eq!(events.get(next), Some(&Event::MessageEnd(counted)), "{beat:?}");
            next += 1;
        }
        for (name, event) in [("dest_end", Event::DestEnd), ("window_end", Event::WindowEnd)] {
            if flag(name) {
                assert_eq!(events.get(next), Some(&event), "{beat:?}");
                next += 1;
            }
        }
    }
    let rest: Vec<_> =
        events[next..].iter().filter(|event| !matches!(event, Event::Turn(_))).collect();
    assert!(rest.is_empty(), "not told: {rest:?}");
}
