//! Builds a shape's requests: tables, regions, and their number.

use drdma_abi::{
    roce::Transport,
    work_request::{BLOCK, GRANULE, SPARK_SEED},
};
use drdma_semantics::murmur3;
use drdma_verilated::testbench::Random;

use super::shape::{At, By, Shape};
use crate::{
    experiment::{Experiment, Fetched, Target},
    layout::{Keys, Partitioned, Piece, Place, Post, Region, RowMask},
};

/// Least time of a run in nanoseconds, by its bound: 2 MiB at the wire's rate. The part of the start that is not
/// first latency is small then.
const LEAST_NS: f64 = 170_000.0;
/// Least and greatest number of requests.
const POSTS: (u32, u32) = (3, 256);
/// Rows of a request that is made shorter, at least.
const LEAST_ROWS: u64 = 1 << 10;
/// Blocks of the queue's ring.
const RING_BLOCKS: u64 = 1 << 16;

/// The experiment of a shape, with as many requests as it says, or as are enough.
pub fn experiment(shape: &Shape) -> Experiment {
    let posts = shape.posts.unwrap_or_else(|| {
        let one = build(shape, 1).expected_ns();
        ((LEAST_NS / one).ceil() as u32).clamp(POSTS.0, most_posts(shape).min(POSTS.1))
    });
    build(shape, posts)
}

/// The shape with so few rows that three requests do not take too long, but at least 1,024.
pub fn shortened(shape: Shape) -> Shape {
    let one = build(&shape, 1).expected_ns();
    let rows = (shape.rows as f64 * (LEAST_NS / one).min(1.0)) as u64;
    Shape { rows: rows.max(LEAST_ROWS).min(shape.rows), ..shape }
}

/// Number of requests that the ring has room for.
fn most_posts(shape: &Shape) -> u32 {
    let (regions, elements) = match (shape.by, shape.mask) {
        (_, RowMask::Period) => (1, shape.columns.len() as u64),
        (_, RowMask::Element) => (shape.columns.len() as u64, 1),
    };
    let granules = 2 + shape.destinations as u64 * (2 + regions * (2 + elements));
    (RING_BLOCKS / granules.div_ceil((BLOCK / GRANULE) as u64)) as u32
}

/// Index of the destination of each row; `destinations` stands for none.
fn owners(shape: &Shape, rows: u64) -> Vec<usize> {
    let mut random = Random::new(shape.seed);
    let owner = |random: &mut Random| match random.below(100) < shape.select {
        true => random.below(shape.destinations as u64) as usize,
        false => shape.destinations,
    };
    (0..rows).map(|_| owner(&mut random)).collect()
}

fn build(shape: &Shape, posts: u32) -> Experiment {
    let posts = u64::from(posts);
    let (buffers, posts) = match shape.by {
        By::Extents => row_store(shape, posts),
        By::Bitmaps | By::Ids | By::Key4 | By::Key8 => columns(shape, posts),
    };
    Experiment {
        id: "shape".to_owned(),
        title: shape.to_string(),
        target: Target::Bound(super::LEAST),
        paper: "",
        buffers,
        transport: Transport::Rc,
        mtu: shape.mtu,
        write: shape.write,
        rows_per_message: shape.rows_per_message(),
        fetched: Fetched::Registers,
        words: None,
        row_mask: shape.mask,
        by_columns: shape.by_columns,
        posts,
    }
}

/// Offset of a column, or a table, in its buffer.
fn start(at: At, random: &mut Random) -> u64 {
    match at {
        At::Page => 0,
        At::Line => 64 * random.below(64),
        At::Odd => 1 + 2 * random.below(2048),
    }
}

/// Columns, each in a buffer of its own, then bitmaps or ids; a request is a stretch of rows.
fn columns(shape: &Shape, posts: u64) -> (Vec<Vec<u8>>, Vec<Post>) {
    let mut random = Random::new(shape.seed ^ 0x5eed);
    let rows = posts * shape.rows;
    let mut buffers = Vec::new();
    let mut columns = Vec::new();
    for (buffer, width) in shape.columns.iter().enumerate() {
        let offset = start(shape.at, &mut random);
        columns.push((Place { buffer, offset }, *width));
        buffers.push(random.bytes((offset + rows * width) as usize));
    }
    let first = buffers.len();
    let owners = owners(shape, rows);
    // Each request's bits begin with a byte.
    let stretch = shape.rows.div_ceil(8);
    match shape.by {
        _ if shape.by.is_partitioned() => {
            buffers.push(owners.iter().map(|owner| *owner as u8).collect());
            if let Some(width) = shape.by.key_width() {
                let key = |owner: &usize| key_of(&mut random, *owner, width, partitions(shape));
                buffers.push(owners.iter().flat_map(key).collect());
            }
        }
        _ => {
            let bytes = (posts * stretch) as usize;
            buffers.extend(vec![vec![0; bytes]; shape.destinations]);
            for (row, owner) in owners.iter().enumerate() {
                let (post, row) = (row as u64 / shape.rows, row as u64 % shape.rows);
                if let Some(bitmap) = buffers.get_mut(first + owner) {
                    bitmap[(post * stretch + row / 8) as usize] |= 1 << (row % 8);
                }
            }
        }
    }
    let post = |post: u64| {
        let column = |(at, width): &(Place, u64)| {
            (Place { offset: at.offset + post * shape.rows * width, ..*at }, *width)
        };
        let columns: Vec<_> = columns.iter().map(column).collect();
        if shape.by.is_partitioned() {
            let at = Place { buffer: first, offset: post * shape.rows };
            let ids = Piece { at, len: shape.rows };
            let keys = |width| {
                let at = Place { buffer: first + 1, offset: post * shape.rows * width };
                let at = Piece { at, len: shape.rows * width };
                Keys { at, width, partitions: partitions(shape) }
            };
            return Post::Partitioned(Partitioned {
                ids,
                keys: shape.by.key_width().map(keys),
                destinations: shape.destinations,
                columns,
                kinds: Vec::new(),
            });
        }
        let destination = |to: usize| {
            let bitmap = Place { buffer: first + to, offset: post * stretch };
            let region = |columns| Region::Bitmapped { bitmap, rows: shape.rows, columns };
            match shape.mask {
                RowMask::Period => vec![region(columns.clone())],
                RowMask::Element => columns.iter().map(|column| region(vec![*column])).collect(),
            }
        };
        posted((0..shape.destinations).map(destination).collect())
    };
    (buffers, (0..posts).map(post).collect())
}

/// Number of partitions that the card makes: one for each destination, and one for rows without any.
fn partitions(shape: &Shape) -> u64 {
    shape.destinations as u64 + u64::from(shape.select < 100)
}

/// A random key that Murmur3 puts into that partition.
pub fn key_of(random: &mut Random, partition: usize, width: u64, partitions: u64) -> Vec<u8> {
    loop {
        let key = random.u64();
        let hash = match width {
            4 => murmur3::of_int(key as u32, SPARK_SEED),
            _ => murmur3::of_long(key, SPARK_SEED),
        };
        if murmur3::partition(hash, partitions as u32) as usize == partition {
            return key.to_le_bytes()[..width as usize].to_vec();
        }
    }
}

/// A post of these regions; a single destination has a queue of its own.
fn posted(mut destinations: Vec<Vec<Region>>) -> Post {
    match destinations.len() {
        1 => Post::Own { to: 0, regions: destinations.swap_remove(0) },
        _ => Post::Shared(destinations),
    }
}

/// A table of rows with gaps between its columns; each destination gets a stretch of a request's rows, or
/// every so many of them.
fn row_store(shape: &Shape, posts: u64) -> (Vec<Vec<u8>>, Vec<Post>) {
    let mut random = Random::new(shape.seed ^ 0x5eed);
    let mut pattern = Vec::new();
    let mut row = 0;
    for width in &shape.columns {
        pattern.push((row, *width));
        row += width;
        if random.below(2) == 0 {
            // The gap is another column, which is not sent.
            row += match shape.at {
                At::Odd => 1 + random.below(*width),
                At::Page | At::Line => *width,
            };
        }
    }
    let offset = start(shape.at, &mut random);
    let step = (100 / shape.select).max(1);
    let each = shape.rows / shape.destinations as u64;
    let count = (each / step).max(1);
    let buffers = vec![random.bytes((offset + posts * shape.rows * row) as usize)];
    let post = |post: u64| {
        let destination = |to: u64| {
            let base = Place { buffer: 0, offset: offset + (post * shape.rows + to * each) * row };
            let region = |pattern| Region::Strided { base, period: step * row, count, pattern };
            match shape.mask {
                RowMask::Period => vec![region(pattern.clone())],
                RowMask::Element => pattern.iter().map(|extent| region(vec![*extent])).collect(),
            }
        };
        posted((0..shape.destinations as u64).map(destination).collect())
    };
    (buffers, (0..posts).map(post).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Shape {
        text.parse().unwrap()
    }

    fn payload(experiment: &Experiment) -> u64 {
        let messages = experiment.messages();
        messages.iter().flat_map(|to| to.messages.iter().flatten()).map(|piece| piece.len).sum()
    }

    #[test]
    fn every_row_that_is_selected_is_sent_once() {
        for text in [
            "by=bitmaps",
            "by=ids",
            "by=key4",
            "by=key8",
            "by=extents",
            "by=bitmaps mask=element",
            "by=extents mask=element",
        ] {
            let text = format!("columns=3x8+1 rows=1000 dests=4 at=odd posts=3 {text}");
            let experiment = build(&shape(&text), 3);
            assert_eq!(payload(&experiment), 3 * 1000 * 25, "{text}");
            assert_eq!(experiment.destinations(), 4);
            let some = build(&shape(&format!("{text} select=25")), 3);
            let share = payload(&some) as f64 / payload(&experiment) as f64;
            assert!((share - 0.25).abs() < 0.03, "{text}: {share}");
        }
    }

    #[test]
    fn both_masks_send_the_same_bytes() {
        for by in ["bitmaps", "extents"] {
            let text = format!("columns=2x4+1 rows=100 dests=3 select=50 posts=2 by={by}");
            let rows = build(&shape(&text), 2);
            let elements = build(&shape(&format!("{text} mask=element")), 2);
            assert_eq!(rows.buffers, elements.buffers);
            assert_eq!(rows.messages(), elements.messages());
        }
    }

    #[test]
    fn there_are_requests_enough_and_no_more_than_the_ring_holds() {
        let posts = |text: &str| experiment(&shape(text)).posts.len();
        // 160 KiB in 13.4 us each.
        assert_eq!(posts("columns=5x4 dests=2"), 13);
        assert_eq!(posts("columns=16x8 rows=65536 dests=2"), 3);
        assert_eq!(posts("columns=1x1 rows=1024"), 256);
        let wide = shape("columns=16x1 rows=1024 dests=64 mask=element select=5");
        let posts = most_posts(&wide);
        assert!(posts < 256 && experiment(&wide).posts.len() as u32 <= posts);
    }

    #[test]
    fn long_shapes_are_shortened() {
        let long = shortened(shape("columns=16x64 rows=65536 dests=4"));
        assert!((1024..4096).contains(&long.rows), "{long}");
        let short = shape("columns=5x4");
        assert_eq!(shortened(short.clone()), short);
    }
}
