//! The port of a card, with a wire plugged in: frames that are sent, frames that arrive, and frames
//! that wait or are lost.

use std::{collections::VecDeque, fmt, io, os::fd::BorrowedFd};

use drdma_wire::{MAX_FRAME, MIN_FRAME, Sent, Traffic, Wire, frame};

use crate::wire::{Frames, Network};

/// Number of frames that wait for room at the other end from which on the card's clock waits as
/// well, as it would for pause frames.
const WAITING: usize = 64;
/// Largest number of frames that are offered to the wire together.
const BURST: usize = 64;
/// Number of times that the wire is asked for frames in a turn.
const RECEIVES_A_TURN: usize = 4;
/// Number of frames, one behind the other, from which on they have a call of their own. Fewer are
/// put together with others.
const RUN: usize = 6;

/// Takes frames at once, from the memory that they were received into.
pub trait TakesFrames: Send {
    /// Takes a frame, without FCS, of [`MIN_FRAME`] to [`MAX_FRAME`] bytes, that arrives now.
    fn take(&self, frame: &[u8]);
}

/// Connects a card's port with a wire.
pub struct PortEnd {
    network: Network,
    wire: Option<Box<dyn Wire>>,
    /// Frames for which the other end had no room, and those behind them.
    waiting: VecDeque<Frames>,
    traffic: Traffic,
    /// The card that frames are delivered to directly, instead of through the network.
    card: Option<Box<dyn TakesFrames>>,
}

impl fmt::Debug for PortEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PortEnd").field("traffic", &self.traffic).finish_non_exhaustive()
    }
}

impl PortEnd {
    /// The port of the card of that network, with or without a wire.
    pub fn new(network: Network, wire: Option<Box<dyn Wire>>) -> Self {
        Self { network, wire, waiting: VecDeque::new(), traffic: Traffic::default(), card: None }
    }

    /// Delivers arriving frames directly to that card, instead of through the network.
    #[must_use]
    pub fn delivering_to(self, card: impl TakesFrames + 'static) -> Self {
        Self { card: Some(Box::new(card)), ..self }
    }

    /// File descriptor that becomes readable when a frame arrives.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.wire.as_ref().map(|wire| wire.fd())
    }

    /// Counts of the frames that went over the wire so far.
    pub fn traffic(&self) -> Traffic {
        let mut traffic = self.traffic;
        traffic.lost += self.network.lost_at_port();
        traffic
    }

    /// True if frames wait for room at the other end.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// True if so many frames wait that the card must not send more.
    pub fn is_congested(&self) -> bool {
        self.waiting.iter().map(Frames::count).sum::<usize>() >= WAITING
    }

    /// Sends the card's frames, as far as the other end has room.
    ///
    /// # Errors
    /// The wire failed; the frame is lost.
    pub fn send(&mut self) -> io::Result<()> {
        if self.card.is_some() {
            let mut new = VecDeque::new();
            self.network.take_all_sent(&mut new);
            put_runs_first(new, &mut self.waiting);
        } else {
            self.network.take_all_sent(&mut self.waiting);
        }
        let mut sent = Vec::new();
        while let Some(first) = self.waiting.front() {
            sent.clear();
            let (tried, result) = match &mut self.wire {
                Some(wire) if first.count() >= RUN => {
                    (first.count(), wire.send_run(&first.bytes, first.len, &mut sent))
                }
                Some(wire) => {
                    let short = self.waiting.iter().take_while(|frames| frames.count() < RUN);
                    let frames: Vec<_> = short.flat_map(Frames::iter).take(BURST).collect();
                    (frames.len(), wire.send_burst(&frames, &mut sent))
                }
                None => {
                    sent.resize(first.count(), Sent::Lost);
                    (sent.len(), Ok(()))
                }
            };
            // The frame for which an error was returned is lost as well.
            let done = sent.len() + usize::from(result.is_err());
            let out = sent.iter().filter(|sent| **sent == Sent::Out).count();
            self.traffic.sent += out as u64;
            self.traffic.lost += (done - out) as u64;
            self.drop_waiting(done);
            result?;
            if done < tried {
                break;
            }
        }
        Ok(())
    }

    /// Drops the first `count` frames that wait.
    fn drop_waiting(&mut self, mut count: usize) {
        while let Some(first) = self.waiting.front_mut()
            && count > 0
        {
            let some = first.count().min(count);
            first.advance(some);
            if first.bytes.is_empty() {
                self.waiting.pop_front();
            }
            count -= some;
        }
    }

    /// Delivers arriving frames to the card; true if there were any.
    ///
    /// # Errors
    /// The wire failed; it is unplugged, as a wire that cannot be received from cannot be waited
    /// for.
    pub fn receive(&mut self, now_ns: u64) -> io::Result<bool> {
        let received = self.receive_frames(now_ns);
        if received.is_err() {
            self.wire = None;
        }
        received
    }

    fn receive_frames(&mut self, now_ns: u64) -> io::Result<bool> {
        let Some(wire) = &mut self.wire else { return Ok(false) };
        let (network, traffic) = (&self.network, &mut self.traffic);
        let card = self.card.as_ref().filter(|_| network.is_port_open());
        let mut any = false;
        let mut take = |bytes: &[u8]| match card {
            Some(card) if (MIN_FRAME..=MAX_FRAME).contains(&bytes.len()) => {
                traffic.received += 1;
                card.take(bytes);
                any = true;
            }
            card => match (frame(bytes), card) {
                (Some(frame), card) => {
                    traffic.received += 1;
                    match card {
                        Some(card) => card.take(&frame),
                        None => network.inject(frame, now_ns),
                    }
                    any = true;
                }
                (None, _) => traffic.refused += 1,
            },
        };
        // An endpoint is polled again soon, and its wire brings many frames in a call.
        let calls = if self.card.is_some() { 1 } else { RECEIVES_A_TURN };
        for _ in 0..calls {
            if !wire.receive(&mut take)? {
                break;
            }
        }
        Ok(any)
    }
}

/// Appends `new` frames to `waiting`: runs that have a call of their own before the frames that are
/// put together with others, so that more of the latter are together. Frames of one queue pair stay
/// in their order.
fn put_runs_first(new: VecDeque<Frames>, waiting: &mut VecDeque<Frames>) {
    let mut short: Vec<Frames> = Vec::new();
    for frames in new {
        let overtakes = |other: &Frames| {
            let queue_pairs = [frames.queue_pair, other.queue_pair];
            queue_pairs[0] != queue_pairs[1] && !queue_pairs.contains(&None)
        };
        match frames.count() {
            RUN.. if short.iter().all(overtakes) => waiting.push_back(frames),
            RUN.. => {
                waiting.extend(short.drain(..));
                waiting.push_back(frames);
            }
            _ => short.push(frames),
        }
    }
    waiting.extend(short);
}

#[cfg(test)]
mod tests {
    use std::os::{fd::AsFd, unix::net::UnixDatagram};

    use crate::wire::Port;

    use super::*;

    /// A wire to an end with room for a limited number of frames.
    struct Narrow {
        room: usize,
        socket: UnixDatagram,
    }

    impl Wire for Narrow {
        fn fd(&self) -> BorrowedFd<'_> {
            self.socket.as_fd()
        }

        fn send(&mut self, _frame: &[u8]) -> io::Result<Sent> {
            self.room = match self.room.checked_sub(1) {
                Some(room) => room,
                None => return Ok(Sent::Full),
            };
            Ok(Sent::Out)
        }

        fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> io::Result<bool> {
            let mut buffer = [0; MAX_FRAME + 1];
            let Ok(len) = self.socket.recv(&mut buffer) else { return Ok(false) };
            take(&buffer[..len]);
            Ok(true)
        }
    }

    fn end(room: usize) -> (Network, UnixDatagram, PortEnd) {
        let (socket, far) = UnixDatagram::pair().unwrap();
        socket.set_nonblocking(true).unwrap();
        let network = Network::new();
        network.plug_cable();
        (network.clone(), far, PortEnd::new(network, Some(Box::new(Narrow { room, socket }))))
    }

    #[test]
    fn frames_wait_for_room_and_a_card_with_too_many_waits_too() {
        let (network, _far, mut end) = end(10);
        (0..WAITING + 9).for_each(|_| network.transmit(&[0; 60], 1));
        end.send().unwrap();
        assert_eq!(end.traffic().sent, 10);
        assert!(end.is_waiting() && !end.is_congested());
        network.transmit(&[0; 60], 1);
        end.send().unwrap();
        assert!(end.is_congested());
        assert_eq!(end.traffic(), Traffic { sent: 10, ..Traffic::default() });
    }

    #[test]
    fn a_closed_port_keeps_what_fits_its_fifo_and_takes_nothing() {
        let (network, far, mut end) = end(100);
        network.set_port(Port { transmit: false, receive: false });
        (0..9).for_each(|_| network.transmit(&[0; 4096], 1));
        far.send(&[0; 60]).unwrap();
        end.send().unwrap();
        end.receive(1).unwrap();
        assert!(!network.is_receiving());
        let traffic = Traffic { sent: 0, lost: 2, received: 1, refused: 0 };
        assert_eq!(end.traffic(), traffic, "one of 9 does not fit, and one came in");
        network.set_port(Port { transmit: true, receive: true });
        end.send().unwrap();
        assert_eq!(end.traffic().sent, 8);
        for len in [10, 60, MAX_FRAME + 1, MAX_FRAME] {
            far.send(&vec![1; len]).unwrap();
        }
        assert!(end.receive(2).unwrap());
        assert_eq!((end.traffic().received, end.traffic().refused), (3, 2));
        assert_eq!(network.receive(2).unwrap().len(), 60);
    }

    #[test]
    fn runs_overtake_frames_of_other_queue_pairs_alone() {
        let of = |queue_pair, count, name: u8| Frames {
            time_ns: 0,
            bytes: vec![name; 60 * count].into(),
            len: 60,
            queue_pair,
        };
        let (a, b) = (Some(1), Some(2));
        let order = |new: Vec<Frames>| -> String {
            let mut waiting = VecDeque::from([of(a, 1, b'0')]);
            put_runs_first(new.into(), &mut waiting);
            waiting.iter().map(|frames| char::from(frames.bytes[0])).collect()
        };
        let (short, run) = (RUN - 1, RUN);
        let two = vec![of(a, run, b'a'), of(a, 1, b'b'), of(b, run, b'c'), of(b, short, b'd')];
        assert_eq!(order(two), "0acbd");
        let same = vec![of(a, run, b'a'), of(a, 1, b'b'), of(b, 1, b'c'), of(a, run, b'd')];
        assert_eq!(order(same), "0abcd", "the second run is of a queue pair that has sent since");
        let ordered =
            vec![of(None, 1, b'a'), of(a, run, b'b'), of(b, 1, b'c'), of(None, run, b'd')];
        assert_eq!(order(ordered), "0abcd");
    }

    /// A wire whose other end was removed from this machine.
    struct Broken(UnixDatagram);

    impl Wire for Broken {
        fn fd(&self) -> BorrowedFd<'_> {
            self.0.as_fd()
        }

        fn send(&mut self, _frame: &[u8]) -> io::Result<Sent> {
            Err(io::ErrorKind::NetworkDown.into())
        }

        fn receive(&mut self, _take: &mut dyn FnMut(&[u8])) -> io::Result<bool> {
            Err(io::ErrorKind::NetworkDown.into())
        }
    }

    #[test]
    fn a_wire_that_fails_is_told_and_one_that_cannot_be_received_from_is_unplugged() {
        let network = Network::new();
        network.plug_cable();
        let wire = Broken(UnixDatagram::unbound().unwrap());
        let mut end = PortEnd::new(network.clone(), Some(Box::new(wire)));
        (0..2).for_each(|_| network.transmit(&[0; 60], 1));
        assert!(end.send().is_err());
        assert!(end.send().is_err(), "the other frame");
        assert!(end.send().is_ok());
        assert_eq!(end.traffic().lost, 2);
        assert!(end.fd().is_some() && end.receive(1).is_err());
        assert!(end.fd().is_none() && !end.receive(1).unwrap());
    }

    #[test]
    fn without_a_wire_frames_are_lost() {
        let network = Network::new();
        network.plug_cable();
        let mut end = PortEnd::new(network.clone(), None);
        network.transmit(&[0; 60], 1);
        end.send().unwrap();
        assert!(!end.receive(1).unwrap());
        assert_eq!(end.traffic().lost, 1);
        assert!(end.fd().is_none());
    }
}
