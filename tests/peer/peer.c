/*
 * The other end of the wire: queue pairs and memory of a verbs device (in the lab, the kernel's
 * soft-RoCE), for a test that tells it what to make and asks it what arrived.
 *
 * It reads commands from standard input, one a line, and answers each with one JSON object a line:
 *
 *   memory BYTES                      registers zeros that can be written remotely
 *   fill MEMORY BYTE                  sets every byte of a memory
 *   read MEMORY OFFSET BYTES          what lies there, in hexadecimal
 *   ud QKEY                           makes a UD queue pair that is ready to receive
 *   rc QPN IPV4 PSN MTU WRITABLE      makes an RC queue pair for the requester's number, address,
 *                                     first packet sequence number and path MTU; 0: no WRITEs
 *   receive QP COUNT BYTES            posts receives
 *   ready QP PSN TIMEOUT              lets a queue pair send, with that first packet sequence number and
 *                                     (RC) that code of the time until it sends again
 *   post QP OP MEMORY OFFSET BYTES ADDR RKEY IMM A B
 *                                     posts a request of bytes of a memory: send, send_imm, write,
 *                                     write_imm, read, cas (compare A, swap B) or faa (add A)
 *   datagram QP MEMORY OFFSET BYTES IPV4 QPN QKEY
 *                                     posts a SEND of a UD queue pair to that queue pair
 *   completions COUNT MILLISECONDS    waits for that many completions, and shows those that came;
 *                                     those of requests have their number from 0 as "post"
 *   counters                          the device's own counters
 *   reset                             destroys all queue pairs, memories and receives
 *   quit                              ends
 *
 * The first line that it writes says which device and which GID it uses. What goes wrong is told as
 * {"error": ...}, and the program goes on.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "peer.h"

/* A posted receive; its index is the work request's name. */
struct receive {
	struct memory memory;
	int qp;
};

static struct ibv_context *context;
struct ibv_pd *pd;
static struct ibv_cq *cq;
int gid_index = -1;

struct memory memories[MAX_MEMORIES];
int memory_count;
struct ibv_qp *qps[MAX_QUEUE_PAIRS];
int qp_count;
static struct receive receives[MAX_RECEIVES];
static int receive_count;

bool fail(const char *what, int error)
{
	printf("{\"error\": \"%s: %s\"}\n", what, strerror(error));
	return false;
}

static void print_hex(const uint8_t *bytes, size_t count)
{
	static const char digits[] = "0123456789abcdef";

	putchar('"');
	for (size_t i = 0; i < count; i++) {
		putchar(digits[bytes[i] >> 4]);
		putchar(digits[bytes[i] & 15]);
	}
	putchar('"');
}

/* The index of the GID that is an IPv4 address in disguise: frames go over IPv4 then. */
static int find_gid(union ibv_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	for (int i = 0; ibv_query_gid(context, PORT, i, gid) == 0; i++)
		if (memcmp(gid->raw, mapped, sizeof mapped) == 0)
			return i;
	return -1;
}

static bool open_device(void)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	union ibv_gid gid;
	char text[INET6_ADDRSTRLEN];

	if (!devices || !devices[0])
		return fail("there is no verbs device", errno);
	context = ibv_open_device(devices[0]);
	if (!context)
		return fail("the device cannot be opened", errno);
	pd = ibv_alloc_pd(context);
	cq = ibv_create_cq(context, MAX_RECEIVES + MAX_POSTS, NULL, NULL, 0);
	if (!pd || !cq)
		return fail("no protection domain or completion queue", errno);
	gid_index = find_gid(&gid);
	if (gid_index < 0)
		return fail("the device has no IPv4 GID", ENOENT);
	inet_ntop(AF_INET6, gid.raw, text, sizeof text);
	printf("{\"device\": \"%s\", \"gid\": \"%s\"}\n", ibv_get_device_name(devices[0]), text);
	return true;
}

static void release(struct memory *memory)
{
	if (memory->mr)
		ibv_dereg_mr(memory->mr);
	free(memory->bytes);
	memset(memory, 0, sizeof *memory);
}

static bool allocate(struct memory *memory, size_t size)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		     IBV_ACCESS_REMOTE_ATOMIC;

	memory->bytes = calloc(1, size);
	if (!memory->bytes)
		return fail("no memory", errno);
	memory->size = size;
	memory->mr = ibv_reg_mr(pd, memory->bytes, size, access);
	if (!memory->mr)
		return fail("memory cannot be registered", errno);
	return true;
}

static void make_memory(size_t size)
{
	struct memory *memory = &memories[memory_count];

	if (memory_count == MAX_MEMORIES)
		fail("memory", ENOSPC);
	else if (allocate(memory, size))
		printf("{\"memory\": %d, \"addr\": %" PRIuPTR ", \"rkey\": %" PRIu32 "}\n",
		       memory_count++, (uintptr_t)memory->bytes, memory->mr->rkey);
}

static void fill_memory(int index, int byte)
{
	if (index < 0 || index >= memory_count) {
		fail("fill", EINVAL);
		return;
	}
	memset(memories[index].bytes, byte, memories[index].size);
	printf("{\"filled\": %zu}\n", memories[index].size);
}

static void read_memory(int index, size_t offset, size_t count)
{
	if (index < 0 || index >= memory_count || offset > memories[index].size ||
	    count > memories[index].size - offset) {
		fail("read", EINVAL);
		return;
	}
	printf("{\"data\": ");
	print_hex(memories[index].bytes + offset, count);
	printf("}\n");
}

static struct ibv_qp *new_qp(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attributes = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = type,
		.cap = { .max_send_wr = POSTS_PER_QUEUE_PAIR, .max_recv_wr = RECEIVES_PER_QUEUE_PAIR,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.sq_sig_all = 1,
	};
	struct ibv_qp *qp;

	if (qp_count == MAX_QUEUE_PAIRS) {
		fail("queue pair", ENOSPC);
		return NULL;
	}
	qp = ibv_create_qp(pd, &attributes);
	if (!qp)
		fail("no queue pair", errno);
	return qp;
}

bool modify(struct ibv_qp *qp, struct ibv_qp_attr *attributes, int mask, const char *what)
{
	int error = ibv_modify_qp(qp, attributes, mask | IBV_QP_STATE);

	return error == 0 || fail(what, error);
}

static void keep_qp(struct ibv_qp *qp)
{
	printf("{\"qp\": %d, \"qpn\": %" PRIu32 "}\n", qp_count, qp->qp_num);
	qps[qp_count++] = qp;
}

static void make_ud(uint32_t qkey)
{
	struct ibv_qp *qp = new_qp(IBV_QPT_UD);
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = PORT, .qkey = qkey };
	struct ibv_qp_attr ready = { .qp_state = IBV_QPS_RTR };
	int mask = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;

	if (qp && modify(qp, &init, mask, "UD to INIT") && modify(qp, &ready, 0, "UD to RTR"))
		keep_qp(qp);
}

static enum ibv_mtu mtu_code(int bytes)
{
	switch (bytes) {
	case 256: return IBV_MTU_256;
	case 512: return IBV_MTU_512;
	case 1024: return IBV_MTU_1024;
	case 2048: return IBV_MTU_2048;
	default: return IBV_MTU_4096;
	}
}

bool map_address(const char *ip, union ibv_gid *gid)
{
	memset(gid, 0, sizeof *gid);
	gid->raw[10] = gid->raw[11] = 0xff;
	return inet_pton(AF_INET, ip, gid->raw + 12) == 1;
}

static void make_rc(uint32_t qpn, const char *ip, uint32_t psn, int mtu, bool writable)
{
	struct ibv_qp *qp = new_qp(IBV_QPT_RC);
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT,
		.port_num = PORT,
		.qp_access_flags = writable ? IBV_ACCESS_REMOTE_WRITE : 0,
	};
	struct ibv_qp_attr ready = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu_code(mtu),
		.dest_qp_num = qpn,
		.rq_psn = psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = PORT,
			     .grh = { .sgid_index = gid_index, .hop_limit = 64 } },
	};
	int init_mask = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	int ready_mask = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;

	if (!map_address(ip, &ready.ah_attr.grh.dgid))
		fail("address", EINVAL);
	else if (qp && modify(qp, &init, init_mask, "RC to INIT") &&
		 modify(qp, &ready, ready_mask, "RC to RTR"))
		keep_qp(qp);
}

static bool post_receive(int index, size_t bytes)
{
	bool ud = qps[index]->qp_type == IBV_QPT_UD;
	struct receive *receive = &receives[receive_count];
	struct ibv_sge sge;
	struct ibv_recv_wr request = { .wr_id = receive_count, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;
	int error;

	if (receive_count == MAX_RECEIVES)
		return fail("receive", ENOSPC);
	receive->qp = index;
	if (!allocate(&receive->memory, bytes + (ud ? GRH_BYTES : 0)))
		return false;
	sge.addr = (uintptr_t)receive->memory.bytes;
	sge.length = receive->memory.size;
	sge.lkey = receive->memory.mr->lkey;
	error = ibv_post_recv(qps[index], &request, &bad);
	if (error)
		return fail("receive", error);
	receive_count++;
	return true;
}

static void post_receives(int index, int count, size_t bytes)
{
	if (index < 0 || index >= qp_count) {
		fail("receive", EINVAL);
		return;
	}
	for (int i = 0; i < count; i++)
		if (!post_receive(index, bytes))
			return;
	printf("{\"receives\": %d}\n", count);
}

static void print_receive(const struct ibv_wc *wc)
{
	const struct receive *receive = &receives[wc->wr_id];
	bool good = wc->status == IBV_WC_SUCCESS;
	bool send = good && wc->opcode == IBV_WC_RECV;
	size_t start = send && qps[receive->qp]->qp_type == IBV_QPT_UD ? GRH_BYTES : 0;
	size_t bytes = good ? wc->byte_len - start : 0;

	printf("{\"qp\": %d, \"status\": \"%s\"", receive->qp, ibv_wc_status_str(wc->status));
	if (good)
		printf(", \"opcode\": \"%s\", \"bytes\": %zu", send ? "send" : "write", bytes);
	if (good && wc->wc_flags & IBV_WC_WITH_IMM)
		printf(", \"imm\": %" PRIu32, ntohl(wc->imm_data));
	if (start)
		printf(", \"source_qp\": %" PRIu32, wc->src_qp);
	if (send) {
		printf(", \"data\": ");
		print_hex(receive->memory.bytes + start, bytes);
	}
	putchar('}');
}

static long milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void print_completions(int count, long patience)
{
	long end = milliseconds() + patience;
	int seen = 0;
	struct ibv_wc wc;

	printf("{\"completions\": [");
	do {
		while (ibv_poll_cq(cq, 1, &wc) > 0) {
			if (seen++)
				printf(", ");
			(wc.wr_id & POST ? print_post : print_receive)(&wc);
		}
		if (seen < count)
			usleep(1000);
	} while (seen < count && milliseconds() < end);
	printf("]}\n");
}

static void reset(void)
{
	struct ibv_wc wc;

	while (qp_count > 0)
		ibv_destroy_qp(qps[--qp_count]);
	forget_posts();
	while (ibv_poll_cq(cq, 1, &wc) > 0)
		;
	while (receive_count > 0)
		release(&receives[--receive_count].memory);
	while (memory_count > 0)
		release(&memories[--memory_count]);
	printf("{}\n");
}

static void print_counters(void)
{
	char folder[300], path[600], value[64];
	const char *separator = "";
	struct dirent *entry;
	DIR *files;

	/* The kernel shows counters that are up to "lifespan" old: 12 ms. */
	usleep(COUNTER_LIFESPAN_US);

	snprintf(folder, sizeof folder, "/sys/class/infiniband/%s/ports/%d/hw_counters",
		 ibv_get_device_name(context->device), PORT);
	files = opendir(folder);
	if (!files) {
		fail("counters", errno);
		return;
	}
	printf("{\"counters\": {");
	while ((entry = readdir(files))) {
		FILE *file;

		snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
		if (entry->d_name[0] == '.' || !strcmp(entry->d_name, "lifespan"))
			continue;
		file = fopen(path, "r");
		if (file && fgets(value, sizeof value, file)) {
			printf("%s\"%s\": %lld", separator, entry->d_name, atoll(value));
			separator = ", ";
		}
		if (file)
			fclose(file);
	}
	closedir(files);
	printf("}}\n");
}

/* Does what a line says; false if it says that this is the end. */
static bool obey(const char *line)
{
	uint32_t a, psn;
	int index, count, mtu, writable;
	size_t offset, bytes;
	char ip[INET_ADDRSTRLEN];

	if (sscanf(line, "memory %zu", &bytes) == 1)
		make_memory(bytes);
	else if (sscanf(line, "fill %d %d", &index, &count) == 2)
		fill_memory(index, count);
	else if (sscanf(line, "read %d %zu %zu", &index, &offset, &bytes) == 3)
		read_memory(index, offset, bytes);
	else if (sscanf(line, "ud %" SCNu32, &a) == 1)
		make_ud(a);
	else if (sscanf(line, "rc %" SCNu32 " %15s %" SCNu32 " %d %d", &a, ip, &psn, &mtu,
			&writable) == 5)
		make_rc(a, ip, psn, mtu, writable);
	else if (sscanf(line, "receive %d %d %zu", &index, &count, &bytes) == 3)
		post_receives(index, count, bytes);
	else if (sscanf(line, "ready %d %" SCNu32 " %d", &index, &psn, &count) == 3)
		make_ready(index, psn, count);
	else if (!strncmp(line, "post ", 5))
		post_connected(line + 5);
	else if (!strncmp(line, "datagram ", 9))
		post_datagram(line + 9);
	else if (sscanf(line, "completions %d %d", &count, &index) == 2)
		print_completions(count, index);
	else if (!strncmp(line, "counters", 8))
		print_counters();
	else if (!strncmp(line, "reset", 5))
		reset();
	else if (!strncmp(line, "quit", 4))
		return false;
	else
		fail("no such command", EINVAL);
	return true;
}

int main(void)
{
	char line[256];

	/* Lines must not wait in a buffer; 64 KiB at a time is what the hexadecimal needs. */
	setvbuf(stdout, NULL, _IOFBF, 64 << 10);
	if (!open_device()) {
		fflush(stdout);
		return 1;
	}
	fflush(stdout);
	while (fgets(line, sizeof line, stdin) && obey(line))
		fflush(stdout);
	return 0;
}
