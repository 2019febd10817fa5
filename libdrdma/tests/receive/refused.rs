//! Requests that need features that a card lacks are refused before they reach it, with an error
//! that names the reason.

use libdrdma::{
    Access, Bitmapped, Card, CardError, ColumnKind, Context, Contiguous, DmaMemory, Error,
    Features, KeptRegionError, KeyType, KindColumn, KindRows, MacAddress, MemoryRegion,
    MemoryRegionError, MessageLayout, ModifyError, Operation, Options, PartitionDestination,
    PartitionKeys, Partitioned, PartitionedWorkRequest, PostError, QueuePairAttributes,
    ReceiveRequest, Region, RemoteColumn, RowMask, SharedOperation, Strided, Values, WorkRequest,
    simulated::SimulatedCard,
};

fn peer() -> QueuePairAttributes {
    QueuePairAttributes::new()
        .path_mtu(256)
        .dest_qpn(2)
        .dest_mac(MacAddress([2, 0, 0, 0, 0, 2]))
        .dest_ip([10, 0, 0, 2].into())
        .start_psn(0)
}

/// A card that reports only the given features.
struct Limited {
    card: Box<dyn Card>,
    features: Features,
}

impl Card for Limited {
    fn read(&mut self, offset: u32) -> Result<u32, CardError> {
        match offset == drdma_abi::receive::FEATURES.offset {
            true => Ok(self.features.bits()),
            false => self.card.read(offset),
        }
    }

    fn write(&mut self, offset: u32, value: u32) -> Result<(), CardError> {
        let known = offset < drdma_abi::receive::FEATURES.offset || !self.features.is_empty();
        assert!(known, "it has no {offset:#x}");
        self.card.write(offset, value)
    }

    fn map(&mut self, iova: u64, memory: &DmaMemory) -> Result<(), CardError> {
        self.card.map(iova, memory)
    }

    fn unmap(&mut self, iova: u64) -> Result<(), CardError> {
        self.card.unmap(iova)
    }

    fn progress(&mut self) -> Result<(), CardError> {
        self.card.progress()
    }
}

fn open(features: Features) -> Context {
    let options = Options::new(MacAddress([2, 0, 0, 0, 0, 1]), [10, 0, 0, 1].into());
    let card = Limited { card: SimulatedCard::new().card(), features };
    let context = Context::open(Box::new(card), options).unwrap();
    assert_eq!(context.features(), features);
    context
}

#[test]
fn nothing_of_receiving_reaches_a_card_that_only_sends() {
    let context = open(Features::empty());
    assert!(!context.receives());
    let pd = context.protection_domain();
    let cq = context.completion_queue().build().unwrap();

    let error = pd.allocate_with(10, Access::REMOTE_READ).unwrap_err();
    assert!(matches!(error, MemoryRegionError::Unsupported { .. }), "{error}");
    let error = pd.queue_pair(&cq).receive(&cq).build().unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    assert_eq!(error.to_string(), "a receive queue is not possible: the card does not receive");
    assert!(matches!(pd.shared_receive_queue(&cq).build(), Err(Error::Unsupported { .. })));

    let memory = pd.allocate(8).unwrap();
    let regions = [Contiguous::new(&memory).build().unwrap()];
    let mut qp = pd.queue_pair(&cq).build().unwrap();
    let plain = peer();
    for attributes in [plain.retry_cnt(1), plain.rq_psn(0), plain.access(Access::REMOTE_READ)] {
        let error = qp.connect(&attributes).unwrap_err();
        assert!(matches!(error, ModifyError::Unsupported { .. }), "{error}");
    }
    qp.connect(&plain).unwrap();
    let error = qp.post_recv(&libdrdma::ReceiveRequest::new(1)).unwrap_err();
    assert!(matches!(error, PostError::NoReceiveQueue), "{error}");
    for request in [
        WorkRequest::new(1).read(0, 0),
        WorkRequest::new(1).fetch_and_add(0, 0, 1),
        WorkRequest::new(1).send_invalidate(1),
        WorkRequest::new(1).fence(),
        WorkRequest::new(1).solicited(),
    ] {
        let error = qp.post_send(&request.regions(&regions)).unwrap_err();
        assert!(matches!(error, PostError::Unsupported { .. }), "{error}");
    }
    qp.post_send(&WorkRequest::new(1).regions(&regions)).unwrap();
}

#[test]
fn each_feature_that_a_card_misses_is_named() {
    let context = open(Features::RECEIVES);
    let pd = context.protection_domain();
    let cq = context.completion_queue().build().unwrap();
    let memory = pd.allocate_with(64, Access::LOCAL_WRITE).unwrap();
    let mut qp = pd.queue_pair(&cq).receive(&cq).build().unwrap();

    let receiving = peer().rq_psn(0).min_rnr_timer(1).access(Access::REMOTE_WRITE);
    let reads = "the card sends no READs and atomics, and has no fences";
    let answers = "the card does not answer READs";
    let atomics = "the card does not answer atomics";
    let again = "the card does not send anything again";
    for (attributes, attribute, reason) in [
        (receiving.access(Access::REMOTE_READ), "access", answers),
        (receiving.access(Access::REMOTE_ATOMIC), "access", atomics),
        (receiving.max_rd_atomic(1), "max_rd_atomic", reads),
        (receiving.max_dest_rd_atomic(1), "max_dest_rd_atomic", answers),
        (receiving.timeout(1), "timeout", again),
        (receiving.retry_cnt(1), "retry_cnt", again),
        (receiving.rnr_retry(1), "rnr_retry", again),
    ] {
        let error = qp.connect(&attributes).unwrap_err();
        assert_eq!(error.to_string(), format!("{attribute} is not possible: {reason}"));
    }
    // Values that request nothing are possible.
    let nothing = receiving.max_rd_atomic(0).max_dest_rd_atomic(0);
    qp.connect(&nothing.timeout(0).retry_cnt(0).rnr_retry(0)).unwrap();

    let contiguous = [Contiguous::new(&memory).build().unwrap()];
    qp.post_recv(&ReceiveRequest::new(1).regions(&contiguous)).unwrap();
    let strided = [Strided::new(&memory).period(8).extent(0, 4).count(8).build().unwrap()];
    let error = qp.post_recv(&ReceiveRequest::new(1).regions(&strided)).unwrap_err();
    let expected =
        "a receive into a strided region is not possible: the card fills contiguous regions alone";
    assert_eq!(error.to_string(), expected);

    let requests = "the card has no invalidation, solicited requests and addresses of requests";
    for (request, what, reason) in [
        (WorkRequest::new(1).read(0, 0), "a READ", reads),
        (WorkRequest::new(1).compare_and_swap(0, 0, 1, 2), "a compare and swap", reads),
        (WorkRequest::new(1).fetch_and_add(0, 0, 1), "a fetch and add", reads),
        (WorkRequest::new(1).send_invalidate(1), "an invalidation", requests),
        (WorkRequest::new(1).fence(), "a fence", reads),
        (WorkRequest::new(1).solicited(), "a solicited request", requests),
    ] {
        let error = qp.post_send(&request.regions(&contiguous)).unwrap_err();
        assert_eq!(error.to_string(), format!("{what} is not possible: {reason}"));
    }
}

#[test]
fn a_receive_has_strided_regions_as_far_as_the_card_has_places() {
    let context = open(Features::RECEIVES | Features::STRIDED_RECEIVES);
    let pd = context.protection_domain();
    let cq = context.completion_queue().build().unwrap();
    let memory = pd.allocate_with(64, Access::LOCAL_WRITE).unwrap();
    let bitmap = pd.allocate_with(8, Access::LOCAL_WRITE).unwrap();
    let mut qp = pd.queue_pair(&cq).receive(&cq).build().unwrap();
    qp.connect(&peer().rq_psn(0).min_rnr_timer(1)).unwrap();
    let strided = |extents: u64| {
        let region = Strided::new(&memory).period(16).count(4);
        (0..extents).fold(region, |region, at| region.extent(at, 1)).build().unwrap()
    };
    let contiguous = || Contiguous::new(&memory).build().unwrap();
    // The regions take 17, 14 and 1 places.
    let mut regions = vec![strided(16), strided(13), contiguous()];
    qp.post_recv(&ReceiveRequest::new(1).regions(&regions)).unwrap();
    regions.push(contiguous());
    let error = qp.post_recv(&ReceiveRequest::new(2).regions(&regions)).unwrap_err();
    let expected = "the receive needs 33 places, one for a contiguous region, and for another one one and another for each extent or column, or two if there is a bitmapped or pointer-mapped one: the card has 32";
    assert_eq!(error.to_string(), expected);

    let bitmapped = [Bitmapped::new(&bitmap).rows(8).column(&memory, 0, 4).build().unwrap()];
    let error = qp.post_recv(&ReceiveRequest::new(3).regions(&bitmapped)).unwrap_err();
    let expected = "a receive into a bitmapped region is not possible: the card fills no bitmapped and pointer-mapped regions";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_receive_with_a_bitmapped_region_takes_a_place_a_granule() {
    let features = Features::RECEIVES | Features::STRIDED_RECEIVES | Features::MAPPED_RECEIVES;
    let context = open(features);
    let pd = context.protection_domain();
    let cq = context.completion_queue().build().unwrap();
    let memory = pd.allocate_with(64, Access::LOCAL_WRITE).unwrap();
    let bitmap = pd.allocate_with(8, Access::LOCAL_WRITE).unwrap();
    let mut qp = pd.queue_pair(&cq).receive(&cq).build().unwrap();
    qp.connect(&peer().rq_psn(0).min_rnr_timer(1)).unwrap();
    let bitmapped = |columns: u64| {
        let region = Bitmapped::new(&bitmap).rows(8);
        (0..columns).fold(region, |region, at| region.column(&memory, at, 1)).build().unwrap()
    };
    let contiguous = || Contiguous::new(&memory).build().unwrap();
    // The regions take 18, 13 and 1 places.
    let mut regions = vec![bitmapped(16), bitmapped(11), contiguous()];
    qp.post_recv(&ReceiveRequest::new(1).regions(&regions)).unwrap();
    regions.push(contiguous());
    let error = qp.post_recv(&ReceiveRequest::new(2).regions(&regions)).unwrap_err();
    assert!(matches!(error, PostError::ReceivePlaces { places: 33, limit: 32 }), "{error}");
}

#[test]
fn an_answer_goes_into_gaps_only_where_the_card_fills_them() {
    let context = open(Features::RECEIVES | Features::READS);
    let pd = context.protection_domain();
    let cq = context.completion_queue().build().unwrap();
    let memory = pd.allocate_with(64, Access::LOCAL_WRITE).unwrap();
    let mut qp = pd.queue_pair(&cq).receive(&cq).build().unwrap();
    qp.connect(&peer().rq_psn(0).min_rnr_timer(1).max_rd_atomic(1)).unwrap();
    let strided = [Strided::new(&memory).period(8).extent(0, 4).count(8).build().unwrap()];
    let error = qp.post_send(&WorkRequest::new(1).read(0, 0).regions(&strided)).unwrap_err();
    let expected = "a READ or an atomic into a region that is not contiguous is not possible: the card does not fill regions of every type";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn kinds_of_columns_and_messages_by_columns_need_a_card_that_knows_them() {
    let columns = Features::COLUMNS | Features::COLUMN_WRITES | Features::COLUMN_MESSAGES;
    let context = open(Features::all() - Features::VARLEN - Features::BITS - columns);
    let pd = context.protection_domain();
    let cq = context.completion_queue().build().unwrap();
    let mut qp = pd.queue_pair(&cq).build().unwrap();
    qp.connect(&peer()).unwrap();
    let region = |first, kind| {
        let rows = KindRows::Bitmapped { bitmap: 0, lkey: 0, first, rows: 0 };
        [Region::unchecked_kinds(rows, &[KindColumn { addr: 0, lkey: 0, kind }]).unwrap()]
    };
    let fixed = ColumnKind::Fixed { width: 4 };
    let offsets = ColumnKind::Offsets { width: 4, data: 0, lkey: 0 };
    let views = ColumnKind::Views { table: 0, count: 0, lkey: 0 };
    let dictionary = ColumnKind::Dictionary { index: 1, values: 0, width: 4, count: 1, lkey: 0 };
    let long = "the card sends columns of fixed width alone";
    let bits = "the card has no columns of bits, and its bitmaps begin with a byte";
    for (region, reason) in [
        (region(0, offsets), long),
        (region(0, views), long),
        (region(0, dictionary), long),
        (region(0, ColumnKind::Bits { first: 0 }), bits),
        (region(1, fixed), bits),
    ] {
        let error = qp.post_send(&WorkRequest::new(1).regions(&region)).unwrap_err();
        let text = format!("a region with kinds of columns is not possible: {reason}");
        assert_eq!(error.to_string(), text);
    }
    let by_columns = WorkRequest::new(1).message_layout(MessageLayout::Columns);
    let error = qp.post_send(&by_columns).unwrap_err();
    let text = "a message by columns is not possible: the card sends messages row by row alone";
    assert_eq!(error.to_string(), text);
}

/// Every way in which a request by columns is more than a card without `COLUMNS` does.
#[test]
fn a_card_that_only_writes_by_columns_refuses_the_rest_by_name() {
    let context = open(Features::all() - Features::COLUMNS - Features::COLUMN_MESSAGES);
    let pd = context.protection_domain();
    let cq = context.completion_queue().build().unwrap();
    let memory = pd.allocate_with(64, Access::LOCAL_WRITE).unwrap();
    let strided = || Strided::new(&memory).period(8).extent(0, 4).extent(4, 2).count(8);
    let one = [strided().build().unwrap()];
    let two = [strided().build().unwrap(), strided().build().unwrap()];
    let contiguous = [Contiguous::new(&memory).build().unwrap()];
    let to =
        |count: u64| -> Vec<_> { (0..count).map(|addr| RemoteColumn { addr, rkey: 1 }).collect() };
    let (columns, short) = (to(2), to(1));
    let write = || {
        WorkRequest::new(1)
            .operation(Operation::Write { remote_addr: 0, rkey: 0 })
            .rows_per_message(8)
    };
    let cases = [
        (
            WorkRequest::new(1).message_layout(MessageLayout::Columns).regions(&one),
            "the card sends by columns WRITEs alone",
        ),
        (
            write().message_layout(MessageLayout::Columns).regions(&one),
            "the card sends by columns to an address a column alone",
        ),
        (
            write().remote_columns(&columns).regions(&one).row_mask(RowMask::Element),
            "the card sends to an address a column with the row mask Period alone",
        ),
        (
            write().remote_columns(&columns).regions(&two),
            "the card sends to an address a column one strided, bitmapped or partitioned region without kinds of columns and keys a destination",
        ),
        (
            write().remote_columns(&short).regions(&contiguous),
            "the card sends to an address a column one strided, bitmapped or partitioned region without kinds of columns and keys a destination",
        ),
        (
            write().remote_columns(&short).regions(&one),
            "the card sends to an address a column as many columns as each region has elements",
        ),
        (
            write().remote_columns(&columns).regions(&one).rows_per_message(7),
            "the card sends to an address a column all rows of a destination in one message each",
        ),
    ];
    let mut qp = pd.queue_pair(&cq).build().unwrap();
    qp.connect(&peer()).unwrap();
    for (request, reason) in cases {
        let error = qp.post_send(&request).unwrap_err();
        let text = format!("a message by columns is not possible: {reason}");
        assert_eq!(error.to_string(), text);
    }
    qp.post_send(&write().remote_columns(&columns).regions(&one)).unwrap();
}

/// Columns of one message go to one address, or to none, whatever they are made of.
#[test]
fn a_card_that_sends_messages_by_columns_refuses_what_has_other_addresses() {
    let context = open(Features::all() - Features::COLUMNS);
    let pd = context.protection_domain();
    let cq = context.completion_queue().build().unwrap();
    let memory = pd.allocate_with(64, Access::LOCAL_WRITE).unwrap();
    let strided = || Strided::new(&memory).period(8).extent(0, 4).extent(4, 2).count(8);
    let regions = [strided().build().unwrap(), strided().build().unwrap()];
    let contiguous = [Contiguous::new(&memory).build().unwrap()];
    let mut qp = pd.queue_pair(&cq).build().unwrap();
    qp.connect(&peer().rq_psn(0).min_rnr_timer(1).max_rd_atomic(1)).unwrap();
    let request = || WorkRequest::new(1).message_layout(MessageLayout::Columns).rows_per_message(3);
    let write = Operation::Write { remote_addr: 0, rkey: 0 };
    for request in [
        request().regions(&regions),
        request().regions(&regions).row_mask(RowMask::Element),
        request().regions(&regions).operation(write),
        request().regions(&contiguous).send_invalidate(1),
    ] {
        qp.post_send(&request).unwrap();
    }
    let error = qp.post_send(&request().regions(&contiguous).read(0, 0)).unwrap_err();
    assert!(matches!(error, PostError::NotFilled { .. }), "{error}");

    let by = key(&memory, Values::fixed(4), KeyType::Integer);
    let keyed = Partitioned::by(by).rows(1).column(&memory, 0, 4).build().unwrap();
    let ids = Partitioned::<u16>::new(&memory).rows(1).column(&memory, 0, 4).build().unwrap();
    let columns = [RemoteColumn { addr: 0, rkey: 1 }];
    let mut other = pd.queue_pair(&cq).build().unwrap();
    other.connect(&peer()).unwrap();
    let mut queue = pd.shared_send_queue(&cq).build().unwrap();
    let mut post = |region: &_, mixed: bool| {
        let by_columns =
            |qp, id| PartitionDestination::new(qp, id).message_layout(MessageLayout::Columns);
        let mut to = [by_columns(&qp, 0_u16), by_columns(&other, 1)];
        if mixed {
            to[1] = PartitionDestination::new(&other, 1).remote_columns(&columns);
        }
        let request = PartitionedWorkRequest::new(1, region)
            .operation(SharedOperation::Write)
            .destinations(&to);
        queue.post_ssq_send(&request).err().map(|error| error.to_string())
    };
    assert_eq!(post(&ids, false), None);
    assert_eq!(post(&keyed, false), None);
    let reason = "the card sends to an address a column for every destination or for none";
    assert!(post(&ids, true).is_some_and(|text| text.ends_with(reason)), "{reason}");
}

/// 33 destinations of 16 columns have 528 addresses together.
#[test]
fn a_card_that_only_writes_by_columns_takes_512_addresses_a_request() {
    let context = open(Features::all() - Features::COLUMNS);
    let pd = context.protection_domain();
    let cq = context.completion_queue().build().unwrap();
    let memory = pd.register(vec![0_u8; 256]).unwrap();
    let columns: Vec<_> = (0..16).map(|addr| RemoteColumn { addr, rkey: 1 }).collect();
    let region = Partitioned::<u8>::new(&memory).rows(1);
    let region = columns.iter().fold(region, |region, _| region.column(&memory, 0, 4));
    let region = region.build().unwrap();
    let pairs: Vec<_> = (0..33)
        .map(|_| {
            let mut qp = pd.queue_pair(&cq).build().unwrap();
            qp.connect(&peer()).unwrap();
            qp
        })
        .collect();
    let to: Vec<_> = (0..)
        .zip(&pairs)
        .map(|(id, qp)| PartitionDestination::new(qp, id).remote_columns(&columns))
        .collect();
    let mut queue = pd.shared_send_queue(&cq).build().unwrap();
    let operation = SharedOperation::Write;
    let mut post = |to| {
        let request = PartitionedWorkRequest::new(1, &region).operation(operation).destinations(to);
        queue.post_ssq_send(&request).err().map(|error| error.to_string())
    };
    let text = "a message by columns is not possible: the card sends to an address a column to 512 addresses at most";
    assert_eq!(post(&to[..]).as_deref(), Some(text));
    assert_eq!(post(&to[..32]), None);
}

fn key<'m>(memory: &'m MemoryRegion, values: Values<'m>, key_type: KeyType) -> PartitionKeys<'m> {
    PartitionKeys::murmur3(4).key(memory, 0, values, key_type)
}

fn range(memory: &MemoryRegion, width: u64) -> PartitionKeys<'_> {
    PartitionKeys::range(memory, 0, 3).key(memory, 64, Values::fixed(width), KeyType::Integer)
}

#[test]
fn keys_that_are_not_of_fixed_width_need_a_card_that_takes_them_all() {
    let post = |features, by: &dyn Fn(&MemoryRegion) -> PartitionKeys<'_>| {
        let context = open(features);
        let pd = context.protection_domain();
        let cq = context.completion_queue().build().unwrap();
        let memory = pd.register(vec![0_u8; 256]).unwrap();
        let mut qp = pd.queue_pair(&cq).build().unwrap();
        qp.connect(&peer()).unwrap();
        let region = Partitioned::by(by(&memory)).rows(1).column(&memory, 0, 4).build().unwrap();
        let mut ssq = pd.shared_send_queue(&cq).build().unwrap();
        let to = [PartitionDestination::new(&qp, 0)];
        let request = PartitionedWorkRequest::new(1, &region).destinations(&to);
        ssq.post_ssq_send(&request).err().map(|error| error.to_string())
    };
    let fixed = Features::all() - Features::PARTITIONS - Features::BITS;
    let none = fixed - Features::FIXED_KEYS;
    let said =
        |reason: &str| Some(format!("partitions from keys is not possible: the card {reason}"));
    let some = said(
        "makes partitions from bits, integers, floats, booleans and decimals alone, in a range of up to 8 B",
    );
    let refused = post(none, &|memory| key(memory, Values::fixed(8), KeyType::Integer));
    assert_eq!(refused, said("makes no partitions from keys"));
    assert_eq!(post(fixed, &|memory| key(memory, Values::fixed(8), KeyType::Integer)), None);
    assert_eq!(post(fixed, &|memory| key(memory, Values::bits(3), KeyType::Boolean)), None);
    assert_eq!(post(fixed, &|memory| key(memory, Values::fixed(16), KeyType::Decimal)), None);
    assert_eq!(post(fixed, &|memory| range(memory, 8)), None);
    assert_eq!(post(fixed, &|memory| range(memory, 16)), some);
    assert_eq!(post(fixed, &|memory| key(memory, Values::fixed(4), KeyType::Bytes)), some);
    let text = post(fixed, &|memory| key(memory, Values::offsets_32(memory, 0), KeyType::Bytes));
    assert_eq!(text, some);
    let dictionary = post(fixed, &|memory| {
        key(memory, Values::dictionary(1, memory, 0, 4, 9), KeyType::Integer)
    });
    assert_eq!(dictionary, some);
}

#[test]
fn a_card_whose_described_keys_are_read_alone_refuses_the_others() {
    let context = open(Features::all() - Features::DESCRIBED_KEYS);
    let pd = context.protection_domain();
    let memory = pd.allocate_with(64, Access::LOCAL_WRITE).unwrap();
    let strided = || Strided::new(&memory).period(8).extent(0, 4).count(8).build().unwrap();
    let key = pd.described_key(strided(), Access::REMOTE_READ).unwrap();
    assert_eq!(key.len(), 32);
    let contiguous = Contiguous::new(&memory).build().unwrap();
    assert_eq!(pd.described_key(contiguous, Access::REMOTE_READ).unwrap().len(), 64);

    let both = Access::REMOTE_READ | Access::REMOTE_WRITE;
    for access in [Access::REMOTE_WRITE, both] {
        let error = pd.described_key(strided(), access).unwrap_err();
        assert!(matches!(error, KeptRegionError::Unsupported { .. }), "{error}");
        let text = "a described key that allows REMOTE_WRITE is not possible: the card lets no peer WRITE to described \
                    regions";
        assert_eq!(error.to_string(), text);
    }
    let neither = open(Features::all() - Features::DESCRIBED_KEYS - Features::DESCRIBED_READS);
    let pd = neither.protection_domain();
    let memory = pd.allocate(64).unwrap();
    let strided = Strided::new(&memory).period(8).extent(0, 4).count(8).build().unwrap();
    let error = pd.described_key(strided, Access::REMOTE_READ).unwrap_err();
    let text = "a described key is not possible: the card opens no described regions to peers";
    assert_eq!(error.to_string(), text);
}
