//! What a task has to send: batches that wait, and what each partition may still be sent.
//!
//! Every partition has a byte budget. What was sent and not yet taken by the partition's consumer counts; a partition
//! whose budget is used up is left out, and gets its rows later from the same batch. Batches wait until all of
//! their partitions have got their rows. Input is read while what waits is less than a budget of its own, or a
//! partition has nothing to do: one whose consumer waits for another one never stops the others.

use std::collections::{HashSet, VecDeque};

use datafusion::arrow::record_batch::RecordBatch;
use drdma_arrow::Selection;

/// A partition of the output, as the sender sees it.
#[derive(Debug, Default)]
struct Partition {
    state: State,
    /// Bytes of what was sent and not yet taken.
    under_way: usize,
    /// Bytes of each batch that was sent and not yet taken.
    costs: VecDeque<usize>,
    /// Batches that were sent.
    sent: u64,
    /// Batches whose requests have not completed.
    posted: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Its consumer has not asked yet.
    #[default]
    Absent,
    /// Its consumer takes rows.
    Open,
    /// Its consumer wants no more rows, and was not told yet that none come.
    Closing,
    /// Nothing is sent any more.
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
}

impl Waiting {
    /// Bytes of a partition's rows.
    fn cost(&self, partition: u16) -> usize {
        let rows = self.batch.num_rows().max(1);
        self.bytes * self.rows[usize::from(partition)] as usize / rows
    }
}

/// What becomes of a partition whose rows are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// All of its rows were sent, in so many batches.
    End { partition: u16, batches: u64 },
    /// Its consumer wanted no more, and nothing is under way to it.
    Closed { partition: u16 },
}

/// Batches that wait, and budgets.
#[derive(Debug)]
pub(super) struct Outbox {
    partitions: Vec<Partition>,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    /// Bytes that may be under way to a partition.
    budget: usize,
    /// Bytes that may wait.
    backlog: usize,
    ended: bool,
}

impl Outbox {
    pub fn new(partitions: usize, budget: usize, backlog: usize) -> Self {
        let partitions = (0..partitions).map(|_| Partition::default()).collect();
        let waiting = VecDeque::new();
        Self { partitions, waiting, waiting_bytes: 0, budget, backlog, ended: false }
    }

    /// The consumer of a partition is there.
    pub fn open(&mut self, partition: u16) {
        let partition = &mut self.partitions[usize::from(partition)];
        if partition.state == State::Absent {
            partition.state = State::Open;
        }
    }

    /// A partition's consumer wants no more rows.
    pub fn close(&mut self, partition: u16) {
        let at = &mut self.partitions[usize::from(partition)];
        if at.state != State::Done {
            at.state = State::Closing;
        }
        for waiting in &mut self.waiting {
            waiting.left.retain(|left| *left != partition);
        }
        self.sweep();
    }

    /// A partition's consumer has taken so many batches.
    ///
    /// False if it has not got so many.
    #[must_use]
    pub fn credit(&mut self, partition: u16, batches: u64) -> bool {
        let partition = &mut self.partitions[usize::from(partition)];
        for _ in 0..batches {
            let Some(cost) = partition.costs.pop_front() else { return false };
            partition.under_way -= cost;
        }
        true
    }

    /// Takes a batch; `rows` says how many each partition gets.
    pub fn add(&mut self, batch: RecordBatch, selection: Selection, rows: Vec<u32>) {
        let bytes = bytes_of(&batch);
        let wants = |(partition, rows): (usize, &u32)| {
            let state = self.partitions[partition].state;
            let is_open = matches!(state, State::Absent | State::Open);
            (*rows > 0 && is_open).then_some(partition as u16)
        };
        let left = rows.iter().enumerate().filter_map(wants).collect();
        self.waiting_bytes += bytes;
        self.waiting.push_back(Waiting { batch, selection, bytes, rows, left });
        self.sweep();
    }

    /// There are no more batches.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// True if something waits.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// True if the next batch should be read.
    pub fn wants_more(&self) -> bool {
        if self.ended {
            return false;
        }
        let is_open = |partition: &&Partition| partition.state == State::Open;
        let is_idle = |partition: &Partition| partition.under_way == 0;
        let waiting: HashSet<u16> =
            self.waiting.iter().flat_map(|waiting| waiting.left.iter().copied()).collect();
        let mut open = self.partitions.iter().enumerate().filter(|(_, p)| is_open(p));
        match self.waiting_bytes < self.backlog {
            // With nobody there it would only fill up.
            true => self.partitions.iter().any(|partition| partition.state == State::Open),
            false => open.any(|(number, p)| is_idle(p) && !waiting.contains(&(number as u16))),
        }
    }

    /// The first batch of which something can be sent, and to which partitions. A partition that can be sent
    /// something is sent the rows of the first batch that it waits for, so that they keep their order.
    pub fn next(&self) -> Option<(usize, Vec<u16>)> {
        for (index, waiting) in self.waiting.iter().enumerate() {
            let can = |partition: &u16| {
                let at = &self.partitions[usize::from(*partition)];
                at.state == State::Open && at.under_way < self.budget
            };
            let now: Vec<u16> = waiting.left.iter().copied().filter(can).collect();
            if !now.is_empty() {
                return Some((index, now));
            }
        }
        None
    }

    /// The batch of that index.
    pub fn waiting(&self, index: usize) -> &Waiting {
        &self.waiting[index]
    }

    /// The batch of that index was posted to these partitions.
    pub fn posted(&mut self, index: usize, to: &[u16]) {
        let waiting = &mut self.waiting[index];
        waiting.left.retain(|left| !to.contains(left));
        for number in to {
            let cost = waiting.cost(*number);
            let partition = &mut self.partitions[usize::from(*number)];
            partition.under_way += cost;
            partition.costs.push_back(cost);
            partition.sent += 1;
            partition.posted += 1;
        }
        self.sweep();
    }

    /// A request to a partition has completed.
    pub fn completed(&mut self, partition: u16) {
        self.partitions[usize::from(partition)].posted -= 1;
    }

    /// The partitions whose rows are over, each once.
    pub fn over(&mut self) -> Vec<Over> {
        let left: HashSet<u16> =
            self.waiting.iter().flat_map(|waiting| waiting.left.iter().copied()).collect();
        let mut over = Vec::new();
        for (number, partition) in (0..).zip(&mut self.partitions) {
            let batches = partition.sent;
            let told = match partition.state {
                _ if partition.posted > 0 => None,
                State::Closing => Some(Over::Closed { partition: number }),
                State::Open if self.ended && !left.contains(&number) => {
                    Some(Over::End { partition: number, batches })
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

    /// Forgets batches that everybody has.
    fn sweep(&mut self) {
        let bytes = &mut self.waiting_bytes;
        self.waiting.retain(|waiting| {
            let is_left = !waiting.left.is_empty();
            *bytes -= if is_left { 0 } else { waiting.bytes };
            is_left
        });
    }
}

/// Bytes of a batch's rows.
pub(super) fn bytes_of(batch: &RecordBatch) -> usize {
    let bytes = |column: &datafusion::arrow::array::ArrayRef| {
        column.to_data().get_slice_memory_size().unwrap_or_default()
    };
    batch.columns().iter().map(bytes).sum()
}

#[cfg(test)]
mod tests;
