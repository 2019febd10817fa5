//! Places in the segmented memory and in the frame store: none is given twice while it is in use.
//!
//! A window's number is one of 16, and its memory up to 32 KiB of the ring that `windows.ring` hands out; within a
//! window the placer gives places to blocks of 256 B.

use drdma_hdl::emit::emit;
use drdma_hdl::receive::parser::Parser;

use crate::{design::Design, property::Property};

use super::of_card;

/// What surrounds `windows`, in Verilog: `in_use` counts windows, the last one has number `next` - 1 and, if it is
/// `bare`, no size.
pub(super) const AROUND_WINDOWS: &str = "    // The placer opens a window that is granted, while it is busy; only windows that are in use are freed.
    always @* assume (!opened || (granted && placer_busy));
    wire header = header_valid && header_ready && header_opens;
    reg [4:0] in_use = 5'd0;
    reg [3:0] next = 4'd0;
    reg bare = 1'b0;
    always @* assume (!window_free || in_use > {4'd0, bare});
    // A size is told once, by the path that opened the window.
    always @* assume (!(sized && closed) && (!(sized || closed) || bare));
    always @(posedge clk) begin
        in_use <= in_use + opens - window_free;
        next <= next + opens;
        bare <= opens || (bare && !sized && !closed);
        if (rst) begin
            in_use <= 5'd0;
            next <= 4'd0;
            bare <= 1'b0;
        end
    end
";

/// The module of the ring of windows.
const RING: &str = "card_windows_ring";

fn windows() -> Vec<Property> {
    let design = of_card("windows");
    let environment = AROUND_WINDOWS;
    let number = Property::new(
        "windows",
        "numbers",
        "a window's number is granted only while it is free; one window is opened at a time, and none before the one before \
         has its size",
        design.clone(),
    )
    .harness(format!(
        "{environment}    always @* if (started) begin
        // Windows are freed in order: the numbers in use are those of the last `in_use` ones.
        assert (number == next);
        if (granted) assert (in_use < 5'd16);
        if (opens) assert (granted && !bare && !(opened && header));
    end
"
    ))
    .mutant_in(RING, "seventeen windows are in use", "(~open$q) && (~used$q[4])", "(~open$q) && (~(used$q[4] && used$q[0]))")
    .mutant_in(RING, "a free counts twice", "if ((free && (~opens))) begin", "if (free) begin")
    .free_memories();

    let mut tapped = design;
    for (name, width, signal) in [
        ("tap_column", 16, "column$q"),
        ("tap_boxed", 4, "boxed$q"),
        ("tap_gathered", 4, "gathered$q"),
        ("tap_to_box", 5, "to_box$q"),
        ("tap_to_gather", 5, "to_gather$q"),
    ] {
        tapped = tapped.with_tap(name, width, signal).unwrap_or_else(|error| panic!("{error}"));
    }
    let order = Property::new(
        "windows",
        "order",
        "boxes and bytes are asked of the path that opened the window, window by window in the order of their opening, and \
         of none that was not opened (followed: any window)",
        tapped,
    )
    .harness(format!(
        "{environment}    // At most 16 windows wait for boxes, and for bytes: they are in use until their bytes have passed.
    always @* assume ((!box_end || box_open) && (!bytes_end || bytes_open));
    // The window that is followed is chosen in the reset.
    reg [3:0] followed = 4'd0;
    reg is_column = 1'b0;
    reg [4:0] to_box = 5'd0;
    reg [4:0] to_pass = 5'd0;
    reg [3:0] box = 4'd0;
    reg [3:0] pass = 4'd0;
    wire [3:0] to_its_boxes = followed - box;
    wire [3:0] to_its_bytes = followed - pass;
    always @* assume (!opens || (to_box != 16 && to_pass != 16));
    always @(posedge clk) begin
        if (opens && number == followed) is_column <= header;
        to_box <= to_box + opens - box_end;
        to_pass <= to_pass + opens - bytes_end;
        box <= box + box_end;
        pass <= pass + bytes_end;
        if (rst) begin
            followed <= follow;
            to_box <= 5'd0;
            to_pass <= 5'd0;
            box <= 4'd0;
            pass <= 4'd0;
        end
    end
    always @* if (started) begin
        assert (box_open == (to_box != 0) && bytes_open == (to_pass != 0));
        if (box_open && box == followed) assert (box_column == is_column);
        if (bytes_open && pass == followed) assert (bytes_column == is_column);
        // Invariants: what the block keeps is the same, and numbers go on where windows that wait end.
        assert (box == tap_boxed && pass == tap_gathered);
        assert (to_box == tap_to_box && to_pass == tap_to_gather && to_box <= 16 && to_pass <= 16);
        assert (number == box + to_box[3:0] && number == pass + to_pass[3:0]);
        if (to_its_boxes < to_box || to_its_bytes < to_pass) assert (is_column == tap_column[followed]);
    end
"
    ))
    .free("follow", 4)
    .mutant("all windows are the placer's", "| ({15'h0, header} << ring$number));", ");")
    .mutant("a window's boxes end twice", "if (box_end) begin\n            boxed$d", "if (box_end || bytes_end) begin\n            boxed$d")
    .free_memories()
    .bounded(64);
    vec![number, order, ring()]
}

/// The property of the windows' places, in units of 128 B: 1,024 of them.
fn ring() -> Property {
    let mut design = of_card("windows_ring");
    for (name, width, signal) in [
        ("tap_room", 11, "room$q"),
        ("tap_given", 11, "given"),
        ("tap_used", 5, "used$q"),
        ("tap_open", 1, "open$q"),
    ] {
        design = design.with_tap(name, width, signal).unwrap_or_else(|error| panic!("{error}"));
    }
    Property::new(
        "windows.ring",
        "places",
        "while a window is in use, no window is granted of whose 32 KiB it has a byte (followed: any window); all of these lie in the \
         memory's 128 KiB; a window is granted only behind one that has its size, and stays granted until it is opened; when none is in use one is granted; provided \
         that what each window keeps is remembered",
        design,
    )
    .free("follow", 1)
    .harness(
        "    // Only a granted window is opened. A size of at most 32 KiB is told once for each; windows are freed in their
    // order, after that.
    reg bare = 1'b0;
    reg [4:0] used = 5'd0;
    always @* assume (!opens || granted);
    always @* assume (!sized || (bare && size <= 9'd256));
    always @* assume (!free || used > {4'd0, bare});
    // What the last window keeps.
    wire [10:0] own = size > 9'd128 ? 11'd256 : {2'd0, size};
    wire [10:0] behind = {1'b0, start} + own;
    wire [10:0] keeps = behind > 11'd768 ? 11'd1024 - {1'b0, start} : own;
    // One that is followed: its place, whether it has no size yet, how many older ones are in use, what these keep, and
    // what it and the later ones keep.
    reg there = 1'b0;
    reg mine = 1'b0;
    reg [10:0] from = 11'd0;
    reg [10:0] to = 11'd0;
    reg [4:0] older = 5'd0;
    reg [10:0] before = 11'd0;
    reg [10:0] since = 11'd0;
    reg stays = 1'b0;
    // What is read is what was written.
    always @* assume (tap_given + {1'b0, tap_room} <= 12'd1024);
    always @* if (free && used == 5'd1) assume (tap_given + {1'b0, tap_room} == 12'd1024);
    always @* if (there && older != 5'd0) assume (tap_given <= before);
    always @* if (there && free && older == 5'd1) assume (tap_given == before);
    always @(posedge clk) begin
        used <= used + opens - free;
        bare <= opens || (bare && !sized);
        stays <= granted && !opens;
        if (there) begin
            if (sized) since <= since + keeps;
            if (sized && mine) begin
                to <= from + size;
                mine <= 1'b0;
            end
            if (free) begin
                older <= older - 5'd1;
                before <= before - tap_given;
            end
            if (free && older == 5'd0) there <= 1'b0;
        end else if (opens && follow) begin
            there <= 1'b1;
            mine <= 1'b1;
            from <= start;
            to <= start + 11'd256;
            older <= used - free;
            before <= 11'd1024 - tap_room - tap_given;
            since <= 11'd0;
        end
        if (rst) begin
            used <= 5'd0;
            bare <= 1'b0;
            there <= 1'b0;
            stays <= 1'b0;
        end
    end
    always @* if (started) begin
        if (granted) assert (!bare && used < 5'd16 && start + 11'd256 <= 11'd1024);
        if (granted && there) assert (start + 11'd256 <= from || to <= start);
        if (stays) assert (granted);
        // Invariants: all of the memory is kept or free, and lies in order.
        assert (used == tap_used && bare == tap_open && tap_used <= 16 && start <= 768 && tap_room <= 1024);
        if (bare) assert (tap_room >= 256 && used != 5'd0);
        if (used == 5'd0) assert (granted && tap_room == 1024);
        if (there) begin
            assert (tap_room + before + since == 13'd1024 && start == from[9:0] + since[9:0] && from <= 768);
            assert (older < used && (older != 0 || before == 0));
            assert (mine ? bare && since == 0 : to >= from && to - from <= since && to <= 1024);
        end
    end
",
    )
    .mutant("the rest of the memory is given twice", "keeps = bits_0_to_8_of_10((10'h0 - at$q));", "keeps = own;")
    .mutant("a window is opened before the last one has its size", "((~open$q) && (~used$q[4]))", "(~used$q[4])")
    .mutant("16 KiB are enough", "(|room$q[10:8])", "(|room$q[10:7])")
    .free_memories()
    .induction(1)
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

/// The words of received frames: 2,048 of them.
fn frames() -> Property {
    let parser = emit("parser", Parser::default).unwrap_or_else(|error| panic!("{error}")).verilog;
    let design = Design::new("parser_places", &parser);
    let mut design = design.unwrap_or_else(|error| panic!("{error}"));
    for (name, width, signal) in [
        ("tap_oldest", 11, "oldest$q"),
        ("tap_owed", 12, "owed$q"),
        ("tap_leaves", 1, "leaves"),
        ("tap_entry", 8, "frames$output$data"),
        ("tap_room", 1, "room$q"),
    ] {
        design = design.with_tap(name, width, signal).unwrap_or_else(|error| panic!("{error}"));
    }
    Property::new(
        "parser.places",
        "places",
        "a word of the frame store is not written again before its frame or hole has left the ring (followed: any word); frames leave in \
         order, and no more right ones than were freed; if each frame has at most 66 words and begins while there is room, and the \
         frames' words are remembered",
        design,
    )
    .free("follow", 1)
    .free("ends", 1)
    .harness(
        "    wire [10:0] entry = {4'd0, tap_entry[7:1]};
    // Words in the ring, those that the present frame may still write, and frames that were freed and have not left.
    reg [11:0] kept = 12'd0;
    reg [6:0] left = 7'd0;
    reg [11:0] freed = 12'd0;
    reg was_roomy = 1'b0;
    // A word that is followed: where it is, and how many are before it.
    reg there = 1'b0;
    reg [10:0] place = 11'd0;
    reg [11:0] older = 12'd0;
    always @* assume (!taken || left != 0 || was_roomy);
    // What leaves was written.
    always @* if (tap_leaves) assume (entry != 0 && entry <= kept);
    always @* assume (!(freed_valid && freed == 12'hfff));
    always @(posedge clk) begin
        was_roomy <= roomy;
        kept <= kept + taken - (tap_leaves ? entry : 11'd0);
        if (taken) left <= left == 0 ? 7'd65 : left - 7'd1;
        if (ends) left <= 7'd0;
        freed <= freed + freed_valid - (tap_leaves && tap_entry[0]);
        if (there && tap_leaves) begin
            older <= older - entry;
            if (older < entry) there <= 1'b0;
        end
        if (!there && taken && follow) begin
            there <= 1'b1;
            place <= free;
            older <= kept - (tap_leaves ? entry : 11'd0);
        end
        if (rst) begin
            kept <= 12'd0;
            left <= 7'd0;
            freed <= 12'd0;
            was_roomy <= 1'b0;
            there <= 1'b0;
        end
    end
    always @* if (started) begin
        if (taken && there) assert (free != place);
        if (tap_leaves && tap_entry[0]) assert (freed != 0);
        // Invariants: the ring's ends are as far apart as words are in it, and it is never full.
        assert (free == tap_oldest + kept[10:0] && freed == tap_owed && roomy == tap_room);
        assert (kept <= 12'd2043 && left <= 7'd65 && kept + left <= 12'd2043);
        if (roomy) assert (kept <= 12'd1976);
        if (was_roomy) assert (kept <= 12'd1977);
        if (there) assert (older < kept && place == tap_oldest + older[10:0]);
    end
",
    )
    .mutant("a frame leaves before it is freed", "((~frames$output$data[0]) || (|owed$q))", "1'b1")
    .mutant("a frame gives back a word too many", "{4'h0, frames$output$data[7:1]});", "{4'h0, frames$output$data[7:1]} + 11'h1);")
    .mutant("two frames leave for one that was freed", "if ((freed_valid && (~(leaves && frames$output$data[0])))) begin", "if (freed_valid) begin")
    .cut("parser_places_frames")
    .free_memories()
    .induction(1)
}

/// The properties of places.
pub(super) fn all() -> Vec<Property> {
    let mut all = windows();
    all.push(directory());
    all.push(frames());
    all
}
