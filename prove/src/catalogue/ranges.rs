//! No read leaves the range that was checked for its request: the check of a range against its memory
//! region, and the way of a read to the DMA engine.

use super::{fifos::Holder, of_card};
use crate::{design::Design, property::Property};

fn with_taps(design: Design, taps: &[(&str, usize, &str)]) -> Design {
    taps.iter().fold(design, |design, (name, width, signal)| {
        design.with_tap(name, *width, signal).unwrap_or_else(|error| panic!("{error}"))
    })
}

/// The check, in exact numbers; what the look-up finds, and what the multiplier gives, is any.
fn bounds() -> Property {
    let taps = [
        ("tap_known", 1, "regions$known"),
        ("tap_addr", 64, "regions$addr"),
        ("tap_len", 64, "regions$len"),
        ("tap_given", 1, "fail1$q"),
    ];
    let design = with_taps(of_card("decoder_bounds"), &taps);
    Property::new(
        "decoder.bounds",
        "given length",
        "a range [base, base + span) passes exactly if its key names a memory region and the range lies in it, in numbers \
         that do not wrap; a failed check is told until it is cleared",
        design,
    )
    .cut("card_decoder_bounds_regions")
    .cut("card_decoder_bounds_long_length")
    .harness(
        "    reg check = 1'b0;
    reg long;
    reg [65:0] base;
    reg [65:0] past;
    wire [65:0] end_of_region = {2'b0, tap_addr} + tap_len;
    wire inside = tap_known && base >= tap_addr && past <= end_of_region;
    reg fails = 1'b0;
    reg told = 1'b0;
    always @(posedge clk) begin
        check <= check_valid && !check_target && !rst;
        long <= check_long;
        base <= check_base;
        past <= {2'b0, check_base} + check_span;
        fails <= check && !long && !inside && !rst;
        told <= (fails || told) && !clear && !rst;
    end
    always @* if (started) begin
        assert (tap_given == fails);
        if (fails || told) assert (fail_valid);
    end
",
    )
    .induction(4)
    .mutant("the base is not compared", "(base0$q < regions$addr)", "1'h0")
    .mutant("the end may be a byte further", "((carries << 1) | 67'h1)", "(carries << 1)")
    .mutant("any key will do", "(~regions$known)", "1'h0")
}

/// From a box to the DMA engine.
fn reader() -> Property {
    let holder = Holder {
        beats: 2,
        // While no tag is free, or an error waits, nothing is read.
        latency: 16,
        passes: false,
        push: "reads$valid && reads$ready && reads$len != 0",
        input: "{reads$addr, reads$ram, reads$len}",
        valid: "m_axis_data_dma_read_desc$valid",
        output: "{m_axis_data_dma_read_desc$dma_addr, m_axis_data_dma_read_desc$ram_addr, m_axis_data_dma_read_desc$len[12:0]}",
        ready: "m_axis_data_dma_read_desc$ready",
        width: 94,
        more: "        assert (m_axis_data_dma_read_desc$len[15:13] == 0 && m_axis_data_dma_read_desc$ram_sel == 0);
",
    };
    Property::new(
        "reader",
        "reads are boxes",
        "every box that is not empty becomes one DMA read of its address, place and length, in order, and there are no \
         other reads",
        of_card("reader"),
    )
    .free("follow", 1)
    .harness(holder.harness())
    .free_memories()
    .mutant("the place of the next box", "desc_range$d = range;", "desc_range$d = {reads$window, reads$len, reads$ram};")
    .mutant("a read is lost", "((~valid$q) || m_axis_data_dma_read_desc$ready)", "1'h1")
    .mutant("an empty box is read", "(boxes$out_valid && (~empty))", "boxes$out_valid")
}

/// The properties.
pub(super) fn all() -> Vec<Property> {
    vec![bounds(), reader()]
}
