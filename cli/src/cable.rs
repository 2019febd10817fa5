//! The wire of a simulated card that leads out of this process, while a job runs here.

use std::{
    io, thread,
    time::{Duration, Instant},
};

use drdma_sim::wire::Network;
use drdma_soft::port::PortEnd;
use drdma_wire::{Traffic, Wire};

/// How long frames wait for room at the other end.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long they wait before they are sent again.
const PAUSE: Duration = Duration::from_micros(50);

/// The cable between a card and what is outside. It has to be served while the card works.
pub struct Cable {
    port: PortEnd,
}

impl Cable {
    /// Plugs `wire` into the card of that network: its frames go there, and not to peers.
    pub fn plug(network: &Network, wire: Box<dyn Wire>) -> Self {
        network.plug_cable();
        Self { port: PortEnd::new(network.clone(), Some(wire)) }
    }

    /// Passes frames both ways. It waits while so many are on their way that the card must not send
    /// more.
    ///
    /// # Errors
    /// The wire failed, or the other end takes no frames for 5 s.
    pub fn serve(&mut self) -> io::Result<()> {
        self.send_until(|port| !port.is_congested())?;
        self.port.receive(0).map(|_| ())
    }

    /// Passes on what the card has sent, once it is done; gives what went over the cable.
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
