//! Errors: errno, the last error in words, and panics.

use std::{
    cell::RefCell,
    ffi::{CString, c_char, c_int},
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
};

use libdrdma::{
    CardError, DeviceError, Error, KeptRegionError, MemoryRegionError, ModifyError, PostError,
    RegionError,
};

/// An error for C: error number and text.
#[derive(Debug)]
pub(crate) struct Failure {
    code: c_int,
    text: String,
}

impl Failure {
    pub fn new(code: c_int, text: impl ToString) -> Self {
        Self { code, text: text.to_string() }
    }

    /// Makes the error for an argument that must not be NULL.
    pub fn null(argument: &str) -> Self {
        Self::new(libc::EINVAL, format!("{argument} is NULL"))
    }
}

fn card(error: &CardError) -> c_int {
    match error {
        CardError::Map { .. } => libc::ENOMEM,
        CardError::Busy { .. } => libc::EBUSY,
        _ => libc::EIO,
    }
}

impl From<CardError> for Failure {
    fn from(error: CardError) -> Self {
        Self::new(card(&error), error)
    }
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        Self::new(libc::ENODEV, error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::Card(error) => card(error),
            Error::Open(_) => libc::ENODEV,
            Error::Exhausted { .. } | Error::Ring { .. } => libc::ENOMEM,
            Error::QueuePairNumber { .. } => libc::EADDRINUSE,
            _ => libc::EINVAL,
        };
        Self::new(code, error)
    }
}

impl From<MemoryRegionError> for Failure {
    fn from(error: MemoryRegionError) -> Self {
        let code = match &error {
            MemoryRegionError::Card(error) => card(error),
            MemoryRegionError::NoKey { .. } | MemoryRegionError::Allocation { .. } => libc::ENOMEM,
            MemoryRegionError::Address(_) => libc::EFAULT,
            _ => libc::EINVAL,
        };
        Self::new(code, error)
    }
}

impl From<ModifyError> for Failure {
    fn from(error: ModifyError) -> Self {
        let code = match &error {
            ModifyError::Card(error) => card(error),
            ModifyError::Exhausted { .. } => libc::ENOMEM,
            _ => libc::EINVAL,
        };
        Self::new(code, error)
    }
}

impl From<PostError> for Failure {
    fn from(error: PostError) -> Self {
        let code = match &error {
            PostError::Card(error) => card(error),
            // ENOMEM, as of ibv_post_send.
            PostError::QueueFull { .. } | PostError::CompletionQueueFull { .. } => libc::ENOMEM,
            _ => libc::EINVAL,
        };
        Self::new(code, error)
    }
}

impl From<RegionError> for Failure {
    fn from(error: RegionError) -> Self {
        Self::new(libc::EINVAL, error)
    }
}

impl From<KeptRegionError> for Failure {
    fn from(error: KeptRegionError) -> Self {
        match error {
            KeptRegionError::Table(error) => error.into(),
            KeptRegionError::Card(error) => error.into(),
            KeptRegionError::Exhausted { .. } => Self::new(libc::ENOMEM, error),
            _ => Self::new(libc::EINVAL, error),
        }
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

fn set(failure: Failure) -> c_int {
    let text = CString::new(failure.text.replace('\0', "?")).unwrap_or_default();
    LAST.with_borrow_mut(|last| *last = text);
    // SAFETY: errno is this thread's.
    unsafe { *libc::__errno_location() = failure.code };
    failure.code
}

/// Runs the body of a function; a panic in it is an error.
fn run<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, c_int> {
    // A panic may leave behind a damaged object of C, of which only the error is reported.
    let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        Err(Failure::new(libc::EIO, format!("internal error: {text}")))
    });
    result.map_err(set)
}

/// Runs the body of a function that returns an error number.
pub(crate) fn status(work: impl FnOnce() -> Result<(), Failure>) -> c_int {
    run(work).err().unwrap_or(0)
}

/// Runs the body of a function that returns a count, or a negative error number.
pub(crate) fn count(work: impl FnOnce() -> Result<usize, Failure>) -> c_int {
    run(work).map_or_else(|code| -code, |count| count as c_int)
}

/// Runs the body of a function that makes an object.
pub(crate) fn object<T>(work: impl FnOnce() -> Result<T, Failure>) -> *mut T {
    run(work).map_or(ptr::null_mut(), |object| Box::into_raw(Box::new(object)))
}

/// Returns the object behind a pointer of C.
///
/// # Safety
/// The pointer is NULL or points to a `T` that is neither changed nor dropped during the borrow.
pub(crate) unsafe fn get<'a, T>(pointer: *const T, argument: &str) -> Result<&'a T, Failure> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_ref() }.ok_or_else(|| Failure::null(argument))
}

/// Returns the array behind a pointer and a count of C.
///
/// # Safety
/// There are `count` elements, or none, and they are not changed during the borrow.
pub(crate) unsafe fn array<'a, T>(
    pointer: *const T,
    count: u32,
    argument: &str,
) -> Result<&'a [T], Failure> {
    match count {
        0 => Ok(&[]),
        _ if pointer.is_null() => Err(Failure::null(argument)),
        // SAFETY: the caller's promise.
        _ => Ok(unsafe { std::slice::from_raw_parts(pointer, count as usize) }),
    }
}

/// Takes an object back from C, and drops it.
///
/// # Safety
/// The pointer is NULL or came from [`object`] and is used no longer.
pub(crate) unsafe fn destroy<T>(pointer: *mut T, argument: &str) -> c_int {
    status(|| {
        if pointer.is_null() {
            return Err(Failure::null(argument));
        }
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(pointer) });
        Ok(())
    })
}

/// The last error of this thread in words: valid until its next error, empty before the first.
#[unsafe(no_mangle)]
pub extern "C" fn drdma_last_error() -> *const c_char {
    LAST.with_borrow(|last| last.as_ptr())
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    fn text() -> String {
        // SAFETY: no error comes between.
        unsafe { CStr::from_ptr(drdma_last_error()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_does_not_cross_the_border() {
        assert_eq!(status(|| panic!("row {}", 7)), libc::EIO);
        assert_eq!(text(), "internal error: row 7");
        assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EIO));
        assert!(object::<u8>(|| panic!("no")).is_null());
        assert_eq!(count(|| panic!("no")), -libc::EIO);
        assert_eq!(status(|| Ok(())), 0);
    }
}
