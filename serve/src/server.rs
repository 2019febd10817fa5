//! The server: one client at a time, the card's clock, and the wire, in one loop.

use std::{
    fs, io,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::{
            fs::FileTypeExt as _,
            net::{UnixListener, UnixStream},
        },
    },
    path::{Path, PathBuf},
    time::Duration,
};

use drdma_abi::register::ACK_TIMEOUT;
use drdma_driver::CardError;
use drdma_soft::port::PortEnd;
use drdma_wire::Traffic;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

use crate::{connection::ConnectionError, pci::Function, session::Session};

/// Largest number of messages that are handled before the card's clock advances.
const MESSAGES_A_TURN: usize = 64;
/// Time in nanoseconds that the card may be inactive while it waits for an acknowledgement, before
/// its clock slows down: no activity of its own has such a pause.
const PATIENCE_NS: u64 = 65_536 * 4;
/// Interval between two turns of a slow clock.
const SLOW: Duration = Duration::from_millis(50);
/// Interval before sending over a full wire is tried again.
const RETRY: Duration = Duration::from_millis(1);
/// Longest sleep of the server.
const IDLE: Duration = Duration::from_secs(1);

/// Reason why the server cannot continue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The socket cannot be made.
    #[error("cannot listen at {path}: {source}")]
    Listen {
        /// Path of the socket.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The card failed.
    #[error(transparent)]
    Card(#[from] CardError),
    /// Waiting for events failed.
    #[error("cannot wait for clients: {0}")]
    Wait(#[source] io::Error),
}

/// Amount of work of the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// The card is working: its clock runs.
    Yes,
    /// The card waits for another host: its clock is slow.
    Waiting,
    /// The card is idle, however long its clock runs.
    None,
}

/// Event that the server reports.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A client has connected.
    Connected,
    /// A client is no longer served; the card was reset.
    Disconnected {
        /// Reason of the disconnection.
        reason: String,
    },
    /// A request of the client was refused.
    Refused(String),
    /// The card accessed memory that is not mapped. Reported at the first fault, the second, the
    /// fourth, and so on.
    Fault {
        /// Number of faults so far.
        count: u64,
        /// Description of the last fault.
        text: String,
    },
    /// The card would have accessed memory while it was no bus master. Reported as faults are.
    Stopped {
        /// Number of such accesses so far, none of which was made.
        count: u64,
    },
    /// A frame was lost because the wire failed.
    Wire(String),
}

/// A socket, and a card that is served there.
pub struct Server {
    listener: UnixListener,
    path: PathBuf,
    function: Function,
    port: PortEnd,
    report: Box<dyn FnMut(Event) + Send>,
    session: Option<Session>,
    work: Work,
    /// The card's activity, and the time of its last change.
    activity: (u64, u64),
    /// Numbers of faults, and of accesses that were not made, that were looked at.
    faults: (u64, u64),
    host_frames: u64,
}

impl Server {
    /// Listens at `path`. A socket at which no process listens any more is replaced.
    ///
    /// # Errors
    /// Another file or server is at `path`, or an error of the operating system.
    pub fn bind(
        path: &Path,
        function: Function,
        port: PortEnd,
        report: Box<dyn FnMut(Event) + Send>,
    ) -> Result<Self, ServeError> {
        let listen = || {
            let is_socket =
                fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
            if is_socket && UnixStream::connect(path).is_err() {
                fs::remove_file(path)?;
            }
            let listener = UnixListener::bind(path)?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        };
        let listener =
            listen().map_err(|source| ServeError::Listen { path: path.to_owned(), source })?;
        Ok(Self {
            listener,
            path: path.to_owned(),
            function,
            port,
            report,
            session: None,
            work: Work::None,
            activity: (0, 0),
            faults: (0, 0),
            host_frames: 0,
        })
    }

    /// Counts of the frames that went over the wire so far.
    pub fn traffic(&self) -> Traffic {
        self.port.traffic()
    }

    /// Number of frames so far that the card left to the NIC's own driver, which does not exist
    /// here.
    pub fn host_frames(&self) -> u64 {
        self.host_frames
    }

    /// Serves clients, one after another, until `stop` becomes readable, or with `once` until the
    /// first one has disconnected.
    ///
    /// # Errors
    /// The server cannot continue.
    pub fn run(&mut self, stop: BorrowedFd<'_>, once: bool) -> Result<(), ServeError> {
        loop {
            if self.wait(stop)? {
                self.disconnect("the server stops".to_owned())?;
                return Ok(());
            }
            if self.session.is_none() {
                self.accept();
            }
            if let Err(reason) = self.serve() {
                self.disconnect(reason.to_string())?;
                if once {
                    return Ok(());
                }
            }
            self.turn()?;
        }
    }

    /// Waits until there is something to do. True if the server must stop.
    fn wait(&self, stop: BorrowedFd<'_>) -> Result<bool, ServeError> {
        let timeout = match self.work {
            Work::Yes if !self.port.is_congested() => Duration::ZERO,
            _ if self.port.is_waiting() => RETRY,
            Work::Waiting => SLOW,
            _ => IDLE,
        };
        let mut fds = vec![PollFd::from_borrowed_fd(stop, PollFlags::IN)];
        match &self.session {
            None => fds.push(PollFd::new(&self.listener, PollFlags::IN)),
            Some(Session { connection, .. }) => {
                let mut flags = PollFlags::empty();
                flags.set(PollFlags::IN, !connection.is_congested());
                flags.set(PollFlags::OUT, connection.has_unsent());
                fds.push(PollFd::from_borrowed_fd(connection.as_fd(), flags));
            }
        }
        let wire = self.port.fd();
        fds.extend(wire.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        let timeout = Timespec::try_from(timeout).expect("a short time");
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(!fds[0].revents().is_empty()),
            Err(error) => Err(ServeError::Wait(error.into())),
        }
    }

    fn accept(&mut self) {
        // The client has disconnected already, or there is none.
        let Ok((stream, _)) = self.listener.accept() else { return };
        if let Ok(session) = Session::new(stream) {
            self.session = Some(session);
            (self.report)(Event::Connected);
        }
    }

    /// Handles the client's messages.
    fn serve(&mut self) -> Result<(), ConnectionError> {
        let Some(session) = &mut self.session else { return Ok(()) };
        session.connection.flush()?;
        for _ in 0..MESSAGES_A_TURN {
            let Some(outcome) = session.serve(&mut self.function)? else { break };
            if outcome.touched {
                self.work = Work::Yes;
                self.activity.1 = self.function.card().now_ns();
            }
            if let Some(text) = outcome.refused {
                (self.report)(Event::Refused(text));
            }
        }
        Ok(())
    }

    /// Stops serving the client, if there is one: the card loses its memory, and is reset as after
    /// power-on. Frames that it has sent are still delivered.
    fn disconnect(&mut self, reason: String) -> Result<(), CardError> {
        let Some(session) = self.session.take() else { return Ok(()) };
        session.release(&mut self.function);
        self.function.reset()?;
        self.work = Work::None;
        (self.report)(Event::Disconnected { reason });
        Ok(())
    }

    /// Advances the card's time, if it is working, and moves frames.
    fn turn(&mut self) -> Result<(), ServeError> {
        let now = self.function.card().now_ns();
        let received = self.port.receive(now).unwrap_or_else(|error| {
            (self.report)(Event::Wire(error.to_string()));
            false
        });
        if received {
            self.work = Work::Yes;
            self.activity.1 = now;
        }
        if self.work != Work::None && !self.port.is_congested() {
            self.function.card().progress()?;
            self.work = self.look()?;
        }
        if let Err(error) = self.port.send() {
            (self.report)(Event::Wire(error.to_string()));
        }
        self.host_frames += self.function.card().take_host_frames();
        self.tell_faults();
        Ok(())
    }

    /// Determines the amount of work of the card.
    fn look(&mut self) -> Result<Work, CardError> {
        let card = self.function.card();
        if card.is_quiet()? {
            return Ok(Work::None);
        }
        let (activity, now) = (card.activity(), card.now_ns());
        if activity != self.activity.0 {
            self.activity = (activity, now);
        }
        let waits = now.saturating_sub(self.activity.1) > PATIENCE_NS;
        // A card with a time-out needs its clock.
        Ok(if waits && card.read(ACK_TIMEOUT.offset)? == 0 { Work::Waiting } else { Work::Yes })
    }

    fn tell_faults(&mut self) {
        let faults = self.function.host().faults();
        let (before, count) = (self.faults, faults.reads + faults.writes);
        self.faults = (count, faults.stopped);
        // A count is reported once for every doubling.
        let is_news = |before: u64, count| (before + 1).next_power_of_two() <= count;
        if let Some(last) = faults.last.filter(|_| is_news(before.0, count)) {
            (self.report)(Event::Fault { count, text: last.to_string() });
        }
        if is_news(before.1, faults.stopped) {
            (self.report)(Event::Stopped { count: faults.stopped });
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A failure is ignored.
        let _ = fs::remove_file(&self.path);
    }
}
