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
fn bounds() -> Vec<Property> {
    let taps = [
        ("tap_known", 1, "regions$known"),
        ("tap_addr", 64, "regions$addr"),
        ("tap_len", 64, "regions$len"),
        ("tap_length", 97, "long_length$length"),
        ("tap_given", 1, "fail1$q"),
        ("tap_product", 1, "fail7$q"),
    ];
    let design = with_taps(of_card("decoder_bounds"), &taps);
    let property = |name: &str, claim: &str| {
        Property::new("decoder.bounds", name, claim, design.clone())
            .cut("card_decoder_bounds_regions")
            .cut("card_decoder_bounds_long_length")
    };
    let given = property(
        "given length",
        "a range [base, base + span) passes exactly if its key names a memory region and the range lies in it, in numbers \
         that do not wrap; a failed check is told until it is cleared",
    )
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
    .mutant("the end may be a byte further", "<< 1) | 67'h1)", "<< 1))")
    .mutant("any key will do", "(~regions$known)", "1'h0");

    // Natural numbers: the range lies in the region if it starts there, `skip` bytes behind the
    // region's first one, and is not longer than the rest.
    let product = property(
        "length of a product",
        "a range of a length that is a product passes exactly if its key names a memory region and [base + offset, base + \
         offset + length) lies in it, in numbers that do not wrap, for any length of 97 bits that the multiplier gives",
    )
    .harness(
        "    reg [6:0] check = 7'd0;
    reg long;
    reg [65:0] start;
    wire [65:0] skip = start - tap_addr;
    wire inside = tap_known && start >= tap_addr && skip <= tap_len;
    wire [65:0] room = tap_len - skip;
    reg [66:0] found_2;
    reg [66:0] found_3;
    reg [66:0] found_4;
    reg [66:0] found_5;
    reg [66:0] found_6;
    reg [66:0] found_7;
    reg fails = 1'b0;
    always @(posedge clk) begin
        check <= {check[5:1], check[0] && long, check_valid && !check_target};
        long <= check_long;
        start <= {2'b0, check_base} + check_offset;
        found_2 <= {inside, room};
        found_3 <= found_2;
        found_4 <= found_3;
        found_5 <= found_4;
        found_6 <= found_5;
        found_7 <= found_6;
        fails <= check[6] && (!found_7[66] || found_7[65:0] < tap_length) && !rst;
        if (rst) check <= 7'd0;
    end
    always @* if (started) assert (tap_product == fails);
",
    )
    .bounded(12)
    .mutant("a start before the region is let pass", "(known2$q && (~skip2$q[65]))", "known2$q")
    .mutant("the end may be a byte further", "({33'h0, room$3$q} < long_length$length)", "({33'h0, room$3$q} + 1 < long_length$length)");
    vec![given, product]
}

/// The way from a box to the DMA engine.
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
    .mutant("the place of the next box", "desc_range$d = range[29:0];", "desc_range$d = {reads$len, reads$ram};")
    .mutant("a read is lost", "((~valid$q) || m_axis_data_dma_read_desc$ready)", "1'h1")
    .mutant("an empty box is read", "(boxes$out_valid && (~empty))", "boxes$out_valid")
}

/// The properties of ranges.
pub(super) fn all() -> Vec<Property> {
    let mut all = bounds();
    all.push(reader());
    all
}
