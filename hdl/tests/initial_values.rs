//! Initial values of the whole card.

use drdma_emit::assigned;

/// Every register that is assigned at an edge in the card's text has an initial value, however its leaf gives it.
#[test]
fn no_assignment_of_the_card_is_missed() {
    let core = drdma_hdl::top::core().expect("the card can be emitted").verilog;
    for (number, line) in core.lines().enumerate().filter(|(_, line)| line.contains(" <= ")) {
        let statement = line.trim_end().ends_with(';') && !line.contains(" = ");
        let clear = assigned(line).is_some() || !statement;
        assert!(clear, "line {}: {line}", number + 1);
    }
}
