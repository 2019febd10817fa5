//! Every layout that the D-RDMA card and its software share, written once.
