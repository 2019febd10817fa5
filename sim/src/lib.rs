//! The simulated card: reference model, Verilated RTL, host memory and PCIe, wire and peers.
pub mod model;
pub mod wire;
