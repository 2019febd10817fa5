/* What the parts of the peer's program share. */
#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

enum {
	PORT = 1,
	/* A UD receive starts with room for a GRH. */
	GRH_BYTES = 40,
	MAX_MEMORIES = 64,
	MAX_QUEUE_PAIRS = 64,
	MAX_RECEIVES = 4096,
	RECEIVES_PER_QUEUE_PAIR = 512,
	MAX_POSTS = 4096,
	POSTS_PER_QUEUE_PAIR = 256,
	COUNTER_LIFESPAN_US = 20000,
};

struct memory {
	uint8_t *bytes;
	size_t size;
	struct ibv_mr *mr;
};

/* The bit of a work request's name that tells requests from receives. */
#define POST (UINT64_C(1) << 32)

extern struct ibv_pd *pd;
extern int gid_index;
extern struct memory memories[MAX_MEMORIES];
extern int memory_count;
extern struct ibv_qp *qps[MAX_QUEUE_PAIRS];
extern int qp_count;

/* Answers that `what` went wrong; always false. */
bool fail(const char *what, int error);
/* Changes a queue pair; answers and is false if that fails. */
bool modify(struct ibv_qp *qp, struct ibv_qp_attr *attributes, int mask, const char *what);
/* The GID of an IPv4 address; false if the text is none. */
bool map_address(const char *ip, union ibv_gid *gid);

/* requests.c: the commands `ready`, `post` and `datagram`, whose fields are text. */
void make_ready(int index, uint32_t psn, int timeout);
void post_connected(const char *fields);
void post_datagram(const char *fields);
/* One completion of a request, as JSON. */
void print_post(const struct ibv_wc *wc);
/* No request has been posted: their queue pairs are gone. */
void forget_posts(void);

#endif
