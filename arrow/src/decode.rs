//! Messages of one connection as batches.

use std::collections::VecDeque;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_buffer::{Buffer, MutableBuffer};

use crate::{
    DecodeError, Format,
    arrays::Arrays,
    header::{Header, LONG},
    layout::{LENGTH_WIDTH, Layout},
    transpose::transpose,
};

/// The messages of one connection.
#[derive(Debug)]
pub(crate) struct Stream {
    batches: u64,
    dictionaries: Vec<Option<ArrayRef>>,
    batch: Option<Batch>,
}

/// A batch whose header has come.
#[derive(Debug)]
struct Batch {
    header: Header,
    /// Messages that have not arrived completely yet, in order.
    due: VecDeque<Run>,
    /// Messages of the first of these runs that have arrived.
    messages: Vec<Buffer>,
    columns: Vec<Option<Buffer>>,
    bytes: Vec<Option<Buffer>>,
}

/// Messages of one kind: full ones, and a last one that may be shorter.
#[derive(Debug)]
struct Run {
    what: What,
    /// Bytes that have not arrived yet.
    bytes: u64,
    /// Bytes of a full message.
    message: u64,
}

#[derive(Debug)]
enum What {
    /// Rows of these columns.
    Columns(Vec<usize>),
    /// A byte column.
    Bytes(usize),
    /// A byte column with its lengths; bytes stand for rows.
    Strings(usize),
    /// The lengths of a byte column whose bytes follow.
    Lengths(usize),
}

impl Stream {
    pub fn new(format: &Format) -> Self {
        let dictionaries = vec![None; format.layout.dictionaries.len()];
        Self { batches: 0, dictionaries, batch: None }
    }

    /// True if no message of a batch has come whose others have not.
    pub fn is_whole(&self) -> bool {
        self.batch.is_none()
    }

    /// Takes the next message, and gives the batch that it completes. Bytes that are copied are counted.
    pub fn message(
        &mut self,
        format: &Format,
        message: Buffer,
        copied: &mut u64,
    ) -> Result<Option<RecordBatch>, DecodeError> {
        match &mut self.batch {
            None => {
                let header = Header::decode(&message, &format.layout, format.fingerprint)?;
                let (found, expected) = (header.sequence, self.batches);
                if found != expected {
                    return Err(DecodeError::Sequence { found, expected });
                }
                self.batch = Some(Batch::new(format, header)?);
            }
            Some(batch) => batch.message(format, message, copied)?,
        }
        if self.batch.as_ref().is_some_and(|batch| !batch.due.is_empty()) {
            return Ok(None);
        }
        let Some(batch) = self.batch.take() else { return Ok(None) };
        self.batches += 1;
        self.record_batch(format, batch, copied).map(Some)
    }

    fn record_batch(
        &mut self,
        format: &Format,
        batch: Batch,
        copied: &mut u64,
    ) -> Result<RecordBatch, DecodeError> {
        let Batch { header, columns, bytes, .. } = batch;
        let dictionaries = &mut self.dictionaries;
        let mut arrays = Arrays {
            layout: &format.layout,
            header: &header,
            columns,
            bytes,
            dictionaries,
            copied,
        };
        let columns = format.layout.arrays.iter().map(|node| arrays.array(node));
        let columns: Vec<_> = columns.collect::<Result<_, _>>()?;
        let rows = size("", header.rows[0])?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(format.schema().clone(), columns, &options)
            .map_err(|source| DecodeError::Arrow { path: String::new(), source })
    }
}

/// The batch of `rows` appended rows, whose columns these are.
pub(crate) fn appended(
    format: &Format,
    rows: u32,
    parts: Vec<Buffer>,
    copied: &mut u64,
) -> Result<RecordBatch, DecodeError> {
    let layout = &format.layout;
    let header = Header::of_rows(rows.into());
    // Every column is in every row, in the layout's order.
    let columns = parts.into_iter().map(Some).collect();
    let (bytes, dictionaries) = (Vec::new(), &mut [][..]);
    let mut arrays = Arrays { layout, header: &header, columns, bytes, dictionaries, copied };
    let columns = layout.arrays.iter().map(|node| arrays.array(node));
    let columns: Vec<_> = columns.collect::<Result<_, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows as usize));
    RecordBatch::try_new_with_options(format.schema().clone(), columns, &options)
        .map_err(|source| DecodeError::Arrow { path: String::new(), source })
}

/// A number of the header's as one of this machine's.
pub(crate) fn size(path: &str, rows: u64) -> Result<usize, DecodeError> {
    let fits = usize::try_from(rows).ok().filter(|rows| *rows < isize::MAX as usize);
    fits.ok_or_else(|| DecodeError::TooLarge { path: path.to_owned(), rows })
}

impl Batch {
    fn new(format: &Format, header: Header) -> Result<Self, DecodeError> {
        let layout = &format.layout;
        let mut due = VecDeque::new();
        for (level, rows) in header.rows.iter().copied().enumerate().filter(|(_, rows)| *rows > 0) {
            for group in format.groups(level, |column| header.present[column]) {
                let message = format.rows_per_message(&group) as u64;
                let message = format.group_bytes(&group, message).expect("at most 1 GiB");
                let path = || layout.columns[group[0]].path.clone();
                let bytes = format.group_bytes(&group, rows);
                let bytes = bytes.filter(|bytes| *bytes < isize::MAX as u64);
                let bytes = bytes.ok_or_else(|| DecodeError::TooLarge { path: path(), rows })?;
                due.push_back(Run { what: What::Columns(group), bytes, message });
            }
            for (number, column) in layout.bytes.iter().enumerate() {
                let (bytes, message) = (header.bytes[number], format.message_bytes() as u64);
                let is_of_level = column.level == level;
                if is_of_level && layout.kinds && bytes & LONG > 0 {
                    let (bytes, width) = (bytes & !LONG, LENGTH_WIDTH as u64);
                    let what = What::Lengths(number);
                    let lengths = rows.checked_mul(width);
                    let too_large = || DecodeError::TooLarge { path: column.path.clone(), rows };
                    let lengths = lengths.ok_or_else(too_large)?;
                    size(&column.path, lengths)?;
                    size(&column.path, bytes)?;
                    due.push_back(Run { what, bytes: lengths, message: message / width * width });
                    if bytes > 0 {
                        due.push_back(Run { what: What::Bytes(number), bytes, message });
                    }
                } else if is_of_level && layout.kinds {
                    let (path, rows_of) = (&column.path, rows);
                    size(path, rows)?;
                    if bytes == 0 {
                        return Err(DecodeError::NoRows { path: path.clone() });
                    }
                    due.push_back(Run {
                        what: What::Strings(number),
                        bytes: rows_of,
                        message: bytes,
                    });
                } else if is_of_level && bytes > 0 {
                    size(&column.path, bytes)?;
                    due.push_back(Run { what: What::Bytes(number), bytes, message });
                }
            }
        }
        let (columns, bytes) = (vec![None; layout.columns.len()], vec![None; layout.bytes.len()]);
        Ok(Self { header, due, messages: Vec::new(), columns, bytes })
    }

    fn message(
        &mut self,
        format: &Format,
        message: Buffer,
        copied: &mut u64,
    ) -> Result<(), DecodeError> {
        let run = self.due.front_mut().expect("a batch that is not complete");
        let expected = run.bytes.min(run.message) as usize;
        if let What::Strings(number) = run.what {
            return self.strings(format, number, message, copied);
        }
        if message.len() != expected {
            let (path, bytes) = (path(&format.layout, &run.what), message.len());
            return Err(DecodeError::MessageLength { path, bytes, expected });
        }
        run.bytes -= expected as u64;
        // Most columns are one message.
        if run.bytes == 0 && self.messages.is_empty() {
            match &run.what {
                What::Columns(group) if group.len() == 1 => {
                    self.columns[group[0]] = Some(message);
                    self.due.pop_front();
                    return Ok(());
                }
                What::Bytes(number) => {
                    self.bytes[*number] = Some(message);
                    self.due.pop_front();
                    return Ok(());
                }
                _ => {}
            }
        }
        self.messages.push(message);
        if run.bytes > 0 {
            return Ok(());
        }
        let run = self.due.pop_front().expect("the first");
        let messages = std::mem::take(&mut self.messages);
        match run.what {
            What::Strings(_) => unreachable!("they were taken before"),
            What::Lengths(number) => {
                let column = format.layout.bytes[number].column;
                self.columns[column] = Some(join(messages, copied));
            }
            What::Bytes(number) => self.bytes[number] = Some(join(messages, copied)),
            What::Columns(group) if group.len() == 1 => {
                self.columns[group[0]] = Some(join(messages, copied));
            }
            What::Columns(group) => {
                let widths: Vec<_> =
                    group.iter().map(|i| format.layout.columns[*i].width).collect();
                *copied += messages.iter().map(|message| message.len() as u64).sum::<u64>();
                let columns = transpose(&messages, &widths);
                for (number, column) in group.into_iter().zip(columns) {
                    self.columns[number] = Some(column);
                }
            }
        }
        Ok(())
    }
}

impl Batch {
    /// Takes a message of lengths and bytes of the first run.
    fn strings(
        &mut self,
        format: &Format,
        number: usize,
        message: Buffer,
        copied: &mut u64,
    ) -> Result<(), DecodeError> {
        let run = self.due.front_mut().expect("a batch that is not complete");
        let rows = run.bytes.min(run.message) as usize;
        let per_message = run.message as usize;
        let column = &format.layout.bytes[number];
        let found = message.len();
        let wrong = |expected: u64| DecodeError::MessageLength {
            path: column.path.clone(),
            bytes: found,
            expected: expected as usize,
        };
        let heads = (LENGTH_WIDTH as u64).saturating_mul(rows as u64);
        if heads > found as u64 {
            return Err(wrong(heads));
        }
        let bytes = lengths(&message[..heads as usize]).sum::<u64>();
        if heads + bytes != found as u64 {
            return Err(wrong(heads + bytes));
        }
        run.bytes -= rows as u64;
        let left = run.bytes;
        self.messages.push(message);
        if left > 0 {
            return Ok(());
        }
        self.due.pop_front();
        let messages = std::mem::take(&mut self.messages);
        let last = messages.len() - 1;
        let head = |i: usize| LENGTH_WIDTH * if i == last { rows } else { per_message };
        let part = |of: &dyn Fn(usize, &Buffer) -> Buffer| {
            messages.iter().enumerate().map(|(i, message)| of(i, message)).collect()
        };
        let heads = part(&|i, message| message.slice_with_length(0, head(i)));
        let bytes = part(&|i, message| message.slice(head(i)));
        self.columns[column.column] = Some(join(heads, copied));
        self.bytes[number] = Some(join(bytes, copied));
        Ok(())
    }
}

/// Lengths of 4 B each.
pub(crate) fn lengths(bytes: &[u8]) -> impl Iterator<Item = u64> + Clone + '_ {
    let (lengths, _) = bytes.as_chunks::<LENGTH_WIDTH>();
    lengths.iter().map(|length| u64::from(u32::from_le_bytes(*length)))
}

/// The name in errors of what a run consists of.
fn path(layout: &Layout, what: &What) -> String {
    match what {
        What::Columns(group) => layout.columns[group[0]].path.clone(),
        What::Bytes(number) | What::Strings(number) | What::Lengths(number) => {
            layout.bytes[*number].path.clone()
        }
    }
}

/// The messages one behind the other; a single message is not copied.
fn join(mut messages: Vec<Buffer>, copied: &mut u64) -> Buffer {
    if messages.len() == 1 {
        return messages.remove(0);
    }
    let len = messages.iter().map(|message| message.len()).sum();
    *copied += len as u64;
    let mut joined = MutableBuffer::with_capacity(len);
    messages.iter().for_each(|message| joined.extend_from_slice(message));
    joined.into()
}

#[cfg(test)]
mod tests;
