//! Posting: entries are checked, written into the ring, and submitted to the card.

use std::sync::atomic::Ordering;

use drdma_abi::{
    register::DOORBELLS,
    work_request::{
        BLOCK, GRANULE, MAX_DESTINATIONS, MAX_WQE_GRANULES, WQE_MAGIC, WqeHeader, blocks, flags,
    },
};

use super::{SendQueue, state::add};
use crate::{
    Features, PostError, RowMask,
    body::{Body, Writer},
    encode::words,
    optimizer::FetchPlan,
    work_request::Head,
};

impl SendQueue {
    /// Writes an entry behind the last one. The card does not know of it before [`submit`].
    ///
    /// [`submit`]: Self::submit
    #[inline]
    pub fn stage<B: Body + ?Sized>(&mut self, head: &Head, body: &B) -> Result<(), PostError> {
        let granules = self.check(head, body)?;
        let needed = blocks(granules) as u32;
        let used = self.tail.wrapping_sub(self.state.completed.load(Ordering::Acquire));
        let free = self.state.blocks - used;
        if needed > free {
            let blocks = self.state.blocks;
            return Err(if needed > blocks {
                PostError::RequestTooLong { needed, blocks }
            } else {
                PostError::QueueFull { needed, free }
            });
        }
        let behind = self.tail.wrapping_add(needed);
        if head.signaled {
            self.completion_queue.reserve()?;
            self.signaled = behind;
            self.staged_signaled += 1;
        } else {
            // Entries that were flushed no longer hold room of the ring.
            let unsignaled = behind.wrapping_sub(self.signaled).min(used + needed);
            let limit = self.state.blocks / 2;
            if unsignaled > limit {
                return Err(PostError::SignalDue { unsignaled, limit });
            }
        }
        self.write(head, body, granules);
        self.tail = behind;
        self.state.staged.store(self.tail, Ordering::Release);
        let (tail, holds) = (self.tail, &mut self.staged_holds);
        body.hold(|hold| holds.push((tail, hold.clone())));
        self.staged += 1;
        self.staged_bytes += (granules * GRANULE) as u64;
        Ok(())
    }

    /// Checks what the card's layouts cannot express; returns the number of granules of the entry.
    #[inline]
    fn check<B: Body + ?Sized>(&self, head: &Head, body: &B) -> Result<usize, PostError> {
        if head.rows_per_message == 0 {
            return Err(PostError::RowsPerMessage);
        }
        let destinations = body.destinations();
        if destinations == 0 || destinations > MAX_DESTINATIONS {
            return Err(PostError::Destinations { destinations, limit: MAX_DESTINATIONS });
        }
        if !head.extension.is_empty()
            && let Some((what, needed)) = head.extension.needs()
            && let Some(reason) = self.context.inner.misses(needed)
        {
            return Err(PostError::Unsupported { what, reason });
        }
        if B::FLAGS & flags::INLINE != 0 && head.extension.is_answered() {
            return Err(PostError::InlineOperation);
        }
        if head.extension.is_answered()
            && body.has_gaps()
            && let Some(reason) = self.context.inner.misses(Features::SCATTERS)
        {
            let what = "a READ or an atomic into a region that is not contiguous";
            return Err(PostError::Unsupported { what, reason });
        }
        let granules =
            WqeHeader::SIZE / GRANULE + head.extension.granules() + body.check(self.pd)?;
        let needed = body.needs();
        if !needed.is_empty() {
            self.check_needs(head, body, needed)?;
        }
        if granules > MAX_WQE_GRANULES {
            return Err(PostError::Granules { granules, limit: MAX_WQE_GRANULES });
        }
        Ok(granules)
    }

    /// Checks that the card has the features that a body needs.
    #[cold]
    fn check_needs<B: Body + ?Sized>(
        &self,
        head: &Head,
        body: &B,
        needed: Features,
    ) -> Result<(), PostError> {
        let context = &self.context.inner;
        // The card may have a part of a feature that suffices for this body.
        let has = |feature| match context.misses(feature) {
            Some(_) => Features::empty(),
            None => feature,
        };
        let columns = has(Features::COLUMN_WRITES) | has(Features::COLUMN_MESSAGES);
        let some = needed.contains(Features::COLUMNS)
            && context.misses(Features::COLUMNS).is_some()
            && !columns.is_empty();
        let refusal = if some { body.column_refusal(head, columns) } else { None };
        let others = if some { needed - Features::COLUMNS } else { needed };
        if let Some(reason) = context.misses(others).or(refusal) {
            let what = match body.has_kinds() {
                _ if needed.contains(Features::FIXED_KEYS) => "partitions from keys",
                _ if needed.contains(Features::CHASE) => "a region of chains",
                true => "a region with kinds of columns",
                false => "a message by columns",
            };
            return Err(PostError::Unsupported { what, reason });
        }
        let what = "a READ or an atomic";
        if head.extension.is_answered() {
            let reason = match body.has_kinds() {
                true => "kinds of columns",
                false => "messages by columns",
            };
            return Err(PostError::NotFilled { what, reason });
        }
        let sends = head.extension.reliable.is_some() || !head.opcode.is_write();
        if sends && body.has_remote_columns() {
            return Err(PostError::RemoteColumnsOperation);
        }
        Ok(())
    }

    /// Returns the plan of a long contiguous request that has none of its own.
    #[inline]
    fn long_run<B: Body + ?Sized>(&self, head: &Head, body: &B) -> Option<FetchPlan> {
        let plan = FetchPlan::of_contiguous(body.contiguous_bytes()?)?;
        (!head.extension.is_answered() && !self.context.inner.sets_reads()).then_some(plan)
    }

    #[inline]
    fn write<B: Body + ?Sized>(&self, head: &Head, body: &B, granules: usize) {
        let blocks = self.state.blocks;
        let mut writer = Writer {
            ring: &self.state.ring,
            at: (self.tail & (blocks - 1)) as usize * BLOCK,
            size: blocks as usize * BLOCK,
        };
        let mask = match head.row_mask {
            RowMask::Period => 0,
            RowMask::Element => flags::ELEMENT_MASK,
        };
        let fetch = head.fetch.or_else(|| self.long_run(head, body));
        let fetch_flag = if fetch.is_some() { flags::FETCH_PLAN } else { 0 };
        let signal_flag = if head.signaled { 0 } else { flags::UNSIGNALED };
        let extension = &head.extension;
        let opcode = extension.opcode();
        let (opcode, imm) =
            opcode.map_or((head.opcode as u8, head.imm), |(opcode, imm)| (opcode as u8, imm));
        let (log_max_read, threshold) = fetch.map_or((0, 0), FetchPlan::fields);
        writer.put(&words!(WqeHeader {
            magic: WQE_MAGIC,
            opcode: opcode,
            flags: mask | B::FLAGS | fetch_flag | signal_flag | extension.flags(),
            fetch_log_max_read: log_max_read,
            fetch_merge_threshold: threshold,
            destinations: body.destinations() as u16,
            granules: granules as u32,
            position: self.tail,
            wr_id: head.wr_id,
            rows_per_message: head.rows_per_message,
            imm: imm,
        }));
        extension.write(|words| writer.put(words));
        body.write(&mut writer);
    }

    /// Rings the doorbell for staged entries.
    #[inline]
    pub fn submit(&mut self) -> Result<(), PostError> {
        if self.staged == 0 {
            return Ok(());
        }
        let ring_bytes = BLOCK as u64
            * u64::from(self.tail.wrapping_sub(self.state.posted.load(Ordering::Relaxed)));
        if !self.staged_holds.is_empty() {
            // The held memory must be noted before the completion can be looked for.
            self.state.held().extend(self.staged_holds.drain(..));
            self.state.holds.store(true, Ordering::Release);
        }
        if self.staged_signaled != self.staged {
            self.completion_queue.expect_failures();
        }
        self.state.posted.store(self.tail, Ordering::Release);
        let (staged, bytes) = (self.staged, self.staged_bytes);
        self.posted_signaled = self.signaled;
        self.staged = 0;
        self.staged_signaled = 0;
        self.staged_bytes = 0;
        let counts = &self.state.counts;
        add(&counts.work_requests, staged.into());
        add(&counts.request_bytes, bytes);
        add(&counts.ring_bytes, ring_bytes);
        add(&counts.doorbells, 1);
        let doorbell = DOORBELLS.entry(self.state.number);
        let rung = self.context.inner.write_register(doorbell, self.tail);
        self.completion_queue.stir();
        Ok(rung?)
    }

    /// Takes back staged entries.
    pub fn discard(&mut self) {
        self.tail = self.state.posted.load(Ordering::Relaxed);
        self.state.staged.store(self.tail, Ordering::Release);
        self.staged_holds.clear();
        self.completion_queue.release(self.staged_signaled);
        self.signaled = self.posted_signaled;
        self.staged = 0;
        self.staged_signaled = 0;
        self.staged_bytes = 0;
    }
}
