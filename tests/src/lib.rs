//! Common code of the end-to-end tests: random jobs, and their expected results.

pub mod capture;
pub mod device;
pub mod expect;
pub mod fabric;
pub mod frame;
pub mod lab;
pub mod random;
pub mod random_job;
