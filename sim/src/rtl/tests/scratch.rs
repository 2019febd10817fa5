use crate::{cards::rig::*, rtl::RtlCard, model::request::*, testing::*};
use drdma_abi::{roce::Transport, register::counter};
#[test]
fn scratch() {
    let strided = |offset: u64, period: u64, count: u32, extents: &[(u64, u32)]| {
        let pattern = extents.iter().map(|(offset, len)| Extent { offset: *offset, len: *len });
        Region::Strided { base: BASE + offset, period, count, lkey: LKEY, pattern: pattern.collect() }
    };
    let columns = |first: u64| (0..3).map(|c| strided(c * 400 + first * 4, 8, 50, &[(0, 4)])).collect::<Vec<_>>();
    for which in 0..6 {
        let mut rig = Rig::<RtlCard>::new();
        let (t0, t1) = if which < 4 { (Transport::Rc, Transport::Rc) } else { (Transport::Rc, Transport::Ud) };
        let (red, blue) = (rig.add_queue_pair(1, t0, 1), rig.add_queue_pair(2, t1, 5));
        rig.add_queue(0, None);
        let list = match which { 0 => vec![to(1, columns(0))], 1 => vec![to(2, columns(1))], 2 => vec![to(1, columns(0)), to(2, columns(0))], 5 => vec![to(2, columns(1))], _ => vec![to(1, columns(0)), to(2, columns(1))] };
        let request = Request { row_mask: RowMask::Element, rows_per_message: 1, ..send(3, list) };
        rig.post(0, &request);
        rig.progress(10);
        println!("{which} {:?} {} {} reads {}", rig.poll(), rig.sent(red).len(), rig.sent(blue).len(), rig.count(&counter::DATA_READS));
    }
}
