//! The `drdma` command as a library: job files, and running them on a device.

pub mod explain;
pub mod job;
pub mod placement;
pub mod record;
pub mod run;
