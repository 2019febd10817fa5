use super::*;
use crate::rows::columns::compact::Compact;
use crate::rows::columns::row_queue::RowQueue;
use crate::rows::columns::stride::Stride;
use crate::testing;
use std::collections::VecDeque;

#[test]
fn compact_brings_every_number_to_the_place_of_its_rank() {
    let mut model = testing::library("compact", Compact::default).instance(1);
    let mut random = Random::new(1);
    let mut inside: VecDeque<(u64, u64)> = VecDeque::new();
    for round in 0..50_000 {
        let density = [0.02, 0.2, 0.5, 0.9, 1.0][random.below(5) as usize];
        let bits = (0..64).map(|p| u64::from(random.chance(density)) << p).sum::<u64>();
        let base = random.below(128);
        let mut before = 0;
        for byte in 0..8 {
            let below = bits & ((1 << (8 * byte)) - 1);
            before |= ((base + u64::from(below.count_ones())) % 128) << (7 * byte);
        }
        let enable = random.chance(0.8);
        model.set("enable", enable.into());
        model.set("bits", bits);
        model.set("ahead", before);
        model.cycle();
        if enable {
            inside.push_back((bits, base));
        }
        if inside.len() < 3 {
            continue;
        }
        if inside.len() > 3 {
            inside.pop_front();
        }
        let (bits, base) = inside[0];
        let (mut valid, mut odd, mut place) = (0_u64, 0_u64, [0_u64; 6]);
        for (rank, number) in (base..).zip((0..64).filter(|p| bits >> p & 1 == 1)) {
            valid |= 1 << (rank % 64);
            odd |= (rank / 64 % 2) << (rank % 64);
            for (b, plane) in place.iter_mut().enumerate() {
                *plane |= (number >> b & 1) << (rank % 64);
            }
        }
        assert_eq!(model.get("valid"), valid, "round {round}: {bits:#x} from {base}");
        assert_eq!(model.get("odd") & valid, odd, "round {round}: {bits:#x} from {base}");
        for (b, plane) in place.into_iter().enumerate() {
            let told = model.get(format!("place_{b}")) & valid;
            assert_eq!(told, plane, "round {round}, bit {b}: {bits:#x} from {base}");
        }
    }
}

#[test]
fn stride_tells_where_every_beat_ends() {
    let mut model = testing::library("stride", Stride::default).instance(1);
    for row in (1..=130_u64).chain([255, 256, 500, 959, 960]) {
        // Beats of thin rows are of whole rows.
        let thin_rows = if row < 4 { 64 / row } else { 0 };
        let target = if row < 4 { thin_rows * row } else { 64 };
        for k in 0..16 {
            let told = if row > 64 && k > 0 { 2047 } else { (k + 1) * row };
            model.set(format!("multiple_{k}"), told);
        }
        for start in 0..if row < 4 { 1 } else { row } {
            // 4 B rows: a beat that starts within a row would touch 17.
            if row == 4 && start > 0 {
                continue;
            }
            model.set("reach", start + 64);
            model.set("thin_rows", thin_rows);
            model.eval();
            let end = start + target;
            assert_eq!(model.get("rows"), end / row, "{row} B from {start}");
            assert_eq!(model.get("touched"), end.div_ceil(row), "{row} B from {start}");
            assert_eq!(model.get("next_reach"), end % row + 64, "{row} B from {start}");
            assert_eq!(model.get("exact"), u64::from(end % row == 0), "{row} B from {start}");
        }
    }
}

#[test]
fn the_row_queue_gives_rows_from_any_place() {
    let mut model = testing::library("row_queue", RowQueue::default).instance(1);
    let mut random = Random::new(1);
    model.set("rst", 1);
    model.cycle();
    model.set("rst", 0);
    // What is written and not yet read over; the place of the first of it; rows taken, not
    // written; reads on their way.
    let (mut rows, mut place): (VecDeque<u64>, u64) = (VecDeque::new(), 0);
    let mut taken: Option<Vec<u64>> = None;
    let mut reads: VecDeque<Vec<u64>> = VecDeque::new();
    for _ in 0..20_000 {
        let write = taken.is_some() && rows.len() <= 128 && random.chance(0.7);
        let load = (taken.is_none() || write) && random.chance(0.8);
        let word = random.below(8);
        let new: Vec<_> = (0..random.below(65)).map(|_| word * 512 + random.below(512)).collect();
        let mut offsets = random.word(576);
        for (k, row) in new.iter().enumerate() {
            offsets.set_bits(9 * k, 9, &(*row % 512).into());
        }
        model.set("write", write.into());
        model.set("load", load.into());
        model.set("load_count", new.len() as u64);
        model.set_word("load_offset", &offsets);
        model.set("load_word", word);
        model.set("place", place % 256);
        reads.push_back(rows.iter().take(64).copied().collect());
        model.cycle();
        let used = random.below(rows.len().min(64) as u64 + 1);
        rows.drain(..used as usize);
        place += used;
        if write {
            rows.extend(taken.take().unwrap());
        }
        if load {
            taken = Some(new);
        }
        if reads.len() == 2 {
            let offset = model.get_word("offset");
            for (k, row) in reads.pop_front().unwrap().into_iter().enumerate() {
                assert_eq!(offset.bits(12 * k, 12).to_u64(), row);
            }
        }
    }
}
