//! Messages that are appended: their rows depend on the order in which they come, and on nothing else.
//!
//! The interpreter knows the messages of a phase, not their order. The result of the cards is
//! right if their rows lie one behind the other from where the phase before ended, those of one queue pair
//! in the order of its messages, and if the columns hold there what the messages said.

use std::collections::BTreeMap;

use serde_json::Value;

use super::places::Place;
use crate::expect::{list, number, text};

/// A message that an append region took.
#[derive(Clone, Debug, PartialEq)]
struct Message {
    /// Name of the receive's queue, and number of completions before this one.
    completion: (String, usize),
    /// Name of the queue pair.
    qp: String,
    bytes: Vec<u8>,
}

/// State of an append region, and its messages.
#[derive(Clone, Debug, PartialEq)]
pub struct Appended {
    /// Buffer, offset and width of each column.
    columns: Vec<(String, usize, usize)>,
    capacity: usize,
    /// Rows of earlier phases, and rows that are not given back.
    before: usize,
    used: usize,
    /// For each phase: the row that it begins behind, and its messages.
    phases: Vec<(usize, Vec<Message>)>,
    /// True once a message has failed midway: free rows may have any contents.
    dirty: bool,
}

impl Appended {
    /// An empty region.
    pub fn of(append: &Value) -> Self {
        let column = |column: &Value| {
            let number = |field: &str| number(&column[field]) as usize;
            (text(&column["buffer"]).to_owned(), number("offset"), number("width"))
        };
        Self {
            columns: list(&append["columns"]).iter().map(column).collect(),
            capacity: number(&append["capacity"]) as usize,
            before: 0,
            used: 0,
            phases: vec![(0, Vec::new())],
            dirty: false,
        }
    }

    /// Bytes of a row.
    pub fn row(&self) -> usize {
        self.columns.iter().map(|(_, _, width)| width).sum()
    }

    /// Begins the next phase.
    pub fn next_phase(&mut self) {
        self.phases.push((self.before, Vec::new()));
    }

    /// Gives rows back. False if there are no such rows.
    pub fn give_back(&mut self, rows: usize) -> bool {
        let good =
            (1..=self.used).contains(&rows) && self.phases.last().is_some_and(|p| p.1.is_empty());
        self.used -= if good { rows } else { 0 };
        good
    }

    /// Takes a message, which is whole rows. False if there are no free rows.
    pub fn take(&mut self, completion: (String, usize), qp: &str, bytes: &[u8]) -> bool {
        let rows = bytes.len() / self.row();
        self.before += rows;
        self.used += rows;
        let (_, messages) = self.phases.last_mut().expect("there is a phase");
        messages.push(Message { completion, qp: qp.to_owned(), bytes: bytes.to_vec() });
        self.used <= self.capacity
    }

    /// Records that a message failed midway.
    pub fn spoil(&mut self) {
        self.dirty = true;
    }

    /// Places of a row's bytes.
    fn places(&self, row: usize) -> impl Iterator<Item = Place> + '_ {
        let row = row % self.capacity;
        self.columns.iter().flat_map(move |(buffer, offset, width)| {
            let start = offset + row * width;
            (start..start + width).map(move |at| (buffer.clone(), at))
        })
    }

    /// Puts the messages into `memory`, a node's buffers by name, in the rows that `first` says of each
    /// completion.
    ///
    /// # Errors
    /// Description of rows that are not possible.
    pub fn fill(
        &self,
        first: &dyn Fn(&str, usize) -> Option<usize>,
        memory: &mut BTreeMap<String, Vec<Option<u8>>>,
    ) -> Result<(), String> {
        let mut set = |(buffer, at): Place, byte: Option<u8>| {
            memory.get_mut(&buffer).expect("a buffer of the node")[at] = byte;
        };
        if self.dirty {
            (0..self.capacity).for_each(|row| self.places(row).for_each(|place| set(place, None)));
        }
        for (before, messages) in &self.phases {
            let mut found = Vec::new();
            for message in messages {
                let (queue, index) = &message.completion;
                let row = first(queue, *index)
                    .ok_or_else(|| format!("{queue}: completion {index} names no rows"))?;
                if row >= self.capacity {
                    return Err(format!("{queue}: row {row} of {}", self.capacity));
                }
                let behind = (row + self.capacity - before % self.capacity) % self.capacity;
                found.push((behind, message));
            }
            // Messages without rows have no place.
            found.retain(|(_, message)| !message.bytes.is_empty());
            found.sort_by_key(|(behind, _)| *behind);
            let mut next = 0;
            let mut last: BTreeMap<&str, usize> = BTreeMap::new();
            for (behind, message) in found {
                let (queue, index) = &message.completion;
                if behind != next {
                    return Err(format!(
                        "{queue}: completion {index} begins {behind} rows behind the phase, {next} were appended"
                    ));
                }
                if last.insert(&message.qp, *index).is_some_and(|before| before > *index) {
                    return Err(format!(
                        "{queue}: completion {index} is in front of an earlier one"
                    ));
                }
                let rows = message.bytes.chunks(self.row()).enumerate();
                for (i, row) in rows {
                    for (place, byte) in self.places(before + next + i).zip(row) {
                        set(place, Some(*byte));
                    }
                }
                next += message.bytes.len() / self.row();
            }
        }
        Ok(())
    }
}
