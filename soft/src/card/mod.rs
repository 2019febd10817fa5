//! The card in plain Rust: the whole register map, rings in mapped memory, packets to a
//! [`Network`](crate::wire::Network).
//!
//! It implements docs/semantics.md, without a model of *how* the hardware does it: a call of
//! `progress` takes 1,024 cycles of 4 ns (or as its owner says: [`crate::simulated`]), and a packet
//! takes one cycle per 64 bytes.
//!
//! | module | |
//! |---|---|
//! | [`registers`] | which register is at which offset, global registers, counters |
//! | [`tables`] | queue pairs, memory regions, send and completion queues |
//! | [`job`] | a request that is being sent |
//! | `state` | all that a card holds |
//! | `engine` | doorbells, reading and checking requests, sending, completing |
//! | `responses` | acknowledgements, and what is sent again |
//! | `buffers` | memory for frames, which is used again |
//! | `receiving` | what a peer asks for, and receives |
//! | `replies` | what is sent back |
//! | `congestion` | packets that met congestion, and rates that are limited |
//! | `timers` | the card's time, from event to event |

mod buffers;
mod congestion;
mod engine;
pub mod job;
mod receiving;
pub mod registers;
mod replies;
mod responses;
mod row_copies;
mod state;
pub mod tables;
mod timers;

use drdma_abi::{
    Layout as _,
    described::{APPEND_DOORBELLS, APPEND_REGIONS, KEY_REGIONS},
    receive::{
        AttributesEntry, FEATURES, QUEUE_PAIR_ATTRIBUTES, RECEIVE_DOORBELLS, RECEIVE_QUEUES,
        features,
    },
    register::{
        ACK_TIMEOUT, ASSEMBLER_WORDS, Access, COMPLETION_QUEUES, CONTROL, COUNTER_CLEAR, COUNTERS,
        CompletionQueueEntry, DOORBELLS, MEMORY_REGIONS, QUEUE_PAIR_ERRORS, QUEUE_PAIRS,
        QueuePairEntry, SEND_QUEUE_ERRORS, SEND_QUEUES, STATUS, Table, counter,
    },
};
use drdma_driver::{Card, CardError, DmaMemory};
use drdma_semantics::{append::Append, described};

use crate::{host::Host, slot::Slot};
use registers::{Counters, Registers, Target};
pub use state::{CYCLES_PER_PROGRESS, NS_PER_CYCLE, SoftCard};
use state::{ENABLE, RESET};

impl SoftCard {
    fn write_table(&mut self, table: &Table, index: u32, at: u32, value: u32) {
        let tables = &mut self.tables;
        let entry = index as usize;
        if *table == QUEUE_PAIRS {
            if let Some(written) =
                tables.staged_queue_pairs.write::<QueuePairEntry>(index, at, value)
            {
                if written.state == 0 {
                    self.give_back_receive(entry);
                }
                let lost = self.tables.load_queue_pair(entry, written);
                self.flush_queue_pair(lost);
                self.set_timer(entry);
            }
        } else if *table == MEMORY_REGIONS {
            if let Some(written) = tables.staged_memory_regions.write(index, at, value) {
                tables.load_key(entry, written);
            }
        } else if *table == SEND_QUEUES {
            if let Some(written) = tables.staged_send_queues.write(index, at, value) {
                tables.known_send_queues = tables.known_send_queues.max(entry + 1);
                tables.send_queues[entry].load(written);
                self.doorbells.retain(|(queue, _)| *queue != index);
            }
        } else if *table == COMPLETION_QUEUES {
            let queue = &mut tables.completion_queues[entry];
            if at as usize * 8 == CompletionQueueEntry::field("consumer").start {
                queue.consumer = value;
            }
            if let Some(written) = tables.staged_completion_queues.write(index, at, value) {
                queue.entry = written;
                queue.consumer = queue.entry.consumer;
                queue.position = 0;
            }
        } else if *table == DOORBELLS {
            self.ring_doorbell(index, value);
        } else if *table == QUEUE_PAIR_ATTRIBUTES {
            if let Some(written) =
                tables.staged_attributes.write::<AttributesEntry>(index, at, value)
            {
                if written.state != 2 {
                    self.give_back_receive(entry);
                }
                self.tables.queue_pairs[entry].load_attributes(written);
                self.set_timer(entry);
            }
        } else if *table == RECEIVE_QUEUES {
            if let Some(written) = tables.staged_receive_queues.write(index, at, value) {
                tables.receive_queues[entry].load(written);
            }
        } else if *table == RECEIVE_DOORBELLS {
            self.ring_receive_doorbell(entry, value);
        } else if *table == KEY_REGIONS {
            if let Some(written) = tables.staged_key_regions.write_bytes(index, at, value) {
                tables.key_regions[entry] = described::decode(written);
            }
        } else if *table == APPEND_REGIONS {
            if let Some(written) = tables.staged_appends.write_bytes(index, at, value) {
                let append = Append::decode(written);
                tables.load_append(entry, append);
            }
        } else if *table == APPEND_DOORBELLS
            && let Some(append) = tables.append(index)
        {
            append.give_back(value);
        }
        self.idle = false;
    }

    fn read_table(&self, table: &Table, index: u32) -> u32 {
        let entry = index as usize;
        if *table == QUEUE_PAIR_ERRORS {
            u32::from(self.tables.queue_pairs[entry].error)
        } else if *table == SEND_QUEUE_ERRORS {
            u32::from(self.tables.send_queues[entry].halted)
        } else {
            0
        }
    }
}

impl Slot for SoftCard {
    fn host(&mut self) -> &mut Host {
        &mut self.host
    }

    fn reset_function(&mut self) -> Result<(), CardError> {
        self.reset();
        self.registers = Registers::default();
        self.network.forget_frames();
        Ok(())
    }

    fn is_quiet(&mut self) -> Result<bool, CardError> {
        Ok(!self.is_busy() && !self.network.is_receiving())
    }

    fn activity(&self) -> u64 {
        // All counters except that of cycles, which is the first.
        (1..COUNTERS.len()).map(|index| u64::from(self.counters.word(index, false))).sum()
    }

    fn now_ns(&self) -> u64 {
        self.cycles * NS_PER_CYCLE
    }

    fn take_host_frames(&mut self) -> u64 {
        0
    }
}

impl Card for SoftCard {
    fn read(&mut self, offset: u32) -> Result<u32, CardError> {
        Ok(match registers::find(offset)? {
            Target::Register(register) if *register == STATUS => u32::from(self.is_busy()),
            Target::Register(register) if register.access == Access::WriteOnly => 0,
            Target::Register(register) if *register == FEATURES => features::ALL,
            Target::Register(register) => self.registers.get(register),
            Target::Counter(index, high) => self.counters.word(index, high),
            Target::Table(table, index, _) => self.read_table(table, index),
            Target::Nothing => 0,
        })
    }

    fn write(&mut self, offset: u32, value: u32) -> Result<(), CardError> {
        match registers::find(offset)? {
            Target::Register(register) if *register == CONTROL => {
                if value & RESET != 0 {
                    self.reset();
                }
                self.registers.set(&CONTROL, value & ENABLE);
            }
            Target::Register(register) if *register == COUNTER_CLEAR => {
                self.counters = Counters::default();
            }
            Target::Register(register) if *register == ASSEMBLER_WORDS => {
                let held = (1..=register.reset).contains(&value);
                self.registers.set(register, if held { value } else { register.reset });
            }
            Target::Register(register) if register.access == Access::ReadWrite => {
                self.registers.set(register, value);
                if *register == ACK_TIMEOUT {
                    (0..self.tables.queue_pairs.len()).for_each(|index| self.set_timer(index));
                }
            }
            Target::Table(table, index, at) => self.write_table(table, index, at, value),
            Target::Register(_) | Target::Counter(..) | Target::Nothing => {}
        }
        self.idle = false;
        Ok(())
    }

    fn map(&mut self, iova: u64, memory: &DmaMemory) -> Result<(), CardError> {
        self.host.map(iova, memory)
    }

    fn unmap(&mut self, iova: u64) -> Result<(), CardError> {
        self.host.unmap(iova)
    }

    fn progress(&mut self) -> Result<(), CardError> {
        self.run_until(self.cycles + self.cycles_per_progress, false);
        self.counters.add(&counter::CYCLES, self.cycles_per_progress);
        Ok(())
    }
}
