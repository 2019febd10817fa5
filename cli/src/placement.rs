//! Placement of a job's buffers in memory, as a card sees it.

use drdma_driver::memory::PAGE;

use crate::job::{Buffer, Extent, Job, Kind, Place, Region};

/// Key under which the records of a pointer-mapped region are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKey {
    /// The key of this buffer.
    Buffer(usize),
    /// The key that spans all buffers.
    All,
}

/// The places of buffers in one arena: each starts on a page of its own.
#[derive(Clone, Debug)]
pub struct Placement {
    starts: Vec<usize>,
    size: usize,
    pointers: usize,
}

impl Placement {
    /// Places every buffer of a job.
    pub fn of(job: &Job) -> Self {
        let regions = job.posts.iter().flat_map(|p| &p.destinations).flat_map(|d| &d.regions);
        let mut placement = Self::new(&job.buffers, regions);
        let partitioned = job.posts.iter().filter_map(|post| post.partitioned.as_ref());
        placement.add_tables(partitioned.flat_map(|region| region.kinds()));
        placement
    }

    /// Places buffers, with room for the pointers of regions.
    pub fn new<'a>(buffers: &[Buffer], regions: impl Iterator<Item = &'a Region>) -> Self {
        let mut starts = Vec::with_capacity(buffers.len());
        let mut size = 0usize;
        for buffer in buffers {
            starts.push(size);
            size = size.saturating_add(buffer.len()).saturating_add(PAGE - 1) / PAGE * PAGE;
        }
        let mut placement = Self { starts, size: size.max(1), pointers: 0 };
        for region in regions {
            if let Region::PointerMapped { pointers, .. } = region {
                placement.pointers += pointers.len();
            }
            placement.add_tables(region.kinds());
        }
        placement
    }

    /// Makes room for the tables of buffers of views: two pointers each.
    pub fn add_tables<'a>(&mut self, kinds: impl Iterator<Item = &'a Kind>) {
        for kind in kinds {
            if let Kind::Views { buffers } = kind {
                self.pointers += 2 * buffers.len();
            }
        }
    }

    /// Bytes of the arena, at least 1.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Number of pointers of all regions of the job, and two for each buffer of views.
    pub fn pointers(&self) -> usize {
        self.pointers
    }

    /// Offset of a buffer's start in the arena.
    pub fn start(&self, buffer: usize) -> usize {
        self.starts[buffer]
    }

    /// The address of a place if the arena is at `base`. A place beyond all addresses is at the
    /// last one, which no memory region reaches.
    pub fn addr(&self, base: u64, place: Place) -> u64 {
        (base + self.starts[place.buffer] as u64).saturating_add(place.offset)
    }

    /// The place that has the byte at `offset` in the arena; `None` if there is no buffer.
    pub fn place(&self, offset: u64) -> Option<Place> {
        // Empty buffers start where the next one does: the last one that starts there counts.
        let after = self.starts.partition_point(|start| *start as u64 <= offset);
        let buffer = after.checked_sub(1)?;
        Some(Place { buffer, offset: offset - self.starts[buffer] as u64 })
    }
}

/// The key under which records are read. Records that all lie inside their own buffers are read
/// under that buffer's key, or under the spanning one if there are several. If one does not, its
/// buffer's key is taken, with which a card refuses it.
pub fn record_key(buffers: &[Buffer], pointers: &[Place], pattern: &[Extent]) -> RecordKey {
    let end =
        pattern.iter().map(|e| u128::from(e.offset) + u128::from(e.kind.entry_len(e.len))).max();
    let outside = |place: &&Place| {
        let len = buffers[place.buffer].len() as u128;
        u128::from(place.offset) + end.unwrap_or(0) > len
    };
    match (pointers.iter().find(outside), pointers.first()) {
        (Some(outside), _) => RecordKey::Buffer(outside.buffer),
        (None, Some(first)) if pointers.iter().all(|p| p.buffer == first.buffer) => {
            RecordKey::Buffer(first.buffer)
        }
        _ => RecordKey::All,
    }
}
