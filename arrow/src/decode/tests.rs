//! Messages that are no batch, of which each kind is told apart.

use std::sync::Arc;

use arrow_array::{StringArray, cast::AsArray};
use arrow_schema::{DataType, Field, Schema};

use super::*;
use crate::Form;

fn format(data_type: DataType) -> Format {
    with_form(data_type, Form::Columns)
}

fn with_form(data_type: DataType, form: Form) -> Format {
    let schema = Schema::new(vec![Field::new("c", data_type, true)]);
    Format::with_form(Arc::new(schema), 100, form).unwrap()
}

/// A header for that format, with these rows and bytes, whose arrays have no nulls.
fn header(format: &Format, rows: &[u64], bytes: &[u64]) -> Header {
    let present = format.layout.columns.iter().map(|column| !column.part.is_optional()).collect();
    let fresh = vec![false; format.layout.dictionaries.len()];
    Header { sequence: 0, rows: rows.to_vec(), bytes: bytes.to_vec(), present, fresh }
}

/// The batch, or the error, that these messages behind a header result in.
fn receive(
    format: &Format,
    header: &Header,
    messages: &[&[u8]],
) -> Result<Option<RecordBatch>, DecodeError> {
    let mut stream = Stream::new(format);
    let header = header.encode(format.fingerprint);
    let mut last = None;
    for message in [header.as_slice()].iter().chain(messages) {
        assert!(last.is_none(), "a batch was complete before");
        last = stream.message(format, Buffer::from_slice_ref(message), &mut 0)?;
    }
    Ok(last)
}

fn fails(format: &Format, header: &Header, messages: &[&[u8]]) -> String {
    receive(format, header, messages).unwrap_err().to_string()
}

fn lengths(lengths: &[u32]) -> Vec<u8> {
    lengths.iter().flat_map(|length| length.to_le_bytes()).collect()
}

#[test]
fn strings_are_their_lengths_and_their_bytes() {
    let format = format(DataType::Utf8);
    let header = header(&format, &[3], &[6]);
    assert!(receive(&format, &header, &[&lengths(&[1, 0, 5])]).unwrap().is_none());
    let batch = receive(&format, &header, &[&lengths(&[1, 0, 5]), b"abcdef"]).unwrap().unwrap();
    assert_eq!(batch.column(0).as_ref(), &StringArray::from(vec!["a", "", "bcdef"]));
}

#[test]
fn strings_of_kinds_have_their_lengths_in_front() {
    for data_type in [DataType::Utf8, DataType::Utf8View] {
        let format = with_form(data_type.clone(), Form::Kinds);
        let head = header(&format, &[3], &[2]);
        let first = [lengths(&[1, 20]), b"abcdefghijklmnopqrstu".to_vec()].concat();
        let last = [lengths(&[2]), b"vw".to_vec()].concat();
        let batch = receive(&format, &head, &[&first, &last]).unwrap().unwrap();
        let expected = StringArray::from(vec!["a", "bcdefghijklmnopqrstu", "vw"]);
        let found = batch.column(0);
        let found: Vec<_> = match data_type {
            DataType::Utf8 => found.as_string::<i32>().iter().collect(),
            _ => found.as_string_view().iter().collect(),
        };
        assert_eq!(found, expected.iter().collect::<Vec<_>>());
        let text = |bytes, expected| {
            format!("column `c`: a message of {bytes} B where {expected} were due")
        };
        assert_eq!(fails(&format, &head, &[&[0; 7]]), text(7, 8));
        assert_eq!(fails(&format, &head, &[&first[..28]]), text(28, 29));
        assert_eq!(fails(&format, &head, &[&first, &first]), text(29, 5));
        let none = header(&format, &[3], &[0]);
        assert_eq!(fails(&format, &none, &[]), "column `c`: messages of 0 rows");
    }
}

#[test]
fn strings_longer_than_a_message_come_behind_their_lengths() {
    for data_type in [DataType::Utf8, DataType::Utf8View] {
        let format = with_form(data_type.clone(), Form::Kinds);
        let text = "x".repeat(101);
        let head = header(&format, &[2], &[LONG | 103]);
        let messages = [&lengths(&[101, 2])[..], &text.as_bytes()[..100], b"xyz"];
        let batch = receive(&format, &head, &messages).unwrap().unwrap();
        let found = batch.column(0);
        let found: Vec<_> = match data_type {
            DataType::Utf8 => found.as_string::<i32>().iter().collect(),
            _ => found.as_string_view().iter().collect(),
        };
        assert_eq!(found, [Some(text.as_str()), Some("yz")]);
        let none = header(&format, &[2], &[LONG]);
        let batch = receive(&format, &none, &[&lengths(&[0, 0])]).unwrap().unwrap();
        assert_eq!(batch.num_rows(), 2);
        let wrong = [&lengths(&[101, 3])[..], &text.as_bytes()[..100], b"xyz"];
        assert_eq!(
            fails(&format, &head, &wrong),
            "column `c`: the lengths add up to 104, and 103 bytes or elements follow"
        );
        let short = "column `c`: a message of 4 B where 8 were due";
        assert_eq!(fails(&format, &head, &[&lengths(&[101])]), short);
    }
}

#[test]
fn bits_of_kinds_fill_bytes() {
    let format = with_form(DataType::Boolean, Form::Kinds);
    let head = header(&format, &[11], &[]);
    let batch = receive(&format, &head, &[&[0b1000_0010, 0b101]]).unwrap().unwrap();
    let set: Vec<usize> = batch.column(0).as_boolean().values().set_indices().collect();
    assert_eq!(set, [1, 7, 8, 10]);
    let text = "column `c`: a message of 11 B where 2 were due";
    assert_eq!(fails(&format, &head, &[&[0; 11]]), text);
}

#[test]
fn messages_of_another_length_are_told() {
    let format = format(DataType::Utf8);
    let header = header(&format, &[3], &[101]);
    for (messages, text) in [
        (vec![vec![0; 8]], "column `c`: a message of 8 B where 12 were due"),
        (vec![vec![0; 13]], "column `c`: a message of 13 B where 12 were due"),
        (vec![vec![0; 12], vec![0; 101]], "column `c`: a message of 101 B where 100 were due"),
        (
            vec![vec![0; 12], vec![0; 100], vec![0; 2]],
            "column `c`: a message of 2 B where 1 were due",
        ),
    ] {
        let messages: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
        assert_eq!(fails(&format, &header, &messages), text);
    }
}

#[test]
fn lengths_that_do_not_add_up_are_told() {
    let text = |sum: u64, found| {
        format!("column `c`: the lengths add up to {sum}, and {found} bytes or elements follow")
    };
    let strings = format(DataType::Utf8);
    let head = header(&strings, &[2], &[3]);
    let sent = lengths(&[1, u32::MAX]);
    assert_eq!(fails(&strings, &head, &[&sent, b"abc"]), text(1 << 32, 3));
    let list = format(DataType::List(Arc::new(Field::new("item", DataType::Int8, true))));
    let head = header(&list, &[2, 3], &[]);
    assert_eq!(fails(&list, &head, &[&lengths(&[1, 1]), b"abc"]), text(2, 3));
    let fixed = DataType::FixedSizeList(Arc::new(Field::new("item", DataType::Boolean, true)), 2);
    let fixed = format(fixed);
    let head = header(&fixed, &[1, 3], &[]);
    assert_eq!(fails(&fixed, &head, &[&[1, 0, 1]]), text(2, 3));
    let views = format(DataType::Utf8View);
    let mut long = [0; 16];
    long[0] = 13;
    let head = header(&views, &[1], &[12]);
    let error = receive(&views, &head, &[&long, &[b'x'; 12]]).unwrap_err().to_string();
    assert_eq!(error, text(13, 12));
}

#[test]
fn bytes_that_are_no_values_are_told() {
    let strings = format(DataType::Utf8);
    let head = header(&strings, &[1], &[1]);
    let error = fails(&strings, &head, &[&lengths(&[1]), &[0xff]]);
    assert!(error.starts_with("column `c`: Invalid argument error: Invalid UTF8"), "{error}");
    let views = format(DataType::Utf8View);
    let view = [1, 0, 0, 0, b'x', b'y', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let error = fails(&views, &header(&views, &[1], &[0]), &[&view]);
    assert!(error.contains("View at index 0"), "{error}");
    let keys = DataType::Dictionary(DataType::Int8.into(), DataType::Int8.into());
    let keys = format(keys);
    let mut head = header(&keys, &[1, 2], &[]);
    head.fresh[0] = true;
    receive(&keys, &head, &[&[1], &[7, 8]]).unwrap().unwrap();
    let error = fails(&keys, &head, &[&[2], &[7, 8]]);
    assert!(error.contains("Value at position 0 out of bounds: 2"), "{error}");
    head = header(&keys, &[1, 0], &[]);
    let text = "column `c`: keys of a dictionary that was not sent";
    assert_eq!(fails(&keys, &head, &[&[0]]), text);
}

#[test]
fn texts_that_lie_one_behind_the_other_are_each_utf_8() {
    let receive_two = |format: &Format, first: u32, bytes: &[u8], is_null: bool| {
        let second = bytes.len() as u32 - first;
        let strings = [&lengths(&[first, second])[..], bytes].concat();
        let mut header = header(format, &[2], &[2]);
        let mut messages = vec![strings];
        if is_null {
            header.present = vec![true, true];
            messages.insert(0, vec![0b10]);
        }
        let messages: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
        receive(format, &header, &messages)
    };
    let text = with_form(DataType::Utf8View, Form::Kinds);
    let bytes = with_form(DataType::BinaryView, Form::Kinds);
    // A letter of two bytes.
    let word = "gr\u{fc}n und lang".as_bytes();
    let received = receive_two(&text, 4, word, false).unwrap().unwrap();
    let texts: Vec<_> = received.column(0).as_string_view().iter().collect();
    assert_eq!(texts, [Some("gr\u{fc}"), Some("n und lang")]);
    receive_two(&bytes, 3, word, false).unwrap().unwrap();
    // A letter whose bytes are in two values is in none.
    let error = receive_two(&text, 3, word, false).unwrap_err().to_string();
    assert!(error.contains("UTF-8"), "{error}");
    let error = receive_two(&text, 1, b"a\xff", false).unwrap_err().to_string();
    assert!(error.contains("UTF-8"), "{error}");
    // What a null has instead of a value need be no text.
    let received = receive_two(&text, 1, b"\xffa", true).unwrap().unwrap();
    let texts: Vec<_> = received.column(0).as_string_view().iter().collect();
    assert_eq!(texts, [None, Some("a")]);
}

#[test]
fn headers_are_checked() {
    let format = format(DataType::Utf8);
    let mut stream = Stream::new(&format);
    let mut fails = |bytes: &[u8]| {
        let result = stream.message(&format, Buffer::from_slice_ref(bytes), &mut 0);
        result.unwrap_err().to_string()
    };
    let mut good = header(&format, &[3], &[6]);
    let bytes = good.encode(format.fingerprint);
    assert_eq!(fails(&bytes[1..]), "a batch's header of 40 B: it must have 41");
    let mut other = bytes.clone();
    other[4] = 2;
    assert!(fails(&other).ends_with("version 2"));
    assert!(
        fails(&good.encode(1))
            .starts_with("the sender's format has fingerprint 0x0000000000000001")
    );
    good.sequence = 4;
    assert_eq!(fails(&good.encode(format.fingerprint)), "batch 4 came where batch 0 was due");
    good.present = vec![true, false];
    let text = "column `c`: the header says that its Lengths do not follow";
    assert_eq!(fails(&good.encode(format.fingerprint)), text);
    good = header(&format, &[u64::MAX / 2], &[6]);
    let text = format!("column `c`: {} rows are too many", u64::MAX / 2);
    assert_eq!(fails(&good.encode(format.fingerprint)), text);
    good = header(&format, &[3], &[u64::MAX]);
    let text = format!("column `c`: {} rows are too many", u64::MAX);
    assert_eq!(fails(&good.encode(format.fingerprint)), text);
}

#[test]
fn formats_that_differ_have_other_fingerprints() {
    let of = |name: &str, data_type: DataType, bytes, form| {
        let schema = Arc::new(Schema::new(vec![Field::new(name, data_type, true)]));
        Format::with_form(schema, bytes, form).unwrap().fingerprint
    };
    use crate::Form::{Columns, Kinds, Rows};
    let one = of("c", DataType::Int64, 100, Columns);
    assert_eq!(one, of("c", DataType::Int64, 100, Columns));
    for other in [
        of("d", DataType::Int64, 100, Columns),
        of("c", DataType::UInt64, 100, Columns),
        of("c", DataType::Int64, 101, Columns),
        of("c", DataType::Int64, 100, Rows),
        of("c", DataType::Int64, 100, Kinds),
    ] {
        assert_ne!(one, other);
    }
}

#[test]
fn a_batch_without_columns_is_its_header() {
    let format = Format::new(Arc::new(Schema::empty()), 100).unwrap();
    let batch = receive(&format, &header(&format, &[5], &[]), &[]).unwrap().unwrap();
    assert_eq!((batch.num_rows(), batch.num_columns()), (5, 0));
    let many = header(&format, &[u64::MAX], &[]);
    let text = format!("column ``: {} rows are too many", u64::MAX);
    assert_eq!(fails(&format, &many, &[]), text);
}
