//! The activity of a card, interval by interval, from its counters.

mod json;
mod load;
mod rates;
mod view;

use std::{
    io,
    time::{Duration, Instant},
};

use drdma_abi::register::COUNTERS;
use drdma_driver::{CardError, Device};
use drdma_sim::wire::Network;
use libdrdma::{Context, Status, WorkCompletion};

use crate::{
    device,
    run::{Observer, RunError},
};
pub use json::Json;
pub use load::{demo, row_bytes};
pub use rates::{Clock, Lost, Rates, Sample};
pub use view::{Screen, View};

/// Time that a key may wait until it is read.
const KEYS: Duration = Duration::from_millis(50);

/// Display of intervals.
pub trait Show {
    /// Shows an interval that is over; false if the display was closed.
    ///
    /// # Errors
    /// The interval cannot be shown.
    fn show(&mut self, rates: &Rates) -> io::Result<bool>;

    /// Called between intervals; false if the user wants to stop.
    ///
    /// # Errors
    /// The user's input cannot be read.
    fn go_on(&mut self) -> io::Result<bool> {
        Ok(true)
    }
}

/// Options of watching.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Time from one interval to the next.
    pub interval: Duration,
    /// Number of intervals to show; `None` for no end.
    pub count: Option<u64>,
    /// Clock that rates are measured by.
    pub clock: Clock,
    /// Bytes of a row, if they are known.
    pub row_bytes: Option<u64>,
}

/// Reads a card's counters at every interval and shows how they changed.
pub struct Watch<'a> {
    options: Options,
    show: &'a mut dyn Show,
    network: Option<Network>,
    started: Instant,
    before: Option<Sample>,
    shown: u64,
    keys: Instant,
}

impl<'a> Watch<'a> {
    /// Starts watching at the first turn.
    pub fn new(options: Options, show: &'a mut dyn Show) -> Self {
        let now = Instant::now();
        Self { options, show, network: None, started: now, before: None, shown: 0, keys: now }
    }

    /// Makes the watch end with an error when this network finds one.
    #[must_use]
    pub fn on(mut self, network: &Network) -> Self {
        self.network = Some(network.clone());
        self
    }

    /// Shows an interval if one is over; false if the watch should end.
    ///
    /// # Errors
    /// The counters cannot be read or shown.
    fn look(
        &mut self,
        sample: impl FnOnce(Duration) -> Result<Sample, CardError>,
    ) -> Result<bool, RunError> {
        let now = Instant::now();
        if now - self.keys >= KEYS {
            self.keys = now;
            if !self.show.go_on()? {
                return Ok(false);
            }
        }
        let at = now - self.started;
        let Some(before) = &self.before else {
            self.before = Some(sample(at)?);
            return Ok(true);
        };
        if at < before.at + self.options.interval {
            return Ok(true);
        }
        if let Some(network) = &self.network
            && let Some(complaints) = device::complaints(&network.errors())
        {
            return Err(RunError::Wire(complaints));
        }
        let after = sample(at)?;
        let rates = Rates::between(before, &after, &self.options);
        self.before = Some(after);
        self.shown += 1;
        Ok(self.show.show(&rates)? && Some(self.shown) != self.options.count)
    }
}

/// Watches while a job runs.
impl Observer for Watch<'_> {
    fn completed(&mut self, completion: &WorkCompletion) -> Result<(), RunError> {
        match completion.status {
            Status::Success => Ok(()),
            status => Err(RunError::Status { wr_id: completion.wr_id, status }),
        }
    }

    fn turn(&mut self, context: &Context) -> Result<bool, RunError> {
        self.look(|at| Ok(Sample { at, counters: context.counters()?.iter().collect() }))
    }

    fn activity(&self) -> u64 {
        // The number of frames is among the counters that are read anyway.
        self.before.as_ref().map_or(0, |sample| sample.get("PACKETS"))
    }
}

/// Watches a card that another process uses: the card is only read.
///
/// # Errors
/// The card failed, or its activity cannot be shown.
pub fn watch(device: &mut Device, options: Options, show: &mut dyn Show) -> Result<(), RunError> {
    let mut watch = Watch::new(options, show);
    loop {
        let go_on = watch.look(|at| {
            let read = |counter: &drdma_abi::register::Counter| {
                Ok((counter.name, device.counter(*counter)?))
            };
            Ok(Sample { at, counters: COUNTERS.iter().map(read).collect::<Result<_, _>>()? })
        })?;
        if !go_on {
            return Ok(());
        }
        device.progress()?;
        std::thread::sleep(options.interval.min(Duration::from_millis(10)));
    }
}

#[cfg(test)]
mod tests;
