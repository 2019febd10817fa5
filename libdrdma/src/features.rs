//! Features of a card beside sending.

use drdma_abi::receive::features;

bitflags::bitflags! {
    /// Features of a card beside sending: its register `FEATURES`. Requests that need others are
    /// refused before they reach the card.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Features: u32 {
        /// The card takes SENDs and WRITEs, and acknowledges them. A card without this has none of
        /// the others.
        const RECEIVES = features::RECEIVES;
        /// Receives and READs fill regions of every type. Without it they fill contiguous ones, and
        /// what `STRIDED_RECEIVES` and `MAPPED_RECEIVES` allow.
        const SCATTERS = features::SCATTERS;
        /// The card sends READs and atomics, and waits at fences.
        const READS = features::READS;
        /// Requests can invalidate remote keys, be solicited, and name an address.
        const REQUESTS = features::REQUESTS;
        /// The card retransmits lost packets: `timeout`, `retry_cnt` and `rnr_retry` have an
        /// effect.
        const RETRANSMITS = features::RETRANSMITS;
        /// Keys can open regions with gaps to WRITEs and READs of peers.
        const DESCRIBED_KEYS = features::DESCRIBED_KEYS;
        /// Receives can append to regions that the card keeps.
        const APPENDS = features::APPENDS;
        /// Columns have values of variable length, or of a dictionary.
        const VARLEN = features::VARLEN;
        /// Columns are bits, and bitmaps begin at any bit.
        const BITS = features::BITS;
        /// Messages go column by column, and WRITEs have an address a column.
        const COLUMNS = features::COLUMNS;
        /// Records lead to further ones by pointers.
        const CHASE = features::CHASE;
        /// Partitions are made from keys.
        const PARTITIONS = features::PARTITIONS;
        /// The card answers READs: `max_dest_rd_atomic` and `REMOTE_READ` have an effect.
        const READ_ANSWERS = features::READ_ANSWERS;
        /// The card answers atomics: `REMOTE_ATOMIC` has an effect.
        const ATOMIC_ANSWERS = features::ATOMIC_ANSWERS;
        /// Receives fill strided regions as well as contiguous ones; without `SCATTERS`, as far as they have places
        /// ([`RECEIVE_PLACES`](drdma_abi::receive::RECEIVE_PLACES)).
        const STRIDED_RECEIVES = features::STRIDED_RECEIVES;
        /// Congestion control (DCQCN): packets that met congestion are answered with congestion notifications, and
        /// these limit the rate of queue pairs with ECN 1 or 2. Nothing is refused on a card without it.
        const CONGESTION = features::CONGESTION;
        /// Peers READ regions with gaps that keys open; without `DESCRIBED_KEYS` they do not WRITE to them.
        const DESCRIBED_READS = features::DESCRIBED_READS;
        /// WRITEs have an address a column; without `COLUMNS`, of one region a destination whose rows go into one
        /// message a column, with further limits ([`COLUMN_WRITES`](drdma_abi::receive::features::COLUMN_WRITES)).
        const COLUMN_WRITES = features::COLUMN_WRITES;
        /// Receives fill bitmapped and pointer-mapped regions; without `SCATTERS`, as far as they have places.
        const MAPPED_RECEIVES = features::MAPPED_RECEIVES;
        /// Partitions are made from keys of fixed width: bits, and integers, floats, booleans and decimals, of up to 8
        /// B for a range; without `PARTITIONS`, from no others.
        const FIXED_KEYS = features::FIXED_KEYS;
        /// Messages to one remote address, or to none as those of SENDs, go column by column.
        const COLUMN_MESSAGES = features::COLUMN_MESSAGES;
    }
}

impl Features {
    /// Description of the lack of the first of these features, for errors.
    pub(crate) fn reason(self) -> &'static str {
        if self.contains(Self::RECEIVES) {
            "the card does not receive"
        } else if self.contains(Self::SCATTERS) {
            "the card does not fill regions of every type"
        } else if self.contains(Self::MAPPED_RECEIVES) {
            "the card fills no bitmapped and pointer-mapped regions"
        } else if self.contains(Self::READS) {
            "the card sends no READs and atomics, and has no fences"
        } else if self.contains(Self::REQUESTS) {
            "the card has no invalidation, solicited requests and addresses of requests"
        } else if self.contains(Self::RETRANSMITS) {
            "the card does not send anything again"
        } else if self.contains(Self::DESCRIBED_READS) {
            "the card opens no described regions to peers"
        } else if self.contains(Self::DESCRIBED_KEYS) {
            "the card lets no peer WRITE to described regions"
        } else if self.contains(Self::APPENDS) {
            "the card keeps no append regions"
        } else if self.contains(Self::VARLEN) {
            "the card sends columns of fixed width alone"
        } else if self.contains(Self::BITS) {
            "the card has no columns of bits, and its bitmaps begin with a byte"
        } else if self.contains(Self::COLUMNS) {
            "the card sends messages row by row alone"
        } else if self.contains(Self::CHASE) {
            "the card follows no chains of records"
        } else if self.contains(Self::FIXED_KEYS) {
            "the card makes no partitions from keys"
        } else if self.contains(Self::PARTITIONS) {
            "the card makes partitions from bits, integers, floats, booleans and decimals alone, in a range of up to 8 B"
        } else if self.contains(Self::READ_ANSWERS) {
            "the card does not answer READs"
        } else if self.contains(Self::ATOMIC_ANSWERS) {
            "the card does not answer atomics"
        } else {
            "the card fills contiguous regions alone"
        }
    }
}
