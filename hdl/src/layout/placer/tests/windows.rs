//! What is in a window, when it ends, and when the next one begins.

use super::*;

/// Number of blocks of each window.
fn blocks(windows: &[Window]) -> Vec<usize> {
    windows.iter().map(|window| window.blocks.len()).collect()
}

#[test]
fn what_several_destinations_need_is_read_once() {
    let library = library();
    let mut random = Random::new(5);
    let mut inputs = Vec::new();
    for dest in 0..8 {
        for row in 0..200 {
            let fragments: Vec<_> =
                (0..5).map(|k| (0x9_0000 + 0x1_0000 * k + 8 * row, 8)).collect();
            let mut beat = input(&mut random, &fragments);
            beat.fields.insert("dest", dest);
            inputs.push(beat);
        }
    }
    inputs.push(end(&mut random));
    let run = run(&library, &inputs, CALM);
    assert_eq!(run.windows.len(), 1, "one window for all");
    let read: u64 = run.windows[0].boxes.iter().map(|b| b.len).sum();
    assert_eq!(read, 5 * 1600, "every byte once");
}

#[test]
fn a_full_directory_still_finds_what_it_has() {
    let library = library();
    let mut random = Random::new(6);
    let mut inputs = Vec::new();
    for round in 0..3 {
        for block in 0..112 {
            inputs.push(input(&mut random, &[(0x10_0000 + 512 * block + 8 * round, 8)]));
        }
    }
    inputs[0].chunk = Some(104);
    inputs.push(input(&mut random, &[(0x10_0000, 4), (0x90_0000, 4), (0x10_0200, 4)]));
    inputs.push(end(&mut random));
    let run = run(&library, &inputs, CALM);
    let blocks = blocks(&run.windows);
    assert_eq!(blocks, [112, 3], "the beat that did not fit moves on as a whole");
}

/// Blocks of the windows of two requests, each of which has a beat for each of 150 blocks.
fn blocks_of_two_requests(library: &Library, change: impl Fn(&mut [Input])) -> Vec<usize> {
    let mut random = Random::new(16);
    let mut inputs: Vec<_> =
        (0..300).map(|block| input(&mut random, &[(0x10_0000 + 512 * block, 8)])).collect();
    change(&mut inputs[..150]);
    inputs[149].fields.insert("request_end", 1);
    inputs.push(end(&mut random));
    blocks(&run(library, &inputs, CALM).windows)
}

#[test]
fn a_window_of_a_request_that_returns_to_no_block_is_full_at_40() {
    let library = library();
    let dest = |beat: &mut Input, dest| beat.fields.insert("dest", dest);
    // The second request begins in the first one's last window.
    let alone = blocks_of_two_requests(&library, |_| ());
    assert_eq!(alone, [40, 40, 40, 40, 40, 40, 40, 20]);
    let chunk = blocks_of_two_requests(&library, |beats| beats[0].chunk = Some(50));
    assert_eq!(chunk, [112, 40, 40, 40, 40, 28], "a chunk");
    let turn = blocks_of_two_requests(&library, |beats| {
        dest(&mut beats[39], 1);
    });
    assert_eq!(turn, [112, 40, 40, 40, 40, 28], "a turn of another destination");
    let late = blocks_of_two_requests(&library, |beats| {
        dest(&mut beats[40], 1);
    });
    assert_eq!(
        late,
        [112, 40, 40, 40, 40, 28],
        "the beat that does not fit is of another destination"
    );
    let later = blocks_of_two_requests(&library, |beats| {
        dest(&mut beats[41], 1);
    });
    assert_eq!(later, [40, 110, 40, 40, 40, 30], "one that comes after the first window");
    let other = blocks_of_two_requests(&library, |beats| {
        beats.iter_mut().for_each(|beat| {
            dest(beat, 1);
        });
    });
    assert_eq!(
        other,
        [40, 40, 40, 40, 40, 40, 40, 20],
        "the next request's destination is no second one"
    );
    // The first lane knows the blocks to which these beats return.
    let to = |beats: &mut [Input], back: usize| {
        beats[30].fragments = beats[30 - back].fragments.clone();
    };
    let returns = blocks_of_two_requests(&library, |beats| to(beats, 2));
    assert_eq!(
        returns,
        [112, 40, 40, 40, 40, 27],
        "a beat that returns to another block than the last"
    );
    let same = blocks_of_two_requests(&library, |beats| to(beats, 1));
    assert_eq!(same, [40, 40, 40, 40, 40, 40, 40, 19], "the last block");
    let asks = blocks_of_two_requests(&library, |beats| to(beats, 10));
    assert_eq!(
        asks,
        [40, 40, 40, 40, 40, 40, 40, 19],
        "a block that its lane does not know any more"
    );
}

#[test]
fn requests_of_a_block_each_fill_a_whole_window() {
    let library = library();
    let mut random = Random::new(19);
    let mut inputs: Vec<_> =
        (0..200).map(|block| input(&mut random, &[(0x10_0000 + 512 * block, 8)])).collect();
    for beat in &mut inputs {
        beat.fields.insert("request_end", 1);
    }
    let run = run(&library, &inputs, CALM);
    let blocks = blocks(&run.windows);
    assert_eq!(blocks, [112, 88]);
}

/// Rows of four columns of 64 B, a beat for each value: every column returns to its block three times.
#[test]
fn rows_of_long_columns_fill_whole_windows() {
    let library = library();
    let mut random = Random::new(18);
    let mut inputs = Vec::new();
    for row in 0..400 {
        for lane in 0..4 {
            let mut beat = input(&mut random, &[]);
            beat.fragments = vec![(lane, 0x10_1100 * (lane as u64 + 1) + 64 * row, 64, 0)];
            inputs.push(beat);
        }
    }
    inputs.push(end(&mut random));
    let run = run(&library, &inputs, CALM);
    let blocks = blocks(&run.windows);
    assert_eq!(blocks, [112, 112, 112, 64]);
}

#[test]
fn a_beat_that_does_not_fit_half_a_window_moves_on_as_a_whole() {
    let library = library();
    let mut random = Random::new(17);
    // 38 blocks, a beat of 3 other ones, and one whose fragments go on in the next blocks.
    let mut inputs: Vec<_> =
        (0..38).map(|block| input(&mut random, &[(0x10_0000 + 512 * block, 8)])).collect();
    let beat = |random: &mut Random, base: u64, offset: u64| {
        let fragments: Vec<_> = (0..3).map(|k| (base + 1024 * k + offset, 8)).collect();
        input(random, &fragments)
    };
    inputs.push(beat(&mut random, 0x90_0000, 0));
    inputs.push(end(&mut random));
    let blocks = |inputs: &[Input]| blocks(&run(&library, inputs, CALM).windows);
    assert_eq!(blocks(&inputs), [38, 3]);
    let crossing = beat(&mut random, 0x80_0000, 252);
    inputs.drain(35..38);
    inputs.insert(35, crossing);
    assert_eq!(blocks(&inputs), [38, 6], "its second parts, and what follows");
}

#[test]
fn a_chunk_that_does_not_fit_starts_a_window() {
    let library = library();
    let mut random = Random::new(7);
    let mut inputs = Vec::new();
    // 30 + 30 + 30 fit, 30 more do not; an estimate above 112 never does.
    for chunk in 0..6 {
        for block in 0..30 {
            let mut beat = input(&mut random, &[(0x10_0000 + 256 * (30 * chunk + block), 16)]);
            beat.chunk = (block == 0).then_some(if chunk == 5 { 200 } else { 30 });
            inputs.push(beat);
        }
    }
    inputs.push(end(&mut random));
    let run = run(&library, &inputs, CALM);
    let blocks = blocks(&run.windows);
    assert_eq!(blocks, [90, 60, 30]);
    // 73 words of 4 B for each block, in units of 128 B.
    let sizes: Vec<_> = run.windows.iter().map(|w| w.size).collect();
    assert_eq!(sizes, [206, 137, 69]);
}

#[test]
fn a_window_takes_2048_beats_and_idle_requests_do_not_wait() {
    let library = library();
    let mut random = Random::new(8);
    let mut inputs: Vec<_> = (0..5000).map(|_| input(&mut random, &[(0x4000, 4)])).collect();
    inputs.push(end(&mut random));
    let settings = Settings { latency: 300, ..CALM };
    let result = run(&library, &inputs, settings);
    let beats: Vec<_> = result.windows.iter().map(|w| w.placed.len()).collect();
    assert_eq!(beats, [2048, 2048, 905]);

    // Lone requests: each gets its window soon.
    let mut bench = Bench::new(library.instance(1), 1);
    bench.set("max_read", 512);
    grant_windows(&mut bench);
    let (beats, boxes) = (bench.driver("beat"), bench.monitor("reads"));
    let mut last = input(&mut random, &[(0x1234, 8)]);
    last.fields.insert("request_end", 1);
    bench.send(beats, beat(&last));
    bench.run_until_received(boxes, 1);
    let latency = bench.received_at(boxes)[0] - bench.sent_at(beats)[0];
    println!("a lone request: {latency} cycles to its box");
    assert_eq!(latency, 19);
}

#[test]
fn requests_share_the_last_window_while_no_other_is_free() {
    let library = library();
    let mut random = Random::new(12);
    let mut bench = Bench::new(library.instance(1), 1);
    bench.set("max_read", 512);
    let used = grant_windows(&mut bench);
    let (beats, out) = (bench.driver("beat"), bench.monitor("placed"));
    let boxes = bench.monitor("reads");
    // Twelve requests of a beat each, whose bytes are neighbours.
    for k in 0..12 {
        let mut last = input(&mut random, &[(0x4000 + 16 * k, 16)]);
        last.fields.insert("request_end", 1);
        bench.send(beats, beat(&last));
        bench.run(60);
    }
    let windows = |bench: &Bench<'_>| -> Vec<usize> {
        let ends = |beat: &Beat| beat.u64("window_end") == 1;
        bench.received(out).split_inclusive(ends).map(<[_]>::len).collect()
    };
    assert_eq!(windows(&bench), [1, 1, 1, 8], "the last one is open: its last beat is held");
    assert_eq!(bench.received(boxes).len(), 3);
    used.set(3);
    bench.run(60);
    assert_eq!(windows(&bench), [1, 1, 1, 9]);
    let lens: Vec<_> = bench.received(boxes).iter().map(|read| read.u64("len")).collect();
    assert_eq!(lens, [16, 16, 16, 144], "one read for nine requests");
}

#[test]
fn requests_without_a_pause_are_cut_into_windows_between_two_of_them() {
    let library = library();
    let mut random = Random::new(14);
    let mut bench = Bench::new(library.instance(1), 1);
    bench.set("max_read", 512);
    let used = grant_windows(&mut bench);
    let (beats, out) = (bench.driver("beat"), bench.monitor("placed"));
    bench.monitor("reads");
    // Two beats every five cycles: 64 bytes, and the request's end.
    for k in 0..400 {
        bench.send(beats, beat(&input(&mut random, &[(0x4000 + 64 * k, 64)])));
        let mut last = input(&mut random, &[]);
        last.fields.insert("request_end", 1);
        bench.send(beats, beat(&last));
        bench.run(5);
        if k == 300 {
            used.set(3);
        }
    }
    bench.run(100);
    let windows: Vec<usize> = bench
        .received(out)
        .split_inclusive(|beat| beat.u64("window_end") == 1)
        .map(<[_]>::len)
        .collect();
    // 192 cycles where another window is free; 128 beats where none is.
    assert!(windows[..3].iter().all(|beats| (77..=82).contains(beats)), "{windows:?}");
    assert_eq!(windows[3], 128, "{windows:?}");
    assert!(windows.iter().all(|beats| beats % 2 == 0), "{windows:?}");
}

#[test]
fn windows_wait_until_one_is_free() {
    let library = library();
    let mut random = Random::new(9);
    let mut bench = Bench::new(library.instance(1), 1);
    bench.set("max_read", 512);
    let used = grant_windows(&mut bench);
    let beats = bench.driver("beat");
    let (out, boxes) = (bench.monitor("placed"), bench.monitor("reads"));
    let fragments = |k: u64| [(k * 4096, 8)];
    let inputs: Vec<_> = (0..1000).map(|k| input(&mut random, &fragments(k))).collect();
    bench.send_all(beats, inputs.iter().map(beat));
    bench.run(3000);
    let ends =
        |bench: &Bench, m| bench.received(m).iter().filter(|b| b.u64("window_end") == 1).count();
    assert_eq!((ends(&bench, out), ends(&bench, boxes)), (4, 4), "four windows are in use");
    used.set(3);
    bench.run(1000);
    assert_eq!((ends(&bench, out), ends(&bench, boxes)), (5, 5), "a fifth after the first");
}

#[test]
fn a_window_is_flushed_when_asked() {
    let library = library();
    let mut random = Random::new(11);
    let mut bench = Bench::new(library.instance(1), 1);
    bench.set("max_read", 512);
    grant_windows(&mut bench);
    let (beats, out) = (bench.driver("beat"), bench.monitor("placed"));
    assert_eq!(bench.get("busy"), 0);
    // The request goes on, so the window stays open.
    let inputs: Vec<_> = (0..3).map(|_| input(&mut random, &[(0x4000, 4)])).collect();
    bench.send_all(beats, inputs.iter().map(beat));
    bench.run(200);
    assert_eq!((bench.received(out).len(), bench.get("busy")), (2, 1), "the last beat is held");
    bench.set("flush", 1);
    bench.run(30);
    let last = bench.received(out).last().expect("a beat");
    assert_eq!((last.u64("window_end"), bench.get("busy")), (1, 0));
    assert_eq!(bench.received(out).len(), 3);
}
