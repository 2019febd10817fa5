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

/// Messages that are served before the card's clock goes on.
const MESSAGES_A_TURN: usize = 64;
/// How long the card may do nothing while it waits for an acknowledgement, before its clock slows
/// down: nothing in it takes so long. In nanoseconds of its time.
const PATIENCE_NS: u64 = 65_536 * 4;
/// What passes between two turns of a slow clock.
const SLOW: Duration = Duration::from_millis(50);
/// What passes before a full wire is tried again.
const RETRY: Duration = Duration::from_millis(1);
/// The longest sleep.
const IDLE: Duration = Duration::from_secs(1);

/// Why the server cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Its socket cannot be made.
    #[error("cannot listen at {path}: {source}")]
    Listen {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The card failed.
    #[error(transparent)]
    Card(#[from] CardError),
    /// The operating system failed.
    #[error("cannot wait for clients: {0}")]
    Wait(#[source] io::Error),
}

/// Whether the card has anything to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// It works: its clock runs.
    Yes,
    /// It waits for somebody: its clock crawls.
    Waiting,
    /// Nothing happens in it, however long its clock runs.
    None,
}

/// What the server reports.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A client has connected.
    Connected,
    /// A client is served no longer; the card was reset.
    Disconnected {
        /// Why.
        reason: String,
    },
    /// Something that a client asked for was refused.
    Refused(String),
    /// The card accessed memory that is not there. Told at the first fault, the second, the fourth,
    /// and so on.
    Fault {
        /// Faults so far.
        count: u64,
        /// The last of them.
        text: String,
    },
    /// The card would have accessed memory while it was no bus master. Told as faults are.
    Stopped {
        /// Accesses so far that were not made.
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
    /// The card's activity, and when it last changed.
    activity: (u64, u64),
    /// Faults, and accesses that were not made, which were looked at.
    faults: (u64, u64),
    host_frames: u64,
}

impl Server {
    /// Listens at `path`. A socket that nobody listens at any more is replaced.
    ///
    /// # Errors
    /// Something else is there, or what the operating system says.
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

    /// What went over the wire so far.
    pub fn traffic(&self) -> Traffic {
        self.port.traffic()
    }

    /// Frames so far that the card left to the NIC's own driver, which there is not.
    pub fn host_frames(&self) -> u64 {
        self.host_frames
    }

    /// Serves clients, one after another, until `stop` becomes readable, or until the first one has
    /// gone if there is to be but one.
    ///
    /// # Errors
    /// The server cannot go on.
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

    /// Waits until there is something to do. True if the server is to stop.
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
        // A client that has gone meanwhile, or none at all.
        let Ok((stream, _)) = self.listener.accept() else { return };
        if let Ok(session) = Session::new(stream) {
            self.session = Some(session);
            (self.report)(Event::Connected);
        }
    }

    /// Serves what the client has asked for.
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

    /// Stops serving the client, if there is one: the card loses its memory, and is as after power-on.
    /// Frames that have left it still go out.
    fn disconnect(&mut self, reason: String) -> Result<(), CardError> {
        let Some(session) = self.session.take() else { return Ok(()) };
        session.release(&mut self.function);
        self.function.reset()?;
        self.work = Work::None;
        (self.report)(Event::Disconnected { reason });
        Ok(())
    }

    /// Lets the card's time go on, if anything happens in it, and moves frames.
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

    /// Finds out whether the card has anything to do.
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
        // A card that counts the time until it gives up needs its clock.
        Ok(if waits && card.read(ACK_TIMEOUT.offset)? == 0 { Work::Waiting } else { Work::Yes })
    }

    fn tell_faults(&mut self) {
        let faults = self.function.host().faults();
        let (before, count) = (self.faults, faults.reads + faults.writes);
        self.faults = (count, faults.stopped);
        // Once in every doubling.
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
        // Nothing is left to be done about it.
        let _ = fs::remove_file(&self.path);
    }
}
