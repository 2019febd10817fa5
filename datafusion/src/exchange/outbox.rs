//! The outbox of a task: batches that wait, and the bytes that each partition may still be sent.
//!
//! Every partition has a byte budget. What was sent and not yet taken by the partition's consumer counts; a partition
//! whose budget is used up is left out, and gets its rows later from the same batch. Batches wait until all of
//! their partitions have got their rows. Input is read while the worker's [`Backlog`] has room, or a
//! partition has nothing to do: one whose consumer waits for another one never stops the others.
//!
//! A batch that was read though there was no room does not wait in memory. What of it cannot be sent goes to disk, each
//! partition's rows by themselves, and all later rows of these partitions behind them. They come back one batch at a
//! time, when the partition has nothing else to send and credit to send it.

use std::{collections::VecDeque, sync::Arc};

use datafusion::arrow::{
    array::{Array as _, ArrayData, MAX_INLINE_VIEW_LEN, UInt32Array},
    compute::take_record_batch,
    datatypes::DataType,
    error::ArrowError,
    record_batch::RecordBatch,
};
use drdma_arrow::Selection;

use super::backlog::Backlog;

/// A partition of the output, as the sender sees it.
#[derive(Debug, Default)]
struct Partition {
    state: State,
    /// Bytes of rows that were sent and not yet taken.
    under_way: usize,
    /// Rows and bytes of each batch that was sent and not yet taken, as far as it is not.
    costs: VecDeque<(u64, usize)>,
    /// Rows that were sent.
    sent: u64,
    /// Batches whose requests have not completed.
    posted: u64,
    /// Batches that lie on disk. They are younger than those that wait in memory, but for one that has come back.
    on_disk: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// The partition's consumer has not asked yet.
    #[default]
    Absent,
    /// The partition's consumer takes rows.
    Open,
    /// The partition's consumer wants no more rows, and has not been told yet that none come.
    Closing,
    /// The partition gets no more rows.
    Done,
}

/// A batch that waits.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub batch: RecordBatch,
    pub selection: Selection,
    bytes: usize,
    /// Rows of each partition.
    rows: Vec<u32>,
    /// The partitions that have not got their rows.
    left: Vec<u16>,
    /// Counts the batches that were added; [`RETURNED`] if it was on disk.
    number: u64,
}

/// The number of a batch that has come back from disk.
const RETURNED: u64 = 0;

impl Waiting {
    /// Bytes of a partition's rows.
    fn cost(&self, partition: u16) -> usize {
        let rows = self.batch.num_rows().max(1);
        self.bytes * self.rows[usize::from(partition)] as usize / rows
    }

    /// A partition's rows, in a batch of their own.
    ///
    /// # Errors
    /// The rows cannot be taken out of the batch.
    pub fn rows_of(&self, partition: u16) -> Result<RecordBatch, ArrowError> {
        let Selection::Ids(ids) = &self.selection else { return Ok(self.batch.clone()) };
        // Without a branch for each row, which would be mispredicted often.
        let (mut rows, mut count) = (vec![0; ids.len()], 0);
        for (row, id) in (0..).zip(ids.iter()) {
            rows[count] = row;
            count += usize::from(u16::from(*id) == partition);
        }
        rows.truncate(count);
        take_record_batch(&self.batch, &UInt32Array::from(rows))
    }
}

/// How the rows of a partition have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// All rows of the partition were sent.
    End { partition: u16, rows: u64 },
    /// The partition's consumer wanted no more rows, and none are under way to it.
    Closed { partition: u16 },
}

/// Batches that wait, and the budgets of partitions.
#[derive(Debug)]
pub(super) struct Outbox {
    partitions: Vec<Partition>,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    /// Batches that were added.
    added: u64,
    /// Bytes that may be under way to a partition.
    budget: usize,
    /// Bytes that wait at the worker, this outbox's batches included.
    backlog: Arc<Backlog>,
    ended: bool,
}

impl Drop for Outbox {
    fn drop(&mut self) {
        self.backlog.release(self.waiting_bytes);
    }
}

impl Outbox {
    pub fn new(partitions: usize, budget: usize, backlog: Arc<Backlog>) -> Self {
        let partitions = (0..partitions).map(|_| Partition::default()).collect();
        let waiting = VecDeque::new();
        Self { partitions, waiting, waiting_bytes: 0, added: 0, budget, backlog, ended: false }
    }

    /// Records that the consumer of a partition is there.
    pub fn open(&mut self, partition: u16) {
        let partition = &mut self.partitions[usize::from(partition)];
        if partition.state == State::Absent {
            partition.state = State::Open;
        }
    }

    /// Records that a partition's consumer wants no more rows.
    pub fn close(&mut self, partition: u16) {
        let at = &mut self.partitions[usize::from(partition)];
        if at.state != State::Done {
            at.state = State::Closing;
        }
        at.on_disk = 0;
        for waiting in &mut self.waiting {
            waiting.left.retain(|left| *left != partition);
        }
        self.sweep();
    }

    /// Records that a partition's consumer has taken `taken` rows. They may have come in other batches than they were
    /// sent in.
    ///
    /// False if fewer rows were sent to it.
    #[must_use]
    pub fn credit(&mut self, partition: u16, mut taken: u64) -> bool {
        let partition = &mut self.partitions[usize::from(partition)];
        while taken > 0 {
            let Some((rows, bytes)) = partition.costs.front_mut() else { return false };
            let now = taken.min(*rows);
            let cost = (*bytes as u128 * u128::from(now) / u128::from(*rows)) as usize;
            *rows -= now;
            *bytes -= cost;
            partition.under_way -= cost;
            taken -= now;
            if *rows == 0 {
                partition.costs.pop_front();
            }
        }
        true
    }

    /// Adds a batch; `rows` has the number of rows for each partition.
    pub fn add(&mut self, batch: RecordBatch, selection: Selection, rows: Vec<u32>) {
        let bytes = bytes_of(&batch);
        let wants = |(partition, rows): (usize, &u32)| {
            let state = self.partitions[partition].state;
            let is_open = matches!(state, State::Absent | State::Open);
            (*rows > 0 && is_open).then_some(partition as u16)
        };
        let left = rows.iter().enumerate().filter_map(wants).collect();
        self.added += 1;
        self.hold(bytes);
        let number = self.added;
        self.waiting.push_back(Waiting { batch, selection, bytes, rows, left, number });
        self.sweep();
    }

    /// True if the next batch is not to wait in memory.
    pub fn is_full(&self) -> bool {
        self.backlog.is_full()
    }

    /// The batch that was added last, if it waits, and the partitions whose rows of it go to disk: those that have rows
    /// there already, or all that have not got theirs if `all`.
    pub fn overflow(&self, all: bool) -> Option<(&Waiting, Vec<u16>)> {
        let newest = self.waiting.back().filter(|newest| newest.number == self.added)?;
        let goes = |partition: &u16| all || self.partitions[usize::from(*partition)].on_disk > 0;
        let partitions: Vec<u16> = newest.left.iter().copied().filter(goes).collect();
        (!partitions.is_empty()).then_some((newest, partitions))
    }

    /// Records that the rows of the batch that was added last lie on disk for these partitions.
    pub fn spilled(&mut self, partitions: &[u16]) {
        let Some(newest) = self.waiting.back_mut() else { return };
        newest.left.retain(|left| !partitions.contains(left));
        for partition in partitions {
            self.partitions[usize::from(*partition)].on_disk += 1;
        }
        self.sweep();
    }

    /// The partitions whose rows should come back from disk now.
    pub fn wanted(&self) -> Vec<u16> {
        if !self.has_on_disk() {
            return Vec::new();
        }
        let waiting = self.partitions_that_wait();
        let is_wanted = |(number, at): (u16, &Partition)| {
            let has_credit = at.state == State::Open && at.under_way < self.budget;
            (at.on_disk > 0 && has_credit && !waiting[usize::from(number)]).then_some(number)
        };
        (0..).zip(&self.partitions).filter_map(is_wanted).collect()
    }

    /// Adds a batch that has come back from disk, the partition's next. True if it was the last one there.
    pub fn returned(&mut self, partition: u16, batch: RecordBatch) -> bool {
        let (at, count) = (&mut self.partitions[usize::from(partition)], batch.num_rows());
        at.on_disk -= 1;
        let is_last = at.on_disk == 0;
        let mut rows = vec![0; self.partitions.len()];
        rows[usize::from(partition)] = count as u32;
        let (bytes, left) = (bytes_of(&batch), vec![partition]);
        self.hold(bytes);
        let selection = Selection::All;
        let returned = Waiting { batch, selection, bytes, rows, left, number: RETURNED };
        self.waiting.push_front(returned);
        is_last
    }

    /// Records that no batch follows.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// True if a batch waits.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty() || self.has_on_disk()
    }

    fn has_on_disk(&self) -> bool {
        self.partitions.iter().any(|partition| partition.on_disk > 0)
    }

    /// Of each partition: whether it has not got its rows of batches in memory.
    fn partitions_that_wait(&self) -> Vec<bool> {
        let mut waits = vec![false; self.partitions.len()];
        for partition in self.waiting.iter().flat_map(|waiting| &waiting.left) {
            waits[usize::from(*partition)] = true;
        }
        waits
    }

    /// True if a partition may be sent more before its consumer has taken rows.
    pub fn has_credit(&self, partition: u16) -> bool {
        self.partitions[usize::from(partition)].under_way < self.budget
    }

    /// True if the next batch should be read.
    pub fn wants_more(&self) -> bool {
        if self.ended {
            return false;
        }
        let is_open = |(_, at): &(u16, &Partition)| at.state == State::Open;
        let mut open = (0..).zip(&self.partitions).filter(is_open);
        // What lies on disk comes back before more is read that would go there.
        if !self.is_full() && !self.has_on_disk() {
            // Without an open partition, batches would only fill the backlog.
            return open.next().is_some();
        }
        let waiting = self.partitions_that_wait();
        open.any(|(number, at)| {
            at.under_way == 0 && at.on_disk == 0 && !waiting[usize::from(number)]
        })
    }

    /// The first batch of which something is to be sent now, and to which partitions. A partition that can be sent
    /// something is sent the rows of the first batch that it waits for, so that they keep their order.
    ///
    /// What a request costs hardly depends on how many partitions it is for. So a batch waits until all partitions that
    /// it is left for can be sent something, or one of them has used less than half of its budget.
    pub fn next(&self) -> Option<(usize, Vec<u16>)> {
        let mut waits_before = vec![false; self.partitions.len()];
        for (index, waiting) in self.waiting.iter().enumerate() {
            let at = |partition: &u16| &self.partitions[usize::from(*partition)];
            let can = |partition: &u16| {
                let is_first = !waits_before[usize::from(*partition)];
                is_first && at(partition).state == State::Open && self.has_credit(*partition)
            };
            let now: Vec<u16> = waiting.left.iter().copied().filter(can).collect();
            let is_urgent = |partition: &u16| at(partition).under_way < self.budget.div_ceil(2);
            if !now.is_empty() && (now.len() == waiting.left.len() || now.iter().any(is_urgent)) {
                return Some((index, now));
            }
            waiting.left.iter().for_each(|partition| waits_before[usize::from(*partition)] = true);
        }
        None
    }

    /// The batch of that index.
    pub fn waiting(&self, index: usize) -> &Waiting {
        &self.waiting[index]
    }

    /// Records that the batch of that index was posted to these partitions.
    pub fn posted(&mut self, index: usize, to: &[u16]) {
        let waiting = &mut self.waiting[index];
        waiting.left.retain(|left| !to.contains(left));
        for number in to {
            let cost = waiting.cost(*number);
            let partition = &mut self.partitions[usize::from(*number)];
            partition.under_way += cost;
            let rows = waiting.rows[usize::from(*number)].into();
            partition.costs.push_back((rows, cost));
            partition.sent += rows;
            partition.posted += 1;
        }
        self.sweep();
    }

    /// Records that a request to a partition has completed.
    pub fn completed(&mut self, partition: u16) {
        self.partitions[usize::from(partition)].posted -= 1;
    }

    /// The partitions whose rows are over, each once.
    pub fn over(&mut self) -> Vec<Over> {
        let left = self.partitions_that_wait();
        let mut over = Vec::new();
        for (number, partition) in (0..).zip(&mut self.partitions) {
            let rows = partition.sent;
            let told = match partition.state {
                _ if partition.posted > 0 => None,
                State::Closing => Some(Over::Closed { partition: number }),
                State::Open
                    if self.ended && partition.on_disk == 0 && !left[usize::from(number)] =>
                {
                    Some(Over::End { partition: number, rows })
                }
                _ => None,
            };
            if let Some(told) = told {
                partition.state = State::Done;
                over.push(told);
            }
        }
        over
    }

    /// True if all partitions are over, those included whose consumers never asked.
    pub fn is_done(&self) -> bool {
        self.partitions.iter().all(|partition| partition.state == State::Done)
    }

    /// Forgets batches whose partitions all have their rows.
    fn sweep(&mut self) {
        let mut bytes = 0;
        self.waiting.retain(|waiting| {
            let is_left = !waiting.left.is_empty();
            bytes += if is_left { 0 } else { waiting.bytes };
            is_left
        });
        self.waiting_bytes -= bytes;
        self.backlog.release(bytes);
    }

    fn hold(&mut self, bytes: usize) {
        self.waiting_bytes += bytes;
        self.backlog.hold(bytes);
    }
}

/// Bytes of a batch's rows.
pub(super) fn bytes_of(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(|column| bytes_of_data(&column.to_data())).sum()
}

fn bytes_of_data(data: &ArrayData) -> usize {
    let views = match data.data_type() {
        DataType::Utf8View | DataType::BinaryView => long_values(data),
        DataType::Struct(_) => return data.child_data().iter().map(bytes_of_data).sum(),
        _ => 0,
    };
    views + data.get_slice_memory_size().unwrap_or_default()
}

/// Bytes of the values that do not lie in their views, which Arrow does not count. Batches may share the buffers that
/// they lie in, so that these say nothing.
fn long_values(data: &ArrayData) -> usize {
    let views = &data.buffer::<u128>(0)[..data.len()];
    // A view begins with its value's length.
    let lengths = views.iter().map(|view| *view as u32);
    lengths.filter(|length| *length > MAX_INLINE_VIEW_LEN).map(|length| length as usize).sum()
}

#[cfg(test)]
mod tests;
