//! The function as a client sees it.

use std::{fs::File, io::Read as _, time::Duration};

use drdma_abi::register::{ACK_TIMEOUT, DOORBELLS, IP, STATUS, TYPE, TYPE_ID};
use drdma_serve::Event;
use rustix::{
    event::{EventfdFlags, eventfd},
    fs::{MemfdFlags, memfd_create},
};

use crate::{
    client::{BAR0, BAR2, CONFIG, Client, ServedCard},
    rig::{Served, check, job},
};

/// The number of a wrong argument.
const EINVAL: i32 = 22;
const EEXIST: i32 = 17;

#[test]
fn configuration_space_regions_and_interrupts_are_those_of_a_board() {
    let served = Served::new("soft:");
    let mut client = Client::connect(&served.path());
    assert_eq!(client.read32(CONFIG, 0), Ok(0x1001_1234));
    assert_eq!(client.read32(CONFIG, 0x2c), Ok(0x9032_10ee));
    let express = client.capability(0x10);
    assert_eq!(client.read32(CONFIG, express + 0x10).unwrap() >> 16, 0x103);
    client.capability(0x11);
    // Device: it can be reset, and is PCI.
    assert_eq!(client.info(4, 16, 0).unwrap(), [16, 3, 9, 5]);
    for (index, flags, size) in [(0, 3, 1 << 24), (1, 0, 0), (2, 3, 1 << 24), (7, 3, 4096)] {
        assert_eq!(client.info(5, 32, index).unwrap(), [32, flags, index, 0, size, 0, 0, 0]);
    }
    assert_eq!(client.info(5, 32, 9), Err(EINVAL));
    assert_eq!(client.info(7, 16, 2).unwrap(), [16, 9, 2, 32]);
    assert_eq!(client.info(7, 16, 5), Err(EINVAL));
    // BARs answer when they are switched on.
    assert_eq!(client.read32(BAR2, TYPE.offset.into()), Ok(u32::MAX));
    client.set_command(2);
    assert_eq!(client.read32(BAR2, TYPE.offset.into()), Ok(TYPE_ID));
    assert_eq!(client.read32(BAR0, 0), Ok(u32::MAX));
    assert_eq!(client.read32(BAR0, 0x18), Ok(0x10ee_9032));
    for (region, offset) in [(1, 0), (BAR2, 1 << 24), (CONFIG, 4096), (8, 0), (99, 0)] {
        assert_eq!(client.read32(region, offset), Err(EINVAL), "{region} {offset:#x}");
        assert_eq!(client.write32(region, offset, 0), Err(EINVAL), "{region} {offset:#x}");
    }
    // Without a reply, in order.
    client.post(10, &Client::access(BAR2, IP.offset.into(), &[4, 3, 2, 1]));
    assert_eq!(client.read32(BAR2, IP.offset.into()), Ok(0x0102_0304));
    // The protocol has this command, and the server does not.
    assert_eq!(client.call(6, &[0; 16], &[]), Err(95));
    drop(client);
    served.stop();
}

#[test]
fn interrupts_that_a_client_lets_happen_arrive_as_events() {
    let served = Served::new("soft:");
    let mut client = Client::connect(&served.path());
    let mut event = File::from(eventfd(0, EventfdFlags::NONBLOCK).unwrap());
    client.set_irqs(0x24, [2, 7, 1], &[&event]).unwrap();
    client.set_irqs(0x21, [2, 7, 1], &[]).unwrap();
    let mut count = [0; 8];
    assert_eq!(event.read(&mut count).unwrap(), 8);
    assert_eq!(u64::from_ne_bytes(count), 1);
    client.set_irqs(0x24, [2, 7, 1], &[]).unwrap();
    client.set_irqs(0x21, [2, 7, 1], &[]).unwrap();
    assert!(event.read(&mut count).is_err(), "there is no event for it any more");
    assert_eq!(client.set_irqs(0x24, [2, 32, 1], &[&event]), Err(EINVAL));
    drop(client);
    served.stop();
}

#[test]
fn memory_is_mapped_and_unmapped_as_a_guests_iommu_does() {
    let served = Served::new("soft:");
    let mut client = Client::connect(&served.path());
    let file = File::from(memfd_create("memory", MemfdFlags::CLOEXEC).unwrap());
    file.set_len(1 << 20).unwrap();
    for page in 0..256 {
        client.map(page << 12, 4096, (255 - page) << 12, &file).unwrap();
    }
    assert_eq!(client.map(0, 4096, 0, &file), Err(EEXIST));
    assert_eq!(client.map(1 << 30, 4096, 1 << 20, &file), Err(EINVAL), "the file is too short");
    assert_eq!(client.map(1 << 30, 100, 0, &file), Err(EINVAL));
    client.unmap(0, 1 << 40).unwrap();
    client.unmap(1 << 50, 4096).unwrap();
    client.map(0, 4096, 0, &file).unwrap();
    // All mapped memory, by its flag.
    let body: Vec<u8> = [24, 2, 0, 0, 0, 0].iter().flat_map(|w: &u32| w.to_le_bytes()).collect();
    client.call(3, &body, &[]).unwrap();
    client.map(0, 4096, 0, &file).unwrap();
    // Memory without a file cannot be used by the card.
    let map: Vec<u8> =
        [32, 3, 0, 0, 0, 16, 4096, 0].iter().flat_map(|w: &u32| w.to_le_bytes()).collect();
    client.call(2, &map, &[]).unwrap();
    drop(client);
    served.stop();
}

/// Runs the job as it should be on a card that was in trouble before.
fn run_again(served: &Served) {
    let mut far = served.far();
    let job = job();
    far.run(&job, ServedCard::open(&served.path())).unwrap();
    check(&mut far, &job);
}

#[test]
fn memory_that_is_not_mapped_faults_and_the_card_says_so() {
    for uri in ["soft:", "rtl:"] {
        let served = Served::new(uri);
        let mut far = served.far();
        let card = ServedCard::open(&served.path());
        let own = card.clone();
        // The buffers' pages go before the first post reads them.
        let mut turns = 0;
        far.turns = Box::new(move |_| {
            turns += 1;
            if turns == 1 {
                let (start, len) = own.mapped().into_iter().max_by_key(|(_, len)| *len).unwrap();
                own.client().unmap(start, len).unwrap();
            }
            true
        });
        let mut job = job();
        job.posts.truncate(1);
        let result = far.run(&job, card);
        let statuses: Vec<_> = far.completions.iter().map(|c| c.status.name()).collect();
        assert!(result.is_ok(), "{uri}: {result:?}");
        assert_ne!(statuses, ["success"], "{uri}");
        assert_eq!(statuses.len(), 1, "{uri}");
        served.wait_for("fault", |event| matches!(event, Event::Fault { .. }));
        drop(far);
        served.wait_for("end", |event| matches!(event, Event::Disconnected { .. }));
        run_again(&served);
        served.stop();
    }
}

#[test]
fn a_card_that_is_no_bus_master_reaches_no_memory() {
    let served = Served::new("rtl:");
    let mut far = served.far();
    let card = ServedCard::open(&served.path());
    let own = card.clone();
    let mut turns = 0;
    far.turns = Box::new(move |_| {
        turns += 1;
        if turns == 1 {
            own.client().set_command(2);
        }
        true
    });
    let result = far.run_patiently(&job(), card.clone(), Duration::from_millis(500));
    assert!(result.is_err() && far.completions.is_empty(), "{result:?}");
    assert_eq!(far.frames.len(), 0);
    served.wait_for("stop", |event| matches!(event, Event::Stopped { .. }));
    assert!(!served.events().iter().any(|event| matches!(event, Event::Fault { .. })));
    drop((far, card));
    served.wait_for("end", |event| matches!(event, Event::Disconnected { .. }));
    run_again(&served);
    served.stop();
}

#[test]
fn a_function_level_reset_ends_everything_under_way() {
    let served = Served::new("rtl:");
    let mut far = served.far();
    let card = ServedCard::open(&served.path());
    let own = card.clone();
    far.turns = Box::new(move |frames| {
        if frames > 3 {
            let mut client = own.client();
            let control = client.capability(0x10) + 8;
            client.write(CONFIG, control, &[0, 0x80]).unwrap();
            assert_eq!(client.read32(CONFIG, 4).unwrap() & 6, 0);
            client.set_command(6);
            assert_eq!(client.read32(BAR2, STATUS.offset.into()), Ok(0), "nothing is in progress");
            assert_eq!(client.read32(BAR2, IP.offset.into()), Ok(0));
        }
        frames <= 3
    });
    far.run(&job(), card.clone()).unwrap();
    assert!(far.completions.len() < 3);
    let frames = far.frames.len();
    // What was sent before may arrive; the reset card sends nothing.
    std::thread::sleep(Duration::from_millis(50));
    far.turn();
    let arrived = far.frames.len();
    std::thread::sleep(Duration::from_millis(50));
    far.turn();
    assert_eq!(far.frames.len(), arrived, "after {frames}");
    drop((far, card));
    served.wait_for("end", |event| matches!(event, Event::Disconnected { .. }));
    run_again(&served);
    served.stop();
}

#[test]
fn a_card_that_waits_for_its_time_out_gets_its_time() {
    let served = Served::new("rtl:");
    let mut far = served.far();
    // The network has no peer that could acknowledge.
    far.network = drdma_sim::wire::Network::new();
    let card = ServedCard::open(&served.path());
    let own = card.clone();
    let mut turns = 0;
    far.turns = Box::new(move |_| {
        turns += 1;
        if turns == 1 {
            own.client().write32(BAR2, ACK_TIMEOUT.offset.into(), 20).unwrap();
        }
        true
    });
    let mut job = job();
    job.posts.truncate(1);
    let context = drdma_cli::device::set_up(Box::new(card.clone()), job.local).unwrap();
    drdma_cli::run::run(&job, &context, crate::rig::PATIENCE, &mut far).unwrap();
    assert_eq!(far.completions[0].status.name(), "retry_exceeded");
    drop((context, card));
    served.stop();
}

#[test]
fn another_implementations_client_sees_the_same_card() {
    let served = Served::new("soft:");
    let mut client = vfio_user::Client::new(&served.path()).unwrap();
    let mut bytes = [0; 4];
    client.region_read(CONFIG, 0, &mut bytes).unwrap();
    assert_eq!(u32::from_le_bytes(bytes), 0x1001_1234);
    assert_eq!(client.region(BAR2).unwrap().size, 1 << 24);
    assert_eq!(client.get_irq_info(2).unwrap().count, 32);
    client.region_write(CONFIG, 4, &[6, 0]).unwrap();
    client.region_write(BAR2, IP.offset.into(), &[4, 3, 2, 1]).unwrap();
    client.region_read(BAR2, IP.offset.into(), &mut bytes).unwrap();
    assert_eq!(bytes, [4, 3, 2, 1]);
    let file = File::from(memfd_create("memory", MemfdFlags::CLOEXEC).unwrap());
    file.set_len(8192).unwrap();
    use std::os::fd::AsRawFd as _;
    client.dma_map(4096, 0x10000, 4096, file.as_raw_fd()).unwrap();
    client.region_write(BAR2, DOORBELLS.offset.into(), &[1, 0, 0, 0]).unwrap();
    client.dma_unmap(0x10000, 4096).unwrap();
    client.reset().unwrap();
    client.region_write(CONFIG, 4, &[2, 0]).unwrap();
    client.region_read(BAR2, IP.offset.into(), &mut bytes).unwrap();
    assert_eq!(bytes, [0; 4]);
    client.shutdown().unwrap();
    served.wait_for("end", |event| matches!(event, Event::Disconnected { .. }));
    served.stop();
}
