//! A card that only sends refuses everything else, with an error that says so.

use libdrdma::{
    Access, Card, CardError, Context, Contiguous, DmaMemory, Error, MacAddress, MemoryRegionError,
    ModifyError, Options, PostError, QueuePairAttributes, WorkRequest, simulated::SimulatedCard,
};

/// A card that says of itself that it does not receive.
struct Sender(Box<dyn Card>);

impl Card for Sender {
    fn read(&mut self, offset: u32) -> Result<u32, CardError> {
        match offset == drdma_abi::receive::FEATURES.offset {
            true => Ok(0),
            false => self.0.read(offset),
        }
    }

    fn write(&mut self, offset: u32, value: u32) -> Result<(), CardError> {
        assert!(offset < drdma_abi::receive::FEATURES.offset, "it has no {offset:#x}");
        self.0.write(offset, value)
    }

    fn map(&mut self, iova: u64, memory: &DmaMemory) -> Result<(), CardError> {
        self.0.map(iova, memory)
    }

    fn unmap(&mut self, iova: u64) -> Result<(), CardError> {
        self.0.unmap(iova)
    }

    fn progress(&mut self) -> Result<(), CardError> {
        self.0.progress()
    }
}

#[test]
fn nothing_of_receiving_reaches_a_card_that_only_sends() {
    let options = Options::new(MacAddress([2, 0, 0, 0, 0, 1]), [10, 0, 0, 1].into());
    let card = Box::new(Sender(SimulatedCard::new().card()));
    let context = Context::open(card, options).unwrap();
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
    let plain = QueuePairAttributes::new()
        .path_mtu(256)
        .dest_qpn(2)
        .dest_mac(MacAddress([2, 0, 0, 0, 0, 2]))
        .dest_ip([10, 0, 0, 2].into())
        .start_psn(0);
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
        assert!(matches!(error, PostError::Unsupported), "{error}");
    }
    qp.post_send(&WorkRequest::new(1).regions(&regions)).unwrap();
}
