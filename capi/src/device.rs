//! Devices and protection domains.

use std::{
    ffi::{CStr, c_char, c_int},
    net::Ipv4Addr,
};

use libdrdma::{Context, MacAddress, Options, ProtectionDomain};

use crate::error::{Failure, destroy, get, object};

/// An open card.
pub struct drdma_context {
    pub(crate) context: Context,
}

/// How a card is set up.
#[repr(C)]
pub struct drdma_device_attr {
    /// The card's Ethernet address, in the order of transmission.
    pub mac: [u8; 6],
    /// The card's IPv4 address, in the order of transmission.
    pub ip: [u8; 4],
    /// Units of 1,024 cycles (4.096 us) without progress after which an unacknowledged request
    /// completes with DRDMA_WC_RETRY_EXC_ERR; 0: the default of half a second.
    pub ack_timeout: u32,
}

/// Opens a card by its name: `vfio:0000:65:00.0` a board, `soft:` the reference model, whose peers
/// acknowledge whatever comes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_open_device(
    name: *const c_char,
    attr: *const drdma_device_attr,
) -> *mut drdma_context {
    object(|| {
        if name.is_null() {
            return Err(Failure::null("name"));
        }
        // SAFETY: C promises a string.
        let name = unsafe { CStr::from_ptr(name) };
        let name = name.to_str().map_err(|_| Failure::new(libc::EINVAL, "name is not UTF-8"))?;
        // SAFETY: C promises an object.
        let attr = unsafe { get(attr, "attr") }?;
        let mut options = Options::new(MacAddress(attr.mac), Ipv4Addr::from(attr.ip));
        if attr.ack_timeout != 0 {
            options.ack_timeout = attr.ack_timeout;
        }
        let card = libdrdma::open(name)?;
        Ok(drdma_context { context: Context::open(card, options)? })
    })
}

/// What a card does beside sending: the bits of its register FEATURES.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum drdma_features {
    /// It takes SENDs and WRITEs, and acknowledges them. A card without this has none of the others.
    DRDMA_FEATURE_RECEIVES = 1,
    /// Receives and READs fill regions of every type; without it, contiguous ones alone, but for
    /// `DRDMA_FEATURE_STRIDED_RECEIVES` and `DRDMA_FEATURE_MAPPED_RECEIVES`.
    DRDMA_FEATURE_SCATTERS = 2,
    /// It sends READs and atomics, and waits at fences.
    DRDMA_FEATURE_READS = 4,
    /// Requests can invalidate remote keys, be solicited, and name an address.
    DRDMA_FEATURE_REQUESTS = 8,
    /// It sends again what is lost.
    DRDMA_FEATURE_RETRANSMITS = 16,
    /// Columns have values of variable length, or of a dictionary.
    DRDMA_FEATURE_VARLEN = 128,
    /// Columns are bits, and bitmaps begin at any bit.
    DRDMA_FEATURE_BITS = 256,
    /// Messages go column by column, and WRITEs have an address a column.
    DRDMA_FEATURE_COLUMNS = 512,
    /// Records lead to further ones by pointers.
    DRDMA_FEATURE_CHASE = 1024,
    /// Partitions are made from keys.
    DRDMA_FEATURE_PARTITIONS = 2048,
    /// It answers READs.
    DRDMA_FEATURE_READ_ANSWERS = 4096,
    /// It answers atomics.
    DRDMA_FEATURE_ATOMIC_ANSWERS = 8192,
    /// Receives fill strided regions as well as contiguous ones, as far as they have places.
    DRDMA_FEATURE_STRIDED_RECEIVES = 16384,
    /// Congestion control (DCQCN) of queue pairs whose `traffic_class` has ECN 1 or 2. Nothing is refused without it.
    DRDMA_FEATURE_CONGESTION = 32768,
    /// WRITEs have an address a column; without `DRDMA_FEATURE_COLUMNS`, of one region a destination whose rows go into
    /// one message a column.
    DRDMA_FEATURE_COLUMN_WRITES = 131072,
    /// Receives fill bitmapped and pointer-mapped regions, as far as they have places.
    DRDMA_FEATURE_MAPPED_RECEIVES = 262144,
    /// Partitions are made from keys of fixed width; without `DRDMA_FEATURE_PARTITIONS`, from no others.
    DRDMA_FEATURE_FIXED_KEYS = 524288,
    /// Messages to one remote address, or to none, go column by column.
    DRDMA_FEATURE_COLUMN_MESSAGES = 1048576,
}

/// What the card does beside sending: `drdma_features`; 0 if `context` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_query_features(context: *const drdma_context) -> u32 {
    // SAFETY: C promises an object.
    unsafe { context.as_ref() }.map_or(0, |context| context.context.features().bits())
}

/// Closes the handle; the card stops with the last object that uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_close_device(context: *mut drdma_context) -> c_int {
    // SAFETY: C promises an object.
    unsafe { destroy(context, "context") }
}

/// A group of memory regions and queues that may be used with one another.
pub struct drdma_pd {
    pub(crate) pd: ProtectionDomain,
}

/// Makes a protection domain.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_alloc_pd(context: *mut drdma_context) -> *mut drdma_pd {
    object(|| {
        // SAFETY: C promises an object.
        let context = unsafe { get(context, "context") }?;
        Ok(drdma_pd { pd: context.context.protection_domain() })
    })
}

/// Gives a protection domain back; memory regions and queues in it stay.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drdma_dealloc_pd(pd: *mut drdma_pd) -> c_int {
    // SAFETY: C promises an object.
    unsafe { destroy(pd, "pd") }
}
