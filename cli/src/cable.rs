//! The wire of a simulated card that leads out of this process, while a job runs here.

use std::{
    io, thread,
    time::{Duration, Instant},
};

use drdma_sim::wire::Network;
use drdma_soft::port::PortEnd;
use drdma_wire::{Traffic, Wire};

/// Time that frames wait for room at the other end.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time after which frames that found no room are sent again.
const PAUSE: Duration = Duration::from_micros(50);

/// The cable between a card and a wire that leads out of the process. It must be served while the card works.
pub struct Cable {
    port: PortEnd,
}

impl Cable {
    /// Plugs `wire` into the card of that network: its frames go there, and not to peers.
    pub fn plug(network: &Network, wire: Box<dyn Wire>) -> Self {
        network.plug_cable();
        Self { port: PortEnd::new(network.clone(), Some(wire)) }
    }

    /// Passes frames both ways. Waits while as many frames are on their way as the card may have.
    ///
    /// # Errors
    /// The wire failed, or the other end takes no frames for 5 s.
    pub fn serve(&mut self) -> io::Result<()> {
        self.send_until(|port| !port.is_congested())?;
        self.port.receive(0).map(|_| ())
    }

    /// Passes on the frames that the card has sent, once it is done. Returns the counts of what went over the cable.
    ///
    /// # Errors
    /// The wire failed, or the other end takes no frames for 5 s.
    pub fn finish(&mut self) -> io::Result<Traffic> {
        self.send_until(|port| !port.is_waiting())?;
        Ok(self.port.traffic())
    }

    fn send_until(&mut self, enough: impl Fn(&PortEnd) -> bool) -> io::Result<()> {
        let started = Instant::now();
        loop {
            self.port.send()?;
            if enough(&self.port) {
                return Ok(());
            }
            if started.elapsed() > PATIENCE {
                let text = "the other end of the wire takes no frames";
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
            thread::sleep(PAUSE);
        }
    }
}
