//! Regions of destinations, and the memory that they need.

use super::function::keys;
use super::reader::{Reader, Stop};
use super::requests::{Function, Lane, Records, Set, Source, Special};
use super::{Card, Failure};
use drdma_abi::Layout;
use drdma_abi::completion::Status;
use drdma_abi::register::MemoryRegionEntry;
use drdma_abi::work_request::{
    Chain, Element, ElementKind, ElementSource, KindElement, MAX_CHAIN, MAX_VIEW_BUFFERS,
    RegionHeader, RegionShape, RegionType, shape_flags,
};

impl Card {
    /// The inline payload, as a contiguous set; a set of one byte stands for a payload of no bytes.
    pub(super) fn inline(&self, reader: &mut Reader, bytes: u8) -> Result<Set, Stop> {
        let mut payload = Vec::new();
        while payload.len() < bytes.into() {
            payload.extend(reader.take()?);
        }
        payload.truncate(bytes.into());
        let lane = Lane { len: u32::from(bytes).max(1), ..Lane::default() };
        let mut set = Set { count: 1, lanes: vec![lane], inline: Some(payload), ..Set::default() };
        set.cut();
        Ok(set)
    }

    /// The region that the destinations of a partitioned request share.
    pub(super) fn partitioned(
        &self,
        reader: &mut Reader,
        pd: u32,
    ) -> Result<(Set, Option<Function>), Failure> {
        let stop = |stop: Stop| stop.failure(0, None);
        let header = RegionHeader::decode(&reader.take().map_err(stop)?);
        let shape = RegionShape::decode(&reader.take().map_err(stop)?);
        let has_kinds = shape.flags & shape_flags::COLUMN_KINDS != 0;
        let made = shape.flags & shape_flags::PARTITION_BY != 0;
        let known = shape_flags::COLUMN_KINDS | shape_flags::PARTITION_BY;
        let good = (1..=16).contains(&shape.elements)
            && if made { shape.period == 0 } else { (1..=2).contains(&shape.period) }
            && shape.flags & !known == 0
            && shape.target_lkey == 0;
        if !good {
            return Err(stop(Stop::Shape));
        }
        let rows = u128::from(header.count);
        let len = rows * u128::from(shape.period);
        let mut ranges = vec![Range { lkey: header.lkey, start: header.addr.into(), len }];
        let (mut ids, addr, count) = (shape.period as u8, header.addr, header.count);
        let mut function = None;
        if made {
            let (by, needed) = keys(reader, header).map_err(stop)?;
            ids = if by.partitions > 256 { 2 } else { 1 };
            (function, ranges) = (Some(by), needed);
        }
        let mut set = Set { kind: 2, ids, made, addr, count, ..Set::default() };
        if has_kinds {
            let header = RegionHeader { addr: 0, lkey: 0, ..header };
            let (own, more) =
                self.entries(reader, RegionType::Bitmapped, header, shape).map_err(stop)?;
            set.lanes = own;
            set.special = set.special(Special { pd, ..Special::default() });
            ranges.extend(more);
        }
        for _ in (0..shape.elements).filter(|_| !has_kinds) {
            let Element { offset, len, lkey } = Element::decode(&reader.take().map_err(stop)?);
            if len == 0 {
                return Err(stop(Stop::Shape));
            }
            set.lanes.push(Lane { base: offset, step: len.into(), len, ..Lane::default() });
            ranges.push(Range { lkey, start: offset.into(), len: rows * u128::from(len) });
        }
        set.cut();
        if rows > 0 && !ranges.iter().all(|range| self.covers(range, pd)) {
            return Err(Failure { status: Status::LocalProtectionError, dest: 0, qp: None });
        }
        Ok((set, function))
    }

    pub(super) fn region(
        &self,
        reader: &mut Reader,
        kind: RegionType,
        pd: u32,
        by_columns: Option<(usize, u32)>,
    ) -> Result<(Set, Vec<Range>), Stop> {
        let header = RegionHeader::decode(&reader.take()?);
        let (addr, count, lkey) = (header.addr, header.count, header.lkey);
        if by_columns.is_some() && !matches!(kind, RegionType::Strided | RegionType::Bitmapped) {
            return Err(Stop::Shape);
        }
        let mut set = Set { kind: kind as u8, addr, count, ..Set::default() };
        let mut ranges = Vec::new();
        let mut add = |lkey, start: u128, len: u128| ranges.push(Range { lkey, start, len });
        if kind == RegionType::Contiguous {
            if count == 0 {
                return Err(Stop::Shape);
            }
            add(lkey, addr.into(), count.into());
            set.count = 1;
            set.lanes.push(Lane { base: addr, len: count, ..Lane::default() });
        } else {
            let shape = RegionShape::decode(&reader.take()?);
            if shape.flags & shape_flags::COLUMN_KINDS != 0 {
                if by_columns.is_some() {
                    return Err(Stop::Shape);
                }
                return self.kinds(reader, kind, header, shape, pd);
            }
            let strided = kind == RegionType::Strided;
            let good = (1..=16).contains(&shape.elements)
                && by_columns.is_none_or(|(columns, _)| columns == usize::from(shape.elements))
                && match shape.flags {
                    0 => {
                        (shape.period != 0) == strided
                            && (shape.target_lkey == 0 || kind == RegionType::PointerMapped)
                    }
                    shape_flags::FETCH_ROWS => kind == RegionType::Bitmapped,
                    _ => false,
                };
            if !good {
                return Err(Stop::Shape);
            }
            match kind {
                RegionType::Bitmapped => add(lkey, addr.into(), count.div_ceil(8).into()),
                RegionType::PointerMapped => add(lkey, addr.into(), u128::from(count) * 8),
                _ => {}
            }
            if shape.flags == shape_flags::FETCH_ROWS {
                add(shape.target_lkey, shape.period.into(), count.div_ceil(8).into());
                set.fetch_rows = Some(shape.period);
            }
            let (mut low, mut high) = (u64::MAX, 0);
            for _ in 0..shape.elements {
                let element = Element::decode(&reader.take()?);
                let (offset, len) = (element.offset, element.len);
                let over = by_columns.is_some_and(|(_, most)| count > most);
                if over || len == 0 || (element.lkey != 0 && kind != RegionType::Bitmapped) {
                    return Err(Stop::Shape);
                }
                low = low.min(offset);
                high = high.max(u128::from(offset) + u128::from(len));
                let (base, step) = match kind {
                    RegionType::Bitmapped => (offset, len.into()),
                    RegionType::PointerMapped => (offset, 0),
                    _ => (addr.wrapping_add(offset), shape.period),
                };
                set.lanes.push(Lane { base, step, len, ..Lane::default() });
                match kind {
                    RegionType::Bitmapped => {
                        let bytes = u128::from(count) * u128::from(len);
                        add(element.lkey, offset.into(), bytes);
                    }
                    RegionType::Strided => {
                        let periods = u128::from(count.saturating_sub(1));
                        let bytes = periods * u128::from(shape.period) + u128::from(len);
                        add(lkey, u128::from(addr) + u128::from(offset), bytes);
                    }
                    _ => {}
                }
            }
            if kind == RegionType::PointerMapped {
                let target = self.named(shape.target_lkey, pd);
                let (target_addr, target_len) = target.map_or((0, 0), |r| (r.addr, r.len));
                set.records = Some(Records { target_addr, target_len, low, high });
            }
            if count == 0 {
                ranges.clear();
            }
        }
        set.cut();
        Ok((set, ranges))
    }

    /// A region with kinds of columns, behind its header and shape.
    fn kinds(
        &self,
        reader: &mut Reader,
        kind: RegionType,
        header: RegionHeader,
        shape: RegionShape,
        pd: u32,
    ) -> Result<(Set, Vec<Range>), Stop> {
        let (addr, count, lkey) = (header.addr, header.count, header.lkey);
        let chase = shape.flags & shape_flags::CHASE != 0;
        let first = shape.flags >> shape_flags::FIRST_BIT_SHIFT;
        let known = shape_flags::COLUMN_KINDS | shape_flags::CHASE;
        let good = (1..=16).contains(&shape.elements)
            && shape.flags & !known & 15 == 0
            && first < if kind == RegionType::Bitmapped { 8 } else { 1 }
            && (!chase || kind == RegionType::PointerMapped)
            && (shape.period != 0) == (kind == RegionType::Strided)
            && (shape.target_lkey == 0 || kind == RegionType::PointerMapped);
        if !good {
            return Err(Stop::Shape);
        }
        let mut set = Set { kind: kind as u8, addr, count, ..Set::default() };
        let mut special = Special { pd, first: first as u8, period: shape.period, chain: None };
        let mut ranges = Vec::new();
        let listed = match kind {
            RegionType::Bitmapped => (u128::from(count) + u128::from(first)).div_ceil(8),
            RegionType::PointerMapped => u128::from(count) * 8,
            _ => 0,
        };
        if kind != RegionType::Strided {
            ranges.push(Range { lkey, start: addr.into(), len: listed });
        }
        if chase {
            let chain = Chain::decode(&reader.take()?);
            if !(1..=MAX_CHAIN).contains(&chain.limit) {
                return Err(Stop::Shape);
            }
            special.chain = Some(chain);
        }
        let (lanes, more) = self.entries(reader, kind, header, shape)?;
        ranges.extend(more);
        if kind == RegionType::PointerMapped {
            let target = self.named(shape.target_lkey, pd);
            let (target_addr, target_len) = target.map_or((0, 0), |r| (r.addr, r.len));
            let link = special.chain.map(|chain| u64::from(chain.next));
            let low = lanes.iter().map(|lane| lane.base).chain(link).min();
            let end = |lane: &Lane| u128::from(lane.base) + u128::from(lane.len);
            let ends = lanes.iter().map(end).chain(link.map(|link| u128::from(link) + 8));
            let (low, high) = (low.expect("a lane"), ends.max().expect("a lane"));
            set.records = Some(Records { target_addr, target_len, low, high });
        }
        if count == 0 {
            ranges.clear();
        }
        set.lanes = lanes;
        set.special = set.special(special);
        set.cut();
        Ok((set, ranges))
    }

    /// The elements of a region with kinds, and the memory that they cover.
    fn entries(
        &self,
        reader: &mut Reader,
        kind: RegionType,
        header: RegionHeader,
        shape: RegionShape,
    ) -> Result<(Vec<Lane>, Vec<Range>), Stop> {
        let count = u128::from(header.count);
        let (mut lanes, mut ranges) = (Vec::new(), Vec::new());
        for _ in 0..shape.elements {
            let element = KindElement::decode(&reader.take()?);
            let of = ElementSource::decode(&reader.take()?);
            let (width, log) = (element.width, element.log_entry);
            let none = (of.addr, of.count, of.lkey) == (0, 0, 0);
            // Bytes of the entry, and bytes to the next row's entry in a column.
            let (good, len, step) = match ElementKind::from_code(element.kind) {
                Some(ElementKind::Fixed) => (log == 0 && none && width > 0, width, width),
                Some(ElementKind::Bits) => {
                    (log == 0 && none && width < 8 && kind == RegionType::Bitmapped, 1, 0)
                }
                Some(ElementKind::Offsets) => {
                    ((2..=3).contains(&log) && width == 0 && of.count == 0, 2 << log, 1 << log)
                }
                Some(ElementKind::Views) => {
                    (log == 0 && width == 0 && of.count <= MAX_VIEW_BUFFERS, 16, 16)
                }
                Some(ElementKind::Dictionary) => (log <= 3 && width > 0, 1 << log, 1 << log),
                None => (false, 0, 0),
            };
            if !good || (element.lkey != 0 && kind != RegionType::Bitmapped) {
                return Err(Stop::Shape);
            }
            let (offset, bytes) = (element.offset, u128::from(len));
            let before = count.saturating_sub(1);
            let (base, step) = match kind {
                RegionType::Bitmapped => (offset, step.into()),
                RegionType::PointerMapped => (offset, 0),
                _ => (header.addr.wrapping_add(offset), shape.period),
            };
            let start = match kind {
                RegionType::Bitmapped => u128::from(offset),
                _ => u128::from(header.addr) + u128::from(offset),
            };
            let bits = element.kind == ElementKind::Bits as u8;
            let len_of_all = match bits {
                true => (u128::from(width) + count).div_ceil(8),
                false => before * u128::from(step) + bytes,
            };
            let lkey = if kind == RegionType::Bitmapped { element.lkey } else { header.lkey };
            let mut add = |lkey, start, len| {
                if count > 0 {
                    ranges.push(Range { lkey, start, len });
                }
            };
            if kind != RegionType::PointerMapped {
                add(lkey, start, len_of_all);
            }
            let values = u128::from(of.count);
            match ElementKind::from_code(element.kind) {
                Some(ElementKind::Views) if of.count > 0 => {
                    add(of.lkey, of.addr.into(), values * 16);
                }
                Some(ElementKind::Dictionary) if of.count > 0 => {
                    add(of.lkey, of.addr.into(), values * u128::from(width));
                }
                _ => {}
            }
            let offsets = element.kind == ElementKind::Offsets as u8;
            let source = Source {
                kind: element.kind,
                log,
                width,
                addr: of.addr,
                number: if offsets { of.lkey } else { of.count },
            };
            lanes.push(Lane { base, step, len, source });
        }
        Ok((lanes, ranges))
    }

    /// The memory region of that key, if a queue of that protection domain may use it.
    fn named(&self, lkey: u32, pd: u32) -> Option<&MemoryRegionEntry> {
        let entry = &self.regions[lkey as usize % self.regions.len()];
        (entry.valid == 1 && entry.lkey == lkey && entry.pd == pd).then_some(entry)
    }

    /// True if the range lies in the memory region of its key, and a queue of that protection domain may use it.
    pub(super) fn covers(&self, range: &Range, pd: u32) -> bool {
        self.named(range.lkey, pd).is_some_and(|entry| {
            let first = u128::from(entry.addr);
            range.start >= first && range.start + range.len <= first + u128::from(entry.len)
        })
    }
}

/// Bytes of a memory region that a request needs.
pub(super) struct Range {
    pub lkey: u32,
    pub start: u128,
    pub len: u128,
}
