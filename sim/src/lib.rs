//! The simulated card: reference model, Verilated RTL, host memory and PCIe, wire and peers.
