use super::*;
use drdma_abi::roce::syndrome::{ACK, NAK_PSN, NAK_REMOTE_ACCESS, RNR_NAK};

const POLICY: Policy = Policy { retry_cnt: 2, rnr_retry: 1 };
/// Number of units of the test's time in 10 us.
const TEN_US: u64 = 100;

/// Sends requests one after the other, each by its name.
struct Bench {
    requester: Requester<u32>,
    now: u64,
}

impl Bench {
    fn new(psn: u32) -> Self {
        let mut requester = Requester::new(psn);
        requester.set_policy(POLICY);
        Self { requester, now: 0 }
    }

    fn send(&mut self, request: u32, packets: u32) {
        for i in 0..packets {
            let (psn, last) = (self.requester.next_psn(), i + 1 == packets);
            let what = What::Packet(vec![psn as u8].into());
            let sent = Sent { request, psn, packets: 1, last, asks: last, what };
            self.requester.sent(sent, self.now);
        }
    }

    fn read(&mut self, request: u32, len: u32) {
        let (psn, packets) = (self.requester.next_psn(), len.div_ceil(256).max(1));
        let what = What::Read { addr: 0, rkey: 0, len, answered: 0 };
        self.requester.sent(Sent { request, psn, packets, last: true, asks: true, what }, self.now);
    }

    fn ack(&mut self, psn: u32) -> Reaction<u32> {
        self.answer(ACK | 31, psn)
    }

    fn answer(&mut self, syndrome: u8, psn: u32) -> Reaction<u32> {
        self.requester.acknowledged(syndrome, psn, self.now, TEN_US)
    }

    fn answered(&mut self, psn: u32, len: u32, last: bool) -> Reaction<u32> {
        self.requester.read_answered(psn, len, last, 256, self.now)
    }

    /// Returns the sequence numbers that are sent again now.
    fn resent(&mut self) -> Vec<u32> {
        let now = self.now;
        std::iter::from_fn(|| self.requester.resend(now).map(|(psn, _)| psn)).collect()
    }
}

#[test]
fn an_acknowledgement_covers_everything_before_it_across_the_wrap() {
    let mut bench = Bench::new(0xff_fffe);
    bench.send(1, 2);
    bench.send(2, 3);
    bench.send(3, 1);
    assert_eq!((bench.requester.next_psn(), bench.requester.in_flight()), (4, 6));
    // An acknowledgement of the first packet of the second request: the first request is complete.
    assert_eq!(bench.ack(0), Reaction::Taken);
    assert_eq!((bench.requester.finished(), bench.requester.oldest_psn()), (vec![1], 1));
    assert_eq!(bench.ack(3), Reaction::Taken);
    assert_eq!((bench.requester.finished(), bench.requester.in_flight()), (vec![2, 3], 0));
    assert_eq!(bench.requester.waiting_since(), None);
}

#[test]
fn answers_to_what_was_acknowledged_or_never_sent_are_ignored() {
    let mut bench = Bench::new(10);
    bench.send(1, 2);
    bench.ack(10);
    for (syndrome, psn) in
        [(ACK | 31, 9), (ACK | 31, 10), (ACK | 31, 12), (NAK_PSN, 12), (NAK_REMOTE_ACCESS, 9)]
    {
        assert_eq!(bench.answer(syndrome, psn), Reaction::Ignored, "{syndrome:#x} {psn}");
    }
    assert_eq!(bench.answered(11, 0, true), Reaction::Ignored, "it is no READ");
    assert_eq!(bench.requester.atomic_answered(11, 0), Reaction::Ignored);
    // Reserved codes are ignored.
    assert_eq!(bench.answer(0x64, 11), Reaction::Ignored);
    assert_eq!(bench.requester.in_flight(), 1);
    bench.ack(11);
    assert_eq!(bench.ack(11), Reaction::Ignored);
}

#[test]
fn a_nak_goes_back_once_and_progress_gives_the_retries_back() {
    let mut bench = Bench::new(0);
    bench.send(1, 5);
    for round in 0..3 {
        assert_eq!(bench.answer(NAK_PSN, round), Reaction::Taken);
        assert!(!bench.requester.is_open());
        assert_eq!(bench.answer(NAK_PSN, round), Reaction::Ignored, "a retry is under way");
        assert_eq!(bench.resent(), (round..5).collect::<Vec<_>>());
        assert!(bench.requester.is_open());
        assert_eq!(bench.answer(NAK_PSN, round), Reaction::Ignored, "it came too early");
    }
    // The progress of the third round was that of its own NAK. Timeouts restart a retry, and are
    // counted.
    assert_eq!(bench.requester.timed_out(), Reaction::Taken);
    assert_eq!(bench.requester.timed_out(), Reaction::Failed(Status::RetryExceeded));
    assert_eq!(bench.requester.abandon(), [1]);
    assert_eq!(bench.requester.in_flight(), 0);
}

#[test]
fn what_was_sent_is_sent_again_as_it_was_and_only_what_is_missing() {
    let mut bench = Bench::new(0);
    bench.send(1, 4);
    assert_eq!(bench.answer(NAK_PSN, 1), Reaction::Taken);
    let (psn, sent) = bench.requester.resend(0).unwrap();
    assert_eq!((psn, &sent.what), (1, &What::Packet(vec![1].into())));
    // A packet that is acknowledged during the retry is not sent again.
    assert_eq!(bench.ack(2), Reaction::Taken);
    assert_eq!(bench.resent(), [3]);
}

#[test]
fn a_pause_is_neither_cut_short_nor_taken_for_a_timeout() {
    let mut bench = Bench::new(0);
    bench.send(1, 3);
    assert_eq!(bench.requester.waiting_since(), Some(0));
    bench.now = 50;
    // The NAK asks for a pause of 20 us.
    assert_eq!(bench.answer(RNR_NAK | 2, 0), Reaction::Taken);
    assert_eq!((bench.requester.paused(), bench.requester.waiting_since()), (Some(250), None));
    // Some responders also send a NAK for the packets behind.
    assert_eq!(bench.answer(NAK_PSN, 0), Reaction::Ignored);
    assert_eq!(bench.answer(RNR_NAK | 2, 0), Reaction::Ignored);
    bench.now = 249;
    assert_eq!(bench.resent(), []);
    bench.now = 250;
    assert_eq!(bench.resent(), [0, 1, 2]);
    assert_eq!(bench.requester.waiting_since(), Some(250));
    assert_eq!(bench.answer(NAK_PSN, 0), Reaction::Ignored, "of before");
    assert_eq!(bench.answer(RNR_NAK | 2, 0), Reaction::Failed(Status::RnrRetryExceeded));
}

#[test]
fn rnr_retries_may_be_endless_and_are_counted_apart() {
    let mut bench = Bench::new(0);
    bench.requester.set_policy(Policy { retry_cnt: 0, rnr_retry: 7 });
    bench.send(1, 1);
    for _ in 0..100 {
        assert_eq!(bench.answer(RNR_NAK | 1, 0), Reaction::Taken);
        bench.now += TEN_US;
        assert_eq!(bench.resent(), [0]);
    }
    assert_eq!(bench.requester.timed_out(), Reaction::Failed(Status::RetryExceeded));
}

#[test]
fn an_answer_beyond_a_read_asks_for_the_rest_of_it() {
    let mut bench = Bench::new(0);
    bench.send(1, 1);
    bench.read(2, 1000);
    bench.send(3, 1);
    assert_eq!((bench.requester.next_psn(), bench.requester.unanswered()), (6, 1));
    // The first packet of the answer acknowledges the packets before it.
    assert_eq!(bench.answered(1, 256, false), Reaction::Data { request: 2, offset: 0 });
    assert_eq!(bench.requester.finished(), [1]);
    // An acknowledgement of packets behind, without the rest of the answer.
    assert_eq!(bench.ack(5), Reaction::Taken);
    assert_eq!(bench.requester.finished(), []);
    assert_eq!(bench.resent(), [2, 5]);
    // A gap in the answer would start a retry, but one is in progress.
    assert_eq!(bench.answered(3, 256, false), Reaction::Ignored);
    assert_eq!(bench.answered(2, 256, false), Reaction::Data { request: 2, offset: 256 });
    assert_eq!(bench.answered(2, 256, false), Reaction::Ignored, "once is enough");
    assert_eq!(bench.answered(3, 256, false), Reaction::Data { request: 2, offset: 512 });
    assert_eq!(bench.answered(4, 232, true), Reaction::Data { request: 2, offset: 768 });
    assert_eq!((bench.requester.finished(), bench.requester.unanswered()), (vec![2], 0));
    bench.ack(5);
    assert_eq!(bench.requester.finished(), [3]);
}

#[test]
fn a_gap_in_an_answer_asks_for_what_is_missing() {
    let mut bench = Bench::new(0);
    bench.read(1, 700);
    assert_eq!(bench.answered(1, 256, false), Reaction::Taken);
    assert_eq!(bench.resent(), [0]);
}

#[test]
fn an_answer_of_a_wrong_length_or_form_is_an_error() {
    for (len, last) in [(255, false), (256, true), (0, false)] {
        let mut bench = Bench::new(0);
        bench.read(1, 700);
        assert_eq!(bench.answered(0, len, last), Reaction::Failed(Status::BadResponse));
    }
    let mut bench = Bench::new(0);
    bench.read(1, 0);
    assert_eq!(bench.answered(0, 1, true), Reaction::Failed(Status::BadResponse));
}

#[test]
fn a_refusal_covers_what_is_before_it() {
    let mut bench = Bench::new(0);
    bench.send(1, 2);
    bench.send(2, 2);
    assert_eq!(bench.answer(NAK_REMOTE_ACCESS, 2), Reaction::Failed(Status::RemoteAccessError));
    assert_eq!(bench.requester.finished(), [1]);
    assert_eq!(bench.requester.abandon(), [2]);
}

#[test]
fn the_timer_starts_anew_with_progress_and_stops_when_nothing_is_asked() {
    let mut bench = Bench::new(0);
    bench.send(1, 1);
    bench.now = 10;
    bench.send(2, 1);
    assert_eq!(bench.requester.waiting_since(), Some(0), "since the first that asked");
    bench.now = 20;
    bench.ack(0);
    assert_eq!(bench.requester.waiting_since(), Some(20));
    bench.ack(1);
    assert_eq!(bench.requester.waiting_since(), None);
}
