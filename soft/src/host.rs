//! The memory that was mapped for the card.

use std::{
    cell::{Cell, RefCell},
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use drdma_driver::{
    CardError, DmaMemory,
    memory::{Ascending, PAGE},
};

use drdma_semantics::memory::{self, Fault, HostMemory, Run, Values, WritableMemory};

/// Access rights of the card to mapped memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    /// The card may read the memory.
    pub read: bool,
    /// The card may write to the memory.
    pub write: bool,
}

impl Rights {
    /// All rights.
    pub const ALL: Self = Self { read: true, write: true };
}

#[derive(Clone, Debug)]
struct Mapping {
    memory: DmaMemory,
    rights: Rights,
}

impl Mapping {
    fn len(&self) -> u64 {
        self.memory.mapped_len() as u64
    }
}

/// Accesses that found no memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Number of reads.
    pub reads: u64,
    /// Number of writes.
    pub writes: u64,
    /// The last of these accesses.
    pub last: Option<Fault>,
    /// Number of accesses while the card was no bus master, which a real card would not have made;
    /// they are not among those above.
    pub stopped: u64,
}

/// Mapped memory by I/O virtual address. An access to an unmapped address is a fault, and so is
/// every access as long as the card is no bus master.
#[derive(Clone, Debug)]
pub struct Host {
    /// Mappings in order of their addresses. A request reads one value of each of some columns in
    /// turn, so that finding a mapping is much of the work.
    mappings: Vec<(u64, Mapping)>,
    /// Index of the mapping that was found last.
    last: Cell<usize>,
    bus_master: bool,
    faults: RefCell<Faults>,
    writes: Option<WriteLog>,
}

/// Addresses that the card wrote to, in the order of its writes.
pub type WriteLog = Arc<Mutex<Vec<Range<u64>>>>;

impl Default for Host {
    /// A host without mappings, for a card that is a bus master.
    fn default() -> Self {
        Self {
            mappings: Vec::new(),
            last: Cell::new(0),
            bus_master: true,
            faults: RefCell::default(),
            writes: None,
        }
    }
}

impl Host {
    /// Maps `memory` at `iova`; the card may write to it unless it is memory that the card only
    /// reads.
    pub fn map(&mut self, iova: u64, memory: &DmaMemory) -> Result<(), CardError> {
        let rights = Rights { read: true, write: memory.is_written_by_card() };
        self.map_with(iova, memory, rights)
    }

    /// Maps `memory` at `iova` with the given rights.
    pub fn map_with(
        &mut self,
        iova: u64,
        memory: &DmaMemory,
        rights: Rights,
    ) -> Result<(), CardError> {
        let size = memory.mapped_len() as u64;
        let fail = |reason: String| Err(CardError::Map { iova, size, reason });
        if !iova.is_multiple_of(PAGE as u64) {
            return fail(format!("the address is not a multiple of {PAGE}"));
        }
        let Some(end) = iova.checked_add(size) else {
            return fail("the addresses wrap around".into());
        };
        if let Some((at, other)) = self.before(end)
            && at + other.len() > iova
        {
            return fail(format!("{} B at {at:#x} are mapped already", other.len()));
        }
        self.insert(iova, Mapping { memory: memory.clone(), rights });
        Ok(())
    }

    /// Number of mappings that begin below `addr`.
    fn count_below(&self, addr: u64) -> usize {
        self.mappings.partition_point(|(start, _)| *start < addr)
    }

    /// The last mapping that begins below `addr`.
    fn before(&self, addr: u64) -> Option<&(u64, Mapping)> {
        self.mappings[..self.count_below(addr)].last()
    }

    fn insert(&mut self, iova: u64, mapping: Mapping) {
        let place = self.count_below(iova);
        self.mappings.insert(place, (iova, mapping));
    }

    /// The last mapping that begins at `addr` or below.
    fn find(&self, addr: u64) -> Option<&(u64, Mapping)> {
        if let Some(last) = self.mappings.get(self.last.get())
            && addr.checked_sub(last.0).is_some_and(|offset| offset < last.1.len())
        {
            return Some(last);
        }
        let place = self.mappings.partition_point(|(start, _)| *start <= addr).checked_sub(1)?;
        self.last.set(place);
        self.mappings.get(place)
    }

    /// Removes a mapping.
    pub fn unmap(&mut self, iova: u64) -> Result<(), CardError> {
        match self.mappings.binary_search_by_key(&iova, |(start, _)| *start) {
            Ok(place) => {
                self.mappings.remove(place);
                Ok(())
            }
            Err(_) => Err(CardError::Unmap { iova, reason: "nothing is mapped there".into() }),
        }
    }

    /// Removes all mappings, or parts of them, in a range, and returns their length in bytes. A
    /// page that is partly in the range is removed as a whole.
    pub fn unmap_range(&mut self, range: Range<u64>) -> u64 {
        let page = PAGE as u64;
        let (start, end) =
            (range.start / page * page, range.end.div_ceil(page).saturating_mul(page));
        let reaches = self.before(start).is_some_and(|(at, other)| at + other.len() > start);
        let first = self.count_below(start) - usize::from(reaches);
        let behind = self.count_below(end).max(first);
        let touched: Vec<_> = self.mappings.drain(first..behind).collect();
        let mut bytes = 0;
        for (at, Mapping { memory, rights }) in touched {
            let after = at + memory.mapped_len() as u64;
            bytes += after.min(end) - at.max(start);
            for (from, to) in [(at, start.clamp(at, after)), (end.clamp(at, after), after)] {
                // The parts outside of the range stay.
                let part = memory.part((from - at) as usize, (to - from) as usize);
                if let Some(memory) = part {
                    self.insert(from, Mapping { memory, rights });
                }
            }
        }
        bytes
    }

    /// Removes all mappings.
    pub fn unmap_all(&mut self) {
        self.mappings.clear();
    }

    /// Number of mappings.
    pub fn mappings(&self) -> usize {
        self.mappings.len()
    }

    /// Allows or forbids the card to access memory.
    pub fn set_bus_master(&mut self, on: bool) {
        self.bus_master = on;
    }

    /// Starts a log of the card's writes, and returns a handle of it, which can be read where the
    /// host itself is out of reach.
    pub fn log_writes(&mut self) -> WriteLog {
        Arc::clone(self.writes.get_or_insert_default())
    }

    /// The accesses so far that found no memory.
    pub fn faults(&self) -> Faults {
        *self.faults.borrow()
    }

    /// Calls `visit(memory, offset in it, offset in the access, bytes)` for each piece of a mapping
    /// that `len` bytes at `addr` consist of. If a part is not mapped, it is not called at all.
    fn pieces(
        &self,
        addr: u64,
        len: usize,
        allowed: impl Fn(Rights) -> bool,
        mut visit: impl FnMut(&DmaMemory, usize, usize, usize),
    ) -> Result<(), Fault> {
        let fault = Fault { addr, len };
        if !self.bus_master {
            return Err(fault);
        }
        for dry in [true, false] {
            let mut done = 0;
            while done < len {
                let at = addr.checked_add(done as u64).ok_or(fault)?;
                let (start, mapping) = self.find(at).ok_or(fault)?;
                let offset = (at - start) as usize;
                let part = mapping.memory.mapped_len().saturating_sub(offset).min(len - done);
                if part == 0 || !allowed(mapping.rights) {
                    return Err(fault);
                }
                if !dry {
                    visit(&mapping.memory, offset, done, part);
                }
                done += part;
            }
        }
        Ok(())
    }

    /// Counts a fault if the result is one.
    fn noted(&self, result: Result<(), Fault>, count: impl Fn(&mut Faults)) -> Result<(), Fault> {
        result.inspect_err(|fault| {
            let mut faults = self.faults.borrow_mut();
            if self.bus_master {
                faults.last = Some(*fault);
                count(&mut faults);
            } else {
                faults.stopped += 1;
            }
        })
    }

    /// Writes `bytes` at `addr`.
    pub fn write(&self, addr: u64, bytes: &[u8]) -> Result<(), Fault> {
        let written = self.pieces(
            addr,
            bytes.len(),
            |rights| rights.write,
            |memory, offset, at, len| {
                memory.write(offset, &bytes[at..at + len]);
            },
        );
        if written.is_ok() {
            self.log(addr, bytes.len());
        }
        self.noted(written, |faults| faults.writes += 1)
    }

    /// Logs a write of the card, if there is a log.
    #[inline]
    fn log(&self, addr: u64, len: usize) {
        if let Some(log) = &self.writes {
            let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
            log.push(addr..addr + len as u64);
        }
    }
}

impl HostMemory for Host {
    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), Fault> {
        // Nearly always, one mapping holds all bytes.
        if let Some((start, Mapping { memory, rights })) = self.find(addr)
            && let offset = (addr - start) as usize
            && memory.mapped_len().checked_sub(offset).is_some_and(|left| out.len() <= left)
            && rights.read
            && self.bus_master
        {
            memory.read(offset, out);
            return Ok(());
        }
        let len = out.len();
        let read = self.pieces(
            addr,
            len,
            |rights| rights.read,
            |memory, offset, at, len| {
                memory.read(offset, &mut out[at..at + len]);
            },
        );
        self.noted(read, |faults| faults.reads += 1)
    }

    fn read_values(
        &self,
        values: Values,
        rows: &[u32],
        out: &mut [u8],
        pitch: usize,
    ) -> Result<(), Fault> {
        self.read_rows(&[values], rows, out, pitch)
    }

    fn read_rows(
        &self,
        columns: &[Values],
        rows: &[u32],
        out: &mut [u8],
        pitch: usize,
    ) -> Result<(), Fault> {
        let Some(first) = rows.first() else { return Ok(()) };
        let ascending = Ascending::new(rows).filter(|_| self.bus_master);
        let mut from = 0;
        for values in columns {
            let (addr, out) = (values.at(*first), &mut out[from..]);
            // Nearly always, one mapping holds all rows.
            let is_read = ascending.is_some_and(|rows| {
                self.find(addr).is_some_and(|(start, Mapping { memory, rights })| {
                    let step = values.step.try_into().ok().filter(|_| rights.read);
                    let read = |step| {
                        let offset = (addr - start) as usize;
                        memory.read_values(offset, (step, values.width), rows, out, pitch)
                    };
                    step.is_some_and(read)
                })
            });
            if !is_read {
                memory::read_each(self, *values, rows, out, pitch)?;
            }
            from += values.width;
        }
        Ok(())
    }
}

impl WritableMemory for Host {
    fn write(&self, addr: u64, bytes: &[u8]) -> Result<(), Fault> {
        Self::write(self, addr, bytes)
    }

    fn write_run(&self, run: Run, packet: &[u8]) -> Result<(), Fault> {
        let Run { addr, width, count, from, pitch } = run;
        if let Some((start, Mapping { memory, rights })) = self.find(addr)
            && rights.write
            && self.bus_master
            && memory.write_values((addr - start) as usize, (width, count), &packet[from..], pitch)
        {
            self.log(addr, width * count);
            return Ok(());
        }
        memory::write_each(self, run, packet)
    }

    fn write_runs(&self, runs: &[Run], packet: &[u8]) -> Result<(), Fault> {
        // The memory of all runs is prefetched into the processor's cache while the first ones are
        // written.
        for Run { addr, width, count, .. } in runs {
            if let Some((start, Mapping { memory, .. })) = self.find(*addr) {
                memory.prefetch_for_write((addr - start) as usize, width * count);
            }
        }
        runs.iter().try_for_each(|run| self.write_run(*run, packet))
    }
}

/// Memory that counts its reads.
#[derive(Debug)]
pub struct Counted<'a> {
    host: &'a Host,
    /// Number of reads.
    pub reads: Cell<u64>,
    /// Number of bytes read.
    pub bytes: Cell<u64>,
}

impl<'a> Counted<'a> {
    /// Counts the reads of `host` from 0 on.
    pub fn new(host: &'a Host) -> Self {
        Self { host, reads: Cell::new(0), bytes: Cell::new(0) }
    }
}

impl HostMemory for Counted<'_> {
    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), Fault> {
        self.reads.set(self.reads.get() + 1);
        self.bytes.set(self.bytes.get() + out.len() as u64);
        self.host.read(addr, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Maps four pages at 0x10000, of which each byte is the number of its page.
    fn host() -> (Host, DmaMemory) {
        let memory = DmaMemory::new(4 * PAGE).unwrap();
        (0..4).for_each(|page| memory.write(page * PAGE, &[page as u8 + 1; PAGE]));
        let mut host = Host::default();
        host.map(0x10000, &memory).unwrap();
        (host, memory)
    }

    fn byte(host: &Host, addr: u64) -> Option<u8> {
        let mut byte = [0];
        host.read(addr, &mut byte).ok().map(|()| byte[0])
    }

    #[test]
    fn an_access_of_no_bytes_is_good_anywhere() {
        let (host, _memory) = host();
        for addr in [0, 0xffff, 0x10000, 0x14000, 0x15000, u64::MAX] {
            assert_eq!(host.read(addr, &mut []), Ok(()), "{addr:#x}");
            assert_eq!(host.write(addr, &[]), Ok(()), "{addr:#x}");
        }
        assert_eq!(host.faults(), Faults::default());
    }

    #[test]
    fn values_may_lie_in_several_mappings_and_need_what_other_accesses_need() {
        let (mut host, memory) = host();
        let values = Values { base: 0x10000, step: 0x800, width: 2 };
        let mut out = [0xee; 9];
        host.read_values(values, &[0, 3, 6], &mut out, 3).unwrap();
        assert_eq!(out, [1, 1, 0xee, 2, 2, 0xee, 4, 4, 0xee]);
        // Values in different pages; then one of the pages is unmapped.
        host.unmap_range(0x11000..0x12000);
        host.read_values(values, &[0, 6], &mut out, 3).unwrap();
        assert_eq!(out[..6], [1, 1, 0xee, 4, 4, 0xee]);
        let fault = Fault { addr: 0x11000, len: 2 };
        assert_eq!(host.read_values(values, &[0, 2], &mut out, 3), Err(fault));
        let run = Run { addr: 0x10ffe, width: 2, count: 2, from: 1, pitch: 3 };
        assert_eq!(host.write_run(run, &[0, 7, 8, 0, 9, 9]), Err(fault));
        host.map(0x11000, &memory.part(PAGE, PAGE).unwrap()).unwrap();
        let log = host.log_writes();
        host.write_run(run, &[0, 5, 6, 0, 7, 8]).unwrap();
        assert_eq!(
            [0x10ffe, 0x10fff, 0x11000, 0x11001].map(|at| byte(&host, at).unwrap()),
            [5, 6, 7, 8]
        );
        let run = Run { addr: 0x10000, width: 4, count: 2, from: 0, pitch: 4 };
        host.write_run(run, &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
        assert_eq!(*log.lock().unwrap(), [0x10ffe..0x11000, 0x11000..0x11002, 0x10000..0x10008]);

        host.map_with(0x20000, &memory, Rights { read: false, write: true }).unwrap();
        host.map_with(0x30000, &memory, Rights { read: true, write: false }).unwrap();
        let values = Values { base: 0x20000, step: 4, width: 4 };
        assert!(host.read_values(values, &[0, 1], &mut [0; 8], 4).is_err());
        assert!(host.write_run(Run { addr: 0x30000, ..run }, &[0; 8]).is_err());
        host.set_bus_master(false);
        assert!(
            host.read_values(Values { base: 0x30000, ..values }, &[0], &mut [0; 4], 4).is_err()
        );
        assert!(host.write_run(run, &[0; 8]).is_err());
        assert_eq!(host.faults().stopped, 2);
    }

    #[test]
    fn a_hole_leaves_what_is_around_it_and_pages_may_be_mapped_one_by_one() {
        let (mut host, memory) = host();
        assert_eq!(host.unmap_range(0x11000..0x13000), 2 * 4096);
        let seen = [0x10fff, 0x11000, 0x12fff, 0x13000].map(|addr| byte(&host, addr));
        assert_eq!(seen, [Some(1), None, None, Some(4)]);
        // An access across the hole has no effect at all.
        assert!(host.write(0x10ffc, &[9; 8]).is_err());
        assert_eq!(byte(&host, 0x10ffc), Some(1));
        for (at, page) in [(0x11000, 2), (0x12000, 1)] {
            host.map(at, &memory.part(page * PAGE, PAGE).unwrap()).unwrap();
        }
        let mut bytes = [0; 2];
        host.read(0x11fff, &mut bytes).unwrap();
        assert_eq!(bytes, [3, 2], "an access is cut where mappings meet");
        assert_eq!(host.mappings(), 4);
        // The mapping that was found last has been replaced.
        assert_eq!(byte(&host, 0x13000), Some(4));
        host.unmap(0x10000).unwrap();
        assert_eq!([0x10000, 0x11000, 0x13000].map(|at| byte(&host, at)), [None, Some(3), Some(4)]);
        let error = host.unmap(0x10000).unwrap_err().to_string();
        assert!(error.contains("nothing is mapped there"), "{error}");
        host.unmap_all();
        assert_eq!(byte(&host, 0x10000), None);
    }

    #[test]
    fn ranges_may_cover_what_was_never_mapped_and_parts_of_mappings() {
        for (range, bytes, mappings) in [
            (0..u64::MAX, 4 * 4096, 0),
            (0..0x10000, 0, 1),
            (0x14000..u64::MAX, 0, 1),
            (0..0x11000, 4096, 1),
            (0x13001..0x20000, 4096, 1),
            (0x12fff..0x13001, 8192, 1),
            (0x11000..0x12000, 4096, 2),
        ] {
            let (mut host, _memory) = host();
            assert_eq!(host.unmap_range(range.clone()), bytes, "{range:x?}");
            assert_eq!(host.mappings(), mappings, "{range:x?}");
        }
    }

    #[test]
    fn accesses_need_rights_and_a_bus_master_and_faults_are_counted() {
        let (mut host, memory) = host();
        let rights = Rights { read: true, write: false };
        host.map_with(0x20000, &memory, rights).unwrap();
        host.map_with(0x30000, &memory, Rights { read: false, write: true }).unwrap();
        assert_eq!(byte(&host, 0x20000), Some(1));
        assert!(host.write(0x20000, &[1]).is_err());
        assert_eq!(host.faults().writes, 1);
        assert_eq!(byte(&host, 0x30000), None);
        host.write(0x30000, &[8]).unwrap();
        assert_eq!(byte(&host, 0x10000), Some(8));
        host.set_bus_master(false);
        assert_eq!(byte(&host, 0x10000), None);
        assert!(host.write(0x10010, &[1, 2]).is_err());
        let last = Some(Fault { addr: 0x30000, len: 1 });
        assert_eq!(host.faults(), Faults { reads: 1, writes: 1, last, stopped: 2 });
        host.set_bus_master(true);
        assert_eq!(byte(&host, 0x10000), Some(8));
        assert!(host.map(0x13000, &memory).is_err(), "mapped already");
    }
}
