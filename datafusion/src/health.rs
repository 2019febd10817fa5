//! Whether the workers of a cluster are there, and how they are.

use std::{io, time::Duration};

use futures::future::{join_all, select_all};
use tokio::{
    net::TcpStream,
    time::{sleep, timeout},
};

use crate::exchange::{
    control::{self, Status, ToConsumer, ToProducer},
    site::Member,
};

/// How often a worker is asked while a query runs.
const INTERVAL: Duration = Duration::from_millis(500);
/// How long a worker may take to answer, at most, when a query has failed.
const SHORT: Duration = Duration::from_secs(2);

/// Asks workers how they are. A worker that is busy answers as well, only later.
#[derive(Clone, Debug)]
pub(crate) struct Health {
    members: Vec<Member>,
    /// How long an answer may take.
    patience: Duration,
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

    /// Asks all workers again and again; ends with the first one that does not answer.
    pub async fn watch(&self) -> Lost {
        let watched = self.members.iter().enumerate().map(|(worker, member)| {
            Box::pin(async move {
                loop {
                    sleep(INTERVAL).await;
                    if let Err(reason) = ask(member, self.patience).await {
                        return (worker, reason);
                    }
                }
            })
        });
        select_all(watched).await.0
    }

    /// A worker that does not answer, if there is one.
    pub async fn lost(&self) -> Option<Lost> {
        let patience = SHORT.min(self.patience);
        let asked = self.members.iter().map(|member| ask(member, patience));
        let answers = join_all(asked).await.into_iter().enumerate();
        answers.filter_map(|(worker, answer)| Some((worker, answer.err()?))).next()
    }
}

/// Asks a worker how it is.
async fn ask(member: &Member, patience: Duration) -> Result<Status, String> {
    let asked = async {
        let mut connection = TcpStream::connect(member.exchange).await?;
        control::write(&mut connection, &ToProducer::Status).await?;
        match control::read(&mut connection).await? {
            Some(ToConsumer::Status(status)) => Ok(status),
            Some(other) => Err(io::Error::other(format!("it answers with {other:?}"))),
            None => Err(io::Error::other("it closes the connection")),
        }
    };
    match timeout(patience, asked).await {
        Ok(answer) => answer.map_err(|error: io::Error| error.to_string()),
        Err(_) => Err(format!("it has not answered for {} s", patience.as_secs_f32())),
    }
}
