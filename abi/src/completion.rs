//! Completions as the card writes them, and their statuses (IBTA 1.4 section 11.6.2).

use crate::layout;

layout! {
    /// A completion queue entry: one per work request that is signaled or fails, in order per queue.
    ///
    /// The card writes entry `n` of a ring of `2^s` entries at `n mod 2^s` with
    /// `phase = (n >> s & 1) ^ 1`, so that memory that starts as zeros holds no valid entry.
    little struct Completion: 32 {
        /// The request's name.
        wr_id: u64 = 64,
        /// Payload bytes sent; 0 unless the status is success.
        bytes: u64 = 64,
        /// The queue whose request this is.
        queue: u32 = 32,
        /// Success: 0. Otherwise the destination's index in the request that failed.
        destination: u16 = 16,
        /// A [`Status`].
        status: u8 = 8,
        /// Flips each time that the ring wraps; written last.
        phase: u8 = 8,
        /// The ring position of the request's first block, as in its head. All requests of the queue
        /// before it are complete.
        position: u32 = 32,
        /// 0.
        reserved: u32 = 32,
    }
}

macro_rules! statuses {
    ($($(#[doc = $doc:literal])* $name:ident = $code:literal, $text:literal;)*) => {
        /// Result of a work request. The codes are those of `ibv_wc_status`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Status {
            $($(#[doc = $doc])* $name = $code,)*
        }

        impl Status {
            /// All statuses.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Returns the status with that code.
            pub fn from_code(code: u8) -> Option<Self> {
                Self::ALL.iter().copied().find(|status| *status as u8 == code)
            }

            /// Name of the status in job files and messages: `local_protection_error`.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }
        }
    };
}

statuses! {
    /// Done: the data were sent, and for RC acknowledged.
    Success = 0, "success";
    /// A message does not fit: a UD message longer than the MTU, or any longer than 2^31 bytes.
    LocalLengthError = 1, "local_length_error";
    /// The request itself is malformed, or its queue pair cannot execute it.
    LocalQpOperationError = 2, "local_qp_operation_error";
    /// A byte outside its memory region, a wrong local key, or memory that could not be read.
    LocalProtectionError = 4, "local_protection_error";
    /// The request was not executed: its queue was in the error state.
    WrFlushError = 5, "wr_flush_error";
    /// The answer to a READ or an atomic was invalid.
    BadResponse = 7, "bad_response_error";
    /// The responder refused the request as invalid (NAK 0x61).
    RemoteInvalidRequestError = 9, "remote_invalid_request_error";
    /// The responder refused the remote key or its bounds (NAK 0x62).
    RemoteAccessError = 10, "remote_access_error";
    /// The responder could not complete the request (NAK 0x63).
    RemoteOperationError = 11, "remote_operation_error";
    /// No acknowledgement came, or the responder's sequence was broken (NAK 0x60).
    RetryExceeded = 12, "retry_exceeded";
    /// The responder stayed not ready (RNR NAK) for all retries.
    RnrRetryExceeded = 13, "rnr_retry_exceeded";
}

impl core::fmt::Display for Status {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}
