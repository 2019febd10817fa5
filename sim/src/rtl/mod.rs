//! The Verilated card where Corundum stands: at the ports of `mqnic_app_block`.
//!
//! | module | |
//! |---|---|
//! | [`axil`] | register accesses through the application's AXI-Lite port |
//! | [`mac`] | the interface's streams: frames to the wire at 100 Gb/s, frames from the wire, host traffic |
//! | [`crate::pcie`] | the DMA ports |
//!
//! One clock, 250 MHz. Time passes only inside [`Card`] calls: a register access takes the cycles that
//! the handshakes take, `progress` a fixed number.

pub mod axil;
pub mod mac;

use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use drdma_abi::register::{ASSEMBLER_WORDS, COLUMN_MIN_ROWS, COUNTER_CLEAR, DOORBELLS, STATUS};
use drdma_driver::{Card, CardError, DmaMemory};
use drdma_hdl::primitive::app_block;
use drdma_verilated::coverage::Counting;
use drdma_verilated::{Library, Model, Options, PortHandle, Source, Watch};

use crate::pcie::{
    self,
    engine::{AccessLog, Engine, ReadLog},
    usage::Usage,
};
use axil::Axil;
use drdma_soft::{
    clock::{NS_PER_CYCLE, SimClock},
    host::Host,
    slot::Slot,
    uri::OpenError,
    wire::Network,
};
use mac::Mac;

/// Cycles in one call of `progress`, by default.
pub const CYCLES_PER_PROGRESS: u64 = 256;
/// Cycles after reset in which the card clears its memories.
const RESET_CYCLES: u64 = 1_200;
/// Cycles from a frame to its packet at the queue pair, at most, and some more.
const LOOK_UP: u64 = 256;

/// Configuration of the simulated card.
#[derive(Clone, Debug)]
pub struct Config {
    /// The host and its PCIe link.
    pub pcie: pcie::Config,
    /// File of a waveform (FST), if one is to be written.
    pub trace: Option<PathBuf>,
    /// Cycles in one call of `progress`.
    pub cycles_per_progress: u64,
    /// Value of `COLUMN_MIN_ROWS` from the start; `None` for that after reset.
    pub column_rows: Option<u32>,
    /// Value of `ASSEMBLER_WORDS` from the start, 1 to 16; `None` for that after reset.
    pub words: Option<u32>,
    /// The card's Verilog, as `cargo xtask verilog` writes it, instead of the one that this program emits:
    /// another version of the card with the same registers and layouts.
    pub verilog: Option<PathBuf>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            pcie: pcie::Config::default(),
            trace: None,
            cycles_per_progress: CYCLES_PER_PROGRESS,
            column_rows: None,
            words: None,
            verilog: None,
        }
    }
}

impl Config {
    /// Refuses values that no PCIe link, or no assembler, has, and a trace that cannot be written: its
    /// file is made, if it is not there.
    ///
    /// # Errors
    /// The first option whose value is wrong.
    pub fn check(&self) -> Result<(), OpenError> {
        let wrong = |option: &str, value: String, reason: &str| {
            Err(OpenError::Value { option: option.into(), value, reason: reason.into() })
        };
        let pcie = &self.pcie;
        for (option, value) in [("mrrs", pcie.max_read_request), ("mps", pcie.max_payload)] {
            if !value.is_power_of_two() || !(128..=4096).contains(&value) {
                return wrong(option, value.to_string(), "must be a power of two, 128 to 4096");
            }
        }
        if !(1..=1024).contains(&pcie.tags) {
            return wrong("pcie_tags", pcie.tags.to_string(), "must be 1 to 1024");
        }
        if !(0.0..1.0).contains(&pcie.stall) {
            return wrong("stall", pcie.stall.to_string(), "must be at least 0 and below 1");
        }
        if let Some(words) = self.words.filter(|words| !(1..=16).contains(words)) {
            return wrong("words", words.to_string(), "must be 1 to 16");
        }
        if let Some(path) = &self.trace {
            // A file that cannot be written is refused before the minutes that building may take.
            if let Err(error) = File::options().create(true).append(true).open(path) {
                return wrong("trace", path.display().to_string(), &error.to_string());
            }
        }
        Ok(())
    }
}

/// The published Verilog with the parameters of a U50, ready to be built.
///
/// # Errors
/// If the card cannot be emitted.
pub fn source() -> Result<Source, CardError> {
    let file = drdma_hdl::top::file().map_err(|error| CardError::Failed(error.to_string()))?;
    Ok(source_of(file))
}

/// Like [`source`], with the Verilog in `file`.
fn source_of(file: String) -> Source {
    let source = Source::new(app_block::NAME)
        .verilog(format!("{}.v", app_block::NAME), file)
        .ports(app_block::ports(app_block::U50));
    app_block::U50.iter().fold(source, |source, (name, value)| source.parameter(*name, *value))
}

/// The loaded cards, with and without traces, by the file of their Verilog; emitted or read, and built, at
/// the first use in a process.
static LIBRARIES: Mutex<BTreeMap<(bool, Option<PathBuf>), Library>> = Mutex::new(BTreeMap::new());

/// Why the card was not built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The Verilog was not emitted.
    #[error(transparent)]
    Emit(CardError),
    /// Verilator, the C++ compiler or the cache of built models failed.
    #[error(transparent)]
    Verilated(#[from] drdma_verilated::Error),
}

/// Builds the card, or that of another file of Verilog, with or without traces, or finds it built; `watch`
/// is called at every step. Every card of this process is then opened without a delay.
///
/// # Errors
/// See [`BuildError`].
pub fn build(
    trace: bool,
    verilog: Option<&Path>,
    watch: &mut dyn Watch,
) -> Result<Library, BuildError> {
    // The lock is held while the card is built: other threads wait for this build.
    let mut libraries = LIBRARIES.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (trace, verilog.map(Path::to_owned));
    if let Some(library) = libraries.get(&key) {
        return Ok(library.clone());
    }
    let source = match verilog {
        None => source().map_err(BuildError::Emit)?,
        Some(path) => source_of(fs::read_to_string(path).map_err(|error| {
            BuildError::Emit(CardError::Failed(format!("{}: {error}", path.display())))
        })?),
    };
    let optimise = if trace { 0 } else { 1 };
    let options = Options { trace, optimise, coverage: Counting::Nothing };
    let built = source.build_watched(&options, watch)?;
    libraries.insert(key, built.clone());
    Ok(built)
}

/// The card's RTL with host memory, PCIe and wire around it.
pub struct RtlCard {
    model: Model,
    rst: PortHandle,
    engine: Engine,
    axil: Axil,
    mac: Mac,
    host: Host,
    clock: SimClock,
    cycle: u64,
    /// Cycle in which the last frame was received or sent.
    framed: u64,
    usage: Arc<Mutex<Usage>>,
    data_reads: Option<ReadLog>,
    accesses: Option<AccessLog>,
    config: Config,
}

impl RtlCard {
    /// Builds the RTL (or finds it built), and resets it.
    ///
    /// # Errors
    /// If Verilator or the C++ compiler is missing or fails, or the card does not answer.
    pub fn new(config: Config, network: Network) -> Result<Self, CardError> {
        let failed = |error: drdma_verilated::Error| CardError::Failed(error.to_string());
        let library = build(config.trace.is_some(), config.verilog.as_deref(), &mut ())
            .map_err(|error| CardError::Failed(error.to_string()))?;
        let mut model = library.instance(config.pcie.seed);
        if let Some(path) = &config.trace {
            model.open_trace(path).map_err(failed)?;
        }
        for port in library.ports() {
            if port.direction == drdma_verilated::Direction::Input {
                model.set(&port.name, 0);
            }
        }
        let clock = network.clock().clone();
        let mut card = Self {
            rst: library.port("rst").map_err(failed)?,
            engine: Engine::new(&library, config.pcie.clone()).map_err(failed)?,
            axil: Axil::new(&library).map_err(failed)?,
            mac: Mac::new(&library, network, config.pcie.stall, config.pcie.seed)
                .map_err(failed)?,
            model,
            host: Host::default(),
            clock,
            cycle: 0,
            framed: 0,
            usage: Arc::default(),
            data_reads: None,
            accesses: None,
            config,
        };
        card.leave_reset()?;
        Ok(card)
    }

    /// Resets the shell and the card in it. Everything that was under way is lost; memory stays mapped.
    ///
    /// # Errors
    /// The card does not answer afterwards.
    pub fn reset_shell(&mut self) -> Result<(), CardError> {
        let failed = |error: drdma_verilated::Error| CardError::Failed(error.to_string());
        let library = self.model.library().clone();
        self.engine = Engine::new(&library, self.config.pcie.clone()).map_err(failed)?;
        if let Some(log) = &self.data_reads {
            self.engine.log_data_reads(Arc::clone(log));
        }
        if let Some(log) = &self.accesses {
            self.engine.log_accesses(Arc::clone(log));
        }
        self.axil = Axil::new(&library).map_err(failed)?;
        self.mac.reset();
        for port in library.ports() {
            if port.direction == drdma_verilated::Direction::Input && port.name != "clk" {
                self.model.set(&port.name, 0);
            }
        }
        self.leave_reset()
    }

    /// Ends the card's reset, while nothing happens at its ports.
    fn leave_reset(&mut self) -> Result<(), CardError> {
        self.model.set(self.rst, 1);
        (0..8).for_each(|_| self.model.cycle());
        self.model.set(self.rst, 0);
        (0..RESET_CYCLES).for_each(|_| self.step());
        let set =
            [(COLUMN_MIN_ROWS, self.config.column_rows), (ASSEMBLER_WORDS, self.config.words)];
        for (register, value) in set {
            if let Some(value) = value {
                self.write(register.offset, value)?;
            }
        }
        Ok(())
    }

    /// What the card's reads used of the host's limits since the shell's reset. It goes on counting where
    /// the card is out of reach.
    pub fn usage(&self) -> Arc<Mutex<Usage>> {
        Arc::clone(&self.usage)
    }

    /// Logs the reads that fill the segmented memory from now on, as they are given to the shell. The log goes on
    /// when the card has been given away.
    pub fn data_reads(&mut self) -> ReadLog {
        let log = self.data_reads.get_or_insert_default();
        self.engine.log_data_reads(Arc::clone(log));
        Arc::clone(log)
    }

    /// Logs all reads and writes of host memory from now on, as they are given to the shell. The log goes on when
    /// the card has been given away.
    pub fn accesses(&mut self) -> AccessLog {
        let log = self.accesses.get_or_insert_default();
        self.engine.log_accesses(Arc::clone(log));
        Arc::clone(log)
    }

    /// Number of cycles since reset.
    pub fn cycles(&self) -> u64 {
        self.cycle
    }

    /// The host's own Ethernet traffic, which passes the card.
    pub fn mac(&mut self) -> &mut Mac {
        &mut self.mac
    }

    /// Simulates one clock cycle.
    pub fn step(&mut self) {
        let model = &mut self.model;
        self.engine.drive(model, self.cycle);
        self.axil.drive(model);
        self.mac.drive(model, self.cycle);
        model.settle();
        self.engine.sample(model, self.cycle, &self.host);
        *self.usage.lock().unwrap_or_else(PoisonError::into_inner) = self.engine.usage();
        self.axil.sample(model);
        self.mac.sample(model, self.cycle);
        model.tick();
        if !self.mac.is_idle() {
            self.framed = self.cycle;
        }
        self.cycle += 1;
    }

    /// Runs until the register access that is under way is complete.
    fn finish_access(&mut self) -> Result<u32, CardError> {
        for _ in 0..axil::LIMIT {
            self.step();
            if let Some(value) = self.axil.take() {
                return Ok(value);
            }
        }
        Err(CardError::Failed(format!(
            "a register access was not answered within {} cycles",
            axil::LIMIT
        )))
    }

    fn check(offset: u32) -> Result<(), CardError> {
        match offset < drdma_abi::register::BAR2_SIZE && offset.is_multiple_of(4) {
            true => Ok(()),
            false => Err(CardError::Register { offset }),
        }
    }
}

impl Card for RtlCard {
    fn read(&mut self, offset: u32) -> Result<u32, CardError> {
        Self::check(offset)?;
        self.axil.read(offset);
        self.finish_access()
    }

    fn write(&mut self, offset: u32, value: u32) -> Result<(), CardError> {
        Self::check(offset)?;
        if offset == COUNTER_CLEAR.offset {
            self.clock.cleared();
        } else if (DOORBELLS.offset..DOORBELLS.entry(DOORBELLS.entries)).contains(&offset) {
            self.clock.doorbell(self.cycle as f64 * NS_PER_CYCLE);
        }
        self.axil.write(offset, value);
        self.finish_access().map(|_| ())
    }

    fn map(&mut self, iova: u64, memory: &DmaMemory) -> Result<(), CardError> {
        self.host.map(iova, memory)
    }

    fn unmap(&mut self, iova: u64) -> Result<(), CardError> {
        self.host.unmap(iova)
    }

    fn progress(&mut self) -> Result<(), CardError> {
        (0..self.config.cycles_per_progress.max(1)).for_each(|_| self.step());
        if self.model.finished() {
            return Err(CardError::Failed("the design executed $finish".into()));
        }
        Ok(())
    }
}

impl Slot for RtlCard {
    fn host(&mut self) -> &mut Host {
        &mut self.host
    }

    fn reset_function(&mut self) -> Result<(), CardError> {
        self.reset_shell()
    }

    fn is_quiet(&mut self) -> Result<bool, CardError> {
        // A frame does not count as work before its queue pair is known.
        let looked_up = self.cycle - self.framed > LOOK_UP;
        Ok(looked_up && self.engine.is_idle() && self.read(STATUS.offset)? == 0)
    }

    fn activity(&self) -> u64 {
        let dma = self.engine.statistics();
        dma.reads + dma.writes
    }

    fn now_ns(&self) -> u64 {
        (self.cycle as f64 * NS_PER_CYCLE) as u64
    }

    fn take_host_frames(&mut self) -> u64 {
        // On a board the NIC's own driver would get these.
        self.mac.completed_to_host();
        self.mac.sent_by_host();
        self.mac.received_by_host().len() as u64
    }
}

#[cfg(test)]
mod tests;
