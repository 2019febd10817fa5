//! Headers on the wire: turns fields into bytes in network order and back, from the tables of `drdma_abi`.

use std::fmt::Write as _;

use drdma_abi::Layout;
use drdma_abi::roce::{
    Aeth, AtomicAckEth, AtomicEth, Bth, Deth, Ethernet, Ieth, ImmDt, Ipv4, Reth, Udp, VlanTag,
};
use drdma_emit::prelude::*;

/// Checks that the ports of a leaf are the fields of a layout.
///
/// # Panics
/// Panics if they are not.
fn check_ports<L: Layout>(ports: &[(&str, usize)]) {
    let fields: Vec<_> = L::FIELDS.iter().map(|f| (f.name, f.width)).collect();
    assert_eq!(ports, fields, "the ports are not the fields of {}", L::NAME);
}

/// Verilog of a header: the layout's fields joined, the first one highest, and the bytes in the order in which they are
/// sent, the first one lowest.
///
/// # Panics
/// Panics if the ports are not the layout's fields.
fn header<L: Layout>(ports: &[(&str, usize)]) -> Verilog {
    check_ports::<L>(ports);
    let names: Vec<_> = ports.iter().map(|(name, _)| *name).collect();
    let bytes: Vec<_> = (0..L::SIZE).map(|k| format!("joined[{}:{}]", 8 * k + 7, 8 * k)).collect();
    Verilog::Custom(format!(
        "    wire [{}:0] joined = {{{}}};\n    always @(*) sent = {{{}}};",
        8 * L::SIZE - 1,
        names.join(", "),
        bytes.join(", ")
    ))
}

/// Verilog of the reverse: the bytes joined, the first one highest, and cut into the layout's fields.
///
/// # Panics
/// Panics if the ports are not the layout's fields.
fn fields<L: Layout>(ports: &[(&str, usize)]) -> Verilog {
    check_ports::<L>(ports);
    let bytes: Vec<_> =
        (0..L::SIZE).map(|k| format!("received[{}:{}]", 8 * k + 7, 8 * k)).collect();
    let mut text = format!("    wire [{}:0] joined = {{{}}};\n", 8 * L::SIZE - 1, bytes.join(", "));
    let mut end = 8 * L::SIZE;
    for (name, width) in ports {
        let _ = writeln!(text, "    always @(*) {name} = joined[{}:{}];", end - 1, end - width);
        end -= width;
    }
    Verilog::Custom(text)
}

macro_rules! header {
    ($(#[doc = $doc:literal])* $name:ident, $fields:ident: $layout:ident, $bits:literal {
        $($field:ident: $width:literal,)*
    }) => {
        $(#[doc = $doc])*
        ///
        /// Combinational; an input for each field of the layout, output `sent`: the header's bytes, the
        /// first one lowest.
        #[derive(LogicBlock, Default)]
        pub struct $name {
            $(
                #[doc = concat!("Field `", stringify!($field), "`.")]
                pub $field: Signal<In, Bits<$width>>,
            )*
            /// Bytes of the header, in the order in which they are sent, the first one lowest.
            pub sent: Signal<Out, Bits<$bits>>,
        }

        impl Logic for $name {
            fn update(&mut self) {}

            fn connect(&mut self) {
                self.sent.connect();
            }

            fn hdl(&self) -> Verilog {
                header::<$layout>(&[$((stringify!($field), $width)),*])
            }
        }

        #[doc = concat!("The fields of [`", stringify!($name), "`].")]
        ///
        /// Combinational; input `received`: the header's bytes, the first one lowest; an output for
        /// each field of the layout.
        #[derive(LogicBlock, Default)]
        pub struct $fields {
            /// Bytes of the header, the first one lowest.
            pub received: Signal<In, Bits<$bits>>,
            $(
                #[doc = concat!("Field `", stringify!($field), "`.")]
                pub $field: Signal<Out, Bits<$width>>,
            )*
        }

        impl Logic for $fields {
            fn update(&mut self) {}

            fn connect(&mut self) {
                $(self.$field.connect();)*
            }

            fn hdl(&self) -> Verilog {
                fields::<$layout>(&[$((stringify!($field), $width)),*])
            }
        }
    };
}

header! {
    /// An Ethernet II header.
    EthernetHeader, EthernetFields: Ethernet, 112 { destination: 48, source: 48, ethertype: 16, }
}
header! {
    /// An 802.1Q tag.
    VlanTagHeader, VlanTagFields: VlanTag, 32 { ethertype: 16, pcp: 3, dei: 1, vid: 12, }
}
header! {
    /// An IPv4 header.
    Ipv4Header, Ipv4Fields: Ipv4, 160 {
        version: 4, ihl: 4, tos: 8, total_length: 16, identification: 16, flags: 3, fragment: 13,
        ttl: 8, protocol: 8, checksum: 16, source: 32, destination: 32,
    }
}
header! {
    /// A UDP header.
    UdpHeader, UdpFields: Udp, 64 { source_port: 16, destination_port: 16, length: 16, checksum: 16, }
}
header! {
    /// A base transport header.
    BthHeader, BthFields: Bth, 96 {
        opcode: 8, solicited: 1, migration: 1, pad: 2, version: 4, pkey: 16, resv8a: 8,
        dest_qp: 24, ack_req: 1, resv7: 7, psn: 24,
    }
}
header! {
    /// An RDMA extended transport header.
    RethHeader, RethFields: Reth, 128 { virtual_address: 64, rkey: 32, dma_length: 32, }
}
header! {
    /// A datagram extended transport header.
    DethHeader, DethFields: Deth, 64 { qkey: 32, reserved: 8, source_qp: 24, }
}
header! {
    /// Immediate data.
    ImmDtHeader, ImmDtFields: ImmDt, 32 { value: 32, }
}
header! {
    /// An acknowledgement extended transport header.
    AethHeader, AethFields: Aeth, 32 { syndrome: 8, msn: 24, }
}
header! {
    /// An atomic extended transport header.
    AtomicEthHeader, AtomicEthFields: AtomicEth, 224 {
        virtual_address: 64, rkey: 32, swap_or_add: 64, compare: 64,
    }
}
header! {
    /// An atomic acknowledge extended transport header.
    AtomicAckEthHeader, AtomicAckEthFields: AtomicAckEth, 64 { original: 64, }
}
header! {
    /// An invalidate extended transport header.
    IethHeader, IethFields: Ieth, 32 { rkey: 32, }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::Random;

    fn check<L: Layout, S: Block, R: Block>(
        send: impl FnOnce() -> S + Send,
        receive: impl FnOnce() -> R + Send,
    ) {
        let name = format!("header_{}", L::NAME.to_lowercase());
        let mut sender = testing::library(&name, send).instance(1);
        let mut receiver = testing::library(&format!("{name}_fields"), receive).instance(1);
        let mut random = Random::new(1);
        for _ in 0..50 {
            let sent = random.bytes(L::SIZE);
            receiver.set_word("received", &sent.as_slice().into());
            receiver.eval();
            for field in L::FIELDS {
                let value = drdma_abi::layout::get_bits(&sent, L::ORDER, field.start, field.width);
                sender.set(field.name, value);
                assert_eq!(receiver.get(field.name), value, "{} {}", L::NAME, field.name);
            }
            sender.eval();
            assert_eq!(sender.get_word("sent").to_bytes(L::SIZE), sent, "{}", L::NAME);
        }
    }

    #[test]
    fn headers_are_what_software_encodes_and_decodes() {
        check::<Ethernet, _, _>(EthernetHeader::default, EthernetFields::default);
        check::<VlanTag, _, _>(VlanTagHeader::default, VlanTagFields::default);
        check::<Ipv4, _, _>(Ipv4Header::default, Ipv4Fields::default);
        check::<Udp, _, _>(UdpHeader::default, UdpFields::default);
        check::<Bth, _, _>(BthHeader::default, BthFields::default);
        check::<Reth, _, _>(RethHeader::default, RethFields::default);
        check::<Deth, _, _>(DethHeader::default, DethFields::default);
        check::<ImmDt, _, _>(ImmDtHeader::default, ImmDtFields::default);
        check::<Aeth, _, _>(AethHeader::default, AethFields::default);
        check::<AtomicEth, _, _>(AtomicEthHeader::default, AtomicEthFields::default);
        check::<AtomicAckEth, _, _>(AtomicAckEthHeader::default, AtomicAckEthFields::default);
        check::<Ieth, _, _>(IethHeader::default, IethFields::default);
    }
}
