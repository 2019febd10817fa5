//! Budgets, and what they stop and do not stop.

use datafusion::arrow::{
    array::{ArrayRef, AsArray as _, Int64Array, StringViewArray, StructArray},
    datatypes::{DataType, Field, Fields, Int64Type, Schema},
};

use super::*;

/// Rows of a test's batches.
const ROWS: usize = 100;
/// Bytes of a batch: 8 B a row.
const BYTES: usize = 800;

fn batch() -> RecordBatch {
    let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Int64, false)]));
    let values = Int64Array::from_iter_values(0..ROWS as i64);
    RecordBatch::try_new(schema, vec![Arc::new(values)]).unwrap()
}

/// An outbox of two partitions, open, with a budget of one byte, so that one batch is under way at a time.
fn outbox(backlog: usize) -> Outbox {
    let mut outbox = Outbox::new(2, 1, Arc::new(Backlog::new(backlog)));
    outbox.open(0);
    outbox.open(1);
    outbox
}

fn add(outbox: &mut Outbox, rows: [u32; 2]) {
    outbox.add(batch(), Selection::All, rows.to_vec());
}

/// Posts what can be posted, and completes it. Returns the partitions of each post.
fn post(outbox: &mut Outbox) -> Vec<Vec<u16>> {
    let mut posts = Vec::new();
    while let Some((index, to)) = outbox.next() {
        outbox.posted(index, &to);
        to.iter().for_each(|partition| outbox.completed(*partition));
        posts.push(to);
    }
    posts
}

#[test]
fn a_partition_without_credit_is_left_out_and_gets_its_rows_later() {
    let mut outbox = outbox(10 * BYTES);
    add(&mut outbox, [50, 50]);
    add(&mut outbox, [50, 50]);
    assert_eq!(post(&mut outbox), [[0, 1]], "the second batch waits");
    assert!(outbox.credit(1, 50));
    assert_eq!(post(&mut outbox), [[1]], "partition 0 is left out");
    assert!(outbox.credit(0, 50));
    assert_eq!(post(&mut outbox), [[0]]);
    assert!(!outbox.has_waiting());
}

#[test]
fn a_batch_waits_for_all_its_partitions_as_long_as_each_has_half_of_its_budget_under_way() {
    // A batch has 400 B for each partition.
    let mut outbox = Outbox::new(2, 2 * BYTES, Arc::new(Backlog::new(100 * BYTES)));
    outbox.open(0);
    outbox.open(1);
    (0..6).for_each(|_| add(&mut outbox, [50, 50]));
    assert_eq!(post(&mut outbox), [[0, 1]; 4]);
    // These are behind the others, although partition 1 is their only one.
    add(&mut outbox, [0, 100]);
    assert!(outbox.credit(1, 50));
    assert!(post(&mut outbox).is_empty(), "partition 1 has 1,200 B under way");
    assert!(outbox.credit(1, 50));
    assert!(post(&mut outbox).is_empty(), "and now half of its budget");
    assert!(outbox.credit(1, 1));
    assert_eq!(post(&mut outbox), [[1]], "the fifth batch, and no more: it has half again");
    assert_eq!(outbox.waiting(0).left, [0]);
    assert!(outbox.credit(0, 100));
    // Partition 0 gets the fifth batch, and both get the sixth; the last one is left for partition 1 alone.
    assert_eq!(post(&mut outbox), [vec![0], vec![0, 1], vec![1]]);
    assert!(!outbox.has_waiting());
}

#[test]
fn rows_of_a_partition_keep_their_order() {
    let mut outbox = outbox(10 * BYTES);
    add(&mut outbox, [100, 0]);
    add(&mut outbox, [50, 50]);
    assert_eq!(outbox.next(), Some((0, vec![0])));
    outbox.posted(0, &[0]);
    // The batch before is gone; what is left has index 0.
    assert_eq!(outbox.next(), Some((0, vec![1])));
    assert_eq!(outbox.waiting(0).cost(1), BYTES / 2);
}

#[test]
fn input_is_read_up_to_the_backlog_and_beyond_it_only_for_a_partition_with_nothing_to_do() {
    let mut outbox = outbox(2 * BYTES);
    for _ in 0..3 {
        assert!(outbox.wants_more());
        add(&mut outbox, [100, 0]);
        post(&mut outbox);
    }
    // One batch is under way to partition 0, two wait: that is the backlog. Partition 1 has nothing.
    assert!(outbox.wants_more());
    add(&mut outbox, [0, 100]);
    assert_eq!(post(&mut outbox), [[1]]);
    assert!(!outbox.wants_more(), "both have something to do");
    assert!(outbox.credit(1, 100));
    assert!(outbox.wants_more(), "partition 1 has nothing to do again");
}

#[test]
fn nothing_is_read_for_nobody() {
    let mut outbox = Outbox::new(2, 1, Arc::new(Backlog::new(BYTES)));
    assert!(!outbox.wants_more());
    outbox.open(1);
    assert!(outbox.wants_more());
    outbox.close(1);
    assert!(!outbox.wants_more());
}

#[test]
fn rows_of_a_partition_that_was_closed_are_forgotten() {
    let mut outbox = outbox(10 * BYTES);
    add(&mut outbox, [50, 50]);
    post(&mut outbox);
    add(&mut outbox, [50, 50]);
    outbox.close(0);
    assert_eq!(outbox.over(), [Over::Closed { partition: 0 }]);
    add(&mut outbox, [100, 0]);
    assert!(outbox.credit(1, 50));
    assert_eq!(post(&mut outbox), [[1]]);
    assert!(!outbox.has_waiting());
}

#[test]
fn a_partition_is_over_when_its_last_request_has_completed() {
    let mut outbox = outbox(10 * BYTES);
    add(&mut outbox, [100, 0]);
    let (index, to) = outbox.next().unwrap();
    outbox.posted(index, &to);
    outbox.end();
    assert_eq!(outbox.over(), [Over::End { partition: 1, rows: 0 }]);
    outbox.completed(0);
    assert_eq!(outbox.over(), [Over::End { partition: 0, rows: 100 }]);
    assert!(outbox.over().is_empty(), "each is told once");
    assert!(outbox.is_done());
}

#[test]
fn a_consumer_that_comes_late_gets_the_rows_from_the_beginning() {
    let mut outbox = Outbox::new(2, 10 * BYTES, Arc::new(Backlog::new(BYTES)));
    outbox.open(0);
    add(&mut outbox, [100, 100]);
    assert_eq!(post(&mut outbox), [[0]]);
    outbox.end();
    assert_eq!(outbox.over(), [Over::End { partition: 0, rows: 100 }]);
    assert!(!outbox.is_done());
    outbox.open(1);
    assert_eq!(post(&mut outbox), [[1]]);
    assert_eq!(outbox.over(), [Over::End { partition: 1, rows: 100 }]);
}

#[test]
fn credit_for_what_was_not_sent_is_noticed() {
    let mut outbox = outbox(BYTES);
    assert!(!outbox.credit(0, 1));
}

#[test]
fn rows_are_taken_in_other_batches_than_they_were_sent_in() {
    let mut outbox = outbox(10 * BYTES);
    outbox.budget = 2 * BYTES;
    for _ in 0..3 {
        add(&mut outbox, [100, 0]);
    }
    assert_eq!(post(&mut outbox), [[0], [0]], "two batches are the budget");
    // Parts of a batch make room, as far as they go.
    for (rows, left) in [(1, 2 * BYTES - 8), (98, 2 * BYTES - 99 * 8)] {
        assert!(outbox.credit(0, rows));
        assert_eq!(outbox.partitions[0].under_way, left);
    }
    assert_eq!(post(&mut outbox), [[0]]);
    // The end of one, all of another, and some of the last one.
    assert!(outbox.credit(0, 1 + 100 + 40));
    assert_eq!(outbox.partitions[0].under_way, 60 * 8);
    assert!(!outbox.credit(0, 61), "only 60 rows were left");
}

#[test]
fn what_was_read_without_room_goes_to_disk_and_comes_back_in_order() {
    let mut outbox = outbox(BYTES);
    // One is under way to partition 0 and one waits: there is no room, but partition 1 has nothing to do.
    for _ in 0..2 {
        add(&mut outbox, [100, 0]);
        post(&mut outbox);
    }
    assert!(outbox.is_full() && outbox.wants_more());
    add(&mut outbox, [50, 50]);
    assert!(outbox.overflow(false).is_none(), "nothing is on disk yet");
    assert_eq!(post(&mut outbox), [[1]]);
    assert_eq!(outbox.overflow(true).unwrap().1, [0]);
    outbox.spilled(&[0]);
    assert_eq!(outbox.waiting_bytes, BYTES, "it does not wait in memory");
    assert!(!outbox.wants_more(), "both have something to do");

    // Later rows go behind it, though there is room.
    assert!(outbox.credit(0, 100));
    assert_eq!(post(&mut outbox), [[0]]);
    assert!(!outbox.is_full());
    assert!(!outbox.wants_more(), "what is on disk comes first");
    assert!(outbox.credit(1, 50));
    assert!(outbox.wants_more(), "partition 1 has nothing to do again");
    add(&mut outbox, [100, 0]);
    assert_eq!(outbox.overflow(false).unwrap().1, [0]);
    outbox.spilled(&[0]);
    assert_eq!(outbox.waiting_bytes, 0);

    outbox.end();
    assert_eq!(outbox.over(), [Over::End { partition: 1, rows: 50 }]);
    assert!(outbox.wanted().is_empty(), "partition 0 has no credit");
    for is_last in [false, true] {
        assert!(outbox.credit(0, 100));
        assert_eq!(outbox.wanted(), [0]);
        assert_eq!(outbox.returned(0, batch()), is_last);
        assert!(outbox.wanted().is_empty(), "one at a time");
        assert!(outbox.over().is_empty());
        assert_eq!(post(&mut outbox), [[0]]);
    }
    assert_eq!(outbox.over(), [Over::End { partition: 0, rows: 400 }]);
}

#[test]
fn rows_on_disk_of_a_partition_that_was_closed_are_not_wanted() {
    let mut outbox = outbox(1);
    add(&mut outbox, [100, 0]);
    post(&mut outbox);
    add(&mut outbox, [100, 0]);
    assert_eq!(outbox.overflow(true).unwrap().1, [0]);
    outbox.spilled(&[0]);
    assert!(outbox.has_waiting());
    assert!(outbox.credit(0, 100));
    outbox.close(0);
    assert!(!outbox.has_waiting() && outbox.wanted().is_empty());
    assert_eq!(outbox.over(), [Over::Closed { partition: 0 }]);
}

#[test]
fn tasks_of_a_worker_share_its_backlog_and_give_it_back() {
    let backlog = Arc::new(Backlog::new(2 * BYTES));
    let mut outboxes = [0, 1].map(|_| {
        let mut outbox = Outbox::new(2, 1, backlog.clone());
        outbox.open(0);
        add(&mut outbox, [100, 0]);
        post(&mut outbox);
        outbox
    });
    assert!(!backlog.is_full(), "what is under way does not wait");
    outboxes.iter_mut().for_each(|outbox| add(outbox, [100, 0]));
    assert!(backlog.is_full() && outboxes.iter().all(|outbox| !outbox.wants_more()));
    let [first, second] = outboxes;
    drop(first);
    assert!(!backlog.is_full() && second.wants_more());
    drop(second);
    assert_eq!((backlog.most(), backlog.is_full()), (2 * BYTES, false));
}

#[test]
fn long_values_of_views_are_counted_and_short_ones_are_not_twice() {
    let views = |values: [Option<&str>; 3]| Arc::new(StringViewArray::from(values.to_vec())) as _;
    let bytes = |column: ArrayRef| bytes_of(&RecordBatch::try_from_iter([("a", column)]).unwrap());
    let short = bytes(views([Some("twelve bytes"), Some(""), None]));
    let long = views([Some("thirteen bytes"), Some(""), None]);
    assert_eq!(bytes(Arc::clone(&long)), short + "thirteen bytes".len());
    let fields = Fields::from(vec![Field::new("b", DataType::Utf8View, true)]);
    let inner = StructArray::new(fields, vec![long], None);
    assert_eq!(bytes(Arc::new(inner)), short + "thirteen bytes".len());
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % limit
    }
}

/// Partitions of random traffic.
const MANY: usize = 5;

/// An outbox between random input and consumers of random speed, with a disk that is a list.
struct Traffic {
    outbox: Outbox,
    backlog: Arc<Backlog>,
    disk: [VecDeque<RecordBatch>; MANY],
    /// Batches that were sent and not taken.
    sent: [VecDeque<Vec<i64>>; MANY],
    /// Rows that were taken, and all there are.
    taken: [Vec<i64>; MANY],
    all: [Vec<i64>; MANY],
    went_to_disk: usize,
}

impl Traffic {
    fn new(budget: usize, backlog: usize) -> Self {
        let backlog = Arc::new(Backlog::new(backlog));
        let outbox = Outbox::new(MANY, budget, backlog.clone());
        let (disk, sent) = Default::default();
        let (taken, all) = Default::default();
        Self { outbox, backlog, disk, sent, taken, all, went_to_disk: 0 }
    }

    /// A batch of the input, most of whose rows are for one partition.
    fn read(&mut self, first: i64, random: &mut Random) {
        let (rows, mut counts) = (1 + random.below(50), vec![0; MANY]);
        let favourite = random.below(MANY);
        let id = |_| match random.below(3) {
            0 => random.below(MANY) as u8,
            _ => favourite as u8,
        };
        let ids: Vec<u8> = (0..rows).map(id).collect();
        for (value, id) in (first..).zip(&ids) {
            counts[usize::from(*id)] += 1;
            self.all[usize::from(*id)].push(value);
        }
        let values = Int64Array::from_iter_values(first..first + rows as i64);
        let batch = RecordBatch::try_from_iter([("x", Arc::new(values) as ArrayRef)]).unwrap();
        let is_full = self.outbox.is_full();
        self.outbox.add(batch, Selection::from(ids), counts);
        self.overflow(false);
        if is_full {
            self.send();
            self.overflow(true);
        }
    }

    fn overflow(&mut self, all: bool) {
        let Some((newest, partitions)) = self.outbox.overflow(all) else { return };
        for partition in &partitions {
            let rows = newest.rows_of(*partition).unwrap();
            self.disk[usize::from(*partition)].push_back(rows);
            self.went_to_disk += 1;
        }
        self.outbox.spilled(&partitions);
    }

    fn send(&mut self) {
        while let Some((index, to)) = self.outbox.next() {
            for partition in &to {
                let rows = self.outbox.waiting(index).rows_of(*partition).unwrap();
                let values = rows.column(0).as_primitive::<Int64Type>().values().to_vec();
                self.sent[usize::from(*partition)].push_back(values);
            }
            self.outbox.posted(index, &to);
            to.iter().for_each(|partition| self.outbox.completed(*partition));
        }
    }

    /// A consumer takes a batch, if there is one.
    fn take(&mut self, partition: usize) -> bool {
        let Some(values) = self.sent[partition].pop_front() else { return false };
        let count = values.len() as u64;
        self.taken[partition].extend(values);
        assert!(self.outbox.credit(partition as u16, count));
        true
    }

    /// A batch comes back from disk, if one is wanted.
    fn come_back(&mut self) -> bool {
        let Some(partition) = self.outbox.wanted().first().copied() else { return false };
        let batch = self.disk[usize::from(partition)].pop_front().expect("it was spilled");
        let is_last = self.outbox.returned(partition, batch);
        assert_eq!(is_last, self.disk[usize::from(partition)].is_empty());
        true
    }
}

#[test]
fn consumers_of_any_speed_get_their_rows_in_order_and_memory_stays_within_the_backlog() {
    let mut went_to_disk = 0;
    for seed in 0..200 {
        let mut random = Random(seed);
        let (budget, backlog) = (1 + random.below(1000), 1 + random.below(2000));
        let mut traffic = Traffic::new(budget, backlog);
        // One consumer comes late, and takes only when no other can go on.
        let (late, batches) = (random.below(MANY), 20 + random.below(60));
        (0..MANY).filter(|it| *it != late).for_each(|it| traffic.outbox.open(it as u16));
        let (mut read, mut turns, mut idle) = (0, 0, 0);
        while !(read == batches && traffic.outbox.is_done()) {
            traffic.send();
            let mut goes_on = traffic.come_back();
            if read < batches && traffic.outbox.wants_more() {
                traffic.read(read as i64 * 100, &mut random);
                (read, goes_on) = (read + 1, true);
            }
            if read == batches {
                traffic.outbox.end();
            }
            let over = traffic.outbox.over();
            goes_on |= !over.is_empty();
            for partition in (0..MANY).filter(|partition| *partition != late) {
                goes_on |= random.below(3) == 0 && traffic.take(partition);
            }
            idle = if goes_on { 0 } else { idle + 1 };
            if idle > 20 {
                traffic.outbox.open(late as u16);
                traffic.take(late);
            }
            turns += 1;
            assert!(turns < 100_000, "seed {seed}: it does not go on after {read} batches");
        }
        (0..MANY).for_each(|partition| while traffic.take(partition) {});
        assert_eq!(traffic.taken, traffic.all, "seed {seed}");
        // A batch of 50 rows that was read while there was room, one that is on its way to disk, and one a partition
        // that came back from there.
        let most = backlog + 50 * 8 * (2 + MANY);
        assert!(traffic.backlog.most() <= most, "seed {seed}: {} B", traffic.backlog.most());
        went_to_disk += traffic.went_to_disk;
    }
    assert!(went_to_disk > 1000, "{went_to_disk} batches went to disk");
}
