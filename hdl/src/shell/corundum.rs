//! Records that pass Corundum's ports; see its `mqnic_app_block`.

use drdma_emit::prelude::*;

/// A beat of a frame to send.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct TxBeat {
    /// Bytes of the frame, the first one lowest.
    pub tdata: Bits<512>,
    /// Bit `k` is set if byte `k` is part of the frame.
    pub tkeep: Bits<64>,
    /// The beat is the last one of its frame.
    pub tlast: Bit,
    /// Queue of the frame.
    pub tid: Bits<16>,
    /// Port of the frame.
    pub tdest: Bits<16>,
    /// Tag and error of the frame (bit 0: error).
    pub tuser: Bits<32>,
}

/// A beat of a frame that the card itself sends.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct FrameBeat {
    /// Bytes of the frame, the first one lowest.
    pub data: Bits<512>,
    /// Bit `k` is set if byte `k` is part of the frame.
    pub keep: Bits<64>,
    /// The beat is the last one of its frame.
    pub last: Bit,
}

/// Report that a frame was sent.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct TxCompletion {
    /// Time stamp of the frame.
    pub ts: Bits<96>,
    /// Tag of the frame.
    pub tag: Bits<16>,
}

/// A beat of a received frame.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct RxBeat {
    /// Bytes of the frame, the first one lowest.
    pub tdata: Bits<512>,
    /// Bit `k` is set if byte `k` is part of the frame.
    pub tkeep: Bits<64>,
    /// The beat is the last one of its frame.
    pub tlast: Bit,
    /// Port of the frame.
    pub tid: Bits<16>,
    /// Queue of the frame.
    pub tdest: Bits<16>,
    /// Error and time stamp of the frame.
    pub tuser: Bits<128>,
}

/// A descriptor of a DMA read or write.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct DmaDescriptor {
    /// Host address of the first byte.
    pub dma_addr: Bits<64>,
    /// Memory of the card: 0 for reads; for writes 0 is the frame store, 1 the completions and the memory of columns.
    pub ram_sel: Bits<1>,
    /// Address of the first byte in that memory.
    pub ram_addr: Bits<17>,
    /// Bytes to read or write.
    pub len: Bits<16>,
    /// Tag of the descriptor, which its status repeats.
    pub tag: Bits<14>,
}

/// Report that a DMA read has ended.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct DmaReadStatus {
    /// Tag of the read.
    pub tag: Bits<14>,
    /// 0 if the data are in the memory; any other value is an error.
    pub error: Bits<4>,
}

/// Report that a DMA write has ended.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct DmaWriteStatus {
    /// Tag of the write.
    pub tag: Bits<14>,
}
