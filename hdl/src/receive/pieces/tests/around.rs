//! What stands around the block: memory, the host and packets; and what the semantics say of a message.

use super::*;

/// The block's answer about a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    Reached,
    Outside,
    Unreachable,
}

/// Runs of bytes, those that touch as one.
pub fn merged(pieces: impl IntoIterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for (addr, len) in pieces {
        match runs.last_mut() {
            Some(last) if last.0.wrapping_add(last.1) == addr => last.1 += len,
            _ => runs.push((addr, len)),
        }
    }
    runs
}

/// Memory in which writes are remembered.
pub struct Recorder {
    pub memory: Segments,
    pub written: RefCell<Vec<(u64, u64)>>,
}

impl HostMemory for Recorder {
    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), Fault> {
        self.memory.read(addr, out)
    }
}

impl WritableMemory for Recorder {
    fn write(&self, addr: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.written.borrow_mut().push((addr, bytes.len() as u64));
        Ok(())
    }
}

/// The block, and a host that reads.
pub struct Around<'a> {
    pub bench: Bench<'a>,
    pub ask: DriverId,
    pub beat: DriverId,
    pub read: MonitorId,
    pub piece: MonitorId,
    pub memory: Vec<u8>,
    pub latency: u64,
    pub under_way: VecDeque<(u64, Beat)>,
    pub told: Rc<RefCell<Option<Verdict>>>,
    /// Places of the bytes that were placed, packet by packet.
    pub came: Vec<Vec<(u64, u64)>>,
    pub coming: Vec<Beat>,
    /// Bytes of the packet that was asked for last, of those that are placed and whose pieces have not come, and
    /// packets whose bytes came by columns.
    pub asked: u64,
    pub lengths: VecDeque<u64>,
    pub by_columns: usize,
    /// Slot of the receive that was taken last.
    pub slot: u64,
}

impl<'a> Around<'a> {
    pub fn new(library: &'a Library, seed: u64, stalls: (f64, f64)) -> Self {
        let mut bench = Bench::new(library.instance(seed), seed);
        bench.limit(20_000_000);
        for port in ["word_valid", "granule_valid", "settle_valid"] {
            bench.set(port, 0_u64);
        }
        clear_tables(&mut bench);
        let [ask, beat] = ["ask", "beat"].map(|base| bench.driver(base));
        let (read, piece) = (bench.monitor("read"), bench.monitor("piece"));
        let told: Rc<RefCell<Option<Verdict>>> = Rc::default();
        let telling = Rc::clone(&told);
        bench.observe(move |model, _| {
            if model.get("told_valid") == 1 {
                let verdicts = [Verdict::Reached, Verdict::Outside, Verdict::Unreachable];
                let told = verdicts[model.get("told_verdict") as usize];
                assert_eq!(telling.replace(Some(told)), None, "one packet at a time");
            }
        });
        bench.stall(stalls);
        let memory = Random::new(seed).bytes(SIZE as usize);
        let (under_way, latency) = (VecDeque::new(), 1 + seed * 40 % 300);
        let (came, coming, slot) = (Vec::new(), Vec::new(), 0);
        let mut around = Self {
            bench,
            ask,
            beat,
            read,
            piece,
            memory,
            latency,
            under_way,
            told,
            came,
            coming,
            asked: 0,
            lengths: VecDeque::new(),
            by_columns: 0,
            slot,
        };
        for entry in entries() {
            for (word, bytes) in entry.to_bytes().chunks(4).enumerate() {
                let data = u32::from_le_bytes(bytes.try_into().unwrap());
                let index = u64::from(entry.lkey) & 0xfff;
                let ports = [("table", REGION_TABLE), ("index", index), ("word", word as u64)];
                for (port, value) in ports {
                    around.bench.set(format!("cfg_{port}"), value);
                }
                around.bench.set("cfg_data", u64::from(data));
                around.pulse("cfg_valid");
            }
        }
        around
    }

    pub fn pulse(&mut self, port: &str) {
        self.bench.set(port, 1_u64);
        self.step();
        self.bench.set(port, 0_u64);
    }

    pub fn step(&mut self) {
        self.bench.step();
        let cycle = self.bench.cycles();
        for read in self.bench.take(self.read) {
            let (addr, bytes) = (read.u64("addr"), read.u64("bytes"));
            assert!((1..=64).contains(&bytes), "a read of {bytes} B");
            let mut data = vec![0; bytes as usize];
            let error = self.host().read(addr, &mut data).is_err();
            data.resize(64, 0xee);
            let beat = Beat::from([("last", 1), ("error", error.into())])
                .with("data", Word::from_bytes(&data));
            self.under_way.push_back((cycle + self.latency, beat));
        }
        while self.under_way.front().is_some_and(|(due, _)| *due <= cycle) {
            let (_, beat) = self.under_way.pop_front().unwrap();
            self.bench.send(self.beat, beat);
        }
        for piece in self.bench.take(self.piece) {
            let last = piece.u64("last") == 1;
            self.coming.push(piece);
            if last {
                let pieces = std::mem::take(&mut self.coming);
                let bytes = self.lengths.pop_front().expect("it was placed");
                let runs = match pieces[0].u64("column") {
                    1 => values(&pieces, bytes),
                    _ => pieces.iter().map(|p| (p.u64("addr"), p.u64("bytes"))).collect(),
                };
                self.by_columns += pieces[0].u64("column") as usize;
                self.came.push(runs);
            }
        }
    }

    pub fn host(&self) -> Segments {
        Segments::new().with(BASE, self.memory.clone())
    }

    /// The host writes a region's entry, the last word last.
    pub fn describe(&mut self, at: u64, entry: &[u8]) {
        for (word, bytes) in entry.chunks(4).enumerate() {
            let data = u32::from_le_bytes(bytes.try_into().unwrap());
            for (port, value) in [("region", at), ("word", word as u64), ("data", data.into())] {
                self.bench.set(format!("word_{port}"), value);
            }
            self.pulse("word_valid");
        }
    }

    /// A queue pair takes a receive.
    pub fn take(&mut self, qp: u64, regions: &[Region]) {
        let mut index = 0;
        // The slot is one that no other receive has.
        self.slot = (self.slot + 37) % MANY_RECEIVES as u64;
        for (k, region) in regions.iter().enumerate() {
            for granule in granules(region).chunks(GRANULE) {
                self.bench.set("granule_data", Word::from_bytes(granule));
                let of_last = u64::from(k + 1 == regions.len());
                let ports = [
                    ("qp", qp),
                    ("slot", self.slot),
                    ("index", index),
                    ("kind", region.kind() as u64),
                    ("of_last", of_last),
                ];
                for (port, value) in ports {
                    self.bench.set(format!("granule_{port}"), value);
                }
                self.pulse("granule_valid");
                index += 1;
            }
        }
        assert!(index <= 32, "{index} granules");
    }

    /// Asks about a packet; returns the block's answer.
    pub fn ask(&mut self, ask: Beat) -> Verdict {
        self.asked = ask.u64("bytes");
        self.bench.send(self.ask, ask);
        for _ in 0..500_000 {
            self.step();
            let told = self.told.borrow_mut().take();
            if let Some(told) = told {
                return told;
            }
        }
        panic!("nothing is told");
    }

    pub fn settle(&mut self, placed: bool) {
        if placed {
            self.lengths.push_back(self.asked);
        }
        self.bench.set("settle_placed", u64::from(placed));
        self.pulse("settle_valid");
    }
}

/// A message of a queue pair.
pub struct Message {
    pub qp: u64,
    /// Number of the described key's region; none if the message goes to a receive.
    pub key: Option<u64>,
    pub region: Option<Region>,
    pub scatter: Option<Scatter>,
    pub capacity: u64,
    pub at: u64,
    pub left: u64,
    pub first: bool,
    pub skip: u64,
}

impl Message {
    /// A message of queue pair 1 to a described key, from byte `at` of its region on.
    pub fn to_key(key: u64, at: u64) -> Self {
        Self {
            qp: 1,
            key: Some(key),
            region: None,
            scatter: None,
            capacity: 0,
            at,
            left: 0,
            first: true,
            skip: 0,
        }
    }

    pub fn beat(&self, bytes: u64) -> Beat {
        Beat::from([
            ("receive", self.key.is_none().into()),
            ("qp", self.qp),
            ("pd", PD.into()),
            ("region", self.key.unwrap_or(0)),
            ("addr", self.at),
            ("bytes", bytes),
            ("first", self.first.into()),
            ("skip", self.skip),
        ])
    }

    /// Places of the next packet's bytes, or the answer that it gets.
    pub fn expected(
        &mut self,
        around: &Around<'_>,
        bytes: u64,
    ) -> Result<Vec<(u64, u64)>, Verdict> {
        let memory = around.host();
        if let Some(region) = &self.region {
            let part = (self.at, bytes as u32);
            let places = fragments(region, rights::REMOTE_WRITE, PD, part, &Memories, &memory)
                .map_err(|error| match error {
                    Unreachable::End => Verdict::Outside,
                    Unreachable::Memory => Verdict::Unreachable,
                })?;
            return Ok(merged(places.iter().map(|place| (place.addr, place.len.into()))));
        }
        if self.at + self.skip + bytes > self.capacity {
            return Err(Verdict::Outside);
        }
        let recorder = Recorder { memory, written: RefCell::default() };
        let scatter = self.scatter.as_mut().expect("a receive");
        scatter.skip(&recorder, self.skip as usize).expect("it fits");
        scatter.write(&recorder, &vec![0; bytes as usize]).expect("it fits");
        Ok(merged(recorder.written.into_inner()))
    }
}
