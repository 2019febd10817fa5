//! Shows a granule as each of the layouts that it may hold.

use super::slice::{At, in_granule, span_in_granule};
use drdma_abi::receive::AddressHandle;
use drdma_abi::work_request::{
    Destination, Element, KindElement, RegionHeader, RegionShape, RemoteColumn, WqeHeader,
};
use drdma_emit::prelude::*;

/// Names the fields of a granule: wires only.
///
/// # Inputs
/// `data`.
///
/// # Outputs
/// `head_*`, `address_*`, `dest_*` (of two granules each), `remote_*`, `region_*`, `shape_*`, `element_*`, `kind_*`:
/// the fields of [`WqeHeader`], [`AddressHandle`], [`Destination`], [`RemoteColumn`], [`RegionHeader`],
/// [`RegionShape`], [`Element`] and, those that an element has not, [`KindElement`].
#[derive(LogicBlock, BlockDefault)]
pub struct Fields {
    /// The granule.
    pub data: Signal<In, Bits<128>>,

    pub head_magic: Signal<Out, Bits<8>>,
    pub head_opcode: Signal<Out, Bits<8>>,
    pub head_flags: Signal<Out, Bits<8>>,
    pub head_log_max_read: Signal<Out, Bits<8>>,
    pub head_destinations: Signal<Out, Bits<16>>,
    pub head_merge_threshold: Signal<Out, Bits<16>>,
    pub head_granules: Signal<Out, Bits<32>>,
    pub head_position: Signal<Out, Bits<32>>,
    pub head_wr_id: Signal<Out, Bits<64>>,
    pub head_rows_per_message: Signal<Out, Bits<32>>,
    pub head_imm: Signal<Out, Bits<32>>,

    pub address_dest_mac: Signal<Out, Bits<48>>,
    pub address_tos: Signal<Out, Bits<8>>,
    pub address_ttl: Signal<Out, Bits<8>>,
    pub address_dest_ip: Signal<Out, Bits<32>>,
    pub address_dest_qpn: Signal<Out, Bits<32>>,
    pub address_qkey: Signal<Out, Bits<32>>,
    pub address_reserved: Signal<Out, Bits<96>>,

    pub dest_qp: Signal<Out, Bits<32>>,
    pub dest_regions: Signal<Out, Bits<16>>,
    pub dest_partition: Signal<Out, Bits<16>>,
    pub dest_remote_addr: Signal<Out, Bits<64>>,
    pub dest_rkey: Signal<Out, Bits<32>>,
    pub dest_types: Signal<Out, Bits<32>>,
    pub dest_inline_bytes: Signal<Out, Bits<8>>,
    pub dest_layout: Signal<Out, Bits<8>>,
    pub dest_remote_columns: Signal<Out, Bits<8>>,
    pub dest_reserved2: Signal<Out, Bits<40>>,

    pub remote_addr: Signal<Out, Bits<64>>,
    pub remote_rkey: Signal<Out, Bits<32>>,
    pub remote_reserved: Signal<Out, Bits<32>>,

    pub region_addr: Signal<Out, Bits<64>>,
    pub region_count: Signal<Out, Bits<32>>,
    pub region_lkey: Signal<Out, Bits<32>>,

    pub shape_period: Signal<Out, Bits<64>>,
    pub shape_target_lkey: Signal<Out, Bits<32>>,
    pub shape_elements: Signal<Out, Bits<16>>,
    pub shape_flags: Signal<Out, Bits<16>>,

    pub element_offset: Signal<Out, Bits<64>>,
    pub element_len: Signal<Out, Bits<32>>,
    pub element_lkey: Signal<Out, Bits<32>>,

    pub kind_width: Signal<Out, Bits<24>>,
    pub kind_kind: Signal<Out, Bits<4>>,
    pub kind_log_entry: Signal<Out, Bits<4>>,

    #[init(in_granule::<WqeHeader>("magic", 8))]
    head_magic_at: At,
    #[init(in_granule::<WqeHeader>("opcode", 8))]
    head_opcode_at: At,
    #[init(in_granule::<WqeHeader>("flags", 8))]
    head_flags_at: At,
    #[init(in_granule::<WqeHeader>("fetch_log_max_read", 8))]
    head_log_max_read_at: At,
    #[init(in_granule::<WqeHeader>("destinations", 16))]
    head_destinations_at: At,
    #[init(in_granule::<WqeHeader>("fetch_merge_threshold", 16))]
    head_merge_threshold_at: At,
    #[init(in_granule::<WqeHeader>("granules", 32))]
    head_granules_at: At,
    #[init(in_granule::<WqeHeader>("position", 32))]
    head_position_at: At,
    #[init(in_granule::<WqeHeader>("wr_id", 64))]
    head_wr_id_at: At,
    #[init(in_granule::<WqeHeader>("rows_per_message", 32))]
    head_rows_per_message_at: At,
    #[init(in_granule::<WqeHeader>("imm", 32))]
    head_imm_at: At,
    #[init(in_granule::<AddressHandle>("dest_mac", 48))]
    address_dest_mac_at: At,
    #[init(in_granule::<AddressHandle>("tos", 8))]
    address_tos_at: At,
    #[init(in_granule::<AddressHandle>("ttl", 8))]
    address_ttl_at: At,
    #[init(in_granule::<AddressHandle>("dest_ip", 32))]
    address_dest_ip_at: At,
    #[init(in_granule::<AddressHandle>("dest_qpn", 32))]
    address_dest_qpn_at: At,
    #[init(in_granule::<AddressHandle>("qkey", 32))]
    address_qkey_at: At,
    #[init(span_in_granule::<AddressHandle>("reserved", "reserved2", 96))]
    address_reserved_at: At,
    #[init(in_granule::<Destination>("qp", 32))]
    dest_qp_at: At,
    #[init(in_granule::<Destination>("regions", 16))]
    dest_regions_at: At,
    #[init(in_granule::<Destination>("partition", 16))]
    dest_partition_at: At,
    #[init(in_granule::<Destination>("remote_addr", 64))]
    dest_remote_addr_at: At,
    #[init(in_granule::<Destination>("rkey", 32))]
    dest_rkey_at: At,
    #[init(in_granule::<Destination>("types", 32))]
    dest_types_at: At,
    #[init(in_granule::<Destination>("inline_bytes", 8))]
    dest_inline_bytes_at: At,
    #[init(in_granule::<Destination>("message_layout", 8))]
    dest_layout_at: At,
    #[init(in_granule::<Destination>("remote_columns", 8))]
    dest_remote_columns_at: At,
    #[init(in_granule::<Destination>("reserved2", 40))]
    dest_reserved2_at: At,
    #[init(in_granule::<RemoteColumn>("addr", 64))]
    remote_addr_at: At,
    #[init(in_granule::<RemoteColumn>("rkey", 32))]
    remote_rkey_at: At,
    #[init(in_granule::<RemoteColumn>("reserved", 32))]
    remote_reserved_at: At,
    #[init(in_granule::<RegionHeader>("addr", 64))]
    region_addr_at: At,
    #[init(in_granule::<RegionHeader>("count", 32))]
    region_count_at: At,
    #[init(in_granule::<RegionHeader>("lkey", 32))]
    region_lkey_at: At,
    #[init(in_granule::<RegionShape>("period", 64))]
    shape_period_at: At,
    #[init(in_granule::<RegionShape>("target_lkey", 32))]
    shape_target_lkey_at: At,
    #[init(in_granule::<RegionShape>("elements", 16))]
    shape_elements_at: At,
    #[init(in_granule::<RegionShape>("flags", 16))]
    shape_flags_at: At,
    #[init(in_granule::<Element>("offset", 64))]
    element_offset_at: At,
    #[init(in_granule::<Element>("len", 32))]
    element_len_at: At,
    #[init(in_granule::<Element>("lkey", 32))]
    element_lkey_at: At,
    #[init(in_granule::<KindElement>("width", 24))]
    kind_width_at: At,
    #[init(in_granule::<KindElement>("kind", 4))]
    kind_kind_at: At,
    #[init(in_granule::<KindElement>("log_entry", 4))]
    kind_log_entry_at: At,
}

impl Logic for Fields {
    #[hdl_gen]
    fn update(&mut self) {
        self.head_magic.next = self.data.val().get_bits::<8>(self.head_magic_at.val().index());
        self.head_opcode.next = self.data.val().get_bits::<8>(self.head_opcode_at.val().index());
        self.head_flags.next = self.data.val().get_bits::<8>(self.head_flags_at.val().index());
        self.head_log_max_read.next =
            self.data.val().get_bits::<8>(self.head_log_max_read_at.val().index());
        self.head_destinations.next =
            self.data.val().get_bits::<16>(self.head_destinations_at.val().index());
        self.head_merge_threshold.next =
            self.data.val().get_bits::<16>(self.head_merge_threshold_at.val().index());
        self.head_granules.next =
            self.data.val().get_bits::<32>(self.head_granules_at.val().index());
        self.head_position.next =
            self.data.val().get_bits::<32>(self.head_position_at.val().index());
        self.head_wr_id.next = self.data.val().get_bits::<64>(self.head_wr_id_at.val().index());
        self.head_rows_per_message.next =
            self.data.val().get_bits::<32>(self.head_rows_per_message_at.val().index());
        self.head_imm.next = self.data.val().get_bits::<32>(self.head_imm_at.val().index());
        self.address_dest_mac.next =
            self.data.val().get_bits::<48>(self.address_dest_mac_at.val().index());
        self.address_tos.next = self.data.val().get_bits::<8>(self.address_tos_at.val().index());
        self.address_ttl.next = self.data.val().get_bits::<8>(self.address_ttl_at.val().index());
        self.address_dest_ip.next =
            self.data.val().get_bits::<32>(self.address_dest_ip_at.val().index());
        self.address_dest_qpn.next =
            self.data.val().get_bits::<32>(self.address_dest_qpn_at.val().index());
        self.address_qkey.next = self.data.val().get_bits::<32>(self.address_qkey_at.val().index());
        self.address_reserved.next =
            self.data.val().get_bits::<96>(self.address_reserved_at.val().index());
        self.dest_qp.next = self.data.val().get_bits::<32>(self.dest_qp_at.val().index());
        self.dest_regions.next = self.data.val().get_bits::<16>(self.dest_regions_at.val().index());
        self.dest_partition.next =
            self.data.val().get_bits::<16>(self.dest_partition_at.val().index());
        self.dest_remote_addr.next =
            self.data.val().get_bits::<64>(self.dest_remote_addr_at.val().index());
        self.dest_rkey.next = self.data.val().get_bits::<32>(self.dest_rkey_at.val().index());
        self.dest_types.next = self.data.val().get_bits::<32>(self.dest_types_at.val().index());
        self.dest_inline_bytes.next =
            self.data.val().get_bits::<8>(self.dest_inline_bytes_at.val().index());
        self.dest_layout.next = self.data.val().get_bits::<8>(self.dest_layout_at.val().index());
        self.dest_remote_columns.next =
            self.data.val().get_bits::<8>(self.dest_remote_columns_at.val().index());
        self.dest_reserved2.next =
            self.data.val().get_bits::<40>(self.dest_reserved2_at.val().index());
        self.remote_addr.next = self.data.val().get_bits::<64>(self.remote_addr_at.val().index());
        self.remote_rkey.next = self.data.val().get_bits::<32>(self.remote_rkey_at.val().index());
        self.remote_reserved.next =
            self.data.val().get_bits::<32>(self.remote_reserved_at.val().index());
        self.region_addr.next = self.data.val().get_bits::<64>(self.region_addr_at.val().index());
        self.region_count.next = self.data.val().get_bits::<32>(self.region_count_at.val().index());
        self.region_lkey.next = self.data.val().get_bits::<32>(self.region_lkey_at.val().index());
        self.shape_period.next = self.data.val().get_bits::<64>(self.shape_period_at.val().index());
        self.shape_target_lkey.next =
            self.data.val().get_bits::<32>(self.shape_target_lkey_at.val().index());
        self.shape_elements.next =
            self.data.val().get_bits::<16>(self.shape_elements_at.val().index());
        self.shape_flags.next = self.data.val().get_bits::<16>(self.shape_flags_at.val().index());
        self.element_offset.next =
            self.data.val().get_bits::<64>(self.element_offset_at.val().index());
        self.element_len.next = self.data.val().get_bits::<32>(self.element_len_at.val().index());
        self.element_lkey.next = self.data.val().get_bits::<32>(self.element_lkey_at.val().index());
        self.kind_width.next = self.data.val().get_bits::<24>(self.kind_width_at.val().index());
        self.kind_kind.next = self.data.val().get_bits::<4>(self.kind_kind_at.val().index());
        self.kind_log_entry.next =
            self.data.val().get_bits::<4>(self.kind_log_entry_at.val().index());
    }
}
