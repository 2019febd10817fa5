//! A fake function whose BAR2 is memory, with an IOMMU that keeps its mappings, and a log of calls.

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, MutexGuard},
};

use drdma_abi::{
    ABI_HASH,
    register::{ABI_HASH_HIGH, ABI_HASH_LOW, BAR2_SIZE, TYPE, TYPE_ID, VERSION, VERSION_ID},
};
use memmap2::{MmapOptions, MmapRaw};

use super::{DmaAccess, EventFd, Interrupt, Iommu, Vfio};
use crate::pci::Bar;

/// A fake function; clones are handles of the same one.
#[derive(Clone)]
pub(crate) struct FakeVfio(Arc<Mutex<State>>);

struct State {
    /// File that BAR2 is mapped from.
    file: std::fs::File,
    bar: Bar,
    bar_size: u64,
    /// File that BAR0 is mapped from, and number of its bytes that can be mapped; `None` unless it
    /// was added.
    shell: Option<(std::fs::File, usize)>,
    config: [u8; 12],
    /// Address and length of each mapping, by I/O virtual address.
    mapped: BTreeMap<u64, (usize, usize)>,
    access: BTreeMap<u64, DmaAccess>,
    events: Option<Vec<EventFd>>,
    requests: Option<EventFd>,
    calls: Vec<String>,
    can_reset: bool,
    fail_map: Option<i32>,
    fail_unmap: Option<i32>,
    fail_bar: Option<i32>,
    fail_config: Option<i32>,
    fail_interrupts: Option<i32>,
    fail_reset: Option<i32>,
    fail_iommu: Option<i32>,
    fail_requests: Option<i32>,
}

fn check(failure: Option<i32>) -> io::Result<()> {
    failure.map_or(Ok(()), |code| Err(io::Error::from_raw_os_error(code)))
}

impl FakeVfio {
    /// A function whose registers are 0.
    pub(crate) fn new() -> Self {
        let file = tempfile::tempfile().unwrap();
        file.set_len(BAR2_SIZE.into()).unwrap();
        let bar = Bar::new(MmapOptions::new().map_raw(&file).unwrap());
        Self(Arc::new(Mutex::new(State {
            file,
            bar,
            bar_size: BAR2_SIZE.into(),
            shell: None,
            config: [0x34, 0x12, 0x01, 0x10, 0x02, 0, 0, 0, 0, 0, 0, 2],
            mapped: BTreeMap::new(),
            access: BTreeMap::new(),
            events: None,
            requests: None,
            calls: Vec::new(),
            can_reset: true,
            fail_map: None,
            fail_unmap: None,
            fail_bar: None,
            fail_config: None,
            fail_interrupts: None,
            fail_reset: None,
            fail_iommu: None,
            fail_requests: None,
        })))
    }

    /// A D-RDMA card that fits this software.
    pub(crate) fn card() -> Self {
        let fake = Self::new();
        for (register, value) in [
            (TYPE, TYPE_ID),
            (VERSION, VERSION_ID),
            (ABI_HASH_LOW, ABI_HASH as u32),
            (ABI_HASH_HIGH, (ABI_HASH >> 32) as u32),
        ] {
            fake.set_register(register.offset, value);
        }
        fake
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub(crate) fn register(&self, offset: u32) -> u32 {
        self.state().bar.read(offset).unwrap()
    }

    pub(crate) fn set_register(&self, offset: u32, value: u32) {
        self.state().bar.write(offset, value).unwrap();
    }

    /// Adds a BAR0, of which `size` bytes can be mapped.
    pub(crate) fn add_shell(&self, size: usize, words: &[(u32, u32)]) {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 24).unwrap();
        let bar = Bar::new(MmapOptions::new().map_raw(&file).unwrap());
        words.iter().for_each(|(offset, value)| bar.write(*offset, *value).unwrap());
        self.state().shell = Some((file, size));
    }

    pub(crate) fn shell_register(&self, offset: u32) -> u32 {
        let state = self.state();
        let (file, _) = state.shell.as_ref().unwrap();
        Bar::new(MmapOptions::new().map_raw(file).unwrap()).read(offset).unwrap()
    }

    /// Returns all mappings: I/O virtual address, then address and length in bytes.
    pub(crate) fn mapped(&self) -> Vec<(u64, (usize, usize))> {
        self.state().mapped.iter().map(|(iova, mapped)| (*iova, *mapped)).collect()
    }

    /// Returns the rights of the function to each mapping, by I/O virtual address.
    pub(crate) fn access(&self) -> Vec<(u64, DmaAccess)> {
        self.state().access.iter().map(|(iova, access)| (*iova, *access)).collect()
    }

    pub(crate) fn calls(&self) -> Vec<String> {
        self.state().calls.clone()
    }

    pub(crate) fn forget_calls(&self) {
        self.state().calls.clear();
    }

    pub(crate) fn command(&self) -> u16 {
        let config = self.state().config;
        u16::from_le_bytes([config[4], config[5]])
    }

    pub(crate) fn set_command(&self, command: u16) {
        self.state().config[4..6].copy_from_slice(&command.to_le_bytes());
    }

    /// Removes the function: it reads as ones, except for the ids, which the kernel caches.
    pub(crate) fn pull(&self) {
        self.state().config[4..].fill(0xff);
        self.set_register(TYPE.offset, u32::MAX);
    }

    /// Makes the kernel request the function.
    pub(crate) fn request(&self) {
        self.state().requests.as_ref().expect("requests are watched").write(1).unwrap();
    }

    pub(crate) fn fail_requests(&self, code: i32) {
        self.state().fail_requests = Some(code);
    }

    pub(crate) fn interrupt(&self, vector: usize) {
        self.state().events.as_ref().expect("interrupts are on")[vector].write(1).unwrap();
    }

    /// Number of vectors that are on.
    pub(crate) fn interrupts(&self) -> Option<usize> {
        self.state().events.as_ref().map(Vec::len)
    }

    pub(crate) fn set_bar_size(&self, size: u64) {
        self.state().bar_size = size;
    }

    pub(crate) fn no_reset(&self) {
        self.state().can_reset = false;
    }

    pub(crate) fn fail_map(&self, code: Option<i32>) {
        self.state().fail_map = code;
    }

    pub(crate) fn fail_unmap(&self, code: Option<i32>) {
        self.state().fail_unmap = code;
    }

    pub(crate) fn fail_bar(&self, code: i32) {
        self.state().fail_bar = Some(code);
    }

    pub(crate) fn fail_config(&self, code: i32) {
        self.state().fail_config = Some(code);
    }

    pub(crate) fn fail_interrupts(&self, code: i32) {
        self.state().fail_interrupts = Some(code);
    }

    pub(crate) fn fail_reset(&self, code: i32) {
        self.state().fail_reset = Some(code);
    }

    pub(crate) fn fail_iommu(&self, code: i32) {
        self.state().fail_iommu = Some(code);
    }
}

impl Vfio for FakeVfio {
    fn iommu(&self) -> io::Result<Iommu> {
        check(self.state().fail_iommu)?;
        let ranges = vec![0..=0xfedf_ffff, 0xfef0_0000..=0x7f_ffff_ffff];
        Ok(Iommu { page: 4096, ranges, mappings: Some(65535) })
    }

    // SAFETY: the memory is never touched here; only its place is noted.
    unsafe fn map(
        &self,
        iova: u64,
        pointer: *mut u8,
        len: usize,
        access: DmaAccess,
    ) -> io::Result<()> {
        let mut state = self.state();
        check(state.fail_map)?;
        let before = state.mapped.range(..iova + len as u64).next_back();
        if before.is_some_and(|(start, (_, size))| start + *size as u64 > iova) {
            return Err(io::Error::from_raw_os_error(libc::EEXIST));
        }
        state.mapped.insert(iova, (pointer as usize, len));
        state.access.insert(iova, access);
        state.calls.push(format!("map {iova:#x}"));
        Ok(())
    }

    fn unmap(&self, iova: u64, len: usize) -> io::Result<()> {
        let mut state = self.state();
        check(state.fail_unmap)?;
        state.calls.push(format!("unmap {iova:#x}"));
        match state.mapped.remove(&iova) {
            Some((_, size)) if size == len => Ok(()),
            other => panic!("{len} B at {iova:#x} are unmapped, but {other:x?} are mapped"),
        }
    }

    fn read_config(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let state = self.state();
        check(state.fail_config)?;
        bytes.copy_from_slice(&state.config[offset as usize..][..bytes.len()]);
        Ok(())
    }

    fn write_config(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        assert_eq!((offset, bytes.len()), (4, 2), "only the command register is written");
        let command = u16::from_le_bytes(bytes.try_into().unwrap());
        self.state().calls.push(format!("command {command:#x}"));
        self.set_command(command);
        Ok(())
    }

    fn bar_size(&self, index: u32) -> u64 {
        let state = self.state();
        match index {
            0 => state.shell.as_ref().map_or(0, |(_, size)| *size as u64),
            2 => state.bar_size,
            _ => 0,
        }
    }

    fn map_bar(&self, index: u32, len: usize) -> io::Result<MmapRaw> {
        let mut state = self.state();
        check(state.fail_bar)?;
        state.calls.push(format!("bar {index}"));
        let file = match index {
            0 => &state.shell.as_ref().unwrap().0,
            _ => &state.file,
        };
        MmapOptions::new().len(len).map_raw(file)
    }

    fn reset(&self) -> io::Result<bool> {
        let mut state = self.state();
        check(state.fail_reset)?;
        state.calls.push("reset".into());
        Ok(state.can_reset)
    }

    fn vectors(&self, kind: Interrupt) -> u32 {
        if kind == Interrupt::MsiX { 8 } else { 0 }
    }

    fn enable_interrupts(&self, kind: Interrupt, events: &[EventFd]) -> io::Result<()> {
        let mut state = self.state();
        check(state.fail_interrupts)?;
        assert!(state.events.is_none(), "they are on");
        state.calls.push(format!("{kind} on"));
        state.events = Some(events.iter().map(|event| event.try_clone().unwrap()).collect());
        Ok(())
    }

    fn disable_interrupts(&self, _: Interrupt) -> io::Result<()> {
        let mut state = self.state();
        state.calls.push("interrupts off".into());
        state.events = None;
        Ok(())
    }

    fn watch_requests(&self, event: &EventFd) -> io::Result<()> {
        let mut state = self.state();
        check(state.fail_requests)?;
        state.requests = Some(event.try_clone().unwrap());
        Ok(())
    }
}
