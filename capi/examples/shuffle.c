/* A shuffle in C: the rows of a table go to four nodes, by one byte a row that says which.
 *
 *     cc shuffle.c -o shuffle $(pkg-config --cflags --libs drdma)
 *     ./shuffle [DEVICE]
 */
#include <drdma.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES 4
#define ROWS 10000

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, drdma_last_error());
    exit(1);
}

int main(int argc, char **argv)
{
    struct drdma_device_attr device = {.mac = {2, 0, 0, 0, 0, 1}, .ip = {10, 0, 0, 1}};
    struct drdma_context *context = drdma_open_device(argc > 1 ? argv[1] : "soft:", &device);
    if (!context)
        fail("open");
    struct drdma_pd *pd = drdma_alloc_pd(context);
    struct drdma_comp_channel *channel = drdma_create_comp_channel(context);
    if (!pd || !channel)
        fail("protection domain, channel");
    struct drdma_cq *cq = drdma_create_cq(context, 64, NULL, channel);
    if (!cq)
        fail("completion queue");

    /* The table is the program's own. */
    uint64_t *keys = malloc(ROWS * sizeof *keys);
    uint32_t *prices = malloc(ROWS * sizeof *prices);
    uint8_t *nodes = malloc(ROWS);
    if (!keys || !prices || !nodes)
        return 1;
    for (uint32_t row = 0; row < ROWS; row++) {
        keys[row] = row * UINT64_C(31);
        prices[row] = row % 1000;
        nodes[row] = (uint8_t)(keys[row] * UINT64_C(0x9e3779b97f4a7c15) >> 62);
    }
    struct drdma_mr *key_mr = drdma_reg_mr(pd, keys, ROWS * sizeof *keys, 0);
    struct drdma_mr *price_mr = drdma_reg_mr(pd, prices, ROWS * sizeof *prices, 0);
    struct drdma_mr *node_mr = drdma_reg_mr(pd, nodes, ROWS, 0);
    if (!key_mr || !price_mr || !node_mr)
        fail("memory");

    /* One connection to each node. */
    struct drdma_qp *qps[NODES];
    struct drdma_destination destinations[NODES];
    for (int node = 0; node < NODES; node++) {
        struct drdma_qp_init_attr init = {.send_cq = cq, .qp_type = DRDMA_QPT_RC};
        struct drdma_qp_attr peer = {
            .path_mtu = 4096,
            .dest_qp_num = 100,
            .dest_mac = {2, 0, 0, 0, 1, (uint8_t)node},
            .dest_ip = {10, 0, 1, (uint8_t)node},
        };
        qps[node] = drdma_create_qp(pd, &init);
        if (!qps[node] || drdma_connect_qp(qps[node], &peer))
            fail("queue pair");
        destinations[node] =
            (struct drdma_destination){.qp = qps[node], .partition = (uint16_t)node};
    }
    struct drdma_ssq *queue = drdma_create_ssq(pd, cq, 0);
    if (!queue)
        fail("shared send queue");

    /* Each row is its key and its price; 300 rows are a message. */
    struct drdma_column columns[] = {{key_mr, 0, 8, NULL}, {price_mr, 0, 4, NULL}};
    struct drdma_partitioned_region table = {
        .ids = node_mr, .id_width = 1, .rows = ROWS, .num_columns = 2, .columns = columns};
    struct drdma_ssq_wr request = {
        .wr_id = 1,
        .opcode = DRDMA_WR_SEND,
        .rows_per_message = 300,
        .partitioned = &table,
        .num_destinations = NODES,
        .destinations = destinations,
    };
    if (drdma_req_notify_cq(cq) || drdma_post_ssq_send(queue, &request))
        fail("post");
    /* The memory is needed until the completion was polled. */
    if (drdma_dereg_mr(key_mr) != EBUSY || errno != EBUSY)
        fail("deregistered too early");

    /* Sleep until something has completed. */
    struct pollfd event = {.fd = drdma_comp_channel_fd(channel), .events = POLLIN};
    if (poll(&event, 1, 60000) != 1)
        fail("nothing has completed");
    struct drdma_cq *ready;
    void *cookie;
    if (drdma_get_cq_event(channel, &ready, &cookie, 0) || ready != cq)
        fail("event");
    struct drdma_wc completion;
    if (drdma_poll_cq(ready, 1, &completion) != 1)
        fail("poll");
    if (completion.status != DRDMA_WC_SUCCESS) {
        fprintf(stderr, "node %u: %s\n", completion.destination,
                drdma_wc_status_str(completion.status));
        return 1;
    }
    printf("%llu B sent to %d nodes\n", (unsigned long long)completion.byte_len, NODES);

    /* Each node is told that this was all: some bytes in the request itself. */
    for (int node = 0; node < NODES; node++) {
        char end[] = "no more rows";
        struct drdma_send_wr told = {
            .wr_id = 2,
            .opcode = DRDMA_WR_SEND,
            .rows_per_message = 1,
            .send_flags = DRDMA_SEND_INLINE,
            .inline_length = sizeof end,
            .inline_data = end,
        };
        if (drdma_post_send(qps[node], &told, NULL))
            fail("post");
        memset(end, 0, sizeof end);
        int found;
        while ((found = drdma_poll_cq(cq, 1, &completion)) == 0)
            ;
        if (found < 0 || completion.wr_id != 2 || completion.byte_len != sizeof end)
            fail("poll");
    }

    for (int node = 0; node < NODES; node++)
        if (drdma_destroy_qp(qps[node]))
            fail("destroy");
    if (drdma_destroy_ssq(queue) || drdma_dereg_mr(key_mr) || drdma_dereg_mr(price_mr) ||
        drdma_dereg_mr(node_mr) || drdma_destroy_cq(cq) || drdma_destroy_comp_channel(channel) ||
        drdma_dealloc_pd(pd) || drdma_close_device(context))
        fail("destroy");
    free(keys);
    free(prices);
    free(nodes);
    return 0;
}
