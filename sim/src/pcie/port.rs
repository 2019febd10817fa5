//! The signals of one of the shell's two DMA ports, `ctrl` and `data`, as Corundum names them.

use drdma_verilated::{Library, Model, PortHandle};

use super::writes::Row;

/// Bytes of a RAM segment's row.
pub const SEGMENT: usize = 64;
/// Number of RAM segments.
pub const SEGMENTS: usize = 2;
/// Address bits of a segment's rows.
const ROW_BITS: usize = 10;

/// A read or write descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Host address.
    pub addr: u64,
    /// Number of the card's memory.
    pub ram_sel: u64,
    /// Address in that memory.
    pub ram_addr: u64,
    /// Number of bytes.
    pub len: usize,
    /// Tag that the card gave.
    pub tag: u64,
}

/// A write of one segment's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentWrite {
    /// Number of the row.
    pub row: u64,
    /// Enabled bytes, a bit each.
    pub enables: u64,
    /// Data of the row.
    pub data: [u8; SEGMENT],
}

/// Handles of a descriptor stream with its status.
#[derive(Clone, Copy, Debug)]
struct DescriptorPorts {
    addr: PortHandle,
    ram_sel: PortHandle,
    ram_addr: PortHandle,
    len: PortHandle,
    tag: PortHandle,
    valid: PortHandle,
    ready: PortHandle,
    status_tag: PortHandle,
    status_error: PortHandle,
    status_valid: PortHandle,
}

/// One DMA port's signals.
#[derive(Clone, Debug)]
pub struct DmaPort {
    read: DescriptorPorts,
    write: DescriptorPorts,
    wr_be: PortHandle,
    wr_addr: PortHandle,
    wr_data: PortHandle,
    wr_valid: PortHandle,
    wr_ready: PortHandle,
    wr_done: PortHandle,
    rd_sel: PortHandle,
    rd_addr: PortHandle,
    rd_valid: PortHandle,
    rd_ready: PortHandle,
    resp_data: PortHandle,
    resp_valid: PortHandle,
    resp_ready: PortHandle,
}

/// Direction of a descriptor: reads of host memory, or writes to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From host memory to the card.
    Read,
    /// From the card to host memory.
    Write,
}

impl DmaPort {
    /// The port called `name`: `ctrl` or `data`.
    ///
    /// # Errors
    /// If the design lacks one of its signals.
    pub fn new(library: &Library, name: &str) -> drdma_verilated::Result<Self> {
        let port = |port: &str| library.port(port);
        let descriptors = |kind: &str| {
            let desc = |field: &str| port(&format!("m_axis_{name}_dma_{kind}_desc_{field}"));
            let status =
                |field: &str| port(&format!("s_axis_{name}_dma_{kind}_desc_status_{field}"));
            Ok::<_, drdma_verilated::Error>(DescriptorPorts {
                addr: desc("dma_addr")?,
                ram_sel: desc("ram_sel")?,
                ram_addr: desc("ram_addr")?,
                len: desc("len")?,
                tag: desc("tag")?,
                valid: desc("valid")?,
                ready: desc("ready")?,
                status_tag: status("tag")?,
                status_error: status("error")?,
                status_valid: status("valid")?,
            })
        };
        let ram = |field: &str| port(&format!("{name}_dma_ram_{field}"));
        Ok(Self {
            read: descriptors("read")?,
            write: descriptors("write")?,
            wr_be: ram("wr_cmd_be")?,
            wr_addr: ram("wr_cmd_addr")?,
            wr_data: ram("wr_cmd_data")?,
            wr_valid: ram("wr_cmd_valid")?,
            wr_ready: ram("wr_cmd_ready")?,
            wr_done: ram("wr_done")?,
            rd_sel: ram("rd_cmd_sel")?,
            rd_addr: ram("rd_cmd_addr")?,
            rd_valid: ram("rd_cmd_valid")?,
            rd_ready: ram("rd_cmd_ready")?,
            resp_data: ram("rd_resp_data")?,
            resp_valid: ram("rd_resp_valid")?,
            resp_ready: ram("rd_resp_ready")?,
        })
    }

    fn of(&self, direction: Direction) -> &DescriptorPorts {
        match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
        }
    }

    /// Sets whether a descriptor will be taken this cycle.
    pub fn set_ready(&self, model: &mut Model, direction: Direction, ready: bool) {
        model.set(self.of(direction).ready, ready.into());
    }

    /// The descriptor that moves this cycle, if `ready` is set.
    pub fn descriptor(&self, model: &Model, direction: Direction) -> Option<Descriptor> {
        let ports = self.of(direction);
        (model.get(ports.valid) == 1).then(|| Descriptor {
            addr: model.get(ports.addr),
            ram_sel: model.get(ports.ram_sel),
            ram_addr: model.get(ports.ram_addr),
            len: model.get(ports.len) as usize,
            tag: model.get(ports.tag),
        })
    }

    /// Reports the end of a descriptor: its tag and error; `None` for no report.
    pub fn set_status(&self, model: &mut Model, direction: Direction, status: Option<(u64, u64)>) {
        let ports = self.of(direction);
        model.set(ports.status_valid, status.is_some().into());
        if let Some((tag, error)) = status {
            model.set(ports.status_tag, tag);
            model.set(ports.status_error, error);
        }
    }

    /// Offers a write to each segment, or none.
    pub fn offer_writes(&self, model: &mut Model, writes: [Option<&SegmentWrite>; SEGMENTS]) {
        let valid = u64::from(writes[0].is_some()) | u64::from(writes[1].is_some()) << 1;
        model.set(self.wr_valid, valid);
        if valid == 0 {
            return;
        }
        let (mut rows, mut enables, mut data) = (0, [0_u32; 4], [0_u32; 32]);
        for (segment, write) in writes.iter().enumerate() {
            let Some(write) = write else { continue };
            rows |= write.row << (ROW_BITS * segment);
            enables[2 * segment] = write.enables as u32;
            enables[2 * segment + 1] = (write.enables >> 32) as u32;
            for (word, bytes) in data[16 * segment..].iter_mut().zip(write.data.chunks_exact(4)) {
                *word = u32::from_le_bytes(bytes.try_into().expect("four bytes"));
            }
        }
        model.set(self.wr_addr, rows);
        model.set_wide(self.wr_be, &enables);
        model.set_wide(self.wr_data, &data);
    }

    /// Bits of the segments that take their write this cycle.
    pub fn writes_ready(&self, model: &Model) -> u64 {
        model.get(self.wr_ready)
    }

    /// Bits of the segments that report a write done.
    pub fn writes_done(&self, model: &Model) -> u64 {
        model.get(self.wr_done)
    }

    /// Asks each segment for a row, or for none.
    pub fn ask_rows(&self, model: &mut Model, rows: [Option<Row>; SEGMENTS]) {
        let bits = |of: fn(Row) -> u64, width: usize| {
            rows.map(|row| row.map_or(0, of))
                .iter()
                .enumerate()
                .fold(0, |bits, (segment, value)| bits | value << (width * segment))
        };
        model.set(self.rd_valid, bits(|_| 1, 1));
        model.set(self.rd_sel, bits(|row| row.sel, 1));
        model.set(self.rd_addr, bits(|row| row.row, ROW_BITS));
    }

    /// Bits of the segments that take the question this cycle.
    pub fn rows_ready(&self, model: &Model) -> u64 {
        model.get(self.rd_ready)
    }

    /// Sets from which segments answers are taken.
    pub fn take_answers(&self, model: &mut Model, takes: [bool; SEGMENTS]) {
        model.set(self.resp_ready, u64::from(takes[0]) | u64::from(takes[1]) << 1);
    }

    /// The rows that segments offer as answers this cycle.
    pub fn answers(&self, model: &Model) -> [Option<[u8; SEGMENT]>; SEGMENTS] {
        let valid = model.get(self.resp_valid);
        if valid == 0 {
            return [None, None];
        }
        let mut words = [0_u32; 32];
        model.get_wide(self.resp_data, &mut words);
        [0, 1].map(|segment: usize| {
            (valid >> segment & 1 == 1).then(|| {
                let mut bytes = [0; SEGMENT];
                for (out, word) in bytes.chunks_exact_mut(4).zip(&words[16 * segment..]) {
                    out.copy_from_slice(&word.to_le_bytes());
                }
                bytes
            })
        })
    }
}
