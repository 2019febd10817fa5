//! Health of the workers of a cluster: which of them answer, and their states.

use std::{fmt, io, net::SocketAddr, time::Duration};

use futures::future::{join_all, select_all};
use tokio::{
    net::TcpStream,
    time::{sleep, timeout},
};

use crate::{
    Directory, Error,
    exchange::{
        control::{self, Status, ToConsumer, ToProducer},
        site::Member,
    },
    identity::version,
};

/// Interval at which workers are asked while a query runs.
const INTERVAL: Duration = Duration::from_millis(500);
/// Time that a worker has to answer, at most, when a query has failed.
const SHORT: Duration = Duration::from_secs(2);

/// Health checks of all workers. A worker that is busy answers as well.
#[derive(Clone, Debug)]
pub(crate) struct Health {
    members: Vec<Member>,
    /// Time that a worker has to answer.
    patience: Duration,
}

/// Why a worker is lost.
#[derive(Debug)]
enum Absence {
    /// The worker cannot be reached, closes the connection, or sends another answer.
    Gone(String),
    /// The worker does not answer. Its machine may only be busy.
    Silent(Duration),
}

impl Absence {
    fn is_silence(&self) -> bool {
        matches!(self, Self::Silent(_))
    }
}

impl fmt::Display for Absence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone(reason) => f.write_str(reason),
            Self::Silent(patience) => {
                write!(f, "it has not answered for {} s", patience.as_secs_f32())
            }
        }
    }
}

/// A worker that does not answer: its number, and the reason to think it lost.
pub(crate) type Lost = (usize, String);

impl Health {
    pub fn new(members: Vec<Member>, patience: Duration) -> Self {
        Self { members, patience }
    }

    /// A worker's name.
    pub fn name_of(&self, worker: usize) -> String {
        self.members[worker].name(worker)
    }

    /// The state of each worker; `None` for those that do not answer.
    pub async fn statuses(&self) -> Vec<Option<Status>> {
        let patience = SHORT.min(self.patience);
        let asked = self.members.iter().map(async |member| ask(member, patience).await.ok());
        join_all(asked).await
    }

    /// Asks all workers for their identities, and compares them with `directory`.
    ///
    /// # Errors
    /// [`Error::Lost`] for a worker that does not answer, [`Error::Protocol`] for one with another answer, or
    /// [`Error::Mismatch`].
    pub async fn identify(&self, directory: Option<&Directory>) -> Result<(), Error> {
        let patience = SHORT.min(self.patience);
        let asked = self.members.iter().map(|member| timeout(patience, identity(member)));
        let answers = join_all(asked).await;
        for (number, (member, answer)) in self.members.iter().zip(answers).enumerate() {
            let lost = |reason| Error::Lost { worker: member.name(number), reason };
            let answer = answer.map_err(|_| lost(Absence::Silent(patience).to_string()))?;
            let what = match answer {
                Ok(ToConsumer::Identity(identity)) => {
                    identity.check(member, number, directory)?;
                    continue;
                }
                Ok(ToConsumer::Error { reason }) => reason,
                Ok(other) => format!("it answers with {other:?}"),
                Err(error) if error.kind() == io::ErrorKind::InvalidData => error.to_string(),
                Err(error) => return Err(lost(error.to_string())),
            };
            let what = format!("it does not say its version, {} here: {what}", version());
            return Err(Error::Protocol { peer: member.name(number), what });
        }
        Ok(())
    }

    /// Asks all workers again and again; ends with the first one that does not answer.
    pub async fn watch(&self) -> Lost {
        let watched = self.members.iter().enumerate().map(|(worker, member)| {
            Box::pin(async move {
                loop {
                    sleep(INTERVAL).await;
                    if let Err(absence) = ask(member, self.patience).await {
                        return (worker, absence.to_string());
                    }
                }
            })
        });
        select_all(watched).await.0
    }

    /// A worker that does not answer, if there is one: preferably one that is gone, not one that is silent.
    pub async fn lost(&self) -> Option<Lost> {
        let patience = SHORT.min(self.patience);
        let asked = self.members.iter().map(|member| ask(member, patience));
        let answers = join_all(asked).await.into_iter().enumerate();
        let absent = answers.filter_map(|(worker, answer)| Some((worker, answer.err()?)));
        let lost = absent.min_by_key(|(_, absence)| absence.is_silence());
        lost.map(|(worker, absence)| (worker, absence.to_string()))
    }
}

/// Sends a worker a question, and reads its answer.
async fn answer(member: &Member, question: &ToProducer) -> io::Result<ToConsumer> {
    let mut connection = TcpStream::connect(member.exchange).await?;
    control::write(&mut connection, question).await?;
    let answer = control::read(&mut connection).await?;
    answer.ok_or_else(|| io::Error::other("it closes the connection"))
}

/// Asks a worker for its state.
async fn ask(member: &Member, patience: Duration) -> Result<Status, Absence> {
    let asked = async {
        match answer(member, &ToProducer::Status).await? {
            ToConsumer::Status(status) => Ok(status),
            other => Err(io::Error::other(format!("it answers with {other:?}"))),
        }
    };
    match timeout(patience, asked).await {
        Ok(answer) => answer.map_err(|error: io::Error| Absence::Gone(error.to_string())),
        Err(_) => Err(Absence::Silent(patience)),
    }
}

/// Asks a worker for its identity, if its engine can be reached as well.
async fn identity(member: &Member) -> io::Result<ToConsumer> {
    let at = |address: SocketAddr, what: &str| {
        let what = format!("{what} at {address}");
        move |error: io::Error| io::Error::new(error.kind(), format!("{what}: {error}"))
    };
    TcpStream::connect(member.engine).await.map_err(at(member.engine, "plans"))?;
    let answer = answer(member, &ToProducer::Identify).await;
    answer.map_err(at(member.exchange, "exchanges"))
}
