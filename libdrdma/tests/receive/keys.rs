//! Further keys to memory, and the seed of keys.

use libdrdma::{
    Access, Context, MacAddress, MemoryRegionError, Operation, Options, Status, Transport,
    WorkRequest, network::Network, open_on,
};

use crate::lab::{Lab, all, bytes, pattern};

#[test]
fn a_further_key_has_rights_of_its_own_to_its_part_of_the_memory() {
    for (access, len, status) in [
        (Access::REMOTE_WRITE, 100, Status::Success),
        (Access::REMOTE_READ, 100, Status::RemoteAccessError),
        (Access::empty(), 100, Status::RemoteAccessError),
        (Access::REMOTE_WRITE, 99, Status::RemoteAccessError),
    ] {
        let mut lab = Lab::new();
        let source = lab.nodes[0].memory(&pattern(100));
        let target = lab.nodes[1].memory(&[0; 1000]);
        let part = target.alias_with(300..300 + len, access).unwrap();
        assert_eq!((part.access(), part.addr()), (access, target.addr() + 300));
        let [mut a, _b] = lab.connected(Transport::Rc);
        let write = Operation::Write { remote_addr: part.addr(), rkey: part.rkey() };
        a.post_send(&WorkRequest::new(1).operation(write).regions(&all(&source))).unwrap();
        lab.run();
        assert_eq!(lab.nodes[0].polled()[0].1, status, "{access:?}, {len} B");
        let written = status == Status::Success;
        let expected = if written { pattern(100) } else { vec![0; 100] };
        assert_eq!(bytes(&target)[300..400], expected);
    }
}

#[test]
fn a_key_gives_no_right_to_write_to_memory_that_the_card_may_only_read() {
    let lab = Lab::new();
    let memory = lab.nodes[0].pd.register_with(vec![0_u8; 64], Access::REMOTE_READ).unwrap();
    let error = memory.alias_with(0..8, Access::REMOTE_WRITE).unwrap_err();
    assert!(matches!(error, MemoryRegionError::ReadOnly { access: Access::REMOTE_WRITE }));
    let text = "Access(REMOTE_WRITE) is not possible: the card may only read the memory";
    assert_eq!(error.to_string(), text);
    assert!(memory.alias_with(0..8, Access::REMOTE_READ).is_ok());
}

#[test]
fn a_seed_gives_the_same_keys_every_time() {
    let keys = |seed: Option<u64>| -> Vec<u32> {
        let card = open_on("soft:", &Network::new()).unwrap();
        let mut options = Options::new(MacAddress([2, 0, 0, 0, 0, 1]), [10, 0, 0, 1].into());
        options.key_seed = seed;
        let pd = Context::open(card, options).unwrap().protection_domain();
        let memory: Vec<_> = (0..8).map(|_| pd.allocate(64).unwrap()).collect();
        memory.iter().map(|memory| memory.lkey()).collect()
    };
    assert_eq!(keys(Some(5)), keys(Some(5)));
    assert_ne!(keys(Some(5)), keys(Some(6)));
    assert_ne!(keys(None), keys(None));
    let mut tags: Vec<u32> = keys(Some(5)).iter().map(|key| key >> 10).collect();
    tags.sort_unstable();
    tags.dedup();
    assert_eq!(tags.len(), 8);
}
