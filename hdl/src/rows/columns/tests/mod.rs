//! Requests as the column path gets them.

mod bitmaps;
mod condenser;
mod counter;
mod ids;
mod packer;
mod parts;
mod path;
mod scanner;
mod source;

use super::reference::Turn;
use crate::request::DEST_INDEX;
use crate::rows::sequencer::record::ITEM_BITS;
use drdma_verilated::Word;
use drdma_verilated::testbench::{Beat, Random};
use std::collections::VecDeque;

/// The fields, lowest first, as one word.
fn record(fields: &[(Word, usize)]) -> Word {
    let mut word = Word::zero();
    let mut place = 0;
    for (value, width) in fields {
        word.set_bits(place, *width, value);
        place += width;
    }
    word
}

/// A turn's `Context`; fields that the column path does not use are random.
fn context(turn: &Turn, random: &mut Random) -> Word {
    let bytes = turn.row_bytes as u64;
    let [count, full, tail] = if turn.measured {
        [turn.total / turn.units, turn.units * bytes, turn.total % turn.units * bytes]
    } else {
        [(); 3].map(|()| random.below(1 << 32))
    };
    record(&[
        (turn.set.into(), 11),
        (random.word(22), 22),
        (bytes.into(), 10),
        (random.word(1), 1),
        (turn.dest.into(), 10),
        (turn.index.into(), DEST_INDEX),
        (turn.slot.into(), 8),
        (turn.units.into(), 32),
        (random.word(8), 8),
        (turn.measured.into(), 1),
        (count.into(), 32),
        (full.into(), 32),
        (tail.into(), 32),
        (turn.first.into(), 1),
    ])
}

/// A turn as an item.
fn item(turn: &Turn, random: &mut Random) -> Beat {
    let item = record(&[
        (crate::rows::sequencer::record::WALK.into(), 3),
        (if turn.strided { 1 } else { 2 }.into(), 2),
        ((random.below(1 << 20) * 64).into(), 32),
        (turn.bits.len().into(), 32),
        (turn.last.into(), 1),
        (turn.chunk_start.into(), 1),
        (random.word(129), 129),
        (random.word(1), 1),
        (turn.chunk_end.into(), 1),
        (turn.ids.into(), 2),
        (turn.partition.into(), 16),
        (turn.sparse.into(), 1),
        (turn.fetch.is_some().into(), 1),
        (turn.kept.is_some().into(), 1),
        (turn.kept.unwrap_or_else(|| random.below(512)).into(), 9),
        (turn.kept.map_or_else(|| random.below(2), |phase| u64::from(phase == 0)).into(), 1),
    ]);
    let item = item.bits(0, ITEM_BITS);
    Beat::from([("item", item), ("context", context(turn, random))])
}

/// The answers of the reads of a turn's bitmap, or of the ids of its chunk; bits behind its rows are random.
fn answers(turn: &Turn, random: &mut Random) -> Vec<Beat> {
    if turn.strided {
        return Vec::new();
    }
    if turn.ids > 0 {
        let width = usize::from(turn.ids);
        let count = turn.chunk_ids.len().div_ceil(64 / width);
        let beat = |(k, ids): (usize, &[u16])| {
            let mut data = random.word(512);
            for (i, &id) in ids.iter().enumerate() {
                data.set_bits(8 * width * i, 8 * width, &id.into());
            }
            Beat::from([("data", data)])
                .with("error", turn.fails.contains(&k))
                .with("ids", turn.ids)
                .with("fetch", false)
                .with("kept", false)
                .with("last", k + 1 == count)
        };
        return turn.chunk_ids.chunks(64 / width).enumerate().map(beat).collect();
    }
    let kept = turn.kept.is_some();
    let mut beats = |rows: &[bool], fails: &[usize], fetch: bool| -> VecDeque<Beat> {
        let count = rows.len().div_ceil(512);
        let beat = |(k, rows): (usize, &[bool])| {
            let mut data = random.word(512);
            for (i, &bit) in rows.iter().enumerate() {
                data.set_bits(i, 1, &bit.into());
            }
            let last = if kept { u64::from(k + 1 == count) } else { random.below(2) };
            Beat::from([("data", data)])
                .with("error", fails.contains(&k))
                .with("ids", 0)
                .with("fetch", fetch)
                .with("kept", kept)
                .with("last", last)
        };
        rows.chunks(512).enumerate().map(beat).collect()
    };
    if kept {
        // Only the first turn of a stretch brings it.
        return beats(&turn.stretch, &turn.fails, false).into();
    }
    let mut bits = beats(&turn.bits, &turn.fails, false);
    let Some((rows, fails)) = &turn.fetch else { return bits.into() };
    // The fetch rows of a read come before its bits of the bitmap.
    let mut fetch = beats(rows, fails, true);
    let mut all = Vec::new();
    while !bits.is_empty() {
        for of in [&mut fetch, &mut bits] {
            all.extend(of.drain(..of.len().min(8)));
        }
    }
    all
}

/// Bits that are set with this probability.
fn selection(count: usize, probability: f64, random: &mut Random) -> Vec<bool> {
    (0..count).map(|_| random.chance(probability)).collect()
}

/// Fetch rows for `rows` rows, some of which cannot be read.
fn fetch_rows(rows: usize, random: &mut Random) -> (Vec<bool>, Vec<usize>) {
    let density = [0.0, 0.02, 0.5, 1.0][random.below(4) as usize];
    let fails =
        if random.chance(0.2) { vec![random.below(rows as u64) as usize / 512] } else { vec![] };
    (selection(rows, density, random), fails)
}

/// The turns of a random request: several destinations, chunk after chunk.
fn request(random: &mut Random, fails: bool) -> Vec<Turn> {
    let row_bytes = match random.below(6) {
        0 => 1 + random.below(4) as usize,
        1 => [65, 72, 96, 127, 128, 129, 256, 960][random.below(8) as usize],
        2 => 65 + random.below(896) as usize,
        3 => [5, 8, 20, 32, 40, 60, 63, 64][random.below(8) as usize],
        _ => 1 + random.below(64) as usize,
    };
    let most = if random.chance(0.1) { 64 } else { 5 };
    let dests = 1 + random.below(most);
    let chunks = 1 + random.below(3);
    let most = if random.chance(0.2) { 64 } else { 12 };
    // Long rows also come in chunks of less than 128 rows.
    let chunk_rows = if row_bytes > 64 && random.chance(0.5) {
        16 * (1 + random.below(7)) as usize
    } else {
        64 * (1 + random.below(most)) as usize
    };
    let rows = (chunk_rows as u64 * (chunks - 1) + 1 + random.below(chunk_rows as u64)) as usize;
    let (first_dest, slot) = (random.below(1024), random.below(256));
    let measured = random.chance(0.5);
    // Partitioned: ids of all rows, some of which no destination wants.
    let ids = if random.chance(0.4) { 1 + random.below(2) as u8 } else { 0 };
    let base = random.below(if ids == 1 { 1 << 8 } else { 1 << 16 });
    let id = |index: u64| (base + index * 0x61) as u16 & if ids == 1 { 0xff } else { 0xffff };
    let spare = random.below(3);
    let row_ids: Vec<_> = (0..rows).map(|_| id(random.below(dests + spare))).collect();
    // Bitmaps that are read in stretches of as many chunks as have at most 4,096 rows.
    let kept = ids == 0 && chunk_rows <= 2048 && random.chance(0.6);
    let stretch_rows = 4096 / chunk_rows * chunk_rows;
    let common = |index: u64, random: &mut Random| {
        let density = [0.0, 0.01, 0.06, 0.3, 0.5, 0.95, 1.0][random.below(7) as usize];
        let strided = ids == 0 && random.chance(0.2);
        let mut selected =
            if strided { vec![true; rows] } else { selection(rows, density, random) };
        let partition = if ids == 0 { random.below(1 << 16) as u16 } else { id(index) };
        if ids > 0 {
            selected = row_ids.iter().map(|&id| id == partition).collect();
        }
        let turn = Turn {
            strided,
            ids,
            partition,
            row_bytes,
            set: random.below(2048),
            dest: (first_dest + index) % 1024,
            index,
            slot,
            units: match random.below(4) {
                0 => 1 + random.below(4),
                1 => 1 + random.below(40),
                2 => 1 + random.below(1000),
                _ => 1 + random.below(u64::from(u32::MAX)),
            },
            measured,
            total: selected.iter().filter(|bit| **bit).count() as u64,
            ..Default::default()
        };
        (turn, selected)
    };
    let all: Vec<_> = (0..dests).map(|index| common(index, random)).collect();
    let mut turns = Vec::new();
    for chunk in 0..chunks as usize {
        for (k, (turn, selected)) in all.iter().enumerate() {
            let range = chunk * chunk_rows..((chunk + 1) * chunk_rows).min(rows);
            let fetched = !turn.strided && ids == 0 && !kept && random.chance(0.4);
            let kept = kept && !turn.strided;
            let phase = range.start % stretch_rows;
            let stretch = range.start..(range.start + stretch_rows).min(rows);
            turns.push(Turn {
                kept: kept.then_some(phase as u64 / 16),
                stretch: if kept && phase == 0 { selected[stretch].to_vec() } else { vec![] },
                fetch: fetched.then(|| fetch_rows(range.len(), random)),
                bits: selected[range.clone()].to_vec(),
                chunk_ids: if ids > 0 && k == 0 { row_ids[range].to_vec() } else { Vec::new() },
                first: chunk == 0,
                chunk_start: k == 0,
                chunk_end: k + 1 == all.len(),
                last: chunk + 1 == chunks as usize,
                ..turn.clone()
            });
        }
    }
    if fails {
        let place = random.below(turns.len() as u64) as usize;
        for turn in &mut turns[place..] {
            let brought = match turn.kept {
                Some(_) => turn.stretch.len(),
                None if turn.strided || ids > 0 && !turn.chunk_start => 0,
                None => turn.bits.len(),
            };
            if brought > 0 && random.chance(0.5) {
                let rows = 512 / (8 * usize::from(ids)).max(1);
                turn.fails.push(random.below(brought.div_ceil(rows) as u64) as usize);
            }
        }
    }
    turns
}
