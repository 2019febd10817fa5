//! What the end-to-end tests share: random jobs, and what they must do.

pub mod capture;
pub mod device;
pub mod expect;
pub mod fabric;
pub mod frame;
pub mod lab;
pub mod random;
pub mod random_job;
