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
//!   the host saw one, with the fields of its entry in the ring; `"receive": true` if it is a receive's. What the host
//!   does because of it stands behind it: the write that gives the ring's room back to the card, and reads of which
//!   queue pairs have failed. Who replays the file waits for the completion first, as the host did.
//! - `{"entries": {"queue": N, "hex": "..."}}`: entries of that completion queue's ring that the host has taken, as
//!   they stood there, before it gives their room back or ends the queue.
//! - `{"frame": {"qpn": Q, "after": N, "acknowledged": P, "hex": "..."}}`: a frame from the network that reached the
//!   card when it had sent `N` frames other than acknowledgements and congestion notifications on the queue pair of
//!   that number, and had acknowledged its peer's packets up to `P` (`null`: none).
//! - `{"card": {"addr": A, "hex": "..."}}`: what stands at the end where the card has written, completion queues
//!   excepted.
//!
//! Rings of completion queues are the card's to write; what changes there is not the host's doing
//! and is not recorded as `mem`. Nor is what else the card writes, where the recorder is told of it
//! ([`Recorder::with_writes`]).

mod runs;

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufWriter, Write as _},
    ops::Range,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use drdma_abi::{
    Layout as _,
    completion::Completion,
    receive::RECEIVE_DOORBELLS,
    register::{
        COMPLETION_QUEUES, CONTROL, CompletionQueueEntry, DOORBELLS, QUEUE_PAIR_ERRORS, Table,
    },
};
use drdma_driver::{Card, CardError, DmaMemory};
use drdma_soft::host::WriteLog;
use libdrdma::WorkCompletion;
use runs::{changes, hex, insert, without};

/// The bit of [`CONTROL`] that says that a reset is not over.
const RESETTING: u32 = 1 << 1;
/// Bytes that are compared at a time.
const CHUNK: usize = 1 << 16;

/// A recording; clones write to the same file.
#[derive(Clone, Debug)]
pub struct Recording {
    output: Arc<Mutex<Output>>,
}

#[derive(Debug)]
struct Output {
    file: BufWriter<File>,
    path: PathBuf,
    /// Lines behind the maps, as long as more maps may follow.
    held: Option<String>,
    /// Lines to be written behind the completions that the host sees next.
    deferred: Vec<String>,
    /// True if the host has seen these completions.
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

    /// Records maps between the other lines from here on.
    fn mapped(&self) -> Result<(), CardError> {
        self.with(Output::release)
    }

    /// Records that the host saw a completion.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn completion(&self, completion: &WorkCompletion) -> Result<(), CardError> {
        let WorkCompletion { wr_id, status, bytes, queue, destination, .. } = completion;
        let receive = if completion.opcode.is_receive() { r#", "receive": true"# } else { "" };
        let line = format!(
            r#"{{"completion": {{"wr_id": {wr_id}, "status": "{}", "bytes": {bytes}, "queue": {queue}, "destination": {destination}{receive}}}}}"#,
            status.name()
        );
        self.with(|output| {
            output.is_seen = true;
            output.put(&line)
        })
    }

    /// Records a frame that reaches the card when it has sent `after` frames on the queue pair of that number, and has
    /// acknowledged packets up to `acknowledged`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn frame(
        &self,
        qpn: u32,
        after: u64,
        acknowledged: Option<u32>,
        frame: &[u8],
    ) -> Result<(), CardError> {
        let acknowledged = acknowledged.map_or("null".to_owned(), |psn| psn.to_string());
        self.line(&format!(
            r#"{{"frame": {{"qpn": {qpn}, "after": {after}, "acknowledged": {acknowledged}, "hex": "{}"}}}}"#,
            hex(frame)
        ))
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

    /// Writes buffered lines to the file.
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
    /// Words of completion queues' entries in the registers, as the host wrote them, by offset.
    queues: BTreeMap<u32, u32>,
    /// Rings of completion queues, by queue.
    rings: BTreeMap<u32, Ring>,
    /// Memory of rings of queues that have ended.
    ended: Vec<Range<u64>>,
    /// The card's writes to memory, if they are known.
    writes: Option<WriteLog>,
    /// Memory that the card has written: the end of each run, by its start.
    written: BTreeMap<u64, u64>,
}

/// A completion queue's ring.
#[derive(Clone, Debug)]
struct Ring {
    addresses: Range<u64>,
    /// Number of entries that the host has taken.
    taken: u32,
}

/// Mapped memory, and its contents when they were last recorded.
#[derive(Debug)]
struct Mapped {
    memory: DmaMemory,
    recorded: Vec<u8>,
}

impl Recorder {
    /// Records what is done to `card`.
    pub fn new(card: Box<dyn Card>, recording: Recording) -> Self {
        let (mapped, queues, rings, ended, written) = Default::default();
        Self { card, recording, mapped, queues, rings, ended, writes: None, written }
    }

    /// Makes the recorder leave out the card's own `writes` to memory, which are not the host's doing.
    #[must_use]
    pub fn with_writes(mut self, writes: WriteLog) -> Self {
        self.writes = Some(writes);
        self
    }

    fn access(&self, kind: &str, offset: u32, value: u32) -> Result<(), CardError> {
        let line = format!(
            r#"{{"{kind}": {{"bar": 2, "offset": {offset}, "size": 4, "value": {value}}}}}"#
        );
        match kind {
            "write" if is_consumer(offset) => self.recording.defer(line),
            // The driver reads these registers when it finds a failed request's completion in the ring.
            "read" if contains(&QUEUE_PAIR_ERRORS, offset) => self.recording.defer(line),
            _ => self.recording.line(&line),
        }
    }

    /// Removes the card's writes from the changes of memory.
    fn leave_out(&mut self) {
        let Some(log) = &self.writes else { return };
        let log = std::mem::take(&mut *log.lock().unwrap_or_else(PoisonError::into_inner));
        for Range { start, end } in log {
            if let Some((base, mapped)) = self.mapped.range_mut(..=start).next_back() {
                let (from, to) = ((start - base) as usize, (end - base) as usize);
                let to = to.min(mapped.recorded.len());
                if let Some(recorded) = mapped.recorded.get_mut(from..to) {
                    mapped.memory.read(from, recorded);
                }
            }
            insert(&mut self.written, start..end);
        }
    }

    /// Records the memory that the card has written in one mapping.
    fn left(&mut self, iova: u64) -> Result<(), CardError> {
        self.leave_out();
        let Some(mapped) = self.mapped.get(&iova) else { return Ok(()) };
        let end = iova + mapped.recorded.len() as u64;
        let rings = self.rings.values().map(|ring| &ring.addresses).chain(&self.ended);
        let rings: Vec<Range<u64>> = rings.cloned().collect();
        for (&start, &stop) in self.written.range(iova..end) {
            let run = std::iter::once(start..stop.min(end)).collect();
            for part in rings.iter().fold(run, |parts: Vec<_>, ring| without(&parts, ring)) {
                let mut bytes = vec![0; (part.end - part.start) as usize];
                mapped.memory.read((part.start - iova) as usize, &mut bytes);
                let (addr, hex) = (part.start, hex(&bytes));
                self.recording
                    .line(&format!(r#"{{"card": {{"addr": {addr}, "hex": "{hex}"}}}}"#))?;
            }
        }
        Ok(())
    }

    /// Records entries of a completion queue's ring: up to `consumer`, or all that are there.
    fn entries(&mut self, queue: u32, consumer: Option<u32>) -> Result<(), CardError> {
        let Some(Ring { addresses, taken }) = self.rings.get_mut(&queue) else { return Ok(()) };
        let Some((base, mapped)) = self.mapped.range(..=addresses.start).next_back() else {
            return Ok(());
        };
        let entries = ((addresses.end - addresses.start) / Completion::SIZE as u64) as u32;
        // A position that the ring cannot have belongs to a queue that is made anew.
        let ahead = consumer.map(|consumer| consumer.wrapping_sub(*taken));
        if ahead.is_some_and(|ahead| ahead > entries) {
            return Ok(());
        }
        let mut text = String::new();
        while consumer != Some(*taken) {
            let mut entry = [0; Completion::SIZE];
            let at = addresses.start - base + u64::from(*taken % entries) * entry.len() as u64;
            mapped.memory.read(at as usize, &mut entry);
            let phase = Completion::decode(&entry).phase;
            if consumer.is_none() && u32::from(phase) == (*taken / entries) & 1 {
                break;
            }
            text += &hex(&entry);
            *taken = taken.wrapping_add(1);
        }
        match text.is_empty() {
            true => Ok(()),
            false => self
                .recording
                .defer(format!(r#"{{"entries": {{"queue": {queue}, "hex": "{text}"}}}}"#)),
        }
    }

    /// Records the bytes that changed since the last time.
    fn memory(&mut self) -> Result<(), CardError> {
        self.leave_out();
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
                    let theirs = at(ring.addresses.start)..at(ring.addresses.end);
                    old[theirs.clone()].copy_from_slice(&now[theirs]);
                }
                for run in changes(old, now) {
                    let (addr, hex) = (base + run.start as u64, hex(&now[run]));
                    self.recording
                        .line(&format!(r#"{{"mem": {{"addr": {addr}, "hex": "{hex}"}}}}"#))?;
                }
                old.copy_from_slice(now);
            }
        }
        Ok(())
    }

    /// Finds the ring that the card will write completions to.
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
            let before = match value {
                0 => self.rings.remove(&entry),
                _ => {
                    let addresses = start..start.saturating_add(size);
                    self.rings.insert(entry, Ring { addresses, taken: 0 })
                }
            };
            self.ended.extend(before.map(|ring| ring.addresses));
        }
    }
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
        // How often a host polls the end of a reset depends on time: only the last answer is recorded.
        if offset != CONTROL.offset || value & RESETTING == 0 {
            self.access("read", offset, value)?;
        }
        Ok(value)
    }

    fn write(&mut self, offset: u32, value: u32) -> Result<(), CardError> {
        let queues = contains(&COMPLETION_QUEUES, offset);
        // The card reads memory when a doorbell rings and when it is enabled. It owns a completion ring
        // from the time when it is set up: what the host wrote there is recorded before.
        let rung = contains(&DOORBELLS, offset) || contains(&RECEIVE_DOORBELLS, offset);
        if rung || offset == CONTROL.offset {
            self.memory()?;
            if rung {
                self.recording.mapped()?;
            }
            if offset == CONTROL.offset && value == 0 {
                let mappings: Vec<u64> = self.mapped.keys().copied().collect();
                mappings.into_iter().try_for_each(|iova| self.left(iova))?;
            }
        } else if queues {
            let enabling = (offset + 4 - COMPLETION_QUEUES.offset)
                .is_multiple_of(COMPLETION_QUEUES.entry_size);
            let queue = (offset - COMPLETION_QUEUES.offset) / COMPLETION_QUEUES.entry_size;
            if enabling {
                self.memory()?;
                if value == 0 {
                    self.entries(queue, None)?;
                }
            } else if is_consumer(offset) {
                self.entries(queue, Some(value))?;
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
        self.left(iova)?;
        self.mapped.remove(&iova);
        self.card.unmap(iova)
    }

    fn progress(&mut self) -> Result<(), CardError> {
        self.card.progress()
    }
}
