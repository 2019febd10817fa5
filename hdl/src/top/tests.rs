use drdma_verilated::Source;

use super::file;
use crate::primitive::app_block;

/// The published module as a design, with the parameters of a U50.
fn source() -> Source {
    let source = Source::new(app_block::NAME)
        .verilog("mqnic_app_block.v", file().unwrap_or_else(|error| panic!("{error}")))
        .ports(app_block::ports(app_block::U50));
    app_block::U50.iter().fold(source, |source, (name, value)| source.parameter(*name, *value))
}

#[test]
fn the_published_verilog_is_lint_clean() {
    let warnings = source().lint().unwrap_or_else(|error| panic!("{error}"));
    let warnings: Vec<_> = warnings.iter().map(ToString::to_string).collect();
    assert!(warnings.is_empty(), "{}", warnings.join("\n"));
}
