/* The peer as requester: queue pairs that send, and what they post. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "peer.h"

enum { MAX_HANDLES = 16 };

/* The queue pair of each request. */
static int posts[MAX_POSTS];
static int post_count;
static struct ibv_ah *handles[MAX_HANDLES];
static int handle_count;

void make_ready(int index, uint32_t psn, int timeout)
{
	struct ibv_qp_attr ready = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = psn,
		.timeout = timeout,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 16,
	};
	int mask = IBV_QP_SQ_PSN;

	if (index < 0 || index >= qp_count) {
		fail("ready", EINVAL);
		return;
	}
	if (qps[index]->qp_type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	if (modify(qps[index], &ready, mask, "to RTS"))
		printf("{\"ready\": %d}\n", index);
}

/* Posts a request of some bytes of a memory. */
static void post(int index, int memory, size_t offset, size_t bytes, struct ibv_send_wr *request)
{
	struct ibv_sge sge = { .length = bytes };
	struct ibv_send_wr *bad;
	int error;

	if (index < 0 || index >= qp_count || memory < 0 || memory >= memory_count ||
	    offset > memories[memory].size || bytes > memories[memory].size - offset) {
		fail("post", EINVAL);
		return;
	}
	if (post_count == MAX_POSTS) {
		fail("post", ENOSPC);
		return;
	}
	sge.addr = (uintptr_t)memories[memory].bytes + offset;
	sge.lkey = memories[memory].mr->lkey;
	request->wr_id = POST | post_count;
	request->sg_list = &sge;
	request->num_sge = 1;
	error = ibv_post_send(qps[index], request, &bad);
	if (error) {
		fail("post", error);
		return;
	}
	posts[post_count] = index;
	printf("{\"post\": %d}\n", post_count++);
}

static bool find_opcode(const char *name, enum ibv_wr_opcode *opcode)
{
	static const struct {
		const char *name;
		enum ibv_wr_opcode opcode;
	} known[] = {
		{ "send", IBV_WR_SEND },	  { "send_imm", IBV_WR_SEND_WITH_IMM },
		{ "write", IBV_WR_RDMA_WRITE },	  { "write_imm", IBV_WR_RDMA_WRITE_WITH_IMM },
		{ "read", IBV_WR_RDMA_READ },	  { "cas", IBV_WR_ATOMIC_CMP_AND_SWP },
		{ "faa", IBV_WR_ATOMIC_FETCH_AND_ADD },
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (!strcmp(name, known[i].name)) {
			*opcode = known[i].opcode;
			return true;
		}
	return false;
}

/* Reads the fields of `post` behind its name. */
void post_connected(const char *fields)
{
	struct ibv_send_wr request = { 0 };
	uint64_t addr, a, b;
	uint32_t rkey, imm;
	size_t offset, bytes;
	int index, memory;
	char op[16];

	if (sscanf(fields, "%d %15s %d %zu %zu %" SCNu64 " %" SCNu32 " %" SCNu32 " %" SCNu64
			   " %" SCNu64, &index, op, &memory, &offset, &bytes, &addr, &rkey, &imm,
		   &a, &b) != 10 || !find_opcode(op, &request.opcode)) {
		fail("post", EINVAL);
		return;
	}
	request.imm_data = htonl(imm);
	if (request.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	    request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		request.wr.atomic.remote_addr = addr;
		request.wr.atomic.rkey = rkey;
		request.wr.atomic.compare_add = a;
		request.wr.atomic.swap = b;
	} else {
		request.wr.rdma.remote_addr = addr;
		request.wr.rdma.rkey = rkey;
	}
	post(index, memory, offset, bytes, &request);
}

/* Reads the fields of `datagram` behind its name. */
void post_datagram(const char *fields)
{
	struct ibv_ah_attr attributes = { .is_global = 1, .port_num = PORT,
					  .grh = { .sgid_index = gid_index, .hop_limit = 64 } };
	struct ibv_send_wr request = { .opcode = IBV_WR_SEND };
	uint32_t qpn, qkey;
	size_t offset, bytes;
	int index, memory;
	char ip[INET_ADDRSTRLEN];

	if (sscanf(fields, "%d %d %zu %zu %15s %" SCNu32 " %" SCNu32, &index, &memory, &offset,
		   &bytes, ip, &qpn, &qkey) != 7 || !map_address(ip, &attributes.grh.dgid)) {
		fail("datagram", EINVAL);
		return;
	}
	if (handle_count == MAX_HANDLES || !(handles[handle_count] = ibv_create_ah(pd, &attributes))) {
		fail("address handle", errno);
		return;
	}
	request.wr.ud.ah = handles[handle_count++];
	request.wr.ud.remote_qpn = qpn;
	request.wr.ud.remote_qkey = qkey;
	post(index, memory, offset, bytes, &request);
}

void print_post(const struct ibv_wc *wc)
{
	int number = wc->wr_id & ~POST;

	printf("{\"qp\": %d, \"post\": %d, \"status\": \"%s\"}", posts[number], number,
	       ibv_wc_status_str(wc->status));
}

void forget_posts(void)
{
	while (handle_count > 0)
		ibv_destroy_ah(handles[--handle_count]);
	post_count = 0;
}
