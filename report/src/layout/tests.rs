//! Layouts by hand.

use super::*;

fn at(buffer: usize, offset: u64) -> Place {
    Place { buffer, offset }
}

fn sent(post: Post, mask: RowMask, rows_per_message: usize) -> Vec<Vec<Vec<u8>>> {
    let buffers = [(0..32).collect(), (100..132).collect(), vec![0b1011_0001]];
    let destinations = messages(&[post], &buffers, mask, (rows_per_message, false));
    let text = |message: &Vec<Piece>| bytes(message, &buffers);
    destinations.iter().map(|to| to.messages.iter().map(text).collect()).collect()
}

fn two_regions() -> Post {
    let strided =
        Region::Strided { base: at(0, 1), period: 4, count: 2, pattern: vec![(2, 1), (0, 1)] };
    let pointers = Region::PointerMapped { pointers: 2, target: 1, offsets: vec![8, 0], len: 2 };
    Post::Own { to: 0, regions: vec![strided, pointers] }
}

#[test]
fn rows_are_packed_into_messages_across_regions() {
    let found = sent(two_regions(), RowMask::Period, 3);
    let expected: [&[u8]; 2] = [&[3, 1, 7, 5, 108, 109], &[100, 101]];
    assert_eq!(found, [expected.map(<[u8]>::to_vec)]);
}

#[test]
fn an_element_is_a_row_of_every_region() {
    let found = sent(two_regions(), RowMask::Element, 1);
    let expected: [&[u8]; 2] = [&[3, 1, 108, 109], &[7, 5, 100, 101]];
    assert_eq!(found, [expected.map(<[u8]>::to_vec)]);
}

#[test]
fn a_bitmap_selects_the_rows_of_all_columns() {
    let region = Region::Bitmapped {
        bitmap: at(2, 0),
        rows: 7,
        columns: vec![(at(0, 0), 2), (at(1, 1), 1)],
    };
    let found = sent(Post::Shared(vec![vec![region]]), RowMask::Period, 9);
    assert_eq!(found, [[[0, 1, 101, 8, 9, 105, 10, 11, 106]]]);
}

#[test]
fn rows_go_where_their_ids_say_and_nowhere_with_another() {
    // Row 2 has an id without a destination.
    let buffers = [(0..32).collect(), (100..132).collect(), vec![], vec![1, 0, 2, 1, 1]];
    let list = Partitioned {
        ids: Piece { at: at(3, 0), len: 5 },
        keys: None,
        destinations: 2,
        columns: vec![(at(1, 3), 2), (at(0, 1), 1)],
        kinds: Vec::new(),
    };
    let post = Post::Partitioned(list);
    assert_eq!(post.indexes(), [Piece { at: at(3, 0), len: 5 }]);
    let destinations = messages(&[post], &buffers, RowMask::Period, (2, false));
    let text = |message: &Vec<Piece>| bytes(message, &buffers);
    let found: Vec<Vec<_>> =
        destinations.iter().map(|to| to.messages.iter().map(text).collect()).collect();
    let first = vec![vec![105, 106, 2]];
    assert_eq!(found, [first, vec![vec![103, 104, 1, 109, 110, 4], vec![111, 112, 5]]]);
}

#[test]
fn text_goes_behind_its_length_and_bits_share_bytes() {
    // Ids, a column, offsets, text, its lengths; three columns of bits, and the bits of a row.
    let offsets = [0u32, 2, 2, 5].iter().flat_map(|at| at.to_le_bytes()).collect();
    let lengths = [2u32, 0, 3].iter().flat_map(|len| len.to_le_bytes()).collect();
    let buffers: Vec<Vec<u8>> = vec![
        vec![1, 0, 1],
        vec![7, 8, 9],
        offsets,
        b"abcde".to_vec(),
        lengths,
        vec![0b101],
        vec![0b011],
        vec![0b110],
        vec![0b011, 0b110, 0b101],
    ];
    let list = Partitioned {
        ids: Piece { at: at(0, 0), len: 3 },
        keys: None,
        destinations: 2,
        columns: vec![(at(1, 0), 1)],
        kinds: vec![
            KindColumn::Text { offsets: 2, data: 3, lengths: 4 },
            KindColumn::Bits { columns: vec![5, 6, 7], packed: 8 },
        ],
    };
    let post = Post::Partitioned(list);
    let read: Vec<_> = post.indexes().iter().map(|piece| (piece.at.buffer, piece.len)).collect();
    assert_eq!(read, [(0, 3), (2, 16), (5, 1), (6, 1), (7, 1)]);
    assert_eq!(post.made(), [4, 8]);
    assert_eq!(post.moved(9).made(), [13, 17]);
    let destinations = messages(std::slice::from_ref(&post), &buffers, RowMask::Period, (9, false));
    let text = |message: &Vec<Piece>| bytes(message, &buffers);
    let found: Vec<Vec<_>> =
        destinations.iter().map(|to| to.messages.iter().map(text).collect()).collect();
    // The same columns of the rows that a bitmap selects: the first one of bits has ones in row 0 and 2.
    let Post::Partitioned(list) = &post else { unreachable!() };
    let columns = list.kinds.clone();
    let region = Region::BitmappedKinds { bitmap: at(5, 0), rows: 3, columns };
    let selected: Vec<_> = region.rows(&buffers).iter().map(|row| bytes(row, &buffers)).collect();
    let expected: [&[u8]; 2] =
        [&[2, 0, 0, 0, b'a', b'b', 0b011], &[3, 0, 0, 0, 99, 100, 101, 0b101]];
    assert_eq!(selected, expected);
    assert_eq!(Post::Own { to: 0, regions: vec![region] }.made(), [4, 8]);
    let first = vec![8, 0, 0, 0, 0, 0b110];
    let second = [&[7, 2, 0, 0, 0, b'a', b'b', 0b011][..], &[9, 3, 0, 0, 0], b"cde", &[0b101]];
    assert_eq!(found, [[first], [second.concat()]]);
}

#[test]
fn the_records_of_a_list_follow_each_other() {
    let lists = vec![vec![16, 0], vec![8, 20]];
    let region = Region::Chased { pointers: 2, target: 0, lists, len: 2 };
    assert_eq!(region.trips(), (3, 4));
    let links: Vec<_> =
        region.indexes().iter().map(|p| (p.at.buffer, p.at.offset, p.len)).collect();
    assert_eq!(links, [(2, 0, 16), (0, 16, 8), (0, 0, 8), (0, 8, 8), (0, 20, 8)]);
    let found = sent(Post::Own { to: 0, regions: vec![region] }, RowMask::Period, 9);
    assert_eq!(found, [[[24, 25, 8, 9, 16, 17, 28, 29]]]);
}

#[test]
fn a_moved_request_is_of_other_buffers_and_of_nothing_else() {
    let Post::Own { regions, .. } = two_regions() else { unreachable!() };
    let ids = Piece { at: at(2, 0), len: 1 };
    let bitmapped = Region::Bitmapped { bitmap: at(2, 0), rows: 7, columns: vec![(at(1, 0), 2)] };
    let mut buffers = [(0..32).collect(), (100..132).collect(), vec![0b1011_0001]].to_vec();
    buffers.extend(buffers.clone());
    for post in [
        two_regions(),
        Post::Shared(vec![regions, vec![bitmapped]]),
        Post::Partitioned(Partitioned {
            ids,
            keys: None,
            destinations: 2,
            columns: vec![(at(0, 1), 4)],
            kinds: Vec::new(),
        }),
    ] {
        let found = |post: Post| {
            let destinations = messages(&[post], &buffers, RowMask::Period, (2, false));
            let mut pieces: Vec<Piece> =
                destinations.iter().flat_map(|to| to.messages.concat()).collect();
            let all = pieces.iter().map(|piece| bytes(&[*piece], &buffers)).collect::<Vec<_>>();
            pieces.retain(|piece| piece.at.buffer >= 3);
            (all, pieces.len())
        };
        let ((before, none), (after, moved)) = (found(post.clone()), found(post.moved(3)));
        assert_eq!((&before, none, moved), (&after, 0, before.len()));
        let index = |post: &Post| post.indexes().iter().map(|p| p.at.buffer).sum::<usize>();
        assert_eq!(index(&post.moved(3)), index(&post) + 3 * post.indexes().len());
    }
}

#[test]
fn requests_follow_one_another_at_their_destinations() {
    let piece = |offset| Piece { at: at(0, offset), len: 1 };
    let own = |to, offset| Post::Own { to, regions: vec![Region::Contiguous(piece(offset))] };
    let found = messages(&[own(1, 4), own(0, 8), own(1, 2)], &[], RowMask::Element, (1, false));
    let expected = |messages: &[u64], starts: &[usize]| Destination {
        messages: messages.iter().map(|offset| vec![piece(*offset)]).collect(),
        starts: starts.to_vec(),
    };
    assert_eq!(found, [expected(&[8], &[0]), expected(&[4, 2], &[0, 1])]);
}
