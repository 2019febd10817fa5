//! The arena: what lies in it, and when it is free again.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, types::Int64Type};
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::DataType;
use drdma_arrow::{ALIGNMENT, Arena, Foreign, Format, Selection, Sender};
use libdrdma::Status;
use proptest::prelude::*;

use crate::{
    lab::Lab,
    make::{self, Numbers},
    random::data_type,
};

fn lab() -> Lab {
    Lab::new(&Format::new(make::schema(&[DataType::Int64]), 4096).unwrap(), 1, 4)
}

#[test]
fn blocks_are_aligned_and_zero_and_become_buffers() {
    let arena = lab().arena;
    for bytes in [0, 1, 63, 64, 1000] {
        let mut block = arena.allocate(bytes).unwrap();
        assert_eq!(block.as_mut_slice(), vec![0; bytes]);
        block.as_mut_slice().fill(5);
        assert_eq!(block.typed_mut::<u64>().len(), bytes / 8);
        let buffer = block.freeze();
        assert!(buffer.as_ptr().addr().is_multiple_of(ALIGNMENT));
        assert_eq!(buffer.as_slice(), vec![5; bytes]);
    }
    let array = arena.primitive::<Int64Type>(100, |row| row as i64 * 3).unwrap();
    assert_eq!(array, Int64Array::from_iter_values((0..100).map(|row| row * 3)));
    assert!(arena.contains(array.values().inner()));
}

#[test]
fn a_full_arena_says_so_and_has_room_again_when_buffers_are_dropped() {
    let pd = lab().nodes[0].pd.clone();
    let arena = Arena::new(&pd, 1 << 20).unwrap();
    let error = arena.allocate(2 << 20).unwrap_err().to_string();
    assert_eq!(error, "the arena of 1048576 B has no room for 2097152 B");
    for _ in 0..10 {
        let buffer = arena.copy(&vec![1; 700_000]).unwrap();
        let part = buffer.slice_with_length(5, 3);
        drop(buffer);
        assert!(arena.allocate(700_000).is_err(), "a part of it is still in use");
        assert_eq!(part.as_slice(), [1; 3]);
    }
    let error = arena.allocate(usize::MAX).unwrap_err().to_string();
    assert!(error.ends_with(&format!("has no room for {} B", usize::MAX)), "{error}");
}

#[test]
fn memory_that_a_request_reads_is_not_free_before_it_has_completed() {
    let mut lab = lab();
    // So small that the next block would have the memory of the last one.
    let arena = Arena::new(&lab.nodes[0].pd, 1 << 20).unwrap();
    lab.sender =
        Sender::new(lab.sender.format().clone(), &lab.nodes[0].pd, &lab.arena, Foreign::Refuse);
    let rows = 60_000;
    let values: ArrayRef = Arc::new(arena.primitive::<Int64Type>(rows, |row| row as i64).unwrap());
    let expected: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows as i64));
    let schema = lab.sender.format().schema().clone();
    let batch = RecordBatch::try_new(schema.clone(), vec![values]).unwrap();
    let ids = Selection::Ids(lab.arena.copy(&vec![0; rows]).unwrap().into());
    let sent = lab.send(&batch, &ids).unwrap();
    assert_eq!(sent.copied_bytes(), 0);
    drop(batch);
    assert!(
        arena.allocate(rows * 8).is_ok_and(|mut block| {
            block.as_mut_slice().fill(0xff);
            true
        }) || arena.allocate(1 << 19).is_err()
    );
    let received = lab.run();
    assert_eq!(lab.statuses(), [Status::Success]);
    assert_eq!(received[0], [RecordBatch::try_new(schema, vec![expected]).unwrap()]);
    assert!(arena.allocate(1 << 19).is_ok(), "it is free now");
}

fn in_arena(arena: &Arena, data: &ArrayData) -> bool {
    let lies = |buffer: &Buffer| arena.contains(buffer);
    data.buffers().iter().all(lies)
        && data.nulls().is_none_or(|nulls| lies(nulls.buffer()))
        && data.child_data().iter().all(|child| in_arena(arena, child))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_array_that_is_placed_is_the_same(
        data_type in data_type(), rows in 0usize..50, seed in any::<u64>(),
    ) {
        let arena = lab().arena;
        let array = make::array(&mut Numbers::new(seed), &data_type, rows, true);
        let placed = arena.place(&array).unwrap();
        prop_assert_eq!(&placed, &array);
        prop_assert!(in_arena(&arena, &placed.to_data()));
    }
}
