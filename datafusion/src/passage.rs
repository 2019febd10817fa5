//! Passages: which columns of a schema the card reads where they lie, and which are copied.

use std::{fmt, sync::Arc};

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use drdma_arrow::{Form, Format, FormatError};

/// Bytes of the longest message.
pub(crate) const MESSAGE_BYTES: usize = 16 << 10;
/// Bytes of the longest message of appended rows: as a rule, a partition's share of a batch of 8,192 rows fits.
pub const APPENDED_BYTES: usize = 64 << 10;

/// The format of batches of a schema, in this form. `None`: rows without columns have none.
///
/// All fields are nullable in it, whatever the schema says.
///
/// # Errors
/// A type that has no form in messages, or values longer than a message.
pub(crate) fn format(schema: &SchemaRef, form: Form) -> Result<Option<Format>, FormatError> {
    if schema.fields().is_empty() {
        return Ok(None);
    }
    let nullable = |field: &Arc<Field>| field.as_ref().clone().with_nullable(true);
    let fields: Vec<Field> = schema.fields().iter().map(nullable).collect();
    Format::with_form(Arc::new(Schema::new(fields)), MESSAGE_BYTES, form).map(Some)
}

/// The format of rows that a consumer's card appends, whose fields are null where the schema says so. `None`: not all
/// columns are of fixed width, or they are too many, or too long.
pub fn appended_format(schema: &SchemaRef) -> Option<Format> {
    Format::with_form(schema.clone(), APPENDED_BYTES, Form::Appended).ok()
}

/// Which columns are read where they lie and which are copied, for `EXPLAIN`. A column of strings one of which is
/// longer than a message is copied, and so is what lies in no arena; that is not known before there are rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passages {
    /// Columns that the card reads where they lie.
    pub as_they_lie: Vec<String>,
    /// Columns with parts that are copied, and a description of these.
    pub copied: Vec<(String, &'static str)>,
}

impl Passages {
    /// Passages of a schema's columns, for cards that follow strings and pack bits ([`Form::Kinds`]).
    pub fn of(schema: &Schema) -> Self {
        let mut passages = Self::default();
        for field in schema.fields() {
            passages.add(field.name(), field.data_type());
        }
        passages
    }

    fn add(&mut self, name: &str, data_type: &DataType) {
        let what = match data_type {
            DataType::List(_) | DataType::LargeList(_) | DataType::Map(..) => "offsets and ids",
            DataType::Struct(fields) => {
                for field in fields {
                    self.add(&format!("{name}.{}", field.name()), field.data_type());
                }
                return;
            }
            _ => return self.as_they_lie.push(name.to_owned()),
        };
        self.copied.push((name.to_owned(), what));
    }
}

impl fmt::Display for Passages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "as_they_lie=[{}], copied=[", self.as_they_lie.join(", "))?;
        for (i, (column, what)) in self.copied.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{column}: {what}")?;
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(fields: Vec<Field>) -> SchemaRef {
        Arc::new(Schema::new(fields))
    }

    #[test]
    fn columns_say_what_of_them_is_copied() {
        let inner = Field::new("x", DataType::Boolean, true);
        let item = Field::new("item", DataType::Utf8View, true);
        let schema = schema(vec![
            Field::new("a", DataType::Int64, false),
            Field::new("b", DataType::Utf8, true),
            Field::new("c", DataType::Struct(vec![inner].into()), true),
            Field::new("d", DataType::List(item.into()), true),
        ]);
        let text = Passages::of(&schema).to_string();
        assert_eq!(text, "as_they_lie=[a, b, c.x], copied=[d: offsets and ids]");
    }

    #[test]
    fn rows_of_fixed_width_are_appended_and_others_are_not() {
        let key = || Field::new("key", DataType::Int64, false);
        let price = || Field::new("price", DataType::Decimal128(15, 2), true);
        assert!(appended_format(&schema(vec![key(), price()])).is_some());
        let name = Field::new("name", DataType::Utf8View, false);
        assert!(appended_format(&schema(vec![key(), name])).is_none());
        assert!(appended_format(&schema(vec![key(); 17])).is_none());
        assert!(appended_format(&schema(vec![price(); 9])).is_none(), "nulls are columns, too");
    }

    #[test]
    fn rows_without_columns_have_no_format_and_neither_have_long_values() {
        assert!(format(&schema(vec![]), Form::Kinds).unwrap().is_none());
        let wide = DataType::FixedSizeBinary(MESSAGE_BYTES as i32 + 1);
        format(&schema(vec![Field::new("a", wide, false)]), Form::Kinds).unwrap_err();
    }
}
