//! The whole card's RTL in its host.

mod faults;
mod host_traffic;
mod links;
mod queue_pairs;
mod resets;
mod throughput;

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use drdma_abi::register::{COLUMN_MIN_ROWS, CONTROL};

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

#[test]
fn the_option_column_rows_sets_its_register_until_the_card_is_gone() {
    for (uri, rows) in [("rtl:?column_rows=1", 1), ("rtl:?column_rows=0", 0), ("rtl:", 256)] {
        let mut card = crate::open(uri, Network::new()).expect("the card's RTL");
        assert_eq!(card.read(COLUMN_MIN_ROWS.offset).unwrap(), rows, "{uri}");
        // As whoever opens the card does.
        card.write(CONTROL.offset, 2).unwrap();
        assert_eq!(card.read(COLUMN_MIN_ROWS.offset).unwrap(), rows, "{uri}, after a soft reset");
    }
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
