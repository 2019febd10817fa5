//! Register accesses: a master on the application's AXI-Lite port, one access at a time.

use drdma_verilated::{Library, Model, PortHandle};

/// Cycles after which an access counts as lost.
pub const LIMIT: u64 = 200_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Idle,
    /// Handshakes of address and data that are missing.
    Write {
        offset: u32,
        value: u32,
        address: bool,
        data: bool,
    },
    Read {
        offset: u32,
        address: bool,
    },
    Done(u32),
}

/// A master of an AXI-Lite port.
#[derive(Debug)]
pub struct Axil {
    awaddr: PortHandle,
    awvalid: PortHandle,
    awready: PortHandle,
    wdata: PortHandle,
    wstrb: PortHandle,
    wvalid: PortHandle,
    wready: PortHandle,
    bvalid: PortHandle,
    bready: PortHandle,
    araddr: PortHandle,
    arvalid: PortHandle,
    arready: PortHandle,
    rdata: PortHandle,
    rvalid: PortHandle,
    rready: PortHandle,
    access: Access,
}

impl Axil {
    /// Makes an idle master.
    ///
    /// # Errors
    /// If the design lacks a signal.
    pub fn new(library: &Library) -> drdma_verilated::Result<Self> {
        let port = |name: &str| library.port(&format!("s_axil_app_ctrl_{name}"));
        Ok(Self {
            awaddr: port("awaddr")?,
            awvalid: port("awvalid")?,
            awready: port("awready")?,
            wdata: port("wdata")?,
            wstrb: port("wstrb")?,
            wvalid: port("wvalid")?,
            wready: port("wready")?,
            bvalid: port("bvalid")?,
            bready: port("bready")?,
            araddr: port("araddr")?,
            arvalid: port("arvalid")?,
            arready: port("arready")?,
            rdata: port("rdata")?,
            rvalid: port("rvalid")?,
            rready: port("rready")?,
            access: Access::Idle,
        })
    }

    /// Starts a write.
    pub fn write(&mut self, offset: u32, value: u32) {
        self.access = Access::Write { offset, value, address: true, data: true };
    }

    /// Starts a read.
    pub fn read(&mut self, offset: u32) {
        self.access = Access::Read { offset, address: true };
    }

    /// The result of the access, once it is complete: the value that was read, or 0.
    pub fn take(&mut self) -> Option<u32> {
        match self.access {
            Access::Done(value) => {
                self.access = Access::Idle;
                Some(value)
            }
            _ => None,
        }
    }

    /// Sets the design's inputs for this cycle.
    pub fn drive(&self, model: &mut Model) {
        let (mut aw, mut w, mut b, mut ar, mut r) = (false, false, false, false, false);
        match self.access {
            Access::Write { offset, value, address, data } => {
                (aw, w, b) = (address, data, true);
                model.set(self.awaddr, offset.into());
                model.set(self.wdata, value.into());
                model.set(self.wstrb, 0xf);
            }
            Access::Read { offset, address } => {
                (ar, r) = (address, true);
                model.set(self.araddr, offset.into());
            }
            Access::Idle | Access::Done(_) => {}
        }
        for (port, value) in [
            (self.awvalid, aw),
            (self.wvalid, w),
            (self.bready, b),
            (self.arvalid, ar),
            (self.rready, r),
        ] {
            model.set(port, value.into());
        }
    }

    /// Reads the design's outputs, before the clock rises.
    pub fn sample(&mut self, model: &Model) {
        match &mut self.access {
            Access::Write { address, data, .. } => {
                *address &= model.get(self.awready) == 0;
                *data &= model.get(self.wready) == 0;
                if model.get(self.bvalid) == 1 {
                    self.access = Access::Done(0);
                }
            }
            Access::Read { address, .. } => {
                *address &= model.get(self.arready) == 0;
                if model.get(self.rvalid) == 1 {
                    self.access = Access::Done(model.get(self.rdata) as u32);
                }
            }
            Access::Idle | Access::Done(_) => {}
        }
    }
}
