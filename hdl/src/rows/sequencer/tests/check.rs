//! The tokens of a request against what they must be.

use super::card::{Card, Request};
use crate::rows::sequencer::reference::{Dest, Event};
use drdma_abi::completion::Status;
use drdma_abi::work_request::RegionType;
use drdma_verilated::testbench::Beat;

/// Contents of the tokens of a request, by destination; checks the fields that all tokens share.
fn events(tokens: &[Beat], request: &Request, posted: (u8, u16), card: &Card) -> Vec<Vec<Event>> {
    let mut events = vec![Vec::new(); request.dests.len()];
    for token in &tokens[..tokens.len() - 1] {
        assert_eq!(token.u64("slot"), u64::from(posted.0));
        let index = (token.u64("dest") as u16).wrapping_sub(posted.1) % 1024;
        let dest = &request.dests[index as usize];
        let events = &mut events[index as usize];
        if token.u64("message_start") == 1 {
            events.push(Event::MessageStart(token.u64("message_bytes") as u32));
        } else {
            assert_eq!(token.u64("message_bytes"), 0);
        }
        if token.u64("bytes") != 0 {
            let set = token.u64("set") as u16;
            let first_set = card.first_sets[&(token.u64("dest") as u16)];
            let region = &dest.regions[(set.wrapping_sub(first_set) % 2048) as usize];
            let (first, last) = (token.u64("first") as usize, token.u64("last") as usize);
            let piece = token.u64("piece") == 1;
            assert!(!piece || first == last);
            assert_eq!(token.u64("lead"), 0, "made bytes");
            let mut sum = 0;
            for lane in first..=last {
                let bytes = if piece { token.u64("bytes") as u32 } else { region.lanes[lane].2 };
                let offset = token.u64("offset") as u32;
                assert!(piece || offset == 0);
                sum += bytes;
                let (row, pointer) = (token.u64("row") as u32, token.u64("pointer"));
                if region.kind != RegionType::PointerMapped {
                    assert_eq!(pointer, 0, "only a pointer-mapped region has pointers");
                }
                let lane = lane as u8;
                events.push(Event::Fragment { set, lane, row, pointer, offset, bytes });
            }
            assert_eq!(u64::from(sum), token.u64("bytes"));
            assert!(sum <= 64);
            events.push(Event::Beat);
        } else {
            assert_eq!((token.u64("dest_end"), token.u64("unit_end")), (1, 0), "an empty token");
        }
        let flags = [
            ("unit_end", Event::UnitEnd),
            ("message_end", Event::MessageEnd),
            ("dest_end", Event::DestEnd),
        ];
        for (flag, event) in flags {
            if token.u64(flag) == 1 {
                events.push(event);
            }
        }
    }
    events
}

pub fn check(tokens: &[Beat], request: &Request, posted: (u8, u16), card: &Card) {
    let end = tokens.last().unwrap();
    assert_eq!(end.u64("bytes"), 0);
    assert_eq!(end.u64("slot"), u64::from(posted.0));
    let (mut status, mut bad_dest) = request.status;
    if status == 0 {
        let first = request.dests.iter().enumerate().find_map(|(i, d)| Some((i, d.check()?)));
        if let Some((i, failed)) = first {
            (status, bad_dest) = (failed as u8, i as u8);
            if request.shared.is_some() && failed == Status::LocalProtectionError {
                // Ids that cannot be read are the first destination's failure.
                bad_dest = 0;
            }
        }
    }
    let rows = request.chunk_rows(card.columns.min_rows).filter(|_| status == 0);
    let tokens = card.columns.check(tokens, request, posted, card, rows);
    let found = events(&tokens, request, posted, card);
    let ended = (end.u64("status") as u8, end.u64("bad_dest") as u8);
    // A failure of a destination names it, so that its queue pair fails.
    let breaks = ended.0 != 0 && (request.status.0 == 0 || !request.dests.is_empty());
    assert_eq!(end.u64("dest_end") == 1, breaks);
    if breaks {
        assert_eq!(end.u64("dest"), u64::from((posted.1 + u16::from(ended.1)) % 1024));
    }
    if status != 0 {
        assert_eq!(ended, (status, bad_dest));
        assert!(found.iter().all(Vec::is_empty), "tokens of a request that fails");
        return;
    }
    let fails = |d: &Dest| d.regions.iter().any(|r| r.fails && r.count > 0);
    let failing = request.dests.iter().position(fails);
    match failing {
        Some(dest) => assert_eq!(ended, (Status::LocalProtectionError as u8, dest as u8)),
        None => assert_eq!(ended, (0, 0)),
    }
    if rows.is_some() {
        assert!(found.iter().all(Vec::is_empty), "tokens of a column request's rows");
        return;
    }
    for (i, dest) in request.dests.iter().enumerate() {
        let first_set = card.first_sets[&((posted.1 + i as u16) % 1024)];
        let expected = dest.events(first_set, request.dests.len() == 1);
        if failing.is_some() {
            assert!(expected.starts_with(&found[i]), "destination {i}");
        } else if let Some(at) =
            (0..expected.len().max(found[i].len())).find(|&k| expected.get(k) != found[i].get(k))
        {
            let from = at.saturating_sub(5);
            panic!(
                "destination {i} {dest:?}, event {at}:\nexpected {:#?}\nfound {:#?}",
                &expected[from.min(expected.len())..(at + 5).min(expected.len())],
                &found[i][from.min(found[i].len())..(at + 5).min(found[i].len())],
            );
        }
    }
}
