//! The processor's time.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// CPU time that this thread has had.
pub fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
