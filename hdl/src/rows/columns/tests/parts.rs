use super::*;
use crate::rows::columns::compact::Compact;
use crate::rows::columns::row_queue::RowQueue;
use crate::rows::columns::stride::Stride;
use crate::testing;
use std::collections::VecDeque;

#[test]
fn compact_lists_the_set_bits_of_every_group() {
    let mut model = testing::library("compact", Compact::default).instance(1);
    for group in 0..(1_u64 << 16) + 2 {
        model.set("bits", group & 0xffff);
        model.cycle();
        // What was given two edges before.
        let Some(bits) = group.checked_sub(2) else { continue };
        let numbers: Vec<_> = (0..16).filter(|i| bits >> i & 1 == 1).collect();
        assert_eq!(model.get("valid"), (1 << numbers.len()) - 1, "{bits:#x}");
        for b in 0..4 {
            let plane = (0..).zip(&numbers).fold(0, |p, (s, i)| p | (i >> b & 1) << s);
            assert_eq!(model.get(format!("place_{b}")), plane, "{bits:#x}");
        }
    }
}

#[test]
fn stride_tells_where_every_beat_ends() {
    let mut model = testing::library("stride", Stride::default).instance(1);
    for row in (1..=130_u64).chain([255, 256, 500, 959, 960]) {
        let target = 64.min(16 * row);
        for k in 0..16 {
            let told = if row > 64 && k > 0 { 2047 } else { (k + 1) * row };
            model.set(format!("multiple_{k}"), told);
        }
        for start in 0..if row < 4 { 1 } else { row } {
            // 4 B rows: a beat that starts within a row would touch 17.
            if row == 4 && start > 0 {
                continue;
            }
            model.set("start", start);
            model.set("target", target);
            model.eval();
            let end = start + target;
            assert_eq!(model.get("rows"), end / row, "{row} B from {start}");
            assert_eq!(model.get("touched"), end.div_ceil(row), "{row} B from {start}");
            assert_eq!(model.get("ends_at"), end % row, "{row} B from {start}");
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
        let write = taken.is_some() && rows.len() <= 32 && random.chance(0.7);
        let load = (taken.is_none() || write) && random.chance(0.8);
        let new: Vec<_> = (0..random.below(17)).map(|_| random.below(4096)).collect();
        let mut offsets = random.word(192);
        for (k, row) in new.iter().enumerate() {
            offsets.set_bits(12 * k, 12, &(*row).into());
        }
        model.set("write", write.into());
        model.set("load", load.into());
        model.set("load_count", new.len() as u64);
        model.set_word("load_offset", &offsets);
        model.set("place", place % 64);
        reads.push_back(rows.iter().take(16).copied().collect());
        model.cycle();
        let used = random.below(rows.len().min(16) as u64 + 1);
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
