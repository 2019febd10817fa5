//! Entries: their heads, flags and destinations.

use super::reader::Reader;
use super::requests::{Column, Dest, same_lanes};
use super::{Batch, Card, Decoded, Failure, OPERATION, Set};
use drdma_abi::Layout;
use drdma_abi::completion::Status;
use drdma_abi::receive::{ReliableOpcode, request_flags};
use drdma_abi::register::QUEUE_PAIRS;
use drdma_abi::roce::Transport;
use drdma_abi::work_request::{
    BLOCK, Destination, GRANULE, MAX_INLINE, MAX_WQE_GRANULES, Opcode, RegionType, RemoteColumn,
    WQE_MAGIC, WqeHeader, blocks, flags,
};
use std::collections::HashSet;

impl Card {
    /// The request of the entry at block `at` of the batch.
    pub(super) fn entry(
        &self,
        batch: &Batch,
        at: usize,
        head: &WqeHeader,
    ) -> Result<Decoded, Failure> {
        let left = batch.bytes.len() / BLOCK - at;
        let queue = &self.queues[usize::from(batch.queue)];
        let most = if queue.shared == 1 { 256 } else { 1 };
        let own = |flag| queue.shared != 1 && head.flags & flag != 0;
        let invalidates = queue.shared != 1 && head.opcode == ReliableOpcode::SendInvalidate as u8;
        let code = if invalidates { Opcode::Send as u8 } else { head.opcode };
        let flags_of_queue =
            if queue.shared == 1 { flags::SHARED } else { flags::OWN | request_flags::ALL };
        let granules = head.granules as usize;
        let partitioned = head.flags & flags::PARTITIONED != 0;
        let good = !batch.unread.contains(&at)
            && head.magic == WQE_MAGIC
            && Opcode::from_code(code).is_some()
            && head.flags & !flags_of_queue == 0
            && match (head.fetch_log_max_read, head.fetch_merge_threshold) {
                (log, gap) if head.flags & flags::FETCH_PLAN != 0 => {
                    (6..=12).contains(&log) && gap < 4096
                }
                other => other == (0, 0),
            }
            && head.rows_per_message >= 1
            && (1..=most).contains(&head.destinations)
            && head.position == batch.position.wrapping_add(at as u32)
            && (2..=MAX_WQE_GRANULES).contains(&granules)
            && blocks(granules) <= left;
        if !good {
            return Err(Failure { status: OPERATION, dest: 0, qp: None });
        }
        let mut reader = Reader { batch, next: at * 4 + 2, end: at * 4 + granules };
        let address = own(request_flags::ADDRESS).then(|| reader.address()).transpose()?;
        let shared = partitioned.then(|| self.partitioned(&mut reader, queue.pd)).transpose()?;
        let (shared, function) = shared.map_or((None, None), |(set, by)| (Some(set), by));
        let (mut seen, mut partitions) = (HashSet::new(), HashSet::new());
        let mut dests: Vec<Dest> = Vec::new();
        let mut regions = 0;
        for dest in 0..usize::from(head.destinations) {
            let fail = |status| Failure { status, dest, qp: None };
            let mut bytes = [0; 32];
            for half in bytes.chunks_exact_mut(GRANULE) {
                half.copy_from_slice(&reader.take().map_err(|stop| stop.failure(dest, None))?);
            }
            let d = Destination::decode(&bytes);
            let inline = head.flags & flags::INLINE != 0;
            let unused = if d.regions < 16 { d.types >> (2 * d.regions) } else { 0 };
            let owner = (queue.shared != 1).then_some(queue.qp);
            let partition = match &shared {
                Some(set) => {
                    let fits = set.ids == 2 || d.partition < 256;
                    // The first partition that has this id must be one that the function makes.
                    let made = function.as_ref().is_none_or(|by| {
                        u64::from(d.partition) * u64::from(by.group) < u64::from(by.partitions)
                    });
                    fits && made && partitions.insert(d.partition) && d.regions == 0
                }
                None => d.partition == 0,
            };
            regions += usize::from(d.regions);
            let good = partition
                && d.reserved2 == 0
                && match d.message_layout {
                    0 => d.remote_columns == 0,
                    1 if d.remote_columns == 0 => !inline,
                    1 => {
                        (1..=16).contains(&d.remote_columns)
                            && matches!(head.opcode, 2 | 3)
                            && !inline
                            && head.flags & flags::ELEMENT_MASK == 0
                            && match &shared {
                                Some(set) => {
                                    set.lanes.len() == usize::from(d.remote_columns)
                                        && set.count <= head.rows_per_message
                                }
                                None => d.regions == 1,
                            }
                    }
                    _ => false,
                }
                && dests
                    .first()
                    .is_none_or(|first| first.columns.len() == usize::from(d.remote_columns))
                && match inline {
                    true => usize::from(d.inline_bytes) <= MAX_INLINE && d.regions == 0,
                    false => d.inline_bytes == 0,
                }
                && d.regions <= 16
                && regions <= 1024
                && unused == 0
                && d.qp < QUEUE_PAIRS.entries
                && owner.is_none_or(|owner| owner == d.qp)
                && seen.insert(d.qp);
            if !good {
                return Err(fail(OPERATION));
            }
            let mut columns = Vec::new();
            for _ in 0..d.remote_columns {
                let column = reader.take().map_err(|stop| stop.failure(dest, None))?;
                let column = RemoteColumn::decode(&column);
                let all = (columns.len() + 1) * usize::from(head.destinations);
                if column.reserved != 0 || (dest == 0 && all > 512) {
                    return Err(fail(OPERATION));
                }
                columns.push(column);
            }
            if u8::try_from(d.qp).is_ok_and(|qp| self.qp_errors.contains(&qp)) {
                return Err(fail(Status::WrFlushError));
            }
            let qp = &self.queue_pairs[d.qp as usize];
            let opcode = Opcode::from_code(code).expect("checked");
            if qp.state != 1
                || qp.pd != queue.pd
                || (opcode.is_write() && qp.transport == Transport::Ud as u8)
            {
                return Err(fail(OPERATION));
            }
            let mut sets: Vec<_> = shared.iter().cloned().collect();
            for index in 0..usize::from(d.regions) {
                let kind = RegionType::of(d.types, index);
                let limits = (d.remote_columns > 0)
                    .then(|| (usize::from(d.remote_columns), head.rows_per_message));
                let (set, ranges) = self
                    .region(&mut reader, kind, queue.pd, limits)
                    .map_err(|stop| stop.failure(dest, Some(d.qp)))?;
                if !ranges.iter().all(|range| self.covers(range, queue.pd)) {
                    let status = Status::LocalProtectionError;
                    return Err(Failure { status, dest, qp: Some(d.qp) });
                }
                sets.push(set);
            }
            if inline {
                sets.push(
                    self.inline(&mut reader, d.inline_bytes)
                        .map_err(|stop| stop.failure(dest, Some(d.qp)))?,
                );
            }
            // Elements of several regions that can be joined become the rows of one set.
            let mut element_mask = head.flags & flags::ELEMENT_MASK != 0 && !inline;
            if let Some(joined) = Set::joined(&sets).filter(|_| element_mask) {
                (sets, element_mask) = (vec![joined], false);
            }
            let first = dests.first().map_or(&sets, |first| &first.sets);
            let same_lanes = same_lanes(&sets, first);
            let last = columns.len().saturating_sub(1);
            let column = |(j, remote): (usize, &RemoteColumn)| Column {
                remote_addr: remote.addr,
                rkey: remote.rkey,
                // Only the last column has immediate data.
                opcode: if j == last { code } else { Opcode::Write as u8 },
                set: sets[0].alone(j),
            };
            let columns: Vec<_> = columns.iter().enumerate().map(column).collect();
            let (remote_addr, rkey, code) = match columns.is_empty() {
                true => (d.remote_addr, d.rkey, code),
                false => (0, 0, 0),
            };
            // Messages of contiguous regions are the same by rows.
            let column_order = d.message_layout == 1
                && d.remote_columns == 0
                && (d.types != 0 || shared.is_some());
            dests.push(Dest {
                columns,
                column_order,
                same_lanes,
                partition: d.partition,
                qp: d.qp as u8,
                opcode: code,
                fenced: own(request_flags::FENCE),
                solicited: own(request_flags::SOLICITED),
                invalidates,
                empty: inline && d.inline_bytes == 0,
                imm: head.imm,
                remote_addr,
                rkey,
                transport: qp.transport,
                log_mtu: qp.log_mtu,
                element_mask,
                rows_per_message: head.rows_per_message,
                sets,
            });
            if dest + 1 == usize::from(head.destinations) && reader.next != reader.end {
                return Err(Failure { status: OPERATION, dest, qp: Some(d.qp) });
            }
            let reliable = invalidates || own(request_flags::FENCE);
            if (reliable && qp.transport != Transport::Rc as u8)
                || (address.is_some() && qp.transport != Transport::Ud as u8)
            {
                return Err(Failure { status: OPERATION, dest, qp: Some(d.qp) });
            }
        }
        Ok(Decoded { dests, address, function })
    }
}
