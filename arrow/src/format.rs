//! The format of batches, which sender and receiver agree on.

use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use libdrdma::Features;

use crate::{FormatError, header, layout::Layout};

/// Columns of a request, at most.
const MAX_COLUMNS: usize = 16;
/// Bytes of a message, at most.
const MAX_MESSAGE: usize = 1 << 30;
/// Bits of a message, at most.
const MAX_BITS: usize = 1 << 31;

/// How the columns of a batch share messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Form {
    /// A message has values of one column. The card reads the partition ids once a column; the receiver's
    /// arrays lie where the messages arrived.
    #[default]
    Columns,
    /// A message has rows of up to 16 columns. The card reads the partition ids once; the receiver copies
    /// rows to columns.
    Rows,
    /// As [`Columns`](Self::Columns), but bits travel as bits, and strings by rows, their lengths before their bytes:
    /// the card follows offsets and views, and packs bits, so that nothing of these is copied, except columns of
    /// strings one of which is longer than a message. It takes a sender's card with [`NEEDS`](Self::NEEDS).
    Kinds,
    /// A message has rows of all columns, and the receiver's card puts them into columns: for an
    /// [`AppendReceiver`](crate::AppendReceiver). The card reads the partition ids once, and no processor touches a
    /// row. It takes up to 16 columns of fixed width, and a receiver's card with [`APPEND_NEEDS`](Self::APPEND_NEEDS).
    /// A field that can be null has a column of validity in any case.
    Appended,
}

impl Form {
    /// Features that a card needs to send [`Form::Kinds`].
    pub const NEEDS: Features = Features::VARLEN.union(Features::BITS).union(Features::COLUMNS);

    /// Features that a card needs to receive [`Form::Appended`].
    pub const APPEND_NEEDS: Features = Features::APPENDS;

    /// The form that copies least, from a card with these features to a [`Receiver`](crate::Receiver).
    pub fn of_card(features: Features) -> Self {
        if features.contains(Self::NEEDS) { Self::Kinds } else { Self::Columns }
    }
}

/// What sender and receiver agree on: a schema, the longest message, and how columns share messages.
///
/// Both ends make it for themselves, from the same values. Messages carry a fingerprint of it, so that
/// ends which do not agree notice.
#[derive(Clone, Debug)]
pub struct Format {
    schema: SchemaRef,
    form: Form,
    message_bytes: usize,
    pub(crate) layout: Arc<Layout>,
    pub(crate) fingerprint: u64,
}

impl Format {
    /// A format for batches of `schema` in messages of at most `message_bytes`, each of one column.
    ///
    /// # Errors
    /// A type that is not possible (unions, run-end encoded arrays, views of lists, `FixedSizeBinary` and
    /// `FixedSizeList` of size 0; with [`Form::Appended`] whatever has no fixed width), or messages shorter than a
    /// value or the header of a batch, or longer than 1 GiB; with [`Form::Appended`] no or more than 16 columns, or
    /// messages shorter than a row.
    pub fn new(schema: SchemaRef, message_bytes: usize) -> Result<Self, FormatError> {
        Self::with_form(schema, message_bytes, Form::Columns)
    }

    /// Makes a format like [`new`](Self::new) does, but of another form than [`Form::Columns`].
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_form(
        schema: SchemaRef,
        message_bytes: usize,
        form: Form,
    ) -> Result<Self, FormatError> {
        let layout = Layout::new(&schema, form)?;
        if message_bytes > MAX_MESSAGE {
            return Err(FormatError::LongMessages { message_bytes, limit: MAX_MESSAGE });
        }
        if form == Form::Appended {
            check_row(&layout, message_bytes)?;
        }
        let needed = header::len(&layout);
        if form != Form::Appended && message_bytes < needed {
            return Err(FormatError::Header { message_bytes, needed });
        }
        if let Some(column) = layout.columns.iter().find(|column| column.width > message_bytes) {
            let (path, width) = (column.path.clone(), column.width);
            return Err(FormatError::WideValue { path, width, message_bytes });
        }
        let fingerprint = fingerprint(&layout, &schema, form, message_bytes);
        Ok(Self { schema, form, message_bytes, layout: Arc::new(layout), fingerprint })
    }

    /// The schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Bytes of the longest message: what a receive must have room for.
    pub fn message_bytes(&self) -> usize {
        self.message_bytes
    }

    /// The immediate data of appended rows, which have no header: half of the fingerprint's bits.
    pub(crate) fn tag(&self) -> u32 {
        self.fingerprint as u32
    }

    /// How columns share the format's messages.
    pub fn form(&self) -> Form {
        self.form
    }

    /// The columns of a level that share messages, group by group, of those for which `present` is true.
    pub(crate) fn groups(&self, level: usize, present: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
        let layout = &self.layout;
        let alone = !matches!(self.form, Form::Rows | Form::Appended)
            || layout.levels[level].dictionary.is_some();
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut width = 0;
        for (number, column) in layout.columns.iter().enumerate() {
            if column.level != level || column.joined || !present(number) {
                continue;
            }
            let fits = |group: &&mut Vec<usize>| {
                !alone && group.len() < MAX_COLUMNS && width + column.width <= self.message_bytes
            };
            match groups.last_mut().filter(fits) {
                Some(group) => {
                    group.push(number);
                    width += column.width;
                }
                None => {
                    groups.push(vec![number]);
                    width = column.width;
                }
            }
        }
        groups
    }

    /// The columns of appended rows, in the order of their bytes.
    pub(crate) fn appended_columns(&self) -> Vec<usize> {
        debug_assert_eq!(self.form, Form::Appended);
        self.groups(0, |_| true).swap_remove(0)
    }

    /// Bytes of a row of a group.
    pub(crate) fn row_bytes(&self, group: &[usize]) -> usize {
        group.iter().map(|column| self.layout.columns[*column].width).sum()
    }

    /// True if a group, which then has one column, travels as bits.
    pub(crate) fn is_bits(&self, group: &[usize]) -> bool {
        self.layout.columns[group[0]].bits
    }

    /// Rows of a group in a message, at least 1.
    pub(crate) fn rows_per_message(&self, group: &[usize]) -> usize {
        match self.is_bits(group) {
            true => 8 * self.message_bytes.min(MAX_BITS / 8),
            false => self.message_bytes / self.row_bytes(group),
        }
    }

    /// Bytes of `rows` rows of a group; `None` if they are more than a `u64` counts.
    pub(crate) fn group_bytes(&self, group: &[usize], rows: u64) -> Option<u64> {
        match self.is_bits(group) {
            true => Some(rows.div_ceil(8)),
            false => rows.checked_mul(self.row_bytes(group) as u64),
        }
    }
}

/// Refuses rows that cannot be appended: of no or too many columns, or longer than a message.
fn check_row(layout: &Layout, message_bytes: usize) -> Result<(), FormatError> {
    let columns = layout.columns.len();
    if !(1..=MAX_COLUMNS).contains(&columns) {
        return Err(FormatError::AppendedColumns { columns, limit: MAX_COLUMNS });
    }
    let row = layout.columns.iter().map(|column| column.width).sum();
    match row > message_bytes {
        true => Err(FormatError::LongRow { row, message_bytes }),
        false => Ok(()),
    }
}

/// A number that differs, most likely, where anything that both ends must agree on does: FNV-1a.
fn fingerprint(layout: &Layout, schema: &Schema, form: Form, message_bytes: usize) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for field in schema.fields() {
        add(format!("{} {}", field.name(), field.data_type()).as_bytes());
    }
    for column in &layout.columns {
        add(column.path.as_bytes());
        add(&[column.part as u8]);
        add(&(column.level as u64).to_le_bytes());
        add(&(column.width as u64).to_le_bytes());
    }
    for column in &layout.bytes {
        add(column.path.as_bytes());
        add(&(column.level as u64).to_le_bytes());
    }
    add(&[form as u8]);
    add(&(message_bytes as u64).to_le_bytes());
    hash
}
