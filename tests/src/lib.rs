//! End-to-end tests over whole devices.
