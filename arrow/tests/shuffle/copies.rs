//! Which bytes are copied, and which are not.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Int32Array, Int64Array, LargeStringArray, ListArray,
    RecordBatch, StringArray, StringViewArray,
    builder::make_view,
    types::{Date32Type, Decimal128Type, Int8Type, Int32Type, Int64Type},
};
use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Schema};
use drdma_arrow::{Foreign, Form, Format, Part, Passage, Selection, Sender, Why};
use libdrdma::{Card, CardError, Context, DmaMemory, Features, Options, simulated::SimulatedCard};

use crate::{
    lab::{Lab, Without},
    make,
    random::taken,
};

const ROWS: usize = 500;

/// Columns of fixed width in the arena, and ids.
fn fixed(lab: &Lab) -> (RecordBatch, Selection) {
    let arena = &lab.arena;
    let decimals = arena.primitive::<Decimal128Type>(ROWS, |row| row as i128 * 7).unwrap();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(arena.primitive::<Int64Type>(ROWS, |row| row as i64).unwrap()),
        Arc::new(decimals.with_precision_and_scale(15, 2).unwrap()),
        Arc::new(arena.primitive::<Date32Type>(ROWS, |row| row as i32).unwrap()),
    ];
    let ids: Vec<u8> = (0..ROWS).map(|row| (row % 2) as u8).collect();
    let ids = Selection::Ids(arena.copy(&ids).unwrap().into());
    (RecordBatch::try_new(fixed_schema(), columns).unwrap(), ids)
}

fn fixed_schema() -> Arc<Schema> {
    Arc::new(Schema::new(vec![
        Field::new("key", DataType::Int64, false),
        Field::new("price", DataType::Decimal128(15, 2), true),
        Field::new("day", DataType::Date32, true),
    ]))
}

#[test]
fn columns_of_fixed_width_are_copied_neither_by_the_sender_nor_by_the_receiver() {
    let format = Format::new(fixed_schema(), 1 << 16).unwrap();
    let mut lab = Lab::with(&format, 2, 16, Foreign::Refuse);
    let (batch, ids) = fixed(&lab);
    let plan = lab.sender.plan(&batch).unwrap();
    assert_eq!((plan.copied(), plan.as_they_lie()), (0, 28 * ROWS as u64));
    let (sent, received) = lab.shuffle(&batch.slice(100, 400), &slice(&ids, 100, 400));
    assert_eq!((sent.copied, sent.rows), (BTreeMap::new(), vec![200; 2]));
    for (receiver, batch) in lab.receivers.iter().zip(&received) {
        assert_eq!(receiver.copied_bytes(), 0);
        assert_eq!(batch.as_ref().unwrap().num_rows(), 200);
        assert_eq!(receiver.posted(), 16 - 4 + 1, "a slab a column; the header's is posted again");
    }
}

fn slice(selection: &Selection, offset: usize, rows: usize) -> Selection {
    let Selection::Ids(ids) = selection else { panic!("ids") };
    Selection::Ids(ids.slice(offset, rows))
}

#[test]
fn a_receiver_of_rows_copies_each_byte_once() {
    let format = Format::with_form(fixed_schema(), 1 << 16, Form::Rows).unwrap();
    let mut lab = Lab::new(&format, 2, 16);
    let (batch, ids) = fixed(&lab);
    let (sent, received) = lab.shuffle(&batch, &ids);
    assert_eq!((sent.copied_bytes(), sent.requests), (0, 2));
    assert_eq!(received[1].as_ref().unwrap().num_rows(), ROWS / 2);
    assert_eq!(lab.receivers[1].copied_bytes(), 28 * ROWS as u64 / 2);
}

/// A column of each kind, sliced so that bits begin within a byte.
fn kinds() -> RecordBatch {
    let every = |n: usize| move |row: usize| !row.is_multiple_of(n);
    let text = |row: usize| Some("x".repeat(row % 30)).filter(|_| every(7)(row));
    let dictionary: DictionaryArray<Int8Type> = (0..ROWS).map(|row| ["a", "bc"][row % 2]).collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("flag", Arc::new((0..ROWS).map(|row| Some(every(3)(row))).collect::<BooleanArray>())),
        ("name", Arc::new((0..ROWS).map(text).collect::<StringArray>())),
        ("large", Arc::new((0..ROWS).map(text).collect::<LargeStringArray>())),
        ("view", Arc::new((0..ROWS).map(text).collect::<StringViewArray>())),
        ("word", Arc::new(dictionary)),
        (
            "key",
            Arc::new(
                (0..ROWS as i64)
                    .map(|row| Some(row).filter(|_| row % 5 > 0))
                    .collect::<Int64Array>(),
            ),
        ),
    ];
    let columns = columns.into_iter().map(|(name, column)| (name, column, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

fn placed(lab: &Lab, batch: &RecordBatch) -> RecordBatch {
    let columns = batch.columns().iter().map(|column| lab.arena.place(column).unwrap());
    RecordBatch::try_new(batch.schema(), columns.collect()).unwrap()
}

#[test]
fn columns_of_every_kind_are_not_copied_by_the_sender() {
    let format = Format::with_form(kinds().schema(), 1 << 16, Form::Kinds).unwrap();
    let mut lab = Lab::with(&format, 2, 32, Foreign::Refuse);
    let whole = placed(&lab, &kinds());
    let ids: Vec<u8> = (0..ROWS).map(|row| (row % 2) as u8).collect();
    let ids = Selection::Ids(lab.arena.copy(&ids).unwrap().into());
    for (offset, rows) in [(0, ROWS), (13, 301), (8, 1)] {
        let (batch, ids) = (whole.slice(offset, rows), slice(&ids, offset, rows));
        assert_eq!(lab.sender.plan(&batch).unwrap().copied(), 0);
        let (sent, received) = lab.shuffle(&batch, &ids);
        assert_eq!(sent.copied, BTreeMap::new());
        for (destination, received) in (0..2).zip(received) {
            let mine: Vec<u32> =
                (0..rows as u32).filter(|row| (row + offset as u32) % 2 == destination).collect();
            assert_eq!(received, taken(&batch, &mine), "{offset} {destination}");
        }
    }
}

/// Views of 20 rows, each longer than a view, in two buffers: the first has the first `near` values.
fn views_of_two_buffers(lab: &Lab, near: usize, is_near: [bool; 2]) -> RecordBatch {
    let value = |row: usize| format!("the value of row {row:02}");
    let text = |rows: std::ops::Range<usize>| rows.map(value).collect::<String>().into_bytes();
    let buffer = |bytes: Vec<u8>, is_near| match is_near {
        true => lab.arena.copy(&bytes).unwrap(),
        false => Buffer::from_vec(bytes),
    };
    let len = value(0).len();
    let view = |row: usize| {
        let (buffer, at) = if row < near { (0, row) } else { (1, row - near) };
        make_view(value(row).as_bytes(), buffer, (at * len) as u32)
    };
    let views: Vec<u8> = (0..20).map(view).flat_map(u128::to_le_bytes).collect();
    let buffers = vec![buffer(text(0..near), is_near[0]), buffer(text(near..20), is_near[1])];
    let views = ScalarBuffer::new(lab.arena.copy(&views).unwrap(), 0, 20);
    let column: ArrayRef = Arc::new(StringViewArray::try_new(views, buffers, None).unwrap());
    RecordBatch::try_from_iter([("name", column)]).unwrap()
}

#[test]
fn of_views_only_buffers_that_lie_in_no_arena_are_copied() {
    let schema = Arc::new(Schema::new(vec![Field::new("name", DataType::Utf8View, false)]));
    let format = Format::with_form(schema, 1 << 16, Form::Kinds).unwrap();
    let mut lab = Lab::new(&format, 1, 16);
    let ids = Selection::Ids(lab.arena.copy(&[0; 20]).unwrap().into());
    for (near, is_near, copied) in
        [(17, [true, true], 0), (17, [true, false], 3 * 19), (17, [false, true], 17 * 19)]
    {
        let batch = views_of_two_buffers(&lab, near, is_near);
        assert_eq!(lab.sender.plan(&batch).unwrap().copied(), copied);
        let (sent, received) = lab.shuffle(&batch, &ids);
        assert_eq!(sent.copied_bytes(), copied);
        assert_eq!(received, [Some(batch)]);
    }
    // Where few rows are left of a long buffer, their views and bytes are copied instead.
    let batch = views_of_two_buffers(&lab, 17, [false, true]).slice(15, 3);
    let copied = 3 * (16 + 19);
    assert_eq!(lab.sender.plan(&batch).unwrap().copied(), copied);
    let (sent, received) = lab.shuffle(&batch, &slice(&ids, 15, 3));
    assert_eq!((sent.copied_bytes(), received), (copied, vec![Some(batch)]));
}

#[test]
fn a_receiver_of_kinds_copies_neither_bits_nor_strings() {
    let batch = kinds().project(&[0, 1]).unwrap();
    let format = Format::with_form(batch.schema(), 1 << 16, Form::Kinds).unwrap();
    let mut lab = Lab::new(&format, 1, 16);
    let (_, received) = lab.shuffle(&batch, &vec![0_u8; ROWS].into());
    assert_eq!(received[0], Some(batch));
    // Offsets are made of lengths.
    assert_eq!(lab.receivers[0].copied_bytes(), 4 * (ROWS as u64 + 1));
}

#[test]
fn strings_that_are_longer_than_a_message_are_copied_and_their_columns_neighbours_are_not() {
    let names = ["a".repeat(96), "b".repeat(97), "short".into(), "c".repeat(250), String::new()];
    let names = names.map(Some).into_iter().chain([None, Some("behind a null".into())]);
    let names: Vec<Option<String>> = names.collect();
    let rows = names.len();
    let total: usize = names.iter().flatten().map(String::len).sum();
    let neighbour = || -> ArrayRef {
        Arc::new((0..rows).map(|row| Some(format!("neighbour {row}"))).collect::<StringArray>())
    };
    let arrays: [ArrayRef; 3] = [
        Arc::new(StringArray::from(names.clone())),
        Arc::new(LargeStringArray::from(names.clone())),
        Arc::new(StringViewArray::from_iter(names.iter().map(Option::as_deref))),
    ];
    for names in arrays {
        let columns = [("name", names, true), ("neighbour", neighbour(), true)];
        let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        let format = Format::with_form(batch.schema(), 100, Form::Kinds).unwrap();
        let mut lab = Lab::with(&format, 2, 16, Foreign::Register);
        let batch = placed(&lab, &batch);
        let ids = vec![0_u8, 1, 1, 0, 1, 0, 0];
        let ids = Selection::Ids(lab.arena.copy(&ids).unwrap().into());
        let plan = lab.sender.plan(&batch).unwrap();
        let (sent, received) = lab.shuffle(&batch, &ids);
        let expected =
            BTreeMap::from([(Why::Offsets, 4 * rows as u64), (Why::Lengths, total as u64)]);
        assert_eq!((&sent.copied, plan.copied()), (&expected, sent.copied_bytes()));
        assert_eq!(received[0], taken(&batch, &[0, 3, 5, 6]));
        assert_eq!(received[1], taken(&batch, &[1, 2, 4]));
        // Without the long ones nothing is copied.
        let (sent, received) = lab.shuffle(&batch.slice(4, 3), &slice(&ids, 4, 3));
        assert_eq!(sent.copied, BTreeMap::new());
        assert_eq!(received[0], taken(&batch, &[5, 6]));
        // To everybody, each is copied once.
        let (sent, received) = lab.shuffle(&batch, &Selection::All);
        assert_eq!(sent.copied, expected);
        assert_eq!(received, vec![Some(batch.clone()); 2]);
    }
}

#[test]
fn a_card_that_does_not_follow_columns_is_told_from_one_that_does() {
    assert_eq!(Form::of_card(Features::all()), Form::Kinds);
    for feature in Form::NEEDS {
        assert_eq!(Form::of_card(Features::all() - feature), Form::Columns);
    }
    let plain = Box::new(Without(Features::BITS, SimulatedCard::new().card()));
    let options = Options::new("02:00:00:00:00:09".parse().unwrap(), [10, 0, 0, 9].into());
    let context = Context::open(plain, options).unwrap();
    let pd = context.protection_domain();
    let format = Format::with_form(kinds().schema(), 1 << 16, Form::Kinds).unwrap();
    let lab = Lab::new(&format, 1, 2);
    let sender = Sender::new(format, &pd, &lab.arena, Foreign::Copy);
    assert_eq!(
        sender.plan(&kinds()).unwrap_err().to_string(),
        "the card does not send batches of Form::Kinds: it misses Features(BITS)"
    );
}

/// What is mapped for a card: the first byte and the length.
type Mapped = Arc<Mutex<Vec<(usize, usize)>>>;

/// A card that says what is mapped for it.
struct Spy(Box<dyn Card>, Mapped);

impl Card for Spy {
    fn read(&mut self, offset: u32) -> Result<u32, CardError> {
        self.0.read(offset)
    }

    fn write(&mut self, offset: u32, value: u32) -> Result<(), CardError> {
        self.0.write(offset, value)
    }

    fn map(&mut self, iova: u64, memory: &DmaMemory) -> Result<(), CardError> {
        let first = memory.as_ptr().addr() + memory.offset();
        self.1.lock().unwrap().push((first, memory.len()));
        self.0.map(iova, memory)
    }

    fn unmap(&mut self, iova: u64) -> Result<(), CardError> {
        self.0.unmap(iova)
    }

    fn progress(&mut self) -> Result<(), CardError> {
        self.0.progress()
    }
}

#[test]
fn what_is_registered_are_the_arrays_own_bytes() {
    let mapped = Mapped::default();
    let spy = Box::new(Spy(SimulatedCard::new().card(), mapped.clone()));
    let options = Options::new("02:00:00:00:00:09".parse().unwrap(), [10, 0, 0, 9].into());
    let context = Context::open(spy, options).unwrap();
    let (pd, cq) = (context.protection_domain(), context.completion_queue().build().unwrap());
    let format = Format::new(fixed_schema(), 1 << 16).unwrap();
    let lab = Lab::new(&format, 1, 2);
    let arena = drdma_arrow::Arena::new(&pd, 1 << 20).unwrap();
    let mut queue = pd.shared_send_queue(&cq).build().unwrap();
    let pair = pd.queue_pair(&cq).build().unwrap();
    // This batch lies in the lab's arena, which is not registered here, and is a slice.
    let (batch, ids) = fixed(&lab);
    let (batch, ids) = (batch.slice(3, 100), slice(&ids, 3, 100));
    let mut sender = Sender::new(format, &pd, &arena, Foreign::Register);
    mapped.lock().unwrap().clear();
    let sent = sender.send(&mut queue, 1, &batch, &ids, &[(0, &pair)]).unwrap();
    assert_eq!(sent.copied_bytes(), 0);
    let place = |buffer: &Buffer| (buffer.as_ptr().addr(), buffer.len());
    let Selection::Ids(ids) = &ids else { panic!("ids") };
    let mut expected = vec![place(ids.inner())];
    for (column, width) in batch.columns().iter().zip([8, 16, 4]) {
        let buffer = column.to_data().buffers()[0].clone();
        expected.push((buffer.as_ptr().addr(), 100 * width));
    }
    assert_eq!(*mapped.lock().unwrap(), expected);
}

#[test]
fn nothing_is_mapped_for_what_lies_in_the_arena() {
    let mapped = Mapped::default();
    let spy = Box::new(Spy(SimulatedCard::new().card(), mapped.clone()));
    let options = Options::new("02:00:00:00:00:09".parse().unwrap(), [10, 0, 0, 9].into());
    let context = Context::open(spy, options).unwrap();
    let (pd, cq) = (context.protection_domain(), context.completion_queue().build().unwrap());
    let lab = Lab::new(&Format::new(fixed_schema(), 1 << 16).unwrap(), 1, 2);
    // The arena is registered with this card as well.
    let mut sender = Sender::new(lab.sender.format().clone(), &pd, &lab.arena, Foreign::Refuse);
    lab.arena.register(&pd).unwrap();
    let mut queue = pd.shared_send_queue(&cq).build().unwrap();
    let pair = pd.queue_pair(&cq).build().unwrap();
    let (batch, ids) = fixed(&lab);
    mapped.lock().unwrap().clear();
    let sent = sender.send(&mut queue, 1, &batch, &ids, &[(1, &pair)]).unwrap();
    assert_eq!((sent.copied_bytes(), sent.rows), (0, vec![ROWS as u64 / 2]));
    assert_eq!(*mapped.lock().unwrap(), []);
}

#[test]
fn the_plan_tells_what_is_copied_and_why() {
    let flags = BooleanArray::from(vec![Some(true), None, Some(false)]);
    let names = StringArray::from(vec!["a", "", "long enough"]);
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([
        Some(vec![Some(1), Some(2)]),
        Some(vec![]),
        Some(vec![Some(3)]),
    ]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("flag", Arc::new(flags)),
        ("name", Arc::new(names)),
        ("list", Arc::new(list)),
        ("key", Arc::new(Int32Array::from(vec![1, 2, 3]))),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, true)),
    );
    let batch = batch.unwrap();
    let format = Format::new(batch.schema(), 4096).unwrap();
    let lab = Lab::new(&format, 1, 16);
    let found: Vec<_> = lab.sender.plan(&batch).unwrap().parts;
    let found: Vec<_> =
        found.iter().map(|p| (p.path.as_str(), p.part, p.passage, p.bytes)).collect();
    let copied = |why| Passage::Copied { why };
    let expected = [
        ("flag", Part::Validity, copied(Why::Bits), 3),
        ("flag", Part::Values, copied(Why::Bits), 3),
        ("name", Part::Validity, Passage::LeftOut, 0),
        ("name", Part::Lengths, copied(Why::Offsets), 12),
        ("list", Part::Validity, Passage::LeftOut, 0),
        ("list", Part::Lengths, copied(Why::Offsets), 12),
        ("list.item", Part::Validity, Passage::LeftOut, 0),
        ("list.item", Part::Values, copied(Why::Foreign), 12),
        ("key", Part::Validity, Passage::LeftOut, 0),
        ("key", Part::Values, copied(Why::Foreign), 12),
        ("name", Part::Bytes, copied(Why::Lengths), 12),
        ("list.item", Part::ElementRows, copied(Why::Elements), 3),
    ];
    assert_eq!(found, expected);
    let placed = lab.arena.place(batch.column(3)).unwrap();
    let alone = batch.project(&[3]).unwrap();
    let placed = RecordBatch::try_new(alone.schema(), vec![placed]).unwrap();
    let plan = |foreign, batch: &RecordBatch| {
        let format = Format::new(batch.schema(), 4096).unwrap();
        let sender = Sender::new(format, &lab.nodes[0].pd, &lab.arena, foreign);
        sender.plan(batch).unwrap().parts.pop().unwrap()
    };
    assert_eq!(plan(Foreign::Copy, &placed).passage, Passage::AsItLies);
    assert_eq!(plan(Foreign::Register, &alone).passage, Passage::Registered);
    let text = plan(Foreign::Copy, &alone).to_string();
    assert_eq!(text, "`key` Values, 12 B: copied (memory that is in no registered arena)");
}

#[test]
fn a_dictionary_is_sent_once_to_each_that_needs_it() {
    let schema =
        make::schema(&[DataType::Dictionary(DataType::Int8.into(), DataType::Utf8.into())]);
    let dictionary = |words: [&str; 3]| -> ArrayRef {
        let keys = [0, 1, 2, 0, 1, 2].map(|key| key as usize);
        let array: arrow_array::DictionaryArray<arrow_array::types::Int8Type> =
            keys.iter().map(|key| words[*key]).collect();
        Arc::new(array)
    };
    let format = Format::new(schema.clone(), 4096).unwrap();
    let mut lab = Lab::new(&format, 2, 16);
    let (one, other) = (dictionary(["x", "y", "z"]), dictionary(["u", "v", "w"]));
    let batch =
        |array: &ArrayRef| RecordBatch::try_new(schema.clone(), vec![array.clone()]).unwrap();
    // Header and keys; lengths and bytes of the values.
    let mut send = |array: &ArrayRef, ids: [u8; 6], requests| {
        let (sent, received) = lab.shuffle(&batch(array), &ids.to_vec().into());
        assert_eq!(sent.requests, requests, "{ids:?}");
        received
    };
    send(&one, [0; 6], 4);
    send(&one, [0; 6], 2);
    let received = send(&one, [0, 0, 0, 1, 1, 1], 4);
    assert_eq!(received[0], Some(batch(&one.slice(0, 3))));
    assert_eq!(received[1], Some(batch(&one.slice(3, 3))));
    send(&one, [1; 6], 2);
    let received = send(&other, [0, 1, 0, 1, 0, 2], 4);
    assert_eq!(received[1], Some(batch(&dictionary(["v", "u", "w"]).slice(0, 2))));
    send(&other, [0; 6], 2);
}
