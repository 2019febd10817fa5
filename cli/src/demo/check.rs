//! Checks that the right rows arrived at every destination.

use drdma_sim::wire::Message;

use super::lineitem::{ROW, Row};

/// Difference between the rows that arrived and those that were sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// More or fewer messages arrived than were sent.
    #[error("destination {destination}: {found} messages arrived, {expected} were sent")]
    Messages {
        /// Number of the destination.
        destination: usize,
        /// Messages that arrived.
        found: usize,
        /// Messages that were sent.
        expected: usize,
    },
    /// A message has the wrong length.
    #[error("destination {destination}: message {message} has {found} B instead of {expected} B")]
    Length {
        /// Number of the destination.
        destination: usize,
        /// Number of the message.
        message: usize,
        /// Bytes of the message that arrived.
        found: usize,
        /// Bytes of the message that was sent.
        expected: usize,
    },
    /// A row has other bytes.
    #[error("destination {destination}: row {row} of its rows arrived as {found:02x?}")]
    Row {
        /// Number of the destination.
        destination: usize,
        /// The row, counted at this destination.
        row: usize,
        /// The bytes that arrived.
        found: Vec<u8>,
    },
}

/// Checks that exactly `rows` arrived at a destination, in order, byte for byte: none is missing, none is there
/// twice, none belongs to another destination.
pub fn arrived(
    destination: usize,
    rows: &[Row],
    rows_per_message: usize,
    messages: &[Message],
) -> Result<(), CheckError> {
    let expected = rows.len().div_ceil(rows_per_message);
    if messages.len() != expected {
        let found = messages.len();
        return Err(CheckError::Messages { destination, found, expected });
    }
    for (i, (message, rows)) in messages.iter().zip(rows.chunks(rows_per_message)).enumerate() {
        let (found, expected) = (message.bytes.len(), rows.len() * ROW);
        if found != expected {
            return Err(CheckError::Length { destination, message: i, found, expected });
        }
        for (j, (found, row)) in message.bytes.chunks(ROW).zip(rows).enumerate() {
            if found != row.0 {
                let row = i * rows_per_message + j;
                return Err(CheckError::Row { destination, row, found: found.to_vec() });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use drdma_sim::wire::MessageKind;

    use super::*;

    fn message(rows: &[Row]) -> Message {
        let bytes = rows.iter().flat_map(|row| row.0).collect();
        let kind = MessageKind::Send;
        Message { kind, imm: None, bytes, source_qpn: 1, psn: 0, packets: 1 }
    }

    #[test]
    fn a_missing_a_doubled_and_a_changed_row_are_found() {
        let rows: Vec<Row> = (0..5).map(|i| Row([i; ROW])).collect();
        let check = |messages: &[Message]| arrived(3, &rows, 2, messages);
        let (a, b, c) = (message(&rows[..2]), message(&rows[2..4]), message(&rows[4..]));
        assert_eq!(check(&[a.clone(), b.clone(), c.clone()]), Ok(()));
        let few = check(&[a.clone(), b.clone()]).unwrap_err();
        assert_eq!(few, CheckError::Messages { destination: 3, found: 2, expected: 3 });
        let twice = check(&[a.clone(), a.clone(), c.clone()]).unwrap_err();
        assert_eq!(twice, CheckError::Row { destination: 3, row: 2, found: vec![0; ROW] });
        let long = check(&[a.clone(), b, a]).unwrap_err();
        assert!(matches!(long, CheckError::Length { message: 2, .. }));
    }
}
