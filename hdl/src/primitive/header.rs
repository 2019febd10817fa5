//! Headers on the wire: fields to bytes in network order, made from the tables of `drdma_abi`.

use drdma_abi::Layout;
use drdma_abi::roce::{Bth, Deth, Ethernet, ImmDt, Ipv4, Reth, Udp, VlanTag};
use drdma_emit::prelude::*;

/// The text of a header: the layout's fields joined, the first one highest, and the bytes in the
/// order in which they are sent, the first one lowest.
///
/// # Panics
/// The ports are not the layout's fields.
fn header<L: Layout>(ports: &[(&str, usize)]) -> Verilog {
    let fields: Vec<_> = L::FIELDS.iter().map(|f| (f.name, f.width)).collect();
    assert_eq!(ports, fields, "the ports are not the fields of {}", L::NAME);
    let names: Vec<_> = ports.iter().map(|(name, _)| *name).collect();
    let bytes: Vec<_> = (0..L::SIZE).map(|k| format!("joined[{}:{}]", 8 * k + 7, 8 * k)).collect();
    Verilog::Custom(format!(
        "    wire [{}:0] joined = {{{}}};\n    always @(*) sent = {{{}}};",
        8 * L::SIZE - 1,
        names.join(", "),
        bytes.join(", ")
    ))
}

macro_rules! header {
    ($(#[doc = $doc:literal])* $name:ident: $layout:ident, $bits:literal {
        $($field:ident: $width:literal,)*
    }) => {
        $(#[doc = $doc])*
        ///
        /// Combinational; an input a field of the layout, output `sent`: the header's bytes, the
        /// first one lowest.
        #[derive(LogicBlock, Default)]
        pub struct $name {
            $(
                #[doc = concat!("Field `", stringify!($field), "`.")]
                pub $field: Signal<In, Bits<$width>>,
            )*
            /// The bytes.
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
    };
}

header! {
    /// An Ethernet II header.
    EthernetHeader: Ethernet, 112 { destination: 48, source: 48, ethertype: 16, }
}
header! {
    /// An 802.1Q tag.
    VlanTagHeader: VlanTag, 32 { ethertype: 16, pcp: 3, dei: 1, vid: 12, }
}
header! {
    /// An IPv4 header.
    Ipv4Header: Ipv4, 160 {
        version: 4, ihl: 4, tos: 8, total_length: 16, identification: 16, flags: 3, fragment: 13,
        ttl: 8, protocol: 8, checksum: 16, source: 32, destination: 32,
    }
}
header! {
    /// A UDP header.
    UdpHeader: Udp, 64 { source_port: 16, destination_port: 16, length: 16, checksum: 16, }
}
header! {
    /// A base transport header.
    BthHeader: Bth, 96 {
        opcode: 8, solicited: 1, migration: 1, pad: 2, version: 4, pkey: 16, resv8a: 8,
        dest_qp: 24, ack_req: 1, resv7: 7, psn: 24,
    }
}
header! {
    /// An RDMA extended transport header.
    RethHeader: Reth, 128 { virtual_address: 64, rkey: 32, dma_length: 32, }
}
header! {
    /// A datagram extended transport header.
    DethHeader: Deth, 64 { qkey: 32, reserved: 8, source_qp: 24, }
}
header! {
    /// Immediate data.
    ImmDtHeader: ImmDt, 32 { value: 32, }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use drdma_verilated::testbench::Random;

    fn check<L: Layout, B: Block>(make: impl FnOnce() -> B + Send) {
        let name = format!("header_{}", L::NAME.to_lowercase());
        let mut model = testing::library(&name, make).instance(1);
        let mut random = Random::new(1);
        for _ in 0..50 {
            let sent = random.bytes(L::SIZE);
            for field in L::FIELDS {
                let value = drdma_abi::layout::get_bits(&sent, L::ORDER, field.start, field.width);
                model.set(field.name, value);
            }
            model.eval();
            assert_eq!(model.get_word("sent").to_bytes(L::SIZE), sent, "{}", L::NAME);
        }
    }

    #[test]
    fn headers_are_what_software_encodes() {
        check::<Ethernet, _>(EthernetHeader::default);
        check::<Ipv4, _>(Ipv4Header::default);
        check::<Udp, _>(UdpHeader::default);
        check::<Bth, _>(BthHeader::default);
        check::<Reth, _>(RethHeader::default);
        check::<Deth, _>(DethHeader::default);
        check::<ImmDt, _>(ImmDtHeader::default);
    }
}
