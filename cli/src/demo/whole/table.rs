//! LINEITEM with all of its columns, as Arrow arrays hold them.

use drdma_abi::work_request::{VIEW, VIEW_INLINE};
use tpchgen::generators::LineItem;

use Type::{Number, Text};

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A signed number of this many bytes, little-endian: integers; decimals, in hundredths (Arrow's
    /// `Decimal128`); dates, in days since 1970 (`Date32`).
    Number(usize),
    /// A string of at most this many bytes (`Utf8View`).
    Text(usize),
}

impl Type {
    /// Bytes of a row in the column: the number, or the string's view.
    pub const fn width(self) -> usize {
        match self {
            Number(width) => width,
            Text(_) => VIEW,
        }
    }

    /// Bytes of the longest string of this column that a view may lead to; `None` if all stand in their views.
    pub fn longest_outside(self) -> Option<usize> {
        match self {
            Text(longest) if longest > VIEW_INLINE as usize => Some(longest),
            _ => None,
        }
    }
}

/// The columns, with the lengths of strings that TPC-H declares.
pub const COLUMNS: [(&str, Type); 16] = [
    ("l_orderkey", Number(8)),
    ("l_partkey", Number(8)),
    ("l_suppkey", Number(8)),
    ("l_linenumber", Number(4)),
    ("l_quantity", Number(16)),
    ("l_extendedprice", Number(16)),
    ("l_discount", Number(16)),
    ("l_tax", Number(16)),
    ("l_returnflag", Text(1)),
    ("l_linestatus", Text(1)),
    ("l_shipdate", Number(4)),
    ("l_commitdate", Number(4)),
    ("l_receiptdate", Number(4)),
    ("l_shipinstruct", Text(25)),
    ("l_shipmode", Text(10)),
    ("l_comment", Text(44)),
];

/// The column that rows are hashed by.
pub const KEY: usize = 0;

/// Bytes of a row: numbers and views.
pub const ROW: usize = {
    let (mut size, mut i) = (0, 0);
    while i < COLUMNS.len() {
        size += COLUMNS[i].1.width();
        i += 1;
    }
    size
};

/// A column's values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// Numbers, one behind the other.
    Numbers(Vec<u8>),
    /// Strings, one for each row.
    Texts(Vec<String>),
}

/// Rows as the generator made them.
#[derive(Clone, Debug)]
pub struct Batch {
    columns: [Values; COLUMNS.len()],
    rows: usize,
}

impl Batch {
    /// Makes a batch without rows.
    pub fn new() -> Self {
        let columns = COLUMNS.map(|(_, kind)| match kind {
            Number(_) => Values::Numbers(Vec::new()),
            Text(_) => Values::Texts(Vec::new()),
        });
        Self { columns, rows: 0 }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The columns' values.
    pub fn columns(&self) -> &[Values; COLUMNS.len()] {
        &self.columns
    }

    /// Adds a row.
    pub fn push(&mut self, item: &LineItem<'_>) {
        let columns = self.columns.iter_mut().zip(COLUMNS);
        for ((values, (name, kind)), value) in columns.zip(values(item)) {
            match (values, value) {
                (Values::Numbers(bytes), Value::Number(number)) => {
                    bytes.extend(&i128::from(number).to_le_bytes()[..kind.width()]);
                }
                (Values::Texts(texts), Value::Text(text)) => texts.push(text.to_owned()),
                _ => unreachable!("a value of another type in {name}"),
            }
        }
        self.rows += 1;
    }

    /// The keys that the rows are hashed by: `l_orderkey`.
    pub fn keys(&self) -> impl Iterator<Item = u64> + '_ {
        let bytes = match &self.columns[KEY] {
            Values::Numbers(bytes) => bytes.as_chunks().0,
            Values::Texts(_) => &[],
        };
        bytes.iter().map(|bytes| u64::from_le_bytes(*bytes))
    }
}

enum Value<'a> {
    Number(i64),
    Text(&'a str),
}

/// A row's values, in the order of the columns.
fn values<'a>(item: &LineItem<'a>) -> [Value<'a>; COLUMNS.len()] {
    [
        Value::Number(item.l_orderkey),
        Value::Number(item.l_partkey),
        Value::Number(item.l_suppkey),
        Value::Number(item.l_linenumber.into()),
        Value::Number(item.l_quantity * 100),
        Value::Number(item.l_extendedprice.into_inner()),
        Value::Number(item.l_discount.into_inner()),
        Value::Number(item.l_tax.into_inner()),
        Value::Text(item.l_returnflag),
        Value::Text(item.l_linestatus),
        Value::Number(item.l_shipdate.to_unix_epoch().into()),
        Value::Number(item.l_commitdate.to_unix_epoch().into()),
        Value::Number(item.l_receiptdate.to_unix_epoch().into()),
        Value::Text(item.l_shipinstruct),
        Value::Text(item.l_shipmode),
        Value::Text(item.l_comment),
    ]
}

/// The view of a string that lies `offset` bytes behind the beginning of buffer 0, if it does not stand in the view.
pub fn view(text: &[u8], offset: usize) -> [u8; VIEW] {
    let mut view = [0; VIEW];
    view[..4].copy_from_slice(&(text.len() as u32).to_le_bytes());
    if is_outside(text.len()) {
        view[4..8].copy_from_slice(&text[..4]);
        lead_to(&mut view, offset);
    } else {
        view[4..4 + text.len()].copy_from_slice(text);
    }
    view
}

/// Makes the view of a string that does not stand in it lead to buffer 0, `offset` bytes behind its beginning.
pub fn lead_to(view: &mut [u8; VIEW], offset: usize) {
    view[8..12].fill(0);
    view[12..].copy_from_slice(&(offset as u32).to_le_bytes());
}

/// True if a string of `len` bytes does not stand in its view.
pub fn is_outside(len: usize) -> bool {
    len > VIEW_INLINE as usize
}

/// The bytes of the string that a view refers to.
pub fn len_of(view: &[u8; VIEW]) -> usize {
    let [a, b, c, d, ..] = *view;
    u32::from_le_bytes([a, b, c, d]) as usize
}
