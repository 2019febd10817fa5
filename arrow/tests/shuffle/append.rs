//! Rows that the receiver's card puts into columns.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, types::Int64Type};
use arrow_schema::{DataType, Field, Fields, Schema};
use arrow_select::concat::concat_batches;
use drdma_arrow::{AppendReceiver, Foreign, Form, Format, Receiver, Selection, Sender, Why};
use libdrdma::{
    Context, Contiguous, Features, Operation, Options, QueuePair, Status, WorkRequest,
    simulated::SimulatedCard,
};
use proptest::{collection::vec, prelude::*};

use crate::{
    lab::{Lab, Without},
    make::{self, Numbers},
    random::{fixed, taken},
};

fn numbers(first: i64, rows: i64) -> RecordBatch {
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values(first..first + rows));
    RecordBatch::try_new(number_schema(), vec![column]).unwrap()
}

fn number_schema() -> Arc<Schema> {
    Arc::new(Schema::new(vec![Field::new("key", DataType::Int64, false)]))
}

/// Rows of 8 B.
fn lab(message_bytes: usize, segments: (usize, usize, usize)) -> Lab {
    let format = Format::with_form(number_schema(), message_bytes, Form::Appended).unwrap();
    Lab::appending(&format, 1, segments, Foreign::Copy)
}

/// Sends a batch to every receiver, and takes the batches that the first one got.
fn pass(lab: &mut Lab, batch: &RecordBatch) -> Vec<RecordBatch> {
    let sent = lab.send(batch, &Selection::All).unwrap();
    let received = lab.run_appended().remove(0).into_iter().map(Result::unwrap).collect();
    assert_eq!(lab.statuses(), vec![Status::Success; sent.completions as usize]);
    received
}

#[test]
fn rows_of_fixed_width_are_one_request_and_copied_nowhere() {
    let schema = Arc::new(Schema::new(vec![
        Field::new("a", DataType::Int64, false),
        Field::new("b", DataType::Int64, true),
    ]));
    let format = Format::with_form(schema.clone(), 1 << 16, Form::Appended).unwrap();
    let mut lab = Lab::appending(&format, 2, (2, 4, 8192), Foreign::Refuse);
    let column = |factor: i64| -> ArrayRef {
        Arc::new(lab.arena.primitive::<Int64Type>(500, |row| factor * row as i64).unwrap())
    };
    let batch = RecordBatch::try_new(schema, vec![column(1), column(3)]).unwrap();
    let ids: Vec<u8> = (0..500).map(|row| (row % 2) as u8).collect();
    let ids = Selection::Ids(lab.arena.copy(&ids).unwrap().into());
    assert_eq!(lab.sender.plan(&batch).unwrap().copied(), 0);
    let sent = lab.send(&batch, &ids).unwrap();
    assert_eq!((sent.requests, sent.copied), (1, BTreeMap::new()));
    let received = lab.run_appended();
    for (destination, (receiver, received)) in lab.appenders.iter().zip(received).enumerate() {
        let rows: Vec<u32> = (0..500).filter(|row| row % 2 == destination as u32).collect();
        let [Ok(received)] = &received[..] else { panic!("{received:?}") };
        assert_eq!(Some(received), taken(&batch, &rows).as_ref());
        // The bits of validity, which came as bytes: 250 of them.
        assert_eq!(receiver.copied_bytes(), 250_u64.div_ceil(8));
    }
}

#[test]
fn nulls_are_bytes_of_validity() {
    let values = (0..100).map(|row| (row % 3 > 0).then_some(row));
    let column: ArrayRef = Arc::new(values.collect::<Int64Array>());
    let flags: ArrayRef =
        Arc::new((0..100).map(|row| Some(row % 7 == 0)).collect::<BooleanArray>());
    let batch = RecordBatch::try_new(
        make::schema(&[DataType::Int64, DataType::Boolean]),
        vec![column, flags],
    );
    let batch = batch.unwrap();
    let format = Format::with_form(batch.schema(), 2000, Form::Appended).unwrap();
    let mut lab = Lab::appending(&format, 1, (2, 16, 8192), Foreign::Copy);
    let sent = lab.send(&batch, &Selection::All).unwrap();
    // Of the flags the values, of the numbers the validity; that of the flags is all there.
    assert_eq!(sent.copied.get(&Why::Bits), Some(&200));
    let received = lab.run_appended().remove(0).remove(0).unwrap();
    assert_eq!(received, batch);
}

#[test]
fn rows_that_lie_behind_each_other_come_in_full_batches() {
    // 10 rows a message.
    let mut lab = lab(80, (2, 32, 64));
    let _ = lab.send(&numbers(0, 40), &Selection::All).unwrap();
    let _ = lab.send(&numbers(40, 7), &Selection::All).unwrap();
    let _ = lab.send(&numbers(47, 40), &Selection::All).unwrap();
    while lab.step() {}
    let batches = lab.run_appended().remove(0);
    let rows: Vec<usize> = batches.iter().map(|b| b.as_ref().unwrap().num_rows()).collect();
    // At most 64, whichever messages they came in.
    assert_eq!(rows, [64, 23]);
    let batches: Vec<_> = batches.into_iter().map(Result::unwrap).collect();
    assert_eq!(concat_batches(&number_schema(), &batches).unwrap(), numbers(0, 87));
    assert_eq!(lab.appenders[0].copied_bytes(), 0);
}

#[test]
fn rows_wait_for_a_whole_batch_unless_they_are_asked_for() {
    // 10 rows a message, 25 a batch: a message may be the end of one batch and the beginning of the next.
    let mut lab = lab(80, (2, 8, 25));
    let whole = |lab: &mut Lab, sent: Option<(i64, i64)>| {
        if let Some((first, rows)) = sent {
            let _ = lab.send(&numbers(first, rows), &Selection::All).unwrap();
            while lab.step() {}
        }
        lab.appenders[0].poll_whole().unwrap()
    };
    assert_eq!(whole(&mut lab, None), None);
    assert!(!lab.appenders[0].has_rows());
    assert_eq!(whole(&mut lab, Some((0, 24))), None);
    assert!(lab.appenders[0].has_rows());
    assert_eq!(whole(&mut lab, Some((24, 3))), Some(numbers(0, 25)));
    assert_eq!(whole(&mut lab, None), None);
    assert_eq!(lab.appenders[0].poll().unwrap(), Some(numbers(25, 2)));
    assert_eq!(lab.appenders[0].poll().unwrap(), None);
    // The segment of 8 messages ends behind the fourth of these: no more rows can lie behind its last ones.
    assert_eq!(whole(&mut lab, Some((27, 40))), Some(numbers(27, 25)));
    assert_eq!(whole(&mut lab, Some((67, 10))), Some(numbers(52, 15)));
    assert_eq!(whole(&mut lab, None), None);
    assert_eq!(lab.appenders[0].poll().unwrap(), Some(numbers(67, 10)));
    assert_eq!(lab.appenders[0].copied_bytes(), 0);
}

#[test]
fn messages_of_more_rows_than_a_batch_are_cut() {
    let mut lab = lab(800, (2, 4, 30));
    let batches = pass(&mut lab, &numbers(0, 100));
    let rows: Vec<usize> = batches.iter().map(RecordBatch::num_rows).collect();
    assert_eq!(rows, [30, 30, 30, 10]);
    assert_eq!(concat_batches(&number_schema(), &batches).unwrap(), numbers(0, 100));
}

#[test]
fn rows_over_the_end_of_a_segment_are_two_batches() {
    // Segments of 2 messages of 10 rows, that are filled in turns. Messages have 7.
    let mut lab = lab(80, (2, 2, 8192));
    for (i, batches) in [1, 1, 1, 1, 2, 1, 2, 1, 1, 2, 1, 2].into_iter().enumerate() {
        let sent = numbers(7 * i as i64, 7);
        let received = pass(&mut lab, &sent);
        assert_eq!(received.len(), batches, "message {i}");
        assert_eq!(concat_batches(&number_schema(), &received).unwrap(), sent);
    }
}

#[test]
fn arrays_that_stay_in_use_keep_half_of_the_segments_and_no_more() {
    // Segments of 4 messages of 100 rows.
    let mut lab = lab(800, (4, 4, 8192));
    let mut kept = Vec::new();
    for i in 0..40 {
        kept.extend(pass(&mut lab, &numbers(100 * i, 100)));
        // The first 8 messages lie in two segments; then every row is copied, once.
        let copied = 800 * (i as u64 + 1).saturating_sub(8);
        assert_eq!(lab.appenders[0].copied_bytes(), copied, "message {i}");
    }
    assert_eq!(concat_batches(&number_schema(), &kept).unwrap(), numbers(0, 4000));
    // One slice keeps its segment from being filled again.
    let last = kept[0].column(0).slice(99, 1);
    drop(kept);
    assert_eq!(lab.appenders[0].poll().unwrap(), None);
    assert!((9..=12).contains(&lab.appenders[0].posted()), "{}", lab.appenders[0].posted());
    for i in 0..40 {
        pass(&mut lab, &numbers(-100 * i, 100));
    }
    assert_eq!(last.as_ref(), &Int64Array::from(vec![99]));
}

#[test]
fn batches_stay_when_their_receiver_of_appended_rows_is_gone() {
    let mut lab = lab(4096, (2, 2, 8192));
    let received = pass(&mut lab, &numbers(5, 100)).remove(0);
    drop(lab);
    assert_eq!(received, numbers(5, 100));
}

#[test]
fn a_receiver_of_appended_rows_begins_anew_where_it_was() {
    let mut lab = lab(80, (2, 4, 8192));
    let format = lab.appenders[0].format().clone();
    let kept = pass(&mut lab, &numbers(0, 15));
    for first in 1..20 {
        assert!(lab.appenders[0].begin_anew(&format));
        lab.replace_connection(0, &format);
        let received = pass(&mut lab, &numbers(100 * first, 15));
        assert_eq!(concat_batches(&number_schema(), &received).unwrap(), numbers(100 * first, 15));
    }
    assert_eq!(concat_batches(&number_schema(), &kept).unwrap(), numbers(0, 15));
}

#[test]
fn a_receiver_of_appended_rows_does_not_begin_anew_with_anything_left() {
    let mut lab = lab(80, (2, 4, 8192));
    let format = lab.appenders[0].format().clone();
    let other = make::schema(&[DataType::Int64]);
    let other = Format::with_form(other, 80, Form::Appended).unwrap();
    assert!(!lab.appenders[0].begin_anew(&other), "nulls have a column more");
    let _ = lab.send(&numbers(0, 10), &Selection::All).unwrap();
    while lab.step() {}
    assert!(!lab.appenders[0].begin_anew(&format), "rows that nobody has taken");
    assert_eq!(lab.run_appended().remove(0).remove(0).unwrap(), numbers(0, 10));
    assert!(lab.appenders[0].begin_anew(&format));
    // Rows of another format.
    lab.replace_connection(0, &other);
    let _ = lab.send(&numbers(0, 3), &Selection::All).unwrap();
    lab.run_appended().remove(0).remove(0).unwrap_err();
    assert!(!lab.appenders[0].begin_anew(&format));
}

#[test]
fn lost_frames_of_appended_rows_are_sent_again() {
    let mut lab = lab(4000, (2, 2, 8192));
    lab.lost = |frame| frame % 7 == 3;
    for i in 0..10 {
        let received = pass(&mut lab, &numbers(i, 1500));
        assert_eq!(concat_batches(&number_schema(), &received).unwrap(), numbers(i, 1500));
    }
}

fn refused(schema: &Schema, message_bytes: usize) -> String {
    let schema = Arc::new(schema.clone());
    Format::with_form(schema, message_bytes, Form::Appended).unwrap_err().to_string()
}

#[test]
fn rows_that_cannot_be_appended_are_refused_by_name() {
    let item = Arc::new(Field::new("item", DataType::Int8, false));
    let texts = DataType::Struct(vec![Field::new("text", DataType::Utf8View, true)].into());
    let dictionary = DataType::Dictionary(DataType::Int8.into(), DataType::Int64.into());
    for (data_type, path) in [
        (DataType::Utf8, "c0"),
        (texts, "c0.text"),
        (DataType::List(item.clone()), "c0"),
        (dictionary, "c0"),
    ] {
        let error = refused(&make::schema(&[data_type]), 1000);
        assert!(error.starts_with(&format!("column `{path}`: ")), "{error}");
        assert!(
            error.ends_with(" has no fixed width, so that rows with it are not appended"),
            "{error}"
        );
    }
    // Columns that can be null count twice.
    let error = refused(&make::schema(&vec![DataType::Int8; 9]), 1000);
    assert_eq!(error, "rows of 18 columns, validity included: 1 to 16 can be appended");
    Format::with_form(make::schema(&vec![DataType::Int8; 8]), 1000, Form::Appended).unwrap();
    let error = refused(&make::schema(&[DataType::Null]), 1000);
    assert_eq!(error, "rows of 0 columns, validity included: 1 to 16 can be appended");
    let error = refused(&make::schema(&vec![DataType::Int64; 2]), 17);
    assert_eq!(error, "a row has 18 B, and the longest message 17: rows are not divided");
}

#[test]
fn a_receiver_of_the_other_kind_is_refused() {
    let lab = lab(1000, (2, 2, 8192));
    let (pd, format) = (&lab.nodes[1].pd, lab.appenders[0].format().clone());
    let error = Receiver::new(format.clone(), pd, 4).unwrap_err().to_string();
    assert_eq!(error, "a Receiver receives no batches of Form::Appended");
    let rows = Format::with_form(number_schema(), 1000, Form::Rows).unwrap();
    let error = AppendReceiver::new(rows, pd, 2, 2, 8192).unwrap_err().to_string();
    assert_eq!(error, "an AppendReceiver receives no batches of Form::Rows");
    for (segments, messages) in [(1, 9), (2, 0), (2, 16_385), (usize::MAX, 2)] {
        let receiver = AppendReceiver::new(format.clone(), pd, segments, messages, 8192);
        let text = format!(
            "{segments} segments of {messages} messages: 2 segments or more are possible, and 1 to 32768 messages in all"
        );
        assert_eq!(receiver.unwrap_err().to_string(), text);
    }
    let bytes = Arc::new(Schema::new(vec![Field::new("key", DataType::Int8, false)]));
    let long = Format::with_form(bytes, 1 << 30, Form::Appended).unwrap();
    let error = AppendReceiver::new(long, pd, 2, 4, 8192).unwrap_err().to_string();
    assert_eq!(error, "segments of 4294967296 rows: 4294967295 are possible");
}

#[test]
fn a_card_without_append_regions_receives_no_appended_rows() {
    let card = Box::new(Without(Features::APPENDS, SimulatedCard::new().card()));
    let options = Options::new("02:00:00:00:00:09".parse().unwrap(), [10, 0, 0, 9].into());
    let pd = Context::open(card, options).unwrap().protection_domain();
    assert!(!pd.context().features().contains(Form::APPEND_NEEDS));
    let format = Format::with_form(number_schema(), 1000, Form::Appended).unwrap();
    let error = AppendReceiver::new(format, &pd, 2, 2, 8192).unwrap_err().to_string();
    assert!(error.starts_with("an append region is not possible"), "{error}");
}

/// Sends bytes that are no rows of the format.
fn send_raw(lab: &Lab, pair: &mut QueuePair<'static>, bytes: Vec<u8>, imm: Option<u32>) {
    let memory = Arc::new(lab.nodes[0].pd.register(bytes).unwrap());
    let regions = [Contiguous::new(memory).build().unwrap()];
    let operation = imm.map_or(Operation::Send, Operation::SendImm);
    pair.post_send(&WorkRequest::new(1).operation(operation).regions(&regions)).unwrap();
}

#[test]
fn rows_of_another_format_are_noticed() {
    let mut lab = lab(1000, (2, 4, 8192));
    let mut pair = lab.pairs.remove(0);
    send_raw(&lab, &mut pair, vec![7; 32], None);
    send_raw(&lab, &mut pair, vec![7; 32], Some(9));
    lab.pairs.push(pair);
    let _ = lab.send(&numbers(0, 10), &Selection::All).unwrap();
    let results = lab.run_appended().remove(0);
    let text = |result: usize| results[result].as_ref().unwrap_err().to_string();
    assert!(text(0).starts_with("queue pair 0: the sender's format has no immediate data, ours "));
    assert!(
        text(1).starts_with("queue pair 0: the sender's format has immediate data 0x00000009, ")
    );
    assert_eq!(results[2].as_ref().unwrap(), &numbers(0, 10), "its rows are behind them");
    let theirs = Format::with_form(number_schema(), 1008, Form::Appended).unwrap();
    lab.sender = Sender::new(theirs, &lab.nodes[0].pd, &lab.arena, Foreign::Copy);
    let _ = lab.send(&numbers(0, 10), &Selection::All).unwrap();
    let error = lab.run_appended().remove(0).remove(0).unwrap_err().to_string();
    assert!(
        error.contains("ours immediate data"),
        "another message length is another format: {error}"
    );
}

#[test]
fn a_message_of_more_rows_than_the_format_has_is_an_error() {
    let mut lab = lab(1000, (2, 4, 8192));
    let mut pair = lab.pairs.remove(0);
    // What marks the format's messages is in the error of one that is not marked so.
    send_raw(&lab, &mut pair, vec![7; 8], None);
    let error = lab.run_appended().remove(0).remove(0).unwrap_err().to_string();
    let (_, tag) = error.split_once("ours immediate data 0x").unwrap();
    let tag = u32::from_str_radix(&tag[..8], 16).unwrap();
    send_raw(&lab, &mut pair, vec![7; 1008], Some(tag));
    send_raw(&lab, &mut pair, vec![7; 1000], Some(tag));
    lab.pairs.push(pair);
    let results = lab.run_appended().remove(0);
    let error = results[0].as_ref().unwrap_err().to_string();
    let text = "queue pair 0: a message of 126 rows, where the format has messages of up to 125";
    assert_eq!(error, text);
    assert_eq!(results[1].as_ref().unwrap().num_rows(), 125);
}

#[test]
fn a_message_that_is_not_of_whole_rows_fails_and_others_go_on() {
    let mut lab = lab(1000, (2, 4, 8192));
    let mut pair = lab.pairs.remove(0);
    send_raw(&lab, &mut pair, vec![7; 33], None);
    lab.pairs.push(pair);
    let error = lab.run_appended().remove(0).remove(0).unwrap_err().to_string();
    let text = "queue pair Some(0): a message ended with LocalLengthError: it is not of whole rows, has too many, or is not complete";
    assert_eq!(error, text);
    assert_eq!(lab.statuses(), [Status::RemoteInvalidRequestError]);
    lab.connect_anew(0);
    for i in 0..10 {
        assert_eq!(pass(&mut lab, &numbers(i, 100)), [numbers(i, 100)]);
    }
}

/// Fields of fixed width, some of them in structs.
fn field() -> impl Strategy<Value = (DataType, bool)> {
    let leaf = prop_oneof![4 => fixed(), 1 => Just(DataType::Boolean)];
    let list = |(of, size, nullable)| {
        DataType::FixedSizeList(Arc::new(Field::new("item", of, nullable)), size)
    };
    let pair = |fields: Vec<(DataType, bool)>| {
        let field = |(i, (of, nullable)): (usize, (DataType, bool))| {
            Field::new(format!("f{i}"), of, nullable)
        };
        DataType::Struct(fields.into_iter().enumerate().map(field).collect::<Fields>())
    };
    let field = prop_oneof![
        6 => leaf.clone(),
        1 => (fixed(), 1..4, any::<bool>()).prop_map(list),
        1 => vec((leaf, any::<bool>()), 1..3).prop_map(pair),
    ];
    (field, any::<bool>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn appended_rows_are_what_take_gives(
        fields in vec(field(), 1..4),
        rows in prop_oneof![0usize..4, 0usize..300],
        destinations in 1usize..4,
        extra in 0usize..3000,
        (segments, messages, batch_rows) in (2usize..5, 1usize..6, 1usize..200),
        is_foreign in any::<bool>(),
        is_kept in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let named = fields.into_iter().enumerate();
        let named = named.map(|(i, (of, nullable))| Field::new(format!("c{i}"), of, nullable));
        let schema = Arc::new(Schema::new(named.collect::<Vec<_>>()));
        let format = (0..).map(|more| extra + 100 * more);
        let format = format.map(|bytes| Format::with_form(schema.clone(), bytes, Form::Appended));
        let format = format.take(100).flatten().next().unwrap();
        let foreign = if is_foreign { Foreign::Register } else { Foreign::Copy };
        let segments = (segments, messages, batch_rows);
        let mut lab = Lab::appending(&format, destinations, segments, foreign);
        let mut numbers = Numbers::new(seed);
        let mut kept = Vec::new();
        for _ in 0..4 {
            let batch = make::batch(&mut numbers, &schema, rows);
            let (selection, wanted) = make::selection(&mut numbers, rows, destinations);
            let sent = lab.send(&batch, &selection).unwrap();
            let counts: Vec<u64> = wanted.iter().map(|rows| rows.len() as u64).collect();
            prop_assert_eq!(&sent.rows, &counts);
            for (received, wanted) in lab.run_appended().into_iter().zip(&wanted) {
                let received: Vec<_> = received.into_iter().map(Result::unwrap).collect();
                let together = concat_batches(&schema, &received).unwrap();
                let taken = taken(&batch, wanted);
                prop_assert_eq!(taken.as_ref(), Some(&together).filter(|_| !wanted.is_empty()));
                if is_kept {
                    kept.push((received, together));
                }
            }
            let statuses = vec![Status::Success; sent.completions as usize];
            prop_assert_eq!(lab.statuses(), statuses);
        }
        // Rows that came later do not lie where these do.
        for (received, together) in kept {
            prop_assert_eq!(concat_batches(&schema, &received).unwrap(), together);
        }
    }
}
