//! How a schema is cut into columns of fixed width, the bytes of strings, levels of rows, and dictionaries.
//!
//! Both ends derive the same layout from the same schema, so that what stands in messages needs no
//! description of its own.

use arrow_schema::{DataType, Field, Schema};

use crate::{Form, FormatError};

/// Bytes of a length in a column: a value of a string, or the elements of a list.
pub(crate) const LENGTH_WIDTH: usize = 4;
/// Bytes of a view.
pub(crate) const VIEW_WIDTH: usize = 16;

/// A column of values of one width, one a row of its level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub path: String,
    pub level: usize,
    /// Bytes of a value, at least 1. A bit counts as a byte.
    pub width: usize,
    pub part: Part,
    /// The column's values travel as bits.
    pub bits: bool,
    /// The column travels in the messages of a byte column.
    pub joined: bool,
}

/// The part of an array that travels in a column of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The values of an array of fixed width.
    Values,
    /// The keys of a dictionary array.
    Keys,
    /// The views of a `Utf8View` or `BinaryView` array, 16 B each.
    Views,
    /// Whether each row has a value: a byte a row, and none at all if all rows have one.
    Validity,
    /// Whether each element of a fixed-size list has a value: a byte an element.
    ElementValidity,
    /// Bytes of each string, or elements of each list, 4 B each.
    Lengths,
    /// The bytes of strings, one string behind the other.
    Bytes,
    /// The partition ids, or bits, of the elements of lists: those of the lists that they are in.
    ElementRows,
}

impl Part {
    /// True for columns that a batch may be without.
    pub(crate) fn is_optional(self) -> bool {
        matches!(self, Self::Validity | Self::ElementValidity)
    }
}

/// A column of values of any length, one for each row of the level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ByteColumn {
    pub path: String,
    pub level: usize,
    /// Index of the column of lengths or views.
    pub column: usize,
}

/// Rows that are sent together: the batch's, or the elements of a list, or the values of a dictionary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    pub path: String,
    /// Dictionary that the level belongs to: its values go to every destination.
    pub dictionary: Option<usize>,
}

/// An array of the schema.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub path: String,
    pub data_type: DataType,
    pub level: usize,
    /// The column of validity bytes. What the schema says cannot be null has one, too: inside of a struct
    /// that is null it may be.
    pub validity: Option<usize>,
    pub kind: Kind,
}

/// The columns, byte columns, levels and dictionaries that an array is made of, by their numbers.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Null,
    Boolean {
        values: usize,
    },
    Fixed {
        values: usize,
    },
    Bytes {
        lengths: usize,
        bytes: usize,
    },
    Views {
        views: usize,
        bytes: usize,
    },
    Dictionary {
        keys: usize,
        dictionary: usize,
        values: Box<Node>,
    },
    Struct {
        fields: Vec<Node>,
    },
    List {
        lengths: usize,
        elements: Box<Node>,
    },
    /// A list of `size` elements of a fixed width: one value of their widths together.
    FlatList {
        values: usize,
        element_validity: usize,
    },
    FixedList {
        size: usize,
        elements: Box<Node>,
    },
}

/// A schema's layout.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    /// Columns are sent as they lie, of whatever kind.
    pub kinds: bool,
    /// Every column is in every row: there is one level, and validity only where something can be null.
    pub appended: bool,
    pub arrays: Vec<Node>,
    pub columns: Vec<Column>,
    pub bytes: Vec<ByteColumn>,
    pub levels: Vec<Level>,
    /// The level of the keys of each dictionary.
    pub dictionaries: Vec<usize>,
}

impl Layout {
    pub fn new(schema: &Schema, form: Form) -> Result<Self, FormatError> {
        let (kinds, appended) = (form == Form::Kinds, form == Form::Appended);
        let mut layout = Self { kinds, appended, ..Self::default() };
        layout.levels.push(Level { path: String::new(), dictionary: None });
        for field in schema.fields() {
            let nullable = field.is_nullable();
            let node = layout.node(field.data_type(), field.name().clone(), 0, nullable)?;
            layout.arrays.push(node);
        }
        Ok(layout)
    }

    fn column(&mut self, path: &str, level: usize, width: usize, part: Part) -> usize {
        let bits = self.kinds && part == Part::Validity;
        self.columns.push(Column {
            path: path.to_owned(),
            level,
            width,
            part,
            bits,
            joined: false,
        });
        self.columns.len() - 1
    }

    /// The bytes that a column of lengths or views stands for.
    fn byte_column(&mut self, path: &str, level: usize, column: usize) -> usize {
        self.columns[column].joined = self.kinds;
        self.bytes.push(ByteColumn { path: path.to_owned(), level, column });
        self.bytes.len() - 1
    }

    /// A new level, below `parent`.
    fn level(&mut self, path: &str, parent: usize, dictionary: Option<usize>) -> usize {
        let dictionary = dictionary.or(self.levels[parent].dictionary);
        self.levels.push(Level { path: path.to_owned(), dictionary });
        self.levels.len() - 1
    }

    /// Adds the node of a field. `nullable` says whether the array, or one that it is in, can be null.
    fn node(
        &mut self,
        data_type: &DataType,
        path: String,
        level: usize,
        nullable: bool,
    ) -> Result<Node, FormatError> {
        let has_validity = *data_type != DataType::Null && (nullable || !self.appended);
        let validity = has_validity.then(|| self.column(&path, level, 1, Part::Validity));
        let kind = self.kind(data_type, &path, level, nullable)?;
        let is_fixed = match kind {
            Kind::Null | Kind::Boolean { .. } | Kind::Fixed { .. } => true,
            Kind::Struct { .. } | Kind::FlatList { .. } => true,
            Kind::Bytes { .. } | Kind::Views { .. } | Kind::Dictionary { .. } => false,
            Kind::List { .. } | Kind::FixedList { .. } => false,
        };
        if self.appended && !is_fixed {
            return Err(FormatError::NotAppended { path, data_type: data_type.clone() });
        }
        Ok(Node { path, data_type: data_type.clone(), level, validity, kind })
    }

    fn kind(
        &mut self,
        data_type: &DataType,
        path: &str,
        level: usize,
        nullable: bool,
    ) -> Result<Kind, FormatError> {
        if let Some(width) = fixed_width(data_type) {
            return Ok(Kind::Fixed { values: self.column(path, level, width, Part::Values) });
        }
        let element = |name: &str| format!("{path}.{name}");
        Ok(match data_type {
            DataType::Null => Kind::Null,
            DataType::Boolean => {
                let values = self.column(path, level, 1, Part::Values);
                self.columns[values].bits = self.kinds;
                Kind::Boolean { values }
            }
            DataType::Utf8 | DataType::Binary | DataType::LargeUtf8 | DataType::LargeBinary => {
                let lengths = self.column(path, level, LENGTH_WIDTH, Part::Lengths);
                Kind::Bytes { lengths, bytes: self.byte_column(path, level, lengths) }
            }
            DataType::Utf8View | DataType::BinaryView => {
                let views = self.column(path, level, VIEW_WIDTH, Part::Views);
                Kind::Views { views, bytes: self.byte_column(path, level, views) }
            }
            DataType::Dictionary(keys, values) => {
                let width = fixed_width(keys).ok_or_else(|| unsupported(path, data_type))?;
                let keys = self.column(path, level, width, Part::Keys);
                let dictionary = self.dictionaries.len();
                self.dictionaries.push(level);
                let path = element("dictionary");
                let below = self.level(&path, level, Some(dictionary));
                let values = Box::new(self.node(values, path, below, true)?);
                Kind::Dictionary { keys, dictionary, values }
            }
            DataType::Struct(fields) => {
                let node = |field: &std::sync::Arc<Field>| {
                    let (path, nullable) = (element(field.name()), nullable || field.is_nullable());
                    self.node(field.data_type(), path, level, nullable)
                };
                Kind::Struct { fields: fields.iter().map(node).collect::<Result<_, _>>()? }
            }
            DataType::List(field) | DataType::LargeList(field) | DataType::Map(field, _) => {
                let lengths = self.column(path, level, LENGTH_WIDTH, Part::Lengths);
                let path = element(field.name());
                let below = self.level(&path, level, None);
                Kind::List {
                    lengths,
                    elements: Box::new(self.node(field.data_type(), path, below, true)?),
                }
            }
            DataType::FixedSizeList(field, size) if *size > 0 => {
                self.fixed_list(field, *size as usize, path, level)?
            }
            _ => return Err(unsupported(path, data_type)),
        })
    }

    fn fixed_list(
        &mut self,
        field: &Field,
        size: usize,
        path: &str,
        level: usize,
    ) -> Result<Kind, FormatError> {
        let below = format!("{path}.{}", field.name());
        let Some(width) = fixed_width(field.data_type()) else {
            let level = self.level(&below, level, None);
            let elements = Box::new(self.node(field.data_type(), below, level, true)?);
            return Ok(Kind::FixedList { size, elements });
        };
        let element_validity = self.column(&below, level, size, Part::ElementValidity);
        let values = self.column(&below, level, width * size, Part::Values);
        Ok(Kind::FlatList { values, element_validity })
    }
}

fn unsupported(path: &str, data_type: &DataType) -> FormatError {
    FormatError::Unsupported { path: path.to_owned(), data_type: data_type.clone() }
}

/// Bytes of a value of types whose values lie one behind the other, as the card takes them.
fn fixed_width(data_type: &DataType) -> Option<usize> {
    match data_type {
        DataType::FixedSizeBinary(width) => usize::try_from(*width).ok().filter(|width| *width > 0),
        other => other.primitive_width(),
    }
}
