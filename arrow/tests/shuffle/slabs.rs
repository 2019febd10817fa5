//! Receivers: the memory that messages arrive in.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::DataType;
use drdma_arrow::{Form, Format, Selection};
use libdrdma::{Contiguous, QueuePair, Status, WorkRequest};

use crate::{lab::Lab, make};

fn batch(first: i64, rows: i64) -> RecordBatch {
    let values = Int64Array::from_iter_values(first..first + rows);
    let column: ArrayRef = Arc::new(values);
    RecordBatch::try_new(make::schema(&[DataType::Int64]), vec![column]).unwrap()
}

fn lab(message_bytes: usize, slabs: usize) -> Lab {
    let format = Format::new(make::schema(&[DataType::Int64]), message_bytes).unwrap();
    Lab::new(&format, 1, slabs)
}

#[test]
fn arrays_that_stay_in_use_keep_half_of_the_slabs_and_no_more() {
    let mut lab = lab(4096, 8);
    let mut kept = Vec::new();
    for i in 0..20 {
        let (_, mut received) = lab.shuffle(&batch(100 * i, 100), &Selection::All);
        kept.push(received.remove(0).unwrap());
        let lent = 4.min(i as usize + 1);
        assert_eq!(lab.receivers[0].posted(), 8 - lent);
        let copied = 800 * (i as u64 + 1).saturating_sub(4);
        let headers = lab.receivers[0].copied_bytes() - copied;
        assert!(headers < 20 * 100 && (copied > 0 || headers == 0), "{headers} B of headers");
    }
    for (i, kept) in (0..).zip(&kept) {
        assert_eq!(*kept, batch(100 * i, 100), "what came later is elsewhere");
    }
    let last = kept[0].column(0).slice(99, 1);
    drop(kept);
    assert_eq!(lab.receivers[0].poll().unwrap().map(|received| received.qp), None);
    assert_eq!(lab.receivers[0].posted(), 7, "a slice keeps its slab");
    assert_eq!(last.as_ref(), &Int64Array::from(vec![99]));
    drop(last);
    assert!(lab.receivers[0].poll().unwrap().is_none());
    assert_eq!(lab.receivers[0].posted(), 8);
}

#[test]
fn a_batch_of_more_messages_than_there_are_slabs_arrives() {
    let mut lab = lab(64, 2);
    // 8 rows a message.
    let (sent, received) = lab.shuffle(&batch(0, 1001), &Selection::All);
    assert_eq!((sent.rows, sent.requests), (vec![1001], 2));
    assert_eq!(received[0], Some(batch(0, 1001)));
    assert_eq!(lab.receivers[0].posted(), 2);
}

#[test]
fn batches_stay_when_their_receiver_is_gone() {
    let mut lab = lab(4096, 4);
    let (_, mut received) = lab.shuffle(&batch(5, 100), &Selection::All);
    let received = received.remove(0).unwrap();
    drop(lab);
    assert_eq!(received, batch(5, 100));
}

#[test]
fn lost_frames_are_sent_again() {
    let mut lab = lab(1000, 6);
    lab.lost = |frame| frame % 7 == 3;
    for i in 0..10 {
        let (_, received) = lab.shuffle(&batch(i, 300), &Selection::All);
        assert_eq!(received[0], Some(batch(i, 300)));
    }
}

#[test]
fn strings_longer_than_a_message_are_put_together() {
    let text: String = (0..5000).map(|i| char::from(b'a' + (i % 23) as u8)).collect();
    let column: ArrayRef = Arc::new(StringArray::from(vec!["x", &text, "y", &text[..100]]));
    let batch = RecordBatch::try_new(make::schema(&[DataType::Utf8]), vec![column]).unwrap();
    let mut lab = Lab::new(&Format::new(batch.schema(), 300).unwrap(), 2, 4);
    let (_, received) = lab.shuffle(&batch, &vec![0_u16, 1, 0, 1].into());
    for (received, rows) in received.into_iter().zip([[0, 2], [1, 3]]) {
        let received = received.unwrap();
        let column = received.column(0).as_any().downcast_ref::<StringArray>().unwrap();
        let original = batch.column(0).as_any().downcast_ref::<StringArray>().unwrap();
        for (found, row) in column.iter().zip(rows) {
            assert_eq!(found, Some(original.value(row)));
        }
    }
}

/// Sends bytes that are no batch.
fn send_raw(lab: &Lab, pair: &mut QueuePair<'static>, bytes: Vec<u8>) {
    let memory = Arc::new(lab.nodes[0].pd.register(bytes).unwrap());
    let regions = [Contiguous::new(memory).build().unwrap()];
    pair.post_send(&WorkRequest::new(1).regions(&regions)).unwrap();
}

#[test]
fn what_is_no_batch_is_told_and_does_not_disturb_others() {
    let format = Format::new(make::schema(&[DataType::Int64]), 1000).unwrap();
    let mut lab = Lab::new(&format, 2, 4);
    let mut pair = lab.pairs.remove(0);
    send_raw(&lab, &mut pair, vec![7; 33]);
    send_raw(&lab, &mut pair, vec![7; 5]);
    lab.pairs.insert(0, pair);
    let _ = lab.send(&batch(0, 10), &vec![1_u8; 10].into()).unwrap();
    let results = lab.try_run();
    let errors: Vec<_> = results[0].iter().map(|r| r.as_ref().unwrap_err().to_string()).collect();
    let expected = [
        "queue pair 0: a batch's header begins with [7, 7, 7, 7], version 1799",
        "queue pair 0: a message of 5 B behind one that was wrong",
    ];
    assert_eq!(errors, expected);
    assert_eq!(results[1][0].as_ref().unwrap().batch, batch(0, 10));
    // From the beginning.
    lab.receivers[0].forget(lab.ends[0].index());
    lab.statuses();
    let (_, received) = lab.shuffle(&batch(0, 10), &vec![0_u8; 10].into());
    assert_eq!(received, [Some(batch(0, 10)), None]);
}

#[test]
fn a_batch_that_is_missing_is_noticed() {
    let mut lab = lab(1000, 4);
    let _ = lab.shuffle(&batch(0, 10), &Selection::All);
    lab.sender.forget(lab.pairs[0].index());
    let _ = lab.send(&batch(0, 10), &Selection::All).unwrap();
    let error = lab.try_run().remove(0).remove(0).unwrap_err().to_string();
    assert_eq!(error, "queue pair 0: batch 0 came where batch 1 was due");
}

#[test]
fn another_format_is_noticed() {
    let lab_of =
        |types: &[DataType]| Lab::new(&Format::new(make::schema(types), 1000).unwrap(), 1, 4);
    let mut lab = lab_of(&[DataType::UInt64]);
    let theirs = Format::new(make::schema(&[DataType::Int64]), 1000).unwrap();
    let (pd, arena) = (&lab.nodes[0].pd, &lab.arena);
    lab.sender = drdma_arrow::Sender::new(theirs, pd, arena, Default::default());
    let _ = lab.send(&batch(0, 10), &Selection::All).unwrap();
    let error = lab.try_run().remove(0).remove(0).unwrap_err().to_string();
    assert!(error.starts_with("queue pair 0: the sender's format has fingerprint 0x"), "{error}");
}

#[test]
fn a_message_that_is_too_long_fails_and_its_slab_is_not_used_again() {
    let mut lab = lab(1000, 4);
    let mut pair = lab.pairs.remove(0);
    send_raw(&lab, &mut pair, vec![7; 1001]);
    lab.pairs.push(pair);
    let error = lab.try_run().remove(0).remove(0).unwrap_err().to_string();
    let text = "queue pair Some(0): a receive ended with LocalLengthError; 3 of 4 slabs are left";
    assert_eq!(error, text);
    assert_eq!(lab.receivers[0].posted(), 3);
    assert_eq!(lab.statuses(), [Status::RemoteInvalidRequestError]);
    // Both queue pairs are in the error state; connected anew, they begin from the beginning.
    lab.connect_anew(0);
    lab.sender.forget(lab.pairs[0].index());
    lab.receivers[0].forget(lab.ends[0].index());
    let (_, received) = lab.shuffle(&batch(0, 10), &Selection::All);
    assert_eq!(received[0], Some(batch(0, 10)));
}

#[test]
fn a_receiver_that_begins_anew_is_as_good_as_a_new_one() {
    let mut lab = lab(4096, 8);
    let (_, mut kept) = lab.shuffle(&batch(0, 100), &Selection::All);
    let kept = kept.remove(0).unwrap();
    let names: ArrayRef = Arc::new(StringArray::from(vec!["one", "two"]));
    let names = RecordBatch::try_new(make::schema(&[DataType::Utf8]), vec![names]).unwrap();
    let format = Format::new(names.schema(), 1000).unwrap();
    for connection in 0..4 {
        assert!(lab.receivers[0].begin_anew(&format));
        assert_eq!(lab.receivers[0].copied_bytes(), 0);
        match connection % 2 {
            // Batches are counted from the first again, whatever came on a queue pair of the same number.
            0 => lab.reuse_connection(0, &format),
            _ => lab.replace_connection(0, &format),
        }
        for _ in 0..10 {
            let (_, received) = lab.shuffle(&names, &Selection::All);
            assert_eq!(received, [Some(names.clone())]);
        }
        assert_eq!(kept, batch(0, 100), "it has its slab for itself");
    }
    drop(kept);
    assert!(lab.receivers[0].poll().unwrap().is_none());
    assert_eq!(lab.receivers[0].posted(), 8, "no slab was lost");
}

#[test]
fn a_receiver_with_anything_left_does_not_begin_anew() {
    let format = Format::new(make::schema(&[DataType::Int64]), 64).unwrap();
    // A batch that nobody has taken.
    let mut lab = Lab::new(&format, 1, 8);
    let _ = lab.send(&batch(0, 10), &Selection::All).unwrap();
    while lab.step() {}
    assert!(!lab.receivers[0].begin_anew(&format));
    assert_eq!(lab.run()[0], [batch(0, 10)]);
    assert!(lab.receivers[0].begin_anew(&format));
    // A header whose batch is lost.
    lab.replace_connection(0, &format);
    lab.frames = 0;
    lab.lost = |frame| frame > 1;
    let _ = lab.send(&batch(0, 10), &Selection::All).unwrap();
    assert!(lab.run()[0].is_empty());
    assert!(!lab.receivers[0].begin_anew(&format));
    // What is no batch.
    let mut lab = Lab::new(&format, 1, 8);
    let mut pair = lab.pairs.remove(0);
    send_raw(&lab, &mut pair, vec![7; 33]);
    lab.pairs.push(pair);
    let _ = lab.try_run().remove(0).remove(0).unwrap_err();
    assert!(!lab.receivers[0].begin_anew(&format));
    // A message that failed; its slab is lost.
    let mut lab = Lab::new(&format, 1, 8);
    let mut pair = lab.pairs.remove(0);
    send_raw(&lab, &mut pair, vec![7; 65]);
    lab.pairs.push(pair);
    let _ = lab.try_run().remove(0).remove(0).unwrap_err();
    assert!(!lab.receivers[0].begin_anew(&format));
}

#[test]
fn a_receiver_does_not_begin_anew_with_what_it_has_no_room_for() {
    let mut lab = lab(1000, 4);
    let schema = make::schema(&[DataType::Int64]);
    let longer = Format::new(schema.clone(), 1001).unwrap();
    assert!(!lab.receivers[0].begin_anew(&longer));
    let appended = Format::with_form(schema, 1000, Form::Appended).unwrap();
    assert!(!lab.receivers[0].begin_anew(&appended));
    let (_, received) = lab.shuffle(&batch(0, 10), &Selection::All);
    assert_eq!(received[0], Some(batch(0, 10)), "it goes on as before");
}
