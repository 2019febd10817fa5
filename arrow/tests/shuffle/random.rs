//! Random schemas, batches and selections: what is received is what `take` gives.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::{DataType, Field, Fields, IntervalUnit, Schema, TimeUnit};
use arrow_select::take::take;
use drdma_arrow::{Foreign, Form, Format, Passage, Selection, Why};
use proptest::{collection::vec, prelude::*};

use crate::{
    lab::Lab,
    make::{self, Numbers},
};

fn form() -> impl Strategy<Value = Form> {
    prop_oneof![Just(Form::Columns), Just(Form::Rows), Just(Form::Kinds)]
}

/// Types of fixed width.
pub fn fixed() -> impl Strategy<Value = DataType> {
    prop_oneof![
        Just(DataType::Int8),
        Just(DataType::UInt16),
        Just(DataType::Int32),
        Just(DataType::UInt64),
        Just(DataType::Float16),
        Just(DataType::Float64),
        Just(DataType::Date32),
        Just(DataType::Time64(TimeUnit::Nanosecond)),
        Just(DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))),
        Just(DataType::Interval(IntervalUnit::MonthDayNano)),
        Just(DataType::Decimal32(5, 2)),
        Just(DataType::Decimal128(15, 2)),
        Just(DataType::Decimal256(40, 0)),
        (1..40).prop_map(DataType::FixedSizeBinary),
    ]
}

/// Types without others in them.
fn leaf() -> impl Strategy<Value = DataType> {
    prop_oneof![
        4 => fixed(),
        1 => Just(DataType::Null),
        1 => Just(DataType::Boolean),
        1 => Just(DataType::Utf8),
        1 => Just(DataType::LargeBinary),
        2 => Just(DataType::Utf8View),
        1 => Just(DataType::BinaryView),
    ]
}

fn field(data_type: DataType, nullable: bool) -> Arc<Field> {
    // Arrow has no array of this type without nulls.
    let nullable = nullable || data_type == DataType::Null;
    Arc::new(Field::new("item", data_type, nullable))
}

/// All types that are possible.
pub fn data_type() -> impl Strategy<Value = DataType> {
    leaf().prop_recursive(3, 8, 3, |inner| {
        let keys = prop_oneof![Just(DataType::Int8), Just(DataType::UInt32), Just(DataType::Int64)];
        let element = (inner.clone(), any::<bool>()).prop_map(|(t, nullable)| field(t, nullable));
        prop_oneof![
            vec(element.clone(), 1..4).prop_map(|fields| {
                let named = fields.iter().enumerate().map(|(i, field)| {
                    Field::new(format!("f{i}"), field.data_type().clone(), field.is_nullable())
                });
                DataType::Struct(named.collect::<Fields>())
            }),
            element.clone().prop_map(DataType::List),
            element.clone().prop_map(DataType::LargeList),
            (element.clone(), 1..4).prop_map(|(field, size)| DataType::FixedSizeList(field, size)),
            (fixed(), 1..5).prop_map(|(t, size)| DataType::FixedSizeList(field(t, true), size)),
            element.prop_map(|value| {
                let key = Field::new("key", DataType::Utf8, false);
                let value = value.as_ref().clone().with_name("value");
                let entries = DataType::Struct(vec![key, value].into());
                DataType::Map(Arc::new(Field::new("entries", entries, false)), false)
            }),
            (keys, leaf().prop_filter("values of some type", |t| *t != DataType::Null))
                .prop_map(|(keys, values)| DataType::Dictionary(keys.into(), values.into())),
        ]
    })
}

/// The rows of a batch that a destination is to get: nothing if there are none.
pub fn taken(batch: &RecordBatch, rows: &[u32]) -> Option<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    let rows = UInt32Array::from(rows.to_vec());
    let columns = batch.columns().iter().map(|column| take(column, &rows, None).unwrap());
    let columns = columns.collect();
    let taken = RecordBatch::try_new_with_options(batch.schema(), columns, &options);
    (!rows.is_empty()).then(|| taken.unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn a_batch_that_is_sent_and_received_is_what_take_gives(
        types in vec((data_type(), any::<bool>()), 0..6),
        rows in prop_oneof![0usize..4, 0usize..200],
        destinations in 1usize..4,
        form in form(),
        is_foreign in any::<bool>(),
        longest in 0usize..3000,
        slabs in 2usize..12,
        seed in any::<u64>(),
    ) {
        let fields: Vec<Field> = types.iter().enumerate().map(|(i, (data_type, nullable))| {
            let nullable = *nullable || *data_type == DataType::Null;
            Field::new(format!("c{i}"), data_type.clone(), nullable)
        }).collect();
        let schema = Arc::new(Schema::new(fields));
        let format = (0..).map(|i| longest + 1000 * i);
        let format = format.map(|bytes| Format::with_form(schema.clone(), bytes, form));
        let format = format.flatten().next().unwrap();
        let foreign = if is_foreign { Foreign::Register } else { Foreign::Copy };
        let mut lab = Lab::with(&format, destinations, slabs, foreign);
        let mut numbers = Numbers::new(seed);
        // Several batches, of which the later ones are parts of the first one.
        let whole = make::batch(&mut numbers, &schema, rows);
        for i in 0..3 {
            let batch = match i {
                0 => whole.clone(),
                1 => whole.slice(rows / 3, rows / 2),
                _ => make::batch(&mut numbers, &schema, rows / 2),
            };
            let (selection, wanted) = make::selection(&mut numbers, batch.num_rows(), destinations);
            let (sent, received) = lab.shuffle(&batch, &selection);
            let counts: Vec<u64> = wanted.iter().map(|rows| rows.len() as u64).collect();
            prop_assert_eq!(&sent.rows, &counts);
            for (received, wanted) in received.iter().zip(&wanted) {
                prop_assert_eq!(received, &taken(&batch, wanted));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn what_is_copied_is_what_the_plan_says(
        types in vec(data_type(), 0..6),
        rows in 0usize..100,
        form in form(),
        is_placed in any::<bool>(),
        is_foreign in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let schema = make::schema(&types);
        let foreign = if is_foreign { Foreign::Register } else { Foreign::Copy };
        let format = Format::with_form(schema.clone(), 4000, form).unwrap();
        let mut lab = Lab::with(&format, 1, 16, foreign);
        let mut batch = make::batch(&mut Numbers::new(seed), &schema, rows);
        if is_placed {
            let columns = batch.columns().iter().map(|column| lab.arena.place(column).unwrap());
            let options = RecordBatchOptions::new().with_row_count(Some(rows));
            batch = RecordBatch::try_new_with_options(schema, columns.collect(), &options).unwrap();
        }
        // All rows, by ids that need no copy.
        let ids = Selection::Ids(lab.arena.copy(&vec![0; rows]).unwrap().into());
        let plan = lab.sender.plan(&batch).unwrap();
        let (sent, received) = lab.shuffle(&batch, &ids);
        prop_assert_eq!(&received[0], &Some(batch).filter(|_| rows > 0));
        prop_assert_eq!(sent.copied_bytes(), plan.copied());
        let is_copied = |why| plan.parts.iter().any(|part| part.passage == Passage::Copied { why });
        prop_assert!(!is_copied(Why::Foreign) || !(is_placed || is_foreign));
        prop_assert!(!is_copied(Why::Lengths) || form != Form::Kinds);
    }
}

/// How many random batches are sent: `DRDMA_TEST_BATCHES=n` changes it.
fn cases() -> u32 {
    std::env::var("DRDMA_TEST_BATCHES").map_or(128, |cases| cases.parse().expect("a number"))
}
