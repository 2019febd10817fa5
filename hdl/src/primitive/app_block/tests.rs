use drdma_verilated::Port;

use super::{U50, file, ports};
use crate::emit::Emitted;

fn core(ports: &[Port], verilog: &str) -> Emitted {
    Emitted { name: "core".into(), verilog: verilog.into(), ports: ports.to_vec() }
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
