//! The card's tables, for benches of single blocks.

use drdma_verilated::testbench::Bench;
use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;

/// Entries whose flag is set; the test may change them at any time.
pub(crate) type Flagged = Rc<RefCell<HashSet<u64>>>;

/// Answers a block that names an entry on port `next` with its flag on port `flag`, a cycle later.
pub(crate) fn answer_flag(bench: &mut Bench<'_>, next: &str, flag: &str) -> Flagged {
    let flagged = Flagged::default();
    let shown = Rc::clone(&flagged);
    let (next, flag) = (bench.port(next), bench.port(flag));
    let asked = Rc::new(RefCell::new(0));
    let asking = Rc::clone(&asked);
    bench.observe(move |model, _| *asking.borrow_mut() = model.get(next));
    bench.before(move |model, _| {
        model.set(flag, u64::from(shown.borrow().contains(&asked.borrow())));
    });
    flagged
}

/// Clears one entry of every table a cycle, as the card does after a reset.
pub(crate) fn clear_tables(bench: &mut Bench<'_>) {
    bench.set("cfg_valid", 1);
    bench.set("cfg_table", super::EVERY_TABLE);
    bench.set("cfg_word", 15);
    bench.set("cfg_data", 0);
    for index in 0..1_u64 << super::INDEX {
        bench.set("cfg_index", index);
        bench.step();
    }
    bench.set("cfg_valid", 0);
    bench.set("cfg_table", 0);
}
