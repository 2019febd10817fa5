//! Checks lengths, receive and remote key: decides whether a packet that is the next one is executed.

use super::keys::{KEY_REGION, Keys};
use super::record::Job;
use crate::context::{ConfigWrite, REGION};
use crate::receive::record::{AppendTold, AppendVerdict, RegionVerdict};
use drdma_abi::work_request::MAX_MESSAGE;
use drdma_emit::prelude::*;

/// Bytes of a message, at most.
const LONGEST_MESSAGE: u64 = MAX_MESSAGE;

/// Result of the checks.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum Verdict {
    /// The packet is executed.
    Good,
    /// There is no receive.
    Missing,
    /// The receive is malformed.
    Malformed,
    /// The request is invalid.
    Invalid,
    /// The message does not fit into its receive.
    TooLong,
    /// The remote key does not allow the access.
    Access,
    /// Memory that the packet needs is not there.
    Unreachable,
    /// The key cannot be made invalid.
    Irrevocable,
}

/// Finds what is wrong with a job that is to be executed. The first check that fails decides, in the order of
/// docs/semantics.md, "Receiving"; order, opcode and rights were checked before.
///
/// Contract: while `at` stays, `sum` is valid from the cycle after the first on, and the verdict from the second on as
/// far as lengths and the receive are concerned. The key's answer comes in the third cycle after the first; `sample`
/// keeps it. For any other job the verdict means nothing.
///
/// # Inputs
/// `clk`; `cfg`; `at`; `sample`; stream `revoke`; `append`, for a SEND that is appended, in the cycle before its
/// verdict is used; `found`, likewise for a packet whose bytes are placed piece by piece.
///
/// # Outputs
/// `verdict`; `described`, `region`: the key of a WRITE is a described one, of this region, if it is looked up; `sum`:
/// of a SEND, the bytes up to the packet's end; `packets`: of a READ, those of its answer.
#[derive(LogicBlock, BlockDefault)]
pub struct Checks {
    /// Clock.
    pub clk: Signal<In, Clock>,
    /// Words that the host writes into tables.
    pub cfg: Flow<In, ConfigWrite>,
    /// The job that is checked.
    pub at: Signal<In, Job>,
    /// The key's answer is there, and is kept.
    pub sample: Signal<In, Bit>,
    /// For a SEND that is appended: the answer of the append regions.
    pub append: Signals<In, AppendTold>,
    /// For bytes that are placed piece by piece: the regions' verdict, or `Reached` until there is one.
    pub found: Signal<In, RegionVerdict>,
    /// The first check that fails, or `Good`.
    pub verdict: Signal<Out, Verdict>,
    /// The job is a WRITE to a described key.
    pub described: Signal<Out, Bit>,
    /// With `described`: number of the key's region.
    pub region: Signal<Out, Bits<KEY_REGION>>,
    /// Bytes of the message up to the packet's end.
    pub sum: Signal<Out, Bits<32>>,
    /// Packets of a READ's answer; valid in the third cycle and later.
    pub packets: Signal<Out, Bits<24>>,
    /// The job's key is to be made invalid.
    pub revoke_valid: Signal<In, Bit>,
    /// The key is made invalid in this cycle.
    pub revoke_ready: Signal<Out, Bit>,

    keys: Keys,
    mtu: Signal<Local, Bits<13>>,
    total: DFF<Bits<33>>,
    /// Bytes of a READ, rounded up to packets, and the number of these.
    rounded: DFF<Bits<33>>,
    count: DFF<Bits<24>>,
    // Wrong lengths: of the packet; of a WRITE; of any message; against a SEND's receive.
    misshapen: DFF<Bit>,
    uneven: DFF<Bit>,
    overlong: DFF<Bit>,
    exceeds: DFF<Bit>,
    /// The job needs a key: it is no WRITE or READ of no bytes.
    needs_key: DFF<Bit>,
    // Rights of the key.
    writable: DFF<Bit>,
    readable: DFF<Bit>,
    changeable: DFF<Bit>,
    revocable: DFF<Bit>,
    unused: Signal<Local, Job>,
    unused_append: Signal<Local, AppendTold>,
    is_described: DFF<Bit>,
    region_held: DFF<Bits<KEY_REGION>>,
    unused_kind: Signal<Local, Bit>,
    /// The SEND is appended, and there are no rows for it.
    appends: Signal<Local, Bit>,
    refused: DFF<Bit>,
    refusal: DFF<Verdict>,
    whole: DFF<Bit>,
}

impl Logic for Checks {
    #[hdl_gen]
    fn update(&mut self) {
        self.unused.next = self.at.val();
        self.cfg.join(&mut self.keys.cfg);
        self.keys.key.next = self.at.val().progress.rkey;
        self.keys.pd.next = self.at.val().pd;
        self.keys.addr.next = self.at.val().progress.addr;
        self.keys.bytes.next = bit_cast::<64, 32>(self.at.val().progress.remaining);
        self.keys.revoke_valid.next = self.revoke_valid.val();
        self.keys.revoke_index.next = self.at.val().progress.rkey.get_bits::<REGION>(0);
        self.revoke_ready.next = self.keys.revoke_ready.val();

        // Checks of lengths.
        self.mtu.next = bit_cast::<13, 1>(1.into()) << self.at.val().log_mtu;
        self.total.d.next = bit_cast::<33, 32>(self.at.val().progress.len)
            + bit_cast::<33, 13>(self.at.val().bytes);
        // Every packet of a message but the last is full; the last of several is not empty.
        self.misshapen.d.next = self.at.val().bytes > self.mtu.val();
        if !self.at.val().last {
            self.misshapen.d.next = self.at.val().padded || (self.at.val().bytes != self.mtu.val());
        } else if !self.at.val().first && !self.at.val().bytes.any() {
            self.misshapen.d.next = true;
        }
        // A READ has no payload. An atomic has none either, and its address is a multiple of 8.
        if self.at.val().read {
            self.misshapen.d.next = self.at.val().bytes.any();
        }
        if self.at.val().atomic {
            self.misshapen.d.next =
                self.at.val().bytes.any() || self.at.val().progress.addr.get_bits::<3>(0).any();
        }
        self.rounded.d.next = bit_cast::<33, 32>(self.at.val().progress.remaining)
            + bit_cast::<33, 13>(self.mtu.val())
            - 1;
        self.count.d.next = (self.rounded.q.val() >> self.at.val().log_mtu).get_bits::<24>(0);
        self.packets.next = self.count.q.val();
        if !self.needs_key.q.val() {
            self.packets.next = 1.into();
        }
        // A WRITE is exactly as long as its RETH says.
        self.uneven.d.next =
            bit_cast::<32, 13>(self.at.val().bytes) > self.at.val().progress.remaining;
        if self.at.val().last {
            self.uneven.d.next =
                bit_cast::<32, 13>(self.at.val().bytes) != self.at.val().progress.remaining;
        }
        self.overlong.d.next = self.total.q.val() > LONGEST_MESSAGE;
        if self.at.val().write || self.at.val().read || self.at.val().atomic {
            self.overlong.d.next = bit_cast::<33, 32>(self.at.val().progress.len) > LONGEST_MESSAGE;
        }
        self.exceeds.d.next =
            self.total.q.val() > bit_cast::<33, 32>(self.at.val().progress.capacity);
        self.needs_key.d.next = self.at.val().progress.len.any();
        self.unused_kind.next = self.keys.covers.val() || self.keys.fillable.val();
        self.described.next = self.at.val().write && self.is_described.q.val();
        self.region.next = self.region_held.q.val();
        if self.sample.val() {
            self.is_described.d.next = self.keys.described.val() && self.needs_key.q.val();
            self.region_held.d.next = self.keys.region.val();
            self.writable.d.next = self.keys.writable.val();
            self.readable.d.next = self.keys.readable.val();
            self.changeable.d.next = self.keys.changeable.val();
            self.revocable.d.next = self.keys.revocable.val();
        }

        // Answer of the append regions.
        self.unused_append.next = self.append.val();
        self.appends.next = self.at.val().progress.appends && !self.at.val().write;
        self.whole.d.next = self.append.whole.val();
        self.refused.d.next = true;
        self.refusal.d.next = Verdict::Malformed;
        match self.append.verdict.val() {
            AppendVerdict::Room => {
                self.refused.d.next = false;
            }
            AppendVerdict::Later => {
                self.refusal.d.next = Verdict::Missing;
            }
            AppendVerdict::TooLong => {
                self.refusal.d.next = Verdict::TooLong;
            }
            AppendVerdict::Malformed
            | AppendVerdict::Forbidden
            | AppendVerdict::Lost
            | AppendVerdict::Gone => {}
        }

        // The first check that fails decides.
        self.verdict.next = Verdict::Good;
        if self.at.val().missing {
            self.verdict.next = Verdict::Missing;
        } else if self.at.val().status.any() {
            self.verdict.next = Verdict::Malformed;
        } else if self.appends.val()
            && self.at.val().first
            && !self.at.val().read
            && !self.at.val().atomic
            && self.refused.q.val()
        {
            self.verdict.next = self.refusal.q.val();
        } else if self.misshapen.q.val()
            || self.overlong.q.val()
            || (self.at.val().write && self.uneven.q.val())
        {
            self.verdict.next = Verdict::Invalid;
        } else if self.at.val().write {
            if (self.needs_key.q.val() && !self.writable.q.val())
                || (self.found.val() == RegionVerdict::Outside)
            {
                self.verdict.next = Verdict::Access;
            } else if self.found.val() == RegionVerdict::Unreachable {
                self.verdict.next = Verdict::Unreachable;
            }
        } else if self.at.val().read {
            if self.needs_key.q.val() && !self.readable.q.val() {
                self.verdict.next = Verdict::Access;
            }
        } else if self.at.val().atomic {
            if !self.changeable.q.val() {
                self.verdict.next = Verdict::Access;
            }
        } else if self.appends.val() && self.refused.q.val() {
            self.verdict.next = self.refusal.q.val();
        } else if (self.appends.val() && self.at.val().last && !self.whole.q.val())
            || (!self.appends.val() && self.exceeds.q.val())
            || (self.found.val() == RegionVerdict::Outside)
        {
            self.verdict.next = Verdict::TooLong;
        } else if self.found.val() == RegionVerdict::Unreachable {
            self.verdict.next = Verdict::Unreachable;
        } else if self.at.val().invalidates && !self.revocable.q.val() {
            self.verdict.next = Verdict::Irrevocable;
        }
        self.sum.next = self.total.q.val().get_bits::<32>(0);
    }
}
