//! The whole card's RTL in its host.

mod faults;
mod fuzz;
mod host_traffic;
mod links;
mod parts;
mod queue_pairs;
mod resets;
mod responder;
mod silent;
mod small;
mod throughput;
mod words;

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use drdma_abi::register::{ASSEMBLER_WORDS, COLUMN_MIN_ROWS, CONTROL};

use crate::{
    cards::rig::Rig,
    pcie,
    rtl::{Config, RtlCard},
};
use drdma_soft::wire::Network;

/// A rig around the hardware behind that link, with the number of cycles in a call of `progress`.
fn rig(pcie: pcie::Config, cycles_per_progress: u64) -> Rig<RtlCard> {
    rig_on(Network::new(), pcie, cycles_per_progress)
}

/// Like [`rig`], plugged into `network`.
fn rig_on(network: Network, pcie: pcie::Config, cycles_per_progress: u64) -> Rig<RtlCard> {
    let config = Config { pcie, cycles_per_progress, ..Config::default() };
    Rig::around(RtlCard::new(config, network.clone()).expect("the card's RTL"), network)
}

#[test]
fn options_set_their_registers_until_the_card_is_gone() {
    for (uri, register, value) in [
        ("rtl:?column_rows=1", COLUMN_MIN_ROWS, 1),
        ("rtl:?column_rows=0", COLUMN_MIN_ROWS, 0),
        ("rtl:", COLUMN_MIN_ROWS, 96),
        ("rtl:?words=1", ASSEMBLER_WORDS, 1),
        ("rtl:", ASSEMBLER_WORDS, 16),
    ] {
        let mut card = crate::open(uri, Network::new()).expect("the card's RTL");
        assert_eq!(card.read(register.offset).unwrap(), value, "{uri}");
        // A soft reset, as software does it that opens the card.
        card.write(CONTROL.offset, 2).unwrap();
        assert_eq!(card.read(register.offset).unwrap(), value, "{uri}, after a soft reset");
    }
}

#[test]
fn an_assembler_reads_1_to_16_words() {
    for words in ["0", "17"] {
        let uri = format!("rtl:?words={words}");
        let error = crate::open(&uri, Network::new()).err().expect("refused").to_string();
        assert_eq!(error, format!("option `words` is `{words}`: must be 1 to 16"));
    }
}

/// A writer that is given away, whose bytes the test can still read.
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
