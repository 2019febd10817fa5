//! Reads an entry granule by granule.

use super::{Batch, Failure, OPERATION};
use drdma_abi::Layout;
use drdma_abi::receive::AddressHandle;
use drdma_abi::roce::TTL;
use drdma_abi::work_request::GRANULE;

/// Why a region or a destination cannot be read on.
pub(super) enum Stop {
    Shape,
    Unread,
}

impl Stop {
    pub(super) fn failure(self, dest: usize, qp: Option<u32>) -> Failure {
        match self {
            Self::Shape => Failure { status: OPERATION, dest, qp },
            Self::Unread => Failure { status: OPERATION, dest: 0, qp: None },
        }
    }
}

/// The granules of an entry that are left.
pub(super) struct Reader<'a> {
    pub batch: &'a Batch,
    pub next: usize,
    pub end: usize,
}

impl Reader<'_> {
    /// Address of the request's datagrams; a time to live of 0 stands for the usual one.
    pub(super) fn address(&mut self) -> Result<AddressHandle, Failure> {
        let mut bytes = Vec::new();
        for _ in 0..AddressHandle::SIZE / GRANULE {
            bytes.extend(self.take().map_err(|stop| stop.failure(0, None))?);
        }
        let handle = AddressHandle::decode(&bytes);
        let good = handle.dest_qpn < 1 << 24 && (handle.reserved, handle.reserved2) == (0, 0);
        if !good {
            return Err(Failure { status: OPERATION, dest: 0, qp: None });
        }
        Ok(AddressHandle { ttl: if handle.ttl == 0 { TTL } else { handle.ttl }, ..handle })
    }

    /// The next granule.
    pub(super) fn take(&mut self) -> Result<[u8; GRANULE], Stop> {
        if self.next == self.end {
            return Err(Stop::Shape);
        }
        if self.batch.unread.contains(&(self.next / 4)) {
            return Err(Stop::Unread);
        }
        self.next += 1;
        let bytes = &self.batch.bytes[(self.next - 1) * GRANULE..][..GRANULE];
        Ok(bytes.try_into().expect("a granule"))
    }
}
