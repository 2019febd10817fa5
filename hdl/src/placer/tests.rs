use super::*;
use crate::emit::emit;
#[test]
fn prints() {
    let e = emit("placer", Placer::default).unwrap_or_else(|e| panic!("{e}"));
    std::fs::write("/tmp/placer.v", &e.verilog).unwrap();
    for w in e.source().lint().unwrap_or_else(|e| panic!("{e}")) {
        println!("{w}");
    }
    let e = emit("reader", crate::reader::Reader::default).unwrap_or_else(|e| panic!("{e}"));
    std::fs::write("/tmp/reader.v", &e.verilog).unwrap();
    for w in e.source().lint().unwrap_or_else(|e| panic!("{e}")) {
        println!("{w}");
    }
}
