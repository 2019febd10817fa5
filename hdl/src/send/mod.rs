//! Payload to packets: cut at the MTU and at the ends of messages, numbered, with headers and ICRC.

pub mod packetizer;
pub mod segmenter;
