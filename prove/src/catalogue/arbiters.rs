//! Properties of arbiters: one client is granted, no other one passes, and no client waits for ever.

use std::fmt::Write as _;

use drdma_hdl::primitive::Banks;

use super::{design, fifos::Holder, of_card};
use crate::{
    design::Design,
    property::Property,
    streams::{self, Stream},
};

/// The rules of some input streams of a block, assumed.
fn assumed(design: &Design, names: &[&str]) -> String {
    let streams = streams::of(design);
    let named = |stream: &&Stream| names.contains(&stream.name.as_str());
    streams.iter().filter(named).map(|stream| stream.rule("assume")).collect()
}

/// The card's frames and the host's on one wire. Bit 0 of the data says whose beat it is: the block does
/// not look at data.
fn mac() -> Vec<Property> {
    let design = of_card("mac");
    let named = "    always @* assume (s_axis_if_tx$tdata[0] && !tx$data[0]);
    wire host = s_axis_if_tx$tvalid && s_axis_if_tx$tready;
    wire card = tx$valid && tx$ready;
    wire sent = m_axis_if_tx$tvalid && m_axis_if_tx$tready;
";
    let property = |name: &str, claim: &str| Property::new("mac", name, claim, design.clone());

    let whole = property(
        "whole frames",
        "the frames of the card and of the host are never mixed on the wire, also if the card is reset within one",
    )
    .harness(format!(
        "{named}    reg inside = 1'b0;
    reg whose = 1'b0;
    always @(posedge clk) begin
        if (sent) begin
            inside <= !m_axis_if_tx$tlast;
            whose <= m_axis_if_tx$tdata[0];
        end
        if (rst) inside <= 1'b0;
    end
    always @* if (started && inside && m_axis_if_tx$tvalid) assert (m_axis_if_tx$tdata[0] == whose);
"
    ))
    .mutant(
        "sides change within a frame",
        "(other_waits && ((moves && ends) ||",
        "(other_waits && (moves ||",
    )
    .mutant(
        "a pause is an end",
        "if ((((~card_turn$q) && (~own_waits)) && (~inside$q))) begin",
        "if (((~card_turn$q) && (~own_waits))) begin",
    );

    let holder = Holder {
        beats: 2,
        latency: 1,
        passes: false,
        push: "host || card",
        input: "host ? {s_axis_if_tx$tlast, s_axis_if_tx$tkeep[3:0], s_axis_if_tx$tdata[7:0]} : {tx$last, tx$keep[3:0], tx$data[7:0]}",
        valid: "m_axis_if_tx$tvalid",
        output: "{m_axis_if_tx$tlast, m_axis_if_tx$tkeep[3:0], m_axis_if_tx$tdata[7:0]}",
        ready: "m_axis_if_tx$tready",
        width: 13,
        more: "        assert (!(host && card));\n",
    };
    let order = property(
        "order",
        "of both sides' beats one is taken a cycle, and all leave once, in that order and unchanged (followed: 8 bits of \
         data, 4 of keep, the end), while the card is not reset",
    )
    .free("follow", 1)
    .harness(format!("    always @* assume (!card_reset);\n{named}{}", holder.harness()))
    .mutant("the card's beat goes by", "out$input$valid = tx$valid;", "out$input$valid = 1'b0;")
    .mutant(
        "both are taken",
        "tx$ready = 1'h0;\n        s_axis",
        "tx$ready = out$input$ready;\n        s_axis",
    );

    let starve = property(
        "fair",
        "a side that waits is overtaken by at most one whole frame of the other; while nothing is being sent and the wire \
         takes, a frame begins within 3 cycles",
    )
    .harness(format!(
        "    always @* assume (!card_reset);
{}{named}    reg [1:0] by_card = 2'd0;
    reg [1:0] by_host = 2'd0;
    reg [2:0] idle = 3'd0;
    reg inside = 1'b0;
    always @(posedge clk) begin
        if (host || !s_axis_if_tx$tvalid) by_card <= 2'd0;
        else if (card && tx$last && by_card != 3) by_card <= by_card + 2'd1;
        if (card || !tx$valid) by_host <= 2'd0;
        else if (host && s_axis_if_tx$tlast && by_host != 3) by_host <= by_host + 2'd1;
        if (host) inside <= !s_axis_if_tx$tlast;
        if (card) inside <= !tx$last;
        if (host || card || inside || !(tx$valid || s_axis_if_tx$tvalid)) idle <= 3'd0;
        else if (m_axis_if_tx$tready) idle <= idle + 3'd1;
        if (rst) begin
            by_card <= 2'd0;
            by_host <= 2'd0;
            idle <= 3'd0;
            inside <= 1'b0;
        end
    end
    always @* if (started) begin
        assert (by_card <= 1 && by_host <= 1);
        assert (idle < 3);
    end
",
        assumed(&design, &["s_axis_if_tx", "tx"])
    ))
    .mutant(
        "the card keeps its turn",
        "((moves && ends) || ((~own_waits) && (~inside$q)))",
        "((~own_waits) && (~inside$q))",
    )
    .mutant("nobody's turn ends", "card_turn$d = (~card_turn$q);", "card_turn$d = card_turn$q;");
    vec![whole, order, starve]
}

/// The four clients of `host_read`, which may do anything.
fn host_read() -> Vec<Property> {
    let mut design = of_card("host_read");
    for signal in ["read_valid", "read_take", "fetch_valid", "fetch_take"] {
        for client in 0..4 {
            let tap = design.with_tap(
                &format!("tap_{client}_{signal}"),
                1,
                &format!("clients${client}${signal}"),
            );
            design = tap.unwrap_or_else(|error| panic!("{error}"));
        }
    }
    let turns = |what: &str, may: &str| {
        let each = |name: &str| {
            let tap = |client| format!("tap_{client}_{what}_{name}");
            format!("{{{}, {}, {}, {}}}", tap(3), tap(2), tap(1), tap(0))
        };
        format!(
            "    wire [3:0] waits = {};
    wire [3:0] takes = {};
    // Of each client, which others went before it since it has waited.
    reg [3:0] before_0 = 4'd0;
    reg [3:0] before_1 = 4'd0;
    reg [3:0] before_2 = 4'd0;
    reg [3:0] before_3 = 4'd0;
    always @(posedge clk) begin
        before_0 <= waits[0] && !takes[0] && !rst ? before_0 | takes : 4'd0;
        before_1 <= waits[1] && !takes[1] && !rst ? before_1 | takes : 4'd0;
        before_2 <= waits[2] && !takes[2] && !rst ? before_2 | takes : 4'd0;
        before_3 <= waits[3] && !takes[3] && !rst ? before_3 | takes : 4'd0;
    end
    always @* if (started) begin
        assert ((takes & (takes - 4'd1)) == 4'd0);
        assert ((takes & ~waits) == 4'd0);
        if ({may}) assert (takes != 4'd0 || waits == 4'd0);
        if (waits[0]) assert ((before_0 & takes) == 4'd0);
        if (waits[1]) assert ((before_1 & takes) == 4'd0);
        if (waits[2]) assert ((before_2 & takes) == 4'd0);
        if (waits[3]) assert ((before_3 & takes) == 4'd0);
    end
",
            each("valid"),
            each("take"),
        )
    };
    let claim = |what: &str, when: &str| {
        format!(
            "of the four clients' {what} one goes on a cycle{when}, none that was not offered; no client is overtaken twice by the same one"
        )
    };
    let property = |name: &str, claim: &str, harness: String| {
        Property::new("host_read", name, claim, design.clone())
            .harness(harness)
            .cut("card_host_read_clients_0")
            .cut("card_host_read_ram_0")
    };
    let reads = property(
        "turns of requests",
        &claim("requests", " where the DMA engine takes them"),
        turns("read", "m_axis_ctrl_dma_read_desc$ready"),
    )
    .mutant("client 3 has no turn", "(issued_last$q < 2'h3)", "1'h0")
    .mutant("client 2 has no turn", "(issued_last$q < 2'h2)", "1'h0")
    .mutant("client 2 keeps its turn", "(issued_last$q < 2'h2)", "1'h1")
    .mutant("client 1 has no turn", "(issued_last$q < 2'h1)", "1'h0");
    let beats =
        property("turns of responses", &claim("responses' beats", ""), turns("fetch", "1'b1"))
            .mutant("client 2 has no turn", "(fetched_last$q < 2'h2)", "1'h0")
            .mutant("client 1 keeps its turn", "(fetched_last$q < 2'h1)", "1'h1");
    vec![reads, beats]
}

/// Four requesters of a memory of banks.
fn banks() -> Property {
    let mut text = String::new();
    // Requesters `p` and `q`, and class `c`, are any.
    for name in ["p", "q"] {
        for (field, width) in [("pending", 8), ("left", 8), ("words", 96), ("ages", 2), ("free", 1)]
        {
            let _ = writeln!(
                text,
                "    wire [{}:0] {field}_{name} = {name} == 0 ? {field}_0 : {name} == 1 ? {field}_1 : {name} == 2 ? {field}_2 : {field}_3;",
                width - 1
            );
        }
        let _ = writeln!(
            text,
            "    wire [11:0] word_{name} = words_{name}[12 * c +: 12];
    wire served_{name} = pending_{name}[c] && !left_{name}[c];"
        );
    }
    text += "    wire [4:0] bank = {word_p[1:0], c};
    wire [1:0] who = chosen[2 * {c, word_p[1:0]} +: 2];
    wire before_0 = p == 0 || ages_p < ages_0;
    wire before_1 = p == 1 || ages_p < ages_1 || (ages_p == ages_1 && p < 1);
    wire before_2 = p == 2 || ages_p < ages_2 || (ages_p == ages_2 && p < 2);
    wire before_3 = p == 3 || ages_p < ages_3 || (ages_p == ages_3 && p < 3);
    always @* if (started) begin
        if (served_p && served_q && word_p[1:0] == word_q[1:0]) assert (word_p == word_q);
        assert (!(left_p[c] && !pending_p[c]));
        if (served_p) assert (reads[bank]);
        if (served_p && who == q) assert (word_q == word_p && pending_q[c]);
        if (before_0 && before_1 && before_2 && before_3) assert (left_p == 0);
        assert (free_p == (left_p == 0));
    end
";
    Property::new(
        "primitive/Banks",
        "grants",
        "all who are served by a bank want the row that it reads; the oldest waits for nobody; a served requester's bank is \
         read, for it or for one who wants the same word",
        design("banks", Banks::default),
    )
    .free("p", 2)
    .free("q", 2)
    .free("c", 3)
    .harness(text)
    .mutant_in(
        "banks_core",
        "a bit of the row is not compared",
        "wire high5_1_2 = words$2[70:68] != words$1[70:68];",
        "wire high5_1_2 = words$2[69:68] != words$1[69:68];",
    )
    .mutant_in("banks_core", "the older one waits", "wire older0_3 = ages$0 <= ages$3;", "wire older0_3 = ages$0 >= ages$3;")
}

/// The boxes of the two paths, window by window.
fn merge() -> Property {
    let design = of_card("boxes");
    let holder = Holder {
        beats: 2,
        latency: 1,
        passes: false,
        push: "(a$valid && a$ready) || (b$valid && b$ready)",
        input: "a$ready ? a$data[15:0] ^ a$data[31:16] : b$data[15:0] ^ b$data[31:16]",
        valid: "out$valid",
        output: "out$data[15:0] ^ out$data[31:16]",
        ready: "out$ready",
        width: 16,
        more: "        if (a$ready) assert (open && !is_b);
        if (b$ready) assert (open && is_b);
        assert (done == ((a$valid && a$ready && a_end) || (b$valid && b$ready && b_end)));
        if (open && held != 2) assert (is_b ? b$ready : a$ready);
",
    };
    Property::new(
        "windows.merge",
        "order",
        "only the present window's path is taken from, and it is whenever there is room; every box leaves once, in order \
         and unchanged (followed: 16 bits, each of two); `done` with the last one",
        design,
    )
    .free("follow", 1)
    .harness(holder.harness())
    .mutant("the other path is taken from", "((open && skid$input$ready) && (~is_b))", "(open && skid$input$ready)")
    .mutant("the wrong path's beat", "valid = (open && b$valid);", "valid = (open && a$valid);")
    .mutant("done without its last beat", "((valid && last) && skid$input$ready)", "(valid && last)")
}

/// The properties of arbiters.
pub(super) fn all() -> Vec<Property> {
    let mut all = mac();
    all.extend(host_read());
    all.extend([banks(), merge()]);
    all
}
