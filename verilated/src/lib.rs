//! Builds Verilog with Verilator at run time and drives the model through its ports.
