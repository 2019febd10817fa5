//! `drdma serve`: a card behind vfio-user, driven by the driver's own software and by clients that
//! mean no good.
//!
//! | module | |
//! |---|---|
//! | `client` | a client, and the card that it sees |
//! | `rig` | a server in this process, the far end of its wire, a job and what the model sends |
//! | `function` | the PCI function: configuration space, reset, interrupts, bus mastering, faults |
//! | `hostile` | clients that vanish, malformed messages, registers and rings of garbage |
//! | `command` | the command itself |

mod client;
mod command;
mod function;
mod hostile;
mod rig;

use client::ServedCard;
use drdma_abi::register::counter;
use drdma_driver::Device;
use rig::{Served, check, job};

/// Runs the job on a served card and compares what is on the wire with the model.
fn run_job(uri: &str) {
    let served = Served::new(uri);
    let mut far = served.far();
    let job = job();
    far.run(&job, ServedCard::open(&served.path())).unwrap();
    check(&mut far, &job);
    served.stop();
}

#[test]
fn the_reference_model_behind_vfio_user_sends_what_it_sends() {
    run_job("soft:");
}

#[test]
fn the_hardware_behind_vfio_user_sends_what_the_model_sends() {
    run_job("rtl:?stall=0.1");
}

#[test]
fn two_cards_are_wired_to_each_other() {
    let one = Served::new("soft:");
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let [near, far] = ["near", "far"].map(|name| one.folder.path().join(name));
    // The other card has the other end of the wire.
    let other = Served::at(folder, "soft:", &socket, Some((far, near)));
    let mut receiver = Device::open(Box::new(ServedCard::open(&other.path()))).unwrap();
    receiver.enable().unwrap();

    let mut job = job();
    // Without acknowledgements, as no card answers requests.
    job.posts.retain(|post| post.wr_id == 2);
    let (frames, _) = rig::model(&job);
    let sender = ServedCard::open(&one.path());
    let mut completions = Vec::new();
    let context = drdma_cli::device::set_up(Box::new(sender), rig::LOCAL).unwrap();
    drdma_cli::run::run(&job, &context, rig::PATIENCE, &mut completions).unwrap();
    let expected: usize = frames.iter().map(Vec::len).sum();
    let start = std::time::Instant::now();
    // The requests name no queue pair there: they are dropped, and counted.
    while receiver.counter(counter::RECEIVE_DROPPED).unwrap() < expected as u64 {
        assert!(start.elapsed() < rig::PATIENCE);
        receiver.progress().unwrap();
    }
    assert_eq!(receiver.counter(counter::RECEIVE_DROPPED).unwrap(), expected as u64);
    drop((context, receiver));
    one.stop();
    other.stop();
}

#[test]
fn a_card_whose_port_is_closed_sends_nothing_and_waits() {
    let served = Served::new("rtl:");
    let mut far = served.far();
    let job = job();
    let card = ServedCard::open(&served.path());
    card.client().set_port(false);
    let patience = std::time::Duration::from_millis(500);
    let error = far.run_patiently(&job, card.clone(), patience).unwrap_err();
    assert!(error.to_string().starts_with("no completion for"), "{error}");
    assert_eq!(far.frames.len(), 0);
    // Opened, it goes on where it stopped: the frames in its FIFO come first.
    card.client().set_port(true);
    let start = std::time::Instant::now();
    while far.frames.is_empty() {
        assert!(start.elapsed() < rig::PATIENCE);
        far.turn();
    }
    let (frames, _) = rig::model(&job);
    let first = &rig::by_queue_pair([far.frames[0].clone()]);
    assert!(first.iter().zip(&frames).any(|(sent, model)| sent.first() == model.first()));
    drop(card);
    served.stop();
}
