//! Columns and byte columns as arrays.
#![allow(unsafe_code)]

use std::{str::from_utf8, sync::Arc};

use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, NullArray, PrimitiveArray, builder::make_view,
    downcast_primitive, make_array, new_empty_array,
};
use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer, ScalarBuffer};
use arrow_data::{ArrayData, ArrayDataBuilder};
use arrow_schema::{ArrowError, DataType};

use crate::{
    DecodeError,
    decode::{lengths, size},
    header::Header,
    layout::{Kind, LENGTH_WIDTH, Layout, Node, VIEW_WIDTH},
};

/// Bytes of a value that stand in its view.
const INLINE: usize = 12;
/// Bytes that a view's offset reaches.
const VIEW_REACH: usize = i32::MAX as usize;

/// Received columns, and what else arrays are made of.
pub(crate) struct Arrays<'a> {
    pub layout: &'a Layout,
    pub header: &'a Header,
    pub columns: Vec<Option<Buffer>>,
    pub bytes: Vec<Option<Buffer>>,
    /// The values of each dictionary that were received last.
    pub dictionaries: &'a mut [Option<ArrayRef>],
    /// Count of copied bytes.
    pub copied: &'a mut u64,
}

impl Arrays<'_> {
    /// The array of a node.
    pub fn array(&mut self, node: &Node) -> Result<ArrayRef, DecodeError> {
        let rows = size(&node.path, self.header.rows[node.level])?;
        if rows == 0 {
            return Ok(new_empty_array(&node.data_type));
        }
        let nulls = self.nulls(node, rows);
        let data = ArrayData::builder(node.data_type.clone()).len(rows);
        match &node.kind {
            Kind::Null => Ok(Arc::new(NullArray::new(rows))),
            Kind::Boolean { values } => {
                let bits = self.bits(*values, rows);
                build(node, data.nulls(nulls).add_buffer(bits.into_inner()))
            }
            Kind::Fixed { values } => {
                let values = self.column(*values);
                if let Some(array) = primitive(node, rows, nulls.as_ref(), &values) {
                    return Ok(array);
                }
                build(node, data.nulls(nulls).add_buffer(values))
            }
            Kind::Bytes { lengths, bytes } => {
                let values = self.byte_column(*bytes);
                let offsets = self.offsets(node, *lengths, values.len() as u64)?;
                build(node, data.nulls(nulls).add_buffer(offsets).add_buffer(values))
            }
            Kind::Views { views, bytes } => {
                let values = self.byte_column(*bytes);
                if !self.layout.kinds {
                    let (views, buffers) = self.views(node, *views, nulls.as_ref(), values)?;
                    return build(node, data.nulls(nulls).add_buffer(views).add_buffers(buffers));
                }
                let lengths = self.column(*views);
                let (views, buffers) =
                    self.views_of_lengths(node, &lengths, nulls.as_ref(), &values)?;
                let is_text = node.data_type == DataType::Utf8View;
                let is_sound = views.len() == rows * VIEW_WIDTH
                    && nulls.as_ref().is_none_or(|nulls| nulls.len() == rows)
                    && (!is_text || are_texts(&lengths, &values));
                let data = data.nulls(nulls).add_buffer(views).add_buffers(buffers);
                match is_sound {
                    // SAFETY: there are as many views as rows, and each was made just now from a value that lies in one
                    // of the buffers, which is a text if it must be one.
                    true => Ok(make_array(unsafe { data.build_unchecked() })),
                    false => build(node, data),
                }
            }
            Kind::Dictionary { keys, dictionary, values } => {
                let keys = self.column(*keys);
                let values = self.dictionary(node, *dictionary, values)?;
                let data = data.nulls(nulls).add_buffer(keys);
                build(node, data.add_child_data(values.to_data()))
            }
            Kind::Struct { fields } => {
                let columns = fields.iter().map(|field| Ok(self.array(field)?.to_data()));
                let columns = columns.collect::<Result<_, DecodeError>>()?;
                build(node, data.nulls(nulls).child_data(columns))
            }
            Kind::List { lengths, elements } => {
                let elements = self.array(elements)?;
                let offsets = self.offsets(node, *lengths, elements.len() as u64)?;
                let data = data.nulls(nulls).add_buffer(offsets);
                build(node, data.add_child_data(elements.to_data()))
            }
            Kind::FlatList { values, element_validity } => {
                let DataType::FixedSizeList(field, _) = &node.data_type else {
                    unreachable!("a list of fixed size")
                };
                let count = rows * self.layout.columns[*element_validity].width;
                let element_nulls = self.null_bits(*element_validity, count);
                let elements = ArrayData::builder(field.data_type().clone()).len(count);
                let elements = elements.nulls(element_nulls).add_buffer(self.column(*values));
                let elements = checked(node, elements)?;
                build(node, data.nulls(nulls).add_child_data(elements))
            }
            Kind::FixedList { size, elements } => {
                let elements = self.array(elements)?;
                let (sum, found) = ((rows * size) as u64, elements.len() as u64);
                if sum != found {
                    return Err(DecodeError::Lengths { path: node.path.clone(), sum, found });
                }
                build(node, data.nulls(nulls).add_child_data(elements.to_data()))
            }
        }
    }

    /// The bytes of a column that no batch is without.
    fn column(&mut self, column: usize) -> Buffer {
        self.columns[column].take().expect("a column of a level that has rows")
    }

    /// The bytes of a byte column: none, if the header said so.
    fn byte_column(&mut self, number: usize) -> Buffer {
        self.bytes[number].take().unwrap_or_else(|| Buffer::from(MutableBuffer::new(0)))
    }

    /// The bits of a column of `count` bits, or of `count` bytes that are 0 or 1.
    fn bits(&mut self, column: usize, count: usize) -> BooleanBuffer {
        let bytes = self.column(column);
        if self.layout.columns[column].bits {
            return BooleanBuffer::new(bytes, 0, count);
        }
        *self.copied += bytes.len().div_ceil(8) as u64;
        BooleanBuffer::collect_bool(bytes.len(), |i| bytes[i] != 0)
    }

    fn null_bits(&mut self, column: usize, count: usize) -> Option<NullBuffer> {
        self.columns[column].is_some().then(|| NullBuffer::new(self.bits(column, count)))
    }

    fn nulls(&mut self, node: &Node, rows: usize) -> Option<NullBuffer> {
        let nulls = self.null_bits(node.validity?, rows)?;
        debug_assert_eq!(nulls.len(), rows);
        Some(nulls)
    }

    /// Offsets from lengths, which add up to `found`.
    fn offsets(&mut self, node: &Node, column: usize, found: u64) -> Result<Buffer, DecodeError> {
        let column = self.column(column);
        let is_wide = matches!(
            node.data_type,
            DataType::LargeUtf8 | DataType::LargeBinary | DataType::LargeList(_)
        );
        let lengths = lengths(&column);
        let sum = lengths.clone().sum();
        if sum != found {
            return Err(DecodeError::Lengths { path: node.path.clone(), sum, found });
        }
        if !is_wide && sum > i32::MAX as u64 {
            return Err(DecodeError::TooLarge { path: node.path.clone(), rows: sum });
        }
        let mut end = 0;
        let ends = lengths.map(|length| {
            end += length;
            end
        });
        let ends = std::iter::once(0).chain(ends);
        let offsets = match is_wide {
            true => Buffer::from_iter(ends.map(|end| end as i64)),
            false => Buffer::from_iter(ends.map(|end| end as i32)),
        };
        *self.copied += offsets.len() as u64;
        Ok(offsets)
    }

    /// Views of values that all lie one behind the other, of which `column` has the lengths.
    fn views_of_lengths(
        &mut self,
        node: &Node,
        column: &[u8],
        nulls: Option<&NullBuffer>,
        values: &Buffer,
    ) -> Result<(Buffer, Vec<Buffer>), DecodeError> {
        let (sum, found) = (lengths(column).sum(), values.len() as u64);
        if sum != found {
            return Err(DecodeError::Lengths { path: node.path.clone(), sum, found });
        }
        let (mut at, mut start, mut buffers) = (0, 0, Vec::new());
        let mut views = Vec::with_capacity(column.len() / LENGTH_WIDTH);
        for (row, len) in lengths(column).enumerate() {
            let bytes = &values[at..at + len as usize];
            if nulls.is_some_and(|nulls| nulls.is_null(row)) {
                views.push(0);
            } else {
                if bytes.len() > INLINE && at + bytes.len() - start > VIEW_REACH {
                    buffers.push(values.slice_with_length(start, at - start));
                    start = at;
                }
                views.push(make_view(bytes, buffers.len() as u32, (at - start) as u32));
            }
            at += bytes.len();
        }
        buffers.push(values.slice_with_length(start, at - start));
        let views = Buffer::from_vec(views);
        *self.copied += views.len() as u64;
        Ok((views, buffers))
    }

    /// Views of values of which the long ones lie one behind the other.
    fn views(
        &mut self,
        node: &Node,
        column: usize,
        nulls: Option<&NullBuffer>,
        values: Buffer,
    ) -> Result<(Buffer, Vec<Buffer>), DecodeError> {
        let sent = self.column(column);
        *self.copied += sent.len() as u64;
        let (sent, _) = sent.as_chunks::<16>();
        let (mut at, mut start, mut buffers) = (0, 0, Vec::new());
        let mut views = Vec::with_capacity(sent.len());
        for (row, view) in sent.iter().enumerate() {
            let view = u128::from_le_bytes(*view);
            let len = view as u32 as usize;
            if nulls.is_some_and(|nulls| nulls.is_null(row)) {
                views.push(0);
            } else if len <= INLINE {
                views.push(view);
            } else {
                if at + len - start > VIEW_REACH {
                    buffers.push(values.slice_with_length(start, at - start));
                    start = at;
                }
                let place = (buffers.len() as u128) << 64 | ((at - start) as u128) << 96;
                views.push(view & u128::from(u64::MAX) | place);
                at += len;
            }
        }
        if at != values.len() {
            let (sum, found) = (at as u64, values.len() as u64);
            return Err(DecodeError::Lengths { path: node.path.clone(), sum, found });
        }
        if start < at {
            buffers.push(values.slice_with_length(start, at - start));
        }
        Ok((Buffer::from_vec(views), buffers))
    }

    /// The values of a dictionary: those that came, or those that came last.
    fn dictionary(
        &mut self,
        node: &Node,
        number: usize,
        values: &Node,
    ) -> Result<ArrayRef, DecodeError> {
        if self.header.fresh[number] {
            let values = self.array(values)?;
            self.dictionaries[number] = Some(values);
        }
        let values = self.dictionaries[number].clone();
        values.ok_or_else(|| DecodeError::NoDictionary { path: node.path.clone() })
    }
}

/// The array of a primitive type that needs no checks but of its length; `None` for others, and for what does not fit,
/// of which Arrow says what is wrong. It takes a fraction of the time that [`build`] takes.
fn primitive(
    node: &Node,
    rows: usize,
    nulls: Option<&NullBuffer>,
    values: &Buffer,
) -> Option<ArrayRef> {
    macro_rules! array {
        ($kind:ty) => {{
            type Native = <$kind as ArrowPrimitiveType>::Native;
            let is_aligned = values.as_ptr().cast::<Native>().is_aligned();
            let size = size_of::<Native>();
            let fits = values.len() / size == rows && values.len() % size == 0;
            (is_aligned && fits).then(|| {
                let values = ScalarBuffer::<Native>::from(values.clone());
                let array = PrimitiveArray::<$kind>::new(values, nulls.cloned());
                Arc::new(array.with_data_type(node.data_type.clone())) as ArrayRef
            })
        }};
    }
    downcast_primitive! { &node.data_type => (array), _ => None }
}

/// True if all values are UTF-8, which lie one behind the other and have these lengths. To look at all of them at once
/// takes a fraction of the time that Arrow takes to look at each; so nulls' values are looked at as well.
fn are_texts(column: &[u8], values: &[u8]) -> bool {
    if values.is_ascii() {
        return true;
    }
    let Ok(text) = from_utf8(values) else { return false };
    let mut at = 0;
    lengths(column).all(|len| {
        at += len as usize;
        text.is_char_boundary(at)
    })
}

fn checked(node: &Node, data: ArrayDataBuilder) -> Result<ArrayData, DecodeError> {
    let wrong = |source: ArrowError| DecodeError::Arrow { path: node.path.clone(), source };
    data.build().map_err(wrong)
}

/// The array, after all of Arrow's checks: strings are UTF-8, keys are in their dictionary.
fn build(node: &Node, data: ArrayDataBuilder) -> Result<ArrayRef, DecodeError> {
    Ok(make_array(checked(node, data)?))
}
