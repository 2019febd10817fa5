//! Batches, selections, types and destinations that a sender, a format or a receiver refuses.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, LargeListArray, NullArray, RecordBatch, StringArray};
use arrow_buffer::{BooleanBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Schema, UnionFields, UnionMode};
use drdma_arrow::{Arena, Foreign, Format, Receiver, Selection, SendError, Sender};
use libdrdma::Transport;

use crate::{lab::Lab, make};

fn numbers(rows: i64) -> RecordBatch {
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
    RecordBatch::try_new(make::schema(&[DataType::Int64]), vec![column]).unwrap()
}

fn format(types: &[DataType], message_bytes: usize) -> Result<Format, String> {
    Format::new(make::schema(types), message_bytes).map_err(|error| error.to_string())
}

fn lab() -> Lab {
    Lab::new(&format(&[DataType::Int64], 1000).unwrap(), 3, 4)
}

fn fails(lab: &mut Lab, batch: &RecordBatch, selection: &Selection) -> String {
    let error = lab.send(batch, selection).unwrap_err().to_string();
    // The error came before anything was posted.
    let frames = lab.frames;
    assert!(lab.try_run().iter().all(Vec::is_empty));
    assert_eq!(lab.frames, frames);
    assert_eq!(lab.nodes[0].cq.outstanding(), 0);
    error
}

#[test]
fn types_without_a_form_are_named() {
    let union = DataType::Union(UnionFields::empty(), UnionMode::Sparse);
    let list = DataType::List(Arc::new(Field::new("item", union.clone(), true)));
    let error = format(&[DataType::Int8, list], 1000).unwrap_err();
    assert!(error.starts_with("column `c1.item`: Union"), "{error}");
    for data_type in [
        DataType::FixedSizeBinary(0),
        DataType::FixedSizeList(Arc::new(Field::new("item", DataType::Int8, true)), 0),
        DataType::ListView(Arc::new(Field::new("item", DataType::Int8, true))),
        DataType::Dictionary(DataType::Int8.into(), union.into()),
    ] {
        let error = format(&[data_type], 1000).unwrap_err();
        assert!(error.ends_with("is not possible"), "{error}");
    }
}

#[test]
fn messages_have_room_for_headers_and_values() {
    let error = format(&[DataType::FixedSizeBinary(1001)], 1000).unwrap_err();
    let text =
        "column `c0`: a value has 1001 B, and the longest message 1000: values are not divided";
    assert_eq!(error, text);
    format(&[DataType::FixedSizeBinary(1000)], 1000).unwrap();
    let error = format(&[DataType::Utf8], 40).unwrap_err();
    assert_eq!(error, "messages of 40 B are too short: a batch's header has 41");
    format(&[DataType::Utf8], 41).unwrap();
    let error = format(&[DataType::Utf8], (1 << 30) + 1).unwrap_err();
    assert_eq!(error, "messages of 1073741825 B are too long: 1073741824 are possible");
}

#[test]
fn a_batch_of_another_schema_is_refused() {
    let mut lab = lab();
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    let texts = RecordBatch::try_from_iter([("c0", texts)]).unwrap();
    let error = fails(&mut lab, &texts, &Selection::All);
    assert_eq!(error, "column 0 is Utf8, and the format says Int64");
    let none = make::empty(&make::schema(&[]));
    let error = fails(&mut lab, &none, &Selection::All);
    assert_eq!(error, "the batch has 0 columns, and the format 1");
    let never = Arc::new(Schema::new(vec![Field::new("c0", DataType::Int64, false)]));
    let mut lab = Lab::new(&Format::new(never, 1000).unwrap(), 1, 4);
    let nulls: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, None]));
    let nulls = RecordBatch::try_from_iter([("c0", nulls)]).unwrap();
    let error = fails(&mut lab, &nulls, &Selection::All);
    assert_eq!(error, "column 0 has 2 nulls, and the format says that there are none");
}

#[test]
fn a_selection_of_other_rows_or_destinations_is_refused() {
    let mut lab = lab();
    let error = fails(&mut lab, &numbers(9), &vec![0_u8; 8].into());
    assert_eq!(error, "the selection has 8 rows, and the batch 9");
    let bits = |rows| BooleanBuffer::new_set(rows);
    let error = fails(&mut lab, &numbers(9), &vec![bits(9), bits(10), bits(9)].into());
    assert_eq!(error, "the selection has 10 rows, and the batch 9");
    let error = fails(&mut lab, &numbers(9), &vec![bits(9); 2].into());
    assert_eq!(error, "destination 2: there is no bitmap 2, only 2");
    let mut send = |to: &[(u16, usize)]| {
        let to: Vec<_> = to.iter().map(|(id, pair)| (*id, &lab.pairs[*pair])).collect();
        let ids = Selection::from(vec![0_u8; 9]);
        lab.sender.send(&mut lab.queue, 1, &numbers(9), &ids, &to).unwrap_err().to_string()
    };
    let error = send(&[(0, 0), (1, 1), (2, 0)]);
    assert_eq!(error, "destination 2: its queue pair is destination 0's already");
    let error = send(&[(0, 0), (1, 1), (0, 2)]);
    assert_eq!(error, "destination 2: partition 0 is destination 0's already");
    let error = send(&[(0, 0); 257]);
    assert_eq!(error, "257 destinations, at most 256 are possible");
}

#[test]
fn a_queue_pair_that_may_lose_messages_is_refused() {
    let mut lab = lab();
    let builder = lab.nodes[0].pd.queue_pair(&lab.nodes[0].cq).transport(Transport::Uc);
    let pair = builder.build().unwrap();
    let to = [(0, &lab.pairs[0]), (1, &pair)];
    let sent = lab.sender.send(&mut lab.queue, 1, &numbers(9), &Selection::All, &to);
    let error = sent.unwrap_err().to_string();
    assert_eq!(error, "destination 1: its queue pair is of transport Uc, not RC");
}

#[test]
fn a_partition_that_no_id_can_name_gets_no_row() {
    let mut lab = lab();
    let to = [(0, &lab.pairs[0]), (256, &lab.pairs[1])];
    let ids = Selection::from(vec![0_u8; 9]);
    let sent = lab.sender.send(&mut lab.queue, 1, &numbers(9), &ids, &to).unwrap();
    assert_eq!(sent.rows, [9, 0]);
    assert_eq!(lab.run()[1], []);
}

#[test]
fn foreign_memory_is_refused_if_the_sender_is_to_do_so() {
    let format = format(&[DataType::Int64], 1000).unwrap();
    let mut lab = Lab::with(&format, 1, 4, Foreign::Refuse);
    let batch = numbers(9);
    let place = batch.column(0).to_data().buffers()[0].as_ptr();
    let error = fails(&mut lab, &batch, &Selection::All);
    assert_eq!(error, format!("column `c0`: 72 B at {place:?} lie in no registered arena"));
}

#[test]
fn a_full_arena_refuses_a_batch_that_must_be_copied() {
    let mut lab = lab();
    let pd = lab.nodes[0].pd.clone();
    let small = Arena::new(&pd, 64 << 10).unwrap();
    lab.sender = Sender::new(lab.sender.format().clone(), &pd, &small, Foreign::Copy);
    let error = fails(&mut lab, &numbers(10_000), &Selection::All);
    assert_eq!(error, "the arena of 65536 B has no room for 80000 B");
    let (_, received) = lab.shuffle(&numbers(100), &Selection::All);
    assert_eq!(received[2], Some(numbers(100)), "others can be sent all the same");
}

#[test]
fn a_list_that_is_too_long_is_refused() {
    let field = Arc::new(Field::new("item", DataType::Null, true));
    let count = usize::try_from(u32::MAX).unwrap() + 1;
    let offsets = OffsetBuffer::new(vec![0, 5, count as i64 + 5].into());
    let elements: ArrayRef = Arc::new(NullArray::new(count + 5));
    let list: ArrayRef = Arc::new(LargeListArray::new(field, offsets, elements, None));
    let schema = make::schema(std::slice::from_ref(list.data_type()));
    let mut lab = Lab::new(&Format::new(schema.clone(), 1000).unwrap(), 1, 4);
    let batch = RecordBatch::try_new(schema, vec![list]).unwrap();
    let error = fails(&mut lab, &batch, &Selection::All);
    let text = "column `c0`: the value of row 1 has length 4294967296, more than 4294967295";
    assert_eq!(error, text);
}

#[test]
fn a_queue_without_room_takes_nothing_of_a_batch() {
    let mut lab = lab();
    lab.queue = lab.nodes[0].pd.shared_send_queue(&lab.nodes[0].cq).send_blocks(4).build().unwrap();
    let error = lab.send(&numbers(9), &Selection::All).unwrap_err();
    assert!(matches!(error, SendError::Post(_)), "{error}");
    lab.queue = lab.nodes[0].pd.shared_send_queue(&lab.nodes[0].cq).build().unwrap();
    let (_, received) = lab.shuffle(&numbers(9), &Selection::All);
    assert_eq!(received[0], Some(numbers(9)), "it is the first that was sent");
}

#[test]
fn a_receiver_has_two_slabs_at_least() {
    let (lab, format) = (lab(), format(&[DataType::Int8], 1000).unwrap());
    for slabs in [0, 1, 32_769] {
        let error = Receiver::new(format.clone(), &lab.nodes[1].pd, slabs).unwrap_err();
        assert_eq!(error.to_string(), format!("{slabs} slabs, 2 to 32768 are possible"));
    }
}
