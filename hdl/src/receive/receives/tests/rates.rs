//! How fast receives are taken and filled, and how many queues there may be.

use super::host::*;
use drdma_semantics::receive::encode;
use drdma_semantics::region::{Extent, Region};
use drdma_verilated::testbench::{Beat, Random};

/// Cycles from a read's request to what it brings: 1.3 us of a board, and `host_read`'s own.
const LATENCY: u64 = 350;

fn receive(wr_id: u64, position: u32) -> Vec<u8> {
    let region = Region::Contiguous { addr: 0x5000 + 64 * wr_id, len: 64, lkey: 1 };
    encode(wr_id, &[region], position)
}

/// Takes `each` receives of one region from each of `queues` shared queues in turns, by 16 queue pairs or more, each of
/// which a message of 64 B fills; or of a queue for each queue pair, in bursts. Returns the cycles.
fn cycles(queues: u16, each: u32, burst: Option<u32>) -> u64 {
    let mut host = Host::new(&library(), 1);
    host.latency = LATENCY;
    // Twice as many queue pairs as takes under way: none waits for its own completion.
    let pairs = if burst.is_some() { queues } else { 16.max(queues) };
    let burst = burst.unwrap_or(1);
    let own = pairs == queues && burst > 1;
    let of = |k: u32| (k / burst % u32::from(pairs), (k / burst % u32::from(queues)) as u16);
    for queue in 0..queues {
        host.queue(queue, 10, own.then_some(queue.into()));
        for position in 0..each {
            host.put(queue, 10, position, &receive(position.into(), position));
        }
        // Enough receives are posted ahead.
        host.ring_doorbell(queue, each);
    }
    host.settle();
    let total = u32::from(queues) * each;
    let start = host.bench.cycles();
    for k in 0..total {
        host.ask(of(k).0.into(), of(k).1);
    }
    let mut answered = 0_u32;
    let mut completed = 0_u32;
    while completed < total {
        host.step();
        for taken in host.bench.take(host.taken) {
            assert_eq!(answer(&taken), (true, 0, 64));
            let qp = u64::from(of(answered).0);
            let placing = Beat::from([
                ("kind", RECEIVE),
                ("qp", qp),
                ("first", 1),
                ("bytes", 64),
                ("frame_end", 1),
                ("completes", 1),
                ("byte_len", 64),
            ]);
            host.bench.send(host.placing, placing);
            answered += 1;
        }
        let (runs, completions) = host.orders();
        assert_eq!(runs.len(), completions.len());
        for (_, completion) in completions {
            let round = completed / burst / u32::from(queues);
            assert_eq!(completion.position, round * burst + completed % burst);
            completed += 1;
        }
    }
    host.bench.cycles() - start
}

#[test]
fn sixteen_queues_give_40_million_receives_a_second() {
    let (queues, each) = (16, 200);
    let cycles = cycles(queues, each, None);
    let total = u64::from(queues) * u64::from(each);
    println!("{total} receives of 16 queues in {cycles} cycles");
    assert!(cycles * 40 <= total * 250, "{total} receives in {cycles} cycles");
}

#[test]
fn one_queue_gives_20_million_receives_a_second() {
    let each = 1000;
    let cycles = cycles(1, each, None);
    println!("{each} receives of a queue in {cycles} cycles");
    assert!(cycles * 20 <= u64::from(each) * 250, "{each} receives in {cycles} cycles");
}

/// 40 million a second are 6.25 cycles each.
#[test]
fn messages_of_one_queue_pair_take_40_million_receives_a_second_of_its_own_queue() {
    for (queues, each, burst) in [(1, 320, 320), (2, 320, 8), (16, 64, 4), (16, 64, 16)] {
        let cycles = cycles(queues, each, Some(burst));
        let total = u64::from(queues) * u64::from(each);
        println!("{total} receives of {queues} queues in bursts of {burst} in {cycles} cycles");
        assert!(cycles * 40 <= total * 250, "{total} of {queues} queues in {cycles} cycles");
    }
}

/// More is posted than the pool holds, by queues that get no messages for long.
#[test]
fn thousands_of_queues_share_the_pool_and_none_starves() {
    let mut host = Host::new(&library(), 1);
    host.latency = 50;
    let (queues, each) = (1_200_u16, 8);
    for queue in 0..queues {
        host.queue(queue, 5, None);
        for position in 0..each {
            host.put(queue, 5, position, &receive(position.into(), position));
        }
        host.ring_doorbell(queue, each);
    }
    // Another queue has entries of 5 blocks, while the pool is full.
    let last = queues;
    host.settle();
    assert!(host.blocks_read < 4096, "{} blocks were read ahead", host.blocks_read);
    host.queue(last, 5, None);
    let spans: Vec<_> =
        (0..16).map(|k| Region::Contiguous { addr: 0x9000 + 0x100 * k, len: 7, lkey: 1 }).collect();
    for entry in 0..2 {
        host.put(last, 5, 5 * entry, &encode(entry.into(), &spans, 5 * entry));
    }
    host.ring_doorbell(last, 10);
    host.settle();
    let mut random = Random::new(1);
    let mut order: Vec<u16> = (0..u32::from(queues) * each).map(|k| k as u16 % queues).collect();
    order.extend([last; 2]);
    for k in 1..order.len() {
        order.swap(k, random.below(k as u64 + 1) as usize);
    }
    // The queues at the end were left without blocks: they are asked first.
    order.truncate(3_000);
    order.splice(0..0, [last, last, queues - 1, queues - 2]);
    let mut taken = vec![0; usize::from(queues) + 1];
    for (queue, qp) in order.into_iter().zip((0..4096).cycle()) {
        let count = &mut taken[usize::from(queue)];
        let expected = match queue == last {
            true => (*count < 2, 16 * 7),
            false => (*count < each, 64),
        };
        *count += 1;
        let found = host.take(qp, queue);
        let expected = (expected.0, 0, if expected.0 { expected.1 } else { 0 });
        assert_eq!(found, expected, "queue {queue}");
        host.bench.send(host.placing, Beat::from([("qp", qp), ("completes", 1)]));
    }
    host.settle();
}

/// A message of 4 KiB over regions of 256 B: 16 orders of 256 B.
#[test]
fn payload_is_cut_at_64_bytes_a_cycle() {
    let mut host = Host::new(&library(), 1);
    host.queue(3, 6, None);
    let spans: Vec<_> = (0..16)
        .map(|k| Region::Contiguous { addr: 0x9000 + 0x1000 * k, len: 256, lkey: 1 })
        .collect();
    host.put(3, 6, 0, &encode(1, &spans, 0));
    host.ring_doorbell(3, 5);
    host.settle();
    assert_eq!(host.take(5, 3), (true, 0, 4096));
    let at = host.bench.received_at(host.order).len();
    let first = [("kind", RECEIVE), ("qp", 5), ("first", 1), ("bytes", 4096), ("completes", 1)];
    host.bench.send(host.placing, Beat::from(first));
    // WRITEs of 64 B follow.
    for k in 0..100_u64 {
        let beat = [("kind", WRITE), ("qp", 9), ("addr", k), ("bytes", 64), ("frame_end", 1)];
        host.bench.send(host.placing, Beat::from(beat));
    }
    host.settle();
    let cycles = &host.bench.received_at(host.order)[at..];
    assert_eq!(cycles.len(), 116);
    assert!(cycles[15] - cycles[0] <= 31, "16 orders in {} cycles", cycles[15] - cycles[0]);
    assert!(cycles[115] - cycles[16] <= 4 * 99, "{} cycles", cycles[115] - cycles[16]);
}

/// Two messages of 4 KiB over rows of 16 extents of 8 B: 512 orders each. Contiguous regions keep their pace.
#[test]
fn an_extent_of_a_strided_region_is_an_order_in_2_cycles() {
    let mut host = Host::new(&library(), 1);
    host.queue(3, 6, None);
    let pattern = (0..16).map(|k| Extent { offset: 32 * k, len: 8 }).collect();
    let strided = Region::Strided { base: 0x9000, period: 512, count: 64, lkey: 1, pattern };
    let entry = encode(1, &[strided], 0);
    host.put(3, 6, 0, &entry);
    host.ring_doorbell(3, entry.len() as u32 / 64);
    host.settle();
    assert_eq!(host.take(5, 3), (true, 0, 8192));
    let at = host.bench.received_at(host.order).len();
    for half in 0..2 {
        let placing = [
            ("kind", RECEIVE),
            ("qp", 5),
            ("first", 1 - half),
            ("bytes", 4096),
            ("completes", half),
        ];
        host.bench.send(host.placing, Beat::from(placing));
    }
    for k in 0..100_u64 {
        let beat = [("kind", WRITE), ("qp", 9), ("addr", k), ("bytes", 64), ("frame_end", 1)];
        host.bench.send(host.placing, Beat::from(beat));
    }
    host.settle();
    let cycles = &host.bench.received_at(host.order)[at..];
    assert_eq!(cycles.len(), 1124);
    // The first order of the second placing takes 5.
    assert!(cycles[1023] - cycles[0] <= 2 * 1023 + 3, "{} cycles", cycles[1023] - cycles[0]);
    assert!(cycles[1123] - cycles[1024] <= 4 * 99, "{} cycles", cycles[1123] - cycles[1024]);
}
