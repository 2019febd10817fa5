//! Blocks of receive entries, as they come.

use super::super::record::{PoppedKind, REGIONS};
use super::{
    APPEND_GRANULES, APPEND_MAGIC, FEW, MAGIC, MOST_GRANULES, MOST_REGIONS, ODD_BITS, Taker,
    TakerState,
};
use crate::context::CQ;
use drdma_emit::prelude::*;

impl Taker {
    /// The block that came last, with its head if it is an entry's first one.
    #[hdl_gen]
    pub(super) fn read_block(&mut self) {
        self.now.next = self.name.q.val();
        self.now.next.cq = self.places.read_data.val().get_bits::<CQ>(0);
        self.now.next.shared = self.places.read_data.val().get_bit(CQ);
        self.found.next = self.block.q.val().kind == PoppedKind::Block;
        self.is_later.next = self.block.q.val().kind == PoppedKind::Later;
        self.regions.next = self.block.q.val().data.get_bits::<REGIONS>(16);
        self.types.next = self.block.q.val().data.get_bits::<32>(96);
        self.head.next = true;
        self.here.next = self.left.q.val().get_bits::<3>(0);
        self.behind.next = 0.into();
        if self.left.q.val() > 4 {
            self.here.next = 4.into();
            self.behind.next = self.left.q.val() - 4;
        }
        self.granules.next = self.block.q.val().data;
        // A head block has two regions, further ones four. Of the block that comes, because the sum takes long.
        self.blocks.next =
            (bit_cast::<32, REGIONS>(self.popped.data.val().get_bits::<REGIONS>(16)) + 5) >> 2;
        if !self.goes_on.q.val() {
            self.now.next.wr_id = self.block.q.val().data.get_bits::<64>(128);
            self.now.next.position = self.block.q.val().position;
            self.now.next.queue = self.current.q.val().queue;
            self.now.next.life = self.block.q.val().life;
            self.now.next.wide = (self.types.val().any() || (self.regions.val() > FEW))
                && !self.block.q.val().error
                && !self.flush.q.val();
            self.now.next.pieces = (self.types.val() & ODD_BITS).any();
            self.granules.next = bit_cast::<512, 256>(self.block.q.val().data.get_bits::<256>(256));
            self.head.next = (self.block.q.val().data.get_bits::<16>(0) == MAGIC)
                && (self.block.q.val().data.get_bits::<16>(16) <= MOST_REGIONS)
                && !self.block.q.val().data.get_bits::<26>(38).any()
                && (self.block.q.val().data.get_bits::<6>(32)
                    == bit_cast::<6, REGIONS>(self.block.q.val().data.get_bits::<REGIONS>(16)) + 2)
                && self.positioned.q.val()
                && !self.block.q.val().data.get_bits::<32>(96).any()
                && !self.block.q.val().data.get_bits::<64>(192).any()
                && self.posted_all.q.val();
            self.here.next = self.regions.val().get_bits::<3>(0);
            self.behind.next = 0.into();
            if self.regions.val() > 2 {
                self.here.next = 2.into();
                self.behind.next = self.regions.val() - 2;
            }
        }
        self.empty.next = false;
        for k in 0..4 {
            self.zero[k].next = !self.block.q.val().data.get_bits::<32>(128 * k + 64).any();
            if self.zero[k].val() && self.goes_on.q.val() && (self.left.q.val() > k.to_bits()) {
                self.empty.next = true;
            }
        }
        // The granules of the first block, behind the head.
        for k in 0..2 {
            if self.zero[k + 2].val()
                && !self.goes_on.q.val()
                && (self.block.q.val().data.get_bits::<REGIONS>(16) > k.to_bits())
            {
                self.empty.next = true;
            }
        }
        self.appends.next = self.found.val()
            && !self.goes_on.q.val()
            && !self.flush.q.val()
            && !self.block.q.val().error
            && (self.block.q.val().data.get_bits::<16>(0) == APPEND_MAGIC)
            && !self.block.q.val().data.get_bits::<16>(16).any()
            && (self.block.q.val().data.get_bits::<32>(32) == APPEND_GRANULES)
            && self.positioned.q.val()
            && !self.types.val().any()
            && !self.block.q.val().data.get_bits::<64>(192).any()
            && !self.block.q.val().data.get_bits::<96>(288).any();
        self.bad.next = (self.block.q.val().error || !self.head.val() || self.empty.val())
            && !self.appends.val();
    }

    /// Regions that are not all contiguous. A head is malformed if it has types for regions that it does not have.
    #[hdl_gen]
    pub(super) fn look_at_types(&mut self) {
        self.described.next = self.found.val()
            && !self.block.q.val().error
            && !self.flush.q.val()
            && (self.walks.q.val() || (!self.goes_on.q.val() && self.types.val().any()));
        self.alone.next = self.settled.val() && !self.had_any.val();
        self.first_of_walk.next = (self.state.q.val() == TakerState::Judge)
            && self.described.val()
            && !self.walks.q.val()
            && self.alone.val();
        self.extra.next = self.types.val() >> (bit_cast::<32, REGIONS>(self.regions.val()) << 1);
        self.described_blocks.next = (self.block.q.val().data.get_bits::<32>(32) + 3) >> 2;
        self.described_head.next = (self.block.q.val().data.get_bits::<16>(0) == MAGIC)
            && (self.block.q.val().data.get_bits::<16>(16) <= MOST_REGIONS)
            && !self.extra.val().any()
            && (self.block.q.val().data.get_bits::<32>(32) > 2)
            && (self.block.q.val().data.get_bits::<32>(32) <= MOST_GRANULES + 2)
            && self.positioned.q.val()
            && !self.block.q.val().data.get_bits::<64>(192).any()
            && (self.described_blocks.val() <= self.block.q.val().posted);
        self.walk_ends.next = self.granules_left.q.val() == 1;
        self.shapes.starts.next = self.first_of_walk.val();
        self.shapes.pieces.next = self.now.val().pieces;
        self.shapes.types.next = self.types.val();
        self.shapes.regions.next = self.regions.val();
        self.shapes.granule.next = self.block.q.val().data.get_bits::<128>(0);
        self.shapes.last.next = self.walk_ends.val();
        self.shapes.step.next = self.looked.q.val() && self.piece.ready.val();
        self.walk_bad.d.next = self.wrong.q.val() || self.shapes.bad.val();
        self.looked.d.next = (self.state.q.val() == TakerState::Walk)
            && !(self.looked.q.val() && self.piece.ready.val());
    }
}
