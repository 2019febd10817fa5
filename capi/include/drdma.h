// The C interface of libdrdma: declarative RDMA verbs.
//
// Names, arguments and conventions are those of libibverbs where it has them. Functions that return a
// pointer return NULL on failure and set errno; functions that return an int return 0, or the error
// number, which is in errno as well. drdma_last_error() has the error in words. Functions may be called
// by any thread; an object must not be used while or after it is destroyed.
//
// Made by cbindgen from capi/src; do not edit.

#ifndef DRDMA_H
#define DRDMA_H

#include <stddef.h>
#include <stdint.h>

// How a request ended: the codes of `ibv_wc_status`.
enum drdma_wc_status {
  // Done: sent, and acknowledged where the transport does that.
  DRDMA_WC_SUCCESS = 0,
  // A message does not fit.
  DRDMA_WC_LOC_LEN_ERR = 1,
  // The request is malformed, or its queue pair cannot do it.
  DRDMA_WC_LOC_QP_OP_ERR = 2,
  // A byte outside its memory region, or memory that could not be read.
  DRDMA_WC_LOC_PROT_ERR = 4,
  // Not executed: its queue was in the error state.
  DRDMA_WC_WR_FLUSH_ERR = 5,
  // The responder refused the request as invalid.
  DRDMA_WC_REM_INV_REQ_ERR = 9,
  // The responder refused the remote key or its bounds.
  DRDMA_WC_REM_ACCESS_ERR = 10,
  // The responder could not complete the request.
  DRDMA_WC_REM_OP_ERR = 11,
  // No acknowledgement came.
  DRDMA_WC_RETRY_EXC_ERR = 12,
  // The responder stayed not ready.
  DRDMA_WC_RNR_RETRY_EXC_ERR = 13,
};

// What completed: the codes of `ibv_wc_opcode`.
enum drdma_wc_opcode {
  // SENDs, of whatever kind.
  DRDMA_WC_SEND = 0,
  // WRITEs, of whatever kind.
  DRDMA_WC_RDMA_WRITE = 1,
  // A READ.
  DRDMA_WC_RDMA_READ = 2,
  // A compare and swap.
  DRDMA_WC_COMP_SWAP = 3,
  // A fetch and add.
  DRDMA_WC_FETCH_ADD = 4,
  // A receive that a SEND filled.
  DRDMA_WC_RECV = 128,
  // A receive that a WRITE with immediate data used up; it was not written to.
  DRDMA_WC_RECV_RDMA_WITH_IMM = 129,
};

// Bits of `wc_flags`.
enum drdma_wc_flags {
  // The first 40 bytes are those of a datagram's route: 20 that are not written, then the IPv4 header.
  DRDMA_WC_GRH = 1,
  // `imm_data` came with the message.
  DRDMA_WC_WITH_IMM = 2,
  // The message invalidated the key `invalidated_rkey`.
  DRDMA_WC_WITH_INV = 8,
};

// What happened: the codes of `ibv_event_type`, of those that there are.
enum drdma_event_type {
  // The card has put a queue pair in the error state, and no completion says why: its peer has sent a WRITE, a READ
  // or an atomic without a right key, or an invalid request.
  DRDMA_EVENT_QP_FATAL = 1,
  // The card has stopped working; told once.
  DRDMA_EVENT_DEVICE_FATAL = 8,
  // A shared receive queue has fewer receives than its limit, which is used up with this.
  DRDMA_EVENT_SRQ_LIMIT_REACHED = 15,
  // A queue pair with a shared receive queue is in the error state, and takes no further receive from it: all
  // completions of those that it has taken can be polled.
  DRDMA_EVENT_QP_LAST_WQE_REACHED = 16,
};

// What memory, and a queue pair, allow beside being sent from: the bits of `ibv_access_flags`.
enum drdma_access_flags {
  // The card writes to it for requests of this process: receives, READs, atomics.
  DRDMA_ACCESS_LOCAL_WRITE = 1,
  // A peer may WRITE to it.
  DRDMA_ACCESS_REMOTE_WRITE = 2,
  // A peer may READ it.
  DRDMA_ACCESS_REMOTE_READ = 4,
  // A peer may execute atomics on it.
  DRDMA_ACCESS_REMOTE_ATOMIC = 8,
};

// What a card does beside sending: the bits of its register FEATURES.
enum drdma_features {
  // It takes SENDs and WRITEs, and acknowledges them. A card without this has none of the others.
  DRDMA_FEATURE_RECEIVES = 1,
  // Receives and READs fill regions of every type; without it, contiguous ones alone, but for
  // `DRDMA_FEATURE_STRIDED_RECEIVES` and `DRDMA_FEATURE_MAPPED_RECEIVES`.
  DRDMA_FEATURE_SCATTERS = 2,
  // It sends READs and atomics, and waits at fences.
  DRDMA_FEATURE_READS = 4,
  // Requests can invalidate remote keys, be solicited, and name an address.
  DRDMA_FEATURE_REQUESTS = 8,
  // It sends again what is lost.
  DRDMA_FEATURE_RETRANSMITS = 16,
  // Columns have values of variable length, or of a dictionary.
  DRDMA_FEATURE_VARLEN = 128,
  // Columns are bits, and bitmaps begin at any bit.
  DRDMA_FEATURE_BITS = 256,
  // Messages go column by column, and WRITEs have an address a column.
  DRDMA_FEATURE_COLUMNS = 512,
  // Records lead to further ones by pointers.
  DRDMA_FEATURE_CHASE = 1024,
  // Partitions are made from keys.
  DRDMA_FEATURE_PARTITIONS = 2048,
  // It answers READs.
  DRDMA_FEATURE_READ_ANSWERS = 4096,
  // It answers atomics.
  DRDMA_FEATURE_ATOMIC_ANSWERS = 8192,
  // Receives fill strided regions as well as contiguous ones, as far as they have places.
  DRDMA_FEATURE_STRIDED_RECEIVES = 16384,
  // Congestion control (DCQCN) of queue pairs whose `traffic_class` has ECN 1 or 2. Nothing is refused without it.
  DRDMA_FEATURE_CONGESTION = 32768,
  // WRITEs have an address a column; without `DRDMA_FEATURE_COLUMNS`, of one region a destination whose rows go into
  // one message a column.
  DRDMA_FEATURE_COLUMN_WRITES = 131072,
  // Receives fill bitmapped and pointer-mapped regions, as far as they have places.
  DRDMA_FEATURE_MAPPED_RECEIVES = 262144,
  // Partitions are made from keys of fixed width; without `DRDMA_FEATURE_PARTITIONS`, from no others.
  DRDMA_FEATURE_FIXED_KEYS = 524288,
  // Messages to one remote address, or to none, go column by column.
  DRDMA_FEATURE_COLUMN_MESSAGES = 1048576,
};

// What a region is.
enum drdma_region_type {
  // `length` bytes at `offset` of `mr`.
  DRDMA_REGION_CONTIGUOUS = 0,
  // The `extents` of each of `count` periods of `period` bytes, from `offset` of `mr` on.
  DRDMA_REGION_STRIDED = 1,
  // The values of `columns` in those of `count` rows that the bitmap at `offset` of `mr` selects:
  // bit `r` mod 8 of byte `r` / 8 selects row `r`.
  DRDMA_REGION_BITMAPPED = 2,
  // The `extents` at each of the `count` pointers at `offset` of `mr`, which are 64-bit addresses as
  // the card sees them (drdma_mr_iova) and lie in `target`.
  DRDMA_REGION_POINTER_MAPPED = 3,
};

// The transport of a queue pair.
enum drdma_qp_type {
  // Reliable connection.
  DRDMA_QPT_RC = 0,
  // Unreliable connection.
  DRDMA_QPT_UC = 1,
  // Unreliable datagram.
  DRDMA_QPT_UD = 2,
};

// What a request does: the codes of `ibv_wr_opcode`. Those from DRDMA_WR_RDMA_READ on are for RC, for
// drdma_post_send, and for cards that do them (drdma_query_features).
enum drdma_wr_opcode {
  // RDMA WRITE.
  DRDMA_WR_RDMA_WRITE = 0,
  // RDMA WRITE with immediate data.
  DRDMA_WR_RDMA_WRITE_WITH_IMM = 1,
  // SEND.
  DRDMA_WR_SEND = 2,
  // SEND with immediate data.
  DRDMA_WR_SEND_WITH_IMM = 3,
  // One READ of as many bytes as the regions have, which fills them. Their memory must allow
  // DRDMA_ACCESS_LOCAL_WRITE.
  DRDMA_WR_RDMA_READ = 4,
  // A compare and swap of the peer's 8 bytes at `remote_addr`: if they are `compare_add`, they become `swap`. The
  // regions, of 8 bytes, are filled with what they were, in the host's byte order.
  DRDMA_WR_ATOMIC_CMP_AND_SWP = 5,
  // The peer's 8 bytes at `remote_addr` grow by `compare_add`; as DRDMA_WR_ATOMIC_CMP_AND_SWP else.
  DRDMA_WR_ATOMIC_FETCH_AND_ADD = 6,
  // SENDs that make the peer's key `rkey` invalid.
  DRDMA_WR_SEND_WITH_INV = 9,
};

// Bits of `send_flags`.
enum drdma_send_flags {
  // The request gets a completion only if it fails; without this flag (unlike `ibv_post_send`, which has
  // `IBV_SEND_SIGNALED`) always. Until a request without the flag that was posted behind it has completed and was
  // polled, it keeps its room in the send queue and its memory. Requests with the flag behind the last one
  // without may take half of the send queue; EINVAL says that one more would take more.
  DRDMA_SEND_UNSIGNALED = 1,
  // The request has no regions: the `inline_length` bytes at `inline_data` are sent, 0 to 64, as one message
  // whatever `row_mask` and `rows_per_message` say (`IBV_SEND_INLINE`). They are the caller's again when the
  // post returns, and may be in any memory. Without the flag and without regions no message is sent, where
  // `ibv_post_send` sends one of no bytes. Only for drdma_post_send.
  DRDMA_SEND_INLINE = 2,
  // The request waits until the READs and atomics before it have their answers (`IBV_SEND_FENCE`). RC.
  DRDMA_SEND_FENCE = 4,
  // The peer's receives complete as solicited ones (`IBV_SEND_SOLICITED`).
  DRDMA_SEND_SOLICITED = 8,
};

// How regions are cut into units.
enum drdma_row_mask {
  // The units are the rows of the regions, one region after another.
  DRDMA_ROW_MASK_PERIOD = 0,
  // Unit `i` is element `i` of every region.
  DRDMA_ROW_MASK_ELEMENT = 1,
};

// The order of the values of a message. By columns is for cards that do it (drdma_query_features).
enum drdma_message_layout {
  // Row by row.
  DRDMA_LAYOUT_ROWS = 0,
  // Column by column: the first value of every unit, then the second value of every unit, and so on.
  DRDMA_LAYOUT_COLUMNS = 1,
};

// The states of a queue pair.
enum drdma_qp_state {
  // Newly made.
  DRDMA_QPS_RESET = 0,
  // Set up.
  DRDMA_QPS_INIT = 1,
  // The peer is known.
  DRDMA_QPS_RTR = 2,
  // Work requests are executed.
  DRDMA_QPS_RTS = 3,
  // A request failed: all further ones are flushed.
  DRDMA_QPS_ERR = 4,
};

// Which attributes of drdma_modify_qp are given.
enum drdma_qp_attr_mask {
  // `qp_state`, always.
  DRDMA_QP_STATE = 1,
  // `pkey`: Reset to Init.
  DRDMA_QP_PKEY = 2,
  // `qkey`: Reset to Init, UD.
  DRDMA_QP_QKEY = 4,
  // `path_mtu`: Init to RTR.
  DRDMA_QP_PATH_MTU = 8,
  // `dest_qp_num`: Init to RTR.
  DRDMA_QP_DEST_QPN = 16,
  // `dest_mac`, `dest_ip`, `traffic_class`, `hop_limit`, `vlan_id` and `vlan_priority`: Init to RTR.
  DRDMA_QP_AV = 32,
  // `sq_psn`: RTR to RTS.
  DRDMA_QP_SQ_PSN = 64,
  // `qp_access_flags`: Reset to Init.
  DRDMA_QP_ACCESS_FLAGS = 128,
  // `rq_psn`: Init to RTR, RC and UC.
  DRDMA_QP_RQ_PSN = 256,
  // `min_rnr_timer`: Init to RTR, RC.
  DRDMA_QP_MIN_RNR_TIMER = 512,
  // `max_dest_rd_atomic`: Init to RTR, RC.
  DRDMA_QP_MAX_DEST_RD_ATOMIC = 1024,
  // `timeout`: RTR to RTS, RC.
  DRDMA_QP_TIMEOUT = 2048,
  // `retry_cnt`: RTR to RTS, RC.
  DRDMA_QP_RETRY_CNT = 4096,
  // `rnr_retry`: RTR to RTS, RC.
  DRDMA_QP_RNR_RETRY = 8192,
  // `max_rd_atomic`: RTR to RTS, RC.
  DRDMA_QP_MAX_QP_RD_ATOMIC = 16384,
};

// Where events of completion queues arrive.
struct drdma_comp_channel;

// An open card.
struct drdma_context;

// A completion queue.
struct drdma_cq;

// Registered memory.
struct drdma_mr;

// A group of memory regions and queues that may be used with one another.
struct drdma_pd;

// A queue pair.
struct drdma_qp;

// A shared receive queue: receives that any of several queue pairs may use.
struct drdma_srq;

// A shared send queue: several queue pairs' data, planned together.
struct drdma_ssq;

// The buffers that views point into.
struct drdma_view_table;

// An asynchronous event. It need not be acknowledged: the events of an object end with it.
struct drdma_async_event {
  // A `drdma_event_type`. There may be others one day.
  uint32_t event_type;
  // Of a queue pair: its number on the wire, drdma_qp_num. Otherwise 0.
  uint32_t qp_num;
  // Of a queue pair: drdma_qp_index. Otherwise 0.
  uint32_t qp_index;
  // Of a shared receive queue: drdma_srq_queue. Otherwise 0.
  uint32_t srq_queue;
};

// A completion.
struct drdma_wc {
  // The request's name.
  uint64_t wr_id;
  // Payload bytes of all its messages; 0 unless the status is DRDMA_WC_SUCCESS.
  uint64_t byte_len;
  // A `drdma_wc_status`.
  uint32_t status;
  // The number of the queue that it was posted to: of a send queue drdma_qp_queue or drdma_ssq_queue, of a
  // receive queue drdma_qp_receive_queue or drdma_srq_queue.
  uint16_t queue;
  // The destination that failed: its index in the request.
  uint16_t destination;
  // A `drdma_wc_opcode`. Of what failed, only whether it is a receive (DRDMA_WC_RECV and above) holds.
  uint32_t opcode;
  // `drdma_wc_flags`.
  uint32_t wc_flags;
  // With DRDMA_WC_WITH_IMM: the sender's immediate data, in the host's byte order. Otherwise 0.
  uint32_t imm_data;
  // With DRDMA_WC_WITH_INV: the key. Otherwise 0.
  uint32_t invalidated_rkey;
  // Of a receive: drdma_qp_index of the queue pair that received. Otherwise 0.
  uint32_t qp_index;
  // With DRDMA_WC_GRH: the sender's queue pair number. Otherwise 0.
  uint32_t src_qp;
};

// How a card is set up.
struct drdma_device_attr {
  // The card's Ethernet address, in the order of transmission.
  uint8_t mac[6];
  // The card's IPv4 address, in the order of transmission.
  uint8_t ip[4];
  // Units of 1,024 cycles (4.096 us) without progress after which an unacknowledged request
  // completes with DRDMA_WC_RETRY_EXC_ERR; 0: the default of half a second.
  uint32_t ack_timeout;
};

// How a queue pair is made.
struct drdma_qp_init_attr {
  // Where its requests complete.
  struct drdma_cq *send_cq;
  // A `drdma_qp_type`.
  uint32_t qp_type;
  // Its number on the wire, 24 bits; 0: chosen.
  uint32_t qp_num;
  // Room in its send queue in blocks of 64 bytes, 1 to 65,536; 0: 256.
  uint32_t max_send_blocks;
  // Where its receives complete; NULL: it has no receive queue of its own.
  struct drdma_cq *recv_cq;
  // The shared receive queue that it takes its receives from, or NULL. Not together with `recv_cq`.
  struct drdma_srq *srq;
  // Room in its receive queue in blocks of 64 bytes, 1 to 65,536; 0: 256.
  uint32_t max_recv_blocks;
};

// What drdma_modify_qp changes.
struct drdma_qp_attr {
  // A `drdma_qp_state`: where to go.
  uint32_t qp_state;
  // Bytes: 256, 512, 1024, 2048 or 4096.
  uint32_t path_mtu;
  // Queue key.
  uint32_t qkey;
  // The peer's queue pair number.
  uint32_t dest_qp_num;
  // The first packet's sequence number.
  uint32_t sq_psn;
  // Partition key.
  uint16_t pkey;
  // The peer's Ethernet address, in the order of transmission; all zero: that which the host knows for
  // `dest_ip`.
  uint8_t dest_mac[6];
  // The peer's IPv4 address, in the order of transmission.
  uint8_t dest_ip[4];
  // IPv4 type of service: DSCP in the upper 6 bits, ECN in the lower 2.
  uint8_t traffic_class;
  // IPv4 time to live; 0 stands for 64.
  uint8_t hop_limit;
  // Priority in the 802.1Q tag, 0 to 7.
  uint8_t vlan_priority;
  // The VLAN, 1 to 4094, whose tag the frames have; 0: they have none.
  uint16_t vlan_id;
  // `drdma_access_flags`: what the peer may do.
  uint32_t qp_access_flags;
  // The sequence number of the peer's first packet.
  uint32_t rq_psn;
  // What an RNR NAK asks the peer to wait: a code, 0 to 31 (IBTA table 45).
  uint8_t min_rnr_timer;
  // READs and atomics of the peer that may be in progress, 0 to 16.
  uint8_t max_dest_rd_atomic;
  // How long an acknowledgement is waited for: 4.096 us times 2 to the power of it, up to 31; 0: for ever.
  uint8_t timeout;
  // How often packets are sent again that nobody acknowledges, 0 to 7.
  uint8_t retry_cnt;
  // How often they are sent again after an RNR NAK, 0 to 6; 7: for ever.
  uint8_t rnr_retry;
  // READs and atomics that may be in progress, 0 to 16.
  uint8_t max_rd_atomic;
};

// How the entries of a column or an extent lead to their values. Fields that the type does not name are not looked
// at. A value of variable length is sent as its length, of 4 bytes, and its bytes. Other types than fixed are for
// cards that do them (drdma_query_features).
struct drdma_values {
  // A `drdma_values_type`.
  uint32_t values_type;
  // Bytes of a value, an offset or an index.
  uint32_t width;
  // The place of row 0's bit.
  uint32_t first_bit;
  // Bytes of a dictionary's value.
  uint32_t value_width;
  // Values of a dictionary.
  uint64_t count;
  // The data, or the dictionary.
  const struct drdma_mr *data;
  // Its first byte in that memory.
  uint64_t offset;
  // The buffers of views.
  const struct drdma_view_table *views;
};

// A run of bytes inside a period or a record.
struct drdma_extent {
  // The first one.
  uint64_t offset;
  // How many.
  uint64_t length;
  // What the entry at `offset` leads to, instead of `length`; or NULL.
  const struct drdma_values *values;
};

// A column: values one behind the other.
struct drdma_column {
  // The memory that it lies in.
  const struct drdma_mr *mr;
  // Row 0's value in it.
  uint64_t offset;
  // Bytes of a value.
  uint64_t width;
  // What the entries from `offset` on lead to, instead of `width`; or NULL.
  const struct drdma_values *values;
};

// The records of a pointer-mapped region lead to further ones, which are rows as well.
struct drdma_chase {
  // Bytes from the start of a record to its pointer to the next one.
  uint64_t next;
  // The pointer that ends a chain.
  uint64_t end;
  // Records of a chain, at most: 1 to 2^24. One that has more, or no end, fails the request.
  uint64_t limit;
};

// What to send, described instead of listed. Fields that its type does not name are 0.
struct drdma_region {
  // A `drdma_region_type`.
  uint32_t region_type;
  // Entries of `extents`.
  uint32_t num_extents;
  // Entries of `columns`.
  uint32_t num_columns;
  // The memory, or that of the bitmap, or that of the pointers.
  const struct drdma_mr *mr;
  // First byte in it.
  uint64_t offset;
  // Bytes of a contiguous region.
  uint64_t length;
  // Bytes from one period to the next.
  uint64_t period;
  // Periods, rows or pointers.
  uint64_t count;
  // Up to 16.
  const struct drdma_extent *extents;
  // Up to 16.
  const struct drdma_column *columns;
  // The memory that pointers point to.
  const struct drdma_mr *target;
  // How records lead to further ones; or NULL: they do not.
  const struct drdma_chase *chase;
  // The place of row 0's bit in the bitmap's first byte, 0 to 7.
  uint32_t first_bit;
};

// Where a datagram goes (an address handle).
struct drdma_ah {
  // The peer's Ethernet address, in the order of transmission.
  uint8_t dest_mac[6];
  // IPv4 type of service: DSCP in the upper 6 bits, ECN in the lower 2.
  uint8_t traffic_class;
  // IPv4 time to live; 0 stands for 64.
  uint8_t hop_limit;
  // The peer's IPv4 address, in the order of transmission.
  uint8_t dest_ip[4];
  // The peer's queue pair number, 24 bits.
  uint32_t remote_qpn;
  // That one's queue key.
  uint32_t remote_qkey;
};

// Where the messages of one column go, of a WRITE by columns.
struct drdma_remote_column {
  // Where the first one goes; each further one goes behind the one before.
  uint64_t remote_addr;
  // The key of that memory.
  uint32_t rkey;
};

// A request to one queue pair.
struct drdma_send_wr {
  // Its name in the completion.
  uint64_t wr_id;
  // The next one, or NULL.
  const struct drdma_send_wr *next;
  // A `drdma_wr_opcode`.
  uint32_t opcode;
  // A `drdma_row_mask`.
  uint32_t row_mask;
  // Units that are packed into one message, at least 1.
  uint32_t rows_per_message;
  // Immediate data, in the host's byte order.
  uint32_t imm_data;
  // Where the first message of a WRITE goes.
  uint64_t remote_addr;
  // The key of that memory.
  uint32_t rkey;
  // Entries of `regions`.
  uint32_t num_regions;
  // What is sent: up to 16.
  const struct drdma_region *regions;
  // `drdma_send_flags`.
  uint32_t send_flags;
  // With DRDMA_SEND_INLINE: bytes at `inline_data`. Not looked at without.
  uint32_t inline_length;
  // With DRDMA_SEND_INLINE: what is sent instead of regions. Not looked at without, nor if `inline_length` is 0.
  const void *inline_data;
  // Of an atomic: what is compared with, or added. Not looked at otherwise.
  uint64_t compare_add;
  // Of a compare and swap: the new value. Not looked at otherwise.
  uint64_t swap;
  // On UD: where the datagrams go, or NULL: to the peer of the queue pair. NULL otherwise.
  const struct drdma_ah *ah;
  // A `drdma_message_layout`.
  uint32_t message_layout;
  // Entries of `remote_columns`.
  uint32_t num_remote_columns;
  // Of a WRITE by columns: where the messages of each column go, instead of `remote_addr`; as many as a unit has
  // values, 1 to 64. NULL otherwise.
  const struct drdma_remote_column *remote_columns;
};

// A column that partitions are made from.
struct drdma_key {
  // The memory that it lies in.
  const struct drdma_mr *mr;
  // Row 0's entry in it.
  uint64_t offset;
  // A `drdma_key_type`.
  uint32_t key_type;
  // The place of row 0's bit of `validity` in its byte, 0 to 7.
  uint32_t validity_bit;
  // Its values.
  struct drdma_values values;
  // A bit of each row, 0 where it is null, from byte `validity_offset` on; or NULL: no row is.
  const struct drdma_mr *validity;
  // Its first byte in that memory.
  uint64_t validity_offset;
};

// Partitions that the card makes from keys, instead of reading ids; for cards that do so (drdma_query_features).
struct drdma_partition_by {
  // A `drdma_partition_function`.
  uint32_t function;
  // Partitions: 1 to 65,536, of a range to 256.
  uint32_t partitions;
  // The seed of a hash; Spark's is 42.
  uint32_t seed;
  // Neighbouring partitions that have one id, at least 1.
  uint32_t group;
  // Entries of `keys`.
  uint32_t num_keys;
  // Up to 16; one of a range.
  const struct drdma_key *keys;
  // The splitters of a range, which are as the values of the key; NULL of a hash.
  const struct drdma_mr *splitters;
  // The first one in that memory.
  uint64_t splitters_offset;
};

// One region for all destinations of a request: each of `rows` rows goes to the destination whose
// partition its id names.
struct drdma_partitioned_region {
  // The memory of the ids.
  const struct drdma_mr *ids;
  // The first id in it.
  uint64_t offset;
  // Bytes of an id: 1 or 2 (little-endian).
  uint32_t id_width;
  // Entries of `columns`.
  uint32_t num_columns;
  // Rows, that is, ids.
  uint64_t rows;
  // Up to 16.
  const struct drdma_column *columns;
  // How the card makes ids, instead of `ids`, `offset` and `id_width`; or NULL.
  const struct drdma_partition_by *by;
};

// One destination of a request to a shared send queue.
struct drdma_destination {
  // The queue pair.
  const struct drdma_qp *qp;
  // Where the first message of a WRITE goes.
  uint64_t remote_addr;
  // The key of that memory.
  uint32_t rkey;
  // The partition that goes there, of a partitioned request.
  uint16_t partition;
  // Entries of `regions`.
  uint32_t num_regions;
  // What is sent there, unless the request is partitioned: up to 16.
  const struct drdma_region *regions;
  // A `drdma_message_layout`.
  uint32_t message_layout;
  // Entries of `remote_columns`.
  uint32_t num_remote_columns;
  // Of a WRITE by columns: where the messages of each column go, instead of `remote_addr`; as many as a unit has
  // values, 1 to 64. NULL otherwise.
  const struct drdma_remote_column *remote_columns;
};

// A request to several queue pairs, which the card plans together.
struct drdma_ssq_wr {
  // Its name in the completion.
  uint64_t wr_id;
  // A `drdma_wr_opcode`.
  uint32_t opcode;
  // A `drdma_row_mask`.
  uint32_t row_mask;
  // Units that are packed into one message, at least 1.
  uint32_t rows_per_message;
  // Immediate data, in the host's byte order.
  uint32_t imm_data;
  // One region for all destinations, by a partition id a row; or NULL, and each has its own.
  const struct drdma_partitioned_region *partitioned;
  // Entries of `destinations`.
  uint32_t num_destinations;
  // Where it goes: 1 to 256.
  const struct drdma_destination *destinations;
  // `drdma_send_flags`.
  uint32_t send_flags;
};

// A receive: where the bytes of a message go. The memory must allow DRDMA_ACCESS_LOCAL_WRITE.
struct drdma_recv_wr {
  // Its name in the completion.
  uint64_t wr_id;
  // The next one, or NULL.
  const struct drdma_recv_wr *next;
  // What a message fills, one region after the other, row by row: up to 16. A datagram comes behind 40
  // bytes for its route.
  const struct drdma_region *regions;
  // Entries of `regions`; 0: only messages of no bytes, and WRITEs with immediate data, fit.
  uint32_t num_regions;
};

// A part of memory that views point into.
struct drdma_view_buffer {
  // The memory.
  const struct drdma_mr *mr;
  // Its first byte.
  uint64_t offset;
  // Bytes.
  uint64_t length;
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Waits for an asynchronous event, and takes it. `timeout_ms` is -1 for ever, 0 not at all; EAGAIN: there was none.
int drdma_get_async_event(struct drdma_context *context,
                          struct drdma_async_event *event,
                          int timeout_ms);

// A file descriptor that is readable while there are asynchronous events; -1 on failure, with errno. The first call
// starts a thread that looks for them.
int drdma_async_event_fd(struct drdma_context *context);

// Asks for an event when fewer than `limit` receives of the queue are left, which may be now; 0 takes that back.
// EINVAL: more than its blocks.
int drdma_set_srq_limit(struct drdma_srq *srq,
                        uint32_t limit);

// Makes a completion channel.
struct drdma_comp_channel *drdma_create_comp_channel(struct drdma_context *context);

// Destroys a completion channel. EBUSY: a completion queue has it.
int drdma_destroy_comp_channel(struct drdma_comp_channel *channel);

// The file descriptor, readable while there are events; -1 if `channel` is NULL.
int drdma_comp_channel_fd(const struct drdma_comp_channel *channel);

// Waits for an event, and takes it: the completion queue and what it was made with. `timeout_ms` is -1
// for ever, 0 not at all; EAGAIN: there was none.
int drdma_get_cq_event(struct drdma_comp_channel *channel,
                       struct drdma_cq **cq,
                       void **cq_context,
                       int timeout_ms);

// Makes a completion queue with room for `cqe` completions, 1 to 65,536. `channel` may be NULL.
struct drdma_cq *drdma_create_cq(struct drdma_context *context,
                                 int cqe,
                                 void *cq_context,
                                 struct drdma_comp_channel *channel);

// Destroys a completion queue; queues that complete there go on doing so, unseen. Its channel must
// still be there.
int drdma_destroy_cq(struct drdma_cq *cq);

// Takes up to `num_entries` completions, without waiting; returns their number, or a negative error
// number. A simulated card works in this call.
int drdma_poll_cq(struct drdma_cq *cq, int num_entries, struct drdma_wc *wc);

// Asks for an event on the queue's channel as soon as there is something to poll, which may be now.
int drdma_req_notify_cq(struct drdma_cq *cq);

// A status in words: a constant.
const char *drdma_wc_status_str(uint32_t status);

// Opens a card by its name: `vfio:0000:65:00.0` a board, `soft:` the reference model, whose peers
// acknowledge whatever comes.
struct drdma_context *drdma_open_device(const char *name, const struct drdma_device_attr *attr);

// What the card does beside sending: `drdma_features`; 0 if `context` is NULL.
uint32_t drdma_query_features(const struct drdma_context *context);

// Closes the handle; the card stops with the last object that uses it.
int drdma_close_device(struct drdma_context *context);

// Makes a protection domain.
struct drdma_pd *drdma_alloc_pd(struct drdma_context *context);

// Gives a protection domain back; memory regions and queues in it stay.
int drdma_dealloc_pd(struct drdma_pd *pd);

// The last error of this thread in words: valid until its next error, empty before the first.
const char *drdma_last_error(void);

// Registers `length` bytes at `addr`, wherever they lie. The memory stays the caller's; it must not be
// freed before drdma_dereg_mr has returned 0, nor be written to while a request that reads it is in
// progress. `access` says what else than reading it for requests the card may do (`drdma_access_flags`); what it
// may write to holds its bytes when the completion was polled.
struct drdma_mr *drdma_reg_mr(struct drdma_pd *pd,
                              void *addr,
                              size_t length,
                              int access);

// Gives memory back: when this returns 0, the card does not read it any longer. EBUSY: a posted request
// that was not polled needs it, and nothing has changed. ETIMEDOUT: the card goes on reading it for a
// request that was taken from it; the region is gone, but its memory must stay.
int drdma_dereg_mr(struct drdma_mr *mr);

// The local key; 0 if `mr` is NULL.
uint32_t drdma_mr_lkey(const struct drdma_mr *mr);

// The remote key, by which a peer names the memory; 0 if `mr` is NULL.
uint32_t drdma_mr_rkey(const struct drdma_mr *mr);

// Where the card sees the first byte: what the pointers of a pointer-mapped region count from, and the address that a
// peer has for it. 0 if `mr` is NULL.
uint64_t drdma_mr_iova(const struct drdma_mr *mr);

// Makes a queue pair, in state DRDMA_QPS_RESET.
struct drdma_qp *drdma_create_qp(struct drdma_pd *pd, const struct drdma_qp_init_attr *attr);

// Destroys a queue pair, and takes back what is posted: it gets no completion.
int drdma_destroy_qp(struct drdma_qp *qp);

// The queue pair's number on the wire; 0 if `qp` is NULL.
uint32_t drdma_qp_num(const struct drdma_qp *qp);

// The number of its send queue, as completions tell it; 0 if `qp` is NULL.
uint16_t drdma_qp_queue(const struct drdma_qp *qp);

// The number of its receive queue, as completions tell it; 0 if `qp` is NULL or has none.
uint16_t drdma_qp_receive_queue(const struct drdma_qp *qp);

// The queue pair's index, as completions of receives tell it; 0 if `qp` is NULL.
uint32_t drdma_qp_index(const struct drdma_qp *qp);

// Goes to another state, with the attributes that `attr_mask` names (`drdma_qp_attr_mask`).
int drdma_modify_qp(struct drdma_qp *qp, const struct drdma_qp_attr *attr, int attr_mask);

// Reset, Init, RTR, RTS in one go, with all attributes of `attr` but `qp_state`. A `pkey` of 0 is the
// default one; `qkey` counts on UD alone. Of the fields from `qp_access_flags` on, those that are 0 are left out,
// except `rq_psn` of an RC or UC queue pair that has receives or allows its peer anything.
int drdma_connect_qp(struct drdma_qp *qp,
                     const struct drdma_qp_attr *attr);

// The state of a queue pair, as far as completions were polled; DRDMA_QPS_RESET if `qp` is NULL.
uint32_t drdma_query_qp_state(const struct drdma_qp *qp);

// Posts requests, one behind the other. On failure, `bad_wr` (which may be NULL) is the first that was
// not posted. The memory of their regions stays registered until they are polled.
int drdma_post_send(struct drdma_qp *qp,
                    const struct drdma_send_wr *wr,
                    const struct drdma_send_wr **bad_wr);

// Posts a request to a shared send queue. The memory of its regions stays registered until it is polled.
int drdma_post_ssq_send(struct drdma_ssq *ssq,
                        const struct drdma_ssq_wr *wr);

// Posts receives to the queue pair's own receive queue, one behind the other. On failure, `bad_wr` (which may be
// NULL) is the first that was not posted. The memory of their regions stays registered until they are
// polled.
int drdma_post_recv(struct drdma_qp *qp,
                    const struct drdma_recv_wr *wr,
                    const struct drdma_recv_wr **bad_wr);

// Posts receives to a shared receive queue; else as drdma_post_recv.
int drdma_post_srq_recv(struct drdma_srq *srq,
                        const struct drdma_recv_wr *wr,
                        const struct drdma_recv_wr **bad_wr);

// Makes a shared send queue, with room for `max_send_blocks` blocks of 64 bytes; 0: 8,192.
struct drdma_ssq *drdma_create_ssq(struct drdma_pd *pd,
                                   struct drdma_cq *send_cq,
                                   uint32_t max_send_blocks);

// Destroys a shared send queue, and waits until the card has sent what it has begun; what is posted gets
// no completion.
int drdma_destroy_ssq(struct drdma_ssq *ssq);

// Completes what is still posted with DRDMA_WC_WR_FLUSH_ERR, and makes the queue ready again after an
// error.
int drdma_reset_ssq(struct drdma_ssq *ssq);

// The queue's number, as completions tell it; 0 if `ssq` is NULL.
uint16_t drdma_ssq_queue(const struct drdma_ssq *ssq);

// Makes a shared receive queue, whose receives complete to `cq`, with room for `max_blocks` blocks of 64 bytes; 0:
// 256.
struct drdma_srq *drdma_create_srq(struct drdma_pd *pd,
                                   struct drdma_cq *cq,
                                   uint32_t max_blocks);

// Destroys a shared receive queue, and takes back what is posted: it gets no completion. The queue pairs
// that use it find no receive from then on.
int drdma_destroy_srq(struct drdma_srq *srq);

// The queue's number, as completions tell it; 0 if `srq` is NULL.
uint16_t drdma_srq_queue(const struct drdma_srq *srq);

// Makes a table of up to 4,096 buffers, which views name by their index. It takes a key of the card, and keeps the
// memory registered. NULL on failure.
struct drdma_view_table *drdma_create_view_table(struct drdma_pd *pd,
                                                 const struct drdma_view_buffer *buffers,
                                                 uint32_t num_buffers);

// Gives a table back. What was posted with it keeps it until it is polled.
int drdma_destroy_view_table(struct drdma_view_table *table);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* DRDMA_H */
