//! A batch as the parts that its layout has, and the memory that each lies in.

use std::{any::Any, ops::Range};

use arrow_array::{
    Array, ArrayRef, BinaryViewArray, GenericByteArray, GenericListArray, OffsetSizeTrait,
    RecordBatch, StringViewArray, cast::AsArray, types::ByteArrayType,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType;

use crate::{
    SendError,
    layout::{Kind, LENGTH_WIDTH, Layout, Node, VIEW_WIDTH},
};

/// Bytes of a value that stand in its view.
pub(crate) const INLINE: usize = 12;

/// Offsets of either width.
#[derive(Clone, Debug)]
pub(crate) enum Offsets {
    Narrow(OffsetBuffer<i32>),
    Wide(OffsetBuffer<i64>),
}

impl Offsets {
    fn of<O: OffsetSizeTrait>(offsets: &OffsetBuffer<O>) -> Self {
        let any: &dyn Any = offsets;
        match any.downcast_ref::<OffsetBuffer<i32>>() {
            Some(offsets) => Self::Narrow(offsets.clone()),
            None => Self::Wide(any.downcast_ref().cloned().expect("offsets of 4 or 8 B")),
        }
    }

    /// Bytes of an offset.
    pub fn width(&self) -> u64 {
        match self {
            Self::Narrow(_) => 4,
            Self::Wide(_) => 8,
        }
    }

    /// The offsets' own bytes.
    pub fn buffer(&self) -> Buffer {
        match self {
            Self::Narrow(offsets) => offsets.inner().inner().clone(),
            Self::Wide(offsets) => offsets.inner().inner().clone(),
        }
    }

    /// The same offsets, counted from the first one on, little-endian.
    pub fn counted_anew(&self) -> Vec<u8> {
        let (start, width) = (self.at(0), self.width() as usize);
        let offset = |row| ((self.at(row) - start) as u64).to_le_bytes();
        (0..=self.rows()).flat_map(|row| offset(row).into_iter().take(width)).collect()
    }

    fn at(&self, row: usize) -> usize {
        match self {
            Self::Narrow(offsets) => offsets[row] as usize,
            Self::Wide(offsets) => offsets[row] as usize,
        }
    }

    /// The bytes or elements of a row.
    pub fn range(&self, row: usize) -> Range<usize> {
        self.at(row)..self.at(row + 1)
    }

    pub fn rows(&self) -> usize {
        match self {
            Self::Narrow(offsets) => offsets.len() - 1,
            Self::Wide(offsets) => offsets.len() - 1,
        }
    }

    /// The bytes or elements of all rows.
    pub fn all(&self) -> Range<usize> {
        self.at(0)..self.at(self.rows())
    }
}

/// Source of a column's values.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// The values as they lie in this buffer.
    Lies(Buffer),
    /// Bits, to be sent as a byte each.
    Bits(BooleanBuffer),
    /// Lengths: the differences of offsets.
    Lengths(Offsets),
}

/// Source of a byte column's bytes.
#[derive(Clone, Debug)]
pub(crate) enum Bytes {
    Offsets { offsets: Offsets, values: Buffer },
    Views { views: ScalarBuffer<u128>, nulls: Option<NullBuffer>, buffers: Vec<Buffer> },
}

/// The bytes that a view leads to; none if they stand in it.
pub(crate) fn behind(view: u128, buffers: &[Buffer]) -> &[u8] {
    let len = view as u32 as usize;
    if len <= INLINE {
        return &[];
    }
    let (buffer, offset) = ((view >> 64) as u32 as usize, (view >> 96) as usize);
    &buffers[buffer][offset..offset + len]
}

impl Bytes {
    /// The bytes of a row that travel beside the columns: of a view, those that do not stand in it.
    pub fn row(&self, row: usize) -> &[u8] {
        match self {
            Self::Offsets { offsets, values } => &values[offsets.range(row)],
            Self::Views { nulls: Some(nulls), .. } if nulls.is_null(row) => &[],
            Self::Views { views, buffers, .. } => behind(views[row], buffers),
        }
    }

    /// A row's value, of which a view may have a part; none of a null.
    pub fn value(&self, row: usize) -> &[u8] {
        match self {
            Self::Offsets { offsets, values } => &values[offsets.range(row)],
            Self::Views { nulls: Some(nulls), .. } if nulls.is_null(row) => &[],
            Self::Views { views, buffers, .. } => match views[row] as u32 as usize {
                len @ 0..=INLINE => &views.inner()[VIEW_WIDTH * row + LENGTH_WIDTH..][..len],
                _ => behind(views[row], buffers),
            },
        }
    }

    /// Bytes of a row's value, of a null's as well.
    pub fn len(&self, row: usize) -> usize {
        match self {
            Self::Offsets { offsets, .. } => offsets.range(row).len(),
            Self::Views { views, .. } => views[row] as u32 as usize,
        }
    }

    pub fn rows(&self) -> usize {
        match self {
            Self::Offsets { offsets, .. } => offsets.rows(),
            Self::Views { views, .. } => views.len(),
        }
    }
}

/// Relation of a level's rows to those of the level above.
#[derive(Clone, Debug)]
pub(crate) enum Growth {
    /// The level's rows are the rows of the batch.
    Batch,
    /// The level's rows are the values of a dictionary, or in one.
    Whole,
    /// Each row of the level above has as many rows here as its list has elements.
    Lists { parent: usize, offsets: Offsets },
    /// Each row of the level above has `size` rows here.
    Times { parent: usize, size: usize },
}

/// The rows of a level of a batch.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    pub count: usize,
    pub growth: Growth,
}

/// A batch, taken apart.
#[derive(Debug)]
pub(crate) struct Parts {
    pub levels: Vec<Rows>,
    /// Source of each column; `None` where nothing is null.
    pub columns: Vec<Option<Source>>,
    pub bytes: Vec<Bytes>,
    pub dictionaries: Vec<ArrayRef>,
}

impl Parts {
    pub fn of(layout: &Layout, batch: &RecordBatch) -> Result<Self, SendError> {
        let mut parts = Self {
            levels: vec![Rows { count: batch.num_rows(), growth: Growth::Batch }],
            columns: vec![None; layout.columns.len()],
            bytes: Vec::new(),
            dictionaries: Vec::new(),
        };
        for (node, array) in layout.arrays.iter().zip(batch.columns()) {
            parts.add(layout, node, array)?;
        }
        Ok(parts)
    }

    fn level(&mut self, layout: &Layout, node: &Node, count: usize, growth: Growth) {
        debug_assert_eq!(self.levels.len(), node.level, "levels are met in the layout's order");
        let growth = match layout.levels[node.level].dictionary {
            Some(_) => Growth::Whole,
            None => growth,
        };
        self.levels.push(Rows { count, growth });
    }

    fn add(&mut self, layout: &Layout, node: &Node, array: &dyn Array) -> Result<(), SendError> {
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
        if let (Some(column), Some(nulls)) = (node.validity, nulls) {
            self.columns[column] = Some(Source::Bits(nulls.inner().clone()));
        }
        match &node.kind {
            Kind::Null => {}
            Kind::Boolean { values } => {
                self.columns[*values] = Some(Source::Bits(array.as_boolean().values().clone()));
            }
            Kind::Fixed { values } => {
                self.columns[*values] = Some(fixed(array, layout.columns[*values].width));
            }
            Kind::Bytes { lengths, .. } => {
                let (offsets, values) = strings(array);
                self.columns[*lengths] = Some(Source::Lengths(offsets.clone()));
                self.bytes.push(Bytes::Offsets { offsets, values });
            }
            Kind::Views { views, .. } => {
                let (values, buffers) = views_of(array);
                self.columns[*views] = Some(Source::Lies(values.inner().clone()));
                let nulls = array.nulls().cloned();
                self.bytes.push(Bytes::Views { views: values, nulls, buffers });
            }
            Kind::Dictionary { keys, values, .. } => {
                let array = array.as_any_dictionary();
                self.columns[*keys] = Some(fixed(array.keys(), layout.columns[*keys].width));
                self.dictionaries.push(array.values().clone());
                self.level(layout, values, array.values().len(), Growth::Whole);
                self.add(layout, values, array.values())?;
            }
            Kind::Struct { fields } => {
                for (field, column) in fields.iter().zip(array.as_struct().columns()) {
                    self.add(layout, field, column)?;
                }
            }
            Kind::List { lengths, elements } => {
                let (offsets, values) = lists(array);
                self.columns[*lengths] = Some(Source::Lengths(offsets.clone()));
                let Range { start, end } = offsets.all();
                let growth = Growth::Lists { parent: node.level, offsets };
                self.level(layout, elements, end - start, growth);
                self.add(layout, elements, &values.slice(start, end - start))?;
            }
            Kind::FlatList { values, element_validity } => {
                let elements = array.as_fixed_size_list().values();
                if let Some(nulls) = elements.nulls().filter(|nulls| nulls.null_count() > 0) {
                    self.columns[*element_validity] = Some(Source::Bits(nulls.inner().clone()));
                }
                let element =
                    layout.columns[*values].width / layout.columns[*element_validity].width;
                self.columns[*values] = Some(fixed(elements, element));
            }
            Kind::FixedList { size, elements } => {
                let values = array.as_fixed_size_list().values();
                let growth = Growth::Times { parent: node.level, size: *size };
                self.level(layout, elements, values.len(), growth);
                self.add(layout, elements, values)?;
            }
        }
        Ok(())
    }
}

/// The values of an array of fixed width, those of its rows and no others.
fn fixed(array: &dyn Array, width: usize) -> Source {
    let data = array.to_data();
    let (offset, len) = (data.offset() * width, data.len() * width);
    Source::Lies(data.buffers()[0].slice_with_length(offset, len))
}

fn strings(array: &dyn Array) -> (Offsets, Buffer) {
    fn of<T: ByteArrayType>(array: &GenericByteArray<T>) -> (Offsets, Buffer) {
        (Offsets::of(array.offsets()), array.values().clone())
    }
    match array.data_type() {
        DataType::Utf8 => of(array.as_string::<i32>()),
        DataType::LargeUtf8 => of(array.as_string::<i64>()),
        DataType::Binary => of(array.as_binary::<i32>()),
        DataType::LargeBinary => of(array.as_binary::<i64>()),
        other => unreachable!("{other} is not laid out as strings"),
    }
}

fn views_of(array: &dyn Array) -> (ScalarBuffer<u128>, Vec<Buffer>) {
    let any = array.as_any();
    if let Some(array) = any.downcast_ref::<StringViewArray>() {
        return (array.views().clone(), array.data_buffers().to_vec());
    }
    let array = any.downcast_ref::<BinaryViewArray>().expect("an array of views");
    (array.views().clone(), array.data_buffers().to_vec())
}

fn lists(array: &dyn Array) -> (Offsets, ArrayRef) {
    fn of<O: OffsetSizeTrait>(array: &GenericListArray<O>) -> (Offsets, ArrayRef) {
        (Offsets::of(array.offsets()), array.values().clone())
    }
    match array.data_type() {
        DataType::List(_) => of(array.as_list::<i32>()),
        DataType::LargeList(_) => of(array.as_list::<i64>()),
        _ => {
            let array = array.as_map();
            let entries: ArrayRef = std::sync::Arc::new(array.entries().clone());
            (Offsets::of(array.offsets()), entries)
        }
    }
}
