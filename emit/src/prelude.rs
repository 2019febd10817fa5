//! Items that a block's file imports.

pub use crate::record::{AxiStream, Channel, Directed, Flow, Record, Share, Signals, Stream};
pub use drdma_emit_macros::{BlockDefault, Record, hdl_gen};
pub use rust_hdl_core::prelude::{
    Bit, Bits, Block, Clock, Constant, Direction, In, LiteralType, Local, Logic, LogicBlock,
    LogicState, Out, Probe, Signal, Signed, Synth, ToBits, ToSignedBits, TypeDescriptor, TypeField,
    TypeKind, VCDValue, Verilog, VerilogLiteral, ast, bit_cast, bits, block, clog2, logic, probe,
    signed_bit_cast, signed_cast, synth, type_descriptor, unsigned_cast,
};
pub use rust_hdl_widgets::prelude::DFF;
