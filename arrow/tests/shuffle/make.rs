//! Arrays of any type, from numbers that look random.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryViewArray, RecordBatch, RecordBatchOptions, StringViewArray, make_array,
    new_empty_array,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use drdma_arrow::Selection;

/// Numbers that look random.
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Self {
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn bits(&mut self, count: usize) -> BooleanBuffer {
        BooleanBuffer::collect_bool(count, |_| self.next() & 1 == 1)
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }

    fn text(&mut self) -> String {
        let characters = ['a', 'z', '0', 'ä', '→', ' '];
        let len = [0, 1, 4, 12, 13, 30][self.below(6)];
        (0..len).map(|_| characters[self.below(characters.len())]).collect()
    }
}

/// A batch of `rows` rows, each of whose arrays is a slice of a longer one.
pub fn batch(numbers: &mut Numbers, schema: &SchemaRef, rows: usize) -> RecordBatch {
    let columns = schema.fields().iter().map(|field| field_array(numbers, field, rows)).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options).unwrap()
}

fn field_array(numbers: &mut Numbers, field: &Field, rows: usize) -> ArrayRef {
    array(numbers, field.data_type(), rows, field.is_nullable())
}

/// An array of `rows` rows, a slice of a longer one.
pub fn array(numbers: &mut Numbers, data_type: &DataType, rows: usize, nullable: bool) -> ArrayRef {
    let (before, behind) = (numbers.below(12), numbers.below(3));
    let nullable = nullable && numbers.below(3) > 0;
    whole(numbers, data_type, before + rows + behind, nullable).slice(before, rows)
}

fn whole(numbers: &mut Numbers, data_type: &DataType, rows: usize, nullable: bool) -> ArrayRef {
    let is_null = *data_type == DataType::Null;
    let nulls = (nullable && !is_null).then(|| NullBuffer::new(numbers.bits(rows)));
    let data = ArrayData::builder(data_type.clone()).len(rows).nulls(nulls.clone());
    if let Some(width) = data_type.primitive_width() {
        return made(
            data.add_buffer(Buffer::from_vec(numbers.bytes(rows * width))).align_buffers(true),
        );
    }
    match data_type {
        DataType::Null => made(data),
        DataType::Boolean => made(data.add_buffer(numbers.bits(rows).into_inner())),
        DataType::FixedSizeBinary(width) => {
            made(data.add_buffer(Buffer::from_vec(numbers.bytes(rows * *width as usize))))
        }
        DataType::Utf8 | DataType::Binary | DataType::LargeUtf8 | DataType::LargeBinary => {
            let values: Vec<String> = (0..rows).map(|_| numbers.text()).collect();
            let offsets = offsets(data_type, values.iter().map(String::len));
            let bytes = Buffer::from_vec(values.concat().into_bytes());
            made(data.add_buffer(offsets).add_buffer(bytes))
        }
        DataType::Utf8View | DataType::BinaryView => {
            let valid = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
            let values = (0..rows).map(|row| Some(numbers.text()).filter(|_| valid(row)));
            match data_type {
                DataType::Utf8View => Arc::new(StringViewArray::from_iter(values)),
                _ => Arc::new(BinaryViewArray::from_iter(values)),
            }
        }
        DataType::Dictionary(keys, values) => {
            let count = 1 + numbers.below(9);
            let values = array(numbers, values, count, nullable);
            let width = keys.primitive_width().unwrap();
            let key = |_| (numbers.below(count) as u64).to_le_bytes()[..width].to_vec();
            let keys: Vec<u8> = (0..rows).flat_map(key).collect();
            let data = data.add_buffer(Buffer::from_vec(keys)).align_buffers(true);
            made(data.add_child_data(values.to_data()))
        }
        DataType::Struct(fields) => {
            let columns = fields.iter().map(|field| field_array(numbers, field, rows).to_data());
            made(data.child_data(columns.collect()))
        }
        DataType::List(field) | DataType::LargeList(field) | DataType::Map(field, _) => {
            let lengths: Vec<usize> = (0..rows).map(|_| numbers.below(4)).collect();
            let elements = field_array(numbers, field, lengths.iter().sum());
            let data = data.add_buffer(offsets(data_type, lengths.into_iter()));
            made(data.add_child_data(elements.to_data()))
        }
        DataType::FixedSizeList(field, size) => {
            let elements = field_array(numbers, field, rows * *size as usize);
            made(data.add_child_data(elements.to_data()))
        }
        other => panic!("no arrays of {other} are made"),
    }
}

fn offsets(data_type: &DataType, lengths: impl Iterator<Item = usize>) -> Buffer {
    let ends = lengths.scan(0, |end, length| {
        *end += length;
        Some(*end)
    });
    let offsets = std::iter::once(0).chain(ends);
    match data_type {
        DataType::LargeUtf8 | DataType::LargeBinary | DataType::LargeList(_) => {
            Buffer::from_iter(offsets.map(|offset| offset as i64))
        }
        _ => Buffer::from_iter(offsets.map(|offset| offset as i32)),
    }
}

fn made(data: arrow_data::ArrayDataBuilder) -> ArrayRef {
    make_array(data.build().unwrap())
}

/// A selection of one of the kinds that there are, and the rows of each of `destinations`.
pub fn selection(
    numbers: &mut Numbers,
    rows: usize,
    destinations: usize,
) -> (Selection, Vec<Vec<u32>>) {
    let mut wanted = vec![Vec::new(); destinations];
    let way = numbers.below(4);
    match way {
        0 | 1 => {
            let ids: Vec<u16> = (0..rows).map(|_| numbers.below(destinations + 1) as u16).collect();
            for (row, id) in (0..).zip(&ids) {
                if let Some(wanted) = wanted.get_mut(usize::from(*id)) {
                    wanted.push(row);
                }
            }
            // Ids need not begin at an aligned byte.
            let skip = numbers.below(3);
            let ids = std::iter::repeat_n(0, skip).chain(ids);
            let selection = match way {
                0 => {
                    let ids: Vec<u8> = ids.map(|id| id as u8).collect();
                    Selection::Ids(ScalarBuffer::from(ids).slice(skip, rows))
                }
                _ => Selection::WideIds(
                    ScalarBuffer::from(ids.collect::<Vec<_>>()).slice(skip, rows),
                ),
            };
            (selection, wanted)
        }
        2 => {
            let mut bitmaps = Vec::new();
            for wanted in &mut wanted {
                let skip = numbers.below(20);
                let bits = numbers.bits(skip + rows + 3).slice(skip, rows);
                wanted.extend(bits.set_indices().map(|row| row as u32));
                bitmaps.push(bits);
            }
            (Selection::Bitmaps(bitmaps), wanted)
        }
        _ => {
            wanted.iter_mut().for_each(|wanted| wanted.extend(0..rows as u32));
            (Selection::All, wanted)
        }
    }
}

/// A schema of these columns, `a`, `b` and so on, each of which can be null.
pub fn schema(types: &[DataType]) -> SchemaRef {
    let field =
        |(i, data_type): (usize, &DataType)| Field::new(format!("c{i}"), data_type.clone(), true);
    Arc::new(Schema::new(types.iter().enumerate().map(field).collect::<Vec<_>>()))
}

/// An empty batch.
pub fn empty(schema: &SchemaRef) -> RecordBatch {
    let columns = schema.fields().iter().map(|field| new_empty_array(field.data_type())).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(0));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options).unwrap()
}
