// A shuffle in C++17: the rows that two bitmaps select go to two nodes, each as a region of its own.
//
//     c++ -std=c++17 shuffle.cpp -o shuffle $(pkg-config --cflags --libs drdma)
//     ./shuffle [DEVICE]
#include <drdma.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

/// Owns what a function has made, until another one destroys it.
template <auto Destroy> struct Destroyer {
    template <class T> void operator()(T *object) const { Destroy(object); }
};
template <class T, auto Destroy> using Owned = std::unique_ptr<T, Destroyer<Destroy>>;

using Context = Owned<drdma_context, drdma_close_device>;
using Domain = Owned<drdma_pd, drdma_dealloc_pd>;
using Memory = Owned<drdma_mr, drdma_dereg_mr>;
using CompletionQueue = Owned<drdma_cq, drdma_destroy_cq>;
using QueuePair = Owned<drdma_qp, drdma_destroy_qp>;
using SharedQueue = Owned<drdma_ssq, drdma_destroy_ssq>;

[[noreturn]] void fail(const std::string &what)
{
    throw std::runtime_error(what + ": " + drdma_last_error());
}

template <class T> T *made(T *object, const char *what)
{
    if (!object)
        fail(what);
    return object;
}

/// Registers a vector, which stays where it is.
template <class T> Memory registered(const Domain &pd, std::vector<T> &values)
{
    return Memory(made(drdma_reg_mr(pd.get(), values.data(), values.size() * sizeof(T), 0), "memory"));
}

std::uint64_t shuffle(const char *name)
{
    constexpr std::size_t rows = 10'000;
    drdma_device_attr attr{};
    attr.mac[0] = 2, attr.mac[5] = 1;
    attr.ip[0] = 10, attr.ip[3] = 1;
    Context context(made(drdma_open_device(name, &attr), "open"));
    Domain pd(made(drdma_alloc_pd(context.get()), "protection domain"));
    CompletionQueue cq(made(drdma_create_cq(context.get(), 64, nullptr, nullptr), "completion queue"));

    std::vector<std::uint64_t> keys(rows);
    std::array<std::vector<std::uint8_t>, 2> bits;
    for (auto &bitmap : bits)
        bitmap.resize((rows + 7) / 8);
    for (std::size_t row = 0; row < rows; row++) {
        keys[row] = row * 31;
        bits[keys[row] % 2][row / 8] |= static_cast<std::uint8_t>(1 << row % 8);
    }
    Memory key_memory = registered(pd, keys);
    std::array<Memory, 2> bitmaps{registered(pd, bits[0]), registered(pd, bits[1])};

    drdma_column column{key_memory.get(), 0, 8, nullptr};
    std::array<QueuePair, 2> pairs;
    std::array<drdma_region, 2> regions{};
    std::array<drdma_destination, 2> destinations{};
    for (std::size_t node = 0; node < 2; node++) {
        drdma_qp_init_attr init{};
        init.send_cq = cq.get();
        pairs[node].reset(made(drdma_create_qp(pd.get(), &init), "queue pair"));
        drdma_qp_attr peer{};
        peer.path_mtu = 1024;
        peer.dest_qp_num = 100;
        peer.dest_mac[0] = 2, peer.dest_mac[5] = static_cast<std::uint8_t>(10 + node);
        peer.dest_ip[0] = 10, peer.dest_ip[3] = static_cast<std::uint8_t>(10 + node);
        if (drdma_connect_qp(pairs[node].get(), &peer))
            fail("connect");
        regions[node].region_type = DRDMA_REGION_BITMAPPED;
        regions[node].mr = bitmaps[node].get();
        regions[node].count = rows;
        regions[node].num_columns = 1;
        regions[node].columns = &column;
        destinations[node].qp = pairs[node].get();
        destinations[node].num_regions = 1;
        destinations[node].regions = &regions[node];
    }
    SharedQueue queue(made(drdma_create_ssq(pd.get(), cq.get(), 0), "shared send queue"));
    drdma_ssq_wr request{};
    request.wr_id = 7;
    request.opcode = DRDMA_WR_SEND;
    request.rows_per_message = 100;
    request.num_destinations = 2;
    request.destinations = destinations.data();
    if (drdma_post_ssq_send(queue.get(), &request))
        fail("post");

    drdma_wc completion{};
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    for (int polled = 0; polled == 0;) {
        polled = drdma_poll_cq(cq.get(), 1, &completion);
        if (polled < 0)
            fail("poll");
        if (std::chrono::steady_clock::now() > deadline)
            throw std::runtime_error("nothing has completed");
    }
    if (completion.status != DRDMA_WC_SUCCESS)
        throw std::runtime_error(drdma_wc_status_str(completion.status));
    return completion.byte_len;
}

} // namespace

int main(int argc, char **argv)
{
    try {
        std::cout << shuffle(argc > 1 ? argv[1] : "soft:") << " B sent to 2 nodes\n";
        return 0;
    } catch (const std::exception &error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
