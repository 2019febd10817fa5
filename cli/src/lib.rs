//! The drdma command: run, explain and demo.
