//! A clocked bench around a [`Model`]: reset, stream drivers and monitors, a cycle limit.
//!
//! A stream `s` has the ports `s_valid`, `s_ready` (may be absent: always ready) and payload
//! ports `s_*`. A beat moves at every clock edge at which valid and ready are both high. Once
//! valid is high, it stays high and the payload stays the same until the beat has moved; the
//! bench fails when the design breaks this.
//!
//! A cycle: [`Bench::before`] hooks, drivers and monitors set inputs; the design settles;
//! [`Bench::respond`] hooks may answer combinationally; [`Bench::observe`] hooks look; beats are
//! counted; the clock rises.

mod beat;
mod random;
mod stream;

pub use beat::Beat;
pub use random::Random;

use crate::{Direction, Model, PortHandle, PortRef, Word};
use stream::{Driver, Monitor};

/// Pairs of stall probabilities (of the drivers, of the monitors) that every block should bear.
pub const STALLS: [(f64, f64); 6] =
    [(0.0, 0.0), (0.5, 0.0), (0.0, 0.5), (0.5, 0.5), (0.9, 0.1), (0.1, 0.9)];

/// Cycles that `rst` is high in a reset.
const RESET_CYCLES: u64 = 4;

/// A stream that the bench drives.
#[derive(Clone, Copy, Debug)]
pub struct DriverId(usize);

/// A stream that the bench receives.
#[derive(Clone, Copy, Debug)]
pub struct MonitorId(usize);

type Hook<'a> = Box<dyn FnMut(&mut Model, u64) + 'a>;

/// A model with a clock `clk`, a synchronous reset `rst`, streams and hooks.
pub struct Bench<'a> {
    model: Model,
    random: Random,
    drivers: Vec<Driver>,
    monitors: Vec<Monitor>,
    before: Vec<Hook<'a>>,
    respond: Vec<Hook<'a>>,
    observe: Vec<Hook<'a>>,
    cycle: u64,
    limit: u64,
}

impl<'a> Bench<'a> {
    /// A bench around `model` whose stalls are drawn from `seed`. All inputs are zero; the
    /// design has been reset.
    pub fn new(model: Model, seed: u64) -> Self {
        let mut bench = Self {
            model,
            random: Random::new(seed),
            drivers: Vec::new(),
            monitors: Vec::new(),
            before: Vec::new(),
            respond: Vec::new(),
            observe: Vec::new(),
            cycle: 0,
            limit: 100_000,
        };
        if let Some(path) = std::env::var_os("DRDMA_VERILATED_TRACE") {
            bench.model.open_trace(path).unwrap_or_else(|e| panic!("{e}"));
        }
        for index in 0..bench.model.library().ports().len() {
            let port = bench.model.library().ports()[index].clone();
            if port.direction == Direction::Input {
                bench.model.set(&port.name, 0);
            }
        }
        bench.reset();
        bench
    }

    /// Fails a run that takes more than this many cycles from the start (100,000 by default).
    pub fn limit(&mut self, cycles: u64) {
        self.limit = cycles;
    }

    /// Holds `rst` high for some cycles, if the design has it. Beats that drivers had queued are dropped.
    pub fn reset(&mut self) {
        for driver in &mut self.drivers {
            driver.clear(&mut self.model);
        }
        for monitor in &mut self.monitors {
            monitor.clear(&mut self.model);
        }
        if let Ok(reset) = self.model.port("rst") {
            self.model.set(reset, 1);
            (0..RESET_CYCLES).for_each(|_| self.model.cycle());
            self.model.set(reset, 0);
        }
    }

    /// Drives stream `base`; its payload ports are all inputs `base_*`.
    ///
    /// # Panics
    /// There is no input `base_valid`.
    pub fn driver(&mut self, base: &str) -> DriverId {
        self.drivers.push(Driver::new(&self.model, base));
        DriverId(self.drivers.len() - 1)
    }

    /// Receives stream `base`; its payload ports are all outputs `base_*`.
    ///
    /// # Panics
    /// There is no output `base_valid`.
    pub fn monitor(&mut self, base: &str) -> MonitorId {
        self.monitors.push(Monitor::new(&self.model, base));
        MonitorId(self.monitors.len() - 1)
    }

    /// Makes a driver leave a gap before a beat with this probability, every cycle.
    pub fn stall_driver(&mut self, driver: DriverId, probability: f64) {
        self.drivers[driver.0].stall = probability;
    }

    /// Makes a monitor not ready with this probability, every cycle.
    pub fn stall_monitor(&mut self, monitor: MonitorId, probability: f64) {
        self.monitors[monitor.0].stall = probability;
    }

    /// Sets the stalls of all present drivers and monitors.
    pub fn stall(&mut self, (drivers, monitors): (f64, f64)) {
        self.drivers.iter_mut().for_each(|d| d.stall = drivers);
        self.monitors.iter_mut().for_each(|m| m.stall = monitors);
    }

    /// Queues a beat.
    ///
    /// # Panics
    /// The beat has a field that the stream does not have.
    pub fn send(&mut self, driver: DriverId, beat: Beat) {
        self.drivers[driver.0].send(beat);
    }

    /// Queues beats.
    ///
    /// # Panics
    /// A beat has a field that the stream does not have.
    pub fn send_all(&mut self, driver: DriverId, beats: impl IntoIterator<Item = Beat>) {
        beats.into_iter().for_each(|beat| self.send(driver, beat));
    }

    /// Beats that have not moved yet.
    pub fn pending(&self, driver: DriverId) -> usize {
        self.drivers[driver.0].pending()
    }

    /// The cycles in which a driver's beats moved.
    pub fn sent_at(&self, driver: DriverId) -> &[u64] {
        &self.drivers[driver.0].moved_at
    }

    /// Beats that a monitor has received since they were last taken.
    pub fn received(&self, monitor: MonitorId) -> &[Beat] {
        &self.monitors[monitor.0].beats
    }

    /// Takes the beats that a monitor has received.
    pub fn take(&mut self, monitor: MonitorId) -> Vec<Beat> {
        std::mem::take(&mut self.monitors[monitor.0].beats)
    }

    /// The cycles in which a monitor's beats moved, since the start.
    pub fn received_at(&self, monitor: MonitorId) -> &[u64] {
        &self.monitors[monitor.0].moved_at
    }

    /// Runs `hook` every cycle before the inputs settle: drive registered inputs here.
    pub fn before(&mut self, hook: impl FnMut(&mut Model, u64) + 'a) {
        self.before.push(Box::new(hook));
    }

    /// Runs `hook` every cycle after the inputs settled; they settle again after it. For answers
    /// in the same cycle, such as of a memory that is read asynchronously.
    pub fn respond(&mut self, hook: impl FnMut(&mut Model, u64) + 'a) {
        self.respond.push(Box::new(hook));
    }

    /// Runs `hook` every cycle just before the rising edge: sample here.
    pub fn observe(&mut self, hook: impl FnMut(&mut Model, u64) + 'a) {
        self.observe.push(Box::new(hook));
    }

    /// Drives an input that belongs to no stream.
    ///
    /// # Panics
    /// The port is unknown, an output, or too narrow for the value.
    pub fn set(&mut self, port: impl PortRef, value: impl Into<Word>) {
        self.model.set_word(port, &value.into());
    }

    /// The low 64 bits of a port, as of the last clock edge.
    ///
    /// # Panics
    /// The port is unknown.
    pub fn get(&self, port: impl PortRef) -> u64 {
        self.model.get(port)
    }

    /// A port, as of the last clock edge.
    ///
    /// # Panics
    /// The port is unknown.
    pub fn get_word(&self, port: impl PortRef) -> Word {
        self.model.get_word(port)
    }

    /// The model of the bench.
    pub fn model(&mut self) -> &mut Model {
        &mut self.model
    }

    /// A port's handle.
    ///
    /// # Panics
    /// The port is unknown.
    pub fn port(&self, name: &str) -> PortHandle {
        name.handle(self.model.library())
    }

    /// The bench's source of randomness.
    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// Cycles since the first reset.
    pub fn cycles(&self) -> u64 {
        self.cycle
    }

    /// Runs one cycle.
    ///
    /// # Panics
    /// The design breaks the protocol of a stream, or the cycle limit is reached.
    pub fn step(&mut self) {
        assert!(self.cycle < self.limit, "no end after {} cycles: {}", self.cycle, self.status());
        let (model, cycle) = (&mut self.model, self.cycle);
        self.before.iter_mut().for_each(|hook| hook(model, cycle));
        self.drivers.iter_mut().for_each(|driver| driver.drive(model, &mut self.random));
        self.monitors.iter_mut().for_each(|monitor| monitor.drive(model, &mut self.random));
        if !self.respond.is_empty() {
            if let Ok(clock) = model.port("clk") {
                model.set(clock, 0);
            }
            model.eval();
            self.respond.iter_mut().for_each(|hook| hook(model, cycle));
        }
        model.settle();
        self.observe.iter_mut().for_each(|hook| hook(model, cycle));
        self.drivers.iter_mut().for_each(|driver| driver.sample(model, cycle));
        self.monitors.iter_mut().for_each(|monitor| monitor.sample(model, cycle));
        model.tick();
        self.cycle += 1;
    }

    /// Runs `cycles` cycles.
    ///
    /// # Panics
    /// As [`step`](Self::step).
    pub fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    /// Runs cycles until `done` returns true.
    ///
    /// # Panics
    /// As [`step`](Self::step).
    pub fn run_until(&mut self, mut done: impl FnMut(&Self) -> bool) {
        while !done(self) {
            self.step();
        }
    }

    /// Runs cycles until a monitor has `count` beats, and some more to check that no other follows.
    ///
    /// # Panics
    /// As [`step`](Self::step), or more than `count` beats come.
    pub fn run_until_received(&mut self, monitor: MonitorId, count: usize) {
        self.run_until(|bench| bench.received(monitor).len() >= count);
        self.run(32);
        let received = self.received(monitor).len();
        assert_eq!(received, count, "{}: beats too many", self.monitors[monitor.0].base);
    }

    fn status(&self) -> String {
        let drivers = self.drivers.iter().map(|d| d.status(&self.model));
        let monitors = self.monitors.iter().map(|m| m.status(&self.model));
        drivers.chain(monitors).collect::<Vec<_>>().join("; ")
    }
}
