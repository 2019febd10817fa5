//! A node that receives whole rows.

use std::sync::Arc;

use drdma_abi::work_request::VIEW;
use drdma_fabric::Node;
use libdrdma::{
    Access, AppendRegion, AppendedRows, CompletionQueue, MemoryRegion, QueuePair,
    QueuePairAttributes, ReceiveRequest, Status,
};

use super::{
    DemoError,
    check::ColumnsError,
    table::{self, COLUMNS, Type},
};

/// Number of receives that are posted.
const RECEIVES: u32 = 64;
/// Bytes in front of each string.
pub const LENGTH: usize = 4;

/// A card, columns that it appends rows to, and memory for strings.
#[derive(Debug)]
pub struct Receiver {
    number: usize,
    cq: CompletionQueue,
    qp: QueuePair<'static>,
    region: AppendRegion<'static>,
    columns: Vec<Arc<MemoryRegion>>,
    /// For each column with strings outside of their views: memory for these.
    strings: Vec<Option<MemoryRegion>>,
    /// The rows of the batch, in the order in which they came.
    appended: Vec<AppendedRows>,
}

/// A column of a receiver, as an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Array {
    /// Numbers, one behind the other.
    Numbers(Vec<u8>),
    /// Views, and the buffer that they lead to.
    Texts {
        /// Views of the strings.
        views: Vec<[u8; VIEW]>,
        /// Buffer of the strings: the length and the bytes of each row's.
        buffer: Vec<u8>,
    },
}

impl Receiver {
    /// Makes receiver `number` on a node, with room for a batch of `capacity` rows.
    pub fn new(number: usize, node: &Node, capacity: usize) -> Result<Self, DemoError> {
        let context = node.context();
        let pd = context.protection_domain();
        let cq = context.completion_queue().entries(2 * RECEIVES).build()?;
        let (mut columns, mut strings) = (Vec::new(), Vec::new());
        let mut region = pd.append_region().capacity(capacity as u32);
        for (_, kind) in COLUMNS {
            let memory = pd.allocate_with(capacity * kind.width(), Access::LOCAL_WRITE)?;
            let memory = Arc::new(memory);
            region = region.column(&memory, 0, kind.width() as u32);
            columns.push(memory);
            let buffer = kind.longest_outside().map(|longest| {
                pd.allocate_with(
                    capacity * (LENGTH + longest),
                    Access::LOCAL_WRITE | Access::REMOTE_WRITE,
                )
            });
            strings.push(buffer.transpose()?);
        }
        let region = region.build()?;
        let qp = pd.queue_pair(&cq).receive(&cq).receive_blocks(RECEIVES).build()?;
        Ok(Self { number, cq, qp, region, columns, strings, appended: Vec::new() })
    }

    /// Number of the receiver's queue pair.
    pub fn qpn(&self) -> u32 {
        self.qp.qpn()
    }

    /// Connects the receiver to the sender, and posts receives.
    pub fn connect(&mut self, attributes: &QueuePairAttributes) -> Result<(), DemoError> {
        self.qp.connect(attributes)?;
        for _ in 0..RECEIVES {
            self.qp.post_recv(&ReceiveRequest::new(0).append(&self.region))?;
        }
        Ok(())
    }

    /// Address and remote key that the strings of a column are written to.
    pub fn strings(&self, column: usize) -> Option<(u64, u32)> {
        self.strings[column].as_ref().map(|memory| (memory.addr(), memory.rkey()))
    }

    /// Takes completions, and posts receives anew; true if there were any.
    pub fn poll(&mut self) -> Result<bool, DemoError> {
        let completions: Vec<_> = self.cq.poll().collect();
        for completion in &completions {
            let (wr_id, status) = (completion.wr_id, completion.status);
            if status != Status::Success {
                return Err(DemoError::Status { wr_id, status });
            }
            self.appended.extend(completion.rows);
            self.qp.post_recv(&ReceiveRequest::new(0).append(&self.region))?;
        }
        Ok(!completions.is_empty())
    }

    /// Number of rows of the batch that have arrived.
    pub fn rows(&self) -> usize {
        self.appended.iter().map(|rows| rows.count as usize).sum()
    }

    /// The batch's columns as arrays. Views come from the sender; those that lead to a buffer are changed to lead to
    /// this node's.
    pub fn arrays(&self) -> Result<Vec<Array>, ColumnsError> {
        let array = |(column, (_, kind)): (usize, &(&str, Type))| match kind {
            Type::Number(_) => Ok(Array::Numbers(self.entries(column))),
            Type::Text(_) => self.texts(column),
        };
        COLUMNS.iter().enumerate().map(array).collect()
    }

    /// The batch's rows of a column, as the card appended them.
    fn entries(&self, column: usize) -> Vec<u8> {
        let width = COLUMNS[column].1.width();
        let mut entries = Vec::with_capacity(self.rows() * width);
        let ranges = self.appended.iter().flat_map(|rows| self.region.ranges(*rows));
        for rows in ranges {
            let at = entries.len();
            entries.resize(at + rows.len() * width, 0);
            self.columns[column].read_at(rows.start as usize * width, &mut entries[at..]);
        }
        entries
    }

    /// A column of strings. The strings of all rows follow each other in its memory, if any lies outside of its view.
    fn texts(&self, column: usize) -> Result<Array, ColumnsError> {
        let (_, kind) = COLUMNS[column];
        let mut views: Vec<[u8; VIEW]> = self.entries(column).as_chunks().0.to_vec();
        let is_outside = |view: &[u8; VIEW]| table::is_outside(table::len_of(view));
        if !views.iter().any(is_outside) {
            return Ok(Array::Texts { views, buffer: Vec::new() });
        }
        let (mut end, longest) = (0, kind.longest_outside().unwrap_or(0));
        for (row, view) in views.iter_mut().enumerate() {
            let len = table::len_of(view);
            if len > longest {
                let receiver = self.number;
                return Err(ColumnsError::Long { receiver, column, row, len, longest });
            }
            if table::is_outside(len) {
                table::lead_to(view, end + LENGTH);
            }
            end += LENGTH + len;
        }
        let mut buffer = vec![0; end];
        if let Some(memory) = &self.strings[column] {
            memory.read_at(0, &mut buffer);
        }
        Ok(Array::Texts { views, buffer })
    }

    /// Lets the card write to the batch's rows again.
    pub fn give_back(&mut self) -> Result<(), DemoError> {
        let rows = self.rows();
        self.appended.clear();
        Ok(self.region.give_back(rows as u32)?)
    }
}
