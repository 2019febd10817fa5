//! The entries in the ring are those of the posted requests.

mod common;

use common::{Fake, Logged, open_all, peer};
use drdma_abi::{
    Layout,
    work_request::{
        Destination as DestinationLayout, Element, GRANULE, Opcode, RegionHeader, RegionShape,
        RegionType, WqeHeader,
    },
};
use libdrdma::{
    Bitmapped, Contiguous, Destination, MemoryRegion, Operation, PointerMapped, Region, RowMask,
    SharedOperation, SharedWorkRequest, Strided, WorkRequest, optimizer::FetchPlan,
};
use proptest::{collection::vec, prelude::*};

/// A region as a test describes it; everything lies in memory regions of 65,536 B.
#[derive(Clone, Debug)]
enum Description {
    Contiguous { offset: u64, len: u64 },
    Strided { offset: u64, period: u64, count: u64, pattern: Vec<(u64, u64)> },
    Bitmapped { offset: u64, rows: u64, columns: Vec<(u64, u64)>, fetch: Option<u64> },
    PointerMapped { offset: u64, count: u64, pattern: Vec<(u64, u64)> },
}

fn description() -> impl Strategy<Value = Description> {
    let pattern = || vec((0u64..1000, 1u64..100), 1..=16);
    prop_oneof![
        (0u64..60000, 1u64..5000).prop_map(|(offset, len)| Description::Contiguous { offset, len }),
        (0u64..30000, 1u64..300, 0u64..100, pattern()).prop_map(
            |(offset, period, count, pattern)| Description::Strided {
                offset,
                period,
                count,
                pattern
            }
        ),
        (
            (0u64..30000, prop::option::of(0u64..30000)),
            0u64..1000,
            vec((0u64..30000, 1u64..30), 1..=16)
        )
            .prop_map(|((offset, fetch), rows, columns)| Description::Bitmapped {
                offset,
                rows,
                columns,
                fetch
            }),
        (0u64..30000, 0u64..1000, pattern()).prop_map(|(offset, count, pattern)| {
            Description::PointerMapped { offset, count, pattern }
        }),
    ]
}

impl Description {
    fn build<'m>(&self, a: &'m MemoryRegion, b: &'m MemoryRegion) -> Region<'m> {
        match self {
            Self::Contiguous { offset, len } => {
                Contiguous::new(a).offset(*offset).len(*len).build()
            }
            Self::Strided { offset, period, count, pattern } => {
                let start = Strided::new(a).offset(*offset).period(*period).count(*count);
                pattern.iter().fold(start, |region, (at, len)| region.extent(*at, *len)).build()
            }
            Self::Bitmapped { offset, rows, columns, fetch } => {
                let mut start = Bitmapped::new(a).offset(*offset).rows(*rows);
                if let Some(offset) = fetch {
                    start = start.fetch_rows(b, *offset);
                }
                columns
                    .iter()
                    .fold(start, |region, (at, width)| region.column(b, *at, *width))
                    .build()
            }
            Self::PointerMapped { offset, count, pattern } => {
                let start = PointerMapped::new(a, b).offset(*offset).count(*count);
                pattern.iter().fold(start, |region, (at, len)| region.extent(*at, *len)).build()
            }
        }
        .expect("a region inside its memory")
    }

    /// Returns the region that must be decoded from the ring.
    fn expected(
        &self,
        a: &MemoryRegion,
        b: &MemoryRegion,
    ) -> (RegionType, RegionHeader, Option<RegionShape>, Vec<Element>) {
        let header = |offset: u64, count: u64| RegionHeader {
            addr: a.addr() + offset,
            count: count as u32,
            lkey: a.lkey(),
        };
        let shape = |period, target_lkey, elements: usize| {
            Some(RegionShape { period, target_lkey, elements: elements as u16, flags: 0 })
        };
        let extents = |pattern: &[(u64, u64)]| {
            let element =
                |(offset, len): &(u64, u64)| Element { offset: *offset, len: *len as u32, lkey: 0 };
            pattern.iter().map(element).collect()
        };
        match self {
            Self::Contiguous { offset, len } => {
                (RegionType::Contiguous, header(*offset, *len), None, vec![])
            }
            Self::Strided { offset, period, count, pattern } => (
                RegionType::Strided,
                header(*offset, *count),
                shape(*period, 0, pattern.len()),
                extents(pattern),
            ),
            Self::Bitmapped { offset, rows, columns, fetch } => (
                RegionType::Bitmapped,
                header(*offset, *rows),
                match fetch {
                    None => shape(0, 0, columns.len()),
                    Some(offset) => shape(b.addr() + offset, b.lkey(), columns.len())
                        .map(|shape| RegionShape { flags: 1, ..shape }),
                },
                columns
                    .iter()
                    .map(|(at, width)| Element {
                        offset: b.addr() + at,
                        len: *width as u32,
                        lkey: b.lkey(),
                    })
                    .collect(),
            ),
            Self::PointerMapped { offset, count, pattern } => (
                RegionType::PointerMapped,
                header(*offset, *count),
                shape(0, b.lkey(), pattern.len()),
                extents(pattern),
            ),
        }
    }
}

#[derive(Clone, Debug)]
struct Case {
    wr_id: u64,
    operation: u8,
    imm: u32,
    element_mask: bool,
    rows_per_message: u32,
    /// Fetch plan: longest read, as a binary logarithm, and merge threshold.
    fetch: Option<(u8, u16)>,
    destinations: Vec<(u64, u32, Vec<Description>)>,
}

fn case(destinations: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = Case> {
    let destination = (any::<u64>(), any::<u32>(), vec(description(), 0..=16));
    let how = (any::<bool>(), 1u32.., prop::option::of((6u8..=12, 0u16..=4095)));
    (any::<u64>(), 0u8..4, any::<u32>(), how, vec(destination, destinations)).prop_map(
        |(wr_id, operation, imm, (element_mask, rows_per_message, fetch), destinations)| Case {
            wr_id,
            operation,
            imm,
            element_mask,
            rows_per_message,
            fetch,
            destinations,
        },
    )
}

impl Case {
    fn plan(&self) -> Option<FetchPlan> {
        let plan = |(log, threshold)| FetchPlan::new(1u32 << log, u32::from(threshold)).unwrap();
        self.fetch.map(plan)
    }
}

/// Decodes a request with the layouts alone and compares it.
fn check(logged: &Logged, case: &Case, qps: &[u32], a: &MemoryRegion, b: &MemoryRegion) {
    let opcode = Opcode::from_code(case.operation).unwrap();
    let expected = WqeHeader {
        magic: 0xd7,
        opcode: case.operation,
        flags: u8::from(case.element_mask) | u8::from(case.fetch.is_some()) << 2,
        fetch_log_max_read: case.fetch.map_or(0, |(log, _)| log),
        fetch_merge_threshold: case.fetch.map_or(0, |(_, threshold)| threshold),
        destinations: case.destinations.len() as u16,
        granules: (logged.bytes.len() / GRANULE) as u32,
        position: logged.header.position,
        wr_id: case.wr_id,
        rows_per_message: case.rows_per_message,
        imm: if opcode.has_imm() { case.imm } else { 0 },
    };
    assert_eq!(logged.header, expected);
    let mut rest = &logged.bytes[32..];
    fn take<L: Layout>(rest: &mut &[u8]) -> L {
        let (head, tail) = rest.split_at(L::SIZE);
        *rest = tail;
        L::decode(head)
    }
    for ((remote_addr, rkey, regions), qp) in case.destinations.iter().zip(qps) {
        let regions: Vec<_> = regions.iter().map(|region| region.expected(a, b)).collect();
        let types = (0..).zip(&regions).map(|(i, (kind, ..))| (*kind as u32) << (2 * i)).sum();
        let expected = DestinationLayout {
            qp: *qp,
            regions: regions.len() as u16,
            remote_addr: if opcode.is_write() { *remote_addr } else { 0 },
            rkey: if opcode.is_write() { *rkey } else { 0 },
            types,
            ..Default::default()
        };
        assert_eq!(take::<DestinationLayout>(&mut rest), expected);
        for (_, header, shape, elements) in regions {
            assert_eq!(take::<RegionHeader>(&mut rest), header);
            if let Some(shape) = shape {
                assert_eq!(take::<RegionShape>(&mut rest), shape);
            }
            for element in elements {
                assert_eq!(take::<Element>(&mut rest), element);
            }
        }
    }
    assert!(rest.is_empty(), "{} B behind the request", rest.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Several requests in a row, so that entries begin anywhere in the ring and wrap around it.
    #[test]
    fn post_send_writes_what_was_asked(cases in vec(case(1..=1), 1..20)) {
        let (context, card, pd, cq) = open_all();
        let (a, b) = (pd.allocate(65536).unwrap(), pd.allocate(65536).unwrap());
        // Keeps the queue pair under test from having index 0.
        let _other = pd.queue_pair(&cq).build().unwrap();
        let mut qp = pd.queue_pair(&cq).send_blocks(128).build().unwrap();
        qp.connect(&peer()).unwrap();
        for case in &cases {
            let (remote_addr, rkey, descriptions) = &case.destinations[0];
            let (remote_addr, rkey, imm) = (*remote_addr, *rkey, case.imm);
            let regions: Vec<_> = descriptions.iter().map(|r| r.build(&a, &b)).collect();
            let mut request = WorkRequest::new(case.wr_id)
                .operation(match case.operation {
                    0 => Operation::Send,
                    1 => Operation::SendImm(imm),
                    2 => Operation::Write { remote_addr, rkey },
                    _ => Operation::WriteImm { remote_addr, rkey, imm },
                })
                .row_mask(if case.element_mask { RowMask::Element } else { RowMask::Period })
                .rows_per_message(case.rows_per_message)
                .regions(&regions);
            if let Some(plan) = case.plan() {
                request = request.fetch_plan(plan);
            }
            qp.post_send(&request).unwrap();
            context.progress().unwrap();
            prop_assert_eq!(cq.poll().count(), 1);
            let logged = card.state().log.pop().unwrap();
            check(&logged, case, &[qp.index()], &a, &b);
        }
    }

    #[test]
    fn post_ssq_send_writes_what_was_asked(cases in vec(case(1..=64), 1..4)) {
        let (context, card, pd, cq) = open_all();
        let (a, b) = (pd.allocate(65536).unwrap(), pd.allocate(65536).unwrap());
        let qps: Vec<_> =
            (0..64).map(|_| pd.queue_pair(&cq).send_blocks(1).build().unwrap()).collect();
        let mut ssq = pd.shared_send_queue(&cq).build().unwrap();
        for case in &cases {
            let regions: Vec<Vec<_>> = case
                .destinations
                .iter()
                .map(|(_, _, descriptions)| descriptions.iter().map(|r| r.build(&a, &b)).collect())
                .collect();
            let write = case.operation >= 2;
            let destinations: Vec<_> = case
                .destinations
                .iter()
                .zip(&regions)
                .zip(&qps)
                .map(|(((remote_addr, rkey, _), regions), qp)| {
                    let destination = Destination::new(qp).regions(regions);
                    if write { destination.remote(*remote_addr, *rkey) } else { destination }
                })
                .collect();
            let mut request = SharedWorkRequest::new(case.wr_id)
                .operation(match case.operation {
                    0 => SharedOperation::Send,
                    1 => SharedOperation::SendImm(case.imm),
                    2 => SharedOperation::Write,
                    _ => SharedOperation::WriteImm(case.imm),
                })
                .row_mask(if case.element_mask { RowMask::Element } else { RowMask::Period })
                .rows_per_message(case.rows_per_message)
                .destinations(&destinations);
            if let Some(plan) = case.plan() {
                request = request.fetch_plan(plan);
            }
            ssq.post_ssq_send(&request).unwrap();
            context.progress().unwrap();
            prop_assert_eq!(cq.poll().count(), 1);
            let logged = card.state().log.pop().unwrap();
            let qps: Vec<_> = qps.iter().map(|qp| qp.index()).collect();
            check(&logged, case, &qps, &a, &b);
        }
    }
}

/// Returns the flag, longest read and merge threshold of the head.
fn head_of_plan(card: &Fake) -> (bool, u8, u16) {
    let header = card.state().log.pop().unwrap().header;
    (header.flags & 4 != 0, header.fetch_log_max_read, header.fetch_merge_threshold)
}

#[test]
fn a_long_contiguous_request_has_a_plan_unless_the_host_sets_reads() {
    let (context, card, pd, cq) = open_all();
    let memory = pd.allocate(256 << 10).unwrap();
    let whole = |len: u64| Contiguous::new(&memory).len(len).build().unwrap();
    let (long, shorter) = ([whole(128 << 10)], [whole((128 << 10) - 1)]);
    let two = [whole(128 << 10), whole(8)];
    let own = FetchPlan::new(4096, 0).unwrap();
    let (none, some) = ((false, 0, 0), (true, 8, 256));
    let cases = [
        (WorkRequest::new(1).regions(&long), some),
        (WorkRequest::new(2).regions(&shorter), none),
        (WorkRequest::new(3).regions(&two), none),
        (WorkRequest::new(4).regions(&long).fetch_plan(own), (true, 12, 0)),
    ];
    let mut qp = pd.queue_pair(&cq).build().unwrap();
    qp.connect(&peer()).unwrap();
    for (request, expected) in &cases {
        qp.post_send(request).unwrap();
        context.progress().unwrap();
        assert_eq!(head_of_plan(&card), *expected, "{request:?}");
    }
    context.set_max_read(512).unwrap();
    qp.post_send(&cases[0].0).unwrap();
    context.progress().unwrap();
    assert_eq!(head_of_plan(&card), none);
}

/// The first four words of an entry, byte by byte.
#[test]
fn a_fetch_plan_stands_in_the_head() {
    let (context, card, pd, cq) = open_all();
    let mut qp = pd.queue_pair(&cq).build().unwrap();
    qp.connect(&peer()).unwrap();
    let request = WorkRequest::new(0x1122_3344_5566_7788).rows_per_message(9);
    qp.post_send(&request.fetch_plan(FetchPlan::new(4096, 0xabc).unwrap())).unwrap();
    context.progress().unwrap();
    let head = [
        0xd7, 0, 4, 12, 1, 0, 0xbc, 0x0a, 4, 0, 0, 0, 0, 0, 0, 0, 0x88, 0x77, 0x66, 0x55, 0x44,
        0x33, 0x22, 0x11, 9, 0, 0, 0, 0, 0, 0, 0,
    ];
    assert_eq!(card.state().log.pop().unwrap().bytes[..32], head);
}
