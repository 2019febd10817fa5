//! A vfio-user client, and the card that it sees as a [`Card`] for the driver's own software.

use std::{
    fs::File,
    io::{self, IoSlice, Read, Write},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, AsRawFd},
        unix::{fs::FileExt, net::UnixStream},
    },
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use drdma_driver::{Card, CardError, DmaMemory, memory::PAGE};
use rustix::{
    fs::{MemfdFlags, memfd_create},
    net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg},
};

pub const BAR0: u32 = 0;
pub const BAR2: u32 = 2;
pub const CONFIG: u32 = 7;

/// Time that a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection, past the version's negotiation.
pub struct Client {
    stream: UnixStream,
    id: u16,
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn longs(longs: &[u64]) -> Vec<u8> {
    longs.iter().flat_map(|long| long.to_le_bytes()).collect()
}

impl Client {
    pub fn connect(path: &Path) -> Self {
        let mut client = Self::raw(path);
        let version = [&[0, 0, 1, 0], &b"{\"capabilities\":{\"max_msg_fds\":8}}\0"[..]].concat();
        let reply = client.call(1, &version, &[]).unwrap();
        assert_eq!(reply[..4], [0, 0, 1, 0]);
        client
    }

    /// A connection on which no message was sent.
    pub fn raw(path: &Path) -> Self {
        let stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { stream, id: 0 }
    }

    pub fn stream(&mut self) -> &mut UnixStream {
        &mut self.stream
    }

    fn send(&mut self, command: u16, flags: u32, body: &[u8], fds: &[&File]) -> io::Result<()> {
        self.id = self.id.wrapping_add(1);
        let mut message = [self.id.to_le_bytes(), command.to_le_bytes()].concat();
        message.extend(words(&[16 + body.len() as u32, flags, 0]));
        message.extend(body);
        let fds: Vec<_> = fds.iter().map(|file| file.as_fd()).collect();
        let mut space = [MaybeUninit::uninit(); 256];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !fds.is_empty() {
            assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
        }
        let parts = [IoSlice::new(&message)];
        let sent = sendmsg(&self.stream, &parts, &mut control, SendFlags::NOSIGNAL)?;
        self.stream.write_all(&message[sent..])
    }

    /// Sends a command and takes its reply: the body, or the number of an error; -1 if the server
    /// has gone.
    pub fn call(&mut self, command: u16, body: &[u8], fds: &[&File]) -> Result<Vec<u8>, i32> {
        self.send(command, 0, body, fds).map_err(|_| -1)?;
        let mut header = [0; 16];
        self.stream.read_exact(&mut header).map_err(|_| -1)?;
        let word = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().unwrap());
        assert_eq!(header[..2], self.id.to_le_bytes(), "another message's reply");
        assert_eq!(header[2..4], command.to_le_bytes());
        let mut reply = vec![0; word(4) as usize - 16];
        self.stream.read_exact(&mut reply).map_err(|_| -1)?;
        match word(8) {
            1 => Ok(reply),
            0x21 => Err(word(12) as i32),
            flags => panic!("a reply with flags {flags:#x}"),
        }
    }

    /// Sends a command that wants no reply.
    pub fn post(&mut self, command: u16, body: &[u8]) {
        self.send(command, 0x10, body, &[]).unwrap();
    }

    pub fn read(&mut self, region: u32, offset: u64, len: usize) -> Result<Vec<u8>, i32> {
        let body = [longs(&[offset]), words(&[region, len as u32])].concat();
        Ok(self.call(9, &body, &[])?.split_off(16))
    }

    pub fn read32(&mut self, region: u32, offset: u64) -> Result<u32, i32> {
        let bytes = self.read(region, offset, 4)?;
        Ok(u32::from_le_bytes(bytes.try_into().unwrap()))
    }

    pub fn access(region: u32, offset: u64, data: &[u8]) -> Vec<u8> {
        [longs(&[offset]), words(&[region, data.len() as u32]), data.to_vec()].concat()
    }

    pub fn write(&mut self, region: u32, offset: u64, data: &[u8]) -> Result<(), i32> {
        self.call(10, &Self::access(region, offset, data), &[]).map(|_| ())
    }

    pub fn write32(&mut self, region: u32, offset: u64, value: u32) -> Result<(), i32> {
        self.write(region, offset, &value.to_le_bytes())
    }

    pub fn map(&mut self, address: u64, size: u64, offset: u64, file: &File) -> Result<(), i32> {
        let body = [words(&[32, 3]), longs(&[offset, address, size])].concat();
        self.call(2, &body, &[file]).map(|_| ())
    }

    pub fn unmap(&mut self, address: u64, size: u64) -> Result<(), i32> {
        let body = [words(&[24, 0]), longs(&[address, size])].concat();
        self.call(3, &body, &[]).map(|_| ())
    }

    pub fn reset(&mut self) -> Result<(), i32> {
        self.call(13, &[], &[]).map(|_| ())
    }

    /// Words of the body of the reply to a question about region or interrupts `index`.
    pub fn info(&mut self, command: u16, size: u32, index: u32) -> Result<Vec<u32>, i32> {
        let mut body = words(&[size, 0, index, 0]);
        body.resize(size as usize, 0);
        let reply = self.call(command, &body, &[])?;
        Ok(reply.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }

    pub fn set_irqs(
        &mut self,
        flags: u32,
        [index, start, count]: [u32; 3],
        events: &[&File],
    ) -> Result<(), i32> {
        self.call(8, &words(&[20, flags, index, start, count]), events).map(|_| ())
    }

    /// A capability's place in configuration space.
    pub fn capability(&mut self, id: u32) -> u64 {
        let mut at = self.read32(CONFIG, 0x34).unwrap() & 0xff;
        loop {
            let word = self.read32(CONFIG, at.into()).unwrap();
            if word & 0xff == id {
                return at.into();
            }
            at = word >> 8 & 0xff;
            assert_ne!(at, 0, "no capability {id:#x}");
        }
    }

    /// Sets the command register: 2 answers at the BARs, 4 accesses memory.
    pub fn set_command(&mut self, command: u16) {
        self.write(CONFIG, 4, &command.to_le_bytes()).unwrap();
    }

    /// Opens the port, found as a driver finds it, or closes it.
    pub fn set_port(&mut self, open: bool) {
        let control = {
            let mut find = |base: u32, first: u32, kind: u32| {
                let mut at = base + first;
                while self.read32(BAR0, at.into()).unwrap() != kind {
                    at = base + self.read32(BAR0, u64::from(at) + 8).unwrap();
                    assert_ne!(at, base, "no block {kind:#x}");
                }
                at
            };
            let interface = find(0, 0, 0xc000);
            let mut word = |at: u32| self.read32(BAR0, at.into()).unwrap();
            let (base, list) = (word(interface + 0x0c), word(interface + 0x18));
            let mut find = |first: u32, kind: u32| {
                let mut at = base + first;
                while word(at) != kind {
                    at = base + word(at + 8);
                    assert_ne!(at, base, "no block {kind:#x}");
                }
                (at, word(at + 0x0c))
            };
            let (_, port) = find(list, 0xc002);
            find(port, 0xc003).0
        };
        for direction in [0x10, 0x14] {
            self.write32(BAR0, u64::from(control + direction), open.into()).unwrap();
        }
    }
}

/// The card behind a client, for libdrdma. Clones refer to the same card.
#[derive(Clone)]
pub struct ServedCard {
    client: Arc<Mutex<Client>>,
    /// Files behind mapped memory: I/O virtual address, bytes.
    mapped: Arc<Mutex<Vec<(u64, u64)>>>,
}

impl ServedCard {
    /// Connects and does what the driver does before it uses a card.
    pub fn open(path: &Path) -> Self {
        let mut client = Client::connect(path);
        client.reset().unwrap();
        client.set_command(6);
        client.set_port(true);
        Self { client: Arc::new(Mutex::new(client)), mapped: Arc::default() }
    }

    pub fn client(&self) -> MutexGuard<'_, Client> {
        // A test that failed must not hide behind the next failure.
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ranges of memory that are mapped.
    pub fn mapped(&self) -> Vec<(u64, u64)> {
        self.mapped.lock().unwrap().clone()
    }
}

fn failed(errno: i32) -> CardError {
    CardError::Failed(format!("the server answers {errno}"))
}

/// Puts pages of a file where memory is, with the same bytes, from the last one to the first, so that
/// no two pages follow each other in the file.
fn share(memory: &DmaMemory) -> File {
    let len = memory.mapped_len();
    let file = File::from(memfd_create("memory", MemfdFlags::CLOEXEC).unwrap());
    file.set_len(len as u64).unwrap();
    let mut page = [0; PAGE];
    for at in (0..len).step_by(PAGE) {
        memory.read(at, &mut page);
        let there = len - PAGE - at;
        file.write_all_at(&page, there as u64).unwrap();
        // SAFETY: the page is part of a mapping that lives as long as `memory`, which is only ever
        // accessed by copying; the new mapping is as large, has the same bytes, and is at least as writable.
        let mapped = unsafe {
            libc::mmap(
                memory.as_ptr().add(at).cast(),
                PAGE,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_FIXED,
                file.as_raw_fd(),
                there as libc::off_t,
            )
        };
        assert_ne!(mapped, libc::MAP_FAILED);
    }
    file
}

impl Card for ServedCard {
    fn read(&mut self, offset: u32) -> Result<u32, CardError> {
        self.client().read32(BAR2, offset.into()).map_err(failed)
    }

    fn write(&mut self, offset: u32, value: u32) -> Result<(), CardError> {
        self.client().write32(BAR2, offset.into(), value).map_err(failed)
    }

    fn map(&mut self, iova: u64, memory: &DmaMemory) -> Result<(), CardError> {
        let file = share(memory);
        let (page, len) = (PAGE as u64, memory.mapped_len() as u64);
        for at in (0..len).step_by(PAGE) {
            self.client().map(iova + at, page, len - page - at, &file).map_err(failed)?;
        }
        self.mapped.lock().unwrap().push((iova, len));
        Ok(())
    }

    fn unmap(&mut self, iova: u64) -> Result<(), CardError> {
        let mut mapped = self.mapped.lock().unwrap();
        let at = mapped.iter().position(|(start, _)| *start == iova).expect("it is mapped");
        let (_, len) = mapped.remove(at);
        self.client().unmap(iova, len).map_err(failed)
    }

    fn progress(&mut self) -> Result<(), CardError> {
        thread::sleep(Duration::from_micros(200));
        Ok(())
    }
}
