//! The part of a work queue entry behind its head.

use drdma_abi::work_request::{
    Destination as DestinationLayout, GRANULE, MAX_INLINE, MAX_REGIONS, MAX_REMOTE_COLUMNS,
    MAX_REQUEST_REGIONS, MessageLayout, RegionType, RemoteColumn as RemoteLayout, flags,
};
use drdma_driver::DmaMemory;

use crate::{
    Destination, Features, PartitionId, PartitionedWorkRequest, PostError, RemoteColumn,
    column_writes::{self, Plain},
    encode::words,
    memory::Hold,
    work_request::Head,
};

/// Layout of a destination's messages.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Layout<'a> {
    pub order: MessageLayout,
    pub remote_columns: &'a [RemoteColumn],
}

impl Layout<'_> {
    #[inline]
    fn needs(&self) -> Features {
        match self.order {
            MessageLayout::Rows => Features::empty(),
            MessageLayout::Columns => Features::COLUMNS,
        }
    }

    #[inline]
    fn write(&self, writer: &mut Writer) {
        for column in self.remote_columns {
            writer.put(&words!(RemoteLayout { addr: column.addr, rkey: column.rkey }));
        }
    }
}

/// Granules of the remote addresses of a destination.
#[inline]
fn remote_granules(destination: usize, columns: &[RemoteColumn]) -> Result<usize, PostError> {
    if columns.len() > MAX_REMOTE_COLUMNS {
        let (columns, limit) = (columns.len(), MAX_REMOTE_COLUMNS);
        return Err(PostError::RemoteColumns { destination, columns, limit });
    }
    Ok(columns.len() * RemoteLayout::SIZE / GRANULE)
}

/// The part of an entry behind its head: destinations, and the data for each.
pub(crate) trait Body {
    /// Bits of the head's flags that announce this kind of body.
    const FLAGS: u8;

    /// Number of destinations.
    fn destinations(&self) -> usize;

    /// Checks what the card's layouts cannot express, for a queue of protection domain `pd`;
    /// returns the number of granules.
    fn check(&self, pd: u32) -> Result<usize, PostError>;

    /// Features that the card needs to send the body.
    fn needs(&self) -> Features;

    /// True if an element of one of its regions has a kind.
    fn has_kinds(&self) -> bool;

    /// True if some region is not contiguous.
    fn has_gaps(&self) -> bool;

    /// The bytes of a request of one contiguous region; `None` of all others.
    fn contiguous_bytes(&self) -> Option<u32>;

    /// True if the columns of a destination have remote addresses of their own.
    fn has_remote_columns(&self) -> bool;

    /// Reason why a card that has some of [`Features::COLUMN_WRITES`] and `COLUMN_MESSAGES`, and not all of `COLUMNS`,
    /// cannot send the body by columns; `features` are the card's.
    fn column_refusal(&self, head: &Head, features: Features) -> Option<&'static str>;

    /// Writes the granules.
    fn write(&self, writer: &mut Writer);

    /// Calls `keep` for the memory that must be kept until the request is sent.
    fn hold(&self, keep: impl FnMut(&Hold));
}

impl Body for [Destination<'_, '_>] {
    const FLAGS: u8 = 0;

    #[inline]
    fn destinations(&self) -> usize {
        self.len()
    }

    #[inline]
    fn check(&self, pd: u32) -> Result<usize, PostError> {
        let (mut granules, mut all) = (0, 0);
        for (index, destination) in self.iter().enumerate() {
            let regions = destination.regions;
            if regions.len() > MAX_REGIONS {
                return Err(PostError::TooManyRegions {
                    destination: index,
                    regions: regions.len(),
                    limit: MAX_REGIONS,
                });
            }
            if destination.pd != pd {
                return Err(PostError::QueuePairDomain { destination: index });
            }
            all += regions.len();
            granules += DestinationLayout::SIZE / GRANULE;
            granules += remote_granules(index, destination.layout.remote_columns)?;
            for (region, description) in regions.iter().enumerate() {
                if !description.belongs_to(pd) {
                    return Err(PostError::ProtectionDomain { destination: index, region });
                }
                granules += description.descriptor_len() / GRANULE;
            }
        }
        if all > MAX_REQUEST_REGIONS {
            return Err(PostError::RequestRegions { regions: all, limit: MAX_REQUEST_REGIONS });
        }
        Ok(granules)
    }

    #[inline]
    fn needs(&self) -> Features {
        let of_destination = |destination: &Destination<'_, '_>| {
            let regions = destination.regions.iter().map(|region| region.needs());
            regions.fold(destination.layout.needs(), Features::union)
        };
        self.iter().map(of_destination).fold(Features::empty(), Features::union)
    }

    #[inline]
    fn has_kinds(&self) -> bool {
        self.iter().flat_map(|destination| destination.regions).any(|region| region.has_kinds())
    }

    #[inline]
    fn has_gaps(&self) -> bool {
        self.iter()
            .flat_map(|destination| destination.regions)
            .any(|region| region.region_type() != RegionType::Contiguous)
    }

    #[inline]
    fn contiguous_bytes(&self) -> Option<u32> {
        match self {
            [destination] => match destination.regions {
                [region] => region.contiguous_bytes(),
                _ => None,
            },
            _ => None,
        }
    }

    #[inline]
    fn has_remote_columns(&self) -> bool {
        self.iter().any(|destination| !destination.layout.remote_columns.is_empty())
    }

    fn column_refusal(&self, head: &Head, features: Features) -> Option<&'static str> {
        let plain = |destination: &Destination<'_, '_>| match destination.regions {
            [region] => region.plain(),
            _ => None,
        };
        let told = self.iter().map(|to| (to.layout.remote_columns, plain(to)));
        column_writes::refusal(head, features, told)
    }

    #[inline]
    fn write(&self, writer: &mut Writer) {
        for destination in self {
            let regions = destination.regions;
            let types = regions
                .iter()
                .rev()
                .fold(0, |types: u32, region| types << 2 | region.region_type() as u32);
            writer.put(&words!(DestinationLayout {
                qp: destination.qp,
                regions: regions.len() as u16,
                remote_addr: destination.remote_addr,
                rkey: destination.rkey,
                types: types,
                message_layout: destination.layout.order as u8,
                remote_columns: destination.layout.remote_columns.len() as u8,
            }));
            destination.layout.write(writer);
            for region in regions {
                writer.put(region.words());
            }
        }
    }

    #[inline]
    fn hold(&self, keep: impl FnMut(&Hold)) {
        let regions = self.iter().flat_map(|destination| destination.regions);
        regions.map(|region| &region.hold).filter(|hold| !hold.is_nothing()).for_each(keep);
    }
}

/// A destination without regions, and its inline payload.
pub(crate) struct Inline<'a, 'm> {
    pub destination: Destination<'a, 'm>,
    pub payload: &'a [u8],
}

impl Body for Inline<'_, '_> {
    const FLAGS: u8 = flags::INLINE;

    #[inline]
    fn destinations(&self) -> usize {
        1
    }

    #[inline]
    fn check(&self, pd: u32) -> Result<usize, PostError> {
        let (bytes, regions) = (self.payload.len(), self.destination.regions.len());
        if bytes > MAX_INLINE {
            return Err(PostError::InlineBytes { bytes, limit: MAX_INLINE });
        }
        if regions > 0 {
            return Err(PostError::InlineRegions { regions });
        }
        debug_assert_eq!(self.destination.pd, pd, "the queue's own queue pair");
        if self.destination.layout.order != MessageLayout::Rows {
            return Err(PostError::InlineLayout);
        }
        Ok(DestinationLayout::SIZE / GRANULE + bytes.div_ceil(GRANULE))
    }

    #[inline]
    fn needs(&self) -> Features {
        Features::empty()
    }

    #[inline]
    fn has_kinds(&self) -> bool {
        false
    }

    #[inline]
    fn has_gaps(&self) -> bool {
        false
    }

    #[inline]
    fn contiguous_bytes(&self) -> Option<u32> {
        None
    }

    #[inline]
    fn has_remote_columns(&self) -> bool {
        false
    }

    fn column_refusal(&self, _head: &Head, _features: Features) -> Option<&'static str> {
        None
    }

    #[inline]
    fn write(&self, writer: &mut Writer) {
        let Destination { qp, remote_addr, rkey, .. } = self.destination;
        writer.put(&words!(DestinationLayout {
            qp: qp,
            remote_addr: remote_addr,
            rkey: rkey,
            inline_bytes: self.payload.len() as u8,
        }));
        let mut words = [0; MAX_INLINE / 8];
        for (word, bytes) in words.iter_mut().zip(self.payload.chunks(8)) {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_le_bytes(whole);
        }
        writer.put(&words[..self.payload.len().div_ceil(GRANULE) * GRANULE / 8]);
    }

    #[inline]
    fn hold(&self, _keep: impl FnMut(&Hold)) {}
}

impl<I: PartitionId> Body for PartitionedWorkRequest<'_, '_, I> {
    const FLAGS: u8 = flags::PARTITIONED;

    #[inline]
    fn destinations(&self) -> usize {
        self.destinations.len()
    }

    #[inline]
    fn check(&self, pd: u32) -> Result<usize, PostError> {
        if !self.region.belongs_to(pd) {
            return Err(PostError::PartitionedRegionDomain);
        }
        let mut remote = 0;
        for (index, destination) in self.destinations.iter().enumerate() {
            if destination.pd != pd {
                return Err(PostError::QueuePairDomain { destination: index });
            }
            remote += remote_granules(index, destination.layout.remote_columns)?;
            let partition = destination.partition;
            if let Some(ids) = self.region.made_ids()
                && u32::from(partition.into()) >= ids
            {
                let (partition, last) = (partition.into(), ids.saturating_sub(1));
                return Err(PostError::PartitionNotMade { destination: index, partition, last });
            }
            let earlier = &self.destinations[..index];
            if let Some(other) = earlier.iter().position(|d| d.partition == partition) {
                let partition = partition.into();
                return Err(PostError::PartitionTwice { destination: index, partition, other });
            }
        }
        let destinations = self.destinations.len() * DestinationLayout::SIZE / GRANULE;
        Ok(self.region.descriptor_len() / GRANULE + destinations + remote)
    }

    #[inline]
    fn needs(&self) -> Features {
        let layouts = self.destinations.iter().map(|destination| destination.layout.needs());
        layouts.fold(self.region.needs(), Features::union)
    }

    #[inline]
    fn has_kinds(&self) -> bool {
        self.region.has_kinds()
    }

    #[inline]
    fn has_gaps(&self) -> bool {
        true
    }

    #[inline]
    fn contiguous_bytes(&self) -> Option<u32> {
        None
    }

    #[inline]
    fn has_remote_columns(&self) -> bool {
        self.destinations.iter().any(|destination| !destination.layout.remote_columns.is_empty())
    }

    fn column_refusal(&self, head: &Head, features: Features) -> Option<&'static str> {
        let plain = (!self.region.has_kinds()).then(|| Plain::of(self.region.words()));
        let told = self.destinations.iter().map(|to| (to.layout.remote_columns, plain));
        column_writes::refusal(head, features, told)
    }

    #[inline]
    fn write(&self, writer: &mut Writer) {
        writer.put(self.region.words());
        for destination in self.destinations {
            let partition: u16 = destination.partition.into();
            writer.put(&words!(DestinationLayout {
                qp: destination.qp,
                partition: partition,
                remote_addr: destination.remote_addr,
                rkey: destination.rkey,
                message_layout: destination.layout.order as u8,
                remote_columns: destination.layout.remote_columns.len() as u8,
            }));
            destination.layout.write(writer);
        }
    }

    #[inline]
    fn hold(&self, mut keep: impl FnMut(&Hold)) {
        if !self.region.hold.is_nothing() {
            keep(&self.region.hold);
        }
    }
}

/// Writes words one behind the other, around the end of a ring.
pub(crate) struct Writer<'a> {
    pub ring: &'a DmaMemory,
    /// Position of the next byte in the ring.
    pub at: usize,
    /// Size of the ring in bytes.
    pub size: usize,
}

impl Writer<'_> {
    #[inline]
    pub fn put(&mut self, words: &[u64]) {
        let room = (self.size - self.at) / 8;
        if words.len() < room {
            self.ring.write_words(self.at, words);
            self.at += 8 * words.len();
        } else {
            let (before, behind) = words.split_at(room);
            self.ring.write_words(self.at, before);
            self.ring.write_words(0, behind);
            self.at = 8 * behind.len();
        }
    }
}
