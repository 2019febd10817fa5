//! The messages of a destination as runs of bytes, whatever the layout of its messages and the kinds of its
//! columns (docs/semantics.md, "Layouts of messages").
//!
//! Only the start of a message is kept: its rows are walked once for its length, and once a column
//! to send it.

use drdma_abi::work_request::MessageLayout;

use crate::{
    kinds::Value,
    memory::{Fault, Fragment, HostMemory},
    rows::{Units, WrongValue},
};

/// Error of rows that cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// Error of a row of a region, with the region's index.
    Value(usize, WrongValue),
    /// A row has another number of values than the destination has remote addresses.
    Values {
        /// Index of the row among those that are sent.
        unit: u64,
        /// Number of values of the row.
        values: usize,
        /// Number of remote addresses.
        expected: usize,
    },
    /// Bytes of a row cannot be read.
    Fault(Fault),
    /// Rows that were counted earlier are missing.
    Lost,
}

impl Wrong {
    /// Returns the access that failed, or was refused.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Value(_, wrong) => wrong.fault(),
            Self::Fault(fault) => *fault,
            Self::Values { .. } | Self::Lost => Fault { addr: 0, len: 0 },
        }
    }
}

impl From<Fault> for Wrong {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<(usize, WrongValue)> for Wrong {
    fn from((region, wrong): (usize, WrongValue)) -> Self {
        Self::Value(region, wrong)
    }
}

/// Parameters by which the messages of a destination are made of its units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Order of values in a message.
    pub layout: MessageLayout,
    /// Number of remote addresses; if it is not 0, each column of some rows is a message of its
    /// own.
    pub remote_columns: usize,
    /// Every unit's last message has immediate data, and is sent even if it has no bytes.
    pub immediate: bool,
    /// Number of units in a message.
    pub rows_per_message: u32,
}

/// A message that begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// Length in bytes.
    pub len: u64,
    /// Number of units.
    pub units: u64,
    /// Index of the remote address that the message goes to, if there are several.
    pub column: usize,
    /// The message is the last one of its units.
    pub last_column: bool,
}

/// The messages of a destination, one after another.
#[derive(Clone, Debug)]
pub struct MessageStream {
    shape: Shape,
    /// Units from the first one of the message on, and units from behind the message on.
    first: Units,
    behind: Units,
    /// Numbers of units before the message, and in it.
    before: u64,
    count: u64,
    /// Length in bytes of each column of the message; with layout `Rows`, the first one is that of
    /// all of them.
    lens: Vec<u64>,
    /// Index of the next column that is a message of its own.
    next_column: usize,
    gather: Gather,
}

impl MessageStream {
    /// A stream before the first message of `units`.
    pub fn new(units: Units, shape: Shape) -> Self {
        let gather = Gather::new(units.clone(), 0, None, 0);
        Self {
            shape,
            first: units.clone(),
            behind: units,
            before: 0,
            count: 0,
            lens: Vec::new(),
            next_column: 0,
            gather,
        }
    }

    /// Begins the next message; `None` if there is none.
    ///
    /// # Errors
    /// If a row of it cannot be sent.
    pub fn next<M: HostMemory + ?Sized>(&mut self, memory: &M) -> Result<Option<Begun>, Wrong> {
        if self.shape.remote_columns == 0 {
            if !self.measure(memory)? {
                return Ok(None);
            }
            let columns = match self.shape.layout {
                MessageLayout::Rows => None,
                MessageLayout::Columns => Some(0..self.lens.len()),
            };
            let len = self.lens.iter().sum();
            self.gather = Gather::over(self.first.clone(), self.count, columns);
            return Ok(Some(Begun { len, units: self.count, column: 0, last_column: true }));
        }
        loop {
            if self.next_column == self.lens.len() {
                if !self.measure(memory)? {
                    return Ok(None);
                }
                self.next_column = 0;
            }
            let column = self.next_column;
            self.next_column += 1;
            let last_column = self.next_column == self.lens.len();
            let len = self.lens[column];
            if len == 0 && !(last_column && self.shape.immediate) {
                continue;
            }
            self.gather = Gather::over(self.first.clone(), self.count, Some(column..column + 1));
            return Ok(Some(Begun { len, units: self.count, column, last_column }));
        }
    }

    /// Walks the units of the next message; false if there are none.
    fn measure<M: HostMemory + ?Sized>(&mut self, memory: &M) -> Result<bool, Wrong> {
        self.first = self.behind.clone();
        self.before += self.count;
        self.count = 0;
        self.lens.clear();
        let mut packing: Vec<Packing> = Vec::new();
        let mut values = Vec::new();
        while self.count < u64::from(self.shape.rows_per_message)
            && self.behind.next_values(memory, &mut values)?
        {
            let expected = self.shape.remote_columns;
            if expected > 0 && values.len() != expected {
                let unit = self.before + self.count;
                return Err(Wrong::Values { unit, values: values.len(), expected });
            }
            self.count += 1;
            let columns = match self.shape.layout {
                MessageLayout::Rows => {
                    packing.clear();
                    1
                }
                MessageLayout::Columns => values.len(),
            };
            self.lens.resize(self.lens.len().max(columns), 0);
            packing.resize(self.lens.len(), Packing::default());
            for (index, value) in values.iter().enumerate() {
                let column = index.min(columns - 1);
                self.lens[column] += packing[column].bytes(value);
            }
        }
        Ok(self.count > 0)
    }

    /// Fills `out` with the next bytes of the message that was begun.
    ///
    /// # Errors
    /// If the bytes cannot be read, or rows are missing.
    pub fn fill<M: HostMemory + ?Sized>(
        &mut self,
        memory: &M,
        out: &mut [u8],
    ) -> Result<(), Wrong> {
        self.gather.fill(memory, out)
    }
}

/// State of packing consecutive bits into bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Packing {
    /// Number of bits of the run so far, modulo 8.
    bits: u8,
}

impl Packing {
    /// Number of bytes that a further value takes.
    fn bytes(&mut self, value: &Value) -> u64 {
        let bits = std::mem::take(&mut self.bits);
        match value {
            Value::Bytes(fragment) => fragment.len.into(),
            Value::Length(_) => 4,
            Value::Bit(_) => {
                self.bits = (bits + 1) % 8;
                u64::from(bits == 0)
            }
        }
    }
}

/// A piece of a message.
#[derive(Clone, Copy, Debug)]
enum Piece {
    /// Bytes in host memory.
    Fetched(Fragment),
    /// Bytes that are made here, and their number.
    Made([u8; 4], u8),
}

impl Piece {
    fn len(&self) -> u32 {
        match self {
            Self::Fetched(fragment) => fragment.len,
            Self::Made(_, len) => (*len).into(),
        }
    }
}

/// Gathers some units, by rows or by columns.
#[derive(Clone, Debug)]
struct Gather {
    /// Units from the first one on.
    first: Units,
    count: u64,
    /// The columns that are left; `None`: whole rows.
    columns: Option<std::ops::Range<usize>>,
    /// Units from the next one of the column, or of the rows, on, and the number of those left.
    units: Units,
    left: u64,
    values: Vec<Value>,
    pieces: Vec<Piece>,
    /// Index of the next piece, and offset of the next byte in it.
    at: usize,
    within: u32,
    /// Bits that do not fill a byte yet, and their number.
    bits: (u8, u8),
}

impl Gather {
    fn new(first: Units, count: u64, columns: Option<std::ops::Range<usize>>, left: u64) -> Self {
        Self {
            units: first.clone(),
            first,
            count,
            columns,
            left,
            values: Vec::new(),
            pieces: Vec::new(),
            at: 0,
            within: 0,
            bits: (0, 0),
        }
    }

    /// Gathers these columns of `count` units, or whole rows.
    fn over(first: Units, count: u64, columns: Option<std::ops::Range<usize>>) -> Self {
        Self::new(first, count, columns, count)
    }

    fn fill<M: HostMemory + ?Sized>(&mut self, memory: &M, out: &mut [u8]) -> Result<(), Wrong> {
        let mut done = 0;
        while done < out.len() {
            let Some(piece) = self.pieces.get(self.at) else {
                self.more(memory)?;
                continue;
            };
            let len = (piece.len() - self.within).min((out.len() - done) as u32);
            let part = &mut out[done..done + len as usize];
            match piece {
                Piece::Fetched(fragment) => {
                    let addr = fragment.addr.wrapping_add(self.within.into());
                    memory.read(addr, part)?;
                }
                Piece::Made(bytes, _) => {
                    let from = self.within as usize;
                    part.copy_from_slice(&bytes[from..from + part.len()]);
                }
            }
            done += len as usize;
            self.within += len;
            if self.within == self.pieces[self.at].len() {
                self.at += 1;
                self.within = 0;
            }
        }
        Ok(())
    }

    /// Makes the pieces of the next unit, or the rest of a column.
    fn more<M: HostMemory + ?Sized>(&mut self, memory: &M) -> Result<(), Wrong> {
        self.pieces.clear();
        self.at = 0;
        if self.left == 0 {
            self.flush();
            let Some(columns) = &mut self.columns else { return self.or_lost() };
            columns.start += 1;
            if columns.start >= columns.end {
                return self.or_lost();
            }
            self.units = self.first.clone();
            self.left = self.count;
            return Ok(());
        }
        self.left -= 1;
        let mut values = std::mem::take(&mut self.values);
        if !self.units.next_values(memory, &mut values)? {
            return Err(Wrong::Lost);
        }
        match &self.columns {
            None => {
                values.iter().for_each(|value| self.push(value));
                self.flush();
            }
            Some(columns) => {
                if let Some(value) = values.get(columns.start) {
                    self.push(value);
                }
            }
        }
        self.values = values;
        Ok(())
    }

    /// Checks that there are pieces left after all.
    fn or_lost(&self) -> Result<(), Wrong> {
        if self.pieces.is_empty() { Err(Wrong::Lost) } else { Ok(()) }
    }

    fn push(&mut self, value: &Value) {
        match value {
            Value::Bit(bit) => {
                let (byte, count) = self.bits;
                self.bits = (byte | u8::from(*bit) << count, count + 1);
                if self.bits.1 == 8 {
                    self.flush();
                }
            }
            Value::Bytes(fragment) => {
                self.flush();
                if fragment.len > 0 {
                    self.pieces.push(Piece::Fetched(*fragment));
                }
            }
            Value::Length(len) => {
                self.flush();
                self.pieces.push(Piece::Made(len.to_le_bytes(), 4));
            }
        }
    }

    /// Ends a run of bits: pads it to a whole byte.
    fn flush(&mut self) {
        let (byte, count) = std::mem::take(&mut self.bits);
        if count > 0 {
            self.pieces.push(Piece::Made([byte, 0, 0, 0], 1));
        }
    }
}

#[cfg(test)]
#[path = "tests/stream.rs"]
mod tests;
