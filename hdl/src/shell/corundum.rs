//! What passes Corundum's ports: see its `mqnic_app_block`.

use drdma_emit::prelude::*;

/// A beat of a frame to send.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct TxBeat {
    /// Data.
    pub tdata: Bits<512>,
    /// Bytes in use.
    pub tkeep: Bits<64>,
    /// Last beat of a frame.
    pub tlast: Bit,
    /// Queue.
    pub tid: Bits<16>,
    /// Port.
    pub tdest: Bits<16>,
    /// Tag and error.
    pub tuser: Bits<32>,
}

/// A beat of a frame of the card's own.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct FrameBeat {
    /// Data.
    pub data: Bits<512>,
    /// Bytes in use.
    pub keep: Bits<64>,
    /// Last beat of a frame.
    pub last: Bit,
}

/// A frame has been sent.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct TxCompletion {
    /// Time stamp.
    pub ts: Bits<96>,
    /// Tag.
    pub tag: Bits<16>,
}

/// A beat of a received frame.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct RxBeat {
    /// Data.
    pub tdata: Bits<512>,
    /// Bytes in use.
    pub tkeep: Bits<64>,
    /// Last beat of a frame.
    pub tlast: Bit,
    /// Port.
    pub tid: Bits<16>,
    /// Queue.
    pub tdest: Bits<16>,
    /// Error and time stamp.
    pub tuser: Bits<128>,
}

/// A descriptor of a DMA read or write.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct DmaDescriptor {
    /// Host address.
    pub dma_addr: Bits<64>,
    /// Which memory: of reads always 0; of writes 0 is the frame store, 1 completions.
    pub ram_sel: Bits<1>,
    /// Address in that memory.
    pub ram_addr: Bits<17>,
    /// Bytes.
    pub len: Bits<16>,
    /// 0 to 255.
    pub tag: Bits<14>,
}

/// A DMA read has ended.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct DmaReadStatus {
    /// The read that has ended.
    pub tag: Bits<14>,
    /// 0: its data are in the memory.
    pub error: Bits<4>,
}

/// A DMA write has ended.
#[derive(Copy, Clone, Debug, PartialEq, Record)]
pub struct DmaWriteStatus {
    /// The tag of the write that was sent.
    pub tag: Bits<14>,
}
