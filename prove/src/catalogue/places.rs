//! Places in the segmented memory: none is given twice while it is in use.
//!
//! A window's number is one of four, and its memory 32 KiB; within a window the placer gives places to
//! blocks of 256 B.

use crate::property::Property;

use super::of_card;

/// What surrounds `windows`, in Verilog: `used` is a bit a window.
pub(super) const AROUND_WINDOWS: &str = "    // The placer opens a window that is granted, while it is busy; only windows that are in use are freed.
    always @* assume (!opened || (granted && placer_busy));
    wire header = header_valid && header_ready && header_opens;
    wire opens = opened || header;
    reg [3:0] used = 4'd0;
    reg [1:0] oldest = 2'd0;
    always @* assume (!window_free || used[oldest]);
    always @(posedge clk) begin
        if (window_free) begin
            used[oldest] <= 1'b0;
            oldest <= oldest + 2'd1;
        end
        if (opens) used[number] <= 1'b1;
        if (rst) begin
            used <= 4'd0;
            oldest <= 2'd0;
        end
    end
";

fn windows() -> Vec<Property> {
    let design = of_card("windows");
    let environment = AROUND_WINDOWS;
    let number = Property::new(
        "windows",
        "numbers",
        "a window's number is granted only while it is free, so that its 32 KiB are not given twice; one window is opened \
         at a time; when all are free, one is granted",
        design.clone(),
    )
    .harness(format!(
        "{environment}    always @* if (started) begin
        if (granted) assert (!used[number]);
        if (opens) assert (granted && !(opened && header));
        if (used == 0) assert (granted);
    end
"
    ))
    .mutant("five windows are in use", "(~used$q[2])", "(~(used$q[2] && used$q[0]))")
    .mutant("a free counts twice", "if ((window_free && (~opens))) begin", "if (window_free) begin")
    .free_memories();

    let order = Property::new(
        "windows",
        "order",
        "boxes and bytes are asked of the path that opened the window, window by window in the order of their opening, and \
         of none that was not opened",
        design,
    )
    .harness(format!(
        "{environment}    // At most four windows wait for boxes, and for bytes: they are in use until their bytes have passed.
    always @* assume ((!box_end || box_open) && (!bytes_end || bytes_open));
    reg [3:0] columns = 4'd0;
    reg [2:0] to_box = 3'd0;
    reg [2:0] to_pass = 3'd0;
    reg [1:0] box = 2'd0;
    reg [1:0] pass = 2'd0;
    always @* assume (!opens || (to_box != 4 && to_pass != 4));
    always @(posedge clk) begin
        if (opens) columns[number] <= header;
        to_box <= to_box + opens - box_end;
        to_pass <= to_pass + opens - bytes_end;
        box <= box + box_end;
        pass <= pass + bytes_end;
        if (rst) begin
            to_box <= 3'd0;
            to_pass <= 3'd0;
            box <= 2'd0;
            pass <= 2'd0;
        end
    end
    always @* if (started) begin
        assert (box_open == (to_box != 0) && bytes_open == (to_pass != 0));
        if (box_open) assert (box_column == columns[box]);
        if (bytes_open) assert (bytes_column == columns[pass]);
    end
"
    ))
    .mutant("all windows are the placer's", "| ({3'h0, header} << next$q));", ");")
    .mutant("a window's boxes end twice", "if (box_end) begin\n            boxed$d", "if (box_end || bytes_end) begin\n            boxed$d")
    .free_memories();
    vec![number, order]
}

/// The places of blocks in a window, in words: 8,192 of them.
fn directory() -> Property {
    let mut design = of_card("placer_directory");
    for (name, width, signal) in
        [("tap_near", 13, "near$q"), ("tap_far", 13, "far$q"), ("tap_entries", 7, "entries$q")]
    {
        design = design.with_tap(name, width, signal).unwrap_or_else(|error| panic!("{error}"));
    }
    Property::new(
        "placer.directory",
        "places",
        "the blocks of a window, at most 112, lie behind each other: no two places of 64 words overlap, and all lie in the \
         window's 8,192 words; whatever is found in the directory",
        design,
    )
    .free("follow", 1)
    .harness(
        "    // Not asked for a new entry when it is full.
    always @* assume (!list_write || tap_entries < 112);
    reg follows = 1'b0;
    reg [12:0] place = 13'd0;
    always @(posedge clk) begin
        if (tap_entries == 0) follows <= 1'b0;
        if (list_write && follow && (!follows || tap_entries == 0)) begin
            follows <= 1'b1;
            place <= list_place;
        end
        if (rst) follows <= 1'b0;
    end
    // A block of the window that is being filled.
    wire there = follows && tap_entries != 0;
    always @* if (started) begin
        if (list_write && there) assert (list_place >= place + 14'd64);
        if (list_write) assert (list_place + 14'd64 <= 8192);
        // Invariants: the next places lie behind all of before.
        assert (tap_near <= tap_far && tap_far <= tap_entries * 13'd73);
        if (there) assert (tap_near >= place + 14'd64);
    end
",
    )
    .mutant("a successor lies on the block", "near$d = (place + 13'h40);", "near$d = (place + 13'h3f);")
    .mutant("places are far apart", "far$d = (place + 13'h49);", "far$d = (place + 13'h4a);")
    .cut("card_placer_directory_tags")
    .free_memories()
    .induction(2)
}

/// The properties.
pub(super) fn all() -> Vec<Property> {
    let mut all = windows();
    all.push(directory());
    all
}
