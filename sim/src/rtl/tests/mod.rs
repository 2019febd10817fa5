//! The whole card's RTL in its host.

mod faults;
mod host_traffic;
mod links;
mod throughput;

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use crate::{
    cards::rig::Rig,
    pcie,
    rtl::{Config, RtlCard},
    wire::Network,
};

/// A rig around the hardware behind that link; a call of `progress` is so many cycles.
fn rig(pcie: pcie::Config, cycles_per_progress: u64) -> Rig<RtlCard> {
    rig_on(Network::new(), pcie, cycles_per_progress)
}

/// The same, plugged into `network`.
fn rig_on(network: Network, pcie: pcie::Config, cycles_per_progress: u64) -> Rig<RtlCard> {
    let config = Config { pcie, cycles_per_progress, ..Config::default() };
    Rig::around(RtlCard::new(config, network.clone()).expect("the card's RTL"), network)
}

/// An output that its writer gives away and the test still sees.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
