//! Declarative RDMA verbs: regions with gaps, post_send, post_ssq_send.
