//! Decodes the syndrome of an acknowledgement: the status that it means for a request.

use crate::receive::reads::BAD_RESPONSE;
use drdma_abi::completion::Status;
use drdma_emit::prelude::*;

/// Turns the syndrome of an AETH (InfiniBand Architecture Specification, volume 1, 9.7.5.1) into a status. An answer to
/// something that was not asked for has the syndrome [`BAD_RESPONSE`]. Combinational.
///
/// # Inputs
/// `syndrome`.
///
/// # Outputs
/// `refuses`: the syndrome is a NAK. `status`: with that, the status of the oldest request that it concerns.
#[derive(LogicBlock, BlockDefault)]
pub struct Verdict {
    /// Syndrome of the acknowledgement.
    pub syndrome: Signal<In, Bits<8>>,
    /// The syndrome is one of a NAK.
    pub refuses: Signal<Out, Bit>,
    /// With `refuses`: status of the oldest request that is concerned.
    pub status: Signal<Out, Bits<8>>,

    #[init(constant(Status::RemoteOperationError))]
    operation: Constant<Bits<8>>,
    #[init(constant(Status::RnrRetryExceeded))]
    rnr: Constant<Bits<8>>,
    #[init(constant(Status::RetryExceeded))]
    retry: Constant<Bits<8>>,
    #[init(constant(Status::RemoteInvalidRequestError))]
    invalid: Constant<Bits<8>>,
    #[init(constant(Status::RemoteAccessError))]
    access: Constant<Bits<8>>,
    #[init(constant(Status::BadResponse))]
    response: Constant<Bits<8>>,
    #[init(Constant::new(usize::from(BAD_RESPONSE).to_bits()))]
    bad: Constant<Bits<8>>,
}

impl Logic for Verdict {
    #[hdl_gen]
    fn update(&mut self) {
        self.refuses.next = (self.syndrome.val() & 0xe0) != 0;
        self.status.next = self.operation.val();
        if (self.syndrome.val() & 0xe0) == 0x20 {
            self.status.next = self.rnr.val();
        }
        if self.syndrome.val() == 0x60 {
            self.status.next = self.retry.val();
        }
        if self.syndrome.val() == 0x61 {
            self.status.next = self.invalid.val();
        }
        if self.syndrome.val() == 0x62 {
            self.status.next = self.access.val();
        }
        if self.syndrome.val() == self.bad.val() {
            self.status.next = self.response.val();
        }
    }
}

fn constant(status: Status) -> Constant<Bits<8>> {
    Constant::new((status as u8).to_bits())
}
