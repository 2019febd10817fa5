//! The sending operator (SHUFFLE): rows into buffers by their group, and full buffers to the nodes of the group.

use crate::{Buffer, Endpoint, Error};

/// Transmission groups: which nodes get the rows of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    groups: Vec<Vec<usize>>,
}

impl Groups {
    /// These groups, of nodes below `nodes`. A group may be empty: its rows go nowhere.
    ///
    /// # Errors
    /// A node that there is not, or twice in a group.
    pub fn new(groups: Vec<Vec<usize>>, nodes: usize) -> Result<Self, Error> {
        for group in &groups {
            for (i, node) in group.iter().copied().enumerate() {
                if node >= nodes {
                    return Err(Error::Node { node, nodes, limit: crate::MAX_NODES });
                }
                if group[..i].contains(&node) {
                    return Err(Error::NodeTwice { node });
                }
            }
        }
        Ok(Self { groups })
    }

    /// A group a node: every row goes to one.
    pub fn repartition(nodes: usize) -> Self {
        Self { groups: (0..nodes).map(|node| vec![node]).collect() }
    }

    /// One group of all nodes but `own`, which has the rows already.
    pub fn broadcast(nodes: usize, own: usize) -> Self {
        Self { groups: vec![(0..nodes).filter(|node| *node != own).collect()] }
    }

    /// Number of groups.
    pub fn count(&self) -> usize {
        self.groups.len()
    }

    /// The nodes of a group.
    pub fn nodes(&self, group: usize) -> &[usize] {
        &self.groups[group]
    }
}

/// One thread's output buffers, one a group.
#[derive(Debug)]
pub struct Shuffle {
    groups: Groups,
    buffers: Vec<Option<Buffer>>,
}

impl Shuffle {
    /// The buffers of one of `writers` threads that put rows into one endpoint.
    ///
    /// # Errors
    /// The endpoint has fewer buffers than the threads may hold at a time: they might all wait for one another.
    pub fn new(endpoint: &Endpoint, groups: Groups, writers: usize) -> Result<Self, Error> {
        let (buffers, count) = (endpoint.config().send_buffers as usize, groups.count());
        if writers * count > buffers {
            return Err(Error::SendBuffers { buffers, writers, groups: count });
        }
        Ok(Self { buffers: (0..count).map(|_| None).collect(), groups })
    }

    /// Takes a row for a group. False: there is no buffer for it now; let the endpoint make progress and try again.
    ///
    /// # Errors
    /// A group that there is not, a row that is longer than a message, or the endpoint failed.
    pub fn push(
        &mut self,
        endpoint: &mut Endpoint,
        group: usize,
        row: &[u8],
    ) -> Result<bool, Error> {
        let (message, groups) = (endpoint.config().message as usize, self.groups.count());
        if group >= groups {
            return Err(Error::Group { group, groups });
        }
        if row.len() > message {
            return Err(Error::Row { row: row.len(), message });
        }
        if self.groups.nodes(group).is_empty() {
            return Ok(true);
        }
        if self.buffers[group].as_ref().is_some_and(|buffer| buffer.room() < row.len()) {
            self.put(endpoint, group)?;
        }
        if self.buffers[group].is_none() {
            self.buffers[group] = endpoint.acquire();
        }
        Ok(self.buffers[group].as_mut().is_some_and(|buffer| buffer.append(row)))
    }

    /// Puts what is in the buffers of all groups.
    ///
    /// # Errors
    /// The endpoint failed.
    pub fn flush(&mut self, endpoint: &mut Endpoint) -> Result<(), Error> {
        (0..self.groups.count()).try_for_each(|group| self.put(endpoint, group))
    }

    /// Puts what is in the buffers. The last of the threads that share an endpoint reports the end.
    ///
    /// # Errors
    /// The endpoint failed.
    pub fn finish(mut self, endpoint: &mut Endpoint, is_last: bool) -> Result<(), Error> {
        self.flush(endpoint)?;
        if is_last { endpoint.finish() } else { Ok(()) }
    }

    fn put(&mut self, endpoint: &mut Endpoint, group: usize) -> Result<(), Error> {
        match self.buffers[group].take() {
            Some(buffer) => endpoint.put(buffer, self.groups.nodes(group)),
            None => Ok(()),
        }
    }
}
