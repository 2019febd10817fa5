use std::sync::LazyLock;

use drdma_verilated::Source;

use super::file;
use crate::primitive::app_block;

/// The published file's text.
static FILE: LazyLock<String> = LazyLock::new(|| file().unwrap_or_else(|error| panic!("{error}")));

/// The published module as a design, with some of its parameters.
fn source(parameters: &[(&str, u64)]) -> Source {
    let source = Source::new(app_block::NAME)
        .verilog("mqnic_app_block.v", FILE.as_str())
        .ports(app_block::ports(parameters));
    parameters.iter().fold(source, |source, (name, value)| source.parameter(*name, *value))
}

fn assert_lint_clean(parameters: &[(&str, u64)]) {
    let warnings = source(parameters).lint().unwrap_or_else(|error| panic!("{error}"));
    let warnings: Vec<_> = warnings.iter().map(ToString::to_string).collect();
    assert!(warnings.is_empty(), "{}", warnings.join("\n"));
}

#[test]
fn the_published_verilog_is_lint_clean_on_a_u50() {
    assert_lint_clean(&[]);
}

/// The card does not run with them, but then the message must be the card's own.
#[test]
fn the_published_verilog_is_lint_clean_with_corundums_defaults() {
    assert_lint_clean(&[
        ("DMA_TAG_WIDTH", 16),
        ("RAM_SEL_WIDTH", 4),
        ("RAM_SEG_DATA_WIDTH", 256),
        ("RAM_ADDR_WIDTH", 16),
        ("AXIL_APP_CTRL_ADDR_WIDTH", 16),
        ("AXIL_CTRL_ADDR_WIDTH", 16),
        ("AXIS_IF_TX_ID_WIDTH", 12),
        ("AXIS_IF_RX_DEST_WIDTH", 8),
    ]);
}

#[test]
fn the_published_verilog_is_lint_clean_between_two_interfaces() {
    assert_lint_clean(&[("IF_COUNT", 2)]);
}
