//! The D-RDMA card in RustHDL.
