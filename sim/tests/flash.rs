//! The driver's flash on the model of a board's.

use drdma_driver::flash::{
    Flash, FlashBlock, FlashError, Layout, Outcome, Progress, Shell, Stage, mt25q, spi::Lines,
};
use drdma_sim::flash::{Array, Booted, Faults, FlashShell, boot, sample};
use drdma_verilated::testbench::Random;

const BOARD: u32 = 0x10ee_9032;
const IDCODE: u32 = 0x04b7_7093;
const MAIN: u32 = 0x0100_2000;

fn quiet(_: Progress) {}

/// A golden image of its own in a new flash.
fn golden() -> Array {
    let mut array = Array::default();
    array.put(0, &sample::stream(IDCODE, 500, 1));
    // The golden segment's last bytes share a sector with the main one's first.
    array.put(MAIN - 0x2000, &[0x5a; 0x2000]);
    array
}

fn board(array: Array) -> FlashShell {
    FlashShell::new(array, BOARD, IDCODE, 1)
}

fn write(shell: &mut FlashShell, image: &[u8]) -> Result<Outcome, FlashError> {
    Flash::open(shell)?.write(image, &mut quiet)
}

/// The result of booting a board with these cells.
fn booted(array: &Array) -> Booted {
    let layout = Layout::new(0x0100_2012, mt25q::SIZE).unwrap();
    boot(array, layout.golden, layout.main, IDCODE)
}

/// The result of booting if this image is in the main segment as a whole.
fn main_of(image: &[u8]) -> Booted {
    let mut array = golden();
    array.put(MAIN, image);
    match booted(&array) {
        main @ Booted::Main(_) => main,
        other => panic!("the image is not bootable: {other:x?}"),
    }
}

fn golden_segment(array: &Array) -> Array {
    array.below(MAIN)
}

#[test]
fn an_image_is_written_verified_and_booted_and_the_golden_one_is_left_alone() {
    let image = sample::stream(IDCODE, 40_000, 2);
    let mut shell = board(golden());
    let mut flash = Flash::open(&mut shell).unwrap();
    let mut last = None;
    let mut stages = Vec::new();
    let outcome = flash
        .write(&image, &mut |progress| {
            if last.replace(progress.stage) != Some(progress.stage) {
                stages.push(progress.stage);
            }
            assert!(progress.done <= progress.total, "{progress:?}");
        })
        .unwrap();
    assert_eq!(stages, [Stage::Survey, Stage::Write]);
    assert!(outcome.written > image.len() && outcome.kept == 0, "{outcome:?}");
    flash.verify(&image, &mut quiet).unwrap();
    assert!(!shell.chip.contention);
    let array = &shell.chip.array;
    assert_eq!(booted(array), main_of(&image));
    assert_eq!(array.bytes(MAIN..MAIN + image.len() as u32), image);
    assert_eq!(golden_segment(array), golden_segment(&golden()));
}

#[test]
fn what_is_right_is_kept_and_a_shorter_image_leaves_nothing_of_a_longer_one() {
    let long = sample::stream(IDCODE, 60_000, 3);
    let short = sample::stream(IDCODE, 5_000, 4);
    let mut shell = board(golden());
    write(&mut shell, &long).unwrap();
    let operations = shell.chip.operations;
    let outcome = write(&mut shell, &long).unwrap();
    assert_eq!((outcome.written, shell.chip.operations), (0, operations), "nothing to do");
    write(&mut shell, &short).unwrap();
    let array = &shell.chip.array;
    assert_eq!(booted(array), main_of(&short));
    let rest = array.bytes(MAIN + short.len() as u32..MAIN + long.len() as u32);
    assert!(rest.iter().all(|byte| *byte == 0xff));
    // One bit differs: its sector is written, and those that have words to disarm.
    let mut other = long.clone();
    write(&mut shell, &long).unwrap();
    let at = other.len() - 70_000;
    other[at] ^= 0x10;
    let outcome = write(&mut shell, &other).unwrap();
    assert!(outcome.kept > 100_000, "{outcome:?}");
    assert_eq!(booted(&shell.chip.array), main_of(&other));
}

/// Lets the power fail in the middle of every operation of a run, one after the other.
fn survives_power_loss(before: Option<&[u8]>, image: &[u8]) {
    let mut array = golden();
    let mut legal = vec![main_of(image)];
    if let Some(before) = before {
        array.put(MAIN, before);
        legal.push(main_of(before));
    }
    let untouched = golden_segment(&array);
    let fallback = booted(&golden());
    assert!(matches!(fallback, Booted::Golden(_)));
    let mut seen = [0; 3];
    for operation in 1.. {
        let seed = operation;
        let faults = Faults { power: Some(operation), ..Faults::default() };
        let mut shell = FlashShell::new(array.clone(), BOARD, IDCODE, seed).with(faults);
        let result = write(&mut shell, image);
        if !shell.chip.dead {
            result.unwrap();
            assert!(operation > 10, "a run has more operations");
            break;
        }
        assert!(matches!(result, Err(FlashError::Gone)), "operation {operation}: {result:?}");
        let after = booted(&shell.chip.array);
        match legal.iter().position(|legal| *legal == after) {
            Some(which) => seen[which] += 1,
            None if after == fallback => seen[2] += 1,
            None => panic!("operation {operation} (seed {seed}): a part of an image was booted"),
        }
        assert_eq!(golden_segment(&shell.chip.array), untouched, "operation {operation}");
        // The same command continues where it was interrupted.
        let mut shell = shell.power_cycle();
        write(&mut shell, image).unwrap();
        assert_eq!(booted(&shell.chip.array), legal[0], "operation {operation}");
        assert_eq!(golden_segment(&shell.chip.array), untouched);
    }
    assert!(seen[2] > 10, "the golden image was booted only {seen:?}");
}

#[test]
fn power_lost_at_any_operation_leaves_the_old_the_new_or_the_golden_image() {
    let old = sample::stream(IDCODE, 6_000, 5);
    let new = sample::stream(IDCODE, 4_000, 6);
    survives_power_loss(Some(&old), &new);
    survives_power_loss(Some(&new), &old);
    survives_power_loss(None, &new);
}

#[test]
fn an_image_whose_sync_words_lie_across_pages_survives_power_loss_too() {
    let old = sample::stream(IDCODE, 3_000, 7);
    for shift in [174, 175, 173] {
        // The sync word's first byte comes to be a page's last, or the IDCODE's.
        let mut new = vec![0xff; shift];
        new.extend(sample::stream(IDCODE, 1_000, 8));
        survives_power_loss(Some(&old), &new);
    }
}

#[test]
fn an_interrupted_run_is_continued_where_it_was() {
    let image = sample::stream(IDCODE, 60_000, 9);
    let mut whole = board(golden());
    write(&mut whole, &image).unwrap();
    let faults = Faults { power: Some(whole.chip.operations * 9 / 10), ..Faults::default() };
    let mut shell = board(golden()).with(faults);
    assert!(matches!(write(&mut shell, &image), Err(FlashError::Gone)));
    let mut shell = shell.power_cycle();
    let outcome = write(&mut shell, &image).unwrap();
    assert!(outcome.kept > 2 * outcome.written, "{outcome:?}");
    assert_eq!(booted(&shell.chip.array), main_of(&image));
}

#[test]
fn random_images_over_random_contents_are_written() {
    let seed = 0xf1a5;
    let mut random = Random::new(seed);
    let mut shell = board(golden());
    for round in 0..12 {
        if random.chance(0.3) {
            let junk = random.bytes(5_000);
            let at = MAIN + random.below(100_000) as u32;
            shell.chip.array.put(at, &junk);
        }
        let mut image = vec![0xff; random.below(300) as usize];
        image.extend(sample::stream(IDCODE, random.below(20_000) as usize, random.u64()));
        write(&mut shell, &image).unwrap();
        assert_eq!(booted(&shell.chip.array), main_of(&image), "seed {seed}, round {round}");
        shell = shell.power_cycle();
    }
    assert_eq!(golden_segment(&shell.chip.array), golden_segment(&golden()));
}

/// The error of a write on a board with faults.
fn fails(faults: Faults) -> (String, FlashShell) {
    let old = sample::stream(IDCODE, 30_000, 10);
    let mut array = golden();
    array.put(MAIN, &old);
    let mut shell = board(array).with(faults);
    let error = write(&mut shell, &sample::stream(IDCODE, 30_000, 11)).unwrap_err();
    (error.to_string(), shell)
}

#[test]
fn a_chip_that_fails_is_reported_with_the_place_and_the_board_falls_back() {
    let place = MAIN + 0x5000;
    for (faults, text) in [
        (
            Faults { program: Some(place), ..Faults::default() },
            "the flash failed to program at 0x01007000 (flag status 0x90); run the same command",
        ),
        (
            Faults { erase: Some(place), ..Faults::default() },
            "the flash failed to erase at 0x01007000 (flag status 0xa0); run the same command",
        ),
        (
            Faults { stuck: Some((place + 3, 0xff)), ..Faults::default() },
            "the flash has 0xff at 0x01007003 where ",
        ),
    ] {
        let (error, shell) = fails(faults);
        assert!(error.starts_with(text), "{error}");
        assert!(matches!(booted(&shell.chip.array), Booted::Golden(_)));
        // The flags are cleared, so that the next run only sees its own failures.
        let mut shell = shell.power_cycle();
        write(&mut shell, &sample::stream(IDCODE, 30_000, 11)).unwrap();
    }
}

#[test]
fn a_chip_that_cannot_be_changed_is_left_with_what_it_has() {
    for (faults, text) in [
        (
            Faults { protected: true, ..Faults::default() },
            "the flash takes no write enable before 0x010",
        ),
        (Faults { endless: true, ..Faults::default() }, "the flash is busy for more than 0.05 s"),
    ] {
        let (error, _) = fails(faults);
        assert!(error.starts_with(text), "{error}");
    }
    let (_, shell) = fails(Faults { protected: true, ..Faults::default() });
    assert_eq!(booted(&shell.chip.array), main_of(&sample::stream(IDCODE, 30_000, 10)));
}

#[test]
fn another_chip_and_one_that_is_silent_are_told_apart_and_never_changed() {
    for (id, text) in [
        ([0x20, 0xba, 0x21], "the flash has id [20, ba, 21], not [20, bb, 21] (mt25qu01g)"),
        ([0xff; 3], "no flash answers at its pins (id [ff, ff, ff])"),
        ([0x00; 3], "no flash answers at its pins (id [00, 00, 00])"),
    ] {
        let (error, shell) = fails(Faults { id: Some(id), ..Faults::default() });
        assert!(error.starts_with(text), "{error}");
        assert_eq!(shell.chip.operations, 0);
    }
}

#[test]
fn a_card_that_vanishes_is_noticed_at_any_moment() {
    let old = sample::stream(IDCODE, 300, 12);
    let new = sample::stream(IDCODE, 300, 13);
    let mut array = golden();
    array.put(MAIN, &old);
    let mut whole = board(array.clone());
    write(&mut whole, &new).unwrap();
    let mut random = Random::new(14);
    let limits = (0..40).chain((0..60).map(|_| random.below(whole.accesses() - 1)));
    for limit in limits {
        let faults = Faults { gone: Some(limit), ..Faults::default() };
        let mut shell = board(array.clone()).with(faults);
        let error = write(&mut shell, &new).unwrap_err();
        assert!(matches!(error, FlashError::Gone), "after {limit} accesses: {error}");
        assert!(error.to_string().contains("run the same command again"));
        let after = booted(&shell.chip.array);
        let whole = [&old, &new].into_iter().any(|image| after == main_of(image));
        assert!(whole || matches!(after, Booted::Golden(_)), "after {limit} accesses");
    }
}

#[test]
fn four_lines_are_used_where_they_are_connected() {
    let image = sample::stream(IDCODE, 300, 15);
    for (two_lines, lines) in [(false, Lines::Four), (true, Lines::One)] {
        let mut shell = board(golden()).with(Faults { two_lines, ..Faults::default() });
        let block = FlashBlock::find(&mut shell).unwrap();
        let chip = mt25q::Chip::open(&mut shell, block.control).unwrap();
        assert_eq!(chip.lines(), lines);
        write(&mut shell, &image).unwrap();
        assert_eq!(booted(&shell.chip.array), main_of(&image));
    }
}

#[test]
fn an_operation_that_an_earlier_process_left_running_is_waited_for() {
    let image = sample::stream(IDCODE, 300, 16);
    let mut shell = board(golden());
    let block = FlashBlock::find(&mut shell).unwrap();
    // An earlier process began to erase a sector, or has sent a command by half.
    let mut spi = drdma_driver::flash::spi::Spi::new(&mut shell, block.control);
    spi.warm_up().unwrap();
    spi.send(&[0x06], Lines::One).unwrap();
    spi.deselect().unwrap();
    spi.send(&[0xdc, 0x01, 0x20, 0, 0], Lines::One).unwrap();
    spi.deselect().unwrap();
    spi.send(&[0x12, 0x01], Lines::One).unwrap();
    assert_eq!(shell.chip.operations, 1);
    write(&mut shell, &image).unwrap();
    assert_eq!(booted(&shell.chip.array), main_of(&image));
}

#[test]
fn a_shell_without_a_flash_that_can_be_written_safely_is_named() {
    let cases: [(&[(u32, u32)], &str); 8] = [
        (&[(0, u32::MAX), (4, u32::MAX)], "the card does not answer any more"),
        (&[(0, 0x1234)], "the card does not run Corundum"),
        (&[(4, 0x200)], "the card does not run Corundum"),
        (&[(0x1008, 0)], "Corundum on this card has no registers for a flash"),
        (&[(0x1020, 0xc121)], "the card's flash is on a parallel bus"),
        (&[(0x1024, 0x100)], "the flash's registers have version 0x00000100, not 0x00000200"),
        (&[(0x102c, 0x0000_0001)], "the flash is divided in a way that is not safe to write"),
        (&[(0x102c, 0x0100_2102)], "the flash is divided in a way that is not safe to write"),
    ];
    for (registers, text) in cases {
        let mut shell = board(golden());
        for (offset, value) in registers {
            shell.set(*offset, *value);
        }
        let error = Flash::open(&mut shell).unwrap_err().to_string();
        assert!(error.starts_with(text), "{error}");
        assert_eq!(shell.chip.operations, 0);
    }
    // The list of register blocks leads out of BAR0.
    let mut shell = board(golden());
    shell.set(0x40 + 8, 0x0fff_0000);
    assert!(matches!(Flash::open(&mut shell), Err(FlashError::NoFlash)));
}

#[test]
fn an_image_that_is_none_or_does_not_fit_is_refused_before_anything_is_read() {
    let mut shell = board(golden());
    // A main segment of 64 KiB at the end of the flash.
    shell.set(0x102c, 0x07ff_0012);
    let error = write(&mut shell, &vec![0; 0x1_0001]).unwrap_err().to_string();
    assert_eq!(error, "the image has 65537 B, and the main segment has 65536 B");
    let error = write(&mut shell, &[0xff; 500]).unwrap_err().to_string();
    assert!(error.starts_with("the image has no sync word followed by an IDCODE"), "{error}");
    assert_eq!(shell.chip.operations, 0);
}

#[test]
fn a_segment_is_filled_to_its_last_byte() {
    let mut shell = board(golden());
    shell.set(0x102c, 0x07ff_0012);
    let mut image = sample::stream(IDCODE, 16_000, 17);
    image.resize(0x1_0000, 0x33);
    write(&mut shell, &image).unwrap();
    assert_eq!(shell.chip.array.bytes(0x07ff_0000..0x0800_0000), image);
}

#[test]
fn verification_names_the_first_byte_and_reading_gives_what_is_there() {
    let image = sample::stream(IDCODE, 30_000, 18);
    let mut shell = board(golden());
    write(&mut shell, &image).unwrap();
    let at = MAIN + 70_001;
    *shell.chip.array.cell(at) ^= 4;
    let operations = shell.chip.operations;
    let mut flash = Flash::open(&mut shell).unwrap();
    let error = flash.verify(&image, &mut quiet).unwrap_err().to_string();
    let expected = image[70_001];
    let text = format!(
        "the flash has {:#04x} at {at:#010x} where {expected:#04x} was written",
        expected ^ 4
    );
    assert!(error.starts_with(&text), "{error}");
    let mut read = vec![0; 100_000];
    let mut done = Vec::new();
    flash.read(0, &mut read, &mut |progress| done.push(progress.done)).unwrap();
    assert_eq!(done, [65_536, 100_000]);
    assert_eq!(read, shell.chip.array.bytes(0..100_000));
    assert_eq!(shell.chip.operations, operations, "nothing was changed");
}

#[test]
fn the_model_wraps_within_a_page_only_clears_bits_and_ignores_what_it_must() {
    let mut shell = board(Array::default());
    let block = FlashBlock::find(&mut shell).unwrap();
    let mut spi = drdma_driver::flash::spi::Spi::new(&mut shell, block.control);
    spi.warm_up().unwrap();
    let mut command = |bytes: &[u8]| {
        spi.send(bytes, Lines::One).unwrap();
        spi.deselect().unwrap();
    };
    // Addresses of three bytes, across the page's end, which comes to its start.
    command(&[0x06]);
    command(&[0x02, 0, 1, 0xff, 0x0f, 0xf0]);
    // The chip is busy, so that neither command is executed.
    command(&[0x06]);
    command(&[0x02, 0, 1, 0xff, 0x00]);
    spi.shell().wait(std::time::Duration::from_millis(1));
    let mut command = |bytes: &[u8]| {
        spi.send(bytes, Lines::One).unwrap();
        spi.deselect().unwrap();
        spi.shell().wait(std::time::Duration::from_secs(1));
    };
    // Writes are not enabled.
    command(&[0x02, 0, 1, 0xff, 0x00]);
    // Ones do not set bits.
    command(&[0x06]);
    command(&[0x02, 0, 1, 0xff, 0xff]);
    // In four-byte mode, the same command has another byte of address.
    command(&[0xb7]);
    command(&[0x06]);
    command(&[0x02, 0, 0, 2, 0, 0x77]);
    // Erasing sets the subsector's bits and no others.
    command(&[0x06]);
    command(&[0x02, 0, 0, 0x10, 0, 0x55]);
    command(&[0x06]);
    command(&[0x21, 0, 0, 0x10, 0x04]);
    let array = &shell.chip.array;
    assert_eq!((array.byte(0x1ff), array.byte(0x100)), (0x0f, 0xf0));
    assert_eq!((array.byte(0x200), array.byte(0x1000)), (0x77, 0xff));
    assert_eq!(shell.chip.operations, 5);
}
