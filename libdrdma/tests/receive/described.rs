//! Described keys: ordinary WRITEs and READs that scatter and gather at the peer.

use libdrdma::{
    Access, Bitmapped, ColumnKind, DescribedKey, KindColumn, KindRows, MemoryRegion, Operation,
    PointerMapped, Region, Status, Strided, Transport, WorkRequest,
};

use crate::lab::{Lab, all, bytes, pattern};

const BOTH: Access = Access::REMOTE_READ.union(Access::REMOTE_WRITE);

fn strided(memory: &MemoryRegion) -> Region<'_> {
    Strided::new(memory).period(10).count(100).extent(6, 2).extent(1, 3).build().unwrap()
}

/// Returns the offsets of the key's bytes.
fn places() -> Vec<usize> {
    (0..100).flat_map(|row| [6, 7, 1, 2, 3].map(|at| 10 * row + at)).collect()
}

fn write(key: &DescribedKey<'_>, offset: u64) -> Operation {
    Operation::Write { remote_addr: offset, rkey: key.rkey() }
}

#[test]
fn an_ordinary_write_scatters_at_any_offset_and_a_read_gathers() {
    for (offset, len) in [(0, 500), (7, 490), (499, 1), (1, 260)] {
        let mut lab = Lab::new();
        let source = lab.nodes[0].memory(&pattern(len));
        let back = lab.nodes[0].memory(&vec![0; len]);
        let table = lab.nodes[1].memory(&[0xee; 1000]);
        let key = lab.nodes[1].pd.described_key(strided(&table), BOTH).unwrap();
        assert_eq!(key.len(), 500);
        let [mut a, _b] = lab.connected(Transport::Rc);
        let (to, from) = (all(&source), all(&back));
        let request = WorkRequest::new(1).operation(write(&key, offset)).regions(&to);
        a.post_send(&request).unwrap();
        a.post_send(&WorkRequest::new(2).read(offset, key.rkey()).fence().regions(&from)).unwrap();
        // Lost packets are sent again, and begin anywhere.
        lab.lose(0, &[1]);
        lab.run();
        let success = Status::Success;
        let completed = lab.nodes[0].polled();
        assert_eq!(completed, [(1, success, len as u64), (2, success, len as u64)]);
        let mut expected = vec![0xee; 1000];
        for (at, byte) in places()[offset as usize..].iter().zip(pattern(len)) {
            expected[*at] = byte;
        }
        assert_eq!(bytes(&table), expected, "{len} B at {offset}");
        assert_eq!(bytes(&back), pattern(len));
    }
}

#[test]
fn what_the_key_does_not_allow_is_a_remote_access_error() {
    for (access, offset, status) in [
        (BOTH, 400, Status::Success),
        (BOTH, 401, Status::RemoteAccessError),
        (BOTH, u64::MAX, Status::RemoteAccessError),
        (Access::REMOTE_WRITE, 0, Status::Success),
        (Access::REMOTE_READ, 0, Status::RemoteAccessError),
    ] {
        let mut lab = Lab::new();
        let source = lab.nodes[0].memory(&pattern(100));
        let table = lab.nodes[1].memory(&[0; 1000]);
        let key = lab.nodes[1].pd.described_key(strided(&table), access).unwrap();
        let [mut a, _b] = lab.connected(Transport::Rc);
        let regions = all(&source);
        let request = WorkRequest::new(1).operation(write(&key, offset)).regions(&regions);
        a.post_send(&request).unwrap();
        lab.run();
        assert_eq!(lab.nodes[0].polled()[0].1, status, "{access:?} at {offset}");
        assert_eq!(bytes(&table) == [0; 1000], status != Status::Success);
    }
}

#[test]
fn an_atomic_operation_on_it_is_refused() {
    let mut lab = Lab::new();
    let back = lab.nodes[0].memory(&[0; 8]);
    let table = lab.nodes[1].memory(&[0; 1000]);
    let pd = &lab.nodes[1].pd;
    let error = pd.described_key(strided(&table), Access::REMOTE_ATOMIC).unwrap_err();
    let text = "a described key that allows Access(REMOTE_ATOMIC): REMOTE_READ and REMOTE_WRITE are all that is possible";
    assert_eq!(error.to_string(), text);
    let key = pd.described_key(strided(&table), BOTH).unwrap();
    let [mut a, _b] = lab.connected(Transport::Rc);
    let regions = all(&back);
    a.post_send(&WorkRequest::new(1).fetch_and_add(0, key.rkey(), 1).regions(&regions)).unwrap();
    lab.run();
    assert_eq!(lab.nodes[0].polled()[0].1, Status::RemoteAccessError);
    assert_eq!(bytes(&table), [0; 1000]);
}

#[test]
fn it_is_no_local_key_and_goes_with_its_owner() {
    let mut lab = Lab::new();
    let source = lab.nodes[0].memory(&pattern(10));
    let table = lab.nodes[1].memory(&[0; 1000]);
    let key = lab.nodes[1].pd.described_key(strided(&table), BOTH).unwrap();
    let [mut a, mut b] = lab.connected(Transport::Rc);
    let local = [Region::unchecked_contiguous(0, 10, key.rkey())];
    b.post_send(&WorkRequest::new(1).regions(&local)).unwrap();
    lab.run();
    assert_eq!(lab.nodes[1].polled()[0].1, Status::LocalProtectionError);
    drop((a, b));
    for dropped in [false, true] {
        let key = lab.nodes[1].pd.described_key(strided(&table), BOTH).unwrap();
        let operation = write(&key, 0);
        let _kept = (!dropped).then_some(key);
        [a, b] = lab.connected(Transport::Rc);
        let regions = all(&source);
        a.post_send(&WorkRequest::new(2).operation(operation).regions(&regions)).unwrap();
        lab.run();
        let status = if dropped { Status::RemoteAccessError } else { Status::Success };
        assert_eq!(lab.nodes[0].polled()[0].1, status);
        drop((a, b));
    }
}

#[test]
fn what_a_bitmap_selects_counts_when_a_packet_comes() {
    let mut lab = Lab::new();
    let back = lab.nodes[0].memory(&[0; 40]);
    let column = lab.nodes[1].memory(&pattern(400));
    let bits = lab.nodes[1].pd.allocate_shared(13).unwrap();
    let region = Bitmapped::new(&bits).rows(100).column(&column, 0, 4).build().unwrap();
    let key = lab.nodes[1].pd.described_key(region, Access::REMOTE_READ).unwrap();
    assert_eq!(key.len(), 400, "of all rows");
    let [mut a, _b] = lab.connected(Transport::Rc);
    for first in [3, 50] {
        let mut bitmap = [0; 13];
        (first..first + 10).for_each(|row: usize| bitmap[row / 8] |= 1 << (row % 8));
        bits.store_at(0, &bitmap);
        a.post_send(&WorkRequest::new(1).read(0, key.rkey()).regions(&all(&back))).unwrap();
        lab.run();
        assert_eq!(lab.nodes[0].polled()[0].1, Status::Success);
        assert_eq!(bytes(&back), pattern(400)[4 * first..4 * (first + 10)]);
    }
    // Fewer rows are selected than the READ asks for.
    bits.store_at(0, &[0; 13]);
    a.post_send(&WorkRequest::new(2).read(0, key.rkey()).regions(&all(&back))).unwrap();
    lab.run();
    assert_eq!(lab.nodes[0].polled()[0].1, Status::RemoteAccessError);
}

#[test]
fn a_pointer_that_leads_outside_is_the_owners_fault() {
    for (second, status) in [(96, Status::Success), (97, Status::RemoteOperationError)] {
        let mut lab = Lab::new();
        let source = lab.nodes[0].memory(&pattern(8));
        let mut pointers = lab.nodes[1].pd.allocate(16).unwrap();
        let records = lab.nodes[1].memory(&[0; 100]);
        for (i, offset) in [10, second].into_iter().enumerate() {
            pointers.write_at(8 * i, &(records.addr() + offset).to_le_bytes());
        }
        let region = PointerMapped::new(&pointers, &records).count(2).extent(0, 4).build().unwrap();
        let key = lab.nodes[1].pd.described_key(region, BOTH).unwrap();
        let [mut a, _b] = lab.connected(Transport::Rc);
        let regions = all(&source);
        a.post_send(&WorkRequest::new(1).operation(write(&key, 0)).regions(&regions)).unwrap();
        lab.run();
        assert_eq!(lab.nodes[0].polled()[0].1, status);
        let mut expected = [0; 100];
        if status == Status::Success {
            expected[10..14].copy_from_slice(&pattern(8)[..4]);
            expected[96..].copy_from_slice(&pattern(8)[4..]);
        }
        assert_eq!(bytes(&records), expected, "all of a packet or nothing");
    }
}

#[test]
fn memory_that_the_card_may_only_read_takes_no_write() {
    let mut lab = Lab::new();
    let source = lab.nodes[0].memory(&pattern(10));
    let table = lab.nodes[1].pd.register(vec![0_u8; 1000]).unwrap();
    let key = lab.nodes[1].pd.described_key(strided(&table), BOTH).unwrap();
    let [mut a, _b] = lab.connected(Transport::Rc);
    let regions = all(&source);
    a.post_send(&WorkRequest::new(1).operation(write(&key, 0)).regions(&regions)).unwrap();
    lab.run();
    assert_eq!(lab.nodes[0].polled()[0].1, Status::RemoteOperationError);
    assert_eq!(bytes(&table), [0; 1000]);
}

#[test]
fn keys_and_regions_are_of_one_domain_and_there_are_512() {
    let lab = Lab::new();
    let table = lab.nodes[1].memory(&[0; 1000]);
    let other = lab.nodes[1].context.protection_domain();
    let error = other.described_key(strided(&table), BOTH).unwrap_err();
    let text = "the region belongs to another protection domain than the key";
    assert_eq!(error.to_string(), text);
    let pd = &lab.nodes[1].pd;
    let keys: Vec<_> = (0..512).map(|_| pd.described_key(strided(&table), BOTH).unwrap()).collect();
    let error = pd.described_key(strided(&table), BOTH).unwrap_err();
    assert_eq!(error.to_string(), "the card has no free described key: all 512 are in use");
    drop(keys);
    assert!(pd.described_key(strided(&table), BOTH).is_ok());
}

#[test]
fn a_region_with_kinds_of_columns_is_no_key() {
    let lab = Lab::new();
    let rows = KindRows::Bitmapped { bitmap: 0, lkey: 0, first: 0, rows: 8 };
    let columns = [KindColumn { addr: 0, lkey: 0, kind: ColumnKind::Bits { first: 0 } }];
    let region = Region::unchecked_kinds(rows, &columns).unwrap();
    let error = lab.nodes[1].pd.described_key(region, BOTH).unwrap_err();
    let text = "a described key of a region with kinds of columns: its bytes have no fixed places";
    assert_eq!(error.to_string(), text);
}
