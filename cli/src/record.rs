//! Recording what a host does to a card, so that it can be replayed against the card elsewhere.
//!
//! One JSON object a line, in order:
//!
//! - `{"map": {"addr": A, "size": N}}`: memory that the card may touch; all zeros. First in the file
//!   is all memory that was mapped before the first doorbell.
//! - `{"mem": {"addr": A, "hex": "..."}}`: bytes of it that the host changed, before the register
//!   write that makes the card look at them.
//! - `{"write": {"bar": 2, "offset": O, "size": 4, "value": V}}` and `read`, with the value that
//!   came back.
//! - `{"completion": {"wr_id": W, "status": "success", "bytes": N, "queue": Q, "destination": D}}`: where
//!   the host saw one, with the fields of its entry in the ring. What the host does
//!   because of it stands behind it: the write that gives the ring's room back to the card, and reads
//!   of which queue pairs have failed. Who replays the file waits for the completion first, as the
//!   host did.
//!
//! Rings of completion queues are the card's to write; what changes there is not the host's doing
//! and is not recorded.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::File,
    io::{self, BufWriter, Write as _},
    ops::Range,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use drdma_abi::{
    Layout as _,
    completion::Completion,
    register::{
        COMPLETION_QUEUES, CONTROL, CompletionQueueEntry, DOORBELLS, QUEUE_PAIR_ERRORS, Table,
    },
};
use drdma_driver::{Card, CardError, DmaMemory};
use libdrdma::WorkCompletion;

/// The bit of [`CONTROL`] that says that a reset is not over.
const RESETTING: u32 = 1 << 1;
/// Bytes that are compared at a time.
const CHUNK: usize = 1 << 16;
/// Unchanged bytes between two changed ones that are recorded with them.
const GAP: usize = 8;

/// A recording; clones write to the same file.
#[derive(Clone, Debug)]
pub struct Recording {
    output: Arc<Mutex<Output>>,
}

#[derive(Debug)]
struct Output {
    file: BufWriter<File>,
    path: PathBuf,
    /// What stands behind the maps, until these are known to be all.
    held: Option<String>,
    /// Lines that stand behind the completions that the host sees next.
    deferred: Vec<String>,
    /// It has seen them.
    is_seen: bool,
}

impl Output {
    fn unwritable(&self, error: &io::Error) -> CardError {
        CardError::Failed(format!("cannot write {}: {error}", self.path.display()))
    }

    fn line(&mut self, line: &str) -> io::Result<()> {
        self.release_deferred()?;
        self.put(line)
    }

    fn release_deferred(&mut self) -> io::Result<()> {
        self.is_seen = false;
        std::mem::take(&mut self.deferred).iter().try_for_each(|line| self.put(line))
    }

    fn put(&mut self, line: &str) -> io::Result<()> {
        match &mut self.held {
            None => writeln!(self.file, "{line}"),
            Some(held) => {
                held.push_str(line);
                held.push('\n');
                Ok(())
            }
        }
    }

    fn release(&mut self) -> io::Result<()> {
        self.file.write_all(self.held.take().unwrap_or_default().as_bytes())
    }
}

impl Recording {
    /// Starts a recording in a file, which messages call `path`.
    pub fn new(file: File, path: &Path) -> Self {
        let (file, path) = (BufWriter::new(file), path.to_owned());
        let output =
            Output { file, path, held: Some(String::new()), deferred: Vec::new(), is_seen: false };
        Self { output: Arc::new(Mutex::new(output)) }
    }

    fn lock(&self) -> MutexGuard<'_, Output> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with(&self, write: impl FnOnce(&mut Output) -> io::Result<()>) -> Result<(), CardError> {
        let mut output = self.lock();
        write(&mut output).map_err(|error| output.unwritable(&error))
    }

    fn line(&self, line: &str) -> Result<(), CardError> {
        self.with(|output| output.line(line))
    }

    /// Records a mapping.
    fn map(&self, addr: u64, size: usize) -> Result<(), CardError> {
        let line = format!(r#"{{"map": {{"addr": {addr}, "size": {size}}}}}"#);
        self.with(|output| writeln!(output.file, "{line}"))
    }

    /// Maps from here on stand between the other lines.
    fn mapped(&self) -> Result<(), CardError> {
        self.with(Output::release)
    }

    /// Records that the host saw a completion.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn completion(&self, completion: &WorkCompletion) -> Result<(), CardError> {
        let WorkCompletion { wr_id, status, bytes, queue, destination, .. } = completion;
        let line = format!(
            r#"{{"completion": {{"wr_id": {wr_id}, "status": "{}", "bytes": {bytes}, "queue": {queue}, "destination": {destination}}}}}"#,
            status.name()
        );
        self.with(|output| {
            output.is_seen = true;
            output.put(&line)
        })
    }

    /// Records a line behind the completions that the host sees before it does anything else.
    fn defer(&self, line: String) -> Result<(), CardError> {
        let mut output = self.lock();
        if output.is_seen {
            output.release_deferred().map_err(|error| output.unwritable(&error))?;
        }
        output.deferred.push(line);
        Ok(())
    }

    /// Writes what is still in memory to the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn flush(&self) -> io::Result<()> {
        let mut output = self.lock();
        output.release_deferred()?;
        output.release()?;
        output.file.flush()
    }
}

/// A card whose every access is recorded.
pub struct Recorder {
    card: Box<dyn Card>,
    recording: Recording,
    mapped: BTreeMap<u64, Mapped>,
    /// Completion queues' entries as the host wrote them, word by word.
    queues: BTreeMap<u32, u32>,
    /// Where the card writes completions.
    rings: BTreeMap<u32, Range<u64>>,
}

/// Mapped memory, and what of it was recorded.
#[derive(Debug)]
struct Mapped {
    memory: DmaMemory,
    recorded: Vec<u8>,
}

impl Recorder {
    /// Records what is done to `card`.
    pub fn new(card: Box<dyn Card>, recording: Recording) -> Self {
        let (mapped, queues, rings) = Default::default();
        Self { card, recording, mapped, queues, rings }
    }

    fn access(&self, kind: &str, offset: u32, value: u32) -> Result<(), CardError> {
        let line = format!(
            r#"{{"{kind}": {{"bar": 2, "offset": {offset}, "size": 4, "value": {value}}}}}"#
        );
        match kind {
            "write" if is_consumer(offset) => self.recording.defer(line),
            // The driver looks when it finds a failed request's completion in the ring.
            "read" if contains(&QUEUE_PAIR_ERRORS, offset) => self.recording.defer(line),
            _ => self.recording.line(&line),
        }
    }

    /// Records the bytes that changed since the last time.
    fn memory(&mut self) -> Result<(), CardError> {
        let mut now = vec![0; CHUNK];
        for (&iova, mapped) in &mut self.mapped {
            for start in (0..mapped.recorded.len()).step_by(CHUNK) {
                let len = CHUNK.min(mapped.recorded.len() - start);
                let (now, old) = (&mut now[..len], &mut mapped.recorded[start..start + len]);
                mapped.memory.read(start, now);
                if now == old {
                    continue;
                }
                let base = iova + start as u64;
                for ring in self.rings.values() {
                    let at = |address: u64| (address.saturating_sub(base) as usize).min(len);
                    let theirs = at(ring.start)..at(ring.end);
                    old[theirs.clone()].copy_from_slice(&now[theirs]);
                }
                for run in changes(old, now) {
                    let mut hex = String::with_capacity(2 * run.len());
                    now[run.clone()].iter().for_each(|byte| {
                        let _ = write!(hex, "{byte:02x}");
                    });
                    let addr = base + run.start as u64;
                    self.recording
                        .line(&format!(r#"{{"mem": {{"addr": {addr}, "hex": "{hex}"}}}}"#))?;
                }
                old.copy_from_slice(now);
            }
        }
        Ok(())
    }

    /// Learns where the card will write completions.
    fn completion_queue(&mut self, offset: u32, value: u32) {
        self.queues.insert(offset, value);
        let entry = (offset - COMPLETION_QUEUES.offset) / COMPLETION_QUEUES.entry_size;
        let word = |i: u32| {
            self.queues.get(&(COMPLETION_QUEUES.entry(entry) + 4 * i)).copied().unwrap_or_default()
        };
        // The layout of `CompletionQueueEntry`: the address in words 0 and 1, the binary logarithm
        // of the entries in the low byte of word 2, the enabling word last.
        if offset == COMPLETION_QUEUES.entry(entry + 1) - 4 {
            let start = u64::from(word(0)) | u64::from(word(1)) << 32;
            let size = (Completion::SIZE as u64) << (word(2) & 0xff).min(32);
            match value {
                0 => self.rings.remove(&entry),
                _ => self.rings.insert(entry, start..start.saturating_add(size)),
            };
        }
    }
}

/// Runs of bytes that differ; runs with few equal bytes between them are one.
fn changes(old: &[u8], new: &[u8]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (i, _) in old.iter().zip(new).enumerate().filter(|(_, (old, new))| old != new) {
        match runs.last_mut() {
            Some(run) if i <= run.end + GAP => run.end = i + 1,
            _ => runs.push(i..i + 1),
        }
    }
    runs
}

/// Whether `offset` is a completion queue's consumer position.
fn is_consumer(offset: u32) -> bool {
    contains(&COMPLETION_QUEUES, offset) && {
        let bit = (offset - COMPLETION_QUEUES.offset) % COMPLETION_QUEUES.entry_size * 8;
        CompletionQueueEntry::field("consumer").start as u32 == bit
    }
}

fn contains(table: &Table, offset: u32) -> bool {
    (table.offset..table.entry(table.entries)).contains(&offset)
}

impl Card for Recorder {
    fn read(&mut self, offset: u32) -> Result<u32, CardError> {
        let value = self.card.read(offset)?;
        // How often a host asks whether a reset is over tells only of time: the last answer counts.
        if offset != CONTROL.offset || value & RESETTING == 0 {
            self.access("read", offset, value)?;
        }
        Ok(value)
    }

    fn write(&mut self, offset: u32, value: u32) -> Result<(), CardError> {
        let queues = contains(&COMPLETION_QUEUES, offset);
        // The card looks at memory when a doorbell rings and when it is enabled. A completion ring
        // is its own from when it is set up: what the host wrote there is recorded before.
        if contains(&DOORBELLS, offset) || offset == CONTROL.offset {
            self.memory()?;
            if contains(&DOORBELLS, offset) {
                self.recording.mapped()?;
            }
        } else if queues {
            let enabling = (offset + 4 - COMPLETION_QUEUES.offset)
                .is_multiple_of(COMPLETION_QUEUES.entry_size);
            if enabling {
                self.memory()?;
            }
        }
        self.access("write", offset, value)?;
        if queues {
            self.completion_queue(offset, value);
        }
        self.card.write(offset, value)
    }

    fn map(&mut self, iova: u64, memory: &DmaMemory) -> Result<(), CardError> {
        self.card.map(iova, memory)?;
        let size = memory.mapped_len();
        self.recording.map(iova, size)?;
        let mapped = Mapped { memory: memory.clone(), recorded: vec![0; size] };
        self.mapped.insert(iova, mapped);
        Ok(())
    }

    fn unmap(&mut self, iova: u64) -> Result<(), CardError> {
        self.mapped.remove(&iova);
        self.card.unmap(iova)
    }

    fn progress(&mut self) -> Result<(), CardError> {
        self.card.progress()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_changes_are_one_run() {
        let (mut old, mut new) = (vec![0u8; 64], vec![0u8; 64]);
        new[3] = 1;
        new[10] = 1;
        new[40] = 1;
        assert_eq!(changes(&old, &new), [3..11, 40..41]);
        old.copy_from_slice(&new);
        assert!(changes(&old, &new).is_empty());
    }
}
