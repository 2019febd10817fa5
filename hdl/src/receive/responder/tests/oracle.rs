//! Outcome of the packets so far, as the semantics define it.

use super::*;

/// A queue pair as the host has made it, its peer, and its state in the semantics.
#[derive(Clone)]
pub(super) struct Pair {
    pub(super) index: u64,
    pub(super) entry: QueuePairEntry,
    pub(super) attributes: AttributesEntry,
    pub(super) shared: bool,
    pub(super) peer: Peer,
    pub(super) responder: Semantics,
    pub(super) broken: bool,
}

impl Pair {
    pub(super) fn random(index: u64, random: &mut Random, errors: f64) -> Self {
        let transport = [Transport::Rc, Transport::Rc, Transport::Uc, Transport::Ud];
        let transport = transport[random.below(4) as usize];
        let shared = random.chance(0.4);
        let vlan = random.chance(0.3).then(|| random.below(4096) as u16);
        let log_mtu = [8, 8, 8, 9, 10, 12][random.below(6) as usize];
        let entry = QueuePairEntry {
            dest_ip: random.u64() as u32,
            // All numbers are different, and lie in few lists of the finder.
            qpn: (random.below(1 << 8) << 16 | index << 2 | random.below(4)) as u32,
            qkey: random.u64() as u32,
            pkey: (random.below(1 << 15) | 0x8000) as u16,
            transport: transport as u8,
            log_mtu,
            vlan: vlan.unwrap_or(random.below(4096) as u16),
            tagged: vlan.is_some().into(),
            pd: random.below(2) as u32,
            state: 1 + random.below(2) as u32,
            ..Default::default()
        };
        let rights = if random.chance(0.1) { 0 } else { rights::ALL };
        let attributes = AttributesEntry {
            rq_psn: if random.chance(0.3) { 0xff_fffc } else { random.below(1 << 24) as u32 },
            receive_queue: if shared { 4000 + index as u16 % 2 } else { index as u16 },
            receives: random.chance(0.95).into(),
            rights: rights as u8,
            min_rnr_timer: random.below(32) as u8,
            // None of them is ever crowded here: `limits` has those that are.
            max_dest_rd_atomic: [0, 16, 16, 16, 16][random.below(5) as usize],
            state: 1,
            ..Default::default()
        };
        let flow = Flow {
            source_mac: 1,
            dest_mac: 2,
            source_ip: 0x0a00_0001,
            dest_ip: entry.dest_ip,
            tos: 0,
            ttl: TTL,
            vlan,
            qpn: entry.qpn,
            dest_qpn: random.below(1 << 24) as u32,
            // The peer is a full or a limited member.
            pkey: entry.pkey,
            qkey: entry.qkey,
            transport,
            mtu: 1 << log_mtu,
        };
        let psn = attributes.rq_psn;
        let (peer, responder) = (Peer::new(flow, psn, errors), Semantics::new(psn));
        Self { index, entry, attributes, shared, peer, responder, broken: false }
    }

    pub(super) fn settings(&self) -> Settings {
        Settings {
            transport: self.peer.flow.transport,
            mtu: self.peer.flow.mtu,
            rights: u32::from(self.attributes.rights),
            pd: self.entry.pd,
            min_rnr_timer: self.attributes.min_rnr_timer,
            max_dest_rd_atomic: self.attributes.max_dest_rd_atomic,
            shared: self.shared,
        }
    }

    /// Number of the queue pair's receive queue.
    pub(super) fn queue(&self) -> u64 {
        self.attributes.receive_queue.into()
    }
}

/// Outcome of the packets so far, as the semantics define it.
pub(super) struct Oracle {
    pub(super) lab: Lab,
    pub(super) pairs: Vec<Pair>,
    pub(super) broken: Vec<u64>,
    pub(super) dropped: u64,
    /// Packets that their queue pair did not need.
    pub(super) ignored: u64,
    /// Receives in use of queue pairs that broke, which are flushed by their own queues.
    pub(super) flushed: u64,
    pub(super) outcomes: [u64; 4],
}

impl Oracle {
    pub(super) fn new(random: &mut Random) -> Self {
        let lab = Lab { memory: RefCell::new(random.bytes(SIZE as usize)), ..Lab::default() };
        let (pairs, broken) = Default::default();
        Self { lab, pairs, broken, dropped: 0, ignored: 0, flushed: 0, outcomes: [0; 4] }
    }

    pub(super) fn take(&mut self, packet: &Packet) {
        let frame = packet.frame();
        let pair = self.pairs.iter_mut().find(|pair| is_for(&frame, &pair.peer.flow));
        let Some(pair) = pair else {
            self.dropped += 1;
            return;
        };
        if pair.broken {
            self.dropped += 1;
            return;
        }
        let settings = pair.settings();
        if settings.transport == Transport::Rc && is_response(packet) {
            self.ignored += 1;
            return;
        }
        let lab = &mut self.lab;
        (lab.qp, lab.pd) = (pair.index, settings.pd);
        lab.queue = (pair.attributes.receives == 1).then(|| pair.queue());
        let before = lab.answered.len();
        let again = any_read_again(packet, pair, lab);
        let outcome = pair.responder.take(&frame, &settings, lab);
        if lab.answered.len() == before {
            lab.answered.extend(again);
        }
        // All packets of READs' answers are sent at once.
        for (_, _, psn, _, what) in &lab.answered[before..] {
            if matches!(what, What::Read(..)) {
                pair.responder.answered(*psn);
            }
        }
        self.outcomes[outcome as usize] += 1;
        if outcome == Outcome::Dropped && lab.answered.len() == before {
            self.ignored += 1;
        }
        if outcome == Outcome::Error {
            pair.broken = true;
            self.broken.push(pair.index);
            lab.appends.iter_mut().flatten().for_each(|region| region.abandon(pair.index as u32));
            let in_use = pair.responder.take_receive();
            if let Some(name) = in_use {
                if pair.shared || settings.transport != Transport::Rc {
                    let flushed = drdma_abi::completion::Status::WrFlushError;
                    lab.completed(Received::failed(name, flushed));
                } else {
                    self.flushed += 1;
                    let posted = lab.last[&pair.index];
                    lab.queues.entry(pair.queue()).or_default().push_front(posted);
                }
            }
        }
    }
}

/// Answer of the block to a READ before the expected packet, without regard to the READs that it has answered.
pub(super) fn any_read_again(packet: &Packet, pair: &Pair, lab: &Lab) -> Option<Answered> {
    let settings = pair.settings();
    let behind = psn_distance(pair.responder.expected(), packet.psn);
    let reads = settings.transport == Transport::Rc
        && packet.opcode == operation::READ_REQUEST
        && settings.rights & rights::REMOTE_READ != 0
        && settings.max_dest_rd_atomic > 0;
    let (addr, len, rkey) = (packet.addr, packet.len, packet.rkey);
    let key = lab.keys.get(&rkey);
    let may =
        |key: &MemoryRegionEntry| allows(key, rights::REMOTE_READ, settings.pd, addr, len.into());
    let good = reads
        && behind > 0
        && packets(len, settings.mtu) <= behind as u32
        && u64::from(len) <= MAX_MESSAGE
        && packet.payload.is_empty()
        && (len == 0 || key.is_some_and(may));
    good.then(|| (pair.index, 0x1f, packet.psn, pair.responder.msn(), What::Read(addr, len, rkey)))
}
