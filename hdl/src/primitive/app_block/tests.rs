use std::path::PathBuf;
use std::process::Command;

use drdma_verilated::Port;

use super::{U50, file, ports};
use crate::emit::Emitted;

fn core(ports: &[Port], verilog: &str) -> Emitted {
    Emitted {
        name: "core".into(),
        verilog: verilog.into(),
        ports: ports.to_vec(),
        origins: Vec::new(),
    }
}

#[test]
fn widths_on_a_u50_are_those_of_the_shell() {
    let ports = ports(U50);
    let width = |name: &str| ports.iter().find(|port| port.name == name).unwrap().width;
    assert_eq!(width("m_axis_data_dma_read_desc_tag"), 14);
    assert_eq!(width("data_dma_ram_wr_cmd_data"), 1024);
    assert_eq!(width("data_dma_ram_wr_cmd_addr"), 20);
    assert_eq!(width("m_axis_if_tx_tuser"), 17);
    assert_eq!(width("s_axis_if_rx_tuser"), 97);
    assert_eq!(width("s_axis_if_rx_tdest"), 9);
    assert_eq!(width("m_axis_if_tx_tid"), 13);
    assert_eq!(width("s_axil_app_ctrl_awaddr"), 24);
}

#[test]
fn a_core_without_ports_passes_everything_through() {
    let text = file(&core(&[Port::input("clk", 1), Port::input("rst", 1)], ""));
    assert!(text.contains("assign m_axis_direct_tx_tdata = s_axis_direct_tx_tdata;"));
    assert!(text.contains("assign s_axis_sync_rx_tready = m_axis_sync_rx_tready;"));
    assert!(text.contains("assign m_axis_if_tx_cpl_tag = s_axis_if_tx_cpl_tag;"));
    assert!(text.contains("assign m_axil_ctrl_awvalid = {(1){1'b0}};"));
}

#[test]
#[should_panic(expected = "the shell has no port bogus")]
fn a_port_that_the_shell_lacks_is_refused() {
    file(&core(&[Port::input("bogus", 1)], ""));
}

#[test]
fn the_published_module_is_lint_clean_around_a_small_core() {
    // A core with one port of each kind: exact, cut, filled, shared between interfaces.
    let core_ports = [
        Port::input("clk", 1),
        Port::input("rst", 1),
        Port::input("s_axis_if_tx_tvalid", 1),
        Port::output("m_axis_if_tx_tvalid", 1),
        Port::input("s_axis_if_tx_tuser", 32),
        Port::output("m_axis_if_tx_tuser", 32),
        Port::output("m_axis_data_dma_read_desc_tag", 8),
    ];
    let text = "module core(input wire clk, input wire rst,
        input wire s_axis_if_tx_tvalid, output wire m_axis_if_tx_tvalid,
        input wire [31:0] s_axis_if_tx_tuser, output wire [31:0] m_axis_if_tx_tuser,
        output reg [7:0] m_axis_data_dma_read_desc_tag);
        assign m_axis_if_tx_tvalid = s_axis_if_tx_tvalid;
        assign m_axis_if_tx_tuser = s_axis_if_tx_tuser;
        always @(posedge clk) m_axis_data_dma_read_desc_tag <=
            rst ? 8'd0 : m_axis_data_dma_read_desc_tag + 8'd1;
        endmodule";
    let source = drdma_verilated::Source::new(super::NAME)
        .verilog("mqnic_app_block.v", file(&core(&core_ports, text)));
    let warnings = source.lint().unwrap();
    assert!(warnings.is_empty(), "{warnings:#?}");
}

/// A card's build for another shell must stop with the reason: here every parameter that the module
/// checks is wrong in one instance, and all are right in another.
#[test]
fn wrong_parameters_stop_the_simulation_and_are_named() {
    let wrong = [
        ("APP_ID", 0x1234_0001, "must be 1146242125"),
        ("DMA_TAG_WIDTH", 7, "must be at least 8"),
        ("RAM_ADDR_WIDTH", 16, "must be at least 17"),
        ("RAM_SEG_ADDR_WIDTH", 9, "must be at least 10"),
        ("AXIL_APP_CTRL_ADDR_WIDTH", 16, "must be at least 20"),
        ("DMA_ADDR_WIDTH", 32, "must be 64"),
        ("RAM_SEG_COUNT", 4, "must be 2"),
        ("RAM_SEG_DATA_WIDTH", 256, "must be 512"),
        ("AXIL_APP_CTRL_DATA_WIDTH", 64, "must be 32"),
        ("AXIS_IF_DATA_WIDTH", 256, "must be 512"),
        ("DMA_LEN_WIDTH", 20, "must be 16"),
    ];
    let instances: Vec<_> = wrong
        .iter()
        .map(|(name, value, _)| format!("{} #(.{name}({value})) {name} ();", super::NAME))
        .collect();
    let bench = format!(
        "module bench; {} right ();\ninitial #1 $finish;\n{}\nendmodule",
        super::NAME,
        instances.join("\n")
    );
    let clocked = "module core(input wire clk, input wire rst); endmodule";
    let core = core(&[Port::input("clk", 1), Port::input("rst", 1)], clocked);
    // The first `$error` stops the simulation; to hear all of them it must be told to go on, which
    // `$finish` would not.
    let text = file(&core);
    assert_eq!(text.matches("$finish;").count(), wrong.len());
    let bench = Simulation::new("parameters", &(text.replace("$finish;", "") + &bench));
    let (success, log) = bench.run(&[]);
    assert!(!success && log.contains("must be"), "{log}");
    let (_, log) = bench.run(&["+verilator+error+limit+100"]);
    for (name, value, wanted) in wrong {
        let message = format!("{name} is {value}, but {wanted} (instance ");
        assert!(log.contains(&message), "{message} is not in:\n{log}");
    }
    assert_eq!(log.lines().filter(|line| line.contains("right")).count(), 0, "{log}");
}

/// A module `bench` as a program of its own, in a folder that goes with it.
struct Simulation(PathBuf);

impl Simulation {
    fn new(name: &str, text: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("drdma-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("bench.v"), text).unwrap();
        let bench = Self(folder);
        let arguments = ["--binary", "--assert", "-Wno-fatal", "--top-module", "bench", "bench.v"];
        let (built, log) = bench.command("verilator", &arguments);
        assert!(built, "{log}");
        bench
    }

    /// Runs the simulation; returns whether it succeeds, and its output.
    fn run(&self, arguments: &[&str]) -> (bool, String) {
        self.command(&self.0.join("obj_dir/Vbench").display().to_string(), arguments)
    }

    fn command(&self, program: &str, arguments: &[&str]) -> (bool, String) {
        let output = Command::new(program).args(arguments).current_dir(&self.0).output();
        let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        (output.status.success(), text)
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// The DMA memories of other shells are larger, and have more of them to select. Each segment's address and
/// selection are fields of their own, and the card's are the low bits of each.
#[test]
fn segments_of_larger_dma_memories_are_told_apart() {
    let core_ports = [
        Port::input("clk", 1),
        Port::input("rst", 1),
        Port::input("data_dma_ram_rd_cmd_addr", 20),
        Port::input("data_dma_ram_rd_cmd_sel", 2),
        Port::output("data_dma_ram_rd_resp_data", 1024),
        Port::output("m_axis_data_dma_read_desc_ram_addr", 17),
    ];
    // The core answers a read of a memory with the command itself.
    let text = "module core(input wire clk, input wire rst,
        input wire [19:0] data_dma_ram_rd_cmd_addr, input wire [1:0] data_dma_ram_rd_cmd_sel,
        output wire [1023:0] data_dma_ram_rd_resp_data,
        output wire [16:0] m_axis_data_dma_read_desc_ram_addr);
        assign data_dma_ram_rd_resp_data = {
            496'h1, 5'd0, data_dma_ram_rd_cmd_sel[1], data_dma_ram_rd_cmd_addr[19:10],
            496'h0, 5'd0, data_dma_ram_rd_cmd_sel[0], data_dma_ram_rd_cmd_addr[9:0]};
        assign m_axis_data_dma_read_desc_ram_addr = {data_dma_ram_rd_cmd_addr[16:0]};
        endmodule\n";
    let check = format!(
        "module check #(parameter ADDR = 17, parameter SEL = 1) ();
        localparam SEG = ADDR - 7;
        reg [SEG-1:0] low, high;
        reg [SEL-1:0] low_sel, high_sel;
        wire [1023:0] data;
        wire [ADDR-1:0] ram;
        {NAME} #(.RAM_ADDR_WIDTH(ADDR), .RAM_SEL_WIDTH(SEL)) card (
            .data_dma_ram_rd_cmd_addr({{high, low}}), .data_dma_ram_rd_cmd_sel({{high_sel, low_sel}}),
            .data_dma_ram_rd_resp_data(data), .m_axis_data_dma_read_desc_ram_addr(ram));
        integer k;
        initial for (k = 0; k < 200; k = k + 1) begin
            low = $random; high = $random; low_sel = $random; high_sel = $random;
            #1;
            if (data !== {{496'h1, 5'd0, high_sel[0], high[9:0], 501'd0, low_sel[0], low[9:0]}}
                || ram !== {{high[6:0], low[9:0]}})
                $fatal(1, \"addresses of %0d bits, %0d of selection: %h\", ADDR, SEL, data);
        end
        endmodule\n",
        NAME = super::NAME
    );
    let widths = [(17, 1), (18, 1), (18, 2), (20, 4), (24, 1)];
    let instances: Vec<_> = widths
        .iter()
        .map(|(addr, sel)| format!("check #({addr}, {sel}) w{addr}_{sel} ();"))
        .collect();
    let bench =
        format!("module bench; {} initial #1000 $finish; endmodule\n", instances.join("\n"));
    let text = file(&core(&core_ports, text)) + &check + &bench;
    let (success, log) = Simulation::new("segments", &text).run(&[]);
    assert!(success, "{log}");
}
