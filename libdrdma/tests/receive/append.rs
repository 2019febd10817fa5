//! Append regions: messages of any number of queue pairs as rows of columns.

use libdrdma::{
    AppendRegion, AppendedRows, Column, MemoryRegion, Operation, ReceiveRequest, Status, Transport,
    WorkCompletion, WorkRequest,
};

use crate::lab::{Lab, all, bytes, pattern, reliable};

const SUCCESS: Status = Status::Success;

/// Makes an append region with rows of 4 + 1 B.
fn region<'m>(
    lab: &Lab,
    (keys, flags): (&'m MemoryRegion, &'m MemoryRegion),
    capacity: u32,
) -> AppendRegion<'m> {
    let builder = lab.nodes[1].pd.append_region().capacity(capacity);
    builder.column(keys, 0, 4).column(flags, 2, 1).build().unwrap()
}

/// Allocates columns for that many rows.
fn columns(lab: &Lab, capacity: usize) -> (MemoryRegion, MemoryRegion) {
    (lab.nodes[1].memory(&vec![0; 4 * capacity]), lab.nodes[1].memory(&vec![0; 2 + capacity]))
}

/// Returns the bytes of a row.
fn row((keys, flags): (&MemoryRegion, &MemoryRegion), row: usize) -> Vec<u8> {
    let mut bytes = bytes(keys)[4 * row..4 * row + 4].to_vec();
    bytes.push(self::bytes(flags)[2 + row]);
    bytes
}

fn told(completion: &WorkCompletion) -> (u64, Status, Option<(u32, u32)>) {
    let rows = completion.rows.map(|AppendedRows { first, count }| (first, count));
    (completion.wr_id, completion.status, rows)
}

#[test]
fn messages_of_several_queue_pairs_follow_each_other() {
    let mut lab = Lab::new();
    // 65 rows are two packets of the MTU of 256 B.
    let sources: Vec<_> =
        [5, 325, 15].iter().map(|len| lab.nodes[0].memory(&pattern(*len))).collect();
    let memory = columns(&lab, 1000);
    let memory = (&memory.0, &memory.1);
    let rows = region(&lab, memory, 1000);
    assert_eq!((rows.capacity(), rows.row_len()), (1000, 5));
    let mut pairs: Vec<_> = (0..3).map(|_| lab.connected(Transport::Rc)).collect();
    for (i, [a, b]) in (0..).zip(&mut pairs) {
        b.post_recv(&ReceiveRequest::new(i).append(&rows)).unwrap();
        a.post_send(&WorkRequest::new(i).regions(&all(&sources[i as usize]))).unwrap();
    }
    lab.run();
    assert!(lab.nodes[0].polled().iter().all(|(_, status, _)| *status == SUCCESS));
    let completions = lab.nodes[1].completions();
    let mut found: Vec<_> = completions.iter().map(|c| c.rows.unwrap()).collect();
    found.sort_by_key(|rows| rows.first);
    let mut next = 0;
    for rows in found {
        assert_eq!(rows.first, next);
        next += rows.count;
    }
    assert_eq!(next, 1 + 65 + 3);
    for completion in &completions {
        let sent = pattern(completion.bytes as usize);
        let AppendedRows { first, count } = completion.rows.unwrap();
        assert_eq!(u64::from(count) * 5, completion.bytes);
        for (i, bytes) in sent.chunks(5).enumerate() {
            assert_eq!(row(memory, first as usize + i), bytes);
        }
    }
}

#[test]
fn a_full_region_makes_its_senders_wait_until_rows_are_given_back() {
    let mut lab = Lab::new();
    let source = lab.nodes[0].memory(&pattern(300));
    let memory = columns(&lab, 100);
    let memory = (&memory.0, &memory.1);
    let rows = region(&lab, memory, 100);
    let [mut a, mut b] =
        lab.connected_with(Transport::Rc, |own, plain| reliable(plain, own).rnr_retry(7));
    for i in 0..3 {
        b.post_recv(&ReceiveRequest::new(i).append(&rows)).unwrap();
        a.post_send(&WorkRequest::new(i).regions(&all(&source))).unwrap();
    }
    // The second message has 40 rows, and then finds no free one.
    lab.run_to(1_000_000);
    assert_eq!(
        lab.nodes[1].completions().iter().map(told).collect::<Vec<_>>(),
        [(0, SUCCESS, Some((0, 60)))]
    );
    rows.give_back(30).unwrap();
    lab.run_to(2_000_000);
    let completions = lab.nodes[1].completions();
    let second = AppendedRows { first: 60, count: 60 };
    assert_eq!(completions.iter().map(told).collect::<Vec<_>>(), [(1, SUCCESS, Some((60, 60)))]);
    assert_eq!(rows.ranges(second), [60..100, 0..20]);
    for (i, bytes) in pattern(300).chunks(5).enumerate() {
        assert_eq!(row(memory, (60 + i) % 100), bytes);
    }
    rows.give_back(30).unwrap();
    rows.give_back(60).unwrap();
    lab.run();
    assert_eq!(
        lab.nodes[1].completions().iter().map(told).collect::<Vec<_>>(),
        [(2, SUCCESS, Some((20, 60)))]
    );
    let completed = lab.nodes[0].polled();
    assert_eq!(completed, [(0, SUCCESS, 300), (1, SUCCESS, 300), (2, SUCCESS, 300)]);
}

#[test]
fn a_sender_that_waits_in_vain_is_told_and_the_receive_stays() {
    let mut lab = Lab::new();
    let source = lab.nodes[0].memory(&pattern(50));
    let memory = columns(&lab, 15);
    let rows = region(&lab, (&memory.0, &memory.1), 15);
    let [mut a, mut b] = lab.connected(Transport::Rc);
    for i in 0..2 {
        b.post_recv(&ReceiveRequest::new(i).append(&rows)).unwrap();
        a.post_send(&WorkRequest::new(i).regions(&all(&source))).unwrap();
    }
    lab.run();
    let statuses: Vec<_> = lab.nodes[0].polled().iter().map(|c| c.1).collect();
    assert_eq!(statuses, [SUCCESS, Status::RnrRetryExceeded]);
    assert_eq!(
        lab.nodes[1].completions().iter().map(told).collect::<Vec<_>>(),
        [(0, SUCCESS, Some((0, 10)))]
    );
    drop((a, b));
    assert_eq!(lab.nodes[1].polled(), []);
}

#[test]
fn rows_that_are_not_whole_and_messages_longer_than_the_region_are_refused() {
    for (len, capacity) in [(51, 100), (4, 100), (261, 100), (55, 10), (300, 10)] {
        let mut lab = Lab::new();
        let source = lab.nodes[0].memory(&pattern(len));
        let memory = columns(&lab, capacity);
        let memory = (&memory.0, &memory.1);
        let rows = region(&lab, memory, capacity as u32);
        let [mut a, mut b] = lab.connected(Transport::Rc);
        b.post_recv(&ReceiveRequest::new(1).append(&rows)).unwrap();
        a.post_send(&WorkRequest::new(2).regions(&all(&source))).unwrap();
        lab.run();
        assert_eq!(lab.nodes[0].polled()[0].1, Status::RemoteInvalidRequestError, "{len} B");
        let completions = lab.nodes[1].completions();
        let wrong = (1, Status::LocalLengthError, None);
        assert_eq!(completions.iter().map(told).collect::<Vec<_>>(), [wrong], "{len} B");
        drop((a, b));
        // No message is in progress any longer, and no row was used.
        let whole = lab.nodes[0].memory(&pattern(50));
        let [mut a, mut b] = lab.connected(Transport::Rc);
        b.post_recv(&ReceiveRequest::new(3).append(&rows)).unwrap();
        a.post_send(&WorkRequest::new(4).regions(&all(&whole))).unwrap();
        lab.run();
        let found = lab.nodes[1].completions();
        assert_eq!(found.iter().map(told).collect::<Vec<_>>(), [(3, SUCCESS, Some((0, 10)))]);
        drop((a, b));
    }
}

#[test]
fn a_shared_queues_receives_append() {
    let mut lab = Lab::new();
    let source = lab.nodes[0].memory(&pattern(10));
    let memory = columns(&lab, 10);
    let rows = region(&lab, (&memory.0, &memory.1), 10);
    let [from, to] = &lab.nodes;
    let mut srq = to.pd.shared_receive_queue(&to.cq).build().unwrap();
    let mut a = from.pd.queue_pair(&from.cq).build().unwrap();
    let mut b = to.pd.queue_pair(&to.cq).shared_receive_queue(&srq).build().unwrap();
    a.connect(&reliable(crate::lab::attributes(0, b.qpn()), 0)).unwrap();
    b.connect(&reliable(crate::lab::attributes(1, a.qpn()), 1)).unwrap();
    for i in 0..2 {
        srq.post_recv(&ReceiveRequest::new(i).append(&rows)).unwrap();
    }
    let regions = all(&source);
    a.post_send(&WorkRequest::new(1).regions(&regions)).unwrap();
    let with_imm = WorkRequest::new(2).operation(Operation::SendImm(7)).regions(&regions);
    a.post_send(&with_imm).unwrap();
    lab.run();
    let completions = lab.nodes[1].completions();
    let found: Vec<_> = completions.iter().map(told).collect();
    assert_eq!(found, [(0, SUCCESS, Some((0, 2))), (1, SUCCESS, Some((2, 2)))]);
    assert_eq!((completions[1].imm, completions[1].source_qp), (Some(7), None));
}

#[test]
fn a_region_that_goes_while_a_receive_names_it_stays_for_the_receive() {
    let mut lab = Lab::new();
    let source = lab.nodes[0].memory(&pattern(10));
    let memory = columns(&lab, 10);
    let rows = region(&lab, (&memory.0, &memory.1), 10);
    let [mut a, mut b] = lab.connected(Transport::Rc);
    b.post_recv(&ReceiveRequest::new(0).append(&rows)).unwrap();
    drop(rows);
    a.post_send(&WorkRequest::new(1).regions(&all(&source))).unwrap();
    lab.run();
    assert_eq!(lab.nodes[1].completions()[0].rows, Some(AppendedRows { first: 0, count: 2 }));
    // The number of the region is free then.
    let all: Vec<_> = (0..512).map(|_| region(&lab, (&memory.0, &memory.1), 1)).collect();
    assert_eq!(all.len(), 512);
    let pd = &lab.nodes[1].pd;
    let error = pd.append_region().capacity(1).column(&memory.0, 0, 4).build().unwrap_err();
    assert_eq!(error.to_string(), "the card has no free append region: all 512 are in use");
}

#[test]
fn columns_that_the_card_may_not_write_to_are_the_receivers_fault() {
    let mut lab = Lab::new();
    let source = lab.nodes[0].memory(&pattern(8));
    let [mut a, mut b] = lab.connected(Transport::Rc);
    let column = Column { addr: 0x10_0000, width: 8, lkey: 0x1234 };
    let rows = lab.nodes[1].pd.append_region().capacity(1).unchecked_columns(&[column]);
    let rows = rows.build().unwrap();
    b.post_recv(&ReceiveRequest::new(1).append(&rows)).unwrap();
    a.post_send(&WorkRequest::new(2).regions(&all(&source))).unwrap();
    lab.run();
    assert_eq!(lab.nodes[0].polled()[0].1, Status::RemoteOperationError);
    assert_eq!(lab.nodes[1].completions()[0].status, Status::LocalProtectionError);
}

#[test]
fn what_cannot_be_a_region_is_told() {
    let lab = Lab::new();
    let pd = &lab.nodes[1].pd;
    let (memory, closed) = (lab.nodes[1].memory(&[0; 100]), pd.allocate(100).unwrap());
    let foreign = lab.nodes[0].memory(&[0; 100]);
    let rows = |capacity| pd.append_region().capacity(capacity);
    let many = (0..17).fold(rows(1), |rows, _| rows.column(&memory, 0, 1));
    for (builder, expected) in [
        (rows(1), "append region: 0 columns, 1 to 16 are possible"),
        (many, "append region: 17 columns, 1 to 16 are possible"),
        (rows(0).column(&memory, 0, 1), "append region: rows is 0"),
        (rows(1).column(&memory, 0, 0), "append region: width of column 0 is 0"),
        (
            rows(10).column(&memory, 0, 4).column(&memory, 61, 4),
            "append region: byte 100 is outside the memory region of 100 B (column 1)",
        ),
        (
            rows(1).column(&closed, 0, 4),
            "column 0 of an append region: its memory allows Access(0x0), not LOCAL_WRITE",
        ),
        (rows(1).column(&foreign, 0, 4), "append region: column 0 is in another protection domain"),
    ] {
        assert_eq!(builder.build().unwrap_err().to_string(), expected);
    }
    let good = rows(25).column(&memory, 0, 4).build().unwrap();
    let [_a, mut b] = lab.connected(Transport::Rc);
    let regions = all(&memory);
    let error = b.post_recv(&ReceiveRequest::new(1).append(&good).regions(&regions)).unwrap_err();
    assert!(error.to_string().contains("1 regions"), "{error}");
}
