use table::Values;
use tpchgen::generators::LineItem;

use super::{receiver::Array, *};

fn options(whole_rows: usize, batch_rows: usize, receivers: usize) -> Options {
    Options {
        scale_factor: 0.001,
        destinations: 1,
        batch_rows,
        rows_per_message: 1,
        sample_rows: 1,
        whole_rows,
        receivers,
        mtu: 1024,
        patience: Duration::from_secs(60),
    }
}

/// The first rows of the table, each passed through `change`.
fn batch(rows: usize, change: impl Fn(usize, &mut LineItem<'_>)) -> Batch {
    let mut batch = Batch::new();
    let _ = lineitem::items(0.001, |item| {
        let mut item = item.clone();
        change(batch.rows(), &mut item);
        batch.push(&item);
        if batch.rows() < rows { Ok(()) } else { Err(()) }
    });
    batch
}

#[test]
fn the_first_row_is_that_of_tpc_h() {
    let batch = batch(1, |_, _| ());
    let found = |name: &str| {
        let column = COLUMNS.iter().position(|(of, _)| *of == name).unwrap();
        match &batch.columns()[column] {
            Values::Numbers(bytes) => {
                let mut number = [0; 16];
                number[..bytes.len()].copy_from_slice(bytes);
                i128::from_le_bytes(number).to_string()
            }
            Values::Texts(texts) => texts[0].clone(),
        }
    };
    // 1|...|...|1|17|...|0.04|0.02|N|O|1996-03-13|1996-02-12|1996-03-22|DELIVER IN PERSON|TRUCK|...
    let names = ["l_orderkey", "l_linenumber", "l_quantity", "l_discount", "l_tax"];
    assert_eq!(names.map(found), ["1", "1", "1700", "4", "2"]);
    let dates = ["l_shipdate", "l_commitdate", "l_receiptdate"];
    assert_eq!(dates.map(found), ["9568", "9538", "9577"]);
    let strings = ["l_returnflag", "l_linestatus", "l_shipinstruct", "l_shipmode"];
    assert_eq!(strings.map(found), ["N", "O", "DELIVER IN PERSON", "TRUCK"]);
    assert!((10..=43).contains(&found("l_comment").len()));
}

#[test]
fn every_value_is_in_columns_at_its_receiver() {
    // The append regions of 130 rows go on with row 0 in the middle of batches.
    let outcome = run(&options(1000, 130, 3), "soft:").unwrap();
    assert_eq!(outcome.receivers.iter().sum::<u64>(), 1000);
    assert!(outcome.receivers.iter().all(|rows| *rows > 200), "{:?}", outcome.receivers);
    let Verified { values, strings, string_bytes } = outcome.verified;
    assert_eq!((values, strings), (16_000, 5_000));
    let columns: Vec<_> = outcome.strings.iter().map(|strings| strings.column).collect();
    assert_eq!(columns, ["l_shipinstruct", "l_comment"]);
    assert_eq!(outcome.rows.payload_bytes, 1000 * ROW as u64);
    // The bytes that are written are all strings of the two columns, and their lengths.
    let written: u64 = outcome.strings.iter().map(|strings| strings.cost.payload_bytes).sum();
    assert!(written > 2000 * 4 && written < string_bytes + 2000 * 4, "{written} {string_bytes}");
}

#[test]
fn a_batch_without_long_strings_needs_no_other_request() {
    let batch = batch(50, |_, item| (item.l_shipinstruct, item.l_comment) = ("NONE", "short"));
    let options = options(50, 50, 2);
    let mut shuffle = Shuffle::new(&options, "soft:").unwrap();
    let mut outcome = Outcome::default();
    let rows = shuffle.send(&batch, &mut outcome).unwrap();
    assert!(outcome.strings.is_empty());
    for (number, (receiver, rows)) in shuffle.receivers.iter().zip(&rows).enumerate() {
        let verified = check::arrived(number, &batch, rows, &receiver.arrays().unwrap()).unwrap();
        assert_eq!(verified.values, 16 * rows.len() as u64);
    }
}

#[test]
fn any_changed_byte_is_found_and_so_are_rows_of_others() {
    let batch = batch(40, |_, _| ());
    let options = options(40, 40, 2);
    let mut shuffle = Shuffle::new(&options, "soft:").unwrap();
    let rows = shuffle.send(&batch, &mut Outcome::default()).unwrap();
    let [first, second] = [0, 1].map(|number| shuffle.receivers[number].arrays().unwrap());
    let check = |arrays: &[Array]| check::arrived(0, &batch, &rows[0], arrays);
    assert_eq!(check(&first).unwrap().strings, 5 * rows[0].len() as u64);

    let mut bytes = 0;
    for column in 0..COLUMNS.len() {
        let mut changed = first.clone();
        let parts = |array: &Array| match array {
            Array::Numbers(numbers) => [numbers.len(), 0],
            Array::Texts { views, buffer } => [views.len() * 16, buffer.len()],
        };
        let [entries, buffer] = parts(&first[column]);
        for at in 0..entries + buffer {
            let byte = match &mut changed[column] {
                Array::Numbers(numbers) => &mut numbers[at],
                Array::Texts { views, .. } if at < entries => &mut views.as_flattened_mut()[at],
                Array::Texts { buffer, .. } => &mut buffer[at - entries],
            };
            *byte ^= 0x10;
            let error = check(&changed).unwrap_err();
            let is_it = matches!(error, ColumnsError::Value { column: of, .. } if of == column);
            assert!(is_it, "byte {at} of column {column}: {error}");
            changed[column] = first[column].clone();
            bytes += 1;
        }
    }
    assert!(bytes > rows[0].len() * ROW, "{bytes} B were changed");

    let (found, expected) = (rows[1].len(), rows[0].len());
    assert_ne!(found, expected);
    let rows_of_another = ColumnsError::Rows { receiver: 0, found, expected };
    assert_eq!(check(&second), Err(rows_of_another));
    let value = ColumnsError::Value {
        receiver: 2,
        column: 14,
        row: 7,
        found: b"RAIL\0".into(),
        expected: b"MAIL\0".into(),
    };
    let text = r#"receiver 2: l_shipmode of row 7 arrived as "RAIL\x00" instead of "MAIL\x00""#;
    assert_eq!(value.to_string(), text);
}

#[test]
fn a_receiver_with_too_little_room_ends_it() {
    // The peer refuses strings behind the end of its memory.
    let batch = batch(200, |_, _| ());
    let options = options(10, 10, 1);
    let mut shuffle = Shuffle::new(&options, "soft:").unwrap();
    let error = shuffle.send(&batch, &mut Outcome::default()).unwrap_err();
    assert!(matches!(error, DemoError::Status { .. }), "{error}");
}

#[test]
fn one_that_gives_no_rows_back_ends_it() {
    let batch = batch(50, |_, _| ());
    let options = options(50, 50, 1);
    let mut shuffle = Shuffle::new(&options, "soft:").unwrap();
    shuffle.send(&batch, &mut Outcome::default()).unwrap();
    let error = shuffle.send(&batch, &mut Outcome::default()).unwrap_err();
    assert!(matches!(error, DemoError::Status { status: Status::RnrRetryExceeded, .. }), "{error}");
}

#[test]
fn nobody_waits_for_ever() {
    let options = options(50, 50, 2);
    let mut shuffle = Shuffle::new(&options, "soft:").unwrap();
    let error = shuffle.until(|_| Ok(false)).unwrap_err();
    let text = "no packet and no completion for 1.02ms of simulated time";
    assert_eq!(error.to_string(), text);
}

#[test]
fn a_string_that_no_column_has_is_found() {
    let long = "a comment of 45 bytes, as no table of TPC-H has";
    let long = &long[..45];
    let batch = batch(30, |row, item| {
        if row == 20 {
            item.l_comment = long;
        }
    });
    let options = options(30, 30, 1);
    let mut shuffle = Shuffle::new(&options, "soft:").unwrap();
    shuffle.send(&batch, &mut Outcome::default()).unwrap();
    let error = shuffle.receivers[0].arrays().unwrap_err();
    assert_eq!(error.to_string(), "receiver 0: l_comment of row 20 has 45 B, and 44 B at most");
}
