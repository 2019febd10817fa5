//! Jobs that several tests start from.

use std::fs;

use serde_json::{Value, json};

use super::Folder;

/// Ten rows of 8 B, 100 B apart, in a message to `red`.
pub fn job() -> Value {
    json!({
        "buffers": [{"name": "t", "file": "t.bin"}],
        "local": {"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"},
        "qps": [{"name": "red", "transport": "rc", "qpn": 17, "dest_qpn": 33, "start_psn": 100,
                 "mtu": 1024, "dest_mac": "02:00:00:00:00:02", "dest_ip": "10.0.0.2"}],
        "posts": [{"verb": "post_send", "qp": "red", "wr_id": 1, "op": "send",
                   "rows_per_message": 10, "regions": [
            {"type": "strided", "buffer": "t", "offset": 0, "period": 100, "count": 10,
             "pattern": [{"offset": 0, "len": 8}]}]}],
    })
}

/// A job in a folder with its file.
pub fn folder(job: &Value) -> Folder {
    let folder = Folder::new();
    fs::write(folder.file("t.bin"), vec![7; 1000]).unwrap();
    fs::write(folder.file("job.json"), job.to_string()).unwrap();
    folder
}

/// Ten rows of 8 and 2 bytes; the even ones go to `red`, whose partition is 5.
pub fn partitioned() -> Value {
    let mut job = job();
    let buffers = job["buffers"].as_array_mut().unwrap();
    buffers.push(json!({"name": "ids", "hex": "0506".repeat(5)}));
    job["posts"] = json!([
        {"verb": "post_ssq_send", "wr_id": 1, "op": "send", "rows_per_message": 3,
         "partitioned": {"ids": {"buffer": "ids", "offset": 0, "width": 1}, "rows": 10,
                         "columns": [{"buffer": "t", "offset": 0, "width": 8},
                                     {"buffer": "t", "offset": 600, "width": 2}]},
         "destinations": [{"qp": "red", "partition": 5}]}]);
    job
}
