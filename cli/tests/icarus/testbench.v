// Replays a script against the published module in a simulator with four states.
//
// +script names the commands, numbers in hex: `z addr size` (memory of zeros), `m addr size` and the
// bytes (written to memory), `a frames last keep data` (a beat to the card once so many frames left),
// `w offset value`, `r offset` (written to the log), `p offset value` (read until it is that),
// `c wr_id status` (a completion), `q` (the end).
// +hurry skips most of the clearing of tables after a reset; they start as zeros.
// +log names what is written: `r offset value`, `f last keep data` (a beat of a frame), `end cycles`.
//
// Whatever the shell need not say is x: payloads that are not valid, bytes that are not enabled,
// memory that is not mapped. Handshakes and payloads of the card must be known.

`timescale 1ns / 1ps
`default_nettype none

module testbench;
    localparam MEMORY_BITS = 20;
    // Cycles that a command may take: clearing the tables takes 4,096.
    localparam LIMIT = 15000;

    reg clk = 1'b0;
    reg rst = 1'b1;
    always #2 clk = !clk;

    // Host memory, by the low bits of the address.
    reg [7:0] memory [0:(1 << MEMORY_BITS) - 1];

    reg awvalid = 1'b0, wvalid = 1'b0, arvalid = 1'b0;
    reg [23:0] awaddr, araddr;
    reg [31:0] wdata;
    wire awready, wready, bvalid, arready, rvalid;
    wire [31:0] rdata;

    wire [63:0] ctrl_addr, write_addr, data_addr;
    wire [16:0] ctrl_ram_addr, write_ram_addr, data_ram_addr;
    wire [15:0] ctrl_len, write_len, data_len;
    wire [13:0] ctrl_tag, write_tag, data_tag;
    wire ctrl_valid, write_valid, data_valid;
    wire ctrl_ready, data_ready;
    wire [13:0] ctrl_status_tag, data_status_tag;
    wire [3:0] ctrl_status_error, data_status_error;
    wire ctrl_status_valid, data_status_valid;
    wire [127:0] ctrl_be, data_be;
    wire [19:0] ctrl_row, data_row;
    wire [1023:0] ctrl_data, data_data;
    wire [1:0] ctrl_wr_valid, ctrl_wr_ready, ctrl_wr_done;
    wire [1:0] data_wr_valid, data_wr_ready, data_wr_done;

    reg write_ready = 1'b0;
    reg [13:0] write_status_tag;
    reg write_status_valid = 1'b0;
    wire write_sel;
    reg [1:0] read_sel;
    reg [19:0] read_row;
    reg [1:0] read_valid = 2'd0;
    wire [1:0] read_ready, resp_valid;
    wire [1023:0] resp_data;

    wire [511:0] tx_data;
    wire [63:0] tx_keep;
    wire [16:0] tx_user;
    wire tx_valid, tx_last;
    reg tx_ready = 1'b0;
    reg [15:0] cpl_tag;
    reg cpl_valid = 1'b0;
    wire cpl_ready;
    reg [511:0] rx_data;
    reg [63:0] rx_keep;
    reg rx_valid = 1'b0, rx_last;
    wire rx_ready;

    mqnic_app_block card(
        .clk(clk),
        .rst(rst),
        .s_axil_app_ctrl_awaddr(awaddr),
        .s_axil_app_ctrl_awprot(3'd0),
        .s_axil_app_ctrl_awvalid(awvalid),
        .s_axil_app_ctrl_awready(awready),
        .s_axil_app_ctrl_wdata(wdata),
        .s_axil_app_ctrl_wstrb(4'hf),
        .s_axil_app_ctrl_wvalid(wvalid),
        .s_axil_app_ctrl_wready(wready),
        .s_axil_app_ctrl_bvalid(bvalid),
        .s_axil_app_ctrl_bready(1'b1),
        .s_axil_app_ctrl_araddr(araddr),
        .s_axil_app_ctrl_arprot(3'd0),
        .s_axil_app_ctrl_arvalid(arvalid),
        .s_axil_app_ctrl_arready(arready),
        .s_axil_app_ctrl_rdata(rdata),
        .s_axil_app_ctrl_rvalid(rvalid),
        .s_axil_app_ctrl_rready(1'b1),
        .m_axis_ctrl_dma_read_desc_dma_addr(ctrl_addr),
        .m_axis_ctrl_dma_read_desc_ram_addr(ctrl_ram_addr),
        .m_axis_ctrl_dma_read_desc_len(ctrl_len),
        .m_axis_ctrl_dma_read_desc_tag(ctrl_tag),
        .m_axis_ctrl_dma_read_desc_valid(ctrl_valid),
        .m_axis_ctrl_dma_read_desc_ready(ctrl_ready),
        .s_axis_ctrl_dma_read_desc_status_tag(ctrl_status_tag),
        .s_axis_ctrl_dma_read_desc_status_error(ctrl_status_error),
        .s_axis_ctrl_dma_read_desc_status_valid(ctrl_status_valid),
        .m_axis_ctrl_dma_write_desc_ready(1'b1),
        .s_axis_ctrl_dma_write_desc_status_valid(1'b0),
        .m_axis_data_dma_read_desc_dma_addr(data_addr),
        .m_axis_data_dma_read_desc_ram_addr(data_ram_addr),
        .m_axis_data_dma_read_desc_len(data_len),
        .m_axis_data_dma_read_desc_tag(data_tag),
        .m_axis_data_dma_read_desc_valid(data_valid),
        .m_axis_data_dma_read_desc_ready(data_ready),
        .s_axis_data_dma_read_desc_status_tag(data_status_tag),
        .s_axis_data_dma_read_desc_status_error(data_status_error),
        .s_axis_data_dma_read_desc_status_valid(data_status_valid),
        .m_axis_data_dma_write_desc_dma_addr(write_addr),
        .m_axis_data_dma_write_desc_ram_sel(write_sel),
        .m_axis_data_dma_write_desc_ram_addr(write_ram_addr),
        .m_axis_data_dma_write_desc_len(write_len),
        .m_axis_data_dma_write_desc_tag(write_tag),
        .m_axis_data_dma_write_desc_valid(write_valid),
        .m_axis_data_dma_write_desc_ready(write_ready),
        .s_axis_data_dma_write_desc_status_tag(write_status_tag),
        .s_axis_data_dma_write_desc_status_error(4'd0),
        .s_axis_data_dma_write_desc_status_valid(write_status_valid),
        .ctrl_dma_ram_wr_cmd_sel(2'd0),
        .ctrl_dma_ram_wr_cmd_be(ctrl_be),
        .ctrl_dma_ram_wr_cmd_addr(ctrl_row),
        .ctrl_dma_ram_wr_cmd_data(ctrl_data),
        .ctrl_dma_ram_wr_cmd_valid(ctrl_wr_valid),
        .ctrl_dma_ram_wr_cmd_ready(ctrl_wr_ready),
        .ctrl_dma_ram_wr_done(ctrl_wr_done),
        .ctrl_dma_ram_rd_cmd_valid(2'd0),
        .ctrl_dma_ram_rd_resp_ready(2'b11),
        .data_dma_ram_wr_cmd_sel(2'd0),
        .data_dma_ram_wr_cmd_be(data_be),
        .data_dma_ram_wr_cmd_addr(data_row),
        .data_dma_ram_wr_cmd_data(data_data),
        .data_dma_ram_wr_cmd_valid(data_wr_valid),
        .data_dma_ram_wr_cmd_ready(data_wr_ready),
        .data_dma_ram_wr_done(data_wr_done),
        .data_dma_ram_rd_cmd_sel(read_sel),
        .data_dma_ram_rd_cmd_addr(read_row),
        .data_dma_ram_rd_cmd_valid(read_valid),
        .data_dma_ram_rd_cmd_ready(read_ready),
        .data_dma_ram_rd_resp_data(resp_data),
        .data_dma_ram_rd_resp_valid(resp_valid),
        .data_dma_ram_rd_resp_ready(2'b11),
        .s_axis_if_tx_tvalid(1'b0),
        .m_axis_if_tx_tdata(tx_data),
        .m_axis_if_tx_tkeep(tx_keep),
        .m_axis_if_tx_tvalid(tx_valid),
        .m_axis_if_tx_tready(tx_ready),
        .m_axis_if_tx_tlast(tx_last),
        .m_axis_if_tx_tuser(tx_user),
        .s_axis_if_tx_cpl_ts(96'dx),
        .s_axis_if_tx_cpl_tag(cpl_tag),
        .s_axis_if_tx_cpl_valid(cpl_valid),
        .s_axis_if_tx_cpl_ready(cpl_ready),
        .m_axis_if_tx_cpl_ready(1'b1),
        .s_axis_if_rx_tdata(rx_data),
        .s_axis_if_rx_tkeep(rx_keep),
        .s_axis_if_rx_tvalid(rx_valid),
        .s_axis_if_rx_tready(rx_ready),
        .s_axis_if_rx_tlast(rx_last),
        .s_axis_if_rx_tid(1'b0),
        .s_axis_if_rx_tdest(9'd0),
        .s_axis_if_rx_tuser(97'd0),
        .m_axis_if_rx_tready(1'b1)
    );

    dma_reads #(.MEMORY_BITS(MEMORY_BITS)) ctrl_reads(
        .clk(clk),
        .addr(ctrl_addr), .ram_addr(ctrl_ram_addr), .len(ctrl_len), .tag(ctrl_tag),
        .valid(ctrl_valid), .ready(ctrl_ready),
        .status_tag(ctrl_status_tag), .status_error(ctrl_status_error),
        .status_valid(ctrl_status_valid),
        .wr_be(ctrl_be), .wr_row(ctrl_row), .wr_data(ctrl_data), .wr_valid(ctrl_wr_valid),
        .wr_ready(ctrl_wr_ready), .wr_done(ctrl_wr_done)
    );
    dma_reads #(.MEMORY_BITS(MEMORY_BITS)) data_reads(
        .clk(clk),
        .addr(data_addr), .ram_addr(data_ram_addr), .len(data_len), .tag(data_tag),
        .valid(data_valid), .ready(data_ready),
        .status_tag(data_status_tag), .status_error(data_status_error),
        .status_valid(data_status_valid),
        .wr_be(data_be), .wr_row(data_row), .wr_data(data_data), .wr_valid(data_wr_valid),
        .wr_ready(data_wr_ready), .wr_done(data_wr_done)
    );

    integer script, log, cycle = 0, begun = 0;

    task fail(input [8 * 40 - 1:0] what);
        begin
            $display("cycle %0d: %0s", cycle, what);
            $finish;
        end
    endtask

    // What the card says must be known.
    wire [24:0] handshakes = {
        awready, wready, bvalid, arready, rvalid, ctrl_valid, write_valid, data_valid,
        ctrl_wr_ready, ctrl_wr_done, data_wr_ready, data_wr_done, read_ready, resp_valid,
        tx_valid, cpl_ready, rx_ready, 2'b00
    };
    always @(posedge clk) begin
        cycle <= cycle + 1;
        if (cycle - begun > LIMIT) fail("the card does not answer");
        if (!rst) begin
            if (^handshakes === 1'bx) fail("a handshake is unknown");
            if (rvalid && ^rdata === 1'bx) fail("a register is unknown");
            if (ctrl_valid && ^{ctrl_addr, ctrl_ram_addr, ctrl_len, ctrl_tag} === 1'bx)
                fail("a read of the ctrl port is unknown");
            if (data_valid && ^{data_addr, data_ram_addr, data_len, data_tag} === 1'bx)
                fail("a read of the data port is unknown");
            if (write_valid && ^{write_addr, write_sel, write_ram_addr, write_len, write_tag} === 1'bx)
                fail("a write is unknown");
            if (tx_valid && ^{tx_keep, tx_last, tx_user} === 1'bx)
                fail("a frame's beat is unknown");
        end
    end

    // From one of the first entries to the last ones.
    reg hurry;
    initial hurry = $test$plusargs("hurry");
    always @(negedge clk) begin
        if (hurry && card.core.core.control.sweep.at$q == 12'd20)
            card.core.core.control.sweep.at$q = 12'd4090;
    end

    // Completions: one write of at most 64 bytes at a time.
    integer byte_number, completions = 0;
    reg [7:0] lane;
    reg [255:0] completion [0:255];
    reg [255:0] entry;
    reg [63:0] entry_addr;
    reg [16:0] entry_ram_addr;
    reg [13:0] entry_tag;
    reg entry_segment;
    initial begin
        forever begin
            write_ready <= 1'b1;
            @(posedge clk);
            while (write_valid !== 1'b1) @(posedge clk);
            write_ready <= 1'b0;
            entry_addr = write_addr;
            entry_ram_addr = write_ram_addr;
            entry_tag = write_tag;
            entry_segment = write_ram_addr[6];
            if (write_len != 16'd32) fail("a completion is not 32 bytes");
            read_sel <= 2'dx;
            read_sel[entry_segment] <= write_sel;
            read_row <= 20'dx;
            read_row[entry_segment * 10 +: 10] <= entry_ram_addr[16:7];
            read_valid[entry_segment] <= 1'b1;
            @(posedge clk);
            while (read_ready[entry_segment] !== 1'b1) @(posedge clk);
            read_valid[entry_segment] <= 1'b0;
            read_row <= 20'dx;
            while (resp_valid[entry_segment] !== 1'b1) @(posedge clk);
            for (byte_number = 0; byte_number < 32; byte_number = byte_number + 1) begin
                lane = entry_ram_addr[5:0] + byte_number;
                entry[byte_number * 8 +: 8] = resp_data[(entry_segment * 64 + lane) * 8 +: 8];
                memory[entry_addr[MEMORY_BITS - 1:0] + byte_number] = entry[byte_number * 8 +: 8];
            end
            if (^entry === 1'bx) fail("a completion is unknown");
            repeat (20) @(posedge clk);
            write_status_tag <= entry_tag;
            write_status_valid <= 1'b1;
            @(posedge clk);
            write_status_tag <= 14'dx;
            write_status_valid <= 1'b0;
            completion[completions] = entry;
            completions = completions + 1;
        end
    end

    // Frames from the card, with pauses, and their transmit completions.
    integer frames = 0, confirmed = 0, seed = 1;
    reg [15:0] tags [0:1023];
    always @(posedge clk) begin
        tx_ready <= $random(seed) % 4 != 0;
        if (tx_valid === 1'b1 && tx_ready) begin
            $fdisplay(log, "f %b %h %h", tx_last, tx_keep, tx_data);
            if (tx_last) begin
                tags[frames] = tx_user[16:1];
                frames = frames + 1;
            end
        end
        if (!cpl_valid || cpl_ready) begin
            cpl_valid <= confirmed != frames;
            cpl_tag <= confirmed != frames ? tags[confirmed] : 16'dx;
            if (confirmed != frames) confirmed = confirmed + 1;
        end
    end

    // Frames to the card.
    integer answers = 0, answered = 0, after [0:255];
    reg [576:0] answer [0:255];
    always @(posedge clk) begin
        if (!rx_valid || rx_ready === 1'b1) begin
            if (answered != answers && after[answered] <= frames) begin
                rx_valid <= 1'b1;
                {rx_last, rx_keep, rx_data} <= answer[answered];
                answered = answered + 1;
            end else begin
                rx_valid <= 1'b0;
                {rx_last, rx_keep, rx_data} <= 577'dx;
            end
        end
    end

    reg [1:0] waiting;
    task write(input [23:0] offset, input [31:0] value);
        begin
            awaddr <= offset;
            wdata <= value;
            {awvalid, wvalid} <= 2'b11;
            waiting = 2'b11;
            while (waiting != 2'b00) begin
                @(posedge clk);
                if (waiting[1] && awready === 1'b1) begin
                    awvalid <= 1'b0;
                    awaddr <= 24'dx;
                    waiting[1] = 1'b0;
                end
                if (waiting[0] && wready === 1'b1) begin
                    wvalid <= 1'b0;
                    wdata <= 32'dx;
                    waiting[0] = 1'b0;
                end
            end
            while (bvalid !== 1'b1) @(posedge clk);
        end
    endtask

    reg [31:0] register;
    task read(input [23:0] offset);
        begin
            araddr <= offset;
            arvalid <= 1'b1;
            @(posedge clk);
            while (arready !== 1'b1) @(posedge clk);
            araddr <= 24'dx;
            arvalid <= 1'b0;
            @(posedge clk);
            while (rvalid !== 1'b1) @(posedge clk);
            register = rdata;
        end
    endtask

    integer items, i, seen = 0;
    reg [8 * 256 - 1:0] path;
    reg [7:0] command, value;
    reg [63:0] first, second;
    reg last;
    reg [63:0] keep;
    reg [511:0] data;
    initial begin
        if ($value$plusargs("script=%s", path)) script = $fopen(path, "r");
        if ($value$plusargs("log=%s", path)) log = $fopen(path, "w");
        repeat (8) @(posedge clk);
        rst <= 1'b0;
        @(posedge clk);
        command = "-";
        while (command != "q") begin
            items = $fscanf(script, " %c", command);
            if (items != 1) fail("the script is cut");
            begun = cycle;
            case (command)
                "z": begin
                    items = $fscanf(script, "%h %h", first, second);
                    for (i = 0; i < second; i = i + 1) memory[first[MEMORY_BITS - 1:0] + i] = 8'd0;
                end
                "m": begin
                    items = $fscanf(script, "%h %h", first, second);
                    for (i = 0; i < second; i = i + 1) begin
                        items = $fscanf(script, "%h", value);
                        memory[first[MEMORY_BITS - 1:0] + i] = value;
                    end
                end
                "a": begin
                    items = $fscanf(script, "%h %b %h %h", i, last, keep, data);
                    after[answers] = i;
                    answer[answers] = {last, keep, data};
                    // Bytes behind the frame's end are nobody's.
                    for (i = 0; i < 64; i = i + 1)
                        if (!keep[i]) answer[answers][i * 8 +: 8] = 8'dx;
                    answers = answers + 1;
                end
                "w": begin
                    items = $fscanf(script, "%h %h", first, second);
                    write(first[23:0], second[31:0]);
                end
                "r": begin
                    items = $fscanf(script, "%h", first);
                    read(first[23:0]);
                    $fdisplay(log, "r %h %h", first[23:0], register);
                end
                "p": begin
                    items = $fscanf(script, "%h %h", first, second);
                    read(first[23:0]);
                    while (register != second[31:0]) read(first[23:0]);
                end
                "c": begin
                    items = $fscanf(script, "%h %h", first, second);
                    while (seen == completions) @(posedge clk);
                    if (completion[seen][63:0] !== first) fail("another request is complete");
                    if (completion[seen][183:176] !== second[7:0]) fail("another status");
                    seen = seen + 1;
                end
                "q": ;
                default: fail("an unknown command");
            endcase
        end
        repeat (200) @(posedge clk);
        if (seen != completions) fail("a completion too many");
        $fdisplay(log, "end %0d", cycle);
        $fclose(log);
        $finish;
    end
endmodule

// Reads of host memory on one port, one after the other, with a status each.
module dma_reads #(
    parameter MEMORY_BITS = 0
) (
    input wire clk,
    input wire [63:0] addr,
    input wire [16:0] ram_addr,
    input wire [15:0] len,
    input wire [13:0] tag,
    input wire valid,
    output reg ready,
    output reg [13:0] status_tag,
    output reg [3:0] status_error,
    output reg status_valid,
    output reg [127:0] wr_be,
    output reg [19:0] wr_row,
    output reg [1023:0] wr_data,
    output reg [1:0] wr_valid,
    input wire [1:0] wr_ready,
    input wire [1:0] wr_done
);
    localparam LATENCY = 20;

    integer done, chunks;
    reg [63:0] from;
    reg [16:0] to;
    reg [15:0] left;
    reg [13:0] name;
    reg segment;

    task idle;
        begin
            wr_valid <= 2'd0;
            wr_be <= 128'dx;
            wr_row <= 20'dx;
            wr_data <= 1024'dx;
            status_valid <= 1'b0;
            status_tag <= 14'dx;
            status_error <= 4'dx;
        end
    endtask

    always @(posedge clk) done = done + (wr_done[0] === 1'b1) + (wr_done[1] === 1'b1);

    initial begin
        done = 0;
        chunks = 0;
        ready <= 1'b0;
        idle;
        forever begin
            ready <= 1'b1;
            @(posedge clk);
            while (valid !== 1'b1) @(posedge clk);
            ready <= 1'b0;
            {from, to, left, name} = {addr, ram_addr, len, tag};
            repeat (LATENCY) @(posedge clk);
            while (left != 16'd0) begin
                segment = to[6];
                wr_row[segment * 10 +: 10] <= to[16:7];
                wr_be[segment * 64 +: 64] <= 64'd0;
                wr_valid[segment] <= 1'b1;
                chunks = chunks + 1;
                begin : chunk
                    forever begin
                        wr_be[to[6:0]] <= 1'b1;
                        wr_data[to[6:0] * 8 +: 8]
                            <= testbench.memory[from[MEMORY_BITS - 1:0]];
                        from = from + 64'd1;
                        to = to + 17'd1;
                        left = left - 16'd1;
                        if (left == 16'd0 || to[5:0] == 6'd0) disable chunk;
                    end
                end
                @(posedge clk);
                while (wr_ready[segment] !== 1'b1) @(posedge clk);
                idle;
            end
            while (done != chunks) @(posedge clk);
            status_tag <= name;
            status_error <= 4'd0;
            status_valid <= 1'b1;
            @(posedge clk);
            idle;
        end
    end
endmodule

`default_nettype wire
