//! Rows to columns.

use arrow_buffer::{Buffer, MutableBuffer};

/// The columns of rows whose values have these widths, from messages of whole rows.
pub(crate) fn transpose(messages: &[Buffer], widths: &[usize]) -> Vec<Buffer> {
    let row: usize = widths.iter().sum();
    let rows: usize = messages.iter().map(|message| message.len() / row).sum();
    let mut at = 0;
    let mut columns = Vec::with_capacity(widths.len());
    for width in widths.iter().copied() {
        let mut column = MutableBuffer::from_len_zeroed(rows * width);
        let mut to = column.as_slice_mut();
        for message in messages {
            let (these, behind) = to.split_at_mut(message.len() / row * width);
            copy_column(message, row, at, width, these);
            to = behind;
        }
        columns.push(column.into());
        at += width;
    }
    columns
}

/// Copies the value at byte `at` of each row.
fn copy_column(rows: &[u8], row: usize, at: usize, width: usize, to: &mut [u8]) {
    match width {
        1 => copy_fixed::<1>(rows, row, at, to),
        2 => copy_fixed::<2>(rows, row, at, to),
        4 => copy_fixed::<4>(rows, row, at, to),
        8 => copy_fixed::<8>(rows, row, at, to),
        16 => copy_fixed::<16>(rows, row, at, to),
        32 => copy_fixed::<32>(rows, row, at, to),
        _ => {
            for (row, to) in rows.chunks_exact(row).zip(to.chunks_exact_mut(width)) {
                to.copy_from_slice(&row[at..at + width]);
            }
        }
    }
}

/// Like [`copy_column`], with a width that the compiler knows.
fn copy_fixed<const WIDTH: usize>(rows: &[u8], row: usize, at: usize, to: &mut [u8]) {
    let (to, _) = to.as_chunks_mut::<WIDTH>();
    for (row, to) in rows.chunks_exact(row).zip(to) {
        *to = row[at..at + WIDTH].try_into().expect("so many bytes");
    }
}
