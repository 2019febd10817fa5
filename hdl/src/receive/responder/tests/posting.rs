//! What a host makes, for the block and for the semantics: receives, append regions, keys.

use super::*;

/// Posts receives to a queue.
pub(super) fn post(
    around: &mut Around<'_>,
    lab: &mut Lab,
    queue: u64,
    count: u64,
    random: &mut Random,
    errors: f64,
) {
    for _ in 0..count {
        let most = [300, 1200, 5000][random.below(3) as usize];
        let (addr, len) = stretch(random, most);
        let status = [
            drdma_abi::completion::Status::LocalQpOperationError,
            drdma_abi::completion::Status::LocalProtectionError,
        ];
        let malformed = random.chance(0.5 * errors).then(|| status[random.below(2) as usize]);
        let appends = !around.card.appends.is_empty() && random.chance(0.3);
        let append = appends.then(|| random.below(REGIONS + 1) as u32);
        let pieces = malformed.is_none() && append.is_none() && random.chance(0.3);
        let name = random.u64();
        let posted = Posted { name, addr, len: len as u32, malformed, append, pieces };
        lab.queues.entry(queue).or_default().push_back(posted);
        around.card.queues.entry(queue).or_default().push_back(posted);
    }
}

/// Number of append regions; the number `REGIONS` itself is of no region.
pub(super) const REGIONS: u64 = 5;

/// Makes append regions for both, of which the first two are of the one protection domain and the others of the other
/// one.
pub(super) fn make_appends(around: &mut Around<'_>, lab: &mut Lab, random: &mut Random) {
    for number in 0..REGIONS {
        // Of half of them most messages are whole rows, and few messages fill them.
        let (most, capacity) = match number % 2 {
            0 => (1, 300 + random.below(3000) as u32),
            _ => (40, 20 + random.below(200) as u32),
        };
        let pd = number as u32 / 3;
        let lkey = world::LOCAL + pd;
        let rights = rights::LOCAL_WRITE;
        let key = MemoryRegionEntry { addr: world::BASE, len: SIZE, lkey, rights, pd, valid: 1 };
        lab.keys.insert(lkey, key);
        around.card.keys.push(key);
        let mut columns = Vec::new();
        for _ in 0..1 + random.below(if most == 1 { 2 } else { 4 }) {
            let width = 1 + random.below(most) as u32;
            let (base, _) = stretch(random, u64::from(capacity * width));
            let base = base.min(world::BASE + SIZE - u64::from(capacity * width));
            columns.push(drdma_semantics::region::Column { base, width, lkey });
        }
        let region = drdma_semantics::append::Append::new(columns, capacity, pd);
        lab.appends.push(Some(region));
    }
    around.card.appends.clone_from(&lab.appends);
}

/// All rows are given back, on both sides; `given` are those of each region so far.
pub(super) fn give_back(around: &mut Around<'_>, lab: &mut Lab, given: &mut [u32]) {
    for (region, given) in lab.appends.iter_mut().flatten().zip(given) {
        // At most as many rows as are in use can be given back.
        let taken = (1..=3300).rev().find(|rows| {
            let same = region.clone();
            region.give_back(*given + rows);
            *region != same
        });
        *given += taken.unwrap_or(0);
    }
    around.card.appends.clone_from(&lab.appends);
}

/// Makes keys for a queue pair's peer: good ones, and such as allow nothing.
pub(super) fn make_keys(
    around: &mut Around<'_>,
    lab: &mut Lab,
    pair: &mut Pair,
    random: &mut Random,
    errors: f64,
) {
    pair.peer.keys.clear();
    for k in 0..3 {
        let (addr, len) = stretch(random, 8192);
        let lkey = ((random.below(1 << 20) << 12) | (pair.index % 64 * 4 + k)) as u32;
        let right = if random.chance(errors) { random.below(16) as u32 } else { rights::ALL };
        let pd = if random.chance(errors) { 1 - pair.entry.pd } else { pair.entry.pd };
        let mut entry = MemoryRegionEntry { addr, len, lkey, rights: right, pd, valid: 1 };
        if random.chance(0.3) {
            // A described key. It may say to have more bytes than its region, whose memory may be of another protection
            // domain.
            let of = if random.chance(errors) { 1 - pd } else { pd };
            let region = strided(random, of);
            let at = u64::from(lkey & 0xff);
            let most = region.row_len() * 40;
            let len = if random.chance(errors) { most + 300 } else { most };
            entry = MemoryRegionEntry { addr: at, len, valid: DESCRIBED, ..entry };
            lab.regions.insert(at, region);
        }
        let (addr, len) = if entry.valid == 1 { (addr, len) } else { (0, entry.len) };
        lab.keys.retain(|key, _| key & 0xfff != lkey & 0xfff);
        lab.keys.insert(lkey, entry);
        around.write_key(&entry);
        pair.peer.keys.push((lkey, addr, len));
    }
    around.card.regions.clone_from(&lab.regions);
}

/// 40 rows of a region in memory that a key of that protection domain has.
pub(super) fn strided(random: &mut Random, pd: u32) -> Region {
    let pattern: Vec<_> = (0..1 + random.below(5))
        .map(|_| Extent { offset: random.below(60), len: 1 + random.below(40) as u32 })
        .collect();
    let base = world::BASE + random.below(SIZE - 41 * 100);
    Region::Strided { base, period: 100, count: 40, lkey: world::LOCAL + pd, pattern }
}
