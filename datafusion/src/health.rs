//! Whether the workers of a cluster are there, and how they are.

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

/// How often a worker is asked while a query runs.
const INTERVAL: Duration = Duration::from_millis(500);
/// How long a worker may take to answer, at most, when a query has failed.
const SHORT: Duration = Duration::from_secs(2);

/// Asks workers how they are. A worker that is busy answers as well.
#[derive(Clone, Debug)]
pub(crate) struct Health {
    members: Vec<Member>,
    /// How long an answer may take.
    patience: Duration,
}

/// Why a worker is lost.
#[derive(Debug)]
enum Absence {
    /// It cannot be reached, closes the connection, or answers something else.
    Gone(String),
    /// It is silent. Its machine may only be busy.
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

/// A worker that does not answer: its number, and what shows it.
pub(crate) type Lost = (usize, String);

impl Health {
    pub fn new(members: Vec<Member>, patience: Duration) -> Self {
        Self { members, patience }
    }

    /// A worker's name.
    pub fn name_of(&self, worker: usize) -> String {
        self.members[worker].name(worker)
    }

    /// How all workers are; nothing of those that do not answer.
    pub async fn statuses(&self) -> Vec<Option<Status>> {
        let patience = SHORT.min(self.patience);
        let asked = self.members.iter().map(async |member| ask(member, patience).await.ok());
        join_all(asked).await
    }

    /// Asks all workers who they are, which are to be those of that cluster.
    ///
    /// # Errors
    /// [`Error::Lost`] for one that is not there, [`Error::Protocol`] for one that does not say it, [`Error::Mismatch`].
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

    /// A worker that does not answer, if there is one; rather one that is gone than one that is silent.
    pub async fn lost(&self) -> Option<Lost> {
        let patience = SHORT.min(self.patience);
        let asked = self.members.iter().map(|member| ask(member, patience));
        let answers = join_all(asked).await.into_iter().enumerate();
        let absent = answers.filter_map(|(worker, answer)| Some((worker, answer.err()?)));
        let lost = absent.min_by_key(|(_, absence)| absence.is_silence());
        lost.map(|(worker, absence)| (worker, absence.to_string()))
    }
}

/// Asks a worker something.
async fn answer(member: &Member, question: &ToProducer) -> io::Result<ToConsumer> {
    let mut connection = TcpStream::connect(member.exchange).await?;
    control::write(&mut connection, question).await?;
    let answer = control::read(&mut connection).await?;
    answer.ok_or_else(|| io::Error::other("it closes the connection"))
}

/// Asks a worker how it is.
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

/// Asks a worker who it is, if its engine can be reached, too.
async fn identity(member: &Member) -> io::Result<ToConsumer> {
    let at = |address: SocketAddr, what: &str| {
        let what = format!("{what} at {address}");
        move |error: io::Error| io::Error::new(error.kind(), format!("{what}: {error}"))
    };
    TcpStream::connect(member.engine).await.map_err(at(member.engine, "plans"))?;
    let answer = answer(member, &ToProducer::Identify).await;
    answer.map_err(at(member.exchange, "exchanges"))
}
